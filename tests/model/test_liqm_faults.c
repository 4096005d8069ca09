/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every scripted fault, with what it does and that it ends; and scripts from a seed.
 */
#include <errno.h>

#include "mt.h"

#define MS UINT64_C(1000000)

static void
fault(struct mt *m, enum liqm_fault_kind kind, uint32_t skip, uint32_t count, uint64_t arg)
{
	struct liqm_fault f = {kind, LIQM_ANY, LIQM_ANY, skip, count, 0, arg};

	assert_int_equal(liqm_fault_add(m->card, &f), 0);
}

static uint32_t
mtu_cmd(struct mt *m)
{
	return raw_cmd(&m->drv[0], raw_cmd_word(1, 1500, 0, 0), NULL, 0);
}

static void
late_response(void **state)
{
	struct mt *m = mt_vf_up(1, false);

	(void)state;
	fault(m, LIQM_FAULT_RESP_LATE, 1, 1, 500 * MS);
	assert_int_equal(mtu_cmd(m), 0);
	assert_int_equal(raw_request(&m->drv[0], 4, 0, 0, NULL, 0, NULL, 1064, 400 * MS),
			 RAW_NO_STATUS);
	raw_wait_ns(&m->drv[0], 101 * MS);
	assert_true(raw_be64((uint8_t *)raw_ptr(&m->host[0], m->drv[0].resp) + 1056) == 0);
	assert_int_equal(mtu_cmd(m), 0);
	assert_int_equal(mt_count(m, LIQM_N_faults), 1);
	mt_free(m);
}

