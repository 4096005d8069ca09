/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: what becomes due by itself: what workers have found out and left here (see control_state.h),
 * lifetimes of what was learned, the links of the ports, objects whose grace period is over. Done by the
 * worker that has the tick, under the control lock when that is free; when it is not, the next tick is as good.
 *
 * All of it becomes operations, which are checked and carried out as everybody else's. Bounded: at most
 * LEARNED_MAX learned addresses and as many learned routes per port; what is beyond is not taken.
 * RFC 4861 6.3.4, RFC 4862 5.5.3, RFC 4191.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "ctl_priv.h"
#include "fib.h"
#include "local.h"
#include "log.h"
#include "mcast.h"
#include "ndp.h"
#include "stack_priv.h"

#define POSTS            256 /* between two ticks; what does not fit is lost, as messages on a wire are */
#define LEARNED_MAX      16 /* addresses of a port; routes of a port */
#define LINK_NS          (100 * WEIR_NS_PER_MS)
#define TWO_HOURS_NS     (7200 * WEIR_NS_PER_S)
#define REDIRECT_NS      (600 * WEIR_NS_PER_S)
#define METRIC_ONLINK    256  /* of an advertised prefix */
#define METRIC_ROUTER    1024 /* of an advertised router; preferred ones 128 less, others 128 more */
#define METRIC_REDIRECT  1024
#define RANKS            64   /* metrics of one preference */
#define RA_MTU_MIN       1280 /* RFC 8200 5 */
#define PREFIX_AUTO_BITS 64   /* RFC 4291 2.5.1 */

static_assert(sizeof(struct weir_post) % 4 == 0, "rings take words of 4 bytes");
static_assert(WEIR_MAX_PORTS * LEARNED_MAX == WEIR_LEASES, "a place for every learned route");

/* ---- the box ---- */

int
weir_ctl_posts_init(struct weir_stack *stack)
{
	ssize_t size = rte_ring_get_memsize_elem(sizeof(struct weir_post), POSTS);
	struct rte_ring *r;

	if (size < 0)
		return -EINVAL;
	r = rte_zmalloc("weir_posts", (size_t)size, WEIR_CACHE_LINE);
	if (r == NULL)
		return -ENOMEM;
	if (rte_ring_init(r, "weir_posts", POSTS, RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return -EINVAL;
	}
	stack->control->posts = r;
	return 0;
}

void
weir_ctl_posts_fini(struct weir_stack *stack)
{
	rte_free(stack->control->posts);
	stack->control->posts = NULL;
}

bool
weir_ctl_post(struct weir_stack *stack, const struct weir_post *ev)
{
	struct weir_post copy = *ev;

	return rte_ring_mp_enqueue_elem(stack->control->posts, &copy, sizeof(copy)) == 0;
}

/* ---- learned routes ---- */

static uint64_t
until(uint64_t now_ns, uint32_t seconds)
{
	return seconds == UINT32_MAX ? UINT64_MAX : now_ns + (uint64_t)seconds * WEIR_NS_PER_S;
}

static struct weir_ctl_lease *
find_lease(struct weir_control *c, const struct weir_addr *prefix, uint8_t bits, unsigned int port,
	   const struct weir_addr *gateway)
{
	for (unsigned int i = 0; i < c->n_lease; i++) {
		struct weir_ctl_lease *l = &c->lease[i];

		if (weir_same_ip(&l->prefix, prefix) && l->bits == bits && l->port == port &&
		    weir_same_ip(&l->gateway, gateway))
			return l;
	}
	return NULL;
}

static void
lease_conf(const struct weir_ctl_lease *l, struct weir_route_conf *conf)
{
	weir_route_conf_init(conf);
	conf->prefix = l->prefix;
	conf->prefix_bits = l->bits;
	conf->metric = l->metric;
	conf->n_hops = 1;
	conf->hop[0].port = l->port;
	conf->hop[0].gateway = l->gateway;
}

/* The route goes, and its lease; that somebody has removed it already is as well. */
static void
lease_end(struct weir_stack *stack, struct weir_ctl_lease *l)
{
	struct weir_control *c = stack->control;
	struct weir_route_conf conf;
	struct weir_ctl_op op = {.kind = WEIR_CTL_ROUTE_DEL, .route = &conf};

	lease_conf(l, &conf);
	if (weir_ctl_apply_locked(stack, &op, 1, NULL) == -ENOMEM)
		return; /* is tried again: it stays due */
	*l = c->lease[--c->n_lease];
}

static struct weir_ctl_lease *
first_to_end(struct weir_control *c, unsigned int port)
{
	struct weir_ctl_lease *first = NULL;

	for (unsigned int i = 0; i < c->n_lease; i++)
		if (c->lease[i].port == port && c->lease[i].redirect &&
		    (first == NULL || c->lease[i].valid_ns < first->valid_ns))
			first = &c->lease[i];
	return first;
}

static unsigned int
n_leases(const struct weir_control *c, unsigned int port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < c->n_lease; i++)
		n += c->lease[i].port == port;
	return n;
}

