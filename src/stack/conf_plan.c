/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: what was collected becomes a stack: one transaction of control operations, in the order in which each
 * finds what it needs. Here is judged what depends on several settings: gaps between ports, a route without
 * prefix, the port of a gateway.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf_priv.h"
#include "control.h"

/* True when addr lies in the prefix base/bits. Bytes in network order. */
static bool
in_prefix(const struct weir_addr *addr, const struct weir_addr *base, unsigned int bits)
{
	if (addr->family != base->family)
		return false;
	for (unsigned int i = 0; i < bits; i++)
		if (((addr->ip.b[i / 8] ^ base->ip.b[i / 8]) & (0x80u >> i % 8)) != 0)
			return false;
	return true;
}

/* The port whose prefix holds this address, or -1. */
static int
port_of(const struct weir_conf *conf, const struct weir_addr *addr)
{
	int best = -1;
	unsigned int best_bits = 0;

	for (size_t i = 0; i < conf->n; i++) {
		const struct weir_conf_setting *s = &conf->set[i];
		const char *text = s->value;
		struct weir_addr own;
		uint8_t bits;

		if (s->key->type != WEIR_CONF_ADDRESSES)
			continue;
		while (weir_conf_next_address(&text, &own, &bits) > 0) {
			if (in_prefix(addr, &own, bits) && (best < 0 || bits > best_bits)) {
				best = (int)s->number;
				best_bits = bits;
			}
		}
	}
	return best;
}

/* The transaction being put together. */
struct plan {
	const struct weir_conf *conf;
	struct weir_ctl_op *ops;
	struct weir_route_conf *routes;
	unsigned int n, cap;
	unsigned int n_routes;
	unsigned int n_ports;
	struct weir_error *err;
};

static struct weir_ctl_op *
add_op(struct plan *p, enum weir_ctl_kind kind, const struct weir_conf_setting *s)
{
	struct weir_ctl_op *op = &p->ops[p->n++];

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->origin = s->origin;
	return op;
}

static int
missing(struct plan *p, enum weir_conf_kind kind, unsigned int number, const char *key)
{
	unsigned int n;
	const char *section = weir_conf_section(kind, &n);

	/* Name the place by any key of the section that was given. */
	for (size_t i = 0; i < p->conf->n; i++) {
		const struct weir_conf_setting *s = &p->conf->set[i];

		if (s->key->kind == kind && s->number == number)
			return weir_error_set(p->err, -EINVAL, "%s: [%s %u]: %s: required",
					      s->origin, section, number, key);
	}
	return weir_error_set(p->err, -EINVAL, "[%s %u]: required, since [port %u] is given",
			      section, number, p->n_ports - 1);
}

static int
plan_port(struct plan *p, unsigned int number)
{
	const struct weir_conf_setting *device =
		weir_conf_find(p->conf, WEIR_CONF_PORT, number, "device");
	const struct weir_conf_setting *s;
	struct weir_ctl_op *op;

	if (device == NULL)
		return missing(p, WEIR_CONF_PORT, number, "device");
	op = add_op(p, WEIR_CTL_PORT_ADD, device);
	weir_port_conf_init(&op->port_conf);
	op->port_conf.device = device->value;
	for (size_t i = 0; i < p->conf->n; i++) {
		s = &p->conf->set[i];
		if (s->key->kind == WEIR_CONF_PORT && s->number == number)
			weir_conf_store(&op->port_conf, s->key, s->value);
	}
	return 0;
}

static void
plan_addresses(struct plan *p, unsigned int number)
{
	const struct weir_conf_setting *s =
		weir_conf_find(p->conf, WEIR_CONF_PORT, number, "address");
	const char *text = s != NULL ? s->value : "";
	struct weir_addr addr;
	uint8_t bits;

	while (weir_conf_next_address(&text, &addr, &bits) > 0) {
		struct weir_ctl_op *op = add_op(p, WEIR_CTL_ADDR_ADD, s);

		op->port = number;
		op->addr = addr;
		op->prefix_bits = bits;
	}
}

