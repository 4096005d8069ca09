/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethdev's face: operations, the lock around them, the alarm that serves mailboxes and watches the
 * link.
 *
 * Every operation that changes the device takes dev->lock, for a bounded time (liq_io.h).  The alarm
 * tries the lock and comes again; it raises events with the lock released, so that a callback may
 * call the port.  Operations of a secondary process only read.
 */
#include "liq_ethdev.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_ether.h>
#include <rte_malloc.h>

#include "liq_stats.h"

#define ALARM_US      100000u /* link, and a VF's mailbox */
#define ALARM_PF_US   5000u   /* a PF with VFs looks for mail */
#define ALARM_SOON_US 500u    /* a conversation is under way */

#define RX_OFFLOADS                                                                                \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_VLAN_STRIP |                            \
	 RTE_ETH_RX_OFFLOAD_VLAN_FILTER | RTE_ETH_RX_OFFLOAD_SCATTER |                             \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH)
#define TX_SUMS                                                                                    \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM)
#define TX_FULL                                                                                    \
	(RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_VLAN_INSERT |                          \
	 RTE_ETH_TX_OFFLOAD_OUTER_IPV4_CKSUM)
#define TX_OFFLOADS (TX_SUMS | TX_FULL | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)

int liq_logtype;

RTE_INIT(liq_log_init)
{
	liq_logtype = rte_log_register("pmd.net.liq");
	if (liq_logtype >= 0)
		rte_log_set_level((uint32_t)liq_logtype, RTE_LOG_NOTICE);
}

static struct liq_dev *
dev_of(const struct rte_eth_dev *eth_dev)
{
	return eth_dev->data->dev_private;
}

static struct liq_dev *
enter(const struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = dev_of(eth_dev);

	pthread_mutex_lock(&dev->lock);
	return dev;
}

static int
leave(struct liq_dev *dev, int ret)
{
	pthread_mutex_unlock(&dev->lock);
	return ret;
}

/* ---- the alarm ---- */

/* What the PF changed behind our back. */
static void
follow_mac(struct rte_eth_dev *eth_dev, const struct liq_dev *dev)
{
	if (dev->nif.mac_admin && memcmp(eth_dev->data->mac_addrs, dev->nif.mac, 6) != 0)
		memcpy(eth_dev->data->mac_addrs, dev->nif.mac, 6);
}

static void
tell_link(struct rte_eth_dev *eth_dev, const struct rte_eth_link *link)
{
	if (rte_eth_linkstatus_set(eth_dev, link) == 0 && eth_dev->data->dev_conf.intr_conf.lsc)
		rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_LSC, NULL);
}

uint64_t
liq_ethdev_tend(struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = dev_of(eth_dev);
	uint64_t again_us = ALARM_US;
	struct rte_eth_link link;
	bool started, ill;

	if (pthread_mutex_trylock(&dev->lock) != 0)
		return ALARM_SOON_US;
	if (dev->is_pf && dev->pf.n_vfs != 0)
		again_us = ALARM_PF_US;
	if (dev->state != LIQ_DOWN && dev->fn->serve(dev))
		again_us = ALARM_SOON_US;
	follow_mac(eth_dev, dev);
	liq_link_poll(dev);
	started = dev->state == LIQ_STARTED;
	ill = liq_dev_is_ill(dev) && !dev->alarmed;
	dev->alarmed |= ill;
	liq_link_get(dev, &link);
	pthread_mutex_unlock(&dev->lock);
	if (started)
		tell_link(eth_dev, &link);
	if (ill) {
		LIQ_LOG(ERR, "%s: only a reset of the port helps", dev->bus);
		rte_eth_dev_callback_process(eth_dev, RTE_ETH_EVENT_INTR_RESET, NULL);
	}
	return again_us;
}

void
liq_ethdev_alarm(void *eth_dev)
{
	rte_eal_alarm_set(liq_ethdev_tend(eth_dev), liq_ethdev_alarm, eth_dev);
}

/* ---- configuration ---- */

static const char *
conf_fault(const struct rte_eth_conf *conf)
{
	if (conf->rxmode.mq_mode & ~(uint32_t)RTE_ETH_MQ_RX_RSS_FLAG)
		return "rxmode.mq_mode: RTE_ETH_MQ_RX_NONE or RTE_ETH_MQ_RX_RSS";
	if (conf->txmode.mq_mode != RTE_ETH_MQ_TX_NONE)
		return "txmode.mq_mode: RTE_ETH_MQ_TX_NONE";
	if (conf->link_speeds != RTE_ETH_LINK_SPEED_AUTONEG)
		return "link_speeds: RTE_ETH_LINK_SPEED_AUTONEG";
	if (conf->lpbk_mode != 0)
		return "lpbk_mode: 0";
	if (conf->intr_conf.rxq != 0)
		return "intr_conf.rxq: 0, queues are polled";
	if (conf->rx_adv_conf.rss_conf.rss_key != NULL &&
	    conf->rx_adv_conf.rss_conf.rss_key_len != 0 &&
	    conf->rx_adv_conf.rss_conf.rss_key_len != LIQ_KEY_SIZE)
		return "rss_key_len: 40";
	return NULL;
}

