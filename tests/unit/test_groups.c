/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several sockets for one datagram: groups that share a port and its load (by hash, by lcore, by a
 * selector of the application; stable or not), and group addresses, where every match gets a copy.
 */
#include "common/ut_fail.h"
#include "common/ut_sock.h"

#include "sock.h"
#include "socktab.h"

#define FLOWS 4000u

static struct weir_socket *
member_of(struct ut_stack *s, uint16_t port, bool stable, int lcore)
{
	struct weir_socket *sk = ut_sock(s);

	ut_sock_set(sk, WEIR_OPT_REUSEPORT, 1);
	ut_sock_set(sk, WEIR_OPT_STABLE, stable);
	ut_sock_set(sk, WEIR_OPT_LCORE, lcore);
	assert_int_equal(ut_sock_bind(sk, 0, port), 0);
	return sk;
}

/* Flow i of a family of flows: what differs is the source port, the source address, or both. */
static struct weir_key
flow(unsigned int family, uint32_t i)
{
	struct weir_addr l = weir_addr_v4(UT_OUR_IP, 100);
	struct weir_addr p = family == 0   ? weir_addr_v4(UT_PEER_IP, (uint16_t)(1024 + i))
			     : family == 1 ? weir_addr_v4(UT_IP(10, 0, 0, 0) + i, 7)
					   : weir_addr_v4(UT_IP(10, 0, 0, 0) + i * 7919u % 65536,
							  (uint16_t)(1024 + i % 16));

	return (struct weir_key){.local = l.ip,
				 .lport = l.port,
				 .peer = p.ip,
				 .pport = p.port,
				 .family = WEIR_IPV4,
				 .iface = 1};
}

static int
index_of(struct weir_socket *const *sk, unsigned int n, const struct weir_socket *x)
{
	for (unsigned int i = 0; i < n; i++)
		if (sk[i] == x)
			return (int)i;
	return -1;
}

/* Who of sk[n] gets each of the flows; also counts per member. */
static void
map_flows(struct ut_stack *s, unsigned int worker, unsigned int family,
	  struct weir_socket *const *sk, unsigned int n, int *map, unsigned int *count)
{
	memset(count, 0, n * sizeof(count[0]));
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct weir_key k = flow(family, i);

		map[i] = index_of(sk, n, weir_socktab_lookup(s->w[worker], &k));
		assert_in_range(map[i], 0, n - 1);
		count[map[i]]++;
	}
}

/* Chi-square of the counts against equal shares. */
static double
chi_square(const unsigned int *count, unsigned int n, unsigned int total)
{
	double want = (double)total / n, sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum += (count[i] - want) * (count[i] - want) / want;
	return sum;
}

/* 99.9 % quantile by degrees of freedom. */
static const double chi_max[] = {0, 10.8, 13.8, 16.3, 18.5, 20.5, 22.5, 24.3};

static void
a_group_shares_flows_evenly(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS], again[FLOWS];
	unsigned int count[8];

	ut_stack_up(s, &cfg);
	for (unsigned int stable = 0; stable < 2; stable++) {
		struct weir_socket *sk[8];

		for (unsigned int n = 1; n <= UT_N(sk); n++) {
			sk[n - 1] = member_of(s, 100, stable, -1);
			for (unsigned int family = 0; n > 1 && family < 3; family++) {
				double x, most;

				map_flows(s, 0, family, sk, n, map, count);
				x = chi_square(count, n, FLOWS);
				/* 256 buckets are shared out by chance too: that widens what may be. */
				most = stable ? chi_max[n - 1] * (1 + FLOWS / 256.0)
					      : chi_max[n - 1];
				ut_check(x < most,
					 "%u members, flows %u, stable %u: chi-square %.1f", n,
					 family, stable, x);
				map_flows(s, 0, family, sk, n, again, count);
				assert_memory_equal(map, again, sizeof(map));
			}
		}
		for (unsigned int i = 0; i < UT_N(sk); i++)
			weir_socket_close(sk[i]);
		ut_stack_poll(s);
	}
}

/* The same through the whole receive path, in bursts of mixed flows. */
static void
what_arrives_is_shared_like_what_is_looked_up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[4];
	unsigned int want[4] = {0};

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++)
		sk[i] = member_of(s, 100, false, -1);
	for (uint32_t i = 0; i < 960; i++) {
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, (uint16_t)(1024 + i), UT_OUR_IP, 100,
					      &i, sizeof(i));
		struct weir_key k = flow(0, i);

		want[index_of(sk, 4, weir_socktab_lookup(s->w[0], &k))]++;
		ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
		if (i % 32 == 31)
			ut_stack_poll(s);
	}
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(ut_sock_drain(s, sk[i]), want[i]);
}

/* ---- changes of a group ---- */

