/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving by copy: peeks and their offset, truncation, scattered buffers, the length of the next
 * datagram, what a message says about its datagram, shutdown, several readers.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut_clock.h"
#include "common/ut_sock.h"

#include "recvq.h"
#include "sock.h"

#define PORT 100

static void
queue(struct ut_stack *s, const void *bytes, size_t len)
{
	struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, PORT, bytes, len);

	ut_stack_rx(s, 0, &p);
}

/* Receive at most size bytes; want: the bytes that must come, NULL: the errno. */
static void
must_get(struct ut_stack *s, struct weir_socket *sk, unsigned int flags, size_t size,
	 const char *want, ssize_t err, uint32_t whole, const char *what)
{
	struct weir_rxmsg info;
	uint8_t buf[64];
	struct iovec iov = {buf, size};
	ssize_t got = weir_recv_iov(s->w[0], sk, &iov, 1, &info, flags);

	if (want == NULL) {
		ut_check(got == err, "%s: %zd", what, got);
		return;
	}
	ut_check(got == (ssize_t)strlen(want), "%s: %zd", what, got);
	ut_check_bytes(buf, want, strlen(want), "%s", what);
	ut_check(info.len == whole, "%s: length %u", what, info.len);
	assert_null(info.m);
}

#define PEEK(size, want, whole) must_get(s, sk, WEIR_RECV_PEEK, size, want, 0, whole, "peek " #want)
#define READ(size, want, whole) must_get(s, sk, 0, size, want, 0, whole, "read " #want)
#define PEEK_NONE()             must_get(s, sk, WEIR_RECV_PEEK, 9, NULL, -EAGAIN, 0, "peek nothing")
#define READ_NONE()             must_get(s, sk, 0, 9, NULL, -EAGAIN, 0, "read nothing")
#define OFFSET()                ut_sock_get(sk, WEIR_OPT_PEEK_OFF)

static struct weir_socket *
up(struct ut_stack *s)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	return ut_sock_bound(s, 0, PORT);
}

static void
a_plain_peek_shows_the_first_again_and_again(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);

	PEEK_NONE();
	assert_int_equal(OFFSET(), -1);
	queue(s, "", 0);
	queue(s, "abcd", 4);
	for (unsigned int i = 0; i < 3; i++) { /* an empty one too */
		PEEK(9, "", 0);
		assert_int_equal(weir_recv_next_len(s->w[0], sk), 0);
	}
	READ(9, "", 0);
	for (unsigned int i = 0; i < 3; i++) {
		PEEK(9, "abcd", 4);
		PEEK(2, "ab", 4);
		PEEK(0, "", 4);
		assert_int_equal(weir_recv_next_len(s->w[0], sk), 4);
		queue(s, "more", 4); /* behind it; spliced or not */
	}
	assert_int_equal(OFFSET(), -1);
	READ(9, "abcd", 4);
	assert_int_equal(ut_sock_drain(s, sk), 3);
	PEEK_NONE();
}

/* The numbers that were observed on Linux. */
static void
an_offset_walks_over_the_datagrams(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);

	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 0);
	PEEK_NONE();
	queue(s, "abcd", 4);
	queue(s, "efgh", 4);
	PEEK(3, "abc", 4);
	assert_int_equal(OFFSET(), 3);
	PEEK(3, "d", 1);
	assert_int_equal(OFFSET(), 4);
	PEEK(10, "efgh", 4);
	assert_int_equal(OFFSET(), 8);
	PEEK_NONE();
	assert_int_equal(OFFSET(), 8);
	READ(9, "abcd", 4);
	assert_int_equal(OFFSET(), 4);
	PEEK_NONE();
	queue(s, "ij", 2); /* peeked from the other queue */
	PEEK(9, "ij", 2);
	assert_int_equal(OFFSET(), 6);
	READ(9, "efgh", 4);
	READ(9, "ij", 2);
	assert_int_equal(OFFSET(), 0);
	READ_NONE();
	/* A read that starts below what was peeked never goes below 0. */
	queue(s, "abcd", 4);
	PEEK(1, "a", 4);
	READ(9, "abcd", 4);
	assert_int_equal(OFFSET(), 0);
	/* An offset in the middle, beyond the end, and off again. */
	queue(s, "abcd", 4);
	queue(s, "ef", 2);
	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 5);
	PEEK(9, "f", 1);
	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 7);
	PEEK_NONE();
	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, -1);
	PEEK(9, "abcd", 4);
	PEEK(9, "abcd", 4);
	assert_int_equal(OFFSET(), -1);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_PEEK_OFF, -2), -EINVAL);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_PEEK_OFF, INT64_C(1) << 31), -EINVAL);
	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, INT32_MAX);
	PEEK_NONE();
}

