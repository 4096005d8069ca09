/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BSD layer's waiting: calls that block, on a worker and on other threads; poll, select and epoll with
 * both kinds of descriptors; threads that come and go, and descriptors that are closed under them. The
 * test's thread is the worker. Nothing sleeps: a wait is for a condition, with a deadline.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include <weir/bsd.h>
#include <weir/clock.h>

#include "bsd/bsd_priv.h"
#include "common/ut_fail.h"
#include "errq.h"
#include "event.h"

#define LO      0x7f000001
#define PORT    5000
#define N       4
#define THREADS 6

#define fails(call, err)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ == -1 && errno == (err), "%s: returned %ld, errno %d (%s), not %s",  \
			 #call, got_, errno, strerror(errno), #err);                               \
	} while (0)

#define gives(call, want)                                                                          \
	do {                                                                                       \
		errno = 0;                                                                         \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ == (long)(want), "%s: %ld, not %ld; errno %d", #call, got_,          \
			 (long)(want), errno);                                                     \
	} while (0)

static struct sockaddr_in
name(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(ip)};
}

#define ADDR(in) ((const struct sockaddr *)&(in)), sizeof(in)

static int
teardown(void **state)
{
	assert_int_equal(weir_bsd_stop(), 0);
	return ut_stack_teardown(state);
}

#define WAIT_TEST(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, teardown)

static struct ut_stack *
up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.stack.max_threads = THREADS;
	cfg.stack.max_sockets = 2048;
	cfg.real_clock = true;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_bsd_start(s->stack), 0);
	return s;
}

static int
bound(uint16_t port)
{
	const int fd = weir_socket(AF_INET, SOCK_DGRAM, 0);
	const struct sockaddr_in a = name(0, port);

	ut_check(fd >= 0, "weir_socket: errno %d", errno);
	gives(weir_bind(fd, ADDR(a)), 0);
	return fd;
}

/* n datagrams from the network to a port of ours, not yet received. */
static void
inject(struct ut_stack *s, uint16_t port, unsigned int n)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_dport = port;
	for (unsigned int i = 0; i < n; i++)
		ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
}

static void
arrive(struct ut_stack *s, uint16_t port, unsigned int n)
{
	inject(s, port, n);
	weir_turn(s->w[0]);
}

static int
set(int fd, int level, int opt, int v)
{
	return weir_setsockopt(fd, level, opt, &v, sizeof(v));
}

static void
set_time(int fd, int opt, long ms)
{
	const struct timeval tv = {ms / 1000, ms % 1000 * 1000};

	gives(weir_setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)), 0);
}

static unsigned int
drain(int fd)
{
	char buf[64];
	unsigned int n = 0;

	while (weir_bsd_recv(fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0)
		n++;
	assert_int_equal(errno, EAGAIN);
	return n;
}

/* ---- a worker blocks by taking turns ---- */

static void
a_worker_receives_while_it_blocks(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	struct mmsghdr m[2];
	struct iovec iov[2];
	char buf[2][64];
	uint64_t start;

	inject(s, PORT, 1);
	gives(weir_bsd_recv(fd, buf[0], sizeof(buf[0]), 0), 18);
	for (int i = 0; i < 2; i++) {
		iov[i] = (struct iovec){buf[i], sizeof(buf[i])};
		m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i], .msg_iovlen = 1}};
	}
	inject(s, PORT, 2);
	gives(weir_recvmmsg(fd, m, 2, 0, NULL), 2);
	/* With a limit: what came until then, or EAGAIN. */
	set_time(fd, SO_RCVTIMEO, 3);
	start = weir_clock_ns();
	fails(weir_bsd_recv(fd, buf[0], sizeof(buf[0]), 0), EAGAIN);
	assert_true(weir_clock_ns() - start >= 3 * WEIR_NS_PER_MS);
	inject(s, PORT, 1);
	gives(weir_recvmmsg(fd, m, 2, 0, NULL), 1);
	inject(s, PORT, 1);
	set_time(fd, SO_RCVTIMEO, 0);
	gives(weir_recvmmsg(fd, m, 2, MSG_WAITFORONE, NULL), 1);
	inject(s, PORT, 1);
	gives(weir_recvmmsg(fd, m, 2, 0, &(struct timespec){0, 1000000}), 1);
	fails(weir_recvmmsg(fd, m, 2, 0, &(struct timespec){0, 1000000}), EAGAIN);
	/* A peek offset beyond all that is there waits for more. */
	arrive(s, PORT, 1);
	gives(set(fd, SOL_SOCKET, SO_PEEK_OFF, 18), 0);
	set_time(fd, SO_RCVTIMEO, 1);
	fails(weir_bsd_recv(fd, buf[0], sizeof(buf[0]), MSG_PEEK), EAGAIN);
	set_time(fd, SO_RCVTIMEO, 0);
	inject(s, PORT, 1);
	gives(weir_bsd_recv(fd, buf[0], sizeof(buf[0]), MSG_PEEK), 18);
	assert_int_equal(drain(fd), 2);
}