static void
closing_a_stable_member_moves_its_flows_only(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS], after[FLOWS];
	unsigned int count[5];

	ut_stack_up(s, &cfg);
	for (unsigned int stable = 0; stable < 2; stable++) {
		for (unsigned int gone = 0; gone < 4; gone++) {
			struct weir_socket *sk[5];
			unsigned int moved = 0;

			for (unsigned int i = 0; i < 4; i++)
				sk[i] = member_of(s, 100, stable, -1);
			map_flows(s, 0, 0, sk, 4, map, count);
			weir_socket_close(sk[gone]);
			sk[gone] = NULL;
			map_flows(s, 0, 0, sk, 4, after, count);
			for (unsigned int i = 0; i < FLOWS; i++) {
				assert_int_not_equal(after[i], (int)gone);
				moved += map[i] != (int)gone && after[i] != map[i];
			}
			if (stable)
				ut_check(moved == 0, "%u flows of others moved", moved);
			else /* the rule that Linux users know; so this test can fail */
				assert_true(moved > FLOWS / 20);
			for (unsigned int i = 0; i < 4; i++)
				if (i != gone)
					assert_in_range(count[i], FLOWS / 6, FLOWS / 2);
			/* A new member takes from all, and nothing moves between the old ones. */
			memcpy(map, after, sizeof(map));
			sk[gone] = member_of(s, 100, stable, -1);
			map_flows(s, 0, 0, sk, 4, after, count);
			for (unsigned int i = 0; stable && i < FLOWS; i++)
				assert_true(after[i] == map[i] || after[i] == (int)gone);
			for (unsigned int i = 0; i < 4; i++)
				weir_socket_close(sk[i]);
			ut_stack_poll(s);
		}
	}
}

/* A group is stable when all of its members ask for it. */
static void
one_member_that_is_not_stable_decides(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS], after[FLOWS];
	struct weir_socket *sk[4];
	unsigned int count[4], moved = 0;

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++)
		sk[i] = member_of(s, 100, i != 2, -1);
	map_flows(s, 0, 0, sk, 4, map, count);
	ut_sock_set(sk[2], WEIR_OPT_STABLE, 1);
	map_flows(s, 0, 0, sk, 4, after, count);
	assert_memory_not_equal(map, after, sizeof(map));
	weir_socket_close(sk[1]);
	sk[1] = NULL;
	memcpy(map, after, sizeof(map));
	map_flows(s, 0, 0, sk, 4, after, count);
	for (unsigned int i = 0; i < FLOWS; i++)
		moved += map[i] != 1 && after[i] != map[i];
	assert_int_equal(moved, 0);
}

/*
 * Closing needs no memory: without any the group shrinks in place, and neither its places nor its buckets
 * name the socket that is gone.
 */
static void
a_group_without_memory_forgets_the_closed(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS];

	ut_stack_up(s, &cfg);
	for (unsigned int v = 0; v < 4 * 2; v++) {
		const bool stable = (v & 1) != 0;
		struct weir_socket *sk[4];
		unsigned int count[4];

		for (unsigned int i = 0; i < 4; i++)
			sk[i] = member_of(s, 100, stable, -1);
		for (unsigned int i = 0; i < 3; i++) {
			const unsigned int gone = (v / 2 + i) % 4;

			ut_fail_at(1);
			weir_socket_close(sk[gone]);
			assert_true(ut_fail_stop());
			sk[gone] = NULL;
			map_flows(s, 0, 0, sk, 4, map, count);
			for (unsigned int k = 0; k < 4; k++)
				ut_check(sk[k] == NULL || count[k] != 0, "%u gets nothing", k);
		}
		for (unsigned int i = 0; i < 4; i++)
			if (sk[i] != NULL)
				weir_socket_close(sk[i]);
		ut_stack_poll(s);
	}
}

/* ---- the lcore's own member first ---- */

static void
a_member_of_the_same_lcore_comes_first(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS];
	struct weir_socket *sk[4];
	unsigned int count[4], twice[4];

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	sk[0] = member_of(s, 100, false, -1);
	sk[1] = member_of(s, 100, false, 0);
	sk[2] = member_of(s, 100, false, 1);
	sk[3] = member_of(s, 100, false, 1);
	/* By lookup: worker 0 has one member, worker 1 two, which share. */
	map_flows(s, 0, 0, sk, 4, map, count);
	assert_int_equal(count[1], FLOWS);
	map_flows(s, 1, 0, sk, 4, map, count);
	assert_int_equal(count[0] + count[1], 0);
	assert_true(chi_square(count + 2, 2, FLOWS) < chi_max[1]);
	/* By frame: the queue decides. */
	for (uint32_t i = 0; i < 64; i++) {
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, (uint16_t)(1024 + i), UT_OUR_IP, 100,
					      &i, sizeof(i));

		ut_stack_inject(s, 0, i & 1, ut_pkt_mbuf(&p, s->pool));
		if (i % 16 == 15)
			ut_stack_poll(s);
	}
	assert_int_equal(ut_sock_drain(s, sk[0]), 0);
	assert_int_equal(ut_sock_drain(s, sk[1]), 32);
	assert_int_equal(ut_sock_drain(s, sk[2]) + ut_sock_drain(s, sk[3]), 32);
	/* Nobody for worker 0 any more: all four share there. */
	ut_sock_set(sk[1], WEIR_OPT_LCORE, 1);
	map_flows(s, 0, 0, sk, 4, map, count);
	assert_true(chi_square(count, 4, FLOWS) < chi_max[3]);
	/* The preference goes with the socket that had it: nothing of it stays in the group. */
	weir_socket_close(sk[1]);
	weir_socket_close(sk[2]);
	weir_socket_close(sk[3]);
	sk[1] = member_of(s, 100, false, -1);
	map_flows(s, 1, 0, sk, 2, map, count);
	map_flows(s, 0, 0, sk, 2, map, twice);
	assert_memory_equal(count, twice, 2 * sizeof(count[0]));
	assert_true(chi_square(count, 2, FLOWS) < chi_max[1]);
}

