/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PF and its VFs on one card: the PF driver serves their mailboxes, frames between them, what
 * only the PF may say about a VF, link and MTU limits.
 */
#include "mt.h"

#define MS UINT64_C(1000000)

static void
serve(void *ctx)
{
	raw_pf_serve(ctx);
}

/* PF with 2 rings and two VFs of 2 rings each, everything up. */
static struct mt *
card_up(void)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	liqm_card_cfg_default(&cfg);
	cfg.n_pf = 1;
	cfg.n_vf = 2;
	cfg.trusted_vf = 0;
	m = mt_new(&cfg);
	assert_int_equal(raw_pf_up(&m->drv[0], 2, 2, 2), 0);
	for (unsigned int v = 1; v <= 2; v++) {
		m->drv[v].idle = serve;
		m->drv[v].idle_ctx = &m->drv[0];
		assert_int_equal(raw_vf_up(&m->drv[v], 2), 0);
		assert_int_equal(m->drv[v].in_ctl >> 48 & 0x3F, 2);
		assert_int_equal(m->drv[v].in_ctl >> 32 & 0x1FFF, v);
	}
	return m;
}

static void
pf_and_two_vfs_on_one_card(void **state)
{
	struct mt *m = card_up();
	struct mt_frame f;
	struct mt_frame *p = &f;

	(void)state;
	/* the PF hears of both */
	for (unsigned int v = 1; v <= 2; v++) {
		assert_true(raw_recv_notice(&m->drv[0], 0x0A, &m->pkt, MS));
		assert_int_equal(m->pkt.rh & 0xFFFFFFFF, 1);
		assert_int_equal(raw_be64(m->pkt.data), v);
		ut_check_bytes(m->pkt.data + 10, m->drv[v].mac, 6, "VF %u", v);
	}
	/* each one's frames come from and go to its own rings */
	for (unsigned int i = 0; i < 3; i++) {
		mt_build(p, m->drv[i].mac, mt_peer_mac, MT_UDP4, 100, i);
		mt_in(m, p);
		for (unsigned int k = 0; k < 3; k++)
			assert_int_equal(raw_recv_frame(&m->drv[k], &m->pkt, MS) >= 0, k == i);
		mt_build(p, mt_peer_mac, m->drv[i].mac, MT_UDP4, 100, i);
		raw_send(&m->drv[i], 1, p->b, p->len, 0, 0, 0);
		assert_int_equal(m->wire.n, i + 1);
	}
	/* broadcast: all; between VFs: not on the wire */
	mt_build(p, mt_peer_mac, mt_peer_mac, MT_RAW, 60, 1);
	memset(p->b, 0xFF, 6);
	mt_in(m, p);
	for (unsigned int k = 0; k < 3; k++)
		assert_int_equal(raw_recv_frame(&m->drv[k], &m->pkt, MS), 0);
	mt_build(p, m->drv[2].mac, m->drv[1].mac, MT_UDP4, 80, 1);
	raw_send(&m->drv[1], 0, p->b, p->len, 0, 0, 0);
	assert_true(raw_recv_frame(&m->drv[2], &m->pkt, MS) >= 0);
	ut_check_bytes(m->pkt.data, p->b, p->len, "VF to VF");
	assert_int_equal(m->wire.n, 3);
	memset(p->b, 0xFF, 6);
	raw_send(&m->drv[1], 0, p->b, p->len, 0, 0, 0);
	assert_true(raw_recv_frame(&m->drv[0], &m->pkt, MS) >= 0);
	assert_true(raw_recv_frame(&m->drv[2], &m->pkt, MS) >= 0);
	assert_int_equal(raw_recv_frame(&m->drv[1], &m->pkt, 0), -1);
	assert_int_equal(m->wire.n, 4);
	mt_free(m);
}

