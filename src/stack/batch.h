/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit batches: finished frames of one lcore, per port. tx, neigh and icmp append; poll flushes at
 * the end of the turn. batch.c is the only caller of rte_eth_tx_burst. HOT. Layer 1.
 *
 * Latency: a batched frame is offered to the driver at the latest at the end of the turn in which (or,
 * from outside a turn, of the turn after which) it was appended. What a full queue refuses stays
 * batched and is offered again each turn, for conf.tx_stall_ms; then it is dropped (txq_full).
 *
 * A VLAN's port has a batch of its own, which leaves by the queue of the port that has the device; frames get their
 * tag when they are offered to it. Nobody above knows of tags, and frames without one pay nothing for them.
 */
#ifndef WEIR_BATCH_H
#define WEIR_BATCH_H

#include "lcore.h"

/* The batch is full: flush it once. Free places after that. */
unsigned int weir_batch_make_room(struct weir_lcore *lc, const struct weir_port *port);

/* Free places in the port's batch; flushes once when there is none. */
static inline unsigned int
weir_batch_room(struct weir_lcore *lc, const struct weir_port *port)
{
	unsigned int room = WEIR_TXB_SIZE - (unsigned int)lc->txb[port->index].n;

	return likely(room != 0) ? room : weir_batch_make_room(lc, port);
}

/* Append without asking: the caller has seen room. */
static inline void
weir_batch_put(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	struct weir_txb *b = &lc->txb[port->index];

	if (b->n == 0) /* with frames in it the bit is set */
		lc->dirty |= 1u << port->index;
	b->m[b->n++] = m;
	b->bytes += m->pkt_len;
	weir_count(&lc->c.tx_batch_in, 1);
}

/*
 * A frame that another lcore has finished, for a queue of this one: append, or keep it behind the full batch;
 * its senders hold back meanwhile. Beyond what their rings hold it is dropped (txq_full).
 */
void weir_batch_put_late(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m);

/* Does the port's queue for frames of lc refuse at the moment? Any thread: a hint. */
static inline bool
weir_batch_full(const struct weir_stack *stack, uint16_t lcore_slot, uint16_t port)
{
	const struct weir_txb *b = &stack->lcores[lcore_slot]->txb[port];

	if (!b->self)
		b = &stack->lcores[b->owner]->txb[port];
	return atomic_load_explicit((_Atomic bool *)(uintptr_t)&b->full, memory_order_relaxed);
}

/*
 * May lc accept one more datagram for the port? Where another lcore owns the queue: only what its ring is sure to
 * take and the owner does not have to park, for nobody looks after the batch of an attached thread between
 * its calls.
 */
bool weir_batch_takes(struct weir_lcore *lc, const struct weir_port *port);

/*
 * Will all n frames of one datagram be taken? Looks at room here and, where another lcore owns the queue, in its ring;
 * flushes once when that helps. True: weir_batch_put_all() with these n frames follows, and nothing in between.
 */
bool weir_batch_reserve(struct weir_lcore *lc, const struct weir_port *port, unsigned int n);

/* Append n frames in order, for which room has been reserved. */
void weir_batch_put_all(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf **m,
			unsigned int n);

/* A protocol's own frame: append, or drop it (txq_full) when there is no room. Counts tx_protocol. */
void weir_batch_protocol(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m);

/*
 * Take what is batched for the loopback port, up to WEIR_TXB_SIZE frames: they count as sent, and are the
 * caller's to receive (poll.c).
 */
unsigned int weir_batch_take_loopback(struct weir_lcore *lc, struct rte_mbuf **m);

/* Offer all batches but loopback's to their queues. Returns the number of frames that left. */
unsigned int weir_batch_flush_all(struct weir_lcore *lc);

/*
 * The port has been removed: drop what this lcore has for it (port_gone_tx), and what still comes. On the lcore's
 * own thread, after the generation was raised. Port_back: the index belongs to a port again.
 */
void weir_batch_drop_port(struct weir_lcore *lc, uint16_t port);
void weir_batch_port_back(struct weir_lcore *lc, uint16_t port);

/* Drop everything batched (stop). */
void weir_batch_drop_all(struct weir_lcore *lc, enum weir_drop reason);

#endif /* WEIR_BATCH_H */
