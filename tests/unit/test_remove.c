/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports that go and come while the stack runs: nothing vanishes, nobody notices who does not use them, and one
 * may come back. Also with workers on other threads, under traffic; with none attached; with one that is stuck.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "common/ut_clock.h"
#include "common/ut_fail.h"
#include "control_state.h"
#include "fib.h"
#include "neigh.h"

#define PORT UT_OUR_PORT

static struct ut_frame f;

static struct ut_pkt
to_port1(void)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_dst[4] = 1;
	p.ip_dst = UT_IP(10, 0, 1, 1);
	p.ip_src = UT_IP(10, 0, 1, 2);
	return p;
}

/* ---- what is on its way ---- */

/* Frames of the port in each place where one can be: all of them are counted, by their own reason. */
static void
what_is_on_its_way_is_dropped_and_counted(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		struct ut_stack *s = *state;
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_addr nobody = weir_addr_v4(UT_IP(10, 0, 1, 77), 7);
		struct weir_addr peer = weir_addr_v4(UT_IP(10, 0, 1, 2), 7);
		struct weir_addr far = weir_addr_v4(UT_IP(172, 16, 0, 1), 7);
		struct weir_addr net = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);
		struct ut_pkt p = to_port1();
		struct ut_pkt whole = ut_pkt_udp();
		struct weir_addr from;
		struct weir_stats st;
		char b[64];

		cfg.n_ports = 2;
		cfg.stack.workers = workers;
		cfg.dev.desc_min = 32;
		cfg.port.tx_desc = 32;
		ut_stack_up(s, &cfg);
		ut_stack_socket(s, PORT);
		assert_int_equal(
			weir_neigh_add(s->stack, 1, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
		assert_int_equal(weir_route_add(s->stack, &net, 16, &peer, 1, NULL), 0);
		ut_stack_mark(s);
		/* Three wait for a neighbour, */
		for (unsigned int i = 0; i < 3; i++)
			assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &nobody), 1);
		/* some are batched: the queue has room for 32, */
		for (unsigned int i = 0; i < 40; i++)
			assert_int_equal(weir_send(s->w[workers - 1], s->sk[0], "x", 1, &far), 1);
		ut_stack_poll(s);
		weir_stats_get(s->stack, &st);
		assert_int_equal(st.tx_held, 3);
		assert_true(st.tx_batched > 0);
		/* one waits for its other half, */
		p.ip_frag = 0x2000;
		p.payload_len = 32;
		ut_stack_rx(s, 1, &p);
		weir_stats_get(s->stack, &st);
		assert_int_equal(st.rx_frags, 1);
		/* and one is queued for the application, which may read it yet. */
		p = to_port1();
		ut_stack_rx(s, 1, &p);

		assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
		ut_stack_identity(s, "after the removal");
		weir_stats_get(s->stack, &st);
		assert_int_equal(st.tx_held, 0);
		assert_int_equal(st.tx_batched, 0);
		assert_int_equal(st.rx_frags, 0);
		assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_PORT_GONE_RX]), 1);
		assert_true(ut_stack_since(s, drops[WEIR_DROP_PORT_GONE_TX]) >= 3 + 1);
		assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_PORT_GONE_TX]) +
					 ut_stack_since(s, tx_frames),
				 ut_stack_since(s, tx_datagrams) + ut_stack_since(s, tx_protocol));
		assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from), 18);

		/* It is gone from everywhere; the other one goes on. */
		assert_int_equal(weir_port_remove(s->stack, 1, NULL), -ENODEV);
		assert_int_equal(weir_stats_port(s->stack, 1, &st), -ENODEV);
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &far), -ENETUNREACH);
		assert_int_equal(weir_send(s->w[0], s->sk[0], "x", 1, &peer), -ENETUNREACH);
		assert_int_equal(weir_fib_count(s->stack), 1);
		assert_int_equal(s->stack->control->n_addr, 1);
		assert_string_equal(weir_neigh_state(s->stack, 1, &peer, NULL), "none");
		ut_stack_peer(s);
		ut_stack_rx(s, 0, &whole);
		assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from), 18);
		assert_int_equal(weir_send(s->w[0], s->sk[0], b, 18, &from), 18);
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		testport_discard(s->ethdev[1]);
		ut_stack_down(s);
	}
}

