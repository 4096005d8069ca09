/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path MTUs that were learned (pmtu.h): what is believed, for how long, and what a flood of forged messages can do.
 */
#include "common/ut_stack.h"

#include <pthread.h>

#include "common/ut_clock.h"
#include "lcore.h"
#include "pmtu.h"

#define LIFE_NS (600 * WEIR_NS_PER_S)

static union weir_ip
ip4(uint32_t host)
{
	union weir_ip ip = {.w = {0, 0}};

	ip.v4 = WIRE_BE32(host);
	return ip;
}

static union weir_ip
ip6(uint64_t host)
{
	union weir_ip ip = {.b = {0x20, 0x01, 0x0d, 0xb8}};

	ip.w[1] = WIRE_BE64(host);
	return ip;
}

/* Learn on worker 0 at the test's time. */
static bool
learn(struct ut_stack *s, union weir_ip dst, uint8_t family, uint32_t mtu, uint32_t sent)
{
	s->w[0]->now_ns = ut_clock_now();
	return weir_pmtu_learn(s->w[0], &dst, family, mtu, sent);
}

/* What is known; + 100000 when it is locked. */
static uint32_t
known(struct ut_stack *s, union weir_ip dst, uint8_t family)
{
	bool lock = true;
	uint32_t mtu = weir_pmtu_get(s->stack, &dst, family, ut_clock_now(), &lock);

	return mtu + (lock ? 100000 : 0);
}

static uint64_t
generation(struct ut_stack *s)
{
	return atomic_load(&s->stack->gen);
}

static void
what_routers_say_is_kept_and_never_goes_up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint64_t gen;

	ut_stack_up(s, &cfg);
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 0);
	gen = generation(s);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1300, 1500));
	assert_int_equal(generation(s), gen + 1); /* caches look again */
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 1300);
	assert_int_equal(known(s, ip4(2), WEIR_IPV4), 0);
	assert_int_equal(known(s, ip4(1), WEIR_IPV6), 0);
	for (uint32_t mtu = 1300; mtu <= 70000; mtu += 100)
		assert_false(learn(s, ip4(1), WEIR_IPV4, mtu, 1500));
	assert_int_equal(generation(s), gen + 1);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1299, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 1299);
	assert_int_equal(generation(s), gen + 2);
	assert_true(learn(s, ip6(1), WEIR_IPV6, 1400, 1500));
	assert_int_equal(known(s, ip6(1), WEIR_IPV6), 1400);
	assert_int_equal(known(s, ip6(1), WEIR_IPV4), 0);
	assert_false(learn(s, ip6(2), WEIR_IPV6, 65536, 1500));
	assert_false(learn(s, ip6(2), WEIR_IPV6, UINT32_MAX, 1500));
	weir_pmtu_flush(s->stack);
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 0);
	assert_int_equal(known(s, ip6(1), WEIR_IPV6), 0);
	assert_int_equal(generation(s), gen + 4);
}

static void
there_is_a_floor(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	/* Less than 552 is taken for 552, and the path for one that fragments (udp-semantics 3.2). */
	assert_true(learn(s, ip4(1), WEIR_IPV4, 68, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 100552);
	assert_false(learn(s, ip4(1), WEIR_IPV4, 1, 1500));
	assert_false(learn(s, ip4(1), WEIR_IPV4, 552, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 100552);
	assert_true(learn(s, ip4(2), WEIR_IPV4, 552, 1500));
	assert_int_equal(known(s, ip4(2), WEIR_IPV4), 552);
	assert_true(learn(s, ip4(2), WEIR_IPV4, 551, 1500));
	assert_int_equal(known(s, ip4(2), WEIR_IPV4), 100552);
	/* RFC 8201 4: less than 1280 is to be discarded. */
	assert_false(learn(s, ip6(1), WEIR_IPV6, 0, 1500));
	assert_false(learn(s, ip6(1), WEIR_IPV6, 1279, 1500));
	assert_int_equal(known(s, ip6(1), WEIR_IPV6), 0);
	assert_true(learn(s, ip6(1), WEIR_IPV6, 1280, 1500));
	assert_false(learn(s, ip6(1), WEIR_IPV6, 600, 1500));
	assert_int_equal(known(s, ip6(1), WEIR_IPV6), 1280);
	ut_stack_down(s);

	cfg.stack.pmtu_min = 68;
	ut_stack_up(s, &cfg);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 300, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 300);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 67, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 100068);
}