static void
vf_flr_is_told_and_spares_the_others(void **state)
{
	struct mt *m = card_up();
	struct mt_frame f;

	(void)state;
	while (raw_recv_notice(&m->drv[0], 0x0A, &m->pkt, 0))
		;
	liqm_fn_reset(m->drv[1].fn, LIQM_RESET_FLR);
	assert_true(raw_recv_notice(&m->drv[0], 0x0A, &m->pkt, MS));
	assert_int_equal(m->pkt.rh & 0xFFFFFFFF, 0xFFFFFFFF);
	assert_int_equal(raw_be64(m->pkt.data), 1);
	mt_build(&f, m->drv[2].mac, mt_peer_mac, MT_UDP4, 100, 1);
	mt_in(m, &f);
	assert_true(raw_recv_frame(&m->drv[2], &m->pkt, MS) >= 0);
	/* what the PF said about the rings stays; the VF comes up again */
	assert_int_equal(raw_r64(&m->drv[1], 0x10000) >> 32 & 0x1FFF, 1);
	assert_int_equal(raw_vf_up(&m->drv[1], 2), 0);
	mt_free(m);
}

static void
pf_speaks_about_its_vfs(void **state)
{
	static const uint8_t mac[8] = {0, 0, 2, 9, 9, 9, 9, 9};
	struct mt *m = card_up();
	struct raw *pf = &m->drv[0], *vf = &m->drv[1];
	struct mt_frame f, tagged;
	uint8_t out[1064];

	(void)state;
	while (raw_recv_notice(vf, 4, &m->pkt, 0))
		;
	/* address, as an administrator: the VF may not change it */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(2, 1, 1, 1), mac, 8), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(2, 0, 0, 1), mac, 8), 0x0C);
	assert_int_equal(raw_request(vf, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	ut_check_bytes(out + 18, mac + 2, 6, "admin's address");
	assert_int_equal(raw_be64(out + 24) >> 47 & 1, 1);
	/* without the admin bit it may; the PF hears of it */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(2, 1, 0, 1), mac, 8), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(2, 0, 0, 1), mac, 8), 0);
	do
		assert_true(raw_recv_notice(pf, 0x0A, &m->pkt, MS));
	while ((m->pkt.rh & 0xFFFFFFFF) != 2);
	ut_check_bytes(m->pkt.data + 10, mac + 2, 6, "new address");
	memcpy(vf->mac, mac + 2, 6);
	/* VFs that are not there */
	assert_int_not_equal(raw_cmd(pf, raw_cmd_word(2, 3, 0, 1), mac, 8), 0);
	/* port VLAN: inserted, required, invisible */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x17, 3 << 13 | 77, 1, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(0x17, 5, 0, 0), NULL, 0), 0x0C);
	mt_build(&f, mt_peer_mac, vf->mac, MT_UDP4, 100, 1);
	tagged = f;
	mt_tag(&tagged, 3 << 13 | 77);
	m->wire.n = 0;
	raw_send(vf, 0, f.b, f.len, 0, 0, 0);
	ut_check_bytes(m->wire.frame[0], tagged.b, tagged.len, "port VLAN");
	memcpy(tagged.b, vf->mac, 6);
	memcpy(f.b, vf->mac, 6);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(vf, &m->pkt, MS), -1);
	mt_in(m, &tagged);
	assert_true(raw_recv_frame(vf, &m->pkt, MS) >= 0);
	assert_int_equal(m->pkt.rh >> 9 & 0xFFF, 0);
	assert_int_equal(m->pkt.len, f.len);
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x18, 77, 1, 0), NULL, 0), 0);
	/* spoof check */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(1, 1, 1, 0) | UINT64_C(1) << 45, NULL, 0), 0);
	m->wire.n = 0;
	mt_build(&f, mt_peer_mac, mt_peer_mac, MT_RAW, 60, 1);
	raw_send(vf, 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(m->wire.n, 0);
	assert_int_equal(liqm_counter(vf->fn, LIQM_N_tx_spoofed), 1);
	assert_int_equal(raw_request(pf, 0x22, 0, 0, NULL, 0, out, 24, 100 * MS), 0);
	assert_int_equal(raw_be64(out + 8), 1);
	assert_int_not_equal(raw_request(pf, 0x22, 0, 0, NULL, 0, out, 32, 100 * MS), 0);
	/* trust: one at a time */
	assert_int_equal(raw_cmd(vf, raw_cmd_word(3, 0x11, 0, 0), NULL, 0), 0x0C);
	assert_int_equal(raw_request(pf, 0x13, 1, 1, NULL, 0, out, 16, 100 * MS), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(3, 0x11, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_request(pf, 0x13, 2, 1, NULL, 0, out, 16, 100 * MS), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(3, 0x11, 0, 0), NULL, 0), 0x0C);
	assert_int_equal(raw_request(pf, 0x13, 2, 0, NULL, 0, out, 16, 100 * MS), 0);
	assert_int_not_equal(raw_request(pf, 0x13, 64, 1, NULL, 0, out, 16, 100 * MS), 0);
	/* a VF may do none of this */
	assert_int_equal(raw_request(vf, 0x13, 1, 1, NULL, 0, out, 16, 100 * MS), 0x0C);
	assert_int_equal(raw_request(vf, 0x22, 0, 0, NULL, 0, out, 24, 100 * MS), 0x0C);
	mt_free(m);
}

