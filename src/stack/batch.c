/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: see batch.h. A batch belongs to its lcore until the driver (or the mesh ring) has accepted a
 * frame; from then on the frame no longer exists for us, so lengths are summed before.
 */
#include "batch.h"

#include <string.h>

#include <rte_ethdev.h>

#include "drop.h"
#include "mesh.h"

/* Take the first k frames out of the batch. */
static inline void
shift(struct weir_lcore *lc, struct weir_txb *b, unsigned int k)
{
	weir_count(&lc->c.tx_batch_out, k);
	b->n = (uint16_t)(b->n - k);
	if (unlikely(b->n != 0))
		memmove(&b->m[0], &b->m[k], b->n * sizeof(b->m[0]));
	else
		lc->dirty &= ~(1u << b->port);
}

static void
drop_first(struct weir_lcore *lc, struct weir_txb *b, unsigned int k, enum weir_drop reason)
{
	struct rte_mbuf *m[WEIR_TXB_SIZE];

	memcpy(m, b->m, k * sizeof(m[0]));
	shift(lc, b, k);
	weir_drop_bulk(lc, reason, m, k);
}

static unsigned int
flush_to_mesh(struct weir_lcore *lc, struct weir_txb *b)
{
	unsigned int n = b->n;
	unsigned int sent;

	for (unsigned int i = 0; i < n; i++)
		b->m[i]->port = b->port;
	sent = weir_mesh_frames(lc, b->owner, WEIR_MESH_TX, b->m, n);
	shift(lc, b, sent);
	return sent;
}

static unsigned int
flush_to_port(struct weir_lcore *lc, struct weir_txb *b)
{
	unsigned int n = b->n;
	unsigned int sent;
	uint64_t bytes = 0;

	if (b->prepare) {
		n = rte_eth_tx_prepare(b->ethdev, b->queue, b->m, b->n);
		if (unlikely(n == 0)) {
			drop_first(lc, b, 1, WEIR_DROP_TX_PREPARE);
			return 0;
		}
	}
	for (unsigned int i = 0; i < n; i++)
		bytes += b->m[i]->pkt_len;
	sent = rte_eth_tx_burst(b->ethdev, b->queue, b->m, (uint16_t)n);
	for (unsigned int i = sent; i < n; i++) /* these are still ours */
		bytes -= b->m[i]->pkt_len;
	weir_count(&lc->pc[b->port].tx_frames, sent);
	weir_count(&lc->pc[b->port].tx_bytes, bytes);
	shift(lc, b, sent);
	return sent;
}

/* Fill the batch up with what waits behind it. */
static void
take_late(struct weir_lcore *lc, struct weir_txb *b)
{
	while (b->n_late > 0 && b->n < WEIR_TXB_SIZE) {
		struct rte_mbuf *m = b->late_head;

		b->late_head = weir_meta(m)->next;
		b->n_late--;
		b->m[b->n++] = m;
	}
	if (b->n > 0)
		lc->dirty |= 1u << b->port;
}

/* Control by the owner, rarely: nothing is to be kept any more. */
static void
drop_all(struct weir_lcore *lc, struct weir_txb *b, enum weir_drop reason)
{
	do {
		drop_first(lc, b, b->n, reason);
		if (b->n_late > 0)
			take_late(lc, b);
	} while (b->n > 0);
}

/* Tell other lcores, when it changes. */
static inline void
say_full(struct weir_txb *b)
{
	const bool full = b->n == WEIR_TXB_SIZE;

	if (unlikely(full != atomic_load_explicit(&b->full, memory_order_relaxed)))
		atomic_store_explicit(&b->full, full, memory_order_relaxed);
}

static unsigned int
flush(struct weir_lcore *lc, struct weir_txb *b)
{
	unsigned int before = b->n;
	unsigned int sent = 0;

	/* Again while frames move: a frame that tx_prepare stops must not stop those behind it. */
	while (b->n > 0) {
		unsigned int left = b->n;

		sent += b->self ? flush_to_port(lc, b) : flush_to_mesh(lc, b);
		if (b->n == left)
			break;
		if (unlikely(b->n_late > 0))
			take_late(lc, b);
	}
	if (likely(b->n == 0)) {
		b->stall_ns = 0;
	} else if (b->n < before || sent > 0 || b->stall_ns == 0) {
		b->stall_ns = lc->now_ns | 1;
	} else if (lc->now_ns - b->stall_ns > lc->stack->tx_stall_ns && lc->now_ns > b->stall_ns) {
		drop_all(lc, b, b->self ? WEIR_DROP_TXQ_FULL : WEIR_DROP_MESH_FULL_TX);
		b->stall_ns = 0;
	}
	say_full(b);
	return sent;
}

void
weir_batch_put_late(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	struct weir_txb *b = &lc->txb[port->index];

	if (likely(b->n_late == 0 && weir_batch_room(lc, port) > 0)) {
		weir_batch_put(lc, port, m);
		return;
	}
	if (b->n_late >= lc->stack->conf.mesh_ring * (uint32_t)lc->stack->n_lcores) {
		weir_drop(lc, WEIR_DROP_TXQ_FULL, m);
		return;
	}
	weir_count(&lc->c.tx_batch_in, 1);
	weir_meta(m)->next = NULL;
	if (b->n_late++ > 0)
		weir_meta(b->late_tail)->next = m;
	else
		b->late_head = m;
	b->late_tail = m;
}

bool
weir_batch_takes(struct weir_lcore *lc, const struct weir_port *port)
{
	const struct weir_txb *b = &lc->txb[port->index];

	return b->self || (!weir_batch_full(lc->stack, lc->slot, b->port) &&
			   weir_mesh_free(lc, b->owner) > b->n);
}

unsigned int
weir_batch_make_room(struct weir_lcore *lc, const struct weir_port *port)
{
	struct weir_txb *b = &lc->txb[port->index];

	if (port->index != WEIR_PORT_LOOPBACK) /* that one is emptied by poll.c */
		flush(lc, b);
	return WEIR_TXB_SIZE - b->n;
}

void
weir_batch_protocol(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	weir_count(&lc->c.tx_protocol, 1);
	if (weir_batch_room(lc, port) == 0)
		weir_drop(lc, WEIR_DROP_TXQ_FULL, m);
	else
		weir_batch_put(lc, port, m);
}

unsigned int
weir_batch_flush_all(struct weir_lcore *lc)
{
	uint32_t dirty = lc->dirty & ~(1u << WEIR_PORT_LOOPBACK);
	unsigned int sent = 0;

	while (dirty != 0) {
		unsigned int p = (unsigned int)__builtin_ctz(dirty);

		dirty &= dirty - 1;
		sent += flush(lc, &lc->txb[p]);
	}
	return sent;
}

unsigned int
weir_batch_take_loopback(struct weir_lcore *lc, struct rte_mbuf **m)
{
	struct weir_txb *b = &lc->txb[WEIR_PORT_LOOPBACK];
	unsigned int n = b->n;
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < n; i++) {
		m[i] = b->m[i];
		bytes += m[i]->pkt_len;
	}
	weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_frames, n);
	weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_bytes, bytes);
	shift(lc, b, n);
	return n;
}

void
weir_batch_drop_all(struct weir_lcore *lc, enum weir_drop reason)
{
	for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++)
		if (lc->txb[p].n > 0)
			drop_all(lc, &lc->txb[p], reason);
}