static void
a_full_queue_blocks_or_not(void **state)
{
	struct ut_stack *s = up(state);
	const struct sockaddr_in a = name(UT_PEER_IP, UT_PEER_PORT);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET}, got;
	struct ut_frame f;
	uint64_t start;
	const int fd = bound(PORT);
	const int ep = weir_epoll_create1(0);
	const int level = weir_epoll_create1(0);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	unsigned int n = 0;

	ut_stack_peer(s);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	ev.events = EPOLLOUT;
	gives(weir_epoll_ctl(level, EPOLL_CTL_ADD, fd, &ev), 0);
	gives(weir_epoll_wait(ep, &got, 1, 0), 1);
	gives(weir_epoll_wait(ep, &got, 1, 0), 0);
	while (weir_sendto(fd, "x", 1, MSG_DONTWAIT, ADDR(a)) == 1)
		ut_check(++n < 10000, "a queue without end");
	assert_int_equal(errno, EAGAIN);
	/* Full: not writable, for poll and epoll, until there is room. */
	gives(weir_poll(&p, 1, 0), 0);
	gives(weir_poll(&p, 1, 3), 0);
	gives(weir_epoll_wait(ep, &got, 1, 0), 0);
	gives(weir_epoll_wait(level, &got, 1, 3), 0);
	arrive(s, PORT, 1); /* an edge of another kind, once */
	gives(weir_epoll_wait(ep, &got, 1, 0), 1);
	assert_int_equal(got.events, EPOLLIN);
	gives(weir_epoll_wait(ep, &got, 1, 2), 0);
	set_time(fd, SO_SNDTIMEO, 2);
	start = weir_clock_ns();
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), EAGAIN);
	assert_true(weir_clock_ns() - start >= 2 * WEIR_NS_PER_MS);
	while (ut_stack_take(s, 0, &f))
		;
	gives(weir_poll(&p, 1, -1), 1);
	assert_int_equal(p.revents, POLLOUT);
	gives(weir_epoll_wait(level, &got, 1, -1), 1);
	gives(weir_epoll_wait(ep, &got, 1, -1), 1);
	assert_int_equal(got.events, EPOLLIN | EPOLLOUT);
	gives(weir_epoll_wait(ep, &got, 1, 0), 0);
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	ut_stack_poll(s);
	assert_int_equal(drain(fd), 1);
}

/* ---- threads that block ---- */

enum what { RECV, RECVMMSG, POLL, EPOLL, SEND_ONCE, EPOLL_TIMED };

struct blocked {
	pthread_t thread;
	enum what what;
	int fd, other;  /* the descriptor; another one for POLL */
	short events;   /* POLL */
	int timeout_ms; /* POLL, EPOLL */
	unsigned int times;
	_Atomic unsigned int n;
	_Atomic long ret;
	_Atomic int err;
	short revents[2];
	struct epoll_event ev;
	atomic_bool done, detach;
};

static void *
block(void *arg)
{
	struct blocked *b = arg;
	struct pollfd p[2] = {{.fd = b->fd, .events = b->events},
			      {.fd = b->other, .events = POLLIN}};
	struct mmsghdr m[8];
	struct iovec iov = {NULL, 0};
	char buf[64];
	long ret = 0;

	for (unsigned int i = 0; i < b->times && ret >= 0; i++) {
		switch (b->what) {
		case RECV:
			ret = weir_bsd_recv(b->fd, buf, sizeof(buf), 0);
			break;
		case RECVMMSG:
			for (unsigned int k = 0; k < UT_N(m); k++)
				m[k] = (struct mmsghdr){
					.msg_hdr = {.msg_iov = &iov, .msg_iovlen = 1}};
			ret = weir_recvmmsg(b->fd, m, UT_N(m), MSG_WAITFORONE, NULL);
			break;
		case POLL:
			ret = weir_poll(p, b->other >= 0 ? 2 : 1, b->timeout_ms);
			b->revents[0] = p[0].revents;
			b->revents[1] = p[1].revents;
			break;
		case EPOLL:
		case EPOLL_TIMED:
			ret = weir_epoll_wait(b->fd, &b->ev, 1, b->timeout_ms);
			break;
		case SEND_ONCE:
			ret = weir_bsd_send(b->fd, "x", 1, 0);
			break;
		}
		atomic_store(&b->err, errno);
		atomic_store(&b->ret, ret);
		if (ret >= 0)
			atomic_fetch_add(&b->n, b->what == RECVMMSG ? (unsigned int)ret : 1);
	}
	atomic_store(&b->done, true);
	while (!atomic_load(&b->detach))
		sched_yield();
	return NULL;
}

static void
start(struct blocked *b, enum what what, int fd)
{
	b->what = what;
	b->fd = fd;
	if (b->times == 0)
		b->times = 1;
	if (what == POLL && b->events == 0) {
		b->events = POLLIN;
		b->other = -1;
	}
	if (what == POLL || what == EPOLL)
		b->timeout_ms = -1;
	assert_int_equal(pthread_create(&b->thread, NULL, block, b), 0);
}

static bool
is_done(void *arg)
{
	return atomic_load(&((struct blocked *)arg)->done);
}

