/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See harness.h. Time is the TSC, in the frequency that EAL found. The kernel's count of involuntary
 * context switches of the process tells when the CPU was taken away; the calibration tells what the
 * kernel does not see: a hypervisor that took it, a neighbour on the memory bus, a colder cache.
 */
#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_version.h>

#ifdef BENCH_HAVE_CALLGRIND
#include <valgrind/callgrind.h>
#endif

/* Given by the build for benchmarks. */
#ifndef BENCH_COMPILER
#define BENCH_COMPILER  "unknown"
#define BENCH_FLAGS     "unknown"
#define BENCH_BUILDTYPE "unknown"
#define BENCH_LIBWEIR   "unknown"
#endif

#define MAX_VARIANTS   64
#define MAX_ROUNDS     1000
#define CAL_ALU_STEPS  15000
#define CAL_WIDE_STEPS 8000
#define CAL_LINES      4096 /* of 64 bytes: half of a small second-level cache */
#define CAL_FIRST      200
#define TRIES_PER_GOOD 60
/* A sample that is longer than a time slice on a busy machine never succeeds. */
#define SAMPLE_NS     250000.0
#define SAMPLE_N_MIN  512
#define SAMPLE_N_STEP 32 /* bursts are whole */

void (*bench_disturb)(void);

/* ---- calibration ---- */

struct line {
	struct line *next;
	uint64_t fill[7];
};

struct calibration {
	uint64_t alu, wide, walk; /* TSC ticks */
};

static struct line cal_lines[CAL_LINES] __attribute__((aligned(64)));
static struct calibration cal_best;

/* One cycle through all lines in an order that no prefetcher follows. */
static void
calibration_init(void)
{
	static uint32_t order[CAL_LINES];
	uint64_t x = 88172645463325252u;

	for (uint32_t i = 0; i < CAL_LINES; i++)
		order[i] = i;
	for (uint32_t i = CAL_LINES - 1; i > 0; i--) {
		uint32_t k, t;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = (uint32_t)(x % (i + 1));
		t = order[i];
		order[i] = order[k];
		order[k] = t;
	}
	for (uint32_t i = 0; i < CAL_LINES; i++)
		cal_lines[order[i]].next = &cal_lines[order[(i + 1) % CAL_LINES]];
	cal_best = (struct calibration){UINT64_MAX, UINT64_MAX, UINT64_MAX};
}

/*
 * As many independent operations as a core can do at once. A hardware thread that shares the core slows
 * this down, and packet work with it, while dependent work and the walk hardly notice.
 */
static uint64_t
wide_work(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
	uint64_t start = rte_rdtsc_precise();

	for (unsigned int i = 0; i < CAL_WIDE_STEPS; i++) {
		a += a >> 3;
		b += b >> 5;
		c += c >> 7;
		d += d >> 11;
		e += e >> 13;
		f += f >> 17;
		g += g >> 19;
		h += h >> 23;
		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g),
				   "+r"(h));
	}
	return rte_rdtsc_precise() - start;
}

static struct calibration
calibrate(void)
{
	struct calibration c;
	const struct line *at = cal_lines;
	uint64_t x = 0x9e3779b97f4a7c15u;
	uint64_t start = rte_rdtsc_precise();

	for (unsigned int i = 0; i < CAL_ALU_STEPS; i++) {
		x = x * 0xd6e8feb86659fd93u ^ (x >> 32);
		__asm__ volatile("" : "+r"(x));
	}
	if (bench_disturb != NULL)
		bench_disturb();
	c.alu = rte_rdtsc_precise() - start;
	c.wide = wide_work();
	/* Twice, and the second time counts: the sample before may have pushed the lines out. */
	for (unsigned int i = 0; i < CAL_LINES; i++)
		at = at->next;
	start = rte_rdtsc_precise();
	for (unsigned int i = 0; i < CAL_LINES; i++)
		at = at->next;
	bench_use(at);
	c.walk = rte_rdtsc_precise() - start;
	if (c.alu < cal_best.alu)
		cal_best.alu = c.alu;
	if (c.wide < cal_best.wide)
		cal_best.wide = c.wide;
	if (c.walk < cal_best.walk)
		cal_best.walk = c.walk;
	return c;
}