/* Sockets forget what they had joined there; closing them later finds nothing amiss. */
static void
memberships_go_with_the_port(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr group = weir_addr_v4(UT_IP(239, 1, 1, 1), 0);

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	assert_int_equal(weir_socket_join(s->sk[0], &group, NULL, 0), 0);
	assert_int_equal(weir_socket_join(s->sk[0], &group, NULL, 1), 0);
	ut_stack_poll(s);
	assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
	assert_int_equal(weir_socket_leave(s->sk[0], &group, NULL, 1), -EADDRNOTAVAIL);
	assert_int_equal(weir_socket_leave(s->sk[0], &group, NULL, 0), 0);
	assert_int_equal(weir_socket_join(s->sk[0], &group, NULL, 0), 0);
	ut_stack_close(s, s->sk[0]);
	ut_stack_pass(s, 200 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
	testport_discard(s->ethdev[0]);
	testport_discard(s->ethdev[1]);
}

/* A hop goes, the route stays; what has no other goes. */
static void
routes_with_other_hops_stay(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_route_conf r;
	struct weir_route like = {.family = WEIR_IPV4, .bits = 12};
	const struct weir_route *found;

	cfg.n_ports = 3;
	ut_stack_up(s, &cfg);
	weir_route_conf_init(&r);
	r.prefix = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);
	r.prefix_bits = 12;
	r.n_hops = 3;
	for (unsigned int i = 0; i < 3; i++) {
		r.hop[i].port = i;
		r.hop[i].gateway = weir_addr_v4(UT_IP(10, 0, i, 9), 0);
		r.hop[i].weight = i + 1;
	}
	assert_int_equal(weir_route_add_conf(s->stack, &r, NULL), 0);
	assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
	like.prefix = r.prefix.ip;
	found = weir_fib_exact(s->stack, &like);
	assert_non_null(found);
	assert_int_equal(found->n_hops, 2);
	assert_int_equal(found->hop[0].port->index, 0);
	assert_int_equal(found->hop[1].port->index, 2);
	/* 1 and 3 of what were 1, 2 and 3. */
	assert_in_range(found->hop[0].weight, 16300, 16450);
	assert_int_equal(found->hop[1].weight, UINT16_MAX);
	assert_int_equal(weir_port_remove(s->stack, 2, NULL), 0);
	assert_int_equal(weir_port_remove(s->stack, 0, NULL), 0);
	assert_null(weir_fib_exact(s->stack, &like));
	assert_int_equal(weir_fib_count(s->stack), 0);
	for (unsigned int p = 0; p < 3; p++)
		testport_discard(s->ethdev[p]);
}

/* ---- with threads ---- */

static struct runner {
	struct ut_stack *s;
	unsigned int index;
	atomic_bool ready, stop, stuck;
	_Atomic uint64_t answered;
} runners[2];

/* Answer whatever comes. */
static int
run(void *arg)
{
	struct runner *r = arg;
	struct weir_lcore *lc;
	struct weir_addr from;
	char b[64];

	if (weir_worker_attach(r->s->stack, r->index, &lc) != 0)
		return -1;
	atomic_store(&r->ready, true);
	while (!atomic_load(&r->stop)) {
		if (atomic_load(&r->stuck)) {
			sched_yield();
			continue;
		}
		weir_idle(lc, weir_turn(lc));
		for (unsigned int i = 0; i < 8 && r->s->sk[r->index] != NULL; i++) {
			ssize_t n = weir_recv(lc, r->s->sk[r->index], b, sizeof(b), &from);

			if (n < 0)
				break;
			if (weir_send(lc, r->s->sk[r->index], b, (size_t)n, &from) >= 0)
				atomic_fetch_add(&r->answered, 1);
		}
	}
	weir_lcore_detach(lc);
	atomic_store(&r->ready, false);
	return 0;
}

static bool
is_ready(void *arg)
{
	return atomic_load(&((struct runner *)arg)->ready);
}

static void
launch(struct ut_stack *s, unsigned int i)
{
	runners[i] = (struct runner){.s = s, .index = i};
	assert_int_equal(rte_eal_remote_launch(run, &runners[i], i + 1), 0);
	ut_wait_for(is_ready, &runners[i], "a worker's attach");
}

