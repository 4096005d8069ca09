/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: rings, their owners and their registers.
 *
 * A port has 64 rings.  The PF sees all of them; RINFO deals the first NVFS * RPVF out to the
 * VFs, and VF i sees its share as ring 0, 1, ...  Registers answer as hw/liq_regs.h says:
 * additive doorbells and credits, subtract-on-write counts, bits that only a reset clears.
 *
 * Called from liqm_reg.c for each access.  No work is done here: a doorbell only counts up
 * in_pending, liqm_run() fetches.
 */
#include "liqm_priv.h"

#include <string.h>

/* Bits that software sets and only a reset clears. */
#define IN_CTL_STICKY LIQ_IN_CTL_ENB
/* What the PF alone may write; RPVF follows from RINFO. */
#define IN_CTL_PF_ONLY                                                                             \
	(liq_mask(LIQ_IN_CTL_MAC_NUM) | liq_mask(LIQ_IN_CTL_VF_NUM) | liq_mask(LIQ_IN_CTL_PF_NUM))
#define IN_CTL_RO    (LIQ_IN_CTL_QUIET | liq_mask(LIQ_IN_CTL_RPVF) | UINT64_C(0xFFC0000000000000))
#define OUT_CTL_BITS 0x3BEFu

static uint64_t
rinfo(const struct liqm_port *port)
{
	return port->greg[LIQM_GREG_RINFO][port->index];
}

/* Rings of the VFs, which come first. */
static unsigned int
n_vf_rings(const struct liqm_port *port)
{
	unsigned int n = (unsigned int)(liq_get(rinfo(port), LIQ_RINFO_RPVF) *
					liq_get(rinfo(port), LIQ_RINFO_NVFS));

	return n < LIQ_PF_MAX_RINGS ? n : LIQ_PF_MAX_RINGS;
}

struct liqm_fn *
liqm_ring_owner(struct liqm_port *port, unsigned int q, unsigned int *index)
{
	unsigned int rpvf = (unsigned int)liq_get(rinfo(port), LIQ_RINFO_RPVF);
	unsigned int first = n_vf_rings(port);

	if (q < first) {
		unsigned int v = q / rpvf;

		*index = q % rpvf;
		return v < port->n_vf ? port->vf[v] : NULL;
	}
	*index = q - first;
	return port->pf;
}

/* Number, on the port, of the function's own ring 0. */
unsigned int
liqm_fn_first_ring(const struct liqm_fn *fn)
{
	unsigned int first = n_vf_rings(fn->port);

	if (fn->vf_num != 0)
		first = (unsigned int)liq_get(rinfo(fn->port), LIQ_RINFO_RPVF) * (fn->vf_num - 1);
	return first < LIQ_PF_MAX_RINGS ? first : LIQ_PF_MAX_RINGS;
}

unsigned int
liqm_fn_n_rings(const struct liqm_fn *fn)
{
	unsigned int first = liqm_fn_first_ring(fn), n;

	if (fn->vf_num == 0) {
		n = (unsigned int)liq_get(rinfo(fn->port), LIQ_RINFO_TRS);
		n = n < LIQ_PF_MAX_RINGS ? n : LIQ_PF_MAX_RINGS;
		return n > first ? n - first : 0;
	}
	if (fn->vf_num > liq_get(rinfo(fn->port), LIQ_RINFO_NVFS))
		return 0;
	n = (unsigned int)liq_get(rinfo(fn->port), LIQ_RINFO_RPVF);
	n = n < LIQ_VF_MAX_RINGS ? n : LIQ_VF_MAX_RINGS;
	return first + n <= LIQ_PF_MAX_RINGS ? n : LIQ_PF_MAX_RINGS - first;
}

void
liqm_ring_live(struct liqm_port *port, unsigned int q)
{
	const struct liqm_ring *r = &port->ring[q];

	if ((r->in_ctl & LIQ_IN_CTL_ENB) || (r->out_ctl & LIQ_OUT_CTL_ENB))
		port->live |= UINT64_C(1) << q;
	else
		port->live &= ~(UINT64_C(1) << q);
}

/*
 * RST: both directions stop and forget where they were.  Addresses, sizes and mode bits stay,
 * as they may on the card: a driver that relies on fresh mode bits is to be found out.
 */