/* Memory varies by itself: the walk may deviate three times as much. */
static bool
calibration_ok(const struct calibration *c, unsigned int percent)
{
	return percent == 0 || (c->alu * 100 <= cal_best.alu * (100 + percent) &&
				c->wide * 100 <= cal_best.wide * (100 + percent) &&
				c->walk * 100 <= cal_best.walk * (100 + 3 * percent));
}

static struct calibration
worse(struct calibration a, struct calibration b)
{
	return (struct calibration){
		RTE_MAX(a.alu, b.alu),
		RTE_MAX(a.wide, b.wide),
		RTE_MAX(a.walk, b.walk),
	};
}

/* ---- samples ---- */

struct sample {
	double ns; /* per unit */
	double extra[BENCH_EXTRAS];
	struct calibration cal;
};

struct spread {
	double median, min, max;
};

struct result {
	const struct bench_variant *v;
	const char *name;
	unsigned int factor; /* 2: the copy that works twice */
	uint64_t n;          /* units per sample */
	unsigned int n_good, n_tried, n_switched, n_off;
	struct sample s[MAX_ROUNDS];
	double median, min, max, ratio;
	struct spread extra[BENCH_EXTRAS];
};

static struct result results[MAX_VARIANTS];
static unsigned int n_results;

static uint64_t
switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_nivcsw;
}

static uint64_t
timed_run(const struct result *r, uint64_t n)
{
	uint64_t t = rte_rdtsc_precise();

	r->v->run(r->v->ctx, n);
	t = rte_rdtsc_precise() - t;
	return r->v->ticks != NULL ? *r->v->ticks : t;
}

/* As many units as fit into a sample, at most max. */
static void
choose_n(struct result *r, uint64_t max)
{
	uint64_t best = UINT64_MAX;
	double fit;

	for (unsigned int i = 0; i < 5; i++) {
		uint64_t t = timed_run(r, SAMPLE_N_MIN);

		best = t < best ? t : best;
	}
	fit = SAMPLE_NS * (double)rte_get_tsc_hz() / 1e9 * SAMPLE_N_MIN / (double)best;
	r->n = fit < (double)max ? (uint64_t)fit / SAMPLE_N_STEP * SAMPLE_N_STEP : max;
	if (r->n < SAMPLE_N_MIN)
		r->n = SAMPLE_N_MIN;
}

static void
take_sample(const struct bench_opts *opts, struct result *r)
{
	struct calibration before, after;
	struct sample s;
	uint64_t switched, t;

	before = calibrate();
	r->v->run(r->v->ctx, r->n / 4 + 1); /* warm up: the calibration has the caches now */
	switched = switches();
	t = timed_run(r, r->n * r->factor);
	switched = switches() - switched;
	after = calibrate();
	r->n_tried++;
	s.ns = (double)t * 1e9 / (double)rte_get_tsc_hz() / (double)r->n;
	s.cal = worse(before, after);
	for (unsigned int i = 0; i < BENCH_EXTRAS; i++)
		s.extra[i] = r->v->extra != NULL && r->v->extra[i].metric != NULL
				     ? *r->v->extra[i].value
				     : 0;
	if (switched != 0 && opts->tolerance_percent != 0)
		r->n_switched++;
	else if (!calibration_ok(&s.cal, opts->tolerance_percent))
		r->n_off++;
	else
		r->s[r->n_good++] = s;
}

/* The best calibration may have been found late: what it makes look bad goes. */
static void
recheck(const struct bench_opts *opts, struct result *r)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < r->n_good; i++)
		if (calibration_ok(&r->s[i].cal, opts->tolerance_percent))
			r->s[kept++] = r->s[i];
	r->n_off += r->n_good - kept;
	r->n_good = kept;
}

static bool
enough(const struct bench_opts *opts)
{
	for (unsigned int i = 0; i < n_results; i++)
		if (results[i].n_good < opts->rounds)
			return false;
	return true;
}