/* RFC 1191 7.1 for routers that do not say how much. */
static void
without_a_number_the_next_plateau_is_taken(void **state)
{
	static const struct {
		uint32_t sent, mtu;
	} row[] = {
		{65535, 32000}, {32001, 32000}, {32000, 17914}, {9000, 8166},
		{8166, 4352},   {4352, 2002},   {1500, 1492},   {1493, 1492},
		{1492, 1006},   {1006, 508},    {508, 296},     {297, 296},
		{296, 68},      {69, 68},       {68, 0},        {0, 0},
	};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.stack.pmtu_min = 68;
	ut_stack_up(s, &cfg);
	for (uint32_t i = 0; i < UT_N(row); i++) {
		ut_check(learn(s, ip4(i), WEIR_IPV4, 0, row[i].sent) == (row[i].mtu != 0),
			 "%u bytes", row[i].sent);
		assert_int_equal(known(s, ip4(i), WEIR_IPV4), row[i].mtu);
	}
}

static void
entries_end_after_their_time(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint64_t gen;

	ut_stack_up(s, &cfg);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1300, 1500));
	ut_clock_advance(LIFE_NS / 2);
	/* Said again in the first half of its life: nothing new. In the second it lives on. */
	assert_false(learn(s, ip4(1), WEIR_IPV4, 1300, 1500));
	ut_clock_advance(LIFE_NS / 4);
	assert_false(learn(s, ip4(1), WEIR_IPV4, 1300, 1500));
	assert_true(learn(s, ip4(2), WEIR_IPV4, 1200, 1500));
	ut_clock_advance(LIFE_NS / 2);
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 1300);
	gen = generation(s);
	weir_pmtu_tick(s->stack, ut_clock_now());
	assert_int_equal(generation(s), gen);
	ut_clock_advance(LIFE_NS / 2);
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 0);
	assert_int_equal(known(s, ip4(2), WEIR_IPV4), 0);
	/* Whoever has cached them is told, at most once for each. */
	for (int i = 0; i < 32; i++)
		weir_pmtu_tick(s->stack, ut_clock_now());
	assert_in_range(generation(s) - gen, 1, 2);
	/* Then it may be more than before. */
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1400, 1500));
	ut_clock_advance(LIFE_NS);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1450, 1500)); /* without a tick between */
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 1450);
}

static void
a_clock_that_jumps_does_no_harm(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	ut_clock_set(1000 * LIFE_NS);
	for (uint32_t i = 0; i < 50; i++)
		assert_true(learn(s, ip4(i), WEIR_IPV4, 1300, 1500));
	/* Back: an entry from the future is of no known age. */
	ut_clock_set(WEIR_NS_PER_S);
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 0);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1400, 1500));
	assert_int_equal(known(s, ip4(1), WEIR_IPV4), 1400);
	/* The bucket was not filled by that: 50 were used, one more. */
	for (uint32_t i = 100; i < 149; i++)
		assert_true(learn(s, ip4(i), WEIR_IPV4, 1300, 1500));
	assert_false(learn(s, ip4(200), WEIR_IPV4, 1300, 1500));
	/* Far ahead, to the end of time. */
	ut_clock_set(UINT64_MAX / 2);
	for (int i = 0; i < 16; i++)
		weir_pmtu_tick(s->stack, ut_clock_now());
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(known(s, ip4(i), WEIR_IPV4), 0);
	assert_true(learn(s, ip4(1), WEIR_IPV4, 1400, 1500));
}

/* A million forged messages for as many destinations in ten seconds. */
static void
a_flood_costs_bounded_work(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	uint64_t changes = 0, gen;
	uint32_t left = 0;

	ut_stack_up(s, &cfg);
	for (uint32_t i = 0; i < 20; i++) /* that were learned before */
		assert_true(learn(s, ip6(i), WEIR_IPV6, 1400, 1500));
	gen = generation(s);
	for (uint32_t i = 0; i < 1000000; i++) {
		ut_clock_advance(10000);
		changes += learn(s, ip4(i * 2654435761u), WEIR_IPV4, 600 + i % 800, 1500);
		if (i % 5000 == 0)
			weir_pmtu_tick(s->stack, ut_clock_now());
	}
	for (uint32_t i = 0; i < 20; i++)
		left += known(s, ip6(i), WEIR_IPV6) == 1400;
	print_message("flood: 1000000 messages in 10 s: %" PRIu64 " changes, %" PRIu64
		      " generations, %u of 20 older entries left\n",
		      changes, generation(s) - gen, left);
	assert_in_range(changes, 900, 1100);
	assert_int_equal(generation(s) - gen, changes);
	assert_in_range(left, 8, 20); /* as random displacement would have it */
}