void
liqm_ring_reset(struct liqm_port *port, unsigned int q)
{
	struct liqm_ring *r = &port->ring[q];
	unsigned int index;
	struct liqm_fn *fn = liqm_ring_owner(port, q, &index);

	r->in_ctl &= ~LIQ_IN_CTL_ENB;
	r->in_pending = 0;
	r->in_next = 0;
	r->in_done = 0;
	r->in_paused_until_ns = 0;
	r->in_stuck = false;
	r->out_ctl &= ~LIQ_OUT_CTL_ENB;
	r->out_credits = 0;
	r->out_next = 0;
	r->cnts = 0;
	r->cnts_since_ns = LIQM_NEVER;
	r->out_starved = false;
	r->told &= LIQM_CAUSE_MBOX;
	r->err_info = 0;
	liqm_ring_live(port, q);
	if (fn) {
		liqm_events_drop(port->card, fn, (int)q);
		fn->n[LIQM_N_ring_resets]++;
	}
}

/*
 * As after power-on or FLR.  OUTPUT_CONTROL keeps its mode bits over an FLR, and what the PF said
 * about a VF's ring stays: only the PF's own reset ends it.
 */
void
liqm_ring_power_on(struct liqm_port *port, unsigned int q)
{
	struct liqm_ring *r = &port->ring[q];
	uint32_t out_ctl = r->out_ctl & ~LIQ_OUT_CTL_ENB;
	uint64_t numbers = r->in_ctl & IN_CTL_PF_ONLY;
	unsigned int index;
	struct liqm_fn *fn = liqm_ring_owner(port, q, &index);

	memset(r, 0, sizeof(*r));
	r->cnts_since_ns = LIQM_NEVER;
	r->out_ctl = out_ctl;
	r->sig[0] = r->sig[1] = LIQ_MBOX_SIG;
	if (fn && fn->vf_num != 0) {
		r->in_ctl = port->pf ? numbers
				     : liq_put(LIQ_IN_CTL_VF_NUM, fn->vf_num) |
					       liq_put(LIQ_IN_CTL_PF_NUM, port->index);
	}
	liqm_ring_live(port, q);
}

uint64_t
liqm_ring_read(struct liqm_fn *fn, unsigned int q, uint32_t off, bool *known)
{
	struct liqm_port *port = fn->port;
	const struct liqm_ring *r = &port->ring[q];
	unsigned int causes;

	*known = true;
	switch (off) {
	case LIQ_REG_IN_CTL:
		return (r->in_ctl & ~liq_mask(LIQ_IN_CTL_RPVF)) |
		       liq_put(LIQ_IN_CTL_RPVF, liq_get(rinfo(port), LIQ_RINFO_RPVF));
	case LIQ_REG_IN_BASE:
		return r->in_base;
	case LIQ_REG_IN_DBELL:
		return r->in_pending;
	case LIQ_REG_IN_SIZE:
		return r->in_size;
	case LIQ_REG_IN_DONE:
		causes = liqm_irq_causes(port, q);
		return r->in_done | r->in_done_cfg | (causes & LIQM_CAUSE_PI ? LIQ_CNTS_PI_INT : 0);
	case LIQ_REG_OUT_CTL:
		return r->out_ctl;
	case LIQ_REG_OUT_BUF:
		return r->out_buf;
	case LIQ_REG_OUT_BASE:
		return r->out_base;
	case LIQ_REG_OUT_CRED:
		return r->out_credits;
	case LIQ_REG_OUT_SIZE:
		return r->out_size;
	case LIQ_REG_INT_LEV:
		return r->int_lev;
	case LIQ_REG_CNTS:
		causes = liqm_irq_causes(port, q);
		return r->cnts | (causes & LIQM_CAUSE_PO ? LIQ_CNTS_PO_INT : 0) |
		       (causes & LIQM_CAUSE_PI ? LIQ_CNTS_PI_INT : 0) |
		       (causes & LIQM_CAUSE_MBOX ? LIQ_CNTS_MBOX_INT : 0);
	case LIQ_REG_ERR_INFO:
		return r->err_info;
	case LIQ_REG_VF_INTSUM:
		return 0;
	case LIQ_REG_SIG0:
		return r->sig[0];
	case LIQ_REG_SIG1:
		return r->sig[1];
	case LIQ_REG_MBOX_INT:
		return r->mbox_int;
	default:
		*known = false;
		return 0;
	}
}

