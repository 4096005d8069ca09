/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The far end of the linker's --wrap: one wrapper per function of UT_FAIL_LIST, made by macro. A
 * refusal sets errno and rte_errno to ENOMEM, as the real ones do.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_hash.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>
#include <rte_ring.h>

#include "ut.h"
#include "ut_fail.h"

static atomic_bool counting;
static atomic_uint n_calls;
static atomic_uint fail_at; /* 0: none */
static atomic_bool refused;

static bool
refuse_this_one(void)
{
	unsigned int k;

	if (!atomic_load(&counting))
		return false;
	k = atomic_fetch_add(&n_calls, 1) + 1;
	if (k != atomic_load(&fail_at))
		return false;
	atomic_store(&refused, true);
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

#define WRAP(type, function, parameters, arguments)                                                \
	type __real_##function parameters;                                                         \
	type __wrap_##function parameters;                                                         \
	type __wrap_##function parameters                                                          \
	{                                                                                          \
		return refuse_this_one() ? NULL : __real_##function arguments;                     \
	}
UT_FAIL_LIST(WRAP)
#undef WRAP

void
ut_fail_at(unsigned int k)
{
	atomic_store(&n_calls, 0);
	atomic_store(&refused, false);
	atomic_store(&fail_at, k);
	atomic_store(&counting, true);
}

bool
ut_fail_stop(void)
{
	atomic_store(&counting, false);
	return atomic_load(&refused);
}

unsigned int
ut_fail_count(void)
{
	return atomic_load(&n_calls);
}

/* Objects in DPDK's heaps: what a forgotten ring, pool or rte_malloc would raise. */
static unsigned int
heap_objects(void)
{
	struct rte_malloc_socket_stats stats;
	unsigned int n = 0;
	unsigned int i;

	for (i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			n += stats.alloc_count;
	return n;
}

unsigned int
ut_fail_all(int (*attempt)(void *arg), void (*undo)(void *arg), void *arg)
{
	unsigned int k, before, after;
	bool hit;
	int rc;

	for (k = 1;; k++) {
		before = heap_objects();
		ut_fail_at(k);
		rc = attempt(arg);
		hit = ut_fail_stop();
		if (rc == 0)
			undo(arg);
		after = heap_objects();
		ut_check(rc <= 0, "allocation %u refused: result %d is neither 0 nor an errno", k,
			 rc);
		ut_check(after == before, "allocation %u %s: %d objects left in DPDK's heap", k,
			 hit ? "refused" : "was none", (int)(after - before));
		if (!hit)
			break;
	}
	ut_check(rc == 0, "nothing was refused, yet the result is %d", rc);
	ut_check(k > 1, "no allocation was seen: is the test linked with test_fail_dep?");
	return k - 1;
}
