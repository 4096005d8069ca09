/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP (IPv4) as it comes in, see icmp.h. Not hot: one message at a time.
 */
#include "icmp.h"

#include <errno.h>
#include <string.h>

#include "control_state.h"
#include "drop.h"
#include "fib.h"
#include "icmp_priv.h"
#include "local.h"
#include "mbuf.h"
#include "sock.h"

/* What an unreachable's code means to a socket (RFC 1122 4.1.3.3, as Linux maps them). */
static const struct {
	uint8_t err;
	bool hard; /* reported to a connected socket */
} unreach[16] = {
	[0] = {ENETUNREACH, false},   [1] = {EHOSTUNREACH, false}, [2] = {ENOPROTOOPT, true},
	[3] = {ECONNREFUSED, true},   [4] = {EMSGSIZE, true},      [5] = {EOPNOTSUPP, false},
	[6] = {ENETUNREACH, true},    [7] = {EHOSTDOWN, true},     [8] = {ENONET, true},
	[9] = {ENETUNREACH, true},    [10] = {EHOSTUNREACH, true}, [11] = {ENETUNREACH, false},
	[12] = {EHOSTUNREACH, false}, [13] = {EHOSTUNREACH, true}, [14] = {EHOSTUNREACH, true},
	[15] = {EHOSTUNREACH, true},
};

#define FRAG_NEEDED 4

/* Turn the request into its reply, in place (RFC 792, RFC 1122 3.2.2.6). */
static void
echo_reply(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	   const struct wire_view *v)
{
	uint8_t mac[WIRE_ETH_ALEN];
	struct wire_icmp *icmp;
	struct wire_ip4 ip;
	bool df;
	uint8_t *p;

	m = weir_icmp_take(lc, port, m);
	if (m == NULL)
		return;
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(mac, ((const struct wire_eth *)(void *)p)->src, sizeof(mac));
	memcpy(&ip, p + v->l2_len, sizeof(ip));
	/* Without options and padding; what follows the new header starts at the ICMP header. */
	weir_mbuf_window(m, (uint32_t)(v->l3_len - WIRE_IP4_MIN),
			 v->l2_len + WIRE_IP4_MIN + v->l3_payload);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	/*
	 * A request that may be fragmented has a reply that may be, for nobody here learns of it when it is too
	 * long for some link. Its identification is as good as the request's: of another pair of addresses.
	 */
	df = (ip.frag & WIRE_BE16(WIRE_IP4_DF)) != 0;
	weir_icmp_head4(port, p, mac, v->dst4, v->src4, ip.tos, df ? 0 : ip.id,
			df ? WIRE_BE16(WIRE_IP4_DF) : 0, v->l3_payload);
	icmp = (struct wire_icmp *)(void *)(p + WIRE_ETH_LEN + WIRE_IP4_MIN);
	icmp->type = WIRE_ICMP_ECHO_REPLY;
	/*
	 * RFC 1624: the type went from 8 to 0, nothing else changed. 0 comes out also where nothing but
	 * zeros is left to sum, whose checksum is ffff; that is as good in the other case.
	 */
	icmp->csum = (wire_be16)~wire_fold((uint64_t)(uint16_t)~icmp->csum +
					   (uint16_t)~WIRE_BE16(WIRE_ICMP_ECHO << 8));
	if (icmp->csum == 0)
		icmp->csum = 0xffff;
	weir_icmp_reply(lc, port, m, v->reassembled);
}

/* The IPv4 header and the UDP header that an error quotes. False: it quotes no datagram of this kind. */
static bool
quoted(struct rte_mbuf *m, const struct wire_view *v, struct weir_icmp_about *about,
       struct wire_ip4 *ip, enum weir_drop *why)
{
	uint8_t room[WIRE_IP4_MAX + WIRE_UDP_LEN];
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len + WIRE_ICMP_LEN;
	const uint32_t all = v->l3_payload - WIRE_ICMP_LEN;
	const uint32_t len = RTE_MIN(all, (uint32_t)sizeof(room));
	const uint8_t *q;
	struct wire_udp udp;
	uint32_t ihl;

	*why = WEIR_DROP_ICMP_SHORT;
	if (len < WIRE_IP4_MIN + WIRE_UDP_LEN || (q = weir_icmp_peek(m, off, len, room)) == NULL)
		return false;
	*why = WEIR_DROP_ICMP_QUOTE;
	memcpy(ip, q, sizeof(*ip));
	ihl = (ip->ver_ihl & 0xfu) * 4;
	/* Only a first (or only) fragment has a UDP header to go by. */
	if (ip->ver_ihl >> 4 != 4 || ihl < WIRE_IP4_MIN || ihl + WIRE_UDP_LEN > len ||
	    ip->proto != WIRE_PROTO_UDP || (ip->frag & WIRE_BE16(0x1fff)) != 0)
		return false;
	memcpy(&udp, q + ihl, sizeof(udp));
	*about = (struct weir_icmp_about){
		.src = {.w = {0, 0}},
		.dst = {.w = {0, 0}},
		.sport = udp.sport,
		.dport = udp.dport,
		.family = WEIR_IPV4,
		.sent_len = WIRE_BE16(ip->total_len),
		.udp_len = WIRE_BE16(udp.len),
		.off = off + ihl + WIRE_UDP_LEN,
		.left = all - ihl - WIRE_UDP_LEN,
	};
	about->src.v4 = ip->src;
	about->dst.v4 = ip->dst;
	return about->udp_len >= WIRE_UDP_LEN;
}

