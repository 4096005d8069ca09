/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bursts of ring and pair mode: between the lanes (rings with one thread at each end) and the
 * program under test. Receiving takes frames off the lanes, those of a cable through the address
 * filter into a buffer of the queue's pool. Transmitting judges each frame as hardware with exactly
 * the enabled offloads would, inserts what was asked for and puts it on a lane.
 *
 * One thread per rx queue and one per tx queue, as with any ethdev. No burst takes a lock. A tx
 * burst says that it is busy before it looks at the gate, and touches peer and rings only while the
 * gate is open. No frame vanishes: one that is not handed on is counted.
 *
 * It does not open or close the gate (testport_link.c) nor make lanes (testport_queue.c).
 */
#include "testport_priv.h"

#include <string.h>

#include <rte_byteorder.h>

/* What a transmitting program may ask for. */
#define TX_INSERTS (TESTPORT_TX_SUMS | RTE_MBUF_F_TX_VLAN)
#define TX_KNOWN   (TX_INSERTS | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)

/* --- Receiving ------------------------------------------------------------------------------- */

/* The address filter of a NIC. */
static bool
rx_wants(struct testport *port, const struct rte_mbuf *m)
{
	uint8_t copy[RTE_ETHER_ADDR_LEN];
	const uint8_t *dst = rte_pktmbuf_read(m, 0, sizeof(copy), copy);
	uint64_t number = testport_mac_number(dst);
	uint32_t n_mc_addrs;

	if (switch_get(&port->promiscuous) || number == UINT64_C(0xffffffffffff))
		return true;
	if (!(dst[0] & 1))
		return number == switch_get(&port->mac);
	if (switch_get(&port->allmulticast))
		return true;
	n_mc_addrs = switch_get(&port->n_mc_addrs);
	for (uint32_t i = 0; i < n_mc_addrs; i++)
		if (number == switch_get(&port->mc_addr[i]))
			return true;
	return false;
}

/*
 * Takes a frame off the cable into a buffer of the queue's own pool, as DMA would; the sender's
 * mbuf is freed. NULL when it is not received, which is counted.
 */
static struct rte_mbuf *
rx_from_wire(struct testport_rxq *rxq, struct rte_mbuf *sent)
{
	uint32_t len =
		sent->pkt_len + (sent->ol_flags & RTE_MBUF_F_TX_VLAN ? TESTPORT_VLAN_LEN : 0);
	bool scatter = rxq->offloads & RTE_ETH_RX_OFFLOAD_SCATTER;
	struct rte_mbuf *m = NULL;

	if (!rx_wants(rxq->port, sent)) {
		counter_add(&rxq->n_filtered, 1);
	} else if (len > switch_get(&rxq->port->mtu) + (uint32_t)TESTPORT_FRAME_OVERHEAD ||
		   (len > rxq->room_bytes && !scatter)) {
		counter_add(&rxq->n_errors, 1);
	} else {
		m = rte_pktmbuf_copy(sent, rxq->pool, 0, UINT32_MAX);
		if (m == NULL)
			counter_add(&rxq->n_nombuf, 1);
	}
	rte_pktmbuf_free(sent);
	if (m == NULL)
		return NULL;

	testport_frame_insert(m);
	m->ol_flags = 0;
	if (m->pkt_len < TESTPORT_FRAME_MIN_LEN) {
		uint16_t n_pad = (uint16_t)(TESTPORT_FRAME_MIN_LEN - m->pkt_len);
		char *pad = rte_pktmbuf_append(m, n_pad);

		if (pad != NULL)
			memset(pad, 0, n_pad);
	}
	return m;
}

/* Whether this frame is the k-th and to be lost. */
static bool
is_dropped(struct testport *port, enum testport_dir dir, uint32_t *n_since)
{
	uint32_t k = switch_get(&port->drop_every[dir]);

	if (k == 0 || ++*n_since < k)
		return false;
	*n_since = 0;
	return true;
}

