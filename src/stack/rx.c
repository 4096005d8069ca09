/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the receive pipeline, drawn in docs/architecture.md.
 *
 *   classify  one pass over the burst: parse and validate, checksums; ARP, ICMP, groups' messages and
 *             fragments go to their modules, refused frames to the drop call, datagrams on to
 *   lookup    the socket for each train of one flow, as a burst
 *   deliver   one append per socket of the burst
 *
 * After classify a datagram has one of the forms that mbuf.h describes; reading (sockio.c) relies on that.
 * Tags are taken off here: frames of a VLAN are put aside and become a burst of the VLAN's own port.
 */
#include "rx.h"

#include <string.h>

#include "arp.h"
#include "drop.h"
#include "event.h"
#include "fib.h"
#include "icmp.h"
#include "local.h"
#include "mbuf.h"
#include "mcast.h"
#include "reasm.h"
#include "sock.h"
#include "socktab.h"

#define PREFETCH_AHEAD 4

struct rx_burst {
	unsigned int n;      /* datagrams */
	unsigned int n_keys; /* one for each train of datagrams of one flow */
	uint32_t each;       /* true size of all */
	bool mixed;          /* ... no: see size */
	uint64_t group; /* bit i: datagram i was sent to a group address or MAC: no ICMP about it */
	uint64_t selects; /* bit i: the group of key i has a selector */
	struct rte_mbuf **m;
	struct weir_key key[WEIR_MAX_BURST];
	struct weir_socket *sk[WEIR_MAX_BURST]; /* for each key */
	uint8_t of[WEIR_MAX_BURST];             /* index of the datagram's key */
	unsigned int n_tagged;                  /* frames of VLAN ports, tag taken off */
	struct rte_mbuf *tagged[WEIR_MAX_BURST];
	uint8_t vlan_port[WEIR_MAX_BURST]; /* index of the port of each */
};

