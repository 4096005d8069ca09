/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of the card and what it reports: checksums, VLAN tags, hashes and queues, packet
 * types, addresses and filters, MTU.  Two cabled ports; the second one judges the first.
 */
#include "lt.h"
#include "ut_pkt.h"

#include <rte_ip.h>
#include <rte_thash.h>
#include <rte_udp.h>

static struct rte_mempool *pool;
static struct lt_port p[2];

static void
pair_up(const struct lt_conf *conf)
{
	pool = ut_pool_create("lt", 8191, 0);
	lt_pair(p, "", pool);
	for (int i = 0; i < 2; i++)
		lt_up(&p[i], conf);
}

static void
pair_down(void)
{
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rte_eth_dev_stop(p[i].id), 0);
		lt_close(&p[i]);
	}
	ut_pool_destroy(pool);
}

static struct ut_pkt
udp_to(const struct lt_port *to)
{
	struct ut_pkt u = ut_pkt_udp();

	memcpy(u.eth_dst, to->eth->data->mac_addrs, 6);
	memcpy(u.eth_src, p[0].eth->data->mac_addrs, 6);
	return u;
}

static struct rte_mbuf *
mbuf_of(const struct ut_pkt *u)
{
	uint8_t bytes[1600];
	size_t len = ut_pkt_bytes(u, bytes, sizeof(bytes));
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)len), bytes, len);
	return m;
}

static void
send_one(struct rte_mbuf *m)
{
	assert_int_equal(rte_eth_tx_burst(p[0].id, 0, &m, 1), 1);
}

/* The one frame that arrives at the second port, from any queue. */
static struct rte_mbuf *
recv_one(uint16_t *queue)
{
	struct rte_mbuf *m = NULL;

	for (uint16_t q = 0; q < p[1].eth->data->nb_rx_queues && !m; q++) {
		if (lt_recv(&p[1], q, &m, 1) == 1 && queue)
			*queue = q;
	}
	assert_non_null(m);
	return m;
}

static void
nothing_comes(void)
{
	struct rte_mbuf *m;

	for (uint16_t q = 0; q < p[1].eth->data->nb_rx_queues; q++)
		assert_int_equal(lt_recv(&p[1], q, &m, 1), 0);
}

#define RX_SUMS                                                                                    \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_RX_OFFLOAD_TCP_CKSUM)
#define TX_SUMS                                                                                    \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_TX_OFFLOAD_TCP_CKSUM)

static void
received_checksums_are_reported(void **state)
{
	static const uint64_t sums = RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK;
	static const struct {
		int32_t ip, udp;
		uint64_t flags;
	} rows[] = {
		{UT_AUTO, UT_AUTO, RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD},
		{UT_AUTO, 0x1234, RTE_MBUF_F_RX_IP_CKSUM_GOOD},
		{0x1234, UT_AUTO, RTE_MBUF_F_RX_L4_CKSUM_GOOD},
		{0x1234, 0x1234, 0},
		{UT_AUTO, 0, RTE_MBUF_F_RX_IP_CKSUM_GOOD}, /* no checksum: nothing to say */
	};
	struct rte_mbuf *m;

	(void)state;
	for (int on = 0; on < 2; on++) {
		pair_up(&(struct lt_conf){.rx_offloads = on ? RX_SUMS : 0});
		for (size_t i = 0; i < UT_N(rows); i++) {
			struct ut_pkt u = udp_to(&p[1]);

			u.ip_csum = rows[i].ip;
			u.udp_csum = rows[i].udp;
			send_one(mbuf_of(&u));
			m = recv_one(NULL);
			ut_check((m->ol_flags & sums) == (on ? rows[i].flags : 0),
				 "row %zu: %" PRIx64, i, m->ol_flags & sums);
			rte_pktmbuf_free(m);
		}
		pair_down();
	}
}

static void
checksums_are_inserted(void **state)
{
	static const uint64_t tx_offloads[] = {TX_SUMS, TX_SUMS | RTE_ETH_TX_OFFLOAD_MULTI_SEGS};

	(void)state;
	for (size_t i = 0; i < UT_N(tx_offloads); i++) {
		pair_up(&(struct lt_conf){.tx_offloads = tx_offloads[i], .rx_offloads = RX_SUMS});
		for (unsigned int want = 0; want < 4; want++) {
			struct ut_pkt u = udp_to(&p[1]);
			struct rte_mbuf *m;
			uint64_t expect = 0;

			u.ip_csum = u.udp_csum = 0x1111;
			m = mbuf_of(&u);
			m->l2_len = 14;
			m->l3_len = 20;
			m->ol_flags = RTE_MBUF_F_TX_IPV4;
			if (want & 1) {
				m->ol_flags |= RTE_MBUF_F_TX_IP_CKSUM;
				expect |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
			}
			if (want & 2) {
				m->ol_flags |= RTE_MBUF_F_TX_UDP_CKSUM;
				expect |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
			}
			assert_int_equal(rte_eth_tx_prepare(p[0].id, 0, &m, 1), 1);
			send_one(m);
			m = recv_one(NULL);
			ut_check((m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK |
						 RTE_MBUF_F_RX_L4_CKSUM_MASK)) == expect,
				 "want %u: %" PRIx64, want, m->ol_flags);
			rte_pktmbuf_free(m);
		}
		pair_down();
	}
}

