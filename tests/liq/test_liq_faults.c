/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A late, short, lying, stuck, silent device.  Each kind of fault by itself, with what the driver
 * makes of it; then scripts drawn from seeds.  What always holds: no call takes longer than its
 * deadlines, each mbuf comes back, and a reset of the port makes it well when the device is.
 *
 * LIQ_SEEDS=N changes the number of seeds, LIQ_SEED=S runs that one alone.
 */
#include "lt.h"

#include <rte_bus_vdev.h>

#define N_MBUFS 4095
#define S       UINT64_C(1000000000)

static struct rte_mempool *pool;
static struct lt_port p[2];

static void
fault(struct liqm_card *card, enum liqm_fault_kind kind, uint32_t count, uint64_t arg)
{
	assert_int_equal(liqm_fault_add(card, &(struct liqm_fault){.kind = kind,
								   .fn_index = LIQM_ANY,
								   .ring = LIQM_ANY,
								   .count = count,
								   .arg = arg}),
			 0);
}

static void
pair_open(void)
{
	pool = ut_pool_create("lt", N_MBUFS, 0);
	lt_pair(p, "", pool);
}

static void
pair_up(void)
{
	pair_open();
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){.lsc = true});
}

static void
pair_down(void)
{
	for (int i = 0; i < 2; i++) {
		if (p[i].eth->data->dev_started)
			assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

/* n frames from a to b; how many came. */
static unsigned int
carry(struct lt_port *a, struct lt_port *b, unsigned int n, bool check)
{
	unsigned int n_came = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = lt_frame(a, b, 60 + i * 13 % 1400, 1 + i % 3, i), *r;

		if (rte_eth_tx_burst(a->id, 0, &m, 1) != 1) {
			rte_pktmbuf_free(m);
			continue;
		}
		if (lt_recv(b, 0, &r, 1) != 1)
			continue;
		if (check)
			lt_check_frame(r, a, b, 60 + i * 13 % 1400, i);
		rte_pktmbuf_free(r);
		n_came++;
	}
	return n_came;
}

static void
both_ways(unsigned int n)
{
	assert_int_equal(carry(&p[0], &p[1], n, true), n);
	assert_int_equal(carry(&p[1], &p[0], n, true), n);
}

/* The device is well again: so is the port, after a reset. */
static void
recover(struct lt_port *port)
{
	liqm_fault_clear(port->card);
	assert_int_equal(rte_eth_dev_reset(port->id), 0);
	lt_up(port, &(struct lt_conf){.lsc = true});
}

static uint64_t
xstat(const struct lt_port *port, const char *name)
{
	struct rte_eth_xstat_name names[256];
	struct rte_eth_xstat values[256];
	int n = rte_eth_xstats_get_names(port->id, names, 256);

	assert_true(n > 0 && n <= 256);
	assert_int_equal(rte_eth_xstats_get(port->id, values, 256), n);
	for (int i = 0; i < n; i++)
		if (strcmp(names[i].name, name) == 0)
			return values[i].value;
	fail_msg("no xstat %s", name);
	return 0;
}

/* ---- answers ---- */

static void
refusal_is_an_error(void **state)
{
	(void)state;
	pair_up();
	fault(p[0].card, LIQM_FAULT_RESP_STATUS, 1, 1);
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), -EINVAL);
	fault(p[0].card, LIQM_FAULT_RESP_STATUS, 1, LIQ_STATUS_NOPERM);
	assert_int_equal(rte_eth_allmulticast_enable(p[0].id), -EPERM);
	assert_int_equal(rte_eth_allmulticast_get(p[0].id), 0);
	assert_int_equal(xstat(&p[0], "drv_cmd_refused"), 2);
	both_ways(20);
	pair_down();
}

static void
answer_before_the_count_is_waited_for(void **state)
{
	(void)state;
	pair_up();
	fault(p[0].card, LIQM_FAULT_RESP_FIRST, 5, 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(rte_eth_dev_set_mtu(p[0].id, (uint16_t)(1400 + i)), 0);
		/* fetched and answered: nothing of it is under way */
		assert_int_equal(p[0].dev->txq[0]->n_special, 0);
	}
	both_ways(20);
	pair_down();
}

static void
slow_answer_is_waited_for(void **state)
{
	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	fault(p[0].card, LIQM_FAULT_RESP_LATE, 1, 9 * S);
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), 0);
	pair_down();
	lt_clock_step(1000);
}

