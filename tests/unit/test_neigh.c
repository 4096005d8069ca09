/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: ARP in and out, held datagrams, ages. Time is the test's; each worker's turn happens
 * when the test takes it, so that "by message" and "at house-keeping" can be told apart.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <limits.h>

#include "common/ut_clock.h"
#include "mesh.h"
#include "neigh.h"

#define PEER UT_PEER_IP
#define MS   WEIR_NS_PER_MS
#define SEC  WEIR_NS_PER_S

#define MAC_A "\x02\x00\x00\x00\xaa\x01"
#define MAC_B "\x02\x00\x00\x00\xbb\x02"

static struct ut_frame f;

static ssize_t
send_byte(struct weir_lcore *lc, struct weir_socket *sk, uint32_t ip, uint8_t byte)
{
	struct weir_addr to = weir_addr_v4(ip, UT_PEER_PORT);

	return weir_send(lc, sk, &byte, 1, &to);
}

/* The next frame is a datagram with this byte to this MAC. */
static void
take_byte(struct ut_stack *s, uint8_t byte, const char *mac)
{
	ut_stack_must_take(s, 0, &f);
	ut_check(f.len == 43 && ut_get16(f.b + 12) == 0x0800, "a frame of %u bytes, type %04x",
		 f.len, ut_get16(f.b + 12));
	ut_check(f.b[42] == byte, "datagram %u instead of %u", f.b[42], byte);
	ut_check_bytes(f.b, mac, 6, "destination MAC");
}

static void
take_ask(struct ut_stack *s, uint32_t ip, const char *to)
{
	ut_stack_must_take(s, 0, &f);
	ut_check(ut_frame_is_ask(&f, ip), "no ARP request: %u bytes, type %04x", f.len,
		 ut_get16(f.b + 12));
	ut_check_bytes(f.b, to, 6, "destination of the ARP request");
}

static void
nothing_sent(struct ut_stack *s, const char *when)
{
	ut_check(ut_stack_pending(s, 0) == 0, "%s: %u frames were sent", when,
		 ut_stack_pending(s, 0));
}

static const char *
state_of(struct ut_stack *s, uint32_t ip, uint8_t *mac)
{
	struct weir_addr a = weir_addr_v4(ip, 0);
	static uint8_t none[6];

	return weir_neigh_state(s->stack, 0, &a, mac != NULL ? mac : none);
}

static void
must_be(struct ut_stack *s, uint32_t ip, const char *want, const char *mac)
{
	uint8_t got[6];
	const char *state = state_of(s, ip, got);

	ut_check(strcmp(state, want) == 0, "neighbour is %s, not %s", state, want);
	if (mac != NULL)
		ut_check_bytes(got, mac, 6, "MAC of the neighbour");
}

/* ---- held datagrams ---- */

static void
the_first_datagrams_are_held_and_released_in_order(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt ask = ut_pkt_arp_request();
	struct weir_socket *sk;
	struct weir_stats st;
	uint8_t want[64];

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(send_byte(s->w[0], sk, PEER, i), 1);
	must_be(s, PEER, "incomplete", NULL);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	/* Byte for byte: who has PEER, tell us; padded to the minimum. */
	memcpy(ask.eth_src, UT_OUR_MAC, 6);
	memcpy(ask.arp_sha, UT_OUR_MAC, 6);
	memset(ask.arp_tha, 0, 6);
	ask.arp_spa = UT_OUR_IP;
	ask.arp_tpa = PEER;
	memset(want, 0, sizeof(want));
	assert_true(ut_pkt_bytes(&ask, want, 64) <= 60);
	assert_int_equal(f.len, 60);
	ut_check_bytes(f.b, want, 42, "ARP request");
	for (unsigned int i = 42; i < 60; i++)
		assert_int_equal(f.b[i], 0);
	nothing_sent(s, "before the reply");
	assert_int_equal(weir_stats_check(s->stack, &st), 0);
	assert_int_equal(st.tx_held, 3);

	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	for (uint8_t i = 0; i < 3; i++)
		take_byte(s, i, MAC_A);
	nothing_sent(s, "after the held ones");
	must_be(s, PEER, "reachable", MAC_A);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 9), 1);
	ut_stack_poll(s);
	take_byte(s, 9, MAC_A);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "all of it");
}

static void
a_full_hold_queue_drops_the_oldest(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk;

	for (uint8_t n = 2; n <= 4; n++) { /* limit - 1, limit, limit + 1 */
		struct ut_stack_cfg cfg = ut_stack_cfg();

		cfg.stack.hold = 3;
		ut_stack_up(s, &cfg);
		sk = ut_stack_socket(s, 9000);
		for (uint8_t i = 0; i < n; i++)
			assert_int_equal(send_byte(s->w[0], sk, PEER, i), 1);
		ut_stack_only_drop(s, WEIR_DROP_HOLD_FULL, n > 3, "hold queue");
		ut_stack_poll(s);
		take_ask(s, PEER, UT_BROADCAST_MAC);
		ut_stack_arp_reply(s, 0, PEER, MAC_A);
		for (uint8_t i = n > 3 ? 1 : 0; i < n; i++)
			take_byte(s, i, MAC_A);
		nothing_sent(s, "after the held ones");
		ut_stack_down(s);
	}
}

