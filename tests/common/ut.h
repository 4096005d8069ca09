/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every test includes: cmocka in the order that it wants, a few assertions that say more than
 * true or false, random numbers from a printed seed, and the TAP output.
 *
 * A test program is: cases `static void does_this_when_that(void **state)`, an array of
 * cmocka_unit_test() entries, and `int main(void) { return UT_RUN(cases, setup, teardown); }`.
 * Run one case with CMOCKA_TEST_FILTER=name (a glob), repeat a random run with UT_SEED=number.
 */
#ifndef UT_H
#define UT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UT_N(array) (sizeof(array) / sizeof((array)[0]))

/* Fail the case unless cond holds, with a printf-like message that names the row or the numbers. */
#define ut_check(cond, ...)                                                                        \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_error("%s is false: ", #cond);                                       \
			fail_msg(__VA_ARGS__);                                                     \
		}                                                                                  \
	} while (0)

/* Fail the case unless the bytes are equal; prints the first difference. */
#define ut_check_bytes(got, want, len, ...)                                                        \
	do {                                                                                       \
		const size_t at_ = ut_first_difference((got), (want), (len));                      \
		if (at_ < (len)) {                                                                 \
			print_error("byte %zu of %zu: got %02x, want %02x: ", at_, (size_t)(len),  \
				    ((const uint8_t *)(got))[at_],                                 \
				    ((const uint8_t *)(want))[at_]);                               \
			fail_msg(__VA_ARGS__);                                                     \
		}                                                                                  \
	} while (0)

/* Say why and skip the case. The line goes to stdout, where the runner takes the reason from. */
#define ut_skip(...)                                                                               \
	do {                                                                                       \
		printf("skipped: " __VA_ARGS__);                                                   \
		printf("\n");                                                                      \
		fflush(stdout);                                                                    \
		skip();                                                                            \
	} while (0)

/* Run the array of cases; returns what main() returns. */
#define UT_RUN(cases, setup, teardown) (ut_begin(), cmocka_run_group_tests(cases, setup, teardown))

static inline void
ut_begin(void)
{
	/* Whole lines, so that nothing is lost or mixed when a case dies or forks. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	/* CMOCKA_MESSAGE_OUTPUT in the environment wins over this. */
	cmocka_set_message_output(CM_OUTPUT_TAP);
	/* NULL: every case. cmocka 1.1.5 does not read the variable itself. */
	cmocka_set_test_filter(getenv("CMOCKA_TEST_FILTER"));
}

static inline size_t
ut_first_difference(const void *got, const void *want, size_t len)
{
	const uint8_t *g = got, *w = want;
	size_t i;

	for (i = 0; i < len && g[i] == w[i]; i++)
		;
	return i;
}

/* Random numbers for tests: repeatable from one seed, good enough for choosing inputs. */
struct ut_rng {
	uint64_t state;
};

static inline uint64_t
ut_rand(struct ut_rng *rng)
{
	uint64_t z = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	/* splitmix64: an additive counter, mixed. */
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Random number in 0..n-1. */
static inline uint32_t
ut_rand_below(struct ut_rng *rng, uint32_t n)
{
	return (uint32_t)(((ut_rand(rng) >> 32) * n) >> 32);
}

/* A generator from $UT_SEED, or from the time of day; prints the seed, so that a run can be had
 * again. Call it once per case.
 */
static inline struct ut_rng
ut_rng(void)
{
	const char *env = getenv("UT_SEED");
	struct timespec now;
	struct ut_rng rng;

	if (env != NULL) {
		rng.state = strtoull(env, NULL, 0);
	} else {
		clock_gettime(CLOCK_REALTIME, &now);
		rng.state = ((uint64_t)now.tv_sec << 20) ^ (uint64_t)now.tv_nsec;
	}
	printf("# UT_SEED=%" PRIu64 "\n", rng.state);
	return rng;
}

#endif /* UT_H */