/* true: every variant has its samples. */
static bool
measure(const struct bench_opts *opts, uint64_t n)
{
	uint64_t end = rte_rdtsc() + opts->seconds * rte_get_tsc_hz();

	for (unsigned int i = 0; i < CAL_FIRST; i++)
		(void)calibrate();
	for (unsigned int i = 0; i < n_results; i++) {
		if (opts->n != 0)
			results[i].n = n;
		else
			choose_n(&results[i], n);
	}
	for (;;) {
		for (unsigned int i = 0; i < n_results; i++) {
			struct result *r = &results[i];

			if (r->n_good < opts->rounds)
				take_sample(opts, r);
			if (r->n_tried > opts->rounds * TRIES_PER_GOOD || rte_rdtsc() > end)
				return false;
		}
		if (!enough(opts))
			continue;
		for (unsigned int i = 0; i < n_results; i++)
			recheck(opts, &results[i]);
		if (enough(opts))
			return true;
	}
}

static int
by_ns(const void *a, const void *b)
{
	double x = ((const struct sample *)a)->ns;
	double y = ((const struct sample *)b)->ns;

	return x < y ? -1 : x > y;
}

static struct result *
result_of(const char *name)
{
	for (unsigned int i = 0; name != NULL && i < n_results; i++)
		if (strcmp(results[i].name, name) == 0)
			return &results[i];
	return NULL;
}

static int
by_number(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static struct spread
extra_of(const struct result *r, unsigned int which)
{
	double x[MAX_ROUNDS];
	unsigned int k = r->n_good;

	for (unsigned int i = 0; i < k; i++)
		x[i] = r->s[i].extra[which];
	qsort(x, k, sizeof(x[0]), by_number);
	return (struct spread){(x[(k - 1) / 2] + x[k / 2]) / 2, x[0], x[k - 1]};
}

static void
evaluate(void)
{
	for (unsigned int i = 0; i < n_results; i++) {
		struct result *r = &results[i];
		unsigned int k = r->n_good;

		qsort(r->s, k, sizeof(r->s[0]), by_ns);
		r->min = r->s[0].ns;
		r->max = r->s[k - 1].ns;
		r->median = (r->s[(k - 1) / 2].ns + r->s[k / 2].ns) / 2;
		for (unsigned int e = 0; e < BENCH_EXTRAS; e++)
			r->extra[e] = extra_of(r, e);
	}
	for (unsigned int i = 0; i < n_results; i++) {
		const struct result *ref = result_of(results[i].v->reference);

		results[i].ratio = ref != NULL ? results[i].median / ref->median : 0;
	}
}

double
bench_last_min(const char *variant)
{
	const struct result *r = result_of(variant);

	return r != NULL ? r->min : 0;
}

/* ---- reports ---- */

static void
print_table(const struct bench *b)
{
	printf("%s: ns per %s\n", b->experiment, b->unit);
	printf("  %-28s %9s %9s %9s %7s %6s %7s  %s\n", "variant", "median", "min", "max", "spread",
	       "runs", "ratio", "to");
	for (unsigned int i = 0; i < n_results; i++) {
		const struct result *r = &results[i];

		printf("  %-28s %9.2f %9.2f %9.2f %6.1f%% %6u ", r->name, r->median, r->min, r->max,
		       (r->max - r->min) / r->median * 100, r->n_good);
		if (r->ratio > 0)
			printf("%7.3f  %s", r->ratio, r->v->reference);
		else
			printf("%7s", "-");
		for (unsigned int e = 0; r->v->extra != NULL && e < BENCH_EXTRAS; e++)
			if (r->v->extra[e].metric != NULL)
				printf("  %s %.4g %s", r->v->extra[e].metric, r->extra[e].median,
				       r->v->extra[e].unit);
		putchar('\n');
	}
}

static void
print_disturbed(const struct bench_opts *opts, const struct bench *b)
{
	printf("%s: disturbed, no result\n", b->experiment);
	for (unsigned int i = 0; i < n_results; i++) {
		const struct result *r = &results[i];

		printf("  %-28s %u of %u samples good (wanted %u): %u with the CPU taken away, "
		       "%u with the calibration off by more than %u %%\n",
		       r->name, r->n_good, r->n_tried, opts->rounds, r->n_switched, r->n_off,
		       opts->tolerance_percent);
	}
}

static void
json_text(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		if ((unsigned char)*s >= 0x20)
			fputc(*s, f);
	}
	fputc('"', f);
}

