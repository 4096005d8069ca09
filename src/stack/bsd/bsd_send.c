/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending of the BSD layer: blocking, corked datagrams, many messages at once. */
#include "bsd_msg.h"

#include <stdlib.h>
#include <string.h>

#include "../mbuf.h"
#include "../poll.h"

#define UDP4_MAX 65507u /* payload of the largest IPv4 datagram */
#define UDP6_MAX 65527u /* and IPv6 one */

/* ---- send ---- */

/* The same of an IPv6 socket. AF_UNSPEC is as if there were no name. */
static int
parse_to6(struct bsd_sock *s, const struct sockaddr *sa, socklen_t len, struct weir_addr *room,
	  const struct weir_addr **to)
{
	sa_family_t family;
	int ret;

	if (len < sizeof(family) || len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	memcpy(&family, sa, sizeof(family));
	if (family == AF_UNSPEC)
		return 0;
	if (family != AF_INET && family != AF_INET6)
		return -EINVAL;
	ret = bsd_peer_in(s, sa, len, room);
	if (ret != 0)
		return ret == -EAFNOSUPPORT ? -EINVAL : ret;
	if (room->port == 0)
		return -EINVAL;
	if (room->family == WEIR_IPV4 && s->sk->v6only)
		return -ENETUNREACH;
	*to = room;
	return 0;
}

/* A destination; *to NULL: the peer. */
static int
parse_to(struct bsd_sock *s, const struct sockaddr *sa, socklen_t len, struct weir_addr *room,
	 const struct weir_addr **to)
{
	int ret;

	*to = NULL;
	if (sa == NULL)
		return 0;
	if (unlikely(bsd_is6(s)))
		return parse_to6(s, sa, len, room, to);
	ret = bsd_addr_in(s, sa, len, room);
	if (ret != 0)
		return ret;
	room->family = WEIR_IPV4; /* AF_UNSPEC is taken for it */
	if (room->port == 0)
		return -EINVAL;
	*to = room;
	return 0;
}

/* The same of a message: a name of no length is none, one of too much is cut. */
static int
parse_msg_to(struct bsd_sock *s, const struct msghdr *msg, struct weir_addr *room,
	     const struct weir_addr **to)
{
	return parse_to(s, msg->msg_namelen != 0 ? msg->msg_name : NULL,
			(socklen_t)RTE_MIN((size_t)msg->msg_namelen,
					   sizeof(struct sockaddr_storage)),
			room, to);
}

/* What the names of the socket say just now. */
struct bsd_names {
	bool bound, connected;
};

static struct bsd_names
names_of(const struct bsd_sock *s, struct weir_lcore *lc)
{
	const struct weir_names *names;
	struct bsd_names n;

	weir_enter(lc);
	names = weir_sock_names(s->sk);
	n = (struct bsd_names){names->lport != 0, weir_names_connected(names)};
	weir_leave(lc);
	return n;
}

/* A send came back with ret. Is it because of a lack that passes? */
static bool
will_pass(const struct bsd_sock *s, struct weir_lcore *lc, ssize_t ret)
{
	if (ret == -ENOBUFS)
		return weir_pool_low(s->sk->stack);
	/* The other EAGAIN is: no ephemeral port left. */
	return ret == -EAGAIN && names_of(s, lc).bound;
}

/* A thread that waits for room looks again after a while, at most ns; nobody tells it. -EINTR. */
static int
sleep_full(uint64_t ns)
{
	const struct timespec ts = {.tv_nsec = (long)RTE_MIN(ns, BSD_FULL_NS)};

	return nanosleep(&ts, NULL) == 0 ? 0 : -EINTR;
}

static ssize_t
send_wait(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, unsigned int n_iov,
	  const struct weir_addr *to, const struct weir_txctl *ctl, int flags, ssize_t ret)
{
	const uint64_t timeout = atomic_load_explicit(&s->sndtimeo, memory_order_relaxed);
	const uint64_t spin = atomic_load_explicit(&s->spin_ns, memory_order_relaxed);
	const uint64_t start = weir_clock_ns();

	while (will_pass(s, lc, ret)) {
		if (!may_block(s, flags) || ns_left(start, timeout) == 0) {
			bsd_epoll_full(s);
			return -EAGAIN;
		}
		if (atomic_load_explicit(&s->sk->wait.closed, memory_order_relaxed))
			return -EBADF;
		if (lc->kind == WEIR_LC_WORKER)
			weir_idle(lc, weir_turn(lc));
		else if (weir_clock_ns() - start < spin)
			weir_idle(lc, 0);
		else if (sleep_full(ns_left(start, timeout)) != 0)
			return -EINTR;
		ret = weir_send_iov(lc, s->sk, iov, n_iov, to, ctl);
	}
	return ret;
}

/* What was sent to this host is there when the call returns. */
static inline void
deliver_loopback(struct weir_lcore *lc)
{
	if (unlikely((lc->dirty >> WEIR_PORT_LOOPBACK & 1) != 0) && lc->kind == WEIR_LC_WORKER &&
	    !lc->in_turn) {
		lc->now_ns = weir_clock_ns();
		weir_poll_loopback(lc);
	}
}

static inline ssize_t
send_iov(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, unsigned int n_iov,
	 const struct weir_addr *to, const struct weir_txctl *ctl, int flags)
{
	ssize_t ret = weir_send_iov(lc, s->sk, iov, n_iov, to, ctl);

	if (unlikely(ret < 0))
		ret = send_wait(s, lc, iov, n_iov, to, ctl, flags, ret);
	deliver_loopback(lc);
	return ret;
}

/* A send has been refused with ret. Linux has given the socket a port before it looked further. */
static ssize_t
send_refused(struct bsd_sock *s, struct weir_lcore *lc, ssize_t ret)
{
	if (!names_of(s, lc).bound && weir_sock_autobind(s->sk) != 0)
		return -EAGAIN;
	return ret;
}

/* ---- corked datagrams ---- */

/* cork.lock held: send what has been collected. */
static ssize_t
cork_push(struct bsd_sock *s, struct weir_lcore *lc, int flags)
{
	struct bsd_cork *c = &s->cork;
	struct iovec iov = {.iov_base = c->buf, .iov_len = c->len};
	ssize_t ret;

	ret = send_iov(s, lc, &iov, 1, c->to.family != WEIR_UNSPEC ? &c->to : NULL, &c->ctl, flags);
	c->len = 0;
	atomic_store_explicit(&c->pending, false, memory_order_relaxed);
	return ret;
}

/* cork.lock held. */
static int
cork_append(struct bsd_cork *c, const struct iovec *iov, size_t n, size_t len)
{
	const size_t max = c->v4 ? UDP4_MAX : UDP6_MAX;

	if (c->len + len > max)
		return -EMSGSIZE;
	if (c->len + len > c->cap) {
		const size_t cap =
			RTE_MIN((size_t)UDP6_MAX, RTE_MAX(2 * (c->len + len), (size_t)2048));
		uint8_t *buf = realloc(c->buf, cap);

		if (buf == NULL)
			return -ENOBUFS;
		c->buf = buf;
		c->cap = cap;
	}
	for (size_t i = 0; i < n; i++) {
		if (iov[i].iov_len > 0)
			memcpy(c->buf + c->len, iov[i].iov_base, iov[i].iov_len);
		c->len += iov[i].iov_len;
	}
	return 0;
}

/* One more piece; the datagram goes out with the first piece that is not corked. */
static ssize_t
cork_send(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, size_t n, size_t len,
	  const struct weir_addr *to, const struct weir_txctl *ctl, int flags)
{
	struct bsd_cork *c = &s->cork;
	ssize_t ret = 0;

	pthread_mutex_lock(&c->lock);
	if (!atomic_load_explicit(&c->pending, memory_order_relaxed)) {
		/* Where it goes is said with the first piece. */
		ret = weir_socket_error(s->sk);
		if (ret == 0 &&
		    (atomic_load_explicit(&s->sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) != 0)
			ret = -EPIPE;
		memset(&c->to, 0, sizeof(c->to));
		if (to != NULL)
			c->to = *to;
		else if (ret == 0 && !names_of(s, lc).connected)
			ret = -EDESTADDRREQ;
		c->ctl = ctl != NULL ? *ctl : (struct weir_txctl){0};
		c->v4 = bsd_goes_over_ip4(s, lc, to);
		c->len = 0;
		if (ret == 0)
			atomic_store_explicit(&c->pending, true, memory_order_relaxed);
	}
	if (ret == 0) {
		ret = cork_append(c, iov, n, len);
		if (ret != 0) { /* all of it is lost, as on Linux */
			c->len = 0;
			atomic_store_explicit(&c->pending, false, memory_order_relaxed);
		}
	}
	if (ret == 0 && (flags & MSG_MORE) == 0 &&
	    !atomic_load_explicit(&c->on, memory_order_relaxed)) {
		ret = cork_push(s, lc, flags);
		if (ret > 0)
			ret = 0;
	}
	pthread_mutex_unlock(&c->lock);
	return ret < 0 ? ret : (ssize_t)len;
}

int
bsd_cork_flush(struct bsd_thread *t, struct bsd_sock *s)
{
	struct weir_lcore *lc;
	ssize_t ret = 0;

	if (!atomic_load_explicit(&s->cork.pending, memory_order_relaxed))
		return 0;
	ret = bsd_lcore(t, &lc);
	if (ret != 0)
		return (int)ret;
	pthread_mutex_lock(&s->cork.lock);
	if (atomic_load_explicit(&s->cork.pending, memory_order_relaxed))
		ret = cork_push(s, lc, 0);
	pthread_mutex_unlock(&s->cork.lock);
	return ret < 0 ? (int)ret : 0;
}

/* ---- send calls ---- */

/* Everything but the conversion of the caller's arguments. len: bytes of iov. */
static inline ssize_t
send_any(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, size_t n, size_t len,
	 const struct weir_addr *to, const struct weir_txctl *ctl, int flags)
{
	if (unlikely((flags & MSG_MORE) != 0 ||
		     atomic_load_explicit(&s->cork.on, memory_order_relaxed) ||
		     atomic_load_explicit(&s->cork.pending, memory_order_relaxed)))
		return cork_send(s, lc, iov, n, len, to, ctl, flags);
	return send_iov(s, lc, iov, (unsigned int)n, to, ctl, flags);
}

/*
 * What flags, the name and the socket's own wishes say about one datagram, beside its control messages. False:
 * nothing. name as the caller gave it, checked.
 */
static inline bool
start_ctl(struct bsd_sock *s, const struct sockaddr *name, int flags, struct weir_txctl *ctl)
{
	struct sockaddr_in6 in6;

	memset(ctl, 0, sizeof(*ctl));
	ctl->confirm = (flags & MSG_CONFIRM) != 0;
	if (likely(!bsd_is6(s)))
		return ctl->confirm;
	ctl->port = (int)atomic_load_explicit(&s->sticky_port, memory_order_relaxed);
	if (name != NULL && name->sa_family == AF_INET6 &&
	    atomic_load_explicit(&s->stored[BSD_ST_FLOWINFO_SEND], memory_order_relaxed) != 0) {
		memcpy(&in6, name, BSD_SIN6_MIN);
		ctl->flow = WIRE_BE32(in6.sin6_flowinfo) & 0xfffff;
	}
	return ctl->confirm || ctl->port != 0 || ctl->flow != 0;
}

static ssize_t
sendmsg_one(struct bsd_sock *s, struct weir_lcore *lc, const struct msghdr *msg, int flags)
{
	const struct weir_addr *to;
	struct weir_txctl ctl;
	struct weir_addr room;
	ssize_t len = msg_bytes(msg);
	bool with_ctl;
	int ret;

	if (len < 0)
		return len;
	if (len > UINT16_MAX)
		return -EMSGSIZE;
	if ((flags & MSG_OOB) != 0)
		return -EOPNOTSUPP;
	ret = parse_msg_to(s, msg, &room, &to);
	with_ctl =
		ret == 0 && (start_ctl(s, msg->msg_name, flags, &ctl) || msg->msg_controllen > 0);
	if (ret == 0 && msg->msg_controllen > 0) {
		ret = bsd_parse_ctl(s, lc, msg, to, &ctl);
		/* Nowhere to send to is the first complaint. */
		if (ret != 0 && to == NULL && !names_of(s, lc).connected)
			ret = -EDESTADDRREQ;
	}
	if (ret != 0)
		return ret;
	return send_any(s, lc, msg->msg_iov, msg->msg_iovlen, (size_t)len, to,
			with_ctl ? &ctl : NULL, flags);
}

ssize_t
weir_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	ssize_t ret;

	if (unlikely(s == NULL))
		return -1;
	ret = msg != NULL ? bsd_lcore(t, &lc) : -EFAULT;
	if (likely(ret == 0)) {
		ret = sendmsg_one(s, lc, msg, flags);
		if (unlikely(ret < 0))
			ret = send_refused(s, lc, ret);
	}
	return bsd_done(t, ret);
}

ssize_t
weir_sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *to,
	    socklen_t to_len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};
	const struct weir_addr *dst;
	struct weir_addr room;
	struct weir_txctl ctl;
	struct weir_lcore *lc;
	bool with_ctl = false;
	ssize_t ret;

	if (unlikely(s == NULL))
		return -1;
	ret = bsd_lcore(t, &lc);
	if (unlikely(ret != 0))
		return bsd_done(t, ret);
	if (unlikely(len > UINT16_MAX))
		ret = -EMSGSIZE;
	else if (unlikely((flags & MSG_OOB) != 0))
		ret = -EOPNOTSUPP;
	else
		ret = parse_to(s, to, to_len, &room, &dst);
	if (unlikely(ret == 0 && buf == NULL && len > 0))
		ret = -EFAULT;
	if (unlikely((flags & MSG_CONFIRM) != 0 || bsd_is6(s)) && ret == 0)
		with_ctl = start_ctl(s, to, flags, &ctl);
	if (likely(ret == 0))
		ret = send_any(s, lc, &iov, 1, len, dst, with_ctl ? &ctl : NULL, flags);
	if (unlikely(ret < 0))
		ret = send_refused(s, lc, ret);
	return bsd_done(t, ret);
}

