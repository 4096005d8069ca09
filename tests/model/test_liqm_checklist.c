/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model's checklist, section 10.8 of the interface document: one named test per row.
 * Other programs in this folder look at each subject more closely.
 */
#include <errno.h>
#include <pthread.h>

#include "mt.h"

#define MS UINT64_C(1000000)

/* 1. RO fields of INPUT_CONTROL survive W64 0x06000050. */
static void
row01_input_control_keeps_read_only_fields(void **state)
{
	struct mt *m = mt_vf(8);
	struct raw *d = &m->drv[0];
	uint64_t before = raw_r64(d, 0x10000);

	(void)state;
	assert_int_equal(before >> 48 & 0x3F, 8);
	assert_int_equal(before >> 32 & 0x1FFF, 1);
	raw_w64(d, 0x10000, 0x06000050);
	ut_check(raw_r64(d, 0x10000) == (before | 0x06000050), "%llx",
		 (unsigned long long)raw_r64(d, 0x10000));
	mt_free(m);
}

static void
fill_ring_state(struct mt *m)
{
	struct raw *d = &m->drv[0];
	uint64_t nothing[8] = {0};
	struct mt_frame f;

	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100, 1);
	assert_int_equal(mt_in(m, &f), 0);
	raw_post(d, 0, nothing);
	raw_ring_bell(d, 0, 1);
	assert_int_not_equal(raw_r32(d, 0x10040), 0);
	assert_int_not_equal(raw_r32(d, 0x100B0), 0);
	assert_int_not_equal(raw_r32(d, 0x10080), 0);
}

static void
check_ring_is_clear(struct raw *d)
{
	assert_int_equal(raw_r64(d, 0x10000) & (1u << 22), 0);
	assert_int_equal(raw_r32(d, 0x10050) & 1, 0);
	assert_int_equal(raw_r64(d, 0x10020), 0);
	assert_int_equal(raw_r32(d, 0x10040), 0);
	assert_int_equal(raw_r64(d, 0x10080), 0);
	assert_int_equal(raw_r64(d, 0x100B0), 0);
	assert_int_equal(raw_r32(d, 0x10050) & 0x240, 0x240); /* the mode persists */
}

/* 2. RST clears RING_ENB, indices, doorbell, counts, credits of both directions; FLR too. */
static void
row02_reset_clears_both_directions(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint64_t v;

	(void)state;
	fill_ring_state(m);
	raw_w64(d, 0x10000, raw_r64(d, 0x10000) | 1u << 23);
	v = raw_r64(d, 0x10000);
	assert_true(!(v & 1u << 23) || (v & 1u << 28));
	check_ring_is_clear(d);
	raw_w64(d, 0x10000, v & ~(uint64_t)(1u << 23));
	assert_int_equal(raw_r64(d, 0x10000) & 1u << 23, 0);
	mt_free(m);

	m = mt_vf_up(1, false);
	fill_ring_state(m);
	liqm_fn_reset(m->drv[0].fn, LIQM_RESET_FLR);
	check_ring_is_clear(&m->drv[0]);
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0); /* and it comes up again, from index 0 */
	mt_free(m);
}

/* 3. W 0xFFFFFFFF to 0x10020 and 0x10080 clears; other writes add. */
static void
row03_doorbell_and_credits_add_and_clear(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	raw_w32(d, 0x10030, 512);
	raw_w32(d, 0x10090, 512);
	for (uint32_t reg = 0x10020; reg <= 0x10080; reg += 0x60) {
		raw_w32(d, reg, 5);
		raw_w32(d, reg, 7);
		assert_int_equal(raw_r32(d, reg), 12);
		raw_w64(d, reg, 0xFFFFFFFF);
		assert_int_equal(raw_r64(d, reg), 0);
		raw_w32(d, reg, 3);
		raw_w32(d, reg, 0xFFFFFFFF);
		assert_int_equal(raw_r64(d, reg), 0);
	}
	mt_free(m);
}

