/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transmit: every frame byte for byte against the packet builder, whatever the shape of the payload's
 * mbufs and the abilities of the device; every refusal with the caller's mbufs untouched; and the
 * promises of the batch: when a datagram leaves, and what becomes of those that cannot.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include <rte_ethdev.h>

#include "common/ut_clock.h"
#include "common/ut_guard.h"
#include "lcore.h"

#define MS WEIR_NS_PER_MS

static struct ut_frame f;

static const struct weir_addr *
peer(void)
{
	static struct weir_addr a;

	a = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	return &a;
}

/* What a datagram of ours looks like. */
static struct ut_pkt
oracle(size_t len)
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

/* ---- shapes of payload ---- */

enum shape {
	PLAIN,
	ROOM_41, /* one byte less than the headers need */
	ROOM_42,
	ROOM_0,
	CHAIN,  /* three segments, odd lengths */
	SHARED, /* a second reference to the same mbuf */
	CLONE,  /* indirect */
	CLONE_CHAIN,
	EXTERNAL, /* ends at a guard page */
	SHAPES
};

static const char *const shape_name[] = {
	"plain", "41 bytes headroom", "42 bytes headroom", "no headroom", "chain", "shared",
	"clone", "clone of a chain",  "external"};

static struct rte_mbuf *
chain(struct ut_stack *s, size_t len)
{
	static uint8_t b[2048];
	size_t cut[2] = {1, len > 8 ? 8 : 1};
	struct rte_mbuf *head = NULL;
	size_t at = 0;

	for (size_t i = 0; i < len; i++)
		b[i] = ut_pattern(i);
	for (int i = 0; i < 3; i++) {
		size_t end = i < 2 ? cut[i] : len;
		struct rte_mbuf *seg;

		if (end == at)
			continue;
		seg = ut_bytes_mbuf(b + at, end - at, s->pool);
		if (head == NULL)
			head = seg;
		else
			assert_int_equal(rte_pktmbuf_chain(head, seg), 0);
		at = end;
	}
	return head;
}

/* The mbuf to send; *keep: what the test still holds of it. */
static struct rte_mbuf *
shaped(struct ut_stack *s, enum shape shape, size_t len, struct rte_mbuf **keep)
{
	struct rte_mbuf *m = NULL;
	uint8_t *p;

	*keep = NULL;
	switch (shape) {
	case PLAIN:
		return ut_stack_payload(s, len);
	case ROOM_41:
	case ROOM_42:
	case ROOM_0:
		m = rte_pktmbuf_alloc(s->pool);
		assert_non_null(m);
		m->data_off = shape == ROOM_41 ? 41 : shape == ROOM_42 ? 42 : 0;
		p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
		for (size_t i = 0; i < len; i++)
			p[i] = ut_pattern(i);
		return m;
	case CHAIN:
		return chain(s, len);
	case SHARED:
		m = ut_stack_payload(s, len);
		rte_mbuf_refcnt_update(m, 1);
		*keep = m;
		return m;
	case CLONE:
		*keep = ut_stack_payload(s, len);
		return rte_pktmbuf_clone(*keep, s->pool);
	case CLONE_CHAIN:
		*keep = chain(s, len);
		return rte_pktmbuf_clone(*keep, s->pool);
	case EXTERNAL:
		m = ut_guard_mbuf(s->pool, NULL, len);
		p = rte_pktmbuf_mtod(m, uint8_t *);
		for (size_t i = 0; i < len; i++)
			p[i] = ut_pattern(i);
		return m;
	case SHAPES:
		break;
	}
	return NULL;
}

