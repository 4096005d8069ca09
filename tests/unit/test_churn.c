/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a network can do to a host that goes on talking to somebody: routes that change a thousand times a second,
 * destinations at random, forged path MTU messages, floods of ARP and ND. In each case an established flow must
 * not lose a datagram, and the memory in use must be what it was before. Prints a table.
 *
 * Time is the test's: rates are exact whatever the machine. WEIR_CHURN multiplies the length of the runs (1).
 */
#include <stdlib.h>

#include <rte_malloc.h>

#include "common/ut_clock.h"
#include "common/ut_ndp.h"
#include "common/ut_sock.h"

#include "lcore.h"

#define MS      UINT64_C(1000000)
#define WORKERS 2
#define GATEWAY UT_IP(10, 0, 0, 254)
#define PAYLOAD 18

static const uint8_t gateway_mac[6] = {0x02, 0, 0, 0, 0, 0xfe};

static unsigned int
length(void)
{
	const char *text = getenv("WEIR_CHURN");
	const int n = text != NULL ? atoi(text) : 1;

	return n >= 1 ? (unsigned int)n : 1;
}

/* Bytes that DPDK's heap has given out, all sockets. */
static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats st;
	size_t sum = 0;

	for (int i = 0; i < 8; i++)
		if (rte_malloc_get_socket_stats(i, &st) == 0)
			sum += st.heap_allocsz_bytes;
	return sum;
}

/* The established flows: one of each worker and family, of IPv4 to a neighbour that was learned. */
struct flows {
	struct ut_stack *s;
	struct weir_socket *sk[WORKERS][2];
	struct weir_addr to[2];
	uint64_t sent, left;
	size_t heap0;
};

static void
flows_up(struct flows *f, struct ut_stack *s, struct ut_stack_cfg *cfg)
{
	const struct weir_addr gw = weir_addr_v4(GATEWAY, 0);
	const struct weir_addr any = weir_addr_v4(0, 0);

	*f = (struct flows){.s = s};
	cfg->stack.workers = WORKERS;
	cfg->ip6 = true;
	ut_stack_up(s, cfg);
	assert_int_equal(weir_neigh_add(s->stack, 0, &gw, gateway_mac, NULL), 0);
	assert_int_equal(weir_route_add(s->stack, &any, 0, &gw, 0, NULL), 0);
	ut_stack_peer6(s);
	f->to[0] = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	f->to[1] = ut_addr6(UT_PEER_IP6, UT_PEER_PORT);
	for (unsigned int w = 0; w < WORKERS; w++) {
		f->sk[w][0] = ut_stack_socket(s, 0);
		f->sk[w][1] = ut_stack_socket6(s, 0);
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(weir_socket_connect(f->sk[w][i], &f->to[i]), 0);
	}
	/* The first datagram asks, and is held. */
	assert_int_equal(weir_send(s->w[0], f->sk[0][0], "x", 1, NULL), 1);
	ut_stack_poll(s);
	ut_stack_arp_reply(s, 0, UT_PEER_IP, UT_PEER_MAC);
	f->sent = 1;
}

/* Frames of the flows among what has left. The peer answers when it is asked for. */
static void
collect(struct flows *f)
{
	struct ut_frame frame;
	bool asked = false;

	while (ut_stack_take(f->s, 0, &frame)) {
		const uint8_t *ip = frame.b + 14;

		asked |= ut_frame_is_ask(&frame, UT_PEER_IP);
		if (ut_get16(frame.b + 12) == 0x0800 && ip[9] == 17 &&
		    ut_get32(ip + 16) == UT_PEER_IP)
			f->left++;
		else if (ut_get16(frame.b + 12) == 0x86dd && ip[6] == 17 &&
			 memcmp(ip + 24, f->to[1].ip.b, 16) == 0)
			f->left++;
	}
	if (asked)
		ut_stack_arp_reply(f->s, 0, UT_PEER_IP, UT_PEER_MAC);
}

/* n datagrams of each flow; then everything moves. */
static void
talk(struct flows *f, unsigned int n)
{
	static const uint8_t payload[PAYLOAD];

	for (unsigned int w = 0; w < WORKERS; w++)
		for (unsigned int i = 0; i < 2; i++)
			for (unsigned int k = 0; k < n; k++) {
				assert_int_equal(weir_send(f->s->w[w], f->sk[w][i], payload,
							   sizeof(payload), NULL),
						 PAYLOAD);
				f->sent++;
			}
	ut_stack_poll(f->s);
	collect(f);
}