static void
take_rss(struct liq_dev *dev, const struct rte_eth_conf *conf, uint16_t n_rxq)
{
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;

	dev->set.rss_on = conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG;
	dev->set.rss_types = liq_rss_types_from(rss->rss_hf);
	if (dev->set.rss_on && rss->rss_key != NULL)
		memcpy(dev->set.rss_key, rss->rss_key, LIQ_KEY_SIZE);
	for (unsigned int i = 0; i < LIQ_RETA_SIZE && n_rxq != 0; i++)
		dev->set.reta[i] = (uint8_t)(i % n_rxq);
}

static int
op_configure(struct rte_eth_dev *eth_dev)
{
	struct rte_eth_dev_data *data = eth_dev->data;
	const struct rte_eth_conf *conf = &data->dev_conf;
	const char *wrong = conf_fault(conf);
	struct liq_dev *dev;
	int ret;

	if (wrong) {
		LIQ_LOG(ERR, "port %u: %s is what this device can do", data->port_id, wrong);
		return -ENOTSUP;
	}
	dev = enter(eth_dev);
	if (dev->state != LIQ_IDLE) {
		LIQ_LOG(ERR, "port %u: the device is not up: reset the port", data->port_id);
		return leave(dev, -EIO);
	}
	ret = liq_dev_queues(dev, data->nb_tx_queues, data->nb_rx_queues);
	if (ret == 0) {
		take_rss(dev, conf, data->nb_rx_queues);
		dev->set.vlan_filter = conf->rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	}
	return leave(dev, ret);
}

/* ---- start and stop ---- */

/* The least that is right for every queue. */
static void
choose_bursts(struct rte_eth_dev *eth_dev)
{
	const struct liq_dev *dev = dev_of(eth_dev);
	uint64_t offloads = eth_dev->data->dev_conf.txmode.offloads;

	for (uint16_t q = 0; q < eth_dev->data->nb_tx_queues; q++)
		if (dev->txq[q])
			offloads |= dev->txq[q]->offloads;
	eth_dev->rx_pkt_burst = liq_rx_burst;
	eth_dev->tx_pkt_prepare = liq_tx_prepare;
	eth_dev->tx_pkt_burst = offloads & TX_FULL   ? liq_tx_burst_full
				: offloads & TX_SUMS ? liq_tx_burst_sums
						     : liq_tx_burst_plain;
}

/* Frames may be longer than buffers: chains come whether asked for or not. */
static void
choose_scatter(struct rte_eth_dev *eth_dev, const struct liq_dev *dev)
{
	uint32_t frame_bytes = dev->set.mtu + LIQ_FRAME_OVERHEAD;
	bool scatter = eth_dev->data->dev_conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_SCATTER;

	for (uint16_t q = 0; q < eth_dev->data->nb_rx_queues && !scatter; q++) {
		uint32_t room = liq_oq_room_bytes(dev->rxq[q]->pool);

		if (frame_bytes <= room)
			continue;
		LIQ_LOG(NOTICE,
			"port %u rx queue %u: frames of %u bytes, buffers of %u: they come in chains",
			eth_dev->data->port_id, q, frame_bytes, room);
		scatter = true;
	}
	eth_dev->data->scattered_rx = scatter;
}

static int
op_start(struct rte_eth_dev *eth_dev)
{
	struct rte_eth_dev_data *data = eth_dev->data;
	struct liq_dev *dev = enter(eth_dev);
	struct rte_eth_link link;
	int ret;

	dev->set.mtu = data->mtu;
	ret = dev->io.ops->start ? dev->io.ops->start(dev->io.ctx) : 0;
	if (ret == 0)
		ret = liq_dev_start(dev);
	if (ret < 0) {
		LIQ_LOG(ERR, "port %u: not started: %d%s", data->port_id, ret,
			liq_dev_is_ill(dev) ? "; reset the port" : "");
		return leave(dev, ret);
	}
	choose_scatter(eth_dev, dev);
	choose_bursts(eth_dev);
	for (uint16_t q = 0; q < data->nb_rx_queues; q++)
		data->rx_queue_state[q] = RTE_ETH_QUEUE_STATE_STARTED;
	for (uint16_t q = 0; q < data->nb_tx_queues; q++)
		data->tx_queue_state[q] = RTE_ETH_QUEUE_STATE_STARTED;
	liq_link_get(dev, &link);
	leave(dev, 0);
	rte_eth_linkstatus_set(eth_dev, &link);
	return 0;
}

static int
op_stop(struct rte_eth_dev *eth_dev)
{
	struct rte_eth_dev_data *data = eth_dev->data;
	struct liq_dev *dev = enter(eth_dev);
	struct rte_eth_link link;

	/* this process first; ethdev has taken the bursts away already */
	data->dev_started = 0;
	liq_dev_stop(dev);
	for (uint16_t q = 0; q < data->nb_rx_queues; q++)
		data->rx_queue_state[q] = RTE_ETH_QUEUE_STATE_STOPPED;
	for (uint16_t q = 0; q < data->nb_tx_queues; q++)
		data->tx_queue_state[q] = RTE_ETH_QUEUE_STATE_STOPPED;
	liq_link_get(dev, &link);
	leave(dev, 0);
	rte_eth_linkstatus_set(eth_dev, &link);
	return 0;
}