/* How many of n are known, and the oldest of them. */
static uint32_t
survivors(struct ut_stack *s, uint32_t n, uint32_t *oldest)
{
	uint32_t alive = 0;

	for (uint32_t i = n; i-- > 0;) {
		if (known(s, ip4(i), WEIR_IPV4) == 0)
			continue;
		alive++;
		*oldest = i;
	}
	return alive;
}

/*
 * The smallest table, overfull: it stays full, and who has to go nobody can know. Were it the oldest of a set, none of
 * the 400 would be older than some 25; were it always the same place, the first ones would be there for ever.
 */
static void
a_full_table_gives_up_entries_at_random(void **state)
{
	struct ut_stack *s = *state;
	uint32_t oldest = 0, very_oldest = UINT32_MAX;

	for (unsigned int run = 0; run < 4; run++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		uint32_t alive = 0;

		cfg.stack.max_pmtu = 16;
		cfg.stack.seed = 1 + run;
		ut_stack_up(s, &cfg);
		for (uint32_t i = 0; i < 400; i++) {
			ut_clock_advance(20 * WEIR_NS_PER_MS);
			assert_true(learn(s, ip4(i), WEIR_IPV4, 1300, 1500));
			assert_int_equal(known(s, ip4(i), WEIR_IPV4), 1300);
			alive = survivors(s, i + 1, &oldest);
			assert_in_range(alive, 1, 16);
		}
		assert_int_equal(alive, 16);
		ut_stack_down(s);
		very_oldest = oldest < very_oldest ? oldest : very_oldest;
	}
	assert_in_range(very_oldest, 200, 350);
}

/* ---- threads ---- */

#define DESTINATIONS 24
#define ROUNDS       200000

static atomic_bool over;
static atomic_uint n_seen;

/* Every destination has one MTU that is ever said of it. */
static uint16_t
mtu_of(uint32_t i)
{
	return (uint16_t)(600 + i * 7);
}

static void *
writer(void *arg)
{
	struct weir_lcore *lc = arg;
	uint32_t x = (uint32_t)lc->slot + 1;

	for (unsigned int k = 0; k < ROUNDS; k++) {
		union weir_ip dst;

		x = x * 1664525u + 1013904223u;
		dst = ip4((x >> 16) % DESTINATIONS);
		lc->now_ns += 20 * WEIR_NS_PER_MS;
		(void)weir_pmtu_learn(lc, &dst, WEIR_IPV4, mtu_of((x >> 16) % DESTINATIONS), 1500);
		if (k % 64 == 0)
			weir_pmtu_tick(lc->stack, lc->now_ns);
	}
	return NULL;
}

/* At a time at which none of the entries is over. */
static void *
reader(void *arg)
{
	struct weir_stack *stack = arg;
	uintptr_t wrong = 0;

	while (!atomic_load(&over)) {
		for (uint32_t i = 0; i < DESTINATIONS; i++) {
			union weir_ip dst = ip4(i);
			bool lock;
			uint16_t mtu =
				weir_pmtu_get(stack, &dst, WEIR_IPV4, 4100 * WEIR_NS_PER_S, &lock);

			wrong += lock || (mtu != 0 && mtu != mtu_of(i));
			if (mtu != 0)
				atomic_fetch_add_explicit(&n_seen, 1, memory_order_relaxed);
		}
	}
	return (void *)wrong;
}

/* Two writers, two readers, a table that is always too small: nobody sees what was never said. */
static void
readers_see_whole_entries_only(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	pthread_t w[2], r[2];
	void *wrong;

	cfg.stack.max_pmtu = 16;
	cfg.stack.pmtu_expire_ms = 86400000;
	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	atomic_store(&over, false);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&r[i], NULL, reader, s->stack), 0);
		s->w[i]->now_ns = WEIR_NS_PER_S;
		assert_int_equal(pthread_create(&w[i], NULL, writer, s->w[i]), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(w[i], NULL), 0);
	atomic_store(&over, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(r[i], &wrong), 0);
		assert_int_equal((uintptr_t)wrong, 0);
	}
	assert_true(atomic_load(&n_seen) > 0);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(what_routers_say_is_kept_and_never_goes_up),
		UT_STACK_TEST(there_is_a_floor),
		UT_STACK_TEST(without_a_number_the_next_plateau_is_taken),
		UT_STACK_TEST(entries_end_after_their_time),
		UT_STACK_TEST(a_clock_that_jumps_does_no_harm),
		UT_STACK_TEST(a_flood_costs_bounded_work),
		UT_STACK_TEST(a_full_table_gives_up_entries_at_random),
		UT_STACK_TEST(readers_see_whole_entries_only),
	};

	return UT_RUN(cases, NULL, NULL);
}
