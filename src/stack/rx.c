/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the receive pipeline, drawn in docs/architecture.md.
 *
 *   classify  one pass over the burst: parse and validate, checksums; ARP and ICMP go to their
 *             modules, refused frames to the drop call, datagrams on to
 *   lookup    the socket for each train of one flow, as a burst
 *   deliver   one append per socket of the burst
 *
 * After classify a datagram has one of the two forms that mbuf.h describes; reading (sockio.c) relies on
 * that.
 */
#include "rx.h"

#include <string.h>

#include "drop.h"
#include "event.h"
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
	bool same_size;      /* all true sizes are that of the first */
	struct rte_mbuf *m[WEIR_MAX_BURST];
	uint32_t size[WEIR_MAX_BURST]; /* true sizes */
	uint8_t of[WEIR_MAX_BURST];    /* index of the datagram's key */
	struct weir_key key[WEIR_MAX_BURST];
	struct weir_socket *sk[WEIR_MAX_BURST]; /* for each key */
	uint64_t group; /* bit i: datagram i was sent to a group address or MAC: no ICMP about it */
	uint64_t selects; /* bit i: the group of key i has a selector */
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

/* COLD: is the group joined on the port that the packet came in by? */
static bool
joined_here(struct weir_stack *stack, const struct weir_port *port, wire_be32 group)
{
	union weir_ip ip = {.w = {0, 0}};
	const struct weir_local *l;

	ip.v4 = group;
	l = weir_local_find(stack, &ip, WEIR_IPV4);
	return l != NULL && (l->ports >> port->index & 1) != 0;
}

