/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the transmit pipeline, drawn in docs/architecture.md.
 *
 *   check     the destination and the size, before anything is touched
 *   route     this lcore's route cache: port, MTU, finished header template
 *   neighbour the template's MAC is current: one compare; else resolve, or hold
 *   header    copy the template, fill in lengths, ports and checksums (or ask the device for them)
 *   batch     append; poll flushes
 */
#include "tx.h"

#include <errno.h>
#include <string.h>

#include "batch.h"
#include "drop.h"
#include "local.h"
#include "mbuf.h"
#include "neigh.h"
#include "route.h"
#include "sock.h"

/* Largest UDP payload over IPv4: 65535 - 20 - 8. */
#define PAYLOAD_MAX4 65507u

/* Bring a new or changed neighbour word into the template. COLD. */
static bool
neighbour_refresh(struct weir_lcore *lc, struct weir_rtc *e, const union weir_ip *next_hop,
		  bool *gone)
{
	uint64_t word;

	switch (weir_neigh_use(lc, e->port, e->neigh, next_hop, &word)) {
	case WEIR_NEIGH_GONE:
		*gone = true;
		return false;
	case WEIR_NEIGH_WAIT:
		e->flags &= (uint8_t)~WEIR_RTC_READY;
		e->neigh_word = word;
		return false;
	case WEIR_NEIGH_READY:
	default:
		weir_neigh_mac(word, ((struct wire_eth *)(void *)e->hdr)->dst);
		e->flags |= WEIR_RTC_READY;
		e->neigh_word = word;
		return true;
	}
}

/* Stage neighbour: is the header complete? On WEIR_NEIGH_GONE the entry is emptied. */
static inline bool
neighbour_ready(struct weir_lcore *lc, struct weir_rtc *e, bool *gone)
{
	const struct weir_route *r;

	if (unlikely((e->flags & WEIR_RTC_NO_NEIGH) != 0))
		return true;
	if (likely(weir_neigh_word(lc->stack, e->neigh) == e->neigh_word))
		return (e->flags & WEIR_RTC_READY) != 0;
	r = weir_route_lookup_on(lc->stack, &e->dst, e->sel & 7, e->port->index);
	return neighbour_refresh(lc, e, r != NULL && r->has_gateway ? &r->gateway : &e->dst, gone);
}

/*
 * Where the headers go: in front of the payload, or in a segment of their own when there is no room or
 * the buffer is shared. Returns the mbuf to send with room in front of its data; NULL: no buffer.
 */
