/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: what is wrong with an operation, in words: key, value, and what is allowed. Looks only, changes
 * nothing; what the tables say themselves (a route that exists) is found when it is carried out.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ctl_priv.h"
#include "fib.h"

#define MTU_MIN4 68   /* RFC 791: every link carries that */
#define MTU_MIN6 1280 /* RFC 8200 5 */

/* ---- texts ---- */

int
weir_ctl_refuse(struct weir_error *err, const struct weir_ctl_op *op, int code, const char *key,
		const struct weir_addr *addr, const char *what)
{
	char text[WEIR_ADDR_STRLEN];

	return weir_error_set(err, code, "%s%s%s: %s: %s", op->origin != NULL ? op->origin : "",
			      op->origin != NULL ? ": " : "", key,
			      weir_addr_format(addr, text, sizeof(text)), what);
}

int
weir_ctl_refuse_n(struct weir_error *err, const struct weir_ctl_op *op, int code, const char *key,
		  uint64_t value, const char *what)
{
	return weir_error_set(err, code, "%s%s%s: %" PRIu64 ": %s",
			      op->origin != NULL ? op->origin : "", op->origin != NULL ? ": " : "",
			      key, value, what);
}

/* ---- prefixes ---- */

static uint8_t
byte_mask(uint8_t bits, unsigned int i)
{
	const int left = (int)bits - (int)i * 8;

	return left >= 8 ? 0xff : left <= 0 ? 0 : (uint8_t)(0xff00u >> left);
}

bool
weir_ctl_covers(const struct weir_addr *prefix, uint8_t bits, const struct weir_addr *a)
{
	if (prefix->family != a->family)
		return false;
	for (unsigned int i = 0; i * 8 < bits; i++)
		if (((prefix->ip.b[i] ^ a->ip.b[i]) & byte_mask(bits, i)) != 0)
			return false;
	return true;
}

void
weir_ctl_mask(union weir_ip *ip, uint8_t bits)
{
	for (unsigned int i = bits / 8u; i < sizeof(ip->b); i++)
		ip->b[i] &= byte_mask(bits, i);
}

static bool
has_host_bits(const struct weir_addr *prefix, uint8_t bits)
{
	union weir_ip masked = prefix->ip;

	weir_ctl_mask(&masked, bits);
	return masked.w[0] != prefix->ip.w[0] || masked.w[1] != prefix->ip.w[1];
}

/* ---- addresses ---- */

static int
need_port(struct weir_stack *stack, const struct weir_ctl_op *op, unsigned int port,
	  struct weir_error *err)
{
	if (port < WEIR_MAX_PORTS && stack->ports[port] != NULL && !stack->ports[port]->dead)
		return 0;
	return weir_error_set(err, -ENODEV, "%s%sport: %u: no such port, there are %u",
			      op->origin != NULL ? op->origin : "", op->origin != NULL ? ": " : "",
			      port, stack->n_ports);
}

int
weir_ctl_check_port(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	return need_port(stack, op, op->port, err);
}

/* A unicast address that a host can have on a port. */
static int
check_host(const struct weir_ctl_op *op, const char *key, const struct weir_addr *a,
	   unsigned int port, struct weir_error *err)
{
	uint32_t ip = WIRE_BE32(a->ip.v4);

	switch (a->family) {
	case WEIR_IPV4:
		if (ip >> 24 == 0 || ip >> 24 == 127 || ip >> 28 >= 14)
			return weir_ctl_refuse(
				err, op, -EINVAL, key, a,
				"a unicast address is wanted: not 0/8, 127/8, 224/3");
		return 0;
	case WEIR_IPV6:
		if (weir_ip_is_any(&a->ip) || weir_ip6_is_loopback(&a->ip) ||
		    weir_ip6_is_mcast(&a->ip) || weir_ip_is_mapped(&a->ip))
			return weir_ctl_refuse(
				err, op, -EINVAL, key, a,
				"a unicast address is wanted: not ::, ::1, ff00::/8, "
				"::ffff:0:0/96");
		if (a->scope != 0 && (!weir_is_link_local(a) || a->scope != port + 1))
			return weir_ctl_refuse(
				err, op, -EINVAL, key, a,
				"a scope is for link-local addresses, and names their port");
		return 0;
	}
	return weir_ctl_refuse(err, op, -EAFNOSUPPORT, key, a, "an IPv4 or IPv6 address is wanted");
}

