/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stamps that udpflood writes and udp_sink checks: loss, repeats, disorder and damage are told
 * apart exactly, against a dumb count of the same arrivals.
 */
#include "ut.h"

#include <weir/addr.h>

#include "check.h"
#include "stamp.h"

#define MAX_SEQ 40000

static struct weir_addr peer;

static void
arrive_from(struct check *c, const struct weir_addr *from, uint64_t seq, size_t len)
{
	uint8_t payload[STAMP_LEN + 64];
	uint8_t key = stamp_put(payload, seq, seq * 1000 + 7);

	assert_true(len >= STAMP_LEN && len <= sizeof(payload));
	memcpy(payload + STAMP_LEN, stamp_pattern(key, STAMP_LEN), len - STAMP_LEN);
	check_datagram(c, from, payload, len);
}

static void
arrive(struct check *c, uint64_t seq)
{
	arrive_from(c, &peer, seq, STAMP_LEN + 2);
}

static void
expect(const struct check *c, uint64_t datagrams, uint64_t missing, uint64_t duplicated,
       uint64_t reordered, uint64_t ancient)
{
	struct check_sums s;

	check_sums_get(c, &s);
	ut_check(s.datagrams == datagrams && s.missing == missing && s.duplicated == duplicated &&
			 s.reordered == reordered && s.ancient == ancient,
		 "datagrams %" PRIu64 " missing %" PRIu64 " duplicated %" PRIu64
		 " reordered %" PRIu64 " ancient %" PRIu64,
		 s.datagrams, s.missing, s.duplicated, s.reordered, s.ancient);
	assert_int_equal(s.corrupt, 0);
}

static void
perfect_order_has_nothing_to_report(void **state)
{
	struct check *c = check_create();

	(void)state;
	for (uint64_t i = 0; i < 3 * CHECK_WINDOW; i++)
		arrive(c, i);
	expect(c, 3 * CHECK_WINDOW, 0, 0, 0, 0);
	check_destroy(c);
}

static void
each_fault_is_counted_as_what_it_is(void **state)
{
	struct check *c = check_create();

	(void)state;
	arrive(c, 2); /* 0 and 1 missing so far */
	expect(c, 1, 2, 0, 0, 0);
	arrive(c, 1); /* late */
	expect(c, 2, 1, 0, 1, 0);
	arrive(c, 1); /* twice */
	expect(c, 3, 1, 1, 1, 0);
	arrive(c, 5); /* 0, 3 and 4 missing */
	expect(c, 4, 3, 1, 1, 0);
	check_destroy(c);
}

static void
limit_of_the_window_is_exact(void **state)
{
	struct check *c = check_create();

	(void)state;
	arrive(c, 0);
	arrive(c, CHECK_WINDOW); /* 1 is the oldest number in the window now, 0 has left it */
	expect(c, 2, CHECK_WINDOW - 1, 0, 0, 0);
	arrive(c, 0);
	expect(c, 3, CHECK_WINDOW - 1, 0, 0, 1);
	arrive(c, 1);
	expect(c, 4, CHECK_WINDOW - 2, 0, 1, 1);
	arrive(c, CHECK_WINDOW);
	expect(c, 5, CHECK_WINDOW - 2, 1, 1, 1);
	/* Further than a whole window at once. */
	arrive(c, 10 * CHECK_WINDOW);
	expect(c, 6, 10 * CHECK_WINDOW + 1 - 4, 1, 1, 1);
	check_destroy(c);
}

