/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of the stack one by one, each beside the plainest thing that does the same where there is
 * one. Linked with the static library: the parts are hidden in the shared one.
 *
 *   parse, sum-*       pure functions, on bytes that are in the first-level cache
 *   lookup-*           a random one of 1, 1000, 100000 sockets, bursts of 32
 *   route-*            one and 512 destinations that the cache holds; more than it holds
 *   recvq-*            produce and consume, by one thread
 *   mesh-*, ring-*     hand-over of bursts of 32 by one thread, and between two CPUs
 *   clock              weir_clock_ns() beside the bare TSC
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <rte_udp.h>

#include "lcore.h"
#include "mesh.h"
#include "recvq.h"
#include "rig.h"
#include "route.h"
#include "socktab.h"

#define BURST       32
#define N_DESTS_HIT 512
#define N_DESTS     65536 /* a power of two, and far more than a route cache holds */

static const struct rig_conf conf = {.name = "parts", .burst = BURST};
static struct rig rig;

static inline uint64_t
next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* ---- parse ---- */

static uint8_t frame[RIG_ROOM] __attribute__((aligned(64)));
static uint16_t frame_len;

static void
run_parse(void *ctx, uint64_t n)
{
	struct wire_parse_opt opt = {.max_frame = 1514};
	struct wire_view v;

	(void)ctx;
	memcpy(opt.mac, rig.eth.dst, WIRE_ETH_ALEN);
	for (uint64_t i = 0; i < n; i++) {
		bench_use(frame);
		wire_parse(frame, frame_len, frame_len, &opt, &v);
		bench_use(&v);
	}
}

/* ---- sums ---- */

struct sum_case {
	size_t len;
};
static const struct sum_case sum18 = {18}, sum64 = {64}, sum1472 = {1472};

static void
run_sum(void *ctx, uint64_t n)
{
	const struct sum_case *c = ctx;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		bench_use(frame);
		sum ^= wire_fold(wire_sum(frame + 42, c->len, 0));
	}
	bench_use(&sum);
}

static void
run_rte_sum(void *ctx, uint64_t n)
{
	const struct sum_case *c = ctx;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++) {
		bench_use(frame);
		sum ^= rte_raw_cksum(frame + 42, c->len);
	}
	bench_use(&sum);
}

/* Both checksums of the frame, as a receiver verifies them. */
static void
run_verify(void *ctx, uint64_t n)
{
	const struct wire_ip4 *ip = (const void *)(frame + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const void *)(ip + 1);
	unsigned int bad = 0;

	(void)ctx;
	for (uint64_t i = 0; i < n; i++) {
		uint16_t len = WIRE_BE16(udp->len);

		bench_use(frame);
		bad += wire_ip4_csum(ip, WIRE_IP4_MIN) != 0;
		bad += wire_fold(wire_sum(udp, len,
					  wire_pseudo4(ip->src, ip->dst, WIRE_PROTO_UDP, len))) !=
		       0xffff;
	}
	if (bad != 0)
		abort();
}

static void
run_rte_verify(void *ctx, uint64_t n)
{
	const struct rte_ipv4_hdr *ip = (const void *)(frame + WIRE_ETH_LEN);
	unsigned int bad = 0;

	(void)ctx;
	for (uint64_t i = 0; i < n; i++) {
		bench_use(frame);
		bad += rte_raw_cksum(ip, sizeof(*ip)) != 0xffff;
		bad += rte_ipv4_udptcp_cksum(ip, ip + 1) != 0xffff;
	}
	if (bad != 0)
		abort();
}

/* ---- socket lookup ---- */

struct lookup_case {
	const char *name;
	uint32_t n;
	struct weir_stack *stack;
	struct weir_sockent **ent;
};
static struct lookup_case lookup1 = {.name = "look1", .n = 1};
static struct lookup_case lookup1k = {.name = "look1k", .n = 1000};
static struct lookup_case lookup100k = {.name = "look100k", .n = 100000};

/* Key number i: sockets bound to one address and port each. */
static inline struct weir_key
lookup_key(uint32_t i, uint32_t peer)
{
	struct weir_key key = {.family = WEIR_IPV4};

	key.local.v4 = WIRE_BE32(0x0a000000u + (i >> 15));
	key.lport = WIRE_BE16(1 + (i & 0x7fff));
	key.peer.v4 = peer;
	key.pport = peer != 0 ? WIRE_BE16(RIG_PEER_PORT) : 0;
	return key;
}

