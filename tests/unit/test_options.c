/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options: every one with its default and its limits, what they do to the frames that leave, and what one
 * datagram may want differently (struct weir_txctl).
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut_sock.h"

#include "lcore.h"
#include "sock.h"

#define PEER_PORT 7

/* ---- values ---- */

static void
every_option_has_its_values(void **state)
{
	static const struct {
		enum weir_sockopt opt;
		int64_t first; /* default */
		int64_t good[8];
		unsigned int n_good;
		int64_t bad[6];
		unsigned int n_bad;
		int err;
	} row[] = {
		{WEIR_OPT_RCVBUF,
		 4194304,
		 {1, 4096, 1073741824},
		 3,
		 {0, -1, 1073741825},
		 3,
		 -EINVAL},
		{WEIR_OPT_BROADCAST, 0, {1, 0}, 2, {2, -1, INT64_MAX}, 3, -EINVAL},
		{WEIR_OPT_REUSEADDR, 0, {1, 0}, 2, {2, -1, INT64_MIN}, 3, -EINVAL},
		{WEIR_OPT_REUSEPORT, 0, {1, 0}, 2, {2, -1, 256}, 3, -EINVAL},
		{WEIR_OPT_FREEBIND, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_BIND_PORT,
		 -1,
		 {0, 1, WEIR_PORT_LOOPBACK, -1},
		 4,
		 {2, -2, WEIR_PORT_LOOPBACK - 1, WEIR_PORT_LOOPBACK + 1, INT64_C(1) << 32},
		 5,
		 -ENODEV},
		{WEIR_OPT_TTL, 64, {1, 255, 64}, 3, {0, 256, -1, 65536 + 64}, 4, -EINVAL},
		{WEIR_OPT_TOS, 0, {255, 3, 0}, 3, {256, -1}, 2, -EINVAL},
		{WEIR_OPT_MTU_DISCOVER,
		 WEIR_PMTUD_WANT,
		 {0, 1, 2, 3, 4, 5},
		 6,
		 {6, -1},
		 2,
		 -EINVAL},
		{WEIR_OPT_NO_CHECK, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_RECVERR, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_PEEK_OFF,
		 -1,
		 {0, 5, INT32_MAX, -1},
		 4,
		 {-2, INT64_C(1) << 31},
		 2,
		 -EINVAL},
		{WEIR_OPT_READERS, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_GRO, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_SEGMENT, 0, {1, 1472, 65535, 0}, 4, {-1, 65536}, 2, -EINVAL},
		{WEIR_OPT_LCORE, -1, {0, 1, -1}, 3, {2, -2, 65536}, 3, -EINVAL},
		{WEIR_OPT_STABLE, 0, {1, 0}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_MCAST_TTL, 1, {0, 255, 1}, 3, {256, -1}, 2, -EINVAL},
		{WEIR_OPT_MCAST_LOOP, 1, {0, 1}, 2, {2, -1}, 2, -EINVAL},
		{WEIR_OPT_MCAST_PORT, -1, {0, WEIR_PORT_LOOPBACK, -1}, 3, {2, -2, 99}, 3, -ENODEV},
		{WEIR_OPT_MCAST_ALL, 1, {0, 1}, 2, {2, -1}, 2, -EINVAL},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	bool seen[64] = {false};
	int64_t value = 77;

	cfg.n_ports = 2;
	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int bound = 0; bound < 2; bound++) {
		struct weir_socket *sk = bound ? ut_sock_bound(s, 0, 100) : ut_sock(s);

		for (unsigned int r = 0; r < UT_N(row); r++) {
			const int opt = (int)row[r].opt;
			int64_t last = row[r].first;

			seen[opt] = true;
			ut_check(ut_sock_get(sk, opt) == last, "default of option %d", opt);
			for (unsigned int i = 0; i < row[r].n_good; i++) {
				for (unsigned int b = 0; b < row[r].n_bad; b++)
					ut_check(weir_socket_set(sk, opt, row[r].bad[b]) ==
							 row[r].err,
						 "option %d, bad value %u", opt, b);
				ut_check(ut_sock_get(sk, opt) == last, "option %d after bad values",
					 opt);
				last = row[r].good[i];
				ut_sock_set(sk, opt, last);
				ut_check(ut_sock_get(sk, opt) == last, "option %d, value %u", opt,
					 i);
			}
			if (opt == WEIR_OPT_RCVBUF)
				ut_sock_set(sk, opt, row[r].first);
		}
	}
	{
		struct weir_socket *sk = ut_sock(s);

		/* The table is complete: what it does not have does not exist. */
		for (int opt = -1; opt < (int)UT_N(seen); opt++) {
			if (opt >= 0 && seen[opt])
				continue;
			assert_int_equal(weir_socket_set(sk, opt, 0), -ENOPROTOOPT);
			assert_int_equal(weir_socket_get(sk, opt, &value), -ENOPROTOOPT);
		}
		assert_int_equal(value, 77);
	}
}

