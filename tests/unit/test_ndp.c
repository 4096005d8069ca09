/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv6 neighbour discovery and router discovery on the wire (RFC 4861): what is asked, answered, believed, and
 * what is refused. The states themselves and the table are test_neigh.c's.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "common/ut_ndp.h"
#include "fib.h"
#include "local.h"
#include "neigh.h"

#define PEER      UT_PEER_IP6
#define OUR       UT_OUR_IP6
#define OTHER     "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\x77\x77"
#define ROUTER    "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x99"
#define ROUTER2   "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x98"
#define ALL_NODES "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"
#define MAC_A     "\x02\x00\x00\x00\xaa\x01"
#define MAC_B     "\x02\x00\x00\x00\xbb\x02"
#define MS        WEIR_NS_PER_MS
#define SEC       WEIR_NS_PER_S

static struct ut_frame f;
static struct ut_nd n;

static struct ut_stack_cfg
cfg6(void)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.ip6 = true;
	return cfg;
}

static ssize_t
send_byte(struct ut_stack *s, struct weir_socket *sk, const void *ip, uint8_t byte)
{
	struct weir_addr to = ut_addr6(ip, UT_PEER_PORT);

	return weir_send(s->w[0], sk, &byte, 1, &to);
}

/* The next frame that is no report of the groups that we listen to. */
static bool
take(struct ut_stack *s)
{
	while (ut_stack_take(s, 0, &f))
		if (f.len < 62 || f.b[20] != 0 || ut_get16(f.b + 12) != 0x86dd)
			return true;
	return false;
}

static void
must_take(struct ut_stack *s)
{
	ut_check(take(s), "nothing was sent");
}

static void
take_byte(struct ut_stack *s, uint8_t byte, const char *mac)
{
	must_take(s);
	ut_check(f.len == 63 && ut_get16(f.b + 12) == 0x86dd, "a frame of %u bytes, type %04x",
		 f.len, ut_get16(f.b + 12));
	ut_check(f.b[62] == byte, "datagram %u instead of %u", f.b[62], byte);
	ut_check_bytes(f.b, mac, 6, "destination MAC");
}

/* The next frame asks for target: mac NULL: its group, else that station. */
static void
take_ask(struct ut_stack *s, const void *target, const char *mac)
{
	must_take(s);
	ut_check(ut_nd_is(&f, 135), "no neighbour solicitation: %u bytes, type %04x, %u", f.len,
		 ut_get16(f.b + 12), f.b[54]);
	assert_int_equal(f.len, 86);
	ut_check_bytes(f.b + 62, target, 16, "target");
	if (mac == NULL) {
		ut_check_bytes(f.b, "\x33\x33\xff", 3, "MAC of the group");
		ut_check_bytes(f.b + 3, (const uint8_t *)target + 13, 3, "MAC of the group");
		ut_check_bytes(f.b + 38, ut_nd_group(target), 16, "group");
	} else {
		ut_check_bytes(f.b, mac, 6, "MAC of the station");
		ut_check_bytes(f.b + 38, target, 16, "address of the station");
	}
	ut_check_bytes(f.b + 78, "\x01\x01" UT_OUR_MAC, 8, "source link-layer address");
}

static void
nothing_sent(struct ut_stack *s, const char *when)
{
	ut_check(!take(s), "%s: a frame of %u bytes was sent", when, f.len);
}

static void
must_be(struct ut_stack *s, const void *ip, const char *want, const char *mac, const char *what)
{
	struct weir_addr a = ut_addr6(ip, 0);
	uint8_t got[6];
	const char *state = weir_neigh_state(s->stack, 0, &a, got);

	ut_check(strcmp(state, want) == 0, "%s: neighbour is %s, not %s", what, state, want);
	if (mac != NULL)
		ut_check(memcmp(got, mac, 6) == 0, "%s: its MAC ends in %02x:%02x", what, got[4],
			 got[5]);
}

/* ---- resolution ---- */

