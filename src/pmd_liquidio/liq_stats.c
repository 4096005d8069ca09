/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics.  See liq_stats.h.
 *
 * Counters of the data path are never written here: a reset remembers them as the base.
 */
#include "liq_stats.h"

#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#define N_FW ((unsigned int)LIQ_SRX_N + LIQ_STX_N)

/* ---- firmware ---- */

/* X(name, in 1.5, in 1.6): where a counter is known from. */
#define FROM(name, in15, in16) in15 ? 5 : in16 ? 6 : 7,
static const uint8_t known_from[] = {LIQ_STATS_RX_TABLE(FROM) LIQ_STATS_TX_TABLE(FROM)};
static_assert(RTE_DIM(known_from) == (size_t)LIQ_SRX_N + LIQ_STX_N, "statistics");

int
liq_stats_fetch(struct liq_dev *dev)
{
	unsigned int minor = dev->nif.fw_num >= LIQ_FW_NUM(1, 7, 0)   ? 7
			     : dev->nif.fw_num >= LIQ_FW_NUM(1, 6, 0) ? 6
								      : 5;
	uint64_t resp[LIQ_STATS_RLEN_1_7 / 8];
	struct liq_cmd cmd = {
		.subcode = LIQ_FW_PORT_STATS,
		.resp_len = minor == 7   ? LIQ_STATS_RLEN_1_7
			    : minor == 6 ? LIQ_STATS_RLEN_1_6
					 : LIQ_STATS_RLEN_1_5,
	};
	unsigned int at = 1; /* behind the header */
	int ret;

	if (dev->has_wire)
		dev->io.ops->wire_stats(dev->io.ctx, dev->wire_stats);
	ret = liq_cmd_ask(&dev->cmds, &cmd, resp);

	if (ret < 0)
		return ret;
	for (unsigned int i = 0; i < N_FW; i++)
		if (known_from[i] <= minor)
			dev->port_stats[i] = liq_be64(resp[at++]);
	return 0;
}

static uint64_t
fw_rx(const struct liq_dev *dev, enum liq_stats_rx i)
{
	return dev->port_stats[i] - dev->port_stats_base[i];
}

static uint64_t
fw_tx(const struct liq_dev *dev, enum liq_stats_tx i)
{
	return dev->port_stats[LIQ_SRX_N + i] - dev->port_stats_base[LIQ_SRX_N + i];
}

/* ---- queues ---- */

/* Every member is a uint64_t. */
#define SINCE_BASE(q, member) ((q)->n.member - (q)->base.member)

static void
add_rx(struct rte_eth_stats *stats, const struct liq_oq *oq, unsigned int q)
{
	uint64_t n = SINCE_BASE(oq, n_pkts), bytes = SINCE_BASE(oq, n_bytes);

	stats->ipackets += n;
	stats->ibytes += bytes;
	stats->ierrors += SINCE_BASE(oq, n_errors);
	stats->rx_nombuf += SINCE_BASE(oq, n_nombuf);
	if (q >= RTE_ETHDEV_QUEUE_STAT_CNTRS)
		return;
	stats->q_ipackets[q] = n;
	stats->q_ibytes[q] = bytes;
	stats->q_errors[q] = SINCE_BASE(oq, n_errors);
}

static void
add_tx(struct rte_eth_stats *stats, const struct liq_iq *iq, unsigned int q)
{
	uint64_t n = SINCE_BASE(iq, n_pkts), bytes = SINCE_BASE(iq, n_bytes);

	stats->opackets += n;
	stats->obytes += bytes;
	stats->oerrors += SINCE_BASE(iq, n_refused);
	if (q >= RTE_ETHDEV_QUEUE_STAT_CNTRS)
		return;
	stats->q_opackets[q] = n;
	stats->q_obytes[q] = bytes;
}

void
liq_stats_get(const struct liq_dev *dev, struct rte_eth_stats *stats)
{
	uint64_t n_unsent = dev->n_unsent - dev->n_unsent_base;

	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		if (dev->rxq[q])
			add_rx(stats, dev->rxq[q], q);
		if (dev->txq[q])
			add_tx(stats, dev->txq[q], q);
	}
	/* what a stop took out of the rings, or firmware did not send, was not sent */
	n_unsent += fw_tx(dev, LIQ_STX_fw_err_link) + fw_tx(dev, LIQ_STX_fw_err_drop) +
		    fw_tx(dev, LIQ_STX_fw_err_pko) + fw_tx(dev, LIQ_STX_fifo_err);
	stats->opackets -= n_unsent < stats->opackets ? n_unsent : stats->opackets;
	stats->oerrors += n_unsent;
	stats->imissed += dev->n_unread - dev->n_unread_base + fw_rx(dev, LIQ_SRX_fifo_err) +
			  fw_rx(dev, LIQ_SRX_red_drops);
	stats->ierrors += fw_rx(dev, LIQ_SRX_jabber_err) + fw_rx(dev, LIQ_SRX_fcs_err) +
			  fw_rx(dev, LIQ_SRX_l2_err) + fw_rx(dev, LIQ_SRX_frame_err) +
			  fw_rx(dev, LIQ_SRX_runts) + fw_rx(dev, LIQ_SRX_fw_err_pko);
}

