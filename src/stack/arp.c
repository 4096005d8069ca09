/* SPDX-License-Identifier: BSD-3-Clause */
/* See arp.h. */
#include "arp.h"

#include <string.h>

#include "batch.h"
#include "drop.h"
#include "fib.h"
#include "local.h"
#include "ndp.h"
#include "neigh.h"

/* ---- out ---- */

static void
arp_send(struct weir_lcore *lc, const struct weir_port *port, uint16_t op, wire_be32 spa,
	 const uint8_t *tha, wire_be32 tpa, const uint8_t *eth_dst)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lc->stack->pool);
	struct wire_eth *eth;
	struct wire_arp *arp;

	if (m == NULL)
		return; /* asked again at the next deadline */
	/* Padded to the Ethernet minimum: some virtual wires do not do it. */
	eth = (struct wire_eth *)rte_pktmbuf_append(m, 60);
	if (eth == NULL) {
		weir_mbuf_discard(m);
		return;
	}
	memset(eth, 0, 60);
	if (eth_dst != NULL)
		memcpy(eth->dst, eth_dst, WIRE_ETH_ALEN);
	else
		memset(eth->dst, 0xff, WIRE_ETH_ALEN);
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_ARP);
	arp = (struct wire_arp *)(eth + 1);
	arp->htype = WIRE_BE16(1);
	arp->ptype = WIRE_BE16(WIRE_ETH_IP4);
	arp->hlen = WIRE_ETH_ALEN;
	arp->plen = 4;
	arp->op = WIRE_BE16(op);
	memcpy(arp->sha, port->parse.mac, WIRE_ETH_ALEN);
	arp->spa = spa;
	if (tha != NULL)
		memcpy(arp->tha, tha, WIRE_ETH_ALEN);
	arp->tpa = tpa;
	weir_batch_protocol(lc, port, m);
}

void
weir_arp_ask(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
	     const uint8_t *mac)
{
	union weir_ip src;

	if (weir_neigh_source(lc->stack, port, ip, WEIR_IPV4, &src))
		arp_send(lc, port, WIRE_ARP_REQUEST, src.v4, NULL, ip->v4, mac);
}

void
weir_arp_probe(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip)
{
	arp_send(lc, port, WIRE_ARP_REQUEST, 0, NULL, ip->v4, NULL);
}

void
weir_arp_announce(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip)
{
	arp_send(lc, port, WIRE_ARP_REQUEST, ip->v4, NULL, ip->v4, NULL);
}

/* ---- in ---- */

/* Is the address one of a host that is reached over this port without a gateway? */
static bool
on_link(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip)
{
	const struct weir_route *r = weir_fib_lookup(stack, ip, WEIR_IPV4, NULL, -1);

	for (unsigned int i = 0; r != NULL && i < r->n_hops; i++)
		if (r->hop[i].port->index == port->index && !r->hop[i].has_gateway)
			return true;
	return false;
}

/* RFC 826 leaves these open; none of them can be a host. */
static bool
absurd(const struct wire_arp *arp, const union weir_ip *spa)
{
	const uint8_t *sha = arp->sha;

	return (arp->op != WIRE_BE16(WIRE_ARP_REQUEST) && arp->op != WIRE_BE16(WIRE_ARP_REPLY)) ||
	       (sha[0] & 1) != 0 || (sha[0] | sha[1] | sha[2] | sha[3] | sha[4] | sha[5]) == 0 ||
	       weir_is_mcast4(spa->v4) || spa->v4 == 0xffffffff || spa->b[0] == 127;
}

void
weir_arp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v)
{
	struct weir_stack *stack = lc->stack;
	const struct wire_arp *arp = rte_pktmbuf_mtod_offset(m, const struct wire_arp *, v->l2_len);
	const bool request = arp->op == WIRE_BE16(WIRE_ARP_REQUEST);
	struct weir_neigh_claim claim = {.answer = !request, .solicited = true, .override = true};
	union weir_ip spa = {.w = {0, 0}};
	union weir_ip tpa = {.w = {0, 0}};
	uint8_t sha[WIRE_ETH_ALEN];
	bool for_us;

	spa.v4 = arp->spa;
	tpa.v4 = arp->tpa;
	if (absurd(arp, &spa)) {
		weir_drop(lc, WEIR_DROP_ARP_BAD, m);
		return;
	}
	memcpy(sha, arp->sha, sizeof(sha));
	claim.mac = sha;
	/* The host model is the weak one: any address of ours but 127/8 (RFC 1122 3.3.4.2, as Linux). */
	for_us = weir_local4(stack, tpa.v4) == WEIR_LOCAL_UNICAST && !weir_is_loopback4(tpa.v4);
	/* Somebody speaks from an address of ours, or probes for what we probe for (RFC 5227 2.1.1, 2.4). */
	if (spa.v4 != 0 ? weir_dad_heard(lc, port, &spa, WEIR_IPV4, sha, false)
			: weir_dad_heard(lc, port, &tpa, WEIR_IPV4, sha, true)) {
		weir_consume(lc, WEIR_PROTO_ARP, m);
		return;
	}
	/* Learn from whom it concerns: on link here, not one of us, not a probe (RFC 5227). */
	if (spa.v4 != 0 && weir_local4(stack, spa.v4) == WEIR_NOT_LOCAL) {
		const bool near = on_link(stack, port, &spa);

		/* Not on link here by any route: only whom we have asked here all the same. */
		claim.create = for_us && request && near;
		claim.answer = for_us && !request;
		/* Gratuitous: only what we know already. */
		if (for_us || (near && spa.v4 == tpa.v4))
			(void)weir_neigh_learn(lc, port, &spa, WEIR_IPV4, &claim);
	}
	/* An address of ours as the sender is no question: see above. */
	if (request && for_us && weir_local4(stack, spa.v4) != WEIR_LOCAL_UNICAST)
		arp_send(lc, port, WIRE_ARP_REPLY, tpa.v4, sha, spa.v4, sha);
	weir_consume(lc, WEIR_PROTO_ARP, m);
}
