/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: the control lock, transactions of operations, and the public calls that are one operation
 * each. See control.h and control_state.h.
 *
 * A transaction changes the master lists first, keeping what it needs to undo; the snapshots that the
 * data path reads are rebuilt and published once, at the end.
 */
#include "control.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "control_state.h"
#include "local.h"
#include "neigh.h"
#include "route.h"
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
	struct weir_lcore *self = weir_self(stack);

	if (self == NULL || weir_turn(self) == 0)
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

void
weir_ctl_try_reclaim(struct weir_stack *stack)
{
	if (!weir_rcu_pending(stack) || pthread_mutex_trylock(&stack->control->lock) != 0)
		return;
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
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

/* ---- checks ---- */

/* "ORIGIN: key: value" in front of what is wrong. */
static int
refuse(struct weir_error *err, const struct weir_ctl_op *op, int code, const char *key,
       const struct weir_addr *addr, const char *what)
{
	char text[WEIR_ADDR_STRLEN];

	return weir_error_set(err, code, "%s%s%s: %s: %s", op->origin != NULL ? op->origin : "",
			      op->origin != NULL ? ": " : "", key,
			      weir_addr_format(addr, text, sizeof(text)), what);
}

static bool
same_ip(const struct weir_addr *a, const struct weir_addr *b)
{
	return a->family == b->family && a->ip.w[0] == b->ip.w[0] && a->ip.w[1] == b->ip.w[1];
}

static uint32_t
host_mask4(uint8_t bits)
{
	return bits >= 32 ? 0 : UINT32_MAX >> bits;
}

static bool
covers(const struct weir_addr *prefix, uint8_t bits, const struct weir_addr *a)
{
	return prefix->family == a->family &&
	       ((WIRE_BE32(prefix->ip.v4) ^ WIRE_BE32(a->ip.v4)) & ~host_mask4(bits)) == 0;
}

static int
check_port(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	if (op->port < WEIR_MAX_PORTS && stack->ports[op->port] != NULL)
		return 0;
	return weir_error_set(err, -ENODEV, "%s%sport: %u: no such port, there are %u",
			      op->origin != NULL ? op->origin : "", op->origin != NULL ? ": " : "",
			      op->port, stack->n_ports);
}

/* A unicast IPv4 address that a host can have. */
static int
check_host4(const struct weir_ctl_op *op, const char *key, const struct weir_addr *a,
	    struct weir_error *err)
{
	uint32_t ip = WIRE_BE32(a->ip.v4);

	if (a->family != WEIR_IPV4)
		return refuse(err, op, -EAFNOSUPPORT, key, a, "only IPv4 is supported");
	if (ip >> 24 == 0 || ip >> 24 == 127 || ip >> 28 >= 14)
		return refuse(err, op, -EINVAL, key, a,
			      "a unicast address is wanted: not 0/8, 127/8, 224/3");
	return 0;
}

static int
check_addr_add(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_control *c = stack->control;
	uint32_t host;
	int ret = check_port(stack, op, err);

	if (ret == 0)
		ret = check_host4(op, "address", &op->addr, err);
	if (ret != 0)
		return ret;
	if (op->prefix_bits < 1 || op->prefix_bits > 32)
		return refuse(err, op, -EINVAL, "address", &op->addr, "prefix length 1 to 32");
	host = WIRE_BE32(op->addr.ip.v4) & host_mask4(op->prefix_bits);
	if (op->prefix_bits < 31 && (host == 0 || host == host_mask4(op->prefix_bits)))
		return refuse(err, op, -EINVAL, "address", &op->addr,
			      host == 0 ? "is the network address of its prefix"
					: "is the broadcast address of its prefix");
	for (size_t i = 0; i < c->n_addr; i++)
		if (same_ip(&c->addr[i].addr, &op->addr))
			return refuse(err, op, -EEXIST, "address", &op->addr, "is ours already");
	return 0;
}

static int
check_route_add(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	const struct weir_control *c = stack->control;
	bool on_link = false;
	int ret = check_port(stack, op, err);

	if (ret != 0)
		return ret;
	if (op->addr.family != WEIR_IPV4)
		return refuse(err, op, -EAFNOSUPPORT, "prefix", &op->addr,
			      "only IPv4 is supported");
	if (op->prefix_bits > 32)
		return refuse(err, op, -EINVAL, "prefix", &op->addr, "prefix length 0 to 32");
	if ((WIRE_BE32(op->addr.ip.v4) & host_mask4(op->prefix_bits)) != 0)
		return refuse(err, op, -EINVAL, "prefix", &op->addr,
			      "has bits below its prefix length");
	for (size_t i = 0; i < c->n_route; i++)
		if (same_ip(&c->route[i].prefix, &op->addr) && c->route[i].bits == op->prefix_bits)
			return refuse(err, op, -EEXIST, "prefix", &op->addr, "has a route already");
	if (op->gateway.family == WEIR_UNSPEC)
		return 0;
	ret = check_host4(op, "via", &op->gateway, err);
	if (ret != 0)
		return ret;
	for (size_t i = 0; i < c->n_addr; i++) {
		if (same_ip(&c->addr[i].addr, &op->gateway))
			return refuse(err, op, -EINVAL, "via", &op->gateway,
				      "is an address of ours");
		on_link |= c->addr[i].port == op->port &&
			   covers(&c->addr[i].addr, c->addr[i].bits, &op->gateway);
	}
	if (!on_link)
		return refuse(err, op, -ENETUNREACH, "via", &op->gateway,
			      "is not on link: no address of that port has a prefix with it");
	return 0;
}

static int
check_neigh(struct weir_stack *stack, const struct weir_ctl_op *op, struct weir_error *err)
{
	static const uint8_t zero[6];
	int ret = check_port(stack, op, err);

	if (ret == 0)
		ret = check_host4(op, "address", &op->addr, err);
	if (ret == 0 && op->kind == WEIR_CTL_NEIGH_ADD &&
	    ((op->mac[0] & 1) != 0 || memcmp(op->mac, zero, 6) == 0))
		ret = refuse(err, op, -EINVAL, "mac", &op->addr,
			     "the MAC of a neighbour is neither a group nor zero");
	return ret;
}

/* ---- master lists ---- */

static int
grow(void **list, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap == 0 ? 16 : *cap * 2;
	void *p;

	if (n < *cap)
		return 0;
	p = realloc(*list, want * size);
	if (p == NULL)
		return -ENOMEM;
	*list = p;
	*cap = want;
	return 0;
}

static int
addr_index(const struct weir_control *c, unsigned int port, const struct weir_addr *a)
{
	for (size_t i = 0; i < c->n_addr; i++)
		if (c->addr[i].port == port && same_ip(&c->addr[i].addr, a))
			return (int)i;
	return -1;
}

static int
route_index(const struct weir_control *c, const struct weir_addr *prefix, uint8_t bits)
{
	for (size_t i = 0; i < c->n_route; i++)
		if (c->route[i].bits == bits && same_ip(&c->route[i].prefix, prefix))
			return (int)i;
	return -1;
}

/* At place i, those from there on move up: of two addresses the first is preferred. */
static int
list_addr_add(struct weir_control *c, const struct weir_ctl_op *op, size_t i)
{
	int ret = grow((void **)&c->addr, c->n_addr, &c->cap_addr, sizeof(*c->addr));

	if (ret != 0)
		return ret;
	memmove(&c->addr[i + 1], &c->addr[i], (c->n_addr - i) * sizeof(*c->addr));
	c->addr[i] = (struct weir_ctl_addr){
		.addr = op->addr,
		.bits = op->prefix_bits,
		.port = (uint16_t)op->port,
		.valid_ns = UINT64_MAX,
		.preferred_ns = UINT64_MAX,
	};
	c->addr[i].addr.port = 0;
	c->n_addr++;
	return 0;
}

static int
list_route_add(struct weir_control *c, const struct weir_ctl_op *op, size_t i)
{
	int ret = grow((void **)&c->route, c->n_route, &c->cap_route, sizeof(*c->route));

	if (ret != 0)
		return ret;
	memmove(&c->route[i + 1], &c->route[i], (c->n_route - i) * sizeof(*c->route));
	c->route[i] =
		(struct weir_ctl_route){op->addr, op->gateway, op->prefix_bits, (uint16_t)op->port};
	c->route[i].prefix.port = 0;
	c->n_route++;
	return 0;
}

static void
list_addr_del(struct weir_control *c, int i)
{
	memmove(&c->addr[i], &c->addr[i + 1], (c->n_addr - (size_t)i - 1) * sizeof(*c->addr));
	c->n_addr--;
}

static void
list_route_del(struct weir_control *c, int i)
{
	memmove(&c->route[i], &c->route[i + 1], (c->n_route - (size_t)i - 1) * sizeof(*c->route));
	c->n_route--;
}

/* ---- one operation, and back ---- */

/* What an operation replaced, so that it can be undone. */
struct undo {
	size_t index;             /* ADDR_DEL, ROUTE_DEL: place in the list */
	uint8_t bits;             /* ADDR_DEL */
	struct weir_addr gateway; /* ROUTE_DEL */
	unsigned int port;
	enum weir_neigh_state neigh;
	uint8_t mac[6];
	struct weir_ctl_addr *addr; /* PORT_REMOVE: the lists as they were */
	struct weir_ctl_route *route;
	size_t n_addr, n_route;
};

/* Take what belongs to a port out of the lists, keeping copies for undo. */
static int
lists_without_port(struct weir_control *c, unsigned int index, struct undo *u)
{
	size_t n = 0;

	u->addr = malloc((c->n_addr + 1) * sizeof(*c->addr));
	u->route = malloc((c->n_route + 1) * sizeof(*c->route));
	if (u->addr == NULL || u->route == NULL)
		return -ENOMEM;
	u->n_addr = c->n_addr;
	u->n_route = c->n_route;
	for (size_t i = 0; i < u->n_addr; i++) {
		u->addr[i] = c->addr[i];
		if (c->addr[i].port != index)
			c->addr[n++] = c->addr[i];
	}
	c->n_addr = n;
	n = 0;
	for (size_t i = 0; i < u->n_route; i++) {
		u->route[i] = c->route[i];
		if (c->route[i].port != index)
			c->route[n++] = c->route[i];
	}
	c->n_route = n;
	return 0;
}

/* The port is in no list and in no published table any more. */
static void
port_gone(struct weir_stack *stack, unsigned int index)
{
	weir_neigh_flush_port(stack, (uint16_t)index);
	/* The counters of a port that goes stay in the stack's sums. */
	for (unsigned int l = 0; l < stack->n_lcores; l++) {
		struct weir_lcore *lc = stack->lcores[l];
		struct weir_port_counters *from = &lc->pc[index];

		weir_count(&lc->pc_gone.rx_frames, weir_counter_read(&from->rx_frames));
		weir_count(&lc->pc_gone.rx_bytes, weir_counter_read(&from->rx_bytes));
		weir_count(&lc->pc_gone.tx_frames, weir_counter_read(&from->tx_frames));
		weir_count(&lc->pc_gone.tx_bytes, weir_counter_read(&from->tx_bytes));
		memset((void *)from, 0, sizeof(*from));
	}
	weir_port_release(stack, index);
}

static int
apply_one(struct weir_stack *stack, struct weir_ctl_op *op, struct undo *u, bool *rebuild,
	  struct weir_error *err)
{
	const char *at = op->origin != NULL ? op->origin : "";
	const char *sep = op->origin != NULL ? ": " : "";
	struct weir_control *c = stack->control;
	int ret;
	int i;

	switch (op->kind) {
	case WEIR_CTL_PORT_ADD:
		if (atomic_load(&stack->running))
			return weir_error_set(err, -EBUSY,
					      "%s%sdevice: %s: ports are added while the stack is "
					      "stopped",
					      at, sep, op->port_conf.device);
		ret = weir_port_attach(stack, &op->port_conf, op->origin, err);
		if (ret < 0)
			return ret;
		op->port = (unsigned int)ret;
		return 0;
	case WEIR_CTL_PORT_REMOVE:
		ret = check_port(stack, op, err);
		if (ret != 0)
			return ret;
		if (atomic_load(&stack->running))
			return weir_error_set(err, -EBUSY,
					      "%s%sport: %u: ports are removed while the stack is "
					      "stopped",
					      at, sep, op->port);
		*rebuild = true;
		return lists_without_port(c, op->port, u);
	case WEIR_CTL_ADDR_ADD:
		ret = check_addr_add(stack, op, err);
		if (ret == 0)
			ret = list_addr_add(c, op, c->n_addr);
		*rebuild = true;
		return ret;
	case WEIR_CTL_ADDR_DEL:
		i = addr_index(c, op->port, &op->addr);
		if (i < 0)
			return refuse(err, op, -ENOENT, "address", &op->addr,
				      "is not an address of that port");
		u->index = (size_t)i;
		u->bits = c->addr[i].bits;
		list_addr_del(c, i);
		*rebuild = true;
		return 0;
	case WEIR_CTL_ROUTE_ADD:
		ret = check_route_add(stack, op, err);
		if (ret == 0)
			ret = list_route_add(c, op, c->n_route);
		*rebuild = true;
		return ret;
	case WEIR_CTL_ROUTE_DEL:
		i = route_index(c, &op->addr, op->prefix_bits);
		if (i < 0)
			return refuse(err, op, -ENOENT, "prefix", &op->addr,
				      "has no route that was added");
		u->index = (size_t)i;
		u->gateway = c->route[i].gateway;
		u->port = c->route[i].port;
		list_route_del(c, i);
		*rebuild = true;
		return 0;
	case WEIR_CTL_NEIGH_ADD:
	case WEIR_CTL_NEIGH_DEL:
		ret = check_neigh(stack, op, err);
		if (ret != 0)
			return ret;
		u->neigh = weir_neigh_get(stack, (uint16_t)op->port, &op->addr.ip, op->addr.family,
					  u->mac);
		ret = weir_neigh_set(stack, stack->ports[op->port], &op->addr.ip, op->addr.family,
				     op->kind == WEIR_CTL_NEIGH_ADD ? op->mac : NULL);
		if (ret != 0)
			return refuse(err, op, ret, "address", &op->addr,
				      ret == -ENOSPC ? "the neighbour table is full (max_neigh)"
						     : "has no neighbour entry");
		return 0;
	}
	return -EINVAL;
}

static void
undo_one(struct weir_stack *stack, struct weir_ctl_op *op, const struct undo *u)
{
	struct weir_control *c = stack->control;
	struct weir_ctl_op back = *op;

	switch (op->kind) {
	case WEIR_CTL_PORT_ADD:
		port_gone(stack, op->port);
		break;
	case WEIR_CTL_ADDR_ADD:
		list_addr_del(c, addr_index(c, op->port, &op->addr));
		break;
	case WEIR_CTL_ADDR_DEL: /* there is room: one was just taken out */
		back.prefix_bits = u->bits;
		(void)list_addr_add(c, &back, u->index);
		break;
	case WEIR_CTL_ROUTE_ADD:
		list_route_del(c, route_index(c, &op->addr, op->prefix_bits));
		break;
	case WEIR_CTL_ROUTE_DEL:
		back.gateway = u->gateway;
		back.port = u->port;
		(void)list_route_add(c, &back, u->index);
		break;
	case WEIR_CTL_NEIGH_ADD:
	case WEIR_CTL_NEIGH_DEL:
		weir_neigh_restore(stack, stack->ports[op->port], &op->addr.ip, op->addr.family,
				   u->neigh, u->mac);
		break;
	case WEIR_CTL_PORT_REMOVE: /* the lists only shrank: there is room */
		for (c->n_addr = 0; c->n_addr < u->n_addr; c->n_addr++)
			c->addr[c->n_addr] = u->addr[c->n_addr];
		for (c->n_route = 0; c->n_route < u->n_route; c->n_route++)
			c->route[c->n_route] = u->route[c->n_route];
		break;
	}
}

int
weir_ctl_publish(struct weir_stack *stack)
{
	struct weir_locals *locals = weir_local_build(stack);
	struct weir_fib *fib = weir_route_build(stack);

	if (locals == NULL || fib == NULL) {
		rte_free(locals);
		rte_free(fib);
		return -ENOMEM;
	}
	weir_local_publish(stack, locals);
	weir_route_publish(stack, fib);
	return 0;
}

static int
apply_locked(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n, struct undo *u,
	     struct weir_error *err)
{
	bool rebuild = false;
	unsigned int done;
	int ret = 0;

	for (done = 0; done < n && ret == 0; done++) {
		if (ops[done].kind == WEIR_CTL_PORT_REMOVE && done + 1 != n)
			ret = weir_error_set(
				err, -EINVAL,
				"%s%sport: %u: a removal must be the last operation of a "
				"transaction",
				ops[done].origin != NULL ? ops[done].origin : "",
				ops[done].origin != NULL ? ": " : "", ops[done].port);
		else
			ret = apply_one(stack, &ops[done], &u[done], &rebuild, err);
		if (ret != 0)
			break;
	}
	if (ret == 0 && rebuild) {
		ret = weir_ctl_publish(stack);
		if (ret != 0)
			weir_error_set(err, ret, "out of memory");
	}
	if (ret == 0) {
		if (ops[n - 1].kind == WEIR_CTL_PORT_REMOVE)
			port_gone(stack, ops[n - 1].port);
		return 0;
	}
	while (done-- > 0)
		undo_one(stack, &ops[done], &u[done]);
	return ret;
}

int
weir_ctl_apply(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n,
	       struct weir_error *err)
{
	struct undo *u;
	int ret;

	if (err != NULL)
		*err = (struct weir_error){0};
	if (n == 0)
		return 0;
	u = calloc(n, sizeof(*u));
	if (u == NULL)
		return weir_error_set(err, -ENOMEM, "out of memory");
	weir_ctl_lock(stack);
	ret = apply_locked(stack, ops, n, u, err);
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
	/* Only a removal, the last operation, keeps copies. */
	free(u[n - 1].addr);
	free(u[n - 1].route);
	free(u);
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

int
weir_route_add(struct weir_stack *stack, const struct weir_addr *prefix, uint8_t prefix_bits,
	       const struct weir_addr *gateway, unsigned int port, struct weir_error *err)
{
	struct weir_ctl_op op = {.kind = WEIR_CTL_ROUTE_ADD,
				 .port = port,
				 .addr = *prefix,
				 .prefix_bits = prefix_bits};

	if (gateway != NULL)
		op.gateway = *gateway;
	return weir_ctl_apply(stack, &op, 1, err);
}

int
weir_route_del(struct weir_stack *stack, const struct weir_addr *prefix, uint8_t prefix_bits,
	       struct weir_error *err)
{
	struct weir_ctl_op op = {
		.kind = WEIR_CTL_ROUTE_DEL, .addr = *prefix, .prefix_bits = prefix_bits};

	return weir_ctl_apply(stack, &op, 1, err);
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
		[WEIR_NEIGH_PERMANENT] = "permanent",
	};
	uint8_t found[6] = {0};
	enum weir_neigh_state state =
		weir_neigh_get(stack, (uint16_t)port, &addr->ip, addr->family, found);

	if (mac != NULL)
		memcpy(mac, found, sizeof(found));
	return names[state];
}
