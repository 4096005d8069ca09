/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of stacks and ports: made and unmade any number of times, several at once, with every
 * allocation and every device call failing once; ports that the application manages; buffers that do
 * not come back; and a reader that hoards them all.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "common/ut_clock.h"
#include "common/ut_eal.h"
#include "common/ut_fail.h"
#include "common/ut_pool.h"
#include "control_state.h"
#include "fib.h"
#include "lcore.h"

#define PORT UT_OUR_PORT

static struct ut_frame f;

/* ---- EAL without an argv ---- */

/* In a child, for EAL can be started only once in a process. */
static void
eal_starts_without_an_argv(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		/* Quiet about the option that is wrong on purpose. */
		if (freopen("/dev/null", "w", stderr) == NULL ||
		    freopen("/dev/null", "w", stdout) == NULL)
			_exit(9);
		if (weir_eal_start(NULL) != 0)
			_exit(1);
		if (weir_eal_start("-l 0") != 0) /* runs already */
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	ut_check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (freopen("/dev/null", "w", stderr) == NULL ||
		    freopen("/dev/null", "w", stdout) == NULL)
			_exit(9);
		_exit(weir_eal_start("--no-huge --no-such-option") < 0 ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	ut_check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
}

/* ---- round and round ---- */

static unsigned int
heap_objects(void)
{
	struct rte_malloc_socket_stats st;
	unsigned int n = 0;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &st) == 0)
			n += st.alloc_count;
	return n;
}

/* One datagram in, one out. */
static void
some_traffic(struct ut_stack *s)
{
	struct ut_pkt p = ut_pkt_udp();
	struct weir_addr from;
	char b[32];

	ut_stack_rx(s, 0, &p);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from), 18);
	ut_stack_peer(s);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 18, &from), 18);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.len, 60);
}

static void
a_hundred_lives_leave_nothing(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int before = 0;

	cfg.stack.pool_mbufs = 3000;
	for (unsigned int i = 0; i < 100; i++) {
		cfg.stack.name = "same";
		ut_stack_up(s, &cfg);
		ut_stack_socket(s, PORT);
		some_traffic(s);
		ut_stack_down(s);
		if (i == 0)
			before = heap_objects();
	}
	assert_int_equal(heap_objects(), before);
}

static void
a_stack_is_stopped_and_started_again(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_port_conf port;
	struct weir_error err;

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (unsigned int i = 0; i < 20; i++) {
		some_traffic(s);
		assert_int_equal(weir_stack_start(s->stack, &err), -EALREADY);
		weir_port_conf_init(&port);
		port.device = "net_weirtest_none";
		assert_int_equal(weir_port_add(s->stack, &port, &err), -ENODEV);
		ut_stack_detach(s);
		assert_int_equal(weir_stack_stop(s->stack), 0);
		assert_int_equal(weir_stack_stop(s->stack), 0);
		testport_discard(s->ethdev[0]);
		assert_int_equal(weir_stack_start(s->stack, &err), 0);
		ut_stack_attach(s);
	}
	some_traffic(s);
}

/* ---- several ---- */

static void
two_stacks_talk_over_a_cable(void **state)
{
	struct ut_stack *s = *state;
	static struct ut_stack far;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to = weir_addr_v4(UT_PEER_IP, PORT);
	struct weir_addr from;
	unsigned int n = 0;
	char b[32];

	cfg.dev.mode = TESTPORT_PAIR;
	cfg.dev.cable = "life";
	ut_stack_up(s, &cfg);
	cfg.host = 1;
	ut_stack_up(&far, &cfg);
	/* The first one's link has come up only now. */
	ut_stack_pass(s, 200 * WEIR_NS_PER_MS, 50 * WEIR_NS_PER_MS);
	ut_stack_poll(&far);
	ut_stack_socket(s, PORT);
	ut_stack_socket(&far, PORT);
	for (uint8_t i = 0; i < 10; i++)
		assert_int_equal(weir_send(s->w[0], s->sk[0], &i, 1, &to), 1);
	for (unsigned int i = 0; i < 5; i++) {
		ut_stack_poll(s);
		ut_stack_poll(&far);
	}
	while (weir_recv(far.w[0], far.sk[0], b, sizeof(b), &from) == 1) {
		assert_int_equal(b[0], n++);
		assert_int_equal(weir_send(far.w[0], far.sk[0], b, 1, &from), 1);
	}
	assert_int_equal(n, 10);
	for (unsigned int i = 0; i < 5; i++) {
		ut_stack_poll(&far);
		ut_stack_poll(s);
	}
	for (n = 0; weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from) == 1; n++)
		assert_int_equal(b[0], n);
	assert_int_equal(n, 10);
	assert_memory_equal(&from, &to, sizeof(to));
	ut_stack_down(&far);
}