int
weir_ctl_check_addr(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_control *c = stack->control;
	uint32_t host, all;
	int ret = need_port(stack, op, op->port, err);

	if (ret == 0)
		ret = check_host(op, "address", &op->addr, op->port, err);
	if (ret != 0)
		return ret;
	if (op->prefix_bits < 1 || op->prefix_bits > weir_family_bits(op->addr.family))
		return weir_ctl_refuse(err, op, -EINVAL, "address", &op->addr,
				       op->addr.family == WEIR_IPV4 ? "prefix length 1 to 32"
								    : "prefix length 1 to 128");
	all = op->prefix_bits < 32 ? UINT32_MAX >> op->prefix_bits : 0;
	host = WIRE_BE32(op->addr.ip.v4) & all;
	if (op->addr.family == WEIR_IPV4 && op->prefix_bits < 31 && (host == 0 || host == all))
		return weir_ctl_refuse(err, op, -EINVAL, "address", &op->addr,
				       host == 0 ? "is the network address of its prefix"
						 : "is the broadcast address of its prefix");
	/* A link-local address may be ours on several links. */
	for (size_t i = 0; i < c->n_addr; i++)
		if (weir_same_ip(&c->addr[i].addr, &op->addr) &&
		    (!weir_is_link_local(&op->addr) || c->addr[i].port == op->port))
			return weir_ctl_refuse(err, op, -EEXIST, "address", &op->addr,
					       "is ours already");
	return 0;
}

int
weir_ctl_check_neigh(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	static const uint8_t zero[WIRE_ETH_ALEN];
	int ret = need_port(stack, op, op->port, err);

	if (ret == 0)
		ret = check_host(op, "address", &op->addr, op->port, err);
	if (ret == 0 && op->kind == WEIR_CTL_NEIGH_ADD &&
	    ((op->mac[0] & 1) != 0 || memcmp(op->mac, zero, sizeof(zero)) == 0))
		ret = weir_ctl_refuse(err, op, -EINVAL, "mac", &op->addr,
				      "the MAC of a neighbour is neither a group nor zero");
	return ret;
}

/* ---- routes ---- */

/* Key, family and length of a prefix; below its length all is 0. */
static int
check_prefix(const struct weir_ctl_op *op, const char *key, const struct weir_addr *prefix,
	     uint8_t bits, struct weir_error *err)
{
	if (prefix->family != WEIR_IPV4 && prefix->family != WEIR_IPV6)
		return weir_ctl_refuse(err, op, -EAFNOSUPPORT, key, prefix,
				       "an IPv4 or IPv6 prefix is wanted");
	if (bits > weir_family_bits(prefix->family))
		return weir_ctl_refuse(err, op, -EINVAL, key, prefix,
				       prefix->family == WEIR_IPV4 ? "prefix length 0 to 32"
								   : "prefix length 0 to 128");
	if (has_host_bits(prefix, bits))
		return weir_ctl_refuse(err, op, -EINVAL, key, prefix,
				       "has bits below its prefix length");
	return 0;
}

/* Is the gateway a neighbour, by an address of ours or by an on-link route of that port? */
static bool
gateway_on_link(struct weir_stack *stack, unsigned int port, const struct weir_addr *gw)
{
	const struct weir_control *c = stack->control;
	const union weir_ip any = {.w = {0, 0}};
	const struct weir_route *r;

	if (weir_is_link_local(gw)) /* on every link */
		return true;
	for (size_t i = 0; i < c->n_addr; i++)
		if (c->addr[i].port == port && !c->addr[i].learned &&
		    weir_ctl_covers(&c->addr[i].addr, c->addr[i].bits, gw))
			return true;
	r = weir_fib_lookup(stack, &gw->ip, gw->family, &any, (int)port);
	if (r == NULL || r->kind != WEIR_ROUTE_UNICAST)
		return false;
	for (unsigned int i = 0; i < r->n_hops; i++)
		if (r->hop[i].port->index == port && !r->hop[i].has_gateway)
			return true;
	return false;
}

static int
check_hop(struct weir_stack *stack, const struct weir_ctl_op *op, unsigned int i,
	  struct weir_error *err)
{
	const struct weir_control *c = stack->control;
	const struct weir_route_conf *r = op->route;
	const struct weir_hop *h = &r->hop[i];
	const struct weir_port *port;
	uint16_t port_mtu;
	int ret = need_port(stack, op, h->port, err);

