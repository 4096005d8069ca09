/* SPDX-License-Identifier: BSD-3-Clause */
/* ICMP errors and sockets: section 5.6. */
#include "probe.h"

/* The datagram whose error comes: sent by s to PEER:port(1), seen on the wire. */
static const struct wire_got *
offend(int s)
{
	static struct wire_got copy;

	set(s, IPPROTO_IP, IP_TTL, 64);
	tx(s, "offending", peer_name(s)[0] == 'E' ? PEER : NULL, port(1));
	copy = *wire_take(T0);
	return &copy;
}

static const char *
queue_entry(int s)
{
	struct got *g = rx_msg(s, MSG_ERRQUEUE);
	const struct cmsghdr *c = g->n < 0 ? NULL : cmsg_of(g, IPPROTO_IP, IP_RECVERR);
	struct sock_extended_err e;

	if (c == NULL)
		return g->n < 0 ? ret(-1) : "no message";
	memcpy(&e, CMSG_DATA(c), sizeof(e));
	return text("%s", err_name((int)e.ee_errno));
}

/* What an ICMP error does to three sockets. */
static void
effect(int type, int code, uint32_t rest)
{
	int plain = udp(), want = udp(), loose = udp(), loose_want = udp();

	connect4(plain, PEER, port(1));
	wire_icmp(T0, offend(plain), type, code, rest, NULL);
	say("connected %s;", so_error(plain));

	set(want, IPPROTO_IP, IP_RECVERR, 1);
	connect4(want, PEER, port(1));
	wire_icmp(T0, offend(want), type, code, rest, NULL);
	say("recverr %s", so_error(want));
	say("queue %s;", queue_entry(want));

	wire_icmp(T0, offend(loose), type, code, rest, NULL);
	say("unconnected %s;", so_error(loose));

	set(loose_want, IPPROTO_IP, IP_RECVERR, 1);
	wire_icmp(T0, offend(loose_want), type, code, rest, NULL);
	say("unconnected recverr %s", so_error(loose_want));
}

#define ICMP(type, code, what)                                                                     \
	FACT(icmp, t##type##_c##code##_##what, "icmp")                                             \
	{                                                                                          \
		effect(type, code, 0);                                                             \
	}

ICMP(3, 0, net_unreachable)
ICMP(3, 1, host_unreachable)
ICMP(3, 2, protocol_unreachable)
ICMP(3, 3, port_unreachable)
ICMP(3, 5, source_route)
ICMP(3, 6, net_unknown)
ICMP(3, 7, host_unknown)
ICMP(3, 8, isolated)
ICMP(3, 9, net_prohibited)
ICMP(3, 10, host_prohibited)
ICMP(3, 11, net_tos)
ICMP(3, 12, host_tos)
ICMP(3, 13, filtered)
ICMP(3, 14, precedence)
ICMP(3, 15, precedence_cutoff)
ICMP(3, 16, unassigned)
ICMP(4, 0, quench)
ICMP(11, 0, ttl)
ICMP(11, 1, reassembly)
ICMP(12, 0, parameter)
ICMP(13, 0, timestamp)

/* Path MTUs are remembered beyond a fact: each of these has a peer of its own (10.77.0.10 to .13). */
static void
too_big(int s, const char *peer, uint32_t mtu)
{
	struct wire_got g;

	tx(s, "x", NULL, 0);
	g = *wire_take(T0);
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 4, mtu, peer);
}

FACT(icmp, fragmentation_needed, "icmp")
{
	static const struct {
		int mode;
		const char *name;
	} modes[] = {{IP_PMTUDISC_DONT, "dont"},
		     {IP_PMTUDISC_WANT, "want"},
		     {IP_PMTUDISC_DO, "do"},
		     {IP_PMTUDISC_PROBE, "probe"}};

	for (int i = 0; i < 4; i++) {
		int s = udp(), q = udp();

		set(s, IPPROTO_IP, IP_MTU_DISCOVER, modes[i].mode);
		connect4(s, "10.77.0.10", port(1));
		too_big(s, "10.77.0.10", 1400);
		say("%s:%s", modes[i].name, so_error(s));
		set(q, IPPROTO_IP, IP_MTU_DISCOVER, modes[i].mode);
		set(q, IPPROTO_IP, IP_RECVERR, 1);
		connect4(q, "10.77.0.10", port(1));
		too_big(q, "10.77.0.10", 1400);
		say("queue %s", queue_entry(q));
	}
}

