/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the BSD layer (<weir/bsd.h>): descriptors, threads, and what the calls share. Top layer:
 * nothing of the stack includes it.
 *
 *   bsd_fd.c     descriptors, threads, start and stop, dup, fork
 *   bsd_sock.c   names, life, ioctl
 *   bsd_recv.c   receive, the error queue
 *   bsd_send.c   send, corked datagrams
 *   bsd_cmsg.c   control messages (bsd_msg.h: what the three share)
 *   bsd_opt.c    options
 *   bsd_opt6.c   options of IPv6
 *   bsd_group.c  membership of groups, both families
 *   bsd_poll.c   poll and select
 *   bsd_epoll.c  epoll
 *
 * Descriptors. A table maps a number to a file (what POSIX calls an open file description), without a
 * lock and without a write to a shared line: a thread notes the file that it uses in a slot of its own
 * and looks at the table again (a hazard pointer). Who takes the last descriptor away retires the file;
 * it is destroyed when no thread's slot names it any more, by the closing thread or by the one that was
 * last to use it.
 *
 * Locks here are never held across a call that takes a stack's control lock, for a worker waits for
 * that lock by taking turns, and would not for these. Order: watch_lock, an epoll's mtx, a socket's
 * waiting lock (event.c), an epoll's lock.
 */
#ifndef WEIR_BSD_PRIV_H
#define WEIR_BSD_PRIV_H

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include <weir/bsd.h>

#include "../event.h"
#include "../sock.h"

#ifndef IPV6_FLOWINFO /* <linux/in6.h> cannot be had beside <netinet/in.h> */
#define IPV6_FLOWINFO      11
#define IPV6_FLOWINFO_SEND 33
#endif

/* ---- files ---- */

enum bsd_kind { BSD_SOCKET, BSD_EPOLL };

struct bsd_file {
	enum bsd_kind kind;
	_Atomic bool nonblock; /* O_NONBLOCK */
	_Atomic uint32_t refs; /* descriptors, and threads in poll; 0: retired */
	struct bsd_file *next; /* retired ones */
};

struct bsd_item; /* a socket in an epoll: bsd_epoll.c */
LIST_HEAD(bsd_items, bsd_item);

/* What a receive call is asked to tell by control messages; bits of bsd_sock.want. */
enum bsd_want {
	BSD_WANT_PKTINFO = 1 << 0,
	BSD_WANT_TTL = 1 << 1,
	BSD_WANT_TOS = 1 << 2,
	BSD_WANT_ORIGDST = 1 << 3,
	BSD_WANT_RXQ_OVFL = 1 << 4,
	BSD_WANT_TIMESTAMP = 1 << 5,
	BSD_WANT_TIMESTAMPNS = 1 << 6,
	BSD_WANT_GRO = 1 << 7,
	BSD_WANT_PKTINFO6 = 1 << 8, /* and of what came over IPv6 only: */
	BSD_WANT_HOPLIMIT = 1 << 9,
	BSD_WANT_TCLASS = 1 << 10,
	BSD_WANT_FLOWINFO = 1 << 11,
	BSD_WANT_ORIGDST6 = 1 << 12,
};

/* Pieces of a datagram that UDP_CORK or MSG_MORE holds back. lock. */
struct bsd_cork {
	pthread_mutex_t lock;
	_Atomic bool on;      /* UDP_CORK */
	_Atomic bool pending; /* there are pieces */
	uint8_t *buf;
	size_t len, cap;
	struct weir_addr to; /* family WEIR_UNSPEC: the peer */
	bool v4;             /* it goes over IPv4 */
	struct weir_txctl ctl;
};

