/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The register seam: how a function of the card is reached.
 *
 * On PCI bar0 is the mapping and an access is a load or a store.  Otherwise bar0 is NULL and the
 * accesses go through ops: the device model behind net_liq_sim, or a device that a test plays.
 * The rest of the driver does not know which.
 *
 * The data path uses it once per burst: a count, a doorbell, credits.  Pointers in ops and ctx
 * belong to the process that probed; a secondary process may use bar0 only.
 *
 * Waits: every wait for the device goes through struct liq_wait, so it has a deadline on the
 * clock seam (weir/clock.h) and lets the device work meanwhile.
 */
#ifndef LIQ_IO_H
#define LIQ_IO_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_io.h>

#include <weir/clock.h>

#include "liq_regs.h"

/* What a device that brings its own wire counts there: X(name). */
#define LIQ_WIRE_STATS(X)                                                                          \
	X(out)                                                                                     \
	X(in)                                                                                      \
	X(in_full) /* frames that found no room in the card */                                     \
	X(in_unclaimed)                                                                            \
	X(unplugged) /* sent with no cable or no link */                                           \
	X(lost)                                                                                    \
	X(duplicated)                                                                              \
	X(reordered)                                                                               \
	X(corrupted)                                                                               \
	X(port_out_full) /* a wire that ends in an ethdev: it took no more */                      \
	X(port_out_nombuf)                                                                         \
	X(port_in_full)                                                                            \
	X(port_in_bad)
#define LIQ_WIRE_STAT_ENUM(name) LIQ_WIRE_N_##name,
enum liq_wire_stat { LIQ_WIRE_STATS(LIQ_WIRE_STAT_ENUM) LIQ_N_WIRE };

struct liq_io_ops {
	/* BAR0; len is 4 or 8 bytes.  Unused while bar0 is set. */
	uint64_t (*read)(void *ctx, uint32_t off, unsigned int len);
	void (*write)(void *ctx, uint32_t off, uint64_t value, unsigned int len);

	/* Config space; len up to 4 bytes.  0 or negative errno. */
	int (*cfg_read)(void *ctx, uint32_t off, uint32_t *value, unsigned int len);
	int (*cfg_write)(void *ctx, uint32_t off, uint32_t value, unsigned int len);

	/* Allows or forbids the function to reach memory.  When it is forbidden nothing is under
	 * way any more when this returns.  0 or negative errno. */
	int (*set_dma)(void *ctx, bool on);

	/* Function-level reset; config space is as before when this returns.  0 or negative. */
	int (*flr)(void *ctx);

	/* The port is about to be started; NULL: nothing to do.  0 or negative errno. */
	int (*start)(void *ctx);

	/* A pause in the middle of a wait that has lasted waited_ns so far. */
	void (*idle)(void *ctx, uint64_t waited_ns);

	/* Counters of the wire; NULL: a real one. */
	void (*wire_stats)(void *ctx, uint64_t values[LIQ_N_WIRE]);

	/* The function is given up: frees ctx. */
	void (*close)(void *ctx);
};

struct liq_io {
	volatile uint8_t *bar0; /* NULL: through ops */
	const struct liq_io_ops *ops;
	void *ctx;
};

/* The load barrier that must follow a count is part of the reads. */
static inline uint32_t
liq_r32(const struct liq_io *io, uint32_t off)
{
	if (likely(io->bar0 != NULL))
		return rte_read32(io->bar0 + off);
	return (uint32_t)io->ops->read(io->ctx, off, 4);
}

static inline uint64_t
liq_r64(const struct liq_io *io, uint32_t off)
{
	if (likely(io->bar0 != NULL))
		return rte_read64(io->bar0 + off);
	return io->ops->read(io->ctx, off, 8);
}

/* The store barrier that must precede a doorbell is part of the writes. */
static inline void
liq_w32(const struct liq_io *io, uint32_t off, uint32_t value)
{
	if (likely(io->bar0 != NULL)) {
		rte_write32(value, io->bar0 + off);
		return;
	}
	rte_io_wmb();
	io->ops->write(io->ctx, off, value, 4);
}

static inline void
liq_w64(const struct liq_io *io, uint32_t off, uint64_t value)
{
	if (likely(io->bar0 != NULL)) {
		rte_write64(value, io->bar0 + off);
		return;
	}
	rte_io_wmb();
	io->ops->write(io->ctx, off, value, 8);
}

/*
 *	struct liq_wait w = liq_wait_for(io, ns);
 *
 *	while (!condition)
 *		if (!liq_wait(&w))
 *			return -ETIMEDOUT;
 *
 * The condition is looked at once more after the deadline: a thread that slept through it does not
 * blame the device.
 */
struct liq_wait {
	const struct liq_io *io;
	uint64_t start_ns;
	uint64_t limit_ns;
	bool over;
};

static inline struct liq_wait
liq_wait_for(const struct liq_io *io, uint64_t limit_ns)
{
	return (struct liq_wait){.io = io, .start_ns = weir_clock_ns(), .limit_ns = limit_ns};
}

static inline bool
liq_wait(struct liq_wait *w)
{
	uint64_t waited_ns = weir_clock_ns() - w->start_ns;

	if (w->over)
		return false;
	w->over = waited_ns >= w->limit_ns;
	if (!w->over)
		w->io->ops->idle(w->io->ctx, waited_ns);
	return true;
}

#endif /* LIQ_IO_H */
