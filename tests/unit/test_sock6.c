/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Native sockets of IPv6: names of both families, who conflicts with whom, what a dual-stack socket receives, scopes
 * of link-local addresses, source filters of groups. IPv4 alone is in test_socktab, test_lookup and test_groups.
 */
#include "common/ut_fail.h"
#include "common/ut_sock.h"

#include "local.h"
#include "sock.h"

#define PORT 500

static const uint8_t any6[16], lo6[16] = {[15] = 1};
static const uint8_t global_group[16] = {0xff, 0x15, [15] = 9};
static const uint8_t link_group[16] = {0xff, 0x02, [14] = 1, [15] = 9};
/* Of port 0: fe80::ff:fe00:1 from MAC 02:00:00:00:00:01. */
static const uint8_t our_link[16] = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 1};
static const uint8_t other_link[16] = {0xfe, 0x80, [15] = 0x77};
static const uint8_t elsewhere6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 1};

static struct ut_stack *
up(void **state, unsigned int n_ports)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = true;
	cfg.n_ports = n_ports;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_peer6(s);
	return s;
}

static struct weir_socket *
sock6(struct ut_stack *s)
{
	struct weir_socket_conf conf;
	struct weir_socket *sk;

	weir_socket_conf_init(&conf);
	conf.family = WEIR_IPV6;
	assert_int_equal(weir_socket_open(s->stack, &conf, &sk), 0);
	return sk;
}

static int
bind6(struct weir_socket *sk, const void *ip, uint16_t port)
{
	struct weir_addr a = ut_addr6(ip, port);

	return weir_socket_bind(sk, &a);
}

static int
connect6(struct weir_socket *sk, const void *ip, uint16_t port)
{
	struct weir_addr a = ut_addr6(ip, port);

	return weir_socket_connect(sk, &a);
}

static void
must_be_named(const struct weir_socket *sk, uint8_t family, const void *ip, const char *when)
{
	struct weir_addr a;

	weir_socket_local(sk, &a);
	ut_check(a.family == family && memcmp(a.ip.b, ip, family == WEIR_IPV6 ? 16 : 4) == 0,
		 "%s: family %u, %02x%02x..%02x", when, a.family, a.ip.b[0], a.ip.b[1], a.ip.b[15]);
}

/* A datagram with a number arrives from the peer by port 0, over IPv6 or IPv4. */
static void
rx6_to(struct ut_stack *s, const void *dst, uint16_t sport, uint32_t number)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.ip6_dst, dst, 16);
	if (p.ip6_dst[0] == 0xff) {
		memcpy(p.eth_dst, (const uint8_t[]){0x33, 0x33}, 2);
		memcpy(p.eth_dst + 2, p.ip6_dst + 12, 4);
	}
	p.udp_sport = sport;
	p.udp_dport = PORT;
	p.payload = &number;
	p.payload_len = sizeof(number);
	ut_stack_rx(s, 0, &p);
}

static void
rx6(struct ut_stack *s, uint16_t sport, uint32_t number)
{
	rx6_to(s, UT_OUR_IP6, sport, number);
}

static void
rx4(struct ut_stack *s, uint16_t sport, uint32_t number)
{
	ut_sock_rx(s, 0, UT_PEER_IP, sport, UT_OUR_IP, PORT, number);
}

/* ---- who conflicts with whom ---- */

/* A name in one character: '6' ::, 'o' :: of a v6-only socket, 'l' ::1, '4' 0.0.0.0, 'a' 127.0.0.1, 'm' ::ffff:127.0.0.1 */
static struct weir_socket *
bound_as(struct ut_stack *s, char kind, bool reuse, int *ret)
{
	struct weir_socket *sk = strchr("4a", kind) != NULL ? ut_sock(s) : sock6(s);
	uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};

	ut_sock_set(sk, WEIR_OPT_REUSEADDR, reuse);
	switch (kind) {
	case 'o':
		ut_sock_set(sk, WEIR_OPT_V6ONLY, 1);
		*ret = bind6(sk, any6, PORT);
		break;
	case '6':
		*ret = bind6(sk, any6, PORT);
		break;
	case 'l':
		*ret = bind6(sk, lo6, PORT);
		break;
	case 'm':
		*ret = bind6(sk, mapped, PORT);
		break;
	default:
		*ret = ut_sock_bind(sk, kind == '4' ? 0 : 0x7f000001, PORT);
	}
	return sk;
}