/* The port of a route or neighbour: as given, or the one that has addr on link. */
static int
plan_portref(struct plan *p, enum weir_conf_kind kind, unsigned int number,
	     const struct weir_addr *addr, const struct weir_conf_setting *place,
	     unsigned int *port)
{
	const struct weir_conf_setting *s = weir_conf_find(p->conf, kind, number, "port");
	int found = p->n_ports == 1 ? 0 : -1;
	const bool scoped =
		addr != NULL && addr->family == WEIR_IPV6 && weir_ip6_is_link_local(&addr->ip);

	if (s != NULL && strcmp(s->value, "auto") != 0) {
		*port = (unsigned int)strtoul(s->value, NULL, 10);
		if (*port >= p->n_ports)
			return weir_error_set(p->err, -EINVAL, "%s: port: %u: allowed: 0..%u",
					      s->origin, *port, p->n_ports - 1);
		return 0;
	}
	if (scoped && addr->scope != 0)
		found = (int)addr->scope - 1;
	else if (addr != NULL && !scoped) /* link-local is on every link */
		found = port_of(p->conf, addr);
	if (found < 0 || (unsigned int)found >= p->n_ports)
		return weir_error_set(
			p->err, -EINVAL,
			"%s: %s: %.60s: on link of no port; allowed: an address inside "
			"a port's prefix, or a port given as well",
			place->origin, place->key->name, place->value);
	*port = (unsigned int)found;
	return 0;
}

/* The hops that via names, or the one that it stands for when it is left out. */
static int
plan_hops(struct plan *p, unsigned int number, struct weir_route_conf *r,
	  const struct weir_conf_setting *prefix)
{
	const struct weir_conf_setting *via =
		weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "via");
	const char *text = via != NULL ? via->value : "on-link";
	bool has_port;
	int rc = 0;

	/* Checked when it was set: neither too many nor ill-formed. */
	while (rc == 0 && weir_conf_next_hop(&text, &r->hop[r->n_hops], &has_port) > 0) {
		struct weir_hop *h = &r->hop[r->n_hops++];
		const bool on_link = h->gateway.family == WEIR_UNSPEC;

		if (!has_port)
			rc = plan_portref(p, WEIR_CONF_ROUTE, number, on_link ? NULL : &h->gateway,
					  on_link ? prefix : via, &h->port);
	}
	return rc;
}

static int
plan_route(struct plan *p, unsigned int number)
{
	const struct weir_conf_setting *prefix =
		weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "prefix");
	const struct weir_conf_setting *src =
		weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "src");
	const struct weir_conf_setting *from =
		weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "from");
	struct weir_route_conf *r = &p->routes[p->n_routes++];

	if (prefix == NULL)
		return missing(p, WEIR_CONF_ROUTE, number, "prefix");
	weir_route_conf_init(r);
	add_op(p, WEIR_CTL_ROUTE_ADD, prefix)->route = r;
	/* All were checked when they were set. */
	if (weir_prefix_parse(prefix->value, &r->prefix, &r->prefix_bits) < 0 ||
	    (src != NULL && weir_addr_parse(src->value, &r->src) < 0) ||
	    (from != NULL && weir_prefix_parse(from->value, &r->from, &r->from_bits) < 0))
		return -EINVAL;
	for (size_t i = 0; i < p->conf->n; i++) {
		const struct weir_conf_setting *s = &p->conf->set[i];

		if (s->key->kind == WEIR_CONF_ROUTE && s->number == number)
			weir_conf_store(r, s->key, s->value);
	}
	if (r->kind != WEIR_ROUTE_UNICAST &&
	    weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "via") == NULL &&
	    weir_conf_find(p->conf, WEIR_CONF_ROUTE, number, "port") == NULL)
		return 0;
	return plan_hops(p, number, r, prefix);
}