static void
a_preference_is_given_and_taken_in_a_group(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS];
	struct weir_socket *sk[3];
	unsigned int count[3];

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 3; i++)
		sk[i] = member_of(s, 100, false, -1);
	for (unsigned int round = 0; round < 3; round++) {
		ut_sock_set(sk[round], WEIR_OPT_LCORE, 1);
		map_flows(s, 1, 2, sk, 3, map, count);
		assert_int_equal(count[round], FLOWS);
		map_flows(s, 0, 2, sk, 3, map, count);
		assert_true(chi_square(count, 3, FLOWS) < chi_max[2]);
		ut_sock_set(sk[round], WEIR_OPT_LCORE, -1);
		map_flows(s, 1, 2, sk, 3, map, count);
		assert_true(chi_square(count, 3, FLOWS) < chi_max[2]);
	}
	assert_int_equal(weir_socket_set(sk[0], WEIR_OPT_LCORE, 2), -EINVAL);
	assert_int_equal(weir_socket_set(sk[0], WEIR_OPT_LCORE, -2), -EINVAL);
}

/* ---- connected members ---- */

static void
a_connected_socket_leaves_its_group(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static int map[FLOWS];
	struct weir_socket *sk[4];
	unsigned int count[4];
	struct weir_key k;

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 4; i++)
		sk[i] = member_of(s, 100, false, -1);
	for (unsigned int who = 0; who < 4; who++) {
		/* Its flow is one that the hash gave to somebody else. */
		uint32_t i = 0;

		do
			k = flow(0, i);
		while (weir_socktab_lookup(s->w[0], &k) == sk[who] && ++i);
		assert_int_equal(ut_sock_connect(sk[who], UT_PEER_IP, (uint16_t)(1024 + i)), 0);
		map_flows(s, 0, 0, sk, 4, map, count);
		assert_int_equal(count[who], 1);
		assert_int_equal(map[i], who);
		for (unsigned int x = 0; x < 4; x++) /* the rest is shared by the other three */
			if (x != who)
				assert_in_range(count[x], FLOWS / 4, FLOWS / 2);
		assert_int_equal(weir_socket_disconnect(sk[who]), 0);
		map_flows(s, 0, 0, sk, 4, map, count);
		assert_true(chi_square(count, 4, FLOWS) < chi_max[3]);
	}
}

/* ---- a selector of the application ---- */

struct selector {
	int answer; /* -100: the first payload byte */
	unsigned int calls, members;
	uint32_t len;
	uint8_t first[64];
};

static int
choose(void *arg, const void *payload, uint32_t len, uint32_t hash, unsigned int n_members)
{
	struct selector *x = arg;

	(void)hash;
	x->calls++;
	x->members = n_members;
	x->len = len;
	memcpy(x->first, payload, len < sizeof(x->first) ? len : sizeof(x->first));
	return x->answer == -100 ? (len > 0 ? *(const uint8_t *)payload : -1) : x->answer;
}

static void
arrive(struct ut_stack *s, uint16_t sport, const void *payload, size_t len)
{
	struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, sport, UT_OUR_IP, 100, payload, len);

	ut_stack_rx(s, 0, &p);
}

static void
a_selector_sees_the_payload_and_chooses(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct selector x = {.answer = -100};
	struct weir_socket *sk[4];
	uint64_t before[4] = {0};
	int by_hash;

	ut_stack_up(s, &cfg);
	sk[0] = ut_sock(s);
	assert_int_equal(weir_socket_select(sk[0], choose, &x), -EINVAL); /* unbound */
	assert_int_equal(ut_sock_bind(sk[0], 0, 99), 0);
	assert_int_equal(weir_socket_select(sk[0], choose, &x), -EINVAL); /* shares with nobody */
	weir_socket_close(sk[0]);
	for (unsigned int i = 0; i < 3; i++)
		sk[i] = member_of(s, 100, false, -1);
	arrive(s, 7, "\0", 1);
	by_hash = ut_sock_who(sk, before, 3);
	assert_int_equal(x.calls, 0);
	assert_int_equal(weir_socket_select(sk[1], choose, &x), 0);
	for (uint8_t i = 0; i < 9; i++) {
		uint8_t id[20] = {i % 3, 1, 2, 3};

		arrive(s, 7, id, sizeof(id));
		assert_int_equal(ut_sock_who(sk, before, 3), i % 3);
		assert_int_equal(x.calls, i + 1u);
		assert_int_equal(x.members, 3);
		assert_int_equal(x.len, sizeof(id));
		assert_memory_equal(x.first, id, sizeof(id));
	}
	/* No answer, or one that is none: the built-in choice. */
	for (unsigned int i = 0; i < 4; i++) {
		static const int none[] = {-1, 3, 1000, INT32_MIN};

		x.answer = none[i];
		arrive(s, 7, "\1", 1);
		assert_int_equal(ut_sock_who(sk, before, 3), by_hash);
	}
	x.answer = -100;
	arrive(s, 7, NULL, 0);
	assert_int_equal(x.len, 0);
	assert_int_equal(ut_sock_who(sk, before, 3), by_hash);
	/* Members in order of binding, also after one has gone and another come. */
	weir_socket_close(sk[0]);
	sk[0] = NULL;
	arrive(s, 7, "\0", 1);
	assert_int_equal(ut_sock_who(sk, before, 3), 1);
	sk[0] = member_of(s, 100, false, -1);
	before[0] = 0;
	arrive(s, 7, "\2", 1);
	assert_int_equal(ut_sock_who(sk, before, 3), 0);
	/* And no selector any more. */
	x.calls = 0;
	assert_int_equal(weir_socket_select(sk[0], NULL, NULL), 0);
	arrive(s, 7, "\2", 1);
	assert_true(ut_sock_who(sk, before, 3) >= 0);
	assert_int_equal(x.calls, 0);
}

