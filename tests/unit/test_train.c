/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_train_follow() against wire_parse(): whatever follows a train would also have been accepted by the
 * whole parse, with the same lengths, and what differs in a field that the train stands for never
 * follows. wire_parse() is the oracle; test_wire.c tests it against the RFCs.
 */
#include <stdlib.h>

#include "common/ut.h"
#include "common/ut_pkt.h"
#include "wire.h"

#define MAX_FRAME 1514
#define N_RANDOM  300000

struct base {
	uint8_t b[256];
	uint32_t len;
	struct wire_parse_opt opt;
	struct wire_train train;
};

static void
setup(struct base *s)
{
	struct ut_pkt p = ut_pkt_udp();
	struct wire_view v;

	memset(s, 0, sizeof(*s));
	p.payload_len = 40;
	s->len = (uint32_t)ut_pkt_bytes(&p, s->b, sizeof(s->b));
	memcpy(s->opt.mac, s->b, 6);
	s->opt.max_frame = MAX_FRAME;
	wire_parse(s->b, s->len, s->len, &s->opt, &v);
	assert_int_equal(v.kind, WIRE_UDP);
	assert_int_equal(v.l3_len, WIRE_IP4_MIN);
	wire_train_start(&s->train, s->b);
}

/* Both answers about one frame; returns the follower's. */
static uint32_t
compare(const struct base *s, const uint8_t *b, uint32_t avail, uint32_t len, bool good)
{
	struct wire_parse_opt opt = s->opt;
	struct wire_view v;
	uint32_t udp_len = wire_train_follow(&s->train, b, avail, len, MAX_FRAME, good);

	opt.ip_csum_good = good;
	wire_parse(b, avail, len, &opt, &v);
	if (udp_len != 0) {
		ut_check(v.kind == WIRE_UDP, "followed, but the parse says kind %u reason %u",
			 v.kind, v.reason);
		assert_int_equal(v.udp_len, udp_len);
		assert_int_equal(v.l3_len, WIRE_IP4_MIN);
		assert_memory_equal(&v.src4, b + 26, 4);
		assert_memory_equal(&v.dst4, b + 30, 4);
	}
	return udp_len;
}

static void
the_next_of_a_train_follows(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	assert_int_equal(compare(&s, s.b, s.len, s.len, false), 48);
	s.b[34] ^= 1; /* other ports are another flow of the same train */
	s.b[37] ^= 1;
	assert_int_equal(compare(&s, s.b, s.len, s.len, false), 48);
}

static void
nothing_follows_no_train(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	wire_train_none(&s.train);
	assert_int_equal(compare(&s, s.b, s.len, s.len, true), 0);
	/* Nor the frame that looks most like it. */
	memset(s.b, 0, 14);
	memset(s.b + 8, 0xff, 8);
	memset(s.b + 26, 0, 8);
	assert_int_equal(compare(&s, s.b, s.len, s.len, true), 0);
}

/* Every bit of the headers, the checksum being vouched for: which may differ, which may not. */
static void
each_bit_that_the_train_stands_for_matters(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	for (unsigned int bit = 0; bit < 34 * 8; bit++) {
		const unsigned int byte = bit / 8;
		const bool free_field = byte == 15 ||                 /* TOS */
					byte == 18 || byte == 19 ||   /* identification */
					byte == 22 ||                 /* TTL */
					byte == 24 || byte == 25 ||   /* checksum */
					(byte == 20 && bit % 8 >= 6); /* DF, reserved */
		uint32_t got;

		s.b[byte] ^= (uint8_t)(1u << bit % 8);
		got = compare(&s, s.b, s.len, s.len, true);
		if (byte != 16 && byte != 17) /* total length: by comparison with the parse */
			ut_check((got != 0) == free_field, "byte %u bit %u: %u", byte, bit % 8,
				 got);
		s.b[byte] ^= (uint8_t)(1u << bit % 8);
	}
}

static void
a_short_look_never_follows(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	for (uint32_t avail = 0; avail <= s.len; avail++) {
		uint8_t *exact = malloc(avail + 1); /* valgrind and ASan see a read beyond it */
		uint32_t got;

		assert_non_null(exact);
		memcpy(exact, s.b, avail);
		got = wire_train_follow(&s.train, exact, avail, s.len, MAX_FRAME, false);
		ut_check((got != 0) == (avail >= 42), "%u bytes: %u", avail, got);
		free(exact);
	}
	assert_int_equal(wire_train_follow(&s.train, s.b, s.len, MAX_FRAME + 1, MAX_FRAME, true),
			 0);
	assert_int_not_equal(wire_train_follow(&s.train, s.b, s.len, MAX_FRAME, MAX_FRAME, true),
			     0);
}

static void
random_damage_is_judged_as_by_the_parse(void **state)
{
	unsigned int followed = 0, refused = 0;
	struct base s;

	(void)state;
	setup(&s);
	srand(1);
	for (unsigned int i = 0; i < N_RANDOM; i++) {
		uint8_t b[256];
		uint32_t avail, len;
		unsigned int n = (unsigned int)rand() % 4;

		memcpy(b, s.b, sizeof(b));
		for (unsigned int k = 0; k < n; k++)
			b[(unsigned int)rand() % 42] = (uint8_t)rand();
		len = (unsigned int)rand() % 3 != 0 ? s.len : (uint32_t)rand() % (s.len + 1);
		avail = (unsigned int)rand() % 3 != 0 ? len : (uint32_t)rand() % (len + 1);
		if (compare(&s, b, avail, len, (rand() & 1) != 0) != 0)
			followed++;
		else
			refused++;
	}
	assert_true(followed > N_RANDOM / 20); /* the comparison has compared something */
	assert_true(refused > N_RANDOM / 20);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_of_a_train_follows),
		cmocka_unit_test(nothing_follows_no_train),
		cmocka_unit_test(each_bit_that_the_train_stands_for_matters),
		cmocka_unit_test(a_short_look_never_follows),
		cmocka_unit_test(random_damage_is_judged_as_by_the_parse),
	};

	return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