static void
finish(struct blocked *b)
{
	ut_wait_for(is_done, b, "a blocked thread back");
	atomic_store(&b->detach, true);
	assert_int_equal(pthread_join(b->thread, NULL), 0);
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
wait_asleep(int fd, unsigned int n)
{
	struct asleep a = {weir_bsd_handle(fd), n};

	ut_wait_for(are_asleep, &a, "threads asleep");
}

/* Has a poll or epoll put a watch on the socket, or armed it again? */
static bool
is_watched(void *arg)
{
	struct weir_socket *sk = arg;
	bool yes;

	while (atomic_exchange(&sk->wait.lock, 1) != 0)
		sched_yield();
	yes = sk->wait.watch != NULL;
	atomic_store(&sk->wait.lock, 0);
	return yes;
}

static void
wait_watched(int fd)
{
	ut_wait_for(is_watched, weir_bsd_handle(fd), "a watch on the socket");
}

/* ... and in an epoll. */
static bool
sleep_in_epoll(void *arg)
{
	struct asleep *a = arg;

	return bsd_epoll_sleepers((struct bsd_epoll *)bsd.slots[a->n & 0xffff]) == a->n >> 16;
}

static void
wait_asleep_in(int ep, unsigned int n)
{
	struct asleep a = {NULL, (unsigned int)ep | n << 16};

	ut_wait_for(sleep_in_epoll, &a, "threads asleep in an epoll");
}

static void
blocked_readers_get_one_each(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	struct blocked b[N] = {0};

	for (unsigned int i = 0; i < N; i++)
		start(&b[i], RECV, fd);
	wait_asleep(fd, N);
	arrive(s, PORT, N);
	for (unsigned int i = 0; i < N; i++) {
		finish(&b[i]);
		assert_int_equal(b[i].ret, 18);
	}
	assert_int_equal(drain(fd), 0);
}

static void
close_wakes_readers_with_ebadf(void **state)
{
	const struct sockaddr_in a = name(0, PORT);
	struct blocked b[2] = {0};
	int fd, two;

	up(state);
	fd = bound(PORT);
	two = weir_dup(fd);
	start(&b[0], RECV, fd);
	start(&b[1], RECVMMSG, two);
	wait_asleep(fd, 2);
	gives(weir_close(two), 0); /* not the last one */
	wait_asleep(fd, 2);
	gives(weir_close(fd), 0);
	for (unsigned int i = 0; i < 2; i++) {
		finish(&b[i]);
		assert_int_equal(b[i].ret, -1);
		assert_int_equal(b[i].err, EBADF);
	}
	fd = weir_socket(AF_INET, SOCK_DGRAM, 0);
	gives(weir_bind(fd, ADDR(a)), 0); /* the name is free */
}

struct closing {
	struct weir_stack *stack;
	int fd;
	uint32_t retired;
	int ret;
};

static void
close_it(struct weir_lcore *lc, void *arg)
{
	struct closing *c = arg;

	(void)lc;
	c->ret = weir_close(c->fd);
	c->retired = atomic_load(&bsd.n_retired);
}

static void *
close_on_the_worker(void *arg)
{
	struct closing *c = arg;

	weir_worker_call(c->stack, 0, close_it, c, UINT64_MAX);
	return NULL;
}

/* Closed inside a turn that a blocked call takes: the socket goes when the call has returned. */
static void
a_call_keeps_its_socket_until_it_returns(void **state)
{
	struct ut_stack *s = up(state);
	struct closing c = {.stack = s->stack, .fd = bound(PORT), .ret = 77};
	pthread_t t;
	char buf[8];

	assert_int_equal(pthread_create(&t, NULL, close_on_the_worker, &c), 0);
	fails(weir_bsd_recv(c.fd, buf, sizeof(buf), 0), EBADF);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(c.ret, 0);
	assert_int_equal(c.retired, 1);
	assert_int_equal(bsd.n_retired, 0);
}

static void
shutdown_and_signals_end_a_receive(void **state)
{
	struct blocked b = {0};
	int fd;

	up(state);
	fd = bound(PORT);
	start(&b, RECV, fd);
	wait_asleep(fd, 1);
	pthread_kill(b.thread, SIGUSR1);
	finish(&b);
	assert_int_equal(b.ret, -1);
	assert_int_equal(b.err, EINTR);
	b = (struct blocked){0};
	start(&b, RECV, fd);
	wait_asleep(fd, 1);
	fails(weir_shutdown(fd, SHUT_RD), ENOTCONN);
	finish(&b);
	assert_int_equal(b.ret, 0);
}

static void
threads_come_and_go(void **state)
{
	struct ut_stack *s = up(state);
	struct blocked b[THREADS + 1] = {0};
	int fd[THREADS + 1];

	for (unsigned int i = 0; i <= THREADS; i++)
		fd[i] = bound((uint16_t)(PORT + i));
	for (unsigned int i = 0; i < THREADS; i++) {
		start(&b[i], RECV, fd[i]);
		wait_asleep(fd[i], 1);
	}
	/* One more than the stack has room for. */
	start(&b[THREADS], RECV, fd[THREADS]);
	finish(&b[THREADS]);
	assert_int_equal(b[THREADS].ret, -1);
	assert_int_equal(b[THREADS].err, EUSERS);
	assert_int_equal(weir_bsd_stop(), -EBUSY);
	for (unsigned int i = 0; i < THREADS; i++) {
		arrive(s, (uint16_t)(PORT + i), 1);
		finish(&b[i]);
	}
	/* Ended: there is room again, more often than there is room at a time. */
	for (unsigned int i = 0; i < 3 * THREADS; i++) {
		struct blocked c = {0};

		start(&c, RECV, fd[0]);
		arrive(s, PORT, 1);
		finish(&c);
		assert_int_equal(c.ret, 18);
	}
}

static void *
detach_in_between(void *arg)
{
	const int fd = *(int *)arg;
	char buf[8];
	long bad = 0;

	for (int i = 0; i < 100; i++) {
		bad |= weir_bsd_recv(fd, buf, sizeof(buf), MSG_DONTWAIT) != -1 || errno != EAGAIN;
		weir_bsd_detach();
		weir_bsd_detach();
	}
	return (void *)bad;
}

static void
a_thread_may_detach_and_go_on(void **state)
{
	pthread_t t[2 * THREADS];
	void *bad;
	int fd;

	up(state);
	fd = bound(PORT);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, detach_in_between, &fd), 0);
	for (unsigned int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(t[i], &bad), 0);
		assert_null(bad);
	}
}

