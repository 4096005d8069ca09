/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ring registers: reset, and the modes both directions run in.
 *
 * q is the number of the ring in the function's BAR0 (a PF's own rings come behind those of its
 * VFs).  Input and output queue q share one reset.  Nothing is inherited: every mode bit is
 * written.  Control threads of the primary process.  Source: docs/liquidio-hw.md.
 */
#ifndef LIQ_RING_H
#define LIQ_RING_H

#include <stdint.h>

#include "liq_io.h"

#define LIQ_RST_WAIT_NS (200 * WEIR_NS_PER_MS)

/*
 * The RST protocol: when it returns 0 the ring is quiet, not enabled, and the card does not touch
 * its memory any more.  -ETIMEDOUT: never quiet; -EIO: stays in reset; -ENODEV: reads give ones.
 */
int liq_ring_reset(const struct liq_io *io, unsigned int q);

/* After a reset: counts and doorbells at zero, operating modes of this driver; in_ctl_owner holds
 * the PF's owner numbers, 0 in a VF. */
void liq_ring_mode(const struct liq_io *io, unsigned int q, uint64_t in_ctl_owner);

/* Bases and sizes are written: lets the card fetch. */
void liq_ring_enable_in(const struct liq_io *io, unsigned int q);
void liq_ring_enable_out(const struct liq_io *io, unsigned int q);

#endif /* LIQ_RING_H */