static unsigned int n_reset_events;

static int
reset_event(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret)
{
	(void)port_id;
	(void)event;
	(void)arg;
	(void)ret;
	n_reset_events++;
	return 0;
}

static unsigned int
n_busy_slots(const struct lt_port *port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < LIQ_CMD_SLOTS; i++)
		n += port->dev->cmds.slot[i].busy;
	return n;
}

/* The late answer lands in memory that is still the driver's, and nobody takes it for another. */
static void
late_answer_finds_its_own_memory(void **state)
{
	uint64_t begin;

	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	n_reset_events = 0;
	rte_eth_dev_callback_register(p[0].id, RTE_ETH_EVENT_INTR_RESET, reset_event, NULL);
	fault(p[0].card, LIQM_FAULT_RESP_LATE, 1, 12 * S);
	begin = lt_clock_now();
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), -ETIMEDOUT);
	assert_in_range(lt_clock_now() - begin, 10 * S, 11 * S);
	assert_int_equal(n_busy_slots(&p[0]), 1);
	/* the next ones do not wait, and the port says that it is ill, once */
	begin = lt_clock_now();
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), -EIO);
	assert_true(lt_clock_now() - begin < S);
	liq_ethdev_tend(p[0].eth);
	liq_ethdev_tend(p[0].eth);
	assert_int_equal(n_reset_events, 1);
	lt_clock_advance(5 * S);
	liqm_card_tick(p[0].card);
	assert_int_equal(liqm_counter(p[0].fn, LIQM_N_dma_write_err), 0);
	/* frames go on meanwhile */
	both_ways(20);
	recover(&p[0]);
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), 0);
	both_ways(20);
	rte_eth_dev_callback_unregister(p[0].id, RTE_ETH_EVENT_INTR_RESET, reset_event, NULL);
	pair_down();
	lt_clock_step(1000);
}

static void
no_answer_times_out(void **state)
{
	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	fault(p[0].card, LIQM_FAULT_RESP_LOST, 1, 0);
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), -ETIMEDOUT);
	assert_int_equal(xstat(&p[0], "drv_cmd_timeouts"), 1);
	recover(&p[0]);
	both_ways(20);
	pair_down();
	lt_clock_step(1000);
}

/* A start that is not answered leaves a port that can be reset and started. */
static void
start_without_answers_fails_and_unwinds(void **state)
{
	(void)state;
	lt_clock_step(LT_MS);
	pair_open();
	for (uint32_t k = 0; k < 8; k++) {
		assert_int_equal(lt_configure(&p[0], &(struct lt_conf){0}), 0);
		assert_int_equal(liqm_fault_add(p[0].card,
						&(struct liqm_fault){.kind = LIQM_FAULT_RESP_LOST,
								     .fn_index = LIQM_ANY,
								     .ring = LIQM_ANY,
								     .skip = k,
								     .count = 1}),
				 0);
		if (rte_eth_dev_start(p[0].id) == 0) {
			assert_true(k > 3);
			assert_int_equal(rte_eth_dev_stop(p[0].id), 0);
		} else {
			assert_int_equal(ut_pool_missing(pool), 0);
		}
		liqm_fault_clear(p[0].card);
		assert_int_equal(rte_eth_dev_reset(p[0].id), 0);
	}
	lt_up(&p[0], &(struct lt_conf){0});
	lt_up(&p[1], &(struct lt_conf){0});
	both_ways(20);
	pair_down();
	lt_clock_step(1000);
}

/* ---- transmit ---- */

static void
impossible_completions_stop_the_queue(void **state)
{
	struct rte_mbuf *m;

	(void)state;
	pair_up();
	fault(p[0].card, LIQM_FAULT_DONE_LIE, 1, 1000);
	carry(&p[0], &p[1], 100, false);
	assert_true(p[0].dev->txq[0]->broken);
	assert_int_equal(p[0].dev->txq[0]->n.n_lies, 1);
	m = lt_frame(&p[0], &p[1], 100, 1, 0);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 0);
	rte_pktmbuf_free(m);
	assert_true(liq_dev_is_ill(p[0].dev));
	recover(&p[0]);
	both_ways(300);
	pair_down();
}