/* 4. Counts are 32-bit, subtract on write, never saturate; 0x10040's high half is separate. */
static void
row04_counts_subtract_and_wrap(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];

	(void)state;
	for (uint32_t reg = 0x10040; reg <= 0x100B0; reg += 0x70) {
		raw_w32(d, reg, 1);
		assert_int_equal(raw_r32(d, reg), 0xFFFFFFFF);
		raw_w32(d, reg, 0xFFFFFFFE);
		assert_int_equal(raw_r32(d, reg), 1);
		raw_w32(d, reg, 1);
	}
	raw_w64(d, 0x10040, UINT64_C(0x0001002000000000));
	raw_w32(d, 0x10040, 9);
	assert_true(raw_r64(d, 0x10040) >> 32 == UINT64_C(0x40010020)); /* PI: count > WMARK */
	assert_int_equal(raw_r32(d, 0x10040), (uint32_t)-9);
	raw_w32(d, 0x10044, 0x00000040);
	assert_int_equal(raw_r32(d, 0x10040), (uint32_t)-9);
	assert_int_equal(raw_r64(d, 0x10040) >> 32, 0x40);
	mt_free(m);
}

/* 5. Instructions are fetched only when RING_ENB; the ring wraps at RSIZE; IS_64B is honoured. */
static void
row05_fetch_needs_enable_and_wraps(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	uint64_t words[8] = {0};
	uint8_t *ring;

	(void)state;
	d->iq_desc = 128;
	assert_int_equal(raw_vf_handshake(d), 0);
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_bell(d, 0, 3);
	assert_int_equal(raw_r32(d, 0x10040), 0);
	assert_int_equal(raw_r32(d, 0x10020), 3);
	raw_ring_enable(d, 0);
	assert_int_equal(raw_r32(d, 0x10040), 3);
	assert_int_equal(raw_r32(d, 0x10020), 0);
	raw_w32(d, 0x10040, 3);
	/* three entries were fetched: 125 more reach the end, 3 the start again */
	d->ring[0].iq_put = 3;
	words[1] = UINT64_C(40) << 32 | UINT64_C(32) << 42;
	words[3] = UINT64_C(1) << 60 | UINT64_C(0x7F) << 52;
	memset(raw_ptr(d->host, d->ring[0].iq), 0, 64 * 128);
	for (int i = 0; i < 128; i++)
		raw_post(d, 0, words);
	raw_ring_bell(d, 0, 128);
	assert_int_equal(raw_r32(d, 0x10040), 128);
	assert_int_equal(mt_count(m, LIQM_N_instr_unknown), 128);
	/* 32-byte format: entry 1 lies at byte 32 */
	assert_int_equal(raw_reset_rings(d), 0);
	raw_w64(d, 0x10010, d->data);
	raw_w32(d, 0x10030, 128);
	ring = raw_ptr(d->host, d->data);
	memset(ring, 0, 256);
	memcpy(ring + 32, words, 32);
	raw_w64(d, 0x10000, raw_r64(d, 0x10000) | 1u << 22);
	raw_ring_bell(d, 0, 2);
	assert_int_equal(raw_r32(d, 0x10040), 2);
	/* entry 0 is all zero: opcode 0; both are unknown, none is malformed */
	assert_int_equal(mt_count(m, LIQM_N_instr_unknown), 130);
	mt_free(m);
}

struct order {
	uint64_t status_at, n_status, n_payload;
	bool bad_order;
};

static void
watch_response(void *ctx, uint64_t iova, const void *src, size_t len)
{
	struct order *o = ctx;

	(void)src;
	if (iova == o->status_at && len == 8)
		o->n_status++;
	else if (iova < o->status_at && iova + len > o->status_at)
		o->bad_order = true; /* payload and status in one */
	else if (o->n_status != 0)
		o->bad_order = true;
	else
		o->n_payload++;
}

