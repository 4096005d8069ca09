/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of a port: probe in spite of a bad mailbox, start and stop, reset, close and open again;
 * a PF and its VFs on one card; configurations that are refused; statistics and registers.
 */
#include "lt.h"

#include <rte_bus_vdev.h>

#define S UINT64_C(1000000000)

static struct rte_mempool *pool;

static unsigned int
carry(struct lt_port *a, struct lt_port *b, unsigned int n)
{
	unsigned int n_came = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = lt_frame(a, b, 60 + i * 13 % 1400, 1, i), *r;

		assert_int_equal(rte_eth_tx_burst(a->id, 0, &m, 1), 1);
		if (lt_recv(b, 0, &r, 1) != 1)
			continue;
		lt_check_frame(r, a, b, 60 + i * 13 % 1400, i);
		rte_pktmbuf_free(r);
		n_came++;
	}
	return n_came;
}

static void
starts_and_stops_a_hundred_times(void **state)
{
	struct rte_eth_stats stats;
	struct lt_port p[2];
	struct rte_mbuf *m[16];

	(void)state;
	pool = ut_pool_create("lt", 2047, 0);
	lt_pair(p, "", pool);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){.n_rxq = 2, .n_txq = 2});
	for (int lap = 0; lap < 100; lap++) {
		assert_int_equal(carry(&p[0], &p[1], 5), 5);
		assert_int_equal(carry(&p[1], &p[0], 5), 5);
		/* in the middle of something */
		for (unsigned int i = 0; i < 16; i++)
			m[i] = lt_frame(&p[0], &p[1], 100, 1, i);
		assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 16), 16);
		assert_int_equal(rte_eth_dev_stop(p[lap % 2].id), 0);
		assert_int_equal(rte_eth_dev_stop(p[!(lap % 2)].id), 0);
		assert_int_equal(ut_pool_missing(pool), 0);
		for (int i = 0; i < 2; i++)
			assert_int_equal(rte_eth_dev_start(p[i].id), 0);
	}
	/* nothing was lost but what was counted */
	assert_int_equal(rte_eth_stats_get(p[0].id, &stats), 0);
	assert_int_equal(stats.opackets, 100 * (5 + 16));
	assert_int_equal(rte_eth_stats_get(p[1].id, &stats), 0);
	assert_int_equal(stats.ipackets, 100 * 5);
	/* unread in the ring, or dropped by the card that had been told to stop */
	assert_int_equal(stats.imissed + p[1].dev->port_stats[LIQ_SRX_fw_err_drop], 100 * 16);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

static void
opens_and_closes_again(void **state)
{
	struct lt_port p[2];

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	for (int lap = 0; lap < 20; lap++) {
		lt_pair(p, "", pool);
		for (int i = 0; i < 2; i++)
			lt_up(&p[i], &(struct lt_conf){.n_rxq = (uint16_t)(1 + lap % 3)});
		assert_int_equal(carry(&p[lap % 2], &p[!(lap % 2)], 10), 10);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
			lt_close(&p[i]);
		}
		assert_int_equal(ut_pool_missing(pool), 0);
	}
	ut_pool_destroy(pool);
}

static void
reconfigures_up_and_down(void **state)
{
	static const uint16_t counts[] = {1, 4, 2, 8, 3, 1};
	struct lt_port p[2];

	(void)state;
	pool = ut_pool_create("lt", 4095, 0);
	lt_pair(p, "", pool);
	lt_up(&p[0], &(struct lt_conf){0});
	for (size_t i = 0; i < UT_N(counts); i++) {
		lt_up(&p[1], &(struct lt_conf){.n_rxq = counts[i],
					       .n_txq = counts[UT_N(counts) - 1 - i],
					       .rss_hf = RTE_ETH_RSS_IPV4});
		assert_int_equal(carry(&p[0], &p[1], 5), 5);
		assert_int_equal(carry(&p[1], &p[0], 5), 5);
		assert_int_equal(rte_eth_dev_stop(p[1].id), 0);
	}
	assert_int_equal(rte_eth_dev_configure(p[1].id, 9, 1, &(struct rte_eth_conf){0}), -EINVAL);
	assert_int_equal(rte_eth_dev_stop(p[0].id), 0);
	for (int i = 0; i < 2; i++)
		lt_close(&p[i]);
	ut_pool_destroy(pool);
}

