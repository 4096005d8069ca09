/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rings: frames of all shapes through two cabled ports, bit by bit; wraps, chains, limits,
 * completion, starvation, and who owns the mbufs.
 */
#include "lt.h"

#include <rte_errno.h>

#define N_MBUFS 8191

static struct rte_mempool *pool;

static void
pair_up(struct lt_port p[2], const struct lt_conf *conf)
{
	pool = ut_pool_create("lt", N_MBUFS, 0);
	lt_pair(p, "", pool);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], conf);
}

/* Everything that was under way is back. */
static void
pair_down(struct lt_port p[2])
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

/* n frames in bursts of burst from a to b, with lengths and segments that vary. */
static void
carry(struct lt_port *a, struct lt_port *b, unsigned int n, unsigned int burst, uint32_t max_len,
      unsigned int max_segs)
{
	struct rte_mbuf *m[64], *r[64];

	for (unsigned int at = 0; at < n;) {
		unsigned int k = burst < n - at ? burst : n - at;

		for (unsigned int i = 0; i < k; i++)
			m[i] = lt_frame(a, b, 60 + (at + i) * 37 % (max_len - 59),
					1 + (at + i) % max_segs, at + i);
		assert_int_equal(rte_eth_tx_burst(a->id, 0, m, (uint16_t)k), k);
		assert_int_equal(lt_recv(b, 0, r, (uint16_t)k), k);
		for (unsigned int i = 0; i < k; i++) {
			lt_check_frame(r[i], a, b, 60 + (at + i) * 37 % (max_len - 59), at + i);
			rte_pktmbuf_free(r[i]);
		}
		at += k;
	}
}

static void
frames_pass_in_bursts_of_any_size(void **state)
{
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.n_desc = 131}); /* wraps everywhere */
	for (unsigned int burst = 1; burst <= 64; burst += burst < 4 ? 1 : 7) {
		carry(&p[0], &p[1], 300, burst, 1514, 1);
		carry(&p[1], &p[0], 300, burst, 1514, 1);
	}
	pair_down(p);
}

/* Every burst function sends every mbuf right. */
static void
chains_pass_whatever_was_asked_for(void **state)
{
	static const uint64_t offloads[] = {
		0,
		RTE_ETH_TX_OFFLOAD_IPV4_CKSUM,
		RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
		RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_UDP_CKSUM,
	};
	struct lt_port p[2];

	(void)state;
	for (size_t i = 0; i < UT_N(offloads); i++) {
		pair_up(p, &(struct lt_conf){.tx_offloads = offloads[i]});
		carry(&p[0], &p[1], 600, 32, 1514, 1);
		carry(&p[0], &p[1], 600, 32, 1514, 9);
		carry(&p[0], &p[1], 130, 32, 1514, 64);
		carry(&p[0], &p[1], 300, 1, 1514, 5);
		pair_down(p);
	}
}

static void
long_frames_come_in_chains(void **state)
{
	struct rte_mbuf *m, *r;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.mtu = 9600, .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
	carry(&p[0], &p[1], 400, 16, 9614, 6);
	/* a frame that fills its first buffer to the last byte, and one byte more */
	for (uint32_t len = 2020; len < 2030; len++) {
		m = lt_frame(&p[0], &p[1], len, 2, len);
		assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
		assert_int_equal(lt_recv(&p[1], 0, &r, 1), 1);
		lt_check_frame(r, &p[0], &p[1], len, len);
		/* not IP: no hash word; length and header are 16 bytes */
		assert_int_equal(r->nb_segs, len <= 2032 ? 1 : 2);
		rte_mbuf_sanity_check(r, 1);
		rte_pktmbuf_free(r);
	}
	pair_down(p);
}

static void
headroom_is_never_less_than_promised(void **state)
{
	struct rte_mbuf *m, *r;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.rss_hf = RTE_ETH_RSS_IPV4});
	m = lt_frame(&p[0], &p[1], 100, 1, 1);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
	assert_int_equal(lt_recv(&p[1], 0, &r, 1), 1);
	assert_true(rte_pktmbuf_headroom(r) >= RTE_PKTMBUF_HEADROOM);
	rte_pktmbuf_free(r);
	pair_down(p);
}

