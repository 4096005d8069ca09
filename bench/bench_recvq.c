/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What should stand between the lcores that deliver to a socket and the thread that reads it: the queues
 * of recvq_alt.h, each under the same load, with real mbufs.
 *
 *   alone-Q        one thread, 32 in, 32 out: what it costs when nobody is in the way
 *   each-Q         the same, but out one at a time
 *   one-Q          a producer and a reader, a CPU each
 *   two-Q          two producers; the second shares the reader's CPU, as a worker that reads does
 *   one-dear-Q     the reader takes its time over each datagram (about 100 ns); so does
 *   two-dear-Q     this one
 *   flood-Q        two producers that never wait, and a reader ten times slower than the second alone: time
 *                  per datagram that is read
 *   offer-Q        the same: time per datagram that the first producer offers, taken or refused
 *
 * A producer writes each mbuf as a driver does, the reader looks into mbuf and payload and checks order
 * and number: a queue that loses is fast and useless.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "lcore.h"
#include "recvq_alt.h"
#include "rig.h"

#define WINDOW     1024 /* mbufs of a producer */
#define FLOOD      512  /* datagrams that fit into the queue in a flood */
#define DEAR_STEPS 100  /* dependent multiplications per datagram */
#define SLICE      3    /* datagrams read for each burst of the second producer in a flood */

static const struct rig_conf conf = {.name = "recvq", .burst = ALT_BURST};
static struct rig rig;
static struct rte_mempool *pool;

enum load { ALONE, EACH, ONE, TWO, ONE_DEAR, TWO_DEAR, FLOOD_TAKE, FLOOD_OFFER };

struct run {
	const struct alt *alt;
	enum load load;
};

/* A producer and what of its datagrams has been read. */
static struct producer {
	struct rte_mbuf *m[WINDOW];
	uint64_t sent, offered, read_seen;
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t read;
} producers[ALT_PRODUCERS];

static const struct alt *alt;
static struct {
	alignas(WEIR_CACHE_LINE) atomic_bool ready, stop, ended;
	uint64_t n; /* to be read, unless the load is FLOOD_OFFER */
	enum load load;
} both;
static uint64_t ticks;

/* ---- both sides ---- */

/* One burst, if there are mbufs for it. Returns how many were taken. */
static inline unsigned int
produce(unsigned int id)
{
	struct producer *p = &producers[id];
	struct rte_mbuf *m[ALT_BURST];
	unsigned int took;

	if (p->sent - p->read_seen + ALT_BURST > WINDOW) {
		p->read_seen = atomic_load_explicit(&p->read, memory_order_acquire);
		if (p->sent - p->read_seen + ALT_BURST > WINDOW)
			return 0;
	}
	for (unsigned int i = 0; i < ALT_BURST; i++) {
		m[i] = p->m[(p->sent + i) % WINDOW];
		m[i]->data_off = RTE_PKTMBUF_HEADROOM;
		m[i]->hash.rss = id;
		m[i]->ol_flags = 0;
		m[i]->pkt_len = 60;
		m[i]->data_len = 60;
		*rte_pktmbuf_mtod(m[i], uint64_t *) = p->sent + i;
	}
	took = alt->put(id, m, ALT_BURST);
	p->sent += took;
	p->offered += ALT_BURST;
	return took;
}

static inline unsigned int
consume(unsigned int n, bool dear)
{
	struct rte_mbuf *m[ALT_BURST];
	uint64_t read[ALT_PRODUCERS];
	unsigned int got = alt->get(m, n);

	if (got == 0)
		return 0;
	for (unsigned int p = 0; p < ALT_PRODUCERS; p++)
		read[p] = atomic_load_explicit(&producers[p].read, memory_order_relaxed);
	for (unsigned int i = 0; i < got; i++) {
		uint64_t number = *rte_pktmbuf_mtod(m[i], uint64_t *);

		if (number != read[m[i]->hash.rss]++)
			abort();
		for (unsigned int k = 0; dear && k < DEAR_STEPS; k++) {
			number = number * 0xd6e8feb86659fd93u ^ (number >> 32);
			__asm__ volatile("" : "+r"(number));
		}
	}
	for (unsigned int p = 0; p < ALT_PRODUCERS; p++)
		atomic_store_explicit(&producers[p].read, read[p], memory_order_release);
	return got;
}

static inline bool
stopped(void)
{
	return atomic_load_explicit(&both.stop, memory_order_relaxed);
}

/* ---- the second CPU: reads, and is the second producer ---- */

static int
other_side(void *arg)
{
	const bool dear = both.load != ONE && both.load != TWO;
	const bool second = both.load != ONE && both.load != ONE_DEAR;
	const bool flood = both.load == FLOOD_TAKE || both.load == FLOOD_OFFER;
	uint64_t got = 0;
	uint64_t t;

	(void)arg;
	atomic_store_explicit(&both.ready, true, memory_order_release);
	while (!stopped() && consume(1, false) == 0)
		rte_pause(); /* until the first one comes */
	t = rte_rdtsc_precise();
	while (both.load == FLOOD_OFFER ? !stopped() : got < both.n) {
		if (second)
			(void)produce(1);
		got += consume(flood ? SLICE : ALT_BURST, dear);
	}
	if (both.load != FLOOD_OFFER)
		ticks = rte_rdtsc_precise() - t;
	atomic_store_explicit(&both.stop, true, memory_order_relaxed);
	atomic_store_explicit(&both.ended, true, memory_order_release);
	return 0;
}