static void
tags_go_out_and_come_in(void **state)
{
	static const uint16_t tcis[] = {1, 4095, 0x6005, 0xE123};
	struct rte_mbuf *m;

	(void)state;
	for (int strip = 0; strip < 2; strip++) {
		pair_up(&(struct lt_conf){
			.tx_offloads = RTE_ETH_TX_OFFLOAD_VLAN_INSERT,
			.rx_offloads = strip ? RTE_ETH_RX_OFFLOAD_VLAN_STRIP : 0,
			.rss_hf = RTE_ETH_RSS_IPV4,
		});
		for (size_t i = 0; i < UT_N(tcis); i++) {
			struct ut_pkt u = udp_to(&p[1]);
			const uint8_t *data;
			uint8_t want[1600];
			size_t len;

			m = mbuf_of(&u);
			m->ol_flags = RTE_MBUF_F_TX_VLAN;
			m->vlan_tci = tcis[i];
			send_one(m);
			m = recv_one(NULL);
			data = rte_pktmbuf_mtod(m, const uint8_t *);
			if (strip) {
				assert_int_equal(m->vlan_tci, tcis[i]);
				assert_int_equal(m->ol_flags & (RTE_MBUF_F_RX_VLAN |
								RTE_MBUF_F_RX_VLAN_STRIPPED),
						 RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED);
			} else {
				/* put back, for the card always takes it out */
				u.vlan_tci = tcis[i];
				assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN, 0);
			}
			len = ut_pkt_bytes(&u, want, sizeof(want));
			ut_check(m->pkt_len >= len && m->pkt_len == m->data_len, "%u bytes",
				 m->pkt_len);
			ut_check_bytes(data, want, len, "tci %x", tcis[i]);
			rte_pktmbuf_free(m);
		}
		/* and a plain frame after tagged ones is plain */
		send_one(lt_frame(&p[0], &p[1], 100, 1, 5));
		m = recv_one(NULL);
		lt_check_frame(m, &p[0], &p[1], 100, 5);
		assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN, 0);
		assert_int_equal(m->vlan_tci, 0);
		rte_pktmbuf_free(m);
		pair_down();
	}
}

/* The value, not the type; and the queue is what the table says for it. */
static void
hash_value_and_queue_are_right(void **state)
{
	static uint8_t key[40];
	struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = sizeof(key)};
	struct rte_eth_rss_reta_entry64 reta[2];
	unsigned int n_on[4] = {0};

	(void)state;
	pair_up(&(struct lt_conf){.n_rxq = 4,
				  .n_txq = 4,
				  .rss_hf = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP,
				  .rx_offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH});
	assert_int_equal(rte_eth_dev_rss_hash_conf_get(p[1].id, &rss), 0);
	assert_int_equal(rss.rss_hf, RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP);
	for (int lap = 0; lap < 3; lap++) {
		if (lap == 1) { /* another key */
			for (size_t i = 0; i < sizeof(key); i++)
				key[i] = (uint8_t)(i * 41 + 7);
			assert_int_equal(rte_eth_dev_rss_hash_update(p[1].id, &rss), 0);
		}
		if (lap == 2) { /* another table: all on queue 2, but entry 5 on 3 */
			memset(reta, 0, sizeof(reta));
			for (int i = 0; i < 128; i++) {
				reta[i / 64].mask |= UINT64_C(1) << i % 64;
				reta[i / 64].reta[i % 64] = i == 5 ? 3 : 2;
			}
			assert_int_equal(rte_eth_dev_rss_reta_update(p[1].id, reta, 128), 0);
		}
		for (unsigned int i = 0; i < 200; i++) {
			struct ut_pkt u = udp_to(&p[1]);
			uint32_t tuple[2], hash;
			struct rte_mbuf *m;
			uint16_t queue = 0, want;

			u.ip_src += i * 7919;
			tuple[0] = u.ip_src;
			tuple[1] = u.ip_dst;
			hash = rte_softrss(tuple, 2, key);
			want = lap < 2 ? hash % 128 % 4 : hash % 128 == 5 ? 3 : 2;
			send_one(mbuf_of(&u));
			m = recv_one(&queue);
			assert_true(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
			assert_int_equal(m->hash.rss, hash);
			assert_int_equal(queue, want);
			assert_int_equal(m->packet_type,
					 RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN);
			n_on[queue]++;
			rte_pktmbuf_free(m);
		}
	}
	for (int q = 0; q < 4; q++)
		assert_true(n_on[q] > 0);
	/* not IP: no hash, queue 0 */
	send_one(lt_frame(&p[0], &p[1], 100, 1, 5));
	{
		uint16_t queue = 9;
		struct rte_mbuf *m = recv_one(&queue);

		assert_int_equal(queue, 0);
		assert_false(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH);
		assert_int_equal(m->packet_type, RTE_PTYPE_L2_ETHER);
		rte_pktmbuf_free(m);
	}
	pair_down();
}