static void
stuck_queue_ends_in_bounded_time(void **state)
{
	uint64_t begin;

	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	fault(p[0].card, LIQM_FAULT_FETCH_STUCK, 1, 0);
	carry(&p[0], &p[1], 200, false); /* fills the ring */
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 0), 0);
	begin = lt_clock_now();
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 1400), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(p[0].id), 0);
	assert_true(lt_clock_now() - begin < 25 * S);
	/* what lay in the ring is back, and counted as not sent */
	assert_int_equal(ut_pool_missing(pool), p[1].dev->rxq[0]->n_posted);
	assert_int_equal(p[0].dev->n_unsent, 127);
	recover(&p[0]);
	both_ways(20);
	pair_down();
	lt_clock_step(1000);
}

/* ---- receive ---- */

static void
bad_packets_are_dropped_and_the_ring_goes_on(void **state)
{
	static const struct {
		enum liqm_fault_kind kind;
		uint64_t arg;
		unsigned int n_lost_most;
	} rows[] = {
		{LIQM_FAULT_RX_ZERO, 0, 1},
		{LIQM_FAULT_RX_LEN_LIE, 1, 1},
		{LIQM_FAULT_RX_LEN_LIE, 7, 1},
		{LIQM_FAULT_RX_LEN_LIE, 12, 1},
		{LIQM_FAULT_RX_LEN_LIE, 65537, 1},
		{LIQM_FAULT_RX_LEN_LIE, UINT64_MAX, 1},
		{LIQM_FAULT_RX_LEN_LIE, UINT64_C(1) << 63, 1},
		{LIQM_FAULT_RX_RH_LIE, UINT64_C(7) << 49, 1}, /* words in front of the frame */
		{LIQM_FAULT_RX_RH_LIE, UINT64_C(1) << 60, 1}, /* opcode */
		{LIQM_FAULT_RX_RH_LIE, UINT64_C(1) << 52, 1}, /* subcode */
		{LIQM_FAULT_RX_RH_LIE, 5, 1},                 /* hash, time stamp */
		{LIQM_FAULT_RX_RH_LIE, UINT64_MAX, 1},
		{LIQM_FAULT_CNTS_LIE, 1, 1},
		{LIQM_FAULT_CNTS_LIE, 3, 1},
		{LIQM_FAULT_CNTS_LIE, 5000, 1},
		{LIQM_FAULT_RX_LOST, 0, 1},
		{LIQM_FAULT_DMA_ERR, 0, 2},
	};

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		unsigned int n_came;

		pair_up();
		both_ways(3);
		fault(p[1].card, rows[i].kind, 1, rows[i].arg);
		n_came = carry(&p[0], &p[1], 20, false);
		ut_check(n_came + rows[i].n_lost_most >= 20, "row %zu: %u of 20 came", i, n_came);
		assert_false(p[1].dev->rxq[0]->broken);
		both_ways(300);
		pair_down();
	}
}

/* In the middle of a burst: those around it come. */
static void
bad_packet_among_good_ones(void **state)
{
	struct rte_mbuf *m[32], *r[32];
	uint16_t n;

	(void)state;
	for (uint32_t skip = 0; skip < 32; skip++) {
		pair_up();
		assert_int_equal(liqm_fault_add(p[1].card,
						&(struct liqm_fault){.kind = LIQM_FAULT_RX_ZERO,
								     .fn_index = LIQM_ANY,
								     .ring = LIQM_ANY,
								     .skip = skip,
								     .count = 1}),
				 0);
		for (unsigned int i = 0; i < 32; i++)
			m[i] = lt_frame(&p[0], &p[1], 100, 1, i);
		assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 32), 32);
		n = lt_recv(&p[1], 0, r, 32);
		assert_int_equal(n, skip); /* what lies behind it goes with it */
		for (unsigned int i = 0; i < n; i++)
			lt_check_frame(r[i], &p[0], &p[1], 100, i);
		rte_pktmbuf_free_bulk(r, n);
		assert_int_equal(p[1].dev->rxq[0]->n.n_errors, 32 - skip);
		assert_int_equal(p[1].dev->rxq[0]->n.n_resyncs, 1);
		both_ways(200);
		pair_down();
	}
}

static void
count_that_trails_is_no_error(void **state)
{
	(void)state;
	pair_up();
	fault(p[1].card, LIQM_FAULT_RX_LATE, 20, 10000);
	assert_int_equal(carry(&p[0], &p[1], 20, true), 20);
	assert_int_equal(p[1].dev->rxq[0]->n.n_errors, 0);
	pair_down();
}