static void
wrong_configurations_are_refused(void **state)
{
	struct rte_eth_conf c = {0};
	struct rte_eth_rxconf rx = {.rx_free_thresh = 128};
	struct rte_eth_txconf tx = {.tx_free_thresh = 128};
	struct rte_mempool *tiny;
	struct lt_port port;

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	tiny = rte_pktmbuf_pool_create("tiny", 255, 0, 0, RTE_PKTMBUF_HEADROOM + 300,
				       SOCKET_ID_ANY);
	assert_int_equal(lt_open(&port, 0, "", pool), 0);
	c.rxmode.mq_mode = RTE_ETH_MQ_RX_VMDQ_ONLY;
	assert_int_equal(rte_eth_dev_configure(port.id, 1, 1, &c), -ENOTSUP);
	c.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
	c.link_speeds = RTE_ETH_LINK_SPEED_FIXED | RTE_ETH_LINK_SPEED_10G;
	assert_int_equal(rte_eth_dev_configure(port.id, 1, 1, &c), -ENOTSUP);
	c.link_speeds = 0;
	c.lpbk_mode = 1;
	assert_int_equal(rte_eth_dev_configure(port.id, 1, 1, &c), -ENOTSUP);
	c.lpbk_mode = 0;
	assert_int_equal(rte_eth_dev_configure(port.id, 1, 1, &c), 0);
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 127, 0, NULL, pool), -EINVAL);
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 2049, 0, NULL, pool), -EINVAL);
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 128, 0, &rx, pool), -EINVAL);
	assert_int_equal(rte_eth_tx_queue_setup(port.id, 0, 128, 0, &tx), -EINVAL);
	rx = (struct rte_eth_rxconf){.rx_deferred_start = 1};
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 128, 0, &rx, pool), -ENOTSUP);
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 128, 0, NULL, tiny), 0);
	assert_int_equal(rte_eth_tx_queue_setup(port.id, 0, 2048, 0, NULL), 0);
	assert_int_equal(rte_eth_dev_start(port.id), 0);
	assert_int_equal(port.eth->data->scattered_rx, 1); /* 1500 bytes over buffers of 300 */
	assert_int_equal(rte_eth_dev_stop(port.id), 0);
	/* a pool that cannot fill the ring */
	assert_int_equal(rte_eth_rx_queue_setup(port.id, 0, 2048, 0, NULL, pool), 0);
	assert_int_equal(rte_eth_dev_start(port.id), -ENOMEM);
	assert_int_equal(ut_pool_missing(pool), 0);
	lt_close(&port);
	rte_mempool_free(tiny);
	ut_pool_destroy(pool);
}

/* ---- PF and VFs ---- */

