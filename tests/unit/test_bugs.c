/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others got wrong in this design since it is in use, numbered as in the project's list of it: each that
 * can exist here has a case, small and to the point, which was seen failing with its guarding line
 * broken. Numbers that are missing cannot exist in this stack, or are elsewhere: 9 in tests/mc and the
 * thread sanitizer's run, 15 in test_errq.c, 21 in test_event.c, 28 in test_socktab.c, 36 in test_lookup.c,
 * 37 in test_options.c.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut_clock.h"
#include "common/ut_sock.h"

#include "control_state.h"
#include "event.h"
#include "recvq.h"
#include "route.h"
#include "sock.h"
#include "socktab.h"

static struct weir_socket *
up(struct ut_stack *s, unsigned int n_ports)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = n_ports;
	ut_stack_up(s, &cfg);
	return ut_sock_bound(s, 0, 100);
}

static void
queue(struct ut_stack *s, const void *bytes, size_t len)
{
	struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, bytes, len);

	ut_stack_rx(s, 0, &p);
}

static ssize_t
peek(struct ut_stack *s, struct weir_socket *sk, void *buf, size_t size)
{
	struct iovec iov = {buf, size};

	return weir_recv_iov(s->w[0], sk, &iov, 1, NULL, WEIR_RECV_PEEK);
}

/* ---- 2.1 queues, accounting, wake-ups ---- */

/* A datagram with a bad sum is charged to nobody: it is refused before it is queued, whatever its size. */
static void
bug_01_bad_sums_are_never_charged(void **state)
{
	static const size_t sizes[] = {0, 10, 68, 69, 100, 1472};
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	uint8_t buf[8];

	for (unsigned int i = 0; i < UT_N(sizes); i++) {
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, NULL, sizes[i]);

		p.udp_csum = 0x1111;
		ut_stack_mark(s);
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_UDP_CSUM, 1, "bad sum");
		assert_int_equal(ut_sock_charged(sk), 0);
		assert_int_equal(ut_sock_queued(sk), 0);
		assert_int_equal(peek(s, sk, buf, sizeof(buf)), -EAGAIN);
		assert_int_equal(weir_event_mask(sk) & WEIR_EV_IN, 0);
	}
}

static void
bug_02_an_empty_queue_takes_any_size(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);

	ut_sock_set(sk, WEIR_OPT_RCVBUF, 1);
	for (uint32_t i = 0; i < 3; i++) {
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 99);
		ut_sock_must_read(s, sk, i, "into an empty queue");
		ut_sock_must_be_empty(s, sk, "the second");
	}
}

/* What a reader may ask for is kept with the datagram. */
static void
bug_03_a_datagram_keeps_what_is_asked_for(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 2);

	for (unsigned int copy = 0; copy < 2; copy++) {
		for (unsigned int i = 0; i < 4; i++) {
			struct ut_pkt p = ut_sock_pkt(i & 1, UT_HOST(i & 1, 2), (uint16_t)(700 + i),
						      UT_OUR(i & 1), 100, "abcd", 4);

			p.ip_tos = (uint8_t)(0xb8 + i);
			p.ip_ttl = (uint8_t)(30 + i);
			if (i >= 2) {
				memset(p.ip_opt, 1, 8);
				p.ip_opt_len = 8;
			}
			ut_clock_advance(WEIR_NS_PER_S);
			ut_stack_rx(s, i & 1, &p);
		}
		for (unsigned int i = 0; i < 4; i++) {
			struct weir_rxmsg msg;

			if (copy) {
				assert_int_equal(weir_recv_iov(s->w[0], sk, NULL, 0, &msg, 0), 0);
			} else {
				assert_int_equal(weir_recv_burst(s->w[0], sk, &msg, 1), 1);
				weir_mbuf_free_bulk(&msg.m, 1);
			}
			assert_int_equal(msg.tos, 0xb8 + i);
			assert_int_equal(msg.ttl, 30 + i);
			assert_int_equal(msg.port, i & 1);
			assert_int_equal(ut_addr_ip(&msg.local), UT_OUR(i & 1));
			assert_int_equal(ut_addr_ip(&msg.peer), UT_HOST(i & 1, 2));
			assert_int_equal(ut_addr_port(&msg.peer), 700 + i);
			assert_int_equal(msg.time_ns, ut_clock_now() - (3 - i) * WEIR_NS_PER_S);
		}
	}
}

struct taker {
	struct ut_stack *s;
	struct weir_socket *sk;
	atomic_bool started, took;
};

static void *
take_one(void *arg)
{
	struct taker *t = arg;
	struct weir_lcore *lc;
	uint8_t buf[8];

	if (weir_thread_attach(t->s->stack, &lc) != 0)
		return NULL;
	atomic_store(&t->started, true);
	if (weir_recv(lc, t->sk, buf, sizeof(buf), NULL) == 4)
		atomic_store(&t->took, true);
	weir_lcore_detach(lc);
	return NULL;
}