static void
full_ring_takes_what_fits(void **state)
{
	struct rte_mbuf *m[256];
	struct lt_port p[2];
	uint16_t n;

	(void)state;
	pair_up(p, &(struct lt_conf){.n_desc = 128});
	/* the card stops fetching */
	assert_int_equal(liqm_fault_add(p[0].card,
					&(struct liqm_fault){.kind = LIQM_FAULT_FETCH_LATE,
							     .fn_index = LIQM_ANY,
							     .ring = 0,
							     .count = 1,
							     .arg = 1000 * LT_MS}),
			 0);
	for (unsigned int i = 0; i < 256; i++)
		m[i] = lt_frame(&p[0], &p[1], 100, 1, i);
	n = rte_eth_tx_burst(p[0].id, 0, m, 256);
	assert_int_equal(n, 127); /* one entry always stays empty */
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m + n, (uint16_t)(256 - n)), 0);
	assert_int_equal(rte_eth_tx_descriptor_status(p[0].id, 0, 0), RTE_ETH_TX_DESC_DONE);
	assert_int_equal(rte_eth_tx_descriptor_status(p[0].id, 0, 1), RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_eth_tx_descriptor_status(p[0].id, 0, 127), RTE_ETH_TX_DESC_FULL);
	assert_int_equal(rte_eth_tx_descriptor_status(p[0].id, 0, 128), -EINVAL);
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 0), 0);
	lt_clock_advance(2000 * LT_MS);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m + n, (uint16_t)(256 - n)), 127);
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 5), 5);
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 0), 122);
	assert_int_equal(rte_eth_tx_descriptor_status(p[0].id, 0, 127), RTE_ETH_TX_DESC_DONE);
	for (unsigned int i = n + 127; i < 256; i++)
		rte_pktmbuf_free(m[i]);
	pair_down(p);
}

/* A frame that somebody else holds too is not taken from him. */
static void
shared_frames_stay_with_their_other_owner(void **state)
{
	struct rte_mbuf *m[8], *r[8], *copy[8];
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS});
	for (unsigned int i = 0; i < 8; i++) {
		m[i] = lt_frame(&p[0], &p[1], 300, 1 + i % 3, i);
		copy[i] = m[i];
		if (i % 2) {
			rte_pktmbuf_refcnt_update(m[i], 1);
		} else {
			copy[i] = rte_pktmbuf_clone(m[i], pool);
			assert_non_null(copy[i]);
		}
	}
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 8), 8);
	assert_int_equal(lt_recv(&p[1], 0, r, 8), 8);
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 0), 8);
	for (unsigned int i = 0; i < 8; i++) {
		lt_check_frame(copy[i], &p[0], &p[1], 300, i);
		rte_pktmbuf_free(copy[i]);
		rte_pktmbuf_free(r[i]);
	}
	pair_down(p);
}

/* fast_free gives whole rings back in one call, chains in between too. */
static void
fast_free_gives_all_back(void **state)
{
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.tx_offloads = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE});
	carry(&p[0], &p[1], 500, 32, 1514, 1);
	carry(&p[0], &p[1], 100, 7, 1514, 3);
	carry(&p[0], &p[1], 500, 32, 1514, 1);
	pair_down(p);
}

static void
impossible_frames_are_refused_and_counted(void **state)
{
	struct rte_mbuf *m[4], *r[4];
	struct rte_eth_stats stats;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
						    RTE_ETH_TX_OFFLOAD_VLAN_INSERT});
	m[0] = lt_frame(&p[0], &p[1], 200, 1, 0);
	m[1] = lt_frame(&p[0], &p[1], 1300, 65, 1); /* one segment too many */
	m[2] = lt_frame(&p[0], &p[1], 200, 1, 2);
	m[2]->ol_flags = RTE_MBUF_F_TX_VLAN; /* VLAN 0 cannot be inserted */
	m[2]->vlan_tci = 0x6000;
	m[3] = lt_frame(&p[0], &p[1], 200, 1, 3);
	assert_int_equal(rte_eth_tx_prepare(p[0].id, 0, m, 4), 1);
	assert_int_equal(rte_errno, EINVAL);
	assert_int_equal(rte_eth_tx_prepare(p[0].id, 0, m + 2, 2), 0);
	assert_int_equal(rte_eth_tx_prepare(p[0].id, 0, m + 3, 1), 1);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 4), 4);
	assert_int_equal(lt_recv(&p[1], 0, r, 4), 2);
	lt_check_frame(r[0], &p[0], &p[1], 200, 0);
	lt_check_frame(r[1], &p[0], &p[1], 200, 3);
	rte_pktmbuf_free_bulk(r, 2);
	assert_int_equal(rte_eth_stats_get(p[0].id, &stats), 0);
	assert_int_equal(stats.opackets, 2);
	assert_int_equal(stats.oerrors, 2);
	m[0] = lt_frame(&p[0], &p[1], 200, 1, 0);
	m[0]->ol_flags = RTE_MBUF_F_TX_TCP_SEG;
	assert_int_equal(rte_eth_tx_prepare(p[0].id, 0, m, 1), 0);
	assert_int_equal(rte_errno, ENOTSUP);
	rte_pktmbuf_free(m[0]);
	pair_down(p);
}

