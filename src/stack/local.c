/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: builds the snapshot that local.h reads: every address of ours, every subnet broadcast, every joined group.
 */
#include "local.h"

#include <rte_malloc.h>

#include "control_state.h"

static struct weir_local *
put(struct weir_locals *l, const union weir_ip *ip, uint8_t family, enum weir_local_kind kind,
    uint8_t bits, uint16_t port)
{
	uint32_t i = weir_local_hash(ip) & l->mask;

	while (l->slot[i].family != 0) {
		if (l->slot[i].ip.w[0] == ip->w[0] && l->slot[i].ip.w[1] == ip->w[1] &&
		    l->slot[i].family == family)
			return &l->slot[i]; /* two addresses of one subnet share its broadcast */
		i = (i + 1) & l->mask;
	}
	l->slot[i] = (struct weir_local){
		.ip = *ip, .family = family, .kind = (uint8_t)kind, .bits = bits, .port = port};
	return &l->slot[i];
}

struct weir_locals *
weir_local_build(struct weir_stack *stack)
{
	const struct weir_control *c = stack->control;
	uint32_t slots = rte_align32pow2((uint32_t)(c->n_addr * 4 + c->n_group * 2 + 8));
	struct weir_locals *l;

	l = rte_zmalloc("weir_locals", sizeof(*l) + slots * sizeof(l->slot[0]), WEIR_CACHE_LINE);
	if (l == NULL)
		return NULL;
	l->mask = slots - 1;
	for (size_t i = 0; i < c->n_addr; i++)
		put(l, &c->addr[i].addr.ip, c->addr[i].addr.family, WEIR_LOCAL_UNICAST,
		    c->addr[i].bits, c->addr[i].port);
	for (size_t i = 0; i < c->n_addr; i++) {
		union weir_ip bcast = c->addr[i].addr.ip;

		/* A /31 (RFC 3021) or /32 has no broadcast address. */
		if (c->addr[i].addr.family != WEIR_IPV4 || c->addr[i].bits > 30)
			continue;
		bcast.v4 |= WIRE_BE32(UINT32_MAX >> c->addr[i].bits);
		put(l, &bcast, WEIR_IPV4, WEIR_LOCAL_BROADCAST, c->addr[i].bits, c->addr[i].port);
	}
	for (size_t i = 0; i < c->n_group; i++)
		put(l, &c->group[i].addr.ip, c->group[i].addr.family, WEIR_LOCAL_MULTICAST, 0, 0)
			->ports |= UINT32_C(1) << c->group[i].port;
	return l;
}

void
weir_local_publish(struct weir_stack *stack, struct weir_locals *l)
{
	struct weir_locals *old = atomic_load_explicit(&stack->locals, memory_order_relaxed);

	atomic_store_explicit(&stack->locals, l, memory_order_release);
	if (old != NULL)
		weir_rcu_free(stack, old);
}

void
weir_local_fini(struct weir_stack *stack)
{
	rte_free(atomic_load_explicit(&stack->locals, memory_order_relaxed));
	atomic_store_explicit(&stack->locals, NULL, memory_order_relaxed);
}