static int
setup_lookup(void *ctx)
{
	struct lookup_case *c = ctx;
	struct weir_stack_conf sc;

	weir_stack_conf_init(&sc);
	sc.name = c->name;
	c->ent = calloc(c->n, sizeof(c->ent[0]));
	if (c->ent == NULL || weir_stack_create(&sc, &c->stack, NULL) != 0)
		return -1;
	for (uint32_t i = 0; i < c->n; i++) {
		struct weir_key key = lookup_key(i, 0);

		/* The lookup gives the pointer back and does not follow it. */
		if (weir_socktab_insert(c->stack, &key, (struct weir_socket *)(uintptr_t)(i + 1),
					&c->ent[i]) != 0)
			return -1;
	}
	return 0;
}

static void
teardown_lookup(void *ctx)
{
	struct lookup_case *c = ctx;

	for (uint32_t i = 0; c->stack != NULL && i < c->n; i++)
		if (c->ent[i] != NULL)
			weir_socktab_remove(c->stack, c->ent[i],
					    (struct weir_socket *)(uintptr_t)(i + 1));
	if (c->stack != NULL)
		weir_stack_destroy(c->stack);
	free(c->ent);
	c->stack = NULL;
}

static void
run_lookup(void *ctx, uint64_t n)
{
	struct lookup_case *c = ctx;
	struct weir_socket *sk[BURST];
	struct weir_key key[BURST];
	uint64_t x = 88172645463325252u;

	for (uint64_t done = 0; done < n; done += BURST) {
		for (unsigned int i = 0; i < BURST; i++)
			key[i] = lookup_key((uint32_t)(((next_random(&x) & 0xffffffff) * c->n) >>
						       32),
					    WIRE_BE32(RIG_PEER_IP));
		weir_socktab_lookup_burst(c->stack->ctl_lcore, key, BURST, sk);
		bench_use(sk);
		if (sk[0] == NULL || sk[BURST - 1] == NULL)
			abort();
	}
}

/* What making up the keys costs. */
static void
run_lookup_keys(void *ctx, uint64_t n)
{
	struct lookup_case *c = ctx;
	struct weir_key key[BURST];
	uint64_t x = 88172645463325252u;

	for (uint64_t done = 0; done < n; done += BURST) {
		for (unsigned int i = 0; i < BURST; i++)
			key[i] = lookup_key((uint32_t)(((next_random(&x) & 0xffffffff) * c->n) >>
						       32),
					    WIRE_BE32(RIG_PEER_IP));
		bench_use(key);
	}
}

/* ---- route cache ---- */

struct route_case {
	uint32_t n; /* a power of two */
};
static const struct route_case route1 = {1}, route512 = {N_DESTS_HIT}, route_many = {N_DESTS};

static void
run_route(void *ctx, uint64_t n)
{
	const struct route_case *c = ctx;
	const union weir_ip bound = {.w = {0, 0}};
	uint64_t x = 88172645463325252u;
	union weir_ip dst = {.w = {0, 0}};
	int err;

	for (uint64_t i = 0; i < n; i++) {
		dst.v4 = WIRE_BE32(0xc0a80000u + (uint32_t)(next_random(&x) & (c->n - 1)));
		if (weir_route_get(rig.lc, &dst, &bound, WEIR_IPV4, 0, &err) == NULL)
			abort();
	}
}

/* ---- receive queue ---- */

static struct weir_recvq queue;
static struct rte_mbuf *queued[BURST];

static int
setup_recvq(void *ctx)
{
	(void)ctx;
	weir_recvq_init(&queue, 1 << 20);
	if (weir_mbuf_alloc_bulk(rig.lc, queued, BURST) != 0)
		return -1;
	return 0;
}

static void
teardown_recvq(void *ctx)
{
	(void)ctx;
	weir_mbuf_free_bulk(queued, BURST);
	memset(queued, 0, sizeof(queued));
}

static inline void
through_recvq(uint64_t n, unsigned int burst)
{
	struct weir_recvq_batch batch = {.m = queued, .each = 2304, .n = (uint16_t)burst};
	struct rte_mbuf *m[BURST];

	for (uint64_t done = 0; done < n; done += burst) {
		if (weir_recvq_produce(&queue, &batch) != burst ||
		    weir_recvq_consume(&queue, m, burst) != burst)
			abort();
		bench_use(m);
	}
}

static void
run_recvq1(void *ctx, uint64_t n)
{
	(void)ctx;
	through_recvq(n, 1);
}

static void
run_recvq32(void *ctx, uint64_t n)
{
	(void)ctx;
	through_recvq(n, BURST);
}

