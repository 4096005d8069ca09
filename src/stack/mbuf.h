/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the stack does to chained mbufs: sums, pull-up, cuts at both ends, copy out. Layer 0, HOT for
 * the single-segment case. Nothing here assumes that a header or a payload lies in one segment.
 */
#ifndef WEIR_MBUF_H
#define WEIR_MBUF_H

#include <rte_mempool.h>

#include "drop.h"
#include "lcore.h"

/*
 * Is the pool down to what the port rings need? Asked per burst, so it reads the common store's count
 * only, not every lcore's cache (rte_mempool_avail_count walks all of them).
 */
static inline bool
weir_pool_low(const struct weir_stack *stack)
{
	return rte_mempool_get_ops(stack->pool->ops_index)->get_count(stack->pool) < stack->reserve;
}

/* Partial checksum of len bytes from offset off; the caller has checked that they exist. */
uint64_t weir_mbuf_sum_chained(const struct rte_mbuf *m, uint32_t off, uint32_t len);

static inline uint64_t
weir_mbuf_sum(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	if (likely(off + len <= m->data_len))
		return wire_sum(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), len, 0);
	return weir_mbuf_sum_chained(m, off, len);
}

/*
 * Make the first len bytes contiguous (len <= pkt_len, <= WIRE_HDR_MAX): a new first segment from
 * pool takes them. Returns the new head, which owns the rest; NULL when no buffer is to be had, m
 * untouched. Not for the fast path: call it only when data_len < len.
 */
struct rte_mbuf *weir_mbuf_pull(struct rte_mbuf *m, uint32_t len, struct rte_mempool *pool);

/* May the first segment's bytes be changed? Not while somebody else can see them. */
static inline bool
weir_mbuf_writable(const struct rte_mbuf *m)
{
	return rte_mbuf_refcnt_read(m) == 1 && !RTE_MBUF_CLONED(m) &&
	       (!RTE_MBUF_HAS_EXTBUF(m) || rte_mbuf_ext_refcnt_read(m->shinfo) == 1);
}

/* Leave `len` bytes from offset off on (both within the packet): cut the rest at both ends. */
void weir_mbuf_window_chained(struct rte_mbuf *m, uint32_t off, uint32_t len);

static inline void
weir_mbuf_window(struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	if (likely(m->nb_segs == 1)) {
		m->data_off = (uint16_t)(m->data_off + off);
		m->data_len = (uint16_t)len;
		m->pkt_len = len;
		return;
	}
	weir_mbuf_window_chained(m, off, len);
}

/*
 * The same packet in one segment from pool; m is given up. NULL when it does not fit or no buffer is to
 * be had: m untouched.
 */
struct rte_mbuf *weir_mbuf_flatten(struct rte_mbuf *m, struct rte_mempool *pool);

/* A packet of len bytes, unwritten, with headroom in its first buffer only. NULL: no buffer. */
struct rte_mbuf *weir_mbuf_chain_alloc(struct rte_mempool *pool, uint32_t len);

/*
 * A new packet of len bytes of m from offset off on, copied, with headroom for headers; chained when it
 * is longer than a buffer. NULL: no buffer. m unchanged.
 */
struct rte_mbuf *weir_mbuf_copy_range(const struct rte_mbuf *m, struct rte_mempool *pool,
				      uint32_t off, uint32_t len);

/* Copy at most size bytes of the packet's data to buf. Returns how many. */
uint32_t weir_mbuf_copy_out(const struct rte_mbuf *m, void *buf, uint32_t size);

/* ---- received datagrams in the form in which they are queued for a socket ---- */

/*
 * Plain, the usual case: one segment, Ethernet, 20 bytes of IPv4 (or 40 of IPv6: plain6), UDP. The mbuf's data
 * is the payload already; the headers lie in front of it. rx.c writes the packet type of every datagram that it
 * takes, and over IPv6 the index of the port (m->port); what the device wrote there is not looked at.
 *
 * Odd: everything else. The mbuf's data is the whole frame, headers contiguous in the first segment,
 * l2_len and l3_len say where the UDP header is, tso_segsz holds the payload length.
 */
