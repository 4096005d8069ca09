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

#include "batch.h"
#include "log.h"
#include "rcu.h"

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

/* What is about the host and not about the device. */
static int
check_host_side(const struct weir_port_conf *conf, const char *origin, struct weir_error *err)
{
	const char *at = origin != NULL ? origin : "";
	const char *sep = origin != NULL ? ": " : "";

	if (conf->dad > 10 || conf->dad4 > 10)
		return weir_error_set(err, -EINVAL, "%s%s%s: %u: allowed are 0 to 10", at, sep,
				      conf->dad > 10 ? "dad" : "dad4",
				      conf->dad > 10 ? conf->dad : conf->dad4);
	if (conf->rp_filter > WEIR_RP_STRICT)
		return weir_error_set(err, -EINVAL,
				      "%s%srp_filter: %u: allowed are 0 (off), 1 (loose), 2 "
				      "(strict)",
				      at, sep, conf->rp_filter);
	return 0;
}

static void
take_host_side(struct weir_port *port, const struct weir_port_conf *conf)
{
	port->dad = (uint8_t)conf->dad;
	port->dad4 = (uint8_t)conf->dad4;
	port->no_link_local = conf->no_link_local;
	port->no_announce = conf->no_announce;
	port->rp_filter = (uint8_t)conf->rp_filter;
	port->accept_ra = conf->accept_ra;
	port->accept_redirects = conf->accept_redirects;
}

static void
enter(struct weir_stack *stack, struct weir_port *port, unsigned int index)
{
	port->index = (uint16_t)index;
	port->link_up = true;
	/* Not in use before all of it is there: weir_ctl_port_add(). */
	port->dead = atomic_load(&stack->running);
	__atomic_store_n(&stack->ports[index], port, __ATOMIC_RELEASE);
	if (stack->n_ports <= index)
		stack->n_ports = (uint16_t)(index + 1);
}

/* A VLAN of an ethdev that is a port already. */
static int
attach_vlan(struct weir_stack *stack, const struct weir_port_conf *conf, struct weir_port *parent,
	    const char *origin, struct weir_error *err)
{
	const char *at = origin != NULL ? origin : "";
	const char *sep = origin != NULL ? ": " : "";
	struct weir_port *port;
	uint8_t *map;
	unsigned int index;
	int ret = check_host_side(conf, origin, err);

	if (ret != 0)
		return ret;
	if (parent == NULL)
		return weir_error_set(err, -ENODEV,
				      "%s%svlan: %u: device %s has to be a port itself first", at,
				      sep, conf->vlan, conf->device);
	if (conf->rx_queues != 0 || conf->tx_queues != 0 || conf->rx_desc != 0 ||
	    conf->tx_desc != 0 || conf->no_offload || conf->promiscuous || conf->app_managed)
		return weir_error_set(err, -EINVAL,
				      "%s%svlan: %u: queues, descriptors, offloads and promiscuous "
				      "are those of port %u",
				      at, sep, conf->vlan, parent->index);
	ret = check_range("mtu", conf->mtu, MTU_MIN,
			  parent->want_mtu != 0 ? parent->want_mtu : UINT16_MAX, origin,
			  conf->device, err);
	if (ret != 0)
		return ret;
	for (index = 0; index < WEIR_MAX_PORTS && stack->ports[index] != NULL; index++)
		;
	if (index == WEIR_MAX_PORTS)
		return weir_error_set(err, -ENOSPC, "%s%svlan: %u: at most %d ports", at, sep,
				      conf->vlan, WEIR_MAX_PORTS);
	map = parent->vlan_port != NULL ? parent->vlan_port
					: rte_zmalloc("weir_vlan_port", 4096, WEIR_CACHE_LINE);
	port = rte_zmalloc("weir_port", sizeof(*port), WEIR_CACHE_LINE);
	if (port == NULL || map == NULL) {
		rte_free(port);
		if (map != parent->vlan_port)
			rte_free(map);
		return weir_error_set(err, -ENOMEM, "%s%svlan: %u: out of memory", at, sep,
				      conf->vlan);
	}
	/* Workers may be reading: the map before what is in it. */
	__atomic_store_n(&parent->vlan_port, map, __ATOMIC_RELEASE);
	take_host_side(port, conf);
	port->parent = parent->index;
	port->vlan = (uint16_t)conf->vlan;
	port->ethdev = parent->ethdev;
	port->app_managed = parent->app_managed;
	port->want_mtu = (uint16_t)conf->mtu;
	snprintf(port->device, sizeof(port->device), "%.50s.%u", parent->device, conf->vlan);
	enter(stack, port, index);
	__atomic_store_n(&map[conf->vlan], (uint8_t)(index + 1), __ATOMIC_RELEASE);
	return (int)index;
}

int
weir_port_attach(struct weir_stack *stack, const struct weir_port_conf *conf, const char *origin,
		 struct weir_error *err)
{
	const char *at = origin != NULL ? origin : "";
	const char *sep = origin != NULL ? ": " : "";
	struct rte_eth_dev_info info;
	struct rte_eth_stats stats;
	struct weir_port *parent = NULL;
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
	if (conf->vlan > 4094)
		return weir_error_set(err, -EINVAL, "%s%svlan: %u: allowed are 1 to 4094, or 0", at,
				      sep, conf->vlan);
	for (index = 0; index < WEIR_MAX_PORTS; index++) {
		if (stack->ports[index] == NULL || stack->ports[index]->ethdev != id)
			continue;
		if (stack->ports[index]->vlan == conf->vlan)
			return weir_error_set(err, -EEXIST, "%s%sdevice: %s: is port %u already",
					      at, sep, conf->device, index);
		if (stack->ports[index]->vlan == 0)
			parent = stack->ports[index];
	}
	if (conf->vlan != 0)
		return attach_vlan(stack, conf, parent, origin, err);
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
	ret = check_host_side(conf, origin, err);
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
	port->parent = (uint16_t)index;
	port->ethdev = id;
	port->app_managed = conf->app_managed;
	port->app_rx_offloads = conf->app_rx_offloads;
	port->app_tx_offloads = conf->app_tx_offloads;
	take_host_side(port, conf);
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
	enter(stack, port, index);
	return (int)index;
}

