/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes: an authoritative table under RCU, and each lcore's own cache of finished headers. Layer 1.
 *
 * HOT: weir_route_get(), a hit in the cache. COLD: a miss, one lookup in the table and one neighbour.
 * CONTROL: weir_route_build(), weir_route_publish().
 *
 * The cache is fixed in size, two-way set-associative, keyed by a secret hash of (destination, bound
 * source); a miss overwrites the older way, so an attacker who sprays destinations can cause misses
 * but no growth. An entry is valid while its generation is the stack's. The generation is read
 * *before* the table is looked up: a change in between leaves an entry that is stale at its next use,
 * never one that is stale for ever.
 */
#ifndef WEIR_ROUTE_H
#define WEIR_ROUTE_H

#include "lcore.h"

/* Where a prefix leads. Part of an immutable snapshot. */
struct weir_route {
	union weir_ip prefix;
	union weir_ip gateway; /* zero: on link */
	union weir_ip src;     /* preferred source */
	uint8_t family;
	uint8_t bits;
	bool has_gateway, has_src;
	uint32_t seq; /* order of addition: of equal prefixes the first wins */
	struct weir_port *port;
};

struct weir_fib {
	uint32_t n;
	struct weir_route route[]; /* longest prefix first */
};

enum weir_rtc_flags {
	WEIR_RTC_BROADCAST = 1, /* needs the socket's permission */
	WEIR_RTC_NO_NEIGH = 2,  /* group MAC: nothing to resolve */
	WEIR_RTC_READY = 4,     /* with neigh_word still true: the header is complete */
	WEIR_RTC_GROUP = 8,     /* broadcast or multicast: a copy comes back to this host */
};

#define WEIR_RTC_HDR 54 /* Ethernet + IPv6 */

/* One cached destination: two lines, owned by one lcore. */
struct weir_rtc {
	/* Key and what the send path reads before it touches the packet. */
	uint64_t gen; /* 0: empty */
	union weir_ip dst, bound;
	struct weir_port *port;
	uint32_t neigh;      /* index */
	uint32_t ip_sum;     /* partial sum of the header template, length field 0 */
	uint32_t pseudo_sum; /* addresses and protocol */
	uint16_t mtu;
	uint8_t sel; /* weir_route_sel() */
	uint8_t flags;
	/* The finished header, valid while the neighbour's word equals neigh_word. */
	uint64_t neigh_word;
	uint8_t hdr[WEIR_RTC_HDR];
	uint8_t l2_len, l3_len;
};
static_assert(sizeof(struct weir_rtc) == 2 * WEIR_CACHE_LINE, "two lines");
static_assert(offsetof(struct weir_rtc, neigh_word) == WEIR_CACHE_LINE, "key line first");

#define WEIR_RTC_WAYS 2
#define WEIR_RTC_SETS 512

/* Allocate an lcore's cache. -ENOMEM. */
int weir_rtc_init(struct weir_lcore *lc, int socket_id);
void weir_rtc_fini(struct weir_lcore *lc);

/*
 * The cached destination for dst from bound (zero: any source). NULL with a negative errno in *err:
 * -ENETUNREACH, -EINVAL (from 127/8 to elsewhere), -ENOBUFS (neighbour table full). Valid until this lcore's next call or turn.
 */
struct weir_rtc *weir_route_get(struct weir_lcore *lc, const union weir_ip *dst,
				const union weir_ip *bound, uint8_t sel, int *err);

/* sel of the above: the family, and the port (index, -1: any) that the datagram must leave by. */
static inline uint8_t
weir_route_sel(uint8_t family, int port)
{
	return (uint8_t)(family | (unsigned int)(port + 1) << 3);
}

/* The route to dst, without the cache. RCU reader or control. NULL: none. */
const struct weir_route *weir_route_lookup(struct weir_stack *stack, const union weir_ip *dst,
					   uint8_t family);
/* The same among the routes of one port (index, -1: any). */
const struct weir_route *weir_route_lookup_on(struct weir_stack *stack, const union weir_ip *dst,
					      uint8_t family, int port);

/* Any IPv4 route of a port, for its source; NULL: it has none. */
const struct weir_route *weir_route_of_port(struct weir_stack *stack, int port);

/*
 * The source address for dst, from bound (zero: any) by port (index, -1: any): 0; -ENETUNREACH: no way there,
 * or bound is not ours; -EINVAL: from 127/8 to elsewhere; -EADDRNOTAVAIL: a route, but no address to speak
 * from. RCU reader or control.
 */
int weir_route_source(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, int port,
		      const union weir_ip *bound, union weir_ip *src);

/* A table of control's lists, not yet published; NULL: out of memory. Control lock held. */
struct weir_fib *weir_route_build(struct weir_stack *stack);
/* Let the data path see it, then raise the generation. Control lock held. */
void weir_route_publish(struct weir_stack *stack, struct weir_fib *fib);
void weir_route_fini(struct weir_stack *stack);

#endif /* WEIR_ROUTE_H */
