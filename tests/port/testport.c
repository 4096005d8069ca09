/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_weirtest, the test's side: what testport.h offers, from making a port to its wire, its errors
 * and its switches. (testport_feed() is in testport_feed.c.) testport_priv.h has the map of files.
 *
 * Called by tests and benchmarks from the threads that testport.h allows. A port is found by its
 * number at each call, so a number that is not ours is refused, never followed. Switches are atomic
 * words of the port; counters are only read here.
 *
 * It does not receive or transmit: the program under test does that through ethdev.
 */
#include "testport_priv.h"

#include <errno.h>
#include <string.h>

#include <rte_bus_vdev.h>

/* --- Life ------------------------------------------------------------------------------------ */

int
testport_create(const char *name, const struct testport_cfg *cfg, uint16_t *port_id)
{
	static const struct testport_cfg cfg_default;
	char args[768];
	int err;

	if (strncmp(name, TESTPORT_DRIVER_NAME, strlen(TESTPORT_DRIVER_NAME)) != 0) {
		TESTPORT_LOG(ERR, "name=%s, allowed: " TESTPORT_DRIVER_NAME "*", name);
		return -EINVAL;
	}
	err = testport_args_format(cfg != NULL ? cfg : &cfg_default, args, sizeof(args));
	if (err != 0)
		return err;
	err = rte_vdev_init(name, args);
	if (err != 0)
		return err;
	return rte_eth_dev_get_port_by_name(name, port_id);
}

int
testport_destroy(const char *name)
{
	struct testport *port;
	uint16_t port_id;
	int err;

	if (rte_eth_dev_get_port_by_name(name, &port_id) == 0) {
		port = testport_find(port_id);
		if (port == NULL)
			return -EINVAL;
		(void)testport_fail(port_id, TESTPORT_OP_STOP, 0, 0);
		err = rte_eth_dev_stop(port_id);
		if (err == 0)
			err = rte_eth_dev_close(port_id);
		if (err != 0)
			return err;
	}
	return rte_vdev_uninit(name);
}

/* --- The wire -------------------------------------------------------------------------------- */

uint16_t
testport_inject(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	struct testport *port = testport_find(port_id);
	struct testport_rxq *rxq;
	uint16_t n_in = 0;

	if (port == NULL || port->cfg.mode == TESTPORT_FEED || queue >= port->n_rx_queues)
		return 0;
	rxq = &port->rxq[queue];
	atomic_store(&rxq->busy, true); /* before the gate is looked at: see testport_link.c */
	while (n_in < n && atomic_load(&port->gate)) {
		struct testport_rxq *to = rxq;

		if (!testport_chain_fits(mbufs[n_in], true))
			break;
		if (switch_get(&port->distribute))
			to = &port->rxq[testport_rss_queue(port, mbufs[n_in])];
		if (rte_ring_sp_enqueue(to->lane[TESTPORT_LANE_INJECT].ring, mbufs[n_in]) != 0)
			break;
		n_in++;
	}
	atomic_store_explicit(&rxq->busy, false, memory_order_release);
	return n_in;
}

uint16_t
testport_collect(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL || queue >= port->n_tx_queues || port->txq[queue].ring == NULL)
		return 0;
	return (uint16_t)rte_ring_sc_dequeue_burst(port->txq[queue].ring, (void **)mbufs, n, NULL);
}

uint32_t
testport_rx_pending(uint16_t port_id, uint16_t queue)
{
	struct testport *port = testport_find(port_id);
	uint32_t n = 0;

	if (port == NULL || queue >= port->n_rx_queues)
		return 0;
	for (uint32_t l = 0; l < TESTPORT_LANES_MAX; l++)
		if (port->rxq[queue].lane[l].ring != NULL)
			n += testport_ring_count(port->rxq[queue].lane[l].ring);
	return n;
}

uint32_t
testport_tx_pending(uint16_t port_id, uint16_t queue)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL || queue >= port->n_tx_queues || port->txq[queue].ring == NULL)
		return 0;
	return testport_ring_count(port->txq[queue].ring);
}

uint32_t
testport_discard(uint16_t port_id)
{
	struct testport *port = testport_find(port_id);
	uint32_t n = 0;

	for (uint16_t q = 0; port != NULL && q < port->n_tx_queues; q++)
		n += testport_ring_flush(port->txq[q].ring);
	return n;
}

/* --- Errors and counts ----------------------------------------------------------------------- */

