/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw driver: bring-up, commands and packets, in the order and with the numbers of the
 * interface document (section numbers in comments).  See rawdrv.h.
 */
#include "rawdrv.h"

#include <string.h>

#define CTL_RST    (UINT64_C(1) << 23)
#define CTL_QUIET  (UINT64_C(1) << 28)
#define CTL_ENB    (UINT64_C(1) << 22)
#define CTL_64B    (UINT64_C(1) << 24)
#define CTL_MODE   UINT64_C(0x06000050)
#define STEP_NS    UINT64_C(100000)
#define SECOND_NS  UINT64_C(1000000000)
#define WORK_BYTES 65536u

uint32_t
raw_r32(struct raw *d, uint32_t off)
{
	return (uint32_t)liqm_bar_read(d->fn, 0, off, 4);
}

uint64_t
raw_r64(struct raw *d, uint32_t off)
{
	return liqm_bar_read(d->fn, 0, off, 8);
}

void
raw_w32(struct raw *d, uint32_t off, uint32_t v)
{
	liqm_bar_write(d->fn, 0, off, v, 4);
}

void
raw_w64(struct raw *d, uint32_t off, uint64_t v)
{
	liqm_bar_write(d->fn, 0, off, v, 8);
}

uint32_t
raw_reg(const struct raw *d, unsigned int k, uint32_t reg)
{
	return R_RING(d->first + k) + reg;
}

void
raw_wait_ns(struct raw *d, uint64_t ns)
{
	liqm_card_advance(d->card, ns);
	if (d->idle)
		d->idle(d->idle_ctx);
}

void
raw_init(struct raw *d, struct liqm_card *card, struct liqm_fn *fn, struct raw_host *host)
{
	struct liqm_fn_services svc;

	memset(d, 0, sizeof(*d));
	d->host = host;
	d->card = card;
	d->fn = fn;
	d->n_rings = 1;
	d->iq_desc = 512;
	d->oq_desc = 512;
	d->buf_bytes = 2048;
	d->pkind = 40;
	d->data = raw_alloc(host, WORK_BYTES);
	d->list = raw_alloc(host, 4096);
	d->resp = raw_alloc(host, 8192);
	raw_host_services(host, &svc);
	liqm_fn_attach(fn, &svc);
}

/* Reads until the register has the value; false when it never does. */
static bool
wait64(struct raw *d, uint32_t off, uint64_t want, uint64_t limit_ns)
{
	for (uint64_t ns = 0; ns <= limit_ns; ns += STEP_NS) {
		if (raw_r64(d, off) == want)
			return true;
		raw_wait_ns(d, STEP_NS);
	}
	return false;
}

/* What is pending is cleared by writing back what was read: 2.2.11. */
static void
ack_mbox(struct raw *d)
{
	raw_w64(d, raw_reg(d, 0, R_MBOX_INT), raw_r64(d, raw_reg(d, 0, R_MBOX_INT)));
}

/* 10.2, steps 1 to 10. */
int
raw_vf_handshake(struct raw *d)
{
	uint32_t sig0 = raw_reg(d, 0, R_SIG0), sig1 = raw_reg(d, 0, R_SIG1);
	uint64_t word = RAW_SIG;

	d->in_ctl = raw_r64(d, R_RING(0) + R_INPUT_CONTROL);
	raw_w64(d, sig0, RAW_SIG);
	ack_mbox(d);
	if (!wait64(d, sig1, RAW_SIG, SECOND_NS))
		return -1;
	raw_w64(d, sig1, 0x206);
	if (!wait64(d, sig1, RAW_ACK, SECOND_NS))
		return -2;
	raw_w64(d, sig1, UINT64_C(0x0000000100050001));
	for (uint64_t ns = 0; ns < 10 * SECOND_NS && (word == RAW_SIG || word == RAW_ACK);
	     ns += STEP_NS) {
		raw_wait_ns(d, STEP_NS);
		word = raw_r64(d, sig0);
	}
	if ((word & 0xFFFF) != 0x0207)
		return -3;
	d->handshake = word >> 16;
	d->pkind = d->handshake & 0xFF;
	ack_mbox(d);
	raw_w64(d, sig0, RAW_ACK);
	for (uint64_t ns = 0; ns < SECOND_NS && raw_r64(d, sig0) == RAW_ACK; ns += STEP_NS)
		raw_wait_ns(d, STEP_NS);
	ack_mbox(d);
	d->pf_version = raw_r64(d, sig0);
	raw_w64(d, sig0, RAW_ACK);
	raw_w64(d, sig0, RAW_SIG);
	if ((d->pf_version & 0xFFFF) != 1 || ((d->handshake >> 24) & 0xFFFF) == 0)
		return -4;
	return wait64(d, sig1, RAW_SIG, SECOND_NS) ? 0 : -5;
}