static void
pf_serves_its_vfs(void **state)
{
	struct lt_port pf, vf[2];
	struct rte_eth_link link;

	(void)state;
	pool = ut_pool_create("lt", 4095, 0);
	assert_int_equal(lt_open(&pf, 0, "first,role=pf,card=c,queues=4,vfs=2,wire=loop", pool), 0);
	lt_tend_meanwhile(&pf);
	assert_int_equal(lt_open(&vf[0], 1, "card=c", pool), 0);
	assert_int_equal(lt_open(&vf[1], 2, "card=c,queues=2", pool), 0);
	lt_tend_meanwhile(NULL);
	/* rings as the PF has dealt them */
	assert_int_equal(pf.dev->first_ring, 16);
	assert_int_equal(pf.dev->nif.n_iq, 4);
	assert_int_equal(vf[0].dev->nif.n_iq, 8);
	assert_int_equal(vf[1].dev->nif.n_iq, 2);
	assert_int_equal(vf[0].dev->vf.vf_num, 1);
	assert_int_equal(vf[1].dev->vf.vf_num, 2);
	assert_int_equal(vf[0].dev->vf.hs.coproc_mhz, 1000);
	assert_memory_not_equal(vf[0].eth->data->mac_addrs, vf[1].eth->data->mac_addrs, 6);
	/* a VF has no link before the PF runs */
	lt_up(&vf[0], &(struct lt_conf){.n_rxq = 8, .n_txq = 8});
	rte_eth_link_get(vf[0].id, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	lt_up(&pf, &(struct lt_conf){.n_rxq = 4, .n_txq = 4});
	rte_eth_link_get(vf[0].id, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	lt_up(&vf[1], &(struct lt_conf){.n_rxq = 2, .n_txq = 2});
	assert_int_equal(carry(&pf, &vf[0], 20), 20);
	assert_int_equal(carry(&vf[0], &vf[1], 20), 20);
	assert_int_equal(carry(&vf[1], &pf, 20), 20);
	/* the PF hears of its VFs */
	liq_ethdev_tend(pf.eth);
	assert_int_equal(pf.dev->notices.vfs_loaded, 3);
	/* a VF is reset: it comes back, and the other one does not notice */
	lt_tend_meanwhile(&pf);
	assert_int_equal(rte_eth_dev_reset(vf[0].id), 0);
	lt_tend_meanwhile(NULL);
	lt_up(&vf[0], &(struct lt_conf){.n_rxq = 8, .n_txq = 8});
	assert_int_equal(carry(&pf, &vf[0], 20), 20);
	assert_int_equal(carry(&vf[0], &vf[1], 20), 20);
	/* the link of a VF follows the PF's */
	assert_int_equal(rte_eth_dev_stop(pf.id), 0);
	rte_eth_link_get(vf[1].id, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	assert_int_equal(rte_eth_dev_start(pf.id), 0);
	assert_int_equal(carry(&vf[0], &vf[1], 20), 20);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(vf[i].id), 0);
		lt_close(&vf[i]);
	}
	assert_int_equal(rte_eth_dev_stop(pf.id), 0);
	/* it can be reset as well, and start over */
	assert_int_equal(rte_eth_dev_reset(pf.id), 0);
	lt_up(&pf, &(struct lt_conf){0});
	assert_int_equal(rte_eth_dev_stop(pf.id), 0);
	lt_close(&pf);
	ut_pool_destroy(pool);
}

/* With some register that is written by hand the VF asks for what only its PF can do. */
static void
pf_resets_a_vf_that_asks(void **state)
{
	struct lt_port pf, vf;

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	assert_int_equal(lt_open(&pf, 0, "first,role=pf,card=c,queues=1,vfs=1", pool), 0);
	lt_tend_meanwhile(&pf);
	assert_int_equal(lt_open(&vf, 1, "card=c", pool), 0);
	assert_true(pf.dev->pf.vf[0].active);
	assert_int_equal(liq_mbox_ask_flr(&vf.dev->vf.mbox), 0);
	lt_tend_meanwhile(NULL);
	assert_false(pf.dev->pf.vf[0].active);
	/* its ring for commands was running */
	assert_false(liqm_bar_read(vf.fn, 0, LIQ_RING(0) + LIQ_REG_IN_CTL, 8) & LIQ_IN_CTL_ENB);
	lt_close(&vf);
	lt_close(&pf);
	ut_pool_destroy(pool);
}

static void
cards_refuse_what_does_not_fit(void **state)
{
	struct lt_port pf, vf[8], none;

	(void)state;
	pool = ut_pool_create("lt", 255, 0);
	assert_int_equal(lt_open(&pf, 0, "first,role=pf,card=c,queues=50,vfs=7", pool), 0);
	lt_tend_meanwhile(&pf);
	assert_true(lt_open(&none, 1, "role=pf,card=c", pool) < 0);
	assert_true(lt_open(&none, 1, "card=c,wire=loop", pool) < 0);
	assert_true(lt_open(&none, 1, "card=c,queues=3", pool) < 0); /* 14 / 7 rings each */
	for (unsigned int i = 0; i < 7; i++)
		assert_int_equal(lt_open(&vf[i], 1 + i, "card=c,queues=2", pool), 0);
	assert_true(lt_open(&none, 8, "card=c", pool) < 0);
	for (unsigned int i = 0; i < 7; i++)
		lt_close(&vf[i]);
	lt_tend_meanwhile(NULL);
	lt_close(&pf);
	/* VFs without a PF of ours share a card as well */
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(
			lt_open(&vf[i], i, i == 0 ? "first,card=v,wire=loop" : "card=v", pool), 0);
	assert_true(lt_open(&none, 9, "card=v", pool) < 0);
	assert_true(lt_open(&none, 9, "role=pf,card=v", pool) < 0);
	for (unsigned int i = 0; i < 8; i++)
		lt_close(&vf[i]);
	/* a third end for a cable */
	assert_int_equal(lt_open(&vf[0], 0, "wire=pair:x", pool), 0);
	assert_int_equal(lt_open(&vf[1], 1, "wire=pair:x", pool), 0);
	assert_true(lt_open(&none, 2, "wire=pair:x", pool) < 0);
	lt_close(&vf[0]);
	/* a new end takes the free place */
	assert_int_equal(lt_open(&vf[0], 0, "wire=pair:x", pool), 0);
	lt_close(&vf[0]);
	lt_close(&vf[1]);
	ut_pool_destroy(pool);
}

/* ---- mailbox ---- */

/* The inner PF of a card that is there already, so that it can be made to misbehave. */
static void
probe_survives_a_bad_mailbox(void **state)
{
	static const struct {
		enum liqm_fault_kind kind;
		uint32_t count;
		uint64_t arg;
		bool works;
	} rows[] = {
		{LIQM_FAULT_MBOX_LATE, 1, 2 * S, true}, {LIQM_FAULT_MBOX_LATE, 0, 100 * S, false},
		{LIQM_FAULT_MBOX_LOST, 1, 0, true},     {LIQM_FAULT_MBOX_LOST, 0, 0, false},
		{LIQM_FAULT_MBOX_ERR, 1, 0, true},      {LIQM_FAULT_MBOX_ERR, 0, 0, false},
		{LIQM_FAULT_MBOX_NOACK, 1, 0, true},    {LIQM_FAULT_MBOX_NOACK, 0, 0, false},
	};
	struct lt_port first, port;

	(void)state;
	lt_clock_step(LT_MS);
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint64_t begin;
		int ret;

		assert_int_equal(lt_open(&first, 0, "first,card=v", NULL), 0);
		assert_int_equal(liqm_fault_add(first.card,
						&(struct liqm_fault){.kind = rows[i].kind,
								     .fn_index = 1,
								     .ring = LIQM_ANY,
								     .count = rows[i].count,
								     .arg = rows[i].arg}),
				 0);
		begin = lt_clock_now();
		ret = lt_open(&port, 1, "card=v", NULL);
		ut_check((ret == 0) == rows[i].works, "row %zu: %d", i, ret);
		ut_check(lt_clock_now() - begin < 20 * S, "row %zu: %" PRIu64 " ms", i,
			 (lt_clock_now() - begin) / LT_MS);
		if (ret == 0)
			lt_close(&port);
		lt_close(&first);
	}
	lt_clock_step(1000);
}

