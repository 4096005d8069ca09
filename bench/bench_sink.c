/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R1: a flood into one socket. One CPU polls 1, 2 or 16 receive queues through the whole stack and never waits;
 * the other reads the socket's queue, looks at payload and sender, and frees. Time per datagram that is read.
 *
 *   qN-single-1   one queue under one lock, taken for each datagram on both sides: the shape before 2017
 *   qN-single-32  the same, taken once per burst
 *   qN-two-1      two queues, the reader takes the shared one over; the producer locks for each datagram
 *   qN-two-32     the same, a lock per burst
 *   qN-product    src/stack/recvq.c
 *   line          a cache line to the other CPU and back: what everything here is made of
 *
 * The queue is put in the place of the product's where the receive path appends to it, by the linker (--wrap).
 * With N receive queues the same traffic comes in N bursts of 32/N, at least 2: so many locks more.
 * What is offered beyond what is read is dropped, and reported as "refused" per datagram read.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "lcore.h"
#include "recvq.h"
#include "recvq_alt.h"
#include "rig.h"
#include "sock.h"

#define FLOOD 512 /* datagrams that fit into the socket */

static const struct rig_conf conf[] = {
	{.name = "q1", .burst = 32, .queues = 1, .flood = true},
	{.name = "q2", .burst = 16, .queues = 2, .flood = true},
	{.name = "q16", .burst = 2, .queues = 16, .flood = true},
};
static struct rig rig[RTE_DIM(conf)];

struct run {
	const struct alt *alt;
	bool each; /* the producer appends one at a time */
	unsigned int rig;
};

static const struct run *now;
static struct {
	alignas(WEIR_CACHE_LINE) atomic_bool ready, stop, ended;
	uint64_t n, got;
} both;
static uint64_t ticks, offered;
static double kpps, refused;

/* ---- in the place of the product's ---- */

unsigned int __real_weir_recvq_produce(struct weir_recvq *q, struct weir_recvq_batch *b);
unsigned int __wrap_weir_recvq_produce(struct weir_recvq *q, struct weir_recvq_batch *b);

unsigned int
__wrap_weir_recvq_produce(struct weir_recvq *q, struct weir_recvq_batch *b)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];
	unsigned int took = 0;

	if (now == NULL || q != &rig[now->rig].sk->rq) /* the product in its own place */
		return __real_weir_recvq_produce(q, b);
	b->wake = 0;
	offered += b->n;
	memcpy(m, b->m, b->n * sizeof(m[0]));
	if (!now->each)
		return now->alt->put(0, m, b->n);
	while (took < b->n && now->alt->put(0, m + took, 1) == 1)
		took++;
	return took;
}

/* ---- the reader ---- */

static unsigned int
read_some(void)
{
	struct rte_mbuf *m[ALT_BURST];
	unsigned int got = now->alt->get(m, ALT_BURST);
	static struct rig_slot slot;

	for (unsigned int i = 0; i < got; i++) {
		const uint8_t *p = rte_pktmbuf_mtod(m[i], const uint8_t *);

		if (i + 2 < got)
			rte_prefetch0(rte_pktmbuf_mtod(m[i + 2], const void *));
		memcpy(&slot.peer.ip.v4, p + WIRE_ETH_LEN + offsetof(struct wire_ip4, src), 4);
		memcpy(slot.bytes, p + WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN, 18);
		bench_use(&slot);
	}
	if (got > 0)
		rte_pktmbuf_free_bulk(m, got);
	return got;
}

static int
reader(void *arg)
{
	uint64_t got = 0, t;

	(void)arg;
	atomic_store_explicit(&both.ready, true, memory_order_release);
	while ((got = read_some()) == 0)
		rte_pause();
	both.got = got;
	t = rte_rdtsc_precise();
	for (got = 0; got < both.n;)
		got += read_some();
	ticks = rte_rdtsc_precise() - t;
	both.got += got;
	atomic_store_explicit(&both.stop, true, memory_order_relaxed);
	atomic_store_explicit(&both.ended, true, memory_order_release);
	return 0;
}

/* One round over all queues. */
static void
poll_all(struct rig *r)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];

	weir_turn(r->lc);
	for (unsigned int q = 1; q < r->conf->queues; q++) {
		uint16_t n = rte_eth_rx_burst(r->ethdev, (uint16_t)q, m, (uint16_t)r->conf->burst);

		weir_input(r->lc, 0, m, n);
	}
}

