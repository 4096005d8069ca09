/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Feed mode: an endless supply of frames for benchmarks. The supply is written into the pools when
 * the port starts; the rx burst hands out posted mbufs and the tx burst frees what it is given.
 *
 * Bursts: one thread per rx queue and one per tx queue, without locks or atomic read-modify-writes.
 * testport_feed(), start and stop: the control thread, while no burst runs. Between start and stop
 * each element of the pool holds its frame, and its length and class of flags in hash.fdir.hi.
 *
 * What it does not do: the switches of the wire, checks of what is transmitted, writing bytes of
 * frames in a burst.
 */
#include "testport_priv.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- Bursts ---------------------------------------------------------------------------------- */

/*
 * A descriptor ring as real drivers keep it: rx takes posted mbufs in order and replaces them in
 * batches from the pool, so the number of descriptors sets how much memory is in play. The frames
 * were written into the data rooms when the port started; a burst only writes the first cache line
 * of each mbuf. The frame's length and its class of flags lie in hash.fdir.hi, which means nothing
 * unless a flow rule matched and is in that line; hash.rss beside it was filled with the frame.
 */
static_assert(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, data_off) + 2 &&
		      offsetof(struct rte_mbuf, nb_segs) ==
			      offsetof(struct rte_mbuf, data_off) + 4 &&
		      offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, data_off) + 6,
	      "one word to rearm");

static inline void
feed_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	memcpy((char *)m + offsetof(struct rte_mbuf, data_off), &rearm, sizeof(rearm));
}

static inline void
feed_fill(struct rte_mbuf *m, uint64_t rearm, uint64_t ol_flags, uint16_t len_bytes)
{
	feed_rearm(m, rearm);
	m->ol_flags = ol_flags;
	m->packet_type = 0;
	m->pkt_len = len_bytes;
	m->data_len = len_bytes;
	m->vlan_tci = 0;
}

static void
feed_refill(struct testport_rxq *rxq)
{
	while (rxq->n_slots - rxq->n_posted >= TESTPORT_FEED_BATCH) {
		if (rte_mempool_get_bulk(rxq->pool, (void **)&rxq->posted[rxq->tail],
					 TESTPORT_FEED_BATCH) != 0) {
			counter_add(&rxq->n_nombuf, 1);
			return;
		}
		rxq->n_posted += TESTPORT_FEED_BATCH;
		rxq->tail += TESTPORT_FEED_BATCH;
		if (rxq->tail == rxq->n_slots)
			rxq->tail = 0;
	}
}

/* Takes n posted mbufs, n at most n_posted. */
static inline void
feed_take(struct testport_rxq *rxq, struct rte_mbuf **bufs, uint16_t n)
{
	uint32_t n_first = RTE_MIN((uint32_t)n, rxq->n_slots - rxq->head);

	memcpy(bufs, &rxq->posted[rxq->head], n_first * sizeof(*bufs));
	memcpy(bufs + n_first, rxq->posted, (n - n_first) * sizeof(*bufs));
	rxq->head += n;
	if (rxq->head >= rxq->n_slots)
		rxq->head -= rxq->n_slots;
	rxq->n_posted -= n;
}

uint16_t
testport_feed_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct testport_rxq *rxq = queue;
	const struct testport_feed_pool *feed = &rxq->feed;
	uint64_t rearm = rxq->rearm;
	uint64_t n_bytes = 0;

	n = (uint16_t)RTE_MIN((uint32_t)n, rxq->n_posted);
	feed_take(rxq, bufs, n);
	if (feed->uniform) {
		uint64_t ol_flags = feed->ol_flags[0];
		uint16_t len_bytes = feed->len_bytes;

		for (uint16_t i = 0; i < n; i++)
			feed_fill(bufs[i], rearm, ol_flags, len_bytes);
		n_bytes = (uint64_t)n * len_bytes;
	} else {
		for (uint16_t i = 0; i < n; i++) {
			uint32_t hi = bufs[i]->hash.fdir.hi;

			feed_fill(bufs[i], rearm, feed->ol_flags[hi >> 16], (uint16_t)hi);
			n_bytes += (uint16_t)hi;
		}
	}
	feed_refill(rxq);
	counter_add(&rxq->n_frames, n);
	counter_add(&rxq->n_bytes, n_bytes);
	return n;
}

uint16_t
testport_feed_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct testport_txq *txq = queue;
	const uint64_t both = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	uint64_t n_bytes = 0;

	for (uint16_t i = 0; i < n; i++)
		n_bytes += bufs[i]->pkt_len;
	if (n > 0 && (txq->offloads & both) == RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		rte_mempool_put_bulk(bufs[0]->pool, (void **)bufs, n);
	else
		rte_pktmbuf_free_bulk(bufs, n);
	counter_add(&txq->n_frames, n);
	counter_add(&txq->n_bytes, n_bytes);
	return n;
}

/* --- Start and stop -------------------------------------------------------------------------- */

/* One pool being written. */
struct feed_write {
	struct testport_rxq *rxq;
	int err;
};

/* The number of these flags in the pool's table, or -1 when that is full. */
static int
feed_class(struct testport_feed_pool *feed, uint64_t ol_flags)
{
	uint16_t i = 0;

	while (i < feed->n_classes && feed->ol_flags[i] != ol_flags)
		i++;
	if (i == TESTPORT_FEED_CLASSES_MAX)
		return -1;
	if (i == feed->n_classes)
		feed->ol_flags[feed->n_classes++] = ol_flags;
	return i;
}

