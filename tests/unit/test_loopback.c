/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams to this host: 127/8 and the addresses of the ports, of every size and form, from workers and
 * attached threads; what comes back when nobody is there; and that no wire can speak as this host.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut_sock.h"

#include "lcore.h"

#define LO   UT_IP(127, 0, 0, 1)
#define MOST 65507u

static uint8_t big[MOST + 1], back[MOST + 1];

static void
fill_pattern(void)
{
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = ut_pattern(i);
}

static ssize_t
send_to(struct ut_stack *s, struct weir_socket *sk, const void *buf, size_t len, uint32_t ip,
	uint16_t port)
{
	struct weir_addr to = weir_addr_v4(ip, port);

	return weir_send(s->w[0], sk, buf, len, &to);
}

/* One datagram must be there: its length, names and bytes. */
static void
must_receive(struct ut_stack *s, struct weir_socket *sk, size_t len, uint32_t src, uint32_t dst)
{
	struct weir_rxmsg info;
	struct iovec iov = {back, sizeof(back)};
	ssize_t got;

	memset(back, 0xee, len + 1);
	got = weir_recv_iov(s->w[0], sk, &iov, 1, &info, 0);
	ut_check(got == (ssize_t)len, "%zu bytes: received %zd", len, got);
	assert_int_equal(info.len, len);
	assert_int_equal(ut_addr_ip(&info.peer), src);
	assert_int_equal(ut_addr_ip(&info.local), dst);
	assert_int_equal(info.port, WEIR_PORT_LOOPBACK);
	ut_check_bytes(back, big, len, "%zu bytes", len);
}

static void
every_size_comes_back(void **state)
{
	static const unsigned int sizes[] = {0,     1,     2,     3,     63,   64,   65,
					     1471,  1472,  1473,  1983,  1984, 1985, 2047,
					     2048,  2049,  4095,  4096,  9000, 9001, 32767,
					     32768, 65000, 65505, 65506, 65507};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *rx, *tx;
	struct ut_rng rng = ut_rng();
	struct ut_frame f;

	fill_pattern();
	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	tx = ut_sock_bound(s, 0, 200);
	for (unsigned int i = 0; i < UT_N(sizes) + 300; i++) {
		const size_t len =
			i < UT_N(sizes) ? sizes[i] : ut_rand_below(&rng, i & 1 ? 3000 : MOST + 1);

		assert_int_equal(send_to(s, tx, big, len, UT_OUR_IP, 100), len);
		ut_stack_poll(s);
		must_receive(s, rx, len, UT_OUR_IP, UT_OUR_IP);
	}
	assert_int_equal(send_to(s, tx, big, MOST + 1, UT_OUR_IP, 100), -EMSGSIZE);
	ut_sock_must_be_empty(s, rx, "too large");
	assert_false(ut_stack_take(s, 0, &f)); /* none of it was on the wire */
	assert_int_equal(ut_sock_charged(rx), 0);
}

