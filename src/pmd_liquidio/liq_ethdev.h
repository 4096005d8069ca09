/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethdev's face of the driver: what liq_pci.c and liq_vdev.c call at probe.
 */
#ifndef LIQ_ETHDEV_H
#define LIQ_ETHDEV_H

#include "liq_dev.h"
#include "liq_sdk.h"

/*
 * Primary: eth_dev has its private data (struct liq_dev, zeroed) with io, fn, bus and what was asked
 * for; the device comes up.  On failure everything is unwound but io, which stays the caller's.
 * Afterwards dev_close() owns io.
 */
int liq_ethdev_init(struct rte_eth_dev *eth_dev);

/*
 * Secondary: counters, information and shadows; the bursts too when registers can be reached from
 * here (has_registers).  Whatever changes the device answers -ENOTSUP.
 */
void liq_ethdev_attach(struct rte_eth_dev *eth_dev, bool has_registers);

/*
 * What is done from time to time: mailboxes, link, health; events are raised from here.  Returns
 * the microseconds until the next time.  A test that wants to say when cancels the alarm and
 * calls it by itself.
 */
uint64_t liq_ethdev_tend(struct rte_eth_dev *eth_dev);

/* The alarm's handler: tends the port and comes again. */
void liq_ethdev_alarm(void *eth_dev);

#endif /* LIQ_ETHDEV_H */
