/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See trie.h.
 *
 * A node looks at six bits of the key, those from its depth on. Prefixes that end in it have lengths 1 to 6
 * there; prefix p of length l is bit (1 << l | p) of val, so that of the prefixes of one key in val[0] (lengths
 * 1 to 5) the longest has the highest bit, and those of length 6 fill val[1]. A slot is found by counting the
 * bits below its own: children first, then values.
 *
 * A node without values and with one child is never kept: the child hangs from the parent, and what was skipped
 * is compared with the child's own key. Depths are multiples of 6, so that the shape depends on the content only.
 */
#include "trie.h"

#include <stdlib.h>
#include <string.h>

#define STRIDE 6

typedef __uint128_t key128;

struct weir_trie_node {
	uint64_t child;  /* which of the 64 ways down there are */
	uint64_t val[2]; /* which prefixes end here */
	uint64_t hi, lo; /* the key's bits above depth, 0 from there on */
	uint64_t mark;   /* serial of the edit that made it << 8 | depth */
	void *slot[];
};

#define DEPTH(n) ((unsigned int)((n)->mark & 0xff))

static inline unsigned int
count(uint64_t bits)
{
	return (unsigned int)__builtin_popcountll(bits);
}

static inline uint64_t
below(unsigned int bit)
{
	return (UINT64_C(1) << bit) - 1;
}

static inline key128
key_of(const struct weir_trie_key *key)
{
	return (key128)key->hi << 64 | key->lo;
}

static inline key128
node_key(const struct weir_trie_node *n)
{
	return (key128)n->hi << 64 | n->lo;
}

/* Six bits from depth on; behind the last of the key there are zeros. */
static inline unsigned int
six(key128 key, unsigned int depth)
{
	return (unsigned int)((uint64_t)((key << depth) >> 64) >> (64 - STRIDE));
}

/* In val[0], the prefixes of lengths 1 to 5 of a six-bit number. */
static inline uint64_t
ancestors(unsigned int idx)
{
	return UINT64_C(1) << (2 | idx >> 5) | UINT64_C(1) << (4 | idx >> 4) |
	       UINT64_C(1) << (8 | idx >> 3) | UINT64_C(1) << (16 | idx >> 2) |
	       UINT64_C(1) << (32 | idx >> 1);
}

static inline void *const *
val_slot(const struct weir_trie_node *n, unsigned int bit)
{
	unsigned int i = count(n->child);

	i += bit < 64 ? count(n->val[0] & below(bit))
		      : count(n->val[0]) + count(n->val[1] & below(bit - 64));
	return &n->slot[i];
}

static inline bool
has_val(const struct weir_trie_node *n, unsigned int bit)
{
	return (n->val[bit >> 6] >> (bit & 63) & 1) != 0;
}

static inline size_t
n_slots(const struct weir_trie_node *n)
{
	return count(n->child) + count(n->val[0]) + count(n->val[1]);
}

static inline size_t
node_size(size_t slots)
{
	return sizeof(struct weir_trie_node) + slots * sizeof(void *);
}

/* ---- readers ---- */

/* Where the longest match in node n is noted; what was found above stays when there is none. */
static inline void *const *
best_in(const struct weir_trie_node *n, unsigned int idx, void *const *best)
{
	uint64_t m;

	if ((n->val[1] >> idx & 1) != 0)
		return &n->slot[count(n->child) + count(n->val[0]) + count(n->val[1] & below(idx))];
	m = n->val[0] & ancestors(idx);
	if (m == 0)
		return best;
	return &n->slot[count(n->child) +
			count(n->val[0] & below(63 - (unsigned int)__builtin_clzll(m)))];
}

void *
weir_trie_longest32(const struct weir_trie *t, uint32_t key)
{
	const struct weir_trie_node *n = t->root;
	const uint64_t k = (uint64_t)key << 32;
	void *const *best = &t->all;

	while (n != NULL) {
		const unsigned int depth = DEPTH(n);
		unsigned int idx;

		/* In two steps: at depth 0 everything goes. */
		if (((k ^ n->hi) >> 1 >> (63 - depth)) != 0)
			break;
		idx = (unsigned int)((k << depth) >> (64 - STRIDE));
		best = best_in(n, idx, best);
		if ((n->child >> idx & 1) == 0)
			break;
		n = n->slot[count(n->child & below(idx))];
	}
	return *best;
}

