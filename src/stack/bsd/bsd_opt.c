/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of the BSD layer: which, with what defaults and errnos, as Linux has them (docs/bsd.md has the
 * table). An option whose effect the stack does not have is refused; one without effect on a UDP socket
 * is stored.
 */
#include "bsd_opt.h"

#include <limits.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/time.h>

#include "../control_state.h"
#include "../fib.h"
#include "../local.h"
#include "../recvq.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif
#ifndef SO_RESERVE_MEM
#define SO_RESERVE_MEM 73
#endif

#define RCVBUF_MIN    2304
#define SNDBUF_MIN    4608
#define SNDBUF_MAX    (INT_MAX / 2)
#define LOOPBACK_NAME "lo"
#define MTU_LOOPBACK  65535
#define MTU_LOOPBACK6 65536 /* as Linux says of IPv6 */

/* ---- helpers ---- */

static bool
port_exists(const struct bsd_sock *s, int port)
{
	return port >= 0 && bsd_port_of(s, (unsigned int)port + 1) == port;
}

int
bsd_port_of(const struct bsd_sock *s, unsigned int ifindex)
{
	if (ifindex == 0)
		return -1;
	return weir_port_at(s->sk->stack, ifindex - 1) != NULL ? (int)ifindex - 1 : -ENODEV;
}

/* ---- SOL_SOCKET: buffers, times, interface ---- */

/* Linux: as unsigned, at most the system's maximum unless forced, doubled, at least the minimum. */
static int
set_rcvbuf(struct bsd_sock *s, int value, bool force)
{
	const uint64_t max =
		force ? INT_MAX : RTE_MIN(s->sk->stack->conf.rcvbuf_max, (unsigned int)INT_MAX);
	const uint64_t bytes = (uint64_t)(force && value < 0 ? 0 : (uint32_t)value) * 2;

	weir_recvq_set_limit(&s->sk->rq, RTE_MIN(RTE_MAX(bytes, (uint64_t)RCVBUF_MIN), max));
	return 0;
}

static int
set_sndbuf(struct bsd_sock *s, int value)
{
	int64_t bytes = RTE_MIN((int64_t)(uint32_t)value, (int64_t)SNDBUF_MAX) * 2;

	store(s, BSD_ST_SNDBUF, (int)RTE_MAX(bytes, (int64_t)SNDBUF_MIN));
	return 0;
}

static int
set_timeout(_Atomic uint64_t *timeout, const void *value, socklen_t len)
{
	struct timeval tv;
	uint64_t ns;

	if (len < sizeof(tv))
		return -EINVAL;
	memcpy(&tv, value, sizeof(tv));
	if (tv.tv_usec < 0 || tv.tv_usec >= 1000000)
		return -EDOM;
	if (tv.tv_sec < 0)
		ns = 0;
	else if ((tv.tv_sec == 0 && tv.tv_usec == 0) ||
		 (uint64_t)tv.tv_sec >= UINT64_MAX / WEIR_NS_PER_S - 1)
		ns = UINT64_MAX;
	else
		ns = (uint64_t)tv.tv_sec * WEIR_NS_PER_S + (uint64_t)tv.tv_usec * WEIR_NS_PER_US;
	atomic_store_explicit(timeout, ns, memory_order_relaxed);
	return 0;
}

static int
get_timeout(const _Atomic uint64_t *timeout, void *value, socklen_t *len)
{
	const uint64_t ns =
		atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)timeout, memory_order_relaxed);
	struct timeval tv = {0, 0};

	if (ns != UINT64_MAX) {
		tv.tv_sec = (time_t)(ns / WEIR_NS_PER_S);
		tv.tv_usec = (suseconds_t)(ns % WEIR_NS_PER_S / WEIR_NS_PER_US);
	}
	return give(value, len, &tv, sizeof(tv));
}

static int
bind_to_port(struct bsd_sock *s, int port)
{
	return weir_socket_set(s->sk, WEIR_OPT_BIND_PORT, port);
}

/* The name of a port's device; of a VLAN's, with its number behind a dot. False: there is none such. */
static bool
name_of_port(const struct bsd_sock *s, int port, char *name, size_t size)
{
	struct weir_stack *stack = s->sk->stack;
	const struct weir_port *p;

	weir_ctl_lock(stack); /* keeps the port */
	p = port >= 0 ? weir_port_at(stack, (unsigned int)port) : NULL;
	if (p != NULL)
		snprintf(name, size, "%s", port == WEIR_PORT_LOOPBACK ? LOOPBACK_NAME : p->device);
	weir_ctl_unlock(stack);
	return p != NULL && name[0] != '\0';
}

