/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly: each rule by name, in both families; then random programs from a printed seed. All of it runs
 * beside the reference of reasm_rig.h, which compares everything after each fragment; the cases say what the
 * reference must have said as well.
 */
#include "common/ut.h"

#include <errno.h>

#include <rte_malloc.h>

#include "common/ut_eal.h"
#include "common/ut_fail.h"
#include "common/ut_pkt.h"
#include "common/ut_pool.h"
#include "reasm_rig.h"

#define FRAG_MS     1000
#define MANY        128 /* fragments of one datagram, at most */
#define SCENARIO(f) cmocka_unit_test_setup_teardown(f, up, down)

static const uint8_t families[] = {4, 6};

static const struct rr_conf usual = {
	.mem = 1 << 20, .source_mem = 512 << 10, .ms = FRAG_MS, .buffers = 1023};

static void
die(const char *text)
{
	fail_msg("%s", text);
}

static int
up(void **state)
{
	(void)state;
	return rr_up(&usual);
}

static int
down(void **state)
{
	(void)state;
	if (rr_lc->reasm != NULL)
		rr_down();
	return 0;
}

static void
start_with(uint32_t mem, uint32_t source_mem)
{
	struct rr_conf conf = usual;

	conf.mem = mem;
	conf.source_mem = source_mem;
	assert_int_equal(rr_up(&conf), 0);
}

/* In place of what up() has made. */
static void
again_with(uint32_t mem, uint32_t source_mem)
{
	rr_down();
	start_with(mem, source_mem);
}

static struct rr_piece
piece(uint8_t family)
{
	return family == 4 ? rr_piece4() : rr_piece6();
}

static struct rr_piece
cut(const struct rr_piece *p, uint32_t off, uint32_t len, bool more)
{
	struct rr_piece one = *p;

	one.off = (uint16_t)off;
	one.len = len;
	one.more = more;
	return one;
}

static const struct rr_got *
feed(const struct rr_piece *p, uint32_t off, uint32_t len, bool more)
{
	const struct rr_piece one = cut(p, off, len, more);

	return rr_feed(&one);
}

/* Fed, and it waits. */
static void
waits(const struct rr_piece *p, uint32_t off, uint32_t len, bool more)
{
	const struct rr_got *got = feed(p, off, len, more);

	ut_check(!got->whole && got->reason == WEIR_DROP_N, "IPv%u %u+%u: %s", p->family, off, len,
		 got->whole ? "whole" : weir_drop_name(got->reason));
}

/* Fed, and refused. */
static const struct rr_got *
refused(const struct rr_piece *p, uint32_t off, uint32_t len, bool more, enum weir_drop reason)
{
	const struct rr_got *got = feed(p, off, len, more);

	ut_check(!got->whole && got->reason == reason, "IPv%u %u+%u: %s, not %s", p->family, off,
		 len, got->whole ? "whole" : weir_drop_name(got->reason), weir_drop_name(reason));
	return got;
}

/* Fed, and it waits, but others had to go. */
static void
costs_others(const struct rr_piece *p, uint32_t off, uint32_t len, bool more, enum weir_drop reason)
{
	const uint32_t before = rr_info().datagrams;

	refused(p, off, len, more, reason);
	ut_check(rr_info().datagrams >= before && rr_info().fragments != 0, "it does not wait");
}

/* Fed, and the datagram is whole. */
static const struct rr_got *
makes_whole(const struct rr_piece *p, uint32_t off, uint32_t len, bool more)
{
	const struct rr_got *got = feed(p, off, len, more);

	ut_check(got->whole, "IPv%u %u+%u: %s", p->family, off, len, weir_drop_name(got->reason));
	return got;
}

static void
holds(unsigned int fragments)
{
	ut_check(rr_info().fragments == fragments, "%u fragments are held, not %u",
		 rr_info().fragments, fragments);
}

/* ---- whole ---- */

static void
two_in_order_make_a_datagram(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		const struct rr_got *got;

		waits(&p, 0, 1400, true);
		got = makes_whole(&p, 1400, 77, false);
		assert_int_equal(got->len, 14 + (p.family == 4 ? 20 : 40) + 1477);
		assert_int_equal(got->segs, 2);
		holds(0);
	}
}

static void
any_order_makes_the_same(void **state)
{
	static const uint8_t orders[][4] = {
		{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}, {3, 0, 1, 2}, {1, 0, 3, 2},
	};

	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);

		for (unsigned int o = 0; o < UT_N(orders); o++) {
			for (unsigned int k = 0; k < 4; k++) {
				const uint32_t n = orders[o][k];
				const bool whole =
					feed(&p, n * 800, n == 3 ? 5 : 800, n != 3)->whole;

				ut_check(whole == (k == 3), "order %u, %u", o, k);
			}
		}
	}
}

