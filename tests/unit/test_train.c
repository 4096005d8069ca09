/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_train_follow() and wire_train_other() against wire_parse(): whatever they accept would also have been
 * accepted by the whole parse, with the same lengths, and what differs in a field that the train stands for is
 * not accepted. wire_parse() is the oracle; test_wire.c tests it against the RFCs. The same for IPv6. And the sums in
 * line against the byte-wise ones.
 */
#include <arpa/inet.h>
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

/* As rx.c asks: is the frame, all in sight, accepted? The header sum is good, or checked. */
static bool
follows(const struct base *s, const uint8_t *b, uint32_t len, bool good, uint32_t *payload)
{
	return len >= WIRE_TRAIN_MIN && len <= MAX_FRAME &&
	       wire_train_follow(&s->train, b, len, payload) && (good || wire_ip4_sum_ok(b + 14));
}

static bool
other_source(const struct base *s, const uint8_t *b, uint32_t len, bool good, uint32_t *payload)
{
	return len >= WIRE_TRAIN_MIN && len <= MAX_FRAME &&
	       wire_train_other(&s->train, b, len, payload) && (good || wire_ip4_sum_ok(b + 14));
}

/* Both answers about one frame and the oracle's. Bit 0: it follows; bit 1: it does but for its source. */
static unsigned int
compare(const struct base *s, const uint8_t *b, uint32_t len, bool good)
{
	struct wire_parse_opt opt = s->opt;
	uint32_t payload[2];
	struct wire_view v;
	unsigned int got = (unsigned int)follows(s, b, len, good, &payload[0]) |
			   (unsigned int)other_source(s, b, len, good, &payload[1]) << 1;

	opt.ip_csum_good = good;
	wire_parse(b, len, len, &opt, &v);
	assert_true(got != 1); /* what follows is also one of any source */
	for (unsigned int i = 0; i < 2; i++) {
		if ((got >> i & 1) == 0)
			continue;
		ut_check(v.kind == WIRE_UDP, "accepted, but the parse says kind %u reason %u",
			 v.kind, v.reason);
		assert_int_equal(v.udp_len, payload[i] + WIRE_UDP_LEN);
		assert_int_equal(v.l3_len, WIRE_IP4_MIN);
		assert_memory_equal(&v.src4, b + 26, 4);
		assert_memory_equal(&v.dst4, b + 30, 4);
	}
	return got;
}

static void
the_next_of_a_train_follows(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	assert_int_equal(compare(&s, s.b, s.len, false), 3);
	s.b[37] ^= 1; /* other ports are another flow */
	assert_int_equal(compare(&s, s.b, s.len, false), 2);
	s.b[37] ^= 1;
	s.b[29] ^= 1; /* another source address */
	assert_int_equal(compare(&s, s.b, s.len, true), 2);
	s.b[29] ^= 1;
	s.b[33] ^= 1; /* another destination */
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
}

static void
nothing_follows_no_train(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	wire_train_none(&s.train);
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
	/* Nor the frame that looks most like it. */
	memset(s.b, 0, 38);
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
	memcpy(s.b + 12, "\x08\x00\x45", 3);
	s.b[23] = 17;
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
}

/* Every bit of the headers, the checksum being vouched for: which may differ, which may not. */
static void
each_bit_that_the_train_stands_for_matters(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	for (unsigned int bit = 0; bit < 38 * 8; bit++) {
		const unsigned int byte = bit / 8;
		const bool free_field = byte == 15 ||                 /* TOS */
					byte == 18 || byte == 19 ||   /* identification */
					byte == 22 ||                 /* TTL */
					byte == 24 || byte == 25 ||   /* checksum */
					(byte == 20 && bit % 8 >= 6); /* DF, reserved */
		const bool source =
			(byte >= 6 && byte < 12) || (byte >= 26 && byte < 30) || byte >= 34;
		unsigned int got;

		s.b[byte] ^= (uint8_t)(1u << bit % 8);
		got = compare(&s, s.b, s.len, true);
		if (byte != 16 && byte != 17) /* total length: by comparison with the parse */
			ut_check((got & 1) == free_field, "byte %u bit %u: %u", byte, bit % 8, got);
		if (byte != 16 && byte != 17 && !source)
			ut_check(got == (free_field ? 3 : 0), "byte %u bit %u: %u", byte, bit % 8,
				 got);
		s.b[byte] ^= (uint8_t)(1u << bit % 8);
	}
}

