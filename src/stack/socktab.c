/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT lookup, CONTROL changes: see socktab.h.
 *
 * Deleting leaves a tombstone, unless nothing lies behind it. Inserts take tombstones over; they count as
 * used and a rebuild drops them.
 */
#include "socktab.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "rcu.h"
#include "sock.h"

#define SOCKTAB_MIN 64

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
	uint64_t ports = (uint64_t)k->iface << 48 | (uint64_t)k->lport << 32 |
			 (uint64_t)k->pport << 16 | k->family;
	uint64_t h;

	/* Counted-up ports would come out evenly spaced, with some keys in few places: not after this. */
	ports *= UINT64_C(0x9e3779b97f4a7c15);
	ports ^= ports >> 32;

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

static inline uint64_t
slot_word(const struct weir_sockent *ent, uint64_t hash)
{
	return (uint64_t)(uintptr_t)ent | (hash & WEIR_SLOT_TAG);
}

static inline struct weir_sockent *
slot_ent(uint64_t word)
{
	return (struct weir_sockent *)(uintptr_t)(word & ~WEIR_SLOT_TAG);
}

static inline uint64_t
slot_read(const struct weir_socktab *tab, uint64_t i)
{
	/* Acquire: pairs with publish(); the entry's fields are complete. */
	return atomic_load_explicit((weir_sockslot *)(uintptr_t)&tab->slot[i],
				    memory_order_acquire);
}

/* The entry of key, or NULL. */
static inline struct weir_sockent *
probe(const struct weir_socktab *tab, const struct weir_key *key, uint64_t hash)
{
	uint64_t i = hash & tab->mask;

	for (;;) {
		uint64_t word = slot_read(tab, i);

		if (word == 0)
			return NULL;
		if (((word ^ hash) & WEIR_SLOT_TAG) == 0 && word != WEIR_SLOT_DEAD &&
		    key_equal(&slot_ent(word)->key, key))
			return slot_ent(word);
		i = (i + 1) & tab->mask;
	}
}

static inline uint32_t
count_of(const _Atomic uint32_t *count)
{
	/* Acquire: a count of 0 is seen together with n_removed as it was raised before. */
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)count, memory_order_acquire);
}

/* ---- which member of a group ---- */

/*
 * Hash of the flow, for a group's choice: of the whole 4-tuple, whatever kind of entry matched. The top
 * bits are used: the low ones choose the slot.
 */
static inline uint64_t
flow_hash(const struct weir_stack *stack, const struct weir_key *key)
{
	struct weir_key k = *key;

	k.iface = 0;
	return key_hash(stack, &k);
}

static inline struct weir_socket *
member(struct weir_group *g, uint32_t i)
{
	return atomic_load_explicit(&g->sk[i], memory_order_acquire);
}

/* On which member does this flow go: the kth of those that prefer this lcore, if any do. */
static struct weir_socket *
pick_here(struct weir_group *g, uint32_t n, int16_t worker, uint64_t h)
{
	uint32_t here = 0, k;

	for (uint32_t i = 0; i < n; i++)
		here += member(g, i)->lcore == worker;
	if (here == 0)
		return NULL;
	k = (uint32_t)((h >> 32) * here >> 32);
	for (uint32_t i = 0; i < n; i++)
		if (member(g, i)->lcore == worker && k-- == 0)
			return member(g, i);
	return NULL;
}

/*
 * One of several sockets. Those that share a port by WEIR_OPT_REUSEADDR only: the one bound last. A
 * reuse-port group: a member that prefers this lcore, else by the flow's hash. COLD enough to be a call.
 */
static __rte_noinline struct weir_socket *
pick(const struct weir_lcore *lc, struct weir_sockent *ent, struct weir_group *g,
     const struct weir_key *key)
{
	struct weir_socket *latest = atomic_load_explicit(&ent->sk, memory_order_acquire);
	uint32_t n = atomic_load_explicit(&g->n, memory_order_acquire);
	struct weir_socket *sk;
	uint64_t h;

	if (n < 2 || !latest->reuseport)
		return latest;
	h = flow_hash(lc->stack, key);
	if (g->lcores && lc->worker >= 0) {
		sk = pick_here(g, n, lc->worker, h);
		if (sk != NULL)
			return sk;
	}
	if (g->stable)
		return member(g, g->bucket[h >> 56]);
	return member(g, (uint32_t)((h >> 32) * n >> 32));
}

