/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What sending and receiving of the BSD layer share: checks of the caller's buffers, time that is left, control
 * messages. The order of checks and their errnos are those of Linux (docs/semantics.md).
 */
#ifndef WEIR_BSD_MSG_H
#define WEIR_BSD_MSG_H

#include "bsd_priv.h"

#include <limits.h>
#include <netinet/in.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define IOV_MAX_LINUX 1024
#define BURST         32

/* Bytes that iov describes: -EINVAL (too many), -EFAULT (nowhere). */
static inline ssize_t
iov_bytes(const struct iovec *iov, size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		if (iov[i].iov_len > (size_t)SSIZE_MAX - total)
			return -EINVAL;
		if (iov[i].iov_base == NULL && iov[i].iov_len > 0)
			return -EFAULT;
		total += iov[i].iov_len;
	}
	return (ssize_t)total;
}

static inline ssize_t
msg_bytes(const struct msghdr *msg)
{
	if (msg->msg_iovlen > IOV_MAX_LINUX)
		return -EMSGSIZE;
	if (msg->msg_iov == NULL && msg->msg_iovlen > 0)
		return -EFAULT;
	if (msg->msg_name != NULL && msg->msg_namelen > INT_MAX)
		return -EINVAL;
	return iov_bytes(msg->msg_iov, msg->msg_iovlen);
}

static inline bool
may_block(const struct bsd_sock *s, int flags)
{
	return (flags & MSG_DONTWAIT) == 0 &&
	       !atomic_load_explicit((_Atomic bool *)(uintptr_t)&s->f.nonblock,
				     memory_order_relaxed);
}

/* ns that are left of timeout since start. */
static inline uint64_t
ns_left(uint64_t start, uint64_t timeout)
{
	const uint64_t passed = timeout == UINT64_MAX ? 0 : weir_clock_ns() - start;

	return passed >= timeout ? 0 : timeout - passed;
}

/* ---- control messages: bsd_cmsg.c ---- */

/* Where they go to, in the caller's memory. */
struct bsd_ctl_out {
	uint8_t *at;
	size_t left;
	int flags; /* MSG_CTRUNC */
};

/* Add one; what does not fit is cut, as Linux does. */
void bsd_put_ctl(struct bsd_ctl_out *c, int level, int type, const void *data, size_t len);

/* Add what the socket was asked to say of each datagram: want, of enum bsd_want. */
void bsd_describe(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info,
		  uint32_t want, struct bsd_ctl_out *c);

/* Does the datagram go over IPv4? to NULL: to the peer. */
bool bsd_goes_over_ip4(const struct bsd_sock *s, struct weir_lcore *lc, const struct weir_addr *to);

/* The caller's, of a message to `to` (NULL: the peer), into ctl. Negative errno. */
int bsd_parse_ctl(struct bsd_sock *s, struct weir_lcore *lc, const struct msghdr *msg,
		  const struct weir_addr *to, struct weir_txctl *ctl);

#endif /* WEIR_BSD_MSG_H */
