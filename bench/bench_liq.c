/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the bursts of a LiquidIO driver cost: net_liq and, where the distribution has it, net_liovf, the
 * same frames in the same process, beside the floor of net_null and net_ring. Nothing but
 * rte_eth_tx_burst() and rte_eth_rx_burst() is counted and timed: buffers are made, and the device is
 * played, in between. Completion and the freeing of what was sent belong to the driver and are inside.
 *
 * The driver is probed and set up on the device model through trapping registers (trapbar.h). Then the
 * registers of ring 1 become plain memory and the device is played by hand: a count that says "all
 * fetched" after each burst, headers and a count that say "so many have arrived" before it. So the cost
 * of the device is not part of it, nor that of a register access over PCIe: one read and one write per
 * burst, the same for both drivers, and several more for net_liovf where it accesses per packet.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "harness.h"
#include "liq_desc.h"
#include "liq_regs.h"
#include "trapbar.h"

#ifdef BENCH_HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT
#endif

#define RING      1 /* ring 0 carries commands as well, in both drivers */
#define N_DESC    512
#define N_MBUFS   8191
#define BURST     32
#define SEGS      4
#define FRAME     64
#define FRAME_4   1024 /* in four segments */
#define FRAME_RX4 1100 /* in four of the small buffers, heads included */
#define SMALL     (RTE_PKTMBUF_HEADROOM + 256 + 64)

enum kind { LIQ, LIOVF, NULL_PORT, RING_PORT, NOTHING };

struct port {
	enum kind kind;
	const char *driver;
	struct trapbar *bar;
	volatile uint8_t *reg; /* ring 1 */
	uint16_t id;
	uint16_t queue;
	struct rte_mempool *pool; /* of the receive queue */
	/* The device's view of the receive ring. */
	struct liq_out_desc *desc;
	uint32_t rx_at, rx_count;
	bool there;
};

static struct rte_mempool *tx_pool, *rx_pool, *rx_small;

static struct port ports[] = {
	{.kind = LIQ, .driver = "net_liq"},
	{.kind = LIQ, .driver = "net_liq"}, /* with small buffers: frames arrive in several */
	{.kind = LIOVF, .driver = "net_liovf"},
	{.kind = LIOVF, .driver = "net_liovf"},
	{.kind = NULL_PORT, .driver = "net_null"},
	{.kind = RING_PORT, .driver = "net_ring"},
	{.kind = NOTHING, .driver = "nothing"}, /* what the measuring itself costs */
};

static uint64_t ticks;

/* ---- playing the device ---- */

static inline void
store32(struct port *p, uint32_t off, uint32_t value)
{
	*(volatile uint32_t *)(p->reg + off) = value;
}

static inline uint32_t
load32(const struct port *p, uint32_t off)
{
	return *(const volatile uint32_t *)(p->reg + off);
}

/* Everything that was posted is fetched. */
static void
fetch_all(struct port *p, uint32_t n)
{
	if (p->kind == LIQ || p->kind == LIOVF)
		store32(p, LIQ_REG_IN_DONE, load32(p, LIQ_REG_IN_DONE) + n);
}

/* One packet of len bytes of frame into the next descriptors, in the mode that the driver has chosen. */
static void
arrive(struct port *p, uint32_t len, uint32_t buf_bytes)
{
	const uint64_t rh = liq_put(LIQ_RH_OPCODE, 1) | liq_put(LIQ_RH_SUBCODE, 2);
	struct liq_out_desc *d = &p->desc[p->rx_at];
	uint32_t total = len + 8; /* the length word counts the receive header */

	if (d->info_iova != 0) {
		struct liq_out_info *info = (void *)(uintptr_t)d->info_iova;

		info->rh = liq_be64(rh);
		info->length = liq_be64(total);
		total -= 8; /* the header is not in the buffers */
	} else {
		uint64_t *head = (void *)(uintptr_t)d->buf_iova;

		head[0] = liq_be64(total);
		head[1] = liq_be64(rh);
		total += 8;
	}
	for (uint32_t done = 0; done < total; done += buf_bytes)
		p->rx_at = (p->rx_at + 1) % N_DESC;
}

