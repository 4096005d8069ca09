/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has an address: duplicate address detection of both families (RFC 4862 5.4, RFC 5227), announcements, and
 * what happens when somebody else uses an address of ours.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "common/ut_fail.h"
#include "common/ut_ndp.h"
#include "local.h"
#include "ndp.h"

#define NEW       "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x0a" /* fd00::a */
#define PEER      UT_PEER_IP6
#define OUR       UT_OUR_IP6
#define ALL_NODES "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"
#define NEW4      UT_IP(10, 0, 0, 10)
#define MAC_B     "\x02\x00\x00\x00\xbb\x02"
#define MS        WEIR_NS_PER_MS
#define SEC       WEIR_NS_PER_S

static struct ut_frame f;
static struct ut_nd n;

static void
up(struct ut_stack *s, unsigned int dad, unsigned int dad4)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.no_addresses = true;
	cfg.port.dad = dad;
	cfg.port.dad4 = dad4;
	ut_stack_up(s, &cfg);
}

static void
add(struct ut_stack *s, struct weir_addr a, uint8_t bits)
{
	struct weir_error err = {0};
	int ret = weir_addr_add(s->stack, 0, &a, bits, &err);

	ut_check(ret == 0, "address: %d %s", ret, err.text);
}

static bool
ours6(struct ut_stack *s, const void *ip)
{
	struct weir_addr a = ut_addr6(ip, 0);

	return weir_local6(s->stack, &a.ip, -1) == WEIR_LOCAL_UNICAST;
}

static bool
ours4(struct ut_stack *s, uint32_t ip)
{
	struct weir_addr a = weir_addr_v4(ip, 0);

	return weir_local4(s->stack, a.ip.v4) == WEIR_LOCAL_UNICAST;
}

/* Let time pass in steps of 10 ms until a frame is out, at most `most` ns; how long it took. */
static uint64_t
next_frame(struct ut_stack *s, uint64_t most)
{
	uint64_t start = ut_clock_now();

	while (!ut_stack_take(s, 0, &f)) {
		ut_check(ut_clock_now() - start <= most, "nothing within %u ms",
			 (unsigned int)(most / MS));
		ut_stack_pass(s, 10 * MS, 10 * MS);
	}
	return ut_clock_now() - start;
}

/* MLD reports and the like are not what is looked for here. */
static uint64_t
next_nd(struct ut_stack *s, uint64_t most)
{
	uint64_t took = 0;

	do
		took += next_frame(s, most);
	while (!ut_nd_is(&f, 135) && !ut_nd_is(&f, 136));
	return took;
}

static void
drain_others(struct ut_stack *s, const char *when)
{
	while (ut_stack_take(s, 0, &f))
		ut_check(!ut_nd_is(&f, 135) && !ut_nd_is(&f, 136) && ut_get16(f.b + 12) != 0x0806,
			 "%s: neighbour discovery was sent", when);
}

