/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive, from the frame to the message or the drop counter: a row for every reason that refuses a
 * received frame, chained and truncated frames, checksums in software and by (lying) hardware, and what
 * a delivered datagram says about itself. Frames come in external buffers that end at a guard page.
 */
#include "common/ut_stack.h"

#include <rte_ethdev.h>

#include "common/ut_clock.h"
#include "common/ut_guard.h"
#include "common/ut_pool.h"
#include "lcore.h"

#define PORT UT_OUR_PORT

/* ---- helpers ---- */

static void
rx_guarded(struct ut_stack *s, const struct ut_pkt *p)
{
	uint8_t b[2048];
	size_t len = ut_pkt_bytes(p, b, sizeof(b));

	ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, len));
}

/* Read one datagram, which must be there, and copy its payload. */
static struct weir_rxmsg
must_read(struct ut_stack *s, struct weir_socket *sk, uint8_t *buf, size_t size, const char *what)
{
	struct weir_rxmsg msg;
	size_t len;

	ut_check(weir_recv_burst(s->w[0], sk, &msg, 1) == 1, "%s: nothing was delivered", what);
	len = ut_mbuf_bytes(msg.m, buf, size);
	ut_check(len == msg.len, "%s: message says %u bytes, mbuf has %zu", what, msg.len, len);
	ut_check(msg.m->nb_segs == 1 || msg.m->next != NULL, "%s: broken chain", what);
	weir_mbuf_free_bulk(&msg.m, 1);
	return msg;
}

static void
must_be_empty(struct ut_stack *s, struct weir_socket *sk, const char *what)
{
	struct weir_rxmsg msg;

	ut_check(weir_recv_burst(s->w[0], sk, &msg, 1) == 0, "%s: a datagram was delivered", what);
}

/* The names in a message about a datagram. */
static struct weir_addr
peer_of(const struct ut_pkt *p)
{
	return p->kind == UT_UDP6 ? ut_addr6(p->ip6_src, p->udp_sport)
				  : weir_addr_v4(p->ip_src, p->udp_sport);
}

static struct weir_addr
local_of(const struct ut_pkt *p)
{
	return p->kind == UT_UDP6 ? ut_addr6(p->ip6_dst, p->udp_dport)
				  : weir_addr_v4(p->ip_dst, p->udp_dport);
}

/* ---- one row per reason ---- */

static void
eth_short(struct ut_stack *s)
{
	uint8_t b[13] = UT_OUR_MAC UT_PEER_MAC;

	ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, sizeof(b)));
}

static void
eth_oversize(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.payload_len = 1473;
	rx_guarded(s, &p);
}

static void
eth_src(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_src[0] |= 1;
	rx_guarded(s, &p);
}

static void
eth_dst(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_dst[5] ^= 0x80;
	rx_guarded(s, &p);
}

static void
eth_type(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_type = 0x88b5;
	rx_guarded(s, &p);
}

static void
eth_vlan(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.vlan_tci = 5;
	rx_guarded(s, &p);
}

static void
eth_vlan_cut(struct ut_stack *s)
{
	uint8_t b[17] = UT_OUR_MAC UT_PEER_MAC "\x81";

	ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, sizeof(b)));
}

static void
eth_qinq(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.vlan_tci = 0;
	p.eth_type = 0x8100;
	rx_guarded(s, &p);
}

static void
eth_qinq_outer(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_type = 0x88a8;
	rx_guarded(s, &p);
}

static void
arp_bad(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_arp_request();

	p.arp_sha[0] |= 1;
	rx_guarded(s, &p);
}

static void
ip_short(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();
	uint8_t b[256];

	ut_pkt_bytes(&p, b, sizeof(b));
	ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, 33));
}

static void
ip_version(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_version = 6;
	rx_guarded(s, &p);
}

static void
ip_hdr_len(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_ihl = 4;
	rx_guarded(s, &p);
}

static void
ip_length(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_total_len = 47; /* the frame has 46 */
	rx_guarded(s, &p);
}

static void
ip_csum(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_csum = 0x1234;
	rx_guarded(s, &p);
}

static void
ip_option(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	memcpy(p.ip_opt, "\x83\x07\x04\x0a\x00\x00\x09\x00", 8); /* loose source route */
	p.ip_opt_len = 8;
	rx_guarded(s, &p);
}

static void
ip_src_ours(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_src = UT_OUR_IP;
	rx_guarded(s, &p);
}

static void
ip_src_subnet_broadcast(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_src = UT_IP(10, 0, 0, 255);
	rx_guarded(s, &p);
}

static void
ip_src_multicast(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_src = UT_IP(224, 0, 0, 1);
	rx_guarded(s, &p);
}

static void
ip_dst(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_dst = UT_IP(10, 0, 0, 77);
	rx_guarded(s, &p);
}

static void
ip_mcast(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_dst = UT_IP(239, 1, 2, 3);
	memcpy(p.eth_dst, "\x01\x00\x5e\x01\x02\x03", 6);
	rx_guarded(s, &p);
}

static void
ip_frag_first(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_frag = 0x2000;
	rx_guarded(s, &p);
}

static void
ip_frag_last(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_frag = 100;
	rx_guarded(s, &p);
}

static void
ip_proto(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_proto = 6;
	rx_guarded(s, &p);
}

static void
ip_rpf(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	s->stack->ports[0]->rp_filter = WEIR_RP_LOOSE;
	p.ip_src = UT_IP(172, 16, 0, 1);
	rx_guarded(s, &p);
}

static void
ip_rpf6(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	s->stack->ports[0]->rp_filter = WEIR_RP_STRICT;
	p.ip6_src[7] = 1;
	rx_guarded(s, &p);
}

static void
ip6_src_ours(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.ip6_src, UT_OUR_IP6, 16);
	rx_guarded(s, &p);
}

static void
ip6_src_loopback(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	memset(p.ip6_src, 0, 15);
	p.ip6_src[15] = 1;
	rx_guarded(s, &p);
}

static void
ip6_dst(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.ip6_dst[15] = 77;
	rx_guarded(s, &p);
}

static void
ip6_mcast(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.ip6_dst, "\xff\x05\0\0\0\0\0\0\0\0\0\0\0\0\1\2", 16);
	memcpy(p.eth_dst, "\x33\x33\0\0\1\2", 6);
	rx_guarded(s, &p);
}

static void
ip6_frag(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	ut_pkt_frag6(&p, 0, 1, 1);
	rx_guarded(s, &p);
}

static void
ip6_ext(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	ut_pkt_ext6(&p, 60, "\1\4\0\0\0\1", 6);
	rx_guarded(s, &p);
}

static void
ip6_option(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	ut_pkt_ext6(&p, 60, "\x7e\4\0\0\0\0", 6);
	rx_guarded(s, &p);
}

static void
ip6_jumbo(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	ut_pkt_ext6(&p, 0, "\xc2\4\0\1\0\0", 6);
	p.ip6_payload_len = 0;
	rx_guarded(s, &p);
}

static void
ip6_routing(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	ut_pkt_ext6(&p, 43, "\0\1\0\0\0\0", 6);
	rx_guarded(s, &p);
}

static void
ip6_proto(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.ip_proto = 6;
	rx_guarded(s, &p);
}

static void
udp_csum6(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.udp_csum = 0x1111;
	rx_guarded(s, &p);
}

static void
udp_csum_zero(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.udp_csum = 0;
	rx_guarded(s, &p);
}

static void
udp_csum_zero_of_a_train(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();
	struct weir_rxmsg msg;

	rx_guarded(s, &p);
	assert_int_equal(weir_recv_burst(s->w[0], s->sk[0], &msg, 1), 1);
	weir_mbuf_free_bulk(&msg.m, 1);
	p.udp_csum = 0;
	rx_guarded(s, &p);
}

static void
no_socket6(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.udp_dport = PORT + 1;
	rx_guarded(s, &p);
}

static void
icmp_short(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_icmp_echo();

	p.ip_total_len = 20 + 7;
	rx_guarded(s, &p);
}

static void
icmp_csum(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_icmp_echo();

	p.icmp_csum = 1;
	rx_guarded(s, &p);
}

static void
icmp_quote(struct ut_stack *s)
{
	struct ut_pkt sent = ut_pkt_udp();
	uint8_t b[256];
	size_t len = ut_pkt_bytes(&sent, b, sizeof(b));
	struct ut_pkt p = ut_pkt_icmp_error(3, 3, b + 14, len - 14); /* of the peer's own */

	rx_guarded(s, &p);
}

/* A transmitter that takes nothing, and a batch that is full. */
static void
icmp_noroom(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_icmp_echo();
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);

	ut_stack_peer(s);
	testport_set_tx_accept(s->ethdev[0], 0);
	while (weir_send(s->w[0], s->sk[0], "x", 1, &to) == 1)
		;
	assert_int_equal(weir_send_error(s->w[0]), -EAGAIN);
	rx_guarded(s, &p);
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
}

