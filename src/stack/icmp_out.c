/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP that this host sends: errors about what it received, and the frames of replies. See icmp.h, icmp_priv.h.
 *
 * Two limits, as Linux has them: tokens of the lcore, and tokens of each destination. The first are taken by
 * amounts that vary, so that nobody learns from outside how many are left (who counts them learns which ports
 * are open by what did not cost one).
 */
#include <errno.h>
#include <string.h>

#include "batch.h"
#include "drop.h"
#include "fib.h"
#include "fragment.h"
#include "icmp_priv.h"
#include "local.h"
#include "mbuf.h"
#include "pmtu.h"

#define IP6_MIN_MTU 1280 /* RFC 8200 5 */

/* ---- how often ---- */

#define TOKEN    UINT64_C(1000)
#define COST_MAX (TOKEN * 3 / 2)

/* Seconds' worth of tokens that a destination may save up. */
#define PEER_SAVED 6

static uint64_t
mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* Who is it? Keyed, so that nobody can choose whom to share a place with. */
static uint64_t
peer_hash(const struct weir_stack *stack, const union weir_ip *dst)
{
	return mix(dst->w[0] ^ stack->hash_key[3], dst->w[1] ^ stack->hash_key[1]) | 1;
}

static void
refill(struct weir_lcore *lc)
{
	const uint64_t rate = lc->stack->conf.icmp_rate;
	const uint64_t full =
		rate * TOKEN + TOKEN / 2; /* a second's worth, whatever the last one costs */
	/* A clock that went back fills nothing. */
	const uint64_t elapsed =
		lc->now_ns > lc->icmp_filled_ns ? lc->now_ns - lc->icmp_filled_ns : 0;

	if (elapsed >= WEIR_NS_PER_S) {
		lc->icmp_tokens = full;
		lc->icmp_filled_ns = lc->now_ns;
	} else if (elapsed >= WEIR_NS_PER_MS) {
		lc->icmp_tokens = RTE_MIN(full, lc->icmp_tokens + rate * elapsed / WEIR_NS_PER_MS);
		lc->icmp_filled_ns = lc->now_ns;
	} else if (lc->now_ns < lc->icmp_filled_ns) {
		lc->icmp_filled_ns = lc->now_ns;
	}
}

/*
 * A thousandth of the lcore's rate, at least one per second, is a destination's; as much as it has not used of
 * the last seconds it may have at once. idle_ns: when it will have all of it again.
 */
static bool
peer_ok(struct weir_lcore *lc, const union weir_ip *dst)
{
	const uint64_t rate = RTE_MAX(lc->stack->conf.icmp_rate / 1000, 1u);
	const uint64_t who = peer_hash(lc->stack, dst);
	struct weir_icmp_peer *set =
		&lc->icmp_peer[(who >> 32) % (WEIR_ICMP_PEERS / WEIR_ICMP_WAYS) * WEIR_ICMP_WAYS];
	struct weir_icmp_peer *e = &set[0];
	uint64_t idle_ns;

	for (unsigned int i = 0; i < WEIR_ICMP_WAYS; i++) {
		if (set[i].who == who) {
			e = &set[i];
			break;
		}
		if (set[i].idle_ns < e->idle_ns) /* who has used least of his goes first */
			e = &set[i];
	}
	idle_ns = e->who == who ? e->idle_ns : 0;
	/* So far ahead only after the clock went back. */
	if (idle_ns < lc->now_ns || idle_ns - lc->now_ns > 2 * PEER_SAVED * WEIR_NS_PER_S)
		idle_ns = lc->now_ns;
	idle_ns += WEIR_NS_PER_S / rate;
	if (idle_ns - lc->now_ns > PEER_SAVED * WEIR_NS_PER_S)
		return false;
	e->who = who;
	e->idle_ns = idle_ns;
	return true;
}

bool
weir_icmp_may_send(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *dst)
{
	if (port->parse.loopback)
		return true;
	refill(lc);
	if (lc->icmp_tokens < COST_MAX || !peer_ok(lc, dst))
		return false;
	/* Half to one and a half, one in the mean. */
	lc->icmp_draws++;
	lc->icmp_tokens -= TOKEN / 2 + mix(lc->icmp_draws ^ lc->stack->hash_key[0],
					   lc->stack->hash_key[2] ^ lc->icmp_filled_ns) %
					       (COST_MAX - TOKEN / 2 + 1);
	return true;
}

/* ---- frames ---- */

