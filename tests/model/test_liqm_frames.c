/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames: checksum verdicts and insertion, segmentation, tunnels, VLAN, MTU, address filters.
 * Expected bytes come from mt.c, which computes them in its own way.
 */
#include "mt.h"

#define MS      UINT64_C(1000000)
#define IP_CSUM UINT64_C(0x80)
#define L4_CSUM UINT64_C(0x40)
#define TNL     UINT64_C(0x20)

static uint64_t
verdict(struct mt *m, const struct mt_frame *f)
{
	mt_in(m, f);
	assert_true(raw_recv_frame(&m->drv[0], &m->pkt, MS) >= 0);
	assert_int_equal(m->pkt.len, f->len);
	return m->pkt.rh >> 3 & 7;
}

static void
checksum_verdicts_by_field(void **state)
{
	static const enum mt_proto protos[] = {MT_UDP4, MT_TCP4, MT_UDP6, MT_TCP6};
	struct mt *m = mt_vf_up(1, false);
	const uint8_t *mac = m->drv[0].mac;
	struct mt_frame f;

	(void)state;
	for (size_t i = 0; i < UT_N(protos); i++) {
		/* odd and even lengths, none at all */
		for (uint32_t n = 0; n < 5; n++) {
			mt_build(&f, mac, mt_peer_mac, protos[i], n, 1);
			ut_check(verdict(m, &f) == 3, "proto %zu, %u bytes", i, n);
		}
		mt_build(&f, mac, mt_peer_mac, protos[i], 50, 1);
		f.b[f.payload + 49] ^= 1;
		ut_check(verdict(m, &f) == 2, "bad payload, proto %zu", i);
	}
	mt_build(&f, mac, mt_peer_mac, MT_UDP4, 50, 1);
	f.b[f.l3 + 8]--; /* TTL: the header sum is wrong, L4 right */
	assert_int_equal(verdict(m, &f), 1);
	mt_build(&f, mac, mt_peer_mac, MT_UDP4, 50, 1);
	mt_put16(f.b + f.l4 + 6, 0); /* sender computed none: not verified */
	assert_int_equal(verdict(m, &f), 2);
	mt_build(&f, mac, mt_peer_mac, MT_UDP4, 50, 1);
	f.b[f.l3 + 6] |= 0x20; /* more fragments */
	mt_put16(f.b + f.l3 + 10, 0);
	mt_put16(f.b + f.l3 + 10, mt_ip_sum(f.b + f.l3, 20));
	assert_int_equal(verdict(m, &f), 2);
	mt_build(&f, mac, mt_peer_mac, MT_RAW, 50, 1);
	assert_int_equal(verdict(m, &f), 0);
	mt_build(&f, mac, mt_peer_mac, MT_TCP4, 50, 1);
	f.b[f.l4 + 12] = 0xF0; /* header longer than the segment */
	f.len = f.payload + 10;
	mt_put16(f.b + f.l3 + 2, f.len - f.l3);
	assert_int_equal(verdict(m, &f) & 1, 0);
	/* padding behind the packet is no part of it */
	mt_build(&f, mac, mt_peer_mac, MT_UDP4, 1, 1);
	f.len = 60;
	assert_int_equal(verdict(m, &f), 3);
	mt_build(&f, mac, mt_peer_mac, MT_TCP4, 1, 1);
	memset(f.b + f.len, 0xEE, 60 - f.len);
	f.len = 60;
	assert_int_equal(verdict(m, &f), 3);
	mt_free(m);
}

/* Headers that lie about lengths must not be believed; and not crash under the sanitizer. */
static void
truncated_frames_are_passed_on_unverified(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct mt_frame f, cut;

	(void)state;
	for (int proto = MT_UDP4; proto <= MT_TCP6; proto++) {
		mt_build(&f, m->drv[0].mac, mt_peer_mac, (enum mt_proto)proto, 10, 1);
		for (uint32_t len = 14; len < f.len; len++) {
			cut = f;
			cut.len = len;
			assert_int_equal(verdict(m, &cut) & 1, 0);
		}
	}
	mt_free(m);
}

