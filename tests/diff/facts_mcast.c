/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: their options (5.7), membership and delivery. */
#include "probe.h"

#define GROUP  "239.1.2.3"
#define GROUP2 "239.1.2.4"

static const char *
join(int fd, int option, const char *group, const char *by)
{
	struct ip_mreq m;

	inet_pton(AF_INET, group, &m.imr_multiaddr);
	inet_pton(AF_INET, by, &m.imr_interface);
	return ret(setsockopt(fd, IPPROTO_IP, option, &m, sizeof(m)));
}

static const char *
join_index(int fd, int option, const char *group, unsigned int index)
{
	struct ip_mreqn m = {.imr_ifindex = (int)index};

	inet_pton(AF_INET, group, &m.imr_multiaddr);
	return ret(setsockopt(fd, IPPROTO_IP, option, &m, sizeof(m)));
}

static const char *
join_source(int fd, int option, const char *group, const char *by, const char *source)
{
	struct ip_mreq_source m;

	inet_pton(AF_INET, group, &m.imr_multiaddr);
	inet_pton(AF_INET, by, &m.imr_interface);
	inet_pton(AF_INET, source, &m.imr_sourceaddr);
	return ret(setsockopt(fd, IPPROTO_IP, option, &m, sizeof(m)));
}

static void
group_says(int wire, const char *group, const char *words, const char *src)
{
	static const unsigned char mac[6] = {1, 0, 0x5e, 1, 2, 3}, mac2[6] = {1, 0, 0x5e, 1, 2, 4};

	wire_send(wire, (struct wire_udp){.src = src,
					  .dst = group,
					  .sport = port(1),
					  .dport = port(0),
					  .data = words,
					  .len = strlen(words),
					  .ttl = 1,
					  .mac = strcmp(group, GROUP) == 0 ? mac : mac2});
}

static const char *
get_byte(int fd, int option)
{
	unsigned char value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, IPPROTO_IP, option, &value, &len) < 0)
		return ret(-1);
	return text("%d,%u", value, len);
}

FACT(mcast, ttl, "v4,mcast")
{
	static const int values[] = {0, 255, -1, 256, -2};
	int fd = udp();
	unsigned char byte = 7;

	say("%s;", get(fd, IPPROTO_IP, IP_MULTICAST_TTL));
	for (int i = 0; i < 5; i++) {
		say("%d:%s", values[i], ret(set(fd, IPPROTO_IP, IP_MULTICAST_TTL, values[i])));
		say("%s", get(fd, IPPROTO_IP, IP_MULTICAST_TTL));
	}
	say("byte:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &byte, 1)));
	say("%s", get_byte(fd, IP_MULTICAST_TTL));
}

FACT(mcast, loop, "v4,mcast")
{
	static const int values[] = {0, 1, 5, -1};
	int fd = udp();
	unsigned char byte = 0;

	say("%s;", get(fd, IPPROTO_IP, IP_MULTICAST_LOOP));
	for (int i = 0; i < 4; i++) {
		say("%d:%s", values[i], ret(set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, values[i])));
		say("%s", get(fd, IPPROTO_IP, IP_MULTICAST_LOOP));
	}
	say("byte:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &byte, 1)));
	say("%s", get_byte(fd, IP_MULTICAST_LOOP));
}

FACT(mcast, all_option, "v4,mcast")
{
	static const int values[] = {0, 1, 2, -1};
	int fd = udp();

	say("%s;", get(fd, IPPROTO_IP, IP_MULTICAST_ALL));
	for (int i = 0; i < 4; i++) {
		say("%d:%s", values[i], ret(set(fd, IPPROTO_IP, IP_MULTICAST_ALL, values[i])));
		say("%s", get(fd, IPPROTO_IP, IP_MULTICAST_ALL));
	}
}

static const char *
multicast_if(int fd, const char *address)
{
	struct in_addr a;

	inet_pton(AF_INET, address, &a);
	return ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, sizeof(a)));
}

static const char *
get_multicast_if(int fd)
{
	struct in_addr a = {0};
	socklen_t len = sizeof(a);
	char s[32];

	if (getsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, &len) < 0)
		return ret(-1);
	inet_ntop(AF_INET, &a, s, sizeof(s));
	return text("%s", s);
}

