/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recvq.c under the model checker: every program of recvq_prog.c, every way that is not slow; with the
 * argument "long" the slow ones too. Each line says how much was explored: all schedules ("all", up to the
 * order of independent steps) or those with at most so many preemptions, and how many loads of each thread
 * might return an old value.
 *
 * Built once more with each mistake of make-mistake in recvq.c: then one of the programs has to fail.
 */
#include "common/ut.h"

#include "recvq_prog.h"

#ifndef BROKEN

#define SECONDS_LONG 60 /* of one way; what was not finished is said */

static bool long_run;

static void
describe(const struct rq_prog *p, unsigned int k, const struct mc_result *r)
{
	const struct rq_how *how = &p->how[k];
	char bound[40] = "all";

	if (how->mode == MC_BOUNDED)
		snprintf(bound, sizeof(bound), "%u preemptions", how->preemptions);
	printf("# %s, %u old values: %" PRIu64 " schedules (%" PRIu64 " cut), %u steps deep, "
	       "%.1f s%s%s\n",
	       bound, how->stale, r->runs, r->cut, r->depth, r->seconds,
	       r->complete ? "" : ", not finished", r->fault != MC_OK ? ", FAILED" : "");
}

static void
one_program(void **state)
{
	const struct rq_prog *p = *state;

	for (unsigned int k = 0; k < UT_N(p->how) && p->how[k].mode != 0; k++) {
		struct mc_result r;

		if (p->how[k].slow && !long_run)
			continue;
		r = rq_run(p, k, long_run ? SECONDS_LONG : 0, true);
		describe(p, k, &r);
		ut_check(r.fault == MC_OK, "%s: %s", mc_fault_name(r.fault), r.text);
		assert_true(r.complete || long_run);
	}
}

int
main(int argc, char **argv)
{
	struct CMUnitTest cases[32] = {{0}};
	unsigned int n = 0;

	long_run = argc == 2 && strcmp(argv[1], "long") == 0;
	for (unsigned int i = 0; i < rq_n_progs; i++) {
		bool any = long_run;

		for (unsigned int k = 0; k < UT_N(rq_progs[i].how); k++)
			any = any || (rq_progs[i].how[k].mode != 0 && !rq_progs[i].how[k].slow);
		if (any)
			cases[n++] = (struct CMUnitTest){
				.name = rq_progs[i].name,
				.test_func = one_program,
				.initial_state = (void *)(uintptr_t)&rq_progs[i],
			};
	}
	ut_begin();
	return _cmocka_run_group_tests("recvq", cases, n, NULL, NULL);
}

#else

extern const char mc_mistake_name[], mc_mistake_what[], mc_mistake_problem[];

static void
the_mistake_is_found(void **state)
{
	(void)state;
	printf("# %s: %s\n", mc_mistake_name, mc_mistake_what);
	ut_check(mc_mistake_problem[0] == '\0', "bring make-mistake up to date: %s",
		 mc_mistake_problem);
	for (unsigned int i = 0; i < rq_n_progs; i++) {
		for (unsigned int k = 0; rq_progs[i].how[k].mode == MC_ALL; k++) {
			struct mc_result r;

			if (rq_progs[i].how[k].slow)
				continue;
			r = rq_run(&rq_progs[i], k, 0, false);
			if (r.fault == MC_OK)
				continue;
			assert_int_not_equal(r.fault, MC_LIMIT);
			printf("# found by '%s' in schedule %" PRIu64 ": %s: %s\n",
			       rq_progs[i].name, r.runs + 1, mc_fault_name(r.fault), r.text);
			return;
		}
	}
	fail_msg("not found");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {cmocka_unit_test(the_mistake_is_found)};

	return UT_RUN(cases, NULL, NULL);
}

#endif