static void
a_configuration_sets_options(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket_conf conf;
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	weir_socket_conf_init(&conf);
	conf.rcvbuf = 12345;
	conf.ttl = 3;
	conf.tos = 0x48;
	conf.broadcast = true;
	conf.readers = true;
	assert_int_equal(weir_socket_open(s->stack, &conf, &sk), 0);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_RCVBUF), 12345);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_TTL), 3);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_TOS), 0x48);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_BROADCAST), 1);
	assert_int_equal(ut_sock_get(sk, WEIR_OPT_READERS), 1);
}

/* A receive buffer that grows and shrinks: what is queued stays, what comes is measured anew. */
static void
the_receive_buffer_can_be_changed(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	uint64_t each;

	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 100);
	ut_sock_set(sk, WEIR_OPT_RCVBUF, 1); /* the smallest: one at a time */
	for (unsigned int i = 0; i < 5; i++)
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
	each = ut_sock_charged(sk);
	assert_int_equal(ut_sock_queued(sk), 1);
	ut_sock_set(sk, WEIR_OPT_RCVBUF, (int64_t)each * 10);
	for (unsigned int i = 0; i < 20; i++)
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
	assert_int_equal(ut_sock_queued(sk), 10);
	assert_int_equal(ut_sock_charged(sk), each * 10);
	ut_sock_set(sk, WEIR_OPT_RCVBUF, (int64_t)each * 2);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 0);
	assert_int_equal(ut_sock_queued(sk), 10);
	assert_int_equal(ut_sock_drain(s, sk), 10);
	assert_int_equal(ut_sock_charged(sk), 0);
	for (unsigned int i = 0; i < 5; i++)
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
	assert_int_equal(ut_sock_drain(s, sk), 2);
}

/* ---- on the wire ---- */

struct seen {
	uint32_t src, dst;
	uint16_t sport, dport, udp_csum, len;
	uint8_t ttl, tos;
	bool df;
};

/* Take one frame of a port; its sums must be right by the book. */
static struct seen
take(struct ut_stack *s, unsigned int port, bool sums)
{
	struct ut_frame f;
	struct seen x;
	uint16_t udp_len;

	ut_stack_must_take(s, port, &f);
	assert_int_equal(ut_get16(f.b + 12), 0x0800);
	assert_int_equal(f.b[14], 0x45);
	assert_int_equal(ut_get16(f.b + 16), f.len - 14);
	udp_len = ut_get16(f.b + 38);
	assert_int_equal(udp_len, f.len - 34);
	x = (struct seen){.src = ut_get32(f.b + 26),
			  .dst = ut_get32(f.b + 30),
			  .sport = ut_get16(f.b + 34),
			  .dport = ut_get16(f.b + 36),
			  .udp_csum = ut_get16(f.b + 40),
			  .len = (uint16_t)(udp_len - 8),
			  .ttl = f.b[22],
			  .tos = f.b[15],
			  .df = (f.b[20] & 0x40) != 0};
	if (sums) {
		assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
		if (x.udp_csum != 0)
			assert_int_equal(ut_csum(f.b + 34, udp_len,
						 ut_pseudo_sum(x.src, x.dst, 17, udp_len)),
					 0);
	}
	for (uint16_t i = 0; i < x.len; i++)
		ut_check(f.b[42 + i] == ut_pattern(i), "payload byte %u", i);
	return x;
}

static uint8_t text[1500];

