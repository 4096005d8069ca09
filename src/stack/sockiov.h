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

/* A datagram was read, of which len bytes were returned: the peek offset moves back. COLD. */
void weir_peek_back(struct weir_socket *sk, uint32_t len);

/* Is there anything for weir_peek_back() to do? */
static inline bool
weir_peeked(const struct weir_socket *sk)
{
	return atomic_load_explicit((_Atomic int32_t *)(uintptr_t)&sk->peek_off,
				    memory_order_relaxed) > 0 ||
	       atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&sk->peek_empties,
				    memory_order_relaxed) != 0;
}

#endif /* WEIR_SOCKIOV_H */
