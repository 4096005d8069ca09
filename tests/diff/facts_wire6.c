/* SPDX-License-Identifier: BSD-3-Clause */
/* IPv6 sockets on the wire, their control messages, options one by one, errors, groups and their sources. */
#include "probe.h"

#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO      11
#define IPV6_FLOWINFO_SEND 33
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif

/* ---- the wire ---- */

static const unsigned char peer_mac[6] = {2, 0, 0, 0, 0x77, 2};

/* An IPv6 UDP packet that we sent. */
struct got6 {
	size_t len; /* 0: none */
	unsigned char frame[2048];
	unsigned int tclass, flow, hops, sport, dport;
	const unsigned char *data;
	size_t data_len;
	uint16_t csum;
	bool csum_ok;
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
};

/* The next one by the wire; whatever else has left is passed over. */
static struct got6 *
take6(int wire)
{
	static struct got6 g;

	memset(&g, 0, sizeof(g));
	while ((g.len = env_wire_get(wire, g.frame, sizeof(g.frame))) > 0) {
		const unsigned char *ip = g.frame + 14, *udp = ip + 40;
		uint16_t n;

		if (g.len < 62 || g.frame[12] != 0x86 || g.frame[13] != 0xdd || ip[6] != 17)
			continue;
		n = (uint16_t)(ip[4] << 8 | ip[5]);
		g.tclass = (unsigned int)(ip[0] & 0xf) << 4 | ip[1] >> 4;
		g.flow = (unsigned int)(ip[1] & 0xf) << 16 | (unsigned int)ip[2] << 8 | ip[3];
		g.hops = ip[7];
		inet_ntop(AF_INET6, ip + 8, g.src, sizeof(g.src));
		inet_ntop(AF_INET6, ip + 24, g.dst, sizeof(g.dst));
		g.sport = (unsigned int)udp[0] << 8 | udp[1];
		g.dport = (unsigned int)udp[2] << 8 | udp[3];
		g.csum = (uint16_t)(udp[6] << 8 | udp[7]);
		g.data = udp + 8;
		g.data_len = n - 8u;
		g.csum_ok = csum16(csum16(n + 17u, ip + 8, 32), udp, n) == 0xffff;
		return &g;
	}
	return &g;
}

static const char *
text6(int wire)
{
	const struct got6 *g = take6(wire);

	if (g->len == 0)
		return "nothing";
	return text("%.*s from %s to %s", (int)g->data_len, (const char *)g->data, g->src, g->dst);
}

/* The far end sends words; csum: 0 right, 1 wrong, 2 none. */
static void
say6(const char *src, const char *dst, const char *words, int csum)
{
	unsigned char f[512] = {0};
	const size_t len = strlen(words);
	unsigned char *ip = f + 14, *udp = ip + 40;
	const uint16_t n = (uint16_t)(8 + len);
	uint16_t sum;

	memcpy(f, env_mac(T0), 6);
	memcpy(f + 6, peer_mac, 6);
	f[12] = 0x86;
	f[13] = 0xdd;
	ip[0] = 0x6a; /* class 0xa5, flow label 0x54321 */
	ip[1] = 0x55;
	ip[2] = 0x43;
	ip[3] = 0x21;
	ip[4] = (unsigned char)(n >> 8);
	ip[5] = (unsigned char)n;
	ip[6] = 17;
	ip[7] = 33;
	inet_pton(AF_INET6, src, ip + 8);
	inet_pton(AF_INET6, dst, ip + 24);
	if (ip[24] == 0xff) {
		f[0] = f[1] = 0x33;
		memcpy(f + 2, ip + 36, 4);
	}
	udp[0] = (unsigned char)(port(1) >> 8);
	udp[1] = (unsigned char)port(1);
	udp[2] = (unsigned char)(port(0) >> 8);
	udp[3] = (unsigned char)port(0);
	udp[4] = ip[4];
	udp[5] = ip[5];
	memcpy(udp + 8, words, len);
	sum = (uint16_t)~csum16(csum16(n + 17u, ip + 8, 32), udp, n);
	if (csum == 1)
		sum ^= 0x100;
	if (csum == 2)
		sum = 0;
	udp[6] = (unsigned char)(sum >> 8);
	udp[7] = (unsigned char)sum;
	env_wire_put(T0, f, 62 + len);
}

static const char *
hex(const unsigned char *p, size_t n)
{
	static char out[64];

	for (size_t i = 0; i < n; i++)
		snprintf(out + 2 * i, 3, "%02x", p[i]);
	return out;
}

static long
tx6_ctl(int fd, const char *ip, int level, int type, const void *value, size_t len)
{
	struct sockaddr_in6 to = in6(ip == NULL ? "::1" : ip, port(0));
	_Alignas(16) unsigned char control[128] = {0};
	struct cmsghdr h = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	struct iovec iov = {(void *)(uintptr_t) "x", 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = CMSG_SPACE(len),
			   .msg_name = ip != NULL ? &to : NULL,
			   .msg_namelen = ip != NULL ? sizeof(to) : 0};
	long n;

	memcpy(control, &h, sizeof(h));
	memcpy(control + CMSG_LEN(0), value, len);
	n = sendmsg(fd, &m, 0);
	env_settle();
	return n;
}

