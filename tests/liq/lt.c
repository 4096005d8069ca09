/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports, time and frames for the driver's tests.  See lt.h.
 */
#include "lt.h"

#include <stdatomic.h>

#include <rte_alarm.h>
#include <rte_bus_vdev.h>

#include <weir/clock.h>

#define ROUNDS 200 /* empty polls after which nothing more is expected */

/* ---- time ---- */

static _Atomic uint64_t now_ns, step_ns;

static uint64_t
read_clock(void *arg)
{
	(void)arg;
	return atomic_fetch_add_explicit(&now_ns, atomic_load(&step_ns), memory_order_relaxed);
}

void
lt_clock_install(uint64_t step)
{
	atomic_store(&now_ns, WEIR_NS_PER_S);
	atomic_store(&step_ns, step);
	weir_clock_set_source(read_clock, NULL);
}

void
lt_clock_remove(void)
{
	weir_clock_set_source(NULL, NULL);
}

void
lt_clock_step(uint64_t step)
{
	atomic_store(&step_ns, step);
}

void
lt_clock_advance(uint64_t ns)
{
	atomic_fetch_add(&now_ns, ns);
}

uint64_t
lt_clock_now(void)
{
	return atomic_load(&now_ns);
}

/* ---- ports ---- */

int
lt_open(struct lt_port *p, unsigned int index, const char *args, struct rte_mempool *pool)
{
	char text[256];
	int ret;

	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "net_liq_sim%u", index);
	if (strstr(args, "card=") && !strstr(args, "first,"))
		snprintf(text, sizeof(text), "%s", args);
	else
		snprintf(text, sizeof(text), "drive=inline%s%s", args[0] ? "," : "",
			 strncmp(args, "first,", 6) == 0 ? args + 6 : args);
	ret = rte_vdev_init(p->name, text);
	if (ret != 0)
		return ret;
	assert_int_equal(rte_eth_dev_get_port_by_name(p->name, &p->id), 0);
	p->eth = &rte_eth_devices[p->id];
	rte_eal_alarm_cancel(liq_ethdev_alarm, p->eth);
	p->dev = p->eth->data->dev_private;
	p->card = liq_sim_card(&p->dev->io);
	p->fn = liq_sim_fn(&p->dev->io);
	p->pool = pool;
	return 0;
}

void
lt_close(struct lt_port *p)
{
	if (p->eth)
		assert_int_equal(rte_vdev_uninit(p->name), 0);
	memset(p, 0, sizeof(*p));
}

static void
tend(void *arg)
{
	liq_ethdev_tend(arg);
}

void
lt_tend_meanwhile(struct lt_port *p)
{
	liq_sim_on_idle(p ? tend : NULL, p ? p->eth : NULL);
}

int
lt_configure(struct lt_port *p, const struct lt_conf *conf)
{
	struct rte_eth_conf c = {
		.rxmode = {.mq_mode = conf->rss_hf ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE,
			   .offloads = conf->rx_offloads,
			   .mtu = conf->mtu ? conf->mtu : RTE_ETHER_MTU},
		.txmode = {.offloads = conf->tx_offloads},
		.rx_adv_conf = {.rss_conf = {.rss_hf = conf->rss_hf}},
		.intr_conf = {.lsc = conf->lsc},
	};
	uint16_t n_rxq = conf->n_rxq ? conf->n_rxq : 1, n_txq = conf->n_txq ? conf->n_txq : 1;
	uint16_t n_desc = conf->n_desc ? conf->n_desc : 128;
	int ret = rte_eth_dev_configure(p->id, n_rxq, n_txq, &c);

	for (uint16_t q = 0; ret == 0 && q < n_rxq; q++)
		ret = rte_eth_rx_queue_setup(p->id, q, n_desc, (unsigned int)SOCKET_ID_ANY, NULL,
					     p->pool);
	for (uint16_t q = 0; ret == 0 && q < n_txq; q++)
		ret = rte_eth_tx_queue_setup(p->id, q, n_desc, (unsigned int)SOCKET_ID_ANY, NULL);
	return ret;
}

void
lt_up(struct lt_port *p, const struct lt_conf *conf)
{
	assert_int_equal(lt_configure(p, conf), 0);
	assert_int_equal(rte_eth_dev_start(p->id), 0);
}

void
lt_pair(struct lt_port p[2], const char *args, struct rte_mempool *pool)
{
	char text[256];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "wire=pair:lt%s%s", args[0] ? "," : "", args);
		assert_int_equal(lt_open(&p[i], i, text, pool), 0);
	}
}

/* ---- frames ---- */

static uint8_t
pattern(uint32_t seed, uint32_t at)
{
	return (uint8_t)(seed * 31 + at * 7 + (at >> 8));
}

static void
header(uint8_t h[14], const struct lt_port *a, const struct lt_port *b)
{
	memcpy(h, b->eth->data->mac_addrs, 6);
	memcpy(h + 6, a->eth->data->mac_addrs, 6);
	h[12] = 0x88;
	h[13] = 0xB5;
}

struct rte_mbuf *
lt_frame(const struct lt_port *a, const struct lt_port *b, uint32_t len, unsigned int n_segs,
	 uint32_t seed)
{
	struct rte_mbuf *head = NULL, *last = NULL;
	uint8_t h[14];
	uint32_t at = 0;

	header(h, a, b);
	n_segs = n_segs < len / 2000 + 1 ? len / 2000 + 1 : n_segs;
	for (unsigned int k = 0; k < n_segs; k++) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(a->pool);
		uint32_t n = k + 1 < n_segs ? len / n_segs : len - at;
		uint8_t *data;

		assert_non_null(m);
		data = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)n);
		assert_non_null(data);
		for (uint32_t i = 0; i < n; i++, at++)
			data[i] = at < 14 ? h[at] : pattern(seed, at);
		if (!head) {
			head = m;
		} else {
			last->next = m;
			head->nb_segs++;
			head->pkt_len += n;
		}
		last = m;
	}
	return head;
}

void
lt_check_frame(const struct rte_mbuf *m, const struct lt_port *a, const struct lt_port *b,
	       uint32_t len, uint32_t seed)
{
	static uint8_t copy[20000];
	const uint8_t *data;
	uint8_t h[14];

	header(h, a, b);
	assert_int_equal(rte_pktmbuf_pkt_len(m), len);
	data = rte_pktmbuf_read(m, 0, len, copy);
	assert_non_null(data);
	ut_check_bytes(data, h, 14, "header of frame %u", seed);
	for (uint32_t i = 14; i < len; i++)
		ut_check(data[i] == pattern(seed, i), "frame %u of %u bytes: byte %u is %02x", seed,
			 len, i, data[i]);
}

uint16_t
lt_recv(struct lt_port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n)
{
	uint16_t got = 0;

	for (int empty = 0; got < n && empty < ROUNDS;) {
		uint16_t k = rte_eth_rx_burst(p->id, queue, m + got, (uint16_t)(n - got));

		got += k;
		empty = k ? 0 : empty + 1;
	}
	return got;
}

int
lt_setup(void **state)
{
	(void)state;
	if (ut_eal_init(2, NULL) != 0)
		return -1;
	lt_clock_install(1000);
	return 0;
}

int
lt_teardown(void **state)
{
	lt_clock_remove();
	return ut_eal_teardown(state);
}
