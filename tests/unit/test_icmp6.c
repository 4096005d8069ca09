/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMPv6 (RFC 4443): echo, the errors that we send and those that we never send, and the errors that come back
 * about what we sent: which socket hears of which, as Linux maps them, and which forged ones have no effect.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "common/ut_guard.h"
#include "icmp.h"
#include "lcore.h"
#include "pmtu.h"
#include "sock.h"

#define PORT UT_OUR_PORT
#undef ip6_label /* <netinet/ip6.h> has a macro of that name */

static const uint8_t all_nodes[16] = {0xff, 0x02, [15] = 1};
static const uint8_t all_nodes_mac[6] = {0x33, 0x33, 0, 0, 0, 1};

static struct ut_frame f;

static struct ut_stack_cfg
cfg6(void)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = true;
	return cfg;
}

/* The next frame that is no report of groups or neighbour discovery. */
static bool
take(struct ut_stack *s)
{
	while (ut_stack_take(s, 0, &f)) {
		if (f.b[20] == 58 && (f.b[54] < 133 || f.b[54] > 137))
			return true;
	}
	return false;
}

static void
must_take(struct ut_stack *s)
{
	ut_check(take(s), "nothing was transmitted");
}

static unsigned int
taken(struct ut_stack *s)
{
	unsigned int n = 0;

	while (take(s))
		n++;
	return n;
}

/* ---- echo ---- */

static struct ut_pkt
reply_to(const struct ut_pkt *request)
{
	struct ut_pkt r = *request;

	memcpy(r.eth_dst, request->eth_src, 6);
	memcpy(r.eth_src, UT_OUR_MAC, 6);
	memcpy(r.ip6_src, UT_OUR_IP6, 16);
	memcpy(r.ip6_dst, request->ip6_src, 16);
	r.ip_ttl = 64;
	r.ip6_label = 0;
	r.ip6_ext_len = 0;
	r.icmp_type = 129;
	r.trailer_len = 0;
	return r;
}

static void
must_be_answered(struct ut_stack *s, const struct ut_pkt *p, struct rte_mbuf *m, const char *what)
{
	struct ut_pkt r = reply_to(p);
	static uint8_t want[UT_FRAME_MAX];
	size_t len = ut_pkt_bytes(&r, want, sizeof(want));

	ut_stack_mark(s);
	ut_stack_rx_mbuf(s, 0, m);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, what);
	must_take(s);
	ut_check(f.len == len, "%s: reply of %u bytes, not %zu", what, f.len, len);
	ut_check_bytes(f.b, want, len, "%s", what);
	ut_check(!take(s), "%s: a second reply", what);
}

static void
echo_requests_are_answered(void **state)
{
	static const size_t lens[] = {0, 1, 17, 18, 555, 1451, 1452};
	struct ut_stack *s = *state;

	for (unsigned int dev = 0; dev < 2; dev++) {
		struct ut_stack_cfg cfg = cfg6();

		cfg.dev.tx_offloads = dev != 0 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
		ut_stack_up(s, &cfg);
		for (size_t i = 0; i < UT_N(lens); i++) {
			struct ut_pkt p = ut_pkt_icmp6_echo();
			static uint8_t b[2048];
			size_t cuts[2];
			size_t len;

			p.payload_len = lens[i];
			p.ip_tos = 0x20;
			p.ip_ttl = 3;
			p.ip6_label = 0x12345;
			p.trailer_len = lens[i] < 18 ? 18 - lens[i] : 0;
			len = ut_pkt_bytes(&p, b, sizeof(b));
			must_be_answered(s, &p, ut_guard_mbuf(s->pool, b, len), "echo");
			if (lens[i] <
			    1200) { /* or it is answered in fragments: fragments_of_replies */
				cuts[0] = len / 3;
				cuts[1] = len - len / 5;
				must_be_answered(s, &p,
						 ut_guard_mbuf_split(s->pool, b, len, cuts, 2),
						 "chained echo");
			}
			if (lens[i] > 1400)
				continue;
			ut_pkt_ext6(&p, 60, "\x01\x04\0\0\0\0",
				    6); /* destination options: padding */
			len = ut_pkt_bytes(&p, b, sizeof(b));
			must_be_answered(s, &p, ut_guard_mbuf(s->pool, b, len),
					 "echo with options");
		}
		assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_ICMP_NOROOM]), 0);
		ut_stack_down(s);
	}
}