/* 10.2, steps 12 to 15. */
int
raw_reset_rings(struct raw *d)
{
	for (unsigned int k = 0; k < d->n_rings; k++) {
		uint32_t ctl = raw_reg(d, k, R_INPUT_CONTROL);
		uint64_t v = 0;

		raw_w64(d, ctl, raw_r64(d, ctl) | CTL_RST);
		for (int i = 0; i < 1000; i++) {
			v = raw_r64(d, ctl);
			if (!(v & CTL_RST) || (v & CTL_QUIET))
				break;
		}
		if ((v & CTL_RST) && !(v & CTL_QUIET))
			return -1;
		raw_w64(d, ctl, v & ~CTL_RST);
		if (raw_r64(d, ctl) & CTL_RST)
			return -2;
	}
	for (unsigned int k = 0; k < d->n_rings; k++) {
		uint64_t mode = CTL_MODE;

		memset(&d->ring[k], 0, sizeof(d->ring[k]));
		raw_w64(d, raw_reg(d, k, R_IQ_DOORBELL), 0xFFFFFFFF);
		raw_w64(d, raw_reg(d, k, R_IN_DONE),
			raw_r64(d, raw_reg(d, k, R_IN_DONE)) & ~(UINT64_C(1) << 60));
		if (d->is_pf)
			mode |= (uint64_t)d->mac_num << 29 | (uint64_t)d->pf_num << 45;
		raw_w64(d, raw_reg(d, k, R_INPUT_CONTROL), mode);
		raw_w32(d, raw_reg(d, k, R_OQ_CREDITS), 0xFFFFFFFF);
		raw_w32(d, raw_reg(d, k, R_CNTS), raw_r32(d, raw_reg(d, k, R_CNTS)));
		raw_w32(d, raw_reg(d, k, R_OUTPUT_CONTROL), d->info_mode ? 0xA40 : 0x240);
	}
	return 0;
}

/* 10.4.  Memory is kept when the ring had some. */
void
raw_ring_setup(struct raw *d, unsigned int k)
{
	struct raw_ring *r = &d->ring[k];
	uint64_t *desc;

	r->iq_size = d->iq_desc;
	r->oq_size = d->oq_desc;
	r->buf_bytes = d->buf_bytes;
	r->iq = raw_alloc(d->host, 64 * r->iq_size);
	r->oq = raw_alloc(d->host, 16 * r->oq_size);
	r->info = raw_alloc(d->host, 16 * r->oq_size);
	r->bufs = raw_alloc(d->host, r->buf_bytes * r->oq_size);
	desc = raw_ptr(d->host, r->oq);
	for (uint32_t i = 0; i < r->oq_size; i++) {
		desc[2 * i] = r->bufs + (uint64_t)i * r->buf_bytes;
		desc[2 * i + 1] = d->info_mode ? r->info + 16 * (uint64_t)i : 0;
	}
	raw_w64(d, raw_reg(d, k, R_INSTR_BADDR), r->iq);
	raw_w32(d, raw_reg(d, k, R_IQ_SIZE), r->iq_size);
	raw_w64(d, raw_reg(d, k, R_IN_DONE), raw_r64(d, raw_reg(d, k, R_IN_DONE)));
	raw_w64(d, raw_reg(d, k, R_SLIST_BADDR), r->oq);
	raw_w32(d, raw_reg(d, k, R_OQ_SIZE), r->oq_size);
	raw_w32(d, raw_reg(d, k, R_OUT_SIZE), r->buf_bytes | (d->info_mode ? 8u << 16 : 0));
}

