/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP: echo, the port unreachable that we send, and the errors that come back about what we sent:
 * which socket hears of which (RFC 1122 4.1.3.3, as Linux maps them), and which forged ones have no
 * effect.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "common/ut_guard.h"
#include "fib.h"
#include "lcore.h"
#include "pmtu.h"
#include "sock.h"

#define PORT UT_OUR_PORT

static struct ut_frame f;

static const struct weir_addr *
peer(void)
{
	static struct weir_addr a;

	a = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	return &a;
}

/* ---- echo ---- */

/* The reply that a request deserves: RFC 792, RFC 1122 3.2.2.6. */
static struct ut_pkt
reply_to(const struct ut_pkt *request)
{
	struct ut_pkt r = *request;

	memcpy(r.eth_dst, request->eth_src, 6);
	memcpy(r.eth_src, UT_OUR_MAC, 6);
	r.ip_src = request->ip_dst;
	r.ip_dst = request->ip_src;
	r.ip_ttl = 64;
	r.ip_id = 0;
	r.ip_frag = 0x4000;
	r.ip_opt_len = 0;
	r.icmp_type = 0;
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
	ut_stack_must_take(s, 0, &f);
	ut_check(f.len == len, "%s: reply of %u bytes, not %zu", what, f.len, len);
	ut_check_bytes(f.b, want, len, "%s", what);
	ut_check(ut_stack_pending(s, 0) == 0, "%s: a second reply", what);
	assert_int_equal(ut_stack_since(s, rx_consumed[WEIR_PROTO_ICMP]), 1);
	assert_int_equal(ut_stack_since(s, tx_protocol), 1);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, what);
}

static void
echo_requests_are_answered(void **state)
{
	static const size_t lens[] = {0, 1, 17, 18, 555, 1471, 1472};
	struct ut_stack *s = *state;

	for (unsigned int dev = 0; dev < 4; dev++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();

		cfg.dev.tx_offloads = dev & 1 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
		if (dev & 2)
			cfg.dev.tx_offloads |=
				RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
		ut_stack_up(s, &cfg);
		for (size_t i = 0; i < UT_N(lens); i++) {
			struct ut_pkt p = ut_pkt_icmp_echo();
			static uint8_t b[2048];
			size_t cuts[2];
			size_t len;

			p.payload_len = lens[i];
			p.ip_tos = 0x20; /* comes back (RFC 1122 3.2.2.6) */
			p.ip_ttl = 3;
			p.trailer_len = lens[i] < 18 ? 18 - lens[i] : 0;
			len = ut_pkt_bytes(&p, b, sizeof(b));
			must_be_answered(s, &p, ut_guard_mbuf(s->pool, b, len), "echo");
			cuts[0] = len / 3;
			cuts[1] = len - len / 5;
			must_be_answered(s, &p, ut_guard_mbuf_split(s->pool, b, len, cuts, 2),
					 "chained echo");
			if (lens[i] <= 1400) { /* options count for the MTU */
				memcpy(p.ip_opt, "\x01\x01\x01\x01", 4);
				p.ip_opt_len = 12;
				len = ut_pkt_bytes(&p, b, sizeof(b));
				must_be_answered(s, &p, ut_guard_mbuf(s->pool, b, len),
						 "echo with options");
			}
		}
		ut_stack_down(s);
	}
}

/* Every checksum that the request may have, among them the corner cases of RFC 1624. */
static void
the_replys_checksum_is_right_for_every_request(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	for (uint32_t id = 0; id <= 0xffff; id += id >= 0xf700 && id < 0xf900 ? 1 : 251) {
		struct ut_pkt p = ut_pkt_icmp_echo();

		p.icmp_id = (uint16_t)id;
		p.icmp_seq = 0;
		p.payload_len = 0;
		ut_stack_rx(s, 0, &p);
		ut_stack_must_take(s, 0, &f);
		/* Summed with its checksum: all ones, whose complement is 0. */
		ut_check(ut_csum(f.b + 34, 8, 0) == 0, "identifier %04x: sum %04x", id,
			 ut_csum(f.b + 34, 8, 0));
	}
}