static void
udp_short(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.ip_total_len = 20 + 7;
	rx_guarded(s, &p);
}

static void
udp_length_beyond(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_len = 8 + 19;
	rx_guarded(s, &p);
}

static void
udp_length_below(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_len = 7;
	rx_guarded(s, &p);
}

static void
udp_csum(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_csum = 0x1111;
	rx_guarded(s, &p);
}

static void
udp_csum_partial(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();
	uint16_t left = (uint16_t)~ut_csum("", 0, ut_pseudo_sum(p.ip_src, p.ip_dst, 17, 26));

	p.udp_csum = left;
	rx_guarded(s, &p);
}

static void
udp_port0(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_dport = 0;
	rx_guarded(s, &p);
}

static void
no_socket(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_dport = PORT + 1;
	rx_guarded(s, &p);
}

static void
rcvq_full(struct ut_stack *s)
{
	struct weir_socket_conf conf;
	struct ut_pkt p = ut_pkt_udp();

	weir_socket_conf_init(&conf);
	conf.rcvbuf = 1; /* an empty queue takes one all the same */
	ut_stack_socket_conf(s, PORT + 1, &conf);
	p.udp_dport = PORT + 1;
	rx_guarded(s, &p);
	rx_guarded(s, &p);
}

/* Somebody sits on all buffers down to the reserve. */
static void
mem_limit(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();
	struct weir_socket_stats st;
	struct rte_mbuf **held;
	unsigned int n = 0;

	held = calloc(s->stack->pool->size + 1, sizeof(held[0]));
	assert_non_null(held);
	while (weir_mbuf_alloc_bulk(s->w[0], &held[n], 1) == 0)
		n++;
	rx_guarded(s, &p);
	weir_mbuf_free_bulk(held, n);
	free(held);
	weir_socket_stats_get(s->sk[0], &st);
	assert_int_equal(st.mem_limit, 1);
}

static void
sock_closed(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	rx_guarded(s, &p);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "queued");
	assert_int_equal(ut_stack_since(s, rx_delivered), 0); /* marked again behind it */
	ut_stack_close(s, s->sk[0]);
	ut_stack_pass(s, 200 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
}

static void
stack_stopped(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();

	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
}

static const struct {
	enum weir_drop reason;
	const char *what;
	void (*provoke)(struct ut_stack *s);
} rows[] = {
	{WEIR_DROP_ETH_SHORT, "13 bytes", eth_short},
	{WEIR_DROP_ETH_OVERSIZE, "1473 bytes of payload", eth_oversize},
	{WEIR_DROP_ETH_SRC, "from a group MAC", eth_src},
	{WEIR_DROP_ETH_DST, "to another MAC", eth_dst},
	{WEIR_DROP_ETH_TYPE, "experimental", eth_type},
	{WEIR_DROP_ETH_VLAN, "tagged", eth_vlan},
	{WEIR_DROP_ETH_VLAN, "half a tag", eth_vlan_cut},
	{WEIR_DROP_ETH_QINQ, "two tags", eth_qinq},
	{WEIR_DROP_ETH_QINQ, "an outer tag", eth_qinq_outer},
	{WEIR_DROP_ARP_BAD, "ARP from a group", arp_bad},
	{WEIR_DROP_IP_SHORT, "19 bytes of IP", ip_short},
	{WEIR_DROP_IP_VERSION, "version 6", ip_version},
	{WEIR_DROP_IP_HDR_LEN, "IHL 4", ip_hdr_len},
	{WEIR_DROP_IP_LENGTH, "total length one too many", ip_length},
	{WEIR_DROP_IP_CSUM, "header checksum", ip_csum},
	{WEIR_DROP_IP_OPTION, "source route", ip_option},
	{WEIR_DROP_IP_SRC, "from our own address", ip_src_ours},
	{WEIR_DROP_IP_SRC, "from the subnet's broadcast", ip_src_subnet_broadcast},
	{WEIR_DROP_IP_SRC, "from a multicast address", ip_src_multicast},
	{WEIR_DROP_IP_DST, "to another host", ip_dst},
	{WEIR_DROP_IP_MCAST, "to a group", ip_mcast},
	{WEIR_DROP_IP_FRAG, "first fragment", ip_frag_first},
	{WEIR_DROP_IP_FRAG, "last fragment", ip_frag_last},
	{WEIR_DROP_IP_PROTO, "TCP", ip_proto},
	{WEIR_DROP_IP_RPF, "no way back", ip_rpf},
	{WEIR_DROP_IP_RPF, "no way back, IPv6", ip_rpf6},
	{WEIR_DROP_IP_SRC, "from our own IPv6 address", ip6_src_ours},
	{WEIR_DROP_IP_SRC, "from ::1", ip6_src_loopback},
	{WEIR_DROP_IP_DST, "to another IPv6 host", ip6_dst},
	{WEIR_DROP_IP_MCAST, "to an IPv6 group", ip6_mcast},
	{WEIR_DROP_IP_FRAG, "IPv6 fragment", ip6_frag},
	{WEIR_DROP_IP_PROTO, "TCP over IPv6", ip6_proto},
	{WEIR_DROP_IP6_EXT, "padding that is not zero", ip6_ext},
	{WEIR_DROP_IP6_OPTION, "unknown option", ip6_option},
	{WEIR_DROP_IP6_JUMBO, "jumbogram", ip6_jumbo},
	{WEIR_DROP_IP6_ROUTING, "source route", ip6_routing},
	{WEIR_DROP_UDP_CSUM, "UDP checksum over IPv6", udp_csum6},
	{WEIR_DROP_UDP_CSUM_ZERO, "no checksum over IPv6", udp_csum_zero},
	{WEIR_DROP_UDP_CSUM_ZERO, "no checksum behind a train", udp_csum_zero_of_a_train},
	{WEIR_DROP_NO_SOCKET, "nobody listens, IPv6", no_socket6},
	{WEIR_DROP_ICMP_SHORT, "7 bytes of ICMP", icmp_short},
	{WEIR_DROP_ICMP_CSUM, "ICMP checksum", icmp_csum},
	{WEIR_DROP_ICMP_QUOTE, "error about another host's datagram", icmp_quote},
	{WEIR_DROP_ICMP_NOROOM, "echo request, no room", icmp_noroom},
	{WEIR_DROP_UDP_SHORT, "7 bytes of UDP", udp_short},
	{WEIR_DROP_UDP_LENGTH, "UDP length one too many", udp_length_beyond},
	{WEIR_DROP_UDP_LENGTH, "UDP length 7", udp_length_below},
	{WEIR_DROP_UDP_CSUM, "UDP checksum", udp_csum},
	{WEIR_DROP_UDP_CSUM_PARTIAL, "pseudo-header sum only", udp_csum_partial},
	{WEIR_DROP_UDP_PORT0, "to port 0", udp_port0},
	{WEIR_DROP_NO_SOCKET, "nobody listens", no_socket},
	{WEIR_DROP_RCVQ_FULL, "receive buffer full", rcvq_full},
	{WEIR_DROP_MEM_LIMIT, "pool at its reserve", mem_limit},
	{WEIR_DROP_SOCK_CLOSED, "closed before reading", sock_closed},
	{WEIR_DROP_STACK_STOPPED, "in the port's ring at stop", stack_stopped},
};

/* Reasons without a row here. */
static const struct {
	enum weir_drop reason;
	const char *why;
} elsewhere[] = {
	{WEIR_DROP_MESH_FULL_RX, "not reachable: nothing hands received frames over yet; "
				 "test_threads counts one by hand"},
	{WEIR_DROP_FRAG_BAD, "test_reasm"},
	{WEIR_DROP_FRAG_OVERLAP, "test_reasm"},
	{WEIR_DROP_FRAG_DUP, "test_reasm"},
	{WEIR_DROP_FRAG_HEADER, "test_reasm"},
	{WEIR_DROP_FRAG_ECN, "test_reasm"},
	{WEIR_DROP_FRAG_MANY, "test_reasm"},
	{WEIR_DROP_FRAG_MEM, "test_reasm"},
	{WEIR_DROP_FRAG_SOURCE, "test_reasm"},
	{WEIR_DROP_FRAG_TIMEOUT, "test_reasm"},
	{WEIR_DROP_ND_BAD, "test_ndp"},
	{WEIR_DROP_MEMBER_BAD, "test_mcast"},
	{WEIR_DROP_PORT_GONE_RX, "test_life"},
	{WEIR_DROP_PORT_GONE_TX, "test_life"},
	{WEIR_DROP_TX_NO_BUFFER, "test_fragment"},
	{WEIR_DROP_HOLD_FULL, "test_neigh"},
	{WEIR_DROP_NEIGH_FAILED, "test_neigh"},
	{WEIR_DROP_TXQ_FULL, "test_tx"},
	{WEIR_DROP_TXQ_REFUSED, "test_tx"},
	{WEIR_DROP_TX_PREPARE, "test_tx"},
	{WEIR_DROP_MESH_FULL_TX, "test_tx"},
	{WEIR_DROP_TX_STOPPED, "test_tx"},
};