static void
the_longest_comes_through(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		/* What the length field can say, less the header where it counts. */
		const uint32_t total = p.family == 4 ? 65515 : 65535;
		const uint32_t each = p.family == 4 ? 552 : 1232;
		const struct rr_got *got = NULL;

		for (uint32_t off = 0; off < total; off += each)
			got = feed(&p, off, RTE_MIN(each, total - off), off + each < total);
		assert_true(got->whole);
		assert_int_equal(got->len, 14 + 65535 + (p.family == 4 ? 0 : 40));
	}
}

static void
every_shape_of_buffer_will_do(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		for (uint8_t a = 0; a < RR_SHAPES; a++) {
			for (uint8_t b = 0; b < RR_SHAPES; b++) {
				struct rr_piece p = piece(families[i]);
				struct rr_piece last = p;

				p.shape = a;
				p.padding = 9;
				last.shape = b;
				last.padding = 18;
				waits(&p, 0, 1200, true);
				makes_whole(&last, 1200, 1, false);
				waits(&last, 1200, 1, false);
				makes_whole(&p, 0, 1200, true);
			}
		}
	}
}

static void
headers_of_the_first_are_the_datagrams(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		struct rr_piece last = p;

		p.extra = p.family == 4 ? 40 : 64;
		p.traffic = 0xb8;
		last.traffic = 0x20;
		waits(&last, 800, 100, false);
		makes_whole(&p, 0, 800, true);
	}
}

static void
datagrams_that_differ_in_one_word_of_the_key_do_not_mix(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		struct rr_piece other[5];

		for (unsigned int k = 0; k < UT_N(other); k++)
			other[k] = p;
		other[0].flow = 1;
		other[1].id = 2;
		other[2].port = 1;
		other[3].proto = p.family == 4 ? 1 : 58;
		other[4].id = p.family == 4 ? 0x8001 : 0x10001;
		waits(&p, 0, 800, true);
		for (unsigned int k = 0; k < UT_N(other); k++) {
			/* RFC 8200 4.5: the next header of others than the first does not count. */
			if (p.family == 6 && k == 3)
				continue;
			waits(&other[k], 800, 8, false);
		}
		makes_whole(&p, 800, 8, false);
		for (unsigned int k = 0; k < UT_N(other); k++) {
			if (p.family == 6 && k == 3)
				continue;
			makes_whole(&other[k], 0, 800, true);
		}
		waits(&p, 0, 800, true);
		if (p.family == 6)
			makes_whole(&other[3], 800, 8, false);
		else
			rr_flush(-1);
	}
}

static void
an_atomic_fragment_stands_alone(void **state)
{
	struct rr_piece p = rr_piece6();

	(void)state;
	for (uint8_t shape = 0; shape < RR_SHAPES; shape++) {
		for (unsigned int extra = 0; extra <= 64; extra += 64) {
			p.shape = shape;
			p.extra = (uint8_t)extra;
			p.padding = 3;
			waits(&p, 0, 800, true);
			/* Another datagram under the same key: in nobody's way, and nobody in its. */
			makes_whole(&p, 0, 77, false);
			makes_whole(&p, 0, 0, false);
			makes_whole(&p, 800, 3, false);
		}
	}
	rr_flush(-1);
}

/* ---- refused: the fragment ---- */

static void
a_malformed_fragment_is_refused_alone(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		const struct rr_got *got;

		waits(&p, 0, 800, true);
		refused(&p, 800, 0, true, WEIR_DROP_FRAG_BAD);
		got = refused(&p, 800, 0, false, WEIR_DROP_FRAG_BAD);
		assert_int_equal(got->n_icmp, 0);
		got = refused(&p, 800, 7, true, WEIR_DROP_FRAG_BAD);
		if (p.family == 6) {
			assert_int_equal(got->n_icmp, 1);
			assert_int_equal(got->why, WEIR_ICMP_PARAM_HEADER);
			assert_int_equal(got->pointer, 4);
		} else {
			assert_int_equal(got->n_icmp, 0);
		}
		makes_whole(&p, 800, 7, false);
	}
}

