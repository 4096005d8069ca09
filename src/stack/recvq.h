/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-queue receive: producers append to a shared queue, the reader works on a private queue and,
 * when that is empty, takes the whole shared queue over in O(1). HOT. Layer 1.
 *
 *   any lcore  --produce(batch)-->  shared queue  ==splice==>  reader queue  --take-->  reader
 *
 * Runs. What is queued is a list of runs: up to WEIR_RUN_MAX datagrams of one batch that have the same
 * true size. The last mbuf of a run is its host. The host's meta holds what the datagrams have in
 * common, and its buffer, in front of the frame, the pointers to all of them. So the reader, which may be
 * another core, fetches what it wants by array and in parallel, not one cache miss after the other along
 * a list; and of the other mbufs nothing is written. A buffer without that room hosts a run of one.
 *
 * Charging. What is held is the difference of `charged` (under the lock) and `released` (reader, published in
 * lumps, only grows). The producers keep the last value of `released` that they saw and read the other line
 * only when that old value says "full". So no atomic read-modify-write but the lock, once per batch. A reader
 * that takes the whole shared queue at once gives it back in the hold of the splice. A batch that finds the
 * queue full is refused without the lock.
 *
 * Threads: produce by any number of lcores. Reader's calls by one thread at a time, without a lock; or,
 * with weir_recvq_set_readers(), by several, under the readers' lock. Order: readers' lock, then the
 * queue's; producers never take the readers'. Purge when no other call can be running (after the grace
 * period of close).
 */
#ifndef WEIR_RECVQ_H
#define WEIR_RECVQ_H

#include "lcore.h"

/* Datagrams of a run: as many pointers as fit into the usual headroom. */
#define WEIR_RUN_MAX   16
#define WEIR_RUN_BYTES (WEIR_RUN_MAX * sizeof(struct rte_mbuf *))

/* A run: the address of its host, and in the bits that alignment leaves free the datagrams before it. */
typedef uintptr_t weir_runref; /* 0: none */
static_assert(alignof(struct rte_mbuf) >= WEIR_RUN_MAX, "room for the count");

struct weir_recvq {
	/* Producers, under the lock; atomics are also read without it. */
	alignas(WEIR_CACHE_LINE) atomic_uint lock;
	bool armed;           /* somebody wants to hear of arrivals */
	_Atomic bool refused; /* something, some time: the counts of the next line are not all 0 */
	_Atomic uint32_t n;   /* datagrams in the shared queue */
	uint32_t drops_told;  /* up to the last datagram queued */
	weir_runref head;
	struct rte_mbuf *tail; /* host of the last run */
	_Atomic uint64_t charged;
	_Atomic uint64_t released_seen;
	_Atomic uint64_t limit;
	weir_counter n_queued;

	/* Not touched while there is room: producers add to the counts when they refuse, without the lock; the
	 * reader publishes what it has released, and they read it when they think that the queue is full. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t n_full;
	_Atomic uint64_t n_mem_limit;
	_Atomic uint64_t released;
	weir_counter n_purged;
	atomic_uint r_lock; /* readers', when there are several */

	/* Reader. */
	alignas(WEIR_CACHE_LINE) _Atomic weir_runref r_head;
	struct rte_mbuf *r_tail;
	uint64_t owed;      /* taken but not yet published in released */
	uint64_t r_charged; /* `charged` after the last splice */
	weir_counter n_read, n_splices;
	_Atomic uint64_t lump; /* a quarter of the limit */
	uint32_t drops;        /* before the last datagram taken */
	uint8_t r_at;          /* datagrams taken of the run r_head */
	bool several;          /* readers: r_lock is taken */
};
static_assert(offsetof(struct weir_recvq, n_queued) + 8 <= WEIR_CACHE_LINE, "producers: one line");
static_assert(offsetof(struct weir_recvq, several) < 3 * WEIR_CACHE_LINE, "reader: one line");

static_assert(WEIR_MAX_LCORES <= UINT8_MAX && WEIR_MAX_PORTS < UINT8_MAX, "run_fact");

/* Datagrams that arrived together on one port. */
struct weir_recvq_batch {
	struct rte_mbuf *const *m;
	const uint32_t *size; /* true size of each; NULL: all `each` */
	uint32_t each;
	uint16_t n;    /* not 0, at most WEIR_MAX_BURST */
	uint8_t port;  /* weir port index */
	uint8_t lcore; /* slot of the producer */
	uint64_t time_ns;
	/* Filled: somebody waits, for so many; the caller tells event.c, after this call. */
	uint16_t wake;
};