static void
frames_are_right_for_every_shape_length_and_device(void **state)
{
	static const size_t lens[] = {0, 1, 2, 17, 18, 19, 555, 1471, 1472};
	struct ut_stack *s = *state;

	for (unsigned int dev = 0; dev < 4; dev++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		const bool multi = dev & 1;
		const bool offload = dev & 2;
		struct weir_port_info info;

		cfg.dev.tx_offloads = multi ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
		if (offload)
			cfg.dev.tx_offloads |=
				RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
		ut_stack_up(s, &cfg);
		ut_stack_peer(s);
		ut_stack_socket(s, 9000);
		assert_int_equal(weir_port_info_get(s->stack, 0, &info), 0);
		assert_int_equal(info.tx_csum_offload, offload);
		for (enum shape sh = 0; sh < SHAPES; sh++) {
			for (size_t i = 0; i < UT_N(lens); i++) {
				struct ut_pkt p = oracle(lens[i]);
				struct rte_mbuf *keep;
				struct weir_txmsg msg = {0};
				char what[96];

				if (lens[i] == 0 && (sh == CHAIN || sh == CLONE_CHAIN))
					continue;
				snprintf(what, sizeof(what), "%s, %zu bytes, %s, %s",
					 shape_name[sh], lens[i],
					 multi ? "multi-seg" : "one segment",
					 offload ? "offload" : "software");
				msg.m = shaped(s, sh, lens[i], &keep);
				msg.to = peer();
				ut_check(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0) == 1,
					 "%s: not taken: %d", what, weir_send_error(s->w[0]));
				ut_stack_poll(s);
				must_equal(s, 0, &p, what);
				ut_check(multi || f.n_segs == 1, "%s: %u segments", what, f.n_segs);
				if (keep != NULL) { /* what others hold has not been written to */
					static uint8_t b[2048];

					assert_int_equal(ut_mbuf_bytes(keep, b, sizeof(b)),
							 lens[i]);
					for (size_t k = 0; k < lens[i]; k++)
						ut_check(b[k] == ut_pattern(k), "%s: byte %zu",
							 what, k);
					rte_pktmbuf_free(keep);
				}
			}
		}
		if (offload)
			assert_true(testport_inserted(s->ethdev[0]) >= SHAPES);
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "all shapes");
		ut_stack_down(s);
	}
}

static void
a_checksum_of_zero_is_sent_as_all_ones(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int offload = 0; offload < 2; offload++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct ut_pkt p = oracle(2);
		uint8_t b[64];
		uint8_t payload[2] = {0, 0};
		size_t len;

		if (offload)
			cfg.dev.tx_offloads |=
				RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
		ut_stack_up(s, &cfg);
		ut_stack_peer(s);
		ut_stack_socket(s, 9000);
		p.payload = payload;
		len = ut_pkt_bytes(&p, b, sizeof(b));
		assert_int_equal(len, 44);
		memcpy(payload, b + 40, 2); /* the checksum over zeros is what is missing */
		for (unsigned int i = 0; i < 2; i++) { /* with and without a known neighbour */
			assert_int_equal(weir_send(s->w[0], s->sk[0], payload, 2, peer()), 2);
			ut_stack_poll(s);
			ut_stack_must_take(s, 0, &f);
			assert_int_equal(ut_get16(f.b + 40), 0xffff);
		}
		ut_stack_down(s);
	}
}

static void
ttl_and_tos_of_the_socket_are_in_the_header(void **state)
{
	static const struct {
		uint8_t ttl, tos;
	} row[] = {{64, 0}, {1, 0}, {255, 0}, {64, 0xb8}, {1, 0xff}, {0, 0x10}};
	struct ut_stack *s = *state;

	for (unsigned int offload = 0; offload < 2; offload++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();

		if (offload)
			cfg.dev.tx_offloads |=
				RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
		ut_stack_up(s, &cfg);
		ut_stack_peer(s);
		for (size_t i = 0; i < UT_N(row); i++) {
			struct weir_socket_conf conf;
			struct ut_pkt p = oracle(5);
			struct weir_txmsg msg = {ut_stack_payload(s, 5), peer(), NULL};
			struct weir_socket *sk;

			weir_socket_conf_init(&conf);
			conf.ttl = row[i].ttl;
			conf.tos = row[i].tos;
			sk = ut_stack_socket_conf(s, 9000, &conf);
			p.ip_ttl = row[i].ttl != 0 ? row[i].ttl : 64;
			p.ip_tos = row[i].tos;
			assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 1);
			ut_stack_poll(s);
			must_equal(s, 0, &p, "TTL and TOS");
			ut_stack_close(s, sk);
		}
		ut_stack_down(s);
	}
}

