/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ethdev face of the port: what it can do, configuration, start and stop, addresses, RSS,
 * statistics, probe and remove. Queues and links have their own files.
 *
 * Control threads, called by the ethdev and vdev libraries. An operation of which enum testport_op
 * speaks first asks whether it is to fail, before it changes anything. Settings that bursts read
 * are single atomic words, so a running burst sees the old or the new one. Statistics are summed
 * from counters that bursts own; a reset remembers them.
 *
 * It does not touch frames, beyond freeing those that wait when the port stops.
 */
#include "testport_priv.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <bus_vdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_byteorder.h>
#include <rte_malloc.h>

#define RSS_FLOWS                                                                                  \
	(TESTPORT_RSS_V4_PAIR | RTE_ETH_RSS_NONFRAG_IPV4_UDP | TESTPORT_RSS_V6_PAIR |              \
	 RTE_ETH_RSS_NONFRAG_IPV6_UDP)

RTE_LOG_REGISTER(testport_logtype, weir.testport, NOTICE)

static const uint8_t rss_key_default[TESTPORT_RSS_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

int
testport_op_check(struct testport *port, enum testport_op op)
{
	struct testport_op_fault *fault = &port->fault[op];
	int err = 0;

	pthread_mutex_lock(&testport_control_lock);
	if (fault->err != 0 && fault->n_ok > 0)
		fault->n_ok--;
	else
		err = -fault->err;
	pthread_mutex_unlock(&testport_control_lock);
	return err;
}

/* --- Abilities and configuration ------------------------------------------------------------- */

static int
port_info_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	struct testport *port = dev->data->dev_private;
	const struct testport_cfg *cfg = &port->cfg;
	const struct rte_eth_desc_lim lim = {
		.nb_min = cfg->desc_min,
		.nb_max = cfg->desc_max,
		.nb_align = cfg->desc_align,
		.nb_seg_max = TESTPORT_SEGS_MAX,
		.nb_mtu_seg_max = TESTPORT_SEGS_MAX,
	};
	uint16_t desc_default = RTE_MIN((uint16_t)512, cfg->desc_max);
	int err = testport_op_check(port, TESTPORT_OP_INFO_GET);

	if (err != 0)
		return err;
	desc_default = RTE_MAX(RTE_ALIGN_FLOOR(desc_default, cfg->desc_align), cfg->desc_min);
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = cfg->mtu_max;
	info->min_rx_bufsize = TESTPORT_FRAME_MIN_LEN;
	info->max_rx_pktlen = cfg->mtu_max + (uint32_t)TESTPORT_FRAME_OVERHEAD;
	info->max_rx_queues = cfg->queues_max;
	info->max_tx_queues = cfg->queues_max;
	info->max_mac_addrs = 1;
	info->rx_offload_capa = cfg->rx_offloads;
	info->tx_offload_capa = cfg->tx_offloads;
	info->rx_queue_offload_capa = cfg->rx_offloads;
	info->tx_queue_offload_capa = cfg->tx_offloads;
	info->reta_size = cfg->reta_size;
	if (cfg->reta_size != 0 || (cfg->rx_offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH)) {
		info->hash_key_size = TESTPORT_RSS_KEY_LEN;
		info->flow_type_rss_offloads = RSS_FLOWS;
	}
	info->rx_desc_lim = lim;
	info->tx_desc_lim = lim;
	info->speed_capa = RTE_ETH_LINK_SPEED_10G;
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = 32, .ring_size = desc_default, .nb_queues = 1};
	info->default_txportconf = info->default_rxportconf;
	return 0;
}

static int
port_configure(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	bool with_rss = conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG;
	uint16_t n_rx = dev->data->nb_rx_queues;
	int err = testport_op_check(port, TESTPORT_OP_CONFIGURE);

	if (err != 0)
		return err;
	if (with_rss && rss->rss_key != NULL && rss->rss_key_len != TESTPORT_RSS_KEY_LEN)
		return -EINVAL;
	testport_rss_key_set(port,
			     with_rss && rss->rss_key != NULL ? rss->rss_key : rss_key_default);
	switch_set(&port->rss_hf, with_rss ? rss->rss_hf : 0);
	for (uint32_t i = 0; i < port->cfg.reta_size; i++)
		switch_set(&port->reta[i], (uint16_t)(n_rx > 0 ? i % n_rx : 0));
	switch_set(&port->mtu, (uint16_t)conf->rxmode.mtu);
	port->n_rx_queues = n_rx;
	port->n_tx_queues = dev->data->nb_tx_queues;
	return 0;
}