/* ---- descriptors closed under running calls ---- */

static atomic_bool churn_stop;
static _Atomic int churn_fd[N];

static void *
use_whatever_is_there(void *arg)
{
	struct ut_rng rng = {.state = (uintptr_t)arg};
	const struct sockaddr_in a = name(LO, 1);
	const struct timeval ms = {0, 1000};
	struct pollfd p[N];
	char buf[64];
	long bad = 0;

	while (!atomic_load(&churn_stop)) {
		const int fd = atomic_load(&churn_fd[ut_rand_below(&rng, N)]);
		long ret = 0;

		errno = 0;
		switch (ut_rand_below(&rng, 6)) {
		case 0:
			ret = weir_bsd_recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
			break;
		case 1:
			(void)weir_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &ms, sizeof(ms));
			ret = weir_bsd_recv(fd, buf, sizeof(buf), 0);
			break;
		case 2:
			ret = weir_sendto(fd, "x", 1, MSG_DONTWAIT, ADDR(a));
			break;
		case 3:
			ret = weir_dup(fd);
			if (ret >= 0)
				ret = weir_close((int)ret);
			break;
		case 4:
			for (int i = 0; i < N; i++)
				p[i] = (struct pollfd){.fd = atomic_load(&churn_fd[i]),
						       .events = POLLIN};
			ret = weir_poll(p, N, 1);
			break;
		case 5:
			ret = weir_fcntl(fd, F_GETFL);
			break;
		}
		if (ret == -1 && errno != EAGAIN && errno != EBADF && errno != ENOTSOCK)
			bad = errno;
	}
	return (void *)bad;
}

static void
descriptors_may_be_closed_at_any_time(void **state)
{
	struct ut_stack *s = up(state);
	struct ut_rng rng = ut_rng();
	struct epoll_event ev = {.events = EPOLLIN}, got[4];
	const int ep = weir_epoll_create1(0);
	pthread_t t[3];
	void *bad;

	atomic_store(&churn_stop, false);
	for (int i = 0; i < N; i++)
		atomic_store(&churn_fd[i], bound((uint16_t)(PORT + i)));
	for (uintptr_t i = 0; i < UT_N(t); i++)
		assert_int_equal(pthread_create(&t[i], NULL, use_whatever_is_there,
						(void *)(ut_rand(&rng) | 1)),
				 0);
	for (unsigned int round = 0; round < 1500; round++) {
		const uint32_t i = ut_rand_below(&rng, N);

		switch (ut_rand_below(&rng, 4)) {
		case 0:
			(void)weir_close(atomic_load(&churn_fd[i]));
			atomic_store(&churn_fd[i], weir_socket(AF_INET, SOCK_DGRAM, 0));
			break;
		case 1:
			weir_epoll_ctl(ep, EPOLL_CTL_ADD, atomic_load(&churn_fd[i]), &ev);
			weir_epoll_wait(ep, got, UT_N(got), 0);
			break;
		case 2:
			inject(s, (uint16_t)(PORT + i), 1);
			break;
		case 3:
			break;
		}
		weir_turn(s->w[0]);
	}
	atomic_store(&churn_stop, true);
	for (unsigned int i = 0; i < UT_N(t); i++) {
		assert_int_equal(pthread_join(t[i], &bad), 0);
		ut_check(bad == NULL, "errno %ld", (long)bad);
	}
}

/* ---- poll ---- */

static void
poll_looks_at_both_kinds(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	struct pollfd p[40];
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	p[0] = (struct pollfd){.fd = fd, .events = POLLIN | POLLPRI};
	p[1] = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	p[2] = (struct pollfd){.fd = -7, .events = POLLIN, .revents = 77};
	gives(weir_poll(p, 3, 0), 0);
	assert_int_equal(p[2].revents, 0);
	gives(weir_poll(p, 3, 1), 0);
	p[0].events |= POLLOUT | POLLWRNORM;
	gives(weir_poll(p, 3, -1), 1);
	assert_int_equal(p[0].revents, POLLOUT | POLLWRNORM);
	p[0].events = POLLIN | POLLRDNORM;
	inject(s, PORT, 1); /* the turns that bring it are poll's */
	gives(weir_poll(p, 3, -1), 1);
	assert_int_equal(p[0].revents, POLLIN | POLLRDNORM);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	gives(weir_poll(p, 3, -1), 2);
	assert_int_equal(p[1].revents, POLLIN);
	gives(weir_poll(p + 1, 1, -1), 1); /* only the kernel's */
	/* A number that is nothing. */
	p[2].fd = 1000;
	gives(weir_poll(p, 3, -1), 3);
	assert_int_equal(p[2].revents, POLLNVAL);
	/* What is pending without being asked for. */
	p[0].events = 0;
	atomic_store(&weir_bsd_handle(fd)->error, EPROTO);
	gives(weir_poll(p, 1, 0), 1);
	assert_int_equal(p[0].revents, POLLERR);
	p[0].events = POLLPRI;
	gives(set(fd, SOL_SOCKET, SO_SELECT_ERR_QUEUE, 1), 0);
	gives(weir_poll(p, 1, 0), 1);
	assert_int_equal(p[0].revents, POLLERR | POLLPRI);
	assert_int_equal(weir_socket_error(weir_bsd_handle(fd)), -EPROTO);
	/* Shut down: nothing queued, but readable; hung up when both are. */
	assert_int_equal(drain(fd), 1);
	p[0].events = POLLIN | POLLRDHUP | POLLOUT;
	fails(weir_shutdown(fd, SHUT_RD), ENOTCONN);
	gives(weir_poll(p, 1, 0), 1);
	assert_int_equal(p[0].revents, POLLIN | POLLRDHUP | POLLOUT);
	fails(weir_shutdown(fd, SHUT_WR), ENOTCONN);
	gives(weir_poll(p, 1, 0), 1);
	assert_int_equal(p[0].revents, POLLIN | POLLRDHUP | POLLOUT | POLLHUP);
	/* Bad arguments, many descriptors. */
	fails(weir_poll(NULL, 1, 0), EFAULT);
	gives(weir_poll(NULL, 0, 0), 0);
	fails(weir_poll(p, (nfds_t)1 << 40, 0), EINVAL);
	fails(weir_ppoll(p, 1, &(struct timespec){0, -1}, NULL), EINVAL);
	gives(weir_ppoll(p, 1, &(struct timespec){0, 1}, &(sigset_t){0}), 1);
	for (unsigned int i = 0; i < UT_N(p); i++)
		p[i] = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	gives(weir_poll(p, UT_N(p), -1), UT_N(p));
	ut_fail_at(1);
	fails(weir_poll(p, UT_N(p), -1), ENOMEM);
	assert_true(ut_fail_stop());
	close(pipes[0]);
	close(pipes[1]);
}