FACT(mcast, interface_option, "v4,mcast")
{
	int fd = udp();
	struct ip_mreqn m = {.imr_ifindex = (int)env_ifindex(T0)};

	say("%s;", get_multicast_if(fd));
	say("address:%s", multicast_if(fd, HOST1));
	say("%s;", get_multicast_if(fd));
	say("index:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m))));
	say("%s;", get_multicast_if(fd));
	say("not ours:%s", multicast_if(fd, ELSEWHERE));
	m.imr_ifindex = 9999;
	say("no such index:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &m, sizeof(m))));
	say("clear:%s", multicast_if(fd, "0.0.0.0"));
	say("%s;", get_multicast_if(fd));
	say("short:%s", ret(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &m, 2)));
}

FACT(mcast, interface_must_agree_with_device, "v4,mcast")
{
	int fd = udp();

	to_device(fd, T0);
	say("same:%s", multicast_if(fd, HOST));
	say("other:%s", multicast_if(fd, HOST1));
}

FACT(mcast, membership_errors, "v4,mcast")
{
	int fd = udp();

	say("no group:%s", join(fd, IP_ADD_MEMBERSHIP, "10.1.2.3", HOST));
	say("join:%s", join(fd, IP_ADD_MEMBERSHIP, GROUP, HOST));
	say("twice:%s", join(fd, IP_ADD_MEMBERSHIP, GROUP, HOST));
	say("other interface:%s", join(fd, IP_ADD_MEMBERSHIP, GROUP, HOST1));
	say("not ours:%s", join(fd, IP_ADD_MEMBERSHIP, GROUP2, ELSEWHERE));
	say("index:%s", join_index(fd, IP_ADD_MEMBERSHIP, GROUP2, env_ifindex(T0)));
	say("no such index:%s", join_index(fd, IP_ADD_MEMBERSHIP, GROUP2, 9999));
	say("no route:%s", join(fd, IP_ADD_MEMBERSHIP, "239.9.9.9", "0.0.0.0"));
	say("leave:%s", join(fd, IP_DROP_MEMBERSHIP, GROUP, HOST));
	say("again:%s", join(fd, IP_DROP_MEMBERSHIP, GROUP, HOST));
	say("never:%s", join(fd, IP_DROP_MEMBERSHIP, "239.7.7.7", HOST));
	say("no such index:%s", join_index(fd, IP_DROP_MEMBERSHIP, GROUP2, 9999));
	say("any interface:%s", join(fd, IP_DROP_MEMBERSHIP, GROUP2, "0.0.0.0"));
}

FACT(mcast, membership_length, "v4,mcast")
{
	int fd = udp();
	struct ip_mreq m;

	inet_pton(AF_INET, GROUP, &m.imr_multiaddr);
	inet_pton(AF_INET, HOST, &m.imr_interface);
	say("4:%s", ret(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, 4)));
	say("8:%s", ret(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, 8)));
	say("get:%s", get(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP));
}

FACT(mcast, membership_limit, "v4,mcast")
{
	int fd = udp(), n;

	for (n = 0; n < 100; n++)
		if (strcmp(join(fd, IP_ADD_MEMBERSHIP, text("239.5.5.%d", n + 1), HOST), "ok") != 0)
			break;
	say("%d then %s", n, join(fd, IP_ADD_MEMBERSHIP, "239.5.6.1", HOST));
}