/* What may be fragmented on its way here may be on its way back. */
static void
a_request_without_df_has_a_reply_without(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_icmp_echo();

	ut_stack_up(s, &cfg);
	p.ip_frag = 0;
	p.ip_id = 0xbeef;
	ut_stack_rx(s, 0, &p);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(ut_get16(f.b + 18), 0xbeef);
	assert_int_equal(ut_get16(f.b + 20), 0);
}

/* The largest request, in fragments: the reply comes in fragments too. Order and gaps by the offsets. */
static void
a_request_in_fragments_is_answered_in_fragments(void **state)
{
	static uint8_t ping[20 + 8 + 65507 - 20], back[65536];
	static const size_t lens[] = {1473, 2000, 8000, 65507};
	struct ut_stack *s = *state;

	for (unsigned int dev = 0; dev < 2 * UT_N(lens); dev++) {
		const size_t len = 8 + lens[dev / 2];
		struct ut_stack_cfg cfg = ut_stack_cfg();
		size_t got = 0;

		cfg.dev.tx_offloads = dev & 1 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
		ut_stack_up(s, &cfg);
		ping[0] = 8;
		ping[1] = 0;
		ut_put16(ping + 2, 0);
		for (size_t i = 4; i < len; i++)
			ping[i] = ut_pattern(i);
		ut_put16(ping + 2, ut_csum(ping, len, 0));
		for (size_t off = 0; off < len; off += 1480) {
			struct ut_pkt p = ut_pkt_icmp_echo();

			p.kind = UT_RAW_IP4;
			p.ip_proto = 1;
			p.ip_id = 0x4711;
			p.ip_frag = (uint16_t)(off / 8 | (off + 1480 < len ? 0x2000 : 0));
			p.payload = ping + off;
			p.payload_len = len - off < 1480 ? len - off : 1480;
			ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
		}
		ut_stack_poll(s);
		memset(back, 0, sizeof(back));
		while (ut_stack_take(s, 0, &f)) {
			const size_t off = (size_t)(ut_get16(f.b + 20) & 0x1fff) * 8;
			const size_t n = ut_get16(f.b + 16) - 20u;

			assert_true(f.len <= 1514 && off + n <= len);
			ut_check((ut_get16(f.b + 20) & 0x2000) == (off + n < len ? 0x2000 : 0),
				 "%zu bytes: more at %zu", len, off);
			assert_int_equal(ut_get32(f.b + 30), UT_PEER_IP);
			memcpy(back + off, f.b + 34, n);
			got += n;
		}
		ut_check(got == len, "%zu of %zu bytes came back", got, len);
		assert_int_equal(back[0], 0);
		assert_int_equal(ut_csum(back, len, 0), 0);
		ut_check_bytes(back + 4, ping + 4, len - 4, "%zu bytes", len);
		ut_stack_down(s);
	}
}

/* Whoever else holds the request's buffer must not see it change. */
static void
a_shared_request_is_not_written_to(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_icmp_echo();
	uint8_t b[256], after[256];
	struct rte_mbuf *m, *other;
	size_t len;

	ut_stack_up(s, &cfg);
	len = ut_pkt_bytes(&p, b, sizeof(b));
	for (int how = 0; how < 3; how++) {
		if (how == 0) { /* an indirect mbuf */
			other = ut_bytes_mbuf(b, len, s->pool);
			m = rte_pktmbuf_clone(other, s->pool);
		} else if (how == 1) { /* a reference to the mbuf */
			other = m = ut_bytes_mbuf(b, len, s->pool);
			rte_mbuf_refcnt_update(m, 1);
		} else { /* two mbufs on one external buffer */
			other = ut_guard_mbuf(s->pool, b, len);
			m = rte_pktmbuf_clone(other, s->pool);
		}
		must_be_answered(s, &p, m, "shared request");
		assert_int_equal(ut_mbuf_bytes(other, after, sizeof(after)), len);
		ut_check_bytes(after, b, len, "shared request, way %d", how);
		rte_pktmbuf_free(other);
	}
}

