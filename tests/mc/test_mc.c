/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model checker itself: programs whose outcomes under C11 are known, numbers of schedules that can
 * be computed, and its short way through the schedules against the plain one on random programs.
 */
#include "common/ut.h"

#include "litmus.h"
#include "mc.h"

/* ---- outcomes ---- */

static uint64_t outcomes[1 << 16];
static unsigned int n_outcomes;
static unsigned int n_threads;

static void
note(uint64_t outcome)
{
	for (unsigned int i = 0; i < n_outcomes; i++)
		if (outcomes[i] == outcome)
			return;
	assert_true(n_outcomes < UT_N(outcomes));
	outcomes[n_outcomes++] = outcome;
}

static bool
seen(uint64_t outcome)
{
	for (unsigned int i = 0; i < n_outcomes; i++)
		if (outcomes[i] == outcome)
			return true;
	return false;
}

/* All that was read, and what is left: up to 16 numbers of 4 bits. */
static void
note_all(void)
{
	uint64_t outcome = 0;

	for (unsigned int t = 0; t < n_threads; t++)
		for (unsigned int i = 0; i < litmus_n_ops[t]; i++)
			if (litmus_ops[t][i].kind != LIT_STORE)
				outcome = outcome << 4 | litmus_got[t][i];
	for (unsigned int v = 0; v < LITMUS_VARS; v++)
		outcome = outcome << 4 | litmus_value(v);
	note(outcome);
}

/* What the second operation of threads 0 and 1 read. */
static void
note_pair(void)
{
	note(litmus_got[0][1] << 4 | litmus_got[1][1]);
}

static struct mc_result
run(struct mc_prog *prog, enum mc_mode mode, unsigned int stale)
{
	struct mc_result r;

	prog->mode = mode;
	prog->preemptions = UINT32_MAX;
	prog->stale = stale;
	n_outcomes = 0;
	n_threads = prog->n_threads;
	r = mc_run(prog, false);
	if (r.fault == MC_OK)
		assert_true(r.complete);
	return r;
}

static void
op(unsigned int thread, enum litmus_kind kind, enum litmus_order order, unsigned int var,
   unsigned int value)
{
	litmus_ops[thread][litmus_n_ops[thread]++] = (struct litmus_op){kind, order, var, value};
}

static void
clear(void)
{
	memset(litmus_ops, 0, sizeof(litmus_ops));
	memset(litmus_n_ops, 0, sizeof(litmus_n_ops));
}

/* ---- numbers of schedules ---- */

static void
independent_steps_have_one_order(void **state)
{
	struct mc_prog prog;
	struct mc_result r;

	(void)state;
	clear();
	for (unsigned int t = 0; t < 3; t++)
		for (unsigned int i = 0; i < 4; i++)
			op(t, LIT_STORE, LIT_RELAXED, t, i);
	litmus_table(&prog, 3);
	r = run(&prog, MC_ALL, 0);
	assert_int_equal(r.runs, 1);
	assert_int_equal(r.cut, 0);
	r = run(&prog, MC_BOUNDED, 0);
	assert_int_equal(r.runs, 34650); /* 12! / (4!)^3 */
}

static void
dependent_steps_have_every_order(void **state)
{
	struct mc_prog prog;
	struct mc_result r;

	(void)state;
	clear();
	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; i < 4; i++)
			op(t, LIT_ADD, LIT_RELAXED, 0, 1);
	litmus_table(&prog, 2);
	prog.final = note_all;
	r = run(&prog, MC_ALL, 0);
	assert_int_equal(r.runs, 70); /* 8! / (4!)^2 */
	assert_int_equal(n_outcomes, 70);
	/* At most k changes of thread before one has ended: the first's 4 steps fall into pieces. */
	prog.mode = MC_BOUNDED;
	prog.preemptions = 0;
	assert_int_equal(mc_run(&prog, false).runs, 2);
	prog.preemptions = 1;
	assert_int_equal(mc_run(&prog, false).runs, 8);
}

/* ---- weak memory ---- */

static void
store_buffering(void **state)
{
	struct mc_prog prog;

	(void)state;
	for (int order = LIT_RELAXED; order <= LIT_SEQ_CST; order++) {
		clear();
		for (unsigned int t = 0; t < 2; t++) {
			op(t, LIT_STORE, (enum litmus_order)order, t, 1);
			op(t, LIT_LOAD, (enum litmus_order)order, !t, 0);
		}
		litmus_table(&prog, 2);
		prog.final = note_pair;
		run(&prog, MC_ALL, 0);
		assert_int_equal(n_outcomes, 3);
		assert_false(seen(0x00));
		run(&prog, MC_ALL, 2);
		assert_int_equal(seen(0x00), order != LIT_SEQ_CST);
	}
}

static void
message_passing(void **state)
{
	struct mc_prog prog;

	(void)state;
	for (int order = LIT_RELAXED; order <= LIT_SEQ_CST; order++) {
		clear();
		op(0, LIT_STORE, LIT_RELAXED, 0, 1);
		op(0, LIT_STORE, (enum litmus_order)order, 1, 1);
		op(1, LIT_LOAD, (enum litmus_order)order, 1, 0);
		op(1, LIT_LOAD, LIT_RELAXED, 0, 0);
		litmus_table(&prog, 2);
		prog.final = note_all;
		run(&prog, MC_ALL, 2);
		/* flag seen, data not: only when relaxed. Numbers: flag, data, then what is left. */
		assert_int_equal(seen(0x10110), order == LIT_RELAXED);
		assert_true(seen(0x11110));
		assert_true(seen(0x00110));
		assert_true(seen(0x01110));
	}
}