/* --- Start, stop, close ---------------------------------------------------------------------- */

static void
queue_states_set(struct rte_eth_dev *dev, uint8_t state)
{
	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
		dev->data->rx_queue_state[q] = state;
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		dev->data->tx_queue_state[q] = state;
}

static int
port_start(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_START);

	if (err != 0)
		return err;
	for (uint16_t q = 0; q < port->n_rx_queues; q++)
		if (dev->data->rx_queues[q] == NULL)
			return -EINVAL;
	for (uint16_t q = 0; q < port->n_tx_queues; q++)
		if (dev->data->tx_queues[q] == NULL)
			return -EINVAL;
	if (port->cfg.mode == TESTPORT_PAIR && port->n_rx_queues == 0) {
		TESTPORT_LOG(ERR, "port %u: one end of a cable needs an rx queue", port->port_id);
		return -EINVAL;
	}
	if (port->cfg.mode == TESTPORT_FEED) {
		err = testport_feed_start(port);
		if (err != 0)
			return err;
	}
	queue_states_set(dev, RTE_ETH_QUEUE_STATE_STARTED);
	testport_link_switch(port, &port->started, true);
	return 0;
}

static int
port_stop(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_STOP);

	if (err != 0)
		return err;
	testport_link_switch(port, &port->started, false);
	if (port->cfg.mode == TESTPORT_FEED)
		testport_feed_unpost(port);
	for (uint16_t q = 0; q < port->n_rx_queues; q++)
		for (uint32_t l = 0; l < TESTPORT_LANES_MAX; l++)
			testport_ring_flush(port->rxq[q].lane[l].ring);
	queue_states_set(dev, RTE_ETH_QUEUE_STATE_STOPPED);
	return 0;
}

static int
port_close(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	testport_link_switch(port, &port->started, false); /* removed while it runs */
	if (port->cfg.mode == TESTPORT_FEED)
		testport_feed_unpost(port);
	pthread_mutex_lock(&testport_control_lock);
	testport_cable_unplug_locked(port);
	pthread_mutex_unlock(&testport_control_lock);
	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
		testport_rx_queue_release(dev, q);
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		testport_tx_queue_release(dev, q);
	testport_feed_free(&port->supply);
	return 0; /* the ethdev library frees dev_private and mac_addrs */
}

/* --- Settings -------------------------------------------------------------------------------- */

static int
port_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_MTU_SET);

	if (err == 0)
		switch_set(&port->mtu, mtu);
	return err;
}

static int
port_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_MAC_SET);

	if (err == 0)
		switch_set(&port->mac, testport_mac_number(mac->addr_bytes));
	return err;
}

static int
port_mc_list_set(struct rte_eth_dev *dev, struct rte_ether_addr *addrs, uint32_t n)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_MC_LIST_SET);

	if (err != 0)
		return err;
	if (n > TESTPORT_MC_ADDRS_MAX)
		return -ENOSPC;
	for (uint32_t i = 0; i < n; i++)
		switch_set(&port->mc_addr[i], testport_mac_number(addrs[i].addr_bytes));
	switch_set(&port->n_mc_addrs, n);
	return 0;
}

static int
mode_set(struct rte_eth_dev *dev, enum testport_op op, bool on)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, op);

	if (err != 0)
		return err;
	if (op == TESTPORT_OP_PROMISCUOUS)
		switch_set(&port->promiscuous, on);
	else
		switch_set(&port->allmulticast, on);
	return 0;
}

static int
port_promiscuous_enable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_PROMISCUOUS, true);
}

static int
port_promiscuous_disable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_PROMISCUOUS, false);
}

static int
port_allmulticast_enable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_ALLMULTICAST, true);
}

static int
port_allmulticast_disable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_ALLMULTICAST, false);
}

/* --- RSS ------------------------------------------------------------------------------------- */

static int
port_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_RETA_UPDATE);

	if (err != 0)
		return err;
	if (port->cfg.reta_size == 0)
		return -ENOTSUP;
	if (size != port->cfg.reta_size)
		return -EINVAL;
	for (uint32_t i = 0; i < size; i++) {
		const struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint32_t bit = i % RTE_ETH_RETA_GROUP_SIZE;

		if (group->mask & RTE_BIT64(bit))
			switch_set(&port->reta[i], group->reta[bit]);
	}
	return 0;
}

