/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets of the BSD layer: open and close, names, shutdown, ioctl, and the conversion of addresses.
 *
 * The number that the caller gets is a duplicate of the socket's own eventfd: the caller may close or
 * reuse it at any time, and a producer that signals just then must not write into a stranger.
 */
#include "bsd_priv.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define SNDBUF_DEFAULT 212992
#define TYPES          11  /* of sockets that Linux knows */
#define PROTOCOLS      263 /* of IP */

static _Atomic uint64_t cookies;

/* ---- addresses ---- */

/* An address of struct sockaddr_in6, long enough. */
static void
sin6_in(const struct sockaddr *sa, socklen_t len, struct weir_addr *out)
{
	struct sockaddr_in6 in6;

	memset(&in6, 0, sizeof(in6));
	memcpy(&in6, sa, RTE_MIN((size_t)len, sizeof(in6)));
	memset(out, 0, sizeof(*out));
	memcpy(out->ip.b, &in6.sin6_addr, sizeof(out->ip.b));
	out->port = in6.sin6_port;
	out->family = WEIR_IPV6;
	if (weir_ip_is_mapped(&out->ip)) {
		out->ip = (union weir_ip){.w = {0, 0}};
		memcpy(&out->ip.v4, &in6.sin6_addr.s6_addr[12], sizeof(out->ip.v4));
		out->family = WEIR_IPV4;
	} else {
		out->scope = in6.sin6_scope_id;
	}
}

static void
sin_in(const struct sockaddr_in *in, struct weir_addr *out)
{
	memset(out, 0, sizeof(*out));
	out->ip.v4 = in->sin_addr.s_addr;
	out->port = in->sin_port;
	out->family = in->sin_family == AF_INET ? WEIR_IPV4 : WEIR_UNSPEC;
}

int
bsd_addr_in(const struct bsd_sock *s, const struct sockaddr *sa, socklen_t len,
	    struct weir_addr *out)
{
	struct sockaddr_in in;

	if (len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	if (sa == NULL)
		return -EFAULT;
	if (bsd_is6(s)) {
		if (len < BSD_SIN6_MIN)
			return -EINVAL;
		if (sa->sa_family != AF_INET6)
			return -EAFNOSUPPORT;
		sin6_in(sa, len, out);
		return 0;
	}
	if (len < sizeof(in))
		return -EINVAL;
	memcpy(&in, sa, sizeof(in));
	if (in.sin_family != AF_INET && in.sin_family != AF_UNSPEC)
		return -EAFNOSUPPORT;
	sin_in(&in, out);
	return 0;
}

int
bsd_peer_in(const struct bsd_sock *s, const struct sockaddr *sa, socklen_t len,
	    struct weir_addr *out)
{
	struct sockaddr_in in;

