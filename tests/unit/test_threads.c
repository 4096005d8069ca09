/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: two workers on two EAL lcores (which may share a CPU), attached threads with and without
 * an lcore of EAL, functions handed to a worker, control calls made on one, the mesh under load, and
 * sockets that go away while another worker delivers to them. Nothing sleeps: every wait is for a
 * condition, with a deadline. Threads only record; the test's own thread judges.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/ut_clock.h"
#include "control_state.h"
#include "mesh.h"
#include "sock.h"

#define PORT    UT_OUR_PORT
#define FOREVER UINT64_MAX

/* ---- workers on other lcores ---- */

static struct runner {
	struct weir_stack *stack;
	unsigned int index;
	int attach_result;
	void (*job)(struct weir_lcore *lc, struct runner *r); /* each turn */
	void *arg;
	_Atomic uint64_t n;
	atomic_bool ready, stop, idle; /* idle: attached, but takes no turns */
	bool launched;
} runners[2];

static int
run(void *arg)
{
	struct runner *r = arg;
	struct weir_lcore *lc;

	r->attach_result = weir_worker_attach(r->stack, r->index, &lc);
	atomic_store(&r->ready, true);
	if (r->attach_result != 0)
		return 0;
	while (!atomic_load(&r->stop)) {
		if (atomic_load(&r->idle)) {
			sched_yield();
			continue;
		}
		weir_idle(lc, weir_turn(lc));
		if (r->job != NULL)
			r->job(lc, r);
	}
	weir_lcore_detach(lc);
	atomic_store(&r->ready, false);
	return 0;
}

static bool
is_ready(void *arg)
{
	return atomic_load(&((struct runner *)arg)->ready);
}

/* Worker i of s on EAL lcore i + 1. */
static struct runner *
launch(struct ut_stack *s, unsigned int i, void (*job)(struct weir_lcore *, struct runner *),
       void *arg, bool idle)
{
	struct runner *r = &runners[i];

	r->stack = s->stack;
	r->index = i;
	r->job = job;
	r->arg = arg;
	atomic_store(&r->n, 0);
	atomic_store(&r->ready, false);
	atomic_store(&r->stop, false);
	atomic_store(&r->idle, idle);
	assert_int_equal(rte_eal_remote_launch(run, r, i + 1), 0);
	r->launched = true;
	ut_wait_for(is_ready, r, "a worker's attach");
	assert_int_equal(r->attach_result, 0);
	return r;
}

static void
halt_all(void)
{
	for (unsigned int i = 0; i < UT_N(runners); i++)
		atomic_store(&runners[i].stop, true);
	for (unsigned int i = 0; i < UT_N(runners); i++) {
		if (runners[i].launched)
			rte_eal_wait_lcore(i + 1);
		/* Said by atomics of our own too: the thread sanitizer does not see into EAL. */
		(void)atomic_load(&runners[i].ready);
		runners[i].launched = false;
	}
}

static int
teardown(void **state)
{
	halt_all();
	return ut_stack_teardown(state);
}

#define THREAD_TEST(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, teardown)

static struct ut_stack_cfg
two_workers(void)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.stack.workers = 2;
	cfg.stack.icmp_rate = 0;
	cfg.real_clock = true;
	cfg.no_attach = true;
	return cfg;
}

/* ---- functions handed to a worker ---- */

struct seen {
	atomic_uint n;
	int worker;
	unsigned int lcore;
};

static void
see(struct weir_lcore *lc, void *arg)
{
	struct seen *seen = arg;

	seen->worker = weir_lcore_worker(lc);
	seen->lcore = rte_lcore_id();
	atomic_fetch_add(&seen->n, 1);
}

