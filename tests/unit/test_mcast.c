/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group membership on the wire: reports of IGMPv3 and MLDv2, answers to queries, the older versions, the merge of
 * several members' filters, what bad messages get. Frames are read and written byte by byte.
 */
#include "common/ut_clock.h"
#include "common/ut_fail.h"
#include "common/ut_sock.h"

#include "control_state.h"
#include "mcast.h"

#define GROUP   UT_IP(239, 1, 2, 3)
#define ROUTERS UT_IP(224, 0, 0, 22)
#define MS      UINT64_C(1000000)
#define S       UINT64_C(1000000000)
#define TICK    (50 * MS)

static const union weir_ip src_a = {.b = {10, 0, 0, 7}};
static const union weir_ip src_b = {.b = {10, 0, 0, 8}};
static const struct weir_mcast_filter all = {.include = false};

static struct weir_addr
group4(void)
{
	return weir_addr_v4(GROUP, 0);
}

static struct weir_addr
group6(void)
{
	struct weir_addr a;

	assert_int_equal(weir_addr_parse("ff15::77", &a), 0);
	return a;
}

static int
change(struct ut_stack *s, const struct weir_addr *group, const struct weir_mcast_filter *before,
       const struct weir_mcast_filter *after)
{
	int ret;

	weir_ctl_lock(s->stack);
	ret = weir_mcast_change(s->stack, s->stack->ports[0], group, before, after);
	weir_ctl_unlock(s->stack);
	return ret;
}

static struct ut_stack *
up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	ut_stack_up(s, &cfg);
	ut_stack_pass(s, 3 * TICK, TICK);
	return s;
}

/* The next frame that is no ARP (an address may be announced). */
static bool
take(struct ut_stack *s, struct ut_frame *f)
{
	while (ut_stack_take(s, 0, f))
		if (ut_get16(f->b + 12) != 0x0806)
			return true;
	return false;
}

static unsigned int
drain(struct ut_stack *s)
{
	struct ut_frame f;
	unsigned int n = 0;

	while (take(s, &f))
		n++;
	return n;
}

/* An IGMP message to dst: all that RFC 3376 4 asks of its headers. Where it starts. */
static const uint8_t *
igmp_of(const struct ut_frame *f, uint32_t dst, size_t len)
{
	const uint8_t *ip = f->b + 14;

	assert_int_equal(ut_get16(f->b + 12), 0x0800);
	assert_int_equal(f->b[0], 0x01);
	assert_int_equal(f->b[2], 0x5e);
	assert_int_equal(ut_get32(f->b + 2) & 0x7fffff, dst & 0x7fffff);
	assert_int_equal(ip[0], 0x46);
	assert_int_equal(ut_get16(ip + 2), 24 + len);
	assert_int_equal(ip[8], 1); /* TTL */
	assert_int_equal(ip[9], 2);
	assert_int_equal(ut_get32(ip + 12), UT_OUR_IP);
	assert_int_equal(ut_get32(ip + 16), dst);
	assert_int_equal(ut_get32(ip + 20), 0x94040000);
	assert_int_equal(ut_csum(ip, 24, 0), 0);
	assert_int_equal(ut_csum(ip + 24, len, 0), 0);
	return ip + 24;
}

/* A report of one record: type, group, sources in any order. */
static void
assert_report(struct ut_stack *s, uint8_t type, uint32_t group, unsigned int n,
	      const uint32_t *source)
{
	struct ut_frame f;
	const uint8_t *p;

	assert_true(take(s, &f));
	p = igmp_of(&f, ROUTERS, 16 + n * 4);
	assert_int_equal(p[0], 0x22);
	assert_int_equal(ut_get16(p + 6), 1);
	assert_int_equal(p[8], type);
	assert_int_equal(ut_get16(p + 10), n);
	assert_int_equal(ut_get32(p + 12), group);
	for (unsigned int i = 0; i < n; i++) {
		bool there = false;

		for (unsigned int k = 0; k < n; k++)
			there |= ut_get32(p + 16 + k * 4) == source[i];
		ut_check(there, "source %08x is missing", source[i]);
	}
}

