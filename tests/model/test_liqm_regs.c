/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Registers: every access kind by the table, widths and halves, what lies outside, config space,
 * and the access log.
 */
#include <errno.h>

#include "mt.h"

#include "liq_regs.h"

static void
every_ring_register_answers_64_and_32_bits(void **state)
{
	static const uint32_t regs[] = {
		0x00, 0x10, 0x20, 0x30, 0x40, 0x50,  0x60,  0x70,  0x80,
		0x90, 0xA0, 0xB0, 0xC0, 0xD0, 0x200, 0x208, 0x210,
	};
	struct mt *m = mt_vf(8);
	struct raw *d = &m->drv[0];

	(void)state;
	for (unsigned int q = 0; q < 8; q++) {
		for (size_t i = 0; i < UT_N(regs); i++) {
			uint32_t off = R_RING(q) + regs[i];
			uint64_t v = raw_r64(d, off);

			assert_int_equal(raw_r32(d, off), (uint32_t)v);
			assert_int_equal(raw_r32(d, off + 4), (uint32_t)(v >> 32));
			assert_int_equal(liqm_bar_read(d->fn, 0, off + 1, 1), v >> 8 & 0xFF);
			assert_int_equal(liqm_bar_read(d->fn, 0, off + 2, 2), v >> 16 & 0xFFFF);
		}
	}
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 0);
	assert_int_equal(mt_count(m, LIQM_N_reg_bad), 0);
	mt_free(m);
}

static void
plain_registers_keep_what_is_written(void **state)
{
	static const struct {
		uint32_t off;
		uint64_t mask;
	} rows[] = {
		{0x10, UINT64_MAX},  {0x70, UINT64_MAX}, {0xA0, 0x3FFFFFFFFFFFFF},
		{0x30, 0xFFFFFFFF},  {0x90, 0xFFFFFFFF}, {0x60, 0x7FFFFF},
		{0x200, UINT64_MAX},
	};
	struct mt *m = mt_vf(2);
	struct raw *d = &m->drv[0];
	uint64_t v = UINT64_C(0xA5A5F00D12345678);

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint32_t off = R_RING(1) + rows[i].off;

		raw_w64(d, off, v);
		ut_check(raw_r64(d, off) == (v & rows[i].mask), "register %x", rows[i].off);
		raw_w32(d, off, 0x11111111);
		assert_int_equal(raw_r32(d, off), 0x11111111 & (uint32_t)rows[i].mask);
		raw_w32(d, off + 4, 0x22222222);
		assert_int_equal(raw_r32(d, off + 4), 0x22222222 & (uint32_t)(rows[i].mask >> 32));
		assert_int_equal(raw_r32(d, off), 0x11111111 & (uint32_t)rows[i].mask);
	}
	mt_free(m);
}

static void
read_only_registers_ignore_writes(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_w64(d, 0x100C0, UINT64_MAX);
	raw_w64(d, 0x100D0, UINT64_MAX);
	assert_int_equal(raw_r64(d, 0x100C0), 0);
	assert_int_equal(raw_r64(d, 0x100D0), 0);
	assert_int_equal(mt_count(m, LIQM_N_reg_ro_write), 2);
	mt_free(m);
}

static void
input_control_bits_by_owner(void **state)
{
	struct mt *m = mt_vf(4);
	struct raw *d = &m->drv[0];
	uint64_t ro = raw_r64(d, 0x10000) & ~UINT64_C(0xFFFFFFFF);

	(void)state;
	raw_w64(d, 0x10000, UINT64_MAX & ~(UINT64_C(1) << 23));
	/* all low mode bits, ring enabled; MAC number, VF, PF and rings per VF untouched */
	ut_check(raw_r64(d, 0x10000) >> 32 == ro >> 32, "high half");
	assert_int_equal(raw_r64(d, 0x10000) & 3u << 29, 0);
	assert_int_equal(raw_r64(d, 0x10000) & 1u << 22, 1u << 22);
	raw_w64(d, 0x10000, 0);
	assert_int_equal(raw_r64(d, 0x10000) & 1u << 22, 1u << 22); /* sticky */
	raw_w32(d, 0x10000, 1u << 23);
	assert_int_equal(raw_r64(d, 0x10000) & (1u << 22 | 1u << 23), 1u << 23);
	raw_w32(d, 0x10000, 1u << 22 | 1u << 23); /* not while in reset */
	assert_int_equal(raw_r64(d, 0x10000) & 1u << 22, 0);
	raw_w32(d, 0x10050, 1);
	assert_int_equal(raw_r32(d, 0x10050) & 1, 0);
	raw_w32(d, 0x10000, 0);
	assert_int_equal(raw_r64(d, 0x10000) & (1u << 23 | 1u << 28), 0);
	ut_check(raw_r64(d, 0x10000) == ro, "as found");
	mt_free(m);
}

