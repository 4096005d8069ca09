/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT lookup, CONTROL changes: see socktab.h.
 *
 * Deleting leaves a tombstone, which an insert may take over after a grace period only by rebuilding
 * the table (a reader may be probing through it): tombstones count as used and a rebuild drops them.
 */
#include "socktab.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "rcu.h"

#define SOCKTAB_MIN 64

static struct weir_sockent tombstone; /* address only */

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Keyed hash; the family decides how many words are read. */
static inline uint64_t
key_hash(const struct weir_stack *stack, const struct weir_key *k)
{
	uint64_t ports = (uint64_t)k->lport << 32 | (uint64_t)k->pport << 16 | k->family;
	uint64_t h;

	if (likely(k->family == WEIR_IPV4))
		return mix(mix(((uint64_t)k->local.v4 << 32 | k->peer.v4) ^ stack->hash_key[0],
			       stack->hash_key[1]),
			   ports ^ stack->hash_key[2]);
	h = mix(k->local.w[0] ^ stack->hash_key[0], k->local.w[1] ^ stack->hash_key[1]);
	h = mix(h ^ k->peer.w[0], k->peer.w[1] ^ stack->hash_key[2]);
	return mix(h, ports ^ stack->hash_key[3]);
}

static inline bool
key_equal(const struct weir_key *a, const struct weir_key *b)
{
	const uint64_t *x = (const uint64_t *)(const void *)a;
	const uint64_t *y = (const uint64_t *)(const void *)b;

	return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2]) | (x[3] ^ y[3]) | (x[4] ^ y[4])) == 0;
}

static inline struct weir_socket *
probe(const struct weir_socktab *tab, const struct weir_key *key, uint64_t hash)
{
	uint64_t i = hash & tab->mask;

	for (;;) {
		/* Acquire: pairs with publish(); the tag and the entry's fields are complete. */
		struct weir_sockent *ent = atomic_load_explicit(
			(struct weir_sockent * _Atomic *)(uintptr_t)&tab->slot[i].ent,
			memory_order_acquire);

		if (ent == NULL)
			return NULL;
		if (ent != &tombstone &&
		    atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&tab->slot[i].tag,
					 memory_order_relaxed) == hash &&
		    key_equal(&ent->key, key))
			return ent->sk;
		i = (i + 1) & tab->mask;
	}
}

static inline struct weir_socket *
lookup_once(const struct weir_stack *stack, const struct weir_socktab *tab,
	    const struct weir_key *key)
{
	struct weir_key k = *key;
	struct weir_socket *sk;

	if (atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&tab->n_connected,
				 memory_order_relaxed) != 0) {
		sk = probe(tab, &k, key_hash(stack, &k));
		if (sk != NULL)
			return sk;
	}
	k.peer = (union weir_ip){.w = {0, 0}};
	k.pport = 0;
	if (atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&tab->n_addr,
				 memory_order_relaxed) != 0) {
		sk = probe(tab, &k, key_hash(stack, &k));
		if (sk != NULL)
			return sk;
	}
	k.local = (union weir_ip){.w = {0, 0}};
	return probe(tab, &k, key_hash(stack, &k));
}

static inline uint32_t
removed(const struct weir_socktab *tab)
{
	/* Pairs with the release in weir_socktab_remove: the replacement is in sight. */
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&tab->n_removed,
				    memory_order_acquire);
}

/*
 * A socket that changes its name has its new entry put in before the old one is taken out. A reader that
 * passed the new place before and the old one after would miss both: it sees that something was taken
 * out meanwhile, and looks again.
 */
static inline struct weir_socket *
lookup(const struct weir_stack *stack, const struct weir_socktab *tab, const struct weir_key *key)
{
	struct weir_socket *sk;
	uint32_t before;

	do {
		before = removed(tab);
		sk = lookup_once(stack, tab, key);
		if (likely(sk != NULL))
			return sk;
		/* Keeps the probes above before the load below. */
		atomic_thread_fence(memory_order_acquire);
	} while (unlikely(removed(tab) != before));
	return NULL;
}

struct weir_socket *
weir_socktab_lookup(struct weir_stack *stack, const struct weir_key *key)
{
	return lookup(stack, atomic_load_explicit(&stack->socktab, memory_order_acquire), key);
}

void
weir_socktab_lookup_burst(struct weir_stack *stack, const struct weir_key *key, unsigned int n,
			  struct weir_socket **sk)
{
	const struct weir_socktab *tab =
		atomic_load_explicit(&stack->socktab, memory_order_acquire);

	for (unsigned int i = 0; i < n; i++) {
		/* Trains of one flow are the rule: a repeated key reuses the answer. */
		if (i > 0 && key_equal(&key[i], &key[i - 1]))
			sk[i] = sk[i - 1];
		else
			sk[i] = lookup(stack, tab, &key[i]);
	}
}

/* ---- control ---- */