static void
release_queues(struct rte_eth_dev *eth_dev, struct liq_dev *dev)
{
	for (uint16_t q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		liq_iq_destroy(dev->txq[q]);
		liq_oq_destroy(dev->rxq[q]);
		dev->txq[q] = NULL;
		dev->rxq[q] = NULL;
	}
	for (uint16_t q = 0; q < eth_dev->data->nb_rx_queues; q++)
		eth_dev->data->rx_queues[q] = NULL;
	for (uint16_t q = 0; q < eth_dev->data->nb_tx_queues; q++)
		eth_dev->data->tx_queues[q] = NULL;
}

static int
op_close(struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = dev_of(eth_dev);

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return 0;
	rte_eal_alarm_cancel(liq_ethdev_alarm, eth_dev);
	pthread_mutex_lock(&dev->lock);
	liq_dev_down(dev);
	release_queues(eth_dev, dev);
	pthread_mutex_unlock(&dev->lock);
	pthread_mutex_destroy(&dev->lock);
	dev->io.ops->close(dev->io.ctx);
	return 0;
}

static int
op_reset(struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = enter(eth_dev);
	int ret;

	liq_dev_stop(dev);
	ret = liq_dev_reset(dev);
	if (ret == 0)
		memcpy(eth_dev->data->mac_addrs, dev->nif.mac, 6);
	return leave(dev, ret);
}

static int
op_is_removed(struct rte_eth_dev *eth_dev)
{
	return liq_dev_is_gone(dev_of(eth_dev));
}

/* ---- queues ---- */

static int
op_rxq_setup(struct rte_eth_dev *eth_dev, uint16_t q, uint16_t n_desc, unsigned int socket_id,
	     const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct liq_dev *dev = dev_of(eth_dev);
	struct liq_oq_cfg cfg = {
		.port_id = eth_dev->data->port_id,
		.queue = q,
		.n_desc = n_desc,
		.free_thresh = conf->rx_free_thresh,
		.socket_id = (int)socket_id,
		.offloads = conf->offloads | eth_dev->data->dev_conf.rxmode.offloads,
		.pool = pool,
		.notices = &dev->notices,
		.io = dev->io,
		.ring = dev->first_ring + q,
	};
	int ret;

	if (conf->rx_deferred_start) {
		LIQ_LOG(ERR, "port %u rx queue %u: rx_deferred_start=1: allowed: 0", cfg.port_id,
			q);
		return -ENOTSUP;
	}
	if (conf->rx_free_thresh >= n_desc) {
		LIQ_LOG(ERR,
			"port %u rx queue %u: rx_free_thresh=%u: allowed: less than the %u descriptors",
			cfg.port_id, q, conf->rx_free_thresh, n_desc);
		return -EINVAL;
	}
	enter(eth_dev);
	liq_oq_destroy(dev->rxq[q]);
	dev->rxq[q] = NULL;
	eth_dev->data->rx_queues[q] = NULL;
	ret = liq_oq_create(&cfg, &dev->rxq[q]);
	if (ret == 0)
		eth_dev->data->rx_queues[q] = dev->rxq[q];
	return leave(dev, ret);
}

static int
op_txq_setup(struct rte_eth_dev *eth_dev, uint16_t q, uint16_t n_desc, unsigned int socket_id,
	     const struct rte_eth_txconf *conf)
{
	struct liq_dev *dev = dev_of(eth_dev);
	struct liq_iq_cfg cfg = {
		.port_id = eth_dev->data->port_id,
		.queue = q,
		.n_desc = n_desc,
		.free_thresh = conf->tx_free_thresh,
		.socket_id = (int)socket_id,
		.offloads = conf->offloads | eth_dev->data->dev_conf.txmode.offloads,
		.kind = "tx",
		.io = dev->io,
		.ring = dev->first_ring + q,
	};
	int ret;

	if (conf->tx_deferred_start) {
		LIQ_LOG(ERR, "port %u tx queue %u: tx_deferred_start=1: allowed: 0", cfg.port_id,
			q);
		return -ENOTSUP;
	}
	if (conf->tx_free_thresh >= n_desc) {
		LIQ_LOG(ERR,
			"port %u tx queue %u: tx_free_thresh=%u: allowed: less than the %u descriptors",
			cfg.port_id, q, conf->tx_free_thresh, n_desc);
		return -EINVAL;
	}
	enter(eth_dev);
	liq_iq_destroy(dev->txq[q]);
	dev->txq[q] = NULL;
	eth_dev->data->tx_queues[q] = NULL;
	ret = liq_iq_create(&cfg, &dev->txq[q]);
	if (ret == 0)
		eth_dev->data->tx_queues[q] = dev->txq[q];
	return leave(dev, ret);
}

static void
op_rxq_release(struct rte_eth_dev *eth_dev, uint16_t q)
{
	struct liq_dev *dev = enter(eth_dev);

	liq_oq_destroy(dev->rxq[q]);
	dev->rxq[q] = NULL;
	leave(dev, 0);
}

static void
op_txq_release(struct rte_eth_dev *eth_dev, uint16_t q)
{
	struct liq_dev *dev = enter(eth_dev);

	liq_iq_destroy(dev->txq[q]);
	dev->txq[q] = NULL;
	leave(dev, 0);
}

