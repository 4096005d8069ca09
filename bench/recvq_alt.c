/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See recvq_alt.h. One of each exists; they share what they are made of: a list linked through the
 * mbufs' metas, a test-and-test-and-set lock, a charge of two numbers that only grow.
 */
#include "recvq_alt.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "lcore.h"
#include "recvq.h"

/* ---- what they are made of ---- */

static inline void
lock(atomic_uint *word)
{
	while (atomic_exchange_explicit(word, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(word, memory_order_relaxed) != 0)
			rte_pause();
}

static inline void
unlock(atomic_uint *word)
{
	atomic_store_explicit(word, 0, memory_order_release);
}

struct list {
	struct rte_mbuf *head, *tail;
};

static inline void
append(struct list *l, struct rte_mbuf *first, struct rte_mbuf *last)
{
	if (l->tail != NULL)
		weir_meta(l->tail)->next = first;
	else
		l->head = first;
	l->tail = last;
}

/* What every form notes with a datagram: when it came, what it is charged, what follows. */
static inline void
note(struct rte_mbuf *m, struct rte_mbuf *next)
{
	struct weir_meta *meta = weir_meta(m);

	meta->next = next;
	meta->time_ns = 0;
	meta->truesize = ALT_SIZE;
	meta->drops = 0;
}

/* Note a burst and link it. */
static inline void
link_burst(struct rte_mbuf **m, unsigned int n)
{
	for (unsigned int i = 0; i + 1 < n; i++)
		note(m[i], m[i + 1]);
	note(m[n - 1], NULL);
}

/* Take up to n off the front. */
static inline unsigned int
take(struct list *l, struct rte_mbuf **m, unsigned int n)
{
	struct rte_mbuf *head = l->head;
	unsigned int got = 0;

	while (got < n && head != NULL) {
		m[got++] = head;
		head = weir_meta(head)->next;
		if (head != NULL)
			rte_prefetch0(weir_meta(head));
	}
	l->head = head;
	if (head == NULL)
		l->tail = NULL;
	return got;
}

/* One queue for all forms with a lock. */
static struct {
	alignas(WEIR_CACHE_LINE) atomic_uint lock;
	_Atomic uint32_t n;
	struct list shared;
	_Atomic uint64_t charged;
	uint64_t limit;
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t released;
	alignas(WEIR_CACHE_LINE) struct list reader;
	uint64_t owed;
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t refused;
	/* node, lcore: a stack of bursts that wait for the lock, and what they are charged. */
	struct {
		alignas(WEIR_CACHE_LINE) struct rte_mbuf *_Atomic top;
		_Atomic uint64_t bytes;
	} front[ALT_PRODUCERS];
} q;

static int
init(uint64_t limit)
{
	memset(&q, 0, sizeof(q));
	q.limit = limit;
	return 0;
}

/* Without the lock. */
static inline uint64_t
held(void)
{
	uint64_t released = atomic_load_explicit(&q.released, memory_order_acquire);

	return atomic_load_explicit(&q.charged, memory_order_relaxed) - released;
}

static inline void
charge(uint64_t bytes)
{
	atomic_store_explicit(&q.charged,
			      atomic_load_explicit(&q.charged, memory_order_relaxed) + bytes,
			      memory_order_relaxed);
}

static inline void
release(uint64_t bytes)
{
	atomic_store_explicit(&q.released,
			      atomic_load_explicit(&q.released, memory_order_relaxed) + bytes,
			      memory_order_release);
}

/* How many of n fit. */
static inline unsigned int
room(uint64_t h, unsigned int n)
{
	uint64_t fit = h < q.limit ? (q.limit - h) / ALT_SIZE : 0;

	return fit < n ? (unsigned int)fit : n;
}

static inline void
refuse(unsigned int n)
{
	atomic_fetch_add_explicit(&q.refused, n, memory_order_relaxed);
}

static inline void
count(unsigned int n)
{
	atomic_store_explicit(&q.n, atomic_load_explicit(&q.n, memory_order_relaxed) + n,
			      memory_order_release);
}

/* ---- one list ---- */

static unsigned int
single1_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	(void)p;
	for (unsigned int i = 0; i < n; i++) {
		if (room(held(), 1) == 0) {
			refuse(n - i);
			return i;
		}
		note(m[i], NULL);
		lock(&q.lock);
		append(&q.shared, m[i], m[i]);
		charge(ALT_SIZE);
		count(1);
		unlock(&q.lock);
	}
	return n;
}