static long
tx6_int(int fd, const char *ip, int type, int value)
{
	return tx6_ctl(fd, ip, IPPROTO_IPV6, type, &value, sizeof(value));
}

/* IPV6_PKTINFO with a source and an interface. */
static long
tx6_from(int fd, const char *ip, const char *src, unsigned int index)
{
	struct in6_pktinfo p = {.ipi6_ifindex = index};

	inet_pton(AF_INET6, src, &p.ipi6_addr);
	return tx6_ctl(fd, ip, IPPROTO_IPV6, IPV6_PKTINFO, &p, sizeof(p));
}

FACT(wire6, sent, "v6")
{
	int fd = udp6();
	const struct got6 *g;

	wire_flush();
	say("%s", ret(tx6(fd, "six", PEER6, port(0))));
	g = take6(T0);
	say("hops %u class %u csum %d %s", g->hops, g->tclass, g->csum_ok, hex(g->frame, 6));
	set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9);
	set(fd, IPPROTO_IPV6, IPV6_TCLASS, 0x28);
	set(fd, IPPROTO_IP, IP_TTL, 77);
	tx6(fd, "six", PEER6, port(0));
	g = take6(T0);
	say("hops %u class %u from %s", g->hops, g->tclass, g->src);
	set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, -1);
	tx6(fd, "six", PEER6, port(0));
	say("hops %u", take6(T0)->hops);
}

FACT(wire6, by_message, "v6")
{
	int fd = udp6();
	const struct got6 *g;

	wire_flush();
	set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 9);
	tx6_int(fd, PEER6, IPV6_HOPLIMIT, 3);
	say("hops %u", take6(T0)->hops);
	tx6_int(fd, PEER6, IPV6_HOPLIMIT, -1);
	say("hops %u", take6(T0)->hops);
	tx6_int(fd, PEER6, IPV6_TCLASS, 0x44);
	g = take6(T0);
	say("class %u hops %u", g->tclass, g->hops);
	tx6_from(fd, PEER6, HOST6_1, 0);
	say("from %s", take6(T0)->src);
}

FACT(wire6, no_check, "v6")
{
	int fd = udp6();

	wire_flush();
	say("%s", get(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX));
	say("%s", ret(set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 1)));
	tx6(fd, "x", PEER6, port(0));
	say("csum %u", take6(T0)->csum);
	set(fd, SOL_SOCKET, SO_NO_CHECK, 1);
	set(fd, IPPROTO_UDP, UDP_NO_CHECK6_TX, 0);
	tx6(fd, "x", PEER6, port(0));
	say("%d", take6(T0)->csum_ok);
}

FACT(wire6, received, "v6")
{
	int fd = bound6("::", port(0));
	struct got *g;

	set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
	set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
	set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	set(fd, IPPROTO_IP, IP_RECVTTL, 1);
	say6(PEER6, HOST6, "six", 0);
	g = rx_msg(fd, 0);
	say("%s hops %d class %d", cmsg_names(g), cmsg_int(g, IPPROTO_IPV6, IPV6_HOPLIMIT),
	    cmsg_int(g, IPPROTO_IPV6, IPV6_TCLASS));
	say("%s", name_text((struct sockaddr *)&g->name, g->name_len));
	wire_say("four", port(1), port(0));
	g = rx_msg(fd, 0);
	say("%s ttl %d", cmsg_names(g), cmsg_int(g, IPPROTO_IP, IP_TTL));
}

FACT(wire6, flowinfo, "v6")
{
	int fd = bound6("::", port(0));
	struct got *g;
	uint32_t info;
	const struct cmsghdr *c;

	say("%s", get(fd, IPPROTO_IPV6, IPV6_FLOWINFO));
	say("%s", ret(set(fd, IPPROTO_IPV6, IPV6_FLOWINFO, 1)));
	say6(PEER6, HOST6, "six", 0);
	g = rx_msg(fd, 0);
	c = cmsg_of(g, IPPROTO_IPV6, IPV6_FLOWINFO);
	if (c == NULL)
		return;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	say("%08x name %x", ntohl(info), ((struct sockaddr_in6 *)&g->name)->sin6_flowinfo);
}

FACT(wire6, checksum, "v6")
{
	int fd = bound6("::", port(0));

	say6(PEER6, HOST6, "wrong", 1);
	say("%s", rx(fd));
	say6(PEER6, HOST6, "none", 2);
	say("%s", rx(fd));
	say6(PEER6, HOST6, "right", 0);
	say("%s", rx(fd));
}

FACT(wire6, checksum_may_be_missing, "v6")
{
	int fd = bound6("::", port(0));

	say("%s", ret(set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1)));
	say6(PEER6, HOST6, "none", 2);
	say("%s", rx(fd));
}

FACT(wire6, odd_sources, "v6")
{
	int fd = bound6("::", port(0));

	say6("::1", HOST6, "loopback", 0);
	say6("ff15::1", HOST6, "group", 0);
	say6("::ffff:10.77.0.2", HOST6, "mapped", 0);
	say6(PEER6, "fd77::99", "not ours", 0);
	say6(PEER6, HOST6_1, "the other interface's", 0);
	say("%s", rx_n(fd, 2));
}

