/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switchable test port itself: what other tests and the benchmarks rest on. Each case opens the
 * ports that it needs, and the tear-down of each finds every port gone and every mbuf back.
 */
#include "common/ut.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "common/ut_eal.h"
#include "common/ut_fail.h"
#include "common/ut_guard.h"
#include "common/ut_pkt.h"
#include "common/ut_pool.h"
#include "testport.h"

#define N_DESC     64
#define POOL_SIZE  1023
#define FRAME_SIZE 2048

#define PORT_A "net_weirtest_a"
#define PORT_B "net_weirtest_b"

static struct rte_mempool *pool;   /* what the test and the sender use */
static struct rte_mempool *pool_b; /* rx pool of the second port */

/* --- Helpers --------------------------------------------------------------------------------- */

static int
case_setup(void **state)
{
	(void)state;
	pool = ut_pool_create("testport_a", POOL_SIZE, 0);
	pool_b = ut_pool_create("testport_b", POOL_SIZE, 0);
	return 0;
}

static int
case_teardown(void **state)
{
	(void)state;
	/* A case that failed half-way leaves its ports behind; none may disturb the next. */
	testport_destroy(PORT_A);
	testport_destroy(PORT_B);
	ut_pool_destroy(pool);
	ut_pool_destroy(pool_b);
	return 0;
}

static uint16_t
port_create(const char *name, const struct testport_cfg *cfg)
{
	uint16_t port_id = RTE_MAX_ETHPORTS;
	int err = testport_create(name, cfg, &port_id);

	ut_check(err == 0, "create %s: %d", name, err);
	return port_id;
}

/* Everything that the port offers, enabled. */
static struct rte_eth_conf
conf_all(uint16_t port_id)
{
	struct rte_eth_dev_info info;
	struct rte_eth_conf conf = {0};

	assert_int_equal(rte_eth_dev_info_get(port_id, &info), 0);
	conf.rxmode.offloads = info.rx_offload_capa;
	conf.txmode.offloads = info.tx_offload_capa;
	if (info.flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	}
	return conf;
}

static int
port_setup(uint16_t port_id, uint16_t n_queues, uint16_t n_desc, const struct rte_eth_conf *conf,
	   struct rte_mempool *rx_pool)
{
	int err = rte_eth_dev_configure(port_id, n_queues, n_queues, conf);

	for (uint16_t q = 0; q < n_queues && err == 0; q++)
		err = rte_eth_rx_queue_setup(port_id, q, n_desc, 0, NULL, rx_pool);
	for (uint16_t q = 0; q < n_queues && err == 0; q++)
		err = rte_eth_tx_queue_setup(port_id, q, n_desc, 0, NULL);
	return err;
}

static void
port_open(uint16_t port_id, uint16_t n_queues, const struct rte_eth_conf *conf,
	  struct rte_mempool *rx_pool)
{
	assert_int_equal(port_setup(port_id, n_queues, N_DESC, conf, rx_pool), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
}

/* A started ring port with all that cfg offers. */
static uint16_t
ring_open(const struct testport_cfg *cfg, uint16_t n_queues)
{
	uint16_t port_id = port_create(PORT_A, cfg);
	struct rte_eth_conf conf = conf_all(port_id);

	port_open(port_id, n_queues, &conf, pool);
	return port_id;
}

static void
pair_open(struct testport_cfg *cfg, uint16_t n_queues, uint16_t *a, uint16_t *b)
{
	struct rte_eth_conf conf;

	cfg->mode = TESTPORT_PAIR;
	cfg->cable = "red";
	*a = port_create(PORT_A, cfg);
	*b = port_create(PORT_B, cfg);
	conf = conf_all(*a);
	port_open(*a, n_queues, &conf, pool);
	port_open(*b, n_queues, &conf, pool_b);
	assert_int_equal(rte_eth_promiscuous_enable(*a), 0);
	assert_int_equal(rte_eth_promiscuous_enable(*b), 0);
}

static bool
link_is_up(uint16_t port_id)
{
	struct rte_eth_link link;

	assert_int_equal(rte_eth_link_get_nowait(port_id, &link), 0);
	return link.link_status == RTE_ETH_LINK_UP;
}

static struct rte_eth_stats
stats_of(uint16_t port_id)
{
	struct rte_eth_stats stats;

	assert_int_equal(rte_eth_stats_get(port_id, &stats), 0);
	return stats;
}

/* Puts one frame in and takes it out of the rx queue. */
static struct rte_mbuf *
pass_rx(uint16_t port_id, struct rte_mbuf *m)
{
	assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, &m, 1), 1);
	return m;
}

static struct rte_mbuf *
udp_mbuf(void)
{
	struct ut_pkt pkt = ut_pkt_udp();

	return ut_pkt_mbuf(&pkt, pool);
}

/* A UDP frame, its checksums left to the port, with what the port wants to be told. */
static struct rte_mbuf *
udp_mbuf_offload(const struct ut_pkt *finished)
{
	struct rte_mbuf *m = ut_pkt_mbuf(finished, pool);
	uint8_t *ip = rte_pktmbuf_mtod_offset(m, uint8_t *, finished->vlan_tci >= 0 ? 18 : 14);
	uint16_t udp_len = ut_get16(ip + 24);
	uint32_t sum = ut_pseudo_sum(finished->ip_src, finished->ip_dst, 17, udp_len);

	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	ut_put16(ip + 10, 0);
	ut_put16(ip + 26, (uint16_t)sum);
	m->ol_flags = RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = finished->vlan_tci >= 0 ? 18 : 14;
	m->l3_len = 20;
	return m;
}

static void
check_frame(const struct rte_mbuf *m, const struct ut_pkt *want, const char *what)
{
	uint8_t got_bytes[FRAME_SIZE], want_bytes[FRAME_SIZE];
	size_t got_len = ut_mbuf_bytes(m, got_bytes, sizeof(got_bytes));
	size_t want_len = ut_pkt_bytes(want, want_bytes, sizeof(want_bytes));

	ut_check(got_len == want_len, "%s: %zu bytes, want %zu", what, got_len, want_len);
	ut_check_bytes(got_bytes, want_bytes, want_len, "%s", what);
}

/* IPv6 and UDP, from and to the addresses of the published Toeplitz example. */
static size_t
udp6_bytes(uint8_t *frame, bool with_cksum)
{
	static const uint8_t head[] = {
		0x02, 0,    0,    0,    0,         1,          0x02,      0,          0,    0,
		0,    2,    0x86, 0xdd, 0x60,      0,          0,         0,          0,    12,
		17,   64,   0x3f, 0xfe, 0x25,      0x01,       0x02,      0x00,       0x1f, 0xff,
		0,    0,    0,    0,    0,         0,          0,         7,          0x3f, 0xfe,
		0x25, 0x01, 0x02, 0x00, 0x00,      0x03,       0,         0,          0,    0,
		0,    0,    0,    1,    2794 >> 8, 2794 & 255, 1766 >> 8, 1766 & 255, 0,    12,
		0,    0,    'w',  'e',  'i',       'r',
	};
	uint32_t sum = 17 + 12;

	memcpy(frame, head, sizeof(head));
	for (size_t i = 22; i < 54; i += 2)
		sum += ut_get16(frame + i);
	if (with_cksum) {
		ut_put16(frame + 60, ut_csum(frame + 54, 12, sum));
	} else {
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		ut_put16(frame + 60, (uint16_t)sum);
	}
	return sizeof(head);
}

/* --- Arguments and life ---------------------------------------------------------------------- */

static void
bad_arguments_are_refused(void **state)
{
	static const char *const bad[] = {
		"mode=star",
		"mode=pair:",
		"mode=pair:a-name-that-is-longer-than-any-cable",
		"queues=0",
		"queues=17",
		"queues=many",
		"queues",
		"rx_offloads=ipv4_chksum",
		"tx_offloads=udp_cksum+scatter",
		"mac=02:00:00:00:00",
		"mac=01:00:00:00:00:01",
		"mtu=67",
		"mtu=65536",
		"reta=100",
		"desc_min=0",
		"desc_max=40000",
		"desc_align=3",
		"desc_min=128,desc_max=64",
		"desc_min=48",
		"txfail=always",
		"txfail=accept:0",
		"txfail=drop:0",
		"distribute=2",
		"pause=1",
		"colour=red",
		"mode=feed,desc_align=16,desc_min=16",
		"mode=feed,txfail=drop:3",
		"mode=feed,distribute=1",
		"mode=feed,rx_offloads=vlan_strip",
	};
	uint16_t port_id;
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_TCP_LRO};

	(void)state;
	for (size_t i = 0; i < UT_N(bad); i++) {
		ut_check(rte_vdev_init(PORT_A, bad[i]) < 0, "%s", bad[i]);
		ut_check(rte_eth_dev_get_port_by_name(PORT_A, &port_id) != 0, "%s", bad[i]);
	}
	assert_int_equal(testport_create("net_other0", NULL, &port_id), -EINVAL);
	assert_int_equal(testport_create(PORT_A, &cfg, &port_id), -EINVAL);
}