static void
an_address_is_ours_when_nobody_objects(void **state)
{
	struct ut_stack *s = *state;
	uint64_t least = UINT64_MAX, most = 0;

	for (unsigned int i = 0; i < 12; i++) {
		struct weir_addr a = ut_addr6(NEW, 0);
		uint64_t took;

		/* Another seed each time. */
		struct ut_stack_cfg cfg = ut_stack_cfg();

		cfg.no_addresses = true;
		cfg.port.dad = 1;
		cfg.stack.seed = i + 1;
		ut_stack_up(s, &cfg);
		add(s, a, 64);
		assert_false(ours6(s, NEW));
		took = next_nd(s, 1100 * MS);
		least = took < least ? took : least;
		most = took > most ? took : most;
		/* RFC 4862 5.4.2: from nobody, to the group, no link-layer address. */
		ut_check(ut_nd_is(&f, 135), "no solicitation");
		ut_check_bytes(f.b + 6, UT_OUR_MAC, 6, "source MAC");
		for (unsigned int k = 22; k < 38; k++)
			assert_int_equal(f.b[k], 0);
		ut_check_bytes(f.b + 38, ut_nd_group(NEW), 16, "group");
		ut_check_bytes(f.b + 62, NEW, 16, "target");
		assert_int_equal(f.len, 86);
		assert_int_equal(f.b[78], 14); /* a nonce */
		assert_int_equal(f.b[79], 1);
		assert_false(ours6(s, NEW));
		/* Asked for meanwhile: silence (5.4.3). */
		ut_nd_ns(&n, PEER, UT_PEER_MAC, NEW);
		ut_nd_rx(s, 0, &n);
		ut_stack_pass(s, 900 * MS, 50 * MS);
		drain_others(s, "while tentative");
		assert_false(ours6(s, NEW));
		ut_stack_pass(s, 250 * MS, 50 * MS);
		assert_true(ours6(s, NEW));
		/* Said aloud once, and answered for. */
		ut_check(next_nd(s, 200 * MS) <= 200 * MS && ut_nd_is(&f, 136), "announcement");
		ut_check_bytes(f.b + 38, ALL_NODES, 16, "to all nodes");
		ut_nd_ns(&n, PEER, UT_PEER_MAC, NEW);
		ut_nd_rx(s, 0, &n);
		(void)next_nd(s, 0);
		ut_check(ut_nd_is(&f, 136), "answer");
		ut_stack_down(s);
	}
	ut_check(most <= 1050 * MS && most - least > 200 * MS, "delays of %u to %u ms",
		 (unsigned int)(least / MS), (unsigned int)(most / MS));
}

static void
several_probes_are_sent_when_asked_for(void **state)
{
	struct ut_stack *s = *state;

	up(s, 3, 0);
	add(s, ut_addr6(NEW, 0), 64);
	(void)next_nd(s, 1100 * MS);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t took = next_nd(s, 1100 * MS);

		ut_check(took >= 950 * MS, "only %u ms between probes", (unsigned int)(took / MS));
		ut_check(ut_nd_is(&f, 135), "no probe");
	}
	assert_false(ours6(s, NEW));
	ut_stack_pass(s, 1200 * MS, 50 * MS);
	assert_true(ours6(s, NEW));
}

/* Each way in which somebody can be heard to have it. */
static void
an_address_that_somebody_has_is_not_ours(void **state)
{
	struct ut_stack *s = *state;
	enum { NA, NA_NO_OPTION, PROBE, OWN_NONCE, OTHER_NONCE, OUR_MAC, RESOLUTION, ANOTHER, N };
	static const bool duplicate[N] = {
		[NA] = true, [NA_NO_OPTION] = true, [PROBE] = true, [OTHER_NONCE] = true};

	for (int i = 0; i < N; i++) {
		up(s, 1, 0);
		add(s, ut_addr6(NEW, 0), 64);
		(void)next_nd(s, 1100 * MS);
		switch (i) {
		case NA:
			ut_nd_na(&n, NEW, MAC_B, ALL_NODES, UT_NA_O);
			break;
		case NA_NO_OPTION:
			ut_nd_na(&n, NEW, NULL, ALL_NODES, 0);
			break;
		case PROBE:
			ut_nd_ns(&n, NULL, MAC_B, NEW);
			break;
		case OWN_NONCE: /* our frame, come back by a loop (RFC 7527) */
			ut_nd_ns(&n, NULL, MAC_B, NEW);
			ut_nd_opt(&n, 14, f.b + 80);
			break;
		case OTHER_NONCE:
			ut_nd_ns(&n, NULL, MAC_B, NEW);
			ut_nd_opt(&n, 14, "abcdef");
			break;
		case OUR_MAC:
			ut_nd_ns(&n, NULL, UT_OUR_MAC, NEW);
			break;
		case RESOLUTION:
			ut_nd_ns(&n, PEER, MAC_B, NEW);
			break;
		case ANOTHER:
			ut_nd_na(&n, PEER, MAC_B, ALL_NODES, UT_NA_O);
			break;
		}
		ut_nd_rx(s, 0, &n);
		ut_stack_pass(s, 3 * SEC, 50 * MS);
		ut_check(ours6(s, NEW) != duplicate[i], "case %d: %s", i,
			 duplicate[i] ? "became ours" : "did not become ours");
		if (duplicate[i])
			drain_others(s, "for a duplicate");
		ut_stack_down(s);
	}
}