static inline struct rte_mbuf *
header_room(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m, uint16_t len)
{
	struct rte_mbuf *head;

	if (likely(rte_pktmbuf_headroom(m) >= len && rte_mbuf_refcnt_read(m) == 1 &&
		   RTE_MBUF_DIRECT(m) && (m->nb_segs == 1 || port->tx_multi_seg)))
		return m;
	head = rte_pktmbuf_alloc(lc->stack->pool);
	if (head == NULL)
		return NULL;
	if (!port->tx_multi_seg) { /* the device wants one segment: copy */
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

/* Where a train of datagrams to one destination goes, and what their headers have in common. */
struct tx_train {
	const struct weir_addr *to;
	const struct weir_txctl *ctl;
	struct weir_rtc *e;
	wire_be16 sport;
	uint16_t segment; /* payload of each datagram; 0: whatever it is */
	bool as_template; /* TTL 64, TOS 0, DF: nothing to change */
	bool no_check;
	bool df;
	bool remote; /* another lcore owns the port's queue */
	uint8_t ttl, tos;
};

/* The header differs from its template in TTL, TOS or DF: change it. The sum that goes with it. COLD. */
static __rte_noinline uint64_t
change_template(struct wire_ip4 *ip, const struct tx_train *t, uint64_t ip_sum)
{
	ip_sum += (uint16_t)~WIRE_BE16(0x4500) + (uint64_t)WIRE_BE16(0x4500u | t->tos);
	ip_sum += (uint16_t)~WIRE_BE16(64u << 8 | WIRE_PROTO_UDP) +
		  (uint64_t)WIRE_BE16((uint32_t)t->ttl << 8 | WIRE_PROTO_UDP);
	ip->ttl = t->ttl;
	ip->tos = t->tos;
	if (!t->df) {
		ip_sum += (uint16_t)~WIRE_BE16(WIRE_IP4_DF);
		ip->frag = 0;
	}
	return ip_sum;
}

/* Stage header. m's data is the payload of len bytes; headers are prepended. */
static inline void
write_headers(const struct tx_train *t, struct rte_mbuf *m, uint16_t len)
{
	const struct weir_rtc *e = t->e;
	const wire_be16 dport = t->to->port;
	uint16_t l3 = (uint16_t)(e->l2_len + e->l3_len);
	uint16_t udp_len = (uint16_t)(len + WIRE_UDP_LEN);
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *) - l3 - WIRE_UDP_LEN;
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)(p + e->l2_len);
	struct wire_udp *udp = (struct wire_udp *)(void *)(p + l3);
	uint64_t ip_sum = e->ip_sum;
	uint64_t sum;

	/* The template's 34 bytes for IPv4. */
	memcpy(p, e->hdr, WIRE_ETH_LEN + WIRE_IP4_MIN);
	ip->total_len = WIRE_BE16((uint16_t)(e->l3_len + udp_len));
	if (unlikely(!t->as_template))
		ip_sum = change_template(ip, t, ip_sum);
	udp->sport = t->sport;
	udp->dport = dport;
	udp->len = WIRE_BE16(udp_len);
	sum = (uint64_t)e->pseudo_sum + WIRE_BE16(udp_len);
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (unlikely(t->no_check)) {
		m->tx_offload = 0;
		ip->csum = (wire_be16)~wire_fold(ip_sum + ip->total_len);
		udp->csum = 0;
	} else if (e->port->tx_csum) {
		m->ol_flags |=
			RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_UDP_CKSUM;
		m->tx_offload = (uint64_t)e->l2_len | (uint64_t)e->l3_len << RTE_MBUF_L2_LEN_BITS |
				(uint64_t)WIRE_UDP_LEN
					<< (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS);
		udp->csum = wire_fold(sum);
	} else {
		uint16_t csum;

		m->tx_offload = 0;
		ip->csum = (wire_be16)~wire_fold(ip_sum + ip->total_len);
		sum += (uint64_t)udp->sport + dport + udp->len;
		sum = likely(m->nb_segs == 1) ? wire_sum(udp + 1, len, sum)
					      : sum + weir_mbuf_sum_chained(m, 0, len);
		csum = (uint16_t)~wire_fold(sum);
		udp->csum = csum != 0 ? csum : 0xffff; /* RFC 768: 0 means none */
	}
	m->data_off = (uint16_t)(m->data_off - l3 - WIRE_UDP_LEN);
	m->data_len = (uint16_t)(m->data_len + l3 + WIRE_UDP_LEN);
	m->pkt_len += l3 + WIRE_UDP_LEN;
}

/* What ctl and the socket's options say about headers and route. 0: t is ready to be routed. COLD. */
static __rte_noinline int
apply_options(struct weir_lcore *lc, const struct weir_socket *sk, struct tx_train *t, int *port,
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
		if (ctl->ttl != 0)
			t->ttl = ctl->ttl;
		if (ctl->has_tos)
			t->tos = ctl->tos;
		if (ctl->segment != 0)
			t->segment = ctl->segment;
		if (ctl->port != 0) {
			if (ctl->port < 0 || ctl->port > WEIR_ALL_PORTS ||
			    lc->stack->ports[ctl->port - 1] == NULL)
				return -ENODEV;
			*port = ctl->port - 1;
		}
		if (ctl->from.family != WEIR_UNSPEC) {
			if (ctl->from.family != WEIR_IPV4)
				return -EAFNOSUPPORT;
			if (weir_is_mcast4(ctl->from.ip.v4) || ctl->from.ip.v4 == 0xffffffff ||
			    (ctl->from.ip.b[0] == 0 && ctl->from.ip.v4 != 0))
				return -EINVAL; /* nobody's address; one that is not ours: route.c */
			*src = &ctl->from.ip;
		}
	}
	t->df = sk->tx.pmtud != WEIR_PMTUD_DONT && sk->tx.pmtud < WEIR_PMTUD_INTERFACE;
	t->as_template = t->ttl == 64 && t->tos == 0 && t->df;
	return 0;
}

