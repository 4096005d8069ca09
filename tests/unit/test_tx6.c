/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit over IPv6, byte for byte against the packet builder; options and scopes; bursts whose datagrams differ in
 * every way that ends a run, both families; and the tags of VLAN ports.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "lcore.h"
#include "local.h"

static struct ut_frame f;

static struct weir_addr
peer6(void)
{
	return ut_addr6(UT_PEER_IP6, UT_PEER_PORT);
}

static struct ut_pkt
oracle6(size_t len)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.eth_dst, UT_PEER_MAC, 6);
	memcpy(p.eth_src, UT_OUR_MAC, 6);
	memcpy(p.ip6_src, UT_OUR_IP6, 16);
	memcpy(p.ip6_dst, UT_PEER_IP6, 16);
	p.udp_sport = 9000;
	p.udp_dport = UT_PEER_PORT;
	p.payload_len = len;
	return p;
}

static struct ut_pkt
oracle4(size_t len)
{
	struct ut_pkt p = ut_pkt_udp();

	memcpy(p.eth_dst, UT_PEER_MAC, 6);
	memcpy(p.eth_src, UT_OUR_MAC, 6);
	p.ip_id = 0;
	p.ip_frag = 0x4000;
	p.ip_src = UT_OUR_IP;
	p.ip_dst = UT_PEER_IP;
	p.udp_sport = 9000;
	p.udp_dport = UT_PEER_PORT;
	p.payload_len = len;
	return p;
}

static void
must_equal(struct ut_stack *s, unsigned int port, const struct ut_pkt *p, const char *what)
{
	static uint8_t want[UT_FRAME_MAX];
	size_t len = ut_pkt_bytes(p, want, sizeof(want));

	ut_stack_must_take(s, port, &f);
	ut_check(f.len == len, "%s: frame of %u bytes, not %zu", what, f.len, len);
	ut_check_bytes(f.b, want, len, "%s: frame of %zu bytes", what, len);
}

static void
up(struct ut_stack *s, uint64_t offloads)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = true;
	cfg.dev.tx_offloads = offloads;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_peer6(s);
	ut_stack_socket6(s, 9000);
}

#define CSUM (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)

/* ---- shapes of payload ---- */

enum shape { PLAIN, ROOM_61, ROOM_62, CHAIN, CLONE, SHAPES };

static struct rte_mbuf *
shaped(struct ut_stack *s, enum shape shape, size_t len)
{
	struct rte_mbuf *m, *other;
	uint8_t *p;

	switch (shape) {
	case ROOM_61:
	case ROOM_62:
		m = rte_pktmbuf_alloc(s->pool);
		assert_non_null(m);
		m->data_off = shape == ROOM_61 ? 61 : 62;
		p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
		for (size_t i = 0; i < len; i++)
			p[i] = ut_pattern(i);
		return m;
	case CHAIN:
		if (len < 2)
			return ut_stack_payload(s, len);
		m = ut_stack_payload(s, len);
		other = ut_bytes_mbuf(rte_pktmbuf_mtod_offset(m, void *, 1), len - 1, s->pool);
		rte_pktmbuf_trim(m, (uint16_t)(len - 1));
		assert_int_equal(rte_pktmbuf_chain(m, other), 0);
		return m;
	case CLONE:
		other = ut_stack_payload(s, len);
		m = rte_pktmbuf_clone(other, s->pool);
		rte_pktmbuf_free(other);
		return m;
	case PLAIN:
	case SHAPES:
		break;
	}
	return ut_stack_payload(s, len);
}