static void
names_are_unique_and_do_not_meet_in_memzones(void **state)
{
	struct ut_stack *s = *state;
	static struct ut_stack other;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_stack *x;
	struct weir_error err;

	cfg.stack.name = "a";
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_stack_create(&cfg.stack, &x, &err), -EEXIST);
	assert_non_null(strstr(err.text, "name: a:"));
	cfg.stack.name = "a_0";
	ut_stack_up(&other, &cfg);
	ut_stack_down(&other);
}

/* ---- ports ---- */

static void
a_removed_port_takes_its_set_up_along(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr net = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);
	struct weir_addr gw = weir_addr_v4(UT_IP(10, 0, 1, 9), 0);
	struct weir_addr to = weir_addr_v4(UT_IP(172, 16, 0, 1), 7);
	struct weir_addr a = weir_addr_v4(UT_IP(10, 0, 1, 1), 0);
	struct ut_pkt p = ut_pkt_udp();
	struct weir_stats before, after;
	struct weir_port_info info;
	struct weir_error err;
	char b[32];

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	assert_int_equal(weir_route_add(s->stack, &net, 16, &gw, 1, NULL), 0);
	assert_int_equal(weir_neigh_add(s->stack, 1, &gw, (const uint8_t *)UT_PEER_MAC, NULL), 0);
	p.eth_dst[4] = 1;
	p.ip_dst = UT_IP(10, 0, 1, 1);
	ut_stack_rx(s, 1, &p);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), NULL), 18);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 18, &to), 18);
	ut_stack_poll(s);
	ut_stack_must_take(s, 1, &f);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	weir_stats_get(s->stack, &before);
	assert_int_equal(weir_port_remove(s->stack, 1, &err), 0);
	assert_int_equal(weir_port_remove(s->stack, 1, &err), -ENODEV);
	weir_stats_get(s->stack, &after);
	assert_int_equal(after.rx_frames, before.rx_frames);
	assert_int_equal(after.tx_bytes, before.tx_bytes);
	ut_stack_identity(s, "after the removal");
	assert_int_equal(weir_port_info_get(s->stack, 1, &info), -ENODEV);
	assert_int_equal(weir_route_del(s->stack, &net, 16, &err), -ENOENT);
	assert_int_equal(weir_addr_del(s->stack, 1, &a, &err), -ENOENT);

	assert_int_equal(weir_stack_start(s->stack, &err), 0);
	ut_stack_attach(s);
	assert_int_equal(weir_send(s->w[0], s->sk[0], b, 18, &to), -ENETUNREACH);
	some_traffic(s);
	assert_int_equal(weir_neigh_del(s->stack, 1, &gw, &err), -ENODEV);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);

	/* And back, as port 1 again. */
	struct weir_port_conf port = cfg.port;

	port.device = s->device[1];
	assert_int_equal(weir_port_add(s->stack, &port, &err), 1);
	assert_string_equal(weir_neigh_state(s->stack, 1, &gw, NULL), "none");
	assert_int_equal(weir_addr_add(s->stack, 1, &a, 24, &err), 0);
	assert_int_equal(weir_stack_start(s->stack, &err), 0);
	ut_stack_attach(s);
	ut_stack_rx(s, 1, &p);
	assert_int_equal(weir_recv(s->w[0], s->sk[0], b, sizeof(b), NULL), 18);
}