static void
op_rxq_info(struct rte_eth_dev *eth_dev, uint16_t q, struct rte_eth_rxq_info *info)
{
	const struct liq_oq *oq = eth_dev->data->rx_queues[q];

	info->mp = oq->pool;
	info->nb_desc = (uint16_t)oq->n_desc;
	info->rx_buf_size = (uint16_t)oq->buf_bytes;
	info->scattered_rx = eth_dev->data->scattered_rx;
	info->conf.rx_free_thresh = (uint16_t)oq->free_thresh;
	info->conf.offloads = oq->offloads;
}

static void
op_txq_info(struct rte_eth_dev *eth_dev, uint16_t q, struct rte_eth_txq_info *info)
{
	const struct liq_iq *iq = eth_dev->data->tx_queues[q];

	info->nb_desc = (uint16_t)iq->n_desc;
	info->conf.tx_free_thresh = (uint16_t)iq->free_thresh;
	info->conf.offloads = iq->offloads;
}

static int
op_rx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t q, struct rte_eth_burst_mode *mode)
{
	(void)q;
	snprintf(mode->info, sizeof(mode->info), "%s",
		 eth_dev->data->scattered_rx ? "Scalar, buffer pointers, scattered"
					     : "Scalar, buffer pointers");
	return 0;
}

static int
op_tx_burst_mode(struct rte_eth_dev *eth_dev, uint16_t q, struct rte_eth_burst_mode *mode)
{
	const char *text = eth_dev->tx_pkt_burst == liq_tx_burst_full   ? "full"
			   : eth_dev->tx_pkt_burst == liq_tx_burst_sums ? "checksums"
									: "plain";

	(void)q;
	snprintf(mode->info, sizeof(mode->info), "Scalar, %s", text);
	return 0;
}

static int
op_tx_done_cleanup(void *txq, uint32_t n)
{
	return (int)liq_iq_cleanup(txq, n);
}

static uint32_t
rx_queue_count(void *rxq)
{
	return liq_oq_waiting(rxq);
}

static int
rx_descriptor_status(void *rxq, uint16_t offset)
{
	const struct liq_oq *oq = rxq;

	if (offset >= oq->n_desc)
		return -EINVAL;
	if (offset < liq_oq_waiting(oq))
		return RTE_ETH_RX_DESC_DONE;
	return offset < oq->n_posted ? RTE_ETH_RX_DESC_AVAIL : RTE_ETH_RX_DESC_UNAVAIL;
}

/* Entries under way lie behind the next one to be filled. */
static int
tx_descriptor_status(void *txq, uint16_t offset)
{
	const struct liq_iq *iq = txq;

	if (offset >= iq->n_desc)
		return -EINVAL;
	return offset < iq->n_desc - liq_iq_unfetched(iq) ? RTE_ETH_TX_DESC_DONE
							  : RTE_ETH_TX_DESC_FULL;
}

/* ---- information ---- */

static int
op_info(struct rte_eth_dev *eth_dev, struct rte_eth_dev_info *info)
{
	const struct liq_dev *dev = dev_of(eth_dev);

	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = liq_link_max_mtu(dev);
	info->min_rx_bufsize = LIQ_RX_BUF_MIN;
	info->max_rx_pktlen = info->max_mtu + LIQ_FRAME_OVERHEAD;
	info->max_rx_queues = dev->nif.n_oq;
	info->max_tx_queues = dev->nif.n_iq;
	info->max_mac_addrs = 1;
	info->max_vfs = dev->is_pf ? (uint16_t)dev->pf.n_vfs : 0;
	info->rx_offload_capa = RX_OFFLOADS;
	info->tx_offload_capa = TX_OFFLOADS;
	info->tx_queue_offload_capa = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	info->reta_size = LIQ_RETA_SIZE;
	info->hash_key_size = LIQ_KEY_SIZE;
	info->flow_type_rss_offloads = liq_rss_types_to(LIQ_HASH_ALL);
	info->default_rxconf = (struct rte_eth_rxconf){.rx_free_thresh = LIQ_RX_FREE_DFLT};
	info->rx_desc_lim = (struct rte_eth_desc_lim){
		.nb_max = LIQ_RING_MAX_DESC,
		.nb_min = LIQ_RING_MIN_DESC,
		.nb_align = LIQ_RX_DESC_ALIGN,
	};
	info->tx_desc_lim = (struct rte_eth_desc_lim){
		.nb_max = LIQ_RING_MAX_DESC,
		.nb_min = LIQ_RING_MIN_DESC,
		.nb_align = LIQ_TX_DESC_ALIGN,
		.nb_seg_max = LIQ_TX_SEGS_MAX,
		.nb_mtu_seg_max = LIQ_TX_SEGS_MAX,
	};
	info->speed_capa = dev->speed_mbps == RTE_ETH_SPEED_NUM_25G ? RTE_ETH_LINK_SPEED_25G
			   : dev->speed_mbps == RTE_ETH_SPEED_NUM_10G
				   ? RTE_ETH_LINK_SPEED_10G
				   : RTE_ETH_LINK_SPEED_10G | RTE_ETH_LINK_SPEED_25G;
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = 32,
		.ring_size = LIQ_RX_DESC_DFLT,
		.nb_queues = 1,
	};
	info->default_txportconf = (struct rte_eth_dev_portconf){
		.burst_size = 32,
		.ring_size = LIQ_TX_DESC_DFLT,
		.nb_queues = 1,
	};
	return 0;
}

