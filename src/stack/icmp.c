/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP, see icmp.h. Not hot: one message at a time.
 */
#include "icmp.h"

#include <errno.h>
#include <string.h>

#include "batch.h"
#include "drop.h"
#include "local.h"
#include "mbuf.h"
#include "sock.h"
#include "socktab.h"

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

/* Ethernet and IPv4 header of a message of ours. */
static void
write_headers(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac, wire_be32 src,
	      wire_be32 dst, uint8_t tos, uint16_t payload)
{
	struct wire_eth *eth = (struct wire_eth *)(void *)p;
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(p + WIRE_ETH_LEN);

	memmove(eth->dst, dst_mac, WIRE_ETH_ALEN);
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_IP4);
	*ip = (struct wire_ip4){
		.ver_ihl = 0x45,
		.tos = tos,
		.total_len = WIRE_BE16((uint16_t)(WIRE_IP4_MIN + payload)),
		.frag = WIRE_BE16(WIRE_IP4_DF),
		.ttl = 64,
		.proto = WIRE_PROTO_ICMP,
		.src = src,
		.dst = dst,
	};
	ip->csum = wire_ip4_csum(ip, WIRE_IP4_MIN);
}

/* May the first segment's bytes be changed? Not while somebody else can see them. */
static bool
ours_alone(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 && !RTE_MBUF_CLONED(m) &&
	       (!RTE_MBUF_HAS_EXTBUF(m) || rte_mbuf_ext_refcnt_read(m->shinfo) == 1);
}

/* Turn the request into its reply, in place (RFC 792, RFC 1122 3.2.2.6). */
static void
echo_reply(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	   const struct wire_view *v)
{
	uint8_t mac[WIRE_ETH_ALEN];
	struct wire_icmp *icmp;
	uint8_t tos;
	uint8_t *p;

	if (!ours_alone(m) || (!port->tx_multi_seg && m->nb_segs > 1)) {
		struct rte_mbuf *one = weir_mbuf_flatten(m, lc->stack->pool);

		if (one == NULL) {
			weir_drop(lc, WEIR_DROP_ICMP_NOROOM, m);
			return;
		}
		m = one;
	}
	if (weir_batch_room(lc, port) == 0) {
		weir_drop(lc, WEIR_DROP_ICMP_NOROOM, m);
		return;
	}
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(mac, ((const struct wire_eth *)(void *)p)->src, sizeof(mac));
	tos = ((const struct wire_ip4 *)(void *)(p + v->l2_len))->tos;
	/* Without options and padding; what follows the new header starts at the ICMP header. */
	weir_mbuf_window(m, (uint32_t)(v->l3_len - WIRE_IP4_MIN),
			 v->l2_len + WIRE_IP4_MIN + v->l3_payload);
	p = rte_pktmbuf_mtod(m, uint8_t *);
	write_headers(port, p, mac, v->dst4, v->src4, tos, (uint16_t)v->l3_payload);
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
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	m->tx_offload = 0;
	weir_count(&lc->c.rx_consumed[WEIR_PROTO_ICMP], 1);
	weir_count(&lc->c.tx_protocol, 1);
	weir_batch_put(lc, port, m);
}

/* Next-hop MTU of a "fragmentation needed" (RFC 1191 4), network order; off: behind the ICMP header. */
static wire_be16
icmp_mtu(const struct rte_mbuf *m, uint32_t off)
{
	wire_be16 mtu;

	memcpy(&mtu, rte_pktmbuf_mtod_offset(m, const uint8_t *, off - 2), sizeof(mtu));
	return mtu;
}

static void
copy_quote(const struct rte_mbuf *m, uint32_t off, uint32_t len, uint8_t *to)
{
	const void *from = len > 0 ? rte_pktmbuf_read(m, off, len, to) : NULL;

	if (from != NULL && from != to)
		memcpy(to, from, len);
}