static void
table_is_checked(void **state)
{
	struct rte_eth_rss_reta_entry64 reta[4] = {{.mask = 3, .reta = {1, 0}}};
	struct rte_eth_rss_reta_entry64 back[2] = {{.mask = 4, .reta = {7, 7, 7}}};

	(void)state;
	pair_up(&(struct lt_conf){.n_rxq = 2, .n_txq = 2, .rss_hf = RTE_ETH_RSS_IPV4});
	assert_int_equal(rte_eth_dev_rss_reta_update(p[0].id, reta, 128), 0);
	assert_int_equal(rte_eth_dev_rss_reta_query(p[0].id, back, 128), 0);
	/* only what the mask names is written */
	assert_int_equal(back[0].reta[0], 7);
	assert_int_equal(back[0].reta[2], 0);
	back[0].mask = 3;
	assert_int_equal(rte_eth_dev_rss_reta_query(p[0].id, back, 128), 0);
	assert_int_equal(back[0].reta[0], 1);
	assert_int_equal(back[0].reta[1], 0);
	reta[0].reta[1] = 2;
	assert_int_equal(rte_eth_dev_rss_reta_update(p[0].id, reta, 128), -EINVAL);
	reta[0].reta[1] = 0;
	assert_int_equal(rte_eth_dev_rss_reta_update(p[0].id, reta, 256), -EINVAL);
	/* a table that firmware refuses is not ours either */
	liqm_fault_add(p[0].card, &(struct liqm_fault){.kind = LIQM_FAULT_RESP_STATUS,
						       .fn_index = LIQM_ANY,
						       .ring = LIQM_ANY,
						       .count = 1});
	reta[0].reta[0] = 0;
	assert_int_equal(rte_eth_dev_rss_reta_update(p[0].id, reta, 128), -EIO);
	assert_int_equal(rte_eth_dev_rss_reta_query(p[0].id, back, 128), 0);
	assert_int_equal(back[0].reta[0], 1);
	pair_down();
}

static void
addresses_and_flags_filter(void **state)
{
	struct rte_ether_addr mac = {{0x02, 0x11, 0x22, 0x33, 0x44, 0x55}};
	struct rte_ether_addr mc[33] = {{{0x01, 0x00, 0x5E, 0x00, 0x00, 0x07}}};
	struct ut_pkt u;

	(void)state;
	pair_up(&(struct lt_conf){0});
	u = udp_to(&p[1]);
	memcpy(u.eth_dst, mac.addr_bytes, 6);
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_promiscuous_enable(p[1].id), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	assert_int_equal(rte_eth_promiscuous_disable(p[1].id), 0);
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_dev_default_mac_addr_set(p[1].id, &mac), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));

	memcpy(u.eth_dst, mc[0].addr_bytes, 6);
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_dev_set_mc_addr_list(p[1].id, mc, 1), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	assert_int_equal(rte_eth_dev_set_mc_addr_list(p[1].id, mc, 33), -ENOSPC);
	assert_int_equal(rte_eth_dev_set_mc_addr_list(p[1].id, NULL, 0), 0);
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_allmulticast_enable(p[1].id), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));

	/* all of that survives a stop, and a reset of the function */
	assert_int_equal(rte_eth_dev_set_mc_addr_list(p[1].id, mc, 1), 0);
	assert_int_equal(rte_eth_allmulticast_disable(p[1].id), 0);
	assert_int_equal(rte_eth_dev_stop(p[1].id), 0);
	assert_int_equal(rte_eth_dev_start(p[1].id), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	memcpy(u.eth_dst, mac.addr_bytes, 6);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	/* the reset forgets the address, which ethdev replays only for its own sake */
	assert_int_equal(rte_eth_dev_reset(p[1].id), 0);
	lt_up(&p[1], &(struct lt_conf){0});
	memcpy(u.eth_dst, mc[0].addr_bytes, 6);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	pair_down();
}

