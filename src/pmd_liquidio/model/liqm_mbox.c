/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: the inner PF's end of a VF's mailbox.
 *
 * On a card without PF functions the PF driver is part of the model: it answers VF_ACTIVE,
 * carries out VF_FLR_REQUEST, and can send messages of its own (liqm_vf_message).  Words pass
 * one at a time through SIG0 (to the VF) and SIG1 (from it): the reader acknowledges in the
 * same register.  A VF that never acknowledges is given up after one second per word.
 *
 * With a PF function its driver does all this through the registers, and of this file only
 * liqm_mbox_raise() is used.
 */
#include "liqm_priv.h"

#include <errno.h>
#include <string.h>

#define PF_VERSION                                                                                 \
	(liq_put(LIQ_VERSION_MAJOR, 1) | liq_put(LIQ_VERSION_MINOR, 7) |                           \
	 liq_put(LIQ_VERSION_MICRO, 2))

static struct liqm_ring *
ring0(struct liqm_fn *fn)
{
	return &fn->port->ring[liqm_fn_first_ring(fn) % LIQ_PF_MAX_RINGS];
}

void
liqm_mbox_power_on(struct liqm_fn *fn)
{
	memset(&fn->mbox, 0, sizeof(fn->mbox));
}

/* The VF's side hears of a word in SIG0. */
void
liqm_mbox_raise(struct liqm_fn *fn)
{
	struct liqm_ring *r = ring0(fn);

	r->mbox_int |= LIQ_MBOX_INT_PEND;
	r->told &= ~(unsigned int)LIQM_CAUSE_MBOX;
}

/* Queues a message for the VF; words go out in liqm_mbox_run(). */
static void
start_send(struct liqm_fn *fn, const uint64_t *words, unsigned int n, uint64_t at_ns, bool is_reply)
{
	struct liqm_mbox *m = &fn->mbox;

	memcpy(m->tx, words, n * sizeof(*words));
	m->n_tx = n;
	m->tx_at = 0;
	m->tx_start_ns = at_ns;
	m->tx_deadline_ns = at_ns + LIQM_MBOX_WORD_NS;
	m->tx_is_reply = is_reply;
}

static void
end_send(struct liqm_fn *fn)
{
	if (fn->mbox.tx_is_reply)
		ring0(fn)->sig[1] = LIQ_MBOX_SIG;
	fn->mbox.n_tx = 0;
}

static void
answer_vf_active(struct liqm_fn *fn)
{
	const struct liqm_card_cfg *cfg = &fn->card->cfg;
	uint64_t at_ns = fn->card->now_ns + cfg->mbox_delay_ns;
	uint64_t late_ns = 0;
	uint64_t words[2];
	uint64_t hs = liq_put(LIQ_HS_PKIND, cfg->pkind) |
		      liq_put(LIQ_HS_CORE_MHZ, cfg->coproc_mhz) |
		      liq_put(LIQ_HS_COPROC_MHZ, cfg->coproc_mhz) |
		      liq_put(LIQ_HS_APP_MODE, LIQ_APP_MODE_NIC);

	words[0] = liq_put(LIQ_MBOX_TYPE, 1) | liq_put(LIQ_MBOX_RESP_NEEDED, 1) |
		   liq_put(LIQ_MBOX_CMD, LIQ_MBOX_VF_ACTIVE) | liq_put(LIQ_MBOX_LEN, 2) |
		   liq_put(LIQ_MBOX_PARAMS, hs);
	words[1] = PF_VERSION;
	if (liqm_fault(fn, LIQM_FAULT_MBOX_LATE, 0, &late_ns))
		at_ns += late_ns;
	start_send(fn, words, 2, at_ns, true);
}

static void
got_message(struct liqm_fn *fn)
{
	struct liqm_mbox *m = &fn->mbox;
	uint64_t head = m->rx[0];
	bool is_response = liq_get(head, LIQ_MBOX_TYPE);
	unsigned int cmd = (unsigned int)liq_get(head, LIQ_MBOX_CMD);

	fn->n[LIQM_N_mbox_msgs]++;
	ring0(fn)->sig[1] = LIQ_MBOX_SIG;
	if (is_response) {
		memcpy(m->reply, m->rx, m->n_rx * sizeof(m->rx[0]));
		m->n_reply = m->n_rx;
		m->reply_awaited = false;
	} else if (liqm_fault(fn, LIQM_FAULT_MBOX_LOST, 0, NULL)) {
		liqm_log(fn->card, LIQM_LOG_DEBUG, "vf%u: message lost", fn->vf_num);
	} else if (cmd == LIQ_MBOX_VF_ACTIVE && liq_get(head, LIQ_MBOX_RESP_NEEDED)) {
		/* SIG1 stays acknowledged until the answer is out */
		ring0(fn)->sig[1] = LIQ_MBOX_ACK;
		answer_vf_active(fn);
	} else if (cmd == LIQ_MBOX_VF_FLR) {
		/* the PF driver saves and restores config space around it */
		fn->n[LIQM_N_flr]++;
		liqm_engine_reset(fn);
	} else {
		fn->n[LIQM_N_mbox_errors]++;
	}
	m->n_rx = 0;
}

/* A header that nobody waits for: say so, and return to idle a little later. */
static void
refuse(struct liqm_fn *fn)
{
	fn->n[LIQM_N_mbox_errors]++;
	fn->mbox.n_rx = 0;
	fn->mbox.err_until_ns = fn->card->now_ns + LIQM_ERR_PAUSE_NS;
	ring0(fn)->sig[1] = LIQ_MBOX_ERR;
}

