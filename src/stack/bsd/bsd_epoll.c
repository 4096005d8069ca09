/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * epoll of the BSD layer. An epoll has two sides: a kernel epoll, which holds the kernel's descriptors
 * and one eventfd of ours, the kick; and a ready list of weir's sockets. An arrival puts its socket on the
 * list, from the thread that delivers it; so waiting costs by what is ready, not by what is registered, and
 * while the loop is busy nothing is said to the kernel. The kick wakes threads that sleep in the kernel.
 *
 * A socket on the list *may* be ready: what holds is looked at when its event is handed out.
 *   level  stays on the list as long as it is ready; armed again, and looked at once more, when it is not
 *   edge   leaves the list when it is handed out, armed before the look: every later arrival is an edge,
 *          reading and peeking are none
 *   once   handed out, then disabled until EPOLL_CTL_MOD
 * A socket that cannot be written to for want of room is on a second list, which is looked at every
 * millisecond: nobody tells when a port's queue has room again.
 *
 * Locks: bsd_watch_lock for what is registered where (control), an epoll's mtx for its items and for
 * handing out, its lock for the ready list; the last is all that a producer takes.
 */
#include "bsd_priv.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_pause.h>

/* A worker looks at the kernel's descriptors every so many idle turns. */
#define KERNEL_EVERY 16

/* What an item may be asked for beside events. */
#define HOW_BITS (EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE)
/* What may be combined with EPOLLEXCLUSIVE. */
#define EXCLUSIVE_OK                                                                               \
	(EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE)

enum bsd_list { OFF, READY, FULL };

struct bsd_item {
	struct weir_watch watch;
	struct bsd_epoll *ep;
	struct bsd_sock *s;
	int fd;
	_Atomic uint32_t events; /* with HOW_BITS; no event bits: disabled */
	epoll_data_t data;
	uint32_t round;              /* of the hand-out that had it last; ep->mtx */
	enum bsd_list list;          /* ep->lock */
	bool fresh;                  /* something has happened since it was handed out; ep->lock */
	TAILQ_ENTRY(bsd_item) entry; /* of that list */
	LIST_ENTRY(bsd_item) of_sock, of_epoll;
};
TAILQ_HEAD(bsd_ready, bsd_item);

struct bsd_epoll {
	struct bsd_file f;
	int kernel; /* a number of our own for the kernel's epoll */
	int kick;   /* eventfd in it */
	pthread_mutex_t mtx;
	struct bsd_items items; /* mtx */
	_Atomic bool mixed;     /* the kernel's descriptors have been added */
	_Atomic bool exposed;   /* somebody polls the epoll itself */
	bool kernel_first;      /* whose turn it is to be asked first; mtx */
	uint32_t round;         /* counts hand-outs; mtx */

	atomic_uint lock;
	struct bsd_ready ready, full;
	unsigned int sleepers; /* threads in the kernel's epoll_wait() */
	bool kicked;           /* the kick is readable */
};

/* ---- the ready list ---- */

static void
ready_lock(struct bsd_epoll *ep)
{
	unsigned int tries = 0;

	while (atomic_exchange_explicit(&ep->lock, 1, memory_order_acquire) != 0) {
		while (atomic_load_explicit(&ep->lock, memory_order_relaxed) != 0) {
			if (++tries % 64 == 0)
				sched_yield();
			else
				rte_pause();
		}
	}
}

static void
ready_unlock(struct bsd_epoll *ep)
{
	atomic_store_explicit(&ep->lock, 0, memory_order_release);
}

/* Lock held. Wake who sleeps in the kernel, or polls the epoll. */
static bool
kick(struct bsd_epoll *ep)
{
	if (ep->sleepers == 0 && !atomic_load_explicit(&ep->exposed, memory_order_relaxed))
		return false;
	if (!ep->kicked) {
		ep->kicked = true;
		(void)!eventfd_write(ep->kick, 1);
	}
	return ep->sleepers != 0;
}

/* Lock held. */
static void
calm(struct bsd_epoll *ep)
{
	eventfd_t count;

	if (ep->kicked) {
		ep->kicked = false;
		(void)!eventfd_read(ep->kick, &count);
	}
}

/* Lock held. */
static void
put(struct bsd_item *it, enum bsd_list list, bool first)
{
	struct bsd_ready *to = list == READY ? &it->ep->ready : &it->ep->full;

	if (it->list != OFF)
		TAILQ_REMOVE(it->list == READY ? &it->ep->ready : &it->ep->full, it, entry);
	it->list = list;
	if (list == OFF)
		return;
	if (first)
		TAILQ_INSERT_HEAD(to, it, entry);
	else
		TAILQ_INSERT_TAIL(to, it, entry);
}