static void
a_neighbour_is_found(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, 9000);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(send_byte(s, sk, PEER, i), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, NULL);
	ut_check_bytes(f.b + 22, OUR, 16, "source");
	ut_check_bytes(f.b + 6, UT_OUR_MAC, 6, "source MAC");
	nothing_sent(s, "before the answer");
	must_be(s, PEER, "incomplete", NULL, "asked");
	ut_nd_na(&n, PEER, MAC_A, OUR, UT_NA_S | UT_NA_O);
	ut_nd_rx(s, 0, &n);
	for (uint8_t i = 0; i < 3; i++)
		take_byte(s, i, MAC_A);
	must_be(s, PEER, "reachable", MAC_A, "answered");
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of it");

	/* Aged, used, asked alone after five seconds, and again twice, then given up. */
	ut_stack_pass(s, 46 * SEC, 500 * MS);
	must_be(s, PEER, "stale", MAC_A, "aged");
	assert_int_equal(send_byte(s, sk, PEER, 4), 1);
	ut_stack_poll(s);
	take_byte(s, 4, MAC_A);
	nothing_sent(s, "at first use");
	ut_stack_pass(s, 5100 * MS, 50 * MS);
	take_ask(s, PEER, MAC_A);
	ut_stack_pass(s, 2 * SEC, 50 * MS);
	take_ask(s, PEER, MAC_A);
	take_ask(s, PEER, MAC_A);
	ut_stack_pass(s, SEC, 50 * MS);
	must_be(s, PEER, "failed", NULL, "not answered");
}

static void
who_does_not_answer_is_unreachable(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_sockerr e;
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, 9000);
	assert_int_equal(weir_socket_set(sk, WEIR_OPT_RECVERR6, 1), 0);
	assert_int_equal(send_byte(s, sk, PEER, 0x5a), 1);
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 3; i++) {
		take_ask(s, PEER, NULL);
		ut_stack_pass(s, SEC, 50 * MS);
	}
	ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "given up");
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(e.err, EHOSTUNREACH);
	assert_int_equal(e.origin, 3);
	assert_int_equal(e.type, 1);
	assert_int_equal(e.code, 3);
	ut_check_bytes(e.to.ip.b, PEER, 16, "where it was sent");
	assert_int_equal(e.to.family, WEIR_IPV6);
	assert_int_equal(e.len, 1);
	assert_int_equal(e.payload[0], 0x5a);
}