void *
weir_trie_longest(const struct weir_trie *t, const struct weir_trie_key *key)
{
	const struct weir_trie_node *n = t->root;
	const key128 k = key_of(key);
	void *const *best = &t->all;

	while (n != NULL) {
		const unsigned int depth = DEPTH(n);
		unsigned int idx;

		if (((k ^ node_key(n)) >> 1 >> (127 - depth)) != 0)
			break;
		idx = six(k, depth);
		best = best_in(n, idx, best);
		if ((n->child >> idx & 1) == 0)
			break;
		n = n->slot[count(n->child & below(idx))];
	}
	return *best;
}

unsigned int
weir_trie_matches(const struct weir_trie *t, const struct weir_trie_key *key,
		  void *value[WEIR_TRIE_MATCHES])
{
	const struct weir_trie_node *node = t->root;
	const key128 k = key_of(key);
	unsigned int n = 0;

	if (t->all != NULL)
		value[n++] = t->all;
	while (node != NULL) {
		const unsigned int depth = DEPTH(node);
		unsigned int idx;

		if (((k ^ node_key(node)) >> 1 >> (127 - depth)) != 0)
			break;
		idx = six(k, depth);
		for (unsigned int l = 1; l <= STRIDE; l++) {
			unsigned int bit = 1u << l | idx >> (STRIDE - l);

			if (has_val(node, bit))
				value[n++] = *val_slot(node, bit);
		}
		if ((node->child >> idx & 1) == 0)
			break;
		node = node->slot[count(node->child & below(idx))];
	}
	return n;
}

/* Where a prefix of 1 to 128 bits has its value: the depth of its node, and the bit in val. */
static inline unsigned int
depth_of(unsigned int bits)
{
	return (bits - 1) / STRIDE * STRIDE;
}

static inline unsigned int
bit_of(key128 key, unsigned int bits)
{
	unsigned int depth = depth_of(bits);
	unsigned int l = bits - depth;

	return 1u << l | six(key, depth) >> (STRIDE - l);
}

void *
weir_trie_get(const struct weir_trie *t, const struct weir_trie_key *key, unsigned int bits)
{
	const struct weir_trie_node *n = t->root;
	const key128 k = key_of(key);
	unsigned int target, bit;

	if (bits == 0)
		return t->all;
	target = depth_of(bits);
	bit = bit_of(k, bits);
	while (n != NULL) {
		const unsigned int depth = DEPTH(n);
		unsigned int idx;

		if (depth > target || ((k ^ node_key(n)) >> 1 >> (127 - depth)) != 0)
			return NULL;
		if (depth == target)
			return has_val(n, bit) ? *val_slot(n, bit) : NULL;
		idx = six(k, depth);
		if ((n->child >> idx & 1) == 0)
			return NULL;
		n = n->slot[count(n->child & below(idx))];
	}
	return NULL;
}

/* Depth is bounded by the key: 22 levels. */
static bool
each(const struct weir_trie_node *n, bool (*fn)(void *arg, void *value), void *arg)
{
	const unsigned int children = count(n->child);
	const unsigned int all = (unsigned int)n_slots(n);

	for (unsigned int i = children; i < all; i++)
		if (!fn(arg, n->slot[i]))
			return false;
	for (unsigned int i = 0; i < children; i++)
		if (!each(n->slot[i], fn, arg))
			return false;
	return true;
}

bool
weir_trie_each(const struct weir_trie *t, bool (*fn)(void *arg, void *value), void *arg)
{
	if (t->all != NULL && !fn(arg, t->all))
		return false;
	return t->root == NULL || each(t->root, fn, arg);
}

/* ---- the writer ---- */

static inline bool
is_owned(const struct weir_trie_node *n, const struct weir_trie_edit *ed)
{
	return n->mark >> 8 == ed->serial;
}

/* Make the node that ref points to one that this edit may change. */
static bool
own(struct weir_trie_node **ref, struct weir_trie_edit *ed)
{
	struct weir_trie_node *n = *ref;
	struct weir_trie_node *copy;
	size_t size;

	if (is_owned(n, ed))
		return true;
	if (ed->n_old == ed->cap_old) {
		size_t cap = ed->cap_old == 0 ? 32 : ed->cap_old * 2;
		void **old = realloc(ed->old, cap * sizeof(*old));

		if (old == NULL)
			return false;
		ed->old = old;
		ed->cap_old = cap;
	}
	size = node_size(n_slots(n));
	copy = malloc(size);
	if (copy == NULL)
		return false;
	memcpy(copy, n, size);
	copy->mark = ed->serial << 8 | DEPTH(n);
	ed->old[ed->n_old++] = n;
	*ref = copy;
	return true;
}

