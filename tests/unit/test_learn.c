/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stack learns by itself: which of its addresses nobody else has, link-local addresses, what routers
 * advertise, better ways, and how long all that holds. Here workers' findings are put into control's box as they
 * would; that they find them is tested with those who look at the wire (test_dad, test_ndp, test_icmp).
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "common/ut_fail.h"
#include "control_state.h"
#include "fib.h"
#include "local.h"

static struct weir_addr
v6(const char *text)
{
	struct weir_addr a;

	assert_int_equal(weir_addr_parse(text, &a), 0);
	return a;
}

/* Two ticks: what is posted, and what that causes. */
static void
tick(struct ut_stack *s)
{
	ut_stack_pass(s, 120 * WEIR_NS_PER_MS, 60 * WEIR_NS_PER_MS);
}

static void
post(struct ut_stack *s, const struct weir_post *ev)
{
	assert_true(weir_ctl_post(s->stack, ev));
	tick(s);
}

static struct ut_stack_cfg
quiet(unsigned int dad)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.port.dad = dad;
	cfg.port.no_link_local = true;
	return cfg;
}

/* What was said on the wire meanwhile is not looked at here. */
static void
hush(struct ut_stack *s)
{
	for (unsigned int p = 0; p < s->cfg.n_ports; p++)
		testport_discard(s->ethdev[p]);
}

static const struct weir_route *
route_to(struct ut_stack *s, const char *prefix, uint32_t metric)
{
	struct weir_addr a;
	struct weir_route like = {.family = WEIR_IPV6, .metric = metric};

	assert_int_equal(weir_prefix_parse(prefix, &a, &like.bits), 0);
	like.prefix = a.ip;
	like.family = a.family;
	return weir_fib_exact(s->stack, &like);
}

static bool
ours(struct ut_stack *s, const char *text)
{
	struct weir_addr a = v6(text);

	return weir_local6(s->stack, &a.ip, 0) == WEIR_LOCAL_UNICAST;
}

static const struct weir_ctl_addr *
entry(struct ut_stack *s, const char *text)
{
	const struct weir_control *c = s->stack->control;
	struct weir_addr a = v6(text);

	for (size_t i = 0; i < c->n_addr; i++)
		if (c->addr[i].addr.ip.w[0] == a.ip.w[0] && c->addr[i].addr.ip.w[1] == a.ip.w[1])
			return &c->addr[i];
	return NULL;
}

/* ---- duplicate addresses ---- */

static void
an_address_is_ours_when_nobody_else_has_it(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(1);
	struct weir_addr a = v6("fd00:5::1");
	struct weir_addr b = v6("fd00:6::1");
	struct weir_addr peer = v6("fd00:5::2");
	struct weir_post ev = {.kind = WEIR_POST_ADDR_UNIQUE, .addr = a};

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
	assert_int_equal(weir_addr_add(s->stack, 0, &b, 64, NULL), 0);
	assert_false(ours(s, "fd00:5::1"));
	assert_true(entry(s, "fd00:5::1")->tentative);
	assert_null(weir_fib_lookup(s->stack, &peer.ip, WEIR_IPV6, NULL, -1));
	post(s, &ev);
	assert_true(ours(s, "fd00:5::1"));
	assert_non_null(weir_fib_lookup(s->stack, &peer.ip, WEIR_IPV6, NULL, -1));
	/* Somebody else has the other one; it is kept for reports only, and may be removed. */
	ev = (struct weir_post){.kind = WEIR_POST_ADDR_DUPLICATE, .addr = b, .mac = {2, 3}};
	post(s, &ev);
	assert_false(ours(s, "fd00:6::1"));
	assert_true(entry(s, "fd00:6::1")->duplicate);
	/* Too late: it is decided. */
	ev.kind = WEIR_POST_ADDR_UNIQUE;
	post(s, &ev);
	assert_false(ours(s, "fd00:6::1"));
	assert_int_equal(weir_addr_del(s->stack, 0, &b, NULL), 0);
	assert_null(entry(s, "fd00:6::1"));
	/* A finding about an address or a port that went meanwhile. */
	post(s, &ev);
	ev.port = 3;
	post(s, &ev);
	assert_int_equal(weir_addr_del(s->stack, 0, &a, NULL), 0);
	assert_null(weir_fib_lookup(s->stack, &peer.ip, WEIR_IPV6, NULL, -1));
	hush(s);
}