static void
output_control_enable_is_sticky(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_w32(d, 0x10050, 0xFFFFFFFF);
	assert_int_equal(raw_r32(d, 0x10050), 0x3BEF); /* the bits that exist */
	raw_w32(d, 0x10050, 0);
	assert_int_equal(raw_r32(d, 0x10050), 1);
	raw_w32(d, 0x10050, 0xA40);
	liqm_fn_reset(d->fn, LIQM_RESET_FLR);
	assert_int_equal(raw_r32(d, 0x10050), 0xA40); /* inherited, as on the card: K1 */
	mt_free(m);
}

static void
mailbox_interrupt_is_write_one_to_clear(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	uint64_t word = 0x0110;

	(void)state;
	raw_w64(d, 0x10210, 1);
	assert_int_equal(liqm_vf_message(d->fn, &word, 1), 0);
	assert_int_equal(raw_r64(d, 0x10210), 3);
	assert_int_equal(m->host[0].n_irq[0], 1);
	assert_int_equal(raw_r64(d, 0x100B0) >> 61, 1);
	raw_w64(d, 0x10210, 1); /* a zero does not clear */
	assert_int_equal(raw_r64(d, 0x10210), 3);
	raw_w64(d, 0x10210, raw_r64(d, 0x10210)); /* back as read */
	assert_int_equal(raw_r64(d, 0x10210), 1);
	assert_int_equal(raw_r64(d, 0x100B0) >> 61, 0);
	mt_free(m);
}

static void
overruns_are_counted_and_bounded(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_w32(d, 0x10030, 128);
	raw_w32(d, 0x10090, 128);
	raw_w32(d, 0x10020, 127);
	raw_w32(d, 0x10020, 1);
	assert_int_equal(mt_count(m, LIQM_N_dbell_overrun), 0);
	raw_w32(d, 0x10020, 1);
	assert_int_equal(mt_count(m, LIQM_N_dbell_overrun), 1);
	assert_int_equal(raw_r32(d, 0x10020), 128);
	raw_w32(d, 0x10080, 128);
	assert_int_equal(mt_count(m, LIQM_N_cred_overrun), 0);
	raw_w32(d, 0x10080, 0xFFFFFFFE);
	assert_int_equal(mt_count(m, LIQM_N_cred_overrun), 1);
	assert_int_equal(raw_r32(d, 0x10080), 128);
	assert_int_equal(mt_count(m, LIQM_N_dbell_disabled), 3);
	mt_free(m);
}

static void
nonsense_accesses_are_counted(void **state)
{
	struct mt *m = mt_vf(1);
	struct liqm_fn *fn = m->drv[0].fn;

	(void)state;
	/* outside, misaligned, odd lengths: ones and a count each */
	assert_true(liqm_bar_read(fn, 0, 2u << 20, 8) == UINT64_MAX);
	assert_true(liqm_bar_read(fn, 0, UINT64_MAX - 3, 4) == 0xFFFFFFFF);
	assert_true(liqm_bar_read(fn, 0, 0x10004, 8) == UINT64_MAX);
	assert_true(liqm_bar_read(fn, 0, 0x10001, 2) == 0xFFFF);
	assert_true(liqm_bar_read(fn, 0, 0x10000, 3) == 0xFFFFFF);
	assert_true(liqm_bar_read(fn, 2, 0, 4) == 0xFFFFFFFF); /* a VF has no card memory */
	assert_true(liqm_bar_read(fn, 77, 0, 4) == 0xFFFFFFFF);
	assert_int_equal(liqm_counter(fn, LIQM_N_reg_bad), 7);
	liqm_bar_write(fn, 0, 2u << 20, 1, 8);
	liqm_bar_write(fn, 0, 0x10000, 1, 16);
	liqm_bar_write(fn, 0, 0x10020, 1, 1); /* part of a doorbell */
	assert_int_equal(liqm_counter(fn, LIQM_N_reg_bad), 10);
	/* holes, rings that are not the VF's, global registers in a VF */
	assert_int_equal(liqm_bar_read(fn, 0, 0, 8), 0);
	assert_int_equal(liqm_bar_read(fn, 0, 0x10008, 8), 0);
	assert_int_equal(liqm_bar_read(fn, 0, 0x30000, 8), 0);
	assert_int_equal(liqm_bar_read(fn, 0, 0x283D0, 8), 0);
	liqm_bar_write(fn, 0, 0x10008, 1, 8);
	liqm_bar_write(fn, 0, 0x30020, 1, 4);
	assert_int_equal(liqm_counter(fn, LIQM_N_reg_unknown), 6);
	mt_free(m);
}

