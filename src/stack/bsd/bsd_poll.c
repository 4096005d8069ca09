/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poll and select of the BSD layer, for weir's and the kernel's descriptors together.
 *
 * One look at everything first. A thread that then has to wait puts a watch on each socket, arms it,
 * looks again, and sleeps in the kernel's ppoll() on the kernel's descriptors and an eventfd of its own,
 * which the watches write. A worker takes turns instead.
 */
#include "bsd_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#define ON_STACK     32 /* descriptors that need no allocation */
#define KERNEL_EVERY 16 /* a worker looks at the kernel's descriptors every so many idle turns */

/* A sleeping poll. */
struct poller {
	_Atomic bool told;
	int kick;
};

struct poll_watch {
	struct weir_watch watch;
	struct poller *poller;
	struct bsd_sock *s; /* referenced; NULL: the kernel's, or none */
};

/* ---- looking ---- */

static short
revents_of(struct bsd_sock *s, short events)
{
	return (short)(bsd_mask(s, weir_event_mask(s->sk)) &
		       ((uint32_t)(uint16_t)events | POLLERR | POLLHUP));
}

/*
 * Look at weir's sockets: how many are ready. kernel[i] becomes fds[i] for the others, to be asked of the
 * kernel (fd -1 for what it need not look at); *n_kernel counts them.
 */
static int
look(struct bsd_thread *t, struct pollfd *fds, struct pollfd *kernel, nfds_t n, nfds_t *n_kernel)
{
	int ready = 0;

	*n_kernel = 0;
	for (nfds_t i = 0; i < n; i++) {
		struct bsd_file *f = fds[i].fd >= 0 ? bsd_enter(t, fds[i].fd) : NULL;

		fds[i].revents = 0;
		kernel[i] = fds[i];
		if (f != NULL && f->kind == BSD_SOCKET) {
			fds[i].revents = revents_of((struct bsd_sock *)f, fds[i].events);
			ready += fds[i].revents != 0;
			kernel[i].fd = -1;
		} else if (fds[i].fd >= 0) {
			if (f != NULL)
				bsd_epoll_expose((struct bsd_epoll *)f);
			(*n_kernel)++;
		}
		if (f != NULL)
			bsd_leave(t);
	}
	return ready;
}

/* Take over what the kernel says of its descriptors. */
static int
merge(struct pollfd *fds, const struct pollfd *kernel, nfds_t n)
{
	int ready = 0;

	for (nfds_t i = 0; i < n; i++) {
		if (kernel[i].fd < 0 || kernel[i].revents == 0)
			continue;
		fds[i].revents = kernel[i].revents;
		ready++;
	}
	return ready;
}

/* ---- sleeping ---- */

static bool
told(struct weir_watch *w)
{
	struct poller *p = ((struct poll_watch *)w)->poller;

	if (!atomic_exchange_explicit(&p->told, true, memory_order_acq_rel))
		(void)!eventfd_write(p->kick, 1);
	return false;
}

static void
unwatch_all(struct poll_watch *watch, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++) {
		if (watch[i].s == NULL)
			continue;
		weir_event_unwatch(watch[i].s->sk, &watch[i].watch);
		bsd_unref(&watch[i].s->f);
	}
}

/*
 * Watch all sockets among fds. True: one is ready already, or has been closed meanwhile: look again instead
 * of sleeping.
 */
static bool
watch_all(struct bsd_thread *t, struct poller *p, struct poll_watch *watch,
	  const struct pollfd *fds, const struct pollfd *kernel, nfds_t n)
{
	bool ready = false;

	for (nfds_t i = 0; i < n; i++) {
		struct bsd_sock *s = NULL;
		struct bsd_file *f;

		watch[i] = (struct poll_watch){.watch.fn = told, .poller = p};
		if (fds[i].fd < 0 || kernel[i].fd >= 0)
			continue;
		f = bsd_enter(t, fds[i].fd);
		if (f == NULL) {
			ready = true;
			continue;
		}
		if (f->kind == BSD_SOCKET && bsd_ref(f))
			s = (struct bsd_sock *)f;
		bsd_leave(t);
		if (s == NULL) {
			ready = true;
			continue;
		}
		watch[i].s = s;
		weir_event_watch(s->sk, &watch[i].watch);
		/* Armed, then looked at: nothing can come in between unnoticed. */
		if ((bsd_mask(s, weir_event_rearm(s->sk)) &
		     ((uint32_t)(uint16_t)fds[i].events | POLLERR | POLLHUP)) != 0)
			ready = true;
	}
	return ready;
}

/* Does one of the sockets wait for room? Nobody tells of that. */
static bool
any_full(const struct poll_watch *watch, const struct pollfd *fds, nfds_t n)
{
	for (nfds_t i = 0; i < n; i++)
		if (watch[i].s != NULL && ((uint32_t)(uint16_t)fds[i].events & WEIR_EV_OUT) != 0 &&
		    (weir_event_mask(watch[i].s->sk) & WEIR_EV_OUT) == 0)
			return true;
	return false;
}