/* Sources that cannot be, whatever the rest. */
static void
a_source_that_cannot_be_is_not_accepted(void **state)
{
	static const uint8_t net[] = {0, 127, 224, 239, 240, 255};
	struct base s;

	(void)state;
	setup(&s);
	for (size_t i = 0; i < UT_N(net); i++) {
		uint8_t was = s.b[26];

		s.b[26] = net[i];
		assert_int_equal(compare(&s, s.b, s.len, true), 0);
		s.b[26] = was;
	}
	s.b[6] |= 1; /* a group MAC */
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
	memset(s.b + 6, 0, 6);
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
	s.b[11] = 1;
	assert_int_equal(compare(&s, s.b, s.len, true), 2);
	s.b[36] = s.b[37] = 0; /* destination port 0 */
	assert_int_equal(compare(&s, s.b, s.len, true), 0);
}

/* Nothing beyond the frame is read; what is shorter than all headers is not asked. */
static void
a_frame_is_read_to_its_end_only(void **state)
{
	struct base s;

	(void)state;
	setup(&s);
	for (uint32_t len = WIRE_TRAIN_MIN; len <= s.len; len++) {
		uint8_t *exact = malloc(len); /* valgrind and ASan see a read beyond it */

		assert_non_null(exact);
		memcpy(exact, s.b, len);
		assert_int_equal(compare(&s, exact, len, false), len == s.len ? 3 : 0);
		free(exact);
	}
}

static void
random_damage_is_judged_as_by_the_parse(void **state)
{
	unsigned int n_got[4] = {0};
	struct ut_rng rng = ut_rng();
	struct base s;

	(void)state;
	setup(&s);
	for (unsigned int i = 0; i < N_RANDOM; i++) {
		uint8_t b[256];
		uint32_t len;
		unsigned int n = ut_rand_below(&rng, 4);

		memcpy(b, s.b, sizeof(b));
		for (unsigned int k = 0; k < n; k++)
			b[ut_rand_below(&rng, 42)] = (uint8_t)ut_rand(&rng);
		len = ut_rand_below(&rng, 3) != 0 ? s.len : ut_rand_below(&rng, s.len + 1);
		n_got[compare(&s, b, len, (ut_rand(&rng) & 1) != 0)]++;
	}
	/* The comparison has compared something. */
	assert_true(n_got[0] > N_RANDOM / 20);
	assert_true(n_got[2] > N_RANDOM / 50);
	assert_true(n_got[3] > N_RANDOM / 20);
}

/* ---- IPv6 ---- */

struct base6 {
	uint8_t b[256];
	uint32_t len;
	struct wire_parse_opt opt;
	struct wire_train6 train;
};

static void
setup6(struct base6 *s)
{
	struct ut_pkt p = ut_pkt_udp6();
	struct wire_view v;

	memset(s, 0, sizeof(*s));
	p.payload_len = 40;
	s->len = (uint32_t)ut_pkt_bytes(&p, s->b, sizeof(s->b));
	memcpy(s->opt.mac, s->b, 6);
	s->opt.max_frame = MAX_FRAME;
	wire_parse(s->b, s->len, s->len, &s->opt, &v);
	assert_int_equal(v.kind, WIRE_UDP);
	assert_int_equal(v.l3_len, WIRE_IP6_LEN);
	wire_train6_start(&s->train, s->b);
}

/* As compare(). */
static unsigned int
compare6(const struct base6 *s, const uint8_t *b, uint32_t len)
{
	uint32_t payload[2];
	struct wire_view v;
	unsigned int got = 0;

	if (len >= WIRE_TRAIN6_MIN && len <= MAX_FRAME) {
		got = wire_train6_follow(&s->train, b, len, &payload[0]);
		got |= (unsigned int)wire_train6_other(&s->train, b, len, &payload[1]) << 1;
		/* The quick look never says no to what follows. */
		assert_true((got & 1) == 0 || wire_train6_same_flow(&s->train, b));
	}
	wire_parse(b, len, len, &s->opt, &v);
	assert_true(got != 1);
	for (unsigned int i = 0; i < 2; i++) {
		if ((got >> i & 1) == 0)
			continue;
		ut_check(v.kind == WIRE_UDP, "accepted, but the parse says kind %u reason %u",
			 v.kind, v.reason);
		assert_int_equal(v.udp_len, payload[i] + WIRE_UDP_LEN);
		assert_int_equal(v.l3_len, WIRE_IP6_LEN);
	}
	return got;
}

