/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams longer than their path takes: cut, byte for byte as RFC 791 and RFC 8200 4.5 say, or refused as the socket
 * wants; all of them or none. The oracle puts the pieces together by hand, with no code of the stack, and checks
 * the whole.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "fragment.h"
#include "lcore.h"

static struct ut_frame f;

static struct weir_addr
peer_of(bool v6)
{
	return v6 ? ut_addr6(UT_PEER_IP6, UT_PEER_PORT) : weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
}

/* What the pieces of one datagram come to. */
struct whole {
	unsigned int n;
	size_t len; /* UDP header included */
	uint32_t id;
	uint8_t b[65536];
};
static struct whole w;

/* Take one datagram off the port, in pieces that must be right. mtu: of the path. */
static void
take_whole(struct ut_stack *s, bool v6, size_t mtu, bool one_segment)
{
	const size_t hdr = v6 ? 48 : 20;
	bool more = true;

	w.n = 0;
	w.len = 0;
	while (more) {
		const uint8_t *ip = f.b + 14;
		size_t off, len;
		uint32_t id;

		ut_stack_must_take(s, 0, &f);
		ut_check(f.len <= 14 + mtu, "piece %u: %u bytes", w.n, f.len);
		ut_check(!one_segment || f.n_segs == 1, "piece %u: %u segments", w.n, f.n_segs);
		assert_memory_equal(f.b, UT_PEER_MAC, 6);
		assert_memory_equal(f.b + 6, UT_OUR_MAC, 6);
		if (v6) {
			assert_int_equal(ut_get16(f.b + 12), 0x86dd);
			assert_int_equal(ut_get32(ip) >> 28, 6);
			assert_int_equal(ut_get16(ip + 4), f.len - 54);
			assert_int_equal(ip[6], 44);
			assert_memory_equal(ip + 8, UT_OUR_IP6, 16);
			assert_memory_equal(ip + 24, UT_PEER_IP6, 16);
			assert_int_equal(ip[40], 17);
			assert_int_equal(ip[41], 0);
			off = ut_get16(ip + 42) & 0xfff8u;
			assert_int_equal(ut_get16(ip + 42) & 6, 0);
			more = ut_get16(ip + 42) & 1;
			id = ut_get32(ip + 44);
		} else {
			assert_int_equal(ut_get16(f.b + 12), 0x0800);
			assert_int_equal(ip[0], 0x45);
			assert_int_equal(ut_get16(ip + 2), f.len - 14);
			assert_int_equal(ut_csum(ip, 20, 0), 0);
			assert_int_equal(ip[9], 17);
			assert_int_equal(ut_get32(ip + 12), UT_OUR_IP);
			assert_int_equal(ut_get32(ip + 16), UT_PEER_IP);
			assert_int_equal(ut_get16(ip + 6) & 0xc000, 0); /* no DF */
			off = (ut_get16(ip + 6) & 0x1fffu) * 8;
			more = ut_get16(ip + 6) & 0x2000;
			id = ut_get16(ip + 4);
		}
		len = f.len - 14 - hdr;
		ut_check(off == w.len, "piece %u: at %zu, not at %zu", w.n, off, w.len);
		ut_check(!more || (len % 8 == 0 && len + 8 + hdr > mtu),
			 "piece %u: %zu bytes, more to come", w.n, len);
		ut_check(w.n == 0 || id == w.id, "piece %u: another identification", w.n);
		assert_true(off + len <= sizeof(w.b));
		memcpy(w.b + off, f.b + 14 + hdr, len);
		w.len += len;
		w.id = id;
		w.n++;
	}
}

/* The UDP datagram in w: its header, its checksum, the pattern. */
static void
must_be_datagram(bool v6, size_t len)
{
	uint32_t sum = v6 ? ut_pseudo_sum6((const uint8_t *)UT_OUR_IP6,
					   (const uint8_t *)UT_PEER_IP6, 17, (uint32_t)w.len)
			  : ut_pseudo_sum(UT_OUR_IP, UT_PEER_IP, 17, (uint16_t)w.len);

	ut_check(w.len == len + 8, "%zu bytes, not %zu", w.len, len + 8);
	assert_int_equal(ut_get16(w.b), 9000);
	assert_int_equal(ut_get16(w.b + 2), UT_PEER_PORT);
	assert_int_equal(ut_get16(w.b + 4), len + 8);
	assert_int_not_equal(ut_get16(w.b + 6), 0);
	assert_int_equal(ut_csum(w.b, w.len, sum), 0);
	for (size_t i = 0; i < len; i++)
		ut_check(w.b[8 + i] == ut_pattern(i), "byte %zu of %zu", i, len);
}