FACT(icmp, path_mtu_learned, "icmp")
{
	int s = connected("10.77.0.11", port(1));

	say("%s", get(s, IPPROTO_IP, IP_MTU));
	too_big(s, "10.77.0.11", 1300);
	so_error(s);
	say("%s", get(s, IPPROTO_IP, IP_MTU));
	set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	say("%s", ret(tx_n(s, 1300, NULL, 0)));
	set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	say("probe:%s", ret(tx_n(s, 1300, NULL, 0)));
}

FACT(icmp, path_mtu_floor, "icmp")
{
	int s = connected("10.77.0.12", port(1));

	too_big(s, "10.77.0.12", 68);
	so_error(s);
	say("%s", get(s, IPPROTO_IP, IP_MTU));
}

/* One error, once, with everything the queue says of it. */
FACT(icmp, entry, "icmp")
{
	int s = bound(HOST, port(0));
	const struct cmsghdr *c;
	struct sock_extended_err e;
	struct sockaddr_in who;
	struct got *g;

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	connect4(s, PEER, port(1));
	wire_icmp(T0, offend(s), 3, 1, 0, "10.77.0.254");
	g = rx_msg(s, MSG_ERRQUEUE);
	say("%ld bytes flags %s names %s;", g->n, msg_names(g->flags), cmsg_names(g));
	say("name %s;", name_text((struct sockaddr *)&g->name, g->name_len));
	c = g->n < 0 ? NULL : cmsg_of(g, IPPROTO_IP, IP_RECVERR);
	if (c == NULL)
		return;
	memcpy(&e, CMSG_DATA(c), sizeof(e));
	memcpy(&who, CMSG_DATA(c) + sizeof(e), sizeof(who));
	say("%s origin %d type %d code %d info %u data %u;", err_name((int)e.ee_errno), e.ee_origin,
	    e.ee_type, e.ee_code, e.ee_info, e.ee_data);
	say("offender %s payload %.9s", name_text((struct sockaddr *)&who, sizeof(who)), g->data);
}

FACT(icmp, entry_mtu, "icmp")
{
	int s = udp();
	const struct cmsghdr *c;
	struct sock_extended_err e;
	struct got *g;

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	connect4(s, "10.77.0.13", port(1));
	too_big(s, "10.77.0.13", 1200);
	g = rx_msg(s, MSG_ERRQUEUE);
	c = g->n < 0 ? NULL : cmsg_of(g, IPPROTO_IP, IP_RECVERR);
	if (c == NULL) {
		say("nothing");
		return;
	}
	memcpy(&e, CMSG_DATA(c), sizeof(e));
	say("%s info %u", err_name((int)e.ee_errno), e.ee_info);
}

FACT(icmp, reported_once, "icmp")
{
	int s = connected(PEER, port(1));

	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	say("send:%s", ret(tx(s, "a", NULL, 0)));
	say("%s;", wire_text(T0));
	say("send:%s", ret(tx(s, "b", NULL, 0)));
	say("%s;", wire_text(T0));
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	say("recv:%s", rx(s));
	say("recv:%s;", rx(s));
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	say("SO_ERROR:%s", so_error(s));
	say("%s", so_error(s));
}

FACT(icmp, error_before_data, "icmp")
{
	int s = bound(HOST, port(0));

	connect4(s, PEER, port(1));
	wire_say("data", port(1), port(0));
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	say("%s", rx(s));
	say("%s", rx(s));
}

FACT(icmp, last_error_stays, "icmp")
{
	int s = connected(PEER, port(1));

	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	so_error(s);
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	wire_icmp(T0, offend(s), 3, 13, 0, NULL);
	say("%s", so_error(s));
	say("%s", so_error(s));
}

