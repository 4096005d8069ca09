/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics: the queues' own counters and those of firmware.  ethdev operations; under dev->lock
 * in the primary process.  A secondary gets firmware's as they were last read.
 */
#ifndef LIQ_STATS_H
#define LIQ_STATS_H

#include "liq_dev.h"

struct rte_eth_stats;
struct rte_eth_xstat;
struct rte_eth_xstat_name;

/* Reads firmware's counters: 0 or negative; the last ones stay then. */
int liq_stats_fetch(struct liq_dev *dev);

void liq_stats_get(const struct liq_dev *dev, struct rte_eth_stats *stats);

/* Everything counts from now on. */
void liq_stats_zero(struct liq_dev *dev);

/* As rte_eth_xstats_get() and its names. */
int liq_xstats_get(const struct liq_dev *dev, struct rte_eth_xstat *xstats, unsigned int n);
int liq_xstats_names(const struct liq_dev *dev, struct rte_eth_xstat_name *names, unsigned int n);

#endif /* LIQ_STATS_H */