	if (!bsd_is6(s) || sa == NULL || len < sizeof(in) ||
	    len > sizeof(struct sockaddr_storage) || sa->sa_family != AF_INET)
		return bsd_addr_in(s, sa, len, out);
	memcpy(&in, sa, sizeof(in));
	sin_in(&in, out);
	return 0;
}

/* A name for the caller of getsockname() and its like. */
static int
name_out(const struct bsd_sock *s, const struct weir_addr *a, struct sockaddr *sa, socklen_t *len)
{
	if (len == NULL || (sa == NULL && *len != 0))
		return -EFAULT;
	if (*len > INT_MAX)
		return -EINVAL;
	bsd_addr_out(s, a, sa, len);
	return 0;
}

/* ---- open, close ---- */

static int
check_type(int domain, int type, int protocol)
{
	const int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (kind < 0 || kind >= TYPES)
		return -EINVAL;
	if (domain != AF_INET && domain != AF_INET6)
		return -EAFNOSUPPORT;
	if (protocol < 0 || protocol >= PROTOCOLS)
		return -EINVAL;
	if (kind != SOCK_DGRAM)
		return kind == SOCK_STREAM ? -EPROTONOSUPPORT : -ESOCKTNOSUPPORT;
	return protocol == 0 || protocol == IPPROTO_UDP ? 0 : -EPROTONOSUPPORT;
}

static struct bsd_sock *
sock_new(struct weir_socket *sk, bool nonblock)
{
	struct bsd_sock *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->f.kind = BSD_SOCKET;
	atomic_store_explicit(&s->f.nonblock, nonblock, memory_order_relaxed);
	atomic_store_explicit(&s->f.refs, 1, memory_order_relaxed);
	s->sk = sk;
	atomic_store_explicit(&s->rcvtimeo, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&s->sndtimeo, UINT64_MAX, memory_order_relaxed);
	atomic_store_explicit(&s->spin_ns, WEIR_EV_SPIN_NS, memory_order_relaxed);
	atomic_store_explicit(&s->stored[BSD_ST_SNDBUF], SNDBUF_DEFAULT, memory_order_relaxed);
	atomic_store_explicit(&s->stored[BSD_ST_RCVLOWAT], 1, memory_order_relaxed);
	atomic_store_explicit(&s->stored[BSD_ST_PEEK_NEVER], -1, memory_order_relaxed);
	atomic_store_explicit(&s->stored[BSD_ST_AUTOFLOWLABEL], 1, memory_order_relaxed);
	s->cookie = atomic_fetch_add_explicit(&cookies, 1, memory_order_relaxed) + 1;
	pthread_mutex_init(&s->cork.lock, NULL);
	LIST_INIT(&s->items);
	return s;
}

int
weir_socket(int domain, int type, int protocol)
{
	const int cloexec = (type & SOCK_CLOEXEC) != 0 ? EFD_CLOEXEC : 0;
	struct weir_socket_conf conf;
	struct weir_socket *sk;
	struct bsd_sock *s;
	int fd, own, ret;

	ret = check_type(domain, type, protocol);
	if (ret != 0)
		return bsd_fail(-ret);
	if (bsd.stack == NULL)
		return bsd_fail(ENETDOWN);
	weir_socket_conf_init(&conf);
	conf.readers = true;
	conf.family = domain == AF_INET6 ? WEIR_IPV6 : WEIR_IPV4;
	ret = weir_socket_open(bsd.stack, &conf, &sk);
	if (ret != 0)
		return bsd_fail(-ret);
	s = sock_new(sk, (type & SOCK_NONBLOCK) != 0);
	if (s == NULL) {
		weir_socket_close(sk);
		return bsd_fail(ENOMEM);
	}
	/* The caller's first: it gets the lowest number there is. */
	fd = eventfd(1, EFD_NONBLOCK | cloexec);
	own = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
	ret = own >= 0 ? 0 : -errno;
	if (own >= 0) {
		bsd_internal(own);
		weir_event_adopt(sk, own, true);
		ret = bsd_install(fd, &s->f);
	}
	if (ret == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	bsd_sock_destroy(s);
	return bsd_fail(-ret);
}

void
bsd_sock_shut(struct bsd_sock *s)
{
	weir_event_close(s->sk);
	bsd_sock_leave_epolls(s);
}

void
bsd_sock_destroy(struct bsd_sock *s)
{
	weir_socket_close(s->sk);
	pthread_mutex_destroy(&s->cork.lock);
	free(s->cork.buf);
	free(s);
}

/* ---- names ---- */

int
weir_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_addr local;
	int ret;

	if (s == NULL)
		return -1;
	ret = bsd_addr_in(s, addr, len, &local);
	if (ret == 0)
		ret = weir_socket_bind(s->sk, &local);
	return (int)bsd_done(t, ret);
}

int
weir_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_addr peer;
	sa_family_t family;
	int ret = 0;

