/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending and receiving of the BSD layer: blocking, control messages, corked datagrams, many messages
 * at once. The order of checks and their errnos are those of Linux (docs/semantics.md).
 */
#include "bsd_priv.h"

#include <limits.h>
#include <linux/errqueue.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../local.h"
#include "../mbuf.h"
#include "../poll.h"
#include "../route.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define IOV_MAX_LINUX 1024
#define UDP4_MAX      65507u /* payload of the largest IPv4 datagram */
#define UDP6_MAX      65527u /* and IPv6 one */
#define BURST         32

/* ---- what both directions check ---- */

/* Bytes that iov describes: -EINVAL (too many), -EFAULT (nowhere). */
static ssize_t
iov_bytes(const struct iovec *iov, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		if (iov[i].iov_len > (size_t)SSIZE_MAX - total)
			return -EINVAL;
		if (iov[i].iov_base == NULL && iov[i].iov_len > 0)
			return -EFAULT;
		total += iov[i].iov_len;
	}
	return (ssize_t)total;
}

static ssize_t
msg_bytes(const struct msghdr *msg)
{
	if (msg->msg_iovlen > IOV_MAX_LINUX)
		return -EMSGSIZE;
	if (msg->msg_iov == NULL && msg->msg_iovlen > 0)
		return -EFAULT;
	if (msg->msg_name != NULL && msg->msg_namelen > INT_MAX)
		return -EINVAL;
	return iov_bytes(msg->msg_iov, msg->msg_iovlen);
}

static inline bool
may_block(const struct bsd_sock *s, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 &&
	       !atomic_load_explicit((_Atomic bool *)(uintptr_t)&s->f.nonblock,
				     memory_order_relaxed);
}

/* ns that are left of timeout since start. */
static uint64_t
ns_left(uint64_t start, uint64_t timeout)
{
	const uint64_t passed = timeout == UINT64_MAX ? 0 : weir_clock_ns() - start;

	return passed >= timeout ? 0 : timeout - passed;
}

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

/* ---- control messages to the caller ---- */

struct ctl_out {
	uint8_t *at;
	size_t left;
	int flags; /* MSG_CTRUNC */
};

/* Add one; what does not fit is cut, as Linux does. */
static void
put_ctl(struct ctl_out *c, int level, int type, const void *data, size_t len)
{
	struct cmsghdr h = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	size_t space;

	if (c->at == NULL || c->left < sizeof(h)) {
		c->flags |= MSG_CTRUNC;
		return;
	}
	if (c->left < h.cmsg_len) {
		c->flags |= MSG_CTRUNC;
		h.cmsg_len = c->left;
	}
	memcpy(c->at, &h, sizeof(h));
	memcpy(c->at + CMSG_LEN(0), data, h.cmsg_len - CMSG_LEN(0));
	space = RTE_MIN((size_t)CMSG_SPACE(len), c->left);
	c->at += space;
	c->left -= space;
}

