/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire and time: pairs of cards, callbacks, rate, loss, duplication, reordering, corruption from
 * a seed, back-pressure, a wire fed from another thread, clocks.
 */
#include <errno.h>
#include <pthread.h>

#include "mt.h"

#define MS UINT64_C(1000000)

static void
send_numbered(struct mt *m, unsigned int i, uint32_t bytes)
{
	struct mt_frame f;

	mt_build(&f, mt_peer_mac, m->drv[0].mac, MT_RAW, bytes, 0);
	mt_put16(f.b + 14, i);
	raw_send(&m->drv[0], 0, f.b, f.len, 0, 0, 0);
}

struct tally {
	unsigned int n, n_twice, n_swapped, n_bits;
	unsigned int last;
	unsigned int seen[4096];
};

static void
tally(void *ctx, const uint8_t *frame, uint32_t len)
{
	struct tally *t = ctx;
	unsigned int i = mt_be16(frame + 14);

	(void)len;
	if (i >= 4096) {
		t->n_bits++;
		return;
	}
	if (t->seen[i]++)
		t->n_twice++;
	else if (t->n > 0 && i < t->last)
		t->n_swapped++;
	t->last = i;
	t->n++;
}

static void
impair(const struct liqm_wire_cfg *cfg, struct tally *t, struct liqm_wire_stats *stats)
{
	struct mt *m = mt_vf_up(1, false);

	memset(t, 0, sizeof(*t));
	assert_int_equal(liqm_wire_callback(m->card, 0, tally, t), 0);
	assert_int_equal(liqm_wire_configure(m->card, 0, cfg), 0);
	for (unsigned int i = 0; i < 2000; i++)
		send_numbered(m, i, 60);
	raw_wait_ns(&m->drv[0], 2 * MS);
	assert_int_equal(liqm_wire_stats_get(m->card, 0, stats), 0);
	mt_free(m);
}

static void
impairments_are_counted_and_repeatable(void **state)
{
	static struct tally a, b, c;
	struct liqm_wire_cfg cfg = {.seed = 7};
	struct liqm_wire_stats sa, sb, sc;

	(void)state;
	impair(&cfg, &a, &sa);
	assert_int_equal(a.n, 2000);
	assert_int_equal(a.n_twice + a.n_swapped, 0);
	cfg.loss_ppm = 100000;
	cfg.dup_ppm = 50000;
	cfg.reorder_ppm = 50000;
	impair(&cfg, &a, &sa);
	impair(&cfg, &b, &sb);
	assert_memory_equal(&a, &b, sizeof(a)); /* same seed, same fate */
	cfg.seed = 8;
	impair(&cfg, &c, &sc);
	assert_memory_not_equal(&a, &c, sizeof(a));
	assert_in_range(sa.n_lost, 130, 270);
	assert_in_range(sa.n_duplicated, 50, 150);
	assert_in_range(sa.n_reordered, 50, 150);
	assert_int_equal(a.n_twice, sa.n_duplicated);
	assert_int_equal(a.n, 2000 - sa.n_lost + sa.n_duplicated);
	assert_int_equal(sa.n_out, a.n);
	assert_true(a.n_swapped > 0);
	cfg = (struct liqm_wire_cfg){.corrupt_ppm = 1000000, .seed = 1};
	impair(&cfg, &a, &sa);
	assert_int_equal(sa.n_corrupted, 2000);
	cfg.corrupt_ppm = 0;
	cfg.loss_ppm = 1000000;
	impair(&cfg, &a, &sa);
	assert_int_equal(a.n, 0);
	assert_int_equal(sa.n_lost, 2000);
}

static void
one_bit_is_flipped(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct liqm_wire_cfg cfg = {.corrupt_ppm = 1000000, .seed = 3};
	struct mt_frame f;
	unsigned int bits = 0;

	(void)state;
	assert_int_equal(liqm_wire_configure(m->card, 0, &cfg), 0);
	mt_build(&f, mt_peer_mac, m->drv[0].mac, MT_UDP4, 500, 1);
	raw_send(&m->drv[0], 0, f.b, f.len, 0, 0, 0);
	for (uint32_t i = 0; i < f.len; i++)
		bits += (unsigned int)__builtin_popcount(f.b[i] ^ m->wire.frame[0][i]);
	assert_int_equal(bits, 1);
	mt_free(m);
}

static void
last_frame_is_not_kept_for_ever(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct liqm_wire_cfg cfg = {.reorder_ppm = 1000000, .seed = 3};

	(void)state;
	assert_int_equal(liqm_wire_configure(m->card, 0, &cfg), 0);
	send_numbered(m, 1, 60);
	assert_int_equal(m->wire.n, 0);
	assert_true(liqm_card_next_ns(m->card) > liqm_card_now_ns(m->card));
	raw_wait_ns(&m->drv[0], 2 * MS);
	assert_int_equal(m->wire.n, 1);
	send_numbered(m, 2, 60);
	send_numbered(m, 3, 60);
	assert_int_equal(mt_be16(m->wire.frame[1] + 14), 3);
	assert_int_equal(mt_be16(m->wire.frame[2] + 14), 2);
	mt_free(m);
}

