/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's DPDK program: drives one card in the virtual machine, by the distribution's own
 * net_liovf, unmodified, or by our net_liq, against the host's reflector. Prints one "ok NAME" or
 * "not ok NAME: why" line per check and ends with status 0 when all held.
 *
 *	pmd EAL-OPTION... -- driver=NAME [packets=N] [queues=N] [rings=N] [all] [reset] [hold=FILE]
 *
 * packets: each way, 0 for none. queues: pairs to use. rings: the pairs that the card must offer.
 * all: table, MTU, promiscuous. reset: the port is reset and used again. hold: stays up, receives,
 * and reports link changes until FILE exists. "claim" alone prints who has the port, and ends.
 *
 * With net_liovf the port is open for a short time only (the number of packets bounds it): its
 * 100 ms link poll recycles command buffers that are still on a list once 255 of them have gone
 * round, which would end the run for a reason that is not the card's. It also stores the hash type
 * as the RSS hash, so queues are compared with a hash computed here.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_thash.h>
#include <rte_version.h>

#include "flow.h"

#define PORT      0
#define N_MBUFS   8191
#define N_DESC    512
#define BURST     32
#define WINDOW    384u
#define MAX_SEGS  4u
#define MAX_QUEUE 8
#define N_FLOWS   64u
#define FRAME_MIN 60u /* shorter ones leave the card padded to this */
#define SILENCE_S 10
#define FRAME_MAX 16384u

static const uint8_t rss_key[40] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/*
 * What a driver can do. net_liovf wants no jumbo frames (its first segment carries the wrong
 * length), and with physical bus addresses each chain costs it a walk through /proc/self/pagemap.
 */
static const struct driver {
	const char *name;
	unsigned int chain_every; /* one frame in so many may be a chain */
	bool scatter, hash_value, link_events;
} drivers[] = {
	{"net_liovf", 8, false, false, false},
	{"net_liq", 2, true, true, true},
};

static const struct driver *driver;
static struct rte_mempool *pool;
static struct rte_ether_addr own_mac;
static const uint8_t far_mac[6] = {0x02, 0x77, 0x65, 0x69, 0x72, 0x01};
static uint16_t n_queues = 1;
static uint16_t reta[128];
static unsigned int n_failed;

/* Which sequence numbers of the run are back: none comes twice, none that was not sent. */
static struct {
	uint64_t *bits;
	uint64_t first, n;
} seen;

struct counts {
	uint64_t n_sent, n_back, n_bad, n_wrong_queue, n_bad_flags, n_bad_hash;
	uint64_t per_queue[MAX_QUEUE];
};

static bool __attribute__((format(printf, 3, 4)))
check(bool good, const char *name, const char *format, ...)
{
	va_list ap;

	if (good) {
		printf("ok pmd-%s\n", name);
	} else {
		printf("not ok pmd-%s: ", name);
		va_start(ap, format);
		vprintf(format, ap);
		va_end(ap);
		putchar('\n');
		n_failed++;
	}
	fflush(stdout);
	return good;
}

