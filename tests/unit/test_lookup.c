/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which socket a datagram reaches, and which names a socket may have: the order of match, sharing of
 * addresses and ports, ephemeral ports, changes of name, many sockets, no memory. Frames come in by
 * test ports; what is expected comes from models written here.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut_fail.h"
#include "common/ut_sock.h"

#include "control_state.h"
#include "sock.h"
#include "socktab.h"

/* ---- the order of match ---- */

/* One socket of each kind on one port: bit 0 of its number: bound to interface 0. */
enum { ANY, ANY_IF, ADDR, ADDR_IF, CONN, CONN_IF, N_KINDS };

static struct weir_socket *
socket_of_kind(struct ut_stack *s, int kind)
{
	struct weir_socket *sk = ut_sock(s);

	ut_sock_set(sk, WEIR_OPT_REUSEADDR, 1);
	if ((kind & 1) != 0)
		ut_sock_set(sk, WEIR_OPT_BIND_PORT, 0);
	assert_int_equal(ut_sock_bind(sk, kind < ADDR ? 0 : UT_OUR_IP, 100), 0);
	if (kind >= CONN)
		assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	return sk;
}

/* As Linux scores: a peer 8, a local address before any other, an interface 4; -1: no match. */
static int
score(int kind, unsigned int in_port, uint32_t src, uint32_t dst)
{
	if ((kind & 1) != 0 && in_port != 0)
		return -1;
	if (kind >= ADDR && dst != UT_OUR_IP)
		return -1;
	if (kind >= CONN && src != UT_PEER_IP)
		return -1;
	return (kind >= ADDR) * 100 + (kind >= CONN) * 8 + (kind & 1) * 4;
}

static void
the_best_match_wins_for_every_set_of_sockets(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint32_t number = 0;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int set = 0; set < 1u << N_KINDS; set++) {
		struct weir_socket *sk[N_KINDS] = {NULL};
		uint64_t before[N_KINDS] = {0};

		/* The other way round for odd sets: the order of binding does not matter. */
		for (int i = 0; i < N_KINDS; i++) {
			int k = (set & 1) != 0 ? N_KINDS - 1 - i : i;

			if ((set >> k & 1) != 0)
				sk[k] = socket_of_kind(s, k);
		}
		for (unsigned int v = 0; v < 8; v++) {
			const unsigned int in_port = v & 1;
			const uint32_t src = (v & 2) != 0 ? UT_PEER_IP : UT_HOST(0, 9);
			const uint32_t dst = (v & 4) != 0 ? UT_OUR_IP : UT_OUR(1);
			int best = -1, want = -1, got;

			for (int k = 0; k < N_KINDS; k++) {
				if (sk[k] != NULL && score(k, in_port, src, dst) > best) {
					best = score(k, in_port, src, dst);
					want = k;
				}
			}
			ut_sock_rx(s, in_port, src, 7, dst, 100, number++);
			got = ut_sock_who(sk, before, N_KINDS);
			ut_check(got == want, "set %#x, by port %u, from %08x to %08x: %d, not %d",
				 set, in_port, src, dst, got, want);
		}
		for (int k = 0; k < N_KINDS; k++)
			if (sk[k] != NULL)
				weir_socket_close(sk[k]);
		ut_stack_poll(s);
	}
}

/* An interface that is chosen, changed and given up after binding. */
static void
binding_to_an_interface_moves_a_bound_socket(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[1];
	uint64_t before[1] = {0};

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk[0] = ut_sock_bound(s, 0, 100);
	for (int want = -1; want < 2; want++) {
		ut_sock_set(sk[0], WEIR_OPT_BIND_PORT, want);
		assert_int_equal(ut_sock_get(sk[0], WEIR_OPT_BIND_PORT), want);
		for (unsigned int p = 0; p < 2; p++) {
			ut_sock_rx(s, p, UT_HOST(p, 2), 7, UT_OUR(p), 100, 1);
			ut_check((ut_sock_who(sk, before, 1) == 0) ==
					 (want == -1 || want == (int)p),
				 "bound to %d, by port %u", want, p);
		}
	}
	/* Goes with a disconnection, also of a socket that never was connected (as on Linux). */
	assert_int_equal(weir_socket_disconnect(sk[0]), 0);
	assert_int_equal(ut_sock_get(sk[0], WEIR_OPT_BIND_PORT), -1);
	ut_sock_rx(s, 0, UT_HOST(0, 2), 7, UT_OUR(0), 100, 1);
	assert_int_equal(ut_sock_who(sk, before, 1), 0);
	ut_sock_set(sk[0], WEIR_OPT_BIND_PORT, 1);
	assert_int_equal(ut_sock_connect(sk[0], UT_HOST(1, 2), 7), 0);
	ut_sock_rx(s, 1, UT_HOST(1, 2), 7, UT_OUR(1), 100, 1);
	assert_int_equal(ut_sock_who(sk, before, 1), 0);
	assert_int_equal(weir_socket_disconnect(sk[0]), 0);
	assert_int_equal(ut_sock_get(sk[0], WEIR_OPT_BIND_PORT), -1);
	ut_sock_rx(s, 0, UT_HOST(0, 2), 7, UT_OUR(0), 100, 1);
	assert_int_equal(ut_sock_who(sk, before, 1), 0);
}

