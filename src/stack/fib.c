/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: the table and its transactions; COLD: lookups. See fib.h; decisions that use it are in way.c.
 *
 * A table is two tries whose values are the routes of one prefix: a route, or, marked by the lowest bit, an array of
 * them in order of preference. A transaction works on a copy of the two roots. What it replaces is collected and
 * freed after the grace period in bounded portions, for whoever reclaims may be a worker between two bursts.
 */
#include "fib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "local.h"
#include "rcu.h"
#include "trie.h"

/* The hops of one or more routes. */
struct hopset {
	struct hopset *next; /* in the bucket */
	uint32_t refs;       /* control lock */
	uint32_t hash;
	uint32_t n;
	struct weir_nexthop hop[];
};

/* Routes of one prefix. */
struct bunch {
	uint32_t n;
	const struct weir_route *route[];
};

/* What does not belong to one version of the table. Control lock. */
struct fib_ctl {
	uint64_t serial;
	size_t bytes; /* of routes, bunches and hop sets that are in the table */
	uint32_t n_sets, mask;
	struct hopset **set;
};

struct weir_fib {
	struct weir_trie trie[2]; /* IPv4, IPv6 */
	struct weir_any any;      /* of those the prefixes with a LOCAL route */
	struct fib_ctl *ctl;
	size_t n_routes, n_local;
	size_t node_bytes;
	uint32_t n_hops[2][WEIR_ALL_PORTS]; /* of routes by port */
};

/* Pointers to routes, marked by the lowest bit, and to other memory. */
struct ptrs {
	uintptr_t *p;
	size_t n, cap;
};

struct weir_fib_txn {
	struct weir_stack *stack;
	struct weir_fib *next;
	struct weir_fib *replaced; /* after commit */
	struct weir_trie_edit edit;
	struct ptrs made; /* routes and bunches, for abort */
	struct ptrs old;  /* routes and bunches that are in the table no more, for commit */
	size_t ctl_bytes; /* ctl->bytes at the start */
	bool multipath;
};

#define ROUTE_MARK 1u

static inline unsigned int
tree_of(uint8_t family)
{
	return family == WEIR_IPV6;
}

static struct weir_trie_key
key_of(const union weir_ip *ip, uint8_t family)
{
	if (family == WEIR_IPV4)
		return (struct weir_trie_key){(uint64_t)rte_be_to_cpu_32(ip->v4) << 32, 0};
	return (struct weir_trie_key){rte_be_to_cpu_64(ip->w[0]), rte_be_to_cpu_64(ip->w[1])};
}

/* ---- values of the tries ---- */

/* The routes behind a value, best first. */
static const struct weir_route *const *
routes_of(void *const *value, uint32_t *n)
{
	const uintptr_t v = (uintptr_t)*value;

	if ((v & 1) != 0) {
		const struct bunch *b = (const struct bunch *)(v & ~(uintptr_t)1);

		*n = b->n;
		return b->route;
	}
	*n = 1;
	return (const struct weir_route *const *)(const void *)value;
}

static bool
same_ip(const union weir_ip *a, const union weir_ip *b)
{
	return a->w[0] == b->w[0] && a->w[1] == b->w[1];
}

/* Same identity; the prefix is the same already. */
static bool
same_route(const struct weir_route *a, const struct weir_route *b)
{
	return a->metric == b->metric && a->from_bits == b->from_bits &&
	       same_ip(&a->from, &b->from) && a->connected == b->connected &&
	       (!a->connected ||
		(a->hop[0].port == b->hop[0].port && same_ip(&a->hop[0].src, &b->hop[0].src)));
}

/* Does a come before b? Equal ones stay in the order of their addition. */
static bool
better(const struct weir_route *a, const struct weir_route *b)
{
	if (a->from_bits != b->from_bits)
		return a->from_bits > b->from_bits;
	if (a->metric != b->metric)
		return a->metric < b->metric;
	return a->connected && !b->connected;
}

bool
weir_ip_in(const union weir_ip *ip, const union weir_ip *prefix, uint8_t family, uint8_t bits)
{
	const struct weir_trie_key a = key_of(ip, family);
	const struct weir_trie_key b = key_of(prefix, family);

	if (bits <= 64)
		return bits == 0 || (a.hi ^ b.hi) >> (64 - bits) == 0;
	return a.hi == b.hi && (a.lo ^ b.lo) >> (128 - bits) == 0;
}

