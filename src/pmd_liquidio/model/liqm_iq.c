/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: input queues.
 *
 * Fetches what the doorbell announced, entry by entry: the instruction, the gather list, exactly
 * dlengsz pointers or bytes of data, all through checked DMA.  Then the firmware part does its
 * work, IN_DONE goes up, and last the response is written, its status word after everything
 * else.  An instruction that makes no sense is counted and completed, so that the ring moves on.
 *
 * Called from liqm_run() for every ring that is enabled.
 */
#include "liqm_priv.h"

#include <stdlib.h>
#include <string.h>

#define BUDGET 4096 /* instructions per ring and turn, whatever the driver announces */

/* Bytes of every whole word in reverse, as the card's endian swap does. */
void
liqm_swap_words(uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 8) {
		uint64_t word;

		memcpy(&word, bytes + i, 8);
		word = __builtin_bswap64(word);
		memcpy(bytes + i, &word, 8);
	}
}

static bool
read_segment(const struct liqm_request *req, uint8_t *dst, uint64_t iova, uint32_t len)
{
	const uint64_t swap = LIQ_IN_CTL_USE_CSR | LIQ_IN_CTL_DATA_ES;

	if (len == 0)
		return true;
	if (!liqm_dma_read(req->fn, iova, dst, len))
		return false;
	/* Drivers of little-endian hosts ask for the swap and see bytes in memory order. */
	if ((req->fn->port->ring[req->q].in_ctl & swap) != swap)
		liqm_swap_words(dst, len);
	return true;
}

static uint32_t
limit_bytes(const struct liqm_request *req)
{
	uint64_t jabber = req->fn->port->greg[LIQM_GREG_IN_JABBER][0];

	return jabber < LIQ_OQ_PKT_MAX ? (uint32_t)jabber : LIQ_OQ_PKT_MAX;
}

static bool
read_gather(struct liqm_request *req, uint8_t *buf, uint32_t n_ptrs)
{
	struct liq_gather entry;

	for (uint32_t i = 0; i < n_ptrs; i++) {
		uint32_t left = n_ptrs - i;
		uint32_t len;

		/* nothing beyond the announced slots is looked at: what is there may be stale */
		if (i % 4 == 0 && !liqm_dma_read(req->fn, req->instr.dptr + i / 4 * sizeof(entry),
						 &entry, 8 + 8 * (left < 4 ? left : 4)))
			return false;
		len = (uint32_t)liq_get(entry.sizes, LIQ_GATHER_SIZE(i % 4));
		if (req->len + len > limit_bytes(req)) {
			req->fn->n[LIQM_N_instr_too_long]++;
			return false;
		}
		if (!read_segment(req, buf + req->len, entry.ptr[i % 4], len))
			return false;
		req->len += len;
	}
	return true;
}

static bool
read_data(struct liqm_request *req, uint8_t *buf)
{
	uint32_t dlengsz = (uint32_t)liq_get(req->instr.ih3, LIQ_IH3_DLENGSZ);

	req->data = buf;
	req->len = 0;
	if (req->instr.ih3 & LIQ_IH3_GATHER)
		return read_gather(req, buf, dlengsz);
	if (dlengsz > limit_bytes(req)) {
		req->fn->n[LIQM_N_instr_too_long]++;
		return false;
	}
	if (!read_segment(req, buf, req->instr.dptr, dlengsz))
		return false;
	req->len = dlengsz;
	return true;
}

/* Header sizes that go with the flags; a response needs the long form. */
static bool
header_good(const struct liqm_request *req, uint32_t entry_bytes)
{
	uint64_t fsz = liq_get(req->instr.ih3, LIQ_IH3_FSZ);

	if (entry_bytes == LIQ_INSTR_32B)
		return !(req->instr.irh & LIQ_IRH_RFLAG);
	if (req->instr.irh & LIQ_IRH_RFLAG)
		return fsz == LIQ_FSZ_RESP;
	return fsz == LIQ_FSZ_PLAIN || fsz == LIQ_FSZ_RESP;
}

static void
respond(const struct liqm_request *req, uint32_t status, uint32_t rlen)
{
	struct liqm_fn *fn = req->fn;
	struct liqm_card *card = fn->card;
	int ring = (int)(req->q - liqm_fn_first_ring(fn));
	uint64_t arg = 0;
	struct liqm_event ev = {
		.at_ns = card->now_ns + card->cfg.fw_delay_ns,
		.kind = LIQM_EV_RESPONSE,
		.fn = fn,
		.q = req->q,
		.iova = req->instr.rptr,
		.len = rlen,
	};

	if (liqm_fault(fn, LIQM_FAULT_RESP_LOST, ring, NULL))
		return;
	if (liqm_fault(fn, LIQM_FAULT_RESP_STATUS, ring, &arg))
		status = arg ? (uint32_t)arg : LIQM_STATUS_INVALID;
	if (liqm_fault(fn, LIQM_FAULT_RESP_LATE, ring, &arg))
		ev.at_ns += arg;
	if (liqm_fault(fn, LIQM_FAULT_RESP_SHORT, ring, &arg))
		ev.n_short = arg < UINT32_MAX ? (uint32_t)arg : UINT32_MAX;
	ev.data = malloc(rlen);
	if (!ev.data) {
		liqm_log(card, LIQM_LOG_ERR, "%s: no memory for a response", card->name);
		return;
	}
	memcpy(ev.data, card->resp, rlen);
	liq_be64_store(ev.data + rlen - LIQ_RESP_STATUS_LEN, status);
	liqm_event_add(card, &ev);
}

