/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a datagram goes: what it costs to know.
 *
 *   send-D-R         weir_send_burst() of 32 to D destinations in random order, over a table of R routes, unconnected:
 *                    with few destinations the lcore's route cache answers, with a million it never does
 *   cache-lcore-D    a look into the lcore's cache, D destinations
 *   cache-counted-D  a look into a table that all cores share, with a count up and down for each datagram
 *   cache-locked-D   the same with one lock around the look (route_alt.h)
 *   ...-two          the same while a second thread does so too, for the same destinations
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "control_state.h"
#include "fib.h"
#include "lcore.h"
#include "rig.h"
#include "route.h"
#include "route_alt.h"

#define BURST  32
#define N_DEST (1u << 20)
#define N_NEAR 1024u

static const struct rig_conf conf[] = {{.name = "r1", .burst = BURST},
				       {.name = "r1k", .burst = BURST},
				       {.name = "r1m", .burst = BURST}};
static const uint32_t n_routes[] = {0, 1000, 1000000}; /* beside the default route */
static struct rig rig[RTE_DIM(conf)];
static struct weir_addr *dest; /* N_DEST */
static uint64_t seed = 88172645463325252u;

static uint64_t ticks;

/*
 * What one variant has cached another has thrown out: a few destinations are looked up once before the clock starts.
 */
static void
warm(struct rig *r, uint32_t mask)
{
	static const union weir_ip any;
	int err;

	for (uint32_t i = 0; i <= mask && mask < N_DEST - 1; i++)
		bench_use(weir_route_get(r->lc, &dest[i].ip, &any, weir_route_sel(WEIR_IPV4, -1), 0,
					 &err));
}

static uint32_t
rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 32);
}

/* ---- sending ---- */

struct send_case {
	struct rig *rig;
	uint32_t mask; /* of the destination's number */
	uint32_t at;
};

static void
run_send(void *ctx, uint64_t n)
{
	struct send_case *c = ctx;
	struct rig *r = c->rig;
	struct rte_mbuf *m[BURST];
	struct weir_txmsg msg[BURST] = {0};
	uint64_t start;

	warm(r, c->mask);
	start = rte_rdtsc();
	for (uint64_t done = 0; done < n; done += BURST) {
		if (weir_mbuf_alloc_bulk(r->lc, m, BURST) != 0)
			return;
		for (unsigned int i = 0; i < BURST; i++) {
			memcpy(rte_pktmbuf_mtod(m[i], void *), r->payload, r->payload_bytes);
			m[i]->data_len = (uint16_t)r->payload_bytes;
			m[i]->pkt_len = r->payload_bytes;
			msg[i].m = m[i];
			msg[i].to = &dest[c->at++ & c->mask];
		}
		weir_send_burst(r->lc, r->sk, msg, BURST, WEIR_SEND_DROP);
		weir_flush(r->lc);
	}
	ticks = rte_rdtsc() - start;
}

/* A table of n routes beside the default one, all by the same neighbour. */
static int
add_routes(struct rig *r, uint32_t n)
{
	struct weir_nexthop hop = {
		.gateway = r->peer.ip, .port = r->stack->ports[0], .has_gateway = true};
	struct weir_fib_txn *txn;
	int ret = 0;

	weir_ctl_lock(r->stack);
	txn = weir_fib_begin(r->stack);
	for (uint32_t i = 0; txn != NULL && i < n && ret == 0; i++) {
		struct weir_route route = {
			.family = WEIR_IPV4, .bits = 24, .n_hops = 1, .hop = &hop};

		/* Spread over 32.0.0.0 and on: a million /24. */
		route.prefix.v4 = WIRE_BE32((0x200000u + i * 11u % 0x5f0000u) << 8);
		ret = weir_fib_add(txn, &route);
	}
	if (txn != NULL && ret == 0)
		weir_fib_commit(txn);
	else if (txn != NULL)
		weir_fib_abort(txn);
	weir_ctl_unlock(r->stack);
	return txn == NULL ? -1 : ret;
}