static void
a_datagram_leaves_by_the_port_of_its_route(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(UT_IP(10, 0, 1, 2), UT_PEER_PORT);
	struct ut_pkt p = oracle(1);
	uint8_t byte = ut_pattern(0);

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_neigh_add(s->stack, 1, &to, (const uint8_t *)UT_PEER_MAC, NULL), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], &byte, 1, &to), 1);
	ut_stack_poll(s);
	p.eth_src[4] = 1;
	p.ip_src = UT_IP(10, 0, 1, 1);
	p.ip_dst = UT_IP(10, 0, 1, 2);
	must_equal(s, 1, &p, "by port 1");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

static void
groups_go_to_group_macs(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr net = weir_addr_v4(0, 0);
	struct weir_socket_conf conf;
	static const struct {
		uint32_t ip;
		const char *mac;
	} row[] = {
		{UT_IP(10, 0, 0, 255), UT_BROADCAST_MAC},
		{UT_IP(255, 255, 255, 255), UT_BROADCAST_MAC},
		{UT_IP(239, 129, 2, 3), "\x01\x00\x5e\x01\x02\x03"},
	};

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_route_add(s->stack, &net, 0, NULL, 0, NULL), 0);
	weir_socket_conf_init(&conf);
	conf.broadcast = true;
	ut_stack_socket_conf(s, 9000, &conf);
	for (size_t i = 0; i < UT_N(row); i++) {
		struct weir_addr to = weir_addr_v4(row[i].ip, UT_PEER_PORT);
		struct weir_txmsg msg = {ut_stack_payload(s, 3), &to, NULL};
		struct ut_pkt p = oracle(3);

		assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
		ut_stack_poll(s);
		memcpy(p.eth_dst, row[i].mac, 6);
		p.ip_dst = row[i].ip;
		if (row[i].ip >> 28 == 14) /* RFC 1112 6.1: 1 unless asked for more */
			p.ip_ttl = 1;
		must_equal(s, 0, &p, "group");
	}
}

/* Bound to a broadcast address: a filter for what is received, never a source (as Linux). */
static void
a_broadcast_address_is_never_a_source(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr local = weir_addr_v4(UT_IP(10, 0, 0, 255), 9000);
	struct ut_pkt p = oracle(1);
	uint8_t byte = ut_pattern(0);
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	sk = ut_stack_socket(s, 0);
	assert_int_equal(weir_socket_bind(sk, &local), 0);
	assert_int_equal(weir_send(s->w[0], sk, &byte, 1, peer()), 1);
	ut_stack_poll(s);
	must_equal(s, 0, &p, "from a socket bound to the broadcast address");

	assert_int_equal(weir_socket_connect(sk, peer()), 0);
	assert_int_equal(weir_send(s->w[0], sk, &byte, 1, NULL), 1);
	ut_stack_poll(s);
	must_equal(s, 0, &p, "connected");
}

/* ---- refusals ---- */

/* Refused, for this reason, and the mbuf is as it was. */
static void
must_refuse(struct ut_stack *s, struct weir_socket *sk, size_t len, const struct weir_addr *to,
	    int err, const char *what)
{
	struct rte_mbuf *m = len > 2048 ? chain(s, len) : ut_stack_payload(s, len);
	struct weir_txmsg msg = {m, to, NULL};
	uint16_t off = m->data_off;
	uint64_t flags = m->ol_flags;
	static uint8_t b[UT_FRAME_MAX];

	ut_stack_mark(s);
	ut_check(weir_send_burst(s->w[0], sk, &msg, 1, 0) == 0, "%s: taken", what);
	ut_check(weir_send_error(s->w[0]) == err, "%s: error %d, not %d", what,
		 weir_send_error(s->w[0]), err);
	ut_check(m->data_off == off && m->ol_flags == flags && m->pkt_len == len && m->nb_segs == 1,
		 "%s: the mbuf was changed", what);
	ut_mbuf_bytes(m, b, sizeof(b));
	for (size_t i = 0; i < len; i++)
		ut_check(b[i] == ut_pattern(i), "%s: byte %zu was changed", what, i);
	rte_pktmbuf_free(m);
	ut_stack_poll(s);
	ut_check(ut_stack_pending(s, 0) == 0, "%s: something was sent", what);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, what);
	assert_int_equal(ut_stack_since(s, tx_datagrams), 0);
}

