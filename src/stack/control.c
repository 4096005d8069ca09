/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: the control lock, transactions of operations, and the public calls that are one operation
 * each. See control.h and control_state.h.
 *
 * A transaction changes the list of addresses and a private state of the routing table, keeping what it
 * needs to undo; what the data path reads is published once, at the end. An address brings a connected route, and
 * takes it along; routes that prefer it as their source go with it, as in Linux. Routes whose gateway is no longer
 * on link stay: they lead on as soon as it is again.
 */
#include "control.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl_priv.h"
#include "fib.h"
#include "local.h"
#include "mcast.h"
#include "ndp.h"
#include "neigh.h"
#include "stack_priv.h"

int
weir_error_set(struct weir_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL)
		return code;
	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}

/* ---- the lock ---- */

void
weir_ctl_breathe(struct weir_stack *stack)
{
	unsigned int work = 0;

	/* A thread may be several workers: each of them may be the one that is waited for. */
	for (struct weir_lcore *lc = weir_thread_lcores; lc != NULL; lc = lc->thread_next)
		if (lc->stack == stack)
			work += weir_turn(lc);
	if (work == 0)
		sched_yield();
}

void
weir_ctl_lock(struct weir_stack *stack)
{
	struct weir_lcore *self = weir_self(stack);

	if (self == NULL || self->kind != WEIR_LC_WORKER) {
		pthread_mutex_lock(&stack->control->lock);
		return;
	}
	/* The holder may be waiting for this very worker's turn. */
	while (pthread_mutex_trylock(&stack->control->lock) != 0)
		weir_ctl_breathe(stack);
}

void
weir_ctl_unlock(struct weir_stack *stack)
{
	pthread_mutex_unlock(&stack->control->lock);
}

