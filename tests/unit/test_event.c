/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: who is woken by what, how many of them, and that nobody sleeps beside a datagram. The test's
 * thread is the worker; those who sleep are threads that it attaches. They only record; the test's own
 * thread judges, and waits for conditions with a deadline.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "common/ut_sock.h"
#include "errq.h"
#include "event.h"

#define FOREVER UINT64_MAX
#define MS      WEIR_NS_PER_MS
#define N       4

static struct ut_stack *
up(void **state, bool real_clock)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.stack.max_threads = N + 1;
	cfg.real_clock = real_clock;
	ut_stack_up(s, &cfg);
	return s;
}

/* Datagrams to UT_OUR_PORT, as one burst. */
static void
burst(struct ut_stack *s, unsigned int n)
{
	struct ut_pkt p = ut_pkt_udp();

	for (unsigned int i = 0; i < n; i++)
		ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	weir_turn(s->w[0]);
}

/* The next datagram, which there must be. */
static void
take_one(struct ut_stack *s, struct weir_socket *sk)
{
	char buf[64];

	assert_int_equal(weir_recv(s->w[0], sk, buf, sizeof(buf), NULL), 18);
}

static uint64_t
wakes(struct weir_socket *sk)
{
	struct weir_socket_stats st;

	weir_socket_stats_get(sk, &st);
	return st.wakes;
}

/* ---- readers that sleep ---- */

struct reader {
	struct weir_stack *stack;
	struct weir_socket *sk;
	pthread_t thread;
	uint64_t timeout;
	unsigned int want; /* datagrams; then it ends */
	_Atomic unsigned int got;
	_Atomic int ret; /* of the wait that ended it */
	atomic_bool attached, done;
};

static void *
read_some(void *arg)
{
	struct reader *r = arg;
	struct weir_lcore *lc;
	char buf[64];
	int ret = weir_thread_attach(r->stack, &lc);

	atomic_store(&r->attached, ret == 0);
	while (ret == 0 && atomic_load(&r->got) < r->want) {
		ret = weir_event_wait(lc, r->sk, WEIR_EV_IN | EPOLLERR | EPOLLRDHUP, NULL, 0,
				      r->timeout);
		if (ret == 0 && weir_recv(lc, r->sk, buf, sizeof(buf), NULL) >= 0)
			atomic_fetch_add(&r->got, 1);
		else if (ret == 0 && (r->sk->shut & WEIR_SHUT_RD) != 0)
			break;
	}
	atomic_store(&r->ret, ret);
	if (atomic_load(&r->attached))
		weir_lcore_detach(lc);
	atomic_store(&r->done, true);
	return NULL;
}

static void
start(struct reader *r, struct ut_stack *s, struct weir_socket *sk, unsigned int want,
      uint64_t timeout)
{
	memset(r, 0, sizeof(*r));
	r->stack = s->stack;
	r->sk = sk;
	r->want = want;
	r->timeout = timeout;
	assert_int_equal(pthread_create(&r->thread, NULL, read_some, r), 0);
}

static void
join(struct reader *r)
{
	assert_int_equal(pthread_join(r->thread, NULL), 0);
	assert_true(r->attached);
}

struct asleep {
	struct weir_socket *sk;
	unsigned int n;
};

static bool
are_asleep(void *arg)
{
	struct asleep *a = arg;

	return weir_event_sleepers(a->sk) == a->n;
}

static void
wait_asleep(struct weir_socket *sk, unsigned int n)
{
	struct asleep a = {sk, n};

	ut_wait_for(are_asleep, &a, "readers asleep");
}

static bool
is_done(void *arg)
{
	return atomic_load(&((struct reader *)arg)->done);
}

static unsigned int
total(struct reader *r)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < N; i++)
		n += atomic_load(&r[i].got);
	return n;
}

struct count {
	struct reader *r;
	unsigned int n;
};

static bool
have_read(void *arg)
{
	struct count *c = arg;

	return total(c->r) == c->n;
}

static void
wait_read(struct reader *r, unsigned int n)
{
	struct count c = {r, n};

	ut_wait_for(have_read, &c, "datagrams read");
}

static struct weir_socket *
several(struct ut_stack *s)
{
	struct weir_socket_conf conf;

	weir_socket_conf_init(&conf);
	conf.readers = true;
	return ut_stack_socket_conf(s, UT_OUR_PORT, &conf);
}