/* With an offset an empty datagram is shown once, where it stands. */
static void
empty_datagrams_are_shown_once(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);

	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 0);
	queue(s, "", 0);
	queue(s, "", 0);
	queue(s, "abc", 3);
	queue(s, "", 0);
	PEEK(9, "", 0);
	PEEK(9, "", 0);
	PEEK(9, "abc", 3);
	PEEK(9, "", 0);
	PEEK_NONE();
	assert_int_equal(OFFSET(), 3);
	/* Reading the empty ones in front brings none of the shown ones back. */
	READ(9, "", 0);
	PEEK_NONE();
	READ(9, "", 0);
	PEEK_NONE();
	READ(9, "abc", 3);
	assert_int_equal(OFFSET(), 0);
	PEEK_NONE();
	queue(s, "", 0); /* a new one is new */
	PEEK(9, "", 0);
	PEEK_NONE();
	READ(9, "", 0);
	READ(9, "", 0);
	READ_NONE();
	queue(s, "", 0);
	PEEK(9, "", 0);
	PEEK_NONE();
}

/* Every call that reads moves the offset, whichever it is. */
static void
each_way_of_reading_moves_the_offset(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);
	struct weir_rxmsg msg[4];
	uint8_t buf[8];

	for (unsigned int gro = 0; gro < 2; gro++) {
		ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 0);
		ut_sock_set(sk, WEIR_OPT_GRO, gro);
		queue(s, "abc", 3);
		queue(s, "defg", 4);
		queue(s, "hi", 2);
		queue(s, "", 0);
		PEEK(9, "abc", 3);
		PEEK(9, "defg", 4);
		PEEK(9, "hi", 2);
		PEEK(9, "", 0);
		assert_int_equal(OFFSET(), 9);
		assert_int_equal(weir_recv(s->w[0], sk, buf, sizeof(buf), NULL), 3);
		assert_int_equal(OFFSET(), 6);
		assert_int_equal(weir_recv_burst(s->w[0], sk, msg, 4), gro ? 2 : 3);
		assert_int_equal(OFFSET(), 0);
		weir_mbuf_free_bulk(&msg[0].m, 1);
		weir_mbuf_free_bulk(&msg[1].m, 1);
		if (!gro)
			weir_mbuf_free_bulk(&msg[2].m, 1);
		queue(s, "x", 1);
		PEEK(9, "x", 1);
		READ(9, "x", 1);
	}
}

static void
what_does_not_fit_is_gone(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);
	uint8_t buf[8];

	queue(s, "abcd", 4);
	queue(s, "efgh", 4);
	queue(s, "ijkl", 4);
	queue(s, "mnop", 4);
	READ(2, "ab", 4);
	assert_int_equal(weir_recv(s->w[0], sk, buf, 2, NULL), 4); /* the whole length */
	assert_memory_equal(buf, "ef", 2);
	READ(0, "", 4);
	READ(9, "mnop", 4);
	READ_NONE();
}

