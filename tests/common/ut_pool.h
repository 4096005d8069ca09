/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packet pools for tests, with the check that belongs into every teardown: each mbuf is back.
 */
#ifndef UT_POOL_H
#define UT_POOL_H

#include <rte_mempool.h>

/*
 * A pool of n mbufs with the usual data room, and priv_bytes of private area each. Fails the
 * running case when there is no memory.
 */
struct rte_mempool *ut_pool_create(const char *name, unsigned int n, uint16_t priv_bytes);

/* How many of the pool's mbufs are not back. 0 is what one wants. */
unsigned int ut_pool_missing(struct rte_mempool *pool);

/* Fail the running case, saying how many, when mbufs are missing. */
void ut_pool_check(struct rte_mempool *pool);

/* Check, then free the pool. NULL is allowed. */
void ut_pool_destroy(struct rte_mempool *pool);

#endif /* UT_POOL_H */