static inline bool
ip_csum_good(const struct rte_mbuf *m)
{
	return (m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
}

/*
 * Is the checksum of the datagram right, whose UDP header lies at udp, off bytes into the packet? addr is
 * the sum of its addresses. The device's "good" is taken; its "bad" is not: the sum is then computed here.
 */
static inline bool
udp_csum_ok(const struct rte_mbuf *m, const struct wire_udp *udp, uint32_t off, uint32_t udp_len,
	    uint64_t addr, enum weir_drop *why)
{
	uint64_t pseudo;

	if ((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD ||
	    udp->csum == 0) /* RFC 768: none was made; over IPv6 that has been looked at */
		return true;
	pseudo = addr + WIRE_BE16(WIRE_PROTO_UDP) + WIRE_BE16(udp_len);
	if (likely(off + udp_len <= m->data_len)) {
		if (likely(wire_udp_sum_ok(udp, udp_len, addr)))
			return true;
	} else if (wire_fold(pseudo + weir_mbuf_sum_chained(m, off, udp_len)) == 0xffff) {
		return true;
	}
	*why = udp->csum == wire_fold(pseudo) ? WEIR_DROP_UDP_CSUM_PARTIAL : WEIR_DROP_UDP_CSUM;
	return false;
}

/* Both addresses of an IPv6 header, for the pseudo-header: 32-bit pieces in 64 bits. */
static inline uint64_t
addr_sum6(const struct wire_ip6 *ip)
{
	const uint8_t *p = (const uint8_t *)ip + offsetof(struct wire_ip6, src);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 32; i += 8) {
		const uint64_t w = wire_load64(p + i);

		sum += (w >> 32) + (uint32_t)w;
	}
	return sum;
}

/* RFC 3704: is there a way back to the source, by this port or by any? */
static __rte_noinline bool
way_back(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *src,
	 uint8_t family, unsigned int filter)
{
	return weir_fib_reaches(stack, src, family, filter == WEIR_RP_STRICT ? port->index : -1);
}

static inline bool
rpf_ok(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *src,
       uint8_t family)
{
	const unsigned int filter =
		atomic_load_explicit((_Atomic uint8_t *)(uintptr_t)&port->rp_filter,
				     memory_order_relaxed);

	return likely(filter == WEIR_RP_OFF) || port->parse.loopback ||
	       way_back(stack, port, src, family, filter);
}

/* COLD: is the group joined on the port that the packet came in by? */
static bool
joined_here(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *group,
	    uint8_t family)
{
	const struct weir_local *l = weir_local_find(stack, group, family);

	return l != NULL && (l->ports >> port->index & 1) != 0;
}

/* Addresses of the packet against ours. Returns false with a reason. */
static inline bool
addresses_ok4(struct weir_stack *stack, const struct weir_port *port, const struct wire_view *v,
	      bool *group, enum weir_drop *why)
{
	enum weir_local_kind dst = weir_local4(stack, v->dst4);
	union weir_ip ip = {.w = {0, 0}};

	*group = v->eth_group != 0;
	if (unlikely(dst != WEIR_LOCAL_UNICAST)) {
		ip.v4 = v->dst4;
		if (dst == WEIR_NOT_LOCAL ||
		    (dst == WEIR_LOCAL_MULTICAST && !joined_here(stack, port, &ip, WEIR_IPV4))) {
			*why = weir_is_mcast4(v->dst4) ? WEIR_DROP_IP_MCAST : WEIR_DROP_IP_DST;
			return false;
		}
		*group = true;
	}
	/* RFC 1122 3.2.1.3: nobody else speaks as one of us or as a broadcast address. */
	if (unlikely(weir_local4(stack, v->src4) != WEIR_NOT_LOCAL) && !port->parse.loopback) {
		*why = WEIR_DROP_IP_SRC;
		return false;
	}
	ip.v4 = v->src4;
	/* IGMP comes from nobody where a switch asks that has no address. */
	if (unlikely(!rpf_ok(stack, port, &ip, WEIR_IPV4)) && v->src4 != 0) {
		*why = WEIR_DROP_IP_RPF;
		return false;
	}
	return true;
}

/*
 * May the source speak to us? Not as one of us, but that neighbour discovery wants to hear of (RFC 4862 5.4).
 * From nobody and from the link comes what no route tells of.
 */
static inline bool
source_ok6(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *src,
	   bool icmp, enum weir_drop *why)
{
	if (unlikely(weir_ip_is_any(src)))
		return true;
	if (unlikely(weir_local6(stack, src, port->index) != WEIR_NOT_LOCAL) &&
	    !port->parse.loopback && !icmp) {
		*why = WEIR_DROP_IP_SRC;
		return false;
	}
	if (likely(weir_ip6_is_link_local(src) || rpf_ok(stack, port, src, WEIR_IPV6)))
		return true;
	*why = WEIR_DROP_IP_RPF;
	return false;
}

/* The same for IPv6; p: the frame. */
static inline bool
addresses_ok6(struct weir_stack *stack, const struct weir_port *port, const uint8_t *p,
	      const struct wire_view *v, bool *group, enum weir_drop *why)
{
	const struct wire_ip6 *ip = (const void *)(p + WIRE_ETH_LEN);
	const uint8_t *icmp = p + v->l2_len + v->l3_len;
	enum weir_local_kind kind;
	union weir_ip dst, src;

	memcpy(&dst, ip->dst, sizeof(dst));
	memcpy(&src, ip->src, sizeof(src));
	kind = weir_local6(stack, &dst, port->index);
	*group = v->eth_group != 0;
	if (unlikely(kind != WEIR_LOCAL_UNICAST)) {
		if (kind == WEIR_NOT_LOCAL || !joined_here(stack, port, &dst, WEIR_IPV6)) {
			*why = weir_ip6_is_mcast(&dst) ? WEIR_DROP_IP_MCAST : WEIR_DROP_IP_DST;
			return false;
		}
		*group = true;
	}
	return source_ok6(
		stack, port, &src,
		v->kind == WIRE_ICMP6 && (*icmp == WIRE_ICMP6_NS || *icmp == WIRE_ICMP6_NA), why);
}

static inline bool
addresses_ok(struct weir_stack *stack, const struct weir_port *port, const uint8_t *p,
	     const struct wire_view *v, bool *group, enum weir_drop *why)
{
	return likely(v->family == WEIR_IPV4) ? addresses_ok4(stack, port, v, group, why)
					      : addresses_ok6(stack, port, p, v, group, why);
}

/* Of a datagram: is its UDP checksum right? RFC 8200 8.1: over IPv6 there has to be one. */
static inline bool
datagram_ok(const struct weir_port *port, const struct rte_mbuf *m, const struct wire_view *v,
	    enum weir_drop *why)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	const struct wire_udp *udp = (const void *)(p + off);

	if (v->family == WEIR_IPV4)
		return udp_csum_ok(m, udp, off, v->udp_len, (uint64_t)v->src4 + v->dst4, why);
	if (unlikely(udp->csum == 0) && !port->parse.loopback) {
		*why = WEIR_DROP_UDP_CSUM_ZERO;
		return false;
	}
	return udp_csum_ok(m, udp, off, v->udp_len, addr_sum6((const void *)(p + v->l2_len)), why);
}

/*
 * The sender of a refused frame is told why, if the frame is good but for that. Nobody listens on port 0: that
 * is a port like any other. COLD.
 */
static __rte_noinline void
answer_refused(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
	       const struct wire_view *v)
{
	static const enum weir_icmp_why param[] = {WEIR_ICMP_PARAM_HEADER, WEIR_ICMP_PARAM_NEXT,
						   WEIR_ICMP_PARAM_OPTION};
	enum weir_drop why;
	bool group;

	if (!addresses_ok(lc->stack, port, rte_pktmbuf_mtod(m, const uint8_t *), v, &group, &why))
		return;
	if (v->reason == WEIR_DROP_UDP_PORT0) {
		if (!group && datagram_ok(port, m, v, &why))
			weir_icmp_error(lc, port, m, WEIR_ICMP_PORT_UNREACH, 0);
	} else if (v->param != 0) {
		weir_icmp_error(lc, port, m, param[v->param - 1], v->pointer);
	} else if (v->reason == WEIR_DROP_IP_PROTO && !group) {
		weir_icmp_error(lc, port, m, WEIR_ICMP_PROTO_UNREACH, 0);
	}
}

/* Give up a frame that the parse has refused. COLD. */
static void
refuse(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
       const struct wire_view *v)
{
	if (v->family != 0)
		answer_refused(lc, port, m, v);
	weir_drop(lc, (enum weir_drop)v->reason, m);
}

/* ---- tags ---- */

/*
 * A frame with this tag, of which nothing is left in the frame: of the port itself (priority tag: true), or put
 * aside for a VLAN's port, or refused. COLD where there are no VLANs.
 */