static void
arrive_all(struct port *p, unsigned int n, uint32_t len)
{
	const uint32_t buf_bytes =
		(uint32_t)(trapbar_written(p->bar, LIQ_RING(RING) + LIQ_REG_OUT_BUF) & 0xffff);

	for (unsigned int i = 0; i < n; i++)
		arrive(p, len, buf_bytes);
	/*
	 * net_liovf writes back what it has read, which takes it off the count of the real register; net_liq
	 * lets the count run.
	 */
	p->rx_count = p->kind == LIQ ? p->rx_count + n : n;
	store32(p, LIQ_REG_CNTS, p->rx_count);
}

/* ---- the measured calls ---- */

static __rte_noinline uint16_t
tx(struct port *p, struct rte_mbuf **m, uint16_t n)
{
	uint64_t start;
	uint16_t sent = n;

	start = rte_rdtsc_precise();
	CALLGRIND_TOGGLE_COLLECT;
	if (p->kind != NOTHING)
		sent = rte_eth_tx_burst(p->id, p->queue, m, n);
	CALLGRIND_TOGGLE_COLLECT;
	ticks += rte_rdtsc_precise() - start;
	return sent;
}

static __rte_noinline uint16_t
rx(struct port *p, struct rte_mbuf **m, uint16_t n)
{
	uint64_t start;
	uint16_t got = 0;

	start = rte_rdtsc_precise();
	CALLGRIND_TOGGLE_COLLECT;
	if (p->kind != NOTHING)
		got = rte_eth_rx_burst(p->id, p->queue, m, n);
	CALLGRIND_TOGGLE_COLLECT;
	ticks += rte_rdtsc_precise() - start;
	return got;
}

/* ---- variants ---- */

struct job {
	struct port *p;
	uint16_t burst;
	uint16_t segs;
	bool receive;
};

static void
must(bool ok, const struct job *j, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "bench_liq: %s: %s\n", j->p->driver, what);
	abort();
}

static void
make(const struct job *j, struct rte_mbuf **m)
{
	for (unsigned int i = 0; i < j->burst; i++) {
		struct rte_mbuf *s[SEGS];
		const uint16_t each = j->segs == 1 ? FRAME : FRAME_4 / SEGS;

		must(rte_pktmbuf_alloc_bulk(tx_pool, s, j->segs) == 0, j, "no mbufs");
		for (unsigned int k = 0; k < j->segs; k++) {
			s[k]->data_len = each;
			s[k]->next = k + 1 < j->segs ? s[k + 1] : NULL;
		}
		s[0]->nb_segs = j->segs;
		s[0]->pkt_len = (uint32_t)each * j->segs;
		m[i] = s[0];
	}
}

static void
run_tx(const struct job *j, uint64_t n)
{
	struct rte_mbuf *m[BURST];
	struct rte_mbuf *back[BURST];

	for (uint64_t done = 0; done < n; done += j->burst) {
		make(j, m);
		must(tx(j->p, m, j->burst) == j->burst, j, "frames refused");
		fetch_all(j->p, j->burst);
		if (j->p->kind ==
		    RING_PORT) /* what the far end takes out is not the sender's cost */
			rte_pktmbuf_free_bulk(back, rte_eth_rx_burst(j->p->id, 0, back, BURST));
		else if (j->p->kind == NOTHING)
			rte_pktmbuf_free_bulk(m, j->burst);
	}
}