static bool
header_good(const struct liqm_mbox *m, uint64_t head)
{
	uint64_t len = liq_get(head, LIQ_MBOX_LEN);

	if (len < 1 || len > LIQ_MBOX_MAX_WORDS)
		return false;
	if (liq_get(head, LIQ_MBOX_TYPE))
		return m->reply_awaited;
	return !(m->n_tx != 0 && m->tx_is_reply); /* one request at a time */
}

/* The VF wrote SIG1. */
void
liqm_mbox_from_vf(struct liqm_fn *fn)
{
	struct liqm_mbox *m = &fn->mbox;
	uint64_t word = ring0(fn)->sig[1];

	if (word == LIQ_MBOX_SIG || word == LIQ_MBOX_ACK || m->err_until_ns != 0)
		return;
	if (liqm_fault(fn, LIQM_FAULT_MBOX_NOACK, 0, NULL))
		return;
	if (liqm_fault(fn, LIQM_FAULT_MBOX_ERR, 0, NULL) ||
	    (m->n_rx == 0 && !header_good(m, word))) {
		refuse(fn);
		return;
	}
	m->rx[m->n_rx++] = word;
	m->rx_deadline_ns = fn->card->now_ns + LIQM_MBOX_WORD_NS;
	if (m->n_rx >= liq_get(m->rx[0], LIQ_MBOX_LEN))
		got_message(fn);
	else
		ring0(fn)->sig[1] = LIQ_MBOX_ACK;
}

/* The register says that the next word may go. */
static bool
vf_ready(const struct liqm_fn *fn)
{
	const struct liqm_mbox *m = &fn->mbox;
	const struct liqm_ring *r = &fn->port->ring[liqm_fn_first_ring(fn) % LIQ_PF_MAX_RINGS];

	return r->sig[0] == (m->tx_at == 0 ? LIQ_MBOX_SIG : LIQ_MBOX_ACK);
}

static void
run_send(struct liqm_fn *fn)
{
	struct liqm_mbox *m = &fn->mbox;
	struct liqm_ring *r = ring0(fn);
	uint64_t now = fn->card->now_ns;

	if (m->n_tx == 0 || now < m->tx_start_ns)
		return;
	if (!vf_ready(fn)) {
		if (now < m->tx_deadline_ns)
			return;
		fn->n[LIQM_N_mbox_errors]++;
		liqm_log(fn->card, LIQM_LOG_INFO, "vf%u: does not take mailbox word %u", fn->vf_num,
			 m->tx_at);
		m->reply_awaited = false;
		end_send(fn);
		return;
	}
	r->sig[0] = m->tx[m->tx_at++];
	m->tx_deadline_ns = now + LIQM_MBOX_WORD_NS;
	fn->n[LIQM_N_mbox_words]++;
	liqm_mbox_raise(fn);
	if (m->tx_at == m->n_tx)
		end_send(fn);
}

void
liqm_mbox_run(struct liqm_fn *fn)
{
	struct liqm_mbox *m = &fn->mbox;
	uint64_t now = fn->card->now_ns;

	if (m->err_until_ns != 0 && now >= m->err_until_ns) {
		m->err_until_ns = 0;
		ring0(fn)->sig[1] = LIQ_MBOX_SIG;
	}
	if (m->n_rx != 0 && now >= m->rx_deadline_ns) {
		fn->n[LIQM_N_mbox_errors]++;
		m->n_rx = 0;
		ring0(fn)->sig[1] = LIQ_MBOX_SIG;
	}
	run_send(fn);
}

uint64_t
liqm_mbox_next_ns(const struct liqm_fn *fn)
{
	const struct liqm_mbox *m = &fn->mbox;
	uint64_t at = LIQM_NEVER;

	if (m->err_until_ns != 0)
		at = m->err_until_ns;
	if (m->n_rx != 0 && m->rx_deadline_ns < at)
		at = m->rx_deadline_ns;
	if (m->n_tx != 0) {
		uint64_t due = fn->card->now_ns < m->tx_start_ns || vf_ready(fn)
				       ? m->tx_start_ns
				       : m->tx_deadline_ns;

		at = due < at ? due : at;
	}
	return at;
}

int
liqm_vf_message(struct liqm_fn *vf, const uint64_t *words, unsigned int n_words)
{
	int ret = 0;

	if (vf->vf_num == 0 || n_words == 0 || n_words > LIQ_MBOX_MAX_WORDS)
		return -EINVAL;
	liqm_lock(vf->card);
	if (vf->port->pf) {
		ret = -EINVAL;
	} else if (vf->mbox.n_tx != 0) {
		ret = -EBUSY;
	} else {
		vf->mbox.reply_awaited = liq_get(words[0], LIQ_MBOX_RESP_NEEDED);
		vf->mbox.n_reply = 0;
		start_send(vf, words, n_words, vf->card->now_ns, false);
		liqm_run(vf->card);
	}
	liqm_unlock(vf->card);
	return ret;
}

unsigned int
liqm_vf_reply(struct liqm_fn *vf, uint64_t *words, unsigned int max_words)
{
	unsigned int n;

	liqm_lock(vf->card);
	n = vf->mbox.n_reply;
	memcpy(words, vf->mbox.reply, (n < max_words ? n : max_words) * sizeof(*words));
	liqm_unlock(vf->card);
	return n;
}