static void
head_eth(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac, uint16_t type)
{
	struct wire_eth *eth = (struct wire_eth *)(void *)p;

	memmove(eth->dst, dst_mac, WIRE_ETH_ALEN);
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(type);
}

void
weir_icmp_head4(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac, wire_be32 src,
		wire_be32 dst, uint8_t tos, wire_be16 id, wire_be16 frag, uint32_t payload)
{
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(p + WIRE_ETH_LEN);

	head_eth(port, p, dst_mac, WIRE_ETH_IP4);
	*ip = (struct wire_ip4){
		.ver_ihl = 0x45,
		.tos = tos,
		.total_len = WIRE_BE16((uint16_t)(WIRE_IP4_MIN + payload)),
		.id = id,
		.frag = frag,
		.ttl = 64,
		.proto = WIRE_PROTO_ICMP,
		.src = src,
		.dst = dst,
	};
	ip->csum = wire_ip4_csum(ip, WIRE_IP4_MIN);
}

void
weir_icmp_head6(const struct weir_port *port, uint8_t *p, const uint8_t *dst_mac,
		const uint8_t *src, const uint8_t *dst, uint8_t traffic, uint32_t payload)
{
	const uint8_t hops =
		atomic_load_explicit((_Atomic uint8_t *)(uintptr_t)&port->cur_hop_limit,
				     memory_order_relaxed);
	struct wire_ip6 *ip = (struct wire_ip6 *)(void *)(p + WIRE_ETH_LEN);

	head_eth(port, p, dst_mac, WIRE_ETH_IP6);
	ip->ver_tc_flow = WIRE_BE32(UINT32_C(6) << 28 | (uint32_t)traffic << 20);
	ip->payload_len = WIRE_BE16(payload);
	ip->next = WIRE_PROTO_ICMP6;
	ip->hop_limit = hops != 0 ? hops : 64;
	memmove(ip->src, src, sizeof(ip->src));
	memmove(ip->dst, dst, sizeof(ip->dst));
}

/* May the first segment's bytes be changed? Not while somebody else can see them. */
static bool
ours_alone(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 && !RTE_MBUF_CLONED(m) &&
	       (!RTE_MBUF_HAS_EXTBUF(m) || rte_mbuf_ext_refcnt_read(m->shinfo) == 1);
}

struct rte_mbuf *
weir_icmp_take(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	struct rte_mbuf *mine = m;

	if (!ours_alone(m)) {
		mine = weir_mbuf_copy_range(m, lc->stack->pool, 0, m->pkt_len);
		if (mine != NULL)
			weir_mbuf_discard(m);
	} else if (!port->tx_multi_seg && m->nb_segs > 1 &&
		   m->pkt_len - WIRE_ETH_LEN <= port->mtu) {
		/* What is longer goes in fragments, each in one buffer. */
		mine = weir_mbuf_flatten(m, lc->stack->pool);
	}
	if (mine == NULL) {
		weir_drop(lc, WEIR_DROP_ICMP_NOROOM, m);
		return NULL;
	}
	if (weir_batch_room(lc, port) == 0) {
		weir_drop(lc, WEIR_DROP_ICMP_NOROOM, mine);
		return NULL;
	}
	return mine;
}

/* The longest packet for a reply to go out in. */
static uint16_t
reply_mtu(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
	  bool reassembled)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	union weir_ip dst = {.w = {0, 0}};
	uint16_t mtu, path;
	bool lock;

	if (p[WIRE_ETH_LEN] >> 4 == 4) {
		dst.v4 = ((const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN))->dst;
		path = weir_pmtu_get(lc->stack, &dst, WEIR_IPV4, lc->now_ns, &lock);
		mtu = port->mtu;
	} else {
		memcpy(&dst, p + WIRE_ETH_LEN + offsetof(struct wire_ip6, dst), sizeof(dst));
		path = weir_pmtu_get(lc->stack, &dst, WEIR_IPV6, lc->now_ns, &lock);
		/*
		 * A request in one piece has shown that the path takes as much. One in several may have met a
		 * link of less; nobody here would hear of it.
		 */
		mtu = !reassembled ? port->mtu : RTE_MIN(port->mtu, (uint16_t)IP6_MIN_MTU);
	}
	return path != 0 ? RTE_MIN(mtu, path) : mtu;
}

