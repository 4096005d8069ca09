/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: router and prefix discovery of a host (RFC 4861 6.3, RFC 4862 5.5.3, RFC 4191, RFC 7559). See ndp.h.
 *
 * What an advertisement says about the link itself (hop limit, timers, the router's MAC) takes effect here; what
 * it says about addresses, routes and the MTU is posted to control, which owns those and their lifetimes.
 */
#include "ndp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control_state.h"
#include "fib.h"
#include "neigh.h"

/* RFC 4861 10; RFC 7559 2: then ever more seldom, until somebody answers. */
#define SOLICIT_DELAY_NS WEIR_NS_PER_S
#define SOLICIT_FIRST_NS (4 * WEIR_NS_PER_S)
#define SOLICIT_MAX_NS   (3600 * WEIR_NS_PER_S)
/* Advertisements and redirects of one port that are looked at per second. */
#define PER_SECOND 32
/* Prefixes that are taken from one advertisement. */
#define PREFIXES_MAX 16
#define MTU_MIN      1280 /* RFC 8200 5 */

struct rd_port {
	/* Of the worker that has the tick; the others only set the flags. */
	uint64_t due_ns;
	uint64_t interval_ns;
	bool soliciting;
	_Atomic bool restart; /* by control: the link has come up */
	_Atomic bool heard;   /* by any lcore: a router has answered */
	/* What has been taken of the present second. */
	_Atomic uint64_t second;
	_Atomic uint32_t taken;
};

struct weir_rdisc {
	uint64_t rng; /* of the worker that has the tick */
	struct rd_port port[WEIR_MAX_PORTS];
};

int
weir_rdisc_init(struct weir_stack *stack)
{
	stack->rdisc = calloc(1, sizeof(*stack->rdisc));
	if (stack->rdisc == NULL)
		return -ENOMEM;
	stack->rdisc->rng = stack->hash_key[0] ^ stack->hash_key[2];
	return 0;
}

void
weir_rdisc_fini(struct weir_stack *stack)
{
	free(stack->rdisc);
	stack->rdisc = NULL;
}

/* ---- out ---- */

static uint64_t
below(struct weir_rdisc *rd, uint64_t n)
{
	uint64_t r = rd->rng += UINT64_C(0x9e3779b97f4a7c15);

	r = (r ^ (r >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	return (r ^ (r >> 31)) % n;
}

void
weir_rdisc_port_up(struct weir_stack *stack, const struct weir_port *port)
{
	if (port->index < WEIR_MAX_PORTS)
		atomic_store_explicit(&stack->rdisc->port[port->index].restart, true,
				      memory_order_release);
}

static void
port_tick(struct weir_lcore *lc, struct weir_rdisc *rd, unsigned int index)
{
	const struct weir_port *port = weir_port_at(lc->stack, index);
	struct rd_port *p = &rd->port[index];

	if (atomic_load_explicit(&p->restart, memory_order_relaxed) &&
	    atomic_exchange_explicit(&p->restart, false, memory_order_acquire)) {
		atomic_store_explicit(&p->heard, false, memory_order_relaxed);
		p->soliciting = true;
		p->interval_ns = 0;
		p->due_ns = lc->now_ns + below(rd, SOLICIT_DELAY_NS);
	}
	if (!p->soliciting || port == NULL || lc->now_ns < p->due_ns)
		return;
	if (!atomic_load_explicit(&port->accept_ra, memory_order_relaxed) ||
	    atomic_load_explicit(&p->heard, memory_order_relaxed)) {
		p->soliciting = false;
		return;
	}
	weir_ndp_router_solicit(lc, port);
	/* RFC 7559 2: doubled each time, give or take a tenth. */
	p->interval_ns = p->interval_ns == 0
				 ? SOLICIT_FIRST_NS
				 : RTE_MIN(2 * p->interval_ns, (uint64_t)SOLICIT_MAX_NS);
	p->due_ns =
		lc->now_ns + p->interval_ns - p->interval_ns / 10 + below(rd, p->interval_ns / 5);
}

void
weir_rdisc_tick(struct weir_lcore *lc)
{
	struct weir_rdisc *rd = lc->stack->rdisc;

	if (rd == NULL)
		return;
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++)
		port_tick(lc, rd, p);
}

/* ---- in ---- */

/*
 * A flood is not worth more than a few messages per second; a router repeats itself. Two lcores may both begin
 * a second: a few more are taken.
 */
static bool
rate_ok(struct weir_lcore *lc, const struct weir_port *port)
{
	struct rd_port *p = &lc->stack->rdisc->port[port->index];
	const uint64_t second = lc->now_ns / WEIR_NS_PER_S;

	if (atomic_load_explicit(&p->second, memory_order_relaxed) != second) {
		atomic_store_explicit(&p->second, second, memory_order_relaxed);
		atomic_store_explicit(&p->taken, 0, memory_order_relaxed);
	}
	return atomic_fetch_add_explicit(&p->taken, 1, memory_order_relaxed) < PER_SECOND;
}

static uint16_t
get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static struct weir_addr
address(const uint8_t *p, const struct weir_port *port)
{
	struct weir_addr a = {.family = WEIR_IPV6};

	memcpy(a.ip.b, p, sizeof(a.ip.b));
	if (weir_ip6_is_link_local(&a.ip))
		a.scope = port->index + 1u;
	return a;
}

/* RFC 4861 4.6.2, 6.3.4; RFC 4862 5.5.3 (b), (c), (d). o: an option of 32 bytes. */
static void
prefix(struct weir_lcore *lc, const struct weir_port *port, const uint8_t *o)
{
	struct weir_post post = {
		.kind = WEIR_POST_PREFIX,
		.port = port->index,
		.bits = o[2],
		.valid_s = get32(o + 4),
		.preferred_s = get32(o + 8),
		.addr = address(o + 16, port),
	};

	if (post.bits > 128 || post.addr.scope != 0 || weir_ip6_is_mcast(&post.addr.ip))
		return;
	for (unsigned int i = post.bits; i < 128; i++) /* what is below the length says nothing */
		post.addr.ip.b[i / 8] &= (uint8_t) ~(0x80u >> (i % 8));
	if (weir_ip_is_any(&post.addr.ip))
		return; /* everything is no prefix of a link */
	if ((o[3] & 0x80) != 0)
		post.flags |= WEIR_PREFIX_ONLINK;
	/* The rest of the address is the interface's 64 bits. */
	if ((o[3] & 0x40) != 0 && post.preferred_s <= post.valid_s && post.bits == 64)
		post.flags |= WEIR_PREFIX_AUTO;
	if (post.flags != 0)
		(void)weir_ctl_post(lc->stack, &post);
}

static void
prefixes(struct weir_lcore *lc, const struct weir_port *port, const struct weir_ndp_msg *msg)
{
	const uint8_t *p = (const uint8_t *)msg->icmp;
	unsigned int n = 0;

	for (uint32_t off = msg->fixed; off < msg->len && n < PREFIXES_MAX;
	     off += p[off + 1] * 8u) {
		if (p[off] != WEIR_NDP_PREFIX || p[off + 1] != 4)
			continue;
		prefix(lc, port, p + off);
		n++;
	}
}

void
weir_rdisc_ra(struct weir_lcore *lc, const struct weir_port *port, const struct weir_ndp_msg *msg)
{
	struct weir_stack *stack = lc->stack;
	const uint8_t *p = (const uint8_t *)msg->icmp;
	const uint16_t lifetime_s = get16(p + 6);
	const struct weir_addr router = address(msg->ip->src, port);
	const struct weir_neigh_claim claim = {
		.mac = msg->mac, .create = true, .has_router = true, .router = true};
	/* RFC 4191 2.1: 1, 0, (reserved, as 0), -1. */
	static const int8_t preference[4] = {0, 1, 0, -1};
	struct weir_post post = {.port = port->index, .addr = router};

	if (port->index >= WEIR_MAX_PORTS ||
	    !atomic_load_explicit(&port->accept_ra, memory_order_relaxed) || !rate_ok(lc, port))
		return;
	if (lifetime_s != 0)
		atomic_store_explicit(&stack->rdisc->port[port->index].heard, true,
				      memory_order_relaxed);
	if (p[4] != 0)
		atomic_store_explicit((_Atomic uint8_t *)(uintptr_t)&port->cur_hop_limit, p[4],
				      memory_order_relaxed);
	weir_neigh_times(stack, port, get32(p + 8), get32(p + 12));
	(void)weir_neigh_learn(lc, port, &router.ip, WEIR_IPV6, &claim);
	post.kind = WEIR_POST_ROUTER;
	post.valid_s = lifetime_s;
	post.value = (uint32_t)(int32_t)preference[p[5] >> 3 & 3];
	(void)weir_ctl_post(stack, &post);
	if (msg->opt[WEIR_NDP_MTU] != NULL && msg->opt_len[WEIR_NDP_MTU] == 1) {
		const uint32_t mtu = get32(msg->opt[WEIR_NDP_MTU] + 4);

		post.kind = WEIR_POST_RA_MTU;
		post.value = mtu;
		if (mtu >= MTU_MIN && mtu <= port->mtu)
			(void)weir_ctl_post(stack, &post);
	}
	prefixes(lc, port, msg);
}

bool
weir_rdisc_redirect(struct weir_lcore *lc, const struct weir_port *port,
		    const struct weir_ndp_msg *msg)
{
	const uint8_t *p = (const uint8_t *)msg->icmp;
	const struct weir_addr from = address(msg->ip->src, port);
	const struct weir_addr target = address(p + 8, port);
	const struct weir_addr dst = address(p + 24, port);
	static const union weir_ip any;
	const bool on_link = memcmp(&target.ip, &dst.ip, sizeof(dst.ip)) == 0;
	struct weir_neigh_claim claim = {
		.mac = msg->mac, .create = true, .has_router = !on_link, .router = true};
	const struct weir_way_key key = {
		.dst = &dst.ip, .bound = &any, .family = WEIR_IPV6, .port = -1};
	struct weir_post post = {
		.kind = WEIR_POST_REDIRECT, .port = port->index, .addr = dst, .gateway = target};
	struct weir_way way;

	/* RFC 4861 8.1. */
	if (weir_ip6_is_mcast(&dst.ip) || (!weir_ip6_is_link_local(&target.ip) && !on_link))
		return false;
	if (port->index >= WEIR_MAX_PORTS ||
	    !atomic_load_explicit(&port->accept_redirects, memory_order_relaxed))
		return true;
	if (weir_way_find(lc->stack, &key, &way) != 0 || way.port->index != port->index ||
	    memcmp(&way.next_hop, &from.ip, sizeof(from.ip)) != 0)
		return false;
	if (!rate_ok(lc, port))
		return true;
	(void)weir_neigh_learn(lc, port, &target.ip, WEIR_IPV6, &claim);
	(void)weir_ctl_post(lc->stack, &post);
	return true;
}