static uint32_t
expected_hash(const uint8_t *frame)
{
	uint32_t tuple[2];

	for (int i = 0; i < 2; i++) {
		const uint8_t *p = frame + 26 + 4 * i;

		tuple[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
	}
	return rte_softrss(tuple, 2, rss_key);
}

static void
seen_start(uint64_t first, uint64_t n)
{
	free(seen.bits);
	seen.bits = calloc(n / 64 + 1, sizeof(*seen.bits));
	seen.first = first;
	seen.n = seen.bits ? n : 0;
}

static bool
seen_first_time(uint64_t seq)
{
	uint64_t i = seq - seen.first, bit = UINT64_C(1) << i % 64;

	if (i >= seen.n || (seen.bits[i / 64] & bit))
		return false;
	seen.bits[i / 64] |= bit;
	return true;
}

/* One frame, sometimes as a chain of segments so that the card has to gather. */
static struct rte_mbuf *
make(uint64_t seq, uint32_t len, const uint8_t *src, unsigned int segs)
{
	static uint8_t frame[FRAME_MAX];
	struct rte_mbuf *head = NULL;
	uint32_t at = 0;

	flow_make(frame, len, far_mac, src, (uint32_t)seq % N_FLOWS, seq, true);
	for (unsigned int s = 0; s < segs; s++) {
		uint32_t n = s + 1 == segs ? len - at : (len - at) / (segs - s) + s;
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (!m || n > rte_pktmbuf_tailroom(m)) {
			rte_pktmbuf_free(m);
			rte_pktmbuf_free(head);
			return NULL;
		}
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), frame + at, n);
		at += n;
		if (!head)
			head = m;
		else
			rte_pktmbuf_chain(head, m);
	}
	head->l2_len = 14;
	head->l3_len = 20;
	head->ol_flags |= RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
	return head;
}

static void
take(struct rte_mbuf *m, uint16_t queue, struct counts *c)
{
	static uint8_t copy[FRAME_MAX];
	uint64_t good = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	uint32_t len = rte_pktmbuf_pkt_len(m);
	const uint8_t *frame = len <= FRAME_MAX ? rte_pktmbuf_read(m, 0, len, copy) : NULL;

	switch (frame ? flow_check(frame, len, FLOW_BACK) : FLOW_BAD) {
	case FLOW_GOOD:
		if (!seen_first_time(flow_seq(frame))) {
			c->n_bad++;
			break;
		}
		c->n_back++;
		c->per_queue[queue]++;
		c->n_bad_flags += (m->ol_flags & good) != good;
		if (n_queues > 1) {
			uint32_t hash = expected_hash(frame);

			c->n_wrong_queue += reta[hash % 128] != queue;
			c->n_bad_hash +=
				driver->hash_value &&
				(!(m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) || m->hash.rss != hash);
		}
		break;
	case FLOW_BAD:
		c->n_bad++;
		break;
	case FLOW_OTHER:
		break;
	}
	rte_pktmbuf_free(m);
}

static bool
receive(struct counts *c)
{
	struct rte_mbuf *m[BURST];
	bool any = false;

	for (uint16_t q = 0; q < n_queues; q++) {
		uint16_t n = rte_eth_rx_burst(PORT, q, m, BURST);

		any |= n > 0;
		for (uint16_t i = 0; i < n; i++)
			take(m[i], q, c);
	}
	return any;
}

struct run {
	uint64_t n;
	uint64_t first_seq;
	uint32_t min_len, max_len;
	const uint8_t *src;
	unsigned int max_segs;
	uint64_t expect_back;
};

/* Most frames are short, one in eight is of any length: the guest's processor is an emulated one,
 * and its time goes into making and checking bytes. */
static uint32_t
frame_len(const struct run *r, uint64_t seq)
{
	uint64_t random = vm_word(7, seq);
	uint32_t max = r->max_len;

	if (random % 8 != 0 && max > r->min_len + 100)
		max = r->min_len + 100;
	return r->min_len + (uint32_t)(random / 8 % (max - r->min_len + 1));
}

static unsigned int
frame_segs(const struct run *r, uint64_t seq, uint32_t len)
{
	unsigned int least = 1 + len / 2000, every = driver->chain_every;
	unsigned int n =
		seq % every == every - 1 ? 1 + (unsigned int)(seq / every % r->max_segs) : 1;

	return n > least ? n : least;
}

/* Sends n frames with at most a window of them on their way; waits until the expected number is
 * back or the cable has been silent. */