void
weir_icmp_reply(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		bool reassembled)
{
	const uint16_t mtu = reply_mtu(lc, port, m, reassembled);

	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	m->tx_offload = 0;
	if (m->pkt_len - WIRE_ETH_LEN > mtu) {
		if (weir_fragment_protocol(lc, port, m, mtu) != 0)
			weir_drop(lc, WEIR_DROP_ICMP_NOROOM, m);
		else
			weir_count(&lc->c.rx_consumed[WEIR_PROTO_ICMP], 1);
		return;
	}
	weir_count(&lc->c.rx_consumed[WEIR_PROTO_ICMP], 1);
	weir_count(&lc->c.tx_protocol, 1);
	weir_batch_put(lc, port, m);
}

/* ---- errors: about what may they be ---- */

void
weir_icmp_chain6(const uint8_t *ip6, uint32_t len, struct weir_icmp_chain *chain)
{
	const struct wire_ip6 *ip = (const struct wire_ip6 *)(const void *)ip6;
	uint32_t off = WIRE_IP6_LEN;
	uint8_t next = ip->next;
	bool later = false;
	bool whole = false;

	while (!whole && !later) {
		uint32_t hdr;

		switch (next) {
		case WIRE_PROTO_HOPOPTS:
		case WIRE_PROTO_DSTOPTS:
		case WIRE_PROTO_ROUTING:
		case WIRE_PROTO_AH:
			if (off + 8 > len)
				goto out;
			hdr = next == WIRE_PROTO_AH ? (ip6[off + 1] + 2u) * 4
						    : (ip6[off + 1] + 1u) * 8;
			break;
		case WIRE_PROTO_FRAGMENT:
			hdr = WIRE_FRAG6_LEN;
			if (off + hdr > len)
				goto out;
			later = (ip6[off + 2] | (ip6[off + 3] & 0xf8)) != 0;
			break;
		default:
			whole = true;
			continue;
		}
		next = ip6[off];
		off += hdr;
		if (off > len)
			goto out;
	}
out:
	*chain =
		(struct weir_icmp_chain){.off = off, .upper = next, .whole = whole, .later = later};
}

static bool
frame_to_group(const struct rte_mbuf *m)
{
	return (rte_pktmbuf_mtod(m, const struct wire_eth *)->dst[0] & 1) != 0;
}

/* Does an address name one host that can be answered? RFC 1122 3.2.2 "source address". */
static bool
one_host4(struct weir_lcore *lc, const struct weir_port *port, wire_be32 addr)
{
	const uint32_t host = WIRE_BE32(addr);

	if (host >> 24 == 127)
		return port->parse.loopback;
	return host >> 24 != 0 && host < 0xe0000000 &&
	       weir_local4(lc->stack, addr) != WEIR_LOCAL_BROADCAST;
}

/* RFC 1122 3.2.2: is there a message that must not be complained about? */
static bool
may_complain4(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m)
{
	const struct wire_ip4 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, WIRE_ETH_LEN);
	const uint32_t ihl = (ip->ver_ihl & 0xfu) * 4;
	uint8_t room[1];
	const uint8_t *type;

	if (frame_to_group(m) || weir_local4(lc->stack, ip->dst) != WEIR_LOCAL_UNICAST ||
	    !one_host4(lc, port, ip->src) || (ip->frag & WIRE_BE16(0x1fff)) != 0)
		return false;
	if (ip->proto != WIRE_PROTO_ICMP)
		return true;
	/* Questions and answers may be complained about; errors, and what nobody knows, may not. */
	type = rte_pktmbuf_read(m, WIRE_ETH_LEN + ihl, 1, room);
	if (type == NULL)
		return false;
	switch (*type) {
	case WIRE_ICMP_ECHO_REPLY:
	case WIRE_ICMP_ECHO:
	case 13: /* timestamp and its reply */
	case 14:
	case 17: /* address mask and its reply */
	case 18:
		return true;
	default:
		return false;
	}
}