static void
what_is_not_to_be_answered_is_not(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p;

	ut_stack_up(s, &cfg);
	p = ut_pkt_icmp_echo();
	p.icmp_csum = 0x1234;
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_ICMP_CSUM, 1, "bad checksum");

	p = ut_pkt_icmp_echo();
	p.ip_dst = UT_IP(10, 0, 0, 255);
	memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "to the broadcast address");

	p = ut_pkt_icmp_echo();
	memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	ut_stack_rx(s, 0, &p);

	for (unsigned int type = 0; type < 256; type++) {
		if (type == 8 || type == 3 || type == 11 || type == 12)
			continue;
		p = ut_pkt_icmp_echo();
		p.icmp_type = (uint8_t)type;
		ut_stack_rx(s, 0, &p);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "ignored");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

/* ---- port unreachable, sent ---- */

static void
a_datagram_for_nobody_is_answered(void **state)
{
	static const size_t lens[] = {0, 1, 18, 519, 520, 521, 1472};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	for (size_t i = 0; i < UT_N(lens); i++) {
		for (int options = 0; options < 2; options++) {
			struct ut_pkt p = ut_pkt_udp();
			struct ut_pkt want;
			static uint8_t b[2048], w[2048];
			size_t len, quote, wlen;

			p.payload_len = lens[i];
			if (options && lens[i] < 1400) {
				p.ip_opt[0] = 1;
				p.ip_opt_len = 8;
			}
			p.trailer_len = lens[i] < 1400 ? 7 : 0; /* is not quoted */
			len = ut_pkt_bytes(&p, b, sizeof(b)) - p.trailer_len;
			/* RFC 1812 4.3.2.3: as much as fits into 576 bytes. */
			quote = len - 14 < 548 ? len - 14 : 548;
			want = ut_pkt_icmp_error(3, 3, b + 14, quote);
			memcpy(want.eth_dst, UT_PEER_MAC, 6);
			memcpy(want.eth_src, UT_OUR_MAC, 6);
			want.ip_src = UT_OUR_IP;
			want.ip_dst = UT_PEER_IP;
			want.ip_tos = 0xc0;
			want.ip_ttl = 64;
			want.ip_id = 0;
			want.ip_frag = 0x4000;
			wlen = ut_pkt_bytes(&want, w, sizeof(w));
			ut_stack_rx(s, 0, &p);
			ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "nobody");
			ut_stack_must_take(s, 0, &f);
			ut_check(f.len == wlen, "%zu bytes: error of %u bytes, not %zu", lens[i],
				 f.len, wlen);
			ut_check_bytes(f.b, w, wlen, "error about %zu bytes", lens[i]);
			ut_clock_advance(WEIR_NS_PER_S); /* to this peer one per second */
		}
	}
}

/* One datagram for nobody from peer number i: how many errors come of it. */
static unsigned int
rx_for_nobody(struct ut_stack *s, uint32_t i)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_src = UT_IP(10, 77, 0, 0) + i;
	ut_stack_rx(s, 0, &p);
	return testport_discard(s->ethdev[0]);
}

/* The lcore's tokens: about one per message, by amounts that vary. */
static void
errors_are_rate_limited(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint32_t peer = 1;
	unsigned int n = 0;

	cfg.stack.icmp_rate = 100;
	ut_stack_up(s, &cfg);
	ut_clock_set(100 * WEIR_NS_PER_S);
	for (unsigned int i = 0; i < 500; i++)
		n += rx_for_nobody(s, peer++);
	/* A second's worth was saved up. */
	assert_in_range(n, 85, 115);
	n = 0;
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 500, "flood");
	/* One token each 10 ms, also when looked at every millisecond. */
	for (unsigned int i = 0; i < 1000; i++) {
		ut_clock_advance(WEIR_NS_PER_MS);
		n += rx_for_nobody(s, peer++);
	}
	assert_in_range(n, 85, 115);
	n = 0;
	/* Looked at more often than the clock's grain of the bucket: nothing is lost by that. */
	for (unsigned int i = 0; i < 10000; i++) {
		ut_clock_advance(WEIR_NS_PER_MS / 10 * 3);
		n += rx_for_nobody(s, peer++);
	}
	assert_in_range(n, 270, 330);
	n = 0;
	/* A long silence saves up no more than a second's worth. */
	ut_clock_advance(3600 * WEIR_NS_PER_S);
	for (unsigned int i = 0; i < 500; i++)
		n += rx_for_nobody(s, peer++);
	assert_in_range(n, 85, 115);
	ut_stack_down(s);

	cfg.stack.icmp_rate = 0;
	ut_stack_up(s, &cfg);
	assert_int_equal(rx_for_nobody(s, 1), 0);
}

