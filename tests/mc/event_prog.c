/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See event_prog.h. The functions of the C library that event.c calls are defined here, for the whole
 * program: a system call is a step, and waits as the kernel's does.
 */
#include "event_prog.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/futex.h>

#include "batch.h"
#include "errq.h"
#include "event.h"
#include "poll.h"
#include "recvq.h"

#define ITEMS 4
#define SIZE  100
#define FD    77

int weir_meta_offset = offsetof(struct rte_mbuf, dynfield1);

static struct {
	struct weir_socket sk;
	struct rte_mbuf m[ITEMS];
	uint32_t woken[MC_THREADS]; /* times that the kernel has woken a thread */
	uint32_t readable;          /* times that the descriptor became readable */
	uint32_t told;              /* times that the watch was told */
} mem;

static struct weir_lcore lcore = {.kind = WEIR_LC_ATTACHED};
static struct weir_watch watch;
static const struct ev_prog *prog;

/* The kernel's books, and ours. */
static struct {
	unsigned int asleep[MC_THREADS], n_asleep;
	uint32_t times[MC_THREADS]; /* that a thread has slept */
	bool counting;              /* the descriptor's count is 1 */
	unsigned int taken, produced;
} book;

static void
init(void)
{
	memset(&mem, 0, sizeof(mem));
	memset(&book, 0, sizeof(book));
	memset(&watch, 0, sizeof(watch));
	weir_recvq_init(&mem.sk.rq, 1000 * SIZE);
	weir_recvq_set_readers(&mem.sk.rq, true);
	weir_event_init(&mem.sk);
}

/* ---- the kernel ---- */

/*
 * One step on the futex word itself stands for the kernel's own lock: it has an order with every other
 * access to that word, as a system call's look at it has.
 */
long
syscall(long number, ...)
{
	uint32_t value, *word;
	unsigned int self;
	va_list ap;
	int what;

	va_start(ap, number);
	word = va_arg(ap, uint32_t *);
	what = va_arg(ap, int);
	value = va_arg(ap, uint32_t);
	va_end(ap);
	mc_check(number == SYS_futex, "system call %ld", number);
	self = mc_self();
	if (what == FUTEX_WAIT_PRIVATE) {
		if (mc_add(word, 0) != value) {
			errno = EAGAIN;
			return -1;
		}
		book.asleep[book.n_asleep++] = self;
		mc_await(&mem.woken[self], ++book.times[self]);
		return 0;
	}
	(void)mc_add(word, 0);
	for (uint32_t i = 0; i < value && book.n_asleep > 0; i++) {
		unsigned int who = book.asleep[0];

		book.n_asleep--;
		memmove(book.asleep, book.asleep + 1, book.n_asleep * sizeof(book.asleep[0]));
		mc_add(&mem.woken[who], 1);
	}
	return 0;
}

int
eventfd(unsigned int count, int flags)
{
	(void)count;
	(void)flags;
	return FD;
}

int
eventfd_write(int fd, eventfd_t value)
{
	mc_check(fd == FD && value == 1 && !book.counting, "eventfd written twice");
	book.counting = true;
	mc_add(&mem.readable, 1);
	return 0;
}

int
eventfd_read(int fd, eventfd_t *value)
{
	mc_check(fd == FD && book.counting, "eventfd read, and not readable");
	book.counting = false;
	*value = 1;
	return 0;
}

/* ---- the rest of the stack, as far as event.c calls it: never on these ways ---- */

uint64_t
weir_clock_ns(void)
{
	return 0;
}

bool
weir_errq_pending(const struct weir_socket *sk)
{
	(void)sk;
	return false;
}

unsigned int
weir_turn(struct weir_lcore *lc)
{
	(void)lc;
	return 0;
}

void
weir_idle(struct weir_lcore *lc, unsigned int work)
{
	(void)lc;
	(void)work;
}

/* ---- threads ---- */

static void
producer(unsigned int self)
{
	(void)self;
	for (unsigned int i = 0; i < 3 && prog->burst[i] > 0; i++) {
		struct rte_mbuf *m[ITEMS];
		struct weir_recvq_batch b = {.m = m, .each = SIZE, .n = (uint16_t)prog->burst[i]};

		for (unsigned int k = 0; k < prog->burst[i]; k++)
			m[k] = &mem.m[book.produced++]; /* no headroom: runs of one */
		mc_check(weir_recvq_produce(&mem.sk.rq, &b) == b.n, "refused");
		if (b.wake != 0)
			weir_event_wake(&mem.sk, b.wake);
	}
}

static bool
take(void)
{
	struct weir_recvq_facts facts;
	struct rte_mbuf *m;

	if (weir_recvq_take(&mem.sk.rq, &m, 1, &facts) == 0)
		return false;
	book.taken++;
	return true;
}