static bool
vf_link(struct mt *m, unsigned int v)
{
	uint8_t out[1064];

	assert_int_equal(raw_request(&m->drv[v], 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	return raw_be64(out + 8) >> 23 & 1;
}

static void
vf_link_follows_the_pf_and_its_orders(void **state)
{
	struct mt *m = card_up();
	struct raw *pf = &m->drv[0], *vf = &m->drv[1];
	uint8_t out[1064];

	(void)state;
	assert_true(vf_link(m, 1));
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x1C, 1, 2, 0), NULL, 0), 0);
	assert_false(vf_link(m, 1));
	assert_true(vf_link(m, 2));
	while (raw_recv_notice(vf, 4, &m->pkt, 0))
		;
	assert_int_equal(raw_be64(m->pkt.data) >> 23 & 1, 0);
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x1C, 1, 1, 0), NULL, 0), 0);
	liqm_link_set(m->card, 0, false);
	assert_true(vf_link(m, 1));
	assert_false(vf_link(m, 2));
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x1C, 1, 0, 0), NULL, 0), 0);
	assert_false(vf_link(m, 1));
	assert_int_not_equal(raw_cmd(pf, raw_cmd_word(0x1C, 1, 3, 0), NULL, 0), 0);
	liqm_link_set(m->card, 0, true);
	/* MTU of the PF is the VFs' limit */
	assert_int_equal(raw_request(vf, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	assert_int_equal(raw_be64(out + 8) >> 40 & 0xFFFF, 1500);
	assert_int_not_equal(raw_cmd(vf, raw_cmd_word(1, 1501, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(pf, raw_cmd_word(1, 9000, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(vf, raw_cmd_word(1, 9000, 0, 0), NULL, 0), 0);
	assert_true(raw_recv_notice(vf, 4, &m->pkt, MS));
	/* flow control shows in the link word, LED does nothing visible */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(8, 1, 1, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(pf, raw_cmd_word(0x1A, 1, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_request(pf, 4, 0, 0, NULL, 0, out, 1064, 100 * MS), 0);
	assert_int_equal(raw_be64(out + 8) >> 16 & 1, 1);
	/* PF down: VFs have no link and get nothing */
	assert_int_equal(raw_cmd(pf, raw_cmd_word(4, 0, 0, 0), NULL, 0), 0);
	assert_false(vf_link(m, 1));
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(pf_and_two_vfs_on_one_card),
		cmocka_unit_test(vf_flr_is_told_and_spares_the_others),
		cmocka_unit_test(pf_speaks_about_its_vfs),
		cmocka_unit_test(vf_link_follows_the_pf_and_its_orders),
	};

	return UT_RUN(cases, NULL, NULL);
}