static void
up(struct ut_stack *s, bool offload)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = ut_pattern(i);
	cfg.n_ports = 2;
	if (offload)
		cfg.dev.tx_offloads |= RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	ut_stack_up(s, &cfg);
	for (unsigned int p = 0; p < 2; p++) {
		struct weir_addr peer = weir_addr_v4(UT_HOST(p, 2), 0);

		assert_int_equal(
			weir_neigh_add(s->stack, p, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
	}
}

static void
header_options_are_in_the_header(struct ut_stack *s, bool offload)
{
	static const struct {
		enum weir_sockopt opt;
		int64_t value;
		uint8_t ttl, tos;
		bool df, csum;
	} row[] = {
		/* Each with the one before still set. */
		{WEIR_OPT_TTL, 1, 1, 0, true, true},
		{WEIR_OPT_TOS, 0xb8, 1, 0xb8, true, true},
		{WEIR_OPT_TTL, 255, 255, 0xb8, true, true},
		{WEIR_OPT_TTL, 64, 64, 0xb8, true, true},
		{WEIR_OPT_TOS, 0, 64, 0, true, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DONT, 64, 0, false, true},
		{WEIR_OPT_TOS, 1, 64, 1, false, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_WANT, 64, 1, true, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DO, 64, 1, true, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_PROBE, 64, 1, true, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_INTERFACE, 64, 1, false, true},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_OMIT, 64, 1, false, true},
		{WEIR_OPT_NO_CHECK, 1, 64, 1, false, false},
		{WEIR_OPT_TOS, 0, 64, 0, false, false},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_WANT, 64, 0, true, false},
		{WEIR_OPT_NO_CHECK, 0, 64, 0, true, true},
		{WEIR_OPT_MCAST_TTL, 9, 64, 0, true, true}, /* not for unicast */
	};
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT);
	struct weir_socket *sk;

	up(s, offload);
	sk = ut_sock_bound(s, 0, 200);
	for (unsigned int r = 0; r < UT_N(row); r++) {
		ut_sock_set(sk, row[r].opt, row[r].value);
		for (unsigned int len = 0; len < 70; len += 23) {
			struct seen x;

			assert_int_equal(weir_send(s->w[0], sk, text, len, &to), len);
			ut_stack_poll(s);
			x = take(s, 0, !offload);
			ut_check(x.ttl == row[r].ttl && x.tos == row[r].tos && x.df == row[r].df &&
					 x.len == len,
				 "row %u: TTL %u, TOS %#x, DF %d, %u bytes", r, x.ttl, x.tos, x.df,
				 x.len);
			ut_check((x.udp_csum != 0) == row[r].csum, "row %u: checksum %#x", r,
				 x.udp_csum);
		}
	}
}

static void
header_options_are_in_the_header_by_software(void **state)
{
	header_options_are_in_the_header(*state, false);
}

static void
header_options_are_in_the_header_by_offload(void **state)
{
	header_options_are_in_the_header(*state, true);
}

/* Without fragments what is larger than the MTU is refused; nothing is sent, nothing is taken. */
static void
larger_than_the_mtu_is_refused(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT);
	struct weir_socket *sk;

	up(s, false);
	sk = ut_sock_bound(s, 0, 200);
	for (int64_t d = 0; d <= WEIR_PMTUD_OMIT; d++) {
		ut_sock_set(sk, WEIR_OPT_MTU_DISCOVER, d);
		assert_int_equal(weir_send(s->w[0], sk, text, 1472, &to), 1472);
		ut_stack_poll(s);
		assert_int_equal(take(s, 0, true).len, 1472);
		if (d == WEIR_PMTUD_DO || d == WEIR_PMTUD_PROBE) {
			assert_int_equal(weir_send(s->w[0], sk, text, 1473, &to), -EMSGSIZE);
			ut_stack_poll(s);
			assert_int_equal(ut_stack_pending(s, 0), 0);
		}
	}
}