static void
each_bit_of_an_ipv6_train_matters(void **state)
{
	struct base6 s;

	(void)state;
	setup6(&s);
	assert_int_equal(compare6(&s, s.b, s.len), 3);
	for (unsigned int bit = 0; bit < 58 * 8; bit++) {
		const unsigned int byte = bit / 8;
		const bool free_field = (byte == 14 && bit % 8 < 4) || /* traffic class, label */
					(byte > 14 && byte < 18) || byte == 21;
		const bool source =
			(byte >= 6 && byte < 12) || (byte >= 22 && byte < 38) || byte >= 54;
		unsigned int got;

		s.b[byte] ^= (uint8_t)(1u << bit % 8);
		got = compare6(&s, s.b, s.len);
		if (byte != 18 && byte != 19) /* payload length: by comparison with the parse */
			ut_check((got & 1) == free_field, "byte %u bit %u: %u", byte, bit % 8, got);
		if (byte != 18 && byte != 19 && !source)
			ut_check(got == (free_field ? 3 : 0), "byte %u bit %u: %u", byte, bit % 8,
				 got);
		s.b[byte] ^= (uint8_t)(1u << bit % 8);
	}
}

static void
an_ipv6_source_that_cannot_be_is_not_accepted(void **state)
{
	static const char *const odd[] = {"::", "::1", "::ffff:10.0.0.2", "ff02::1", "ffff::"};
	struct base6 s;

	(void)state;
	setup6(&s);
	for (size_t i = 0; i < UT_N(odd); i++) {
		assert_int_equal(inet_pton(AF_INET6, odd[i], s.b + 22), 1);
		assert_int_equal(compare6(&s, s.b, s.len), 0);
	}
	assert_int_equal(inet_pton(AF_INET6, "fe80::1:2", s.b + 22), 1);
	assert_int_equal(compare6(&s, s.b, s.len), 2);
	s.b[6] |= 1; /* a group MAC */
	assert_int_equal(compare6(&s, s.b, s.len), 0);
	memset(s.b + 6, 0, 6);
	assert_int_equal(compare6(&s, s.b, s.len), 0);
	s.b[11] = 1;
	assert_int_equal(compare6(&s, s.b, s.len), 2);
	s.b[56] = s.b[57] = 0;
	assert_int_equal(compare6(&s, s.b, s.len), 0);
}

static void
nothing_follows_no_ipv6_train(void **state)
{
	struct base6 s;

	(void)state;
	setup6(&s);
	wire_train6_none(&s.train);
	assert_int_equal(compare6(&s, s.b, s.len), 0);
	memset(s.b, 0, 58);
	assert_int_equal(compare6(&s, s.b, s.len), 0);
}

static void
an_ipv6_frame_is_read_to_its_end_only(void **state)
{
	struct base6 s;

	(void)state;
	setup6(&s);
	for (uint32_t len = WIRE_TRAIN6_MIN; len <= s.len; len++) {
		uint8_t *exact = malloc(len);

		assert_non_null(exact);
		memcpy(exact, s.b, len);
		assert_int_equal(compare6(&s, exact, len), len == s.len ? 3 : 0);
		free(exact);
	}
}

static void
random_damage_to_ipv6_is_judged_as_by_the_parse(void **state)
{
	unsigned int n_got[4] = {0};
	struct ut_rng rng = ut_rng();
	struct base6 s;

	(void)state;
	setup6(&s);
	for (unsigned int i = 0; i < N_RANDOM; i++) {
		uint8_t b[256];
		uint32_t len;
		unsigned int n = ut_rand_below(&rng, 4);

		memcpy(b, s.b, sizeof(b));
		for (unsigned int k = 0; k < n; k++)
			b[ut_rand_below(&rng, 62)] = (uint8_t)ut_rand(&rng);
		if (ut_rand_below(&rng, 4) == 0)
			b[18] = b[58] = 0;
		len = ut_rand_below(&rng, 3) != 0 ? s.len : ut_rand_below(&rng, s.len + 1);
		n_got[compare6(&s, b, len)]++;
	}
	assert_true(n_got[0] > N_RANDOM / 20);
	assert_true(n_got[2] > N_RANDOM / 50);
	assert_true(n_got[3] > N_RANDOM / 20);
}

