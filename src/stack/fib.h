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
	uint16_t mtu; /* of the route, 0: the port's */
	uint16_t
		weight; /* upper bound of its share: of hash values 0 .. 65535 those below it; the last has the rest */
	bool has_gateway, has_src;
};

/*
 * Where a prefix leads. Identified by prefix, from, metric and connected; connected ones also by port and
 * src of hop 0 (whether has_src or not): one per address. Of routes with one prefix the longest from wins, then
 * the smallest metric, then the connected one, then the one that was added first.
 */
struct weir_route {
	union weir_ip prefix, from;     /* bits below the length are 0 */
	const struct weir_nexthop *hop; /* n_hops; shared by the routes that have the same */
	uint32_t metric;
	uint8_t family, bits, from_bits;
	uint8_t kind;   /* enum weir_route_kind */
	uint8_t n_hops; /* UNICAST: 1 or more, others: 0 */
	bool connected; /* comes with an address of ours */
	bool learned;   /* from a router advertisement */
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
 * -EHOSTUNREACH, -EACCES: kind of the route; -EADDRNOTAVAIL: a route, but no address to speak from;
 * -ENETDOWN: the port that was asked for is being removed. Link-local without a port (RFC 4007 6): no route.
 * COLD: per route cache miss. RCU reader or control.
 */
int weir_way_find(struct weir_stack *stack, const struct weir_way_key *key, struct weir_way *way);

/*
 * The route for dst from `from` (NULL or zero: any), by port (index, -1: any), whatever its kind. One whose links
 * are all down is passed over. NULL: none. RCU reader or control.
 */
const struct weir_route *weir_fib_lookup(struct weir_stack *stack, const union weir_ip *dst,
					 uint8_t family, const union weir_ip *from, int port);

/* Is there a way back to src (by port, index; -1: any)? For source validation. RCU reader. */
bool weir_fib_reaches(struct weir_stack *stack, const union weir_ip *src, uint8_t family, int port);

/* ---- what the decision (way.c) needs of the table ---- */

struct weir_fib_ask {
	const union weir_ip
		*from; /* NULL or zero: only routes for any source fit, unless from_fits is set */
	bool (*from_fits)(void *arg,
			  const struct weir_route *r); /* instead: asked for routes with a from */
	void *arg;
	int port; /* index, -1: any */
};
const struct weir_route *weir_fib_ask(struct weir_stack *stack, const union weir_ip *dst,
				      uint8_t family, const struct weir_fib_ask *ask);

/* Its link is up and its port not being removed. */
bool weir_hop_usable(const struct weir_nexthop *hop);

/* Is ip in prefix/bits? */
bool weir_ip_in(const union weir_ip *ip, const union weir_ip *prefix, uint8_t family, uint8_t bits);

/* Does any route of the family leave by this port? */
bool weir_fib_uses_port(struct weir_stack *stack, uint8_t family, unsigned int port);

/* ---- control, lock held ---- */

int weir_fib_init(struct weir_stack *stack);
void weir_fib_fini(struct weir_stack *stack);

/*
 * A set of changes that readers see at once, or not at all. begin; add and del; then commit, which cannot
 * fail, or abort. Commit publishes the tree, then raises the stack's generation.
 */
struct weir_fib_txn;
struct weir_fib_txn *weir_fib_begin(struct weir_stack *stack); /* NULL: out of memory */
/* route and its hops are copied. -EEXIST (see struct weir_route), -ENOMEM: as if nothing had been asked. */
int weir_fib_add(struct weir_fib_txn *txn, const struct weir_route *route);
/* The route that is identified by what this one has. -ENOENT, -ENOMEM. */
int weir_fib_del(struct weir_fib_txn *txn, const struct weir_route *route);
void weir_fib_commit(struct weir_fib_txn *txn);
void weir_fib_abort(struct weir_fib_txn *txn);

/* The same within a set of changes. */
const struct weir_route *weir_fib_txn_exact(struct weir_fib_txn *txn,
					    const struct weir_route *like);
void weir_fib_txn_each(struct weir_fib_txn *txn, bool (*fn)(void *arg, const struct weir_route *r),
		       void *arg);

/* The route that is identified by what this one has; NULL: none. */
const struct weir_route *weir_fib_exact(struct weir_stack *stack, const struct weir_route *like);

/* Call fn for every route, in order of prefixes, until it returns false. It may not change the table. */
void weir_fib_each(struct weir_stack *stack, bool (*fn)(void *arg, const struct weir_route *r),
		   void *arg);

/* Routes, and bytes that the table uses, for reports and benchmarks. Control lock held. */
size_t weir_fib_count(const struct weir_stack *stack);
size_t weir_fib_memory(const struct weir_stack *stack);

/* Something else that routes depend on has changed (a link, a path MTU): caches look again. Any lcore. */
void weir_fib_touch(struct weir_stack *stack);

#endif /* WEIR_FIB_H */
