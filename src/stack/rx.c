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
	uint32_t each;       /* true size of all */
	bool mixed;          /* ... no: see size */
	uint64_t group; /* bit i: datagram i was sent to a group address or MAC: no ICMP about it */
	uint64_t selects; /* bit i: the group of key i has a selector */
	struct rte_mbuf **m;
	struct weir_key key[WEIR_MAX_BURST];
	struct weir_socket *sk[WEIR_MAX_BURST]; /* for each key */
	uint8_t of[WEIR_MAX_BURST];             /* index of the datagram's key */
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
	    udp->csum == 0) /* RFC 768: none was made */
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
 * Nobody listens on port 0: whoever sent a good datagram there is told so, like any other. The headers are
 * valid and in the first segment. COLD.
 */
static void
answer_port0(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_ip4 *ip = (const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN);
	const uint32_t off = WIRE_ETH_LEN + (ip->ver_ihl & 0xfu) * 4;
	const struct wire_udp *udp = (const struct wire_udp *)(const void *)(p + off);
	const struct wire_view v = {.src4 = ip->src, .dst4 = ip->dst, .eth_group = p[0] & 1};
	const uint32_t len = WIRE_BE16(udp->len);
	enum weir_drop why;
	bool group;

	if (addresses_ok(lc->stack, port, &v, &group, &why) && !group &&
	    udp_csum_ok(m, udp, off, len, (uint64_t)ip->src + ip->dst, &why))
		weir_icmp_error(lc, port, m, WEIR_ICMP_PORT_UNREACH, 0);
}

/*
 * Parse one frame that does not follow the train. True: a datagram for us, in *v, and *frame may be
 * another mbuf now. False: it has been dealt with.
 */
static bool
classify_alone(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **frame,
	       struct wire_view *v, bool *group)
{
	struct wire_parse_opt opt = port->parse;
	struct rte_mbuf *m = *frame;
	enum weir_drop why;

