/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A card of the device model as a DPDK service: on a service core that EAL was given (-s), by
 * iterations on the application's own lcore, on several cores, stopped in the middle of traffic.
 *
 * The cards have manual_step: without the service nothing moves, which the cases check too.
 */
#include <errno.h>
#include <sched.h>

#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_service.h>
#include <rte_service_component.h>

#include "liqm_service.h"
#include "mt.h"
#include "ut_eal.h"

#define MS       UINT64_C(1000000)
#define PATIENCE (30000 * MS)
#define SERVER   1u /* the service lcore */

static uint64_t
now_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
tick(void *ctx)
{
	liqm_card_tick(ctx);
}

/* Up by hand, since a service may not run yet; afterwards nobody ticks it. */
static struct mt *
card_up(unsigned int index)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	liqm_card_cfg_default(&cfg);
	cfg.mac[4] = (uint8_t)index;
	cfg.manual_step = true;
	cfg.mbox_delay_ns = 0;
	cfg.rx_hold_ns = PATIENCE;
	cfg.svc.clock_ns = now_ns;
	m = mt_new(&cfg);
	m->drv[0].idle = tick;
	m->drv[0].idle_ctx = m->card;
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	assert_true(raw_recv_notice(&m->drv[0], 4, &m->pkt, 1000 * MS));
	m->drv[0].idle = NULL;
	raw_done(&m->drv[0], 0);
	return m;
}

static struct liqm_service *
serve(struct mt *m, const char *name)
{
	struct liqm_service *service = NULL;

	assert_int_equal(liqm_service_start(m->card, name, SOCKET_ID_ANY, &service), 0);
	assert_non_null(service);
	return service;
}

static void
on_core(struct liqm_service *service)
{
	uint32_t id = liqm_service_id(service);

	assert_int_equal(rte_service_map_lcore_set(id, SERVER, 1), 0);
	assert_int_equal(rte_service_runstate_set(id, 1), 0);
}

/* One turn of each on this lcore, or nothing where the service core does it. */
static void
turn(struct liqm_service *const s[2], bool by_hand)
{
	for (int i = 0; i < 2 && by_hand; i++) {
		int ret = rte_service_run_iter_on_app_lcore(liqm_service_id(s[i]), 1);

		ut_check(ret == 0 || ret == -EAGAIN, "%d", ret);
	}
	if (!by_hand)
		sched_yield();
}

/* Frames from a to b, one after the other; contents checked. */
static void
carry(struct mt *a, struct mt *b, struct liqm_service *const s[2], bool by_hand, unsigned int n)
{
	static struct mt_frame f;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t end_ns = now_ns(NULL) + PATIENCE;
		uint32_t done = 0;
		int ret;

		mt_build(&f, b->drv[0].mac, a->drv[0].mac, MT_UDP4, 18 + i * 13 % 1400, i);
		raw_send(&a->drv[0], 0, f.b, f.len, 0, 0, 0);
		do {
			turn(s, by_hand);
			ret = raw_recv(&b->drv[0], 0, &b->pkt);
		} while (ret == 0 && now_ns(NULL) < end_ns);
		ut_check(ret == 1, "frame %u: %d", i, ret);
		ut_check_bytes(b->pkt.data, f.b, f.len, "frame %u", i);
		assert_int_equal(b->pkt.len, f.len);
		/* the count follows the frame within the same turn */
		while (done == 0 && now_ns(NULL) < end_ns) {
			turn(s, by_hand);
			done = raw_done(&a->drv[0], 0);
		}
		assert_int_equal(done, 1);
	}
}

static void
check_counts(const struct mt *m, unsigned int n_out, unsigned int n_in)
{
	assert_int_equal(mt_count(m, LIQM_N_tx_frames), n_out);
	assert_int_equal(mt_count(m, LIQM_N_rx_frames), n_in);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 0);
}

static void
pair_up(struct mt *m[2], struct liqm_service *s[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		m[i] = card_up(i);
		s[i] = serve(m[i], i == 0 ? "card a" : "card b");
	}
	assert_int_equal(liqm_wire_pair(m[0]->card, 0, m[1]->card, 0), 0);
}

static void
pair_down(struct mt *m[2], struct liqm_service *s[2])
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(liqm_service_stop(s[i]), 0);
		mt_free(m[i]);
	}
	assert_int_equal(rte_service_get_count(), 0);
}