/* The fragments of a datagram are held, and dropped, together; they count as one. */
static void
fragments_are_held_as_one(void **state)
{
	struct ut_stack *s = *state;
	struct weir_addr to = weir_addr_v4(PEER, UT_PEER_PORT);
	static uint8_t big[3000];

	for (unsigned int n = 2; n <= 3; n++) {
		struct ut_stack_cfg cfg = ut_stack_cfg();
		struct weir_socket *sk;

		cfg.stack.hold = 2;
		ut_stack_up(s, &cfg);
		sk = ut_stack_socket(s, 9000);
		assert_int_equal(weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER, WEIR_PMTUD_DONT), 0);
		for (uint8_t i = 0; i < n;
		     i++) { /* two of 3 frames and one of 1, or the other way */
			const size_t len = i % 2 == 0 ? sizeof(big) : 1;

			memset(big, 'a' + i, sizeof(big));
			assert_int_equal(weir_send(s->w[0], sk, big, len, &to), len);
		}
		ut_stack_only_drop(s, WEIR_DROP_HOLD_FULL, n == 3 ? 3 : 0, "a whole datagram");
		ut_stack_poll(s);
		take_ask(s, PEER, UT_BROADCAST_MAC);
		ut_stack_arp_reply(s, 0, PEER, MAC_A);
		for (uint8_t i = (uint8_t)(n - 2); i < n; i++) {
			for (unsigned int k = 0; k < (i % 2 == 0 ? 3 : 1); k++) {
				ut_stack_must_take(s, 0, &f);
				ut_check_bytes(f.b, MAC_A, 6, "destination MAC");
				assert_int_equal((ut_get16(f.b + 20) & 0x1fff) * 8, k * 1480);
				assert_int_equal(f.b[f.len - 1], 'a' + i);
			}
		}
		nothing_sent(s, "after the held ones");
		ut_stack_down(s);
	}
}

static void
with_too_many_neighbours_waiting_the_oldest_gives_way(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.max_neigh = 256;
	cfg.dev.desc_max = 4096;
	cfg.port.tx_desc = 1024;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint8_t i = 0; i < 65; i++) {
		assert_int_equal(send_byte(s->w[0], sk, PEER + i, i), 1);
		ut_stack_only_drop(s, WEIR_DROP_HOLD_FULL, i == 64, "hold slots");
		ut_stack_pass(s, MS, MS);
		take_ask(s, PEER + i, UT_BROADCAST_MAC);
	}
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	nothing_sent(s, "for the one that gave way");
	ut_stack_arp_reply(s, 0, PEER + 1, MAC_A);
	take_byte(s, 1, MAC_A);
	ut_stack_arp_reply(s, 0, PEER + 64, MAC_B);
	take_byte(s, 64, MAC_B);
}

static void
asking_is_repeated_then_given_up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	for (unsigned int i = 0; i < 3; i++) {
		take_ask(s, PEER, UT_BROADCAST_MAC);
		ut_stack_pass(s, 950 * MS, 50 * MS);
		nothing_sent(s, "between two requests");
		ut_stack_only_drop(s, WEIR_DROP_N, 0, "still waiting");
		must_be(s, PEER, "incomplete", NULL);
		ut_stack_pass(s, 50 * MS, 50 * MS);
	}
	nothing_sent(s, "after three requests");
	must_be(s, PEER, "failed", NULL);
	ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "given up");

	/* The next datagram starts all over. */
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 2, MAC_A);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "second try");
}

static void
removing_an_entry_drops_what_waits_for_it(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(PEER, 0);
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	assert_int_equal(weir_neigh_del(s->stack, 0, &a, NULL), 0);
	assert_int_equal(weir_neigh_del(s->stack, 0, &a, NULL), -ENOENT);
	ut_stack_poll(s);
	ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "removed");
	must_be(s, PEER, "none", NULL);
	/* The route cache still points at the old entry. */
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 2, MAC_A);
}

/*
 * What waits for a removed entry must not go to the address that gets its place next, even when the
 * message is lost and house-keeping comes late.
 */
static void
a_reused_entry_gets_nothing_of_its_predecessor(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(PEER, 0);
	struct weir_socket *sk;

	cfg.stack.workers = 2;
	cfg.stack.mesh_ring = 64;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[1], sk, PEER, 1), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	/* Nothing of control's gets through. */
	while (weir_mesh_send(s->stack->ctl_lcore, 1, WEIR_MSG_NEIGH, (1u << 30)))
		;
	assert_int_equal(weir_neigh_del(s->stack, 0, &a, NULL), 0);
	ut_stack_poll(s); /* a grace period, without house-keeping: time stands still */
	ut_stack_poll(s);
	for (uint32_t i = 1; i < 65; i++) { /* every entry of the table comes into use */
		assert_int_equal(send_byte(s->w[0], sk, PEER + i, 0), 1);
		ut_stack_poll(s);
		take_ask(s, PEER + i, UT_BROADCAST_MAC);
		ut_stack_arp_reply(s, 0, PEER + i, MAC_B);
		take_byte(s, 0, MAC_B);
	}
	ut_stack_pass(s, 2 * MS, MS);
	nothing_sent(s, "for the removed neighbour");
	ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "removed");
}

/* ---- two workers, and a thread that polls nothing ---- */

