/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving of the BSD layer: blocking, the error queue, many messages at once. */
#include "bsd_msg.h"

#include <linux/errqueue.h>
#include <string.h>

#include "../mbuf.h"

/* ---- receive ---- */

static inline unsigned int
how_to(int flags)
{
	return ((flags & MSG_PEEK) != 0 ? WEIR_RECV_PEEK : 0) |
	       ((flags & MSG_TRUNC) != 0 ? WEIR_RECV_TRUNC : 0);
}

/*
 * What receive() does when there was nothing: wait and try again, for at most timeout. 0 with
 * info->peer.family WEIR_UNSPEC: shut down.
 */
static ssize_t
receive_wait(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, unsigned int n_iov,
	     struct weir_rxmsg *info, int flags, ssize_t ret, uint64_t timeout)
{
	const unsigned int how = how_to(flags);
	const uint64_t spin = atomic_load_explicit(&s->spin_ns, memory_order_relaxed);
	const bool block = may_block(s, flags);
	const uint64_t start = weir_clock_ns();
	uint64_t arrivals;

	for (;;) {
		if (ret == -ESHUTDOWN && block) {
			memset(info, 0, sizeof(*info));
			return 0;
		}
		if (ret != -EAGAIN || !block)
			return ret == -ESHUTDOWN ? -EAGAIN : ret;
		/* A peek beyond all that is queued waits for an arrival; else for what can be read. */
		arrivals = weir_recvq_arrivals(&s->sk->rq);
		ret = weir_recv_iov(lc, s->sk, iov, n_iov, info, how);
		if (ret != -EAGAIN)
			continue;
		ret = weir_event_wait(lc, s->sk, WEIR_EV_IN | EPOLLRDHUP | EPOLLERR,
				      (flags & MSG_PEEK) != 0 ? &arrivals : NULL, spin,
				      ns_left(start, timeout));
		if (ret != 0)
			return ret == -ETIMEDOUT ? -EAGAIN : ret;
		ret = weir_recv_iov(lc, s->sk, iov, n_iov, info, how);
	}
}

/* One datagram to iov: what the call returns, info describes it; or a negative errno. */
static inline ssize_t
receive(struct bsd_sock *s, struct weir_lcore *lc, const struct iovec *iov, unsigned int n_iov,
	struct weir_rxmsg *info, int flags, uint64_t timeout)
{
	ssize_t ret = weir_recv_iov(lc, s->sk, iov, n_iov, info, how_to(flags));

	if (likely(ret >= 0))
		return ret;
	return receive_wait(s, lc, iov, n_iov, info, flags, ret, timeout);
}

/* Does a read take one whole datagram, whatever the buffer, and leave no offset to be moved? */
static inline bool
whole_reads(const struct bsd_sock *s)
{
	return !s->sk->gro && atomic_load_explicit((_Atomic int32_t *)(uintptr_t)&s->sk->peek_off,
						   memory_order_relaxed) < 0;
}

static inline uint64_t
rcvtimeo(const struct bsd_sock *s)
{
	return atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&s->rcvtimeo,
				    memory_order_relaxed);
}

/* ---- the error queue ---- */

static size_t
scatter(const struct iovec *iov, size_t n, const uint8_t *from, size_t len)
{
	size_t done = 0;

	for (size_t i = 0; i < n && done < len; i++) {
		const size_t take = RTE_MIN(iov[i].iov_len, len - done);

		if (take > 0)
			memcpy(iov[i].iov_base, from + done, take);
		done += take;
	}
	return done;
}

