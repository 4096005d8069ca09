/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: the way that a datagram takes, and the address it comes from. See fib.h.
 */
#include <errno.h>

#include "fib.h"
#include "local.h"
#include "pmtu.h"

/* ---- which address to speak from ---- */

/* RFC 6724 3.1; values of RFC 4291 2.7. */
enum scope { SCOPE_INTERFACE = 1, SCOPE_LINK = 2, SCOPE_SITE = 5, SCOPE_GLOBAL = 14 };

static int
scope6(const union weir_ip *ip)
{
	if (weir_ip6_is_mcast(ip))
		return ip->b[1] & 0x0f;
	if (weir_ip6_is_link_local(ip) || weir_ip6_is_loopback(ip))
		return SCOPE_LINK;
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0xc0 ? SCOPE_SITE : SCOPE_GLOBAL;
}

/* The default policy table, RFC 6724 2.1: the labels. */
static int
label6(const union weir_ip *ip)
{
	static const struct {
		union weir_ip prefix;
		uint8_t bits, label;
	} policy[] = {
		{{.b = {[15] = 1}}, 128, 0},
		{{.b = {[10] = 0xff, 0xff}}, 96, 4},
		{{.b = {0}}, 96, 3},
		{{.b = {0x20, 0x01}}, 32, 5},
		{{.b = {0x20, 0x02}}, 16, 2},
		{{.b = {0x3f, 0xfe}}, 16, 12},
		{{.b = {0xfe, 0xc0}}, 10, 11},
		{{.b = {0xfc}}, 7, 13},
		{{.b = {0}}, 0, 1},
	};
	unsigned int i = 0;

	while (!weir_ip_in(ip, &policy[i].prefix, WEIR_IPV6, policy[i].bits))
		i++;
	return policy[i].label;
}

/* Leading bits that two addresses share, at most max. */
static int
common6(const union weir_ip *a, const union weir_ip *b, int max)
{
	int n = 0;

	while (n < max && ((a->b[n / 8] ^ b->b[n / 8]) & (0x80 >> n % 8)) == 0)
		n++;
	return n;
}

/* The rules of RFC 6724 5 in their order, as far as there can be a difference here. */
static bool
better6(const struct weir_local_addr *a, const struct weir_local_addr *b, const union weir_ip *dst,
	unsigned int port, uint64_t now_ns)
{
	const int scope_a = scope6(&a->ip), scope_b = scope6(&b->ip), scope_d = scope6(dst);
	const bool same_a = a->ip.w[0] == dst->w[0] && a->ip.w[1] == dst->w[1];
	const bool same_b = b->ip.w[0] == dst->w[0] && b->ip.w[1] == dst->w[1];
	const bool old_a = a->preferred_ns <= now_ns, old_b = b->preferred_ns <= now_ns;
	bool fits_a, fits_b;

	if (same_a != same_b) /* 1 */
		return same_a;
	if (scope_a != scope_b) /* 2 */
		return scope_a < scope_b ? scope_a >= scope_d : scope_b < scope_d;
	if (old_a != old_b) /* 3 */
		return old_b;
	if ((a->port == port) != (b->port == port)) /* 5 */
		return a->port == port;
	fits_a = label6(&a->ip) == label6(dst);
	fits_b = label6(&b->ip) == label6(dst);
	if (fits_a != fits_b) /* 6 */
		return fits_a;
	return common6(&a->ip, dst, a->bits) > common6(&b->ip, dst, b->bits); /* 8 */
}

/* May it be chosen for what leaves by this port? */
static bool
candidate(const struct weir_local_addr *a, uint8_t family, const union weir_ip *dst,
	  unsigned int port)
{
	if (a->family != family || a->tentative)
		return false;
	if (a->port == port)
		return true;
	/* IPv6: every address of this host, but not into another zone (RFC 6724 4). */
	return family == WEIR_IPV6 && !weir_ip6_is_link_local(&a->ip) &&
	       !weir_ip6_is_link_local(dst) && !weir_ip6_is_mcast(dst);
}