/* Errors about what a socket on an interface sent find it: by that interface, and by no other. */
static void
errors_reach_a_socket_on_an_interface(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, 0);
	struct weir_socket *sk;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock(s);
	ut_sock_set(sk, WEIR_OPT_BIND_PORT, 0);
	assert_int_equal(weir_neigh_add(s->stack, 0, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	for (unsigned int p = 0; p < 2; p++) {
		struct ut_frame f;
		struct ut_pkt e;

		assert_int_equal(weir_send(s->w[0], sk, "abc", 3, NULL), 3);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		e = ut_pkt_icmp_error(3, 3, f.b + 14, f.len - 14u);
		e.eth_dst[4] = (uint8_t)p;
		e.ip_src = UT_HOST(p, 2);
		ut_stack_rx(s, p, &e);
		assert_int_equal(weir_socket_error(sk), p == 0 ? -ECONNREFUSED : 0);
	}
}

/* ---- sharing a port: who may ---- */

struct taken {
	struct weir_socket *sk;
	uint32_t ip;
	uint16_t port;
	int iface;
	bool ra, rp;
};

static bool
may_not_share(const struct taken *a, const struct taken *b)
{
	return a->port == b->port && (a->ip == 0 || b->ip == 0 || a->ip == b->ip) &&
	       !(a->iface >= 0 && b->iface >= 0 && a->iface != b->iface) && !(a->ra && b->ra) &&
	       !(a->rp && b->rp);
}

static struct taken
make(struct ut_stack *s, unsigned int options, unsigned int ip, int iface, uint16_t port)
{
	static const uint32_t ips[] = {0, UT_IP(10, 0, 0, 1), UT_IP(10, 0, 1, 1)};
	struct taken t = {.sk = ut_sock(s),
			  .ip = ips[ip],
			  .port = port,
			  .iface = iface,
			  .ra = (options & 1) != 0,
			  .rp = (options & 2) != 0};

	ut_sock_set(t.sk, WEIR_OPT_REUSEADDR, t.ra);
	ut_sock_set(t.sk, WEIR_OPT_REUSEPORT, t.rp);
	ut_sock_set(t.sk, WEIR_OPT_BIND_PORT, iface);
	return t;
}

static void
two_sockets_share_a_port_as_on_linux(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int v = 0; v < 4 * 3 * 3 * 4 * 3 * 3; v++) {
		unsigned int x = v;
		unsigned int oa, ia, ob, ib;
		struct taken a, b;
		int fa, fb;

		oa = x % 4, x /= 4;
		ia = x % 3, x /= 3;
		fa = (int)(x % 3) - 1, x /= 3;
		ob = x % 4, x /= 4;
		ib = x % 3, x /= 3;
		fb = (int)(x % 3) - 1;
		a = make(s, oa, ia, fa, 100);
		b = make(s, ob, ib, fb, 100);
		assert_int_equal(ut_sock_bind(a.sk, a.ip, 100), 0);
		ut_check(ut_sock_bind(b.sk, b.ip, 100) == (may_not_share(&a, &b) ? -EADDRINUSE : 0),
			 "%08x on %d with %u, then %08x on %d with %u", a.ip, a.iface, oa, b.ip,
			 b.iface, ob);
		weir_socket_close(a.sk);
		weir_socket_close(b.sk);
		if (v % 16 == 0)
			ut_stack_poll(s);
	}
}

static void
many_sockets_share_ports_as_a_list_says(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();
	static struct taken t[40];
	unsigned int n = 0, refused = 0;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int step = 0; step < 6000; step++) {
		if (n < UT_N(t) && ut_rand_below(&rng, 5) != 0) {
			struct taken x = make(s, ut_rand_below(&rng, 4), ut_rand_below(&rng, 3),
					      (int)ut_rand_below(&rng, 3) - 1,
					      (uint16_t)(100 + ut_rand_below(&rng, 4)));
			bool clash = false;
			int ret;

			for (unsigned int i = 0; i < n; i++)
				clash = clash || may_not_share(&t[i], &x);
			ret = ut_sock_bind(x.sk, x.ip, x.port);
			ut_check(ret == (clash ? -EADDRINUSE : 0), "step %u: %d", step, ret);
			refused += clash;
			if (clash)
				weir_socket_close(x.sk);
			else
				t[n++] = x;
		} else if (n > 0) {
			unsigned int i = ut_rand_below(&rng, n);

			/* Options may change under a bound socket: the count of those that share follows. */
			if (ut_rand_below(&rng, 3) == 0) {
				t[i].ra = !t[i].ra;
				ut_sock_set(t[i].sk, WEIR_OPT_REUSEADDR, t[i].ra);
			} else if (ut_rand_below(&rng, 3) == 0) {
				t[i].rp = !t[i].rp;
				ut_sock_set(t[i].sk, WEIR_OPT_REUSEPORT, t[i].rp);
			} else {
				weir_socket_close(t[i].sk);
				t[i] = t[--n];
			}
		}
		ut_stack_poll(s);
	}
	assert_true(refused > 500);
}