static void
every_reason_has_a_row(void **state)
{
	(void)state;
	for (int r = 0; r < WEIR_DROP_N; r++) {
		unsigned int n = 0;

		for (size_t i = 0; i < UT_N(rows); i++)
			n += rows[i].reason == (enum weir_drop)r;
		for (size_t i = 0; i < UT_N(elsewhere); i++)
			n += elsewhere[i].reason == (enum weir_drop)r;
		ut_check(n > 0, "drop reason %s has no row and no place elsewhere",
			 weir_drop_name((enum weir_drop)r));
	}
}

static void
each_reason_counts_exactly_its_frame(void **state)
{
	struct ut_stack *s = *state;

	for (size_t i = 0; i < UT_N(rows); i++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();

		cfg.ip6 = true;
		cfg.stack.frag_mem = 0;
		ut_stack_up(s, &cfg);
		ut_stack_socket6(s, PORT); /* and IPv4 */
		ut_stack_mark(s);
		rows[i].provoke(s);
		ut_stack_only_drop(s, rows[i].reason, 1, rows[i].what);
		if (s->w[0] != NULL && rows[i].reason != WEIR_DROP_SOCK_CLOSED)
			must_be_empty(s, s->sk[0], rows[i].what);
		ut_stack_down(s);
	}
}

/* ---- chained frames ---- */

/* All that one frame does. */
struct outcome {
	uint64_t drops[WEIR_DROP_N], consumed[WEIR_PROTO_N], delivered;
	uint32_t got, len, n_tx, tx_len;
	struct weir_addr peer, local;
	uint8_t ttl, tos;
	uint8_t payload[1500], tx[1600];
};

static struct outcome *
outcome_of(struct ut_stack *s, struct rte_mbuf *m)
{
	static struct ut_frame f;
	struct outcome *o = calloc(1, sizeof(*o));
	struct weir_stats after;
	struct weir_rxmsg msg;

	assert_non_null(o);
	ut_stack_mark(s);
	ut_stack_rx_mbuf(s, 0, m);
	o->got = weir_recv_burst(s->w[0], s->sk[0], &msg, 1);
	if (o->got == 1) {
		o->len = msg.len;
		o->peer = msg.peer;
		o->local = msg.local;
		o->ttl = msg.ttl;
		o->tos = msg.tos;
		assert_int_equal(ut_mbuf_bytes(msg.m, o->payload, sizeof(o->payload)), msg.len);
		weir_mbuf_free_bulk(&msg.m, 1);
	}
	while (ut_stack_take(s, 0, &f)) {
		o->n_tx++;
		o->tx_len = f.len;
		memcpy(o->tx, f.b, f.len);
	}
	weir_stats_get(s->stack, &after);
	for (int r = 0; r < WEIR_DROP_N; r++)
		o->drops[r] = after.drops[r] - s->mark.drops[r];
	for (int p = 0; p < WEIR_PROTO_N; p++)
		o->consumed[p] = after.rx_consumed[p] - s->mark.rx_consumed[p];
	o->delivered = after.rx_delivered - s->mark.rx_delivered;
	return o;
}

/* Frames of every kind; returns how many there are. */
static size_t
sample(size_t i, uint8_t *b, size_t size, const char **what)
{
	static uint8_t quote[256];
	struct ut_pkt p = ut_pkt_udp();
	struct ut_pkt q;

	switch (i) {
	case 0:
		*what = "datagram of 19 bytes";
		p.payload_len = 19;
		break;
	case 1:
		*what = "datagram with IP options and padding";
		p.ip_opt[0] = 1;
		p.ip_opt_len = 7;
		p.payload_len = 3;
		p.trailer_len = 5;
		break;
	case 2:
		*what = "empty datagram";
		p.payload_len = 0;
		p.trailer_len = 18;
		break;
	case 3:
		*what = "ARP request";
		p = ut_pkt_arp_request();
		break;
	case 4:
		*what = "echo request with options";
		p = ut_pkt_icmp_echo();
		p.ip_opt[0] = 1;
		p.ip_opt_len = 4;
		p.payload_len = 13;
		break;
	case 5:
		*what = "port unreachable";
		q = ut_pkt_udp();
		q.ip_src = UT_OUR_IP;
		q.ip_dst = UT_PEER_IP;
		q.udp_sport = PORT;
		p = ut_pkt_icmp_error(3, 3, quote, ut_pkt_bytes(&q, quote, 256) - 14);
		memmove(quote, quote + 14, sizeof(quote) - 14);
		break;
	case 6:
		*what = "datagram for no socket";
		p.udp_dport = PORT + 1;
		break;
	case 7:
		*what = "datagram with a wrong checksum";
		p.udp_csum = 0x1111;
		break;
	case 8:
		*what = "datagram with a wrong header checksum";
		p.ip_csum = 0x1111;
		break;
	case 9:
		*what = "datagram over IPv6";
		p = ut_pkt_udp6();
		p.payload_len = 5;
		p.trailer_len = 3;
		break;
	case 10:
		*what = "datagram with IPv6 options and routing";
		p = ut_pkt_udp6();
		ut_pkt_ext6(&p, 0, "\5\2\0\0\1\0", 6);
		ut_pkt_ext6(&p, 43, "\4\0\0\0\0\0", 6);
		p.payload_len = 3;
		break;
	case 11:
		*what = "ICMPv6 echo request with options";
		p = ut_pkt_icmp6_echo();
		ut_pkt_ext6(&p, 60, "\1\4\0\0\0\0", 6);
		p.payload_len = 9;
		break;
	case 12:
		*what = "datagram over IPv6 for no socket";
		p = ut_pkt_udp6();
		p.udp_dport = PORT + 1;
		break;
	case 13:
		*what = "unknown option over IPv6";
		p = ut_pkt_udp6();
		ut_pkt_ext6(&p, 60, "\xfe\4\0\0\0\0", 6);
		break;
	default:
		return 0;
	}
	return ut_pkt_bytes(&p, b, size);
}

static void
same_outcome(const struct outcome *a, struct outcome *b, const char *what, size_t i, size_t j)
{
	ut_check(memcmp(a, b, sizeof(*a)) == 0,
		 "%s cut at %zu and %zu: delivered %" PRIu64
		 " (%u bytes), sent %u (%u bytes); whole: "
		 "delivered %" PRIu64 " (%u bytes), sent %u (%u bytes)",
		 what, i, j, b->delivered, b->len, b->n_tx, b->tx_len, a->delivered, a->len,
		 a->n_tx, a->tx_len);
	free(b);
}

static void
chained_frames_give_the_same_result_at_every_cut(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const char *what;
	uint8_t b[256];
	size_t len;

	cfg.stack.icmp_rate = 1000000;
	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_peer6(s);
	ut_stack_socket6(s, PORT);
	for (size_t k = 0; (len = sample(k, b, sizeof(b), &what)) != 0; k++) {
		const size_t step = k < 2 || k == 4 || k == 10 ? 1 : 5;
		struct outcome *whole;

		free(outcome_of(s, ut_guard_mbuf(s->pool, b, len))); /* an ARP request teaches */
		whole = outcome_of(s, ut_guard_mbuf(s->pool, b, len));
		for (size_t i = 0; i <= len; i++) {
			size_t cut[2] = {i, i};

			same_outcome(whole,
				     outcome_of(s, ut_guard_mbuf_split(s->pool, b, len, cut, 1)),
				     what, i, i);
			for (size_t j = i; j <= len; j += step) {
				cut[1] = j;
				same_outcome(
					whole,
					outcome_of(s, ut_guard_mbuf_split(s->pool, b, len, cut, 2)),
					what, i, j);
			}
		}
		free(whole);
	}
}

/* ---- truncated frames ---- */

static enum weir_drop
truncation_reason(const uint8_t *b, size_t len)
{
	if (len < 14)
		return WEIR_DROP_ETH_SHORT;
	if (ut_get16(b + 12) == 0x0806)
		return WEIR_DROP_ARP_BAD;
	if (ut_get16(b + 12) == 0x86dd)
		return len < 54 ? WEIR_DROP_IP_SHORT : WEIR_DROP_IP_LENGTH;
	if (len < 34)
		return WEIR_DROP_IP_SHORT;
	if (len < 14u + (b[14] & 15u) * 4u)
		return WEIR_DROP_IP_HDR_LEN;
	return WEIR_DROP_IP_LENGTH;
}

static void
truncated_frames_are_dropped_for_the_right_reason(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const char *what;
	uint8_t b[256];

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (size_t k = 0; sample(k, b, sizeof(b), &what) != 0; k++) {
		/* Behind its own end a frame holds padding, which may be missing. */
		const size_t end = ut_get16(b + 12) == 0x0806   ? 42
				   : ut_get16(b + 12) == 0x86dd ? 54u + (size_t)ut_get16(b + 18)
								: 14u + (size_t)ut_get16(b + 16);

		for (size_t len = 0; len < end; len++) {
			ut_stack_mark(s);
			ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, len));
			ut_stack_only_drop(s, truncation_reason(b, len), 1, what);
			must_be_empty(s, s->sk[0], what);
			assert_int_equal(ut_stack_pending(s, 0), 0);
		}
	}
}

