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
#include <sys/uio.h>

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
	uint8_t ttl;         /* 0: 64; IPv6: what the routers advertise, else 64 */
	uint8_t tos;         /* whole TOS byte; 0 */
	uint8_t family;      /* WEIR_IPV4 (default when 0), WEIR_IPV6: see WEIR_OPT_V6ONLY */
	bool v6only;         /* WEIR_OPT_V6ONLY from the start */
	bool broadcast;      /* may send to broadcast addresses */
	bool readers;        /* several threads may receive: a lock per receive call */
};

/*
 * Options of a socket, each one integer; "flag" is 0 or 1. Default in brackets. Any thread may set
 * them at any time unless noted; a change holds for what is sent or arrives afterwards.
 */
enum weir_sockopt {
	WEIR_OPT_RCVBUF = 1, /* receive buffer in true-size bytes, 1 .. stack's rcvbuf_max */
	WEIR_OPT_BROADCAST,  /* flag [0]: may send to and connect to broadcast addresses */
	WEIR_OPT_REUSEADDR, /* flag [0]: shares its port with sockets that have it too; set it before bind */
	WEIR_OPT_REUSEPORT, /* flag [0]: shares its port and the load; all must have it; set it before bind */
	WEIR_OPT_FREEBIND, /* flag [0]: may bind to an address that is not ours; sends fail */
	WEIR_OPT_BIND_PORT, /* weir port index [-1: any]: receives from and sends by this port only */
	WEIR_OPT_TTL,       /* 1 .. 255 [64] */
	WEIR_OPT_TOS,       /* 0 .. 255 [0] */
	WEIR_OPT_MTU_DISCOVER, /* enum weir_pmtud [WEIR_PMTUD_WANT] */
	WEIR_OPT_NO_CHECK,     /* flag [0]: send with UDP checksum 0 (IPv4) */
	WEIR_OPT_RECVERR,      /* flag [0]: keep errors from the network in the error queue */
	WEIR_OPT_PEEK_OFF,     /* where the next peek starts, bytes; [-1: always at the first] */
	WEIR_OPT_READERS,      /* flag: several threads may receive; not while one is receiving */
	WEIR_OPT_GRO,       /* flag [0]: hand over trains of equal datagrams as one, see gso_size */
	WEIR_OPT_SEGMENT,   /* bytes [0: off]: cut what is sent into datagrams of this payload */
	WEIR_OPT_LCORE,     /* worker index [-1]: preferred among reuse-port members on its lcore */
	WEIR_OPT_STABLE,    /* flag [0]: in a reuse-port group, closing moves only its own flows */
	WEIR_OPT_MCAST_TTL, /* 0 .. 255 [1] */
	WEIR_OPT_MCAST_LOOP, /* flag [1]: what is sent to a group reaches members on this stack */
	WEIR_OPT_MCAST_PORT, /* weir port index [-1: by route] that groups are sent by */
	WEIR_OPT_MCAST_ALL,  /* flag [1]: receives groups that others on this stack have joined */
	/*
	 * flag [0]: an IPv6 socket speaks IPv6 only. Else it is both: bound to :: it receives IPv4 too, and it
	 * may be bound and connected to, and send to, IPv4 addresses. What goes over IPv4 obeys the options
	 * above, what goes over IPv6 those below. Set it before bind.
	 */
	WEIR_OPT_V6ONLY,
	WEIR_OPT_HOPS,          /* 0 .. 255 [-1: what the routers advertise, else 64] */
	WEIR_OPT_TCLASS,        /* 0 .. 255 [0] */
	WEIR_OPT_FLOW_LABEL,    /* 0 .. 0xfffff [0] */
	WEIR_OPT_MTU_DISCOVER6, /* enum weir_pmtud [WEIR_PMTUD_WANT] */
	WEIR_OPT_DONTFRAG,      /* flag [0]: -EMSGSIZE for what is larger than the path's MTU */
	WEIR_OPT_NO_CHECK6,     /* flag [0]: send with UDP checksum 0 (RFC 6935) */
	WEIR_OPT_RECVERR6,      /* flag [0]: as WEIR_OPT_RECVERR */
	WEIR_OPT_MCAST_HOPS,    /* 0 .. 255 [1] */
	WEIR_OPT_MCAST_LOOP6,   /* flag [1] */
	WEIR_OPT_MCAST_PORT6,   /* weir port index [-1: by route] */
	WEIR_OPT_MCAST_ALL6,    /* flag [1] */
};

/** Path MTU discovery, as Linux numbers it. */
enum weir_pmtud {
	WEIR_PMTUD_DONT = 0,      /* fragments what is too large, DF clear */
	WEIR_PMTUD_WANT = 1,      /* DF set; fragments what is larger than the known path MTU */
	WEIR_PMTUD_DO = 2,        /* DF set; -EMSGSIZE for what is larger */
	WEIR_PMTUD_PROBE = 3,     /* as DO, but against the port's MTU */
	WEIR_PMTUD_INTERFACE = 4, /* as PROBE, DF clear: path MTU messages are not believed */
	WEIR_PMTUD_OMIT = 5,      /* as INTERFACE, but fragments */
};