/* A destination's: one per second, six at once; the others have their own. */
static void
one_peer_cannot_have_all_errors(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int n;

	ut_stack_up(s, &cfg);
	for (unsigned int round = 0; round < 2; round++) {
		ut_clock_advance(10 * WEIR_NS_PER_S);
		n = 0;
		for (unsigned int i = 0; i < 50; i++)
			n += rx_for_nobody(s, 1);
		assert_int_equal(n, 6);
		n = 0;
	}
	for (uint32_t peer = 2; peer < 40; peer++) {
		for (unsigned int i = 0; i < 10; i++)
			n += rx_for_nobody(s, peer);
		assert_int_equal(n, 6);
		n = 0;
	}
	for (unsigned int i = 0; i < 1000; i++) {
		ut_clock_advance(10 * WEIR_NS_PER_MS);
		n += rx_for_nobody(s, 1);
	}
	assert_in_range(n, 9, 11);
	n = 0;
	/* A clock that went back: as if nobody had been told anything. */
	ut_clock_set(WEIR_NS_PER_S / 2);
	for (unsigned int i = 0; i < 10; i++)
		n += rx_for_nobody(s, 1);
	assert_in_range(n, 5, 6);
}

static void
bad_datagrams_and_broadcasts_are_not_answered(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();

	ut_stack_up(s, &cfg);
	p.udp_csum = 0x4321;
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_UDP_CSUM, 1, "bad checksum");
	p = ut_pkt_udp();
	p.ip_dst = 0xffffffff;
	memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "broadcast");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

/* ---- errors received ---- */

/* An error that quotes a datagram from our sport to dst:dport. */
static void
rx_error(struct ut_stack *s, uint16_t queue, uint8_t type, uint8_t code, uint32_t src,
	 uint16_t sport, uint32_t dst, uint16_t dport)
{
	struct ut_pkt sent = ut_pkt_udp();
	struct ut_pkt p;
	static uint8_t b[256];
	size_t len;

	sent.ip_src = src;
	sent.ip_dst = dst;
	sent.udp_sport = sport;
	sent.udp_dport = dport;
	len = ut_pkt_bytes(&sent, b, sizeof(b));
	p = ut_pkt_icmp_error(type, code, b + 14, len - 14);
	ut_stack_inject(s, 0, queue, ut_pkt_mbuf(&p, s->pool));
}

/* udp-semantics: code, errno, hard. 0: nothing is reported. */
static const struct {
	uint8_t type, code;
	int err;
} verdict[] = {
	{3, 0, 0},
	{3, 1, 0},
	{3, 2, ENOPROTOOPT},
	{3, 3, ECONNREFUSED},
	{3, 4, EMSGSIZE},
	{3, 5, 0},
	{3, 6, ENETUNREACH},
	{3, 7, EHOSTDOWN},
	{3, 8, ENONET},
	{3, 9, ENETUNREACH},
	{3, 10, EHOSTUNREACH},
	{3, 11, 0},
	{3, 12, 0},
	{3, 13, EHOSTUNREACH},
	{3, 14, EHOSTUNREACH},
	{3, 15, EHOSTUNREACH},
	{3, 16, 0},
	{3, 255, 0},
	{11, 0, 0},
	{11, 1, 0}, /* nobody is told of reassembly */
	{12, 0, EPROTO},
	{4, 0, 0},
	{5, 0, 0},
};

