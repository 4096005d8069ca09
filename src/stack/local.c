/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: builds the snapshot that local.h reads: every address of ours, every subnet broadcast, every
 * group.
 */
#include "local.h"

#include <rte_byteorder.h>
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

/* RFC 4291 2.8: what every host recognises as its own; RFC 1112 7.2. */
static void
put_all_hosts(struct weir_locals *l)
{
	union weir_ip ip = {.w = {0, 0}};

	ip.v4 = WIRE_BE32(0xe0000001);
	put(l, &ip, WEIR_IPV4, WEIR_LOCAL_MULTICAST, 0, 0)->ports = UINT32_MAX;
	for (uint8_t scope = 1; scope <= 2; scope++) { /* interface-local, link-local */
		ip = (union weir_ip){.b = {0xff, scope, [15] = 1}};
		put(l, &ip, WEIR_IPV6, WEIR_LOCAL_MULTICAST, 0, 0)->ports = UINT32_MAX;
	}
}

static void
put_addr(struct weir_locals *l, const struct weir_ctl_addr *a)
{
	const uint8_t family = a->addr.family;
	union weir_ip group;

	if (!a->tentative) {
		struct weir_local *e =
			put(l, &a->addr.ip, family, WEIR_LOCAL_UNICAST, a->bits, a->port);

		/* What we send to our own link-local address comes by the loopback port. */
		e->ports |= UINT32_C(1) << a->port | UINT32_C(1) << WEIR_PORT_LOOPBACK;
	}
	if (family == WEIR_IPV6) {
		group = weir_solicited_node(&a->addr.ip);
		put(l, &group, WEIR_IPV6, WEIR_LOCAL_MULTICAST, 0, 0)->ports |= UINT32_C(1)
										<< a->port;
	}
}

struct weir_locals *
weir_local_build(struct weir_stack *stack)
{
	const struct weir_control *c = stack->control;
	/* An address has one companion at most, its broadcast address or solicited-node group. */
	uint32_t slots = rte_align32pow2((uint32_t)(c->n_addr * 4 + c->n_group * 2 + 8));
	struct weir_local_addr *list;
	struct weir_locals *l;

	l = rte_zmalloc("weir_locals",
			sizeof(*l) + slots * sizeof(l->slot[0]) + c->n_addr * sizeof(*list),
			WEIR_CACHE_LINE);
	if (l == NULL)
		return NULL;
	l->mask = slots - 1;
	list = (struct weir_local_addr *)(void *)&l->slot[slots];
	l->addr = list;
	for (size_t i = 0; i < c->n_addr; i++) {
		const struct weir_ctl_addr *a = &c->addr[i];

		if (a->duplicate)
			continue;
		list[l->n_addr++] = (struct weir_local_addr){.ip = a->addr.ip,
							     .preferred_ns = a->preferred_ns,
							     .port = a->port,
							     .family = a->addr.family,
							     .bits = a->bits,
							     .tentative = a->tentative};
		put_addr(l, a);
	}
	for (uint32_t i = 0; i < l->n_addr; i++) {
		union weir_ip bcast = list[i].ip;

		/* A /31 (RFC 3021) or /32 has no broadcast address. */
		if (list[i].family != WEIR_IPV4 || list[i].bits > 30 || list[i].tentative)
			continue;
		bcast.v4 |= WIRE_BE32(UINT32_MAX >> list[i].bits);
		put(l, &bcast, WEIR_IPV4, WEIR_LOCAL_BROADCAST, list[i].bits, list[i].port);
	}
	put_all_hosts(l);
	for (size_t i = 0; i < c->n_group; i++)
		put(l, &c->group[i].addr.ip, c->group[i].addr.family, WEIR_LOCAL_MULTICAST, 0, 0)
			->ports |= UINT32_C(1) << c->group[i].port;
	return l;
}

void
weir_local_discard(struct weir_locals *l)
{
	rte_free(l);
}

bool
weir_local_in_any(const struct weir_any *any, const union weir_ip *ip, uint8_t family)
{
	const struct weir_trie_key key = {rte_be_to_cpu_64(ip->w[0]), rte_be_to_cpu_64(ip->w[1])};

	if (family == WEIR_IPV4)
		return weir_trie_longest32(&any->trie[0], rte_be_to_cpu_32(ip->v4)) != NULL;
	return weir_trie_longest(&any->trie[1], &key) != NULL;
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
