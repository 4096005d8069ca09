/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PF: global registers, window and card memory, bring-up with firmware running, interrupts,
 * chip reset, two ports.  With VFs on the same card: test_liqm_card.c.
 */
#include "mt.h"

#define MS UINT64_C(1000000)

static struct mt *
pf_new(unsigned int n_pf, unsigned int n_vf)
{
	struct liqm_card_cfg cfg;

	liqm_card_cfg_default(&cfg);
	cfg.n_pf = n_pf;
	cfg.n_vf = n_vf;
	cfg.trusted_vf = 0;
	return mt_new(&cfg);
}

static void
identity_and_global_registers(void **state)
{
	static const struct {
		uint32_t off;
		bool writable;
	} rows[] = {
		{0x20000, true},  {0x20030, true},  {0x20040, false}, {0x20050, false},
		{0x23D70, true},  {0x23D80, true},  {0x23DB0, true},  {0x27080, true},
		{0x27200, false}, {0x27300, false}, {0x282E0, true},  {0x283E0, true},
		{0x28400, true},  {0x28430, true},  {0x28570, true},  {0x286F0, true},
		{0x29120, true},  {0x29130, false}, {0x29140, false}, {0x29160, false},
		{0x29170, true},  {0x29180, true},  {0x291E0, false}, {0x29210, true},
		{0x29220, false},
	};
	struct mt *m = pf_new(1, 1);
	struct raw *d = &m->drv[0];
	struct liqm_fn_info info;
	uint32_t id;

	(void)state;
	liqm_cfg_read(d->fn, 0, &id, 4);
	assert_int_equal(id, 0x9702177D);
	liqm_cfg_read(d->fn, 0x188, &id, 4);
	assert_int_equal(id >> 16, 0);
	liqm_cfg_read(d->fn, 0x192, &id, 2);
	assert_int_equal(id & 0xFFFF, 0x9712);
	liqm_fn_info_get(d->fn, &info);
	assert_int_equal(info.bar[0].size, 8 << 20);
	assert_int_equal(info.bar[2].size, 64 << 20);
	assert_int_equal(info.n_msix, 65);
	assert_int_equal(raw_r64(d, 0x29170), 64000);
	assert_int_equal(raw_r64(d, 0x29030), 1 << 16); /* TRS 1: the fallback of 1.3 */
	assert_true(raw_r64(d, 0x283D0) >> 63 == 1);
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint64_t before = raw_r64(d, rows[i].off), v = UINT64_C(0x1234567800ABCDEF);

		raw_w64(d, rows[i].off, v);
		ut_check(raw_r64(d, rows[i].off) == (rows[i].writable ? v : before), "%x",
			 rows[i].off);
	}
	raw_w32(d, 0x28574, 7);
	assert_true(raw_r64(d, 0x28570) == UINT64_C(0x700ABCDEF));
	/* set and clear pairs */
	raw_w64(d, 0x29260, 0xFF);
	raw_w64(d, 0x29280, 0x0F);
	assert_int_equal(raw_r64(d, 0x29260), 0xF0);
	raw_w64(d, 0x29270, 0xFF);
	raw_w64(d, 0x29290, 0xF0);
	assert_int_equal(raw_r64(d, 0x29270), 0x0F);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 0);
	/* the register dump: every ring, 64 bits wide, nothing faults */
	for (unsigned int q = 0; q < 64; q++)
		raw_r64(d, R_RING(q) + 0xB0);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 0);
	raw_r64(d, R_RING(64) - 0x20000 + 0x300);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 1);
	mt_free(m);
}

static uint64_t
win_read(struct raw *d, uint64_t addr)
{
	raw_w32(d, 0x20014, (uint32_t)(addr >> 32) | 0x00060000);
	raw_r32(d, 0x20014);
	raw_w32(d, 0x20010, (uint32_t)addr);
	raw_r32(d, 0x20010);
	return raw_r64(d, 0x20040);
}

static void
win_write(struct raw *d, uint64_t addr, uint64_t v)
{
	raw_w64(d, 0x20000, addr);
	raw_w32(d, 0x20024, (uint32_t)(v >> 32));
	raw_r32(d, 0x20024);
	raw_w32(d, 0x20020, (uint32_t)v);
}