/* ---- lookups ---- */

bool
weir_hop_usable(const struct weir_nexthop *hop)
{
	return atomic_load_explicit(&hop->port->link_up, memory_order_relaxed) &&
	       !atomic_load_explicit(&hop->port->dead, memory_order_relaxed);
}

static bool
route_usable(const struct weir_route *r, int port)
{
	if (r->n_hops == 0) /* blackhole and its kin: by whatever port */
		return true;
	for (unsigned int i = 0; i < r->n_hops; i++)
		if ((port < 0 || r->hop[i].port->index == port) && weir_hop_usable(&r->hop[i]))
			return true;
	return false;
}

/* Of one prefix's routes the first that fits. */
static const struct weir_route *
pick(void *const *value, uint8_t family, const struct weir_fib_ask *ask)
{
	uint32_t n;
	const struct weir_route *const *r = routes_of(value, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (r[i]->from_bits != 0 &&
		    (ask->from_fits != NULL ? !ask->from_fits(ask->arg, r[i])
					    : ask->from == NULL || weir_ip_is_any(ask->from) ||
						      !weir_ip_in(ask->from, &r[i]->from, family,
								  r[i]->from_bits)))
			continue;
		if (route_usable(r[i], ask->port))
			return r[i];
	}
	return NULL;
}

const struct weir_route *
weir_fib_ask(struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
	     const struct weir_fib_ask *ask)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_acquire);
	const struct weir_trie *t = &fib->trie[tree_of(family)];
	const struct weir_trie_key key = key_of(dst, family);
	void *match[WEIR_TRIE_MATCHES];
	const struct weir_route *r;
	unsigned int n;
	void *value;

	value = family == WEIR_IPV4 ? weir_trie_longest32(t, (uint32_t)(key.hi >> 32))
				    : weir_trie_longest(t, &key);
	if (value == NULL)
		return NULL;
	r = pick(&value, family, ask);
	if (likely(r != NULL))
		return r;
	n = weir_trie_matches(t, &key, match);
	while (n-- > 0) {
		r = pick(&match[n], family, ask);
		if (r != NULL)
			return r;
	}
	return NULL;
}

const struct weir_route *
weir_fib_lookup(struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
		const union weir_ip *from, int port)
{
	return weir_fib_ask(stack, dst, family, &(struct weir_fib_ask){.from = from, .port = port});
}

bool
weir_fib_reaches(struct weir_stack *stack, const union weir_ip *src, uint8_t family, int port)
{
	const struct weir_route *r =
		weir_fib_ask(stack, src, family, &(struct weir_fib_ask){.port = -1});

	if (r == NULL || r->kind != WEIR_ROUTE_UNICAST)
		return false;
	for (unsigned int i = 0; port >= 0 && i < r->n_hops; i++)
		if (r->hop[i].port->index == port)
			return true;
	return port < 0;
}

bool
weir_fib_uses_port(struct weir_stack *stack, uint8_t family, unsigned int port)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_acquire);

	return fib->n_hops[tree_of(family)][port] != 0;
}

static const struct weir_route *
exact(const struct weir_fib *fib, const struct weir_route *like)
{
	const struct weir_trie_key key = key_of(&like->prefix, like->family);
	void *value = weir_trie_get(&fib->trie[tree_of(like->family)], &key, like->bits);
	const struct weir_route *const *r;
	uint32_t n;

	if (value == NULL)
		return NULL;
	r = routes_of(&value, &n);
	for (uint32_t i = 0; i < n; i++)
		if (same_route(r[i], like))
			return r[i];
	return NULL;
}

const struct weir_route *
weir_fib_exact(struct weir_stack *stack, const struct weir_route *like)
{
	return exact(atomic_load_explicit(&stack->fib, memory_order_relaxed), like);
}

const struct weir_route *
weir_fib_txn_exact(struct weir_fib_txn *txn, const struct weir_route *like)
{
	return exact(txn->next, like);
}

struct each_arg {
	bool (*fn)(void *arg, const struct weir_route *r);
	void *arg;
};

static bool
each_value(void *arg, void *value)
{
	const struct each_arg *e = arg;
	const struct weir_route *const *r;
	uint32_t n;

	r = routes_of(&value, &n);
	for (uint32_t i = 0; i < n; i++)
		if (!e->fn(e->arg, r[i]))
			return false;
	return true;
}

