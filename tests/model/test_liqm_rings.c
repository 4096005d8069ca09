/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queues: fetch and completion, both output modes with one and many buffers, wrap, credits, byte
 * order bits, bad addresses, and interrupts.
 */
#include "mt.h"

#define MS UINT64_C(1000000)

static void
bring_up_with_1_to_8_rings_in_both_modes(void **state)
{
	(void)state;
	for (unsigned int n = 1; n <= 8; n++) {
		for (int info = 0; info < 2; info++) {
			struct mt *m = mt_vf(n);
			struct raw *d = &m->drv[0];
			struct mt_frame f;

			d->info_mode = info;
			d->iq_desc = d->oq_desc = 128;
			assert_int_equal(raw_vf_up(d, n), 0);
			assert_int_equal(d->in_ctl >> 48 & 0x3F, n);
			assert_int_equal(d->handshake & 0xFF, 40);
			assert_int_equal(d->handshake >> 24 & 0xFFFF, 1000);
			assert_int_equal(d->handshake >> 40, 1);
			assert_int_equal(d->ifcfg[1], (1u << n) - 1);
			assert_int_equal(d->ifcfg[2], (1u << n) - 1);
			for (unsigned int k = 0; k < n; k++) {
				assert_int_equal(d->ifcfg[6 + k] >> 56, k);
				assert_int_equal(d->ifcfg[6 + k] >> 42 & 0x3F, 40);
				assert_int_equal(d->ifcfg[70 + k] >> 56, k);
				mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 100, k);
				raw_send(d, k, f.b, f.len, 0, 0, 0);
				assert_int_equal(m->wire.n, k + 1);
				ut_check_bytes(m->wire.frame[k], f.b, f.len, "ring %u", k);
			}
			mt_free(m);
		}
	}
}

static void
more_rings_than_the_vf_has_are_refused(void **state)
{
	struct mt *m = mt_vf_up(2, false);

	(void)state;
	assert_int_not_equal(raw_if_cfg(&m->drv[0], 3), 0);
	assert_int_not_equal(raw_if_cfg(&m->drv[0], 0), 0);
	assert_int_equal(raw_if_cfg(&m->drv[0], 1), 0);
	mt_free(m);
}

static void
many_packets_wrap_both_rings(void **state)
{
	(void)state;
	for (int info = 0; info < 2; info++) {
		struct mt *m = mt_vf(1);
		struct raw *d = &m->drv[0];
		struct mt_frame f;

		d->info_mode = info;
		d->iq_desc = 128;
		d->oq_desc = 130; /* no power of two */
		d->buf_bytes = 512;
		assert_int_equal(raw_vf_up(d, 1), 0);
		for (unsigned int i = 0; i < 1000; i++) {
			mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, (i * 37) % 1400, i);
			assert_int_equal(mt_in(m, &f), 0);
			assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
			ut_check(m->pkt.len == f.len, "packet %u: %u for %u", i, m->pkt.len, f.len);
			ut_check_bytes(m->pkt.data, f.b, f.len, "packet %u", i);
			memcpy(f.b, mt_peer_mac, 6);
			memcpy(f.b + 6, d->mac, 6);
			m->wire.n = 0;
			raw_send_gather(d, 0, f.b, f.len, 1 + i % 9, 0, 0);
			assert_int_equal(m->wire.n, 1);
			ut_check_bytes(m->wire.frame[0], f.b, f.len, "sent %u", i);
		}
		assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 0);
		assert_int_equal(mt_count(m, LIQM_N_cred_overrun), 0);
		mt_free(m);
	}
}