/* 6. IN_DONE is raised after all input DMA, and before the status word. */
static void
row06_in_done_comes_before_the_status(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;
	struct raw *d;
	uint8_t *resp;
	uint64_t words[8] = {0};

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.fw_delay_ns = 5 * MS; /* makes the interval between the two visible */
	m = mt_new(&cfg);
	d = &m->drv[0];
	assert_int_equal(raw_vf_up(d, 1), 0);
	resp = raw_ptr(d->host, d->resp);
	memset(resp, 0xFF, 16);
	words[0] = d->data;
	raw_put_be64(raw_ptr(d->host, d->data), raw_cmd_word(1, 1400, 0, 0));
	words[1] = UINT64_C(40) << 32 | UINT64_C(48) << 42 | UINT64_C(8) << 48;
	words[3] = UINT64_C(1) << 60 | UINT64_C(3) << 52 | UINT64_C(1) << 59;
	words[6] = 16;
	words[7] = d->resp;
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 1);
	assert_int_equal(raw_done(d, 0), 1);
	memset(raw_ptr(d->host, d->data), 0, 8); /* fetched: the buffer is ours again */
	assert_true(raw_be64(resp + 8) == UINT64_MAX);
	raw_wait_ns(d, 6 * MS);
	assert_true(raw_be64(resp + 8) == 0);
	mt_free(m);
}

/* 7. The status word is written last, BE, 8 bytes. */
static void
row07_status_is_written_last(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct order o = {.status_at = d->resp + 472 - 8};
	uint8_t out[472];
	uint32_t status;

	(void)state;
	m->host[0].on_write = watch_response;
	m->host[0].on_write_ctx = &o;
	assert_int_equal(raw_request(d, 5, 0, 0, NULL, 0, out, 472, 100 * MS), 0);
	assert_int_equal(o.n_status, 1);
	assert_int_equal(o.n_payload, 1);
	assert_false(o.bad_order);
	m->host[0].on_write = NULL;
	/* a code other than 0: big-endian, in the last two bytes */
	status = raw_request(d, 5, 0, 0, NULL, 0, out, 100, 100 * MS);
	assert_int_not_equal(status, 0);
	assert_int_equal(mt_be16(out + 98), status);
	assert_int_equal(out[92], 0);
	mt_free(m);
}

static void
watch_frame(void *ctx, uint64_t iova, const void *src, size_t len)
{
	unsigned int *n_writes = ctx;

	(void)iova;
	(void)src;
	(void)len;
	++*n_writes;
}

/* 8. CNT is raised after all output DMA; credits are counted per buffer. */
static void
row08_count_follows_data_and_credits_are_buffers(void **state)
{
	struct mt *m = mt_vf_up(1, true);
	struct raw *d = &m->drv[0];
	struct liqm_fault late = {LIQM_FAULT_RX_LATE, LIQM_ANY, LIQM_ANY, 0, 1, 0, 50 * MS};
	unsigned int n_writes = 0;
	uint32_t credits = raw_r32(d, 0x10080);
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_cmd(d, raw_cmd_word(1, 9000, 0, 0), NULL, 0), 0);
	m->host[0].on_write = watch_frame;
	m->host[0].on_write_ctx = &n_writes;
	assert_int_equal(liqm_fault_add(m->card, &late), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 5000, 1);
	mt_in(m, &f);
	assert_int_equal(n_writes, 4); /* 2.5 buffers and the info block */
	assert_int_equal(raw_r32(d, 0x100B0), 0);
	raw_wait_ns(d, 51 * MS);
	assert_int_equal(n_writes, 4);
	assert_int_equal(raw_r32(d, 0x100B0), 1);
	assert_int_equal(raw_r32(d, 0x10080), credits - 3);
	mt_free(m);
}

