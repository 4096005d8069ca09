/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit: from a datagram to a finished frame in the batch (or held for its neighbour). HOT. Layer 2;
 * called by socket.c on the sending lcore, inside an RCU read section.
 */
#ifndef WEIR_TX_H
#define WEIR_TX_H

#include "sock.h"

/*
 * Send m (payload only) from sk to `to`. 0: m is the stack's. Negative errno: m is the caller's,
 * untouched. -EAGAIN: queue full.
 */
int weir_tx_datagram(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf *m,
		     const struct weir_addr *to);

#endif /* WEIR_TX_H */