static void
halt(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		atomic_store(&runners[i].stop, true);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(rte_eal_wait_lcore(i + 1), 0);
		(void)atomic_load(
			&runners[i].ready); /* the thread sanitizer does not see into EAL */
	}
}

struct traffic {
	struct ut_stack *s;
	uint64_t sent, back;
};

/* One datagram to each of the ports that are there, from changing peers; take what comes back. */
static void
traffic(struct traffic *t, bool both)
{
	struct ut_pkt p = ut_pkt_udp();
	struct ut_pkt q = to_port1();

	p.udp_sport = (uint16_t)(1024 + t->sent % 512);
	q.udp_sport = p.udp_sport;
	/* Not always for the worker that receives it. */
	p.udp_dport = (uint16_t)(PORT + t->sent / 2 % 2);
	q.udp_dport = p.udp_dport;
	ut_stack_inject(t->s, 0, (uint16_t)(t->sent % 2), ut_pkt_mbuf(&p, t->s->pool));
	if (both)
		ut_stack_inject(t->s, 1, (uint16_t)(t->sent % 2), ut_pkt_mbuf(&q, t->s->pool));
	t->sent++;
	while (ut_stack_take(t->s, 0, &f))
		t->back++;
	testport_discard(t->s->ethdev[1]);
}

static bool
all_back(void *arg)
{
	struct traffic *t = arg;

	while (ut_stack_take(t->s, 0, &f))
		t->back++;
	return t->back >= t->sent;
}

static void
a_port_goes_under_traffic_and_the_other_loses_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr peer1 = weir_addr_v4(UT_IP(10, 0, 1, 2), 0);
	struct traffic t = {.s = s};

	cfg.n_ports = 2;
	cfg.stack.workers = 2;
	cfg.real_clock = true;
	cfg.no_attach = true;
	cfg.port.rx_desc = 1024;
	cfg.port.tx_desc = 1024;
	cfg.stack.pool_mbufs = 16383;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);     /* worker 0 reads this one, */
	ut_stack_socket(s, PORT + 1); /* and worker 1 that one */
	ut_stack_peer(s);
	assert_int_equal(weir_neigh_add(s->stack, 1, &peer1, (const uint8_t *)UT_PEER_MAC, NULL),
			 0);
	launch(s, 0);
	launch(s, 1);
	testport_discard(s->ethdev[0]);
	for (unsigned int i = 0; i < 300; i++) {
		traffic(&t, true);
		if (i % 50 == 0)
			ut_wait_for(all_back, &t, "answers by port 0");
	}
	assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
	for (unsigned int i = 0; i < 300; i++) {
		traffic(&t, false);
		if (i % 50 == 0)
			ut_wait_for(all_back, &t, "answers by port 0");
	}
	ut_wait_for(all_back, &t, "all answers by port 0");
	halt(2);
	/* Announcements of addresses may be among them. */
	assert_true(t.back >= t.sent && t.back <= t.sent + 4);
	testport_discard(s->ethdev[1]);
	ut_stack_identity(s, "after all");
}

static void
workers_without_a_thread_are_stood_in_for(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = 2;
	cfg.stack.workers = 2;
	cfg.no_attach = true;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
	assert_int_equal(s->stack->lcores[0]->n_rxq, 1);
	assert_int_equal(s->stack->lcores[1]->n_rxq, 1);
	ut_stack_attach(s);
	ut_stack_poll(s);
	testport_discard(s->ethdev[0]);
	testport_discard(s->ethdev[1]);
}

/* Time goes on by this thread's hand while the test's own waits in the call. */
static atomic_bool clock_stop, clock_runs;

static int
clock_hand(void *arg)
{
	(void)arg;
	while (!atomic_load(&clock_stop)) {
		ut_clock_advance(WEIR_NS_PER_S);
		sched_yield();
	}
	atomic_store(&clock_runs, false);
	return 0;
}