static void
a_finding_without_memory_is_looked_at_again(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(1);
	struct weir_addr a = v6("fd00:5::1");
	struct weir_post ev = {.kind = WEIR_POST_ADDR_UNIQUE, .addr = a};
	unsigned int k = 0;

	ut_stack_up(s, &cfg);
	do {
		assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
		tick(s);
		assert_true(weir_ctl_post(s->stack, &ev));
		ut_fail_at(++k);
		tick(s);
		if (!ut_fail_stop())
			k = 0;
		tick(s);
		ut_check(ours(s, "fd00:5::1"), "not ours after allocation %u had failed", k);
		assert_int_equal(weir_addr_del(s->stack, 0, &a, NULL), 0);
		tick(s);
	} while (k != 0 && k < 100);
	assert_int_equal(k, 0);
	hush(s);
}

/* ---- link-local addresses ---- */

static void
the_first_ipv6_address_brings_a_link_local_one(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_addr a = v6("fd00:5::1");
	struct weir_addr mine;
	const struct weir_ctl_addr *e;

	cfg.n_ports = 2;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	assert_null(entry(s, "fe80::ff:fe00:1"));
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
	/* 02:00:00:00:00:01: EUI-64 with the universal bit turned over. */
	e = entry(s, "fe80::ff:fe00:1");
	assert_non_null(e);
	assert_true(e->made);
	assert_int_equal(e->port, 0);
	assert_int_equal(e->addr.scope, 1);
	assert_true(ours(s, "fe80::ff:fe00:1"));
	assert_null(entry(s, "fe80::ff:fe00:101"));
	/* One is enough; a second on the other port is a matter of that one. */
	a = v6("fd00:6::1");
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
	assert_int_equal(s->stack->control->n_addr, 5);
	a = v6("fd00:7::1");
	assert_int_equal(weir_addr_add(s->stack, 1, &a, 64, NULL), 0);
	assert_non_null(entry(s, "fe80::ff:fe00:101"));
	/* The same fe80:: address on two links is two addresses. */
	mine = v6("fe80::77");
	assert_int_equal(weir_addr_add(s->stack, 0, &mine, 64, NULL), 0);
	assert_int_equal(weir_addr_add(s->stack, 1, &mine, 64, NULL), 0);
	assert_int_equal(weir_addr_add(s->stack, 1, &mine, 64, NULL), -EEXIST);
	mine.scope = 2;
	assert_int_equal(weir_addr_del(s->stack, 0, &mine, NULL), 0);
	hush(s);
}

static void
ports_that_start_later_get_theirs_then(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_addr a = v6("fd00:5::1");
	struct weir_addr own = v6("fe80::5");

	cfg.n_ports = 3;
	cfg.port.no_link_local = false;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
	assert_int_equal(weir_addr_add(s->stack, 1, &own, 64, NULL), 0);
	assert_null(entry(s, "fe80::ff:fe00:1"));
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(weir_stack_start(s->stack, NULL), 0);
		assert_non_null(entry(s, "fe80::ff:fe00:1"));
		assert_null(entry(s, "fe80::ff:fe00:101")); /* has one that was added */
		assert_null(entry(s, "fe80::ff:fe00:201")); /* has no IPv6 address */
		assert_int_equal(s->stack->control->n_addr, 3 + 3);
		assert_int_equal(weir_stack_stop(s->stack), 0);
	}
	hush(s);
}

/* ---- advertised prefixes ---- */

static struct weir_post
advertised(const char *prefix, uint8_t flags, uint32_t valid_s, uint32_t preferred_s)
{
	struct weir_post ev = {.kind = WEIR_POST_PREFIX,
			       .flags = flags,
			       .valid_s = valid_s,
			       .preferred_s = preferred_s};

	assert_int_equal(weir_prefix_parse(prefix, &ev.addr, &ev.bits), 0);
	return ev;
}

#define ONLINK WEIR_PREFIX_ONLINK
#define AUTO   WEIR_PREFIX_AUTO
#define MADE   "2001:db8:1::ff:fe00:1"