/* Of the deadline what is left, at most max_ns (UINT64_MAX: no limit). */
static struct timespec *
left(uint64_t deadline, uint64_t max_ns, struct timespec *ts)
{
	const uint64_t now = weir_clock_ns();
	const uint64_t ns = RTE_MIN(deadline == UINT64_MAX ? deadline
				    : now < deadline       ? deadline - now
							   : 0,
				    max_ns);

	if (ns == UINT64_MAX)
		return NULL;
	*ts = (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
				.tv_nsec = (long)(ns % WEIR_NS_PER_S)};
	return ts;
}

/* Sleep once: events of the kernel's descriptors in kernel[], or -errno. kernel[n] is the kick's. */
static int
sleep_once(struct bsd_thread *t, const struct pollfd *fds, struct pollfd *kernel, nfds_t n,
	   struct poll_watch *watch, uint64_t deadline, const sigset_t *mask)
{
	struct poller p = {.kick = t->kick};
	const struct timespec now = {0, 0};
	struct timespec ts;
	eventfd_t count;
	bool ready;
	int ret;

	kernel[n] = (struct pollfd){.fd = p.kick, .events = POLLIN};
	ready = watch_all(t, &p, watch, fds, kernel, n);
	ret = ppoll(kernel, n + 1,
		    ready ? &now
			  : left(deadline, any_full(watch, fds, n) ? BSD_FULL_NS : UINT64_MAX, &ts),
		    mask);
	if (ret < 0)
		ret = -errno;
	unwatch_all(watch, n);
	if (atomic_load_explicit(&p.told, memory_order_acquire))
		(void)!eventfd_read(p.kick, &count);
	return ret;
}

/* ---- poll ---- */

struct room {
	struct pollfd *kernel; /* n + 1 */
	struct poll_watch *watch;
};

static int
wait_thread(struct bsd_thread *t, struct pollfd *fds, nfds_t n, struct room *r, uint64_t deadline,
	    const sigset_t *mask)
{
	nfds_t n_kernel;
	int ret;

	for (;;) {
		ret = look(t, fds, r->kernel, n, &n_kernel);
		if (ret > 0 || bsd_ms_left(deadline) == 0) {
			/* No wait: what the kernel's are is asked all the same. */
			if (n_kernel > 0 && poll(r->kernel, n, 0) > 0)
				ret += merge(fds, r->kernel, n);
			return ret;
		}
		if (t->kick < 0) {
			t->kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
			if (t->kick < 0)
				return -ENOMEM;
			bsd_internal(t->kick);
		}
		ret = sleep_once(t, fds, r->kernel, n, r->watch, deadline, mask);
		if (ret < 0)
			return ret;
		if (merge(fds, r->kernel, n) > 0) {
			/* Weir's may be ready as well. */
			ret = 0;
			for (nfds_t i = 0; i < n; i++) {
				struct bsd_file *f = r->kernel[i].fd < 0 && fds[i].fd >= 0
							     ? bsd_enter(t, fds[i].fd)
							     : NULL;

				if (f != NULL && f->kind == BSD_SOCKET)
					fds[i].revents =
						revents_of((struct bsd_sock *)f, fds[i].events);
				if (f != NULL)
					bsd_leave(t);
				ret += fds[i].revents != 0;
			}
			return ret;
		}
	}
}

static int
wait_worker(struct bsd_thread *t, struct weir_lcore *lc, struct pollfd *fds, nfds_t n,
	    struct room *r, uint64_t deadline)
{
	unsigned int idle = 0;
	unsigned int work;
	nfds_t n_kernel;
	int ret;

	for (;;) {
		ret = look(t, fds, r->kernel, n, &n_kernel);
		if (n_kernel > 0 && (ret > 0 || idle % KERNEL_EVERY == 0) &&
		    poll(r->kernel, n, 0) > 0)
			ret += merge(fds, r->kernel, n);
		if (ret > 0 || (deadline != UINT64_MAX && weir_clock_ns() >= deadline))
			return ret;
		work = weir_turn(lc);
		weir_idle(lc, work);
		idle = work != 0 ? 0 : idle + 1;
	}
}