FACT(mcast, delivered_to_members, "v4,mcast")
{
	int member = udp(), all = udp(), strict = udp();

	set(member, SOL_SOCKET, SO_REUSEADDR, 1);
	set(all, SOL_SOCKET, SO_REUSEADDR, 1);
	set(strict, SOL_SOCKET, SO_REUSEADDR, 1);
	set(strict, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	bind4(member, "0.0.0.0", port(0));
	bind4(all, "0.0.0.0", port(0));
	bind4(strict, "0.0.0.0", port(0));
	group_says(T0, GROUP, "before", NULL);
	say("%s,%s,%s;", rx(member), rx(all), rx(strict));
	join(member, IP_ADD_MEMBERSHIP, GROUP, HOST);
	group_says(T0, GROUP, "joined", NULL);
	say("%s,%s,%s;", rx(member), rx(all), rx(strict));
	group_says(T1, GROUP, "other", NULL);
	say("%s,%s,%s;", rx(member), rx(all), rx(strict));
	join(member, IP_DROP_MEMBERSHIP, GROUP, HOST);
	group_says(T0, GROUP, "left", NULL);
	say("%s,%s,%s", rx(member), rx(all), rx(strict));
}

FACT(mcast, bound_to_group, "v4,mcast")
{
	int one = bound(GROUP, port(0)), two = bound(GROUP2, port(0));

	join(one, IP_ADD_MEMBERSHIP, GROUP, HOST);
	join(one, IP_ADD_MEMBERSHIP, GROUP2, HOST);
	group_says(T0, GROUP, "a", NULL);
	group_says(T0, GROUP2, "b", NULL);
	say("%s;", rx_n(one, 2));
	say("%s", rx_n(two, 2));
}

FACT(mcast, not_to_unicast_bound, "v4,mcast")
{
	int fd = bound(HOST, port(0));

	join(fd, IP_ADD_MEMBERSHIP, GROUP, HOST);
	group_says(T0, GROUP, "x", NULL);
	say("%s", rx(fd));
}

FACT(mcast, every_member_a_copy, "v4,mcast")
{
	int fd[3];

	for (int i = 0; i < 3; i++) {
		fd[i] = udp();
		set(fd[i], SOL_SOCKET, i < 2 ? SO_REUSEADDR : SO_REUSEPORT, 1);
		set(fd[i], SOL_SOCKET, SO_REUSEADDR, 1);
		bind4(fd[i], "0.0.0.0", port(0));
		join(fd[i], IP_ADD_MEMBERSHIP, GROUP, HOST);
	}
	group_says(T0, GROUP, "copy", NULL);
	say("%s,%s,%s", rx(fd[0]), rx(fd[1]), rx(fd[2]));
}

FACT(mcast, close_leaves, "v4,mcast")
{
	int member = udp(), all = udp();

	set(member, SOL_SOCKET, SO_REUSEADDR, 1);
	set(all, SOL_SOCKET, SO_REUSEADDR, 1);
	bind4(member, "0.0.0.0", port(0));
	bind4(all, "0.0.0.0", port(0));
	join(member, IP_ADD_MEMBERSHIP, GROUP, HOST);
	close_now(member);
	group_says(T0, GROUP, "x", NULL);
	say("%s", rx(all));
}

FACT(mcast, connected_to_group, "v4,mcast")
{
	int fd = udp();

	multicast_if(fd, HOST1);
	say("%s", ret(connect4(fd, GROUP, port(0))));
	say("%s to %s", local_name(fd), peer_name(fd));
	say("%s", ret(tx(fd, "x", NULL, 0)));
	say("%s", wire_text(T1));
}

FACT(mcast, sent, "v4,mcast")
{
	int fd = bound("0.0.0.0", port(0));
	const struct wire_got *g;

	say("no route:%s", ret(tx(fd, "x", GROUP, port(1))));
	multicast_if(fd, HOST);
	say("%s", ret(tx(fd, "x", GROUP, port(1))));
	g = wire_take(T0);
	if (g->len == 0)
		return;
	say("from %s ttl %d mac %s flags 0x%x", g->src, g->ttl,
	    memcmp(g->frame, "\x01\x00\x5e\x01\x02\x03", 6) == 0 ? "of the group" : "other",
	    g->frag);
	set(fd, IPPROTO_IP, IP_MULTICAST_TTL, 9);
	set(fd, IPPROTO_IP, IP_TTL, 33);
	tx(fd, "x", GROUP, port(1));
	say("ttl %d", wire_take(T0)->ttl);
}

FACT(mcast, loop_is_the_senders, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0)), s = udp();

	join(r, IP_ADD_MEMBERSHIP, GROUP, HOST);
	multicast_if(s, HOST);
	tx(s, "loop", GROUP, port(0));
	say("%s", rx(r));
	set(s, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
	tx(s, "quiet", GROUP, port(0));
	say("%s", rx(r));
	set(s, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
	set(r, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
	tx(s, "again", GROUP, port(0));
	say("%s", rx(r));
}

FACT(mcast, ttl_0_stays_here, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0)), s = udp();

	join(r, IP_ADD_MEMBERSHIP, GROUP, HOST);
	multicast_if(s, HOST);
	set(s, IPPROTO_IP, IP_MULTICAST_TTL, 0);
	say("%s", ret(tx(s, "here", GROUP, port(0))));
	say("%s", rx(r));
	say("%s", wire_text(T0));
}

FACT(mcast, no_listener_no_error, "v4,mcast")
{
	int r = bound("0.0.0.0", port(2));

	join(r, IP_ADD_MEMBERSHIP, GROUP, HOST);
	group_says(T0, GROUP, "x", NULL);
	say("%s", wire_text(T0));
}