uint16_t
testport_wire_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct testport_rxq *rxq = queue;
	struct testport *port = rxq->port;
	uint32_t n_lanes = atomic_load_explicit(&port->n_lanes, memory_order_acquire);
	uint64_t n_bytes = 0;
	uint16_t n_rx = 0;

	if (switch_get(&port->rx_stalled))
		return 0;
	/* Each burst begins with another lane, so that a busy one does not starve the rest. */
	for (uint32_t i = 0; i < n_lanes && n_rx < n; i++) {
		uint32_t l = (rxq->next_lane + i) % n_lanes;
		/* The raw frames go where the received ones will lie: those are never more. */
		uint32_t n_raw = rte_ring_sc_dequeue_burst(rxq->lane[l].ring, (void **)&bufs[n_rx],
							   (unsigned int)(n - n_rx), NULL);
		struct rte_mbuf **raw = &bufs[n_rx];

		for (uint32_t j = 0; j < n_raw; j++) {
			struct rte_mbuf *m = raw[j];

			if (is_dropped(port, TESTPORT_RX, &rxq->n_since_drop)) {
				counter_add(&rxq->n_dropped, 1);
				rte_pktmbuf_free(m);
				continue;
			}
			if (l >= TESTPORT_LANE_WIRE)
				m = rx_from_wire(rxq, m);
			if (m == NULL)
				continue;
			n_bytes += m->pkt_len;
			testport_frame_describe(rxq, m);
			bufs[n_rx++] = m;
		}
	}
	rxq->next_lane = (rxq->next_lane + 1) % n_lanes;
	counter_add(&rxq->n_frames, n_rx);
	counter_add(&rxq->n_bytes, n_bytes);
	return n_rx;
}

/* --- Transmitting ---------------------------------------------------------------------------- */

static enum testport_error
tx_check_buffers(struct testport_txq *txq, const struct rte_mbuf *m)
{
	if (!testport_chain_fits(m, false) || m->nb_segs > TESTPORT_SEGS_MAX)
		return TESTPORT_ERR_CHAIN;
	if (m->nb_segs > 1 && !(txq->offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
		return TESTPORT_ERR_MULTI_SEG;
	if (txq->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) {
		if (txq->pool == NULL)
			txq->pool = m->pool;
		for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next)
			if (rte_mbuf_refcnt_read(seg) != 1 || !RTE_MBUF_DIRECT(seg) ||
			    seg->pool != txq->pool)
				return TESTPORT_ERR_FAST_FREE;
	}
	return TESTPORT_N_ERRORS;
}

/* Whether the checksums asked for can be computed from what the mbuf says and holds. */
static enum testport_error
tx_check_sums(const struct rte_mbuf *m)
{
	uint64_t version = m->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6);
	uint32_t padded_max;
	struct testport_headers h;

	if (version == 0 || version == (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6))
		return TESTPORT_ERR_FLAGS;
	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) && version != RTE_MBUF_F_TX_IPV4)
		return TESTPORT_ERR_FLAGS;

	testport_frame_parse(m, &h);
	if (h.version != (version == RTE_MBUF_F_TX_IPV4 ? 4 : 6) || !h.ip_fits)
		return TESTPORT_ERR_HEADER;
	if (m->l2_len != h.l2_len || m->l3_len != h.l3_len)
		return TESTPORT_ERR_LENS;
	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) && be16(h.bytes + h.l2_len + 10) != 0)
		return TESTPORT_ERR_SEED;
	if (TESTPORT_TX_L4_REQUEST(m->ol_flags) == 0)
		return TESTPORT_N_ERRORS;

	/*
	 * Some NICs sum up to the end of the frame: what follows the datagram must be padding to
	 * the shortest frame, and the two lengths must agree.
	 */
	padded_max = RTE_MAX(h.l2_len + h.ip_len, (uint32_t)TESTPORT_FRAME_MIN_LEN);
	if (!h.udp_fits || h.udp_len != h.ip_len - h.l3_len || m->pkt_len > padded_max)
		return TESTPORT_ERR_HEADER;
	if (rte_cpu_to_be_16(be16(h.bytes + h.l2_len + h.l3_len + 6)) !=
	    testport_frame_sum_pseudo(&h))
		return TESTPORT_ERR_SEED;
	return TESTPORT_N_ERRORS;
}

/* What is wrong with a frame and with what is asked for it; TESTPORT_N_ERRORS: nothing. */
static enum testport_error
tx_check(struct testport_txq *txq, const struct rte_mbuf *m)
{
	uint64_t asked = m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
	enum testport_error err = tx_check_buffers(txq, m);
	uint32_t len_max = switch_get(&txq->port->mtu) + (uint32_t)TESTPORT_FRAME_OVERHEAD;

	if (err != TESTPORT_N_ERRORS)
		return err;
	if (m->pkt_len < RTE_ETHER_HDR_LEN ||
	    m->pkt_len + (asked & RTE_MBUF_F_TX_VLAN ? TESTPORT_VLAN_LEN : 0) > len_max)
		return TESTPORT_ERR_SIZE;

	if ((asked & ~TX_KNOWN) ||
	    ((asked & RTE_MBUF_F_TX_VLAN) && !(txq->offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)) ||
	    ((asked & RTE_MBUF_F_TX_IP_CKSUM) &&
	     !(txq->offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM)) ||
	    (TESTPORT_TX_L4_REQUEST(asked) &&
	     (TESTPORT_TX_L4_REQUEST(asked) != RTE_MBUF_F_TX_UDP_CKSUM ||
	      !(txq->offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM))))
		return TESTPORT_ERR_OFFLOAD;
	return asked & TESTPORT_TX_SUMS ? tx_check_sums(m) : TESTPORT_N_ERRORS;
}

