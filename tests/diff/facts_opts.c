/* SPDX-License-Identifier: BSD-3-Clause */
/* Options: section 5.7. Those of groups are in facts_mcast.c, of IPv6 in facts_v6.c. */
#include "probe.h"

/* "DEFAULT; VALUE:RESULT>WHAT IT READS THEN ..." for an int option. */
static void
try_values(int level, int option, const int *values, int n)
{
	int fd = udp();

	say("%s;", get(fd, level, option));
	for (int i = 0; i < n; i++) {
		const char *r = ret(set(fd, level, option, values[i]));

		say("%d:%s>%s", values[i], r, get(fd, level, option));
	}
}

#define VALUES(level, option, ...)                                                                 \
	do {                                                                                       \
		static const int v[] = {__VA_ARGS__};                                              \
		try_values(level, option, v, (int)(sizeof(v) / sizeof(v[0])));                     \
	} while (0)

#define INT_FACT(name, level, option, ...)                                                         \
	FACT(opt, name, "v4")                                                                      \
	{                                                                                          \
		VALUES(level, option, __VA_ARGS__);                                                \
	}

/* ---- int options, their defaults and limits ---- */

INT_FACT(so_broadcast, SOL_SOCKET, SO_BROADCAST, 1, 0, 7, -1)
INT_FACT(so_reuseaddr, SOL_SOCKET, SO_REUSEADDR, 1, 0, 7, -1)
INT_FACT(so_reuseport, SOL_SOCKET, SO_REUSEPORT, 1, 0, 7)
INT_FACT(so_keepalive, SOL_SOCKET, SO_KEEPALIVE, 1, 0)
INT_FACT(so_oobinline, SOL_SOCKET, SO_OOBINLINE, 1, 0)
INT_FACT(so_dontroute, SOL_SOCKET, SO_DONTROUTE, 1, 0)
INT_FACT(so_no_check, SOL_SOCKET, SO_NO_CHECK, 1, 0, 5)
INT_FACT(so_priority, SOL_SOCKET, SO_PRIORITY, 3, 6, 7, 0)
INT_FACT(so_mark, SOL_SOCKET, SO_MARK, 77, 0)
INT_FACT(so_rcvlowat, SOL_SOCKET, SO_RCVLOWAT, 10, 0, -1)
INT_FACT(so_sndlowat, SOL_SOCKET, SO_SNDLOWAT, 10)
INT_FACT(so_timestamp, SOL_SOCKET, SO_TIMESTAMP, 1, 0, 5)
INT_FACT(so_timestampns, SOL_SOCKET, SO_TIMESTAMPNS, 1, 0)
INT_FACT(so_rxq_ovfl, SOL_SOCKET, SO_RXQ_OVFL, 1, 0, 2)
INT_FACT(so_select_err_queue, SOL_SOCKET, SO_SELECT_ERR_QUEUE, 1, 0)
INT_FACT(so_busy_poll, SOL_SOCKET, SO_BUSY_POLL, 50, 0, -1)
INT_FACT(so_incoming_cpu, SOL_SOCKET, SO_INCOMING_CPU, 0)
INT_FACT(ip_ttl, IPPROTO_IP, IP_TTL, 1, 255, 0, 256, -2, -1)
INT_FACT(ip_tos, IPPROTO_IP, IP_TOS, 0x10, 255, 256, 0x1ff, -1, 0)
INT_FACT(ip_mtu_discover, IPPROTO_IP, IP_MTU_DISCOVER, 0, 1, 2, 3, 4, 5, 6, -1)
INT_FACT(ip_recverr, IPPROTO_IP, IP_RECVERR, 1, 0, 5)
INT_FACT(ip_pktinfo, IPPROTO_IP, IP_PKTINFO, 1, 0, 5)
INT_FACT(ip_recvttl, IPPROTO_IP, IP_RECVTTL, 1, 0)
INT_FACT(ip_recvtos, IPPROTO_IP, IP_RECVTOS, 1, 0)
INT_FACT(ip_recvorigdstaddr, IPPROTO_IP, IP_RECVORIGDSTADDR, 1, 0)
INT_FACT(ip_freebind, IPPROTO_IP, IP_FREEBIND, 1, 0, 5)
INT_FACT(udp_cork, IPPROTO_UDP, UDP_CORK, 1, 0, 5, 0)
INT_FACT(udp_gro, IPPROTO_UDP, UDP_GRO, 1, 0, 5)
INT_FACT(udp_segment, IPPROTO_UDP, UDP_SEGMENT, 1, 1472, 0)
INT_FACT(udp_no_check6_tx, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1, 0)
INT_FACT(udp_no_check6_rx, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, 0)