/* Learn a route, learn that it lives on, or (valid_ns 0) that it does not. */
static void
learn_route(struct weir_stack *stack, const struct weir_ctl_lease *want)
{
	struct weir_control *c = stack->control;
	struct weir_ctl_lease *l =
		find_lease(c, &want->prefix, want->bits, want->port, &want->gateway);
	struct weir_ctl_lease fresh = *want;
	struct weir_route_conf conf;
	struct weir_ctl_op op = {.kind = WEIR_CTL_ROUTE_ADD, .route = &conf, .learned = true};

	if (l != NULL && (want->valid_ns == 0 || l->metric - want->metric >= RANKS)) {
		lease_end(stack, l); /* no more, or with another preference */
		l = NULL;
	}
	if (want->valid_ns == 0)
		return;
	if (l != NULL) {
		l->valid_ns = want->valid_ns;
		return;
	}
	if (n_leases(c, want->port) >= LEARNED_MAX) {
		/* Only the latest redirects are worth keeping. */
		l = want->redirect ? first_to_end(c, want->port) : NULL;
		if (l == NULL)
			return;
		lease_end(stack, l);
		if (n_leases(c, want->port) >= LEARNED_MAX)
			return;
	}
	/* Routers of equal preference are ranked in the order of their appearance. */
	for (; fresh.metric < want->metric + RANKS; fresh.metric++) {
		int ret;

		lease_conf(&fresh, &conf);
		ret = weir_ctl_apply_locked(stack, &op, 1, NULL);
		if (ret == 0)
			c->lease[c->n_lease++] = fresh;
		if (ret != -EEXIST)
			return;
	}
}

/* ---- what workers have found out ---- */

static struct weir_port *
live_port(struct weir_stack *stack, unsigned int index)
{
	struct weir_port *port = index < WEIR_MAX_PORTS ? stack->ports[index] : NULL;

	return port != NULL && !atomic_load(&port->dead) ? port : NULL;
}

/* RFC 4862 5.4 has come to an end; RFC 5227 2.1.1 as well. */
static void
settled(struct weir_stack *stack, const struct weir_post *ev)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_ADDR_SETTLE,
				 .port = ev->port,
				 .addr = ev->addr,
				 .duplicate = ev->kind == WEIR_POST_ADDR_DUPLICATE};
	char text[WEIR_ADDR_STRLEN];
	int ret = weir_ctl_apply_locked(stack, &op, 1, NULL);

	if (ret == -ENOMEM)
		(void)weir_ctl_post(stack, ev); /* at the next tick */
	if (ret != 0 || !op.duplicate)
		return;
	op.addr.port = 0;
	WEIR_LOG(ERR,
		 "%s: %s: is the address of %02x:%02x:%02x:%02x:%02x:%02x, too: it is not used",
		 stack->ports[ev->port]->device, weir_addr_format(&op.addr, text, sizeof(text)),
		 ev->mac[0], ev->mac[1], ev->mac[2], ev->mac[3], ev->mac[4], ev->mac[5]);
}