static void
random_arrivals_match_a_dumb_count(void **state)
{
	static bool seen[MAX_SEQ];
	struct ut_rng rng = ut_rng();

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct check *c = check_create();
		uint64_t next = 0, recorded = 0, datagrams = 0, duplicated = 0, reordered = 0;
		uint64_t ancient = 0;

		memset(seen, 0, sizeof(seen));
		while (next < MAX_SEQ - 6000) {
			uint64_t seq = next;
			uint32_t dice = ut_rand_below(&rng, 1000);

			if (dice < 30) /* a gap */
				seq = next + 1 + ut_rand_below(&rng, 20);
			else if (dice < 31) /* a large one */
				seq = next + ut_rand_below(&rng, 5999);
			else if (dice < 200 && next > 0) /* something from the past */
				seq = next - 1 -
				      ut_rand_below(&rng, (uint32_t)(next < 40 ? next : 40));
			else if (dice < 220 && next > 0) /* from long ago */
				seq = next - 1 -
				      ut_rand_below(&rng, (uint32_t)(next < 5000 ? next : 5000));
			arrive(c, seq);
			datagrams++;
			if (seq >= next) {
				next = seq + 1;
			} else if (next - seq > CHECK_WINDOW) {
				ancient++;
				continue;
			} else if (seen[seq]) {
				duplicated++;
				continue;
			} else {
				reordered++;
			}
			seen[seq] = true;
			recorded++;
		}
		expect(c, datagrams, next - recorded, duplicated, reordered, ancient);
		check_destroy(c);
	}
}

static void
sources_are_told_apart_and_bounded(void **state)
{
	struct check *c = check_create();
	struct check_sums s;

	(void)state;
	for (uint32_t i = 0; i < CHECK_SOURCES; i++) {
		struct weir_addr from = weir_addr_v4(0x0a000000 + i / 7, (uint16_t)(1 + i % 7));

		arrive_from(c, &from, 0, STAMP_LEN);
		arrive_from(c, &from, 2, STAMP_LEN);
	}
	check_sums_get(c, &s);
	assert_int_equal(s.sources, CHECK_SOURCES / 4 * 3);
	assert_int_equal(s.missing, CHECK_SOURCES / 4 * 3);
	assert_int_equal(s.untracked, CHECK_SOURCES / 4 * 2);
	check_destroy(c);
}

static void
damaged_byte_is_noticed_wherever_it_is(void **state)
{
	uint8_t payload[STAMP_LEN + 32];
	struct check_sums s;
	struct check *c = check_create();
	uint64_t n = 0;

	(void)state;
	for (size_t at = 0; at < sizeof(payload); at++) {
		for (int bit = 0; bit < 8; bit++) {
			uint8_t key = stamp_put(payload, 1000 + n, 99);

			memcpy(payload + STAMP_LEN, stamp_pattern(key, STAMP_LEN), 32);
			payload[at] ^= (uint8_t)(1 << bit);
			check_datagram(c, &peer, payload, sizeof(payload));
			n++;
		}
	}
	check_sums_get(c, &s);
	/* One key in 256 is the right one by chance; the seed is fixed, so this is not random. */
	ut_check(s.corrupt >= n - 4, "%" PRIu64 " of %" PRIu64, s.corrupt, n);
	check_destroy(c);
}

static void
too_short_or_foreign_payload_is_not_a_stamp(void **state)
{
	uint8_t payload[STAMP_LEN] = {0};
	struct check_sums s;
	struct check *c = check_create();

	(void)state;
	for (size_t len = 0; len <= STAMP_LEN; len++)
		check_datagram(c, &peer, payload, len);
	stamp_put(payload, 0, 0);
	for (size_t len = 0; len < STAMP_LEN; len++)
		check_datagram(c, &peer, payload, len);
	check_sums_get(c, &s);
	assert_int_equal(s.corrupt, 2 * STAMP_LEN + 1);
	check_destroy(c);
}

static int
set_up(void **state)
{
	(void)state;
	stamp_init();
	peer = weir_addr_v4(0x0a420002, 5000);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(perfect_order_has_nothing_to_report),
		cmocka_unit_test(each_fault_is_counted_as_what_it_is),
		cmocka_unit_test(limit_of_the_window_is_exact),
		cmocka_unit_test(random_arrivals_match_a_dumb_count),
		cmocka_unit_test(sources_are_told_apart_and_bounded),
		cmocka_unit_test(damaged_byte_is_noticed_wherever_it_is),
		cmocka_unit_test(too_short_or_foreign_payload_is_not_a_stamp),
	};

	return UT_RUN(cases, set_up, NULL);
}