static void
hard_errors_reach_a_connected_socket_once(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	char b;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	sk = ut_stack_socket(s, PORT);
	assert_int_equal(weir_socket_connect(sk, peer()), 0);
	for (size_t i = 0; i < UT_N(verdict); i++) {
		rx_error(s, 0, verdict[i].type, verdict[i].code, UT_OUR_IP, PORT, UT_PEER_IP,
			 UT_PEER_PORT);
		ut_stack_poll(s);
		ut_check(weir_socket_error(sk) == -verdict[i].err, "type %u code %u",
			 verdict[i].type, verdict[i].code);
		ut_check(weir_socket_error(sk) == 0, "type %u code %u: reported twice",
			 verdict[i].type, verdict[i].code);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "errors");

	/* By whichever call comes first; the datagram of that send stays the caller's. */
	rx_error(s, 0, 3, 3, UT_OUR_IP, PORT, UT_PEER_IP, UT_PEER_PORT);
	ut_stack_poll(s);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, NULL), -ECONNREFUSED);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, NULL), 1);
	rx_error(s, 0, 3, 3, UT_OUR_IP, PORT, UT_PEER_IP, UT_PEER_PORT);
	ut_stack_poll(s);
	assert_int_equal(weir_recv_wait(s->w[0], sk, WEIR_NS_PER_S), 0);
	assert_int_equal(weir_recv(s->w[0], sk, &b, 1, NULL), -ECONNREFUSED);
	assert_int_equal(weir_recv(s->w[0], sk, &b, 1, NULL), -EAGAIN);
}

static void
an_unconnected_socket_hears_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, PORT);
	for (size_t i = 0; i < UT_N(verdict); i++) {
		rx_error(s, 0, verdict[i].type, verdict[i].code, UT_OUR_IP, PORT, UT_PEER_IP,
			 UT_PEER_PORT);
		ut_stack_poll(s);
		assert_int_equal(weir_socket_error(sk), 0);
	}
	assert_int_equal(ut_stack_since(s, rx_consumed[WEIR_PROTO_ICMP]), UT_N(verdict));
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "errors");
}

static void
forged_quotes_have_no_effect(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt sent = ut_pkt_udp();
	struct weir_socket *sk;
	struct ut_pkt p;
	uint8_t b[256];
	size_t len;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, PORT);
	assert_int_equal(weir_socket_connect(sk, peer()), 0);
	const struct {
		const char *what;
		uint32_t src, dst;
		uint16_t sport, dport;
	} row[] = {
		{"another source address", UT_IP(10, 0, 0, 9), UT_PEER_IP, PORT, UT_PEER_PORT},
		{"another source port", UT_OUR_IP, UT_PEER_IP, PORT + 1, UT_PEER_PORT},
		{"another destination", UT_OUR_IP, UT_IP(10, 0, 0, 3), PORT, UT_PEER_PORT},
		{"another destination port", UT_OUR_IP, UT_PEER_IP, PORT, UT_PEER_PORT + 1},
	};

	for (size_t i = 0; i < UT_N(row); i++) {
		rx_error(s, 0, 3, 3, row[i].src, row[i].sport, row[i].dst, row[i].dport);
		ut_stack_poll(s);
		ut_stack_only_drop(s, WEIR_DROP_ICMP_QUOTE, 1, row[i].what);
		assert_int_equal(weir_socket_error(sk), 0);
	}
	/* The right addresses, in something that is no UDP header of ours. */
	sent.ip_src = UT_OUR_IP;
	sent.ip_dst = UT_PEER_IP;
	sent.udp_sport = PORT;
	sent.udp_dport = UT_PEER_PORT;
	for (int how = 0; how < 5; how++) {
		struct ut_pkt q = sent;
		size_t cut = 0;

		switch (how) {
		case 0:
			q.ip_proto = 6;
			break;
		case 1:
			q.ip_version = 6;
			break;
		case 2:
			q.ip_ihl = 4;
			break;
		case 3:
			q.ip_ihl = 15;
			cut = 12;
			break; /* header beyond the quote */
		case 4:
			q.ip_frag = 1;
			break; /* a later fragment has no UDP header */
		}
		len = ut_pkt_bytes(&q, b, sizeof(b)) - cut;
		p = ut_pkt_icmp_error(3, 3, b + 14, len - 14);
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_ICMP_QUOTE, 1, "no quote of ours");
		assert_int_equal(weir_socket_error(sk), 0);
	}
	/* Quotes that are too short for a UDP header, at each length. */
	len = ut_pkt_bytes(&sent, b, sizeof(b));
	for (size_t n = 0; n < 28; n++) {
		p = ut_pkt_icmp_error(3, 3, b + 14, n);
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_ICMP_SHORT, 1, "short quote");
	}
	/* 28 bytes are what RFC 792 asks for. */
	p = ut_pkt_icmp_error(3, 3, b + 14, 28);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "shortest quote");
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
	/* With options in the quoted header. */
	sent.ip_opt[0] = 1;
	sent.ip_opt_len = 40;
	len = ut_pkt_bytes(&sent, b, sizeof(b));
	p = ut_pkt_icmp_error(3, 3, b + 14, len - 14);
	ut_stack_rx(s, 0, &p);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
}