FACT(opt, read_only, "v4")
{
	static const int options[] = {SO_TYPE, SO_PROTOCOL, SO_DOMAIN, SO_ERROR, SO_ACCEPTCONN};
	int fd = udp();

	for (int i = 0; i < 5; i++) {
		const char *r = ret(set(fd, SOL_SOCKET, options[i], 1));

		say("%s set:%s", get(fd, SOL_SOCKET, options[i]), r);
	}
}

FACT(opt, so_linger, "v4")
{
	int fd = udp();
	struct linger l = {9, 9};
	socklen_t len = sizeof(l);

	say("%s", ret(getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len)));
	say("%d,%d", l.l_onoff, l.l_linger);
	l = (struct linger){1, 3};
	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l))));
	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, 4)));
}

FACT(opt, so_rcvtimeo, "v4")
{
	int fd = udp();
	struct timeval t = {7, 7};
	socklen_t len = sizeof(t);

	say("%s", ret(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, &len)));
	say("%ld.%06ld", (long)t.tv_sec, (long)t.tv_usec);
	t = (struct timeval){1, 500000};
	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t))));
	t = (struct timeval){0, 0};
	getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, &len);
	say("%ld.%06ld", (long)t.tv_sec, (long)t.tv_usec);
	t = (struct timeval){0, 1000000};
	say("usec:%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t))));
	t = (struct timeval){0, -1};
	say("negative usec:%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t))));
	say("short:%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, 8)));
	t = (struct timeval){-1, 0};
	say("negative sec:%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t))));
}

FACT(opt, so_sndtimeo, "v4")
{
	int fd = udp();
	struct timeval t = {2, 0};
	socklen_t len = sizeof(t);

	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t))));
	t = (struct timeval){0, 0};
	say("%s", ret(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, &len)));
	say("%ld", (long)t.tv_sec);
}

FACT(opt, so_error_clears, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	tx(fd, "x", NULL, 0);
	say("%s", so_error(fd));
	say("%s", so_error(fd));
}

FACT(opt, so_bindtodevice, "v4")
{
	int fd = udp();
	char name[IFNAMSIZ] = "zzz";
	socklen_t len = sizeof(name);

	say("get:%s", ret(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len)));
	say("length %u", len);
	say("unknown:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "nosuch0", 8)));
	say("set:%s", ret(to_device(fd, T0)));
	len = sizeof(name);
	say("get:%s", ret(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len)));
	say("%s", len == strlen(env_ifname(T0)) + 1 && strcmp(name, env_ifname(T0)) == 0 ? "name"
											 : "other");
	len = 2;
	say("short get:%s", ret(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len)));
	say("clear:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0)));
	len = sizeof(name);
	say("get:%s", ret(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len)));
	say("length %u", len);
}

FACT(opt, so_bindtodevice_without_nul, "v4")
{
	int fd = udp();

	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, env_ifname(T0),
				 (socklen_t)strlen(env_ifname(T0)))));
}

FACT(opt, so_bindtoifindex, "v4")
{
	int fd = udp();

	say("%s", get(fd, SOL_SOCKET, SO_BINDTOIFINDEX));
	say("%s", ret(set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)env_ifindex(T0))));
	say("%s",
	    get_int(fd, SOL_SOCKET, SO_BINDTOIFINDEX) == (int)env_ifindex(T0) ? "index" : "other");
	say("-1:%s", ret(set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, -1)));
	say("0:%s", ret(set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, 0)));
}

FACT(opt, ip_mtu, "v4")
{
	int fd = udp();

	say("new:%s", get(fd, IPPROTO_IP, IP_MTU));
	connect4(fd, "127.0.0.1", port(0));
	say("loopback:%s", get(fd, IPPROTO_IP, IP_MTU));
	connect4(fd, HOST, port(0));
	say("own:%s", get(fd, IPPROTO_IP, IP_MTU));
	fd = udp();
	connect4(fd, PEER, port(0));
	say("wire:%s", get(fd, IPPROTO_IP, IP_MTU));
	say("set:%s", ret(set(fd, IPPROTO_IP, IP_MTU, 1000)));
	disconnect(fd);
	say("disconnected:%s", get(fd, IPPROTO_IP, IP_MTU));
}

FACT(opt, ip_hdrincl, "v4")
{
	say("%s", ret(set(udp(), IPPROTO_IP, IP_HDRINCL, 1)));
}

FACT(opt, ip_byte_values, "v4")
{
	int fd = udp();
	unsigned char byte = 9, out = 0;
	socklen_t len = 1;

	say("ttl:%s", ret(setsockopt(fd, IPPROTO_IP, IP_TTL, &byte, 1)));
	say("%s", get(fd, IPPROTO_IP, IP_TTL));
	say("tos:%s", ret(setsockopt(fd, IPPROTO_IP, IP_TOS, &byte, 1)));
	say("%s", get(fd, IPPROTO_IP, IP_TOS));
	say("get byte:%s", ret(getsockopt(fd, IPPROTO_IP, IP_TTL, &out, &len)));
	say("%d length %u", out, len);
	say("none:%s", ret(setsockopt(fd, IPPROTO_IP, IP_TTL, &byte, 0)));
	say("recverr:%s", ret(setsockopt(fd, IPPROTO_IP, IP_RECVERR, &byte, 1)));
	say("%s", get(fd, IPPROTO_IP, IP_RECVERR));
}