static int
op_fw_version(struct rte_eth_dev *eth_dev, char *text, size_t size)
{
	int n = snprintf(text, size, "%s", dev_of(eth_dev)->nif.fw_version) + 1;

	return (size_t)n > size ? n : 0;
}

static const uint32_t *
op_ptypes(struct rte_eth_dev *eth_dev)
{
	/* by what the hash was made of; without RSS just Ethernet */
	static const uint32_t ptypes[] = {
		RTE_PTYPE_L2_ETHER,
		RTE_PTYPE_L3_IPV4_EXT_UNKNOWN,
		RTE_PTYPE_L3_IPV6_EXT_UNKNOWN,
		RTE_PTYPE_L4_TCP,
		RTE_PTYPE_UNKNOWN,
	};

	return eth_dev->rx_pkt_burst == liq_rx_burst ? ptypes : NULL;
}

#define RING_REG(name, off, bytes, access) {off, bytes},
static const struct {
	uint32_t off;
	uint32_t bytes;
} ring_regs[] = {LIQ_RING_REG_TABLE(RING_REG)};

/* All ring registers of the function's own rings, 64 bits each, in the order of the table. */
static int
op_get_reg(struct rte_eth_dev *eth_dev, struct rte_dev_reg_info *info)
{
	struct liq_dev *dev = dev_of(eth_dev);
	uint64_t *word = info->data;

	info->length = (uint32_t)(dev->n_rings * RTE_DIM(ring_regs));
	info->width = sizeof(*word);
	info->version = dev->is_pf ? LIQ_PCI_DEVICE_PF : LIQ_PCI_DEVICE_VF;
	if (!word)
		return 0;
	enter(eth_dev);
	for (unsigned int k = 0; k < dev->n_rings; k++) {
		for (size_t i = 0; i < RTE_DIM(ring_regs); i++) {
			uint32_t reg = LIQ_RING(dev->first_ring + k) + ring_regs[i].off;

			*word++ = ring_regs[i].bytes == 8 ? liq_r64(&dev->io, reg)
							  : liq_r32(&dev->io, reg);
		}
	}
	return leave(dev, 0);
}

static int
op_dump(struct rte_eth_dev *eth_dev, FILE *file)
{
	static const char *const states[] = {"down", "idle", "started"};
	const struct liq_dev *dev = dev_of(eth_dev);

	fprintf(file, "net_liq %s %s: %s%s%s, rings %u to %u, firmware %s, pkind %u\n",
		dev->is_pf ? "PF" : "VF", dev->bus, states[dev->state],
		dev->fenced ? ", cut off" : "", dev->cmds.dead ? ", no answers" : "",
		dev->first_ring, dev->first_ring + dev->n_rings - 1, dev->nif.fw_version,
		dev->pkind);
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		const struct liq_iq *iq = dev->txq[q];
		const struct liq_oq *oq = dev->rxq[q];

		if (iq)
			fprintf(file, "tx %u: head %u tail %u free %u special %u%s, %zu bytes\n", q,
				iq->head, iq->tail, iq->n_free, iq->n_special,
				iq->broken ? " broken" : "", iq->mem.len_bytes);
		if (oq)
			fprintf(file, "rx %u: head %u tail %u posted %u known %u%s, %zu bytes\n", q,
				oq->head, oq->tail, oq->n_posted, oq->n_known,
				oq->broken ? " broken" : "", oq->mem.len_bytes);
	}
	return 0;
}

/* ---- link ---- */

/* ethdev asks for this only while link events are off. */
static int
op_link_update(struct rte_eth_dev *eth_dev, int wait)
{
	struct liq_dev *dev = enter(eth_dev);
	struct rte_eth_link link;

	if (dev->state == LIQ_STARTED && !dev->cmds.dead) {
		if (wait)
			liq_link_ask(dev);
		else
			liq_link_poll(dev);
	}
	liq_link_get(dev, &link);
	leave(dev, 0);
	return rte_eth_linkstatus_set(eth_dev, &link);
}

static int
set_link(struct rte_eth_dev *eth_dev, bool up)
{
	struct liq_dev *dev = enter(eth_dev);

	return leave(dev, dev->state == LIQ_STARTED ? liq_rx_tell(dev, up) : 0);
}

static int
op_link_up(struct rte_eth_dev *eth_dev)
{
	return set_link(eth_dev, true);
}

static int
op_link_down(struct rte_eth_dev *eth_dev)
{
	return set_link(eth_dev, false);
}

/* ---- addresses and filters ---- */

static int
op_mtu_set(struct rte_eth_dev *eth_dev, uint16_t mtu)
{
	struct rte_eth_dev_data *data = eth_dev->data;
	struct liq_dev *dev = enter(eth_dev);
	int ret;

	if (dev->state == LIQ_STARTED && !data->scattered_rx)
		for (uint16_t q = 0; q < data->nb_rx_queues; q++)
			if ((uint32_t)mtu + LIQ_FRAME_OVERHEAD >
			    liq_oq_room_bytes(dev->rxq[q]->pool)) {
				LIQ_LOG(ERR,
					"port %u: mtu=%u: up to %u while running without scattered receive; stop the port first",
					data->port_id, mtu,
					liq_oq_room_bytes(dev->rxq[q]->pool) - LIQ_FRAME_OVERHEAD);
				return leave(dev, -EBUSY);
			}
	ret = liq_mtu_tell(dev, mtu);
	if (ret == 0)
		dev->set.mtu = mtu;
	else if (ret == -EIO && !dev->cmds.dead)
		ret = -EINVAL;
	return leave(dev, ret);
}