FACT(wire6, pending_error, "v6,icmp")
{
	int s = udp6(), r;
	struct got *g;
	const struct cmsghdr *c;
	struct {
		struct sock_extended_err ee;
		struct sockaddr_in6 from;
	} note;

	set(s, IPPROTO_IPV6, IPV6_RECVERR, 1);
	say("%s", ret(tx6(s, "lost", "::1", port(5))));
	say("%s", polled(s));
	r = recv(s, &note, 1, MSG_DONTWAIT) < 0 ? errno : 0;
	say("%s", err_name(r));
	g = rx_msg(s, MSG_ERRQUEUE);
	say("%s %s %s", g->n >= 0 ? text("%.*s", (int)g->n, g->data) : err_name(g->err),
	    msg_names(g->flags), name_text((struct sockaddr *)&g->name, g->name_len));
	c = cmsg_of(g, IPPROTO_IPV6, IPV6_RECVERR);
	if (c == NULL)
		return;
	memset(&note, 0, sizeof(note));
	memcpy(&note, CMSG_DATA(c), sizeof(note));
	say("%s origin %u type %u code %u from %s", err_name((int)note.ee.ee_errno),
	    note.ee.ee_origin, note.ee.ee_type, note.ee.ee_code,
	    name_text((struct sockaddr *)&note.from, sizeof(note.from)));
}

/* A dual-stack socket and an error about IPv4: IP_RECVERR decides. */
FACT(wire6, error_over_ip4, "v6,icmp")
{
	for (int on = 0; on < 2; on++) {
		int s = udp6();
		const struct cmsghdr *c;
		struct got *g;
		struct {
			struct sock_extended_err ee;
			struct sockaddr_in6 from;
		} note;

		set(s, on ? IPPROTO_IP : IPPROTO_IPV6, on ? IP_RECVERR : IPV6_RECVERR, 1);
		tx6(s, "lost", "::ffff:127.0.0.1", port(5));
		g = rx_msg(s, MSG_ERRQUEUE);
		say("%s", g->n >= 0 ? text("%.*s", (int)g->n, g->data) : err_name(g->err));
		c = cmsg_of(g, IPPROTO_IPV6, IPV6_RECVERR);
		if (c == NULL)
			continue;
		memset(&note, 0, sizeof(note));
		memcpy(&note, CMSG_DATA(c), sizeof(note));
		say("%s origin %u from %s to", err_name((int)note.ee.ee_errno), note.ee.ee_origin,
		    name_text((struct sockaddr *)&note.from, sizeof(note.from)));
		say("%s", name_text((struct sockaddr *)&g->name, g->name_len));
	}
}

FACT(wire6, larger_than_mtu, "v6")
{
	struct sockaddr_in6 to = in6(PEER6, port(0));
	static char data[3000];
	struct got *g;
	int fd = udp6();

	wire_flush();
	say("do:%s", ret(set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO)));
	say("1452:%s", ret(sendto(fd, data, 1452, 0, (struct sockaddr *)&to, sizeof(to))));
	say("1453:%s", ret(sendto(fd, data, 1453, 0, (struct sockaddr *)&to, sizeof(to))));
	set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
	say("1453:%s", ret(sendto(fd, data, 1453, 0, (struct sockaddr *)&to, sizeof(to))));
	g = rx_msg(fd, MSG_ERRQUEUE);
	say("%s", g->n >= 0 ? msg_names(g->flags) : err_name(g->err));
	set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT);
	say("dontfrag:%s", ret(set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1)));
	say("1453:%s", ret(sendto(fd, data, 1453, 0, (struct sockaddr *)&to, sizeof(to))));
	connect6(fd, PEER6, port(0));
	say("mtu:%s", get(fd, IPPROTO_IPV6, IPV6_MTU));
	connect6(fd, "::1", port(0));
	say("mtu:%s", get(fd, IPPROTO_IPV6, IPV6_MTU));
}

/* ---- control messages ---- */

FACT(v6, bad_control_messages, "v6")
{
	int fd = udp6();
	struct in6_pktinfo p = {0};
	unsigned char byte = 1;

	connect6(fd, "::1", port(0));
	bound6("::1", port(0));
	say("hops 256:%s", ret(tx6_int(fd, NULL, IPV6_HOPLIMIT, 256)));
	say("hops -2:%s", ret(tx6_int(fd, NULL, IPV6_HOPLIMIT, -2)));
	say("hops 0:%s", ret(tx6_int(fd, NULL, IPV6_HOPLIMIT, 0)));
	say("hops byte:%s",
	    ret(tx6_ctl(fd, NULL, IPPROTO_IPV6, IPV6_HOPLIMIT, &byte, sizeof(byte))));
	say("class 256:%s", ret(tx6_int(fd, NULL, IPV6_TCLASS, 256)));
	say("class -1:%s", ret(tx6_int(fd, NULL, IPV6_TCLASS, -1)));
	say("dontfrag 2:%s", ret(tx6_int(fd, NULL, IPV6_DONTFRAG, 2)));
	say("unknown:%s", ret(tx6_int(fd, NULL, 9999, 1)));
	say("pktinfo short:%s", ret(tx6_ctl(fd, NULL, IPPROTO_IPV6, IPV6_PKTINFO, &p, 12)));
	say("ip level:%s", ret(tx6_ctl(fd, NULL, IPPROTO_IP, 9999, &p, 4)));
	say("other level:%s", ret(tx6_ctl(fd, NULL, 9999, 1, &p, 4)));
}

