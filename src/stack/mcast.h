/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which groups this host listens to, and telling the routers: IGMPv3 with v2 and v1 fallback (RFC 3376, RFC 2236),
 * MLDv2 with v1 fallback (RFC 3810, RFC 2710), the port's MAC filter. Layer 1.
 *
 * The state of an interface is the merge of its sockets' memberships (RFC 3376 3.2). Control changes it;
 * reports go out from the tick of a worker; queries come in on any lcore.
 */
#ifndef WEIR_MCAST_H
#define WEIR_MCAST_H

#include "lcore.h"

int weir_mcast_init(struct weir_stack *stack);
void weir_mcast_fini(struct weir_stack *stack);

/* An IGMP message, structure checked as IPv4, header contiguous. Consumes m. */
void weir_igmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		     const struct wire_view *v);
/* An MLD message (ICMPv6 130-132, 143), checksum right. Consumes m. */
void weir_mld_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		    const struct wire_view *v);

/*
 * Control, lock held: a socket's membership of a group on a port has begun, changed or ended. include: the
 * sources are those wanted (RFC 3376 2), else those not wanted; n 0 and include: none, it left. -ENOMEM.
 */
struct weir_mcast_filter {
	bool include;
	unsigned int n;
	const union weir_ip *source;
};
int weir_mcast_change(struct weir_stack *stack, const struct weir_port *port,
		      const struct weir_addr *group, const struct weir_mcast_filter *before,
		      const struct weir_mcast_filter *after);

/* Timers of all ports: one worker at a time, from the tick. */
void weir_mcast_tick(struct weir_lcore *lc);

/* Control: a port starts (its MAC filter is written anew), or goes. */
void weir_mcast_port_up(struct weir_stack *stack, struct weir_port *port);
void weir_mcast_port_gone(struct weir_stack *stack, const struct weir_port *port);

#endif /* WEIR_MCAST_H */