static bool
untagged(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b,
	 struct rte_mbuf *m, uint16_t tci)
{
	const unsigned int vid = tci & 0xfff;
	const uint8_t *map = __atomic_load_n(&port->vlan_port, __ATOMIC_ACQUIRE);
	const unsigned int to = map != NULL ? __atomic_load_n(&map[vid], __ATOMIC_ACQUIRE) : 0;

	if (vid == 0) /* IEEE 802.1Q 6.9: priority only */
		return true;
	if (to == 0) {
		weir_drop(lc, WEIR_DROP_ETH_VLAN, m);
		return false;
	}
	b->vlan_port[b->n_tagged] = (uint8_t)(to - 1);
	b->tagged[b->n_tagged++] = m;
	return false;
}

/*
 * Take off the tag that the frame begins with; all of it is contiguous. True: the frame, in *frame, is the
 * port's own. COLD.
 */
static __rte_noinline bool
take_tag_off(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b,
	     struct rte_mbuf **frame)
{
	struct rte_mbuf *m = *frame;
	uint16_t tag[3]; /* TPID, TCI, the EtherType behind them */
	uint8_t *p;

	memcpy(tag, rte_pktmbuf_mtod_offset(m, const uint8_t *, 2 * WIRE_ETH_ALEN), sizeof(tag));
	if (port->vlan != 0 || (m->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0 ||
	    tag[2] == WIRE_BE16(WIRE_ETH_VLAN) || tag[2] == WIRE_BE16(WIRE_ETH_QINQ)) {
		weir_drop(lc, WEIR_DROP_ETH_QINQ, m);
		return false;
	}
	if (!weir_mbuf_writable(m)) { /* others see the bytes: ours in front of theirs */
		struct rte_mbuf *head =
			weir_mbuf_pull(m, WIRE_ETH_LEN + WIRE_VLAN_LEN, lc->stack->pool);

		if (head == NULL) {
			weir_drop(lc, WEIR_DROP_MEM_LIMIT, m);
			return false;
		}
		m = head;
	}
	p = rte_pktmbuf_mtod(m, uint8_t *);
	memmove(p + WIRE_VLAN_LEN, p, 2 * WIRE_ETH_ALEN);
	m->data_off += WIRE_VLAN_LEN;
	m->data_len = (uint16_t)(m->data_len - WIRE_VLAN_LEN);
	m->pkt_len -= WIRE_VLAN_LEN;
	*frame = m;
	return untagged(lc, port, b, m, WIRE_BE16(tag[1]));
}

/*
 * Where the device takes tags off: frames of VLANs leave the array, before anybody takes them for untagged
 * ones. Returns how many stay. COLD where there are no VLANs.
 */
static __rte_noinline unsigned int
sort_stripped(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b,
	      struct rte_mbuf **m, unsigned int n, uint64_t *bytes)
{
	unsigned int stay = 0;

	for (unsigned int i = 0; i < n; i++) {
		const uint32_t len = m[i]->pkt_len;

		if ((m[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) == 0 ||
		    untagged(lc, port, b, m[i], m[i]->vlan_tci))
			m[stay++] = m[i];
		else
			*bytes += len;
	}
	return stay;
}

/* The frames that were put aside, VLAN by VLAN, as they came. */
static __rte_noinline void
receive_tagged(struct weir_lcore *lc, struct rx_burst *b)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];

	for (unsigned int left = b->n_tagged; left > 0;) {
		const uint8_t to = b->vlan_port[0];
		unsigned int n = 0, stay = 0;

		for (unsigned int i = 0; i < left; i++) {
			if (b->vlan_port[i] == to) {
				m[n++] = b->tagged[i];
			} else {
				b->vlan_port[stay] = b->vlan_port[i];
				b->tagged[stay++] = b->tagged[i];
			}
		}
		left = stay;
		weir_rx_burst(lc, lc->stack->ports[to], m, n, true);
	}
}

/* ---- one frame at a time ---- */

/*
 * Parse until nothing is missing: headers that a chain scatters are pulled together. Returns the frame, which
 * may be another mbuf now.
 */
static struct rte_mbuf *
parse(struct weir_lcore *lc, struct rte_mbuf *m, struct wire_parse_opt *opt, struct wire_view *v)
{
	opt->ip_csum_good = ip_csum_good(m);
	wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, opt, v);
	while (unlikely(v->kind == WIRE_MORE)) {
		struct rte_mbuf *head = weir_mbuf_pull(m, v->need, lc->stack->pool);

		if (head == NULL) {
			memset(v, 0, sizeof(*v));
			v->kind = WIRE_DROP;
			v->reason = WEIR_DROP_MEM_LIMIT;
			break;
		}
		m = head;
		wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, opt, v);
	}
	return m;
}

/*
 * A fragment that is for us: to reassembly. True: a datagram has become whole, it is in *frame and has been
 * parsed anew. COLD.
 */
static __rte_noinline bool
reassembled(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **frame,
	    struct wire_view *v)
{
	struct rte_mbuf *m = weir_reasm_input(lc, port, *frame, v);
	struct wire_parse_opt opt = port->parse;

	if (m == NULL)
		return false;
	opt.max_frame = 0;
	/* What the device has said was about a fragment. */
	if (!port->parse.loopback)
		m->ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
	*frame = parse(lc, m, &opt, v);
	v->reassembled = true;
	if (v->kind == WIRE_FRAG) { /* a fragment within a fragment */
		weir_drop(lc, WEIR_DROP_FRAG_BAD, *frame);
		return false;
	}
	return true;
}

/*
 * Parse one frame that does not follow the train. True: a datagram for us, in *v, and *frame may be
 * another mbuf now. False: it has been dealt with.
 */