static void
ipv6_extension_headers_are_walked(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct mt_frame f;

	(void)state;
	/* hop-by-hop of 8 bytes between IPv6 and UDP */
	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_UDP6, 20, 1);
	memmove(f.b + f.l4 + 8, f.b + f.l4, 28);
	memset(f.b + f.l4, 0, 8);
	f.b[f.l4] = 17;
	f.b[f.l3 + 6] = 0;
	mt_put16(f.b + f.l3 + 4, 36);
	f.len += 8;
	assert_int_equal(verdict(m, &f), 3);
	/* a fragment header: L4 is not looked at */
	f.b[f.l3 + 6] = 44;
	assert_int_equal(verdict(m, &f), 2);
	/* an extension header that leads out of the packet */
	f.b[f.l3 + 6] = 60;
	f.b[f.l4 + 1] = 200;
	assert_int_equal(verdict(m, &f), 2);
	mt_free(m);
}

static void
checksums_are_inserted_as_asked(void **state)
{
	static const enum mt_proto protos[] = {MT_UDP4, MT_TCP4, MT_UDP6, MT_TCP6};
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame want, f;

	(void)state;
	for (size_t i = 0; i < UT_N(protos); i++) {
		uint32_t at;

		mt_build(&want, mt_peer_mac, d->mac, protos[i], 100, (unsigned int)i);
		at = want.l4 + (protos[i] == MT_TCP4 || protos[i] == MT_TCP6 ? 16 : 6);
		f = want;
		mt_put16(f.b + at, 0xBEEF);
		if (i < 2)
			mt_put16(f.b + f.l3 + 10, 0xDEAD);
		m->wire.n = 0;
		raw_send(d, 0, f.b, f.len, 0, 0, 0); /* nothing asked: nothing touched */
		ut_check_bytes(m->wire.frame[0], f.b, f.len, "as it was, %zu", i);
		raw_send(d, 0, f.b, f.len, IP_CSUM | L4_CSUM, 0, 0);
		ut_check_bytes(m->wire.frame[1], want.b, want.len, "both, %zu", i);
		raw_send(d, 0, f.b, f.len, L4_CSUM, 0, 0);
		assert_int_equal(mt_be16(m->wire.frame[2] + at), mt_be16(want.b + at));
		ut_check_bytes(m->wire.frame[2] + f.l3, f.b + f.l3, 20, "IP left alone, %zu", i);
	}
	/* a UDP sum of 0 goes out as 0xFFFF: choose the last word so that it comes to that */
	mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 2, 1);
	mt_put16(f.b + f.payload, 0);
	mt_put16(f.b + f.l4 + 6, 0);
	mt_put16(f.b + f.payload, mt_l4_sum(f.b, f.l3, f.l4, f.len, 17));
	m->wire.n = 0;
	raw_send(d, 0, f.b, f.len, L4_CSUM, 0, 0);
	assert_int_equal(mt_be16(m->wire.frame[0] + f.l4 + 6), 0xFFFF);
	/* a total length beyond the frame: not looked into, left as it is */
	mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 100, 1);
	mt_put16(f.b + f.l3 + 2, f.len - f.l3 + 1);
	m->wire.n = 0;
	raw_send(d, 0, f.b, f.len, IP_CSUM | L4_CSUM, 0, 0);
	ut_check_bytes(m->wire.frame[0], f.b, f.len, "length lies");
	/* asked for where there is none: sent, and counted as a parser error */
	mt_build(&f, mt_peer_mac, d->mac, MT_RAW, 50, 1);
	raw_send(d, 0, f.b, f.len, L4_CSUM, 0, 0);
	raw_send(d, 0, f.b, f.len, TNL, 0, 0);
	assert_int_equal(m->wire.n, 3);
	mt_free(m);
}

