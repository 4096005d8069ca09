/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets: native calls, by handle and by burst.
 *
 * Zero copy is the rule: receive hands over the mbufs that the port filled, positioned at the
 * payload; send takes mbufs whose data is the payload. Copying helpers stand on top. A socket may be
 * created by any thread; one thread at a time receives from it (single reader), any number of lcores
 * deliver to it, any lcore sends through it.
 *
 * Receive buffer. Each queued datagram is charged its *true size*: for every segment
 * WEIR_TRUESIZE_OVERHEAD plus the segment's whole buffer length, whatever the payload. A datagram is
 * refused (reason rcvq_full) when the charge would exceed the limit, except that an empty queue
 * always takes one. Charges are given back in lumps as the reader takes datagrams, and completely
 * when it finds the queue empty.
 */
#ifndef WEIR_SOCKET_H
#define WEIR_SOCKET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <weir/addr.h>
#include <weir/api.h>
#include <weir/stack.h>

WEIR_BEGIN_DECLS

struct weir_socket;

/** Bytes charged per buffer besides the buffer itself: the mbuf structure. */
#define WEIR_TRUESIZE_OVERHEAD 128

struct weir_socket_conf {
	size_t size;         /* sizeof(struct weir_socket_conf) */
	unsigned int rcvbuf; /* true-size bytes; 0: the stack's default */
	uint8_t ttl;         /* 0: 64 */
	uint8_t tos;         /* whole TOS byte; 0 */
	uint8_t family;      /* WEIR_IPV4 (default when 0) */
	bool broadcast;      /* may send to broadcast addresses */
};

/** A received datagram. The mbuf is the application's; its data is the payload. */
struct weir_rxmsg {
	struct rte_mbuf *m;
	struct weir_addr peer;  /* source address and port */
	struct weir_addr local; /* destination address and port of the datagram */
	uint64_t time_ns;       /* weir clock at arrival of the burst */
	uint32_t len;           /* payload bytes, all segments */
	uint32_t hash;          /* RSS hash of the port, 0 when it gave none */
	uint32_t drops;         /* datagrams this socket has refused before this one, modulo 2^32 */
	uint16_t port;          /* weir port index it came in by */
	uint8_t ttl, tos;
};

/** A datagram to send. The mbuf's data is the payload (headroom: WEIR_TX_HEADROOM). */
struct weir_txmsg {
	struct rte_mbuf *m;
	const struct weir_addr *to; /* NULL: the connected peer */
};

/** Room that a sender leaves in front of the payload; with less a header buffer is chained. */
#define WEIR_TX_HEADROOM 64

enum weir_send_flags {
	/*
	 * What the port's full queue refuses is dropped and counted (txq_refused) instead of being
	 * handed back: the behaviour of a load generator.
	 */
	WEIR_SEND_DROP = 1,
};

/* ---- control, [any] ---- */

/** Defaults, as in the comments. */
WEIR_API void weir_socket_conf_init(struct weir_socket_conf *conf);

/**
 * Open a socket; conf NULL: defaults. -EINVAL, -EAFNOSUPPORT, -ENOMEM, -EMFILE (max_sockets are open, or
 * closed ones wait for a worker that does not take its turns).
 */
WEIR_API int weir_socket_open(struct weir_stack *stack, const struct weir_socket_conf *conf,
			      struct weir_socket **out);

/**
 * Bind to a local address (unspecified: any) and port (0: an ephemeral one). -EINVAL (bound
 * already), -EADDRNOTAVAIL (not ours), -EADDRINUSE, -EAFNOSUPPORT.
 */
WEIR_API int weir_socket_bind(struct weir_socket *sk, const struct weir_addr *local);

/**
 * Set the peer: only its datagrams are received, sends may omit the destination, its port
 * unreachables are reported. Binds implicitly; the local address becomes the route's source. Not
 * while another thread sends through the socket.
 * -ENETUNREACH, -EACCES (broadcast not allowed), -EAFNOSUPPORT, -EAGAIN (no ephemeral port left).
 */
WEIR_API int weir_socket_connect(struct weir_socket *sk, const struct weir_addr *peer);

/** Dissolve the association: 0, -ENOMEM. An implicitly chosen port and address are given up. */
WEIR_API int weir_socket_disconnect(struct weir_socket *sk);