FACT(v6, source_by_message, "v6")
{
	int fd = udp6(), r = bound6("::", port(0));

	say("ours:%s", ret(tx6_from(fd, "::1", HOST6, 0)));
	say("%s", rx_from(r));
	say("any:%s", ret(tx6_from(fd, "::1", "::", 0)));
	say("%s", rx_from(r));
	say("not ours:%s", ret(tx6_from(fd, "::1", ELSEWHERE6, 0)));
	say("group:%s", ret(tx6_from(fd, "::1", "ff15::1", 0)));
	say("unknown index:%s", ret(tx6_from(fd, "::1", HOST6, 9999)));
	say("link-local:%s", ret(tx6_from(fd, "::1", "fe80::1", 0)));
	say("mapped:%s", ret(tx6_from(fd, "::1", "::ffff:127.0.0.1", 0)));
}

FACT(v6, source_by_message_over_ip4, "v6")
{
	int fd = udp6(), r = bound("0.0.0.0", port(0));
	struct in_pktinfo p = {0};

	say("mapped:%s", ret(tx6_from(fd, "::ffff:127.0.0.1", "::ffff:127.0.0.9", 0)));
	say("%s", rx_from(r));
	say("six:%s", ret(tx6_from(fd, "::ffff:127.0.0.1", HOST6, 0)));
	say("none:%s", ret(tx6_from(fd, "::ffff:127.0.0.1", "::", 0)));
	say("mapped none:%s", ret(tx6_from(fd, "::ffff:127.0.0.1", "::ffff:0.0.0.0", 0)));
	say("%s", rx_from(r));
	inet_pton(AF_INET, "127.0.0.8", &p.ipi_spec_dst);
	say("four:%s", ret(tx6_ctl(fd, "::ffff:127.0.0.1", IPPROTO_IP, IP_PKTINFO, &p, sizeof(p))));
	say("%s", rx_from(r));
	say("hops:%s", ret(tx6_int(fd, "::ffff:127.0.0.1", IPV6_HOPLIMIT, 256)));
	say("%s", rx_from(r));
}

FACT(v6, ip_options_of_dual, "v6")
{
	int fd = bound6("::", port(0)), s = udp6();
	struct got *g;

	set(fd, IPPROTO_IP, IP_RECVTTL, 1);
	set(fd, IPPROTO_IP, IP_RECVTOS, 1);
	set(fd, IPPROTO_IP, IP_PKTINFO, 1);
	set(s, IPPROTO_IP, IP_TTL, 7);
	set(s, IPPROTO_IP, IP_TOS, 0x20);
	set(s, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 8);
	tx6(s, "four", "::ffff:127.0.0.1", port(0));
	g = rx_msg(fd, 0);
	say("%s ttl %d", cmsg_names(g), cmsg_int(g, IPPROTO_IP, IP_TTL));
	tx6(s, "six", "::1", port(0));
	g = rx_msg(fd, 0);
	say("%s", g->control_len == 0 ? "nothing" : cmsg_names(g));
}

/* ---- names ---- */

FACT(v6, name_is_cut, "v6")
{
	int fd = bound6("::", port(0)), s = bound6("::1", port(1));
	struct sockaddr_in6 a;
	char c;

	for (socklen_t room = 0; room <= 40; room += 10) {
		socklen_t len = room;

		memset(&a, 0xee, sizeof(a));
		tx6(s, "x", "::1", port(0));
		say("%s", ret(recvfrom(fd, &c, 1, MSG_DONTWAIT, (struct sockaddr *)&a, &len)));
		say("%u", len);
	}
	{
		socklen_t len = 4;

		say("%s", ret(getsockname(fd, (struct sockaddr *)&a, &len)));
		say("%u", len);
	}
}

FACT(v6, bind_again, "v6")
{
	int fd = bound6("::1", port(0)), c = udp6();

	say("twice:%s", ret(bind6(fd, "::1", port(1))));
	connect6(c, "::1", port(0));
	say("connected:%s", ret(bind6(c, "::1", port(1))));
	say("same:%s", ret(bind6(udp6(), "::1", port(0))));
	say("wildcard:%s", ret(bind6(udp6(), "::", port(0))));
	say("other:%s", ret(bind6(udp6(), HOST6, port(0))));
}

FACT(v6, disconnect_names, "v6")
{
	int fd = bound6("::", port(0)), b = bound6(HOST6, port(1)), e = udp6();

	connect6(fd, "::1", port(5));
	say("%s", local_name(fd));
	disconnect(fd);
	say("%s", local_name(fd));
	connect6(b, PEER6, port(5));
	disconnect(b);
	say("%s", local_name(b));
	bind6(e, HOST6, 0);
	disconnect(e);
	say("%s", local_name(e));
}