static void
of_sockets_that_share_an_address_the_newest_receives(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[6];
	uint64_t before[6] = {0};

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < UT_N(sk); i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
		assert_int_equal(ut_sock_who(sk, before, i + 1), i);
	}
	/* One in the middle goes: nothing changes. Then the newest, again and again. */
	weir_socket_close(sk[2]);
	sk[2] = NULL;
	for (unsigned int i = UT_N(sk); i-- > 0;) {
		if (i == 2)
			continue;
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, i);
		assert_int_equal(ut_sock_who(sk, before, UT_N(sk)), i);
		weir_socket_close(sk[i]);
		sk[i] = NULL;
	}
	ut_stack_mark(s);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 100, 0);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "all are closed");
}

/* ---- ephemeral ports ---- */

static void
ephemeral_ports_run_out_per_address(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *a[3], *b[3], *more;
	bool seen[3] = {false};

	cfg.n_ports = 2;
	cfg.stack.port_lo = 40000;
	cfg.stack.port_hi = 40002;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 3; i++) {
		struct weir_addr name;

		/* Those that would share get a port of their own all the same. */
		a[i] = ut_sock(s);
		ut_sock_set(a[i], WEIR_OPT_REUSEADDR, 1);
		ut_sock_set(a[i], WEIR_OPT_REUSEPORT, 1);
		assert_int_equal(ut_sock_bind(a[i], UT_OUR_IP, 0), 0);
		weir_socket_local(a[i], &name);
		assert_in_range(ut_addr_port(&name), 40000, 40002);
		assert_false(seen[ut_addr_port(&name) - 40000]);
		seen[ut_addr_port(&name) - 40000] = true;
	}
	more = ut_sock(s);
	assert_int_equal(ut_sock_bind(more, UT_OUR_IP, 0), -EADDRINUSE);
	assert_int_equal(ut_sock_bind(more, 0, 0), -EADDRINUSE);
	assert_int_equal(ut_sock_connect(more, UT_PEER_IP, 7), -EAGAIN);
	ut_sock_must_be(more, 0, 0, "after refusals");
	for (unsigned int i = 0; i < 3; i++) { /* another address has its own */
		b[i] = ut_sock(s);
		assert_int_equal(ut_sock_bind(b[i], UT_OUR(1), 0), 0);
	}
	weir_socket_close(a[1]);
	assert_int_equal(ut_sock_bind(more, 0, 0), -EADDRINUSE); /* overlaps with the others' */
	assert_int_equal(ut_sock_bind(more, UT_OUR_IP, 0), 0);
}

static void
ephemeral_ports_begin_at_random(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int n_low = 0, in_order = 0;
	uint16_t last = 0;

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 60; i++) {
		struct weir_socket *sk = ut_sock(s);
		struct weir_addr name;

		assert_int_equal(ut_sock_bind(sk, 0, 0), 0);
		weir_socket_local(sk, &name);
		assert_in_range(ut_addr_port(&name), 32768, 60999);
		n_low += ut_addr_port(&name) < 32768 + 14116;
		in_order += ut_addr_port(&name) == last + 1;
		last = ut_addr_port(&name);
	}
	assert_in_range(n_low, 12, 48);
	assert_true(in_order < 5);
}

/* ---- names: bind, connect, disconnect ---- */

/* What is heard of four datagrams: from the peer to A, from another to A, the same to B. */
static unsigned int
heard(struct ut_stack *s, struct weir_socket *sk, uint16_t port)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < 4; i++) {
		struct weir_socket *const one[] = {sk};
		uint64_t before = ut_sock_queued(sk);

		ut_sock_rx(s, i / 2, (i & 1) == 0 ? UT_PEER_IP : UT_HOST(0, 9), 7, UT_OUR(i / 2),
			   port, i);
		bits |= (unsigned int)(ut_sock_who(one, &before, 1) == 0) << i;
	}
	ut_sock_drain(s, sk);
	return bits;
}

#define FROM_PEER_TO_A 1u
#define TO_A           3u
#define TO_B           12u
#define FROM_PEER_TO_B 4u