static uint32_t
cfg32(struct liqm_fn *fn, uint32_t off)
{
	uint32_t v;

	liqm_cfg_read(fn, off, &v, 4);
	return v;
}

static void
cfg_write32(struct liqm_fn *fn, uint32_t off, uint32_t v)
{
	liqm_cfg_write(fn, off, &v, 4);
}

static void
config_space_walks_like_a_pci_device(void **state)
{
	struct mt *m = mt_vf(1);
	struct liqm_fn *fn = m->drv[0].fn;
	uint8_t ids[16], all[5000];
	unsigned int n = 0;

	(void)state;
	assert_int_equal(cfg32(fn, 0), 0x9712177D);
	assert_int_equal(cfg32(fn, 8), 0x02000002);
	assert_int_equal(cfg32(fn, 0x2C), 0x0004177D);
	for (uint8_t at = (uint8_t)cfg32(fn, 0x34); at != 0 && n < 16; n++) {
		uint32_t v = cfg32(fn, at);

		ids[n] = (uint8_t)v;
		at = (uint8_t)(v >> 8);
	}
	assert_int_equal(n, 3);
	assert_int_equal(ids[0], 0x01);
	assert_int_equal(ids[1], 0x11);
	assert_int_equal(ids[2], 0x10);
	assert_int_equal(cfg32(fn, 0x50) >> 16 & 0x7FF, 64); /* 65 vectors */
	assert_int_equal(cfg32(fn, 0x3C) >> 8 & 0xFF, 0);    /* no INTx */
	/* extended: AER, then ARI, end */
	assert_int_equal(cfg32(fn, 0x100), 0x14820001);
	assert_int_equal(cfg32(fn, 0x148), 0x0001000E);
	/* BAR sizing: 64-bit, prefetchable, 2 MiB; table BAR 64 KiB */
	cfg_write32(fn, 0x10, 0xFFFFFFFF);
	cfg_write32(fn, 0x14, 0xFFFFFFFF);
	assert_int_equal(cfg32(fn, 0x10), 0xFFE0000C);
	assert_int_equal(cfg32(fn, 0x14), 0xFFFFFFFF);
	cfg_write32(fn, 0x20, 0xFFFFFFFF);
	assert_int_equal(cfg32(fn, 0x20), 0xFFFF000C);
	cfg_write32(fn, 0x18, 0xFFFFFFFF);
	assert_int_equal(cfg32(fn, 0x18), 0);
	/* read-only identity; beyond the end: ones and a count */
	cfg_write32(fn, 0, 0);
	assert_int_equal(cfg32(fn, 0), 0x9712177D);
	liqm_cfg_read(fn, 0, all, sizeof(all));
	assert_int_equal(all[4095], 0);
	assert_int_equal(all[4096], 0xFF);
	liqm_cfg_read(fn, 70000, all, 4);
	assert_int_equal(all[0], 0xFF);
	liqm_cfg_write(fn, 4094, all, 4);
	assert_int_equal(liqm_counter(fn, LIQM_N_reg_bad), 3);
	mt_free(m);
}

static void
device_control_bit_15_resets_the_function(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct liqm_fn *fn = m->drv[0].fn;
	uint16_t command = 0x0406, devctl = 0xA810;

	(void)state;
	assert_int_equal(cfg32(fn, 0x74) >> 28 & 1, 1); /* says that it can */
	liqm_cfg_write(fn, 4, &command, 2);
	assert_int_equal(cfg32(fn, 4) & 0xFFFF, 0x0406);
	liqm_bar_write(fn, 4, 0, 0x1234, 4);
	liqm_cfg_write(fn, 0x78, &devctl, 2);
	assert_int_equal(liqm_counter(fn, LIQM_N_flr), 1);
	assert_int_equal(cfg32(fn, 4) & 0xFFFF, 0);
	assert_int_equal(cfg32(fn, 0x78) & 0x8000, 0);
	assert_int_equal(liqm_bar_read(fn, 4, 0, 4), 0);
	assert_int_equal(liqm_bar_read(fn, 0, 0x10050, 4) & 1, 0);
	devctl = 0x2810;
	liqm_cfg_write(fn, 0x78, &devctl, 2);
	assert_int_equal(liqm_counter(fn, LIQM_N_flr), 1);
	mt_free(m);
}