/* ---- caches ---- */

enum kind { LCORE, COUNTED, LOCKED };

struct cache_case {
	enum kind kind;
	uint32_t mask;
	bool two;
};

static struct route_alt *alt[3];

static struct {
	pthread_t thread;
	atomic_int go, runs, stop;
	const struct cache_case *_Atomic what;
	int cpu;
	bool up;
} other;

static inline bool
look(const struct cache_case *c, struct weir_lcore *lc, uint32_t i)
{
	static const union weir_ip any;
	const union weir_ip *dst = &dest[i & c->mask].ip;
	struct alt_route *r;
	int err;

	if (c->kind == LCORE) {
		const struct weir_rtc *e =
			weir_route_get(lc, dst, &any, weir_route_sel(WEIR_IPV4, -1), 0, &err);

		bench_use(e);
		return e != NULL;
	}
	r = route_alt_get(alt[c->kind], dst, i);
	bench_use(r);
	if (r == NULL)
		return false;
	route_alt_put(alt[c->kind], r);
	return true;
}

static void *
other_thread(void *arg)
{
	struct weir_lcore *lc;
	cpu_set_t set;

	(void)arg;
	CPU_ZERO(&set);
	CPU_SET(other.cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (weir_thread_attach(rig[0].stack, &lc) != 0)
		return NULL;
	while (!atomic_load(&other.stop)) {
		const struct cache_case *c;

		if (!atomic_load(&other.go)) {
			sched_yield();
			continue;
		}
		c = atomic_load(&other.what);
		atomic_store(&other.runs, 1);
		weir_enter(lc);
		for (uint32_t i = 0; atomic_load_explicit(&other.go, memory_order_relaxed); i++)
			if (!look(c, lc, i))
				abort();
		weir_leave(lc);
		atomic_store(&other.runs, 0);
	}
	weir_lcore_detach(lc);
	return NULL;
}

static void
run_cache(void *ctx, uint64_t n)
{
	const struct cache_case *c = ctx;
	uint64_t start;

	if (c->two) {
		atomic_store(&other.what, c);
		atomic_store(&other.go, 1);
		while (!atomic_load(&other.runs))
			sched_yield();
	}
	if (c->kind == LCORE)
		warm(&rig[0], c->mask);
	start = rte_rdtsc();
	for (uint64_t i = 0; i < n; i++)
		if (!look(c, rig[0].lc, (uint32_t)i))
			abort();
	ticks = rte_rdtsc() - start;
	if (c->two) {
		atomic_store(&other.go, 0);
		while (atomic_load(&other.runs))
			sched_yield();
	}
}

/* ---- what is measured ---- */

#define SEND(d, r)     (&(struct send_case){.rig = &rig[r], .mask = d})
#define CACHE(k, m, t) (&(struct cache_case){.kind = k, .mask = m, .two = t})
#define ALONE(name_, k, m, ref)                                                                    \
	{                                                                                          \
		.name = name_, .reference = ref, .run = run_cache, .ctx = CACHE(k, m, false),      \
		.ticks = &ticks                                                                    \
	}
#define TWO(name_, k, m, ref)                                                                      \
	{                                                                                          \
		.name = name_, .reference = ref, .run = run_cache, .ctx = CACHE(k, m, true),       \
		.ticks = &ticks, .flags = BENCH_TWO_CPUS                                           \
	}

static struct bench_variant variants[] = {
	{.name = "send-1-1", .run = run_send, .ctx = SEND(0, 0), .ticks = &ticks},
	{.name = "send-1-1k", .run = run_send, .ctx = SEND(0, 1), .ticks = &ticks},
	{.name = "send-1-1m", .run = run_send, .ctx = SEND(0, 2), .ticks = &ticks},
	{.name = "send-1k-1", .run = run_send, .ctx = SEND(N_NEAR - 1, 0), .ticks = &ticks},
	{.name = "send-1k-1k", .run = run_send, .ctx = SEND(N_NEAR - 1, 1), .ticks = &ticks},
	{.name = "send-1k-1m", .run = run_send, .ctx = SEND(N_NEAR - 1, 2), .ticks = &ticks},
	{.name = "send-1m-1", .run = run_send, .ctx = SEND(N_DEST - 1, 0), .ticks = &ticks},
	{.name = "send-1m-1k", .run = run_send, .ctx = SEND(N_DEST - 1, 1), .ticks = &ticks},
	{.name = "send-1m-1m", .run = run_send, .ctx = SEND(N_DEST - 1, 2), .ticks = &ticks},
	ALONE("cache-lcore-1", LCORE, 0, NULL),
	ALONE("cache-counted-1", COUNTED, 0, "cache-lcore-1"),
	ALONE("cache-locked-1", LOCKED, 0, "cache-lcore-1"),
	ALONE("cache-lcore-1k", LCORE, N_NEAR - 1, NULL),
	ALONE("cache-counted-1k", COUNTED, N_NEAR - 1, "cache-lcore-1k"),
	ALONE("cache-locked-1k", LOCKED, N_NEAR - 1, "cache-lcore-1k"),
	TWO("cache-lcore-1-two", LCORE, 0, NULL),
	TWO("cache-counted-1-two", COUNTED, 0, "cache-lcore-1-two"),
	TWO("cache-locked-1-two", LOCKED, 0, "cache-lcore-1-two"),
	TWO("cache-lcore-1k-two", LCORE, N_NEAR - 1, NULL),
	TWO("cache-counted-1k-two", COUNTED, N_NEAR - 1, "cache-lcore-1k-two"),
	TWO("cache-locked-1k-two", LOCKED, N_NEAR - 1, "cache-lcore-1k-two"),
};

static const struct bench route = {
	.experiment = "route",
	.unit = "datagram",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 4096,
};

static int
prepare(const struct bench_opts *opts)
{
	dest = malloc(N_DEST * sizeof(dest[0]));
	alt[COUNTED] = route_alt_create(2 * N_NEAR, false);
	alt[LOCKED] = route_alt_create(2 * N_NEAR, true);
	if (dest == NULL || alt[COUNTED] == NULL || alt[LOCKED] == NULL)
		return -1;
	/* In the million prefixes and beside them. */
	for (uint32_t i = 0; i < N_DEST; i++)
		dest[i] = weir_addr_v4(0x20000000u + rnd() % 0x5f000000u, RIG_PEER_PORT);
	for (unsigned int i = 0; i < RTE_DIM(rig); i++)
		if (rig_up(&rig[i], &conf[i], opts) != 0 || add_routes(&rig[i], n_routes[i]) != 0)
			return -1;
	other.cpu = opts->cpu[1];
	if (opts->n_cpus > 1) {
		if (pthread_create(&other.thread, NULL, other_thread, NULL) != 0)
			return -1;
		other.up = true;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	int ret;

	bench_mem_mib = RTE_MAX(bench_mem_mib, 512u);
	ret = bench_begin(&opts, argc, argv);
	if (ret >= 0)
		return ret;
	if (opts.list)
		return bench_run(&opts, &route);
	ret = BENCH_FAILED;
	if (prepare(&opts) == 0)
		ret = bench_run(&opts, &route);
	if (other.up) {
		atomic_store(&other.stop, 1);
		pthread_join(other.thread, NULL);
	}
	for (unsigned int i = 0; i < RTE_DIM(rig); i++)
		if (rig_down(&rig[i]) != 0)
			ret = BENCH_FAILED;
	route_alt_destroy(alt[COUNTED]);
	route_alt_destroy(alt[LOCKED]);
	free(dest);
	return ret;
}