static void
names_follow_bind_connect_and_disconnect(void **state)
{
	static const struct {
		const char *what;
		uint32_t ip;
		bool bind, port; /* bind at all; to a port of choice */
		uint32_t after_connect_ip;
		unsigned int heard_bound, heard_connected;
		uint32_t after_ip; /* of disconnection */
		bool after_port;
	} row[] = {
		{"never bound", 0, false, false, UT_OUR_IP, 0, FROM_PEER_TO_A, 0, false},
		{"any:0", 0, true, false, UT_OUR_IP, TO_A | TO_B, FROM_PEER_TO_A, 0, false},
		{"any:500", 0, true, true, UT_OUR_IP, TO_A | TO_B, FROM_PEER_TO_A, 0, true},
		{"A:0", UT_OUR_IP, true, false, UT_OUR_IP, TO_A, FROM_PEER_TO_A, UT_OUR_IP, false},
		{"A:500", UT_OUR_IP, true, true, UT_OUR_IP, TO_A, FROM_PEER_TO_A, UT_OUR_IP, true},
		{"B:500", UT_OUR(1), true, true, UT_OUR(1), TO_B, FROM_PEER_TO_B, UT_OUR(1), true},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int r = 0; r < UT_N(row); r++) {
		struct weir_socket *sk = ut_sock(s);
		struct weir_addr name;
		uint16_t port;

		ut_sock_must_be(sk, 0, 0, row[r].what);
		assert_int_equal(weir_socket_peer(sk, &name), -ENOTCONN);
		if (row[r].bind) {
			assert_int_equal(ut_sock_bind(sk, row[r].ip, row[r].port ? 500 : 0), 0);
			weir_socket_local(sk, &name);
			port = ut_addr_port(&name);
			assert_true(port != 0);
			ut_sock_must_be(sk, row[r].ip, port, row[r].what);
			ut_check(heard(s, sk, port) == row[r].heard_bound, "%s", row[r].what);
			assert_int_equal(ut_sock_bind(sk, row[r].ip, port), -EINVAL);
		}
		for (unsigned int again = 0; again < 3; again++) {
			uint16_t other = again == 1 ? 8 : 7;

			assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, other), 0);
			weir_socket_local(sk, &name);
			if (row[r].bind || again > 0)
				assert_int_equal(ut_addr_port(&name), port);
			port = ut_addr_port(&name);
			ut_sock_must_be(sk, row[r].after_connect_ip, port, row[r].what);
			assert_int_equal(weir_socket_peer(sk, &name), 0);
			assert_int_equal(ut_addr_ip(&name), UT_PEER_IP);
			assert_int_equal(ut_addr_port(&name), other);
			ut_check(heard(s, sk, port) == (other == 7 ? row[r].heard_connected : 0u),
				 "%s, connected", row[r].what);
			assert_int_equal(ut_sock_bind(sk, row[r].ip, 0), -EINVAL);
		}
		for (unsigned int again = 0; again < 2; again++) {
			assert_int_equal(weir_socket_disconnect(sk), 0);
			ut_sock_must_be(sk, row[r].after_ip, row[r].after_port ? port : 0,
					row[r].what);
			assert_int_equal(weir_socket_peer(sk, &name), -ENOTCONN);
			ut_check(heard(s, sk, port) ==
					 (row[r].after_port ? row[r].heard_bound : 0u),
				 "%s, disconnected", row[r].what);
		}
		weir_socket_close(sk);
		ut_stack_poll(s);
	}
}

/* As on Linux: the first connection chooses, and only a disconnection lets choose again. */
static void
an_address_that_was_not_chosen_stays_while_connected(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 500);
	for (unsigned int i = 0; i < 12; i++) {
		unsigned int p = i & 1; /* the peer's link */
		unsigned int a =
			i / 4 & 1; /* ours: of the first peer since the last disconnection */

		if (i % 4 == 0) {
			assert_int_equal(weir_socket_disconnect(sk), 0);
			ut_sock_must_be(sk, 0, 500, "disconnected");
			assert_int_equal(ut_sock_connect(sk, UT_HOST(a, 2), 9), 0);
		}
		assert_int_equal(ut_sock_connect(sk, UT_HOST(p, 2), 7), 0);
		ut_sock_must_be(sk, UT_OUR(a), 500, "connected");
		ut_sock_rx(s, p, UT_HOST(p, 2), 7, UT_OUR(a), 500, i);
		ut_sock_must_read(s, sk, i, "from the peer");
		/* The peer before is not heard any more, nor anything to the other address. */
		ut_sock_rx(s, 1 - p, UT_HOST(1 - p, 2), 7, UT_OUR(a), 500, 99);
		ut_sock_rx(s, p, UT_HOST(p, 2), 7, UT_OUR(1 - a), 500, 99);
		ut_sock_must_be_empty(s, sk, "from the last peer");
	}
	/* An unreachable peer changes nothing. */
	assert_int_equal(ut_sock_connect(sk, UT_IP(99, 0, 0, 1), 7), -ENETUNREACH);
	ut_sock_must_be(sk, UT_OUR(0), 500, "after a refusal");
	ut_sock_rx(s, 1, UT_HOST(1, 2), 7, UT_OUR(0), 500, 7);
	ut_sock_must_read(s, sk, 7, "from the peer, still");
}