	if (ret != 0)
		return ret;
	port = stack->ports[h->port];
	port_mtu = port->mtu != 0 ? port->mtu : port->want_mtu;
	if (port_mtu != 0 && r->mtu > port_mtu) /* 0: not known before the port has started */
		return weir_ctl_refuse_n(err, op, -EINVAL, "mtu", r->mtu,
					 "is more than its port carries");
	if (h->weight > 255)
		return weir_ctl_refuse_n(err, op, -EINVAL, "weight", h->weight,
					 "allowed are 1 to 255, or 0 for 1");
	for (unsigned int j = 0; j < i; j++)
		if (r->hop[j].port == h->port && weir_same_ip(&r->hop[j].gateway, &h->gateway))
			return weir_ctl_refuse(err, op, -EINVAL, "via", &h->gateway,
					       "is given twice");
	if (h->gateway.family == WEIR_UNSPEC)
		return 0;
	ret = check_host(op, "via", &h->gateway, h->port, err);
	if (ret != 0)
		return ret;
	if (h->gateway.family != r->prefix.family)
		return weir_ctl_refuse(err, op, -EINVAL, "via", &h->gateway,
				       "is not of the prefix's family");
	for (size_t k = 0; k < c->n_addr; k++)
		if (weir_same_ip(&c->addr[k].addr, &h->gateway) &&
		    (!weir_is_link_local(&h->gateway) || c->addr[k].port == h->port))
			return weir_ctl_refuse(err, op, -EINVAL, "via", &h->gateway,
					       "is an address of ours");
	if (!gateway_on_link(stack, h->port, &h->gateway))
		return weir_ctl_refuse(
			err, op, -ENETUNREACH, "via", &h->gateway,
			"is not on link: no address or on-link route of that port has it");
	return 0;
}

static int
check_source(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_control *c = stack->control;
	const struct weir_route_conf *r = op->route;

	if (r->src.family == WEIR_UNSPEC)
		return 0;
	if (r->src.family != r->prefix.family)
		return weir_ctl_refuse(err, op, -EINVAL, "src", &r->src,
				       "is not of the prefix's family");
	for (size_t i = 0; i < c->n_addr; i++)
		if (weir_same_ip(&c->addr[i].addr, &r->src) && !c->addr[i].duplicate)
			return 0;
	return weir_ctl_refuse(err, op, -EINVAL, "src", &r->src, "is not an address of ours");
}

/* All of the prefix would be ours: only where a host can have addresses. */
static int
check_anyip(const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_route_conf *r = op->route;
	int ret;

	if (r->prefix_bits == 0)
		return weir_ctl_refuse(err, op, -EINVAL, "prefix", &r->prefix,
				       "a local route has a prefix length of 1 or more");
	ret = check_host(op, "prefix", &r->prefix, 0, err);
	if (ret == 0 && weir_is_link_local(&r->prefix))
		ret = weir_ctl_refuse(err, op, -EINVAL, "prefix", &r->prefix,
				      "link-local addresses are ours one by one");
	return ret;
}

int
weir_ctl_check_route(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_route_conf *r = op->route;
	unsigned int mtu_min;
	int ret;

	if (r == NULL || r->size != sizeof(*r))
		return weir_ctl_refuse_n(err, op, -EINVAL, "size", r != NULL ? r->size : 0,
					 "weir_route_conf_init() sets it");
	ret = check_prefix(op, "prefix", &r->prefix, r->prefix_bits, err);
	if (ret == 0 && r->from.family != WEIR_UNSPEC)
		ret = check_prefix(op, "from", &r->from, r->from_bits, err);
	if (ret == 0 && r->from.family != WEIR_UNSPEC && r->from.family != r->prefix.family)
		ret = weir_ctl_refuse(err, op, -EINVAL, "from", &r->from,
				      "is not of the prefix's family");
	if (ret != 0 || op->kind == WEIR_CTL_ROUTE_DEL)
		return ret;
	if (r->kind > WEIR_ROUTE_PROHIBIT)
		return weir_ctl_refuse_n(
			err, op, -EINVAL, "type", r->kind,
			"unicast, local, blackhole, unreachable, prohibit: 0 to 4");
	mtu_min = r->prefix.family == WEIR_IPV4 ? MTU_MIN4 : MTU_MIN6;
	if (r->mtu != 0 && (r->mtu < mtu_min || r->mtu > UINT16_MAX))
		return weir_ctl_refuse_n(err, op, -EINVAL, "mtu", r->mtu,
					 r->prefix.family == WEIR_IPV4
						 ? "allowed are 68 to 65535, or 0"
						 : "allowed are 1280 to 65535, or 0");
	if (r->kind != WEIR_ROUTE_UNICAST) {
		if (r->n_hops != 0 || r->mtu != 0 || r->src.family != WEIR_UNSPEC)
			return weir_ctl_refuse(err, op, -EINVAL, "type", &r->prefix,
					       "only a unicast route has via, port, mtu or src");
		return r->kind == WEIR_ROUTE_LOCAL ? check_anyip(op, err) : 0;
	}
	if (r->n_hops < 1 || r->n_hops > WEIR_MAX_HOPS)
		return weir_ctl_refuse_n(err, op, -EINVAL, "via", r->n_hops,
					 "a unicast route has 1 to 8 hops");
	ret = check_source(stack, op, err);
	for (unsigned int i = 0; i < r->n_hops && ret == 0; i++)
		ret = check_hop(stack, op, i, err);
	return ret;
}