FACT(v6, connect_then_other_family, "v6")
{
	int fd = bound6("::", port(0)), s = bound6("::", port(1));

	say("%s", ret(connect6(fd, "::ffff:127.0.0.1", port(1))));
	say("%s", local_name(fd));
	tx6(s, "six", "::1", port(0));
	say("%s", rx(fd));
	tx6(s, "four", "::ffff:127.0.0.1", port(0));
	say("%s", rx(fd));
	say("%s", ret(tx6(fd, "out", NULL, 0)));
	say("%s", rx_from(s));
}

FACT(v6, bound_to_the_other_family, "v6")
{
	int four = bound6("::ffff:127.0.0.1", port(0)), six = bound6("::1", port(1));

	say("%s", ret(tx6(four, "x", "::1", port(1))));
	say("%s", ret(connect6(four, "::1", port(1))));
	say("%s", ret(tx6(four, "x", "::ffff:127.0.0.1", port(2))));
	say("%s", ret(tx6(six, "x", "::ffff:10.77.0.2", port(2))));
	say("%s", ret(tx6(six, "x", "::ffff:127.0.0.1", port(0))));
	say("%s", rx_from(four));
	say("%s", ret(connect6(six, "::ffff:127.0.0.1", port(0))));
	say("%s", local_name(six));
}

FACT(v6, connect_odd, "v6")
{
	say("link-local:%s", ret(connect6(udp6(), "fe80::5", port(0))));
	say("group:%s", ret(connect6(udp6(), "ff15::1", port(0))));
	say("link-local group:%s", ret(connect6(udp6(), "ff02::1", port(0))));
	say("port 0:%s", ret(connect6(udp6(), "::1", 0)));
	say("mapped any:%s", ret(connect6(udp6(), "::ffff:0.0.0.0", port(0))));
}

FACT(v6, send_to_any, "v6")
{
	int fd = udp6(), r = bound6("::", port(0));

	say("%s", ret(tx6(fd, "x", "::", port(0))));
	say("%s", rx_from(r));
	say("%s", ret(tx6(fd, "y", "::ffff:0.0.0.0", port(0))));
	say("%s", rx_from(r));
}

FACT(v6, no_route, "v6")
{
	int fd = udp6();

	say("%s", ret(tx6(fd, "x", ELSEWHERE6, port(0))));
	say("%s", local_name(fd));
	say("%s", ret(tx6(fd, "x", "::ffff:203.0.113.1", port(0))));
}

FACT(v6, reuseaddr_latest, "v6")
{
	int a = udp6(), b = udp6(), s = udp6();

	set(a, SOL_SOCKET, SO_REUSEADDR, 1);
	set(b, SOL_SOCKET, SO_REUSEADDR, 1);
	say("%s", ret(bind6(a, "::", port(0))));
	say("%s", ret(bind6(b, "::", port(0))));
	tx6(s, "six", "::1", port(0));
	tx6(s, "four", "::ffff:127.0.0.1", port(0));
	say("%s;", rx_n(a, 2));
	say("%s", rx_n(b, 2));
}

FACT(v6, address_before_family, "v6")
{
	int dual = udp6(), four = udp(), s = udp();

	set(dual, SOL_SOCKET, SO_REUSEADDR, 1);
	set(four, SOL_SOCKET, SO_REUSEADDR, 1);
	bind4(four, "0.0.0.0", port(0));
	bind6(dual, "::ffff:127.0.0.1", port(0));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", rx(four));
	say("%s", rx(dual));
}

FACT(v6, device, "v6")
{
	int fd = udp6(), any = bound6("::", port(1));

	to_device(fd, T0);
	say("%s", ret(bind6(fd, "::", port(0))));
	tx6(any, "lo", "::1", port(0));
	say("%s", rx(fd));
	say6(PEER6, HOST6, "wire", 0);
	say("%s", rx(fd));
	say("%s", ret(tx6(fd, "x", PEER6, port(0))));
	say("other wire:%s", ret(bind6(udp6(), "::", port(0))));
}