/* The IP header believes the cut: what is behind it must not. */
static void
frames_cut_with_a_matching_ip_length_are_dropped(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	uint8_t b[256];

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	ut_pkt_bytes(&p, b, sizeof(b));
	for (size_t len = 34; len < 60; len++) {
		ut_put16(b + 16, (uint16_t)(len - 14));
		ut_fix_ip_csum(b, 60);
		ut_stack_rx_mbuf(s, 0, ut_guard_mbuf(s->pool, b, len));
		ut_stack_only_drop(s, len < 42 ? WEIR_DROP_UDP_SHORT : WEIR_DROP_UDP_LENGTH, 1,
				   "cut datagram");
	}
}

/* ---- checksums and hardware ---- */

static void
hardware_verdicts_are_taken_or_checked(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	enum { RIGHT, WRONG, ABSENT };
	const uint64_t l4 = RTE_MBUF_F_RX_L4_CKSUM_MASK, ip = RTE_MBUF_F_RX_IP_CKSUM_MASK;
	const struct {
		const char *what;
		uint64_t mask, value;
		int udp, ip;
		enum weir_drop reason; /* WEIR_DROP_N: delivered */
	} row[] = {
		{"L4 good, right", l4, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RIGHT, RIGHT, WEIR_DROP_N},
		{"L4 good but wrong", l4, RTE_MBUF_F_RX_L4_CKSUM_GOOD, WRONG, RIGHT, WEIR_DROP_N},
		{"L4 bad but right", l4, RTE_MBUF_F_RX_L4_CKSUM_BAD, RIGHT, RIGHT, WEIR_DROP_N},
		{"L4 bad, wrong", l4, RTE_MBUF_F_RX_L4_CKSUM_BAD, WRONG, RIGHT, WEIR_DROP_UDP_CSUM},
		{"L4 bad, none made", l4, RTE_MBUF_F_RX_L4_CKSUM_BAD, ABSENT, RIGHT, WEIR_DROP_N},
		{"L4 none, right", l4, RTE_MBUF_F_RX_L4_CKSUM_NONE, RIGHT, RIGHT, WEIR_DROP_N},
		{"L4 none, wrong", l4, RTE_MBUF_F_RX_L4_CKSUM_NONE, WRONG, RIGHT,
		 WEIR_DROP_UDP_CSUM},
		{"L4 unknown, right", l4, 0, RIGHT, RIGHT, WEIR_DROP_N},
		{"L4 unknown, wrong", l4, 0, WRONG, RIGHT, WEIR_DROP_UDP_CSUM},
		{"IP good but wrong", ip, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RIGHT, WRONG, WEIR_DROP_N},
		{"IP bad but right", ip, RTE_MBUF_F_RX_IP_CKSUM_BAD, RIGHT, RIGHT, WEIR_DROP_N},
		{"IP bad, wrong", ip, RTE_MBUF_F_RX_IP_CKSUM_BAD, RIGHT, WRONG, WEIR_DROP_IP_CSUM},
		{"IP none, wrong", ip, RTE_MBUF_F_RX_IP_CKSUM_NONE, RIGHT, WRONG,
		 WEIR_DROP_IP_CSUM},
		{"IP unknown, wrong", ip, 0, RIGHT, WRONG, WEIR_DROP_IP_CSUM},
		{"honest, right", 0, 0, RIGHT, RIGHT, WEIR_DROP_N},
		{"honest, UDP wrong", 0, 0, WRONG, RIGHT, WEIR_DROP_UDP_CSUM},
		{"honest, IP wrong", 0, 0, RIGHT, WRONG, WEIR_DROP_IP_CSUM},
	};
	struct weir_port_info info;
	uint8_t buf[64];

	cfg.dev.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	for (unsigned int software = 0; software < 2; software++) {
		cfg.port.no_offload = software != 0;
		ut_stack_up(s, &cfg);
		ut_stack_socket(s, PORT);
		assert_int_equal(weir_port_info_get(s->stack, 0, &info), 0);
		assert_int_equal(info.rx_csum_offload, !software);
		for (size_t i = 0; i < UT_N(row); i++) {
			struct ut_pkt p = ut_pkt_udp();

			if (row[i].udp == WRONG)
				p.udp_csum = 0x2222;
			else if (row[i].udp == ABSENT)
				p.udp_csum = 0;
			if (row[i].ip == WRONG)
				p.ip_csum = 0x2222;
			/* Without the offload the verdict flags are not the device's to set. */
			if (software && (row[i].mask != 0 && row[i].value != 0))
				continue;
			testport_force_rx_flags(s->ethdev[0], row[i].mask, row[i].value);
			rx_guarded(s, &p);
			ut_stack_only_drop(s, row[i].reason, row[i].reason != WEIR_DROP_N,
					   row[i].what);
			if (row[i].reason == WEIR_DROP_N)
				must_read(s, s->sk[0], buf, sizeof(buf), row[i].what);
		}
		ut_stack_down(s);
	}
}

/* A right checksum of odd lengths and of each size class of the sum. */
static void
right_checksums_of_all_lengths_pass(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static uint8_t buf[1500];
	uint8_t want[1500];

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (size_t i = 0; i < sizeof(want); i++)
		want[i] = ut_pattern(i);
	for (size_t len = 0; len <= 1472; len += len < 70 ? 1 : 61) {
		struct ut_pkt p = ut_pkt_udp();
		struct weir_rxmsg msg;

		p.payload_len = len;
		rx_guarded(s, &p);
		msg = must_read(s, s->sk[0], buf, sizeof(buf), "datagram");
		assert_int_equal(msg.len, len);
		ut_check_bytes(buf, want, len, "payload of %zu bytes", len);
	}
}

/* ---- bursts ---- */

/* Frames of a mixed burst, and what becomes of each. */
enum mixed {
	MIXED_A, /* to the first socket */
	MIXED_B, /* to the second */
	MIXED_A_OTHER_SOURCE,
	MIXED_B_NO_CSUM,
	MIXED_A_OPTIONS,
	MIXED_A_CHAINED,
	MIXED_A_BAD_CSUM,
	MIXED_B_BAD_CSUM,
	MIXED_OTHER_SOURCE_BAD_CSUM,
	MIXED_IP_CSUM,
	MIXED_OUR_SOURCE,
	MIXED_OTHER_DST,
	MIXED_FRAGMENT,
	MIXED_PORT0,
	MIXED_LENGTH,
	MIXED_6A, /* the same over IPv6 */
	MIXED_6B,
	MIXED_6A_OTHER_SOURCE,
	MIXED_6A_EXT,
	MIXED_6A_CHAINED,
	MIXED_6A_BAD_CSUM,
	MIXED_6B_NO_CSUM,
	MIXED_6_OTHER_SOURCE_BAD_CSUM,
	MIXED_6_OUR_SOURCE,
	MIXED_6_OTHER_DST,
	MIXED_6_FRAGMENT,
	MIXED_6_PORT0,
	MIXED_6_LENGTH,
	MIXED_N,
};

static const struct {
	int to; /* index of the socket, -1: dropped for this reason */
	enum weir_drop reason;
} mixed_fate[MIXED_N] = {
	[MIXED_A] = {0, 0},
	[MIXED_B] = {1, 0},
	[MIXED_A_OTHER_SOURCE] = {0, 0},
	[MIXED_B_NO_CSUM] = {1, 0},
	[MIXED_A_OPTIONS] = {0, 0},
	[MIXED_A_CHAINED] = {0, 0},
	[MIXED_A_BAD_CSUM] = {-1, WEIR_DROP_UDP_CSUM},
	[MIXED_B_BAD_CSUM] = {-1, WEIR_DROP_UDP_CSUM},
	[MIXED_OTHER_SOURCE_BAD_CSUM] = {-1, WEIR_DROP_UDP_CSUM},
	[MIXED_IP_CSUM] = {-1, WEIR_DROP_IP_CSUM},
	[MIXED_OUR_SOURCE] = {-1, WEIR_DROP_IP_SRC},
	[MIXED_OTHER_DST] = {-1, WEIR_DROP_IP_DST},
	[MIXED_FRAGMENT] = {-1, WEIR_DROP_IP_FRAG},
	[MIXED_PORT0] = {-1, WEIR_DROP_UDP_PORT0},
	[MIXED_LENGTH] = {-1, WEIR_DROP_UDP_LENGTH},
	[MIXED_6A] = {0, 0},
	[MIXED_6B] = {1, 0},
	[MIXED_6A_OTHER_SOURCE] = {0, 0},
	[MIXED_6A_EXT] = {0, 0},
	[MIXED_6A_CHAINED] = {0, 0},
	[MIXED_6A_BAD_CSUM] = {-1, WEIR_DROP_UDP_CSUM},
	[MIXED_6B_NO_CSUM] = {-1, WEIR_DROP_UDP_CSUM_ZERO},
	[MIXED_6_OTHER_SOURCE_BAD_CSUM] = {-1, WEIR_DROP_UDP_CSUM},
	[MIXED_6_OUR_SOURCE] = {-1, WEIR_DROP_IP_SRC},
	[MIXED_6_OTHER_DST] = {-1, WEIR_DROP_IP_DST},
	[MIXED_6_FRAGMENT] = {-1, WEIR_DROP_IP_FRAG},
	[MIXED_6_PORT0] = {-1, WEIR_DROP_UDP_PORT0},
	[MIXED_6_LENGTH] = {-1, WEIR_DROP_UDP_LENGTH},
};