static bool
make_ready(struct bsd_item *it)
{
	struct bsd_epoll *ep = it->ep;
	bool woken = false;

	if ((atomic_load_explicit(&it->events, memory_order_relaxed) & ~(uint32_t)HOW_BITS) == 0)
		return false; /* disabled */
	ready_lock(ep);
	it->fresh = true;
	if (it->list != READY)
		put(it, READY, false);
	woken = kick(ep);
	ready_unlock(ep);
	return woken;
}

/* An arrival or something else has happened: the watch's callback. */
static bool
told(struct weir_watch *w)
{
	return make_ready((struct bsd_item *)w) && w->exclusive;
}

/* The next item that may be ready, off the list. fresh: not only because it waits for room. */
static struct bsd_item *
next_ready(struct bsd_epoll *ep, bool *fresh)
{
	struct bsd_item *it;

	ready_lock(ep);
	it = TAILQ_FIRST(&ep->ready);
	if (it != NULL) {
		put(it, OFF, false);
		*fresh = it->fresh;
		it->fresh = false;
	}
	ready_unlock(ep);
	return it;
}

/* Back to a list, unless it has come to one meanwhile. */
static void
put_back(struct bsd_item *it, enum bsd_list list, bool first, bool fresh)
{
	ready_lock(it->ep);
	it->fresh = it->fresh || fresh;
	if (it->list == OFF)
		put(it, list, first);
	ready_unlock(it->ep);
}

/* Those that wait for room are to be looked at, too. */
static void
look_at_full(struct bsd_epoll *ep)
{
	struct bsd_item *it;

	ready_lock(ep);
	while ((it = TAILQ_FIRST(&ep->full)) != NULL)
		put(it, READY, false);
	ready_unlock(ep);
}

/* mtx held. What of the item's interest holds now; 0: nothing, and it is armed. full: it waits for room. */
static uint32_t
look(struct bsd_item *it, bool *full)
{
	const uint32_t events = atomic_load_explicit(&it->events, memory_order_relaxed);
	const uint32_t interest = (events & ~(uint32_t)HOW_BITS) | EPOLLERR | EPOLLHUP;
	uint32_t mask = 0;

	*full = false;
	if ((events & ~(uint32_t)HOW_BITS) == 0)
		return 0;
	/* Level needs no arming while it is ready; but the next arrival may be for another exclusive one. */
	if ((events & (EPOLLET | EPOLLEXCLUSIVE)) == 0)
		mask = bsd_mask(it->s, weir_event_mask(it->s->sk));
	if ((mask & interest) == 0)
		mask = bsd_mask(it->s, weir_event_rearm(it->s->sk));
	*full = (interest & WEIR_EV_OUT) != 0 && (mask & WEIR_EV_OUT) == 0;
	return mask & interest;
}

/* mtx held. Hand out up to n events of sockets, each once. */
static int
hand_out(struct bsd_epoll *ep, struct epoll_event *events, int n)
{
	const uint32_t round = ++ep->round;
	struct bsd_item *it;
	bool fresh, full;
	int got = 0;

	look_at_full(ep);
	while (got < n && (it = next_ready(ep, &fresh)) != NULL) {
		const uint32_t how = atomic_load_explicit(&it->events, memory_order_relaxed);
		uint32_t mask;

		if (it->round == round) { /* level: once round the list */
			put_back(it, READY, true, fresh);
			break;
		}
		mask = look(it, &full);
		/* An edge that waited for room alone is none as long as there is no room. */
		if (mask == 0 || ((how & EPOLLET) != 0 && !fresh && full)) {
			if (full)
				put_back(it, FULL, false, false);
			continue;
		}
		events[got].events = mask;
		events[got].data = it->data;
		got++;
		if ((how & EPOLLONESHOT) != 0) {
			atomic_store_explicit(&it->events, how & HOW_BITS, memory_order_relaxed);
		} else if ((how & EPOLLET) == 0) {
			it->round = round;
			put_back(it, READY, false, false);
		} else if (full) {
			put_back(it, FULL, false, false);
		}
	}
	return got;
}

/*
 * mtx held. Other threads that sleep have a chance too when level events remain; who polls the epoll sees
 * whether any do.
 */
static void
settle(struct bsd_epoll *ep)
{
	ready_lock(ep);
	if (TAILQ_EMPTY(&ep->ready))
		calm(ep);
	else
		kick(ep);
	ready_unlock(ep);
}