static inline struct weir_socket *
socket_of(const struct weir_lcore *lc, struct weir_sockent *ent, const struct weir_key *key,
	  bool *select)
{
	/* Acquire: pairs with the release that published the group. */
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_acquire);

	if (likely(g == NULL))
		return atomic_load_explicit(&ent->sk, memory_order_acquire);
	if (unlikely(g->select != NULL))
		*select = true;
	return pick(lc, ent, g, key);
}

/* ---- lookup ---- */

/* The kinds of entries, in the order in which they are tried. */
enum { KIND_CONNECTED, KIND_ADDR, KIND_ANY, KINDS };

static inline bool
kind_in_use(const struct weir_socktab *tab, unsigned int kind)
{
	return kind == KIND_ANY || /* the usual one: a probe instead of a question */
	       count_of(kind == KIND_CONNECTED ? &tab->n_connected : &tab->n_addr) != 0;
}

/* What an entry of this kind has as its key, for a datagram of key k. */
static inline struct weir_key
kind_key(const struct weir_key *k, unsigned int kind, bool iface)
{
	struct weir_key out = *k;

	if (kind != KIND_CONNECTED) {
		out.peer = (union weir_ip){.w = {0, 0}};
		out.pport = 0;
	}
	if (kind == KIND_ANY)
		out.local = (union weir_ip){.w = {0, 0}};
	if (!iface)
		out.iface = 0;
	return out;
}

/* Is there a use in asking for an IPv6 socket that takes IPv4? */
static inline bool
may_be_dual(const struct weir_socktab *tab, const struct weir_key *key)
{
	return count_of(&tab->n_dual) != 0 && key->family == WEIR_IPV4;
}

static inline struct weir_sockent *
probe_kind(const struct weir_stack *stack, const struct weir_socktab *tab,
	   const struct weir_key *key, unsigned int kind, bool iface, bool dual)
{
	struct weir_key k = kind_key(key, kind, iface);
	struct weir_sockent *ent = probe(tab, &k, key_hash(stack, &k));

	if (likely(ent != NULL) || likely(!dual))
		return ent;
	k.family |= WEIR_KEY_DUAL;
	return probe(tab, &k, key_hash(stack, &k));
}

static struct weir_sockent *
lookup_once(const struct weir_stack *stack, const struct weir_socktab *tab,
	    const struct weir_key *key)
{
	bool ifaces = unlikely(count_of(&tab->n_iface) != 0);
	bool duals = unlikely(may_be_dual(tab, key));

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		struct weir_sockent *ent;

		if (!kind_in_use(tab, kind))
			continue;
		if (ifaces && key->iface != 0) {
			ent = probe_kind(stack, tab, key, kind, true, duals);
			if (ent != NULL)
				return ent;
		}
		ent = probe_kind(stack, tab, key, kind, false, duals);
		if (ent != NULL)
			return ent;
	}
	return NULL;
}

/*
 * A socket that changes its name has its new entry put in before the old one is taken out. A reader that
 * passed the new place before and the old one after would miss both: it sees that something was taken
 * out meanwhile, and looks again. Every load of a slot or a count is an acquire, so the second look at
 * n_removed comes after all of them.
 */
static struct weir_sockent *
lookup(const struct weir_stack *stack, const struct weir_socktab *tab, const struct weir_key *key)
{
	struct weir_sockent *ent;
	uint32_t before;

	do {
		/* Pairs with the release in weir_socktab_remove: the replacement is in sight. */
		before = count_of(&tab->n_removed);
		ent = lookup_once(stack, tab, key);
		if (likely(ent != NULL))
			return ent;
	} while (unlikely(count_of(&tab->n_removed) != before));
	return NULL;
}

static inline const struct weir_socktab *
table(const struct weir_lcore *lc)
{
	return atomic_load_explicit(&lc->stack->socktab, memory_order_acquire);
}

struct weir_socket *
weir_socktab_lookup(struct weir_lcore *lc, const struct weir_key *key)
{
	struct weir_sockent *ent = lookup(lc->stack, table(lc), key);
	bool select;

	return ent != NULL ? socket_of(lc, ent, key, &select) : NULL;
}

/*
 * One kind over all keys that have no entry yet, in three passes so that the misses of memory overlap:
 * hash and ask for the slot; look at the slot and ask for the entry; compare. dual: among the IPv6 sockets
 * that take IPv4.
 */