static void
short_frames_are_padded(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct mt_frame f;

	(void)state;
	mt_build(&f, mt_peer_mac, m->drv[0].mac, MT_RAW, 4, 1);
	raw_send(&m->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(m->wire.len[0], 60);
	for (uint32_t i = f.len; i < 60; i++)
		assert_int_equal(m->wire.frame[0][i], 0);
	mt_free(m);
}

static void
check_segments(struct mt *m, const struct mt_frame *f, uint32_t mss, uint32_t payload_len, bool v6)
{
	uint32_t at = 0, seq0 = 0x1111FFF0;

	assert_int_equal(m->wire.n, (payload_len + mss - 1) / mss);
	for (unsigned int i = 0; i < m->wire.n; i++) {
		const uint8_t *s = m->wire.frame[i], *l4 = s + f->l4;
		uint32_t n = payload_len - at < mss ? payload_len - at : mss, seq;
		bool last = at + n == payload_len;

		assert_int_equal(m->wire.len[i], f->payload + n < 60 ? 60 : f->payload + n);
		ut_check_bytes(s + f->payload, f->b + f->payload + at, n, "segment %u", i);
		seq = (uint32_t)mt_be16(l4 + 4) << 16 | mt_be16(l4 + 6);
		assert_int_equal(seq, seq0 + at);
		assert_int_equal(l4[13] & 0x09, last ? 0x09 : 0);
		assert_int_equal(l4[13] & 0x80, i == 0 ? 0x80 : 0);
		assert_int_equal(l4[13] & 0x10, 0x10);
		assert_int_equal(mt_l4_sum(s, f->l3, f->l4, f->payload + n, 6), 0);
		if (v6) {
			assert_int_equal(mt_be16(s + f->l3 + 4), 20 + n);
		} else {
			assert_int_equal(mt_be16(s + f->l3 + 2), 40 + n);
			assert_int_equal(mt_be16(s + f->l3 + 4), 0x1234 + i);
			assert_int_equal(mt_ip_sum(s + f->l3, 20), 0);
		}
		at += n;
	}
}

static void
tcp_is_cut_into_segments(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	for (int v6 = 0; v6 < 2; v6++) {
		static const uint32_t lens[] = {1, 999, 1000, 1001, 2000, 9999};

		for (size_t i = 0; i < UT_N(lens); i++) {
			mt_build(&f, mt_peer_mac, d->mac, v6 ? MT_TCP6 : MT_TCP4, lens[i], 1);
			m->wire.n = 0;
			raw_send(d, 0, f.b, f.len, L4_CSUM, 0, UINT64_C(1000) << 48);
			check_segments(m, &f, 1000, lens[i], v6);
		}
	}
	/* what is no TCP cannot be cut: dropped and counted */
	m->wire.n = 0;
	mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 3000, 1);
	raw_send(d, 0, f.b, f.len, L4_CSUM, 0, UINT64_C(1000) << 48);
	assert_int_equal(m->wire.n, 0);
	assert_int_equal(mt_count(m, LIQM_N_tx_dropped), 1);
	/* nor what has a header longer than itself, or no payload */
	mt_build(&f, mt_peer_mac, d->mac, MT_TCP4, 10, 1);
	f.b[f.l4 + 12] = 0xF0;
	raw_send(d, 0, f.b, f.len, L4_CSUM, 0, UINT64_C(1000) << 48);
	mt_build(&f, mt_peer_mac, d->mac, MT_TCP4, 0, 1);
	raw_send(d, 0, f.b, f.len, L4_CSUM, 0, UINT64_C(1000) << 48);
	assert_int_equal(m->wire.n, 0);
	assert_int_equal(mt_count(m, LIQM_N_tx_dropped), 3);
	mt_free(m);
}

