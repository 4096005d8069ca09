/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: an ethdev becomes a port: which queues, which offloads, how large. What the device can do is
 * used; what it cannot is done in software by rx.c and tx.c, which look at struct weir_port only.
 */
#include "stack_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "log.h"

#define DEFAULT_DESC 1024
#define MTU_MIN      576 /* RFC 1122 3.3.2: what every host must be able to receive */

void
weir_port_conf_init(struct weir_port_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->size = sizeof(*conf);
	conf->dad = 1;
}

/* Device by name or by number. */
static int
find_device(const char *device, uint16_t *id)
{
	unsigned long n;
	char *end;

	if (rte_eth_dev_get_port_by_name(device, id) == 0)
		return 0;
	errno = 0;
	n = strtoul(device, &end, 10);
	if (device[0] < '0' || device[0] > '9' || *end != '\0' || errno != 0 ||
	    n >= RTE_MAX_ETHPORTS || !rte_eth_dev_is_valid_port((uint16_t)n))
		return -ENODEV;
	*id = (uint16_t)n;
	return 0;
}

static int
check_range(const char *key, unsigned int value, unsigned int lo, unsigned int hi,
	    const char *origin, const char *device, struct weir_error *err)
{
	if (value == 0 || (value >= lo && value <= hi))
		return 0;
	return weir_error_set(err, -EINVAL, "%s%s%s: %u: %s allows %u to %u, or 0",
			      origin != NULL ? origin : "", origin != NULL ? ": " : "", key, value,
			      device, lo, hi);
}

int
weir_port_attach(struct weir_stack *stack, const struct weir_port_conf *conf, const char *origin,
		 struct weir_error *err)
{
	const char *at = origin != NULL ? origin : "";
	const char *sep = origin != NULL ? ": " : "";
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct weir_port *port;
	unsigned int index;
	unsigned int mtu_hi;
	uint16_t id;
	int ret;

	if (conf->size != sizeof(*conf) || conf->device == NULL)
		return weir_error_set(err, -EINVAL, "%s%sdevice: missing: the name of an ethdev",
				      at, sep);
	if (find_device(conf->device, &id) != 0)
		return weir_error_set(err, -ENODEV,
				      "%s%sdevice: %s: no such ethdev (is its --vdev or -a option "
				      "given to EAL?)",
				      at, sep, conf->device);
	for (index = 0; index < WEIR_MAX_PORTS; index++)
		if (stack->ports[index] != NULL && stack->ports[index]->ethdev == id)
			return weir_error_set(err, -EEXIST, "%s%sdevice: %s: is port %u already",
					      at, sep, conf->device, index);
	for (index = 0; index < WEIR_MAX_PORTS && stack->ports[index] != NULL; index++)
		;
	if (index == WEIR_MAX_PORTS)
		return weir_error_set(err, -ENOSPC, "%s%sdevice: %s: at most %d ports", at, sep,
				      conf->device, WEIR_MAX_PORTS);
	ret = rte_eth_dev_info_get(id, &info);
	if (ret != 0)
		return weir_error_set(err, ret, "%s%sdevice: %s: no information: %s", at, sep,
				      conf->device, rte_strerror(-ret));
	mtu_hi = info.max_mtu != 0 ? info.max_mtu : 65535;
	ret = check_range("mtu", conf->mtu, RTE_MAX(MTU_MIN, info.min_mtu), mtu_hi, origin,
			  conf->device, err);
	if (ret == 0)
		ret = check_range("rx_queues", conf->rx_queues, 1, info.max_rx_queues, origin,
				  conf->device, err);
	if (ret == 0)
		ret = check_range("tx_queues", conf->tx_queues, 1, info.max_tx_queues, origin,
				  conf->device, err);
	if (ret == 0)
		ret = check_range("rx_desc", conf->rx_desc, info.rx_desc_lim.nb_min,
				  info.rx_desc_lim.nb_max, origin, conf->device, err);
	if (ret == 0)
		ret = check_range("tx_desc", conf->tx_desc, info.tx_desc_lim.nb_min,
				  info.tx_desc_lim.nb_max, origin, conf->device, err);
	if (ret != 0)
		return ret;
	if (conf->rx_queues > stack->n_workers || conf->tx_queues > stack->n_workers)
		return weir_error_set(
			err, -EINVAL, "%s%s%s: %u: at most one queue per worker, there are %u", at,
			sep, conf->rx_queues > stack->n_workers ? "rx_queues" : "tx_queues",
			RTE_MAX(conf->rx_queues, conf->tx_queues), stack->n_workers);
	if (conf->app_managed && (conf->rx_queues == 0 || conf->tx_queues == 0))
		return weir_error_set(err, -EINVAL,
				      "%s%srx_queues, tx_queues: 0: an app_managed port must say "
				      "how many the stack may use",
				      at, sep);