static void
lookup_kind(const struct weir_stack *stack, const struct weir_socktab *tab,
	    const struct weir_key *key, const uint8_t *which, unsigned int n, unsigned int kind,
	    bool dual, struct weir_sockent **ent)
{
	struct weir_key k[WEIR_MAX_BURST];
	uint64_t hash[WEIR_MAX_BURST];
	uint8_t todo[WEIR_MAX_BURST];
	unsigned int n_todo = 0;

	for (unsigned int j = 0; j < n; j++) {
		const unsigned int i = which[j];

		if (ent[i] != NULL || (dual && key[i].family != WEIR_IPV4))
			continue;
		k[n_todo] = kind_key(&key[i], kind, false);
		k[n_todo].family |= dual ? WEIR_KEY_DUAL : 0;
		hash[n_todo] = key_hash(stack, &k[n_todo]);
		rte_prefetch0(&tab->slot[hash[n_todo] & tab->mask]);
		todo[n_todo++] = (uint8_t)i;
	}
	for (unsigned int j = 0; j < n_todo; j++)
		rte_prefetch0(slot_ent(slot_read(tab, hash[j] & tab->mask)));
	for (unsigned int j = 0; j < n_todo; j++)
		ent[todo[j]] = probe(tab, &k[j], hash[j]);
}

/* Few keys, or a table that is in the cache anyway: the plain way. */
#define BULK_KEYS  4
#define BULK_SLOTS 512

/* Does key i have the answer of the key before it? While no socket is connected the peer does not matter. */
static inline bool
repeats(const struct weir_key *key, unsigned int i, bool peers)
{
	const struct weir_key *a = &key[i];
	const struct weir_key *b = &key[i - 1];

	if (peers)
		return key_equal(a, b);
	return a->local.w[0] == b->local.w[0] && a->local.w[1] == b->local.w[1] &&
	       a->lport == b->lport && a->family == b->family && a->iface == b->iface;
}

uint64_t
weir_socktab_lookup_burst(struct weir_lcore *lc, const struct weir_key *key, unsigned int n,
			  struct weir_socket **sk)
{
	const struct weir_socktab *tab = table(lc);
	const bool peers = count_of(&tab->n_connected) != 0;
	struct weir_sockent *ent[WEIR_MAX_BURST];
	uint8_t which[WEIR_MAX_BURST]; /* keys that are looked up */
	uint64_t selects = 0;
	unsigned int n_which = 0;

	if (n == 1) {
		struct weir_sockent *e = lookup(lc->stack, tab, key);
		bool select = false;

		sk[0] = likely(e != NULL) ? socket_of(lc, e, key, &select) : NULL;
		return select;
	}
	for (unsigned int i = 0; i < n; i++) {
		ent[i] = NULL;
		if (i == 0 || !repeats(key, i, peers))
			which[n_which++] = (uint8_t)i;
	}
	if (n_which >= BULK_KEYS && tab->mask >= BULK_SLOTS && count_of(&tab->n_iface) == 0) {
		for (unsigned int kind = 0; kind < KINDS; kind++) {
			if (!kind_in_use(tab, kind))
				continue;
			lookup_kind(lc->stack, tab, key, which, n_which, kind, false, ent);
			if (unlikely(count_of(&tab->n_dual) != 0))
				lookup_kind(lc->stack, tab, key, which, n_which, kind, true, ent);
		}
		for (unsigned int j = 0; j < n_which; j++)
			if (likely(ent[which[j]] != NULL))
				rte_prefetch0(atomic_load_explicit(&ent[which[j]]->sk,
								   memory_order_relaxed));
	} else {
		for (unsigned int j = 0; j < n_which; j++)
			ent[which[j]] = lookup_once(lc->stack, tab, &key[which[j]]);
	}
	for (unsigned int i = 0, j = 0; i < n; i++) {
		bool select = false;

		if (j < n_which && which[j] == i)
			j++;
		else
			ent[i] = ent[i - 1];
		if (unlikely(ent[i] == NULL)) /* a name may have changed under our eyes */
			ent[i] = lookup(lc->stack, tab, &key[i]);
		sk[i] = likely(ent[i] != NULL) ? socket_of(lc, ent[i], &key[i], &select) : NULL;
		selects |= (uint64_t)select << i;
	}
	return selects;
}

