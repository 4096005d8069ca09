/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: output queues.
 *
 * liqm_oq_put() places one packet, receive header and all, into as many of the driver's buffers as
 * it takes: in buffer-pointer mode behind its length, in info-pointer mode with the first ISIZE
 * bytes and the length in the info block.  Data first, then the info block, the count last.  One
 * credit is one buffer.
 *
 * Called by liqm_rx.c (frames) and liqm_fw.c (notifications).
 */
#include "liqm_priv.h"

#include <string.h>

struct packet {
	uint8_t *bytes; /* the packet: header, words, data */
	uint32_t len;
	uint64_t length_word; /* what the driver is told */
	uint32_t n_unwritten; /* at the end */
	uint32_t head;        /* bytes that go into the info block */
};

static bool
read_desc(struct liqm_fn *fn, const struct liqm_ring *r, uint32_t i, struct liq_out_desc *desc)
{
	uint64_t at = ((uint64_t)r->out_next + i) % r->out_size;

	if (!liqm_dma_read(fn, r->out_base + at * sizeof(*desc), desc, sizeof(*desc)))
		return false;
	if (r->out_ctl & LIQ_OUT_CTL_ES_P)
		liqm_swap_words((uint8_t *)desc, sizeof(*desc));
	return true;
}

static bool
write_buffers(struct liqm_fn *fn, const struct liqm_ring *r, const uint8_t *bytes, uint32_t len,
	      uint32_t bsize, uint32_t n_bufs)
{
	struct liq_out_desc desc;

	for (uint32_t i = 0; i < n_bufs; i++) {
		uint32_t n = len < bsize ? len : bsize;

		if (!read_desc(fn, r, i, &desc))
			return false;
		if (n != 0 && !liqm_dma_write(fn, desc.buf_iova, bytes, n))
			return false;
		bytes += n;
		len -= n;
	}
	return true;
}

static bool
write_info(struct liqm_fn *fn, const struct liqm_ring *r, const struct packet *pkt, uint32_t isize)
{
	uint8_t info[128 + LIQ_OUT_LEN_BYTES] = {0};
	struct liq_out_desc desc;

	memcpy(info, pkt->bytes, pkt->head);
	liq_be64_store(info + isize, pkt->length_word);
	if (!(r->out_ctl & LIQ_OUT_CTL_ES))
		liqm_swap_words(info, isize + LIQ_OUT_LEN_BYTES);
	return read_desc(fn, r, 0, &desc) &&
	       liqm_dma_write(fn, desc.info_iova, info, isize + LIQ_OUT_LEN_BYTES);
}

/* False: some address was not mapped; counted. */
static bool
write_packet(struct liqm_fn *fn, const struct liqm_ring *r, struct packet *pkt, uint32_t bsize,
	     uint32_t isize, uint32_t n_bufs)
{
	bool info_mode = r->out_ctl & LIQ_OUT_CTL_IPTR;
	uint8_t *body = info_mode ? pkt->bytes + pkt->head : pkt->bytes - LIQ_OUT_LEN_BYTES;
	uint32_t len = info_mode ? pkt->len - pkt->head : pkt->len + LIQ_OUT_LEN_BYTES;

	if (!info_mode)
		liq_be64_store(body, pkt->length_word);
	if (!(r->out_ctl & LIQ_OUT_CTL_ES)) {
		memset(body + len, 0, 8);
		liqm_swap_words(body, (len + 7u) & ~7u);
	}
	len -= pkt->n_unwritten < len ? pkt->n_unwritten : len;
	if (!write_buffers(fn, r, body, len, bsize, n_bufs))
		return false;
	return !info_mode || write_info(fn, r, pkt, isize);
}

static void
apply_lies(struct liqm_fn *fn, int ring, struct packet *pkt)
{
	uint64_t arg = 0;

	if (liqm_fault(fn, LIQM_FAULT_RX_RH_LIE, ring, &arg))
		liq_be64_store(pkt->bytes, liq_be64_load(pkt->bytes) ^ arg);
	if (liqm_fault(fn, LIQM_FAULT_RX_SHORT, ring, &arg))
		pkt->n_unwritten = arg < pkt->len ? (uint32_t)arg : pkt->len;
	if (liqm_fault(fn, LIQM_FAULT_RX_LEN_LIE, ring, &arg))
		pkt->length_word = arg;
	if (liqm_fault(fn, LIQM_FAULT_RX_ZERO, ring, NULL))
		pkt->length_word = 0;
}