#define DEVICE_NAME sizeof(((struct weir_port *)NULL)->device)

/* Interface by its name, or by its number as text. */
static int
set_device(struct bsd_sock *s, const void *value, socklen_t len)
{
	char name[DEVICE_NAME], is[DEVICE_NAME];
	const size_t n = RTE_MIN((size_t)len, sizeof(name) - 1);

	if (n > 0)
		memcpy(name, value, n);
	name[n] = '\0';
	if (name[0] == '\0')
		return bind_to_port(s, -1);
	for (int i = 0; i < WEIR_ALL_PORTS; i++) {
		char number[12];

		snprintf(number, sizeof(number), "%d", i);
		if (name_of_port(s, i, is, sizeof(is)) &&
		    (strcmp(is, name) == 0 ||
		     (i != WEIR_PORT_LOOPBACK && strcmp(number, name) == 0)))
			return bind_to_port(s, i);
	}
	return -ENODEV;
}

static int
get_device(const struct bsd_sock *s, void *value, socklen_t *len)
{
	const int port = get_native(s, WEIR_OPT_BIND_PORT);
	char name[DEVICE_NAME];

	if (!name_of_port(s, port, name, sizeof(name))) {
		*len = 0;
		return 0;
	}
	if (*len < IFNAMSIZ || *len < strlen(name) + 1)
		return -EINVAL;
	return give(value, len, name, strlen(name) + 1);
}

static int
set_ifindex(struct bsd_sock *s, int index)
{
	if (index < 0)
		return -EINVAL;
	return index != 0 && !port_exists(s, index - 1) ? -ENODEV : bind_to_port(s, index - 1);
}

/* ---- SOL_SOCKET ---- */

static int
set_socket_int(struct bsd_sock *s, int name, int v)
{
	const bool on = v != 0;

	switch (name) {
	case SO_RCVBUF:
	case SO_RCVBUFFORCE:
		return set_rcvbuf(s, v, name == SO_RCVBUFFORCE);
	case SO_SNDBUF:
	case SO_SNDBUFFORCE:
		return set_sndbuf(s, name == SO_SNDBUFFORCE && v < 0 ? 0 : v);
	case SO_REUSEADDR:
		return weir_socket_set(s->sk, WEIR_OPT_REUSEADDR, on);
	case SO_REUSEPORT:
		return weir_socket_set(s->sk, WEIR_OPT_REUSEPORT, on);
	case SO_BROADCAST:
		return weir_socket_set(s->sk, WEIR_OPT_BROADCAST, on);
	case SO_NO_CHECK:
		return weir_socket_set(s->sk, WEIR_OPT_NO_CHECK, on);
	case SO_PEEK_OFF:
		store(s, BSD_ST_PEEK_NEVER, v < 0 ? v : -1);
		return weir_socket_set(s->sk, WEIR_OPT_PEEK_OFF, v < 0 ? -1 : v);
	case SO_INCOMING_CPU:
		return weir_socket_set(s->sk, WEIR_OPT_LCORE, v);
	case SO_BINDTOIFINDEX:
		return set_ifindex(s, v);
	case SO_RXQ_OVFL:
		return want(s, BSD_WANT_RXQ_OVFL, on);
	case SO_TIMESTAMP:
		want(s, BSD_WANT_TIMESTAMPNS, false);
		return want(s, BSD_WANT_TIMESTAMP, on);
	case SO_TIMESTAMPNS:
		want(s, BSD_WANT_TIMESTAMP, false);
		return want(s, BSD_WANT_TIMESTAMPNS, on);
	case SO_SELECT_ERR_QUEUE:
		atomic_store_explicit(&s->select_errq, on, memory_order_relaxed);
		return 0;
	case SO_BUSY_POLL:
		if (v < 0)
			return -EINVAL;
		store(s, BSD_ST_BUSY_POLL, v);
		atomic_store_explicit(&s->spin_ns, (uint64_t)v * WEIR_NS_PER_US,
				      memory_order_relaxed);
		return 0;
	case SO_RCVLOWAT:
		store(s, BSD_ST_RCVLOWAT, v < 0 ? INT_MAX : v != 0 ? v : 1);
		return 0;
	case SO_PRIORITY:
		store(s, BSD_ST_PRIORITY, v);
		return 0;
	case SO_MARK:
		store(s, BSD_ST_MARK, v);
		return 0;
	case SO_DEBUG:
		store(s, BSD_ST_DEBUG, on);
		return 0;
	case SO_DONTROUTE:
		store(s, BSD_ST_DONTROUTE, on);
		return 0;
	case SO_KEEPALIVE:
		store(s, BSD_ST_KEEPALIVE, on);
		return 0;
	case SO_OOBINLINE:
		store(s, BSD_ST_OOBINLINE, on);
		return 0;
	case SO_RESERVE_MEM:
		return -EOPNOTSUPP;
	default:
		return -ENOPROTOOPT;
	}
}