static void
we_answer_for_our_addresses(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	ut_nd_ns(&n, PEER, MAC_A, OUR);
	ut_nd_rx(s, 0, &n);
	must_take(s);
	ut_check(ut_nd_is(&f, 136), "no advertisement");
	ut_check_bytes(f.b, MAC_A, 6, "to the station");
	ut_check_bytes(f.b + 22, OUR, 16, "source");
	ut_check_bytes(f.b + 38, PEER, 16, "destination");
	assert_int_equal(ut_get32(f.b + 58), 0x60000000);
	ut_check_bytes(f.b + 62, OUR, 16, "target");
	ut_check_bytes(f.b + 78, "\x02\x01" UT_OUR_MAC, 8, "target link-layer address");
	must_be(s, PEER, "stale", MAC_A, "who asks");
	/* Without the option: to where the frame came from; nothing learned. */
	ut_nd_start(&n, 135, OTHER, MAC_B, OUR);
	ut_nd_put(&n, OUR, 16);
	ut_nd_rx(s, 0, &n);
	must_take(s);
	ut_check_bytes(f.b, MAC_B, 6, "to the station that asks");
	must_be(s, OTHER, "none", NULL, "no link-layer address");
	/* A probe: to all nodes. */
	ut_nd_ns(&n, NULL, MAC_B, OUR);
	ut_nd_rx(s, 0, &n);
	must_take(s);
	ut_check(ut_nd_is(&f, 136), "no advertisement");
	ut_check_bytes(f.b, "\x33\x33\0\0\0\x01", 6, "to all nodes");
	ut_check_bytes(f.b + 38, ALL_NODES, 16, "to all nodes");
	assert_int_equal(ut_get32(f.b + 58), 0x20000000);
	/* Not ours, or ours on the other port: silence, and nothing is learned. */
	ut_nd_ns(&n, OTHER, MAC_B, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x05");
	memcpy(n.p.ip6_dst, OUR, 16);
	memcpy(n.p.eth_dst, UT_OUR_MAC, 6);
	ut_nd_rx(s, 0, &n);
	ut_nd_ns(&n, OTHER, MAC_B, "\xfd\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01");
	ut_nd_rx(s, 0, &n);
	nothing_sent(s, "for others");
	assert_int_equal(ut_stack_pending(s, 1), 0);
	must_be(s, OTHER, "none", NULL, "did not concern us");
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of it");
}

/* ---- what is refused: RFC 4861 6.1, 7.1, 8.1 ---- */

enum bad {
	HOPS,
	CODE,
	SHORT,
	TARGET_GROUP,
	OPT_ZERO,
	OPT_BEYOND,
	OPT_STUB,
	FRAGMENT,
	PROBE_UNICAST,
	PROBE_SLLA,
	GROUP_SOLICITED,
	GLOBAL,
	REDIRECT_GROUP,
	REDIRECT_TARGET,
	BADS,
};

static void
spoil(enum bad what)
{
	switch (what) {
	case HOPS:
		n.p.ip_ttl = 254;
		break;
	case CODE:
		n.p.icmp_code = 1;
		break;
	case SHORT:
		n.len = n.p.icmp_type == 134 ? 7 : n.p.icmp_type == 137 ? 31 : 15;
		break;
	case TARGET_GROUP:
		memcpy(n.body, ALL_NODES, 16);
		break;
	case OPT_ZERO:
		ut_nd_put(&n, "\x0e\x00\0\0\0\0\0\0", 8);
		break;
	case OPT_BEYOND:
		ut_nd_put(&n, "\x0e\x02\0\0\0\0\0\0", 8);
		break;
	case OPT_STUB:
		ut_nd_put(&n, "\x0e\x01\0\0\0\0\0", 7);
		break;
	case PROBE_UNICAST:
		ut_nd_start(&n, 135, NULL, MAC_A, OUR);
		ut_nd_put(&n, OUR, 16);
		break;
	case PROBE_SLLA:
		ut_nd_ns(&n, NULL, MAC_A, OUR);
		ut_nd_opt(&n, 1, MAC_A);
		break;
	case GROUP_SOLICITED:
		ut_nd_na(&n, PEER, MAC_A, ALL_NODES, UT_NA_S | UT_NA_O);
		break;
	case GLOBAL:
		memcpy(n.p.ip6_src, PEER, 16);
		break;
	case REDIRECT_GROUP:
		memcpy(n.body + 16, ALL_NODES, 16);
		break;
	case REDIRECT_TARGET:
		memcpy(n.body, PEER, 16);
		break;
	case FRAGMENT:
	case BADS:
		break;
	}
}

static void
bad_messages_are_dropped(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	static const struct {
		uint8_t type;
		uint32_t bad; /* which faults it can have */
	} row[] = {
		{135, 1 << HOPS | 1 << CODE | 1 << SHORT | 1 << TARGET_GROUP | 1 << OPT_ZERO |
			      1 << OPT_BEYOND | 1 << OPT_STUB | 1 << PROBE_UNICAST |
			      1 << PROBE_SLLA},
		{136, 1 << HOPS | 1 << CODE | 1 << SHORT | 1 << TARGET_GROUP | 1 << OPT_ZERO |
			      1 << OPT_BEYOND | 1 << OPT_STUB | 1 << GROUP_SOLICITED},
		{133, 1 << HOPS | 1 << CODE | 1 << OPT_ZERO | 1 << OPT_BEYOND | 1 << OPT_STUB},
		{134, 1 << HOPS | 1 << CODE | 1 << SHORT | 1 << OPT_ZERO | 1 << OPT_BEYOND |
			      1 << OPT_STUB | 1 << GLOBAL},
		{137, 1 << HOPS | 1 << CODE | 1 << SHORT | 1 << OPT_ZERO | 1 << OPT_BEYOND |
			      1 << OPT_STUB | 1 << GLOBAL | 1 << REDIRECT_GROUP |
			      1 << REDIRECT_TARGET},
	};

	cfg.port.accept_ra = true;
	ut_stack_up(s, &cfg);
	for (size_t i = 0; i < UT_N(row); i++) {
		/* BADS: nothing is wrong with it. */
		for (enum bad b = HOPS; b <= BADS; b++) {
			char what[64];

			if (b != BADS && (row[i].bad >> b & 1) == 0)
				continue;
			snprintf(what, sizeof(what), "type %u, fault %u", row[i].type, b);
			switch (row[i].type) {
			case 135:
				ut_nd_ns(&n, PEER, MAC_A, OUR);
				break;
			case 136:
				ut_nd_na(&n, PEER, MAC_A, OUR, UT_NA_S | UT_NA_O);
				break;
			case 137:
				ut_nd_start(&n, 137, ROUTER, MAC_A, OUR);
				ut_nd_put(&n, ROUTER2, 16);
				ut_nd_put(&n, OTHER, 16);
				break;
			default:
				ut_nd_start(&n, row[i].type, ROUTER, MAC_A,
					    row[i].type == 133 ? OUR : ALL_NODES);
				if (row[i].type == 134)
					ut_nd_put(&n, "\0\0\0\0\0\0\0\0", 8);
			}
			spoil(b);
			ut_nd_rx(s, 0, &n);
			ut_stack_only_drop(s, b == BADS ? WEIR_DROP_N : WEIR_DROP_ND_BAD,
					   b == BADS ? 0 : 1, what);
			if (b != BADS) {
				nothing_sent(s, what);
				must_be(s, PEER, "none", NULL, what);
			}
		}
		testport_discard(s->ethdev[0]);
		struct weir_addr a = ut_addr6(PEER, 0);

		(void)weir_neigh_del(s->stack, 0, &a, NULL);
	}
}

/* ---- RFC 4861 7.2.5, line by line ---- */

enum start { NONE, ASKED, REACHABLE, STALE, DELAY, PROBE, FAILED, FIXED };

static void
bring_to(struct ut_stack *s, struct weir_socket *sk, enum start st)
{
	struct weir_addr a = ut_addr6(PEER, 0);

	switch (st) {
	case NONE:
		return;
	case FIXED:
		assert_int_equal(weir_neigh_add(s->stack, 0, &a, (const uint8_t *)MAC_A, NULL), 0);
		return;
	case STALE:
		ut_nd_ns(&n, PEER, MAC_A, OUR);
		ut_nd_rx(s, 0, &n);
		break;
	case DELAY:
	case PROBE:
		bring_to(s, sk, STALE);
		assert_int_equal(send_byte(s, sk, PEER, 1), 1);
		if (st == PROBE)
			ut_stack_pass(s, 5100 * MS, 50 * MS);
		break;
	default:
		assert_int_equal(send_byte(s, sk, PEER, 1), 1);
		if (st == FAILED)
			ut_stack_pass(s, 3100 * MS, 50 * MS);
		if (st == REACHABLE) {
			ut_stack_poll(s);
			ut_nd_na(&n, PEER, MAC_A, OUR, UT_NA_S);
			ut_nd_rx(s, 0, &n);
		}
	}
	ut_stack_poll(s);
	testport_discard(s->ethdev[0]);
}

static void
advertisements_are_believed_by_the_rules(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	static const char *const names[] = {"none",  "incomplete", "reachable", "stale",
					    "delay", "probe",      "failed",    "permanent"};
	const struct {
		enum start from;
		uint16_t flags;
		const char *mac;         /* in the advertisement; NULL: none */
		const char *state, *now; /* afterwards */
	} row[] = {
		{NONE, UT_NA_S | UT_NA_O, MAC_B, "none", NULL},
		{NONE, UT_NA_O, MAC_B, "none", NULL},
		{ASKED, UT_NA_S, NULL, "incomplete", NULL},
		{ASKED, UT_NA_S, MAC_B, "reachable", MAC_B},
		{ASKED, UT_NA_S | UT_NA_O, MAC_B, "reachable", MAC_B},
		{ASKED, 0, MAC_B, "stale", MAC_B},
		{ASKED, UT_NA_O, MAC_B, "stale", MAC_B},
		/* Override clear, another MAC. */
		{REACHABLE, 0, MAC_B, "stale", MAC_A},
		{REACHABLE, UT_NA_S, MAC_B, "stale", MAC_A},
		{STALE, 0, MAC_B, "stale", MAC_A},
		{STALE, UT_NA_S, MAC_B, "stale", MAC_A},
		{DELAY, UT_NA_S, MAC_B, "delay", MAC_A},
		{PROBE, UT_NA_S, MAC_B, "probe", MAC_A},
		/* Override set, another MAC. */
		{REACHABLE, UT_NA_O, MAC_B, "stale", MAC_B},
		{REACHABLE, UT_NA_S | UT_NA_O, MAC_B, "reachable", MAC_B},
		{STALE, UT_NA_O, MAC_B, "stale", MAC_B},
		{STALE, UT_NA_S | UT_NA_O, MAC_B, "reachable", MAC_B},
		{DELAY, UT_NA_O, MAC_B, "stale", MAC_B},
		{PROBE, UT_NA_O, MAC_B, "stale", MAC_B},
		{PROBE, UT_NA_S | UT_NA_O, MAC_B, "reachable", MAC_B},
		/* The same MAC, or none. */
		{REACHABLE, 0, MAC_A, "reachable", MAC_A},
		{REACHABLE, UT_NA_O, MAC_A, "reachable", MAC_A},
		{STALE, 0, MAC_A, "stale", MAC_A},
		{STALE, UT_NA_O, MAC_A, "stale", MAC_A},
		{STALE, UT_NA_S, MAC_A, "reachable", MAC_A},
		{STALE, UT_NA_S, NULL, "reachable", MAC_A},
		{DELAY, 0, MAC_A, "delay", MAC_A},
		{DELAY, UT_NA_S, MAC_A, "reachable", MAC_A},
		{PROBE, 0, NULL, "probe", MAC_A},
		{PROBE, UT_NA_S, NULL, "reachable", MAC_A},
		/* A late answer is still one. */
		{FAILED, UT_NA_S, MAC_B, "reachable", MAC_B},
		{FAILED, UT_NA_S, NULL, "failed", NULL},
		{FAILED, 0, MAC_B, "stale", MAC_B},
		{FIXED, UT_NA_S | UT_NA_O, MAC_B, "permanent", MAC_A},
	};

	for (size_t i = 0; i < UT_N(row); i++) {
		struct weir_socket *sk;
		char what[96];

		ut_stack_up(s, &cfg);
		sk = ut_stack_socket6(s, 9000);
		bring_to(s, sk, row[i].from);
		must_be(s, PEER, names[row[i].from], NULL, "before");
		snprintf(what, sizeof(what), "row %zu: %s, flags %04x, %s", i, names[row[i].from],
			 row[i].flags,
			 row[i].mac == NULL                  ? "no MAC"
			 : memcmp(row[i].mac, MAC_A, 6) == 0 ? "same MAC"
							     : "another MAC");
		ut_nd_na(&n, PEER, row[i].mac, OUR, row[i].flags);
		ut_nd_rx(s, 0, &n);
		must_be(s, PEER, row[i].state, row[i].now, what);
		ut_stack_down(s);
	}
}

/* Mentions: NS and the like. */
static void
solicitations_are_believed_by_the_rules(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	const struct {
		enum start from;
		const char *mac;
		const char *state, *now;
	} row[] = {
		{NONE, MAC_B, "stale", MAC_B},          {ASKED, MAC_B, "stale", MAC_B},
		{REACHABLE, MAC_A, "reachable", MAC_A}, {REACHABLE, MAC_B, "stale", MAC_B},
		{STALE, MAC_A, "stale", MAC_A},         {STALE, MAC_B, "stale", MAC_B},
		{DELAY, MAC_A, "delay", MAC_A},         {DELAY, MAC_B, "stale", MAC_B},
		{PROBE, MAC_A, "probe", MAC_A},         {PROBE, MAC_B, "stale", MAC_B},
		{FAILED, MAC_B, "stale", MAC_B},        {FIXED, MAC_B, "permanent", MAC_A},
	};

	for (size_t i = 0; i < UT_N(row); i++) {
		struct weir_socket *sk;
		char what[32];

		ut_stack_up(s, &cfg);
		sk = ut_stack_socket6(s, 9000);
		bring_to(s, sk, row[i].from);
		snprintf(what, sizeof(what), "row %zu", i);
		ut_nd_ns(&n, PEER, row[i].mac, OUR);
		ut_nd_rx(s, 0, &n);
		must_be(s, PEER, row[i].state, row[i].now, what);
		ut_stack_down(s);
	}
}

/* ---- routers ---- */

static void
ra_start(const void *from, uint8_t hops, uint8_t flags, uint16_t lifetime_s, uint32_t reachable_ms,
	 uint32_t retrans_ms)
{
	uint8_t times[8];

	ut_nd_start(&n, 134, from, MAC_A, ALL_NODES);
	n.p.icmp_id = (uint16_t)(hops << 8 | flags);
	n.p.icmp_seq = lifetime_s;
	ut_put32(times, reachable_ms);
	ut_put32(times + 4, retrans_ms);
	ut_nd_put(&n, times, 8);
	ut_nd_opt(&n, 1, MAC_A);
}

static void
ra_prefix(const void *prefix, uint8_t bits, uint8_t flags, uint32_t valid_s, uint32_t preferred_s)
{
	uint8_t o[32] = {3, 4, bits, flags};

	ut_put32(o + 4, valid_s);
	ut_put32(o + 8, preferred_s);
	memcpy(o + 16, prefix, 16);
	ut_nd_put(&n, o, sizeof(o));
}

#define PREFIX  "\x20\x01\x0d\xb8\0\x01\0\0\0\0\0\0\0\0\0\0"
#define SLAAC   "\x20\x01\x0d\xb8\0\x01\0\0\0\0\0\xff\xfe\0\0\x01"
#define FARAWAY "\x20\x01\x0d\xb8\0\x99\0\0\0\0\0\0\0\0\0\x07"

static bool
is_ours(struct ut_stack *s, const void *ip)
{
	struct weir_addr a = ut_addr6(ip, 0);

	return weir_local6(s->stack, &a.ip, -1) == WEIR_LOCAL_UNICAST;
}

static void
routers_are_solicited_until_one_answers(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	unsigned int asked = 0;
	uint64_t at = 0, gap = 0;

	cfg.port.accept_ra = true;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	testport_discard(s->ethdev[0]);
	for (unsigned int t = 0; t < 1000; t++) {
		ut_stack_pass(s, 100 * MS, 50 * MS);
		while (ut_stack_take(s, 0, &f)) {
			uint64_t now = ut_clock_now();

			if (!ut_nd_is(&f, 133))
				continue;
			ut_check_bytes(f.b, "\x33\x33\0\0\0\x02", 6, "to all routers");
			assert_int_equal(f.b[22], 0xfe);
			ut_check_bytes(f.b + 62, "\x01\x01" UT_OUR_MAC, 8, "our MAC");
			if (asked == 0)
				ut_check(t <= 10, "first after %u00 ms", t);
			else
				ut_check(asked == 1 || now - at > gap * 3 / 2, "number %u too soon",
					 asked);
			gap = asked == 0 ? 0 : now - at;
			at = now;
			asked++;
		}
	}
	/* 0, 4, 12, 28, 60 seconds or so. */
	ut_check(asked >= 4 && asked <= 6, "%u solicitations in 100 s", asked);
	ra_start(ROUTER, 0, 0, 1800, 0, 0);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 300 * SEC, 500 * MS);
	while (ut_stack_take(s, 0, &f))
		ut_check(!ut_nd_is(&f, 133), "solicited after an answer");
}

