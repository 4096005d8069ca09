/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happened to stamped datagrams on their way (udp_sink --check): per source, how many are
 * missing, came twice, came late or were damaged.
 *
 * Owned by the worker that reads; no DPDK, fixed memory, one table look-up per datagram. A source is
 * an address and port; its sequence starts at 0. Not seen here: datagrams lost after the last one
 * that arrived (the sender's count tells), and sources beyond CHECK_SOURCES (counted apart).
 */
#ifndef SINK_CHECK_H
#define SINK_CHECK_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/addr.h>

#define CHECK_SOURCES 4096 /* power of two; 3/4 of them are used */
#define CHECK_WINDOW  4096 /* sequence numbers back in which a repeat is told from a latecomer */

struct check_sums {
	uint64_t datagrams;  /* stamped and undamaged */
	uint64_t missing;    /* never came, before the last one that did */
	uint64_t duplicated; /* came again */
	uint64_t reordered;  /* came after one with a higher number */
	uint64_t ancient;    /* further back than the window: a repeat or a latecomer */
	uint64_t corrupt;    /* damaged or not stamped */
	uint64_t untracked;  /* from sources beyond the table */
	uint64_t sources;    /* sources seen */
};

struct check;

/** NULL when out of memory. */
struct check *check_create(void);
void check_destroy(struct check *c);

/** One datagram; payload contiguous. */
void check_datagram(struct check *c, const struct weir_addr *peer, const uint8_t *payload,
		    size_t len);

void check_sums_get(const struct check *c, struct check_sums *out);

#endif /* SINK_CHECK_H */