static void
run(void *ctx, uint64_t n)
{
	struct rig *r;
	uint64_t left = 0;
	unsigned int k;

	now = ctx;
	r = &rig[now->rig];
	if (now->alt->init((uint64_t)FLOOD * ALT_SIZE) != 0)
		abort();
	both.n = n;
	offered = 0;
	atomic_store(&both.ready, false);
	atomic_store(&both.stop, false);
	atomic_store(&both.ended, false);
	rte_eal_remote_launch(reader, NULL, 1);
	while (!atomic_load_explicit(&both.ready, memory_order_acquire))
		rte_pause();
	while (!atomic_load_explicit(&both.stop, memory_order_relaxed))
		poll_all(r);
	while (!atomic_load_explicit(&both.ended, memory_order_acquire))
		rte_pause();
	rte_eal_wait_lcore(1);
	while ((k = read_some()) > 0)
		left += k;
	weir_count(&r->lc->c.rx_read, both.got + left);
	kpps = (double)both.n / ((double)ticks / (double)rte_get_tsc_hz()) / 1e3;
	refused = (double)(offered - both.got - left) / (double)both.got;
	if (now->alt->fini != NULL)
		now->alt->fini();
	now = NULL;
}

/* ---- the line ---- */

static alignas(WEIR_CACHE_LINE) atomic_uint ball;

static int
return_ball(void *arg)
{
	const uint32_t n = *(const uint32_t *)arg;

	for (uint32_t i = 0; i < n; i++) {
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 1)
			;
		atomic_store_explicit(&ball, 2 * i + 2, memory_order_release);
	}
	return 0;
}

static void
run_line(void *ctx, uint64_t n)
{
	uint32_t count = (uint32_t)n;

	(void)ctx;
	atomic_store(&ball, 0);
	rte_eal_remote_launch(return_ball, &count, 1);
	ticks = rte_rdtsc_precise();
	for (uint32_t i = 0; i < count; i++) {
		atomic_store_explicit(&ball, 2 * i + 1, memory_order_release);
		while (atomic_load_explicit(&ball, memory_order_acquire) != 2 * i + 2)
			;
	}
	ticks = rte_rdtsc_precise() - ticks;
	rte_eal_wait_lcore(1);
}

/* ---- set-up ---- */

static const struct {
	const char *name;
	const struct alt *alt;
	bool each;
} forms[] = {
	{"single-32", &alt_single32, false}, {"single-1", &alt_single1, true},
	{"two-32", &alt_list, false},        {"two-1", &alt_list, true},
	{"product", &alt_product, false},
};

#define N_RUNS (RTE_DIM(conf) * RTE_DIM(forms))
static struct run runs[N_RUNS];
static struct bench_variant variants[N_RUNS + 1];
static char names[N_RUNS][24];

static void
add_all(void)
{
	static const struct bench_extra extra[BENCH_EXTRAS] = {
		{"delivered", "kpps", &kpps},
		{"refused", "per datagram read", &refused},
	};
	unsigned int n = 0;

	for (unsigned int q = 0; q < RTE_DIM(conf); q++) {
		for (unsigned int f = 0; f < RTE_DIM(forms); f++, n++) {
			runs[n] = (struct run){forms[f].alt, forms[f].each, q};
			snprintf(names[n], sizeof(names[n]), "%s-%s", conf[q].name, forms[f].name);
			variants[n] = (struct bench_variant){
				.name = names[n],
				.reference = f > 0 ? names[n - f] : NULL,
				.run = run,
				.ctx = &runs[n],
				.flags = BENCH_TWO_CPUS,
				.ticks = &ticks,
				.extra = extra,
			};
		}
	}
	variants[n] = (struct bench_variant){
		.name = "line", .run = run_line, .flags = BENCH_TWO_CPUS, .ticks = &ticks};
}

int
main(int argc, char **argv)
{
	struct bench sink = {.experiment = "sink", .unit = "datagram", .n = 4096};
	struct bench_opts opts;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	add_all();
	sink.variants = variants;
	sink.n_variants = RTE_DIM(variants);
	if (opts.list)
		return bench_run(&opts, &sink);
	ret = BENCH_OK;
	for (unsigned int i = 0; i < RTE_DIM(rig) && ret == BENCH_OK; i++)
		if (rig_up(&rig[i], &conf[i], &opts) != 0)
			ret = BENCH_FAILED;
	if (ret == BENCH_OK)
		ret = bench_run(&opts, &sink);
	for (unsigned int i = 0; i < RTE_DIM(rig); i++)
		if (rig_down(&rig[i]) != 0)
			ret = BENCH_FAILED;
	return ret;
}
