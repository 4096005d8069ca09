/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pools of test mbufs. The per-lcore cache is left out: mbufs go straight back to the pool's ring,
 * so that a count is exact at any time and a test can empty the pool to the last mbuf.
 */
#include "ut_pool.h"

#include "ut.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

struct rte_mempool *
ut_pool_create(const char *name, unsigned int n, uint16_t priv_bytes)
{
	struct rte_mempool *pool;

	pool = rte_pktmbuf_pool_create(name, n, 0, priv_bytes, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	ut_check(pool != NULL, "pool %s of %u mbufs: %s", name, n, rte_strerror(rte_errno));
	return pool;
}

unsigned int
ut_pool_missing(struct rte_mempool *pool)
{
	return rte_mempool_in_use_count(pool);
}

void
ut_pool_check(struct rte_mempool *pool)
{
	const unsigned int missing = ut_pool_missing(pool);

	ut_check(rte_mempool_avail_count(pool) == pool->size, "pool %s: %u of %u mbufs are missing",
		 pool->name, missing, pool->size);
}

void
ut_pool_destroy(struct rte_mempool *pool)
{
	if (pool == NULL)
		return;
	ut_pool_check(pool);
	rte_mempool_free(pool);
}