static void
late_response_dies_with_a_reset(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	uint8_t *resp = raw_ptr(&m->host[0], m->drv[0].resp);

	(void)state;
	fault(m, LIQM_FAULT_RESP_LATE, 0, 3, 500 * MS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(raw_request(&m->drv[0], 4, 0, 0, NULL, 0, NULL, 1064, MS),
				 RAW_NO_STATUS);
	liqm_fn_reset(m->drv[0].fn, LIQM_RESET_FLR);
	raw_wait_ns(&m->drv[0], 600 * MS);
	assert_true(raw_be64(resp + 1056) == UINT64_MAX);
	mt_free(m);
}

static void
many_late_responses_keep_their_times(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint64_t words[8] = {0};

	(void)state;
	/* descending delays: the last asked is answered first */
	for (unsigned int i = 0; i < 20; i++)
		fault(m, LIQM_FAULT_RESP_LATE, i, 1, (40 - i) * MS);
	memset(raw_ptr(d->host, d->resp), 0xFF, 20 * 16);
	words[1] = UINT64_C(40) << 32 | UINT64_C(48) << 42;
	words[3] = UINT64_C(1) << 60 | UINT64_C(0x14) << 52 | UINT64_C(1) << 59;
	words[6] = 16;
	for (unsigned int i = 0; i < 20; i++) {
		words[7] = d->resp + 16 * i;
		raw_post(d, 0, words);
	}
	raw_ring_bell(d, 0, 20);
	for (unsigned int i = 0; i < 20; i++) {
		uint8_t *at = (uint8_t *)raw_ptr(d->host, d->resp) + 16 * (19 - i) + 8;

		assert_true(raw_be64(at) == UINT64_MAX);
		raw_wait_ns(d, i == 0 ? 21 * MS : MS);
		ut_check(raw_be64(at) != UINT64_MAX, "response %u", 19 - i);
	}
	mt_free(m);
}

static void
lost_short_wrong_and_early_responses(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	uint8_t out[1064];

	(void)state;
	fault(m, LIQM_FAULT_RESP_LOST, 0, 1, 0);
	assert_int_equal(mtu_cmd(m), RAW_NO_STATUS);
	assert_int_equal(mtu_cmd(m), 0);
	fault(m, LIQM_FAULT_RESP_STATUS, 0, 1, 0x77);
	assert_int_equal(mtu_cmd(m), 0x77);
	fault(m, LIQM_FAULT_RESP_STATUS, 0, 1, 0);
	assert_int_not_equal(mtu_cmd(m), 0);
	fault(m, LIQM_FAULT_RESP_SHORT, 0, 1, 1040);
	assert_int_equal(raw_request(&m->drv[0], 4, 0, 0, NULL, 0, out, 1064, MS), 0);
	assert_int_equal(out[8] == 0xFF && out[15] != 0xFF, 0);
	assert_int_equal(out[1055], 0xFF); /* never written */
	fault(m, LIQM_FAULT_RESP_SHORT, 0, 1, UINT64_MAX);
	assert_int_equal(raw_request(&m->drv[0], 4, 0, 0, NULL, 0, out, 1064, MS), 0);
	assert_int_equal(out[0], 0xFF);
	fault(m, LIQM_FAULT_RESP_FIRST, 0, 1, 0);
	assert_int_equal(mtu_cmd(m), 0);
	assert_int_equal(mt_count(m, LIQM_N_faults), 6);
	mt_free(m);
}

static void
fetch_pauses_sticks_and_lies(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_done(d, 0);
	fault(m, LIQM_FAULT_FETCH_LATE, 0, 1, 10 * MS);
	assert_int_equal(raw_cmd_quiet(d, raw_cmd_word(1, 1500, 0, 0), NULL, 0), RAW_NO_STATUS);
	raw_wait_ns(d, 11 * MS);
	assert_int_equal(raw_done(d, 0), 1);
	fault(m, LIQM_FAULT_DONE_LIE, 0, 1, 1000);
	raw_cmd_quiet(d, raw_cmd_word(1, 1500, 0, 0), NULL, 0);
	assert_int_equal(d->ring[0].iq_count - raw_r32(d, 0x10040), 0);
	assert_true(raw_r32(d, 0x10040) > 1000);
	fault(m, LIQM_FAULT_FETCH_STUCK, 0, 1, 0);
	assert_int_equal(mtu_cmd(m), RAW_NO_STATUS);
	assert_int_equal(mtu_cmd(m), RAW_NO_STATUS);
	assert_int_equal(raw_r32(d, 0x10020), 2);
	assert_true(liqm_card_next_ns(m->card) == LIQM_NEVER); /* nothing to wait for */
	assert_int_equal(raw_vf_up(d, 1), 0);                  /* a ring reset ends it */
	mt_free(m);
}

static void
receive_faults(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;
	uint8_t *buf;

	(void)state;
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 200, 1);
	fault(m, LIQM_FAULT_RX_LOST, 0, 1, 0);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), -1);
	fault(m, LIQM_FAULT_RX_LATE, 0, 1, 20 * MS);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 10 * MS), -1);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 11 * MS), 0);
	fault(m, LIQM_FAULT_RX_RH_LIE, 0, 1, UINT64_C(1) << 9);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	assert_int_equal(m->pkt.rh >> 9 & 1, 1);
	buf = raw_ptr(d->host, d->ring[0].bufs + (uint64_t)d->ring[0].oq_get * 2048);
	memset(buf, 0xAA, 2048);
	fault(m, LIQM_FAULT_RX_SHORT, 0, 1, 50);
	mt_in(m, &f);
	assert_int_equal(buf[16 + f.len - 1], 0xAA);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	fault(m, LIQM_FAULT_RX_LEN_LIE, 0, 1, 100000);
	mt_in(m, &f);
	assert_int_equal(raw_recv(d, 0, &m->pkt), -1);
	mt_free(m);

	m = mt_vf_up(1, true);
	d = &m->drv[0];
	fault(m, LIQM_FAULT_RX_ZERO, 0, 1, 0);
	mt_in(m, &f);
	assert_int_equal(raw_recv(d, 0, &m->pkt), -1);
	assert_int_equal(
		raw_be64((uint8_t *)raw_ptr(d->host, d->ring[0].info + 16 * d->ring[0].oq_get) + 8),
		0);
	fault(m, LIQM_FAULT_CNTS_LIE, 0, 1, 77);
	mt_in(m, &f);
	assert_int_equal(raw_r32(d, 0x100B0), 78);
	mt_free(m);
}

static void
credits_are_ignored(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint32_t before = raw_r32(d, 0x10080);

	(void)state;
	fault(m, LIQM_FAULT_CREDIT_STARVE, 0, 2, 0);
	raw_w32(d, 0x10080, 1);
	raw_w32(d, 0x10080, 1);
	assert_int_equal(raw_r32(d, 0x10080), before);
	raw_w32(d, 0x10080, 1);
	assert_int_equal(raw_r32(d, 0x10080), before + 1);
	mt_free(m);
}