static void
run_across(enum load load, uint64_t n)
{
	uint64_t offered, t;

	both.load = load;
	both.n = n;
	atomic_store(&both.ready, false);
	atomic_store(&both.stop, false);
	atomic_store(&both.ended, false);
	rte_eal_remote_launch(other_side, NULL, 1);
	while (!atomic_load_explicit(&both.ready, memory_order_acquire))
		rte_pause();
	offered = producers[0].offered;
	t = rte_rdtsc_precise();
	while (!stopped()) {
		if (produce(0) == 0 && load != FLOOD_TAKE && load != FLOOD_OFFER)
			rte_pause();
		if (load == FLOOD_OFFER && producers[0].offered - offered >= n) {
			ticks = rte_rdtsc_precise() - t;
			atomic_store_explicit(&both.stop, true, memory_order_relaxed);
		}
	}
	while (!atomic_load_explicit(&both.ended, memory_order_acquire))
		rte_pause();
	rte_eal_wait_lcore(1);
	while (consume(ALT_BURST, false) > 0) /* for the next one an empty queue */
		;
	for (unsigned int p = 0; p < ALT_PRODUCERS; p++)
		if (producers[p].sent != atomic_load(&producers[p].read))
			abort();
}

static void
run(void *ctx, uint64_t n)
{
	const struct run *r = ctx;

	alt = r->alt;
	if (alt->init((uint64_t)(r->load == FLOOD_TAKE || r->load == FLOOD_OFFER ? FLOOD
										 : 2 * WINDOW) *
		      ALT_SIZE) != 0)
		abort();
	if (r->load == ALONE || r->load == EACH) {
		const unsigned int k = r->load == ALONE ? ALT_BURST : 1;

		ticks = rte_rdtsc_precise();
		for (uint64_t done = 0; done < n; done += ALT_BURST) {
			if (produce(0) != ALT_BURST)
				abort();
			for (unsigned int got = 0; got < ALT_BURST; got += k)
				if (consume(k, false) != k)
					abort();
		}
		ticks = rte_rdtsc_precise() - ticks;
	} else {
		run_across(r->load, n);
	}
	if (alt->fini != NULL)
		alt->fini();
}

/* ---- set-up ---- */

#define MAX_RUNS 63
static struct run runs[MAX_RUNS];
static struct bench_variant variants[MAX_RUNS];
static char names[MAX_RUNS][24];
static unsigned int n_variants;

static void
add(enum load load, const char *name, const struct alt *a)
{
	unsigned int i = n_variants++;
	unsigned int reference = i;

	runs[i] = (struct run){a, load};
	snprintf(names[i], sizeof(names[i]), "%s-%s", name, a->name);
	while (runs[reference].load == load && runs[reference].alt != &alt_single32 &&
	       reference > 0)
		reference--;
	variants[i] = (struct bench_variant){
		.name = names[i],
		.reference =
			reference != i && runs[reference].load == load ? names[reference] : NULL,
		.run = run,
		.ctx = &runs[i],
		.flags = load == ALONE || load == EACH ? 0 : BENCH_TWO_CPUS,
		.ticks = &ticks,
	};
}

static void
add_all(void)
{
	static const struct alt *const alts[] = {&alt_single32, &alt_single1, &alt_list,
						 &alt_node,     &alt_lcore,   &alt_ring,
						 &alt_product,  &alt_several};
	static const char *const load_name[] = {"alone",    "each",     "one",   "two",
						"one-dear", "two-dear", "flood", "offer"};

	for (int load = ALONE; load <= FLOOD_OFFER; load++)
		for (unsigned int a = 0; a < RTE_DIM(alts); a++)
			if (load != EACH || alts[a]->put != alt_node.put)
				add((enum load)load, load_name[load], alts[a]);
}

static int
get_mbufs(void)
{
	pool = rte_pktmbuf_pool_create("bench_recvq", 2 * ALT_PRODUCERS * WINDOW - 1, 0, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	for (unsigned int p = 0; pool != NULL && p < ALT_PRODUCERS; p++)
		if (rte_pktmbuf_alloc_bulk(pool, producers[p].m, WINDOW) != 0)
			return -1;
	return pool != NULL ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct bench recvq = {.experiment = "recvq", .unit = "datagram", .n = 8192};
	struct bench_opts opts;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	add_all();
	recvq.variants = variants;
	recvq.n_variants = n_variants;
	if (opts.list)
		return bench_run(&opts, &recvq);
	ret = BENCH_FAILED;
	/* The stack registers what it keeps in mbufs. */
	if (rig_up(&rig, &conf, &opts) == 0 && get_mbufs() == 0)
		ret = bench_run(&opts, &recvq);
	for (unsigned int p = 0; pool != NULL && p < ALT_PRODUCERS; p++)
		rte_pktmbuf_free_bulk(producers[p].m, WINDOW);
	rte_mempool_free(pool);
	if (rig_down(&rig) != 0)
		return BENCH_FAILED;
	return ret;
}