/* While one looks at a datagram, another reader does not take it away. */
static void
bug_04_a_peeked_datagram_stays_while_it_is_looked_at(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	struct taker t = {.s = s, .sk = sk};
	struct weir_recvq_pos pos;
	pthread_t thread;

	ut_sock_set(sk, WEIR_OPT_READERS, 1);
	queue(s, "abcd", 4);
	weir_recvq_hold(&sk->rq); /* as every peek does */
	assert_non_null(weir_recvq_first(&sk->rq, &pos));
	assert_int_equal(pthread_create(&thread, NULL, take_one, &t), 0);
	while (!atomic_load(&t.started))
		sched_yield();
	for (unsigned int i = 0; i < 50; i++) /* time enough, if it could */
		sched_yield();
	assert_false(atomic_load(&t.took));
	weir_recvq_unhold(&sk->rq);
	pthread_join(thread, NULL);
	assert_true(atomic_load(&t.took));
}

static void
bug_05_a_plain_peek_shows_empty_datagrams(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	uint8_t buf[8];

	queue(s, "", 0);
	queue(s, "abcd", 4);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(peek(s, sk, buf, sizeof(buf)), 0);
}

/* A look writes nothing into a packet: neither flags nor results. */
static void
bug_07_08_peeking_writes_nothing_into_packets(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	struct {
		struct rte_mbuf *m;
		struct rte_mbuf head;
		uint8_t buf[2048];
	} before[3];
	struct weir_recvq_pos pos;
	struct rte_mbuf *m;
	unsigned int n = 0;
	uint8_t buf[64];

	queue(s, "abcd", 4);
	queue(s, "", 0);
	queue(s, "efghij", 6);
	assert_int_equal(peek(s, sk, buf, 1), 1); /* what moves, moves now: the splice */
	for (m = weir_recvq_first(&sk->rq, &pos); m != NULL;
	     m = weir_recvq_next(&sk->rq, &pos), n++) {
		before[n].m = m;
		before[n].head = *m;
		memcpy(before[n].buf, m->buf_addr, sizeof(before[n].buf));
	}
	assert_int_equal(n, 3);
	ut_sock_set(sk, WEIR_OPT_PEEK_OFF, 0);
	for (unsigned int i = 0; i < 6; i++) {
		peek(s, sk, buf, 3);
		weir_recv_next_len(s->w[0], sk);
		weir_event_mask(sk);
	}
	for (unsigned int i = 0; i < n; i++) {
		assert_memory_equal(before[i].m, &before[i].head, sizeof(before[i].head));
		assert_memory_equal(before[i].m->buf_addr, before[i].buf, sizeof(before[i].buf));
	}
}

/* The queue by itself, with true sizes that no machine could hold. */
static struct weir_recvq q;

static unsigned int
produce(struct ut_stack *s, uint32_t each, unsigned int n)
{
	struct rte_mbuf *m[WEIR_RUN_MAX];
	struct weir_recvq_batch b = {.m = m, .each = each, .n = (uint16_t)n};
	unsigned int took;

	for (unsigned int i = 0; i < n; i++) {
		m[i] = rte_pktmbuf_alloc(s->pool);
		assert_non_null(m[i]);
	}
	took = weir_recvq_produce(&q, &b);
	rte_pktmbuf_free_bulk(m + took, n - took);
	return took;
}

static void
consume(unsigned int n)
{
	struct rte_mbuf *m;

	while (n-- > 0) {
		assert_int_equal(weir_recvq_consume(&q, &m, 1), 1);
		rte_pktmbuf_free(m);
	}
}

static void
bug_10_limits_beyond_31_and_32_bits_work(void **state)
{
	static const uint64_t limits[] = {INT32_MAX - 1,           INT32_MAX,  UINT64_C(1) << 31,
					  UINT32_MAX - 1,          UINT32_MAX, UINT64_C(1) << 32,
					  (UINT64_C(1) << 32) + 5, INT64_MAX,  UINT64_MAX};
	struct ut_stack *s = *state;

	up(s, 1);
	for (unsigned int i = 0; i < UT_N(limits); i++) {
		weir_recvq_init(&q, limits[i]);
		assert_int_equal(weir_recvq_limit(&q), limits[i]);
		for (unsigned int k = 0; k < 3; k++)
			ut_check(produce(s, 1000, 5) == 5, "limit %#" PRIx64, limits[i]);
		assert_int_equal(weir_recvq_charge(&q), 15000);
		consume(15);
		assert_int_equal(weir_recvq_charge(&q), 0);
	}
}

static void
bug_11_a_reader_that_runs_dry_owes_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);

	for (unsigned int i = 1; i < 5; i++) {
		for (unsigned int k = 0; k < i; k++)
			queue(s, "abcd", 4);
		assert_true(ut_sock_charged(sk) > 0);
		assert_int_equal(ut_sock_drain(s, sk), i);
		assert_int_equal(ut_sock_charged(sk), 0);
		for (unsigned int k = 0; k < i; k++) {
			queue(s, "abcd", 4);
			ut_sock_must_read(s, sk, 0x64636261, "one");
			assert_int_equal(ut_sock_charged(sk), 0);
		}
	}
}

/* Whoever asks whether there is something asks both queues: a peeked datagram is in the reader's. */
static void
bug_12_18_a_peeked_datagram_is_readable(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	uint8_t buf[8];

	queue(s, "abcd", 4);
	assert_int_equal(peek(s, sk, buf, sizeof(buf)), 4);
	assert_true(weir_recvq_readable(&sk->rq));
	assert_int_equal(weir_event_mask(sk) & WEIR_EV_IN, WEIR_EV_IN);
	assert_int_equal(weir_recv_next_len(s->w[0], sk), 4);
	assert_int_equal(weir_recv_wait(s->w[0], sk, 0), 0); /* no turn is needed to see it */
	ut_sock_must_read(s, sk, 0x64636261, "peeked");
}