static void
pf_may_speak_to_its_vf(void **state)
{
	const uint64_t mac = liq_put(LIQ_MBOX_CMD, LIQ_MBOX_PF_SET_MAC) | liq_put(LIQ_MBOX_LEN, 1) |
			     UINT64_C(0x060504030202) << 16;
	const uint64_t stats = liq_put(LIQ_MBOX_CMD, LIQ_MBOX_GET_VF_STATS) |
			       liq_put(LIQ_MBOX_RESP_NEEDED, 1) | liq_put(LIQ_MBOX_LEN, 1);
	static const uint8_t want[6] = {2, 2, 3, 4, 5, 6};
	uint64_t reply[LIQ_MBOX_MAX_WORDS];
	struct rte_ether_addr other = {{2, 9, 9, 9, 9, 9}};
	struct lt_port p[2];

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	lt_pair(p, "", pool);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){0});
	assert_int_equal(carry(&p[0], &p[1], 7), 7);
	assert_int_equal(liqm_vf_message(p[1].fn, &stats, 1), 0);
	for (int i = 0; i < 20; i++)
		liq_ethdev_tend(p[1].eth);
	assert_int_equal(liqm_vf_reply(p[1].fn, reply, LIQ_MBOX_MAX_WORDS), LIQ_STATS_REPLY_WORDS);
	assert_int_equal(reply[1], 7);
	assert_int_equal(liqm_vf_message(p[1].fn, &mac, 1), 0);
	for (int i = 0; i < 5; i++)
		liq_ethdev_tend(p[1].eth);
	assert_memory_equal(p[1].eth->data->mac_addrs, want, 6);
	/* now it is the administrator's */
	assert_int_equal(rte_eth_dev_default_mac_addr_set(p[1].id, &other), -EPERM);
	assert_int_equal(liqm_counter(p[1].fn, LIQM_N_mbox_errors), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

/* ---- what is reported ---- */

static void
statistics_add_up_and_reset(void **state)
{
	struct rte_eth_xstat_name names[256];
	struct rte_eth_xstat values[256];
	struct rte_eth_stats stats;
	struct lt_port p[2];
	int n, n_nonzero = 0;

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	lt_pair(p, "", pool);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){0});
	assert_int_equal(carry(&p[0], &p[1], 50), 50);
	assert_int_equal(rte_eth_stats_get(p[0].id, &stats), 0);
	assert_int_equal(stats.opackets, 50);
	assert_int_equal(stats.q_opackets[0], 50);
	assert_int_equal(stats.oerrors, 0);
	assert_int_equal(rte_eth_stats_get(p[1].id, &stats), 0);
	assert_int_equal(stats.ipackets, 50);
	assert_int_equal(stats.q_ipackets[0], 50);
	assert_int_equal(stats.ierrors + stats.imissed + stats.rx_nombuf, 0);
	/* a frame over the sender's MTU is taken and not sent */
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 500), 0);
	{
		struct rte_mbuf *m = lt_frame(&p[0], &p[1], 1000, 1, 0);

		assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
	}
	assert_int_equal(rte_eth_stats_get(p[0].id, &stats), 0);
	assert_int_equal(stats.opackets, 50);
	assert_int_equal(stats.oerrors, 1);
	/* names are unique and all values start over */
	n = rte_eth_xstats_get_names(p[1].id, names, 256);
	assert_in_range(n, 60, 256);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			ut_check(strcmp(names[i].name, names[k].name) != 0, "%s twice",
				 names[i].name);
	assert_int_equal(rte_eth_xstats_get(p[1].id, values, 256), n);
	for (int i = 0; i < n; i++)
		n_nonzero += values[i].value != 0;
	assert_true(n_nonzero > 10);
	assert_int_equal(rte_eth_xstats_reset(p[1].id), 0);
	assert_int_equal(rte_eth_stats_reset(p[1].id), 0);
	assert_int_equal(rte_eth_xstats_get(p[1].id, values, 256), n);
	for (int i = 0; i < n; i++)
		/* to read them takes a request */
		ut_check(values[i].value == 0 || strcmp(names[i].name, "drv_cmd_requests") == 0 ||
				 strcmp(names[i].name, "drv_tx_reclaims") == 0,
			 "%s is %" PRIu64, names[i].name, values[i].value);
	assert_int_equal(carry(&p[0], &p[1], 1), 1);
	assert_int_equal(rte_eth_stats_get(p[1].id, &stats), 0);
	assert_int_equal(stats.ipackets, 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

static void
registers_and_versions_are_shown(void **state)
{
	struct rte_dev_reg_info regs = {0};
	struct rte_eth_burst_mode mode;
	struct rte_eth_dev_info info;
	uint32_t ptypes[8];
	char version[32], dump[2048] = "";
	struct lt_port port;
	uint64_t *words;
	FILE *file;

	(void)state;
	pool = ut_pool_create("lt", 1023, 0);
	assert_int_equal(lt_open(&port, 0, "queues=2", pool), 0);
	assert_int_equal(rte_eth_dev_info_get(port.id, &info), 0);
	assert_int_equal(info.max_rx_queues, 2);
	assert_int_equal(info.rx_desc_lim.nb_min, 128);
	assert_int_equal(info.tx_desc_lim.nb_max, 2048);
	assert_int_equal(info.tx_desc_lim.nb_seg_max, 64);
	assert_int_equal(info.default_txportconf.ring_size, 512);
	lt_up(&port, &(struct lt_conf){0});
	assert_int_equal(rte_eth_dev_fw_version_get(port.id, version, sizeof(version)), 0);
	assert_string_equal(version, "1.7.2");
	assert_int_equal(rte_eth_dev_fw_version_get(port.id, version, 3), 6);
	assert_int_equal(rte_eth_dev_get_reg_info(port.id, &regs), 0);
	assert_int_equal(regs.width, 8);
	assert_int_equal(regs.length, 2 * 17);
	words = calloc(regs.length, regs.width);
	assert_non_null(words);
	regs.data = words;
	assert_int_equal(rte_eth_dev_get_reg_info(port.id, &regs), 0);
	assert_true(words[0] & LIQ_IN_CTL_ENB);
	assert_int_equal(words[1], port.dev->txq[0]->mem.iova);
	free(words);
	assert_int_equal(rte_eth_rx_burst_mode_get(port.id, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "Scalar"));
	assert_int_equal(rte_eth_tx_burst_mode_get(port.id, 0, &mode), 0);
	assert_non_null(strstr(mode.info, "plain"));
	assert_int_equal(rte_eth_dev_get_supported_ptypes(port.id, RTE_PTYPE_ALL_MASK, ptypes, 8),
			 4);
	file = fmemopen(dump, sizeof(dump), "w");
	assert_int_equal(rte_eth_dev_priv_dump(port.id, file), 0);
	fclose(file);
	assert_non_null(strstr(dump, "VF net_liq_sim0: started"));
	assert_int_equal(rte_eth_dev_stop(port.id), 0);
	lt_close(&port);
	ut_pool_destroy(pool);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(starts_and_stops_a_hundred_times),
		cmocka_unit_test(opens_and_closes_again),
		cmocka_unit_test(reconfigures_up_and_down),
		cmocka_unit_test(wrong_configurations_are_refused),
		cmocka_unit_test(pf_serves_its_vfs),
		cmocka_unit_test(pf_resets_a_vf_that_asks),
		cmocka_unit_test(cards_refuse_what_does_not_fit),
		cmocka_unit_test(probe_survives_a_bad_mailbox),
		cmocka_unit_test(pf_may_speak_to_its_vf),
		cmocka_unit_test(statistics_add_up_and_reset),
		cmocka_unit_test(registers_and_versions_are_shown),
	};

	return UT_RUN(cases, lt_setup, lt_teardown);
}