static void
the_source_is_who_was_spoken_to(void **state)
{
	static const struct {
		uint32_t bound, to, source;
		int ret;
	} row[] = {
		{0, LO, LO, 0},
		{0, UT_IP(127, 9, 9, 9), LO, 0},
		{0, UT_IP(127, 255, 255, 255), LO, 0},
		{0, UT_IP(10, 0, 0, 1), UT_IP(10, 0, 0, 1), 0},
		{0, UT_IP(10, 0, 1, 1), UT_IP(10, 0, 1, 1), 0},
		{UT_IP(10, 0, 0, 1), UT_IP(10, 0, 1, 1), UT_IP(10, 0, 0, 1), 0},
		{UT_IP(10, 0, 0, 1), LO, UT_IP(10, 0, 0, 1), 0},
		{LO, UT_IP(10, 0, 1, 1), LO, 0},
		{UT_IP(127, 1, 2, 3), LO, UT_IP(127, 1, 2, 3), 0},
		{LO, UT_IP(10, 0, 0, 2), 0, -EINVAL}, /* on a wire: never */
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *rx;

	fill_pattern();
	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	for (unsigned int r = 0; r < UT_N(row); r++) {
		struct weir_socket *tx = ut_sock_bound(s, row[r].bound, 200);
		ssize_t want = row[r].ret != 0 ? row[r].ret : 5;

		ut_check(send_to(s, tx, big, 5, row[r].to, 100) == want, "row %u", r);
		ut_stack_poll(s);
		if (row[r].ret == 0)
			must_receive(s, rx, 5, row[r].source, row[r].to);
		/* The same by connection: the name is the source. */
		if (row[r].ret == 0) {
			assert_int_equal(ut_sock_connect(tx, row[r].to, 100), 0);
			ut_sock_must_be(tx, row[r].source, 200, "connected");
			assert_int_equal(weir_send(s->w[0], tx, big, 5, NULL), 5);
			ut_stack_poll(s);
			must_receive(s, rx, 5, row[r].source, row[r].to);
		}
		weir_socket_close(tx);
		ut_stack_poll(s);
	}
	/* Any address as a destination: this host. */
	{
		struct weir_socket *tx = ut_sock_bound(s, 0, 200);
		struct weir_addr peer;

		assert_int_equal(ut_sock_connect(tx, 0, 100), 0);
		ut_sock_must_be(tx, LO, 200, "connected to any");
		assert_int_equal(weir_socket_peer(tx, &peer), 0);
		assert_int_equal(ut_addr_ip(&peer), LO);
		assert_int_equal(weir_send(s->w[0], tx, big, 5, NULL), 5);
		ut_stack_poll(s);
		must_receive(s, rx, 5, LO, LO);
	}
}

static void
interfaces_and_loopback(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *lo, *wire, *tx;

	ut_stack_up(s, &cfg);
	tx = ut_sock_bound(s, 0, 200);
	lo = ut_sock(s);
	wire = ut_sock(s);
	ut_sock_set(lo, WEIR_OPT_BIND_PORT, WEIR_PORT_LOOPBACK);
	ut_sock_set(wire, WEIR_OPT_BIND_PORT, 0);
	assert_int_equal(ut_sock_bind(lo, 0, 100), 0);
	assert_int_equal(ut_sock_bind(wire, 0, 100), 0);
	assert_int_equal(send_to(s, tx, "abc", 3, UT_OUR_IP, 100), 3);
	ut_stack_poll(s);
	assert_int_equal(ut_sock_drain(s, lo), 1);
	assert_int_equal(ut_sock_drain(s, wire), 0);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 1);
	assert_int_equal(ut_sock_drain(s, lo), 0);
	assert_int_equal(ut_sock_drain(s, wire), 1);
	/* Bound to the loopback port, nothing else can be reached. */
	assert_int_equal(send_to(s, lo, "abc", 3, UT_PEER_IP, 100), -ENETUNREACH);
	assert_int_equal(send_to(s, lo, "abc", 3, LO, 200), 3);
	ut_stack_poll(s);
	assert_int_equal(ut_sock_drain(s, tx), 1);
}

/* ---- nobody there ---- */

static void
a_connected_sender_hears_that_nobody_is_there(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *tx;

	fill_pattern();
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 3; i++) {
		const uint32_t ip = i == 0 ? LO : i == 1 ? UT_IP(127, 3, 3, 3) : UT_OUR_IP;

		tx = ut_sock_bound(s, 0, (uint16_t)(200 + i));
		assert_int_equal(ut_sock_connect(tx, ip, 100), 0);
		for (unsigned int len = 0; len < 65507; len = len * 7 + 1) {
			uint8_t buf[4];

			/* As on Linux: sent, refused, sent, refused on receive. */
			assert_int_equal(weir_send(s->w[0], tx, big, len, NULL), len);
			ut_stack_poll(s);
			assert_int_equal(weir_send(s->w[0], tx, big, len, NULL), -ECONNREFUSED);
			assert_int_equal(weir_send(s->w[0], tx, big, len, NULL), len);
			ut_stack_poll(s);
			assert_int_equal(weir_recv(s->w[0], tx, buf, 4, NULL), -ECONNREFUSED);
			assert_int_equal(weir_recv(s->w[0], tx, buf, 4, NULL), -EAGAIN);
		}
	}
	tx = ut_sock_bound(s, 0, 300); /* unconnected: nothing */
	ut_stack_mark(s);
	for (unsigned int i = 0; i < 10; i++) {
		assert_int_equal(send_to(s, tx, big, 9, LO, 100), 9);
		ut_stack_poll(s);
		assert_int_equal(weir_socket_error(tx), 0);
	}
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 10, "nobody there");
}

