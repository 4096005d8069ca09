/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the transmit pipeline, drawn in docs/architecture.md.
 *
 *   check     the destination and the size, before anything is touched
 *   route     this lcore's route cache: port, MTU, finished header template
 *   neighbour the template's MAC is current: one compare; else resolve, or hold
 *   header    copy the template, fill in lengths, ports and checksums (or ask the device for them)
 *   batch     append; poll flushes
 *
 * Datagrams in a row to one destination are a *train*: the first two stages run once for all of them. Those in plain
 * buffers, which is all of a fast sender's, go through the last two in one tight loop per family (run4, run6), whose
 * only decisions are whether the next one is like that; send_one() takes whatever else there is, one by one.
 */
#include "tx.h"

#include <errno.h>
#include <string.h>
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "batch.h"
#include "drop.h"
#include "fragment.h"
#include "local.h"
#include "mbuf.h"
#include "mesh.h"
#include "neigh.h"
#include "route.h"
#include "sock.h"

/* Largest UDP payloads: 65535 - 20 - 8 over IPv4; over IPv6 the length does not count the IP header. */
#define PAYLOAD_MAX4 65507u
#define PAYLOAD_MAX6 65527u

#define HOPS_DEFAULT 64

/* Where a train of datagrams to one destination goes, and what their headers have in common. */
struct tx_train {
	const struct weir_addr *to;
	const struct weir_txctl *ctl;
	struct weir_rtc *e;
	wire_be16 sport;
	uint16_t segment; /* payload of each datagram; 0: whatever it is */
	uint32_t mtu;     /* longest IP packet that leaves whole */
	bool v6;
	bool as_template; /* hops, TOS, flow label and DF as they are there: nothing to change */
	bool no_check;
	bool df;       /* IPv4 */
	bool may_frag; /* what is longer than the MTU is cut; else refused */
	bool mcast_loop;
	bool remote; /* another lcore owns the port's queue */
	uint8_t ttl, tos;
	uint32_t flow; /* IPv6 flow label, host order */
};

/* ---- hot: neighbour ---- */

/* Bring a new or changed neighbour word into the template. COLD. */
static __rte_noinline bool
neighbour_refresh(struct weir_lcore *lc, struct weir_rtc *e, bool *gone)
{
	struct weir_way way;
	uint64_t word;

	*gone = true;
	if (weir_route_way(lc, e, &way) != 0 || way.port != e->port)
		return false;
	switch (weir_neigh_use(lc, e->port, e->neigh, &way.next_hop, &word)) {
	case WEIR_NEIGH_GONE:
		return false;
	case WEIR_NEIGH_WAIT:
		*gone = false;
		e->flags &= (uint8_t)~WEIR_RTC_READY;
		e->neigh_word = word;
		return false;
	case WEIR_NEIGH_READY:
	default:
		*gone = false;
		weir_neigh_mac(word, ((struct wire_eth *)(void *)e->hdr)->dst);
		e->flags |= WEIR_RTC_READY;
		e->neigh_word = word;
		return true;
	}
}

/* Is the template's MAC the one that the neighbour has now? */
static inline bool
neighbour_known(const struct weir_lcore *lc, const struct weir_rtc *e)
{
	return (e->flags & WEIR_RTC_NO_NEIGH) != 0 ||
	       ((e->flags & WEIR_RTC_READY) != 0 &&
		weir_neigh_word(lc->stack, e->neigh) == e->neigh_word);
}

/* Stage neighbour: is the header complete? On *gone the entry is to be emptied. */
static inline bool
neighbour_ready(struct weir_lcore *lc, struct weir_rtc *e, bool *gone)
{
	if (unlikely((e->flags & WEIR_RTC_NO_NEIGH) != 0))
		return true;
	if (likely(weir_neigh_word(lc->stack, e->neigh) == e->neigh_word))
		return (e->flags & WEIR_RTC_READY) != 0;
	return neighbour_refresh(lc, e, gone);
}

/* ---- hot: header ---- */

/*
 * Where the headers go: in front of the payload, or in a segment of their own when there is no room or
 * the buffer is shared. Returns the mbuf to send with room in front of its data; NULL: no buffer. multi: the result
 * may be chained.
 */
static inline struct rte_mbuf *
header_room(struct weir_lcore *lc, bool multi, struct rte_mbuf *m, uint16_t len)
{
	struct rte_mbuf *head;

	if (likely(rte_pktmbuf_headroom(m) >= len && rte_mbuf_refcnt_read(m) == 1 &&
		   RTE_MBUF_DIRECT(m) && (m->nb_segs == 1 || multi)))
		return m;
	head = rte_pktmbuf_alloc(lc->stack->pool);
	if (head == NULL)
		return NULL;
	if (!multi) { /* the device wants one segment: copy */
		if (m->pkt_len > rte_pktmbuf_tailroom(head)) {
			weir_mbuf_discard(head);
			return NULL;
		}
		weir_mbuf_copy_out(m, rte_pktmbuf_append(head, (uint16_t)m->pkt_len), m->pkt_len);
		weir_mbuf_discard(m);
		return head;
	}
	if (m->pkt_len == 0) { /* nothing to chain: devices refuse an empty segment */
		weir_mbuf_discard(m);
		return head;
	}
	head->next = m;
	head->nb_segs = (uint16_t)(m->nb_segs + 1);
	head->pkt_len = m->pkt_len;
	return head;
}

/* The source address in a template. */
static union weir_ip
source_of(const struct weir_rtc *e)
{
	union weir_ip src = {.w = {0, 0}};

	if (e->l3_len == WIRE_IP4_MIN)
		memcpy(&src, e->hdr + WIRE_ETH_LEN + offsetof(struct wire_ip4, src), 4);
	else
		memcpy(&src, e->hdr + WIRE_ETH_LEN + offsetof(struct wire_ip6, src), 16);
	return src;
}

