/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routing table of both families, and the one decision that is made with it: where does a datagram go,
 * and from which address. Layer 1.
 *
 * Readers: under RCU, any lcore, no lock. A lookup takes a bounded number of memory accesses, whatever the
 * size of the table. Writers: control, under its lock; a change touches the nodes on one path of the tree,
 * never the whole table. Routes and hops are immutable once published, and stay usable until the grace period
 * after their replacement ends: who holds a pointer to one may compare it, and use it until the end of his turn.
 */
#ifndef WEIR_FIB_H
#define WEIR_FIB_H

#include "lcore.h"

/* One way of a route. */
struct weir_nexthop {
	union weir_ip gateway; /* zero: on link */
	union weir_ip src;     /* preferred source; of own choice when has_src is false */
	struct weir_port *port;
	uint16_t mtu;    /* of the route, 0: the port's */
	uint16_t weight; /* upper bound of its share: of hash values 0 .. 65535 those below it */
	bool has_gateway, has_src;
};

/* Where a prefix leads. */
struct weir_route {
	union weir_ip prefix, from;
	uint8_t family, bits, from_bits;
	uint8_t kind; /* enum weir_route_kind */
	uint8_t n_hops;
	bool connected; /* comes with an address of ours */
	bool learned;   /* from a router advertisement */
	uint32_t metric;
	struct weir_nexthop hop[];
};

/* What is asked. */
struct weir_way_key {
	const union weir_ip *dst;
	const union weir_ip *bound; /* source address asked for; zero: any */
	uint8_t family;
	int port;      /* weir port index that it has to leave by, -1: any */
	uint32_t flow; /* hash of the flow, for the choice among hops */
};

/* What is answered. */
struct weir_way {
	struct weir_port *port;         /* the loopback port: this host */
	const struct weir_route *route; /* NULL: this host, or on_link without a route */
	const struct weir_nexthop *hop; /* of it, or NULL */
	union weir_ip next_hop;         /* whose MAC is wanted: the gateway, or dst itself */
	union weir_ip src;
	uint16_t mtu;  /* smallest of port's, route's and the path's (pmtu.h) */
	bool mtu_lock; /* the path's is below what is believed: clear DF and fragment (pmtu.h) */
	bool on_link;  /* no route by the port that was asked for: dst is taken to be there */
};

/*
 * As Linux decides: this host first; a port that was asked for needs no route; what goes to a group leaves by
 * the port of the source address if that is fixed; else the longest prefix, the smallest metric, hops whose link
 * is up, by weight. Source: the one asked for, the route's, else RFC 6724 (IPv6) or the address on the next
 * hop's link (IPv4).
 * 0; -ENETUNREACH: no route, or bound is not ours; -EINVAL: from a loopback address to a wire, blackhole;
 * -EHOSTUNREACH, -EACCES: kind of the route; -EADDRNOTAVAIL: a route, but no address to speak from.
 * COLD: per route cache miss. RCU reader or control.
 */
int weir_way_find(struct weir_stack *stack, const struct weir_way_key *key, struct weir_way *way);

/* The route for dst from `from` (zero: any), by port (index, -1: any). NULL: none. RCU reader or control. */
const struct weir_route *weir_fib_lookup(struct weir_stack *stack, const union weir_ip *dst,
					 uint8_t family, const union weir_ip *from, int port);

/* Is there a way back to src (by port, index; -1: any)? For source validation. RCU reader. */
bool weir_fib_reaches(struct weir_stack *stack, const union weir_ip *src, uint8_t family, int port);

/* ---- control, lock held ---- */

int weir_fib_init(struct weir_stack *stack);
void weir_fib_fini(struct weir_stack *stack);

/*
 * A set of changes that readers see at once, or not at all. begin; add and del; then commit, which cannot
 * fail, or abort. Commit publishes the tree, then raises the stack's generation.
 */
struct weir_fib_txn;
struct weir_fib_txn *weir_fib_begin(struct weir_stack *stack); /* NULL: out of memory */
/* route is copied. -EEXIST (same prefix, from, metric), -ENOMEM. */
int weir_fib_add(struct weir_fib_txn *txn, const struct weir_route *route);
/* The route with prefix, bits, from, from_bits and metric of this one. -ENOENT, -ENOMEM. */
int weir_fib_del(struct weir_fib_txn *txn, const struct weir_route *route);
void weir_fib_commit(struct weir_fib_txn *txn);
void weir_fib_abort(struct weir_fib_txn *txn);

/* The route with exactly these; NULL: none. */
const struct weir_route *weir_fib_exact(struct weir_stack *stack, const struct weir_route *like);

/* Call fn for every route until it returns false. */
void weir_fib_each(struct weir_stack *stack, bool (*fn)(void *arg, const struct weir_route *r),
		   void *arg);

/* Bytes that the table uses now, for reports. */
size_t weir_fib_memory(const struct weir_stack *stack);

/* Something else that routes depend on has changed (a link, a path MTU): caches look again. Any lcore. */
void weir_fib_touch(struct weir_stack *stack);

#endif /* WEIR_FIB_H */