/* An error about a datagram: find the socket that sent it by the quoted header. */
static void
error_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	    const struct wire_view *v, uint8_t type, uint8_t code)
{
	uint8_t room[WIRE_IP4_MAX + WIRE_UDP_LEN];
	uint32_t off = (uint32_t)v->l2_len + v->l3_len + WIRE_ICMP_LEN;
	uint32_t len = v->l3_payload - WIRE_ICMP_LEN;
	const uint32_t quoted = len;
	struct weir_key key = {.family = WEIR_IPV4};
	struct weir_sockerr err = {0};
	struct weir_socket *sk;
	bool hard = false;
	const uint8_t *q;
	uint32_t ihl;
	const struct wire_ip4 *ip;
	const struct wire_udp *udp;

	if (len > sizeof(room))
		len = sizeof(room);
	q = len >= WIRE_IP4_MIN + WIRE_UDP_LEN ? rte_pktmbuf_read(m, off, len, room) : NULL;
	if (q == NULL) {
		weir_drop(lc, WEIR_DROP_ICMP_SHORT, m);
		return;
	}
	ip = (const struct wire_ip4 *)(const void *)q;
	ihl = (ip->ver_ihl & 0xfu) * 4;
	/* Only a first (or only) fragment has a UDP header to go by. */
	if (ip->ver_ihl >> 4 != 4 || ihl < WIRE_IP4_MIN || ihl + WIRE_UDP_LEN > len ||
	    ip->proto != WIRE_PROTO_UDP || (ip->frag & WIRE_BE16(0x1fff)) != 0 ||
	    WIRE_BE16(((const struct wire_udp *)(const void *)(q + ihl))->len) < WIRE_UDP_LEN) {
		weir_drop(lc, WEIR_DROP_ICMP_QUOTE, m);
		return;
	}
	udp = (const struct wire_udp *)(const void *)(q + ihl);
	key.local.v4 = ip->src;
	key.peer.v4 = ip->dst;
	key.lport = udp->sport;
	key.pport = udp->dport;
	key.iface = (uint16_t)(port->index +
			       1); /* a socket bound to another interface did not send it */
	if (weir_local4(lc->stack, ip->src) != WEIR_LOCAL_UNICAST ||
	    (sk = weir_socktab_lookup(lc, &key)) == NULL) {
		weir_drop(lc, WEIR_DROP_ICMP_QUOTE, m);
		return;
	}
	err.origin = 2;
	err.type = type;
	err.code = code;
	err.to = weir_addr_v4(WIRE_BE32(ip->dst), WIRE_BE16(udp->dport));
	err.offender = weir_addr_v4(WIRE_BE32(v->src4), 0);
	if (type == WIRE_ICMP_UNREACH && code < RTE_DIM(unreach)) {
		err.err = unreach[code].err;
		hard = unreach[code].hard;
		if (code == FRAG_NEEDED) {
			err.info = WIRE_BE16(icmp_mtu(m, off));
			if (sk->tx.pmtud == WEIR_PMTUD_DONT) /* asked to be left alone */
				err.err = 0;
		}
	} else if (type == WIRE_ICMP_TIME_EXCEEDED) {
		err.err = EHOSTUNREACH;
	} else if (type == WIRE_ICMP_PARAM) {
		err.err = EPROTO;
		hard = true;
	}
	if (err.err != 0) {
		/* The payload that was quoted, as much as there is. */
		err.len = RTE_MIN(quoted - ihl - WIRE_UDP_LEN, (uint32_t)sizeof(err.payload));
		err.len = RTE_MIN(err.len, (uint32_t)WIRE_BE16(udp->len) - WIRE_UDP_LEN);
		copy_quote(m, off + ihl + WIRE_UDP_LEN, err.len, err.payload);
		weir_sock_report(sk, &err, hard);
	}
	weir_consume(lc, WEIR_PROTO_ICMP, m);
}