static int
plan_neigh(struct plan *p, unsigned int number)
{
	const struct weir_conf_setting *address =
		weir_conf_find(p->conf, WEIR_CONF_NEIGH, number, "address");
	const struct weir_conf_setting *mac =
		weir_conf_find(p->conf, WEIR_CONF_NEIGH, number, "mac");
	struct weir_ctl_op *op;

	if (address == NULL || mac == NULL)
		return missing(p, WEIR_CONF_NEIGH, number, address == NULL ? "address" : "mac");
	op = add_op(p, WEIR_CTL_NEIGH_ADD, address);
	if (weir_addr_parse(address->value, &op->addr) < 0 ||
	    weir_conf_mac(mac->value, op->mac) < 0)
		return -EINVAL;
	return plan_portref(p, WEIR_CONF_NEIGH, number, &op->addr, address, &op->port);
}

/* True for the first setting of a section in the collection. */
static bool
opens_section(const struct weir_conf *conf, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (conf->set[j].key->kind == conf->set[i].key->kind &&
		    conf->set[j].number == conf->set[i].number)
			return false;
	return true;
}

/* All operations, in the order in which each finds what it needs. */
static int
make_plan(struct plan *p)
{
	const struct weir_conf *conf = p->conf;
	int rc = 0;

	for (size_t i = 0; i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_PORT && conf->set[i].number >= p->n_ports)
			p->n_ports = conf->set[i].number + 1;
	for (unsigned int i = 0; rc == 0 && i < p->n_ports; i++)
		rc = plan_port(p, i);
	for (unsigned int i = 0; rc == 0 && i < p->n_ports; i++)
		plan_addresses(p, i);
	for (size_t i = 0; rc == 0 && i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_NEIGH && opens_section(conf, i))
			rc = plan_neigh(p, conf->set[i].number);
	for (size_t i = 0; rc == 0 && i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_ROUTE && opens_section(conf, i))
			rc = plan_route(p, conf->set[i].number);
	return rc;
}

/* The stack refused a parameter by name: say where it was set. */
static void
add_origin(const struct weir_conf *conf, struct weir_error *err)
{
	char text[sizeof(err->text)];

	if (err == NULL)
		return;
	for (size_t i = 0; i < conf->n; i++) {
		const struct weir_conf_setting *s = &conf->set[i];
		size_t len = strlen(s->key->name);

		if (s->key->kind == WEIR_CONF_STACK && strncmp(err->text, s->key->name, len) == 0 &&
		    err->text[len] == ':') {
			memcpy(text, err->text, sizeof(text));
			weir_error_set(err, err->code, "%s: %s", s->origin, text);
			return;
		}
	}
}

int
weir_conf_apply(const struct weir_conf *conf, struct weir_stack **out, struct weir_error *err)
{
	struct plan p = {.conf = conf, .err = err};
	struct weir_stack_conf sc;
	struct weir_stack *stack;
	int rc;

	weir_stack_conf_init(&sc);
	for (size_t i = 0; i < conf->n; i++) {
		const struct weir_conf_setting *s = &conf->set[i];

		if (s->key->kind != WEIR_CONF_STACK)
			continue;
		if (s->key->type == WEIR_CONF_NAME)
			sc.name = s->value;
		else
			weir_conf_store(&sc, s->key, s->value);
	}
	/* One operation per setting, and one more per further address, is never too few. */
	p.cap = (unsigned int)conf->n + WEIR_MAX_PORTS * WEIR_CONF_ADDRESSES_MAX;
	p.ops = calloc(p.cap, sizeof(*p.ops));
	p.routes = calloc(conf->n + 1, sizeof(*p.routes));
	rc = p.ops != NULL && p.routes != NULL ? make_plan(&p)
					       : weir_error_set(err, -ENOMEM, "out of memory");
	if (rc < 0)
		goto free_ops;
	rc = weir_stack_create(&sc, &stack, err);
	if (rc < 0) {
		add_origin(conf, err);
		goto free_ops;
	}
	rc = weir_ctl_apply(stack, p.ops, p.n, err);
	if (rc < 0)
		weir_stack_destroy(stack);
	else
		*out = stack;
free_ops:
	free(p.routes);
	free(p.ops);
	return rc;
}
