/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket structure by cache line, and what the data path does to a socket. Layer 1; the public
 * calls are in socket.c (life and names), sockopt.c (options), sockio.c (data), event.c (waiting).
 */
#ifndef WEIR_SOCK_H
#define WEIR_SOCK_H

#include <pthread.h>

#include <weir/socket.h>

#include "lcore.h"
#include "recvq.h"
#include "socktab.h"

#define WEIR_NO_OWNER UINT16_MAX

/*
 * Local and peer name. Immutable: every change publishes a new one, the old one goes after a grace
 * period. A sender loads the pointer once per burst, so connect() never shows it half a name.
 */
struct weir_names {
	union weir_ip bound;   /* local address, zero: any */
	struct weir_addr peer; /* family 0: not connected; never IPv4-mapped: then it is IPv4 */
	uint32_t scope;        /* of a link-local `bound`: weir port index + 1; else 0 */
	uint16_t lport;        /* network order, 0: unbound */
	uint8_t family;        /* of `bound`; an IPv6 socket bound to an IPv4 address: IPv4 */
	bool group; /* bound to a broadcast or multicast address: a filter, not a source */
};
static_assert(sizeof(struct weir_names) <= WEIR_CACHE_LINE, "one line");

/*
 * Options that a sender reads. Atomic, for control may set them under its eyes: one by one, so a sender
 * may see one of two that were set in a row.
 */
struct weir_txopt {
	_Atomic uint8_t ttl, tos;
	_Atomic uint8_t mcast_ttl;
	_Atomic uint8_t pmtud; /* enum weir_pmtud */
	_Atomic bool
		plain; /* IPv4: nothing below but broadcast, segment: the route's template holds */
	_Atomic bool plain6; /* IPv6: nothing of weir_tx6opt, and no interface */
	_Atomic bool broadcast;
	_Atomic bool no_check;
	_Atomic bool mcast_loop;
	_Atomic uint16_t segment;
	_Atomic int16_t mcast_port; /* -1: by route */
};

/* The same for datagrams over IPv6, looked at when plain6 is false. */
struct weir_tx6opt {
	_Atomic int16_t hops; /* -1: what the port's routers advertise, else 64 */
	_Atomic uint8_t tclass;
	_Atomic uint8_t mcast_hops;
	_Atomic uint8_t pmtud; /* enum weir_pmtud */
	_Atomic bool dontfrag; /* -EMSGSIZE instead of fragments of our making */
	_Atomic bool mcast_loop;
	_Atomic bool no_check;       /* RFC 6935: UDP checksum 0 */
	_Atomic uint32_t flow_label; /* host order, 20 bits */
	_Atomic int16_t mcast_port;  /* -1: by route */
};

struct weir_errq; /* errq.h */

/* A multicast group that a socket has joined on a port: what it wants to hear of it (RFC 3376 2). */
struct weir_member {
	struct weir_addr group;
	uint16_t port;
	bool include; /* the sources are those wanted; else those not wanted */
	bool fixed;   /* it has named sources one by one: it cannot change from one to the other */
	uint16_t n_sources;
	const union weir_ip *source; /* in the same memory, behind all members */
};

/* All that a socket has joined. Immutable once published. */
struct weir_members {
	unsigned int n;
	struct weir_member member[];
};

struct weir_watch; /* event.h */

/* Waiting for a socket: event.c. Written when somebody waits, never per datagram. */
struct weir_waiting {
	atomic_uint lock;         /* order: before the receive queue's */
	_Atomic uint32_t seq;     /* futex word: moved by every wake */
	uint32_t asleep;          /* threads in weir_event_wait(); lock */
	uint32_t unwoken;         /* of those, for how many no wake is on its way; lock */
	struct weir_watch *watch; /* who else wants to be told; lock */
	_Atomic int efd;          /* eventfd, -1: none made yet */
	_Atomic bool signalled;   /* the eventfd is readable */
	_Atomic bool muted;       /* nobody looks at the eventfd */
	_Atomic bool closed;      /* threads that wait give up */
	weir_counter wakes;
};