/* ---- sums in line ---- */

static uint16_t
sum_by_bytes(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i < len; i++)
		sum += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	while (sum >> 16 != 0)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void
sums_in_line_agree_with_byte_wise_ones(void **state)
{
	struct ut_rng rng = ut_rng();

	(void)state;
	for (unsigned int i = 0; i < N_RANDOM; i++) {
		const uint32_t len = 8 + ut_rand_below(&rng, i % 2 != 0 ? 64 : 1480);
		uint8_t *p = malloc(len); /* exact: a read beyond it is seen */
		uint32_t src = (uint32_t)ut_rand(&rng), dst = (uint32_t)ut_rand(&rng);
		uint32_t pseudo;
		uint16_t sum;

		assert_non_null(p);
		for (uint32_t k = 0; k < len; k++) /* with many zeros and ones */
			p[k] = (uint8_t)(ut_rand_below(&rng, 3) == 0 ? 0xff * (ut_rand(&rng) & 1)
								     : ut_rand(&rng));
		p[6] = p[7] = 0;
		pseudo = (src >> 16) + (src & 0xffff) + (dst >> 16) + (dst & 0xffff) + 17 + len;
		sum = (uint16_t)~sum_by_bytes(p, len, pseudo);
		p[6] = (uint8_t)(sum >> 8);
		p[7] = (uint8_t)sum;
		ut_check(wire_udp_sum_ok(p, len, (uint64_t)WIRE_BE32(src) + WIRE_BE32(dst)),
			 "a good sum of %u bytes", len);
		p[ut_rand_below(&rng, len)] ^= (uint8_t)(1u << ut_rand_below(&rng, 8));
		ut_check(!wire_udp_sum_ok(p, len, (uint64_t)WIRE_BE32(src) + WIRE_BE32(dst)),
			 "a bad sum of %u bytes", len);
		free(p);
	}
	for (unsigned int i = 0; i < N_RANDOM; i++) {
		uint8_t h[20];
		uint16_t sum;

		for (uint32_t k = 0; k < sizeof(h); k++)
			h[k] = (uint8_t)(ut_rand_below(&rng, 3) == 0 ? 0xff * (ut_rand(&rng) & 1)
								     : ut_rand(&rng));
		h[0] = 0x45;
		h[10] = h[11] = 0;
		sum = (uint16_t)~sum_by_bytes(h, sizeof(h), 0);
		h[10] = (uint8_t)(sum >> 8);
		h[11] = (uint8_t)sum;
		assert_true(wire_ip4_sum_ok(h));
		h[1 + ut_rand_below(&rng, 19)] ^= (uint8_t)(1u << ut_rand_below(&rng, 8));
		assert_false(wire_ip4_sum_ok(h));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_of_a_train_follows),
		cmocka_unit_test(nothing_follows_no_train),
		cmocka_unit_test(each_bit_that_the_train_stands_for_matters),
		cmocka_unit_test(a_source_that_cannot_be_is_not_accepted),
		cmocka_unit_test(a_frame_is_read_to_its_end_only),
		cmocka_unit_test(random_damage_is_judged_as_by_the_parse),
		cmocka_unit_test(each_bit_of_an_ipv6_train_matters),
		cmocka_unit_test(an_ipv6_source_that_cannot_be_is_not_accepted),
		cmocka_unit_test(nothing_follows_no_ipv6_train),
		cmocka_unit_test(an_ipv6_frame_is_read_to_its_end_only),
		cmocka_unit_test(random_damage_to_ipv6_is_judged_as_by_the_parse),
		cmocka_unit_test(sums_in_line_agree_with_byte_wise_ones),
	};

	return cmocka_run_group_tests_name("train", tests, NULL, NULL);
}