void
raw_ring_credits(struct raw *d, unsigned int k)
{
	raw_w32(d, raw_reg(d, k, R_OQ_CREDITS), d->ring[k].oq_size);
}

void
raw_ring_enable(struct raw *d, unsigned int k)
{
	uint32_t ctl = raw_reg(d, k, R_INPUT_CONTROL), out = raw_reg(d, k, R_OUTPUT_CONTROL);

	raw_w64(d, ctl, raw_r64(d, ctl) | CTL_64B);
	raw_w64(d, ctl, raw_r64(d, ctl) | CTL_ENB);
	raw_w32(d, out, raw_r32(d, out) | 1);
}

/* ---- instructions ---- */

void
raw_post(struct raw *d, unsigned int k, const uint64_t words[8])
{
	struct raw_ring *r = &d->ring[k];

	memcpy((uint8_t *)raw_ptr(d->host, r->iq) + 64 * r->iq_put, words, 64);
	r->iq_put = (r->iq_put + 1) % r->iq_size;
}

void
raw_ring_bell(struct raw *d, unsigned int k, uint32_t n)
{
	raw_w32(d, raw_reg(d, k, R_IQ_DOORBELL), n);
}

uint32_t
raw_done(struct raw *d, unsigned int k)
{
	uint32_t count = raw_r32(d, raw_reg(d, k, R_IN_DONE));
	uint32_t n = count - d->ring[k].iq_count;

	d->ring[k].iq_count = count;
	return n;
}

/* 3.1 and 3.7: ih3 and pki_ih3 of a soft command. */
static void
soft_words(const struct raw *d, uint64_t words[8], unsigned int subcode, uint64_t iova,
	   uint32_t len, uint32_t rlen)
{
	memset(words, 0, 64);
	words[0] = iova;
	words[1] =
		(uint64_t)d->pkind << 32 | (uint64_t)(rlen ? 48 : 32) << 42 | (uint64_t)len << 48;
	words[2] = UINT64_C(0xE708A00011111110);
	words[3] = UINT64_C(1) << 60 | (uint64_t)subcode << 52 | (rlen ? UINT64_C(1) << 59 : 0);
	if (rlen) {
		words[6] = rlen;
		words[7] = d->resp;
	}
}

uint32_t
raw_request(struct raw *d, unsigned int subcode, uint64_t ossp0, uint64_t ossp1, const void *data,
	    uint32_t len, void *out, uint32_t rlen, uint64_t wait_ns)
{
	uint8_t *resp = raw_ptr(d->host, d->resp);
	uint64_t words[8];
	uint64_t status = UINT64_MAX;

	if (len)
		memcpy(raw_ptr(d->host, d->data), data, len);
	soft_words(d, words, subcode, d->data, len, rlen);
	words[4] = ossp0;
	words[5] = ossp1;
	memset(resp, 0xFF, rlen);
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 1);
	for (uint64_t ns = 0;; ns += STEP_NS) {
		status = raw_be64(resp + rlen - 8);
		/* 3.6: arrived when neither the first byte nor the low byte is 0xFF */
		if ((status & 0xFF) != 0xFF && status >> 56 != 0xFF)
			break;
		if (ns >= wait_ns)
			break;
		raw_wait_ns(d, STEP_NS);
	}
	raw_done(d, 0);
	if (status == UINT64_MAX)
		return RAW_NO_STATUS;
	if (out)
		memcpy(out, resp, rlen);
	return status & 0xFFFF;
}

uint64_t
raw_cmd_word(unsigned int cmd, unsigned int param1, unsigned int param2, unsigned int more)
{
	return (uint64_t)cmd << 59 | (uint64_t)more << 53 | (uint64_t)param1 << 8 | param2;
}

uint32_t
raw_cmd(struct raw *d, uint64_t word, const void *udd, uint32_t udd_len)
{
	uint8_t data[8 + 512];

	raw_put_be64(data, word);
	if (udd_len)
		memcpy(data + 8, udd, udd_len);
	return raw_request(d, 3, 0, 0, data, 8 + udd_len, NULL, 16, SECOND_NS);
}