static void
window_and_card_memory(void **state)
{
	struct mt *m = pf_new(1, 0);
	struct raw *d = &m->drv[0];

	(void)state;
	assert_int_equal((win_read(d, UINT64_C(0x0001180006001600)) >> 24 & 0x3F) * 50, 1000);
	assert_int_equal(win_read(d, UINT64_C(0x0001180088000180)), 1);
	assert_int_equal(win_read(d, UINT64_C(0x0001180006001680)), 0);
	/* window 2 onto address 0: the boot loader's mailbox belongs to the host */
	win_write(d, UINT64_C(0x00011800C0000100) + (2 << 3), 0xB);
	assert_int_equal(win_read(d, UINT64_C(0x00011800C0000100) + (2 << 3)), 0xB);
	assert_int_equal(liqm_bar_read(d->fn, 2, (2 << 22) + 0x6C000, 4), 0x02000000);
	liqm_bar_write(d->fn, 2, (2 << 22) + 0x1000, UINT64_C(0x8877665544332211), 8);
	assert_int_equal(liqm_bar_read(d->fn, 2, (2 << 22) + 0x1003, 1), 0x44);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 0);
	/* no window; beyond memory; unknown chip registers */
	assert_int_equal(liqm_bar_read(d->fn, 2, 0, 8), 0);
	liqm_bar_write(d->fn, 2, 0, 1, 8);
	liqm_bar_read(d->fn, 2, (2 << 22) + (1 << 20) - 8, 8);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 2);
	liqm_bar_read(d->fn, 2, (2 << 22) + (1 << 20), 8);
	win_write(d, UINT64_C(0x00011800C0000100) + (2 << 3), 0x1B);
	liqm_bar_read(d->fn, 2, 2 << 22, 8);
	win_read(d, UINT64_C(0x0001DF0000000040));
	win_write(d, UINT64_C(0x0001DF0000000040), 1);
	assert_int_equal(mt_count(m, LIQM_N_reg_unknown), 6);
	mt_free(m);
}

static void
pf_comes_up_and_moves_frames(void **state)
{
	struct mt *m = pf_new(1, 0);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_pf_up(d, 4, 0, 1), 0);
	assert_int_equal(d->pkind, 40);
	assert_int_equal(d->ifcfg[1], 0xF);
	assert_int_equal(strncmp(d->version, "1.7", 3), 0);
	for (unsigned int k = 0; k < 4; k++) {
		mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 100, k);
		raw_send(d, k, f.b, f.len, 0, 0, 0);
		assert_int_equal(m->wire.n, k + 1);
	}
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100, 1);
	mt_in(m, &f);
	assert_true(raw_recv_frame(d, &m->pkt, MS) >= 0);
	mt_free(m);
}

static void
core_active_payload(void **state)
{
	struct mt *m = pf_new(1, 1);
	struct raw *d = &m->drv[0];

	(void)state;
	d->is_pf = true;
	raw_w64(d, 0x29030, 2 << 16 | UINT64_C(1) << 32 | UINT64_C(1) << 48);
	d->first = 1;
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_credits(d, 0);
	raw_ring_enable(d, 0);
	assert_true(raw_recv_notice(d, 1, &m->pkt, MS));
	assert_int_equal(m->pkt.len, 120);
	assert_true(raw_be64(m->pkt.data) != 0);
	assert_int_equal(m->pkt.rh & 0xFF, 40);
	assert_int_equal(m->pkt.rh >> 8 & 0xFF, 1);
	assert_int_equal(m->pkt.rh >> 20 & 0x3FF, 1);
	assert_int_equal(m->pkt.rh >> 30 & 0xFF, 1);
	assert_string_equal((char *)m->pkt.data + 8, "liqm");
	assert_false(raw_recv_notice(d, 1, &m->pkt, MS));
	mt_free(m);
}

static void
enabling_without_credits_resets_the_ring(void **state)
{
	struct mt *m = pf_new(1, 0);
	struct raw *d = &m->drv[0];

	(void)state;
	d->is_pf = true;
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_enable(d, 0);
	assert_int_equal(raw_r64(d, 0x10000) & (1u << 22 | 1u << 23), 1u << 23);
	assert_int_equal(raw_r64(d, 0x291E0), 1);
	/* with NOPTR_D the packet waits for credits */
	raw_w64(d, 0x29210, 2);
	assert_int_equal(raw_reset_rings(d), 0);
	assert_int_equal(raw_r64(d, 0x291E0), 0);
	raw_ring_setup(d, 0);
	raw_ring_enable(d, 0);
	assert_int_equal(raw_r32(d, 0x100B0), 0);
	raw_ring_credits(d, 0);
	assert_true(raw_recv_notice(d, 1, &m->pkt, MS));
	mt_free(m);
}

