/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly, per fragment: what a fragment costs from its arrival until its datagram, or itself, is given
 * back. The engine alone; the parse in front of it is bench_rx's matter. "buffers" is what taking a buffer and
 * giving it back costs, which all have in them.
 *
 *   order-8, reverse-8, random-8         datagrams of 8 fragments
 *   order-120, reverse-120, random-120   65535 bytes in packets of 576
 *   open-1 ... open-64k                  datagrams of two fragments, so many of them open at any time
 *   flood                                fragments that belong to nothing, memory full: each costs an older one
 *   smack                                one datagram after the other in the smallest pieces, at random places,
 *                                        until it has too many
 *   teardrop                             pairs that overlap
 */
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "harness.h"
#include "reasm.h"

#define BURST     32
#define ROOM      (RTE_PKTMBUF_HEADROOM + 128)
#define N_BUFFERS (65536 * 2 - 1)
#define HEADERS   (WIRE_ETH_LEN + WIRE_IP4_MIN)
#define BYTES     8 /* of payload: the engine does not look at it */

static struct weir_stack *stack;
static struct weir_lcore *lc;
static struct weir_port *port;
static struct rte_mempool *pool;
static struct rte_mbuf *ready[BURST];
static unsigned int n_ready;
static uint32_t next_id;

static inline uint64_t
next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static inline struct rte_mbuf *
buffer(void)
{
	struct rte_mbuf *m;

	if (n_ready == 0) {
		if (rte_pktmbuf_alloc_bulk(pool, ready, BURST) != 0)
			abort();
		n_ready = BURST;
	}
	m = ready[--n_ready];
	m->data_len = HEADERS + BYTES;
	m->pkt_len = HEADERS + BYTES;
	return m;
}

static inline void
give(struct wire_view *v, uint32_t datagram, unsigned int index, bool more)
{
	struct rte_mbuf *whole;

	v->src4 = datagram * 2654435761u | 1; /* sources of all kinds */
	v->frag_id = datagram & 0xffff;
	v->frag_off = (uint16_t)(index * BYTES);
	v->frag_more = more;
	whole = weir_reasm_input(lc, port, buffer(), v);
	rte_pktmbuf_free(whole); /* or NULL */
}

static struct wire_view
view(void)
{
	const struct wire_view v = {
		.kind = WIRE_FRAG,
		.family = 4,
		.l2_len = WIRE_ETH_LEN,
		.l3_len = WIRE_IP4_MIN,
		.proto = WIRE_PROTO_UDP,
		.l3_payload = BYTES,
		.dst4 = WIRE_BE32(0x0a000001),
	};

	return v;
}

/* ---- the engine ---- */

struct conf {
	uint32_t mem;
	unsigned int n;    /* fragments of a datagram */
	unsigned int open; /* datagrams that are open at any time */
	uint32_t last;     /* the youngest of these */
	struct weir_reasm *engine;
	uint8_t order[128];
};
#define SOME (4 << 20)
static struct conf order8 = {.mem = SOME, .n = 8}, reverse8 = {.mem = SOME, .n = 8},
		   random8 = {.mem = SOME, .n = 8}, order120 = {.mem = SOME, .n = 120},
		   reverse120 = {.mem = SOME, .n = 120}, random120 = {.mem = SOME, .n = 120},
		   open1 = {.mem = SOME, .open = 1}, open1k = {.mem = SOME, .open = 1024},
		   open64k = {.mem = 160 << 20, .open = 65536}, flood = {.mem = SOME},
		   smack = {.mem = SOME}, teardrop = {.mem = SOME};

/* Set-up is for all variants before the first sample: each has an engine of its own. */
static int
setup(void *ctx)
{
	struct conf *c = ctx;
	struct wire_view v = view();
	int ret;

	stack->conf.frag_mem = c->mem;
	stack->conf.frag_ms = 30000;
	ret = weir_reasm_init(lc, SOCKET_ID_ANY);
	c->engine = lc->reasm;
	for (unsigned int i = 0; ret == 0 && i < c->open; i++)
		give(&v, ++c->last, 0, true);
	return ret;
}

static void
teardown(void *ctx)
{
	struct conf *c = ctx;

	lc->reasm = c->engine;
	weir_reasm_fini(lc);
}

static void
make_orders(void)
{
	struct conf *const all[] = {&order8,   &reverse8,   &random8,
				    &order120, &reverse120, &random120};
	uint64_t x = 88172645463325252u;

	for (unsigned int k = 0; k < RTE_DIM(all); k++) {
		struct conf *c = all[k];

		for (unsigned int i = 0; i < c->n; i++)
			c->order[i] = (uint8_t)(k % 3 == 1 ? c->n - 1 - i : i);
		for (unsigned int i = c->n - 1; k % 3 == 2 && i > 0; i--) {
			const unsigned int with = (unsigned int)(next_random(&x) % (i + 1));
			const uint8_t swap = c->order[i];

			c->order[i] = c->order[with];
			c->order[with] = swap;
		}
	}
}