static void
tunnel_frames_out(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame inner, f, want;
	uint32_t inner_l3, inner_l4;

	(void)state;
	mt_build(&inner, mt_peer_mac, d->mac, MT_TCP4, 200, 1);
	inner_l3 = 14 + 20 + 8 + 8 + 14;
	inner_l4 = inner_l3 + 20;
	want = inner;
	mt_vxlan(&want, mt_peer_mac, d->mac);
	f = want;
	mt_put16(f.b + inner_l4 + 16, 0x1111);
	mt_put16(f.b + f.l3 + 10, 0x2222);
	mt_put16(f.b + f.l4 + 6, 0x3333);
	raw_send(d, 0, f.b, f.len, TNL, 0, 0);
	ut_check_bytes(m->wire.frame[0], want.b, want.len, "inner and outer sums");
	mt_put16(f.b + f.l4 + 6, 0); /* none outside stays none */
	raw_send(d, 0, f.b, f.len, TNL, 0, 0);
	assert_int_equal(mt_be16(m->wire.frame[1] + f.l4 + 6), 0);
	/* cut inside the tunnel */
	mt_build(&inner, mt_peer_mac, d->mac, MT_TCP4, 2500, 1);
	f = inner;
	mt_vxlan(&f, mt_peer_mac, d->mac);
	m->wire.n = 0;
	raw_send(d, 0, f.b, f.len, TNL, 0, UINT64_C(1000) << 48);
	assert_int_equal(m->wire.n, 3);
	for (unsigned int i = 0; i < 3; i++) {
		const uint8_t *s = m->wire.frame[i];
		uint32_t len = m->wire.len[i];

		assert_int_equal(len, inner_l4 + 20 + (i < 2 ? 1000 : 500));
		assert_int_equal(mt_be16(s + 16), len - 14);
		assert_int_equal(mt_be16(s + 38), len - 34);
		assert_int_equal(mt_ip_sum(s + 14, 20), 0);
		assert_int_equal(mt_l4_sum(s, 14, 34, len, 17), 0);
		assert_int_equal(mt_ip_sum(s + inner_l3, 20), 0);
		assert_int_equal(mt_l4_sum(s, inner_l3, inner_l4, len, 6), 0);
	}
	mt_free(m);
}

static void
tunnel_frames_in(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;
	uint64_t port = 4789;

	(void)state;
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100, 1);
	mt_vxlan(&f, d->mac, mt_peer_mac);
	assert_int_equal(verdict(m, &f), 3);
	assert_int_equal(m->pkt.rh & 2, 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, (unsigned int)port, 0, 0), NULL, 0), 0);
	assert_int_equal(verdict(m, &f), 3); /* the port alone does not do */
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x10, 0, 0, 0), NULL, 0), 0);
	assert_int_equal(verdict(m, &f), 7);
	assert_int_equal(m->pkt.rh & 2, 2);
	f.b[f.len - 1] ^= 1;
	assert_int_equal(verdict(m, &f) & 4, 0);
	f.b[f.len - 1] ^= 1;
	/* another port goes, this one stays */
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4788, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4790, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4788, 0, 1), "\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(verdict(m, &f), 7);
	mt_put16(f.b + f.l4 + 2, 4790);
	mt_put16(f.b + f.l4 + 6, 0);
	assert_int_equal(verdict(m, &f), 6);
	mt_put16(f.b + f.l4 + 2, 4788);
	assert_int_equal(verdict(m, &f), 2);
	mt_put16(f.b + f.l4 + 2, 4790);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4790, 0, 1), "\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(verdict(m, &f), 2);
	mt_put16(f.b + f.l4 + 2, 4789);
	assert_int_equal(verdict(m, &f), 6);
	/* delete: one extra zero word, section 5.5 */
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4789, 0, 1), "\0\0\0\0\0\0\0", 8), 0);
	assert_int_equal(verdict(m, &f), 2);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 4789, 0, 1), "\0\0\0\0\0\0\0", 8), 0);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(raw_cmd(d, raw_cmd_word(0x19, 5000 + i, 0, 0), NULL, 0), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x19, 6000, 0, 0), NULL, 0), 0);
	mt_free(m);
}