static void
info_says_what_the_arguments_asked(void **state)
{
	struct rte_ether_addr mac;
	struct rte_eth_dev_info info;
	uint16_t port_id;

	(void)state;
	assert_int_equal(rte_eal_hotplug_add("vdev", PORT_A,
					     "mode=ring,queues=3,rx_offloads=[ipv4_cksum,scatter],"
					     "tx_offloads=udp_cksum+multi_segs,reta=128,mtu=4000,"
					     "mac=02:00:00:00:aa:bb,desc_min=64,desc_max=1024,"
					     "desc_align=64"),
			 0);
	assert_int_equal(rte_eth_dev_get_port_by_name(PORT_A, &port_id), 0);
	assert_int_equal(rte_eth_dev_info_get(port_id, &info), 0);
	assert_string_equal(info.driver_name, "net_weirtest");
	assert_int_equal(info.max_rx_queues, 3);
	assert_int_equal(info.max_tx_queues, 3);
	assert_int_equal(info.rx_offload_capa,
			 RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_SCATTER);
	assert_int_equal(info.tx_offload_capa,
			 RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
	assert_int_equal(info.reta_size, 128);
	assert_int_equal(info.hash_key_size, 40);
	assert_int_equal(info.max_mtu, 4000);
	assert_int_equal(info.rx_desc_lim.nb_min, 64);
	assert_int_equal(info.tx_desc_lim.nb_max, 1024);
	assert_int_equal(info.rx_desc_lim.nb_align, 64);
	assert_int_equal(rte_eth_macaddr_get(port_id, &mac), 0);
	assert_memory_equal(mac.addr_bytes, "\x02\x00\x00\x00\xaa\xbb", 6);
	assert_int_equal(testport_destroy(PORT_A), 0);

	/* Nothing asked, nothing offered. */
	port_id = port_create(PORT_A, NULL);
	assert_int_equal(rte_eth_dev_info_get(port_id, &info), 0);
	assert_int_equal(info.rx_offload_capa, 0);
	assert_int_equal(info.tx_offload_capa, 0);
	assert_int_equal(info.reta_size, 0);
	assert_int_equal(info.flow_type_rss_offloads, 0);
	assert_int_equal(info.max_rx_queues, 8);
}

static void
ports_come_and_go(void **state)
{
	struct testport_cfg cfg = {.mode = TESTPORT_PAIR, .cable = "red"};
	struct rte_eth_conf conf = {0};
	uint16_t a, b;

	(void)state;
	for (int i = 0; i < 20; i++) {
		a = port_create(PORT_A, &cfg);
		b = port_create(PORT_B, &cfg);
		assert_int_equal(testport_create("net_weirtest_c", &cfg, &(uint16_t){0}), -EBUSY);
		port_open(a, 1, &conf, pool);
		port_open(b, 1, &conf, pool_b);
		switch (i % 3) {
		case 0: /* as a stack does, then the vdev */
			assert_int_equal(rte_eth_dev_stop(a), 0);
			assert_int_equal(rte_eth_dev_close(a), 0);
			assert_int_equal(testport_destroy(PORT_A), 0);
			break;
		case 1:
			assert_int_equal(testport_destroy(PORT_A), 0);
			break;
		default: /* pulled out while it runs */
			assert_int_equal(rte_vdev_uninit(PORT_A), 0);
		}
		assert_false(link_is_up(b));
		assert_int_equal(testport_destroy(PORT_B), 0);
	}
}

static void
reconfigured_port_has_the_new_queues(void **state)
{
	struct testport_cfg cfg = {0};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_eth_conf conf = {0};
	struct rte_mbuf *m = udp_mbuf();

	(void)state;
	/* Frames in the device when it stops: those to receive are gone, those sent stay. */
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	m = udp_mbuf();
	assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_inject(port_id, 1, &m, 1), 0);
	assert_int_equal(rte_eth_dev_stop(port_id), 0);
	assert_int_equal(testport_rx_pending(port_id, 0), 0);
	assert_int_equal(testport_tx_pending(port_id, 0), 1);
	assert_int_equal(testport_discard(port_id), 1);

	port_open(port_id, 3, &conf, pool);
	m = udp_mbuf();
	assert_int_equal(testport_inject(port_id, 2, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(port_id, 2, &m, 1), 1);
	assert_int_equal(rte_eth_tx_burst(port_id, 2, &m, 1), 1);
	assert_int_equal(testport_collect(port_id, 2, &m, 1), 1);
	rte_pktmbuf_free(m);
}

static void
control_calls_fail_on_demand(void **state)
{
	struct testport_cfg cfg = {.reta_size = 64};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_ether_addr mac = {{0x02, 0, 0, 0, 0, 9}};
	struct rte_eth_rss_reta_entry64 reta = {0};
	struct rte_eth_rss_conf rss = {0};
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS};
	struct rte_eth_dev_info info;

	(void)state;
	testport_fail(port_id, TESTPORT_OP_CONFIGURE, EIO, 0);
	assert_int_equal(port_setup(port_id, 2, N_DESC, &conf, pool), -EIO);
	testport_fail(port_id, TESTPORT_OP_CONFIGURE, 0, 0);
	testport_fail(port_id, TESTPORT_OP_RX_QUEUE_SETUP, ENOMEM, 1);
	assert_int_equal(rte_eth_dev_configure(port_id, 2, 2, &conf), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port_id, 0, N_DESC, 0, NULL, pool), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port_id, 1, N_DESC, 0, NULL, pool), -ENOMEM);
	testport_fail(port_id, TESTPORT_OP_RX_QUEUE_SETUP, 0, 0);
	testport_fail(port_id, TESTPORT_OP_TX_QUEUE_SETUP, EBUSY, 0);
	assert_int_equal(port_setup(port_id, 2, N_DESC, &conf, pool), -EBUSY);
	assert_int_equal(rte_eth_dev_start(port_id), -EINVAL); /* a queue is missing */
	testport_fail(port_id, TESTPORT_OP_TX_QUEUE_SETUP, 0, 0);
	testport_fail(port_id, TESTPORT_OP_START, ETIMEDOUT, 0);
	assert_int_equal(port_setup(port_id, 2, N_DESC, &conf, pool), 0);
	assert_int_equal(rte_eth_dev_start(port_id), -ETIMEDOUT);
	assert_false(link_is_up(port_id));
	testport_fail(port_id, TESTPORT_OP_START, 0, 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);

	for (int op = TESTPORT_OP_INFO_GET; op < TESTPORT_N_OPS; op++)
		testport_fail(port_id, (enum testport_op)op, EPERM, 0);
	testport_fail(port_id, TESTPORT_OP_STOP, EPERM, 0);
	assert_int_equal(rte_eth_dev_info_get(port_id, &info), -EPERM);
	testport_fail(port_id, TESTPORT_OP_INFO_GET, 0, 0);
	assert_int_equal(rte_eth_dev_set_mtu(port_id, 1400), -EPERM);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(port_id, &mac), -EPERM);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(port_id, &mac, 1), -EPERM);
	assert_int_equal(rte_eth_promiscuous_enable(port_id), -EPERM);
	assert_int_equal(rte_eth_promiscuous_get(port_id), 0);
	assert_int_equal(rte_eth_allmulticast_enable(port_id), -EPERM);
	reta.mask = 1;
	assert_int_equal(rte_eth_dev_rss_reta_update(port_id, &reta, 64), -EPERM);
	assert_int_equal(rte_eth_dev_rss_hash_update(port_id, &rss), -EPERM);
	assert_int_equal(rte_eth_dev_stop(port_id), -EPERM);
	assert_int_equal(testport_fail(port_id, TESTPORT_N_OPS, EPERM, 0), -EINVAL);
}

/* A whole port; whatever was reached is undone when a step fails. */
static int
whole_port_create(void *arg)
{
	static const uint8_t frame_bytes[60];
	const struct testport_frame frame = {.bytes = frame_bytes, .len_bytes = 60};
	const struct testport_cfg *cfg = arg;
	struct rte_eth_conf conf = {0};
	uint16_t port_id;
	int err = testport_create(PORT_A, cfg, &port_id);

	if (err != 0)
		return err;
	err = port_setup(port_id, 2, N_DESC, &conf, pool);
	if (err == 0 && cfg->mode == TESTPORT_FEED)
		err = testport_feed(port_id, &frame, 1, NULL, NULL, false);
	if (err == 0)
		err = rte_eth_dev_start(port_id);
	if (err != 0)
		testport_destroy(PORT_A);
	return err;
}

static void
whole_port_destroy(void *arg)
{
	(void)arg;
	assert_int_equal(testport_destroy(PORT_A), 0);
}

static void
each_refused_allocation_is_survived(void **state)
{
	struct testport_cfg cfgs[] = {
		{.mode = TESTPORT_RING},
		{.mode = TESTPORT_PAIR, .cable = "red"},
		{.mode = TESTPORT_FEED},
	};

	(void)state;
	/* Port and address; rings of two queues each way, or posted mbufs and the supply. */
	assert_true(ut_fail_all(whole_port_create, whole_port_destroy, &cfgs[0]) >= 6);
	assert_true(ut_fail_all(whole_port_create, whole_port_destroy, &cfgs[1]) >= 4);
	assert_true(ut_fail_all(whole_port_create, whole_port_destroy, &cfgs[2]) >= 7);
}

static atomic_uint n_lsc;

static int
lsc_count(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port_id;
	(void)event;
	(void)arg;
	(void)ret;
	atomic_fetch_add(&n_lsc, 1);
	return 0;
}