static void
calls_run_on_the_worker_they_are_for(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();

	ut_stack_up(s, &cfg);
	launch(s, 0, NULL, NULL, false);
	launch(s, 1, NULL, NULL, false);
	for (unsigned int i = 0; i < 200; i++) {
		struct seen seen = {.worker = -2};

		assert_int_equal(weir_worker_call(s->stack, i & 1, see, &seen, FOREVER), 0);
		assert_int_equal(seen.n, 1);
		assert_int_equal(seen.worker, i & 1);
		assert_int_equal(seen.lcore, (i & 1) + 1);
	}
	assert_int_equal(weir_worker_call(s->stack, 2, see, NULL, FOREVER), -EINVAL);
	halt_all();
}

static void
call_myself_and_the_other(struct weir_lcore *lc, void *arg)
{
	struct weir_stack *stack = ((struct ut_stack *)arg)->stack;
	struct seen seen[2] = {{.worker = -2}, {.worker = -2}};
	int ret = weir_worker_call(stack, 0, see, &seen[0], FOREVER);

	ret |= weir_worker_call(stack, 1, see, &seen[1], FOREVER);
	if (ret == 0 && seen[0].worker == 0 && seen[1].worker == 1 && seen[0].n == 1 &&
	    weir_lcore_worker(lc) == 0)
		((struct ut_stack *)arg)->n_sk = 77;
}

static void
a_worker_may_call_itself_and_another(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();

	ut_stack_up(s, &cfg);
	launch(s, 0, NULL, NULL, false);
	launch(s, 1, NULL, NULL, false);
	assert_int_equal(weir_worker_call(s->stack, 0, call_myself_and_the_other, s, FOREVER), 0);
	halt_all();
	assert_int_equal(s->n_sk, 77);
	s->n_sk = 0;
}

static void
count_call(struct weir_lcore *lc, void *arg)
{
	(void)lc;
	atomic_fetch_add((_Atomic uint64_t *)arg, 1);
}

#define CROSS_CALLS 2000

static void
call_the_other(struct weir_lcore *lc, struct runner *r)
{
	(void)lc;
	if (atomic_load(&r->n) < CROSS_CALLS &&
	    weir_worker_call(r->stack, !r->index, count_call, r->arg, FOREVER) == 0)
		atomic_fetch_add(&r->n, 1);
}

static bool
crossed(void *arg)
{
	(void)arg;
	return atomic_load(&runners[0].n) == CROSS_CALLS &&
	       atomic_load(&runners[1].n) == CROSS_CALLS;
}

static void
workers_that_call_each_other_at_once_do_not_deadlock(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	_Atomic uint64_t n = 0;

	ut_stack_up(s, &cfg);
	launch(s, 0, call_the_other, &n, false);
	launch(s, 1, call_the_other, &n, false);
	ut_wait_for(crossed, NULL, "2000 calls each way");
	halt_all();
	assert_int_equal(n, 2 * CROSS_CALLS);
}

static void
a_call_that_times_out_never_runs(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct seen late = {.worker = -2};
	struct seen next = {.worker = -2};
	struct runner *r;
	unsigned int n = 0;

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_worker_call(s->stack, 0, see, &late, FOREVER), -ENETDOWN);
	r = launch(s, 0, NULL, NULL, true);
	assert_int_equal(weir_worker_call(s->stack, 0, see, &late, 0), -ETIMEDOUT);
	assert_int_equal(weir_worker_call(s->stack, 0, see, &late, WEIR_NS_PER_MS), -ETIMEDOUT);
	/* Cancelled calls take their places until the worker's next turn. */
	while (weir_worker_call(s->stack, 0, see, &late, 0) == -ETIMEDOUT)
		n++;
	assert_int_equal(n, 61);
	assert_int_equal(weir_worker_call(s->stack, 0, see, &late, 0), -EAGAIN);
	atomic_store(&r->idle, false);
	/* Once the ring has been emptied there is room again. */
	while (weir_worker_call(s->stack, 0, see, &next, FOREVER) == -EAGAIN)
		sched_yield();
	halt_all();
	assert_int_equal(next.n, 1);
	assert_int_equal(late.n, 0);
}