/* The header differs from its template in TTL, TOS or DF: change it. The sum that goes with it. COLD. */
static __rte_noinline uint64_t
change_template4(struct weir_lcore *lc, struct wire_ip4 *ip, const struct tx_train *t)
{
	uint64_t ip_sum = t->e->ip_sum;

	ip_sum += (uint16_t)~WIRE_BE16(0x4500) + (uint64_t)WIRE_BE16(0x4500u | t->tos);
	ip_sum += (uint16_t)~WIRE_BE16(HOPS_DEFAULT << 8 | WIRE_PROTO_UDP) +
		  (uint64_t)WIRE_BE16((uint32_t)t->ttl << 8 | WIRE_PROTO_UDP);
	ip->ttl = t->ttl;
	ip->tos = t->tos;
	if (!t->df) { /* routers may cut it: it needs an identification (RFC 6864 4.1) */
		const union weir_ip src = source_of(t->e);

		ip_sum += (uint16_t)~WIRE_BE16(WIRE_IP4_DF);
		ip->frag = 0;
		ip->id = (wire_be16)weir_fragment_id(lc, &src, &t->e->dst, WEIR_IPV4);
		ip_sum += ip->id;
	}
	return ip_sum;
}

static __rte_noinline void
change_template6(struct wire_ip6 *ip, const struct tx_train *t)
{
	ip->ver_tc_flow =
		WIRE_BE32(UINT32_C(6) << 28 | (uint32_t)t->tos << 20 | (t->flow & 0xfffff));
	ip->hop_limit = t->ttl;
}

/* What a device is asked for; lengths of the headers in front of the UDP payload. */
static inline uint64_t
offload_lengths(uint64_t l3_len)
{
	return WIRE_ETH_LEN | l3_len << RTE_MBUF_L2_LEN_BITS |
	       (uint64_t)WIRE_UDP_LEN << (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS);
}

#define OFFLOAD4 (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM)
#define OFFLOAD6 (RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_UDP_CKSUM)

/*
 * Stage header, whatever the buffers. m's data is the payload of len bytes; headers are prepended. offload: the device
 * makes the sums.
 */
static void
write_headers(struct weir_lcore *lc, const struct tx_train *t, struct rte_mbuf *m, uint32_t len,
	      bool offload)
{
	const struct weir_rtc *e = t->e;
	const uint16_t l3 = (uint16_t)(WIRE_ETH_LEN + e->l3_len);
	const uint16_t udp_len = (uint16_t)(len + WIRE_UDP_LEN);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *) - l3 - WIRE_UDP_LEN;
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(p + WIRE_ETH_LEN);
	struct wire_udp *udp = (struct wire_udp *)(void *)(p + l3);
	uint64_t sum = (uint64_t)e->pseudo_sum + WIRE_BE16(udp_len);

	memcpy(p, e->hdr, l3);
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (t->v6) {
		struct wire_ip6 *ip6 = (struct wire_ip6 *)(void *)(p + WIRE_ETH_LEN);

		ip6->payload_len = WIRE_BE16(udp_len);
		if (unlikely(!t->as_template))
			change_template6(ip6, t);
	} else {
		uint64_t ip_sum = e->ip_sum;

		ip->total_len = WIRE_BE16((uint16_t)(WIRE_IP4_MIN + udp_len));
		if (unlikely(!t->as_template))
			ip_sum = change_template4(lc, ip, t);
		if (!offload || t->no_check)
			ip->csum = (wire_be16)~wire_fold(ip_sum + ip->total_len);
	}
	udp->sport = t->sport;
	udp->dport = t->to->port;
	udp->len = WIRE_BE16(udp_len);
	m->tx_offload = 0;
	if (unlikely(t->no_check)) {
		udp->csum = 0;
	} else if (offload) {
		m->ol_flags |= t->v6 ? OFFLOAD6 : OFFLOAD4;
		m->tx_offload = offload_lengths(e->l3_len);
		udp->csum = wire_fold(sum);
	} else {
		uint16_t csum;

		sum += (uint64_t)udp->sport + udp->dport + udp->len;
		sum = m->nb_segs == 1 ? wire_sum(udp + 1, len, sum)
				      : sum + weir_mbuf_sum_chained(m, 0, len);
		csum = (uint16_t)~wire_fold(sum);
		udp->csum = csum != 0 ? csum : 0xffff; /* RFC 768: 0 means none */
	}
	m->data_off = (uint16_t)(m->data_off - l3 - WIRE_UDP_LEN);
	m->data_len = (uint16_t)(m->data_len + l3 + WIRE_UDP_LEN);
	m->pkt_len += l3 + WIRE_UDP_LEN;
}

/* ---- cold: what options say ---- */

/* How a mode of path MTU discovery treats what is longer than the path takes; the path's MTU is in t. */
static void
apply_pmtud(struct tx_train *t, uint8_t mode)
{
	/* Modes beyond DO know the port's MTU only. */
	if (mode >= WEIR_PMTUD_PROBE) {
		const uint16_t mtu6 = atomic_load_explicit(&t->e->port->mtu6, memory_order_relaxed);

		t->mtu = t->v6 && mtu6 != 0 ? mtu6 : t->e->port->mtu;
	}
	t->may_frag = mode < WEIR_PMTUD_DO || mode == WEIR_PMTUD_OMIT;
	t->df = mode == WEIR_PMTUD_DO || mode == WEIR_PMTUD_PROBE ||
		(mode == WEIR_PMTUD_WANT && (t->e->flags & WEIR_RTC_MTU_LOCK) == 0);
}

/* Port to leave by as a message or address names it (index + 1). Two that differ: -EINVAL. */
static int
want_port(const struct weir_lcore *lc, int64_t named, int *port)
{
	if (named < 1 || named > WEIR_ALL_PORTS || lc->stack->ports[named - 1] == NULL)
		return -ENODEV;
	if (*port >= 0 && *port != (int)named - 1)
		return -EINVAL;
	*port = (int)named - 1;
	return 0;
}