/* recvmsg() with MSG_ERRQUEUE: never blocks. */
static ssize_t
receive_error(struct bsd_sock *s, struct msghdr *msg, int flags)
{
	const size_t room = msg->msg_control != NULL ? msg->msg_controllen : 0;
	struct bsd_ctl_out c = {.at = msg->msg_control, .left = room};
	struct {
		struct sock_extended_err ee;
		union {
			struct sockaddr_in in;
			struct sockaddr_in6 in6;
		} offender;
	} note;
	const bool is6 = bsd_is6(s);
	struct weir_sockerr e;
	uint32_t quoted;
	size_t got;
	int ret = weir_socket_errqueue(s->sk, &e);

	if (ret != 0)
		return ret;
	memset(&note, 0, sizeof(note));
	note.ee.ee_errno = (uint32_t)e.err;
	note.ee.ee_origin = e.origin;
	note.ee.ee_type = e.type;
	note.ee.ee_code = e.code;
	note.ee.ee_info = e.info;
	if (is6 && e.offender.family != WEIR_UNSPEC) {
		note.offender.in6 = bsd_sin6(&e.offender);
		note.offender.in6.sin6_port = 0;
	} else if (e.offender.family == WEIR_IPV4) {
		note.offender.in.sin_family = AF_INET;
		note.offender.in.sin_addr.s_addr = e.offender.ip.v4;
	}
	if (is6)
		bsd_put_ctl(&c, IPPROTO_IPV6, IPV6_RECVERR, &note, sizeof(note));
	else
		bsd_put_ctl(&c, IPPROTO_IP, IP_RECVERR, &note,
			    sizeof(note.ee) + sizeof(note.offender.in));
	quoted = RTE_MIN(e.len, (uint32_t)sizeof(e.payload));
	got = scatter(msg->msg_iov, msg->msg_iovlen, e.payload, quoted);
	if (msg->msg_name != NULL)
		bsd_addr_out(s, &e.to, msg->msg_name, &msg->msg_namelen);
	msg->msg_controllen = room - c.left;
	msg->msg_flags = MSG_ERRQUEUE | c.flags | (got < quoted ? MSG_TRUNC : 0);
	return (flags & MSG_TRUNC) != 0 ? (ssize_t)quoted : (ssize_t)got;
}

/* ---- receive calls ---- */

/* One buffer, and for the name all the room it wants (name_size), or none: what fill_lean() can fill. */
static inline bool
is_usual(const struct msghdr *msg, size_t name_size)
{
	return msg->msg_iovlen == 1 && msg->msg_iov != NULL && msg->msg_iov->iov_base != NULL &&
	       (msg->msg_name == NULL || msg->msg_namelen >= name_size);
}

static inline void
fill_name4(void *name, socklen_t *len, const struct wire_ip4 *ip, const struct wire_udp *udp)
{
	const struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = udp->sport, .sin_addr.s_addr = ip->src};

	memcpy(name, &in, sizeof(in));
	*len = sizeof(in);
}

/* Of an IPv6 socket. */
static inline void
fill_name6(void *name, socklen_t *len, const struct weir_dgram *d)
{
	struct sockaddr_in6 in6;
	struct weir_addr peer;

	weir_dgram_names(d, &peer, NULL);
	in6 = bsd_sin6(&peer);
	memcpy(name, &in6, sizeof(in6));
	*len = sizeof(in6);
}

/*
 * A datagram that is not plain (mbuf.h), or of an IPv6 socket (is6): payload and name, which may be NULL. Returns
 * its length.
 */
static __rte_noinline uint32_t
fill_odd(struct rte_mbuf *m, void *buf, size_t size, void *name, socklen_t *name_len, bool is6)
{
	struct weir_dgram d;

	weir_dgram_look(m, &d);
	if (name != NULL && is6)
		fill_name6(name, name_len, &d);
	else if (name != NULL)
		fill_name4(name, name_len, d.ip, d.udp);
	weir_dgram_payload(m, &d);
	weir_mbuf_copy_out(m, buf, (uint32_t)RTE_MIN(size, (size_t)d.len));
	return d.len;
}

/*
 * What a received datagram means to the caller's message, but for its length. room: bytes that there was
 * room for; whole: length of the datagram, of which info->len bytes were left to be peeked at.
 */
static void
fill_msg(struct bsd_sock *s, struct weir_lcore *lc, struct msghdr *msg, int flags,
	 const struct weir_rxmsg *info, size_t room, size_t whole)
{
	const uint32_t want = atomic_load_explicit(&s->want, memory_order_relaxed);
	const size_t ctl_room = msg->msg_control != NULL ? msg->msg_controllen : 0;
	struct bsd_ctl_out c = {.at = msg->msg_control, .left = ctl_room};
	const bool shut = info->peer.family == WEIR_UNSPEC;

	if (unlikely(want != 0) && !shut)
		bsd_describe(s, lc, info, want, &c);
	if (msg->msg_name != NULL) {
		if (shut)
			msg->msg_namelen = 0;
		else
			bsd_addr_out(s, &info->peer, msg->msg_name, &msg->msg_namelen);
	}
	msg->msg_controllen = ctl_room - c.left;
	msg->msg_flags = (flags & MSG_CMSG_CLOEXEC) | c.flags |
			 (room <= info->len && room < whole ? MSG_TRUNC : 0);
}