static int
port_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct testport *port = dev->data->dev_private;

	if (port->cfg.reta_size == 0)
		return -ENOTSUP;
	if (size != port->cfg.reta_size)
		return -EINVAL;
	for (uint32_t i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint32_t bit = i % RTE_ETH_RETA_GROUP_SIZE;

		if (group->mask & RTE_BIT64(bit))
			group->reta[bit] = switch_get(&port->reta[i]);
	}
	return 0;
}

static int
port_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct testport *port = dev->data->dev_private;
	int err = testport_op_check(port, TESTPORT_OP_RSS_HASH_UPDATE);

	if (err != 0)
		return err;
	if (conf->rss_key != NULL && conf->rss_key_len != TESTPORT_RSS_KEY_LEN)
		return -EINVAL;
	if (conf->rss_key != NULL)
		testport_rss_key_set(port, conf->rss_key);
	switch_set(&port->rss_hf, conf->rss_hf);
	return 0;
}

static int
port_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct testport *port = dev->data->dev_private;

	conf->rss_hf = switch_get(&port->rss_hf);
	if (conf->rss_key == NULL || conf->rss_key_len < TESTPORT_RSS_KEY_LEN)
		return 0;
	conf->rss_key_len = TESTPORT_RSS_KEY_LEN;
	for (uint32_t i = 0; i < TESTPORT_RSS_KEY_LEN / 4; i++) {
		rte_be32_t word = rte_cpu_to_be_32(switch_get(&port->rss_key[i]));

		memcpy(conf->rss_key + 4 * i, &word, sizeof(word));
	}
	return 0;
}

/* --- Statistics ------------------------------------------------------------------------------ */

static uint64_t
tx_queue_errors(const struct testport_txq *txq)
{
	uint64_t n = 0;

	for (int kind = 0; kind < TESTPORT_N_ERRORS; kind++)
		n += counter_get(&txq->n_errors[kind]);
	return n;
}

/* All counters since creation; a reset remembers them instead of writing another thread's lines. */
static void
stats_sum(const struct testport *port, struct rte_eth_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->imissed = switch_get(&port->n_missed_added);
	for (uint32_t q = 0; q < TESTPORT_MAX_QUEUES; q++) {
		const struct testport_rxq *rxq = &port->rxq[q];
		const struct testport_txq *txq = &port->txq[q];
		uint64_t tx_errors = tx_queue_errors(txq);

		s->ipackets += counter_get(&rxq->n_frames);
		s->ibytes += counter_get(&rxq->n_bytes);
		s->ierrors += counter_get(&rxq->n_errors);
		s->rx_nombuf += counter_get(&rxq->n_nombuf);
		for (uint32_t l = 0; l < TESTPORT_LANES_MAX; l++)
			s->imissed += counter_get(&rxq->lane[l].n_missed);
		s->opackets += counter_get(&txq->n_frames);
		s->obytes += counter_get(&txq->n_bytes);
		s->oerrors += tx_errors;
		if (q < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
			s->q_ipackets[q] = counter_get(&rxq->n_frames);
			s->q_ibytes[q] = counter_get(&rxq->n_bytes);
			s->q_opackets[q] = counter_get(&txq->n_frames);
			s->q_obytes[q] = counter_get(&txq->n_bytes);
			s->q_errors[q] = counter_get(&rxq->n_errors);
		}
	}
}

static int
port_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	struct testport *port = dev->data->dev_private;
	uint64_t *value = (uint64_t *)stats;
	const uint64_t *base = (const uint64_t *)&port->stats_base;

	static_assert(sizeof(*stats) % sizeof(*value) == 0, "nothing but 64-bit counters");
	stats_sum(port, stats);
	pthread_mutex_lock(&testport_control_lock);
	for (size_t i = 0; i < sizeof(*stats) / sizeof(*value); i++)
		value[i] -= base[i];
	pthread_mutex_unlock(&testport_control_lock);
	return 0;
}

static int
port_stats_reset(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	pthread_mutex_lock(&testport_control_lock);
	stats_sum(port, &port->stats_base);
	pthread_mutex_unlock(&testport_control_lock);
	return 0;
}

/* --- Probe and remove ------------------------------------------------------------------------ */

