/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BSD layer, one thread at a time: descriptors and what happens to them, names, messages and control
 * messages, options one by one, errnos. The thread is the worker; peers are the own host, or a frame that
 * the test injects. Waiting is in test_bsd_wait.c; what Linux does is compared in tests/diff.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/errqueue.h>
#include <linux/sockios.h>

#include <weir/bsd.h>

#include "common/ut_fail.h"
#include "errq.h"

#define LO   0x7f000001
#define PORT 5000

/* The call fails with this errno. */
#define fails(call, err)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ == -1 && errno == (err), "%s: returned %ld, errno %d (%s), not %s",  \
			 #call, got_, errno, strerror(errno), #err);                               \
	} while (0)

#define works(call)                                                                                \
	do {                                                                                       \
		errno = 0;                                                                         \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ != -1, "%s: errno %d (%s)", #call, errno, strerror(errno));          \
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

#define BSD_TEST(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, teardown)

/* A stack whose worker is this thread, with the BSD layer on it. */
static struct ut_stack *
up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = 2;
	cfg.stack.max_threads = 4;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_bsd_start(s->stack), 0);
	return s;
}

static int
udp(void)
{
	const int fd = weir_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	ut_check(fd >= 0, "weir_socket: errno %d", errno);
	return fd;
}

static int
bound(uint32_t ip, uint16_t port)
{
	const int fd = udp();
	const struct sockaddr_in a = name(ip, port);

	works(weir_bind(fd, ADDR(a)));
	return fd;
}

static int
connected(uint32_t ip, uint16_t port)
{
	const int fd = udp();
	const struct sockaddr_in a = name(ip, port);

	works(weir_connect(fd, ADDR(a)));
	return fd;
}

static int
get(int fd, int level, int opt)
{
	int v = -12345;
	socklen_t len = sizeof(v);

	works(weir_getsockopt(fd, level, opt, &v, &len));
	return v;
}

static int
set(int fd, int level, int opt, int v)
{
	return weir_setsockopt(fd, level, opt, &v, sizeof(v));
}

static uint16_t
port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	works(weir_getsockname(fd, (struct sockaddr *)&a, &len));
	return ntohs(a.sin_port);
}

/* ---- descriptors ---- */

static void
sockets_have_types_and_flags(void **state)
{
	int fd;

	fails(weir_socket(AF_INET, SOCK_DGRAM, 0), ENETDOWN);
	up(state);
	fails(weir_socket(AF_UNIX, SOCK_DGRAM, 0), EAFNOSUPPORT);
	fails(weir_socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), EPROTONOSUPPORT);
	fails(weir_socket(AF_INET, SOCK_DGRAM, IPPROTO_TCP), EPROTONOSUPPORT);
	fails(weir_socket(AF_INET, SOCK_DGRAM, 136), EPROTONOSUPPORT); /* UDP-Lite is gone */
	fails(weir_socket(AF_INET, SOCK_RAW, 0), ESOCKTNOSUPPORT);
	fails(weir_socket(AF_INET, SOCK_DGRAM | 1 << 27, 0), EINVAL);
	fails(weir_socket(AF_INET, 11, 0), EINVAL);
	fails(weir_socket(AF_INET, SOCK_DGRAM, 263), EINVAL);
	fails(weir_socket(AF_INET, SOCK_DGRAM, -1), EINVAL);
	fd = weir_socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
	assert_true(fd >= 0);
	assert_int_equal(weir_fcntl(fd, F_GETFL), O_RDWR);
	assert_int_equal(weir_fcntl(fd, F_GETFD), 0);
	works(weir_close(fd));
	fd = weir_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_int_equal(weir_fcntl(fd, F_GETFL), O_RDWR | O_NONBLOCK);
	assert_int_equal(weir_fcntl(fd, F_GETFD), FD_CLOEXEC);
	works(weir_fcntl(fd, F_SETFL, 0));
	assert_int_equal(weir_fcntl(fd, F_GETFL), O_RDWR);
	works(weir_fcntl(fd, F_SETFD, 0));
	assert_int_equal(fcntl(fd, F_GETFD), 0); /* it is a real number */
	fails(weir_fcntl(fd, F_GETOWN), EINVAL);
	works(weir_close(fd));
	fails(weir_close(fd), EBADF);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void
numbers_that_are_not_ours(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	int pipes[2], v = 0;
	socklen_t len = sizeof(v);
	int bad[5];

	up(state);
	assert_int_equal(pipe(pipes), 0);
	bad[0] = -1;
	bad[1] = 1 << 20;
	bad[2] = INT32_MAX;
	bad[3] = pipes[1] + 5;
	for (int i = 0; i < 4; i++) {
		fails(weir_bind(bad[i], ADDR(a)), EBADF);
		fails(weir_connect(bad[i], ADDR(a)), EBADF);
		fails(weir_listen(bad[i], 1), EBADF);
		fails(weir_getsockopt(bad[i], SOL_SOCKET, SO_TYPE, &v, &len), EBADF);
		fails(weir_setsockopt(bad[i], SOL_SOCKET, SO_TYPE, &v, len), EBADF);
		fails(weir_bsd_send(bad[i], "", 0, 0), EBADF);
		fails(weir_bsd_recv(bad[i], NULL, 0, 0), EBADF);
		fails(weir_recvmmsg(bad[i], NULL, 0, 0, NULL), EBADF);
		fails(weir_sendmmsg(bad[i], NULL, 0, 0), EBADF);
		fails(weir_shutdown(bad[i], SHUT_RD), EBADF);
		fails(weir_dup(bad[i]), EBADF);
		fails(weir_dup2(bad[i], 100), EBADF);
		fails(weir_fcntl(bad[i], F_GETFL), EBADF);
		fails(weir_fcntl(bad[i], F_DUPFD, 0), EBADF);
		fails(weir_ioctl(bad[i], FIONREAD, &v), EBADF);
		fails(weir_close(bad[i]), EBADF);
		assert_null(weir_bsd_handle(bad[i]));
	}
	fails(weir_bind(pipes[0], ADDR(a)), ENOTSOCK);
	fails(weir_bsd_recv(pipes[0], &v, 1, 0), ENOTSOCK);
	fails(weir_close(pipes[0]), EBADF); /* the kernel's own: not ours to close */
	close(pipes[0]);
	close(pipes[1]);
}

static void
dup_shares_the_socket(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	int fd, two, three, kernel;
	struct weir_socket *sk;
	char buf[8];

	up(state);
	fd = bound(LO, PORT);
	sk = weir_bsd_handle(fd);
	two = weir_dup(fd);
	assert_true(two >= 0 && two != fd);
	assert_ptr_equal(weir_bsd_handle(two), sk);
	works(weir_fcntl(two, F_SETFL, 0)); /* one description: one set of flags */
	assert_int_equal(weir_fcntl(fd, F_GETFL), O_RDWR);
	works(weir_fcntl(fd, F_SETFL, O_NONBLOCK));
	three = weir_fcntl(fd, F_DUPFD_CLOEXEC, 300);
	assert_true(three >= 300);
	assert_int_equal(weir_fcntl(three, F_GETFD), FD_CLOEXEC);
	works(weir_close(fd));
	gives(weir_sendto(two, "abc", 3, 0, ADDR(a)), 3);
	gives(weir_bsd_recv(three, buf, sizeof(buf), 0), 3);
	/* Over an open descriptor: that one is closed. */
	fd = udp();
	gives(weir_dup2(three, fd), fd);
	assert_ptr_equal(weir_bsd_handle(fd), sk);
	gives(weir_dup2(fd, fd), fd);
	fails(weir_dup3(fd, fd, 0), EINVAL);
	fails(weir_dup3(fd, two, 77), EINVAL);
	gives(weir_dup3(fd, two, O_CLOEXEC), two);
	assert_int_equal(weir_fcntl(two, F_GETFD), FD_CLOEXEC);
	/* Between the two kinds. */
	kernel = eventfd(0, 0);
	gives(weir_dup2(three, kernel), kernel);
	assert_ptr_equal(weir_bsd_handle(kernel), sk);
	works(weir_close(kernel));
	kernel = eventfd(7, 0);
	gives(weir_dup2(kernel, three), three);
	assert_null(weir_bsd_handle(three));
	assert_int_equal(read(three, buf, 8), 8);
	close(three);
	close(kernel);
	/* The last one takes the name with it. */
	works(weir_close(two));
	three = udp();
	fails(weir_bind(three, ADDR(a)), EADDRINUSE);
	works(weir_close(fd));
	works(weir_bind(three, ADDR(a)));
	fails(weir_fcntl(three, F_DUPFD, -1), EINVAL);
	fails(weir_dup2(three, -1), EBADF);
	fails(weir_dup2(three, 1 << 20), EBADF);
}