uint64_t
weir_ctl_random(struct weir_stack *stack)
{
	/* splitmix64 */
	uint64_t z = (stack->control->rng += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* ---- the list of addresses ---- */

int
weir_ctl_addr_index(const struct weir_control *c, unsigned int port, const struct weir_addr *a)
{
	for (size_t i = 0; i < c->n_addr; i++)
		if (c->addr[i].port == port && weir_same_ip(&c->addr[i].addr, a))
			return (int)i;
	return -1;
}

/* Room for one more, so that what is taken out can always be put back. */
static int
list_room(struct weir_control *c)
{
	size_t want = c->cap_addr == 0 ? 16 : c->cap_addr * 2;
	struct weir_ctl_addr *p;

	if (c->n_addr < c->cap_addr)
		return 0;
	p = realloc(c->addr, want * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	c->addr = p;
	c->cap_addr = want;
	return 0;
}

/* At place i, those from there on move up: of two addresses the first is preferred. */
static void
list_put(struct weir_control *c, const struct weir_ctl_addr *a, size_t i)
{
	memmove(&c->addr[i + 1], &c->addr[i], (c->n_addr - i) * sizeof(*c->addr));
	c->addr[i] = *a;
	c->n_addr++;
}

static void
list_take(struct weir_control *c, size_t i)
{
	memmove(&c->addr[i], &c->addr[i + 1], (c->n_addr - i - 1) * sizeof(*c->addr));
	c->n_addr--;
}

/* ---- a transaction ---- */

/* What an operation on addresses, neighbours or ports replaced, so that it can be undone. */
struct undo {
	struct weir_ctl_addr gone; /* taken out of the list from gone_at, or changed there */
	size_t gone_at;
	bool has_gone, changed;
	uint8_t n_fresh;
	struct weir_addr fresh[2]; /* put into the list, in this order */
	enum weir_neigh_state neigh;
	uint8_t mac[WIRE_ETH_ALEN];
	struct weir_ctl_addr *addr; /* PORT_REMOVE: the list as it was */
	size_t n_addr;
};

struct txn {
	struct weir_stack *stack;
	struct weir_error *err;
	struct weir_fib_txn *fib; /* begun with the first route that changes */
	bool locals;              /* addresses have changed */
	struct undo *undo;        /* one for each operation that is not about routes */
	unsigned int done;        /* operations carried out */
	unsigned int n_undo;      /* of those, with an undo */
	bool src_routes;          /* as it was */
};

static bool
has_undo(const struct weir_ctl_op *op)
{
	return op->kind != WEIR_CTL_ROUTE_ADD && op->kind != WEIR_CTL_ROUTE_DEL;
}

static int
no_memory(struct txn *t)
{
	return weir_error_set(t->err, -ENOMEM, "out of memory");
}

static int
need_fib(struct txn *t)
{
	if (t->fib == NULL)
		t->fib = weir_fib_begin(t->stack);
	return t->fib != NULL ? 0 : -ENOMEM;
}

/* ---- routes ---- */

/* The route that comes with an address of ours. */
static int
connected(struct txn *t, const struct weir_ctl_addr *a, bool add)
{
	struct weir_nexthop hop = {.src = a->addr.ip,
				   .port = t->stack->ports[a->port],
				   .weight = UINT16_MAX,
				   .has_src = true};
	struct weir_route r = {.prefix = a->addr.ip,
			       .family = a->addr.family,
			       .bits = a->bits,
			       .kind = WEIR_ROUTE_UNICAST,
			       .n_hops = 1,
			       .connected = true,
			       .hop = &hop};
	int ret = need_fib(t);

	weir_ctl_mask(&r.prefix, r.bits);
	if (ret == 0)
		ret = add ? weir_fib_add(t->fib, &r) : weir_fib_del(t->fib, &r);
	return ret == -ENOENT ? 0 : ret;
}

/* Is the address one that the stack answers to, so that its link is known to be there? */
static bool
brings_route(const struct weir_ctl_addr *a)
{
	/* What a router advertises as on link comes apart from the addresses made of it. */
	return !a->tentative && !a->duplicate && !a->learned;
}

/* Prefix, from, metric of a route; hops and the rest are the caller's. */
static struct weir_route
route_key(const struct weir_route_conf *conf)
{
	return (struct weir_route){.prefix = conf->prefix.ip,
				   .from = conf->from.ip,
				   .family = conf->prefix.family,
				   .bits = conf->prefix_bits,
				   .from_bits =
					   conf->from.family != WEIR_UNSPEC ? conf->from_bits : 0,
				   .kind = conf->kind,
				   .metric = conf->metric};
}

/* The upper bounds of the hops' shares, of which the last is everything. */
static void
share_out(struct weir_nexthop *hop, const unsigned int *weight, unsigned int n)
{
	unsigned int total = 0;
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i++)
		total += weight[i];
	for (unsigned int i = 0; i < n; i++) {
		sum += weight[i];
		hop[i].weight = (uint16_t)((uint64_t)sum * UINT16_MAX / total);
	}
}

static int
route_add(struct txn *t, const struct weir_ctl_op *op)
{
	const struct weir_route_conf *conf = op->route;
	struct weir_nexthop hop[WEIR_MAX_HOPS];
	unsigned int weight[WEIR_MAX_HOPS];
	struct weir_route r;
	int ret = weir_ctl_check_route(t->stack, op, t->err);

	if (ret != 0)
		return ret;
	r = route_key(conf);
	r.n_hops = (uint8_t)conf->n_hops;
	r.learned = op->learned;
	r.hop = hop;
	for (unsigned int i = 0; i < conf->n_hops; i++) {
		const struct weir_hop *h = &conf->hop[i];

		weight[i] = h->weight != 0 ? h->weight : 1;
		hop[i] = (struct weir_nexthop){.gateway = h->gateway.ip,
					       .src = conf->src.ip,
					       .port = t->stack->ports[h->port],
					       .mtu = (uint16_t)conf->mtu,
					       .has_gateway = h->gateway.family != WEIR_UNSPEC,
					       .has_src = conf->src.family != WEIR_UNSPEC};
	}
	if (conf->n_hops > 0)
		share_out(hop, weight, conf->n_hops);
	ret = need_fib(t);
	if (ret == 0)
		ret = weir_fib_add(t->fib, &r);
	if (ret == -EEXIST)
		return weir_ctl_refuse(t->err, op, ret, "prefix", &conf->prefix,
				       "has a route already, with this from and metric");
	if (ret != 0)
		return no_memory(t);
	if (conf->src.family != WEIR_UNSPEC)
		t->stack->control->src_routes = true;
	return 0;
}

static int
route_del(struct txn *t, const struct weir_ctl_op *op)
{
	struct weir_route r;
	int ret = weir_ctl_check_route(t->stack, op, t->err);

	if (ret != 0)
		return ret;
	r = route_key(op->route);
	ret = need_fib(t);
	if (ret == 0)
		ret = weir_fib_del(t->fib, &r);
	if (ret == -ENOENT)
		return weir_ctl_refuse(t->err, op, ret, "prefix", &op->route->prefix,
				       "has no route that was added");
	return ret == 0 ? 0 : no_memory(t);
}

/* Routes that go or change because something else goes: found first, then changed. */
struct sweep {
	const struct weir_addr *src; /* those that prefer it as their source; NULL: */
	unsigned int port;           /* those with a hop by this port */
	struct weir_route *found;
	size_t n, cap;
	int ret;
};

static bool
concerns(const struct sweep *w, const struct weir_route *r)
{
	if (w->src != NULL)
		return !r->connected && r->n_hops > 0 && r->hop[0].has_src &&
		       r->family == w->src->family && r->hop[0].src.w[0] == w->src->ip.w[0] &&
		       r->hop[0].src.w[1] == w->src->ip.w[1];
	for (unsigned int i = 0; i < r->n_hops; i++)
		if (r->hop[i].port->index == w->port)
			return true;
	return false;
}

static bool
collect(void *arg, const struct weir_route *r)
{
	struct sweep *w = arg;

	if (!concerns(w, r))
		return true;
	if (w->n == w->cap) {
		size_t cap = w->cap != 0 ? w->cap * 2 : 16;
		struct weir_route *p = realloc(w->found, cap * sizeof(*p));

		if (p == NULL) {
			w->ret = -ENOMEM;
			return false;
		}
		w->found = p;
		w->cap = cap;
	}
	w->found[w->n++] = *r;
	return true;
}

/* The route without its hops by the port; the others take over their share. */
static int
without_port(struct txn *t, const struct weir_route *r, unsigned int port)
{
	struct weir_nexthop hop[WEIR_MAX_HOPS];
	unsigned int weight[WEIR_MAX_HOPS];
	struct weir_route left = *r;
	unsigned int n = 0;
	unsigned int below = 0;
	int ret;

	for (unsigned int i = 0; i < r->n_hops; i++) {
		unsigned int share = r->hop[i].weight - below;

		below = r->hop[i].weight;
		if (r->hop[i].port->index == port)
			continue;
		weight[n] = share != 0 ? share : 1;
		hop[n++] = r->hop[i];
	}
	ret = weir_fib_del(t->fib, r);
	if (ret != 0 || n == 0)
		return ret;
	share_out(hop, weight, n);
	left.hop = hop;
	left.n_hops = (uint8_t)n;
	return weir_fib_add(t->fib, &left);
}

static int
sweep_routes(struct txn *t, const struct weir_addr *src, unsigned int port)
{
	struct sweep w = {.src = src, .port = port};

	if (src != NULL && !t->stack->control->src_routes)
		return 0;
	w.ret = need_fib(t);
	if (w.ret == 0)
		weir_fib_txn_each(t->fib, collect, &w);
	for (size_t i = 0; i < w.n && w.ret == 0; i++)
		w.ret = src != NULL ? weir_fib_del(t->fib, &w.found[i])
				    : without_port(t, &w.found[i], port);
	free(w.found);
	return w.ret;
}

/* ---- addresses ---- */

/* What an address has asked others to do for it. */
static void
addr_leave(struct weir_stack *stack, const struct weir_ctl_addr *a)
{
	const struct weir_port *port = stack->ports[a->port];

	weir_dad_stop(stack, port, &a->addr);
	if (a->addr.family == WEIR_IPV6) {
		struct weir_addr group = {.family = WEIR_IPV6};

		group.ip = weir_solicited_node(&a->addr.ip);
		weir_mcast_release(stack, port, &group);
	}
}

static int
addr_join(struct weir_stack *stack, const struct weir_ctl_addr *a)
{
	const struct weir_port *port = stack->ports[a->port];
	const bool v6 = a->addr.family == WEIR_IPV6;
	struct weir_addr group = {.family = WEIR_IPV6};
	int ret;

	group.ip = weir_solicited_node(&a->addr.ip);
	ret = v6 ? weir_mcast_hold(stack, port, &group) : 0;
	if (ret != 0)
		return ret;
	ret = weir_dad_start(stack, port, &a->addr);
	if (ret != 0 && v6)
		weir_mcast_release(stack, port, &group);
	return ret;
}

/* A new one, at the end of the list. */
static int
addr_put(struct txn *t, struct undo *u, const struct weir_ctl_addr *a)
{
	struct weir_control *c = t->stack->control;
	int ret = list_room(c);

	if (ret != 0)
		return ret;
	list_put(c, a, c->n_addr);
	ret = addr_join(t->stack, a);
	if (ret != 0) {
		list_take(c, c->n_addr - 1);
		return ret;
	}
	u->fresh[u->n_fresh++] = a->addr;
	t->locals = true;
	return brings_route(a) ? connected(t, a, true) : 0;
}

/* One goes: what it has asked for is given up when the transaction holds. */
static int
addr_take(struct txn *t, struct undo *u, size_t i)
{
	struct weir_control *c = t->stack->control;
	int ret = 0;

	u->gone = c->addr[i];
	u->gone_at = i;
	u->has_gone = true;
	list_take(c, i);
	t->locals = true;
	if (brings_route(&u->gone))
		ret = connected(t, &u->gone, false);
	return ret != 0 ? ret : sweep_routes(t, &u->gone.addr, 0);
}

static struct weir_ctl_addr
addr_of(const struct weir_stack *stack, const struct weir_ctl_op *op)
{
	const struct weir_port *port = stack->ports[op->port];
	struct weir_ctl_addr a = {
		.addr = op->addr,
		.bits = op->prefix_bits,
		.port = (uint16_t)op->port,
		.learned = op->learned,
		.valid_ns = op->learned ? op->valid_ns : UINT64_MAX,
		.preferred_ns = op->learned ? op->preferred_ns : UINT64_MAX,
	};

	a.addr.port = 0;
	a.addr.scope = weir_is_link_local(&a.addr) ? op->port + 1 : 0;
	a.tentative = (a.addr.family == WEIR_IPV6 ? port->dad : port->dad4) > 0;
	return a;
}

void
weir_ctl_eui64(struct weir_addr *addr, const uint8_t mac[WIRE_ETH_ALEN])
{
	const uint8_t id[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};

	memcpy(&addr->ip.b[8], id, sizeof(id));
}

/*
 * The link-local address of a port that runs: one, unless there is one that was added, made of its MAC. Made
 * with the first IPv6 address (accept_ra: at once), for neighbour discovery needs it.
 */
static int
link_local(struct txn *t, struct undo *u, unsigned int index)
{
	struct weir_control *c = t->stack->control;
	const struct weir_port *port = t->stack->ports[index];
	struct weir_ctl_op op = {.port = index, .prefix_bits = 64};
	bool wanted = port->accept_ra;
	struct weir_ctl_addr a;
	int ret = 0;

	op.addr.family = WEIR_IPV6;
	op.addr.ip = (union weir_ip){.b = {0xfe, 0x80}};
	weir_ctl_eui64(&op.addr, port->parse.mac);
	for (size_t i = 0; i < c->n_addr; i++) {
		if (c->addr[i].port != index || c->addr[i].addr.family != WEIR_IPV6)
			continue;
		wanted = true;
		if (!weir_is_link_local(&c->addr[i].addr))
			continue;
		if (!c->addr[i].made || weir_same_ip(&c->addr[i].addr, &op.addr))
			return 0;
		ret = addr_take(t, u, i); /* the MAC was another then */
		break;
	}
	if (ret != 0 || !wanted || port->no_link_local)
		return ret;
	a = addr_of(t->stack, &op);
	a.made = true;
	return addr_put(t, u, &a);
}

static int
addr_add(struct txn *t, struct undo *u, const struct weir_ctl_op *op)
{
	int ret = weir_ctl_check_addr(t->stack, op, t->err);
	struct weir_ctl_addr a;

	if (ret != 0)
		return ret;
	a = addr_of(t->stack, op);
	ret = addr_put(t, u, &a);
	if (ret == 0 && a.addr.family == WEIR_IPV6 && atomic_load(&t->stack->running))
		ret = link_local(t, u, op->port);
	return ret == 0 ? 0 : no_memory(t);
}

static int
addr_del(struct txn *t, struct undo *u, const struct weir_ctl_op *op)
{
	int i = weir_ctl_addr_index(t->stack->control, op->port, &op->addr);

	if (i < 0)
		return weir_ctl_refuse(t->err, op, -ENOENT, "address", &op->addr,
				       "is not an address of that port");
	return addr_take(t, u, (size_t)i) == 0 ? 0 : no_memory(t);
}

/* Duplicate address detection has come to an end. */
static int
addr_settle(struct txn *t, struct undo *u, const struct weir_ctl_op *op)
{
	struct weir_control *c = t->stack->control;
	int i = weir_ctl_addr_index(c, op->port, &op->addr);

	if (i < 0 || !c->addr[i].tentative)
		return -ENOENT;
	u->gone = c->addr[i];
	u->gone_at = (size_t)i;
	u->changed = true;
	c->addr[i].tentative = false;
	c->addr[i].duplicate = op->duplicate;
	t->locals = true;
	return brings_route(&c->addr[i]) ? connected(t, &c->addr[i], true) : 0;
}

/* ---- neighbours and ports ---- */

static int
neigh_set(struct txn *t, struct undo *u, const struct weir_ctl_op *op)
{
	int ret = weir_ctl_check_neigh(t->stack, op, t->err);

	if (ret != 0)
		return ret;
	u->neigh =
		weir_neigh_get(t->stack, (uint16_t)op->port, &op->addr.ip, op->addr.family, u->mac);
	ret = weir_neigh_set(t->stack, t->stack->ports[op->port], &op->addr.ip, op->addr.family,
			     op->kind == WEIR_CTL_NEIGH_ADD ? op->mac : NULL);
	if (ret != 0)
		return weir_ctl_refuse(t->err, op, ret, "address", &op->addr,
				       ret == -ENOSPC ? "the neighbour table is full (max_neigh)"
						      : "has no neighbour entry");
	return 0;
}

static int
port_add(struct txn *t, struct weir_ctl_op *op)
{
	int ret;

	if (atomic_load(&t->stack->running))
		return weir_error_set(
			t->err, -EBUSY,
			"%s%sdevice: %s: while the stack runs, a port is added by itself",
			op->origin != NULL ? op->origin : "", op->origin != NULL ? ": " : "",
			op->port_conf.device);
	ret = weir_port_attach(t->stack, &op->port_conf, op->origin, t->err);
	if (ret < 0)
		return ret;
	op->port = (unsigned int)ret;
	return 0;
}

/* Its addresses and routes; the port itself goes when that holds. */
static int
port_remove(struct txn *t, struct undo *u, const struct weir_ctl_op *op)
{
	struct weir_control *c = t->stack->control;
	int ret = weir_ctl_check_port(t->stack, op, t->err);
	size_t n = 0;

	if (ret != 0)
		return ret;
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++)
		if (p != op->port && t->stack->ports[p] != NULL &&
		    t->stack->ports[p]->parent == op->port)
			return weir_ctl_refuse_n(t->err, op, -EBUSY, "port", op->port,
						 "has VLAN ports, which go first");
	u->addr = malloc((c->n_addr + 1) * sizeof(*c->addr));
	if (u->addr == NULL)
		return no_memory(t);
	u->n_addr = c->n_addr;
	memcpy(u->addr, c->addr, c->n_addr * sizeof(*c->addr));
	for (size_t i = 0; i < u->n_addr; i++) {
		if (u->addr[i].port != op->port) {
			c->addr[n++] = u->addr[i];
			continue;
		}
		if (ret == 0)
			ret = sweep_routes(t, &u->addr[i].addr, 0);
	}
	c->n_addr = n;
	t->locals = true;
	if (ret == 0)
		ret = sweep_routes(t, NULL, op->port);
	if (ret != 0)
		return no_memory(t);
	/* Before the generation is raised: who looks again does not take it any more. */
	atomic_store(&t->stack->ports[op->port]->dead, true);
	return 0;
}

/* ---- one operation, and back ---- */

static int
apply_one(struct txn *t, struct weir_ctl_op *op, struct undo *u)
{
	switch (op->kind) {
	case WEIR_CTL_PORT_ADD:
		return port_add(t, op);
	case WEIR_CTL_PORT_REMOVE:
		return port_remove(t, u, op);
	case WEIR_CTL_ADDR_ADD:
		return addr_add(t, u, op);
	case WEIR_CTL_ADDR_DEL:
		return addr_del(t, u, op);
	case WEIR_CTL_ADDR_SETTLE:
		return addr_settle(t, u, op);
	case WEIR_CTL_LINK_LOCAL:
		return link_local(t, u, op->port);
	case WEIR_CTL_ROUTE_ADD:
		return route_add(t, op);
	case WEIR_CTL_ROUTE_DEL:
		return route_del(t, op);
	case WEIR_CTL_NEIGH_ADD:
	case WEIR_CTL_NEIGH_DEL:
		return neigh_set(t, u, op);
	}
	return -EINVAL;
}

/* Routes are undone all at once, by giving the transaction on the table up. */
static void
undo_one(struct txn *t, const struct weir_ctl_op *op, const struct undo *u)
{
	struct weir_stack *stack = t->stack;
	struct weir_control *c = stack->control;

	for (unsigned int k = u->n_fresh; k > 0; k--) {
		int i = weir_ctl_addr_index(c, op->port, &u->fresh[k - 1]);

		addr_leave(stack, &c->addr[i]);
		list_take(c, (size_t)i);
	}
	if (u->has_gone) /* there is room: it was just taken out */
		list_put(c, &u->gone, u->gone_at);
	if (u->changed)
		c->addr[u->gone_at] = u->gone;
	if (u->addr != NULL) {
		memcpy(c->addr, u->addr, u->n_addr * sizeof(*c->addr));
		c->n_addr = u->n_addr;
		atomic_store(&stack->ports[op->port]->dead, false);
	}
}

static void
undo_rest(struct txn *t, const struct weir_ctl_op *op, const struct undo *u)
{
	switch (op->kind) {
	case WEIR_CTL_PORT_ADD:
		weir_port_release(t->stack, op->port);
		break;
	case WEIR_CTL_NEIGH_ADD:
	case WEIR_CTL_NEIGH_DEL:
		weir_neigh_restore(t->stack, t->stack->ports[op->port], &op->addr.ip,
				   op->addr.family, u->neigh, u->mac);
		break;
	default:
		break;
	}
}

/* It holds: what went is let go. */
static void
finish_one(struct weir_stack *stack, const struct weir_ctl_op *op, struct undo *u)
{
	if (u->has_gone)
		addr_leave(stack, &u->gone);
	for (size_t i = 0; i < u->n_addr; i++)
		if (u->addr[i].port == op->port)
			addr_leave(stack, &u->addr[i]);
}

static int
publish(struct txn *t)
{
	struct weir_locals *locals = NULL;

	if (t->locals) {
		locals = weir_local_build(t->stack);
		if (locals == NULL)
			return no_memory(t);
		weir_local_publish(t->stack, locals);
	}
	/* After the addresses: it raises the generation by which caches look at both again. */
	if (t->fib != NULL)
		weir_fib_commit(t->fib);
	else if (t->locals)
		weir_fib_touch(t->stack);
	t->fib = NULL;
	return 0;
}

static int
run(struct txn *t, struct weir_ctl_op *ops, unsigned int n)
{
	int ret = 0;

	for (; t->done < n; t->done++) {
		struct weir_ctl_op *op = &ops[t->done];

		if (op->kind == WEIR_CTL_PORT_REMOVE && n > 1)
			ret = weir_ctl_refuse_n(t->err, op, -EINVAL, "port", op->port,
						"a removal is a transaction of its own");
		else
			ret = apply_one(t, op, &t->undo[t->n_undo]);
		/* Half of an operation is undone as a whole one. */
		if (ret != 0) {
			if (has_undo(op))
				undo_one(t, op, &t->undo[t->n_undo]);
			return ret;
		}
		t->n_undo += has_undo(op);
	}
	return publish(t);
}

int
weir_ctl_apply_locked(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n,
		      struct weir_error *err)
{
	struct txn t = {.stack = stack, .err = err, .src_routes = stack->control->src_routes};
	unsigned int n_undo = 1; /* one more: of the operation that fails */
	int ret;

	for (unsigned int i = 0; i < n; i++)
		n_undo += has_undo(&ops[i]);
	t.undo = calloc(n_undo, sizeof(*t.undo));
	if (t.undo == NULL)
		return no_memory(&t);
	ret = run(&t, ops, n);
	if (ret != 0) {
		if (t.fib != NULL)
			weir_fib_abort(t.fib);
		stack->control->src_routes = t.src_routes;
		while (t.done-- > 0) {
			if (!has_undo(&ops[t.done]))
				continue;
			t.n_undo--;
			undo_one(&t, &ops[t.done], &t.undo[t.n_undo]);
			undo_rest(&t, &ops[t.done], &t.undo[t.n_undo]);
		}
	} else {
		for (unsigned int i = 0, k = 0; i < n; i++)
			if (has_undo(&ops[i]))
				finish_one(stack, &ops[i], &t.undo[k++]);
	}
	/* Only a removal, an operation alone, keeps a copy of the list. */
	free(t.undo[0].addr);
	free(t.undo);
	return ret;
}

int
weir_ctl_apply(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n,
	       struct weir_error *err)
{
	int ret;

	if (err != NULL)
		*err = (struct weir_error){0};
	if (n == 0)
		return 0;
	weir_ctl_lock(stack);
	if (n == 1 && ops[0].kind == WEIR_CTL_PORT_REMOVE)
		ret = weir_ctl_port_remove(stack, &ops[0], err);
	else if (n == 1 && ops[0].kind == WEIR_CTL_PORT_ADD && atomic_load(&stack->running))
		ret = weir_ctl_port_add(stack, &ops[0], err);
	else
		ret = weir_ctl_apply_locked(stack, ops, n, err);
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
	return ret;
}

/* ---- the public calls: one operation each ---- */

int
weir_port_add(struct weir_stack *stack, const struct weir_port_conf *conf, struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_PORT_ADD, .port_conf = *conf};
	int ret = weir_ctl_apply(stack, &op, 1, err);

	return ret == 0 ? (int)op.port : ret;
}