/* All reads are done: the driver may have its buffers back. */
static void
complete(struct liqm_fn *fn, struct liqm_ring *r, int ring)
{
	uint64_t lie = 0;

	r->in_done++;
	if (liqm_fault(fn, LIQM_FAULT_DONE_LIE, ring, &lie))
		r->in_done += (uint32_t)lie;
	fn->n[LIQM_N_instrs]++;
}

static void
execute(struct liqm_request *req, struct liqm_ring *r, bool readable)
{
	struct liqm_fn *fn = req->fn;
	struct liqm_card *card = fn->card;
	int ring = (int)(req->q - liqm_fn_first_ring(fn));
	bool wants = req->instr.irh & LIQ_IRH_RFLAG;
	uint32_t rlen = wants ? (uint32_t)liq_get(req->instr.rdp, LIQ_RDP_RLEN) : 0;
	uint32_t status = LIQM_STATUS_INVALID;

	memset(card->resp, 0, rlen);
	if (liq_get(req->instr.ih3, LIQ_IH3_PKIND) != card->cfg.pkind)
		fn->n[LIQM_N_instr_pkind]++;
	if (readable)
		status = liqm_fw_request(req, card->resp, rlen);
	if (status != LIQ_STATUS_OK)
		fn->n[wants ? LIQM_N_cmd_refused : LIQM_N_cmd_lost]++;
	if (wants && rlen < LIQ_RESP_MIN) {
		fn->n[LIQM_N_resp_bad]++;
		wants = false;
	}
	if (wants && liqm_fault(fn, LIQM_FAULT_RESP_FIRST, ring, NULL)) {
		respond(req, status, rlen);
		wants = false;
	}
	complete(fn, r, ring);
	if (wants)
		respond(req, status, rlen);
}

static void
fetch_one(struct liqm_fn *fn, unsigned int q)
{
	struct liqm_ring *r = &fn->port->ring[q];
	uint32_t bytes = r->in_ctl & LIQ_IN_CTL_IS_64B ? sizeof(struct liq_instr) : LIQ_INSTR_32B;
	struct liqm_request req = {.fn = fn, .q = q};
	uint64_t at = r->in_base + (uint64_t)r->in_next * bytes;

	r->in_pending--;
	r->in_next = r->in_next + 1 < r->in_size ? r->in_next + 1 : 0;
	if (!liqm_dma_read(fn, at, &req.instr, bytes)) {
		complete(fn, r, (int)(q - liqm_fn_first_ring(fn)));
		return;
	}
	if (!header_good(&req, bytes)) {
		fn->n[LIQM_N_instr_bad]++;
		req.instr.irh &= ~LIQ_IRH_RFLAG;
		complete(fn, r, (int)(q - liqm_fn_first_ring(fn)));
		return;
	}
	execute(&req, r, read_data(&req, fn->card->in_data));
}

/* False: the queue pauses, by a fault or by the wire's rate. */
static bool
may_fetch(struct liqm_fn *fn, struct liqm_ring *r, int ring)
{
	uint64_t now = fn->card->now_ns, pause_ns = 0;

	if (r->in_stuck || now < r->in_paused_until_ns || liqm_wire_busy(fn->port))
		return false;
	if (r->in_paused_until_ns != 0) {
		r->in_paused_until_ns = 0; /* has had its pause */
		return true;
	}
	if (liqm_fault(fn, LIQM_FAULT_FETCH_STUCK, ring, NULL)) {
		r->in_stuck = true;
		return false;
	}
	if (liqm_fault(fn, LIQM_FAULT_FETCH_LATE, ring, &pause_ns)) {
		r->in_paused_until_ns = now + pause_ns;
		return pause_ns == 0;
	}
	return true;
}

static void
flap(struct liqm_fn *fn)
{
	uint64_t ns = 0;

	if (!liqm_fault(fn, LIQM_FAULT_LINK_FLAP, LIQM_ANY, &ns))
		return;
	fn->port->flap_until_ns = fn->card->now_ns + ns + 1;
	liqm_fw_link_changed(fn->port);
}

void
liqm_iq_run(struct liqm_port *port, unsigned int q)
{
	struct liqm_ring *r = &port->ring[q];
	unsigned int index;
	struct liqm_fn *fn = liqm_ring_owner(port, q, &index);

	if (!fn || r->in_pending == 0 || !liqm_fw_running(port->card))
		return;
	for (unsigned int i = 0; i < BUDGET && r->in_pending != 0; i++) {
		/* a command may reset the ring under our feet */
		if (!(r->in_ctl & LIQ_IN_CTL_ENB))
			return;
		if (r->in_size == 0 || r->in_base == 0) {
			fn->n[LIQM_N_ring_bad]++;
			r->in_pending = 0;
			return;
		}
		if (!may_fetch(fn, r, (int)index))
			return;
		fetch_one(fn, q);
		flap(fn);
	}
}
