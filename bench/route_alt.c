/* SPDX-License-Identifier: BSD-3-Clause */
/* See route_alt.h. */
#include "route_alt.h"

#include <stdlib.h>

#include <rte_spinlock.h>

struct route_alt {
	bool locked;
	uint32_t mask, n, n_max;
	rte_spinlock_t lock; /* of new routes; of each look-up */
	struct alt_route *pool;
	struct alt_route *_Atomic *bucket;
};

struct route_alt *
route_alt_create(uint32_t n_max, bool locked)
{
	struct route_alt *t = calloc(1, sizeof(*t));
	uint32_t buckets = 1;

	if (t == NULL)
		return NULL;
	while (buckets < n_max)
		buckets *= 2;
	t->locked = locked;
	t->mask = buckets - 1;
	t->n_max = n_max;
	rte_spinlock_init(&t->lock);
	t->pool = aligned_alloc(64, n_max * sizeof(t->pool[0]));
	t->bucket = calloc(buckets, sizeof(t->bucket[0]));
	if (t->pool == NULL || t->bucket == NULL) {
		route_alt_destroy(t);
		return NULL;
	}
	return t;
}

void
route_alt_destroy(struct route_alt *t)
{
	if (t == NULL)
		return;
	free(t->pool);
	free(t->bucket);
	free(t);
}

static inline struct alt_route *_Atomic *
bucket_of(struct route_alt *t, const union weir_ip *dst)
{
	uint64_t h = (dst->w[0] ^ dst->w[1] * UINT64_C(0x9e3779b97f4a7c15)) *
		     UINT64_C(0xd6e8feb86659fd93);

	return &t->bucket[(h >> 32) & t->mask];
}

static inline struct alt_route *
find(struct alt_route *_Atomic *bucket, const union weir_ip *dst)
{
	struct alt_route *r = atomic_load_explicit(bucket, memory_order_acquire);

	while (r != NULL && (r->dst.w[0] != dst->w[0] || r->dst.w[1] != dst->w[1]))
		r = atomic_load_explicit(&r->next, memory_order_acquire);
	return r;
}

/* Lock held. */
static struct alt_route *
add(struct route_alt *t, struct alt_route *_Atomic *bucket, const union weir_ip *dst)
{
	struct alt_route *r = find(bucket, dst);

	if (r != NULL || t->n == t->n_max)
		return r;
	r = &t->pool[t->n++];
	*r = (struct alt_route){.dst = *dst, .next = atomic_load(bucket)};
	atomic_store_explicit(bucket, r, memory_order_release);
	return r;
}

struct alt_route *
route_alt_get(struct route_alt *t, const union weir_ip *dst, uint64_t now)
{
	struct alt_route *_Atomic *bucket = bucket_of(t, dst);
	struct alt_route *r;

	if (t->locked) {
		rte_spinlock_lock(&t->lock);
		r = add(t, bucket, dst);
		rte_spinlock_unlock(&t->lock);
		return r;
	}
	r = find(bucket, dst);
	if (r == NULL) {
		rte_spinlock_lock(&t->lock);
		r = add(t, bucket, dst);
		rte_spinlock_unlock(&t->lock);
		if (r == NULL)
			return NULL;
	}
	atomic_fetch_add(&r->refs, 1);
	atomic_store_explicit(&r->last_use, now, memory_order_relaxed);
	return r;
}

void
route_alt_put(struct route_alt *t, struct alt_route *r)
{
	if (!t->locked)
		atomic_fetch_sub(&r->refs, 1);
}