static bool
classify_alone(struct weir_lcore *lc, struct weir_port *port, struct rx_burst *b,
	       struct rte_mbuf **frame, struct wire_view *v, bool *group)
{
	struct wire_parse_opt opt = port->parse;
	struct rte_mbuf *m = parse(lc, *frame, &opt, v);
	enum weir_drop why;

	if (unlikely(v->kind == WIRE_VLAN)) {
		if (!take_tag_off(lc, port, b, &m))
			return false;
		m = parse(lc, m, &opt, v);
	}
	for (;;) {
		if (unlikely(v->kind == WIRE_DROP)) {
			refuse(lc, port, m, v);
			return false;
		}
		if (unlikely(v->kind == WIRE_ARP)) {
			weir_arp_input(lc, port, m, v);
			return false;
		}
		if (unlikely(!addresses_ok(lc->stack, port, rte_pktmbuf_mtod(m, const uint8_t *), v,
					   group, &why))) {
			weir_drop(lc, why, m);
			return false;
		}
		if (likely(v->kind != WIRE_FRAG))
			break;
		if (!reassembled(lc, port, &m, v))
			return false;
	}
	*frame = m;
	if (likely(v->kind == WIRE_UDP)) {
		if (likely(datagram_ok(port, m, v, &why)))
			return true;
		weir_drop(lc, why, m);
	} else if (v->kind == WIRE_ICMP) {
		weir_icmp_input(lc, port, m, v, !*group);
	} else if (v->kind == WIRE_ICMP6) {
		weir_icmp6_input(lc, port, m, v, !*group);
	} else {
		weir_igmp_input(lc, port, m, v);
	}
	return false;
}

/* State of stage 1. */
struct classify {
	struct weir_lcore *lc;
	struct weir_port *port;
	struct rx_burst *b;
	struct weir_rx_last *c;
	bool keyed; /* the burst's last key is that of c's flow */
	uint32_t max_frame;
	uint16_t buf_len; /* of the first buffer, and mostly of all */
	uint64_t bytes;
};

/* A guess where they are: all drivers leave the same headroom. */
static inline void
prefetch_headers(const struct rte_mbuf *m)
{
	rte_prefetch0((const char *)m->buf_addr + RTE_PKTMBUF_HEADROOM);
}

/* Has the device found both sums good? */
static inline bool
sums_vouched(const struct rte_mbuf *m)
{
	return (m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK)) ==
	       (RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD);
}

/*
 * Frames from i on as long as they repeat what the last one was but for payload and lengths: same flow, same
 * kind of buffer, and for vouched: sums vouched for by the device. They move to the front of the array, as
 * datagrams. Returns the first other one.
 */
static __rte_always_inline unsigned int
follow_train(struct classify *s, unsigned int i, unsigned int n, bool v6, bool vouched)
{
	struct wire_train train; /* in registers */
	struct wire_train6 train6;
	const uint64_t addr_sum = s->c->addr_sum;
	const uint16_t buf_len = s->buf_len;
	const uint32_t shortest = v6 ? WIRE_TRAIN6_MIN : WIRE_TRAIN_MIN;
	const uint32_t span = s->max_frame - shortest;
	const bool unsummed = s->port->parse.loopback; /* over IPv6 only from ourselves */
	const uint16_t index = s->port->index;
	struct rx_burst *b = s->b;
	struct rte_mbuf **frames = b->m;
	const unsigned int first = i;
	unsigned int n_out;
	uint64_t bytes = 0;

	if (v6)
		train6 = s->c->train6;
	else
		train = s->c->train;
	for (; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
		const struct wire_udp *udp = (const void *)(p + shortest - WIRE_UDP_LEN);
		const uint32_t len = m->data_len;
		uint32_t payload;

		if (likely(i + PREFETCH_AHEAD < n))
			prefetch_headers(frames[i + PREFETCH_AHEAD]);
		if (unlikely(m->nb_segs != 1 || len - shortest > span || m->buf_len != buf_len))
			break;
		if (vouched && unlikely(!sums_vouched(m)))
			break;
		if (v6 ? unlikely(!wire_train6_follow(&train6, p, len, &payload))
		       : unlikely(!wire_train_follow(&train, p, len, &payload)))
			break;
		if (v6 && unlikely(udp->csum == 0) && !unsummed)
			break;
		if (!vouched && !sums_vouched(m) &&
		    unlikely((!v6 && !wire_ip4_sum_ok(p + WIRE_ETH_LEN)) ||
			     (udp->csum != 0 &&
			      !wire_udp_sum_ok(udp, payload + WIRE_UDP_LEN, addr_sum))))
			break;
		bytes += len;
		if (v6) {
			m->port = index;
			weir_dgram_make_plain6(m, payload);
		} else {
			weir_dgram_make_plain(m, payload);
		}
	}
	n_out = i - first;
	if (unlikely(first != b->n)) /* mostly they are where they should be */
		memmove(&frames[b->n], &frames[first], n_out * sizeof(frames[0]));
	if (unlikely(v6 ? s->c->group6 : s->c->group))
		for (unsigned int k = b->n; k < b->n + n_out; k++)
			b->group |= UINT64_C(1) << k;
	memset(b->of + b->n, (int)b->n_keys - 1, n_out);
	s->bytes += bytes;
	b->n += n_out;
	return i;
}

static __rte_noinline unsigned int
follow_train_vouched(struct classify *s, unsigned int i, unsigned int n)
{
	return follow_train(s, i, n, false, true);
}

