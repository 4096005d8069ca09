/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP on the wire (RFC 826, RFC 1122 2.3.2, RFC 5227). COLD. Layer 1, beside neigh.h, which has the table.
 * Addresses are in network order.
 */
#ifndef WEIR_ARP_H
#define WEIR_ARP_H

#include "lcore.h"

/* A packet, structure checked by wire_parse, header contiguous. Consumes m. */
void weir_arp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		    const struct wire_view *v);

/* Ask for the MAC of ip; mac NULL: everybody, else that station alone. Nothing when the port has no address. */
void weir_arp_ask(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		  const uint8_t *mac);

/* Has anybody ip? RFC 5227 2.1.1: from no address. */
void weir_arp_probe(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip);

/* ip is ours (RFC 5227 2.3). */
void weir_arp_announce(struct weir_lcore *lc, const struct weir_port *port,
		       const union weir_ip *ip);

#endif /* WEIR_ARP_H */
