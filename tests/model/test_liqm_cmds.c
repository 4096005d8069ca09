/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests and control commands: each one with what it changes, who may give it, and what comes
 * back; statistics in all layouts.  (Filters, RSS, VLAN and MTU by their effect: test_frames.c.)
 */
#include "mt.h"

#define MS UINT64_C(1000000)

static uint32_t
cmd(struct mt *m, unsigned int c, unsigned int p1, unsigned int p2)
{
	return raw_cmd(&m->drv[0], raw_cmd_word(c, p1, p2, 0), NULL, 0);
}

/* The words of section 5.5 as bytes in memory. */
static void
golden_command_images(void **state)
{
	static const struct {
		unsigned int c, p1, p2, more;
		uint64_t group;
		uint8_t image[8];
	} rows[] = {
		{1, 1500, 0, 0, 0, {0x08, 0, 0, 0, 0, 0x05, 0xDC, 0}},
		{4, 1, 0, 0, 0, {0x20, 0, 0, 0, 0, 0, 1, 0}},
		{0x0D, 0, 0, 23, 0, {0x6A, 0xE0, 0, 0, 0, 0, 0, 0}},
		{0x1F, 2, 2, 0, 0, {0xF8, 0, 0, 0, 0, 0, 2, 2}},
		{0x19, 4789, 0, 1, 0, {0xC8, 0x20, 0, 0, 0, 0x12, 0xB5, 0}},
		{1, 1, 1, 0, 1, {0x08, 0, 0x20, 0, 0, 0, 1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint8_t b[8];

		raw_put_be64(b, raw_cmd_word(rows[i].c, rows[i].p1, rows[i].p2, rows[i].more) |
					rows[i].group << 45);
		ut_check_bytes(b, rows[i].image, 8, "row %zu", i);
	}
}

static void
every_command_of_a_vf_gets_its_status(void **state)
{
	static const struct {
		unsigned int c, p1, p2;
		uint32_t status; /* 1: any error */
	} rows[] = {
		{0x01, 1400, 0, 0}, {0x01, 20000, 0, 1}, {0x02, 0, 0, 1},    {0x03, 0x10, 0, 0},
		{0x04, 1, 0, 0},    {0x05, 0x0C, 0, 0},  {0x06, 0, 0, 0},    {0x07, 0, 0, 1},
		{0x08, 1, 1, 0x0C}, {0x09, 0, 0, 1},     {0x0A, 0, 0, 1},    {0x0B, 3, 0, 0},
		{0x0C, 3, 0, 0},    {0x0D, 0, 0, 1},     {0x0E, 0, 0, 1},    {0x0F, 0, 0, 1},
		{0x10, 0, 0, 0},    {0x11, 0, 0, 0},     {0x12, 0, 0, 1},    {0x13, 0, 0, 1},
		{0x14, 0, 0, 0},    {0x15, 0, 0, 0},     {0x16, 0, 0, 0},    {0x17, 5, 0, 0},
		{0x17, 5, 1, 0x0C}, {0x18, 5, 0, 0},     {0x19, 4789, 0, 0}, {0x1A, 1, 0, 0x0C},
		{0x1B, 1, 0, 0},    {0x1C, 1, 2, 0x0C},  {0x1D, 0, 0, 0},    {0x1E, 0, 0, 0},
		{0x1F, 1, 1, 0},    {0x1F, 2, 1, 1},     {0x1F, 0, 1, 1},    {0x1F, 1, 0, 1},
		{0x00, 0, 0, 1},
	};
	struct mt *m = mt_vf_up(1, false);
	uint64_t n_ok = mt_count(m, LIQM_N_cmds), n_refused = 0;

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint32_t status = cmd(m, rows[i].c, rows[i].p1, rows[i].p2);

		ut_check(rows[i].status == 1 ? status != 0 && status != RAW_NO_STATUS
					     : status == rows[i].status,
			 "command 0x%02x, %u, %u: status 0x%x", rows[i].c, rows[i].p1, rows[i].p2,
			 status);
		n_ok += status == 0;
		n_refused += status != 0;
	}
	assert_int_equal(mt_count(m, LIQM_N_cmds), n_ok);
	assert_int_equal(mt_count(m, LIQM_N_cmd_refused), n_refused);
	/* groups other than 0; data too short for a command word */
	assert_int_not_equal(
		raw_cmd(&m->drv[0], raw_cmd_word(4, 1, 0, 0) | UINT64_C(1) << 45, NULL, 0), 0);
	assert_int_not_equal(
		raw_cmd(&m->drv[0], raw_cmd_word(1, 1, 0, 0) | UINT64_C(2) << 45, NULL, 0), 0);
	assert_int_not_equal(raw_request(&m->drv[0], 3, 0, 0, "1234567", 7, NULL, 16, 100 * MS), 0);
	mt_free(m);
}

static void
every_request_gets_its_answer(void **state)
{
	static const struct {
		unsigned int subcode;
		uint32_t len, rlen;
		bool good;
	} rows[] = {
		{0x04, 0, 1064, true},  {0x04, 0, 1063, false}, {0x05, 0, 424, true},
		{0x05, 0, 432, true},   {0x05, 0, 472, true},   {0x05, 0, 464, false},
		{0x06, 8, 16, false},   {0x07, 0, 16, false},   {0x08, 112, 16, true},
		{0x08, 111, 16, false}, {0x09, 0, 1111, false}, {0x0B, 0, 128, true},
		{0x0B, 0, 120, false},  {0x12, 0, 1112, false}, {0x13, 0, 16, false},
		{0x14, 16, 16, true},   {0x14, 15, 16, false},  {0x15, 60, 16, false},
		{0x16, 24, 16, false},  {0x17, 8, 24, false},   {0x22, 0, 24, false},
		{0x00, 0, 16, false},   {0x7F, 0, 16, false},
	};
	struct mt *m = mt_vf_up(1, false);
	uint8_t data[112] = {0}, out[4096];

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		uint32_t status = raw_request(&m->drv[0], rows[i].subcode, 0, 0, data, rows[i].len,
					      out, rows[i].rlen, 100 * MS);

		ut_check(status != RAW_NO_STATUS && (status == 0) == rows[i].good,
			 "row %zu, subcode 0x%02x: 0x%x", i, rows[i].subcode, status);
	}
	/* a timestamp wanted with a packet is a response like any other */
	assert_int_equal(raw_request(&m->drv[0], 2, 0, 0, data, 60, out, 24, 100 * MS), 0);
	mt_free(m);
}

