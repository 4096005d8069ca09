/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver side of DPDK: the only place where the driver includes it.
 *
 * For the files that face ethdev and the buses (liq_ethdev, liq_link, liq_pci, liq_vdev and their
 * like).  Rings, bursts, commands and mailbox need public DPDK only.  Where the headers come from:
 * docs/decisions/0002-driver-headers.md.
 */
#ifndef LIQ_SDK_H
#define LIQ_SDK_H

#include <bus_pci_driver.h>
#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_pci.h>
#include <ethdev_vdev.h>

#endif /* LIQ_SDK_H */