static void
run_rx(const struct job *j, uint64_t n)
{
	const uint32_t len = j->segs == 1 ? FRAME : FRAME_RX4;
	struct rte_mbuf *m[BURST];

	for (uint64_t done = 0; done < n; done += j->burst) {
		uint16_t got;

		if (j->p->kind == LIQ || j->p->kind == LIOVF) {
			arrive_all(j->p, j->burst, len);
		} else if (j->p->kind == RING_PORT) {
			make(j, m);
			must(rte_eth_tx_burst(j->p->id, 0, m, j->burst) == j->burst, j,
			     "ring full");
		}
		got = rx(j->p, m, j->burst);
		must(j->p->kind == NOTHING || got == j->burst, j, "frames missing");
		if (j->p->kind == LIQ || j->p->kind == LIOVF)
			/* net_liovf says the first buffer's length of a packet in several (8.2). */
			must((m[0]->pkt_len == len || (j->p->kind == LIOVF && j->segs > 1)) &&
				     m[0]->nb_segs == j->segs,
			     j, "wrong length");
		rte_pktmbuf_free_bulk(m, got);
	}
}

static void
run(void *ctx, uint64_t n)
{
	const struct job *j = ctx;

	ticks = 0;
	CALLGRIND_TOGGLE_COLLECT; /* off, but for the bursts */
	if (j->receive)
		run_rx(j, n);
	else
		run_tx(j, n);
	CALLGRIND_TOGGLE_COLLECT;
}

/* ---- set-up ---- */

static int
start(struct port *p, struct rte_mempool *pool, uint16_t queues)
{
	struct rte_eth_conf conf = {0};
	struct rte_eth_dev_info info;
	struct rte_eth_rxconf rxconf;
	struct rte_eth_txconf txconf;
	int ret = rte_eth_dev_info_get(p->id, &info);

	if (ret != 0)
		return ret;
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	ret = rte_eth_dev_configure(p->id, queues, queues, &conf);
	rxconf = info.default_rxconf;
	rxconf.offloads = conf.rxmode.offloads;
	txconf = info.default_txconf;
	txconf.offloads = conf.txmode.offloads;
	for (uint16_t q = 0; ret == 0 && q < queues; q++) {
		ret = rte_eth_rx_queue_setup(p->id, q, N_DESC, 0, &rxconf, pool);
		if (ret == 0)
			ret = rte_eth_tx_queue_setup(p->id, q, N_DESC, 0, &txconf);
	}
	return ret == 0 ? rte_eth_dev_start(p->id) : ret;
}

/* Probe and start on the model, then take ring 1 over. */
static int
start_card(struct port *p, unsigned int index, struct rte_mempool *pool)
{
	char name[16];
	int ret;

	snprintf(name, sizeof(name), "0000:00:%02x.0", 0x10 + index);
	p->bar = trapbar_create(name, 2);
	if (p->bar == NULL)
		return -ENOMEM;
	ret = trapbar_probe(p->bar, p->driver);
	if (ret < 0)
		return ret;
	p->id = (uint16_t)ret;
	p->queue = RING;
	ret = start(p, pool, RING + 1);
	if (ret != 0)
		return ret;
	p->desc = (void *)(uintptr_t)trapbar_written(p->bar, LIQ_RING(RING) + LIQ_REG_OUT_BASE);
	p->reg = trapbar_ring(p->bar, RING);
	return p->reg != NULL && p->desc != NULL ? 0 : -EIO;
}

static int
start_vdev(struct port *p, const char *name)
{
	int ret = rte_vdev_init(name, "");

	if (ret == 0)
		ret = rte_eth_dev_get_port_by_name(name, &p->id);
	return ret == 0 ? start(p, rx_pool, 1) : ret;
}

/* EAL loads what is in its folder; from a build folder it does not. */
static bool
load_liovf(void)
{
	return dlopen("librte_net_liquidio.so.23", RTLD_NOW) != NULL ||
	       dlopen("librte_net_liquidio.so", RTLD_NOW) != NULL;
}

static void
set_up(void)
{
	load_liovf();
	for (unsigned int i = 0; i < RTE_DIM(ports); i++) {
		struct port *p = &ports[i];
		const bool small = i == 1 || i == 3;
		int ret = 0;

		if (p->kind == LIQ || p->kind == LIOVF)
			ret = start_card(p, i, small ? rx_small : rx_pool);
		else if (p->kind == NULL_PORT)
			ret = start_vdev(p, "net_null_bench");
		else if (p->kind == RING_PORT)
			ret = start_vdev(p, "net_ring_bench");
		p->there = ret == 0;
		if (ret != 0)
			fprintf(stderr, "skipped: %s: %s\n", p->driver,
				ret == -ENOENT ? "not installed" : strerror(-ret));
	}
}