static void
json_fact(FILE *f, const char *key, const char *value)
{
	fprintf(f,
		"  {\"experiment\": \"environment\", \"variant\": \"%s\", \"metric\": \"text\", "
		"\"value\": ",
		key);
	json_text(f, value);
	fputs(", \"unit\": \"\", \"min\": null, \"max\": null, \"runs\": 1, \"reference\": null},\n",
	      f);
}

/* One object of the array; the environment has come before the first. */
static void
json_number(FILE *f, const struct bench *b, const struct result *r, const char *metric,
	    const char *unit, struct spread v, const char *reference, bool *first)
{
	fprintf(f,
		"%s  {\"experiment\": \"%s\", \"variant\": \"%s\", \"metric\": \"%s\", "
		"\"value\": %.4f, \"unit\": \"%s\", \"min\": %.4f, \"max\": %.4f, "
		"\"runs\": %u, \"reference\": ",
		*first ? "" : ",\n", b->experiment, r->name, metric, v.median, unit, v.min, v.max,
		r->n_good);
	if (reference != NULL)
		json_text(f, reference);
	else
		fputs("null", f);
	fputc('}', f);
	*first = false;
}

static void
json_result(FILE *f, const struct bench *b, const struct result *r, bool *first)
{
	const struct result *ref = result_of(r->v->reference);
	char unit[64];

	snprintf(unit, sizeof(unit), "ns/%s", b->unit);
	json_number(f, b, r, "time", unit, (struct spread){r->median, r->min, r->max}, NULL, first);
	if (ref != NULL)
		json_number(f, b, r, "ratio", "1",
			    (struct spread){r->ratio, r->min / ref->min, r->max / ref->max},
			    ref->name, first);
	for (unsigned int e = 0; r->v->extra != NULL && e < BENCH_EXTRAS; e++)
		if (r->v->extra[e].metric != NULL)
			json_number(f, b, r, r->v->extra[e].metric, r->v->extra[e].unit,
				    r->extra[e], NULL, first);
}

/* The first line of a /proc file that starts with key, after its colon. */
static void
proc_line(const char *path, const char *key, char *buf, size_t size)
{
	char line[8192];
	FILE *f = fopen(path, "r");

	snprintf(buf, size, "unknown");
	if (f == NULL)
		return;
	while (fgets(line, sizeof(line), f) != NULL) {
		const char *value = strchr(line, ':');

		if (strncmp(line, key, strlen(key)) != 0 || value == NULL)
			continue;
		snprintf(buf, size, "%s", value + 1 + strspn(value + 1, " \t"));
		buf[strcspn(buf, "\n")] = '\0';
		break;
	}
	fclose(f);
}

static void
json_environment(FILE *f, const struct bench_opts *opts, uint64_t n)
{
	char buf[8192];
	struct utsname u;

	proc_line("/proc/cpuinfo", "model name", buf, sizeof(buf));
	json_fact(f, "cpu", buf);
	proc_line("/proc/cpuinfo", "flags", buf, sizeof(buf));
	json_fact(f, "cpu flags", buf);
	snprintf(buf, sizeof(buf), "%" PRIu64, rte_get_tsc_hz());
	json_fact(f, "tsc hz", buf);
	if (uname(&u) == 0) {
		snprintf(buf, sizeof(buf), "%s %s %s", u.sysname, u.release, u.machine);
		json_fact(f, "kernel", buf);
	}
	json_fact(f, "pages", opts->pages);
	json_fact(f, "dpdk", rte_version());
	json_fact(f, "compiler", BENCH_COMPILER);
	json_fact(f, "compiler flags", BENCH_FLAGS);
	json_fact(f, "build type", BENCH_BUILDTYPE);
	json_fact(f, "libweir", BENCH_LIBWEIR);
	json_fact(f, "command line", opts->command);
	snprintf(buf, sizeof(buf),
		 "%u rounds, at most %" PRIu64
		 " per sample, tolerance %u %%, in flight %u, payload %u",
		 opts->rounds, n, opts->tolerance_percent, opts->inflight, opts->payload_bytes);
	json_fact(f, "parameters", buf);
}