static void
the_replys_checksum_is_right_for_every_request(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();

	ut_stack_up(s, &cfg);
	for (uint32_t id = 0; id <= 0xffff; id += 251) {
		struct ut_pkt p = ut_pkt_icmp6_echo();

		p.icmp_id = (uint16_t)id;
		p.payload_len = 0;
		ut_stack_rx(s, 0, &p);
		must_take(s);
		ut_check(ut_csum(f.b + 54, 8, ut_pseudo_sum6(f.b + 22, f.b + 38, 58, 8)) == 0,
			 "identifier %04x", id);
	}
}

/* RFC 4443 4.2: by one of our addresses; and not more often than errors. */
static void
a_group_is_answered_by_an_address_of_ours(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct ut_pkt p = ut_pkt_icmp6_echo();

	ut_stack_up(s, &cfg);
	memcpy(p.ip6_dst, all_nodes, 16);
	memcpy(p.eth_dst, all_nodes_mac, 6);
	must_be_answered(s, &p, ut_pkt_mbuf(&p, s->pool), "to all nodes");
	for (int i = 0; i < 50; i++)
		ut_stack_rx(s, 0, &p);
	assert_in_range(taken(s), 4, 6);
}

static void
what_is_not_to_be_answered_is_not(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct ut_pkt p;

	ut_stack_up(s, &cfg);
	ut_stack_mark(s);
	p = ut_pkt_icmp6_echo();
	p.icmp_csum = 0x1234;
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_ICMP_CSUM, 1, "bad checksum");
	for (unsigned int type = 129; type < 256; type++) {
		if ((type >= 130 && type <= 137) || type == 143)
			continue;
		p = ut_pkt_icmp6_echo();
		p.icmp_type = (uint8_t)type;
		ut_stack_rx(s, 0, &p);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "informational, unknown");
	/* Errors to a group are nobody's. */
	p = ut_pkt_icmp6_echo();
	p.icmp_type = 1;
	memcpy(p.ip6_dst, all_nodes, 16);
	memcpy(p.eth_dst, all_nodes_mac, 6);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "error to a group");
	assert_int_equal(taken(s), 0);
}

/* ---- errors sent ---- */

static void
a_datagram_for_nobody_is_answered(void **state)
{
	static const size_t lens[] = {0, 1, 18, 1183, 1184, 1185, 1452};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();

	ut_stack_up(s, &cfg);
	for (size_t i = 0; i < UT_N(lens); i++) {
		struct ut_pkt p = ut_pkt_udp6();
		struct ut_pkt want = ut_pkt_icmp6_echo();
		static uint8_t b[2048], w[2048];
		size_t len, wlen;

		p.payload_len = lens[i];
		p.trailer_len = lens[i] < 1400 ? 7 : 0; /* is not quoted */
		len = ut_pkt_bytes(&p, b, sizeof(b)) - p.trailer_len;
		want = reply_to(&want);
		want.icmp_type = 1;
		want.icmp_code = 4;
		want.icmp_id = 0;
		want.icmp_seq = 0;
		want.payload = b + 14;
		want.payload_len = len - 14 < 1232 ? len - 14 : 1232;
		wlen = ut_pkt_bytes(&want, w, sizeof(w));
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "nobody");
		must_take(s);
		ut_check(f.len == wlen, "%zu bytes: error of %u bytes, not %zu", lens[i], f.len,
			 wlen);
		ut_check_bytes(f.b, w, wlen, "error about %zu bytes", lens[i]);
		ut_clock_advance(WEIR_NS_PER_S);
	}
}

/* Ask for an error about a frame. Returns how many came out: the last one is in f. */
static unsigned int
complain(struct ut_stack *s, const struct ut_pkt *p, enum weir_icmp_why why, uint32_t pointer)
{
	struct rte_mbuf *m = ut_pkt_mbuf(p, s->pool);

	ut_clock_advance(WEIR_NS_PER_S);
	ut_stack_poll(s);
	(void)taken(s);
	weir_icmp_error(s->w[0], s->stack->ports[0], m, why, pointer);
	rte_pktmbuf_free(m);
	ut_stack_poll(s);
	return taken(s);
}

