/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options of level IPPROTO_IPV6, of IPv6 sockets. They are about what goes over IPv6; what such a socket does over
 * IPv4 obeys those of IPPROTO_IP, as on Linux. The forms of RFC 2292 and options about extension headers are
 * refused.
 */
#include "bsd_opt.h"

#include <netinet/in.h>
#include <string.h>

#include "../control_state.h"

#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

#ifndef IPV6_PREFER_SRC_TMP /* RFC 5014; <linux/in6.h> cannot be had beside <netinet/in.h> */
#define IPV6_PREFER_SRC_TMP            0x0001
#define IPV6_PREFER_SRC_PUBLIC         0x0002
#define IPV6_PREFER_SRC_PUBTMP_DEFAULT 0x0100
#define IPV6_PREFER_SRC_COA            0x0004
#define IPV6_PREFER_SRC_HOME           0x0400
#define IPV6_PREFER_SRC_CGA            0x0008
#define IPV6_PREFER_SRC_NONCGA         0x0800
#endif
#define HOPS_DEFAULT 64

static int get_int(struct bsd_sock *s, int name, int *v);

/* ---- IPV6_PKTINFO, IPV6_ADDR_PREFERENCES ---- */

/* For all datagrams to come: the interface they leave by. As Linux, the address is kept only. */
static int
set_sticky(struct bsd_sock *s, const void *value, socklen_t len)
{
	struct in6_pktinfo p;
	int port;

	memset(&p, 0, sizeof(p));
	if (len != 0) {
		if (len < sizeof(p))
			return -EINVAL;
		memcpy(&p, value, sizeof(p));
	}
	port = bsd_port_of(s, p.ipi6_ifindex);
	if (port < -1 || (port >= 0 && s->sk->bind_port >= 0 && s->sk->bind_port != port))
		return -EINVAL;
	weir_ctl_lock(s->sk->stack);
	s->sticky = p;
	weir_ctl_unlock(s->sk->stack);
	atomic_store_explicit(&s->sticky_port, (uint32_t)(port + 1), memory_order_relaxed);
	return 0;
}

static int
get_sticky(struct bsd_sock *s, void *value, socklen_t *len)
{
	struct in6_pktinfo p;

	weir_ctl_lock(s->sk->stack);
	p = s->sticky;
	weir_ctl_unlock(s->sk->stack);
	return give(value, len, &p, sizeof(p));
}

/* Which of several sources is preferred (RFC 5014). There is nothing to choose: no address is temporary or mobile. */
static int
set_preferences(struct bsd_sock *s, int v)
{
	static const int one_of[][3] = {
		{IPV6_PREFER_SRC_PUBLIC, IPV6_PREFER_SRC_TMP, IPV6_PREFER_SRC_PUBTMP_DEFAULT},
		{IPV6_PREFER_SRC_HOME, IPV6_PREFER_SRC_COA, 0},
		{IPV6_PREFER_SRC_CGA, IPV6_PREFER_SRC_NONCGA, 0},
	};
	for (size_t i = 0; i < RTE_DIM(one_of); i++) {
		const int all = one_of[i][0] | one_of[i][1] | one_of[i][2];

		if ((v & all & ((v & all) - 1)) != 0)
			return -EINVAL;
	}
	store(s, BSD_ST_ADDR_PREFERENCES,
	      v & (IPV6_PREFER_SRC_PUBLIC | IPV6_PREFER_SRC_TMP | IPV6_PREFER_SRC_COA));
	return 0;
}

static int
get_preferences(const struct bsd_sock *s)
{
	int v = stored(s, BSD_ST_ADDR_PREFERENCES);

	if ((v & (IPV6_PREFER_SRC_TMP | IPV6_PREFER_SRC_PUBLIC)) == 0)
		v |= IPV6_PREFER_SRC_PUBTMP_DEFAULT;
	if ((v & IPV6_PREFER_SRC_COA) == 0)
		v |= IPV6_PREFER_SRC_HOME;
	return v;
}

/* To turn an IPv6 socket into an IPv4 one: refused, with the reasons that Linux would look for first. */
static int
set_addrform(struct bsd_sock *s, int v)
{
	struct weir_addr peer;

	if (v != AF_INET)
		return -EINVAL;
	if (weir_socket_peer(s->sk, &peer) != 0)
		return -ENOTCONN;
	return peer.family != WEIR_IPV4 || s->sk->v6only ? -EADDRNOTAVAIL : -EOPNOTSUPP;
}

/* ---- set ---- */

/* A number of hops or the like, -1 for the default dflt. */
static int
set_or_default(struct bsd_sock *s, enum weir_sockopt opt, int v, int dflt)
{
	return weir_socket_set(s->sk, opt, v == -1 ? dflt : v);
}