/*
 * Hardware inserts on the wire and leaves the host's memory alone. Here the frame itself is handed
 * to the test, so it is copied where somebody else would see the change. NULL: no memory.
 */
static struct rte_mbuf *
tx_own(struct rte_mbuf *m)
{
	bool tag = m->ol_flags & RTE_MBUF_F_TX_VLAN;
	bool ours = true;
	struct rte_mempool *pool;
	struct rte_mbuf *copy;
	uint32_t off = 0;

	if (!(m->ol_flags & TX_INSERTS))
		return m;
	for (struct rte_mbuf *seg = m; seg != NULL && off < TESTPORT_HEADERS_MAX; seg = seg->next) {
		ours = ours && testport_seg_is_private(seg);
		off += seg->data_len;
	}
	if (tag &&
	    (rte_pktmbuf_headroom(m) < TESTPORT_VLAN_LEN || m->data_len < TESTPORT_ADDRS_LEN))
		ours = false;
	if (ours)
		return m;

	/* A clone's own pool may have no room for data. */
	pool = RTE_MBUF_CLONED(m) ? rte_mbuf_from_indirect(m)->pool : m->pool;
	if (rte_pktmbuf_data_room_size(pool) <= RTE_PKTMBUF_HEADROOM)
		return NULL;
	copy = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
	if (copy != NULL)
		rte_pktmbuf_free(m);
	return copy;
}

/* The lane at the other end of the cable. */
static struct testport_lane *
tx_lane(struct testport_txq *txq, const struct rte_mbuf *m)
{
	struct testport *peer = txq->port->peer;
	uint16_t q = txq->id % peer->n_rx_queues;

	/* A malformed chain is not walked: tx_check() will refuse the frame anyway. */
	if (switch_get(&peer->distribute) && testport_chain_fits(m, true))
		q = testport_rss_queue(peer, m);
	return &peer->rxq[q].lane[TESTPORT_LANE_WIRE + txq->id];
}

/* Transmits one frame; false when there is no room, with nothing changed. */
static bool
tx_one(struct testport_txq *txq, struct rte_mbuf *m)
{
	struct testport *port = txq->port;
	bool pair = port->cfg.mode == TESTPORT_PAIR;
	struct testport_lane *lane = pair ? tx_lane(txq, m) : NULL;
	struct rte_ring *ring = pair ? lane->ring : txq->ring;
	enum testport_error err;
	struct rte_mbuf *own;
	uint32_t len;

	/* Nobody else fills the ring: room seen now is there below. */
	if (testport_ring_count(ring) == ring->capacity && !(pair && !switch_get(&port->pause)))
		return false;

	err = tx_check(txq, m);
	if (err == TESTPORT_N_ERRORS && !pair) {
		own = tx_own(m);
		if (own == NULL)
			err = TESTPORT_ERR_COPY;
		else
			m = own;
	}
	if (err != TESTPORT_N_ERRORS) {
		TESTPORT_LOG(DEBUG, "port %u queue %u: %s", port->port_id, txq->id,
			     testport_error_name(err));
		counter_add(&txq->n_errors[err], 1);
		rte_pktmbuf_free(m);
		return true;
	}

	if (m->ol_flags & TX_INSERTS)
		counter_add(&txq->n_inserted, 1);
	if (!pair)
		testport_frame_insert(m);
	len = m->pkt_len;
	counter_add(&txq->n_frames, 1);
	counter_add(&txq->n_bytes, len);
	if (is_dropped(port, TESTPORT_TX, &txq->n_since_drop)) {
		counter_add(&txq->n_dropped, 1);
		rte_pktmbuf_free(m);
	} else if (rte_ring_sp_enqueue(ring, m) != 0) {
		counter_add(&lane->n_missed, 1); /* only a cable gets here */
		rte_pktmbuf_free(m);
	}
	return true;
}

uint16_t
testport_wire_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct testport_txq *txq = queue;
	struct testport *port = txq->port;
	uint16_t limit = RTE_MIN(n, switch_get(&port->tx_accept));
	uint16_t n_tx = 0;

	atomic_store(&txq->busy, true); /* before the gate is looked at: see testport_link.c */
	if (atomic_load(&port->gate))
		while (n_tx < limit && tx_one(txq, bufs[n_tx]))
			n_tx++;
	atomic_store_explicit(&txq->busy, false, memory_order_release);
	return n_tx;
}