static void
an_advertisement_gives_address_and_route(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;
	const struct weir_port *port;

	cfg.port.accept_ra = true;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	port = s->stack->ports[0];
	sk = ut_stack_socket6(s, 9000);
	assert_int_equal(send_byte(s, sk, FARAWAY, 0), -ENETUNREACH);
	ra_start(ROUTER, 33, 0, 1800, 60000, 2000);
	ra_prefix(PREFIX, 64, 0xc0, 3600, 1800);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	assert_true(is_ours(s, SLAAC));
	assert_int_equal(port->cur_hop_limit, 33);
	must_be(s, ROUTER, "stale", MAC_A, "the router");
	testport_discard(s->ethdev[0]);
	/* Through the router, from the new address. */
	assert_int_equal(send_byte(s, sk, FARAWAY, 1), 1);
	ut_stack_poll(s);
	take_byte(s, 1, MAC_A);
	ut_check_bytes(f.b + 22, SLAAC, 16, "source");
	/* The retransmission timer is the router's. */
	assert_int_equal(send_byte(s, sk, "\x20\x01\x0d\xb8\0\x01\0\0\0\0\0\0\0\0\0\x05", 2), 1);
	ut_stack_pass(s, 1900 * MS, 50 * MS);
	must_take(s);
	ut_check(ut_nd_is(&f, 135), "on-link by the prefix");
	nothing_sent(s, "before two seconds are over");
	ut_stack_pass(s, 200 * MS, 50 * MS);
	must_take(s);
	/* It is no router any more: an advertisement with lifetime 0. */
	ra_start(ROUTER, 0, 0, 0, 0, 0);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	testport_discard(s->ethdev[0]);
	assert_int_equal(send_byte(s, sk, FARAWAY, 3), -ENETUNREACH);
}