struct weir_socket {
	/* Senders and lookups read; control writes. */
	struct weir_stack *stack;
	struct weir_names *_Atomic names; /* never NULL */
	struct weir_txopt tx;
	_Atomic int16_t bind_port; /* weir port index, -1: any */
	uint8_t family;
	_Atomic uint8_t shut; /* enum weir_shutdown */
	_Atomic bool gro, mcast_all, mcast_all6, recverr, recverr6, reuseaddr, reuseport, freebind;
	_Atomic bool v6only;   /* an IPv6 socket that has nothing to do with IPv4 */
	bool stable;           /* control only */
	_Atomic int16_t lcore; /* preferred worker, -1 */
	/* Written when an error comes. Positive errno. */
	_Atomic int32_t error;
	uint32_t id;     /* index in stack->socks */
	uint16_t serial; /* tells sockets apart that have had the same id */

	/* The hand-over point: several lines, see recvq.h. */
	struct weir_recvq rq;

	/* Senders. The first lcore that sends owns the plain counter, others share the atomic one. */
	alignas(WEIR_CACHE_LINE) weir_counter sent;
	_Atomic uint64_t sent_others;
	_Atomic uint16_t tx_owner;
	_Atomic uint16_t rx_owner; /* lcore slot of the last reader */
	/* The last send found the queue of this port full: lcore slot << 8 | port + 1; 0: it did not. */
	_Atomic uint32_t blocked;
	_Atomic int32_t peek_off; /* -1: off; reader's */
	_Atomic uint32_t
		peek_empties; /* empty datagrams at that offset that have been shown; reader's */
	struct weir_tx6opt tx6;

	alignas(WEIR_CACHE_LINE) struct weir_waiting wait;
	struct weir_errq *_Atomic errq;       /* made with the first WEIR_OPT_RECVERR */
	struct weir_members *_Atomic members; /* groups joined; NULL: none */

	/* Control lock. */
	alignas(WEIR_CACHE_LINE) struct weir_sockent *ent; /* place in the socket table */
	struct weir_sockent *ent4; /* the other one, for IPv4, of an IPv6 socket bound to :: */
	struct weir_socket *port_next, **port_prev;   /* others bound to the same port */
	struct weir_socket *close_next, **close_prev; /* others closed and not yet reclaimed */
	bool port_explicit, addr_explicit;
};
static_assert(offsetof(struct weir_socket, rq) == WEIR_CACHE_LINE, "one line for senders");

/* RCU reader, or control under its lock. */
static inline const struct weir_names *
weir_sock_names(const struct weir_socket *sk)
{
	/* Acquire: pairs with the release of socket.c's set_names(). */
	return atomic_load_explicit((struct weir_names * _Atomic *)(uintptr_t)&sk->names,
				    memory_order_acquire);
}

static inline bool
weir_names_connected(const struct weir_names *n)
{
	return n->peer.family != WEIR_UNSPEC;
}

/*
 * Does sk, by its own joining, want what src sends to a group, from the port (index)? 1, 0; -1: it has not joined,
 * mcast_all(6) decides. As Linux, joining an IPv6 group on one port is enough for all. RCU reader.
 */
static inline int
weir_sock_wants(const struct weir_socket *sk, unsigned int port, const union weir_ip *group,
		const union weir_ip *src, uint8_t family)
{
	const struct weir_members *m =
		atomic_load_explicit((struct weir_members * _Atomic *)(uintptr_t)&sk->members,
				     memory_order_acquire);

	for (unsigned int i = 0; m != NULL && i < m->n; i++) {
		const struct weir_member *x = &m->member[i];

		if (x->group.family != family || x->group.ip.w[0] != group->w[0] ||
		    x->group.ip.w[1] != group->w[1] || (x->port != port && family == WEIR_IPV4))
			continue;
		for (unsigned int k = 0; k < x->n_sources; k++)
			if (x->source[k].w[0] == src->w[0] && x->source[k].w[1] == src->w[1])
				return x->include;
		return !x->include;
	}
	return -1;
}

/* Give an unbound socket an ephemeral port, before its first send. Takes the control lock. -EAGAIN. */
int weir_sock_autobind(struct weir_socket *sk);

/*
 * An error about a datagram of sk came in: into its error queue, if it has one; else a hard error pends
 * on a connected socket. Any lcore: the error word is atomic, the queue has a lock. RCU reader.
 */
void weir_sock_report(struct weir_socket *sk, const struct weir_sockerr *e, bool hard);

#endif /* WEIR_SOCK_H */