/* from: the source has to be in its prefix, or NULL. */
static const struct weir_local_addr *
choose_source(struct weir_stack *stack, uint8_t family, unsigned int port, const union weir_ip *dst,
	      const union weir_ip *next_hop, const struct weir_route *from)
{
	const uint64_t now_ns = family == WEIR_IPV6 ? weir_clock_ns() : 0;
	const struct weir_local_addr *best = NULL;
	const struct weir_local_addr *a;
	uint32_t n;

	a = weir_local_addrs(stack, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (!candidate(&a[i], family, dst, port) ||
		    (from != NULL && !weir_ip_in(&a[i].ip, &from->from, family, from->from_bits)))
			continue;
		if (family == WEIR_IPV6) {
			if (best == NULL || better6(&a[i], best, dst, port, now_ns))
				best = &a[i];
		} else if (weir_ip_in(next_hop, &a[i].ip, WEIR_IPV4, a[i].bits)) {
			return &a[i]; /* the first one on the next hop's link */
		} else if (best == NULL) {
			best = &a[i];
		}
	}
	return best;
}

/* ---- where it goes ---- */

/* What the rules of both families look at. */
struct ask {
	struct weir_stack *stack;
	const union weir_ip *dst;
	union weir_ip bound;
	uint8_t family;
	bool fixed; /* bound is one */
	bool mcast;
	int port; /* it has to leave by, -1: any */
	uint32_t flow;
};

static bool
is_loopback(const union weir_ip *ip, uint8_t family)
{
	return family == WEIR_IPV4 ? weir_is_loopback4(ip->v4) : weir_ip6_is_loopback(ip) != 0;
}

/* Stands for "this host" as the source of what goes to a group by the loopback port, and to 127/8. */
static union weir_ip
loopback_source(uint8_t family)
{
	union weir_ip ip = {.w = {0, 0}};

	if (family == WEIR_IPV4)
		ip.v4 = WIRE_BE32(0x7f000001);
	else
		ip.b[15] = 1;
	return ip;
}

static bool
port_usable(const struct weir_port *port)
{
	return atomic_load_explicit(&port->link_up, memory_order_relaxed) &&
	       !atomic_load_explicit(&port->dead, memory_order_relaxed);
}

static bool
has_address(struct weir_stack *stack, uint8_t family, unsigned int port)
{
	const struct weir_local_addr *a;
	uint32_t n;

	a = weir_local_addrs(stack, &n);
	for (uint32_t i = 0; i < n; i++)
		if (a[i].family == family && a[i].port == port)
			return true;
	return false;
}

/* IPv6 groups need no route: the first port with an address will do, as Linux has ff00::/8 on each. */
static int
group_port6(struct weir_stack *stack)
{
	const struct weir_local_addr *a;
	uint32_t n;

	a = weir_local_addrs(stack, &n);
	for (uint32_t i = 0; i < n; i++) {
		const struct weir_port *port = stack->ports[a[i].port];

		if (a[i].family == WEIR_IPV6 && !a[i].tentative && port != NULL &&
		    port_usable(port))
			return a[i].port;
	}
	return -1;
}

/* The port that addresses decide before any route is asked; 0 or an errno. */
static int
port_by_address(struct ask *q)
{
	struct weir_stack *stack = q->stack;
	const bool group = q->mcast || (q->family == WEIR_IPV4 && q->dst->v4 == 0xffffffff);
	const struct weir_local *from;
	const struct weir_port *port;

	if (q->port < 0 && q->fixed &&
	    (group || (q->family == WEIR_IPV6 && weir_ip6_is_link_local(q->dst)))) {
		from = weir_local_find(stack, &q->bound, q->family);
		if (from != NULL)
			q->port = from->port;
		else if (is_loopback(&q->bound, q->family))
			q->port = WEIR_PORT_LOOPBACK;
	}
	if (q->port < 0 && q->family == WEIR_IPV6 && weir_ip6_is_link_local(q->dst))
		return -ENETUNREACH; /* on which link? */
	if (q->port < 0)
		return 0;
	port = q->port < WEIR_ALL_PORTS ? stack->ports[q->port] : NULL;
	if (port == NULL)
		return -ENETUNREACH;
	return atomic_load_explicit(&port->dead, memory_order_relaxed) ? -ENETDOWN : 0;
}