static void
a_duplicate_can_be_removed_and_tried_again(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr a = ut_addr6(NEW, 0);

	up(s, 1, 0);
	add(s, a, 64);
	(void)next_nd(s, 1100 * MS);
	ut_nd_na(&n, NEW, MAC_B, ALL_NODES, UT_NA_O);
	ut_nd_rx(s, 0, &n);
	ut_stack_pass(s, 3 * SEC, 50 * MS);
	assert_false(ours6(s, NEW));
	assert_int_equal(weir_addr_del(s->stack, 0, &a, NULL), 0);
	add(s, a, 64);
	ut_stack_pass(s, 3 * SEC, 50 * MS);
	assert_true(ours6(s, NEW));
	/* Removed while it is probed for: nothing comes of it. */
	a.ip.b[15] = 0x0b;
	add(s, a, 64);
	ut_stack_pass(s, 1050 * MS, 50 * MS);
	assert_int_equal(weir_addr_del(s->stack, 0, &a, NULL), 0);
	while (ut_stack_take(s, 0, &f))
		;
	ut_stack_pass(s, 3 * SEC, 50 * MS);
	drain_others(s, "after it was removed");
	assert_false(ours6(s, a.ip.b));
}

static bool
is_arp(uint32_t spa, uint32_t tpa)
{
	return ut_get16(f.b + 12) == 0x0806 && ut_get16(f.b + 20) == 1 &&
	       memcmp(f.b, UT_BROADCAST_MAC, 6) == 0 && ut_get32(f.b + 28) == spa &&
	       ut_get32(f.b + 38) == tpa;
}

/* RFC 5227 2.1.1, 2.3. */
static void
ipv4_addresses_are_probed_when_asked_for(void **state)
{
	struct ut_stack *s = *state;

	up(s, 0, 3);
	add(s, weir_addr_v4(NEW4, 0), 24);
	ut_check(next_frame(s, 1100 * MS) <= 1050 * MS && is_arp(0, NEW4), "first probe");
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t took = next_frame(s, 2100 * MS);

		ut_check(took >= 950 * MS, "only %u ms between probes", (unsigned int)(took / MS));
		ut_check(is_arp(0, NEW4), "probe");
	}
	assert_false(ours4(s, NEW4));
	ut_check(next_frame(s, 2300 * MS) >= 1950 * MS && is_arp(NEW4, NEW4), "announcement");
	assert_true(ours4(s, NEW4));
	ut_check(next_frame(s, 2100 * MS) >= 1950 * MS && is_arp(NEW4, NEW4), "second");
	ut_stack_pass(s, 10 * SEC, 50 * MS);
	drain_others(s, "afterwards");
}