static const uint8_t *
pattern(void)
{
	static uint8_t b[65536];

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = ut_pattern(i);
	return b;
}

/* An application's own chain, in pieces of odd sizes. */
static struct rte_mbuf *
odd_chain(struct ut_stack *s, size_t len)
{
	const uint8_t *b = pattern();
	struct rte_mbuf *head = NULL;
	size_t at = 0, step = 1;

	while (at < len) {
		size_t take = RTE_MIN(step, len - at);
		struct rte_mbuf *seg = ut_bytes_mbuf(b + at, take, s->pool);

		if (head == NULL)
			head = seg;
		else
			assert_int_equal(rte_pktmbuf_chain(head, seg), 0);
		at += take;
		step = step * 5 % 1777 + 3;
	}
	return head;
}

static void
up(struct ut_stack *s, bool v6, size_t mtu, bool multi, unsigned int tx_desc)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = v6;
	cfg.port.mtu = (unsigned int)mtu;
	cfg.port.tx_desc = tx_desc;
	cfg.dev.tx_offloads = multi ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : 0;
	ut_stack_up(s, &cfg);
	if (v6) {
		ut_stack_peer6(s);
		ut_stack_socket6(s, 9000);
	} else {
		ut_stack_peer(s);
		ut_stack_socket(s, 9000);
	}
}

static void
every_length_and_mtu_is_cut_right(void **state)
{
	static const struct {
		bool v6;
		size_t mtu;
	} row[] = {{false, 1500}, {false, 576}, {false, 1006}, {true, 1500}, {true, 1280}};
	struct ut_stack *s = *state;

	for (size_t r = 0; r < UT_N(row); r++) {
		const bool v6 = row[r].v6;
		const size_t mtu = row[r].mtu;
		const size_t fits = mtu - (v6 ? 48 : 28);
		const size_t unit = (mtu - (v6 ? 48 : 20)) / 8 * 8;
		const size_t max = v6 ? 65527 : 65507;
		const size_t lens[] = {fits + 1, fits + 7,     fits + 8,     2 * unit - 8,
				       2 * unit, 2 * unit + 1, 3 * unit - 9, 9999,
				       20000,    max - 1,      max};
		struct weir_addr to = peer_of(v6);

		for (unsigned int multi = 0; multi < 2; multi++) {
			up(s, v6, mtu, multi, 256);
			for (size_t i = 0; i < UT_N(lens); i++) {
				struct weir_txmsg msg = {odd_chain(s, lens[i]), &to, NULL};
				uint64_t total = lens[i] + 8, n;

				/* Copied by the stack, then the application's own buffers. */
				ut_stack_mark(s);
				assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), lens[i],
							   &to),
						 lens[i]);
				ut_stack_poll(s);
				take_whole(s, v6, mtu, !multi);
				must_be_datagram(v6, lens[i]);
				n = (total + unit - 1) / unit;
				ut_check(w.n == n || w.n + 1 == n, "%u pieces, not %lu", w.n,
					 (unsigned long)n);
				assert_int_equal(ut_stack_since(s, tx_datagrams), 1);
				assert_int_equal(ut_stack_since(s, tx_copies), w.n - 1);
				assert_int_equal(ut_stack_since(s, tx_frames), w.n);
				ut_stack_mark(s);
				assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
				ut_stack_poll(s);
				take_whole(s, v6, mtu, !multi);
				must_be_datagram(v6, lens[i]);
				assert_int_equal(ut_stack_pending(s, 0), 0);
			}
			ut_stack_only_drop(s, WEIR_DROP_N, 0, "lengths and MTUs");
			ut_stack_down(s);
		}
	}
}

/* One byte less is one packet, with DF and without a fragment header. */
static void
what_fits_is_not_cut(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const size_t fits = 1500 - (v6 ? 48 : 28);
		struct weir_addr to = peer_of(v6);

		up(s, v6, 0, true, 64);
		assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), fits, &to), fits);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(f.len, 1514);
		if (v6)
			assert_int_equal(f.b[20], 17);
		else
			assert_int_equal(ut_get16(f.b + 20), 0x4000);
		assert_int_equal(ut_stack_pending(s, 0), 0);
		ut_stack_down(s);
	}
}