static void
each_complaint_has_its_type_code_and_pointer(void **state)
{
	static const struct {
		enum weir_icmp_why why;
		uint8_t type, code;
		bool pointer;
	} row[] = {
		{WEIR_ICMP_PORT_UNREACH, 1, 4, false}, {WEIR_ICMP_PROTO_UNREACH, 4, 1, true},
		{WEIR_ICMP_REASM_TIME, 3, 1, false},   {WEIR_ICMP_PARAM_HEADER, 4, 0, true},
		{WEIR_ICMP_PARAM_NEXT, 4, 1, true},    {WEIR_ICMP_PARAM_OPTION, 4, 2, true},
		{WEIR_ICMP_PARAM_CHAIN, 4, 3, true},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct ut_pkt p = ut_pkt_udp6();

	ut_stack_up(s, &cfg);
	for (size_t i = 0; i < UT_N(row); i++) {
		assert_int_equal(complain(s, &p, row[i].why, 0x01020304), 1);
		ut_check(f.b[54] == row[i].type && f.b[55] == row[i].code, "row %zu: %u/%u", i,
			 f.b[54], f.b[55]);
		ut_check(ut_get32(f.b + 58) == (row[i].pointer ? 0x01020304u : 0), "row %zu", i);
		ut_check(ut_csum(f.b + 54, f.len - 54u,
				 ut_pseudo_sum6(f.b + 22, f.b + 38, 58, f.len - 54u)) == 0,
			 "row %zu: checksum", i);
	}
}

/* RFC 4443 2.4 (e). */
static void
some_things_are_never_complained_about(void **state)
{
	static const uint8_t no_data[24];
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct ut_pkt p;

	ut_stack_up(s, &cfg);
	p = ut_pkt_udp6();
	assert_int_equal(complain(s, &p, WEIR_ICMP_PORT_UNREACH, 0), 1);
	/* (e.1) errors, (e.2) redirects; but queries. */
	for (unsigned int type = 0; type < 256; type++) {
		p = ut_pkt_icmp6_echo();
		p.icmp_type = (uint8_t)type;
		ut_check(complain(s, &p, WEIR_ICMP_PARAM_NEXT, 6) == (type >= 128 && type != 137),
			 "type %u", type);
	}
	/* Also behind extension headers; what is cut off there might be one. */
	p = ut_pkt_icmp6_echo();
	p.icmp_type = 1;
	ut_pkt_ext6(&p, 0, "\x01\x04\0\0\0\0", 6);
	ut_pkt_ext6(&p, 60, "\x01\x04\0\0\0\0", 6);
	assert_int_equal(complain(s, &p, WEIR_ICMP_PARAM_HEADER, 4), 0);
	p.kind = UT_RAW_IP6;
	p.payload_len = 0;
	assert_int_equal(complain(s, &p, WEIR_ICMP_PARAM_HEADER, 4), 0);
	/* (e.3), (e.4), (e.5) Groups, of either layer, unless it is about an option. */
	for (int how = 0; how < 3; how++) {
		p = ut_pkt_udp6();
		if (how == 0)
			memcpy(p.ip6_dst, all_nodes, 16);
		memcpy(p.eth_dst, how < 2 ? all_nodes_mac : (const uint8_t *)UT_BROADCAST_MAC, 6);
		for (int why = WEIR_ICMP_PORT_UNREACH; why <= WEIR_ICMP_PARAM_CHAIN; why++)
			ut_check(complain(s, &p, (enum weir_icmp_why)why, 42) ==
					 (why == WEIR_ICMP_PARAM_OPTION),
				 "group %d, why %d", how, why);
	}
	/* (e.6) Sources that are no single host. */
	p = ut_pkt_udp6();
	memset(p.ip6_src, 0, 16);
	assert_int_equal(complain(s, &p, WEIR_ICMP_PORT_UNREACH, 0), 0);
	memcpy(p.ip6_src, all_nodes, 16);
	assert_int_equal(complain(s, &p, WEIR_ICMP_PORT_UNREACH, 0), 0);
	memset(p.ip6_src, 0, 16);
	p.ip6_src[15] = 1;
	assert_int_equal(complain(s, &p, WEIR_ICMP_PORT_UNREACH, 0), 0);
	/* Fragments but the first, unless RFC 8200 4.5 asks for it; never of ICMPv6, which may be an error. */
	for (unsigned int off = 0; off <= 8; off += 8) {
		p = ut_pkt_udp6();
		p.kind = UT_RAW_IP6;
		ut_pkt_frag6(&p, off, 1, 77);
		p.payload = no_data;
		p.payload_len = sizeof(no_data);
		ut_check(complain(s, &p, WEIR_ICMP_REASM_TIME, 0) == (off == 0), "at %u", off);
		assert_int_equal(complain(s, &p, WEIR_ICMP_PARAM_HEADER, 4), 1);
		p.ip_proto = 58;
		assert_int_equal(complain(s, &p, WEIR_ICMP_PARAM_HEADER, 4), 0);
	}
}

/* About a packet to an address that is not ours: from one that fits. */
static void
the_source_of_a_complaint_is_ours(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct ut_pkt p = ut_pkt_udp6();

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	memcpy(p.ip6_dst, all_nodes, 16);
	memcpy(p.eth_dst, all_nodes_mac, 6);
	assert_int_equal(complain(s, &p, WEIR_ICMP_PARAM_OPTION, 48), 1);
	ut_check_bytes(f.b + 22, UT_OUR_IP6, 16, "source");
	ut_check_bytes(f.b + 38, UT_PEER_IP6, 16, "destination");
}

static void
each_destination_has_its_share(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	unsigned int n;

	cfg.stack.icmp_rate = 1000; /* one per second and destination, six at once */
	ut_stack_up(s, &cfg);
	ut_clock_advance(100 * WEIR_NS_PER_S);
	for (unsigned int peer = 0; peer < 20; peer++) {
		struct ut_pkt p = ut_pkt_udp6();

		p.ip6_src[14] = (uint8_t)(peer + 1);
		for (int i = 0; i < 20; i++)
			ut_stack_rx(s, 0, &p);
		n = taken(s);
		ut_check(n == 6, "peer %u: %u errors", peer, n);
	}
	for (unsigned int i = 0; i < 1000; i++) {
		struct ut_pkt p = ut_pkt_udp6();

		p.ip6_src[14] = 1;
		ut_clock_advance(10 * WEIR_NS_PER_MS);
		ut_stack_rx(s, 0, &p);
	}
	assert_in_range(taken(s), 9, 11);
}

/* ---- errors received ---- */

static struct ut_pkt
sent_by(uint16_t sport, const void *dst, uint16_t dport)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.ip6_src, UT_OUR_IP6, 16);
	memcpy(p.ip6_dst, dst, 16);
	p.udp_sport = sport;
	p.udp_dport = dport;
	return p;
}