static void
a_number_closed_behind_our_back_is_found_again(void **state)
{
	const struct sockaddr_in a = name(LO, PORT), b = name(LO, PORT + 1);
	int fd, again;

	up(state);
	fd = bound(LO, PORT);
	close(fd);
	again = udp();
	assert_int_equal(again, fd);
	works(weir_bind(again, ADDR(a))); /* the old socket has gone */
	/* Also when the number becomes one that nobody is told of. */
	fd = bound(LO, PORT + 1);
	close(again);
	close(fd);
	again = udp(); /* takes both */
	fd = udp();
	works(weir_bind(again, ADDR(a)));
	works(weir_bind(fd, ADDR(b)));
}

static void
stop_closes_what_is_left(void **state)
{
	struct ut_stack *s = up(state);
	int fd[3];

	for (int i = 0; i < 3; i++)
		fd[i] = udp();
	assert_int_equal(weir_bsd_start(s->stack), -EALREADY);
	assert_int_equal(weir_bsd_stop(), 0);
	assert_int_equal(weir_bsd_stop(), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fcntl(fd[i], F_GETFD), -1);
		fails(weir_close(fd[i]), EBADF);
	}
	fails(weir_socket(AF_INET, SOCK_DGRAM, 0), ENETDOWN);
	fails(weir_epoll_create1(0), ENETDOWN);
	ut_fail_at(1);
	assert_int_equal(weir_bsd_start(s->stack), -ENOMEM);
	assert_true(ut_fail_stop());
	assert_int_equal(weir_bsd_start(s->stack), 0);
	udp();
}

static void
a_forked_child_has_numbers_only(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound(LO, PORT);
	const struct sockaddr_in a = name(LO, PORT);
	char buf[4];
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		int bad = 0;

		bad |= weir_bsd_send(fd, "x", 1, 0) != -1 || errno != EBADF;
		bad |= (weir_socket(AF_INET, SOCK_DGRAM, 0) != -1 || errno != ENETDOWN) << 1;
		bad |= (weir_bsd_start(s->stack) != -EPERM) << 2;
		bad |= (weir_close(fd) != 0 || fcntl(fd, F_GETFD) != -1) << 3;
		bad |= (weir_close(fd) != -1 || errno != EBADF) << 4;
		bad |= (weir_dup(fd) != -1 || errno != EBADF) << 5;
		weir_bsd_detach();
		_exit(bad);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	gives(weir_sendto(fd, "abc", 3, 0, ADDR(a)), 3);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 3);
}

/* Open one of everything, counting on nothing. */
static int
open_some(void *arg)
{
	int *fd = arg;
	int n = 0;

	fd[n] = weir_socket(AF_INET, SOCK_DGRAM, 0);
	if (fd[n] >= 0)
		fd[++n] = weir_dup(fd[0]);
	if (n > 0 && fd[n] >= 0)
		fd[++n] = weir_epoll_create1(0);
	if (n > 0 && fd[n] >= 0) {
		struct epoll_event ev = {.events = EPOLLIN};

		if (weir_epoll_ctl(fd[2], EPOLL_CTL_ADD, fd[0], &ev) == 0)
			return 0;
		n++;
	}
	n = -errno;
	for (int i = 0; i < 3 && fd[i] >= 0; i++)
		weir_close(fd[i]);
	return n;
}

static void
close_some(void *arg)
{
	int *fd = arg;

	for (int i = 0; i < 3; i++)
		weir_close(fd[i]);
}

static int
count_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static int
attempt(void *arg)
{
	struct ut_stack *s = *(struct ut_stack **)arg;
	int *fd = (int *)((void **)arg)[1];
	int ret;

	for (int i = 0; i < 3; i++)
		fd[i] = -1;
	ret = open_some(fd);
	ut_stack_poll(s); /* a grace period, so that what was closed is freed */
	ut_stack_pass(s, 60 * WEIR_NS_PER_MS, 60 * WEIR_NS_PER_MS);
	return ret;
}

static void
undo(void *arg)
{
	struct ut_stack *s = *(struct ut_stack **)arg;

	close_some(((void **)arg)[1]);
	ut_stack_poll(s);
	ut_stack_pass(s, 60 * WEIR_NS_PER_MS, 60 * WEIR_NS_PER_MS);
}

static void
every_allocation_may_fail(void **state)
{
	struct ut_stack *s = up(state);
	int fd[3] = {-1, -1, -1};
	void *arg[2] = {s, fd};
	int before;

	/* What stays: the thread's record, chunks of the table, grown lists. */
	assert_int_equal(open_some(fd), 0);
	undo(arg);
	before = count_open();
	assert_true(ut_fail_all(attempt, undo, arg) >= 4);
	undo(arg);
	assert_int_equal(count_open(), before);
}

static void
every_descriptor_may_fail(void **state)
{
	struct ut_stack *s = up(state);
	struct rlimit limit, low;
	int fd[3] = {-1, -1, -1};
	int before = count_open();
	int tries = 0;

	(void)s;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	low.rlim_cur = (rlim_t)dup(0);
	close((int)low.rlim_cur);
	for (;; low.rlim_cur++) {
		int ret;

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		ret = open_some(fd);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
		if (ret == 0)
			break;
		assert_int_equal(ret, -EMFILE);
		tries++;
		for (int i = 0; i < 3; i++)
			fd[i] = -1;
		/* The eventfds of closed sockets go after a grace period. */
		ut_stack_poll(s);
		ut_stack_pass(s, 60 * WEIR_NS_PER_MS, 60 * WEIR_NS_PER_MS);
		assert_int_equal(count_open(), before);
	}
	close_some(fd);
	/* Socket: eventfd and number; dup; epoll: number, own number, kick. */
	assert_true(tries >= 6);
}

static bool
readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void
the_number_signals_when_asked_to(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	char buf[4];
	int fd, two;

	up(state);
	fd = bound(LO, PORT);
	two = weir_dup(fd);
	assert_true(readable(fd)); /* nobody has asked: always */
	works(set(fd, SOL_WEIR, WEIR_SO_EVENTFD, 1));
	assert_false(readable(fd) || readable(two));
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	assert_true(readable(fd) && readable(two));
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 1);
	fails(weir_bsd_recv(fd, buf, sizeof(buf), 0), EAGAIN);
	assert_false(readable(fd) || readable(two));
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	works(set(fd, SOL_WEIR, WEIR_SO_EVENTFD, 0));
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 1);
	fails(weir_bsd_recv(fd, buf, sizeof(buf), 0), EAGAIN);
	assert_true(readable(fd));
	/* The native call asks, too; its number is another one. */
	assert_true(weir_socket_eventfd(weir_bsd_handle(fd)) != fd);
	assert_false(readable(fd) || readable(weir_socket_eventfd(weir_bsd_handle(fd))));
}

/* ---- names ---- */