/* As Linux (tests/diff, wire.more_than_mtu): who may be cut, who is refused, and what DF says. */
static void
modes_of_path_mtu_discovery(void **state)
{
	static const struct {
		enum weir_pmtud mode;
		bool cut, df;
	} row[] = {
		{WEIR_PMTUD_DONT, true, false},       {WEIR_PMTUD_WANT, true, true},
		{WEIR_PMTUD_DO, false, true},         {WEIR_PMTUD_PROBE, false, true},
		{WEIR_PMTUD_INTERFACE, false, false}, {WEIR_PMTUD_OMIT, true, false},
	};
	struct ut_stack *s = *state;

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const size_t fits = 1500 - (v6 ? 48 : 28);
		struct weir_addr to = peer_of(v6);

		up(s, v6, 0, true, 64);
		for (size_t i = 0; i < UT_N(row); i++) {
			assert_int_equal(weir_socket_set(s->sk[0],
							 v6 ? WEIR_OPT_MTU_DISCOVER6
							    : WEIR_OPT_MTU_DISCOVER,
							 row[i].mode),
					 0);
			assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), fits, &to), fits);
			ut_stack_poll(s);
			ut_stack_must_take(s, 0, &f);
			if (!v6) {
				assert_int_equal(ut_get16(f.b + 20), row[i].df ? 0x4000 : 0);
				assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
			}
			assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), fits + 1, &to),
					 row[i].cut ? (ssize_t)fits + 1 : -EMSGSIZE);
			ut_stack_poll(s);
			if (row[i].cut) {
				take_whole(s, v6, 1500, false);
				assert_int_equal(w.n, 2);
				must_be_datagram(v6, fits + 1);
			}
			assert_int_equal(ut_stack_pending(s, 0), 0);
		}
		assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), v6 ? 65528 : 65508, &to),
				 -EMSGSIZE);
		ut_stack_down(s);
	}
}

static void
dontfrag_refuses_what_the_path_does_not_take(void **state)
{
	struct weir_addr to = peer_of(true);
	struct ut_stack *s = *state;
	struct weir_txctl ctl = {.dontfrag = true};
	struct weir_txmsg msg = {NULL, &to, &ctl};

	up(s, true, 0, true, 64);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_DONTFRAG, 1), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 1453, &to), -EMSGSIZE);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_DONTFRAG, 0), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 1453, &to), 1453);
	ut_stack_poll(s);
	take_whole(s, true, 1500, false);
	msg.m = ut_stack_payload(s, 1453);
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), -EMSGSIZE);
	rte_pktmbuf_free(msg.m);
}

/* A full queue or pool refuses the whole datagram, before anything has left, and the buffer is as it was. */
static void
all_of_it_or_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer_of(false);
	struct weir_txmsg msg = {NULL, &to, NULL};
	struct rte_mbuf **held;
	unsigned int n = 0;
	static uint8_t b[65536];

	up(s, false, 0, true, 64);
	testport_set_tx_accept(s->ethdev[0], 0);
	for (unsigned int i = 0; i < 30; i++)
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), 1);
	/* 34 places are left: 45 fragments do not go in, 34 do. */
	ut_stack_mark(s);
	msg.m = odd_chain(s, 65507);
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), -EAGAIN);
	assert_int_equal(ut_mbuf_bytes(msg.m, b, sizeof(b)), 65507);
	assert_memory_equal(b, pattern(), 65507);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "refused");
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 34 * 1480 - 8, &to),
			 34 * 1480 - 8);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), -EAGAIN);
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 30; i++)
		ut_stack_must_take(s, 0, &f);
	take_whole(s, false, 1500, false);
	assert_int_equal(w.n, 34);

	/* A pool that is down to its reserve. */
	held = calloc(s->stack->pool->size + 1, sizeof(held[0]));
	assert_non_null(held);
	while (weir_mbuf_alloc_bulk(s->w[0], &held[n], 1) == 0)
		n++;
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), -ENOBUFS);
	assert_int_equal(ut_mbuf_bytes(msg.m, b, sizeof(b)), 65507);
	assert_memory_equal(b, pattern(), 65507);
	weir_mbuf_free_bulk(held, n);
	free(held);
	assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
	ut_stack_poll(s);
	take_whole(s, false, 1500, false);
	must_be_datagram(false, 65507);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of it");
}

