/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descriptors and threads of the BSD layer: see bsd_priv.h. Start, stop, dup, close, fork.
 */
#include "bsd_priv.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_pause.h>

#define SLOTS_MAX (1u << 20)

struct bsd bsd;
pthread_mutex_t bsd_watch_lock = PTHREAD_MUTEX_INITIALIZER;
__thread struct bsd_thread *bsd_me;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key; /* its destructor sees a thread end */
static bool have_key;
/* In a child: its parent's sockets are not its own, only their numbers. */
static bool forked;
static uint32_t forked_slots;

/* Threads and retired files. Leaf: nothing is called under it. */
static pthread_mutex_t lists_lock = PTHREAD_MUTEX_INITIALIZER;
static struct bsd_thread *threads;
static struct bsd_file *retired;

/* ---- threads ---- */

static void
thread_forget(struct bsd_thread *t)
{
	pthread_mutex_lock(&lists_lock);
	for (struct bsd_thread **link = &threads; *link != NULL; link = &(*link)->next) {
		if (*link == t) {
			*link = t->next;
			break;
		}
	}
	pthread_mutex_unlock(&lists_lock);
	if (t->kick >= 0)
		close(t->kick);
	free(t);
}

static void
thread_detach(struct bsd_thread *t)
{
	struct weir_lcore *lc = t->attached;

	t->attached = NULL;
	if (lc != NULL)
		weir_lcore_detach(lc);
}

static void
thread_end(void *arg)
{
	struct bsd_thread *t = arg;

	/* A child of fork has the record of the thread that forked, but not its lcore. */
	if (!forked)
		thread_detach(t);
	bsd_me = NULL;
	thread_forget(t);
}

/*
 * A child of fork() shares no stack with its parent: DPDK's memory, the threads that poll and the device
 * are the parent's. Let it find nothing.
 */
static void
in_child(void)
{
	forked_slots = bsd.n_slots;
	bsd.n_slots = 0;
	bsd.stack = NULL;
	forked = true;
}

static void
init_once(void)
{
	have_key = pthread_key_create(&exit_key, thread_end) == 0;
	pthread_atfork(NULL, NULL, in_child);
	bsd.strong = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
}

struct bsd_thread *
bsd_thread_new(void)
{
	struct bsd_thread *t = calloc(1, sizeof(*t));

	pthread_once(&once, init_once);
	/* Without the key nobody would see the thread end. */
	if (t == NULL || !have_key || pthread_setspecific(exit_key, t) != 0) {
		free(t);
		errno = ENOMEM;
		return NULL;
	}
	t->kick = -1;
	pthread_mutex_lock(&lists_lock);
	t->next = threads;
	threads = t;
	pthread_mutex_unlock(&lists_lock);
	bsd_me = t;
	return t;
}

int
bsd_attach(struct bsd_thread *t, struct weir_lcore **lc)
{
	int ret;

	if (bsd.stack == NULL)
		return -ENETDOWN;
	*lc = weir_self(bsd.stack);
	if (*lc != NULL)
		return 0;
	ret = weir_thread_attach(bsd.stack, lc);
	if (ret == 0)
		t->attached = *lc;
	return ret == -ENOSPC ? -EUSERS : ret;
}

void
weir_bsd_detach(void)
{
	if (bsd_me != NULL && !forked && bsd_me->depth == 0)
		thread_detach(bsd_me);
}

struct bsd_sock *
bsd_enter_failed(struct bsd_thread *t, int fd)
{
	struct bsd_file *_Atomic *slot = bsd_slot(fd);

	if (t->depth == BSD_DEPTH)
		errno = EDEADLK;
	else if (slot != NULL && atomic_load_explicit(slot, memory_order_relaxed) != NULL)
		errno = ENOTSOCK; /* an epoll */
	else
		errno = !forked && fcntl(fd, F_GETFD) != -1 ? ENOTSOCK : EBADF;
	return NULL;
}

/* ---- files ---- */

bool
bsd_ref(struct bsd_file *f)
{
	uint32_t n = atomic_load_explicit(&f->refs, memory_order_relaxed);

	while (n != 0)
		if (atomic_compare_exchange_weak_explicit(&f->refs, &n, n + 1, memory_order_relaxed,
							  memory_order_relaxed))
			return true;
	return false;
}

static void
destroy(struct bsd_file *f)
{
	if (f->kind == BSD_SOCKET)
		bsd_sock_destroy((struct bsd_sock *)f);
	else
		bsd_epoll_destroy((struct bsd_epoll *)f);
}

/* lists_lock held. */
static bool
in_use(const struct bsd_file *f)
{
	for (const struct bsd_thread *t = threads; t != NULL; t = t->next)
		for (unsigned int i = 0; i < BSD_DEPTH; i++)
			/* Acquire: pairs with the release of bsd_leave(). */
			if (atomic_load_explicit((struct bsd_file * _Atomic *)(uintptr_t)&t->use[i],
						 memory_order_seq_cst) == f)
				return true;
	return false;
}