static void
wildcards_conflict_across_families(void **state)
{
	static const char kinds[] = "6ol4am";
	static const char *const clash[] = {
		"6ol4am", /* 6 */
		"6ol",    /* o */
		"6ol",    /* l */
		"64am",   /* 4 */
		"64am",   /* a */
		"64am",   /* m */
	};
	struct ut_stack *s = up(state, 1);

	for (unsigned int i = 0; i < 6; i++) {
		for (unsigned int k = 0; k < 6; k++) {
			const bool want = strchr(clash[i], kinds[k]) != NULL;
			struct weir_socket *a, *b;
			int ret;

			for (unsigned int reuse = 0; reuse < 2; reuse++) {
				a = bound_as(s, kinds[i], reuse, &ret);
				assert_int_equal(ret, 0);
				b = bound_as(s, kinds[k], reuse, &ret);
				ut_check(ret == (want && !reuse ? -EADDRINUSE : 0),
					 "%c then %c, reuse %u: %d", kinds[i], kinds[k], reuse,
					 ret);
				weir_socket_close(a);
				weir_socket_close(b);
				ut_stack_poll(s);
			}
		}
	}
}

/* ---- delivery ---- */

static void
a_dual_socket_has_both_families(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *six = ut_stack_socket6(s, PORT);
	struct weir_addr from;
	struct weir_rxmsg msg;
	uint32_t number;

	rx6(s, 7, 60);
	rx4(s, 7, 40);
	assert_int_equal(weir_recv(s->w[0], six, &number, 4, &from), 4);
	assert_int_equal(number, 60);
	assert_int_equal(from.family, WEIR_IPV6);
	assert_memory_equal(from.ip.b, UT_PEER_IP6, 16);
	assert_int_equal(weir_recv_burst(s->w[0], six, &msg, 1), 1);
	assert_int_equal(msg.peer.family, WEIR_IPV4);
	assert_int_equal(msg.local.family, WEIR_IPV4);
	assert_int_equal(ut_addr_ip(&msg.local), UT_OUR_IP);
	weir_mbuf_free_bulk(&msg.m, 1);
	must_be_named(six, WEIR_IPV6, any6, "dual");
}

static void
ipv4_sockets_come_before_dual_ones(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *dual = sock6(s), *four = ut_sock(s), *mapped = sock6(s);
	uint8_t our_mapped[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};

	ut_sock_set(dual, WEIR_OPT_REUSEADDR, 1);
	ut_sock_set(four, WEIR_OPT_REUSEADDR, 1);
	ut_sock_set(mapped, WEIR_OPT_REUSEADDR, 1);
	assert_int_equal(ut_sock_bind(four, 0, PORT), 0);
	assert_int_equal(bind6(dual, any6, PORT), 0);
	rx4(s, 7, 1);
	ut_sock_must_read(s, four, 1, "both are wildcards");
	rx6(s, 7, 2);
	ut_sock_must_read(s, dual, 2, "over IPv6");
	/* A bound address counts more than the family. */
	assert_int_equal(bind6(mapped, our_mapped, PORT), 0);
	must_be_named(mapped, WEIR_IPV4, our_mapped + 12, "mapped");
	rx4(s, 7, 3);
	ut_sock_must_read(s, mapped, 3, "bound to the address");
	/* And an association more than that. */
	assert_int_equal(ut_sock_connect(dual, UT_PEER_IP, 7), 0);
	must_be_named(dual, WEIR_IPV4, our_mapped + 12, "connected to IPv4");
	rx4(s, 7, 4);
	ut_sock_must_read(s, dual, 4, "connected");
	rx4(s, 8, 5);
	ut_sock_must_read(s, mapped, 5, "from another");
	ut_stack_mark(s);
	rx6(s, 7, 6);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "over IPv6 while connected to IPv4");
	assert_int_equal(weir_socket_disconnect(dual), 0);
	must_be_named(dual, WEIR_IPV6, any6, "disconnected");
	rx6(s, 7, 7);
	ut_sock_must_read(s, dual, 7, "as before");
	weir_socket_close(mapped);
	weir_socket_close(four);
	rx4(s, 7, 8);
	ut_sock_must_read(s, dual, 8, "the others are gone");
}

