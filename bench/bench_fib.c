/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routing tables: the product's beside DPDK's, both families, 1 to 1,000,000 routes.
 *
 *   weir     weir_fib_lookup(): the trie of trie.c and the choice among the routes of the prefix
 *   fib      rte_fib, dir24_8 with 4-byte next hops; rte_fib6, trie; bulks of one, for that is how a
 *            route cache misses
 *   lpm      rte_lpm; rte_lpm6
 *
 * NAME-N-DESTINATIONS: N routes, with a default route among them; far: a million destinations at random, near: 64
 * of them again and again. Every lookup waits for the one before it, as a miss of the route cache is one lookup in
 * the midst of other work; a loop of independent ones would hide the memory's latency.
 *
 * After the table of times comes one of memory, time to build, and what taking a route out and putting it in again
 * costs as two changes of their own. rte_lpm_add() searches all rules of the same length: a million would take it
 * minutes, so that lpm ends at 100,000.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_lpm.h>
#include <rte_lpm6.h>
#include <rte_malloc.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include "control_state.h"
#include "fib.h"
#include "harness.h"
#include "rcu.h"
#include "trie.h"

#define N_DST    (1u << 20)
#define N_NEAR   64
#define N_UPDATE 2000
#define N_HOPS   16

struct prefix {
	union weir_ip ip;
	uint8_t bits;
};

/* One size of one family: what every table is filled with. */
struct set {
	uint8_t family;
	uint32_t n;
	struct prefix *p;
	union weir_ip *dst; /* N_DST */
};

struct facts {
	size_t bytes;
	double build_s, update_ns;
};

enum engine { WEIR, FIB, LPM, N_ENGINES };

struct table {
	enum engine engine;
	struct set *set;
	bool made;
	struct facts facts;
	struct weir_stack *stack;
	struct rte_fib *fib;
	struct rte_fib6 *fib6;
	struct rte_lpm *lpm;
	struct rte_lpm6 *lpm6;
};

struct run {
	struct table *table;
	uint32_t mask; /* of the number of a destination */
};

static uint64_t seed = 88172645463325252u;
static struct weir_port port = {.index = 0, .mtu = 1500, .link_up = true};

static uint32_t
rnd(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(((seed >> 32) * n) >> 32);
}

/* ---- routes and destinations ---- */

/* Lengths in per mille, about what the default-free zone has; longest last. */
struct share {
	uint8_t bits;
	uint16_t per_mille;
};
static const struct share shares4[] = {
	{12, 2},  {14, 3},  {15, 4},   {16, 14},  {17, 8},   {18, 14}, {19, 26},
	{20, 46}, {21, 54}, {22, 116}, {23, 103}, {24, 606}, {28, 1},  {32, 3},
};
static const struct share shares6[] = {
	{28, 5},  {29, 20},  {32, 130}, {36, 40},  {38, 20}, {40, 100},
	{42, 20}, {44, 110}, {46, 40},  {48, 500}, {64, 10}, {128, 5},
};

static uint8_t
random_bits(uint8_t family)
{
	const struct share *s = family == WEIR_IPV4 ? shares4 : shares6;
	uint32_t at = rnd(1000);

	while (at >= s->per_mille) {
		at -= s->per_mille;
		s++;
	}
	return s->bits;
}

static void
random_host(union weir_ip *ip, uint8_t family, unsigned int bits)
{
	unsigned int n = family == WEIR_IPV4 ? 32 : 128;

	for (unsigned int i = bits; i < n; i++)
		if (rnd(2) != 0)
			ip->b[i / 8] |= (uint8_t)(0x80 >> i % 8);
}

