/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Membership of multicast groups in all the forms that Linux has for it: of IPv4, of IPv6, and of either; with and
 * without sources; whole filters. What they mean is in sockgroup.c.
 */
#include "bsd_opt.h"

#include <netinet/in.h>
#include <string.h>

#include "../control_state.h"
#include "../local.h"

/* ---- interfaces ---- */

/* The port that has the address (network order), or -ENODEV. */
static int
port_of_address(const struct bsd_sock *s, uint32_t ip)
{
	struct weir_stack *stack = s->sk->stack;
	union weir_ip addr = {.w = {0, 0}};
	const struct weir_local *l;
	int port = -ENODEV;

	addr.v4 = ip;
	weir_ctl_lock(stack); /* keeps the snapshot */
	l = weir_local_find(stack, &addr, WEIR_IPV4);
	if (l != NULL && l->kind == WEIR_LOCAL_UNICAST)
		port = l->port;
	else if (weir_is_loopback4(ip))
		port = WEIR_PORT_LOOPBACK;
	weir_ctl_unlock(stack);
	return port;
}

/* The interface that an ip_mreqn or less names: a port, -1 (by route), -ENODEV. */
static int
mreq_port(const struct bsd_sock *s, const struct ip_mreqn *m)
{
	if (m->imr_ifindex != 0)
		return bsd_port_of(s, (unsigned int)m->imr_ifindex);
	return m->imr_address.s_addr == 0 ? -1 : port_of_address(s, m->imr_address.s_addr);
}

int
bsd_set_mcast_if(struct bsd_sock *s, const void *value, socklen_t len)
{
	const int bound = get_native(s, WEIR_OPT_BIND_PORT);
	struct ip_mreqn m;
	int port, ret;

	memset(&m, 0, sizeof(m));
	if (len >= sizeof(m))
		memcpy(&m, value, sizeof(m));
	else if (len >= sizeof(struct ip_mreq))
		memcpy(&m, value, sizeof(struct ip_mreq));
	else if (len >= sizeof(struct in_addr))
		memcpy(&m.imr_address, value, sizeof(struct in_addr));
	else
		return -EINVAL;
	port = mreq_port(s, &m);
	if (port < -1)
		return -EADDRNOTAVAIL;
	if (bound >= 0 && port >= 0 && port != bound)
		return -EINVAL;
	ret = weir_socket_set(s->sk, WEIR_OPT_MCAST_PORT, port);
	if (ret == 0)
		atomic_store_explicit(&s->mcast_if, m.imr_address.s_addr, memory_order_relaxed);
	return ret;
}

int
bsd_set_mcast_if6(struct bsd_sock *s, int ifindex)
{
	const int bound = get_native(s, WEIR_OPT_BIND_PORT);
	const int port = bsd_port_of(s, (unsigned int)ifindex);

	if (port < -1)
		return port;
	if (bound >= 0 && port >= 0 && port != bound)
		return -EINVAL;
	return weir_socket_set(s->sk, WEIR_OPT_MCAST_PORT6, port);
}

/* ---- one membership, one source ---- */

static struct weir_addr
addr4(uint32_t ip)
{
	struct weir_addr a;

	memset(&a, 0, sizeof(a));
	a.ip.v4 = ip;
	a.family = WEIR_IPV4;
	return a;
}

static struct weir_addr
addr6(const struct in6_addr *ip)
{
	struct weir_addr a;

	memset(&a, 0, sizeof(a));
	memcpy(a.ip.b, ip, sizeof(a.ip.b));
	a.family = WEIR_IPV6;
	return a;
}

/* A group or source in its protocol-independent form, of the given family. */
static bool
addr_of(const struct sockaddr_storage *ss, uint8_t family, struct weir_addr *out)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (ss->ss_family != (family == WEIR_IPV4 ? AF_INET : AF_INET6))
		return false;
	if (family == WEIR_IPV4) {
		memcpy(&in, ss, sizeof(in));
		*out = addr4(in.sin_addr.s_addr);
	} else {
		memcpy(&in6, ss, sizeof(in6));
		*out = addr6(&in6.sin6_addr);
	}
	return true;
}