const char *
testport_error_name(enum testport_error kind)
{
	static const char *const names[TESTPORT_N_ERRORS] = {
		[TESTPORT_ERR_OFFLOAD] = "offload not enabled",
		[TESTPORT_ERR_MULTI_SEG] = "several segments without multi_segs",
		[TESTPORT_ERR_CHAIN] = "chain does not fit nb_segs and pkt_len",
		[TESTPORT_ERR_SIZE] = "frame too short or too long",
		[TESTPORT_ERR_FAST_FREE] = "fast_free, and not a private direct mbuf of one pool",
		[TESTPORT_ERR_FLAGS] = "flags contradict each other",
		[TESTPORT_ERR_HEADER] = "frame is not what the flags say",
		[TESTPORT_ERR_LENS] = "l2_len or l3_len is wrong",
		[TESTPORT_ERR_SEED] = "checksum field not prepared",
		[TESTPORT_ERR_COPY] = "no memory to copy a shared buffer",
	};

	return (unsigned int)kind < TESTPORT_N_ERRORS ? names[kind] : "unknown";
}

uint64_t
testport_errors_of(uint16_t port_id, enum testport_error kind)
{
	struct testport *port = testport_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->txq[q].n_errors[kind]);
	return n;
}

uint64_t
testport_errors(uint16_t port_id)
{
	uint64_t n = 0;

	for (int kind = 0; kind < TESTPORT_N_ERRORS; kind++)
		n += testport_errors_of(port_id, (enum testport_error)kind);
	return n;
}

uint64_t
testport_inserted(uint16_t port_id)
{
	struct testport *port = testport_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->txq[q].n_inserted);
	return n;
}

uint64_t
testport_dropped(uint16_t port_id)
{
	struct testport *port = testport_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->rxq[q].n_dropped) + counter_get(&port->txq[q].n_dropped);
	return n;
}

uint64_t
testport_filtered(uint16_t port_id)
{
	struct testport *port = testport_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->rxq[q].n_filtered);
	return n;
}

/* --- Switches -------------------------------------------------------------------------------- */

int
testport_set_link(uint16_t port_id, bool plugged)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL)
		return -ENODEV;
	testport_link_switch(port, &port->plugged, plugged);
	return 0;
}

int
testport_fail(uint16_t port_id, enum testport_op op, int err, uint32_t n_ok)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL)
		return -ENODEV;
	if ((unsigned int)op >= TESTPORT_N_OPS || err < 0)
		return -EINVAL;
	pthread_mutex_lock(&testport_control_lock);
	port->fault[op] = (struct testport_op_fault){.err = err, .n_ok = n_ok};
	pthread_mutex_unlock(&testport_control_lock);
	return 0;
}

int
testport_add_missed(uint16_t port_id, uint64_t n)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL)
		return -ENODEV;
	atomic_fetch_add(&port->n_missed_added, n);
	return 0;
}

/* For switches that only the bursts of ring and pair mode look at. */
static int
port_find_wire(uint16_t port_id, struct testport **port)
{
	*port = testport_find(port_id);
	if (*port == NULL)
		return -ENODEV;
	return (*port)->cfg.mode == TESTPORT_FEED ? -ENOTSUP : 0;
}

int
testport_set_tx_accept(uint16_t port_id, uint16_t k)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->tx_accept, k);
	return err;
}

int
testport_set_drop_every(uint16_t port_id, enum testport_dir dir, uint32_t k)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->drop_every[dir], k);
	return err;
}

int
testport_set_rx_stall(uint16_t port_id, bool stalled)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->rx_stalled, stalled);
	return err;
}

int
testport_set_distribute(uint16_t port_id, bool on)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->distribute, on);
	return err;
}

int
testport_set_pause(uint16_t port_id, bool on)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0 && port->cfg.mode != TESTPORT_PAIR)
		err = -ENOTSUP;
	if (err == 0)
		switch_set(&port->pause, on);
	return err;
}

int
testport_force_rx_flags(uint16_t port_id, uint64_t mask, uint64_t value)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0 && (mask & TESTPORT_MBUF_KIND_FLAGS))
		err = -EINVAL;
	if (err == 0) {
		switch_set(&port->force_mask, mask);
		switch_set(&port->force_value, value);
	}
	return err;
}

int
testport_force_rss_hash(uint16_t port_id, bool on, uint32_t hash)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0) {
		switch_set(&port->forced_hash, hash);
		switch_set(&port->force_hash, on);
	}
	return err;
}

int
testport_set_timestamp(uint16_t port_id, uint64_t ns)
{
	struct testport *port = testport_find(port_id);

	if (port == NULL)
		return -ENODEV;
	switch_set(&port->timestamp_ns, ns);
	return 0;
}