static int
write_json(const struct bench_opts *opts, const struct bench *b, uint64_t n)
{
	FILE *f = fopen(opts->json, "w");
	bool failed, first = true;

	if (f == NULL) {
		fprintf(stderr, "bench: --json %s: %s\n", opts->json, strerror(errno));
		return BENCH_FAILED;
	}
	fputs("[\n", f);
	json_environment(f, opts, n);
	for (unsigned int i = 0; i < n_results; i++)
		json_result(f, b, &results[i], &first);
	fputs("\n]\n", f);
	failed = ferror(f) != 0;
	if (fclose(f) != 0 || failed) {
		fprintf(stderr, "bench: --json %s: cannot be written\n", opts->json);
		return BENCH_FAILED;
	}
	return BENCH_OK;
}

/* ---- instruction counts ---- */

#ifdef BENCH_HAVE_CALLGRIND
/* A dump for n and one for 2 n of each variant: their difference is free of set-up. */
static int
count_instructions(const struct bench *b, uint64_t n)
{
	char label[128];

	if (RUNNING_ON_VALGRIND == 0) {
		fprintf(stderr, "bench: --callgrind is for valgrind --tool=callgrind "
				"--instr-atstart=no\n");
		return BENCH_USAGE;
	}
	for (unsigned int i = 0; i < n_results; i++) {
		const struct bench_variant *v = results[i].v;

		if ((v->flags & BENCH_TWO_CPUS) != 0)
			continue;
		v->run(v->ctx, n);
		for (uint64_t times = 1; times <= 2; times++) {
			snprintf(label, sizeof(label), "bench|%s|%s|%" PRIu64, b->experiment,
				 v->name, n * times);
			CALLGRIND_START_INSTRUMENTATION;
			CALLGRIND_ZERO_STATS;
			v->run(v->ctx, n * times);
			CALLGRIND_DUMP_STATS_AT(label);
			CALLGRIND_STOP_INSTRUMENTATION;
		}
	}
	return BENCH_OK;
}
#else
static int
count_instructions(const struct bench *b, uint64_t n)
{
	(void)b;
	(void)n;
	fprintf(stderr, "skipped: built without valgrind/callgrind.h\n");
	return BENCH_SKIPPED;
}
#endif

/* ---- one experiment ---- */

static const struct bench_variant *
variant_of(const struct bench *b, const char *name)
{
	for (unsigned int i = 0; i < b->n_variants; i++)
		if (strcmp(b->variants[i].name, name) == 0)
			return &b->variants[i];
	return NULL;
}

static bool
wanted(const struct bench_opts *opts, const struct bench *b, const struct bench_variant *v)
{
	if ((v->flags & BENCH_TWO_CPUS) != 0 && opts->n_cpus < 2)
		return false;
	for (unsigned int i = 0; i < opts->n_only; i++) {
		const struct bench_variant *only = variant_of(b, opts->only[i]);

		if (only == v || (only != NULL && only->reference != NULL &&
				  strcmp(only->reference, v->name) == 0))
			return true;
	}
	return opts->n_only == 0;
}

static bool
choose(const struct bench_opts *opts, const struct bench *b)
{
	static char twice[64];

	memset(results, 0, sizeof(results));
	n_results = 0;
	for (unsigned int i = 0; i < b->n_variants && n_results < MAX_VARIANTS - 1; i++) {
		const struct bench_variant *v = &b->variants[i];

		if (!wanted(opts, b, v))
			continue;
		results[n_results++] = (struct result){.v = v, .name = v->name, .factor = 1};
		if (opts->twice != NULL && strcmp(opts->twice, v->name) == 0) {
			snprintf(twice, sizeof(twice), "%s-twice", v->name);
			results[n_results++] = (struct result){.v = v, .name = twice, .factor = 2};
		}
	}
	return n_results > 0;
}

