/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lcore-to-lcore mesh: one SPSC ring from every lcore to every worker, carrying frames and short
 * messages in one order, by bursts. HOT. Layer 1.
 *
 * An entry is one 64-bit word. Its two low bits say what it is: an mbuf to transmit, an mbuf to
 * receive or to hold (mbufs are cache-line aligned), or a message: type and payload in the word itself,
 * nothing to allocate or free.
 *
 * Back-pressure: a full ring refuses. Frames are then dropped by the sender under a mesh reason; a
 * message that is lost only delays (every receiver looks for itself at house-keeping).
 */
#ifndef WEIR_MESH_H
#define WEIR_MESH_H

#include "lcore.h"

enum weir_mesh_kind {
	WEIR_MESH_TX = 0, /* frame, m->port = weir port: put on that port's queue */
	WEIR_MESH_RX = 1, /* frame, m->port = weir port: process as received */
	WEIR_MESH_MSG = 2,
	WEIR_MESH_HOLD =
		3, /* frame to hold: meta->truesize, drops: the neighbour's index, version */
};

enum weir_mesh_msg {
	WEIR_MSG_NEIGH = 1, /* payload: neighbour index: its state has changed */
};

int weir_mesh_init(struct weir_stack *stack);
void weir_mesh_fini(struct weir_stack *stack);

/* Hand n frames to a worker's lcore. Returns how many the ring took: the first ones. */
unsigned int weir_mesh_frames(struct weir_lcore *lc, uint16_t to_slot, enum weir_mesh_kind kind,
			      struct rte_mbuf **m, unsigned int n);

/* Send a message; false: ring full. payload < 2^54. */
bool weir_mesh_send(struct weir_lcore *lc, uint16_t to_slot, enum weir_mesh_msg type,
		    uint64_t payload);

/* Words that lc can still hand to a worker: exact for the sender, who alone makes it less. */
unsigned int weir_mesh_free(const struct weir_lcore *lc, uint16_t to_slot);

/* Take up to n words that lcore `from` sent to lc. */
unsigned int weir_mesh_take(struct weir_lcore *lc, uint16_t from, uint64_t *word, unsigned int n);

/*
 * Any thread. rte_ring_empty() reads with plain loads what other threads write; C11 and the thread
 * sanitizer want atomic ones. The dequeue that follows does the ordering.
 */
static inline bool
weir_ring_empty(const struct rte_ring *r)
{
	return __atomic_load_n(&r->prod.tail, __ATOMIC_RELAXED) ==
	       __atomic_load_n(&r->cons.tail, __ATOMIC_RELAXED);
}

static inline enum weir_mesh_kind
weir_mesh_kind(uint64_t word)
{
	return (enum weir_mesh_kind)(word & 3);
}

static inline struct rte_mbuf *
weir_mesh_mbuf(uint64_t word)
{
	return (struct rte_mbuf *)(uintptr_t)(word & ~UINT64_C(3));
}

static inline enum weir_mesh_msg
weir_mesh_type(uint64_t word)
{
	return (enum weir_mesh_msg)((word >> 2) & 0xff);
}

static inline uint64_t
weir_mesh_payload(uint64_t word)
{
	return word >> 10;
}

#endif /* WEIR_MESH_H */
