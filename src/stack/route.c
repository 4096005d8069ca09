/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the hit; COLD: the miss; CONTROL: building the table. See route.h.
 */
#include "route.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "control_state.h"
#include "local.h"
#include "neigh.h"

static inline uint64_t
rtc_hash(const struct weir_stack *stack, const union weir_ip *dst, const union weir_ip *bound)
{
	__uint128_t p = (__uint128_t)(dst->w[0] ^ stack->hash_key[2]) *
			(bound->w[0] ^ dst->w[1] ^ bound->w[1] ^ stack->hash_key[3]);

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline bool
prefix_match(const struct weir_route *r, const union weir_ip *ip)
{
	if (r->family == WEIR_IPV4) {
		wire_be32 mask = r->bits == 0 ? 0 : WIRE_BE32(UINT32_MAX << (32 - r->bits));

		return ((ip->v4 ^ r->prefix.v4) & mask) == 0;
	}
	for (unsigned int i = 0; i < 16u; i++) {
		int left = (int)r->bits - (int)i * 8;
		uint8_t mask = left >= 8 ? 0xff : left <= 0 ? 0 : (uint8_t)(0xff00u >> left);

		if (((ip->b[i] ^ r->prefix.b[i]) & mask) != 0)
			return false;
	}
	return true;
}

const struct weir_route *
weir_route_lookup_on(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, int port)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_acquire);

	for (uint32_t i = 0; i < fib->n; i++)
		if (fib->route[i].family == family &&
		    (port < 0 || fib->route[i].port->index == port) &&
		    prefix_match(&fib->route[i], dst))
			return &fib->route[i];
	return NULL;
}

const struct weir_route *
weir_route_lookup(struct weir_stack *stack, const union weir_ip *dst, uint8_t family)
{
	return weir_route_lookup_on(stack, dst, family, -1);
}

/* Is dst this very host? Then datagrams to it take the loopback port. */
static bool
is_own(const struct weir_local *mine, const union weir_ip *dst, uint8_t family)
{
	return (mine != NULL && mine->kind == WEIR_LOCAL_UNICAST) ||
	       (family == WEIR_IPV4 && weir_is_loopback4(dst->v4));
}

/* The source for a datagram to an address of our own: that address; for all of 127/8, 127.0.0.1. */
static union weir_ip
own_source(const union weir_ip *dst, uint8_t family)
{
	union weir_ip src = *dst;

	if (family == WEIR_IPV4 && weir_is_loopback4(dst->v4))
		src.v4 = WIRE_BE32(0x7f000001);
	return src;
}

/* Where a datagram goes and from whom. */
struct way {
	struct weir_port *port;
	const struct weir_route *r; /* NULL: this host, by the loopback port */
	bool on_link; /* no route by the port that was asked for: the address is taken to be there */
	wire_be32 src;
};

const struct weir_route *
weir_route_of_port(struct weir_stack *stack, int port)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_acquire);
	const struct weir_route *r = NULL;

	for (uint32_t i = 0; i < fib->n; i++)
		if (fib->route[i].family == WEIR_IPV4 && fib->route[i].port->index == port &&
		    (r == NULL || (!r->has_src && fib->route[i].has_src)))
			r = &fib->route[i];
	return r;
}

/*
 * As Linux decides: this host first; a port that was asked for needs no route; what goes to a group leaves
 * by the port of the source address, if that is fixed (bound, zero: any). 0; -ENETUNREACH; -EINVAL: from
 * 127/8 to a wire; -EADDRNOTAVAIL: a route, but no address to speak from.
 */
static int
find_way(struct weir_stack *stack, const union weir_ip *dst, const union weir_ip *bound, int port,
	 struct way *way)
{
	const struct weir_local *mine = weir_local_find(stack, dst, WEIR_IPV4);
	const bool mcast = weir_is_mcast4(dst->v4);

	*way = (struct way){.port = stack->ports[WEIR_PORT_LOOPBACK], .src = bound->v4};
	if (bound->v4 != 0 && weir_local4(stack, bound->v4) != WEIR_LOCAL_UNICAST)
		return -ENETUNREACH;
	if (is_own(mine, dst, WEIR_IPV4)) {
		if (bound->v4 == 0)
			way->src = own_source(dst, WEIR_IPV4).v4;
		return 0;
	}
	if ((mcast || dst->v4 == 0xffffffff) && port < 0 && bound->v4 != 0) {
		const struct weir_local *from = weir_local_find(stack, bound, WEIR_IPV4);

		port = from != NULL ? from->port : WEIR_PORT_LOOPBACK;
	}
	if (mcast && port == WEIR_PORT_LOOPBACK) {
		if (bound->v4 == 0)
			way->src = WIRE_BE32(0x7f000001);
		return 0;
	}
	way->r = weir_route_lookup_on(stack, dst, WEIR_IPV4, port);
	if (way->r == NULL && port >= 0) {
		way->r = weir_route_of_port(stack, port);
		way->on_link = true;
	}
	if (way->r == NULL)
		return -ENETUNREACH;
	way->port = way->r->port;
	if (bound->v4 == 0) {
		if (!way->r->has_src)
			return -EADDRNOTAVAIL;
		way->src = way->r->src.v4;
	}
	/* RFC 1122 3.2.1.3 (g): never on a wire. */
	return weir_is_loopback4(way->src) ? -EINVAL : 0;
}