static void
four_readers_take_one_burst_of_four(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct reader r[N];

	for (unsigned int i = 0; i < N; i++)
		start(&r[i], s, sk, 1, FOREVER);
	wait_asleep(sk, N);
	burst(s, N);
	for (unsigned int i = 0; i < N; i++)
		ut_wait_for(is_done, &r[i], "all four readers back");
	for (unsigned int i = 0; i < N; i++) {
		join(&r[i]);
		assert_int_equal(r[i].got, 1);
	}
	assert_int_equal(wakes(sk), N);
	assert_int_equal(weir_event_sleepers(sk), 0);
}

static void
four_bursts_of_one_wake_one_reader_each(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct reader r[N];

	for (unsigned int i = 0; i < N; i++)
		start(&r[i], s, sk, 1, FOREVER);
	wait_asleep(sk, N);
	/* One after the other: each burst wakes one, the others sleep on. */
	for (unsigned int n = 1; n <= N; n++) {
		burst(s, 1);
		wait_read(r, n);
		wait_asleep(sk, N - n);
		assert_int_equal(wakes(sk), n);
	}
	for (unsigned int i = 0; i < N; i++)
		join(&r[i]);
	/* At once, faster than anybody can wake: still one wake for each datagram. */
	for (unsigned int i = 0; i < N; i++)
		start(&r[i], s, sk, 1, FOREVER);
	wait_asleep(sk, N);
	for (unsigned int n = 0; n < N; n++)
		burst(s, 1);
	for (unsigned int i = 0; i < N; i++)
		ut_wait_for(is_done, &r[i], "all four readers back");
	for (unsigned int i = 0; i < N; i++)
		join(&r[i]);
	assert_int_equal(wakes(sk), 2 * N);
}

static void
more_datagrams_than_readers_wake_each_once(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct reader r[N];

	for (unsigned int i = 0; i < N; i++)
		start(&r[i], s, sk, 100, FOREVER);
	wait_asleep(sk, N);
	burst(s, 30);
	wait_read(r, 30);
	wait_asleep(sk, N);
	assert_in_range(wakes(sk), N, 2 * N);
	weir_socket_shutdown(sk, WEIR_SHUT_RD);
	for (unsigned int i = 0; i < N; i++)
		join(&r[i]);
}

static void
nobody_waiting_costs_nothing(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);

	burst(s, 3);
	assert_int_equal(sk->wait.seq, 0);
	assert_int_equal(wakes(sk), 0);
	assert_int_equal(ut_sock_drain(s, sk), 3);
}

static void
waits_end_by_time_signal_shutdown_error_and_close(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct weir_sockerr e = {.err = EHOSTUNREACH, .origin = WEIR_ERR_ICMP};
	struct reader r;

	start(&r, s, sk, 1, 2 * MS);
	join(&r);
	assert_int_equal(r.ret, -ETIMEDOUT);
	assert_int_equal(weir_event_sleepers(sk), 0);

	start(&r, s, sk, 1, FOREVER);
	wait_asleep(sk, 1);
	pthread_kill(r.thread, SIGUSR1);
	join(&r);
	assert_int_equal(r.ret, -EINTR);

	/* An error wakes; taken by another call, the reader goes on waiting. */
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	start(&r, s, sk, 1, FOREVER);
	wait_asleep(sk, 1);
	assert_int_equal(weir_errq_put(sk, &e), 0);
	wait_asleep(sk, 1);
	burst(s, 1);
	join(&r);
	assert_int_equal(r.got, 1);

	start(&r, s, sk, 1, FOREVER);
	wait_asleep(sk, 1);
	weir_socket_shutdown(sk, WEIR_SHUT_RD);
	join(&r);
	assert_int_equal(r.ret, 0);

	weir_event_close(sk);
	start(&r, s, sk, 1, FOREVER);
	join(&r);
	assert_int_equal(r.ret, -EBADF);
}

static void
close_wakes_a_sleeper(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct reader r;

	start(&r, s, sk, 1, FOREVER);
	wait_asleep(sk, 1);
	weir_event_close(sk);
	join(&r);
	assert_int_equal(r.ret, -EBADF);
}

