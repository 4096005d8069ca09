/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: see recvq.h. The locks are test-and-test-and-set words. The queue's is held for a handful of
 * assignments on either side (and for the walk over one batch when only a part of it fits); releasing is a
 * plain store. Runs are made before the lock is taken.
 */
#include "recvq.h"

#include <string.h>

#include <rte_pause.h>

#include "mbuf.h"

static inline void
lock(atomic_uint *word)
{
	/* hot-ok: one locked exchange per batch and socket, none per datagram */
	while (atomic_exchange_explicit(word, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(word, memory_order_relaxed) != 0)
			rte_pause();
}

static inline void
unlock(atomic_uint *word)
{
	atomic_store_explicit(word, 0, memory_order_release); /* pairs with lock */
}

static inline uint64_t
load(const _Atomic uint64_t *x)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)x, memory_order_relaxed);
}

static inline void
store(_Atomic uint64_t *x, uint64_t value)
{
	atomic_store_explicit(x, value, memory_order_relaxed);
}

static inline void
readers_lock(struct weir_recvq *q)
{
	if (unlikely(q->several))
		lock(&q->r_lock);
}

static inline void
readers_unlock(struct weir_recvq *q)
{
	if (unlikely(q->several))
		unlock(&q->r_lock);
}

void
weir_recvq_init(struct weir_recvq *q, uint64_t limit_bytes)
{
	*q = (struct weir_recvq){0};
	weir_recvq_set_limit(q, limit_bytes);
}

void
weir_recvq_set_limit(struct weir_recvq *q, uint64_t limit_bytes)
{
	store(&q->limit, limit_bytes);
	store(&q->lump, limit_bytes / 4);
}

void
weir_recvq_set_readers(struct weir_recvq *q, bool several)
{
	q->several = several;
}

/* ---- runs ---- */

static inline weir_runref
run_of(struct rte_mbuf *host, unsigned int n)
{
	return (weir_runref)host | (n - 1);
}

static inline struct rte_mbuf *
run_host(weir_runref run)
{
	return (struct rte_mbuf *)(run & ~(weir_runref)(WEIR_RUN_MAX - 1));
}

static inline unsigned int
run_n(weir_runref run)
{
	return (unsigned int)(run & (WEIR_RUN_MAX - 1)) + 1;
}

/* Where a run of more than one keeps its pointers. */
static inline struct rte_mbuf **
run_mbufs(struct rte_mbuf *host)
{
	return (struct rte_mbuf **)host->buf_addr;
}

/* May the buffer be written to in front of the frame, and is there room? */
static inline bool
may_host(const struct rte_mbuf *m)
{
	return weir_dgram_headroom(m) >= WEIR_RUN_BYTES && rte_mbuf_refcnt_read(m) == 1 &&
	       (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0 &&
	       ((uintptr_t)m->buf_addr & (sizeof(void *) - 1)) == 0;
}

static inline void
make_host(struct rte_mbuf *host, const struct weir_recvq_batch *b, uint32_t size)
{
	struct weir_meta *meta = weir_meta(host);

	meta->run = 0;
	meta->time_ns = b->time_ns;
	meta->truesize = size;
	meta->drops = 0;
	host->port = (uint16_t)(b->port | b->lcore << 8); /* see facts_of */
}

/* Make runs of the first n datagrams of the batch: returns the first, *last is the last one's host. */
static weir_runref
make_runs(const struct weir_recvq_batch *b, unsigned int n, struct rte_mbuf **last)
{
	struct rte_mbuf *const *m = b->m;
	struct rte_mbuf *before = NULL;
	weir_runref first = 0;

	for (unsigned int i = 0; i < n;) {
		uint32_t size = b->size != NULL ? b->size[i] : b->each;
		unsigned int k = RTE_MIN(n - i, (unsigned int)WEIR_RUN_MAX);
		struct rte_mbuf *host;

		if (unlikely(b->size != NULL))
			for (unsigned int j = 1; j < k; j++)
				if (b->size[i + j] != size)
					k = j;
		if (unlikely(k > 1 && !may_host(m[i + k - 1])))
			k = 1;
		host = m[i + k - 1];
		if (likely(k == WEIR_RUN_MAX))
			memcpy(run_mbufs(host), m + i, WEIR_RUN_BYTES);
		else if (k > 1)
			for (unsigned int j = 0; j < k; j++)
				run_mbufs(host)[j] = m[i + j];
		make_host(host, b, size);
		if (before == NULL)
			first = run_of(host, k);
		else
			weir_meta(before)->run = run_of(host, k);
		before = host;
		i += k;
	}
	*last = before;
	return first;
}

/* ---- producers ---- */

/* Bytes of the first n of the batch. */
static inline uint64_t
batch_bytes(const struct weir_recvq_batch *b, unsigned int n)
{
	uint64_t bytes = 0;

	if (likely(b->size == NULL))
		return (uint64_t)n * b->each;
	for (unsigned int i = 0; i < n; i++)
		bytes += b->size[i];
	return bytes;
}

/* How many of the batch fit beside `held` bytes. An empty queue takes one of any size. */
static unsigned int
how_many_fit(const struct weir_recvq_batch *b, uint64_t held, uint64_t limit)
{
	unsigned int n;

	for (n = 0; n < b->n; n++) {
		uint64_t size = b->size != NULL ? b->size[n] : b->each;

		if (held + size > limit && held != 0)
			break;
		held += size;
	}
	return n;
}

/* The reader's last word. Acquire: pairs with release_owed; what was released is really gone. */
static inline uint64_t
look_at_released(const struct weir_recvq *q)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&q->released,
				    memory_order_acquire);
}