static void
frames_are_right_for_every_shape_length_and_device(void **state)
{
	static const size_t lens[] = {0, 1, 7, 8, 9, 18, 128, 129, 777, 1451, 1452};
	struct ut_stack *s = *state;

	for (unsigned int dev = 0; dev < 4; dev++) {
		up(s, ((dev & 1) != 0 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0) |
			      ((dev & 2) != 0 ? CSUM : 0));
		for (enum shape sh = 0; sh < SHAPES; sh++) {
			for (size_t i = 0; i < UT_N(lens); i++) {
				struct weir_addr to = peer6();
				struct ut_pkt p = oracle6(lens[i]);
				struct weir_txmsg msg = {shaped(s, sh, lens[i]), &to, NULL};
				char what[64];

				snprintf(what, sizeof(what), "device %u, shape %d, %zu bytes", dev,
					 sh, lens[i]);
				ut_check(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0) == 1,
					 "%s: not taken: %d", what, weir_send_error(s->w[0]));
				ut_stack_poll(s);
				must_equal(s, 0, &p, what);
				ut_check((dev & 1) != 0 || f.n_segs == 1, "%s: %u segments", what,
					 f.n_segs);
			}
		}
		for (size_t i = 0; i < UT_N(lens); i++) { /* by the short way */
			static uint8_t b[2048];
			struct weir_addr to = peer6();
			struct ut_pkt p = oracle6(lens[i]);

			for (size_t k = 0; k < lens[i]; k++)
				b[k] = ut_pattern(k);
			assert_int_equal(weir_send(s->w[0], s->sk[0], b, lens[i], &to), lens[i]);
			ut_stack_poll(s);
			must_equal(s, 0, &p, "weir_send");
		}
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "all shapes");
		ut_stack_down(s);
	}
}

/* RFC 8200 8.1: over IPv6 a checksum of 0 is no checksum, and not allowed. */
static void
a_checksum_of_zero_is_sent_as_all_ones(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int offload = 0; offload < 2; offload++) {
		struct weir_addr to = peer6();
		struct ut_pkt p = oracle6(2);
		uint8_t b[128];
		uint8_t payload[2] = {0, 0};

		up(s, offload ? CSUM : 0);
		p.payload = payload;
		ut_pkt_bytes(&p, b, sizeof(b));
		memcpy(payload, b + 60, 2);
		for (unsigned int i = 0; i < 2; i++) { /* with and without a known neighbour */
			assert_int_equal(weir_send(s->w[0], s->sk[0], payload, 2, &to), 2);
			ut_stack_poll(s);
			ut_stack_must_take(s, 0, &f);
			assert_int_equal(ut_get16(f.b + 60), 0xffff);
		}
		ut_stack_down(s);
	}
}

/* ---- options ---- */

static void
hop_limit_class_and_label(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer6();
	struct weir_txctl ctl = {
		.has_ttl = true, .ttl = 3, .has_tos = true, .tos = 0x2e, .flow = 0xabcde};
	struct weir_txmsg msg = {NULL, &to, &ctl};
	struct ut_pkt p = oracle6(1);
	uint8_t byte = ut_pattern(0);

	up(s, CSUM);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_HOPS, 7), 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_TCLASS, 0xb8), 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_FLOW_LABEL, 0x12345), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	p.ip_ttl = 7;
	p.ip_tos = 0xb8;
	p.ip6_label = 0x12345;
	must_equal(s, 0, &p, "of the socket");
	msg.m = ut_stack_payload(s, 1);
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
	ut_stack_poll(s);
	p.ip_ttl = 3;
	p.ip_tos = 0x2e;
	p.ip6_label = 0xabcde;
	must_equal(s, 0, &p, "of the message");
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_HOPS, -1), 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_TCLASS, 0), 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_FLOW_LABEL, 0), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	p.ip_ttl = 64;
	p.ip_tos = 0;
	p.ip6_label = 0;
	must_equal(s, 0, &p, "as at first");
}

static void
no_checksum_when_asked_for(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer6();
	struct ut_pkt p = oracle6(1);
	uint8_t byte = ut_pattern(0);

	up(s, CSUM);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_NO_CHECK6, 1), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	p.udp_csum = 0;
	must_equal(s, 0, &p, "no checksum");
}

/* ---- addresses ---- */