int
bench_run(const struct bench_opts *opts, const struct bench *b)
{
	uint64_t n = opts->n != 0 ? opts->n : b->n;
	unsigned int up;
	int ret = BENCH_OK;

	if (opts->list) {
		for (unsigned int i = 0; i < b->n_variants; i++)
			printf("%s %s\n", b->experiment, b->variants[i].name);
		return BENCH_OK;
	}
	for (unsigned int i = 0; i < opts->n_only; i++) {
		if (variant_of(b, opts->only[i]) == NULL) {
			fprintf(stderr, "bench: --variant %s: not one of %s (see --list)\n",
				opts->only[i], b->experiment);
			return BENCH_USAGE;
		}
	}
	if (!choose(opts, b)) {
		printf("skipped: needs a second CPU\n");
		return BENCH_SKIPPED;
	}
	calibration_init();
	for (up = 0; up < n_results && ret == BENCH_OK; up++) {
		const struct result *r = &results[up];

		if (r->factor != 1 || r->v->setup == NULL)
			continue;
		if (r->v->setup(r->v->ctx) != 0) {
			fprintf(stderr, "bench: %s: %s cannot be set up\n", b->experiment, r->name);
			ret = BENCH_FAILED;
		}
	}
	if (ret == BENCH_OK && opts->callgrind) {
		ret = count_instructions(b, n);
	} else if (ret == BENCH_OK && !measure(opts, n)) {
		if (!opts->quiet)
			print_disturbed(opts, b);
		ret = BENCH_DISTURBED;
	} else if (ret == BENCH_OK) {
		evaluate();
		if (!opts->quiet)
			print_table(b);
		if (opts->json != NULL)
			ret = write_json(opts, b, n);
	}
	while (up-- > 0)
		if (results[up].factor == 1 && results[up].v->teardown != NULL)
			results[up].v->teardown(results[up].v->ctx);
	return ret;
}

/* ---- the command line ---- */

void
bench_defaults(struct bench_opts *opts)
{
	cpu_set_t allowed;

	memset(opts, 0, sizeof(*opts));
	opts->rounds = 31;
	opts->tolerance_percent = 10;
	opts->seconds = 120;
	opts->inflight = 512;
	opts->payload_bytes = 18;
	opts->pages = "4k";
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE && opts->n_cpus < 2; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			opts->cpu[opts->n_cpus++] = cpu;
}

static void
usage(const char *program)
{
	printf("Usage: %s [option]...\n"
	       "  --rounds R        good samples of each variant, 1..%u (31)\n"
	       "  --n N             packets per sample (as the benchmark says)\n"
	       "  --tolerance P     reject a sample whose calibration is off by more than P %%;\n"
	       "                    0: reject nothing (10)\n"
	       "  --seconds S       give up as disturbed after S seconds (120)\n"
	       "  --variant NAME    only this one and its reference; may be repeated\n"
	       "  --twice NAME      add a copy of a variant that does its work twice: it must come\n"
	       "                    out slower\n"
	       "  --inflight K      mbufs posted to the port, a multiple of 32, 64..4096 (512)\n"
	       "  --payload B       UDP payload bytes, 0..1472 (18)\n"
	       "  --huge            2 MiB pages instead of 4 KiB pages\n"
	       "  --cpus A[,B]      CPUs to run on (the first two that are allowed)\n"
	       "  --json FILE       write the result\n"
	       "  --callgrind       count instead of measuring; under valgrind\n"
	       "  --list            names of experiments and variants\n",
	       program, MAX_ROUNDS);
}

static bool
number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0' && *out >= min &&
	    *out <= max)
		return true;
	fprintf(stderr, "bench: --%s %s: allowed is %" PRIu64 "..%" PRIu64 "\n", option, text, min,
		max);
	return false;
}

static bool
cpus(struct bench_opts *opts, const char *text)
{
	char rest;
	int got = sscanf(text, "%d,%d%c", &opts->cpu[0], &opts->cpu[1], &rest);

	if (got < 1 || got > 2 || opts->cpu[0] < 0 || (got == 2 && opts->cpu[1] < 0)) {
		fprintf(stderr, "bench: --cpus %s: allowed is A or A,B\n", text);
		return false;
	}
	opts->n_cpus = (unsigned int)got;
	return true;
}

/* What each number may be, and where it goes. */
static bool
numeric_option(struct bench_opts *opts, int c, const char *name, const char *text)
{
	uint64_t x;

	switch (c) {
	case 'r':
		if (!number(name, text, 1, MAX_ROUNDS, &x))
			return false;
		opts->rounds = (unsigned int)x;
		return true;
	case 'n':
		return number(name, text, 1, UINT64_C(1) << 40, &opts->n);
	case 't':
		if (!number(name, text, 0, 1000, &x))
			return false;
		opts->tolerance_percent = (unsigned int)x;
		return true;
	case 's':
		if (!number(name, text, 1, 86400, &x))
			return false;
		opts->seconds = (unsigned int)x;
		return true;
	case 'i':
		if (!number(name, text, 64, 4096, &x))
			return false;
		if (x % 32 != 0) {
			fprintf(stderr, "bench: --inflight %s: allowed is a multiple of 32\n",
				text);
			return false;
		}
		opts->inflight = (unsigned int)x;
		return true;
	default:
		if (!number(name, text, 0, 1472, &x))
			return false;
		opts->payload_bytes = (unsigned int)x;
		return true;
	}
}