/* An error that quotes `quote` bytes (0: all) of a packet. */
static void
rx_about(struct ut_stack *s, uint8_t type, uint8_t code, uint32_t rest, const struct ut_pkt *sent,
	 size_t quote)
{
	struct ut_pkt p = ut_pkt_icmp6_echo();
	static uint8_t b[2048];
	size_t len = ut_pkt_bytes(sent, b, sizeof(b)) - 14;

	p.icmp_type = type;
	p.icmp_code = code;
	p.icmp_id = (uint16_t)(rest >> 16);
	p.icmp_seq = (uint16_t)rest;
	p.payload = b + 14;
	p.payload_len = quote != 0 ? quote : len;
	ut_stack_rx(s, 0, &p);
}

static void
rx_error(struct ut_stack *s, uint8_t type, uint8_t code, uint32_t rest)
{
	struct ut_pkt sent = sent_by(PORT, UT_PEER_IP6, UT_PEER_PORT);

	rx_about(s, type, code, rest, &sent, 0);
}

/* udp-semantics 5.6; hard: what a connected socket hears without asking. */
static const struct {
	uint8_t type, code;
	int err;
	bool hard;
} verdict[] = {
	{1, 0, ENETUNREACH, false},  {1, 1, EACCES, true},        {1, 2, EHOSTUNREACH, false},
	{1, 3, EHOSTUNREACH, false}, {1, 4, ECONNREFUSED, true},  {1, 5, EACCES, true},
	{1, 6, EACCES, true},        {1, 7, EPROTO, true},        {1, 255, EPROTO, true},
	{2, 0, EMSGSIZE, true},      {3, 0, EHOSTUNREACH, false}, {3, 1, EHOSTUNREACH, false},
	{4, 0, EPROTO, true},        {4, 1, EPROTO, true},        {4, 2, EPROTO, true},
	{5, 0, EPROTO, false},       {127, 9, EPROTO, false},
};

static struct weir_socket *
connected(struct ut_stack *s)
{
	struct weir_socket *sk = ut_stack_socket6(s, PORT);
	struct weir_addr peer = ut_addr6(UT_PEER_IP6, UT_PEER_PORT);

	assert_int_equal(weir_socket_connect(sk, &peer), 0);
	return sk;
}