struct async_call {
	struct weir_stack *stack;
	void (*fn)(struct weir_lcore *lc, void *arg);
	void *arg;
	int ret;
};

static void *
call_async(void *arg)
{
	struct async_call *a = arg;

	a->ret = weir_worker_call(a->stack, 0, a->fn, a->arg, FOREVER);
	return NULL;
}

static bool
call_is_waiting(void *arg)
{
	return !weir_ring_empty(((struct weir_stack *)arg)->lcores[0]->ctl);
}

static void
a_call_to_a_worker_that_leaves_comes_back(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct seen seen = {.worker = -2};
	struct async_call a;
	pthread_t t;

	ut_stack_up(s, &cfg);
	launch(s, 0, NULL, NULL, true);
	a = (struct async_call){s->stack, see, &seen, 1};
	assert_int_equal(pthread_create(&t, NULL, call_async, &a), 0);
	ut_wait_for(call_is_waiting, s->stack, "the call in the worker's mailbox");
	halt_all();
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(a.ret, -ENETDOWN);
	assert_int_equal(seen.n, 0);
}

/* ---- control calls on a worker ---- */

struct add {
	struct weir_stack *stack;
	atomic_bool begun;
	int ret;
};

static void
add_address(struct weir_lcore *lc, void *arg)
{
	struct add *add = arg;
	struct weir_addr a = weir_addr_v4(UT_IP(10, 7, 7, 7), 0);

	(void)lc;
	atomic_store(&add->begun, true);
	add->ret = weir_addr_add(add->stack, 0, &a, 24, NULL);
}

static bool
add_has_begun(void *arg)
{
	return atomic_load(&((struct add *)arg)->begun);
}

static bool
frame_sent(void *arg)
{
	struct ut_stack *s = arg;

	return testport_tx_pending(s->ethdev[0], 0) > 0;
}

/*
 * A worker waits for the control lock while its holder waits for that worker: both come through, and
 * the worker goes on receiving.
 */
static void
a_worker_that_waits_for_the_lock_takes_its_turns(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct ut_pkt arp = ut_pkt_arp_request();
	struct seen seen = {.worker = -2};
	struct async_call a;
	static struct ut_frame f;
	struct add add;
	pthread_t t;

	ut_stack_up(s, &cfg);
	launch(s, 0, NULL, NULL, false);
	add = (struct add){.stack = s->stack, .ret = 1};
	a = (struct async_call){s->stack, add_address, &add, 1};
	weir_ctl_lock(s->stack);
	assert_int_equal(pthread_create(&t, NULL, call_async, &a), 0);
	ut_wait_for(add_has_begun, &add, "the control call on the worker");
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&arp, s->pool));
	ut_wait_for(frame_sent, s, "an ARP reply while the worker waits for the lock");
	assert_int_equal(weir_worker_call(s->stack, 0, see, &seen, FOREVER), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(add.ret, 1); /* still waiting */
	weir_ctl_unlock(s->stack);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(a.ret, 0);
	assert_int_equal(add.ret, 0);
	halt_all();
	ut_stack_must_take(s, 0, &f);
}

/* ---- attached threads ---- */

struct client {
	struct weir_stack *stack;
	struct weir_socket *sk;
	int attach, wait, error;
	ssize_t sent, got;
	char buf[32];
	atomic_bool sent_it;
};

static void *
client(void *arg)
{
	struct client *c = arg;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct weir_lcore *lc;

	c->attach = weir_thread_attach(c->stack, &lc);
	if (c->attach != 0)
		return NULL;
	c->sent = weir_send(lc, c->sk, "hello", 5, &to);
	atomic_store(&c->sent_it, true);
	c->wait = weir_recv_wait(lc, c->sk, 15 * WEIR_NS_PER_S);
	c->got = weir_recv(lc, c->sk, c->buf, sizeof(c->buf), NULL);
	c->error = weir_lcore_detach(lc);
	return NULL;
}