static void
service_core_runs_cards(void **state)
{
	struct liqm_service *s[2];
	struct mt *m[2];

	(void)state;
	pair_up(m, s);
	for (int i = 0; i < 2; i++)
		on_core(s[i]);
	for (int i = 0; i < 20; i++) {
		carry(m[0], m[1], s, false, 20);
		carry(m[1], m[0], s, false, 20);
	}
	for (int i = 0; i < 2; i++)
		check_counts(m[i], 400, 400);
	pair_down(m, s);
}

static void
app_lcore_runs_cards(void **state)
{
	struct liqm_service *s[2];
	struct mt *m[2];
	struct mt_frame f;

	(void)state;
	pair_up(m, s);
	/* not before the application says so, and nothing moves until then */
	assert_int_equal(rte_service_run_iter_on_app_lcore(liqm_service_id(s[0]), 1), -ENOEXEC);
	mt_build(&f, m[1]->drv[0].mac, m[0]->drv[0].mac, MT_RAW, 60, 1);
	raw_send(&m[0]->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(raw_done(&m[0]->drv[0], 0), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rte_service_runstate_set(liqm_service_id(s[i]), 1), 0);
	assert_int_equal(raw_done(&m[0]->drv[0], 0), 0);
	turn(s, true);
	assert_int_equal(raw_done(&m[0]->drv[0], 0), 1);
	assert_int_equal(raw_recv(&m[1]->drv[0], 0, &m[1]->pkt), 1);
	ut_check_bytes(m[1]->pkt.data, f.b, f.len, "the frame");
	carry(m[0], m[1], s, true, 200);
	carry(m[1], m[0], s, true, 200);
	check_counts(m[0], 201, 200);
	check_counts(m[1], 200, 201);
	pair_down(m, s);
}

/* The service core and the application's lcore take turns at the same cards. */
static void
two_lcores_share_a_service(void **state)
{
	struct liqm_service *s[2];
	struct mt *m[2];

	(void)state;
	pair_up(m, s);
	for (int i = 0; i < 2; i++)
		on_core(s[i]);
	carry(m[0], m[1], s, true, 300);
	check_counts(m[0], 300, 0);
	check_counts(m[1], 0, 300);
	pair_down(m, s);
}

/* Frames wait in the ring of a card whose service goes, and move on when it is back. */
static void
stop_in_the_middle_and_start_again(void **state)
{
	struct liqm_service *s[2];
	struct mt_frame f;
	struct mt *m[2];
	unsigned int n = 0;

	(void)state;
	pair_up(m, s);
	on_core(s[1]);
	for (unsigned int lap = 0; lap < 30; lap++) {
		uint64_t end_ns = now_ns(NULL) + PATIENCE;

		on_core(s[0]);
		mt_build(&f, m[1]->drv[0].mac, m[0]->drv[0].mac, MT_UDP4, 500, lap);
		for (int i = 0; i < 100; i++)
			raw_send(&m[0]->drv[0], 0, f.b, f.len, 0, 0, 0);
		/* perhaps a part of them has gone */
		assert_int_equal(liqm_service_stop(s[0]), 0);
		assert_int_equal(liqm_counter(m[0]->drv[0].fn, LIQM_N_instrs),
				 raw_r32(&m[0]->drv[0], raw_reg(&m[0]->drv[0], 0, R_IN_DONE)));
		s[0] = serve(m[0], "card a");
		on_core(s[0]);
		for (int i = 0; i < 100 && now_ns(NULL) < end_ns;) {
			int ret = raw_recv(&m[1]->drv[0], 0, &m[1]->pkt);

			assert_true(ret >= 0);
			if (ret == 0) {
				sched_yield();
				continue;
			}
			ut_check_bytes(m[1]->pkt.data, f.b, f.len, "lap %u, frame %d", lap, i);
			i++;
			n++;
		}
		assert_int_equal(n, 100 * (lap + 1));
		assert_int_equal(rte_service_runstate_set(liqm_service_id(s[0]), 0), 0);
	}
	check_counts(m[0], n, 0);
	check_counts(m[1], 0, n);
	pair_down(m, s);
}

/* Stopped, the service calls nobody, even where an lcore is still about to. */
static void
stopped_card_is_left_alone(void **state)
{
	struct mt *m = card_up(0);
	struct liqm_service *service;
	uint32_t id;

	(void)state;
	for (int i = 0; i < 200; i++) {
		service = serve(m, "card");
		id = liqm_service_id(service);
		on_core(service);
		if (i % 2)
			raw_w32(&m->drv[0], raw_reg(&m->drv[0], 0, R_CNTS), 0);
		assert_int_equal(liqm_service_stop(service), 0);
		assert_true(rte_service_get_name(id) == NULL);
		assert_int_equal(rte_service_run_iter_on_app_lcore(id, 1), -EINVAL);
		if (i % 2 == 0) {
			raw_w32(&m->drv[0], raw_reg(&m->drv[0], 0, R_CNTS), 0);
			assert_int_equal(liqm_card_next_ns(m->card), 0); /* nobody took it */
			liqm_card_tick(m->card);
		}
	}
	mt_free(m);
}

static void
idle_turns_say_so(void **state)
{
	struct mt *m = card_up(0);
	struct liqm_service *service = serve(m, "card");
	uint32_t id = liqm_service_id(service);
	uint64_t calls = 0;

	(void)state;
	assert_int_equal(rte_service_probe_capability(id, RTE_SERVICE_CAP_MT_SAFE), 1);
	assert_string_equal(rte_service_get_name(id), "card");
	assert_int_equal(rte_service_set_stats_enable(id, 1), 0);
	on_core(service);
	for (uint64_t end_ns = now_ns(NULL) + PATIENCE; calls == 0 && now_ns(NULL) < end_ns;) {
		raw_w32(&m->drv[0], raw_reg(&m->drv[0], 0, R_CNTS), 0); /* something to do */
		assert_int_equal(rte_service_attr_get(id, RTE_SERVICE_ATTR_CALL_COUNT, &calls), 0);
		sched_yield();
	}
	assert_true(calls > 0);
	assert_int_equal(liqm_service_stop(service), 0);
	mt_free(m);
}

static void
wrong_starts_are_refused(void **state)
{
	struct liqm_service *service = NULL, *second = NULL;
	struct mt *m = mt_vf(1);

	(void)state;
	assert_int_equal(liqm_service_start(NULL, "card", SOCKET_ID_ANY, &service), -EINVAL);
	assert_int_equal(liqm_service_start(m->card, NULL, SOCKET_ID_ANY, &service), -EINVAL);
	assert_int_equal(liqm_service_start(m->card, "", SOCKET_ID_ANY, &service), -EINVAL);
	assert_int_equal(liqm_service_start(m->card, "a name of thirty-two characters.",
					    SOCKET_ID_ANY, &service),
			 -EINVAL);
	assert_null(service);
	assert_int_equal(liqm_service_start(m->card, "a name of thirty-one characters",
					    SOCKET_ID_ANY, &service),
			 0);
	assert_int_equal(liqm_service_start(m->card, "a name of thirty-one characters",
					    SOCKET_ID_ANY, &second),
			 -EEXIST);
	assert_null(second);
	assert_int_equal(liqm_service_stop(service), 0);
	assert_int_equal(liqm_service_stop(NULL), 0);
	mt_free(m);
}

static void
services_run_out(void **state)
{
	struct liqm_service *service[65];
	struct mt *m = mt_vf(1);
	unsigned int n = 0;
	char name[16];
	int ret = 0;

	(void)state;
	while (ret == 0 && n < UT_N(service)) {
		snprintf(name, sizeof(name), "card %u", n);
		ret = liqm_service_start(m->card, name, SOCKET_ID_ANY, &service[n]);
		n += ret == 0;
	}
	assert_int_equal(ret, -ENOSPC);
	assert_true(n > 1);
	while (n > 0)
		assert_int_equal(liqm_service_stop(service[--n]), 0);
	assert_int_equal(rte_service_get_count(), 0);
	mt_free(m);
}

/* EAL starts the core itself, as it does for every one that -s names. */
static int
setup(void **state)
{
	static const char *const extra[] = {"-S", "1", NULL};

	(void)state;
	if (ut_eal_init(2, extra) != 0)
		return -1;
	return rte_service_lcore_count() == 1 ? 0 : -1;
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(service_core_runs_cards),
		cmocka_unit_test(app_lcore_runs_cards),
		cmocka_unit_test(two_lcores_share_a_service),
		cmocka_unit_test(stop_in_the_middle_and_start_again),
		cmocka_unit_test(stopped_card_is_left_alone),
		cmocka_unit_test(idle_turns_say_so),
		cmocka_unit_test(wrong_starts_are_refused),
		cmocka_unit_test(services_run_out),
	};

	return UT_RUN(cases, setup, ut_eal_teardown);
}
