/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lying device against the driver.
 *
 * Beneath is a card of the model that works; between it and the driver sits the input: it changes what
 * registers read as, swallows writes, and writes whatever it likes into the memory that the driver
 * gave to the card (responses, receive buffers).  The driver goes through its life meanwhile.
 * Whatever it is told, it must not crash, must come back from each call within its deadlines, must
 * hand out sound mbufs only, and must have all of them back in the end; then the device turns
 * honest, and a reset makes everything work.
 *
 * With -DFUZZ_LIBFUZZER=1 a libFuzzer target.  Otherwise a program: files given are replayed, or
 * --runs N --seed S makes N random programs, --verbose names each before it runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <weir/clock.h>

#include "liq_dev.h"
#include "liq_sim.h"
#include "liq_stats.h"
#include "ut_eal.h"

#define N_MBUFS   2047u
#define N_DESC    128u
#define MAX_STEPS 60
#define CALL_NS   (120 * WEIR_NS_PER_S) /* longest call: a start is a dozen requests */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

static struct rte_mempool *pool;
static uint64_t now_ns = WEIR_NS_PER_S, step_ns = WEIR_NS_PER_MS;
static uint64_t n_lies, n_scribbles, n_ups;

/* ---- input ---- */

static const uint8_t *in_at, *in_end;

/* Beyond the end: zeros, which are honest. */
static uint64_t
take(unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)(in_at < in_end ? *in_at++ : 0) << 8 * i;
	return v;
}

/* ---- the device ---- */

static struct liq_dev *dev;
static struct liq_io truth;
static uint8_t rate; /* lies per 256 accesses */

static bool
lies(void)
{
	uint8_t b = (uint8_t)take(1);

	return b != 0 && b <= rate;
}

static uint64_t
distort(uint64_t value)
{
	n_lies++;
	switch (take(1) % 6) {
	case 0:
		return UINT64_MAX;
	case 1:
		return value ^ UINT64_C(1) << take(1) % 64;
	case 2:
		return value + (uint8_t)take(1);
	case 3:
		return value - (uint8_t)take(1);
	case 4:
		return take(8);
	default:
		return 0;
	}
}

static void
scribble_on(uint8_t *mem, size_t len)
{
	size_t at = take(2) % len, n = 1 + take(1) % 32;

	n_scribbles++;
	for (size_t i = at; i < at + n && i < len; i++)
		mem[i] = (uint8_t)take(1);
}

/* What the card was given to write to: answers, and the buffers of the rings. */
static void
scribble(void)
{
	const struct liq_oq *oq = dev->rxq[take(1) % 2];

	if (dev->cmds.mem.addr && (take(1) & 1)) {
		scribble_on(dev->cmds.mem.addr + take(1) % LIQ_CMD_SLOTS * 2048 + 512, 1536);
	} else if (oq && oq->n_posted != 0) {
		const struct rte_mbuf *m =
			oq->rec[(oq->head + take(2) % oq->n_posted) % oq->n_desc];

		scribble_on((uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM, 64);
	} else if (dev->is_pf && dev->pf.boot_mem.addr) {
		scribble_on(dev->pf.boot_mem.addr + 64 * 16, 64 * 256);
	}
}

static uint64_t
lying_read(void *ctx, uint32_t off, unsigned int len)
{
	uint64_t value = truth.ops->read(ctx, off, len);

	if (lies())
		scribble();
	if (lies())
		value = distort(value);
	return len == 4 ? (uint32_t)value : value;
}

static void
lying_write(void *ctx, uint32_t off, uint64_t value, unsigned int len)
{
	if (lies()) {
		n_lies++;
		return;
	}
	truth.ops->write(ctx, off, value, len);
}

static struct liq_io_ops lying_ops;

/* ---- the driver's life ---- */

static uint64_t
clock_ns(void *arg)
{
	(void)arg;
	return now_ns += step_ns;
}

static void
make_queues(void)
{
	for (uint16_t q = 0; q < 2; q++) {
		struct liq_iq_cfg tx = {
			.port_id = dev->port_id,
			.queue = q,
			.n_desc = N_DESC,
			.socket_id = SOCKET_ID_ANY,
			.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS,
			.kind = "tx",
			.io = dev->io,
			.ring = dev->first_ring + q,
		};
		struct liq_oq_cfg rx = {
			.port_id = dev->port_id,
			.queue = q,
			.n_desc = N_DESC,
			.socket_id = SOCKET_ID_ANY,
			.offloads = RTE_ETH_RX_OFFLOAD_SCATTER,
			.pool = pool,
			.notices = &dev->notices,
			.io = dev->io,
			.ring = dev->first_ring + q,
		};

		REQUIRE(liq_iq_create(&tx, &dev->txq[q]) == 0);
		REQUIRE(liq_oq_create(&rx, &dev->rxq[q]) == 0);
	}
}

static void
destroy_queues(void)
{
	for (uint16_t q = 0; q < 2; q++) {
		liq_iq_destroy(dev->txq[q]);
		liq_oq_destroy(dev->rxq[q]);
		dev->txq[q] = NULL;
		dev->rxq[q] = NULL;
	}
}

static struct rte_mbuf *
frame(unsigned int n_segs)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	uint8_t *data;

	if (!m)
		return NULL;
	data = (uint8_t *)rte_pktmbuf_append(m, 60);
	REQUIRE(data != NULL);
	memset(data, 0x5A, 60);
	memcpy(data, dev->nif.mac, 6);
	memcpy(data + 6, dev->nif.mac, 6);
	data[12] = 0x88;
	data[13] = 0xB5;
	for (unsigned int i = 1; i < n_segs; i++) {
		struct rte_mbuf *more = rte_pktmbuf_alloc(pool);

		if (!more)
			break;
		memset(rte_pktmbuf_append(more, 100), 0xA5, 100);
		REQUIRE(rte_pktmbuf_chain(m, more) == 0);
	}
	return m;
}