static void
bug_13_a_new_limit_is_a_new_lump(void **state)
{
	struct ut_stack *s = *state;

	up(s, 1);
	weir_recvq_init(&q, 1u << 30);
	assert_int_equal(produce(s, 1000, 12), 12);
	weir_recvq_set_limit(&q, 12000); /* a lump is 3000 now */
	consume(2);
	assert_int_equal(weir_recvq_charge(&q), 12000);
	consume(1);
	assert_int_equal(weir_recvq_charge(&q), 9000);
	assert_int_equal(produce(s, 1000, 4), 3);
	consume(12);
	assert_int_equal(weir_recvq_charge(&q), 0);
}

/* Sums over pieces of odd length, in and out. */
static void
bug_14_odd_pieces_are_summed_right(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);
	struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, NULL, 60);
	uint8_t frame[128];
	size_t len = ut_pkt_bytes(&p, frame, sizeof(frame));

	ut_stack_peer(s);
	ut_stack_mark(s);
	for (uint32_t cut = 43; cut < len; cut++) {
		struct rte_mbuf *m = ut_bytes_mbuf(frame, cut, s->pool);
		struct weir_txmsg msg = {.to = &to};
		struct ut_frame f;

		m->next = ut_bytes_mbuf(frame + cut, len - cut, s->pool);
		m->nb_segs = 2;
		m->pkt_len = (uint32_t)len;
		ut_stack_rx_mbuf(s, 0, m);
		ut_check(ut_sock_drain(s, sk) == 1, "cut at %u", cut);
		/* Out: payload of the same pieces. */
		m = ut_bytes_mbuf(frame + 42, cut - 42, s->pool);
		m->next = ut_bytes_mbuf(frame + cut, len - cut, s->pool);
		m->nb_segs = 2;
		m->pkt_len = 60;
		msg.m = m;
		assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 1);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		ut_check(ut_csum(f.b + 34, 68, ut_pseudo_sum(UT_OUR_IP, UT_PEER_IP, 17, 68)) == 0,
			 "sent, cut at %u", cut);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "odd pieces");
}

/* Charged is what is published, to the byte. */
static void
bug_17_the_charge_is_the_published_true_size(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	const uint64_t buffer = rte_pktmbuf_data_room_size(s->pool) + WEIR_TRUESIZE_OVERHEAD;
	uint64_t want = 0;

	for (unsigned int i = 0; i < 10; i++) {
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, NULL, i * 100);
		uint8_t frame[1200];
		size_t len = ut_pkt_bytes(&p, frame, sizeof(frame));
		struct rte_mbuf *m = ut_bytes_mbuf(frame, i < 5 ? len : 60, s->pool);

		want += buffer;
		if (i >= 5) { /* two segments */
			m->next = ut_bytes_mbuf(frame + 60, len - 60, s->pool);
			m->nb_segs = 2;
			m->pkt_len = (uint32_t)len;
			want += buffer;
		}
		ut_stack_rx_mbuf(s, 0, m);
		assert_int_equal(ut_sock_charged(sk), want);
	}
}

/* Gigabytes charged: no sum wraps, and the last limit holds. */
static void
bug_19_huge_charges_do_not_wrap(void **state)
{
	struct ut_stack *s = *state;

	up(s, 1);
	weir_recvq_init(&q, UINT32_MAX);
	assert_int_equal(produce(s, UINT32_C(1) << 31, 1), 1);
	assert_int_equal(produce(s, UINT32_C(1) << 31, 1), 0); /* 2^32 is more than the limit */
	assert_int_equal(produce(s, (UINT32_C(1) << 31) - 1, 1), 1);
	assert_int_equal(produce(s, 1, 1), 0);
	assert_int_equal(weir_recvq_charge(&q), UINT32_MAX);
	consume(2);
	weir_recvq_init(&q, UINT64_C(10) << 32);
	for (unsigned int i = 0; i < 20; i++)
		assert_int_equal(produce(s, UINT32_C(1) << 31, 1), 1);
	assert_int_equal(produce(s, 1, 1), 0);
	consume(20);
	assert_int_equal(weir_recvq_charge(&q), 0);
}

static void
bug_20_closing_gives_gigabytes_back(void **state)
{
	struct ut_stack *s = *state;
	struct rte_mbuf *m, *next;

	up(s, 1);
	weir_recvq_init(&q, UINT64_MAX);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(produce(s, UINT32_C(1) << 31, 14), 14);
	consume(3); /* some in the reader's queue, some owed */
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(produce(s, UINT32_C(3) << 30, 14), 14);
	m = weir_recvq_purge(&q);
	assert_int_equal(weir_recvq_charge(&q), 0);
	assert_int_equal(weir_recvq_depth(&q), 0);
	for (; m != NULL; m = next) {
		next = weir_meta(m)->next;
		rte_pktmbuf_free(m);
	}
}