static void
link_follows_the_cable(void **state)
{
	struct testport_cfg cfg = {0};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = {.intr_conf.lsc = 1};
	struct rte_mbuf *m = udp_mbuf();

	(void)state;
	atomic_store(&n_lsc, 0);
	rte_eth_dev_callback_register(port_id, RTE_ETH_EVENT_INTR_LSC, lsc_count, NULL);
	assert_false(link_is_up(port_id));
	port_open(port_id, 1, &conf, pool);
	assert_true(link_is_up(port_id));
	assert_int_equal(atomic_load(&n_lsc), 1);

	assert_int_equal(testport_set_link(port_id, false), 0);
	assert_false(link_is_up(port_id));
	assert_int_equal(atomic_load(&n_lsc), 2);
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 0);
	assert_int_equal(testport_inject(port_id, 0, &m, 1), 0);
	assert_int_equal(testport_set_link(port_id, true), 0);
	assert_int_equal(testport_set_link(port_id, true), 0); /* no change, no event */
	assert_int_equal(atomic_load(&n_lsc), 3);
	assert_true(link_is_up(port_id));

	assert_int_equal(rte_eth_dev_set_link_down(port_id), 0);
	assert_false(link_is_up(port_id));
	assert_int_equal(rte_eth_dev_set_link_up(port_id), 0);
	assert_true(link_is_up(port_id));
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	rte_eth_dev_callback_unregister(port_id, RTE_ETH_EVENT_INTR_LSC, lsc_count, NULL);
}

/* --- Ring mode: receiving -------------------------------------------------------------------- */

static void
injected_frames_arrive_as_they_are(void **state)
{
	struct testport_cfg cfg = {0};
	uint16_t port_id = ring_open(&cfg, 2);
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *in[4], *out[4];
	uint8_t frame[FRAME_SIZE];
	const size_t cuts[] = {1, 14, 14, 35};
	size_t len = ut_pkt_bytes(&pkt, frame, sizeof(frame));
	struct rte_eth_stats stats;

	(void)state;
	in[0] = ut_pkt_mbuf(&pkt, pool);
	in[1] = ut_guard_mbuf(pool, frame, len);
	in[2] = ut_guard_mbuf_split(pool, frame, len, cuts, UT_N(cuts));
	in[3] = ut_guard_mbuf(pool, frame, 0);
	for (size_t i = 0; i < UT_N(in); i++)
		in[i]->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_BAD; /* stale: the port writes its own */
	assert_int_equal(testport_inject(port_id, 1, in, 4), 4);
	assert_int_equal(testport_rx_pending(port_id, 1), 4);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, out, 4), 0);
	assert_int_equal(rte_eth_rx_burst(port_id, 1, out, 4), 4);
	for (size_t i = 0; i < UT_N(out); i++) {
		assert_ptr_equal(out[i], in[i]);
		assert_int_equal(out[i]->port, port_id);
		assert_int_equal(out[i]->ol_flags & ~RTE_MBUF_F_EXTERNAL, 0);
		if (i < 3)
			check_frame(out[i], &pkt, "frame");
	}
	stats = stats_of(port_id);
	assert_int_equal(stats.ipackets, 4);
	assert_int_equal(stats.ibytes, 3 * len);
	assert_int_equal(stats.q_ipackets[0], 0);
	assert_int_equal(stats.q_ipackets[1], 4);
	rte_pktmbuf_free_bulk(out, 4);
	assert_int_equal(ut_guard_live(), 0);
	assert_int_equal(rte_eth_stats_reset(port_id), 0);
	assert_int_equal(stats_of(port_id).ipackets, 0);
}

static void
full_queue_and_lying_chain_stay_with_the_caller(void **state)
{
	struct testport_cfg cfg = {0};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_mbuf *in[N_DESC + 1];

	(void)state;
	for (size_t i = 0; i < UT_N(in); i++)
		in[i] = udp_mbuf();
	assert_int_equal(testport_inject(port_id, 0, in, UT_N(in)), N_DESC);
	rte_pktmbuf_free(in[N_DESC]);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, in, UT_N(in)), N_DESC);

	in[1]->pkt_len++;
	assert_int_equal(testport_inject(port_id, 0, in, 3), 1);
	in[1]->pkt_len--;
	in[1]->nb_segs = 2;
	assert_int_equal(testport_inject(port_id, 0, &in[1], 1), 0);
	in[1]->nb_segs = 1;
	rte_pktmbuf_free_bulk(&in[1], N_DESC - 1);
}

struct flags_row {
	const char *what;
	struct ut_pkt pkt;
	uint64_t want;
};

static void
rx_checksum_flags_are_true(void **state)
{
	const uint64_t ip_good = RTE_MBUF_F_RX_IP_CKSUM_GOOD, ip_bad = RTE_MBUF_F_RX_IP_CKSUM_BAD;
	const uint64_t l4_good = RTE_MBUF_F_RX_L4_CKSUM_GOOD, l4_bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;
	struct flags_row rows[] = {
		{"all well", ut_pkt_udp(), ip_good | l4_good},
		{"odd payload", ut_pkt_udp(), ip_good | l4_good},
		{"no UDP checksum", ut_pkt_udp(), ip_good},
		{"bad UDP checksum", ut_pkt_udp(), ip_good | l4_bad},
		{"bad IP checksum", ut_pkt_udp(), ip_bad | l4_good},
		{"fragment", ut_pkt_udp(), ip_good},
		{"IP options", ut_pkt_udp(), ip_good | l4_good},
		{"VLAN tag", ut_pkt_udp(), ip_good | l4_good},
		{"IP length beyond the frame", ut_pkt_udp(), ip_good},
		{"UDP length beyond the packet", ut_pkt_udp(), ip_good},
		{"padding behind the packet", ut_pkt_udp(), ip_good | l4_good},
		{"ICMP", ut_pkt_icmp_echo(), ip_good},
		{"ARP", ut_pkt_arp_request(), 0},
	};
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM |
						  RTE_ETH_RX_OFFLOAD_UDP_CKSUM};
	uint16_t port_id = ring_open(&cfg, 1);
	uint8_t frame[FRAME_SIZE];

	(void)state;
	rows[1].pkt.payload_len = 19;
	rows[2].pkt.udp_csum = 0;
	rows[3].pkt.udp_csum = 0x1234;
	rows[4].pkt.ip_csum = 0x1234;
	rows[5].pkt.ip_frag = 0x2000;
	rows[6].pkt.ip_opt_len = 8;
	rows[7].pkt.vlan_tci = 5;
	rows[8].pkt.ip_total_len = 1000;
	rows[9].pkt.udp_len = 1000;
	rows[10].pkt.trailer_len = 9;
	for (size_t i = 0; i < UT_N(rows); i++) {
		size_t len = ut_pkt_bytes(&rows[i].pkt, frame, sizeof(frame));

		/* Whole, and cut at each place: the answer is the same and no byte more is read. */
		for (size_t cut = 0; cut < RTE_MIN(len, (size_t)50); cut++) {
			struct rte_mbuf *m = ut_guard_mbuf_split(pool, frame, len, &cut, 1);

			m = pass_rx(port_id, m);
			ut_check((m->ol_flags & ~RTE_MBUF_F_EXTERNAL) == rows[i].want,
				 "%s, cut at %zu: flags 0x%" PRIx64, rows[i].what, cut,
				 m->ol_flags);
			rte_pktmbuf_free(m);
		}
	}
}

static void
truncated_frames_are_never_read_beyond(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = TESTPORT_RX_OFFLOADS, .reta_size = 64};
	uint16_t port_id = ring_open(&cfg, 2);
	struct ut_pkt pkt = ut_pkt_udp();
	uint8_t frame[FRAME_SIZE];
	size_t len;

	(void)state;
	testport_set_distribute(port_id, true);
	pkt.vlan_tci = 7;
	pkt.ip_opt_len = 40;
	len = ut_pkt_bytes(&pkt, frame, sizeof(frame));
	for (size_t n = 0; n <= len; n++) {
		struct rte_mbuf *m = ut_guard_mbuf(pool, frame, n);
		uint16_t q = 0;

		assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
		while (rte_eth_rx_burst(port_id, q, &m, 1) == 0)
			ut_check(++q < 2, "%zu bytes did not arrive", n);
		rte_pktmbuf_free(m);
	}
	len = udp6_bytes(frame, true);
	for (size_t n = 0; n <= len; n++) {
		struct rte_mbuf *m = ut_guard_mbuf(pool, frame, n);
		uint16_t q = 0;

		assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
		while (rte_eth_rx_burst(port_id, q, &m, 1) == 0)
			ut_check(++q < 2, "%zu bytes of IPv6 did not arrive", n);
		rte_pktmbuf_free(m);
	}
}

static void
rx_flags_lie_when_told(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = TESTPORT_RX_OFFLOADS, .reta_size = 64};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_mbuf *m;

	(void)state;
	assert_int_equal(testport_force_rx_flags(port_id, RTE_MBUF_F_RX_L4_CKSUM_MASK,
						 RTE_MBUF_F_RX_L4_CKSUM_NONE),
			 0);
	assert_int_equal(testport_force_rss_hash(port_id, true, 0xdeadbeef), 0);
	m = pass_rx(port_id, udp_mbuf());
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_NONE);
	assert_true(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD);
	assert_int_equal(m->hash.rss, 0xdeadbeef);
	assert_int_equal(testport_force_rx_flags(port_id, 0, 0), 0);
	m = pass_rx(port_id, m);
	assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	rte_pktmbuf_free(m);
	assert_int_equal(testport_force_rx_flags(port_id, RTE_MBUF_F_EXTERNAL, 0), -EINVAL);
}