static ssize_t
recvmsg_one(struct bsd_sock *s, struct weir_lcore *lc, struct msghdr *msg, int flags,
	    uint64_t timeout)
{
	const ssize_t room = msg_bytes(msg);
	struct weir_rxmsg info;
	ssize_t ret;

	if (room < 0)
		return room;
	if (unlikely((flags & MSG_ERRQUEUE) != 0))
		return receive_error(s, msg, flags);
	ret = receive(s, lc, msg->msg_iov, (unsigned int)msg->msg_iovlen, &info, flags, timeout);
	if (ret >= 0)
		fill_msg(s, lc, msg, flags, &info, (size_t)room,
			 (flags & MSG_TRUNC) != 0 ? (size_t)ret : info.len);
	return ret;
}

ssize_t
weir_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	ssize_t ret;

	if (unlikely(s == NULL))
		return -1;
	ret = msg != NULL ? bsd_lcore(t, &lc) : -EFAULT;
	if (likely(ret == 0))
		ret = recvmsg_one(s, lc, msg, flags, rcvtimeo(s));
	return bsd_done(t, ret);
}

/* Everything that receive_from() leaves to others. */
static __rte_noinline ssize_t
receive_from_any(struct bsd_sock *s, struct weir_lcore *lc, void *buf, size_t len, int flags,
		 struct sockaddr *from, socklen_t *from_len)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};
	struct weir_rxmsg info;
	ssize_t ret;

	if ((buf == NULL && len > 0) || (from != NULL && from_len == NULL))
		return -EFAULT;
	if ((flags & MSG_ERRQUEUE) != 0) {
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_name = from,
				     .msg_namelen = from != NULL ? *from_len : 0};

		ret = receive_error(s, &msg, flags);
		if (ret >= 0 && from != NULL)
			*from_len = msg.msg_namelen;
		return ret;
	}
	ret = receive(s, lc, &iov, 1, &info, flags, rcvtimeo(s));
	if (ret < 0 || from == NULL)
		return ret;
	if (*from_len > INT_MAX) /* the datagram is gone, as on Linux */
		return -EINVAL;
	if (info.peer.family != WEIR_UNSPEC)
		bsd_addr_out(s, &info.peer, from, from_len);
	else
		*from_len = 0;
	return ret;
}

/* The usual case, lean: one whole datagram, nothing asked for but the name. */
static inline ssize_t
receive_from(struct bsd_sock *s, struct weir_lcore *lc, void *buf, size_t len, int flags,
	     struct sockaddr *from, socklen_t *from_len)
{
	struct rte_mbuf *m;
	const uint8_t *p;
	uint32_t got;

	if (unlikely((flags & (MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)) != 0 || buf == NULL ||
		     (from != NULL &&
		      (from_len == NULL || *from_len - sizeof(struct sockaddr_in) > INT_MAX)) ||
		     !whole_reads(s) ||
		     atomic_load_explicit(&s->sk->error, memory_order_relaxed) != 0))
		return receive_from_any(s, lc, buf, len, flags, from, from_len);
	m = weir_recvq_take_one(&s->sk->rq);
	if (unlikely(m == NULL))
		return receive_from_any(s, lc, buf, len, flags, from, from_len);
	weir_count(&lc->c.rx_read, 1);
	if (likely(weir_dgram_plain(m))) {
		p = rte_pktmbuf_mtod(m, const uint8_t *);
		if (from != NULL)
			fill_name4(from, from_len, (const void *)(p - WIRE_UDP_LEN - WIRE_IP4_MIN),
				   (const void *)(p - WIRE_UDP_LEN));
		got = m->data_len;
		memcpy(buf, p, RTE_MIN(len, (size_t)got));
	} else {
		got = fill_odd(m, buf, len, from, from_len, false);
	}
	weir_spend(lc, m);
	return (ssize_t)RTE_MIN(len, (size_t)got);
}

