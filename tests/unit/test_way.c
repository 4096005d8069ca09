/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way that a datagram takes, and from which address: tables of set-ups and what is decided.
 */
#include <errno.h>

#include "common/ut.h"
#include "common/ut_clock.h"
#include "common/ut_eal.h"

#include "fib_rig.h"
#include "pmtu.h"

/* What is asked, and what must come out: an error, or port, next hop and source. */
struct row {
	const char *dst, *bound; /* NULL: any */
	int port;                /* -1: any */
	int ret;
	int out;              /* -1: this host */
	const char *next_hop; /* NULL: the destination itself */
	const char *src;
};

static struct weir_way
ask(struct weir_stack *s, const char *dst, const char *bound, int port, uint32_t flow, int want)
{
	union weir_ip d = fib_rig_ip(dst), b = {.w = {0, 0}};
	struct weir_way_key key = {.dst = &d,
				   .bound = &b,
				   .family = strchr(dst, ':') != NULL ? WEIR_IPV6 : WEIR_IPV4,
				   .port = port,
				   .flow = flow};
	struct weir_way way;
	int ret;

	if (bound != NULL)
		b = fib_rig_ip(bound);
	ret = weir_way_find(s, &key, &way);
	ut_check(ret == want, "to %s from %s by %d: %d, wanted %d", dst,
		 bound != NULL ? bound : "any", port, ret, want);
	return way;
}

static void
check_ip(const union weir_ip *got, const char *want, const struct row *r, const char *what)
{
	union weir_ip ip = fib_rig_ip(want);
	struct weir_addr a = {.ip = *got,
			      .family = strchr(want, ':') != NULL ? WEIR_IPV6 : WEIR_IPV4};
	char text[WEIR_ADDR_STRLEN];

	ut_check(got->w[0] == ip.w[0] && got->w[1] == ip.w[1],
		 "to %s from %s by %d: %s %s, wanted %s", r->dst,
		 r->bound != NULL ? r->bound : "any", r->port, what,
		 weir_addr_format(&a, text, sizeof(text)), want);
}

static void
check_rows(struct weir_stack *s, const struct row *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &row[i];
		struct weir_way way = ask(s, r->dst, r->bound, r->port, 0, r->ret);

		if (r->ret != 0)
			continue;
		ut_check(way.port->index == (r->out < 0 ? WEIR_PORT_LOOPBACK : r->out),
			 "to %s from %s by %d: port %u, wanted %d", r->dst,
			 r->bound != NULL ? r->bound : "any", r->port, way.port->index, r->out);
		check_ip(&way.next_hop, r->next_hop != NULL ? r->next_hop : r->dst, r, "next hop");
		check_ip(&way.src, r->src, r, "source");
		assert_int_equal(way.mtu, way.port->mtu);
	}
}

static void
connected(struct weir_stack *s, const char *prefix, unsigned int port, const char *src)
{
	struct weir_nexthop hop;
	struct weir_route r = fib_rig_route(s, prefix, NULL, port, &hop);

	r.connected = true;
	hop.src = fib_rig_ip(src);
	hop.has_src = r.family == WEIR_IPV4;
	fib_rig_add(s, &r);
}

/* ---- IPv4 ---- */

static struct weir_stack *
ipv4_host(void)
{
	struct weir_stack *s = fib_rig_up();

	fib_rig_addr(s, "10.0.0.1/24", 0);
	fib_rig_addr(s, "10.0.5.1/24", 0);
	fib_rig_addr(s, "10.0.1.1/24", 1);
	connected(s, "10.0.0.0/24", 0, "10.0.0.1");
	connected(s, "10.0.5.0/24", 0, "10.0.5.1");
	connected(s, "10.0.1.0/24", 1, "10.0.1.1");
	return s;
}

