/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: options of a socket and its multicast memberships: weir_socket_set/get, join and leave of
 * <weir/socket.h>. Everything under the control lock but for what only a reader or sender looks at.
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
		if (value == 1 && weir_errq_init(sk) != 0)
			return -ENOMEM;
		ret = set_flag(&sk->recverr, value);
		if (ret == 0 && value == 0)
			weir_errq_purge(sk);
		return ret;
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
		return -ENOPROTOOPT;
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
		       sk->tx.pmtud != WEIR_PMTUD_DONT && sk->tx.pmtud < WEIR_PMTUD_INTERFACE &&
		       sk->bind_port < 0;
}

/* ---- get ---- */

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
		return -ENOPROTOOPT;
	}
}

/* ---- multicast membership ---- */

/* Control lock held. Take refs to or from a group of a port; the data path learns of it. -ENOMEM. */
static int
group_ref(struct weir_stack *stack, const struct weir_addr *addr, uint32_t port, int delta)
{
	struct weir_control *c = stack->control;
	struct weir_locals *locals;
	size_t i;

	for (i = 0; i < c->n_group; i++)
		if (c->group[i].port == port && c->group[i].addr.ip.w[0] == addr->ip.w[0] &&
		    c->group[i].addr.ip.w[1] == addr->ip.w[1])
			break;
	if (i < c->n_group && (delta > 0 || c->group[i].refs > 1)) {
		c->group[i].refs += (uint32_t)delta;
		return 0;
	}
	if (i == c->n_group) {
		if (c->n_group == c->cap_group) {
			size_t cap = c->cap_group != 0 ? c->cap_group * 2 : 16;
			struct weir_ctl_group *g = realloc(c->group, cap * sizeof(*g));

			if (g == NULL)
				return -ENOMEM;
			c->group = g;
			c->cap_group = cap;
		}
		c->group[c->n_group++] =
			(struct weir_ctl_group){.addr = *addr, .port = port, .refs = 1};
		locals = weir_local_build(stack);
		if (locals == NULL) {
			c->n_group--;
			return -ENOMEM;
		}
		weir_local_publish(stack, locals);
		return 0;
	}
	c->group[i] = c->group[--c->n_group];
	locals = weir_local_build(stack);
	if (locals != NULL) /* else the group is heard a while longer, by nobody */
		weir_local_publish(stack, locals);
	return 0;
}

static bool
same_addr(const struct weir_addr *a, const struct weir_addr *b)
{
	return a->ip.w[0] == b->ip.w[0] && a->ip.w[1] == b->ip.w[1];
}

/* Where a group is joined: the given port, else the route's, else the first one there is. -ENODEV. */
static int
group_port(struct weir_socket *sk, const struct weir_addr *group, int port)
{
	struct weir_stack *stack = sk->stack;
	const struct weir_route *r;

	if (port >= 0)
		return port_exists(stack, port) == 0 ? port : -ENODEV;
	if (port != -1)
		return -ENODEV;
	r = weir_route_lookup(stack, &group->ip, group->family);
	return r != NULL ? r->port->index : -ENODEV;
}

static struct weir_members *
members_copy(const struct weir_members *old, unsigned int extra)
{
	unsigned int n = old != NULL ? old->n : 0;
	struct weir_members *m =
		rte_zmalloc("weir_members", sizeof(*m) + (n + extra) * sizeof(m->member[0]),
			    WEIR_CACHE_LINE);

	if (m != NULL && n > 0) {
		memcpy(m->member, old->member, n * sizeof(m->member[0]));
		m->n = n;
	}
	return m;
}

static void
members_publish(struct weir_socket *sk, struct weir_members *m)
{
	struct weir_members *old = atomic_load_explicit(&sk->members, memory_order_relaxed);

	atomic_store_explicit(&sk->members, m,
			      memory_order_release); /* pairs with weir_sock_member */
	if (old != NULL)
		weir_rcu_free(sk->stack, old);
}