/* Shared and indirect buffers are not written to. */
static void
what_others_hold_is_not_touched(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer_of(false);
	static uint8_t b[65536];

	for (unsigned int multi = 0; multi < 2; multi++) {
		up(s, false, 0, multi, 64);
		for (unsigned int clone = 0; clone < 2; clone++) {
			struct rte_mbuf *keep = odd_chain(s, 30000);
			struct weir_txmsg msg = {keep, &to, NULL};

			if (clone)
				msg.m = rte_pktmbuf_clone(keep, s->pool);
			else
				rte_pktmbuf_refcnt_update(keep, 1);
			assert_non_null(msg.m);
			assert_int_equal(weir_send_burst(s->w[0], s->sk[0], &msg, 1, 0), 1);
			ut_stack_poll(s);
			take_whole(s, false, 1500, !multi);
			must_be_datagram(false, 30000);
			assert_int_equal(ut_mbuf_bytes(keep, b, sizeof(b)), 30000);
			assert_memory_equal(b, pattern(), 30000);
			rte_pktmbuf_free(keep);
		}
		ut_stack_down(s);
	}
}

/* ---- a neighbour that is not known ---- */

static void
fragments_wait_together(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer_of(false);
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.port.tx_desc = 128;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 65507, &to), 65507);
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 4000, &to), 4000);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_true(ut_frame_is_ask(&f, UT_PEER_IP));
	assert_int_equal(ut_stack_pending(s, 0), 0);
	ut_stack_arp_reply(s, 0, UT_PEER_IP, UT_PEER_MAC);
	take_whole(s, false, 1500, false);
	must_be_datagram(false, 65507);
	take_whole(s, false, 1500, false);
	must_be_datagram(false, 4000);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "held and sent");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

static void
fragments_fail_together(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer_of(false);
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), 4000, &to), 4000);
	ut_stack_pass(s, 20 * WEIR_NS_PER_S, 100 * WEIR_NS_PER_MS);
	while (ut_stack_take(s, 0, &f))
		assert_true(ut_frame_is_ask(&f, UT_PEER_IP));
	ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 3, "nobody there");
}

/* ---- this host ---- */

static void
nothing_is_cut_on_its_way_to_ourselves(void **state)
{
	struct ut_stack *s = *state;
	static uint8_t b[65536];

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		const size_t max = v6 ? 65527 : 65507;
		struct weir_addr to =
			v6 ? ut_addr6(UT_OUR_IP6, 9000) : weir_addr_v4(UT_OUR_IP, 9000);

		up(s, v6, 0, true, 64);
		assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_RCVBUF, 1 << 20), 0);
		assert_int_equal(weir_send(s->w[0], s->sk[0], pattern(), max, &to), max);
		ut_stack_poll(s);
		assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), NULL), max);
		assert_memory_equal(b, pattern(), max);
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "to ourselves");
		ut_stack_down(s);
	}
}

/* ---- an attached thread ---- */

static void
fragments_of_an_attached_thread(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = peer_of(false);
	struct weir_lcore *lc;

	up(s, false, 576, true, 256);
	assert_int_equal(weir_thread_attach(s->stack, &lc), 0);
	assert_int_equal(weir_send(lc, s->sk[0], pattern(), 65507, &to), 65507);
	ut_stack_poll(s);
	take_whole(s, false, 576, false);
	must_be_datagram(false, 65507);
	assert_int_equal(w.n, 119);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "by the worker");
	assert_int_equal(weir_lcore_detach(lc), 0);
}

/* ---- identification ---- */

static int
by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
identifications_do_not_repeat_and_tell_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	union weir_ip src = {.w = {0, 0}}, a = {.w = {0, 0}}, b = {.w = {0, 0}};
	static uint32_t id[65536];
	unsigned int slots, each, next, same;

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	slots = rte_align32pow2(s->stack->n_lcores);
	each = 65536 / slots;
	src.v4 = 1;
	a.v4 = 2;
	b.v4 = 3;
	/* Two lcores: no value twice within a round, for one pair of addresses. */
	for (unsigned int i = 0; i < each; i++) {
		id[2 * i] = weir_fragment_id(s->w[0], &src, &a, WEIR_IPV4);
		id[2 * i + 1] = weir_fragment_id(s->w[1], &src, &a, WEIR_IPV4);
	}
	next = 0;
	for (unsigned int i = 2; i < 2 * each; i++)
		next += id[i] == id[i - 2] + 1 || id[i] == id[i - 2] + slots;
	ut_check(next < each / 100, "%u of %u can be guessed", next, 2 * each);
	qsort(id, (size_t)2 * each, sizeof(id[0]), by_value);
	for (unsigned int i = 1; i < 2 * each; i++)
		ut_check(id[i] != id[i - 1] && id[i] <= 0xffff, "twice: %u", id[i]);
	/* Another destination, the same place in the sequence: nothing in common. */
	same = 0;
	for (unsigned int i = 0; i < 1000; i++) {
		uint32_t x;

		s->w[0]->frag_seq = i;
		x = weir_fragment_id(s->w[0], &src, &a, WEIR_IPV4);
		s->w[0]->frag_seq = i;
		same += x == weir_fragment_id(s->w[0], &src, &b, WEIR_IPV4);
	}
	ut_check(same < 10, "%u of 1000 are the same for another", same);
	for (unsigned int i = 0; i < 65536; i++)
		id[i] = weir_fragment_id(s->w[i & 1], &src, &a, WEIR_IPV6);
	qsort(id, 65536, sizeof(id[0]), by_value);
	for (unsigned int i = 1; i < 65536; i++)
		ut_check(id[i] != id[i - 1], "IPv6, twice: %u", id[i]);
	assert_true(id[65535] > UINT32_MAX / 2);
}