static void
prefixes_become_addresses_and_routes_for_as_long_as_promised(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_post ev = advertised("2001:db8:1::/64", ONLINK | AUTO, 100, 50);
	uint64_t gen;

	ut_stack_up(s, &cfg);
	post(s, &ev);
	assert_true(ours(s, MADE));
	assert_true(entry(s, MADE)->learned);
	assert_non_null(route_to(s, "2001:db8:1::/64", 256));
	assert_true(route_to(s, "2001:db8:1::/64", 256)->learned);
	/* Deprecated after 50 s: sources are chosen anew. */
	ut_stack_pass(s, 49 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	gen = atomic_load(&s->stack->gen);
	ut_stack_pass(s, 2 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	assert_true(atomic_load(&s->stack->gen) > gen);
	assert_true(ours(s, MADE));
	ut_stack_pass(s, 51 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	assert_false(ours(s, MADE));
	assert_null(entry(s, MADE));
	assert_null(route_to(s, "2001:db8:1::/64", 256));
	/* Said again and again it lives on; without end it stays for ever. */
	post(s, &ev);
	ut_stack_pass(s, 90 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	ev.valid_s = ev.preferred_s = UINT32_MAX;
	post(s, &ev);
	ut_stack_pass(s, 100000 * WEIR_NS_PER_S, 20000 * WEIR_NS_PER_S);
	assert_true(ours(s, MADE));
	assert_non_null(route_to(s, "2001:db8:1::/64", 256));
	/* The route may be called back at once, the address not: RFC 4862 5.5.3 (e). */
	ev.valid_s = ev.preferred_s = 0;
	post(s, &ev);
	assert_null(route_to(s, "2001:db8:1::/64", 256));
	assert_true(ours(s, MADE));
	ut_stack_pass(s, 7190 * WEIR_NS_PER_S, 10 * WEIR_NS_PER_S);
	assert_true(ours(s, MADE));
	post(s, &ev); /* what is left is less: nothing changes */
	ut_stack_pass(s, 20 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	assert_false(ours(s, MADE));
	hush(s);
}

static void
prefixes_that_cannot_be_are_not_taken(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_addr mine = v6(MADE);
	struct weir_post ev;

	ut_stack_up(s, &cfg);
	ev = advertised("fe80::/64", ONLINK | AUTO, 100, 100);
	post(s, &ev);
	ev = advertised("ff05::/64", ONLINK | AUTO, 100, 100);
	post(s, &ev);
	ev = advertised("2001:db8:1::/56", AUTO, 100, 100); /* no room for an EUI-64 made of 64 */
	post(s, &ev);
	ev = advertised("2001:db8:1::/64", AUTO, 100, 101); /* preferred for longer than valid */
	post(s, &ev);
	ev = advertised("2001:db8:1::/64", AUTO, 0, 0);
	post(s, &ev);
	ev = advertised("2001:db8:1::/64", 0, 100, 100);
	post(s, &ev);
	assert_int_equal(s->stack->control->n_addr, 1);
	assert_int_equal(weir_fib_count(s->stack), 1);
	/* What was added by hand is not touched. */
	assert_int_equal(weir_addr_add(s->stack, 0, &mine, 64, NULL), 0);
	ev = advertised("2001:db8:1::/64", AUTO, 10, 10);
	post(s, &ev);
	ut_stack_pass(s, 20 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	assert_true(ours(s, MADE));
	assert_false(entry(s, MADE)->learned);
	hush(s);
}

static void
who_advertises_without_end_gets_his_share_and_no_more(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_post ev = advertised("2001:db8:1::/64", ONLINK | AUTO, 1000, 1000);

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 1000; i++) {
		ev.addr.ip.b[5] = (uint8_t)i;
		ev.addr.ip.b[4] = (uint8_t)(i >> 8);
		(void)weir_ctl_post(s->stack, &ev);
		if (i % 100 == 0)
			tick(s);
	}
	tick(s);
	assert_int_equal(s->stack->control->n_addr, 2 + 16);
	assert_int_equal(s->stack->control->n_lease, 16);
	assert_int_equal(weir_fib_count(s->stack), 2 + 16);
	/* The other port has a share of its own. */
	ev.port = 1;
	post(s, &ev);
	assert_int_equal(s->stack->control->n_addr, 2 + 16 + 1);
	/* A port that goes takes what was learned on it along. */
	assert_int_equal(weir_port_remove(s->stack, 0, NULL), 0);
	assert_int_equal(s->stack->control->n_addr, 1 + 1);
	assert_int_equal(s->stack->control->n_lease, 1);
	testport_discard(s->ethdev[0]);
	testport_discard(s->ethdev[1]);
}

/* ---- routers and redirects ---- */

static void
routers_are_ranked_and_go(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_post ev = {.kind = WEIR_POST_ROUTER, .valid_s = 1800};
	const struct weir_addr far = v6("2001:db8:ffff::1");
	const struct weir_route *r;
	struct weir_addr a = v6("fd00:5::1");

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 64, NULL), 0);
	ev.addr = v6("fe80::a");
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1);
	assert_non_null(r);
	assert_int_equal(r->metric, 1024);
	assert_true(r->hop[0].has_gateway);
	assert_int_equal(r->hop[0].gateway.b[15], 0xa);
	/* One of the same rank stands behind it, a preferred one before both. */
	ev.addr = v6("fe80::b");
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1);
	assert_int_equal(r->hop[0].gateway.b[15], 0xa);
	ev.addr = v6("fe80::c");
	ev.value = 1;
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1);
	assert_int_equal(r->hop[0].gateway.b[15], 0xc);
	/* It is not preferred any more. */
	ev.value = (uint32_t)-1;
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1);
	assert_int_equal(r->hop[0].gateway.b[15], 0xa);
	/* The first says good-bye. */
	ev = (struct weir_post){.kind = WEIR_POST_ROUTER, .addr = v6("fe80::a")};
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1);
	assert_int_equal(r->hop[0].gateway.b[15], 0xb);
	assert_int_equal(s->stack->control->n_lease, 2);
	/* Nobody says anything any more. */
	ut_stack_pass(s, 1801 * WEIR_NS_PER_S, 100 * WEIR_NS_PER_S);
	assert_null(weir_fib_lookup(s->stack, &far.ip, WEIR_IPV6, NULL, -1));
	assert_int_equal(s->stack->control->n_lease, 0);
	/* Nonsense. */
	ev = (struct weir_post){
		.kind = WEIR_POST_ROUTER, .addr = v6("fe80::a"), .valid_s = 9, .value = 2};
	post(s, &ev);
	assert_int_equal(s->stack->control->n_lease, 0);
	hush(s);
}