static int
join_locked(struct weir_socket *sk, const struct weir_addr *group, const struct weir_addr *source,
	    int port)
{
	const struct weir_members *old = atomic_load_explicit(&sk->members, memory_order_relaxed);
	struct weir_members *m;
	unsigned int n_groups = 0;
	int ret;

	port = group_port(sk, group, port);
	if (port < 0)
		return port;
	for (unsigned int i = 0; old != NULL && i < old->n; i++) {
		const struct weir_member *x = &old->member[i];

		if (x->port == port && same_addr(&x->group, group)) {
			if (source == NULL || x->source.family == WEIR_UNSPEC)
				return -EADDRINUSE;
			if (same_addr(&x->source, source))
				return -EADDRNOTAVAIL; /* as Linux has it */
		}
		n_groups++;
	}
	if (n_groups >= WEIR_MAX_GROUPS)
		return -ENOBUFS;
	m = members_copy(old, 1);
	if (m == NULL)
		return -ENOMEM;
	ret = group_ref(sk->stack, group, (uint32_t)port, 1);
	if (ret != 0) {
		rte_free(m);
		return ret;
	}
	m->member[m->n++] = (struct weir_member){.group = *group, .port = (uint16_t)port};
	if (source != NULL)
		m->member[m->n - 1].source = *source;
	members_publish(sk, m);
	return 0;
}

/* Is x what a call to leave means? */
static bool
leaves(const struct weir_member *x, const struct weir_addr *group, const struct weir_addr *source,
       int port)
{
	return (port == -1 || x->port == port) && same_addr(&x->group, group) &&
	       (source == NULL || same_addr(&x->source, source));
}

static int
leave_locked(struct weir_socket *sk, const struct weir_addr *group, const struct weir_addr *source,
	     int port)
{
	const struct weir_members *old = atomic_load_explicit(&sk->members, memory_order_relaxed);
	struct weir_members *m = NULL;
	unsigned int n_gone = 0;

	/* Without a source the group goes with all of its sources, on the first port that fits. */
	for (unsigned int i = 0; old != NULL && i < old->n; i++) {
		const struct weir_member *x = &old->member[i];

		if (leaves(x, group, source, port)) {
			port = x->port;
			n_gone++;
		}
	}
	if (n_gone == 0)
		return -EADDRNOTAVAIL;
	if (old->n > n_gone) {
		m = members_copy(NULL, old->n - n_gone);
		if (m == NULL)
			return -ENOMEM;
		for (unsigned int i = 0; i < old->n; i++)
			if (!leaves(&old->member[i], group, source, port))
				m->member[m->n++] = old->member[i];
	}
	while (n_gone-- > 0)
		group_ref(sk->stack, group, (uint32_t)port, -1);
	members_publish(sk, m);
	return 0;
}

void
weir_sock_leave_all(struct weir_socket *sk)
{
	const struct weir_members *m = atomic_load_explicit(&sk->members, memory_order_relaxed);

	for (unsigned int i = 0; m != NULL && i < m->n; i++)
		group_ref(sk->stack, &m->member[i].group, m->member[i].port, -1);
	if (m != NULL)
		members_publish(sk, NULL);
}

int
weir_socket_join(struct weir_socket *sk, const struct weir_addr *group,
		 const struct weir_addr *source, int port)
{
	int ret;

	if (group->family != WEIR_IPV4 || !weir_is_mcast4(group->ip.v4))
		return -EINVAL;
	weir_ctl_lock(sk->stack);
	ret = join_locked(sk, group, source, port);
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_leave(struct weir_socket *sk, const struct weir_addr *group,
		  const struct weir_addr *source, int port)
{
	int ret;

	if (group->family != WEIR_IPV4 || !weir_is_mcast4(group->ip.v4))
		return -EINVAL;
	weir_ctl_lock(sk->stack);
	ret = leave_locked(sk, group, source, port);
	weir_ctl_unlock(sk->stack);
	return ret;
}