static void
names_are_checked_and_cut(void **state)
{
	struct sockaddr_in a = name(LO, PORT), b;
	struct sockaddr_in6 six = {.sin6_family = AF_INET6};
	struct sockaddr_in unspec = {.sin_family = AF_UNSPEC};
	socklen_t len = sizeof(b);
	int fd;

	up(state);
	fd = udp();
	works(weir_getsockname(fd, (struct sockaddr *)&b, &len));
	assert_int_equal(len, sizeof(b));
	assert_int_equal(b.sin_family, AF_INET);
	assert_int_equal(b.sin_port, 0);
	assert_int_equal(b.sin_addr.s_addr, 0);
	fails(weir_getpeername(fd, (struct sockaddr *)&b, &len), ENOTCONN);
	fails(weir_bind(fd, (struct sockaddr *)&a, sizeof(a) - 1), EINVAL);
	fails(weir_bind(fd, (struct sockaddr *)&a, 200), EINVAL);
	fails(weir_bind(fd, NULL, sizeof(a)), EFAULT);
	fails(weir_bind(fd, ADDR(six)), EAFNOSUPPORT);
	unspec.sin_addr.s_addr = htonl(LO);
	fails(weir_bind(fd, ADDR(unspec)), EAFNOSUPPORT);
	b = name(0x08080808, PORT);
	fails(weir_bind(fd, ADDR(b)), EADDRNOTAVAIL);
	works(weir_bind(fd, ADDR(a)));
	fails(weir_bind(fd, ADDR(a)), EINVAL);
	/* A short buffer gets the beginning, and the whole length. */
	memset(&b, 0xee, sizeof(b));
	len = 4;
	works(weir_getsockname(fd, (struct sockaddr *)&b, &len));
	assert_int_equal(len, sizeof(b));
	assert_int_equal(b.sin_port, a.sin_port);
	assert_int_equal(b.sin_addr.s_addr, 0xeeeeeeee);
	len = (socklen_t)-1;
	fails(weir_getsockname(fd, (struct sockaddr *)&b, &len), EINVAL);
	fails(weir_getsockname(fd, (struct sockaddr *)&b, NULL), EFAULT);
	/* connect */
	fails(weir_connect(fd, (struct sockaddr *)&a, 1), EINVAL);
	fails(weir_connect(fd, (struct sockaddr *)&a, sizeof(a) - 1), EINVAL);
	fails(weir_connect(fd, ADDR(six)), EAFNOSUPPORT);
	works(weir_connect(fd, (struct sockaddr *)&unspec, sizeof(sa_family_t)));
	b = name(LO, 6000);
	works(weir_connect(fd, ADDR(b)));
	len = sizeof(b);
	works(weir_getpeername(fd, (struct sockaddr *)&b, &len));
	assert_int_equal(b.sin_port, htons(6000));
	works(weir_connect(fd, ADDR(unspec)));
	fails(weir_getpeername(fd, (struct sockaddr *)&b, &len), ENOTCONN);
	fails(weir_listen(fd, 5), EOPNOTSUPP);
	fails(weir_accept(fd, NULL, NULL), EOPNOTSUPP);
	fails(weir_accept4(fd, NULL, NULL, 77), EINVAL);
	fails(weir_shutdown(fd, 3), EINVAL);
	fails(weir_shutdown(fd, SHUT_RD), ENOTCONN);
	/* AF_UNSPEC with the wildcard is an old way to say it. */
	fd = udp();
	unspec = (struct sockaddr_in){.sin_family = AF_UNSPEC, .sin_port = htons(7777)};
	works(weir_bind(fd, ADDR(unspec)));
	assert_int_equal(port_of(fd), 7777);
}

/* ---- send and receive ---- */

static void
datagrams_go_round(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[16];
	int rx, tx, v;

	up(state);
	rx = bound(LO, PORT);
	tx = bound(LO, PORT + 1);
	fails(weir_recvfrom(rx, buf, sizeof(buf), 0, NULL, NULL), EAGAIN);
	gives(weir_sendto(tx, "hello", 5, 0, ADDR(a)), 5);
	works(weir_ioctl(rx, FIONREAD, &v));
	assert_int_equal(v, 5);
	works(weir_ioctl(rx, SIOCOUTQ, &v));
	assert_int_equal(v, 0);
	fails(weir_ioctl(rx, FIONREAD, NULL), EFAULT);
	fails(weir_ioctl(rx, TCGETS, buf), ENOTTY);
	gives(weir_recvfrom(rx, buf, sizeof(buf), MSG_PEEK, (struct sockaddr *)&from, &len), 5);
	assert_int_equal(from.sin_port, htons(PORT + 1));
	assert_int_equal(from.sin_addr.s_addr, htonl(LO));
	assert_int_equal(len, sizeof(from));
	/* Cut, and told how long it was. */
	gives(weir_recvfrom(rx, buf, 2, MSG_PEEK | MSG_TRUNC, NULL, NULL), 5);
	memset(&from, 0xee, sizeof(from));
	len = 2;
	gives(weir_recvfrom(rx, buf, 2, 0, (struct sockaddr *)&from, &len), 2);
	assert_int_equal(len, sizeof(from));
	assert_int_equal(from.sin_family, AF_INET);
	assert_int_equal(from.sin_port, 0xeeee);
	fails(weir_recvfrom(rx, buf, sizeof(buf), 0, NULL, NULL), EAGAIN);
	/* Nothing is a datagram too. */
	gives(weir_sendto(tx, NULL, 0, 0, ADDR(a)), 0);
	gives(weir_bsd_recv(rx, buf, sizeof(buf), 0), 0);
	fails(weir_bsd_recv(rx, buf, sizeof(buf), 0), EAGAIN);
	/* read() of nothing takes nothing; write() of nothing sends. */
	works(weir_connect(tx, ADDR(a)));
	gives(weir_write(tx, "", 0), 0);
	gives(weir_write(tx, "ab", 2), 2);
	gives(weir_read(rx, buf, 0), 0);
	gives(weir_read(rx, buf, 5), 0);
	gives(weir_read(rx, buf, 5), 2);
	/* Bad arguments. */
	fails(weir_bsd_recv(rx, NULL, 1, 0), EFAULT);
	fails(weir_recvfrom(rx, buf, 1, 0, (struct sockaddr *)&from, NULL), EFAULT);
	len = (socklen_t)-1;
	gives(weir_write(tx, "ab", 2), 2);
	fails(weir_recvfrom(rx, buf, 1, 0, (struct sockaddr *)&from, &len), EINVAL);
	fails(weir_bsd_recv(rx, buf, 1, 0), EAGAIN); /* gone */
	fails(weir_bsd_send(tx, NULL, 1, 0), EFAULT);
}

static void
sends_are_refused_as_linux_does(void **state)
{
	static char big[70000];
	struct sockaddr_in a = name(LO, PORT);
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = 1};
	struct sockaddr_in unspec = {
		.sin_family = AF_UNSPEC, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(LO)};
	char buf[4];
	int fd, rx;

	up(state);
	fd = udp();
	rx = bound(LO, PORT);
	fails(weir_bsd_send(fd, "x", 1, 0), EDESTADDRREQ);
	fails(weir_sendto(fd, "x", 1, MSG_OOB, ADDR(a)), EOPNOTSUPP);
	fails(weir_sendto(fd, big, 65536, 0, ADDR(a)), EMSGSIZE);
	fails(weir_sendto(fd, big, 65508, 0, ADDR(a)), EMSGSIZE);
	fails(weir_sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a) - 1), EINVAL);
	fails(weir_sendto(fd, "x", 1, 0, (struct sockaddr *)&a, 0), EINVAL);
	fails(weir_sendto(fd, "x", 1, 0, ADDR(six)), EAFNOSUPPORT);
	a.sin_port = 0;
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), EINVAL);
	a = name(0x0a0000ff, PORT);
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), EACCES);
	a = name(0xffffffff, PORT); /* the way first: there is none */
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), ENETUNREACH);
	a = name(0x08080808, PORT);
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), ENETUNREACH);
	gives(weir_sendto(fd, "x", 1, 0, ADDR(unspec)), 1);
	gives(weir_bsd_recv(rx, buf, sizeof(buf), 0), 1);
	a = name(LO, PORT);
	works(weir_connect(fd, ADDR(a)));
	works(weir_shutdown(fd, SHUT_WR));
	fails(weir_bsd_send(fd, "x", 1, 0), EPIPE);
	fails(weir_write(fd, "x", 1), EPIPE);
}

static void
pending_errors_come_once(void **state)
{
	struct sockaddr_in a = name(LO, 9); /* nobody there */
	char buf[4];
	int fd;

	up(state);
	fd = connected(LO, 9);
	gives(weir_bsd_send(fd, "x", 1, 0), 1);
	fails(weir_bsd_send(fd, "x", 1, 0), ECONNREFUSED);
	gives(weir_bsd_send(fd, "x", 1, 0), 1);
	fails(weir_bsd_recv(fd, buf, sizeof(buf), 0), ECONNREFUSED);
	fails(weir_bsd_recv(fd, buf, sizeof(buf), 0), EAGAIN);
	gives(weir_bsd_send(fd, "x", 1, 0), 1);
	assert_int_equal(get(fd, SOL_SOCKET, SO_ERROR), ECONNREFUSED);
	assert_int_equal(get(fd, SOL_SOCKET, SO_ERROR), 0);
	/* Not connected: nobody is told. */
	fd = udp();
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
}

