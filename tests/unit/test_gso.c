/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One buffer cut into many datagrams on the way out (WEIR_OPT_SEGMENT), and trains of equal datagrams
 * handed over as one on the way in (WEIR_OPT_GRO). What leaves is taken apart by the byte; sums are
 * checked by the book.
 */
#include "common/ut_sock.h"

#include "recvq.h"
#include "sock.h"

#define MOST 65507u

static uint8_t text[MOST + 1], back[MOST + 1];

static void
up(struct ut_stack *s, bool multi_seg, unsigned int tx_desc)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = ut_pattern(i);
	cfg.port.tx_desc = tx_desc;
	cfg.port.rx_desc = 512;
	if (!multi_seg)
		cfg.dev.tx_offloads = 0;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
}

/* ---- cutting ---- */

/* The frames that left, in order, must be text[0..len) cut into pieces. Returns how many. */
static unsigned int
must_have_left(struct ut_stack *s, uint32_t len, uint32_t segment, const char *what)
{
	struct ut_frame f;
	uint32_t at = 0;
	unsigned int n = 0;

	do {
		uint32_t want = len - at < segment ? len - at : segment;
		uint16_t udp_len;

		ut_stack_must_take(s, 0, &f);
		udp_len = ut_get16(f.b + 38);
		ut_check(udp_len == want + 8 && f.len == want + 42 &&
				 ut_get16(f.b + 16) == want + 28,
			 "%s: piece %u has %u bytes, not %u", what, n, udp_len - 8u, want);
		assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
		assert_int_not_equal(ut_get16(f.b + 40), 0);
		assert_int_equal(ut_csum(f.b + 34, udp_len,
					 ut_pseudo_sum(UT_OUR_IP, UT_PEER_IP, 17, udp_len)),
				 0);
		assert_int_equal(ut_get16(f.b + 34), 200);
		assert_int_equal(ut_get16(f.b + 36), 7);
		ut_check_bytes(f.b + 42, text + at, want, "%s: piece %u", what, n);
		at += want;
		n++;
	} while (at < len);
	return n;
}

static void
buffers_are_cut_to_size(struct ut_stack *s, bool multi_seg)
{
	static const struct {
		uint32_t len, segment;
	} row[] = {
		{1000, 1000}, {1001, 1000}, {1999, 1000}, {2000, 1000},  {2001, 1000}, {1472, 1472},
		{2944, 1472}, {4417, 1472}, {100, 1},     {128, 1},      {127, 3},     {384, 3},
		{64, 64},     {65, 64},     {63, 64},     {8192, 64},    {8191, 64},   {16383, 129},
		{5000, 999},  {0, 100},     {1, 100},     {65507, 1400}, {65507, 512},
	};
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct weir_socket *sk;
	struct ut_rng rng = ut_rng();

	up(s, multi_seg, 512);
	sk = ut_sock_bound(s, 0, 200);
	for (unsigned int r = 0; r < UT_N(row) + 60; r++) {
		struct weir_txctl ctl = {0};
		struct iovec iov[3];
		uint32_t len, segment, want;
		uint64_t sent;
		char what[40];

		segment = r < UT_N(row) ? row[r].segment : 1 + ut_rand_below(&rng, 1472);
		len = r < UT_N(row)
			      ? row[r].len
			      : ut_rand_below(&rng, segment * 128 < MOST ? segment * 128 : MOST);
		snprintf(what, sizeof(what), "%u by %u", len, segment);
		/* By the socket's option, or by one datagram's wish, which wins. */
		ut_sock_set(sk, WEIR_OPT_SEGMENT, r & 1 ? segment : segment / 2);
		ctl.segment = (uint16_t)segment;
		iov[0] = (struct iovec){text, len / 3};
		iov[1] = (struct iovec){text + len / 3, len / 2 - len / 3};
		iov[2] = (struct iovec){text + len / 2, len - len / 2};
		ut_stack_mark(s);
		sent = weir_counter_read(&sk->sent);
		ut_check(weir_send_iov(s->w[0], sk, iov, 3, &to, r & 1 ? NULL : &ctl) ==
				 (ssize_t)len,
			 "%s: %d", what, weir_send_error(s->w[0]));
		ut_stack_poll(s);
		want = len == 0 ? 1 : (len + segment - 1) / segment;
		ut_check(must_have_left(s, len, segment, what) == want, "%s", what);
		assert_int_equal(ut_stack_pending(s, 0), 0);
		assert_int_equal(ut_stack_since(s, tx_datagrams), want);
		assert_int_equal(ut_stack_since(s, tx_frames), want);
		assert_true(weir_counter_read(&sk->sent) > sent);
		ut_stack_identity(s, what);
	}
}

