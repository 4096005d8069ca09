/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the stack does to chained mbufs: sums, pull-up, cuts at both ends, copy out. Layer 0, HOT for
 * the single-segment case. Nothing here assumes that a header or a payload lies in one segment.
 */
#ifndef WEIR_MBUF_H
#define WEIR_MBUF_H

#include <rte_mempool.h>

#include "drop.h"
#include "lcore.h"

/*
 * Is the pool down to what the port rings need? Asked per burst, so it reads the common store's count
 * only, not every lcore's cache (rte_mempool_avail_count walks all of them).
 */
static inline bool
weir_pool_low(const struct weir_stack *stack)
{
	return rte_mempool_get_ops(stack->pool->ops_index)->get_count(stack->pool) < stack->reserve;
}

/* Partial checksum of len bytes from offset off; the caller has checked that they exist. */
uint64_t weir_mbuf_sum_chained(const struct rte_mbuf *m, uint32_t off, uint32_t len);

static inline uint64_t
weir_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	if (likely(off + len <= m->data_len))
		return wire_sum(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), len, 0);
	return weir_mbuf_sum_chained(m, off, len);
}

/*
 * Make the first len bytes contiguous (len <= pkt_len, <= WIRE_HDR_MAX): a new first segment from
 * pool takes them. Returns the new head, which owns the rest; NULL when no buffer is to be had, m
 * untouched. Not for the fast path: call it only when data_len < len.
 */
struct rte_mbuf *weir_mbuf_pull(struct rte_mbuf *m, uint32_t len, struct rte_mempool *pool);

/* Leave `len` bytes from offset off on (both within the packet): cut the rest at both ends. */
void weir_mbuf_window_chained(struct rte_mbuf *m, uint32_t off, uint32_t len);

static inline void
weir_mbuf_window(struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	if (likely(m->nb_segs == 1)) {
		m->data_off = (uint16_t)(m->data_off + off);
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
		return;
	}
	weir_mbuf_window_chained(m, off, len);
}

/*
 * The same packet in one segment from pool; m is given up. NULL when it does not fit or no buffer is to
 * be had: m untouched.
 */
struct rte_mbuf *weir_mbuf_flatten(struct rte_mbuf *m, struct rte_mempool *pool);

/* Copy at most size bytes of the packet's data to buf. Returns how many. */
uint32_t weir_mbuf_copy_out(const struct rte_mbuf *m, void *buf, uint32_t size);

#endif /* WEIR_MBUF_H */