/* Add to a count of what was refused; the flag after it. */
static void
count_refused(struct weir_recvq *q, _Atomic uint64_t *count, unsigned int n)
{
	/* hot-ok: once per batch that was refused, instead of the lock */
	atomic_fetch_add_explicit(count, n, memory_order_relaxed);
	if (!atomic_load_explicit(&q->refused, memory_order_relaxed))
		atomic_store_explicit(&q->refused, true, memory_order_release);
}

/* Tell the first datagram how many were refused since the last one was queued. Lock held. */
static void
tell_drops(struct weir_recvq *q, struct weir_meta *first, uint32_t after)
{
	uint32_t drops = (uint32_t)(load(&q->n_full) + load(&q->n_mem_limit)) - after;

	first->drops = drops - q->drops_told;
	q->drops_told = drops;
}

/* Without the lock: would not even the first one be taken? */
static inline bool
surely_full(const struct weir_recvq *q, const struct weir_recvq_batch *b)
{
	const uint64_t size = b->size != NULL ? b->size[0] : b->each;
	const uint64_t limit = load(&q->limit);
	/* `released` first: what is held may then come out too large, never negative. */
	uint64_t released = load(&q->released_seen);
	uint64_t held;

	if (likely(load(&q->charged) - released + size <= limit))
		return false;
	released = look_at_released(q);
	held = load(&q->charged) - released;
	return held != 0 && held + size > limit;
}

unsigned int
weir_recvq_produce(struct weir_recvq *q, struct weir_recvq_batch *b)
{
	unsigned int n = b->n;
	uint64_t bytes, held, limit, charged;
	struct rte_mbuf *last;
	weir_runref first;

	b->wake = 0;
	if (unlikely(surely_full(q, b))) {
		count_refused(q, &q->n_full, n);
		return 0;
	}
	if (n == 1) {
		bytes = b->size != NULL ? b->size[0] : b->each;
		last = b->m[0];
		make_host(last, b, (uint32_t)bytes);
		first = run_of(last, 1);
	} else {
		bytes = batch_bytes(b, n);
		first = make_runs(b, n, &last);
	}
	limit = load(&q->limit);

	lock(&q->lock);
	charged = load(&q->charged);
	held = charged - load(&q->released_seen);
	if (unlikely(held + bytes > limit)) {
		store(&q->released_seen, look_at_released(q));
		held = charged - load(&q->released_seen);
		n = how_many_fit(b, held, limit);
		if (n < b->n)
			count_refused(q, &q->n_full, b->n - n);
		if (n == 0) {
			unlock(&q->lock);
			return 0;
		}
		if (n < b->n) {
			bytes = batch_bytes(b, n);
			first = make_runs(b, n, &last);
		}
	}
	/* Acquire: pairs with count_refused; the counts are at least those. */
	if (unlikely(atomic_load_explicit(&q->refused, memory_order_acquire)))
		tell_drops(q, weir_meta(run_host(first)), b->n - n);
	if (q->tail != NULL)
		weir_meta(q->tail)->run = first;
	else
		q->head = first;
	q->tail = last;
	store(&q->charged, charged + bytes);
	weir_count(&q->n_queued, n);
	if (unlikely(q->armed))
		b->wake = (uint16_t)n;
	/* Release: a reader that sees n != 0 without the lock may go for the lock. */
	atomic_store_explicit(&q->n, atomic_load_explicit(&q->n, memory_order_relaxed) + n,
			      memory_order_release);
	unlock(&q->lock);
	return n;
}

void
weir_recvq_refuse(struct weir_recvq *q, unsigned int n)
{
	count_refused(q, &q->n_mem_limit, n);
}

