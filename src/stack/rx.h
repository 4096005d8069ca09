/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive: one burst of frames from a port, through classify, lookup, deliver. HOT. Layer 2; called by
 * poll (and weir_input) on a worker, inside an RCU read section.
 */
#ifndef WEIR_RX_H
#define WEIR_RX_H

#include "lcore.h"

/* Takes ownership of all n (<= WEIR_MAX_BURST) frames. Counts them unless they came by the mesh. */
void weir_rx_burst(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **m,
		   unsigned int n, bool from_mesh);

#endif /* WEIR_RX_H */