static void
another_worker_is_told_by_message(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.workers = 2;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint8_t i = 0; i < 3; i++)
		assert_int_equal(send_byte(s->w[1], sk, PEER, i), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	assert_int_equal(f.queue, 1);

	/* The reply comes in by queue 0; time stands still, so house-keeping does not run. */
	struct ut_pkt p = ut_pkt_arp_reply();

	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	while (weir_turn(s->w[0]) > 0)
		;
	nothing_sent(s, "before worker 1 has had its turn");
	weir_turn(s->w[1]);
	for (uint8_t i = 0; i < 3; i++) {
		take_byte(s, i, UT_PEER_MAC);
		assert_int_equal(f.queue, 1);
	}
}

static void
a_lost_message_only_delays_until_house_keeping(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_arp_reply();
	struct weir_socket *sk;
	unsigned int filled = 0;

	cfg.stack.workers = 2;
	cfg.stack.mesh_ring = 64;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[1], sk, PEER, 7), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	while (weir_mesh_send(s->w[0], 1, WEIR_MSG_NEIGH, (1u << 30)))
		filled++;
	assert_true(filled >= 63);
	ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
	while (weir_turn(s->w[0]) > 0)
		;
	must_be(s, PEER, "reachable", UT_PEER_MAC);
	for (unsigned int i = 0; i < 5; i++)
		weir_turn(s->w[1]);
	nothing_sent(s, "before house-keeping");
	ut_clock_advance(2 * MS);
	weir_turn(s->w[1]);
	weir_turn(s->w[1]);
	take_byte(s, 7, UT_PEER_MAC);
}

static void
an_attached_threads_datagram_is_held_by_the_queues_owner(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	struct weir_lcore *lc;
	struct weir_stats st;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(weir_thread_attach(s->stack, &lc), 0);
	assert_int_equal(send_byte(lc, sk, PEER, 5), 1);
	assert_int_equal(send_byte(lc, sk, PEER, 6), 1);
	weir_stats_get(s->stack, &st);
	assert_int_equal(st.tx_residue, 0);
	assert_int_equal(weir_lcore_detach(lc), 0);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	weir_stats_get(s->stack, &st);
	assert_int_equal(st.tx_held, 2);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 5, MAC_A);
	take_byte(s, 6, MAC_A);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "held for a thread");
}

/* ---- ages ---- */

/* Have PEER reachable at MAC_A: sent to, asked, answered. */
static struct weir_socket *
reachable_peer(struct ut_stack *s, const struct ut_stack_cfg *cfg)
{
	struct weir_socket *sk;

	ut_stack_up(s, cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 1, MAC_A);
	must_be(s, PEER, "reachable", MAC_A);
	return sk;
}

/* Let time pass until it is stale: 0.5 to 1.5 of 30 s. Returns how long it took, in steps of 100 ms. */
static unsigned int
until_stale(struct ut_stack *s)
{
	unsigned int steps = 0;

	while (strcmp(state_of(s, PEER, NULL), "reachable") == 0) {
		ut_check(steps++ <= 451, "reachable for %u ms", steps * 100);
		ut_stack_pass(s, 100 * MS, 100 * MS);
	}
	ut_check(steps >= 149, "reachable for only %u ms", steps * 100);
	must_be(s, PEER, "stale", MAC_A);
	return steps;
}

static void
a_stale_neighbour_is_probed_when_used(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk = reachable_peer(s, &cfg);

	until_stale(s);
	nothing_sent(s, "while nobody uses it");

	/* Used: sent to the MAC known; five seconds for somebody to say that it got there; then asked. */
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	must_be(s, PEER, "delay", MAC_A);
	take_byte(s, 2, MAC_A);
	ut_stack_pass(s, 4900 * MS, 50 * MS);
	must_be(s, PEER, "delay", MAC_A);
	nothing_sent(s, "during the delay");
	ut_stack_pass(s, 200 * MS, 50 * MS);
	must_be(s, PEER, "probe", MAC_A);
	take_ask(s, PEER, MAC_A);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	must_be(s, PEER, "reachable", MAC_A);
	nothing_sent(s, "after the confirmation");

	/* Not answered: asked three times in all, then failed, then asked by broadcast. */
	until_stale(s);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 3), 1);
	ut_stack_poll(s);
	take_byte(s, 3, MAC_A);
	ut_stack_pass(s, 5100 * MS, 50 * MS);
	take_ask(s, PEER, MAC_A);
	ut_stack_pass(s, 2100 * MS, 50 * MS);
	take_ask(s, PEER, MAC_A);
	take_ask(s, PEER, MAC_A);
	must_be(s, PEER, "probe", MAC_A);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 4), 1);
	ut_stack_poll(s);
	take_byte(s, 4, MAC_A); /* still sent meanwhile */
	ut_stack_pass(s, 1000 * MS, 50 * MS);
	must_be(s, PEER, "failed", NULL);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 5), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	ut_stack_arp_reply(s, 0, PEER, MAC_B);
	take_byte(s, 5, MAC_B);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "ages");
}

static void
reachable_times_are_spread(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	unsigned int least = UINT_MAX, most = 0;

	reachable_peer(s, &cfg);
	for (unsigned int i = 0; i < 20; i++) {
		unsigned int t = until_stale(s);

		least = t < least ? t : least;
		most = t > most ? t : most;
		ut_stack_arp_reply(s, 0, PEER, MAC_A);
	}
	ut_check(least < 250 && most > 350, "only between %u and %u ms", least * 100, most * 100);
}