static void
speed_and_fec_settings(void **state)
{
	static const struct {
		unsigned int cmd, param1;
		bool good;
		uint32_t value;
	} rows[] = {
		{3, 0, true, 10}, {2, 25, true, 25}, {2, 40, false, 0},
		{0, 1, true, 1},  {1, 0, true, 1},   {9, 0, false, 0},
	};
	struct mt *m = pf_new(1, 0);
	uint8_t data[8], out[24];

	(void)state;
	assert_int_equal(raw_pf_up(&m->drv[0], 1, 0, 1), 0);
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint32_t status;

		raw_put_be64(data, raw_cmd_word(rows[i].cmd, rows[i].param1, 0, 0));
		status = raw_request(&m->drv[0], 0x17, 0, 0, data, 8, out, 24, 100 * MS);
		assert_int_equal(status == 0, rows[i].good);
		if (rows[i].good)
			assert_int_equal(raw_be64(out + 8) >> 32, rows[i].value);
	}
	assert_int_not_equal(raw_request(&m->drv[0], 0x17, 0, 0, data, 8, out, 16, 100 * MS), 0);
	/* QCOUNT: the layout of IF_CFG; more than there are is refused */
	assert_int_not_equal(raw_request(&m->drv[0], 0x12, UINT64_C(2) << 32 | 2 << 16, 0, NULL, 0,
					 NULL, 1112, 100 * MS),
			     0);
	assert_int_equal(raw_request(&m->drv[0], 0x12, UINT64_C(1) << 32 | 1 << 16, 0, NULL, 0,
				     NULL, 1112, 100 * MS),
			 0);
	mt_free(m);
}

static void
aux_interrupt_tells_of_vf_mail(void **state)
{
	struct mt *m = pf_new(1, 1);
	struct raw *pf = &m->drv[0];
	uint64_t bit57 = UINT64_C(1) << 57;

	(void)state;
	assert_int_equal(raw_pf_up(pf, 1, 1, 1), 0);
	raw_w64(pf, 0x27080, bit57);
	raw_w64(&m->drv[1], 0x10208, 0x206);
	assert_int_equal(m->host[0].n_irq[2], 1); /* vector TRS */
	assert_true(raw_r64(pf, 0x27000) == bit57);
	assert_int_equal(raw_r64(pf, 0x27380), 1);
	raw_w64(&m->drv[1], 0x10208, 0x206); /* told anew */
	assert_int_equal(m->host[0].n_irq[2], 2);
	raw_w64(pf, 0x27000, bit57);
	raw_w64(pf, 0x27380, 1);
	assert_int_equal(raw_r64(pf, 0x27000), 0);
	assert_int_equal(raw_r64(pf, 0x27380), 0);
	/* the other way: SIG0 raises the VF's interrupt */
	raw_w64(&m->drv[1], 0x10210, 1);
	raw_w64(pf, 0x10200, 0x0110);
	assert_int_equal(m->host[1].n_irq[0], 1);
	assert_int_equal(raw_r64(&m->drv[1], 0x10200), 0x0110);
	/* PF ring interrupts carry the ring's number; legacy enables set PKT_TIME */
	assert_true(raw_r64(pf, 0x29130) == 0 || raw_r64(pf, 0x29130) == 2);
	assert_int_equal(m->host[0].n_irq[1] > 0, 1);
	mt_free(m);
}

static void
legacy_packet_interrupt_in_the_summary(void **state)
{
	struct mt *m = pf_new(1, 0);
	struct raw *pf = &m->drv[0];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_pf_up(pf, 1, 0, 1), 0);
	raw_recv_frame(pf, &m->pkt, MS);
	raw_w64(pf, 0x27080, 1 << 5);
	raw_w32(pf, 0x10050, 0x3240);
	mt_build(&f, pf->mac, mt_peer_mac, MT_RAW, 60, 1);
	mt_in(m, &f);
	assert_int_equal(raw_r64(pf, 0x27000) & 1 << 5, 1 << 5);
	assert_int_equal(raw_r64(pf, 0x29130), 1);
	assert_int_equal(m->host[0].n_irq[1], 1);
	mt_free(m);
}