static void
ipv4_addresses_that_somebody_has_are_not_ours(void **state)
{
	struct ut_stack *s = *state;
	const struct {
		const char *what;
		uint32_t spa, tpa;
		uint16_t op;
		const char *mac;
		bool duplicate;
	} row[] = {
		{"reply", NEW4, 0, 2, MAC_B, true},
		{"request from it", NEW4, UT_IP(10, 0, 0, 3), 1, MAC_B, true},
		{"gratuitous", NEW4, NEW4, 1, MAC_B, true},
		{"probe for it", 0, NEW4, 1, MAC_B, true},
		{"our own probe", 0, NEW4, 1, UT_OUR_MAC, false},
		{"question for it", UT_IP(10, 0, 0, 3), NEW4, 1, MAC_B, false},
		{"probe for another", 0, UT_IP(10, 0, 0, 3), 1, MAC_B, false},
	};

	for (size_t i = 0; i < UT_N(row); i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		up(s, 0, 1);
		add(s, weir_addr_v4(NEW4, 0), 24);
		(void)next_frame(s, 1100 * MS);
		p.arp_op = row[i].op;
		p.arp_spa = row[i].spa;
		p.arp_tpa = row[i].tpa;
		memcpy(p.arp_sha, row[i].mac, 6);
		memcpy(p.eth_src, row[i].mac, 6);
		ut_stack_rx(s, 0, &p);
		ut_check(ut_stack_pending(s, 0) == 0, "%s: answered", row[i].what);
		ut_stack_pass(s, 5 * SEC, 50 * MS);
		ut_check(ours4(s, NEW4) != row[i].duplicate, "%s: %s", row[i].what,
			 row[i].duplicate ? "became ours" : "did not become ours");
		ut_stack_down(s);
	}
}

/* ---- announcements ---- */

static void
addresses_are_announced(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int arp = 0, na = 0;

	cfg.ip6 = true;
	cfg.announcements = true;
	ut_stack_up(s, &cfg);
	ut_stack_pass(s, 5 * SEC, 50 * MS);
	while (ut_stack_take(s, 0, &f)) {
		arp += is_arp(UT_OUR_IP, UT_OUR_IP);
		if (!ut_nd_is(&f, 136))
			continue;
		na++;
		ut_check_bytes(f.b + 22, OUR, 16, "source");
		ut_check_bytes(f.b + 38, ALL_NODES, 16, "destination");
		assert_int_equal(ut_get32(f.b + 58), 0x20000000);
		ut_check_bytes(f.b + 62, OUR, 16, "target");
		ut_check_bytes(f.b + 78, "\x02\x01" UT_OUR_MAC, 8, "our MAC");
	}
	ut_check(arp == 1 && na == 1, "at start: %u gratuitous ARP, %u NA", arp, na);
	/* One that is added while the stack runs. */
	add(s, weir_addr_v4(NEW4, 0), 24);
	ut_stack_pass(s, 5 * SEC, 50 * MS);
	arp = 0;
	while (ut_stack_take(s, 0, &f))
		arp += is_arp(NEW4, NEW4);
	assert_int_equal(arp, 1);
	/* All of them when the link comes back. */
	assert_int_equal(testport_set_link(s->ethdev[0], false), 0);
	ut_stack_pass(s, SEC, 50 * MS);
	assert_int_equal(testport_set_link(s->ethdev[0], true), 0);
	ut_stack_pass(s, SEC, 50 * MS);
	arp = na = 0;
	while (ut_stack_take(s, 0, &f)) {
		arp += is_arp(UT_OUR_IP, UT_OUR_IP) || is_arp(NEW4, NEW4);
		na += ut_nd_is(&f, 136);
	}
	ut_check(arp == 2 && na == 1, "link up: %u gratuitous ARP, %u NA", arp, na);
}

static void
a_port_may_keep_silent(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int said = 0;

	cfg.ip6 = true;
	cfg.announcements = true;
	cfg.port.no_announce = true;
	cfg.port.dad4 = 1; /* what is probed for is still probed for */
	ut_stack_up(s, &cfg);
	ut_stack_pass(s, 5 * SEC, 50 * MS);
	assert_true(ours4(s, UT_OUR_IP));
	assert_int_equal(testport_set_link(s->ethdev[0], false), 0);
	ut_stack_pass(s, SEC, 50 * MS);
	assert_int_equal(testport_set_link(s->ethdev[0], true), 0);
	ut_stack_pass(s, 5 * SEC, 50 * MS);
	while (ut_stack_take(s, 0, &f))
		said += is_arp(UT_OUR_IP, UT_OUR_IP) || ut_nd_is(&f, 136);
	assert_int_equal(said, 0);
}