/* mtx held. Drop what is not ready any more from the front of the list; one that is, is enough to know. */
static void
prune(struct bsd_epoll *ep)
{
	struct bsd_item *it;
	bool fresh, full;

	while ((it = next_ready(ep, &fresh)) != NULL) {
		if (look(it, &full) != 0) {
			put_back(it, READY, true, fresh);
			break;
		}
		if (full)
			put_back(it, FULL, false, false);
	}
}

void
bsd_epoll_expose(struct bsd_epoll *ep)
{
	atomic_store_explicit(&ep->exposed, true, memory_order_relaxed);
	pthread_mutex_lock(&ep->mtx);
	prune(ep);
	settle(ep);
	pthread_mutex_unlock(&ep->mtx);
}

unsigned int
bsd_epoll_sleepers(struct bsd_epoll *ep)
{
	unsigned int n;

	ready_lock(ep);
	n = ep->sleepers;
	ready_unlock(ep);
	return n;
}

/* ---- life ---- */

int
weir_epoll_create1(int flags)
{
	struct epoll_event ev = {.events = EPOLLIN};
	struct bsd_epoll *ep;
	int fd, ret;

	if (bsd.stack == NULL)
		return bsd_fail(ENETDOWN);
	fd = epoll_create1(flags);
	if (fd < 0)
		return -1;
	ep = calloc(1, sizeof(*ep));
	if (ep == NULL) {
		close(fd);
		return bsd_fail(ENOMEM);
	}
	ep->f.kind = BSD_EPOLL;
	atomic_store_explicit(&ep->f.refs, 1, memory_order_relaxed);
	pthread_mutex_init(&ep->mtx, NULL);
	LIST_INIT(&ep->items);
	TAILQ_INIT(&ep->ready);
	TAILQ_INIT(&ep->full);
	ev.data.ptr = &ep->kick;
	/* The caller may close or reuse its number while a thread waits. */
	ep->kernel = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	ep->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ep->kernel < 0 || ep->kick < 0 ||
	    epoll_ctl(ep->kernel, EPOLL_CTL_ADD, ep->kick, &ev) != 0)
		ret = -errno;
	else
		ret = bsd_install(fd, &ep->f);
	if (ret == 0) {
		bsd_internal(ep->kernel);
		bsd_internal(ep->kick);
	}
	if (ret == 0)
		return fd;
	close(fd);
	bsd_epoll_destroy(ep);
	return bsd_fail(-ret);
}

/* bsd_watch_lock and the epoll's mtx held. */
static void
item_remove(struct bsd_item *it)
{
	weir_event_unwatch(it->s->sk, &it->watch);
	ready_lock(it->ep);
	put(it, OFF, false);
	ready_unlock(it->ep);
	LIST_REMOVE(it, of_sock);
	LIST_REMOVE(it, of_epoll);
	free(it);
}

void
bsd_sock_leave_epolls(struct bsd_sock *s)
{
	struct bsd_item *it;

	pthread_mutex_lock(&bsd_watch_lock);
	while ((it = LIST_FIRST(&s->items)) != NULL) {
		struct bsd_epoll *ep = it->ep;

		pthread_mutex_lock(&ep->mtx);
		item_remove(it);
		pthread_mutex_unlock(&ep->mtx);
	}
	pthread_mutex_unlock(&bsd_watch_lock);
}

void
bsd_epoll_shut(struct bsd_epoll *ep)
{
	struct bsd_item *it;

	pthread_mutex_lock(&bsd_watch_lock);
	pthread_mutex_lock(&ep->mtx);
	while ((it = LIST_FIRST(&ep->items)) != NULL)
		item_remove(it);
	pthread_mutex_unlock(&ep->mtx);
	pthread_mutex_unlock(&bsd_watch_lock);
}

void
bsd_epoll_destroy(struct bsd_epoll *ep)
{
	if (ep->kick >= 0)
		close(ep->kick);
	if (ep->kernel >= 0)
		close(ep->kernel);
	pthread_mutex_destroy(&ep->mtx);
	free(ep);
}

void
bsd_epoll_full(struct bsd_sock *s)
{
	struct bsd_item *it;

	pthread_mutex_lock(&bsd_watch_lock);
	LIST_FOREACH(it, &s->items, of_sock)
		if ((atomic_load_explicit(&it->events, memory_order_relaxed) & WEIR_EV_OUT) != 0)
			make_ready(it);
	pthread_mutex_unlock(&bsd_watch_lock);
}

/* ---- control ---- */

/* bsd_watch_lock held. */
static struct bsd_item *
find(const struct bsd_epoll *ep, const struct bsd_sock *s, int fd)
{
	struct bsd_item *it;

	LIST_FOREACH(it, &s->items, of_sock)
		if (it->ep == ep && it->fd == fd)
			return it;
	return NULL;
}

