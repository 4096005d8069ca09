/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbour discovery messages: see ndp.h. */
#include "ndp.h"

#include <string.h>

#include "batch.h"
#include "control_state.h"
#include "drop.h"
#include "local.h"
#include "mbuf.h"
#include "neigh.h"

#define HOP_LIMIT 255
/* ICMPv6 header and target address: NS and NA without options. */
#define TARGET_LEN (WIRE_ICMP_LEN + 16)
/* Longest message whose bytes may lie in several buffers; one that is contiguous may be longer. */
#define GATHER_MAX 2048

#define NA_ROUTER    UINT32_C(0x80000000)
#define NA_SOLICITED UINT32_C(0x40000000)
#define NA_OVERRIDE  UINT32_C(0x20000000)

static const union weir_ip all_nodes = {.b = {0xff, 2, [15] = 1}};
static const union weir_ip all_routers = {.b = {0xff, 2, [15] = 2}};

/* ---- out ---- */

/* What a message of ours consists of. */
struct message {
	uint8_t type;
	uint32_t rest;            /* the word behind the checksum, host order */
	const union weir_ip *src; /* NULL: nobody's */
	const union weir_ip *dst;
	const uint8_t *mac;          /* NULL: of dst, a group */
	const union weir_ip *target; /* NULL: none */
	uint8_t opt;                 /* our MAC as this option; 0: not */
	const uint8_t *nonce;        /* NULL: none */
};

static void
send(struct weir_lcore *lc, const struct weir_port *port, const struct message *msg)
{
	const uint16_t len = (uint16_t)(WIRE_ICMP_LEN + (msg->target != NULL ? 16 : 0) +
					(msg->opt != 0 ? 8 : 0) + (msg->nonce != NULL ? 8 : 0));
	struct rte_mbuf *m = rte_pktmbuf_alloc(lc->stack->pool);
	struct wire_eth *eth;
	struct wire_ip6 *ip;
	struct wire_icmp *icmp;
	uint8_t *p;

	if (m == NULL)
		return; /* as if lost: repeated at the next deadline */
	eth = (struct wire_eth *)rte_pktmbuf_append(m,
						    (uint16_t)(WIRE_ETH_LEN + WIRE_IP6_LEN + len));
	if (eth == NULL) {
		weir_mbuf_discard(m);
		return;
	}
	if (msg->mac != NULL) {
		memcpy(eth->dst, msg->mac, WIRE_ETH_ALEN);
	} else { /* RFC 2464 7 */
		eth->dst[0] = eth->dst[1] = 0x33;
		memcpy(&eth->dst[2], &msg->dst->b[12], 4);
	}
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_IP6);
	ip = (struct wire_ip6 *)(eth + 1);
	*ip = (struct wire_ip6){
		.ver_tc_flow = WIRE_BE32(UINT32_C(6) << 28),
		.payload_len = WIRE_BE16(len),
		.next = WIRE_PROTO_ICMP6,
		.hop_limit = HOP_LIMIT,
	};
	if (msg->src != NULL)
		memcpy(ip->src, msg->src->b, 16);
	memcpy(ip->dst, msg->dst->b, 16);
	icmp = (struct wire_icmp *)(ip + 1);
	*icmp = (struct wire_icmp){.type = msg->type, .rest = WIRE_BE32(msg->rest)};
	p = (uint8_t *)(icmp + 1);
	if (msg->target != NULL) {
		memcpy(p, msg->target->b, 16);
		p += 16;
	}
	if (msg->opt != 0) {
		p[0] = msg->opt;
		p[1] = 1;
		memcpy(p + 2, port->parse.mac, WIRE_ETH_ALEN);
		p += 8;
	}
	if (msg->nonce != NULL) {
		p[0] = WEIR_NDP_NONCE_OPT;
		p[1] = 1;
		memcpy(p + 2, msg->nonce, WEIR_NDP_NONCE);
	}
	icmp->csum = (wire_be16)~wire_fold(
		wire_sum(icmp, len, wire_pseudo6(ip->src, ip->dst, WIRE_PROTO_ICMP6, len)));
	weir_batch_protocol(lc, port, m);
}

void
weir_ndp_solicit(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		 const uint8_t *mac)
{
	const union weir_ip group = weir_solicited_node(ip);
	union weir_ip src;

	if (weir_neigh_source(lc->stack, port, ip, WEIR_IPV6, &src))
		send(lc, port,
		     &(struct message){.type = WIRE_ICMP6_NS,
				       .src = &src,
				       .dst = mac != NULL ? ip : &group,
				       .mac = mac,
				       .target = ip,
				       .opt = WEIR_NDP_SLLA});
}

