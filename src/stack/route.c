/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: the miss. See route.h, which has the hit.
 */
#include "route.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "local.h"
#include "neigh.h"

#define HOPS_DEFAULT 64 /* TTL, hop limit (RFC 1700) */

/* COLD: ask the table. */
static int
ask(struct weir_lcore *lc, const union weir_ip *dst, const union weir_ip *bound, uint8_t sel,
    uint32_t flow, struct weir_way *way)
{
	struct weir_stack *stack = lc->stack;
	const struct weir_way_key key = {
		.dst = dst,
		.bound = bound,
		.family = sel & 7,
		.port = (sel >> 3) - 1,
		.flow = (uint32_t)(weir_route_mix(weir_route_hash(stack, dst, bound, flow) ^
							  stack->hash_key[0],
						  stack->hash_key[1] | 1) >>
				   32),
	};

	return weir_way_find(stack, &key, way);
}

int
weir_route_way(struct weir_lcore *lc, const struct weir_rtc *e, struct weir_way *way)
{
	return ask(lc, &e->dst, &e->bound, e->sel, e->flow, way);
}

int
weir_route_source(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, int port,
		  const union weir_ip *bound, union weir_ip *src)
{
	const struct weir_way_key key = {
		.dst = dst, .bound = bound, .family = family, .port = port};
	struct weir_way way;
	int ret = weir_way_find(stack, &key, &way);

	if (ret == 0)
		*src = way.src;
	return ret;
}

/* Write the Ethernet and IPv4 template. */
static void
fill_header4(struct weir_rtc *e, wire_be32 src)
{
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(e->hdr + WIRE_ETH_LEN);

	*ip = (struct wire_ip4){
		.ver_ihl = 0x45,
		.frag = WIRE_BE16(WIRE_IP4_DF),
		.ttl = HOPS_DEFAULT,
		.proto = WIRE_PROTO_UDP,
		.src = src,
		.dst = e->dst.v4,
	};
	e->l3_len = WIRE_IP4_MIN;
	e->ip_sum = wire_fold(wire_sum(ip, WIRE_IP4_MIN, 0));
	e->pseudo_sum = wire_fold(wire_pseudo4(src, e->dst.v4, WIRE_PROTO_UDP, 0));
}

/* The same for IPv6; the hop limit is what the link's routers want, if they say (RFC 4861 6.3.2). */
static void
fill_header6(struct weir_rtc *e, const union weir_ip *src)
{
	struct wire_ip6 *ip = (struct wire_ip6 *)(void *)(e->hdr + WIRE_ETH_LEN);
	const uint8_t hops = atomic_load_explicit(&e->port->cur_hop_limit, memory_order_relaxed);

	*ip = (struct wire_ip6){
		.ver_tc_flow = WIRE_BE32(UINT32_C(6) << 28),
		.next = WIRE_PROTO_UDP,
		.hop_limit = hops != 0 ? hops : HOPS_DEFAULT,
	};
	memcpy(ip->src, src->b, sizeof(ip->src));
	memcpy(ip->dst, e->dst.b, sizeof(ip->dst));
	e->l3_len = WIRE_IP6_LEN;
	e->ip_sum = 0;
	e->pseudo_sum = wire_fold(wire_pseudo6(ip->src, ip->dst, WIRE_PROTO_UDP, 0));
}

/* The MAC of a group address: RFC 1112 6.4, RFC 2464 7. */
static void
group_mac(const union weir_ip *dst, uint8_t family, uint8_t mac[WIRE_ETH_ALEN])
{
	if (family == WEIR_IPV4)
		memcpy(mac,
		       (const uint8_t[]){0x01, 0x00, 0x5e, dst->b[1] & 0x7f, dst->b[2], dst->b[3]},
		       WIRE_ETH_ALEN);
	else
		memcpy(mac,
		       (const uint8_t[]){0x33, 0x33, dst->b[12], dst->b[13], dst->b[14],
					 dst->b[15]},
		       WIRE_ETH_ALEN);
}

/*
 * COLD: make an entry of what the table says. 0, or the errno for the sender. gen: the stack's, read before the
 * table was asked.
 */