static void
a_stuck_worker_is_reported_and_the_call_repeated(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_error err;

	cfg.n_ports = 2;
	cfg.no_attach = true;
	ut_stack_up(s, &cfg);
	launch(s, 0);
	atomic_store(&runners[0].stuck, true);
	atomic_store(&clock_stop, false);
	atomic_store(&clock_runs, true);
	assert_int_equal(rte_eal_remote_launch(clock_hand, NULL, 2), 0);
	assert_int_equal(weir_port_remove(s->stack, 1, &err), -ETIMEDOUT);
	assert_non_null(strstr(err.text, "port: 1: "));
	assert_non_null(strstr(err.text, "call again"));
	atomic_store(&clock_stop, true);
	assert_int_equal(rte_eal_wait_lcore(2), 0);
	assert_false(atomic_load(&clock_runs));
	/* It is out of use already. */
	assert_int_equal(weir_fib_count(s->stack), 1);
	atomic_store(&runners[0].stuck, false);
	assert_int_equal(weir_port_remove(s->stack, 1, &err), 0);
	halt(1);
	testport_discard(s->ethdev[0]);
	testport_discard(s->ethdev[1]);
}

/* ---- coming back ---- */

static void
a_port_comes_back_while_the_stack_runs(void **state)
{
	for (unsigned int workers = 1; workers <= 2; workers++) {
		struct ut_stack *s = *state;
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_addr a = weir_addr_v4(UT_IP(10, 0, 1, 1), 0);
		struct weir_port_conf port;
		struct weir_addr from;
		struct weir_error err;
		struct ut_pkt p = to_port1();
		char b[64];

		cfg.n_ports = 2;
		cfg.stack.workers = workers;
		ut_stack_up(s, &cfg);
		ut_stack_socket(s, PORT);
		port = cfg.port;
		port.device = s->device[1];
		for (unsigned int round = 0; round < 4; round++) {
			assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
			ut_stack_poll(s);
			testport_discard(s->ethdev[1]);
			ut_check(weir_port_add(s->stack, &port, &err) == 1, "%s", err.text);
			assert_int_equal(weir_addr_add(s->stack, 1, &a, 24, NULL), 0);
			/* In by each queue, out again. */
			for (uint16_t q = 0; q < workers; q++) {
				ut_stack_inject(s, 1, q, ut_pkt_mbuf(&p, s->pool));
				ut_stack_poll(s);
				assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from),
						 18);
			}
			assert_int_equal(weir_neigh_add(s->stack, 1, &from,
							(const uint8_t *)UT_PEER_MAC, NULL),
					 0);
			testport_discard(s->ethdev[1]);
			for (unsigned int w = 0; w < workers; w++) {
				assert_int_equal(weir_send(s->w[w], s->sk[0], b, 18, &from), 18);
				ut_stack_poll(s);
				ut_stack_must_take(s, 1, &f);
			}
		}
		/* One whose start fails leaves nothing behind. */
		assert_int_equal(weir_port_remove(s->stack, 1, NULL), 0);
		testport_fail(s->ethdev[1], TESTPORT_OP_START, EIO, 0);
		assert_int_equal(weir_port_add(s->stack, &port, &err), -EIO);
		assert_null(s->stack->ports[1]);
		assert_int_equal(s->stack->n_ports, 1);
		testport_fail(s->ethdev[1], TESTPORT_OP_START, 0, 0);
		/* One whose rings the pool cannot fill is refused. */
		port.rx_desc = 4096;
		port.tx_desc = 4096;
		s->stack->reserve += 8192;
		assert_int_equal(weir_port_add(s->stack, &port, &err), -ENOSPC);
		assert_non_null(strstr(err.text, "pool_mbufs: "));
		s->stack->reserve -= 8192;
		ut_stack_down(s);
	}
}

struct coming {
	struct ut_stack *s;
	struct weir_port_conf port;
};