/* Payload in another segment, IP options in front, many in a burst beside others. */
static void
a_selector_sees_the_payload_of_every_form(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct selector x = {.answer = -100};
	struct weir_socket *sk[3];
	uint64_t before[3] = {0};
	struct weir_socket *plain;
	struct ut_pkt p;

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 3; i++)
		sk[i] = member_of(s, 100, false, -1);
	plain = ut_sock_bound(s, 0, 200);
	assert_int_equal(weir_socket_select(sk[0], choose, &x), 0);
	p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, "\1abcdefgh", 9);
	memset(p.ip_opt, 1, 4);
	p.ip_opt_len = 4;
	ut_stack_rx(s, 0, &p);
	assert_int_equal(ut_sock_who(sk, before, 3), 1);
	assert_int_equal(x.len, 9);
	/* A chain cut anywhere: as much as the segment with the header has, which may be nothing. */
	for (unsigned int cut = 1; cut < 60; cut++) {
		uint8_t frame[128];
		struct rte_mbuf *a, *b;
		size_t len;

		p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 100, "\1abcdefghijklmnopqrstuvwxyz",
				27);
		len = ut_pkt_bytes(&p, frame, sizeof(frame));
		a = ut_bytes_mbuf(frame, cut, s->pool);
		b = ut_bytes_mbuf(frame + cut, len - cut, s->pool);
		a->next = b;
		a->nb_segs = 2;
		a->pkt_len = (uint32_t)len;
		x.calls = 0;
		ut_stack_rx_mbuf(s, 0, a);
		assert_int_equal(x.calls, 1);
		ut_check(x.len == (cut <= 42 ? 0u : cut - 42), "cut at %u: %u bytes", cut, x.len);
		if (cut > 42)
			assert_int_equal(ut_sock_who(sk, before, 3), 1);
		else
			ut_sock_who(sk, before, 3);
	}
	/* In a burst, each by its own payload, others not disturbed. */
	for (unsigned int i = 0; i < 30; i++) {
		uint8_t id = (uint8_t)(i % 3);

		p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, i % 5 == 4 ? 200 : 100, &id, 1);
		ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	}
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t now = ut_sock_queued(sk[i]);

		assert_int_equal(now - before[i], 8);
	}
	assert_int_equal(ut_sock_queued(plain), 6);
}

/* ---- group addresses ---- */

#define GROUP UT_IP(239, 1, 1, 1)

static int
join(struct weir_socket *sk, uint32_t group, uint32_t source, int port)
{
	struct weir_addr g = weir_addr_v4(group, 0);
	struct weir_addr from = weir_addr_v4(source, 0);

	return weir_socket_join(sk, &g, source != 0 ? &from : NULL, port);
}

static int
leave(struct weir_socket *sk, uint32_t group, uint32_t source, int port)
{
	struct weir_addr g = weir_addr_v4(group, 0);
	struct weir_addr from = weir_addr_v4(source, 0);

	return weir_socket_leave(sk, &g, source != 0 ? &from : NULL, port);
}

/* Which of n sockets get a datagram: one bit each; each at most one, with the right content. */
static unsigned int
who_gets(struct ut_stack *s, struct weir_socket *const *sk, unsigned int n, unsigned int port,
	 uint32_t src, uint16_t sport, uint32_t dst)
{
	static uint32_t number;
	unsigned int bits = 0;

	ut_sock_rx(s, port, src, sport, dst, 100, ++number);
	for (unsigned int i = 0; i < n; i++) {
		struct weir_rxmsg msg[2];
		uint16_t got;

		if (sk[i] == NULL)
			continue;
		got = weir_recv_burst(s->w[0], sk[i], msg, 2);
		if (got == 0)
			continue;
		ut_check(got == 1, "socket %u got it twice", i);
		assert_int_equal(msg[0].len, sizeof(number));
		assert_memory_equal(rte_pktmbuf_mtod(msg[0].m, void *), &number, sizeof(number));
		assert_int_equal(ut_addr_ip(&msg[0].local), dst);
		assert_int_equal(ut_addr_ip(&msg[0].peer), src);
		assert_int_equal(ut_addr_port(&msg[0].peer), sport);
		assert_int_equal(msg[0].port, port);
		assert_int_equal(rte_mbuf_refcnt_read(msg[0].m), 1);
		weir_mbuf_free_bulk(&msg[0].m, 1);
		bits |= 1u << i;
	}
	return bits;
}