	port = rte_zmalloc("weir_port", sizeof(*port), WEIR_CACHE_LINE);
	if (port == NULL)
		return weir_error_set(err, -ENOMEM, "%s%sdevice: %s: out of memory", at, sep,
				      conf->device);
	port->index = (uint16_t)index;
	port->parent = (uint16_t)index;
	port->link_up = true;
	port->ethdev = id;
	port->app_managed = conf->app_managed;
	port->app_rx_offloads = conf->app_rx_offloads;
	port->app_tx_offloads = conf->app_tx_offloads;
	port->no_offload = conf->no_offload;
	port->promiscuous = conf->promiscuous;
	port->want_rxq = (uint16_t)conf->rx_queues;
	port->want_txq = (uint16_t)conf->tx_queues;
	port->want_mtu = (uint16_t)conf->mtu;
	port->rx_desc = (uint16_t)conf->rx_desc;
	port->tx_desc = (uint16_t)conf->tx_desc;
	rte_eth_dev_get_name_by_port(id, port->device);
	if (rte_eth_stats_get(id, &stats) == 0) {
		port->nic_missed0 = stats.imissed;
		port->nic_errors0 = stats.ierrors;
		port->nic_nombuf0 = stats.rx_nombuf;
	}
	stack->ports[index] = port;
	if (stack->n_ports <= index)
		stack->n_ports = (uint16_t)(index + 1);
	return (int)index;
}

void
weir_port_release(struct weir_stack *stack, unsigned int index)
{
	rte_free(stack->ports[index]);
	stack->ports[index] = NULL;
	while (stack->n_ports > 0 && stack->ports[stack->n_ports - 1] == NULL)
		stack->n_ports--;
}

int
weir_port_plan(struct weir_stack *stack, struct weir_port *port, struct weir_error *err)
{
	struct rte_eth_dev_info info;
	int ret = rte_eth_dev_info_get(port->ethdev, &info);

	if (ret != 0)
		return weir_error_set(err, ret, "%s: no information: %s", port->device,
				      rte_strerror(-ret));
	port->n_rxq = port->want_rxq != 0 ? port->want_rxq
					  : (uint16_t)RTE_MIN(stack->n_workers, info.max_rx_queues);
	port->n_txq = port->want_txq != 0 ? port->want_txq
					  : (uint16_t)RTE_MIN(stack->n_workers, info.max_tx_queues);
	/* A device may only be able to pair queues (net_memif, net_tap): as many of each. */
	if (port->want_rxq == 0 && port->want_txq == 0)
		port->n_rxq = port->n_txq = RTE_MIN(port->n_rxq, port->n_txq);
	if (port->n_rxq == 0 || port->n_txq == 0)
		return weir_error_set(err, -ENOTSUP, "%s: the device has no %s queue", port->device,
				      port->n_rxq == 0 ? "receive" : "transmit");
	if (port->rx_desc == 0)
		port->rx_desc = info.default_rxportconf.ring_size != 0
					? info.default_rxportconf.ring_size
					: DEFAULT_DESC;
	if (port->tx_desc == 0)
		port->tx_desc = info.default_txportconf.ring_size != 0
					? info.default_txportconf.ring_size
					: DEFAULT_DESC;
	if (!port->app_managed) {
		/* Rounds to what the device allows; before configure only the limits matter. */
		port->rx_desc = RTE_MIN(port->rx_desc, info.rx_desc_lim.nb_max);
		port->tx_desc = RTE_MIN(port->tx_desc, info.tx_desc_lim.nb_max);
	}
	return 0;
}