ssize_t
weir_bsd_send(int fd, const void *buf, size_t len, int flags)
{
	return weir_sendto(fd, buf, len, flags, NULL, 0);
}

ssize_t
weir_write(int fd, const void *buf, size_t len)
{
	return weir_sendto(fd, buf, len, 0, NULL, 0);
}

ssize_t
weir_writev(int fd, const struct iovec *iov, int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};

	if (n < 0 || n > IOV_MAX_LINUX)
		return bsd_fail(EINVAL);
	return weir_sendmsg(fd, &msg, 0);
}

/*
 * As many of msgs as can go as one burst: without control messages, each in one buffer. Returns how many
 * were sent; the first one that was not is for sendmsg_one(), which finds out why.
 */
static unsigned int
send_burst(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n)
{
	const size_t room = s->sk->stack->conf.data_room - WEIR_TX_HEADROOM;
	struct rte_mbuf *m[BURST];
	struct weir_txmsg tx[BURST];
	struct weir_addr addr[BURST];
	ssize_t len[BURST];
	unsigned int k, sent;

	n = RTE_MIN(n, (unsigned int)BURST);
	for (k = 0; k < n; k++) {
		const struct msghdr *msg = &msgs[k].msg_hdr;

		len[k] = msg_bytes(msg);
		if (len[k] < 0 || (size_t)len[k] > room || msg->msg_controllen != 0 ||
		    parse_msg_to(s, msg, &addr[k], &tx[k].to) != 0)
			break;
		tx[k].ctl = NULL;
	}
	if (k < 2 || weir_mbuf_alloc_bulk(lc, m, k) != 0)
		return 0;
	for (unsigned int i = 0; i < k; i++) {
		const struct msghdr *msg = &msgs[i].msg_hdr;
		uint8_t *p = rte_pktmbuf_mtod(m[i], uint8_t *);

		for (size_t v = 0; v < msg->msg_iovlen; v++) {
			if (msg->msg_iov[v].iov_len > 0)
				memcpy(p, msg->msg_iov[v].iov_base, msg->msg_iov[v].iov_len);
			p += msg->msg_iov[v].iov_len;
		}
		m[i]->data_len = (uint16_t)len[i];
		m[i]->pkt_len = (uint32_t)len[i];
		tx[i].m = m[i];
	}
	sent = weir_send_burst(lc, s->sk, tx, (uint16_t)k, 0);
	for (unsigned int i = 0; i < sent; i++)
		msgs[i].msg_len = (unsigned int)len[i];
	weir_mbuf_free_bulk(m + sent, k - sent);
	deliver_loopback(lc);
	return sent;
}