static void
hard_errors_reach_a_connected_socket_once(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	ut_stack_peer6(s);
	sk = connected(s);
	ut_stack_mark(s);
	for (size_t i = 0; i < UT_N(verdict); i++) {
		rx_error(s, verdict[i].type, verdict[i].code, 1400);
		ut_check(weir_socket_error(sk) == (verdict[i].hard ? -verdict[i].err : 0),
			 "type %u code %u", verdict[i].type, verdict[i].code);
		ut_check(weir_socket_error(sk) == 0, "type %u code %u: twice", verdict[i].type,
			 verdict[i].code);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "errors");
}

static void
an_unconnected_socket_hears_only_when_it_asks(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_sockerr e;
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, PORT);
	for (size_t i = 0; i < UT_N(verdict); i++) {
		rx_error(s, verdict[i].type, verdict[i].code, 1400);
		assert_int_equal(weir_socket_error(sk), 0);
	}
	/* The IPv4 option is of no use here. */
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_RECVERR, 1), 0);
	rx_error(s, 1, 4, 0);
	assert_int_equal(weir_socket_errqueue(sk, &e), -EAGAIN);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_RECVERR6, 1), 0);
	for (size_t i = 0; i < UT_N(verdict); i++) {
		const struct weir_addr to = ut_addr6(UT_PEER_IP6, UT_PEER_PORT);
		const struct weir_addr who = ut_addr6(UT_PEER_IP6, 0);

		rx_error(s, verdict[i].type, verdict[i].code, 1400);
		assert_int_equal(weir_socket_errqueue(sk, &e), 0);
		ut_check(e.err == verdict[i].err && e.origin == 3 && e.type == verdict[i].type &&
				 e.code == verdict[i].code && e.info == 1400 && e.len == 18,
			 "row %zu: %d origin %u %u/%u info %u len %u", i, e.err, e.origin, e.type,
			 e.code, e.info, e.len);
		ut_check_bytes(&e.to, &to, sizeof(to), "to");
		ut_check_bytes(&e.offender, &who, sizeof(who), "offender");
		for (uint32_t k = 0; k < e.len; k++)
			assert_int_equal(e.payload[k], ut_pattern(k));
		assert_int_equal(weir_socket_error(sk), 0); /* read: it pends no more */
	}
}

/* A closed port of our own host, by all of its names; nobody limits the rate here. */
static void
own_ports_that_are_closed_refuse(void **state)
{
	static const uint8_t loopback[16] = {[15] = 1};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, 0);
	for (int how = 0; how < 4; how++) {
		const struct weir_addr to =
			how == 0   ? ut_addr6(loopback, PORT + 7)
			: how == 1 ? ut_addr6(UT_OUR_IP6, PORT + 7)
			: how == 2 ? weir_addr_v4(UT_OUR_IP,
						  PORT + 7) /* of a socket of both families */
				   : weir_addr_v4(UT_IP(127, 0, 0, 1), PORT + 7);

		if (how == 2) {
			ut_stack_close(s, sk);
			sk = ut_stack_socket6(s, 0);
		}
		assert_int_equal(weir_socket_connect(sk, &to), 0);
		for (int i = 0; i < 20; i++) {
			assert_int_equal(weir_send(s->w[0], sk, "x", 1, NULL), 1);
			ut_stack_poll(s);
			ut_check(weir_socket_error(sk) == -ECONNREFUSED, "way %d, time %d", how, i);
		}
	}
}