/* ---- a protocol's frame ---- */

static void
a_protocols_frame_is_cut_too(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int v6 = 0; v6 < 2; v6++) {
		struct ut_pkt p = v6 ? ut_pkt_icmp6_echo() : ut_pkt_icmp_echo();
		static uint8_t frame[9000];
		size_t len, off = 0, hdr = v6 ? 48 : 20;
		struct rte_mbuf *m;
		bool more = true;
		unsigned int n = 0;

		up(s, v6, 0, true, 64);
		p.payload_len = 5000;
		len = ut_pkt_bytes(&p, frame, sizeof(frame));
		m = ut_pkt_mbuf(&p, s->pool);
		ut_stack_mark(s);
		assert_int_equal(weir_fragment_protocol(s->w[0], s->stack->ports[0], m, 1500), 0);
		ut_stack_poll(s);
		while (more) {
			size_t piece;

			ut_stack_must_take(s, 0, &f);
			piece = f.len - 14 - hdr;
			more = v6 ? ut_get16(f.b + 56) & 1 : ut_get16(f.b + 20) & 0x2000;
			if (!v6) {
				assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
				if (p.ip_id != 0)
					assert_int_equal(ut_get16(f.b + 18), p.ip_id);
			} else {
				assert_int_equal(f.b[54], 58);
			}
			assert_memory_equal(f.b + 14 + hdr, frame + 14 + (v6 ? 40 : 20) + off,
					    piece);
			off += piece;
			n++;
		}
		assert_int_equal(off, len - 14 - (v6 ? 40 : 20));
		assert_int_equal(ut_stack_since(s, tx_protocol), 1);
		assert_int_equal(ut_stack_since(s, tx_copies), n - 1);
		ut_stack_down(s);
	}
}

static void
numbers_of_fragments(void **state)
{
	(void)state;
	assert_int_equal(weir_fragment_count(1480, WEIR_IPV4, 1500), 1);
	assert_int_equal(weir_fragment_count(1481, WEIR_IPV4, 1500), 2);
	assert_int_equal(weir_fragment_count(2960, WEIR_IPV4, 1500), 2);
	assert_int_equal(weir_fragment_count(2961, WEIR_IPV4, 1500), 3);
	/* 1003 - 20 = 983: units of 976, the last may have 983. */
	assert_int_equal(weir_fragment_count(976 + 983, WEIR_IPV4, 1003), 2);
	assert_int_equal(weir_fragment_count(976 + 984, WEIR_IPV4, 1003), 3);
	assert_int_equal(weir_fragment_count(65515, WEIR_IPV4, 68), 1365);
	assert_int_equal(weir_fragment_count(65535, WEIR_IPV6, 1280), 54);
	assert_int_equal(weir_fragment_count(100, WEIR_IPV4, 27), 0);
	assert_int_equal(weir_fragment_count(100, WEIR_IPV6, 48), 0);
}

int
main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(numbers_of_fragments),
		UT_STACK_TEST(every_length_and_mtu_is_cut_right),
		UT_STACK_TEST(what_fits_is_not_cut),
		UT_STACK_TEST(modes_of_path_mtu_discovery),
		UT_STACK_TEST(dontfrag_refuses_what_the_path_does_not_take),
		UT_STACK_TEST(all_of_it_or_nothing),
		UT_STACK_TEST(what_others_hold_is_not_touched),
		UT_STACK_TEST(fragments_wait_together),
		UT_STACK_TEST(fragments_fail_together),
		UT_STACK_TEST(nothing_is_cut_on_its_way_to_ourselves),
		UT_STACK_TEST(fragments_of_an_attached_thread),
		UT_STACK_TEST(identifications_do_not_repeat_and_tell_nothing),
		UT_STACK_TEST(a_protocols_frame_is_cut_too),
	};

	return UT_RUN(cases, NULL, NULL);
}