/* A segment longer than a direct pointer holds goes by a gather list. */
static void
long_segment_goes_by_gather(void **state)
{
	struct rte_mempool *big;
	struct rte_mbuf *m;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.mtu = 9600, .rx_offloads = RTE_ETH_RX_OFFLOAD_SCATTER});
	big = rte_pktmbuf_pool_create("big", 15, 0, 0, 17000, SOCKET_ID_ANY);
	assert_non_null(big);
	m = rte_pktmbuf_alloc(big);
	assert_non_null(rte_pktmbuf_append(m, 16384));
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
	assert_int_equal(p[0].dev->txq[0]->n.n_refused, 1); /* longer than any frame */
	m = rte_pktmbuf_alloc(big);
	memset(rte_pktmbuf_append(m, 16000), 0xAB, 16000);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
	assert_int_equal(rte_eth_tx_done_cleanup(p[0].id, 0, 0), 1);
	assert_int_equal(liqm_counter(p[0].fn, LIQM_N_dma_read_err), 0);
	assert_int_equal(rte_mempool_avail_count(big), 15);
	pair_down(p);
	rte_mempool_free(big);
}

/* No mbufs at all: frames are lost and counted, and it goes on when there are some again. */
static void
starved_queue_recovers(void **state)
{
	struct rte_mbuf *m[64], *r[64];
	struct rte_mempool *small;
	struct rte_eth_stats stats;
	struct lt_port p[2];
	unsigned int n_held = 0, n_sent = 0;
	static struct rte_mbuf *held[1024];

	(void)state;
	pool = ut_pool_create("lt", N_MBUFS, 0);
	small = ut_pool_create("small", 255, 0);
	lt_pair(p, "", pool);
	p[1].pool = small;
	lt_up(&p[0], &(struct lt_conf){0});
	lt_up(&p[1], &(struct lt_conf){0});
	for (int lap = 0; lap < 20; lap++) {
		for (unsigned int i = 0; i < 32; i++)
			m[i] = lt_frame(&p[0], &p[1], 100, 1, i);
		assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 32), 32);
		n_sent += 32;
		/* held back until the pool is dry */
		lt_clock_advance(100 * LT_MS);
		n_held += lt_recv(&p[1], 0, held + n_held, 64);
	}
	assert_int_equal(n_held, 255);
	assert_int_equal(rte_eth_stats_get(p[1].id, &stats), 0);
	assert_int_equal(stats.ipackets, 255);
	assert_int_equal(stats.ipackets + stats.imissed, n_sent);
	assert_true(stats.rx_nombuf > 0);
	rte_pktmbuf_free_bulk(held, n_held);
	assert_int_equal(rte_eth_rx_burst(p[1].id, 0, r, 1), 0); /* refills */
	carry(&p[0], &p[1], 300, 32, 1514, 1);
	pair_down(p);
	ut_pool_destroy(small);
}

static void
descriptor_status_tells(void **state)
{
	struct rte_mbuf *m[10], *r[10];
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){0});
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 0), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_burst(p[1].id, 0, r, 1), 0); /* the link's notice */
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 0), RTE_ETH_RX_DESC_AVAIL);
	for (unsigned int i = 0; i < 10; i++)
		m[i] = lt_frame(&p[0], &p[1], 100, 1, i);
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, m, 10), 10);
	assert_int_equal(rte_eth_rx_queue_count(p[1].id, 0), 10);
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 9), RTE_ETH_RX_DESC_DONE);
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 10), RTE_ETH_RX_DESC_AVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 127), RTE_ETH_RX_DESC_UNAVAIL);
	assert_int_equal(rte_eth_rx_descriptor_status(p[1].id, 0, 128), -EINVAL);
	assert_int_equal(lt_recv(&p[1], 0, r, 10), 10);
	rte_pktmbuf_free_bulk(r, 10);
	pair_down(p);
}