static void
buffers_are_cut_to_size_for_a_device_that_takes_chains(void **state)
{
	buffers_are_cut_to_size(*state, true);
}

static void
buffers_are_cut_to_size_for_a_device_that_does_not(void **state)
{
	buffers_are_cut_to_size(*state, false);
}

static struct rte_mbuf *
chain(struct ut_stack *s, uint32_t len, uint32_t piece)
{
	struct rte_mbuf *m = NULL, *last = NULL;
	uint32_t at = 0;

	do {
		uint32_t here = len - at < piece ? len - at : piece;
		struct rte_mbuf *seg = rte_pktmbuf_alloc(s->pool);

		assert_non_null(seg);
		memcpy(rte_pktmbuf_append(seg, (uint16_t)here), text + at, here);
		at += here;
		if (m == NULL)
			m = seg;
		else
			last->next = seg, m->nb_segs++;
		last = seg;
	} while (at < len);
	m->pkt_len = len;
	return m;
}

/* Chains in, cut across their seams; several messages in one burst, some cut and some not. */
static void
chains_are_cut_across_their_seams(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct weir_socket *sk;
	struct ut_rng rng = ut_rng();

	up(s, true, 512);
	sk = ut_sock_bound(s, 0, 200);
	for (unsigned int round = 0; round < 60; round++) {
		struct weir_txmsg msg[4];
		uint32_t len[4];
		uint32_t segment = 1 + ut_rand_below(&rng, 300);

		ut_sock_set(sk, WEIR_OPT_SEGMENT, segment);
		for (unsigned int i = 0; i < 4; i++) {
			len[i] = ut_rand_below(&rng, i == 2 ? segment : 20 * segment);
			msg[i] = (struct weir_txmsg){
				.m = chain(s, len[i], len[i] / 60 + 1 + ut_rand_below(&rng, 700)),
				.to = &to};
		}
		assert_int_equal(weir_send_burst(s->w[0], sk, msg, 4, 0), 4);
		assert_int_equal(weir_send_error(s->w[0]), 0);
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 4; i++)
			must_have_left(s, len[i], segment, "of a burst");
		assert_int_equal(ut_stack_pending(s, 0), 0);
	}
}

/* The message stays the caller's when it is refused. */
static void
refuse(struct ut_stack *s, struct weir_socket *sk, uint32_t len, int err)
{
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct rte_mbuf *m = chain(s, len, 1000);
	struct weir_txmsg msg = {.m = m, .to = &to};

	ut_stack_mark(s);
	assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), err);
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	assert_int_equal(ut_stack_since(s, tx_datagrams), 0);
	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(m->pkt_len, len);
	ut_check_bytes(rte_pktmbuf_mtod(m, void *), text, m->data_len, "refused");
	rte_pktmbuf_free(m);
}

static void
what_cannot_be_cut_is_refused(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct weir_socket *sk;

	up(s, true, 512);
	sk = ut_sock_bound(s, 0, 200);
	ut_sock_set(sk, WEIR_OPT_SEGMENT, 10);
	assert_int_equal(weir_send(s->w[0], sk, text, 1280, &to), 1280);
	ut_stack_poll(s);
	assert_int_equal(must_have_left(s, 1280, 10, "128 pieces"), 128);
	refuse(s, sk, 1281, -EINVAL); /* 129 */
	ut_sock_set(sk, WEIR_OPT_SEGMENT, 1473);
	refuse(s, sk, 3000, -EMSGSIZE); /* no piece fits the MTU */
	ut_sock_set(sk, WEIR_OPT_SEGMENT, 10);
	ut_sock_set(sk, WEIR_OPT_NO_CHECK, 1);
	refuse(s, sk, 100, -EINVAL);
	assert_int_equal(weir_send(s->w[0], sk, text, 10, &to), 10); /* nothing to cut */
	ut_stack_poll(s);
	ut_sock_set(sk, WEIR_OPT_NO_CHECK, 0);
	to = weir_addr_v4(UT_IP(99, 0, 0, 1), 7);
	assert_int_equal(weir_send(s->w[0], sk, text, 100, &to), -ENETUNREACH);
}