/* An error about a datagram: find the socket that sent it by the quoted header. */
static void
error_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	    const struct wire_view *v, const struct wire_icmp *icmp)
{
	struct weir_sockerr err = {.type = icmp->type, .code = icmp->code};
	struct weir_icmp_about about;
	struct weir_socket *sk = NULL;
	enum weir_drop why;
	struct wire_ip4 ip;
	bool hard = false;

	if (!quoted(m, v, &about, &ip, &why) || (sk = weir_icmp_sender(lc, port, &about)) == NULL) {
		weir_drop(lc, why, m);
		return;
	}
	if (icmp->type == WIRE_ICMP_UNREACH && icmp->code < RTE_DIM(unreach)) {
		const uint8_t pmtud = sk->tx.pmtud;

		err.err = unreach[icmp->code].err;
		hard = unreach[icmp->code].hard;
		if (icmp->code == FRAG_NEEDED) {
			err.info = WIRE_BE32(icmp->rest) & 0xffff; /* RFC 1191 4 */
			/* What may be fragmented no router complains about. */
			if (pmtud != WEIR_PMTUD_INTERFACE && pmtud != WEIR_PMTUD_OMIT &&
			    (ip.frag & WIRE_BE16(WIRE_IP4_DF)) != 0)
				weir_icmp_too_long(lc, &about, err.info);
			if (pmtud == WEIR_PMTUD_DONT) /* asked to be left alone */
				err.err = 0;
		}
	} else if (icmp->type == WIRE_ICMP_TIME_EXCEEDED && icmp->code == 0) {
		err.err = EHOSTUNREACH; /* of reassembly that failed nobody is told, as Linux */
	} else if (icmp->type == WIRE_ICMP_PARAM) {
		err.err = EPROTO;
		err.info = WIRE_BE32(icmp->rest) >> 24; /* the pointer */
		hard = true;
	}
	if (err.err != 0)
		weir_icmp_tell(sk, port, m, v, &about, &err, hard);
	weir_consume(lc, WEIR_PROTO_ICMP, m);
}

/*
 * "Send by way of gateway" (RFC 1122 3.2.2.2): only from the router that datagrams to dst take now, on the link
 * that both are on, only to another one there.
 */
static bool
redirect_ok(struct weir_lcore *lc, const struct weir_port *port, const struct wire_view *v,
	    const struct weir_icmp_about *about, const union weir_ip *gateway)
{
	const struct weir_way_key key = {
		.dst = &about->dst,
		.bound = &about->src,
		.family = WEIR_IPV4,
		.port = -1,
	};
	const union weir_ip any = {.w = {0, 0}};
	const struct weir_route *link;
	struct weir_way way;

	if (weir_way_find(lc->stack, &key, &way) != 0 || way.port != port || way.hop == NULL ||
	    !way.hop->has_gateway || way.next_hop.v4 != v->src4 || gateway->v4 == v->src4)
		return false;
	if (weir_is_mcast4(gateway->v4) || weir_local4(lc->stack, gateway->v4) != WEIR_NOT_LOCAL)
		return false;
	link = weir_fib_lookup(lc->stack, gateway, WEIR_IPV4, &any, port->index);
	return link != NULL && link->connected;
}

/* A better way, said of a datagram of ours: left to control. Off unless the port allows it. */
static void
redirect_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v, const struct wire_icmp *icmp)
{
	struct weir_post post = {.kind = WEIR_POST_REDIRECT, .port = port->index};
	struct weir_icmp_about about;
	enum weir_drop why;
	struct wire_ip4 ip;

	if (atomic_load_explicit((_Atomic bool *)(uintptr_t)&port->accept_redirects,
				 memory_order_relaxed)) {
		if (!quoted(m, v, &about, &ip, &why) ||
		    weir_icmp_sender(lc, port, &about) == NULL) {
			weir_drop(lc, why, m);
			return;
		}
		post.addr = (struct weir_addr){.ip = about.dst, .family = WEIR_IPV4};
		post.gateway.family = WEIR_IPV4;
		post.gateway.ip.v4 = icmp->rest;
		if (icmp->code <= 3 && redirect_ok(lc, port, v, &about, &post.gateway.ip))
			(void)weir_ctl_post(lc->stack, &post);
	}
	weir_consume(lc, WEIR_PROTO_ICMP, m);
}

void
weir_icmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		const struct wire_view *v, bool to_unicast)
{
	uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	struct wire_icmp icmp;

	if (wire_fold(weir_mbuf_sum(m, off, v->l3_payload)) != 0xffff) {
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
	/* RFC 1122 3.2.2.6: an echo request to a broadcast address may be ignored, and is; so is the rest. */
	if (!to_unicast) {
		weir_consume(lc, WEIR_PROTO_ICMP, m);
		return;
	}
	switch (icmp.type) {
	case WIRE_ICMP_ECHO:
		echo_reply(lc, port, m, v);
		break;
	case WIRE_ICMP_REDIRECT:
		redirect_input(lc, port, m, v, &icmp);
		break;
	case WIRE_ICMP_UNREACH:
	case WIRE_ICMP_TIME_EXCEEDED:
	case WIRE_ICMP_PARAM:
		error_input(lc, port, m, v, &icmp);
		break;
	default:
		weir_consume(lc, WEIR_PROTO_ICMP, m);
	}
}
