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

/*
 * One datagram of len bytes in a buffer fresh from the stack, by a socket and to a destination that nobody wants anything
 * special of, straight through. True: it is the stack's. False: nothing has been done, weir_tx_burst() knows more.
 */
bool weir_tx_lean(struct weir_lcore *lc, const struct weir_socket *sk,
		  const struct weir_names *names, const struct weir_addr *to, struct rte_mbuf *m);

/*
 * Bytes of IP packet that a datagram of sk may have without being refused as too long (-EMSGSIZE): what WEIR_OPT_RECVERR
 * reports. 0: there is no way. COLD.
 */
uint32_t weir_tx_mtu(struct weir_lcore *lc, const struct weir_socket *sk,
		     const struct weir_txmsg *msg);

#endif /* WEIR_TX_H */