FACT(v6, corked, "v6")
{
	int fd = udp6(), r = bound6("::1", port(0));
	struct sockaddr_in6 a = in6("::1", port(0));

	say("%s", ret(sendto(fd, "one", 3, MSG_MORE, (struct sockaddr *)&a, sizeof(a))));
	say("%s", rx(r));
	say("%s", ret(send(fd, "two", 3, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(v6, many_messages, "v6")
{
	int fd = bound6("::", port(0)), s = bound6("::", port(1));
	struct sockaddr_in6 name[3];
	char data[3][8];
	struct iovec iov[3];
	struct mmsghdr m[3];

	tx6(s, "six", "::1", port(0));
	tx6(s, "four", "::ffff:127.0.0.1", port(0));
	for (int i = 0; i < 3; i++) {
		iov[i] = (struct iovec){data[i], sizeof(data[i])};
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i],
						    .msg_iovlen = 1,
						    .msg_name = &name[i],
						    .msg_namelen = sizeof(name[i])}};
	}
	say("%s", ret(recvmmsg(fd, m, 3, MSG_DONTWAIT, NULL)));
	for (int i = 0; i < 2; i++)
		say("%.*s %s", (int)m[i].msg_len, data[i],
		    name_text((struct sockaddr *)&name[i], m[i].msg_hdr.msg_namelen));
}

/* ---- options ---- */

FACT(v6, more_options, "v6")
{
	static const struct {
		int option;
		const char *name;
		int values[4];
	} o[] = {
		{IPV6_V6ONLY, "v6only", {1, 0, 5, -1}},
		{IPV6_DONTFRAG, "dontfrag", {1, 0, 5, -1}},
		{IPV6_FREEBIND, "freebind", {1, 0, 5, -1}},
		{IPV6_RECVORIGDSTADDR, "origdst", {1, 0, 5, -1}},
		{IPV6_MULTICAST_ALL, "mall", {0, 1, 5, -1}},
		{IPV6_FLOWINFO, "flowinfo", {1, 0, 5, -1}},
		{IPV6_FLOWINFO_SEND, "flowsend", {1, 0, 5, -1}},
		{IPV6_AUTOFLOWLABEL, "autoflow", {0, 1, 5, -1}},
		{IPV6_MULTICAST_IF, "mif", {9999, -1, 0, 0}},
	};
	int fd = udp6();

	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		say("%s %s", o[i].name, get(fd, IPPROTO_IPV6, o[i].option));
		for (int k = 0; k < 4; k++) {
			const char *r = ret(set(fd, IPPROTO_IPV6, o[i].option, o[i].values[k]));

			say("%d:%s>%s", o[i].values[k], r, get(fd, IPPROTO_IPV6, o[i].option));
		}
	}
}

FACT(v6, address_preferences, "v6")
{
	static const int values[] = {2, 1, 3, 4, 0x400, 0x404, 8, 0x808, 0x100};
	int fd = udp6();

	say("%s", get(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		say("%x:%s", (unsigned int)values[i],
		    ret(set(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES, values[i])));
		say("%s", get(fd, IPPROTO_IPV6, IPV6_ADDR_PREFERENCES));
	}
}

FACT(v6, option_lengths, "v6")
{
	static const int o[] = {IPV6_UNICAST_HOPS, IPV6_TCLASS,  IPV6_MULTICAST_HOPS,
				IPV6_V6ONLY,       IPV6_RECVERR, IPV6_MTU_DISCOVER,
				IPV6_RECVPKTINFO,  9999};
	int fd = udp6();
	unsigned char byte[16] = {1};

	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++) {
		socklen_t len = 2;

		say("%s", ret(setsockopt(fd, IPPROTO_IPV6, o[i], byte, 1)));
		say("%s", ret(setsockopt(fd, IPPROTO_IPV6, o[i], NULL, 0)));
		say("%s", ret(getsockopt(fd, IPPROTO_IPV6, o[i], byte, &len)));
		say("%u;", len);
	}
}

FACT(v6, levels, "v6")
{
	int six = udp6(), four = udp();

	say("set on v4:%s", ret(set(four, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 1)));
	say("get on v4:%s", get(four, IPPROTO_IPV6, IPV6_UNICAST_HOPS));
	say("ttl on v6:%s", ret(set(six, IPPROTO_IP, IP_TTL, 300)));
	say("%s", get(six, IPPROTO_IP, IP_TTL));
	say("unknown on v6:%s", ret(set(six, IPPROTO_IP, 9999, 1)));
	say("%s", get(six, IPPROTO_IP, 9999));
	say("protocol %s", get(six, SOL_SOCKET, SO_PROTOCOL));
}

/* ---- groups ---- */

#define GROUP6 "ff15::77:1"

static int
group_req6(int fd, int option, const char *group, unsigned int index)
{
	struct group_req r = {.gr_interface = index};
	struct sockaddr_in6 a = in6(group, 0);

	memcpy(&r.gr_group, &a, sizeof(a));
	return setsockopt(fd, IPPROTO_IPV6, option, &r, sizeof(r));
}

static int
source_req6(int fd, int option, const char *group, const char *source, unsigned int index)
{
	struct group_source_req r = {.gsr_interface = index};
	struct sockaddr_in6 a = in6(group, 0), s = in6(source, 0);

	memcpy(&r.gsr_group, &a, sizeof(a));
	memcpy(&r.gsr_source, &s, sizeof(s));
	return setsockopt(fd, IPPROTO_IPV6, option, &r, sizeof(r));
}

FACT(mcast6, from_the_wire, "v6,mcast")
{
	int fd = bound6("::", port(0)), other = bound6(HOST6, port(2));

	say6(PEER6, GROUP6, "before", 0);
	say("%s", rx(fd));
	say("%s", ret(group_req6(fd, MCAST_JOIN_GROUP, GROUP6, env_ifindex(T0))));
	say6(PEER6, GROUP6, "joined", 0);
	say("%s", rx_from(fd));
	say("%s", rx(other));
	say("twice:%s", ret(group_req6(fd, MCAST_JOIN_GROUP, GROUP6, env_ifindex(T0))));
	say("other wire:%s", ret(group_req6(fd, MCAST_JOIN_GROUP, GROUP6, env_ifindex(T1))));
	say("unknown:%s", ret(group_req6(fd, MCAST_JOIN_GROUP, GROUP6, 9999)));
	say("leave:%s", ret(group_req6(fd, MCAST_LEAVE_GROUP, GROUP6, env_ifindex(T0))));
	say("again:%s", ret(group_req6(fd, MCAST_LEAVE_GROUP, GROUP6, env_ifindex(T0))));
	say("unknown:%s", ret(group_req6(fd, MCAST_LEAVE_GROUP, GROUP6, 9999)));
	say("any:%s", ret(group_req6(fd, MCAST_LEAVE_GROUP, GROUP6, 0)));
	say6(PEER6, GROUP6, "left", 0);
	say("%s", rx(fd));
}