static void
ports_of_all_abilities_start(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int i = 0; i < 16; i++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_port_info info;

		cfg.stack.workers = i & 1 ? 2 : 1;
		cfg.dev.reta_size = i & 2 ? 128 : 0;
		cfg.dev.rx_offloads = i & 4 ? TESTPORT_RX_OFFLOADS : 0;
		cfg.dev.tx_offloads = i & 4 ? TESTPORT_TX_OFFLOADS : RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
		cfg.port.no_offload = i & 8;
		cfg.port.promiscuous = i & 8;
		ut_stack_up(s, &cfg);
		ut_stack_socket(s, PORT);
		assert_int_equal(weir_port_info_get(s->stack, 0, &info), 0);
		assert_int_equal(info.rx_queues, cfg.stack.workers);
		assert_int_equal(info.tx_queues, cfg.stack.workers);
		assert_int_equal(info.rx_csum_offload, (i & 4) && !(i & 8));
		assert_int_equal(info.tx_csum_offload, (i & 4) && !(i & 8));
		assert_int_equal(info.rss, (i & 1) && (i & 6)); /* a table, or a hash to deliver */
		some_traffic(s);
		ut_stack_down(s);
	}
}

/* Each device call of the start fails once; the next start succeeds. */
static void
a_failing_device_is_named_and_leaves_nothing_started(void **state)
{
	static const struct {
		enum testport_op op;
		uint32_t n_ok;
		bool mtu, promiscuous;
	} row[] = {
		{TESTPORT_OP_INFO_GET, 0, false, false},
		{TESTPORT_OP_INFO_GET, 1, false, false},
		{TESTPORT_OP_CONFIGURE, 0, false, false},
		{TESTPORT_OP_RX_QUEUE_SETUP, 0, false, false},
		{TESTPORT_OP_TX_QUEUE_SETUP, 0, false, false},
		{TESTPORT_OP_START, 0, false, false},
		{TESTPORT_OP_PROMISCUOUS, 0, false, true},
	};
	struct ut_stack *s = *state;

	for (size_t i = 0; i < UT_N(row); i++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_error err;
		int ret;

		cfg.n_ports = 2;
		cfg.no_start = true;
		cfg.port.promiscuous = row[i].promiscuous;
		ut_stack_up(s, &cfg);
		testport_fail(s->ethdev[1], row[i].op, EIO, row[i].n_ok);
		ret = weir_stack_start(s->stack, &err);
		ut_check(ret < 0 && err.code == ret, "row %zu: start gives %d (%d)", i, ret,
			 err.code);
		ut_check(strstr(err.text, s->device[1]) != NULL, "row %zu: %s", i, err.text);
		assert_int_equal(weir_worker_attach(s->stack, 0, &s->w[0]), -ENETDOWN);
		testport_fail(s->ethdev[1], row[i].op, 0, 0);
		ret = weir_stack_start(s->stack, &err);
		ut_check(ret == 0, "row %zu: second start: %d %s", i, ret, err.text);
		s->w[0] = NULL;
		ut_stack_attach(s);
		ut_stack_socket(s, PORT);
		some_traffic(s);
		ut_stack_down(s);
	}
}