static struct counts
exchange(const struct run *r)
{
	uint64_t silence = SILENCE_S * rte_get_timer_hz(), last = rte_get_timer_cycles();
	struct counts c = {0};

	seen_start(r->first_seq, r->n);
	while (c.n_back + c.n_bad < r->expect_back || c.n_sent < r->n) {
		struct rte_mbuf *m[BURST];
		uint16_t n = 0, sent = 0, q = (uint16_t)(c.n_sent / BURST % n_queues);

		while (n < BURST && c.n_sent + n < r->n &&
		       (r->expect_back == 0 || c.n_sent + n < c.n_back + c.n_bad + WINDOW)) {
			uint64_t seq = r->first_seq + c.n_sent + n;
			uint32_t len = frame_len(r, seq);

			m[n] = make(seq, len, r->src, frame_segs(r, seq, len));
			if (!m[n])
				break;
			n++;
		}
		if (n > 0)
			sent = rte_eth_tx_burst(PORT, q, m, rte_eth_tx_prepare(PORT, q, m, n));
		for (uint16_t i = sent; i < n; i++)
			rte_pktmbuf_free(m[i]);
		c.n_sent += sent;
		if (receive(&c) || sent > 0)
			last = rte_get_timer_cycles();
		else if (rte_get_timer_cycles() - last > silence)
			break;
	}
	return c;
}

/* Sends frames whose echoes must not come, then one whose echo must: no wait on the clock. */
static struct counts
exchange_none(const struct run *r)
{
	struct run fence = {1, 1ull << 40, 100, 100, own_mac.addr_bytes, 1, 1};
	struct run none = *r;
	struct counts c, f;

	none.expect_back = 0;
	c = exchange(&none);
	f = exchange(&fence);
	/* one of the others that comes now is bad: not of this run */
	c.n_bad += f.n_bad + (f.n_back == 0);
	return c;
}

static void
traffic(uint64_t n)
{
	struct run r = {n, 0, FRAME_MIN, 1514, own_mac.addr_bytes, MAX_SEGS, n};
	uint64_t start = rte_get_timer_cycles(), before[2];
	struct rte_eth_stats s0, s1;
	bool spread = true;
	struct counts c;
	double seconds;

	rte_eth_stats_get(PORT, &s0);
	before[0] = s0.opackets;
	before[1] = s0.ipackets;
	c = exchange(&r);
	seconds = (double)(rte_get_timer_cycles() - start) / (double)rte_get_timer_hz();
	printf("# %" PRIu64 " packets each way in %.1f s, %.0f/s\n", c.n_back, seconds,
	       (double)c.n_back / seconds);
	check(c.n_sent == n && c.n_back == n && c.n_bad == 0, "traffic",
	      "%" PRIu64 " sent, %" PRIu64 " back, %" PRIu64 " bad, of %" PRIu64, c.n_sent,
	      c.n_back, c.n_bad, n);
	check(c.n_bad_flags == 0, "rx-checksum-flags", "%" PRIu64 " without", c.n_bad_flags);
	rte_eth_stats_get(PORT, &s1);
	/* The kernel on the other side of a TAP sends some frames of its own: at least ours. */
	check(s1.opackets - before[0] == n && s1.ipackets - before[1] >= n && s1.ierrors == 0 &&
		      s1.oerrors == 0,
	      "stats", "out %" PRIu64 " in %" PRIu64 " errors %" PRIu64 "/%" PRIu64,
	      s1.opackets - before[0], s1.ipackets - before[1], s1.ierrors, s1.oerrors);
	if (n_queues > 1) {
		for (uint16_t q = 0; q < n_queues; q++)
			spread &= c.per_queue[q] > n / n_queues / 8;
		check(spread && c.n_wrong_queue == 0, "rss",
		      "%" PRIu64 " in the wrong queue; queues %" PRIu64 " %" PRIu64 " %" PRIu64
		      " %" PRIu64,
		      c.n_wrong_queue, c.per_queue[0], c.per_queue[1], c.per_queue[2],
		      c.per_queue[3]);
		if (driver->hash_value)
			check(c.n_bad_hash == 0, "rss-hash", "%" PRIu64 " without, or wrong",
			      c.n_bad_hash);
	}
}