static unsigned int
single1_get(struct rte_mbuf **m, unsigned int n)
{
	unsigned int got = 0;

	while (got < n && atomic_load_explicit(&q.n, memory_order_acquire) != 0) {
		lock(&q.lock);
		got += take(&q.shared, m + got, 1);
		atomic_store_explicit(&q.n, atomic_load_explicit(&q.n, memory_order_relaxed) - 1,
				      memory_order_relaxed);
		release(ALT_SIZE);
		unlock(&q.lock);
	}
	return got;
}

static unsigned int
burst_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	unsigned int fit = room(held(), n);

	(void)p;
	if (fit < n)
		refuse(n - fit);
	if (fit == 0)
		return 0;
	link_burst(m, fit);
	lock(&q.lock);
	append(&q.shared, m[0], m[fit - 1]);
	charge((uint64_t)fit * ALT_SIZE);
	count(fit);
	unlock(&q.lock);
	return fit;
}

static unsigned int
single32_get(struct rte_mbuf **m, unsigned int n)
{
	unsigned int got;

	if (atomic_load_explicit(&q.n, memory_order_acquire) == 0)
		return 0;
	lock(&q.lock);
	got = take(&q.shared, m, n);
	atomic_store_explicit(&q.n, atomic_load_explicit(&q.n, memory_order_relaxed) - got,
			      memory_order_relaxed);
	release((uint64_t)got * ALT_SIZE);
	unlock(&q.lock);
	return got;
}

/* ---- two lists ---- */

static unsigned int
list_get(struct rte_mbuf **m, unsigned int n)
{
	unsigned int got = take(&q.reader, m, n);

	if (got < n && atomic_load_explicit(&q.n, memory_order_acquire) != 0) {
		lock(&q.lock);
		q.reader = q.shared;
		q.shared = (struct list){NULL, NULL};
		atomic_store_explicit(&q.n, 0, memory_order_relaxed);
		unlock(&q.lock);
		got += take(&q.reader, m + got, n - got);
	}
	q.owed += (uint64_t)got * ALT_SIZE;
	if (q.owed != 0 && (q.reader.head == NULL || q.owed >= q.limit / 4)) {
		release(q.owed);
		q.owed = 0;
	}
	return got;
}

/* ---- a lock-free stack in front ---- */

static inline unsigned int
front_put(unsigned int f, struct rte_mbuf **m, unsigned int n)
{
	uint64_t waiting = atomic_load_explicit(&q.front[f].bytes, memory_order_relaxed);
	unsigned int fit = room(held() + waiting, n);
	struct rte_mbuf *top, *first = NULL, *last;
	unsigned int carried = 0;

	if (fit < n)
		refuse(n - fit);
	if (fit == 0)
		return 0;
	/* Newest first, as a stack has it. */
	for (unsigned int i = fit - 1; i > 0; i--)
		note(m[i], m[i - 1]);
	atomic_fetch_add_explicit(&q.front[f].bytes, (uint64_t)fit * ALT_SIZE,
				  memory_order_relaxed);
	top = atomic_load_explicit(&q.front[f].top, memory_order_relaxed);
	do
		note(m[0], top);
	while (!atomic_compare_exchange_weak_explicit(&q.front[f].top, &top, m[fit - 1],
						      memory_order_release, memory_order_relaxed));
	if (top != NULL)
		return fit; /* somebody is on the way to fetch it */

	lock(&q.lock);
	top = atomic_exchange_explicit(&q.front[f].top, NULL, memory_order_acquire);
	last = top;
	while (top != NULL) { /* turn it over */
		struct rte_mbuf *next = weir_meta(top)->next;

		weir_meta(top)->next = first;
		first = top;
		top = next;
		carried++;
	}
	append(&q.shared, first, last);
	charge((uint64_t)carried * ALT_SIZE);
	count(carried);
	unlock(&q.lock);
	atomic_fetch_sub_explicit(&q.front[f].bytes, (uint64_t)carried * ALT_SIZE,
				  memory_order_relaxed);
	return fit;
}