static void
ipv4_is_decided_as_linux_does(void **state)
{
	static const struct row rows[] = {
		/* this host, whatever the port */
		{"10.0.0.1", NULL, -1, 0, -1, NULL, "10.0.0.1"},
		{"10.0.1.1", NULL, 0, 0, -1, NULL, "10.0.1.1"},
		{"10.0.1.1", "10.0.0.1", -1, 0, -1, NULL, "10.0.0.1"},
		{"127.0.0.9", NULL, -1, 0, -1, NULL, "127.0.0.1"},
		{"127.0.0.9", "127.3.3.3", 1, 0, -1, NULL, "127.3.3.3"},
		/* on link, by a gateway on either link of one port */
		{"10.0.0.7", NULL, -1, 0, 0, NULL, "10.0.0.1"},
		{"10.0.5.7", NULL, -1, 0, 0, NULL, "10.0.5.1"},
		{"10.0.1.7", "10.0.0.1", -1, 0, 1, NULL, "10.0.0.1"},
		{"192.0.2.1", NULL, -1, 0, 0, "10.0.5.9", "10.0.5.1"},
		{"192.0.3.1", NULL, -1, 0, 1, "10.0.1.9", "10.0.1.1"},
		{"8.8.8.8", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
		/* a port that was asked for needs no route */
		{"8.8.8.8", NULL, 0, 0, 0, NULL, "10.0.0.1"},
		{"8.8.8.8", NULL, 1, 0, 1, NULL, "10.0.1.1"},
		{"10.0.0.7", NULL, 1, 0, 1, NULL, "10.0.1.1"},
		{"192.0.2.1", NULL, 1, 0, 1, NULL, "10.0.1.1"},
		{"192.0.3.1", NULL, 1, 0, 1, "10.0.1.9", "10.0.1.1"},
		{"8.8.8.8", NULL, 2, -ENETUNREACH, 0, NULL, NULL}, /* no address there */
		{"8.8.8.8", NULL, WEIR_PORT_LOOPBACK, -ENETUNREACH, 0, NULL, NULL},
		{"8.8.8.8", NULL, 9, -ENETUNREACH, 0, NULL, NULL}, /* no such port */
		/* the source that was asked for */
		{"10.0.0.7", "10.0.0.2", -1, -ENETUNREACH, 0, NULL, NULL},
		{"10.0.0.7", "10.0.0.255", -1, -ENETUNREACH, 0, NULL, NULL},
		{"10.0.0.7", "127.0.0.1", -1, -EINVAL, 0, NULL, NULL},
		/* groups and broadcast: by the port of the source, or a route */
		{"224.1.1.1", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
		{"224.1.1.1", "10.0.1.1", -1, 0, 1, NULL, "10.0.1.1"},
		{"224.1.1.1", "127.0.0.1", -1, 0, -1, NULL, "127.0.0.1"},
		{"224.1.1.1", NULL, WEIR_PORT_LOOPBACK, 0, -1, NULL, "127.0.0.1"},
		{"224.1.1.1", NULL, 1, 0, 1, NULL, "10.0.1.1"},
		{"255.255.255.255", "10.0.5.1", -1, 0, 0, NULL, "10.0.5.1"},
		{"255.255.255.255", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
		{"10.0.1.255", NULL, -1, 0, 1, NULL, "10.0.1.1"},
	};
	struct weir_stack *s = ipv4_host();

	(void)state;
	fib_rig_via(s, "192.0.2.0/24", "10.0.5.9", 0);
	fib_rig_via(s, "192.0.3.0/24", "10.0.1.9", 1);
	check_rows(s, rows, UT_N(rows));
	fib_rig_down(s);
}

static void
a_port_without_address_has_no_source(void **state)
{
	static const struct row rows[] = {
		{"192.0.2.1", NULL, -1, -EADDRNOTAVAIL, 0, NULL, NULL},
		{"192.0.2.1", "10.0.0.1", -1, 0, 2, NULL, "10.0.0.1"},
		{"8.8.8.8", NULL, 2, -EADDRNOTAVAIL, 0, NULL, NULL},
	};
	struct weir_stack *s = ipv4_host();

	(void)state;
	fib_rig_via(s, "192.0.2.0/24", NULL, 2);
	check_rows(s, rows, UT_N(rows));
	fib_rig_down(s);
}

static void
kinds_of_routes_have_their_errors(void **state)
{
	static const struct {
		const char *prefix, *dst;
		enum weir_route_kind kind;
		int ret;
	} kinds[] = {
		{"192.0.2.0/25", "192.0.2.1", WEIR_ROUTE_BLACKHOLE, -EINVAL},
		{"192.0.3.0/25", "192.0.3.1", WEIR_ROUTE_UNREACHABLE, -EHOSTUNREACH},
		{"192.0.4.0/25", "192.0.4.1", WEIR_ROUTE_PROHIBIT, -EACCES},
		{"2001:db8::/64", "2001:db8::1", WEIR_ROUTE_BLACKHOLE, -EINVAL},
		{"2001:db9::/64", "2001:db9::1", WEIR_ROUTE_UNREACHABLE, -EHOSTUNREACH},
		{"2001:dba::/64", "2001:dba::1", WEIR_ROUTE_PROHIBIT, -EACCES},
	};
	static const struct row rows[] = {
		{"192.0.2.1", NULL, 1, 0, 1, NULL, "10.0.1.1"}, /* a port: on link, as Linux */
		{"192.0.2.200", NULL, -1, 0, 0, "10.0.0.9", "10.0.0.1"},
	};
	struct weir_stack *s = ipv4_host();

	(void)state;
	fib_rig_via(s, "0.0.0.0/0", "10.0.0.9", 0);
	for (size_t i = 0; i < UT_N(kinds); i++) {
		struct weir_nexthop hop;
		struct weir_route r = fib_rig_route(s, kinds[i].prefix, NULL, 0, &hop);

		r.kind = (uint8_t)kinds[i].kind;
		r.n_hops = 0;
		r.hop = NULL;
		fib_rig_add(s, &r);
		(void)ask(s, kinds[i].dst, NULL, -1, 0, kinds[i].ret);
	}
	check_rows(s, rows, UT_N(rows));
	fib_rig_down(s);
}

static void
all_of_a_local_prefix_is_this_host(void **state)
{
	static const struct row rows[] = {
		{"203.0.113.77", NULL, -1, 0, -1, NULL, "203.0.113.77"},
		{"10.0.0.7", "203.0.113.9", -1, 0, 0, NULL, "203.0.113.9"},
		{"10.0.0.7", "203.0.114.9", -1, -ENETUNREACH, 0, NULL, NULL},
		{"2001:db8:a::77", NULL, -1, 0, -1, NULL, "2001:db8:a::77"},
		{"2001:db8:b::77", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
		/* of a group whose source is one of a prefix, the route decides */
		{"224.1.1.1", "203.0.113.9", -1, -ENETUNREACH, 0, NULL, NULL},
	};
	static const char *const prefix[] = {"203.0.113.0/24", "2001:db8:a::/48"};
	struct weir_stack *s = ipv4_host();
	struct weir_nexthop hop;
	struct weir_fib_txn *txn;
	struct weir_route r[2];
	union weir_ip in = fib_rig_ip("203.0.113.1"), in6 = fib_rig_ip("2001:db8:a::1");

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		r[i] = fib_rig_route(s, prefix[i], NULL, 0, &hop);
		r[i].kind = WEIR_ROUTE_LOCAL;
		r[i].n_hops = 0;
		r[i].hop = NULL;
		fib_rig_add(s, &r[i]);
	}
	check_rows(s, rows, UT_N(rows));
	assert_int_equal(weir_local4(s, in.v4), WEIR_LOCAL_UNICAST);
	assert_int_equal(weir_local6(s, &in6, 1), WEIR_LOCAL_UNICAST);
	txn = weir_fib_begin(s);
	assert_int_equal(weir_fib_del(txn, &r[0]), 0);
	assert_int_equal(weir_fib_del(txn, &r[1]), 0);
	weir_fib_commit(txn);
	assert_int_equal(weir_local4(s, in.v4), WEIR_NOT_LOCAL);
	assert_int_equal(weir_local6(s, &in6, -1), WEIR_NOT_LOCAL);
	assert_null(s->any);
	fib_rig_down(s);
}

/* ---- several hops, several routes ---- */

static void
flows_are_spread_by_weight(void **state)
{
	struct weir_stack *s = ipv4_host();
	struct weir_nexthop hop[3];
	struct weir_route r = fib_rig_route(s, "192.0.2.0/24", "10.0.0.7", 0, hop);
	unsigned int n[3] = {0}, moved = 0;

	(void)state;
	hop[1] = hop[2] = hop[0];
	hop[1].gateway = fib_rig_ip("10.0.1.7");
	hop[1].port = s->ports[1];
	hop[2].gateway = fib_rig_ip("10.0.0.8");
	hop[0].weight = 65536 / 8;     /* 1 of 8 */
	hop[1].weight = 65536 / 8 * 4; /* 3 of 8 */
	hop[2].weight = 65535;         /* 4 of 8 */
	r.n_hops = 3;
	fib_rig_add(s, &r);
	for (uint32_t i = 0; i < 65536; i++) {
		struct weir_way way = ask(s, "192.0.2.1", NULL, -1, i << 16, 0);

		n[way.hop - way.route->hop]++;
	}
	assert_int_equal(n[0], 65536 / 8);
	assert_int_equal(n[1], 65536 / 8 * 3);
	assert_int_equal(n[2], 65536 / 8 * 4);
	/* Without port 1 its flows go to the two others, by weight; the others' stay. */
	s->ports[1]->link_up = false;
	n[0] = n[1] = n[2] = 0;
	for (uint32_t i = 0; i < 65536; i++) {
		struct weir_way way = ask(s, "192.0.2.1", NULL, -1, i << 16, 0);
		unsigned int was = i < 8192 ? 0 : i < 32768 ? 1 : 2;

		n[way.hop - way.route->hop]++;
		moved += was != 1 && (unsigned int)(way.hop - way.route->hop) != was;
	}
	assert_int_equal(moved, 0);
	assert_int_equal(n[1], 0);
	assert_in_range(n[0], 8192 + 24576 / 5 - 500, 8192 + 24576 / 5 + 500);
	/* A port that is asked for is chosen whatever the flow. */
	s->ports[1]->link_up = true;
	for (uint32_t i = 0; i < 65536; i += 1000)
		assert_int_equal(ask(s, "192.0.2.1", NULL, 1, i << 16, 0).port->index, 1);
	fib_rig_down(s);
}

static void
metrics_and_prefixes_stand_in_for_links_that_are_down(void **state)
{
	static const struct row all_up[] = {
		{"192.0.2.1", NULL, -1, 0, 0, "10.0.0.7", "10.0.0.1"},
	};
	static const struct row port0_down[] = {
		{"192.0.2.1", NULL, -1, 0, 1, "10.0.1.7", "10.0.1.1"},
		{"10.0.0.7", NULL, -1, 0, 1, "10.0.1.9", "10.0.1.1"}, /* by the default route */
		{"8.8.8.8", NULL, 0, -ENETUNREACH, 0, NULL, NULL},
		{"10.0.0.1", NULL, -1, 0, -1, NULL, "10.0.0.1"}, /* still ours */
	};
	static const struct row port0_gone[] = {
		{"192.0.2.1", NULL, -1, 0, 1, "10.0.1.7", "10.0.1.1"},
		{"192.0.2.1", NULL, 0, -ENETDOWN, 0, NULL, NULL},
	};
	static const struct row both_down[] = {
		{"192.0.2.1", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
	};
	struct weir_stack *s = ipv4_host();
	struct weir_nexthop hop;
	struct weir_route r;

	(void)state;
	fib_rig_via(s, "0.0.0.0/0", "10.0.1.9", 1);
	r = fib_rig_route(s, "192.0.2.0/24", "10.0.1.7", 1, &hop);
	r.metric = 20;
	fib_rig_add(s, &r);
	r = fib_rig_route(s, "192.0.2.0/24", "10.0.0.7", 0, &hop);
	r.metric = 10;
	fib_rig_add(s, &r);
	check_rows(s, all_up, UT_N(all_up));
	s->ports[0]->link_up = false;
	check_rows(s, port0_down, UT_N(port0_down));
	s->ports[0]->link_up = true;
	s->ports[0]->dead = true;
	check_rows(s, port0_gone, UT_N(port0_gone));
	s->ports[1]->link_up = false;
	check_rows(s, both_down, UT_N(both_down));
	fib_rig_down(s);
}

static void
routes_for_some_sources_bind_those(void **state)
{
	static const struct row rows[] = {
		{"192.0.2.1", "10.0.0.1", -1, 0, 0, "10.0.0.7", "10.0.0.1"},
		{"192.0.2.1", "10.0.1.1", -1, 0, 1, "10.0.1.7", "10.0.1.1"},
		{"192.0.2.1", "10.0.5.1", -1, -ENETUNREACH, 0, NULL, NULL},
		/* Nothing asked for: an address that a route wants, of those with one. */
		{"192.0.2.1", NULL, -1, 0, 0, "10.0.0.7", "10.0.0.1"},
	};
	static const struct row with_default[] = {
		{"192.0.2.1", NULL, -1, 0, 1, "10.0.1.9", "10.0.1.1"},
		{"192.0.2.1", "10.0.5.1", -1, 0, 1, "10.0.1.9", "10.0.5.1"},
		{"192.0.2.1", "10.0.0.1", -1, 0, 0, "10.0.0.7", "10.0.0.1"},
	};
	static const struct {
		const char *from, *gateway;
		unsigned int port;
	} routes[] = {
		{"172.16.0.0", "10.0.0.6", 0}, /* no address of ours */
		{"10.0.0.0", "10.0.0.7", 0},
		{"10.0.1.0", "10.0.1.7", 1},
	};
	struct weir_stack *s = ipv4_host();

	(void)state;
	for (size_t i = 0; i < UT_N(routes); i++) {
		struct weir_nexthop hop;
		struct weir_route r =
			fib_rig_route(s, "192.0.2.0/24", routes[i].gateway, routes[i].port, &hop);

		r.from = fib_rig_ip(routes[i].from);
		r.from_bits = 24;
		fib_rig_add(s, &r);
	}
	check_rows(s, rows, UT_N(rows));
	fib_rig_via(s, "192.0.2.0/24", "10.0.1.9", 1);
	check_rows(s, with_default, UT_N(with_default));
	fib_rig_down(s);
}

/* ---- IPv6 ---- */

static struct weir_stack *
ipv6_host(void)
{
	struct weir_stack *s = fib_rig_up();

	for (unsigned int p = 0; p < 2; p++) {
		fib_rig_addr(s, "fe80::1/64", p);
		connected(s, "fe80::/64", p, "fe80::1");
	}
	fib_rig_addr(s, "2001:db8:0:1::1/64", 1);
	connected(s, "2001:db8:0:1::/64", 1, "2001:db8:0:1::1");
	fib_rig_addr(s, "2001:db8::1/64", 0);
	connected(s, "2001:db8::/64", 0, "2001:db8::1");
	fib_rig_via(s, "::/0", "fe80::ffff", 0);
	return s;
}

static void
ipv6_is_decided_as_linux_does(void **state)
{
	static const struct row rows[] = {
		{"::1", NULL, -1, 0, -1, NULL, "::1"},
		{"2001:db8::1", NULL, -1, 0, -1, NULL, "2001:db8::1"},
		{"2001:db8::1", "::1", -1, 0, -1, NULL, "::1"},
		{"2001:db8::7", NULL, -1, 0, 0, NULL, "2001:db8::1"},
		{"2001:db8:0:1::7", NULL, -1, 0, 1, NULL, "2001:db8:0:1::1"},
		{"2001:db9::1", NULL, -1, 0, 0, "fe80::ffff", "2001:db8::1"},
		{"2001:db9::1", "2001:db8:0:1::1", -1, 0, 0, "fe80::ffff", "2001:db8:0:1::1"},
		{"2001:db9::1", "2001:db8:0:1::2", -1, -ENETUNREACH, 0, NULL, NULL},
		{"2001:db9::1", "::1", -1, -EINVAL, 0, NULL, NULL},
		{"2001:db9::1", NULL, 1, 0, 1, NULL, "2001:db8:0:1::1"}, /* on link */
		{"2001:db9::1", NULL, 2, -ENETUNREACH, 0, NULL, NULL},
		/* link-local: on which link? */
		{"fe80::7", NULL, -1, -ENETUNREACH, 0, NULL, NULL},
		{"fe80::7", NULL, 0, 0, 0, NULL, "fe80::1"},
		{"fe80::7", NULL, 1, 0, 1, NULL, "fe80::1"},
		{"fe80::7", "fe80::1", 1, 0, 1, NULL, "fe80::1"},
		{"fe80::1", NULL, 1, 0, -1, NULL, "fe80::1"}, /* ours, there */
		{"fe80::1", NULL, 2, -ENETUNREACH, 0, NULL, NULL},
		{"fe80::7", "fe80::1", 2, -ENETUNREACH, 0, NULL, NULL},
		/* groups need no route, and no default route */
		{"ff02::1:3", NULL, 1, 0, 1, NULL, "fe80::1"},
		{"ff02::1:3", NULL, -1, 0, 0, NULL, "fe80::1"},
		{"ff05::1:3", NULL, 1, 0, 1, NULL, "2001:db8:0:1::1"},
		{"ff0e::1", "2001:db8:0:1::1", -1, 0, 1, NULL, "2001:db8:0:1::1"},
		{"ff0e::1", NULL, WEIR_PORT_LOOPBACK, 0, -1, NULL, "::1"},
		{"ff0e::1", "::1", -1, 0, -1, NULL, "::1"},
	};
	static const struct row with_route[] = {
		{"ff0e::1", NULL, -1, 0, 1, NULL, "2001:db8:0:1::1"},
		{"ff0f::1", NULL, -1, 0, 0, NULL, "2001:db8::1"},
	};
	struct weir_stack *s = ipv6_host();

	(void)state;
	check_rows(s, rows, UT_N(rows));
	fib_rig_via(s, "ff0e::/16", NULL, 1);
	check_rows(s, with_route, UT_N(with_route));
	fib_rig_down(s);
}

/* RFC 6724 10.1, as far as there are such addresses here, and what its rules say beyond. */
static void
the_source_is_that_of_rfc_6724(void **state)
{
	enum { DEPRECATED = 1, TENTATIVE = 2, PORT1 = 4 };
	static const struct {
		const char *dst;
		struct {
			const char *addr;
			unsigned int flags;
		} has[3];         /* in port 0 unless said */
		const char *want; /* NULL: none */
	} rows[] = {
		{"2001:db8:1::1", {{"2001:db8:3::1/64", 0}, {"fe80::1/64", 0}}, "2001:db8:3::1"},
		{"ff05::1", {{"2001:db8:3::1/64", 0}, {"fe80::1/64", 0}}, "2001:db8:3::1"},
		{"fe80::9", {{"fe80::2/64", DEPRECATED}, {"2001:db8:1::1/64", 0}}, "fe80::2"},
		{"2001:db8:1::1",
		 {{"2001:db8:3::2/64", 0}, {"2001:db8:1::2/64", 0}},
		 "2001:db8:1::2"},
		{"2002:c633:6401::1",
		 {{"2001:db8:1::2/64", 0}, {"2002:c633:6401::d5e3:7953:13eb:22e8/64", 0}},
		 "2002:c633:6401::d5e3:7953:13eb:22e8"},
		/* rule 2: the smallest scope that is enough, else the largest */
		{"fe80::9", {{"2001:db8::1/64", 0}, {"fe80::2/64", 0}}, "fe80::2"},
		{"2001:db8::9", {{"fe80::2/64", 0}, {"fec0::2/64", 0}}, "fec0::2"},
		{"ff01::9", {{"2001:db8::1/64", 0}, {"fe80::2/64", 0}}, "fe80::2"},
		/* 3: deprecated only if there is no other */
		{"2001:db8:1::1",
		 {{"2001:db8:1::2/64", DEPRECATED}, {"2001:db8:3::2/64", 0}},
		 "2001:db8:3::2"},
		{"2001:db8:1::1", {{"2001:db8:1::2/64", DEPRECATED}}, "2001:db8:1::2"},
		/* 5 before 6 and 8: of the port that it leaves by; other ports' if there is none */
		{"2001:db8:1::1",
		 {{"2001:db8:1::2/64", PORT1}, {"2001:db8:3::2/64", 0}},
		 "2001:db8:3::2"},
		{"2001:db8:1::1", {{"2001:db8:1::2/64", PORT1}}, "2001:db8:1::2"},
		{"2001:db8:1::1", {{"fe80::2/64", PORT1}}, NULL},
		{"ff0e::1", {{"2001:db8:1::2/64", PORT1}}, NULL},
		/* 6: unique local addresses among themselves */
		{"fd00:1::9", {{"2001:db8::1/64", 0}, {"fd00:2::1/64", 0}}, "fd00:2::1"},
		{"2001:db8::9", {{"fd00:2::1/64", 0}, {"2001:4::1/64", 0}}, "2001:4::1"},
		{"2001:db8::9", {{"2001:0:1::1/64", 0}, {"2600::1/64", 0}}, "2600::1"},
		/* 8: no further than the prefix of the source; of equals the first */
		{"2001:db8:1::1:9",
		 {{"2001:db8:1::2:1/64", 0}, {"2001:db8:1::1:1/64", 0}},
		 "2001:db8:1::2:1"},
		/* not ours yet */
		{"2001:db8:1::1",
		 {{"2001:db8:1::2/64", TENTATIVE}, {"2001:db8:3::2/64", 0}},
		 "2001:db8:3::2"},
		{"2001:db8:1::1", {{"2001:db8:1::2/64", TENTATIVE}}, NULL},
	};

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		struct weir_stack *s = fib_rig_up();
		struct row r = {.dst = rows[i].dst, .port = -1};
		struct weir_way way;

		ut_clock_set(1000);
		for (unsigned int k = 0; k < 3 && rows[i].has[k].addr != NULL; k++) {
			unsigned int flags = rows[i].has[k].flags;
			struct weir_ctl_addr *a =
				fib_rig_addr(s, rows[i].has[k].addr, (flags & PORT1) != 0);

			a->tentative = (flags & TENTATIVE) != 0;
			a->preferred_ns = (flags & DEPRECATED) != 0 ? 1000 : 1001;
			fib_rig_addrs(s);
		}
		fib_rig_via(s, "::/0", "fe80::ffff", 0);
		fib_rig_via(s, "ff00::/8", NULL, 0);
		fib_rig_via(s, "fe80::/64", NULL, 0);
		way = ask(s, rows[i].dst, NULL, 0, 0, rows[i].want != NULL ? 0 : -EADDRNOTAVAIL);
		if (rows[i].want != NULL)
			check_ip(&way.src, rows[i].want, &r, "source");
		fib_rig_down(s);
	}
}

/* ---- own addresses ---- */

static void
own_addresses_of_both_families(void **state)
{
	static const struct {
		const char *ip;
		int port;
		enum weir_local_kind kind;
	} rows[] = {
		{"10.0.0.1", -1, WEIR_LOCAL_UNICAST},
		{"10.0.0.255", -1, WEIR_LOCAL_BROADCAST},
		{"10.0.0.0", -1, WEIR_NOT_LOCAL},
		{"10.0.9.1", -1, WEIR_NOT_LOCAL}, /* tentative */
		{"10.0.9.255", -1, WEIR_NOT_LOCAL},
		{"127.1.2.3", -1, WEIR_LOCAL_UNICAST},
		{"224.0.0.1", -1, WEIR_LOCAL_MULTICAST},
		{"224.0.0.2", -1, WEIR_NOT_LOCAL},
		{"::1", -1, WEIR_LOCAL_UNICAST},
		{"::2", -1, WEIR_NOT_LOCAL},
		{"2001:db8::1", -1, WEIR_LOCAL_UNICAST},
		{"2001:db8::1", 2, WEIR_LOCAL_UNICAST}, /* weak host model */
		{"2001:db8::", -1, WEIR_NOT_LOCAL},     /* subnet-router anycast */
		{"fe80::1", -1, WEIR_LOCAL_UNICAST},
		{"fe80::1", 0, WEIR_LOCAL_UNICAST},
		{"fe80::1", 1, WEIR_LOCAL_UNICAST},
		{"fe80::1", 2, WEIR_NOT_LOCAL},
		{"fe80::1", WEIR_PORT_LOOPBACK, WEIR_LOCAL_UNICAST},
		{"2001:db8::99:8877", -1, WEIR_NOT_LOCAL},      /* tentative */
		{"ff02::1:ff99:8877", 0, WEIR_LOCAL_MULTICAST}, /* but asked about */
		{"2001:db8::55:4433", -1, WEIR_NOT_LOCAL},      /* a duplicate */
		{"ff02::1:ff55:4433", 0, WEIR_NOT_LOCAL},
		{"ff02::1:ff00:1", 0, WEIR_LOCAL_MULTICAST},
		{"ff02::1", 3, WEIR_LOCAL_MULTICAST},
		{"ff01::1", 3, WEIR_LOCAL_MULTICAST},
		{"ff02::2", 0, WEIR_NOT_LOCAL},
	};
	struct weir_stack *s = fib_rig_up();
	const struct weir_local_addr *a;
	const struct weir_local *l;
	union weir_ip ip;
	uint32_t n;

	(void)state;
	fib_rig_addr(s, "10.0.0.1/24", 0);
	fib_rig_addr(s, "10.0.9.1/24", 0)->tentative = true;
	fib_rig_addr(s, "2001:db8::1/64", 0);
	fib_rig_addr(s, "fe80::1/64", 0);
	fib_rig_addr(s, "fe80::1/64", 1);
	fib_rig_addr(s, "2001:db8::99:8877/64", 0)->tentative = true;
	fib_rig_addr(s, "2001:db8::55:4433/64", 0)->duplicate = true;
	fib_rig_addrs(s);
	for (size_t i = 0; i < UT_N(rows); i++) {
		enum weir_local_kind kind;
		uint8_t family = strchr(rows[i].ip, ':') != NULL ? WEIR_IPV6 : WEIR_IPV4;

		ip = fib_rig_ip(rows[i].ip);
		kind = weir_local(s, &ip, family, rows[i].port);
		ut_check(kind == rows[i].kind, "%s on %d: %d, wanted %d", rows[i].ip, rows[i].port,
			 kind, rows[i].kind);
	}
	/* The solicited-node group on those ports where an address has it. */
	ip = fib_rig_ip("ff02::1:ff00:1");
	l = weir_local_find(s, &ip, WEIR_IPV6);
	assert_non_null(l);
	assert_int_equal(l->ports, 3);
	a = weir_local_addrs(s, &n);
	assert_int_equal(n, 6); /* but for the duplicate */
	assert_int_equal(a[0].bits, 24);
	assert_true(a[1].tentative);
	assert_int_equal(a[4].port, 1);
	fib_rig_down(s);
}

static void
source_validation_knows_the_way_back(void **state)
{
	struct weir_stack *s = ipv6_host();
	union weir_ip ip = fib_rig_ip("2001:db8::7");

	(void)state;
	assert_true(weir_fib_reaches(s, &ip, WEIR_IPV6, -1));
	assert_true(weir_fib_reaches(s, &ip, WEIR_IPV6, 0));
	assert_false(weir_fib_reaches(s, &ip, WEIR_IPV6, 1));
	ip = fib_rig_ip("10.0.0.1");
	assert_false(weir_fib_reaches(s, &ip, WEIR_IPV4, -1));
	ip = fib_rig_ip("2001:dead::1"); /* the default route */
	assert_true(weir_fib_reaches(s, &ip, WEIR_IPV6, 0));
	assert_false(weir_fib_reaches(s, &ip, WEIR_IPV6, 1));
	fib_rig_down(s);
}

static void
the_mtu_is_the_smallest_on_the_way(void **state)
{
	struct weir_stack *s = ipv6_host();
	struct weir_nexthop hop;
	struct weir_route r = fib_rig_route(s, "2001:dba::/64", "fe80::9", 0, &hop);

	(void)state;
	hop.mtu = 1400;
	fib_rig_add(s, &r);
	assert_int_equal(ask(s, "2001:dba::1", NULL, -1, 0, 0).mtu, 1400);
	assert_int_equal(ask(s, "2001:dbb::1", NULL, -1, 0, 0).mtu, 1500);
	s->ports[0]->mtu6 = 1300;
	assert_int_equal(ask(s, "2001:dba::1", NULL, -1, 0, 0).mtu, 1300);
	assert_int_equal(ask(s, "2001:db8::1", NULL, -1, 0, 0).mtu, 65535);
	fib_rig_down(s);
}

static int
setup(void **state)
{
	ut_clock_install();
	return ut_eal_setup(state);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(ipv4_is_decided_as_linux_does),
		cmocka_unit_test(a_port_without_address_has_no_source),
		cmocka_unit_test(kinds_of_routes_have_their_errors),
		cmocka_unit_test(all_of_a_local_prefix_is_this_host),
		cmocka_unit_test(flows_are_spread_by_weight),
		cmocka_unit_test(metrics_and_prefixes_stand_in_for_links_that_are_down),
		cmocka_unit_test(routes_for_some_sources_bind_those),
		cmocka_unit_test(ipv6_is_decided_as_linux_does),
		cmocka_unit_test(the_source_is_that_of_rfc_6724),
		cmocka_unit_test(own_addresses_of_both_families),
		cmocka_unit_test(source_validation_knows_the_way_back),
		cmocka_unit_test(the_mtu_is_the_smallest_on_the_way),
	};

	return UT_RUN(cases, setup, ut_eal_teardown);
}
