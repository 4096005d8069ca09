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
	rte_pktmbuf_free_bulk(m, n);
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