/* Nothing that start_ctl() would say of an IPv6 socket. */
static inline bool
no_wishes6(const struct bsd_sock *s)
{
	struct bsd_sock *w = (struct bsd_sock *)(uintptr_t)s;

	return !bsd_is6(s) ||
	       (atomic_load_explicit(&w->sticky_port, memory_order_relaxed) == 0 &&
		atomic_load_explicit(&w->stored[BSD_ST_FLOWINFO_SEND], memory_order_relaxed) == 0);
}

int
weir_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	unsigned int done = 0;
	bool bursts;
	ssize_t ret;

	if (unlikely(s == NULL))
		return -1;
	ret = msgs != NULL || n == 0 ? bsd_lcore(t, &lc) : -EFAULT;
	if (unlikely(ret != 0))
		return (int)bsd_done(t, ret);
	n = RTE_MIN(n, (unsigned int)IOV_MAX_LINUX);
	while (ret >= 0 && done < n) {
		bursts = (flags & (MSG_MORE | MSG_OOB | MSG_CONFIRM)) == 0 &&
			 s->sk->tx.segment == 0 && no_wishes6(s) &&
			 !atomic_load_explicit(&s->cork.on, memory_order_relaxed) &&
			 !atomic_load_explicit(&s->cork.pending, memory_order_relaxed);
		if (bursts)
			done += send_burst(s, lc, msgs + done, n - done);
		if (done == n)
			break;
		ret = sendmsg_one(s, lc, &msgs[done].msg_hdr, flags);
		if (ret >= 0)
			msgs[done++].msg_len = (unsigned int)ret;
	}
	if (unlikely(ret < 0 && done == 0))
		ret = send_refused(s, lc, ret);
	return (int)bsd_done(t, done > 0 ? (ssize_t)done : ret);
}