/* RFC 4862 5.5.3 (e): nobody who forges an advertisement makes an address go at once. */
static uint64_t
shortened(uint64_t now_ns, uint64_t old_ns, uint64_t new_ns)
{
	const uint64_t two_hours = now_ns + TWO_HOURS_NS;

	if (new_ns > two_hours || new_ns > old_ns)
		return new_ns;
	return old_ns <= two_hours ? old_ns : two_hours;
}

/* RFC 4862 5.5.3: an address of our own making in an advertised prefix. */
static void
autoconf(struct weir_stack *stack, const struct weir_port *port, const struct weir_post *ev,
	 uint64_t now_ns)
{
	struct weir_control *c = stack->control;
	struct weir_ctl_op op = {.kind = WEIR_CTL_ADDR_ADD,
				 .port = port->index,
				 .addr = ev->addr,
				 .prefix_bits = ev->bits,
				 .learned = true,
				 .valid_ns = until(now_ns, ev->valid_s),
				 .preferred_ns = until(now_ns, ev->preferred_s)};
	unsigned int n = 0;
	int i;

	if (ev->bits != PREFIX_AUTO_BITS || ev->preferred_s > ev->valid_s ||
	    weir_is_link_local(&ev->addr))
		return;
	weir_ctl_eui64(&op.addr, port->parse.mac);
	i = weir_ctl_addr_index(c, port->index, &op.addr);
	if (i >= 0) {
		struct weir_ctl_addr *a = &c->addr[i];

		if (!a->learned)
			return;
		a->valid_ns = shortened(now_ns, a->valid_ns, op.valid_ns);
		a->preferred_ns = RTE_MIN(op.preferred_ns, a->valid_ns);
		c->restate = true;
		return;
	}
	for (size_t k = 0; k < c->n_addr; k++)
		n += c->addr[k].port == port->index && c->addr[k].learned;
	if (ev->valid_s != 0 && n < LEARNED_MAX)
		(void)weir_ctl_apply_locked(stack, &op, 1, NULL);
}

static void
prefix(struct weir_stack *stack, const struct weir_port *port, const struct weir_post *ev,
       uint64_t now_ns)
{
	struct weir_post masked = *ev;
	struct weir_ctl_lease want = {.bits = ev->bits,
				      .port = port->index,
				      .metric = METRIC_ONLINK,
				      .valid_ns =
					      ev->valid_s == 0 ? 0 : until(now_ns, ev->valid_s)};

	weir_ctl_mask(&masked.addr.ip, ev->bits);
	masked.addr.scope = 0;
	masked.addr.port = 0;
	want.prefix = masked.addr;
	if (weir_is_link_local(&want.prefix) || weir_ip6_is_mcast(&want.prefix.ip))
		return;
	if ((ev->flags & WEIR_PREFIX_ONLINK) != 0)
		learn_route(stack, &want);
	if ((ev->flags & WEIR_PREFIX_AUTO) != 0)
		autoconf(stack, port, &masked, now_ns);
}

static void
router(struct weir_stack *stack, const struct weir_port *port, const struct weir_post *ev,
       uint64_t now_ns)
{
	struct weir_ctl_lease want = {
		.prefix = {.family = WEIR_IPV6},
		.port = port->index,
		.gateway = ev->addr,
		.metric = (uint32_t)(METRIC_ROUTER - 128 * (int32_t)ev->value),
		.valid_ns = ev->valid_s == 0 ? 0 : until(now_ns, ev->valid_s)};

	if ((int32_t)ev->value < -1 || (int32_t)ev->value > 1)
		return;
	want.gateway.port = 0;
	learn_route(stack, &want);
}

