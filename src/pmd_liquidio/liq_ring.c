/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring registers: reset and modes.  See liq_ring.h.
 */
#include "liq_ring.h"

#include <errno.h>

#define GONE UINT64_MAX

int
liq_ring_reset(const struct liq_io *io, unsigned int q)
{
	uint32_t ctl = LIQ_RING(q) + LIQ_REG_IN_CTL;
	struct liq_wait w = liq_wait_for(io, LIQ_RST_WAIT_NS);
	uint64_t v = liq_r64(io, ctl);

	if (v == GONE)
		return -ENODEV;
	liq_w64(io, ctl, v | LIQ_IN_CTL_RST);
	while (v = liq_r64(io, ctl), (v & LIQ_IN_CTL_RST) && !(v & LIQ_IN_CTL_QUIET))
		if (!liq_wait(&w))
			return -ETIMEDOUT;
	if (v == GONE)
		return -ENODEV;
	liq_w64(io, ctl, v & ~LIQ_IN_CTL_RST);
	v = liq_r64(io, ctl);
	if (v == GONE)
		return -ENODEV;
	return v & LIQ_IN_CTL_RST ? -EIO : 0;
}

void
liq_ring_mode(const struct liq_io *io, unsigned int q, uint64_t in_ctl_owner)
{
	uint32_t r = LIQ_RING(q);

	liq_w64(io, r + LIQ_REG_IN_DBELL, LIQ_DBELL_CLEAR);
	/* what is counted is subtracted; the upper half, interrupts, is written as 0 */
	liq_w64(io, r + LIQ_REG_IN_DONE, liq_r64(io, r + LIQ_REG_IN_DONE) & UINT32_MAX);
	liq_w64(io, r + LIQ_REG_IN_CTL, LIQ_IN_CTL_MODE_LE | in_ctl_owner);
	liq_w32(io, r + LIQ_REG_OUT_CRED, LIQ_DBELL_CLEAR);
	liq_w32(io, r + LIQ_REG_CNTS, liq_r32(io, r + LIQ_REG_CNTS));
	liq_w32(io, r + LIQ_REG_OUT_CTL, LIQ_OUT_CTL_BUF_LE);
	liq_w64(io, r + LIQ_REG_INT_LEV, LIQ_INT_LEV_OFF); /* polled */
}

void
liq_ring_enable_in(const struct liq_io *io, unsigned int q)
{
	uint32_t ctl = LIQ_RING(q) + LIQ_REG_IN_CTL;

	liq_w64(io, ctl, liq_r64(io, ctl) | LIQ_IN_CTL_IS_64B);
	liq_w64(io, ctl, liq_r64(io, ctl) | LIQ_IN_CTL_ENB);
}

void
liq_ring_enable_out(const struct liq_io *io, unsigned int q)
{
	liq_w32(io, LIQ_RING(q) + LIQ_REG_OUT_CTL, LIQ_OUT_CTL_BUF_LE | LIQ_OUT_CTL_ENB);
}