/* What ctl and the socket's options say about headers and route. 0: t is ready to be routed. */
static __rte_noinline int
apply_options4(struct weir_lcore *lc, const struct weir_socket *sk, struct tx_train *t, int *port,
	       const union weir_ip **src)
{
	const struct weir_txctl *ctl = t->ctl;
	bool mcast = weir_is_mcast4(t->to->ip.v4);

	t->ttl = mcast ? sk->tx.mcast_ttl : sk->tx.ttl;
	if (mcast && sk->tx.mcast_port >= 0)
		*port = sk->tx.mcast_port;
	if (sk->bind_port >= 0)
		*port = sk->bind_port;
	if (ctl != NULL) {
		if (ctl->ttl != 0 || ctl->has_ttl)
			t->ttl = ctl->ttl;
		if (ctl->has_tos)
			t->tos = ctl->tos;
		if (ctl->segment != 0)
			t->segment = ctl->segment;
		if (ctl->port != 0) {
			*port = -1;
			if (want_port(lc, ctl->port, port) != 0)
				return -ENODEV;
		}
		if (ctl->from.family != WEIR_UNSPEC) {
			if (ctl->from.family != WEIR_IPV4)
				return -EAFNOSUPPORT;
			if (weir_is_mcast4(ctl->from.ip.v4) || ctl->from.ip.v4 == 0xffffffff ||
			    (ctl->from.ip.b[0] == 0 && ctl->from.ip.v4 != 0))
				return -EINVAL; /* nobody's address; one that is not ours: fib.c */
			*src = &ctl->from.ip;
		}
	}
	return 0;
}

/* The same for IPv6. */
static __rte_noinline int
apply_options6(struct weir_lcore *lc, const struct weir_socket *sk, struct tx_train *t, int *port,
	       const union weir_ip **src)
{
	const struct weir_txctl *ctl = t->ctl;
	const bool mcast = weir_ip6_is_mcast(&t->to->ip);
	/* RFC 4007 6: without its zone such an address says nothing (ff01::/16 and ff02::/16 too). */
	const bool scoped =
		weir_ip6_is_link_local(&t->to->ip) || (mcast && (t->to->ip.b[1] & 0xf) <= 2);
	int err;

	t->tos = sk->tx6.tclass;
	t->flow = sk->tx6.flow_label;
	t->no_check = sk->tx6.no_check;
	t->mcast_loop = sk->tx6.mcast_loop;
	if (sk->bind_port >= 0)
		*port = sk->bind_port;
	if (ctl != NULL) {
		if (ctl->has_tos)
			t->tos = ctl->tos;
		if (ctl->flow != 0)
			t->flow = ctl->flow;
		if (ctl->segment != 0)
			t->segment = ctl->segment;
		if (ctl->port != 0) {
			err = want_port(lc, ctl->port, port);
			if (err != 0)
				return err;
		}
		if (ctl->from.family != WEIR_UNSPEC) {
			if (ctl->from.family != WEIR_IPV6)
				return -EAFNOSUPPORT;
			if (weir_ip6_is_mcast(&ctl->from.ip))
				return -EINVAL;
			*src = &ctl->from.ip;
			if (weir_ip6_is_link_local(&ctl->from.ip) && ctl->from.scope != 0) {
				err = want_port(lc, ctl->from.scope, port);
				if (err != 0)
					return err;
			}
		}
	}
	if (scoped && t->to->scope != 0) {
		err = want_port(lc, t->to->scope, port);
		if (err != 0)
			return err;
	}
	if (mcast && *port < 0)
		*port = sk->tx6.mcast_port;
	return scoped && *port < 0 ? -ENETUNREACH : 0;
}

/* With the route known: what the template does not have. IPv6. */
static void
settle6(const struct weir_socket *sk, struct tx_train *t)
{
	const struct wire_ip6 *ip = (const void *)(t->e->hdr + WIRE_ETH_LEN);
	const struct weir_txctl *ctl = t->ctl;
	int hops = weir_ip6_is_mcast(&t->to->ip) ? sk->tx6.mcast_hops : sk->tx6.hops;

	if (ctl != NULL && (ctl->has_ttl || ctl->ttl != 0))
		hops = ctl->ttl;
	t->ttl = hops >= 0 ? (uint8_t)hops : ip->hop_limit;
	t->as_template = t->ttl == ip->hop_limit && t->tos == 0 && t->flow == 0;
	apply_pmtud(t, sk->tx6.pmtud);
	if (sk->tx6.dontfrag || (ctl != NULL && ctl->dontfrag))
		t->may_frag = false;
}

/* ---- hot: check and route ---- */

/* IPv4, from src. */
static inline int
find_route4(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	    struct tx_train *t, const union weir_ip *src)
{
	static const union weir_ip loopback = {.b = {127, 0, 0, 1}};
	const union weir_ip *dst = &t->to->ip;
	bool plain = true;
	int port = -1;
	int err;

	t->v6 = false;
	t->sport = names->lport;
	t->segment = sk->tx.segment;
	t->tos = sk->tx.tos;
	t->no_check = sk->tx.no_check;
	t->as_template = true;
	t->may_frag = true;
	if (unlikely(!sk->tx.plain || t->ctl != NULL || weir_is_mcast4(t->to->ip.v4))) {
		plain = false;
		err = apply_options4(lc, sk, t, &port, &src);
		if (err != 0)
			return err;
	}
	if (unlikely(dst->v4 == 0)) /* this host, as Linux has it */
		dst = src->v4 != 0 ? src : &loopback;
	t->e = weir_route_get(lc, dst, src, weir_route_sel(WEIR_IPV4, port),
			      weir_route_ports(t->sport, t->to->port), &err);
	if (unlikely(t->e == NULL))
		return err;
	t->mtu = t->e->mtu;
	t->mcast_loop = sk->tx.mcast_loop;
	if (unlikely(!plain)) {
		apply_pmtud(t, sk->tx.pmtud);
		t->as_template = t->ttl == HOPS_DEFAULT && t->tos == 0 && t->df;
	} else if (unlikely((t->e->flags & WEIR_RTC_MTU_LOCK) != 0)) {
		t->ttl = HOPS_DEFAULT;
		apply_pmtud(t, sk->tx.pmtud);
		t->as_template = t->df;
	} else {
		t->may_frag = sk->tx.pmtud != WEIR_PMTUD_DO;
	}
	if (unlikely((t->e->flags & WEIR_RTC_BROADCAST) != 0 && !sk->tx.broadcast)) {
		t->e = NULL;
		return -EACCES;
	}
	return 0;
}