static void
write_in_ctl(struct liqm_fn *fn, unsigned int q, uint64_t value)
{
	struct liqm_ring *r = &fn->port->ring[q];
	uint64_t keep = IN_CTL_RO | (fn->vf_num != 0 ? IN_CTL_PF_ONLY : 0);
	uint64_t old = r->in_ctl;
	uint64_t new = (value & ~keep) | (old & keep) | (old & IN_CTL_STICKY);

	if (value & LIQ_IN_CTL_RST) {
		new &= ~LIQ_IN_CTL_ENB;
		if (!(old & LIQ_IN_CTL_RST)) {
			liqm_ring_reset(fn->port, q);
			r->rst_stuck = liqm_fault(fn, LIQM_FAULT_RST_STUCK,
						  (int)(q - liqm_fn_first_ring(fn)), NULL);
		}
		if (!r->rst_stuck)
			new |= LIQ_IN_CTL_QUIET;
	} else if ((old & LIQ_IN_CTL_RST) && r->rst_stuck) {
		new = (new | LIQ_IN_CTL_RST) & ~LIQ_IN_CTL_ENB;
	} else {
		new &= ~LIQ_IN_CTL_QUIET;
	}
	r->in_ctl = new;
	liqm_ring_live(fn->port, q);
}

static void
write_out_ctl(struct liqm_fn *fn, unsigned int q, uint32_t value)
{
	struct liqm_port *port = fn->port;
	struct liqm_ring *r = &port->ring[q];
	bool was_on = r->out_ctl & LIQ_OUT_CTL_ENB;

	r->out_ctl = (value & OUT_CTL_BITS) | (was_on ? LIQ_OUT_CTL_ENB : 0);
	if (r->in_ctl & LIQ_IN_CTL_RST)
		r->out_ctl &= ~LIQ_OUT_CTL_ENB;
	if (!was_on && (r->out_ctl & LIQ_OUT_CTL_ENB) && port->pf && !port->pf->nif.configured &&
	    q == liqm_fn_first_ring(port->pf))
		port->core_active_due = true;
	liqm_ring_live(port, q);
}

static void
write_doorbell(struct liqm_fn *fn, struct liqm_ring *r, uint32_t value)
{
	if (value == LIQ_DBELL_CLEAR) {
		r->in_pending = 0;
		return;
	}
	if (!(r->in_ctl & LIQ_IN_CTL_ENB) && value != 0)
		fn->n[LIQM_N_dbell_disabled]++;
	if (value > UINT32_MAX - r->in_pending || r->in_pending + value > r->in_size) {
		fn->n[LIQM_N_dbell_overrun]++;
		r->in_pending = r->in_size;
		return;
	}
	r->in_pending += value;
}

static void
write_credits(struct liqm_fn *fn, unsigned int q, uint32_t value)
{
	struct liqm_ring *r = &fn->port->ring[q];

	if (value == LIQ_DBELL_CLEAR) {
		r->out_credits = 0;
		return;
	}
	if (value != 0 &&
	    liqm_fault(fn, LIQM_FAULT_CREDIT_STARVE, (int)(q - liqm_fn_first_ring(fn)), NULL))
		return;
	if (value != 0)
		r->out_starved = false;
	if (value > UINT32_MAX - r->out_credits || r->out_credits + value > r->out_size) {
		fn->n[LIQM_N_cred_overrun]++;
		r->out_credits = r->out_size;
		return;
	}
	r->out_credits += value;
}

static uint64_t
merge(uint64_t old, uint64_t value, unsigned int halves)
{
	uint64_t mask = (halves & LIQM_LOW ? UINT64_C(0xFFFFFFFF) : 0) |
			(halves & LIQM_HIGH ? UINT64_C(0xFFFFFFFF00000000) : 0);

	return (old & ~mask) | (value & mask);
}

static void
write_in_done(struct liqm_ring *r, uint64_t value, unsigned int halves)
{
	if (halves & LIQM_LOW)
		r->in_done -= (uint32_t)value;
	if (halves & LIQM_HIGH)
		r->in_done_cfg = value & (liq_mask(LIQ_IN_DONE_WMARK) | LIQ_IN_DONE_CINT_ENB);
}