/* The vectors that Microsoft publishes for its example key, which is the port's default. */
static void
rss_hash_matches_published_vectors(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH, .reta_size = 64};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_eth_rss_conf rss = {.rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_IPV6};
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *m;
	uint8_t frame[FRAME_SIZE];
	uint8_t key[40] = {0};
	size_t len = udp6_bytes(frame, true);

	(void)state;
	pkt.ip_src = UT_IP(66, 9, 149, 187);
	pkt.ip_dst = UT_IP(161, 142, 100, 80);
	pkt.udp_sport = 2794;
	pkt.udp_dport = 1766;
	m = pass_rx(port_id, ut_pkt_mbuf(&pkt, pool));
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_RSS_HASH);
	assert_int_equal(m->hash.rss, 0x51ccc178);
	rte_pktmbuf_free(m);
	m = pass_rx(port_id, ut_bytes_mbuf(frame, len, pool));
	assert_int_equal(m->hash.rss, 0x40207d3d);
	rte_pktmbuf_free(m);

	pkt.ip_frag = 0x2000; /* no ports in fragments */
	m = pass_rx(port_id, ut_pkt_mbuf(&pkt, pool));
	assert_int_equal(m->hash.rss, 0x323e8fc2);
	rte_pktmbuf_free(m);

	assert_int_equal(rte_eth_dev_rss_hash_update(port_id, &rss), 0);
	m = pass_rx(port_id, ut_bytes_mbuf(frame, len, pool));
	assert_int_equal(m->hash.rss, 0x2cc18cd5);
	rte_pktmbuf_free(m);

	rss.rss_key = key;
	rss.rss_key_len = 40;
	key[39] = 1;
	assert_int_equal(rte_eth_dev_rss_hash_update(port_id, &rss), 0);
	m = pass_rx(port_id, ut_bytes_mbuf(frame, len, pool));
	assert_int_equal(m->hash.rss, 0);
	rte_pktmbuf_free(m);
	memset(key, 0, sizeof(key));
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(port_id, &rss), 0);
	assert_int_equal(key[39], 1);

	/* ARP has no hash. */
	pkt = ut_pkt_arp_request();
	m = pass_rx(port_id, ut_pkt_mbuf(&pkt, pool));
	assert_int_equal(m->ol_flags, 0);
	rte_pktmbuf_free(m);
}

static void
distribution_follows_the_reta(void **state)
{
	struct testport_cfg cfg = {
		.rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH, .reta_size = 128, .distribute = true};
	uint16_t port_id = ring_open(&cfg, 4);
	struct rte_eth_rss_reta_entry64 reta[2] = {0};
	struct ut_pkt pkt = ut_pkt_udp();
	uint32_t n_seen[4] = {0};
	struct rte_mbuf *m;

	(void)state;
	reta[0].mask = UINT64_MAX;
	reta[1].mask = UINT64_MAX;
	assert_int_equal(rte_eth_dev_rss_reta_query(port_id, reta, 128), 0);
	for (uint16_t i = 0; i < 128; i++)
		assert_int_equal(reta[i / 64].reta[i % 64], i % 4);
	for (uint16_t port = 1; port <= 64; port++) {
		uint16_t q = 0;

		pkt.udp_sport = port;
		m = ut_pkt_mbuf(&pkt, pool);
		assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
		while (rte_eth_rx_burst(port_id, q, &m, 1) == 0)
			ut_check(++q < 4, "port %u did not arrive", port);
		assert_int_equal(q, m->hash.rss % 128 % 4);
		n_seen[q]++;
		rte_pktmbuf_free(m);
	}
	for (size_t q = 0; q < UT_N(n_seen); q++)
		ut_check(n_seen[q] > 0, "queue %zu got nothing", q);

	for (uint16_t i = 0; i < 64; i++) {
		reta[0].reta[i] = 3;
		reta[1].reta[i] = 3;
	}
	reta[1].mask = 0; /* leaves the second half alone */
	assert_int_equal(rte_eth_dev_rss_reta_update(port_id, reta, 128), 0);
	for (uint16_t port = 1; port <= 64; port++) {
		uint16_t q = 0;

		pkt.udp_sport = port;
		m = ut_pkt_mbuf(&pkt, pool);
		assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
		while (rte_eth_rx_burst(port_id, q, &m, 1) == 0)
			ut_check(++q < 4, "port %u did not arrive", port);
		assert_int_equal(q, m->hash.rss % 128 < 64 ? 3 : m->hash.rss % 4);
		rte_pktmbuf_free(m);
	}
}

static void
vlan_tags_are_stripped_and_inserted(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_STRIP,
				   .tx_offloads = TESTPORT_TX_OFFLOADS &
						  ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE};
	uint16_t port_id = ring_open(&cfg, 1);
	struct ut_pkt tagged = ut_pkt_udp();
	struct ut_pkt plain = ut_pkt_udp();
	struct rte_mbuf *m;

	(void)state;
	tagged.vlan_tci = 0x6123;
	m = pass_rx(port_id, ut_pkt_mbuf(&tagged, pool));
	assert_int_equal(m->ol_flags, RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
	assert_int_equal(m->vlan_tci, 0x6123);
	check_frame(m, &plain, "stripped");
	rte_pktmbuf_free(m);

	m = udp_mbuf_offload(&plain);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 0x6123;
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &m, 1), 1);
	check_frame(m, &tagged, "inserted");
	rte_pktmbuf_free(m);

	/* A tag that is in the frame already is part of l2_len. */
	m = udp_mbuf_offload(&tagged);
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &m, 1), 1);
	check_frame(m, &tagged, "tagged");
	rte_pktmbuf_free(m);
	assert_int_equal(testport_errors(port_id), 0);
	assert_int_equal(testport_inserted(port_id), 2);
}

static void
timestamps_are_what_was_set(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_TIMESTAMP};
	uint16_t port_id = ring_open(&cfg, 1);
	int offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, NULL);
	int bit = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, NULL);
	struct rte_mbuf *m;

	(void)state;
	assert_true(offset > 0 && bit > 0);
	assert_int_equal(testport_set_timestamp(port_id, UINT64_C(123456789012)), 0);
	m = pass_rx(port_id, udp_mbuf());
	assert_int_equal(m->ol_flags, RTE_BIT64(bit));
	assert_int_equal(*RTE_MBUF_DYNFIELD(m, offset, rte_mbuf_timestamp_t *),
			 UINT64_C(123456789012));
	rte_pktmbuf_free(m);
}

/* --- Ring mode: transmitting ----------------------------------------------------------------- */

static void
tx_inserts_right_checksums(void **state)
{
	struct testport_cfg cfg = {.tx_offloads = TESTPORT_TX_OFFLOADS &
						  ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE};
	uint16_t port_id = ring_open(&cfg, 1);
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *m, *got;
	uint8_t frame[FRAME_SIZE], bytes[FRAME_SIZE];
	size_t len;

	(void)state;
	for (size_t payload = 0; payload < 80; payload++) {
		pkt.payload_len = payload;
		m = udp_mbuf_offload(&pkt);
		assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
		assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
		assert_ptr_equal(got, m);
		assert_int_equal(got->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK, 0);
		check_frame(got, &pkt, "whole");
		rte_pktmbuf_free(got);
	}

	/* A sum of zero is sent as 0xffff: move the source port by what the checksum is short of it. */
	len = ut_pkt_bytes(&pkt, frame, sizeof(frame));
	if ((uint32_t)pkt.udp_sport + ut_get16(frame + 40) > 0xffff)
		pkt.udp_sport++; /* end-around carry */
	pkt.udp_sport = (uint16_t)(pkt.udp_sport + ut_get16(frame + 40));
	m = udp_mbuf_offload(&pkt);
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
	assert_int_equal(ut_get16(rte_pktmbuf_mtod_offset(got, uint8_t *, 40)), 0xffff);
	rte_pktmbuf_free(got);

	/* In a chain cut at each place. */
	m = udp_mbuf_offload(&pkt);
	len = ut_mbuf_bytes(m, frame, sizeof(frame));
	for (size_t cut = 1; cut < len; cut++) {
		struct rte_mbuf *chain = ut_guard_mbuf_split(pool, frame, len, &cut, 1);

		chain->ol_flags |= m->ol_flags;
		chain->tx_offload = m->tx_offload;
		assert_int_equal(rte_eth_tx_burst(port_id, 0, &chain, 1), 1);
		assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
		check_frame(got, &pkt, "chain");
		rte_pktmbuf_free(got);
	}
	rte_pktmbuf_free(m);

	len = udp6_bytes(frame, false);
	m = ut_bytes_mbuf(frame, len, pool);
	m->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM;
	m->l2_len = 14;
	m->l3_len = 40;
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
	udp6_bytes(frame, true);
	assert_int_equal(ut_mbuf_bytes(got, bytes, sizeof(bytes)), len);
	ut_check_bytes(bytes, frame, len, "IPv6");
	rte_pktmbuf_free(got);
	assert_int_equal(testport_errors(port_id), 0);
}

static void
tx_leaves_shared_buffers_alone(void **state)
{
	struct testport_cfg cfg = {.tx_offloads = TESTPORT_TX_OFFLOADS &
						  ~RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE};
	uint16_t port_id = ring_open(&cfg, 1);
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *m = udp_mbuf_offload(&pkt);
	struct rte_mbuf *clone = rte_pktmbuf_clone(m, pool);
	struct rte_mbuf *got;
	uint8_t before[FRAME_SIZE], after[FRAME_SIZE];
	size_t len = ut_mbuf_bytes(m, before, sizeof(before));

	(void)state;
	clone->ol_flags |= RTE_MBUF_F_TX_VLAN; /* a tag needs headroom besides */
	clone->vlan_tci = 9;
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &clone, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
	pkt.vlan_tci = 9;
	check_frame(got, &pkt, "clone");
	rte_pktmbuf_free(got);
	pkt.vlan_tci = UT_AUTO;

	/* Private, but the tag finds no headroom. */
	got = udp_mbuf_offload(&pkt);
	memmove(got->buf_addr, rte_pktmbuf_mtod(got, void *), got->data_len);
	got->data_off = 0;
	got->ol_flags |= RTE_MBUF_F_TX_VLAN;
	got->vlan_tci = 9;
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &got, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
	pkt.vlan_tci = 9;
	check_frame(got, &pkt, "no headroom");
	rte_pktmbuf_free(got);
	pkt.vlan_tci = UT_AUTO;

	rte_mbuf_refcnt_update(m, 1);
	got = m;
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &got, 1), 1);
	assert_int_equal(testport_collect(port_id, 0, &got, 1), 1);
	assert_ptr_not_equal(got, m);
	check_frame(got, &pkt, "held");
	rte_pktmbuf_free(got);

	assert_int_equal(rte_mbuf_refcnt_read(m), 1);
	assert_int_equal(ut_mbuf_bytes(m, after, sizeof(after)), len);
	ut_check_bytes(after, before, len, "the original");
	rte_pktmbuf_free(m);
	assert_int_equal(testport_errors(port_id), 0);
}