/* An IGMP message of len bytes from a router; the checksum is made right. */
static void
igmp_in(struct ut_stack *s, uint32_t dst, const uint8_t *msg, size_t len)
{
	struct ut_pkt p = ut_pkt_udp();
	uint8_t m[256];

	memcpy(m, msg, len);
	ut_put16(m + 2, 0);
	ut_put16(m + 2, ut_csum(m, len, 0));
	p.kind = UT_RAW_IP4;
	memcpy(p.eth_dst, (const uint8_t[]){0x01, 0, 0x5e, 0, 0, 1}, 6);
	ut_put32(p.eth_dst + 2, 0x5e000000u | (dst & 0x7fffff));
	p.eth_dst[1] = 0;
	p.eth_dst[2] = 0x5e;
	p.ip_proto = 2;
	p.ip_ttl = 1;
	p.ip_dst = dst;
	memcpy(p.ip_opt, "\x94\x04\x00\x00", 4);
	p.ip_opt_len = 4;
	p.payload = m;
	p.payload_len = len;
	ut_stack_rx(s, 0, &p);
}

/* What comes within ns: how many reports, the last in *f. */
static unsigned int
within(struct ut_stack *s, uint64_t ns, struct ut_frame *f)
{
	unsigned int n = 0;

	ut_stack_pass(s, ns, TICK);
	while (take(s, f))
		n++;
	return n;
}

/* A member by a socket, as rx.c lets in only what somebody has joined. source NULL: all. */
static struct weir_socket *
member(struct ut_stack *s, const union weir_ip *source)
{
	const struct weir_addr g = group4();
	struct weir_addr from = weir_addr_v4(0, 0);
	struct weir_socket *sk = ut_sock(s);

	if (source != NULL)
		from.ip = *source;
	assert_int_equal(weir_socket_join(sk, &g, source != NULL ? &from : NULL, 0), 0);
	return sk;
}

static void
leave(struct weir_socket *sk)
{
	const struct weir_addr g = group4();

	assert_int_equal(weir_socket_leave(sk, &g, NULL, 0), 0);
}

/* ---- IGMPv3 ---- */

static void
joining_and_leaving_are_reported_twice(void **state)
{
	struct ut_stack *s = up(state);
	const struct weir_addr g = group4();
	struct ut_frame f;

	assert_int_equal(change(s, &g, NULL, &all), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 4 /* TO_EXCLUDE */, GROUP, 0, NULL);
	ut_stack_pass(s, S + TICK, TICK); /* the repetition, within a second */
	assert_report(s, 4, GROUP, 0, NULL);
	assert_int_equal(within(s, 5 * S, &f), 0);
	/* A second member changes nothing. */
	assert_int_equal(change(s, &g, NULL, &all), 0);
	assert_int_equal(change(s, &g, &all, NULL), 0);
	assert_int_equal(within(s, 5 * S, &f), 0);
	assert_int_equal(change(s, &g, &all, NULL), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 3 /* TO_INCLUDE */, GROUP, 0, NULL);
	ut_stack_pass(s, S + TICK, TICK);
	assert_report(s, 3, GROUP, 0, NULL);
	assert_int_equal(within(s, 5 * S, &f), 0);
}

static void
sources_are_merged_over_members(void **state)
{
	struct ut_stack *s = up(state);
	const struct weir_addr g = group4();
	const union weir_ip both[2] = {src_a, src_b};
	const struct weir_mcast_filter in_a = {.include = true, .n = 1, .source = &src_a};
	const struct weir_mcast_filter in_b = {.include = true, .n = 1, .source = &src_b};
	const struct weir_mcast_filter out_both = {.include = false, .n = 2, .source = both};
	const uint32_t a[] = {UT_IP(10, 0, 0, 7)}, b[] = {UT_IP(10, 0, 0, 8)};

	assert_int_equal(change(s, &g, NULL, &in_a), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 5 /* ALLOW */, GROUP, 1, a);
	ut_stack_pass(s, 2 * S, TICK);
	assert_int_equal(drain(s), 1);
	assert_int_equal(change(s, &g, NULL, &in_b), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 5, GROUP, 1, b);
	ut_stack_pass(s, 2 * S, TICK);
	assert_int_equal(drain(s), 1);
	/* Somebody excludes both: what others include stays in. RFC 3376 3.2, the second example. */
	assert_int_equal(change(s, &g, NULL, &out_both), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 4 /* TO_EXCLUDE */, GROUP, 0, NULL);
	ut_stack_pass(s, 2 * S, TICK);
	assert_int_equal(drain(s), 1);
	/* The one who includes b goes: b is excluded now. */
	assert_int_equal(change(s, &g, &in_b, NULL), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 6 /* BLOCK */, GROUP, 1, b);
	ut_stack_pass(s, 2 * S, TICK);
	assert_int_equal(drain(s), 1);
	assert_int_equal(change(s, &g, &out_both, NULL), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 3 /* TO_INCLUDE */, GROUP, 1, a);
	ut_stack_pass(s, 2 * S, TICK);
	assert_int_equal(drain(s), 1);
	assert_int_equal(change(s, &g, &in_a, NULL), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 6 /* BLOCK */, GROUP, 1, a);
}