/* Stages check (of the destination) and route. */
static inline int
find_route(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	   struct tx_train *t)
{
	static const union weir_ip none, loopback = {.b = {127, 0, 0, 1}};
	const union weir_ip *src = unlikely(names->group) ? &none : &names->bound;
	const union weir_ip *dst = &t->to->ip;
	int port = -1;
	int err;

	if (unlikely(t->to->port == 0 && t->to != &names->peer))
		return -EINVAL;
	if (unlikely(t->to->family != WEIR_IPV4))
		return -EAFNOSUPPORT;
	t->sport = names->lport;
	t->segment = sk->tx.segment;
	t->tos = sk->tx.tos;
	t->no_check = sk->tx.no_check;
	t->as_template = true;
	if (unlikely(!sk->tx.plain || t->ctl != NULL || weir_is_mcast4(t->to->ip.v4))) {
		err = apply_options(lc, sk, t, &port, &src);
		if (err != 0)
			return err;
	}
	if (unlikely(dst->v4 == 0)) /* this host, as Linux has it */
		dst = src->v4 != 0 ? src : &loopback;
	t->e = weir_route_get(lc, dst, src, weir_route_sel(WEIR_IPV4, port), &err);
	if (unlikely(t->e == NULL))
		return err;
	t->remote = !lc->txb[t->e->port->index].self;
	if (unlikely((t->e->flags & WEIR_RTC_BROADCAST) != 0 && !sk->tx.broadcast)) {
		t->e = NULL;
		return -EACCES;
	}
	return 0;
}

/* A frame of this lcore for the loopback port; port: what it is to come in by. COLD. */
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
 * the headers as they are. COLD. Out of buffers: counted as a copy that memory was short for. True: m
 * has been dealt with, no wire is to see it (RFC 1112 6.1: TTL 0).
 */
static __rte_noinline bool
loop_copy(struct weir_lcore *lc, const struct weir_socket *sk, const struct tx_train *t,
	  struct rte_mbuf *m)
{
	const bool broadcast = (t->e->flags & WEIR_RTC_BROADCAST) != 0;
	const bool stays = !broadcast && !t->as_template && t->ttl == 0;
	struct rte_mbuf *copy;

	if (stays && !sk->tx.mcast_loop) { /* as if looped back, and nobody there */
		weir_count(&lc->pc[WEIR_PORT_LOOPBACK].tx_frames, 1);
		weir_count(&lc->pc[WEIR_PORT_LOOPBACK].rx_frames, 1);
		weir_drop(lc, WEIR_DROP_NO_SOCKET, m);
		return true;
	}
	if (stays) {
		loop_back(lc, t->e->port, m);
		return true;
	}
	if (!broadcast && !sk->tx.mcast_loop)
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

/* For whoever waits until the socket is writable again. COLD. */
static __rte_noinline void
note_blocked(const struct weir_lcore *lc, const struct weir_socket *sk,
	     const struct weir_port *port)
{
	if (port->index != WEIR_PORT_LOOPBACK) /* that one is emptied by the call itself */
		atomic_store_explicit(&((struct weir_socket *)(uintptr_t)sk)->blocked,
				      (uint32_t)lc->slot << 8 | (uint32_t)(port->index + 1),
				      memory_order_relaxed);
}

/*
 * Send m (payload only) along the train. 0: m is the stack's. Negative errno: m is the caller's,
 * untouched. -EAGAIN: queue full.
 */
static inline int
send_one(struct weir_lcore *lc, const struct weir_socket *sk, const struct weir_names *names,
	 struct rte_mbuf *m, struct tx_train *t)
{
	struct weir_rtc *e = t->e;
	uint32_t len = m->pkt_len;
	struct rte_mbuf *head;
	bool gone = false;
	bool ready;
	int err;

	/* check */
	if (unlikely(len > PAYLOAD_MAX4 || len + e->l3_len + WIRE_UDP_LEN > e->mtu))
		return -EMSGSIZE; /* nothing is fragmented yet */
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
	/* header */
	head = header_room(lc, e->port, m, (uint16_t)(e->l2_len + e->l3_len + WIRE_UDP_LEN));
	if (unlikely(head == NULL))
		return m->pkt_len > lc->stack->conf.data_room ? -EMSGSIZE : -ENOBUFS;
	write_headers(t, head, (uint16_t)len);
	if (unlikely((e->flags & WEIR_RTC_GROUP) != 0) && loop_copy(lc, sk, t, head))
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

uint16_t
weir_tx_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
	      uint16_t n, int *err)
{
	const struct weir_names *names = weir_sock_names(sk);
	struct tx_train t = {.to = NULL};
	uint16_t sent;

	for (sent = 0; sent < n; sent++) {
		const struct weir_addr *to = msgs[sent].to;

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
		if (unlikely(t.segment != 0 && msgs[sent].m->pkt_len > t.segment)) {
			*err = WEIR_TX_SEGMENT;
			break;
		}
		*err = send_one(lc, sk, names, msgs[sent].m, &t);
		if (unlikely(*err != 0))
			break;
	}
	return sent;
}
