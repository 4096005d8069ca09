/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMPv6 as it comes in (RFC 4443), see icmp.h: echo and errors here, neighbour discovery and MLD to their
 * modules. Not hot: one message at a time.
 */
#include <errno.h>
#include <string.h>

#include "drop.h"
#include "icmp_priv.h"
#include "mbuf.h"
#include "mcast.h"
#include "ndp.h"
#include "sock.h"

/* What an unreachable's code means to a socket, as Linux maps them; EPROTO, and hard, what is not here. */
static const struct {
	uint8_t err;
	bool hard;
} unreach[] = {
	[0] = {ENETUNREACH, false},  /* no route */
	[1] = {EACCES, true},        /* prohibited */
	[2] = {EHOSTUNREACH, false}, /* beyond the source's scope */
	[3] = {EHOSTUNREACH, false}, /* address */
	[4] = {ECONNREFUSED, true},  /* port */
	[5] = {EACCES, true},        /* source policy */
	[6] = {EACCES, true},        /* reject route */
};

static const struct wire_ip6 *
header(const struct rte_mbuf *m, const struct wire_view *v)
{
	return rte_pktmbuf_mtod_offset(m, const struct wire_ip6 *, v->l2_len);
}

/*
 * The reply's source: the address that was asked; when that was a group, one of ours that fits the peer (RFC 4443 4.2), and
 * then the rate is limited, for one question makes many answer.
 */
static bool
reply_source(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
	     const struct wire_view *v, bool to_unicast, union weir_ip *src)
{
	const struct wire_ip6 *ip = header(m, v);
	union weir_ip peer;

	memcpy(&peer, ip->src, sizeof(peer));
	memcpy(src, ip->dst, sizeof(*src));
	if (weir_ip_is_any(&peer) || weir_ip6_is_mcast(&peer))
		return false;
	if (to_unicast || !weir_ip6_is_mcast(src))
		return to_unicast;
	return weir_icmp_may_send(lc, port, &peer) &&
	       weir_icmp_source6(lc, port, ip->src, src) == 0;
}

/* Turn the request into its reply, in place. */
static void
echo_reply(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	   const struct wire_view *v, const union weir_ip *src)
{
	uint8_t mac[WIRE_ETH_ALEN];
	struct wire_icmp *icmp;
	struct wire_ip6 ip;
	uint64_t sum;
	uint8_t *p;

	m = weir_icmp_take(lc, port, m);
	if (m == NULL)
		return;
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(mac, ((const struct wire_eth *)(void *)p)->src, sizeof(mac));
	memcpy(&ip, p + v->l2_len, sizeof(ip));
	/* Without extension headers and padding; what follows the new header starts at the ICMP header. */
	weir_mbuf_window(m, (uint32_t)(v->l3_len - WIRE_IP6_LEN),
			 v->l2_len + WIRE_IP6_LEN + v->l3_payload);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	weir_icmp_head6(port, p, mac, src->b, ip.src, (uint8_t)(WIRE_BE32(ip.ver_tc_flow) >> 20),
			v->l3_payload);
	icmp = (struct wire_icmp *)(void *)(p + WIRE_ETH_LEN + WIRE_IP6_LEN);
	icmp->type = WIRE_ICMP6_ECHO_REPLY;
	/* RFC 1624: the type has changed, and one of the addresses of the pseudo-header perhaps. */
	sum = (uint64_t)(uint16_t)~icmp->csum + (uint16_t)~WIRE_BE16(WIRE_ICMP6_ECHO << 8) +
	      WIRE_BE16(WIRE_ICMP6_ECHO_REPLY << 8);
	sum += (uint16_t)~wire_fold(wire_sum(ip.dst, sizeof(ip.dst), 0));
	sum += wire_fold(wire_sum(src->b, sizeof(src->b), 0));
	icmp->csum = (wire_be16)~wire_fold(sum);
	weir_icmp_reply(lc, port, m, v->reassembled);
}

/* The datagram that an error quotes: its IPv6 header, whatever chain, its UDP header. */
static bool
quoted(const struct rte_mbuf *m, const struct wire_view *v, struct weir_icmp_about *about,
       enum weir_drop *why)
{
	uint8_t room[WIRE_IP6_LEN + WIRE_EXT6_MAX + WIRE_UDP_LEN];
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len + WIRE_ICMP_LEN;
	const uint32_t all = v->l3_payload - WIRE_ICMP_LEN;
	const uint32_t len = RTE_MIN(all, (uint32_t)sizeof(room));
	struct weir_icmp_chain chain;
	struct wire_ip6 ip;
	struct wire_udp udp;
	const uint8_t *q;