static void
reset_ring_starts_again_at_entry_0(void **state)
{
	(void)state;
	for (int info = 0; info < 2; info++) {
		struct mt *m = mt_vf_up(1, info);
		struct raw *d = &m->drv[0];
		struct mt_frame f;

		for (unsigned int round = 0; round < 3; round++) {
			for (unsigned int i = 0; i < 5; i++) {
				mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100 + i, round);
				mt_in(m, &f);
				assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
				ut_check_bytes(m->pkt.data, f.b, f.len, "round %u", round);
			}
			assert_int_equal(raw_reset_rings(d), 0);
			raw_ring_setup(d, 0);
			raw_ring_credits(d, 0);
			raw_ring_enable(d, 0);
		}
		mt_free(m);
	}
}

static void
buffer_boundaries_split_exactly(void **state)
{
	(void)state;
	for (int info = 0; info < 2; info++) {
		struct mt *m = mt_vf_up(1, info);
		struct raw *d = &m->drv[0];
		struct mt_frame f;

		assert_int_equal(raw_cmd(d, raw_cmd_word(1, 9000, 0, 0), NULL, 0), 0);
		/* no hash: buffers hold the frame alone, or 16 bytes and the frame */
		for (uint32_t len = 2048 * 2 - 18; len <= 2048 * 2 + 2; len++) {
			uint32_t total = len + (info ? 0 : 16), before = raw_r32(d, 0x10080);
			uint32_t want = (total + 2047) / 2048;

			mt_build(&f, d->mac, mt_peer_mac, MT_RAW, len - 14, 1);
			mt_in(m, &f);
			assert_int_equal(before - raw_r32(d, 0x10080), want);
			assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
			assert_int_equal(m->pkt.n_bufs, want);
			ut_check_bytes(m->pkt.data, f.b, f.len, "length %u", len);
		}
		mt_free(m);
	}
}

static void
byte_swap_bits_do_what_they_say(void **state)
{
	struct mt *m = mt_vf_up(1, true);
	struct raw *d = &m->drv[0];
	const uint8_t *buf, *info;
	struct mt_frame f;

	(void)state;
	/* ES clear: words of data come out reversed */
	raw_w32(d, 0x10050, 0x840);
	buf = raw_ptr(d->host, d->ring[0].bufs + (uint64_t)d->ring[0].oq_get * 2048);
	info = raw_ptr(d->host, d->ring[0].info + 16 * d->ring[0].oq_get);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 50, 1);
	mt_in(m, &f);
	for (int i = 0; i < 8; i++)
		assert_int_equal(buf[i], f.b[7 - i]);
	assert_int_equal(info[7] >> 4, 1); /* opcode, once the first byte */
	assert_int_equal(info[8], 8 + 64);
	/* ES_P: descriptors are read reversed */
	raw_w32(d, 0x10050, 0xA48);
	uint64_t *desc = raw_ptr(d->host, d->ring[0].oq + 16 * (d->ring[0].oq_get + 1));

	desc[0] = __builtin_bswap64(desc[0]);
	desc[1] = __builtin_bswap64(desc[1]);
	mt_in(m, &f);
	ut_check_bytes(buf + 2048, f.b, f.len, "swapped pointers");
	/* DATA_ES clear on input: a command word must then be little-endian */
	raw_w64(d, 0x10000, (raw_r64(d, 0x10000) & ~UINT64_C(0x40)));
	assert_int_equal(raw_cmd(d, __builtin_bswap64(raw_cmd_word(1, 1400, 0, 0)), NULL, 0), 0);
	mt_free(m);
}

static void
byte_mode_counts_bytes(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	raw_w32(d, 0x10050, 0x260);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 86, 1);
	mt_in(m, &f);
	assert_int_equal(raw_r32(d, 0x100B0), 108); /* header and 100 bytes */
	mt_free(m);
}