static void
forged_quotes_have_no_effect(void **state)
{
	static const uint8_t other[16] = {0xfd, [15] = 9};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;
	struct ut_pkt sent;

	ut_stack_up(s, &cfg);
	sk = connected(s);
	ut_stack_mark(s);
	for (int how = 0; how < 8; how++) {
		sent = sent_by(PORT, UT_PEER_IP6, UT_PEER_PORT);
		switch (how) {
		case 0:
			memcpy(sent.ip6_src, other, 16);
			break;
		case 1:
			memcpy(sent.ip6_dst, other, 16);
			break;
		case 2:
			sent.udp_sport++;
			break;
		case 3:
			sent.udp_dport++;
			break;
		case 4:
			sent.ip_proto = 6;
			break;
		case 5:
			sent.ip_version = 4;
			break;
		case 6: /* a later fragment has no UDP header */
			ut_pkt_frag6(&sent, 8, 0, 1);
			break;
		case 7: /* a chain that goes on behind the quote */
			ut_pkt_ext6(&sent, 60, "\x01\x04\0\0\0\0", 6);
			sent.ip6_ext[1] = 40;
			break;
		}
		rx_about(s, 1, 4, 0, &sent, 0);
		ut_stack_only_drop(s, WEIR_DROP_ICMP_QUOTE, 1, "forged");
		ut_check(weir_socket_error(sk) == 0, "way %d", how);
	}
	sent = sent_by(PORT, UT_PEER_IP6, UT_PEER_PORT);
	for (size_t n = 1; n < 48; n++) {
		rx_about(s, 1, 4, 0, &sent, n);
		ut_stack_only_drop(s, WEIR_DROP_ICMP_SHORT, 1, "short quote");
	}
	rx_about(s, 1, 4, 0, &sent, 48);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
	/* A first fragment, and headers in front. */
	ut_pkt_ext6(&sent, 60, "\x01\x04\0\0\0\0", 6);
	ut_pkt_frag6(&sent, 0, 1, 1);
	rx_about(s, 1, 4, 0, &sent, 0);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
	/* Cut anywhere in them. */
	for (size_t n = 48; n < 64; n++) {
		rx_about(s, 1, 4, 0, &sent, n);
		assert_int_equal(weir_socket_error(sk), 0);
	}
	rx_about(s, 1, 4, 0, &sent, 64);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
}

/* ---- path MTU ---- */

static uint32_t
known(struct ut_stack *s)
{
	struct weir_addr peer = ut_addr6(UT_PEER_IP6, 0);
	bool lock;

	return weir_pmtu_get(s->stack, &peer.ip, WEIR_IPV6, ut_clock_now(), &lock);
}

static void
packet_too_big_is_learned(void **state)
{
	static const struct {
		int mode;
		int err;
		uint32_t known;
	} row[] = {
		{WEIR_PMTUD_DONT, 0, 1400},      {WEIR_PMTUD_WANT, EMSGSIZE, 1400},
		{WEIR_PMTUD_DO, EMSGSIZE, 1400}, {WEIR_PMTUD_PROBE, EMSGSIZE, 1400},
		{WEIR_PMTUD_INTERFACE, 0, 0},    {WEIR_PMTUD_OMIT, 0, 0},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;
	struct ut_pkt sent;

	ut_stack_up(s, &cfg);
	ut_stack_peer6(s);
	sk = connected(s);
	for (size_t i = 0; i < UT_N(row); i++) {
		assert_int_equal(weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER6, row[i].mode), 0);
		rx_error(s, 2, 0, 1400);
		ut_check(weir_socket_error(sk) == -row[i].err, "mode %d", row[i].mode);
		ut_check(known(s) == row[i].known, "mode %d: %u", row[i].mode, known(s));
		weir_pmtu_flush(s->stack);
	}
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER6, WEIR_PMTUD_WANT), 0);
	/* Below the minimum, above what the link carries, by whom it is not: nothing. */
	rx_error(s, 2, 0, 1279);
	rx_error(s, 2, 0, 1500);
	sent = sent_by(PORT + 1, UT_PEER_IP6, UT_PEER_PORT);
	rx_about(s, 2, 0, 1300, &sent, 0);
	assert_int_equal(known(s), 0);
	rx_error(s, 2, 0, 1280);
	assert_int_equal(known(s), 1280);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(echo_requests_are_answered),
		UT_STACK_TEST(the_replys_checksum_is_right_for_every_request),
		UT_STACK_TEST(a_group_is_answered_by_an_address_of_ours),
		UT_STACK_TEST(what_is_not_to_be_answered_is_not),
		UT_STACK_TEST(a_datagram_for_nobody_is_answered),
		UT_STACK_TEST(each_complaint_has_its_type_code_and_pointer),
		UT_STACK_TEST(some_things_are_never_complained_about),
		UT_STACK_TEST(the_source_of_a_complaint_is_ours),
		UT_STACK_TEST(each_destination_has_its_share),
		UT_STACK_TEST(hard_errors_reach_a_connected_socket_once),
		UT_STACK_TEST(an_unconnected_socket_hears_only_when_it_asks),
		UT_STACK_TEST(own_ports_that_are_closed_refuse),
		UT_STACK_TEST(forged_quotes_have_no_effect),
		UT_STACK_TEST(packet_too_big_is_learned),
	};

	return UT_RUN(cases, NULL, NULL);
}