static int
change_flags(struct rte_eth_dev *eth_dev, uint32_t flag, bool on)
{
	struct liq_dev *dev = enter(eth_dev);
	uint32_t flags = on ? dev->set.flags | flag : dev->set.flags & ~flag;
	int ret = liq_flags_tell(dev, flags);

	if (ret == 0)
		dev->set.flags = flags;
	if (ret == -EPERM)
		LIQ_LOG(ERR, "port %u: not permitted: the PF does not trust this VF",
			eth_dev->data->port_id);
	return leave(dev, ret);
}

static int
op_promisc_on(struct rte_eth_dev *eth_dev)
{
	return change_flags(eth_dev, LIQ_IFF_PROMISC, true);
}

static int
op_promisc_off(struct rte_eth_dev *eth_dev)
{
	return change_flags(eth_dev, LIQ_IFF_PROMISC, false);
}

static int
op_allmulti_on(struct rte_eth_dev *eth_dev)
{
	return change_flags(eth_dev, LIQ_IFF_ALLMULTI, true);
}

static int
op_allmulti_off(struct rte_eth_dev *eth_dev)
{
	return change_flags(eth_dev, LIQ_IFF_ALLMULTI, false);
}

static int
op_mac_set(struct rte_eth_dev *eth_dev, struct rte_ether_addr *mac)
{
	struct liq_dev *dev = enter(eth_dev);
	int ret = 0;

	/* ethdev replays the address at each start: what is set need not be told */
	if (memcmp(mac->addr_bytes, dev->nif.mac, 6) != 0)
		ret = dev->nif.mac_admin ? -EPERM : liq_mac_tell(dev, mac->addr_bytes);
	if (ret == 0)
		memcpy(dev->nif.mac, mac->addr_bytes, 6);
	else if (ret == -EPERM)
		LIQ_LOG(ERR, "port %u: not permitted: the PF has set the address",
			eth_dev->data->port_id);
	return leave(dev, ret);
}

static int
op_mc_list(struct rte_eth_dev *eth_dev, struct rte_ether_addr *list, uint32_t n)
{
	struct liq_dev *dev;
	struct liq_settings was;
	int ret;

	if (n > LIQ_MC_MAX) {
		LIQ_LOG(ERR, "port %u: %u multicast addresses: up to %u; use allmulticast beyond",
			eth_dev->data->port_id, n, LIQ_MC_MAX);
		return -ENOSPC;
	}
	dev = enter(eth_dev);
	was = dev->set;
	memset(dev->set.mc, 0, sizeof(dev->set.mc));
	for (uint32_t i = 0; i < n; i++)
		memcpy(dev->set.mc[i] + 2, list[i].addr_bytes, 6);
	dev->set.n_mc = n;
	ret = liq_mc_tell(dev);
	if (ret < 0)
		dev->set = was;
	return leave(dev, ret);
}

static int
op_vlan_filter(struct rte_eth_dev *eth_dev, uint16_t id, int on)
{
	struct liq_dev *dev = enter(eth_dev);
	uint64_t bit = UINT64_C(1) << id % 64;
	int ret = dev->nif.vlan_admin ? -EPERM : liq_vlan_tell(dev, id, on);

	if (ret == 0 && on)
		dev->set.vlan[id / 64] |= bit;
	else if (ret == 0)
		dev->set.vlan[id / 64] &= ~bit;
	return leave(dev, ret);
}

static int
op_vlan_offload(struct rte_eth_dev *eth_dev, int mask)
{
	uint64_t offloads = eth_dev->data->dev_conf.rxmode.offloads;
	struct liq_dev *dev = enter(eth_dev);
	bool on = offloads & RTE_ETH_RX_OFFLOAD_VLAN_FILTER;
	int ret = 0;

	if (mask & RTE_ETH_VLAN_FILTER_MASK) {
		ret = dev->nif.vlan_admin ? -EPERM : liq_vlan_filter_tell(dev, on);
		if (ret == 0)
			dev->set.vlan_filter = on;
	}
	/* the card always strips; the receiving side puts tags back or not */
	if (mask & RTE_ETH_VLAN_STRIP_MASK)
		for (uint16_t q = 0; q < eth_dev->data->nb_rx_queues; q++)
			if (dev->rxq[q])
				dev->rxq[q]->want_strip = offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	return leave(dev, ret);
}

static int
op_rss_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	struct liq_dev *dev;
	struct liq_settings was;
	int ret;

	if (conf->rss_key != NULL && conf->rss_key_len != LIQ_KEY_SIZE) {
		LIQ_LOG(ERR, "port %u: rss_key_len=%u: allowed: %u", eth_dev->data->port_id,
			conf->rss_key_len, LIQ_KEY_SIZE);
		return -EINVAL;
	}
	dev = enter(eth_dev);
	if (!dev->set.rss_on)
		return leave(dev, conf->rss_hf == 0 ? 0 : -ENOTSUP);
	was = dev->set;
	dev->set.rss_types = liq_rss_types_from(conf->rss_hf);
	if (conf->rss_key != NULL)
		memcpy(dev->set.rss_key, conf->rss_key, LIQ_KEY_SIZE);
	ret = liq_rss_tell(dev);
	if (ret < 0)
		dev->set = was;
	return leave(dev, ret);
}