static __rte_noinline unsigned int
follow_train_summed(struct classify *s, unsigned int i, unsigned int n)
{
	return follow_train(s, i, n, false, false);
}

static __rte_noinline unsigned int
follow_train6_vouched(struct classify *s, unsigned int i, unsigned int n)
{
	return follow_train(s, i, n, true, true);
}

static __rte_noinline unsigned int
follow_train6_summed(struct classify *s, unsigned int i, unsigned int n)
{
	return follow_train(s, i, n, true, false);
}

/* A source that this burst, or the one before it, has not been asked about. */
static inline bool
new_source4_ok(const struct classify *s, wire_be32 src)
{
	union weir_ip ip = {.w = {0, 0}};

	ip.v4 = src;
	return weir_local4(s->lc->stack, src) == WEIR_NOT_LOCAL &&
	       rpf_ok(s->lc->stack, s->port, &ip, WEIR_IPV4);
}

/*
 * Could the frame follow the train but for its ports or its source? Then *payload is its payload length.
 * False: go the whole way.
 */
static inline bool
follows_roughly(const struct classify *s, const struct rte_mbuf *m, const uint8_t *p,
		uint32_t *payload)
{
	const struct wire_ip4 *ip = (const void *)(p + WIRE_ETH_LEN);
	const uint32_t len = m->data_len;

	return m->nb_segs == 1 && len - WIRE_TRAIN_MIN <= s->max_frame - WIRE_TRAIN_MIN &&
	       wire_train_other(&s->c->train, p, len, payload) &&
	       (ip_csum_good(m) || wire_ip4_sum_ok(ip)) &&
	       ((ip->src == s->c->src.v4 && s->c->family == WEIR_IPV4) ||
		new_source4_ok(s, ip->src));
}

static inline bool
follows_roughly6(const struct classify *s, const struct rte_mbuf *m, const uint8_t *p,
		 uint32_t *payload)
{
	const struct wire_ip6 *ip = (const void *)(p + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const void *)(ip + 1);
	const uint32_t len = m->data_len;
	enum weir_drop why;
	union weir_ip src;

	if (m->nb_segs != 1 || len - WIRE_TRAIN6_MIN > s->max_frame - WIRE_TRAIN6_MIN ||
	    !wire_train6_other(&s->c->train6, p, len, payload) ||
	    (udp->csum == 0 && !s->port->parse.loopback))
		return false;
	memcpy(&src, ip->src, sizeof(src));
	return (src.w[0] == s->c->src.w[0] && src.w[1] == s->c->src.w[1]) ||
	       source_ok6(s->lc->stack, s->port, &src, false, &why);
}

/* A key of the flow, for the datagrams from here on. */
static inline void
add_key(struct classify *s)
{
	struct rx_burst *b = s->b;
	struct weir_key *key = &b->key[b->n_keys++];
	wire_be16 port[2]; /* source, destination */

	memcpy(port, &s->c->ports, sizeof(port));
	*key = (struct weir_key){.local = s->c->dst,
				 .peer = s->c->src,
				 .lport = port[1],
				 .pport = port[0],
				 .family = s->c->family,
				 .iface = (uint16_t)(s->port->index + 1)};
}

/* The datagram m is the burst's next one, of the last key. */
static inline void
append(struct classify *s, struct rte_mbuf *m, bool group)
{
	struct rx_burst *b = s->b;

	if (unlikely(group))
		b->group |= UINT64_C(1) << b->n;
	b->of[b->n] = (uint8_t)(b->n_keys - 1);
	b->m[b->n++] = m;
}

/* Accept a datagram over IPv4, whose checksum is right; plain: as mbuf.h says. */
static inline void
accept4(struct classify *s, struct rte_mbuf *m, const struct wire_view *v, uint32_t payload,
	bool group)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	struct weir_rx_last *c = s->c;
	uint32_t ports;

	memcpy(&ports, p + v->l2_len + v->l3_len, sizeof(ports));
	if (!s->keyed || c->ports != ports || c->src.v4 != v->src4 || c->dst.v4 != v->dst4 ||
	    c->family != WEIR_IPV4 || c->group != group) {
		c->src.w[0] = c->src.w[1] = 0;
		c->src.v4 = v->src4;
		c->dst.w[0] = c->dst.w[1] = 0;
		c->dst.v4 = v->dst4;
		c->addr_sum = (uint64_t)v->src4 + v->dst4;
		c->ports = ports;
		c->family = WEIR_IPV4;
		c->group = group;
		s->keyed = true;
		add_key(s);
	}
	if (likely(m->nb_segs == 1 && v->l3_len == WIRE_IP4_MIN)) {
		wire_train_start(&c->train, p);
		s->b->mixed |= m->buf_len != s->buf_len;
		weir_dgram_make_plain(m, payload);
	} else {
		wire_train_none(&c->train);
		s->b->mixed = true;
		weir_dgram_make_odd(m, WEIR_IPV4, v->l2_len, v->l3_len, payload);
	}
	append(s, m, group);
}