static void
a_sleeping_poll_is_woken_by_either_kind(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	struct blocked b = {0};
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	b.events = POLLIN;
	b.other = pipes[0];
	start(&b, POLL, fd);
	wait_watched(fd);
	arrive(s, PORT, 1);
	finish(&b);
	assert_int_equal(b.ret, 1);
	assert_int_equal(b.revents[0], POLLIN);
	drain(fd);

	b = (struct blocked){.events = POLLIN, .other = pipes[0]};
	start(&b, POLL, fd);
	wait_watched(fd);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	finish(&b);
	assert_int_equal(b.ret, 1);
	assert_int_equal(b.revents[0], 0);
	assert_int_equal(b.revents[1], POLLIN);

	/* An error wakes though nothing was asked for; so does a shutdown. */
	b = (struct blocked){.events = POLLPRI, .other = -1};
	start(&b, POLL, fd);
	wait_watched(fd);
	arrive(s, PORT, 3); /* not of interest: sleeps on */
	assert_int_equal(drain(fd), 3);
	atomic_store(&weir_bsd_handle(fd)->error, EPROTO);
	weir_event_wake_all(weir_bsd_handle(fd));
	finish(&b);
	assert_int_equal(b.revents[0], POLLERR);
	assert_int_equal(weir_socket_error(weir_bsd_handle(fd)), -EPROTO);

	b = (struct blocked){.events = POLLIN, .other = -1};
	start(&b, POLL, fd);
	wait_watched(fd);
	pthread_kill(b.thread, SIGUSR1);
	finish(&b);
	assert_int_equal(b.ret, -1);
	assert_int_equal(b.err, EINTR);
	close(pipes[0]);
	close(pipes[1]);
}

static void
select_works_on_sets(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	struct timeval tv = {0, 2000};
	fd_set rd, wr, ex;
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	FD_ZERO(&rd);
	FD_ZERO(&wr);
	FD_ZERO(&ex);
	FD_SET(fd, &rd);
	FD_SET(pipes[0], &rd);
	FD_SET(fd, &ex);
	gives(weir_select(FD_SETSIZE, &rd, NULL, &ex, &tv), 0);
	assert_int_equal(tv.tv_sec, 0);
	assert_int_equal(tv.tv_usec, 0);
	assert_false(FD_ISSET(fd, &rd) || FD_ISSET(pipes[0], &rd) || FD_ISSET(fd, &ex));
	FD_SET(fd, &rd);
	FD_SET(pipes[0], &rd);
	FD_SET(fd, &wr);
	FD_SET(pipes[1], &wr);
	arrive(s, PORT, 1);
	tv = (struct timeval){100, 0};
	gives(weir_select(FD_SETSIZE, &rd, &wr, NULL, &tv), 3);
	assert_true(FD_ISSET(fd, &rd) && !FD_ISSET(pipes[0], &rd));
	assert_true(FD_ISSET(fd, &wr) && FD_ISSET(pipes[1], &wr));
	assert_in_range(tv.tv_sec, 90, 99);
	gives(weir_select(0, NULL, NULL, NULL, &(struct timeval){0, 0}), 0);
	fails(weir_select(-1, &rd, NULL, NULL, NULL), EINVAL);
	fails(weir_select(1, &rd, NULL, NULL, &(struct timeval){-1, 0}), EINVAL);
	FD_SET(900, &rd);
	fails(weir_select(FD_SETSIZE, &rd, NULL, NULL, NULL), EBADF);
	assert_int_equal(drain(fd), 1);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- epoll ---- */

static int
epoll_with(int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};
	const int ep = weir_epoll_create1(EPOLL_CLOEXEC);

	assert_true(ep >= 0);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	return ep;
}

/* The events that are reported just now for the only descriptor of an epoll; 0: none. */
static uint32_t
reported(int ep)
{
	struct epoll_event ev[4] = {0};
	const int n = weir_epoll_wait(ep, ev, 4, 0);

	assert_in_range(n, 0, 1);
	return n == 1 ? ev[0].events : 0;
}