static void
what_was_queued_before_connect_can_be_read(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 500);
	ut_sock_rx(s, 0, UT_HOST(0, 9), 7, UT_OUR_IP, 500, 1);
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), 0);
	ut_sock_must_read(s, sk, 1, "from before");
}

static void
names_that_need_permission_get_it(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_sock(s);
	assert_int_equal(ut_sock_bind(sk, UT_IP(10, 9, 9, 9), 500), -EADDRNOTAVAIL);
	ut_sock_set(sk, WEIR_OPT_FREEBIND, 1);
	assert_int_equal(ut_sock_bind(sk, UT_IP(10, 9, 9, 9), 500), 0);
	ut_sock_must_be(sk, UT_IP(10, 9, 9, 9), 500, "free-bound");
	/* It sends and receives when the address becomes ours. */
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), -ENETUNREACH);
	{
		struct weir_addr a = weir_addr_v4(UT_IP(10, 9, 9, 9), 0);
		struct weir_addr to = weir_addr_v4(UT_PEER_IP, 7);

		assert_int_equal(weir_send(s->w[0], sk, "x", 1, &to), -ENETUNREACH);
		assert_int_equal(weir_addr_add(s->stack, 0, &a, 24, NULL), 0);
		ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_IP(10, 9, 9, 9), 500, 3);
		ut_sock_must_read(s, sk, 3, "free-bound");
		assert_int_equal(weir_send(s->w[0], sk, "x", 1, &to), 1);
	}
	sk = ut_sock(s);
	assert_int_equal(ut_sock_connect(sk, UT_BCAST(0), 7), -EACCES);
	assert_int_equal(ut_sock_connect(sk, 0xffffffff, 7), -ENETUNREACH); /* the way first */
	assert_int_equal(ut_sock_bind(sk, UT_OUR_IP, 0), 0);
	assert_int_equal(ut_sock_connect(sk, 0xffffffff, 7), -EACCES);
	ut_sock_set(sk, WEIR_OPT_BROADCAST, 1);
	assert_int_equal(ut_sock_connect(sk, UT_BCAST(0), 7), 0);
	assert_int_equal(ut_sock_connect(sk, 0xffffffff, 7), 0);
	sk = ut_sock_bound(s, UT_IP(127, 0, 0, 1), 0);
	assert_int_equal(ut_sock_connect(sk, UT_BCAST(0), 7), -EINVAL); /* then the source */
	assert_int_equal(ut_sock_connect(sk, UT_PEER_IP, 7), -EINVAL);
	assert_int_equal(ut_sock_connect(sk, 0, 7), 0);
	/* Group addresses are filters. */
	sk = ut_sock_bound(s, UT_BCAST(0), 501);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_BCAST(0), 501, 4);
	ut_sock_must_read(s, sk, 4, "to the broadcast address");
	ut_stack_mark(s);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_OUR_IP, 501, 5);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "to the address of the host");
}

/* ---- many ---- */

#define MANY 100000u

static void
a_hundred_thousand_sockets_are_found(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static struct weir_socket *sk[MANY];

	cfg.n_ports = 2;
	cfg.stack.max_sockets = MANY;
	ut_stack_up(s, &cfg);
	/* A quarter bound, the rest of the ports' sockets connected, several to one port. */
	for (uint32_t i = 0; i < MANY; i++) {
		const uint32_t ip = UT_OUR(i & 1);
		const uint16_t port = (uint16_t)(1 + (i >> 1));

		sk[i] = ut_sock(s);
		if (i % 4 == 0) {
			assert_int_equal(ut_sock_bind(sk[i], ip, port), 0);
			continue;
		}
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], ip, 60000), 0);
		assert_int_equal(ut_sock_connect(sk[i], UT_HOST(i & 1, 2), port), 0);
	}
	assert_true(atomic_load(&s->stack->socktab)->mask + 1 >= 2 * MANY);
	for (uint32_t from = 0; from < MANY; from += WEIR_MAX_BURST) {
		struct weir_key key[WEIR_MAX_BURST];
		struct weir_socket *got[WEIR_MAX_BURST];
		uint32_t at[WEIR_MAX_BURST];

		/* Spread over the whole table. */
		for (uint32_t i = 0; i < WEIR_MAX_BURST; i++) {
			const uint32_t x = (from + i) * 7919u % MANY;
			const uint16_t port = (uint16_t)(1 + (x >> 1));
			struct weir_addr l = weir_addr_v4(UT_OUR(x & 1), x % 4 == 0 ? port : 60000);
			struct weir_addr p = weir_addr_v4(UT_HOST(x & 1, 2), x % 4 == 0 ? 7 : port);

			at[i] = x;
			key[i] = (struct weir_key){.local = l.ip,
						   .lport = l.port,
						   .peer = p.ip,
						   .pport = p.port,
						   .family = WEIR_IPV4,
						   .iface = 1};
		}
		assert_int_equal(weir_socktab_lookup_burst(s->w[0], key, WEIR_MAX_BURST, got), 0);
		for (uint32_t i = 0; i < WEIR_MAX_BURST; i++) {
			ut_check(got[i] == sk[at[i]], "socket %u", at[i]);
			assert_ptr_equal(weir_socktab_lookup(s->w[0], &key[i]), sk[at[i]]);
		}
	}
	for (uint32_t i = 0; i < MANY; i++)
		weir_socket_close(sk[i]);
	ut_stack_poll(s);
	ut_stack_pass(s, WEIR_NS_PER_S, WEIR_NS_PER_S / 10);
	assert_false(weir_rcu_pending(s->stack));
	assert_int_equal(s->stack->control->n_free_ids, MANY);
}

