/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mailbox between a VF and the PF inside the model: section 5.2, word by word, with everything a
 * VF can do wrong.
 */
#include <errno.h>

#include "mt.h"

#define MS UINT64_C(1000000)

#define SIG0 0x10200u
#define SIG1 0x10208u

static void
handshake_values(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.pkind = 33;
	cfg.coproc_mhz = 750;
	m = mt_new(&cfg);
	assert_true(raw_r64(&m->drv[0], SIG1) == RAW_SIG); /* the PF is ready */
	assert_int_equal(raw_vf_handshake(&m->drv[0]), 0);
	assert_int_equal(m->drv[0].handshake & 0xFF, 33);
	assert_int_equal(m->drv[0].handshake >> 24 & 0xFFFF, 750);
	assert_int_equal(m->drv[0].handshake >> 40, 1);
	/* DPDK takes bits 15:8 of this word for a length: they must be at most 2 */
	assert_true((m->drv[0].pf_version >> 8 & 0xFF) <= 2);
	/* and again: a driver that is loaded anew */
	assert_int_equal(raw_vf_handshake(&m->drv[0]), 0);
	assert_int_equal(mt_count(m, LIQM_N_mbox_msgs), 2);
	assert_int_equal(mt_count(m, LIQM_N_mbox_errors), 0);
	mt_free(m);
}

static void
flr_request_resets_the_vf_but_not_its_config(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint16_t command = 6;

	(void)state;
	liqm_cfg_write(d->fn, 4, &command, 2);
	raw_w64(d, SIG1, 0x108);
	assert_true(raw_r64(d, SIG1) == RAW_SIG);
	assert_int_equal(mt_count(m, LIQM_N_flr), 1);
	assert_int_equal(raw_r64(d, 0x10000) & 1u << 22, 0);
	assert_int_equal(raw_r64(d, 0x10000) >> 48 & 0x3F, 1);
	command = 0;
	liqm_cfg_read(d->fn, 4, &command, 2);
	assert_int_equal(command, 6);
	assert_int_equal(raw_vf_up(d, 1), 0);
	mt_free(m);
}

static void
bad_headers_get_err_and_the_mailbox_recovers(void **state)
{
	static const uint64_t bad[] = {
		0x0006, /* length 0 */
		0x2206, /* 34 words */
		0x0207, /* a response that nobody asked for */
		RAW_ERR,
	};
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	for (size_t i = 0; i < UT_N(bad); i++) {
		raw_w64(d, SIG1, bad[i]);
		ut_check(raw_r64(d, SIG1) == RAW_ERR, "row %zu", i);
		raw_w64(d, SIG1, 0x206); /* deaf for a moment */
		raw_wait_ns(d, 2 * MS);
		ut_check(raw_r64(d, SIG1) == RAW_SIG, "row %zu", i);
		assert_int_equal(mt_count(m, LIQM_N_mbox_errors), i + 1);
	}
	/* unknown request: taken and ignored */
	raw_w64(d, SIG1, 0x0100 | 0x3F << 2);
	assert_true(raw_r64(d, SIG1) == RAW_SIG);
	assert_int_equal(mt_count(m, LIQM_N_mbox_errors), UT_N(bad) + 1);
	assert_int_equal(raw_vf_handshake(d), 0);
	mt_free(m);
}

static void
unfinished_message_is_given_up(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_w64(d, SIG1, 0x206);
	assert_true(raw_r64(d, SIG1) == RAW_ACK);
	raw_wait_ns(d, 900 * MS);
	assert_true(raw_r64(d, SIG1) == RAW_ACK);
	raw_wait_ns(d, 200 * MS);
	assert_true(raw_r64(d, SIG1) == RAW_SIG);
	assert_int_equal(mt_count(m, LIQM_N_mbox_errors), 1);
	assert_int_equal(raw_vf_handshake(d), 0);
	/* a second request while the answer to the first is under way */
	raw_w64(d, SIG0, 0); /* not ready: the answer cannot go out */
	raw_w64(d, SIG1, 0x206);
	raw_w64(d, SIG1, 1);
	raw_wait_ns(d, 5 * MS);
	raw_w64(d, SIG1, 0x206);
	assert_true(raw_r64(d, SIG1) == RAW_ERR);
	mt_free(m);
}

static void
statistics_by_mailbox(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	/* data words whose bits 15:8 look like lengths */
	static const uint64_t reply[7] = {0x0723, 0x0100, 0x0200, 0xFF00, 0x0700, 5, 6};
	uint64_t request = 0x0122, got[8];

	(void)state;
	assert_int_equal(liqm_vf_reply(d->fn, got, 8), 0);
	assert_int_equal(liqm_vf_message(d->fn, &request, 1), 0);
	assert_true(raw_r64(d, SIG0) == request);
	raw_w64(d, SIG0, RAW_ACK);
	raw_w64(d, SIG0, RAW_SIG);
	for (int i = 0; i < 7; i++) {
		raw_w64(d, SIG1, reply[i]);
		ut_check(raw_r64(d, SIG1) == (i < 6 ? RAW_ACK : RAW_SIG), "word %d", i);
	}
	assert_int_equal(liqm_vf_reply(d->fn, got, 8), 7);
	for (int i = 0; i < 7; i++)
		assert_true(got[i] == reply[i]);
	assert_int_equal(liqm_vf_reply(d->fn, got, 1), 7);
	assert_int_equal(mt_count(m, LIQM_N_mbox_errors), 0);
	mt_free(m);
}

static void
messages_of_the_inner_pf_are_checked(void **state)
{
	struct mt *m = mt_vf(1);
	uint64_t words[40] = {0x0110};

	(void)state;
	assert_int_equal(liqm_vf_message(m->drv[0].fn, words, 0), -EINVAL);
	assert_int_equal(liqm_vf_message(m->drv[0].fn, words, 34), -EINVAL);
	assert_int_equal(liqm_vf_message(m->drv[0].fn, words, 1), 0);
	mt_free(m);
}

static void
interrupt_needs_its_enable(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	uint64_t word = 0x0110;

	(void)state;
	raw_w64(d, 0x10210, 0);
	assert_int_equal(liqm_vf_message(d->fn, &word, 1), 0);
	assert_int_equal(m->host[0].n_irq[0], 0);
	assert_int_equal(raw_r64(d, 0x100B0) >> 61, 1); /* visible all the same */
	raw_w64(d, 0x10210, 1);
	assert_int_equal(m->host[0].n_irq[0], 1);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(handshake_values),
		cmocka_unit_test(flr_request_resets_the_vf_but_not_its_config),
		cmocka_unit_test(bad_headers_get_err_and_the_mailbox_recovers),
		cmocka_unit_test(unfinished_message_is_given_up),
		cmocka_unit_test(statistics_by_mailbox),
		cmocka_unit_test(messages_of_the_inner_pf_are_checked),
		cmocka_unit_test(interrupt_needs_its_enable),
	};

	return UT_RUN(cases, NULL, NULL);
}