static void
a_bound_interface_is_the_way_out(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT);
	struct weir_addr zero = weir_addr_v4(0, 0), gw = weir_addr_v4(UT_HOST(1, 2), 0);
	struct weir_socket *sk;
	struct ut_frame f;

	up(s, false);
	sk = ut_sock_bound(s, 0, 200);
	ut_sock_set(sk, WEIR_OPT_BIND_PORT, 1);
	/* Without a route there the address is taken to be on that link (as on Linux): ARP asks for it. */
	assert_int_equal(weir_send(s->w[0], sk, text, 9, &to), 9);
	ut_stack_poll(s);
	ut_stack_must_take(s, 1, &f);
	assert_true(ut_frame_is_ask(&f, UT_PEER_IP));
	assert_int_equal(ut_get32(f.b + 28), UT_OUR(1));
	ut_stack_arp_reply(s, 1, UT_PEER_IP, UT_PEER_MAC);
	assert_int_equal(take(s, 1, true).src, UT_OUR(1));
	assert_int_equal(weir_route_add(s->stack, &zero, 0, &gw, 1, NULL), 0);
	assert_int_equal(weir_send(s->w[0], sk, text, 9, &to), 9); /* by that port's gateway */
	ut_stack_poll(s);
	assert_int_equal(take(s, 1, true).src, UT_OUR(1));
	assert_int_equal(weir_socket_connect(sk, &to), 0);
	ut_sock_must_be(sk, UT_OUR(1), 200, "connected by port 1");
	ut_sock_set(sk, WEIR_OPT_BIND_PORT, -1);
	assert_int_equal(weir_send(s->w[0], sk, text, 9, NULL), 9);
	ut_stack_poll(s);
	assert_int_equal(take(s, 0, true).src, UT_OUR(1)); /* the name stays */
}

/* ---- one datagram's own wishes ---- */

static ssize_t
send_ctl(struct ut_stack *s, struct weir_socket *sk, const struct weir_addr *to,
	 const struct weir_txctl *ctl)
{
	struct iovec iov = {text, 9};

	return weir_send_iov(s->w[0], sk, &iov, 1, to, ctl);
}

static void
one_datagram_may_be_different(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT);
	struct weir_txctl ctl;
	struct weir_socket *sk;
	struct seen x;

	up(s, false);
	sk = ut_sock_bound(s, 0, 200);
	ut_sock_set(sk, WEIR_OPT_TTL, 10);
	ut_sock_set(sk, WEIR_OPT_TOS, 0x20);
	for (unsigned int connected = 0; connected < 2; connected++) {
		const struct weir_addr *dst = connected ? NULL : &to;

		if (connected)
			assert_int_equal(weir_socket_connect(sk, &to), 0);
		for (unsigned int i = 0; i < 9; i++) {
			ctl = (struct weir_txctl){0};
			if (i & 1) {
				ctl.ttl = 99;
				ctl.tos = 0;
				ctl.has_tos = true;
				ctl.from = weir_addr_v4(UT_OUR(1), 0);
			}
			if (i == 8)
				ctl.port = 1; /* where it goes anyway */
			assert_int_equal(send_ctl(s, sk, dst, i == 4 ? NULL : &ctl), 9);
			ut_stack_poll(s);
			x = take(s, 0, true);
			/* It does not stick to the next. */
			assert_int_equal(x.ttl, (i & 1) ? 99 : 10);
			assert_int_equal(x.tos, (i & 1) ? 0 : 0x20);
			assert_int_equal(x.src, (i & 1) ? UT_OUR(1) : UT_OUR(0));
			assert_int_equal(x.sport, 200);
			assert_int_equal(x.dst, UT_PEER_IP);
		}
	}
	/* In one burst, to one destination, all different. */
	{
		struct weir_txctl c[8] = {{.ttl = 0}};
		struct weir_txmsg msg[8];

		for (unsigned int i = 0; i < 8; i++) {
			c[i].ttl = (uint8_t)(i / 2 * 50);
			msg[i] = (struct weir_txmsg){.m = ut_stack_payload(s, i), .ctl = &c[i]};
			if (i == 7)
				msg[i].ctl = NULL;
		}
		assert_int_equal(weir_send_burst(s->w[0], sk, msg, 8, 0), 8);
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 8; i++) {
			x = take(s, 0, true);
			assert_int_equal(x.len, i);
			assert_int_equal(x.ttl, i < 2 || i == 7 ? 10 : i / 2 * 50);
		}
	}
}

