/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event.c under the model checker, on recvq.c: every program of event_prog.c that is not slow; with the
 * argument "long" all. Built once more with each mistake of make-mistake in event.c: then one has to fail.
 */
#include "common/ut.h"

#include "event_prog.h"

#ifndef BROKEN

#define SECONDS_LONG 120 /* of one program; what was not finished is said */

static bool long_run;

static void
one_program(void **state)
{
	const struct ev_prog *p = *state;
	struct mc_result r = ev_run(p, long_run ? SECONDS_LONG : 0, true);

	printf("# %s, %u old values: %" PRIu64 " schedules (%" PRIu64 " cut), %u steps deep, "
	       "%.1f s%s\n",
	       p->preemptions == 0 ? "all" : "few preemptions", p->stale, r.runs, r.cut, r.depth,
	       r.seconds, r.complete ? "" : ", not finished");
	ut_check(r.fault == MC_OK, "%s: %s", mc_fault_name(r.fault), r.text);
	assert_true(r.complete || long_run);
}

int
main(int argc, char **argv)
{
	struct CMUnitTest cases[32] = {{0}};
	unsigned int n = 0;

	long_run = argc == 2 && strcmp(argv[1], "long") == 0;
	for (unsigned int i = 0; i < ev_n_progs; i++)
		if (!ev_progs[i].slow || long_run)
			cases[n++] = (struct CMUnitTest){
				.name = ev_progs[i].name,
				.test_func = one_program,
				.initial_state = (void *)(uintptr_t)&ev_progs[i],
			};
	ut_begin();
	return _cmocka_run_group_tests("event", cases, n, NULL, NULL);
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
	for (unsigned int i = 0; i < ev_n_progs; i++) {
		struct mc_result r;

		/* Slow ones too, without old values: a mistake is found long before their end. */
		if (ev_progs[i].preemptions != 0 || (ev_progs[i].slow && ev_progs[i].stale != 0))
			continue;
		r = ev_run(&ev_progs[i], 0, false);
		if (r.fault == MC_OK)
			continue;
		assert_int_not_equal(r.fault, MC_LIMIT);
		printf("# found by '%s' in schedule %" PRIu64 ": %s: %s\n", ev_progs[i].name,
		       r.runs + 1, mc_fault_name(r.fault), r.text);
		return;
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
