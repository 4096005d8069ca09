/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv6 neighbour and router discovery on the wire (RFC 4861, RFC 4862), and duplicate addresses of both
 * families (RFC 4862 5.4, RFC 5227). Layer 1, beside neigh.h, which has the table and the states.
 */
#ifndef WEIR_NDP_H
#define WEIR_NDP_H

#include "lcore.h"

/* RS, RA, NS, NA, Redirect: ICMPv6 checksum right, header contiguous. Consumes m. */
void weir_ndp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		    const struct wire_view *v);

/*
 * Ask for the MAC of ip on the port; mac NULL: the solicited-node group, else that station alone. COLD. As
 * weir_neigh's ARP request, which it stands beside.
 */
void weir_ndp_solicit(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		      const uint8_t *mac);

int weir_dad_init(struct weir_stack *stack);
void weir_dad_fini(struct weir_stack *stack);

/* Control, lock held: an address was added to a port (probes start when the port runs), or removed. -ENOMEM. */
int weir_dad_start(struct weir_stack *stack, const struct weir_port *port,
		   const struct weir_addr *addr);
void weir_dad_stop(struct weir_stack *stack, const struct weir_port *port,
		   const struct weir_addr *addr);

/* Timers of probes, announcements, router solicitations: one worker at a time, from the tick. */
void weir_ndp_tick(struct weir_lcore *lc);

#endif /* WEIR_NDP_H */
