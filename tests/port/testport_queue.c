/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues: set-up and release, with the memory behind them. An rx queue of ring and pair mode has
 * one lane for testport_inject() and, on a cable, one for each tx queue of the far end; a tx queue
 * of ring mode has a ring from which testport_collect() takes; an rx queue of feed mode has a
 * descriptor ring.
 *
 * Control thread, called through ethdev, while the port is stopped: no burst is inside. What always
 * holds: set-up leaves a whole queue or nothing, and release can be called for either.
 *
 * It does not fill rings: see testport_wire.c and testport_feed.c.
 */
#include "testport_priv.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

/* --- Rings ----------------------------------------------------------------------------------- */

uint32_t
testport_ring_flush(struct rte_ring *ring)
{
	struct rte_mbuf *m;
	uint32_t n = 0;

	while (ring != NULL && rte_ring_sc_dequeue(ring, (void **)&m) == 0) {
		rte_pktmbuf_free(m);
		n++;
	}
	return n;
}

/* Bytes of a single-producer, single-consumer ring that holds exactly n frames. */
static size_t
ring_bytes(uint16_t n)
{
	ssize_t bytes = rte_ring_get_memsize(rte_align32pow2(n + 1u));

	return RTE_CACHE_LINE_ROUNDUP((size_t)bytes);
}

static int
ring_init(struct rte_ring *ring, const char *name, uint16_t n)
{
	return rte_ring_init(ring, name, n, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

/* --- Release --------------------------------------------------------------------------------- */

void
testport_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue)
{
	struct testport_rxq *rxq = dev->data->rx_queues[queue];

	if (rxq == NULL)
		return;
	for (uint32_t l = 0; l < TESTPORT_LANES_MAX; l++) {
		testport_ring_flush(rxq->lane[l].ring);
		rxq->lane[l].ring = NULL;
	}
	rte_free(rxq->rings_mem);
	rte_free(rxq->posted);
	rxq->rings_mem = NULL;
	rxq->posted = NULL;
	rxq->pool = NULL;
	dev->data->rx_queues[queue] = NULL;
}

void
testport_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue)
{
	struct testport_txq *txq = dev->data->tx_queues[queue];

	if (txq == NULL)
		return;
	testport_ring_flush(txq->ring);
	rte_free(txq->ring);
	txq->ring = NULL;
	txq->set_up = false;
	dev->data->tx_queues[queue] = NULL;
}

/* --- Set-up ---------------------------------------------------------------------------------- */

static int
rx_lanes_create(struct testport_rxq *rxq, uint16_t n_desc, int socket)
{
	uint32_t n_lanes = rxq->port->cfg.mode == TESTPORT_PAIR ? TESTPORT_LANES_MAX
								: TESTPORT_LANE_INJECT + 1;
	size_t bytes = ring_bytes(n_desc);
	char *mem =
		rte_zmalloc_socket("testport_lanes", n_lanes * bytes, RTE_CACHE_LINE_SIZE, socket);

	if (mem == NULL)
		return -ENOMEM;
	rxq->rings_mem = mem;
	for (uint32_t l = 0; l < n_lanes; l++) {
		rxq->lane[l].ring = (struct rte_ring *)(mem + l * bytes);
		if (ring_init(rxq->lane[l].ring, "testport_rx", n_desc) != 0)
			return -EINVAL;
	}
	return 0;
}

static int
rx_timestamp_enable(struct testport_rxq *rxq)
{
	if (!(rxq->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP))
		return 0;
	if (rte_mbuf_dyn_rx_timestamp_register(&rxq->timestamp_offset, &rxq->timestamp_flag) != 0)
		return -rte_errno;
	return 0;
}

int
testport_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc,
			unsigned int socket, const struct rte_eth_rxconf *conf,
			struct rte_mempool *pool)
{
	struct testport *port = dev->data->dev_private;
	struct testport_rxq *rxq = &port->rxq[queue];
	struct rte_mbuf proto = {
		.data_off = RTE_PKTMBUF_HEADROOM, .refcnt = 1, .nb_segs = 1, .port = port->port_id};
	uint16_t room = rte_pktmbuf_data_room_size(pool);
	int err = testport_op_check(port, TESTPORT_OP_RX_QUEUE_SETUP);

	if (err != 0)
		return err;
	if (room <= RTE_PKTMBUF_HEADROOM ||
	    (rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF))
		return -EINVAL;
	rxq->port = port;
	rxq->id = queue;
	rxq->offloads = dev->data->dev_conf.rxmode.offloads | conf->offloads;
	rxq->room_bytes = room - RTE_PKTMBUF_HEADROOM;
	rxq->head = 0;
	rxq->tail = 0;
	rxq->n_posted = 0;
	rxq->next_lane = 0;
	memcpy(&rxq->rearm, (char *)&proto + offsetof(struct rte_mbuf, data_off),
	       sizeof(rxq->rearm));
	/* From here on release undoes what is there. */
	dev->data->rx_queues[queue] = rxq;

	err = rx_timestamp_enable(rxq);
	if (err == 0 && port->cfg.mode == TESTPORT_FEED) {
		rxq->n_slots = n_desc;
		rxq->posted = rte_zmalloc_socket("testport_posted", n_desc * sizeof(*rxq->posted),
						 RTE_CACHE_LINE_SIZE, (int)socket);
		err = rxq->posted == NULL ? -ENOMEM : 0;
	} else if (err == 0) {
		err = rx_lanes_create(rxq, n_desc, (int)socket);
	}
	if (err != 0) {
		testport_rx_queue_release(dev, queue);
		return err;
	}
	rxq->pool = pool;
	return 0;
}

int
testport_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc,
			unsigned int socket, const struct rte_eth_txconf *conf)
{
	struct testport *port = dev->data->dev_private;
	struct testport_txq *txq = &port->txq[queue];
	int err = testport_op_check(port, TESTPORT_OP_TX_QUEUE_SETUP);

	if (err != 0)
		return err;
	txq->port = port;
	txq->id = queue;
	txq->offloads = dev->data->dev_conf.txmode.offloads | conf->offloads;
	txq->pool = NULL;
	if (port->cfg.mode == TESTPORT_RING) {
		txq->ring = rte_zmalloc_socket("testport_tx", ring_bytes(n_desc),
					       RTE_CACHE_LINE_SIZE, (int)socket);
		if (txq->ring == NULL)
			return -ENOMEM;
		if (ring_init(txq->ring, "testport_tx", n_desc) != 0) {
			rte_free(txq->ring);
			txq->ring = NULL;
			return -EINVAL;
		}
	}
	txq->set_up = true;
	dev->data->tx_queues[queue] = txq;
	return 0;
}