/* IPv6. */
static int
find_route6(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	    struct tx_train *t)
{
	static const union weir_ip none, loopback = {.b = {[15] = 1}};
	const union weir_ip *src = unlikely(names->group) ? &none : &names->bound;
	const union weir_ip *dst = &t->to->ip;
	bool plain = true;
	int port = -1;
	int err;

	t->v6 = true;
	t->sport = names->lport;
	t->segment = sk->tx.segment;
	t->tos = 0;
	t->flow = 0;
	t->no_check = false;
	t->mcast_loop = true;
	t->as_template = true;
	if (unlikely(!sk->tx.plain6 || t->ctl != NULL || dst->b[0] >= 0xfe)) {
		plain = false;
		err = apply_options6(lc, sk, t, &port, &src);
		if (err != 0)
			return err;
	}
	if (unlikely(weir_ip_is_any(dst))) /* this host, as Linux has it */
		dst = !weir_ip_is_any(src) ? src : &loopback;
	t->e = weir_route_get(lc, dst, src, weir_route_sel(WEIR_IPV6, port),
			      weir_route_ports(t->sport, t->to->port), &err);
	if (unlikely(t->e == NULL))
		return err;
	t->mtu = t->e->mtu;
	t->may_frag = sk->tx6.pmtud != WEIR_PMTUD_DO;
	if (unlikely(!plain))
		settle6(sk, t);
	return 0;
}

/* A socket of one family, a destination of the other. COLD. */
static __rte_noinline int
find_route_across(struct weir_lcore *lc, const struct weir_socket *sk,
		  const struct weir_names *names, struct tx_train *t)
{
	static const union weir_ip none;

	switch (t->to->family) {
	case WEIR_IPV4:
		if (sk->family == WEIR_IPV6 && sk->v6only)
			return -ENETUNREACH;
		/* As Linux: an address that was bound to is no source; one that a connection chose, no hindrance. */
		if (!weir_ip_is_any(&names->bound) && !weir_names_connected(names))
			return -ENETUNREACH;
		return find_route4(lc, sk, names, t, &none);
	case WEIR_IPV6:
		if (sk->family != WEIR_IPV6 || !weir_ip_is_any(&names->bound))
			return -EAFNOSUPPORT;
		return find_route6(lc, sk, names, t);
	default:
		return -EAFNOSUPPORT;
	}
}

/* Stages check (of the destination) and route. */
static inline int
find_route(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	   struct tx_train *t)
{
	static const union weir_ip none;
	int err;

	if (unlikely(t->to->port == 0 && t->to != &names->peer))
		return -EINVAL;
	if (unlikely(t->to->family != names->family))
		err = find_route_across(lc, sk, names, t);
	else if (likely(t->to->family == WEIR_IPV4))
		err = find_route4(lc, sk, names, t, unlikely(names->group) ? &none : &names->bound);
	else
		err = find_route6(lc, sk, names, t);
	if (unlikely(err != 0))
		return err;
	t->remote = !lc->txb[t->e->port->index].self;
	if (unlikely(t->ctl != NULL && t->ctl->confirm) && (t->e->flags & WEIR_RTC_NO_NEIGH) == 0)
		weir_neigh_confirm(lc, t->e->port, t->e->neigh, t->e->neigh_word);
	return 0;
}

uint32_t
weir_tx_mtu(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_txmsg *msg)
{
	const struct weir_names *names = weir_sock_names(sk);
	struct tx_train t = {.to = msg->to != NULL ? msg->to : &names->peer, .ctl = msg->ctl};

	return find_route(lc, sk, names, &t) == 0 ? t.mtu : 0;
}

/* ---- cold: groups, this host ---- */

/* A frame of this lcore for the loopback port; port: what it is to come in by. */
static void
loop_back(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	const struct weir_port *lo = lc->stack->ports[WEIR_PORT_LOOPBACK];

	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	m->tx_offload = 0;
	m->port = port->index;
	if (weir_batch_room(lc, lo) == 0)
		weir_drop(lc, WEIR_DROP_TXQ_FULL, m);
	else
		weir_batch_put(lc, lo, m);
}

/*
 * What goes to a group address is heard by this host's members too: a copy by the loopback port, with
 * the headers as they are. Out of buffers: counted as a copy that memory was short for. True: m
 * has been dealt with, no wire is to see it (RFC 1112 6.1: TTL 0).
 */