/* The count comes before its packet: what lay in the buffer before is no packet. */
static void
old_packets_are_not_received_again(void **state)
{
	struct rte_mempool *small = ut_pool_create("small", 200, 0);
	struct rte_mbuf *m, *r[4];

	(void)state;
	pair_open();
	p[1].pool = small;
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){0});
	/* each buffer has held a packet */
	assert_int_equal(carry(&p[0], &p[1], 1000, true), 1000);
	fault(p[1].card, LIQM_FAULT_CNTS_LIE, 1, 1);
	m = lt_frame(&p[0], &p[1], 100, 1, 77);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
	assert_int_equal(lt_recv(&p[1], 0, r, 4), 1);
	lt_check_frame(r[0], &p[0], &p[1], 100, 77);
	rte_pktmbuf_free(r[0]);
	assert_int_equal(p[1].dev->rxq[0]->n.n_resyncs, 1);
	assert_int_equal(carry(&p[0], &p[1], 300, true), 300);
	pair_down();
	ut_pool_destroy(small);
}

static void
lost_credits_end_in_a_reset(void **state)
{
	(void)state;
	pair_up();
	fault(p[1].card, LIQM_FAULT_CREDIT_STARVE, 0, 0);
	carry(&p[0], &p[1], 400, false);
	recover(&p[1]);
	both_ways(300);
	pair_down();
}

/* ---- the whole function ---- */

static void
ring_that_stays_in_reset_is_cut_off(void **state)
{
	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	fault(p[0].card, LIQM_FAULT_RST_STUCK, 0, 0);
	assert_int_equal(rte_eth_dev_stop(p[0].id), 0);
	assert_true(p[0].dev->fenced);
	/* nothing of the ring is left behind */
	assert_int_equal(ut_pool_missing(pool), p[1].dev->rxq[0]->n_posted);
	/* and the card reaches no memory any more: a ring that would fetch does not */
	assert_int_equal(liqm_counter(p[0].fn, LIQM_N_dma_read_err), 0);
	liqm_fault_clear(p[0].card);
	liqm_bar_write(p[0].fn, 0, LIQ_RING(1) + LIQ_REG_IN_BASE, p[0].dev->cmds.mem.iova, 8);
	liqm_bar_write(p[0].fn, 0, LIQ_RING(1) + LIQ_REG_IN_SIZE, 128, 4);
	liqm_bar_write(p[0].fn, 0, LIQ_RING(1) + LIQ_REG_IN_CTL,
		       LIQ_IN_CTL_MODE_LE | LIQ_IN_CTL_IS_64B | LIQ_IN_CTL_ENB, 8);
	liqm_bar_write(p[0].fn, 0, LIQ_RING(1) + LIQ_REG_IN_DBELL, 1, 4);
	assert_int_equal(liqm_counter(p[0].fn, LIQM_N_dma_read_err), 1);
	assert_true(rte_eth_dev_start(p[0].id) < 0);
	recover(&p[0]);
	assert_false(p[0].dev->fenced);
	both_ways(20);
	/* closed in that state it takes no memory along either */
	fault(p[0].card, LIQM_FAULT_RST_STUCK, 0, 0);
	pair_down();
	lt_clock_step(1000);
}

static void
gone_device_is_noticed(void **state)
{
	struct rte_eth_stats stats;
	uint64_t begin;

	(void)state;
	lt_clock_step(LT_MS);
	pair_up();
	fault(p[0].card, LIQM_FAULT_GONE, 0, 0);
	begin = lt_clock_now();
	carry(&p[0], &p[1], 200, false);
	carry(&p[1], &p[0], 200, false);
	assert_int_equal(rte_eth_dev_is_removed(p[0].id), 1);
	assert_true(rte_eth_dev_set_mtu(p[0].id, 1400) < 0);
	assert_int_equal(rte_eth_stats_get(p[0].id, &stats), 0);
	assert_int_equal(rte_eth_dev_stop(p[0].id), 0);
	assert_true(rte_eth_dev_reset(p[0].id) < 0);
	assert_true(lt_clock_now() - begin < 60 * S);
	recover(&p[0]);
	both_ways(20);
	pair_down();
	lt_clock_step(1000);
}