/* 9. Both OQ formats; ISIZE is honoured. */
static void
row09_both_output_formats(void **state)
{
	struct mt_frame f;

	(void)state;
	for (int info_mode = 0; info_mode < 2; info_mode++) {
		struct mt *m = mt_vf_up(1, info_mode);
		struct raw *d = &m->drv[0];

		mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 300, 3);
		mt_in(m, &f);
		assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
		assert_int_equal(m->pkt.len, f.len);
		ut_check_bytes(m->pkt.data, f.b, f.len, "mode %d", info_mode);
		mt_free(m);
	}
	/* ISIZE 24: header, hash word and 8 bytes of the frame in the info block, length behind */
	struct mt *m = mt_vf_up(1, true);
	struct raw *d = &m->drv[0];
	const uint8_t *info, *buf;

	raw_w32(d, 0x10060, 2048 | 24 << 16);
	raw_alloc(d->host, 4096);
	info = raw_ptr(d->host, d->ring[0].info + 16 * d->ring[0].oq_get);
	buf = raw_ptr(d->host, d->ring[0].bufs + (uint64_t)d->ring[0].oq_get * 2048);
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 300, 3);
	mt_in(m, &f);
	assert_int_equal(raw_be64(info) >> 60, 1);
	ut_check_bytes(info + 16, f.b, 8, "head in the info block");
	assert_int_equal(raw_be64(info + 24), 8 + 8 + f.len);
	ut_check_bytes(buf, f.b + 8, f.len - 8, "rest in the buffer");
	mt_free(m);
}

/* 10. BE words in control payloads; native words in instructions, lists and descriptors. */
static void
row10_byte_orders(void **state)
{
	static const uint8_t mtu_image[8] = {0x08, 0, 0, 0, 0, 0x05, 0xDC, 0};
	struct mt *m = mt_vf_up(1, true);
	struct raw *d = &m->drv[0];
	uint8_t out[1064];
	uint64_t word;

	(void)state;
	/* data as bytes in memory, section 5.5 */
	assert_int_equal(raw_request(d, 3, 0, 0, mtu_image, 8, out, 16, 100 * MS), 0);
	/* link word: speed 10000 at bytes 3..4, MTU at bytes 1..2 of the BE word */
	assert_int_equal(raw_request(d, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	assert_int_equal(mt_be16(out + 8 + 1), 9600);
	assert_int_equal(mt_be16(out + 8 + 3), 10000);
	/* instruction words as the CPU stores them: golden encodings of section 3.7 */
	memcpy(&word, (uint8_t *)raw_ptr(d->host, d->ring[0].iq) + 8, 8);
	assert_true(word == UINT64_C(0x0000C02800000000)); /* IF_CFG was the first */
	memcpy(&word, (uint8_t *)raw_ptr(d->host, d->ring[0].iq) + 24, 8);
	assert_true(word == UINT64_C(0x1890000000000000));
	mt_free(m);
}

/* 11. Gather: exactly dlengsz pointers, sizes from the size word, total at most the jabber limit. */
static void
row11_gather_reads_what_was_announced(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint64_t words[8] = {0}, list;
	struct mt_frame f;

	(void)state;
	for (unsigned int n = 1; n <= 13; n++) {
		mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 900 + n, n);
		raw_send_gather(d, 0, f.b, f.len, n, 0, 0); /* other slots are poisoned */
		assert_int_equal(raw_done(d, 0), 1);
		assert_int_equal(m->wire.n, n);
		assert_int_equal(m->wire.len[n - 1], f.len);
		ut_check_bytes(m->wire.frame[n - 1], f.b, f.len, "%u segments", n);
	}
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 0);
	/* a list of one pointer at the end of what is mapped: 16 bytes are read, not 40 */
	list = raw_alloc(d->host, 4096);
	raw_deny(d->host, raw_alloc(d->host, 4096), 4096, 3);
	words[0] = list + 4096 - 16;
	words[1] = UINT64_C(40) << 32 | UINT64_C(32) << 42 | UINT64_C(1) << 48 | UINT64_C(1) << 62;
	words[3] = UINT64_C(1) << 60 | UINT64_C(2) << 52;
	memcpy(raw_ptr(d->host, list + 4096 - 16), (uint64_t[]){UINT64_C(100) << 48, d->data}, 16);
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 1);
	assert_int_equal(m->wire.len[m->wire.n - 1], 100);
	assert_int_equal(mt_count(m, LIQM_N_dma_read_err), 0);
	assert_int_equal(raw_done(d, 0), 1);
	/* 64600 bytes is the limit that the card's own PF set: one more is refused */
	memset(raw_ptr(d->host, d->data), 0, 64601);
	raw_send_gather(d, 0, raw_ptr(d->host, d->data), 64601, 4, 0, 0);
	assert_int_equal(raw_done(d, 0), 1);
	assert_int_equal(mt_count(m, LIQM_N_instr_too_long), 1);
	raw_send_gather(d, 0, raw_ptr(d->host, d->data), 64600, 4, 0, 0);
	assert_int_equal(mt_count(m, LIQM_N_instr_too_long), 1);
	mt_free(m);
}

