/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: IP address on a link -> MAC address, for both families; datagrams held meanwhile. Layer 1. What is
 * said on the wire is in arp.h (RFC 826, RFC 5227) and ndp.h (RFC 4861).
 *
 * The table is shared: a fixed array, hashed by (port, address), read under RCU, changed under one lock
 * off the hot path (creation, change of state, timers). What a sender needs is one 64-bit word per
 * entry - MAC, version, state - read atomically and compared with the copy in the route cache.
 *
 * Held datagrams belong to the lcore that sent them. Whoever resolves an entry tells each lcore that
 * waits for it by a mesh message; each also looks for itself at house-keeping, so a lost message only
 * delays.
 *
 *   incomplete --answer--> reachable --age--> stale --use--> delay --5 s--> probe --answer--> reachable
 *        |  retries out        ^                ^              |              |
 *        |                     +--- confirmed by traffic ------+--------------+
 *        +-----------> failed <------------------------------- retries out ---+
 *   permanent: by control only
 *
 * A mention (ARP request to us, NS, RA) makes stale, for it says nothing about the way back.
 *
 * The table is bounded and shared out, so that nobody pushes out those whom we talk to: entries that were never
 * resolved may fill half of it, those that were mentioned by others and never confirmed a quarter; of these the
 * oldest give way. What has been confirmed goes only when all else has, the longest unused first.
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
	WEIR_NEIGH_DELAY,
};

/* word = MAC (48 bits) << 16 | version << 8 | state */
#define WEIR_NEIGH_STATE(word)   ((enum weir_neigh_state)((word)&0xff))
#define WEIR_NEIGH_VERSION(word) ((uint8_t)((word) >> 8))

/* What an entry has deserved so far: whose share of the table it counts against. */
enum weir_neigh_class {
	WEIR_NEIGH_UNLISTED, /* free, permanent */
	WEIR_NEIGH_ASKED,    /* we asked, nobody has answered (any more) */
	WEIR_NEIGH_HEARD,    /* somebody mentioned it */
	WEIR_NEIGH_PROVEN,   /* it has answered us */
	WEIR_NEIGH_CLASSES,
};

struct weir_neigh {
	/* Read by every sender, written on a change of state only. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t word;
	_Atomic uint64_t waiters; /* lcore slots that hold datagrams: one bit each */
	union weir_ip ip;
	uint16_t port;
	uint8_t family;
	_Atomic uint32_t next; /* index + 1 in the hash chain */
	/* When the present state ends; read without the lock by weir_neigh_confirm(). */
	_Atomic uint64_t deadline_ns;

	/* Under the table's lock. */
	alignas(WEIR_CACHE_LINE) uint64_t used_ns;
	uint32_t older, newer; /* index + 1, in the list of its class */
	uint8_t class;         /* enum weir_neigh_class */
	uint8_t tries;
	uint8_t failures; /* in a row */
	bool router;      /* it says of itself that it is one (RFC 4861 4.4) */
};
static_assert(sizeof(struct weir_neigh) == 2 * WEIR_CACHE_LINE, "what senders read, and the rest");

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

/* Has it a MAC to send to? */
static inline bool
weir_neigh_usable(uint64_t word)
{
	switch (WEIR_NEIGH_STATE(word)) {
	case WEIR_NEIGH_REACHABLE:
	case WEIR_NEIGH_STALE:
	case WEIR_NEIGH_DELAY:
	case WEIR_NEIGH_PROBE:
	case WEIR_NEIGH_PERMANENT:
		return true;
	default:
		return false;
	}
}

enum weir_neigh_use { WEIR_NEIGH_READY, WEIR_NEIGH_WAIT, WEIR_NEIGH_GONE };

/*
 * COLD: a sender is about to use the entry, and its word is not the one it knows. Starts resolution or
 * a probe when needed. READY: *word holds the MAC. WAIT: hold the datagram. GONE: the entry now
 * belongs to another address; look it up again.
 */
enum weir_neigh_use weir_neigh_use(struct weir_lcore *lc, const struct weir_port *port,
				   uint32_t index, const union weir_ip *ip, uint64_t *word);

/*
 * What was sent to the neighbour gets there (MSG_CONFIRM, RFC 4861 7.3.1). word: the entry's, as the caller
 * knows it. Writes nothing while the confirmation before is fresh.
 */