static void
transmit(unsigned int q)
{
	unsigned int n = 1 + take(1) % 16, n_full = 0;
	struct rte_mbuf *m[16];

	while (n_full < n && (m[n_full] = frame(1 + take(1) % 4)))
		n_full++;
	n = liq_tx_burst_full(dev->txq[q], m, (uint16_t)n_full);
	REQUIRE(n <= n_full);
	rte_pktmbuf_free_bulk(m + n, n_full - n);
}

/* Received mbufs hang together, whatever the device wrote. */
static unsigned int
receive(unsigned int q)
{
	struct rte_mbuf *m[32];
	uint16_t n = liq_rx_burst(dev->rxq[q], m, RTE_DIM(m));

	REQUIRE(n <= RTE_DIM(m));
	for (uint16_t i = 0; i < n; i++) {
		const struct rte_mbuf *seg = m[i];
		uint32_t len = 0, n_segs = 0;

		for (; seg; seg = seg->next, n_segs++) {
			REQUIRE(seg->data_off + seg->data_len <= seg->buf_len);
			REQUIRE(rte_mbuf_refcnt_read(seg) == 1);
			len += seg->data_len;
		}
		REQUIRE(len == m[i]->pkt_len && n_segs == m[i]->nb_segs && len >= 14);
	}
	rte_pktmbuf_free_bulk(m, n);
	return n;
}

static void
step(void)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
	bool started = dev->state == LIQ_STARTED;
	uint64_t begin = now_ns;
	unsigned int q = take(1) % 2;
	struct rte_eth_stats stats = {0};

	switch (take(1) % 14) {
	case 0:
	case 1:
	case 2:
		if (started)
			transmit(q);
		break;
	case 3:
	case 4:
	case 5:
		if (started)
			receive(q);
		break;
	case 6:
		liq_link_poll(dev);
		break;
	case 7:
		if (dev->state != LIQ_DOWN)
			dev->fn->serve(dev);
		break;
	case 8:
		if (dev->state != LIQ_DOWN)
			liq_stats_fetch(dev);
		liq_stats_get(dev, &stats);
		break;
	case 9:
		liq_mac_tell(dev, mac);
		break;
	case 10:
		liq_dev_stop(dev);
		break;
	case 11:
		if (dev->state == LIQ_IDLE)
			liq_dev_start(dev);
		break;
	case 12:
		liq_dev_stop(dev);
		liq_dev_reset(dev);
		break;
	default:
		if (started)
			liq_iq_cleanup(dev->txq[q], 0);
		now_ns += take(2) * WEIR_NS_PER_MS;
		break;
	}
	REQUIRE(now_ns - begin < CALL_NS);
}