FACT(mcast, by_device, "v4,mcast")
{
	int s = udp();

	to_device(s, T1);
	say("%s", ret(tx(s, "x", GROUP, port(1))));
	say("%s", wire_text(T1));
}

FACT(mcast, by_pktinfo, "v4,mcast")
{
	int s = bound("0.0.0.0", port(0));
	struct in_pktinfo info = {.ipi_ifindex = (int)env_ifindex(T1)};

	say("%s",
	    ret(tx_cmsg(s, "x", GROUP, port(1), IPPROTO_IP, IP_PKTINFO, &info, sizeof(info))));
	say("%s", wire_text(T1));
}

FACT(mcast, pktinfo_received, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0));
	const struct cmsghdr *c;
	struct in_pktinfo info;
	char spec[32], dst[32];

	set(r, IPPROTO_IP, IP_PKTINFO, 1);
	join(r, IP_ADD_MEMBERSHIP, GROUP, HOST);
	group_says(T0, GROUP, "x", NULL);
	c = cmsg_of(rx_msg(r, 0), IPPROTO_IP, IP_PKTINFO);
	if (c == NULL)
		return;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	inet_ntop(AF_INET, &info.ipi_spec_dst, spec, sizeof(spec));
	inet_ntop(AF_INET, &info.ipi_addr, dst, sizeof(dst));
	say("%s spec %s dst %s", info.ipi_ifindex == (int)env_ifindex(T0) ? "t0" : "other", spec,
	    dst);
}

FACT(mcast, source_membership, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0));

	set(r, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	say("%s", join_source(r, IP_ADD_SOURCE_MEMBERSHIP, GROUP, HOST, PEER));
	group_says(T0, GROUP, "wanted", PEER);
	group_says(T0, GROUP, "unwanted", "10.77.0.66");
	say("%s;", rx_n(r, 2));
	say("again:%s", join_source(r, IP_ADD_SOURCE_MEMBERSHIP, GROUP, HOST, PEER));
	say("plain too:%s", join(r, IP_ADD_MEMBERSHIP, GROUP, HOST));
	say("drop:%s", join_source(r, IP_DROP_SOURCE_MEMBERSHIP, GROUP, HOST, PEER));
	group_says(T0, GROUP, "gone", PEER);
	say("%s", rx(r));
	say("again:%s", join_source(r, IP_DROP_SOURCE_MEMBERSHIP, GROUP, HOST, PEER));
}

FACT(mcast, source_blocked, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0));

	set(r, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	say("not joined:%s", join_source(r, IP_BLOCK_SOURCE, GROUP, HOST, PEER));
	join(r, IP_ADD_MEMBERSHIP, GROUP, HOST);
	say("block:%s", join_source(r, IP_BLOCK_SOURCE, GROUP, HOST, PEER));
	group_says(T0, GROUP, "blocked", PEER);
	group_says(T0, GROUP, "other", "10.77.0.66");
	say("%s;", rx_n(r, 2));
	say("again:%s", join_source(r, IP_BLOCK_SOURCE, GROUP, HOST, PEER));
	say("unblock:%s", join_source(r, IP_UNBLOCK_SOURCE, GROUP, HOST, PEER));
	group_says(T0, GROUP, "free", PEER);
	say("%s", rx(r));
	say("again:%s", join_source(r, IP_UNBLOCK_SOURCE, GROUP, HOST, PEER));
}

FACT(mcast, protocol_independent, "v4,mcast")
{
	int r = bound("0.0.0.0", port(0));
	struct group_req q = {.gr_interface = env_ifindex(T0)};
	struct sockaddr_in a = in4(GROUP, 0);

	memcpy(&q.gr_group, &a, sizeof(a));
	say("join:%s", ret(setsockopt(r, IPPROTO_IP, MCAST_JOIN_GROUP, &q, sizeof(q))));
	group_says(T0, GROUP, "x", NULL);
	say("%s", rx(r));
	say("twice:%s", ret(setsockopt(r, IPPROTO_IP, MCAST_JOIN_GROUP, &q, sizeof(q))));
	say("leave:%s", ret(setsockopt(r, IPPROTO_IP, MCAST_LEAVE_GROUP, &q, sizeof(q))));
	say("again:%s", ret(setsockopt(r, IPPROTO_IP, MCAST_LEAVE_GROUP, &q, sizeof(q))));
	say("short:%s", ret(setsockopt(r, IPPROTO_IP, MCAST_JOIN_GROUP, &q, 16)));
}