static void
interrupt_moderation_is_remembered(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	uint8_t data[112], out[128];

	(void)state;
	for (unsigned int i = 0; i < 14; i++)
		raw_put_be64(data + 8 * i, 1000 + i);
	assert_int_equal(raw_request(&m->drv[0], 8, 0, 0, data, 112, NULL, 16, 100 * MS), 0);
	assert_int_equal(raw_request(&m->drv[0], 0x0B, 0, 0, NULL, 0, out, 128, 100 * MS), 0);
	ut_check_bytes(out + 8, data, 112, "moderation");
	mt_free(m);
}

static void
mac_address_changes_and_is_told(void **state)
{
	static const uint8_t mine[8] = {0, 0, 0x02, 0xAA, 1, 2, 3, 4}, multi[8] = {0, 0, 1};
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint8_t out[1064];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_cmd(d, raw_cmd_word(2, 0, 0, 1), mine, 8), 0);
	assert_int_equal(raw_request(d, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	ut_check_bytes(out + 16, mine, 8, "address in INFO");
	mt_build(&f, mine + 2, mt_peer_mac, MT_RAW, 60, 1);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_RAW, 60, 1);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), -1);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(2, 0, 0, 1), multi, 8), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(2, 0, 0, 1), "\0\0\0\0\0\0\0", 8), 0);
	/* the PF's business */
	assert_int_equal(raw_cmd(d, raw_cmd_word(2, 1, 1, 1), mine, 8), 0x0C);
	/* a new IF_CFG starts from the factory's */
	memcpy(out, d->mac, 6);
	assert_int_equal(raw_if_cfg(d, 1), 0);
	ut_check_bytes(d->mac, out, 6, "factory address");
	mt_free(m);
}