static int
poll_until(struct pollfd *fds, nfds_t n, uint64_t deadline, const sigset_t *mask)
{
	struct pollfd kernel_room[ON_STACK + 1];
	struct poll_watch watch_room[ON_STACK];
	struct room r = {kernel_room, watch_room};
	struct bsd_thread *t = bsd_thread();
	struct weir_lcore *lc;
	struct rlimit limit;
	sigset_t before;
	int ret;

	if (t == NULL)
		return -ENOMEM;
	if (fds == NULL && n > 0)
		return -EFAULT;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && n > limit.rlim_cur)
		return -EINVAL;
	if (n > ON_STACK) {
		r.kernel = calloc(n + 1, sizeof(*r.kernel));
		r.watch = calloc(n, sizeof(*r.watch));
	}
	lc = bsd.stack != NULL ? weir_self(bsd.stack) : NULL;
	if (r.kernel == NULL || r.watch == NULL) {
		ret = -ENOMEM;
	} else if (lc != NULL && lc->kind == WEIR_LC_WORKER) {
		if (mask != NULL)
			pthread_sigmask(SIG_SETMASK, mask, &before);
		ret = wait_worker(t, lc, fds, n, &r, deadline);
		if (mask != NULL)
			pthread_sigmask(SIG_SETMASK, &before, NULL);
	} else {
		ret = wait_thread(t, fds, n, &r, deadline, mask);
	}
	if (n > ON_STACK) {
		free(r.kernel);
		free(r.watch);
	}
	return ret;
}

int
weir_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return (int)bsd_ret(poll_until(fds, n, bsd_deadline(timeout_ms), NULL));
}

int
weir_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	uint64_t deadline = UINT64_MAX;

	if (timeout != NULL) {
		if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 ||
		    timeout->tv_nsec >= (long)WEIR_NS_PER_S)
			return bsd_fail(EINVAL);
		if ((uint64_t)timeout->tv_sec < UINT64_MAX / WEIR_NS_PER_S / 2)
			deadline = weir_clock_ns() + (uint64_t)timeout->tv_sec * WEIR_NS_PER_S +
				   (uint64_t)timeout->tv_nsec;
	}
	return (int)bsd_ret(poll_until(fds, n, deadline, mask));
}

/* ---- select ---- */

#define RD_EVENTS (POLLIN | POLLRDNORM | POLLRDBAND | POLLHUP | POLLERR)
#define WR_EVENTS (POLLOUT | POLLWRNORM | POLLWRBAND | POLLERR)
#define EX_EVENTS POLLPRI

static short
asked(int fd, fd_set *rd, fd_set *wr, fd_set *ex)
{
	return (short)((rd != NULL && FD_ISSET(fd, rd) ? POLLIN | POLLRDNORM | POLLRDBAND : 0) |
		       (wr != NULL && FD_ISSET(fd, wr) ? POLLOUT | POLLWRNORM | POLLWRBAND : 0) |
		       (ex != NULL && FD_ISSET(fd, ex) ? POLLPRI : 0));
}

/* Leave fd in the set if one of the events came, and it was asked for. */
static int
answer(int fd, fd_set *set, short revents, short events)
{
	if (set == NULL || !FD_ISSET(fd, set))
		return 0;
	if ((revents & events) != 0)
		return 1;
	FD_CLR(fd, set);
	return 0;
}

int
weir_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	uint64_t deadline = UINT64_MAX;
	nfds_t n_fds = 0;
	int ready = 0;
	int ret;

	if (n < 0 || n > FD_SETSIZE)
		return bsd_fail(EINVAL);
	if (timeout != NULL) {
		if (timeout->tv_sec < 0 || timeout->tv_usec < 0)
			return bsd_fail(EINVAL);
		if ((uint64_t)timeout->tv_sec < UINT64_MAX / WEIR_NS_PER_S / 2)
			deadline = weir_clock_ns() + (uint64_t)timeout->tv_sec * WEIR_NS_PER_S +
				   (uint64_t)timeout->tv_usec * WEIR_NS_PER_US;
	}
	for (int fd = 0; fd < n; fd++) {
		const short events = asked(fd, rd, wr, ex);

		if (events != 0)
			fds[n_fds++] = (struct pollfd){.fd = fd, .events = events};
	}
	ret = poll_until(fds, n_fds, deadline, NULL);
	if (timeout != NULL && deadline != UINT64_MAX) { /* as Linux: what is left */
		const uint64_t now = weir_clock_ns();
		const uint64_t ns = now < deadline ? deadline - now : 0;

		timeout->tv_sec = (time_t)(ns / WEIR_NS_PER_S);
		timeout->tv_usec = (suseconds_t)(ns % WEIR_NS_PER_S / WEIR_NS_PER_US);
	}
	if (ret < 0)
		return bsd_fail(-ret);
	for (nfds_t i = 0; i < n_fds; i++)
		if ((fds[i].revents & POLLNVAL) != 0)
			return bsd_fail(EBADF);
	for (nfds_t i = 0; i < n_fds; i++)
		ready += answer(fds[i].fd, rd, fds[i].revents, RD_EVENTS) +
			 answer(fds[i].fd, wr, fds[i].revents, WR_EVENTS) +
			 answer(fds[i].fd, ex, fds[i].revents, EX_EVENTS);
	return ready;
}