static void
reset_never_finishes(void **state)
{
	struct mt *m = mt_vf_up(2, false);
	struct raw *d = &m->drv[0];
	struct liqm_fault f = {LIQM_FAULT_RST_STUCK, 0, 1, 0, 1, 0, 0};

	(void)state;
	assert_int_equal(liqm_fault_add(m->card, &f), 0);
	assert_int_equal(raw_reset_rings(d), -1);
	raw_w64(d, R_RING(1), 0x06000050);
	assert_int_equal(raw_r64(d, R_RING(1)) & (1u << 23 | 1u << 28), 1u << 23);
	liqm_fault_clear(m->card);
	assert_int_equal(raw_reset_rings(d), 0);
	assert_int_equal(raw_vf_up(d, 2), 0);
	mt_free(m);
}

static void
function_is_gone(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint32_t id = 0;

	(void)state;
	fault(m, LIQM_FAULT_GONE, 0, 0, 0);
	assert_true(raw_r64(d, 0x10000) == UINT64_MAX);
	assert_int_equal(raw_r32(d, 0x100B0), 0xFFFFFFFF);
	liqm_cfg_read(d->fn, 0, &id, 4);
	assert_int_equal(id, 0xFFFFFFFF);
	assert_int_equal(mtu_cmd(m), RAW_NO_STATUS);
	liqm_fault_clear(m->card);
	liqm_cfg_read(d->fn, 0, &id, 4);
	assert_int_equal(id, 0x9712177D);
	mt_free(m);
}

static void
link_flaps(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];

	(void)state;
	fault(m, LIQM_FAULT_LINK_FLAP, 0, 1, 30 * MS);
	assert_int_equal(mtu_cmd(m), 0);
	assert_true(raw_recv_notice(d, 4, &m->pkt, MS));
	assert_int_equal(raw_be64(m->pkt.data) >> 23 & 1, 0);
	assert_false(raw_recv_notice(d, 4, &m->pkt, 20 * MS));
	assert_true(raw_recv_notice(d, 4, &m->pkt, 20 * MS));
	assert_int_equal(raw_be64(m->pkt.data) >> 23 & 1, 1);
	mt_free(m);
}

static void
interrupts_get_lost(void **state)
{
	struct mt *m = mt_vf(1);
	uint64_t word = 0x0110;

	(void)state;
	raw_w64(&m->drv[0], 0x10210, 1);
	fault(m, LIQM_FAULT_MSIX_LOST, 0, 1, 0);
	assert_int_equal(liqm_vf_message(m->drv[0].fn, &word, 1), 0);
	assert_int_equal(m->host[0].n_irq[0], 0);
	raw_w64(&m->drv[0], 0x100B0, UINT64_C(1) << 60); /* RESEND brings it */
	assert_int_equal(m->host[0].n_irq[0], 1);
	mt_free(m);
}

static void
mailbox_faults(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	fault(m, LIQM_FAULT_MBOX_NOACK, 0, 1, 0);
	assert_int_equal(raw_vf_handshake(d), -2);
	raw_w64(d, 0x10208, RAW_SIG);
	fault(m, LIQM_FAULT_MBOX_ERR, 0, 1, 0);
	assert_int_equal(raw_vf_handshake(d), -2);
	raw_wait_ns(d, 2 * MS);
	fault(m, LIQM_FAULT_MBOX_LOST, 0, 1, 0);
	assert_int_equal(raw_vf_handshake(d), -3); /* taken, never answered */
	fault(m, LIQM_FAULT_MBOX_LATE, 0, 1, 3000 * MS);
	assert_int_equal(raw_vf_handshake(d), 0);
	assert_int_equal(mt_count(m, LIQM_N_faults), 4);
	mt_free(m);
}

static void
bus_errors(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	uint64_t errors = mt_count(m, LIQM_N_dma_read_err);

	(void)state;
	fault(m, LIQM_FAULT_DMA_ERR, 0, 1, 0);
	assert_int_equal(mtu_cmd(m), RAW_NO_STATUS); /* the instruction itself */
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), errors + 1);
	assert_int_equal(mtu_cmd(m), 0);
	mt_free(m);
}