static void
v6only_wants_no_ipv4(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *sk = sock6(s);
	uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 1};
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, 9);

	ut_sock_set(sk, WEIR_OPT_V6ONLY, 1);
	assert_int_equal(bind6(sk, mapped, PORT), -EINVAL);
	assert_int_equal(bind6(sk, any6, PORT), 0);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_V6ONLY, 0), -EINVAL);
	ut_stack_mark(s);
	rx4(s, 7, 1);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "IPv4");
	rx6(s, 7, 2);
	ut_sock_must_read(s, sk, 2, "IPv6");
	assert_int_equal(weir_socket_connect(sk, &to), -ENETUNREACH);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, &to), -ENETUNREACH);
	/* An IPv4 socket has none of it. */
	sk = ut_sock(s);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_V6ONLY, 1), -ENOPROTOOPT);
	assert_int_equal(bind6(sk, any6, PORT + 1), -EAFNOSUPPORT);
	assert_int_equal(connect6(sk, UT_PEER_IP6, 9), -EAFNOSUPPORT);
}

static void
groups_of_dual_sockets_share_both_families(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *sk[3];
	uint64_t before[3] = {0}, got[3][2] = {{0}};

	for (unsigned int i = 0; i < 3; i++) {
		sk[i] = sock6(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(bind6(sk[i], any6, PORT), 0);
	}
	for (uint16_t p = 1000; p < 1200; p++) {
		int who;

		rx6(s, p, p);
		who = ut_sock_who(sk, before, 3);
		assert_in_range(who, 0, 2);
		got[who][0]++;
		rx4(s, p, p);
		who = ut_sock_who(sk, before, 3);
		assert_in_range(who, 0, 2);
		got[who][1]++;
	}
	for (unsigned int i = 0; i < 3; i++) {
		ut_check(got[i][0] > 30 && got[i][1] > 30, "member %u: %" PRIu64 " and %" PRIu64, i,
			 got[i][0], got[i][1]);
		ut_sock_drain(s, sk[i]);
	}
}

/* ---- names ---- */

static void
connect_chooses_a_source_of_the_family(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *sk = sock6(s);
	struct weir_addr a = {.family = WEIR_IPV6};

	assert_int_equal(connect6(sk, UT_PEER_IP6, 9), 0);
	must_be_named(sk, WEIR_IPV6, UT_OUR_IP6, "to IPv6");
	assert_int_equal(weir_socket_peer(sk, &a), 0);
	assert_memory_equal(a.ip.b, UT_PEER_IP6, 16);
	/* What a connection chose is no hindrance for one of the other family. */
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 9), 0);
	must_be_named(sk, WEIR_IPV4, (const uint8_t[]){10, 0, 0, 1}, "to IPv4");
	assert_int_equal(connect6(sk, UT_PEER_IP6, 9), 0);
	must_be_named(sk, WEIR_IPV6, UT_OUR_IP6, "to IPv6 again");
	assert_int_equal(weir_socket_disconnect(sk), 0);
	/* What bind chose is. */
	assert_int_equal(bind6(sk, UT_OUR_IP6, PORT), 0);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 9), -ENETUNREACH);
	must_be_named(sk, WEIR_IPV6, UT_OUR_IP6, "kept");
	/* To nowhere, to nobody, to ourselves. */
	assert_int_equal(connect6(sk, elsewhere6, 9), -ENETUNREACH);
	sk = sock6(s);
	assert_int_equal(connect6(sk, any6, 9), 0);
	must_be_named(sk, WEIR_IPV6, lo6, "to ::");
	assert_int_equal(weir_socket_peer(sk, &a), 0);
	assert_memory_equal(a.ip.b, lo6, 16);
	assert_int_equal(bind6(sock6(s), elsewhere6, PORT + 1), -EADDRNOTAVAIL);
	sk = sock6(s);
	ut_sock_set(sk, WEIR_OPT_FREEBIND, 1);
	assert_int_equal(bind6(sk, elsewhere6, PORT + 1), 0);
}