static void
without_credits_a_frame_waits_then_is_dropped(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_vf_handshake(d), 0);
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_enable(d, 0);
	assert_int_equal(raw_if_cfg(d, 1), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(4, 1, 0, 0), NULL, 0), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 100, 1);
	/* it waits: credits that come in time save it, and the notice goes first */
	mt_in(m, &f);
	raw_wait_ns(d, MS);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 0);
	raw_w32(d, 0x10080, 2);
	assert_int_equal(raw_r32(d, 0x100B0), 2);
	assert_int_equal(raw_r32(d, 0x10080), 0);
	/* too late: dropped, and the next one does not wait */
	mt_in(m, &f);
	raw_wait_ns(d, 3 * MS);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 1);
	mt_in(m, &f);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 2);
	/* partial: 1 credit for a frame of 2 buffers is left alone */
	raw_w32(d, 0x10080, 1);
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 1450, 1);
	raw_w32(d, 0x10060, 1024);
	mt_in(m, &f);
	raw_wait_ns(d, 3 * MS);
	assert_int_equal(mt_count(m, LIQM_N_rx_no_credit), 3);
	assert_int_equal(raw_r32(d, 0x10080), 1);
	mt_free(m);
}

static void
credits_posted_before_enabling_are_kept(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	assert_int_equal(raw_vf_handshake(d), 0);
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_credits(d, 0);
	raw_ring_enable(d, 0);
	assert_int_equal(raw_r32(d, 0x10080), 512);
	mt_free(m);
}

static void
bad_addresses_are_counted_never_followed(void **state)
{
	struct mt *m = mt_vf_up(1, true);
	struct raw *d = &m->drv[0];
	struct raw_ring *r = &d->ring[0];
	struct mt_frame f;
	uint64_t words[8] = {0}, *desc = raw_ptr(d->host, r->oq);

	(void)state;
	/* data, gather list and response of an instruction */
	words[0] = 0x1000;
	words[1] = UINT64_C(40) << 32 | UINT64_C(48) << 42 | UINT64_C(64) << 48;
	words[3] = UINT64_C(1) << 60 | UINT64_C(2) << 52;
	raw_post(d, 0, words);
	words[1] |= UINT64_C(1) << 62;
	raw_post(d, 0, words);
	words[0] = UINT64_MAX - 7; /* wraps around the end of the address space */
	raw_post(d, 0, words);
	words[0] = d->data;
	words[1] = UINT64_C(40) << 32 | UINT64_C(48) << 42;
	words[3] = UINT64_C(1) << 60 | UINT64_C(4) << 52 | UINT64_C(1) << 59;
	words[6] = 1064;
	words[7] = RAW_IOVA + RAW_MEM - 100; /* runs out of memory midway */
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 4);
	assert_int_equal(raw_done(d, 0), 4);
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 3);
	assert_int_equal(mt_count(m, LIQM_N_dma_write_err), 1);
	/* buffer and info pointer, then the descriptor ring itself */
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 100, 1);
	desc[2 * r->oq_get] = 0;
	mt_in(m, &f);
	desc[2 * r->oq_get] = r->bufs + (uint64_t)r->oq_get * r->buf_bytes;
	desc[2 * r->oq_get + 1] = 0;
	mt_in(m, &f);
	raw_deny(d->host, r->oq, 16 * 512, 1);
	mt_in(m, &f);
	assert_int_equal(mt_count(m, LIQM_N_dma_write_err), 3);
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 4);
	assert_int_equal(raw_r32(d, 0x100B0), 0); /* none of them is announced */
	raw_deny(d->host, r->oq, 16 * 512, 0);
	desc[2 * r->oq_get + 1] = r->info + 16 * r->oq_get;
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	/* the instruction ring */
	raw_deny(d->host, r->iq, 64 * 512, 1);
	raw_ring_bell(d, 0, 3);
	assert_int_equal(raw_done(d, 0), 3);
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 7);
	/* nobody there at all */
	liqm_fn_attach(d->fn, NULL);
	raw_ring_bell(d, 0, 1);
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 8);
	m->expect_bad = 9; /* the wrap-around is caught before the bus */
	mt_free(m);
}