/* ---- variants ---- */

static void
run_buffers(void *ctx, uint64_t n)
{
	(void)ctx;
	for (uint64_t i = 0; i < n; i++) {
		struct rte_mbuf *m = buffer();

		bench_use(m);
		rte_pktmbuf_free(m);
	}
}

static void
run_datagrams(void *ctx, uint64_t n)
{
	const struct conf *c = ctx;
	struct wire_view v = view();

	lc->reasm = c->engine;
	for (uint64_t done = 0; done < n; done += c->n) {
		next_id++;
		for (unsigned int i = 0; i < c->n; i++)
			give(&v, next_id, c->order[i], c->order[i] != c->n - 1u);
	}
}

static void
run_open(void *ctx, uint64_t n)
{
	struct conf *c = ctx;
	struct wire_view v = view();

	lc->reasm = c->engine;
	for (uint64_t done = 0; done < n; done += 2) {
		give(&v, c->last + 1 - c->open, 1, false);
		give(&v, ++c->last, 0, true);
	}
}

static void
run_flood(void *ctx, uint64_t n)
{
	const struct conf *c = ctx;
	struct wire_view v = view();

	lc->reasm = c->engine;
	for (uint64_t i = 0; i < n; i++)
		give(&v, ++next_id, 1, true);
}

static void
run_smack(void *ctx, uint64_t n)
{
	const struct conf *c = ctx;
	struct wire_view v = view();
	uint64_t x = 88172645463325252u;

	lc->reasm = c->engine;
	for (uint64_t i = 0; i < n; i++) {
		next_id += i % 140 == 0;
		give(&v, next_id, (unsigned int)(next_random(&x) & 0x1fff) % 8100, true);
	}
}

static void
run_teardrop(void *ctx, uint64_t n)
{
	const struct conf *c = ctx;
	struct wire_view v = view();

	lc->reasm = c->engine;
	for (uint64_t i = 0; i < n; i += 2) {
		v.l3_payload = BYTES;
		give(&v, ++next_id, 0, true);
		v.l3_payload = 4;
		give(&v, next_id, 0, false);
	}
}

#define ENGINE(how, c)                                                                             \
	.reference = "buffers", .setup = setup, .run = how, .teardown = teardown, .ctx = (c)

static const struct bench_variant variants[] = {
	{.name = "buffers", .run = run_buffers},
	{.name = "order-8", ENGINE(run_datagrams, &order8)},
	{.name = "reverse-8", ENGINE(run_datagrams, &reverse8)},
	{.name = "random-8", ENGINE(run_datagrams, &random8)},
	{.name = "order-120", ENGINE(run_datagrams, &order120)},
	{.name = "reverse-120", ENGINE(run_datagrams, &reverse120)},
	{.name = "random-120", ENGINE(run_datagrams, &random120)},
	{.name = "open-1", ENGINE(run_open, &open1)},
	{.name = "open-1k", ENGINE(run_open, &open1k)},
	{.name = "open-64k", ENGINE(run_open, &open64k)},
	{.name = "flood", ENGINE(run_flood, &flood)},
	{.name = "smack", ENGINE(run_smack, &smack)},
	{.name = "teardrop", ENGINE(run_teardrop, &teardrop)},
};

static const struct bench reasm = {
	.experiment = "reasm",
	.unit = "fragment",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 8400,
};

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	int ret;

	bench_mem_mib = 256;
	ret = bench_begin(&opts, argc, argv);
	if (ret >= 0)
		return ret;
	if (opts.list)
		return bench_run(&opts, &reasm);
	make_orders();
	pool = rte_pktmbuf_pool_create("frags", N_BUFFERS, 256, 0, ROOM, SOCKET_ID_ANY);
	stack = rte_zmalloc(NULL, sizeof(*stack), WEIR_CACHE_LINE);
	lc = rte_zmalloc(NULL, sizeof(*lc), WEIR_CACHE_LINE);
	port = rte_zmalloc(NULL, sizeof(*port), WEIR_CACHE_LINE);
	ret = BENCH_FAILED;
	if (pool != NULL && stack != NULL && lc != NULL && port != NULL) {
		stack->pool = pool;
		lc->stack = stack;
		lc->now_ns = 1;
		for (unsigned int i = 0; i < RTE_DIM(stack->hash_key); i++)
			stack->hash_key[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
		ret = bench_run(&opts, &reasm);
		while (n_ready > 0)
			rte_pktmbuf_free(ready[--n_ready]);
		if (rte_mempool_in_use_count(pool) != 0)
			ret = BENCH_FAILED;
	}
	rte_free(port);
	rte_free(lc);
	rte_free(stack);
	rte_mempool_free(pool);
	return ret;
}