static void
reta_set(uint16_t first, uint16_t n)
{
	struct rte_eth_rss_reta_entry64 conf[2];
	int rc;

	for (unsigned int i = 0; i < 128; i++) {
		reta[i] = (uint16_t)(first + i % n);
		conf[i / 64].mask = UINT64_MAX;
		conf[i / 64].reta[i % 64] = reta[i];
	}
	rc = rte_eth_dev_rss_reta_update(PORT, conf, 128);
	check(rc == 0, "reta-update", "%d", rc);
}

static void
rss_table(void)
{
	struct run r = {512, 1000000, 64, 200, own_mac.addr_bytes, 1, 512};
	uint16_t last = (uint16_t)(n_queues - 1);
	struct counts c;

	reta_set(last, 1);
	c = exchange(&r);
	check(c.per_queue[last] == r.n, "reta-one-queue", "%" PRIu64 " of %" PRIu64,
	      c.per_queue[last], r.n);
	reta_set(0, n_queues);
}

static void
mtu(void)
{
	struct run small = {100, 2000000, 1000, 1014, own_mac.addr_bytes, 1, 100};
	struct run large = {100, 3000000, 1300, 1514, own_mac.addr_bytes, 1, 100};
	struct run jumbo = {100, 6000000, 4000, 9014, own_mac.addr_bytes, 8, 100};
	struct counts c;
	int rc = rte_eth_dev_set_mtu(PORT, 1000);

	check(rc == 0, "mtu-set", "%d", rc);
	c = exchange(&small);
	check(c.n_back == small.n, "mtu-small", "%" PRIu64 " of 100 came", c.n_back);
	c = exchange_none(&large);
	check(c.n_back == 0 && c.n_bad == 0, "mtu-large", "%" PRIu64 " of 100 came",
	      c.n_back + c.n_bad);
	if (driver->scatter) {
		rc = rte_eth_dev_set_mtu(PORT, 9000);
		check(rc == 0, "mtu-9000", "%d", rc);
		c = exchange(&jumbo);
		check(c.n_back == jumbo.n && c.n_bad == 0, "mtu-9000-scatter",
		      "%" PRIu64 " of 100 came", c.n_back);
	}
	rc = rte_eth_dev_set_mtu(PORT, 1500);
	large.first_seq = 4000000;
	c = exchange(&large);
	check(rc == 0 && c.n_back == large.n, "mtu-back", "%d, %" PRIu64 " of 100 came", rc,
	      c.n_back);
}

static void
promiscuous(void)
{
	static const uint8_t foreign[6] = {0x02, 0xde, 0xad, 0x00, 0x00, 0x01};
	struct run r = {64, 5000000, 64, 200, foreign, 1, 64};
	struct counts c = exchange_none(&r);
	int rc;

	check(c.n_back == 0 && c.n_bad == 0, "not-promiscuous", "%" PRIu64 " of 64 came",
	      c.n_back + c.n_bad);
	rc = rte_eth_promiscuous_enable(PORT);
	r.first_seq += 1000;
	c = exchange(&r);
	check(rc == 0 && c.n_back == r.n, "promiscuous", "%d, %" PRIu64 " of 64 came", rc,
	      c.n_back);
	rc = rte_eth_promiscuous_disable(PORT);
	check(rc == 0, "promiscuous-off", "%d", rc);
}

/* The driver's own count of received packets, or firmware's. */
static void
xstats(uint64_t at_least)
{
	static struct rte_eth_xstat x[256];
	static struct rte_eth_xstat_name names[256];
	int n = rte_eth_xstats_get(PORT, x, 256), k = rte_eth_xstats_get_names(PORT, names, 256);
	uint64_t rx = 0, tx = 0;

	for (int i = 0; i < n && i < k; i++) {
		if (strcmp(names[i].name, "rx_pkts") == 0 ||
		    strcmp(names[i].name, "rx_total_rcvd") == 0)
			rx = x[i].value;
		if (strcmp(names[i].name, "tx_pkts") == 0 ||
		    strcmp(names[i].name, "tx_total_pkts_sent") == 0)
			tx = x[i].value;
	}
	check(n > 0 && n == k && rx >= at_least && tx >= at_least, "xstats",
	      "%d values, %d names, received %" PRIu64 ", sent %" PRIu64, n, k, rx, tx);
}