static void
link_local_addresses_need_an_interface(void **state)
{
	struct ut_stack *s = up(state, 2);
	struct weir_socket *sk = sock6(s);
	struct weir_addr a = ut_addr6(our_link, PORT);

	assert_int_equal(weir_socket_bind(sk, &a), -EINVAL);
	a.scope = 4;
	assert_int_equal(weir_socket_bind(sk, &a), -ENODEV);
	a.scope = 1000;
	assert_int_equal(weir_socket_bind(sk, &a), -ENODEV);
	a.scope = 2; /* the address is port 0's */
	assert_int_equal(weir_socket_bind(sk, &a), -EADDRNOTAVAIL);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_BIND_PORT), -1);
	a.scope = 1;
	assert_int_equal(weir_socket_bind(sk, &a), 0);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_BIND_PORT), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.scope, 1);
	rx6_to(s, our_link, 7, 1);
	ut_sock_must_read(s, sk, 1, "to the link-local address");

	sk = sock6(s);
	a = ut_addr6(other_link, 9);
	assert_int_equal(weir_socket_connect(sk, &a), -EINVAL);
	a.scope = 1;
	assert_int_equal(weir_socket_connect(sk, &a), 0);
	must_be_named(sk, WEIR_IPV6, our_link, "connected");
	weir_socket_local(sk, &a);
	assert_int_equal(a.scope, 1);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_BIND_PORT), -1);
	/* An interface that the socket has will do. */
	ut_sock_set(sk, WEIR_OPT_BIND_PORT, 0);
	a = ut_addr6(other_link, 9);
	assert_int_equal(weir_socket_connect(sk, &a), 0);
	/* Of other addresses the scope means nothing. */
	sk = sock6(s);
	a = ut_addr6(UT_OUR_IP6, PORT + 1);
	a.scope = 77;
	assert_int_equal(weir_socket_bind(sk, &a), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.scope, 0);
}

struct renaming {
	struct ut_stack *s;
	struct weir_socket *sk;
	uint32_t n;
};

/* Still where it was: both families reach it. */
static void
must_hear_both(struct renaming *r, const char *when)
{
	rx4(r->s, 7, ++r->n);
	ut_sock_must_read(r->s, r->sk, r->n, when);
	rx6(r->s, 7, ++r->n);
	ut_sock_must_read(r->s, r->sk, r->n, when);
}

static int
try_interface(void *arg)
{
	struct renaming *r = arg;
	int ret = weir_socket_set(r->sk, WEIR_OPT_BIND_PORT, 0);

	if (ret != 0) {
		assert_int_equal(ret, -ENOMEM);
		must_hear_both(r, "refused");
		/* What was taken back is freed after a grace period. */
		ut_stack_pass(r->s, WEIR_NS_PER_S, WEIR_NS_PER_S / 10);
	}
	return ret;
}

static void
back(void *arg)
{
	struct renaming *r = arg;

	must_hear_both(r, "bound to the interface");
	ut_sock_set(r->sk, WEIR_OPT_BIND_PORT, -1);
	ut_stack_pass(r->s, WEIR_NS_PER_S, WEIR_NS_PER_S / 10);
}

/* Two entries change at once, or none does. */
static void
a_name_that_cannot_change_stays_whole(void **state)
{
	struct renaming r = {.s = up(state, 1)};

	r.sk = ut_stack_socket6(r.s, PORT);
	must_hear_both(&r, "bound");
	assert_true(ut_fail_all(try_interface, back, &r) >= 3);
	must_hear_both(&r, "free again");
}

/* ---- options ---- */

static void
options_of_ipv6_have_their_ranges(void **state)
{
	static const struct {
		enum weir_sockopt opt;
		int64_t dflt, lo, hi;
	} o[] = {
		{WEIR_OPT_V6ONLY, 0, 0, 1},        {WEIR_OPT_HOPS, -1, -1, 255},
		{WEIR_OPT_TCLASS, 0, 0, 255},      {WEIR_OPT_FLOW_LABEL, 0, 0, 0xfffff},
		{WEIR_OPT_MTU_DISCOVER6, 1, 0, 5}, {WEIR_OPT_DONTFRAG, 0, 0, 1},
		{WEIR_OPT_NO_CHECK6, 0, 0, 1},     {WEIR_OPT_RECVERR6, 0, 0, 1},
		{WEIR_OPT_MCAST_HOPS, 1, 0, 255},  {WEIR_OPT_MCAST_LOOP6, 1, 0, 1},
		{WEIR_OPT_MCAST_ALL6, 1, 0, 1},
	};
	struct ut_stack *s = up(state, 1);
	struct weir_socket *six = sock6(s), *four = ut_sock(s);
	int64_t value;

	for (unsigned int i = 0; i < UT_N(o); i++) {
		assert_int_equal(ut_sock_get(six, o[i].opt), o[i].dflt);
		assert_int_equal(weir_socket_set(six, o[i].opt, o[i].lo - 1), -EINVAL);
		assert_int_equal(weir_socket_set(six, o[i].opt, o[i].hi + 1), -EINVAL);
		assert_int_equal(ut_sock_get(six, o[i].opt), o[i].dflt);
		ut_sock_set(six, o[i].opt, o[i].hi);
		assert_int_equal(ut_sock_get(six, o[i].opt), o[i].hi);
		ut_sock_set(six, o[i].opt, o[i].lo);
		assert_int_equal(ut_sock_get(six, o[i].opt), o[i].lo);
		assert_int_equal(weir_socket_set(four, o[i].opt, o[i].dflt), -ENOPROTOOPT);
		assert_int_equal(weir_socket_get(four, o[i].opt, &value), -ENOPROTOOPT);
	}
	assert_int_equal(weir_socket_set(six, WEIR_OPT_MCAST_PORT6, 5), -ENODEV);
	ut_sock_set(six, WEIR_OPT_MCAST_PORT6, 0);
	assert_int_equal(ut_sock_get(six, WEIR_OPT_MCAST_PORT6), 0);
}