/* ---- reader ---- */

static inline weir_runref
r_head(const struct weir_recvq *q)
{
	return atomic_load_explicit((_Atomic weir_runref *)(uintptr_t)&q->r_head,
				    memory_order_relaxed);
}

static inline void
set_r_head(struct weir_recvq *q, weir_runref run)
{
	atomic_store_explicit(&q->r_head, run, memory_order_relaxed);
}

/* Publish what was taken. Release: pairs with look_at_released. */
static inline void
release_owed(struct weir_recvq *q)
{
	if (q->owed == 0)
		return;
	atomic_store_explicit(&q->released, load(&q->released) + q->owed, memory_order_release);
	q->owed = 0;
}

/*
 * Move the whole shared queue to the end of the reader's, for one who wants n datagrams. When these are all of
 * both, in one run, it need not be queued again: *whole, and its charge is given back in the same hold. Returns
 * what was the shared queue's first run; 0: it is empty.
 */
static inline weir_runref
splice(struct weir_recvq *q, unsigned int n, bool *whole)
{
	weir_runref run;
	uint64_t charged;

	/* Pairs with the release in produce. */
	if (atomic_load_explicit(&q->n, memory_order_acquire) == 0)
		return 0;
	lock(&q->lock);
	run = q->head;
	charged = load(&q->charged);
	*whole = r_head(q) == 0 && run_host(run) == q->tail && run_n(run) <= n;
	if (*whole) {
		charged = q->r_charged;
		store(&q->charged, charged);
	} else {
		if (r_head(q) == 0)
			set_r_head(q, run);
		else
			weir_meta(q->r_tail)->run = run;
		q->r_tail = q->tail;
	}
	q->r_charged = charged;
	q->head = 0;
	q->tail = NULL;
	/* Release, and after r_head: pairs with weir_recvq_readable(), which may be another thread's. */
	atomic_store_explicit(&q->n, 0, memory_order_release);
	unlock(&q->lock);
	weir_count(&q->n_splices, 1);
	return run;
}

/* For a walk, which takes nothing. */
static bool
splice_all(struct weir_recvq *q)
{
	bool whole;

	return splice(q, 0, &whole) != 0;
}

static inline void
facts_of(struct weir_recvq_facts *facts, const struct rte_mbuf *host, uint32_t drops)
{
	facts->time_ns = weir_meta((struct rte_mbuf *)(uintptr_t)host)->time_ns;
	facts->drops = drops;
	facts->port = (uint8_t)host->port;
	facts->lcore = (uint8_t)(host->port >> 8);
}

static inline void
copy_run(struct rte_mbuf **m, weir_runref run, unsigned int at, unsigned int k)
{
	struct rte_mbuf *host = run_host(run);

	if (run_n(run) == 1)
		m[0] = host;
	else if (k == WEIR_RUN_MAX)
		memcpy(m, run_mbufs(host), WEIR_RUN_BYTES);
	else
		for (unsigned int i = 0; i < k; i++)
			m[i] = run_mbufs(host)[at + i];
}

unsigned int
weir_recvq_take_held(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n,
		     struct weir_recvq_facts *facts)
{
	weir_runref run = r_head(q);
	const struct weir_meta *meta;
	unsigned int at, left, k;
	bool whole = false;

	if (run == 0 || unlikely(n == 0)) {
		if (unlikely(n == 0))
			return 0;
		run = splice(q, n, &whole);
		if (run == 0)
			return 0;
	}
	meta = weir_meta(run_host(run));
	at = q->r_at;
	left = run_n(run) - at;
	k = RTE_MIN(n, left);
	if (at == 0)
		q->drops += meta->drops;
	facts_of(facts, run_host(run), q->drops);
	copy_run(m, run, at, k);
	weir_count(&q->n_read, k);
	if (whole)
		return k;
	q->owed += (uint64_t)k * meta->truesize;
	if (k == left) {
		run = meta->run;
		set_r_head(q, run);
		q->r_at = 0;
		if (run != 0) {
			rte_prefetch0(run_host(run));
			rte_prefetch0(weir_meta(run_host(run)));
		}
	} else {
		q->r_at = (uint8_t)(at + k);
	}
	/* In lumps; a reader that has run dry gives everything back. */
	if (run == 0 || q->owed >= load(&q->lump))
		release_owed(q);
	return k;
}

unsigned int
weir_recvq_take(struct weir_recvq *q, struct rte_mbuf **m, unsigned int n,
		struct weir_recvq_facts *facts)
{
	unsigned int k;