/* Arrival by the clock on the wall: the wall's time now, less the datagram's age. */
static struct timespec
wall_time(uint64_t arrival_ns)
{
	const uint64_t age = weir_clock_ns() - arrival_ns;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec - age;
	return (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
				 .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
}

/*
 * Where the datagram came in: what the host has sent to an address of its own, by the interface of that address.
 */
static unsigned int
port_in(struct weir_stack *stack, const struct weir_rxmsg *info)
{
	const struct weir_local *mine = weir_local_find(stack, &info->local.ip, info->local.family);

	if (info->local.scope != 0)
		return info->local.scope - 1;
	return info->port == WEIR_PORT_LOOPBACK && mine != NULL && mine->kind == WEIR_LOCAL_UNICAST
		       ? mine->port
		       : info->port;
}

/* And the address to answer from: its own destination, unless that is a group. */
static struct in_pktinfo
pktinfo(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info)
{
	struct weir_stack *stack = s->sk->stack;
	union weir_ip src = info->local.ip;
	unsigned int port;

	weir_enter(lc);
	port = port_in(stack, info);
	if (weir_local4(stack, src.v4) != WEIR_LOCAL_UNICAST &&
	    weir_route_source(stack, &info->peer.ip, WEIR_IPV4, info->port,
			      &(const union weir_ip){.w = {0, 0}}, &src) != 0)
		src.v4 = 0;
	weir_leave(lc);
	return (struct in_pktinfo){.ipi_ifindex = bsd_ifindex(port),
				   .ipi_spec_dst.s_addr = src.v4,
				   .ipi_addr.s_addr = info->local.ip.v4};
}

static struct in6_pktinfo
pktinfo6(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info)
{
	unsigned int port;

	weir_enter(lc);
	port = port_in(s->sk->stack, info);
	weir_leave(lc);
	return (struct in6_pktinfo){.ipi6_addr = bsd_in6(&info->local),
				    .ipi6_ifindex = (unsigned int)bsd_ifindex(port)};
}

/* What came over IPv4, on a socket of either family. */
static void
describe4(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info, uint32_t want,
	  struct ctl_out *c)
{
	if ((want & BSD_WANT_PKTINFO) != 0) {
		const struct in_pktinfo p = pktinfo(s, lc, info);

		put_ctl(c, IPPROTO_IP, IP_PKTINFO, &p, sizeof(p));
	}
	if ((want & BSD_WANT_TTL) != 0) {
		const int ttl = info->ttl;

		put_ctl(c, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	}
	if ((want & BSD_WANT_TOS) != 0)
		put_ctl(c, IPPROTO_IP, IP_TOS, &info->tos, 1);
	if ((want & BSD_WANT_ORIGDST) != 0) {
		const struct sockaddr_in in = {.sin_family = AF_INET,
					       .sin_port = info->local.port,
					       .sin_addr.s_addr = info->local.ip.v4};

		put_ctl(c, IPPROTO_IP, IP_ORIGDSTADDR, &in, sizeof(in));
	}
}

static void
describe6(const struct weir_rxmsg *info, uint32_t want, struct ctl_out *c)
{
	const uint32_t flowinfo = (uint32_t)info->tos << 20 | info->flow;

	if ((want & BSD_WANT_HOPLIMIT) != 0) {
		const int hops = info->ttl;

		put_ctl(c, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	}
	if ((want & BSD_WANT_TCLASS) != 0) {
		const int tclass = info->tos;

		put_ctl(c, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
	}
	if ((want & BSD_WANT_FLOWINFO) != 0 && flowinfo != 0) {
		const uint32_t be = WIRE_BE32(flowinfo);

		put_ctl(c, IPPROTO_IPV6, IPV6_FLOWINFO, &be, sizeof(be));
	}
	if ((want & BSD_WANT_ORIGDST6) != 0) {
		const struct sockaddr_in6 in6 = bsd_sin6(&info->local);

		put_ctl(c, IPPROTO_IPV6, IPV6_ORIGDSTADDR, &in6, sizeof(in6));
	}
}

static void
describe(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info, uint32_t want,
	 struct ctl_out *c)
{
	if ((want & (BSD_WANT_TIMESTAMP | BSD_WANT_TIMESTAMPNS)) != 0) {
		const struct timespec ts = wall_time(info->time_ns);
		const struct timeval tv = {.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};

		if ((want & BSD_WANT_TIMESTAMPNS) != 0)
			put_ctl(c, SOL_SOCKET, SO_TIMESTAMPNS, &ts, sizeof(ts));
		else
			put_ctl(c, SOL_SOCKET, SO_TIMESTAMP, &tv, sizeof(tv));
	}
	if ((want & BSD_WANT_RXQ_OVFL) != 0 && info->drops != 0)
		put_ctl(c, SOL_SOCKET, SO_RXQ_OVFL, &info->drops, sizeof(info->drops));
	if ((want & BSD_WANT_GRO) != 0 && info->gso_size != 0) {
		const int size = info->gso_size;

		put_ctl(c, IPPROTO_UDP, UDP_GRO, &size, sizeof(size));
	}
	if ((want & BSD_WANT_PKTINFO6) != 0) {
		const struct in6_pktinfo p = pktinfo6(s, lc, info);

		put_ctl(c, IPPROTO_IPV6, IPV6_PKTINFO, &p, sizeof(p));
	}
	if (info->local.family == WEIR_IPV4)
		describe4(s, lc, info, want, c);
	else
		describe6(info, want, c);
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
	struct ctl_out c = {.at = msg->msg_control, .left = room};
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
		put_ctl(&c, IPPROTO_IPV6, IPV6_RECVERR, &note, sizeof(note));
	else
		put_ctl(&c, IPPROTO_IP, IP_RECVERR, &note,
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
	struct ctl_out c = {.at = msg->msg_control, .left = ctl_room};
	const bool shut = info->peer.family == WEIR_UNSPEC;

	if (unlikely(want != 0) && !shut)
		describe(s, lc, info, want, &c);
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

/* ---- control messages from the caller ---- */

static int
ctl_socket(const struct cmsghdr *h)
{
	switch (h->cmsg_type) {
	case SO_MARK:
	case SO_PRIORITY:
		return h->cmsg_len == CMSG_LEN(sizeof(int)) ? 0 : -EINVAL;
	case SCM_RIGHTS:
	case SCM_CREDENTIALS:
		return 0; /* another family's */
	default:
		return -EINVAL;
	}
}

static int
ctl_ip(struct bsd_sock *s, const struct cmsghdr *h, const uint8_t *data, struct weir_txctl *ctl)
{
	const size_t len = h->cmsg_len - CMSG_LEN(0);
	struct in_pktinfo p;
	int value, port;

	switch (h->cmsg_type) {
	case IP_PKTINFO:
		if (len != sizeof(p))
			return -EINVAL;
		memcpy(&p, data, sizeof(p));
		port = bsd_port_of(s, (unsigned int)p.ipi_ifindex);
		if (port < -1)
			return port;
		if (port >= 0)
			ctl->port = port + 1;
		memset(&ctl->from, 0, sizeof(ctl->from));
		ctl->from.ip.v4 = p.ipi_spec_dst.s_addr;
		ctl->from.family = p.ipi_spec_dst.s_addr != 0 ? WEIR_IPV4 : WEIR_UNSPEC;
		return 0;
	case IP_TTL:
		if (len != sizeof(value))
			return -EINVAL;
		memcpy(&value, data, sizeof(value));
		if (value < 1 || value > 255)
			return -EINVAL;
		ctl->ttl = (uint8_t)value;
		return 0;
	case IP_TOS:
		if (len == sizeof(value))
			memcpy(&value, data, sizeof(value));
		else if (len == 1)
			value = data[0];
		else
			return -EINVAL;
		if (value < 0 || value > 255)
			return -EINVAL;
		ctl->tos = (uint8_t)value;
		ctl->has_tos = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* IPV6_PKTINFO of a datagram that goes over IPv4: only a mapped address makes sense. */
static int
ctl_pktinfo_mapped(struct bsd_sock *s, const struct in6_pktinfo *p, struct weir_txctl *ctl)
{
	const int port = bsd_port_of(s, p->ipi6_ifindex);
	uint32_t v4;

	if (!IN6_IS_ADDR_V4MAPPED(&p->ipi6_addr))
		return -EINVAL;
	if (port < -1)
		return port;
	if (port >= 0)
		ctl->port = port + 1;
	memcpy(&v4, &p->ipi6_addr.s6_addr[12], sizeof(v4));
	memset(&ctl->from, 0, sizeof(ctl->from));
	ctl->from.ip.v4 = v4;
	ctl->from.family = v4 != 0 ? WEIR_IPV4 : WEIR_UNSPEC;
	return 0;
}

/* Is the address ours, on the interface if it is link-local? */
static bool
is_ours6(struct bsd_sock *s, struct weir_lcore *lc, const union weir_ip *ip, int port)
{
	bool ours;

	weir_enter(lc);
	ours = weir_local6(s->sk->stack, ip, port) == WEIR_LOCAL_UNICAST;
	weir_leave(lc);
	return ours;
}

static int
ctl_pktinfo6(struct bsd_sock *s, struct weir_lcore *lc, const struct in6_pktinfo *p,
	     const struct weir_addr *to, struct weir_txctl *ctl)
{
	const int by_name = to != NULL && to->scope != 0 ? (int)to->scope - 1 : s->sk->bind_port;
	int port = bsd_port_of(s, p->ipi6_ifindex);
	struct weir_addr from;

	if (port < -1)
		return port;
	if (port >= 0 && by_name >= 0 && port != by_name)
		return -EINVAL;
	memset(&from, 0, sizeof(from));
	memcpy(from.ip.b, &p->ipi6_addr, sizeof(from.ip.b));
	if (port < 0)
		port = by_name;
	if (port < 0 && weir_ip6_is_link_local(&from.ip))
		return -EINVAL;
	if (port >= 0)
		ctl->port = port + 1;
	memset(&ctl->from, 0, sizeof(ctl->from));
	if (weir_ip_is_any(&from.ip))
		return 0;
	if (!s->sk->freebind && !is_ours6(s, lc, &from.ip, port))
		return -EINVAL;
	from.family = WEIR_IPV6;
	if (weir_ip6_is_link_local(&from.ip))
		from.scope = (uint32_t)port + 1;
	ctl->from = from;
	return 0;
}

static int
ctl_ip6(struct bsd_sock *s, struct weir_lcore *lc, const struct cmsghdr *h, const uint8_t *data,
	const struct weir_addr *to, struct weir_txctl *ctl)
{
	const size_t len = h->cmsg_len - CMSG_LEN(0);
	struct in6_pktinfo p;
	uint32_t flowinfo;
	int value = 0;

	if (h->cmsg_type == IPV6_PKTINFO) {
		if (len < sizeof(p))
			return -EINVAL;
		memcpy(&p, data, sizeof(p));
		return ctl_pktinfo6(s, lc, &p, to, ctl);
	}
	if (h->cmsg_type == IPV6_FLOWINFO) {
		if (len < sizeof(flowinfo))
			return -EINVAL;
		memcpy(&flowinfo, data, sizeof(flowinfo));
		ctl->flow = WIRE_BE32(flowinfo) & 0xfffff;
		return 0;
	}
	if (len != sizeof(value))
		return -EINVAL;
	memcpy(&value, data, sizeof(value));
	switch (h->cmsg_type) {
	case IPV6_HOPLIMIT:
		if (value < -1 || value > 255)
			return -EINVAL;
		ctl->has_ttl = value >= 0;
		ctl->ttl = (uint8_t)(value >= 0 ? value : 0);
		return 0;
	case IPV6_TCLASS:
		if (value < -1 || value > 255)
			return -EINVAL;
		ctl->has_tos = value >= 0;
		ctl->tos = (uint8_t)(value >= 0 ? value : 0);
		return 0;
	case IPV6_DONTFRAG:
		if (value != 0 && value != 1)
			return -EINVAL;
		ctl->dontfrag = value != 0;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Of the IP levels: of the family that the datagram takes; the other one's are passed over, as on Linux. */
static int
ctl_any_ip(struct bsd_sock *s, struct weir_lcore *lc, const struct cmsghdr *h, const uint8_t *data,
	   const struct weir_addr *to, bool v4, struct weir_txctl *ctl)
{
	struct in6_pktinfo p;

	if (!v4)
		return h->cmsg_level == IPPROTO_IPV6 ? ctl_ip6(s, lc, h, data, to, ctl) : 0;
	if (h->cmsg_level == IPPROTO_IP)
		return ctl_ip(s, h, data, ctl);
	if (!bsd_is6(s) || h->cmsg_type != IPV6_PKTINFO)
		return 0;
	if (h->cmsg_len < CMSG_LEN(sizeof(p)))
		return -EINVAL;
	memcpy(&p, data, sizeof(p));
	return ctl_pktinfo_mapped(s, &p, ctl);
}

/* Does the datagram go over IPv4? to NULL: to the peer. */
static bool
goes_over_ip4(const struct bsd_sock *s, struct weir_lcore *lc, const struct weir_addr *to)
{
	bool v4;

	if (!bsd_is6(s))
		return true;
	if (to != NULL)
		return to->family == WEIR_IPV4;
	weir_enter(lc);
	v4 = weir_sock_names(s->sk)->peer.family == WEIR_IPV4;
	weir_leave(lc);
	return v4;
}

static int
parse_ctl(struct bsd_sock *s, struct weir_lcore *lc, const struct msghdr *msg,
	  const struct weir_addr *to, struct weir_txctl *ctl)
{
	const bool v4 = goes_over_ip4(s, lc, to);
	const uint8_t *at = msg->msg_control;
	size_t left = msg->msg_controllen;
	struct cmsghdr h;
	uint16_t segment;
	int ret = 0;

	if (at == NULL)
		return left > 0 ? -EFAULT : 0;
	while (left >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		if (h.cmsg_len < sizeof(h) || h.cmsg_len > left)
			return -EINVAL;
		if (h.cmsg_level == SOL_SOCKET) {
			ret = ctl_socket(&h);
		} else if (h.cmsg_level == IPPROTO_IP || h.cmsg_level == IPPROTO_IPV6) {
			ret = ctl_any_ip(s, lc, &h, at + CMSG_LEN(0), to, v4, ctl);
		} else if (h.cmsg_level == IPPROTO_UDP) {
			if (h.cmsg_type != UDP_SEGMENT || h.cmsg_len != CMSG_LEN(sizeof(segment)))
				return -EINVAL;
			memcpy(&segment, at + CMSG_LEN(0), sizeof(segment));
			ctl->segment = segment;
		}
		if (ret != 0)
			return ret;
		if (CMSG_ALIGN(h.cmsg_len) >= left)
			break;
		at += CMSG_ALIGN(h.cmsg_len);
		left -= CMSG_ALIGN(h.cmsg_len);
	}
	return 0;
}

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
		c->v4 = goes_over_ip4(s, lc, to);
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
		ret = parse_ctl(s, lc, msg, to, &ctl);
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