static void
untrusted_vf_is_not_promiscuous(void **state)
{
	struct lt_port pf, vf;

	(void)state;
	pool = ut_pool_create("lt", 2047, 0);
	assert_int_equal(lt_open(&pf, 0, "first,role=pf,card=c,vfs=1,queues=1", pool), 0);
	lt_tend_meanwhile(&pf);
	assert_int_equal(lt_open(&vf, 1, "card=c", pool), 0);
	lt_tend_meanwhile(NULL);
	assert_int_equal(rte_eth_promiscuous_enable(vf.id), -EPERM);
	assert_int_equal(rte_eth_promiscuous_get(vf.id), 0);
	assert_int_equal(rte_eth_allmulticast_enable(vf.id), 0);
	lt_close(&vf);
	lt_close(&pf);
	ut_pool_destroy(pool);
}

static void
vlan_filter_filters(void **state)
{
	struct ut_pkt u;

	(void)state;
	pair_up(&(struct lt_conf){.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER |
						 RTE_ETH_RX_OFFLOAD_VLAN_STRIP});
	u = udp_to(&p[1]);
	u.vlan_tci = 42;
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_dev_vlan_filter(p[1].id, 42, 1), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	assert_int_equal(rte_eth_dev_stop(p[1].id), 0);
	assert_int_equal(rte_eth_dev_start(p[1].id), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	assert_int_equal(rte_eth_dev_reset(p[1].id), 0);
	lt_up(&p[1], &(struct lt_conf){.rx_offloads = RTE_ETH_RX_OFFLOAD_VLAN_FILTER |
						      RTE_ETH_RX_OFFLOAD_VLAN_STRIP});
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	assert_int_equal(rte_eth_dev_vlan_filter(p[1].id, 42, 0), 0);
	send_one(mbuf_of(&u));
	nothing_comes();
	assert_int_equal(rte_eth_dev_set_vlan_offload(p[1].id, RTE_ETH_VLAN_STRIP_OFFLOAD), 0);
	send_one(mbuf_of(&u));
	rte_pktmbuf_free(recv_one(NULL));
	/* stripping may be switched while running */
	assert_int_equal(rte_eth_dev_set_vlan_offload(p[1].id, 0), 0);
	send_one(mbuf_of(&u));
	{
		struct rte_mbuf *m = recv_one(NULL);

		assert_int_equal(m->ol_flags & RTE_MBUF_F_RX_VLAN, 0);
		assert_int_equal(rte_pktmbuf_mtod(m, uint8_t *)[12], 0x81);
		rte_pktmbuf_free(m);
	}
	pair_down();
}

static void
mtu_is_what_the_card_takes(void **state)
{
	struct rte_eth_dev_info info;
	struct rte_mbuf *m;

	(void)state;
	pair_up(&(struct lt_conf){0});
	assert_int_equal(rte_eth_dev_info_get(p[1].id, &info), 0);
	assert_int_equal(info.max_mtu, 9600);
	assert_int_equal(rte_eth_dev_set_mtu(p[1].id, 9601), -EINVAL);
	assert_int_equal(rte_eth_dev_set_mtu(p[1].id, 1000), 0);
	send_one(lt_frame(&p[0], &p[1], 1014, 1, 1));
	rte_pktmbuf_free(recv_one(NULL));
	send_one(lt_frame(&p[0], &p[1], 1015, 1, 1));
	nothing_comes();
	/* more than a buffer holds, and chains were not asked for */
	assert_int_equal(rte_eth_dev_set_mtu(p[1].id, 2002), 0);
	assert_int_equal(rte_eth_dev_set_mtu(p[1].id, 2003), -EBUSY);
	assert_int_equal(rte_eth_dev_stop(p[1].id), 0);
	assert_int_equal(rte_eth_dev_set_mtu(p[1].id, 9000), 0);
	assert_int_equal(rte_eth_dev_start(p[1].id), 0);
	assert_int_equal(rte_eth_dev_set_mtu(p[0].id, 2002), 0);
	send_one(lt_frame(&p[0], &p[1], 2016, 1, 1));
	m = recv_one(NULL);
	lt_check_frame(m, &p[0], &p[1], 2016, 1);
	rte_pktmbuf_free(m);
	pair_down();
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(received_checksums_are_reported),
		cmocka_unit_test(checksums_are_inserted),
		cmocka_unit_test(tags_go_out_and_come_in),
		cmocka_unit_test(hash_value_and_queue_are_right),
		cmocka_unit_test(table_is_checked),
		cmocka_unit_test(addresses_and_flags_filter),
		cmocka_unit_test(untrusted_vf_is_not_promiscuous),
		cmocka_unit_test(vlan_filter_filters),
		cmocka_unit_test(mtu_is_what_the_card_takes),
	};

	return UT_RUN(cases, lt_setup, lt_teardown);
}