void weir_neigh_confirm(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
			uint64_t word);

/* ---- held datagrams: neigh_hold.c ---- */

/*
 * Hold a finished frame (all but the destination MAC) until the entry is resolved or failed. An entry that
 * is not asked for at the moment, because it has failed again and again: dropped at once (neigh_failed).
 */
void weir_neigh_hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		     struct rte_mbuf *m);

/* The same for the n fragments of one datagram: all are held and leave in order, or all are dropped. */
void weir_neigh_hold_many(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
			  struct rte_mbuf **m, unsigned int n);

/* The same for a frame that an attached thread has handed over (WEIR_MESH_HOLD). */
void weir_neigh_hold_for(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m);

/* An entry's state has changed: send or drop what this lcore holds for it. */
void weir_neigh_changed(struct weir_lcore *lc, uint32_t index);

/* Look at everything this lcore holds (house-keeping). */
void weir_neigh_check_holds(struct weir_lcore *lc);

/* Drop everything held (stop). */
void weir_neigh_drop_holds(struct weir_lcore *lc, enum weir_drop reason);
/* What is held for one port (it is being removed); on the lcore's own thread. */
void weir_neigh_drop_port_holds(struct weir_lcore *lc, uint16_t port, enum weir_drop reason);

/* ---- what is heard on the wire ---- */

/* What somebody has said about the MAC of an address. */
struct weir_neigh_claim {
	const uint8_t *mac; /* NULL: none given, only that the address is there */
	/*
	 * answer: of an ARP reply or an NA, for RFC 4861 7.2.5; else it was only mentioned, by its owner
	 * (7.2.3, RFC 826). create: make an entry when there is none (mentions).
	 */
	bool answer, create;
	bool solicited; /* asked for by us, and sent to us */
	bool override;  /* counts although we know another MAC */
	bool has_router, router;
};

/*
 * Learn it, or not, by the rules. Any lcore. True: the neighbour was a router and says that it is none any
 * more (RFC 4861 7.2.5).
 */
bool weir_neigh_learn(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		      uint8_t family, const struct weir_neigh_claim *claim);

/*
 * An address of the port to speak from to a station ip on its link: link-local for IPv6 when there is one, else
 * one with the longest prefix that covers ip, else any of the port. False: the port has none. RCU reader.
 */
bool weir_neigh_source(struct weir_stack *stack, const struct weir_port *port,
		       const union weir_ip *ip, uint8_t family, union weir_ip *src);

/* What a router advertises for a port (RFC 4861 6.3.4), in ms; 0: as before. Any lcore. */
void weir_neigh_times(struct weir_stack *stack, const struct weir_port *port, uint32_t reachable_ms,
		      uint32_t retrans_ms);
/* Time between two questions on the port, in ns. */
uint64_t weir_neigh_retry_ns(const struct weir_stack *stack, const struct weir_port *port);

/* Timers of the table; one worker at a time, every WEIR_NEIGH_TICK_NS. */
#define WEIR_NEIGH_TICK_NS (50 * WEIR_NS_PER_MS)
void weir_neigh_tick(struct weir_lcore *lc);

/* ---- control ---- */

/* A permanent entry; -ENOSPC. mac NULL: remove the entry; -ENOENT. */
int weir_neigh_set(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
		   uint8_t family, const uint8_t *mac);

/* Undo the above. What had a MAC has it again, asked for at its next use; else no entry. */
void weir_neigh_restore(struct weir_stack *stack, const struct weir_port *port,
			const union weir_ip *ip, uint8_t family, enum weir_neigh_state state,
			const uint8_t *mac);

/* Forget all entries of a port (it goes away). */
void weir_neigh_flush_port(struct weir_stack *stack, uint16_t port);

/* State and MAC of an address; WEIR_NEIGH_FREE when there is no entry. */
enum weir_neigh_state weir_neigh_get(struct weir_stack *stack, uint16_t port,
				     const union weir_ip *ip, uint8_t family, uint8_t *mac);

/* Entries of a class, for tests and reports. */
uint32_t weir_neigh_count(struct weir_stack *stack, enum weir_neigh_class class);

#endif /* WEIR_NEIGH_H */
