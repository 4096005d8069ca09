/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the receive pipeline, drawn in docs/architecture.md.
 *
 *   classify  one pass over the burst: parse and validate, checksums; ARP and ICMP go to their
 *             modules, refused frames to the drop call, datagrams on to
 *   lookup    the socket for each, as a burst
 *   deliver   one append per socket of the burst
 *
 * After classify the headers of a datagram are contiguous in its first segment, m->l2_len, l3_len,
 * l4_len say where they are and m->tso_segsz holds the payload length; weir_meta() holds arrival time
 * and true size. Reading (socket.c) relies on that.
 */
#include "rx.h"

#include "drop.h"
#include "icmp.h"
#include "local.h"
#include "mbuf.h"
#include "neigh.h"
#include "sock.h"
#include "socktab.h"

#define PREFETCH_AHEAD 4

struct rx_burst {
	unsigned int n; /* datagrams */
	struct rte_mbuf *m[WEIR_MAX_BURST];
	struct weir_key key[WEIR_MAX_BURST];
	struct weir_socket *sk[WEIR_MAX_BURST];
	uint64_t group; /* bit i: datagram i was sent to a group address or MAC: no ICMP about it */
};

/*
 * Is the datagram's checksum right? The device's "good" is taken; its "bad" is not: the sum is then
 * computed here.
 */
static inline bool
udp_csum_ok(const struct rte_mbuf *m, const struct wire_view *v, enum weir_drop *why)
{
	uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	const struct wire_udp *udp = rte_pktmbuf_mtod_offset(m, const struct wire_udp *, off);
	uint64_t pseudo;

	if (udp->csum == 0 || /* RFC 768: none was made */
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return true;
	pseudo = wire_pseudo4(v->src4, v->dst4, WIRE_PROTO_UDP, (uint16_t)v->udp_len);
	if (likely(wire_fold(pseudo + weir_mbuf_sum(m, off, v->udp_len)) == 0xffff))
		return true;
	*why = udp->csum == wire_fold(pseudo) ? WEIR_DROP_UDP_CSUM_PARTIAL : WEIR_DROP_UDP_CSUM;
	return false;
}

/* Addresses of the packet against ours. Returns false with a reason. */
static inline bool
addresses_ok(struct weir_stack *stack, const struct wire_view *v, bool *group, enum weir_drop *why)
{
	enum weir_local_kind dst = weir_local4(stack, v->dst4);

	*group = v->eth_group != 0;
	if (unlikely(dst != WEIR_LOCAL_UNICAST)) {
		if (dst == WEIR_NOT_LOCAL) {
			const uint8_t *b = (const uint8_t *)&v->dst4;

			*why = (b[0] & 0xf0) == 0xe0 ? WEIR_DROP_IP_MCAST : WEIR_DROP_IP_DST;
			return false;
		}
		*group = true;
	}
	/* RFC 1122 3.2.1.3: nobody else speaks as one of us or as a broadcast address. */
	if (unlikely(weir_local4(stack, v->src4) != WEIR_NOT_LOCAL)) {
		*why = WEIR_DROP_IP_SRC;
		return false;
	}
	return true;
}

/* Stage 1. */
static void
classify(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **frames, unsigned int n,
	 struct rx_burst *b)
{
	struct wire_parse_opt opt = port->parse;
	wire_be32 src_ok = 0; /* the last pair of addresses that passed: trains are the rule */
	wire_be32 dst_ok = 0;
	bool group_ok = false;

	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		enum weir_drop why;
		struct wire_view v;
		bool group;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + PREFETCH_AHEAD], void *));
		opt.ip_csum_good =
			(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &opt, &v);
		while (unlikely(v.kind == WIRE_MORE)) {
			struct rte_mbuf *head = weir_mbuf_pull(m, v.need, lc->stack->pool);

			if (head == NULL) {
				v.kind = WIRE_DROP;
				v.reason = WEIR_DROP_MEM_LIMIT;
				break;
			}
			m = head;
			wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len,
				   &opt, &v);
		}
		if (unlikely(v.kind == WIRE_DROP)) {
			weir_drop(lc, (enum weir_drop)v.reason, m);
			continue;
		}
		if (unlikely(v.kind == WIRE_ARP)) {
			weir_neigh_arp_input(lc, port, m, &v);
			continue;
		}
		if (likely(v.src4 == src_ok && v.dst4 == dst_ok && v.eth_group == 0)) {
			group = group_ok;
		} else if (addresses_ok(lc->stack, &v, &group, &why)) {
			if (v.eth_group == 0) {
				src_ok = v.src4;
				dst_ok = v.dst4;
				group_ok = group;
			}
		} else {
			weir_drop(lc, why, m);
			continue;
		}
		if (unlikely(v.kind == WIRE_ICMP)) {
			weir_icmp_input(lc, port, m, &v, !group);
			continue;
		}
		if (unlikely(!udp_csum_ok(m, &v, &why))) {
			weir_drop(lc, why, m);
			continue;
		}
		m->tx_offload = (uint64_t)v.l2_len | (uint64_t)v.l3_len << RTE_MBUF_L2_LEN_BITS |
				(uint64_t)WIRE_UDP_LEN
					<< (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS) |
				(uint64_t)(v.udp_len - WIRE_UDP_LEN)
					<< (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS +
					    RTE_MBUF_L4_LEN_BITS);
		m->port = port->index;
		weir_meta(m)->time_ns = lc->now_ns;
		weir_meta(m)->truesize = weir_truesize(m);
		b->key[b->n] = (struct weir_key){.local.v4 = v.dst4,
						 .peer.v4 = v.src4,
						 .lport = v.dport,
						 .pport = v.sport,
						 .family = WEIR_IPV4};
		b->group |= (uint64_t)group << b->n;
		b->m[b->n++] = m;
	}
}