static void
impossible_wishes_are_refused(void **state)
{
	static const struct {
		uint32_t from;
		int port, err;
		uint8_t family;
	} row[] = {
		{UT_IP(10, 9, 9, 9), 0, -ENETUNREACH, WEIR_IPV4},
		{UT_IP(10, 0, 0, 255), 0, -ENETUNREACH, WEIR_IPV4},
		{UT_IP(239, 1, 1, 1), 0, -EINVAL, WEIR_IPV4},
		{UT_IP(255, 255, 255, 255), 0, -EINVAL, WEIR_IPV4},
		{UT_IP(0, 0, 0, 7), 0, -EINVAL, WEIR_IPV4},
		{UT_IP(127, 0, 0, 1), 0, -EINVAL, WEIR_IPV4},
		{UT_IP(10, 0, 0, 1), 0, -EAFNOSUPPORT, WEIR_IPV6},
		{0, 3, -ENODEV, WEIR_UNSPEC},
		{0, -1, -ENODEV, WEIR_UNSPEC},
		{0, WEIR_PORT_LOOPBACK + 2, -ENODEV, WEIR_UNSPEC},
		{0, WEIR_PORT_LOOPBACK + 1, -ENETUNREACH, WEIR_UNSPEC},
		{0, 0, 0, WEIR_IPV4}, /* any address: the route's */
	};
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT);
	struct weir_socket *sk;

	up(s, false);
	sk = ut_sock_bound(s, 0, 200);
	for (unsigned int r = 0; r < UT_N(row); r++) {
		struct weir_txctl ctl = {.from = weir_addr_v4(row[r].from, 0), .port = row[r].port};
		ssize_t got;

		ctl.from.family = row[r].family;
		got = send_ctl(s, sk, &to, &ctl);
		ut_check(got == (row[r].err != 0 ? row[r].err : 9), "row %u: %zd", r, got);
		ut_sock_set(sk, WEIR_OPT_FREEBIND, 1); /* lets bind, not send */
		ut_check(send_ctl(s, sk, &to, &ctl) == got, "row %u, freely", r);
		ut_sock_set(sk, WEIR_OPT_FREEBIND, 0);
		ut_stack_poll(s);
		while (ut_stack_pending(s, 0) > 0)
			assert_int_equal(take(s, 0, true).src, UT_OUR_IP);
	}
}

/* The caller's messages, addresses and wishes are read, never written (a bug of others: number 37). */
static void
bug_37_what_the_caller_passes_is_left_alone(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PEER_PORT), to0 = to;
	struct weir_txctl ctl = {.ttl = 4, .tos = 8, .has_tos = true, .segment = 10}, ctl0 = ctl;
	struct weir_txmsg msg[4], msg0[4];
	struct weir_socket *sk;

	up(s, false);
	sk = ut_sock_bound(s, 0, 200);
	assert_int_equal(weir_socket_connect(sk, &to), 0);
	memset(msg, 0, sizeof(msg));
	for (unsigned int i = 0; i < 4; i++) {
		msg[i].m = ut_stack_payload(s, 25); /* cut or whole */
		msg[i].to = (i & 1) != 0 ? &to : NULL;
		msg[i].ctl = (i & 2) != 0 ? &ctl : NULL;
	}
	memcpy(msg0, msg, sizeof(msg));
	assert_int_equal(weir_send_burst(s->w[0], sk, msg, 4, 0), 4);
	ut_stack_poll(s);
	assert_memory_equal(msg, msg0, sizeof(msg));
	assert_memory_equal(&to, &to0, sizeof(to));
	assert_memory_equal(&ctl, &ctl0, sizeof(ctl));
}

/* ---- while datagrams pass ---- */

struct traffic {
	struct ut_stack *s;
	struct weir_socket *tx, *rx[2];
	atomic_bool stop;
	_Atomic uint64_t sent, received;
	int ret;
};

/* An attached thread that sends to two sockets of this host, and reads them. */
static void *
send_and_receive(void *arg)
{
	struct traffic *t = arg;
	struct weir_addr to = weir_addr_v4(UT_IP(127, 0, 0, 1), 100);
	struct weir_lcore *lc;
	uint8_t buf[2000];

	t->ret = weir_thread_attach(t->s->stack, &lc);
	if (t->ret != 0)
		return NULL;
	while (!atomic_load(&t->stop)) {
		struct iovec iov = {buf, sizeof(buf)};
		struct weir_rxmsg msg;

		if (weir_send(lc, t->tx, text, 200, &to) == 200)
			atomic_fetch_add(&t->sent, 1);
		for (unsigned int i = 0; i < 2; i++) {
			while (weir_recv_burst(lc, t->rx[i], &msg, 1) == 1) {
				weir_mbuf_free_bulk(&msg.m, 1);
				atomic_fetch_add(&t->received, 1);
			}
			weir_recv_iov(lc, t->rx[i], &iov, 1, &msg, WEIR_RECV_PEEK);
		}
	}
	weir_lcore_detach(lc);
	return NULL;
}