static void
epoll_level(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	const int ep = epoll_with(fd, EPOLLIN);
	char buf[64];

	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 2);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(ep), EPOLLIN); /* as long as there is something */
	gives(weir_bsd_recv(fd, buf, sizeof(buf), MSG_PEEK), 18);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 18);
	assert_int_equal(reported(ep), EPOLLIN); /* in the reader's own queue */
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 18);
	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(drain(fd), 1);
	inject(s, PORT, 1); /* the turns that bring it are epoll's */
	gives(weir_epoll_wait(ep, (struct epoll_event[1]){{0}}, 1, -1), 1);
	assert_int_equal(drain(fd), 1);
	/* Writing as well: always. */
	gives(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd,
			     &(struct epoll_event){.events = EPOLLIN | EPOLLOUT}),
	      0);
	assert_int_equal(reported(ep), EPOLLOUT);
	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLOUT | EPOLLIN);
	assert_int_equal(drain(fd), 1);
	assert_int_equal(reported(ep), EPOLLOUT);
	/* Nothing asked for: errors and the end all the same. */
	gives(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd, &(struct epoll_event){.events = 0}), 0);
	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), 0);
	atomic_store(&weir_bsd_handle(fd)->error, EPROTO);
	weir_event_wake_all(weir_bsd_handle(fd));
	assert_int_equal(reported(ep), EPOLLERR);
	assert_int_equal(weir_socket_error(weir_bsd_handle(fd)), -EPROTO);
	assert_int_equal(reported(ep), 0);
	fails(weir_shutdown(fd, SHUT_RDWR), ENOTCONN);
	assert_int_equal(reported(ep), EPOLLHUP);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL), 0);
	assert_int_equal(reported(ep), 0);
	assert_int_equal(drain(fd), 1);
}

static void
epoll_edge(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	int ep = epoll_with(fd, EPOLLIN | EPOLLET);
	char buf[64];

	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 2);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(ep), 0); /* once per arrival */
	arrive(s, PORT, 1);                /* although the queue was not drained */
	assert_int_equal(reported(ep), EPOLLIN);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 18); /* reading a part is none */
	assert_int_equal(reported(ep), 0);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), MSG_PEEK), 18); /* nor is peeking */
	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 1);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), MSG_PEEK), 18); /* nor what splices */
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(ep), 0);
	assert_int_equal(drain(fd), 3);
	assert_int_equal(reported(ep), 0);
	/* An arrival that was read before anybody asked is no event. */
	arrive(s, PORT, 1);
	assert_int_equal(drain(fd), 1);
	assert_int_equal(reported(ep), 0);
	/* Registering, and arming again, with data: at once. */
	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLIN);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd,
			     &(struct epoll_event){.events = EPOLLIN | EPOLLET}),
	      0);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(ep), 0);
	gives(weir_close(ep), 0);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), MSG_PEEK), 18); /* now in the reader's queue */
	ep = epoll_with(fd, EPOLLIN | EPOLLOUT | EPOLLET);
	assert_int_equal(reported(ep), EPOLLIN | EPOLLOUT);
	assert_int_equal(reported(ep), 0);
	assert_int_equal(drain(fd), 1);
	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLIN | EPOLLOUT);
	assert_int_equal(drain(fd), 1);
}

static void
epoll_once(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	const int ep = epoll_with(fd, EPOLLIN | EPOLLONESHOT);

	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(ep), 0);
	arrive(s, PORT, 1);
	fails(weir_shutdown(fd, SHUT_RDWR), ENOTCONN);
	assert_int_equal(reported(ep), 0);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd,
			     &(struct epoll_event){.events = EPOLLIN | EPOLLONESHOT}),
	      0);
	assert_int_equal(reported(ep), EPOLLIN | EPOLLHUP);
	assert_int_equal(reported(ep), 0);
	assert_int_equal(drain(fd), 2);
}

static void
epoll_control_refuses(void **state)
{
	struct epoll_event ev = {.events = EPOLLIN}, out[2];
	char path[] = "/tmp/weir_epoll_XXXXXX";
	int fd, two, ep, file, pipes[2];

	up(state);
	fd = bound(PORT);
	two = weir_dup(fd);
	ep = weir_epoll_create1(0);
	file = mkstemp(path);
	assert_int_equal(pipe(pipes), 0);
	fails(weir_epoll_create1(77), EINVAL);
	fails(weir_epoll_ctl(fd, EPOLL_CTL_ADD, two, &ev), EINVAL);
	fails(weir_epoll_ctl(pipes[0], EPOLL_CTL_ADD, fd, &ev), EINVAL);
	fails(weir_epoll_ctl(-1, EPOLL_CTL_ADD, fd, &ev), EBADF);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, -1, &ev), EBADF);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, 1000, &ev), EBADF);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, ep, &ev), EINVAL);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, NULL), EFAULT);
	fails(weir_epoll_ctl(ep, 99, fd, &ev), EINVAL);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev), ENOENT);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_DEL, fd, &ev), ENOENT);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), EEXIST);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, two, &ev), 0); /* another number is another entry */
	gives(weir_epoll_ctl(ep, EPOLL_CTL_DEL, two, NULL), 0);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, file, &ev), EPERM);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev), 0);
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev), EEXIST);
	/* Exclusive: only when added, and only with some others. */
	ev.events = EPOLLIN | EPOLLEXCLUSIVE;
	fails(weir_epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev), EINVAL);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, two, &ev), 0);
	ev.events = EPOLLIN;
	fails(weir_epoll_ctl(ep, EPOLL_CTL_MOD, two, &ev), EINVAL);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_DEL, two, NULL), 0);
	ev.events = EPOLLIN | EPOLLONESHOT | EPOLLEXCLUSIVE;
	fails(weir_epoll_ctl(ep, EPOLL_CTL_ADD, two, &ev), EINVAL);
	fails(weir_epoll_wait(ep, out, 0, 0), EINVAL);
	fails(weir_epoll_wait(ep, NULL, 2, 0), EFAULT);
	fails(weir_epoll_wait(fd, out, 2, 0), EINVAL);
	fails(weir_epoll_wait(1000, out, 2, 0), EBADF);
	fails(weir_bsd_recv(ep, out, 1, 0), ENOTSOCK);
	close(pipes[0]);
	close(pipes[1]);
	close(file);
	unlink(path);
}