static void
each(const struct weir_fib *fib, bool (*fn)(void *arg, const struct weir_route *r), void *arg)
{
	struct each_arg e = {fn, arg};

	if (weir_trie_each(&fib->trie[0], each_value, &e))
		(void)weir_trie_each(&fib->trie[1], each_value, &e);
}

void
weir_fib_each(struct weir_stack *stack, bool (*fn)(void *arg, const struct weir_route *r),
	      void *arg)
{
	each(atomic_load_explicit(&stack->fib, memory_order_acquire), fn, arg);
}

void
weir_fib_txn_each(struct weir_fib_txn *txn, bool (*fn)(void *arg, const struct weir_route *r),
		  void *arg)
{
	each(txn->next, fn, arg);
}

size_t
weir_fib_count(const struct weir_stack *stack)
{
	return atomic_load_explicit(&stack->fib, memory_order_relaxed)->n_routes;
}

size_t
weir_fib_memory(const struct weir_stack *stack)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_relaxed);

	return sizeof(*fib) + sizeof(*fib->ctl) + fib->ctl->bytes + fib->node_bytes +
	       ((size_t)fib->ctl->mask + 1) * sizeof(fib->ctl->set[0]);
}

/* ---- hop sets ---- */

static size_t
hopset_size(uint32_t n)
{
	return sizeof(struct hopset) + n * sizeof(struct weir_nexthop);
}

/* The fields and nothing else: what lies between them is compared as well. */
static void
copy_hop(struct weir_nexthop *to, const struct weir_nexthop *from)
{
	memset(to, 0, sizeof(*to));
	to->gateway = from->gateway;
	to->src = from->src;
	to->port = from->port;
	to->mtu = from->mtu;
	to->weight = from->weight;
	to->has_gateway = from->has_gateway;
	to->has_src = from->has_src;
}

static uint32_t
hash_hops(const struct weir_nexthop *hop, uint32_t n)
{
	const uint8_t *b = (const uint8_t *)hop;
	uint64_t h = n;

	for (size_t i = 0; i < n * sizeof(*hop); i += sizeof(uint64_t)) {
		uint64_t w;

		memcpy(&w, b + i, sizeof(w));
		h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 32);
}
static_assert(sizeof(struct weir_nexthop) % sizeof(uint64_t) == 0, "hashed by words");

/* More buckets when there are as many sets; without memory the chains grow instead. */
static void
hopset_grow(struct fib_ctl *ctl)
{
	uint32_t mask = ctl->mask * 2 + 1;
	struct hopset **set = calloc((size_t)mask + 1, sizeof(*set));

	if (set == NULL)
		return;
	for (uint32_t i = 0; i <= ctl->mask; i++)
		while (ctl->set[i] != NULL) {
			struct hopset *s = ctl->set[i];

			ctl->set[i] = s->next;
			s->next = set[s->hash & mask];
			set[s->hash & mask] = s;
		}
	free(ctl->set);
	ctl->set = set;
	ctl->mask = mask;
}