struct producer {
	struct rte_mbuf *m;
	unsigned int took;
	atomic_bool done;
};

static void *
produce_to_a_full_queue(void *arg)
{
	struct producer *x = arg;
	struct weir_recvq_batch b = {.m = &x->m, .each = 1000, .n = 1};

	x->took = weir_recvq_produce(&q, &b);
	atomic_store(&x->done, true);
	return NULL;
}

static bool
producer_done(void *arg)
{
	return atomic_load(&((struct producer *)arg)->done);
}

/* A full queue refuses before anybody waits for its lock. */
static void
bug_22_a_full_queue_refuses_without_the_lock(void **state)
{
	struct ut_stack *s = *state;
	struct producer x = {.m = NULL};
	struct timespec start, now;
	pthread_t thread;
	bool in_time;

	up(s, 1);
	weir_recvq_init(&q, 3000);
	assert_int_equal(produce(s, 1000, 3), 3);
	x.m = rte_pktmbuf_alloc(s->pool);
	assert_int_equal(atomic_exchange(&q.lock, 1), 0); /* somebody else has it */
	assert_int_equal(pthread_create(&thread, NULL, produce_to_a_full_queue, &x), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
		in_time = producer_done(&x);
	} while (!in_time && now.tv_sec - start.tv_sec < 5);
	atomic_store(&q.lock, 0);
	pthread_join(thread, NULL);
	assert_true(in_time);
	assert_int_equal(x.took, 0);
	rte_pktmbuf_free(x.m);
	consume(3);
}

/* Buffers on their way back to the pool do not stay on the way. */
static void
bug_24_given_back_buffers_reach_their_pool(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	unsigned int before = rte_mempool_avail_count(s->pool);

	for (unsigned int n = 1; n < 80; n += 7) {
		for (unsigned int i = 0; i < n; i++)
			queue(s, "abcd", 4);
		for (unsigned int i = 0; i < n; i++)
			ut_sock_must_read(s, sk, 0x64636261, "copied");
		weir_turn(s->w[0]);
		assert_int_equal(rte_mempool_avail_count(s->pool), before);
	}
}

/* A buffer that is handed over has none of the fields that were borrowed while it was queued. */
static void
bug_26_borrowed_fields_are_given_back(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);

	for (unsigned int form = 0; form < 4; form++) {
		for (unsigned int i = 0; i < 20; i++) { /* more than a run */
			struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, NULL, 80);
			uint8_t frame[256];
			struct rte_mbuf *m;
			size_t len;

			if ((form & 1) != 0) {
				memset(p.ip_opt, 1, 8);
				p.ip_opt_len = 8;
			}
			len = ut_pkt_bytes(&p, frame, sizeof(frame));
			m = ut_bytes_mbuf(frame, (form & 2) != 0 ? 70 : len, s->pool);
			if ((form & 2) != 0) {
				m->next = ut_bytes_mbuf(frame + 70, len - 70, s->pool);
				m->nb_segs = 2;
				m->pkt_len = (uint32_t)len;
			}
			ut_stack_inject(s, 0, 0, m);
		}
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 20; i++) {
			struct weir_rxmsg msg;
			const char *why;

			assert_int_equal(weir_recv_burst(s->w[0], sk, &msg, 1), 1);
			ut_check(rte_mbuf_check(msg.m, 1, &why) == 0, "form %u: %s", form, why);
			assert_int_equal(msg.m->tx_offload, 0);
			assert_int_equal(msg.m->pkt_len, 80);
			assert_int_equal(msg.m->nb_segs, (form & 2) != 0 ? 2 : 1);
			for (const struct rte_mbuf *x = msg.m; x != NULL; x = x->next)
				assert_int_equal(rte_mbuf_refcnt_read(x), 1);
			weir_mbuf_free_bulk(&msg.m, 1);
		}
	}
}

/* ---- 2.2 names ---- */

static void
bug_27_disconnect_reindexes(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 2);

	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
		assert_int_equal(weir_socket_disconnect(sk), 0);
		ut_sock_rx(s, 0, UT_HOST(0, 9), 5, UT_OUR(0), 100, i);
		ut_sock_must_read(s, sk, i, "from anybody");
		ut_sock_rx(s, 1, UT_HOST(1, 9), 5, UT_OUR(1), 100, i);
		ut_sock_must_read(s, sk, i, "to the other address");
	}
}

/* Connected sockets: the key is that of the last peer, whatever the order of calls. */
static void
bug_30_the_four_tuple_follows_every_connect(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);
	struct weir_addr name;

	for (uint32_t i = 0; i < 8; i++) {
		/* Peers that differ by address, by port, by both; now and then without an end in between. */
		const uint32_t ip = UT_HOST(0, 2 + (i & 1));
		const uint16_t port = (uint16_t)(7 + (i >> 1 & 1));

		if (i == 4)
			assert_int_equal(weir_socket_disconnect(sk), 0);
		assert_int_equal(ut_sock_connect(sk, ip, port), 0);
		for (uint32_t k = 0; k < 4; k++) {
			ut_sock_rx(s, 0, UT_HOST(0, 2 + (k & 1)), (uint16_t)(7 + (k >> 1)),
				   UT_OUR_IP, 100, k);
			if (UT_HOST(0, 2 + (k & 1)) == ip && 7 + (k >> 1) == port)
				ut_sock_must_read(s, sk, k, "from the peer");
			ut_sock_must_be_empty(s, sk, "from another");
		}
		/* One entry, and it is a connected one. */
		assert_int_equal(atomic_load(&s->stack->socktab)->used, 1);
		assert_int_equal(atomic_load(&s->stack->socktab)->n_connected, 1);
	}
	/* A port that was not chosen goes with the connection, and its entry with it. */
	weir_socket_close(sk);
	sk = ut_sock(s);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	weir_socket_local(sk, &name);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	assert_int_equal(atomic_load(&s->stack->socktab)->used, 0);
	ut_stack_mark(s);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, ut_addr_port(&name), 0);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "disconnected");
}