/* The R flag of a neighbour that was a router goes away: so does its route (7.2.5). */
static void
who_stops_being_a_router_is_none(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_socket *sk;

	cfg.port.accept_ra = true;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, 9000);
	ra_start(ROUTER, 0, 0, 1800, 0, 0);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	testport_discard(s->ethdev[0]);
	assert_int_equal(send_byte(s, sk, FARAWAY, 1), 1);
	ut_nd_na(&n, ROUTER, MAC_A, OUR, UT_NA_R | UT_NA_S);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	assert_int_equal(send_byte(s, sk, FARAWAY, 2), 1);
	ut_nd_na(&n, ROUTER, MAC_A, OUR, UT_NA_S);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	assert_int_equal(send_byte(s, sk, FARAWAY, 3), -ENETUNREACH);
	testport_discard(s->ethdev[0]);
}

static void
advertisements_are_not_taken_unless_asked_for(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();

	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	ra_start(ROUTER, 33, 0, 1800, 60000, 2000);
	ra_prefix(PREFIX, 64, 0xc0, 3600, 1800);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 10 * SEC, 100 * MS);
	assert_false(is_ours(s, SLAAC));
	assert_int_equal(s->stack->ports[0]->cur_hop_limit, 0);
	must_be(s, ROUTER, "none", NULL, "the router");
	assert_int_equal(ut_stack_since(s, rx_consumed[WEIR_PROTO_ND]), 1);
	while (ut_stack_take(s, 0, &f))
		ut_check(!ut_nd_is(&f, 133), "solicited");
}