static struct rte_mbuf *
mixed_frame(struct ut_stack *s, enum mixed kind, uint32_t id, struct ut_pkt *p)
{
	const bool v6 = kind >= MIXED_6A;
	const bool bad = kind == MIXED_A_BAD_CSUM || kind == MIXED_B_BAD_CSUM ||
			 kind == MIXED_OTHER_SOURCE_BAD_CSUM || kind == MIXED_6A_BAD_CSUM ||
			 kind == MIXED_6_OTHER_SOURCE_BAD_CSUM;
	struct rte_mbuf *m, *tail;
	uint8_t payload[24];
	uint8_t b[256];
	size_t len;

	*p = v6 ? ut_pkt_udp6() : ut_pkt_udp();
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(id >> i % 4 * 8);
	p->payload = payload;
	p->payload_len = 4 + id % 20;
	switch (kind) {
	case MIXED_B:
	case MIXED_B_NO_CSUM:
	case MIXED_B_BAD_CSUM:
	case MIXED_6B:
	case MIXED_6B_NO_CSUM:
		p->udp_dport = PORT + 1;
		if (kind == MIXED_B_NO_CSUM || kind == MIXED_6B_NO_CSUM)
			p->udp_csum = 0;
		break;
	case MIXED_A_OTHER_SOURCE:
	case MIXED_OTHER_SOURCE_BAD_CSUM:
	case MIXED_6A_OTHER_SOURCE:
	case MIXED_6_OTHER_SOURCE_BAD_CSUM:
		p->ip_src = UT_IP(10, 0, 0, 3 + id % 5);
		p->ip6_src[id % 16 == 0 ? 1 : id % 16] = (uint8_t)(3 + id % 5);
		p->udp_sport = (uint16_t)(5000 + id % 3);
		break;
	case MIXED_A_OPTIONS:
		memset(p->ip_opt, 1, 4);
		p->ip_opt_len = 4;
		break;
	case MIXED_6A_EXT:
		ut_pkt_ext6(p, id % 2 != 0 ? 60 : 0, "\1\4\0\0\0\0", 6);
		break;
	case MIXED_OUR_SOURCE:
	case MIXED_6_OUR_SOURCE:
		p->ip_src = UT_OUR_IP;
		memcpy(p->ip6_src, UT_OUR_IP6, 16);
		break;
	case MIXED_OTHER_DST:
	case MIXED_6_OTHER_DST:
		p->ip_dst = UT_IP(10, 0, 7, 7);
		p->ip6_dst[8] = 1;
		break;
	case MIXED_FRAGMENT:
		p->ip_frag = 0x2000;
		break;
	case MIXED_6_FRAGMENT:
		ut_pkt_frag6(p, 0, 1, id);
		break;
	case MIXED_PORT0:
	case MIXED_6_PORT0:
		p->udp_dport = 0;
		break;
	case MIXED_LENGTH:
	case MIXED_6_LENGTH:
		p->udp_len = 7;
		break;
	default:
		break;
	}
	p->ip_tos = (uint8_t)id;
	p->ip6_label = id * 77;
	len = ut_pkt_bytes(p, b, sizeof(b));
	if (bad) /* one bit is never right by chance */
		b[v6 ? 62 : 42] ^= 1;
	if (kind == MIXED_IP_CSUM)
		b[25] ^= 1;
	if (kind != MIXED_A_CHAINED && kind != MIXED_6A_CHAINED)
		return ut_guard_mbuf(s->pool, b, len);
	m = ut_bytes_mbuf(b, v6 ? 64 : 44, s->pool);
	tail = ut_bytes_mbuf(b + (v6 ? 64 : 44), len - (v6 ? 64 : 44), s->pool);
	assert_int_equal(rte_pktmbuf_chain(m, tail), 0);
	return m;
}

/*
 * What comes in one burst is judged as if it had come alone, whatever flow the frames before were of. Runs of
 * one kind and changes between any two; the next burst goes on where the last one stopped.
 */
static void
mixed_bursts_are_judged_frame_by_frame(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint64_t want_drops[WEIR_DROP_N] = {0};
	struct ut_rng rng = ut_rng();
	struct weir_stats st;
	uint32_t id = 1;

	cfg.stack.icmp_rate = 1; /* what is sent back about port 0 is not looked at here */
	cfg.stack.frag_mem = 0;
	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_socket6(s, PORT);
	ut_stack_socket6(s, PORT + 1);
	for (unsigned int round = 0; round < 2000; round++) {
		const unsigned int n = 1 + ut_rand_below(&rng, WEIR_MAX_BURST);
		struct rte_mbuf *m[WEIR_MAX_BURST];
		struct ut_pkt pkt[WEIR_MAX_BURST];
		uint8_t kind[WEIR_MAX_BURST];
		uint32_t first = id;

		for (unsigned int i = 0; i < n; i++, id++) {
			kind[i] = i > 0 && ut_rand_below(&rng, 3) != 0
					  ? kind[i - 1]
					  : (uint8_t)ut_rand_below(&rng, MIXED_N);
			m[i] = mixed_frame(s, (enum mixed)kind[i], id, &pkt[i]);
			if (mixed_fate[kind[i]].to < 0)
				want_drops[mixed_fate[kind[i]].reason]++;
		}
		weir_input(s->w[0], 0, m, n);
		for (unsigned int i = 0; i < n; i++) {
			const int to = mixed_fate[kind[i]].to;
			struct weir_rxmsg msg;
			struct weir_addr want;
			uint8_t buf[64];
			uint32_t got;

			if (to < 0)
				continue;
			msg = must_read(s, s->sk[to], buf, sizeof(buf), "mixed");
			memcpy(&got, buf, sizeof(got));
			ut_check(got == first + i, "round %u, frame %u of kind %u: %u, not %u",
				 round, i, kind[i], got, first + i);
			assert_int_equal(msg.len, pkt[i].payload_len);
			want = peer_of(&pkt[i]);
			assert_memory_equal(&msg.peer, &want, sizeof(want));
			want = local_of(&pkt[i]);
			assert_memory_equal(&msg.local, &want, sizeof(want));
			assert_int_equal(msg.tos, pkt[i].ip_tos);
			assert_int_equal(msg.ttl, 64);
			assert_int_equal(msg.flow,
					 kind[i] >= MIXED_6A ? pkt[i].ip6_label & 0xfffff : 0);
		}
		must_be_empty(s, s->sk[0], "mixed");
		must_be_empty(s, s->sk[1], "mixed");
	}
	weir_stats_get(s->stack, &st);
	/* A wrong sum may by chance be that of the pseudo-header. */
	st.drops[WEIR_DROP_UDP_CSUM] += st.drops[WEIR_DROP_UDP_CSUM_PARTIAL];
	st.drops[WEIR_DROP_UDP_CSUM_PARTIAL] = 0;
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		ut_check(st.drops[i] == want_drops[i], "%s: %" PRIu64 " instead of %" PRIu64,
			 weir_drop_name((enum weir_drop)i), st.drops[i], want_drops[i]);
}

/* ---- what a datagram says about itself ---- */

static void
padding_and_surplus_are_cut(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct weir_rxmsg msg;
	uint8_t buf[64];

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	p.payload_len = 1;
	p.trailer_len = 17; /* Ethernet padding */
	rx_guarded(s, &p);
	msg = must_read(s, s->sk[0], buf, sizeof(buf), "padded");
	assert_int_equal(msg.len, 1);
	assert_int_equal(buf[0], ut_pattern(0));

	/* UDP length below what IP brought: RFC 768 says the former counts. */
	p = ut_pkt_udp();
	p.payload_len = 10;
	p.udp_len = 8 + 4;
	rx_guarded(s, &p);
	msg = must_read(s, s->sk[0], buf, sizeof(buf), "short UDP length");
	assert_int_equal(msg.len, 4);

	/* Room for less: the whole length is told, the rest is gone. */
	p = ut_pkt_udp();
	rx_guarded(s, &p);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], buf, 5, NULL), 18);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], buf, 5, NULL), -EAGAIN);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of them");
}

