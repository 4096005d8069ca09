/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 sockets, dual-stack ones too. t0 has fd77::1/64 with fd77::2 known, t1 has fd78::1/64. */
#include "probe.h"

static int
v6only(int fd, int on)
{
	return set(fd, IPPROTO_IPV6, IPV6_V6ONLY, on);
}

FACT(v6, new_socket, "v6")
{
	int fd = udp6();

	say("local %s", local_name(fd));
	say("peer %s", peer_name(fd));
	say("v6only %s", get(fd, IPPROTO_IPV6, IPV6_V6ONLY));
	say("domain %d", get_int(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6);
}

FACT(v6, bind_arguments, "v6")
{
	struct sockaddr_in a = in4("127.0.0.1", port(0));
	struct sockaddr_in6 b = in6("::", port(0));

	say("v4:%s", ret(bind(udp6(), (struct sockaddr *)&a, sizeof(a))));
	say("short:%s", ret(bind(udp6(), (struct sockaddr *)&b, 23)));
	say("24:%s", ret(bind(udp6(), (struct sockaddr *)&b, 24)));
	b.sin6_family = AF_UNSPEC;
	say("unspec:%s", ret(bind(udp6(), (struct sockaddr *)&b, sizeof(b))));
	say("not ours:%s", ret(bind6(udp6(), ELSEWHERE6, port(1))));
	say("multicast:%s", ret(bind6(udp6(), "ff15::1", port(1))));
}

FACT(v6, bind_link_local, "v6")
{
	struct sockaddr_in6 a = in6("fe80::1", port(0));

	say("no scope:%s", ret(bind(udp6(), (struct sockaddr *)&a, sizeof(a))));
	a.sin6_scope_id = 9999;
	say("unknown:%s", ret(bind(udp6(), (struct sockaddr *)&a, sizeof(a))));
	a.sin6_scope_id = env_ifindex(T0);
	say("not ours:%s", ret(bind(udp6(), (struct sockaddr *)&a, sizeof(a))));
}

FACT(v6, bind_mapped, "v6")
{
	int fd = udp6(), only = udp6(), s = udp();

	say("%s", ret(bind6(fd, "::ffff:127.0.0.1", port(0))));
	say("%s", local_name(fd));
	tx(s, "v4", "127.0.0.1", port(0));
	say("%s", rx(fd));
	v6only(only, 1);
	say("v6only:%s", ret(bind6(only, "::ffff:127.0.0.1", port(1))));
}

FACT(v6, v6only_after_bind, "v6")
{
	int fd = bound6("::1", port(0));

	say("%s", ret(v6only(fd, 1)));
}

FACT(v6, wildcards_conflict, "v6")
{
	int only = udp6();

	bound6("::", port(0));
	say("v4 wildcard:%s", ret(bind4(udp(), "0.0.0.0", port(0))));
	say("v4 address:%s", ret(bind4(udp(), "127.0.0.1", port(0))));
	v6only(only, 1);
	say("%s", ret(bind6(only, "::", port(1))));
	say("v6only, v4 wildcard:%s", ret(bind4(udp(), "0.0.0.0", port(1))));
	bound("0.0.0.0", port(2));
	say("v4 first:%s", ret(bind6(udp6(), "::", port(2))));
	say("v4 first, v6 address:%s", ret(bind6(udp6(), "::1", port(2))));
}

FACT(v6, dual_stack_receives_v4, "v6")
{
	int fd = bound6("::", port(0)), s = bound("127.0.0.1", port(1));
	const struct cmsghdr *c;
	struct in6_pktinfo info;
	struct got *g;
	char dst[64];

	set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	tx(s, "v4", "127.0.0.1", port(0));
	g = rx_msg(fd, 0);
	say("%s", name_text((struct sockaddr *)&g->name, g->name_len));
	c = cmsg_of(g, IPPROTO_IPV6, IPV6_PKTINFO);
	if (c == NULL)
		return;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	inet_ntop(AF_INET6, &info.ipi6_addr, dst, sizeof(dst));
	say("at %s", dst);
}

FACT(v6, dual_stack_loses_to_v4, "v6")
{
	int six = udp6(), four = udp(), s = udp();

	set(six, SOL_SOCKET, SO_REUSEADDR, 1);
	set(four, SOL_SOCKET, SO_REUSEADDR, 1);
	bind4(four, "0.0.0.0", port(0));
	bind6(six, "::", port(0));
	tx(s, "x", "127.0.0.1", port(0));
	say("v4 %s v6 %s", rx(four), rx(six));
}

FACT(v6, v6only_refuses_v4, "v6")
{
	int fd = udp6(), s = connected("127.0.0.1", port(0));

	v6only(fd, 1);
	bind6(fd, "::", port(0));
	tx(s, "x", NULL, 0);
	say("%s %s", rx(fd), so_error(s));
}

FACT(v6, loopback, "v6")
{
	int r = bound6("::1", port(0)), s = bound6("::1", port(1));

	say("%s", ret(tx6(s, "six", "::1", port(0))));
	say("%s", rx_from(r));
}

FACT(v6, connect, "v6")
{
	int fd = udp6();
	struct sockaddr_in a = in4("127.0.0.1", port(0));
	struct sockaddr_in6 b = in6("::1", port(0));

	say("short:%s", ret(connect(fd, (struct sockaddr *)&b, 20)));
	say("v6:%s", ret(connect6(fd, "::1", port(0))));
	say("%s to %s", local_name(fd), peer_name(fd));
	say("disconnect:%s", ret(disconnect(fd)));
	say("%s", local_name(fd));
	say("v4:%s", ret(connect(fd, (struct sockaddr *)&a, sizeof(a))));
	say("%s to %s", local_name(fd), peer_name(fd));
	say("wildcard:%s", ret(connect6(udp6(), "::", port(0))));
	say("no route:%s", ret(connect6(udp6(), ELSEWHERE6, port(0))));
}

FACT(v6, connect_mapped_v6only, "v6")
{
	int fd = udp6();

	v6only(fd, 1);
	say("connect:%s", ret(connect6(fd, "::ffff:127.0.0.1", port(0))));
	say("send:%s", ret(tx6(fd, "x", "::ffff:127.0.0.1", port(0))));
}

FACT(v6, send_arguments, "v6")
{
	int fd = udp6(), r = bound6("::1", port(0));
	struct sockaddr_in a = in4("127.0.0.1", port(0));
	struct sockaddr_in6 b = in6("::1", port(0));

	say("none:%s", ret(send(fd, "x", 1, 0)));
	say("port 0:%s", ret(tx6(fd, "x", "::1", 0)));
	say("short:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&b, 20)));
	say("24:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&b, 24)));
	b.sin6_family = 77;
	say("family:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&b, sizeof(b))));
	b.sin6_family = AF_UNSPEC;
	say("unspec:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&b, sizeof(b))));
	say("v4:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a))));
	env_settle();
	say("%s", rx_n(r, 2));
}

FACT(v6, send_mapped, "v6")
{
	int fd = udp6(), r = bound("127.0.0.1", port(0));

	say("%s", ret(tx6(fd, "x", "::ffff:127.0.0.1", port(0))));
	say("%s", rx_from(r));
	say("%s", local_name(fd));
}

FACT(v6, send_link_local_without_scope, "v6")
{
	say("%s", ret(tx6(udp6(), "x", "fe80::5", port(0))));
}

FACT(v6, too_long, "v6,frag")
{
	int fd = udp6(), r = bound6("::1", port(0));
	static char data[70000];
	struct sockaddr_in6 a = in6("::1", port(0));

	say("65527:%s", ret(sendto(fd, data, 65527, 0, (struct sockaddr *)&a, sizeof(a))));
	env_settle();
	say("%s", rx(r));
	say("65528:%s", ret(sendto(fd, data, 65528, 0, (struct sockaddr *)&a, sizeof(a))));
	say("65536:%s", ret(sendto(fd, data, 65536, 0, (struct sockaddr *)&a, sizeof(a))));
}

FACT(v6, options, "v6")
{
	int fd = udp6();
	static const struct {
		int option;
		const char *name;
		int values[5];
	} o[] = {
		{IPV6_UNICAST_HOPS, "hops", {0, 255, -1, 256, -2}},
		{IPV6_MULTICAST_HOPS, "mhops", {0, 255, -1, 256, -2}},
		{IPV6_MULTICAST_LOOP, "mloop", {0, 1, 2, -1, 1}},
		{IPV6_TCLASS, "tclass", {0, 255, -1, 256, -2}},
		{IPV6_RECVPKTINFO, "pktinfo", {1, 0, 5, -1, 0}},
		{IPV6_RECVHOPLIMIT, "hoplimit", {1, 0, 5, -1, 0}},
		{IPV6_RECVTCLASS, "rtclass", {1, 0, 5, -1, 0}},
		{IPV6_RECVERR, "recverr", {1, 0, 5, -1, 0}},
		{IPV6_MTU_DISCOVER, "pmtu", {0, 2, 5, 6, -1}},
	};

	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		say("%s %s", o[i].name, get(fd, IPPROTO_IPV6, o[i].option));
		for (int k = 0; k < 5; k++) {
			const char *r = ret(set(fd, IPPROTO_IPV6, o[i].option, o[i].values[k]));

			say("%d:%s>%s", o[i].values[k], r, get(fd, IPPROTO_IPV6, o[i].option));
		}
	}
}

FACT(v6, unknown_options, "v6")
{
	int fd = udp6();

	say("set:%s", ret(set(fd, IPPROTO_IPV6, 9999, 1)));
	say("get:%s", get(fd, IPPROTO_IPV6, 9999));
	say("addrform:%s", ret(set(fd, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET)));
	say("v4 ttl:%s", ret(set(fd, IPPROTO_IP, IP_TTL, 7)));
	say("mtu:%s", get(fd, IPPROTO_IPV6, IPV6_MTU));
}

FACT(v6, ancillary, "v6")
{
	int r = bound6("::1", port(0)), s = udp6();
	struct got *g;

	set(r, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	set(r, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	set(r, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	set(s, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9);
	set(s, IPPROTO_IPV6, IPV6_TCLASS, 0x28);
	tx6(s, "x", "::1", port(0));
	g = rx_msg(r, 0);
	say("%s hops %d class %d", cmsg_names(g), cmsg_int(g, IPPROTO_IPV6, IPV6_HOPLIMIT),
	    cmsg_int(g, IPPROTO_IPV6, IPV6_TCLASS));
}

FACT(v6, refused, "v6")
{
	int s = udp6();

	connect6(s, "::1", port(0));
	say("%s", ret(tx6(s, "x", NULL, 0)));
	say("%s", ret(tx6(s, "x", NULL, 0)));
	say("%s", ret(tx6(s, "x", NULL, 0)));
}

FACT(v6, shares_ephemeral_range, "v6")
{
	int fd = udp6();

	say("%s", ret(bind6(fd, "::1", 0)));
	say("%s", local_name(fd));
}

static const char *
join6(int fd, int option, const char *group, unsigned int index)
{
	struct ipv6_mreq m = {.ipv6mr_interface = index};

	inet_pton(AF_INET6, group, &m.ipv6mr_multiaddr);
	return ret(setsockopt(fd, IPPROTO_IPV6, option, &m, sizeof(m)));
}

FACT(v6, membership, "v6,mcast")
{
	int fd = udp6();

	say("join:%s", join6(fd, IPV6_JOIN_GROUP, "ff15::1", env_ifindex(T0)));
	say("twice:%s", join6(fd, IPV6_JOIN_GROUP, "ff15::1", env_ifindex(T0)));
	say("no group:%s", join6(fd, IPV6_JOIN_GROUP, "fd77::9", env_ifindex(T0)));
	say("no such index:%s", join6(fd, IPV6_JOIN_GROUP, "ff15::2", 9999));
	say("leave:%s", join6(fd, IPV6_LEAVE_GROUP, "ff15::1", env_ifindex(T0)));
	say("again:%s", join6(fd, IPV6_LEAVE_GROUP, "ff15::1", env_ifindex(T0)));
	say("multicast_if unknown:%s", ret(set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, 9999)));
}

FACT(v6, multicast_loop, "v6,mcast")
{
	int r = bound6("::", port(0)), s = udp6();

	join6(r, IPV6_JOIN_GROUP, "ff15::1", env_ifindex(T0));
	set(s, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)env_ifindex(T0));
	say("%s", ret(tx6(s, "loop", "ff15::1", port(0))));
	say("%s", rx(r));
	set(s, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
	tx6(s, "quiet", "ff15::1", port(0));
	say("%s", rx(r));
}