/* A sleeper that goes away does not take a wake with it that another one needs. */
static void
one_who_gives_up_does_not_disturb_the_others(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct reader r[N];

	for (unsigned int round = 0; round < 30; round++) {
		for (unsigned int i = 0; i < N; i++)
			start(&r[i], s, sk, 1, i < 2 ? FOREVER : (1 + round % 5) * MS / 5);
		burst(s, 1);
		burst(s, 1);
		burst(s, 1);
		burst(s, 1);
		ut_wait_for(is_done, &r[0], "a reader that waits for ever");
		ut_wait_for(is_done, &r[1], "another one");
		for (unsigned int i = 0; i < N; i++)
			join(&r[i]);
		assert_int_equal(r[0].got + r[1].got, 2);
		ut_sock_drain(s, sk);
	}
}

/* Readers that sleep whenever they can, a producer that never waits: nothing is left behind. */
static void
no_wake_is_lost(void **state)
{
	struct ut_stack *s = up(state, true);
	struct weir_socket *sk = several(s);
	struct ut_rng rng = ut_rng();
	struct reader r[N];
	unsigned int sent = 0;

	for (unsigned int i = 0; i < N; i++)
		start(&r[i], s, sk, 1000000, FOREVER);
	while (sent < 4000) {
		const unsigned int n = 1 + ut_rand_below(&rng, 6);

		burst(s, n);
		sent += n;
		if (ut_rand_below(&rng, 8) == 0)
			wait_read(r, sent); /* until all are asleep or about to be */
	}
	wait_read(r, sent);
	weir_socket_shutdown(sk, WEIR_SHUT_RD);
	for (unsigned int i = 0; i < N; i++)
		join(&r[i]);
	assert_int_equal(total(r), sent);
}

/* ---- the moments between the looks and the sleep ---- */

static __thread unsigned int readings; /* of the clock, by a reader; 0: not one */
static unsigned int stop_at;           /* 2: before it is armed, 3: before it sleeps */
static atomic_bool between, go_on;

/* The real time. The second and third reading of a reader in weir_event_wait() fall into those moments. */
static uint64_t
stopping_clock(void *arg)
{
	struct timespec now;

	(void)arg;
	if (readings != 0 && readings++ == stop_at) {
		atomic_store(&between, true);
		while (!atomic_load(&go_on))
			sched_yield();
	}
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec;
}

static void *
read_counting(void *arg)
{
	struct reader *r = arg;
	struct weir_lcore *lc;

	if (weir_thread_attach(r->stack, &lc) != 0)
		return NULL;
	readings = 1;
	atomic_store(&r->ret, weir_event_wait(lc, r->sk, WEIR_EV_IN, NULL, 0, r->timeout));
	readings = 0;
	weir_lcore_detach(lc);
	atomic_store(&r->done, true);
	return NULL;
}

static bool
is_set(void *arg)
{
	return atomic_load((atomic_bool *)arg);
}

static void
arrive_at(void **state, unsigned int moment, uint64_t woken)
{
	struct ut_stack *s;
	struct weir_socket *sk;
	struct reader r = {.timeout = 100 * WEIR_NS_PER_S};

	stop_at = moment;
	weir_clock_set_source(stopping_clock, NULL);
	s = up(state, true);
	sk = ut_stack_socket(s, UT_OUR_PORT);
	r.stack = s->stack;
	r.sk = sk;
	atomic_store(&between, false);
	atomic_store(&go_on, false);
	assert_int_equal(pthread_create(&r.thread, NULL, read_counting, &r), 0);
	ut_wait_for(is_set, &between, "a reader that has looked");
	burst(s, 1);
	assert_int_equal(wakes(sk), woken);
	atomic_store(&go_on, true);
	ut_wait_for(is_done, &r, "the reader back");
	assert_int_equal(pthread_join(r.thread, NULL), 0);
	assert_int_equal(r.ret, 0);
	take_one(s, sk);
	ut_stack_down(s);
	weir_clock_set_source(NULL, NULL);
}

static void
what_comes_before_the_arming_is_seen(void **state)
{
	arrive_at(state, 2, 0); /* nobody is told: the look after the arming finds it */
}

static void
what_comes_before_the_sleep_ends_it(void **state)
{
	arrive_at(state, 3, 1); /* told, but not asleep yet: the futex word has moved */
}

/* ---- a worker waits by taking turns ---- */

static void
a_worker_takes_turns_while_it_waits(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	struct ut_pkt p = ut_pkt_udp();

	assert_int_equal(weir_recv_wait(s->w[0], sk, 0), -ETIMEDOUT);
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	assert_int_equal(weir_recv_wait(s->w[0], sk, FOREVER), 0);
	assert_int_equal(weir_recv_wait(s->w[0], sk, 0), 0);
	assert_int_equal(ut_sock_drain(s, sk), 1);
	assert_int_equal(weir_recv_wait(s->w[0], sk, 0), -ETIMEDOUT);
}