	if (likely(!q->several))
		return weir_recvq_take_held(q, m, n, facts);
	lock(&q->r_lock);
	k = weir_recvq_take_held(q, m, n, facts);
	unlock(&q->r_lock);
	return k;
}

static __rte_noinline struct rte_mbuf *
take_one_slowly(struct weir_recvq *q)
{
	struct weir_recvq_facts facts;
	struct rte_mbuf *m;

	return weir_recvq_take(q, &m, 1, &facts) == 1 ? m : NULL;
}

/* As weir_recvq_take(), for what it mostly comes to: not the last of a run. */
struct rte_mbuf *
weir_recvq_take_one(struct weir_recvq *q)
{
	const weir_runref run = r_head(q);
	const struct weir_meta *meta;
	struct rte_mbuf *host;
	unsigned int at;

	if (unlikely(q->several || run == 0))
		return take_one_slowly(q);
	at = q->r_at;
	if (unlikely(at + 1 == run_n(run)))
		return take_one_slowly(q);
	host = run_host(run);
	meta = weir_meta(host);
	if (at == 0)
		q->drops += meta->drops;
	q->r_at = (uint8_t)(at + 1);
	q->owed += meta->truesize;
	weir_count(&q->n_read, 1);
	if (unlikely(q->owed >= load(&q->lump)))
		release_owed(q);
	return run_mbufs(host)[at];
}

void
weir_recvq_hold(struct weir_recvq *q)
{
	readers_lock(q);
}

void
weir_recvq_unhold(struct weir_recvq *q)
{
	readers_unlock(q);
}

static struct rte_mbuf *
look_at(struct weir_recvq_pos *pos)
{
	struct rte_mbuf *host = run_host(pos->run);

	facts_of(&pos->facts, host, pos->facts.drops);
	return run_n(pos->run) == 1 ? host : run_mbufs(host)[pos->at];
}

struct rte_mbuf *
weir_recvq_first(struct weir_recvq *q, struct weir_recvq_pos *pos)
{
	if (r_head(q) == 0 && !splice_all(q))
		return NULL;
	pos->run = r_head(q);
	pos->at = q->r_at;
	pos->facts.drops = q->drops;
	if (pos->at == 0)
		pos->facts.drops += weir_meta(run_host(pos->run))->drops;
	return look_at(pos);
}

struct rte_mbuf *
weir_recvq_next(struct weir_recvq *q, struct weir_recvq_pos *pos)
{
	const struct weir_meta *meta = weir_meta(run_host(pos->run));

	if (++pos->at == run_n(pos->run)) {
		if (meta->run == 0 && !splice_all(q)) {
			pos->at--; /* a later call may find more */
			return NULL;
		}
		pos->run = meta->run;
		pos->at = 0;
		pos->facts.drops += weir_meta(run_host(pos->run))->drops;
	}
	return look_at(pos);
}

/* ---- waiting ---- */

bool
weir_recvq_arm(struct weir_recvq *q)
{
	bool empty;

	readers_lock(q);
	lock(&q->lock);
	q->armed = true;
	empty = r_head(q) == 0 && q->head == 0;
	unlock(&q->lock);
	readers_unlock(q);
	return empty;
}

void
weir_recvq_disarm(struct weir_recvq *q)
{
	lock(&q->lock);
	q->armed = false;
	unlock(&q->lock);
}

/* ---- anybody ---- */

uint64_t
weir_recvq_depth(const struct weir_recvq *q)
{
	return weir_counter_read(&q->n_queued) - weir_counter_read(&q->n_read) -
	       weir_counter_read(&q->n_purged);
}

uint64_t
weir_recvq_charge(struct weir_recvq *q)
{
	/* In this order: see surely_full. */
	uint64_t released = look_at_released(q);

	return load(&q->charged) - released;
}

struct rte_mbuf *
weir_recvq_purge(struct weir_recvq *q)
{
	struct weir_meta dummy = {.next = NULL};
	struct weir_meta *end = &dummy;
	struct rte_mbuf *m[WEIR_RUN_MAX];
	struct weir_recvq_facts facts;
	uint64_t left = weir_recvq_depth(q);
	uint64_t read = weir_counter_read(&q->n_read);
	unsigned int n;

	/* Taken like any other, but counted as purged. */
	while ((n = weir_recvq_take(q, m, RTE_DIM(m), &facts)) > 0) {
		for (unsigned int i = 0; i < n; i++) {
			end->next = m[i];
			end = weir_meta(m[i]);
		}
	}
	end->next = NULL;
	atomic_store_explicit(&q->n_read, read, memory_order_relaxed);
	weir_count(&q->n_purged, left);
	return dummy.next;
}
