/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads against each other at full speed, through the whole stack: two workers that receive from a port
 * whose supply never ends, and a third thread that reads, or changes sockets under them.
 *
 * The reader's slowness does not depend on the machine: it takes one datagram for every ten frames that
 * the workers have been given. $UT_FLOOD_SECONDS says how long (3).
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/ut_pool.h"
#include "lcore.h"

#define WORKERS   2
#define OVERLOAD  10
#define TRUESIZE  2304 /* of a small datagram in the default buffer: see weir/socket.h */
#define QUEUE     500  /* datagrams that fit into the receive buffer */
#define RX_DESC   512
#define IN_FLIGHT 512 /* buffers that bursts and per-lcore lists may hold beside that */

/* ---- workers ---- */

static struct worker {
	struct weir_stack *stack;
	unsigned int index;
	int attach_result;
	atomic_bool ready, stop, ended;
	bool launched;
} workers[WORKERS];

static int
work(void *arg)
{
	struct worker *w = arg;
	struct weir_lcore *lc;

	w->attach_result = weir_worker_attach(w->stack, w->index, &lc);
	atomic_store(&w->ready, true);
	if (w->attach_result == 0) {
		while (!atomic_load(&w->stop))
			weir_idle(lc, weir_turn(lc));
		weir_lcore_detach(lc);
	}
	atomic_store(&w->ended, true);
	return 0;
}

static bool
all_ready(void *arg)
{
	(void)arg;
	return atomic_load(&workers[0].ready) && atomic_load(&workers[1].ready);
}

static void
halt(void)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		atomic_store(&workers[i].stop, true);
	for (unsigned int i = 0; i < WORKERS; i++) {
		if (!workers[i].launched)
			continue;
		rte_eal_wait_lcore(i + 1);
		/* EAL's word is not seen by the thread sanitizer; this is. */
		assert_true(atomic_load(&workers[i].ended));
		workers[i].launched = false;
	}
}

static void
launch(struct ut_stack *s)
{
	for (unsigned int i = 0; i < WORKERS; i++) {
		struct worker *w = &workers[i];

		w->stack = s->stack;
		w->index = i;
		atomic_store(&w->ready, false);
		atomic_store(&w->stop, false);
		atomic_store(&w->ended, false);
		assert_int_equal(rte_eal_remote_launch(work, w, i + 1), 0);
		w->launched = true;
	}
	ut_wait_for(all_ready, NULL, "the workers");
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(workers[i].attach_result, 0);
}

static int
teardown(void **state)
{
	halt();
	return ut_stack_teardown(state);
}

/* A stack with two receive queues on an endless supply of one datagram from our peer to our port. */
static void
up(struct ut_stack *s)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct testport_frame frame;
	struct ut_pkt p = ut_pkt_udp();
	struct weir_error err = {0};
	uint8_t bytes[256];
	int ret;

	cfg.stack.workers = WORKERS;
	cfg.stack.icmp_rate = 0;
	cfg.dev.mode = TESTPORT_FEED;
	cfg.port.rx_desc = RX_DESC;
	cfg.port.no_announce = true; /* its buffer would come back as a frame of the feed */
	cfg.real_clock = true;
	cfg.no_attach = true;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	frame.bytes = bytes;
	frame.len_bytes = (uint16_t)ut_pkt_bytes(&p, bytes, sizeof(bytes));
	assert_int_equal(testport_feed(s->ethdev[0], &frame, 1, NULL, NULL, false), 0);
	ret = weir_stack_start(s->stack, &err);
	ut_check(ret == 0, "start: %d %s", ret, err.text);
	ut_stack_mark(s);
}

static uint64_t
offered(struct ut_stack *s, uint64_t of[WORKERS], uint64_t delivered[WORKERS])
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < WORKERS; i++) {
		const struct weir_counters *c = &s->stack->lcores[i]->c;

		of[i] = weir_counter_read(&s->stack->lcores[i]->pc[0].rx_frames);
		delivered[i] = weir_counter_read(&c->rx_delivered);
		sum += of[i];
	}
	return sum;
}

/* ---- two producers, one slow reader ---- */