/* More than the stack would tell a peer in a second: on this host every error is told. */
static void
errors_are_not_rationed_here(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *tx;

	cfg.stack.icmp_rate = 1;
	ut_stack_up(s, &cfg);
	tx = ut_sock_bound(s, 0, 200);
	assert_int_equal(ut_sock_connect(tx, LO, 100), 0);
	for (unsigned int i = 0; i < 50; i++) {
		assert_int_equal(weir_send(s->w[0], tx, "abc", 3, NULL), 3);
		ut_stack_poll(s);
		assert_int_equal(weir_socket_error(tx), -ECONNREFUSED);
	}
}

/* ---- bursts ---- */

/* Send n datagrams of a number each by one call, in flavours: plain, chained payload, shared payload. */
static uint16_t
send_numbers(struct ut_stack *s, struct weir_lcore *lc, struct weir_socket *tx,
	     const struct weir_addr *to, uint16_t n)
{
	struct weir_txmsg msg[512] = {{0}};
	uint16_t sent;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);

		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, 4), &i, 4);
		if (i % 5 == 4) { /* in two pieces, odd */
			struct rte_mbuf *tail = rte_pktmbuf_alloc(s->pool);

			assert_non_null(tail);
			rte_pktmbuf_trim(m, 3);
			memcpy(rte_pktmbuf_append(tail, 3), (uint8_t *)&i + 1, 3);
			m->next = tail;
			m->nb_segs = 2;
			m->pkt_len = 4;
		}
		msg[i] = (struct weir_txmsg){.m = m, .to = to};
	}
	sent = weir_send_burst(lc, tx, msg, n, 0);
	for (uint16_t i = sent; i < n; i++)
		rte_pktmbuf_free(msg[i].m);
	return sent;
}

static void
more_than_a_batch_at_once_arrives_in_order(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(LO, 100);
	struct weir_socket *rx, *tx;

	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	tx = ut_sock_bound(s, 0, 200);
	for (unsigned int connected = 0; connected < 2; connected++) {
		static const uint16_t sizes[] = {1, 63, 64, 65, 128, 129, 500};

		if (connected)
			assert_int_equal(ut_sock_connect(tx, LO, 100), 0);
		for (unsigned int i = 0; i < UT_N(sizes); i++) {
			assert_int_equal(send_numbers(s, s->w[0], tx, connected ? NULL : &to,
						      sizes[i]),
					 sizes[i]);
			assert_int_equal(weir_send_error(s->w[0]), 0);
			ut_stack_poll(s);
			for (uint32_t k = 0; k < sizes[i]; k++)
				ut_sock_must_read(s, rx, k, "of a burst");
			ut_sock_must_be_empty(s, rx, "after a burst");
		}
	}
	/* Too much for the receiver: what was accepted is counted where it went. */
	ut_sock_set(rx, WEIR_OPT_RCVBUF, 20 * (2048 + 128 + 128));
	ut_stack_mark(s);
	assert_int_equal(send_numbers(s, s->w[0], tx, NULL, 400), 400);
	ut_stack_poll(s);
	ut_stack_only_drop(s, WEIR_DROP_RCVQ_FULL, 400 - ut_sock_drain(s, rx), "overrun");
	/* And nobody at all, many at once. */
	weir_socket_close(rx);
	assert_int_equal(send_numbers(s, s->w[0], tx, NULL, 300), 300);
	ut_stack_poll(s);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 300, "nobody");
	assert_int_equal(weir_socket_error(tx), -ECONNREFUSED);
	ut_stack_identity(s, "after bursts to nobody");
}