struct weir_socket *
weir_socktab_select(struct weir_lcore *lc, const struct weir_key *key, const void *payload,
		    uint32_t len)
{
	struct weir_sockent *ent = lookup(lc->stack, table(lc), key);
	struct weir_group *g;
	uint32_t n;
	int i;

	if (ent == NULL)
		return NULL;
	g = atomic_load_explicit(&ent->group, memory_order_acquire);
	if (g == NULL)
		return atomic_load_explicit(&ent->sk, memory_order_acquire);
	n = atomic_load_explicit(&g->n, memory_order_acquire);
	i = g->select == NULL ? -1
			      : g->select(g->select_arg, payload, len,
					  (uint32_t)(flow_hash(lc->stack, key) >> 32), n);
	return i >= 0 && (uint32_t)i < n ? member(g, (uint32_t)i) : pick(lc, ent, g, key);
}

void
weir_socktab_each(struct weir_lcore *lc, const struct weir_key *key,
		  void (*fn)(void *arg, struct weir_socket *sk), void *arg)
{
	const struct weir_socktab *tab = table(lc);
	const bool duals = may_be_dual(tab, key);

	for (unsigned int kind = 0; kind < KINDS; kind++) {
		for (unsigned int way = 0; way < 4; way++) {
			const bool iface = (way & 1) != 0, dual = (way & 2) != 0;
			struct weir_key k = kind_key(key, kind, iface);
			struct weir_sockent *ent;
			struct weir_group *g;
			uint32_t n;

			if (iface && (key->iface == 0 || count_of(&tab->n_iface) == 0))
				continue;
			if (dual && !duals)
				continue;
			k.family |= dual ? WEIR_KEY_DUAL : 0;
			ent = probe(tab, &k, key_hash(lc->stack, &k));
			if (ent == NULL)
				continue;
			g = atomic_load_explicit(&ent->group, memory_order_acquire);
			if (g == NULL) {
				fn(arg, atomic_load_explicit(&ent->sk, memory_order_acquire));
				continue;
			}
			n = atomic_load_explicit(&g->n, memory_order_acquire);
			for (uint32_t i = 0; i < n; i++)
				fn(arg, member(g, i));
		}
	}
}

/* ---- control ---- */

/* Change the counts that an entry belongs to. Release: see weir_socktab_remove. */
static void
count_add(struct weir_socktab *tab, const struct weir_key *k, uint32_t delta)
{
	_Atomic uint32_t *count = &tab->n_any;

	if (k->pport != 0 || (k->peer.w[0] | k->peer.w[1]) != 0)
		count = &tab->n_connected;
	else if ((k->local.w[0] | k->local.w[1]) != 0)
		count = &tab->n_addr;
	atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + delta,
			      memory_order_release);
	if (k->iface != 0)
		atomic_store_explicit(&tab->n_iface,
				      atomic_load_explicit(&tab->n_iface, memory_order_relaxed) +
					      delta,
				      memory_order_release);
	if ((k->family & WEIR_KEY_DUAL) != 0)
		atomic_store_explicit(&tab->n_dual,
				      atomic_load_explicit(&tab->n_dual, memory_order_relaxed) +
					      delta,
				      memory_order_release);
}

static void
publish(struct weir_socktab *tab, struct weir_sockent *ent)
{
	uint64_t i = ent->hash & tab->mask;

	/* A reader that misses the count misses the entry: it came before the insert. */
	count_add(tab, &ent->key, 1);
	/* A dead place will do: the key is nowhere, and readers pass both what was there and what comes. */
	while (slot_read(tab, i) != 0 && slot_read(tab, i) != WEIR_SLOT_DEAD)
		i = (i + 1) & tab->mask;
	tab->dead -= slot_read(tab, i) == WEIR_SLOT_DEAD;
	/* Release: pairs with slot_read(). */
	atomic_store_explicit(&tab->slot[i], slot_word(ent, ent->hash), memory_order_release);
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
		uint64_t word = slot_read(old, i);

		if (word != 0 && word != WEIR_SLOT_DEAD)
			publish(tab, slot_ent(word));
	}
	atomic_store_explicit(&stack->socktab, tab, memory_order_release);
	weir_rcu_free(stack, old);
	return 0;
}

/* ---- control: groups ---- */

#define GROUP_MIN 4

static struct weir_group *
group_alloc(uint32_t cap)
{
	struct weir_group *g =
		rte_zmalloc("weir_group", sizeof(*g) + cap * sizeof(g->sk[0]), WEIR_CACHE_LINE);

	if (g != NULL)
		g->cap = cap;
	return g;
}