static int
set_int(struct bsd_sock *s, int name, int v)
{
	const bool on = v != 0;

	switch (name) {
	case IPV6_ADDRFORM:
		return set_addrform(s, v);
	case IPV6_V6ONLY:
		return weir_socket_set(s->sk, WEIR_OPT_V6ONLY, on);
	case IPV6_UNICAST_HOPS:
		return weir_socket_set(s->sk, WEIR_OPT_HOPS, v);
	case IPV6_MULTICAST_HOPS:
		return set_or_default(s, WEIR_OPT_MCAST_HOPS, v, 1);
	case IPV6_MULTICAST_LOOP:
		return weir_socket_set(s->sk, WEIR_OPT_MCAST_LOOP6, v);
	case IPV6_MULTICAST_ALL:
		return weir_socket_set(s->sk, WEIR_OPT_MCAST_ALL6, on);
	case IPV6_MULTICAST_IF:
		return bsd_set_mcast_if6(s, v);
	case IPV6_TCLASS:
		return set_or_default(s, WEIR_OPT_TCLASS, v, 0);
	case IPV6_MTU_DISCOVER:
		return weir_socket_set(s->sk, WEIR_OPT_MTU_DISCOVER6, v);
	case IPV6_DONTFRAG:
		return weir_socket_set(s->sk, WEIR_OPT_DONTFRAG, on);
	case IPV6_RECVERR:
		return weir_socket_set(s->sk, WEIR_OPT_RECVERR6, on);
	case IPV6_FREEBIND:
	case IPV6_TRANSPARENT:
		return weir_socket_set(s->sk, WEIR_OPT_FREEBIND, on);
	case IPV6_RECVPKTINFO:
		return want(s, BSD_WANT_PKTINFO6, on);
	case IPV6_RECVHOPLIMIT:
		return want(s, BSD_WANT_HOPLIMIT, on);
	case IPV6_RECVTCLASS:
		return want(s, BSD_WANT_TCLASS, on);
	case IPV6_FLOWINFO:
		return want(s, BSD_WANT_FLOWINFO, on);
	case IPV6_RECVORIGDSTADDR:
		return want(s, BSD_WANT_ORIGDST6, on);
	case IPV6_FLOWINFO_SEND:
		store(s, BSD_ST_FLOWINFO_SEND, on);
		return 0;
	case IPV6_AUTOFLOWLABEL:
		store(s, BSD_ST_AUTOFLOWLABEL, on);
		return 0;
	case IPV6_ADDR_PREFERENCES:
		return set_preferences(s, v);
	default:
		return -ENOPROTOOPT;
	}
}

int
bsd_set_ip6(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	int v, unused, ret;

	if (name == IPV6_PKTINFO)
		return set_sticky(s, value, len);
	if (bsd_is_group6(name))
		return bsd_set_group6(s, name, value, len);
	if (len < sizeof(v)) {
		/* An unknown option is that, whatever its length. */
		ret = get_int(s, name, &unused);
		return ret == -ENOPROTOOPT && name != IPV6_ADDRFORM ? ret : -EINVAL;
	}
	memcpy(&v, value, sizeof(v));
	return set_int(s, name, v);
}

/* ---- get ---- */

/* The MTU of a connected socket's path. */
static int
get_mtu(const struct bsd_sock *s, int *v)
{
	struct weir_addr peer;
	int ret = weir_socket_peer(s->sk, &peer);

	return ret != 0 ? ret : bsd_path_mtu(s, &peer, v);
}

static int
get_hops(const struct bsd_sock *s)
{
	const int hops = get_native(s, WEIR_OPT_HOPS);

	return hops >= 0 ? hops : HOPS_DEFAULT;
}

static int
get_int(struct bsd_sock *s, int name, int *v)
{
	switch (name) {
	case IPV6_V6ONLY:
		*v = get_native(s, WEIR_OPT_V6ONLY);
		return 0;
	case IPV6_UNICAST_HOPS:
		*v = get_hops(s);
		return 0;
	case IPV6_MULTICAST_HOPS:
		*v = get_native(s, WEIR_OPT_MCAST_HOPS);
		return 0;
	case IPV6_MULTICAST_LOOP:
		*v = get_native(s, WEIR_OPT_MCAST_LOOP6);
		return 0;
	case IPV6_MULTICAST_ALL:
		*v = get_native(s, WEIR_OPT_MCAST_ALL6);
		return 0;
	case IPV6_MULTICAST_IF:
		*v = get_native(s, WEIR_OPT_MCAST_PORT6) + 1;
		return 0;
	case IPV6_TCLASS:
		*v = get_native(s, WEIR_OPT_TCLASS);
		return 0;
	case IPV6_MTU_DISCOVER:
		*v = get_native(s, WEIR_OPT_MTU_DISCOVER6);
		return 0;
	case IPV6_MTU:
		return get_mtu(s, v);
	case IPV6_DONTFRAG:
		*v = get_native(s, WEIR_OPT_DONTFRAG);
		return 0;
	case IPV6_RECVERR:
		*v = get_native(s, WEIR_OPT_RECVERR6);
		return 0;
	case IPV6_FREEBIND:
	case IPV6_TRANSPARENT:
		*v = get_native(s, WEIR_OPT_FREEBIND);
		return 0;
	case IPV6_RECVPKTINFO:
		*v = wants(s, BSD_WANT_PKTINFO6);
		return 0;
	case IPV6_RECVHOPLIMIT:
		*v = wants(s, BSD_WANT_HOPLIMIT);
		return 0;
	case IPV6_RECVTCLASS:
		*v = wants(s, BSD_WANT_TCLASS);
		return 0;
	case IPV6_FLOWINFO:
		*v = wants(s, BSD_WANT_FLOWINFO);
		return 0;
	case IPV6_RECVORIGDSTADDR:
		*v = wants(s, BSD_WANT_ORIGDST6);
		return 0;
	case IPV6_FLOWINFO_SEND:
		*v = stored(s, BSD_ST_FLOWINFO_SEND);
		return 0;
	case IPV6_AUTOFLOWLABEL:
		*v = stored(s, BSD_ST_AUTOFLOWLABEL);
		return 0;
	case IPV6_ADDR_PREFERENCES:
		*v = get_preferences(s);
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

int
bsd_get_ip6(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	int v, ret;

	if (name == IPV6_PKTINFO)
		return get_sticky(s, value, len);
	if (name == MCAST_MSFILTER)
		return bsd_get_group6(s, name, value, len);
	ret = get_int(s, name, &v);
	return ret != 0 ? ret : give_int(value, len, v);
}