static int
read_options(struct bench_opts *opts, int argc, char **argv)
{
	static const struct option known[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"n", required_argument, NULL, 'n'},
		{"tolerance", required_argument, NULL, 't'},
		{"seconds", required_argument, NULL, 's'},
		{"variant", required_argument, NULL, 'v'},
		{"twice", required_argument, NULL, '2'},
		{"inflight", required_argument, NULL, 'i'},
		{"payload", required_argument, NULL, 'p'},
		{"huge", no_argument, NULL, 'H'},
		{"cpus", required_argument, NULL, 'c'},
		{"json", required_argument, NULL, 'j'},
		{"callgrind", no_argument, NULL, 'g'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int index, c;

	while ((c = getopt_long(argc, argv, "h", known, &index)) != -1) {
		switch (c) {
		case 'v':
			if (opts->n_only == RTE_DIM(opts->only))
				return BENCH_USAGE;
			opts->only[opts->n_only++] = optarg;
			break;
		case '2':
			opts->twice = optarg;
			break;
		case 'H':
			opts->huge = true;
			opts->pages = "2m";
			break;
		case 'c':
			if (!cpus(opts, optarg))
				return BENCH_USAGE;
			break;
		case 'j':
			opts->json = optarg;
			break;
		case 'g':
			opts->callgrind = true;
			break;
		case 'l':
			opts->list = true;
			break;
		case 'h':
			usage(argv[0]);
			return BENCH_OK;
		case '?':
			return BENCH_USAGE;
		default:
			if (!numeric_option(opts, c, known[index].name, optarg))
				return BENCH_USAGE;
		}
	}
	if (optind != argc) {
		fprintf(stderr, "bench: %s: not an option (see --help)\n", argv[optind]);
		return BENCH_USAGE;
	}
	return -1;
}

unsigned int bench_mem_mib = 512;

static int
start_eal(const struct bench_opts *opts)
{
	/* EAL takes pointers to writable strings and keeps them. */
	static char text[][24] = {
		"bench", "--no-shconf", "--no-pci", "--no-telemetry", "--log-level", "error", "-m",
		"",      "--lcores",    "",         "--no-huge"};
	char *args[RTE_DIM(text) + 1] = {NULL};
	int n = (int)RTE_DIM(text);

	snprintf(text[7], sizeof(text[7]), "%u", bench_mem_mib);
	if (opts->n_cpus > 1)
		snprintf(text[9], sizeof(text[9]), "0@%d,1@%d", opts->cpu[0], opts->cpu[1]);
	else
		snprintf(text[9], sizeof(text[9]), "0@%d", opts->cpu[0]);
	for (int i = 0; i < n; i++)
		args[i] = text[i];
	if (opts->huge) {
		/* Pages without a name and without a mount point; not to be had with --no-huge. */
		snprintf(text[1], sizeof(text[1]), "--in-memory");
		n--;
	}
	if (rte_eal_init(n, args) < 0) {
		fprintf(stderr, "bench: EAL does not start: %s%s\n", rte_strerror(rte_errno),
			opts->huge ? " (are there enough free pages of 2 MiB?)" : "");
		return BENCH_FAILED;
	}
	return -1;
}

int
bench_begin(struct bench_opts *opts, int argc, char **argv)
{
	size_t len = 0;
	int ret;

	bench_defaults(opts);
	for (int i = 0; i < argc && len < sizeof(opts->command); i++)
		len += (size_t)snprintf(opts->command + len, sizeof(opts->command) - len, "%s%s",
					i > 0 ? " " : "", argv[i]);
	ret = read_options(opts, argc, argv);
	if (ret >= 0)
		return ret;
	return opts->list ? -1 : start_eal(opts);
}