/* What the datagrams of one weir_recvq_take() have in common. */
struct weir_recvq_facts {
	uint64_t time_ns;
	uint32_t drops; /* datagrams refused before these, modulo 2^32 */
	uint8_t port;
	uint8_t lcore; /* slot of the producer: is what it wrote in the caller's cache? */
};

void weir_recvq_init(struct weir_recvq *q, uint64_t limit_bytes);

/* While it is in use. What is queued stays; a reader goes on owing up to the old quarter. Any thread. */
void weir_recvq_set_limit(struct weir_recvq *q, uint64_t limit_bytes);

static inline uint64_t
weir_recvq_limit(const struct weir_recvq *q)
{
	return weir_counter_read(&q->limit);
}

/* Several readers at a time? While nobody receives. */
void weir_recvq_set_readers(struct weir_recvq *q, bool several);

/* ---- producers ---- */

/*
 * Append the batch in order, under one lock hold. Returns how many were taken: the first ones; from the
 * first refused datagram on all are refused (counted in n_full) and stay the caller's.
 */
unsigned int weir_recvq_produce(struct weir_recvq *q, struct weir_recvq_batch *b);

/* Count n datagrams that were refused because the pool is low. */
void weir_recvq_refuse(struct weir_recvq *q, unsigned int n);

/* ---- reader ---- */

/*
 * Take up to n datagrams of one run, oldest first. Returns how many; 0: there is none (or n is 0), and
 * everything charged has been given back.
 */
unsigned int weir_recvq_take(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n,
			     struct weir_recvq_facts *facts);

/* The same between hold and unhold. */
unsigned int weir_recvq_take_held(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n,
				  struct weir_recvq_facts *facts);

/* One datagram, without its facts; NULL: there is none. */
struct rte_mbuf *weir_recvq_take_one(struct weir_recvq *q);

/* The same across runs, for those who do not ask for the facts. */
static inline unsigned int
weir_recvq_consume(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n)
{
	struct weir_recvq_facts facts;
	unsigned int got = 0;
	unsigned int k;

	while (got < n && (k = weir_recvq_take(q, m + got, n - got, &facts)) > 0)
		got += k;
	return got;
}

/*
 * Walk over what is queued, oldest first, taking nothing: for (m = first; m != NULL; m = next). Between hold
 * and unhold, no other reader takes anything. The walk splices when the private queue runs out.
 */
struct weir_recvq_pos {
	struct weir_recvq_facts facts; /* of the datagram last returned */
	weir_runref run;
	unsigned int at;
};
void weir_recvq_hold(struct weir_recvq *q);
void weir_recvq_unhold(struct weir_recvq *q);
struct rte_mbuf *weir_recvq_first(struct weir_recvq *q, struct weir_recvq_pos *pos);
struct rte_mbuf *weir_recvq_next(struct weir_recvq *q, struct weir_recvq_pos *pos);

/*
 * Is there a datagram in either queue? Any thread. The shared queue first: what another thread has spliced
 * away by then is in the reader's. Acquire: pairs with the releases in produce and splice.
 */
static inline bool
weir_recvq_readable(const struct weir_recvq *q)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&q->n, memory_order_acquire) !=
		       0 ||
	       atomic_load_explicit((_Atomic weir_runref *)(uintptr_t)&q->r_head,
				    memory_order_relaxed) != 0;
}

/* Datagrams ever queued: moves with every arrival. Any thread. */
static inline uint64_t
weir_recvq_arrivals(const struct weir_recvq *q)
{
	return weir_counter_read(&q->n_queued);
}

/*
 * From now on every produce reports its arrivals (batch.wake), until disarm. Returns whether both queues
 * are empty: false, and the caller looks again instead of going to sleep. Look and arming are one lock hold
 * (the readers' too): an arrival is either seen here or reported.
 */
bool weir_recvq_arm(struct weir_recvq *q);
void weir_recvq_disarm(struct weir_recvq *q);

/* ---- anybody ---- */

/* Datagrams in both queues: exact when nothing runs. */
uint64_t weir_recvq_depth(const struct weir_recvq *q);

/* Bytes charged and not yet released. */
uint64_t weir_recvq_charge(struct weir_recvq *q);

/* Take everything off both queues, as one list linked by meta->next (NULL: empty). */
struct rte_mbuf *weir_recvq_purge(struct weir_recvq *q);

#endif /* WEIR_RECVQ_H */
