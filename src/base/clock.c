/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock seam behind <weir/clock.h>: one replaceable source for the stack and the driver.
 * The scaling from TSC ticks is fixed at the first reading (32.32 fixed point), so a reading is
 * one rdtsc, one 128-bit multiply and two predictable branches.
 */
#include <weir/clock.h>

#include <stdatomic.h>
#include <stddef.h>

#include <rte_cycles.h>

static weir_clock_fn source; /* NULL: the TSC */
static void *source_arg;

static _Atomic uint64_t scale; /* ns per tick, 32.32; 0 until the first reading */
static _Atomic uint64_t origin;

static uint64_t
tsc_start(void)
{
	uint64_t unset = 0;
	uint64_t s;

	/* rte_get_tsc_hz() is 0 before EAL has calibrated: measure nothing, assume nothing. */
	if (rte_get_tsc_hz() == 0)
		return 0;
	s = (uint64_t)(((__uint128_t)WEIR_NS_PER_S << 32) / rte_get_tsc_hz());
	/* Two threads may come here at once: the first origin wins, then the scale is published. */
	atomic_compare_exchange_strong(&origin, &unset, rte_rdtsc());
	atomic_store_explicit(&scale, s, memory_order_release); /* pairs with weir_clock_ns */
	return s;
}

uint64_t
weir_clock_ns(void)
{
	uint64_t s;

	if (source != NULL)
		return source(source_arg);
	s = atomic_load_explicit(&scale, memory_order_acquire); /* pairs with tsc_start */
	if (s == 0) {
		s = tsc_start();
		if (s == 0)
			return 0;
	}
	return (uint64_t)(((__uint128_t)(rte_rdtsc() -
					 atomic_load_explicit(&origin, memory_order_relaxed)) *
			   s) >>
			  32);
}

void
weir_clock_set_source(weir_clock_fn fn, void *arg)
{
	source = NULL;
	source_arg = arg;
	source = fn;
}
