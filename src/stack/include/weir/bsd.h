/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets with the calls of POSIX and Linux: the same names behind weir_, the same arguments, -1 and
 * errno. A thin layer over <weir/socket.h>; docs/bsd.md says which options and flags there are.
 *
 *	weir_bsd_start(stack);
 *	fd = weir_socket(AF_INET, SOCK_DGRAM, 0);
 *	weir_bind(fd, ...); weir_recvfrom(fd, ...); weir_close(fd);
 *
 * Descriptors. weir_socket() returns a real descriptor number (of an eventfd), so it never collides
 * with the kernel's. Only the calls of this header do something useful with it; each of them fails with
 * EBADF or ENOTSOCK on a number that is not weir's, but for weir_poll(), weir_ppoll(), weir_select(),
 * the weir_epoll calls and weir_dup2()/weir_dup3(), which take both kinds. An event loop that is not
 * made of these calls can hold the number once (SOL_WEIR, WEIR_SO_EVENTFD) is 1: then it is readable
 * when there may be something to read. Before, it is readable always.
 *
 * Threads. Any thread may make any call at any time. A worker of the stack uses its own lcore: a call
 * that blocks takes turns meanwhile, and what it sends to the own host is delivered before the call
 * returns. Any other thread is attached at its first call (it takes one of the stack's max_threads:
 * EUSERS when none is left) and let go when it ends or calls weir_bsd_detach(); a call that blocks
 * spins for a short while (SO_BUSY_POLL), then sleeps. Several threads may receive from one socket;
 * (SOL_WEIR, WEIR_SO_READERS) 0 takes the lock that this needs away.
 *
 * Closing a descriptor wakes the threads that wait in a call on it: EBADF. After fork() the child has
 * the numbers but no sockets: every call fails with EBADF, weir_close() closes the number.
 */
#ifndef WEIR_BSD_H
#define WEIR_BSD_H

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <weir/api.h>
#include <weir/socket.h>
#include <weir/stack.h>

WEIR_BEGIN_DECLS

/** Level of weir's own options for weir_setsockopt() and weir_getsockopt(). All are int. */
#define SOL_WEIR 0x5745

#define WEIR_SO_READERS                                                                            \
	1 /* flag [1]: several threads may receive. 0: one at a time, without a lock */
#define WEIR_SO_EVENTFD                                                                            \
	2                /* flag [1]: the number itself signals, for event loops other than these */
#define WEIR_SO_STABLE 3 /* flag [0]: WEIR_OPT_STABLE */

/* ---- start, stop ---- */

/** From now on weir_socket() opens sockets on this running stack. -EALREADY, -ENOMEM. [once] */
WEIR_API int weir_bsd_start(struct weir_stack *stack);

/**
 * Close all descriptors that are left and forget the stack. -EBUSY: other threads are still attached
 * (nothing is done). 0 also when it was not started. [once]
 */
WEIR_API int weir_bsd_stop(void);

/** Let the calling thread's lcore go before the thread ends; its next call attaches it again. */
WEIR_API void weir_bsd_detach(void);

/** The native handle of a descriptor, for the calls of <weir/socket.h>; NULL: not weir's. */
WEIR_API struct weir_socket *weir_bsd_handle(int fd);

/* ---- sockets ---- */

WEIR_API int weir_socket(int domain, int type, int protocol);
WEIR_API int weir_bind(int fd, const struct sockaddr *addr, socklen_t len);
WEIR_API int weir_connect(int fd, const struct sockaddr *addr, socklen_t len);
WEIR_API int weir_listen(int fd, int backlog);
WEIR_API int weir_accept(int fd, struct sockaddr *addr, socklen_t *len);
WEIR_API int weir_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
WEIR_API int weir_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
WEIR_API int weir_getpeername(int fd, struct sockaddr *addr, socklen_t *len);
WEIR_API int weir_shutdown(int fd, int how);
WEIR_API int weir_close(int fd);

WEIR_API int weir_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
WEIR_API int weir_getsockopt(int fd, int level, int name, void *value, socklen_t *len);

/* ---- descriptors ---- */

WEIR_API int weir_dup(int fd);
WEIR_API int weir_dup2(int fd, int to);
WEIR_API int weir_dup3(int fd, int to, int flags);

/** F_GETFL, F_SETFL (O_NONBLOCK), F_GETFD, F_SETFD (FD_CLOEXEC), F_DUPFD, F_DUPFD_CLOEXEC; else EINVAL. */
WEIR_API int weir_fcntl(int fd, int cmd, ...);

/** FIONREAD, FIONBIO, SIOCOUTQ; else ENOTTY. */
WEIR_API int weir_ioctl(int fd, unsigned long request, ...);

/* ---- data ---- */

/* weir_bsd_ where the plain name is the native call's. */
WEIR_API ssize_t weir_bsd_send(int fd, const void *buf, size_t len, int flags);
WEIR_API ssize_t weir_bsd_recv(int fd, void *buf, size_t len, int flags);

WEIR_API ssize_t weir_sendto(int fd, const void *buf, size_t len, int flags,
			     const struct sockaddr *to, socklen_t to_len);
WEIR_API ssize_t weir_sendmsg(int fd, const struct msghdr *msg, int flags);
WEIR_API int weir_sendmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags);
WEIR_API ssize_t weir_recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *from,
			       socklen_t *from_len);
WEIR_API ssize_t weir_recvmsg(int fd, struct msghdr *msg, int flags);
WEIR_API int weir_recvmmsg(int fd, struct mmsghdr *msgs, unsigned int n, int flags,
			   struct timespec *timeout);
WEIR_API ssize_t weir_read(int fd, void *buf, size_t len);
WEIR_API ssize_t weir_readv(int fd, const struct iovec *iov, int n);
WEIR_API ssize_t weir_write(int fd, const void *buf, size_t len);
WEIR_API ssize_t weir_writev(int fd, const struct iovec *iov, int n);

/* ---- waiting: weir's and the kernel's descriptors, mixed ---- */

WEIR_API int weir_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
WEIR_API int weir_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
			const sigset_t *mask);
WEIR_API int weir_select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *timeout);

/**
 * A real epoll descriptor for the kernel's descriptors, with weir's beside them. The kernel's own
 * epoll_wait() on it sees only the former. Give it back with weir_close().
 */
WEIR_API int weir_epoll_create1(int flags);
WEIR_API int weir_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
WEIR_API int weir_epoll_wait(int epfd, struct epoll_event *events, int n, int timeout_ms);
WEIR_API int weir_epoll_pwait(int epfd, struct epoll_event *events, int n, int timeout_ms,
			      const sigset_t *mask);

WEIR_END_DECLS

#endif /* WEIR_BSD_H */
