/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one clock. Every timer, ageing rule, rate limit and driver deadline reads time here and
 * nowhere else, so that a test which owns the clock owns time.
 *
 * The default source is the invariant TSC scaled to nanoseconds since the first reading; it never
 * goes backwards. A test replaces it with weir_clock_set_source(). The source is one per process,
 * to be changed only while no stack is running.
 */
#ifndef WEIR_CLOCK_H
#define WEIR_CLOCK_H

#include <stdint.h>

#include <weir/api.h>

WEIR_BEGIN_DECLS

#define WEIR_NS_PER_US UINT64_C(1000)
#define WEIR_NS_PER_MS UINT64_C(1000000)
#define WEIR_NS_PER_S  UINT64_C(1000000000)

/** A time source: nanoseconds, monotonic, from any origin. Called from any thread. */
typedef uint64_t (*weir_clock_fn)(void *arg);

/** Nanoseconds now. Any thread; never blocks; some 10 ns with the default source. */
WEIR_API uint64_t weir_clock_ns(void);

/** Replace the source; NULL brings the default back. Only while no stack runs. */
WEIR_API void weir_clock_set_source(weir_clock_fn fn, void *arg);

WEIR_END_DECLS

#endif /* WEIR_CLOCK_H */
