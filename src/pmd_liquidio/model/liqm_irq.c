/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: interrupts and their causes.
 *
 * A ring has three causes: output packets over the count or time threshold of INT_LEVELS, input
 * count over its watermark, mailbox (VF ring 0).  Each is raised once as an MSI-X message and
 * then kept quiet until the driver writes a count back far enough that it ends, or writes
 * RESEND.  Causes are never stored: CNTS and IN_DONE show what holds at the time of the read.
 *
 * Vectors: ring i of a VF is its vector i; a PF's ring is the vector of the ring's number in
 * its BAR; the PF's auxiliary vector, number TRS, carries INT_SUM.
 */
#include "liqm_priv.h"

#define TICK_CLOCKS 1024 /* INT_LEVELS.TIME counts these */

/* When the time threshold of the waiting packets is reached; LIQM_NEVER: not by time. */
static uint64_t
out_deadline_ns(const struct liqm_port *port, const struct liqm_ring *r)
{
	uint64_t time = liq_get(r->int_lev, LIQ_INT_LEV_TIME);

	if (r->cnts == 0 || r->cnts_since_ns == LIQM_NEVER ||
	    time == liq_get(UINT64_MAX, LIQ_INT_LEV_TIME))
		return LIQM_NEVER;
	return r->cnts_since_ns + time * TICK_CLOCKS * 1000 / port->card->cfg.coproc_mhz;
}

unsigned int
liqm_irq_causes(const struct liqm_port *port, unsigned int q)
{
	const struct liqm_ring *r = &port->ring[q];
	unsigned int causes = 0;

	if (r->cnts > liq_get(r->int_lev, LIQ_INT_LEV_CNT) ||
	    out_deadline_ns(port, r) <= port->card->now_ns)
		causes |= LIQM_CAUSE_PO;
	if ((r->in_done_cfg & LIQ_IN_DONE_CINT_ENB) &&
	    r->in_done > liq_get(r->in_done_cfg, LIQ_IN_DONE_WMARK))
		causes |= LIQM_CAUSE_PI;
	if (r->mbox_int & LIQ_MBOX_INT_PEND)
		causes |= LIQM_CAUSE_MBOX;
	return causes;
}

static void
raise_vector(struct liqm_fn *fn, unsigned int q, unsigned int vector)
{
	if (liqm_fault(fn, LIQM_FAULT_MSIX_LOST, (int)q, NULL))
		return;
	fn->n[LIQM_N_msix_raised]++;
	if (fn->svc.msix_raise)
		fn->svc.msix_raise(fn->svc.ctx, vector);
}

void
liqm_irq_ring(struct liqm_port *port, unsigned int q)
{
	struct liqm_ring *r = &port->ring[q];
	unsigned int causes = liqm_irq_causes(port, q);
	unsigned int index;
	struct liqm_fn *fn;

	if (!(r->mbox_int & LIQ_MBOX_INT_ENB))
		causes &= ~(unsigned int)LIQM_CAUSE_MBOX;
	if ((causes & ~r->told) == 0)
		return;
	r->told |= causes;
	fn = liqm_ring_owner(port, q, &index);
	if (!fn)
		return;
	raise_vector(fn, index, fn->vf_num == 0 ? q : index);
	if (fn->vf_num == 0 && (causes & LIQM_CAUSE_PO) &&
	    (r->out_ctl & (LIQ_OUT_CTL_CENB | LIQ_OUT_CTL_TENB)))
		liqm_irq_sum(port, LIQ_INT_PKT_TIME);
}

void
liqm_irq_run(struct liqm_port *port)
{
	uint64_t rings = port->live;

	/* The mailbox speaks before its ring is enabled. */
	for (unsigned int i = 0; i < port->n_vf; i++) {
		unsigned int q = liqm_fn_first_ring(port->vf[i]);

		if (liqm_fn_n_rings(port->vf[i]) != 0)
			rings |= UINT64_C(1) << q;
	}
	for (; rings != 0; rings &= rings - 1)
		liqm_irq_ring(port, (unsigned int)__builtin_ctzll(rings));
}

/* Sets bits of the PF's summary; with none, only looks at what is due. */
void
liqm_irq_sum(struct liqm_port *port, uint64_t bits)
{
	uint64_t *sum = &port->greg[LIQM_GREG_INT_SUM][port->index];
	uint64_t due;

	*sum |= bits;
	due = *sum & port->greg[LIQM_GREG_INT_ENB][port->index];
	port->told &= due & ~bits; /* a bit set anew is told anew */
	if ((due & ~port->told) == 0)
		return;
	port->told |= due;
	if (port->pf) {
		uint64_t rinfo = port->greg[LIQM_GREG_RINFO][port->index];

		raise_vector(port->pf, 0, (unsigned int)liq_get(rinfo, LIQ_RINFO_TRS));
	}
}

uint64_t
liqm_irq_next_ns(const struct liqm_port *port)
{
	uint64_t at = LIQM_NEVER;

	for (uint64_t live = port->live; live != 0; live &= live - 1) {
		const struct liqm_ring *r = &port->ring[__builtin_ctzll(live)];
		uint64_t due = r->told & LIQM_CAUSE_PO ? LIQM_NEVER : out_deadline_ns(port, r);

		at = due < at ? due : at;
	}
	return at;
}