static void
nothing_ends_beyond_65535(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		const uint32_t around = p.family == 4 ? 20 : 0;
		const struct rr_got *got;

		/* Ping of death. */
		waits(&p, 0, 800, true);
		got = refused(&p, 65528, 8 - around % 8, false, WEIR_DROP_FRAG_BAD);
		if (p.family == 6) {
			assert_int_equal(got->n_icmp, 1);
			assert_int_equal(got->why, WEIR_ICMP_PARAM_HEADER);
			assert_int_equal(got->pointer, 42);
		}
		waits(&p, 64000, 1535 - around, false);
		p.id++;
		refused(&p, 64000, 1536 - around, false, WEIR_DROP_FRAG_BAD);
		/* Each could be, but for the header of the first. */
		waits(&p, 64000, 1535 - around, false);
		p.extra = 40;
		for (uint32_t off = 0; off < 64000 - 1280; off += 1280)
			waits(&p, off, 1280, true);
		refused(&p, 64000 - 1280, 1280, true, WEIR_DROP_FRAG_BAD);
		rr_flush(-1);
	}
}

/* Bytes of headers behind the fragment header, and how many of them make the chain whole. */
static void
the_first_fragment_holds_the_whole_chain(void **state)
{
	static const struct {
		const char *what;
		uint8_t proto;
		uint8_t bytes[48];
		uint32_t need;
	} rows[] = {
		{"UDP", 17, {0}, 8},
		{"ICMPv6", 58, {0}, 8},
		{"something else", 132, {0}, 1},
		{"nothing", 59, {0}, 0},
		{"options, UDP", 60, {17, 0, 1, 4}, 16},
		{"options of 24, UDP", 60, {17, 2, 1, 20}, 32},
		{"routing, options, ICMPv6", 43, {60, 0, 0, 0, 0, 0, 0, 0, 58, 0, 1, 4}, 24},
		{"AH of 24, UDP", 51, {17, 4}, 32},
		{"options, nothing", 60, {59, 0, 1, 4}, 8},
		{"options beyond the fragment", 60, {17, 255}, 2048 + 8},
	};

	(void)state;
	for (unsigned int i = 0; i < UT_N(rows); i++) {
		for (uint32_t len = 8; len <= 40; len += 8) {
			for (uint8_t shape = 0; shape < RR_SHAPES; shape++) {
				struct rr_piece p = rr_piece6();
				const struct rr_got *got;

				p.proto = rows[i].proto;
				p.at = rows[i].bytes;
				p.shape = shape;
				got = feed(&p, 0, len, true);
				if (len >= rows[i].need) {
					ut_check(got->reason == WEIR_DROP_N, "%s in %u bytes: %s",
						 rows[i].what, len, weir_drop_name(got->reason));
				} else {
					ut_check(got->reason == WEIR_DROP_FRAG_HEADER,
						 "%s in %u bytes: %s", rows[i].what, len,
						 weir_drop_name(got->reason));
					assert_int_equal(got->n_icmp, 1);
					assert_int_equal(got->why, WEIR_ICMP_PARAM_CHAIN);
					assert_int_equal(got->pointer, 0);
				}
				rr_flush(-1);
			}
		}
	}
}

static void
duplicates_are_dropped_alone(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		struct rr_piece other = p;

		other.variant = 1; /* what came first stays */
		waits(&p, 0, 800, true);
		refused(&other, 0, 800, true, WEIR_DROP_FRAG_DUP);
		waits(&p, 1600, 8, false);
		refused(&other, 1600, 8, false, WEIR_DROP_FRAG_DUP);
		holds(2);
		makes_whole(&p, 800, 800, true);
	}
}

/* Linux takes what lies within what is there for a duplicate; RFC 5722 does not. */
static void
a_part_of_what_is_there_depends_on_the_family(void **state)
{
	static const struct {
		uint32_t off, len;
	} rows[] = {{0, 400}, {400, 400}, {80, 80}, {0, 1600}, {400, 800}, {792, 16}};

	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		for (unsigned int k = 0; k < UT_N(rows); k++) {
			struct rr_piece p = piece(families[i]);

			waits(&p, 0, 800, true);
			waits(&p, 800, 800, true);
			refused(&p, rows[k].off, rows[k].len, true,
				p.family == 4 ? WEIR_DROP_FRAG_DUP : WEIR_DROP_FRAG_OVERLAP);
			holds(p.family == 4 ? 2 : 0);
			rr_flush(-1);
		}
	}
}

/* ---- refused: the datagram ---- */

static void
an_overlap_condemns_the_datagram(void **state)
{
	/* Against 800 to 1600 and 2400 to 2480 at the end; teardrop is the first. */
	static const struct {
		uint32_t off, len;
		bool more;
	} rows[] = {
		{0, 808, true},     {0, 1600, true},   {1592, 808, true}, {1592, 16, true},
		{792, 824, true},   {1600, 808, true}, {0, 2408, true},   {0, 2480, true},
		{1592, 888, false}, {792, 1688, true}, {2392, 88, false},
	};

	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		for (unsigned int k = 0; k < UT_N(rows); k++) {
			struct rr_piece p = piece(families[i]);

			waits(&p, 800, 800, true);
			waits(&p, 2400, 80, false);
			rr_pass(FRAG_MS / 2 * WEIR_NS_PER_MS);
			refused(&p, rows[k].off, rows[k].len, rows[k].more, WEIR_DROP_FRAG_OVERLAP);
			holds(0);
			/* All that still comes goes the same way, for as long as it may come. */
			rr_pass((FRAG_MS - 1) * WEIR_NS_PER_MS);
			refused(&p, 0, 800, true, WEIR_DROP_FRAG_OVERLAP);
			refused(&p, 1600, 800, true, WEIR_DROP_FRAG_OVERLAP);
			rr_pass(WEIR_NS_PER_MS);
			waits(&p, 0, 800, true);
			rr_flush(-1);
		}
	}
}

