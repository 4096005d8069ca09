/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark harness: runs variants of one piece of work in turn, in one process, and says what each
 * costs and how that compares with a reference variant of the same run.
 *
 * How it measures. A round takes one sample of every variant, so that whatever drifts drifts for all.
 * Beside each sample a calibration runs: fixed arithmetic, dependent and wide, and a fixed walk through memory. A
 * sample whose calibration, before or after it, took longer than the best one by more than the
 * tolerance, or during which the kernel took the CPU away, is rejected and repeated. When too many are
 * rejected the run is reported as disturbed (exit code 3) and no number is given.
 *
 * One thread, an EAL lcore; a variant may use a second one (BENCH_TWO_CPUS). A benchmark's main() is
 * bench_begin(), set-up, bench_run(), tear-down, bench_end().
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#define BENCH_OK        0
#define BENCH_FAILED    1
#define BENCH_USAGE     2
#define BENCH_DISTURBED 3
#define BENCH_SKIPPED   77 /* the machine lacks something that was asked for */

enum bench_flag {
	BENCH_TWO_CPUS =
		1, /* needs two CPUs; not counted under callgrind, which runs one at a time */
};

/* A number beside the time, which run() leaves in *value: its median goes into the result. */
struct bench_extra {
	const char *metric, *unit;
	const double *value;
};
#define BENCH_EXTRAS 3

struct bench_variant {
	const char *name;
	const char *reference;              /* variant that this one is compared with; NULL: none */
	int (*setup)(void *ctx);            /* once, before the first sample; may be NULL */
	void (*run)(void *ctx, uint64_t n); /* the work for n packets, or whatever unit says */
	void (*teardown)(void *ctx);        /* once, after the last sample; may be NULL */
	void *ctx;
	unsigned int flags;    /* enum bench_flag */
	const uint64_t *ticks; /* not NULL: run() leaves here what it took, in TSC ticks */
	/* BENCH_EXTRAS of them, the last ones may be empty; may be NULL. */
	const struct bench_extra *extra;
};

struct bench {
	const char *experiment;
	const char *unit; /* what run() does n of: "packet", "lookup", ... */
	const struct bench_variant *variants;
	unsigned int n_variants;
	uint64_t n; /* per sample, unless --n says otherwise; some 100 us are best */
};

/* The command line. Numbers that one benchmark does not use are ignored by it. */
struct bench_opts {
	unsigned int rounds;
	unsigned int tolerance_percent; /* 0: nothing is rejected */
	unsigned int seconds;           /* give up, disturbed, after so many */
	unsigned int inflight;          /* mbufs posted to the port */
	unsigned int payload_bytes;
	uint64_t n;        /* 0: as the benchmark says */
	const char *json;  /* NULL: none */
	const char *twice; /* variant of which a copy does its work twice; NULL: none */
	const char *pages; /* "4k", "2m" */
	bool list, callgrind, huge, quiet;
	unsigned int n_only;
	const char *only[32]; /* variants to run, references are added; n_only 0: all */
	unsigned int n_cpus;
	int cpu[2];
	char command[1024];
};

/* Memory that EAL takes, in MiB: to be set before bench_begin() by those who need more. */
extern unsigned int bench_mem_mib;

/*
 * Read the command line and start EAL: -1, or the exit code when there is nothing (more) to do. Without
 * --huge nothing of the machine is needed.
 */
int bench_begin(struct bench_opts *opts, int argc, char **argv);

/* Measure, print the table, write the JSON file. Returns the exit code. */
int bench_run(const struct bench_opts *opts, const struct bench *bench);

/* Defaults, without a command line and without EAL: for the harness's own test. */
void bench_defaults(struct bench_opts *opts);

/* Called within every calibration when set: how a test disturbs a run. */
extern void (*bench_disturb)(void);

/* What the last bench_run() found for a variant, in ns per unit; 0: nothing. */
double bench_last_min(const char *variant);

/* Make the compiler believe that p's memory is read. */
static inline void
bench_use(const void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

#endif /* BENCH_HARNESS_H */
