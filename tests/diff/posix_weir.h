/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket calls of POSIX, renamed to weir's. Included behind all system headers. Function-like
 * macros: members and structures of the same names stay what they are.
 *
 * close(), dup() and the like see the kernel's descriptors too (pipes): those go to the kernel.
 */
#ifndef DIFF_POSIX_WEIR_H
#define DIFF_POSIX_WEIR_H

#include <weir/bsd.h>

#define socket(domain, type, protocol)            weir_socket(domain, type, protocol)
#define bind(fd, addr, len)                       weir_bind(fd, addr, len)
#define connect(fd, addr, len)                    weir_connect(fd, addr, len)
#define listen(fd, n)                             weir_listen(fd, n)
#define accept(fd, addr, len)                     weir_accept(fd, addr, len)
#define getsockname(fd, addr, len)                weir_getsockname(fd, addr, len)
#define getpeername(fd, addr, len)                weir_getpeername(fd, addr, len)
#define shutdown(fd, how)                         weir_shutdown(fd, how)
#define setsockopt(fd, level, name, value, len)   weir_setsockopt(fd, level, name, value, len)
#define getsockopt(fd, level, name, value, len)   weir_getsockopt(fd, level, name, value, len)
#define send(fd, buf, len, flags)                 weir_bsd_send(fd, buf, len, flags)
#define recv(fd, buf, len, flags)                 weir_bsd_recv(fd, buf, len, flags)
#define sendto(fd, buf, len, flags, to, to_len)   weir_sendto(fd, buf, len, flags, to, to_len)
#define recvfrom(fd, buf, len, flags, from, flen) weir_recvfrom(fd, buf, len, flags, from, flen)
#define sendmsg(fd, msg, flags)                   weir_sendmsg(fd, msg, flags)
#define recvmsg(fd, msg, flags)                   weir_recvmsg(fd, msg, flags)
#define sendmmsg(fd, msgs, n, flags)              weir_sendmmsg(fd, msgs, n, flags)
#define recvmmsg(fd, msgs, n, flags, timeout)     weir_recvmmsg(fd, msgs, n, flags, timeout)
#define poll(fds, n, timeout)                     weir_poll(fds, n, timeout)
#define epoll_create1(flags)                      weir_epoll_create1(flags)
#define epoll_ctl(ep, op, fd, event)              weir_epoll_ctl(ep, op, fd, event)
#define epoll_wait(ep, events, n, timeout)        weir_epoll_wait(ep, events, n, timeout)
#define dup(fd)                                   weir_dup(fd)
#define dup2(fd, to)                              weir_dup2(fd, to)

#define DIFF_OURS(fd)       (weir_bsd_handle(fd) != NULL)
#define close(fd)           weir_close(fd)
#define fcntl(fd, cmd, arg) weir_fcntl(fd, cmd, arg)
#define ioctl(fd, cmd, arg) weir_ioctl(fd, cmd, arg)
#define read(fd, buf, len)  (DIFF_OURS(fd) ? weir_read(fd, buf, len) : read(fd, buf, len))
#define write(fd, buf, len) (DIFF_OURS(fd) ? weir_write(fd, buf, len) : write(fd, buf, len))
#define readv(fd, iov, n)   weir_readv(fd, iov, n)
#define writev(fd, iov, n)  weir_writev(fd, iov, n)

#endif /* DIFF_POSIX_WEIR_H */