static const struct eth_dev_ops testport_ops = {
	.dev_configure = port_configure,
	.dev_start = port_start,
	.dev_stop = port_stop,
	.dev_close = port_close,
	.dev_infos_get = port_info_get,
	.dev_set_link_up = testport_link_set_up,
	.dev_set_link_down = testport_link_set_down,
	.link_update = testport_link_update,
	.rx_queue_setup = testport_rx_queue_setup,
	.rx_queue_release = testport_rx_queue_release,
	.tx_queue_setup = testport_tx_queue_setup,
	.tx_queue_release = testport_tx_queue_release,
	.mtu_set = port_mtu_set,
	.mac_addr_set = port_mac_set,
	.set_mc_addr_list = port_mc_list_set,
	.promiscuous_enable = port_promiscuous_enable,
	.promiscuous_disable = port_promiscuous_disable,
	.allmulticast_enable = port_allmulticast_enable,
	.allmulticast_disable = port_allmulticast_disable,
	.reta_update = port_reta_update,
	.reta_query = port_reta_query,
	.rss_hash_update = port_rss_hash_update,
	.rss_hash_conf_get = port_rss_hash_conf_get,
	.stats_get = port_stats_get,
	.stats_reset = port_stats_reset,
};

struct testport *
testport_find(uint16_t port_id)
{
	if (!rte_eth_dev_is_valid_port(port_id) ||
	    rte_eth_devices[port_id].dev_ops != &testport_ops)
		return NULL;
	return rte_eth_devices[port_id].data->dev_private;
}

static int
testport_probe(struct rte_vdev_device *vdev)
{
	struct rte_ether_addr *mac;
	struct rte_eth_dev *dev;
	struct testport *port;
	struct testport_args args;
	int err;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return -ENOTSUP;
	err = testport_args_parse(rte_vdev_device_args(vdev), &args);
	if (err != 0)
		return err;
	if (vdev->device.numa_node == SOCKET_ID_ANY)
		vdev->device.numa_node = (int)rte_socket_id();
	dev = rte_eth_vdev_allocate(vdev, sizeof(*port));
	if (dev == NULL)
		return -ENOMEM;
	port = dev->data->dev_private;
	port->dev = dev;
	port->port_id = dev->data->port_id;
	port->cfg = args.cfg;
	port->plugged = true;
	port->admin_up = true;
	port->n_lanes = TESTPORT_LANE_INJECT + 1;
	port->tx_accept = args.cfg.tx_accept;
	port->drop_every[TESTPORT_TX] = args.cfg.tx_drop_every;
	port->distribute = args.cfg.distribute;
	port->pause = args.cfg.pause;
	port->mtu = RTE_MIN(args.cfg.mtu_max, (uint16_t)RTE_ETHER_MTU);

	mac = rte_zmalloc_socket("testport_mac", sizeof(*mac), 0, dev->data->numa_node);
	if (mac == NULL) {
		err = -ENOMEM;
		goto release_port;
	}
	*mac = args.cfg.mac;
	if (rte_is_zero_ether_addr(mac))
		*mac = (struct rte_ether_addr){
			{0x02, 'w', 't', 0, (uint8_t)(port->port_id >> 8), (uint8_t)port->port_id}};
	port->mac = testport_mac_number(mac->addr_bytes);
	dev->data->mac_addrs = mac;

	if (args.cfg.mode == TESTPORT_PAIR) {
		pthread_mutex_lock(&testport_control_lock);
		err = testport_cable_plug_locked(port, args.cable);
		pthread_mutex_unlock(&testport_control_lock);
		if (err != 0)
			goto release_port;
	}
	port->cfg.cable = NULL; /* the string was ours for the time of this call */

	dev->dev_ops = &testport_ops;
	dev->rx_pkt_burst =
		args.cfg.mode == TESTPORT_FEED ? testport_feed_rx_burst : testport_wire_rx_burst;
	dev->tx_pkt_burst =
		args.cfg.mode == TESTPORT_FEED ? testport_feed_tx_burst : testport_wire_tx_burst;
	dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->data->mtu = port->mtu;
	testport_link_report(port, false);
	rte_eth_dev_probing_finish(dev);
	return 0;

release_port:
	rte_eth_dev_release_port(dev); /* frees dev_private and mac_addrs */
	return err;
}

static int
testport_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (dev == NULL)
		return 0; /* closed before */
	port_close(dev);
	return rte_eth_dev_release_port(dev);
}

static struct rte_vdev_driver testport_driver = {
	.probe = testport_probe,
	.remove = testport_remove,
};

RTE_PMD_REGISTER_VDEV(net_weirtest, testport_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_weirtest,
			      "mode=<ring|feed|pair:NAME> queues=<n> rx_offloads=<list> "
			      "tx_offloads=<list> mac=<address> mtu=<n> reta=<n> desc_min=<n> "
			      "desc_max=<n> desc_align=<n> txfail=<none|accept:K|drop:K> "
			      "distribute=<0|1> pause=<0|1>");