static void
an_object_never_goes_back(void **state)
{
	struct mc_prog prog;

	(void)state;
	clear();
	op(0, LIT_STORE, LIT_RELAXED, 0, 1);
	op(0, LIT_STORE, LIT_RELAXED, 0, 2);
	op(1, LIT_LOAD, LIT_RELAXED, 0, 0);
	op(1, LIT_LOAD, LIT_RELAXED, 0, 0);
	litmus_table(&prog, 2);
	prog.final = note_all;
	run(&prog, MC_ALL, 4);
	assert_int_equal(n_outcomes, 6);
	assert_false(seen(0x10200));
	assert_false(seen(0x20200));
	assert_false(seen(0x21200));
	run(&prog, MC_ALL, 0);
	assert_int_equal(n_outcomes, 6);
}

/* ---- races, locks ---- */

static void
plain_data_need_release_and_acquire(void **state)
{
	struct mc_prog prog;

	(void)state;
	for (int how = HAND_RELEASE; how <= HAND_NO_ACQUIRE; how++) {
		enum mc_fault want = how == HAND_RELEASE || how == HAND_FENCES ? MC_OK : MC_RACE;

		litmus_hand_over(&prog, (enum litmus_hand)how);
		for (unsigned int stale = 0; stale < 2; stale++) {
			assert_int_equal(run(&prog, MC_ALL, stale).fault, want);
			assert_int_equal(run(&prog, MC_BOUNDED, stale).fault, want);
		}
	}
}

static void
locks_order_what_they_protect(void **state)
{
	static const unsigned int orders[] = {1, 1, 2, 6, 24};
	struct mc_prog prog;
	struct mc_result r;

	(void)state;
	for (unsigned int n = 2; n <= 4; n++) {
		litmus_lock(&prog, n, false);
		r = run(&prog, MC_ALL, 0);
		assert_int_equal(r.fault, MC_OK);
		assert_int_equal(r.runs, orders[n]);
		litmus_lock(&prog, n, true);
		assert_int_equal(run(&prog, MC_ALL, 0).fault, MC_RACE);
	}
	litmus_lock(&prog, 2, false);
	prog.spin = 1; /* the waiting loop is run, too */
	for (unsigned int stale = 0; stale < 2; stale++) {
		assert_int_equal(run(&prog, MC_ALL, stale).fault, MC_OK);
		assert_int_equal(run(&prog, MC_BOUNDED, stale).fault, MC_OK);
	}
}

static void
deadlocks_are_found(void **state)
{
	struct mc_prog prog;

	(void)state;
	litmus_deadlock(&prog);
	assert_int_equal(run(&prog, MC_ALL, 0).fault, MC_DEADLOCK);
	assert_int_equal(run(&prog, MC_BOUNDED, 0).fault, MC_DEADLOCK);
	prog.preemptions = 0;
	prog.mode = MC_BOUNDED;
	assert_int_equal(mc_run(&prog, false).fault, MC_OK); /* takes one preemption */
}

/* ---- the short way misses nothing ---- */

static int
by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
the_short_way_sees_all_outcomes(void **state)
{
	static uint64_t plain[UT_N(outcomes)];
	struct ut_rng rng = ut_rng();
	uint64_t runs[2] = {0, 0};

	(void)state;
	for (unsigned int round = 0; round < 400; round++) {
		unsigned int stale = ut_rand_below(&rng, 3);
		unsigned int threads = 2 + ut_rand_below(&rng, 2);
		unsigned int n_plain;
		struct mc_prog prog;

		clear();
		for (unsigned int t = 0; t < threads; t++)
			for (unsigned int i = 0; i < (threads == 2 ? 4 : 3); i++)
				op(t, (enum litmus_kind)ut_rand_below(&rng, 4),
				   (enum litmus_order)ut_rand_below(&rng, 3),
				   ut_rand_below(&rng, LITMUS_VARS), 1 + ut_rand_below(&rng, 3));
		litmus_table(&prog, threads);
		prog.final = note_all;
		prog.spin = 100; /* an exchange here is no lock */
		runs[0] += run(&prog, MC_BOUNDED, stale).runs;
		n_plain = n_outcomes;
		memcpy(plain, outcomes, n_outcomes * sizeof(plain[0]));
		runs[1] += run(&prog, MC_ALL, stale).runs;
		qsort(plain, n_plain, sizeof(plain[0]), by_value);
		qsort(outcomes, n_outcomes, sizeof(outcomes[0]), by_value);
		ut_check(n_plain == n_outcomes, "round %u: %u outcomes instead of %u", round,
			 n_outcomes, n_plain);
		assert_memory_equal(plain, outcomes, n_plain * sizeof(plain[0]));
	}
	printf("# %" PRIu64 " runs instead of %" PRIu64 "\n", runs[1], runs[0]);
	assert_true(runs[1] * 3 < runs[0]);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(independent_steps_have_one_order),
		cmocka_unit_test(dependent_steps_have_every_order),
		cmocka_unit_test(store_buffering),
		cmocka_unit_test(message_passing),
		cmocka_unit_test(an_object_never_goes_back),
		cmocka_unit_test(plain_data_need_release_and_acquire),
		cmocka_unit_test(locks_order_what_they_protect),
		cmocka_unit_test(deadlocks_are_found),
		cmocka_unit_test(the_short_way_sees_all_outcomes),
	};

	return UT_RUN(cases, NULL, NULL);
}