	if (s == NULL)
		return -1;
	if (len < sizeof(family) || len > sizeof(struct sockaddr_storage))
		ret = -EINVAL;
	else if (addr == NULL)
		ret = -EFAULT;
	if (ret != 0)
		return (int)bsd_done(t, ret);
	memcpy(&family, addr, sizeof(family));
	if (family == AF_UNSPEC) {
		ret = weir_socket_disconnect(s->sk);
	} else {
		ret = bsd_peer_in(s, addr, len, &peer);
		if (ret == 0 && family == AF_INET && s->sk->v6only)
			ret = -EAFNOSUPPORT;
		if (ret == 0)
			ret = weir_socket_connect(s->sk, &peer);
		/* Linux has given the socket a port before it looked at the address. */
		if (ret != 0 && ret != -EAGAIN)
			(void)weir_sock_autobind(s->sk);
	}
	return (int)bsd_done(t, ret);
}

/* What a datagram socket does not have. */
static int
refuse(int fd)
{
	struct bsd_thread *t;

	return bsd_enter_sock(&t, fd) == NULL ? -1 : (int)bsd_done(t, -EOPNOTSUPP);
}

int
weir_listen(int fd, int backlog)
{
	(void)backlog;
	return refuse(fd);
}

int
weir_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return weir_accept4(fd, addr, len, 0);
}

int
weir_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	(void)addr;
	(void)len;
	if ((flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) != 0)
		return bsd_fail(EINVAL);
	return refuse(fd);
}

int
weir_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_addr a;

	if (s == NULL)
		return -1;
	weir_socket_local(s->sk, &a);
	return (int)bsd_done(t, name_out(s, &a, addr, len));
}

int
weir_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	struct weir_addr a;
	int ret;

	if (s == NULL)
		return -1;
	ret = weir_socket_peer(s->sk, &a);
	if (ret == 0 && a.port == 0)
		ret = -ENOTCONN; /* connected to port 0: as Linux says */
	return (int)bsd_done(t, ret != 0 ? ret : name_out(s, &a, addr, len));
}

int
weir_shutdown(int fd, int how)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	int ret = -EINVAL;

	if (s == NULL)
		return -1;
	if (how >= SHUT_RD && how <= SHUT_RDWR)
		ret = weir_socket_shutdown(s->sk, (enum weir_shutdown)(how + 1));
	return (int)bsd_done(t, ret);
}

/* ---- ioctl ---- */

int
weir_ioctl(int fd, unsigned long request, ...)
{
	struct bsd_thread *t;
	struct bsd_sock *s;
	struct weir_lcore *lc;
	va_list ap;
	int *arg;
	int ret;

	va_start(ap, request);
	arg = va_arg(ap, int *);
	va_end(ap);
	s = bsd_enter_sock(&t, fd);
	if (s == NULL)
		return -1;
	if (request != FIONREAD && request != FIONBIO && request != SIOCOUTQ) {
		ret = -ENOTTY;
	} else if (arg == NULL) {
		ret = -EFAULT;
	} else if (request == FIONBIO) {
		atomic_store_explicit(&s->f.nonblock, *arg != 0, memory_order_relaxed);
		ret = 0;
	} else if (request == SIOCOUTQ) {
		*arg = 0; /* what is sent is the stack's at once */
		ret = 0;
	} else {
		ret = bsd_lcore(t, &lc);
		if (ret == 0)
			*arg = (int)weir_recv_next_len(lc, s->sk);
	}
	return (int)bsd_done(t, ret);
}

/* ---- options ---- */

int
weir_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	int ret;

	if (s == NULL)
		return -1;
	if (len > INT_MAX)
		ret = -EINVAL;
	else if (value == NULL && len > 0)
		ret = -EFAULT;
	else
		ret = bsd_setsockopt(t, s, level, name, value, len);
	return (int)bsd_done(t, ret);
}

int
weir_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct bsd_thread *t;
	struct bsd_sock *s = bsd_enter_sock(&t, fd);
	int ret;

	if (s == NULL)
		return -1;
	if (len == NULL || (value == NULL && *len > 0))
		ret = -EFAULT;
	else if (*len > INT_MAX)
		ret = -EINVAL;
	else
		ret = bsd_getsockopt(s, level, name, value, len);
	return (int)bsd_done(t, ret);
}