static int
op_rss_get(struct rte_eth_dev *eth_dev, struct rte_eth_rss_conf *conf)
{
	const struct liq_dev *dev = dev_of(eth_dev);

	conf->rss_hf = dev->set.rss_on ? liq_rss_types_to(dev->set.rss_types) : 0;
	if (conf->rss_key != NULL && conf->rss_key_len >= LIQ_KEY_SIZE)
		memcpy(conf->rss_key, dev->set.rss_key, LIQ_KEY_SIZE);
	conf->rss_key_len = LIQ_KEY_SIZE;
	return 0;
}

static int
reta_size_fault(const struct rte_eth_dev *eth_dev, uint16_t size)
{
	if (size == LIQ_RETA_SIZE)
		return 0;
	LIQ_LOG(ERR, "port %u: a table of %u entries: allowed: %u", eth_dev->data->port_id, size,
		LIQ_RETA_SIZE);
	return -EINVAL;
}

static int
op_reta_update(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct liq_dev *dev;
	struct liq_settings was;
	int ret = reta_size_fault(eth_dev, size);

	if (ret < 0)
		return ret;
	for (unsigned int i = 0; i < size; i++)
		if ((conf[i / 64].mask >> i % 64 & 1) &&
		    conf[i / 64].reta[i % 64] >= eth_dev->data->nb_rx_queues) {
			LIQ_LOG(ERR, "port %u: entry %u is queue %u: allowed: 0 to %u",
				eth_dev->data->port_id, i, conf[i / 64].reta[i % 64],
				eth_dev->data->nb_rx_queues - 1);
			return -EINVAL;
		}
	dev = enter(eth_dev);
	was = dev->set;
	for (unsigned int i = 0; i < size; i++)
		if (conf[i / 64].mask >> i % 64 & 1)
			dev->set.reta[i] = (uint8_t)conf[i / 64].reta[i % 64];
	ret = dev->set.rss_on ? liq_reta_tell(dev) : -ENOTSUP;
	if (ret < 0)
		dev->set = was;
	return leave(dev, ret);
}

static int
op_reta_query(struct rte_eth_dev *eth_dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	const struct liq_dev *dev = dev_of(eth_dev);
	int ret = reta_size_fault(eth_dev, size);

	for (unsigned int i = 0; ret == 0 && i < size; i++)
		if (conf[i / 64].mask >> i % 64 & 1)
			conf[i / 64].reta[i % 64] = dev->set.reta[i];
	return ret;
}

static int
tunnel_port(struct rte_eth_dev *eth_dev, const struct rte_eth_udp_tunnel *tunnel, bool add)
{
	struct liq_dev *dev;

	if (tunnel->prot_type != RTE_ETH_TUNNEL_TYPE_VXLAN) {
		LIQ_LOG(ERR, "port %u: tunnel type %u: allowed: VXLAN", eth_dev->data->port_id,
			tunnel->prot_type);
		return -ENOTSUP;
	}
	dev = enter(eth_dev);
	/* the number of words is the verb: one, of no meaning, deletes */
	return leave(dev, liq_cmd_ctl(&dev->cmds, LIQ_CMD_VXLAN_PORT, tunnel->udp_port, 0,
				      &(const uint64_t){0}, add ? 0 : 1));
}

static int
op_tunnel_add(struct rte_eth_dev *eth_dev, struct rte_eth_udp_tunnel *tunnel)
{
	return tunnel_port(eth_dev, tunnel, true);
}

static int
op_tunnel_del(struct rte_eth_dev *eth_dev, struct rte_eth_udp_tunnel *tunnel)
{
	return tunnel_port(eth_dev, tunnel, false);
}

/* ---- statistics ---- */

static void
fetch_stats(struct liq_dev *dev)
{
	if (rte_eal_process_type() == RTE_PROC_PRIMARY && dev->state != LIQ_DOWN && !dev->cmds.dead)
		liq_stats_fetch(dev);
}

static int
op_stats_get(struct rte_eth_dev *eth_dev, struct rte_eth_stats *stats)
{
	struct liq_dev *dev = dev_of(eth_dev);

	if (rte_eal_process_type() != RTE_PROC_PRIMARY) {
		liq_stats_get(dev, stats);
		return 0;
	}
	enter(eth_dev);
	fetch_stats(dev);
	liq_stats_get(dev, stats);
	return leave(dev, 0);
}

static int
op_stats_reset(struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = enter(eth_dev);

	fetch_stats(dev);
	liq_stats_zero(dev);
	return leave(dev, 0);
}

static int
op_xstats_get(struct rte_eth_dev *eth_dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	struct liq_dev *dev = dev_of(eth_dev);

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return liq_xstats_get(dev, xstats, n);
	enter(eth_dev);
	if (xstats)
		fetch_stats(dev);
	return leave(dev, liq_xstats_get(dev, xstats, n));
}

