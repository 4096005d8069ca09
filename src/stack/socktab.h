/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket table: (local address, port [, peer address, port]) -> sockets. Layer 1.
 *
 * HOT lookup, by bursts, under RCU; CONTROL insert and remove, under the control lock. Open addressing
 * with linear probing; a slot is a word of hash tag and address of an entry with an immutable key, so a
 * lookup reads one slot line and one entry line. A changed socket gets a new entry before its old one goes:
 * there is no moment in which nothing matches. A grown table replaces the old one by pointer.
 *
 * Order of match: connected 4-tuple, then address and port, then port alone; within each the sockets
 * bound to the interface first, and IPv4 sockets before IPv6 ones that take IPv4. Sockets of the same key share an entry and form a group: a datagram to
 * a group address goes to all of them; any other to one, by the rule of weir_group_pick().
 */
#ifndef WEIR_SOCKTAB_H
#define WEIR_SOCKTAB_H

#include <weir/socket.h>

#include "lcore.h"

struct weir_socket;

/* What a received datagram is matched by. Wildcards are zero. Whole lines of bytes are compared. */
struct weir_key {
	union weir_ip local, peer;
	uint16_t lport, pport; /* network order */
	uint16_t family;
	uint16_t iface; /* weir port index + 1, where it came in or is bound to; 0: any */
};
static_assert(sizeof(struct weir_key) == 40, "no padding: keys are compared as bytes");

/*
 * In an entry's key, beside WEIR_IPV4: of an IPv6 socket that takes IPv4 too. Such entries are tried after
 * those of IPv4 sockets, as Linux does.
 */
#define WEIR_KEY_DUAL 0x100

/*
 * The sockets of one key when there are several (or have been), in order of binding. Grown by
 * replacement; a member is added in place while there is room and taken out by replacement.
 */
struct weir_group {
	_Atomic uint32_t n;
	uint32_t cap;
	bool stable;           /* `bucket` is valid: closing moves only the closed one's flows */
	bool lcores;           /* some member prefers an lcore */
	weir_select_fn select; /* NULL: none */
	void *select_arg;
	uint16_t bucket[256]; /* member index by the top bits of the flow's hash */
	struct weir_socket *_Atomic sk[];
};

/* Freed after a grace period. key and hash are immutable once published. */
struct weir_sockent {
	struct weir_key key;
	uint64_t hash;
	struct weir_socket *_Atomic sk;   /* the only one, or the latest of the group */
	struct weir_group *_Atomic group; /* NULL: there is one socket */
};
static_assert(sizeof(struct weir_sockent) <= WEIR_CACHE_LINE, "one line per entry");

/*
 * A slot is one word, eight to a line: the entry's address and, in the 16 bits that user space never uses of
 * an address, the top of its hash, so that nearly every probe of a wrong entry ends in the slot's line.
 * 0: never used; WEIR_SLOT_DEAD: its entry was taken out.
 */
typedef _Atomic uint64_t weir_sockslot;
#define WEIR_SLOT_TAG  UINT64_C(0xffff000000000000)
#define WEIR_SLOT_DEAD UINT64_C(1)

struct weir_socktab {
	uint64_t mask;
	/* Number of entries of each kind, so that an unused kind costs no probe. */
	_Atomic uint32_t n_connected, n_addr, n_any;
	_Atomic uint32_t n_iface; /* of all these: bound to an interface */
	_Atomic uint32_t n_dual;  /* of all these: WEIR_KEY_DUAL */
	_Atomic uint32_t
		n_removed;   /* entries taken out so far: a miss across a change looks again */
	uint32_t used, dead; /* control only: live entries, tombstones */
	weir_sockslot slot[];
};

int weir_socktab_init(struct weir_stack *stack);
void weir_socktab_fini(struct weir_stack *stack);

/*
 * Insert sk under key, as the latest member where the key exists. Control lock held. The entry through
 * *out; -ENOMEM. The caller has checked for conflicts. Datagrams may arrive at sk before this returns.
 */
int weir_socktab_insert(struct weir_stack *stack, const struct weir_key *key,
			struct weir_socket *sk, struct weir_sockent **out);

/*
 * Take sk out of its entry, and the entry when it was the last; what is replaced is freed after a
 * grace period. Never fails. Control lock held.
 */
void weir_socktab_remove(struct weir_stack *stack, struct weir_sockent *ent,
			 struct weir_socket *sk);

/* Exactly this key, no wildcards tried: for control. NULL when there is none. */
struct weir_sockent *weir_socktab_exact(struct weir_stack *stack, const struct weir_key *key);

/* Is sk one of the entry's sockets? Control lock held. */
bool weir_sockent_has(const struct weir_sockent *ent, const struct weir_socket *sk);

/* The entry's selector, and what depends on its members' options. Control lock held. -ENOMEM. */
int weir_sockent_select(struct weir_stack *stack, struct weir_sockent *ent, weir_select_fn fn,
			void *arg);
int weir_sockent_refresh(struct weir_stack *stack, struct weir_sockent *ent);

/*
 * Socket for one datagram; key is complete (4-tuple as received, local side first). RCU reader. A group's
 * selector is not asked.
 */
struct weir_socket *weir_socktab_lookup(struct weir_lcore *lc, const struct weir_key *key);

/*
 * The same for a burst of n <= WEIR_MAX_BURST keys: sk[i] for key[i], NULL where nothing matches.
 * Returns a bit for each key whose group has a selector: ask weir_socktab_select() per datagram.
 */
uint64_t weir_socktab_lookup_burst(struct weir_lcore *lc, const struct weir_key *key,
				   unsigned int n, struct weir_socket **sk);

/* By the selector of the key's group, from the first len bytes of the payload. COLD. RCU reader. */
struct weir_socket *weir_socktab_select(struct weir_lcore *lc, const struct weir_key *key,
					const void *payload, uint32_t len);

/*
 * Call fn(arg, sk) for every socket that a datagram to a group address is for: exact, address and
 * wildcard matches. COLD. RCU reader.
 */
void weir_socktab_each(struct weir_lcore *lc, const struct weir_key *key,
		       void (*fn)(void *arg, struct weir_socket *sk), void *arg);

#endif /* WEIR_SOCKTAB_H */