static void
a_broadcast_reaches_every_match_once(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[9];

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < UT_N(sk); i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		ut_sock_set(sk[i], WEIR_OPT_REUSEPORT, 1);
		ut_sock_set(sk[i], WEIR_OPT_BROADCAST, 1);
	}
	ut_sock_set(sk[2], WEIR_OPT_BIND_PORT, 0);
	ut_sock_set(sk[3], WEIR_OPT_BIND_PORT, 1);
	for (unsigned int i = 0; i < 4; i++) /* any address: two plain, two on interfaces */
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	assert_int_equal(ut_sock_bind(sk[4], UT_BCAST(0), 100), 0);
	assert_int_equal(ut_sock_bind(sk[5], 0xffffffff, 100), 0);
	assert_int_equal(ut_sock_bind(sk[6], UT_OUR_IP, 100), 0);
	assert_int_equal(ut_sock_bind(sk[7], UT_BCAST(0), 100), 0); /* connected: peers only */
	assert_int_equal(ut_sock_connect(sk[7], UT_PEER_IP, 7), 0);
	assert_int_equal(ut_sock_bind(sk[8], UT_BCAST(0), 100), 0);
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 9, 0, UT_PEER_IP, 7, UT_BCAST(0)), 0x197);
	assert_int_equal(ut_stack_since(s, rx_copies), 5);
	assert_int_equal(ut_stack_since(s, rx_frames), 1);
	assert_int_equal(ut_stack_since(s, rx_delivered), 6);
	assert_int_equal(who_gets(s, sk, 9, 0, UT_HOST(0, 9), 7, UT_BCAST(0)), 0x117);
	assert_int_equal(who_gets(s, sk, 9, 0, UT_PEER_IP, 7, 0xffffffff), 0x27);
	assert_int_equal(who_gets(s, sk, 9, 1, UT_HOST(1, 2), 7, 0xffffffff), 0x2b);
	ut_stack_identity(s, "after copies");
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of them");
	/* Nobody there: dropped, and no message about it. */
	for (unsigned int i = 0; i < 9; i++)
		weir_socket_close(sk[i]);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, UT_BCAST(0), 100, 0);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "nobody");
	assert_int_equal(ut_stack_pending(s, 0), 0);
}

/* Copies of all forms: options in front, chained, empty, as long as a frame can be. */
static void
copies_are_whole(void **state)
{
	static const struct {
		unsigned int len, opt, cut;
	} row[] = {{0, 0, 0},    {1, 0, 0},    {1472, 0, 0},  {100, 8, 0},
		   {100, 0, 20}, {100, 8, 46}, {1000, 40, 85}};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[3];

	cfg.dev.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	cfg.dev.reta_size = 64;
	ut_stack_up(s, &cfg);
	testport_force_rss_hash(s->ethdev[0], true, 0x1234);
	for (unsigned int i = 0; i < 3; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	for (unsigned int r = 0; r < UT_N(row); r++) {
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_BCAST(0), 100, NULL, row[r].len);
		uint8_t frame[2048], buf[2048];
		struct rte_mbuf *m;
		size_t len;

		p.ip_tos = 0xb9;
		p.ip_ttl = 9;
		memset(p.ip_opt, 1, row[r].opt);
		p.ip_opt_len = (uint8_t)row[r].opt;
		len = ut_pkt_bytes(&p, frame, sizeof(frame));
		m = ut_bytes_mbuf(frame, row[r].cut != 0 ? row[r].cut : len, s->pool);
		if (row[r].cut != 0) {
			m->next = ut_bytes_mbuf(frame + row[r].cut, len - row[r].cut, s->pool);
			m->nb_segs = 2;
			m->pkt_len = (uint32_t)len;
		}
		ut_stack_rx_mbuf(s, 0, m);
		for (unsigned int i = 0; i < 3; i++) {
			struct weir_rxmsg msg;

			assert_int_equal(weir_recv_burst(s->w[0], sk[i], &msg, 1), 1);
			assert_int_equal(msg.len, row[r].len);
			assert_int_equal(msg.tos, 0xb9);
			assert_int_equal(msg.ttl, 9);
			ut_check(msg.hash == 0x1234, "row %u, copy %u: hash %#x", r, i, msg.hash);
			assert_int_equal(ut_mbuf_bytes(msg.m, buf, sizeof(buf)), row[r].len);
			for (unsigned int b = 0; b < row[r].len; b++)
				ut_check(buf[b] == ut_pattern(b), "row %u, copy %u, byte %u", r, i,
					 b);
			weir_mbuf_free_bulk(&msg.m, 1);
		}
	}
}