/* The same of an IPv6 socket. */
static __rte_noinline ssize_t
receive_from6(struct bsd_sock *s, struct weir_lcore *lc, void *buf, size_t len, int flags,
	      struct sockaddr *from, socklen_t *from_len)
{
	struct weir_dgram d;
	struct rte_mbuf *m;
	uint32_t got;

	if (unlikely((flags & (MSG_PEEK | MSG_TRUNC | MSG_ERRQUEUE)) != 0 || buf == NULL ||
		     (from != NULL &&
		      (from_len == NULL || *from_len - sizeof(struct sockaddr_in6) > INT_MAX)) ||
		     !whole_reads(s) ||
		     atomic_load_explicit(&s->sk->error, memory_order_relaxed) != 0))
		return receive_from_any(s, lc, buf, len, flags, from, from_len);
	m = weir_recvq_take_one(&s->sk->rq);
	if (unlikely(m == NULL))
		return receive_from_any(s, lc, buf, len, flags, from, from_len);
	weir_count(&lc->c.rx_read, 1);
	if (likely(weir_dgram_hdrs(m) != 0)) {
		weir_dgram_look(m, &d);
		if (from != NULL)
			fill_name6(from, from_len, &d);
		got = m->data_len;
		memcpy(buf, rte_pktmbuf_mtod(m, const void *), RTE_MIN(len, (size_t)got));
	} else {
		got = fill_odd(m, buf, len, from, from_len, true);
	}
	weir_spend(lc, m);
	return (ssize_t)RTE_MIN(len, (size_t)got);
}

ssize_t
weir_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from, socklen_t *from_len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	ssize_t ret;

	if (unlikely(s == NULL))
		return -1;
	ret = bsd_lcore(t, &lc);
	if (likely(ret == 0))
		ret = likely(!bsd_is6(s)) ? receive_from(s, lc, buf, len, flags, from, from_len)
					  : receive_from6(s, lc, buf, len, flags, from, from_len);
	return bsd_done(t, ret);
}

ssize_t
weir_bsd_recv(int fd, void *buf, size_t len, int flags)
{
	return weir_recvfrom(fd, buf, len, flags, NULL, NULL);
}

ssize_t
weir_read(int fd, void *buf, size_t len)
{
	struct iovec iov = {.iov_base = buf, .iov_len = len};

	return weir_readv(fd, &iov, 1);
}

ssize_t
weir_readv(int fd, const struct iovec *iov, int n)
{
	struct msghdr msg = {.msg_iov = (struct iovec *)(uintptr_t)iov, .msg_iovlen = (size_t)n};
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	ssize_t ret;

	if (s == NULL)
		return -1;
	if (n < 0 || n > IOV_MAX_LINUX)
		return bsd_done(t, -EINVAL);
	ret = msg_bytes(&msg);
	if (ret <= 0) /* reading nothing takes nothing, unlike receiving nothing */
		return bsd_done(t, ret);
	ret = bsd_lcore(t, &lc);
	if (ret == 0)
		ret = recvmsg_one(s, lc, &msg, 0, rcvtimeo(s));
	return bsd_done(t, ret);
}

/* ---- many messages ---- */

/* What the call says of the datagram m, which goes to a usual message: its msg_len. */
static inline uint32_t
fill_lean(struct msghdr *msg, struct rte_mbuf *m, int flags, bool is6)
{
	/* Read once: the stores below might be to anything. */
	const struct iovec to = *msg->msg_iov;
	void *name = msg->msg_name;
	uint32_t len;

	msg->msg_controllen = 0;
	msg->msg_flags = flags & MSG_CMSG_CLOEXEC;
	if (is6 && likely(weir_dgram_hdrs(m) != 0)) {
		struct weir_dgram d;

		weir_dgram_look(m, &d);
		len = m->data_len;
		if (name != NULL)
			fill_name6(name, &msg->msg_namelen, &d);
		memcpy(to.iov_base, rte_pktmbuf_mtod(m, const void *),
		       RTE_MIN(to.iov_len, (size_t)len));
	} else if (!is6 && likely(weir_dgram_plain(m))) {
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

		len = m->data_len;
		if (name != NULL)
			fill_name4(name, &msg->msg_namelen,
				   (const void *)(p - WIRE_UDP_LEN - WIRE_IP4_MIN),
				   (const void *)(p - WIRE_UDP_LEN));
		memcpy(to.iov_base, p, RTE_MIN(to.iov_len, (size_t)len));
	} else {
		len = fill_odd(m, to.iov_base, to.iov_len, name, &msg->msg_namelen, is6);
	}
	if (unlikely(to.iov_len < len)) {
		msg->msg_flags |= MSG_TRUNC;
		if ((flags & MSG_TRUNC) == 0)
			len = (uint32_t)to.iov_len;
	}
	return len;
}