static int
link_event(uint16_t port, enum rte_eth_event_type type, void *arg, void *ret)
{
	struct rte_eth_link link;

	(void)type;
	(void)arg;
	(void)ret;
	if (rte_eth_link_get_nowait(port, &link) == 0)
		printf("# event: link %s\n", link.link_status ? "up" : "down");
	fflush(stdout);
	return 0;
}

static bool
configure(void)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(PORT, &info);

	if (!check(rc == 0 && strcmp(info.driver_name, driver->name) == 0 &&
			   info.max_rx_queues >= n_queues,
		   "info", "%d, %s, %u queues", rc, rc ? "" : info.driver_name,
		   rc ? 0 : info.max_rx_queues))
		return false;
	if (n_queues > 1) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_key = (uint8_t *)(uintptr_t)rss_key;
		conf.rx_adv_conf.rss_conf.rss_key_len = sizeof(rss_key);
		conf.rx_adv_conf.rss_conf.rss_hf = info.flow_type_rss_offloads;
	}
	for (unsigned int i = 0; i < 128; i++)
		reta[i] = (uint16_t)(i % n_queues);
	conf.rxmode.offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM;
	if (driver->scatter)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_SCATTER;
	if (driver->hash_value && n_queues > 1)
		conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
	conf.rxmode.offloads &= info.rx_offload_capa;
	conf.txmode.offloads = (RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |
				RTE_ETH_TX_OFFLOAD_MULTI_SEGS) &
			       info.tx_offload_capa;
	conf.intr_conf.lsc = driver->link_events;
	rc = rte_eth_dev_configure(PORT, n_queues, n_queues, &conf);
	return check(rc == 0, "configure", "%d", rc);
}

static bool
start(void)
{
	struct rte_eth_link link;
	int rc = 0;

	if (!configure())
		return false;
	for (uint16_t q = 0; q < n_queues && rc == 0; q++) {
		rc = rte_eth_rx_queue_setup(PORT, q, N_DESC, (unsigned int)SOCKET_ID_ANY, NULL,
					    pool);
		if (rc == 0)
			rc = rte_eth_tx_queue_setup(PORT, q, N_DESC, (unsigned int)SOCKET_ID_ANY,
						    NULL);
	}
	if (!check(rc == 0, "queues", "%d", rc))
		return false;
	rc = rte_eth_dev_start(PORT);
	if (!check(rc == 0, "start", "%d", rc))
		return false;
	rte_eth_macaddr_get(PORT, &own_mac);
	rte_eth_link_get_nowait(PORT, &link);
	check(rte_is_valid_assigned_ether_addr(&own_mac), "mac", RTE_ETHER_ADDR_PRT_FMT,
	      RTE_ETHER_ADDR_BYTES(&own_mac));
	return check(link.link_status == RTE_ETH_LINK_UP &&
			     link.link_speed == RTE_ETH_SPEED_NUM_10G,
		     "link", "%s, %u", link.link_status ? "up" : "down", link.link_speed);
}

static void
stop(const char *name)
{
	int rc = rte_eth_dev_stop(PORT);

	check(rc == 0, name, "%d", rc);
}

static void
reset(uint64_t n)
{
	int rc;

	stop("stop-before-reset");
	rc = rte_eth_dev_reset(PORT);
	if (check(rc == 0, "reset", "%d", rc) && start())
		traffic(n);
}

/* Receives, and reports the link, until the file exists. */
static void
hold(const char *file)
{
	struct counts c = {0};

	puts("ok pmd-held");
	fflush(stdout);
	while (access(file, F_OK) != 0) {
		receive(&c);
		usleep(1000);
	}
	printf("# held: %" PRIu64 " good frames, %" PRIu64 " bad\n", c.n_back, c.n_bad);
}