FACT(mcast6, others_groups, "v6,mcast")
{
	int member = bound6("::", port(5)), fd = bound6("::", port(0));

	group_req6(member, MCAST_JOIN_GROUP, GROUP6, env_ifindex(T0));
	say6(PEER6, GROUP6, "all", 0);
	say("%s", rx(fd));
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
	say6(PEER6, GROUP6, "own", 0);
	say("%s", rx(fd));
}

FACT(mcast6, sources, "v6,mcast")
{
	int fd = bound6("::", port(0));
	unsigned int t0 = env_ifindex(T0);

	say("not joined:%s", ret(source_req6(fd, MCAST_BLOCK_SOURCE, GROUP6, PEER6, t0)));
	say("leave:%s", ret(source_req6(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP6, PEER6, t0)));
	say("join:%s", ret(source_req6(fd, MCAST_JOIN_SOURCE_GROUP, GROUP6, PEER6, t0)));
	say("again:%s", ret(source_req6(fd, MCAST_JOIN_SOURCE_GROUP, GROUP6, PEER6, t0)));
	say6(PEER6, GROUP6, "wanted", 0);
	say("%s", rx(fd));
	say6("fd77::3", GROUP6, "other", 0);
	say("%s", rx(fd));
	say("block:%s", ret(source_req6(fd, MCAST_BLOCK_SOURCE, GROUP6, PEER6, t0)));
	say("plain:%s", ret(group_req6(fd, MCAST_JOIN_GROUP, GROUP6, t0)));
	say("leave:%s", ret(source_req6(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP6, PEER6, t0)));
	say("again:%s", ret(source_req6(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP6, PEER6, t0)));
}

FACT(mcast6, blocked, "v6,mcast")
{
	int fd = bound6("::", port(0));
	unsigned int t0 = env_ifindex(T0);

	group_req6(fd, MCAST_JOIN_GROUP, GROUP6, t0);
	say("block:%s", ret(source_req6(fd, MCAST_BLOCK_SOURCE, GROUP6, PEER6, t0)));
	say6(PEER6, GROUP6, "blocked", 0);
	say("%s", rx(fd));
	say6("fd77::3", GROUP6, "other", 0);
	say("%s", rx(fd));
	say("again:%s", ret(source_req6(fd, MCAST_BLOCK_SOURCE, GROUP6, PEER6, t0)));
	say("unblock:%s", ret(source_req6(fd, MCAST_UNBLOCK_SOURCE, GROUP6, PEER6, t0)));
	say("again:%s", ret(source_req6(fd, MCAST_UNBLOCK_SOURCE, GROUP6, PEER6, t0)));
	say("mode:%s", ret(source_req6(fd, MCAST_JOIN_SOURCE_GROUP, GROUP6, PEER6, t0)));
	say6("fd77::3", GROUP6, "other", 0);
	say("%s", rx(fd));
}

FACT(mcast6, filter, "v6,mcast")
{
	static struct {
		struct group_filter f;
		struct sockaddr_storage more[4];
	} v;
	struct sockaddr_in6 a = in6(GROUP6, 0), s1 = in6(PEER6, 0), s2 = in6("fd77::3", 0);
	const socklen_t head = offsetof(struct group_filter, gf_slist);
	socklen_t len = head + 2 * sizeof(struct sockaddr_storage);
	int fd = bound6("::", port(0));

	memset(&v, 0, sizeof(v));
	v.f.gf_interface = env_ifindex(T0);
	memcpy(&v.f.gf_group, &a, sizeof(a));
	v.f.gf_fmode = MCAST_EXCLUDE;
	v.f.gf_numsrc = 2;
	memcpy(&v.f.gf_slist[0], &s1, sizeof(s1));
	memcpy((char *)&v + head + sizeof(struct sockaddr_storage), &s2, sizeof(s2));
	say("not joined:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len)));
	group_req6(fd, MCAST_JOIN_GROUP, GROUP6, env_ifindex(T0));
	say("short:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len - 1)));
	say("set:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len)));
	say6(PEER6, GROUP6, "excluded", 0);
	say("%s", rx(fd));
	say6("fd77::4", GROUP6, "other", 0);
	say("%s", rx(fd));
	v.f.gf_numsrc = 1;
	say("get:%s", ret(getsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, &len)));
	say("%u mode %u", v.f.gf_numsrc, v.f.gf_fmode);
	v.f.gf_fmode = 7;
	say("mode:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len)));
	v.f.gf_fmode = MCAST_INCLUDE;
	v.f.gf_numsrc = 0;
	say("nobody:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len)));
	say("again:%s", ret(setsockopt(fd, IPPROTO_IPV6, MCAST_MSFILTER, &v, len)));
}

FACT(mcast6, sent, "v6,mcast")
{
	int fd = udp6();
	const struct got6 *g;

	wire_flush();
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)env_ifindex(T0));
	set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 44);
	say("%s", ret(tx6(fd, "x", GROUP6, port(0))));
	g = take6(T0);
	say("hops %u from %s mac %s", g->hops, g->src, hex(g->frame, 6));
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 5);
	tx6(fd, "x", GROUP6, port(0));
	say("hops %u", take6(T0)->hops);
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)env_ifindex(T1));
	tx6(fd, "y", GROUP6, port(0));
	say("%s", text6(T1));
}

