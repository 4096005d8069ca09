/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sockio.c hands on to sockiov.c.
 */
#ifndef WEIR_SOCKIOV_H
#define WEIR_SOCKIOV_H

#include "sock.h"

/* weir_recv_burst() of a socket with WEIR_OPT_GRO: each message is a train, its mbufs chained. */
uint16_t weir_recv_trains(struct weir_lcore *lc, struct weir_socket *sk, struct weir_rxmsg *msgs,
			  uint16_t n);

#endif /* WEIR_SOCKIOV_H */