static void
wrong_destinations_are_refused(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	must_refuse(s, s->sk[0], 5, NULL, -EDESTADDRREQ, "no destination");
	to = weir_addr_v4(UT_PEER_IP, 0);
	must_refuse(s, s->sk[0], 5, &to, -EINVAL, "port 0");
	to = weir_addr_v4(UT_IP(8, 8, 8, 8), 53);
	must_refuse(s, s->sk[0], 5, &to, -ENETUNREACH, "no route");
	to = weir_addr_v4(UT_IP(10, 0, 0, 255), 53);
	must_refuse(s, s->sk[0], 5, &to, -EACCES, "subnet broadcast");
	to = weir_addr_v4(0xffffffff, 53);
	must_refuse(s, s->sk[0], 5, &to, -ENETUNREACH, "limited broadcast");
	to = *peer();
	to.family = WEIR_IPV6;
	must_refuse(s, s->sk[0], 5, &to, -EAFNOSUPPORT, "IPv6");
}

static void
the_mtu_is_the_limit(void **state)
{
	static const unsigned int mtu[] = {0, 576, 1400};
	struct ut_stack *s = *state;

	for (size_t i = 0; i < UT_N(mtu); i++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		const size_t limit = (mtu[i] != 0 ? mtu[i] : 1500) - 28;

		cfg.port.mtu = mtu[i];
		ut_stack_up(s, &cfg);
		ut_stack_peer(s);
		ut_stack_socket(s, 9000);
		for (size_t len = limit - 1; len <= limit; len++) {
			struct weir_txmsg msg = {ut_stack_payload(s, len), peer(), NULL};
			struct ut_pkt p = oracle(len);

			assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
			ut_stack_poll(s);
			must_equal(s, 0, &p, "up to the MTU");
		}
		/* Else cut into fragments: test_fragment.c. */
		assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DO),
				 0);
		must_refuse(s, s->sk[0], limit + 1, peer(), -EMSGSIZE, "one byte beyond the MTU");
		ut_stack_down(s);
	}
}

static void
sizes_beyond_any_packet_are_refused(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	char *big = calloc(1, 70000);

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	assert_non_null(big);
	assert_int_equal(weir_send(s->w[0], s->sk[0], big, 65508, peer()), -EMSGSIZE);
	assert_int_equal(weir_send(s->w[0], s->sk[0], big, 65536, peer()), -EMSGSIZE);
	free(big);
}

/* The pool is at its reserve: senders stop there. */
static void
senders_leave_the_reserve_alone(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct rte_mbuf **held;
	unsigned int n = 0;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	held = calloc(s->stack->pool->size + 1, sizeof(held[0]));
	assert_non_null(held);
	while (weir_mbuf_alloc_bulk(s->w[0], &held[n], 1) == 0)
		n++;
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), -ENOBUFS);
	assert_true(rte_mempool_avail_count(s->stack->pool) >= s->stack->reserve - 1);
	weir_mbuf_free_bulk(held, n);
	free(held);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
}

static void
a_full_queue_hands_back_or_drops_as_asked(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_txmsg msg[100];
	uint16_t n;

	cfg.port.tx_desc = 256;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	testport_set_tx_accept(s->ethdev[0], 0);
	for (unsigned int i = 0; i < 100; i++)
		msg[i] = (struct weir_txmsg){ut_stack_payload(s, i), peer(), NULL};
	n = weir_send_burst(s->w[0], s->sk[0], msg, 100, 0);
	assert_int_equal(n, 64); /* a batch */
	assert_int_equal(weir_send_error(s->w[0]), -EAGAIN);
	for (unsigned int i = n; i < 100; i++) {
		assert_int_equal(msg[i].m->pkt_len, i);
		assert_int_equal(msg[i].m->data_off, RTE_PKTMBUF_HEADROOM);
		for (unsigned int k = 0; k < i; k++)
			assert_int_equal(rte_pktmbuf_mtod(msg[i].m, uint8_t *)[k], ut_pattern(k));
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "handed back");
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], msg + n, (uint16_t)(90 - n),
					 WEIR_SEND_DROP),
			 90 - n);
	ut_stack_only_drop(s, WEIR_DROP_TXQ_REFUSED, 90u - n, "dropped");
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], msg + 90, 10, 0), 10);
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 100; i++) {
		struct ut_pkt p = oracle(i);

		if (i < n || i >= 90)
			must_equal(s, 0, &p, "in order");
	}
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