/**
 * Close. No call on the handle may be running or follow. Datagrams that were not read are dropped
 * and counted (sock_closed) once every lcore has passed a turn. Always 0.
 */
WEIR_API int weir_socket_close(struct weir_socket *sk);

/** Local name; family unspecified and port 0 when unbound. */
WEIR_API void weir_socket_local(const struct weir_socket *sk, struct weir_addr *out);
/** Peer; -ENOTCONN. */
WEIR_API int weir_socket_peer(const struct weir_socket *sk, struct weir_addr *out);

/** Pending error as a negative errno (-ECONNREFUSED, ...), cleared; 0 when there is none. */
WEIR_API int weir_socket_error(struct weir_socket *sk);

struct weir_socket_stats {
	uint64_t queued;        /* datagrams appended to the receive queue */
	uint64_t read;          /* datagrams handed to the application */
	uint64_t rcvq_full;     /* refused: buffer full */
	uint64_t mem_limit;     /* refused: pool low */
	uint64_t sent;          /* datagrams accepted for sending */
	uint64_t charged_bytes; /* true size held now, releases owed included */
	uint64_t rcvbuf_bytes;  /* limit */
	uint64_t splices;       /* times the reader took the shared queue over */
};
WEIR_API void weir_socket_stats_get(const struct weir_socket *sk, struct weir_socket_stats *out);

/* ---- data, [lcore] ---- */

/**
 * Up to n datagrams, oldest first. Returns how many; 0: none queued. The mbufs are the
 * application's: give them back with weir_mbuf_free_bulk(), or send them on. The thread that calls
 * is the socket's reader. Never blocks, takes a lock only when its own queue is empty.
 */
WEIR_API uint16_t weir_recv_burst(struct weir_lcore *lc, struct weir_socket *sk,
				  struct weir_rxmsg *msgs, uint16_t n);

/**
 * One datagram, copied: returns its whole length, of which at most size bytes are in buf.
 * -EAGAIN when none is queued; a pending error is returned first. from may be NULL.
 */
WEIR_API ssize_t weir_recv(struct weir_lcore *lc, struct weir_socket *sk, void *buf, size_t size,
			   struct weir_addr *from);

/**
 * Send up to n datagrams in order. Returns how many were accepted: those mbufs are the stack's. The
 * rest stay the caller's, untouched; weir_send_error() says why. Accepted datagrams leave at the
 * latest at the end of the worker's turn (the calling one's, or for an attached thread that of the
 * worker which owns its queue), or at weir_flush(). Datagrams for a neighbour that must be asked for
 * first are held, bounded.
 */
WEIR_API uint16_t weir_send_burst(struct weir_lcore *lc, struct weir_socket *sk,
				  const struct weir_txmsg *msgs, uint16_t n, unsigned int flags);

/**
 * Why the last weir_send_burst() of this lcore took fewer than n: -EAGAIN (queue full), -ENETUNREACH,
 * -EMSGSIZE, -EDESTADDRREQ, -EINVAL, -EACCES, -EHOSTUNREACH, -ENOBUFS, a pending socket error. 0: it
 * took all.
 */
WEIR_API int weir_send_error(const struct weir_lcore *lc);

/** One datagram, copied. Returns len, or a negative errno as above. to NULL: the peer. */
WEIR_API ssize_t weir_send(struct weir_lcore *lc, struct weir_socket *sk, const void *buf,
			   size_t len, const struct weir_addr *to);

/**
 * Wait until a datagram is queued or an error pends: 0; -ETIMEDOUT. A worker runs its turns
 * meanwhile; an attached thread spins and yields.
 */
WEIR_API int weir_recv_wait(struct weir_lcore *lc, struct weir_socket *sk, uint64_t timeout_ns);

/** n buffers with headroom for all headers, all or none: 0, or -ENOBUFS (pool at its reserve). */
WEIR_API int weir_mbuf_alloc_bulk(struct weir_lcore *lc, struct rte_mbuf **mbufs, unsigned int n);

/** Give buffers back. NULL entries are skipped. [any] */
WEIR_API void weir_mbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int n);

WEIR_END_DECLS

#endif /* WEIR_SOCKET_H */
