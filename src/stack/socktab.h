/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket table: (local address, port [, peer address, port]) -> socket. Layer 1.
 *
 * HOT lookup, by bursts, under RCU; CONTROL insert and remove, under the control lock. Open addressing
 * with linear probing; a slot is a hash tag and a pointer to an immutable entry, so a lookup reads one
 * slot line and one entry line. A changed socket gets a new entry before its old one goes: there is
 * no moment in which nothing matches. A grown table replaces the old one by pointer.
 *
 * Order of match: connected 4-tuple, then address and port, then port alone.
 */
#ifndef WEIR_SOCKTAB_H
#define WEIR_SOCKTAB_H

#include "lcore.h"

struct weir_socket;

/* What a received datagram is matched by. Wildcards are zero. Whole lines of bytes are compared. */
struct weir_key {
	union weir_ip local, peer;
	uint16_t lport, pport; /* network order */
	uint32_t family;
};
static_assert(sizeof(struct weir_key) == 40, "no padding: keys are compared as bytes");

/* Immutable once published; freed after a grace period. */
struct weir_sockent {
	struct weir_key key;
	uint64_t hash;
	struct weir_socket *sk;
};
static_assert(sizeof(struct weir_sockent) <= WEIR_CACHE_LINE, "one line per entry");

/* Number of entries of each kind, so that an unused kind costs no probe. */
struct weir_sockslot {
	_Atomic uint64_t tag; /* hash of the entry; valid when ent is set */
	struct weir_sockent *_Atomic ent;
};

struct weir_socktab {
	uint64_t mask;
	_Atomic uint32_t n_connected, n_addr, n_any;
	_Atomic uint32_t
		n_removed;   /* entries taken out so far: a miss across a change looks again */
	uint32_t used, dead; /* control only: live entries, tombstones */
	struct weir_sockslot slot[];
};

int weir_socktab_init(struct weir_stack *stack);
void weir_socktab_fini(struct weir_stack *stack);

/*
 * Insert sk under key. Control lock held. The new entry through *out; -ENOMEM. The caller has checked
 * for conflicts. Datagrams may arrive at sk before this returns.
 */
int weir_socktab_insert(struct weir_stack *stack, const struct weir_key *key,
			struct weir_socket *sk, struct weir_sockent **out);

/* Take an entry out; it and, with a table replaced, the table are freed after a grace period. */
void weir_socktab_remove(struct weir_stack *stack, struct weir_sockent *ent);

/* Exactly this key, no wildcards tried: for control. NULL when there is none. */
struct weir_socket *weir_socktab_exact(struct weir_stack *stack, const struct weir_key *key);

/*
 * Socket for one datagram; key is complete (4-tuple as received, local side first). RCU reader.
 */
struct weir_socket *weir_socktab_lookup(struct weir_stack *stack, const struct weir_key *key);

/* The same for a burst: sk[i] for key[i], NULL where nothing matches. */
void weir_socktab_lookup_burst(struct weir_stack *stack, const struct weir_key *key, unsigned int n,
			       struct weir_socket **sk);

#endif /* WEIR_SOCKTAB_H */
