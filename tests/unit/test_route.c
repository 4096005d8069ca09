/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The route cache: what makes an entry stale and what does not, the generation and its wrap, more destinations than
 * there are places, several hops, path MTUs.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "fib.h"
#include "lcore.h"
#include "neigh.h"
#include "pmtu.h"
#include "route.h"

#define GW1_MAC "\x02\x00\x00\x00\x00\x0a"
#define GW2_MAC "\x02\x00\x00\x00\x00\x0b"

static struct ut_frame f;

static struct weir_addr
ip(unsigned int a, unsigned int b, unsigned int c, unsigned int d)
{
	return weir_addr_v4(UT_IP(a, b, c, d), UT_PEER_PORT);
}

static void
route(struct ut_stack *s, bool add, struct weir_addr prefix, uint8_t bits, struct weir_addr gw)
{
	struct weir_error err = {0};
	int ret;

	prefix.port = 0;
	gw.port = 0;
	ret = add ? weir_route_add(s->stack, &prefix, bits, &gw, 0, &err)
		  : weir_route_del(s->stack, &prefix, bits, &err);
	ut_check(ret == 0, "route: %d %s", ret, err.text);
}

static void
gateways(struct ut_stack *s)
{
	struct weir_addr a = ip(10, 0, 0, 10), b = ip(10, 0, 0, 11);

	a.port = b.port = 0;
	assert_int_equal(weir_neigh_add(s->stack, 0, &a, (const uint8_t *)GW1_MAC, NULL), 0);
	assert_int_equal(weir_neigh_add(s->stack, 0, &b, (const uint8_t *)GW2_MAC, NULL), 0);
}

/* One datagram to `to` leaves at once, and for this MAC. */
static void
must_go(struct ut_stack *s, struct weir_addr to, const void *mac, const char *what)
{
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), 1);
	ut_stack_poll(s);
	ut_check(ut_stack_take(s, 0, &f), "%s: nothing left", what);
	ut_check(memcmp(f.b, mac, 6) == 0, "%s: to another MAC", what);
	ut_check(ut_get32(f.b + 30) == ut_get32(to.ip.b), "%s: to another address", what);
	ut_check(ut_stack_pending(s, 0) == 0, "%s: something else left", what);
}

static struct weir_rtc *
entry(struct ut_stack *s, struct weir_addr to)
{
	static const union weir_ip any;
	int err;

	return weir_route_get(s->w[0], &to.ip, &any, weir_route_sel(to.family, -1),
			      weir_route_ports(to.port, to.port), &err);
}

static void
an_unrelated_change_only_renews_the_generation(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = ip(10, 0, 0, 2);
	struct weir_rtc *e, before;

	ut_stack_up(s, &cfg);
	gateways(s);
	ut_stack_socket(s, 9000);
	/* A neighbour that has been asked for, not a permanent one. */
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), 1);
	ut_stack_poll(s);
	ut_stack_arp_reply(s, 0, UT_PEER_IP, UT_PEER_MAC);
	while (ut_stack_take(s, 0, &f))
		;
	must_go(s, to, UT_PEER_MAC, "asked for");
	e = entry(s, to);
	before = *e;
	assert_true(e->flags & WEIR_RTC_READY);
	for (unsigned int i = 0; i < 100; i++) {
		route(s, true, ip(172, 16, i, 0), 24, ip(10, 0, 0, 10));
		assert_int_not_equal(atomic_load(&s->stack->gen), before.gen);
		assert_ptr_equal(entry(s, to), e);
		assert_int_equal(e->gen, atomic_load(&s->stack->gen));
		before.gen = e->gen;
		assert_memory_equal(e, &before, sizeof(before));
		must_go(s, to, UT_PEER_MAC, "after an unrelated change");
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "unrelated");
}

static void
a_change_counts_from_the_next_datagram(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = ip(192, 0, 2, 7);

	ut_stack_up(s, &cfg);
	gateways(s);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), -ENETUNREACH);
	route(s, true, ip(0, 0, 0, 0), 0, ip(10, 0, 0, 10));
	must_go(s, to, GW1_MAC, "default");
	route(s, true, ip(192, 0, 2, 0), 24, ip(10, 0, 0, 11));
	must_go(s, to, GW2_MAC, "longer prefix");
	route(s, false, ip(192, 0, 2, 0), 24, ip(10, 0, 0, 11));
	must_go(s, to, GW1_MAC, "default again");
	route(s, false, ip(0, 0, 0, 0), 0, ip(10, 0, 0, 10));
	assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), -ENETUNREACH);
}

