/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the drop call and the names of the reasons. Under overload most packets end here, so the bulk
 * form frees per pool in bulk and counts once.
 */
#include "drop.h"

#include <rte_mbuf.h>

static const struct {
	const char *name, *text;
	int rx;
} reasons[WEIR_DROP_N] = {
#define RX                               1
#define TX                               0
#define WEIR_DROP_ROW(sym, nm, dir, txt) [WEIR_DROP_##sym] = {nm, txt, dir},
	WEIR_DROP_LIST(WEIR_DROP_ROW)
#undef WEIR_DROP_ROW
#undef RX
#undef TX
};

const char *
weir_drop_name(enum weir_drop reason)
{
	return (unsigned int)reason < WEIR_DROP_N ? reasons[reason].name : "?";
}

const char *
weir_drop_text(enum weir_drop reason)
{
	return (unsigned int)reason < WEIR_DROP_N ? reasons[reason].text : "?";
}

int
weir_drop_is_rx(enum weir_drop reason)
{
	return (unsigned int)reason < WEIR_DROP_N ? reasons[reason].rx : 0;
}

void
weir_drop(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf *m)
{
	weir_count(&lc->c.drops[reason], 1);
	rte_pktmbuf_free(m);
}

void
weir_drop_bulk(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf **m, unsigned int n)
{
	if (n == 0)
		return;
	weir_count(&lc->c.drops[reason], n);
	weir_mbuf_give_back(m, n);
}

unsigned int
weir_drop_list(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf *head)
{
	struct rte_mbuf *batch[WEIR_MAX_BURST];
	unsigned int n = 0;
	unsigned int total = 0;

	while (head != NULL) {
		struct rte_mbuf *next = weir_meta(head)->next;

		batch[n++] = head;
		if (n == RTE_DIM(batch)) {
			weir_drop_bulk(lc, reason, batch, n);
			total += n;
			n = 0;
		}
		head = next;
	}
	weir_drop_bulk(lc, reason, batch, n);
	return total + n;
}

void
weir_consume(struct weir_lcore *lc, enum weir_proto proto, struct rte_mbuf *m)
{
	weir_count(&lc->c.rx_consumed[proto], 1);
	rte_pktmbuf_free(m);
}

void
weir_mbuf_discard(struct rte_mbuf *m)
{
	rte_pktmbuf_free(m);
}

static_assert(offsetof(struct rte_mbuf, data_off) % 8 == 0 &&
		      offsetof(struct rte_mbuf, refcnt) ==
			      offsetof(struct rte_mbuf, data_off) + 2 &&
		      offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, data_off) + 4,
	      "one word tells");

/*
 * Is there nothing to be undone before the buffer goes back to its pool? The first segment of a packet of one
 * segment has no next (rte_mbuf_check()): its second line, which nobody may have touched, is not read.
 */
static inline bool
simple(const struct rte_mbuf *m)
{
	/* One segment, one reference; atomic, for somebody else may give up his reference just now. */
	uint64_t word =
		__atomic_load_n((const uint64_t *)(const void *)&m->data_off, __ATOMIC_RELAXED);

	/* The two in the middle: 1 and 1 in either byte order. */
	return (uint32_t)(word >> 16) == 0x10001 &&
	       (m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0;
}

void
weir_mbuf_give_back(struct rte_mbuf **m, unsigned int n)
{
	struct rte_mbuf **const end = m + n;

	while (m != end) {
		struct rte_mbuf **const start = m;
		struct rte_mempool *pool;

		if (unlikely(*m == NULL || !simple(*m))) {
			if (*m != NULL)
				rte_pktmbuf_free(*m);
			m++;
			continue;
		}
		pool = (*m)->pool;
		do
			m++;
		while (m != end && *m != NULL && likely((*m)->pool == pool && simple(*m)));
		rte_mempool_put_bulk(pool, (void **)start, (unsigned int)(m - start));
	}
}

void
weir_spend_all(struct weir_lcore *lc)
{
	weir_mbuf_give_back(lc->spent, lc->n_spent);
	lc->n_spent = 0;
}