static __rte_noinline bool
loop_copy(struct weir_lcore *lc, const struct tx_train *t, struct rte_mbuf *m)
{
	const bool broadcast = (t->e->flags & WEIR_RTC_BROADCAST) != 0;
	const bool stays = !broadcast && !t->as_template && t->ttl == 0;
	struct rte_mbuf *copy;

	if (stays && !t->mcast_loop) { /* as if looped back, and nobody there */
		weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_frames, 1);
		weir_count(&lc->pc[WEIR_PORT_LOOPBACK].rx_frames, 1);
		weir_drop(lc, WEIR_DROP_NO_SOCKET, m);
		return true;
	}
	if (stays) {
		loop_back(lc, t->e->port, m);
		return true;
	}
	if (!broadcast && !t->mcast_loop)
		return false;
	copy = weir_pool_low(lc->stack) ? NULL
					: weir_mbuf_copy_range(m, lc->stack->pool, 0, m->pkt_len);
	if (copy == NULL) {
		weir_count(&lc->c.rx_copies, 1);
		weir_count(&lc->c.drops[WEIR_DROP_MEM_LIMIT], 1);
		return false;
	}
	weir_count(&lc->c.tx_copies, 1);
	loop_back(lc, t->e->port, copy);
	return false;
}

/* For whoever waits until the socket is writable again. */
static __rte_noinline void
note_blocked(const struct weir_lcore *lc, const struct weir_socket *sk,
	     const struct weir_port *port)
{
	if (port->index != WEIR_PORT_LOOPBACK) /* that one is emptied by the call itself */
		atomic_store_explicit(&((struct weir_socket *)(uintptr_t)sk)->blocked,
				      (uint32_t)lc->slot << 8 | (uint32_t)(port->index + 1),
				      memory_order_relaxed);
}

/* ---- cold: fragments ---- */

/*
 * A datagram that is longer than its path takes, and may be cut. As send_one(): all of it goes, or nothing has been
 * touched.
 */
static __rte_noinline int
send_fragments(struct weir_lcore *lc, const struct weir_socket *sk, struct rte_mbuf *m,
	       struct tx_train *t, bool ready)
{
	const struct weir_rtc *e = t->e;
	const uint8_t family = t->v6 ? WEIR_IPV6 : WEIR_IPV4;
	const uint16_t hdr = (uint16_t)(WIRE_ETH_LEN + e->l3_len + WIRE_UDP_LEN);
	const uint32_t len = m->pkt_len;
	struct tx_train whole = *t;
	const union weir_ip src = source_of(e);
	struct weir_fragments f;
	struct rte_mbuf *head;

	if (weir_fragment_count(len + WIRE_UDP_LEN, family, (uint16_t)t->mtu) == 0)
		return -EMSGSIZE;
	if (!weir_fragment_plan(lc, e->port, m, len + WIRE_UDP_LEN, family, (uint16_t)t->mtu, &f))
		return -ENOBUFS;
	if ((ready || t->remote) && !weir_batch_reserve(lc, e->port, f.n)) {
		weir_fragment_cancel(&f);
		note_blocked(lc, sk, e->port);
		return -EAGAIN;
	}
	head = header_room(lc, true, m, hdr);
	if (head == NULL) {
		weir_fragment_cancel(&f);
		return -ENOBUFS;
	}
	if (!t->v6) { /* no DF: it has been cut already */
		whole.as_template = false;
		whole.df = false;
		if (t->as_template) {
			whole.ttl = HOPS_DEFAULT;
			whole.tos = 0;
		}
	}
	write_headers(lc, &whole, head, len, false);
	if (unlikely((e->flags & WEIR_RTC_GROUP) != 0) && loop_copy(lc, &whole, head)) {
		weir_fragment_cancel(&f);
		return 0;
	}
	weir_fragment_cut(&f, head, weir_fragment_id(lc, &src, &e->dst, family));
	weir_count(&lc->c.tx_copies, f.n - 1u);
	if (ready)
		weir_batch_put_all(lc, e->port, f.m, f.n);
	else
		weir_neigh_hold_many(lc, e->port, e->neigh, f.m, f.n);
	return 0;
}

/* ---- hot: one datagram ---- */

/*
 * Send m (payload only) along the train. 0: m is the stack's. Negative errno: m is the caller's,
 * untouched. -EAGAIN: queue full.
 */
static int
send_one(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	 struct rte_mbuf *m, struct tx_train *t)
{
	struct weir_rtc *e = t->e;
	uint32_t len = m->pkt_len;
	struct rte_mbuf *head;
	bool gone = false;
	bool ready, cut;
	int err;

	/* check */
	if (unlikely(len > (t->v6 ? PAYLOAD_MAX6 : PAYLOAD_MAX4)))
		return -EMSGSIZE;
	cut = len + e->l3_len + WIRE_UDP_LEN > t->mtu && e->port->index != WEIR_PORT_LOOPBACK;
	if (unlikely(cut && (!t->may_frag || t->segment != 0)))
		return -EMSGSIZE;
	if (unlikely(weir_batch_room(lc, e->port) == 0) ||
	    (unlikely(t->remote) && !weir_batch_takes(lc, e->port))) {
		note_blocked(lc, sk, e->port);
		return -EAGAIN;
	}
	/* neighbour */
	ready = neighbour_ready(lc, e, &gone);
	if (unlikely(gone)) {
		e->gen = 0;
		err = find_route(lc, sk, names, t);
		if (err != 0)
			return err;
		e = t->e;
		gone = false;
		ready = neighbour_ready(lc, e, &gone);
		if (gone) {
			t->e = NULL;
			return -ENOBUFS;
		}
	}
	if (unlikely(cut))
		return send_fragments(lc, sk, m, t, ready);
	/* header */
	head = header_room(lc, e->port->tx_multi_seg, m,
			   (uint16_t)(WIRE_ETH_LEN + e->l3_len + WIRE_UDP_LEN));
	if (unlikely(head == NULL)) {
		if (m->pkt_len <= lc->stack->conf.data_room)
			return -ENOBUFS;
		/* Longer than a buffer, on a port that wants one buffer each. */
		return t->may_frag && t->segment == 0 && e->port->index != WEIR_PORT_LOOPBACK
			       ? send_fragments(lc, sk, m, t, ready)
			       : -EMSGSIZE;
	}
	write_headers(lc, t, head, len, e->port->tx_csum);
	if (unlikely((e->flags & WEIR_RTC_GROUP) != 0) && loop_copy(lc, t, head))
		return 0;
	/* batch */
	if (likely(ready)) {
		/* Asking for the neighbour may have used the last place. */
		if (unlikely(weir_batch_room(lc, e->port) == 0)) {
			weir_drop(lc, WEIR_DROP_TXQ_FULL, head);
			return 0;
		}
		weir_batch_put(lc, e->port, head);
	} else {
		weir_neigh_hold(lc, e->port, e->neigh, head);
	}
	return 0;
}