/* 12. Mailbox protocol, response delay, a peer that never acknowledges. */
static void
row12_mailbox_delay_and_deaf_peer(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	uint64_t mac_msg = 0x0110, start;

	(void)state;
	raw_w64(d, 0x10200, RAW_SIG);
	raw_w64(d, 0x10208, 0x206);
	assert_true(raw_r64(d, 0x10208) == RAW_ACK);
	raw_w64(d, 0x10208, UINT64_C(0x0000000100050001));
	start = liqm_card_now_ns(m->card);
	while (raw_r64(d, 0x10200) == RAW_SIG)
		;
	ut_check(liqm_card_now_ns(m->card) - start >= 1 * MS, "answer within a millisecond");
	/* never acknowledge: given up within a second, the mailbox works again */
	raw_wait_ns(d, 1100 * MS);
	assert_true(raw_r64(d, 0x10208) == RAW_SIG);
	assert_int_equal(mt_count(m, LIQM_N_mbox_errors), 1);
	raw_w64(d, 0x10200, RAW_SIG);
	assert_int_equal(raw_vf_handshake(d), 0);
	/* a message of the PF that nobody takes, as with the DPDK driver after its handshake */
	assert_int_equal(liqm_vf_message(d->fn, &mac_msg, 1), 0);
	assert_true(raw_r64(d, 0x10200) == mac_msg);
	assert_int_equal(liqm_vf_message(d->fn, &mac_msg, 1), 0);
	assert_int_equal(liqm_vf_message(d->fn, &mac_msg, 1), -EBUSY);
	raw_wait_ns(d, 1100 * MS);
	assert_int_equal(liqm_vf_message(d->fn, &mac_msg, 1), 0);
	mt_free(m);
}

/* 13. INFO: link word not 0, MTU, speed; IF_CFG: version at least 1.7.1. */
static void
row13_info_and_version(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint8_t out[1064];
	uint64_t link;

	(void)state;
	assert_int_equal(raw_request(d, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	link = raw_be64(out + 8);
	assert_int_equal(link >> 23 & 1, 1);
	assert_int_equal(link >> 24 & 0xFFFF, 10000);
	assert_true((link >> 40 & 0xFFFF) >= 1500);
	ut_check(strcmp(d->version, "1.7.1") >= 0, "%s", d->version);
	assert_int_equal(d->ifcfg[3] >> 23 & 1, 0); /* no carrier in IF_CFG: 5.8 */
	assert_true(d->ifcfg[3] != 0);
	mt_free(m);
}

/* 14. PORT_STATS by rlen; cmdgroup before cmd; UDD bounded by dlengsz. */
static void
row14_layouts_groups_and_bounds(void **state)
{
	static const uint32_t rlens[] = {424, 432, 472};
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint8_t rss[184] = {0}, out[472];
	struct mt_frame f;

	(void)state;
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100, 1);
	mt_in(m, &f);
	for (size_t i = 0; i < UT_N(rlens); i++) {
		assert_int_equal(raw_request(d, 5, 0, 0, NULL, 0, out, rlens[i], 100 * MS), 0);
		/* fw_total_rcvd is word 12 of the old layouts, 13 of the new */
		assert_int_equal(raw_be64(out + 8 + 8 * (i == 2 ? 13 : 12)), 1);
	}
	/* group 1, command 1 is not CHANGE_MTU 1: a VF may not do it, and its MTU stays */
	assert_int_equal(raw_cmd(d, raw_cmd_word(1, 1, 1, 0) | UINT64_C(1) << 45, NULL, 0), 0x0C);
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 1400, 1);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	/* FreeBSD's SET_RSS: MORE is 0, 184 bytes follow */
	raw_put_be64(rss, 0x10);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 0), rss, 184), 0);
	/* MORE says 23 words, 8 bytes follow: refused */
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), rss, 8), 0);
	mt_free(m);
}