/* The set with these hops, with a reference more; NULL: out of memory. */
static struct hopset *
hopset_get(struct fib_ctl *ctl, const struct weir_nexthop *hop, uint32_t n)
{
	struct hopset *s, *found;

	s = calloc(1, hopset_size(n));
	if (s == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		copy_hop(&s->hop[i], &hop[i]);
	s->n = n;
	s->hash = hash_hops(s->hop, n);
	for (found = ctl->set[s->hash & ctl->mask]; found != NULL; found = found->next)
		if (found->hash == s->hash && found->n == n &&
		    memcmp(found->hop, s->hop, n * sizeof(s->hop[0])) == 0) {
			free(s);
			found->refs++;
			return found;
		}
	if (ctl->n_sets > ctl->mask)
		hopset_grow(ctl);
	s->refs = 1;
	s->next = ctl->set[s->hash & ctl->mask];
	ctl->set[s->hash & ctl->mask] = s;
	ctl->n_sets++;
	ctl->bytes += hopset_size(n);
	return s;
}

static void
hopset_put(struct fib_ctl *ctl, const struct weir_nexthop *hop)
{
	struct hopset *s;
	struct hopset **at;

	if (hop == NULL)
		return;
	s = RTE_PTR_SUB(hop, offsetof(struct hopset, hop));
	if (--s->refs > 0)
		return;
	for (at = &ctl->set[s->hash & ctl->mask]; *at != s; at = &(*at)->next)
		;
	*at = s->next;
	ctl->n_sets--;
	ctl->bytes -= hopset_size(s->n);
	free(s);
}

static void
route_free(struct fib_ctl *ctl, struct weir_route *r)
{
	hopset_put(ctl, r->hop);
	free(r);
}

/* ---- transactions ---- */

/* Room for n more. */
static bool
ptrs_reserve(struct ptrs *v, size_t n)
{
	size_t cap = v->cap;
	uintptr_t *p;

	if (v->n + n <= v->cap)
		return true;
	while (cap < v->n + n)
		cap = cap == 0 ? 8 : cap * 2;
	p = realloc(v->p, cap * sizeof(*p));
	if (p == NULL)
		return false;
	v->p = p;
	v->cap = cap;
	return true;
}

static void
free_ptr(struct fib_ctl *ctl, uintptr_t p)
{
	if ((p & ROUTE_MARK) != 0)
		route_free(ctl, (struct weir_route *)(p & ~(uintptr_t)ROUTE_MARK));
	else
		free((void *)p);
}

static void
txn_free(struct weir_fib_txn *txn)
{
	free(txn->edit.old);
	free(txn->made.p);
	free(txn->old.p);
	free(txn->replaced);
	free(txn);
}

struct weir_fib_txn *
weir_fib_begin(struct weir_stack *stack)
{
	const struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_relaxed);
	struct weir_fib_txn *txn = calloc(1, sizeof(*txn));
	struct weir_fib *next = malloc(sizeof(*next));

	if (txn == NULL || next == NULL) {
		free(txn);
		free(next);
		return NULL;
	}
	*next = *fib;
	txn->stack = stack;
	txn->next = next;
	txn->edit.serial = ++fib->ctl->serial;
	txn->edit.bytes = fib->node_bytes;
	txn->ctl_bytes = fib->ctl->bytes;
	return txn;
}

static void
count_route(struct weir_fib *fib, const struct weir_route *r, int by)
{
	fib->n_routes += (size_t)by;
	fib->n_local += r->kind == WEIR_ROUTE_LOCAL ? (size_t)by : 0;
	for (unsigned int i = 0; i < r->n_hops; i++)
		fib->n_hops[tree_of(r->family)][r->hop[i].port->index] += (uint32_t)by;
}

static size_t
bunch_size(uint32_t n)
{
	return sizeof(struct bunch) + n * sizeof(const struct weir_route *);
}

static inline void *
bunch_value(struct bunch *b)
{
	return (void *)((uintptr_t)b | 1);
}

/* The bunch behind a value is not needed by the next table any more. */
static void
bunch_gone(struct weir_fib_txn *txn, const void *value, uint32_t n)
{
	if (((uintptr_t)value & 1) == 0)
		return;
	txn->old.p[txn->old.n++] = (uintptr_t)value & ~(uintptr_t)1;
	txn->next->ctl->bytes -= bunch_size(n);
}

/*
 * Make the prefix one of ours, or not any more. All that can fail is done by the first of two calls with the same
 * prefix: the second cannot.
 */
static bool
set_any(struct weir_fib_txn *txn, const struct weir_route *like, bool ours)
{
	struct weir_trie *t = &txn->next->any.trie[tree_of(like->family)];
	const struct weir_trie_key key = key_of(&like->prefix, like->family);

	return weir_trie_set(t, &txn->edit, &key, like->bits, ours ? t : NULL);
}

static bool
has_local(void *value)
{
	const struct weir_route *const *r;
	uint32_t n;

	if (value == NULL)
		return false;
	r = routes_of(&value, &n);
	for (uint32_t i = 0; i < n; i++)
		if (r[i]->kind == WEIR_ROUTE_LOCAL)
			return true;
	return false;
}