int
weir_port_remove(struct weir_stack *stack, unsigned int port, struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_PORT_REMOVE, .port = port};

	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_addr_add(struct weir_stack *stack, unsigned int port, const struct weir_addr *addr,
	      uint8_t prefix_bits, struct weir_error *err)
{
	struct weir_ctl_op op = {
		.kind = WEIR_CTL_ADDR_ADD, .port = port, .addr = *addr, .prefix_bits = prefix_bits};

	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_addr_del(struct weir_stack *stack, unsigned int port, const struct weir_addr *addr,
	      struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_ADDR_DEL, .port = port, .addr = *addr};

	return weir_ctl_apply(stack, &op, 1, err);
}

void
weir_route_conf_init(struct weir_route_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->size = sizeof(*conf);
}

int
weir_route_add_conf(struct weir_stack *stack, const struct weir_route_conf *conf,
		    struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_ROUTE_ADD, .route = conf};

	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_route_del_conf(struct weir_stack *stack, const struct weir_route_conf *conf,
		    struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_ROUTE_DEL, .route = conf};

	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_route_add(struct weir_stack *stack, const struct weir_addr *prefix, uint8_t prefix_bits,
	       const struct weir_addr *gateway, unsigned int port, struct weir_error *err)
{
	struct weir_route_conf conf;

	weir_route_conf_init(&conf);
	conf.prefix = *prefix;
	conf.prefix_bits = prefix_bits;
	conf.n_hops = 1;
	conf.hop[0].port = port;
	if (gateway != NULL)
		conf.hop[0].gateway = *gateway;
	return weir_route_add_conf(stack, &conf, err);
}