static void
queries_are_answered_in_time(void **state)
{
	static const uint8_t general[12] = {0x11, 100, [8] = 2, 125};
	static const uint8_t specific[12] = {0x11, 20, 0, 0, 239, 1, 2, 3, 2, 125};
	static const uint8_t other[12] = {0x11, 20, 0, 0, 239, 1, 2, 4, 2, 125};
	static const uint8_t sources[20] = {0x11, 20, 0,  0, 239, 1, 2,  3, 2, 125,
					    0,    2,  10, 0, 0,   7, 10, 0, 0, 9};
	const uint32_t a[] = {UT_IP(10, 0, 0, 7)};
	struct ut_stack *s = up(state);
	struct ut_frame f;

	member(s, &src_a);
	within(s, 3 * S, &f);
	ut_stack_mark(s);
	igmp_in(s, UT_IP(224, 0, 0, 1), general, sizeof(general));
	assert_int_equal(ut_stack_since(s, rx_consumed[WEIR_PROTO_GROUP]), 1);
	ut_stack_pass(s, 10 * S + TICK, TICK);
	assert_report(s, 1 /* IS_INCLUDE */, GROUP, 1, a);
	assert_int_equal(drain(s), 0);
	igmp_in(s, GROUP, specific, sizeof(specific));
	ut_stack_pass(s, 2 * S + TICK, TICK);
	assert_report(s, 1, GROUP, 1, a);
	/* Of the two that are asked for, the one that is wanted. */
	igmp_in(s, GROUP, sources, sizeof(sources));
	ut_stack_pass(s, 2 * S + TICK, TICK);
	assert_report(s, 1, GROUP, 1, a);
	/* Not our group: nothing. */
	igmp_in(s, UT_IP(224, 0, 0, 1), other, sizeof(other));
	assert_int_equal(within(s, 5 * S, &f), 0);
}

static void
older_queriers_are_spoken_to_in_their_way(void **state)
{
	static const uint8_t v2[8] = {0x11, 100};
	static const uint8_t v1[8] = {0x11, 0};
	static const uint8_t heard[8] = {0x16, 0, 0, 0, 239, 1, 2, 3};
	struct ut_stack *s = up(state);
	struct weir_socket *sk;
	struct ut_frame f;

	sk = member(s, NULL);
	within(s, 3 * S, &f);
	igmp_in(s, UT_IP(224, 0, 0, 1), v2, sizeof(v2));
	assert_int_equal(within(s, 10 * S + TICK, &f), 1);
	assert_int_equal(igmp_of(&f, GROUP, 8)[0], 0x16);
	assert_int_equal(ut_get32(igmp_of(&f, GROUP, 8) + 4), GROUP);
	/* Somebody else answers first: we need not. */
	igmp_in(s, UT_IP(224, 0, 0, 1), v2, sizeof(v2));
	igmp_in(s, GROUP, heard, sizeof(heard));
	assert_int_equal(within(s, 11 * S, &f), 0);
	/* ... and have no leave to send; joined again, and left as the last who spoke: a leave. */
	leave(sk);
	assert_int_equal(within(s, S, &f), 0);
	sk = member(s, NULL);
	assert_int_equal(within(s, 2 * TICK, &f), 1);
	assert_int_equal(igmp_of(&f, GROUP, 8)[0], 0x16);
	assert_int_equal(within(s, 11 * S, &f), 1); /* unsolicited, a second time */
	leave(sk);
	assert_int_equal(within(s, 2 * TICK, &f), 1);
	assert_int_equal(igmp_of(&f, UT_IP(224, 0, 0, 2), 8)[0], 0x17);
	/* Version 1: its report, and no leave. */
	sk = member(s, NULL);
	within(s, 20 * S, &f);
	igmp_in(s, UT_IP(224, 0, 0, 1), v1, sizeof(v1));
	assert_int_equal(within(s, 11 * S, &f), 1);
	assert_int_equal(igmp_of(&f, GROUP, 8)[0], 0x12);
	leave(sk);
	assert_int_equal(within(s, S, &f), 0);
	/* After a while without an older querier: version 3 again. */
	ut_stack_pass(s, 300 * S, S);
	sk = member(s, NULL);
	ut_stack_pass(s, TICK, TICK);
	assert_report(s, 4, GROUP, 0, NULL);
}