/* From here on memory is not to grow. */
static void
begin(struct flows *f)
{
	talk(f, 8);
	ut_stack_pass(f->s, 200 * MS, 50 * MS);
	collect(f);
	f->heap0 = heap_bytes();
}

static void
row(struct flows *f, const char *what, const char *rate, uint64_t offered)
{
	size_t heap;

	ut_stack_pass(f->s, 200 * MS, 50 * MS); /* replaced objects go */
	collect(f);
	heap = heap_bytes();
	printf("# %-44s %-10s %9" PRIu64 " offered; flow: %7" PRIu64 " sent, %" PRIu64
	       " lost; heap %zu -> %zu kB\n",
	       what, rate, offered, f->sent, f->sent - f->left, f->heap0 / 1024, heap / 1024);
	assert_int_equal(f->left, f->sent);
	assert_true(heap <= f->heap0 + 4096);
}

/* ---- routes ---- */

static void
routes_change_a_thousand_times_a_second(void **state)
{
	const unsigned int n = 2000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const struct weir_addr gw = weir_addr_v4(GATEWAY, 0);
	const struct weir_addr gw6 = ut_addr6(UT_PEER_IP6, 0);
	struct flows f;
	uint64_t drops = 0;

	flows_up(&f, *state, &cfg);
	begin(&f);
	ut_stack_mark(f.s);
	for (unsigned int i = 0; i < n; i++) {
		/* Added in one step, taken away four steps later. */
		struct weir_addr p4 =
			weir_addr_v4(UT_IP(11, 0, 0, 0) + ((i * 2654435761u) & 0xffff00), 0);
		struct weir_addr p6 = ut_addr6("\xfd\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 0);
		const unsigned int k = i / 8;

		p4 = weir_addr_v4(UT_IP(11, 0, 0, 0) + ((k * 2654435761u) & 0xffff00), 0);
		ut_put32(p6.ip.b + 4, k * 2654435761u);
		switch (i % 8) {
		case 0:
			assert_int_equal(weir_route_add(f.s->stack, &p4, 24, &gw, 0, NULL), 0);
			break;
		case 1:
			assert_int_equal(weir_route_add(f.s->stack, &p6, 64, &gw6, 0, NULL), 0);
			break;
		case 4:
			assert_int_equal(weir_route_del(f.s->stack, &p4, 24, NULL), 0);
			break;
		case 5:
			assert_int_equal(weir_route_del(f.s->stack, &p6, 64, NULL), 0);
			break;
		default: /* a neighbour comes or goes */
			if (i % 8 == 2)
				assert_int_equal(
					weir_neigh_add(f.s->stack, 0, &p4, gateway_mac, NULL), 0);
			else if (i % 8 == 3)
				assert_int_equal(weir_neigh_del(f.s->stack, 0, &p4, NULL), 0);
		}
		ut_clock_advance(MS);
		talk(&f, 4);
	}
	for (unsigned int d = 0; d < WEIR_DROP_N; d++)
		drops += ut_stack_diff(f.s, offsetof(struct weir_stats, drops) + d * 8);
	assert_int_equal(drops, 0);
	row(&f, "routes and neighbours added and removed", "1 kHz", n);
}

/* ---- destinations ---- */

static void
destinations_at_random(void **state)
{
	const unsigned int n = 100000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	static const uint8_t payload[PAYLOAD];
	struct weir_socket *sk;
	struct flows f;
	uint64_t x = 88172645463325252u;

	flows_up(&f, *state, &cfg);
	sk = ut_stack_socket(f.s, 0);
	begin(&f);
	for (unsigned int i = 0; i < n; i++) {
		struct weir_addr to;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		to = weir_addr_v4(UT_IP(20, 0, 0, 0) + (uint32_t)(x >> 40), 9);
		assert_int_equal(weir_send(f.s->w[i % WORKERS], sk, payload, sizeof(payload), &to),
				 PAYLOAD);
		if (i % 32 == 31) {
			ut_clock_advance(MS / 4);
			talk(&f, 1);
		}
	}
	row(&f, "random destinations by a gateway", "128 kpps", n);
}

/* On the link, and nobody has them: each wants a neighbour entry and holds a datagram. */
static void
destinations_that_nobody_has(void **state)
{
	const unsigned int n = 60000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const struct weir_addr wide = weir_addr_v4(UT_IP(30, 0, 0, 1), 0);
	static const uint8_t payload[PAYLOAD];
	struct weir_socket *sk;
	struct flows f;

	flows_up(&f, *state, &cfg);
	assert_int_equal(weir_addr_add(f.s->stack, 0, &wide, 8, NULL), 0);
	sk = ut_stack_socket(f.s, 0);
	begin(&f);
	for (unsigned int i = 0; i < n; i++) {
		const struct weir_addr to = weir_addr_v4(UT_IP(30, 0, 0, 2) + i * 131, 9);
		const ssize_t ret =
			weir_send(f.s->w[i % WORKERS], sk, payload, sizeof(payload), &to);

		/* Held; or no place left to hold it; or the answer about an earlier one. */
		assert_true(ret == PAYLOAD || ret == -ENOBUFS || ret == -EAGAIN ||
			    ret == -EHOSTUNREACH);
		if (i % 32 == 31) {
			ut_clock_advance(MS / 3);
			talk(&f, 1);
		}
	}
	row(&f, "destinations on the link that nobody has", "96 kpps", n);
}

/* ---- forged messages ---- */

static void
forged_path_mtus(void **state)
{
	const unsigned int n = 100000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr name;
	struct flows f;
	uint8_t quote[28];

	flows_up(&f, *state, &cfg);
	weir_socket_local(f.sk[0][0], &name);
	begin(&f);
	for (unsigned int i = 0; i < n; i++) {
		struct ut_pkt orig = ut_pkt_udp();
		struct ut_pkt p;
		uint8_t frame[128];

		/* About the flow itself (the attacker knows all of it), or about what was never sent. */
		orig.ip_src = UT_OUR_IP;
		orig.ip_dst = i % 4 == 0 ? UT_PEER_IP : UT_IP(40, 0, 0, 0) + i;
		orig.udp_sport = i % 4 == 0 ? ut_get16((const uint8_t *)&name.port)
					    : (uint16_t)(1024 + i % 60000);
		orig.udp_dport = UT_PEER_PORT;
		ut_pkt_bytes(&orig, frame, sizeof(frame));
		memcpy(quote, frame + 14, sizeof(quote));
		p = ut_pkt_icmp_error(3, 4, quote, sizeof(quote));
		p.ip_src = UT_IP(50, 0, 0, 0) + i;
		p.icmp_seq = (uint16_t)(i % 1500);
		ut_stack_rx(f.s, 0, &p);
		if (i % 100 == 99) {
			ut_clock_advance(MS);
			(void)weir_socket_error(f.sk[0][0]);
			talk(&f, 1);
		}
	}
	row(&f, "forged \"fragmentation needed\"", "100 kpps", n);
}

static void
floods_of_arp(void **state)
{
	const unsigned int n = 100000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct flows f;

	flows_up(&f, *state, &cfg);
	begin(&f);
	for (unsigned int i = 0; i < n; i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		/* Everybody on the link asks for us, or claims to be somebody. */
		p.arp_spa = UT_IP(10, 0, 0, 0) + 3 + i % 250;
		ut_put32(p.arp_sha + 2, i);
		memcpy(p.eth_src, p.arp_sha, sizeof(p.eth_src));
		if (i % 2 == 1)
			p.arp_op = 2;
		ut_stack_rx(f.s, 0, &p);
		if (i % 100 == 99) {
			ut_clock_advance(MS);
			talk(&f, 1);
		}
	}
	row(&f, "ARP requests and replies of others", "100 kpps", n);
}

static void
floods_of_nd(void **state)
{
	const unsigned int n = 100000 * length();
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct flows f;

	flows_up(&f, *state, &cfg);
	begin(&f);
	for (unsigned int i = 0; i < n; i++) {
		uint8_t who[16] = {0xfd, [8] = 1}, mac[6] = {2, 1};
		struct ut_nd nd;

		ut_put32(who + 12, i);
		ut_put32(mac + 2, i);
		if (i % 2 == 0)
			ut_nd_ns(&nd, who, mac, UT_OUR_IP6);
		else
			ut_nd_na(&nd, who, mac, UT_OUR_IP6, 0x6000);
		ut_nd_rx(f.s, 0, &nd);
		if (i % 100 == 99) {
			ut_clock_advance(MS);
			talk(&f, 1);
		}
	}
	row(&f, "neighbour solicitations and advertisements", "100 kpps", n);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(routes_change_a_thousand_times_a_second),
		UT_STACK_TEST(destinations_at_random),
		UT_STACK_TEST(destinations_that_nobody_has),
		UT_STACK_TEST(forged_path_mtus),
		UT_STACK_TEST(floods_of_arp),
		UT_STACK_TEST(floods_of_nd),
	};

	return UT_RUN(cases, NULL, NULL);
}
