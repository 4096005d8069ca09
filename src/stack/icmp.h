/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP in (echo, errors about what we sent) and out (port unreachable). Layer 1; called by rx on the
 * receiving lcore.
 */
#ifndef WEIR_ICMP_H
#define WEIR_ICMP_H

#include "lcore.h"

/*
 * An ICMP message to one of our addresses (to_unicast false: to a broadcast address). Consumes m:
 * answered, handed to a socket as an error, ignored, or dropped with a reason.
 */
void weir_icmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		     const struct wire_view *v, bool to_unicast);

/*
 * Answer a datagram for which there is no socket with "port unreachable", within the rate limit
 * (RFC 1122 3.2.2, 4.1.3.1). The caller keeps m; its IP header is contiguous.
 */
void weir_icmp_port_unreachable(struct weir_lcore *lc, const struct weir_port *port,
				const struct rte_mbuf *m);

#endif /* WEIR_ICMP_H */