static void
bad_messages_are_dropped(void **state)
{
	static const uint8_t query[12] = {0x11, 100, [8] = 2, 125};
	static const uint8_t many[12] = {0x11, 100, 0, 0, 239, 1, 2, 3, 2, 125, 0xff, 0xff};
	static const uint8_t unicast[8] = {0x11, 100, 0, 0, 10, 0, 0, 9};
	static const uint8_t general_with_source[16] = {0x11, 100, 0, 0, 0,  0, 0, 0,
							2,    125, 0, 1, 10, 0, 0, 7};
	struct ut_stack *s = up(state);
	struct ut_frame f;
	struct ut_pkt p = ut_pkt_udp();

	member(s, NULL);
	within(s, 3 * S, &f);
	ut_stack_mark(s);
	igmp_in(s, UT_IP(224, 0, 0, 1), query, 9); /* no version has this length */
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "length 9");
	igmp_in(s, UT_IP(224, 0, 0, 1), query, 7);
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "length 7");
	igmp_in(s, GROUP, many, sizeof(many));
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "sources beyond the message");
	igmp_in(s, UT_IP(224, 0, 0, 1), unicast, sizeof(unicast));
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "not a group");
	igmp_in(s, UT_IP(224, 0, 0, 1), general_with_source, sizeof(general_with_source));
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "general query with a source");
	igmp_in(s, UT_OUR_IP, query, sizeof(query));
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "to a host");
	p.kind = UT_RAW_IP4;
	memcpy(p.eth_dst, (const uint8_t[]){0x01, 0, 0x5e, 0, 0, 1}, 6);
	p.ip_dst = UT_IP(224, 0, 0, 1);
	p.ip_proto = 2;
	p.payload = query;
	p.payload_len = sizeof(query);
	ut_stack_rx(s, 0, &p);
	ut_stack_only_drop(s, WEIR_DROP_MEMBER_BAD, 1, "checksum");
	assert_int_equal(within(s, 15 * S, &f), 0);
}

static void
nobody_hears_of_all_systems(void **state)
{
	struct ut_stack *s = up(state);
	const struct weir_addr g = weir_addr_v4(UT_IP(224, 0, 0, 1), 0);
	struct weir_addr nodes, here;
	struct ut_frame f;

	assert_int_equal(change(s, &g, NULL, &all), 0);
	assert_int_equal(within(s, 3 * S, &f), 0);
	assert_int_equal(change(s, &g, &all, NULL), 0);
	assert_int_equal(within(s, 3 * S, &f), 0);
	/* ff02::1, and what does not leave the host; but ff02::2 is reported. */
	assert_int_equal(weir_addr_parse("ff02::1", &nodes), 0);
	assert_int_equal(weir_addr_parse("ff01::7", &here), 0);
	assert_int_equal(change(s, &nodes, NULL, &all), 0);
	assert_int_equal(change(s, &here, NULL, &all), 0);
	assert_int_equal(within(s, 3 * S, &f), 0);
	nodes.ip.b[15] = 2;
	assert_int_equal(change(s, &nodes, NULL, &all), 0);
	assert_int_equal(within(s, 3 * S, &f), 2);
}

