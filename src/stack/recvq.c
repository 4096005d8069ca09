/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: see recvq.h. The lock is a test-and-test-and-set word; it is held for the walk over one
 * burst's metas (already in the producer's cache) or for five assignments by the reader. Releasing is
 * a plain store.
 */
#include "recvq.h"

#include <rte_pause.h>

static inline void
queue_lock(struct weir_recvq *q)
{
	/* hot-ok: one locked exchange per burst and socket, none per datagram */
	while (atomic_exchange_explicit(&q->lock, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(&q->lock, memory_order_relaxed) != 0)
			rte_pause();
}

static inline void
queue_unlock(struct weir_recvq *q)
{
	atomic_store_explicit(&q->lock, 0, memory_order_release); /* pairs with queue_lock */
}

void
weir_recvq_init(struct weir_recvq *q, uint64_t limit_bytes)
{
	*q = (struct weir_recvq){0};
	atomic_store_explicit(&q->limit, limit_bytes, memory_order_relaxed);
}

/* Pairs with the release in consume: what was released is really gone. */
static inline void
look_at_released(struct weir_recvq *q)
{
	q->released_seen = atomic_load_explicit(&q->released, memory_order_acquire);
}

/* Append a linked list. Lock held. */
static inline void
append(struct weir_recvq *q, struct rte_mbuf *first, struct rte_mbuf *last, unsigned int n,
       uint64_t bytes)
{
	uint32_t drops =
		(uint32_t)(weir_counter_read(&q->n_full) + weir_counter_read(&q->n_mem_limit));

	if (unlikely(drops != q->drops_told)) {
		weir_meta(first)->drops = drops - q->drops_told;
		q->drops_told = drops;
	}
	if (q->tail != NULL)
		weir_meta(q->tail)->next = first;
	else
		q->head = first;
	q->tail = last;
	q->charged += bytes;
	weir_count(&q->n_queued, n);
	/* Release: a reader that sees n != 0 without the lock may go for the lock. */
	atomic_store_explicit(&q->n, atomic_load_explicit(&q->n, memory_order_relaxed) + n,
			      memory_order_release);
}

bool
weir_recvq_produce_list(struct weir_recvq *q, struct rte_mbuf *first, struct rte_mbuf *last,
			unsigned int n, uint64_t bytes)
{
	uint64_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
	bool fits;

	queue_lock(q);
	if (unlikely(q->charged - q->released_seen + bytes > limit))
		look_at_released(q);
	fits = q->charged - q->released_seen + bytes <= limit;
	if (likely(fits))
		append(q, first, last, n, bytes);
	queue_unlock(q);
	return fits;
}

unsigned int
weir_recvq_produce(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n)
{
	uint64_t limit = atomic_load_explicit(&q->limit, memory_order_relaxed);
	uint64_t bytes = 0;
	unsigned int taken;

	queue_lock(q);
	for (taken = 0; taken < n; taken++) {
		struct weir_meta *meta = weir_meta(m[taken]);
		uint64_t with = bytes + meta->truesize;

		if (unlikely(q->charged - q->released_seen + with > limit)) {
			look_at_released(q);
			if (q->charged - q->released_seen + with > limit &&
			    q->charged + bytes !=
				    q->released_seen) /* an empty queue takes one of any size */
				break;
		}
		bytes = with;
		meta->drops = 0;
		meta->next = NULL;
		if (taken > 0)
			weir_meta(m[taken - 1])->next = m[taken];
	}
	if (taken > 0)
		append(q, m[0], m[taken - 1], taken, bytes);
	if (taken < n)
		weir_count(&q->n_full, n - taken);
	queue_unlock(q);
	return taken;
}

void
weir_recvq_refuse(struct weir_recvq *q, unsigned int n)
{
	queue_lock(q);
	weir_count(&q->n_mem_limit, n);
	queue_unlock(q);
}

/* Take the shared queue over: it becomes the reader's, which is empty. */
static inline void
splice(struct weir_recvq *q)
{
	queue_lock(q);
	q->r_head = q->head;
	q->r_tail = q->tail;
	q->head = NULL;
	q->tail = NULL;
	atomic_store_explicit(&q->n, 0, memory_order_relaxed);
	queue_unlock(q);
	weir_count(&q->n_splices, 1);
}

/* Publish what was taken. Release: pairs with the acquire in produce. */
static inline void
release_owed(struct weir_recvq *q)
{
	if (q->owed == 0)
		return;
	atomic_store_explicit(&q->released,
			      atomic_load_explicit(&q->released, memory_order_relaxed) + q->owed,
			      memory_order_release);
	q->owed = 0;
}

unsigned int
weir_recvq_consume(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n)
{
	struct rte_mbuf *head = q->r_head;
	uint32_t drops = q->drops;
	uint64_t owed = 0;
	unsigned int got = 0;

	while (got < n) {
		struct weir_meta *meta;

		if (head == NULL) {
			/* Pairs with the release in produce. */
			if (atomic_load_explicit(&q->n, memory_order_acquire) == 0)
				break;
			splice(q);
			head = q->r_head;
			continue;
		}
		meta = weir_meta(head);
		m[got++] = head;
		owed += meta->truesize;
		drops += meta->drops;
		if (unlikely(drops != 0))
			meta->drops = drops;
		head = meta->next;
		if (head != NULL)
			rte_prefetch0(weir_meta(head));
	}
	q->r_head = head;
	if (got > 0) {
		q->drops = drops;
		q->owed += owed;
		weir_count(&q->n_read, got);
	}
	/* A lump is a quarter of the limit; a reader that has run dry gives everything back. */
	if (q->r_head == NULL ||
	    q->owed >= atomic_load_explicit(&q->limit, memory_order_relaxed) / 4)
		release_owed(q);
	return got;
}

uint64_t
weir_recvq_depth(const struct weir_recvq *q)
{
	return weir_counter_read(&q->n_queued) - weir_counter_read(&q->n_read) -
	       weir_counter_read(&q->n_purged);
}

uint64_t
weir_recvq_charge(struct weir_recvq *q)
{
	uint64_t released = atomic_load_explicit(&q->released, memory_order_acquire);
	uint64_t charged;

	queue_lock(q);
	charged = q->charged;
	queue_unlock(q);
	return charged - released;
}

struct rte_mbuf *
weir_recvq_purge(struct weir_recvq *q)
{
	struct rte_mbuf *list = q->r_head;
	uint64_t left = weir_recvq_depth(q);

	if (list == NULL)
		list = q->head;
	else
		weir_meta(q->r_tail)->next = q->head;
	q->r_head = NULL;
	q->r_tail = NULL;
	q->head = NULL;
	q->tail = NULL;
	atomic_store_explicit(&q->n, 0, memory_order_relaxed);
	weir_count(&q->n_purged, left);
	q->owed = 0;
	atomic_store_explicit(&q->released, q->charged, memory_order_relaxed);
	return list;
}