static int
set_linger(struct bsd_sock *s, const void *value, socklen_t len)
{
	struct linger l;

	if (len < sizeof(l))
		return -EINVAL;
	memcpy(&l, value, sizeof(l));
	store(s, BSD_ST_LINGER_ON, l.l_onoff != 0);
	if (l.l_onoff != 0)
		store(s, BSD_ST_LINGER_TIME, l.l_linger);
	return 0;
}

static int
set_socket(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	int v;

	if (name == SO_BINDTODEVICE)
		return set_device(s, value, len);
	if (len < sizeof(v))
		return -EINVAL;
	memcpy(&v, value, sizeof(v));
	switch (name) {
	case SO_RCVTIMEO:
		return set_timeout(&s->rcvtimeo, value, len);
	case SO_SNDTIMEO:
		return set_timeout(&s->sndtimeo, value, len);
	case SO_LINGER:
		return set_linger(s, value, len);
	default:
		return set_socket_int(s, name, v);
	}
}

static int
get_meminfo(const struct bsd_sock *s, void *value, socklen_t *len)
{
	struct weir_socket_stats st;
	uint32_t info[SK_MEMINFO_VARS] = {0};

	weir_socket_stats_get(s->sk, &st);
	info[SK_MEMINFO_RMEM_ALLOC] = (uint32_t)RTE_MIN(st.charged_bytes, (uint64_t)UINT32_MAX);
	info[SK_MEMINFO_RCVBUF] = (uint32_t)RTE_MIN(st.rcvbuf_bytes, (uint64_t)UINT32_MAX);
	info[SK_MEMINFO_SNDBUF] = (uint32_t)stored(s, BSD_ST_SNDBUF);
	info[SK_MEMINFO_DROPS] = (uint32_t)(st.rcvq_full + st.mem_limit);
	return give(value, len, info, sizeof(info));
}