/* What the choice needs to know of its members. g is not published yet. */
static void
group_refresh(struct weir_group *g)
{
	uint32_t n = atomic_load_explicit(&g->n, memory_order_relaxed);
	bool stable = n > 1;
	bool lcores = false;

	for (uint32_t i = 0; i < n; i++) {
		const struct weir_socket *sk = member(g, i);

		stable = stable && sk->stable;
		lcores = lcores || sk->lcore >= 0;
	}
	/* Rendezvous: each bucket belongs to the member that scores highest for it. */
	for (uint32_t b = 0; stable && b < RTE_DIM(g->bucket); b++) {
		uint64_t best = 0;

		for (uint32_t i = 0; i < n; i++) {
			const struct weir_socket *sk = member(g, i);
			uint64_t id = (uint64_t)sk->id << 16 | sk->serial;
			uint64_t score = mix(id ^ UINT64_C(0x9e3779b97f4a7c15),
					     (b + 1) * UINT64_C(0xd6e8feb86659fd93));

			if (score >= best) {
				best = score;
				g->bucket[b] = (uint16_t)i;
			}
		}
	}
	g->lcores = lcores;
	g->stable = stable && n <= UINT16_MAX;
}

struct selector {
	weir_select_fn fn;
	void *arg;
};

/*
 * Replace ent's group by one of room cap, without `gone`, with `added`; sel: another selector. -ENOMEM:
 * nothing changed.
 */
static int
group_replace(struct weir_stack *stack, struct weir_sockent *ent, uint32_t cap,
	      const struct weir_socket *gone, struct weir_socket *added, const struct selector *sel)
{
	struct weir_group *old = atomic_load_explicit(&ent->group, memory_order_relaxed);
	struct weir_group *g = group_alloc(cap);
	uint32_t n = 0;

	if (g == NULL)
		return -ENOMEM;
	if (old == NULL) {
		atomic_store_explicit(&g->sk[n++],
				      atomic_load_explicit(&ent->sk, memory_order_relaxed),
				      memory_order_relaxed);
	} else {
		for (uint32_t i = 0; i < atomic_load_explicit(&old->n, memory_order_relaxed); i++)
			if (member(old, i) != gone)
				atomic_store_explicit(&g->sk[n++], member(old, i),
						      memory_order_relaxed);
		g->select = old->select;
		g->select_arg = old->select_arg;
	}
	if (sel != NULL) {
		g->select = sel->fn;
		g->select_arg = sel->arg;
	}
	if (added != NULL)
		atomic_store_explicit(&g->sk[n++], added, memory_order_relaxed);
	atomic_store_explicit(&g->n, n, memory_order_relaxed);
	group_refresh(g);
	atomic_store_explicit(&ent->group, g, memory_order_release); /* pairs with socket_of */
	if (old != NULL)
		weir_rcu_free(stack, old);
	return 0;
}

static int
group_add(struct weir_stack *stack, struct weir_sockent *ent, struct weir_socket *sk)
{
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_relaxed);
	uint32_t n = g != NULL ? atomic_load_explicit(&g->n, memory_order_relaxed) : 1;
	int ret;

	/* In place while there is room and nobody asks for a table that would change under them. */
	if (g != NULL && n < g->cap && !g->stable && !sk->stable && (g->lcores || sk->lcore < 0)) {
		atomic_store_explicit(&g->sk[n], sk, memory_order_relaxed);
		atomic_store_explicit(&g->n, n + 1, memory_order_release);
	} else {
		ret = group_replace(stack, ent, RTE_MAX(n * 2, (uint32_t)GROUP_MIN), NULL, sk,
				    NULL);
		if (ret != 0)
			return ret;
	}
	atomic_store_explicit(&ent->sk, sk, memory_order_release);
	return 0;
}

