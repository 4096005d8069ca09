/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A map from prefixes to pointers with longest-prefix match: a bitmap trie of six bits a level whose chains of
 * only children are left out, copied on write. Knows nothing of routes or families. Layer 0.
 *
 * A published trie never changes: readers walk it without a lock while a writer makes the next one, which
 * shares all nodes but those on the paths to what was changed. Who publishes sees to it that readers of the
 * old one have left (RCU) before weir_trie_dispose().
 *
 * One writer at a time. A change costs at most one copy of each node on its path, 22 for 128 bits.
 */
#ifndef WEIR_TRIE_H
#define WEIR_TRIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key of up to 128 bits, the first bit of the address in the highest of hi; unused bits are 0. */
struct weir_trie_key {
	uint64_t hi, lo;
};

struct weir_trie_node;

struct weir_trie {
	struct weir_trie_node *root;
	void *all; /* value of the prefix of length 0 */
};

/* Most prefixes of one key that can have values. */
#define WEIR_TRIE_MATCHES 129

/* ---- readers ---- */

/* The value of the longest prefix of key; NULL: none. Two forms: keys of 32 bits need less work. */
void *weir_trie_longest32(const struct weir_trie *t, uint32_t key);
void *weir_trie_longest(const struct weir_trie *t, const struct weir_trie_key *key);

/* The values of all prefixes of key, shortest first. Returns how many. */
unsigned int weir_trie_matches(const struct weir_trie *t, const struct weir_trie_key *key,
			       void *value[WEIR_TRIE_MATCHES]);

/* The value of exactly this prefix; NULL: none. */
void *weir_trie_get(const struct weir_trie *t, const struct weir_trie_key *key, unsigned int bits);

/* Call fn with every value, in order of keys, until it returns false. False: it did. */
bool weir_trie_each(const struct weir_trie *t, bool (*fn)(void *arg, void *value), void *arg);

/* ---- the writer ---- */

/* What one set of changes has replaced, and the mark of the nodes that it has made itself. */
struct weir_trie_edit {
	uint64_t serial; /* never used before for this trie, not 0 */
	void **old;      /* nodes that the published trie has and the next one has not */
	size_t n_old, cap_old;
	size_t bytes; /* of nodes: grows and shrinks with the trie */
};

/*
 * Set the value of a prefix; NULL takes it out. t is the writer's copy of struct weir_trie. False: out of
 * memory, t is as it was.
 */
bool weir_trie_set(struct weir_trie *t, struct weir_trie_edit *ed, const struct weir_trie_key *key,
		   unsigned int bits, void *value);

/* Give up what ed has made of t; the trie from before stays. Values are the caller's. */
void weir_trie_abort(struct weir_trie *t, struct weir_trie_edit *ed);

/* Free all nodes. Values are the caller's. */
void weir_trie_destroy(struct weir_trie *t);

#endif /* WEIR_TRIE_H */