/* A queue that fills in the middle: what found no room is counted, the rest left in order. */
static void
a_full_queue_in_the_middle_is_counted(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct weir_socket *sk;
	uint64_t dropped, left;
	struct weir_stats st;

	up(s, true, 64);
	sk = ut_sock_bound(s, 0, 200);
	ut_sock_set(sk, WEIR_OPT_SEGMENT, 10);
	testport_set_tx_accept(s->ethdev[0], 0); /* the device takes nothing */
	ut_stack_mark(s);
	assert_int_equal(weir_send(s->w[0], sk, text, 1280, &to), 1280);
	assert_int_equal(ut_stack_since(s, tx_datagrams), 128);
	weir_stats_get(s->stack, &st);
	dropped = st.drops[WEIR_DROP_TXQ_REFUSED];
	left = 128 - dropped;
	assert_int_equal(left, 64); /* a batch */
	ut_stack_identity(s, "while full");
	/* Full from the start: as any send. */
	assert_int_equal(weir_send(s->w[0], sk, text, 100, &to), -EAGAIN);
	testport_set_tx_accept(s->ethdev[0], UINT16_MAX);
	ut_stack_poll(s);
	assert_int_equal(must_have_left(s, 640, 10, "the first 64"), 64);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	ut_stack_identity(s, "afterwards");
}

/* Without buffers for the pieces: refused as a whole. */
static void
without_buffers_nothing_leaves(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct weir_txmsg msg = {.to = &to};
	struct rte_mbuf **all;
	struct weir_socket *sk;
	unsigned int n = 0, most;

	up(s, true, 64);
	sk = ut_sock_bound(s, 0, 200);
	ut_sock_set(sk, WEIR_OPT_SEGMENT, 10);
	most = rte_mempool_avail_count(s->stack->pool);
	all = calloc(most, sizeof(*all));
	assert_non_null(all);
	while (n < most && rte_pktmbuf_alloc_bulk(s->stack->pool, &all[n], 1) == 0)
		n++;
	/* All but five: enough for five pieces, not for ten. */
	for (unsigned int i = 0; i < 5; i++)
		rte_pktmbuf_free(all[--n]);
	msg.m = ut_stack_payload(s, 100);
	assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), -ENOBUFS);
	rte_pktmbuf_free_bulk(all, n);
	free(all);
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 1);
	ut_stack_poll(s);
	assert_int_equal(must_have_left(s, 100, 10, "with buffers"), 10);
}

/* ---- joining ---- */

struct dgram {
	uint16_t len, sport;
	uint8_t tos, ttl;
	uint32_t src, dst;
	uint8_t cut;  /* bytes of the frame in its first segment; 0: one segment */
	uint8_t opts; /* bytes of IP options */
	uint8_t port;
};

static uint32_t fed; /* bytes of text that have been sent */

static void
feed(struct ut_stack *s, const struct dgram *d, unsigned int n)
{
	fed = 0;
	for (unsigned int i = 0; i < n; i++) {
		struct ut_pkt p = ut_sock_pkt(d[i].port, d[i].src != 0 ? d[i].src : UT_PEER_IP,
					      d[i].sport != 0 ? d[i].sport : 7,
					      d[i].dst != 0 ? d[i].dst : UT_OUR_IP, 100, text + fed,
					      d[i].len);
		uint8_t frame[2048];
		struct rte_mbuf *m;
		size_t size;

		fed += d[i].len;
		p.ip_tos = d[i].tos;
		p.ip_ttl = d[i].ttl != 0 ? d[i].ttl : 64;
		memset(p.ip_opt, 1, d[i].opts);
		p.ip_opt_len = d[i].opts;
		size = ut_pkt_bytes(&p, frame, sizeof(frame));
		if (d[i].cut == 0) {
			m = ut_bytes_mbuf(frame, size, s->pool);
		} else {
			m = ut_bytes_mbuf(frame, d[i].cut, s->pool);
			m->next = ut_bytes_mbuf(frame + d[i].cut, size - d[i].cut, s->pool);
			m->nb_segs = 2;
			m->pkt_len = (uint32_t)size;
		}
		ut_stack_inject(s, d[i].port, 0, m);
		if (i % 16 == 15)
			ut_stack_poll(s);
	}
	ut_stack_poll(s);
}