void
weir_ndp_probe(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
	       const uint8_t nonce[WEIR_NDP_NONCE])
{
	const union weir_ip group = weir_solicited_node(ip);

	send(lc, port,
	     &(struct message){.type = WIRE_ICMP6_NS, .dst = &group, .target = ip, .nonce = nonce});
}

void
weir_ndp_announce(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip)
{
	send(lc, port,
	     &(struct message){.type = WIRE_ICMP6_NA,
			       .rest = NA_OVERRIDE,
			       .src = ip,
			       .dst = &all_nodes,
			       .target = ip,
			       .opt = WEIR_NDP_TLLA});
}

void
weir_ndp_router_solicit(struct weir_lcore *lc, const struct weir_port *port)
{
	union weir_ip src;
	const bool known = weir_neigh_source(lc->stack, port, &all_routers, WEIR_IPV6, &src) &&
			   weir_ip6_is_link_local(&src);

	/* RFC 4861 4.1: no link-layer address from nobody. */
	send(lc, port,
	     &(struct message){.type = WIRE_ICMP6_RS,
			       .src = known ? &src : NULL,
			       .dst = &all_routers,
			       .opt = known ? WEIR_NDP_SLLA : 0});
}

/* ---- in ---- */

/*
 * Options of the message, whose fixed part is `fixed` bytes: RFC 4861 4.6. Only the first of each type counts,
 * as far as one is enough (prefixes are walked by who wants them). False: one has length 0 or ends beyond.
 */
static bool
read_options(struct weir_ndp_msg *msg, uint32_t fixed)
{
	const uint8_t *p = (const uint8_t *)msg->icmp;
	uint32_t off = fixed;

	if (msg->len < fixed)
		return false;
	msg->fixed = fixed;
	while (off < msg->len) {
		uint32_t len;
		uint8_t type;

		if (msg->len - off < 8)
			return false;
		type = p[off];
		len = p[off + 1] * 8u;
		if (len == 0 || len > msg->len - off)
			return false;
		if (type < WEIR_NDP_OPTS && msg->opt[type] == NULL) {
			msg->opt[type] = p + off;
			msg->opt_len[type] = p[off + 1];
		}
		off += len;
	}
	return true;
}

/* A link-layer address option of Ethernet that can be a station's, or NULL. */
static const uint8_t *
mac_option(const struct weir_ndp_msg *msg, enum weir_ndp_opt type)
{
	const uint8_t *mac =
		msg->opt[type] != NULL && msg->opt_len[type] == 1 ? msg->opt[type] + 2 : NULL;

	if (mac == NULL || (mac[0] & 1) != 0 ||
	    (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) == 0)
		return NULL;
	return mac;
}

static union weir_ip
ip_at(const void *p)
{
	union weir_ip ip;

	memcpy(ip.b, p, sizeof(ip.b));
	return ip;
}

static bool
is_solicited_node(const uint8_t *dst)
{
	static const uint8_t prefix[13] = {0xff, 2, [11] = 1, [12] = 0xff};

	return memcmp(dst, prefix, sizeof(prefix)) == 0;
}

/* Is the address ours on this port? Others of ours are not answered for here: RFC 4861 7.2.3. */
static bool
answers_for(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip)
{
	const struct weir_local *l = weir_local_find(stack, ip, WEIR_IPV6);

	return l != NULL && l->kind == WEIR_LOCAL_UNICAST && (l->ports >> port->index & 1) != 0;
}

/* RFC 4861 7.1.1, 7.2.3, 7.2.4; RFC 4862 5.4.3. */
static bool
solicitation(struct weir_lcore *lc, const struct weir_port *port, struct weir_ndp_msg *msg)
{
	const union weir_ip src = ip_at(msg->ip->src);
	const bool probe = weir_ip_is_any(&src);
	struct weir_neigh_claim claim = {.create = true};
	union weir_ip target;

	if (!read_options(msg, TARGET_LEN))
		return false;
	target = ip_at(msg->icmp + 1);
	if (weir_ip6_is_mcast(&target) ||
	    (probe && (!is_solicited_node(msg->ip->dst) || msg->opt[WEIR_NDP_SLLA] != NULL)))
		return false;
	claim.mac = mac_option(msg, WEIR_NDP_SLLA);
	if (probe) {
		const uint8_t *nonce = msg->opt[WEIR_NDP_NONCE_OPT];

		/* RFC 7527 4.2: our own, come back. */
		if (nonce != NULL && msg->opt_len[WEIR_NDP_NONCE_OPT] == 1 &&
		    weir_dad_own_nonce(lc, port, &target, nonce + 2))
			return true;
		if (weir_dad_heard(lc, port, &target, WEIR_IPV6, msg->eth_src, true))
			return true;
	} else {
		(void)weir_dad_heard(lc, port, &src, WEIR_IPV6,
				     claim.mac != NULL ? claim.mac : msg->eth_src, false);
	}
	if (!answers_for(lc->stack, port, &target))
		return true;
	if (!probe)
		(void)weir_neigh_learn(lc, port, &src, WEIR_IPV6, &claim);
	/* To the station that asks: its frame came from there, whatever else it says or leaves out. */
	send(lc, port,
	     &(struct message){.type = WIRE_ICMP6_NA,
			       .rest = NA_OVERRIDE | (probe ? 0 : NA_SOLICITED),
			       .src = &target,
			       .dst = probe ? &all_nodes : &src,
			       .mac = probe               ? NULL
				      : claim.mac != NULL ? claim.mac
							  : msg->eth_src,
			       .target = &target,
			       .opt = WEIR_NDP_TLLA});
	return true;
}