static void
without_a_link_nobodys_silence_counts(void **state)
{
	struct ut_stack *s = *state;

	up(s, 1, 0);
	assert_int_equal(testport_set_link(s->ethdev[0], false), 0);
	ut_stack_pass(s, SEC, 50 * MS);
	add(s, ut_addr6(NEW, 0), 64);
	ut_stack_pass(s, 10 * SEC, 50 * MS);
	assert_false(ours6(s, NEW));
	assert_int_equal(testport_set_link(s->ethdev[0], true), 0);
	(void)next_nd(s, 1300 * MS);
	ut_check(ut_nd_is(&f, 135), "probe");
	ut_stack_pass(s, 1200 * MS, 50 * MS);
	assert_true(ours6(s, NEW));
}

/* ---- conflicts ---- */

static void
an_address_in_use_is_defended_now_and_then(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int arp = 0, na = 0;

	cfg.ip6 = true;
	ut_stack_up(s, &cfg);
	/* A hundred a second for a minute of each. */
	for (unsigned int i = 0; i < 6000; i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		p.arp_spa = p.arp_tpa = UT_OUR_IP;
		memcpy(p.arp_sha, MAC_B, 6);
		ut_stack_rx(s, 0, &p);
		ut_nd_na(&n, OUR, MAC_B, ALL_NODES, UT_NA_O);
		/* From an address of ours rx refuses it; so an impostor speaks from another. */
		memcpy(n.p.ip6_src, PEER, 16);
		ut_nd_rx(s, 0, &n);
		ut_stack_pass(s, 10 * MS, 10 * MS);
		while (ut_stack_take(s, 0, &f)) {
			arp += is_arp(UT_OUR_IP, UT_OUR_IP);
			na += ut_nd_is(&f, 136);
			ut_check(ut_get16(f.b + 12) != 0x0806 || is_arp(UT_OUR_IP, UT_OUR_IP),
				 "another ARP packet");
		}
	}
	ut_check(arp >= 5 && arp <= 7 && na >= 5 && na <= 7, "defended %u and %u times in a minute",
		 arp, na);
	assert_int_equal(weir_dad_conflicts(s->stack), 12000);
	/* They are still ours. */
	assert_true(ours6(s, OUR));
	assert_true(ours4(s, UT_OUR_IP));
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "conflicts");
}

/* ---- memory ---- */

static int
attempt(void *arg)
{
	struct ut_stack *s = arg;
	struct weir_addr a = ut_addr6(NEW, 0);

	return weir_dad_start(s->stack, s->stack->ports[0], &a);
}

static void
undo(void *arg)
{
	struct ut_stack *s = arg;
	struct weir_addr a = ut_addr6(NEW, 0);

	weir_dad_stop(s->stack, s->stack->ports[0], &a);
}

static void
no_memory_no_claim(void **state)
{
	struct ut_stack *s = *state;

	up(s, 1, 0);
	assert_int_equal(ut_fail_all(attempt, undo, s), 1);
	undo(s);
	undo(s); /* harmless */
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(an_address_is_ours_when_nobody_objects),
		UT_STACK_TEST(several_probes_are_sent_when_asked_for),
		UT_STACK_TEST(an_address_that_somebody_has_is_not_ours),
		UT_STACK_TEST(a_duplicate_can_be_removed_and_tried_again),
		UT_STACK_TEST(ipv4_addresses_are_probed_when_asked_for),
		UT_STACK_TEST(ipv4_addresses_that_somebody_has_are_not_ours),
		UT_STACK_TEST(addresses_are_announced),
		UT_STACK_TEST(a_port_may_keep_silent),
		UT_STACK_TEST(without_a_link_nobodys_silence_counts),
		UT_STACK_TEST(an_address_in_use_is_defended_now_and_then),
		UT_STACK_TEST(no_memory_no_claim),
	};

	return UT_RUN(cases, NULL, NULL);
}
