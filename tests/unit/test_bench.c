/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark harness itself: it sees what is slower, rejects what is disturbed, and gives no number
 * then. Speeds are compared with themselves only, by the best of many samples.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "../../bench/harness.h"
#include "common/ut.h"
#include "common/ut_eal.h"

#define ROUNDS 21

static uint64_t calls;
static unsigned int ups, downs;

static void
work(void *ctx, uint64_t n)
{
	uint64_t x = 1;

	(void)ctx;
	calls++;
	for (uint64_t i = 0; i < n; i++) {
		x = x * 0x9e3779b97f4a7c15u + i;
		__asm__ volatile("" : "+r"(x));
	}
}

static void
work_twice(void *ctx, uint64_t n)
{
	work(ctx, 2 * n);
}

static int
up(void *ctx)
{
	(void)ctx;
	ups++;
	return 0;
}

static void
down(void *ctx)
{
	(void)ctx;
	downs++;
}

static int
refuse(void *ctx)
{
	(void)ctx;
	return -1;
}

static const struct bench_variant variants[] = {
	{.name = "once", .setup = up, .run = work, .teardown = down},
	{.name = "twice", .reference = "once", .setup = up, .run = work_twice, .teardown = down},
};

static const struct bench bench = {
	.experiment = "test",
	.unit = "step",
	.variants = variants,
	.n_variants = UT_N(variants),
	.n = 20000,
};

static struct bench_opts
quick(unsigned int tolerance_percent)
{
	struct bench_opts opts;

	bench_defaults(&opts);
	opts.quiet = true;
	opts.rounds = ROUNDS;
	opts.tolerance_percent = tolerance_percent;
	opts.seconds = 30;
	ups = 0;
	downs = 0;
	return opts;
}

static void
what_works_twice_is_reported_twice_as_slow(void **state)
{
	struct bench_opts opts = quick(0);
	double ratio;

	(void)state;
	assert_int_equal(bench_run(&opts, &bench), BENCH_OK);
	ratio = bench_last_min("twice") / bench_last_min("once");
	ut_check(ratio > 1.7 && ratio < 2.4, "ratio %f", ratio);
	assert_int_equal(ups, 2);
	assert_int_equal(downs, 2);
}

static void
a_copy_that_works_twice_is_slower(void **state)
{
	struct bench_opts opts = quick(0);
	double ratio;

	(void)state;
	opts.twice = "once";
	opts.only[opts.n_only++] = "once";
	assert_int_equal(bench_run(&opts, &bench), BENCH_OK);
	ratio = bench_last_min("once-twice") / bench_last_min("once");
	ut_check(ratio > 1.7 && ratio < 2.4, "ratio %f", ratio);
	assert_true(bench_last_min("twice") == 0);
	assert_int_equal(ups, 1);
}

/* Longer by 0 to 255 times 2 us: no two calibrations agree. */
static void
at_random(void)
{
	static uint64_t x = 88172645463325252u;
	uint64_t end;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	end = rte_rdtsc() + (x & 0xff) * (rte_get_tsc_hz() / 500000);
	while (rte_rdtsc() < end)
		;
}

static void
a_disturbed_run_gives_no_number(void **state)
{
	struct bench_opts opts = quick(5);
	char json[] = "/tmp/weir-bench-XXXXXX";
	int fd = mkstemp(json);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	unlink(json);
	opts.json = json;
	bench_disturb = at_random;
	assert_int_equal(bench_run(&opts, &bench), BENCH_DISTURBED);
	bench_disturb = NULL;
	assert_true(access(json, F_OK) != 0);
	assert_true(bench_last_min("once") == 0);
	assert_int_equal(downs, 2);
}

static void
disturbance_is_what_made_it_disturbed(void **state)
{
	struct bench_opts opts = quick(0);

	(void)state;
	bench_disturb = at_random;
	assert_int_equal(bench_run(&opts, &bench), BENCH_OK);
	bench_disturb = NULL;
	assert_true(bench_last_min("once") > 0);
}

static void
an_unknown_variant_is_refused(void **state)
{
	struct bench_opts opts = quick(0);

	(void)state;
	opts.only[opts.n_only++] = "nothing";
	assert_int_equal(bench_run(&opts, &bench), BENCH_USAGE);
	assert_int_equal(ups, 0);
}

static void
a_failed_set_up_fails_the_run(void **state)
{
	static const struct bench_variant bad[] = {
		{.name = "good", .setup = up, .run = work, .teardown = down},
		{.name = "bad", .setup = refuse, .run = work},
	};
	const struct bench b = {
		.experiment = "bad", .unit = "step", .variants = bad, .n_variants = 2, .n = 1000};
	struct bench_opts opts = quick(0);

	(void)state;
	calls = 0;
	assert_int_equal(bench_run(&opts, &b), BENCH_FAILED);
	assert_int_equal(calls, 0);
	assert_int_equal(downs, 1);
}

/* Each sample is two calls, one to warm up: the numbers of 21 samples are 2 apart. */
static double so_many;

static void
work_and_say(void *ctx, uint64_t n)
{
	work(ctx, n);
	so_many++;
}

static void
a_number_beside_the_time_has_its_median(void **state)
{
	static const struct bench_extra extra[BENCH_EXTRAS] = {{"calls", "times", &so_many}};
	static const struct bench_variant says[] = {
		{.name = "says", .run = work_and_say, .extra = extra},
	};
	const struct bench b = {.experiment = "extra",
				.unit = "step",
				.variants = says,
				.n_variants = 1,
				.n = 1000};
	struct bench_opts opts = quick(0);
	char json[] = "/tmp/weir-bench-XXXXXX";
	double median = 0, min = 0, max = 0;
	int fd = mkstemp(json);
	char line[8192];
	unsigned int n = 0;
	FILE *f;

	(void)state;
	assert_true(fd >= 0);
	opts.json = json;
	assert_int_equal(bench_run(&opts, &b), BENCH_OK);
	f = fdopen(fd, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, "\"metric\": \"calls\"") != NULL)
			n += sscanf(strstr(line, "\"value\""),
				    "\"value\": %lf, \"unit\": \"times\", \"min\": %lf, \"max\": %lf",
				    &median, &min, &max) == 3;
	fclose(f);
	unlink(json);
	ut_check(n == 1 && max - min == 2 * (ROUNDS - 1) && median == (min + max) / 2,
		 "%u times: %f, %f to %f", n, median, min, max);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_works_twice_is_reported_twice_as_slow),
		cmocka_unit_test(a_copy_that_works_twice_is_slower),
		cmocka_unit_test(a_disturbed_run_gives_no_number),
		cmocka_unit_test(disturbance_is_what_made_it_disturbed),
		cmocka_unit_test(an_unknown_variant_is_refused),
		cmocka_unit_test(a_failed_set_up_fails_the_run),
		cmocka_unit_test(a_number_beside_the_time_has_its_median),
	};

	return cmocka_run_group_tests_name("bench", tests, ut_eal_setup, ut_eal_teardown);
}