/* ---- names are never half visible ---- */

struct sender {
	struct ut_stack *s;
	struct weir_socket *sk;
	atomic_bool stop;
	uint64_t sent, refused;
};

/* An attached thread that sends to whoever the peer is. */
static void *
send_to_peer(void *arg)
{
	struct sender *x = arg;
	struct weir_lcore *lc;

	if (weir_thread_attach(x->s->stack, &lc) != 0)
		return NULL;
	while (!atomic_load(&x->stop)) {
		if (weir_send(lc, x->sk, "x", 1, NULL) == 1)
			x->sent++;
		else
			x->refused++;
	}
	weir_lcore_detach(lc);
	return NULL;
}

static void
bug_36_a_sender_sees_one_peer_or_the_other(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct sender x = {.s = s};
	struct timespec start, now;
	uint64_t seen[2] = {0};
	pthread_t thread;
	uint64_t flips = 0;

	cfg.n_ports = 2;
	cfg.real_clock = true;
	cfg.port.tx_desc = 1024;
	ut_stack_up(s, &cfg);
	for (unsigned int p = 0; p < 2; p++) {
		struct weir_addr peer = weir_addr_v4(UT_HOST(p, 2), 0);

		assert_int_equal(
			weir_neigh_add(s->stack, p, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
	}
	x.sk = ut_sock_bound(s, 0, 500);
	assert_int_equal(ut_sock_connect(x.sk, UT_HOST(0, 2), 1000), 0);
	assert_int_equal(pthread_create(&thread, NULL, send_to_peer, &x), 0);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		struct ut_frame f;

		for (unsigned int i = 0; i < 8; i++, flips++) {
			/* In between nobody is the peer. */
			assert_int_equal(weir_socket_disconnect(x.sk), 0);
			assert_int_equal(ut_sock_connect(x.sk, UT_HOST(flips & 1, 2),
							 (uint16_t)(1000 + (flips & 1))),
					 0);
		}
		weir_turn(s->w[0]);
		for (unsigned int p = 0; p < 2; p++) {
			while (ut_stack_take(s, p, &f)) {
				ut_check(ut_get32(f.b + 26) == UT_OUR(p) &&
						 ut_get32(f.b + 30) == UT_HOST(p, 2) &&
						 ut_get16(f.b + 34) == 500 &&
						 ut_get16(f.b + 36) == 1000 + p,
					 "port %u: %08x:%u to %08x:%u", p, ut_get32(f.b + 26),
					 ut_get16(f.b + 34), ut_get32(f.b + 30),
					 ut_get16(f.b + 36));
				seen[p]++;
			}
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 2 ||
		 ((seen[0] < 100 || seen[1] < 100) && now.tv_sec - start.tv_sec < 20));
	atomic_store(&x.stop, true);
	pthread_join(thread, NULL);
	printf("# %" PRIu64 " changes, %" PRIu64 " sent, %" PRIu64 " refused, seen %" PRIu64
	       " and %" PRIu64 "\n",
	       flips, x.sent, x.refused, seen[0], seen[1]);
	assert_true(seen[0] >= 100 && seen[1] >= 100);
	ut_stack_poll(s);
}

/* ---- no memory ---- */

struct fail {
	struct ut_stack *s;
	struct weir_socket *sk, *other;
	struct weir_addr group, peer, peer2;
};

/* Give back what waits for a grace period: nothing else runs. */
static void
reclaim(struct ut_stack *s)
{
	weir_ctl_lock(s->stack);
	weir_rcu_reclaim(s->stack, true);
	weir_ctl_unlock(s->stack);
}

static int
do_open(struct fail *f)
{
	struct weir_socket *sk;
	int ret = weir_socket_open(f->s->stack, NULL, &sk);

	if (ret == 0)
		weir_socket_close(sk);
	return ret;
}

static int
do_bind(struct fail *f)
{
	return ut_sock_bind(f->sk, UT_OUR_IP, 500);
}

static int
do_bind_shared(struct fail *f)
{
	ut_sock_set(f->sk, WEIR_OPT_REUSEPORT, 1);
	return ut_sock_bind(f->sk, 0, 100);
}

static int
do_connect(struct fail *f)
{
	return weir_socket_connect(f->sk, &f->peer);
}

static int
do_connect2(struct fail *f)
{
	return weir_socket_connect(f->sk, &f->peer2);
}

static int
do_disconnect(struct fail *f)
{
	return weir_socket_disconnect(f->sk);
}

static int
do_bind_port(struct fail *f)
{
	return weir_socket_set(f->sk, WEIR_OPT_BIND_PORT, 0);
}

static int
do_lcore(struct fail *f)
{
	return weir_socket_set(f->sk, WEIR_OPT_LCORE, 0);
}

static int
do_stable(struct fail *f)
{
	return weir_socket_set(f->sk, WEIR_OPT_STABLE, 1);
}

static int
do_recverr(struct fail *f)
{
	return weir_socket_set(f->sk, WEIR_OPT_RECVERR, 1);
}

static int
select_none(void *arg, const void *payload, uint32_t len, uint32_t hash, unsigned int n_members)
{
	(void)arg, (void)payload, (void)len, (void)hash, (void)n_members;
	return -1;
}

static int
do_select(struct fail *f)
{
	return weir_socket_select(f->sk, select_none, NULL);
}

static int
do_join(struct fail *f)
{
	return weir_socket_join(f->sk, &f->group, NULL, 0);
}

static int
do_leave(struct fail *f)
{
	return weir_socket_leave(f->sk, &f->group, NULL, 0);
}

static int
do_close(struct fail *f)
{
	int ret = weir_socket_close(f->sk);

	f->sk = NULL;
	return ret;
}

/* What the state of a socket is before the call. */
enum before { FRESH, BOUND, BOUND_ADDR0, GROUP, CONNECTED, BOUND_CONNECTED, ON_PORT, JOINED };

static void
prepare(struct fail *f, enum before before)
{
	f->sk = ut_sock(f->s);
	switch (before) {
	case FRESH:
		break;
	case BOUND:
		assert_int_equal(ut_sock_bind(f->sk, 0, 600), 0);
		break;
	case BOUND_ADDR0: /* an address that stayed, without a port */
		assert_int_equal(ut_sock_bind(f->sk, UT_OUR_IP, 0), 0);
		assert_int_equal(do_connect(f), 0);
		assert_int_equal(do_disconnect(f), 0);
		break;
	case GROUP:
		assert_int_equal(do_bind_shared(f), 0);
		break;
	case CONNECTED:
		assert_int_equal(do_connect(f), 0);
		break;
	case ON_PORT:
		ut_sock_set(f->sk, WEIR_OPT_BIND_PORT, 0);
		/* fall through */
	case BOUND_CONNECTED:
		assert_int_equal(ut_sock_bind(f->sk, 0, 600), 0);
		assert_int_equal(do_connect(f), 0);
		break;
	case JOINED:
		assert_int_equal(do_join(f), 0);
		break;
	}
	reclaim(f->s);
}

/* All that can be seen of a socket from outside. */
struct view {
	struct weir_addr local, peer;
	int has_peer;
	int64_t opt[WEIR_OPT_MCAST_ALL + 1];
	uint32_t heard;
};

static void
look(struct fail *f, struct view *v)
{
	struct weir_socket *const one[] = {f->sk};
	uint64_t before = ut_sock_queued(f->sk);
	const uint16_t ports[] = {100, 500, 600};

	memset(v, 0, sizeof(*v));
	weir_socket_local(f->sk, &v->local);
	v->has_peer = weir_socket_peer(f->sk, &v->peer);
	for (int o = WEIR_OPT_RCVBUF; o <= WEIR_OPT_MCAST_ALL; o++)
		if (o != WEIR_OPT_REUSEPORT)
			weir_socket_get(f->sk, o, &v->opt[o]);
	for (unsigned int i = 0; i < 4 * 8; i++) {
		uint16_t port = i % 4 == 3 ? ut_addr_port(&v->local) : ports[i % 4];
		const uint32_t dst = (i / 4 & 2) != 0 ? UT_IP(239, 1, 1, 1) : UT_OUR_IP;

		if (port == 0)
			continue;
		ut_sock_rx(f->s, (i / 4 & 4) != 0, (i / 4 & 1) != 0 ? UT_PEER_IP : UT_HOST(0, 3), 7,
			   dst, port, i);
		v->heard |= (uint32_t)(ut_sock_who(one, &before, 1) == 0) << i;
	}
	ut_sock_drain(f->s, f->sk);
	ut_sock_drain(f->s, f->other);
}

static void
every_allocation_fails_once_in_every_call(void **state)
{
	static const struct {
		const char *what;
		enum before before;
		int (*call)(struct fail *f);
		bool no_memory_needed;
	} row[] = {
		{"open", FRESH, do_open, false},
		{"bind", FRESH, do_bind, false},
		{"bind, second of a group", FRESH, do_bind_shared, false},
		{"connect, unbound", FRESH, do_connect, false},
		{"connect, bound", BOUND, do_connect, false},
		{"connect, with an address but no port", BOUND_ADDR0, do_connect, false},
		{"connect again", CONNECTED, do_connect2, false},
		{"connect from a group", GROUP, do_connect, false},
		{"disconnect", CONNECTED, do_disconnect, false},
		{"disconnect, bound", BOUND_CONNECTED, do_disconnect, false},
		{"disconnect, on an interface", ON_PORT, do_disconnect, false},
		{"bind to interface", BOUND, do_bind_port, false},
		{"bind to interface, in a group", GROUP, do_bind_port, false},
		{"lcore, in a group", GROUP, do_lcore, false},
		{"stable, in a group", GROUP, do_stable, false},
		{"recverr", FRESH, do_recverr, false},
		{"selector", GROUP, do_select, false},
		{"join", BOUND, do_join, false},
		{"leave", JOINED, do_leave, true}, /* all but the group's last look: see below */
		{"close, of a group", GROUP, do_close, true},
		{"close, connected", BOUND_CONNECTED, do_close, true},
		{"close, joined", JOINED, do_close, true},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct fail f = {.s = s};

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	f.group = weir_addr_v4(UT_IP(239, 1, 1, 1), 0);
	f.peer = weir_addr_v4(UT_PEER_IP, 7);
	f.peer2 = weir_addr_v4(UT_HOST(1, 2), 7);
	f.other = ut_sock(s);
	ut_sock_set(f.other, WEIR_OPT_REUSEPORT, 1);
	assert_int_equal(ut_sock_bind(f.other, 0, 100), 0);
	assert_int_equal(weir_socket_join(f.other, &f.group, NULL, 1), 0);
	for (unsigned int r = 0; r < UT_N(row); r++) {
		unsigned int k = 0;
		bool hit = true;

		while (hit) {
			struct view before, after;
			int ret;

			prepare(&f, row[r].before);
			look(&f, &before);
			ut_fail_at(++k);
			ret = row[r].call(&f);
			hit = ut_fail_stop();
			ut_check(ret == 0 || (hit && ret == -ENOMEM && !row[r].no_memory_needed),
				 "%s, allocation %u: %d", row[r].what, k, ret);
			ut_check(hit || ret == 0, "%s: %d", row[r].what, ret);
			if (ret != 0) {
				look(&f, &after);
				ut_check_bytes(&after, &before, sizeof(after), "%s, allocation %u",
					       row[r].what, k);
				/* With memory it works. */
				ret = row[r].call(&f);
				ut_check(ret == 0, "%s, again: %d", row[r].what, ret);
			}
			if (f.sk != NULL)
				weir_socket_close(f.sk);
			reclaim(s);
		}
		ut_check(k > 1 || row[r].no_memory_needed, "%s: nothing was allocated",
			 row[r].what);
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(the_best_match_wins_for_every_set_of_sockets),
		UT_STACK_TEST(binding_to_an_interface_moves_a_bound_socket),
		UT_STACK_TEST(errors_reach_a_socket_on_an_interface),
		UT_STACK_TEST(two_sockets_share_a_port_as_on_linux),
		UT_STACK_TEST(many_sockets_share_ports_as_a_list_says),
		UT_STACK_TEST(of_sockets_that_share_an_address_the_newest_receives),
		UT_STACK_TEST(ephemeral_ports_run_out_per_address),
		UT_STACK_TEST(ephemeral_ports_begin_at_random),
		UT_STACK_TEST(names_follow_bind_connect_and_disconnect),
		UT_STACK_TEST(an_address_that_was_not_chosen_stays_while_connected),
		UT_STACK_TEST(what_was_queued_before_connect_can_be_read),
		UT_STACK_TEST(names_that_need_permission_get_it),
		UT_STACK_TEST(a_hundred_thousand_sockets_are_found),
		UT_STACK_TEST(bug_36_a_sender_sees_one_peer_or_the_other),
		UT_STACK_TEST(every_allocation_fails_once_in_every_call),
	};

	return UT_RUN(cases, NULL, NULL);
}