static void
a_multicast_reaches_who_has_joined(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[5];

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < UT_N(sk); i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], i < 3 ? 0 : GROUP + (i == 4), 100), 0);
	}
	/* Nobody has joined. */
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "not joined");
	/* One has: all that are bound so hear it (as on Linux), by that port only. */
	assert_int_equal(join(sk[0], GROUP, 0, 0), 0);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0xf);
	assert_int_equal(ut_stack_since(s, rx_copies), 3);
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 5, 1, UT_HOST(1, 2), 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "not joined there");
	/* But for those that want their own groups only. */
	ut_sock_set(sk[1], WEIR_OPT_MCAST_ALL, 0);
	ut_sock_set(sk[3], WEIR_OPT_MCAST_ALL, 0);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0x5);
	assert_int_equal(join(sk[1], GROUP, 0, 0), 0);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0x7);
	/* The second member keeps the group when the first leaves. */
	assert_int_equal(leave(sk[0], GROUP, 0, 0), 0);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0x7);
	assert_int_equal(join(sk[1], GROUP, 0, 1), 0);
	assert_int_equal(who_gets(s, sk, 5, 1, UT_HOST(1, 2), 7, GROUP), 0x7);
	assert_int_equal(leave(sk[1], GROUP, 0, 0), 0);
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 5, 0, UT_PEER_IP, 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "left there");
	/* Closing leaves. */
	weir_socket_close(sk[1]);
	sk[1] = NULL;
	assert_int_equal(who_gets(s, sk, 5, 1, UT_HOST(1, 2), 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "closed");
	/* A unicast that comes in a group's MAC is for one, and no port unreachable is sent. */
	{
		struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_OUR_IP, 101, NULL, 4);

		memcpy(p.eth_dst, "\x01\x00\x5e\x01\x01\x01", 6);
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "unicast in a group MAC");
		assert_int_equal(ut_stack_pending(s, 0), 0);
	}
}

static void
a_membership_may_name_its_sources(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[2];

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 2; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	ut_sock_set(sk[1], WEIR_OPT_MCAST_ALL, 0);
	assert_int_equal(join(sk[0], GROUP, UT_PEER_IP, 0), 0);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_PEER_IP, 7, GROUP), 1);
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 3), 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_NO_SOCKET, 1, "another source");
	assert_int_equal(join(sk[0], GROUP, UT_HOST(0, 3), 0), 0);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 3), 7, GROUP), 1);
	assert_int_equal(join(sk[1], GROUP, 0, 0), 0);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 4), 7, GROUP), 2);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 3), 7, GROUP), 3);
	assert_int_equal(leave(sk[0], GROUP, UT_HOST(0, 3), 0), 0);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 3), 7, GROUP), 2);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_PEER_IP, 7, GROUP), 3);
	/* What cannot be. */
	assert_int_equal(join(sk[0], GROUP, UT_PEER_IP, 0), -EADDRNOTAVAIL); /* twice, as Linux */
	assert_int_equal(join(sk[0], GROUP, 0, 0), -EADDRINUSE);             /* some and all */
	assert_int_equal(leave(sk[0], GROUP, UT_HOST(0, 3), 0), -EADDRNOTAVAIL);
	assert_int_equal(leave(sk[1], GROUP, UT_PEER_IP, 0), -EADDRNOTAVAIL);
	/* Leaving the group leaves it with all its sources. */
	assert_int_equal(join(sk[0], GROUP, UT_HOST(0, 5), 0), 0);
	assert_int_equal(leave(sk[0], GROUP, 0, 0), 0);
	assert_int_equal(leave(sk[0], GROUP, 0, 0), -EADDRNOTAVAIL);
	assert_int_equal(leave(sk[1], GROUP, 0, 0), 0);
	ut_stack_mark(s);
	assert_int_equal(who_gets(s, sk, 2, 0, UT_HOST(0, 5), 7, GROUP), 0);
	ut_stack_only_drop(s, WEIR_DROP_IP_MCAST, 1, "all have left");
}

static void
memberships_are_limited_and_checked(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr zero = weir_addr_v4(0, 0);
	struct weir_addr g = weir_addr_v4(GROUP, 0);
	struct weir_socket *sk;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	sk = ut_sock_bound(s, 0, 100);
	assert_int_equal(join(sk, UT_OUR_IP, 0, 0), -EINVAL);
	assert_int_equal(join(sk, 0xffffffff, 0, 0), -EINVAL);
	g.family = WEIR_IPV6;
	assert_int_equal(weir_socket_join(sk, &g, NULL, 0), -EINVAL);
	assert_int_equal(join(sk, GROUP, 0, 2), -ENODEV);
	assert_int_equal(join(sk, GROUP, 0, 99), -ENODEV);
	assert_int_equal(join(sk, GROUP, 0, -2), -ENODEV);
	assert_int_equal(join(sk, GROUP, 0, -1), -ENODEV); /* no route says where */
	assert_int_equal(leave(sk, GROUP, 0, 0), -EADDRNOTAVAIL);
	g = weir_addr_v4(UT_HOST(1, 9), 0);
	assert_int_equal(weir_route_add(s->stack, &zero, 0, &g, 1, NULL), 0);
	assert_int_equal(join(sk, GROUP, 0, -1), 0);
	assert_int_equal(join(sk, GROUP, 0, 1), -EADDRINUSE); /* that is where */
	assert_int_equal(join(sk, GROUP, 0, 0), 0);
	for (uint32_t i = 2; i < WEIR_MAX_GROUPS; i++)
		assert_int_equal(join(sk, GROUP + i, 0, 0), 0);
	assert_int_equal(join(sk, GROUP + 100, 0, 0), -ENOBUFS);
	assert_int_equal(leave(sk, GROUP + 5, 0, -1), -EADDRNOTAVAIL); /* joined elsewhere */
	assert_int_equal(leave(sk, GROUP + 5, 0, 0), 0);
	assert_int_equal(join(sk, GROUP + 100, 0, 0), 0);
	ut_sock_rx(s, 0, UT_PEER_IP, 7, GROUP + 100, 100, 1);
	ut_sock_must_read(s, sk, 1, "the last");
	ut_sock_rx(s, 0, UT_PEER_IP, 7, GROUP + 5, 100, 2);
	ut_sock_must_be_empty(s, sk, "the one that was left");
}