/* The entry of PEER: the only one. */
static uint32_t
only_entry(struct ut_stack *s)
{
	for (uint32_t i = 0; i < s->cfg.stack.max_neigh; i++)
		if (WEIR_NEIGH_STATE(weir_neigh_word(s->stack, i)) != WEIR_NEIGH_FREE)
			return i;
	fail_msg("no entry");
	return 0;
}

static void
traffic_that_gets_there_confirms(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk = reachable_peer(s, &cfg);
	uint32_t i = only_entry(s);
	uint64_t word = weir_neigh_word(s->stack, i);
	const struct weir_port *port = s->stack->ports[0];

	/* Ten minutes of it: never asked again, never anything but reachable. */
	for (unsigned int k = 0; k < 600; k++) {
		ut_stack_pass(s, SEC, 500 * MS);
		weir_neigh_confirm(s->w[0], port, i, word);
		must_be(s, PEER, "reachable", MAC_A);
	}
	nothing_sent(s, "while it was confirmed");
	/* During delay and probe as well. */
	while (strcmp(state_of(s, PEER, NULL), "reachable") == 0)
		ut_stack_pass(s, 100 * MS, 100 * MS);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	take_byte(s, 2, MAC_A);
	ut_stack_pass(s, 5100 * MS, 50 * MS);
	take_ask(s, PEER, MAC_A);
	weir_neigh_confirm(s->w[0], port, i, word);
	must_be(s, PEER, "reachable", MAC_A);
	ut_stack_pass(s, 5 * SEC, 50 * MS);
	nothing_sent(s, "after the confirmation");
	/* Another MAC has come meanwhile: that is not what was confirmed. */
	while (strcmp(state_of(s, PEER, NULL), "reachable") == 0)
		ut_stack_pass(s, 100 * MS, 100 * MS);
	weir_neigh_confirm(s->w[0], port, i, word ^ (UINT64_C(1) << 20));
	must_be(s, PEER, "stale", MAC_A);
	weir_neigh_confirm(s->w[0], port, i, word ^ 0x100);
	must_be(s, PEER, "stale", MAC_A);
}

static void
who_fails_again_is_asked_more_seldom(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	static const unsigned int pause_s[] = {0, 1, 2, 4, 8, 16, 32, 32, 32};

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 0), 1);
	for (size_t k = 0; k < UT_N(pause_s); k++) {
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 3; i++) {
			take_ask(s, PEER, UT_BROADCAST_MAC);
			ut_stack_pass(s, SEC, 50 * MS);
		}
		must_be(s, PEER, "failed", NULL);
		ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "given up");
		for (unsigned int t = 1; t < 2 * pause_s[k]; t++) { /* every half second */
			assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
			ut_stack_poll(s);
			ut_stack_only_drop(s, WEIR_DROP_NEIGH_FAILED, 1, "refused at once");
			nothing_sent(s, "in the pause");
			ut_stack_pass(s, 500 * MS, 50 * MS);
		}
		ut_stack_pass(s, 600 * MS, 50 * MS);
		assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	}
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	/* It answers: all is forgiven. */
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 1, MAC_A);
	must_be(s, PEER, "reachable", MAC_A);
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "answered");
}

static void
unused_entries_are_forgotten(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_arp_request();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	/* Failed: after five seconds. */
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_pass(s, 3500 * MS, 50 * MS);
	must_be(s, PEER, "failed", NULL);
	ut_stack_pass(s, 6000 * MS, 50 * MS);
	must_be(s, PEER, "none", NULL);
	/* Stale: after ten minutes. */
	ut_stack_rx(s, 0, &p);
	must_be(s, PEER, "stale", UT_PEER_MAC);
	ut_stack_pass(s, 599 * SEC, SEC);
	must_be(s, PEER, "stale", UT_PEER_MAC);
	ut_stack_pass(s, 3 * SEC, SEC);
	must_be(s, PEER, "none", NULL);
}

/* ---- a table that is too small ---- */

static uint32_t
count(struct ut_stack *s, enum weir_neigh_class class)
{
	return weir_neigh_count(s->stack, class);
}

static void
those_who_never_answer_fill_less_than_half(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.port.tx_desc = 1024;
	cfg.dev.desc_max = 1024;
	sk = reachable_peer(s, &cfg);
	for (uint8_t i = 1; i < 200; i++) {
		assert_int_equal(send_byte(s->w[0], sk, PEER + i, i), 1);
		ut_stack_poll(s);
		take_ask(s, PEER + i, UT_BROADCAST_MAC);
		ut_check(count(s, WEIR_NEIGH_ASKED) <= 24, "%u of 64 asked",
			 count(s, WEIR_NEIGH_ASKED));
	}
	ut_check(count(s, WEIR_NEIGH_ASKED) == 24, "%u asked", count(s, WEIR_NEIGH_ASKED));
	must_be(s, PEER, "reachable", MAC_A);
	/* The oldest have given way, not the youngest. */
	must_be(s, PEER + 1, "none", NULL);
	must_be(s, PEER + 199, "incomplete", NULL);
	ut_stack_pass(s, 2 * MS, MS);
	assert_int_equal(ut_stack_since(s, drops[WEIR_DROP_NEIGH_FAILED]) +
				 ut_stack_since(s, drops[WEIR_DROP_HOLD_FULL]),
			 199 - 24);
	ut_stack_arp_reply(s, 0, PEER + 199, MAC_B);
	take_byte(s, 199, MAC_B);
}