static void
malformed_instructions_complete_and_count(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint64_t words[8] = {0};

	(void)state;
	words[1] = UINT64_C(40) << 32; /* fsz 0 */
	words[3] = UINT64_C(1) << 60 | UINT64_C(2) << 52;
	raw_post(d, 0, words);
	words[1] = UINT64_C(40) << 32 | UINT64_C(32) << 42;
	words[3] |= UINT64_C(1) << 59; /* response wanted, short header */
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 2);
	assert_int_equal(raw_done(d, 0), 2);
	assert_int_equal(mt_count(m, LIQM_N_instr_bad), 2);
	/* response length under 16 */
	assert_int_equal(raw_request(d, 4, 0, 0, NULL, 0, NULL, 8, MS), RAW_NO_STATUS);
	assert_int_equal(mt_count(m, LIQM_N_resp_bad), 1);
	/* wrong port kind: done, and remembered */
	d->pkind = 41;
	assert_int_equal(raw_cmd(d, raw_cmd_word(1, 1500, 0, 0), NULL, 0), 0);
	assert_int_equal(mt_count(m, LIQM_N_instr_pkind), 1);
	/* direct data over the jabber limit cannot be: 14 bits; a short packet can */
	d->pkind = 40;
	raw_send(d, 0, d->mac, 10, 0, 0, 0);
	assert_int_equal(mt_count(m, LIQM_N_tx_dropped), 1);
	/* an error that nobody asked for is still counted */
	assert_int_equal(raw_cmd_quiet(d, raw_cmd_word(1, 1, 0, 0), NULL, 0), 0);
	assert_int_equal(mt_count(m, LIQM_N_cmd_lost), 1);
	mt_free(m);
}

static void
rings_without_size_or_base_are_refused(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	raw_w64(d, 0x10010, 0);
	raw_ring_bell(d, 0, 1);
	assert_int_equal(mt_count(m, LIQM_N_ring_bad), 1);
	assert_int_equal(raw_r32(d, 0x10020), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 100, 1);
	raw_w32(d, 0x10060, 0); /* buffers of no bytes */
	mt_in(m, &f);
	assert_int_equal(mt_count(m, LIQM_N_ring_bad), 2);
	raw_w32(d, 0x10060, 1); /* a frame of more buffers than there are */
	raw_w32(d, 0x10090, 16);
	mt_in(m, &f);
	assert_int_equal(mt_count(m, LIQM_N_ring_bad), 3);
	mt_free(m);
}

static void
huge_doorbell_is_worked_off_in_turns(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;
	struct raw *d;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.manual_step = true;
	m = mt_new(&cfg);
	d = &m->drv[0];
	assert_int_equal(raw_reset_rings(d), 0);
	raw_w64(d, 0x10010, RAW_IOVA);
	raw_w32(d, 0x10030, 100000);
	raw_w64(d, 0x10000, raw_r64(d, 0x10000) | 1u << 24 | 1u << 22);
	raw_w32(d, 0x10020, 100000);
	assert_int_equal(raw_r32(d, 0x10040), 0); /* stepped by hand */
	assert_int_equal(liqm_card_next_ns(m->card), 0);
	liqm_card_tick(m->card);
	assert_int_equal(raw_r32(d, 0x10040), 4096);
	assert_int_equal(liqm_card_next_ns(m->card), 0);
	mt_free(m);
}

/* ---- interrupts ---- */