static void
redirect(struct weir_stack *stack, const struct weir_port *port, const struct weir_post *ev,
	 uint64_t now_ns)
{
	struct weir_ctl_lease want = {.prefix = ev->addr,
				      .bits = weir_family_bits(ev->addr.family),
				      .port = port->index,
				      .metric = METRIC_REDIRECT,
				      .redirect = true,
				      .valid_ns = now_ns + REDIRECT_NS};
	struct weir_control *c = stack->control;

	want.prefix.port = 0;
	want.prefix.scope = 0;
	/* The one before does not hold any more. */
	for (unsigned int i = 0; i < c->n_lease; i++)
		if (c->lease[i].redirect && weir_same_ip(&c->lease[i].prefix, &want.prefix) &&
		    c->lease[i].port == want.port) {
			lease_end(stack, &c->lease[i]);
			break;
		}
	if (!weir_same_ip(&ev->gateway, &ev->addr)) {
		want.gateway = ev->gateway;
		want.gateway.port = 0;
	}
	learn_route(stack, &want);
}

static void
act(struct weir_stack *stack, const struct weir_post *ev, uint64_t now_ns)
{
	struct weir_port *port = live_port(stack, ev->port);

	if (port == NULL) /* it has gone meanwhile */
		return;
	switch (ev->kind) {
	case WEIR_POST_ADDR_UNIQUE:
	case WEIR_POST_ADDR_DUPLICATE:
		settled(stack, ev);
		break;
	case WEIR_POST_PREFIX:
		prefix(stack, port, ev, now_ns);
		break;
	case WEIR_POST_ROUTER:
		router(stack, port, ev, now_ns);
		break;
	case WEIR_POST_RA_MTU:
		/* RFC 4861 6.3.4: not above the link's own, not below what IPv6 needs. */
		if (ev->value >= RA_MTU_MIN && ev->value <= port->mtu &&
		    atomic_exchange(&port->mtu6, (uint16_t)ev->value) != ev->value)
			weir_fib_touch(stack);
		break;
	case WEIR_POST_REDIRECT:
		redirect(stack, port, ev, now_ns);
		break;
	case WEIR_POST_LINK:
		stack->control->link_ns = now_ns;
		break;
	}
}

/* ---- time ---- */

/* Learned addresses and routes whose time is over go. */
static void
expire(struct weir_stack *stack, uint64_t now_ns)
{
	struct weir_control *c = stack->control;

	/* From the end: what is removed makes those behind it move up. */
	for (size_t i = c->n_addr; i > 0; i--) {
		const struct weir_ctl_addr *a = &c->addr[i - 1];
		struct weir_ctl_op op = {
			.kind = WEIR_CTL_ADDR_DEL, .port = a->port, .addr = a->addr};

		if (a->valid_ns <= now_ns)
			(void)weir_ctl_apply_locked(stack, &op, 1, NULL);
		else if (a->preferred_ns <= now_ns && a->preferred_ns > c->expired_ns)
			c->restate = true;
	}
	for (unsigned int i = c->n_lease; i > 0; i--)
		if (c->lease[i - 1].valid_ns <= now_ns)
			lease_end(stack, &c->lease[i - 1]);
	c->expired_ns = now_ns;
}

/* Other lifetimes of the same addresses: caches choose their source again. */
static void
restate(struct weir_stack *stack)
{
	struct weir_locals *l = weir_local_build(stack);

	if (l == NULL) /* at the next tick */
		return;
	weir_local_publish(stack, l);
	weir_fib_touch(stack);
	stack->control->restate = false;
}

/* ---- links ---- */

static void
link_changed(struct weir_stack *stack, const struct weir_port *of, bool up)
{
	WEIR_LOG(NOTICE, "%s: link is %s", of->device, up ? "up" : "down");
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		struct weir_port *port = live_port(stack, p);

		if (port == NULL || port->parent != of->index)
			continue;
		atomic_store(&port->link_up, up);
		if (!up)
			atomic_store(&port->announced, false);
	}
	weir_fib_touch(stack);
}