	*why = WEIR_DROP_ICMP_SHORT;
	if (len < WIRE_IP6_LEN + WIRE_UDP_LEN || (q = weir_icmp_peek(m, off, len, room)) == NULL)
		return false;
	*why = WEIR_DROP_ICMP_QUOTE;
	memcpy(&ip, q, sizeof(ip));
	if (q[0] >> 4 != 6)
		return false;
	weir_icmp_chain6(q, len, &chain);
	/* A later fragment has no UDP header to go by. */
	if (!chain.whole || chain.later || chain.upper != WIRE_PROTO_UDP ||
	    chain.off + WIRE_UDP_LEN > len)
		return false;
	memcpy(&udp, q + chain.off, sizeof(udp));
	*about = (struct weir_icmp_about){
		.src = {.w = {0, 0}},
		.dst = {.w = {0, 0}},
		.sport = udp.sport,
		.dport = udp.dport,
		.family = WEIR_IPV6,
		.sent_len = (uint32_t)WIRE_IP6_LEN + WIRE_BE16(ip.payload_len),
		.udp_len = WIRE_BE16(udp.len),
		.off = off + chain.off + WIRE_UDP_LEN,
		.left = all - chain.off - WIRE_UDP_LEN,
	};
	memcpy(&about->src, ip.src, sizeof(about->src));
	memcpy(&about->dst, ip.dst, sizeof(about->dst));
	return about->udp_len >= WIRE_UDP_LEN;
}

/* An error about a datagram: find the socket that sent it by the quoted header. */
static void
error_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	    const struct wire_view *v, const struct wire_icmp *icmp)
{
	struct weir_sockerr err = {
		.err = EPROTO,
		.type = icmp->type,
		.code = icmp->code,
		.info = WIRE_BE32(icmp->rest), /* an MTU, or a pointer */
	};
	struct weir_icmp_about about;
	struct weir_socket *sk = NULL;
	enum weir_drop why;
	bool hard = false;

	if (!quoted(m, v, &about, &why) || (sk = weir_icmp_sender(lc, port, &about)) == NULL) {
		weir_drop(lc, why, m);
		return;
	}
	switch (icmp->type) {
	case WIRE_ICMP6_UNREACH:
		hard = true;
		if (icmp->code < RTE_DIM(unreach)) {
			err.err = unreach[icmp->code].err;
			hard = unreach[icmp->code].hard;
		}
		break;
	case WIRE_ICMP6_TOO_BIG: {
		const uint8_t pmtud = sk->tx6.pmtud;

		err.err = EMSGSIZE;
		hard = pmtud != WEIR_PMTUD_DONT;
		if (pmtud == WEIR_PMTUD_INTERFACE || pmtud == WEIR_PMTUD_OMIT)
			err.err = 0; /* not believed, not heard */
		else
			weir_icmp_too_long(lc, &about, err.info);
		break;
	}
	case WIRE_ICMP6_TIME_EXCEEDED:
		err.err = EHOSTUNREACH;
		break;
	case WIRE_ICMP6_PARAM:
		hard = true;
		break;
	default: /* RFC 4443 2.4 (a): errors of kinds unknown are for the upper layer all the same */
		break;
	}
	if (err.err != 0)
		weir_icmp_tell(sk, port, m, v, &about, &err, hard);
	weir_consume(lc, WEIR_PROTO_ICMP, m);
}

static bool
csum_ok(const struct rte_mbuf *m, const struct wire_view *v)
{
	const struct wire_ip6 *ip = header(m, v);
	const uint64_t pseudo = wire_pseudo6(ip->src, ip->dst, WIRE_PROTO_ICMP6, v->l3_payload);

	return wire_fold(pseudo + wire_fold(weir_mbuf_sum(m, (uint32_t)v->l2_len + v->l3_len,
							  v->l3_payload))) == 0xffff;
}

void
weir_icmp6_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 const struct wire_view *v, bool to_unicast)
{
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	union weir_ip src;
	struct wire_icmp icmp;

	if (!csum_ok(m, v)) {
		weir_drop(lc, WEIR_DROP_ICMP_CSUM, m);
		return;
	}
	if (unlikely(m->data_len < off + WIRE_ICMP_LEN)) {
		struct rte_mbuf *head = weir_mbuf_pull(m, off + WIRE_ICMP_LEN, lc->stack->pool);

		if (head == NULL) {
			weir_drop(lc, WEIR_DROP_MEM_LIMIT, m);
			return;
		}
		m = head;
	}
	memcpy(&icmp, rte_pktmbuf_mtod_offset(m, const uint8_t *, off), sizeof(icmp));
	switch (icmp.type) {
	case WIRE_ICMP6_ECHO:
		if (reply_source(lc, port, m, v, to_unicast, &src))
			echo_reply(lc, port, m, v, &src);
		else
			weir_consume(lc, WEIR_PROTO_ICMP, m);
		break;
	case WIRE_ICMP6_RS:
	case WIRE_ICMP6_RA:
	case WIRE_ICMP6_NS:
	case WIRE_ICMP6_NA:
	case WIRE_ICMP6_REDIRECT:
		weir_ndp_input(lc, port, m, v);
		break;
	case WIRE_ICMP6_MLD_QUERY:
	case WIRE_ICMP6_MLD_REPORT:
	case WIRE_ICMP6_MLD_DONE:
	case WIRE_ICMP6_MLD2_REPORT:
		weir_mld_input(lc, port, m, v);
		break;
	default:
		/* RFC 4443 2.4 (b): informational messages of kinds unknown are for nobody. */
		if (icmp.type < 128 && to_unicast)
			error_input(lc, port, m, v, &icmp);
		else
			weir_consume(lc, WEIR_PROTO_ICMP, m);
	}
}