FACT(opt, lengths, "v4")
{
	int fd = udp(), value = 1;
	long wide = 1;
	unsigned char byte = 1;

	say("socket 1:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &byte, 1)));
	say("socket 0:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &byte, 0)));
	say("socket 8:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &wide, 8)));
	say("socket -1:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, (socklen_t)-1)));
	say("udp 1:%s", ret(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &byte, 1)));
	say("udp -1:%s", ret(setsockopt(fd, IPPROTO_UDP, UDP_CORK, &value, (socklen_t)-1)));
	say("ip -1:%s", ret(setsockopt(fd, IPPROTO_IP, IP_TTL, &value, (socklen_t)-1)));
	say("null:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, NULL, sizeof(int))));
}

FACT(opt, get_lengths, "v4")
{
	static const struct {
		int level, option;
		const char *name;
	} which[] = {{SOL_SOCKET, SO_TYPE, "socket"},
		     {IPPROTO_IP, IP_MTU_DISCOVER, "ip"},
		     {IPPROTO_UDP, UDP_CORK, "udp"}};
	int fd = udp();

	for (int i = 0; i < 3; i++) {
		for (int n = -1; n <= 8; n += n < 2 ? 1 : n == 2 ? 2 : 4) {
			int out[4] = {-1, -1, -1, -1};
			socklen_t len = (socklen_t)n;
			const char *r =
				ret(getsockopt(fd, which[i].level, which[i].option, out, &len));

			say("%s %d:%s,%d", which[i].name, n, r, (int)len);
		}
	}
}

FACT(opt, unknown, "v4")
{
	int fd = udp(), v = 0;
	socklen_t len = sizeof(v);

	say("socket set:%s get:%s", ret(set(fd, SOL_SOCKET, 9999, 1)), get(fd, SOL_SOCKET, 9999));
	say("ip set:%s", ret(set(fd, IPPROTO_IP, 9999, 1)));
	say("get:%s", get(fd, IPPROTO_IP, 9999));
	say("udp set:%s", ret(set(fd, IPPROTO_UDP, 9999, 1)));
	say("get:%s", get(fd, IPPROTO_UDP, 9999));
	say("tcp set:%s", ret(set(fd, IPPROTO_TCP, 1, 1)));
	say("get:%s", ret(getsockopt(fd, IPPROTO_TCP, 1, &v, &len)));
	say("level set:%s", ret(set(fd, 9999, 1, 1)));
	say("get:%s", get(fd, 9999, 1));
	say("negative option:%s", ret(set(fd, SOL_SOCKET, -1, 1)));
}

FACT(opt, v6_level_on_v4, "v4")
{
	int fd = udp();

	say("set:%s", ret(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)));
	say("get:%s", get(fd, IPPROTO_IPV6, IPV6_V6ONLY));
	say("set:%s", ret(set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 1)));
	say("get:%s", get(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS));
	say("unknown:%s", get(fd, IPPROTO_IPV6, 9999));
}

FACT(opt, bad_descriptor, "v4")
{
	say("%s", ret(set(900, SOL_SOCKET, SO_BROADCAST, 1)));
	say("%s", get(900, SOL_SOCKET, SO_BROADCAST));
	say("%s", get(0, SOL_SOCKET, SO_BROADCAST));
}

/* What needs a capability. weir knows no privileges: whoever runs it owns the ports. */
FACT(privilege, without, "v4")
{
	int fd = udp(), low = udp();

	env_privileged(false);
	say("low port:%s", ret(bind4(low, "127.0.0.1", 77)));
	say("port 1024:%s", ret(bind4(fd, "127.0.0.1", 1024)));
	say("rcvbufforce:%s", ret(set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 10000)));
	say("sndbufforce:%s", ret(set(fd, SOL_SOCKET, SO_SNDBUFFORCE, 10000)));
	say("mark:%s", ret(set(fd, SOL_SOCKET, SO_MARK, 3)));
	say("priority 6:%s", ret(set(fd, SOL_SOCKET, SO_PRIORITY, 6)));
	say("priority 7:%s", ret(set(fd, SOL_SOCKET, SO_PRIORITY, 7)));
	say("device:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, env_ifname(T0),
					(socklen_t)strlen(env_ifname(T0)))));
	say("other device:%s", ret(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, env_ifname(T1),
					      (socklen_t)strlen(env_ifname(T1)))));
	env_privileged(true);
}