static void
an_arrival_is_more_than_readiness(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	struct ut_pkt p = ut_pkt_udp();
	uint64_t seen;

	burst(s, 1);
	seen = weir_recvq_arrivals(&sk->rq);
	/* Readable, but what there is has been seen: a peek beyond it waits. */
	assert_int_equal(weir_event_wait(s->w[0], sk, WEIR_EV_IN, NULL, 0, 0), 0);
	assert_int_equal(weir_event_wait(s->w[0], sk, WEIR_EV_IN, &seen, 0, 0), -ETIMEDOUT);
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	assert_int_equal(weir_event_wait(s->w[0], sk, WEIR_EV_IN, &seen, 0, FOREVER), 0);
	ut_sock_drain(s, sk);
}

/* ---- what holds ---- */

static void
masks_follow_the_socket(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	struct weir_sockerr e = {.err = EHOSTUNREACH, .origin = WEIR_ERR_LOCAL};

	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT);
	burst(s, 2);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | WEIR_EV_IN);
	/* Spliced, one taken: what the reader holds counts (bug 12). */
	take_one(s, sk);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | WEIR_EV_IN);
	assert_int_equal(ut_sock_drain(s, sk), 1);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT);
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	assert_int_equal(weir_errq_put(sk, &e), 0);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | EPOLLERR);
	/* ... but it is no reason to end a wait for a call that would return nothing. */
	assert_int_equal(weir_event_wait(s->w[0], sk, WEIR_EV_IN | EPOLLERR, NULL, 0, 0),
			 -ETIMEDOUT);
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	atomic_store(&sk->error, ECONNREFUSED);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | EPOLLERR);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED);
	weir_socket_shutdown(sk, WEIR_SHUT_RD);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | WEIR_EV_IN | EPOLLRDHUP);
	weir_socket_shutdown(sk, WEIR_SHUT_WR);
	assert_int_equal(weir_event_mask(sk), WEIR_EV_OUT | WEIR_EV_IN | EPOLLRDHUP | EPOLLHUP);
}

/* ---- eventfd ---- */