static void
they_must_agree_about_the_end(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);

		/* Two ends. */
		waits(&p, 1600, 80, false);
		refused(&p, 2400, 80, false, WEIR_DROP_FRAG_BAD);
		refused(&p, 0, 1600, true, WEIR_DROP_FRAG_BAD);
		p.id++;
		waits(&p, 1600, 80, false);
		refused(&p, 800, 80, false, WEIR_DROP_FRAG_BAD);
		p.id++;
		/* Something behind the end, that came before or after it. */
		waits(&p, 1600, 80, false);
		refused(&p, 1680, 80, true, WEIR_DROP_FRAG_BAD);
		p.id++;
		waits(&p, 1680, 80, true);
		refused(&p, 1600, 80, false, WEIR_DROP_FRAG_BAD);
		p.id++;
		/* The very bytes, once with more to come and once as the last. */
		waits(&p, 800, 80, true);
		refused(&p, 800, 80, false,
			p.family == 4 ? WEIR_DROP_FRAG_DUP : WEIR_DROP_FRAG_OVERLAP);
		p.id++;
		waits(&p, 800, 80, false);
		refused(&p, 800, 80, true,
			p.family == 4 ? WEIR_DROP_FRAG_DUP : WEIR_DROP_FRAG_OVERLAP);
		rr_flush(-1);
	}
}

static void
marks_of_congestion_are_combined(void **state)
{
	/* RFC 3168 5.3. First fragment, last fragment, the datagram's; -1: refused. */
	static const int8_t rows[][3] = {
		{0, 0, 0},  {0, 1, -1}, {0, 2, -1}, {0, 3, -1}, {1, 0, -1}, {1, 1, 1},
		{1, 2, 1},  {1, 3, 3},  {2, 0, -1}, {2, 1, 2},  {2, 2, 2},  {2, 3, 3},
		{3, 0, -1}, {3, 1, 3},  {3, 2, 3},  {3, 3, 3},
	};

	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		for (unsigned int k = 0; k < UT_N(rows); k++) {
			for (unsigned int turned = 0; turned < 2; turned++) {
				struct rr_piece first = piece(families[i]), last;
				const struct rr_got *got;
				uint8_t traffic;

				first = cut(&first, 0, 800, true);
				last = cut(&first, 800, 9, false);
				first.traffic = 0xb8 | (uint8_t)rows[k][0];
				last.traffic = (uint8_t)rows[k][1];
				rr_feed(turned ? &last : &first);
				got = rr_feed(turned ? &first : &last);
				if (rows[k][2] < 0) {
					ut_check(got->reason == WEIR_DROP_FRAG_ECN, "row %u: %s", k,
						 weir_drop_name(got->reason));
					rr_flush(-1);
					continue;
				}
				ut_check(got->whole, "row %u: not whole", k);
				traffic = first.family == 4
						  ? got->frame[15]
						  : (uint8_t)(ut_get16(got->frame + 14) >> 4);
				ut_check(traffic == (0xb8 | rows[k][2]), "row %u: %#x", k, traffic);
			}
		}
	}
}

static void
no_datagram_has_more_than_128_fragments(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);

		/* As many as may be, and then the one too many. */
		for (uint32_t n = 1; n < MANY; n++)
			waits(&p, n * 8, 8, n != MANY - 1);
		assert_int_equal(makes_whole(&p, 0, 8, true)->segs, MANY);
		for (uint32_t n = MANY; n > 0; n--)
			waits(&p, n * 8, 8, true);
		refused(&p, 0, 8, true, WEIR_DROP_FRAG_MANY);
		holds(0);
		refused(&p, 8, 8, true, WEIR_DROP_FRAG_MANY);
		rr_flush(-1);
	}
}

/* ---- time ---- */