static void
vlan_tags_are_inserted_stripped_and_filtered(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f, tagged;

	(void)state;
	mt_build(&f, mt_peer_mac, d->mac, MT_UDP4, 100, 1);
	tagged = f;
	mt_tag(&tagged, 5 << 13 | 123);
	raw_send(d, 0, f.b, f.len, L4_CSUM | IP_CSUM, UINT64_C(5) << 37 | UINT64_C(123) << 40, 0);
	assert_int_equal(m->wire.len[0], tagged.len);
	ut_check_bytes(m->wire.frame[0], tagged.b, tagged.len, "tag inserted");
	mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 100, 1);
	tagged = f;
	mt_tag(&tagged, 5 << 13 | 123);
	mt_in(m, &tagged);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	assert_int_equal(m->pkt.rh >> 9 & 0xFFF, 123);
	assert_int_equal(m->pkt.rh >> 6 & 7, 5);
	assert_int_equal(m->pkt.len, f.len);
	ut_check_bytes(m->pkt.data, f.b, f.len, "tag stripped");
	assert_int_equal(m->pkt.rh >> 3 & 7, 3);
	/* filter on: 123 is not in it, then it is, then it is not */
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x16, 1, 0, 0), NULL, 0), 0);
	mt_in(m, &tagged);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), -1);
	assert_int_equal(mt_count(m, LIQM_N_rx_filtered), 1);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x17, 123, 0, 0), NULL, 0), 0);
	mt_in(m, &tagged);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), 0);
	mt_in(m, &f); /* untagged always */
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x18, 123, 0, 0), NULL, 0), 0);
	mt_in(m, &tagged);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), -1);
	mt_put16(tagged.b + 14, 3 << 13); /* priority only: no VLAN to filter */
	mt_in(m, &tagged);
	assert_int_equal(raw_recv_frame(d, &m->pkt, 0), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x17, 0x1001, 0, 0), NULL, 0), 0);
	mt_free(m);
}

static void
vlan_tags_can_stay_in_the_frame(void **state)
{
	struct liqm_card_cfg cfg;
	struct mt *m;
	struct mt_frame f;

	(void)state;
	liqm_card_cfg_default(&cfg);
	cfg.keep_vlan = true;
	m = mt_new(&cfg);
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_UDP4, 100, 1);
	mt_tag(&f, 7);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(&m->drv[0], &m->pkt, MS), 0);
	assert_int_equal(m->pkt.rh >> 9 & 0xFFF, 0);
	ut_check_bytes(m->pkt.data, f.b, f.len, "as it was");
	mt_free(m);
}

static void
mtu_limits_both_directions(void **state)
{
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	struct mt_frame f;

	(void)state;
	for (uint32_t mtu = 1000; mtu <= 9000; mtu += 8000) {
		assert_int_equal(raw_cmd(d, raw_cmd_word(1, mtu, 0, 0), NULL, 0), 0);
		for (int over = -1; over <= 1; over++) {
			uint64_t too_long = mt_count(m, LIQM_N_rx_too_long);
			uint64_t dropped = mt_count(m, LIQM_N_tx_dropped);

			mt_build(&f, d->mac, mt_peer_mac, MT_RAW, mtu + (uint32_t)over, 1);
			if (over == 0)
				mt_tag(&f, 1); /* the tag is not counted */
			mt_in(m, &f);
			assert_int_equal(mt_count(m, LIQM_N_rx_too_long) - too_long, over == 1);
			assert_int_equal(raw_recv_frame(d, &m->pkt, MS), over == 1 ? -1 : 0);
			memcpy(f.b, mt_peer_mac, 6);
			raw_send(d, 0, f.b, f.len, 0, 0, 0);
			assert_int_equal(mt_count(m, LIQM_N_tx_dropped) - dropped, over == 1);
		}
	}
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(1, 67, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(1, 68, 0, 0), NULL, 0), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(1, 9600, 0, 0), NULL, 0), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(1, 9601, 0, 0), NULL, 0), 0);
	mt_free(m);
}