/* RFC 4861 7.1.2, 7.2.5; RFC 4862 5.4.4. */
static bool
advertisement(struct weir_lcore *lc, const struct weir_port *port, struct weir_ndp_msg *msg)
{
	const uint32_t flags = WIRE_BE32(msg->icmp->rest);
	struct weir_neigh_claim claim = {
		.answer = true,
		.solicited = (flags & NA_SOLICITED) != 0,
		.override = (flags & NA_OVERRIDE) != 0,
		.has_router = true,
		.router = (flags & NA_ROUTER) != 0,
	};
	const uint8_t *mac;
	union weir_ip target;

	if (!read_options(msg, TARGET_LEN))
		return false;
	target = ip_at(msg->icmp + 1);
	if (weir_ip6_is_mcast(&target) || (msg->ip->dst[0] == 0xff && claim.solicited))
		return false;
	mac = mac_option(msg, WEIR_NDP_TLLA);
	if (weir_dad_heard(lc, port, &target, WEIR_IPV6, mac != NULL ? mac : msg->eth_src, false) ||
	    answers_for(lc->stack, port, &target))
		return true;
	claim.mac = mac;
	if (weir_neigh_learn(lc, port, &target, WEIR_IPV6, &claim)) {
		struct weir_post post = {
			.kind = WEIR_POST_ROUTER,
			.port = port->index,
			.addr = {.ip = target, .scope = port->index + 1u, .family = WEIR_IPV6}};

		(void)weir_ctl_post(lc->stack, &post);
	}
	return true;
}

/* What each message is to be, whatever its type: RFC 4861 6.1, 7.1, 8.1. */
static bool
message(struct weir_lcore *lc, const struct weir_port *port, struct weir_ndp_msg *msg)
{
	const union weir_ip src = ip_at(msg->ip->src);

	switch (msg->icmp->type) {
	case WIRE_ICMP6_NS:
		return solicitation(lc, port, msg);
	case WIRE_ICMP6_NA:
		return advertisement(lc, port, msg);
	case WIRE_ICMP6_RA:
		if (!weir_ip6_is_link_local(&src) || !read_options(msg, WIRE_ICMP_LEN + 8))
			return false;
		msg->mac = mac_option(msg, WEIR_NDP_SLLA);
		weir_rdisc_ra(lc, port, msg);
		return true;
	case WIRE_ICMP6_REDIRECT:
		if (!weir_ip6_is_link_local(&src) || !read_options(msg, WIRE_ICMP_LEN + 32))
			return false;
		msg->mac = mac_option(msg, WEIR_NDP_TLLA);
		return weir_rdisc_redirect(lc, port, msg);
	case WIRE_ICMP6_RS: /* for routers; but it has to be a good one */
		return read_options(msg, WIRE_ICMP_LEN) &&
		       !(weir_ip_is_any(&src) && msg->opt[WEIR_NDP_SLLA] != NULL);
	default:
		return false;
	}
}

void
weir_ndp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v)
{
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	uint8_t room[GATHER_MAX];
	struct weir_ndp_msg msg = {
		.ip = rte_pktmbuf_mtod_offset(m, const struct wire_ip6 *, v->l2_len),
		.len = v->l3_payload,
	};

	memcpy(msg.eth_src, rte_pktmbuf_mtod(m, const struct wire_eth *)->src, WIRE_ETH_ALEN);
	if (msg.len >= WIRE_ICMP_LEN && (msg.len <= sizeof(room) || off + msg.len <= m->data_len))
		msg.icmp = rte_pktmbuf_read(m, off, msg.len, room);
	/* From this link, in one piece (RFC 6980 5), and of the one kind there is. */
	if (msg.icmp == NULL || v->reassembled || v->hop_limit != HOP_LIMIT ||
	    msg.icmp->code != 0 || !message(lc, port, &msg)) {
		weir_drop(lc, WEIR_DROP_ND_BAD, m);
		return;
	}
	weir_consume(lc, WEIR_PROTO_ND, m);
}