/* Within one burst, without a grace period: the table refuses, and recovers. */
static void
one_burst_to_many_is_refused_in_part(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr to;
	struct weir_socket *sk;
	struct weir_txmsg msg;
	unsigned int sent = 0;

	cfg.stack.max_neigh = 16;
	cfg.port.tx_desc = 256;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint8_t i = 0; i < 32; i++) {
		struct weir_addr a = weir_addr_v4(PEER + i, UT_PEER_PORT);

		if (weir_send(s->w[0], sk, &i, 1, &a) == 1)
			sent++;
		else
			break;
	}
	ut_check(sent >= 6 && sent <= 8, "%u sent", sent);
	to = weir_addr_v4(PEER + 100, 1);
	msg = (struct weir_txmsg){ut_stack_payload(s, 3), &to, NULL};
	assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 0);
	assert_int_equal(weir_send_error(s->w[0]), -ENOBUFS);
	assert_int_equal(msg.m->pkt_len, 3);
	assert_int_equal(*rte_pktmbuf_mtod(msg.m, uint8_t *), ut_pattern(0));
	ut_stack_poll(s);
	testport_discard(s->ethdev[0]);
	assert_int_equal(weir_send_burst(s->w[0], sk, &msg, 1, 0), 1);
	ut_stack_poll(s);
	take_ask(s, PEER + 100, UT_BROADCAST_MAC);
}

/* Real neighbours, more than the table has places: those in use stay, the longest unused go. */
static void
the_longest_unused_goes_first(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.max_neigh = 32;
	sk = reachable_peer(s, &cfg);
	for (uint8_t i = 1; i < 100; i++) {
		assert_int_equal(send_byte(s->w[0], sk, PEER + i, i), 1);
		ut_stack_poll(s);
		take_ask(s, PEER + i, UT_BROADCAST_MAC);
		ut_stack_arp_reply(s, 0, PEER + i, MAC_B);
		take_byte(s, i, MAC_B);
		must_be(s, PEER + i, "reachable", MAC_B);
		/* A minute later it is stale; PEER is used again and answers. */
		ut_stack_pass(s, 46 * SEC, 500 * MS);
		assert_int_equal(send_byte(s->w[0], sk, PEER, 0), 1);
		ut_stack_poll(s);
		take_byte(s, 0, MAC_A);
		ut_stack_arp_reply(s, 0, PEER, MAC_A);
		must_be(s, PEER, "reachable", MAC_A);
	}
	must_be(s, PEER + 1, "none", NULL);
	ut_check(count(s, WEIR_NEIGH_PROVEN) >= 12, "%u remembered", count(s, WEIR_NEIGH_PROVEN));
}

/* Have n neighbours after PEER answer, one after the other. */
static void
prove(struct ut_stack *s, struct weir_socket *sk, uint8_t first, uint8_t n)
{
	for (uint8_t i = first; i < first + n; i++) {
		assert_int_equal(send_byte(s->w[0], sk, PEER + i, i), 1);
		ut_stack_poll(s);
		take_ask(s, PEER + i, UT_BROADCAST_MAC);
		ut_stack_arp_reply(s, 0, PEER + i, MAC_B);
		take_byte(s, i, MAC_B);
		ut_stack_pass(s, 100 * MS, 100 * MS);
	}
}

/* A table that is all but full of real neighbours: strangers get what is left, and push out each other. */
static void
strangers_push_out_strangers(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.max_neigh = 32;
	sk = reachable_peer(s, &cfg);
	prove(s, sk, 1, 25);
	assert_int_equal(count(s, WEIR_NEIGH_PROVEN), 26);
	ut_stack_pass(s, 50 * SEC, 500 * MS); /* all stale: nothing but their class protects them */
	for (uint32_t i = 0; i < 200; i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		p.arp_spa = UT_IP(10, 0, 0, 50 + i);
		ut_stack_rx(s, 0, &p);
		testport_discard(s->ethdev[0]);
		assert_int_equal(count(s, WEIR_NEIGH_PROVEN), 26);
	}
	assert_true(count(s, WEIR_NEIGH_HEARD) >= 2);
	must_be(s, PEER, "stale", MAC_A);
}

/* To be used counts as much as to answer. */
static void
who_is_used_is_not_the_longest_unused(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.max_neigh = 32;
	sk = reachable_peer(s, &cfg);
	prove(s, sk, 1, 20);
	ut_stack_pass(s, 50 * SEC, 500 * MS);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 0), 1); /* first to answer, last to be used */
	ut_stack_poll(s);
	take_byte(s, 0, MAC_A);
	must_be(s, PEER, "delay", MAC_A);
	prove(s, sk, 50, 20);
	must_be(s, PEER + 1, "none", NULL);
	must_be(s, PEER, "delay", MAC_A);
}

/*
 * Floods of a minute at 100,000 a second: ARP requests of strangers, and datagrams of ours to hosts that are
 * not there. The table keeps its size, the flow of one who is there goes on: each of its datagrams leaves at
 * once and to its MAC.
 */
