/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which groups this host listens to, and telling the routers: IGMPv3 with v2 and v1 fallback (RFC 3376, RFC 2236,
 * RFC 1112), MLDv2 with v1 fallback (RFC 3810, RFC 2710), the device's MAC filter. Layer 1.
 *
 * The state of a group on a port is the merge of its sockets' filters (RFC 3376 3.2). Control changes it;
 * reports go out from the tick of a worker, so at most one tick late; queries come in on any lcore. One lock for
 * all, off the data path: what a received datagram is matched by is in local.h and in the sockets.
 *
 * Not reported: 224.0.0.1, ff02::1, and what does not leave the host (ff00::/16, ff01::/16).
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
 * Of one socket, for one group. include: the sources are those wanted (RFC 3376 2), else those not wanted.
 * All sources of all: {.include = false, .n = 0}.
 */
struct weir_mcast_filter {
	bool include;
	unsigned int n;
	const union weir_ip *source;
};

/*
 * Control, lock held: the filter of one member of a group on a port becomes another. NULL: it is no member.
 * -ENOMEM: nothing has changed; to a filter with no more sources than before it cannot happen.
 */
int weir_mcast_change(struct weir_stack *stack, const struct weir_port *port,
		      const struct weir_addr *group, const struct weir_mcast_filter *before,
		      const struct weir_mcast_filter *after);

/* The stack's own memberships (solicited-node groups): all sources. Control, lock held. -ENOMEM. */
int weir_mcast_hold(struct weir_stack *stack, const struct weir_port *port,
		    const struct weir_addr *group);
void weir_mcast_release(struct weir_stack *stack, const struct weir_port *port,
			const struct weir_addr *group);

/* Timers of all ports: one worker at a time, from the tick. */
void weir_mcast_tick(struct weir_lcore *lc);

/* Control: a port has started (its MAC filter is written, its groups are reported); goes. */
void weir_mcast_port_up(struct weir_stack *stack, struct weir_port *port);
void weir_mcast_port_gone(struct weir_stack *stack, const struct weir_port *port);

#endif /* WEIR_MCAST_H */