/* Read all by one way; write down the trains as "count x size (+ last)". */
static void
trains(struct ut_stack *s, struct weir_socket *sk, bool burst, char *out, size_t size)
{
	size_t at = 0;
	uint32_t read = 0;

	out[0] = '\0';
	for (;;) {
		struct weir_rxmsg msg;
		struct iovec iov = {back, sizeof(back)};

		if (burst) {
			if (weir_recv_burst(s->w[0], sk, &msg, 1) == 0)
				break;
			assert_int_equal(rte_pktmbuf_pkt_len(msg.m), msg.len);
			assert_int_equal(rte_mbuf_check(msg.m, 1, &(const char *){NULL}), 0);
			assert_int_equal(ut_mbuf_bytes(msg.m, back, sizeof(back)), msg.len);
			weir_mbuf_free_bulk(&msg.m, 1);
		} else if (weir_recv_iov(s->w[0], sk, &iov, 1, &msg, 0) == -EAGAIN) {
			break;
		}
		ut_check_bytes(back, text + read, msg.len, "train at %u", read);
		read += msg.len;
		if (msg.gso_size == 0)
			at += (size_t)snprintf(out + at, size - at, "%u ", msg.len);
		else
			at += (size_t)snprintf(out + at, size - at, "%u/%u ", msg.len,
					       msg.gso_size);
	}
	assert_int_equal(read, fed);
}

static void
equal_datagrams_are_joined(void **state)
{
	static const struct {
		struct dgram d[8];
		const char *want;
	} row[] = {
		{{{.len = 10}}, "10 "},
		{{{.len = 10}, {.len = 10}, {.len = 10}}, "30/10 "},
		{{{.len = 10}, {.len = 10}, {.len = 4}, {.len = 10}, {.len = 10}}, "24/10 20/10 "},
		{{{.len = 10}, {.len = 11}, {.len = 11}}, "10 22/11 "},
		{{{.len = 10}, {.len = 4}, {.len = 4}, {.len = 4}}, "14/10 8/4 "},
		/* Nothing but equal headers: ports, addresses, ECN bits, class, TTL, interface. */
		{{{.len = 10}, {.len = 10, .sport = 8}, {.len = 10, .sport = 8}}, "10 20/10 "},
		{{{.len = 10}, {.len = 10, .src = UT_IP(10, 0, 0, 3)}}, "10 10 "},
		{{{.len = 10}, {.len = 10, .dst = UT_IP(10, 0, 1, 1)}}, "10 10 "},
		{{{.len = 10}, {.len = 10, .tos = 3}, {.len = 10, .tos = 3}, {.len = 10, .tos = 2}},
		 "10 20/10 10 "},
		{{{.len = 10, .tos = 0x20}, {.len = 10, .tos = 0x28}}, "10 10 "},
		{{{.len = 10}, {.len = 10, .ttl = 63}}, "10 10 "},
		{{{.len = 10}, {.len = 10, .port = 1}}, "10 10 "},
		/* An empty one is by itself, and begins no train. */
		{{{.len = 10}, {.sport = 7}, {.len = 10}}, "10 0 10 "},
		{{{.sport = 7}, {.sport = 7}, {.len = 10}, {.len = 10}}, "0 0 20/10 "},
		/* In any form: options, chains. */
		{{{.len = 20, .cut = 50},
		  {.len = 20},
		  {.len = 20, .cut = 42},
		  {.len = 20, .opts = 8}},
		 "80/20 "},
		{{{.len = 20, .opts = 8, .cut = 20}, {.len = 20, .opts = 4}, {.len = 1}}, "41/20 "},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = ut_pattern(i);
	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 100);
	ut_sock_set(sk, WEIR_OPT_GRO, 1);
	for (unsigned int burst = 0; burst < 2; burst++) {
		for (unsigned int r = 0; r < UT_N(row); r++) {
			char got[200];
			unsigned int n = 0;

			while (n < 8 && (row[r].d[n].len != 0 || row[r].d[n].sport != 0))
				n++;
			ut_stack_mark(s);
			feed(s, row[r].d, n);
			trains(s, sk, burst != 0, got, sizeof(got));
			ut_check(strcmp(got, row[r].want) == 0, "row %u by %s: %s, not %s", r,
				 burst ? "burst" : "copy", got, row[r].want);
			assert_int_equal(ut_stack_since(s, rx_read), n);
			assert_int_equal(ut_sock_charged(sk), 0);
		}
	}
	/* Turned off, each is by itself. */
	ut_sock_set(sk, WEIR_OPT_GRO, 0);
	for (unsigned int burst = 0; burst < 2; burst++) {
		char got[200];

		feed(s, row[1].d, 3);
		trains(s, sk, burst != 0, got, sizeof(got));
		assert_string_equal(got, "10 10 10 ");
	}
}

