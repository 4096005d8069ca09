/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For builds with -fsanitize=thread. The distribution's DPDK libraries are not instrumented: what they
 * hand from one thread to another the sanitizer cannot see, and it would call that a race. There are two
 * such things on our ways: memory of rte_malloc() and buffers of a mempool's ring. ut_tsan.c has both
 * once more, compiled with the tests and so visible. Nothing is suppressed.
 *
 *   rte_malloc() and its like   replaced for the whole program, by the C library's
 *   pools                       get "ut_tsan" as their store, by an argument to EAL
 *
 * DPDK's inline functions are compiled into our objects and need -DRTE_USE_C11_MEM_MODEL there, for
 * atomics instead of barriers.
 */
#ifndef UT_TSAN_H
#define UT_TSAN_H

/* EAL's argument; NULL in other builds. */
#ifdef UT_TSAN
const char *ut_tsan_eal_arg(void);
#else
static inline const char *
ut_tsan_eal_arg(void)
{
	return NULL;
}
#endif

#endif /* UT_TSAN_H */