/* Stage 3, for datagrams i.. of one socket: hand them over, drop what it refuses. */
static void
deliver_to(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf **m, unsigned int n)
{
	unsigned int took = 0;

	if (unlikely(lc->pressure)) {
		weir_recvq_refuse(&sk->rq, n);
		weir_drop_bulk(lc, WEIR_DROP_MEM_LIMIT, m, n);
		return;
	}
	took = weir_recvq_produce(&sk->rq, m, n);
	weir_count(&lc->c.rx_delivered, took);
	weir_drop_bulk(lc, WEIR_DROP_RCVQ_FULL, m + took, n - took);
}

static void
refuse_no_socket(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 bool group)
{
	if (!group)
		weir_icmp_port_unreachable(lc, port, m);
	weir_drop(lc, WEIR_DROP_NO_SOCKET, m);
}

/* Stage 3. */
static void
deliver(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b)
{
	uint64_t left = b->n == 64 ? UINT64_MAX : (UINT64_C(1) << b->n) - 1;
	struct rte_mbuf *train[WEIR_MAX_BURST];

	while (left != 0) {
		unsigned int i = (unsigned int)__builtin_ctzll(left);
		struct weir_socket *sk = b->sk[i];
		unsigned int n = 0;

		if (unlikely(sk == NULL)) {
			left &= left - 1;
			refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
			continue;
		}
		/* All of this burst for the same socket, in order. */
		for (uint64_t look = left; look != 0; look &= look - 1) {
			unsigned int k = (unsigned int)__builtin_ctzll(look);

			if (b->sk[k] == sk) {
				train[n++] = b->m[k];
				left &= ~(UINT64_C(1) << k);
			}
		}
		deliver_to(lc, sk, train, n);
	}
}

void
weir_rx_burst(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **m, unsigned int n,
	      bool from_mesh)
{
	struct rx_burst b;

	b.n = 0;
	b.group = 0;
	if (!from_mesh) {
		uint64_t bytes = 0;

		for (unsigned int i = 0; i < n; i++)
			bytes += m[i]->pkt_len;
		weir_count(&lc->pc[port->index].rx_frames, n);
		weir_count(&lc->pc[port->index].rx_bytes, bytes);
	}
	classify(lc, port, m, n, &b);
	if (b.n == 0)
		return;
	weir_socktab_lookup_burst(lc->stack, b.key, b.n, b.sk); /* stage 2 */
	deliver(lc, port, &b);
}
