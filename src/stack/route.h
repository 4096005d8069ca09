/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each lcore's own cache of destinations: where a datagram goes, with its header finished. Layer 1; the table that it
 * stands before is fib.h's.
 *
 * HOT: weir_route_get(), a hit. COLD: a miss, one decision by weir_way_find() and one neighbour.
 *
 * The cache is fixed in size, four-way set-associative, keyed by a secret hash of (destination, bound source, and the
 * ports of the flow once any route has several hops); a miss overwrites one way, so an attacker who sprays destinations
 * can cause misses but no growth. An entry is valid while its generation is the stack's. The generation is read
 * *before* the table is asked: a change in between leaves an entry that is stale at its next use, never one that is
 * stale for ever. Generation 0 is nobody's.
 *
 * A stale entry whose key fits is not thrown away: the table is asked again, and when it says what it said before, only
 * the generation is written. A change of routes that have nothing to do with it costs a destination one look-up.
 */
#ifndef WEIR_ROUTE_H
#define WEIR_ROUTE_H

#include "fib.h"
#include "lcore.h"

enum weir_rtc_flags {
	WEIR_RTC_BROADCAST = 1, /* needs the socket's permission */
	WEIR_RTC_NO_NEIGH = 2,  /* group MAC or this host: nothing to resolve */
	WEIR_RTC_READY = 4,     /* with neigh_word still true: the header is complete */
	WEIR_RTC_GROUP = 8,     /* broadcast or multicast: a copy comes back to this host */
	WEIR_RTC_MTU_LOCK = 16, /* struct weir_way's mtu_lock */
};

#define WEIR_RTC_HDR 54 /* Ethernet + IPv6 */

/* One cached destination: two lines, owned by one lcore. */
struct weir_rtc {
	/* Key and what the send path reads before it touches the packet. */
	uint64_t gen; /* 0: empty */
	union weir_ip dst, bound;
	struct weir_port *port;
	uint32_t flow;       /* weir_route_flow() */
	uint32_t neigh;      /* index */
	uint16_t ip_sum;     /* partial sum of the IPv4 header template, length field 0 */
	uint16_t pseudo_sum; /* addresses and protocol */
	uint16_t mtu;        /* of the path, bytes of IP packet */
	uint8_t sel;         /* weir_route_sel() */
	uint8_t flags;
	/* The finished header, valid while the neighbour's word equals neigh_word. */
	uint64_t neigh_word;
	uint8_t hdr[WEIR_RTC_HDR];
	uint8_t l3_len; /* of the IP header: 20 or 40 */
	uint8_t pad;
};
static_assert(sizeof(struct weir_rtc) == 2 * WEIR_CACHE_LINE, "two lines");
static_assert(offsetof(struct weir_rtc, neigh_word) == WEIR_CACHE_LINE, "key line first");

/* 512 KiB per lcore; what is not used is not touched. */
#define WEIR_RTC_WAYS 4
#define WEIR_RTC_SETS 1024

/* Allocate an lcore's cache. -ENOMEM. */
int weir_rtc_init(struct weir_lcore *lc, int socket_id);
void weir_rtc_fini(struct weir_lcore *lc);

/* COLD: what weir_route_get() does when no entry of the set fits. */
struct weir_rtc *weir_route_miss(struct weir_lcore *lc, uint64_t hash, const union weir_ip *dst,
				 const union weir_ip *bound, uint8_t sel, uint32_t flow, int *err);

static inline uint64_t
weir_route_mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline uint64_t
weir_route_hash(const struct weir_stack *stack, const union weir_ip *dst,
		const union weir_ip *bound, uint32_t flow)
{
	return weir_route_mix(dst->w[0] ^ stack->hash_key[2],
			      bound->w[0] ^ dst->w[1] ^ bound->w[1] ^ flow ^ stack->hash_key[3]);
}

static inline struct weir_rtc *
weir_route_set(struct weir_lcore *lc, uint64_t hash)
{
	return &lc->rtc[(hash & (WEIR_RTC_SETS - 1)) * WEIR_RTC_WAYS];
}

/* The i-th place of a set that is looked at. */
static inline unsigned int
weir_route_way_of(uint64_t hash, unsigned int i)
{
	return (unsigned int)(hash / WEIR_RTC_SETS + i) & (WEIR_RTC_WAYS - 1);
}

static inline bool
weir_route_same_key(const struct weir_rtc *e, const union weir_ip *dst, const union weir_ip *bound,
		    uint8_t sel, uint32_t flow)
{
	return e->dst.w[0] == dst->w[0] && e->dst.w[1] == dst->w[1] &&
	       e->bound.w[0] == bound->w[0] && e->bound.w[1] == bound->w[1] && e->sel == sel &&
	       e->flow == flow;
}

/*
 * The cached destination for dst from bound (zero: any source). NULL with a negative errno in *err: those of
 * weir_way_find(), but -ENETUNREACH for -EADDRNOTAVAIL; -ENOBUFS (neighbour table full). Valid until this lcore's next
 * call or turn. RCU reader. ports: weir_route_ports().
 */
static inline struct weir_rtc *
weir_route_get(struct weir_lcore *lc, const union weir_ip *dst, const union weir_ip *bound,
	       uint8_t sel, uint32_t ports, int *err)
{
	struct weir_stack *stack = lc->stack;
	/* Acquire: flow_mask is at least as new as the generation. */
	const uint64_t gen = atomic_load_explicit(&stack->gen, memory_order_acquire);
	const uint32_t flow = ports & atomic_load_explicit(&stack->flow_mask, memory_order_relaxed);
	const uint64_t hash = weir_route_hash(stack, dst, bound, flow);
	struct weir_rtc *set = weir_route_set(lc, hash);

	/* From where the hash says, so that few are not all in the first place of their sets. */
	for (unsigned int i = 0; i < WEIR_RTC_WAYS; i++) {
		struct weir_rtc *e = &set[weir_route_way_of(hash, i)];

		if (likely(e->gen == gen && weir_route_same_key(e, dst, bound, sel, flow)))
			return e;
	}
	return weir_route_miss(lc, hash, dst, bound, sel, flow, err);
}

/* sel of the above: the family, and the port (index, -1: any) that the datagram must leave by. */
static inline uint8_t
weir_route_sel(uint8_t family, int port)
{
	return (uint8_t)(family | (unsigned int)(port + 1) << 3);
}

/* Ports for it: both UDP ports of the flow, for the choice among several hops. */
static inline uint32_t
weir_route_ports(uint16_t sport, uint16_t dport)
{
	return sport | (uint32_t)dport << 16;
}

/* What an entry was made for is asked again. As weir_way_find(); COLD. RCU reader. */
int weir_route_way(struct weir_lcore *lc, const struct weir_rtc *e, struct weir_way *way);

/*
 * The source address for dst, from bound (zero: any) by port (index, -1: any): 0, or as weir_way_find(). RCU reader or
 * control.
 */
int weir_route_source(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, int port,
		      const union weir_ip *bound, union weir_ip *src);

#endif /* WEIR_ROUTE_H */