void
liqm_oq_count(struct liqm_port *port, unsigned int q, uint32_t n)
{
	struct liqm_ring *r = &port->ring[q];

	if (r->cnts == 0 && n != 0)
		r->cnts_since_ns = port->card->now_ns;
	r->cnts += n;
	if (r->cnts == 0)
		r->cnts_since_ns = LIQM_NEVER;
}

/* Everything is in memory: say so, at once or later. */
static void
publish(struct liqm_fn *fn, unsigned int q, int ring, uint32_t bytes)
{
	struct liqm_port *port = fn->port;
	uint64_t late_ns = 0, lie = 0;
	uint32_t n = port->ring[q].out_ctl & LIQ_OUT_CTL_BMODE ? bytes : 1;

	if (liqm_fault(fn, LIQM_FAULT_CNTS_LIE, ring, &lie))
		n += (uint32_t)lie;
	liqm_dma_barrier();
	if (liqm_fault(fn, LIQM_FAULT_RX_LATE, ring, &late_ns)) {
		liqm_event_add(fn->card, &(struct liqm_event){
						 .at_ns = fn->card->now_ns + late_ns,
						 .kind = LIQM_EV_COUNT,
						 .fn = fn,
						 .q = q,
						 .len = n,
					 });
		return;
	}
	liqm_oq_count(port, q, n);
}

static uint32_t
build(struct packet *pkt, uint64_t rh, const uint64_t *words, const uint8_t *data, uint32_t len)
{
	uint32_t n_words = (uint32_t)liq_get(rh, LIQ_RH_LEN);
	uint32_t at = 8;

	liq_be64_store(pkt->bytes, rh);
	for (uint32_t i = 0; i < n_words; i++, at += 8)
		liq_be64_store(pkt->bytes + at, words[i]);
	memcpy(pkt->bytes + at, data, len);
	return at + len;
}

enum liqm_put
liqm_oq_put(struct liqm_port *port, unsigned int q, uint64_t rh, const uint64_t *words,
	    const uint8_t *data, uint32_t len)
{
	struct liqm_ring *r = &port->ring[q];
	uint32_t bsize = (uint32_t)liq_get(r->out_buf, LIQ_OUT_BUF_BSIZE);
	uint32_t isize = (uint32_t)liq_get(r->out_buf, LIQ_OUT_BUF_ISIZE);
	bool info_mode = r->out_ctl & LIQ_OUT_CTL_IPTR;
	struct packet pkt = {.bytes = port->card->out_pkt + LIQ_OUT_LEN_BYTES};
	uint32_t n_bufs, body;
	unsigned int index;
	struct liqm_fn *fn = liqm_ring_owner(port, q, &index);

	if (!fn || !(r->out_ctl & LIQ_OUT_CTL_ENB))
		return LIQM_PUT_OFF;
	pkt.len = build(&pkt, rh, words, data, len);
	pkt.length_word = pkt.len;
	pkt.head = pkt.len < isize ? pkt.len : isize;
	body = info_mode ? pkt.len - pkt.head : pkt.len + LIQ_OUT_LEN_BYTES;
	n_bufs = bsize == 0 ? 0 : (body + bsize - 1) / bsize;
	n_bufs = n_bufs == 0 && bsize != 0 ? 1 : n_bufs;
	if (n_bufs == 0 || n_bufs > r->out_size || r->out_base == 0) {
		fn->n[LIQM_N_ring_bad]++;
		return LIQM_PUT_ERROR;
	}
	if (r->out_credits < n_bufs)
		return LIQM_PUT_NO_CREDIT;
	if (liqm_fault(fn, LIQM_FAULT_RX_LOST, (int)index, NULL))
		return LIQM_PUT_ERROR;
	apply_lies(fn, (int)index, &pkt);
	if (!write_packet(fn, r, &pkt, bsize, isize, n_bufs))
		return LIQM_PUT_ERROR;
	r->out_credits -= n_bufs;
	r->out_next = (uint32_t)(((uint64_t)r->out_next + n_bufs) % r->out_size);
	publish(fn, q, (int)index, pkt.len);
	return LIQM_PUT_OK;
}