/* Every option may be set at any time: nothing breaks, and the thread sanitizer has nothing to say. */
static void
options_change_while_datagrams_pass(void **state)
{
	static const struct {
		enum weir_sockopt opt;
		int64_t a, b;
	} row[] = {
		{WEIR_OPT_RCVBUF, 100000, 50000},
		{WEIR_OPT_BROADCAST, 1, 0},
		{WEIR_OPT_FREEBIND, 1, 0},
		{WEIR_OPT_TTL, 9, 64},
		{WEIR_OPT_TOS, 8, 0},
		{WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DONT, WEIR_PMTUD_WANT},
		{WEIR_OPT_NO_CHECK, 1, 0},
		{WEIR_OPT_RECVERR, 1, 0},
		{WEIR_OPT_PEEK_OFF, 0, -1},
		{WEIR_OPT_GRO, 1, 0},
		{WEIR_OPT_SEGMENT, 50, 0},
		{WEIR_OPT_LCORE, 0, -1},
		{WEIR_OPT_STABLE, 1, 0},
		{WEIR_OPT_MCAST_TTL, 3, 1},
		{WEIR_OPT_MCAST_LOOP, 0, 1},
		{WEIR_OPT_MCAST_PORT, 1, -1},
		{WEIR_OPT_MCAST_ALL, 0, 1},
		{WEIR_OPT_BIND_PORT, WEIR_PORT_LOOPBACK, -1},
	};
	struct ut_stack *s = *state;
	struct weir_addr group = weir_addr_v4(UT_IP(239, 1, 1, 1), 0);
	struct traffic t = {.s = s};
	struct ut_rng rng = ut_rng();
	struct timespec start, now;
	uint64_t changes = 0;
	pthread_t thread;

	up(s, false);
	t.tx = ut_sock_bound(s, 0, 200);
	for (unsigned int i = 0; i < 2; i++) {
		t.rx[i] = ut_sock(s);
		ut_sock_set(t.rx[i], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(ut_sock_bind(t.rx[i], 0, 100), 0);
	}
	assert_int_equal(pthread_create(&thread, NULL, send_and_receive, &t), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned int i = 0; i < 50; i++, changes++) {
			const unsigned int r = ut_rand_below(&rng, UT_N(row));
			const uint32_t who = ut_rand_below(&rng, 3);
			struct weir_socket *sk = who == 2 ? t.tx : t.rx[who];

			ut_sock_set(sk, row[r].opt, (ut_rand(&rng) & 1) != 0 ? row[r].a : row[r].b);
			if (i == 0 && weir_socket_join(t.rx[0], &group, NULL, 0) != 0)
				assert_int_equal(weir_socket_leave(t.rx[0], &group, NULL, 0), 0);
		}
		weir_turn(s->w[0]);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 1 ||
		 ((atomic_load(&t.received) < 100 || atomic_load(&t.sent) < 100) &&
		  now.tv_sec - start.tv_sec < 20));
	atomic_store(&t.stop, true);
	pthread_join(thread, NULL);
	printf("# %" PRIu64 " changes, %" PRIu64 " sent, %" PRIu64 " received\n", changes,
	       atomic_load(&t.sent), atomic_load(&t.received));
	assert_int_equal(t.ret, 0);
	assert_true(t.sent >= 100 && t.received >= 100);
	ut_stack_identity(s, "after changes under traffic");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(every_option_has_its_values),
		UT_STACK_TEST(a_configuration_sets_options),
		UT_STACK_TEST(the_receive_buffer_can_be_changed),
		UT_STACK_TEST(header_options_are_in_the_header_by_software),
		UT_STACK_TEST(header_options_are_in_the_header_by_offload),
		UT_STACK_TEST(larger_than_the_mtu_is_refused),
		UT_STACK_TEST(a_bound_interface_is_the_way_out),
		UT_STACK_TEST(one_datagram_may_be_different),
		UT_STACK_TEST(impossible_wishes_are_refused),
		UT_STACK_TEST(bug_37_what_the_caller_passes_is_left_alone),
		UT_STACK_TEST(options_change_while_datagrams_pass),
	};

	return UT_RUN(cases, NULL, NULL);
}