static void
mask_ip(union weir_ip *ip, unsigned int bits)
{
	for (unsigned int i = bits; i < 128; i++)
		ip->b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

/* IPv6: 2000::/3, within some 20,000 allocations of 32 bits. */
static struct prefix
random_prefix(uint8_t family)
{
	struct prefix p = {.ip = {.w = {0, 0}}, .bits = random_bits(family)};
	uint32_t top;

	if (family == WEIR_IPV4) {
		p.ip.v4 = rte_cpu_to_be_32((1 + rnd(222)) << 24 | rnd(1 << 24));
	} else {
		top = UINT32_C(0x20000000) + rnd(20000) * UINT32_C(2654435761) % (1u << 28);
		random_host(&p.ip, family, 32);
		memcpy(p.ip.b, &(uint32_t){rte_cpu_to_be_32(top)}, 4);
	}
	mask_ip(&p.ip, p.bits);
	return p;
}

static struct weir_trie_key
key_of(const union weir_ip *ip, uint8_t family)
{
	if (family == WEIR_IPV4)
		return (struct weir_trie_key){(uint64_t)rte_be_to_cpu_32(ip->v4) << 32, 0};
	return (struct weir_trie_key){rte_be_to_cpu_64(ip->w[0]), rte_be_to_cpu_64(ip->w[1])};
}

/* The default route and n - 1 different ones; destinations in them. */
static int
make_set(struct set *s)
{
	struct weir_trie seen = {0};
	struct weir_trie_edit ed = {.serial = 1};

	if (s->p != NULL)
		return 0;
	s->p = calloc(s->n, sizeof(*s->p));
	s->dst = calloc(N_DST, sizeof(*s->dst));
	if (s->p == NULL || s->dst == NULL)
		return -1;
	for (uint32_t i = 1; i < s->n;) {
		struct prefix p = random_prefix(s->family);
		struct weir_trie_key key = key_of(&p.ip, s->family);

		if (weir_trie_get(&seen, &key, p.bits) != NULL)
			continue;
		if (!weir_trie_set(&seen, &ed, &key, p.bits, s))
			return -1;
		s->p[i++] = p;
	}
	weir_trie_destroy(&seen);
	free(ed.old);
	for (uint32_t i = 0; i < N_DST; i++) {
		const struct prefix *p = &s->p[s->n == 1 ? 0 : 1 + rnd(s->n - 1)];

		s->dst[i] = p->ip;
		random_host(&s->dst[i], s->family, p->bits);
	}
	return 0;
}

/* ---- the tables ---- */

static size_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;
	size_t sum = 0;

	for (unsigned int i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			sum += stats.heap_allocsz_bytes;
	return sum;
}

static struct weir_route
route_of(const struct table *t, uint32_t i, struct weir_nexthop *hop)
{
	struct weir_route r = {
		.prefix = t->set->p[i].ip,
		.family = t->set->family,
		.bits = t->set->p[i].bits,
		.hop = hop,
		.n_hops = 1,
	};

	memset(hop, 0, sizeof(*hop));
	hop->port = &port;
	hop->has_gateway = true;
	hop->gateway.b[3] = (uint8_t)(1 + i % N_HOPS);
	return r;
}

static int
weir_change(struct table *t, uint32_t first, uint32_t last, bool add)
{
	struct weir_fib_txn *txn;
	int ret = 0;

	weir_ctl_lock(t->stack);
	txn = weir_fib_begin(t->stack);
	for (uint32_t i = first; txn != NULL && i < last && ret == 0; i++) {
		struct weir_nexthop hop;
		struct weir_route r = route_of(t, i, &hop);

		ret = add ? weir_fib_add(txn, &r) : weir_fib_del(txn, &r);
	}
	if (txn != NULL)
		weir_fib_commit(txn);
	weir_rcu_reclaim(t->stack, false);
	weir_ctl_unlock(t->stack);
	return txn == NULL ? -1 : ret;
}

static int
make_weir(struct table *t)
{
	struct weir_stack_conf conf;
	struct weir_error err;
	static unsigned int n;
	char name[16];

	snprintf(name, sizeof(name), "fib%u", n++);
	weir_stack_conf_init(&conf);
	conf.name = name;
	if (weir_stack_create(&conf, &t->stack, &err) != 0) {
		fprintf(stderr, "bench: %s\n", err.text);
		return -1;
	}
	return weir_change(t, 0, t->set->n, true);
}

static int
fib_change(struct table *t, uint32_t first, uint32_t last, bool add)
{
	int ret = 0;

	for (uint32_t i = first; i < last && ret == 0; i++) {
		const struct prefix *p = &t->set->p[i];
		const uint32_t ip = rte_be_to_cpu_32(p->ip.v4);
		const uint32_t hop = 1 + i % N_HOPS;

		if (t->fib != NULL)
			ret = add ? rte_fib_add(t->fib, ip, p->bits, hop)
				  : rte_fib_delete(t->fib, ip, p->bits);
		else if (t->fib6 != NULL)
			ret = add ? rte_fib6_add(t->fib6, p->ip.b, p->bits, hop)
				  : rte_fib6_delete(t->fib6, p->ip.b, p->bits);
		else if (t->lpm != NULL && p->bits > 0) /* it has no default route */
			ret = add ? rte_lpm_add(t->lpm, ip, p->bits, hop)
				  : rte_lpm_delete(t->lpm, ip, p->bits);
		else if (t->lpm6 != NULL && p->bits > 0)
			ret = add ? rte_lpm6_add(t->lpm6, p->ip.b, p->bits, hop)
				  : rte_lpm6_delete(t->lpm6, p->ip.b, p->bits);
	}
	return ret;
}

static int
make_dpdk(struct table *t)
{
	static unsigned int n;
	const bool v6 = t->set->family == WEIR_IPV6;
	/* Groups of 256 for what is longer than 24 bits: enough for what the sets need. */
	const uint32_t tbl8 =
		v6 ? RTE_MIN(t->set->n * 8 + 64, UINT32_C(1) << 20) : t->set->n / 64 + 256;
	char name[16];

	snprintf(name, sizeof(name), "f%u", n++);
	if (t->engine == FIB && !v6) {
		struct rte_fib_conf conf = {
			.type = RTE_FIB_DIR24_8,
			.max_routes = (int)t->set->n + 64,
			.dir24_8 = {.nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = tbl8},
		};
		t->fib = rte_fib_create(name, SOCKET_ID_ANY, &conf);
	} else if (t->engine == FIB) {
		struct rte_fib6_conf conf = {
			.type = RTE_FIB6_TRIE,
			.max_routes = (int)t->set->n + 64,
			.trie = {.nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = tbl8},
		};
		t->fib6 = rte_fib6_create(name, SOCKET_ID_ANY, &conf);
	} else if (!v6) {
		struct rte_lpm_config conf = {.max_rules = t->set->n + 64, .number_tbl8s = tbl8};
		t->lpm = rte_lpm_create(name, SOCKET_ID_ANY, &conf);
	} else {
		struct rte_lpm6_config conf = {
			.max_rules = t->set->n + 64,
			.number_tbl8s = RTE_MIN(tbl8, UINT32_C(1) << 20),
		};
		t->lpm6 = rte_lpm6_create(name, SOCKET_ID_ANY, &conf);
	}
	if (t->fib == NULL && t->fib6 == NULL && t->lpm == NULL && t->lpm6 == NULL) {
		fprintf(stderr, "bench: no table for %u routes: %s\n", t->set->n,
			rte_strerror(rte_errno));
		return -1;
	}
	return fib_change(t, 0, t->set->n, true);
}

static int
change(struct table *t, uint32_t first, uint32_t last, bool add)
{
	return t->engine == WEIR ? weir_change(t, first, last, add)
				 : fib_change(t, first, last, add);
}

static int
make(struct table *t)
{
	const double hz = (double)rte_get_tsc_hz();
	uint32_t updates = RTE_MIN(t->set->n, (uint32_t)N_UPDATE);
	size_t before;
	uint64_t start;
	int ret;

	if (t->made)
		return 0;
	if (make_set(t->set) != 0)
		return -1;
	before = heap_bytes();
	start = rte_rdtsc();
	ret = t->engine == WEIR ? make_weir(t) : make_dpdk(t);
	if (ret != 0) {
		fprintf(stderr, "bench: %u routes do not fit: %d\n", t->set->n, ret);
		return -1;
	}
	t->facts.build_s = (double)(rte_rdtsc() - start) / hz;
	t->facts.bytes = t->engine == WEIR ? weir_fib_memory(t->stack) : heap_bytes() - before;
	start = rte_rdtsc();
	for (uint32_t i = 0; i < updates && ret == 0; i++) {
		uint32_t which = (uint32_t)((uint64_t)i * t->set->n / updates);

		ret = change(t, which, which + 1, false);
		if (ret == 0)
			ret = change(t, which, which + 1, true);
	}
	t->facts.update_ns = (double)(rte_rdtsc() - start) / hz * 1e9 / updates / 2;
	t->made = true;
	return ret;
}

/* ---- lookups ---- */

/* The next destination is not known before the last answer. */
static inline uint32_t
after(uint32_t i, uintptr_t answer)
{
	uint32_t zero;

	__asm__ volatile("xor %0, %0\n\tand %k1, %0" : "=&r"(zero) : "r"(answer));
	return i + 1 + zero;
}

static void
run(void *ctx, uint64_t n)
{
	struct run *r = ctx;
	const struct table *t = r->table;
	const union weir_ip *dst = t->set->dst;
	static uint32_t i; /* goes on from sample to sample */

	switch (t->engine) {
	case WEIR:
		for (; n > 0; n--)
			i = after(i, (uintptr_t)weir_fib_lookup(t->stack, &dst[i & r->mask],
								t->set->family, NULL, -1));
		break;
	case FIB:
		for (; n > 0; n--) {
			uint64_t hop = 0;

			if (t->fib != NULL) {
				uint32_t ip = rte_be_to_cpu_32(dst[i & r->mask].v4);

				rte_fib_lookup_bulk(t->fib, &ip, &hop, 1);
			} else {
				uint8_t ip[1][RTE_FIB6_IPV6_ADDR_SIZE];

				memcpy(ip, dst[i & r->mask].b, sizeof(ip));
				rte_fib6_lookup_bulk(t->fib6, ip, &hop, 1);
			}
			i = after(i, (uintptr_t)hop);
		}
		break;
	default: /* LPM */
		for (; n > 0; n--) {
			uint32_t hop = 0;

			if (t->lpm != NULL)
				rte_lpm_lookup(t->lpm, rte_be_to_cpu_32(dst[i & r->mask].v4), &hop);
			else
				rte_lpm6_lookup(t->lpm6, dst[i & r->mask].b, &hop);
			i = after(i, (uintptr_t)hop);
		}
		break;
	}
}

static int
setup(void *ctx)
{
	struct run *r = ctx;

	return make(r->table);
}

#define SET(name_, family_, n_) static struct set name_ = {.family = family_, .n = n_}
SET(set4_1, WEIR_IPV4, 1);
SET(set4_10, WEIR_IPV4, 10);
SET(set4_1k, WEIR_IPV4, 1000);
SET(set4_100k, WEIR_IPV4, 100000);
SET(set4_1m, WEIR_IPV4, 1000000);
SET(set6_1, WEIR_IPV6, 1);
SET(set6_10, WEIR_IPV6, 10);
SET(set6_1k, WEIR_IPV6, 1000);
SET(set6_200k, WEIR_IPV6, 200000);

enum { T_1, T_10, T_1K, T_100K, T_1M, T6_1, T6_10, T6_1K, T6_200K, N_SETS };
static struct set *const sets[N_SETS] = {
	&set4_1, &set4_10, &set4_1k, &set4_100k, &set4_1m, &set6_1, &set6_10, &set6_1k, &set6_200k,
};
static const char *const set_names[N_SETS] = {
	"1", "10", "1k", "100k", "1m", "v6-1", "v6-10", "v6-1k", "v6-200k",
};
static const char *const engine_names[] = {"weir", "fib", "lpm"};

static struct table tables[N_ENGINES][N_SETS];
static struct run runs[N_ENGINES][N_SETS][2];
static struct bench_variant variants[N_ENGINES * N_SETS * 2];
static char names[N_ENGINES * N_SETS * 2][24];

/* Every engine's variant is compared with weir's of the same set and destinations. */
static unsigned int
make_variants(void)
{
	unsigned int n = 0;

	for (unsigned int s = 0; s < N_SETS; s++)
		for (unsigned int d = 0; d < 2; d++) {
			unsigned int first = n;

			for (unsigned int e = 0; e < N_ENGINES; e++) {
				struct table *t = &tables[e][s];

				if (e == LPM && s == T_1M)
					continue;
				t->engine = (enum engine)e;
				t->set = sets[s];
				runs[e][s][d] = (struct run){t, d == 0 ? N_DST - 1 : N_NEAR - 1};
				snprintf(names[n], sizeof(names[n]), "%s-%s-%s", engine_names[e],
					 set_names[s], d == 0 ? "far" : "near");
				variants[n] = (struct bench_variant){
					.name = names[n],
					.reference = e == 0 ? NULL : names[first],
					.setup = setup,
					.run = run,
					.ctx = &runs[e][s][d],
				};
				n++;
			}
		}
	return n;
}

static void
print_facts(void)
{
	printf("\n%-14s %12s %14s %12s %14s\n", "table", "MiB", "bytes/route", "build s",
	       "change ns");
	for (unsigned int s = 0; s < N_SETS; s++)
		for (unsigned int e = 0; e < N_ENGINES; e++) {
			const struct table *t = &tables[e][s];

			if (t->made)
				printf("%s-%-9s %12.2f %14.1f %12.3f %14.0f\n", engine_names[e],
				       set_names[s], (double)t->facts.bytes / 1048576,
				       (double)t->facts.bytes / t->set->n, t->facts.build_s,
				       t->facts.update_ns);
		}
}

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	struct bench fib = {
		.experiment = "fib",
		.unit = "lookup",
		.variants = variants,
		.n = 4096,
	};
	int ret;

	fib.n_variants = make_variants();
	bench_mem_mib = 6144;
	ret = bench_begin(&opts, argc, argv);
	if (ret >= 0)
		return ret;
	ret = bench_run(&opts, &fib);
	if (!opts.quiet && !opts.callgrind)
		print_facts();
	return ret;
}