enum verb { JOIN, LEAVE, BLOCK, UNBLOCK };

static int
change(struct bsd_sock *s, enum verb verb, const struct weir_addr *group,
       const struct weir_addr *source, int port)
{
	switch (verb) {
	case JOIN:
		return weir_socket_join(s->sk, group, source, port);
	case LEAVE:
		return weir_socket_leave(s->sk, group, source, port);
	case BLOCK:
		return weir_socket_block(s->sk, group, source, port);
	case UNBLOCK:
	default:
		return weir_socket_unblock(s->sk, group, source, port);
	}
}

static int
membership(struct bsd_sock *s, enum verb verb, const void *value, socklen_t len)
{
	struct weir_addr group;
	struct ip_mreqn m;

	if (len < sizeof(struct ip_mreq))
		return -EINVAL;
	memset(&m, 0, sizeof(m));
	memcpy(&m, value, len >= sizeof(m) ? sizeof(m) : sizeof(struct ip_mreq));
	group = addr4(m.imr_multiaddr.s_addr);
	return change(s, verb, &group, NULL, mreq_port(s, &m));
}

static int
source_membership(struct bsd_sock *s, enum verb verb, const void *value, socklen_t len)
{
	struct weir_addr group, source;
	struct ip_mreq_source m;
	struct ip_mreqn n;

	if (len != sizeof(m))
		return -EINVAL;
	memcpy(&m, value, sizeof(m));
	n = (struct ip_mreqn){.imr_address = m.imr_interface};
	group = addr4(m.imr_multiaddr.s_addr);
	source = addr4(m.imr_sourceaddr.s_addr);
	return change(s, verb, &group, &source, mreq_port(s, &n));
}

static int
membership6(struct bsd_sock *s, enum verb verb, const void *value, socklen_t len)
{
	struct weir_addr group;
	struct ipv6_mreq m;

	if (len < sizeof(m))
		return -EINVAL;
	memcpy(&m, value, sizeof(m));
	group = addr6(&m.ipv6mr_multiaddr);
	return change(s, verb, &group, NULL, bsd_port_of(s, m.ipv6mr_interface));
}

static int
group_membership(struct bsd_sock *s, enum verb verb, uint8_t family, const void *value,
		 socklen_t len)
{
	struct weir_addr group;
	struct group_req r;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, value, sizeof(r));
	if (!addr_of(&r.gr_group, family, &group))
		return family == WEIR_IPV4 ? -EINVAL : -EADDRNOTAVAIL;
	return change(s, verb, &group, NULL, bsd_port_of(s, r.gr_interface));
}

static int
group_source(struct bsd_sock *s, enum verb verb, uint8_t family, const void *value, socklen_t len)
{
	struct weir_addr group, source;
	struct group_source_req r;

	if (len < sizeof(r))
		return -EINVAL;
	memcpy(&r, value, sizeof(r));
	if (!addr_of(&r.gsr_group, family, &group) || !addr_of(&r.gsr_source, family, &source))
		return -EADDRNOTAVAIL;
	return change(s, verb, &group, &source, bsd_port_of(s, r.gsr_interface));
}

/* ---- whole filters ---- */

static unsigned int
max_sources(uint8_t family)
{
	return family == WEIR_IPV4 ? WEIR_MAX_SOURCES4 : WEIR_MAX_SOURCES6;
}

static int
set_filter(struct bsd_sock *s, const struct weir_addr *group, int port, uint32_t mode,
	   const struct weir_addr *sources, unsigned int n)
{
	if (mode != MCAST_INCLUDE && mode != MCAST_EXCLUDE)
		return -EINVAL;
	return weir_socket_filter(s->sk, group, port, mode == MCAST_INCLUDE, sources, n);
}

