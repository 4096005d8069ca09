/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the receive pipeline, drawn in docs/architecture.md.
 *
 *   classify  one pass over the burst: parse and validate, checksums; ARP and ICMP go to their
 *             modules, refused frames to the drop call, datagrams on to
 *   lookup    the socket for each train of one flow, as a burst
 *   deliver   one append per socket of the burst
 *
 * After classify the headers of a datagram are contiguous in its first segment, m->l2_len, l3_len,
 * l4_len say where they are and m->tso_segsz holds the payload length; weir_meta() holds arrival time
 * and true size. Reading (socket.c) relies on that.
 */
#include "rx.h"

#include <string.h>

#include "drop.h"
#include "icmp.h"
#include "local.h"
#include "mbuf.h"
#include "neigh.h"
#include "sock.h"
#include "socktab.h"

#define PREFETCH_AHEAD 4

struct rx_burst {
	unsigned int n;      /* datagrams */
	unsigned int n_keys; /* one for each train of datagrams of one flow */
	uint64_t bytes;      /* sum of true sizes */
	struct rte_mbuf *m[WEIR_MAX_BURST];
	uint8_t of[WEIR_MAX_BURST]; /* index of the datagram's key */
	struct weir_key key[WEIR_MAX_BURST];
	struct weir_socket *sk[WEIR_MAX_BURST]; /* for each key */
	uint64_t group; /* bit i: datagram i was sent to a group address or MAC: no ICMP about it */
};

/*
 * Is the checksum of the datagram right, whose UDP header lies at udp, off bytes into the packet? addr is
 * the sum of its addresses. The device's "good" is taken; its "bad" is not: the sum is then computed here.
 */
