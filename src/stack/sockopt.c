/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: options of a socket: weir_socket_set/get of <weir/socket.h>. Everything under the control lock
 * but for what only a reader or sender looks at.
 */
#include <weir/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "control_state.h"
#include "errq.h"
#include "local.h"
#include "recvq.h"
#include "route.h"
#include "sock.h"
#include "sock_priv.h"

/* ---- set ---- */

static int
set_flag(_Atomic bool *flag, int64_t value)
{
	if (value != 0 && value != 1)
		return -EINVAL;
	*flag = value != 0;
	return 0;
}

/* Sharing of a port: counted per port, so a bound socket moves in the count. */
static int
set_share(struct weir_socket *sk, _Atomic bool *flag, int64_t value)
{
	struct weir_portuse *use = &sk->stack->control->port_use[weir_sock_names(sk)->lport];
	uint32_t *n = flag == &sk->reuseaddr ? &use->n_reuseaddr : &use->n_reuseport;
	bool before = *flag;
	int ret = set_flag(flag, value);

	if (ret == 0 && weir_sock_names(sk)->lport != 0)
		*n += (uint32_t)*flag - before;
	return ret;
}

/* What a group's choice depends on. -ENOMEM: nothing changed. */
static int
set_in_group(struct weir_socket *sk, int16_t lcore, bool stable)
{
	const int16_t lcore_before = sk->lcore;
	const bool stable_before = sk->stable;
	int ret;

	sk->lcore = lcore;
	sk->stable = stable;
	ret = sk->ent != NULL ? weir_sockent_refresh(sk->stack, sk->ent) : 0;
	if (ret == 0 && sk->ent4 != NULL)
		ret = weir_sockent_refresh(sk->stack, sk->ent4);
	if (ret != 0) {
		sk->lcore = lcore_before;
		sk->stable = stable_before;
	}
	return ret;
}

static int
port_exists(const struct weir_stack *stack, int64_t value)
{
	if (value < -1 || value > WEIR_PORT_LOOPBACK)
		return -ENODEV;
	return value == -1 || stack->ports[value] != NULL ? 0 : -ENODEV;
}

/* Keep the errors of one family or not. Entries stay while the other's are kept. */
static int
set_recverr(struct weir_socket *sk, _Atomic bool *flag, int64_t value)
{
	int ret;

	if (value == 1 && weir_errq_init(sk) != 0)
		return -ENOMEM;
	ret = set_flag(flag, value);
	if (ret == 0 && !sk->recverr && !sk->recverr6)
		weir_errq_purge(sk);
	return ret;
}

/* A value of lo .. hi. */
static int
set_u8(_Atomic uint8_t *out, int64_t value, int64_t lo, int64_t hi)
{
	if (value < lo || value > hi)
		return -EINVAL;
	*out = (uint8_t)value;
	return 0;
}

/* The options that only an IPv6 socket has. */
static int
set_locked6(struct weir_socket *sk, enum weir_sockopt opt, int64_t value)
{
	int ret;

	switch (opt) {
	case WEIR_OPT_V6ONLY:
		/* It decides under which names the socket is found. */
		return weir_sock_names(sk)->lport != 0 ? -EINVAL : set_flag(&sk->v6only, value);
	case WEIR_OPT_HOPS:
		if (value < -1 || value > 255)
			return -EINVAL;
		sk->tx6.hops = (int16_t)value;
		return 0;
	case WEIR_OPT_TCLASS:
		return set_u8(&sk->tx6.tclass, value, 0, 255);
	case WEIR_OPT_FLOW_LABEL:
		if (value < 0 || value > 0xfffff)
			return -EINVAL;
		sk->tx6.flow_label = (uint32_t)value;
		return 0;
	case WEIR_OPT_MTU_DISCOVER6:
		return set_u8(&sk->tx6.pmtud, value, WEIR_PMTUD_DONT, WEIR_PMTUD_OMIT);
	case WEIR_OPT_DONTFRAG:
		return set_flag(&sk->tx6.dontfrag, value);
	case WEIR_OPT_NO_CHECK6:
		return set_flag(&sk->tx6.no_check, value);
	case WEIR_OPT_RECVERR6:
		return set_recverr(sk, &sk->recverr6, value);
	case WEIR_OPT_MCAST_HOPS:
		return set_u8(&sk->tx6.mcast_hops, value, 0, 255);
	case WEIR_OPT_MCAST_LOOP6:
		return set_flag(&sk->tx6.mcast_loop, value);
	case WEIR_OPT_MCAST_PORT6:
		ret = port_exists(sk->stack, value);
		if (ret == 0)
			sk->tx6.mcast_port = (int16_t)value;
		return ret;
	case WEIR_OPT_MCAST_ALL6:
		return set_flag(&sk->mcast_all6, value);
	default:
		return -ENOPROTOOPT;
	}
}

