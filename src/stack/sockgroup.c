/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: which multicast groups a socket has joined, and whom of them it wants to hear: join, leave, block,
 * filter of <weir/socket.h>. Under the control lock. The rules and errnos are those of Linux.
 *
 * A change goes three ways: the socket's list (RCU snapshot, read at delivery), the host's set of groups
 * (local.h), the routers (mcast.h). What can fail comes first.
 */
#include <weir/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "control_state.h"
#include "fib.h"
#include "local.h"
#include "mcast.h"
#include "sock.h"
#include "sock_priv.h"
#include "sockgroup.h"

static bool
same_ip(const union weir_ip *a, const union weir_ip *b)
{
	return a->w[0] == b->w[0] && a->w[1] == b->w[1];
}

static struct weir_members *
members_of(const struct weir_socket *sk)
{
	/* Acquire: pairs with the release of publish(). */
	return atomic_load_explicit((struct weir_members * _Atomic *)(uintptr_t)&sk->members,
				    memory_order_acquire);
}

/* ---- the host's set of groups ---- */

/* Take a reference to or from a group of a port; the data path learns of it. -ENOMEM, when taking. */
static int
group_ref(struct weir_stack *stack, const struct weir_addr *addr, uint32_t port, int delta)
{
	struct weir_control *c = stack->control;
	struct weir_locals *locals;
	size_t i;

	for (i = 0; i < c->n_group; i++)
		if (c->group[i].port == port && c->group[i].addr.family == addr->family &&
		    same_ip(&c->group[i].addr.ip, &addr->ip))
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

/* ---- the socket's list ---- */

#define NOBODY UINT32_MAX

/* Which member of m is (group, port); port -1: on whatever port. NOBODY: none. */
static uint32_t
find(const struct weir_members *m, const struct weir_addr *group, int port)
{
	for (unsigned int i = 0; m != NULL && i < m->n; i++)
		if ((port < 0 || m->member[i].port == port) &&
		    m->member[i].group.family == group->family &&
		    same_ip(&m->member[i].group.ip, &group->ip))
			return i;
	return NOBODY;
}

/* What becomes of one member. */
struct change {
	struct weir_addr group;
	uint16_t port;
	bool include, fixed;
	unsigned int n;
	union weir_ip source[WEIR_MAX_SOURCES6];
};

/*
 * A list with member `at` of the old one replaced by `to`, or without it when to is NULL; at NOBODY: with to
 * added. *out NULL: nothing is left. -ENOMEM.
 */
static int
members_make(const struct weir_members *old, uint32_t at, const struct change *to,
	     struct weir_members **out)
{
	unsigned int n = (old != NULL ? old->n : 0) + (at == NOBODY) - (to == NULL);
	size_t sources = to != NULL ? to->n : 0;
	struct weir_members *m;
	union weir_ip *source;
	unsigned int k = 0;

	*out = NULL;
	if (n == 0)
		return 0;
	for (unsigned int i = 0; old != NULL && i < old->n; i++)
		sources += i != at ? old->member[i].n_sources : 0;
	m = rte_zmalloc("weir_members",
			sizeof(*m) + n * sizeof(m->member[0]) + sources * sizeof(*source),
			WEIR_CACHE_LINE);
	if (m == NULL)
		return -ENOMEM;
	source = (union weir_ip *)(void *)&m->member[n];
	for (unsigned int i = 0; old != NULL && i < old->n; i++) {
		if (i == at && to == NULL)
			continue;
		m->member[k] = old->member[i];
		if (i != at) {
			if (m->member[k].n_sources > 0)
				memcpy(source, m->member[k].source,
				       m->member[k].n_sources * sizeof(*source));
			m->member[k].source = source;
			source += m->member[k].n_sources;
		}
		k++;
	}
	if (to != NULL) {
		struct weir_member *x = &m->member[at != NOBODY ? at : k];

		*x = (struct weir_member){.group = to->group,
					  .port = to->port,
					  .include = to->include,
					  .fixed = to->fixed,
					  .n_sources = (uint16_t)to->n,
					  .source = source};
		if (to->n > 0)
			memcpy(source, to->source, to->n * sizeof(*source));
	}
	m->n = n;
	*out = m;
	return 0;
}

static void
publish(struct weir_socket *sk, struct weir_members *m)
{
	struct weir_members *old = members_of(sk);

	atomic_store_explicit(&sk->members, m, memory_order_release); /* pairs with members_of */
	if (old != NULL)
		weir_rcu_free(sk->stack, old);
}

/* Member `at` becomes `to` (NULL: it leaves), or to joins (at NOBODY). -ENOMEM: nothing has changed. */
static int
apply(struct weir_socket *sk, uint32_t at, const struct change *to)
{
	const struct weir_members *old = members_of(sk);
	const struct weir_member *was = at != NOBODY ? &old->member[at] : NULL;
	const struct weir_addr group = was != NULL ? was->group : to->group;
	const uint16_t port = was != NULL ? was->port : to->port;
	struct weir_mcast_filter before = {0}, after = {0};
	struct weir_members *m;
	int ret;

	if (was != NULL)
		before = (struct weir_mcast_filter){was->include, was->n_sources, was->source};
	if (to != NULL)
		after = (struct weir_mcast_filter){to->include, to->n, to->source};
	ret = members_make(old, at, to, &m);
	if (ret != 0)
		return ret;
	if (was == NULL)
		ret = group_ref(sk->stack, &group, port, 1);
	if (ret == 0) {
		ret = weir_mcast_change(sk->stack, sk->stack->ports[port], &group,
					was != NULL ? &before : NULL, to != NULL ? &after : NULL);
		if (ret != 0 && was == NULL)
			group_ref(sk->stack, &group, port, -1);
	}
	if (ret != 0) {
		rte_free(m);
		return ret;
	}
	if (to == NULL)
		group_ref(sk->stack, &group, port, -1);
	publish(sk, m);
	return 0;
}

void
weir_sock_leave_all(struct weir_socket *sk)
{
	const struct weir_members *m = members_of(sk);

	for (unsigned int i = 0; m != NULL && i < m->n; i++) {
		const struct weir_member *x = &m->member[i];
		const struct weir_mcast_filter f = {x->include, x->n_sources, x->source};

		/* To no sources at all: cannot fail. */
		(void)weir_mcast_change(sk->stack, sk->stack->ports[x->port], &x->group, &f, NULL);
		group_ref(sk->stack, &x->group, x->port, -1);
	}
	if (m != NULL)
		publish(sk, NULL);
}

/* Which member of m is on the port. NOBODY: none. */
static uint32_t
find_on(const struct weir_members *m, unsigned int port)
{
	for (unsigned int i = 0; m != NULL && i < m->n; i++)
		if (m->member[i].port == port)
			return i;
	return NOBODY;
}

void
weir_sock_port_gone(struct weir_stack *stack, unsigned int port)
{
	for (uint32_t id = 0; id < stack->conf.max_sockets; id++) {
		struct weir_socket *sk =
			atomic_load_explicit(&stack->socks[id], memory_order_relaxed);
		uint32_t at;

		/* Without memory for a shorter list it is left with none. */
		while (sk != NULL && (at = find_on(members_of(sk), port)) != NOBODY)
			if (apply(sk, at, NULL) != 0)
				weir_sock_leave_all(sk);
	}
}

/* ---- rules ---- */

static unsigned int
max_sources(const struct weir_addr *group)
{
	return group->family == WEIR_IPV4 ? WEIR_MAX_SOURCES4 : WEIR_MAX_SOURCES6;
}

/*
 * Which port a group is joined on without one being named: by its scope, by the route; IPv6 needs none for a group:
 * then the first port that speaks it. -ENODEV.
 */
static int
port_by_route(struct weir_socket *sk, const struct weir_addr *group)
{
	const struct weir_local_addr *addr;
	const struct weir_route *r;
	uint32_t n;

	if (group->family == WEIR_IPV6 && group->scope != 0)
		return weir_port_at(sk->stack, group->scope - 1) != NULL ? (int)group->scope - 1
									 : -ENODEV;
	r = weir_fib_lookup(sk->stack, &group->ip, group->family, NULL, -1);
	if (r != NULL && r->n_hops > 0)
		return r->hop[0].port->index;
	addr = weir_local_addrs(sk->stack, &n);
	for (uint32_t i = 0; group->family == WEIR_IPV6 && i < n; i++)
		if (addr[i].family == WEIR_IPV6)
			return addr[i].port;
	return -ENODEV;
}

static int
group_port(struct weir_socket *sk, const struct weir_addr *group, int port)
{
	if (port == -1)
		return port_by_route(sk, group);
	return port >= 0 && weir_port_at(sk->stack, (unsigned int)port) != NULL ? port : -ENODEV;
}

/* May sk have anything to do with such a group? */
static int
check_group(const struct weir_socket *sk, const struct weir_addr *group)
{
	const bool v4 = group->family == WEIR_IPV4;

	if (!v4 && (group->family != WEIR_IPV6 || sk->family != WEIR_IPV6))
		return -EINVAL;
	return (v4 ? weir_is_mcast4(group->ip.v4) : weir_ip6_is_mcast(&group->ip)) ? 0 : -EINVAL;
}

static void
change_from(struct change *c, const struct weir_member *x)
{
	*c = (struct change){.group = x->group,
			     .port = x->port,
			     .include = x->include,
			     .fixed = x->fixed,
			     .n = x->n_sources};
	if (x->n_sources > 0)
		memcpy(c->source, x->source, x->n_sources * sizeof(c->source[0]));
}

static int
join_locked(struct weir_socket *sk, const struct weir_addr *group, int port, bool include,
	    const union weir_ip *source)
{
	struct change c = {
		.group = *group, .port = (uint16_t)port, .include = include, .fixed = include};
	const struct weir_members *m = members_of(sk);

	if (find(m, group, port) != NOBODY)
		return -EADDRINUSE;
	if (m != NULL && m->n >= WEIR_MAX_GROUPS)
		return -ENOBUFS;
	c.group.scope = 0;
	c.group.port = 0;
	if (source != NULL)
		c.source[c.n++] = *source;
	return apply(sk, NOBODY, &c);
}

/*
 * One source more or less in a filter of the given mode. A filter that never had sources may change its mode; one
 * that includes nobody any more leaves the group.
 */
static int
source_locked(struct weir_socket *sk, const struct weir_addr *group, int port, bool include,
	      bool add, const union weir_ip *source)
{
	const struct weir_members *m = members_of(sk);
	uint32_t at = find(m, group, port);
	struct change c;
	unsigned int i;

	if (at == NOBODY)
		return -EINVAL;
	change_from(&c, &m->member[at]);
	if (c.include != include && c.fixed)
		return -EINVAL;
	c.include = include;
	c.fixed = true;
	for (i = 0; i < c.n; i++)
		if (same_ip(&c.source[i], source))
			break;
	if (add == (i < c.n))
		return -EADDRNOTAVAIL;
	if (!add && include && c.n == 1)
		return apply(sk, at, NULL);
	if (add && c.n >= max_sources(group))
		return -ENOBUFS;
	if (add)
		c.source[c.n++] = *source;
	else
		c.source[i] = c.source[--c.n];
	return apply(sk, at, &c);
}

int
weir_socket_join(struct weir_socket *sk, const struct weir_addr *group,
		 const struct weir_addr *source, int port)
{
	int ret = check_group(sk, group);

	if (ret == 0 && source != NULL && source->family != group->family)
		ret = -EINVAL;
	if (ret != 0)
		return ret;
	weir_ctl_lock(sk->stack);
	port = group_port(sk, group, port);
	if (port < 0)
		ret = port;
	else if (source == NULL)
		ret = join_locked(sk, group, port, false, NULL);
	else if (find(members_of(sk), group, port) == NOBODY)
		ret = join_locked(sk, group, port, true, &source->ip);
	else
		ret = source_locked(sk, group, port, true, true, &source->ip);
	weir_ctl_unlock(sk->stack);
	return ret;
}

/* Control lock held. The membership that is meant when the group is left with all of its sources. */
static int
whole_membership(struct weir_socket *sk, const struct weir_addr *group, int port, uint32_t *at)
{
	int on = group_port(sk, group, port);

	/* As Linux: of IPv6, without an interface, the first; of IPv4 that of the route. */
	if (port == -1 && group->family == WEIR_IPV6 && group->scope == 0)
		on = -1;
	else if (on < 0)
		return port == -1 ? on : -EADDRNOTAVAIL;
	*at = find(members_of(sk), group, on);
	return *at != NOBODY ? 0 : -EADDRNOTAVAIL;
}

int
weir_socket_leave(struct weir_socket *sk, const struct weir_addr *group,
		  const struct weir_addr *source, int port)
{
	int ret = check_group(sk, group);
	uint32_t at;

	if (ret == 0 && source != NULL && source->family != group->family)
		ret = -EINVAL;
	if (ret != 0)
		return ret;
	weir_ctl_lock(sk->stack);
	if (source == NULL) {
		ret = whole_membership(sk, group, port, &at);
		if (ret == 0)
			ret = apply(sk, at, NULL);
	} else {
		port = group_port(sk, group, port);
		ret = port < 0 ? port : source_locked(sk, group, port, true, false, &source->ip);
	}
	weir_ctl_unlock(sk->stack);
	return ret;
}

/* block, unblock */
static int
shut_out(struct weir_socket *sk, const struct weir_addr *group, const struct weir_addr *source,
	 int port, bool add)
{
	int ret = check_group(sk, group);

	if (ret == 0 && source->family != group->family)
		ret = -EINVAL;
	if (ret != 0)
		return ret;
	weir_ctl_lock(sk->stack);
	port = group_port(sk, group, port);
	ret = port < 0 ? port : source_locked(sk, group, port, false, add, &source->ip);
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_block(struct weir_socket *sk, const struct weir_addr *group,
		  const struct weir_addr *source, int port)
{
	return shut_out(sk, group, source, port, true);
}

int
weir_socket_unblock(struct weir_socket *sk, const struct weir_addr *group,
		    const struct weir_addr *source, int port)
{
	return shut_out(sk, group, source, port, false);
}

int
weir_socket_filter(struct weir_socket *sk, const struct weir_addr *group, int port, int include,
		   const struct weir_addr *sources, unsigned int n)
{
	struct change c = {.include = include != 0};
	int ret = check_group(sk, group);
	uint32_t at;

	if (ret == 0 && n > max_sources(group))
		ret = -ENOBUFS;
	for (unsigned int i = 0; ret == 0 && i < n; i++) {
		if (sources[i].family != group->family)
			ret = -EINVAL;
		c.source[c.n++] = sources[i].ip;
	}
	if (ret != 0)
		return ret;
	weir_ctl_lock(sk->stack);
	port = group_port(sk, group, port);
	at = port >= 0 ? find(members_of(sk), group, port) : NOBODY;
	if (port < 0) {
		ret = port;
	} else if (at == NOBODY) {
		ret = include != 0 && n == 0 ? -EADDRNOTAVAIL : -EINVAL;
	} else {
		c.group = members_of(sk)->member[at].group;
		c.port = (uint16_t)port;
		c.fixed = n > 0;
		ret = apply(sk, at, include != 0 && n == 0 ? NULL : &c);
	}
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_filter_get(struct weir_socket *sk, const struct weir_addr *group, int port,
		       int *include, struct weir_addr *sources, unsigned int n)
{
	int ret = check_group(sk, group);
	const struct weir_member *x;
	uint32_t at;

	if (ret != 0)
		return ret;
	weir_ctl_lock(sk->stack);
	port = group_port(sk, group, port);
	at = port >= 0 ? find(members_of(sk), group, port) : NOBODY;
	if (port < 0) {
		ret = port;
	} else if (at == NOBODY) {
		ret = -EADDRNOTAVAIL;
	} else {
		x = &members_of(sk)->member[at];
		*include = x->include;
		ret = x->n_sources;
		for (unsigned int i = 0; i < n && i < x->n_sources; i++)
			sources[i] =
				(struct weir_addr){.ip = x->source[i], .family = group->family};
	}
	weir_ctl_unlock(sk->stack);
	return ret;
}