#define WEIR_PTYPE_PLAIN  (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP)
#define WEIR_PTYPE_PLAIN6 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_UDP)
#define WEIR_PTYPE_ODD    (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN | RTE_PTYPE_L4_UDP)
#define WEIR_PTYPE_ODD6   (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN | RTE_PTYPE_L4_UDP)
#define WEIR_PLAIN_HDRS   (WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)
#define WEIR_PLAIN6_HDRS  (WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_UDP_LEN)

static inline bool
weir_dgram_plain(const struct rte_mbuf *m)
{
	return m->packet_type == WEIR_PTYPE_PLAIN;
}

static inline bool
weir_dgram_plain6(const struct rte_mbuf *m)
{
	return m->packet_type == WEIR_PTYPE_PLAIN6;
}

/* Bytes of headers in front of the mbuf's data: 0 for an odd one. */
static inline uint32_t
weir_dgram_hdrs(const struct rte_mbuf *m)
{
	if (likely(weir_dgram_plain(m)))
		return WEIR_PLAIN_HDRS;
	return weir_dgram_plain6(m) ? WEIR_PLAIN6_HDRS : 0;
}

static_assert(offsetof(struct rte_mbuf, pkt_len) == offsetof(struct rte_mbuf, packet_type) + 4,
	      "type and length: one store");

static inline void
weir_dgram_make(struct rte_mbuf *m, uint32_t type, uint32_t hdrs, uint32_t payload)
{
	const struct {
		uint32_t type, len;
	} both = {type, payload};

	memcpy(&m->packet_type, &both, sizeof(both));
	m->data_len = (uint16_t)payload;
	m->data_off = (uint16_t)(m->data_off + hdrs);
}

/* Make it plain: a frame with data_off at its first byte, payload bytes behind the headers. */
static inline void
weir_dgram_make_plain(struct rte_mbuf *m, uint32_t payload)
{
	weir_dgram_make(m, WEIR_PTYPE_PLAIN, WEIR_PLAIN_HDRS, payload);
}

static inline void
weir_dgram_make_plain6(struct rte_mbuf *m, uint32_t payload)
{
	weir_dgram_make(m, WEIR_PTYPE_PLAIN6, WEIR_PLAIN6_HDRS, payload);
}

static inline void
weir_dgram_make_odd(struct rte_mbuf *m, uint8_t family, uint32_t l2_len, uint32_t l3_len,
		    uint32_t payload)
{
	m->packet_type = family == WEIR_IPV4 ? WEIR_PTYPE_ODD : WEIR_PTYPE_ODD6;
	m->tx_offload = (uint64_t)l2_len | (uint64_t)l3_len << RTE_MBUF_L2_LEN_BITS |
			(uint64_t)WIRE_UDP_LEN << (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS) |
			(uint64_t)payload << (RTE_MBUF_L2_LEN_BITS + RTE_MBUF_L3_LEN_BITS +
					      RTE_MBUF_L4_LEN_BITS);
}

/* Undo either: the frame from its first byte to the end of its payload. */
static inline void
weir_dgram_whole(struct rte_mbuf *m)
{
	const uint32_t hdrs = weir_dgram_hdrs(m);

	m->data_off = (uint16_t)(m->data_off - hdrs);
	m->data_len = (uint16_t)(m->data_len + hdrs);
	m->pkt_len += hdrs;
	m->packet_type = 0;
}

/* Bytes of the buffer in front of the frame. */
static inline uint32_t
weir_dgram_headroom(const struct rte_mbuf *m)
{
	return (uint32_t)m->data_off - weir_dgram_hdrs(m);
}

/* Where things are in a datagram of either form. */
struct weir_dgram {
	union {
		const struct wire_ip4 *ip;
		const struct wire_ip6 *ip6;
	};
	const struct wire_udp *udp;
	uint32_t off;   /* of the payload in the mbuf's data */
	uint32_t len;   /* of the payload, all segments */
	uint8_t family; /* enum weir_family */
	uint16_t port;  /* IPv6: index of the port that it came in by */
};