/* The generation runs over: 0 is nobody's, and no change is missed. */
static void
the_generation_wraps(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = ip(192, 0, 2, 7);
	struct weir_addr never = ip(192, 0, 2, 8);

	ut_stack_up(s, &cfg);
	gateways(s);
	ut_stack_socket(s, 9000);
	atomic_store(&s->stack->gen, UINT64_MAX - 5);
	for (unsigned int i = 0; i < 12; i++) {
		route(s, true, ip(192, 0, 2, 0), 24, i & 1 ? ip(10, 0, 0, 11) : ip(10, 0, 0, 10));
		assert_int_not_equal(atomic_load(&s->stack->gen), 0);
		must_go(s, to, i & 1 ? GW2_MAC : GW1_MAC, "around the wrap");
		route(s, false, ip(192, 0, 2, 0), 24, ip(10, 0, 0, 10));
		assert_int_not_equal(atomic_load(&s->stack->gen), 0);
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), -ENETUNREACH);
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &never), -ENETUNREACH);
	}
	assert_true(atomic_load(&s->stack->gen) < 100);
}

static void
more_destinations_than_places(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr steady = ip(192, 0, 2, 7);

	ut_stack_up(s, &cfg);
	gateways(s);
	ut_stack_socket(s, 9000);
	route(s, true, ip(0, 0, 0, 0), 0, ip(10, 0, 0, 10));
	for (unsigned int i = 0; i < 3 * WEIR_RTC_SETS * WEIR_RTC_WAYS; i++) {
		must_go(s, ip(20 + i / 65536, i / 256 % 256, i % 256, 1), GW1_MAC, "one of many");
		if (i % 16 == 0)
			must_go(s, steady, GW1_MAC, "the steady one");
	}
}

static void
several_hops_are_all_used_and_flows_are_steady(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_route_conf conf;
	unsigned int by[2] = {0, 0};

	ut_stack_up(s, &cfg);
	gateways(s);
	weir_route_conf_init(&conf);
	conf.prefix = ip(192, 0, 2, 0);
	conf.prefix.port = 0;
	conf.prefix_bits = 24;
	conf.n_hops = 2;
	for (unsigned int i = 0; i < 2; i++) {
		conf.hop[i].gateway = ip(10, 0, 0, 10 + i);
		conf.hop[i].gateway.port = 0;
	}
	assert_int_equal(weir_route_add_conf(s->stack, &conf, NULL), 0);
	ut_stack_socket(s, 9000);
	for (unsigned int i = 0; i < 200; i++) {
		struct weir_addr to = ip(192, 0, 2, 7);
		uint8_t mac[6];

		to.port = (uint16_t)(i + 1);
		for (unsigned int again = 0; again < 3; again++) {
			assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &to), 1);
			ut_stack_poll(s);
			ut_stack_must_take(s, 0, &f);
			if (again > 0)
				assert_memory_equal(f.b, mac, 6);
			memcpy(mac, f.b, 6);
		}
		by[mac[5] == 0x0b]++;
	}
	ut_check(by[0] > 60 && by[1] > 60, "%u and %u flows", by[0], by[1]);
}

/* A path MTU that is learned counts at once; below what is believed DF goes, for sockets that do not insist. */
static void
path_mtus_reach_the_header(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = ip(10, 0, 0, 2);
	static uint8_t b[1472];

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 1472, &to), 1472);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 1514);
	assert_true(weir_pmtu_learn(s->w[0], &to.ip, WEIR_IPV4, 1400, 1500));
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 1372, &to), 1372);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 1414);
	assert_int_equal(ut_get16(f.b + 20), 0x4000);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 1373, &to), 1373);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 14 + 20 + 1376);
	assert_int_equal(ut_get16(f.b + 20), 0x2000);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 14 + 20 + 5);
	/* Who insists is refused, who looks at the port only is not. */
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DO), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 1373, &to), -EMSGSIZE);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_PROBE), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 1472, &to), 1472);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 1514);
	assert_int_equal(ut_get16(f.b + 20), 0x4000);
}

static void
below_what_is_believed_df_goes(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = ip(10, 0, 0, 2);

	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_socket(s, 9000);
	assert_true(weir_pmtu_learn(s->w[0], &to.ip, WEIR_IPV4, 200, 1500));
	assert_int_equal(weir_send(s->w[0], s->sk[0], "0123456789", 10, &to), 10);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(ut_get16(f.b + 20), 0);
	assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
	assert_int_equal(weir_socket_set(s->sk[0], WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DO), 0);
	assert_int_equal(weir_send(s->w[0], s->sk[0], "0123456789", 10, &to), 10);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(ut_get16(f.b + 20), 0x4000);
}

int
main(void)
{
	static const struct CMUnitTest cases[] = {
		UT_STACK_TEST(an_unrelated_change_only_renews_the_generation),
		UT_STACK_TEST(a_change_counts_from_the_next_datagram),
		UT_STACK_TEST(the_generation_wraps),
		UT_STACK_TEST(more_destinations_than_places),
		UT_STACK_TEST(several_hops_are_all_used_and_flows_are_steady),
		UT_STACK_TEST(path_mtus_reach_the_header),
		UT_STACK_TEST(below_what_is_believed_df_goes),
	};

	return UT_RUN(cases, NULL, NULL);
}