static int
set_locked(struct weir_socket *sk, enum weir_sockopt opt, int64_t value)
{
	struct weir_stack *stack = sk->stack;
	_Atomic bool flag;
	int ret;

	switch (opt) {
	case WEIR_OPT_RCVBUF:
		if (value < 1 || value > (int64_t)stack->conf.rcvbuf_max)
			return -EINVAL;
		weir_recvq_set_limit(&sk->rq, (uint64_t)value);
		return 0;
	case WEIR_OPT_BROADCAST:
		return set_flag(&sk->tx.broadcast, value);
	case WEIR_OPT_REUSEADDR:
		return set_share(sk, &sk->reuseaddr, value);
	case WEIR_OPT_REUSEPORT:
		return set_share(sk, &sk->reuseport, value);
	case WEIR_OPT_FREEBIND:
		return set_flag(&sk->freebind, value);
	case WEIR_OPT_BIND_PORT:
		ret = port_exists(stack, value);
		return ret != 0 ? ret : weir_sock_rehash(sk, (int16_t)value);
	case WEIR_OPT_TTL:
		if (value < 1 || value > 255)
			return -EINVAL;
		sk->tx.ttl = (uint8_t)value;
		return 0;
	case WEIR_OPT_TOS:
		if (value < 0 || value > 255)
			return -EINVAL;
		sk->tx.tos = (uint8_t)value;
		return 0;
	case WEIR_OPT_MTU_DISCOVER:
		if (value < WEIR_PMTUD_DONT || value > WEIR_PMTUD_OMIT)
			return -EINVAL;
		sk->tx.pmtud = (uint8_t)value;
		return 0;
	case WEIR_OPT_NO_CHECK:
		return set_flag(&sk->tx.no_check, value);
	case WEIR_OPT_RECVERR:
		return set_recverr(sk, &sk->recverr, value);
	case WEIR_OPT_PEEK_OFF:
		if (value < -1 || value > INT32_MAX)
			return -EINVAL;
		atomic_store_explicit(&sk->peek_off, (int32_t)value, memory_order_relaxed);
		return 0;
	case WEIR_OPT_READERS:
		ret = set_flag(&flag, value);
		if (ret == 0)
			weir_recvq_set_readers(&sk->rq, flag);
		return ret;
	case WEIR_OPT_GRO:
		return set_flag(&sk->gro, value);
	case WEIR_OPT_SEGMENT:
		if (value < 0 || value > UINT16_MAX)
			return -EINVAL;
		sk->tx.segment = (uint16_t)value;
		return 0;
	case WEIR_OPT_LCORE:
		if (value < -1 || value >= stack->n_workers)
			return -EINVAL;
		return set_in_group(sk, (int16_t)value, sk->stable);
	case WEIR_OPT_STABLE:
		ret = set_flag(&flag, value);
		return ret != 0 ? ret : set_in_group(sk, sk->lcore, flag);
	case WEIR_OPT_MCAST_TTL:
		if (value < 0 || value > 255)
			return -EINVAL;
		sk->tx.mcast_ttl = (uint8_t)value;
		return 0;
	case WEIR_OPT_MCAST_LOOP:
		return set_flag(&sk->tx.mcast_loop, value);
	case WEIR_OPT_MCAST_PORT:
		ret = port_exists(stack, value);
		if (ret == 0)
			sk->tx.mcast_port = (int16_t)value;
		return ret;
	case WEIR_OPT_MCAST_ALL:
		return set_flag(&sk->mcast_all, value);
	default:
		return sk->family == WEIR_IPV6 ? set_locked6(sk, opt, value) : -ENOPROTOOPT;
	}
	return 0;
}

int
weir_socket_set(struct weir_socket *sk, enum weir_sockopt opt, int64_t value)
{
	int ret;

	weir_ctl_lock(sk->stack);
	ret = set_locked(sk, opt, value);
	weir_sock_tx_changed(sk);
	weir_ctl_unlock(sk->stack);
	return ret;
}