struct words {
	const char *hold;
	uint64_t n_packets;
	unsigned int n_rings;
	bool all, reset, claim;
};

static bool
take_word(const char *word, struct words *w)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	value = value ? value + 1 : "";
#define IS(name) (len == strlen(name) && strncmp(word, name, len) == 0)
	if (IS("driver")) {
		for (size_t i = 0; i < RTE_DIM(drivers); i++)
			if (strcmp(drivers[i].name, value) == 0)
				driver = &drivers[i];
		return driver != NULL;
	}
	if (IS("packets"))
		w->n_packets = strtoull(value, NULL, 0);
	else if (IS("queues"))
		n_queues = (uint16_t)atoi(value);
	else if (IS("rings"))
		w->n_rings = (unsigned int)atoi(value);
	else if (IS("hold"))
		w->hold = value;
	else if (IS("all"))
		w->all = true;
	else if (IS("reset"))
		w->reset = true;
	else if (IS("claim"))
		w->claim = true;
	else
		return false;
#undef IS
	return n_queues >= 1 && n_queues <= MAX_QUEUE;
}

static void
work(const struct words *w)
{
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(PORT, &info);

	if (w->n_rings != 0)
		check(rc == 0 && info.max_rx_queues == w->n_rings &&
			      info.max_tx_queues == w->n_rings,
		      "queue-count", "%u and %u, of %u", info.max_rx_queues, info.max_tx_queues,
		      w->n_rings);
	if (driver->link_events)
		rte_eth_dev_callback_register(PORT, RTE_ETH_EVENT_INTR_LSC, link_event, NULL);
	if (!start())
		return;
	if (w->n_packets != 0)
		traffic(w->n_packets);
	if (w->all) {
		xstats(w->n_packets);
		if (n_queues > 1)
			rss_table();
		mtu();
		promiscuous();
	}
	if (w->reset)
		reset(w->n_packets);
	if (w->hold)
		hold(w->hold);
	stop("stop");
}

static int
claim(void)
{
	struct rte_eth_dev_info info;
	uint16_t port;

	RTE_ETH_FOREACH_DEV(port) {
		if (rte_eth_dev_info_get(port, &info) == 0)
			printf("claimed by %s\n", info.driver_name);
		rte_eth_dev_close(port);
	}
	rte_eal_cleanup();
	return 0;
}

int
main(int argc, char **argv)
{
	struct words w = {.n_packets = 1000};
	int rc = rte_eal_init(argc, argv);

	if (rc < 0) {
		printf("not ok pmd-eal: %s\n", rte_strerror(rte_errno));
		return 1;
	}
	for (int i = rc + 1; i < argc; i++)
		if (!take_word(argv[i], &w)) {
			printf("not ok pmd-arguments: %s\n", argv[i]);
			return 1;
		}
	if (w.claim)
		return claim();
	if (!driver) {
		puts("not ok pmd-arguments: driver= is missing");
		return 1;
	}
	printf("# %s, iova mode %d\n", rte_version(), (int)rte_eal_iova_mode());
	pool = rte_pktmbuf_pool_create("pool", N_MBUFS, 128, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	if (!check(pool != NULL, "pool", "%s", rte_strerror(rte_errno)))
		return 1;
	if (check(rte_eth_dev_count_avail() == 1, "probe", "%u ports", rte_eth_dev_count_avail())) {
		work(&w);
		rc = rte_eth_dev_close(PORT);
		check(rc == 0, "close", "%d", rc);
		if (driver->hash_value) /* net_liovf leaves some behind */
			check(rte_mempool_avail_count(pool) == N_MBUFS, "mbufs-back", "%u of %u",
			      rte_mempool_avail_count(pool), N_MBUFS);
	}
	rte_eal_cleanup();
	return n_failed ? 1 : 0;
}