/* In a group: a connected match wins, and all other traffic goes on being shared, however the group grows. */
static void
bug_31_a_connected_member_gets_its_flow_and_no_other(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[20];
	uint64_t before[20] = {0};
	unsigned int count[20] = {0};

	ut_stack_up(s, &cfg);
	for (unsigned int n = 0; n < UT_N(sk); n++) {
		sk[n] = ut_sock(s);
		ut_sock_set(sk[n], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(ut_sock_bind(sk[n], 0, 100), 0);
		if (n == 2) /* early, so that the group grows with a connected socket about */
			assert_int_equal(ut_sock_connect(sk[0], UT_PEER_IP, 1000), 0);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		struct ut_pkt p =
			ut_sock_pkt(0, UT_PEER_IP, (uint16_t)(1000 + i), UT_OUR_IP, 100, &i, 4);

		ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
		if (i % 32 == 31 || i == 0)
			ut_stack_poll(s);
		if (i == 0)
			assert_int_equal(ut_sock_who(sk, before, UT_N(sk)), 0);
		if (i % 32 == 31)
			for (unsigned int k = 0; k < UT_N(sk); k++)
				count[k] += ut_sock_drain(s, sk[k]);
	}
	ut_stack_poll(s);
	for (unsigned int k = 0; k < UT_N(sk); k++)
		count[k] += ut_sock_drain(s, sk[k]);
	assert_int_equal(count[0], 1);
	for (unsigned int k = 1; k < UT_N(sk); k++)
		assert_in_range(count[k], 60, 160);
}

static void
bug_32_the_lcores_own_member_comes_first(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[4];

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	ut_sock_set(sk[2], WEIR_OPT_LCORE, 1);
	for (unsigned int i = 0; i < 32; i++) {
		struct ut_pkt p =
			ut_sock_pkt(0, UT_PEER_IP, (uint16_t)(1000 + i), UT_OUR_IP, 100, &i, 4);

		ut_stack_inject(s, 0, 1, ut_pkt_mbuf(&p, s->pool));
	}
	ut_stack_poll(s);
	assert_int_equal(ut_sock_queued(sk[2]), 32);
	/* The preference goes with its socket. */
	weir_socket_close(sk[2]);
	for (unsigned int i = 0; i < 32; i++) {
		struct ut_pkt p =
			ut_sock_pkt(0, UT_PEER_IP, (uint16_t)(1000 + i), UT_OUR_IP, 100, &i, 4);

		ut_stack_inject(s, 0, 1, ut_pkt_mbuf(&p, s->pool));
	}
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 4; i++)
		if (i != 2)
			assert_in_range(ut_sock_queued(sk[i]), 3, 20);
}

static void
bug_33_a_stable_group_moves_only_the_closed_ones_flows(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[4], *before[500];

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEPORT, 1);
		ut_sock_set(sk[i], WEIR_OPT_STABLE, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	for (unsigned int after = 0; after < 2; after++) {
		if (after)
			weir_socket_close(sk[1]);
		for (unsigned int i = 0; i < UT_N(before); i++) {
			struct weir_addr l = weir_addr_v4(UT_OUR_IP, 100);
			struct weir_addr p = weir_addr_v4(UT_PEER_IP, (uint16_t)(1000 + i));
			struct weir_key k = {.local = l.ip,
					     .lport = l.port,
					     .peer = p.ip,
					     .pport = p.port,
					     .family = WEIR_IPV4,
					     .iface = 1};
			struct weir_socket *now = weir_socktab_lookup(s->w[0], &k);

			assert_ptr_not_equal(after ? now : NULL, sk[1]);
			if (after && before[i] != sk[1])
				assert_ptr_equal(now, before[i]);
			before[i] = now;
		}
	}
}

/* A socket that can still be seen by a turn under way is not freed. */
static void
bug_34_a_closed_socket_waits_for_every_lcore(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 100);
	queue(s, "abcd", 4);
	assert_int_equal(ut_sock_queued(sk), 1);
	weir_socket_close(sk);
	assert_ptr_equal(s->stack->control->closing, sk);
	for (unsigned int i = 0; i < 20; i++) { /* one worker alone */
		ut_clock_advance(WEIR_NS_PER_S);
		weir_turn(s->w[0]);
	}
	assert_ptr_equal(s->stack->control->closing, sk);
	assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_SOCK_CLOSED]), 0);
	weir_turn(s->w[1]);
	ut_clock_advance(WEIR_NS_PER_S);
	ut_stack_poll(s);
	assert_null(s->stack->control->closing);
	assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_SOCK_CLOSED]), 1);
}