static inline bool
udp_csum_ok(const struct rte_mbuf *m, const struct wire_udp *udp, uint32_t off, uint32_t udp_len,
	    uint64_t addr, enum weir_drop *why)
{
	uint64_t pseudo;

	if (udp->csum == 0 || /* RFC 768: none was made */
	    (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return true;
	pseudo = addr + WIRE_BE16(WIRE_PROTO_UDP) + WIRE_BE16(udp_len);
	if (likely(off + udp_len <= m->data_len)) {
		if (likely(wire_fold(wire_sum(udp, udp_len, pseudo)) == 0xffff))
			return true;
	} else if (wire_fold(pseudo + weir_mbuf_sum_chained(m, off, udp_len)) == 0xffff) {
		return true;
	}
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

/*
 * Parse one frame that does not follow the train. True: a datagram for us, in *v, and *frame may be
 * another mbuf now. False: it has been dealt with.
 */
static __rte_noinline bool
classify_alone(struct weir_lcore *lc, struct weir_port *port, bool ip_csum_good,
	       struct rte_mbuf **frame, struct wire_view *v, bool *group)
{
	struct wire_parse_opt opt = port->parse;
	struct rte_mbuf *m = *frame;
	enum weir_drop why;

	opt.ip_csum_good = ip_csum_good;
	wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &opt, v);
	while (unlikely(v->kind == WIRE_MORE)) {
		struct rte_mbuf *head = weir_mbuf_pull(m, v->need, lc->stack->pool);

		if (head == NULL) {
			v->kind = WIRE_DROP;
			v->reason = WEIR_DROP_MEM_LIMIT;
			break;
		}
		m = head;
		wire_parse(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, &opt, v);
	}
	*frame = m;
	if (unlikely(v->kind == WIRE_DROP)) {
		weir_drop(lc, (enum weir_drop)v->reason, m);
		return false;
	}
	if (unlikely(v->kind == WIRE_ARP)) {
		weir_neigh_arp_input(lc, port, m, v);
		return false;
	}
	if (unlikely(!addresses_ok(lc->stack, v, group, &why))) {
		weir_drop(lc, why, m);
		return false;
	}
	if (unlikely(v->kind == WIRE_ICMP)) {
		weir_icmp_input(lc, port, m, v, !*group);
		return false;
	}
	return true;
}

/* What all datagrams of a train have in common, ready to be used. */
struct common {
	struct wire_train train;
	uint64_t addr_sum; /* of both addresses, for the pseudo-header */
	uint64_t lens;     /* tx_offload, but for the payload length */
	uint32_t off;      /* of the UDP header */
	wire_be32 src, dst;
	bool group;
};

static inline void
common_from(struct common *c, const struct wire_view *v, const uint8_t *p)
{
	c->src = v->src4;
	c->dst = v->dst4;
	c->addr_sum = (uint64_t)v->src4 + v->dst4;
	c->off = (uint32_t)v->l2_len + v->l3_len;
	c->lens = (uint64_t)v->l2_len | (uint64_t)v->l3_len << RTE_MBUF_L2_LEN_BITS |
		  (uint64_t)WIRE_UDP_LEN << (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS);
	if (v->l3_len == WIRE_IP4_MIN)
		wire_train_start(&c->train, p);
}

/* Stage 1. */
static void
classify(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **frames, unsigned int n,
	 struct rx_burst *b)
{
	const uint32_t max_frame = port->parse.max_frame != 0 ? port->parse.max_frame : UINT32_MAX;
	struct common c = {.group = false}; /* trains between two addresses are the rule */
	uint64_t flow = UINT64_MAX; /* ports of the last key while c is the same, else no ports */
	unsigned int n_keys = 0;
	unsigned int out = 0;
	uint64_t bytes = 0;

	wire_train_none(&c.train);
	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
		bool ip_csum_good =
			(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		const struct wire_udp *udp;
		struct weir_meta *meta;
		enum weir_drop why;
		uint32_t udp_len, ports;

		if (i + PREFETCH_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(frames[i + PREFETCH_AHEAD], void *));
		udp_len = wire_train_follow(&c.train, p, m->data_len, m->pkt_len, max_frame,
					    ip_csum_good);
		if (unlikely(udp_len == 0)) {
			struct wire_view v;
			bool group;

			wire_train_none(&c.train);
			flow = UINT64_MAX;
			if (!classify_alone(lc, port, ip_csum_good, &m, &v, &group))
				continue;
			p = rte_pktmbuf_mtod(m, const uint8_t *);
			udp_len = v.udp_len;
			common_from(&c, &v, p);
			c.group = group;
		}
		udp = (const struct wire_udp *)(const void *)(p + c.off);
		if (unlikely(!udp_csum_ok(m, udp, c.off, udp_len, c.addr_sum, &why))) {
			weir_drop(lc, why, m);
			continue;
		}
		m->tx_offload = c.lens | (uint64_t)(udp_len - WIRE_UDP_LEN)
						 << (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS +
						     RTE_MBUF_L4_LEN_BITS);
		m->port = port->index;
		meta = weir_meta(m);
		meta->time_ns = lc->now_ns;
		meta->truesize = weir_truesize(m);
		/* Linked here, where the line is being written: most bursts are for one socket. */
		meta->drops = 0;
		meta->next = NULL;
		if (out > 0)
			weir_meta(b->m[out - 1])->next = m;
		bytes += meta->truesize;
		memcpy(&ports, udp, sizeof(ports));
		if (flow != ports) {
			flow = ports;
			b->key[n_keys++] = (struct weir_key){.local.v4 = c.dst,
							     .peer.v4 = c.src,
							     .lport = udp->dport,
							     .pport = udp->sport,
							     .family = WEIR_IPV4};
		}
		if (unlikely(c.group))
			b->group |= UINT64_C(1) << out;
		b->of[out] = (uint8_t)(n_keys - 1);
		b->m[out++] = m;
	}
	b->n = out;
	b->n_keys = n_keys;
	b->bytes = bytes;
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
	if (unlikely(took < n))
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

	if (likely(b->n_keys == 1 && b->sk[0] != NULL)) {
		if (likely(!lc->pressure &&
			   weir_recvq_produce_list(&b->sk[0]->rq, b->m[0], b->m[b->n - 1], b->n,
						   b->bytes)))
			weir_count(&lc->c.rx_delivered, b->n);
		else
			deliver_to(lc, b->sk[0], b->m, b->n);
		return;
	}
	while (left != 0) {
		unsigned int i = (unsigned int)__builtin_ctzll(left);
		struct weir_socket *sk = b->sk[b->of[i]];
		unsigned int n = 0;

		if (unlikely(sk == NULL)) {
			left &= left - 1;
			refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
			continue;
		}
		/* All of this burst for the same socket, in order. */
		for (uint64_t look = left; look != 0; look &= look - 1) {
			unsigned int k = (unsigned int)__builtin_ctzll(look);

			if (b->sk[b->of[k]] == sk) {
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
	/* Per burst: are there buffers left for more than the rings need? */
	lc->pressure = weir_pool_low(lc->stack);
	weir_socktab_lookup_burst(lc->stack, b.key, b.n_keys, b.sk); /* stage 2 */
	deliver(lc, port, &b);
}
