/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive queues that lost, and the one that won, behind one face, for bench_recvq: what should stand
 * between the lcores that deliver and the thread that reads. docs/decisions/0006-receive-queue.md
 * draws the conclusions.
 *
 *   single-1    one list, one lock, taken for each datagram on both sides: the shape before 2017
 *   single-32   the same, taken once per burst on both sides
 *   list        two queues: producers append a burst to the shared list, the reader takes all of it over
 *   node        a lock-free stack that all producers push bursts to, in front of `list`; whoever finds it
 *               empty carries it over: the kernel's third stage of 2025, for one NUMA node
 *   lcore       the same with a stack per producer
 *   ring        an SPSC ring per producer, read in turn
 *   product     src/stack/recvq.c
 *   several     the same with the lock that several readers need
 *
 * All but ring hold the same limit in bytes, charge before they lock and release in lumps of a quarter, as
 * the product does. ring counts places instead: a limit over several rings in bytes would need a shared
 * word per burst.
 */
#ifndef BENCH_RECVQ_ALT_H
#define BENCH_RECVQ_ALT_H

#include <stdint.h>

#include <rte_mbuf.h>

#define ALT_PRODUCERS 2
#define ALT_BURST     32
#define ALT_SIZE      2304 /* true size of each datagram here */

struct alt {
	const char *name;
	/* Make it empty: 0 or -1. limit in bytes. */
	int (*init)(uint64_t limit);
	void (*fini)(void); /* may be NULL */
	/* Producer p appends up to n: how many were taken, the first ones. */
	unsigned int (*put)(unsigned int p, struct rte_mbuf **m, unsigned int n);
	/* Take up to n, oldest first. */
	unsigned int (*get)(struct rte_mbuf **m, unsigned int n);
};

extern const struct alt alt_single1, alt_single32, alt_list, alt_node, alt_lcore, alt_ring,
	alt_product, alt_several;

#endif /* BENCH_RECVQ_ALT_H */