	opt.ip_csum_good = ip_csum_good(m);
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
		if (v->reason == WEIR_DROP_UDP_PORT0)
			answer_port0(lc, port, m);
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

/* State of stage 1. */
struct classify {
	struct weir_lcore *lc;
	struct weir_port *port;
	struct rx_burst *b;
	struct weir_rx_last *c;
	bool keyed;       /* the burst's last key is that of c's flow */
	uint32_t span;    /* longest frame less the shortest */
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
follow_train(struct classify *s, unsigned int i, unsigned int n, bool vouched)
{
	const struct wire_train train = s->c->train; /* in registers */
	const uint64_t addr_sum = s->c->addr_sum;
	const uint16_t buf_len = s->buf_len;
	const uint32_t span = s->span;
	struct rx_burst *b = s->b;
	struct rte_mbuf **frames = b->m;
	const unsigned int first = i;
	unsigned int n_out;
	uint64_t bytes = 0;

	for (; i < n; i++) {
		struct rte_mbuf *m = frames[i];
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
		const struct wire_udp *udp = (const void *)(p + WIRE_ETH_LEN + WIRE_IP4_MIN);
		const uint32_t len = m->data_len;
		uint32_t payload;

		if (likely(i + PREFETCH_AHEAD < n))
			prefetch_headers(frames[i + PREFETCH_AHEAD]);
		if (unlikely(m->nb_segs != 1 || len - WIRE_TRAIN_MIN > span ||
			     m->buf_len != buf_len))
			break;
		if (vouched && unlikely(!sums_vouched(m)))
			break;
		if (unlikely(!wire_train_follow(&train, p, len, &payload)))
			break;
		if (!vouched && !sums_vouched(m) &&
		    unlikely(!wire_ip4_sum_ok(p + WIRE_ETH_LEN) ||
			     (udp->csum != 0 &&
			      !wire_udp_sum_ok(udp, payload + WIRE_UDP_LEN, addr_sum))))
			break;
		bytes += len;
		weir_dgram_make_plain(m, payload);
	}
	n_out = i - first;
	if (unlikely(first != b->n)) /* mostly they are where they should be */
		memmove(&frames[b->n], &frames[first], n_out * sizeof(frames[0]));
	if (unlikely(s->c->group))
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
	return follow_train(s, i, n, true);
}

static __rte_noinline unsigned int
follow_train_summed(struct classify *s, unsigned int i, unsigned int n)
{
	return follow_train(s, i, n, false);
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

	return m->nb_segs == 1 && len - WIRE_TRAIN_MIN <= s->span &&
	       wire_train_other(&s->c->train, p, len, payload) &&
	       (ip_csum_good(m) || wire_ip4_sum_ok(ip)) &&
	       (ip->src == s->c->src || weir_local4(s->lc->stack, ip->src) == WEIR_NOT_LOCAL);
}

/* A key of the flow, for the datagrams from here on. */
static inline void
add_key(struct classify *s)
{
	struct rx_burst *b = s->b;
	struct weir_key *key = &b->key[b->n_keys++];
	wire_be16 port[2]; /* source, destination */

	memcpy(port, &s->c->ports, sizeof(port));
	/* The addresses apart: an initialiser of v4 alone leaves their other bytes as they were (C11 6.7.9). */
	*key = (struct weir_key){.lport = port[1],
				 .pport = port[0],
				 .family = WEIR_IPV4,
				 .iface = (uint16_t)(s->port->index + 1)};
	key->local.v4 = s->c->dst;
	key->peer.v4 = s->c->src;
}

/* A frame that does not follow. Only when it is accepted it becomes what others follow. */
static __rte_noinline void
classify_one(struct classify *s, struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	struct weir_rx_last *c = s->c;
	struct rx_burst *b = s->b;
	bool group = c->group;
	bool plain;
	struct wire_view v = {.l2_len = WIRE_ETH_LEN, .l3_len = WIRE_IP4_MIN};
	const struct wire_udp *udp;
	uint32_t payload, ports, off;
	enum weir_drop why;
	uint64_t addr_sum;

	s->bytes += m->pkt_len;
	if (likely(follows_roughly(s, m, p, &payload))) {
		const struct wire_ip4 *ip = (const void *)(p + WIRE_ETH_LEN);

		v.src4 = ip->src;
		v.dst4 = ip->dst;
	} else {
		if (!classify_alone(s->lc, s->port, &m, &v, &group))
			return;
		p = rte_pktmbuf_mtod(m, const uint8_t *);
		payload = v.udp_len - WIRE_UDP_LEN;
	}
	off = (uint32_t)v.l2_len + v.l3_len;
	addr_sum = (uint64_t)v.src4 + v.dst4;
	udp = (const void *)(p + off);
	if (unlikely(!udp_csum_ok(m, udp, off, payload + WIRE_UDP_LEN, addr_sum, &why))) {
		weir_drop(s->lc, why, m);
		return;
	}
	memcpy(&ports, udp, sizeof(ports));
	plain = m->nb_segs == 1 && v.l3_len == WIRE_IP4_MIN;
	if (!s->keyed || c->ports != ports || c->src != v.src4 || c->dst != v.dst4 ||
	    c->group != group) {
		c->src = v.src4;
		c->dst = v.dst4;
		c->addr_sum = addr_sum;
		c->ports = ports;
		c->group = group;
		s->keyed = true;
		add_key(s);
	}
	if (likely(plain)) {
		wire_train_start(&c->train, p);
		b->mixed |= m->buf_len != s->buf_len;
		weir_dgram_make_plain(m, payload);
	} else {
		wire_train_none(&c->train);
		b->mixed = true;
		weir_dgram_make_odd(m, v.l2_len, v.l3_len, payload);
	}
	if (unlikely(group))
		b->group |= UINT64_C(1) << b->n;
	b->of[b->n] = (uint8_t)(b->n_keys - 1);
	b->m[b->n++] = m;
}

/* A quick look whether it is worth while to ask: addresses and ports. */
static inline bool
may_follow(const struct classify *s, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	return m->data_len >= WIRE_TRAIN_MIN && wire_train_same_flow(&s->c->train, p);
}

/* Frames from i on that follow; vouched: see follow_train(). */
static inline unsigned int
follow_on(struct classify *s, unsigned int i, unsigned int n, bool vouched)
{
	return vouched ? follow_train_vouched(s, i, n) : follow_train_summed(s, i, n);
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
	const uint32_t max_frame = port->parse.max_frame != 0 ? port->parse.max_frame : UINT16_MAX;
	/* Before any address is looked at: what is found is at least as new. Pairs with route.c publish. */
	const uint64_t gen = atomic_load_explicit(&lc->stack->gen, memory_order_acquire);
	struct classify s = {
		.lc = lc,
		.port = port,
		.b = b,
		.c = &lc->rx_last[port->index],
		.span = max_frame - WIRE_TRAIN_MIN,
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
	if (likely(s.c->gen == gen && !s.c->group)) { /* groups come and go without a new gen */
		add_key(&s);
		i = follow_on(&s, 0, n, sums_vouched(frames[0]));
		s.keyed = i > 0;
		b->n_keys = i > 0;
	} else {
		wire_train_none(&s.c->train);
		s.c->gen = gen;
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
	deliver_to(f->lc, f->port, before, &copy, NULL, weir_truesize(copy), 1);
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
		deliver_to(lc, port, f.last, &b->m[i], NULL, weir_truesize(b->m[i]), 1);
	else
		refuse_no_socket(lc, port, b->m[i], (b->group >> i & 1) != 0);
	return true;
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

/* Stage 3, when the burst is not all for one socket. */
static void
deliver(struct weir_lcore *lc, const struct weir_port *port, struct rx_burst *b)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];
	uint32_t size[WEIR_MAX_BURST];
	struct chains c;

	c.n = 0;
	memset(c.slot, 0, sizeof(c.slot));
	for (unsigned int i = 0; i < b->n; i++) {
		struct weir_socket *sk = b->sk[b->of[i]];
		unsigned int k, before;

		if (unlikely((b->group | b->selects) != 0) && deliver_special(lc, port, b, i))
			continue;
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
	for (unsigned int k = 0; k < c.n; k++) {
		unsigned int i = c.first[k];
		unsigned int n = 0;

		for (;; i = c.next[i]) {
			if (unlikely(b->mixed))
				size[n] = weir_truesize(b->m[i]);
			m[n++] = b->m[i];
			if (i == c.last[k])
				break;
		}
		deliver_to(lc, port, c.sk[k], m, b->mixed ? size : NULL, b->each, n);
	}
}

void
weir_rx_burst(struct weir_lcore *lc, struct weir_port *port, struct rte_mbuf **m, unsigned int n,
	      bool from_mesh)
{
	struct rx_burst b;
	uint64_t bytes;

	if (!from_mesh) /* first, so that nobody sees more come out than has gone in */
		weir_count(&lc->pc[port->index].rx_frames, n);
	bytes = classify(lc, port, m, n, &b);
	if (!from_mesh)
		weir_count(&lc->pc[port->index].rx_bytes, bytes);
	if (b.n == 0)
		return;
	/* Per burst: are there buffers left for more than the rings need? */
	lc->pressure = weir_pool_low(lc->stack);
	b.selects = weir_socktab_lookup_burst(lc, b.key, b.n_keys, b.sk); /* stage 2 */
	if (likely(b.n_keys == 1 && b.sk[0] != NULL && !b.mixed && (b.group | b.selects) == 0)) {
		deliver_to(lc, port, b.sk[0], b.m, NULL, b.each, b.n);
		return;
	}
	deliver(lc, port, &b);
}