/* The same over IPv6. */
static inline void
accept6(struct classify *s, struct rte_mbuf *m, uint32_t l3_len, uint32_t payload, bool group)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_ip6 *ip = (const void *)(p + WIRE_ETH_LEN);
	struct weir_rx_last *c = s->c;
	union weir_ip src, dst;
	uint32_t ports;

	memcpy(&ports, p + WIRE_ETH_LEN + l3_len, sizeof(ports));
	memcpy(&src, ip->src, sizeof(src));
	memcpy(&dst, ip->dst, sizeof(dst));
	if (!s->keyed || c->ports != ports ||
	    ((c->src.w[0] ^ src.w[0]) | (c->src.w[1] ^ src.w[1]) | (c->dst.w[0] ^ dst.w[0]) |
	     (c->dst.w[1] ^ dst.w[1])) != 0 ||
	    c->family != WEIR_IPV6 || c->group6 != group) {
		c->src = src;
		c->dst = dst;
		c->addr_sum = addr_sum6(ip);
		c->ports = ports;
		c->family = WEIR_IPV6;
		c->group6 = group;
		s->keyed = true;
		add_key(s);
	}
	m->port = s->port->index;
	if (likely(m->nb_segs == 1 && l3_len == WIRE_IP6_LEN)) {
		wire_train6_start(&c->train6, p);
		s->b->mixed |= m->buf_len != s->buf_len;
		weir_dgram_make_plain6(m, payload);
	} else {
		wire_train6_none(&c->train6);
		s->b->mixed = true;
		weir_dgram_make_odd(m, WEIR_IPV6, WIRE_ETH_LEN, l3_len, payload);
	}
	append(s, m, group);
}

/* A frame that does not follow. Only when it is accepted it becomes what others follow. */
static __rte_noinline void
classify_one(struct classify *s, struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_view v = {.l2_len = WIRE_ETH_LEN, .l3_len = WIRE_IP4_MIN};
	enum weir_drop why;
	uint32_t payload;
	bool group;

	s->bytes += m->pkt_len;
	if (likely(follows_roughly(s, m, p, &payload))) {
		const struct wire_ip4 *ip = (const void *)(p + WIRE_ETH_LEN);
		const uint32_t off = WIRE_ETH_LEN + WIRE_IP4_MIN;

		v.src4 = ip->src;
		v.dst4 = ip->dst;
		if (unlikely(!udp_csum_ok(m, (const void *)(p + off), off, payload + WIRE_UDP_LEN,
					  (uint64_t)v.src4 + v.dst4, &why)))
			weir_drop(s->lc, why, m);
		else
			accept4(s, m, &v, payload, s->c->group);
	} else if (follows_roughly6(s, m, p, &payload)) {
		const struct wire_ip6 *ip = (const void *)(p + WIRE_ETH_LEN);
		const uint32_t off = WIRE_ETH_LEN + WIRE_IP6_LEN;

		if (unlikely(!udp_csum_ok(m, (const void *)(p + off), off, payload + WIRE_UDP_LEN,
					  addr_sum6(ip), &why)))
			weir_drop(s->lc, why, m);
		else
			accept6(s, m, WIRE_IP6_LEN, payload, s->c->group6);
	} else if (classify_alone(s->lc, s->port, s->b, &m, &v, &group)) {
		payload = v.udp_len - WIRE_UDP_LEN;
		if (v.family == WEIR_IPV4)
			accept4(s, m, &v, payload, group);
		else
			accept6(s, m, v.l3_len, payload, group);
	}
}

/* A quick look whether it is worth while to ask: addresses and ports. */
static inline bool
may_follow(const struct classify *s, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	if (likely(s->c->family == WEIR_IPV4))
		return m->data_len >= WIRE_TRAIN_MIN && wire_train_same_flow(&s->c->train, p);
	return m->data_len >= WIRE_TRAIN6_MIN && wire_train6_same_flow(&s->c->train6, p);
}

/* Frames from i on that follow; vouched: see follow_train(). */
static inline unsigned int
follow_on(struct classify *s, unsigned int i, unsigned int n, bool vouched)
{
	if (likely(s->c->family == WEIR_IPV4))
		return vouched ? follow_train_vouched(s, i, n) : follow_train_summed(s, i, n);
	return vouched ? follow_train6_vouched(s, i, n) : follow_train6_summed(s, i, n);
}

/*
 * Stage 1. What is accepted moves to the front of frames. Returns the bytes of all frames. Most bursts go on
 * with the flow of the last one: when no address has changed since, the first frame need not be asked more
 * than the others.
 */
static inline uint64_t
classify(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **frames, unsigned int n,
	 struct rx_burst *b)
{
	/* Before any address is looked at: what is found is at least as new. Pairs with fib.c commit. */
	const uint64_t gen = atomic_load_explicit(&lc->stack->gen, memory_order_acquire);
	struct classify s = {
		.lc = lc,
		.port = port,
		.b = b,
		.c = &lc->rx_last[port->index],
		.max_frame = port->parse.max_frame != 0 ? port->parse.max_frame : UINT16_MAX,
		.buf_len = frames[0]->buf_len,
	};
	unsigned int i = 0;

	b->m = frames;
	b->n = 0;
	b->n_keys = 0;
	b->group = 0;
	b->each = weir_truesize_of(s.buf_len);
	b->mixed = false;
	for (unsigned int k = 0; k < n && k < PREFETCH_AHEAD; k++)
		prefetch_headers(frames[k]);
	/* Groups come and go without a new gen. */
	if (likely(s.c->gen == gen && !(s.c->group | s.c->group6))) {
		add_key(&s);
		i = follow_on(&s, 0, n, sums_vouched(frames[0]));
		s.keyed = i > 0;
		b->n_keys = i > 0;
	} else {
		wire_train_none(&s.c->train);
		wire_train6_none(&s.c->train6);
		s.c->gen = gen;
		s.c->group = s.c->group6 = false;
	}
	for (; i < n; i++) {
		/* Not of frames[i] afterwards: it may be gone, or out of sight. */
		bool vouched = sums_vouched(frames[i]);

		if (i + PREFETCH_AHEAD < n)
			prefetch_headers(frames[i + PREFETCH_AHEAD]);
		classify_one(&s, frames[i]);
		if (s.keyed && i + 1 < n && may_follow(&s, frames[i + 1]))
			i = follow_on(&s, i + 1, n, vouched) - 1;
	}
	return s.bytes;
}