void
weir_sock_tx_changed(struct weir_socket *sk)
{
	sk->tx.plain = sk->tx.ttl == WEIR_DEFAULT_TTL && sk->tx.tos == 0 && !sk->tx.no_check &&
		       (sk->tx.pmtud == WEIR_PMTUD_WANT || sk->tx.pmtud == WEIR_PMTUD_DO) &&
		       sk->bind_port < 0;
	sk->tx.plain6 = sk->tx6.hops < 0 && sk->tx6.tclass == 0 && sk->tx6.flow_label == 0 &&
			!sk->tx6.dontfrag && !sk->tx6.no_check &&
			(sk->tx6.pmtud == WEIR_PMTUD_WANT || sk->tx6.pmtud == WEIR_PMTUD_DO) &&
			sk->bind_port < 0;
}

/* ---- get ---- */

static int
get6(const struct weir_socket *sk, enum weir_sockopt opt, int64_t *value)
{
	switch (opt) {
	case WEIR_OPT_V6ONLY:
		*value = sk->v6only;
		return 0;
	case WEIR_OPT_HOPS:
		*value = sk->tx6.hops;
		return 0;
	case WEIR_OPT_TCLASS:
		*value = sk->tx6.tclass;
		return 0;
	case WEIR_OPT_FLOW_LABEL:
		*value = sk->tx6.flow_label;
		return 0;
	case WEIR_OPT_MTU_DISCOVER6:
		*value = sk->tx6.pmtud;
		return 0;
	case WEIR_OPT_DONTFRAG:
		*value = sk->tx6.dontfrag;
		return 0;
	case WEIR_OPT_NO_CHECK6:
		*value = sk->tx6.no_check;
		return 0;
	case WEIR_OPT_RECVERR6:
		*value = sk->recverr6;
		return 0;
	case WEIR_OPT_MCAST_HOPS:
		*value = sk->tx6.mcast_hops;
		return 0;
	case WEIR_OPT_MCAST_LOOP6:
		*value = sk->tx6.mcast_loop;
		return 0;
	case WEIR_OPT_MCAST_PORT6:
		*value = sk->tx6.mcast_port;
		return 0;
	case WEIR_OPT_MCAST_ALL6:
		*value = sk->mcast_all6;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

int
weir_socket_get(const struct weir_socket *sk, enum weir_sockopt opt, int64_t *value)
{
	switch (opt) {
	case WEIR_OPT_RCVBUF:
		*value = (int64_t)weir_recvq_limit(&sk->rq);
		return 0;
	case WEIR_OPT_BROADCAST:
		*value = sk->tx.broadcast;
		return 0;
	case WEIR_OPT_REUSEADDR:
		*value = sk->reuseaddr;
		return 0;
	case WEIR_OPT_REUSEPORT:
		*value = sk->reuseport;
		return 0;
	case WEIR_OPT_FREEBIND:
		*value = sk->freebind;
		return 0;
	case WEIR_OPT_BIND_PORT:
		*value = sk->bind_port;
		return 0;
	case WEIR_OPT_TTL:
		*value = sk->tx.ttl;
		return 0;
	case WEIR_OPT_TOS:
		*value = sk->tx.tos;
		return 0;
	case WEIR_OPT_MTU_DISCOVER:
		*value = sk->tx.pmtud;
		return 0;
	case WEIR_OPT_NO_CHECK:
		*value = sk->tx.no_check;
		return 0;
	case WEIR_OPT_RECVERR:
		*value = sk->recverr;
		return 0;
	case WEIR_OPT_PEEK_OFF:
		*value = atomic_load_explicit((_Atomic int32_t *)(uintptr_t)&sk->peek_off,
					      memory_order_relaxed);
		return 0;
	case WEIR_OPT_READERS:
		*value = sk->rq.several;
		return 0;
	case WEIR_OPT_GRO:
		*value = sk->gro;
		return 0;
	case WEIR_OPT_SEGMENT:
		*value = sk->tx.segment;
		return 0;
	case WEIR_OPT_LCORE:
		*value = sk->lcore;
		return 0;
	case WEIR_OPT_STABLE:
		*value = sk->stable;
		return 0;
	case WEIR_OPT_MCAST_TTL:
		*value = sk->tx.mcast_ttl;
		return 0;
	case WEIR_OPT_MCAST_LOOP:
		*value = sk->tx.mcast_loop;
		return 0;
	case WEIR_OPT_MCAST_PORT:
		*value = sk->tx.mcast_port;
		return 0;
	case WEIR_OPT_MCAST_ALL:
		*value = sk->mcast_all;
		return 0;
	default:
		return sk->family == WEIR_IPV6 ? get6(sk, opt, value) : -ENOPROTOOPT;
	}
}
