/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a card of the device model as a DPDK service.  See liqm_service.h.
 *
 * What EAL gets a pointer to is a slot that is never freed, and the card in it is looked at
 * under the slot's lock only: a turn that begins late finds an empty slot.
 *
 * rte_service_component_unregister() wipes the entry that a service lcore may be about to call
 * through, and rte_service_may_be_active() can say no before that call and yes long after it.
 * So the stop waits until each lcore that has the service has ended a whole round of its
 * services, by its count of rounds.
 */
#include "liqm_service.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rte_atomic.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_service.h>
#include <rte_service_component.h>
#include <rte_spinlock.h>

#define N_SLOTS      64 /* as many as EAL has services */
#define WAIT_STEP_US 100u
#define WAIT_US      5000000u

struct liqm_service {
	rte_spinlock_t lock; /* of the card: held during a turn */
	struct liqm_card *card;
	uint32_t id;
	bool taken;
};

static struct liqm_service slots[N_SLOTS];

static int32_t
turn(void *arg)
{
	struct liqm_service *s = arg;
	int32_t ret = -EAGAIN;

	if (!rte_spinlock_trylock(&s->lock))
		return -EAGAIN;
	if (s->card && liqm_card_next_ns(s->card) == 0) {
		liqm_card_tick(s->card);
		ret = 0;
	}
	rte_spinlock_unlock(&s->lock);
	return ret;
}

static void
give_card(struct liqm_service *s, struct liqm_card *card)
{
	rte_spinlock_lock(&s->lock);
	s->card = card;
	rte_spinlock_unlock(&s->lock);
}

int
liqm_service_start(struct liqm_card *card, const char *name, int socket_id,
		   struct liqm_service **out)
{
	struct rte_service_spec spec = {
		.callback = turn,
		.capabilities = RTE_SERVICE_CAP_MT_SAFE,
		.socket_id = socket_id,
	};
	struct liqm_service *s = slots;
	uint32_t id;
	int ret;

	if (!card || !name || name[0] == '\0' || strlen(name) >= sizeof(spec.name))
		return -EINVAL;
	if (rte_service_get_by_name(name, &id) == 0)
		return -EEXIST;
	while (s < slots + N_SLOTS && s->taken)
		s++;
	if (s == slots + N_SLOTS)
		return -ENOSPC;
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	spec.callback_userdata = s;
	ret = rte_service_component_register(&spec, &s->id);
	if (ret < 0)
		return ret;
	s->taken = true;
	give_card(s, card);
	rte_service_component_runstate_set(s->id, 1);
	*out = s;
	return 0;
}

uint32_t
liqm_service_id(const struct liqm_service *service)
{
	return service->id;
}

static uint64_t
rounds(uint32_t lcore)
{
	uint64_t n = 0;

	rte_service_lcore_attr_get(lcore, RTE_SERVICE_LCORE_ATTR_LOOPS, &n);
	return n;
}

/* The round during which the service was stopped has ended, or the lcore serves no more. */
static bool
left(const struct liqm_service *s, uint32_t lcore, uint64_t before)
{
	return rte_eal_get_lcore_state(lcore) != RUNNING ||
	       rte_service_map_lcore_get(s->id, lcore) != 1 || rounds(lcore) - before >= 2;
}

static int
wait_left(const struct liqm_service *s)
{
	uint32_t lcores[RTE_MAX_LCORE];
	uint64_t before[RTE_MAX_LCORE];
	int32_t n = rte_service_lcore_list(lcores, RTE_MAX_LCORE);
	uint32_t waited_us = 0;

	for (int32_t i = 0; i < n; i++)
		before[i] = rounds(lcores[i]);
	for (int32_t i = 0; i < n; i++) {
		for (; !left(s, lcores[i], before[i]); waited_us += WAIT_STEP_US) {
			if (waited_us >= WAIT_US)
				return -ETIMEDOUT;
			rte_delay_us_sleep(WAIT_STEP_US);
		}
	}
	return 0;
}

int
liqm_service_stop(struct liqm_service *s)
{
	int ret = 0;

	if (!s)
		return 0;
	give_card(s, NULL);
	if (rte_service_component_runstate_set(s->id, 0) == 0) {
		/* The rounds are counted from after the lcores can see that it is stopped. */
		rte_smp_mb();
		ret = wait_left(s);
		if (ret == 0)
			rte_service_component_unregister(s->id);
	}
	if (ret == 0)
		s->taken = false;
	return ret;
}