/* ---- hot: runs ---- */

/*
 * A run: datagrams of a train in buffers that are plain (one segment, nobody else's, memory of their own, room for
 * the headers) and that no option wants anything of. Everything that is the same for all is in registers.
 */

/* v at byte i of a word that is stored to memory. */
static inline uint64_t
at_byte(uint16_t v, unsigned int i)
{
	return (uint64_t)v << (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 8 * i : 48 - 8 * i);
}

static inline void
store64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* Fold the sum of two 16-bit numbers. */
static inline uint16_t
fold_two(uint32_t sum)
{
	return (uint16_t)(sum + (sum >> 16));
}

/* Checksum field of a UDP datagram whose header sums up to `sum`; the payload is at p. */
static inline uint16_t
payload_csum(const uint8_t *p, uint32_t len, uint64_t sum)
{
	uint16_t csum;

	if (likely(len >= 8 && len <= WIRE_SHORT)) {
		struct wire_wide w = wire_wide_sum(p, len, sum);

		w.sum += w.carries;
		w.sum += w.sum < w.carries;
		csum = (uint16_t)~wire_fold(w.sum);
	} else {
		csum = (uint16_t)~wire_fold(wire_sum(p, len, sum));
	}
	return csum != 0 ? csum : 0xffff; /* RFC 768: 0 means none */
}

static_assert(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, data_off) + 2 &&
		      offsetof(struct rte_mbuf, nb_segs) ==
			      offsetof(struct rte_mbuf, data_off) + 4 &&
		      offsetof(struct rte_mbuf, data_off) % 8 == 0,
	      "one word tells");

/* Is the buffer plain, with hdr bytes in front of its data? */
static inline bool
is_plain(const struct rte_mbuf *m, uint16_t hdr)
{
	const uint64_t one = at_byte(1, 2) | at_byte(1, 4);
	const uint64_t mask = at_byte(0xffff, 2) | at_byte(0xffff, 4);

	return (wire_load64(&m->data_off) & mask) == one && m->data_off >= hdr &&
	       (m->ol_flags & (RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT)) == 0;
}

/* What the datagrams of a run have in common beside their headers. */
struct tx_run {
	const struct weir_txmsg *msg;
	const struct weir_addr *to;
	const struct weir_txctl *ctl;
	uint64_t word;    /* of the first buffer: data_off, and that it is plain */
	uint32_t n;       /* messages at most: room in the batch is seen to */
	uint32_t len_max; /* of a payload */
	struct rte_mbuf **out;
};

/* May msg be part of the run? */
static inline bool
run_goes_on(const struct tx_run *r, const struct weir_txmsg *msg, const struct rte_mbuf *m)
{
	return likely(msg->to == r->to && msg->ctl == r->ctl && m->pkt_len <= r->len_max &&
		      wire_load64(&m->data_off) == r->word &&
		      (m->ol_flags & (RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT)) == 0);
}

/* What of the mbuf makes it a frame of len bytes; word: data_off of the frame, and that it is plain. */
static inline void
frame_of(struct rte_mbuf *m, const bool fresh, uint64_t word, uint32_t len, uint64_t flags)
{
	if (fresh)
		m->data_off = (uint16_t)word;
	else
		memcpy(&m->data_off, &word, sizeof(word));
	m->ol_flags = flags;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
}

/* The same word with hdr bytes less in front. */
static inline uint64_t
word_of_frame(uint64_t word, uint16_t data_off, uint16_t hdr)
{
	return (word & ~at_byte(0xffff, 0)) | at_byte((uint16_t)(data_off - hdr), 0);
}

#define HDR4 (WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)
#define HDR6 (WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_UDP_LEN)

/*
 * An IPv4 header's 42 bytes in registers; what differs from datagram to datagram is put in on the way to memory. Three
 * stores; the last one writes six bytes of the second again.
 */
#ifdef __SSE4_1__
struct hdr4 {
	__m128i a, b, c; /* bytes 0-15, 16-31, 26-41 */
};

static inline struct hdr4
hdr4_of(const struct weir_rtc *e, wire_be16 sport, wire_be16 dport)
{
	uint8_t end[16] = {0};

	memcpy(end, e->hdr + 26, 8);
	memcpy(end + 8, &sport, 2);
	memcpy(end + 10, &dport, 2);
	return (struct hdr4){
		_mm_loadu_si128((const __m128i *)(const void *)e->hdr),
		_mm_loadu_si128((const __m128i *)(const void *)(e->hdr + 16)),
		_mm_loadu_si128((const __m128i *)(const void *)end),
	};
}

static inline void
hdr4_store(const struct hdr4 *h, uint8_t *p, wire_be16 ip_len, uint16_t ip_csum, wire_be16 udp_len,
	   uint16_t csum)
{
	_mm_storeu_si128((__m128i *)(void *)p, h->a);
	_mm_storeu_si128((__m128i *)(void *)(p + 16),
			 _mm_insert_epi16(_mm_insert_epi16(h->b, ip_len, 0), ip_csum, 4));
	_mm_storeu_si128((__m128i *)(void *)(p + 26),
			 _mm_insert_epi32(h->c, (int)(udp_len | (uint32_t)csum << 16), 3));
}
#else
struct hdr4 {
	uint64_t w[5];
};