/* ---- groups ---- */

static int
join6(struct weir_socket *sk, const void *group, const void *source, int port)
{
	struct weir_addr g = ut_addr6(group, 0), src;

	if (source == NULL)
		return weir_socket_join(sk, &g, NULL, port);
	src = ut_addr6(source, 0);
	return weir_socket_join(sk, &g, &src, port);
}

static void
ipv6_groups_have_members_and_sources(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *sk = ut_stack_socket6(s, PORT);
	struct weir_addr g = ut_addr6(global_group, 0), peer = ut_addr6(UT_PEER_IP6, 0);
	struct weir_addr src[2] = {ut_addr6(elsewhere6, 0), peer}, out[4];
	int include;

	ut_stack_mark(s);
	rx6_to(s, global_group, 7, 1);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "nobody has joined");
	assert_int_equal(join6(sk, UT_OUR_IP6, NULL, 0), -EINVAL);
	assert_int_equal(join6(sk, global_group, NULL, 9), -ENODEV);
	assert_int_equal(join6(sk, global_group, NULL, 0), 0);
	assert_int_equal(join6(sk, global_group, NULL, 0), -EADDRINUSE);
	rx6_to(s, global_group, 7, 2);
	ut_sock_must_read(s, sk, 2, "joined");

	/* Not from him. */
	assert_int_equal(weir_socket_block(sk, &g, &peer, 0), 0);
	assert_int_equal(weir_socket_block(sk, &g, &peer, 0), -EADDRNOTAVAIL);
	assert_int_equal(weir_socket_filter_get(sk, &g, 0, &include, out, 4), 1);
	assert_false(include);
	rx6_to(s, global_group, 7, 3);
	ut_sock_must_be_empty(s, sk, "blocked");
	assert_int_equal(join6(sk, global_group, elsewhere6, 0), -EINVAL); /* another mode */
	assert_int_equal(weir_socket_unblock(sk, &g, &peer, 0), 0);
	assert_int_equal(weir_socket_unblock(sk, &g, &peer, 0), -EADDRNOTAVAIL);
	rx6_to(s, global_group, 7, 4);
	ut_sock_must_read(s, sk, 4, "heard again");

	assert_int_equal(join6(sk, global_group, elsewhere6, 0), -EINVAL); /* still, as Linux */
	assert_int_equal(weir_socket_filter(sk, &g, 0, 0, NULL, 0), 0);

	/* From others only, and then from him too. */
	assert_int_equal(join6(sk, global_group, elsewhere6, 0), 0);
	rx6_to(s, global_group, 7, 5);
	ut_sock_must_be_empty(s, sk, "others only");
	assert_int_equal(weir_socket_filter(sk, &g, 0, 1, src, 2), 0);
	rx6_to(s, global_group, 7, 6);
	ut_sock_must_read(s, sk, 6, "named");
	assert_int_equal(weir_socket_filter_get(sk, &g, 0, &include, out, 1), 2);
	assert_true(include);
	assert_memory_equal(out[0].ip.b, elsewhere6, 16);
	assert_int_equal(weir_socket_leave(sk, &g, &peer, 0), 0);
	assert_int_equal(weir_socket_leave(sk, &g, &peer, 0), -EADDRNOTAVAIL);
	/* The last one takes the group along. */
	assert_int_equal(weir_socket_leave(sk, &g, &src[0], 0), 0);
	assert_int_equal(weir_socket_leave(sk, &g, &src[0], 0), -EINVAL);
	assert_int_equal(weir_socket_filter_get(sk, &g, 0, &include, out, 4), -EADDRNOTAVAIL);
	assert_int_equal(weir_socket_filter(sk, &g, 0, 0, src, 1), -EINVAL);
	rx6_to(s, global_group, 7, 7);
	ut_sock_must_be_empty(s, sk, "left");
}

