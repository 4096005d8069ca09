/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw driver as a PF: bring-up with firmware already running, and the mailboxes of its VFs, as
 * in sections 5.10.7 and 5.2.3 of the interface document.
 */
#include "rawdrv.h"

#include <string.h>

#define SECOND_NS UINT64_C(1000000000)

#define G_MAC_NUMBER 0x20050u
#define G_MAC_CREDIT 0x23D70u
#define G_SCRATCH2   0x283D0u
#define G_RINFO      0x29030u
#define G_MBOX_INT   0x27380u
#define G_INT_SUM    0x27000u

static uint32_t
per_pf(const struct raw *d, uint32_t reg)
{
	return reg + 0x20 * d->mac_num + 0x10 * d->pf_num;
}

/* 5.10.7; the number of the step that failed, negative. */
int
raw_pf_up(struct raw *d, unsigned int p, unsigned int v, unsigned int r)
{
	uint32_t word = 0;
	unsigned int trs = p + v * r;
	struct raw_pkt pkt;

	d->is_pf = true;
	liqm_cfg_read(d->fn, 0x188, &word, 4);
	d->pf_num = word >> 16 & 0xFF;
	if (!(raw_r64(d, G_SCRATCH2) >> 63))
		return -2;
	d->mac_num = raw_r32(d, G_MAC_NUMBER) & 0xFF;
	raw_w64(d, G_MAC_CREDIT, UINT64_C(0x003F802080802080));
	d->first = v * r;
	d->n_rings = p;
	raw_w64(d, per_pf(d, G_RINFO),
		(uint64_t)d->pf_num * 64 | (uint64_t)trs << 16 | (uint64_t)(v ? r : 0) << 32 |
			(uint64_t)v << 48);
	for (unsigned int q = 0; q < d->first; q++)
		raw_w64(d, R_RING(q) + R_INPUT_CONTROL,
			(uint64_t)d->mac_num << 29 | (uint64_t)d->pf_num << 45 |
				(uint64_t)(q / r + 1) << 32);
	if (raw_reset_rings(d) < 0)
		return -6;
	raw_w64(d, 0x29180, 0x40);
	raw_w64(d, 0x29260 + 0x10 * d->pf_num, UINT64_MAX);
	raw_w64(d, 0x282E0, 0x200000);
	raw_w64(d, 0x29170, 64600);
	for (unsigned int k = 0; k < p; k++)
		raw_ring_setup(d, k);
	for (unsigned int i = 0; i < v; i++)
		raw_w64(d, R_RING(i * r) + R_SIG1, RAW_SIG);
	for (unsigned int k = 0; k < p; k++) {
		raw_ring_credits(d, k); /* before it is enabled: 2.5 */
		raw_ring_enable(d, k);
	}
	if (!raw_recv_notice(d, 1, &pkt, 30 * SECOND_NS) || (pkt.rh >> 8 & 0xFF) != 1)
		return -13;
	d->pkind = pkt.rh & 0xFF;
	if (raw_if_cfg(d, p) != 0)
		return -14;
	return raw_cmd(d, raw_cmd_word(4, 1, 0, 0), NULL, 0) == 0 ? 0 : -16;
}

/* The answer to VF_ACTIVE, a word each time the VF is ready for it. */
static void
answer(struct raw *d, unsigned int q)
{
	uint32_t sig0 = R_RING(q) + R_SIG0;
	uint64_t hs = d->pkind | UINT64_C(1000) << 24 | UINT64_C(1) << 40;

	if (d->mbox_state[q] == 1 && raw_r64(d, sig0) == RAW_SIG) {
		raw_w64(d, sig0, hs << 16 | 0x0207);
		d->mbox_state[q] = 2;
	} else if (d->mbox_state[q] == 2 && raw_r64(d, sig0) == RAW_ACK) {
		raw_w64(d, sig0, UINT64_C(0x0000000200070001));
		raw_w64(d, R_RING(q) + R_SIG1, RAW_SIG);
		d->mbox_state[q] = 0;
	}
}

unsigned int
raw_pf_serve(struct raw *d)
{
	uint64_t due = raw_r64(d, per_pf(d, G_MBOX_INT));
	unsigned int n = 0;

	raw_w64(d, per_pf(d, G_INT_SUM), raw_r64(d, per_pf(d, G_INT_SUM)));
	for (unsigned int q = 0; q < d->first; q++) {
		uint32_t sig1 = R_RING(q) + R_SIG1;
		uint64_t word;

		answer(d, q);
		if (!(due >> q & 1))
			continue;
		raw_w64(d, per_pf(d, G_MBOX_INT), UINT64_C(1) << q);
		word = raw_r64(d, sig1);
		if (word == RAW_SIG || word == RAW_ACK)
			continue;
		n++;
		raw_w64(d, sig1, word == 0x108 ? RAW_SIG : RAW_ACK);
		if (word == UINT64_C(0x0000000100050001))
			d->mbox_state[q] = 1; /* the version: the request is whole */
	}
	return n;
}