/* Options that the stack has no use for: kept, so that they read back. All int. */
enum bsd_stored {
	BSD_ST_DEBUG,
	BSD_ST_KEEPALIVE,
	BSD_ST_OOBINLINE,
	BSD_ST_PRIORITY,
	BSD_ST_MARK,
	BSD_ST_RCVLOWAT,
	BSD_ST_SNDBUF,
	BSD_ST_LINGER_ON,
	BSD_ST_LINGER_TIME,
	BSD_ST_BIND_NO_PORT,
	BSD_ST_RECVOPTS,
	BSD_ST_RETOPTS,
	BSD_ST_DONTROUTE,
	BSD_ST_BUSY_POLL,
	BSD_ST_PEEK_NEVER, /* the negative offset that was set */
	BSD_ST_NO_CHECK6_TX,
	BSD_ST_NO_CHECK6_RX,
	BSD_ST_FLOWINFO_SEND,
	BSD_ST_AUTOFLOWLABEL,
	BSD_ST_ADDR_PREFERENCES,
	BSD_ST_N,
};

struct bsd_sock {
	struct bsd_file f;
	struct weir_socket *sk;
	_Atomic uint32_t want;     /* enum bsd_want */
	_Atomic uint64_t rcvtimeo; /* ns; UINT64_MAX: for ever */
	_Atomic uint64_t sndtimeo;
	_Atomic uint64_t spin_ns; /* SO_BUSY_POLL */
	_Atomic bool select_errq; /* SO_SELECT_ERR_QUEUE: priority readiness */
	_Atomic int late_error;   /* of recvmmsg, for the next call */
	_Atomic int stored[BSD_ST_N];
	_Atomic uint32_t mcast_if;    /* address given to IP_MULTICAST_IF */
	struct in6_pktinfo sticky;    /* given to IPV6_PKTINFO; control lock */
	_Atomic uint32_t sticky_port; /* what it means: port to leave by + 1; 0: any */
	uint64_t cookie;
	struct bsd_cork cork;
	struct bsd_items items; /* watch_lock */
};

/* ---- threads ---- */

#define BSD_DEPTH 8 /* calls inside calls: signal handlers, functions run by a turn */

struct bsd_thread {
	struct bsd_file *_Atomic use[BSD_DEPTH]; /* read by who closes */
	unsigned int depth;
	struct weir_lcore *attached; /* by us; NULL: not, or it is a worker */
	int kick;                    /* eventfd of a poll that sleeps, -1 */
	struct bsd_thread *next;
};

extern __thread struct bsd_thread *bsd_me __attribute__((tls_model("initial-exec")));

/* ---- the table ---- */

/*
 * One slot for each number that the process may ever have, by the limit at the start; the kernel gives
 * memory to the pages that are used.
 */
struct bsd {
	struct weir_stack *stack; /* NULL: not started */
	struct bsd_file *_Atomic *slots;
	uint32_t n_slots; /* 0 when not started, and in a forked child: no number is ours */
	_Atomic uint32_t n_retired;
	bool strong; /* no membarrier(2): every thread pays for the order itself */
};

extern struct bsd bsd;

/* Between watch lists of files and the epolls they are in. */
extern pthread_mutex_t bsd_watch_lock;

/* ---- a call's beginning and end ---- */

static inline int
bsd_fail(int err)
{
	errno = err;
	return -1;
}

/* 0 or a count as it is, a negative errno as POSIX has it. */
static inline ssize_t
bsd_ret(ssize_t ret)
{
	return ret >= 0 ? ret : bsd_fail((int)-ret);
}

struct bsd_thread *bsd_thread_new(void);

/* The calling thread's record; NULL with errno ENOMEM. */
static inline struct bsd_thread *
bsd_thread(void)
{
	return likely(bsd_me != NULL) ? bsd_me : bsd_thread_new();
}

static inline struct bsd_file *_Atomic *
bsd_slot(int fd)
{
	return likely((uint32_t)fd < bsd.n_slots) ? &bsd.slots[fd] : NULL;
}

/*
 * Order between our slot and what others write: a full fence, or, with membarrier(2), one that who
 * closes executes for all of us.
 */
static inline void
bsd_note(struct bsd_file *_Atomic *use, struct bsd_file *f)
{
	if (unlikely(bsd.strong)) {
		atomic_store_explicit(use, f, memory_order_seq_cst);
		return;
	}
	atomic_store_explicit(use, f, memory_order_release);
	atomic_signal_fence(memory_order_seq_cst);
}