static void
filters_are_limited_and_freed(void **state)
{
	struct ut_stack *s = up(state, 1);
	struct weir_socket *six = ut_stack_socket6(s, PORT), *four = ut_sock_bound(s, 0, PORT + 1);
	struct weir_addr src[WEIR_MAX_SOURCES6 + 1], g4 = weir_addr_v4(UT_IP(239, 1, 1, 1), 0);
	struct weir_addr g6 = ut_addr6(global_group, 0);

	for (unsigned int i = 0; i < UT_N(src); i++) {
		src[i] = ut_addr6(elsewhere6, 0);
		src[i].ip.b[14] = (uint8_t)(i + 1);
	}
	assert_int_equal(weir_socket_join(six, &g6, NULL, 0), 0);
	assert_int_equal(weir_socket_filter(six, &g6, 0, 0, src, UT_N(src)), -ENOBUFS);
	assert_int_equal(weir_socket_filter(six, &g6, 0, 0, src, UT_N(src) - 1), 0);
	assert_int_equal(weir_socket_block(six, &g6, &src[UT_N(src) - 1], 0), -ENOBUFS);
	/* An IPv6 socket joins groups of IPv4 too; not the other way round. */
	assert_int_equal(weir_socket_join(six, &g4, NULL, 0), 0);
	assert_int_equal(weir_socket_join(four, &g6, NULL, 0), -EINVAL);
	assert_int_equal(weir_socket_block(six, &g4, &src[0], 0), -EINVAL);
	for (uint32_t i = 0; i < WEIR_MAX_SOURCES4; i++) {
		struct weir_addr a = weir_addr_v4(UT_HOST(0, 100 + i), 0);

		assert_int_equal(weir_socket_join(four, &g4, &a, 0), 0);
	}
	src[0] = weir_addr_v4(UT_HOST(0, 99), 0);
	assert_int_equal(weir_socket_join(four, &g4, &src[0], 0), -ENOBUFS);
	/* Closing leaves all of them: the tear-down finds out if not. */
}

static void
link_local_groups_are_of_one_link(void **state)
{
	struct ut_stack *s = up(state, 2);
	struct weir_socket *sk = ut_stack_socket6(s, PORT);
	struct weir_addr g = ut_addr6(link_group, 0);
	struct weir_rxmsg msg;

	g.scope = 1;
	assert_int_equal(weir_socket_join(sk, &g, NULL, -1), 0);
	assert_int_equal(weir_socket_join(sk, &g, NULL, 0), -EADDRINUSE);
	rx6_to(s, link_group, 7, 1);
	assert_int_equal(weir_recv_burst(s->w[0], sk, &msg, 1), 1);
	assert_int_equal(msg.local.scope, 1);
	weir_mbuf_free_bulk(&msg.m, 1);
	g.scope = 0;
	assert_int_equal(weir_socket_leave(sk, &g, NULL, -1), 0); /* wherever it was */
	assert_int_equal(weir_socket_leave(sk, &g, NULL, -1), -EADDRNOTAVAIL);
	assert_int_equal(weir_socket_leave(sk, &g, NULL, 7), -EADDRNOTAVAIL);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(wildcards_conflict_across_families),
		UT_STACK_TEST(a_dual_socket_has_both_families),
		UT_STACK_TEST(ipv4_sockets_come_before_dual_ones),
		UT_STACK_TEST(v6only_wants_no_ipv4),
		UT_STACK_TEST(groups_of_dual_sockets_share_both_families),
		UT_STACK_TEST(connect_chooses_a_source_of_the_family),
		UT_STACK_TEST(link_local_addresses_need_an_interface),
		UT_STACK_TEST(a_name_that_cannot_change_stays_whole),
		UT_STACK_TEST(options_of_ipv6_have_their_ranges),
		UT_STACK_TEST(ipv6_groups_have_members_and_sources),
		UT_STACK_TEST(filters_are_limited_and_freed),
		UT_STACK_TEST(link_local_groups_are_of_one_link),
	};

	return UT_RUN(cases, NULL, NULL);
}