/* Was nobody left out since the last look? */
static void
both_were_served(const uint64_t of[WORKERS], const uint64_t delivered[WORKERS])
{
	static uint64_t of_before[WORKERS], delivered_before[WORKERS];

	for (unsigned int i = 0; i < WORKERS; i++) {
		/* One that the system did not let run has nothing to complain of. */
		if (of[i] < of_before[i])
			of_before[i] = delivered_before[i] = 0; /* another stack */
		if (of[i] - of_before[i] > 100000)
			ut_check(delivered[i] > delivered_before[i],
				 "worker %u: none of %" PRIu64 " frames delivered", i,
				 of[i] - of_before[i]);
		of_before[i] = of[i];
		delivered_before[i] = delivered[i];
	}
}

/*
 * Share the CPU of a worker's: of each in turn, for where CPUs are few, the worker beside the reader never
 * runs when the reader has just made room.
 */
static void
share_with(unsigned int worker)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)rte_lcore_to_cpu_id((int)worker + 1), &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static unsigned int
seconds(void)
{
	const char *env = getenv("UT_FLOOD_SECONDS");

	return env != NULL ? (unsigned int)strtoul(env, NULL, 10) : 3;
}

static void
nothing_vanishes_in_a_flood(void **state)
{
	struct ut_stack *s = *state;
	const struct rte_mempool *pool;
	struct weir_socket_conf conf;
	struct weir_socket_stats sk;
	struct weir_rxmsg msg[32];
	struct weir_lcore *lc;
	struct weir_stats st;
	uint64_t of[WORKERS], delivered[WORKERS];
	uint64_t taken = 0, most = 0, end, next;
	unsigned int looks = 0;
	uint32_t drops = 0;
	cpu_set_t cpus;
	uint16_t n;

	weir_socket_conf_init(&conf);
	conf.rcvbuf = QUEUE * TRUESIZE;
	up(s);
	pool = s->stack->pool;
	ut_stack_socket_conf(s, UT_OUR_PORT, &conf);
	assert_int_equal(weir_thread_attach(s->stack, &lc), 0);
	launch(s);
	end = weir_clock_ns() + seconds() * WEIR_NS_PER_S;
	next = weir_clock_ns() + WEIR_NS_PER_S / 4;
	pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	for (uint64_t now = 0; now < end; now = weir_clock_ns()) {
		uint64_t may = offered(s, of, delivered) / OVERLOAD;

		weir_socket_stats_get(s->sk[0], &sk);
		ut_check(sk.charged_bytes <= conf.rcvbuf, "%" PRIu64 " bytes charged of %u",
			 sk.charged_bytes, conf.rcvbuf);
		if (now >= next) {
			uint64_t in_use = rte_mempool_in_use_count(pool);

			most = in_use > most ? in_use : most;
			ut_check(in_use <= WORKERS * RX_DESC + QUEUE + IN_FLIGHT,
				 "%" PRIu64 " buffers in use", in_use);
			if (++looks % (2 * WORKERS) == 0)
				both_were_served(of, delivered);
			share_with(looks % WORKERS);
			next = now + WEIR_NS_PER_S / 4;
		}
		if (may < taken + UT_N(msg)) {
			sched_yield();
			continue;
		}
		n = weir_recv_burst(lc, s->sk[0], msg, UT_N(msg));
		for (uint16_t i = 0; i < n; i++) {
			assert_int_equal(msg[i].len, 18);
			assert_true((int32_t)(msg[i].drops - drops) >= 0);
			drops = msg[i].drops;
			rte_pktmbuf_free(msg[i].m);
		}
		taken += n;
	}
	pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	halt();
	/* The supply has ended: what is queued is read, and then the idle socket holds nothing. */
	while ((n = weir_recv_burst(lc, s->sk[0], msg, UT_N(msg))) > 0) {
		for (uint16_t i = 0; i < n; i++)
			rte_pktmbuf_free(msg[i].m);
		taken += n;
	}
	weir_socket_stats_get(s->sk[0], &sk);
	assert_int_equal(sk.charged_bytes, 0);
	assert_int_equal(weir_lcore_detach(lc), 0);
	offered(s, of, delivered);
	weir_stats_get(s->stack, &st);
	printf("# %" PRIu64 " + %" PRIu64 " frames, %" PRIu64 " + %" PRIu64 " delivered, %" PRIu64
	       " read, %" PRIu64 " refused, %" PRIu64 " buffers in use at most\n",
	       of[0], of[1], delivered[0], delivered[1], st.rx_read, sk.rcvq_full, most);
	ut_stack_identity(s, "after the flood");
	assert_int_equal(st.rx_read, taken);
	ut_stack_only_drop(s, WEIR_DROP_RCVQ_FULL, sk.rcvq_full, "a full socket");
	assert_int_equal(st.rx_frames, taken + sk.rcvq_full);
	assert_int_equal(st.rx_queued, 0);
	assert_true(st.rx_frames > OVERLOAD / 2 * taken); /* it was a flood */
	/* What was delivered of each one's frames: same order of magnitude. */
	if (of[0] > 100000 && of[1] > 100000)
		assert_true(delivered[0] * of[1] < 20 * delivered[1] * of[0] &&
			    delivered[1] * of[0] < 20 * delivered[0] * of[1]);
}