static void
a_port_of_the_application_is_only_polled(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(UT_OUR_IP, 0);
	struct rte_eth_conf conf = {0};
	struct rte_mempool *pool;
	struct weir_port_conf port;
	struct weir_error err;
	struct rte_eth_link link;
	struct testport_cfg dev = cfg.dev;
	uint16_t id;

	cfg.n_ports = 0;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	pool = ut_pool_create("app", 255, 0);
	memcpy(dev.mac.addr_bytes, UT_OUR_MAC, 6);
	assert_int_equal(testport_create("net_weirtest_app", &dev, &id), 0);
	assert_int_equal(rte_eth_dev_configure(id, 1, 1, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(id, 0, 64, SOCKET_ID_ANY, NULL, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(id, 0, 64, SOCKET_ID_ANY, NULL), 0);
	assert_int_equal(rte_eth_dev_start(id), 0);

	weir_port_conf_init(&port);
	port.device = "net_weirtest_app";
	port.app_managed = true;
	assert_int_equal(weir_port_add(s->stack, &port, &err), -EINVAL); /* how many queues? */
	port.rx_queues = 1;
	port.tx_queues = 1;
	assert_int_equal(weir_port_add(s->stack, &port, &err), 0);
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 24, &err), 0);
	assert_int_equal(weir_stack_start(s->stack, &err), 0);
	s->ethdev[0] = id;
	ut_stack_attach(s);
	ut_stack_socket(s, PORT);
	some_traffic(s);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	/* Still the application's, and running. */
	assert_int_equal(rte_eth_link_get_nowait(id, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	testport_discard(id); /* what the stack has announced */
	ut_stack_down(s);
	assert_true(rte_eth_dev_is_valid_port(id));
	testport_discard(id);
	assert_int_equal(testport_destroy("net_weirtest_app"), 0);
	ut_pool_destroy(pool);
}

/* ---- allocations ---- */

struct attempt {
	struct weir_stack *stack;
	struct weir_socket *sk;
	struct weir_lcore *lc;
	bool device;
};

static void
undo(void *arg)
{
	struct attempt *a = arg;

	if (a->lc != NULL)
		assert_int_equal(weir_lcore_detach(a->lc), 0);
	if (a->sk != NULL)
		assert_int_equal(weir_socket_close(a->sk), 0);
	if (a->stack != NULL) {
		struct ut_stack s = {.stack = a->stack};

		ut_stack_identity(&s, "in the undoing");
		assert_int_equal(weir_stack_destroy(a->stack), 0);
	}
	if (a->device)
		assert_int_equal(testport_destroy("net_weirtest_oom"), 0);
	*a = (struct attempt){0};
}

/* All that makes a stack that can talk. */
static int
attempt_life(void *arg)
{
	struct attempt *a = arg;
	struct weir_addr ours = weir_addr_v4(UT_OUR_IP, 0);
	struct weir_addr local = weir_addr_v4(0, PORT);
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct weir_addr net = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint16_t id;
	int ret;

	cfg.stack.name = "oom";
	cfg.stack.pool_mbufs = 3000;
	cfg.port.device = "net_weirtest_oom";
	ret = testport_create(cfg.port.device, &cfg.dev, &id);
	a->device = ret == 0;
	if (ret == 0)
		ret = weir_stack_create(&cfg.stack, &a->stack, NULL);
	if (ret == 0)
		ret = weir_port_add(a->stack, &cfg.port, NULL);
	if (ret == 0)
		ret = weir_addr_add(a->stack, 0, &ours, 24, NULL);
	if (ret == 0)
		ret = weir_route_add(a->stack, &net, 16, &peer, 0, NULL);
	if (ret == 0)
		ret = weir_neigh_add(a->stack, 0, &peer, (const uint8_t *)UT_PEER_MAC, NULL);
	if (ret == 0)
		ret = weir_stack_start(a->stack, NULL);
	if (ret == 0)
		ret = weir_worker_attach(a->stack, 0, &a->lc);
	if (ret == 0)
		ret = weir_socket_open(a->stack, NULL, &a->sk);
	if (ret == 0)
		ret = weir_socket_bind(a->sk, &local);
	if (ret == 0)
		ret = weir_socket_connect(a->sk, &peer);
	if (ret == 0)
		ret = weir_socket_disconnect(a->sk);
	if (ret == 0 && weir_send(a->lc, a->sk, "x", 1, &peer) != 1)
		ret = -ENOBUFS;
	if (ret == 0)
		weir_turn(a->lc);
	if (ret == 0)
		testport_discard(id);
	if (ret != 0) {
		ut_fail_stop(); /* what follows is not part of the attempt */
		undo(a);
	}
	return ret;
}

static void
every_allocation_fails_once_and_nothing_is_left(void **state)
{
	struct attempt a = {0};
	unsigned int n;

	(void)state;
	ut_clock_install();
	assert_int_equal(attempt_life(&a), 0); /* what is made once for the process */
	undo(&a);
	n = ut_fail_all(attempt_life, undo, &a);
	printf("# %u allocations failed in turn\n", n);
	assert_true(n > 30);
	ut_clock_remove();
}

/* ---- a removal that runs out of memory ---- */

struct removal {
	struct ut_stack *s;
	struct ut_stack_cfg cfg;
};

/* A stopped stack whose port 0 has an address and a route through it. */
static int
attempt_removal(void *arg)
{
	struct removal *r = arg;
	struct weir_stack *stack = r->s->stack;
	struct weir_port_info info;
	int ret = weir_port_remove(stack, 0, NULL);

	if (ret != 0) {
		/* Nothing has changed: the port, its address and its route are there. */
		ut_fail_stop();
		assert_int_equal(weir_port_info_get(stack, 0, &info), 0);
		assert_int_equal(stack->control->n_addr, 1);
		assert_int_equal(weir_fib_count(stack), 2); /* one of them connected */
	}
	return ret;
}

static void
put_the_port_back(void *arg)
{
	struct removal *r = arg;
	struct weir_addr ours = weir_addr_v4(UT_OUR_IP, 0);
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, 0);
	struct weir_addr net = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);

	assert_int_equal(r->s->stack->control->n_addr, 0);
	assert_int_equal(weir_fib_count(r->s->stack), 0);
	assert_int_equal(weir_port_add(r->s->stack, &r->cfg.port, NULL), 0);
	assert_int_equal(weir_addr_add(r->s->stack, 0, &ours, 24, NULL), 0);
	assert_int_equal(weir_route_add(r->s->stack, &net, 16, &peer, 0, NULL), 0);
}