/* What is sent to a group: TTL 1, the group's MAC, and back to those who have joined here. */
static void
a_sent_multicast_comes_back_when_asked_for(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(GROUP, 100);
	struct weir_socket *tx, *rx, *elsewhere;
	struct ut_frame f;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	tx = ut_sock_bound(s, 0, 200);
	rx = ut_sock(s);
	ut_sock_set(rx, WEIR_OPT_REUSEADDR, 1);
	ut_sock_set(rx, WEIR_OPT_MCAST_ALL, 0);
	assert_int_equal(ut_sock_bind(rx, 0, 100), 0);
	elsewhere = ut_sock(s);
	ut_sock_set(elsewhere, WEIR_OPT_REUSEADDR, 1);
	ut_sock_set(elsewhere, WEIR_OPT_MCAST_ALL, 0);
	assert_int_equal(ut_sock_bind(elsewhere, 0, 100), 0);
	assert_int_equal(join(rx, GROUP, 0, 1), 0);
	assert_int_equal(join(elsewhere, GROUP, 0, 0), 0);
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), -ENETUNREACH); /* by which port? */
	ut_sock_set(tx, WEIR_OPT_MCAST_PORT, 1);
	for (unsigned int loop = 0; loop < 2; loop++) {
		struct weir_rxmsg msg;

		ut_sock_set(tx, WEIR_OPT_MCAST_LOOP, loop);
		ut_stack_mark(s);
		assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
		ut_stack_poll(s);
		ut_stack_must_take(s, 1, &f);
		assert_memory_equal(f.b, "\x01\x00\x5e\x01\x01\x01", 6);
		assert_int_equal(f.b[22], 1); /* TTL */
		assert_int_equal(ut_get32(f.b + 26), UT_OUR(1));
		assert_int_equal(ut_get32(f.b + 30), GROUP);
		assert_false(ut_stack_take(s, 0, &f));
		assert_int_equal(ut_stack_since(s, tx_copies), loop);
		assert_int_equal(weir_recv_burst(s->w[0], rx, &msg, 1), loop);
		if (loop != 0) { /* as if it had come in where it went out */
			assert_int_equal(msg.len, 3);
			assert_memory_equal(rte_pktmbuf_mtod(msg.m, void *), "abc", 3);
			assert_int_equal(ut_addr_ip(&msg.peer), UT_OUR(1));
			assert_int_equal(ut_addr_port(&msg.peer), 200);
			assert_int_equal(ut_addr_ip(&msg.local), GROUP);
			assert_int_equal(msg.ttl, 1);
			assert_int_equal(msg.port, 1);
			weir_mbuf_free_bulk(&msg.m, 1);
		}
		ut_sock_must_be_empty(s, elsewhere, "joined on another port");
		ut_stack_identity(s, "after a loop");
	}
	/* TTL: its own option, 0 stays on this host. */
	ut_sock_set(tx, WEIR_OPT_TTL, 99);
	ut_sock_set(tx, WEIR_OPT_MCAST_TTL, 7);
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
	ut_stack_poll(s);
	ut_stack_must_take(s, 1, &f);
	assert_int_equal(f.b[22], 7);
	assert_int_equal(ut_csum(f.b + 14, 20, 0), 0);
	ut_sock_drain(s, rx);
	ut_sock_set(tx, WEIR_OPT_MCAST_TTL, 0);
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
	ut_stack_poll(s);
	assert_false(ut_stack_take(s, 1, &f));
	assert_int_equal(ut_sock_drain(s, rx), 1);
	/* A port by control message; a connected socket; nobody here. */
	{
		struct weir_txctl ctl = {.port = 1};
		struct iovec iov = {(void *)(uintptr_t) "abc", 3};

		ut_sock_set(tx, WEIR_OPT_MCAST_PORT, -1);
		ut_sock_set(tx, WEIR_OPT_MCAST_TTL, 1);
		assert_int_equal(weir_send_iov(s->w[0], tx, &iov, 1, &to, &ctl), 3);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(ut_get32(f.b + 26), UT_OUR(0));
		assert_int_equal(ut_sock_drain(s, elsewhere), 1);
		ut_sock_must_be_empty(s, rx, "joined on the other port");
	}
	ut_sock_set(tx, WEIR_OPT_MCAST_PORT, 1);
	assert_int_equal(ut_sock_connect(tx, GROUP, 100), 0);
	ut_sock_must_be(tx, UT_OUR(1), 200, "connected to a group");
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, NULL), 3);
	ut_stack_poll(s);
	ut_stack_must_take(s, 1, &f);
	assert_int_equal(ut_sock_drain(s, rx), 1);
}