/*
 * Up to n messages of the usual kind from a socket that was asked for nothing but data and names: straight
 * from the receive queue. Returns how many; stops in front of an unusual one.
 */
static __rte_always_inline unsigned int
receive_lean_as(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n,
		int flags, bool is6)
{
	const size_t name_size = is6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
	struct weir_recvq *q = &s->sk->rq;
	struct rte_mbuf *m[WEIR_RUN_MAX];
	struct weir_recvq_facts facts;
	unsigned int done = 0;

	while (done < n && weir_recvq_readable(q)) {
		const unsigned int room = RTE_MIN(n - done, (unsigned int)WEIR_RUN_MAX);
		unsigned int got;

		for (got = 0; got < room && is_usual(&msgs[done + got].msg_hdr, name_size); got++)
			;
		got = weir_recvq_take(q, m, got, &facts);
		if (got == 0)
			break;
		weir_count(&lc->c.rx_read, got);
		if (facts.lcore != lc->slot) {
			for (unsigned int i = 0; i < got; i++)
				rte_prefetch0(m[i]);
			for (unsigned int i = 0; i < got; i++)
				rte_prefetch0(rte_pktmbuf_mtod_offset(m[i], void *, -16));
		}
		for (unsigned int i = 0; i < got; i++)
			msgs[done + i].msg_len =
				fill_lean(&msgs[done + i].msg_hdr, m[i], flags, is6);
		weir_mbuf_give_back(m, got);
		done += got;
	}
	return done;
}

static __rte_noinline unsigned int
receive_lean6(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n,
	      int flags)
{
	return receive_lean_as(s, lc, msgs, n, flags, true);
}

static unsigned int
receive_lean(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n,
	     int flags)
{
	return likely(!bsd_is6(s)) ? receive_lean_as(s, lc, msgs, n, flags, false)
				   : receive_lean6(s, lc, msgs, n, flags);
}

/* The payload to what the message has to take it. Returns how many bytes found room. */
static size_t
scatter_mbuf(const struct msghdr *msg, const struct rte_mbuf *m)
{
	size_t copied = 0;

	for (size_t k = 0; k < msg->msg_iovlen && copied < m->pkt_len; k++) {
		const uint32_t len =
			(uint32_t)RTE_MIN(msg->msg_iov[k].iov_len, m->pkt_len - copied);
		const void *p;

		if (len == 0)
			continue;
		p = rte_pktmbuf_read(m, (uint32_t)copied, len, msg->msg_iov[k].iov_base);
		if (p != msg->msg_iov[k].iov_base)
			memcpy(msg->msg_iov[k].iov_base, p, len);
		copied += len;
	}
	return copied;
}

/*
 * What is queued, up to n messages, taken by bursts and copied. Returns how many; stops in front of a
 * message that recvmsg_one() would refuse.
 */
