/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket structure by cache line, and what the data path does to a socket. Layer 1; the public
 * calls are in socket.c.
 */
#ifndef WEIR_SOCK_H
#define WEIR_SOCK_H

#include <weir/socket.h>

#include "lcore.h"
#include "recvq.h"
#include "socktab.h"

#define WEIR_NO_OWNER UINT16_MAX

struct weir_socket {
	/* Senders and lookups read; control writes (bind, connect). */
	struct weir_stack *stack;
	union weir_ip bound;   /* local address, zero: any */
	struct weir_addr peer; /* family 0: not connected */
	uint16_t lport;        /* network order, 0: unbound */
	uint8_t ttl, tos;
	bool broadcast;
	bool bound_group;     /* to a broadcast address: a filter, not a source */
	bool default_ttl_tos; /* the route's template holds already */
	/* Written when an ICMP error comes, by the owner. */
	_Atomic int32_t error; /* positive errno */

	/* The hand-over point: several lines, see recvq.h. */
	struct weir_recvq rq;

	/* Senders. The first lcore that sends owns the plain counter, others share the atomic one. */
	alignas(WEIR_CACHE_LINE) weir_counter sent;
	_Atomic uint64_t sent_others;
	_Atomic uint16_t tx_owner;
	_Atomic uint16_t rx_owner; /* lcore slot of the last reader */

	/* Control lock. */
	alignas(WEIR_CACHE_LINE) struct weir_sockent *ent; /* place in the socket table */
	struct weir_socket *port_next;                     /* others bound to the same port */
	struct weir_socket *close_next;
	uint32_t id;     /* index in stack->socks */
	uint16_t serial; /* tells sockets apart that have had the same id */
	bool port_explicit, addr_explicit;
};
static_assert(offsetof(struct weir_socket, rq) == WEIR_CACHE_LINE, "one line for senders");

static inline bool
weir_sock_connected(const struct weir_socket *sk)
{
	return sk->peer.family != WEIR_UNSPEC;
}

/* Give an unbound socket an ephemeral port, before its first send. Takes the control lock. -EAGAIN. */
int weir_sock_autobind(struct weir_socket *sk);

/*
 * An error came in for sk: set it, or tell the worker that reads the socket to. err: positive errno.
 * RCU reader.
 */
void weir_sock_report(struct weir_lcore *lc, struct weir_socket *sk, int err);

/* The mesh message of the above, on the owner: payload of WEIR_MSG_SOCK_ERR. */
void weir_sock_error_message(struct weir_lcore *lc, uint64_t payload);

#endif /* WEIR_SOCK_H */