/* A broadcast is heard here too; limited broadcasts leave by the port that was asked for. */
static void
a_sent_broadcast_comes_back(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to;
	struct weir_socket *tx, *rx;
	struct ut_frame f;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	tx = ut_sock_bound(s, 0, 200);
	rx = ut_sock_bound(s, 0, 100);
	to = weir_addr_v4(UT_BCAST(1), 100);
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), -EACCES);
	ut_sock_set(tx, WEIR_OPT_BROADCAST, 1);
	to = weir_addr_v4(0xffffffff, 100);
	assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), -ENETUNREACH); /* by which? */
	for (unsigned int i = 0; i < 3; i++) {
		struct weir_rxmsg msg;

		to = weir_addr_v4(i == 0 ? UT_BCAST(1) : 0xffffffff, 100);
		if (i == 1) { /* by the port of the source */
			weir_socket_close(tx);
			tx = ut_sock_bound(s, UT_OUR_IP, 200);
			ut_sock_set(tx, WEIR_OPT_BROADCAST, 1);
		} else if (i == 2) {
			weir_socket_close(tx);
			tx = ut_sock_bound(s, 0, 200);
			ut_sock_set(tx, WEIR_OPT_BROADCAST, 1);
			ut_sock_set(tx, WEIR_OPT_BIND_PORT, 1);
		}
		assert_int_equal(weir_send(s->w[0], tx, "abc", 3, &to), 3);
		ut_stack_poll(s);
		ut_stack_must_take(s, i == 1 ? 0 : 1, &f);
		assert_memory_equal(f.b, UT_BROADCAST_MAC, 6);
		assert_int_equal(ut_get32(f.b + 26), UT_OUR(i == 1 ? 0 : 1));
		assert_int_equal(weir_recv_burst(s->w[0], rx, &msg, 1), 1);
		assert_int_equal(msg.port, i == 1 ? 0 : 1);
		weir_mbuf_free_bulk(&msg.m, 1);
	}
}

/* Out of buffers for copies: counted, and the identity holds. */
static void
copies_without_memory_are_counted(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[3];
	struct rte_mbuf *hoard[64];
	struct weir_socket_stats st;
	struct ut_pkt p = ut_sock_pkt(0, UT_PEER_IP, 7, UT_BCAST(0), 100, "x", 1);
	uint64_t full = 0;
	unsigned int n = 0;

	ut_stack_up(s, &cfg);
	for (unsigned int i = 0; i < 3; i++) {
		sk[i] = ut_sock(s);
		ut_sock_set(sk[i], WEIR_OPT_REUSEADDR, 1);
		assert_int_equal(ut_sock_bind(sk[i], 0, 100), 0);
	}
	/* All buffers out but the reserve. */
	struct rte_mbuf **all = calloc(rte_mempool_avail_count(s->stack->pool), sizeof(*all));

	assert_non_null(all);
	while (weir_mbuf_alloc_bulk(s->w[0], hoard, 1) == 0)
		all[n++] = hoard[0];
	ut_stack_mark(s);
	ut_stack_rx(s, 0, &p);
	assert_int_equal(ut_stack_since(s, rx_copies), 2);
	ut_stack_only_drop(s, WEIR_DROP_MEM_LIMIT, 3, "no buffers");
	for (unsigned int i = 0; i < 3; i++) {
		weir_socket_stats_get(sk[i], &st);
		assert_int_equal(st.queued, 0);
		full += st.mem_limit;
	}
	assert_int_equal(full, 3);
	weir_mbuf_free_bulk(all, n);
	free(all);
	/* A copy that a full socket refuses is its drop, and the others have theirs. */
	ut_sock_set(sk[1], WEIR_OPT_RCVBUF, 1);
	ut_stack_rx(s, 0, &p);
	ut_stack_mark(s);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_RCVQ_FULL, 1, "one is full");
	assert_int_equal(ut_sock_drain(s, sk[0]), 2);
	assert_int_equal(ut_sock_drain(s, sk[1]), 1);
	assert_int_equal(ut_sock_drain(s, sk[2]), 2);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(a_group_shares_flows_evenly),
		UT_STACK_TEST(what_arrives_is_shared_like_what_is_looked_up),
		UT_STACK_TEST(closing_a_stable_member_moves_its_flows_only),
		UT_STACK_TEST(one_member_that_is_not_stable_decides),
		UT_STACK_TEST(a_group_without_memory_forgets_the_closed),
		UT_STACK_TEST(a_member_of_the_same_lcore_comes_first),
		UT_STACK_TEST(a_preference_is_given_and_taken_in_a_group),
		UT_STACK_TEST(a_connected_socket_leaves_its_group),
		UT_STACK_TEST(a_selector_sees_the_payload_and_chooses),
		UT_STACK_TEST(a_selector_sees_the_payload_of_every_form),
		UT_STACK_TEST(a_broadcast_reaches_every_match_once),
		UT_STACK_TEST(copies_are_whole),
		UT_STACK_TEST(a_multicast_reaches_who_has_joined),
		UT_STACK_TEST(a_membership_may_name_its_sources),
		UT_STACK_TEST(memberships_are_limited_and_checked),
		UT_STACK_TEST(a_sent_multicast_comes_back_when_asked_for),
		UT_STACK_TEST(a_sent_broadcast_comes_back),
		UT_STACK_TEST(copies_without_memory_are_counted),
	};

	return UT_RUN(cases, NULL, NULL);
}