/* ---- the same of IPv4, where facts_mcast.c leaves off ---- */

#define GROUP4 "239.1.2.3"

static int
source_req4(int fd, int option, const char *group, const char *source, unsigned int index)
{
	struct group_source_req r = {.gsr_interface = index};
	struct sockaddr_in a = in4(group, 0), s = in4(source, 0);

	memcpy(&r.gsr_group, &a, sizeof(a));
	memcpy(&r.gsr_source, &s, sizeof(s));
	return setsockopt(fd, IPPROTO_IP, option, &r, sizeof(r));
}

FACT(mcast, sources_by_index, "v4,mcast")
{
	int fd = udp(), plain = udp();
	unsigned int t0 = env_ifindex(T0);
	struct ip_mreqn m = {.imr_ifindex = (int)t0};

	say("leave:%s", ret(source_req4(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP4, PEER, t0)));
	say("join:%s", ret(source_req4(fd, MCAST_JOIN_SOURCE_GROUP, GROUP4, PEER, t0)));
	say("again:%s", ret(source_req4(fd, MCAST_JOIN_SOURCE_GROUP, GROUP4, PEER, t0)));
	say("block:%s", ret(source_req4(fd, MCAST_BLOCK_SOURCE, GROUP4, PEER, t0)));
	say("other:%s", ret(source_req4(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP4, "10.77.0.9", t0)));
	say("unknown:%s", ret(source_req4(fd, MCAST_JOIN_SOURCE_GROUP, GROUP4, PEER, 9999)));
	say("leave:%s", ret(source_req4(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP4, PEER, t0)));
	say("gone:%s", ret(source_req4(fd, MCAST_LEAVE_SOURCE_GROUP, GROUP4, PEER, t0)));
	inet_pton(AF_INET, GROUP4, &m.imr_multiaddr);
	setsockopt(plain, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m));
	say("after all:%s", ret(source_req4(plain, MCAST_JOIN_SOURCE_GROUP, GROUP4, PEER, t0)));
	say("block:%s", ret(source_req4(plain, MCAST_BLOCK_SOURCE, GROUP4, PEER, t0)));
}

FACT(mcast, filter, "v4,mcast")
{
	struct {
		struct ip_msfilter f;
		struct in_addr more[4];
	} v;
	int fd = udp();
	struct ip_mreqn m = {.imr_ifindex = (int)env_ifindex(T0)};
	socklen_t len = IP_MSFILTER_SIZE(2);

	memset(&v, 0, sizeof(v));
	inet_pton(AF_INET, GROUP4, &v.f.imsf_multiaddr);
	inet_pton(AF_INET, HOST, &v.f.imsf_interface);
	v.f.imsf_fmode = MCAST_INCLUDE;
	v.f.imsf_numsrc = 2;
	inet_pton(AF_INET, PEER, &v.f.imsf_slist[0]);
	inet_pton(AF_INET, "10.77.0.3", (char *)&v + IP_MSFILTER_SIZE(1));
	say("not joined:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, len)));
	inet_pton(AF_INET, GROUP4, &m.imr_multiaddr);
	setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m));
	say("short:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, len - 1)));
	say("set:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, len)));
	v.f.imsf_numsrc = 1;
	say("get:%s", ret(getsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, &len)));
	say("%u mode %u len %u", v.f.imsf_numsrc, v.f.imsf_fmode, len);
	v.f.imsf_numsrc = 11;
	say("many:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, sizeof(v))));
	v.f.imsf_numsrc = 0;
	say("nobody:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, sizeof(v))));
	say("gone:%s", ret(getsockopt(fd, IPPROTO_IP, IP_MSFILTER, &v, &len)));
}

/* An IPv6 socket may join groups of IPv4. */
FACT(mcast, by_dual_socket, "v6,mcast")
{
	static const unsigned char mac[6] = {1, 0, 0x5e, 1, 2, 3};
	int fd = bound6("::", port(0));
	struct ip_mreqn m = {.imr_ifindex = (int)env_ifindex(T0)};

	inet_pton(AF_INET, GROUP4, &m.imr_multiaddr);
	say("%s", ret(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m))));
	wire_send(T0, (struct wire_udp){.src = PEER,
					.dst = GROUP4,
					.sport = port(1),
					.dport = port(0),
					.data = "four",
					.len = 4,
					.ttl = 1,
					.mac = mac});
	say("%s", rx_from(fd));
}