/* Which of the three counts an entry belongs to. */
static _Atomic uint32_t *
kind_count(struct weir_socktab *tab, const struct weir_key *k)
{
	if (k->pport != 0 || (k->peer.w[0] | k->peer.w[1]) != 0)
		return &tab->n_connected;
	if ((k->local.w[0] | k->local.w[1]) != 0)
		return &tab->n_addr;
	return &tab->n_any;
}

static void
publish(struct weir_socktab *tab, struct weir_sockent *ent)
{
	_Atomic uint32_t *count = kind_count(tab, &ent->key);
	uint64_t i = ent->hash & tab->mask;

	/* A reader that misses the count misses the entry: it came before the insert. */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
			      memory_order_relaxed);
	while (atomic_load_explicit(&tab->slot[i].ent, memory_order_relaxed) != NULL)
		i = (i + 1) & tab->mask;
	atomic_store_explicit(&tab->slot[i].tag, ent->hash, memory_order_relaxed);
	atomic_store_explicit(&tab->slot[i].ent, ent, memory_order_release); /* pairs with probe */
	tab->used++;
}

static struct weir_socktab *
table_alloc(uint64_t slots)
{
	struct weir_socktab *tab;

	tab = rte_zmalloc("weir_socktab", sizeof(*tab) + slots * sizeof(tab->slot[0]),
			  WEIR_CACHE_LINE);
	if (tab != NULL)
		tab->mask = slots - 1;
	return tab;
}

/* Keep at most half of the slots in use, tombstones included. */
static int
make_room(struct weir_stack *stack)
{
	struct weir_socktab *old = atomic_load_explicit(&stack->socktab, memory_order_relaxed);
	struct weir_socktab *tab;
	uint64_t slots = old->mask + 1;

	if (((uint64_t)old->used + old->dead + 1) * 2 <= slots)
		return 0;
	if (((uint64_t)old->used + 1) * 4 > slots)
		slots *= 2;
	tab = table_alloc(slots);
	if (tab == NULL)
		return -ENOMEM;
	for (uint64_t i = 0; i <= old->mask; i++) {
		struct weir_sockent *ent =
			atomic_load_explicit(&old->slot[i].ent, memory_order_relaxed);

		if (ent != NULL && ent != &tombstone)
			publish(tab, ent);
	}
	atomic_store_explicit(&stack->socktab, tab, memory_order_release);
	weir_rcu_free(stack, old);
	return 0;
}

int
weir_socktab_insert(struct weir_stack *stack, const struct weir_key *key, struct weir_socket *sk,
		    struct weir_sockent **out)
{
	struct weir_sockent *ent = rte_zmalloc("weir_sockent", sizeof(*ent), WEIR_CACHE_LINE);
	int ret;

	if (ent == NULL)
		return -ENOMEM;
	ret = make_room(stack);
	if (ret != 0) {
		rte_free(ent);
		return ret;
	}
	ent->key = *key;
	ent->hash = key_hash(stack, key);
	ent->sk = sk;
	publish(atomic_load_explicit(&stack->socktab, memory_order_relaxed), ent);
	*out = ent;
	return 0;
}

void
weir_socktab_remove(struct weir_stack *stack, struct weir_sockent *ent)
{
	struct weir_socktab *tab = atomic_load_explicit(&stack->socktab, memory_order_relaxed);
	_Atomic uint32_t *count = kind_count(tab, &ent->key);
	uint64_t i = ent->hash & tab->mask;

	while (atomic_load_explicit(&tab->slot[i].ent, memory_order_relaxed) != ent)
		i = (i + 1) & tab->mask;
	/* Before the entry goes. Release: pairs with removed(), who sees it sees what came before. */
	atomic_store_explicit(&tab->n_removed,
			      atomic_load_explicit(&tab->n_removed, memory_order_relaxed) + 1,
			      memory_order_release);
	atomic_store_explicit(&tab->slot[i].ent, &tombstone, memory_order_release);
	/* Release: a reader that skips a kind for its count of 0 sees n_removed by then. */
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) - 1,
			      memory_order_release);
	tab->used--;
	tab->dead++;
	weir_rcu_free(stack, ent);
}

struct weir_socket *
weir_socktab_exact(struct weir_stack *stack, const struct weir_key *key)
{
	return probe(atomic_load_explicit(&stack->socktab, memory_order_relaxed), key,
		     key_hash(stack, key));
}

int
weir_socktab_init(struct weir_stack *stack)
{
	struct weir_socktab *tab = table_alloc(SOCKTAB_MIN);

	if (tab == NULL)
		return -ENOMEM;
	atomic_store_explicit(&stack->socktab, tab, memory_order_release);
	return 0;
}

void
weir_socktab_fini(struct weir_stack *stack)
{
	rte_free(atomic_load_explicit(&stack->socktab, memory_order_relaxed));
	atomic_store_explicit(&stack->socktab, NULL, memory_order_relaxed);
}
