/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that end at a cliff: the byte after the last one lies in a page that nobody may touch, so
 * that a read one byte too far is a segmentation fault, with or without a sanitizer. Under
 * AddressSanitizer what lies before a plain frame is poisoned as well, but for the last 0-7 bytes
 * when the frame does not start at a multiple of 8: the sanitizer cannot say that. test_guard.c
 * proves both.
 */
#ifndef UT_GUARD_H
#define UT_GUARD_H

#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

/*
 * A copy of len bytes (0 allowed) that ends at a guard page; bytes NULL: filled with a pattern.
 * Never NULL. Free with ut_guard_free() and the same len.
 */
uint8_t *ut_guard_frame(const void *bytes, size_t len);
void ut_guard_free(uint8_t *frame, size_t len);

/*
 * An mbuf from pool whose data is an external buffer with the usual headroom that ends at a guard
 * page. Whoever holds it frees it like any other; the buffer goes with its last reference.
 */
struct rte_mbuf *ut_guard_mbuf(struct rte_mempool *pool, const void *bytes, size_t len);

/*
 * The same as a chain cut at the n_cuts ascending offsets (each 0..len; equal ones make empty
 * segments), every segment with a guard page of its own. Only the first segment has headroom.
 */
struct rte_mbuf *ut_guard_mbuf_split(struct rte_mempool *pool, const void *bytes, size_t len,
				     const size_t *cuts, size_t n_cuts);

/* Guarded buffers of mbufs that are still alive; 0 in a clean teardown. */
unsigned int ut_guard_live(void);

#endif /* UT_GUARD_H */
