/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit: from datagrams to finished frames in the batch (or held for its neighbour). HOT. Layer 2;
 * called by sockio.c on the sending lcore, inside an RCU read section.
 */
#ifndef WEIR_TX_H
#define WEIR_TX_H

#include "sock.h"

/* What weir_tx_burst() stops at: the next one is to be cut into segments first. Not an errno. */
#define WEIR_TX_SEGMENT 1

/*
 * Send up to n datagrams from sk, in order. Returns how many: those mbufs are the stack's. *err says why
 * not all (0: all); the rest is the caller's, untouched. -EAGAIN: queue full. WEIR_TX_SEGMENT.
 */
uint16_t weir_tx_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
		       uint16_t n, int *err);

#endif /* WEIR_TX_H */