/* RFC 4443 2.4 (e). */
static bool
may_complain6(const struct weir_port *port, const struct rte_mbuf *m, enum weir_icmp_why why)
{
	const struct wire_ip6 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip6 *, WIRE_ETH_LEN);
	const uint32_t in_sight = RTE_MIN((uint32_t)m->pkt_len - WIRE_ETH_LEN,
					  (uint32_t)(WIRE_IP6_LEN + WIRE_EXT6_MAX + WIRE_ICMP_LEN));
	uint8_t room[WIRE_IP6_LEN + WIRE_EXT6_MAX + WIRE_ICMP_LEN];
	struct weir_icmp_chain chain;
	union weir_ip src;
	const uint8_t *q;

	memcpy(&src, ip->src, sizeof(src));
	/* (e.6) A source that is no single host. */
	if (weir_ip_is_any(&src) || weir_ip6_is_mcast(&src) ||
	    (weir_ip6_is_loopback(&src) && !port->parse.loopback))
		return false;
	/* (e.3), (e.4), (e.5) A group, unless an option asks for it. */
	if ((ip->dst[0] == 0xff || frame_to_group(m)) && why != WEIR_ICMP_PARAM_OPTION)
		return false;
	q = rte_pktmbuf_read(m, WIRE_ETH_LEN, in_sight, room);
	if (q == NULL)
		return false;
	weir_icmp_chain6(q, in_sight, &chain);
	/* A fragment but the first: RFC 8200 4.5 wants to hear of wrong lengths, of nothing else. */
	if (chain.later && why != WEIR_ICMP_PARAM_HEADER)
		return false;
	if (chain.upper != WIRE_PROTO_ICMP6)
		return true;
	/* (e.1), (e.2) Errors and redirects; what cannot be seen might be one. */
	if (chain.later || !chain.whole || chain.off >= in_sight)
		return false;
	return q[chain.off] >= 128 && q[chain.off] != WIRE_ICMP6_REDIRECT;
}

/* ---- errors: sending them ---- */

/* RFC 1812 4.3.2.3, RFC 4443 3: as much of the packet as fits into what every path carries. */
#define ERROR_MAX4 576
#define ERROR_MAX6 IP6_MIN_MTU

struct complaint {
	uint8_t type, code;
	wire_be32 rest;
};

static bool
complaint4(enum weir_icmp_why why, uint32_t pointer, struct complaint *c)
{
	switch (why) {
	case WEIR_ICMP_PORT_UNREACH:
		*c = (struct complaint){.type = WIRE_ICMP_UNREACH, .code = 3};
		return true;
	case WEIR_ICMP_PROTO_UNREACH:
		*c = (struct complaint){.type = WIRE_ICMP_UNREACH, .code = 2};
		return true;
	case WEIR_ICMP_REASM_TIME:
		*c = (struct complaint){.type = WIRE_ICMP_TIME_EXCEEDED, .code = 1};
		return true;
	case WEIR_ICMP_PARAM_HEADER:
		*c = (struct complaint){.type = WIRE_ICMP_PARAM, .rest = WIRE_BE32(pointer << 24)};
		return pointer <= UINT8_MAX;
	case WEIR_ICMP_PARAM_NEXT:
	case WEIR_ICMP_PARAM_OPTION:
	case WEIR_ICMP_PARAM_CHAIN:
		break;
	}
	return false;
}

static bool
complaint6(enum weir_icmp_why why, uint32_t pointer, struct complaint *c)
{
	*c = (struct complaint){.type = WIRE_ICMP6_PARAM, .rest = WIRE_BE32(pointer)};
	switch (why) {
	case WEIR_ICMP_PORT_UNREACH:
		*c = (struct complaint){.type = WIRE_ICMP6_UNREACH, .code = 4};
		return true;
	case WEIR_ICMP_REASM_TIME:
		*c = (struct complaint){.type = WIRE_ICMP6_TIME_EXCEEDED, .code = 1};
		return true;
	case WEIR_ICMP_PARAM_HEADER:
		return true;
	case WEIR_ICMP_PROTO_UNREACH:
	case WEIR_ICMP_PARAM_NEXT:
		c->code = 1;
		return true;
	case WEIR_ICMP_PARAM_OPTION:
		c->code = 2;
		return true;
	case WEIR_ICMP_PARAM_CHAIN:
		c->code = 3;
		return true;
	}
	return false;
}

/* A frame of head bytes, the ICMP header, and as much of m's packet of ip_len bytes as fits. NULL: no buffer. */
static struct rte_mbuf *
quoting_frame(struct weir_lcore *lc, const struct rte_mbuf *m, uint32_t head, uint32_t ip_len,
	      uint32_t most, const struct complaint *c, uint32_t *payload)
{
	struct rte_mbuf *e = rte_pktmbuf_alloc(lc->stack->pool);
	struct wire_icmp *icmp;
	uint32_t quote;
	const void *q;

	if (e == NULL)
		return NULL;
	most = RTE_MIN(most + WIRE_ETH_LEN, (uint32_t)rte_pktmbuf_tailroom(e));
	quote = RTE_MIN(ip_len, most - head - WIRE_ICMP_LEN);
	quote = RTE_MIN(quote, m->pkt_len - WIRE_ETH_LEN);
	icmp = (struct wire_icmp *)(void *)(rte_pktmbuf_mtod(e, uint8_t *) + head);
	e->data_len = (uint16_t)(head + WIRE_ICMP_LEN + quote);
	e->pkt_len = e->data_len;
	*icmp = (struct wire_icmp){.type = c->type, .code = c->code, .rest = c->rest};
	q = rte_pktmbuf_read(m, WIRE_ETH_LEN, quote, icmp + 1);
	if (q != icmp + 1)
		memcpy(icmp + 1, q, quote);
	*payload = WIRE_ICMP_LEN + quote;
	return e;
}

