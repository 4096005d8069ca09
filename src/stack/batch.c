/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: see batch.h. A batch belongs to its lcore until the driver (or the mesh ring) has accepted a
 * frame; from then on the frame no longer exists for us, so lengths are summed before.
 */
#include "batch.h"

#include <string.h>

#include <rte_ethdev.h>

#include "drop.h"
#include "mbuf.h"
#include "mesh.h"

/* Take the first k frames out of the batch. Returns the bytes that they had. */
static inline uint32_t
shift(struct weir_lcore *lc, struct weir_txb *b, unsigned int k)
{
	uint32_t bytes = b->bytes;

	b->bytes = 0;
	weir_count(&lc->c.tx_batch_out, k);
	b->n = (uint16_t)(b->n - k);
	b->n_tagged = (uint16_t)(b->n_tagged - RTE_MIN((unsigned int)b->n_tagged, k));
	if (unlikely(b->n != 0)) {
		memmove(&b->m[0], &b->m[k], b->n * sizeof(b->m[0]));
		for (unsigned int i = 0; i < b->n; i++)
			b->bytes += b->m[i]->pkt_len;
	} else {
		lc->dirty &= ~(1u << b->port);
	}
	return bytes - b->bytes;
}

static void
drop_first(struct weir_lcore *lc, struct weir_txb *b, unsigned int k, enum weir_drop reason)
{
	struct rte_mbuf *m[WEIR_TXB_SIZE];

	memcpy(m, b->m, k * sizeof(m[0]));
	(void)shift(lc, b, k);
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
	(void)shift(lc, b, sent);
	return sent;
}

/* The same frame in buffers of this stack, with room in front of it. NULL: none to be had, m as it was. COLD. */
static __rte_noinline struct rte_mbuf *
own_copy(struct weir_lcore *lc, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = weir_mbuf_copy_range(m, lc->stack->pool, 0, m->pkt_len);

	if (copy == NULL)
		return NULL;
	copy->ol_flags |= m->ol_flags & ~(RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT);
	copy->tx_offload = m->tx_offload;
	copy->port = m->port;
	weir_mbuf_discard(m);
	return copy;
}

/* Give one frame its tag (IEEE 802.1Q). False: no buffer for it. */
static bool
put_tag(struct weir_lcore *lc, const struct weir_txb *b, struct rte_mbuf **frame)
{
	struct rte_mbuf *m = *frame;
	struct wire_vlan *tag;
	uint8_t *p;

	if (b->vlan_insert) {
		m->vlan_tci = b->vlan;
		m->ol_flags |= RTE_MBUF_F_TX_VLAN;
		return true;
	}
	if (unlikely(rte_pktmbuf_headroom(m) < WIRE_VLAN_LEN || rte_mbuf_refcnt_read(m) != 1 ||
		     !RTE_MBUF_DIRECT(m))) {
		m = own_copy(lc, m);
		if (m == NULL)
			return false;
		*frame = m;
	}
	m->data_off = (uint16_t)(m->data_off - WIRE_VLAN_LEN);
	m->data_len = (uint16_t)(m->data_len + WIRE_VLAN_LEN);
	m->pkt_len += WIRE_VLAN_LEN;
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memmove(p, p + WIRE_VLAN_LEN, 2 * (size_t)WIRE_ETH_ALEN);
	tag = (struct wire_vlan *)(void *)(p + 2 * (size_t)WIRE_ETH_ALEN);
	tag->tpid = WIRE_BE16(WIRE_ETH_VLAN);
	tag->tci = WIRE_BE16(b->vlan);
	if ((m->ol_flags & (RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IP_CKSUM)) != 0)
		m->l2_len += WIRE_VLAN_LEN;
	return true;
}