static void
shut_down_reading_gives_nothing(void **state)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	char buf[8];
	int fd;

	up(state);
	fd = bound(LO, PORT);
	works(weir_connect(fd,
			   (struct sockaddr *)&(struct sockaddr_in){.sin_family = AF_INET,
								    .sin_port = htons(PORT),
								    .sin_addr.s_addr = htonl(LO)},
			   sizeof(struct sockaddr_in)));
	gives(weir_bsd_send(fd, "ab", 2, 0), 2);
	works(weir_shutdown(fd, SHUT_RD));
	gives(weir_bsd_send(fd, "cde", 3, 0), 3); /* still delivered */
	works(weir_fcntl(fd, F_SETFL, 0));
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 2);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 3);
	gives(weir_recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len), 0);
	assert_int_equal(len, 0);
	fails(weir_bsd_recv(fd, buf, sizeof(buf), MSG_DONTWAIT), EAGAIN);
}

/* ---- messages ---- */

static struct cmsghdr *
find(struct msghdr *msg, int level, int type)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == level && c->cmsg_type == type)
			return c;
	return NULL;
}

static void
control_messages_say_what_was_asked_for(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	_Alignas(struct cmsghdr) char control[512];
	struct sockaddr_in from, dst;
	struct in_pktinfo info;
	char one[2], two[8];
	struct iovec iov[2] = {{one, sizeof(one)}, {two, sizeof(two)}};
	struct msghdr msg = {.msg_name = &from,
			     .msg_namelen = sizeof(from),
			     .msg_iov = iov,
			     .msg_iovlen = 2,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	int fd, v;

	up(state);
	fd = bound(0, PORT);
	works(set(fd, IPPROTO_IP, IP_PKTINFO, 1));
	works(set(fd, IPPROTO_IP, IP_RECVTTL, 1));
	works(set(fd, IPPROTO_IP, IP_RECVTOS, 1));
	works(set(fd, IPPROTO_IP, IP_RECVORIGDSTADDR, 1));
	works(set(fd, IPPROTO_IP, IP_TTL, 77));
	works(set(fd, IPPROTO_IP, IP_TOS, 0xb8));
	works(set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1));
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	gives(weir_recvmsg(fd, &msg, 0), 5);
	assert_memory_equal(one, "he", 2);
	assert_memory_equal(two, "llo", 3);
	assert_int_equal(msg.msg_flags, 0);
	assert_int_equal(msg.msg_namelen, sizeof(from));
	assert_int_equal(from.sin_port, htons(PORT));
	c = find(&msg, IPPROTO_IP, IP_PKTINFO);
	assert_non_null(c);
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	assert_int_equal(info.ipi_addr.s_addr, htonl(LO));
	assert_int_equal(info.ipi_spec_dst.s_addr, htonl(LO));
	assert_int_equal(info.ipi_ifindex, WEIR_PORT_LOOPBACK + 1);
	c = find(&msg, IPPROTO_IP, IP_TTL);
	assert_non_null(c);
	assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(v)));
	memcpy(&v, CMSG_DATA(c), sizeof(v));
	assert_int_equal(v, 77);
	c = find(&msg, IPPROTO_IP, IP_TOS);
	assert_non_null(c);
	assert_int_equal(c->cmsg_len, CMSG_LEN(1));
	assert_int_equal(*CMSG_DATA(c), 0xb8);
	c = find(&msg, IPPROTO_IP, IP_ORIGDSTADDR);
	assert_non_null(c);
	memcpy(&dst, CMSG_DATA(c), sizeof(dst));
	assert_int_equal(dst.sin_addr.s_addr, htonl(LO));
	assert_int_equal(dst.sin_port, htons(PORT));
	assert_non_null(find(&msg, SOL_SOCKET, SO_TIMESTAMPNS));
	/* The other kind of time stamp takes over. */
	works(set(fd, SOL_SOCKET, SO_TIMESTAMP, 1));
	assert_int_equal(get(fd, SOL_SOCKET, SO_TIMESTAMPNS), 0);
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	msg.msg_controllen = sizeof(control);
	gives(weir_recvmsg(fd, &msg, MSG_CMSG_CLOEXEC), 5);
	assert_int_equal(msg.msg_flags, MSG_CMSG_CLOEXEC);
	assert_null(find(&msg, SOL_SOCKET, SO_TIMESTAMPNS));
	assert_non_null(find(&msg, SOL_SOCKET, SO_TIMESTAMP));
	/* Too little room for it: said so, the first part is there. */
	works(set(fd, SOL_SOCKET, SO_TIMESTAMP, 0));
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	msg.msg_controllen = CMSG_LEN(4);
	iov[1].iov_len = 1;
	gives(weir_recvmsg(fd, &msg, 0), 3);
	assert_int_equal(msg.msg_flags, MSG_CTRUNC | MSG_TRUNC);
	assert_int_equal(((struct cmsghdr *)control)->cmsg_len, CMSG_LEN(4));
	assert_int_equal(msg.msg_controllen, CMSG_LEN(4));
	works(set(fd, IPPROTO_IP, IP_RECVTTL, 0));
	works(set(fd, IPPROTO_IP, IP_RECVTOS, 0));
	works(set(fd, IPPROTO_IP, IP_RECVORIGDSTADDR, 0));
	gives(weir_sendto(fd, "hel", 3, 0, ADDR(a)), 3);
	gives(weir_recvmsg(fd, &msg, 0), 3);
	assert_int_equal(msg.msg_flags, MSG_CTRUNC); /* the only one was cut */
	/* None at all. */
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	msg.msg_control = NULL;
	msg.msg_controllen = 100;
	gives(weir_recvmsg(fd, &msg, MSG_TRUNC), 5);
	assert_int_equal(msg.msg_controllen, 0);
	assert_int_equal(msg.msg_flags, MSG_CTRUNC | MSG_TRUNC);
	/* Nothing is touched when there is nothing. */
	msg.msg_controllen = 100;
	msg.msg_flags = 4711;
	fails(weir_recvmsg(fd, &msg, 0), EAGAIN);
	assert_int_equal(msg.msg_flags, 4711);
	assert_int_equal(msg.msg_controllen, 100);
	msg.msg_iovlen = 1025;
	fails(weir_recvmsg(fd, &msg, 0), EMSGSIZE);
	fails(weir_recvmsg(fd, NULL, 0), EFAULT);
	fails(weir_readv(fd, iov, 1025), EINVAL);
	fails(weir_readv(fd, iov, -1), EINVAL);
}

static void
control_messages_are_obeyed(void **state)
{
	struct ut_stack *s = up(state);
	struct sockaddr_in to = name(UT_PEER_IP, UT_PEER_PORT);
	_Alignas(struct cmsghdr) char control[128];
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(UT_OUR_IP + 256)};
	struct iovec iov = {(void *)(uintptr_t) "hello", 5};
	struct msghdr msg = {.msg_name = &to,
			     .msg_namelen = sizeof(to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control};
	static struct ut_frame f;
	const int fd = udp();
	struct cmsghdr *c = (struct cmsghdr *)control;
	int v;

	ut_stack_peer(s);
	/* TTL and TOS for this one datagram, in one buffer. */
	memset(control, 0, sizeof(control));
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_TTL;
	c->cmsg_len = CMSG_LEN(sizeof(v));
	v = 9;
	memcpy(CMSG_DATA(c), &v, sizeof(v));
	c = (struct cmsghdr *)(control + CMSG_SPACE(sizeof(v)));
	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_TOS;
	c->cmsg_len = CMSG_LEN(1);
	*CMSG_DATA(c) = 0x20;
	msg.msg_controllen = CMSG_SPACE(sizeof(v)) + CMSG_LEN(1);
	gives(weir_sendmsg(fd, &msg, 0), 5);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.b[14 + 1], 0x20);
	assert_int_equal(f.b[14 + 8], 9);
	/* An address of ours that is not the route's. */
	c = (struct cmsghdr *)control;
	c->cmsg_type = IP_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	msg.msg_controllen = CMSG_SPACE(sizeof(info));
	gives(weir_sendmsg(fd, &msg, 0), 5);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(ut_get32(f.b + 26), UT_OUR_IP + 256);
	assert_int_equal(f.b[14 + 8], 64);
	info.ipi_ifindex = 12;
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	fails(weir_sendmsg(fd, &msg, 0), ENODEV);
	info.ipi_ifindex = -1;
	memcpy(CMSG_DATA(c), &info, sizeof(info));
	fails(weir_sendmsg(fd, &msg, 0), ENODEV);
}