static void
messages_carry_what_the_frame_said(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct weir_addr want;
	struct weir_rxmsg msg;
	struct weir_stats st;
	uint8_t buf[64];

	cfg.n_ports = 2;
	cfg.dev.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	cfg.dev.reta_size = 64;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	testport_force_rss_hash(s->ethdev[1], true, 0xdeadbeef);
	ut_clock_set(77 * WEIR_NS_PER_S);
	p.ip_ttl = 17;
	p.ip_tos = 0xb8;
	p.eth_dst[4] = 1;
	p.ip_dst = UT_IP(10, 0, 1, 1);
	p.ip_src = UT_IP(10, 0, 1, 9);
	p.udp_sport = 0; /* legal: shown as 0 */
	ut_stack_rx(s, 1, &p);
	ut_clock_advance(WEIR_NS_PER_S);
	msg = must_read(s, s->sk[0], buf, sizeof(buf), "datagram");
	want = weir_addr_v4(UT_IP(10, 0, 1, 9), 0);
	assert_memory_equal(&msg.peer, &want, sizeof(want));
	want = weir_addr_v4(UT_IP(10, 0, 1, 1), PORT);
	assert_memory_equal(&msg.local, &want, sizeof(want));
	assert_int_equal(msg.ttl, 17);
	assert_int_equal(msg.tos, 0xb8);
	assert_int_equal(msg.port, 1);
	assert_int_equal(msg.len, 18);
	assert_int_equal(msg.time_ns, 77 * WEIR_NS_PER_S);
	assert_int_equal(msg.drops, 0);
	assert_int_equal(msg.hash, 0xdeadbeef);
	assert_int_equal(weir_stats_port(s->stack, 1, &st), 0);
	assert_int_equal(st.rx_frames, 1);
	assert_int_equal(st.rx_bytes, 60);
	assert_int_equal(weir_stats_port(s->stack, 0, &st), 0);
	assert_int_equal(st.rx_frames, 0);
}

static void
the_weak_host_takes_an_address_of_another_port(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct weir_rxmsg msg;
	uint8_t buf[64];

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	p.ip_dst = UT_IP(10, 0, 1, 1);
	rx_guarded(s, &p);
	msg = must_read(s, s->sk[0], buf, sizeof(buf), "datagram");
	assert_int_equal(msg.port, 0);
}

static void
broadcasts_are_delivered_and_never_answered(void **state)
{
	static const uint32_t dst[] = {UT_IP(10, 0, 0, 255), UT_IP(255, 255, 255, 255)};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_rxmsg msg;
	uint8_t buf[64];

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (size_t i = 0; i < UT_N(dst); i++) {
		struct ut_pkt p = ut_pkt_udp();
		struct weir_addr local = weir_addr_v4(dst[i], PORT);

		p.ip_dst = dst[i];
		memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
		rx_guarded(s, &p);
		msg = must_read(s, s->sk[0], buf, sizeof(buf), "broadcast");
		assert_memory_equal(&msg.local, &local, sizeof(local));
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "broadcast");

		p.udp_dport = PORT + 1;
		rx_guarded(s, &p);
		ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "broadcast to nobody");
		assert_int_equal(ut_stack_pending(s, 0), 0);
	}
	/* A unicast packet in a broadcast frame is delivered, and not answered either. */
	struct ut_pkt p = ut_pkt_udp();

	memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	p.udp_dport = PORT + 1;
	rx_guarded(s, &p);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "unicast in a broadcast frame");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

/* ---- bursts ---- */

static void
a_mixed_burst_keeps_the_order_of_each_socket(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();
	struct rte_mbuf *m[64];
	unsigned int n[3] = {0, 0, 0};
	unsigned int bad = 0;
	uint8_t seq = 0;

	cfg.stack.burst = 64;
	cfg.stack.icmp_rate = 0;
	ut_stack_up(s, &cfg);
	for (uint16_t k = 0; k < 3; k++)
		ut_stack_socket(s, (uint16_t)(PORT + k));
	for (unsigned int round = 0; round < 20; round++) {
		for (unsigned int i = 0; i < 64; i++) {
			struct ut_pkt p = ut_pkt_udp();
			uint32_t k = ut_rand_below(&rng, 5);

			p.payload = &seq;
			p.payload_len = 1;
			seq++;
			p.udp_dport = (uint16_t)(PORT + k); /* 3: nobody */
			if (k == 4)
				p.udp_csum = 0x3333;
			m[i] = ut_pkt_mbuf(&p, s->pool);
			if (k < 3)
				n[k]++;
			else
				bad++;
		}
		if (round & 1) {
			weir_input(s->w[0], 0, m, 64);
		} else {
			assert_int_equal(testport_inject(s->ethdev[0], 0, m, 64), 64);
			ut_stack_poll(s);
		}
		for (unsigned int k = 0; k < 3; k++) {
			uint8_t last = 0;
			bool first = true;
			uint8_t b;

			while (weir_recv(s->w[0], s->sk[k], &b, 1, NULL) == 1) {
				ut_check(first || (uint8_t)(b - last) < 64,
					 "socket %u: %u after %u", k, b, last);
				last = b;
				first = false;
				n[k]--;
			}
		}
	}
	for (unsigned int k = 0; k < 3; k++)
		ut_check(n[k] == 0, "socket %u: %u datagrams missing", k, n[k]);
	assert_int_equal(ut_stack_since(s, rx_frames), 20 * 64);
	assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_NO_SOCKET]) +
				 ut_stack_since(s, drops[WEIR_DROP_UDP_CSUM]),
			 bad);
}

/* ---- tags ---- */

#define VLAN_IP UT_IP(10, 0, 5, 1)

/* Port 1 is VLAN 5 of port 0, with 10.0.5.1/24. */
static void
vlan_up(struct ut_stack *s)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr addr = weir_addr_v4(VLAN_IP, 0);
	struct weir_port_conf conf = cfg.port;
	struct weir_error err = {0};

	cfg.no_start = true;
	cfg.stack.frag_mem = 0;
	ut_stack_up(s, &cfg);
	weir_port_conf_init(&conf);
	conf.device = s->device[0];
	conf.vlan = 5;
	conf.dad = 0;
	ut_check(weir_port_add(s->stack, &conf, &err) == 1, "VLAN port: %s", err.text);
	ut_check(weir_addr_add(s->stack, 1, &addr, 24, &err) == 0, "address: %s", err.text);
	ut_check(weir_stack_start(s->stack, &err) == 0, "start: %s", err.text);
	ut_stack_attach(s);
	ut_stack_mark(s);
	ut_stack_socket(s, PORT);
}

static struct ut_pkt
tagged(int32_t tci)
{
	struct ut_pkt p = ut_pkt_udp();

	p.vlan_tci = tci;
	if ((tci & 0xfff) == 5) {
		p.ip_src = UT_IP(10, 0, 5, 2);
		p.ip_dst = VLAN_IP;
	}
	return p;
}

static void
tagged_frames_are_those_of_their_vlan(void **state)
{
	static const struct {
		int32_t tci;
		int port; /* -1: none */
	} row[] = {{UT_AUTO, 0}, {5, 1},       {0, 0},      {0xe000, 0},   {0xf005, 1},
		   {6, -1},      {0x1006, -1}, {0xfff, -1}, {4095 - 5, -1}};
	struct ut_stack *s = *state;

	vlan_up(s);
	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < UT_N(row); i++) {
			struct ut_pkt p = tagged(row[i].tci);
			struct weir_addr want;
			struct weir_rxmsg msg;
			uint8_t buf[64];

			rx_guarded(s, &p);
			if (row[i].port < 0) {
				ut_stack_only_drop(s, WEIR_DROP_ETH_VLAN, 1, "unknown VLAN");
				continue;
			}
			msg = must_read(s, s->sk[0], buf, sizeof(buf), "tagged");
			assert_int_equal(msg.port, row[i].port);
			assert_int_equal(msg.len, 18);
			for (size_t k = 0; k < 18; k++)
				assert_int_equal(buf[k], ut_pattern(k));
			want = peer_of(&p);
			assert_memory_equal(&msg.peer, &want, sizeof(want));
			ut_stack_only_drop(s, WEIR_DROP_N, 0, "tagged");
		}
	}
}

/* At every cut, and when others can see the bytes: these stay as they are. */
static void
tags_come_off_chained_and_shared_frames(void **state)
{
	struct ut_pkt p = tagged(5);
	struct ut_stack *s = *state;
	struct rte_mbuf *m, *clone;
	uint8_t b[128], buf[128];
	size_t len;

	vlan_up(s);
	len = ut_pkt_bytes(&p, b, sizeof(b));
	for (size_t i = 0; i <= len; i++) {
		ut_stack_rx_mbuf(s, 0, ut_guard_mbuf_split(s->pool, b, len, &i, 1));
		assert_int_equal(must_read(s, s->sk[0], buf, sizeof(buf), "cut").port, 1);
	}
	m = ut_bytes_mbuf(b, len, s->pool);
	clone = rte_pktmbuf_clone(m, s->pool);
	assert_non_null(clone);
	ut_stack_rx_mbuf(s, 0, clone);
	assert_int_equal(must_read(s, s->sk[0], buf, sizeof(buf), "clone").port, 1);
	assert_int_equal(ut_mbuf_bytes(m, buf, sizeof(buf)), len);
	assert_memory_equal(buf, b, len);
	rte_pktmbuf_free(m);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of them");
}