int
weir_fib_add(struct weir_fib_txn *txn, const struct weir_route *route)
{
	struct weir_fib *fib = txn->next;
	struct fib_ctl *ctl = fib->ctl;
	struct weir_trie *t = &fib->trie[tree_of(route->family)];
	const struct weir_trie_key key = key_of(&route->prefix, route->family);
	void *value = weir_trie_get(t, &key, route->bits);
	const struct weir_route *const *had = NULL;
	struct weir_route *r;
	struct bunch *b = NULL;
	struct hopset *set = NULL;
	void *new_value;
	uint32_t n = 0;
	uint32_t at = 0;

	if (value != NULL)
		had = routes_of(&value, &n);
	for (uint32_t i = 0; i < n; i++)
		if (same_route(had[i], route))
			return -EEXIST;
	if (!ptrs_reserve(&txn->made, 2) || !ptrs_reserve(&txn->old, 1))
		return -ENOMEM;
	r = malloc(sizeof(*r));
	if (n > 0)
		b = malloc(bunch_size(n + 1));
	if (route->n_hops > 0)
		set = hopset_get(ctl, route->hop, route->n_hops);
	if (r == NULL || (n > 0 && b == NULL) || (route->n_hops > 0 && set == NULL))
		goto no_memory;
	*r = *route;
	r->hop = set != NULL ? set->hop : NULL;
	new_value = r;
	if (b != NULL) {
		while (at < n && !better(r, had[at]))
			at++;
		b->n = n + 1;
		memcpy(&b->route[0], &had[0], at * sizeof(had[0]));
		b->route[at] = r;
		memcpy(&b->route[at + 1], &had[at], (n - at) * sizeof(had[0]));
		new_value = bunch_value(b);
	}
	if (r->kind == WEIR_ROUTE_LOCAL && !set_any(txn, r, true))
		goto no_memory;
	if (!weir_trie_set(t, &txn->edit, &key, route->bits, new_value)) {
		if (r->kind == WEIR_ROUTE_LOCAL)
			(void)set_any(txn, r, has_local(value));
		goto no_memory;
	}
	txn->made.p[txn->made.n++] = (uintptr_t)r | ROUTE_MARK;
	ctl->bytes += sizeof(*r);
	if (b != NULL) {
		txn->made.p[txn->made.n++] = (uintptr_t)b;
		ctl->bytes += bunch_size(n + 1);
	}
	bunch_gone(txn, value, n);
	count_route(fib, r, 1);
	txn->multipath |= r->n_hops > 1;
	return 0;
no_memory:
	if (set != NULL)
		hopset_put(ctl, set->hop);
	free(b);
	free(r);
	return -ENOMEM;
}

int
weir_fib_del(struct weir_fib_txn *txn, const struct weir_route *route)
{
	struct weir_fib *fib = txn->next;
	struct weir_trie *t = &fib->trie[tree_of(route->family)];
	const struct weir_trie_key key = key_of(&route->prefix, route->family);
	void *value = weir_trie_get(t, &key, route->bits);
	const struct weir_route *const *had = NULL;
	struct bunch *b = NULL;
	void *new_value = NULL;
	uint32_t n = 0;
	uint32_t at = 0;

	if (value != NULL)
		had = routes_of(&value, &n);
	while (at < n && !same_route(had[at], route))
		at++;
	if (at == n)
		return -ENOENT;
	if (!ptrs_reserve(&txn->made, 1) || !ptrs_reserve(&txn->old, 2))
		return -ENOMEM;
	if (n == 2) {
		new_value = (void *)(uintptr_t)had[1 - at];
	} else if (n > 2) {
		b = malloc(bunch_size(n - 1));
		if (b == NULL)
			return -ENOMEM;
		b->n = n - 1;
		memcpy(&b->route[0], &had[0], at * sizeof(had[0]));
		memcpy(&b->route[at], &had[at + 1], (n - at - 1) * sizeof(had[0]));
		new_value = bunch_value(b);
	}
	if ((had[at]->kind == WEIR_ROUTE_LOCAL && !set_any(txn, route, true)) ||
	    !weir_trie_set(t, &txn->edit, &key, route->bits, new_value)) {
		free(b);
		return -ENOMEM;
	}
	if (had[at]->kind == WEIR_ROUTE_LOCAL)
		(void)set_any(txn, route, has_local(new_value));
	if (b != NULL) {
		txn->made.p[txn->made.n++] = (uintptr_t)b;
		fib->ctl->bytes += bunch_size(n - 1);
	}
	count_route(fib, had[at], -1);
	fib->ctl->bytes -= sizeof(struct weir_route);
	txn->old.p[txn->old.n++] = (uintptr_t)had[at] | ROUTE_MARK;
	bunch_gone(txn, value, n);
	return 0;
}

