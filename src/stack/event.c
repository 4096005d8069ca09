/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See event.h. Everything that says who waits is under one small lock per socket, which is taken when
 * somebody begins or ends to wait and by a producer that found the queue armed.
 *
 * The queue is armed while any of these holds (invariant under the lock): a sleeper that no wake is
 * meant for; an eventfd that is not signalled; a watch that has been re-armed since it was told.
 */
#include "event.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_pause.h>

#include "batch.h"
#include "errq.h"

/* ---- the lock ---- */

static void
waiting_lock(struct weir_waiting *w)
{
	unsigned int tries = 0;

	while (atomic_exchange_explicit(&w->lock, 1, memory_order_acquire) != 0) {
		/* A holder may be in the system call that writes the eventfd, or off its CPU. */
		while (atomic_load_explicit(&w->lock, memory_order_relaxed) != 0) {
			if (++tries % 64 == 0)
				sched_yield();
			else
				rte_pause();
		}
	}
}

static void
waiting_unlock(struct weir_waiting *w)
{
	atomic_store_explicit(&w->lock, 0, memory_order_release);
}

/* ---- telling ---- */

static void
futex_wake(struct weir_waiting *w, unsigned int n)
{
	syscall(SYS_futex, &w->seq, FUTEX_WAKE_PRIVATE, n > INT_MAX ? INT_MAX : (int)n, NULL, NULL,
		0);
}

/* Lock held. */
static void
signal_eventfd(struct weir_waiting *w)
{
	const int efd = atomic_load_explicit(&w->efd, memory_order_relaxed);

	if (efd < 0 || atomic_load_explicit(&w->signalled, memory_order_relaxed) ||
	    atomic_load_explicit(&w->muted, memory_order_relaxed))
		return;
	atomic_store_explicit(&w->signalled, true, memory_order_relaxed);
	(void)!eventfd_write(efd, 1); /* cannot fail: the count is 0 */
}

/* Lock held. What all events have in common; returns how many threads to wake after the unlock. */
static unsigned int
tell(struct weir_socket *sk, unsigned int n)
{
	struct weir_waiting *w = &sk->wait;
	const unsigned int woken = RTE_MIN(n, w->unwoken);
	bool told = false; /* an exclusive watch has somebody who will come */

	if (woken > 0) {
		w->unwoken -= woken;
		atomic_fetch_add_explicit(&w->seq, 1, memory_order_release);
		weir_count(&w->wakes, woken);
	}
	signal_eventfd(w);
	for (struct weir_watch *x = w->watch; x != NULL; x = x->next) {
		if (x->exclusive && told)
			continue;
		told = x->fn(x) || told;
	}
	return woken;
}

void
weir_event_wake(struct weir_socket *sk, unsigned int n)
{
	unsigned int woken;

	waiting_lock(&sk->wait);
	woken = tell(sk, n);
	if (sk->wait.unwoken == 0)
		weir_recvq_disarm(&sk->rq);
	waiting_unlock(&sk->wait);
	if (woken > 0)
		futex_wake(&sk->wait, woken);
}

void
weir_event_wake_all(struct weir_socket *sk)
{
	unsigned int woken;

	waiting_lock(&sk->wait);
	woken = tell(sk, UINT_MAX);
	waiting_unlock(&sk->wait);
	if (woken > 0)
		futex_wake(&sk->wait, woken);
}

void
weir_event_close(struct weir_socket *sk)
{
	atomic_store_explicit(&sk->wait.closed, true, memory_order_release);
	weir_event_wake_all(sk);
}

/* ---- what there is ---- */

/* Would the queue that refused last take something now? */
static bool
writable(const struct weir_socket *sk)
{
	const uint32_t blocked = atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&sk->blocked,
						      memory_order_relaxed);

	return blocked == 0 || !weir_batch_full(sk->stack, (uint16_t)(blocked >> 8),
						(uint16_t)((blocked & 0xff) - 1));
}

uint32_t
weir_event_mask(const struct weir_socket *sk)
{
	const uint8_t shut =
		atomic_load_explicit((_Atomic uint8_t *)(uintptr_t)&sk->shut, memory_order_acquire);
	uint32_t mask = writable(sk) ? WEIR_EV_OUT : 0;

	if ((shut & WEIR_SHUT_RD) != 0)
		mask |= WEIR_EV_IN | EPOLLRDHUP;
	if (shut == WEIR_SHUT_RDWR)
		mask |= EPOLLHUP;
	if (weir_recvq_readable(&sk->rq))
		mask |= WEIR_EV_IN;
	if (atomic_load_explicit((_Atomic int32_t *)(uintptr_t)&sk->error, memory_order_acquire) !=
		    0 ||
	    weir_errq_pending(sk))
		mask |= EPOLLERR;
	return mask;
}