/*
 * Stage 3, for n datagrams of one socket: hand them over, drop what it refuses. size NULL: the true size of
 * all is `each`.
 */
static void
deliver_to(struct weir_lcore *lc, const struct weir_port *port, struct weir_socket *sk,
	   struct rte_mbuf **m, const uint32_t *size, uint32_t each, unsigned int n)
{
	struct weir_recvq_batch batch = {
		.m = m,
		.size = size,
		.each = each,
		.n = (uint16_t)n,
		.port = (uint8_t)port->index,
		.lcore = (uint8_t)lc->slot,
		.time_ns = lc->now_ns,
	};
	unsigned int took;

	if (unlikely(lc->pressure)) {
		weir_recvq_refuse(&sk->rq, n);
		weir_drop_bulk(lc, WEIR_DROP_MEM_LIMIT, m, n);
		return;
	}
	took = weir_recvq_produce(&sk->rq, &batch);
	if (unlikely(batch.wake != 0))
		weir_event_wake(sk, batch.wake);
	weir_count(&lc->c.rx_delivered, took);
	if (unlikely(took < n))
		weir_drop_bulk(lc, WEIR_DROP_RCVQ_FULL, m + took, n - took);
}

static void
refuse_no_socket(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 bool group)
{
	if (!group) {
		weir_dgram_whole(m); /* the message quotes its headers */
		weir_icmp_error(lc, port, m, WEIR_ICMP_PORT_UNREACH, 0);
	}
	weir_drop(lc, WEIR_DROP_NO_SOCKET, m);
}

static inline bool
is_mcast(const struct weir_key *key)
{
	return key->family == WEIR_IPV4 ? weir_is_mcast4(key->local.v4)
					: weir_ip6_is_mcast(&key->local);
}

/* May sk have datagrams to this group? As Linux: its own joining decides, else WEIR_OPT_MCAST_ALL. */
static bool
member_of(const struct weir_socket *sk, const struct weir_port *port, const struct weir_key *key)
{
	int wants = weir_sock_wants(sk, port->index, &key->local, &key->peer, (uint8_t)key->family);

	if (wants < 0)
		return key->family == WEIR_IPV4 ? sk->mcast_all : sk->mcast_all6;
	return wants != 0;
}

/* Delivery of one datagram to every socket that wants it: the last one gets the datagram itself. */
struct fan_out {
	struct weir_lcore *lc;
	const struct weir_port *port;
	const struct weir_key *key;
	struct rte_mbuf *m;
	struct weir_socket *last; /* wants it, has not got it yet */
};

static void
fan_out_to(void *arg, struct weir_socket *sk)
{
	struct fan_out *f = arg;
	struct weir_socket *before = f->last;
	struct rte_mbuf *copy;

	if (is_mcast(f->key) && !member_of(sk, f->port, f->key))
		return;
	f->last = sk;
	if (before == NULL)
		return;
	weir_count(&f->lc->c.rx_copies, 1);
	copy = weir_pool_low(f->lc->stack) ? NULL : weir_dgram_copy(f->m, f->lc->stack->pool);
	if (copy == NULL) { /* counted as every other that memory is short for */
		weir_recvq_refuse(&before->rq, 1);
		weir_count(&f->lc->c.drops[WEIR_DROP_MEM_LIMIT], 1);
		return;
	}
	deliver_to(f->lc, f->port, before, &copy, NULL, weir_truesize(copy), 1);
}

/* Is datagram i of a burst for a group address? A reuse-port group of sockets is another thing. */
static inline bool
to_group(struct weir_lcore *lc, const struct rx_burst *b, unsigned int i)
{
	const struct weir_key *key = &b->key[b->of[i]];

	return (b->group >> i & 1) != 0 &&
	       (key->family == WEIR_IPV4
			? weir_local4(lc->stack, key->local.v4) != WEIR_LOCAL_UNICAST
			: is_mcast(key));
}

/* Is it none that simply goes to the key's socket? */
static inline bool
special(struct weir_lcore *lc, const struct rx_burst *b, unsigned int i)
{
	return (b->selects >> b->of[i] & 1) != 0 || to_group(lc, b, i);
}

/* One that is special(): to all that are in the group, or to the one that the selector picks. COLD. */
static __rte_noinline void
deliver_special(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b,
		unsigned int i)
{
	const struct weir_key *key = &b->key[b->of[i]];
	struct fan_out f = {.lc = lc, .port = port, .key = key, .m = b->m[i]};
	struct weir_dgram d;

	if (to_group(lc, b, i)) {
		weir_socktab_each(lc, key, fan_out_to, &f);
	} else {
		uint32_t len;

		weir_dgram_look(b->m[i], &d);
		len = RTE_MIN(d.len, (uint32_t)b->m[i]->data_len - d.off);
		f.last = weir_socktab_select(
			lc, key, rte_pktmbuf_mtod_offset(b->m[i], const void *, d.off), len);
	}
	if (f.last != NULL)
		deliver_to(lc, port, f.last, &b->m[i], NULL, weir_truesize(b->m[i]), 1);
	else
		refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
}