static void
chip_reset_stops_all_and_boots_again(void **state)
{
	struct mt *m = pf_new(2, 1);
	struct raw *pf = &m->drv[0];

	(void)state;
	assert_int_equal(raw_pf_up(pf, 1, 1, 1), 0);
	raw_w64(pf, 0x20030, 0xFF);
	raw_w64(pf, 0x283C0, 0x1234);
	assert_int_equal(raw_r64(pf, 0x283C0), 0x1234);
	win_read(pf, UINT64_C(0x0001180006001680));
	win_write(pf, UINT64_C(0x0001180006001680), 1);
	assert_int_equal(raw_r64(pf, 0x283C0), 0);
	assert_int_equal(raw_r64(pf, 0x283D0) >> 63, 0);
	assert_int_equal(raw_r64(pf, R_RING(1)) & 1u << 22, 0);
	assert_int_equal(raw_pf_up(pf, 1, 1, 1), -2); /* no firmware yet */
	raw_wait_ns(pf, 1100 * MS);
	assert_int_equal(raw_r64(pf, 0x283D0) >> 63, 1);
	assert_int_equal(raw_pf_up(pf, 1, 1, 1), 0);
	/* a driver may write the scratch registers itself */
	raw_w32(pf, 0x283D0, 0x3);
	assert_int_equal(raw_r64(pf, 0x283D0) & 0xFFFF, 3);
	mt_free(m);
}

static void
two_ports_share_the_chip_only(void **state)
{
	struct mt *m = pf_new(2, 0);
	struct mt_frame f;
	uint32_t fdl;

	(void)state;
	liqm_cfg_read(m->drv[1].fn, 0x188, &fdl, 4);
	assert_int_equal(fdl >> 16 & 0xFF, 1);
	assert_int_equal(raw_r64(&m->drv[1], 0x29040) & 0x7F, 64); /* SRN of PF 1 */
	assert_int_equal(raw_pf_up(&m->drv[0], 2, 0, 1), 0);
	assert_int_equal(raw_pf_up(&m->drv[1], 2, 0, 1), 0);
	assert_int_equal(m->drv[1].ifcfg[5] >> 48, 1);
	assert_int_equal(liqm_wire_pair(m->card, 0, m->card, 1), 0);
	mt_build(&f, m->drv[1].mac, m->drv[0].mac, MT_UDP4, 200, 1);
	raw_send(&m->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_true(raw_recv_frame(&m->drv[1], &m->pkt, MS) >= 0);
	ut_check_bytes(m->pkt.data, f.b, f.len, "port to port");
	/* scratch registers are one; one function's reset leaves the other running: K5 */
	raw_w64(&m->drv[0], 0x283C0, 4);
	assert_int_equal(raw_r64(&m->drv[1], 0x283C0), 4);
	liqm_fn_reset(m->drv[0].fn, LIQM_RESET_FLR);
	mt_build(&f, m->drv[1].mac, mt_peer_mac, MT_UDP4, 200, 1);
	assert_int_equal(liqm_wire_in(m->card, 1, f.b, f.len), 0);
	assert_true(raw_recv_frame(&m->drv[1], &m->pkt, MS) >= 0);
	assert_int_equal(raw_pf_up(&m->drv[0], 2, 0, 1), 0);
	liqm_fn_reset(m->drv[0].fn, LIQM_RESET_COLD);
	assert_int_equal(raw_pf_up(&m->drv[0], 2, 0, 1), 0);
	mt_free(m);
}

static void
before_the_pf_driver_a_vf_has_no_rings(void **state)
{
	struct mt *m = pf_new(1, 1);

	(void)state;
	assert_int_equal(raw_r64(&m->drv[1], 0x10000), 0);
	assert_int_equal(liqm_counter(m->drv[1].fn, LIQM_N_reg_unknown), 1);
	assert_true(liqm_vf_message(m->drv[1].fn, &(uint64_t){0x0110}, 1) < 0);
	/* a PF that programs nonsense into RINFO harms itself only */
	raw_w64(&m->drv[0], 0x29030, UINT64_MAX);
	raw_r64(&m->drv[1], 0x10000);
	raw_r64(&m->drv[0], R_RING(63));
	raw_w64(&m->drv[0], R_RING(63) + 0x200, 1);
	liqm_card_tick(m->card);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(identity_and_global_registers),
		cmocka_unit_test(window_and_card_memory),
		cmocka_unit_test(pf_comes_up_and_moves_frames),
		cmocka_unit_test(core_active_payload),
		cmocka_unit_test(enabling_without_credits_resets_the_ring),
		cmocka_unit_test(speed_and_fec_settings),
		cmocka_unit_test(aux_interrupt_tells_of_vf_mail),
		cmocka_unit_test(legacy_packet_interrupt_in_the_summary),
		cmocka_unit_test(chip_reset_stops_all_and_boots_again),
		cmocka_unit_test(two_ports_share_the_chip_only),
		cmocka_unit_test(before_the_pf_driver_a_vf_has_no_rings),
	};

	return UT_RUN(cases, NULL, NULL);
}