void
bsd_reap(void)
{
	struct bsd_file *dead = NULL;
	uint32_t n = 0;

	/* From here on every thread has either shown its slot or not begun to use the file. */
	if (!bsd.strong)
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
	pthread_mutex_lock(&lists_lock);
	for (struct bsd_file **link = &retired; *link != NULL;) {
		struct bsd_file *f = *link;

		if (in_use(f)) {
			link = &f->next;
			continue;
		}
		*link = f->next;
		f->next = dead;
		dead = f;
		n++;
	}
	atomic_fetch_sub_explicit(&bsd.n_retired, n, memory_order_seq_cst);
	pthread_mutex_unlock(&lists_lock);
	while (dead != NULL) {
		struct bsd_file *f = dead;

		dead = f->next;
		destroy(f);
	}
}

void
bsd_unref(struct bsd_file *f)
{
	/* Release and acquire: what others did with it is done before it goes. */
	if (atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (f->kind == BSD_SOCKET)
		bsd_sock_shut((struct bsd_sock *)f);
	else
		bsd_epoll_shut((struct bsd_epoll *)f);
	pthread_mutex_lock(&lists_lock);
	f->next = retired;
	retired = f;
	/* Before the look at the slots: who leaves after that look sees the count. */
	atomic_fetch_add_explicit(&bsd.n_retired, 1, memory_order_seq_cst);
	pthread_mutex_unlock(&lists_lock);
	bsd_reap();
}

/* Another file, or none, behind the number; what was there loses a descriptor. */
static void
replace(struct bsd_file *_Atomic *slot, struct bsd_file *f)
{
	struct bsd_file *was = atomic_exchange_explicit(slot, f, memory_order_seq_cst);

	if (was != NULL)
		bsd_unref(was);
}

void
bsd_internal(int fd)
{
	struct bsd_file *_Atomic *slot = bsd_slot(fd);

	if (slot != NULL)
		replace(slot, NULL);
}

int
bsd_install(int fd, struct bsd_file *f)
{
	struct bsd_file *_Atomic *slot = bsd_slot(fd);

	if (slot == NULL)
		return -EMFILE;
	/* A number that is new to us but not to the table was closed behind our back. */
	replace(slot, f);
	return 0;
}

/* ---- start, stop ---- */

/* Slots for all numbers that there can be. The pages of so large a block come with their first use. */
static int
make_slots(void)
{
	uint32_t n = SLOTS_MAX;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max < n)
		n = (uint32_t)limit.rlim_max;
	bsd.slots = calloc(n, sizeof(*bsd.slots));
	if (bsd.slots == NULL)
		return -ENOMEM;
	bsd.n_slots = n;
	return 0;
}

int
weir_bsd_start(struct weir_stack *stack)
{
	int ret;

	if (bsd.stack != NULL)
		return -EALREADY;
	if (forked)
		return -EPERM;
	pthread_once(&once, init_once);
	ret = have_key ? make_slots() : -ENOMEM;
	if (ret == 0)
		bsd.stack = stack;
	return ret;
}

/* Is a thread other than the caller attached by us, or in a call? */
static bool
others_attached(void)
{
	bool any = false;

	pthread_mutex_lock(&lists_lock);
	for (const struct bsd_thread *t = threads; t != NULL; t = t->next)
		any = any || (t != bsd_me && (t->attached != NULL || t->depth != 0));
	pthread_mutex_unlock(&lists_lock);
	return any;
}

int
weir_bsd_stop(void)
{
	if (bsd.stack == NULL)
		return 0;
	if (others_attached() || (bsd_me != NULL && bsd_me->depth != 0))
		return -EBUSY;
	for (uint32_t i = 0; i < bsd.n_slots; i++)
		if (atomic_load_explicit(&bsd.slots[i], memory_order_relaxed) != NULL)
			weir_close((int)i);
	free(bsd.slots);
	bsd.slots = NULL;
	bsd.n_slots = 0;
	if (bsd_me != NULL) {
		struct bsd_thread *t = bsd_me;

		thread_detach(t);
		bsd_me = NULL;
		pthread_setspecific(exit_key, NULL);
		thread_forget(t);
	}
	bsd.stack = NULL;
	return 0;
}

struct weir_socket *
weir_bsd_handle(int fd)
{
	struct bsd_thread *t = bsd_thread();
	struct bsd_file *f = t != NULL ? bsd_enter(t, fd) : NULL;
	struct weir_socket *sk;

	if (f == NULL)
		return NULL;
	sk = f->kind == BSD_SOCKET ? ((struct bsd_sock *)f)->sk : NULL;
	bsd_leave(t);
	return sk;
}

/* ---- close, dup ---- */

/* Only the number is there. The lowest bit of its slot says that it has been closed. */
static int
close_in_child(int fd)
{
	struct bsd_file *f = (uint32_t)fd < forked_slots ? bsd.slots[fd] : NULL;

	if (f == NULL || ((uintptr_t)f & 1) != 0)
		return bsd_fail(EBADF);
	bsd.slots[fd] = (struct bsd_file *)((uintptr_t)f | 1);
	return close(fd);
}