static int
op_xstats_names(struct rte_eth_dev *eth_dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	return liq_xstats_names(dev_of(eth_dev), names, n);
}

/* ---- tables ---- */

static const struct eth_dev_ops liq_ops = {
	.dev_configure = op_configure,
	.dev_start = op_start,
	.dev_stop = op_stop,
	.dev_set_link_up = op_link_up,
	.dev_set_link_down = op_link_down,
	.dev_close = op_close,
	.dev_reset = op_reset,
	.link_update = op_link_update,
	.is_removed = op_is_removed,
	.promiscuous_enable = op_promisc_on,
	.promiscuous_disable = op_promisc_off,
	.allmulticast_enable = op_allmulti_on,
	.allmulticast_disable = op_allmulti_off,
	.mac_addr_set = op_mac_set,
	.set_mc_addr_list = op_mc_list,
	.mtu_set = op_mtu_set,
	.stats_get = op_stats_get,
	.stats_reset = op_stats_reset,
	.xstats_get = op_xstats_get,
	.xstats_reset = op_stats_reset,
	.xstats_get_names = op_xstats_names,
	.dev_infos_get = op_info,
	.rxq_info_get = op_rxq_info,
	.txq_info_get = op_txq_info,
	.rx_burst_mode_get = op_rx_burst_mode,
	.tx_burst_mode_get = op_tx_burst_mode,
	.fw_version_get = op_fw_version,
	.dev_supported_ptypes_get = op_ptypes,
	.vlan_filter_set = op_vlan_filter,
	.vlan_offload_set = op_vlan_offload,
	.rx_queue_setup = op_rxq_setup,
	.rx_queue_release = op_rxq_release,
	.tx_queue_setup = op_txq_setup,
	.tx_queue_release = op_txq_release,
	.tx_done_cleanup = op_tx_done_cleanup,
	.udp_tunnel_port_add = op_tunnel_add,
	.udp_tunnel_port_del = op_tunnel_del,
	.rss_hash_update = op_rss_update,
	.rss_hash_conf_get = op_rss_get,
	.reta_update = op_reta_update,
	.reta_query = op_reta_query,
	.get_reg = op_get_reg,
	.eth_dev_priv_dump = op_dump,
};

/* Of a secondary: what only reads memory that both have. */
static const struct eth_dev_ops liq_ops_secondary = {
	.dev_close = op_close,
	.stats_get = op_stats_get,
	.xstats_get = op_xstats_get,
	.xstats_get_names = op_xstats_names,
	.dev_infos_get = op_info,
	.rxq_info_get = op_rxq_info,
	.txq_info_get = op_txq_info,
	.fw_version_get = op_fw_version,
	.rss_hash_conf_get = op_rss_get,
	.reta_query = op_reta_query,
};

int
liq_ethdev_init(struct rte_eth_dev *eth_dev)
{
	struct liq_dev *dev = dev_of(eth_dev);
	struct rte_eth_dev_data *data = eth_dev->data;
	int ret;

	eth_dev->dev_ops = &liq_ops;
	eth_dev->rx_queue_count = rx_queue_count;
	eth_dev->rx_descriptor_status = rx_descriptor_status;
	eth_dev->tx_descriptor_status = tx_descriptor_status;
	/* until the first start; ethdev hands out nothing before */
	eth_dev->rx_pkt_burst = liq_rx_burst;
	eth_dev->tx_pkt_burst = liq_tx_burst_full;
	eth_dev->tx_pkt_prepare = liq_tx_prepare;
	data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->is_pf = dev->fn == &liq_pf_ops;
	dev->has_wire = dev->io.ops->wire_stats != NULL;
	dev->port_id = data->port_id;
	dev->socket_id = data->numa_node;
	liq_settings_default(&dev->set);
	data->mac_addrs =
		rte_zmalloc_socket("liq_mac", sizeof(struct rte_ether_addr), 0, dev->socket_id);
	if (!data->mac_addrs)
		return -ENOMEM;
	pthread_mutex_init(&dev->lock, NULL);
	ret = liq_dev_up(dev);
	if (ret == 0) {
		memcpy(data->mac_addrs, dev->nif.mac, 6);
		ret = rte_eal_alarm_set(ALARM_US, liq_ethdev_alarm, eth_dev);
		if (ret < 0)
			liq_dev_down(dev);
	}
	if (ret < 0) {
		pthread_mutex_destroy(&dev->lock);
		rte_free(data->mac_addrs);
		data->mac_addrs = NULL;
	}
	return ret;
}

void
liq_ethdev_attach(struct rte_eth_dev *eth_dev, bool has_registers)
{
	eth_dev->dev_ops = &liq_ops_secondary;
	eth_dev->rx_pkt_burst = has_registers ? liq_rx_burst : rte_eth_pkt_burst_dummy;
	eth_dev->tx_pkt_burst = has_registers ? liq_tx_burst_full : rte_eth_pkt_burst_dummy;
	eth_dev->tx_pkt_prepare = liq_tx_prepare;
	if (!has_registers)
		return;
	eth_dev->rx_queue_count = rx_queue_count;
	eth_dev->rx_descriptor_status = rx_descriptor_status;
	eth_dev->tx_descriptor_status = tx_descriptor_status;
}