/* Begin to use what fd stands for; NULL: not ours. bsd_leave() gives it back. */
static inline struct bsd_file *
bsd_enter(struct bsd_thread *t, int fd)
{
	struct bsd_file *_Atomic *slot = bsd_slot(fd);
	struct bsd_file *f, *again;

	if (unlikely(slot == NULL || t->depth == BSD_DEPTH))
		return NULL;
	f = atomic_load_explicit(slot, memory_order_acquire);
	for (;;) {
		bsd_note(&t->use[t->depth], f);
		again = atomic_load_explicit(slot, memory_order_seq_cst);
		if (likely(again == f))
			break;
		f = again;
	}
	if (unlikely(f == NULL))
		return NULL;
	t->depth++;
	return f;
}

/* Destroy retired files that nobody uses. */
void bsd_reap(void);

static inline void
bsd_leave(struct bsd_thread *t)
{
	bsd_note(&t->use[--t->depth], NULL);
	if (unlikely(atomic_load_explicit(&bsd.n_retired, memory_order_seq_cst) != 0))
		bsd_reap();
}

/*
 * Enter with a socket: NULL with errno EBADF, ENOTSOCK (a descriptor, but no socket of ours) or ENOMEM.
 */
struct bsd_sock *bsd_enter_failed(struct bsd_thread *t, int fd);

static inline struct bsd_sock *
bsd_enter_sock(struct bsd_thread **t, int fd)
{
	struct bsd_file *f;

	*t = bsd_thread();
	if (unlikely(*t == NULL))
		return NULL;
	f = bsd_enter(*t, fd);
	if (unlikely(f == NULL || f->kind != BSD_SOCKET)) {
		if (f != NULL)
			bsd_leave(*t);
		return bsd_enter_failed(*t, fd);
	}
	return (struct bsd_sock *)f;
}

/* Leave with a result. */
static inline ssize_t
bsd_done(struct bsd_thread *t, ssize_t ret)
{
	bsd_leave(t);
	return bsd_ret(ret);
}

struct weir_lcore *weir_self(const struct weir_stack *stack);
int bsd_attach(struct bsd_thread *t, struct weir_lcore **lc);

/* The calling thread's lcore, attached when it has none: 0, -EUSERS, -ENETDOWN. */
static inline int
bsd_lcore(struct bsd_thread *t, struct weir_lcore **lc)
{
	*lc = weir_thread_lcores;
	return likely(*lc != NULL && (*lc)->stack == bsd.stack) ? 0 : bsd_attach(t, lc);
}

/* ---- files, more rarely ---- */

/* One more user of f, which the caller may use already: false when it is being closed. */
bool bsd_ref(struct bsd_file *f);
/* One fewer; the last one retires it. */
void bsd_unref(struct bsd_file *f);

/*
 * Enter f (whose one reference becomes the descriptor's) under the open number fd. 0; -EMFILE: beyond the
 * table, for the process's limit was raised.
 */
int bsd_install(int fd, struct bsd_file *f);

/* The kernel has given the number to us: what the table has under it was closed behind our back. */
void bsd_internal(int fd);

/* Nobody can find the socket any more: waits end, it leaves the epolls. */
void bsd_sock_shut(struct bsd_sock *s);
void bsd_sock_destroy(struct bsd_sock *s);
void bsd_sock_leave_epolls(struct bsd_sock *s); /* bsd_epoll.c */

struct bsd_epoll;
void bsd_epoll_shut(struct bsd_epoll *ep);
void bsd_epoll_destroy(struct bsd_epoll *ep);
/* Somebody polls the epoll descriptor itself: make it tell the truth. */
void bsd_epoll_expose(struct bsd_epoll *ep);
/* Threads that sleep in it, for tests. */
unsigned int bsd_epoll_sleepers(struct bsd_epoll *ep);
/* The socket is full: those who wait for room are to look from time to time. */
void bsd_epoll_full(struct bsd_sock *s);

/* How often somebody who waits for room looks again; nobody tells him. */
#define BSD_FULL_NS WEIR_NS_PER_MS

/* poll's view of a socket, from that of event.h. */
static inline uint32_t
bsd_mask(struct bsd_sock *s, uint32_t mask)
{
	if (unlikely((mask & EPOLLERR) != 0) &&
	    atomic_load_explicit(&s->select_errq, memory_order_relaxed))
		mask |= EPOLLPRI;
	return mask;
}