int
weir_close(int fd)
{
	struct bsd_file *_Atomic *slot = bsd_slot(fd);
	struct bsd_file *was;

	if (forked)
		return close_in_child(fd);
	/* Out of the table first: once the kernel has the number back, another thread may get it. */
	was = slot != NULL ? atomic_exchange_explicit(slot, NULL, memory_order_seq_cst) : NULL;
	if (was == NULL)
		return bsd_fail(EBADF);
	close(fd);
	bsd_unref(was);
	return 0;
}

/*
 * Give f, which the caller may use, the open number fd as one more descriptor; closes the number when that
 * fails. fd < 0: there is none, errno says why.
 */
static int
add_descriptor(struct bsd_file *f, int fd)
{
	int ret;

	if (fd < 0)
		return -1;
	ret = bsd_ref(f) ? bsd_install(fd, f) : -EBADF;
	if (ret == 0)
		return fd;
	if (ret != -EBADF)
		bsd_unref(f);
	close(fd);
	return bsd_fail(-ret);
}

static int
dup_from(int fd, int cmd, int min)
{
	struct bsd_thread *t = bsd_thread();
	struct bsd_file *f = t != NULL ? bsd_enter(t, fd) : NULL;
	int to;

	if (f == NULL)
		return t == NULL ? -1 : bsd_fail(EBADF);
	to = add_descriptor(f, fcntl(fd, cmd, min));
	bsd_leave(t);
	return to;
}

int
weir_dup(int fd)
{
	return dup_from(fd, F_DUPFD, 0);
}

/* flags -1: dup2. */
static int
dup_to(int fd, int to, int flags)
{
	struct bsd_thread *t = bsd_thread();
	struct bsd_file *f;
	int ret;

	if (t == NULL)
		return -1;
	f = bsd_enter(t, fd);
	if (f == NULL) {
		/* One of the kernel's over one of ours, perhaps. */
		struct bsd_file *_Atomic *slot = bsd_slot(to);

		ret = flags < 0 ? dup2(fd, to) : dup3(fd, to, flags);
		if (ret >= 0 && slot != NULL)
			replace(slot, NULL);
		return ret;
	}
	if (fd == to) {
		bsd_leave(t);
		return flags < 0 ? to : bsd_fail(EINVAL);
	}
	ret = bsd_ref(f) ? 0 : -EBADF;
	if (ret == 0 && bsd_slot(to) == NULL) {
		bsd_unref(f);
		ret = -EBADF; /* as dup2() of a number beyond the limit */
	}
	if (ret == 0 && (flags < 0 ? dup2(fd, to) : dup3(fd, to, flags)) < 0) {
		ret = -errno;
		bsd_unref(f);
	}
	if (ret == 0) {
		ret = bsd_install(to, f);
		if (ret != 0) {
			bsd_unref(f);
			close(to);
		}
	}
	bsd_leave(t);
	return ret == 0 ? to : bsd_fail(-ret);
}

int
weir_dup2(int fd, int to)
{
	return dup_to(fd, to, -1);
}

int
weir_dup3(int fd, int to, int flags)
{
	if ((flags & ~O_CLOEXEC) != 0)
		return bsd_fail(EINVAL);
	return dup_to(fd, to, flags);
}

int
weir_fcntl(int fd, int cmd, ...)
{
	struct bsd_thread *t = bsd_thread();
	struct bsd_file *f;
	va_list ap;
	int arg;
	int ret;

	va_start(ap, cmd);
	arg = va_arg(ap, int);
	va_end(ap);
	if (t == NULL)
		return -1;
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		return dup_from(fd, cmd, arg);
	f = bsd_enter(t, fd);
	if (f == NULL)
		return bsd_fail(EBADF);
	switch (cmd) {
	case F_GETFD:
		ret = fcntl(fd, F_GETFD);
		break;
	case F_SETFD:
		ret = fcntl(fd, F_SETFD, arg);
		break;
	case F_GETFL:
		ret = O_RDWR |
		      (atomic_load_explicit(&f->nonblock, memory_order_relaxed) ? O_NONBLOCK : 0);
		break;
	case F_SETFL:
		atomic_store_explicit(&f->nonblock, (arg & O_NONBLOCK) != 0, memory_order_relaxed);
		ret = 0;
		break;
	default:
		ret = bsd_fail(EINVAL);
	}
	bsd_leave(t);
	return ret;
}

/* ---- time ---- */

uint64_t
bsd_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : weir_clock_ns() + (uint64_t)timeout_ms * WEIR_NS_PER_MS;
}

int
bsd_ms_left(uint64_t deadline)
{
	const uint64_t now = weir_clock_ns();
	uint64_t ms;

	if (deadline == UINT64_MAX)
		return -1;
	if (now >= deadline)
		return 0;
	ms = (deadline - now + WEIR_NS_PER_MS - 1) / WEIR_NS_PER_MS;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}