static int
get_socket_int(struct bsd_sock *s, int name, int *v)
{
	switch (name) {
	case SO_TYPE:
		*v = SOCK_DGRAM;
		return 0;
	case SO_PROTOCOL:
		*v = IPPROTO_UDP;
		return 0;
	case SO_DOMAIN:
		*v = bsd_is6(s) ? AF_INET6 : AF_INET;
		return 0;
	case SO_ACCEPTCONN:
		*v = 0;
		return 0;
	case SO_ERROR:
		*v = -weir_socket_error(s->sk);
		return 0;
	case SO_RCVBUF:
		*v = get_native(s, WEIR_OPT_RCVBUF);
		return 0;
	case SO_SNDBUF:
		*v = stored(s, BSD_ST_SNDBUF);
		return 0;
	case SO_REUSEADDR:
		*v = get_native(s, WEIR_OPT_REUSEADDR);
		return 0;
	case SO_REUSEPORT:
		*v = get_native(s, WEIR_OPT_REUSEPORT);
		return 0;
	case SO_BROADCAST:
		*v = get_native(s, WEIR_OPT_BROADCAST);
		return 0;
	case SO_NO_CHECK:
		*v = get_native(s, WEIR_OPT_NO_CHECK);
		return 0;
	case SO_PEEK_OFF:
		*v = get_native(s, WEIR_OPT_PEEK_OFF);
		if (*v < 0)
			*v = stored(s, BSD_ST_PEEK_NEVER);
		return 0;
	case SO_INCOMING_CPU:
		*v = get_native(s, WEIR_OPT_LCORE);
		return 0;
	case SO_BINDTOIFINDEX:
		*v = get_native(s, WEIR_OPT_BIND_PORT) + 1;
		return 0;
	case SO_RXQ_OVFL:
		*v = wants(s, BSD_WANT_RXQ_OVFL);
		return 0;
	case SO_TIMESTAMP:
		*v = wants(s, BSD_WANT_TIMESTAMP);
		return 0;
	case SO_TIMESTAMPNS:
		*v = wants(s, BSD_WANT_TIMESTAMPNS);
		return 0;
	case SO_SELECT_ERR_QUEUE:
		*v = atomic_load_explicit(&s->select_errq, memory_order_relaxed);
		return 0;
	case SO_BUSY_POLL:
		*v = stored(s, BSD_ST_BUSY_POLL);
		return 0;
	case SO_RCVLOWAT:
		*v = stored(s, BSD_ST_RCVLOWAT);
		return 0;
	case SO_SNDLOWAT:
		*v = 1;
		return 0;
	case SO_PRIORITY:
		*v = stored(s, BSD_ST_PRIORITY);
		return 0;
	case SO_MARK:
		*v = stored(s, BSD_ST_MARK);
		return 0;
	case SO_DEBUG:
		*v = stored(s, BSD_ST_DEBUG);
		return 0;
	case SO_DONTROUTE:
		*v = stored(s, BSD_ST_DONTROUTE);
		return 0;
	case SO_KEEPALIVE:
		*v = stored(s, BSD_ST_KEEPALIVE);
		return 0;
	case SO_OOBINLINE:
		*v = stored(s, BSD_ST_OOBINLINE);
		return 0;
	case SO_RESERVE_MEM:
		*v = 0;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int
get_socket(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	struct linger l;
	int v, ret;

	switch (name) {
	case SO_RCVTIMEO:
		return get_timeout(&s->rcvtimeo, value, len);
	case SO_SNDTIMEO:
		return get_timeout(&s->sndtimeo, value, len);
	case SO_LINGER:
		l = (struct linger){stored(s, BSD_ST_LINGER_ON), stored(s, BSD_ST_LINGER_TIME)};
		return give(value, len, &l, sizeof(l));
	case SO_BINDTODEVICE:
		return get_device(s, value, len);
	case SO_MEMINFO:
		return get_meminfo(s, value, len);
	case SO_COOKIE:
		if (*len < sizeof(s->cookie))
			return -EINVAL;
		return give(value, len, &s->cookie, sizeof(s->cookie));
	default:
		ret = get_socket_int(s, name, &v);
		return ret != 0 ? ret : give_int(value, len, v);
	}
}

/* ---- IPPROTO_IP ---- */

int
bsd_path_mtu(const struct bsd_sock *s, const struct weir_addr *peer, int *v)
{
	struct weir_stack *stack = s->sk->stack;
	const union weir_ip any = {.w = {0, 0}};
	const struct weir_way_key key = {.dst = &peer->ip,
					 .bound = &any,
					 .family = peer->family,
					 .port = get_native(s, WEIR_OPT_BIND_PORT)};
	struct weir_way way;
	int ret = 0;

	weir_ctl_lock(stack); /* keeps the table */
	if (weir_local(stack, &peer->ip, peer->family, key.port) == WEIR_LOCAL_UNICAST)
		*v = peer->family == WEIR_IPV4 ? MTU_LOOPBACK : MTU_LOOPBACK6;
	else if (weir_way_find(stack, &key, &way) == 0)
		*v = way.mtu;
	else
		ret = -ENOTCONN;
	weir_ctl_unlock(stack);
	return ret;
}

/* The path's MTU, of a connected socket. */
static int
get_mtu(struct bsd_sock *s, int *v)
{
	struct weir_addr peer;
	int ret = weir_socket_peer(s->sk, &peer);

	return ret != 0 ? ret : bsd_path_mtu(s, &peer, v);
}

/* Options of one integer. empty: no value was given, which is 0 except where it is refused. */
static int
set_ip_int(struct bsd_sock *s, int name, int v, bool empty)
{
	const bool on = v != 0;

	switch (name) {
	case IP_TTL:
		if (empty)
			return -EINVAL;
		return weir_socket_set(s->sk, WEIR_OPT_TTL, v == -1 ? 64 : v);
	case IP_TOS:
		return weir_socket_set(s->sk, WEIR_OPT_TOS, v & 0xff);
	case IP_MTU_DISCOVER:
		return weir_socket_set(s->sk, WEIR_OPT_MTU_DISCOVER, v);
	case IP_RECVERR:
		return weir_socket_set(s->sk, WEIR_OPT_RECVERR, on);
	case IP_FREEBIND:
	case IP_TRANSPARENT:
		return empty ? -EINVAL : weir_socket_set(s->sk, WEIR_OPT_FREEBIND, on);
	case IP_PKTINFO:
		return want(s, BSD_WANT_PKTINFO, on);
	case IP_RECVTTL:
		return want(s, BSD_WANT_TTL, on);
	case IP_RECVTOS:
		return want(s, BSD_WANT_TOS, on);
	case IP_RECVORIGDSTADDR:
		return want(s, BSD_WANT_ORIGDST, on);
	case IP_BIND_ADDRESS_NO_PORT:
		store(s, BSD_ST_BIND_NO_PORT, on);
		return 0;
	case IP_RECVOPTS:
		store(s, BSD_ST_RECVOPTS, on);
		return 0;
	case IP_RETOPTS:
		store(s, BSD_ST_RETOPTS, on);
		return 0;
	case IP_MULTICAST_TTL:
		if (empty)
			return -EINVAL;
		return weir_socket_set(s->sk, WEIR_OPT_MCAST_TTL, v == -1 ? 1 : v);
	case IP_MULTICAST_LOOP:
		return empty ? -EINVAL : weir_socket_set(s->sk, WEIR_OPT_MCAST_LOOP, on);
	case IP_MULTICAST_ALL:
		return empty ? -EINVAL : weir_socket_set(s->sk, WEIR_OPT_MCAST_ALL, v);
	default:
		return -ENOPROTOOPT;
	}
}

static int
set_ip(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	int v = 0;

	switch (name) {
	case IP_MULTICAST_IF:
		return bsd_set_mcast_if(s, value, len);
	}
	if (bsd_is_group4(name))
		return bsd_set_group4(s, name, value, len);
	/* One byte will do for an integer. */
	if (len >= sizeof(v))
		memcpy(&v, value, sizeof(v));
	else if (len >= 1)
		v = *(const uint8_t *)value;
	return set_ip_int(s, name, v, len == 0);
}

static int
get_ip_int(struct bsd_sock *s, int name, int *v)
{
	switch (name) {
	case IP_TTL:
		*v = get_native(s, WEIR_OPT_TTL);
		return 0;
	case IP_TOS:
		*v = get_native(s, WEIR_OPT_TOS);
		return 0;
	case IP_MTU_DISCOVER:
		*v = get_native(s, WEIR_OPT_MTU_DISCOVER);
		return 0;
	case IP_MTU:
		return get_mtu(s, v);
	case IP_RECVERR:
		*v = get_native(s, WEIR_OPT_RECVERR);
		return 0;
	case IP_FREEBIND:
	case IP_TRANSPARENT:
		*v = get_native(s, WEIR_OPT_FREEBIND);
		return 0;
	case IP_PKTINFO:
		*v = wants(s, BSD_WANT_PKTINFO);
		return 0;
	case IP_RECVTTL:
		*v = wants(s, BSD_WANT_TTL);
		return 0;
	case IP_RECVTOS:
		*v = wants(s, BSD_WANT_TOS);
		return 0;
	case IP_RECVORIGDSTADDR:
		*v = wants(s, BSD_WANT_ORIGDST);
		return 0;
	case IP_BIND_ADDRESS_NO_PORT:
		*v = stored(s, BSD_ST_BIND_NO_PORT);
		return 0;
	case IP_RECVOPTS:
		*v = stored(s, BSD_ST_RECVOPTS);
		return 0;
	case IP_RETOPTS:
		*v = stored(s, BSD_ST_RETOPTS);
		return 0;
	case IP_MULTICAST_TTL:
		*v = get_native(s, WEIR_OPT_MCAST_TTL);
		return 0;
	case IP_MULTICAST_LOOP:
		*v = get_native(s, WEIR_OPT_MCAST_LOOP);
		return 0;
	case IP_MULTICAST_ALL:
		*v = get_native(s, WEIR_OPT_MCAST_ALL);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int
get_ip(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	struct in_addr a;
	uint8_t byte;
	int v, ret;

	if (name == IP_MSFILTER || name == MCAST_MSFILTER)
		return bsd_get_group4(s, name, value, len);
	if (name == IP_MULTICAST_IF) {
		a.s_addr = atomic_load_explicit(&s->mcast_if, memory_order_relaxed);
		return give(value, len, &a, sizeof(a));
	}
	ret = get_ip_int(s, name, &v);
	if (ret != 0)
		return ret;
	/* A small value fits into one byte, and is given in one when the caller has no more room. */
	if (*len < sizeof(v) && *len > 0 && v >= 0 && v <= 255) {
		byte = (uint8_t)v;
		return give(value, len, &byte, 1);
	}
	return give_int(value, len, v);
}

/* ---- IPPROTO_UDP ---- */

static int
set_udp(struct bsd_thread *t, struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	int v, ret;

	if (len < sizeof(v))
		return -EINVAL;
	memcpy(&v, value, sizeof(v));
	switch (name) {
	case UDP_CORK:
		atomic_store_explicit(&s->cork.on, v != 0, memory_order_relaxed);
		return v != 0 ? 0 : bsd_cork_flush(t, s);
	case UDP_SEGMENT:
		if (v < 0 || v > UINT16_MAX)
			return -EINVAL;
		return weir_socket_set(s->sk, WEIR_OPT_SEGMENT, v);
	case UDP_GRO:
		ret = weir_socket_set(s->sk, WEIR_OPT_GRO, v != 0);
		return ret != 0 ? ret : want(s, BSD_WANT_GRO, v != 0);
	case UDP_NO_CHECK6_TX: /* an IPv4 socket only keeps it */
		store(s, BSD_ST_NO_CHECK6_TX, v != 0);
		return bsd_is6(s) ? weir_socket_set(s->sk, WEIR_OPT_NO_CHECK6, v != 0) : 0;
	case UDP_NO_CHECK6_RX: /* a datagram without a sum is dropped before its socket is known */
		if (bsd_is6(s) && v != 0)
			return -ENOPROTOOPT;
		store(s, BSD_ST_NO_CHECK6_RX, v != 0);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

static int
get_udp(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	switch (name) {
	case UDP_CORK:
		return give_int(value, len,
				atomic_load_explicit(&s->cork.on, memory_order_relaxed));
	case UDP_SEGMENT:
		return give_int(value, len, get_native(s, WEIR_OPT_SEGMENT));
	case UDP_GRO:
		return give_int(value, len, get_native(s, WEIR_OPT_GRO));
	case UDP_NO_CHECK6_TX:
		return give_int(value, len, stored(s, BSD_ST_NO_CHECK6_TX));
	case UDP_NO_CHECK6_RX:
		return give_int(value, len, stored(s, BSD_ST_NO_CHECK6_RX));
	default:
		return -ENOPROTOOPT;
	}
}

/* ---- SOL_WEIR ---- */

static int
set_weir(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	int v;

	if (len < sizeof(v))
		return -EINVAL;
	memcpy(&v, value, sizeof(v));
	if (v != 0 && v != 1)
		return -EINVAL;
	switch (name) {
	case WEIR_SO_READERS:
		return weir_socket_set(s->sk, WEIR_OPT_READERS, v);
	case WEIR_SO_EVENTFD:
		weir_event_mute(s->sk, v == 0);
		return 0;
	case WEIR_SO_STABLE:
		return weir_socket_set(s->sk, WEIR_OPT_STABLE, v);
	default:
		return -ENOPROTOOPT;
	}
}

static int
get_weir(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	switch (name) {
	case WEIR_SO_READERS:
		return give_int(value, len, get_native(s, WEIR_OPT_READERS));
	case WEIR_SO_EVENTFD:
		return give_int(value, len, !weir_event_muted(s->sk));
	case WEIR_SO_STABLE:
		return give_int(value, len, get_native(s, WEIR_OPT_STABLE));
	default:
		return -ENOPROTOOPT;
	}
}

/* ---- the two calls ---- */

int
bsd_setsockopt(struct bsd_thread *t, struct bsd_sock *s, int level, int name, const void *value,
	       socklen_t len)
{
	switch (level) {
	case SOL_SOCKET:
		return set_socket(s, name, value, len);
	case IPPROTO_IP:
		return set_ip(s, name, value, len);
	case IPPROTO_IPV6:
		return bsd_is6(s) ? bsd_set_ip6(s, name, value, len) : -ENOPROTOOPT;
	case IPPROTO_UDP:
		return set_udp(t, s, name, value, len);
	case SOL_WEIR:
		return set_weir(s, name, value, len);
	default:
		return -ENOPROTOOPT;
	}
}

int
bsd_getsockopt(struct bsd_sock *s, int level, int name, void *value, socklen_t *len)
{
	switch (level) {
	case SOL_SOCKET:
		return get_socket(s, name, value, len);
	case IPPROTO_IP:
		return get_ip(s, name, value, len);
	case IPPROTO_IPV6:
		return bsd_is6(s) ? bsd_get_ip6(s, name, value, len) : -EOPNOTSUPP;
	case IPPROTO_UDP:
		return get_udp(s, name, value, len);
	case SOL_WEIR:
		return get_weir(s, name, value, len);
	default:
		return -EOPNOTSUPP;
	}
}