static bool
gets(struct mt *m, const uint8_t *dst)
{
	struct mt_frame f;

	mt_build(&f, dst, mt_peer_mac, MT_RAW, 60, 1);
	mt_in(m, &f);
	return raw_recv_frame(&m->drv[0], &m->pkt, 0) == 0;
}

static void
address_filters(void **state)
{
	static const uint8_t broadcast[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
	static const uint8_t group_a[6] = {1, 0, 0x5E, 0, 0, 1}, group_b[6] = {1, 0, 0x5E, 0, 0, 2};
	static const uint8_t other[6] = {2, 1, 2, 3, 4, 5};
	struct mt *m = mt_vf_up(1, false);
	struct raw *d = &m->drv[0];
	uint8_t list[33 * 8] = {0};

	(void)state;
	memcpy(list + 2, group_a, 6);
	assert_true(gets(m, d->mac));
	assert_true(gets(m, broadcast));
	assert_false(gets(m, other));
	assert_false(gets(m, group_a));
	/* SET_MULTI_LIST: flags and list */
	assert_int_equal(raw_cmd(d, raw_cmd_word(5, 0x0C, 1, 1), list, 8), 0);
	assert_true(gets(m, group_a));
	assert_false(gets(m, group_b));
	assert_int_equal(raw_cmd(d, raw_cmd_word(5, 0x0E, 0, 0), NULL, 0), 0); /* ALLMULTI */
	assert_true(gets(m, group_b));
	assert_false(gets(m, other));
	assert_int_equal(raw_cmd(d, raw_cmd_word(3, 0x11, 0, 0), NULL, 0), 0); /* PROMISC */
	assert_true(gets(m, other));
	assert_int_equal(raw_cmd(d, raw_cmd_word(3, 0x10, 0, 0), NULL, 0), 0);
	assert_false(gets(m, other));
	assert_true(gets(m, broadcast)); /* DPDK never sets the broadcast flag */
	/* second unicast address */
	memcpy(list + 2, other, 6);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x1B, 1, 0, 1), list, 8), 0);
	assert_true(gets(m, other));
	/* 32 fit, 33 do not; fewer words than the count says is an error, not an over-read */
	assert_int_equal(raw_cmd(d, raw_cmd_word(5, 0x0C, 32, 32), list, 256), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(5, 0x0C, 33, 33), list, 264), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(5, 0x0C, 2, 2), list, 8), 0);
	/* nothing comes while reception is off */
	assert_int_equal(raw_cmd(d, raw_cmd_word(4, 0, 0, 0), NULL, 0), 0);
	assert_false(gets(m, d->mac));
	assert_int_equal(mt_count(m, LIQM_N_rx_stopped), 1);
	assert_int_equal(raw_cmd(d, raw_cmd_word(4, 1, 0, 0), NULL, 0), 0);
	assert_true(gets(m, d->mac));
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(checksum_verdicts_by_field),
		cmocka_unit_test(truncated_frames_are_passed_on_unverified),
		cmocka_unit_test(ipv6_extension_headers_are_walked),
		cmocka_unit_test(checksums_are_inserted_as_asked),
		cmocka_unit_test(short_frames_are_padded),
		cmocka_unit_test(tcp_is_cut_into_segments),
		cmocka_unit_test(tunnel_frames_out),
		cmocka_unit_test(tunnel_frames_in),
		cmocka_unit_test(vlan_tags_are_inserted_stripped_and_filtered),
		cmocka_unit_test(vlan_tags_can_stay_in_the_frame),
		cmocka_unit_test(mtu_limits_both_directions),
		cmocka_unit_test(address_filters),
	};

	return UT_RUN(cases, NULL, NULL);
}
