/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What socket.c and sockopt.c share. CONTROL; all under the control lock.
 */
#ifndef WEIR_SOCK_PRIV_H
#define WEIR_SOCK_PRIV_H

#include "sock.h"

#define WEIR_DEFAULT_TTL 64

/* Bind to an interface (-1: any), re-indexing the socket. -ENOMEM: nothing changed. */
int weir_sock_rehash(struct weir_socket *sk, int16_t bind_port);

/* Options or names that a sender looks at have changed. */
void weir_sock_tx_changed(struct weir_socket *sk);

/* Give up name and port. */
void weir_sock_unbind(struct weir_socket *sk);

/* Leave every multicast group. */
void weir_sock_leave_all(struct weir_socket *sk);

#endif /* WEIR_SOCK_PRIV_H */