static void
groups_go_to_group_macs(void **state)
{
	static const uint8_t wide[16] = {0xff, 0x0e, [13] = 1, 2, 3};
	static const uint8_t link[16] = {0xff, 0x02, [15] = 0x77};
	struct ut_stack *s = *state;
	struct weir_addr to = ut_addr6(wide, UT_PEER_PORT);
	struct ut_pkt p = oracle6(1);
	uint8_t byte = ut_pattern(0);

	up(s, 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MCAST_PORT6, 0), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	memcpy(p.eth_dst, "\x33\x33\x00\x01\x02\x03", 6);
	memcpy(p.ip6_dst, wide, 16);
	p.ip_ttl = 1;
	must_equal(s, 0, &p, "a group");
	/* A group of the link names the port by its scope. */
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MCAST_PORT6, -1), 0);
	to = ut_addr6(link, UT_PEER_PORT);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), -ENETUNREACH);
	to.scope = 1;
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	memcpy(p.eth_dst, "\x33\x33\x00\x00\x00\x77", 6);
	memcpy(p.ip6_dst, link, 16);
	must_equal(s, 0, &p, "a group of the link");
	to.scope = 99;
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), -ENODEV);
}

static void
families_that_do_not_go_together(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to6 = peer6();
	struct weir_addr to4 = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct ut_pkt p = oracle4(1);
	uint8_t byte = ut_pattern(0);
	struct weir_socket_conf conf;
	struct weir_socket *only, *four;

	up(s, 0);
	four = ut_stack_socket(s, 9001);
	weir_socket_conf_init(&conf);
	conf.family = WEIR_IPV6;
	conf.v6only = true;
	only = ut_stack_socket_conf(s, 0, &conf);
	assert_int_equal(weir_send(s->w[0], four, &byte, 1, &to6), -EAFNOSUPPORT);
	assert_int_equal(weir_send(s->w[0], only, &byte, 1, &to4), -ENETUNREACH);
	/* A socket for both. */
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to4), 1);
	ut_stack_poll(s);
	must_equal(s, 0, &p, "IPv4 by an IPv6 socket");
	to6.family = 5;
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to6), -EAFNOSUPPORT);
}

/* ---- bursts ---- */

/* Datagrams of one burst that differ in what ends a run: shape, length, destination, message. */
static void
mixed_bursts_leave_in_order(void **state)
{
	struct ut_stack *s = *state;
	uint64_t x = 88172645463325252u;

	for (unsigned int round = 0; round < 40; round++) {
		struct weir_addr to[2] = {peer6(), weir_addr_v4(UT_PEER_IP, UT_PEER_PORT)};
		struct weir_txctl ctl = {.has_ttl = true, .ttl = 9};
		struct weir_txmsg msg[60];
		size_t len[60];
		bool v6 = false;

		if (round % 10 == 0) {
			if (round > 0)
				ut_stack_down(s);
			up(s, (round / 10 & 1 ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0) |
				      (round / 10 & 2 ? CSUM : 0));
		}
		for (unsigned int i = 0; i < 60; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			if (x % 5 == 0)
				v6 = !v6;
			len[i] = x >> 20 & 0x3f;
			msg[i] = (struct weir_txmsg){
				shaped(s, x >> 32 & 1 ? PLAIN : (enum shape)(x >> 40) % SHAPES,
				       len[i]),
				&to[!v6], (x >> 50) % 6 == 0 ? &ctl : NULL};
		}
		assert_int_equal(weir_send_burst(s->w[0], s->sk[0], msg, 60, 0), 60);
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 60; i++) {
			struct ut_pkt p = msg[i].to == &to[0] ? oracle6(len[i]) : oracle4(len[i]);

			if (msg[i].ctl != NULL)
				p.ip_ttl = 9;
			must_equal(s, 0, &p, "mixed");
		}
		assert_int_equal(ut_stack_pending(s, 0), 0);
	}
}

/* ---- VLAN ports ---- */

static void
vlan_up(struct ut_stack *s, uint64_t offloads)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_port_conf port = cfg.port;
	struct weir_addr addr = weir_addr_v4(UT_IP(10, 0, 9, 1), 0);
	struct weir_addr peer = weir_addr_v4(UT_IP(10, 0, 9, 2), 0);
	struct weir_error err = {0};

	cfg.dev.tx_offloads = offloads;
	cfg.no_start = true;
	cfg.no_attach = true;
	ut_stack_up(s, &cfg);
	port.device = s->device[0];
	port.vlan = 5;
	port.rx_desc = 0;
	port.tx_desc = 0;
	ut_check(weir_port_add(s->stack, &port, &err) == 1, "VLAN port: %s", err.text);
	ut_check(weir_addr_add(s->stack, 1, &addr, 24, &err) == 0, "address: %s", err.text);
	ut_check(weir_stack_start(s->stack, &err) == 0, "start: %s", err.text);
	ut_stack_attach(s);
	assert_int_equal(weir_neigh_add(s->stack, 1, &peer, (const uint8_t *)UT_PEER_MAC, &err), 0);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	ut_stack_poll(s);
	while (ut_stack_take(s, 0, &f)) /* announcements */
		;
	ut_stack_mark(s);
}