void
weir_port_release(struct weir_stack *stack, unsigned int index)
{
	struct weir_port *port = stack->ports[index];

	if (port->vlan != 0)
		__atomic_store_n(&stack->ports[port->parent]->vlan_port[port->vlan], 0,
				 __ATOMIC_RELAXED);
	/* Out of sight first: a tick may be looking at all ports. */
	__atomic_store_n(&stack->ports[index], NULL, __ATOMIC_RELEASE);
	if (port->vlan_port != NULL)
		weir_rcu_free(stack, port->vlan_port);
	weir_rcu_free(stack, port);
	while (stack->n_ports > 0 && stack->ports[stack->n_ports - 1] == NULL)
		stack->n_ports--;
}

int
weir_port_plan(struct weir_stack *stack, struct weir_port *port, struct weir_error *err)
{
	const struct weir_port *parent = stack->ports[port->parent];
	struct rte_eth_dev_info info;
	int ret;

	if (port != parent) {
		port->n_rxq = parent->n_rxq;
		port->n_txq = parent->n_txq;
		return 0;
	}
	ret = rte_eth_dev_info_get(port->ethdev, &info);
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
	/* Where there are no VLANs, tagged frames are refused: then as they are. */
	port->vlan_strip = port->vlan_port != NULL && !port->no_offload &&
			   (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	port->vlan_insert = port->vlan_port != NULL && !port->no_offload &&
			    (info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
	conf->rxmode.offloads = port->rx_csum ? rx_csum : 0;
	conf->txmode.offloads = port->tx_csum ? tx_csum : 0;
	if (port->tx_multi_seg)
		conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	if (port->vlan_strip)
		conf->rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	if (port->vlan_insert)
		conf->txmode.offloads |= RTE_ETH_TX_OFFLOAD_VLAN_INSERT;
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
	frame_max = (uint32_t)mtu + WIRE_ETH_LEN + (port->vlan_port != NULL ? WIRE_VLAN_LEN : 0);
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
	port->vlan_strip =
		!port->no_offload && (port->app_rx_offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) != 0;
	port->vlan_insert =
		!port->no_offload && (port->app_tx_offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT) != 0;
	port->rss = port->n_rxq > 1;
	return 0;
}

/* A VLAN has nothing of its own to start. */
static int
start_vlan(const struct weir_port *parent, struct weir_port *port, struct weir_error *err)
{
	if (port->want_mtu > parent->mtu)
		return weir_error_set(err, -EINVAL, "%s: mtu: %u: %s carries %u", port->device,
				      port->want_mtu, parent->device, parent->mtu);
	port->mtu = port->want_mtu != 0 ? port->want_mtu : parent->mtu;
	port->parse = parent->parse;
	port->parse.max_frame = (uint32_t)port->mtu + WIRE_ETH_LEN;
	port->rx_csum = parent->rx_csum;
	port->tx_csum = parent->tx_csum;
	port->tx_multi_seg = parent->tx_multi_seg;
	port->vlan_strip = parent->vlan_strip;
	port->vlan_insert = parent->vlan_insert;
	port->rss = parent->rss;
	port->link_up = true;
	port->announced = false;
	port->started = true;
	return 0;
}

int
weir_port_start(struct weir_stack *stack, struct weir_port *port, struct weir_error *err)
{
	struct rte_ether_addr mac;
	int ret;

	if (port->parent != port->index)
		return start_vlan(stack->ports[port->parent], port, err);

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
	port->link_up = true; /* until the first look: links take a while */
	port->announced = false;
	port->started = true;
	return 0;
}

void
weir_port_assign(struct weir_lcore *lc, struct weir_port *port)
{
	struct weir_txb *b = &lc->txb[port->index];
	uint16_t queue = (uint16_t)(lc->slot % port->n_txq);

	weir_batch_port_back(lc, port->index);
	b->ethdev = port->ethdev;
	b->queue = queue;
	b->port = port->index;
	b->owner = queue; /* worker q owns queue q */
	b->self = lc->slot == queue;
	b->prepare = port->tx_csum;
	b->vlan = port->vlan;
	b->vlan_insert = port->vlan_insert;
	/* A VLAN's frames arrive in the queues of the port that has the device. */
	if (port->parent != port->index || lc->kind != WEIR_LC_WORKER)
		return;
	for (uint16_t q = 0; q < port->n_rxq; q++)
		if (q % lc->stack->n_workers == lc->worker)
			lc->rxq[lc->n_rxq++] = (struct weir_rxq){port->ethdev, q, port};
}

void
weir_port_stop(struct weir_port *port)
{
	int ret;

	if (!port->started)
		return;
	port->started = false;
	if (port->app_managed || port->parent != port->index)
		return; /* it is not ours to stop, or the parent's */
	ret = rte_eth_dev_stop(port->ethdev);
	if (ret != 0)
		WEIR_LOG(WARNING, "%s: dev_stop failed: %s", port->device, rte_strerror(-ret));
}

void
weir_port_close(struct weir_port *port)
{
	if (port->app_managed || port->parent != port->index ||
	    !rte_eth_dev_is_valid_port(port->ethdev))
		return;
	WEIR_LOG(INFO, "%s: closed: it keeps buffers although it is stopped", port->device);
	rte_eth_dev_close(port->ethdev);
}