/* The running counts wrap, and are brought down long before. */
static void
counts_wrap(void **state)
{
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){0});
	for (int side = 0; side < 2; side++) {
		uint32_t near = side == 0 ? (1u << 30) - 50 : UINT32_MAX - 100;

		/* as if so many had gone through: a write subtracts */
		liqm_bar_write(p[0].fn, 0, LIQ_RING(0) + LIQ_REG_IN_DONE,
			       p[0].dev->txq[0]->seen - near, 4);
		p[0].dev->txq[0]->seen = near;
		liqm_bar_write(p[1].fn, 0, LIQ_RING(0) + LIQ_REG_CNTS,
			       p[1].dev->rxq[0]->seen - near, 4);
		p[1].dev->rxq[0]->seen = near;
		carry(&p[0], &p[1], 400, 32, 1514, 2);
		assert_true(p[1].dev->rxq[0]->seen < 1u << 30);
	}
	assert_false(p[0].dev->txq[0]->broken);
	pair_down(p);
}

/* Entries that carried commands carry frames again, to the bit. */
static void
commands_leave_no_trace(void **state)
{
	static const struct liq_instr zero;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){0});
	for (int lap = 0; lap < 10; lap++) {
		const struct liq_iq *iq = p[0].dev->txq[0];

		for (int i = 0; i < 7; i++)
			assert_int_equal(rte_eth_dev_set_mtu(p[0].id, (uint16_t)(1400 + i)), 0);
		carry(&p[0], &p[1], 140, 20, 1300, 2);
		rte_eth_tx_done_cleanup(p[0].id, 0, 0);
		assert_int_equal(iq->n_special, 0);
		for (uint32_t i = 0; i < iq->n_desc; i++) {
			assert_int_equal(iq->ring[i].pki_ih3, iq->pki_ih3);
			assert_memory_equal(iq->ring[i].ossp, zero.ossp, 32);
		}
	}
	pair_down(p);
}

/* All of a ring is one block, as the documents say. */
static void
one_block_per_ring(void **state)
{
	const struct liq_iq *iq;
	const struct liq_oq *oq;
	struct lt_port p[2];

	(void)state;
	pair_up(p, &(struct lt_conf){.n_desc = 512});
	iq = p[0].dev->txq[0];
	oq = p[0].dev->rxq[0];
	assert_ptr_equal((uint8_t *)iq->gather, iq->mem.addr + 64 * 512);
	assert_ptr_equal((uint8_t *)iq->rec, iq->mem.addr + (64 + 640) * 512);
	assert_int_equal(iq->gather_iova, iq->mem.iova + 64 * 512);
	assert_true((const uint8_t *)iq > (uint8_t *)iq->rec &&
		    (const uint8_t *)(iq + 1) <= iq->mem.addr + iq->mem.len_bytes);
	assert_int_equal(iq->mem.len_bytes, (64 + 640 + 8) * 512 + sizeof(*iq));
	assert_ptr_equal((uint8_t *)oq->rec, oq->mem.addr + 16 * 512);
	assert_int_equal(oq->mem.len_bytes, 16 * 512 + 8 * 512 + 64 + sizeof(*oq));
	assert_int_equal(iq->mem.iova % 128, 0);
	assert_int_equal(oq->mem.iova % 128, 0);
	pair_down(p);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(frames_pass_in_bursts_of_any_size),
		cmocka_unit_test(chains_pass_whatever_was_asked_for),
		cmocka_unit_test(long_frames_come_in_chains),
		cmocka_unit_test(headroom_is_never_less_than_promised),
		cmocka_unit_test(full_ring_takes_what_fits),
		cmocka_unit_test(shared_frames_stay_with_their_other_owner),
		cmocka_unit_test(fast_free_gives_all_back),
		cmocka_unit_test(impossible_frames_are_refused_and_counted),
		cmocka_unit_test(long_segment_goes_by_gather),
		cmocka_unit_test(starved_queue_recovers),
		cmocka_unit_test(descriptor_status_tells),
		cmocka_unit_test(counts_wrap),
		cmocka_unit_test(commands_leave_no_trace),
		cmocka_unit_test(one_block_per_ring),
	};

	return UT_RUN(cases, lt_setup, lt_teardown);
}