static void
a_flood_does_not_touch_who_is_there(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const unsigned int per_ms = 100;
	struct weir_addr wide = weir_addr_v4(UT_IP(10, 8, 0, 0), 0);
	struct weir_addr none = {.family = WEIR_UNSPEC};
	struct ut_rng rng = ut_rng();
	struct weir_socket *sk;
	const char *env = getenv("UT_FLOOD_MS");
	const unsigned int ms = env != NULL ? (unsigned int)atoi(env) : 1500;
	uint64_t flow = 0;

	cfg.stack.max_neigh = 256;
	cfg.port.tx_desc = 1024;
	cfg.dev.desc_max = 1024;
	sk = reachable_peer(s, &cfg);
	/* A wide on-link prefix, of which an attacker has all addresses. */
	assert_int_equal(weir_route_add(s->stack, &wide, 13, &none, 0, NULL), 0);
	for (unsigned int t = 0; t < ms; t++) {
		/* In time for a minute whatever the number of steps. */
		ut_clock_advance(60 * SEC / ms);
		for (unsigned int i = 0; i < per_ms; i++) {
			struct ut_pkt p = ut_pkt_arp_request();

			p.arp_spa = UT_IP(10, 8, 0, 0) + ut_rand_below(&rng, 1u << 19);
			if (i % 2 == 0) {
				ut_stack_inject(s, 0, 0, ut_pkt_mbuf(&p, s->pool));
				if (i % 32 == 30)
					weir_turn(s->w[0]);
			} else {
				struct weir_addr to = weir_addr_v4(p.arp_spa, 7);

				(void)weir_send(s->w[0], sk, &i, 1, &to);
			}
			if (i % 32 == 31) {
				weir_turn(s->w[0]);
				testport_discard(s->ethdev[0]);
			}
		}
		ut_stack_poll(s);
		testport_discard(s->ethdev[0]);
		if (t % 10 != 0)
			continue;
		/* PEER answers what it is asked, as it would. */
		assert_int_equal(send_byte(s->w[0], sk, PEER, (uint8_t)t), 1);
		ut_stack_poll(s);
		take_byte(s, (uint8_t)t, MAC_A);
		flow++;
		if (strcmp(state_of(s, PEER, NULL), "probe") == 0)
			ut_stack_arp_reply(s, 0, PEER, MAC_A);
		ut_check(count(s, WEIR_NEIGH_ASKED) <= 96 && count(s, WEIR_NEIGH_HEARD) <= 48,
			 "%u asked, %u heard", count(s, WEIR_NEIGH_ASKED),
			 count(s, WEIR_NEIGH_HEARD));
		assert_int_equal(count(s, WEIR_NEIGH_PROVEN), 1);
	}
	printf("# %u ARP requests and as many datagrams to nobody, %llu of the flow\n",
	       ms * per_ms / 2, (unsigned long long)flow);
}

static void
strangers_cannot_fill_the_table(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	cfg.stack.max_neigh = 16;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint32_t i = 2; i < 200; i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		p.arp_spa = UT_IP(10, 0, 0, i);
		ut_stack_rx(s, 0, &p);
		testport_discard(s->ethdev[0]);
	}
	ut_stack_pass(s, 100 * MS, 50 * MS);
	assert_int_equal(send_byte(s->w[0], sk, UT_IP(10, 0, 0, 250), 1), 1);
	ut_stack_poll(s);
	take_ask(s, UT_IP(10, 0, 0, 250), UT_BROADCAST_MAC);
	ut_stack_arp_reply(s, 0, UT_IP(10, 0, 0, 250), MAC_A);
	take_byte(s, 1, MAC_A);
}

/* ---- learning ---- */

static void
a_request_for_us_is_answered_and_learned(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_arp_request();
	struct ut_pkt r = ut_pkt_arp_reply();
	uint8_t want[64];

	ut_stack_up(s, &cfg);
	ut_stack_rx(s, 0, &p);
	ut_stack_must_take(s, 0, &f);
	memcpy(r.eth_dst, UT_PEER_MAC, 6);
	memcpy(r.eth_src, UT_OUR_MAC, 6);
	memcpy(r.arp_sha, UT_OUR_MAC, 6);
	memcpy(r.arp_tha, UT_PEER_MAC, 6);
	r.arp_spa = UT_OUR_IP;
	r.arp_tpa = PEER;
	ut_pkt_bytes(&r, want, sizeof(want));
	assert_int_equal(f.len, 60);
	ut_check_bytes(f.b, want, 42, "ARP reply");
	must_be(s, PEER, "stale", UT_PEER_MAC);
	assert_int_equal(ut_stack_since(s, rx_consumed[WEIR_PROTO_ARP]), 1);
	assert_int_equal(ut_stack_since(s, tx_protocol), 1);
}