static void
write_cnts(const struct liqm_card *card, struct liqm_ring *r, uint64_t value, unsigned int halves)
{
	if (!(halves & LIQM_LOW) || (uint32_t)value == 0)
		return;
	r->cnts -= (uint32_t)value;
	r->cnts_since_ns = r->cnts == 0 ? LIQM_NEVER : card->now_ns;
}

/* What is left over after a count was written back can be told anew. */
static void
rearm(struct liqm_ring *r, uint64_t value, unsigned int halves, unsigned int causes)
{
	r->told &= causes;
	if ((halves & LIQM_HIGH) && (value & LIQ_CNTS_RESEND))
		r->told = 0;
}

static void
write_sig(struct liqm_fn *fn, unsigned int q, unsigned int which, uint64_t value,
	  unsigned int halves)
{
	struct liqm_port *port = fn->port;
	struct liqm_ring *r = &port->ring[q];
	unsigned int index;
	struct liqm_fn *owner = liqm_ring_owner(port, q, &index);

	r->sig[which] = merge(r->sig[which], value, halves);
	fn->n[LIQM_N_mbox_words]++;
	if (!owner || owner->vf_num == 0 || index != 0)
		return;
	if (fn->vf_num == 0 && which == 0) {
		liqm_mbox_raise(owner);
	} else if (fn->vf_num != 0 && which == 1) {
		if (port->pf) {
			port->greg[LIQM_GREG_PF_MBOX_INT][port->index] |= UINT64_C(1) << q;
			liqm_irq_sum(port, LIQ_INT_VF_MBOX);
		} else {
			liqm_mbox_from_vf(fn);
		}
	}
}

void
liqm_ring_write(struct liqm_fn *fn, unsigned int q, uint32_t off, uint64_t value,
		unsigned int halves)
{
	struct liqm_port *port = fn->port;
	struct liqm_ring *r = &port->ring[q];
	bool low = halves & LIQM_LOW;

	switch (off) {
	case LIQ_REG_IN_CTL:
		write_in_ctl(fn, q, merge(r->in_ctl, value, halves));
		break;
	case LIQ_REG_IN_BASE:
		r->in_base = merge(r->in_base, value, halves);
		break;
	case LIQ_REG_IN_DBELL:
		if (low)
			write_doorbell(fn, r, (uint32_t)value);
		break;
	case LIQ_REG_IN_SIZE:
		r->in_size = low ? (uint32_t)value : r->in_size;
		break;
	case LIQ_REG_IN_DONE:
		write_in_done(r, value, halves);
		rearm(r, value, halves, liqm_irq_causes(port, q));
		break;
	case LIQ_REG_OUT_CTL:
		if (low)
			write_out_ctl(fn, q, (uint32_t)value);
		break;
	case LIQ_REG_OUT_BUF:
		r->out_buf = low ? (uint32_t)value & 0x7FFFFF : r->out_buf;
		break;
	case LIQ_REG_OUT_BASE:
		r->out_base = merge(r->out_base, value, halves);
		break;
	case LIQ_REG_OUT_CRED:
		if (low)
			write_credits(fn, q, (uint32_t)value);
		break;
	case LIQ_REG_OUT_SIZE:
		r->out_size = low ? (uint32_t)value : r->out_size;
		break;
	case LIQ_REG_INT_LEV:
		r->int_lev = merge(r->int_lev, value, halves) & LIQ_INT_LEV_OFF;
		rearm(r, 0, 0, liqm_irq_causes(port, q));
		break;
	case LIQ_REG_CNTS:
		write_cnts(fn->card, r, value, halves);
		rearm(r, value, halves, liqm_irq_causes(port, q));
		break;
	case LIQ_REG_SIG0:
		write_sig(fn, q, 0, value, halves);
		break;
	case LIQ_REG_SIG1:
		write_sig(fn, q, 1, value, halves);
		break;
	case LIQ_REG_MBOX_INT:
		if (!low)
			break;
		r->mbox_int &= ~(value & LIQ_MBOX_INT_PEND);
		r->mbox_int = (r->mbox_int & LIQ_MBOX_INT_PEND) | (value & LIQ_MBOX_INT_ENB);
		rearm(r, 0, 0, liqm_irq_causes(port, q));
		break;
	default:
		fn->n[LIQM_N_reg_ro_write]++;
		break;
	}
}