/* A segment size alone sends the datagram the same way, with the same answer of the cache. */
static void
bug_38_a_segment_size_changes_no_route(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 2);
	struct weir_txctl ctl = {.segment = 100};
	struct iovec iov = {(void *)(uintptr_t) "abcd", 4};
	unsigned int n[2] = {0};

	/* Bound to the other link's address: a route looked up anew would choose another source. */
	weir_socket_close(sk);
	sk = ut_sock_bound(s, UT_OUR(1), 100);
	ut_stack_peer(s);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	for (unsigned int i = 0; i < 2; i++) {
		struct ut_frame f;

		assert_int_equal(weir_send_iov(s->w[0], sk, &iov, 1, NULL, i ? &ctl : NULL), 4);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(ut_get32(f.b + 26), UT_OUR(1));
		for (unsigned int k = 0; k < WEIR_RTC_SETS * WEIR_RTC_WAYS; k++)
			n[i] += s->w[0]->rtc[k].gen != 0;
	}
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], 1);
}

#define FAKE ((struct weir_socket *)(uintptr_t)64) /* never looked into */

/* Control lock held. Does the hash change when one bit of the name does? */
static bool
bit_matters(struct weir_stack *stack, bool six, unsigned int at, unsigned int bit)
{
	struct weir_key k = {.lport = 1, .family = six ? WEIR_IPV6 : WEIR_IPV4};
	uint8_t *bytes = (uint8_t *)&k;
	struct weir_sockent *a, *b;
	bool differ;

	for (unsigned int i = 0; i < 4; i++)
		bytes[i] = bytes[16 + i] = (uint8_t)(i + 10);
	if (weir_socktab_insert(stack, &k, FAKE, &a) != 0)
		return false;
	bytes[at] ^= (uint8_t)(1u << bit);
	if (weir_socktab_insert(stack, &k, FAKE, &b) != 0)
		return false;
	differ = a->hash != b->hash;
	weir_socktab_remove(stack, a, FAKE);
	weir_socktab_remove(stack, b, FAKE);
	return differ;
}

/*
 * Control lock held. 2048 names that count up by step in the 16 bits at hi and lo: the most that fall
 * into one of 256 places, by the low bits of the hash (slots) or the top ones (groups).
 */
static unsigned int
most_in_one_place(struct weir_stack *stack, bool six, unsigned int hi, unsigned int lo,
		  unsigned int step)
{
	static struct weir_sockent *ent[2048];
	unsigned int low[256] = {0}, top[256] = {0}, worst = 0;

	for (unsigned int i = 0; i < UT_N(ent); i++) {
		struct weir_key k = {.lport = 7, .family = six ? WEIR_IPV6 : WEIR_IPV4};
		uint8_t *bytes = (uint8_t *)&k;

		k.local.v4 = 0x0100000a;
		k.peer.v4 = 0x0200000a;
		bytes[lo] = (uint8_t)(i * step);
		bytes[hi] = (uint8_t)(i * step >> 8);
		if (weir_socktab_insert(stack, &k, FAKE, &ent[i]) != 0)
			return UINT_MAX;
		low[ent[i]->hash & 255]++;
		top[ent[i]->hash >> 56]++;
	}
	for (unsigned int b = 0; b < 256; b++) {
		worst = low[b] > worst ? low[b] : worst;
		worst = top[b] > worst ? top[b] : worst;
	}
	for (unsigned int i = 0; i < UT_N(ent); i++)
		weir_socktab_remove(stack, ent[i], FAKE);
	weir_rcu_reclaim(stack, true);
	return worst;
}

/* Every part of a name is in the hash, and names in a row spread, with any key; IPv6 too. */
static void
bug_39_the_hash_spreads_all_of_a_name(void **state)
{
	static const struct {
		const char *what;
		unsigned int hi, lo, step; /* bytes of the key that count, by how much */
	} row[] = {
		{"local address", 2, 3, 1},
		{"local net", 0, 1, 1},
		{"peer", 18, 19, 1},
		{"peer's net", 16, 17, 1},
		{"local port", 32, 33, 1},
		{"peer's port", 34, 35, 1},
		{"every other port", 34, 35, 2},
		{"interface", 39, 38, 1},
	};
	/* IPv4 leaves all but the first four bytes of an address zero; 36 and 37 are the family. */
	static const uint8_t used4[] = {0, 1, 2, 3, 16, 17, 18, 19, 32, 33, 34, 35, 38, 39};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();

	cfg.n_ports = 0;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	for (unsigned int seed = 0; seed < 60; seed++) {
		const bool six = (seed & 1) != 0;

		for (unsigned int i = 0; i < 4; i++)
			s->stack->hash_key[i] = ut_rand(&rng);
		for (unsigned int i = 0; i < (six ? 40 : UT_N(used4)); i++) {
			const unsigned int at = six ? i : used4[i];

			for (unsigned int bit = 0; bit < 8 && at != 36 && at != 37; bit++) {
				bool matters;

				weir_ctl_lock(s->stack);
				matters = bit_matters(s->stack, six, at, bit);
				weir_ctl_unlock(s->stack);
				ut_check(matters, "byte %u is not in the hash", at);
			}
		}
		for (unsigned int r = 0; r < UT_N(row); r++) {
			unsigned int worst;

			weir_ctl_lock(s->stack);
			worst = most_in_one_place(s->stack, six, row[r].hi, row[r].lo, row[r].step);
			weir_ctl_unlock(s->stack);
			/* 8 on average; by chance 40 never happens. */
			ut_check(worst < 40, "%s%s: %u of 2048 in one of 256 places", row[r].what,
				 six ? ", IPv6" : "", worst);
		}
	}
}