static struct weir_trie_node *
new_node(struct weir_trie_edit *ed, key128 key, unsigned int depth, size_t slots)
{
	struct weir_trie_node *n = malloc(node_size(slots));

	if (n == NULL)
		return NULL;
	if (depth == 0)
		key = 0;
	else
		key = key >> (128 - depth) << (128 - depth);
	memset(n, 0, sizeof(*n));
	n->hi = (uint64_t)(key >> 64);
	n->lo = (uint64_t)key;
	n->mark = ed->serial << 8 | depth;
	ed->bytes += node_size(slots);
	return n;
}

/* Open a slot at place i of an owned node. */
static void **
open_slot(struct weir_trie_node **ref, struct weir_trie_edit *ed, size_t i)
{
	size_t n = n_slots(*ref);
	struct weir_trie_node *p = realloc(*ref, node_size(n + 1));

	if (p == NULL)
		return NULL;
	*ref = p;
	memmove(&p->slot[i + 1], &p->slot[i], (n - i) * sizeof(p->slot[0]));
	ed->bytes += sizeof(p->slot[0]);
	return &p->slot[i];
}

static void
close_slot(struct weir_trie_node *n, struct weir_trie_edit *ed, size_t i)
{
	memmove(&n->slot[i], &n->slot[i + 1], (n_slots(n) - i - 1) * sizeof(n->slot[0]));
	ed->bytes -= sizeof(n->slot[0]);
}

static bool
put_value(struct weir_trie_node **ref, struct weir_trie_edit *ed, unsigned int bit, void *value)
{
	void **slot = (void **)(uintptr_t)val_slot(*ref, bit);

	if (!has_val(*ref, bit)) {
		slot = open_slot(ref, ed, (size_t)(slot - (*ref)->slot));
		if (slot == NULL)
			return false;
		(*ref)->val[bit >> 6] |= UINT64_C(1) << (bit & 63);
	}
	*slot = value;
	return true;
}

static struct weir_trie_node *
new_leaf(struct weir_trie_edit *ed, key128 key, unsigned int depth, unsigned int bit, void *value)
{
	struct weir_trie_node *n = new_node(ed, key, depth, 1);

	if (n != NULL) {
		n->val[bit >> 6] = UINT64_C(1) << (bit & 63);
		n->slot[0] = value;
	}
	return n;
}

/* The node at ref is not on the way to the prefix: part the ways above it. */
static bool
branch(struct weir_trie_node **ref, struct weir_trie_edit *ed, key128 key, unsigned int same,
       unsigned int target, unsigned int bit, void *value)
{
	struct weir_trie_node *below_it = *ref;
	const key128 other = node_key(below_it);
	struct weir_trie_node *leaf, *n;
	unsigned int depth, a, b;

	if (same >= target) { /* the prefix's node is above it */
		n = new_node(ed, key, target, 2);
		if (n == NULL)
			return false;
		n->child = UINT64_C(1) << six(other, target);
		n->val[bit >> 6] = UINT64_C(1) << (bit & 63);
		n->slot[0] = below_it;
		n->slot[1] = value;
		*ref = n;
		return true;
	}
	depth = same / STRIDE * STRIDE;
	leaf = new_leaf(ed, key, target, bit, value);
	if (leaf == NULL)
		return false;
	n = new_node(ed, key, depth, 2);
	if (n == NULL) {
		ed->bytes -= node_size(1);
		free(leaf);
		return false;
	}
	a = six(other, depth);
	b = six(key, depth);
	n->child = UINT64_C(1) << a | UINT64_C(1) << b;
	n->slot[a > b] = below_it;
	n->slot[a < b] = leaf;
	*ref = n;
	return true;
}

/* How many leading bits two keys share. */
static unsigned int
common(key128 a, key128 b)
{
	key128 x = a ^ b;

	if ((uint64_t)(x >> 64) != 0)
		return (unsigned int)__builtin_clzll((uint64_t)(x >> 64));
	return (uint64_t)x != 0 ? 64 + (unsigned int)__builtin_clzll((uint64_t)x) : 128;
}