/* mtx held. What is ready already is reported at once. */
static void
report_if_ready(struct bsd_item *it)
{
	bool full;

	if (look(it, &full) != 0 || full)
		make_ready(it);
}

static int
item_add(struct bsd_epoll *ep, struct bsd_sock *s, int fd, const struct epoll_event *event)
{
	struct bsd_item *it = find(ep, s, fd);

	if (it != NULL)
		return -EEXIST;
	it = calloc(1, sizeof(*it));
	if (it == NULL)
		return -ENOMEM;
	it->watch.fn = told;
	it->watch.exclusive = (event->events & EPOLLEXCLUSIVE) != 0;
	it->ep = ep;
	it->s = s;
	it->fd = fd;
	atomic_store_explicit(&it->events, event->events | EPOLLERR | EPOLLHUP,
			      memory_order_relaxed);
	it->data = event->data;
	LIST_INSERT_HEAD(&s->items, it, of_sock);
	LIST_INSERT_HEAD(&ep->items, it, of_epoll);
	weir_event_watch(s->sk, &it->watch);
	report_if_ready(it);
	return 0;
}

static int
item_modify(struct bsd_item *it, const struct epoll_event *event)
{
	if (it == NULL)
		return -ENOENT;
	if (it->watch.exclusive || (event->events & EPOLLEXCLUSIVE) != 0)
		return -EINVAL;
	atomic_store_explicit(&it->events, event->events | EPOLLERR | EPOLLHUP,
			      memory_order_relaxed);
	it->data = event->data;
	report_if_ready(it);
	return 0;
}

static int
control(struct bsd_epoll *ep, int op, struct bsd_sock *s, int fd, const struct epoll_event *event)
{
	struct bsd_item *it;
	int ret;

	if (op != EPOLL_CTL_DEL && event == NULL)
		return -EFAULT;
	if (op != EPOLL_CTL_DEL && (event->events & EPOLLEXCLUSIVE) != 0 &&
	    (op == EPOLL_CTL_MOD || (event->events & ~(uint32_t)EXCLUSIVE_OK) != 0))
		return -EINVAL;
	pthread_mutex_lock(&bsd_watch_lock);
	pthread_mutex_lock(&ep->mtx);
	it = find(ep, s, fd);
	switch (op) {
	case EPOLL_CTL_ADD:
		ret = item_add(ep, s, fd, event);
		break;
	case EPOLL_CTL_MOD:
		ret = item_modify(it, event);
		break;
	case EPOLL_CTL_DEL:
		ret = it != NULL ? 0 : -ENOENT;
		if (it != NULL)
			item_remove(it);
		break;
	default:
		ret = -EINVAL;
	}
	pthread_mutex_unlock(&ep->mtx);
	pthread_mutex_unlock(&bsd_watch_lock);
	return ret;
}

/* Begin to use an epoll descriptor: NULL with errno set. */
static struct bsd_epoll *
enter_epoll(struct bsd_thread **t, int epfd)
{
	struct bsd_file *f;

	*t = bsd_thread();
	if (*t == NULL)
		return NULL;
	f = bsd_enter(*t, epfd);
	if (f == NULL) {
		errno = fcntl(epfd, F_GETFD) != -1 ? EINVAL : EBADF;
	} else if (f->kind != BSD_EPOLL) {
		bsd_leave(*t);
		errno = EINVAL;
		f = NULL;
	}
	return (struct bsd_epoll *)f;
}

int
weir_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	struct bsd_thread *t;
	struct bsd_epoll *ep = enter_epoll(&t, epfd);
	struct bsd_file *f;
	int ret;

	if (ep == NULL)
		return -1;
	f = bsd_enter(t, fd);
	if (f == &ep->f) {
		ret = -EINVAL;
	} else if (f != NULL && f->kind == BSD_SOCKET) {
		ret = control(ep, op, (struct bsd_sock *)f, fd, event);
	} else {
		/* The kernel's, or another epoll, which the kernel knows too. */
		if (f != NULL)
			bsd_epoll_expose((struct bsd_epoll *)f);
		ret = epoll_ctl(ep->kernel, op, fd, event) == 0 ? 0 : -errno;
		if (ret == 0 && op == EPOLL_CTL_ADD)
			atomic_store_explicit(&ep->mixed, true, memory_order_relaxed);
	}
	if (f != NULL)
		bsd_leave(t);
	return (int)bsd_done(t, ret);
}

/* ---- wait ---- */