/* The longest untagged frame may have a tag besides. */
static void
a_tag_does_not_count_for_the_mtu(void **state)
{
	struct ut_stack *s = *state;
	static uint8_t buf[1600];

	vlan_up(s);
	for (unsigned int over = 0; over < 2; over++) {
		struct ut_pkt p = tagged(0);

		p.payload_len = 1472 + over;
		rx_guarded(s, &p);
		if (over == 0)
			assert_int_equal(must_read(s, s->sk[0], buf, sizeof(buf), "long").len,
					 1472);
		ut_stack_only_drop(s, over ? WEIR_DROP_ETH_OVERSIZE : WEIR_DROP_N, over, "long");
	}
}

/* In bursts, with the tag in the frame or taken off by the device: each port's datagrams in order. */
static void
bursts_are_sorted_by_vlan(void **state)
{
	struct ut_stack *s = *state;
	struct ut_rng rng = ut_rng();

	vlan_up(s);
	for (unsigned int round = 0; round < 200; round++) {
		const bool stripped = round % 2 != 0;
		const unsigned int n = 1 + ut_rand_below(&rng, WEIR_MAX_BURST);
		unsigned int n_port[2] = {0}, n_bad = 0, n_two = 0;
		struct rte_mbuf *m[WEIR_MAX_BURST];
		uint8_t last[2] = {0, 0};
		struct weir_rxmsg msg;

		/* A VLAN's port has it from its ethdev's. */
		s->stack->ports[0]->vlan_strip = s->stack->ports[1]->vlan_strip = stripped;
		for (unsigned int i = 0; i < n; i++) {
			static const int32_t tci[] = {UT_AUTO, UT_AUTO, 5, 5, 0, 7};
			int32_t t = tci[ut_rand_below(&rng, UT_N(tci))];
			const bool two = t != UT_AUTO && ut_rand_below(&rng, 8) == 0;
			struct ut_pkt p = tagged(t);
			uint8_t seq = (uint8_t)(i + 1);

			p.payload = &seq;
			p.payload_len = 1;
			if (two) /* one more in the frame */
				p.vlan_tci = 5;
			if (two && !stripped)
				p.eth_type = 0x8100;
			else if (stripped && !two)
				p.vlan_tci = UT_AUTO;
			m[i] = ut_pkt_mbuf(&p, s->pool);
			if (stripped && t != UT_AUTO) {
				m[i]->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
				m[i]->vlan_tci = (uint16_t)t;
			}
			if (two && !(stripped && t == 7))
				n_two++;
			else if (t == 7)
				n_bad++;
			else
				n_port[t == 5]++;
		}
		weir_input(s->w[0], 0, m, n);
		while (weir_recv_burst(s->w[0], s->sk[0], &msg, 1) == 1) {
			const uint8_t seq = *rte_pktmbuf_mtod(msg.m, const uint8_t *);

			assert_true(msg.port < 2 && n_port[msg.port]-- > 0);
			ut_check(seq > last[msg.port], "%u after %u", seq, last[msg.port]);
			last[msg.port] = seq;
			weir_mbuf_free_bulk(&msg.m, 1);
		}
		assert_int_equal(n_port[0] + n_port[1], 0);
		assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_ETH_VLAN]), n_bad);
		assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_ETH_QINQ]), n_two);
		ut_stack_mark(s);
	}
	s->stack->ports[0]->vlan_strip = s->stack->ports[1]->vlan_strip = false;
}

/* ---- fragments ---- */

/* The bytes behind the IP header of a datagram of len bytes of payload. Returns how many. */
static size_t
upper_layer(struct ut_pkt p, size_t len, uint8_t *to, size_t size)
{
	static uint8_t b[4096];
	const size_t off = p.kind == UT_UDP6 ? 54 : 34;
	size_t n;

	p.payload_len = len;
	n = ut_pkt_bytes(&p, b, sizeof(b)) - off;
	assert_true(n <= size);
	memcpy(to, b + off, n);
	return n;
}

/* The fragment of [off, off + len) of the upper layer. */
static void
send_fragment(struct ut_stack *s, bool v6, const uint8_t *bytes, size_t off, size_t len, bool more,
	      uint32_t id)
{
	struct ut_pkt p = v6 ? ut_pkt_udp6() : ut_pkt_udp();

	p.kind = v6 ? UT_RAW_IP6 : UT_RAW_IP4;
	p.payload = bytes + off;
	p.payload_len = len;
	p.ip_id = (uint16_t)id;
	p.ip_frag = (uint16_t)(off / 8 | (more ? 0x2000 : 0));
	if (v6)
		ut_pkt_frag6(&p, (unsigned int)off, more, id);
	rx_guarded(s, &p);
}

static void
fragments_are_received_as_one_datagram(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static uint8_t bytes[4096], buf[4096];

	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_socket6(s, PORT);
	for (unsigned int v6 = 0; v6 < 2; v6++) {
		for (unsigned int order = 0; order < 2; order++) {
			struct ut_pkt p = v6 ? ut_pkt_udp6() : ut_pkt_udp();
			const size_t n = upper_layer(p, 3001, bytes, sizeof(bytes));
			struct weir_rxmsg msg;
			struct weir_addr want;

			for (size_t i = 0; i < n; i += 1000) {
				size_t at = order ? (n - 1) / 1000 * 1000 - i : i;

				must_be_empty(s, s->sk[0], "not whole yet");
				send_fragment(s, v6, bytes, at, n - at < 1000 ? n - at : 1000,
					      at + 1000 < n, 77 + order);
			}
			msg = must_read(s, s->sk[0], buf, sizeof(buf), "whole");
			assert_int_equal(msg.len, 3001);
			for (size_t i = 0; i < 3001; i++)
				assert_int_equal(buf[i], ut_pattern(i));
			want = peer_of(&p);
			assert_memory_equal(&msg.peer, &want, sizeof(want));
			want = local_of(&p);
			assert_memory_equal(&msg.local, &want, sizeof(want));
			assert_int_equal(msg.ttl, 64);
			ut_stack_only_drop(s, WEIR_DROP_N, 0, "fragments");
			/* A wrong sum is found in the whole. */
			bytes[n - 1] ^= 1;
			for (size_t i = 0; i < n; i += 1000)
				send_fragment(s, v6, bytes, i, n - i < 1000 ? n - i : 1000,
					      i + 1000 < n, 79 + order);
			ut_stack_only_drop(s, WEIR_DROP_UDP_CSUM, 1, "one bit");
		}
	}
}

/* ---- what the sender is told ---- */

static void
told_port0(struct ut_pkt *p)
{
	p->udp_dport = 0;
}

static void
told_no_socket(struct ut_pkt *p)
{
	p->udp_dport = PORT + 1;
}

static void
told_proto(struct ut_pkt *p)
{
	p->ip_proto = 132;
}

static void
told_option(struct ut_pkt *p)
{
	ut_pkt_ext6(p, 60, "\1\0\x9e\2\0\0", 6);
}

static void
told_routing(struct ut_pkt *p)
{
	ut_pkt_ext6(p, 43, "\0\1\0\0\0\0", 6);
}

static void
told_hop_by_hop_second(struct ut_pkt *p)
{
	ut_pkt_ext6(p, 60, "\1\4\0\0\0\0", 6);
	ut_pkt_ext6(p, 0, "\1\4\0\0\0\0", 6);
}

/* The next ICMP error that was sent, of either family; what groups and neighbours are told is passed over. */
static bool
take_error(struct ut_stack *s, struct ut_frame *f)
{
	while (ut_stack_take(s, 0, f)) {
		const uint16_t type = ut_get16(f->b + 12);

		if ((type == 0x0800 && f->b[23] == 1 && f->b[34] != 0) ||
		    (type == 0x86dd && f->b[20] == 58 && f->b[54] < 128))
			return true;
	}
	return false;
}

