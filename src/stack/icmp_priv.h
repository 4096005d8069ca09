/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ICMP of both families shares: the rate limit, replies, and finding the socket that an error is about.
 * Layer 1; COLD, one message at a time, on the receiving lcore.
 */
#ifndef WEIR_ICMP_PRIV_H
#define WEIR_ICMP_PRIV_H

#include <weir/socket.h>

#include "icmp.h"

struct weir_socket;

/* ---- icmp_out.c: what is sent ---- */

/*
 * May one more message go to dst, that it has not asked for by itself? Takes a token of the lcore and one of the
 * destination. On the own host there is nobody to protect: always.
 */
bool weir_icmp_may_send(struct weir_lcore *lc, const struct weir_port *port,
			const union weir_ip *dst);

/* Ethernet and IP header of an ICMP message of `payload` bytes, ICMP header included; dst_mac may lie in p. */
void weir_icmp_head4(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac,
		     wire_be32 src, wire_be32 dst, uint8_t tos, wire_be16 id, wire_be16 frag,
		     uint32_t payload);
void weir_icmp_head6(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac,
		     const uint8_t *src, const uint8_t *dst, uint8_t traffic, uint32_t payload);

/* The address of ours to speak from to an IPv6 address, by this port. As weir_way_find(). */
int weir_icmp_source6(struct weir_lcore *lc, const struct weir_port *port, const uint8_t *to,
		      union weir_ip *src);

/*
 * The request m with its headers as they came (v), as a frame whose bytes are ours to change: itself or a copy.
 * NULL: no buffer, or no room in the port's batch; m has been dropped (icmp_noroom).
 */
struct rte_mbuf *weir_icmp_take(struct weir_lcore *lc, const struct weir_port *port,
				struct rte_mbuf *m);

/* Send m, which was a request (that came in fragments?) and is a finished reply now; in fragments if need be. */
void weir_icmp_reply(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		     bool reassembled);

/* ---- icmp_err.c: what came in about a datagram of ours ---- */

/* A quoted datagram, of either family, and what is said about it. */
struct weir_icmp_about {
	union weir_ip src, dst; /* of the datagram: ours, and where it went */
	wire_be16 sport, dport;
	uint8_t family;
	uint32_t sent_len; /* of the IP packet */
	uint32_t udp_len;
	uint32_t off;  /* of its payload in the message's frame */
	uint32_t left; /* bytes of payload that are quoted */
};

/* The socket that sent it, or NULL. */
struct weir_socket *weir_icmp_sender(struct weir_lcore *lc, const struct weir_port *port,
				     const struct weir_icmp_about *about);

/* Tell it: err, type, code and info are filled in, the rest is done here. */
void weir_icmp_tell(struct weir_socket *sk, const struct weir_port *port, const struct rte_mbuf *m,
		    const struct wire_view *v, const struct weir_icmp_about *about,
		    struct weir_sockerr *e, bool hard);

/* A router says that the datagram was too long for the next link, which takes mtu bytes (0: it does not say). */
void weir_icmp_too_long(struct weir_lcore *lc, const struct weir_icmp_about *about, uint32_t mtu);

/* len bytes from off on, in place or in room; NULL: there are not so many, or none. */
const uint8_t *weir_icmp_peek(const struct rte_mbuf *m, uint32_t off, uint32_t len, uint8_t *room);

/* Where the headers of an IPv6 packet lead. */
struct weir_icmp_chain {
	uint32_t off;  /* of the upper layer, from the IPv6 header; or where it was lost sight of */
	uint8_t upper; /* enum wire_ipproto */
	bool whole;    /* upper is the upper layer's, and not in sight only when off is len */
	bool later;    /* it lies in another fragment: nothing of it is here */
};

/* Follow the chain in the len bytes (WIRE_IP6_LEN at least) at ip6. */
void weir_icmp_chain6(const uint8_t *ip6, uint32_t len, struct weir_icmp_chain *chain);

#endif /* WEIR_ICMP_PRIV_H */