static void
msix_table_is_memory(void **state)
{
	struct mt *m = mt_vf(1);
	struct liqm_fn *fn = m->drv[0].fn;

	(void)state;
	liqm_bar_write(fn, 4, 64 * 16, 0xFEE00000, 4);
	liqm_bar_write(fn, 4, 64 * 16 + 8, UINT64_C(0x100000041), 8);
	assert_int_equal(liqm_bar_read(fn, 4, 64 * 16, 4), 0xFEE00000);
	assert_true(liqm_bar_read(fn, 4, 64 * 16 + 8, 8) == UINT64_C(0x100000041));
	liqm_bar_write(fn, 4, 65 * 16, 1, 4); /* behind the last vector */
	assert_int_equal(liqm_bar_read(fn, 4, 65 * 16, 4), 0);
	assert_int_equal(liqm_bar_read(fn, 4, 0x8000, 8), 0);
	mt_free(m);
}

static void
rings_can_come_out_of_flr_in_reset(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.rst_at_flr = true;
	m = mt_new(&cfg);
	liqm_fn_reset(m->drv[0].fn, LIQM_RESET_FLR);
	assert_int_equal(raw_r64(&m->drv[0], 0x10000) & (1u << 23 | 1u << 28), 1u << 23 | 1u << 28);
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	mt_free(m);
}

struct log {
	unsigned int n;
	struct liqm_access last, first;
};

static void
observe(void *ctx, const struct liqm_access *access)
{
	struct log *log = ctx;

	if (log->n++ == 0)
		log->first = *access;
	log->last = *access;
}

static void
access_log_tells_all(void **state)
{
	struct mt *m = mt_vf(2);
	struct raw *d = &m->drv[0];
	struct log log = {0};
	char text[128], small[8];

	(void)state;
	liqm_fn_observe(d->fn, observe, &log);
	raw_w32(d, 0x30020, 1);
	assert_true(liqm_access_format(&log.last, text, sizeof(text)) > 0);
	assert_string_equal(text, "fn0 BAR0 W ring1.IN_DBELL /4 = 0x1");
	raw_r32(d, 0x100A4);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 BAR0 R ring0.INT_LEV+4 /4 = 0x0");
	raw_r64(d, 0x283D0);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 BAR0 R csr0.SCRATCH2 /8 = 0x0");
	raw_r64(d, 0x8);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 BAR0 R 0x8 /8 = 0x0");
	cfg32(d->fn, 0);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 CFG R 0x000 /4 = 0x9712177d");
	liqm_bar_read(d->fn, 4, 16, 4);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 BAR4 R 0x10 /4 = 0x0");
	assert_int_equal(mt_count(m, LIQM_N_accesses), 6);
	liqm_fn_reset(d->fn, LIQM_RESET_BUS);
	assert_int_equal(liqm_access_format(&log.last, small, sizeof(small)), 13);
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 RESET bus");
	log.last.value = 99;
	liqm_access_format(&log.last, text, sizeof(text));
	assert_string_equal(text, "fn0 RESET ?");
	assert_int_equal(log.n, 7);
	assert_int_equal(log.first.off, 0x30020);
	liqm_fn_observe(d->fn, NULL, NULL);
	raw_r64(d, 0x8);
	assert_int_equal(log.n, 7);
	mt_free(m);
}

static char last_log[256];

static void
keep_log(void *ctx, enum liqm_log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	snprintf(last_log, sizeof(last_log), "%s", text);
}

