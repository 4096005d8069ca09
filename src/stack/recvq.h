/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-queue receive: producers append to a shared queue, one reader works on a private queue and,
 * when that is empty, takes the whole shared queue over in O(1). HOT. Layer 1.
 *
 *   any lcore  --produce(burst)-->  shared queue  ==splice==>  reader queue  --consume-->  reader
 *
 * Charging. `charged` (producers, under the lock) and `released` (reader, published in lumps) only
 * grow; what is held is their difference. The producers keep the last value of `released` that they
 * saw and read the reader's line only when that old value says "full". So no atomic
 * read-modify-write but the lock, once per burst, and no line is written by both sides.
 *
 * Threads: produce by any number of lcores; consume by one thread at a time; purge when no other
 * call can be running (after the grace period of close).
 */
#ifndef WEIR_RECVQ_H
#define WEIR_RECVQ_H

#include "lcore.h"

struct weir_recvq {
	/* Producers, under the lock. n is also read by the reader, without it. */
	alignas(WEIR_CACHE_LINE) atomic_uint lock;
	_Atomic uint32_t n; /* datagrams in the shared queue */
	struct rte_mbuf *head, *tail;
	uint64_t charged;
	uint64_t released_seen;
	weir_counter n_queued, n_full;
	uint32_t drops_told; /* up to the last datagram queued */

	/* Producers, rarely. */
	alignas(WEIR_CACHE_LINE) weir_counter n_mem_limit;

	/* Reader. */
	alignas(WEIR_CACHE_LINE) struct rte_mbuf *r_head;
	struct rte_mbuf *r_tail;
	uint64_t owed; /* taken but not yet published in released */
	_Atomic uint64_t released;
	weir_counter n_read, n_splices, n_purged;
	uint32_t drops; /* before the last datagram taken */

	/* Set at creation, read by both. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t limit;
};
static_assert(offsetof(struct weir_recvq, r_head) % WEIR_CACHE_LINE == 0, "reader's line");
static_assert(offsetof(struct weir_recvq, drops_told) + 4 <= WEIR_CACHE_LINE,
	      "producers: one line");

void weir_recvq_init(struct weir_recvq *q, uint64_t limit_bytes);

/*
 * Append m[0..n-1], in order, under one lock hold. Each mbuf's meta holds its true size and arrival
 * time. Returns how many were taken: the first ones; from the first refused datagram on all are
 * refused (counted in n_full) and stay the caller's.
 */
unsigned int weir_recvq_produce(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n);

/*
 * The same for a burst that is linked already, first to last by meta->next (NULL at the end), every
 * meta->drops 0, bytes the sum of the true sizes: nothing of the datagrams but the first and the last is
 * touched. All are taken, or none (nothing counted): then they are for weir_recvq_produce().
 */
bool weir_recvq_produce_list(struct weir_recvq *q, struct rte_mbuf *first, struct rte_mbuf *last,
			     unsigned int n, uint64_t bytes);

/* Count n datagrams that were refused because the pool is low. Producers. */
void weir_recvq_refuse(struct weir_recvq *q, unsigned int n);

/*
 * Take up to n datagrams, oldest first. Returns how many. Only now meta->drops is what was refused before
 * the datagram; in the queue it is the increase since the one in front of it.
 */
unsigned int weir_recvq_consume(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n);

/* Is there a datagram in either queue? Reader's side. */
static inline bool
weir_recvq_readable(const struct weir_recvq *q)
{
	return q->r_head != NULL || atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&q->n,
							 memory_order_acquire) != 0;
}

/* Datagrams in both queues: exact when nothing runs. */
uint64_t weir_recvq_depth(const struct weir_recvq *q);

/* Bytes charged and not yet released. */
uint64_t weir_recvq_charge(struct weir_recvq *q);

/* Take everything off both queues, as one list linked by meta->next (NULL: empty). */
struct rte_mbuf *weir_recvq_purge(struct weir_recvq *q);

#endif /* WEIR_RECVQ_H */
