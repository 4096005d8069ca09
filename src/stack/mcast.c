/* SPDX-License-Identifier: BSD-3-Clause */
/* See mcast.h. */
#include "mcast.h"

#include "drop.h"

int
weir_mcast_init(struct weir_stack *stack)
{
	(void)stack;
	return 0;
}

void
weir_mcast_fini(struct weir_stack *stack)
{
	(void)stack;
}

void
weir_igmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		const struct wire_view *v)
{
	(void)port;
	(void)v;
	weir_consume(lc, WEIR_PROTO_GROUP, m);
}

void
weir_mld_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v)
{
	(void)port;
	(void)v;
	weir_consume(lc, WEIR_PROTO_GROUP, m);
}

int
weir_mcast_change(struct weir_stack *stack, const struct weir_port *port,
		  const struct weir_addr *group, const struct weir_mcast_filter *before,
		  const struct weir_mcast_filter *after)
{
	(void)stack;
	(void)port;
	(void)group;
	(void)before;
	(void)after;
	return 0;
}

void
weir_mcast_tick(struct weir_lcore *lc)
{
	(void)lc;
}

void
weir_mcast_port_up(struct weir_stack *stack, struct weir_port *port)
{
	(void)stack;
	(void)port;
}

void
weir_mcast_port_gone(struct weir_stack *stack, const struct weir_port *port)
{
	(void)stack;
	(void)port;
}