static int
set_msfilter(struct bsd_sock *s, const void *value, socklen_t len)
{
	struct weir_addr sources[WEIR_MAX_SOURCES4], group;
	struct ip_mreqn n;
	struct ip_msfilter f;

	if (len < IP_MSFILTER_SIZE(0))
		return -EINVAL;
	memcpy(&f, value, IP_MSFILTER_SIZE(0));
	if (f.imsf_numsrc > WEIR_MAX_SOURCES4)
		return -ENOBUFS;
	if (len < IP_MSFILTER_SIZE(f.imsf_numsrc))
		return -EINVAL;
	for (uint32_t i = 0; i < f.imsf_numsrc; i++) {
		uint32_t ip;

		memcpy(&ip, (const uint8_t *)value + IP_MSFILTER_SIZE(0) + i * sizeof(ip),
		       sizeof(ip));
		sources[i] = addr4(ip);
	}
	group = addr4(f.imsf_multiaddr.s_addr);
	n = (struct ip_mreqn){.imr_address = f.imsf_interface};
	return set_filter(s, &group, mreq_port(s, &n), f.imsf_fmode, sources, f.imsf_numsrc);
}

static int
get_msfilter(struct bsd_sock *s, void *value, socklen_t *len)
{
	struct weir_addr sources[WEIR_MAX_SOURCES4], group;
	unsigned int room, count;
	struct ip_mreqn n;
	struct ip_msfilter f;
	int include, ret;

	if (*len < IP_MSFILTER_SIZE(0))
		return -EINVAL;
	memcpy(&f, value, IP_MSFILTER_SIZE(0));
	group = addr4(f.imsf_multiaddr.s_addr);
	n = (struct ip_mreqn){.imr_address = f.imsf_interface};
	ret = weir_socket_filter_get(s->sk, &group, mreq_port(s, &n), &include, sources,
				     WEIR_MAX_SOURCES4);
	if (ret < 0)
		return ret;
	room = RTE_MIN(f.imsf_numsrc,
		       (uint32_t)((*len - IP_MSFILTER_SIZE(0)) / sizeof(struct in_addr)));
	count = RTE_MIN((unsigned int)ret, room);
	f.imsf_numsrc = (uint32_t)ret;
	f.imsf_fmode = include ? MCAST_INCLUDE : MCAST_EXCLUDE;
	memcpy(value, &f, IP_MSFILTER_SIZE(0));
	for (unsigned int i = 0; i < count; i++)
		memcpy((uint8_t *)value + IP_MSFILTER_SIZE(i), &sources[i].ip.v4, 4);
	*len = (socklen_t)IP_MSFILTER_SIZE(count);
	return 0;
}

#define FILTER_HEAD offsetof(struct group_filter, gf_slist)

static int
set_group_filter(struct bsd_sock *s, uint8_t family, const void *value, socklen_t len)
{
	struct weir_addr sources[WEIR_MAX_SOURCES6], group;
	struct sockaddr_storage ss;
	struct group_filter f;

	if (len < FILTER_HEAD)
		return -EINVAL;
	memcpy(&f, value, FILTER_HEAD);
	if (f.gf_numsrc > max_sources(family))
		return -ENOBUFS;
	if (len < FILTER_HEAD + f.gf_numsrc * sizeof(ss))
		return -EINVAL;
	if (!addr_of(&f.gf_group, family, &group))
		return -EADDRNOTAVAIL;
	for (uint32_t i = 0; i < f.gf_numsrc; i++) {
		memcpy(&ss, (const uint8_t *)value + FILTER_HEAD + i * sizeof(ss), sizeof(ss));
		if (!addr_of(&ss, family, &sources[i]))
			return -EADDRNOTAVAIL;
	}
	return set_filter(s, &group, bsd_port_of(s, f.gf_interface), f.gf_fmode, sources,
			  f.gf_numsrc);
}

