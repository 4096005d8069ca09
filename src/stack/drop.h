/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The drop call: the only way in which the stack refuses an mbuf, and the only file (drop.c) that
 * frees one. Layer 0. HOT callers; bulk forms free in bulk.
 */
#ifndef WEIR_DROP_INTERNAL_H
#define WEIR_DROP_INTERNAL_H

#include "lcore.h"

/* Refuse one frame or datagram (all its segments): count it under reason, free it. */
void weir_drop(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf *m);

/* Refuse n of them for one reason. */
void weir_drop_bulk(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf **m,
		    unsigned int n);

/* Refuse a list linked by weir_meta()->next. Returns how many it held. */
unsigned int weir_drop_list(struct weir_lcore *lc, enum weir_drop reason, struct rte_mbuf *head);

/* A protocol has used the frame up: count it, free it. */
void weir_consume(struct weir_lcore *lc, enum weir_proto proto, struct rte_mbuf *m);

/* Free buffers that were never a frame (an allocation undone, segments emptied by a pull). */
void weir_mbuf_discard(struct rte_mbuf *m);

/*
 * Buffers that have come to their end without being refused, as rte_pktmbuf_free_bulk() but in one go for
 * what is simple. NULL entries are skipped.
 */
void weir_mbuf_give_back(struct rte_mbuf **m, unsigned int n);

/*
 * Give a buffer back soon, together with others: at the latest when the lcore finds nothing to receive, at the
 * end of its turn, or when it detaches.
 */
void weir_spend_all(struct weir_lcore *lc);

static inline void
weir_spend(struct weir_lcore *lc, struct rte_mbuf *m)
{
	lc->spent[lc->n_spent++] = m;
	if (unlikely(lc->n_spent == RTE_DIM(lc->spent)))
		weir_spend_all(lc);
}

#endif /* WEIR_DROP_INTERNAL_H */