/* Other refusals than a full queue are the caller's also with WEIR_SEND_DROP. */
static void
send_drop_drops_for_a_full_queue_only(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr bad = weir_addr_v4(UT_PEER_IP, 0);
	struct weir_txmsg msg[3];

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	for (unsigned int i = 0; i < 3; i++)
		msg[i] = (struct weir_txmsg){ut_stack_payload(s, 4), i == 1 ? &bad : peer(), NULL};
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], msg, 3, WEIR_SEND_DROP), 1);
	assert_int_equal(weir_send_error(s->w[0]), -EINVAL);
	rte_pktmbuf_free(msg[1].m);
	rte_pktmbuf_free(msg[2].m);
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 1);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "a wrong port");
}

/* ---- the batch ---- */

static void
a_lone_datagram_leaves_with_the_next_turn_or_flush(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_lcore *lc;
	struct weir_stats st;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	weir_stats_get(s->stack, &st);
	assert_int_equal(st.tx_batched, 1);
	weir_turn(s->w[0]);
	assert_int_equal(ut_stack_pending(s, 0), 1);

	assert_int_equal(weir_send(s->w[0], s->sk[0], "y", 1, peer()), 1);
	weir_flush(s->w[0]);
	assert_int_equal(ut_stack_pending(s, 0), 2);

	/* An attached thread: with the turn of the worker that owns the queue. */
	assert_int_equal(weir_thread_attach(s->stack, &lc), 0);
	assert_int_equal(weir_send(lc, s->sk[0], "z", 1, peer()), 1);
	assert_int_equal(ut_stack_pending(s, 0), 2);
	weir_stats_get(s->stack, &st);
	assert_int_equal(st.tx_batched, 1);
	weir_turn(s->w[0]);
	assert_int_equal(ut_stack_pending(s, 0), 3);
	assert_int_equal(weir_lcore_detach(lc), 0);
}

static void
a_driver_that_takes_few_gets_the_rest_again(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	for (uint16_t k = 1; k < 12; k++) {
		testport_set_tx_accept(s->ethdev[0], k);
		for (size_t i = 0; i < 10; i++) {
			struct weir_txmsg msg = {ut_stack_payload(s, i), peer(), NULL};

			assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
		}
		ut_stack_poll(s);
		for (size_t i = 0; i < 10; i++) {
			struct ut_pkt p = oracle(i);

			must_equal(s, 0, &p, "a few at a time");
		}
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "a few at a time");
	assert_int_equal(ut_stack_since(s, tx_frames), 0); /* marked behind it */
}

static void
a_stuck_queue_is_given_up_after_the_stall_time(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.stack.tx_stall_ms = 100;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	testport_set_tx_accept(s->ethdev[0], 0);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[0]);
	ut_clock_advance(100 * MS);
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "within the stall time");
	ut_clock_advance(1 * MS);
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_TXQ_FULL, 5, "beyond the stall time");

	/* Any progress starts the time again. */
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[0]);
	ut_clock_advance(90 * MS);
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
	weir_turn(s->w[0]);
	assert_int_equal(ut_stack_pending(s, 0), 5);
	testport_set_tx_accept(s->ethdev[0], 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[0]);
	ut_clock_advance(90 * MS);
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "a new stall");
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
}

static void
a_stall_does_not_outlive_a_restart(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int n = 0;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	testport_set_tx_accept(s->ethdev[0], 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[0]);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	ut_stack_only_drop(s, WEIR_DROP_TX_STOPPED, 3, "batched at stop");
	ut_clock_advance(60 * WEIR_NS_PER_S);
	assert_int_equal(weir_stack_start(s->stack, NULL), 0);
	ut_stack_attach(s);
	testport_set_tx_accept(s->ethdev[0], 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "first refusal after the restart");
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
	weir_turn(s->w[0]);
	while (ut_stack_take(s, 0, &f)) /* and what ARP announces */
		n += ut_get16(f.b + 12) == 0x0800;
	assert_int_equal(n, 1);
}

/* A driver that refuses frames of one size in tx_prepare. */
static uint16_t
refuse_45(void *queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t i;

	(void)queue;
	for (i = 0; i < n && m[i]->pkt_len != 45; i++)
		;
	return i;
}