uint32_t
raw_cmd_quiet(struct raw *d, uint64_t word, const void *udd, uint32_t udd_len)
{
	uint8_t *data = raw_ptr(d->host, d->data);
	uint64_t words[8];

	raw_put_be64(data, word);
	if (udd_len)
		memcpy(data + 8, udd, udd_len);
	soft_words(d, words, 3, d->data, 8 + udd_len, 0);
	raw_done(d, 0);
	raw_post(d, 0, words);
	raw_ring_bell(d, 0, 1);
	return raw_done(d, 0) == 1 ? 0 : RAW_NO_STATUS;
}

/* 5.4 */
uint32_t
raw_if_cfg(struct raw *d, unsigned int n)
{
	uint8_t resp[1112];
	uint64_t ossp0 = (uint64_t)(d->is_pf ? d->first : 0) << 48 | (uint64_t)n << 32 | n << 16 |
			 d->pf_num << 8;
	uint32_t status = raw_request(d, 9, ossp0, 0, NULL, 0, resp, sizeof(resp), SECOND_NS);

	if (status != 0)
		return status;
	memcpy(d->version, resp + 1072, 32);
	memcpy(d->mac, resp + 34, 6);
	for (int i = 0; i < 139; i++)
		d->ifcfg[i] = raw_be64(resp + 8 * i);
	return 0;
}

/* 10.2 to 10.5, Linux order: everything is enabled, then the interface is configured. */
int
raw_vf_up(struct raw *d, unsigned int n_rings)
{
	int ret = raw_vf_handshake(d);

	if (ret < 0)
		return ret;
	d->n_rings = n_rings;
	if (raw_reset_rings(d) < 0)
		return -10;
	for (unsigned int k = 0; k < n_rings; k++) {
		raw_ring_setup(d, k);
		raw_ring_credits(d, k);
		raw_ring_enable(d, k);
	}
	if (raw_if_cfg(d, n_rings) != 0)
		return -11;
	return raw_cmd(d, raw_cmd_word(4, 1, 0, 0), NULL, 0) == 0 ? 0 : -12;
}

/* ---- packets out ---- */

void
raw_send(struct raw *d, unsigned int k, const void *frame, uint32_t len, uint64_t flags,
	 uint64_t vlan_prio, uint64_t tso)
{
	uint64_t words[8] = {0};

	memcpy(raw_ptr(d->host, d->data), frame, len);
	words[0] = d->data;
	words[1] = (uint64_t)d->pkind << 32 | UINT64_C(32) << 42 | (uint64_t)len << 48;
	words[2] = UINT64_C(0x9020800511111111);
	words[3] = UINT64_C(1) << 60 | UINT64_C(2) << 52 | vlan_prio | flags;
	words[4] = tso;
	raw_post(d, k, words);
	raw_ring_bell(d, k, 1);
}

/* 3.2: unused slots are poisoned, a card must not look at them. */
void
raw_send_gather(struct raw *d, unsigned int k, const void *frame, uint32_t len, unsigned int n_segs,
		uint64_t flags, uint64_t tso)
{
	uint8_t *list = raw_ptr(d->host, d->list);
	uint64_t words[8] = {0};
	uint32_t at = 0;

	memcpy(raw_ptr(d->host, d->data), frame, len);
	memset(list, 0xEE, 40 * ((n_segs + 3) / 4));
	for (unsigned int i = 0; i < n_segs; i++) {
		uint8_t *entry = list + 40 * (i / 4);
		uint32_t n = i + 1 < n_segs ? len / n_segs : len - at;
		uint64_t ptr = d->data + at;

		entry[6 - 2 * (i % 4)] = (uint8_t)n;
		entry[7 - 2 * (i % 4)] = (uint8_t)(n >> 8);
		memcpy(entry + 8 + 8 * (i % 4), &ptr, 8);
		at += n;
	}
	words[0] = d->list;
	words[1] = (uint64_t)d->pkind << 32 | UINT64_C(32) << 42 | (uint64_t)n_segs << 48 |
		   UINT64_C(1) << 62;
	words[2] = UINT64_C(0x9020800511111111);
	words[3] = UINT64_C(1) << 60 | UINT64_C(2) << 52 | flags;
	words[4] = tso;
	raw_post(d, k, words);
	raw_ring_bell(d, k, 1);
}

/* ---- packets in ---- */