static void
untrusted_vf_gets_no_promiscuous_mode(void **state)
{
	static const uint8_t other[6] = {2, 1, 2, 3, 4, 5};
	struct liqm_card_cfg cfg;
	struct mt *m;
	struct mt_frame f;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.trusted_vf = 0;
	m = mt_new(&cfg);
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	assert_int_equal(cmd(m, 3, 0x13, 0), 0x0C);
	mt_build(&f, other, mt_peer_mac, MT_RAW, 60, 1);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(&m->drv[0], &m->pkt, MS), -1);
	f.b[0] = 1; /* the other flags took effect */
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(&m->drv[0], &m->pkt, MS), 0);
	mt_free(m);
}

static void
queue_count_bounds_the_spread(void **state)
{
	struct mt *m = mt_vf_up(4, false);
	struct mt_frame f;

	(void)state;
	assert_int_equal(cmd(m, 0x1F, 4, 2), 0);
	for (unsigned int i = 0; i < 64; i++) {
		mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_UDP4, 10, i);
		mt_in(m, &f);
		assert_in_range(raw_recv_frame(&m->drv[0], &m->pkt, MS), 0, 1);
	}
	assert_int_equal(cmd(m, 0x1F, 4, 4), 0);
	assert_int_not_equal(cmd(m, 0x1F, 5, 4), 0);
	mt_free(m);
}

static void
rx_ctl_needs_a_configured_interface(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_vf_handshake(d), 0);
	assert_int_equal(raw_reset_rings(d), 0);
	raw_ring_setup(d, 0);
	raw_ring_credits(d, 0);
	raw_ring_enable(d, 0);
	assert_int_not_equal(cmd(m, 4, 1, 0), 0);
	assert_int_not_equal(cmd(m, 0x1F, 1, 1), 0);
	mt_build(&f, mt_peer_mac, mt_peer_mac, MT_RAW, 60, 1);
	raw_send(d, 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(m->wire.n, 0);
	assert_int_equal(mt_count(m, LIQM_N_tx_dropped), 1);
	mt_free(m);
}

/* ---- link ---- */

static uint64_t
next_link(struct mt *m)
{
	assert_true(raw_recv_notice(&m->drv[0], 4, &m->pkt, MS));
	assert_int_equal(m->pkt.len, 8);
	assert_int_equal(m->pkt.rh >> 49 & 7, 0);
	assert_int_equal(m->pkt.rh & 0xFFFF, m->drv[0].ifcfg[5] >> 48); /* gmxport */
	return raw_be64(m->pkt.data);
}

static void
link_notices_follow_rx_ctl_and_changes(void **state)
{
	struct mt *m = mt_vf(1);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	assert_int_equal(raw_vf_up(d, 1), 0);
	assert_int_equal(next_link(m) >> 23 & 1, 1);
	assert_false(raw_recv_notice(d, 4, &m->pkt, MS)); /* one, not more */
	assert_int_equal(liqm_link_set(m->card, 0, false), 0);
	assert_int_equal(next_link(m) >> 23 & 1, 0);
	mt_build(&f, mt_peer_mac, d->mac, MT_RAW, 60, 1);
	raw_send(d, 0, f.b, f.len, 0, 0, 0); /* not sent, counted */
	assert_int_equal(m->wire.n, 0);
	assert_int_equal(mt_count(m, LIQM_N_tx_dropped), 1);
	memcpy(f.b, d->mac, 6);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), -1);
	/* stopped: no notice; started: one */
	assert_int_equal(cmd(m, 4, 0, 0), 0);
	assert_int_equal(liqm_link_set(m->card, 0, true), 0);
	assert_false(raw_recv_notice(d, 4, &m->pkt, MS));
	assert_int_equal(cmd(m, 4, 1, 0), 0);
	assert_int_equal(next_link(m) >> 23 & 1, 1);
	/* set to what it is: silence */
	assert_int_equal(liqm_link_set(m->card, 0, true), 0);
	assert_false(raw_recv_notice(d, 4, &m->pkt, MS));
	assert_true(liqm_link_set(m->card, 1, true) < 0);
	mt_free(m);
}

static void
card_can_start_without_carrier(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.link_down = true;
	cfg.speed_mbps = 25000;
	m = mt_new(&cfg);
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	assert_int_equal(next_link(m) >> 23 & 0x1FFFF, 25000 << 1);
	mt_free(m);
}

/* ---- statistics ---- */

/* Names as in section 5.7, position in the layouts 1.5, 1.6 and 1.7; -1: not there. */
enum { N_LAYOUTS = 3 };