static void
epoll_mixes_and_is_fair(void **state)
{
	struct ut_stack *s = up(state);
	struct epoll_event ev, out[8];
	unsigned int seen[4] = {0};
	const int ep = weir_epoll_create1(0);
	int fd[3], pipes[2];
	int n;

	assert_int_equal(pipe(pipes), 0);
	for (uint32_t i = 0; i < 3; i++) {
		fd[i] = bound((uint16_t)(PORT + i));
		ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = i};
		gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd[i], &ev), 0);
		arrive(s, (uint16_t)(PORT + i), 1);
	}
	ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = 3};
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &ev), 0);
	gives(weir_epoll_wait(ep, out, 8, -1), 3);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	gives(weir_epoll_wait(ep, out, 8, -1), 4);
	/* With room for one at a time everybody has a turn. */
	for (unsigned int i = 0; i < 24; i++) {
		gives(weir_epoll_wait(ep, out, 1, -1), 1);
		seen[out[0].data.u32]++;
	}
	for (unsigned int i = 0; i < 4; i++)
		ut_check(seen[i] >= 3, "number %u was seen %u times of 24", i, seen[i]);
	/* Only the kernel's left. */
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(drain(fd[i]), 1);
	gives(weir_epoll_wait(ep, out, 8, -1), 1);
	assert_int_equal(out[0].data.u32, 3);
	n = (int)read(pipes[0], out, 1);
	assert_int_equal(n, 1);
	gives(weir_epoll_wait(ep, out, 8, 0), 0);
	close(pipes[0]);
	close(pipes[1]);
}

static void
closing_leaves_the_epoll(void **state)
{
	struct ut_stack *s = up(state);
	int fd = bound(PORT);
	const int two = weir_dup(fd);
	const int ep = epoll_with(fd, EPOLLIN);
	const int other = epoll_with(fd, EPOLLIN | EPOLLET);

	arrive(s, PORT, 1);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(reported(other), EPOLLIN); /* both epolls are told */
	gives(weir_close(fd), 0);
	assert_int_equal(reported(ep), EPOLLIN); /* the description lives on, as on Linux */
	gives(weir_close(two), 0);
	assert_int_equal(reported(ep), 0);
	/* An epoll that is closed with sockets in it. */
	fd = bound(PORT);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN}), 0);
	gives(weir_close(ep), 0);
	arrive(s, PORT, 1);
	assert_int_equal(drain(fd), 1);
}

/* Best time of a few for a wait that finds one ready. */
static uint64_t
wait_ns(int ep)
{
	struct epoll_event out[4];
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		const uint64_t start = weir_clock_ns();

		gives(weir_epoll_wait(ep, out, 4, 0), 1);
		best = RTE_MIN(best, weir_clock_ns() - start);
	}
	return best;
}

/* One ready socket among many is found without a look at the others. */
static void
epoll_costs_by_what_is_ready(void **state)
{
	struct ut_stack *s = up(state);
	const int ep = weir_epoll_create1(0);
	struct epoll_event ev, out[4];
	uint64_t few, many;

	for (uint32_t i = 0; i < 400; i++) {
		const int fd = bound((uint16_t)(PORT + i));

		ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = i};
		gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
		if (i == 1) {
			arrive(s, PORT + 1, 1);
			few = wait_ns(ep);
		}
	}
	many = wait_ns(ep);
	gives(weir_epoll_wait(ep, out, 4, 0), 1);
	assert_int_equal(out[0].data.u32, 1);
	/* Looking at all of them would take a hundred times as long. */
	ut_check(many < 20 * few + 2000, "2 registered: %" PRIu64 " ns, 400: %" PRIu64 " ns", few,
		 many);
}