static void
link_flaps_are_events(void **state)
{
	struct rte_eth_link link;

	(void)state;
	pair_up();
	assert_int_equal(rte_eth_link_get_nowait(p[0].id, &link), 0);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	assert_int_equal(link.link_speed, 10000);
	assert_int_equal(link.link_autoneg, RTE_ETH_LINK_AUTONEG);
	/* the notice alone, between two requests */
	for (int up = 0; up < 2; up++) {
		struct rte_mbuf *m[4];

		lt_clock_advance(200 * LT_MS);
		liq_ethdev_tend(p[0].eth);
		liq_ethdev_tend(p[0].eth);
		liqm_link_set(p[0].card, 0, up);
		assert_int_equal(rte_eth_rx_burst(p[0].id, 0, m, 4), 0);
		liq_ethdev_tend(p[0].eth);
		rte_eth_link_get_nowait(p[0].id, &link);
		assert_int_equal(link.link_status, up);
	}
	/* the requests alone, when nobody receives */
	for (int up = 0; up < 2; up++) {
		liqm_link_set(p[0].card, 0, up);
		for (int i = 0; i < 3; i++) {
			lt_clock_advance(200 * LT_MS);
			liq_ethdev_tend(p[0].eth);
		}
		rte_eth_link_get_nowait(p[0].id, &link);
		assert_int_equal(link.link_status, up);
	}
	fault(p[0].card, LIQM_FAULT_LINK_FLAP, 1, 100 * LT_MS);
	carry(&p[0], &p[1], 1, false);
	for (int i = 0; i < 3; i++) {
		struct rte_mbuf *m;

		assert_int_equal(rte_eth_rx_burst(p[0].id, 0, &m, 1), 0); /* takes the notice */
		liq_ethdev_tend(p[0].eth);
	}
	rte_eth_link_get_nowait(p[0].id, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_DOWN);
	lt_clock_advance(200 * LT_MS);
	for (int i = 0; i < 3; i++) {
		struct rte_mbuf *m;

		assert_int_equal(rte_eth_rx_burst(p[0].id, 0, &m, 1), 0);
		liq_ethdev_tend(p[0].eth);
	}
	rte_eth_link_get_nowait(p[0].id, &link);
	assert_int_equal(link.link_status, RTE_ETH_LINK_UP);
	both_ways(20);
	pair_down();
}

/* ---- seeds ---- */

#define CALL_LIMIT_NS (45 * S)

static void
random_call(struct ut_rng *rng, struct lt_port *a, struct lt_port *b)
{
	struct rte_eth_rss_reta_entry64 reta[2] = {{.mask = 1}, {.mask = 0}};
	struct rte_ether_addr mac = {{2, 0, 0, 0, 0, (uint8_t)ut_rand_below(rng, 200)}};
	struct rte_mbuf *m[32];
	struct rte_eth_stats stats;
	struct rte_eth_link link;
	bool started = a->eth->data->dev_started;
	uint64_t begin = lt_clock_now();
	unsigned int what = ut_rand_below(rng, 24), n = 1 + ut_rand_below(rng, 32), k;

	switch (what) {
	case 0:
		rte_eth_dev_set_mtu(a->id, (uint16_t)(1000 + ut_rand_below(rng, 1000)));
		break;
	case 1:
		rte_eth_stats_get(a->id, &stats);
		break;
	case 2:
		rte_eth_promiscuous_enable(a->id);
		break;
	case 3:
		rte_eth_dev_default_mac_addr_set(a->id, &mac);
		break;
	case 4:
		rte_eth_dev_rss_reta_update(a->id, reta, 128);
		break;
	case 5:
		if (started)
			rte_eth_dev_stop(a->id);
		break;
	case 6:
	case 7:
		if (!started)
			rte_eth_dev_start(a->id);
		break;
	case 8:
	case 9:
		liq_ethdev_tend(a->eth);
		break;
	case 10:
		rte_eth_link_get(a->id, &link);
		break;
	case 11:
		lt_clock_advance(ut_rand_below(rng, 3000) * LT_MS);
		break;
	case 12:
		if (started)
			rte_eth_tx_done_cleanup(a->id, 0, n);
		break;
	case 13:
		rte_eth_allmulticast_disable(a->id);
		break;
	case 14:
		rte_eth_xstats_reset(a->id);
		break;
	case 15:
		liqm_card_tick(a->card);
		break;
	case 16:
	case 17:
	case 18:
	case 19:
		if (!started)
			break;
		for (k = 0; k < n; k++)
			m[k] = lt_frame(a, b, 60 + ut_rand_below(rng, 1400),
					1 + ut_rand_below(rng, 5), k);
		k = rte_eth_tx_burst(a->id, 0, m, (uint16_t)n);
		rte_pktmbuf_free_bulk(m + k, n - k);
		break;
	default:
		if (!started)
			break;
		k = rte_eth_rx_burst(a->id, 0, m, (uint16_t)n);
		assert_true(k <= n);
		for (unsigned int i = 0; i < k; i++)
			rte_mbuf_sanity_check(m[i], 1);
		rte_pktmbuf_free_bulk(m, k);
		break;
	}
	ut_check(lt_clock_now() - begin < CALL_LIMIT_NS, "call %u took %" PRIu64 " ms", what,
		 (lt_clock_now() - begin) / LT_MS);
}