static void
strange_prefixes_make_no_address(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	uint32_t before, after;

	cfg.port.accept_ra = true;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	(void)weir_local_addrs(s->stack, &before);
	ra_start(ROUTER, 0, 0, 0, 0, 0);
	ra_prefix(PREFIX, 63, 0xc0, 3600, 1800);  /* not 64 bits */
	ra_prefix(PREFIX, 129, 0xc0, 3600, 1800); /* beyond */
	ra_prefix(PREFIX, 64, 0x80, 3600, 1800);  /* on link only */
	ra_prefix(PREFIX, 64, 0x40, 1800, 3600);  /* preferred beyond valid */
	ra_prefix(PREFIX, 64, 0x40, 0, 0);        /* no life */
	ra_prefix("\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 64, 0xc0, 3600, 1800);
	ra_prefix("\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 64, 0xc0, 3600, 1800);
	ra_prefix("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 64, 0xc0, 3600, 1800);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 200 * MS, 50 * MS);
	(void)weir_local_addrs(s->stack, &after);
	assert_int_equal(after, before);
	testport_discard(s->ethdev[0]);
}

/* A flood of advertisements, each with its own router and prefix: bounded. */
static void
a_flood_of_advertisements_is_bounded(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();
	struct weir_addr peer = ut_addr6(PEER, 0);
	struct weir_socket *sk;
	uint32_t n_addr;

	cfg.port.accept_ra = true;
	cfg.port.no_link_local = false;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket6(s, 9000);
	assert_int_equal(weir_neigh_add(s->stack, 0, &peer, (const uint8_t *)MAC_B, NULL), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		uint8_t router[16], prefix[16];

		memcpy(router, ROUTER, 16);
		memcpy(prefix, PREFIX, 16);
		ut_put32(router + 8, i + 1);
		ut_put32(prefix + 4, i + 1);
		ra_start(router, 0, 0, 1800, 1, 1);
		ra_prefix(prefix, 64, 0xc0, 3600, 1800);
		ut_nd_rx(s, 0, &n);
		ut_clock_advance(MS);
		testport_discard(s->ethdev[0]);
	}
	ut_stack_pass(s, 200 * MS, 50 * MS);
	testport_discard(s->ethdev[0]);
	(void)weir_local_addrs(s->stack, &n_addr);
	ut_check(n_addr <= 3 + 16, "%u addresses", n_addr);
	assert_int_equal(send_byte(s, sk, PEER, 1), 1);
	ut_stack_poll(s);
	take_byte(s, 1, MAC_B);
}

static void
a_redirect_is_followed_when_allowed(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = cfg6();

	for (unsigned int accept = 0; accept < 2; accept++) {
		struct weir_socket *sk;

		cfg.port.accept_ra = true;
		cfg.port.no_link_local = false;
		cfg.port.accept_redirects = accept == 1;
		ut_stack_up(s, &cfg);
		sk = ut_stack_socket6(s, 9000);
		ra_start(ROUTER, 0, 0, 1800, 0, 0);
		ut_nd_rx(s, 0, &n);
		ut_stack_pass(s, 200 * MS, 50 * MS);
		testport_discard(s->ethdev[0]);
		ut_stack_mark(s);
		/* Not from the router that we use. */
		ut_nd_start(&n, 137, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x55", MAC_B, OUR);
		ut_nd_put(&n, ROUTER2, 16);
		ut_nd_put(&n, FARAWAY, 16);
		ut_nd_opt(&n, 2, MAC_B);
		ut_nd_rx(s, 0, &n);
		ut_stack_only_drop(s, WEIR_DROP_ND_BAD, accept, "from a stranger");
		ut_nd_start(&n, 137, ROUTER, MAC_A, OUR);
		ut_nd_put(&n, ROUTER2, 16);
		ut_nd_put(&n, FARAWAY, 16);
		ut_nd_opt(&n, 2, MAC_B);
		ut_nd_rx(s, 0, &n);
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "from the router");
		ut_stack_pass(s, 200 * MS, 50 * MS);
		testport_discard(s->ethdev[0]);
		assert_int_equal(send_byte(s, sk, FARAWAY, 1), 1);
		ut_stack_poll(s);
		take_byte(s, 1, accept == 1 ? MAC_B : MAC_A);
		ut_stack_down(s);
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(a_neighbour_is_found),
		UT_STACK_TEST(who_does_not_answer_is_unreachable),
		UT_STACK_TEST(we_answer_for_our_addresses),
		UT_STACK_TEST(bad_messages_are_dropped),
		UT_STACK_TEST(advertisements_are_believed_by_the_rules),
		UT_STACK_TEST(solicitations_are_believed_by_the_rules),
		UT_STACK_TEST(routers_are_solicited_until_one_answers),
		UT_STACK_TEST(an_advertisement_gives_address_and_route),
		UT_STACK_TEST(who_stops_being_a_router_is_none),
		UT_STACK_TEST(advertisements_are_not_taken_unless_asked_for),
		UT_STACK_TEST(strange_prefixes_make_no_address),
		UT_STACK_TEST(a_flood_of_advertisements_is_bounded),
		UT_STACK_TEST(a_redirect_is_followed_when_allowed),
	};

	return UT_RUN(cases, NULL, NULL);
}
