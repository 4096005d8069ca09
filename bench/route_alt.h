/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a route cache that all cores share costs, as the comparison for the one that each lcore has for itself
 * (src/stack/route.h). Two kinds:
 *
 *   counted  one hash table, read without a lock; who uses a route counts it up, and down again when the datagram
 *            has left. That is how Linux had it until 3.5
 *   locked   the same table, and one lock around each look-up instead of the count
 *
 * A route holds a finished header as the product's entry does. Routes are never taken out while others may look.
 */
#ifndef BENCH_ROUTE_ALT_H
#define BENCH_ROUTE_ALT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weir/addr.h>

struct alt_route {
	alignas(64) union weir_ip dst;
	struct alt_route *_Atomic next;
	uint64_t gen;
	uint8_t hdr[54];
	alignas(64) atomic_int refs; /* of those who use it at the moment */
	_Atomic uint64_t last_use;
};

struct route_alt;

/* n_max routes at most. NULL: out of memory. */
struct route_alt *route_alt_create(uint32_t n_max, bool locked);
void route_alt_destroy(struct route_alt *t);

/* The route to dst, made when there is none, counted up (or looked up under the lock). Any thread. NULL: full. */
struct alt_route *route_alt_get(struct route_alt *t, const union weir_ip *dst, uint64_t now);
/* It has been used. */
void route_alt_put(struct route_alt *t, struct alt_route *r);

#endif /* BENCH_ROUTE_ALT_H */