/* ---- path MTU ---- */

static uint32_t
known(struct ut_stack *s)
{
	bool lock;

	return weir_pmtu_get(s->stack, &peer()->ip, WEIR_IPV4, ut_clock_now(), &lock);
}

static void
rx_too_long(struct ut_stack *s, uint16_t mtu, bool df, uint16_t dport)
{
	struct ut_pkt sent = ut_pkt_udp();
	struct ut_pkt p;
	static uint8_t b[2048];
	size_t len;

	sent.ip_src = UT_OUR_IP;
	sent.ip_dst = UT_PEER_IP;
	sent.udp_sport = PORT;
	sent.udp_dport = dport;
	sent.ip_frag = df ? 0x4000 : 0;
	sent.payload_len = 1472;
	len = ut_pkt_bytes(&sent, b, sizeof(b));
	p = ut_pkt_icmp_error(3, 4, b + 14, len > 548 ? 548 : len - 14);
	p.icmp_seq = mtu;
	ut_stack_rx(s, 0, &p);
}

/* What Linux does: it learns in every mode but the last two, and tells in every mode but the first. */
static void
fragmentation_needed_is_learned(void **state)
{
	static const struct {
		int mode, err;
		uint32_t known;
	} row[] = {
		{WEIR_PMTUD_DONT, 0, 1300},          {WEIR_PMTUD_WANT, EMSGSIZE, 1300},
		{WEIR_PMTUD_DO, EMSGSIZE, 1300},     {WEIR_PMTUD_PROBE, EMSGSIZE, 1300},
		{WEIR_PMTUD_INTERFACE, EMSGSIZE, 0}, {WEIR_PMTUD_OMIT, EMSGSIZE, 0},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	sk = ut_stack_socket(s, PORT);
	assert_int_equal(weir_socket_connect(sk, peer()), 0);
	for (size_t i = 0; i < UT_N(row); i++) {
		assert_int_equal(weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER, row[i].mode), 0);
		rx_too_long(s, 1300, true, UT_PEER_PORT);
		ut_check(weir_socket_error(sk) == -row[i].err, "mode %d", row[i].mode);
		ut_check(known(s) == row[i].known, "mode %d: %u", row[i].mode, known(s));
		weir_pmtu_flush(s->stack);
	}
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_WANT), 0);
	/* What may be fragmented nobody complains about; not about another's datagram; not of more. */
	rx_too_long(s, 1300, false, UT_PEER_PORT);
	rx_too_long(s, 1300, true, UT_PEER_PORT + 1);
	rx_too_long(s, 1500, true, UT_PEER_PORT);
	assert_int_equal(known(s), 0);
	/* A router that does not say how much. */
	rx_too_long(s, 0, true, UT_PEER_PORT);
	assert_int_equal(known(s), 1492);
	rx_too_long(s, 1300, true, UT_PEER_PORT);
	assert_int_equal(known(s), 1300);
	rx_too_long(s, 1400, true, UT_PEER_PORT);
	assert_int_equal(known(s), 1300);
	rx_too_long(s, 10, true, UT_PEER_PORT);
	assert_int_equal(known(s), 552);
}