/* Take sk out of a group of at least two. Out of memory: in place, where a reader may see one twice. */
static void
group_remove(struct weir_stack *stack, struct weir_sockent *ent, const struct weir_socket *sk)
{
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_relaxed);
	uint32_t n = atomic_load_explicit(&g->n, memory_order_relaxed);

	if (atomic_load_explicit(&ent->sk, memory_order_relaxed) == sk)
		atomic_store_explicit(&ent->sk, member(g, member(g, n - 1) == sk ? n - 2 : n - 1),
				      memory_order_release);
	if (group_replace(stack, ent, g->cap, sk, NULL, NULL) == 0)
		return;
	for (uint32_t i = 0, to = 0; i < n; i++)
		if (member(g, i) != sk)
			atomic_store_explicit(&g->sk[to++], member(g, i), memory_order_release);
	/* The buckets, and readers of an older n, may name a place that has fallen free: a live one is there. */
	for (uint32_t i = n - 1; i < g->cap; i++)
		atomic_store_explicit(&g->sk[i], member(g, 0), memory_order_release);
	atomic_store_explicit(&g->n, n - 1, memory_order_release);
}

bool
weir_sockent_has(const struct weir_sockent *ent, const struct weir_socket *sk)
{
	struct weir_group *g =
		atomic_load_explicit((struct weir_group * _Atomic *)(uintptr_t)&ent->group,
				     memory_order_relaxed);

	if (g == NULL)
		return atomic_load_explicit((struct weir_socket * _Atomic *)(uintptr_t)&ent->sk,
					    memory_order_relaxed) == sk;
	for (uint32_t i = 0; i < atomic_load_explicit(&g->n, memory_order_relaxed); i++)
		if (member(g, i) == sk)
			return true;
	return false;
}

int
weir_sockent_select(struct weir_stack *stack, struct weir_sockent *ent, weir_select_fn fn,
		    void *arg)
{
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_relaxed);
	const struct selector sel = {fn, arg};

	return group_replace(stack, ent, g != NULL ? g->cap : GROUP_MIN, NULL, NULL, &sel);
}

int
weir_sockent_refresh(struct weir_stack *stack, struct weir_sockent *ent)
{
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_relaxed);

	return g != NULL ? group_replace(stack, ent, g->cap, NULL, NULL, NULL) : 0;
}

/* ---- control: entries ---- */

int
weir_socktab_insert(struct weir_stack *stack, const struct weir_key *key, struct weir_socket *sk,
		    struct weir_sockent **out)
{
	struct weir_sockent *ent = weir_socktab_exact(stack, key);
	int ret;

	if (ent != NULL) {
		*out = ent;
		return group_add(stack, ent, sk);
	}
	ent = rte_zmalloc("weir_sockent", sizeof(*ent), WEIR_CACHE_LINE);
	if (ent == NULL)
		return -ENOMEM;
	ret = make_room(stack);
	if (ret != 0) {
		rte_free(ent);
		return ret;
	}
	ent->key = *key;
	ent->hash = key_hash(stack, key);
	atomic_store_explicit(&ent->sk, sk, memory_order_relaxed);
	publish(atomic_load_explicit(&stack->socktab, memory_order_relaxed), ent);
	*out = ent;
	return 0;
}

void
weir_socktab_remove(struct weir_stack *stack, struct weir_sockent *ent, struct weir_socket *sk)
{
	struct weir_socktab *tab = atomic_load_explicit(&stack->socktab, memory_order_relaxed);
	struct weir_group *g = atomic_load_explicit(&ent->group, memory_order_relaxed);
	uint64_t i = ent->hash & tab->mask;

	if (g != NULL && atomic_load_explicit(&g->n, memory_order_relaxed) > 1) {
		group_remove(stack, ent, sk);
		return;
	}
	while (slot_read(tab, i) != slot_word(ent, ent->hash))
		i = (i + 1) & tab->mask;
	/* Before the entry goes. Release: pairs with lookup(), who sees it sees what came before. */
	atomic_store_explicit(&tab->n_removed,
			      atomic_load_explicit(&tab->n_removed, memory_order_relaxed) + 1,
			      memory_order_release);
	atomic_store_explicit(&tab->slot[i], WEIR_SLOT_DEAD, memory_order_release);
	tab->dead++;
	/* Where nothing lies behind, dead places end no search later than empty ones would. */
	if (slot_read(tab, (i + 1) & tab->mask) == 0)
		for (; slot_read(tab, i) == WEIR_SLOT_DEAD; i = (i - 1) & tab->mask) {
			atomic_store_explicit(&tab->slot[i], 0, memory_order_release);
			tab->dead--;
		}
	/* Release: a reader that skips a kind for its count of 0 sees n_removed by then. */
	count_add(tab, &ent->key, UINT32_MAX);
	tab->used--;
	if (g != NULL)
		weir_rcu_free(stack, g);
	weir_rcu_free(stack, ent);
}

struct weir_sockent *
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