static void
output_interrupt_by_count_and_time(void **state)
{
	struct mt *m = mt_vf_up(2, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;
	uint32_t levels = raw_reg(d, 0, R_INT_LEVELS), cnts = raw_reg(d, 0, R_CNTS);

	(void)state;
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 100, 1); /* no hash: queue 0 */
	memset(m->host[0].n_irq, 0, sizeof(m->host[0].n_irq));
	raw_w64(d, levels, UINT64_C(0x3FFFFFFFFFFFFF)); /* off */
	mt_in(m, &f);
	raw_wait_ns(d, 10000 * MS);
	assert_int_equal(m->host[0].n_irq[0], 0);
	raw_w32(d, cnts, raw_r32(d, cnts));
	/* more than 2 packets, or 97 ticks of 1024 clocks at 1 GHz: 99.3 us */
	raw_w64(d, levels, UINT64_C(97) << 32 | 2);
	mt_in(m, &f);
	mt_in(m, &f);
	assert_int_equal(m->host[0].n_irq[0], 0);
	assert_int_equal(raw_r64(d, cnts), 2);
	mt_in(m, &f);
	assert_int_equal(m->host[0].n_irq[0], 1);
	assert_true(raw_r64(d, cnts) == (UINT64_C(1) << 63 | 3));
	mt_in(m, &f); /* told already */
	assert_int_equal(m->host[0].n_irq[0], 1);
	/* three taken: one left, under the threshold; by time it comes */
	raw_w32(d, cnts, 3);
	raw_w64(d, cnts, UINT64_C(1) << 60);
	assert_int_equal(raw_r64(d, cnts), 1);
	raw_wait_ns(d, 50000);
	assert_int_equal(m->host[0].n_irq[0], 1);
	raw_wait_ns(d, 60000);
	assert_int_equal(m->host[0].n_irq[0], 2);
	/* RESEND while it is due: again */
	raw_w64(d, cnts, UINT64_C(1) << 60);
	assert_int_equal(m->host[0].n_irq[0], 3);
	assert_int_equal(m->host[0].n_irq[1], 0);
	assert_int_equal(mt_count(m, LIQM_N_msix_raised), m->host[0].n_irq[0] + 1);
	mt_free(m);
}

static void
input_interrupt_by_watermark(void **state)
{
	struct mt *m = mt_vf_up(2, false);
	struct raw *d = &m->drv[0];
	uint32_t done = raw_reg(d, 1, R_IN_DONE);
	uint64_t nothing[8] = {0};

	(void)state;
	raw_w32(d, done, raw_r32(d, done));
	raw_w64(d, done, UINT64_C(1) << 48 | UINT64_C(2) << 32);
	for (int i = 0; i < 4; i++) {
		raw_post(d, 1, nothing);
		raw_ring_bell(d, 1, 1);
		assert_int_equal(m->host[0].n_irq[1], i < 2 ? 0 : 1);
	}
	assert_true(raw_r64(d, done) >> 62 & 1);
	assert_true(raw_r64(d, raw_reg(d, 1, R_CNTS)) >> 62 & 1);
	/* what was processed is subtracted; the cause ends */
	raw_w32(d, done, 4);
	assert_int_equal(raw_r64(d, done) >> 62, 0);
	raw_post(d, 1, nothing);
	raw_post(d, 1, nothing);
	raw_post(d, 1, nothing);
	raw_ring_bell(d, 1, 3);
	assert_int_equal(m->host[0].n_irq[1], 2);
	raw_w64(d, done, raw_r64(d, done) >> 32 << 32 | UINT64_C(1) << 60);
	assert_int_equal(m->host[0].n_irq[1], 3);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(bring_up_with_1_to_8_rings_in_both_modes),
		cmocka_unit_test(more_rings_than_the_vf_has_are_refused),
		cmocka_unit_test(many_packets_wrap_both_rings),
		cmocka_unit_test(reset_ring_starts_again_at_entry_0),
		cmocka_unit_test(buffer_boundaries_split_exactly),
		cmocka_unit_test(byte_swap_bits_do_what_they_say),
		cmocka_unit_test(byte_mode_counts_bytes),
		cmocka_unit_test(without_credits_a_frame_waits_then_is_dropped),
		cmocka_unit_test(credits_posted_before_enabling_are_kept),
		cmocka_unit_test(bad_addresses_are_counted_never_followed),
		cmocka_unit_test(malformed_instructions_complete_and_count),
		cmocka_unit_test(rings_without_size_or_base_are_refused),
		cmocka_unit_test(huge_doorbell_is_worked_off_in_turns),
		cmocka_unit_test(output_interrupt_by_count_and_time),
		cmocka_unit_test(input_interrupt_by_watermark),
	};

	return UT_RUN(cases, NULL, NULL);
}
