/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-queue receive: order, runs, splices, the charge and its limit, walks, waiting, several readers, and
 * two producers against one reader. The reader's and the producers' calls are made directly, with true
 * sizes of the test's choice; each datagram carries its number as its data.
 */
#include "common/ut_stack.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include <rte_launch.h>
#include <rte_lcore.h>

#include "recvq.h"

static struct weir_recvq q;

static int
setup(void **state)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	if (ut_stack_setup(state) != 0)
		return -1;
	cfg.n_ports = 0;
	cfg.no_start = true;
	ut_stack_up(*state, &cfg);
	return 0;
}

static struct rte_mbuf *
item(struct ut_stack *s, uint64_t number)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, sizeof(number)), &number, sizeof(number));
	return m;
}

static uint64_t
number_of(const struct rte_mbuf *m)
{
	uint64_t number;

	memcpy(&number, rte_pktmbuf_mtod(m, const void *), sizeof(number));
	return number;
}

/* As from one lcore in one burst. size NULL: all 100. */
static unsigned int
produce(struct rte_mbuf **m, const uint32_t *size, unsigned int n)
{
	struct weir_recvq_batch b = {.m = m, .size = size, .each = 100, .n = (uint16_t)n};

	return weir_recvq_produce(&q, &b);
}

/* Produce one; was it taken? It is freed when not. */
static bool
produce_one(struct ut_stack *s, uint64_t number, uint32_t truesize)
{
	struct rte_mbuf *m = item(s, number);

	if (produce(&m, &truesize, 1) == 1)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

static void
must_consume(uint64_t number)
{
	struct rte_mbuf *m;

	ut_check(weir_recvq_consume(&q, &m, 1) == 1, "nothing, instead of %" PRIu64, number);
	ut_check(number_of(m) == number, "%" PRIu64 " instead of %" PRIu64, number_of(m), number);
	rte_pktmbuf_free(m);
}

static void
must_be_dry(void)
{
	struct rte_mbuf *m;

	assert_int_equal(weir_recvq_consume(&q, &m, 1), 0);
	assert_false(weir_recvq_readable(&q));
	assert_int_equal(weir_recvq_depth(&q), 0);
	assert_int_equal(weir_recvq_charge(&q), 0);
}

/* ---- order ---- */

static void
order_is_kept_across_splices(void **state)
{
	struct ut_stack *s = *state;
	uint64_t in = 0;
	uint64_t out = 0;

	weir_recvq_init(&q, 1u << 30);
	assert_false(weir_recvq_readable(&q));
	for (unsigned int round = 0; round < 50; round++) {
		for (unsigned int i = 0; i < round % 7; i++)
			assert_true(produce_one(s, in++, 1000));
		assert_int_equal(weir_recvq_depth(&q), in - out);
		assert_int_equal(weir_recvq_readable(&q), in != out);
		for (unsigned int i = 0; i < round % 5 && out < in; i++)
			must_consume(out++);
	}
	while (out < in)
		must_consume(out++);
	must_be_dry();
	assert_true(weir_counter_read(&q.n_splices) > 5);
}

static void
one_call_reads_from_both_queues(void **state)
{
	struct ut_stack *s = *state;
	struct rte_mbuf *m[8];

	weir_recvq_init(&q, 1u << 30);
	for (uint64_t i = 0; i < 4; i++)
		assert_true(produce_one(s, i, 10));
	must_consume(0); /* 1 to 3 are the reader's now */
	for (uint64_t i = 4; i < 6; i++)
		assert_true(produce_one(s, i, 10));
	assert_int_equal(weir_counter_read(&q.n_splices), 1);
	assert_int_equal(weir_recvq_consume(&q, m, 8), 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(number_of(m[i]), i + 1);
	rte_pktmbuf_free_bulk(m, 5);
	assert_int_equal(weir_counter_read(&q.n_splices), 2);
	must_be_dry();
}

/* ---- charge ---- */

static void
the_limit_is_exact(void **state)
{
	struct ut_stack *s = *state;

	/* Ten items of 100: with 999 the tenth is too much, with 1000 and 1001 the eleventh. */
	for (uint64_t limit = 999; limit <= 1001; limit++) {
		unsigned int fit = limit == 999 ? 9 : 10;

		weir_recvq_init(&q, limit);
		for (unsigned int i = 0; i < fit; i++)
			assert_true(produce_one(s, i, 100));
		assert_false(produce_one(s, 99, 100));
		assert_int_equal(weir_recvq_charge(&q), fit * 100);
		assert_int_equal(weir_counter_read(&q.n_full), 1);
		/* What is left over is still to be had. */
		assert_int_equal(produce_one(s, fit, 1), limit != 1000);
		for (unsigned int i = 0; i < fit; i++)
			must_consume(i);
		if (limit != 1000)
			must_consume(fit);
		must_be_dry();
	}
}

static void
an_empty_queue_takes_one_of_any_size(void **state)
{
	struct ut_stack *s = *state;

	weir_recvq_init(&q, 10);
	for (unsigned int i = 0; i < 5; i++) {
		assert_true(produce_one(s, 2 * i, UINT32_MAX));
		assert_false(produce_one(s, 2 * i + 1, 1));
		assert_false(produce_one(s, 2 * i + 1, UINT32_MAX));
		assert_int_equal(weir_recvq_charge(&q), UINT32_MAX);
		must_consume(2 * i);
		must_be_dry();
	}
	/* Not empty: the same is refused. */
	assert_true(produce_one(s, 1, 1));
	assert_false(produce_one(s, 2, 10));
	assert_true(produce_one(s, 3, 9));
	must_consume(1);
	must_consume(3);
	must_be_dry();
}

static void
charges_come_back_in_lumps(void **state)
{
	struct ut_stack *s = *state;

	weir_recvq_init(&q, 1000);
	for (unsigned int i = 0; i < 100; i++)
		assert_true(produce_one(s, i, 10));
	for (unsigned int i = 0; i < 24; i++)
		must_consume(i);
	assert_int_equal(weir_recvq_charge(&q), 1000); /* 240 owed: less than a quarter */
	assert_false(produce_one(s, 100, 10));
	must_consume(24);
	assert_int_equal(weir_recvq_charge(&q), 750);
	for (unsigned int i = 0; i < 25; i++)
		assert_true(produce_one(s, 100 + i, 10));
	assert_false(produce_one(s, 999, 10));
	for (unsigned int i = 25; i < 125; i++)
		must_consume(i);
	must_be_dry();
	/* Run dry, everything is given back, be it little. */
	assert_true(produce_one(s, 1, 10));
	must_consume(1);
	must_be_dry();
}

static void
a_burst_is_taken_up_to_the_first_that_does_not_fit(void **state)
{
	struct ut_stack *s = *state;
	static const uint32_t size[8] = {90, 90, 90, 90, 90, 101, 90, 90};
	struct rte_mbuf *m[8];

	weir_recvq_init(&q, 500);
	for (unsigned int i = 0; i < 8; i++)
		m[i] = item(s, i);
	m[6]->data_off = 77;
	assert_int_equal(produce(m, size, 8), 5);
	assert_int_equal(weir_counter_read(&q.n_full), 3);
	assert_int_equal(weir_counter_read(&q.n_queued), 5);
	assert_int_equal(weir_recvq_charge(&q), 450);
	assert_int_equal(m[6]->data_off, 77);
	rte_pktmbuf_free_bulk(m + 5, 3);
	for (unsigned int i = 0; i < 5; i++)
		must_consume(i);
	must_be_dry();
}

static void
each_datagram_knows_the_drops_before_it(void **state)
{
	struct ut_stack *s = *state;
	struct weir_recvq_facts facts;
	struct rte_mbuf *m;

	weir_recvq_init(&q, 100);
	assert_true(produce_one(s, 0, 50));
	assert_false(produce_one(s, 9, 60));
	assert_false(produce_one(s, 9, 60));
	weir_recvq_refuse(&q, 5);
	assert_true(produce_one(s, 1, 50));
	assert_int_equal(weir_recvq_take(&q, &m, 1, &facts), 1);
	assert_int_equal(facts.drops, 0);
	rte_pktmbuf_free(m);
	assert_int_equal(weir_recvq_take(&q, &m, 1, &facts), 1);
	assert_int_equal(facts.drops, 7);
	rte_pktmbuf_free(m);
	assert_int_equal(weir_counter_read(&q.n_mem_limit), 5);
	assert_int_equal(weir_counter_read(&q.n_full), 2);
}

/* Counters start just below 2^32 and 2^64, limits are as large as can be. */
static void
counters_wrap_and_limits_are_huge(void **state)
{
	static const uint64_t start[] = {0, UINT32_MAX - 1500, UINT64_MAX - 1500};
	static const uint64_t limit[] = {1000, UINT32_MAX, UINT64_MAX};
	struct ut_stack *s = *state;

	for (size_t i = 0; i < UT_N(start); i++) {
		for (size_t k = 0; k < UT_N(limit); k++) {
			uint64_t in = 0;
			uint64_t out = 0;

			weir_recvq_init(&q, limit[k]);
			atomic_store(&q.charged, start[i]);
			atomic_store(&q.released_seen, start[i]);
			q.r_charged = start[i];
			atomic_store(&q.released, start[i]);
			atomic_store(&q.n_queued, start[i]);
			atomic_store(&q.n_read, start[i]);
			for (unsigned int round = 0; round < 40; round++) {
				while (in - out < 10)
					assert_true(produce_one(s, in++, 100));
				if (k == 0)
					assert_false(produce_one(s, 0, 100));
				assert_int_equal(weir_recvq_depth(&q), 10);
				assert_int_equal(weir_recvq_charge(&q), 1000);
				while (out < in - round % 3)
					must_consume(out++);
				/* With a few left the lump may be owed; run dry, nothing is. */
				while (out < in)
					must_consume(out++);
				must_be_dry();
			}
		}
	}
	/* A charge of more than 4 GiB. */
	weir_recvq_init(&q, UINT64_MAX);
	for (unsigned int i = 0; i < 10; i++)
		assert_true(produce_one(s, i, UINT32_MAX));
	assert_true(weir_recvq_charge(&q) == UINT64_C(10) * UINT32_MAX);
	for (unsigned int i = 0; i < 10; i++)
		must_consume(i);
	must_be_dry();
}

static void
purging_takes_both_queues(void **state)
{
	struct ut_stack *s = *state;

	for (unsigned int mine = 0; mine < 4; mine++) {
		for (unsigned int shared = 0; shared < 4; shared++) {
			struct rte_mbuf *m;
			uint64_t n = 1;

			weir_recvq_init(&q, 10000);
			if (mine > 0) {
				for (uint64_t i = 0; i <= mine; i++)
					assert_true(produce_one(s, i, 10));
				must_consume(0);
			}
			for (uint64_t i = 0; i < shared; i++)
				assert_true(produce_one(s, 1 + mine + i, 10));
			m = weir_recvq_purge(&q);
			while (m != NULL) {
				struct rte_mbuf *next = weir_meta(m)->next;

				assert_int_equal(number_of(m), n++);
				rte_pktmbuf_free(m);
				m = next;
			}
			assert_int_equal(n, 1 + mine + shared);
			must_be_dry();
			assert_true(produce_one(s, 5, 10)); /* as good as new */
			must_consume(5);
			must_be_dry();
		}
	}
}

/* Against a dumb model: a list, and the charge of all that is in it or owed. */
static void
random_use_agrees_with_a_list(void **state)
{
	struct ut_stack *s = *state;
	struct ut_rng rng = ut_rng();

	for (unsigned int run = 0; run < 30; run++) {
		const uint64_t limit = 1 + ut_rand_below(&rng, 3000);
		uint32_t size[4096];
		uint64_t in = 0;
		uint64_t out = 0;
		uint64_t inside = 0;

		weir_recvq_init(&q, limit);
		for (unsigned int step = 0; step < 400; step++) {
			struct rte_mbuf *m[16];
			unsigned int n = ut_rand_below(&rng, 16);
			uint64_t charge = weir_recvq_charge(&q);

			ut_check(charge >= inside && charge <= inside + limit / 4,
				 "charge %" PRIu64 ", inside %" PRIu64, charge, inside);
			if (ut_rand(&rng) & 1) {
				uint32_t now[16];
				unsigned int took;

				if (n == 0)
					continue;
				for (unsigned int i = 0; i < n; i++) {
					/* Often as the one before: runs. */
					now[i] = i > 0 && ut_rand_below(&rng, 4) != 0
							 ? now[i - 1]
							 : ut_rand_below(&rng, 500);
					size[(in + i) % UT_N(size)] = now[i];
					m[i] = item(s, in + i);
				}
				took = produce(m, now, n);
				for (unsigned int i = 0; i < took; i++) {
					uint64_t t = size[(in + i) % UT_N(size)];

					ut_check(charge == 0 || charge + t <= limit,
						 "taken: %" PRIu64 " + %" PRIu64 " > %" PRIu64,
						 charge, t, limit);
					charge += t;
					inside += t;
				}
				if (took < n)
					ut_check(charge + size[(in + took) % UT_N(size)] > limit &&
							 charge != 0,
						 "refused although there is room");
				in += took;
				rte_pktmbuf_free_bulk(m + took, n - took);
			} else {
				unsigned int got = weir_recvq_consume(&q, m, n);

				ut_check(got == (in - out < n ? in - out : n), "%u of %u", got, n);
				for (unsigned int i = 0; i < got; i++, out++) {
					assert_int_equal(number_of(m[i]), out);
					inside -= size[out % UT_N(size)];
				}
				rte_pktmbuf_free_bulk(m, got);
			}
		}
		while (out < in)
			must_consume(out++);
		must_be_dry();
	}
}

/* ---- runs ---- */

/* Bursts of all lengths and mixes of sizes and of buffers that cannot host come out as they went in. */
static void
runs_of_all_kinds_come_out_in_order(void **state)
{
	struct ut_stack *s = *state;

	weir_recvq_init(&q, 1u << 30);
	for (unsigned int n = 1; n <= WEIR_MAX_BURST; n++) {
		for (unsigned int kind = 0; kind < 4; kind++) {
			struct rte_mbuf *m[WEIR_MAX_BURST], *got[WEIR_MAX_BURST];
			uint32_t size[WEIR_MAX_BURST];
			unsigned int out = 0;

			for (unsigned int i = 0; i < n; i++) {
				m[i] = item(s, i);
				size[i] = kind == 1 && i % 5 == 3 ? 7 : 100;
				if (kind == 2 && i % 3 == 0)
					m[i]->data_off -=
						8; /* no room for a whole run's pointers */
				if (kind == 3) {   /* others see the buffer */
					rte_mbuf_refcnt_update(m[i], 1);
					memset(m[i]->buf_addr, 0xa5, WEIR_RUN_BYTES);
				}
			}
			if (kind == 2)
				for (unsigned int i = 0; i < n; i += 3)
					memmove(rte_pktmbuf_mtod(m[i], void *),
						rte_pktmbuf_mtod_offset(m[i], void *, 8), 8);
			assert_int_equal(produce(m, size, n), n);
			while (out < n) { /* in pieces that do not fit the runs */
				unsigned int k = weir_recvq_consume(&q, got, 1 + n % 7);

				assert_true(k > 0);
				for (unsigned int i = 0; i < k; i++, out++) {
					assert_ptr_equal(got[i], m[out]);
					assert_int_equal(number_of(got[i]), out);
					if (kind == 3) {
						const uint8_t *b = got[i]->buf_addr;

						for (size_t k2 = 0; k2 < WEIR_RUN_BYTES; k2++)
							assert_int_equal(b[k2], 0xa5);
						rte_mbuf_refcnt_update(got[i], -1);
					}
				}
				rte_pktmbuf_free_bulk(got, k);
			}
			must_be_dry();
		}
	}
}

static void
facts_are_those_of_the_batch(void **state)
{
	struct ut_stack *s = *state;
	struct weir_recvq_facts facts;
	struct rte_mbuf *m[20];

	weir_recvq_init(&q, 1u << 30);
	for (unsigned int round = 0; round < 3; round++) {
		struct weir_recvq_batch b = {.m = m,
					     .each = 10,
					     .n = 20,
					     .port = (uint8_t)(3 + round),
					     .lcore = (uint8_t)(60 - round),
					     .time_ns = 1000 + round};

		for (unsigned int i = 0; i < 20; i++)
			m[i] = item(s, i);
		assert_int_equal(weir_recvq_produce(&q, &b), 20);
	}
	for (unsigned int round = 0; round < 3; round++) {
		unsigned int got = 0;

		while (got < 20) {
			unsigned int k = weir_recvq_take(&q, m, 20, &facts);

			assert_true(k > 0 && got + k <= 20); /* never of two batches */
			assert_int_equal(facts.time_ns, 1000 + round);
			assert_int_equal(facts.port, 3 + round);
			assert_int_equal(facts.lcore, 60 - round);
			assert_int_equal(facts.drops, 0);
			rte_pktmbuf_free_bulk(m, k);
			got += k;
		}
	}
	must_be_dry();
	assert_int_equal(weir_recvq_take(&q, m, 0, &facts), 0);
}

static void
one_at_a_time_is_the_same(void **state)
{
	struct ut_stack *s = *state;
	uint64_t in = 0, out = 0;

	weir_recvq_init(&q, 10000);
	for (unsigned int round = 0; round < 100; round++) {
		const unsigned int n = 1 + round % 40;
		struct rte_mbuf *m[40];

		for (unsigned int i = 0; i < n; i++)
			m[i] = item(s, in++);
		assert_int_equal(produce(m, NULL, n), n);
		weir_recvq_set_readers(&q, round % 3 == 2);
		while (out < in) {
			struct rte_mbuf *one = weir_recvq_take_one(&q);

			assert_non_null(one);
			assert_int_equal(number_of(one), out++);
			rte_pktmbuf_free(one);
			if (round % 5 == 4 && out % 3 == 0)
				break; /* the rest with the next round's */
		}
	}
	while (out < in)
		must_consume(out++);
	assert_null(weir_recvq_take_one(&q));
	must_be_dry();
}

/* ---- walks ---- */

static void
a_walk_sees_all_and_takes_nothing(void **state)
{
	struct ut_stack *s = *state;
	uint64_t in = 0, out = 0;

	weir_recvq_init(&q, 1u << 30);
	for (unsigned int round = 0; round < 60; round++) {
		struct weir_recvq_pos pos;
		struct rte_mbuf *m;
		uint64_t n = out;
		uint64_t charge, in0;

		for (unsigned int i = 0; i < round % 9; i++)
			assert_true(produce_one(s, in++, 100));
		charge = weir_recvq_charge(&q);
		in0 = in;
		weir_recvq_hold(&q);
		for (m = weir_recvq_first(&q, &pos); m != NULL; m = weir_recvq_next(&q, &pos)) {
			assert_int_equal(number_of(m), n++);
			/* What arrives during the walk is seen, too. */
			if (n == in && round % 4 == 1 && in % 5 != 0)
				assert_true(produce_one(s, in++, 100));
		}
		assert_int_equal(n, in);
		if (in > out) { /* an end is an end until something arrives */
			assert_null(weir_recvq_next(&q, &pos));
			assert_true(produce_one(s, in++, 100));
			m = weir_recvq_next(&q, &pos);
			assert_non_null(m);
			assert_int_equal(number_of(m), in - 1);
		}
		weir_recvq_unhold(&q);
		assert_int_equal(weir_recvq_depth(&q), in - out);
		assert_int_equal(weir_recvq_charge(&q), charge + (in - in0) * 100);
		for (unsigned int i = 0; i < round % 11 && out < in; i++)
			must_consume(out++);
	}
	while (out < in)
		must_consume(out++);
	must_be_dry();
}

/* ---- waiting ---- */

static void
an_armed_queue_reports_until_disarmed(void **state)
{
	struct ut_stack *s = *state;
	struct rte_mbuf *m[4];
	struct weir_recvq_batch b = {.m = m, .each = 100, .n = 2};
	struct weir_recvq_pos pos;
	uint64_t in = 0, out = 0;

#define PRODUCE_2()                                                                                \
	do {                                                                                       \
		m[0] = item(s, in++);                                                              \
		m[1] = item(s, in++);                                                              \
		assert_int_equal(weir_recvq_produce(&q, &b), 2);                                   \
	} while (0)

	weir_recvq_init(&q, 1u << 30);
	PRODUCE_2();
	assert_int_equal(b.wake, 0);
	assert_false(weir_recvq_arm(&q)); /* something is there, in the shared queue */
	must_consume(out++);
	assert_false(weir_recvq_arm(&q)); /* in the reader's */
	must_consume(out++);
	assert_true(weir_recvq_arm(&q));
	assert_int_equal(weir_recvq_arrivals(&q), 2);
	PRODUCE_2();
	assert_int_equal(b.wake, 2);
	PRODUCE_2();
	assert_int_equal(b.wake, 2); /* until disarmed */
	assert_int_equal(weir_recvq_arrivals(&q), 6);
	weir_recvq_disarm(&q);
	PRODUCE_2();
	assert_int_equal(b.wake, 0);
	/* A datagram that was only peeked is one. */
	assert_non_null(weir_recvq_first(&q, &pos));
	assert_false(weir_recvq_arm(&q));
	weir_recvq_disarm(&q);
	while (out < in)
		must_consume(out++);
	must_be_dry();
	/* What is refused is not reported. */
	weir_recvq_init(&q, 100);
	assert_true(produce_one(s, 0, 100));
	weir_recvq_arm(&q);
	m[0] = item(s, 1);
	m[1] = item(s, 2);
	assert_int_equal(weir_recvq_produce(&q, &b), 0);
	assert_int_equal(b.wake, 0);
	rte_pktmbuf_free_bulk(m, 2);
	must_consume(0);
	must_be_dry();
}

/* ---- the limit, changed ---- */

static void
a_changed_limit_drops_nothing(void **state)
{
	struct ut_stack *s = *state;

	weir_recvq_init(&q, 1000);
	for (unsigned int i = 0; i < 10; i++)
		assert_true(produce_one(s, i, 100));
	weir_recvq_set_limit(&q, 300);
	assert_int_equal(weir_recvq_limit(&q), 300);
	assert_int_equal(weir_recvq_depth(&q), 10);
	assert_false(produce_one(s, 99, 100));
	for (unsigned int i = 0; i < 8; i++)
		must_consume(i);
	assert_int_equal(weir_recvq_charge(&q), 200); /* the lump is a quarter of the new limit */
	assert_true(produce_one(s, 10, 100));
	assert_false(produce_one(s, 99, 100));
	weir_recvq_set_limit(&q, UINT64_MAX);
	assert_true(produce_one(s, 11, UINT32_MAX));
	for (unsigned int i = 8; i < 12; i++)
		must_consume(i);
	must_be_dry();
	assert_int_equal(weir_counter_read(&q.n_full), 2);
}

/* ---- two producers, one reader ---- */

#define EACH 60000

static struct rte_mempool *stress_pool;

static int
producer(void *arg)
{
	const uint64_t id = (uint64_t)(uintptr_t)arg;
	struct rte_mbuf *m[16];
	uint64_t seq = 0;

	while (seq < EACH) {
		unsigned int n = 1 + (unsigned int)(seq % 16);
		unsigned int done = 0;

		if (n > EACH - seq)
			n = (unsigned int)(EACH - seq);
		while (rte_pktmbuf_alloc_bulk(stress_pool, m, n) != 0)
			sched_yield();
		for (unsigned int i = 0; i < n; i++) {
			*(uint64_t *)(void *)rte_pktmbuf_append(m[i], 8) = id << 32 | seq++;
		}
		while (done < n) { /* what is refused is offered again */
			done += produce(m + done, NULL, n - done);
			if (done < n)
				sched_yield();
		}
	}
	return 0;
}

static void
nothing_is_lost_or_doubled_between_threads(void **state)
{
	struct ut_stack *s = *state;
	uint64_t next[2] = {0, 0};
	struct rte_mbuf *m[32];
	struct timespec start, now;

	/* Limits small and large: the queue is full at times, or never. */
	for (unsigned int run = 0; run < 2; run++) {
		bool good = true;

		stress_pool = s->pool;
		next[0] = next[1] = 0;
		weir_recvq_init(&q, run == 0 ? 2000 : 1u << 30);
		for (uintptr_t id = 0; id < 2; id++)
			assert_int_equal(rte_eal_remote_launch(producer, (void *)id,
							       (unsigned int)id + 1),
					 0);
		clock_gettime(CLOCK_MONOTONIC, &start);
		while (good && next[0] + next[1] < 2 * EACH) {
			unsigned int got = weir_recvq_consume(&q, m, 1 + next[0] % 32);

			for (unsigned int i = 0; i < got; i++) {
				uint64_t number = number_of(m[i]);

				good &= number >> 32 < 2 &&
					(uint32_t)number == next[number >> 32 & 1]++;
			}
			rte_pktmbuf_free_bulk(m, got);
			if (got == 0) {
				sched_yield();
				clock_gettime(CLOCK_MONOTONIC, &now);
				good &= now.tv_sec - start.tv_sec < 40;
			}
		}
		if (!good) /* let the producers come to their end */
			atomic_store(&q.limit, UINT64_MAX);
		while (!good && next[0] + next[1] < 2 * EACH) {
			unsigned int got = weir_recvq_consume(&q, m, 32);

			next[0] += got;
			rte_pktmbuf_free_bulk(m, got);
			if (got == 0 && rte_eal_get_lcore_state(1) == WAIT &&
			    rte_eal_get_lcore_state(2) == WAIT)
				break;
		}
		rte_eal_wait_lcore(1);
		rte_eal_wait_lcore(2);
		assert_true(good);
		must_be_dry();
		assert_int_equal(weir_counter_read(&q.n_read), 2 * EACH);
	}
}

int
main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, ut_stack_teardown)
	const struct CMUnitTest cases[] = {
		CASE(order_is_kept_across_splices),
		CASE(one_call_reads_from_both_queues),
		CASE(the_limit_is_exact),
		CASE(an_empty_queue_takes_one_of_any_size),
		CASE(charges_come_back_in_lumps),
		CASE(a_burst_is_taken_up_to_the_first_that_does_not_fit),
		CASE(each_datagram_knows_the_drops_before_it),
		CASE(counters_wrap_and_limits_are_huge),
		CASE(purging_takes_both_queues),
		CASE(random_use_agrees_with_a_list),
		CASE(runs_of_all_kinds_come_out_in_order),
		CASE(facts_are_those_of_the_batch),
		CASE(one_at_a_time_is_the_same),
		CASE(a_walk_sees_all_and_takes_nothing),
		CASE(an_armed_queue_reports_until_disarmed),
		CASE(a_changed_limit_drops_nothing),
		CASE(nothing_is_lost_or_doubled_between_threads),
	};

	return UT_RUN(cases, NULL, NULL);
}