int
weir_route_source(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, int port,
		  const union weir_ip *bound, union weir_ip *src)
{
	struct way way;
	int ret = family == WEIR_IPV4 ? find_way(stack, dst, bound, port, &way) : -ENETUNREACH;

	if (ret == 0) {
		/* All 16 bytes: an initialiser of v4 alone leaves the others as they were (C11 6.7.9). */
		*src = (union weir_ip){.w = {0, 0}};
		src->v4 = way.src;
	}
	return ret;
}

/* Write the Ethernet and IPv4 template. */
static void
fill_header4(struct weir_rtc *e, wire_be32 src, const uint8_t dst_mac[WIRE_ETH_ALEN])
{
	struct wire_eth *eth = (struct wire_eth *)(void *)e->hdr;
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(e->hdr + WIRE_ETH_LEN);

	memcpy(eth->dst, dst_mac, WIRE_ETH_ALEN);
	memcpy(eth->src, e->port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_IP4);
	*ip = (struct wire_ip4){
		.ver_ihl = 0x45,
		.frag = WIRE_BE16(WIRE_IP4_DF),
		.ttl = 64,
		.proto = WIRE_PROTO_UDP,
		.src = src,
		.dst = e->dst.v4,
	};
	e->l2_len = WIRE_ETH_LEN;
	e->l3_len = WIRE_IP4_MIN;
	e->ip_sum = wire_fold(wire_sum(ip, WIRE_IP4_MIN, 0));
	e->pseudo_sum = wire_fold(wire_pseudo4(src, e->dst.v4, WIRE_PROTO_UDP, 0));
}

/* COLD: look everything up and overwrite one way of the set. */
static struct weir_rtc *
miss(struct weir_lcore *lc, struct weir_rtc *set, uint64_t hash, const union weir_ip *dst,
     const union weir_ip *bound, uint8_t sel, int *err)
{
	static const uint8_t all_ones[WIRE_ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct weir_stack *stack = lc->stack;
	/* Acquire: pairs with the release in weir_route_publish; read before any table. */
	uint64_t gen = atomic_load_explicit(&stack->gen, memory_order_acquire);
	const uint8_t family = sel & 7;
	const int on_port = (sel >> 3) - 1;
	const struct weir_local *mine;
	const union weir_ip *next_hop;
	struct weir_rtc *e = set;
	uint8_t mac[WIRE_ETH_ALEN] = {0};
	uint8_t flags = 0;
	uint32_t neigh = 0;
	struct way way;

	*err = -ENETUNREACH;
	if (family != WEIR_IPV4)
		return NULL;
	*err = find_way(stack, dst, bound, on_port, &way);
	if (*err != 0) {
		if (*err == -EADDRNOTAVAIL)
			*err = -ENETUNREACH;
		return NULL;
	}
	mine = weir_local_find(stack, dst, family);
	if (way.r == NULL) {
		flags = WEIR_RTC_NO_NEIGH;
		memcpy(mac, way.port->parse.mac, sizeof(mac));
	} else if (dst->v4 == 0xffffffff || (mine != NULL && mine->kind == WEIR_LOCAL_BROADCAST)) {
		flags = WEIR_RTC_BROADCAST | WEIR_RTC_NO_NEIGH | WEIR_RTC_GROUP;
		memcpy(mac, all_ones, sizeof(mac));
	} else if (weir_is_mcast4(dst->v4)) { /* RFC 1112 6.4 */
		flags = WEIR_RTC_NO_NEIGH | WEIR_RTC_GROUP;
		memcpy(mac,
		       (const uint8_t[]){0x01, 0x00, 0x5e, dst->b[1] & 0x7f, dst->b[2], dst->b[3]},
		       sizeof(mac));
	} else {
		next_hop = way.r->has_gateway && !way.on_link ? &way.r->gateway : dst;
		if (!weir_neigh_find_or_create(lc, way.port, next_hop, family, &neigh)) {
			*err = -ENOBUFS;
			return NULL;
		}
	}
	/* Two ways: an empty or outdated one first, else by a bit of the hash. */
	if (e[0].gen == gen && (e[1].gen != gen || (hash >> 63) != 0))
		e = &e[1];
	e->gen = gen;
	e->dst = *dst;
	e->bound = *bound;
	e->port = way.port;
	e->neigh = neigh;
	e->mtu = way.port->mtu;
	e->sel = sel;
	e->flags = flags;
	e->neigh_word = 0;
	fill_header4(e, way.src, mac);
	*err = 0;
	return e;
}

struct weir_rtc *
weir_route_get(struct weir_lcore *lc, const union weir_ip *dst, const union weir_ip *bound,
	       uint8_t sel, int *err)
{
	const struct weir_stack *stack = lc->stack;
	uint64_t gen = atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&stack->gen,
					    memory_order_acquire);
	uint64_t hash = rtc_hash(stack, dst, bound);
	struct weir_rtc *set = &lc->rtc[(hash & (WEIR_RTC_SETS - 1)) * WEIR_RTC_WAYS];

	for (unsigned int i = 0; i < WEIR_RTC_WAYS; i++) {
		struct weir_rtc *e = &set[i];

		if (likely(e->gen == gen && e->dst.w[0] == dst->w[0] && e->dst.w[1] == dst->w[1] &&
			   e->bound.w[0] == bound->w[0] && e->bound.w[1] == bound->w[1] &&
			   e->sel == sel))
			return e;
	}
	return miss(lc, set, hash, dst, bound, sel, err);
}