/* One thing wrong with a frame that was right. */
typedef struct rte_mbuf *(*spoil_fn)(struct rte_mbuf *m);

#define SPOIL(name, ...)                                                                           \
	static struct rte_mbuf *name(struct rte_mbuf *m)                                           \
	{                                                                                          \
		uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);                                   \
		(void)frame;                                                                       \
		__VA_ARGS__;                                                                       \
		return m;                                                                          \
	}

/* clang-format off */
SPOIL(spoil_nothing, )
SPOIL(spoil_tso, m->ol_flags |= RTE_MBUF_F_TX_TCP_SEG)
SPOIL(spoil_tcp, m->ol_flags ^= RTE_MBUF_F_TX_UDP_CKSUM ^ RTE_MBUF_F_TX_TCP_CKSUM)
SPOIL(spoil_no_version, m->ol_flags &= ~RTE_MBUF_F_TX_IPV4)
SPOIL(spoil_both_versions, m->ol_flags |= RTE_MBUF_F_TX_IPV6)
SPOIL(spoil_version, m->ol_flags ^= RTE_MBUF_F_TX_IPV4 ^ RTE_MBUF_F_TX_IPV6)
SPOIL(spoil_version6, m->ol_flags = RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM)
SPOIL(spoil_l2_len, m->l2_len = 18)
SPOIL(spoil_l3_len, m->l3_len = 24)
SPOIL(spoil_ip_field, frame[24] = 1)
SPOIL(spoil_pseudo, frame[40] ^= 1)
SPOIL(spoil_proto, frame[23] = 6)
SPOIL(spoil_fragment, frame[20] = 0x20)
SPOIL(spoil_ip_len, frame[16] = 9)
SPOIL(spoil_udp_len, frame[39]--)
SPOIL(spoil_pkt_len, m->pkt_len++)
SPOIL(spoil_nb_segs, m->nb_segs++)
SPOIL(spoil_runt, m->pkt_len = m->data_len = 13; m->ol_flags = 0)
SPOIL(spoil_giant, rte_pktmbuf_append(m, 1500))
SPOIL(spoil_trailer, rte_pktmbuf_append(m, 1))
SPOIL(spoil_chain, rte_pktmbuf_chain(m, ut_bytes_mbuf("x", 1, pool)); m->ol_flags = 0)
SPOIL(spoil_empty_seg, struct rte_mbuf *e = rte_pktmbuf_alloc(pool); m->next = e; m->nb_segs = 2)
SPOIL(spoil_refcnt, rte_mbuf_refcnt_update(m, 1); m->ol_flags = 0)
SPOIL(spoil_clone, struct rte_mbuf *c = rte_pktmbuf_clone(m, pool); rte_pktmbuf_free(m); m = c)
SPOIL(spoil_pool, struct rte_mbuf *c = rte_pktmbuf_copy(m, pool_b, 0, UINT32_MAX); rte_pktmbuf_free(m); m = c)
SPOIL(spoil_vlan, m->ol_flags = RTE_MBUF_F_TX_VLAN)
/* clang-format on */

#define CKSUMS (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM)
#define SEGS   (CKSUMS | RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
#define FAST   (CKSUMS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)

static void
tx_names_each_mistake(void **state)
{
	static const struct {
		const char *what;
		spoil_fn spoil;
		uint64_t offloads; /* enabled on the queue */
		enum testport_error want;
	} rows[] = {
		{"nothing", spoil_nothing, CKSUMS, TESTPORT_N_ERRORS},
		{"no offload at all", spoil_nothing, 0, TESTPORT_ERR_OFFLOAD},
		{"no ipv4_cksum", spoil_nothing, RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
		 TESTPORT_ERR_OFFLOAD},
		{"no udp_cksum", spoil_nothing, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,
		 TESTPORT_ERR_OFFLOAD},
		{"TSO", spoil_tso, CKSUMS, TESTPORT_ERR_OFFLOAD},
		{"TCP checksum", spoil_tcp, CKSUMS, TESTPORT_ERR_OFFLOAD},
		{"no vlan_insert", spoil_vlan, CKSUMS, TESTPORT_ERR_OFFLOAD},
		{"no version", spoil_no_version, CKSUMS, TESTPORT_ERR_FLAGS},
		{"two versions", spoil_both_versions, CKSUMS, TESTPORT_ERR_FLAGS},
		{"IPv6 header checksum", spoil_version, CKSUMS, TESTPORT_ERR_FLAGS},
		{"IPv4 frame as IPv6", spoil_version6, CKSUMS, TESTPORT_ERR_HEADER},
		{"l2_len", spoil_l2_len, CKSUMS, TESTPORT_ERR_LENS},
		{"l3_len", spoil_l3_len, CKSUMS, TESTPORT_ERR_LENS},
		{"IP checksum not zero", spoil_ip_field, CKSUMS, TESTPORT_ERR_SEED},
		{"no pseudo-header sum", spoil_pseudo, CKSUMS, TESTPORT_ERR_SEED},
		{"not UDP", spoil_proto, CKSUMS, TESTPORT_ERR_HEADER},
		{"fragment", spoil_fragment, CKSUMS, TESTPORT_ERR_HEADER},
		{"IP length", spoil_ip_len, CKSUMS, TESTPORT_ERR_HEADER},
		{"UDP length", spoil_udp_len, CKSUMS, TESTPORT_ERR_HEADER},
		{"bytes behind the datagram", spoil_trailer, CKSUMS, TESTPORT_ERR_HEADER},
		{"pkt_len", spoil_pkt_len, CKSUMS, TESTPORT_ERR_CHAIN},
		{"nb_segs", spoil_nb_segs, CKSUMS, TESTPORT_ERR_CHAIN},
		{"empty segment", spoil_empty_seg, SEGS, TESTPORT_ERR_CHAIN},
		{"runt", spoil_runt, CKSUMS, TESTPORT_ERR_SIZE},
		{"beyond the MTU", spoil_giant, CKSUMS, TESTPORT_ERR_SIZE},
		{"chain", spoil_chain, CKSUMS, TESTPORT_ERR_MULTI_SEG},
		{"chain allowed", spoil_chain, SEGS, TESTPORT_N_ERRORS},
		{"reference held", spoil_refcnt, FAST, TESTPORT_ERR_FAST_FREE},
		{"reference held, no fast_free", spoil_refcnt, CKSUMS, TESTPORT_N_ERRORS},
		{"clone", spoil_clone, FAST, TESTPORT_ERR_FAST_FREE},
		{"second pool", spoil_pool, FAST, TESTPORT_ERR_FAST_FREE},
		{"second pool, no fast_free", spoil_pool, CKSUMS, TESTPORT_N_ERRORS},
	};
	struct testport_cfg cfg = {.tx_offloads = TESTPORT_TX_OFFLOADS};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct ut_pkt pkt = ut_pkt_udp();

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		struct rte_eth_conf conf = {.txmode.offloads = rows[i].offloads};
		struct rte_mbuf *first = udp_mbuf(); /* fixes the queue's pool */
		struct rte_mbuf *m = rows[i].spoil(udp_mbuf_offload(&pkt));
		uint64_t before = testport_errors_of(port_id, rows[i].want % TESTPORT_N_ERRORS);
		uint64_t all_before = testport_errors(port_id);
		bool held = rows[i].spoil == spoil_refcnt;
		bool bad = rows[i].want != TESTPORT_N_ERRORS;
		struct rte_mbuf *burst[2] = {first, m};

		port_open(port_id, 1, &conf, pool);
		assert_int_equal(rte_eth_stats_reset(port_id), 0);
		ut_check(rte_eth_tx_burst(port_id, 0, burst, 2) == 2, "%s", rows[i].what);
		ut_check(testport_errors(port_id) == all_before + bad,
			 "%s: %" PRIu64 " errors, want %d", rows[i].what,
			 testport_errors(port_id) - all_before, bad);
		if (bad)
			ut_check(testport_errors_of(port_id, rows[i].want) == before + 1,
				 "%s: not counted as '%s'", rows[i].what,
				 testport_error_name(rows[i].want));
		ut_check(stats_of(port_id).oerrors == bad, "%s", rows[i].what);
		ut_check(stats_of(port_id).opackets == 2u - bad, "%s", rows[i].what);
		ut_check(testport_discard(port_id) == 2u - bad, "%s", rows[i].what);
		if (held)
			rte_pktmbuf_free(m);
		assert_int_equal(rte_eth_dev_stop(port_id), 0);
	}
}

static void
queue_offloads_count_as_enabled(void **state)
{
	struct testport_cfg cfg = {.tx_offloads = CKSUMS};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = {0};
	struct rte_eth_txconf txconf = {.offloads = CKSUMS};
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *m;

	(void)state;
	assert_int_equal(port_setup(port_id, 2, N_DESC, &conf, pool), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port_id, 1, N_DESC, 0, &txconf), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	m = udp_mbuf_offload(&pkt);
	assert_int_equal(rte_eth_tx_burst(port_id, 1, &m, 1), 1);
	assert_int_equal(testport_errors(port_id), 0);
	m = udp_mbuf_offload(&pkt);
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m, 1), 1);
	assert_int_equal(testport_errors(port_id), 1);
	assert_int_equal(testport_discard(port_id), 1);
}

