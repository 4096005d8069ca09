/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash and the queue it chooses: published values, types, table, key, no ports for UDP.
 */
#include "mt.h"

#define MS UINT64_C(1000000)

static const uint8_t ms_key[40] = {
	0x6D, 0x5A, 0x56, 0xDA, 0x25, 0x5B, 0x0E, 0xC2, 0x41, 0x67, 0x25, 0x3D, 0x43, 0xA3,
	0x8F, 0xB0, 0xD0, 0xCA, 0x2B, 0xCB, 0xAE, 0x7B, 0x30, 0xB4, 0x77, 0xCB, 0x2D, 0xA3,
	0x80, 0x30, 0xF2, 0x0C, 0x6A, 0x42, 0xB7, 0x3B, 0xBE, 0xAC, 0x01, 0xFA,
};

static void
put_addr4(struct mt_frame *f, uint32_t src, uint32_t dst, uint16_t sport, uint16_t dport)
{
	uint8_t *ip = f->b + f->l3;

	mt_put16(ip + 12, src >> 16);
	mt_put16(ip + 14, src & 0xFFFF);
	mt_put16(ip + 16, dst >> 16);
	mt_put16(ip + 18, dst & 0xFFFF);
	mt_put16(f->b + f->l4, sport);
	mt_put16(f->b + f->l4 + 2, dport);
}

static uint32_t
hash_of(struct mt *m, const struct mt_frame *f, uint32_t *type)
{
	mt_in(m, f);
	assert_true(raw_recv_frame(&m->drv[0], &m->pkt, MS) >= 0);
	*type = (uint32_t)m->pkt.hash_word;
	return (uint32_t)(m->pkt.hash_word >> 32);
}

/* The published verification values of the Microsoft key. */
static void
toeplitz_gives_the_published_values(void **state)
{
	static const struct {
		uint32_t src, dst;
		uint16_t sport, dport;
		uint32_t ip, tcp;
	} rows[] = {
		{0x420995BB, 0xA18E6450, 2794, 1766, 0x323E8FC2, 0x51CCC178},
		{0xC75C6F02, 0x41458C53, 14230, 4739, 0xD718262A, 0xC626B0EA},
		{0x1813C65F, 0x0C16CFB8, 12898, 38024, 0xD2D0A5DE, 0x5C2B394A},
		{0x261BCD1E, 0xD18EA306, 48228, 2217, 0x82989176, 0xAFC7327F},
		{0x9927A3BF, 0xCABC7F02, 44251, 1303, 0x5D1809C5, 0x10E828A2},
	};
	struct mt *m = mt_vf_up(4, false);
	struct mt_frame f;
	uint32_t type;

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_TCP4, 10, 1);
		put_addr4(&f, rows[i].src, rows[i].dst, rows[i].sport, rows[i].dport);
		ut_check(hash_of(m, &f, &type) == rows[i].tcp, "row %zu", i);
		assert_int_equal(type, 0x200);
		/* UDP: addresses only, as on the card */
		mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_UDP4, 10, 1);
		put_addr4(&f, rows[i].src, rows[i].dst, rows[i].sport, rows[i].dport);
		ut_check(hash_of(m, &f, &type) == rows[i].ip, "row %zu", i);
		assert_int_equal(type, 0x100);
		assert_int_equal(m->pkt.rh & 1, 1);
		assert_int_equal(m->pkt.rh >> 49 & 7, 1);
	}
	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_TCP6, 10, 1);
	hash_of(m, &f, &type);
	assert_int_equal(type, 0x1000);
	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_UDP6, 10, 1);
	hash_of(m, &f, &type);
	assert_int_equal(type, 0x400);
	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_RAW, 50, 1);
	hash_of(m, &f, &type);
	assert_int_equal(m->pkt.rh & 1, 0);
	mt_free(m);
}

static void
table_types_and_key_are_obeyed(void **state)
{
	struct mt *m = mt_vf_up(4, true);
	struct raw *d = &m->drv[0];
	uint8_t udd[184] = {0};
	struct mt_frame f;
	uint32_t type;
	bool seen[4] = {0};

	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 10, i);
		mt_in(m, &f);
		seen[raw_recv_frame(d, &m->pkt, MS)] = true;
	}
	assert_true(seen[0] && seen[1] && seen[2] && seen[3]); /* spread without a word */
	/* all to queue 2: DPDK's RETA form */
	raw_put_be64(udd, UINT64_C(0x008000000000000B));
	memset(udd + 16, 2, 128);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	for (unsigned int i = 0; i < 16; i++) {
		mt_build(&f, d->mac, mt_peer_mac, MT_UDP4, 10, i);
		mt_in(m, &f);
		assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 2);
	}
	/* key of zeros and IPv4 only: hash 0, TCP counts as IPv4, IPv6 is not hashed */
	memset(udd, 0, sizeof(udd));
	raw_put_be64(udd, UINT64_C(0x0000000001000005));
	raw_put_be64(udd + 8, 40);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_TCP4, 10, 1);
	assert_int_equal(hash_of(m, &f, &type), 0);
	assert_int_equal(type, 0x100);
	mt_build(&f, d->mac, mt_peer_mac, MT_TCP6, 10, 1);
	hash_of(m, &f, &type);
	assert_int_equal(m->pkt.rh & 1, 0);
	/* the EX types serve when the plain ones are off */
	raw_put_be64(udd, UINT64_C(0x0000000028000005));
	memcpy(udd + 144, ms_key, 40);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	assert_int_not_equal(hash_of(m, &f, &type), 0);
	assert_int_equal(type, 0x2000);
	/* lengths that do not fit are refused */
	raw_put_be64(udd + 8, 41);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	raw_put_be64(udd, UINT64_C(0x008100000000000B));
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 1), udd, 8), 0);
	/* a key or a table that the data does not reach */
	raw_put_be64(udd, UINT64_C(0x0000000001000005));
	raw_put_be64(udd + 8, 40);
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 22), udd, 176), 0);
	raw_put_be64(udd, UINT64_C(0x008000000000000B));
	assert_int_not_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 17), udd, 136), 0);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 18), udd, 144), 0);
	/* FNV, then off */
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x1D, 1, 0, 0), NULL, 0), 0);
	mt_build(&f, d->mac, mt_peer_mac, MT_TCP6, 10, 1);
	assert_int_not_equal(hash_of(m, &f, &type), 0);
	raw_put_be64(udd, 0x1F);
	assert_int_equal(raw_cmd(d, raw_cmd_word(0x0D, 0, 0, 23), udd, 184), 0);
	mt_in(m, &f);
	assert_int_equal(raw_recv_frame(d, &m->pkt, MS), 0);
	assert_int_equal(m->pkt.rh & 1, 0);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(toeplitz_gives_the_published_values),
		cmocka_unit_test(table_types_and_key_are_obeyed),
	};

	return UT_RUN(cases, NULL, NULL);
}