static void
stats_layouts_agree(void **state)
{
	static const uint32_t rlen[N_LAYOUTS] = {424, 432, 472};
	static const struct {
		const char *name;
		int at[N_LAYOUTS];
		uint64_t want;
	} rows[] = {
		{"total_rcvd", {0, 0, 0}, 6},
		{"bytes_rcvd", {1, 1, 1}, 6 * 114},
		{"total_bcst", {2, 2, 2}, 2},
		{"total_mcst", {3, 3, 3}, 1},
		{"dmac_drop", {7, 7, 7}, 1},
		{"jabber_err", {9, 9, 9}, 1},
		{"fw_total_rcvd", {12, 12, 13}, 6},
		{"fw_total_fwd", {13, 13, 14}, 6},
		{"fw_total_fwd_bytes", {14, 14, 15}, 6 * 114},
		{"fw_total_mcast", {-1, -1, 16}, 1},
		{"fw_total_bcast", {-1, -1, 17}, 2},
		{"fw_err_pko", {15, 15, 18}, 0},
		{"total_pkts_sent", {29, 29, 32}, 4},
		{"total_bytes_sent", {30, 30, 33}, 4 * 114},
		{"mcast_pkts_sent", {31, 31, 34}, 1},
		{"bcast_pkts_sent", {32, 32, 35}, 1},
		{"runts", {39, 39, 42}, 1},
		{"fw_total_sent", {41, 41, 44}, 6},
		{"fw_total_mcast_sent", {-1, -1, 47}, 1},
		{"fw_total_bcast_sent", {-1, -1, 48}, 1},
		{"fw_err_drop", {46, 46, 51}, 2},
		{"fw_err_pki", {-1, 51, 56}, 1},
	};
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint8_t out[472];
	struct mt_frame f;

	(void)state;
	assert_int_equal(cmd(m, 3, 0x12, 0), 0);
	for (int i = 0; i < 8; i++) {
		mt_build(&f, d->mac, mt_peer_mac, MT_RAW, i == 7 ? 1501 : 100, 1);
		if (i < 2)
			memset(f.b, 0xFF, 6);
		else if (i == 2)
			f.b[0] = 1;
		else if (i == 3)
			f.b[5] ^= 0x55; /* somebody else's */
		mt_in(m, &f);
	}
	for (int i = 0; i < 6; i++) {
		mt_build(&f, mt_peer_mac, d->mac, MT_RAW, i == 5 ? 1501 : 100, 1);
		if (i == 0)
			memset(f.b, 0xFF, 6);
		else if (i == 1)
			f.b[0] = 1;
		raw_send(d, 0, f.b, i == 4 ? 13 : f.len, i == 3 ? 0x40 : 0, 0, 0);
	}
	for (int layout = 0; layout < N_LAYOUTS; layout++) {
		assert_int_equal(raw_request(d, 5, 0, 0, NULL, 0, out, rlen[layout], 100 * MS), 0);
		for (size_t i = 0; i < UT_N(rows); i++) {
			uint64_t got;

			if (rows[i].at[layout] < 0)
				continue;
			got = raw_be64(out + 8 + 8 * rows[i].at[layout]);
			ut_check(got == rows[i].want, "layout %d, %s: %llu", layout, rows[i].name,
				 (unsigned long long)got);
		}
	}
	assert_int_equal(cmd(m, 6, 0, 0), 0);
	assert_int_equal(raw_request(d, 5, 0, 0, NULL, 0, out, 472, 100 * MS), 0);
	for (int i = 0; i < 57; i++)
		assert_int_equal(raw_be64(out + 8 + 8 * i), 0);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(golden_command_images),
		cmocka_unit_test(every_command_of_a_vf_gets_its_status),
		cmocka_unit_test(every_request_gets_its_answer),
		cmocka_unit_test(interrupt_moderation_is_remembered),
		cmocka_unit_test(mac_address_changes_and_is_told),
		cmocka_unit_test(untrusted_vf_gets_no_promiscuous_mode),
		cmocka_unit_test(queue_count_bounds_the_spread),
		cmocka_unit_test(rx_ctl_needs_a_configured_interface),
		cmocka_unit_test(link_notices_follow_rx_ctl_and_changes),
		cmocka_unit_test(card_can_start_without_carrier),
		cmocka_unit_test(stats_layouts_agree),
	};

	return UT_RUN(cases, NULL, NULL);
}