/* What ARP says, whether we answer, whether we believe. */
static void
arp_is_believed_only_where_it_concerns_us(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	const struct {
		const char *what;
		uint32_t spa, tpa;
		uint16_t op;
		bool answered, learned;
	} row[] = {
		{"request for us", PEER, UT_OUR_IP, 1, true, true},
		{"request for another host", PEER, UT_IP(10, 0, 0, 77), 1, false, false},
		{"request for our address on another port", PEER, UT_IP(10, 0, 1, 1), 1, true,
		 true},
		{"request for 127.0.0.1", PEER, UT_IP(127, 0, 0, 1), 1, false, false},
		{"request for the broadcast address", PEER, UT_IP(10, 0, 0, 255), 1, false, false},
		{"probe for our address", 0, UT_OUR_IP, 1, true, false},
		{"request from off link", UT_IP(10, 9, 9, 9), UT_OUR_IP, 1, true, false},
		{"request from the other port's link", UT_IP(10, 0, 1, 9), UT_OUR_IP, 1, true,
		 false},
		{"request from our own address", UT_OUR_IP, UT_OUR_IP, 1, true, false},
		{"request from the broadcast address", UT_IP(10, 0, 0, 255), UT_OUR_IP, 1, true,
		 false},
		{"gratuitous request of a stranger", PEER, PEER, 1, false, false},
		{"gratuitous reply of a stranger", PEER, PEER, 2, false, false},
		{"reply that nobody asked for", PEER, UT_OUR_IP, 2, false, false},
		{"reply to another host", PEER, UT_IP(10, 0, 0, 77), 2, false, false},
	};

	cfg.n_ports = 2;
	for (size_t i = 0; i < UT_N(row); i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		ut_stack_up(s, &cfg);
		p.arp_spa = row[i].spa;
		p.arp_tpa = row[i].tpa;
		p.arp_op = row[i].op;
		ut_stack_rx(s, 0, &p);
		ut_check((ut_stack_pending(s, 0) == 1) == row[i].answered, "%s: %u answers",
			 row[i].what, ut_stack_pending(s, 0));
		ut_check(ut_stack_pending(s, 1) == 0, "%s: other port", row[i].what);
		ut_check((strcmp(state_of(s, row[i].spa, NULL), "none") != 0) == row[i].learned,
			 "%s: neighbour is %s", row[i].what, state_of(s, row[i].spa, NULL));
		ut_stack_only_drop(s, WEIR_DROP_N, 0, row[i].what);
		assert_int_equal(ut_stack_since(s, rx_frames), 0); /* marked behind it */
		ut_stack_down(s);
	}
}

static void
absurd_arp_is_dropped(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	enum { OP0, OP3, GROUP, ZERO, MCAST, ONES, LOOP, HTYPE, PTYPE, HLEN, PLEN, N };

	ut_stack_up(s, &cfg);
	for (int i = 0; i < N; i++) {
		struct ut_pkt p = ut_pkt_arp_request();

		switch (i) {
		case OP0:
			p.arp_op = 0;
			break;
		case OP3:
			p.arp_op = 3;
			break;
		case GROUP:
			p.arp_sha[0] |= 1;
			break;
		case ZERO:
			memset(p.arp_sha, 0, 6);
			break;
		case MCAST:
			p.arp_spa = UT_IP(224, 0, 0, 5);
			break;
		case ONES:
			p.arp_spa = 0xffffffff;
			break;
		case LOOP:
			p.arp_spa = UT_IP(127, 0, 0, 1);
			break;
		case HTYPE:
			p.arp_htype = 6;
			break;
		case PTYPE:
			p.arp_ptype = 0x86dd;
			break;
		case HLEN:
			p.arp_hlen = 8;
			break;
		case PLEN:
			p.arp_plen = 16;
			break;
		}
		ut_stack_rx(s, 0, &p);
		ut_stack_only_drop(s, WEIR_DROP_ARP_BAD, 1, "absurd ARP");
		nothing_sent(s, "after absurd ARP");
		must_be(s, PEER, "none", NULL);
	}
}

static void
a_changed_mac_is_followed(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_arp_request();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	take_byte(s, 1, MAC_A);

	/* Gratuitous: another MAC for what we know; not confirmed, so asked at the next use. */
	p.arp_tpa = PEER;
	memcpy(p.arp_sha, MAC_B, 6);
	ut_stack_rx(s, 0, &p);
	must_be(s, PEER, "stale", MAC_B);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	take_byte(s, 2, MAC_B);
	ut_stack_pass(s, 5100 * MS, 50 * MS);
	take_ask(s, PEER, MAC_B);
	/* A reply to us: confirmed. */
	ut_stack_arp_reply(s, 0, PEER, MAC_A);
	must_be(s, PEER, "reachable", MAC_A);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 3), 1);
	ut_stack_poll(s);
	take_byte(s, 3, MAC_A);
	/* The same again changes nothing: a request does not make it stale. */
	p = ut_pkt_arp_request();
	memcpy(p.arp_sha, MAC_A, 6);
	ut_stack_rx(s, 0, &p);
	must_be(s, PEER, "reachable", MAC_A);
}

static void
a_request_from_the_neighbour_we_wait_for_releases(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_pkt p = ut_pkt_arp_request();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	ut_stack_rx(s, 0, &p);
	ut_stack_must_take(s, 0, &f); /* either order: our reply, the datagram */
	ut_stack_must_take(s, 0, &f);
	nothing_sent(s, "afterwards");
	ut_stack_only_drop(s, WEIR_DROP_N, 0, "released by a request");
}