/* ---- a socket that changes its names under traffic ---- */

struct emptier {
	struct weir_stack *stack;
	struct weir_socket *sk;
	int error;
	atomic_bool stop;
	uint64_t n;
};

static void *
empty_it(void *arg)
{
	struct emptier *e = arg;
	struct weir_rxmsg msg[32];
	struct weir_lcore *lc;

	e->error = weir_thread_attach(e->stack, &lc);
	if (e->error != 0)
		return NULL;
	while (!atomic_load(&e->stop)) {
		uint16_t n = weir_recv_burst(lc, e->sk, msg, UT_N(msg));

		for (uint16_t i = 0; i < n; i++)
			rte_pktmbuf_free(msg[i].m);
		e->n += n;
		if (n == 0)
			sched_yield();
	}
	e->error = weir_lcore_detach(lc);
	return NULL;
}

/*
 * connect, disconnect and bind re-index a socket; there is no moment in which nobody is found (bugs
 * 27, 28 and 30 of the kernel's list). Other sockets come and go, so that tables grow meanwhile.
 */
static void
a_socket_is_found_while_it_changes(void **state)
{
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct ut_stack *s = *state;
	struct weir_socket *others[40] = {NULL};
	struct emptier e = {.error = 1};
	struct weir_stats st;
	uint64_t of[WORKERS], delivered[WORKERS];
	uint64_t end, before;
	unsigned int round;
	pthread_t t;

	up(s);
	e.stack = s->stack;
	e.sk = ut_stack_socket(s, UT_OUR_PORT);
	ut_stack_peer(s);
	assert_int_equal(pthread_create(&t, NULL, empty_it, &e), 0);
	launch(s);
	before = offered(s, of, delivered);
	end = weir_clock_ns() + (seconds() > 10 ? 10 : seconds()) * WEIR_NS_PER_S;
	for (round = 0; weir_clock_ns() < end; round++) {
		struct weir_addr local = weir_addr_v4(0, (uint16_t)(20000 + round % 1000));
		struct weir_socket **other = &others[round % UT_N(others)];
		int ret;

		assert_int_equal(weir_socket_connect(e.sk, &peer), 0);
		if (*other != NULL)
			assert_int_equal(weir_socket_close(*other), 0);
		*other = NULL;
		/* Those closed keep their places until both workers have passed a turn. */
		while ((ret = weir_socket_open(s->stack, NULL, other)) == -EMFILE)
			sched_yield();
		assert_int_equal(ret, 0);
		assert_int_equal(weir_socket_bind(*other, &local), 0);
		if (round % 3 == 0)
			assert_int_equal(weir_socket_connect(*other, &peer), 0);
		assert_int_equal(weir_socket_disconnect(e.sk), 0);
		if (round % 5 == 0)
			sched_yield();
	}
	for (unsigned int i = 0; i < UT_N(others); i++)
		if (others[i] != NULL)
			weir_socket_close(others[i]);
	halt();
	atomic_store(&e.stop, true);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(e.error, 0);
	weir_stats_get(s->stack, &st);
	printf("# %u rounds, %" PRIu64 " frames, %" PRIu64 " read\n", round,
	       offered(s, of, delivered) - before, e.n);
	assert_true(round > 10 && st.rx_frames > 1000);
	ut_check(st.drops[WEIR_DROP_NO_SOCKET] == 0, "%" PRIu64 " of %" PRIu64 " found nobody",
		 st.drops[WEIR_DROP_NO_SOCKET], st.rx_frames);
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, teardown)
	const struct CMUnitTest cases[] = {
		CASE(nothing_vanishes_in_a_flood),
		CASE(a_socket_is_found_while_it_changes),
	};

	return UT_RUN(cases, NULL, NULL);
}