static bool
insert(struct weir_trie *t, struct weir_trie_edit *ed, key128 key, unsigned int bits, void *value)
{
	const unsigned int target = depth_of(bits);
	const unsigned int bit = bit_of(key, bits);
	struct weir_trie_node **ref = &t->root;

	while (*ref != NULL) {
		const unsigned int depth = DEPTH(*ref);
		const unsigned int same = common(key, node_key(*ref));
		unsigned int idx;
		size_t i;
		void **slot;

		if (same < depth || target < depth)
			return branch(ref, ed, key, same, target, bit, value);
		if (!own(ref, ed))
			return false;
		if (target == depth)
			return put_value(ref, ed, bit, value);
		idx = six(key, depth);
		i = count((*ref)->child & below(idx));
		if (((*ref)->child >> idx & 1) == 0) {
			struct weir_trie_node *leaf = new_leaf(ed, key, target, bit, value);

			if (leaf == NULL)
				return false;
			slot = open_slot(ref, ed, i);
			if (slot == NULL) {
				ed->bytes -= node_size(1);
				free(leaf);
				return false;
			}
			(*ref)->child |= UINT64_C(1) << idx;
			*slot = leaf;
			return true;
		}
		ref = (struct weir_trie_node **)(void *)&(*ref)->slot[i];
	}
	*ref = new_leaf(ed, key, target, bit, value);
	return *ref != NULL;
}

/* Take the value out; it is there. All that can fail comes before the first change. */
static bool
take_out(struct weir_trie *t, struct weir_trie_edit *ed, key128 key, unsigned int bits)
{
	const unsigned int target = depth_of(bits);
	const unsigned int bit = bit_of(key, bits);
	struct weir_trie_node **ref = &t->root;
	struct weir_trie_node *parent = NULL;
	struct weir_trie_node **parent_ref = NULL;
	struct weir_trie_node *n;
	unsigned int idx = 0;

	for (;;) {
		if (!own(ref, ed))
			return false;
		if (DEPTH(*ref) == target)
			break;
		parent_ref = ref;
		parent = *ref;
		idx = six(key, DEPTH(parent));
		ref = (struct weir_trie_node **)(void *)&parent
			      ->slot[count(parent->child & below(idx))];
	}
	n = *ref;
	close_slot(n, ed, (size_t)(val_slot(n, bit) - n->slot));
	n->val[bit >> 6] &= ~(UINT64_C(1) << (bit & 63));
	if (n_slots(n) == 0) {
		ed->bytes -= node_size(0);
		free(n);
		if (parent == NULL) {
			t->root = NULL;
			return true;
		}
		close_slot(parent, ed, count(parent->child & below(idx)));
		parent->child &= ~(UINT64_C(1) << idx);
		ref = parent_ref;
		n = parent;
	}
	if (n_slots(n) == 1 && n->child != 0) {
		*ref = n->slot[0];
		ed->bytes -= node_size(1);
		free(n);
	}
	return true;
}

bool
weir_trie_set(struct weir_trie *t, struct weir_trie_edit *ed, const struct weir_trie_key *key,
	      unsigned int bits, void *value)
{
	if (bits == 0) {
		t->all = value;
		return true;
	}
	if (value != NULL)
		return insert(t, ed, key_of(key), bits, value);
	return weir_trie_get(t, key, bits) == NULL || take_out(t, ed, key_of(key), bits);
}

static void
free_nodes(struct weir_trie_node *n, const struct weir_trie_edit *only)
{
	const unsigned int children = count(n->child);

	/* Above a node that the edit has made there are only such nodes. */
	if (only != NULL && !is_owned(n, only))
		return;
	for (unsigned int i = 0; i < children; i++)
		free_nodes(n->slot[i], only);
	free(n);
}

void
weir_trie_abort(struct weir_trie *t, struct weir_trie_edit *ed)
{
	if (t->root != NULL)
		free_nodes(t->root, ed);
	*t = (struct weir_trie){0};
}

void
weir_trie_destroy(struct weir_trie *t)
{
	if (t->root != NULL)
		free_nodes(t->root, NULL);
	*t = (struct weir_trie){0};
}