/* Events of the kernel's descriptors; the kick is taken out of them. -errno. */
static int
ask_kernel(struct bsd_epoll *ep, struct epoll_event *events, int n, int timeout_ms,
	   const sigset_t *mask)
{
	int got = epoll_pwait(ep->kernel, events, n, timeout_ms, mask);
	int kept = 0;

	if (got < 0)
		return -errno;
	for (int i = 0; i < got; i++)
		if (events[i].data.ptr != &ep->kick)
			events[kept++] = events[i];
	return kept;
}

/* What is ready on both sides, who goes first by turns. */
static int
gather(struct bsd_epoll *ep, struct epoll_event *events, int n, bool kernel)
{
	int got = 0;
	int k;

	pthread_mutex_lock(&ep->mtx);
	if (kernel && ep->kernel_first) {
		k = ask_kernel(ep, events, n, 0, NULL);
		got = k > 0 ? k : 0;
	}
	if (got < n)
		got += hand_out(ep, events + got, n - got);
	if (kernel && !ep->kernel_first && got < n) {
		k = ask_kernel(ep, events + got, n - got, 0, NULL);
		got += k > 0 ? k : 0;
	}
	ep->kernel_first = !ep->kernel_first;
	settle(ep);
	pthread_mutex_unlock(&ep->mtx);
	return got;
}

/* Sleep in the kernel until one of its descriptors is ready, or one of ours. Events got, or -errno. */
static int
sleep_in_kernel(struct bsd_epoll *ep, struct epoll_event *events, int n, uint64_t deadline,
		const sigset_t *mask)
{
	int ms = bsd_ms_left(deadline);
	bool ready, full;
	int got;

	ready_lock(ep);
	ready = !TAILQ_EMPTY(&ep->ready);
	full = !TAILQ_EMPTY(&ep->full);
	if (!ready)
		ep->sleepers++;
	ready_unlock(ep);
	if (ready)
		return 0;
	if (full && (ms < 0 || ms > (int)(BSD_FULL_NS / WEIR_NS_PER_MS)))
		ms = BSD_FULL_NS / WEIR_NS_PER_MS;
	got = ask_kernel(ep, events, n, ms, mask);
	ready_lock(ep);
	ep->sleepers--;
	ready_unlock(ep);
	return got;
}

static int
wait_worker(struct bsd_epoll *ep, struct weir_lcore *lc, struct epoll_event *events, int n,
	    uint64_t deadline)
{
	unsigned int idle = 0;
	unsigned int work;
	int got;

	for (;;) {
		const bool kernel = atomic_load_explicit(&ep->mixed, memory_order_relaxed) &&
				    idle++ % KERNEL_EVERY == 0;

		got = gather(ep, events, n, kernel);
		if (got != 0 || (deadline != UINT64_MAX && weir_clock_ns() >= deadline))
			return got;
		work = weir_turn(lc);
		weir_idle(lc, work);
		if (work != 0)
			idle = 0;
	}
}

static int
wait_thread(struct bsd_epoll *ep, struct epoll_event *events, int n, uint64_t deadline,
	    const sigset_t *mask)
{
	int got;

	for (;;) {
		got = gather(ep, events, n, atomic_load_explicit(&ep->mixed, memory_order_relaxed));
		if (got != 0 || bsd_ms_left(deadline) == 0)
			return got;
		got = sleep_in_kernel(ep, events, n, deadline, mask);
		if (got < 0)
			return got;
		if (got > 0) {
			/* Ours may be ready as well. */
			if (got < n)
				got += gather(ep, events + got, n - got, false);
			return got;
		}
	}
}

int
weir_epoll_pwait(int epfd, struct epoll_event *events, int n, int timeout_ms, const sigset_t *mask)
{
	const uint64_t deadline = bsd_deadline(timeout_ms);
	struct bsd_thread *t;
	struct bsd_epoll *ep = enter_epoll(&t, epfd);
	struct weir_lcore *lc;
	sigset_t before;
	int ret;

	if (ep == NULL)
		return -1;
	if (n <= 0)
		return (int)bsd_done(t, -EINVAL);
	if (events == NULL)
		return (int)bsd_done(t, -EFAULT);
	lc = weir_self(bsd.stack);
	if (lc != NULL && lc->kind == WEIR_LC_WORKER) {
		if (mask != NULL)
			pthread_sigmask(SIG_SETMASK, mask, &before);
		ret = wait_worker(ep, lc, events, n, deadline);
		if (mask != NULL)
			pthread_sigmask(SIG_SETMASK, &before, NULL);
	} else {
		ret = wait_thread(ep, events, n, deadline, mask);
	}
	return (int)bsd_done(t, ret);
}

int
weir_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout_ms)
{
	return weir_epoll_pwait(epfd, events, n, timeout_ms, NULL);
}
