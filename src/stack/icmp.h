/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP and ICMPv6 in (echo, errors about what we sent) and out (errors about what came). Layer 1; called by rx
 * and reassembly on the receiving lcore.
 */
#ifndef WEIR_ICMP_H
#define WEIR_ICMP_H

#include "lcore.h"

/*
 * An ICMP (or ICMPv6) message to one of our addresses (to_unicast false: to a group address). Consumes m:
 * answered, handed to a socket as an error, to neighbour discovery or MLD, ignored, or dropped with a reason.
 */
void weir_icmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		     const struct wire_view *v, bool to_unicast);
void weir_icmp6_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		      const struct wire_view *v, bool to_unicast);

/* What a sender is told. */
enum weir_icmp_why {
	WEIR_ICMP_PORT_UNREACH,
	WEIR_ICMP_PROTO_UNREACH, /* IPv6: parameter problem 1, see pointer */
	WEIR_ICMP_REASM_TIME,    /* the first fragment of a datagram that did not become whole */
	WEIR_ICMP_PARAM_HEADER,  /* erroneous header field */
	WEIR_ICMP_PARAM_NEXT,    /* IPv6: unknown next header */
	WEIR_ICMP_PARAM_OPTION,  /* IPv6: unknown option */
	WEIR_ICMP_PARAM_CHAIN,   /* IPv6: first fragment without the whole chain (RFC 7112) */
};

/*
 * Tell the sender of m (a whole frame as received: Ethernet, IPv4 or IPv6; its IP header is contiguous) what is
 * wrong, within the rate limit and the rules (RFC 1122 3.2.2, RFC 4443 2.4: not about errors, to groups, to
 * fragments but the first, from nobody's address, ...). pointer: offset of the fault from the start of the IP
 * header, for the PARAM ones. The caller keeps m. COLD.
 */
void weir_icmp_error(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
		     enum weir_icmp_why why, uint32_t pointer);

#endif /* WEIR_ICMP_H */