/* Addresses of the packet against ours. Returns false with a reason. */
static inline bool
addresses_ok(struct weir_stack *stack, const struct weir_port *port, const struct wire_view *v,
	     bool *group, enum weir_drop *why)
{
	enum weir_local_kind dst = weir_local4(stack, v->dst4);

	*group = v->eth_group != 0;
	if (unlikely(dst != WEIR_LOCAL_UNICAST)) {
		if (dst == WEIR_NOT_LOCAL ||
		    (dst == WEIR_LOCAL_MULTICAST && !joined_here(stack, port, v->dst4))) {
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
	if (unlikely(!addresses_ok(lc->stack, port, v, group, &why))) {
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
	uint32_t off;      /* of the UDP header */
	wire_be32 src, dst;
	uint8_t l2_len, l3_len;
	bool plain; /* no IP options */
	bool group;
};

static inline void
common_from(struct common *c, const struct wire_view *v, const uint8_t *p)
{
	c->src = v->src4;
	c->dst = v->dst4;
	c->addr_sum = (uint64_t)v->src4 + v->dst4;
	c->off = (uint32_t)v->l2_len + v->l3_len;
	c->l2_len = v->l2_len;
	c->l3_len = v->l3_len;
	c->plain = v->l3_len == WIRE_IP4_MIN;
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
	uint32_t differ = 0;

	wire_train_none(&c.train);
	for (unsigned int i = 0; i < n && i < PREFETCH_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(frames[i], void *));
	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
		bool ip_csum_good =
			(m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		const struct wire_udp *udp;
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
		if (likely(c.plain && m->nb_segs == 1))
			weir_dgram_make_plain(m, udp_len - WIRE_UDP_LEN);
		else
			weir_dgram_make_odd(m, c.l2_len, c.l3_len, udp_len - WIRE_UDP_LEN);
		b->size[out] = weir_truesize(m);
		differ |= b->size[out] ^ b->size[0];
		memcpy(&ports, udp, sizeof(ports));
		if (flow != ports) {
			flow = ports;
			b->key[n_keys++] = (struct weir_key){.local.v4 = c.dst,
							     .peer.v4 = c.src,
							     .lport = udp->dport,
							     .pport = udp->sport,
							     .family = WEIR_IPV4,
							     .iface = (uint16_t)(port->index + 1)};
		}
		if (unlikely(c.group))
			b->group |= UINT64_C(1) << out;
		b->of[out] = (uint8_t)(n_keys - 1);
		b->m[out++] = m;
	}
	b->n = out;
	b->n_keys = n_keys;
	b->same_size = differ == 0;
}

/* Stage 3, for n datagrams of one socket: hand them over, drop what it refuses. */
static void
deliver_to(struct weir_lcore *lc, const struct weir_port *port, struct weir_socket *sk,
	   struct rte_mbuf **m, const uint32_t *size, bool same_size, unsigned int n)
{
	struct weir_recvq_batch batch = {
		.m = m,
		.size = same_size ? NULL : size,
		.each = size[0],
		.n = (uint16_t)n,
		.port = port->index,
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
		weir_icmp_port_unreachable(lc, port, m);
	}
	weir_drop(lc, WEIR_DROP_NO_SOCKET, m);
}

/* May sk have datagrams to this group? As Linux: its own joining decides, else WEIR_OPT_MCAST_ALL. */
static bool
member_of(const struct weir_socket *sk, const struct weir_port *port, const struct weir_key *key)
{
	const struct weir_members *m =
		atomic_load_explicit((struct weir_members * _Atomic *)(uintptr_t)&sk->members,
				     memory_order_acquire);
	bool joined = false;

	for (unsigned int i = 0; m != NULL && i < m->n; i++) {
		const struct weir_member *x = &m->member[i];

		if (x->port != port->index || x->group.ip.w[0] != key->local.w[0] ||
		    x->group.ip.w[1] != key->local.w[1])
			continue;
		joined = true;
		if (x->source.family == WEIR_UNSPEC ||
		    (x->source.ip.w[0] == key->peer.w[0] && x->source.ip.w[1] == key->peer.w[1]))
			return true;
	}
	return !joined && sk->mcast_all;
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
	uint32_t size;

	if (weir_is_mcast4(f->key->local.v4) && !member_of(sk, f->port, f->key))
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
	size = weir_truesize(copy);
	deliver_to(f->lc, f->port, before, &copy, &size, true, 1);
}

/*
 * Datagram i of a burst, when it is for a group address, or for a reuse-port group with a selector. False: it
 * is like any other. COLD.
 */
static __rte_noinline bool
deliver_special(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b,
		unsigned int i)
{
	const struct weir_key *key = &b->key[b->of[i]];
	struct fan_out f = {.lc = lc, .port = port, .key = key, .m = b->m[i]};
	struct weir_dgram d;

	if ((b->group >> i & 1) != 0 &&
	    weir_local4(lc->stack, key->local.v4) != WEIR_LOCAL_UNICAST) {
		weir_socktab_each(lc, key, fan_out_to, &f);
	} else if ((b->selects >> b->of[i] & 1) != 0) {
		uint32_t len;

		weir_dgram_look(b->m[i], &d);
		len = RTE_MIN(d.len, (uint32_t)b->m[i]->data_len - d.off);
		f.last = weir_socktab_select(
			lc, key, rte_pktmbuf_mtod_offset(b->m[i], const void *, d.off), len);
	} else {
		return false;
	}
	if (f.last != NULL)
		deliver_to(lc, port, f.last, &b->m[i], &b->size[i], true, 1);
	else
		refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
	return true;
}

/* Stage 3. */
static void
deliver(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b)
{
	uint64_t left = b->n == 64 ? UINT64_MAX : (UINT64_C(1) << b->n) - 1;
	struct rte_mbuf *train[WEIR_MAX_BURST];
	uint32_t size[WEIR_MAX_BURST];

	if (likely(b->n_keys == 1 && b->sk[0] != NULL && (b->group | b->selects) == 0)) {
		deliver_to(lc, port, b->sk[0], b->m, b->size, b->same_size, b->n);
		return;
	}
	if (unlikely((b->group | b->selects) != 0))
		for (unsigned int i = 0; i < b->n; i++)
			if (deliver_special(lc, port, b, i))
				left &= ~(UINT64_C(1) << i);
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
				size[n] = b->size[k];
				train[n++] = b->m[k];
				left &= ~(UINT64_C(1) << k);
			}
		}
		deliver_to(lc, port, sk, train, size, b->same_size, n);
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
	b.selects = weir_socktab_lookup_burst(lc, b.key, b.n_keys, b.sk); /* stage 2 */
	deliver(lc, port, &b);
}