/* How much is freed at once: some tens of microseconds. */
#define FREE_PORTION 1024

/* After the grace period, under the control lock. */
static void
free_replaced(struct weir_stack *stack, void *obj)
{
	struct weir_fib_txn *txn = obj;

	for (unsigned int i = 0; i < FREE_PORTION; i++) {
		if (txn->edit.n_old > 0) {
			free(txn->edit.old[--txn->edit.n_old]);
		} else if (txn->old.n > 0) {
			free_ptr(txn->next->ctl, txn->old.p[--txn->old.n]);
		} else {
			txn_free(txn);
			return;
		}
	}
	weir_rcu_defer(stack, free_replaced, txn);
}

void
weir_fib_touch(struct weir_stack *stack)
{
	uint64_t gen = atomic_load_explicit(&stack->gen, memory_order_relaxed);
	uint64_t next;

	/* 0 marks an empty entry of a cache: stepped over. Release: pairs with the acquire before a lookup. */
	do
		next = gen + 1 == 0 ? 1 : gen + 1;
	while (!atomic_compare_exchange_weak_explicit(&stack->gen, &gen, next, memory_order_release,
						      memory_order_relaxed));
}

void
weir_fib_commit(struct weir_fib_txn *txn)
{
	struct weir_stack *stack = txn->stack;

	txn->next->node_bytes = txn->edit.bytes;
	txn->replaced = atomic_load_explicit(&stack->fib, memory_order_relaxed);
	if (txn->multipath)
		atomic_store_explicit(&stack->flow_mask, UINT32_MAX, memory_order_relaxed);
	atomic_store_explicit(&stack->any, txn->next->n_local > 0 ? &txn->next->any : NULL,
			      memory_order_release);
	/* The table, then the generation: who sees the new one looks at a table at least as new. */
	atomic_store_explicit(&stack->fib, txn->next, memory_order_release);
	weir_fib_touch(stack);
	weir_rcu_defer(stack, free_replaced, txn);
}

void
weir_fib_abort(struct weir_fib_txn *txn)
{
	struct fib_ctl *ctl = txn->next->ctl;

	for (unsigned int i = 0; i < 2; i++) {
		weir_trie_abort(&txn->next->trie[i], &txn->edit);
		weir_trie_abort(&txn->next->any.trie[i], &txn->edit);
	}
	for (size_t i = 0; i < txn->made.n; i++)
		free_ptr(ctl, txn->made.p[i]);
	ctl->bytes = txn->ctl_bytes;
	free(txn->next);
	txn_free(txn);
}

int
weir_fib_init(struct weir_stack *stack)
{
	struct weir_fib *fib = calloc(1, sizeof(*fib));
	struct fib_ctl *ctl = calloc(1, sizeof(*ctl));
	struct hopset **set = calloc(16, sizeof(*set));

	if (fib == NULL || ctl == NULL || set == NULL) {
		free(fib);
		free(ctl);
		free(set);
		return -ENOMEM;
	}
	ctl->set = set;
	ctl->mask = 15;
	fib->ctl = ctl;
	atomic_store_explicit(&stack->fib, fib, memory_order_release);
	weir_fib_touch(stack);
	return 0;
}

static bool
free_value(void *arg, void *value)
{
	const struct weir_route *const *r;
	uint32_t n;

	r = routes_of(&value, &n);
	for (uint32_t i = 0; i < n; i++)
		route_free(arg, (struct weir_route *)(uintptr_t)r[i]);
	if (((uintptr_t)value & 1) != 0)
		free((void *)((uintptr_t)value & ~(uintptr_t)1));
	return true;
}

/* No reader is left, and what was replaced has been reclaimed. */
void
weir_fib_fini(struct weir_stack *stack)
{
	struct weir_fib *fib = atomic_load_explicit(&stack->fib, memory_order_relaxed);

	if (fib == NULL)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		(void)weir_trie_each(&fib->trie[i], free_value, fib->ctl);
		weir_trie_destroy(&fib->trie[i]);
		weir_trie_destroy(&fib->any.trie[i]);
	}
	free(fib->ctl->set);
	free(fib->ctl);
	free(fib);
	atomic_store_explicit(&stack->fib, NULL, memory_order_relaxed);
	atomic_store_explicit(&stack->any, NULL, memory_order_relaxed);
}