static void
permanent_entries_are_controls_alone(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(PEER, 0);
	struct ut_pkt p = ut_pkt_arp_request();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	/* Held datagrams go when control says where to. */
	assert_int_equal(send_byte(s->w[0], sk, PEER, 1), 1);
	ut_stack_poll(s);
	take_ask(s, PEER, UT_BROADCAST_MAC);
	assert_int_equal(weir_neigh_add(s->stack, 0, &a, (const uint8_t *)MAC_A, NULL), 0);
	ut_stack_poll(s);
	take_byte(s, 1, MAC_A);
	must_be(s, PEER, "permanent", MAC_A);
	/* ARP does not change it, age neither. */
	memcpy(p.arp_sha, MAC_B, 6);
	ut_stack_rx(s, 0, &p);
	ut_stack_arp_reply(s, 0, PEER, MAC_B);
	ut_stack_pass(s, 700 * SEC, SEC);
	must_be(s, PEER, "permanent", MAC_A);
	testport_discard(s->ethdev[0]);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 2), 1);
	ut_stack_poll(s);
	take_byte(s, 2, MAC_A);
	/* Replaced and removed by control. */
	assert_int_equal(weir_neigh_add(s->stack, 0, &a, (const uint8_t *)MAC_B, NULL), 0);
	assert_int_equal(send_byte(s->w[0], sk, PEER, 3), 1);
	ut_stack_poll(s);
	take_byte(s, 3, MAC_B);
	assert_int_equal(weir_neigh_del(s->stack, 0, &a, NULL), 0);
	must_be(s, PEER, "none", NULL);
}

static void
behind_a_gateway_the_gateway_is_asked(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr net = weir_addr_v4(0, 0);
	struct weir_addr gw = weir_addr_v4(UT_IP(10, 0, 0, 254), 0);
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	assert_int_equal(weir_route_add(s->stack, &net, 0, &gw, 0, NULL), 0);
	sk = ut_stack_socket(s, 9000);
	assert_int_equal(send_byte(s->w[0], sk, UT_IP(8, 8, 8, 8), 1), 1);
	assert_int_equal(send_byte(s->w[0], sk, UT_IP(9, 9, 9, 9), 2), 1);
	ut_stack_poll(s);
	take_ask(s, UT_IP(10, 0, 0, 254), UT_BROADCAST_MAC);
	nothing_sent(s, "before the reply");
	ut_stack_arp_reply(s, 0, UT_IP(10, 0, 0, 254), MAC_A);
	take_byte(s, 1, MAC_A);
	assert_int_equal(ut_get32(f.b + 30), UT_IP(8, 8, 8, 8));
	take_byte(s, 2, MAC_A);
	assert_int_equal(ut_get32(f.b + 30), UT_IP(9, 9, 9, 9));
	must_be(s, UT_IP(8, 8, 8, 8), "none", NULL);
}

static void
what_is_held_at_stop_is_counted(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 9000);
	for (uint8_t i = 0; i < 5; i++)
		assert_int_equal(send_byte(s->w[0], sk, PEER, i), 1);
	ut_stack_poll(s);
	ut_stack_detach(s);
	assert_int_equal(weir_stack_stop(s->stack), 0);
	ut_stack_only_drop(s, WEIR_DROP_TX_STOPPED, 5, "held at stop");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(the_first_datagrams_are_held_and_released_in_order),
		UT_STACK_TEST(a_full_hold_queue_drops_the_oldest),
		UT_STACK_TEST(fragments_are_held_as_one),
		UT_STACK_TEST(with_too_many_neighbours_waiting_the_oldest_gives_way),
		UT_STACK_TEST(asking_is_repeated_then_given_up),
		UT_STACK_TEST(removing_an_entry_drops_what_waits_for_it),
		UT_STACK_TEST(a_reused_entry_gets_nothing_of_its_predecessor),
		UT_STACK_TEST(another_worker_is_told_by_message),
		UT_STACK_TEST(a_lost_message_only_delays_until_house_keeping),
		UT_STACK_TEST(an_attached_threads_datagram_is_held_by_the_queues_owner),
		UT_STACK_TEST(a_stale_neighbour_is_probed_when_used),
		UT_STACK_TEST(reachable_times_are_spread),
		UT_STACK_TEST(traffic_that_gets_there_confirms),
		UT_STACK_TEST(who_fails_again_is_asked_more_seldom),
		UT_STACK_TEST(unused_entries_are_forgotten),
		UT_STACK_TEST(those_who_never_answer_fill_less_than_half),
		UT_STACK_TEST(one_burst_to_many_is_refused_in_part),
		UT_STACK_TEST(the_longest_unused_goes_first),
		UT_STACK_TEST(strangers_push_out_strangers),
		UT_STACK_TEST(who_is_used_is_not_the_longest_unused),
		UT_STACK_TEST(a_flood_does_not_touch_who_is_there),
		UT_STACK_TEST(strangers_cannot_fill_the_table),
		UT_STACK_TEST(a_request_for_us_is_answered_and_learned),
		UT_STACK_TEST(arp_is_believed_only_where_it_concerns_us),
		UT_STACK_TEST(absurd_arp_is_dropped),
		UT_STACK_TEST(a_changed_mac_is_followed),
		UT_STACK_TEST(a_request_from_the_neighbour_we_wait_for_releases),
		UT_STACK_TEST(permanent_entries_are_controls_alone),
		UT_STACK_TEST(behind_a_gateway_the_gateway_is_asked),
		UT_STACK_TEST(what_is_held_at_stop_is_counted),
	};

	return UT_RUN(cases, NULL, NULL);
}
