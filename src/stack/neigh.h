/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: IP address on a link -> MAC address; ARP in and out; datagrams held meanwhile. Layer 1.
 *
 * The table is shared: a fixed array, hashed by (port, address), read under RCU, changed under one lock
 * off the hot path (creation, change of state, timers). What a sender needs is one 64-bit word per
 * entry - MAC, version, state - read atomically and compared with the copy in the route cache.
 *
 * Held datagrams belong to the lcore that sent them. Whoever resolves an entry tells each lcore that
 * waits for it by a mesh message; each also looks for itself at house-keeping, so a lost message only
 * delays.
 *
 *   incomplete --reply--> reachable --age--> stale --use--> probe --reply--> reachable
 *        |  retries out                                       |  retries out
 *        +-----------> failed <-------------------------------+         permanent: by control only
 */
#ifndef WEIR_NEIGH_H
#define WEIR_NEIGH_H

#include "lcore.h"

enum weir_neigh_state {
	WEIR_NEIGH_FREE,
	WEIR_NEIGH_INCOMPLETE,
	WEIR_NEIGH_REACHABLE,
	WEIR_NEIGH_STALE,
	WEIR_NEIGH_PROBE,
	WEIR_NEIGH_FAILED,
	WEIR_NEIGH_PERMANENT,
};

/* word = MAC (48 bits) << 16 | version << 8 | state */
#define WEIR_NEIGH_STATE(word)   ((enum weir_neigh_state)((word)&0xff))
#define WEIR_NEIGH_VERSION(word) ((uint8_t)((word) >> 8))

struct weir_neigh {
	/* Read by every sender, written on a change of state only. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t word;
	_Atomic uint64_t waiters; /* lcore slots that hold datagrams: one bit each */
	union weir_ip ip;
	uint16_t port;
	uint8_t family;
	uint8_t tries;
	_Atomic uint32_t next; /* index + 1 in the hash chain */
	uint64_t deadline_ns;  /* of the present state */
	uint64_t used_ns;
};
static_assert(sizeof(struct weir_neigh) == WEIR_CACHE_LINE, "one line per neighbour");

int weir_neigh_init(struct weir_stack *stack);
void weir_neigh_fini(struct weir_stack *stack);

/* COLD. Index of the entry, created (free of any request) when new. false: table full. */
bool weir_neigh_find_or_create(struct weir_lcore *lc, const struct weir_port *port,
			       const union weir_ip *ip, uint8_t family, uint32_t *index);

/* The entry's word, as a sender sees it now. Acquire: the MAC in it is whole by construction. */
static inline uint64_t
weir_neigh_word(const struct weir_stack *stack, uint32_t index)
{
	return atomic_load_explicit(&stack->neigh[index].word, memory_order_acquire);
}

static inline void
weir_neigh_mac(uint64_t word, uint8_t mac[WIRE_ETH_ALEN])
{
	for (unsigned int i = 0; i < WIRE_ETH_ALEN; i++)
		mac[i] = (uint8_t)(word >> (56 - 8 * i));
}

enum weir_neigh_use { WEIR_NEIGH_READY, WEIR_NEIGH_WAIT, WEIR_NEIGH_GONE };

/*
 * COLD: a sender is about to use the entry, and its word is not the one it knows. Starts resolution or
 * a probe when needed. READY: *word holds the MAC. WAIT: hold the datagram. GONE: the entry now
 * belongs to another address; look it up again.
 */
enum weir_neigh_use weir_neigh_use(struct weir_lcore *lc, const struct weir_port *port,
				   uint32_t index, const union weir_ip *ip, uint64_t *word);

/* Hold a finished frame (all but the destination MAC) until the entry is resolved or failed. */
void weir_neigh_hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		     struct rte_mbuf *m);

/* The same for a frame that an attached thread has handed over (WEIR_MESH_HOLD). */
void weir_neigh_hold_for(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m);

/* An entry's state has changed: send or drop what this lcore holds for it. */
void weir_neigh_changed(struct weir_lcore *lc, uint32_t index);

/* Look at everything this lcore holds (house-keeping). */
void weir_neigh_check_holds(struct weir_lcore *lc);

/* Drop everything held (stop). */
void weir_neigh_drop_holds(struct weir_lcore *lc, enum weir_drop reason);

/* An ARP packet, structure checked by wire_parse, header contiguous. Consumes m. */
void weir_neigh_arp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
			  const struct wire_view *v);

/* Timers of the whole table; one worker at a time, every WEIR_NEIGH_TICK_NS. */
#define WEIR_NEIGH_TICK_NS (50 * WEIR_NS_PER_MS)
void weir_neigh_tick(struct weir_lcore *lc);

/* Control: a permanent entry; -ENOSPC. mac NULL: remove the entry; -ENOENT. */
int weir_neigh_set(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
		   uint8_t family, const uint8_t *mac);

/* Control: undo the above. What had a MAC has it again, asked for at its next use; else no entry. */
void weir_neigh_restore(struct weir_stack *stack, const struct weir_port *port,
			const union weir_ip *ip, uint8_t family, enum weir_neigh_state state,
			const uint8_t *mac);

/* Control: forget all entries of a port (it goes away). */
void weir_neigh_flush_port(struct weir_stack *stack, uint16_t port);

/* State and MAC of an address; WEIR_NEIGH_FREE when there is no entry. */
enum weir_neigh_state weir_neigh_get(struct weir_stack *stack, uint16_t port,
				     const union weir_ip *ip, uint8_t family, uint8_t *mac);

#endif /* WEIR_NEIGH_H */