static unsigned int
receive_burst(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n,
	      int flags)
{
	struct weir_rxmsg info[BURST];
	struct rte_mbuf *m[BURST];
	unsigned int done = 0;

	if (likely(atomic_load_explicit(&s->want, memory_order_relaxed) == 0))
		done = receive_lean(s, lc, msgs, n, flags);
	while (done < n && weir_recvq_readable(&s->sk->rq)) {
		const unsigned int room = RTE_MIN(n - done, (unsigned int)BURST);
		unsigned int want, got;

		for (want = 0; want < room; want++)
			if (msg_bytes(&msgs[done + want].msg_hdr) < 0)
				break;
		got = want > 0 ? weir_recv_burst(lc, s->sk, info, (uint16_t)want) : 0;
		for (unsigned int i = 0; i < got; i++) {
			struct mmsghdr *to = &msgs[done + i];
			const size_t copied = scatter_mbuf(&to->msg_hdr, info[i].m);

			m[i] = info[i].m;
			fill_msg(s, lc, &to->msg_hdr, flags, &info[i], copied, info[i].len);
			to->msg_len = (flags & MSG_TRUNC) != 0 ? info[i].len : (unsigned int)copied;
		}
		weir_mbuf_free_bulk(m, got);
		done += got;
		if (got < room)
			break;
	}
	return done;
}

/* A caller's timeout in ns; UINT64_MAX: none. -EINVAL. */
static int
timespec_ns(const struct timespec *ts, uint64_t *ns)
{
	*ns = UINT64_MAX;
	if (ts == NULL)
		return 0;
	if (ts->tv_sec < 0 || ts->tv_nsec < 0 || ts->tv_nsec >= (long)WEIR_NS_PER_S)
		return -EINVAL;
	if ((uint64_t)ts->tv_sec < UINT64_MAX / WEIR_NS_PER_S - 1)
		*ns = (uint64_t)ts->tv_sec * WEIR_NS_PER_S + (uint64_t)ts->tv_nsec;
	return 0;
}

static int
recv_many(struct bsd_sock *s, struct weir_lcore *lc, struct mmsghdr *msgs, unsigned int n,
	  int flags, uint64_t timeout)
{
	/* Bursts know neither of peek offsets nor of buffers that a train must fit into. */
	const bool bursts = (flags & (MSG_PEEK | MSG_ERRQUEUE)) == 0 && whole_reads(s);
	const uint64_t start = timeout == UINT64_MAX ? 0 : weir_clock_ns();
	unsigned int done = 0;
	ssize_t ret = 0;

	if ((flags & MSG_ERRQUEUE) == 0)
		ret = weir_socket_error(s->sk);
	while (ret >= 0 && done < n) {
		/* No time at all is time for one. */
		unsigned int k = !bursts ? 0
					 : receive_burst(s, lc, msgs + done,
							 timeout == 0 ? 1 : n - done, flags);

		done += k;
		if (k > 0 && (flags & MSG_WAITFORONE) != 0)
			flags |= MSG_DONTWAIT;
		if (done == n || (k > 0 && ns_left(start, timeout) == 0))
			break;
		ret = recvmsg_one(s, lc, &msgs[done].msg_hdr, flags & ~MSG_WAITFORONE,
				  RTE_MIN(rcvtimeo(s), ns_left(start, timeout)));
		if (ret < 0)
			break;
		msgs[done++].msg_len = (unsigned int)ret;
		if ((flags & MSG_WAITFORONE) != 0)
			flags |= MSG_DONTWAIT;
		if (ns_left(start, timeout) == 0)
			break;
	}
	if (done == 0)
		return (int)ret;
	/* The error of a later message is for the next call. */
	if (ret < 0 && ret != -EAGAIN && ret != -EINTR)
		atomic_store_explicit(&s->sk->error, (int32_t)-ret, memory_order_release);
	return (int)done;
}

int
weir_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags, struct timespec *timeout)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_lcore *lc;
	uint64_t start, ns;
	int ret;

	if (unlikely(s == NULL))
		return -1;
	ret = timespec_ns(timeout, &ns);
	if (likely(ret == 0))
		ret = msgs != NULL || n == 0 ? bsd_lcore(t, &lc) : -EFAULT;
	if (unlikely(ret != 0))
		return (int)bsd_done(t, ret);
	start = timeout != NULL ? weir_clock_ns() : 0;
	ret = recv_many(s, lc, msgs, n, flags, ns);
	if (timeout != NULL && ret > 0) {
		ns = ns_left(start, ns);
		timeout->tv_sec = (time_t)(ns / WEIR_NS_PER_S);
		timeout->tv_nsec = (long)(ns % WEIR_NS_PER_S);
	}
	return (int)bsd_done(t, ret);
}