/* --- Faults ---------------------------------------------------------------------------------- */

static void
tx_takes_what_it_is_told_to(void **state)
{
	struct testport_cfg cfg = {.tx_accept = 3};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_mbuf *m[N_DESC + 8];
	uint16_t n = 0;

	(void)state;
	for (size_t i = 0; i < UT_N(m); i++)
		m[i] = udp_mbuf();
	assert_int_equal(rte_eth_tx_burst(port_id, 0, m, 10), 3);
	assert_int_equal(testport_set_tx_accept(port_id, 0), 0);
	assert_int_equal(rte_eth_tx_burst(port_id, 0, &m[3], 10), 0);
	assert_int_equal(testport_set_tx_accept(port_id, UINT16_MAX), 0);
	n = (uint16_t)(3 + rte_eth_tx_burst(port_id, 0, &m[3], UT_N(m) - 3));
	assert_int_equal(n, N_DESC); /* full */
	assert_int_equal(stats_of(port_id).opackets, N_DESC);
	assert_int_equal(testport_tx_pending(port_id, 0), N_DESC);
	rte_pktmbuf_free_bulk(&m[n], UT_N(m) - n);
	assert_int_equal(testport_collect(port_id, 0, m, UT_N(m)), N_DESC);
	rte_pktmbuf_free_bulk(m, N_DESC);
}

static void
every_kth_frame_is_lost(void **state)
{
	struct testport_cfg cfg = {.tx_drop_every = 4};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_mbuf *m[12];

	(void)state;
	for (size_t i = 0; i < UT_N(m); i++)
		m[i] = udp_mbuf();
	assert_int_equal(rte_eth_tx_burst(port_id, 0, m, 12), 12);
	assert_int_equal(testport_dropped(port_id), 3);
	assert_int_equal(testport_collect(port_id, 0, m, 12), 9);
	assert_int_equal(testport_set_drop_every(port_id, TESTPORT_RX, 3), 0);
	assert_int_equal(testport_inject(port_id, 0, m, 9), 9);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, m, 12), 6);
	assert_int_equal(testport_dropped(port_id), 6);
	assert_int_equal(stats_of(port_id).ipackets, 6);
	rte_pktmbuf_free_bulk(m, 6);
}

static void
rx_stalls_and_misses_when_told(void **state)
{
	struct testport_cfg cfg = {0};
	uint16_t port_id = ring_open(&cfg, 1);
	struct rte_mbuf *m = udp_mbuf();

	(void)state;
	assert_int_equal(testport_set_rx_stall(port_id, true), 0);
	assert_int_equal(testport_inject(port_id, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, &m, 1), 0);
	assert_int_equal(testport_set_rx_stall(port_id, false), 0);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, &m, 1), 1);
	rte_pktmbuf_free(m);
	assert_int_equal(testport_add_missed(port_id, 41), 0);
	assert_int_equal(testport_add_missed(port_id, 1), 0);
	assert_int_equal(stats_of(port_id).imissed, 42);
	assert_int_equal(testport_set_pause(port_id, true), -ENOTSUP);
	assert_int_equal(testport_set_rx_stall(RTE_MAX_ETHPORTS, true), -ENODEV);
}

/* --- Pair mode ------------------------------------------------------------------------------- */

static void
cable_carries_copies_both_ways(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = TESTPORT_RX_OFFLOADS,
				   .tx_offloads = TESTPORT_TX_OFFLOADS};
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_mbuf *m, *got;
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	assert_true(link_is_up(a) && link_is_up(b));

	m = udp_mbuf_offload(&pkt);
	m->ol_flags |= RTE_MBUF_F_TX_VLAN;
	m->vlan_tci = 77;
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(testport_rx_pending(b, 0), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &got, 1), 1);
	assert_ptr_equal(got->pool, pool_b);
	assert_int_equal(ut_pool_missing(pool), 0);
	assert_int_equal(got->port, b);
	assert_int_equal(got->vlan_tci, 77);
	assert_true(got->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED);
	assert_true(got->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_GOOD);
	assert_true(got->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_GOOD);
	check_frame(got, &pkt, "over the cable");

	assert_int_equal(rte_eth_tx_burst(b, 0, &got, 1), 1);
	assert_int_equal(rte_eth_rx_burst(a, 0, &m, 1), 1);
	check_frame(m, &pkt, "and back");
	rte_pktmbuf_free(m);

	/* Short frames are padded with zeros on the wire. */
	pkt.payload_len = 0;
	m = ut_pkt_mbuf(&pkt, pool);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &got, 1), 1);
	pkt.trailer_len = 60 - 42;
	assert_int_equal(got->pkt_len, 60);
	for (uint16_t i = 42; i < 60; i++)
		assert_int_equal(*rte_pktmbuf_mtod_offset(got, uint8_t *, i), 0);
	rte_pktmbuf_free(got);

	/* The test can put frames on a cable's end too. */
	m = udp_mbuf();
	assert_ptr_equal(pass_rx(b, m), m);
	rte_pktmbuf_free(m);
	assert_int_equal(testport_errors(a) + testport_errors(b), 0);
}

static void
link_needs_both_ends(void **state)
{
	struct testport_cfg cfg = {0};
	struct rte_mbuf *m = udp_mbuf();
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 2, &a, &b);
	assert_int_equal(rte_eth_tx_burst(a, 1, &m, 1), 1);
	assert_int_equal(testport_rx_pending(b, 1), 1); /* tx queue 1 to rx queue 1 */
	assert_int_equal(rte_eth_dev_stop(b), 0);
	assert_int_equal(ut_pool_missing(pool), 0);
	assert_false(link_is_up(a));
	m = udp_mbuf();
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 0);
	assert_int_equal(rte_eth_dev_start(b), 0);
	assert_true(link_is_up(a) && link_is_up(b));
	testport_set_link(b, false);
	assert_false(link_is_up(a) || link_is_up(b));
	testport_set_link(b, true);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &m, 1), 1);
	rte_pktmbuf_free(m);
}

static void
far_end_loses_or_holds_back(void **state)
{
	struct testport_cfg cfg = {0};
	struct rte_mbuf *m[N_DESC + 10];
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	for (size_t i = 0; i < UT_N(m); i++)
		m[i] = udp_mbuf();
	assert_int_equal(rte_eth_tx_burst(a, 0, m, UT_N(m)), UT_N(m));
	assert_int_equal(stats_of(a).opackets, UT_N(m));
	assert_int_equal(stats_of(b).imissed, 10);
	assert_int_equal(rte_eth_rx_burst(b, 0, m, UT_N(m)), N_DESC);
	rte_pktmbuf_free_bulk(m, N_DESC);

	testport_set_pause(a, true);
	for (size_t i = 0; i < UT_N(m); i++)
		m[i] = udp_mbuf();
	assert_int_equal(rte_eth_tx_burst(a, 0, m, UT_N(m)), N_DESC);
	rte_pktmbuf_free_bulk(&m[N_DESC], 10);
	assert_int_equal(stats_of(b).imissed, 10);
	assert_int_equal(rte_eth_rx_burst(b, 0, m, UT_N(m)), N_DESC);
	rte_pktmbuf_free_bulk(m, N_DESC);
}

static void
long_frames_need_mtu_and_scatter(void **state)
{
	struct testport_cfg cfg = {.rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
				   .tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS};
	struct ut_pkt pkt = ut_pkt_udp();
	struct rte_eth_conf conf = {0};
	struct rte_mbuf *m, *got;
	uint8_t sent[6000], bytes[6000];
	uint16_t a, b;
	size_t len;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	pkt.payload_len = 5000;
	len = ut_pkt_bytes(&pkt, sent, sizeof(sent));
	m = ut_pkt_mbuf(&pkt, pool);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(testport_errors_of(a, TESTPORT_ERR_SIZE), 1);
	assert_int_equal(rte_eth_dev_set_mtu(a, 6000), 0);

	m = ut_pkt_mbuf(&pkt, pool);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &got, 1), 0);
	assert_int_equal(stats_of(b).ierrors, 1);
	assert_int_equal(rte_eth_dev_set_mtu(b, 6000), 0);

	m = ut_pkt_mbuf(&pkt, pool);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &got, 1), 1);
	assert_true(got->nb_segs > 1);
	assert_int_equal(ut_mbuf_bytes(got, bytes, sizeof(bytes)), len);
	ut_check_bytes(bytes, sent, len, "scattered");
	rte_pktmbuf_free(got);

	assert_int_equal(rte_eth_dev_stop(b), 0);
	conf.rxmode.mtu = 6000;
	port_open(b, 1, &conf, pool_b);
	m = ut_pkt_mbuf(&pkt, pool);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &got, 1), 0);
	assert_int_equal(stats_of(b).ierrors, 2);
}

static void
empty_rx_pool_is_counted(void **state)
{
	struct testport_cfg cfg = {0};
	struct rte_mbuf *hoard[POOL_SIZE];
	struct rte_mbuf *m = udp_mbuf();
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool_b, hoard, POOL_SIZE), 0);
	assert_int_equal(rte_eth_tx_burst(a, 0, &m, 1), 1);
	assert_int_equal(rte_eth_rx_burst(b, 0, &m, 1), 0);
	assert_int_equal(stats_of(b).rx_nombuf, 1);
	rte_pktmbuf_free_bulk(hoard, POOL_SIZE);
}