static int
make_entry(struct weir_lcore *lc, const union weir_ip *dst, const union weir_ip *bound, uint8_t sel,
	   uint32_t flow, const struct weir_way *way, struct weir_rtc *e)
{
	const uint8_t family = sel & 7;
	const struct weir_local *mine = weir_local_find(lc->stack, dst, family);
	struct wire_eth *eth = (struct wire_eth *)(void *)e->hdr;

	*e = (struct weir_rtc){
		.dst = *dst,
		.bound = *bound,
		.port = way->port,
		.flow = flow,
		.mtu = way->mtu,
		.sel = sel,
		.flags = way->mtu_lock ? WEIR_RTC_MTU_LOCK : 0,
	};
	if (way->port->index == WEIR_PORT_LOOPBACK) {
		e->flags |= WEIR_RTC_NO_NEIGH;
		memcpy(eth->dst, way->port->parse.mac, sizeof(eth->dst));
	} else if (family == WEIR_IPV4 && (dst->v4 == 0xffffffff ||
					   (mine != NULL && mine->kind == WEIR_LOCAL_BROADCAST))) {
		e->flags |= WEIR_RTC_BROADCAST | WEIR_RTC_NO_NEIGH | WEIR_RTC_GROUP;
		memset(eth->dst, 0xff, sizeof(eth->dst));
	} else if (family == WEIR_IPV4 ? weir_is_mcast4(dst->v4) : weir_ip6_is_mcast(dst)) {
		e->flags |= WEIR_RTC_NO_NEIGH | WEIR_RTC_GROUP;
		group_mac(dst, family, eth->dst);
	} else if (!weir_neigh_find_or_create(lc, way->port, &way->next_hop, family, &e->neigh)) {
		return -ENOBUFS;
	}
	memcpy(eth->src, way->port->parse.mac, sizeof(eth->src));
	eth->type = WIRE_BE16(family == WEIR_IPV4 ? WIRE_ETH_IP4 : WIRE_ETH_IP6);
	if (family == WEIR_IPV4)
		fill_header4(e, way->src.v4);
	else
		fill_header6(e, &way->src);
	return 0;
}

/* Do both lead the same way? What a neighbour has said is not looked at. COLD. */
static bool
same_way(const struct weir_rtc *a, const struct weir_rtc *b)
{
	const size_t macs = 2 * (size_t)WIRE_ETH_ALEN;

	return a->port == b->port && a->neigh == b->neigh && a->mtu == b->mtu &&
	       (a->flags & ~WEIR_RTC_READY) == (b->flags & ~WEIR_RTC_READY) &&
	       memcmp(a->hdr + WIRE_ETH_ALEN, b->hdr + WIRE_ETH_ALEN,
		      sizeof(a->hdr) - WIRE_ETH_ALEN) == 0 &&
	       /* The destination MAC of those that have a neighbour is his business. */
	       ((a->flags & WEIR_RTC_NO_NEIGH) == 0 || memcmp(a->hdr, b->hdr, macs) == 0);
}

/* COLD: ask the table; keep the entry that is there, or overwrite one way of the set. */
struct weir_rtc *
weir_route_miss(struct weir_lcore *lc, uint64_t hash, const union weir_ip *dst,
		const union weir_ip *bound, uint8_t sel, uint32_t flow, int *err)
{
	/* Acquire: pairs with the release of whoever raises it; read before any table. */
	const uint64_t gen = atomic_load_explicit(&lc->stack->gen, memory_order_acquire);
	struct weir_rtc *set = weir_route_set(lc, hash);
	struct weir_rtc *e = NULL, *old = NULL;
	struct weir_rtc fresh;
	struct weir_way way;

	*err = ask(lc, dst, bound, sel, flow, &way);
	if (*err == 0)
		*err = make_entry(lc, dst, bound, sel, flow, &way, &fresh);
	if (*err != 0) {
		if (*err == -EADDRNOTAVAIL)
			*err = -ENETUNREACH;
		return NULL;
	}
	for (unsigned int i = 0; i < WEIR_RTC_WAYS; i++) {
		struct weir_rtc *at = &set[weir_route_way_of(hash, i)];

		if (at->gen != 0 && weir_route_same_key(at, dst, bound, sel, flow))
			e = at;
		else if (at->gen != gen && old == NULL)
			old = at;
	}
	if (e != NULL && same_way(e, &fresh)) {
		e->gen = gen;
		return e;
	}
	/*
	 * The one of this key; else an empty or outdated one; else any: in turn, so that what is in use finds room among
	 * what is not, and does not fight for one place.
	 */
	if (e == NULL)
		e = old != NULL ? old : &set[weir_route_way_of(hash, lc->rtc_turn++)];
	fresh.gen = gen;
	*e = fresh;
	return e;
}
static_assert((WEIR_RTC_WAYS & (WEIR_RTC_WAYS - 1)) == 0, "a mask");

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