static void
a_thread_that_eal_does_not_know_sends_and_receives(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	static struct ut_frame f;
	struct ut_pkt p = ut_pkt_udp();
	struct client c;
	pthread_t t;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, PORT);
	launch(s, 0, NULL, NULL, false);
	c = (struct client){.stack = s->stack, .sk = s->sk[0], .attach = 1};
	assert_int_equal(pthread_create(&t, NULL, client, &c), 0);
	ut_wait_for(frame_sent, s, "the thread's datagram");
	ut_stack_must_take(s, 0, &f);
	assert_memory_equal(f.b + 42, "hello", 5);
	p.payload = "world";
	p.payload_len = 5;
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	assert_int_equal(pthread_join(t, NULL), 0);
	halt_all();
	assert_int_equal(c.attach, 0);
	assert_int_equal(c.sent, 5);
	assert_int_equal(c.wait, 0);
	assert_int_equal(c.got, 5);
	assert_int_equal(c.error, 0);
	assert_memory_equal(c.buf, "world", 5);
}

static void
places_for_threads_are_limited(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct weir_lcore *lc[3];

	cfg.stack.max_threads = 2;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_worker_attach(s->stack, 2, &lc[0]), -EINVAL);
	assert_int_equal(weir_worker_attach(s->stack, 1, &lc[0]), 0);
	assert_int_equal(weir_worker_attach(s->stack, 1, &lc[1]), -EBUSY);
	assert_int_equal(weir_stack_stop(s->stack), -EBUSY);
	assert_int_equal(weir_stack_destroy(s->stack), -EBUSY);
	assert_int_equal(weir_lcore_detach(lc[0]), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(weir_thread_attach(s->stack, &lc[i]), 0);
		assert_int_equal(weir_lcore_worker(lc[i]), -1);
		assert_int_equal(weir_turn(lc[i]), 0);
	}
	assert_int_equal(weir_thread_attach(s->stack, &lc[2]), -ENOSPC);
	assert_int_equal(weir_stack_stop(s->stack), -EBUSY);
	assert_int_equal(weir_lcore_detach(lc[0]), 0);
	assert_int_equal(weir_thread_attach(s->stack, &lc[2]), 0);
	assert_int_equal(weir_lcore_detach(lc[2]), 0);
	assert_int_equal(weir_lcore_detach(lc[1]), 0);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	assert_int_equal(weir_worker_attach(s->stack, 0, &lc[0]), -ENETDOWN);
	assert_int_equal(weir_thread_attach(s->stack, &lc[0]), -ENETDOWN);
}

/* ---- waiting on a worker ---- */

static int
turns_are_up(void *arg)
{
	unsigned int *n = arg;

	return (*n)-- == 0 ? 42 : 0;
}

static void
waiting_on_a_worker_takes_its_turns(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	unsigned int n = 200;
	struct weir_stats st;
	char b;

	cfg.real_clock = true;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	assert_int_equal(weir_recv_wait(s->w[0], s->sk[0], 2 * WEIR_NS_PER_MS), -ETIMEDOUT);
	assert_int_equal(weir_recv_wait(s->w[0], s->sk[0], 0), -ETIMEDOUT);
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	assert_int_equal(weir_recv_wait(s->w[0], s->sk[0], 15 * WEIR_NS_PER_S), 0);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], &b, 1, NULL), 18);
	weir_stats_get(s->stack, &st);
	assert_true(st.turns > 0);
	ut_stack_mark(s);
	assert_int_equal(weir_run(s->w[0], turns_are_up, &n), 42);
	assert_int_equal(ut_stack_since(s, turns), 200);
	assert_int_equal(ut_stack_since(s, idle_turns), 200);
}

/* ---- the mesh ---- */