static void
a_train_has_its_limits(void **state)
{
	static struct dgram d[300];
	struct ut_stack *s = *state;
	struct weir_socket *sk;
	char got[400];

	up(s, true, 64);
	sk = ut_sock_bound(s, 0, 100);
	ut_sock_set(sk, WEIR_OPT_GRO, 1);
	for (unsigned int burst = 0; burst < 2; burst++) {
		/* 128 datagrams at most. */
		for (unsigned int i = 0; i < 300; i++)
			d[i] = (struct dgram){.len = 9};
		feed(s, d, 300);
		trains(s, sk, burst != 0, got, sizeof(got));
		assert_string_equal(got, "1152/9 1152/9 396/9 ");
		/* No more bytes than a datagram could have: 65507 / 1472 = 44.5. */
		for (unsigned int i = 0; i < 45; i++)
			d[i] = (struct dgram){.len = 1472};
		feed(s, d, 45 - 1);
		trains(s, sk, burst != 0, got, sizeof(got));
		assert_string_equal(got, "64768/1472 ");
		fed = 0;
	}
}

/* By burst a train is a chain, of at most 128 buffers: a datagram that is itself a chain stays whole. */
static void
chained_datagrams_are_joined_whole(void **state)
{
	static struct dgram d[60];
	struct ut_stack *s = *state;
	struct weir_socket *sk;

	up(s, true, 64);
	sk = ut_sock_bound(s, 0, 100);
	ut_sock_set(sk, WEIR_OPT_GRO, 1);
	for (unsigned int round = 0; round < 2; round++) {
		struct weir_rxmsg msg;
		uint32_t read = 0;

		for (unsigned int i = 0; i < 60; i++) {
			uint8_t frame[128];
			struct ut_pkt p =
				ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, text + 30 * i, 30);
			size_t size = ut_pkt_bytes(&p, frame, sizeof(frame));
			struct rte_mbuf *m = ut_bytes_mbuf(frame, 50, s->pool);

			/* Three segments: 42 of them are 126. */
			m->next = ut_bytes_mbuf(frame + 50, 10, s->pool);
			m->next->next = ut_bytes_mbuf(frame + 60, size - 60, s->pool);
			m->nb_segs = 3;
			m->pkt_len = (uint32_t)size;
			ut_stack_inject(s, 0, 0, m);
			if (i % 16 == 15)
				ut_stack_poll(s);
		}
		ut_stack_poll(s);
		while (weir_recv_burst(s->w[0], sk, &msg, 1) == 1) {
			assert_in_range(msg.m->nb_segs, 1, WEIR_MAX_SEGMENTS);
			assert_int_equal(msg.len % 30, 0);
			assert_int_equal(ut_mbuf_bytes(msg.m, back, sizeof(back)), msg.len);
			ut_check_bytes(back, text + read, msg.len, "train at %u", read);
			read += msg.len;
			weir_mbuf_free_bulk(&msg.m, 1);
		}
		assert_int_equal(read, 60 * 30);
	}
	(void)d;
}

