/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test's time: one atomic number behind the clock seam of <weir/clock.h>. It moves only when a
 * test moves it; readers on other lcores see it in any order with respect to other data, as they
 * would see a real clock.
 */
#include "ut_clock.h"

#include <stdatomic.h>
#include <stddef.h>

#include <weir/clock.h>

static _Atomic uint64_t test_ns;

static uint64_t
read_test_clock(void *arg)
{
	(void)arg;
	return atomic_load_explicit(&test_ns, memory_order_relaxed);
}

void
ut_clock_install(void)
{
	ut_clock_set(WEIR_NS_PER_S);
	weir_clock_set_source(read_test_clock, NULL);
}

void
ut_clock_remove(void)
{
	weir_clock_set_source(NULL, NULL);
}

uint64_t
ut_clock_now(void)
{
	return read_test_clock(NULL);
}

void
ut_clock_set(uint64_t ns)
{
	atomic_store_explicit(&test_ns, ns, memory_order_relaxed);
}

void
ut_clock_advance(uint64_t ns)
{
	atomic_fetch_add_explicit(&test_ns, ns, memory_order_relaxed);
}