int
weir_route_del(struct weir_stack *stack, const struct weir_addr *prefix, uint8_t prefix_bits,
	       struct weir_error *err)
{
	struct weir_route_conf conf;

	weir_route_conf_init(&conf);
	conf.prefix = *prefix;
	conf.prefix_bits = prefix_bits;
	return weir_route_del_conf(stack, &conf, err);
}

int
weir_neigh_add(struct weir_stack *stack, unsigned int port, const struct weir_addr *addr,
	       const uint8_t mac[6], struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_NEIGH_ADD, .port = port, .addr = *addr};

	memcpy(op.mac, mac, sizeof(op.mac));
	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_neigh_del(struct weir_stack *stack, unsigned int port, const struct weir_addr *addr,
	       struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_NEIGH_DEL, .port = port, .addr = *addr};

	return weir_ctl_apply(stack, &op, 1, err);
}

const char *
weir_neigh_state(struct weir_stack *stack, unsigned int port, const struct weir_addr *addr,
		 uint8_t mac[6])
{
	static const char *const names[] = {
		[WEIR_NEIGH_FREE] = "none",           [WEIR_NEIGH_INCOMPLETE] = "incomplete",
		[WEIR_NEIGH_REACHABLE] = "reachable", [WEIR_NEIGH_STALE] = "stale",
		[WEIR_NEIGH_PROBE] = "probe",         [WEIR_NEIGH_FAILED] = "failed",
		[WEIR_NEIGH_PERMANENT] = "permanent", [WEIR_NEIGH_DELAY] = "delay",
	};
	uint8_t found[6] = {0};
	enum weir_neigh_state state =
		weir_neigh_get(stack, (uint16_t)port, &addr->ip, addr->family, found);

	if (mac != NULL)
		memcpy(mac, found, sizeof(found));
	return names[state];
}
