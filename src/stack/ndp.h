/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IPv6 neighbour and router discovery on the wire (RFC 4861), as a host does it, and who has which address on a
 * link, for both families (RFC 4862 5.4, RFC 5227). COLD. Layer 1, beside neigh.h, which has the table and the
 * states.
 *
 *   ndp.c     messages out; NS and NA in; what all messages must be
 *   rdisc.c   routers and prefixes: RS out, RA and Redirect in; what they say is posted to control
 *   dad.c     our claims to addresses: probes, announcements, conflicts
 */
#ifndef WEIR_NDP_H
#define WEIR_NDP_H

#include "lcore.h"

/* ---- ndp.c ---- */

/* RS, RA, NS, NA, Redirect: ICMPv6 checksum right, header contiguous. Consumes m. */
void weir_ndp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		    const struct wire_view *v);

/*
 * Ask for the MAC of ip on the port; mac NULL: the solicited-node group, else that station alone. As
 * weir_arp_ask(), which it stands beside. Nothing when the port has no address of the family.
 */
void weir_ndp_solicit(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		      const uint8_t *mac);

/* Has anybody ip? RFC 4862 5.4.2, with a nonce (RFC 7527) by which we know our own again. */
#define WEIR_NDP_NONCE 6
void weir_ndp_probe(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		    const uint8_t nonce[WEIR_NDP_NONCE]);

/* ip is ours: RFC 4861 7.2.6, to all nodes. */
void weir_ndp_announce(struct weir_lcore *lc, const struct weir_port *port,
		       const union weir_ip *ip);

/* To all routers: RFC 4861 6.3.7. */
void weir_ndp_router_solicit(struct weir_lcore *lc, const struct weir_port *port);

/* ---- within neighbour discovery ---- */

enum weir_ndp_opt {
	WEIR_NDP_SLLA = 1,
	WEIR_NDP_TLLA = 2,
	WEIR_NDP_PREFIX = 3,
	WEIR_NDP_REDIRECTED = 4,
	WEIR_NDP_MTU = 5,
	WEIR_NDP_NONCE_OPT = 14,
	WEIR_NDP_OPTS = 15,
};

/* One message: all of it contiguous, its options known to be well-formed. */
struct weir_ndp_msg {
	const struct wire_ip6 *ip;
	const struct wire_icmp *icmp;
	uint32_t len;                      /* from the ICMP header on */
	uint32_t fixed;                    /* where the options start */
	const uint8_t *opt[WEIR_NDP_OPTS]; /* the first of each type, NULL: none */
	uint8_t opt_len[WEIR_NDP_OPTS];    /* of it, in units of 8 */
	const uint8_t *mac;                /* source or target link-layer address, or NULL */
	uint8_t eth_src[WIRE_ETH_ALEN];
};

/* ---- rdisc.c ---- */

/* A valid RA, or a valid Redirect (RFC 4861 6.1.2, 8.1, but for what depends on routes). */
void weir_rdisc_ra(struct weir_lcore *lc, const struct weir_port *port,
		   const struct weir_ndp_msg *msg);
/* False: not from the router that we use: to be dropped. */
bool weir_rdisc_redirect(struct weir_lcore *lc, const struct weir_port *port,
			 const struct weir_ndp_msg *msg);

int weir_rdisc_init(struct weir_stack *stack);
void weir_rdisc_fini(struct weir_stack *stack);
/* The port runs, or its link has come up: solicit routers if it accepts their advertisements. */
void weir_rdisc_port_up(struct weir_stack *stack, const struct weir_port *port);
void weir_rdisc_tick(struct weir_lcore *lc);

/* ---- dad.c ---- */

int weir_dad_init(struct weir_stack *stack);
void weir_dad_fini(struct weir_stack *stack);

/*
 * Control, lock held: an address was added to a port, or removed (harmless for one that never was). When the
 * port asks for it (dad, dad4), it is tentative until WEIR_POST_ADDR_UNIQUE or WEIR_POST_ADDR_DUPLICATE is
 * posted; else it is announced. Either begins when the port runs. -ENOMEM.
 */
int weir_dad_start(struct weir_stack *stack, const struct weir_port *port,
		   const struct weir_addr *addr);
void weir_dad_stop(struct weir_stack *stack, const struct weir_port *port,
		   const struct weir_addr *addr);

/* Control, lock held: a port runs, or its link has come up again: announce its addresses, solicit routers. */
void weir_dad_port_up(struct weir_stack *stack, const struct weir_port *port);

/*
 * Somebody else, mac, speaks as the owner of ip (probe: only asks whether anybody has it). Nothing when ip is
 * neither ours nor to be ours on this port, or mac is one of ours. An address that we have is defended, once
 * in ten seconds, and the conflict logged and counted. True: it was tentative, and is a duplicate. Any lcore.
 */
bool weir_dad_heard(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		    uint8_t family, const uint8_t *mac, bool probe);

/* Is nonce one of those that were sent for ip? */
bool weir_dad_own_nonce(struct weir_lcore *lc, const struct weir_port *port,
			const union weir_ip *ip, const uint8_t nonce[WEIR_NDP_NONCE]);

/* Conflicts noticed about addresses that we have, since the stack was made. Any thread. */
uint64_t weir_dad_conflicts(const struct weir_stack *stack);

/* Timers of probes, announcements, router solicitations: one worker at a time, from the tick. */
void weir_ndp_tick(struct weir_lcore *lc);

#endif /* WEIR_NDP_H */
