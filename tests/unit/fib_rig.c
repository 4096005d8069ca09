/* SPDX-License-Identifier: BSD-3-Clause */
/* See fib_rig.h. */
#include "fib_rig.h"

#include "common/ut.h"
#include "rcu.h"

struct weir_stack *
fib_rig_up(void)
{
	struct weir_stack *s = aligned_alloc(WEIR_CACHE_LINE, sizeof(*s));

	assert_non_null(s);
	memset((void *)s, 0, sizeof(*s));
	s->control = calloc(1, sizeof(*s->control));
	assert_non_null(s->control);
	assert_int_equal(pthread_mutex_init(&s->control->lock, NULL), 0);
	assert_int_equal(weir_rcu_init(s), 0);
	for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++) {
		if (p >= FIB_RIG_PORTS && p != WEIR_PORT_LOOPBACK)
			continue;
		s->ports[p] = calloc(1, sizeof(*s->ports[p]));
		assert_non_null(s->ports[p]);
		s->ports[p]->index = (uint16_t)p;
		s->ports[p]->mtu = p == WEIR_PORT_LOOPBACK ? 65535 : (uint16_t)(1500 - p);
		s->ports[p]->link_up = true;
	}
	assert_int_equal(weir_fib_init(s), 0);
	fib_rig_addrs(s);
	return s;
}

void
fib_rig_down(struct weir_stack *s)
{
	weir_rcu_reclaim(s, true);
	assert_false(weir_rcu_pending(s));
	weir_fib_fini(s);
	weir_local_fini(s);
	weir_rcu_fini(s);
	for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++)
		free(s->ports[p]);
	pthread_mutex_destroy(&s->control->lock);
	free(s->control->addr);
	free(s->control);
	free(s);
}

void
fib_rig_addrs(struct weir_stack *s)
{
	struct weir_locals *l = weir_local_build(s);

	assert_non_null(l);
	weir_local_publish(s, l);
	weir_fib_touch(s);
}

struct weir_ctl_addr *
fib_rig_addr(struct weir_stack *s, const char *text, unsigned int port)
{
	struct weir_control *c = s->control;
	struct weir_ctl_addr *a;

	c->addr = realloc(c->addr, (c->n_addr + 1) * sizeof(*c->addr));
	assert_non_null(c->addr);
	a = &c->addr[c->n_addr++];
	memset(a, 0, sizeof(*a));
	ut_check(weir_prefix_parse(text, &a->addr, &a->bits) == 0, "%s", text);
	a->port = (uint16_t)port;
	a->valid_ns = a->preferred_ns = UINT64_MAX;
	fib_rig_addrs(s);
	return a;
}

union weir_ip
fib_rig_ip(const char *text)
{
	struct weir_addr a;

	ut_check(weir_addr_parse(text, &a) == 0, "%s", text);
	return a.ip;
}

struct weir_route
fib_rig_route(struct weir_stack *s, const char *prefix, const char *gateway, unsigned int port,
	      struct weir_nexthop *hop)
{
	struct weir_route r = {.hop = hop, .n_hops = 1};
	struct weir_addr a;

	ut_check(weir_prefix_parse(prefix, &a, &r.bits) == 0, "%s", prefix);
	r.prefix = a.ip;
	r.family = a.family;
	memset(hop, 0, sizeof(*hop));
	hop->port = s->ports[port];
	hop->has_gateway = gateway != NULL;
	if (gateway != NULL)
		hop->gateway = fib_rig_ip(gateway);
	return r;
}

void
fib_rig_add(struct weir_stack *s, const struct weir_route *r)
{
	struct weir_fib_txn *txn = weir_fib_begin(s);

	assert_non_null(txn);
	assert_int_equal(weir_fib_add(txn, r), 0);
	weir_fib_commit(txn);
	weir_rcu_reclaim(s, false);
}

void
fib_rig_via(struct weir_stack *s, const char *prefix, const char *gateway, unsigned int port)
{
	struct weir_nexthop hop;
	struct weir_route r = fib_rig_route(s, prefix, gateway, port, &hop);

	fib_rig_add(s, &r);
}