/* No route by the port that was asked for: is the destination taken to be on its link? */
static bool
on_link(const struct ask *q)
{
	return q->port >= 0 && q->port != WEIR_PORT_LOOPBACK &&
	       port_usable(q->stack->ports[q->port]) &&
	       (has_address(q->stack, q->family, (unsigned int)q->port) ||
		weir_fib_uses_port(q->stack, q->family, (unsigned int)q->port));
}

static bool
allowed(const struct weir_nexthop *hop, int port)
{
	return (port < 0 || hop->port->index == port) && weir_hop_usable(hop);
}

/* Its share of the flows, in 1/65536. */
static uint32_t
share(const struct weir_route *r, unsigned int i)
{
	uint32_t end = i + 1u == r->n_hops ? 65536 : r->hop[i].weight;

	return end - (i == 0 ? 0 : r->hop[i - 1].weight);
}

/*
 * A hop by weight. A flow whose hop cannot be used is spread over those that can; the others stay where they are.
 * NULL: links went down meanwhile.
 */
static const struct weir_nexthop *
choose_hop(const struct weir_route *r, int port, uint32_t flow)
{
	uint32_t total = 0;
	uint32_t at = flow >> 16;
	unsigned int i = 0;

	if (likely(r->n_hops == 1))
		return allowed(&r->hop[0], port) ? &r->hop[0] : NULL;
	while (i + 1u < r->n_hops && at >= r->hop[i].weight)
		i++;
	if (allowed(&r->hop[i], port))
		return &r->hop[i];
	for (i = 0; i < r->n_hops; i++)
		total += allowed(&r->hop[i], port) ? share(r, i) : 0;
	at = (uint32_t)((uint64_t)(flow * UINT32_C(0x9e3779b9)) * total >> 32);
	for (i = 0; i < r->n_hops; i++) {
		if (!allowed(&r->hop[i], port))
			continue;
		if (at < share(r, i))
			return &r->hop[i];
		at -= share(r, i);
	}
	return NULL;
}

static bool
some_address_in(void *arg, const struct weir_route *r)
{
	const struct ask *q = arg;
	unsigned int port = q->port >= 0    ? (unsigned int)q->port
			    : r->n_hops > 0 ? r->hop[0].port->index
					    : WEIR_PORT_LOOPBACK;

	return choose_source(q->stack, q->family, port, q->dst, q->dst, r) != NULL;
}

/* The route; when only routes for some sources fit, one from whose prefix we have an address. */
static const struct weir_route *
find_route(struct ask *q)
{
	struct weir_fib_ask ask = {.from = &q->bound, .port = q->port};
	const struct weir_route *r = weir_fib_ask(q->stack, q->dst, q->family, &ask);

	if (r == NULL && !q->fixed) {
		ask.from_fits = some_address_in;
		ask.arg = q;
		r = weir_fib_ask(q->stack, q->dst, q->family, &ask);
	}
	/* A default route is not for groups where each port has a route for them. */
	if (r != NULL && q->mcast && q->family == WEIR_IPV6 && r->bits < 8)
		r = NULL;
	if (r == NULL && q->mcast && q->family == WEIR_IPV6 && q->port < 0)
		q->port = group_port6(q->stack);
	return r;
}

static int
error_of(const struct weir_route *r)
{
	switch (r->kind) {
	case WEIR_ROUTE_BLACKHOLE:
		return -EINVAL;
	case WEIR_ROUTE_UNREACHABLE:
		return -EHOSTUNREACH;
	case WEIR_ROUTE_PROHIBIT:
		return -EACCES;
	default:
		return 0;
	}
}