/* Payload in one piece or several, into one buffer or several: every byte in its place. */
static void
any_pieces_go_into_any_buffers(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);
	struct ut_rng rng = ut_rng();

	for (unsigned int round = 0; round < 400; round++) {
		const uint32_t len = ut_rand_below(&rng, round % 4 == 0 ? 1400 : 40);
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, PORT, NULL, len);
		uint8_t frame[2048], out[2048];
		uint32_t total = 0, fits, at = 0;
		struct rte_mbuf *m = NULL, *last = NULL;
		struct weir_rxmsg info;
		struct iovec iov[6];
		size_t size;
		ssize_t got;

		if (round % 3 == 0) {
			memset(p.ip_opt, 1, 12);
			p.ip_opt_len = 12;
		}
		size = ut_pkt_bytes(&p, frame, sizeof(frame));
		while (at < size) { /* a chain of pieces of any length */
			uint32_t here =
				round % 2 == 0 ? (uint32_t)size : 1 + ut_rand_below(&rng, 100);
			struct rte_mbuf *seg;

			here = here > size - at ? (uint32_t)size - at : here;
			seg = ut_bytes_mbuf(frame + at, here, s->pool);
			at += here;
			if (m == NULL)
				m = seg;
			else
				last->next = seg, m->nb_segs++;
			last = seg;
		}
		m->pkt_len = (uint32_t)size;
		ut_stack_rx_mbuf(s, 0, m);
		memset(out, 0xee, sizeof(out));
		for (unsigned int i = 0; i < UT_N(iov); i++) {
			uint32_t room = ut_rand_below(&rng, len / 3 + 2);

			iov[i] = (struct iovec){out + total, room};
			total += room;
		}
		fits = total < len ? total : len;
		for (unsigned int peek = 1; peek < 2; peek--) { /* peek first, then read */
			got = weir_recv_iov(s->w[0], sk, iov, UT_N(iov), &info,
					    peek ? WEIR_RECV_PEEK : 0);
			ut_check(got == (ssize_t)fits, "round %u: %zd of %u into %u", round, got,
				 len, total);
			assert_int_equal(info.len, len);
			for (uint32_t b = 0; b < sizeof(out); b++)
				ut_check(out[b] == (b < fits ? ut_pattern(b) : 0xee),
					 "round %u, byte %u of %u", round, b, fits);
			memset(out, 0xee, sizeof(out));
			if (peek == 0)
				break;
		}
		assert_int_equal(weir_recv_iov(s->w[0], sk, NULL, 0, NULL, 0), -EAGAIN);
	}
}

static void
no_buffer_at_all_is_a_buffer_of_none(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);
	struct weir_rxmsg info;

	queue(s, "abcd", 4);
	assert_int_equal(weir_recv_iov(s->w[0], sk, NULL, 0, &info, WEIR_RECV_PEEK), 0);
	assert_int_equal(info.len, 4);
	assert_int_equal(weir_recv_iov(s->w[0], sk, NULL, 0, NULL, 0), 0);
	READ_NONE();
}

/* Each message describes its own datagram, by peek and by read, from both queues. */
static void
messages_describe_their_datagram(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	struct weir_rxmsg info;
	uint8_t buf[8];
	struct iovec iov = {buf, sizeof(buf)};

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, PORT);
	for (unsigned int i = 0; i < 20; i++) {
		const unsigned int port = i % 3 == 0;
		struct ut_pkt p =
			ut_sock_pkt(port, UT_HOST(port, 2 + i), (uint16_t)(i == 7 ? 0 : 700 + i),
				    i % 5 == 0 ? UT_BCAST(port) : UT_OUR(port), PORT, "abcd",
				    i % 5);

		p.ip_tos = (uint8_t)(i * 13);
		p.ip_ttl = (uint8_t)(1 + i);
		if (i % 4 == 3) {
			memset(p.ip_opt, 1, 8);
			p.ip_opt_len = 8;
		}
		ut_clock_set((100 + i) * WEIR_NS_PER_S);
		ut_stack_rx(s, port, &p);
		if (i == 9) /* the rest stays in the other queue */
			assert_int_equal(weir_recv_iov(s->w[0], sk, &iov, 1, NULL, WEIR_RECV_PEEK),
					 0);
	}
	ut_clock_set(1000 * WEIR_NS_PER_S);
	for (unsigned int i = 0; i < 40; i++) {
		const unsigned int k = i / 2;
		const unsigned int port = k % 3 == 0;

		memset(&info, 0xee, sizeof(info));
		assert_int_equal(weir_recv_iov(s->w[0], sk, &iov, 1, &info,
					       i % 2 == 0 ? WEIR_RECV_PEEK : 0),
				 k % 5);
		assert_int_equal(info.len, k % 5);
		assert_int_equal(ut_addr_ip(&info.peer), UT_HOST(port, 2 + k));
		assert_int_equal(ut_addr_port(&info.peer), k == 7 ? 0 : 700 + k);
		assert_int_equal(ut_addr_ip(&info.local),
				 k % 5 == 0 ? UT_BCAST(port) : UT_OUR(port));
		assert_int_equal(ut_addr_port(&info.local), PORT);
		assert_int_equal(info.peer.family, WEIR_IPV4);
		assert_int_equal(info.local.family, WEIR_IPV4);
		assert_int_equal(info.peer.scope, 0);
		assert_int_equal(info.tos, (uint8_t)(k * 13));
		assert_int_equal(info.ttl, 1 + k);
		assert_int_equal(info.port, port);
		assert_int_equal(info.time_ns, (100 + k) * WEIR_NS_PER_S);
		assert_int_equal(info.gso_size, 0);
		assert_int_equal(info.drops, 0);
	}
}