static struct ut_pkt
oracle_vlan(size_t len)
{
	struct ut_pkt p = oracle4(len);

	p.vlan_tci = 5;
	p.ip_src = UT_IP(10, 0, 9, 1);
	p.ip_dst = UT_IP(10, 0, 9, 2);
	return p;
}

static void
vlan_frames_have_one_tag(void **state)
{
	static const uint64_t dev[] = {0, RTE_ETH_TX_OFFLOAD_MULTI_SEGS, CSUM,
				       RTE_ETH_TX_OFFLOAD_VLAN_INSERT |
					       RTE_ETH_TX_OFFLOAD_MULTI_SEGS | CSUM};
	struct ut_stack *s = *state;

	for (size_t d = 0; d < UT_N(dev); d++) {
		struct weir_addr tagged = weir_addr_v4(UT_IP(10, 0, 9, 2), UT_PEER_PORT);
		struct weir_addr plain = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);

		vlan_up(s, dev[d]);
		/* A queue that takes few: what is offered again has its tag already. */
		for (uint16_t k = 1; k < 8; k += 3) {
			testport_set_tx_accept(s->ethdev[0], k);
			for (size_t i = 0; i < 10; i++) {
				struct rte_mbuf *m = shaped(s, (enum shape)(i % SHAPES), 40 + i);
				struct weir_txmsg msg = {m, i & 1 ? &plain : &tagged, NULL};

				assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
			}
			ut_stack_poll(s);
			for (unsigned int n = 0; n < 10; n++) {
				struct ut_pkt p;
				static uint8_t want[UT_FRAME_MAX];
				size_t len;

				/* Two batches: the order between them is not promised. */
				ut_stack_must_take(s, 0, &f);
				if (ut_get16(f.b + 12) == 0x8100)
					p = oracle_vlan(f.len - 46u);
				else
					p = oracle4(f.len - 42u);
				len = ut_pkt_bytes(&p, want, sizeof(want));
				assert_int_equal(len, f.len);
				ut_check_bytes(f.b, want, len, "device %zu", d);
			}
			testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
		}
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "tags");
		assert_int_equal(ut_stack_pending(s, 0), 0);
		ut_stack_down(s);
	}
}

static void
vlan_fragments_are_tagged(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_IP(10, 0, 9, 2), UT_PEER_PORT);
	static uint8_t b[5000];

	vlan_up(s, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, sizeof(b), &to), sizeof(b));
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 4; i++) {
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(ut_get16(f.b + 12), 0x8100);
		assert_int_equal(ut_get16(f.b + 14), 5);
		assert_int_equal(ut_get16(f.b + 16), 0x0800);
		assert_int_equal(f.len, i < 3 ? 1518 : 18 + 20 + 5008 - 3 * 1480);
	}
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

int
main(void)
{
	static const struct CMUnitTest cases[] = {
		UT_STACK_TEST(frames_are_right_for_every_shape_length_and_device),
		UT_STACK_TEST(a_checksum_of_zero_is_sent_as_all_ones),
		UT_STACK_TEST(hop_limit_class_and_label),
		UT_STACK_TEST(no_checksum_when_asked_for),
		UT_STACK_TEST(groups_go_to_group_macs),
		UT_STACK_TEST(families_that_do_not_go_together),
		UT_STACK_TEST(mixed_bursts_leave_in_order),
		UT_STACK_TEST(vlan_frames_have_one_tag),
		UT_STACK_TEST(vlan_fragments_are_tagged),
	};

	return UT_RUN(cases, NULL, NULL);
}