static void
bad_control_messages(void **state)
{
	static const struct {
		const char *what;
		int level, type;
		size_t len; /* of the data */
		int value;
		int err; /* 0: goes */
	} rows[] = {
		{"TTL 0", IPPROTO_IP, IP_TTL, 4, 0, EINVAL},
		{"TTL 256", IPPROTO_IP, IP_TTL, 4, 256, EINVAL},
		{"TTL 255", IPPROTO_IP, IP_TTL, 4, 255, 0},
		{"TTL of one byte", IPPROTO_IP, IP_TTL, 1, 9, EINVAL},
		{"TOS of one byte", IPPROTO_IP, IP_TOS, 1, 9, 0},
		{"TOS of two bytes", IPPROTO_IP, IP_TOS, 2, 9, EINVAL},
		{"TOS int", IPPROTO_IP, IP_TOS, 4, 9, 0},
		{"TOS 256", IPPROTO_IP, IP_TOS, 4, 256, EINVAL},
		{"short packet info", IPPROTO_IP, IP_PKTINFO, 4, 0, EINVAL},
		{"unknown of IP", IPPROTO_IP, 200, 4, 0, EINVAL},
		{"unknown of the socket", SOL_SOCKET, 200, 4, 0, EINVAL},
		{"mark", SOL_SOCKET, SO_MARK, 4, 1, 0},
		{"short mark", SOL_SOCKET, SO_MARK, 1, 1, EINVAL},
		{"rights", SOL_SOCKET, SCM_RIGHTS, 4, 1, 0},
		{"unknown level", 4711, 1, 4, 0, 0},
		{"segment", IPPROTO_UDP, UDP_SEGMENT, 2, 1000, 0},
		{"segment int", IPPROTO_UDP, UDP_SEGMENT, 4, 1000, EINVAL},
		{"unknown of UDP", IPPROTO_UDP, 1, 2, 0, EINVAL},
	};
	struct sockaddr_in to = name(LO, PORT);
	_Alignas(struct cmsghdr) char control[64];
	struct cmsghdr *c = (struct cmsghdr *)control;
	struct iovec iov = {(void *)(uintptr_t) "hello", 5};
	struct msghdr msg = {.msg_name = &to,
			     .msg_namelen = sizeof(to),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control};
	int fd;

	up(state);
	fd = udp();
	bound(LO, PORT);
	for (size_t i = 0; i < UT_N(rows); i++) {
		ssize_t ret;

		memset(control, 0, sizeof(control));
		c->cmsg_level = rows[i].level;
		c->cmsg_type = rows[i].type;
		c->cmsg_len = CMSG_LEN(rows[i].len);
		memcpy(CMSG_DATA(c), &rows[i].value, RTE_MIN(rows[i].len, (size_t)4));
		msg.msg_controllen = CMSG_LEN(rows[i].len);
		errno = 0;
		ret = weir_sendmsg(fd, &msg, 0);
		if (rows[i].err == 0)
			ut_check(ret == 5, "%s: %zd, errno %d", rows[i].what, ret, errno);
		else
			ut_check(ret == -1 && errno == rows[i].err, "%s: %zd, errno %d",
				 rows[i].what, ret, errno);
	}
	/* A header that says more or less than there is. */
	c->cmsg_level = 4711;
	c->cmsg_len = 100;
	msg.msg_controllen = 32;
	fails(weir_sendmsg(fd, &msg, 0), EINVAL);
	c->cmsg_len = 3;
	fails(weir_sendmsg(fd, &msg, 0), EINVAL);
	msg.msg_controllen = 4; /* not even a header: as if there were none */
	gives(weir_sendmsg(fd, &msg, 0), 5);
	msg.msg_control = NULL;
	fails(weir_sendmsg(fd, &msg, 0), EFAULT);
	msg.msg_controllen = 0;
	msg.msg_namelen = 0; /* as if there were no name */
	fails(weir_sendmsg(fd, &msg, 0), EDESTADDRREQ);
	msg.msg_iovlen = 1025;
	fails(weir_sendmsg(fd, &msg, 0), EMSGSIZE);
	fails(weir_sendmsg(fd, NULL, 0), EFAULT);
}

#define MANY 40

static void
many_messages_at_once(void **state)
{
	struct sockaddr_in to = name(LO, PORT), from[MANY];
	struct mmsghdr tx[MANY], rx[MANY];
	struct iovec tiov[MANY][2], riov[MANY][2];
	char text[MANY][8], a[MANY][3], b[MANY][8];
	struct timespec bad = {0, 1000000000}, brief = {0, 1000};
	int fd, out;

	up(state);
	fd = bound(LO, PORT);
	out = bound(LO, PORT + 1);
	for (int i = 0; i < MANY; i++) {
		snprintf(text[i], sizeof(text[i]), "msg%03d", i);
		tiov[i][0] = (struct iovec){text[i], 3};
		tiov[i][1] = (struct iovec){text[i] + 3, 3};
		tx[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &to,
						     .msg_namelen = sizeof(to),
						     .msg_iov = tiov[i],
						     .msg_iovlen = 2}};
		riov[i][0] = (struct iovec){a[i], sizeof(a[i])};
		riov[i][1] = (struct iovec){b[i], sizeof(b[i])};
		rx[i] = (struct mmsghdr){.msg_hdr = {.msg_name = &from[i],
						     .msg_namelen = sizeof(from[i]),
						     .msg_iov = riov[i],
						     .msg_iovlen = 2}};
	}
	fails(weir_recvmmsg(fd, rx, MANY, 0, NULL), EAGAIN);
	gives(weir_sendmmsg(out, tx, MANY, 0), MANY);
	gives(weir_recvmmsg(fd, rx, MANY, MSG_PEEK, NULL), MANY);
	assert_memory_equal(b[MANY - 1], "000", 3); /* each peek sees the first */
	gives(weir_recvmmsg(fd, rx, MANY, 0, &brief), MANY);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(tx[i].msg_len, 6);
		assert_int_equal(rx[i].msg_len, 6);
		assert_memory_equal(a[i], "msg", 3);
		assert_memory_equal(b[i], text[i] + 3, 3);
		assert_int_equal(from[i].sin_port, htons(PORT + 1));
		assert_int_equal(rx[i].msg_hdr.msg_namelen, sizeof(from[i]));
	}
	fails(weir_recvmmsg(fd, rx, 1, 0, &bad), EINVAL);
	fails(weir_recvmmsg(fd, NULL, 1, 0, NULL), EFAULT);
	gives(weir_recvmmsg(fd, NULL, 0, 0, NULL), 0);
	/* Fewer than asked for; a short buffer. */
	gives(weir_sendmmsg(out, tx, 5, 0), 5);
	riov[2][1].iov_len = 1;
	gives(weir_recvmmsg(fd, rx, MANY, MSG_TRUNC, NULL), 5);
	assert_int_equal(rx[2].msg_len, 6);
	assert_int_equal(rx[2].msg_hdr.msg_flags, MSG_TRUNC);
	assert_int_equal(rx[3].msg_hdr.msg_flags, 0);
	/* The first that is wrong ends a send; alone it is the error. */
	tx[3].msg_hdr.msg_namelen = 3;
	gives(weir_sendmmsg(out, tx, 5, 0), 3);
	fails(weir_sendmmsg(out, tx + 3, 2, 0), EINVAL);
	/* A receive that is wrong later: the error is for the next call. */
	riov[1][0].iov_base = NULL;
	gives(weir_recvmmsg(fd, rx, 3, 0, NULL), 1);
	fails(weir_recvmmsg(fd, rx, 3, 0, NULL), EFAULT);
	riov[1][0].iov_base = a[1];
	gives(weir_recvmmsg(fd, rx, 3, 0, NULL), 2);
	fails(weir_sendmmsg(out, NULL, 1, 0), EFAULT);
}