static void
addresses_are_filtered(void **state)
{
	static const char group_a[] = "\x01\x00\x5e\x00\x00\x01",
			  group_b[] = "\x33\x33\x00\x00\x00\x02";
	struct testport_cfg cfg = {0};
	struct rte_ether_addr mac, list[2];
	struct ut_pkt pkt = ut_pkt_udp();
	uint64_t n_filtered = 0;
	struct rte_mbuf *m;
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	assert_int_equal(rte_eth_promiscuous_disable(b), 0);
	assert_int_equal(rte_eth_macaddr_get(b, &mac), 0);

#define SENT_TO(bytes)                                                                             \
	(memcpy(pkt.eth_dst, bytes, 6), m = ut_pkt_mbuf(&pkt, pool),                               \
	 rte_eth_tx_burst(a, 0, &m, 1) == 1 && rte_eth_rx_burst(b, 0, &m, 1) == 1                  \
		 ? (rte_pktmbuf_free(m), true)                                                     \
		 : (n_filtered++, false))

	assert_true(SENT_TO(mac.addr_bytes));
	assert_true(SENT_TO(UT_BROADCAST_MAC));
	assert_false(SENT_TO(UT_OUR_MAC));
	assert_false(SENT_TO(group_a));
	memcpy(&list[0], group_a, 6);
	memcpy(&list[1], group_b, 6);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(b, list, 2), 0);
	assert_true(SENT_TO(group_a));
	assert_true(SENT_TO(group_b));
	assert_int_equal(rte_eth_dev_set_mc_addr_list(b, NULL, 0), 0);
	assert_false(SENT_TO(group_b));
	assert_int_equal(rte_eth_allmulticast_enable(b), 0);
	assert_true(SENT_TO(group_b));
	memcpy(&mac, UT_OUR_MAC, 6);
	assert_int_equal(rte_eth_dev_default_mac_addr_set(b, &mac), 0);
	assert_true(SENT_TO(UT_OUR_MAC));
	assert_false(SENT_TO(UT_PEER_MAC));
	assert_int_equal(testport_filtered(b), n_filtered);
#undef SENT_TO
}

#define N_THREADS    2
#define N_PER_THREAD 20000

struct sender {
	pthread_t thread;
	uint16_t port_id, queue;
	uint64_t n_sent;
};

#define DEADLINE_S 120 /* under valgrind two threads share one CPU */

static time_t
now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static atomic_bool receivers_stop, senders_stop;

/* Sends its share; what is not taken is tried again, so that a link that is down only delays it. */
static void *
send_all(void *arg)
{
	time_t deadline_s = now_s() + DEADLINE_S;
	struct sender *s = arg;

	while (s->n_sent < N_PER_THREAD && now_s() < deadline_s) {
		struct ut_pkt pkt = ut_pkt_udp();
		struct rte_mbuf *m;

		pkt.udp_sport = (uint16_t)(s->n_sent * N_THREADS + s->queue);
		m = ut_pkt_mbuf(&pkt, pool);
		if (rte_eth_tx_burst(s->port_id, s->queue, &m, 1) == 1) {
			s->n_sent++;
		} else {
			rte_pktmbuf_free(m);
			sched_yield();
		}
	}
	return NULL;
}

static void *
receive_all(void *arg)
{
	struct sender *s = arg;
	struct rte_mbuf *m[32];

	for (;;) {
		bool last = atomic_load(&receivers_stop);
		uint16_t n = rte_eth_rx_burst(s->port_id, s->queue, m, UT_N(m));

		rte_pktmbuf_free_bulk(m, n);
		s->n_sent += n;
		if (n == 0 && last)
			return NULL;
		if (n == 0)
			sched_yield();
	}
}

static void
one_thread_per_queue_needs_no_lock(void **state)
{
	struct testport_cfg cfg = {.reta_size = 64,
				   .distribute = true,
				   .pause = true,
				   .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH};
	struct sender tx[N_THREADS], rx[N_THREADS];
	uint64_t n_received = 0, n_sent = 0;
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, N_THREADS, &a, &b);
	atomic_store(&receivers_stop, false);
	for (uint16_t i = 0; i < N_THREADS; i++) {
		tx[i] = (struct sender){.port_id = a, .queue = i};
		rx[i] = (struct sender){.port_id = b, .queue = i};
		assert_int_equal(pthread_create(&rx[i].thread, NULL, receive_all, &rx[i]), 0);
		assert_int_equal(pthread_create(&tx[i].thread, NULL, send_all, &tx[i]), 0);
	}
	/* Control calls beside the bursts. */
	for (int i = 0; i < 200; i++) {
		testport_set_link(i % 2 ? a : b, false);
		sched_yield();
		testport_set_link(i % 2 ? a : b, true);
		(void)stats_of(b);
	}
	for (uint16_t i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_join(tx[i].thread, NULL), 0);
		ut_check(tx[i].n_sent > 0, "thread %u has sent nothing", i);
		n_sent += tx[i].n_sent;
	}
	atomic_store(&receivers_stop, true);
	for (uint16_t i = 0; i < N_THREADS; i++) {
		assert_int_equal(pthread_join(rx[i].thread, NULL), 0);
		ut_check(rx[i].n_sent > 0, "thread %u has received nothing", i);
		n_received += rx[i].n_sent;
	}
	ut_check(n_received == n_sent && stats_of(b).imissed == 0,
		 "%" PRIu64 " sent, %" PRIu64 " received, %" PRIu64 " missed", n_sent, n_received,
		 stats_of(b).imissed);
}

/* Sends whole bursts until told to stop, so that it is inside one most of the time. */
static void *
send_bursts(void *arg)
{
	struct sender *s = arg;
	struct rte_mbuf *m[256];

	while (!atomic_load(&senders_stop)) {
		uint16_t n;

		if (rte_pktmbuf_alloc_bulk(pool, m, UT_N(m)) != 0)
			continue;
		for (size_t i = 0; i < UT_N(m); i++)
			memset(rte_pktmbuf_append(m[i], 60), 0, 60);
		n = rte_eth_tx_burst(s->port_id, s->queue, m, UT_N(m));
		rte_pktmbuf_free_bulk(&m[n], UT_N(m) - n);
		s->n_sent += n;
	}
	return NULL;
}

static void
far_end_may_stop_while_this_one_sends(void **state)
{
	struct testport_cfg cfg = {0};
	struct rte_eth_conf conf = {0};
	struct sender tx;
	uint16_t a, b;

	(void)state;
	pair_open(&cfg, 1, &a, &b);
	tx = (struct sender){.port_id = a};
	atomic_store(&senders_stop, false);
	assert_int_equal(pthread_create(&tx.thread, NULL, send_bursts, &tx), 0);
	/* Each round ends with rings freed and made anew: a frame put in meanwhile would be lost. */
	for (int i = 0; i < 100; i++) {
		uint64_t n_sent = stats_of(a).opackets;
		time_t deadline_s = now_s() + DEADLINE_S;

		while (stats_of(a).opackets == n_sent && now_s() < deadline_s)
			sched_yield();
		ut_check(stats_of(a).opackets != n_sent, "round %d: nothing is sent", i);
		assert_int_equal(rte_eth_dev_stop(b), 0);
		assert_int_equal(testport_rx_pending(b, 0), 0);
		port_open(b, 1, &conf, pool_b);
	}
	atomic_store(&senders_stop, true);
	assert_int_equal(pthread_join(tx.thread, NULL), 0);
	assert_int_equal(stats_of(a).opackets, tx.n_sent);
}

/* --- Feed mode ------------------------------------------------------------------------------- */

#define FEED_ELEMENTS 255

static void
vary_source_port(uint8_t *frame, uint16_t len_bytes, uint32_t index, void *arg)
{
	uint32_t *n = arg;

	(void)len_bytes;
	(*n)++;
	ut_put16(frame + 34, (uint16_t)(1000 + index));
}

/* The element's number is in its source port; everything else must be as the template. */
static void
check_fed(const struct rte_mbuf *m, size_t payload_len)
{
	struct ut_pkt pkt = ut_pkt_udp();

	pkt.payload_len = payload_len;
	pkt.udp_sport = ut_get16(rte_pktmbuf_mtod_offset(m, uint8_t *, 34));
	ut_check(pkt.udp_sport >= 1000 && pkt.udp_sport < 1000 + FEED_ELEMENTS, "port %u",
		 pkt.udp_sport);
	check_frame(m, &pkt, "fed");
}