/*
 * 100,000 messages per second, forged to fit an unconnected socket (they have to guess its port only), each about
 * another destination: the flow beside them goes on, and what it knows of its path stays.
 */
static void
a_flood_of_forged_messages_does_not_disturb(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr all = weir_addr_v4(0, 0), via = weir_addr_v4(UT_IP(10, 0, 0, 7), 0);
	const unsigned int n = 200000;
	unsigned int sent = 0, came = 0;
	struct weir_socket *sk;
	uint64_t gen;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	assert_int_equal(weir_route_add(s->stack, &all, 0, &via, 0, NULL), 0);
	sk = ut_stack_socket(s, PORT);
	rx_too_long(s, 1400, true, UT_PEER_PORT);
	assert_int_equal(known(s), 1400);
	gen = atomic_load(&s->stack->gen);
	for (unsigned int i = 0; i < n; i++) {
		struct ut_pkt quoted = ut_pkt_udp();
		struct ut_pkt p;
		uint8_t b[256];

		quoted.ip_src = UT_OUR_IP;
		quoted.ip_dst = UT_IP(10, 0, 0, 0) | (i * 2654435761u >> 8);
		quoted.udp_sport = PORT;
		(void)ut_pkt_bytes(&quoted, b, sizeof(b));
		p = ut_pkt_icmp_error(3, 4, b + 14, 28);
		p.icmp_seq = (uint16_t)(600 + i % 700);
		ut_clock_advance(10000);
		ut_stack_rx(s, 0, &p);
		if (i % 100 != 0)
			continue;
		assert_int_equal(weir_send(s->w[0], sk, "x", 1, peer()), 1);
		sent++;
		ut_stack_poll(s);
		came += testport_discard(s->ethdev[0]);
	}
	gen = atomic_load(&s->stack->gen) - gen;
	print_message("flood: %u messages in 2 s, %" PRIu64
		      " generations, %u of %u datagrams sent\n",
		      n, gen, came, sent);
	assert_int_equal(came, sent);
	assert_in_range(gen, 100, 310);
	assert_int_equal(known(s), 1400);
	assert_int_equal(weir_socket_error(sk), 0);
}

/* ---- redirects ---- */

struct redirect {
	const char *what;
	uint32_t from, to;
	uint8_t code;
	bool wrong_port, ok;
};

/* Where a datagram to 192.0.2.1 goes. */
static uint32_t
gateway_of(struct ut_stack *s)
{
	const union weir_ip any = {.w = {0, 0}};
	struct weir_addr dst = weir_addr_v4(UT_IP(192, 0, 2, 1), 0);
	const struct weir_way_key key = {
		.dst = &dst.ip, .bound = &any, .family = WEIR_IPV4, .port = -1};
	struct weir_way way;

	assert_int_equal(weir_way_find(s->stack, &key, &way), 0);
	return WIRE_BE32(way.next_hop.v4);
}