static void
wrong_configurations_are_named(void **state)
{
	struct liqm_card_cfg good, bad;
	struct liqm_card *card = NULL;

	(void)state;
#define BAD(member, value)                                                                         \
	do {                                                                                       \
		bad = good;                                                                        \
		bad.member = value;                                                                \
		last_log[0] = 0;                                                                   \
		assert_int_equal(liqm_card_create(&bad, &card), -EINVAL);                          \
		assert_null(card);                                                                 \
		ut_check(strncmp(last_log, #member, strlen(#member)) == 0, "%s", last_log);        \
	} while (0)
	liqm_card_cfg_default(&good);
	good.svc.log = keep_log;
	BAD(n_pf, 3);
	BAD(n_vf, 64);
	BAD(n_vf, 0);
	BAD(rings_per_vf, 0);
	BAD(rings_per_vf, 9);
	BAD(subsys_id, 2);
	BAD(subsys_id, 12);
	BAD(fw_version, NULL);
	BAD(fw_version, "12345678901234567890123456789012");
	BAD(speed_mbps, 1000);
	BAD(max_mtu, 67);
	BAD(max_mtu, 16001);
	BAD(coproc_mhz, 0);
	BAD(coproc_mhz, 1001);
	BAD(pkind, 64);
	BAD(trusted_vf, 2);
#undef BAD
	bad = good;
	bad.mac[0] = 1;
	assert_int_equal(liqm_card_create(&bad, &card), -EINVAL);
	bad = good;
	bad.n_vf = 9;
	bad.rings_per_vf = 8;
	assert_int_equal(liqm_card_create(&bad, &card), -EINVAL);
	liqm_card_destroy(NULL);
}

static void
names_and_texts_exist_for_all_counters(void **state)
{
	struct mt *m = mt_vf(1);

	(void)state;
	for (unsigned int i = 0; i < LIQM_N_COUNTERS; i++) {
		assert_true(strlen(liqm_counter_name((enum liqm_counter)i)) > 0);
		assert_true(strlen(liqm_counter_text((enum liqm_counter)i)) > 0);
	}
	assert_null(liqm_counter_name(LIQM_N_COUNTERS));
	assert_null(liqm_counter_text(LIQM_N_COUNTERS));
	assert_int_equal(liqm_counter(m->drv[0].fn, LIQM_N_COUNTERS), 0);
	for (unsigned int i = 0; i < LIQM_N_FAULTS; i++)
		assert_int_equal(liqm_fault_by_name(liqm_fault_name((enum liqm_fault_kind)i)), i);
	assert_null(liqm_fault_name(LIQM_N_FAULTS));
	assert_null(liqm_card_fn(m->card, 1));
	assert_null(liqm_card_vf(m->card, 0, 1));
	assert_null(liqm_card_vf(m->card, 1, 0));
	assert_null(liqm_card_pf(m->card, 0));
	assert_null(liqm_card_pf(m->card, 5));
	assert_ptr_equal(liqm_card_vf(m->card, 0, 0), m->drv[0].fn);
	mt_free(m);
}

static void
field_helpers_are_inverse(void **state)
{
	(void)state;
	assert_true(liq_put(0, 64, UINT64_MAX) == UINT64_MAX);
	assert_true(liq_mask(63, 1) == UINT64_C(1) << 63);
	assert_int_equal(liq_get(liq_put(LIQ_IN_CTL_VF_NUM, 0x1FFF), LIQ_IN_CTL_VF_NUM), 0x1FFF);
	assert_int_equal(liq_get(liq_put(LIQ_IN_CTL_RPVF, 64), LIQ_IN_CTL_RPVF), 0); /* cut */
	assert_int_equal(LIQ_RING(63) + LIQ_REG_MBOX_INT, 0x7F0210);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_ring_register_answers_64_and_32_bits),
		cmocka_unit_test(plain_registers_keep_what_is_written),
		cmocka_unit_test(read_only_registers_ignore_writes),
		cmocka_unit_test(input_control_bits_by_owner),
		cmocka_unit_test(output_control_enable_is_sticky),
		cmocka_unit_test(mailbox_interrupt_is_write_one_to_clear),
		cmocka_unit_test(overruns_are_counted_and_bounded),
		cmocka_unit_test(nonsense_accesses_are_counted),
		cmocka_unit_test(config_space_walks_like_a_pci_device),
		cmocka_unit_test(device_control_bit_15_resets_the_function),
		cmocka_unit_test(msix_table_is_memory),
		cmocka_unit_test(rings_can_come_out_of_flr_in_reset),
		cmocka_unit_test(access_log_tells_all),
		cmocka_unit_test(wrong_configurations_are_named),
		cmocka_unit_test(names_and_texts_exist_for_all_counters),
		cmocka_unit_test(field_helpers_are_inverse),
	};

	return UT_RUN(cases, NULL, NULL);
}