static bool
signalled(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void
the_eventfd_says_look(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	int fd = weir_socket_eventfd(sk);

	assert_true(fd >= 0);
	assert_int_equal(weir_socket_eventfd(sk), fd);
	assert_false(signalled(fd));
	burst(s, 2);
	assert_true(signalled(fd));
	take_one(s, sk);
	assert_true(signalled(fd)); /* level */
	take_one(s, sk);
	assert_true(signalled(fd)); /* until a call finds nothing */
	ut_sock_must_be_empty(s, sk, "drained");
	assert_false(signalled(fd));
	burst(s, 1);
	assert_true(signalled(fd));
	assert_int_equal(ut_sock_drain(s, sk), 1);
	assert_false(signalled(fd));
	/* Errors and shutdown say it too. */
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	assert_int_equal(weir_errq_put(sk, &(struct weir_sockerr){.err = EPROTO, .origin = 2}), 0);
	assert_true(signalled(fd));
	assert_int_equal(weir_socket_error(sk), -EPROTO);
	ut_sock_must_be_empty(s, sk, "no datagram");
	assert_true(signalled(fd)); /* the error queue is not empty */
	assert_int_equal(weir_socket_errqueue(sk, &(struct weir_sockerr){0}), 0);
	ut_sock_must_be_empty(s, sk, "still none");
	assert_false(signalled(fd));
	weir_socket_shutdown(sk, WEIR_SHUT_RD);
	assert_true(signalled(fd));
	assert_int_equal(weir_recv_burst(s->w[0], sk, &(struct weir_rxmsg){0}, 1), 0);
	assert_true(signalled(fd));
}

static void
an_eventfd_made_late_says_what_there_is(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	int fd;

	burst(s, 1);
	fd = weir_socket_eventfd(sk);
	assert_true(signalled(fd));
	assert_int_equal(ut_sock_drain(s, sk), 1);
	assert_false(signalled(fd));
	weir_event_mute(sk, true);
	assert_true(signalled(fd)); /* always, whatever happens */
	assert_int_equal(ut_sock_drain(s, sk), 0);
	assert_true(signalled(fd));
	burst(s, 1);
	weir_event_mute(sk, false);
	assert_true(signalled(fd));
	weir_event_mute(sk, true);
	assert_true(weir_event_muted(sk));
	assert_int_equal(ut_sock_drain(s, sk), 1);
	assert_true(signalled(fd));
	assert_int_equal(weir_socket_eventfd(sk), fd); /* asked for: not muted any more */
	assert_false(weir_event_muted(sk));
	assert_false(signalled(fd));
	burst(s, 1);
	assert_true(signalled(fd));
	assert_int_equal(ut_sock_drain(s, sk), 1);
}

/* ---- watches ---- */

struct counted {
	struct weir_watch w;
	unsigned int n;
	bool comes;
};

static bool
count(struct weir_watch *w)
{
	struct counted *c = (struct counted *)w;

	c->n++;
	return c->comes;
}

static void
watches_are_told_once_per_arming(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	struct counted a = {.w.fn = count}, b = {.w.fn = count};

	weir_event_watch(sk, &a.w);
	weir_event_watch(sk, &b.w);
	burst(s, 1);
	assert_int_equal(a.n, 0); /* not armed */
	assert_int_equal(weir_event_rearm(sk) & WEIR_EV_IN, WEIR_EV_IN);
	burst(s, 5); /* an arrival is an edge although there was something already */
	burst(s, 1);
	assert_int_equal(a.n, 1);
	assert_int_equal(b.n, 1);
	assert_int_equal(ut_sock_drain(s, sk), 7); /* reading is none */
	assert_int_equal(weir_event_rearm(sk) & WEIR_EV_IN, 0);
	weir_event_unwatch(sk, &a.w);
	burst(s, 1);
	assert_int_equal(a.n, 1);
	assert_int_equal(b.n, 2);
	weir_event_wake_all(sk);
	assert_int_equal(b.n, 3);
	weir_event_unwatch(sk, &b.w);
	assert_int_equal(ut_sock_drain(s, sk), 1);
}

static void
of_exclusive_watches_one_is_told(void **state)
{
	struct ut_stack *s = up(state, false);
	struct weir_socket *sk = ut_stack_socket(s, UT_OUR_PORT);
	struct counted w[3] = {{.w = {.fn = count, .exclusive = true}},
			       {.w = {.fn = count, .exclusive = true}},
			       {.w = {.fn = count}}};

	for (unsigned int i = 0; i < 3; i++)
		weir_event_watch(sk, &w[i].w);
	weir_event_rearm(sk);
	burst(s, 1); /* nobody comes for it: all are told */
	assert_int_equal(w[0].n + w[1].n, 2);
	assert_int_equal(w[2].n, 1);
	w[0].comes = true;
	w[1].comes = true;
	weir_event_rearm(sk);
	burst(s, 1);
	assert_int_equal(w[0].n + w[1].n, 3);
	assert_int_equal(w[2].n, 2);
	for (unsigned int i = 0; i < 3; i++)
		weir_event_unwatch(sk, &w[i].w);
	assert_int_equal(ut_sock_drain(s, sk), 2);
}

static void
no_handler(int sig)
{
	(void)sig;
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(four_readers_take_one_burst_of_four),
		UT_STACK_TEST(four_bursts_of_one_wake_one_reader_each),
		UT_STACK_TEST(more_datagrams_than_readers_wake_each_once),
		UT_STACK_TEST(nobody_waiting_costs_nothing),
		UT_STACK_TEST(waits_end_by_time_signal_shutdown_error_and_close),
		UT_STACK_TEST(close_wakes_a_sleeper),
		UT_STACK_TEST(one_who_gives_up_does_not_disturb_the_others),
		UT_STACK_TEST(no_wake_is_lost),
		UT_STACK_TEST(what_comes_before_the_arming_is_seen),
		UT_STACK_TEST(what_comes_before_the_sleep_ends_it),
		UT_STACK_TEST(a_worker_takes_turns_while_it_waits),
		UT_STACK_TEST(an_arrival_is_more_than_readiness),
		UT_STACK_TEST(masks_follow_the_socket),
		UT_STACK_TEST(the_eventfd_says_look),
		UT_STACK_TEST(an_eventfd_made_late_says_what_there_is),
		UT_STACK_TEST(watches_are_told_once_per_arming),
		UT_STACK_TEST(of_exclusive_watches_one_is_told),
	};
	struct sigaction sa = {.sa_handler = no_handler}; /* no SA_RESTART */

	sigaction(SIGUSR1, &sa, NULL);
	return UT_RUN(cases, NULL, NULL);
}