static inline struct hdr4
hdr4_of(const struct weir_rtc *e, wire_be16 sport, wire_be16 dport)
{
	struct hdr4 h;
	uint16_t dst_end;

	memcpy(h.w, e->hdr, 4 * sizeof(h.w[0]));
	memcpy(&dst_end, e->hdr + 32, sizeof(dst_end));
	h.w[4] = at_byte(dst_end, 0) | at_byte(sport, 2) | at_byte(dport, 4);
	return h;
}

static inline void
hdr4_store(const struct hdr4 *h, uint8_t *p, wire_be16 ip_len, uint16_t ip_csum, wire_be16 udp_len,
	   uint16_t csum)
{
	store64(p, h->w[0]);
	store64(p + 8, h->w[1]);
	store64(p + 16, h->w[2] | at_byte(ip_len, 0));
	store64(p + 24, h->w[3] | at_byte(ip_csum, 0));
	store64(p + 32, h->w[4] | at_byte(udp_len, 6));
	memcpy(p + 40, &csum, sizeof(csum));
}
#endif

/*
 * Stages header and batch of a run over IPv4. Returns how many datagrams it took; *bytes: of their frames. fresh: there
 * is one, in a buffer that has just been allocated: nothing of it is asked (a wide load behind the narrow stores
 * of the allocation would wait for them).
 */
static __rte_always_inline unsigned int
run4(const struct tx_run *run, const struct weir_rtc *e, wire_be16 sport, wire_be16 dport,
     const bool offload, const bool fresh, uint32_t *bytes)
{
	const struct tx_run r = *run;
	const struct hdr4 h = hdr4_of(e, sport, dport);
	const uint32_t ip_sum = e->ip_sum;
	/* Of the UDP header's fields but the length. */
	const uint32_t udp_sum = (uint32_t)e->pseudo_sum + (offload ? 0 : sport + dport);
	const uint16_t data_off = r.msg[0].m->data_off;
	const uint64_t word =
		fresh ? (uint64_t)data_off - HDR4 : word_of_frame(r.word, data_off, HDR4);
	uint32_t total = 0;
	unsigned int i;

	for (i = 0; i < r.n; i++) {
		struct rte_mbuf *m = r.msg[i].m;
		const uint32_t len = m->pkt_len;
		const wire_be16 udp_len = WIRE_BE16(len + WIRE_UDP_LEN);
		const wire_be16 ip_len = WIRE_BE16(len + WIRE_UDP_LEN + WIRE_IP4_MIN);
		uint8_t *data = (uint8_t *)m->buf_addr + data_off;

		if (!fresh && !run_goes_on(&r, &r.msg[i], m))
			break;
		if (offload) {
			m->tx_offload = offload_lengths(WIRE_IP4_MIN);
			hdr4_store(&h, data - HDR4, ip_len, 0, udp_len,
				   fold_two(udp_sum + udp_len));
		} else {
			const uint16_t csum =
				payload_csum(data, len, (uint64_t)udp_sum + 2 * (uint64_t)udp_len);

			hdr4_store(&h, data - HDR4, ip_len, (uint16_t)~fold_two(ip_sum + ip_len),
				   udp_len, csum);
		}
		frame_of(m, fresh, word, len + HDR4, offload ? OFFLOAD4 : 0);
		total += len + HDR4;
		r.out[i] = m;
	}
	*bytes = total;
	return i;
}

/* The same over IPv6. */
static __rte_always_inline unsigned int
run6(const struct tx_run *run, const struct weir_rtc *e, wire_be16 sport, wire_be16 dport,
     const bool offload, const bool fresh, uint32_t *bytes)
{
	const struct tx_run r = *run;
	const uint64_t w2 = wire_load64(e->hdr + 16); /* payload length 0 */
	const uint64_t ports = at_byte(sport, 0) | at_byte(dport, 2);
	const uint32_t udp_sum = (uint32_t)e->pseudo_sum + (offload ? 0 : sport + dport);
	const uint16_t data_off = r.msg[0].m->data_off;
	const uint64_t word =
		fresh ? (uint64_t)data_off - HDR6 : word_of_frame(r.word, data_off, HDR6);
	uint32_t total = 0;
	unsigned int i;

	for (i = 0; i < r.n; i++) {
		struct rte_mbuf *m = r.msg[i].m;
		const uint32_t len = m->pkt_len;
		const wire_be16 udp_len = WIRE_BE16(len + WIRE_UDP_LEN);
		uint8_t *data = (uint8_t *)m->buf_addr + data_off;
		uint8_t *p = data - HDR6;
		uint16_t csum;

		if (!fresh && !run_goes_on(&r, &r.msg[i], m))
			break;
		if (offload) {
			csum = fold_two(udp_sum + udp_len);
			m->tx_offload = offload_lengths(WIRE_IP6_LEN);
		} else {
			csum = payload_csum(data, len, (uint64_t)udp_sum + 2 * (uint64_t)udp_len);
		}
		memcpy(p, e->hdr, 16);
		store64(p + 16, w2 | at_byte(udp_len, 2));
		memcpy(p + 24, e->hdr + 24,
		       32); /* two bytes more than there are: overwritten next */
		store64(p + 54, ports | at_byte(udp_len, 4) | at_byte(csum, 6));
		frame_of(m, fresh, word, len + HDR6, offload ? OFFLOAD6 : 0);
		total += len + HDR6;
		r.out[i] = m;
	}
	*bytes = total;
	return i;
}
static_assert(offsetof(struct weir_rtc, hdr) + 24 + 32 <= sizeof(struct weir_rtc),
	      "read beyond the header, not beyond the entry");

/* n frames have been written behind those in the batch. */
static inline void
batch_grew(struct weir_lcore *lc, struct weir_txb *b, unsigned int n, uint32_t bytes)
{
	b->bytes += bytes;
	lc->dirty |= 1u << b->port;
	b->n = (uint16_t)(b->n + n);
	weir_count(&lc->c.tx_batch_in, n);
}