static void
feed_write_element(struct rte_mempool *mp __rte_unused, void *arg, void *obj, unsigned int index)
{
	struct feed_write *w = arg;
	struct testport_rxq *rxq = w->rxq;
	const struct testport_feed_supply *supply = &rxq->port->supply;
	uint32_t i = index % supply->n_frames;
	uint16_t len = supply->len_bytes[i];
	struct rte_mbuf *m = obj;
	uint8_t *bytes;
	int class;

	/* It is free, so nobody minds; testport_frame_describe() wants a whole mbuf. */
	feed_rearm(m, rxq->rearm);
	m->data_len = len;
	m->pkt_len = len;
	bytes = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(bytes, supply->bytes + supply->offset[i], len);
	if (supply->vary != NULL)
		supply->vary(bytes, len, index, supply->arg);
	if (supply->sums_fix)
		testport_frame_fix_sums(m);
	m->hash.rss = 0;
	testport_frame_describe(rxq, m);

	class = feed_class(&rxq->feed, m->ol_flags);
	if (class < 0) {
		w->err = -E2BIG;
		return;
	}
	m->hash.fdir.hi = (uint32_t) class << 16 | len;
	if (index == 0)
		rxq->feed.len_bytes = len;
	rxq->feed.uniform = rxq->feed.uniform && class == 0 && len == rxq->feed.len_bytes;
}

/* Writes the supply into the pool of a queue, unless a queue before it has that pool. */
static int
feed_write_pool(struct testport_rxq *rxq)
{
	const struct testport_feed_supply *supply = &rxq->port->supply;
	struct feed_write w = {.rxq = rxq};

	for (uint16_t q = 0; q < rxq->id; q++) {
		const struct testport_rxq *other = &rxq->port->rxq[q];

		if (other->pool == rxq->pool) {
			rxq->feed = other->feed;
			return 0;
		}
	}
	if (rte_mempool_avail_count(rxq->pool) != rxq->pool->size) {
		TESTPORT_LOG(ERR, "port %u queue %u: elements of pool %s are in use",
			     rxq->port->port_id, rxq->id, rxq->pool->name);
		return -EBUSY;
	}
	for (uint32_t i = 0; i < supply->n_frames; i++) {
		if (supply->len_bytes[i] > rxq->room_bytes) {
			TESTPORT_LOG(ERR,
				     "port %u queue %u: frame %" PRIu32 " has %u bytes, allowed %u",
				     rxq->port->port_id, rxq->id, i, supply->len_bytes[i],
				     rxq->room_bytes);
			return -EMSGSIZE;
		}
	}
	memset(&rxq->feed, 0, sizeof(rxq->feed));
	rxq->feed.pool = rxq->pool;
	rxq->feed.uniform = true;
	rte_mempool_obj_iter(rxq->pool, feed_write_element, &w);
	return w.err;
}

void
testport_feed_unpost(struct testport *port)
{
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		struct testport_rxq *rxq = &port->rxq[q];

		while (rxq->n_posted > 0) {
			struct rte_mbuf *m;

			feed_take(rxq, &m, 1);
			rte_mempool_put(rxq->pool, m);
		}
		rxq->head = 0;
		rxq->tail = 0;
	}
}

int
testport_feed_start(struct testport *port)
{
	int err;

	if (port->supply.n_frames == 0 && port->n_rx_queues > 0) {
		TESTPORT_LOG(ERR, "port %u: no frames, call testport_feed() first", port->port_id);
		return -ENODATA;
	}
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		err = feed_write_pool(&port->rxq[q]);
		if (err != 0)
			return err;
	}
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		struct testport_rxq *rxq = &port->rxq[q];

		feed_refill(rxq);
		if (rxq->n_posted != rxq->n_slots) {
			TESTPORT_LOG(ERR,
				     "port %u queue %u: pool %s cannot fill %" PRIu32
				     " descriptors",
				     port->port_id, q, rxq->pool->name, rxq->n_slots);
			testport_feed_unpost(port);
			return -ENOMEM;
		}
	}
	return 0;
}

/* --- The supply ------------------------------------------------------------------------------ */

void
testport_feed_free(struct testport_feed_supply *supply)
{
	free(supply->bytes);
	free(supply->offset);
	free(supply->len_bytes);
	memset(supply, 0, sizeof(*supply));
}

int
testport_feed(uint16_t port_id, const struct testport_frame *frames, uint32_t n_frames,
	      testport_vary_fn vary, void *arg, bool sums_fix)
{
	struct testport *port = testport_find(port_id);
	struct testport_feed_supply supply = {
		.n_frames = n_frames, .vary = vary, .arg = arg, .sums_fix = sums_fix};
	size_t n_bytes = 0;

	if (port == NULL)
		return -ENODEV;
	if (port->cfg.mode != TESTPORT_FEED)
		return -ENOTSUP;
	if (port->started)
		return -EBUSY;
	if (n_frames == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < n_frames; i++) {
		if (frames[i].len_bytes < RTE_ETHER_HDR_LEN)
			return -EINVAL;
		n_bytes += frames[i].len_bytes;
	}
	supply.bytes = malloc(n_bytes);
	supply.offset = calloc(n_frames, sizeof(*supply.offset));
	supply.len_bytes = calloc(n_frames, sizeof(*supply.len_bytes));
	if (supply.bytes == NULL || supply.offset == NULL || supply.len_bytes == NULL) {
		testport_feed_free(&supply);
		return -ENOMEM;
	}
	n_bytes = 0;
	for (uint32_t i = 0; i < n_frames; i++) {
		memcpy(supply.bytes + n_bytes, frames[i].bytes, frames[i].len_bytes);
		supply.offset[i] = (uint32_t)n_bytes;
		supply.len_bytes[i] = frames[i].len_bytes;
		n_bytes += frames[i].len_bytes;
	}
	testport_feed_free(&port->supply);
	port->supply = supply;
	return 0;
}