/* ---- mesh ---- */

/* Two lcores as the mesh sees them, without a stack behind: all that its calls read. */
static struct weir_stack *mesh_stack;
static struct weir_lcore *mesh_lcore[2];
static struct rte_ring *bare_ring;

static int
setup_mesh(void *ctx)
{
	ssize_t size = rte_ring_get_memsize(1024);

	(void)ctx;
	if (mesh_stack != NULL)
		return 0;
	mesh_stack = rte_zmalloc(NULL, sizeof(*mesh_stack), WEIR_CACHE_LINE);
	bare_ring = rte_zmalloc(NULL, (size_t)size, WEIR_CACHE_LINE);
	if (mesh_stack == NULL || bare_ring == NULL ||
	    rte_ring_init(bare_ring, "bare", 1024, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0)
		return -1;
	mesh_stack->n_workers = 2;
	mesh_stack->n_lcores = 2;
	mesh_stack->conf.mesh_ring = 1024;
	for (unsigned int i = 0; i < 2; i++) {
		mesh_lcore[i] = rte_zmalloc(NULL, sizeof(*mesh_lcore[i]), WEIR_CACHE_LINE);
		if (mesh_lcore[i] == NULL)
			return -1;
		mesh_lcore[i]->stack = mesh_stack;
		mesh_lcore[i]->slot = (uint16_t)i;
		mesh_stack->lcores[i] = mesh_lcore[i];
	}
	return weir_mesh_init(mesh_stack);
}

static void
teardown_mesh(void *ctx)
{
	(void)ctx;
	if (mesh_stack == NULL)
		return;
	weir_mesh_fini(mesh_stack);
	rte_free(mesh_lcore[0]);
	rte_free(mesh_lcore[1]);
	rte_free(mesh_stack);
	rte_free(bare_ring);
	mesh_stack = NULL;
}

static inline unsigned int
mesh_put(unsigned int n)
{
	return weir_mesh_frames(mesh_lcore[0], 1, WEIR_MESH_TX, queued, n);
}

static inline unsigned int
mesh_get(unsigned int n)
{
	uint64_t word[BURST];
	unsigned int got = weir_mesh_take(mesh_lcore[1], 0, word, n);

	bench_use(word);
	return got;
}

static inline unsigned int
ring_put(unsigned int n)
{
	return rte_ring_sp_enqueue_burst(bare_ring, (void **)queued, n, NULL);
}

static inline unsigned int
ring_get(unsigned int n)
{
	void *word[BURST];
	unsigned int got = rte_ring_sc_dequeue_burst(bare_ring, word, n, NULL);

	bench_use(word);
	return got;
}

static void
run_mesh(void *ctx, uint64_t n)
{
	(void)ctx;
	for (uint64_t done = 0; done < n; done += BURST)
		if (mesh_put(BURST) != BURST || mesh_get(BURST) != BURST)
			abort();
}

static void
run_ring(void *ctx, uint64_t n)
{
	(void)ctx;
	for (uint64_t done = 0; done < n; done += BURST)
		if (ring_put(BURST) != BURST || ring_get(BURST) != BURST)
			abort();
}

struct taker {
	unsigned int (*get)(unsigned int n);
	uint64_t n;
	atomic_bool ready, done;
};

static int
take_all(void *arg)
{
	struct taker *t = arg;
	uint64_t got = 0;

	atomic_store_explicit(&t->ready, true, memory_order_release);
	while (got < t->n) {
		unsigned int k = t->get(BURST);

		if (k == 0)
			rte_pause();
		got += k;
	}
	atomic_store_explicit(&t->done, true, memory_order_release);
	return 0;
}

static uint64_t across_ticks; /* from both being awake to all being taken */

static inline void
across(unsigned int (*put)(unsigned int n), unsigned int (*get)(unsigned int n), uint64_t n)
{
	struct taker t = {.get = get, .n = RTE_ALIGN_CEIL(n, BURST)};

	rte_eal_remote_launch(take_all, &t, 1);
	while (!atomic_load_explicit(&t.ready, memory_order_acquire))
		rte_pause();
	across_ticks = rte_rdtsc_precise();
	for (uint64_t done = 0; done < t.n;) {
		unsigned int k = put(BURST);

		if (k == 0)
			rte_pause();
		done += k;
	}
	/* Not rte_eal_wait_lcore() at once: the time ends when the last one has been taken. */
	while (!atomic_load_explicit(&t.done, memory_order_acquire))
		rte_pause();
	across_ticks = rte_rdtsc_precise() - across_ticks;
	rte_eal_wait_lcore(1);
}

static void
run_mesh_across(void *ctx, uint64_t n)
{
	(void)ctx;
	across(mesh_put, mesh_get, n);
}

static void
run_ring_across(void *ctx, uint64_t n)
{
	(void)ctx;
	across(ring_put, ring_get, n);
}

/* ---- clock ---- */

static void
run_clock(void *ctx, uint64_t n)
{
	uint64_t sum = 0;

	(void)ctx;
	for (uint64_t i = 0; i < n; i++)
		sum ^= weir_clock_ns();
	bench_use(&sum);
}

static void
run_tsc(void *ctx, uint64_t n)
{
	uint64_t sum = 0;

	(void)ctx;
	for (uint64_t i = 0; i < n; i++)
		sum ^= rte_rdtsc();
	bench_use(&sum);
}

/* ---- all of them ---- */

#define CTX(x) ((void *)(uintptr_t)(x))

static const struct bench_variant variants[] = {
	{.name = "parse", .run = run_parse},
	{.name = "rte-sum-18", .run = run_rte_sum, .ctx = CTX(&sum18)},
	{.name = "sum-18", .reference = "rte-sum-18", .run = run_sum, .ctx = CTX(&sum18)},
	{.name = "rte-sum-64", .run = run_rte_sum, .ctx = CTX(&sum64)},
	{.name = "sum-64", .reference = "rte-sum-64", .run = run_sum, .ctx = CTX(&sum64)},
	{.name = "rte-sum-1472", .run = run_rte_sum, .ctx = CTX(&sum1472)},
	{.name = "sum-1472", .reference = "rte-sum-1472", .run = run_sum, .ctx = CTX(&sum1472)},
	{.name = "rte-verify", .run = run_rte_verify},
	{.name = "verify", .reference = "rte-verify", .run = run_verify},
	{.name = "lookup-keys-only", .run = run_lookup_keys, .ctx = &lookup1k},
	{.name = "lookup-1",
	 .setup = setup_lookup,
	 .run = run_lookup,
	 .teardown = teardown_lookup,
	 .ctx = &lookup1},
	{.name = "lookup-1k",
	 .reference = "lookup-1",
	 .setup = setup_lookup,
	 .run = run_lookup,
	 .teardown = teardown_lookup,
	 .ctx = &lookup1k},
	{.name = "lookup-100k",
	 .reference = "lookup-1",
	 .setup = setup_lookup,
	 .run = run_lookup,
	 .teardown = teardown_lookup,
	 .ctx = &lookup100k},
	{.name = "route-hit-1", .run = run_route, .ctx = CTX(&route1)},
	{.name = "route-hit-512",
	 .reference = "route-hit-1",
	 .run = run_route,
	 .ctx = CTX(&route512)},
	{.name = "route-miss",
	 .reference = "route-hit-1",
	 .run = run_route,
	 .ctx = CTX(&route_many)},
	{.name = "recvq-1", .run = run_recvq1},
	{.name = "recvq-32", .run = run_recvq32},
	{.name = "ring-32", .setup = setup_mesh, .run = run_ring, .teardown = teardown_mesh},
	{.name = "mesh-32",
	 .reference = "ring-32",
	 .setup = setup_mesh,
	 .run = run_mesh,
	 .teardown = teardown_mesh},
	{.name = "ring-across",
	 .setup = setup_mesh,
	 .run = run_ring_across,
	 .teardown = teardown_mesh,
	 .flags = BENCH_TWO_CPUS,
	 .ticks = &across_ticks},
	{.name = "mesh-across",
	 .reference = "ring-across",
	 .setup = setup_mesh,
	 .run = run_mesh_across,
	 .teardown = teardown_mesh,
	 .flags = BENCH_TWO_CPUS,
	 .ticks = &across_ticks},
	{.name = "tsc", .run = run_tsc},
	{.name = "clock", .reference = "tsc", .run = run_clock},
};

static const struct bench parts = {
	.experiment = "parts",
	.unit = "operation",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 8192,
};

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	if (opts.list)
		return bench_run(&opts, &parts);
	ret = BENCH_FAILED;
	if (rig_up(&rig, &conf, &opts) == 0 && setup_recvq(NULL) == 0) {
		frame_len = rig_frame(&rig, frame, opts.payload_bytes);
		ret = bench_run(&opts, &parts);
	}
	if (queued[0] != NULL)
		teardown_recvq(NULL);
	if (rig_down(&rig) != 0)
		return BENCH_FAILED;
	return ret;
}