static void
sleeper(unsigned int want)
{
	for (unsigned int got = 0; got < want;) {
		int ret;

		if (take()) {
			got++;
			continue;
		}
		ret = weir_event_wait(&lcore, &mem.sk, WEIR_EV_IN, NULL, 0, UINT64_MAX);
		if (ret == -EBADF)
			return;
		mc_check(ret == 0, "wait: %d", ret);
	}
}

static bool
tell(struct weir_watch *w)
{
	(void)w;
	mc_add(&mem.told, 1);
	return true;
}

static void
watcher(unsigned int want)
{
	watch.fn = tell;
	weir_event_watch(&mem.sk, &watch);
	for (unsigned int got = 0; got < want;) {
		uint32_t seen;

		if (take()) {
			got++;
			continue;
		}
		seen = mc_load(&mem.told);
		if ((weir_event_rearm(&mem.sk) & WEIR_EV_IN) == 0)
			mc_await(&mem.told, seen + 1);
	}
	weir_event_unwatch(&mem.sk, &watch);
}

/* As an event loop: sleeps until the descriptor is readable, then reads until there is nothing. */
static void
looper(unsigned int want)
{
	uint32_t times = 0;

	mc_check(weir_socket_eventfd(&mem.sk) == FD, "no descriptor");
	for (unsigned int got = 0; got < want;) {
		/* poll(): level. A write may be under way: its count is what is waited for. */
		if (!book.counting)
			mc_await(&mem.readable, times + 1);
		times = mc_load(&mem.readable);
		while (take())
			got++;
		weir_event_quiet(&mem.sk);
	}
}

static void
thread(unsigned int self)
{
	unsigned int want = prog->thread[self - 1].want;

	switch (prog->thread[self - 1].kind) {
	case EV_SLEEPER:
		sleeper(want);
		break;
	case EV_WATCH:
		watcher(want);
		break;
	case EV_EVENTFD:
		looper(want);
		break;
	case EV_CLOSER:
		weir_event_close(&mem.sk);
		break;
	default:
		break;
	}
}

static void
final(void)
{
	unsigned int want = 0;

	for (unsigned int i = 0; i < 3; i++) {
		if (prog->thread[i].kind == EV_CLOSER)
			return;
		want += prog->thread[i].want;
	}
	mc_check(book.taken == want, "%u taken of %u", book.taken, want);
	mc_check(weir_event_sleepers(&mem.sk) == 0, "somebody sleeps");
}

/* clang-format off */
const struct ev_prog ev_progs[] = {
	{"a sleeper, a burst of two", {2}, {{EV_SLEEPER, 2}}, 0, 1, false},
	{"a sleeper, two bursts", {1, 1}, {{EV_SLEEPER, 2}}, 0, 1, false},
	{"two sleepers, a burst of two", {2}, {{EV_SLEEPER, 1}, {EV_SLEEPER, 1}}, 0, 0, false},
	{"two sleepers, a burst of two, few preemptions", {2}, {{EV_SLEEPER, 1}, {EV_SLEEPER, 1}}, 2, 0, false},
	{"two sleepers, two bursts, old values", {1, 1}, {{EV_SLEEPER, 1}, {EV_SLEEPER, 1}}, 0, 1, true},
	{"two sleepers, bursts of two and one", {2, 1}, {{EV_SLEEPER, 2}, {EV_SLEEPER, 1}}, 0, 0, true},
	{"a watch", {1, 1}, {{EV_WATCH, 2}}, 0, 1, false},
	{"a watch and a sleeper", {1, 1}, {{EV_WATCH, 1}, {EV_SLEEPER, 1}}, 0, 0, true},
	{"an eventfd", {1, 1}, {{EV_EVENTFD, 2}}, 0, 1, false},
	{"a sleeper whose socket is closed", {1}, {{EV_SLEEPER, 2}, {EV_CLOSER, 0}}, 0, 1, false},
	{"two sleepers, two bursts", {1, 1}, {{EV_SLEEPER, 1}, {EV_SLEEPER, 1}}, 0, 0, true},
};
/* clang-format on */
const unsigned int ev_n_progs = RTE_DIM(ev_progs);

struct mc_result
ev_run(const struct ev_prog *p, double max_seconds, bool show)
{
	struct mc_prog mc = {
		.name = p->name,
		.n_threads = 1,
		.init = init,
		.thread = {producer},
		.final = final,
		.mem = &mem,
		.mem_size = sizeof(mem),
		.mode = p->preemptions == 0 ? MC_ALL : MC_BOUNDED,
		.preemptions = p->preemptions,
		.stale = p->stale,
		.spin = p->preemptions == 0 ? 0 : 2,
		.max_seconds = max_seconds,
	};

	prog = p;
	for (unsigned int i = 0; i < 3 && p->thread[i].kind != EV_NONE; i++)
		mc.thread[mc.n_threads++] = thread;
	return mc_run(&mc, show);
}