/* A buffer that somebody else can see is not written to. */
static void
a_shared_payload_is_left_alone(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(LO, 100);
	struct weir_txmsg msg;
	struct weir_socket *rx, *tx;
	struct rte_mbuf *m;
	uint8_t before[2048];

	fill_pattern();
	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	tx = ut_sock_bound(s, 0, 200);
	m = ut_stack_payload(s, 100);
	memcpy(before, m->buf_addr, sizeof(before));
	for (unsigned int i = 0; i < 3; i++) {
		rte_mbuf_refcnt_update(m, 1);
		msg = (struct weir_txmsg){.m = m, .to = &to};
		assert_int_equal(weir_send_burst(s->w[0], tx, &msg, 1, 0), 1);
		ut_stack_poll(s);
		must_receive(s, rx, 100, LO, LO);
		ut_stack_poll(s); /* the lcore gives buffers back together */
		assert_memory_equal(m->buf_addr, before, sizeof(before));
		assert_int_equal(rte_mbuf_refcnt_read(m), 1);
		assert_int_equal(m->data_len, 100);
	}
	rte_pktmbuf_free(m);
}

/* What was received goes back as it is, again and again: fields of its earlier lives do not matter. */
static void
one_buffer_goes_back_and_forth(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[2];
	struct weir_txmsg tx;
	struct weir_rxmsg rx;

	fill_pattern();
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 2; i++)
		sk[i] = ut_sock_bound(s, LO, (uint16_t)(100 + i));
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(ut_sock_connect(sk[i], LO, (uint16_t)(101 - i)), 0);
	tx = (struct weir_txmsg){.m = ut_stack_payload(s, 64)};
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(weir_send_burst(s->w[0], sk[i & 1], &tx, 1, 0), 1);
		weir_turn(s->w[0]);
		assert_int_equal(weir_recv_burst(s->w[0], sk[1 - (i & 1)], &rx, 1), 1);
		assert_int_equal(rx.len, 64);
		assert_ptr_equal(rx.m, tx.m); /* no copy anywhere */
		ut_check_bytes(rte_pktmbuf_mtod(rx.m, void *), big, 64, "round %u", i);
	}
	weir_mbuf_free_bulk(&rx.m, 1);
}

/* ---- who sends ---- */

struct sender {
	struct ut_stack *s;
	struct weir_socket *tx, *rx;
	unsigned int received;
	int ret;
};

/* An attached thread: what it sends to this host is there when its call returns. */
static void *
attached(void *arg)
{
	struct sender *x = arg;
	struct weir_addr to = weir_addr_v4(LO, 100);
	struct weir_lcore *lc;
	uint8_t buf[16];

	x->ret = weir_thread_attach(x->s->stack, &lc);
	if (x->ret != 0)
		return NULL;
	for (unsigned int i = 0; i < 1000 && x->ret == 0; i++) {
		if (weir_send(lc, x->tx, "abc", 3, &to) != 3 ||
		    weir_recv(lc, x->rx, buf, sizeof(buf), NULL) != 3)
			x->ret = -1;
		x->received++;
	}
	if (send_numbers(x->s, lc, x->tx, &to, 200) != 200)
		x->ret = -2;
	for (uint32_t i = 0; i < 200 && x->ret == 0; i++) {
		uint32_t got;

		if (weir_recv(lc, x->rx, &got, 4, NULL) != 4 || got != i)
			x->ret = -3;
	}
	to = weir_addr_v4(LO, 101); /* nobody */
	if (weir_socket_connect(x->tx, &to) != 0 || weir_send(lc, x->tx, "abc", 3, NULL) != 3 ||
	    weir_send(lc, x->tx, "abc", 3, NULL) != -ECONNREFUSED)
		x->ret = -4;
	weir_lcore_detach(lc);
	return NULL;
}