/* For one who waits: as the mask, but of errors only a pending one counts, for that is what a call returns. */
static bool
holds(struct weir_socket *sk, uint32_t events, const uint64_t *arrivals)
{
	uint32_t mask = weir_event_mask(sk) & events;

	if ((mask & EPOLLERR) != 0 && atomic_load_explicit(&sk->error, memory_order_acquire) == 0)
		mask &= ~(uint32_t)EPOLLERR;
	if (arrivals == NULL || (mask & ~(uint32_t)WEIR_EV_IN) != 0)
		return mask != 0;
	return mask != 0 && weir_recvq_arrivals(&sk->rq) != *arrivals;
}

/* ---- sleepers ---- */

/* Count the calling thread in; returns the futex word to sleep on. */
static uint32_t
fall_asleep(struct weir_socket *sk)
{
	struct weir_waiting *w = &sk->wait;
	uint32_t seq;

	waiting_lock(w);
	w->asleep++;
	/* A wake that was meant for somebody else may have made room: never more than there are. */
	w->unwoken = RTE_MIN(w->unwoken + 1, w->asleep);
	seq = atomic_load_explicit(&w->seq, memory_order_relaxed);
	weir_recvq_arm(&sk->rq);
	waiting_unlock(w);
	return seq;
}

static void
wake_up(struct weir_waiting *w)
{
	waiting_lock(w);
	w->asleep--;
	w->unwoken = RTE_MIN(w->unwoken, w->asleep);
	waiting_unlock(w);
}

/* Sleep until seq moves, for at most ns (UINT64_MAX: for ever). 0, -EINTR. */
static int
futex_wait(struct weir_waiting *w, uint32_t seq, uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
			      .tv_nsec = (long)(ns % WEIR_NS_PER_S)};

	if (syscall(SYS_futex, &w->seq, FUTEX_WAIT_PRIVATE, seq, ns == UINT64_MAX ? NULL : &ts,
		    NULL, 0) != 0 &&
	    errno == EINTR)
		return -EINTR;
	return 0; /* woken, moved already, or time is up: the caller looks */
}

/* Of timeout_ns since start; UINT64_MAX: for ever. */
static uint64_t
left(uint64_t start, uint64_t timeout_ns)
{
	uint64_t passed;

	if (timeout_ns == UINT64_MAX)
		return UINT64_MAX;
	passed = weir_clock_ns() - start;
	return passed < timeout_ns ? timeout_ns - passed : 0;
}

int
weir_event_wait(struct weir_lcore *lc, struct weir_socket *sk, uint32_t events,
		const uint64_t *arrivals, uint64_t spin_ns, uint64_t timeout_ns)
{
	const bool worker = lc->kind == WEIR_LC_WORKER;
	const uint64_t start = weir_clock_ns();
	bool looked = !worker; /* whatever the time: what is on the port already has come in time */
	uint64_t passed;
	uint32_t seq;
	int ret = 0;

	for (;;) {
		if (atomic_load_explicit(&sk->wait.closed, memory_order_acquire))
			return -EBADF;
		if (holds(sk, events, arrivals))
			return 0;
		passed = weir_clock_ns() - start;
		if (passed >= timeout_ns && looked)
			return -ETIMEDOUT;
		if (ret != 0)
			return ret;
		if (worker) {
			/* It would wait for itself. */
			weir_idle(lc, weir_turn(lc));
			looked = true;
		} else if (passed < spin_ns) {
			weir_idle(lc, 0);
		} else {
			seq = fall_asleep(sk);
			if (!holds(sk, events, arrivals) &&
			    !atomic_load_explicit(&sk->wait.closed, memory_order_acquire))
				ret = futex_wait(&sk->wait, seq, left(start, timeout_ns));
			wake_up(&sk->wait);
		}
	}
}

unsigned int
weir_event_sleepers(struct weir_socket *sk)
{
	unsigned int n;

	waiting_lock(&sk->wait);
	n = sk->wait.asleep;
	waiting_unlock(&sk->wait);
	return n;
}