static void
gone_again(void *arg)
{
	struct coming *x = arg;

	if (x->s->stack->ports[1] != NULL)
		assert_int_equal(weir_port_remove(x->s->stack, 1, NULL), 0);
	ut_stack_pass(x->s, 500 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
	testport_discard(x->s->ethdev[0]);
	testport_discard(x->s->ethdev[1]);
}

static void
a_port_without_memory_does_not_come(void **state)
{
	struct coming x = {.s = *state};
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int k = 0;
	bool hit;

	cfg.n_ports = 2;
	cfg.stack.workers = 2;
	cfg.port.accept_ra = true; /* so that it gets a link-local address */
	cfg.port.no_link_local = false;
	ut_stack_up(x.s, &cfg);
	x.port = cfg.port;
	x.port.device = x.s->device[1];
	assert_int_equal(weir_port_remove(x.s->stack, 1, NULL), 0);
	gone_again(&x);
	/* Not by ut_fail_all(): the device's own memory goes and comes with each start. */
	do {
		int ret;

		ut_fail_at(++k);
		ret = weir_port_add(x.s->stack, &x.port, NULL);
		hit = ut_fail_stop();
		ut_check(ret == (hit ? -ENOMEM : 1), "allocation %u: %d", k, ret);
		if (hit) {
			assert_null(x.s->stack->ports[1]);
			assert_int_equal(x.s->stack->n_ports, 1);
		}
		gone_again(&x);
		ut_stack_identity(x.s, "without memory");
	} while (hit && k < 1000);
	assert_true(k > 3);
}

/* ---- VLANs ---- */

static void
vlans_share_the_device_and_go_first(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(UT_IP(10, 0, 9, 1), 0);
	struct weir_port_conf vlan;
	struct weir_port_info info;
	struct weir_error err;

	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	weir_port_conf_init(&vlan);
	vlan.device = s->device[0];
	vlan.vlan = 4095;
	assert_int_equal(weir_port_add(s->stack, &vlan, &err), -EINVAL);
	assert_string_equal(err.text, "vlan: 4095: allowed are 1 to 4094, or 0");
	vlan.vlan = 7;
	vlan.rx_queues = 1;
	assert_int_equal(weir_port_add(s->stack, &vlan, &err), -EINVAL);
	assert_non_null(strstr(err.text, "are those of port 0"));
	vlan.rx_queues = 0;
	vlan.mtu = 1400;
	assert_int_equal(weir_port_add(s->stack, &vlan, &err), 1);
	assert_int_equal(weir_port_add(s->stack, &vlan, &err), -EEXIST);
	assert_non_null(strstr(err.text, "is port 1 already"));
	vlan.vlan = 8;
	vlan.mtu = 0;
	assert_int_equal(weir_port_add(s->stack, &vlan, &err), 2);
	assert_int_equal(weir_addr_add(s->stack, 1, &a, 24, &err), 0);
	ut_check(weir_stack_start(s->stack, &err) == 0, "%s", err.text);
	ut_stack_attach(s);
	assert_int_equal(weir_port_info_get(s->stack, 1, &info), 0);
	assert_int_equal(info.vlan, 7);
	assert_int_equal(info.parent, 0);
	assert_int_equal(info.mtu, 1400);
	assert_memory_equal(info.mac, UT_OUR_MAC, 6);
	assert_int_equal(weir_port_info_get(s->stack, 2, &info), 0);
	assert_int_equal(info.mtu, 1500);
	assert_int_equal(s->stack->ports[0]->vlan_port[7], 2);

	assert_int_equal(weir_port_remove(s->stack, 0, &err), -EBUSY);
	assert_non_null(strstr(err.text, "has VLAN ports, which go first"));
	assert_int_equal(weir_port_remove(s->stack, 1, &err), 0);
	assert_int_equal(s->stack->ports[0]->vlan_port[7], 0);
	assert_int_equal(weir_port_remove(s->stack, 2, &err), 0);
	ut_stack_poll(s);
	assert_int_equal(weir_port_remove(s->stack, 0, &err), 0);
	testport_discard(s->ethdev[0]);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(what_is_on_its_way_is_dropped_and_counted),
		UT_STACK_TEST(memberships_go_with_the_port),
		UT_STACK_TEST(routes_with_other_hops_stay),
		UT_STACK_TEST(a_port_goes_under_traffic_and_the_other_loses_nothing),
		UT_STACK_TEST(workers_without_a_thread_are_stood_in_for),
		UT_STACK_TEST(a_stuck_worker_is_reported_and_the_call_repeated),
		UT_STACK_TEST(a_port_comes_back_while_the_stack_runs),
		UT_STACK_TEST(a_port_without_memory_does_not_come),
		UT_STACK_TEST(vlans_share_the_device_and_go_first),
	};

	return UT_RUN(cases, NULL, NULL);
}