static struct rte_mbuf *
numbered(struct ut_stack *s, uint16_t dport, uint32_t seq)
{
	struct ut_pkt p = ut_pkt_udp();
	struct rte_mbuf *m;

	p.payload = &seq;
	p.payload_len = sizeof(seq);
	p.udp_dport = dport;
	m = ut_pkt_mbuf(&p, s->pool);
	m->port = 0; /* weir port */
	return m;
}

/* What a worker does that hands received frames over: count them as received, then into the ring. */
static unsigned int
hand_over(struct weir_lcore *lc, uint16_t to, struct rte_mbuf **m, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		weir_count(&lc->pc[0].rx_bytes, m[i]->pkt_len);
	weir_count(&lc->pc[0].rx_frames, n);
	return weir_mesh_frames(lc, to, WEIR_MESH_RX, m, n);
}

/* One thread, two workers: order, messages in between, a full ring, what is inside at stop. */
static void
handed_over_frames_keep_their_order(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct rte_mbuf *m[64];
	struct weir_stats st;
	unsigned int took;
	uint32_t seq = 0;
	uint32_t got;

	cfg.stack.workers = 2;
	cfg.stack.mesh_ring = 64;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (unsigned int round = 0; round < 10; round++) {
		for (unsigned int i = 0; i < 20; i++) {
			m[i] = numbered(s, PORT, seq++);
			assert_int_equal(hand_over(s->w[0], 1, &m[i], 1), 1);
			if (i % 7 == 3)
				assert_true(weir_mesh_send(s->w[0], 1, WEIR_MSG_NEIGH, 1u << 30));
		}
		weir_stats_get(s->stack, &st);
		assert_int_equal(st.rx_in_mesh, 20);
		ut_stack_identity(s, "in the mesh");
		weir_turn(s->w[1]);
		for (unsigned int i = 0; i < 20; i++) {
			assert_int_equal(weir_recv(s->w[1], s->sk[0], &got, 4, NULL), 4);
			assert_int_equal(got, seq - 20 + i);
		}
	}
	/* The ring takes 63. */
	for (unsigned int i = 0; i < 64; i++)
		m[i] = numbered(s, PORT, seq++);
	took = hand_over(s->w[0], 1, m, 64);
	assert_int_equal(took, 63);
	weir_count(&s->w[0]->c.drops[WEIR_DROP_MESH_FULL_RX], 64 - took);
	rte_pktmbuf_free_bulk(m + took, 64 - took);
	ut_stack_identity(s, "a full ring");
	/* Nobody takes them before the stop. */
	ut_stack_only_drop(s, WEIR_DROP_MESH_FULL_RX, 1, "full");
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	/* What is on its way goes on: nothing more is lost, the datagrams are in the socket. */
	weir_stats_get(s->stack, &st);
	assert_int_equal(st.drops[WEIR_DROP_STACK_STOPPED], 0);
	assert_int_equal(st.rx_in_mesh, 0);
	assert_int_equal(st.rx_queued, 63);
}

#define HANDED 20000

static void
read_all(struct weir_lcore *lc, struct runner *r)
{
	struct ut_stack *s = r->arg;
	uint32_t seq;

	while (weir_recv(lc, s->sk[0], &seq, 4, NULL) == 4) {
		/* The count stands still when the order is broken. */
		if (seq == atomic_load(&r->n))
			atomic_fetch_add(&r->n, 1);
	}
}

static bool
all_read(void *arg)
{
	(void)arg;
	return atomic_load(&runners[1].n) == HANDED;
}

static void
frames_handed_to_another_thread_all_arrive(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct rte_mbuf *m[64];
	struct weir_lcore *lc;
	uint32_t seq = 0;

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	launch(s, 1, read_all, s, false);
	assert_int_equal(weir_worker_attach(s->stack, 0, &lc), 0);
	while (seq < HANDED) {
		unsigned int n = 1 + seq % 64;
		unsigned int done = 0;

		if (n > HANDED - seq)
			n = HANDED - seq;
		while (rte_mempool_avail_count(s->pool) < 128)
			sched_yield();
		for (unsigned int i = 0; i < n; i++) {
			m[i] = numbered(s, PORT, seq++);
			weir_count(&lc->pc[0].rx_bytes, m[i]->pkt_len);
		}
		weir_count(&lc->pc[0].rx_frames, n);
		while (done < n) {
			done += weir_mesh_frames(lc, 1, WEIR_MESH_RX, m + done, n - done);
			if (done < n)
				sched_yield();
		}
	}
	ut_wait_for(all_read, NULL, "all frames in order");
	halt_all();
	assert_int_equal(weir_lcore_detach(lc), 0);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "handed over");
}