void
weir_icmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		const struct wire_view *v, bool to_unicast)
{
	uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	const struct wire_icmp *icmp;

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
	icmp = rte_pktmbuf_mtod_offset(m, const struct wire_icmp *, off);
	switch (icmp->type) {
	case WIRE_ICMP_ECHO:
		/* RFC 1122 3.2.2.6: an echo request to a broadcast address may be ignored, and is. */
		if (to_unicast)
			echo_reply(lc, port, m, v);
		else
			weir_consume(lc, WEIR_PROTO_ICMP, m);
		break;
	case WIRE_ICMP_UNREACH:
	case WIRE_ICMP_TIME_EXCEEDED:
	case WIRE_ICMP_PARAM:
		error_input(lc, port, m, v, icmp->type, icmp->code);
		break;
	default:
		weir_consume(lc, WEIR_PROTO_ICMP, m);
	}
}

/* One token per message; at most one second's worth is saved up. */
static bool
rate_ok(struct weir_lcore *lc)
{
	uint64_t full = (uint64_t)lc->stack->conf.icmp_rate * 1000;
	uint64_t elapsed = lc->now_ns - lc->icmp_filled_ns;

	if (elapsed >= WEIR_NS_PER_S) {
		lc->icmp_tokens = full;
		lc->icmp_filled_ns = lc->now_ns;
	} else if (elapsed >= WEIR_NS_PER_MS) {
		lc->icmp_tokens = RTE_MIN(full, lc->icmp_tokens + lc->stack->conf.icmp_rate *
									  elapsed / WEIR_NS_PER_MS);
		lc->icmp_filled_ns = lc->now_ns;
	}
	if (lc->icmp_tokens < 1000)
		return false;
	lc->icmp_tokens -= 1000;
	return true;
}

/* RFC 1812 4.3.2.3: quote as much as fits into 576 bytes. */
#define QUOTE_MAX (576 - WIRE_IP4_MIN - WIRE_ICMP_LEN)

static void
port_unreachable(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m)
{
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_ip4 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, WIRE_ETH_LEN);
	uint8_t room[QUOTE_MAX];
	uint32_t quote = RTE_MIN((uint32_t)WIRE_BE16(ip->total_len), (uint32_t)QUOTE_MAX);
	uint32_t len = WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_ICMP_LEN + quote;
	struct wire_icmp *icmp;
	struct rte_mbuf *e;
	const void *q;
	uint8_t *p;

	if (!port->parse.loopback && !rate_ok(lc)) /* on our own host there is nobody to protect */
		return;
	q = rte_pktmbuf_read(m, WIRE_ETH_LEN, quote, room);
	e = rte_pktmbuf_alloc(lc->stack->pool);
	if (e == NULL)
		return;
	p = (uint8_t *)rte_pktmbuf_append(e, (uint16_t)len);
	if (p == NULL || q == NULL) {
		weir_mbuf_discard(e);
		return;
	}
	/* Precedence 6, as RFC 1812 4.3.2.5 asks of errors. */
	write_headers(port, p, eth->src, ip->dst, ip->src, 0xc0, (uint16_t)(WIRE_ICMP_LEN + quote));
	icmp = (struct wire_icmp *)(void *)(p + WIRE_ETH_LEN + WIRE_IP4_MIN);
	*icmp = (struct wire_icmp){.type = WIRE_ICMP_UNREACH, .code = 3};
	memcpy(icmp + 1, q, quote);
	icmp->csum = (wire_be16)~wire_fold(wire_sum(icmp, WIRE_ICMP_LEN + quote, 0));
	weir_batch_protocol(lc, port, e);
}

void
weir_icmp6_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 const struct wire_view *v, bool to_unicast)
{
	(void)port;
	(void)v;
	(void)to_unicast;
	weir_consume(lc, WEIR_PROTO_ICMP, m);
}

void
weir_icmp_error(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
		enum weir_icmp_why why, uint32_t pointer)
{
	(void)pointer;
	if (why == WEIR_ICMP_PORT_UNREACH)
		port_unreachable(lc, port, m);
}