/* Peeking costs nothing: no charge comes back, nothing counts as read. */
static void
a_peek_leaves_everything_as_it_is(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);
	struct weir_socket_stats before, after;

	queue(s, "abcd", 4);
	queue(s, "ef", 2);
	weir_socket_stats_get(sk, &before);
	ut_stack_mark(s);
	for (unsigned int i = 0; i < 5; i++)
		PEEK(9, "abcd", 4);
	weir_socket_stats_get(sk, &after);
	assert_int_equal(after.read, 0);
	assert_int_equal(after.charged_bytes, before.charged_bytes);
	assert_int_equal(ut_stack_since(s, rx_read), 0);
	ut_stack_identity(s, "after peeks");
	READ(9, "abcd", 4);
	READ(9, "ef", 2);
	assert_int_equal(ut_sock_charged(sk), 0);
}

static void
after_shutdown_what_is_queued_can_be_read(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);

	queue(s, "abcd", 4);
	assert_int_equal(weir_socket_shutdown(sk, 0), -EINVAL);
	assert_int_equal(weir_socket_shutdown(sk, 4), -EINVAL);
	assert_int_equal(weir_socket_shutdown(sk, WEIR_SHUT_RD), -ENOTCONN); /* but done */
	PEEK(9, "abcd", 4);
	READ(9, "abcd", 4);
	must_get(s, sk, 0, 9, NULL, -ESHUTDOWN, 0, "shut down");
	must_get(s, sk, WEIR_RECV_PEEK, 9, NULL, -ESHUTDOWN, 0, "shut down");
	queue(s, "ef", 2); /* still delivered, as on Linux */
	READ(9, "ef", 2);
	/* It survives what becomes of the association. */
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	assert_int_equal(weir_socket_shutdown(sk, WEIR_SHUT_WR), 0);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, NULL), -EPIPE);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, NULL), -EPIPE);
	must_get(s, sk, 0, 9, NULL, -ESHUTDOWN, 0, "shut down");
}

/* A pending error comes first and once; the datagram stays. */
static void
a_pending_error_comes_first(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s);

	for (unsigned int i = 0; i < 3; i++) {
		uint8_t buf[4];

		queue(s, "abcd", 4);
		atomic_store(&sk->error, ECONNREFUSED);
		if (i == 0)
			must_get(s, sk, 0, 9, NULL, -ECONNREFUSED, 0, "error");
		else if (i == 1)
			must_get(s, sk, WEIR_RECV_PEEK, 9, NULL, -ECONNREFUSED, 0, "error");
		else
			assert_int_equal(weir_recv(s->w[0], sk, buf, 4, NULL), -ECONNREFUSED);
		READ(9, "abcd", 4);
	}
}

/* ---- several readers ---- */

struct reader {
	struct ut_stack *s;
	struct weir_socket *sk;
	atomic_bool stop;
	bool peeker;
	_Atomic uint64_t n, bad;
	uint32_t last;
};

/* A datagram is its number and a tail that follows from it: a mixture of two is seen. */
static uint32_t
make_datagram(uint32_t number, uint8_t *buf)
{
	uint32_t len = 8 + number % 90;

	memcpy(buf, &number, 4);
	memcpy(buf + 4, &len, 4);
	for (uint32_t i = 8; i < len; i++)
		buf[i] = (uint8_t)(number * 31 + i);
	return len;
}