static void
redirects_are_host_routes_that_expire(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr gw = weir_addr_v4(UT_IP(10, 0, 0, 9), 0);
	struct weir_addr any = weir_addr_v4(0, 0);
	struct weir_post ev = {.kind = WEIR_POST_REDIRECT,
			       .addr = weir_addr_v4(UT_IP(8, 8, 8, 8), 0),
			       .gateway = weir_addr_v4(UT_IP(10, 0, 0, 7), 0)};
	const struct weir_route *r;

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_route_add(s->stack, &any, 0, &gw, 0, NULL), 0);
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &ev.addr.ip, WEIR_IPV4, NULL, -1);
	assert_int_equal(r->bits, 32);
	assert_true(r->learned);
	assert_int_equal(r->hop[0].gateway.v4, ev.gateway.ip.v4);
	/* Another one replaces it; one to the destination itself says that it is on link. */
	ev.gateway = weir_addr_v4(UT_IP(10, 0, 0, 8), 0);
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &ev.addr.ip, WEIR_IPV4, NULL, -1);
	assert_int_equal(r->hop[0].gateway.v4, ev.gateway.ip.v4);
	assert_int_equal(s->stack->control->n_lease, 1);
	ev.gateway = ev.addr;
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &ev.addr.ip, WEIR_IPV4, NULL, -1);
	assert_false(r->hop[0].has_gateway);
	/* A gateway that is not on link, or is ourselves, is none: the old way is taken again. */
	ev.gateway = weir_addr_v4(UT_IP(192, 168, 0, 1), 0);
	post(s, &ev);
	r = weir_fib_lookup(s->stack, &ev.addr.ip, WEIR_IPV4, NULL, -1);
	assert_int_equal(r->bits, 0);
	ev.gateway = weir_addr_v4(UT_OUR_IP, 0);
	post(s, &ev);
	assert_int_equal(weir_fib_count(s->stack), 2);
	/* Of many the latest sixteen are kept. */
	ev.gateway = weir_addr_v4(UT_IP(10, 0, 0, 7), 0);
	for (uint32_t i = 0; i < 100; i++) {
		ev.addr = weir_addr_v4(UT_IP(8, 8, 9, i), 0);
		post(s, &ev);
	}
	assert_int_equal(s->stack->control->n_lease, 16);
	assert_int_equal(weir_fib_count(s->stack), 2 + 16);
	assert_int_equal(weir_fib_lookup(s->stack, &ev.addr.ip, WEIR_IPV4, NULL, -1)->bits, 32);
	ut_stack_pass(s, 601 * WEIR_NS_PER_S, 100 * WEIR_NS_PER_S);
	assert_int_equal(weir_fib_count(s->stack), 2);
	hush(s);
}