/* Of a hash table of chains: a prime number of places would do no better for pointers to lines. */
#define CHAIN_SLOTS 128

/* The datagrams of a burst by socket, in order: chain c starts with first[c], next[] links them. */
struct chains {
	unsigned int n;
	struct weir_socket *sk[WEIR_MAX_BURST];
	uint8_t first[WEIR_MAX_BURST], last[WEIR_MAX_BURST];
	uint8_t next[WEIR_MAX_BURST]; /* the last one's is itself */
	uint8_t slot[CHAIN_SLOTS];    /* chain + 1; 0: free */
};

static inline unsigned int
chain_of(struct chains *c, struct weir_socket *sk)
{
	/* Sockets are lines apart; the upper bits of the product depend on all of the address. */
	unsigned int h = (uint32_t)((uintptr_t)sk >> 6) * 0x9e3779b1u >> 25;

	for (; c->slot[h] != 0; h = (h + 1) % CHAIN_SLOTS)
		if (c->sk[c->slot[h] - 1] == sk)
			return c->slot[h] - 1u;
	c->sk[c->n] = sk;
	c->slot[h] = (uint8_t)(c->n + 1);
	__builtin_prefetch(&sk->rq, 1);
	return c->n++;
}

static inline void
chains_none(struct chains *c)
{
	c->n = 0;
	memset(c->slot, 0, sizeof(c->slot));
}

/* Deliver what is in the chains. */
static void
deliver_chains(struct weir_lcore *lc, const struct weir_port *port, const struct rx_burst *b,
	       const struct chains *c)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];
	uint32_t size[WEIR_MAX_BURST];

	for (unsigned int k = 0; k < c->n; k++) {
		unsigned int i = c->first[k];
		unsigned int n = 0;

		for (;; i = c->next[i]) {
			if (unlikely(b->mixed))
				size[n] = weir_truesize(b->m[i]);
			m[n++] = b->m[i];
			if (i == c->last[k])
				break;
		}
		deliver_to(lc, port, c->sk[k], m, b->mixed ? size : NULL, b->each, n);
	}
}

/* Stage 3, when the burst is not all for one socket. */
static void
deliver(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b)
{
	const bool any_special = (b->group | b->selects) != 0;
	struct chains c;

	chains_none(&c);
	for (unsigned int i = 0; i < b->n; i++) {
		struct weir_socket *sk = b->sk[b->of[i]];
		unsigned int k, before;

		if (unlikely(any_special) && special(lc, b, i)) {
			deliver_chains(lc, port, b, &c); /* each socket's in order */
			chains_none(&c);
			deliver_special(lc, port, b, i);
			continue;
		}
		if (unlikely(sk == NULL)) {
			refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
			continue;
		}
		before = c.n;
		k = chain_of(&c, sk);
		if (k == before)
			c.first[k] = (uint8_t)i;
		else
			c.next[c.last[k]] = (uint8_t)i;
		c.last[k] = (uint8_t)i;
		c.next[i] = (uint8_t)i;
	}
	deliver_chains(lc, port, b, &c);
}

/*
 * The lines that queueing to a socket writes and reading from it reads: when there are many sockets, none of
 * them is in the cache, and the misses of a burst overlap.
 */
static inline void
prefetch_sockets(struct weir_socket *const *sk, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const char *p = (const char *)sk[i];

		if (p == NULL)
			continue;
		for (size_t line = 0; line < sizeof(sk[i]->rq); line += WEIR_CACHE_LINE)
			__builtin_prefetch(p + offsetof(struct weir_socket, rq) + line, 1);
		rte_prefetch0(p);
		rte_prefetch0(p + offsetof(struct weir_socket, peek_off));
		rte_prefetch0(p + offsetof(struct weir_socket, wait));
	}
}

/* Stages 2 and 3. */
static inline void
hand_over(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b)
{
	/* Per burst: are there buffers left for more than the rings need? */
	lc->pressure = weir_pool_low(lc->stack);
	b->selects = weir_socktab_lookup_burst(lc, b->key, b->n_keys, b->sk); /* stage 2 */
	if (b->n_keys > 2)
		prefetch_sockets(b->sk, b->n_keys);
	if (likely(b->n_keys == 1 && b->sk[0] != NULL && !b->mixed &&
		   (b->group | b->selects) == 0)) {
		deliver_to(lc, port, b->sk[0], b->m, NULL, b->each, b->n);
		return;
	}
	deliver(lc, port, b);
}

void
weir_rx_burst(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **m, unsigned int n,
	      bool from_mesh)
{
	struct rx_burst b;
	uint64_t bytes, stripped = 0;

	if (!from_mesh) /* first, so that nobody sees more come out than has gone in */
		weir_count(&lc->pc[port->index].rx_frames, n);
	b.n_tagged = 0;
	b.n = 0;
	if (unlikely(port->vlan_strip) && port->vlan == 0) /* a VLAN's have been sorted */
		n = sort_stripped(lc, port, &b, m, n, &stripped);
	bytes = likely(n > 0) ? classify(lc, port, m, n, &b) : 0;
	if (!from_mesh)
		weir_count(&lc->pc[port->index].rx_bytes, bytes + stripped);
	if (likely(b.n > 0))
		hand_over(lc, port, &b);
	if (unlikely(b.n_tagged > 0))
		receive_tagged(lc, &b);
}