/*
 * Ring 0 as well: nobody answers the drivers' polls for the link from here on, and they need not say so.
 * Callgrind cannot be switched while another thread is in a signal handler.
 */
static void
take_ring_0_over(void)
{
	rte_log_set_level_pattern("pmd.net.li*", RTE_LOG_EMERG);
	for (unsigned int i = 0; i < RTE_DIM(ports); i++)
		if (ports[i].bar != NULL)
			trapbar_ring(ports[i].bar, 0);
}

static const struct shape {
	const char *name;
	uint16_t burst, segs;
	bool receive;
} shapes[] = {
	{"tx32", 32, 1, false},     {"tx1", 1, 1, false},     {"tx32s4", 32, SEGS, false},
	{"tx1s4", 1, SEGS, false},  {"rx32", 32, 1, true},    {"rx1", 1, 1, true},
	{"rx32s4", 32, SEGS, true}, {"rx1s4", 1, SEGS, true},
};
#define KINDS        (NOTHING + 1u)
#define MAX_VARIANTS (RTE_DIM(shapes) * KINDS)
static struct bench_variant variants[MAX_VARIANTS];
static struct job jobs[MAX_VARIANTS];
static char names[MAX_VARIANTS][24];
static unsigned int n_variants;

static void
add(const struct shape *s, struct port *p, const char *kind, bool compared)
{
	struct bench_variant *v = &variants[n_variants];

	jobs[n_variants] = (struct job){p, s->burst, s->segs, s->receive};
	snprintf(names[n_variants], sizeof(names[0]), "%s_%s", s->name, kind);
	*v = (struct bench_variant){
		.name = names[n_variants], .run = run, .ctx = &jobs[n_variants], .ticks = &ticks};
	if (compared) /* the one before it: net_liovf */
		v->reference = names[n_variants - 1];
	n_variants++;
}

static void
list_variants(void)
{
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		const struct shape *s = &shapes[i];
		const bool several = s->receive && s->segs > 1;

		add(s, &ports[6], "nothing", false);
		if (ports[4].there && !several)
			add(s, &ports[4], "null", false);
		if (ports[5].there && !several)
			add(s, &ports[5], "ring", false);
		if (ports[several ? 3 : 2].there)
			add(s, &ports[several ? 3 : 2], "liovf", false);
		if (ports[several ? 1 : 0].there)
			add(s, &ports[several ? 1 : 0], "liq", ports[several ? 3 : 2].there);
	}
}

int
main(int argc, char **argv)
{
	struct bench bench = {.experiment = "liq", .unit = "packet", .n = 6400};
	struct bench_opts opts;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	if (opts.list) { /* what there will be, without EAL */
		for (unsigned int i = 0; i < RTE_DIM(ports); i++)
			ports[i].there = ports[i].kind != LIOVF || load_liovf();
		list_variants();
		bench.variants = variants;
		bench.n_variants = n_variants;
		return bench_run(&opts, &bench);
	}
	tx_pool = rte_pktmbuf_pool_create("tx", N_MBUFS, 256, 0, SMALL, 0);
	rx_pool = rte_pktmbuf_pool_create("rx", N_MBUFS, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	rx_small = rte_pktmbuf_pool_create("small", N_MBUFS, 256, 0, SMALL, 0);
	if (tx_pool == NULL || rx_pool == NULL || rx_small == NULL) {
		fprintf(stderr, "bench_liq: no memory for mbufs\n");
		return BENCH_FAILED;
	}
	set_up();
	take_ring_0_over();
	list_variants();
	bench.variants = variants;
	bench.n_variants = n_variants;
	ret = bench_run(&opts, &bench);
	fflush(NULL);
	_Exit(ret); /* the cards have no far end any more that a close could talk to */
}