/* RFC 1122 3.2.2.2; off unless asked for. */
static void
redirects_are_taken_from_the_gateway_only(void **state)
{
	static const struct redirect row[] = {
		{"by another host", UT_IP(10, 0, 0, 77), UT_IP(10, 0, 0, 8), 1, false, false},
		{"to elsewhere", UT_IP(10, 0, 0, 7), UT_IP(10, 9, 0, 8), 1, false, false},
		{"to behind a gateway", UT_IP(10, 0, 0, 7), UT_IP(192, 0, 2, 9), 1, false, false},
		{"to another link", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 1, 8), 1, false, false},
		{"to ourselves", UT_IP(10, 0, 0, 7), UT_OUR_IP, 1, false, false},
		{"to a broadcast address", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 0, 255), 1, false,
		 false},
		{"to itself", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 0, 7), 1, false, false},
		{"unknown code", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 0, 8), 4, false, false},
		{"about nothing of ours", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 0, 8), 1, true, false},
		{"for the host", UT_IP(10, 0, 0, 7), UT_IP(10, 0, 0, 8), 1, false, true},
	};
	struct weir_addr net = weir_addr_v4(UT_IP(192, 0, 2, 0), 0);
	struct weir_addr via = weir_addr_v4(UT_IP(10, 0, 0, 7), 0);
	struct ut_stack *s = *state;

	for (int on = 0; on < 2; on++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_socket *sk;

		cfg.port.accept_redirects = on != 0;
		cfg.n_ports = 2;
		ut_stack_up(s, &cfg);
		assert_int_equal(weir_route_add(s->stack, &net, 24, &via, 0, NULL), 0);
		sk = ut_stack_socket(s, PORT);
		(void)sk;
		for (size_t i = 0; i < UT_N(row); i++) {
			struct ut_pkt sent = ut_pkt_udp();
			struct ut_pkt p;
			static uint8_t b[256];
			size_t len;

			sent.ip_src = UT_OUR_IP;
			sent.ip_dst = UT_IP(192, 0, 2, 1);
			sent.udp_sport = PORT + row[i].wrong_port;
			len = ut_pkt_bytes(&sent, b, sizeof(b));
			p = ut_pkt_icmp_error(5, row[i].code, b + 14, len - 14);
			p.ip_src = row[i].from;
			p.icmp_id = (uint16_t)(row[i].to >> 16);
			p.icmp_seq = (uint16_t)row[i].to;
			ut_stack_rx(s, 0, &p);
			ut_stack_pass(s, WEIR_NS_PER_S, 50 * WEIR_NS_PER_MS);
			ut_check(gateway_of(s) ==
					 (on && row[i].ok ? row[i].to : UT_IP(10, 0, 0, 7)),
				 "%s: %08x", row[i].what, gateway_of(s));
		}
		while (ut_stack_take(s, 0, &f))
			;
		ut_stack_down(s);
	}
}

/* An error that comes in on worker 1 for a socket that worker 0 reads. */
static void
an_error_reaches_the_socket_from_any_worker(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct weir_socket *sk;
	char b;

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	sk = ut_stack_socket(s, PORT);
	assert_int_equal(weir_socket_connect(sk, peer()), 0);
	ut_stack_rx(s, 0, &p);
	assert_int_equal(weir_recv(s->w[0], sk, &b, 1, NULL), 18); /* worker 0 reads it */
	rx_error(s, 1, 3, 3, UT_OUR_IP, PORT, UT_PEER_IP, UT_PEER_PORT);
	while (weir_turn(s->w[1]) > 0)
		;
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(echo_requests_are_answered),
		UT_STACK_TEST(the_replys_checksum_is_right_for_every_request),
		UT_STACK_TEST(a_request_without_df_has_a_reply_without),
		UT_STACK_TEST(a_request_in_fragments_is_answered_in_fragments),
		UT_STACK_TEST(a_shared_request_is_not_written_to),
		UT_STACK_TEST(what_is_not_to_be_answered_is_not),
		UT_STACK_TEST(a_datagram_for_nobody_is_answered),
		UT_STACK_TEST(errors_are_rate_limited),
		UT_STACK_TEST(one_peer_cannot_have_all_errors),
		UT_STACK_TEST(bad_datagrams_and_broadcasts_are_not_answered),
		UT_STACK_TEST(hard_errors_reach_a_connected_socket_once),
		UT_STACK_TEST(an_unconnected_socket_hears_nothing),
		UT_STACK_TEST(forged_quotes_have_no_effect),
		UT_STACK_TEST(fragmentation_needed_is_learned),
		UT_STACK_TEST(a_flood_of_forged_messages_does_not_disturb),
		UT_STACK_TEST(redirects_are_taken_from_the_gateway_only),
		UT_STACK_TEST(an_error_reaches_the_socket_from_any_worker),
	};

	return UT_RUN(cases, NULL, NULL);
}
