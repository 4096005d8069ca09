/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time under the test's hand: while installed, weir_clock_ns() returns what the test last set.
 * Install before the stack starts, remove after it stopped. Set and advance from any thread.
 */
#ifndef UT_CLOCK_H
#define UT_CLOCK_H

#include <stdint.h>

/* Take the clock over; it starts at one second, so that 0 can still mean "never". */
void ut_clock_install(void);

/* Give the clock back to its default source. */
void ut_clock_remove(void);

uint64_t ut_clock_now(void);
void ut_clock_set(uint64_t ns);
void ut_clock_advance(uint64_t ns);

#endif /* UT_CLOCK_H */