/* ---- control ---- */

int
weir_rtc_init(struct weir_lcore *lc, int socket_id)
{
	lc->rtc = rte_zmalloc_socket("weir_rtc", sizeof(*lc->rtc) * WEIR_RTC_WAYS * WEIR_RTC_SETS,
				     WEIR_CACHE_LINE, socket_id);
	return lc->rtc != NULL ? 0 : -ENOMEM;
}

void
weir_rtc_fini(struct weir_lcore *lc)
{
	rte_free(lc->rtc);
	lc->rtc = NULL;
}

/* Source for a route: the port's address on the gateway's (or prefix's) link, else its first. */
static void
choose_source(const struct weir_control *c, struct weir_route *r)
{
	const union weir_ip *target = r->has_gateway ? &r->gateway : &r->prefix;

	r->has_src = false;
	for (size_t i = 0; i < c->n_addr; i++) {
		const struct weir_ctl_addr *a = &c->addr[i];
		struct weir_route link = {
			.prefix = a->addr.ip, .family = a->addr.family, .bits = a->bits};

		if (a->port != r->port->index || a->addr.family != r->family)
			continue;
		if (prefix_match(&link, target)) {
			r->src = a->addr.ip;
			r->has_src = true;
			return;
		}
		if (!r->has_src) {
			r->src = a->addr.ip;
			r->has_src = true;
		}
	}
}

static int
by_length(const void *a, const void *b)
{
	const struct weir_route *x = a;
	const struct weir_route *y = b;

	if (x->bits != y->bits)
		return (int)y->bits - (int)x->bits;
	return x->seq < y->seq ? -1 : 1;
}

static void
mask_prefix(struct weir_route *r)
{
	for (unsigned int i = 0; i < 16; i++) {
		int left = (int)r->bits - (int)i * 8;

		if (left < 8)
			r->prefix.b[i] &= left <= 0 ? 0 : (uint8_t)(0xff00u >> left);
	}
}

struct weir_fib *
weir_route_build(struct weir_stack *stack)
{
	const struct weir_control *c = stack->control;
	size_t max = c->n_addr + c->n_route;
	struct weir_fib *fib;

	fib = rte_zmalloc("weir_fib", sizeof(*fib) + max * sizeof(fib->route[0]), WEIR_CACHE_LINE);
	if (fib == NULL)
		return NULL;
	for (size_t i = 0; i < c->n_addr; i++) {
		struct weir_route *r = &fib->route[fib->n++];

		*r = (struct weir_route){.prefix = c->addr[i].addr.ip,
					 .src = c->addr[i].addr.ip,
					 .family = c->addr[i].addr.family,
					 .bits = c->addr[i].bits,
					 .has_src = true,
					 .port = stack->ports[c->addr[i].port]};
		mask_prefix(r);
	}
	for (size_t i = 0; i < c->n_route; i++) {
		const struct weir_ctl_route *from = &c->route[i];
		struct weir_route *r = &fib->route[fib->n++];

		*r = (struct weir_route){.prefix = from->prefix.ip,
					 .gateway = from->gateway.ip,
					 .family = from->prefix.family,
					 .bits = from->bits,
					 .has_gateway = from->gateway.family != WEIR_UNSPEC,
					 .port = stack->ports[from->port]};
		choose_source(c, r);
	}
	for (uint32_t i = 0; i < fib->n; i++)
		fib->route[i].seq = i;
	qsort(fib->route, fib->n, sizeof(fib->route[0]), by_length);
	return fib;
}

void
weir_route_publish(struct weir_stack *stack, struct weir_fib *fib)
{
	struct weir_fib *old = atomic_load_explicit(&stack->fib, memory_order_relaxed);

	atomic_store_explicit(&stack->fib, fib, memory_order_release);
	/* Publish the table, then the generation: pairs with the acquire in miss(). */
	atomic_store_explicit(&stack->gen,
			      atomic_load_explicit(&stack->gen, memory_order_relaxed) + 1,
			      memory_order_release);
	if (old != NULL)
		weir_rcu_free(stack, old);
}

void
weir_route_fini(struct weir_stack *stack)
{
	rte_free(atomic_load_explicit(&stack->fib, memory_order_relaxed));
	atomic_store_explicit(&stack->fib, NULL, memory_order_relaxed);
}