/* The device is honest: everything is well again. */
static void
settle(void)
{
	unsigned int n_came = 0;

	in_at = in_end;
	liq_dev_stop(dev);
	if (dev->state == LIQ_DOWN && dev->n_rings == 0)
		REQUIRE(liq_dev_up(dev) == 0);
	else
		REQUIRE(liq_dev_reset(dev) == 0);
	if (!dev->txq[0])
		make_queues();
	REQUIRE(liq_dev_queues(dev, 2, 2) == 0);
	REQUIRE(liq_dev_start(dev) == 0);
	for (int i = 0; i < 300 && n_came == 0; i++) {
		struct rte_mbuf *m = frame(1);

		if (liq_tx_burst_plain(dev->txq[0], &m, 1) != 1)
			rte_pktmbuf_free(m);
		n_came += receive(0);
	}
	REQUIRE(n_came != 0);
	liq_dev_stop(dev);
	n_ups++;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct liq_sim_cfg cfg = {.dev_name = "fuzz", .queues = 2, .wire = LIQ_SIM_LOOP};
	uint8_t kind;

	in_at = data;
	in_end = data + size;
	kind = (uint8_t)take(1);
	rate = (uint8_t)(1 + take(1) % 32);
	cfg.is_pf = kind & 1;
	cfg.drive = LIQ_SIM_INLINE;
	dev = calloc(1, sizeof(*dev));
	REQUIRE(dev && liq_sim_open(&cfg, &truth) == 0);
	lying_ops = *truth.ops;
	lying_ops.read = lying_read;
	lying_ops.write = lying_write;
	dev->io = (struct liq_io){.ops = &lying_ops, .ctx = truth.ctx};
	dev->fn = cfg.is_pf ? &liq_pf_ops : &liq_vf_ops;
	dev->is_pf = cfg.is_pf;
	dev->bus = "fuzz";
	dev->socket_id = SOCKET_ID_ANY;
	dev->want_rings = 2;
	liq_settings_default(&dev->set);
	if (liq_dev_up(dev) == 0) {
		make_queues();
		if (liq_dev_queues(dev, 2, 2) == 0 && liq_dev_start(dev) == 0)
			n_ups++;
		for (int i = 0; i < MAX_STEPS && in_at < in_end; i++)
			step();
	}
	settle();
	liq_dev_down(dev);
	destroy_queues();
	dev->io.ops->close(dev->io.ctx);
	free(dev);
	REQUIRE(rte_mempool_avail_count(pool) == N_MBUFS);
	return 0;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	REQUIRE(ut_eal_init(1, NULL) == 0);
	rte_log_set_level((uint32_t)liq_logtype, RTE_LOG_EMERG);
	weir_clock_set_source(clock_ns, NULL);
	pool = rte_pktmbuf_pool_create("fuzz", N_MBUFS, 32, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	REQUIRE(pool != NULL);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint64_t
next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

static int
replay(const char *path)
{
	static uint8_t data[1u << 16];
	FILE *file = fopen(path, "rb");
	size_t n;

	if (!file) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(data, n);
}

int
main(int argc, char **argv)
{
	static uint8_t data[8192];
	uint64_t runs = 100, seed = 1;
	bool verbose = false;

	LLVMFuzzerInitialize(&argc, &argv);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--verbose") == 0)
			verbose = true;
		else if (replay(argv[i]) != 0)
			return 1;
		else
			runs = 0;
	}
	for (uint64_t r = 0; r < runs; r++) {
		uint64_t state = (seed + r) * UINT64_C(0x9E3779B97F4A7C15) + 1;
		size_t n = 64 + next(&state) % (sizeof(data) - 64);

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)(next(&state) >> 24);
		/* every other program begins honestly, so that it gets somewhere */
		if (r % 2)
			memset(data + 2, 0, n < 700 ? n - 2 : 698);
		if (verbose)
			fprintf(stderr, "--runs 1 --seed %" PRIu64 "\n", seed + r);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("%" PRIu64 " runs from seed %" PRIu64 ": %" PRIu64 " lies, %" PRIu64
	       " scribbles, up %" PRIu64 " times\n",
	       runs, seed, n_lies, n_scribbles, n_ups);
	ut_eal_fini();
	return 0;
}

#endif