/* Which offloads to ask for, from what there is. */
static void
choose_offloads(struct weir_port *port, const struct rte_eth_dev_info *info,
		struct rte_eth_conf *conf, uint32_t frame_max, uint32_t data_room)
{
	const uint64_t rx_csum = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	const uint64_t tx_csum = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;

	port->rx_csum = !port->no_offload && (info->rx_offload_capa & rx_csum) == rx_csum;
	port->tx_csum = !port->no_offload && (info->tx_offload_capa & tx_csum) == tx_csum;
	port->tx_multi_seg = (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
	conf->rxmode.offloads = port->rx_csum ? rx_csum : 0;
	conf->txmode.offloads = port->tx_csum ? tx_csum : 0;
	if (port->tx_multi_seg)
		conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (frame_max > data_room && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0)
		conf->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	conf->rx_adv_conf.rss_conf.rss_hf =
		info->flow_type_rss_offloads &
		(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP);
	port->rss = port->n_rxq > 1 && conf->rx_adv_conf.rss_conf.rss_hf != 0;
	/* ethdev delivers a hash in RSS mode only, which one queue is allowed to have, too. */
	if (conf->rx_adv_conf.rss_conf.rss_hf != 0 && !port->no_offload &&
	    (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0) {
		conf->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
		conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	}
	if (port->rss)
		conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	else if (conf->rxmode.mq_mode == RTE_ETH_MQ_RX_NONE)
		conf->rx_adv_conf.rss_conf.rss_hf = 0;
}

static int
fail(struct weir_port *port, const char *what, int ret, struct weir_error *err)
{
	return weir_error_set(err, ret < 0 ? ret : -EIO, "%s: %s failed: %s", port->device, what,
			      rte_strerror(-ret));
}

static int
configure(struct weir_stack *stack, struct weir_port *port, struct weir_error *err)
{
	struct rte_eth_conf conf;
	struct rte_eth_dev_info info;
	struct rte_eth_rxconf rxconf;
	struct rte_eth_txconf txconf;
	uint32_t frame_max;
	uint16_t mtu;
	int ret;

	memset(&conf, 0, sizeof(conf));
	ret = rte_eth_dev_info_get(port->ethdev, &info);
	if (ret != 0)
		return fail(port, "dev_info_get", ret, err);
	if (port->want_mtu != 0)
		mtu = port->want_mtu;
	else if (rte_eth_dev_get_mtu(port->ethdev, &mtu) != 0 || mtu == 0)
		mtu = RTE_ETHER_MTU;
	frame_max = (uint32_t)mtu + WIRE_ETH_LEN;
	conf.rxmode.mtu = mtu;
	choose_offloads(port, &info, &conf, frame_max, stack->conf.data_room);
	if (frame_max > stack->conf.data_room &&
	    (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) == 0)
		return weir_error_set(err, -EINVAL,
				      "%s: mtu: %u: needs data_room >= %u (it is %u): the device "
				      "cannot spread a frame over several buffers",
				      port->device, mtu, frame_max, stack->conf.data_room);
	ret = rte_eth_dev_configure(port->ethdev, port->n_rxq, port->n_txq, &conf);
	if (ret != 0)
		return fail(port, "dev_configure", ret, err);
	if (port->want_mtu != 0) {
		/* -ENOTSUP: a device without a size of its own; the stack keeps to the MTU itself. */
		ret = rte_eth_dev_set_mtu(port->ethdev, mtu);
		if (ret != 0 && ret != -ENOTSUP)
			return fail(port, "set_mtu", ret, err);
	}
	ret = rte_eth_dev_adjust_nb_rx_tx_desc(port->ethdev, &port->rx_desc, &port->tx_desc);
	if (ret != 0)
		return fail(port, "adjust_nb_rx_tx_desc", ret, err);
	rxconf = info.default_rxconf;
	rxconf.offloads = conf.rxmode.offloads;
	txconf = info.default_txconf;
	txconf.offloads = conf.txmode.offloads;
	for (uint16_t q = 0; q < port->n_rxq; q++) {
		ret = rte_eth_rx_queue_setup(port->ethdev, q, port->rx_desc,
					     (unsigned int)rte_eth_dev_socket_id(port->ethdev),
					     &rxconf, stack->pool);
		if (ret != 0)
			return fail(port, "rx_queue_setup", ret, err);
	}
	for (uint16_t q = 0; q < port->n_txq; q++) {
		ret = rte_eth_tx_queue_setup(port->ethdev, q, port->tx_desc,
					     (unsigned int)rte_eth_dev_socket_id(port->ethdev),
					     &txconf);
		if (ret != 0)
			return fail(port, "tx_queue_setup", ret, err);
	}
	port->mtu = mtu;
	return 0;
}

/* What the application has set up. */
static int
inspect(struct weir_port *port, struct weir_error *err)
{
	const uint64_t rx_csum = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	const uint64_t tx_csum = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	struct rte_eth_dev_info info;
	int ret;

	ret = rte_eth_dev_get_mtu(port->ethdev, &port->mtu);
	if (ret == 0)
		ret = rte_eth_dev_info_get(port->ethdev, &info);
	if (ret != 0)
		return fail(port, "reading the configuration", ret, err);
	if (port->n_rxq > info.nb_rx_queues || port->n_txq > info.nb_tx_queues)
		return weir_error_set(err, -EINVAL,
				      "%s: app_managed with %u receive and %u transmit queues, the "
				      "device is configured with %u and %u",
				      port->device, port->n_rxq, port->n_txq, info.nb_rx_queues,
				      info.nb_tx_queues);
	port->rx_csum = !port->no_offload && (port->app_rx_offloads & rx_csum) == rx_csum;
	port->tx_csum = !port->no_offload && (port->app_tx_offloads & tx_csum) == tx_csum;
	port->tx_multi_seg = (port->app_tx_offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
	port->rss = port->n_rxq > 1;
	return 0;
}

int
weir_port_start(struct weir_stack *stack, struct weir_port *port, struct weir_error *err)
{
	struct rte_ether_addr mac;
	int ret;

	ret = port->app_managed ? inspect(port, err) : configure(stack, port, err);
	if (ret != 0)
		return ret;
	if (!port->app_managed) {
		ret = rte_eth_dev_start(port->ethdev);
		if (ret != 0)
			return fail(port, "dev_start", ret, err);
		port->started = true;
		/* A device that cannot be promiscuous delivers what it likes: wire_parse decides. */
		if (port->promiscuous)
			ret = rte_eth_promiscuous_enable(port->ethdev);
		if (ret != 0 && ret != -ENOTSUP) {
			weir_port_stop(port);
			return fail(port, "promiscuous_enable", ret, err);
		}
	}
	ret = rte_eth_macaddr_get(port->ethdev, &mac);
	if (ret != 0) {
		weir_port_stop(port);
		return fail(port, "macaddr_get", ret, err);
	}
	/* A device without an address (net_ring) gets one, for good, so that two of them can talk. */
	if (!rte_is_zero_ether_addr(&mac))
		memcpy(port->parse.mac, mac.addr_bytes, WIRE_ETH_ALEN);
	else if (port->parse.mac[0] == 0)
		rte_eth_random_addr(port->parse.mac);
	port->parse.max_frame = (uint32_t)port->mtu + WIRE_ETH_LEN;
	return 0;
}

void
weir_port_stop(struct weir_port *port)
{
	int ret;

	if (!port->started)
		return;
	ret = rte_eth_dev_stop(port->ethdev);
	if (ret != 0)
		WEIR_LOG(WARNING, "%s: dev_stop failed: %s", port->device, rte_strerror(-ret));
	port->started = false;
}

void
weir_port_close(struct weir_port *port)
{
	if (port->app_managed || !rte_eth_dev_is_valid_port(port->ethdev))
		return;
	WEIR_LOG(INFO, "%s: closed: it keeps buffers although it is stopped", port->device);
	rte_eth_dev_close(port->ethdev);
}