static unsigned int
node_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	(void)p;
	return front_put(0, m, n);
}

static unsigned int
lcore_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	return front_put(p, m, n);
}

/* ---- rings ---- */

static struct rte_ring *ring[ALT_PRODUCERS];
static unsigned int turn;

static void
ring_fini(void)
{
	for (unsigned int p = 0; p < ALT_PRODUCERS; p++) {
		rte_free(ring[p]);
		ring[p] = NULL;
	}
}

static int
ring_init(uint64_t limit)
{
	unsigned int places = (unsigned int)(limit / ALT_SIZE);
	unsigned int n = rte_align32pow2(places + 1);

	turn = 0;
	for (unsigned int p = 0; p < ALT_PRODUCERS; p++) {
		ring[p] = rte_zmalloc(NULL, (size_t)rte_ring_get_memsize(n), WEIR_CACHE_LINE);
		if (ring[p] == NULL ||
		    rte_ring_init(ring[p], "alt", places,
				  RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ) != 0) {
			ring_fini();
			return -1;
		}
	}
	return 0;
}

static unsigned int
ring_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	unsigned int took;

	for (unsigned int i = 0; i < n; i++)
		note(m[i], NULL);
	took = rte_ring_sp_enqueue_burst(ring[p], (void **)m, n, NULL);
	if (took < n)
		refuse(n - took);
	return took;
}

static unsigned int
ring_get(struct rte_mbuf **m, unsigned int n)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < ALT_PRODUCERS && got < n; i++) {
		got += rte_ring_sc_dequeue_burst(ring[turn], (void **)(m + got), n - got, NULL);
		turn = (turn + 1) % ALT_PRODUCERS;
	}
	return got;
}

/* ---- the product ---- */

static struct weir_recvq rq;

static int
product_init(uint64_t limit)
{
	weir_recvq_init(&rq, limit);
	return 0;
}

static int
several_init(uint64_t limit)
{
	weir_recvq_init(&rq, limit);
	weir_recvq_set_readers(&rq, true);
	return 0;
}

static unsigned int
product_put(unsigned int p, struct rte_mbuf **m, unsigned int n)
{
	struct weir_recvq_batch b = {
		.m = m,
		.each = ALT_SIZE,
		.n = (uint16_t)n,
		.lcore = (uint8_t)p,
	};

	return weir_recvq_produce(&rq, &b);
}

static unsigned int
product_get(struct rte_mbuf **m, unsigned int n)
{
	return weir_recvq_consume(&rq, m, n);
}

const struct alt alt_single1 = {"single-1", init, NULL, single1_put, single1_get};
const struct alt alt_single32 = {"single-32", init, NULL, burst_put, single32_get};
const struct alt alt_list = {"list", init, NULL, burst_put, list_get};
const struct alt alt_node = {"node", init, NULL, node_put, list_get};
const struct alt alt_lcore = {"lcore", init, NULL, lcore_put, list_get};
const struct alt alt_ring = {"ring", ring_init, ring_fini, ring_put, ring_get};
const struct alt alt_product = {"product", product_init, NULL, product_put, product_get};
const struct alt alt_several = {"several", several_init, NULL, product_put, product_get};