/* More sources than fit into a frame: several records, each source once. */
static void
long_lists_take_several_frames(void **state)
{
	enum { N = 800 };
	struct ut_stack *s = up(state);
	const struct weir_addr g = group4();
	union weir_ip *source = calloc(N, sizeof(*source));
	const struct weir_mcast_filter in = {.include = true, .n = N, .source = source};
	uint8_t seen[N] = {0};
	unsigned int frames = 0;
	struct ut_frame f;

	assert_non_null(source);
	for (unsigned int i = 0; i < N; i++)
		ut_put32(source[i].b, UT_IP(10, 1, 0, 0) + i);
	assert_int_equal(change(s, &g, NULL, &in), 0);
	ut_stack_pass(s, TICK, TICK);
	while (take(s, &f)) {
		const uint8_t *p = f.b + 14 + 24;
		unsigned int records = ut_get16(p + 6);

		frames++;
		assert_true(f.len <= 1514);
		p += 8;
		while (records-- > 0) {
			unsigned int n = ut_get16(p + 2);

			assert_int_equal(p[0], 5);
			for (unsigned int i = 0; i < n; i++)
				seen[ut_get32(p + 8 + i * 4) - UT_IP(10, 1, 0, 0)]++;
			p += 8 + n * 4;
		}
		assert_true(p <= f.b + f.len);
	}
	assert_true(frames >= 3);
	for (unsigned int i = 0; i < N; i++)
		assert_int_equal(seen[i], 1);
	assert_int_equal(change(s, &g, &in, NULL), 0);
	free(source);
}

static int
join_once(void *arg)
{
	static const struct weir_mcast_filter in_a = {.include = true, .n = 1, .source = &src_a};
	const struct weir_addr g = group4();

	return change(arg, &g, NULL, &in_a);
}

static void
leave_again(void *arg)
{
	static const struct weir_mcast_filter in_a = {.include = true, .n = 1, .source = &src_a};
	const struct weir_addr g = group4();

	assert_int_equal(change(arg, &g, &in_a, NULL), 0);
}

static void
every_allocation_may_fail(void **state)
{
	struct ut_stack *s = up(state);

	assert_true(ut_fail_all(join_once, leave_again, s) >= 2);
}

/* ---- MLD ---- */

static void
joining_an_ipv6_group_is_reported(void **state)
{
	struct ut_stack *s = up(state);
	const struct weir_addr g = group6();
	struct ut_frame f;
	const uint8_t *ip, *p;

	assert_int_equal(change(s, &g, NULL, &all), 0);
	ut_stack_pass(s, TICK, TICK);
	assert_true(take(s, &f));
	assert_memory_equal(f.b, "\x33\x33\x00\x00\x00\x16", 6);
	assert_int_equal(ut_get16(f.b + 12), 0x86dd);
	ip = f.b + 14;
	assert_int_equal(ip[0] >> 4, 6);
	assert_int_equal(ut_get16(ip + 4), 8 + 28);
	assert_int_equal(ip[6], 0); /* hop-by-hop options */
	assert_int_equal(ip[7], 1);
	assert_memory_equal(ip + 24, "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x16", 16);
	assert_memory_equal(ip + 40, "\x3a\x00\x05\x02\x00\x00\x01\x00", 8);
	p = ip + 48;
	assert_int_equal(p[0], 143);
	assert_int_equal(ut_get16(p + 6), 1);
	assert_int_equal(p[8], 4);
	assert_memory_equal(p + 12, g.ip.b, 16);
	/* The sum, by the book: pseudo-header of RFC 8200 8.1. */
	{
		uint8_t pseudo[40 + 28];

		memcpy(pseudo, ip + 8, 32);
		ut_put32(pseudo + 32, 28);
		ut_put32(pseudo + 36, 58);
		memcpy(pseudo + 40, p, 28);
		assert_int_equal(ut_csum(pseudo, sizeof(pseudo), 0), 0);
	}
	assert_int_equal(within(s, 5 * S, &f), 1);
	assert_int_equal(change(s, &g, &all, NULL), 0);
	assert_int_equal(within(s, 5 * S, &f), 2);
	assert_int_equal(f.b[14 + 48 + 8], 3);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(joining_and_leaving_are_reported_twice),
		UT_STACK_TEST(sources_are_merged_over_members),
		UT_STACK_TEST(queries_are_answered_in_time),
		UT_STACK_TEST(older_queriers_are_spoken_to_in_their_way),
		UT_STACK_TEST(bad_messages_are_dropped),
		UT_STACK_TEST(nobody_hears_of_all_systems),
		UT_STACK_TEST(long_lists_take_several_frames),
		UT_STACK_TEST(every_allocation_may_fail),
		UT_STACK_TEST(joining_an_ipv6_group_is_reported),
	};

	return UT_RUN(cases, NULL, NULL);
}