static void
a_sleeping_epoll_is_woken_by_either_kind(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT), late = bound(PORT + 1);
	const int ep = epoll_with(fd, EPOLLIN);
	struct blocked b = {0};
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0],
			     &(struct epoll_event){.events = EPOLLIN, .data.fd = pipes[0]}),
	      0);
	for (unsigned int i = 0; i < 20; i++) {
		b = (struct blocked){0};
		start(&b, EPOLL, ep);
		if (i % 2 == 0)
			wait_asleep_in(ep, 1);
		arrive(s, PORT, 1);
		finish(&b);
		assert_int_equal(b.ret, 1);
		assert_int_equal(b.ev.data.fd, fd);
		assert_int_equal(drain(fd), 1);
	}
	b = (struct blocked){0};
	start(&b, EPOLL, ep);
	wait_asleep_in(ep, 1);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	finish(&b);
	assert_int_equal(b.ev.data.fd, pipes[0]);
	assert_int_equal(read(pipes[0], &b, 1), 1);
	/* Added by another thread, ready already. */
	arrive(s, PORT + 1, 1);
	b = (struct blocked){0};
	start(&b, EPOLL, ep);
	wait_asleep_in(ep, 1);
	gives(weir_epoll_ctl(ep, EPOLL_CTL_ADD, late,
			     &(struct epoll_event){.events = EPOLLIN, .data.fd = late}),
	      0);
	finish(&b);
	assert_int_equal(b.ev.data.fd, late);
	assert_int_equal(drain(late), 1);
	/* Time. */
	b = (struct blocked){.timeout_ms = 2};
	start(&b, EPOLL_TIMED, ep);
	finish(&b);
	assert_int_equal(b.ret, 0);
	close(pipes[0]);
	close(pipes[1]);
}

/* Level-triggered: while an event stays, every thread that waits comes back. */
static void
several_threads_wait_on_one_epoll(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	const int ep = epoll_with(fd, EPOLLIN);
	struct blocked b[3] = {0};

	for (unsigned int i = 0; i < 3; i++)
		start(&b[i], EPOLL, ep);
	wait_asleep_in(ep, 3);
	arrive(s, PORT, 1);
	for (unsigned int i = 0; i < 3; i++) {
		finish(&b[i]);
		assert_int_equal(b[i].ret, 1);
	}
	assert_int_equal(drain(fd), 1);
}

/* Two epolls, exclusively: an arrival wakes a thread of one of them; the other's sleeps on. */
static void
exclusive_wakes_one(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	const int ep[2] = {epoll_with(fd, EPOLLIN | EPOLLEXCLUSIVE),
			   epoll_with(fd, EPOLLIN | EPOLLEXCLUSIVE)};
	struct blocked b[2] = {0};
	unsigned int first;

	for (unsigned int i = 0; i < 2; i++) {
		start(&b[i], EPOLL, ep[i]);
		wait_asleep_in(ep[i], 1);
	}
	arrive(s, PORT, 1);
	while (!atomic_load(&b[0].done) && !atomic_load(&b[1].done))
		sched_yield();
	first = atomic_load(&b[0].done) ? 0 : 1;
	finish(&b[first]);
	assert_int_equal(bsd_epoll_sleepers((struct bsd_epoll *)bsd.slots[ep[!first]]), 1);
	/* Nobody sleeps in that one now: the next arrival is the other's, though nothing was read. */
	arrive(s, PORT, 1);
	finish(&b[!first]);
	assert_int_equal(drain(fd), 2);
}

static void
an_epoll_can_be_polled(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(PORT);
	const int ep = epoll_with(fd, EPOLLIN);
	const int outer = weir_epoll_create1(0);
	struct pollfd p = {.fd = ep, .events = POLLIN};
	struct blocked b = {0};

	gives(weir_poll(&p, 1, 0), 0);
	gives(weir_epoll_ctl(outer, EPOLL_CTL_ADD, ep, &(struct epoll_event){.events = EPOLLIN}),
	      0);
	assert_int_equal(reported(outer), 0);
	arrive(s, PORT, 1);
	gives(weir_poll(&p, 1, 0), 1);
	assert_int_equal(reported(outer), EPOLLIN);
	assert_int_equal(reported(ep), EPOLLIN);
	assert_int_equal(drain(fd), 1);
	gives(weir_poll(&p, 1, 0), 0);
	assert_int_equal(reported(outer), 0);
	start(&b, EPOLL, outer);
	wait_asleep_in(outer, 1);
	arrive(s, PORT, 1);
	finish(&b);
	assert_int_equal(b.ret, 1);
	assert_int_equal(drain(fd), 1);
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
		WAIT_TEST(a_worker_receives_while_it_blocks),
		WAIT_TEST(a_full_queue_blocks_or_not),
		WAIT_TEST(blocked_readers_get_one_each),
		WAIT_TEST(close_wakes_readers_with_ebadf),
		WAIT_TEST(a_call_keeps_its_socket_until_it_returns),
		WAIT_TEST(shutdown_and_signals_end_a_receive),
		WAIT_TEST(threads_come_and_go),
		WAIT_TEST(a_thread_may_detach_and_go_on),
		WAIT_TEST(descriptors_may_be_closed_at_any_time),
		WAIT_TEST(poll_looks_at_both_kinds),
		WAIT_TEST(a_sleeping_poll_is_woken_by_either_kind),
		WAIT_TEST(select_works_on_sets),
		WAIT_TEST(epoll_level),
		WAIT_TEST(epoll_edge),
		WAIT_TEST(epoll_once),
		WAIT_TEST(epoll_control_refuses),
		WAIT_TEST(epoll_mixes_and_is_fair),
		WAIT_TEST(closing_leaves_the_epoll),
		WAIT_TEST(epoll_costs_by_what_is_ready),
		WAIT_TEST(a_sleeping_epoll_is_woken_by_either_kind),
		WAIT_TEST(several_threads_wait_on_one_epoll),
		WAIT_TEST(exclusive_wakes_one),
		WAIT_TEST(an_epoll_can_be_polled),
	};
	struct sigaction sa = {.sa_handler = no_handler}; /* no SA_RESTART */

	sigaction(SIGUSR1, &sa, NULL);
	return UT_RUN(cases, NULL, NULL);
}