/* Credits come in lots of 16 and more; 4.7. */
static void
refill(struct raw *d, unsigned int k)
{
	struct raw_ring *r = &d->ring[k];

	if (r->oq_refill < 16)
		return;
	raw_w32(d, raw_reg(d, k, R_OQ_CREDITS), r->oq_refill);
	r->oq_refill = 0;
}

static void
copy_out(struct raw *d, struct raw_ring *r, uint8_t *dst, uint32_t skip, uint32_t len)
{
	for (uint32_t at = 0; at < skip + len;) {
		uint32_t buf = (r->oq_get + at / r->buf_bytes) % r->oq_size;
		const uint8_t *src = raw_ptr(d->host, r->bufs + (uint64_t)buf * r->buf_bytes);
		uint32_t n = r->buf_bytes - at % r->buf_bytes;

		n = n < skip + len - at ? n : skip + len - at;
		if (at + n > skip) {
			uint32_t from = at < skip ? skip - at : 0;

			memcpy(dst + at + from - skip, src + at % r->buf_bytes + from, n - from);
		}
		at += n;
	}
}

/* 4.2: where header and length are in either mode. */
int
raw_recv(struct raw *d, unsigned int k, struct raw_pkt *pkt)
{
	struct raw_ring *r = &d->ring[k];
	const uint8_t *info = raw_ptr(d->host, r->info + 16 * (uint64_t)r->oq_get);
	const uint8_t *buf = raw_ptr(d->host, r->bufs + (uint64_t)r->oq_get * r->buf_bytes);
	uint64_t length;
	uint32_t skip, total;

	if (r->oq_pending == 0) {
		uint32_t n = raw_r32(d, raw_reg(d, k, R_CNTS));

		if (n == 0)
			return 0;
		r->oq_pending = n;
		raw_w32(d, raw_reg(d, k, R_CNTS), n);
	}
	length = raw_be64(d->info_mode ? info + 8 : buf);
	if (length < 8 || length > RAW_FRAME_MAX)
		return -1;
	pkt->rh = raw_be64(d->info_mode ? info : buf + 8);
	skip = (uint32_t)(pkt->rh >> 49 & 7) * 8;
	if (length < 8 + skip)
		return -1;
	pkt->len = (uint32_t)length - 8 - skip;
	pkt->hash_word = 0;
	total = skip + pkt->len;
	if (!d->info_mode) {
		skip += 16;
		total += 16;
	}
	if (pkt->rh & 1 && pkt->rh >> 49 & 7 && (pkt->rh >> 52 & 0xFF) == 2)
		pkt->hash_word = raw_be64(buf + (d->info_mode ? 0 : 16));
	pkt->n_bufs = total ? (total + r->buf_bytes - 1) / r->buf_bytes : 1;
	copy_out(d, r, pkt->data, skip, pkt->len);
	memset(raw_ptr(d->host, r->info + 16 * (uint64_t)r->oq_get), 0, 16);
	r->oq_get = (r->oq_get + pkt->n_bufs) % r->oq_size;
	r->oq_refill += pkt->n_bufs;
	r->oq_pending--;
	refill(d, k);
	return 1;
}

int
raw_recv_frame(struct raw *d, struct raw_pkt *pkt, uint64_t wait_ns)
{
	for (uint64_t ns = 0;; ns += STEP_NS) {
		for (unsigned int k = 0; k < d->n_rings; k++) {
			while (raw_recv(d, k, pkt) > 0) {
				if (pkt->rh >> 60 == 1 && (pkt->rh >> 52 & 0xFF) == 2)
					return (int)k;
			}
		}
		if (ns >= wait_ns)
			return -1;
		raw_wait_ns(d, STEP_NS);
	}
}

bool
raw_recv_notice(struct raw *d, unsigned int subcode, struct raw_pkt *pkt, uint64_t wait_ns)
{
	for (uint64_t ns = 0;; ns += STEP_NS) {
		while (raw_recv(d, 0, pkt) > 0) {
			if (pkt->rh >> 60 == 1 && (pkt->rh >> 52 & 0xFF) == subcode)
				return true;
		}
		if (ns >= wait_ns)
			return false;
		raw_wait_ns(d, STEP_NS);
	}
}