/* ---- watches ---- */

void
weir_event_watch(struct weir_socket *sk, struct weir_watch *x)
{
	struct weir_waiting *w = &sk->wait;

	waiting_lock(w);
	x->next = w->watch;
	x->prev = &w->watch;
	if (x->next != NULL)
		x->next->prev = &x->next;
	w->watch = x;
	waiting_unlock(w);
}

void
weir_event_unwatch(struct weir_socket *sk, struct weir_watch *x)
{
	waiting_lock(&sk->wait);
	*x->prev = x->next;
	if (x->next != NULL)
		x->next->prev = x->prev;
	waiting_unlock(&sk->wait);
}

uint32_t
weir_event_rearm(struct weir_socket *sk)
{
	waiting_lock(&sk->wait);
	weir_recvq_arm(&sk->rq);
	waiting_unlock(&sk->wait);
	return weir_event_mask(sk);
}

/* ---- eventfd ---- */

/* Lock held. Armed first, so that what comes after the look is told by its producer. */
static void
settle_eventfd(struct weir_socket *sk)
{
	weir_recvq_arm(&sk->rq);
	if ((weir_event_mask(sk) & ~(uint32_t)WEIR_EV_OUT) != 0)
		signal_eventfd(&sk->wait);
}

void
weir_event_quiet(struct weir_socket *sk)
{
	struct weir_waiting *w = &sk->wait;
	eventfd_t count;

	waiting_lock(w);
	if (atomic_load_explicit(&w->signalled, memory_order_relaxed) &&
	    (weir_event_mask(sk) & ~(uint32_t)WEIR_EV_OUT) == 0) {
		(void)!eventfd_read(atomic_load_explicit(&w->efd, memory_order_relaxed), &count);
		atomic_store_explicit(&w->signalled, false, memory_order_relaxed);
		settle_eventfd(sk);
	}
	waiting_unlock(w);
}

void
weir_event_mute(struct weir_socket *sk, bool mute)
{
	struct weir_waiting *w = &sk->wait;
	eventfd_t count;
	int efd;

	waiting_lock(w);
	efd = atomic_load_explicit(&w->efd, memory_order_relaxed);
	if (efd >= 0 && mute != atomic_load_explicit(&w->muted, memory_order_relaxed)) {
		atomic_store_explicit(&w->muted, mute, memory_order_relaxed);
		if (mute) {
			/* Readable for good, and nobody need make it quiet. */
			atomic_store_explicit(&w->signalled, false, memory_order_relaxed);
			(void)!eventfd_write(efd, 1);
		} else {
			(void)!eventfd_read(efd, &count);
			settle_eventfd(sk);
		}
	}
	waiting_unlock(w);
}

bool
weir_event_muted(const struct weir_socket *sk)
{
	return atomic_load_explicit((_Atomic bool *)(uintptr_t)&sk->wait.muted,
				    memory_order_relaxed);
}

int
weir_event_adopt(struct weir_socket *sk, int efd, bool mute)
{
	struct weir_waiting *w = &sk->wait;

	waiting_lock(w);
	if (atomic_load_explicit(&w->efd, memory_order_relaxed) < 0) {
		atomic_store_explicit(&w->muted, mute, memory_order_relaxed);
		atomic_store_explicit(&w->efd, efd, memory_order_release);
		if (!mute)
			settle_eventfd(sk);
	} else { /* another thread was faster */
		close(efd);
		efd = atomic_load_explicit(&w->efd, memory_order_relaxed);
	}
	waiting_unlock(w);
	return efd;
}

int
weir_socket_eventfd(struct weir_socket *sk)
{
	int efd = atomic_load_explicit(&sk->wait.efd, memory_order_acquire);

	if (efd >= 0) {
		weir_event_mute(sk, false);
		return efd;
	}
	efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return efd >= 0 ? weir_event_adopt(sk, efd, false) : -errno;
}

/* ---- life ---- */

void
weir_event_init(struct weir_socket *sk)
{
	atomic_store_explicit(&sk->wait.efd, -1, memory_order_relaxed);
}

void
weir_event_fini(struct weir_socket *sk)
{
	const int efd = atomic_load_explicit(&sk->wait.efd, memory_order_relaxed);

	if (efd >= 0)
		close(efd);
}