static void
what_is_too_old_is_given_up(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		const struct rr_got *got;

		/* Without the first fragment nobody is told. */
		waits(&p, 800, 800, true);
		waits(&p, 2400, 80, false);
		p.id++;
		rr_pass((FRAG_MS / 2) * WEIR_NS_PER_MS);
		p.padding = 6;
		waits(&p, 0, 800, true);
		p.padding = 0;
		waits(&p, 1600, 800, true);
		got = rr_pass((FRAG_MS / 2) * WEIR_NS_PER_MS - 1);
		assert_int_equal(got->n_icmp, 0);
		holds(4);
		got = rr_pass(1);
		assert_int_equal(got->n_icmp, 0);
		holds(2);
		/* Fragments that come later do not make it younger. */
		waits(&p, 800, 800, true);
		got = rr_pass((FRAG_MS / 2) * WEIR_NS_PER_MS);
		assert_int_equal(got->n_icmp, 1);
		assert_int_equal(got->why, WEIR_ICMP_REASM_TIME);
		holds(0);
	}
}

/* The tick does a bounded amount of work; what it has not come to does not count as alive. */
static void
age_counts_also_before_the_tick(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		const struct rr_got *got;

		waits(&p, 0, 800, true);
		rr_wait(FRAG_MS * WEIR_NS_PER_MS);
		got = refused(&p, 800, 80, false, WEIR_DROP_FRAG_TIMEOUT);
		assert_int_equal(got->n_icmp, 1);
		makes_whole(&p, 0, 800, true);
		/* The same for a mark. */
		waits(&p, 0, 800, true);
		refused(&p, 792, 80, false, WEIR_DROP_FRAG_OVERLAP);
		rr_wait(FRAG_MS * WEIR_NS_PER_MS);
		waits(&p, 0, 800, true);
		rr_flush(-1);
	}
}

static void
a_tick_gives_up_64_at_most(void **state)
{
	struct rr_piece p = rr_piece4();

	(void)state;
	for (p.id = 0; p.id < 100; p.id++)
		waits(&p, 0, 800, true);
	assert_int_equal(rr_pass(FRAG_MS * WEIR_NS_PER_MS)->n_icmp, 64);
	holds(36);
	assert_int_equal(rr_pass(0)->n_icmp, 36);
	holds(0);
}

static void
a_clock_that_jumps_does_no_harm(void **state)
{
	struct rr_piece p = rr_piece4();

	(void)state;
	rr_wait(1000 * WEIR_NS_PER_S);
	waits(&p, 0, 800, true);
	rr_pass(-(500 * WEIR_NS_PER_S));
	holds(1);
	waits(&p, 1600, 800, false);
	makes_whole(&p, 800, 800, true);
	waits(&p, 0, 800, true);
	rr_pass(UINT64_C(1) << 62);
	holds(0);
}

/* ---- memory ---- */

static void
the_oldest_goes_when_memory_ends(void **state)
{
	struct rr_piece p = rr_piece4();
	struct rr_piece other = rr_piece6();

	(void)state;
	again_with(10 * RR_BUF_SIZE, 0);
	for (p.id = 0; p.id < 5; p.id++) {
		waits(&p, 0, 800, true);
		waits(&p, 1600, 800, true);
	}
	holds(10);
	/* What makes a datagram whole needs no room. */
	costs_others(&other, 0, 800, true, WEIR_DROP_FRAG_MEM);
	holds(9);
	waits(&other, 800, 800, true);
	holds(10);
	makes_whole(&other, 1600, 80, false);
	holds(8);
	/* The oldest is the one that wants more: it goes, its new fragment too. */
	p.id = 1;
	waits(&p, 2400, 800, true);
	waits(&p, 3200, 800, true);
	holds(10);
	refused(&p, 4000, 800, true, WEIR_DROP_FRAG_MEM);
	holds(6);
}

static void
a_source_has_its_share_and_no_more(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UT_N(families); i++) {
		struct rr_piece p = piece(families[i]);
		struct rr_piece other = p;

		again_with(20 * RR_BUF_SIZE, 4 * RR_BUF_SIZE);
		other.flow = 1;
		for (other.id = 0; other.id < 4; other.id++)
			waits(&other, 0, 800, true);
		for (p.id = 0; p.id < 4; p.id++)
			waits(&p, 0, 800, true);
		for (; p.id < 100; p.id++)
			costs_others(&p, 0, 800, true, WEIR_DROP_FRAG_SOURCE);
		holds(8);
		for (other.id = 0; other.id < 4; other.id++)
			makes_whole(&other, 800, 80, false);
		/* One datagram that is more than the share. */
		rr_flush(-1);
		for (uint32_t n = 1; n < 5; n++)
			waits(&p, n * 800, 800, true);
		refused(&p, 8000, 800, true, WEIR_DROP_FRAG_SOURCE);
		holds(0);
	}
}