/* ---- waiting without a socket ---- */

/* A point in time of the weir clock; UINT64_MAX: never. */
uint64_t bsd_deadline(int timeout_ms);
/* Milliseconds until then, rounded up; -1: for ever. */
int bsd_ms_left(uint64_t deadline);

/* ---- addresses ---- */

/*
 * A socket address of the caller as one of ours. -EINVAL (too short), -EAFNOSUPPORT, -EFAULT. AF_UNSPEC
 * comes out as an IPv4 address of family WEIR_UNSPEC, of an IPv4 socket only. IPv4-mapped addresses come
 * out as IPv4.
 */
int bsd_addr_in(const struct bsd_sock *s, const struct sockaddr *sa, socklen_t len,
		struct weir_addr *out);

/* The same for who is spoken to: an IPv6 socket takes an IPv4 address as it is, too. */
int bsd_peer_in(const struct bsd_sock *s, const struct sockaddr *sa, socklen_t len,
		struct weir_addr *out);

static inline bool
bsd_is6(const struct bsd_sock *s)
{
	return s->sk->family == WEIR_IPV6;
}

/* Of struct sockaddr_in6 before it had a scope (RFC 2133): still allowed. */
#define BSD_SIN6_MIN 24

/* a as an IPv6 address: an IPv4 one mapped (RFC 4291 2.5.5.2). */
static inline struct in6_addr
bsd_in6(const struct weir_addr *a)
{
	struct in6_addr out;

	memcpy(&out, a->ip.b, sizeof(out));
	if (a->family == WEIR_IPV4) {
		memset(&out, 0, 10);
		out.s6_addr[10] = 0xff;
		out.s6_addr[11] = 0xff;
		memcpy(&out.s6_addr[12], &a->ip.v4, 4);
	}
	return out;
}

static inline struct sockaddr_in6
bsd_sin6(const struct weir_addr *a)
{
	return (struct sockaddr_in6){.sin6_family = AF_INET6,
				     .sin6_port = a->port,
				     .sin6_addr = bsd_in6(a),
				     .sin6_scope_id = a->scope};
}

/* The same the other way, as much as fits into *len; *len becomes the whole length. */
static inline void
bsd_addr_out(const struct bsd_sock *s, const struct weir_addr *a, struct sockaddr *sa,
	     socklen_t *len)
{
	if (likely(!bsd_is6(s))) {
		const struct sockaddr_in in = {
			.sin_family = AF_INET, .sin_port = a->port, .sin_addr.s_addr = a->ip.v4};

		if (likely(*len >= sizeof(in)))
			memcpy(sa, &in, sizeof(in));
		else
			memcpy(sa, &in, *len);
		*len = sizeof(in);
	} else {
		const struct sockaddr_in6 in6 = bsd_sin6(a);

		memcpy(sa, &in6, RTE_MIN((size_t)*len, sizeof(in6)));
		*len = sizeof(in6);
	}
}

/* Interface numbers of the BSD layer: weir port index + 1; the loopback port is the last. */
static inline int
bsd_ifindex(unsigned int port)
{
	return (int)port + 1;
}

/* ---- shared by send and options ---- */

/* Send what is held back. 0 or a negative errno. */
int bsd_cork_flush(struct bsd_thread *t, struct bsd_sock *s);

/* -ENODEV, or the port of an interface number. 0 is none: -1. */
int bsd_port_of(const struct bsd_sock *s, unsigned int ifindex);

/* IPPROTO_IPV6, of an IPv6 socket: bsd_opt6.c. */
int bsd_set_ip6(struct bsd_sock *s, int name, const void *value, socklen_t len);
int bsd_get_ip6(struct bsd_sock *s, int name, void *value, socklen_t *len);

int bsd_setsockopt(struct bsd_thread *t, struct bsd_sock *s, int level, int name, const void *value,
		   socklen_t len);
int bsd_getsockopt(struct bsd_sock *s, int level, int name, void *value, socklen_t *len);

#endif /* WEIR_BSD_PRIV_H */
