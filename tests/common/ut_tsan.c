/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See ut_tsan.h. Both parts order a giver before the one that gets the same piece, and nobody else: an
 * order among all users of a pool or a heap would hide races of the code under test.
 */
#include "ut_tsan.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mempool.h>

/* ---- a pool's store: a bounded queue with a turn number per place ---- */

struct place {
	_Atomic uint64_t turn; /* even: to be filled, odd: to be emptied; counts the rounds */
	void *obj;
};

struct store {
	_Atomic uint64_t put, get;
	uint64_t mask;
	struct place place[];
};

static int
store_alloc(struct rte_mempool *mp)
{
	uint64_t n = rte_align32pow2(mp->size + 1);
	struct store *s = calloc(1, sizeof(*s) + n * sizeof(s->place[0]));

	if (s == NULL)
		return -ENOMEM;
	s->mask = n - 1;
	mp->pool_data = s;
	return 0;
}

static void
store_free(struct rte_mempool *mp)
{
	free(mp->pool_data);
}

static int
store_put(struct rte_mempool *mp, void *const *obj, unsigned int n)
{
	struct store *s = mp->pool_data;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t at = atomic_fetch_add_explicit(&s->put, 1, memory_order_relaxed);
		struct place *p = &s->place[at & s->mask];

		/* There are more places than objects: it is free, or about to be. */
		while (atomic_load_explicit(&p->turn, memory_order_acquire) !=
		       at / (s->mask + 1) * 2)
			rte_pause();
		p->obj = obj[i];
		atomic_fetch_add_explicit(&p->turn, 1, memory_order_release);
	}
	return 0;
}

static int
store_get(struct rte_mempool *mp, void **obj, unsigned int n)
{
	struct store *s = mp->pool_data;
	uint64_t at = atomic_load_explicit(&s->get, memory_order_relaxed);

	do {
		if (atomic_load_explicit(&s->put, memory_order_relaxed) - at < n)
			return -ENOBUFS;
	} while (!atomic_compare_exchange_weak_explicit(&s->get, &at, at + n, memory_order_relaxed,
							memory_order_relaxed));
	for (unsigned int i = 0; i < n; i++, at++) {
		struct place *p = &s->place[at & s->mask];

		while (atomic_load_explicit(&p->turn, memory_order_acquire) !=
		       at / (s->mask + 1) * 2 + 1)
			rte_pause();
		obj[i] = p->obj;
		atomic_fetch_add_explicit(&p->turn, 1, memory_order_release);
	}
	return 0;
}

static unsigned int
store_count(const struct rte_mempool *mp)
{
	struct store *s = mp->pool_data;
	/* In this order: never negative. */
	uint64_t got = atomic_load_explicit(&s->get, memory_order_acquire);

	return (unsigned int)(atomic_load_explicit(&s->put, memory_order_relaxed) - got);
}

static const struct rte_mempool_ops ops = {
	.name = "ut_tsan",
	.alloc = store_alloc,
	.free = store_free,
	.enqueue = store_put,
	.dequeue = store_get,
	.get_count = store_count,
};
RTE_MEMPOOL_REGISTER_OPS(ops)

const char *
ut_tsan_eal_arg(void)
{
	return "--mbuf-pool-ops-name=ut_tsan";
}

/* ---- rte_malloc() ---- */

#define HEADER RTE_CACHE_LINE_SIZE

struct header {
	void *block;
	size_t size;
	const void *
		of; /* what follows: DPDK also frees by rte_free() what it has allocated otherwise */
};

static struct header *
header_of(void *p)
{
	struct header *h = RTE_PTR_SUB(p, HEADER);

	return h->of == p ? h : NULL;
}

void *
rte_malloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	struct header *h;
	uint8_t *block;
	void *p;

	(void)type;
	(void)socket;
	if (size == 0)
		return NULL;
	align = align < HEADER ? HEADER : align;
	block = malloc(size + align + HEADER);
	if (block == NULL)
		return NULL;
	p = RTE_PTR_ALIGN_CEIL(block + HEADER, align);
	h = RTE_PTR_SUB(p, HEADER);
	h->block = block;
	h->size = size;
	h->of = p;
	return p;
}

void *
rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	void *p = rte_malloc_socket(type, size, align, socket);

	return p != NULL ? memset(p, 0, size) : NULL;
}

void *
rte_malloc(const char *type, size_t size, unsigned int align)
{
	return rte_malloc_socket(type, size, align, 0);
}

void *
rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return rte_zmalloc_socket(type, size, align, 0);
}

void *
rte_calloc_socket(const char *type, size_t k, size_t size, unsigned int align, int socket)
{
	return rte_zmalloc_socket(type, k * size, align, socket);
}

void *
rte_calloc(const char *type, size_t k, size_t size, unsigned int align)
{
	return rte_zmalloc_socket(type, k * size, align, 0);
}

void
rte_free(void *p)
{
	static void (*original)(void *);
	struct header *h;

	if (p == NULL)
		return;
	h = header_of(p);
	if (h != NULL) {
		h->of = NULL;
		free(h->block);
		return;
	}
	if (original == NULL)
		*(void **)&original = dlsym(RTLD_NEXT, "rte_free");
	original(p);
}

void *
rte_realloc_socket(void *p, size_t size, unsigned int align, int socket)
{
	void *q = rte_malloc_socket(NULL, size, align, socket);
	const struct header *h = p != NULL ? header_of(p) : NULL;

	if (q != NULL && h != NULL)
		memcpy(q, p, RTE_MIN(size, h->size));
	if (q != NULL || size == 0)
		rte_free(p);
	return q;
}

void *
rte_realloc(void *p, size_t size, unsigned int align)
{
	return rte_realloc_socket(p, size, align, 0);
}