/* One /64 is one source, and another port is the same source. */
static void
a_source_of_ipv6_is_a_64_and_ports_share_it(void **state)
{
	struct rr_piece p = rr_piece6();

	(void)state;
	again_with(20 * RR_BUF_SIZE, 2 * RR_BUF_SIZE);
	waits(&p, 0, 800, true);
	p.port = 1;
	waits(&p, 0, 800, true);
	p.id = 2;
	costs_others(&p, 0, 800, true, WEIR_DROP_FRAG_SOURCE);
	holds(2);
}

static void
what_is_larger_than_all_memory_is_refused(void **state)
{
	struct rr_piece p = rr_piece4();

	(void)state;
	again_with(RR_BUF_SIZE - 1, 0);
	refused(&p, 0, 800, true, WEIR_DROP_FRAG_MEM);
	again_with(RR_BUF_SIZE, RR_BUF_SIZE - 1);
	refused(&p, 0, 800, true, WEIR_DROP_FRAG_SOURCE);
	/* All its buffers count. */
	again_with(4 * RR_BUF_SIZE, 0);
	p.shape = RR_CHAIN;
	refused(&p, 0, 1200, true, WEIR_DROP_FRAG_MEM);
	again_with(12 * RR_BUF_SIZE, 0);
	waits(&p, 0, 1200, true);
	waits(&p, 1200, 1200, true);
	holds(2);
}

/* Small buffers: the count of fragments is bounded as well. */
static void
small_buffers_do_not_make_more_fragments(void **state)
{
	struct rte_mempool *usual_pool = rr_pool;
	struct rr_piece p = rr_piece4();

	(void)state;
	rr_down();
	rr_pool = rte_pktmbuf_pool_create("small", 63, 0, 0, RTE_PKTMBUF_HEADROOM + 128,
					  SOCKET_ID_ANY);
	assert_non_null(rr_pool);
	start_with(16 * 2048, 0);
	for (p.id = 0; p.id < 16; p.id++)
		waits(&p, 0, 8, true);
	holds(16);
	costs_others(&p, 0, 8, true, WEIR_DROP_FRAG_MEM);
	holds(16);
	rr_down();
	ut_pool_destroy(rr_pool);
	rr_pool = usual_pool;
}

/* More marks than there is room for: the oldest are forgotten, the living stay. */
static void
marks_never_cost_the_living(void **state)
{
	struct rr_piece p = rr_piece4();
	struct rr_piece other = rr_piece6();

	(void)state;
	again_with(16 * 2048, 0);
	for (other.id = 0; other.id < 7; other.id++)
		waits(&other, 0, 800, true);
	for (p.id = 0; p.id < 50; p.id++) {
		waits(&p, 0, 800, true);
		refused(&p, 792, 80, false, WEIR_DROP_FRAG_OVERLAP);
	}
	holds(7);
	for (other.id = 0; other.id < 7; other.id++)
		makes_whole(&other, 800, 80, false);
}

static void
marks_use_no_buffers_and_no_share(void **state)
{
	struct rr_piece p = rr_piece4();

	(void)state;
	again_with(20 * RR_BUF_SIZE, 3 * RR_BUF_SIZE);
	for (p.id = 0; p.id < 20; p.id++) {
		waits(&p, 0, 800, true);
		refused(&p, 792, 80, false, WEIR_DROP_FRAG_OVERLAP);
	}
	assert_int_equal(rr_info().bytes, 0);
	assert_int_equal(rr_info().datagrams, 0);
	for (; p.id < 23; p.id++)
		waits(&p, 0, 800, true);
}

/* ---- want of buffers ---- */

/* Take all that is left of the pool. */
static unsigned int
empty_pool(struct rte_mbuf **m, unsigned int max)
{
	unsigned int n = 0;

	while (n < max && (m[n] = rte_pktmbuf_alloc(rr_pool)) != NULL)
		n++;
	return n;
}