/* By copy a train ends with the room: only whole datagrams are joined, and nothing is lost. */
static void
a_train_ends_with_the_buffer(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk;

	up(s, true, 64);
	sk = ut_sock_bound(s, 0, 100);
	ut_sock_set(sk, WEIR_OPT_GRO, 1);
	for (uint32_t room = 0; room < 80; room++) {
		static const struct dgram d[8] = {{.len = 10}, {.len = 10}, {.len = 10},
						  {.len = 10}, {.len = 10}, {.len = 10},
						  {.len = 10}, {.len = 3}};
		struct weir_rxmsg msg;
		struct iovec iov[3] = {{back, room / 4},
				       {back + room / 4, room / 2},
				       {back + room / 4 + room / 2, room - room / 4 - room / 2}};
		uint32_t whole = room / 10 < 7 ? room / 10 : 7;
		uint32_t want = whole * 10 + (whole == 7 && room >= 73 ? 3 : 0);
		ssize_t got;

		feed(s, d, 8);
		got = weir_recv_iov(s->w[0], sk, iov, 3, &msg, 0);
		if (room < 10) { /* the first does not fit: cut, as without trains */
			assert_int_equal(got, room);
			assert_int_equal(msg.len, 10);
			assert_int_equal(msg.gso_size, 0);
			want = 10;
		} else {
			ut_check(got == (ssize_t)want, "room %u: %zd", room, got);
			assert_int_equal(msg.len, want);
			assert_int_equal(msg.gso_size, want > 10 ? 10 : 0);
		}
		ut_check_bytes(back, text, (size_t)got, "room %u", room);
		/* The rest is there. */
		if (want < 73) {
			struct iovec all = {back, sizeof(back)};

			got = weir_recv_iov(s->w[0], sk, &all, 1, &msg, 0);
			assert_int_equal(got, 73 - want);
			ut_check_bytes(back, text + want, 73 - want, "rest after room %u", room);
		}
		ut_sock_must_be_empty(s, sk, "after a train");
	}
}

/* What one side cuts the other joins: over the loopback, whole. */
static void
what_is_cut_is_joined_again(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_IP(127, 0, 0, 1), 100);
	struct weir_socket *rx, *tx;
	struct ut_rng rng = ut_rng();

	up(s, true, 64);
	rx = ut_sock_bound(s, 0, 100);
	tx = ut_sock_bound(s, 0, 200);
	ut_sock_set(rx, WEIR_OPT_GRO, 1);
	for (unsigned int round = 0; round < 60; round++) {
		uint32_t segment = 1 + ut_rand_below(&rng, 2000);
		uint32_t most = segment * 128 < MOST ? segment * 128 : MOST;
		uint32_t len = 1 + ut_rand_below(&rng, most);
		struct weir_rxmsg msg;
		struct iovec iov = {back, sizeof(back)};

		ut_sock_set(tx, WEIR_OPT_SEGMENT, segment);
		assert_int_equal(weir_send(s->w[0], tx, text, len, &to), len);
		ut_stack_poll(s);
		ut_check(weir_recv_iov(s->w[0], rx, &iov, 1, &msg, 0) == (ssize_t)len, "%u by %u",
			 len, segment);
		assert_int_equal(msg.gso_size, len > segment ? segment : 0);
		ut_check_bytes(back, text, len, "%u by %u", len, segment);
		ut_sock_must_be_empty(s, rx, "after a train");
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(buffers_are_cut_to_size_for_a_device_that_takes_chains),
		UT_STACK_TEST(buffers_are_cut_to_size_for_a_device_that_does_not),
		UT_STACK_TEST(chains_are_cut_across_their_seams),
		UT_STACK_TEST(what_cannot_be_cut_is_refused),
		UT_STACK_TEST(a_full_queue_in_the_middle_is_counted),
		UT_STACK_TEST(without_buffers_nothing_leaves),
		UT_STACK_TEST(equal_datagrams_are_joined),
		UT_STACK_TEST(a_train_has_its_limits),
		UT_STACK_TEST(chained_datagrams_are_joined_whole),
		UT_STACK_TEST(a_train_ends_with_the_buffer),
		UT_STACK_TEST(what_is_cut_is_joined_again),
	};

	return UT_RUN(cases, NULL, NULL);
}
