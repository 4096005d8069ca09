/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Make the k-th allocation fail, for all k: proof that a set-up function unwinds from each of its
 * steps. The linker redirects the allocating functions listed below to ut_fail.c (--wrap), which
 * counts the calls and refuses the one that it was told to.
 *
 * A test that uses it links with test_fail_dep, which carries the --wrap arguments; only calls from
 * statically linked code are seen (our libraries and the test), not those inside libc or DPDK.
 *
 *	static int attempt(void *arg) { return weir_x_create(arg, &x); }  // 0 or negative errno
 *	static void undo(void *arg) { weir_x_destroy(x); }
 *	n = ut_fail_all(attempt, undo, &cfg);   // n steps were made to fail, one at a time
 *
 * Counting is for the whole process: let no other thread allocate meanwhile.
 */
#ifndef UT_FAIL_H
#define UT_FAIL_H

#include <stdbool.h>

/*
 * X(return type, function, (parameters), (arguments)): all return NULL for failure. Keep the list
 * in step with test_fail_dep in meson.build: a missing one there does not link.
 */
#define UT_FAIL_LIST(X)                                                                            \
	X(void *, malloc, (size_t n), (n))                                                         \
	X(void *, calloc, (size_t k, size_t n), (k, n))                                            \
	X(void *, realloc, (void *p, size_t n), (p, n))                                            \
	X(void *, aligned_alloc, (size_t a, size_t n), (a, n))                                     \
	X(char *, strdup, (const char *s), (s))                                                    \
	X(void *, rte_malloc, (const char *t, size_t n, unsigned a), (t, n, a))                    \
	X(void *, rte_zmalloc, (const char *t, size_t n, unsigned a), (t, n, a))                   \
	X(void *, rte_calloc, (const char *t, size_t k, size_t n, unsigned a), (t, k, n, a))       \
	X(void *, rte_realloc, (void *p, size_t n, unsigned a), (p, n, a))                         \
	X(void *, rte_malloc_socket, (const char *t, size_t n, unsigned a, int s), (t, n, a, s))   \
	X(void *, rte_zmalloc_socket, (const char *t, size_t n, unsigned a, int s), (t, n, a, s))  \
	X(const struct rte_memzone *, rte_memzone_reserve,                                         \
	  (const char *t, size_t n, int s, unsigned f), (t, n, s, f))                              \
	X(const struct rte_memzone *, rte_memzone_reserve_aligned,                                 \
	  (const char *t, size_t n, int s, unsigned f, unsigned a), (t, n, s, f, a))               \
	X(struct rte_ring *, rte_ring_create, (const char *t, unsigned n, int s, unsigned f),      \
	  (t, n, s, f))                                                                            \
	X(struct rte_mempool *, rte_mempool_create,                                                \
	  (const char *t, unsigned n, unsigned e, unsigned c, unsigned p, rte_mempool_ctor_t *mf,  \
	   void *ma, rte_mempool_obj_cb_t *of, void *oa, int s, unsigned f),                       \
	  (t, n, e, c, p, mf, ma, of, oa, s, f))                                                   \
	X(struct rte_mempool *, rte_mempool_create_empty,                                          \
	  (const char *t, unsigned n, unsigned e, unsigned c, unsigned p, int s, unsigned f),      \
	  (t, n, e, c, p, s, f))                                                                   \
	X(struct rte_mempool *, rte_pktmbuf_pool_create,                                           \
	  (const char *t, unsigned n, unsigned c, uint16_t p, uint16_t d, int s),                  \
	  (t, n, c, p, d, s))                                                                      \
	X(struct rte_hash *, rte_hash_create, (const struct rte_hash_parameters *h), (h))

/* Let the k-th allocation from now on fail (from 1); 0: only count. */
void ut_fail_at(unsigned int k);

/* End counting; returns whether the k-th came and was refused. */
bool ut_fail_stop(void);

/* Allocations counted since ut_fail_at(). */
unsigned int ut_fail_count(void);

/*
 * Run attempt with its first, second, third ... allocation refused until it asks for no more. Each
 * refusal must come back as a negative errno, or be absorbed (0, then undo is called), and must
 * leave DPDK's heap as it was; the last, undisturbed run must return 0. Fails the running case
 * otherwise. Returns the number of refusals, at least 1.
 */
unsigned int ut_fail_all(int (*attempt)(void *arg), void (*undo)(void *arg), void *arg);

#endif /* UT_FAIL_H */