/* The reference knows no such want: the engine alone. */
static void
without_buffers_a_shared_one_is_refused(void **state)
{
	static struct rte_mbuf *all[1100];
	static uint8_t frame[4096];
	const struct weir_port *port;
	struct weir_counters *c;
	struct rr_piece p = rr_piece4();
	struct rte_mbuf *m, *out;
	struct wire_view v;
	unsigned int n;
	uint32_t len;

	(void)state;
	port = rr_lc->stack->ports[0];
	c = &rr_lc->c;
	/* A fragment that others hold cannot be copied. */
	p = cut(&p, 0, 800, true);
	len = rr_frame(&p, frame, &v);
	m = ut_bytes_mbuf(frame, len, rr_pool);
	rte_mbuf_refcnt_update(m, 1);
	n = empty_pool(all, UT_N(all));
	assert_null(weir_reasm_input(rr_lc, port, m, &v));
	assert_int_equal(weir_counter_read(&c->drops[WEIR_DROP_MEM_LIMIT]), 1);
	holds(0);
	assert_int_equal(rr_info().datagrams, 0);
	/* Nor the headers of a datagram whose first bytes others have. */
	rte_pktmbuf_free(all[--n]);
	out = rte_pktmbuf_clone(m, rr_pool);
	assert_non_null(out);
	assert_null(weir_reasm_input(rr_lc, port, out, &v));
	holds(1);
	rte_pktmbuf_free(all[--n]);
	p = cut(&p, 800, 8, false);
	len = rr_frame(&p, frame, &v);
	out = ut_bytes_mbuf(frame, len, rr_pool);
	assert_null(weir_reasm_input(rr_lc, port, out, &v));
	assert_int_equal(weir_counter_read(&c->drops[WEIR_DROP_MEM_LIMIT]), 2);
	assert_int_equal(weir_counter_read(&c->rx_consumed[WEIR_PROTO_FRAG]), 1);
	holds(0);
	/* Nor an atomic one. */
	p = rr_piece6();
	p = cut(&p, 0, 80, false);
	len = rr_frame(&p, frame, &v);
	out = ut_bytes_mbuf(frame, len, rr_pool);
	rte_mbuf_refcnt_update(out, 1);
	n += empty_pool(all + n, UT_N(all) - n);
	assert_null(weir_reasm_input(rr_lc, port, out, &v));
	assert_int_equal(weir_counter_read(&c->drops[WEIR_DROP_MEM_LIMIT]), 3);
	rte_pktmbuf_free(out);
	rte_pktmbuf_free(m);
	while (n > 0)
		rte_pktmbuf_free(all[--n]);
}

static int
attempt(void *arg)
{
	(void)arg;
	return weir_reasm_init(rr_lc, SOCKET_ID_ANY);
}

static void
undo(void *arg)
{
	(void)arg;
	weir_reasm_fini(rr_lc);
}

static void
every_allocation_may_fail(void **state)
{
	(void)state;
	rr_down();
	assert_int_equal(ut_fail_all(attempt, undo, NULL), 6);
	assert_null(rr_lc->reasm);
}

static void
without_memory_it_is_off(void **state)
{
	struct rr_piece p = rr_piece6();
	struct wire_view v;
	static uint8_t frame[2048];
	struct rte_mbuf *m;
	uint32_t len;

	(void)state;
	rr_down();
	start_with(0, 0);
	assert_null(rr_lc->reasm);
	len = rr_frame(&p, frame, &v);
	m = ut_bytes_mbuf(frame, len, rr_pool);
	assert_null(weir_reasm_input(rr_lc, rr_lc->stack->ports[0], m, &v));
	assert_int_equal(weir_counter_read(&rr_lc->c.drops[WEIR_DROP_IP_FRAG]), 1);
	weir_reasm_tick(rr_lc);
	weir_reasm_flush(rr_lc, -1, WEIR_DROP_STACK_STOPPED);
	assert_int_equal(rr_info().datagrams, 0);
	/* A datagram in one fragment is none. */
	p.more = false;
	len = rr_frame(&p, frame, &v);
	m = weir_reasm_input(rr_lc, rr_lc->stack->ports[0], ut_bytes_mbuf(frame, len, rr_pool), &v);
	assert_non_null(m);
	assert_int_equal(m->pkt_len, len - 8);
	rte_pktmbuf_free(m);
	ut_pool_check(rr_pool);
}

/* ---- flush ---- */

static void
a_port_takes_its_fragments_along(void **state)
{
	struct rr_piece p = rr_piece4();
	struct rr_piece other = p;

	(void)state;
	other.port = 1;
	for (p.id = 0; p.id < 10; p.id++) {
		other.id = p.id;
		waits(&p, 0, 800, true);
		waits(&other, 800, 800, true);
	}
	p.id = 77;
	waits(&p, 0, 800, true);
	refused(&p, 792, 80, false, WEIR_DROP_FRAG_OVERLAP);
	rr_flush(0);
	holds(10);
	waits(&p, 0, 800, true);
	rr_flush(-1);
	holds(0);
}

/* ---- storms ---- */