static void
rate_holds_instructions_not_frames(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct liqm_wire_cfg cfg = {.rate_bps = 100000000}; /* 1000 bytes: 80 us and the gap */
	uint64_t start;

	(void)state;
	assert_int_equal(liqm_wire_configure(m->card, 0, &cfg), 0);
	raw_done(&m->drv[0], 0);
	start = liqm_card_now_ns(m->card);
	for (unsigned int i = 0; i < 50; i++)
		send_numbered(m, i, 986);
	assert_in_range(m->wire.n, 1, 5);
	assert_int_equal(raw_done(&m->drv[0], 0), m->wire.n); /* the rest waits in the ring */
	while (m->wire.n < 50)
		raw_wait_ns(&m->drv[0], 100000);
	assert_in_range(liqm_card_now_ns(m->card) - start, 48 * 81920, 52 * 81920 + 200000);
	mt_free(m);
}

static void
two_cards_talk_over_a_pair(void **state)
{
	struct mt *a = mt_vf_up(2, false), *b = mt_vf_up(2, true);
	struct liqm_wire_stats stats;
	struct mt_frame f;

	(void)state;
	/* both have the factory's first address: give b another */
	assert_int_equal(raw_cmd(&b->drv[0], raw_cmd_word(2, 0, 0, 1), "\0\0\2\7\7\7\7\7", 8), 0);
	memcpy(b->drv[0].mac, "\2\7\7\7\7\7", 6);
	assert_int_equal(liqm_wire_pair(a->card, 0, b->card, 0), 0);
	for (unsigned int i = 0; i < 300; i++) {
		struct mt *from = i % 2 ? a : b, *to = i % 2 ? b : a;

		mt_build(&f, to->drv[0].mac, from->drv[0].mac, MT_UDP4, i * 4, i);
		raw_send(&from->drv[0], i / 2 % 2, f.b, f.len, 0, 0, 0);
		raw_done(&from->drv[0], i / 2 % 2);
		assert_true(raw_recv_frame(&to->drv[0], &to->pkt, MS) >= 0);
		ut_check_bytes(to->pkt.data, f.b, f.len, "frame %u", i);
	}
	assert_int_equal(liqm_wire_stats_get(a->card, 0, &stats), 0);
	assert_int_equal(stats.n_out, 150);
	assert_int_equal(stats.n_in, 150);
	/* one end goes: the other sends into nothing */
	liqm_wire_callback(b->card, 0, NULL, NULL);
	mt_build(&f, mt_peer_mac, a->drv[0].mac, MT_RAW, 60, 1);
	raw_send(&a->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(liqm_wire_stats_get(a->card, 0, &stats), 0);
	assert_int_equal(stats.n_unplugged, 1);
	/* again, then a card is destroyed under the cable */
	assert_int_equal(liqm_wire_pair(b->card, 0, a->card, 0), 0);
	mt_free(b);
	raw_send(&a->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(liqm_wire_stats_get(a->card, 0, &stats), 0);
	assert_int_equal(stats.n_unplugged, 2);
	mt_free(a);
}

static void
wrong_wires_are_refused(void **state)
{
	struct mt *m = mt_vf(1);
	struct liqm_wire_cfg cfg = {0};
	struct liqm_wire_stats stats;
	uint8_t frame[64] = {0};

	(void)state;
	assert_int_equal(liqm_wire_pair(m->card, 0, m->card, 0), -EINVAL);
	assert_int_equal(liqm_wire_pair(m->card, 1, m->card, 0), -EINVAL);
	assert_int_equal(liqm_wire_pair(m->card, 0, m->card, 1), -EINVAL);
	assert_int_equal(liqm_wire_callback(m->card, 1, NULL, NULL), -EINVAL);
	assert_int_equal(liqm_wire_configure(m->card, 1, &cfg), -EINVAL);
	assert_int_equal(liqm_wire_stats_get(m->card, 1, &stats), -EINVAL);
	assert_int_equal(liqm_wire_in(m->card, 1, frame, 64), -EINVAL);
	assert_false(liqm_wire_room(m->card, 1));
	cfg.loss_ppm = 1000001;
	assert_int_equal(liqm_wire_configure(m->card, 0, &cfg), -EINVAL);
	assert_int_equal(liqm_wire_in(m->card, 0, frame, 13), -EMSGSIZE);
	assert_int_equal(liqm_wire_in(m->card, 0, frame, LIQM_FRAME_MAX + 1), -EMSGSIZE);
	mt_free(m);
}

static void
full_wire_refuses_and_recovers(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;
	struct mt_frame f;
	struct liqm_wire_stats stats;
	unsigned int n = 0;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.manual_step = true;
	m = mt_new(&cfg);
	/* odd sizes, so that records meet the end of the ring in many ways; several laps */
	for (unsigned int lap = 0; lap < 5; lap++) {
		mt_build(&f, mt_peer_mac, mt_peer_mac, MT_RAW, 0, lap);
		for (;;) {
			bool room = liqm_wire_room(m->card, 0);
			int ret;

			f.len = 14 + (n * 7919) % 12000;
			ret = liqm_wire_in(m->card, 0, f.b, f.len);
			assert_true(ret == 0 || (ret == -ENOBUFS && !room));
			if (ret < 0)
				break;
			n++;
		}
		liqm_card_tick(m->card);
		assert_true(liqm_wire_room(m->card, 0));
	}
	liqm_card_tick(m->card);
	assert_int_equal(liqm_wire_stats_get(m->card, 0, &stats), 0);
	assert_int_equal(stats.n_in, n);
	assert_int_equal(stats.n_in_unclaimed, n);
	assert_int_equal(stats.n_in_full, 5);
	mt_free(m);
}

struct feeder {
	struct liqm_card *card;
	uint8_t mac[6];
	unsigned int n;
};

static void *
feed(void *arg)
{
	struct feeder *w = arg;
	struct mt_frame f;

	for (unsigned int i = 0; i < w->n;) {
		mt_build(&f, w->mac, mt_peer_mac, MT_RAW, 60 + i % 1000, 1);
		mt_put16(f.b + 14, i);
		if (liqm_wire_in(w->card, 0, f.b, f.len) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

/* Frames come from another thread while the driver works: all arrive, in order. */
static void
wire_is_fed_from_another_thread(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	struct feeder w = {m->card, {0}, 20000};
	pthread_t thread;

	(void)state;
	d->buf_bytes = 1536;
	assert_int_equal(raw_vf_up(d, 1), 0);
	memcpy(w.mac, d->mac, 6);
	assert_int_equal(pthread_create(&thread, NULL, feed, &w), 0);
	for (unsigned int i = 0; i < w.n; i++) {
		while (raw_recv_frame(d, &m->pkt, 0) < 0)
			sched_yield();
		ut_check(mt_be16(m->pkt.data + 14) == i, "frame %u", i);
	}
	pthread_join(thread, NULL);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 0);
	mt_free(m);
}

static uint64_t fake_now;

static uint64_t
fake_clock(void *ctx)
{
	(void)ctx;
	return fake_now;
}

static void
clock_service_replaces_virtual_time(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.svc.clock_ns = fake_clock;
	fake_now = 5000;
	m = mt_new(&cfg);
	assert_int_equal(liqm_card_now_ns(m->card), 5000);
	raw_r64(&m->drv[0], 0x10000);
	liqm_card_advance(m->card, 1000);
	assert_int_equal(liqm_card_now_ns(m->card), 5000);
	fake_now = 4000; /* a clock that steps back is not followed */
	assert_int_equal(liqm_card_now_ns(m->card), 5000);
	/* the answer to VF_ACTIVE is due 2 ms later, and the card says so */
	raw_w64(&m->drv[0], 0x10208, 0x206);
	raw_w64(&m->drv[0], 0x10208, UINT64_C(0x0000000100050001));
	assert_int_equal(liqm_card_next_ns(m->card), 5000 + 2 * MS);
	fake_now = 5000 + 2 * MS;
	assert_int_equal(liqm_card_next_ns(m->card), 0);
	liqm_card_tick(m->card);
	assert_int_equal(raw_r64(&m->drv[0], 0x10200) & 0xFFFF, 0x0207);
	mt_free(m);
}

static void
idle_card_has_nothing_due(void **state)
{
	struct mt *m = mt_vf_up(1, false);

	(void)state;
	raw_wait_ns(&m->drv[0], 10 * MS);
	assert_true(liqm_card_next_ns(m->card) == LIQM_NEVER);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(impairments_are_counted_and_repeatable),
		cmocka_unit_test(one_bit_is_flipped),
		cmocka_unit_test(last_frame_is_not_kept_for_ever),
		cmocka_unit_test(rate_holds_instructions_not_frames),
		cmocka_unit_test(two_cards_talk_over_a_pair),
		cmocka_unit_test(wrong_wires_are_refused),
		cmocka_unit_test(full_wire_refuses_and_recovers),
		cmocka_unit_test(wire_is_fed_from_another_thread),
		cmocka_unit_test(clock_service_replaces_virtual_time),
		cmocka_unit_test(idle_card_has_nothing_due),
	};

	return UT_RUN(cases, NULL, NULL);
}