static int
get_group_filter(struct bsd_sock *s, uint8_t family, void *value, socklen_t *len)
{
	struct weir_addr sources[WEIR_MAX_SOURCES6], group;
	unsigned int room, count;
	struct group_filter f;
	int include, ret;

	if (*len < FILTER_HEAD)
		return -EINVAL;
	memcpy(&f, value, FILTER_HEAD);
	if (!addr_of(&f.gf_group, family, &group))
		return -EADDRNOTAVAIL;
	ret = weir_socket_filter_get(s->sk, &group, bsd_port_of(s, f.gf_interface), &include,
				     sources, WEIR_MAX_SOURCES6);
	if (ret < 0)
		return ret;
	room = RTE_MIN(f.gf_numsrc,
		       (uint32_t)((*len - FILTER_HEAD) / sizeof(struct sockaddr_storage)));
	count = RTE_MIN((unsigned int)ret, room);
	f.gf_numsrc = (uint32_t)ret;
	f.gf_fmode = include ? MCAST_INCLUDE : MCAST_EXCLUDE;
	memcpy(value, &f, FILTER_HEAD);
	for (unsigned int i = 0; i < count; i++) {
		uint8_t *to = (uint8_t *)value + FILTER_HEAD + i * sizeof(struct sockaddr_storage);
		const struct sockaddr_in in = {.sin_family = AF_INET,
					       .sin_addr.s_addr = sources[i].ip.v4};
		const struct sockaddr_in6 in6 = bsd_sin6(&sources[i]);

		memset(to, 0, sizeof(struct sockaddr_storage));
		if (family == WEIR_IPV4)
			memcpy(to, &in, sizeof(in));
		else
			memcpy(to, &in6, sizeof(in6));
	}
	*len = (socklen_t)(FILTER_HEAD + count * sizeof(struct sockaddr_storage));
	return 0;
}

/* ---- by number ---- */

/* The forms that have the same numbers at both levels. */
static bool
is_group_any(int name)
{
	return name >= MCAST_JOIN_GROUP && name <= MCAST_MSFILTER;
}

static int
set_group_any(struct bsd_sock *s, uint8_t family, int name, const void *value, socklen_t len)
{
	switch (name) {
	case MCAST_JOIN_GROUP:
		return group_membership(s, JOIN, family, value, len);
	case MCAST_LEAVE_GROUP:
		return group_membership(s, LEAVE, family, value, len);
	case MCAST_JOIN_SOURCE_GROUP:
		return group_source(s, JOIN, family, value, len);
	case MCAST_LEAVE_SOURCE_GROUP:
		return group_source(s, LEAVE, family, value, len);
	case MCAST_BLOCK_SOURCE:
		return group_source(s, BLOCK, family, value, len);
	case MCAST_UNBLOCK_SOURCE:
		return group_source(s, UNBLOCK, family, value, len);
	case MCAST_MSFILTER:
	default:
		return set_group_filter(s, family, value, len);
	}
}

bool
bsd_is_group4(int name)
{
	return (name >= IP_ADD_MEMBERSHIP && name <= IP_MSFILTER) || is_group_any(name);
}

int
bsd_set_group4(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	switch (name) {
	case IP_ADD_MEMBERSHIP:
		return membership(s, JOIN, value, len);
	case IP_DROP_MEMBERSHIP:
		return membership(s, LEAVE, value, len);
	case IP_ADD_SOURCE_MEMBERSHIP:
		return source_membership(s, JOIN, value, len);
	case IP_DROP_SOURCE_MEMBERSHIP:
		return source_membership(s, LEAVE, value, len);
	case IP_BLOCK_SOURCE:
		return source_membership(s, BLOCK, value, len);
	case IP_UNBLOCK_SOURCE:
		return source_membership(s, UNBLOCK, value, len);
	case IP_MSFILTER:
		return set_msfilter(s, value, len);
	default:
		return set_group_any(s, WEIR_IPV4, name, value, len);
	}
}

int
bsd_get_group4(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	return name == IP_MSFILTER ? get_msfilter(s, value, len)
				   : get_group_filter(s, WEIR_IPV4, value, len);
}

bool
bsd_is_group6(int name)
{
	return name == IPV6_JOIN_GROUP || name == IPV6_LEAVE_GROUP || is_group_any(name);
}

int
bsd_set_group6(struct bsd_sock *s, int name, const void *value, socklen_t len)
{
	switch (name) {
	case IPV6_JOIN_GROUP:
		return membership6(s, JOIN, value, len);
	case IPV6_LEAVE_GROUP:
		return membership6(s, LEAVE, value, len);
	default:
		return set_group_any(s, WEIR_IPV6, name, value, len);
	}
}

int
bsd_get_group6(struct bsd_sock *s, int name, void *value, socklen_t *len)
{
	(void)name; /* MCAST_MSFILTER is the only one */
	return get_group_filter(s, WEIR_IPV6, value, len);
}