static void
a_removal_without_memory_changes_nothing(void **state)
{
	struct removal r = {.s = *state, .cfg = ut_stack_cfg()};
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, 0);
	struct weir_addr net = weir_addr_v4(UT_IP(172, 16, 0, 0), 0);
	struct weir_port_info info;
	unsigned int failed = 0;

	ut_stack_up(r.s, &r.cfg);
	assert_int_equal(weir_route_add(r.s->stack, &net, 16, &peer, 0, NULL), 0);
	assert_int_equal(weir_port_info_get(r.s->stack, 0, &info), 0);
	ut_stack_detach(r.s);
	assert_int_equal(weir_stack_stop(r.s->stack), 0);
	r.cfg.port.device = info.device;
	for (unsigned int k = 1;; k++) {
		int ret;

		ut_fail_at(k);
		ret = attempt_removal(&r);
		if (ret == 0)
			break;
		assert_int_equal(ret, -ENOMEM);
		failed++;
	}
	ut_fail_stop();
	assert_true(failed >= 4);
	put_the_port_back(&r);
}

/* ---- buffers ---- */

static void
a_stack_with_buffers_out_is_not_destroyed(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct weir_rxmsg msg;

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	ut_stack_rx_mbuf(s, 0, ut_pkt_mbuf(&p, s->stack->pool));
	assert_int_equal(weir_recv_burst(s->w[0], s->sk[0], &msg, 1), 1);
	assert_int_equal(weir_stack_destroy(s->stack), -EBUSY); /* a worker is attached */
	ut_stack_detach(s);
	s->n_sk = 0;
	rte_log_set_level_pattern("weir", RTE_LOG_EMERG);
	assert_int_equal(weir_stack_destroy(s->stack), -EBUSY); /* the buffer */
	rte_log_set_level_pattern("weir", RTE_LOG_NOTICE);
	/* The buffer is still whole. */
	assert_int_equal(*rte_pktmbuf_mtod(msg.m, uint8_t *), ut_pattern(0));
	weir_mbuf_free_bulk(&msg.m, 1);
	/* The tear-down destroys it for good. */
}

static void
a_larger_pool_replaces_one_whose_buffers_are_out(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_port_conf port;
	struct testport_cfg dev;
	struct rte_mbuf *held;
	struct rte_mempool *old;
	struct weir_error err;
	uint16_t id;

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	old = s->stack->pool;
	assert_int_equal(weir_mbuf_alloc_bulk(s->w[0], &held, 1), 0);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	dev = cfg.dev;
	assert_int_equal(testport_create("net_weirtest_more", &dev, &id), 0);
	port = cfg.port;
	port.device = "net_weirtest_more";
	port.rx_desc = 2048;
	assert_int_equal(weir_port_add(s->stack, &port, &err), 1);
	assert_int_equal(weir_stack_start(s->stack, &err), 0);
	assert_ptr_not_equal(s->stack->pool, old);
	ut_stack_attach(s);
	some_traffic(s);
	weir_mbuf_free_bulk(&held, 1);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	assert_int_equal(weir_port_remove(s->stack, 1, &err), 0);
	assert_int_equal(testport_destroy("net_weirtest_more"), 0);
}

/*
 * A reader that keeps every buffer: datagrams are refused when the pool is at its reserve, while ARP
 * and echo requests are still answered, and everything comes back with the buffers.
 */