/* The members of a group, when a client counts its ports up: with any key of the hash. */
static void
bug_39_members_share_consecutive_ports(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr l = weir_addr_v4(UT_OUR_IP, 100);
	struct weir_socket *sk[4];

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	/* Another address of the client is as good as another key. */
	for (unsigned int seed = 0; seed < 2000; seed++) {
		unsigned int count[4] = {0};

		for (unsigned int i = 0; i < 64; i++) {
			struct weir_addr p = weir_addr_v4(UT_PEER_IP + seed, (uint16_t)(30000 + i));
			struct weir_key k = {.local = l.ip,
					     .lport = l.port,
					     .peer = p.ip,
					     .pport = p.port,
					     .family = WEIR_IPV4,
					     .iface = 1};
			struct weir_socket *who = weir_socktab_lookup(s->w[0], &k);

			for (unsigned int m = 0; m < 4; m++)
				count[m] += sk[m] == who;
		}
		for (unsigned int m = 0; m < 4; m++)
			ut_check(count[m] >= 2 && count[m] <= 36,
				 "client %u: %u of 64 to member %u", seed, count[m], m);
	}
}

struct first_sender {
	struct ut_stack *s;
	struct weir_socket *sk;
	pthread_barrier_t *go;
	atomic_bool sending;
	ssize_t ret;
};

static void *
send_first(void *arg)
{
	struct first_sender *x = arg;
	struct weir_addr to = weir_addr_v4(UT_IP(127, 0, 0, 1), 9);
	struct weir_lcore *lc;

	x->ret = weir_thread_attach(x->s->stack, &lc);
	pthread_barrier_wait(x->go);
	if (x->ret != 0)
		return NULL;
	pthread_barrier_wait(x->go); /* the lock is held now */
	atomic_store(&x->sending, true);
	x->ret = weir_send(lc, x->sk, "x", 1, &to);
	weir_lcore_detach(lc);
	return NULL;
}

/* Two first sends at once: one name is chosen, both go out under it. */
static void
bug_41_two_first_sends_choose_one_name(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	pthread_barrier_t go;

	cfg.stack.max_threads = 2;
	ut_stack_up(s, &cfg);
	assert_int_equal(pthread_barrier_init(&go, NULL, 3), 0);
	for (unsigned int round = 0; round < 20; round++) {
		struct weir_socket *sk = ut_sock(s);
		struct first_sender x[2];
		pthread_t thread[2];

		for (unsigned int i = 0; i < 2; i++) {
			memset(&x[i], 0, sizeof(x[i]));
			x[i].s = s;
			x[i].sk = sk;
			x[i].go = &go;
			assert_int_equal(pthread_create(&thread[i], NULL, send_first, &x[i]), 0);
		}
		pthread_barrier_wait(&go); /* both are attached */
		weir_ctl_lock(s->stack);
		pthread_barrier_wait(&go);
		/* Both find the socket without a name, and wait for the lock to give it one. */
		while (!atomic_load(&x[0].sending) || !atomic_load(&x[1].sending))
			sched_yield();
		for (unsigned int i = 0; i < 20; i++)
			sched_yield();
		weir_ctl_unlock(s->stack);
		for (unsigned int i = 0; i < 2; i++)
			pthread_join(thread[i], NULL);
		for (unsigned int i = 0; i < 2; i++)
			ut_check(x[i].ret == 1, "round %u, sender %u: %zd", round, i, x[i].ret);
		assert_int_equal(atomic_load(&s->stack->socktab)->used, 1);
		weir_socket_close(sk);
		ut_stack_poll(s);
	}
	pthread_barrier_destroy(&go);
}

/* ---- 2.3 what was decided about one packet is not decided about the next ---- */