static void
complain4(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
	  const struct complaint *c)
{
	const uint32_t head = WIRE_ETH_LEN + WIRE_IP4_MIN;
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_ip4 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, WIRE_ETH_LEN);
	struct wire_icmp *icmp;
	uint32_t payload;
	struct rte_mbuf *e =
		quoting_frame(lc, m, head, WIRE_BE16(ip->total_len), ERROR_MAX4, c, &payload);
	uint8_t *p;

	if (e == NULL)
		return;
	p = rte_pktmbuf_mtod(e, uint8_t *);
	/* Precedence 6, as RFC 1812 4.3.2.5 asks of errors. */
	weir_icmp_head4(port, p, eth->src, ip->dst, ip->src, 0xc0, 0, WIRE_BE16(WIRE_IP4_DF),
			payload);
	icmp = (struct wire_icmp *)(void *)(p + head);
	icmp->csum = (wire_be16)~wire_fold(wire_sum(icmp, payload, 0));
	weir_batch_protocol(lc, port, e);
}

int
weir_icmp_source6(struct weir_lcore *lc, const struct weir_port *port, const uint8_t *to,
		  union weir_ip *src)
{
	const union weir_ip any = {.w = {0, 0}};
	union weir_ip back;
	const struct weir_way_key key = {
		.dst = &back,
		.bound = &any,
		.family = WEIR_IPV6,
		.port = port->parse.loopback ? -1 : port->index,
	};
	struct weir_way way;
	int ret;

	memcpy(&back, to, sizeof(back));
	ret = weir_way_find(lc->stack, &key, &way);
	if (ret == 0)
		*src = way.src;
	return ret;
}

/* RFC 4443 2.2: the address that the packet was sent to, when it is ours; else as for any packet to its source. */
static bool
source6(struct weir_lcore *lc, const struct weir_port *port, const struct wire_ip6 *ip,
	union weir_ip *src)
{
	memcpy(src, ip->dst, sizeof(*src));
	if (weir_local6(lc->stack, src, port->parse.loopback ? -1 : port->index) ==
	    WEIR_LOCAL_UNICAST)
		return true;
	return weir_icmp_source6(lc, port, ip->src, src) == 0;
}

static void
complain6(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
	  const struct complaint *c)
{
	const uint32_t head = WIRE_ETH_LEN + WIRE_IP6_LEN;
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_ip6 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip6 *, WIRE_ETH_LEN);
	struct wire_icmp *icmp;
	union weir_ip src;
	uint32_t payload;
	struct rte_mbuf *e;
	uint8_t *p;

	if (!source6(lc, port, ip, &src))
		return;
	e = quoting_frame(lc, m, head, (uint32_t)WIRE_IP6_LEN + WIRE_BE16(ip->payload_len),
			  ERROR_MAX6, c, &payload);
	if (e == NULL)
		return;
	p = rte_pktmbuf_mtod(e, uint8_t *);
	weir_icmp_head6(port, p, eth->src, src.b, ip->src, 0, payload);
	icmp = (struct wire_icmp *)(void *)(p + head);
	icmp->csum = (wire_be16)~wire_fold(
		wire_sum(icmp, payload, wire_pseudo6(src.b, ip->src, WIRE_PROTO_ICMP6, payload)));
	weir_batch_protocol(lc, port, e);
}

void
weir_icmp_error(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
		enum weir_icmp_why why, uint32_t pointer)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	union weir_ip to = {.w = {0, 0}};
	struct complaint c;

	if (p[WIRE_ETH_LEN] >> 4 == 4) {
		to.v4 = ((const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN))->src;
		if (complaint4(why, pointer, &c) && may_complain4(lc, port, m) &&
		    weir_icmp_may_send(lc, port, &to))
			complain4(lc, port, m, &c);
	} else {
		memcpy(&to, p + WIRE_ETH_LEN + offsetof(struct wire_ip6, src), sizeof(to));
		if (complaint6(why, pointer, &c) && may_complain6(port, m, why) &&
		    weir_icmp_may_send(lc, port, &to))
			complain6(lc, port, m, &c);
	}
}