static void
fill_mtu(const struct ask *q, struct weir_way *way)
{
	const uint16_t mtu6 = atomic_load_explicit(&way->port->mtu6, memory_order_relaxed);
	uint16_t path = 0;

	way->mtu = way->port->mtu;
	if (q->family == WEIR_IPV6 && mtu6 != 0)
		way->mtu = RTE_MIN(way->mtu, mtu6);
	if (way->hop != NULL && way->hop->mtu != 0)
		way->mtu = RTE_MIN(way->mtu, way->hop->mtu);
	if (!q->mcast)
		path = weir_pmtu_get(q->stack, q->dst, q->family, weir_clock_ns(), &way->mtu_lock);
	if (path != 0)
		way->mtu = RTE_MIN(way->mtu, path);
}

/* To a wire. */
static int
way_out(struct ask *q, struct weir_way *way)
{
	struct weir_stack *stack = q->stack;
	const struct weir_route *r = find_route(q);
	const struct weir_nexthop *hop = NULL;
	const struct weir_local_addr *from;

	/* As Linux: IPv4 that has to leave by a port does so whatever the table says. */
	if (r != NULL && error_of(r) != 0 && q->family == WEIR_IPV4 && q->port >= 0)
		r = NULL;
	if (r != NULL) {
		if (error_of(r) != 0)
			return error_of(r);
		if (r->kind == WEIR_ROUTE_LOCAL) /* since a moment */
			return 0;
		hop = choose_hop(r, q->port, q->flow);
		if (hop == NULL)
			return -ENETUNREACH;
		way->port = hop->port;
		if (hop->has_gateway)
			way->next_hop = hop->gateway;
	} else if (on_link(q)) {
		way->port = stack->ports[q->port];
		way->on_link = true;
	} else {
		return -ENETUNREACH;
	}
	way->route = r;
	way->hop = hop;
	if (!q->fixed && hop != NULL && hop->has_src) {
		way->src = hop->src;
	} else if (!q->fixed) {
		from = choose_source(stack, q->family, way->port->index, q->dst, &way->next_hop,
				     r != NULL && r->from_bits != 0 ? r : NULL);
		if (from == NULL)
			return -EADDRNOTAVAIL;
		way->src = from->ip;
	}
	/* RFC 1122 3.2.1.3 (g), RFC 4291 2.5.3: never on a wire. */
	return is_loopback(&way->src, q->family) ? -EINVAL : 0;
}

int
weir_way_find(struct weir_stack *stack, const struct weir_way_key *key, struct weir_way *way)
{
	const uint8_t family = key->family;
	struct ask q = {
		.stack = stack,
		.dst = key->dst,
		.family = family,
		.mcast = family == WEIR_IPV4 ? weir_is_mcast4(key->dst->v4)
					     : weir_ip6_is_mcast(key->dst) != 0,
		.port = key->port,
		.flow = key->flow,
	};
	int ret;

	if (key->bound != NULL)
		q.bound = *key->bound;
	q.fixed = !weir_ip_is_any(&q.bound);
	*way = (struct weir_way){
		.port = stack->ports[WEIR_PORT_LOOPBACK],
		.next_hop = *key->dst,
		.src = q.bound,
	};
	way->mtu = way->port->mtu;
	if (q.fixed && weir_local(stack, &q.bound, family, q.port) != WEIR_LOCAL_UNICAST)
		return -ENETUNREACH;
	if (weir_local(stack, q.dst, family, q.port) == WEIR_LOCAL_UNICAST) { /* this very host */
		if (!q.fixed)
			way->src = is_loopback(q.dst, family) ? loopback_source(family) : *q.dst;
		return 0;
	}
	ret = port_by_address(&q);
	if (ret != 0)
		return ret;
	if (q.mcast && q.port == WEIR_PORT_LOOPBACK) {
		if (!q.fixed)
			way->src = loopback_source(family);
		return 0;
	}
	ret = way_out(&q, way);
	if (ret == 0)
		fill_mtu(&q, way);
	return ret;
}