static void
bug_42_a_warm_cache_changes_no_verdict(void **state)
{
	static const struct {
		const char *what;
		enum weir_drop why; /* WEIR_DROP_N: accepted */
	} row[] = {
		{"the same", WEIR_DROP_N},
		{"ECN", WEIR_DROP_N},
		{"class", WEIR_DROP_N},
		{"TTL 1", WEIR_DROP_N},
		{"from us", WEIR_DROP_IP_SRC},
		{"from 127/8", WEIR_DROP_IP_SRC},
		{"to nobody", WEIR_DROP_IP_DST},
		{"from a group", WEIR_DROP_IP_SRC},
		{"bad header sum", WEIR_DROP_IP_CSUM},
		{"bad sum", WEIR_DROP_UDP_CSUM},
		{"no sum", WEIR_DROP_N},
		{"odd fragment", WEIR_DROP_FRAG_BAD},
		{"another MAC", WEIR_DROP_ETH_DST},
		{"other port", WEIR_DROP_NO_SOCKET},
	};
	struct ut_stack *s = *state;
	struct weir_socket *sk = up(s, 1);

	for (unsigned int warm = 0; warm < 3;
	     warm++) { /* cold; after one; after one in a burst before */
		for (unsigned int r = 0; r < UT_N(row); r++) {
			struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, "abcd", 4);
			unsigned int want = row[r].why == WEIR_DROP_N;

			if (warm > 0)
				ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
			if (warm > 1)
				ut_stack_poll(s);
			switch (r) {
			case 1:
				p.ip_tos = 3;
				break;
			case 2:
				p.ip_tos = 0xb8;
				break;
			case 3:
				p.ip_ttl = 1;
				break;
			case 4:
				p.ip_src = UT_OUR_IP;
				break;
			case 5:
				p.ip_src = UT_IP(127, 0, 0, 1);
				break;
			case 6:
				p.ip_dst = UT_HOST(0, 77);
				break;
			case 7:
				p.ip_src = UT_IP(224, 0, 0, 1);
				break;
			case 8:
				p.ip_csum = 0x1234;
				break;
			case 9:
				p.udp_csum = 0x1234;
				break;
			case 10:
				p.udp_csum = 0;
				break;
			case 11:
				p.ip_frag = 0x2000;
				break;
			case 12:
				p.eth_dst[5] ^= 0x10;
				break;
			case 13:
				p.udp_dport = 101;
				break;
			}
			ut_stack_mark(s);
			ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
			ut_stack_poll(s);
			ut_stack_only_drop(s, row[r].why, row[r].why != WEIR_DROP_N, row[r].what);
			ut_check(ut_sock_drain(s, sk) == want + (warm > 0), "%s, warm %u",
				 row[r].what, warm);
			while (ut_stack_pending(s, 0) > 0) {
				struct ut_frame f;

				ut_stack_must_take(s, 0, &f);
			}
		}
	}
	/* An address that goes, goes for a flow under way. */
	{
		struct weir_addr a = weir_addr_v4(UT_OUR_IP, 0);

		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 1);
		assert_int_equal(ut_sock_drain(s, sk), 1);
		assert_int_equal(weir_addr_del(s->stack, 0, &a, NULL), 0);
		ut_stack_mark(s);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 2);
		ut_stack_only_drop(s, WEIR_DROP_IP_DST, 1, "to an address that has gone");
		assert_int_equal(weir_addr_add(s->stack, 0, &a, 24, NULL), 0);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 3);
		ut_sock_must_read(s, sk, 3, "back again");
		/* And one that comes: the peer's own. */
		a = weir_addr_v4(UT_PEER_IP, 0);
		assert_int_equal(weir_addr_add(s->stack, 0, &a, 24, NULL), 0);
		ut_stack_mark(s);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 4);
		ut_stack_only_drop(s, WEIR_DROP_IP_SRC, 1, "from what is ours now");
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(bug_01_bad_sums_are_never_charged),
		UT_STACK_TEST(bug_02_an_empty_queue_takes_any_size),
		UT_STACK_TEST(bug_03_a_datagram_keeps_what_is_asked_for),
		UT_STACK_TEST(bug_04_a_peeked_datagram_stays_while_it_is_looked_at),
		UT_STACK_TEST(bug_05_a_plain_peek_shows_empty_datagrams),
		UT_STACK_TEST(bug_07_08_peeking_writes_nothing_into_packets),
		UT_STACK_TEST(bug_10_limits_beyond_31_and_32_bits_work),
		UT_STACK_TEST(bug_11_a_reader_that_runs_dry_owes_nothing),
		UT_STACK_TEST(bug_12_18_a_peeked_datagram_is_readable),
		UT_STACK_TEST(bug_13_a_new_limit_is_a_new_lump),
		UT_STACK_TEST(bug_14_odd_pieces_are_summed_right),
		UT_STACK_TEST(bug_17_the_charge_is_the_published_true_size),
		UT_STACK_TEST(bug_19_huge_charges_do_not_wrap),
		UT_STACK_TEST(bug_20_closing_gives_gigabytes_back),
		UT_STACK_TEST(bug_22_a_full_queue_refuses_without_the_lock),
		UT_STACK_TEST(bug_24_given_back_buffers_reach_their_pool),
		UT_STACK_TEST(bug_26_borrowed_fields_are_given_back),
		UT_STACK_TEST(bug_27_disconnect_reindexes),
		UT_STACK_TEST(bug_30_the_four_tuple_follows_every_connect),
		UT_STACK_TEST(bug_31_a_connected_member_gets_its_flow_and_no_other),
		UT_STACK_TEST(bug_32_the_lcores_own_member_comes_first),
		UT_STACK_TEST(bug_33_a_stable_group_moves_only_the_closed_ones_flows),
		UT_STACK_TEST(bug_34_a_closed_socket_waits_for_every_lcore),
		UT_STACK_TEST(bug_38_a_segment_size_changes_no_route),
		UT_STACK_TEST(bug_39_the_hash_spreads_all_of_a_name),
		UT_STACK_TEST(bug_39_members_share_consecutive_ports),
		UT_STACK_TEST(bug_41_two_first_sends_choose_one_name),
		UT_STACK_TEST(bug_42_a_warm_cache_changes_no_verdict),
	};

	return UT_RUN(cases, NULL, NULL);
}