static uint64_t n_struck, n_dead;

static void
run_seed(uint64_t seed)
{
	struct ut_rng rng = {.state = seed};

	pair_open();
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){.lsc = true, .rss_hf = RTE_ETH_RSS_IPV4});
	for (int i = 0; i < 2; i++)
		assert_int_equal(liqm_fault_random(p[i].card, seed * 2 + (unsigned int)i,
						   (UINT64_C(1) << LIQM_N_FAULTS) - 1, 4),
				 0);
	for (int i = 0; i < 150; i++) {
		unsigned int side = ut_rand_below(&rng, 2);

		random_call(&rng, &p[side], &p[!side]);
	}
	for (int i = 0; i < 2; i++) {
		n_struck += liqm_counter(p[i].fn, LIQM_N_faults);
		n_dead += liq_dev_is_ill(p[i].dev);
		liqm_fault_clear(p[i].card);
		if (p[i].eth->data->dev_started)
			assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		assert_int_equal(rte_eth_dev_reset(p[i].id), 0);
	}
	assert_int_equal(ut_pool_missing(pool), 0);
	/* leftovers of the wire go first */
	lt_clock_advance(10 * S);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], &(struct lt_conf){.lsc = true});
	lt_clock_advance(10 * S);
	carry(&p[0], &p[1], 5, false);
	carry(&p[1], &p[0], 5, false);
	lt_clock_step(1000);
	both_ways(10);
	lt_clock_step(LT_MS);
	pair_down();
}

static void
any_script_of_faults_is_survived(void **state)
{
	const char *one = getenv("LIQ_SEED"), *many = getenv("LIQ_SEEDS");
	uint64_t n = many ? strtoull(many, NULL, 0) : 1000;

	(void)state;
	rte_log_set_level((uint32_t)liq_logtype, RTE_LOG_EMERG);
	lt_clock_step(LT_MS);
	if (one)
		run_seed(strtoull(one, NULL, 0));
	for (uint64_t seed = 1; !one && seed <= n; seed++) {
		printf("# seed %" PRIu64 "\n", seed);
		run_seed(seed);
	}
	printf("# %" PRIu64 " faults struck, %" PRIu64 " ports were ill\n", n_struck, n_dead);
	/* or else the scripts would prove nothing */
	assert_true(one || (n_struck > 2 * n && n_dead > n / 10));
	lt_clock_step(1000);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(refusal_is_an_error),
		cmocka_unit_test(answer_before_the_count_is_waited_for),
		cmocka_unit_test(slow_answer_is_waited_for),
		cmocka_unit_test(late_answer_finds_its_own_memory),
		cmocka_unit_test(no_answer_times_out),
		cmocka_unit_test(start_without_answers_fails_and_unwinds),
		cmocka_unit_test(impossible_completions_stop_the_queue),
		cmocka_unit_test(stuck_queue_ends_in_bounded_time),
		cmocka_unit_test(bad_packets_are_dropped_and_the_ring_goes_on),
		cmocka_unit_test(bad_packet_among_good_ones),
		cmocka_unit_test(count_that_trails_is_no_error),
		cmocka_unit_test(old_packets_are_not_received_again),
		cmocka_unit_test(lost_credits_end_in_a_reset),
		cmocka_unit_test(ring_that_stays_in_reset_is_cut_off),
		cmocka_unit_test(gone_device_is_noticed),
		cmocka_unit_test(link_flaps_are_events),
		cmocka_unit_test(any_script_of_faults_is_survived),
	};

	return UT_RUN(cases, lt_setup, lt_teardown);
}