FACT(icmp, queue_and_pending, "icmp")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	connect4(s, PEER, port(1));
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	so_error(s);
	wire_icmp(T0, offend(s), 3, 13, 0, NULL);
	say("queue %s", queue_entry(s));
	say("pending %s", so_error(s));
	say("queue %s", queue_entry(s));
	say("pending %s", so_error(s));
	say("queue %s", queue_entry(s));
}

FACT(icmp, queue_read_clears_pending, "icmp")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	connect4(s, PEER, port(1));
	wire_icmp(T0, offend(s), 3, 1, 0, NULL);
	say("%s", queue_entry(s));
	say("%s", so_error(s));
}

FACT(icmp, queue_turned_off_is_purged, "icmp")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	connect4(s, PEER, port(1));
	wire_icmp(T0, offend(s), 3, 1, 0, NULL);
	set(s, IPPROTO_IP, IP_RECVERR, 0);
	say("%s", queue_entry(s));
	say("%s", so_error(s));
}

FACT(icmp, wrong_quotes, "icmp")
{
	int s = bound(HOST, port(0));
	struct wire_got g;

	connect4(s, PEER, port(1));
	g = *offend(s);
	g.frame[14 + 20 + 3] ^= 1; /* destination port */
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("peer port:%s", so_error(s));
	g = *offend(s);
	g.frame[14 + 19] ^= 1; /* destination address */
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("peer address:%s", so_error(s));
	g = *offend(s);
	g.frame[14 + 20 + 1] ^= 1; /* source port */
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("local port:%s", so_error(s));
	g = *offend(s);
	g.frame[14 + 9] = IPPROTO_TCP;
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("protocol:%s", so_error(s));
	g = *offend(s);
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("right:%s", so_error(s));
}

FACT(icmp, short_quote, "icmp")
{
	int s = connected(PEER, port(1));
	struct wire_got g;

	g = *offend(s);
	g.ip = g.frame + 14;
	g.len = 14 + 20 + 4;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("4 bytes:%s", so_error(s));
	g.len = 14 + 20 + 8;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("8 bytes:%s", so_error(s));
}

FACT(icmp, from_a_router, "icmp")
{
	int s = connected(PEER, port(1));

	wire_icmp(T0, offend(s), 3, 3, 0, "10.77.0.254");
	say("%s", so_error(s));
}

FACT(icmp, unconnected_recverr_next_send, "icmp")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	wire_icmp(T0, offend(s), 3, 3, 0, NULL);
	say("%s", ret(tx(s, "x", PEER, port(2))));
	say("%s", ret(tx(s, "x", PEER, port(2))));
}

FACT(icmp, connected_gets_reply_of_explicit_send, "icmp")
{
	/* Connected to one peer, error about a datagram to another: no match. */
	int s = connected(PEER, port(1));
	struct wire_got g;

	tx(s, "x", PEER, port(2));
	g = *wire_take(T0);
	g.ip = g.frame + 14;
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("%s", so_error(s));
}

FACT(icmp, after_close, "icmp")
{
	int s = connected(PEER, port(1)), other = udp();
	struct wire_got g = *offend(s);

	g.ip = g.frame + 14;
	close_now(s);
	wire_icmp(T0, &g, 3, 3, 0, NULL);
	say("%s", so_error(other));
}

FACT(icmp, local_sequence, "v4")
{
	/* A closed port of our own: send, refused, send, refused at receive. */
	int s = connected("127.0.0.1", port(0));

	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", rx(s));
}

FACT(icmp, local_unconnected, "v4")
{
	int s = udp();

	tx(s, "x", "127.0.0.1", port(0));
	say("%s", so_error(s));
	say("%s", ret(tx(s, "x", "127.0.0.1", port(0))));
}

FACT(icmp, local_unconnected_recverr, "v4")
{
	int s = udp();
	struct got *g;

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", ret(tx(s, "x", "127.0.0.1", port(0))));
	g = rx_msg(s, MSG_ERRQUEUE);
	say("%ld %s %s", g->n, msg_names(g->flags),
	    name_text((struct sockaddr *)&g->name, g->name_len));
}

FACT(icmp, local_port_closed_later, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", ret(tx(s, "x", NULL, 0)));
	close_now(r);
	say("%s", so_error(s));
	tx(s, "x", NULL, 0);
	say("%s", so_error(s));
}
