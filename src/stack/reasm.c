/* SPDX-License-Identifier: BSD-3-Clause */
/* See reasm.h. */
#include "reasm.h"

#include "drop.h"

int
weir_reasm_init(struct weir_lcore *lc, int socket_id)
{
	(void)lc;
	(void)socket_id;
	return 0;
}

void
weir_reasm_fini(struct weir_lcore *lc)
{
	(void)lc;
}

struct rte_mbuf *
weir_reasm_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 const struct wire_view *v)
{
	(void)port;
	(void)v;
	weir_drop(lc, WEIR_DROP_IP_FRAG, m);
	return NULL;
}

void
weir_reasm_tick(struct weir_lcore *lc)
{
	(void)lc;
}

void
weir_reasm_flush(struct weir_lcore *lc, int port, enum weir_drop reason)
{
	(void)lc;
	(void)port;
	(void)reason;
}

void
weir_reasm_info_get(const struct weir_lcore *lc, struct weir_reasm_info *out)
{
	(void)lc;
	*out = (struct weir_reasm_info){0};
}