static void
lines_match_function_ring_chance_and_count(void **state)
{
	struct mt *m = mt_vf_up(2, false);
	struct raw *d = &m->drv[0];
	struct liqm_fault f = {LIQM_FAULT_DONE_LIE, 5, LIQM_ANY, 0, 0, 0, 100};
	uint64_t nothing[8] = {0};
	uint32_t n;

	(void)state;
	assert_int_equal(liqm_fault_add(m->card, &f), 0); /* another function */
	f.fn_index = 0;
	f.ring = 1;
	f.skip = 1;
	f.count = 2;
	assert_int_equal(liqm_fault_add(m->card, &f), 0);
	for (unsigned int k = 0; k < 2; k++) {
		raw_done(d, k);
		for (int i = 0; i < 5; i++) {
			raw_post(d, k, nothing);
			raw_ring_bell(d, k, 1);
			n = raw_done(d, k);
			assert_int_equal(n, k == 1 && (i == 1 || i == 2) ? 101 : 1);
		}
	}
	liqm_fault_clear(m->card);
	f = (struct liqm_fault){LIQM_FAULT_DONE_LIE, LIQM_ANY, LIQM_ANY, 0, 0, 500000, 1000};
	assert_int_equal(liqm_fault_add(m->card, &f), 0);
	for (int i = 0; i < 200; i++) {
		raw_post(d, 0, nothing);
		raw_ring_bell(d, 0, 1);
	}
	assert_in_range(raw_done(d, 0), 60000, 140000);
	f.chance_ppm = 1000001;
	assert_int_equal(liqm_fault_add(m->card, &f), -EINVAL);
	f.kind = LIQM_N_FAULTS;
	f.chance_ppm = 0;
	assert_int_equal(liqm_fault_add(m->card, &f), -EINVAL);
	f.kind = LIQM_FAULT_GONE;
	f.skip = UINT32_MAX;
	for (int i = 0; i < 63; i++)
		assert_int_equal(liqm_fault_add(m->card, &f), 0);
	assert_int_equal(liqm_fault_add(m->card, &f), -ENOSPC);
	mt_free(m);
}

static uint64_t
faulty_run(uint64_t seed)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;
	uint64_t digest = 0;

	assert_int_equal(liqm_fault_random(m->card, seed, UINT64_MAX, 20), 0);
	for (unsigned int i = 0; i < 60; i++) {
		mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 50 + i, i);
		mt_in(m, &f);
		raw_recv(d, 0, &m->pkt);
		digest = digest * 31 + mtu_cmd(m);
		digest = digest * 31 + raw_r32(d, 0x100B0) + raw_r32(d, 0x10040);
	}
	for (unsigned int i = 0; i < LIQM_N_COUNTERS; i++)
		digest = digest * 31 + mt_count(m, (enum liqm_counter)i);
	liqm_fault_clear(m->card);
	/* whatever happened, reset brings it back */
	liqm_fn_reset(d->fn, LIQM_RESET_FLR);
	assert_int_equal(raw_vf_up(d, 1), 0);
	mt_free(m);
	return digest;
}

static void
scripts_from_a_seed_are_repeatable_and_survivable(void **state)
{
	struct mt *m = mt_vf(1);
	uint64_t first[20];
	unsigned int n_same = 0;

	(void)state;
	for (unsigned int i = 0; i < 20; i++) {
		first[i] = faulty_run(i);
		for (unsigned int k = 0; k < i; k++)
			n_same += first[k] == first[i];
	}
	for (unsigned int i = 0; i < 20; i++)
		ut_check(faulty_run(i) == first[i], "seed %u", i);
	assert_int_equal(n_same, 0);
	assert_int_equal(liqm_fault_random(m->card, 1, 0, 1), -EINVAL);
	assert_int_equal(liqm_fault_random(m->card, 1, UINT64_MAX, 65), -ENOSPC);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(late_response),
		cmocka_unit_test(late_response_dies_with_a_reset),
		cmocka_unit_test(many_late_responses_keep_their_times),
		cmocka_unit_test(lost_short_wrong_and_early_responses),
		cmocka_unit_test(fetch_pauses_sticks_and_lies),
		cmocka_unit_test(receive_faults),
		cmocka_unit_test(credits_are_ignored),
		cmocka_unit_test(reset_never_finishes),
		cmocka_unit_test(function_is_gone),
		cmocka_unit_test(link_flaps),
		cmocka_unit_test(interrupts_get_lost),
		cmocka_unit_test(mailbox_faults),
		cmocka_unit_test(bus_errors),
		cmocka_unit_test(lines_match_function_ring_chance_and_count),
		cmocka_unit_test(scripts_from_a_seed_are_repeatable_and_survivable),
	};

	return UT_RUN(cases, NULL, NULL);
}