static void *
reader(void *arg)
{
	struct reader *r = arg;
	struct weir_lcore *lc;
	uint8_t buf[128], want[128];

	if (weir_thread_attach(r->s->stack, &lc) != 0)
		return NULL;
	for (;;) {
		struct weir_rxmsg info;
		struct iovec iov = {buf, sizeof(buf)};
		bool stop = atomic_load(&r->stop);
		ssize_t got =
			weir_recv_iov(lc, r->sk, &iov, 1, &info, r->peeker ? WEIR_RECV_PEEK : 0);
		uint32_t number;

		if (got < 0 || r->peeker) {
			weir_recv_next_len(lc, r->sk);
			if (stop)
				break;
			sched_yield();
		}
		if (got < 0)
			continue;
		memcpy(&number, buf, 4);
		if (got != make_datagram(number, want) || info.len != (uint32_t)got ||
		    memcmp(buf, want, (size_t)got) != 0 || (r->n > 0 && number < r->last))
			atomic_fetch_add(&r->bad, 1);
		r->last = number;
		atomic_fetch_add(&r->n, 1);
	}
	weir_lcore_detach(lc);
	return NULL;
}

static void
several_threads_read_and_peek(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket_conf conf;
	struct reader r[4];
	pthread_t thread[4];
	struct weir_socket *sk;
	const uint32_t n = 20000;
	uint64_t read = 0;

	cfg.stack.max_threads = 4;
	ut_stack_up(s, &cfg);
	weir_socket_conf_init(&conf);
	conf.readers = true;
	assert_int_equal(weir_socket_open(s->stack, &conf, &sk), 0);
	assert_int_equal(ut_sock_bind(sk, 0, PORT), 0);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_READERS), 1);
	for (unsigned int i = 0; i < 4; i++) {
		memset(&r[i], 0, sizeof(r[i]));
		r[i].s = s;
		r[i].sk = sk;
		r[i].peeker = i == 3;
		assert_int_equal(pthread_create(&thread[i], NULL, reader, &r[i]), 0);
	}
	for (uint32_t i = 0; i < n;) {
		uint8_t buf[128];

		for (unsigned int k = 0; k < 16; k++, i++) {
			uint32_t len = make_datagram(i, buf);
			struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, PORT, buf, len);

			ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
		}
		weir_turn(s->w[0]);
		/* The pool of the test is finite. */
		while (ut_sock_queued(sk) - weir_counter_read(&sk->rq.n_read) > 500)
			weir_idle(s->w[0], weir_turn(s->w[0]));
	}
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 4; i++)
		atomic_store(&r[i].stop, true);
	for (unsigned int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		ut_check(r[i].bad == 0, "thread %u: %" PRIu64 " wrong of %" PRIu64, i,
			 atomic_load(&r[i].bad), atomic_load(&r[i].n));
		read += r[i].peeker ? 0 : r[i].n;
	}
	assert_int_equal(read, n); /* each to exactly one */
	assert_int_equal(ut_sock_charged(sk), 0);
	ut_stack_identity(s, "after several readers");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(a_plain_peek_shows_the_first_again_and_again),
		UT_STACK_TEST(an_offset_walks_over_the_datagrams),
		UT_STACK_TEST(empty_datagrams_are_shown_once),
		UT_STACK_TEST(each_way_of_reading_moves_the_offset),
		UT_STACK_TEST(what_does_not_fit_is_gone),
		UT_STACK_TEST(any_pieces_go_into_any_buffers),
		UT_STACK_TEST(no_buffer_at_all_is_a_buffer_of_none),
		UT_STACK_TEST(messages_describe_their_datagram),
		UT_STACK_TEST(a_peek_leaves_everything_as_it_is),
		UT_STACK_TEST(after_shutdown_what_is_queued_can_be_read),
		UT_STACK_TEST(a_pending_error_comes_first),
		UT_STACK_TEST(several_threads_read_and_peek),
	};

	return UT_RUN(cases, NULL, NULL);
}