static void
corked_pieces_are_one_datagram(void **state)
{
	static char big[65507];
	const struct sockaddr_in a = name(LO, PORT), b = name(LO, PORT + 7);
	char buf[32];
	int fd, rx;

	up(state);
	rx = bound(LO, PORT);
	fd = udp();
	gives(weir_sendto(fd, "one", 3, MSG_MORE, ADDR(a)), 3);
	gives(weir_sendto(fd, "two", 3, MSG_MORE, ADDR(b)), 3); /* the name counts no more */
	fails(weir_bsd_recv(rx, buf, sizeof(buf), 0), EAGAIN);
	gives(weir_bsd_send(fd, "three", 5, 0), 5);
	gives(weir_bsd_recv(rx, buf, sizeof(buf), 0), 11);
	assert_memory_equal(buf, "onetwothree", 11);
	/* The option. */
	works(set(fd, IPPROTO_UDP, UDP_CORK, 1));
	assert_int_equal(get(fd, IPPROTO_UDP, UDP_CORK), 1);
	gives(weir_sendto(fd, "a", 1, 0, ADDR(a)), 1);
	gives(weir_sendto(fd, "b", 1, 0, ADDR(a)), 1);
	fails(weir_bsd_recv(rx, buf, sizeof(buf), 0), EAGAIN);
	works(set(fd, IPPROTO_UDP, UDP_CORK, 0));
	gives(weir_bsd_recv(rx, buf, sizeof(buf), 0), 2);
	works(set(fd, IPPROTO_UDP, UDP_CORK, 0)); /* nothing more to send */
	fails(weir_bsd_recv(rx, buf, sizeof(buf), 0), EAGAIN);
	/* Too much: all is lost, and the next one starts anew. */
	gives(weir_sendto(fd, big, 60000, MSG_MORE, ADDR(a)), 60000);
	fails(weir_sendto(fd, big, 6000, MSG_MORE, ADDR(a)), EMSGSIZE);
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	gives(weir_bsd_recv(rx, buf, sizeof(buf), 0), 1);
	/* Nowhere to. */
	fails(weir_bsd_send(fd, "x", 1, MSG_MORE), EDESTADDRREQ);
	fails(weir_bsd_send(fd, "x", 1, 0), EDESTADDRREQ);
	/* Closed with pieces held back. */
	gives(weir_sendto(fd, "x", 1, MSG_MORE, ADDR(a)), 1);
	works(weir_close(fd));
}

/* ---- error queue ---- */