static void
an_attached_thread_needs_no_worker(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct sender x = {.s = s};
	pthread_t thread;

	ut_stack_up(s, &cfg);
	x.rx = ut_sock_bound(s, 0, 100);
	x.tx = ut_sock_bound(s, 0, 200);
	assert_int_equal(pthread_create(&thread, NULL, attached, &x), 0);
	pthread_join(thread, NULL);
	ut_check(x.ret == 0, "%d after %u", x.ret, x.received);
	ut_stack_identity(s, "after an attached thread");
}

static void
a_call_on_a_worker_may_send_to_its_own_host(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(LO, 100);
	struct weir_socket *rx, *tx;
	struct weir_stats st;

	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	tx = ut_sock_bound(s, 0, 200);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
	assert_int_equal(weir_recv_wait(s->w[0], rx, WEIR_NS_PER_S),
			 0); /* its own turn brings it */
	assert_int_equal(ut_sock_drain(s, rx), 40);
	assert_int_equal(weir_stats_port(s->stack, WEIR_PORT_LOOPBACK, &st), 0);
	assert_int_equal(st.rx_frames, 40);
	assert_int_equal(st.tx_frames, 40);
	assert_int_equal(st.rx_bytes, 40 * 45);
	assert_int_equal(st.tx_bytes, 40 * 45);
	/* Still on its way when the worker leaves: accounted for. */
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
	ut_stack_identity(s, "with frames on their way");
}

/* ---- wires ---- */

static void
no_wire_speaks_as_this_host(void **state)
{
	static const struct {
		uint32_t src, dst;
		enum weir_drop why;
	} row[] = {
		{LO, UT_IP(10, 0, 0, 1), WEIR_DROP_IP_SRC},
		{UT_IP(127, 200, 0, 9), UT_IP(10, 0, 0, 1), WEIR_DROP_IP_SRC},
		{UT_IP(10, 0, 0, 1), UT_IP(10, 0, 0, 1), WEIR_DROP_IP_SRC},
		{UT_IP(10, 0, 1, 1), UT_IP(10, 0, 0, 1), WEIR_DROP_IP_SRC},
		{UT_IP(10, 0, 0, 2), LO, WEIR_DROP_IP_DST},
		{UT_IP(10, 0, 0, 2), UT_IP(127, 1, 1, 1), WEIR_DROP_IP_DST},
		{LO, LO, WEIR_DROP_IP_SRC},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *rx;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	rx = ut_sock_bound(s, 0, 100);
	ut_stack_mark(s);
	for (unsigned int warm = 0; warm < 2; warm++) {
		for (unsigned int r = 0; r < UT_N(row); r++) {
			/* Behind a good one in the same burst too: a train must not carry it along. */
			struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, "abcd", 4);

			if (warm != 0)
				ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
			p.ip_src = row[r].src;
			p.ip_dst = row[r].dst;
			ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
			ut_stack_poll(s);
			ut_stack_only_drop(s, row[r].why, 1, "from a wire");
			assert_int_equal(ut_sock_drain(s, rx), warm);
		}
	}
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(every_size_comes_back),
		UT_STACK_TEST(the_source_is_who_was_spoken_to),
		UT_STACK_TEST(interfaces_and_loopback),
		UT_STACK_TEST(a_connected_sender_hears_that_nobody_is_there),
		UT_STACK_TEST(errors_are_not_rationed_here),
		UT_STACK_TEST(more_than_a_batch_at_once_arrives_in_order),
		UT_STACK_TEST(a_shared_payload_is_left_alone),
		UT_STACK_TEST(one_buffer_goes_back_and_forth),
		UT_STACK_TEST(an_attached_thread_needs_no_worker),
		UT_STACK_TEST(a_call_on_a_worker_may_send_to_its_own_host),
		UT_STACK_TEST(no_wire_speaks_as_this_host),
	};

	return UT_RUN(cases, NULL, NULL);
}