void
liq_stats_zero(struct liq_dev *dev)
{
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		if (dev->rxq[q])
			dev->rxq[q]->base = dev->rxq[q]->n;
		if (dev->txq[q])
			dev->txq[q]->base = dev->txq[q]->n;
	}
	memcpy(dev->port_stats_base, dev->port_stats, sizeof(dev->port_stats));
	memcpy(dev->wire_stats_base, dev->wire_stats, sizeof(dev->wire_stats));
	dev->cmds.base = dev->cmds.n;
	dev->n_unread_base = dev->n_unread;
	dev->n_unsent_base = dev->n_unsent;
}

/* ---- extended ---- */

/* X(name, member of the queue's counters) */
#define RX_XSTATS(X)                                                                               \
	X(drv_rx_chains, n_chains)                                                                 \
	X(drv_rx_bad, n_errors)                                                                    \
	X(drv_rx_resyncs, n_resyncs)                                                               \
	X(drv_rx_lies, n_lies)                                                                     \
	X(drv_rx_notices, n_notices)
#define TX_XSTATS(X)                                                                               \
	X(drv_tx_chains, n_chains)                                                                 \
	X(drv_tx_refused, n_refused)                                                               \
	X(drv_tx_reclaims, n_reclaims)                                                             \
	X(drv_tx_lies, n_lies)

/* X(name, expression over dev) */
#define DEV_XSTATS(X)                                                                              \
	X(drv_rx_unread, dev->n_unread - dev->n_unread_base)                                       \
	X(drv_tx_unsent, dev->n_unsent - dev->n_unsent_base)                                       \
	X(drv_cmd_requests, SINCE_BASE(&dev->cmds, n_requests))                                    \
	X(drv_cmd_refused, SINCE_BASE(&dev->cmds, n_refused))                                      \
	X(drv_cmd_timeouts, SINCE_BASE(&dev->cmds, n_timeouts))                                    \
	X(drv_cmd_late, SINCE_BASE(&dev->cmds, n_late))                                            \
	X(drv_other_notices, dev->notices.n_other)

#define NAME_OF(name, what)          #name,
#define FW_RX_NAME(name, in15, in16) "rx_" #name,
#define FW_TX_NAME(name, in15, in16) "tx_" #name,
#define WIRE_NAME(name)              "wire_" #name,
static const char *const names_of[] = {
	/* clang-format off */
	RX_XSTATS(NAME_OF)
	TX_XSTATS(NAME_OF)
	DEV_XSTATS(NAME_OF)
	LIQ_STATS_RX_TABLE(FW_RX_NAME)
	LIQ_STATS_TX_TABLE(FW_TX_NAME)
	LIQ_WIRE_STATS(WIRE_NAME) /* last: only where there is such a wire */
	/* clang-format on */
};

static unsigned int
n_xstats(const struct liq_dev *dev)
{
	return (unsigned int)RTE_DIM(names_of) - (dev->has_wire ? 0 : LIQ_N_WIRE);
}

int
liq_xstats_names(const struct liq_dev *dev, struct rte_eth_xstat_name *names, unsigned int n)
{
	if (names && n >= n_xstats(dev))
		for (unsigned int i = 0; i < n_xstats(dev); i++)
			snprintf(names[i].name, sizeof(names[i].name), "%s", names_of[i]);
	return (int)n_xstats(dev);
}

#define SUM_RX(name, member)                                                                       \
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++)                                       \
		value[at] += dev->rxq[q] ? SINCE_BASE(dev->rxq[q], member) : 0;                    \
	at++;
#define SUM_TX(name, member)                                                                       \
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++)                                       \
		value[at] += dev->txq[q] ? SINCE_BASE(dev->txq[q], member) : 0;                    \
	at++;
#define ONE(name, expression) value[at++] = expression;

int
liq_xstats_get(const struct liq_dev *dev, struct rte_eth_xstat *xstats, unsigned int n)
{
	uint64_t value[RTE_DIM(names_of)] = {0};
	unsigned int at = 0;

	if (!xstats || n < n_xstats(dev))
		return (int)n_xstats(dev);
	/* clang-format off */
	RX_XSTATS(SUM_RX)
	TX_XSTATS(SUM_TX)
	DEV_XSTATS(ONE)
	/* clang-format on */
	for (unsigned int i = 0; i < N_FW; i++)
		value[at++] = dev->port_stats[i] - dev->port_stats_base[i];
	for (unsigned int i = 0; i < LIQ_N_WIRE; i++)
		value[at++] = dev->wire_stats[i] - dev->wire_stats_base[i];
	for (unsigned int i = 0; i < n_xstats(dev); i++)
		xstats[i] = (struct rte_eth_xstat){.id = i, .value = value[i]};
	return (int)n_xstats(dev);
}