static void
senders_of_refused_frames_are_told_why(void **state)
{
	static const struct {
		const char *what;
		void (*set)(struct ut_pkt *p);
		bool v6;
		uint8_t type, code;
		uint32_t pointer;
	} row[] = {
		{"port 0", told_port0, false, 3, 3, 0},
		{"no socket", told_no_socket, false, 3, 3, 0},
		{"protocol", told_proto, false, 3, 2, 0},
		{"port 0", told_port0, true, 1, 4, 0},
		{"no socket", told_no_socket, true, 1, 4, 0},
		{"next header", told_proto, true, 4, 1, 6},
		{"option", told_option, true, 4, 2, 44},
		{"routing", told_routing, true, 4, 0, 42},
		{"hop-by-hop second", told_hop_by_hop_second, true, 4, 1, 40},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_peer6(s);
	ut_stack_socket6(s, PORT);
	for (size_t i = 0; i < UT_N(row); i++) {
		struct ut_pkt p = row[i].v6 ? ut_pkt_udp6() : ut_pkt_udp();
		const size_t off = row[i].v6 ? 54 : 34;
		static struct ut_frame f;
		uint8_t b[256];
		size_t len;

		row[i].set(&p);
		len = ut_pkt_bytes(&p, b, sizeof(b));
		ut_clock_advance(WEIR_NS_PER_S);
		rx_guarded(s, &p);
		ut_check(take_error(s, &f), "%s, family %u: nothing", row[i].what,
			 row[i].v6 ? 6 : 4);
		ut_check(f.b[off] == row[i].type && f.b[off + 1] == row[i].code &&
				 (row[i].pointer == 0 || ut_get32(f.b + off + 4) == row[i].pointer),
			 "%s, family %u: type %u code %u rest %u", row[i].what, row[i].v6 ? 6 : 4,
			 f.b[off], f.b[off + 1], ut_get32(f.b + off + 4));
		assert_memory_equal(f.b + off + 8, b + 14, len - 14); /* what it was about */
		/* To somebody else: nobody is told. */
		p.ip_dst = UT_IP(10, 0, 0, 99);
		p.ip6_dst[15] = 99;
		rx_guarded(s, &p);
		assert_false(take_error(s, &f));
	}
}

/* ---- scopes and groups of IPv6 ---- */

static void
link_local_addresses_are_those_of_their_port(void **state)
{
	static const uint8_t net[16] = {0xfe, 0x80, [15] = 1};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr addr = ut_addr6(net, 0);
	struct ut_pkt p = ut_pkt_udp6();
	struct weir_error err = {0};
	struct weir_rxmsg msg;
	struct weir_addr from;
	uint8_t buf[64];

	cfg.n_ports = 2;
	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_check(weir_addr_add(s->stack, 1, &addr, 64, &err) == 0, "%s", err.text);
	ut_stack_socket6(s, PORT);
	ut_stack_mark(s);
	memcpy(p.ip6_dst, net, 16);
	memcpy(p.ip6_src, net, 16);
	p.ip6_src[15] = 9;
	rx_guarded(s, &p);
	ut_stack_only_drop(s, WEIR_DROP_IP_DST, 1, "by the wrong port");
	p.eth_dst[4] = 1;
	for (unsigned int i = 0; i < 3; i++) { /* the second one follows the first */
		ut_stack_rx(s, 1, &p);
		if (i == 2) {
			assert_int_equal(weir_recv(s->w[0], s->sk[0], buf, sizeof(buf), &from), 18);
		} else {
			msg = must_read(s, s->sk[0], buf, sizeof(buf), "link-local");
			from = msg.peer;
			assert_int_equal(msg.local.scope, 2);
			assert_memory_equal(&msg.local.ip, p.ip6_dst, 16);
		}
		assert_int_equal(from.scope, 2);
		assert_memory_equal(&from.ip, p.ip6_src, 16);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "by the right port");
	/* Its own datagrams come in by that port, too. */
	addr.port = s->sk[0] != NULL ? ut_addr6(net, PORT).port : 0;
	addr.scope = 2;
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &addr), 1);
	ut_stack_poll(s);
	msg = must_read(s, s->sk[0], buf, sizeof(buf), "to ourselves");
	assert_int_equal(msg.local.scope, 2);
	assert_int_equal(msg.port, 1);
	/* And that has opened no door: nobody else speaks as we do. */
	memcpy(p.ip6_src, net, 16);
	p.udp_sport = PORT;
	ut_stack_rx(s, 1, &p);
	ut_stack_only_drop(s, WEIR_DROP_IP_SRC, 1, "as ourselves");
}

static void
ipv6_groups_are_delivered_to_their_members(void **state)
{
	static const uint8_t group[16] = {0xff, 0x05, [14] = 1, 2};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr addr = ut_addr6(group, 0);
	struct ut_pkt p = ut_pkt_udp6();
	struct weir_rxmsg msg;
	uint8_t buf[64];

	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_socket6(s, PORT);
	assert_int_equal(weir_socket_join(s->sk[0], &addr, NULL, 0), 0);
	memcpy(p.ip6_dst, group, 16);
	memcpy(p.eth_dst, "\x33\x33\0\0\1\2", 6);
	for (unsigned int i = 0; i < 3; i++) {
		rx_guarded(s, &p);
		msg = must_read(s, s->sk[0], buf, sizeof(buf), "group");
		assert_memory_equal(&msg.local.ip, group, 16);
		assert_int_equal(msg.local.scope, 0);
	}
	assert_int_equal(weir_socket_leave(s->sk[0], &addr, NULL, 0), 0);
	ut_stack_mark(s);
	rx_guarded(s, &p);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "left");
}

/* What one burst brings for one socket is read in the order in which it came, to a group or not. */
static void
a_burst_to_groups_and_others_keeps_its_order(void **state)
{
	static const uint8_t group[16] = {0xff, 0x05, [14] = 1, 2};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr addr = ut_addr6(group, 0);
	struct rte_mbuf *m[8];
	uint8_t buf[64];

	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	ut_stack_socket6(s, PORT);
	assert_int_equal(weir_socket_join(s->sk[0], &addr, NULL, 0), 0);
	for (uint8_t i = 0; i < UT_N(m); i++) {
		struct ut_pkt p = i % 3 == 2 ? ut_pkt_udp() : ut_pkt_udp6();

		p.payload = &i;
		p.payload_len = 1;
		if (i % 3 == 1) {
			memcpy(p.ip6_dst, group, 16);
			memcpy(p.eth_dst, "\x33\x33\0\0\1\2", 6);
		}
		m[i] = ut_pkt_mbuf(&p, s->pool);
	}
	weir_input(s->w[0], 0, m, UT_N(m));
	for (unsigned int i = 0; i < UT_N(m); i++) {
		must_read(s, s->sk[0], buf, sizeof(buf), "burst");
		assert_int_equal(buf[0], i);
	}
}

/* A pool without a free buffer: headers that are cut in the middle cannot be joined. */
static void
a_chained_header_without_a_buffer_is_counted(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct rte_mbuf **held;
	size_t cut[1] = {20};
	unsigned int n = 0;
	uint8_t b[256];
	size_t len;

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	len = ut_pkt_bytes(&p, b, sizeof(b));
	held = calloc(s->stack->pool->size + 1, sizeof(held[0]));
	assert_non_null(held);
	while ((held[n] = rte_pktmbuf_alloc(s->stack->pool)) != NULL)
		n++;
	ut_stack_rx_mbuf(s, 0, ut_guard_mbuf_split(s->pool, b, len, cut, 1));
	weir_mbuf_free_bulk(held, n);
	free(held);
	ut_stack_only_drop(s, WEIR_DROP_MEM_LIMIT, 1, "no buffer for the headers");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_reason_has_a_row),
		UT_STACK_TEST(each_reason_counts_exactly_its_frame),
		UT_STACK_TEST(chained_frames_give_the_same_result_at_every_cut),
		UT_STACK_TEST(truncated_frames_are_dropped_for_the_right_reason),
		UT_STACK_TEST(frames_cut_with_a_matching_ip_length_are_dropped),
		UT_STACK_TEST(hardware_verdicts_are_taken_or_checked),
		UT_STACK_TEST(right_checksums_of_all_lengths_pass),
		UT_STACK_TEST(mixed_bursts_are_judged_frame_by_frame),
		UT_STACK_TEST(padding_and_surplus_are_cut),
		UT_STACK_TEST(messages_carry_what_the_frame_said),
		UT_STACK_TEST(the_weak_host_takes_an_address_of_another_port),
		UT_STACK_TEST(broadcasts_are_delivered_and_never_answered),
		UT_STACK_TEST(a_mixed_burst_keeps_the_order_of_each_socket),
		UT_STACK_TEST(a_chained_header_without_a_buffer_is_counted),
		UT_STACK_TEST(tagged_frames_are_those_of_their_vlan),
		UT_STACK_TEST(tags_come_off_chained_and_shared_frames),
		UT_STACK_TEST(a_tag_does_not_count_for_the_mtu),
		UT_STACK_TEST(bursts_are_sorted_by_vlan),
		UT_STACK_TEST(fragments_are_received_as_one_datagram),
		UT_STACK_TEST(senders_of_refused_frames_are_told_why),
		UT_STACK_TEST(link_local_addresses_are_those_of_their_port),
		UT_STACK_TEST(ipv6_groups_are_delivered_to_their_members),
		UT_STACK_TEST(a_burst_to_groups_and_others_keeps_its_order),
	};

	return UT_RUN(cases, NULL, NULL);
}