/* ---- MTU and link ---- */

static void
the_mtu_of_a_link_is_taken_within_reason(void **state)
{
	static const struct {
		uint32_t mtu, want;
	} row[] = {{1279, 0},    {1280, 1280},  {1400, 1400},
		   {1501, 1400}, {70000, 1400}, {1500, 1500}};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);

	ut_stack_up(s, &cfg);
	for (size_t i = 0; i < UT_N(row); i++) {
		struct weir_post ev = {.kind = WEIR_POST_RA_MTU, .value = row[i].mtu};

		post(s, &ev);
		assert_int_equal(atomic_load(&s->stack->ports[0]->mtu6), row[i].want);
	}
	hush(s);
}

static void
routes_by_a_port_without_link_are_passed_over(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = quiet(0);
	struct weir_addr far = weir_addr_v4(UT_IP(8, 8, 8, 8), 0);
	struct weir_route_conf r;
	const struct weir_route *found;
	struct weir_port_info info;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	weir_route_conf_init(&r);
	r.prefix.family = WEIR_IPV4;
	r.n_hops = 1;
	for (unsigned int i = 0; i < 2; i++) {
		r.hop[0].port = i;
		r.hop[0].gateway = weir_addr_v4(UT_IP(10, 0, i, 9), 0);
		r.metric = i;
		assert_int_equal(weir_route_add_conf(s->stack, &r, NULL), 0);
	}
	for (unsigned int round = 0; round < 3; round++) {
		found = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV4, NULL, -1);
		assert_int_equal(found->hop[0].port->index, 0);
		assert_int_equal(testport_set_link(s->ethdev[0], false), 0);
		ut_stack_pass(s, 300 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
		assert_int_equal(weir_port_info_get(s->stack, 0, &info), 0);
		assert_false(info.link_up);
		found = weir_fib_lookup(s->stack, &far.ip, WEIR_IPV4, NULL, -1);
		assert_non_null(found);
		assert_int_equal(found->hop[0].port->index, 1);
		assert_int_equal(testport_set_link(s->ethdev[0], true), 0);
		ut_stack_pass(s, 300 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
	}
	hush(s);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(an_address_is_ours_when_nobody_else_has_it),
		UT_STACK_TEST(a_finding_without_memory_is_looked_at_again),
		UT_STACK_TEST(the_first_ipv6_address_brings_a_link_local_one),
		UT_STACK_TEST(ports_that_start_later_get_theirs_then),
		UT_STACK_TEST(prefixes_become_addresses_and_routes_for_as_long_as_promised),
		UT_STACK_TEST(prefixes_that_cannot_be_are_not_taken),
		UT_STACK_TEST(who_advertises_without_end_gets_his_share_and_no_more),
		UT_STACK_TEST(routers_are_ranked_and_go),
		UT_STACK_TEST(redirects_are_host_routes_that_expire),
		UT_STACK_TEST(the_mtu_of_a_link_is_taken_within_reason),
		UT_STACK_TEST(routes_by_a_port_without_link_are_passed_over),
	};

	return UT_RUN(cases, NULL, NULL);
}