static void
what_tx_prepare_refuses_does_not_stop_the_rest(void **state)
{
	static const size_t lens[] = {3, 1, 2, 3, 3, 4, 3};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.dev.tx_offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	rte_eth_fp_ops[s->ethdev[0]].tx_pkt_prepare = refuse_45;
	for (size_t i = 0; i < UT_N(lens); i++) {
		struct weir_txmsg msg = {ut_stack_payload(s, lens[i]), peer(), NULL};

		assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
	}
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_TX_PREPARE, 4, "frames of 45 bytes");
	for (size_t i = 0; i < UT_N(lens); i++) {
		struct ut_pkt p = oracle(lens[i]);

		if (lens[i] != 3)
			must_equal(s, 0, &p, "the others");
	}
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

static void
a_worker_without_a_queue_sends_through_another(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int n = 0;

	cfg.stack.workers = 2;
	cfg.stack.mesh_ring = 64;
	cfg.stack.tx_stall_ms = 100;
	cfg.port.rx_queues = 1;
	cfg.port.tx_queues = 1;
	cfg.port.tx_desc = 256;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[1], s->sk[0], "x", 1, peer()), 1);
	weir_turn(s->w[1]);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	ut_stack_identity(s, "in the mesh");
	weir_turn(s->w[0]);
	ut_stack_must_take(s, 0, &f);

	/* Worker 0 takes no turns: the ring fills, then the caller is told. Nothing is accepted that cannot leave. */
	while (weir_send(s->w[1], s->sk[0], "x", 1, peer()) == 1) {
		n++;
		weir_turn(s->w[1]);
	}
	assert_int_equal(weir_send_error(s->w[1]), -EAGAIN);
	assert_int_equal(n, 63);
	ut_stack_identity(s, "ring full");
	ut_clock_advance(101 * MS);
	weir_turn(s->w[1]);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "the other worker is dead");
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 63);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "those in the ring leave");
}

static void
several_lcores_send_through_one_socket(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket_stats st;
	unsigned int by_queue[2] = {0, 0};

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	for (unsigned int i = 0; i < 9; i++)
		assert_int_equal(weir_send(s->w[i % 3 == 0], s->sk[0], "x", 1, peer()), 1);
	ut_stack_poll(s);
	while (ut_stack_take(s, 0, &f))
		by_queue[f.queue]++;
	assert_int_equal(by_queue[0], 6);
	assert_int_equal(by_queue[1], 3);
	weir_socket_stats_get(s->sk[0], &st);
	assert_int_equal(st.sent, 9);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(frames_are_right_for_every_shape_length_and_device),
		UT_STACK_TEST(a_checksum_of_zero_is_sent_as_all_ones),
		UT_STACK_TEST(ttl_and_tos_of_the_socket_are_in_the_header),
		UT_STACK_TEST(a_datagram_leaves_by_the_port_of_its_route),
		UT_STACK_TEST(groups_go_to_group_macs),
		UT_STACK_TEST(a_broadcast_address_is_never_a_source),
		UT_STACK_TEST(wrong_destinations_are_refused),
		UT_STACK_TEST(the_mtu_is_the_limit),
		UT_STACK_TEST(sizes_beyond_any_packet_are_refused),
		UT_STACK_TEST(senders_leave_the_reserve_alone),
		UT_STACK_TEST(a_full_queue_hands_back_or_drops_as_asked),
		UT_STACK_TEST(send_drop_drops_for_a_full_queue_only),
		UT_STACK_TEST(a_lone_datagram_leaves_with_the_next_turn_or_flush),
		UT_STACK_TEST(a_driver_that_takes_few_gets_the_rest_again),
		UT_STACK_TEST(a_stuck_queue_is_given_up_after_the_stall_time),
		UT_STACK_TEST(a_stall_does_not_outlive_a_restart),
		UT_STACK_TEST(what_tx_prepare_refuses_does_not_stop_the_rest),
		UT_STACK_TEST(a_worker_without_a_queue_sends_through_another),
		UT_STACK_TEST(several_lcores_send_through_one_socket),
	};

	return UT_RUN(cases, NULL, NULL);
}
