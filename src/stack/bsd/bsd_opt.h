/* SPDX-License-Identifier: BSD-3-Clause */
/* What the option calls of the BSD layer share: values stored, asked for, handed out. */
#ifndef WEIR_BSD_OPT_H
#define WEIR_BSD_OPT_H

#include "bsd_priv.h"

static inline int
get_native(const struct bsd_sock *s, enum weir_sockopt opt)
{
	int64_t value = 0;

	(void)weir_socket_get(s->sk, opt, &value);
	return (int)value;
}

static inline void
store(struct bsd_sock *s, enum bsd_stored which, int value)
{
	atomic_store_explicit(&s->stored[which], value, memory_order_relaxed);
}

static inline int
stored(const struct bsd_sock *s, enum bsd_stored which)
{
	return atomic_load_explicit((_Atomic int *)(uintptr_t)&s->stored[which],
				    memory_order_relaxed);
}

static inline int
want(struct bsd_sock *s, enum bsd_want bit, bool on)
{
	if (on)
		atomic_fetch_or_explicit(&s->want, bit, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&s->want, ~(uint32_t)bit, memory_order_relaxed);
	return 0;
}

static inline int
wants(const struct bsd_sock *s, enum bsd_want bit)
{
	return (atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&s->want,
				     memory_order_relaxed) &
		bit) != 0;
}

/* Copy out a value, cut to what the caller has room for. */
static inline int
give(void *value, socklen_t *len, const void *from, size_t size)
{
	*len = (socklen_t)RTE_MIN((size_t)*len, size);
	if (*len > 0)
		memcpy(value, from, *len);
	return 0;
}

static inline int
give_int(void *value, socklen_t *len, int v)
{
	return give(value, len, &v, sizeof(v));
}

/* The MTU of the path to peer, where a connected socket sends. -ENOTCONN: there is none. */
int bsd_path_mtu(const struct bsd_sock *s, const struct weir_addr *peer, int *v);

/* ---- bsd_group.c ---- */

/* Does the option of IPPROTO_IP, IPPROTO_IPV6 change a membership? */
bool bsd_is_group4(int name);
bool bsd_is_group6(int name);
int bsd_set_group4(struct bsd_sock *s, int name, const void *value, socklen_t len);
int bsd_set_group6(struct bsd_sock *s, int name, const void *value, socklen_t len);
/* IP_MSFILTER, MCAST_MSFILTER. */
int bsd_get_group4(struct bsd_sock *s, int name, void *value, socklen_t *len);
int bsd_get_group6(struct bsd_sock *s, int name, void *value, socklen_t *len);
/* IP_MULTICAST_IF, IPV6_MULTICAST_IF. */
int bsd_set_mcast_if(struct bsd_sock *s, const void *value, socklen_t len);
int bsd_set_mcast_if6(struct bsd_sock *s, int ifindex);

#endif /* WEIR_BSD_OPT_H */