/* As many of the datagrams as are a run. Returns how many it took: 0 to n. */
static inline unsigned int
send_run(struct weir_lcore *lc, const struct weir_txmsg *msg, uint16_t n, const struct tx_train *t)
{
	const struct weir_rtc *e = t->e;
	const struct weir_port *port = e->port;
	struct weir_txb *b = &lc->txb[port->index];
	const uint32_t hdr = (uint32_t)e->l3_len + WIRE_UDP_LEN;
	unsigned int room = WEIR_TXB_SIZE - (unsigned int)b->n;
	struct tx_run r = {
		.msg = msg,
		.to = msg->to,
		.ctl = t->ctl,
		.word = wire_load64(&msg->m->data_off),
		.len_max = t->mtu - hdr,
		.out = &b->m[b->n],
	};
	const wire_be16 dport = t->to->port;
	unsigned int done;
	uint32_t bytes;

	if (unlikely(!t->as_template || t->no_check || (e->flags & WEIR_RTC_GROUP) != 0 ||
		     !neighbour_known(lc, e) || t->mtu < hdr ||
		     !is_plain(msg->m, (uint16_t)(hdr + WIRE_ETH_LEN))))
		return 0;
	if (unlikely(t->remote)) {
		const unsigned int free = weir_mesh_free(lc, b->owner);

		if (weir_batch_full(lc->stack, lc->slot, b->port) || free <= b->n)
			return 0;
		room = RTE_MIN(room, free - b->n);
	}
	r.n = RTE_MIN((unsigned int)n, room);
	if (unlikely(t->segment != 0))
		r.len_max = RTE_MIN(r.len_max, (uint32_t)t->segment);
	if (t->v6)
		done = port->tx_csum ? run6(&r, e, t->sport, dport, true, false, &bytes)
				     : run6(&r, e, t->sport, dport, false, false, &bytes);
	else
		done = port->tx_csum ? run4(&r, e, t->sport, dport, true, false, &bytes)
				     : run4(&r, e, t->sport, dport, false, false, &bytes);
	if (likely(done > 0))
		batch_grew(lc, b, done, bytes);
	return done;
}

/*
 * One datagram in a plain buffer with room for the headers, by a socket and to a destination that nobody wants anything
 * special of: straight through all stages. False: one of them is not so, nothing has been touched; weir_tx_burst() knows.
 */
bool
weir_tx_lean(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	     const struct weir_addr *to, struct rte_mbuf *m)
{
	const bool v6 = to->family == WEIR_IPV6;
	const uint32_t hdr = (v6 ? WIRE_IP6_LEN : WIRE_IP4_MIN) + WIRE_UDP_LEN;
	const struct weir_txmsg msg = {.m = m};
	struct tx_run r = {.msg = &msg, .n = 1};
	const struct weir_rtc *e;
	struct weir_txb *b;
	uint32_t bytes;
	int err;

	if (unlikely(to->family != names->family || names->group || names->lport == 0 ||
		     to->port == 0 || sk->tx.segment != 0))
		return false;
	if (v6 ? !sk->tx.plain6 || to->ip.b[0] >= 0xfe || weir_ip_is_any(&to->ip)
	       : !sk->tx.plain || to->ip.b[0] >= 224 || to->ip.v4 == 0)
		return false;
	e = weir_route_get(lc, &to->ip, &names->bound, weir_route_sel(to->family, -1),
			   weir_route_ports(names->lport, to->port), &err);
	/* A neighbour that is known, no broadcast, no lock, not this host. */
	if (unlikely(e == NULL || e->flags != WEIR_RTC_READY || !neighbour_known(lc, e) ||
		     e->mtu < hdr + m->pkt_len))
		return false;
	b = &lc->txb[e->port->index];
	if (unlikely(!b->self || b->n == WEIR_TXB_SIZE))
		return false;
	r.out = &b->m[b->n];
	if (v6)
		(void)(e->port->tx_csum ? run6(&r, e, names->lport, to->port, true, true, &bytes)
					: run6(&r, e, names->lport, to->port, false, true, &bytes));
	else
		(void)(e->port->tx_csum ? run4(&r, e, names->lport, to->port, true, true, &bytes)
					: run4(&r, e, names->lport, to->port, false, true, &bytes));
	batch_grew(lc, b, 1, bytes);
	return true;
}

uint16_t
weir_tx_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
	      uint16_t n, int *err)
{
	const struct weir_names *names = weir_sock_names(sk);
	struct tx_train t = {.to = NULL};
	uint16_t sent = 0;

	*err = 0;
	while (sent < n) {
		const struct weir_addr *to = msgs[sent].to;
		unsigned int done;

		if (to == NULL) {
			if (unlikely(!weir_names_connected(names))) {
				*err = -EDESTADDRREQ;
				break;
			}
			to = &names->peer;
		}
		/*
		 * One look-up for datagrams in a row that name the same address in memory: until another
		 * is looked up nothing moves the entry. A route that changes meanwhile counts from the
		 * next look-up on.
		 */
		if (to != t.to || unlikely(t.e == NULL || msgs[sent].ctl != t.ctl)) {
			t.to = to;
			t.ctl = msgs[sent].ctl;
			*err = find_route(lc, sk, names, &t);
			if (unlikely(*err != 0))
				break;
		}
		done = send_run(lc, &msgs[sent], (uint16_t)(n - sent), &t);
		sent = (uint16_t)(sent + done);
		if (likely(done > 0))
			continue;
		if (unlikely(t.segment != 0 && msgs[sent].m->pkt_len > t.segment)) {
			*err = WEIR_TX_SEGMENT;
			break;
		}
		*err = send_one(lc, sk, names, msgs[sent].m, &t);
		if (unlikely(*err != 0))
			break;
		sent++;
	}
	return sent;
}