static void
a_hoarding_reader_cannot_starve_the_rest(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();
	struct ut_pkt arp = ut_pkt_arp_request();
	struct ut_pkt echo = ut_pkt_icmp_echo();
	struct weir_socket_conf conf;
	struct weir_socket_stats st;
	struct weir_rxmsg msg;
	struct rte_mbuf **hoard;
	unsigned int n = 0;
	uint64_t refused;

	cfg.stack.pool_mbufs = 3000;
	ut_stack_up(s, &cfg);
	weir_socket_conf_init(&conf);
	conf.rcvbuf = cfg.stack.rcvbuf_max;
	ut_stack_socket_conf(s, PORT, &conf);
	hoard = calloc(s->stack->pool->size + 1, sizeof(hoard[0]));
	assert_non_null(hoard);
	/* The port takes its buffers from the stack's pool, as a real one does. */
	for (unsigned int i = 0; i < 2 * s->stack->pool->size; i++) {
		struct rte_mbuf *m = ut_pkt_mbuf(&p, s->stack->pool);

		ut_stack_rx_mbuf(s, 0, m);
		if (weir_recv_burst(s->w[0], s->sk[0], &msg, 1) == 1)
			hoard[n++] = msg.m;
	}
	refused = ut_stack_since(s, drops[WEIR_DROP_MEM_LIMIT]);
	assert_true(refused > 0);
	assert_int_equal(n + refused, 2 * s->stack->pool->size);
	weir_socket_stats_get(s->sk[0], &st);
	assert_int_equal(st.mem_limit, refused);
	assert_int_equal(st.charged_bytes, 0);
	ut_stack_only_drop(s, WEIR_DROP_MEM_LIMIT, refused, "hoarding");

	for (unsigned int i = 0; i < 500; i++) {
		ut_stack_rx_mbuf(s, 0, ut_pkt_mbuf(&arp, s->stack->pool));
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(ut_get16(f.b + 12), 0x0806);
		ut_stack_rx_mbuf(s, 0, ut_pkt_mbuf(&echo, s->stack->pool));
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(f.b[34], 0);
	}
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "answers");
	weir_mbuf_free_bulk(hoard, n);
	free(hoard);
	ut_stack_rx_mbuf(s, 0, ut_pkt_mbuf(&p, s->stack->pool));
	assert_int_equal(weir_recv_burst(s->w[0], s->sk[0], &msg, 1), 1);
	assert_int_equal(msg.drops, (uint32_t)refused);
	weir_mbuf_free_bulk(&msg.m, 1);
}

/* What is queued when the stack goes is given back. */
static void
queued_datagrams_go_with_the_stack(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_udp();

	ut_stack_up(s, &cfg);
	ut_stack_socket(s, PORT);
	for (unsigned int i = 0; i < 10; i++)
		ut_stack_rx(s, 0, &p);
	s->n_sk = 0; /* not closed by anybody */
}

static void
too_small_a_pool_is_refused_in_words(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_error err;

	cfg.stack.pool_mbufs = 500;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_stack_start(s->stack, &err), -EINVAL);
	assert_non_null(strstr(err.text, "pool_mbufs: 500: "));
}

int
main(void)
{
	const struct CMUnitTest before_eal[] = {
		cmocka_unit_test(eal_starts_without_an_argv),
	};
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(a_hundred_lives_leave_nothing),
		UT_STACK_TEST(a_stack_is_stopped_and_started_again),
		UT_STACK_TEST(two_stacks_talk_over_a_cable),
		UT_STACK_TEST(names_are_unique_and_do_not_meet_in_memzones),
		UT_STACK_TEST(a_removed_port_takes_its_set_up_along),
		UT_STACK_TEST(ports_of_all_abilities_start),
		UT_STACK_TEST(a_failing_device_is_named_and_leaves_nothing_started),
		UT_STACK_TEST(a_port_of_the_application_is_only_polled),
		UT_STACK_TEST(every_allocation_fails_once_and_nothing_is_left),
		UT_STACK_TEST(a_removal_without_memory_changes_nothing),
		UT_STACK_TEST(a_stack_with_buffers_out_is_not_destroyed),
		UT_STACK_TEST(a_larger_pool_replaces_one_whose_buffers_are_out),
		UT_STACK_TEST(a_hoarding_reader_cannot_starve_the_rest),
		UT_STACK_TEST(queued_datagrams_go_with_the_stack),
		UT_STACK_TEST(too_small_a_pool_is_refused_in_words),
	};
	int failed = UT_RUN(before_eal, NULL, NULL);

	return failed + UT_RUN(cases, NULL, NULL);
}