/* 15. An unknown subcode with rflag gets a status that is not 0. */
static void
row15_unknown_request_is_answered(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	uint32_t status = raw_request(&m->drv[0], 0x3F, 0, 0, NULL, 0, NULL, 16, 100 * MS);

	(void)state;
	assert_int_not_equal(status, 0);
	assert_int_not_equal(status, RAW_NO_STATUS);
	assert_int_equal(mt_count(m, LIQM_N_instr_unknown), 1);
	mt_free(m);
}

/* 16. Faults are selectable (each one: test_faults.c). */
static void
row16_faults_have_names(void **state)
{
	static const char *const wanted[] = {
		"resp-late", "resp-lost",     "resp-status", "rx-zero",  "rst-stuck",
		"gone",      "credit-starve", "link-flap",   "mbox-err",
	};

	(void)state;
	for (size_t i = 0; i < UT_N(wanted); i++) {
		enum liqm_fault_kind kind = liqm_fault_by_name(wanted[i]);

		assert_true(kind < LIQM_N_FAULTS);
		assert_string_equal(liqm_fault_name(kind), wanted[i]);
	}
	assert_int_equal(liqm_fault_by_name("no-such-thing"), LIQM_N_FAULTS);
}

struct hammer {
	struct raw *d;
	unsigned int rounds;
};

static void *
hammer(void *arg)
{
	struct hammer *h = arg;

	for (unsigned int i = 0; i < h->rounds; i++) {
		raw_ring_bell(h->d, 0, 1);
		raw_r32(h->d, 0x10040);
	}
	return NULL;
}

/* 17. Two threads on the registers of IQ0: nothing is lost. */
static void
row17_two_threads_on_one_queue(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct hammer h = {&m->drv[0], 20000};
	uint32_t before = raw_r32(&m->drv[0], 0x10040);
	pthread_t other;

	(void)state;
	memset(raw_ptr(&m->host[0], m->drv[0].ring[0].iq), 0, 64 * 512);
	assert_int_equal(pthread_create(&other, NULL, hammer, &h), 0);
	hammer(&h);
	pthread_join(other, NULL);
	assert_int_equal(raw_r32(&m->drv[0], 0x10040) - before, 40000);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(row01_input_control_keeps_read_only_fields),
		cmocka_unit_test(row02_reset_clears_both_directions),
		cmocka_unit_test(row03_doorbell_and_credits_add_and_clear),
		cmocka_unit_test(row04_counts_subtract_and_wrap),
		cmocka_unit_test(row05_fetch_needs_enable_and_wraps),
		cmocka_unit_test(row06_in_done_comes_before_the_status),
		cmocka_unit_test(row07_status_is_written_last),
		cmocka_unit_test(row08_count_follows_data_and_credits_are_buffers),
		cmocka_unit_test(row09_both_output_formats),
		cmocka_unit_test(row10_byte_orders),
		cmocka_unit_test(row11_gather_reads_what_was_announced),
		cmocka_unit_test(row12_mailbox_delay_and_deaf_peer),
		cmocka_unit_test(row13_info_and_version),
		cmocka_unit_test(row14_layouts_groups_and_bounds),
		cmocka_unit_test(row15_unknown_request_is_answered),
		cmocka_unit_test(row16_faults_have_names),
		cmocka_unit_test(row17_two_threads_on_one_queue),
	};

	return UT_RUN(cases, NULL, NULL);
}
