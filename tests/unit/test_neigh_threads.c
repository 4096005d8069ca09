/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table, held datagrams and claims to addresses under two workers and control at once: many more
 * neighbours than places, so that entries are made, resolved, aged, pushed out and used again all the time.
 * Nothing may be lost or sent twice (the fixture's sums), no datagram may go to another neighbour's MAC.
 * Under the thread sanitizer as well.
 */
#include "common/ut_stack.h"

#include <sched.h>

#include <rte_launch.h>

#include "common/ut_clock.h"
#include "common/ut_ndp.h"
#include "neigh.h"

#define PEERS 48
#define TURNS 6000
#define MS    WEIR_NS_PER_MS

static struct worker {
	struct weir_stack *stack;
	struct rte_mempool *pool;
	struct weir_socket *sk4, *sk6;
	struct ut_rng rng;
	unsigned int index;
	bool launched;
	_Atomic uint64_t turns;
	uint64_t sent;
	atomic_bool stop, done;
} workers[2];

static uint32_t
peer4(unsigned int i)
{
	return UT_IP(10, 0, 0, 50 + i);
}

static void
peer6(unsigned int i, uint8_t ip[16])
{
	memcpy(ip, UT_PEER_IP6, 16);
	ip[15] = (uint8_t)(50 + i);
}

/* Every peer has its own MAC, which never changes. */
static void
mac_of(unsigned int i, bool v6, uint8_t mac[6])
{
	memcpy(mac, "\x02\x00\x00\x00\x00\x00", 6);
	mac[4] = v6 ? 6 : 4;
	mac[5] = (uint8_t)(50 + i);
}

static void
send_to(struct worker *w, struct weir_lcore *lc, unsigned int i, bool v6)
{
	struct weir_addr to = weir_addr_v4(peer4(i), UT_PEER_PORT);
	uint8_t ip[16];

	if (v6) {
		peer6(i, ip);
		to = ut_addr6(ip, UT_PEER_PORT);
	}
	w->sent += weir_send(lc, v6 ? w->sk6 : w->sk4, "x", 1, &to) == 1;
}

/* Something that peer i says. */
static void
hear(struct worker *w, struct weir_lcore *lc, unsigned int i, bool v6, uint32_t what)
{
	struct ut_pkt arp = what % 2 == 0 ? ut_pkt_arp_reply() : ut_pkt_arp_request();
	struct ut_nd nd;
	struct rte_mbuf *m;
	uint8_t ip[16], mac[6];

	mac_of(i, v6, mac);
	if (v6) {
		peer6(i, ip);
		if (what % 2 == 0)
			ut_nd_na(&nd, ip, mac, UT_OUR_IP6, UT_NA_S | UT_NA_O);
		else
			ut_nd_ns(&nd, ip, mac, UT_OUR_IP6);
		nd.p.payload = nd.body;
		nd.p.payload_len = nd.len;
		m = ut_pkt_mbuf(&nd.p, w->pool);
	} else {
		arp.arp_spa = peer4(i);
		memcpy(arp.arp_sha, mac, 6);
		memcpy(arp.eth_src, mac, 6);
		m = ut_pkt_mbuf(&arp, w->pool);
	}
	/* As the port would have it. */
	m->port = 0;
	weir_input(lc, 0, &m, 1);
}

static int
run(void *arg)
{
	struct worker *w = arg;
	struct weir_lcore *lc;

	if (weir_worker_attach(w->stack, w->index, &lc) != 0)
		return -1;
	while (!atomic_load(&w->stop)) {
		const unsigned int i = ut_rand_below(&w->rng, PEERS);
		const uint32_t what = ut_rand_below(&w->rng, 12);
		const bool v6 = ut_rand_below(&w->rng, 2) == 1;

		if (what < 6)
			send_to(w, lc, i, v6);
		else if (what < 10)
			hear(w, lc, i, v6, what);
		weir_turn(lc);
		atomic_fetch_add(&w->turns, 1);
	}
	weir_lcore_detach(lc);
	atomic_store(&w->done, true);
	return 0;
}

/* Frames that left: a datagram goes to the MAC of its own destination. */
static void
collect(struct ut_stack *s)
{
	static struct ut_frame f;

	while (ut_stack_take(s, 0, &f)) {
		const uint16_t type = ut_get16(f.b + 12);
		const bool udp4 = type == 0x0800 && f.b[23] == 17;
		const bool udp6 = type == 0x86dd && f.b[20] == 17;

		if (udp4)
			ut_check(f.b[4] == 4 && f.b[5] == f.b[33], "to %u at %02x:%02x", f.b[33],
				 f.b[4], f.b[5]);
		if (udp6)
			ut_check(f.b[4] == 6 && f.b[5] == f.b[53], "to %u at %02x:%02x", f.b[53],
				 f.b[4], f.b[5]);
	}
}

/* Control's part: fixed neighbours, addresses that come and go, the link. */
static void
meddle(struct ut_stack *s, struct ut_rng *rng)
{
	const unsigned int i = ut_rand_below(rng, PEERS);
	const bool v6 = ut_rand_below(rng, 2) == 1;
	struct weir_addr a = weir_addr_v4(peer4(i), 0);
	struct weir_addr own = weir_addr_v4(UT_IP(10, 0, 0, 40), 0);
	uint8_t ip[16], mac[6];

	mac_of(i, v6, mac);
	if (v6) {
		peer6(i, ip);
		a = ut_addr6(ip, 0);
		memcpy(ip, UT_OUR_IP6, 16);
		ip[15] = 40;
		own = ut_addr6(ip, 0);
	}
	switch (ut_rand_below(rng, 8)) {
	case 0:
		(void)weir_neigh_add(s->stack, 0, &a, mac, NULL);
		break;
	case 1:
	case 2:
		(void)weir_neigh_del(s->stack, 0, &a, NULL);
		break;
	case 3:
		(void)weir_addr_add(s->stack, 0, &own, v6 ? 64 : 24, NULL);
		break;
	case 4:
		(void)weir_addr_del(s->stack, 0, &own, NULL);
		break;
	default:
		(void)weir_neigh_state(s->stack, 0, &a, mac);
	}
}

static void
neighbours_come_and_go_under_two_workers(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();
	struct weir_stats st;
	uint64_t turns;

	cfg.stack.workers = 2;
	cfg.stack.max_neigh = 32;
	cfg.stack.hold = 4;
	cfg.stack.icmp_rate = 0;
	cfg.port.dad = 1;
	cfg.port.tx_desc = 1024;
	cfg.dev.desc_max = 1024;
	cfg.ip6 = true;
	cfg.no_attach = true;
	ut_stack_up(s, &cfg);
	ut_clock_advance(3 * WEIR_NS_PER_S);
	for (unsigned int i = 0; i < 2; i++) {
		struct worker *w = &workers[i];

		w->stack = s->stack;
		w->pool = s->pool;
		w->index = i;
		w->rng.state = ut_rand(&rng);
		w->sk4 = ut_stack_socket(s, (uint16_t)(9000 + i));
		w->sk6 = ut_stack_socket6(s, (uint16_t)(9100 + i));
		atomic_store(&w->stop, false);
		assert_int_equal(rte_eal_remote_launch(run, w, i + 1), 0);
		w->launched = true;
	}
	do {
		ut_clock_advance(ut_rand_below(&rng, 20) * MS);
		meddle(s, &rng);
		collect(s);
		sched_yield();
		turns = RTE_MIN(atomic_load(&workers[0].turns), atomic_load(&workers[1].turns));
	} while (turns < TURNS);
	for (unsigned int i = 0; i < 2; i++)
		atomic_store(&workers[i].stop, true);
	for (unsigned int i = 0; i < 2; i++) {
		rte_eal_wait_lcore(i + 1);
		assert_true(atomic_load(&workers[i].done));
		workers[i].launched = false;
	}
	collect(s);
	weir_stats_get(s->stack, &st);
	printf("# %" PRIu64 " datagrams sent; dropped: %" PRIu64 " neigh_failed, %" PRIu64
	       " hold_full\n",
	       workers[0].sent + workers[1].sent, st.drops[WEIR_DROP_NEIGH_FAILED],
	       st.drops[WEIR_DROP_HOLD_FULL]);
	ut_check(st.drops[WEIR_DROP_NEIGH_FAILED] > 0, "no entry was pushed out");
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		atomic_store(&workers[i].stop, true);
		if (workers[i].launched)
			rte_eal_wait_lcore(i + 1);
		workers[i].launched = false;
	}
	return ut_stack_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(neighbours_come_and_go_under_two_workers,
						ut_stack_setup, teardown),
	};

	return UT_RUN(cases, NULL, NULL);
}