/** A received datagram. The mbuf is the application's; its data is the payload. */
struct weir_rxmsg {
	struct rte_mbuf *m;
	struct weir_addr peer;  /* source address and port */
	struct weir_addr local; /* destination address and port of the datagram */
	uint64_t time_ns;       /* weir clock at arrival of the burst */
	uint32_t drops;         /* datagrams this socket has refused before this one, modulo 2^32 */
	uint16_t port;          /* weir port index it came in by; WEIR_PORT_LOOPBACK */
	uint16_t gso_size; /* WEIR_OPT_GRO: payload of each datagram but the last; 0: one only */
	uint32_t len;      /* payload bytes, all segments */
	uint32_t hash;     /* RSS hash of the port, 0 when it gave none */
	uint8_t ttl, tos;  /* IPv6: hop limit, traffic class */
	uint32_t flow;     /* IPv6: flow label, host order; IPv4: 0 */
};

/** Most datagrams that WEIR_OPT_SEGMENT cuts one buffer into. */
#define WEIR_MAX_SEGMENTS 128

/** What one datagram wants differently from its socket. Zero-filled: nothing. */
struct weir_txctl {
	struct weir_addr from; /* source address; family WEIR_UNSPEC: the socket's */
	int port;              /* weir port index + 1 to leave by; 0: by route */
	uint16_t segment;      /* as WEIR_OPT_SEGMENT; 0: the socket's */
	uint8_t ttl;           /* IPv6: the hop limit; 0: the socket's, without has_ttl */
	uint8_t tos;           /* IPv6: the traffic class; with has_tos */
	bool has_tos;
	bool has_ttl;  /* ttl holds, and is 0 if it is 0 */
	bool dontfrag; /* IPv6: as WEIR_OPT_DONTFRAG */
	bool confirm; /* the peer has answered lately: its neighbour entry is alive (RFC 4861 7.3.1) */
	uint32_t flow; /* IPv6 flow label, host order; 0: the socket's */
};

/** A datagram to send. The mbuf's data is the payload (headroom: WEIR_TX_HEADROOM). Zero what is not used. */
struct weir_txmsg {
	struct rte_mbuf *m;
	const struct weir_addr *to;   /* NULL: the connected peer */
	const struct weir_txctl *ctl; /* NULL: nothing special */
};

/** Room that a sender leaves in front of the payload; with less a header buffer is chained. */
#define WEIR_TX_HEADROOM 80

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
 * unreachables are reported. Binds implicitly; the local address becomes the route's source. A
 * thread that sends meanwhile does so with the old names or the new ones.
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

/**
 * Set and read an option. -EINVAL (value: see enum weir_sockopt; or too late), -ENOPROTOOPT (no such
 * option), -ENODEV (no such port), -ENOMEM. [any]
 */
WEIR_API int weir_socket_set(struct weir_socket *sk, enum weir_sockopt opt, int64_t value);
WEIR_API int weir_socket_get(const struct weir_socket *sk, enum weir_sockopt opt, int64_t *value);

enum weir_shutdown { WEIR_SHUT_RD = 1, WEIR_SHUT_WR = 2, WEIR_SHUT_RDWR = 3 };

/**
 * Shut one or both directions down, for good. Sends then fail with -EPIPE; waiting readers wake, and
 * find -ESHUTDOWN once the queue is empty; datagrams are still queued and can be read (as Linux does).
 * -ENOTCONN: not connected, but done all the same. [any]
 */
WEIR_API int weir_socket_shutdown(struct weir_socket *sk, enum weir_shutdown how);

/**
 * Join a multicast group on a port (index; -1: by route, for a link-local IPv6 group its scope), to hear all
 * sources (source NULL) or, call by call, some. -EINVAL (no group), -ENODEV, -EADDRINUSE (joined already),
 * -EADDRNOTAVAIL (that source too), -ENOBUFS (WEIR_MAX_GROUPS, too many sources), -ENOMEM. Leave: with a source,
 * that one only (-EINVAL when the group is not joined), and with the last one the group. -EADDRNOTAVAIL when not joined. An IPv6 socket can join groups
 * of both families. [any]
 */
WEIR_API int weir_socket_join(struct weir_socket *sk, const struct weir_addr *group,
			      const struct weir_addr *source, int port);
WEIR_API int weir_socket_leave(struct weir_socket *sk, const struct weir_addr *group,
			       const struct weir_addr *source, int port);
#define WEIR_MAX_GROUPS 20

/** Sources named for one group: at most 10 (IPv4), 64 (IPv6). */
#define WEIR_MAX_SOURCES4 10
#define WEIR_MAX_SOURCES6 64