static void
feed_gives_whole_verified_frames(void **state)
{
	struct testport_cfg cfg = {.mode = TESTPORT_FEED,
				   .rx_offloads = TESTPORT_RX_OFFLOADS_FEED,
				   .tx_offloads = TESTPORT_TX_OFFLOADS,
				   .reta_size = 64};
	struct rte_mempool *feed_pool = ut_pool_create("feed", FEED_ELEMENTS, 0);
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = conf_all(port_id);
	struct ut_pkt pkt = ut_pkt_udp();
	uint8_t frame[2][FRAME_SIZE];
	struct testport_frame frames[2];
	uint32_t n_varied = 0, n_hashes = 0, last_hash = 0;
	struct rte_mbuf *m[48];
	struct rte_eth_stats stats;
	uint64_t n_bytes = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		pkt.payload_len = 18 + i;
		frames[i].bytes = frame[i];
		frames[i].len_bytes = (uint16_t)ut_pkt_bytes(&pkt, frame[i], FRAME_SIZE);
	}
	assert_int_equal(port_setup(port_id, 1, N_DESC, &conf, feed_pool), 0);
	assert_int_equal(rte_eth_dev_start(port_id), -ENODATA);
	/* One length, then two: the quick and the general burst. */
	for (uint32_t n_frames = 1; n_frames <= 2; n_frames++) {
		n_varied = 0;
		assert_int_equal(testport_feed(port_id, frames, n_frames, vary_source_port,
					       &n_varied, true),
				 0);
		assert_int_equal(rte_eth_dev_start(port_id), 0);
		assert_int_equal(testport_feed(port_id, frames, 1, NULL, NULL, false), -EBUSY);
		assert_int_equal(n_varied, FEED_ELEMENTS);
		for (int round = 0; round < 40; round++) {
			uint16_t n = rte_eth_rx_burst(port_id, 0, m, UT_N(m));

			assert_int_equal(n, UT_N(m));
			for (uint16_t i = 0; i < n; i++) {
				assert_int_equal(m[i]->port, port_id);
				assert_int_equal(m[i]->ol_flags,
						 RTE_MBUF_F_RX_IP_CKSUM_GOOD |
							 RTE_MBUF_F_RX_L4_CKSUM_GOOD |
							 RTE_MBUF_F_RX_RSS_HASH);
				n_hashes += m[i]->hash.rss != last_hash;
				last_hash = m[i]->hash.rss;
				n_bytes += m[i]->pkt_len;
				check_fed(m[i], m[i]->pkt_len - 42u);
				assert_true(m[i]->pkt_len < 60u + n_frames);
				/* What a stack does to an mbuf does not come back with it. */
				rte_pktmbuf_adj(m[i], 42);
				m[i]->ol_flags = 0;
			}
			if (round % 2)
				assert_int_equal(rte_eth_tx_burst(port_id, 0, m, n), n);
			else
				rte_pktmbuf_free_bulk(m, n);
		}
		assert_int_equal(rte_eth_dev_stop(port_id), 0);
		ut_pool_check(feed_pool);
	}
	assert_true(n_hashes > 1000);
	stats = stats_of(port_id);
	assert_int_equal(stats.ipackets, 2 * 40 * UT_N(m));
	assert_int_equal(stats.ibytes, n_bytes);
	assert_int_equal(stats.opackets, 40 * UT_N(m));
	assert_int_equal(stats.rx_nombuf, 0);
	assert_int_equal(testport_destroy(PORT_A), 0);
	ut_pool_destroy(feed_pool);
}

static void
feed_shows_different_flags(void **state)
{
	struct testport_cfg cfg = {.mode = TESTPORT_FEED,
				   .rx_offloads = RTE_ETH_RX_OFFLOAD_UDP_CKSUM};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = conf_all(port_id);
	struct ut_pkt good = ut_pkt_udp(), bad = ut_pkt_udp();
	uint8_t frame[2][FRAME_SIZE];
	struct testport_frame frames[2] = {{.bytes = frame[0]}, {.bytes = frame[1]}};
	uint32_t n_bad = 0, n_good = 0;
	struct rte_mbuf *m[32];

	(void)state;
	bad.udp_csum = 0x1234;
	frames[0].len_bytes = (uint16_t)ut_pkt_bytes(&good, frame[0], FRAME_SIZE);
	frames[1].len_bytes = (uint16_t)ut_pkt_bytes(&bad, frame[1], FRAME_SIZE);
	assert_int_equal(port_setup(port_id, 2, N_DESC, &conf, pool), 0); /* two queues, one pool */
	assert_int_equal(testport_feed(port_id, frames, 2, NULL, NULL, false), 0);
	assert_int_equal(rte_eth_dev_start(port_id), 0);
	for (uint16_t i = 0; i < 10; i++) {
		assert_int_equal(rte_eth_rx_burst(port_id, i % 2, m, UT_N(m)), UT_N(m));
		for (size_t j = 0; j < UT_N(m); j++) {
			bool is_bad = m[j]->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_BAD;

			check_frame(m[j], is_bad ? &bad : &good, "fed");
			n_bad += is_bad;
			n_good += !is_bad;
		}
		rte_pktmbuf_free_bulk(m, UT_N(m));
	}
	assert_true(n_bad > 0 && n_good > 0);
}

static void
feed_runs_dry_and_recovers(void **state)
{
	struct testport_cfg cfg = {.mode = TESTPORT_FEED};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = {0};
	struct ut_pkt pkt = ut_pkt_udp();
	uint8_t bytes[FRAME_SIZE];
	struct testport_frame frame = {.bytes = bytes};
	static struct rte_mbuf *m[POOL_SIZE];
	struct rte_mbuf *held;
	uint32_t n = 0;
	uint16_t got;

	(void)state;
	frame.len_bytes = (uint16_t)ut_pkt_bytes(&pkt, bytes, sizeof(bytes));
	assert_int_equal(port_setup(port_id, 1, N_DESC, &conf, pool), 0);
	assert_int_equal(testport_feed(port_id, &frame, 0, NULL, NULL, false), -EINVAL);
	assert_int_equal(testport_feed(port_id, &frame, 1, NULL, NULL, false), 0);
	held = rte_pktmbuf_alloc(pool);
	assert_int_equal(rte_eth_dev_start(port_id), -EBUSY);
	rte_pktmbuf_free(held);
	assert_int_equal(rte_eth_dev_start(port_id), 0);

	while ((got = rte_eth_rx_burst(port_id, 0, &m[n], 32)) > 0)
		n += got;
	ut_check(n > POOL_SIZE - TESTPORT_FEED_BATCH, "%" PRIu32 " of %u", n, POOL_SIZE);
	assert_true(stats_of(port_id).rx_nombuf > 0);
	rte_pktmbuf_free_bulk(m, n);
	assert_int_equal(rte_eth_rx_burst(port_id, 0, m, 32), 0); /* finds the descriptors empty */
	assert_int_equal(rte_eth_rx_burst(port_id, 0, m, 32), 32);
	rte_pktmbuf_free_bulk(m, 32);

	/* What would cost its bursts something is not to be had. */
	assert_int_equal(testport_set_rx_stall(port_id, true), -ENOTSUP);
	assert_int_equal(testport_set_tx_accept(port_id, 1), -ENOTSUP);
	assert_int_equal(testport_set_drop_every(port_id, TESTPORT_RX, 1), -ENOTSUP);
	assert_int_equal(testport_force_rx_flags(port_id, 1, 1), -ENOTSUP);
	assert_int_equal(testport_inject(port_id, 0, m, 1), 0);

	/* Pulled out while it runs, it gives back what it had posted. */
	assert_int_equal(rte_vdev_uninit(PORT_A), 0);
	ut_pool_check(pool);
}

static void
feed_refuses_what_does_not_fit(void **state)
{
	struct testport_cfg cfg = {.mode = TESTPORT_FEED};
	uint16_t port_id = port_create(PORT_A, &cfg);
	struct rte_eth_conf conf = {0};
	static uint8_t bytes[4000];
	struct testport_frame frame = {.bytes = bytes, .len_bytes = sizeof(bytes)};

	(void)state;
	assert_int_equal(port_setup(port_id, 1, N_DESC, &conf, pool), 0);
	assert_int_equal(testport_feed(port_id, &frame, 1, NULL, NULL, false), 0);
	assert_int_equal(rte_eth_dev_start(port_id), -EMSGSIZE);
	frame.len_bytes = 60;
	assert_int_equal(testport_feed(port_id, &frame, 1, NULL, NULL, false), 0);
	/* More descriptors than the pool has elements. */
	assert_int_equal(port_setup(port_id, 1, 2048, &conf, pool), 0);
	assert_int_equal(rte_eth_dev_start(port_id), -ENOMEM);
	ut_pool_check(pool);
	frame.len_bytes = 13;
	assert_int_equal(testport_feed(port_id, &frame, 1, NULL, NULL, false), -EINVAL);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, case_setup, case_teardown)

int
main(void)
{
	const struct CMUnitTest cases[] = {
		CASE(bad_arguments_are_refused),
		CASE(info_says_what_the_arguments_asked),
		CASE(ports_come_and_go),
		CASE(reconfigured_port_has_the_new_queues),
		CASE(control_calls_fail_on_demand),
		CASE(each_refused_allocation_is_survived),
		CASE(link_follows_the_cable),
		CASE(injected_frames_arrive_as_they_are),
		CASE(full_queue_and_lying_chain_stay_with_the_caller),
		CASE(rx_checksum_flags_are_true),
		CASE(truncated_frames_are_never_read_beyond),
		CASE(rx_flags_lie_when_told),
		CASE(rss_hash_matches_published_vectors),
		CASE(distribution_follows_the_reta),
		CASE(vlan_tags_are_stripped_and_inserted),
		CASE(timestamps_are_what_was_set),
		CASE(tx_inserts_right_checksums),
		CASE(tx_leaves_shared_buffers_alone),
		CASE(tx_names_each_mistake),
		CASE(queue_offloads_count_as_enabled),
		CASE(tx_takes_what_it_is_told_to),
		CASE(every_kth_frame_is_lost),
		CASE(rx_stalls_and_misses_when_told),
		CASE(cable_carries_copies_both_ways),
		CASE(link_needs_both_ends),
		CASE(far_end_loses_or_holds_back),
		CASE(long_frames_need_mtu_and_scatter),
		CASE(empty_rx_pool_is_counted),
		CASE(addresses_are_filtered),
		CASE(one_thread_per_queue_needs_no_lock),
		CASE(far_end_may_stop_while_this_one_sends),
		CASE(feed_gives_whole_verified_frames),
		CASE(feed_shows_different_flags),
		CASE(feed_runs_dry_and_recovers),
		CASE(feed_refuses_what_does_not_fit),
	};

	return UT_RUN(cases, ut_eal_setup, ut_eal_teardown);
}