/* ---- sockets that go away under traffic ---- */

static void
sockets_close_under_traffic_of_another_worker(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = two_workers();
	struct weir_addr local = weir_addr_v4(0, PORT);
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct weir_stats st;
	uint64_t delivered = 0;
	int ret;

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	launch(s, 0, NULL, NULL, false);
	launch(s, 1, NULL, NULL, false);
	for (unsigned int i = 0; i < 300 || delivered == 0; i++) {
		struct weir_socket *sk;

		assert_true(i < 100000);
		/* Those closed keep their places until both workers have passed a turn. */
		while ((ret = weir_socket_open(s->stack, NULL, &sk)) == -EMFILE)
			sched_yield();
		assert_int_equal(ret, 0);
		assert_int_equal(weir_socket_bind(sk, &local), 0);
		for (uint16_t q = 0; q < 2; q++) {
			struct rte_mbuf *m = numbered(s, PORT, i);

			if (testport_inject(s->ethdev[0], q, &m, 1) == 0)
				rte_pktmbuf_free(m);
		}
		if (i % 3 == 0)
			assert_int_equal(weir_socket_connect(sk, &peer), 0);
		if (i % 7 == 0)
			sched_yield();
		assert_int_equal(weir_socket_close(sk), 0);
		weir_stats_get(s->stack, &st);
		delivered = st.rx_delivered;
		while (rte_mempool_avail_count(s->pool) < 500)
			sched_yield();
	}
	halt_all();
}

/* Step by step: a closed socket and what it holds stay until every worker has passed a turn. */
static void
a_closed_socket_outlives_the_turns_under_way(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	ut_stack_rx(s, 0, &p);
	ut_stack_close(s, s->sk[0]);
	ut_stack_identity(s, "closed");
	for (unsigned int i = 0; i < 20; i++) {
		ut_clock_advance(50 * WEIR_NS_PER_MS);
		weir_turn(s->w[0]);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "worker 1 may still look at it");
	assert_non_null(s->stack->control->closing);
	weir_turn(s->w[1]);
	ut_clock_advance(50 * WEIR_NS_PER_MS);
	weir_turn(s->w[0]);
	ut_stack_only_drop(s, WEIR_DROP_SOCK_CLOSED, 1, "both have passed a turn");
	assert_null(s->stack->control->closing);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		THREAD_TEST(calls_run_on_the_worker_they_are_for),
		THREAD_TEST(a_worker_may_call_itself_and_another),
		THREAD_TEST(workers_that_call_each_other_at_once_do_not_deadlock),
		THREAD_TEST(a_call_that_times_out_never_runs),
		THREAD_TEST(a_call_to_a_worker_that_leaves_comes_back),
		THREAD_TEST(a_worker_that_waits_for_the_lock_takes_its_turns),
		THREAD_TEST(a_thread_that_eal_does_not_know_sends_and_receives),
		THREAD_TEST(places_for_threads_are_limited),
		THREAD_TEST(waiting_on_a_worker_takes_its_turns),
		THREAD_TEST(handed_over_frames_keep_their_order),
		THREAD_TEST(frames_handed_to_another_thread_all_arrive),
		THREAD_TEST(a_closed_socket_outlives_the_turns_under_way),
		THREAD_TEST(sockets_close_under_traffic_of_another_worker),
	};

	return UT_RUN(cases, NULL, NULL);
}