/* All frames that have come since the last time get their tag, once. */
static __rte_noinline void
put_tags(struct weir_lcore *lc, struct weir_txb *b)
{
	while (b->n_tagged < b->n) {
		const unsigned int i = b->n_tagged;
		struct rte_mbuf *m = b->m[i];

		b->bytes -= m->pkt_len;
		if (likely(put_tag(lc, b, &b->m[i]))) {
			b->bytes += b->m[i]->pkt_len;
			b->n_tagged++;
			continue;
		}
		b->n--;
		for (unsigned int k = i; k < b->n && k + 1 < WEIR_TXB_SIZE; k++)
			b->m[k] = b->m[k + 1];
		weir_count(&lc->c.tx_batch_out, 1);
		weir_drop(lc, WEIR_DROP_TX_NO_BUFFER, m);
	}
	if (b->n == 0)
		lc->dirty &= ~(1u << b->port);
}

static unsigned int
flush_to_port(struct weir_lcore *lc, struct weir_txb *b)
{
	unsigned int n;
	unsigned int sent;

	if (unlikely(b->vlan != 0)) {
		put_tags(lc, b);
		if (b->n == 0)
			return 0;
	}
	n = b->n;
	if (b->prepare || b->vlan_insert) { /* some drivers put the tag in there */
		n = rte_eth_tx_prepare(b->ethdev, b->queue, b->m, b->n);
		if (unlikely(n == 0)) {
			drop_first(lc, b, 1, WEIR_DROP_TX_PREPARE);
			return 0;
		}
	}
	sent = rte_eth_tx_burst(b->ethdev, b->queue, b->m, (uint16_t)n);
	weir_count(&lc->pc[b->port].tx_frames, sent);
	weir_count(&lc->pc[b->port].tx_bytes, shift(lc, b, sent));
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
		b->bytes += m->pkt_len;
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

	if (unlikely(b->gone)) {
		if (b->n > 0)
			drop_all(lc, b, WEIR_DROP_PORT_GONE_TX);
		say_full(b);
		return 0;
	}
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

	if (unlikely(b->gone)) {
		weir_count(&lc->c.tx_batch_in, 1);
		weir_count(&lc->c.tx_batch_out, 1);
		weir_drop(lc, WEIR_DROP_PORT_GONE_TX, m);
		return;
	}
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

bool
weir_batch_reserve(struct weir_lcore *lc, const struct weir_port *port, unsigned int n)
{
	struct weir_txb *b = &lc->txb[port->index];

	if (WEIR_TXB_SIZE - (unsigned int)b->n < n)
		weir_batch_make_room(lc, port);
	if (!b->self)
		return !weir_batch_full(lc->stack, lc->slot, b->port) &&
		       weir_mesh_free(lc, b->owner) >= b->n + n;
	if (WEIR_TXB_SIZE - (unsigned int)b->n >= n)
		return true;
	/* More than any batch holds: the rest waits behind an empty one. */
	return n > WEIR_TXB_SIZE && b->n == 0 && port->index != WEIR_PORT_LOOPBACK &&
	       n - WEIR_TXB_SIZE <= lc->stack->conf.mesh_ring * (uint32_t)lc->stack->n_lcores;
}

void
weir_batch_put_all(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf **m,
		   unsigned int n)
{
	struct weir_txb *b = &lc->txb[port->index];

	for (unsigned int i = 0; i < n; i++) {
		if (unlikely(b->n == WEIR_TXB_SIZE)) {
			if (b->self) {
				weir_batch_put_late(lc, port, m[i]);
				continue;
			}
			flush(lc, b); /* the ring has been seen to take them */
		}
		weir_batch_put(lc, port, m[i]);
	}
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

	for (unsigned int i = 0; i < n; i++)
		m[i] = b->m[i];
	weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_frames, n);
	weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_bytes, shift(lc, b, n));
	return n;
}

void
weir_batch_drop_port(struct weir_lcore *lc, uint16_t port)
{
	struct weir_txb *b = &lc->txb[port];

	b->gone = true;
	flush(lc, b);
}

void
weir_batch_port_back(struct weir_lcore *lc, uint16_t port)
{
	struct weir_txb *b = &lc->txb[port];

	b->gone = false;
	b->stall_ns = 0;
	b->n_tagged = 0;
}

void
weir_batch_drop_all(struct weir_lcore *lc, enum weir_drop reason)
{
	for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++)
		if (lc->txb[p].n > 0)
			drop_all(lc, &lc->txb[p], reason);
}