/**
 * Hear a group, but not this source; hear it again. -EINVAL: not joined, or for some sources only;
 * -EADDRNOTAVAIL: blocked already, not blocked; else as join. [any]
 */
WEIR_API int weir_socket_block(struct weir_socket *sk, const struct weir_addr *group,
			       const struct weir_addr *source, int port);
WEIR_API int weir_socket_unblock(struct weir_socket *sk, const struct weir_addr *group,
				 const struct weir_addr *source, int port);

/**
 * The whole filter of a group that was joined, at once: include: the n sources are those wanted, none of
 * them leaves the group; else those not wanted. -EINVAL: not joined; else as join. [any]
 */
WEIR_API int weir_socket_filter(struct weir_socket *sk, const struct weir_addr *group, int port,
				int include, const struct weir_addr *sources, unsigned int n);

/**
 * Read it: up to n sources; returns how many there are. -EADDRNOTAVAIL: not joined. [any]
 */
WEIR_API int weir_socket_filter_get(struct weir_socket *sk, const struct weir_addr *group, int port,
				    int *include, struct weir_addr *sources, unsigned int n);

/**
 * Chooses the member of a reuse-port group for one datagram: returns an index into the group's members
 * in order of binding, or a negative number for the built-in choice. payload: the first len bytes of
 * the datagram, enough for a QUIC connection id. Runs on the receiving lcore, per datagram: no lock,
 * no call into weir.
 */
typedef int (*weir_select_fn)(void *arg, const void *payload, uint32_t len, uint32_t hash,
			      unsigned int n_members);

/** Give the group that sk is a member of its selector; NULL: none. -EINVAL: in no group. [any] */
WEIR_API int weir_socket_select(struct weir_socket *sk, weir_select_fn fn, void *arg);

/**
 * A descriptor that becomes readable when there may be something to read, or an error: it only says
 * "look". Level-triggered: stays readable until a receive call finds nothing, which arms it again.
 * Owned by the socket. For any event loop. -EMFILE. [any]
 */
WEIR_API int weir_socket_eventfd(struct weir_socket *sk);

/** One entry of the error queue. */
struct weir_sockerr {
	int err;                   /* positive errno */
	uint8_t origin;            /* 1: this host, 2: ICMP, 3: ICMPv6 */
	uint8_t type, code;        /* of the ICMP message */
	uint32_t info;             /* path MTU with EMSGSIZE */
	struct weir_addr to;       /* where the datagram was sent */
	struct weir_addr offender; /* who complained */
	uint32_t len;              /* payload of the datagram, as much as was quoted */
	uint8_t payload[548];
};

/** Take the oldest entry of the error queue: 0, -EAGAIN. The next one's errno then pends. [any] */
WEIR_API int weir_socket_errqueue(struct weir_socket *sk, struct weir_sockerr *out);

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
	uint64_t wakes;         /* times a sleeping reader was woken */
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
 * Wait until a datagram is queued, an error pends or the receive side is shut down: 0; -ETIMEDOUT,
 * -EINTR (a signal). A worker runs its turns meanwhile; another thread spins for a moment, then sleeps.
 */
WEIR_API int weir_recv_wait(struct weir_lcore *lc, struct weir_socket *sk, uint64_t timeout_ns);

enum weir_recv_flags {
	WEIR_RECV_PEEK = 1, /* leave it queued, see WEIR_OPT_PEEK_OFF */
	WEIR_RECV_TRUNC =
		2, /* return the datagram's whole length, and move the peek offset by it */
};

/**
 * One datagram, copied into iov. Returns how many bytes were copied; info (may be NULL) describes it:
 * info->len is its whole length (with a peek offset: what is left from there), info->m is NULL.
 * -EAGAIN, -ESHUTDOWN (nothing queued and the receive side is shut down), a pending error.
 */
WEIR_API ssize_t weir_recv_iov(struct weir_lcore *lc, struct weir_socket *sk,
			       const struct iovec *iov, unsigned int n_iov, struct weir_rxmsg *info,
			       unsigned int flags);

/** One datagram gathered from iov, copied. ctl and to may be NULL. As weir_send(). */
WEIR_API ssize_t weir_send_iov(struct weir_lcore *lc, struct weir_socket *sk,
			       const struct iovec *iov, unsigned int n_iov,
			       const struct weir_addr *to, const struct weir_txctl *ctl);

/** Payload bytes of the datagram that the next receive call returns; 0: none (or it is empty). */
WEIR_API uint32_t weir_recv_next_len(struct weir_lcore *lc, struct weir_socket *sk);

/** n buffers with headroom for all headers, all or none: 0, or -ENOBUFS (pool at its reserve). */
WEIR_API int weir_mbuf_alloc_bulk(struct weir_lcore *lc, struct rte_mbuf **mbufs, unsigned int n);

/** Give buffers back. NULL entries are skipped. [any] */
WEIR_API void weir_mbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int n);

WEIR_END_DECLS

#endif /* WEIR_SOCKET_H */