static inline void
weir_dgram_look(const struct rte_mbuf *m, struct weir_dgram *d)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	if (likely(weir_dgram_plain(m))) {
		d->ip = (const void *)(p - WIRE_UDP_LEN - WIRE_IP4_MIN);
		d->udp = (const void *)(p - WIRE_UDP_LEN);
		d->off = 0;
		d->len = m->pkt_len;
		d->family = WEIR_IPV4;
		return;
	}
	if (likely(weir_dgram_plain6(m))) {
		d->ip6 = (const void *)(p - WIRE_UDP_LEN - WIRE_IP6_LEN);
		d->udp = (const void *)(p - WIRE_UDP_LEN);
		d->off = 0;
		d->len = m->pkt_len;
		d->family = WEIR_IPV6;
		d->port = m->port;
		return;
	}
	d->ip = (const void *)(p + m->l2_len);
	d->udp = (const void *)(p + m->l2_len + m->l3_len);
	d->off = (uint32_t)m->l2_len + m->l3_len + WIRE_UDP_LEN;
	d->len = m->tso_segsz;
	d->family = m->packet_type == WEIR_PTYPE_ODD ? WEIR_IPV4 : WEIR_IPV6;
	d->port = m->port;
}

/* Traffic class (TOS), hop limit (TTL), flow label in host order. */
static inline uint8_t
weir_dgram_traffic(const struct weir_dgram *d)
{
	if (likely(d->family == WEIR_IPV4))
		return d->ip->tos;
	return (uint8_t)(WIRE_BE32(d->ip6->ver_tc_flow) >> 20);
}

static inline uint8_t
weir_dgram_hops(const struct weir_dgram *d)
{
	return likely(d->family == WEIR_IPV4) ? d->ip->ttl : d->ip6->hop_limit;
}

static inline uint32_t
weir_dgram_flow(const struct weir_dgram *d)
{
	return likely(d->family == WEIR_IPV4) ? 0 : WIRE_BE32(d->ip6->ver_tc_flow) & 0xfffff;
}

/*
 * An IPv6 endpoint as it was received by port (index): link-local addresses and the groups that do not leave
 * the link have the port as their scope (RFC 4007).
 */
static inline void
weir_addr_received6(struct weir_addr *a, const uint8_t *ip, wire_be16 udp_port, unsigned int port)
{
	const bool scoped =
		ip[0] >= 0xfe && (ip[0] == 0xff ? (ip[1] & 0xf) <= 2 : (ip[1] & 0xc0) == 0x80);

	memcpy(a->ip.b, ip, sizeof(a->ip.b));
	a->scope = unlikely(scoped) ? port + 1 : 0;
	a->port = udp_port;
	a->family = WEIR_IPV6;
	a->pad = 0;
}

static inline void
weir_addr_received4(struct weir_addr *a, wire_be32 ip, wire_be16 udp_port)
{
	a->ip.w[0] = 0;
	a->ip.w[1] = 0;
	a->ip.v4 = ip;
	a->scope = 0;
	a->port = udp_port;
	a->family = WEIR_IPV4;
	a->pad = 0;
}

/* Source and destination; local may be NULL. */
static inline void
weir_dgram_names(const struct weir_dgram *d, struct weir_addr *peer, struct weir_addr *local)
{
	if (d->family == WEIR_IPV4) {
		weir_addr_received4(peer, d->ip->src, d->udp->sport);
		if (local != NULL)
			weir_addr_received4(local, d->ip->dst, d->udp->dport);
	} else {
		weir_addr_received6(peer, d->ip6->src, d->udp->sport, d->port);
		if (local != NULL)
			weir_addr_received6(local, d->ip6->dst, d->udp->dport, d->port);
	}
}

/* What an application gets: the payload alone. d: of weir_dgram_look(). */
static inline void
weir_dgram_payload(struct rte_mbuf *m, const struct weir_dgram *d)
{
	if (likely(weir_dgram_hdrs(m) != 0))
		return;
	m->tx_offload = 0;
	weir_mbuf_window(m, d->off, d->len);
}

/*
 * A copy of a datagram of either form, itself of either form (what is longer than a buffer is chained).
 * NULL: no buffer. m unchanged.
 */
struct rte_mbuf *weir_dgram_copy(struct rte_mbuf *m, struct rte_mempool *pool);

#endif /* WEIR_MBUF_H */