/* What is known of attacks: whatever comes, memory stays in its bounds and honest datagrams still come through. */
static void
storms_do_not_raise_memory(void **state)
{
	struct ut_rng rng = {1};

	(void)state;
	again_with(100 * RR_BUF_SIZE, 50 * RR_BUF_SIZE);
	for (unsigned int i = 0; i < 60000; i++) {
		const uint64_t r = ut_rand(&rng);
		struct rr_piece p = piece((r & 1) != 0 ? 4 : 6);

		p.flow = (uint8_t)(r >> 8);
		p.id = (uint32_t)(r >> 16);
		p.len = 8;
		switch (i / 10000) {
		case 0: /* 64 k datagrams that never end */
			break;
		case 1: /* FragmentSmack: one datagram in the smallest fragments, at odd places */
			p.flow = 1;
			p.id = i / 300;
			p.off = (uint16_t)((r >> 48) * 16 & 0xfff8);
			break;
		case 2: /* teardrop */
			p.id = i / 2;
			p.len = (i & 1) != 0 ? 8 : 40;
			p.off = (i & 1) != 0 ? 24 : 0;
			p.more = (i & 1) == 0;
			break;
		case 3: /* ping of death */
			p.off = 65528;
			p.len = 600;
			p.more = false;
			break;
		case 4: /* last fragments only */
			p.off = (uint16_t)(r >> 40 & 0xf8);
			p.more = false;
			break;
		default: /* anything */
			p.id &= 0xf;
			p.flow &= 3;
			p.off = (uint16_t)(r >> 40 & 0xf8);
			p.len = (r >> 56 & 7) * 8;
			p.more = (r >> 60 & 3) != 0 || p.off == 0;
			p.traffic = (r >> 62 & 3) == 3 ? 0 : 2;
		}
		rr_storm(&p);
		if (i % 100 == 0) { /* the honest one among them */
			p = rr_piece4();
			p.flow = 250;
			p.id = i;
			p.len = 800;
			assert_false(rr_storm(&p));
			p = cut(&p, 800, 100, false);
			ut_check(rr_storm(&p), "the honest datagram is lost at step %u", i);
		}
	}
}

/* ---- anything, against the reference ---- */

static void
random_programs_do_what_the_reference_says(void **state)
{
	static uint8_t program[160];
	const char *runs = getenv("UT_REASM_RUNS");
	const uint64_t n = runs != NULL ? strtoull(runs, NULL, 0) : 400;
	struct ut_rng rng = ut_rng();

	(void)state;
	rr_down();
	for (uint64_t i = 0; i < n; i++) {
		const size_t len = 8 + ut_rand(&rng) % (sizeof(program) - 8);

		for (size_t k = 0; k < len; k++)
			program[k] = (uint8_t)(ut_rand(&rng) >> 32);
		/* Every second: memory is no trouble. */
		if ((i & 1) != 0)
			program[0] = 3;
		rr_run(program, len);
	}
}

static int
group_setup(void **state)
{
	(void)state;
	rr_die = die;
	return ut_eal_init(1, NULL);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		SCENARIO(two_in_order_make_a_datagram),
		SCENARIO(any_order_makes_the_same),
		SCENARIO(the_longest_comes_through),
		SCENARIO(every_shape_of_buffer_will_do),
		SCENARIO(headers_of_the_first_are_the_datagrams),
		SCENARIO(datagrams_that_differ_in_one_word_of_the_key_do_not_mix),
		SCENARIO(an_atomic_fragment_stands_alone),
		SCENARIO(a_malformed_fragment_is_refused_alone),
		SCENARIO(nothing_ends_beyond_65535),
		SCENARIO(the_first_fragment_holds_the_whole_chain),
		SCENARIO(duplicates_are_dropped_alone),
		SCENARIO(a_part_of_what_is_there_depends_on_the_family),
		SCENARIO(an_overlap_condemns_the_datagram),
		SCENARIO(they_must_agree_about_the_end),
		SCENARIO(marks_of_congestion_are_combined),
		SCENARIO(no_datagram_has_more_than_128_fragments),
		SCENARIO(what_is_too_old_is_given_up),
		SCENARIO(age_counts_also_before_the_tick),
		SCENARIO(a_tick_gives_up_64_at_most),
		SCENARIO(a_clock_that_jumps_does_no_harm),
		SCENARIO(the_oldest_goes_when_memory_ends),
		SCENARIO(a_source_has_its_share_and_no_more),
		SCENARIO(a_source_of_ipv6_is_a_64_and_ports_share_it),
		SCENARIO(what_is_larger_than_all_memory_is_refused),
		SCENARIO(small_buffers_do_not_make_more_fragments),
		SCENARIO(marks_never_cost_the_living),
		SCENARIO(marks_use_no_buffers_and_no_share),
		SCENARIO(without_buffers_a_shared_one_is_refused),
		SCENARIO(every_allocation_may_fail),
		SCENARIO(without_memory_it_is_off),
		SCENARIO(a_port_takes_its_fragments_along),
		SCENARIO(storms_do_not_raise_memory),
		SCENARIO(random_programs_do_what_the_reference_says),
	};

	return UT_RUN(cases, group_setup, NULL);
}