static void
error_queue_is_read_by_recvmsg(void **state)
{
	const struct sockaddr_in a = name(LO, 9);
	_Alignas(struct cmsghdr) char control[256];
	struct sock_extended_err ee;
	struct sockaddr_in from, offender;
	char buf[32];
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr msg = {.msg_name = &from,
			     .msg_namelen = sizeof(from),
			     .msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	socklen_t len;
	int fd;

	up(state);
	fd = udp();
	fails(weir_recvmsg(fd, &msg, MSG_ERRQUEUE), EAGAIN);
	works(set(fd, IPPROTO_IP, IP_RECVERR, 1));
	assert_int_equal(get(fd, IPPROTO_IP, IP_RECVERR), 1);
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	gives(weir_recvmsg(fd, &msg, MSG_ERRQUEUE), 5);
	assert_memory_equal(buf, "hello", 5);
	assert_int_equal(msg.msg_flags, MSG_ERRQUEUE);
	assert_int_equal(from.sin_port, htons(9));
	assert_int_equal(from.sin_addr.s_addr, htonl(LO));
	c = find(&msg, IPPROTO_IP, IP_RECVERR);
	assert_non_null(c);
	assert_int_equal(c->cmsg_len, CMSG_LEN(sizeof(ee) + sizeof(offender)));
	memcpy(&ee, CMSG_DATA(c), sizeof(ee));
	memcpy(&offender, CMSG_DATA(c) + sizeof(ee), sizeof(offender));
	assert_int_equal(ee.ee_errno, ECONNREFUSED);
	assert_int_equal(ee.ee_origin, SO_EE_ORIGIN_ICMP);
	assert_int_equal(ee.ee_type, 3);
	assert_int_equal(ee.ee_code, 3);
	assert_int_equal(offender.sin_family, AF_INET);
	assert_int_equal(offender.sin_addr.s_addr, htonl(LO));
	/* Read: it pends no more. */
	assert_int_equal(get(fd, SOL_SOCKET, SO_ERROR), 0);
	fails(weir_recvmsg(fd, &msg, MSG_ERRQUEUE), EAGAIN);
	/* Not read: it pends for the next send, also of a socket that is not connected. */
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	fails(weir_sendto(fd, "hello", 5, 0, ADDR(a)), ECONNREFUSED);
	len = sizeof(from);
	gives(weir_recvfrom(fd, buf, 2, MSG_ERRQUEUE | MSG_TRUNC, (struct sockaddr *)&from, &len),
	      5);
	assert_int_equal(len, sizeof(from));
	/* Off: forgotten. */
	gives(weir_sendto(fd, "hello", 5, 0, ADDR(a)), 5);
	works(set(fd, IPPROTO_IP, IP_RECVERR, 0));
	fails(weir_recvmsg(fd, &msg, MSG_ERRQUEUE), EAGAIN);
}

/* ---- options ---- */

static void
integer_options_by_table(void **state)
{
	static const struct {
		const char *what;
		int level, opt;
		int def;
		int value, reads; /* set, then read */
		int err;          /* of the set */
	} rows[] = {
		{"type", SOL_SOCKET, SO_TYPE, SOCK_DGRAM, 1, SOCK_DGRAM, ENOPROTOOPT},
		{"protocol", SOL_SOCKET, SO_PROTOCOL, IPPROTO_UDP, 1, IPPROTO_UDP, ENOPROTOOPT},
		{"domain", SOL_SOCKET, SO_DOMAIN, AF_INET, 1, AF_INET, ENOPROTOOPT},
		{"accept", SOL_SOCKET, SO_ACCEPTCONN, 0, 1, 0, ENOPROTOOPT},
		{"error", SOL_SOCKET, SO_ERROR, 0, 1, 0, ENOPROTOOPT},
		{"rcvbuf 4096", SOL_SOCKET, SO_RCVBUF, 4194304, 4096, 8192, 0},
		{"rcvbuf 1", SOL_SOCKET, SO_RCVBUF, 4194304, 1, 2304, 0},
		{"rcvbuf -1", SOL_SOCKET, SO_RCVBUF, 4194304, -1, 1073741824, 0},
		{"rcvbuf huge", SOL_SOCKET, SO_RCVBUF, 4194304, INT32_MAX, 1073741824, 0},
		{"sndbuf", SOL_SOCKET, SO_SNDBUF, 212992, 100000, 200000, 0},
		{"sndbuf 0", SOL_SOCKET, SO_SNDBUF, 212992, 0, 4608, 0},
		{"reuseaddr", SOL_SOCKET, SO_REUSEADDR, 0, 5, 1, 0},
		{"reuseport", SOL_SOCKET, SO_REUSEPORT, 0, 1, 1, 0},
		{"broadcast", SOL_SOCKET, SO_BROADCAST, 0, 1, 1, 0},
		{"no check", SOL_SOCKET, SO_NO_CHECK, 0, 1, 1, 0},
		{"peek off", SOL_SOCKET, SO_PEEK_OFF, -1, 7, 7, 0},
		{"peek off -5", SOL_SOCKET, SO_PEEK_OFF, -1, -5, -5, 0},
		{"ovfl", SOL_SOCKET, SO_RXQ_OVFL, 0, 1, 1, 0},
		{"time", SOL_SOCKET, SO_TIMESTAMP, 0, 1, 1, 0},
		{"time ns", SOL_SOCKET, SO_TIMESTAMPNS, 0, 1, 1, 0},
		{"lowat", SOL_SOCKET, SO_RCVLOWAT, 1, 0, 1, 0},
		{"lowat -1", SOL_SOCKET, SO_RCVLOWAT, 1, -1, INT32_MAX, 0},
		{"sndlowat", SOL_SOCKET, SO_SNDLOWAT, 1, 5, 1, ENOPROTOOPT},
		{"priority", SOL_SOCKET, SO_PRIORITY, 0, 3, 3, 0},
		{"mark", SOL_SOCKET, SO_MARK, 0, 77, 77, 0},
		{"keepalive", SOL_SOCKET, SO_KEEPALIVE, 0, 1, 1, 0},
		{"debug", SOL_SOCKET, SO_DEBUG, 0, 9, 1, 0},
		{"oobinline", SOL_SOCKET, SO_OOBINLINE, 0, 1, 1, 0},
		{"dontroute", SOL_SOCKET, SO_DONTROUTE, 0, 1, 1, 0},
		{"check6", IPPROTO_UDP, UDP_NO_CHECK6_TX, 0, 1, 1, 0},
		{"check6 rx", IPPROTO_UDP, UDP_NO_CHECK6_RX, 0, 1, 1, 0},
		{"busy poll", SOL_SOCKET, SO_BUSY_POLL, 0, 50, 50, 0},
		{"busy poll -1", SOL_SOCKET, SO_BUSY_POLL, 0, -1, 0, EINVAL},
		{"err queue", SOL_SOCKET, SO_SELECT_ERR_QUEUE, 0, 1, 1, 0},
		{"incoming cpu", SOL_SOCKET, SO_INCOMING_CPU, -1, 0, 0, 0},
		{"ifindex", SOL_SOCKET, SO_BINDTOIFINDEX, 0, 2, 2, 0},
		{"ifindex 9", SOL_SOCKET, SO_BINDTOIFINDEX, 0, 9, 0, ENODEV},
		{"ifindex -1", SOL_SOCKET, SO_BINDTOIFINDEX, 0, -1, 0, EINVAL},
		{"ttl", IPPROTO_IP, IP_TTL, 64, 1, 1, 0},
		{"ttl 0", IPPROTO_IP, IP_TTL, 64, 0, 64, EINVAL},
		{"ttl 256", IPPROTO_IP, IP_TTL, 64, 256, 64, EINVAL},
		{"ttl -1", IPPROTO_IP, IP_TTL, 64, -1, 64, 0},
		{"ttl -2", IPPROTO_IP, IP_TTL, 64, -2, 64, EINVAL},
		{"tos", IPPROTO_IP, IP_TOS, 0, 255, 255, 0},
		{"tos 256", IPPROTO_IP, IP_TOS, 0, 256, 0, 0},
		{"pmtu", IPPROTO_IP, IP_MTU_DISCOVER, 1, 5, 5, 0},
		{"pmtu 6", IPPROTO_IP, IP_MTU_DISCOVER, 1, 6, 1, EINVAL},
		{"pmtu -1", IPPROTO_IP, IP_MTU_DISCOVER, 1, -1, 1, EINVAL},
		{"recverr", IPPROTO_IP, IP_RECVERR, 0, 1, 1, 0},
		{"freebind", IPPROTO_IP, IP_FREEBIND, 0, 1, 1, 0},
		{"pktinfo", IPPROTO_IP, IP_PKTINFO, 0, 1, 1, 0},
		{"recvttl", IPPROTO_IP, IP_RECVTTL, 0, 1, 1, 0},
		{"recvtos", IPPROTO_IP, IP_RECVTOS, 0, 1, 1, 0},
		{"origdst", IPPROTO_IP, IP_RECVORIGDSTADDR, 0, 1, 1, 0},
		{"no port", IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 0, 1, 1, 0},
		{"mcast ttl", IPPROTO_IP, IP_MULTICAST_TTL, 1, 0, 0, 0},
		{"mcast ttl 256", IPPROTO_IP, IP_MULTICAST_TTL, 1, 256, 1, EINVAL},
		{"mcast ttl -1", IPPROTO_IP, IP_MULTICAST_TTL, 1, -1, 1, 0},
		{"mcast loop", IPPROTO_IP, IP_MULTICAST_LOOP, 1, 0, 0, 0},
		{"mcast all", IPPROTO_IP, IP_MULTICAST_ALL, 1, 0, 0, 0},
		{"mcast all 2", IPPROTO_IP, IP_MULTICAST_ALL, 1, 2, 1, EINVAL},
		{"segment", IPPROTO_UDP, UDP_SEGMENT, 0, 1000, 1000, 0},
		{"segment 65536", IPPROTO_UDP, UDP_SEGMENT, 0, 65536, 0, EINVAL},
		{"segment -1", IPPROTO_UDP, UDP_SEGMENT, 0, -1, 0, EINVAL},
		{"gro", IPPROTO_UDP, UDP_GRO, 0, 1, 1, 0},
		{"readers", SOL_WEIR, WEIR_SO_READERS, 1, 0, 0, 0},
		{"readers 2", SOL_WEIR, WEIR_SO_READERS, 1, 2, 1, EINVAL},
		{"eventfd", SOL_WEIR, WEIR_SO_EVENTFD, 0, 1, 1, 0},
		{"stable", SOL_WEIR, WEIR_SO_STABLE, 0, 1, 1, 0},
	};

	up(state);
	for (size_t i = 0; i < UT_N(rows); i++) {
		const int fd = udp();
		int v = rows[i].value;
		int ret;

		v = get(fd, rows[i].level, rows[i].opt);
		ut_check(v == rows[i].def, "%s: default %d, not %d", rows[i].what, v, rows[i].def);
		errno = 0;
		ret = set(fd, rows[i].level, rows[i].opt, rows[i].value);
		ut_check(ret == (rows[i].err == 0 ? 0 : -1) && errno == rows[i].err,
			 "%s: set gave %d, errno %d, not %d", rows[i].what, ret, errno,
			 rows[i].err);
		v = get(fd, rows[i].level, rows[i].opt);
		ut_check(v == rows[i].reads, "%s: reads %d, not %d", rows[i].what, v,
			 rows[i].reads);
		works(weir_close(fd));
	}
}

static void
lengths_of_options(void **state)
{
	uint8_t byte = 9;
	int v = 0x01020304;
	socklen_t len;
	char name_buf[64];
	struct timeval tv = {1, 500000};
	struct linger l = {1, 30};
	uint64_t cookie, other;
	int fd;

	up(state);
	fd = udp();
	/* Too short: an integer of the socket and of UDP; one byte will do for IP. */
	fails(weir_setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &byte, 1), EINVAL);
	fails(weir_setsockopt(fd, IPPROTO_UDP, UDP_GRO, &byte, 1), EINVAL);
	fails(weir_setsockopt(fd, SOL_WEIR, WEIR_SO_READERS, &byte, 1), EINVAL);
	works(weir_setsockopt(fd, IPPROTO_IP, IP_TTL, &byte, 1));
	assert_int_equal(get(fd, IPPROTO_IP, IP_TTL), 9);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_TTL, NULL, 0), EINVAL);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_TTL, NULL, 4), EFAULT);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_TTL, &v, (socklen_t)-1), EINVAL);
	works(weir_setsockopt(fd, IPPROTO_IP, IP_TOS, NULL, 0)); /* no value is 0 */
	/* Reading into less. */
	len = 1;
	works(weir_getsockopt(fd, IPPROTO_IP, IP_TTL, &v, &len));
	assert_int_equal(len, 1);
	assert_int_equal(v, 0x01020309);
	len = 2;
	works(weir_getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, &len));
	assert_int_equal(len, 2);
	len = 0;
	works(weir_getsockopt(fd, SOL_SOCKET, SO_TYPE, NULL, &len));
	len = (socklen_t)-1;
	fails(weir_getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, &len), EINVAL);
	fails(weir_getsockopt(fd, SOL_SOCKET, SO_TYPE, &v, NULL), EFAULT);
	len = 4;
	fails(weir_getsockopt(fd, SOL_SOCKET, SO_TYPE, NULL, &len), EFAULT);
	/* Unknown. */
	fails(weir_getsockopt(fd, SOL_SOCKET, 4711, &v, &len), ENOPROTOOPT);
	fails(weir_setsockopt(fd, SOL_SOCKET, 4711, &v, len), ENOPROTOOPT);
	fails(weir_setsockopt(fd, IPPROTO_IP, 4711, &v, len), ENOPROTOOPT);
	fails(weir_setsockopt(fd, IPPROTO_UDP, 4711, &v, len), ENOPROTOOPT);
	fails(weir_getsockopt(fd, IPPROTO_UDP, 4711, &v, &len), ENOPROTOOPT);
	fails(weir_setsockopt(fd, IPPROTO_IPV6, 26, &v, len), ENOPROTOOPT);
	fails(weir_getsockopt(fd, IPPROTO_IPV6, 26, &v, &len), EOPNOTSUPP);
	fails(weir_setsockopt(fd, SOL_WEIR, 4711, &(int){1}, len), ENOPROTOOPT);
	fails(weir_getsockopt(fd, SOL_WEIR, 4711, &v, &len), ENOPROTOOPT);
	/* Forced: beyond the stack's limit. */
	assert_int_equal(set(fd, SOL_SOCKET, SO_RCVBUFFORCE, 1000000000), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 2000000000);
	assert_int_equal(set(fd, SOL_SOCKET, SO_RCVBUFFORCE, -1), 0);
	assert_int_equal(get(fd, SOL_SOCKET, SO_RCVBUF), 2304);
	/* Times. */
	works(weir_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	tv = (struct timeval){0, 0};
	len = sizeof(tv);
	works(weir_getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	assert_int_equal(tv.tv_sec, 1);
	assert_int_equal(tv.tv_usec, 500000);
	tv.tv_usec = 1000000;
	fails(weir_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)), EDOM);
	fails(weir_setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv) - 1), EINVAL);
	works(weir_setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
	l = (struct linger){0, 0};
	len = sizeof(l);
	works(weir_getsockopt(fd, SOL_SOCKET, SO_LINGER, &l, &len));
	assert_int_equal(l.l_linger, 30);
	/* The interface by name and number. */
	fails(weir_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "nosuch0", 7), ENODEV);
	works(weir_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "1", 1));
	assert_int_equal(get(fd, SOL_SOCKET, SO_BINDTOIFINDEX), 2);
	len = sizeof(name_buf);
	works(weir_getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name_buf, &len));
	assert_int_equal(len, strlen(name_buf) + 1);
	assert_string_equal(name_buf, ((struct ut_stack *)*state)->device[1]);
	works(weir_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
	works(weir_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name_buf, len));
	len = 8;
	fails(weir_getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name_buf, &len), EINVAL);
	works(weir_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0));
	works(weir_getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name_buf, &len));
	assert_int_equal(len, 0);
	/* Cookies are unique. */
	len = sizeof(cookie);
	works(weir_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len));
	works(weir_getsockopt(udp(), SOL_SOCKET, SO_COOKIE, &other, &len));
	assert_int_not_equal(cookie, other);
	len = 4;
	fails(weir_getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len), EINVAL);
}

