/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error queue of a socket with WEIR_OPT_RECVERR: what the network and the own host said about
 * datagrams that were sent. Bounded: the oldest WEIR_ERRQ_MAX stay, what comes on top is counted and
 * gone. Not HOT: one message at a time, behind a small lock of its own. Layer 1.
 */
#ifndef WEIR_ERRQ_H
#define WEIR_ERRQ_H

#include "sock.h"

#define WEIR_ERRQ_MAX 64

/* struct weir_sockerr.origin */
#define WEIR_ERR_LOCAL 1
#define WEIR_ERR_ICMP  2
#define WEIR_ERR_ICMP6 3

/* Make the queue unless there is one. Control lock. -ENOMEM. */
int weir_errq_init(struct weir_socket *sk);

/*
 * Append an entry, and wake who waits. An error from the network also becomes the socket's pending one;
 * one of the own host is the sending call's answer already. -ENOENT: the socket has no queue; -ENOBUFS:
 * full, counted. RCU reader.
 */
int weir_errq_put(struct weir_socket *sk, const struct weir_sockerr *e);

/* Is there an entry? Any thread. */
bool weir_errq_pending(const struct weir_socket *sk);

/* Entries that found the queue full. */
uint64_t weir_errq_lost(const struct weir_socket *sk);

/* Forget all entries: the option was turned off, or the socket is closed. Any thread. */
void weir_errq_purge(struct weir_socket *sk);

/* Free it, after the grace period of close. */
void weir_errq_fini(struct weir_socket *sk);

#endif /* WEIR_ERRQ_H */