/* Speak only where somebody can hear it: frames for a link that is down would wait, and then be old. */
static void
announce(struct weir_stack *stack, const struct weir_port *of)
{
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		struct weir_port *port = live_port(stack, p);

		if (port == NULL || port->parent != of->index || port->announced)
			continue;
		weir_dad_port_up(stack, port);
		atomic_store(&port->announced, true);
	}
}

/* Who does not say is taken to be up. */
static bool
device_is_up(const struct weir_port *port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port->ethdev, &link) != 0 ||
	       link.link_status == RTE_ETH_LINK_UP;
}

static void
look_at_links(struct weir_stack *stack)
{
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		const struct weir_port *port = live_port(stack, p);
		bool up;

		if (port == NULL || port->parent != port->index)
			continue;
		up = device_is_up(port);
		if (up != atomic_load(&port->link_up))
			link_changed(stack, port, up);
		if (up)
			announce(stack, port);
	}
}

/* ---- the tick ---- */

static void
set_due(struct weir_control *c)
{
	uint64_t due = c->restate ? 0 : c->link_ns;

	for (size_t i = 0; i < c->n_addr; i++) {
		due = RTE_MIN(due, c->addr[i].valid_ns);
		if (c->addr[i].preferred_ns > c->expired_ns)
			due = RTE_MIN(due, c->addr[i].preferred_ns);
	}
	for (unsigned int i = 0; i < c->n_lease; i++)
		due = RTE_MIN(due, c->lease[i].valid_ns);
	atomic_store_explicit(&c->due_ns, due, memory_order_relaxed);
}

void
weir_ctl_tick(struct weir_stack *stack, uint64_t now_ns)
{
	struct weir_control *c = stack->control;
	struct weir_post ev;

	if (!weir_rcu_pending(stack) && rte_ring_empty(c->posts) &&
	    now_ns < atomic_load_explicit(&c->due_ns, memory_order_relaxed))
		return;
	if (pthread_mutex_trylock(&c->lock) != 0)
		return;
	for (unsigned int n = rte_ring_count(c->posts); n > 0; n--)
		if (rte_ring_sc_dequeue_elem(c->posts, &ev, sizeof(ev)) == 0)
			act(stack, &ev, now_ns);
	expire(stack, now_ns);
	if (c->restate)
		restate(stack);
	if (now_ns >= c->link_ns) {
		look_at_links(stack);
		c->link_ns = now_ns + LINK_NS;
	}
	set_due(c);
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
}

/* ---- ports come and go ---- */

int
weir_ctl_ports_up(struct weir_stack *stack)
{
	struct weir_ctl_op op[WEIR_MAX_PORTS];
	unsigned int n = 0;
	int ret;

	for (unsigned int p = 0; p < stack->n_ports; p++)
		if (stack->ports[p] != NULL)
			op[n++] = (struct weir_ctl_op){.kind = WEIR_CTL_LINK_LOCAL, .port = p};
	ret = weir_ctl_apply_locked(stack, op, n, NULL);
	if (ret != 0)
		return ret;
	for (unsigned int i = 0; i < n; i++) {
		struct weir_port *port = stack->ports[op[i].port];

		weir_mcast_port_up(stack, port);
		/* One that is down yet counts as up until the first look, but has nothing to say. */
		if (port->parent == port->index && device_is_up(port))
			announce(stack, port);
	}
	/* The ports' MTU and MAC are known only now: cached headers of an earlier run go. */
	weir_fib_touch(stack);
	stack->control->link_ns = 0;
	atomic_store_explicit(&stack->control->due_ns, 0, memory_order_relaxed);
	return 0;
}

void
weir_ctl_forget_learned(struct weir_stack *stack, unsigned int port)
{
	struct weir_control *c = stack->control;

	for (unsigned int i = c->n_lease; i > 0; i--)
		if (c->lease[i - 1].port == port)
			c->lease[i - 1] = c->lease[--c->n_lease];
}