static void
mtu_of_the_path(void **state)
{
	struct ut_stack *s = up(state);
	socklen_t len = sizeof(int);
	int v;

	ut_stack_peer(s);
	fails(weir_getsockopt(udp(), IPPROTO_IP, IP_MTU, &v, &len), ENOTCONN);
	assert_int_equal(get(connected(LO, PORT), IPPROTO_IP, IP_MTU), 65535);
	assert_int_equal(get(connected(UT_PEER_IP, PORT), IPPROTO_IP, IP_MTU), 1500);
}

static void
groups_are_joined_and_left(void **state)
{
	struct ip_mreqn m = {.imr_multiaddr.s_addr = htonl(0xe0010203)};
	struct ip_mreq_source ms = {.imr_multiaddr.s_addr = htonl(0xe0010203),
				    .imr_interface.s_addr = htonl(UT_OUR_IP),
				    .imr_sourceaddr.s_addr = htonl(UT_PEER_IP)};
	struct group_req g = {.gr_interface = 1};
	struct sockaddr_in in = name(0xe0010204, 0);
	struct in_addr a = {htonl(UT_OUR_IP + 256)};
	socklen_t len = sizeof(a);
	int fd;

	up(state);
	fd = udp();
	m.imr_address.s_addr = htonl(UT_OUR_IP);
	works(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(struct ip_mreq)));
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), EADDRINUSE);
	m.imr_ifindex = 2;
	works(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)));
	m.imr_ifindex = 9;
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), ENODEV);
	m.imr_ifindex = 0;
	m.imr_address.s_addr = htonl(0x01020304);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), ENODEV);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, 4), EINVAL);
	m.imr_multiaddr.s_addr = htonl(0x01020304);
	m.imr_address.s_addr = 0;
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &m, sizeof(m)), EINVAL);
	m.imr_multiaddr.s_addr = htonl(0xe0010203);
	m.imr_ifindex = 1;
	works(weir_setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &m, sizeof(m)));
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &m, sizeof(m)), EADDRNOTAVAIL);
	works(weir_setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &ms, sizeof(ms)));
	works(weir_setsockopt(fd, IPPROTO_IP, IP_DROP_SOURCE_MEMBERSHIP, &ms, sizeof(ms)));
	memcpy(&g.gr_group, &in, sizeof(in));
	works(weir_setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &g, sizeof(g)));
	fails(weir_setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &g, 8), EINVAL);
	works(weir_setsockopt(fd, IPPROTO_IP, MCAST_LEAVE_GROUP, &g, sizeof(g)));
	/* The interface that groups are sent by. */
	works(weir_setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, sizeof(a)));
	a.s_addr = 0;
	works(weir_getsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, &len));
	assert_int_equal(a.s_addr, htonl(UT_OUR_IP + 256));
	a.s_addr = htonl(0x01020304);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, sizeof(a)), EADDRNOTAVAIL);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, 2), EINVAL);
	works(set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, 1));
	a.s_addr = htonl(UT_OUR_IP + 256);
	fails(weir_setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &a, sizeof(a)), EINVAL);
}

static void
drops_are_told(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	_Alignas(struct cmsghdr) char control[64];
	char buf[8];
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};
	uint32_t drops;
	int fd, taken = 0;

	up(state);
	fd = bound(LO, PORT);
	works(set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1));
	works(set(fd, SOL_SOCKET, SO_RCVBUF, 1));
	for (int i = 0; i < 20; i++)
		gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	for (;;) {
		msg.msg_controllen = sizeof(control);
		if (weir_recvmsg(fd, &msg, 0) < 0)
			break;
		assert_int_equal(msg.msg_controllen, 0); /* nothing was lost before these */
		taken++;
	}
	assert_in_range(taken, 1, 10);
	gives(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	msg.msg_controllen = sizeof(control);
	gives(weir_recvmsg(fd, &msg, 0), 1);
	assert_non_null(find(&msg, SOL_SOCKET, SO_RXQ_OVFL));
	memcpy(&drops, CMSG_DATA(find(&msg, SOL_SOCKET, SO_RXQ_OVFL)), sizeof(drops));
	assert_int_equal(drops, 20 - taken);
}

static void
trains_tell_their_segment(void **state)
{
	const struct sockaddr_in a = name(LO, PORT);
	_Alignas(struct cmsghdr) char control[64];
	static char out[2500], buf[4000];
	struct iovec iov = {buf, sizeof(buf)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct mmsghdr many = {0};
	int fd, v;

	up(state);
	fd = bound(LO, PORT);
	works(set(fd, IPPROTO_UDP, UDP_GRO, 1));
	works(set(fd, IPPROTO_UDP, UDP_SEGMENT, 1000));
	for (int way = 0; way < 2; way++) {
		gives(weir_sendto(fd, out, sizeof(out), 0, ADDR(a)), sizeof(out));
		msg.msg_controllen = sizeof(control);
		if (way == 0) {
			gives(weir_recvmsg(fd, &msg, 0), sizeof(out));
		} else {
			many.msg_hdr = msg;
			gives(weir_recvmmsg(fd, &many, 1, 0, NULL), 1);
			assert_int_equal(many.msg_len, sizeof(out));
			msg = many.msg_hdr;
		}
		assert_non_null(find(&msg, IPPROTO_UDP, UDP_GRO));
		memcpy(&v, CMSG_DATA(find(&msg, IPPROTO_UDP, UDP_GRO)), sizeof(v));
		assert_int_equal(v, 1000);
	}
	/* Off again: three datagrams. */
	works(set(fd, IPPROTO_UDP, UDP_GRO, 0));
	gives(weir_sendto(fd, out, sizeof(out), 0, ADDR(a)), sizeof(out));
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 1000);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 1000);
	gives(weir_bsd_recv(fd, buf, sizeof(buf), 0), 500);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		BSD_TEST(sockets_have_types_and_flags),
		BSD_TEST(numbers_that_are_not_ours),
		BSD_TEST(dup_shares_the_socket),
		BSD_TEST(a_number_closed_behind_our_back_is_found_again),
		BSD_TEST(stop_closes_what_is_left),
		BSD_TEST(a_forked_child_has_numbers_only),
		BSD_TEST(every_allocation_may_fail),
		BSD_TEST(every_descriptor_may_fail),
		BSD_TEST(the_number_signals_when_asked_to),
		BSD_TEST(names_are_checked_and_cut),
		BSD_TEST(datagrams_go_round),
		BSD_TEST(sends_are_refused_as_linux_does),
		BSD_TEST(pending_errors_come_once),
		BSD_TEST(shut_down_reading_gives_nothing),
		BSD_TEST(control_messages_say_what_was_asked_for),
		BSD_TEST(control_messages_are_obeyed),
		BSD_TEST(bad_control_messages),
		BSD_TEST(many_messages_at_once),
		BSD_TEST(corked_pieces_are_one_datagram),
		BSD_TEST(error_queue_is_read_by_recvmsg),
		BSD_TEST(integer_options_by_table),
		BSD_TEST(lengths_of_options),
		BSD_TEST(mtu_of_the_path),
		BSD_TEST(groups_are_joined_and_left),
		BSD_TEST(drops_are_told),
		BSD_TEST(trains_tell_their_segment),
	};

	return UT_RUN(cases, NULL, NULL);
}
