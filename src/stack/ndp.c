/* SPDX-License-Identifier: BSD-3-Clause */
/* See ndp.h. */
#include "ndp.h"

#include "drop.h"

void
weir_ndp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v)
{
	(void)port;
	(void)v;
	weir_consume(lc, WEIR_PROTO_ND, m);
}

void
weir_ndp_solicit(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		 const uint8_t *mac)
{
	(void)lc;
	(void)port;
	(void)ip;
	(void)mac;
}

void
weir_ndp_tick(struct weir_lcore *lc)
{
	(void)lc;
}
