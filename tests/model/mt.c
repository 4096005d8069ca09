/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fixtures and frames for the model's tests.  See mt.h.
 */
#include "mt.h"

const uint8_t mt_peer_mac[6] = {0x02, 0x77, 0x00, 0x00, 0x00, 0x01};

static void
caught(void *ctx, const uint8_t *frame, uint32_t len)
{
	struct mt_wire *w = ctx;

	if (w->n < MT_CAUGHT && len <= RAW_FRAME_MAX) {
		memcpy(w->frame[w->n], frame, len);
		w->len[w->n] = len;
	}
	w->n++;
}

struct mt *
mt_new(const struct liqm_card_cfg *cfg)
{
	struct mt *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	assert_int_equal(liqm_card_create(cfg, &m->card), 0);
	m->n_fns = liqm_card_n_fns(m->card) < MT_FNS ? liqm_card_n_fns(m->card) : MT_FNS;
	for (unsigned int i = 0; i < m->n_fns; i++) {
		assert_int_equal(raw_host_init(&m->host[i]), 0);
		raw_init(&m->drv[i], m->card, liqm_card_fn(m->card, i), &m->host[i]);
	}
	assert_int_equal(liqm_wire_callback(m->card, 0, caught, &m->wire), 0);
	return m;
}

struct mt *
mt_vf(unsigned int n_rings)
{
	struct liqm_card_cfg cfg;

	liqm_card_cfg_default(&cfg);
	cfg.rings_per_vf = n_rings;
	return mt_new(&cfg);
}

struct mt *
mt_vf_up(unsigned int n_rings, bool info_mode)
{
	struct mt *m = mt_vf(n_rings);

	m->drv[0].info_mode = info_mode;
	assert_int_equal(raw_vf_up(&m->drv[0], n_rings), 0);
	assert_true(raw_recv_notice(&m->drv[0], 4, &m->pkt, 1000000));
	return m;
}

void
mt_free(struct mt *m)
{
	uint64_t n_bad = 0;

	liqm_card_destroy(m->card);
	for (unsigned int i = 0; i < m->n_fns; i++) {
		n_bad += m->host[i].n_bad;
		raw_host_fini(&m->host[i]);
	}
	ut_check(n_bad == m->expect_bad, "%llu DMA accesses outside the map",
		 (unsigned long long)n_bad);
	free(m);
}

uint64_t
mt_count(const struct mt *m, enum liqm_counter which)
{
	return liqm_counter(m->drv[0].fn, which);
}

int
mt_in(struct mt *m, const struct mt_frame *f)
{
	int ret = liqm_wire_in(m->card, 0, f->b, f->len);

	liqm_card_tick(m->card);
	return ret;
}

/* ---- frames ---- */

uint16_t
mt_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

void
mt_put16(uint8_t *p, unsigned int v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t
add(uint32_t sum, const uint8_t *p, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
	return sum;
}

static uint16_t
finish(uint32_t sum)
{
	while (sum > 0xFFFF)
		sum = (sum >> 16) + (sum & 0xFFFF);
	return (uint16_t)(0xFFFF - sum);
}

uint16_t
mt_ip_sum(const uint8_t *ip, uint32_t hdr_bytes)
{
	return finish(add(0, ip, hdr_bytes));
}

uint16_t
mt_l4_sum(const uint8_t *frame, uint32_t l3, uint32_t l4, uint32_t end, uint8_t proto)
{
	uint32_t sum = proto + (end - l4);

	if (frame[l3] >> 4 == 4)
		sum = add(sum, frame + l3 + 12, 8);
	else
		sum = add(sum, frame + l3 + 8, 32);
	return finish(add(sum, frame + l4, end - l4));
}

static void
put_ip(struct mt_frame *f, bool v6, uint8_t proto, uint32_t l4_bytes, unsigned int seed)
{
	uint8_t *ip = f->b + f->l3;

	if (v6) {
		ip[0] = 0x60;
		mt_put16(ip + 4, l4_bytes);
		ip[6] = proto;
		ip[7] = 64;
		ip[8] = ip[24] = 0xFD;
		ip[23] = (uint8_t)(1 + seed);
		ip[39] = 2;
		f->l4 = f->l3 + 40;
		return;
	}
	ip[0] = 0x45;
	mt_put16(ip + 2, 20 + l4_bytes);
	mt_put16(ip + 4, 0x1234);
	ip[8] = 64;
	ip[9] = proto;
	ip[12] = ip[16] = 10;
	ip[15] = (uint8_t)(1 + seed);
	ip[19] = 2;
	f->l4 = f->l3 + 20;
	mt_put16(ip + 10, mt_ip_sum(ip, 20));
}

void
mt_build(struct mt_frame *f, const uint8_t *dst, const uint8_t *src, enum mt_proto proto,
	 uint32_t n, unsigned int seed)
{
	bool v6 = proto == MT_UDP6 || proto == MT_TCP6, tcp = proto == MT_TCP4 || proto == MT_TCP6;
	uint32_t hdr = tcp ? 20 : 8;
	uint8_t *l4;

	memset(f, 0, sizeof(*f));
	memcpy(f->b, dst, 6);
	memcpy(f->b + 6, src, 6);
	mt_put16(f->b + 12, proto == MT_RAW ? 0x88B5 : v6 ? 0x86DD : 0x0800);
	f->l3 = f->l4 = f->payload = 14;
	if (proto != MT_RAW) {
		put_ip(f, v6, tcp ? 6 : 17, hdr + n, seed);
		f->payload = f->l4 + hdr;
	}
	f->len = f->payload + n;
	for (uint32_t i = 0; i < n; i++)
		f->b[f->payload + i] = (uint8_t)(i * 7 + seed * 13 + (i >> 8));
	if (proto == MT_RAW)
		return;
	l4 = f->b + f->l4;
	mt_put16(l4, 1000 + seed);
	mt_put16(l4 + 2, 2000);
	if (tcp) {
		mt_put16(l4 + 4, 0x1111);
		mt_put16(l4 + 6, 0xFFF0);
		l4[12] = 5 << 4;
		l4[13] = 0x98 | 0x01; /* CWR ACK PSH FIN */
		mt_put16(l4 + 16, mt_l4_sum(f->b, f->l3, f->l4, f->len, 6));
	} else {
		mt_put16(l4 + 4, 8 + n);
		mt_put16(l4 + 6, mt_l4_sum(f->b, f->l3, f->l4, f->len, 17));
	}
}

void
mt_tag(struct mt_frame *f, uint16_t tci)
{
	memmove(f->b + 16, f->b + 12, f->len - 12);
	mt_put16(f->b + 12, 0x8100);
	mt_put16(f->b + 14, tci);
	f->len += 4;
	f->l3 += 4;
	f->l4 += 4;
	f->payload += 4;
}

void
mt_vxlan(struct mt_frame *f, const uint8_t *dst, const uint8_t *src)
{
	static struct mt_frame outer;

	mt_build(&outer, dst, src, MT_UDP4, 8 + f->len, 9);
	memset(outer.b + outer.payload, 0, 8);
	outer.b[outer.payload] = 0x08;
	memcpy(outer.b + outer.payload + 8, f->b, f->len);
	mt_put16(outer.b + outer.l4 + 2, 4789);
	mt_put16(outer.b + outer.l4 + 6, 0);
	mt_put16(outer.b + outer.l4 + 6, mt_l4_sum(outer.b, outer.l3, outer.l4, outer.len, 17));
	*f = outer;
}
