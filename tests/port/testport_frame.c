/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the port knows about the bytes of a frame: a simple NIC's parser, Internet checksums, the
 * Toeplitz hash and the redirection table, what is reported of a received frame and what is
 * inserted into a transmitted one.
 *
 * Called by the bursts of ring and pair mode and by testport_inject(), each in its own thread, and
 * by the start of a feed port. The port's switches are read as they are at that moment; nothing
 * here takes a lock, keeps state or counts.
 *
 * It does not judge: testport_wire.c says whether a frame may be transmitted.
 */
#include "testport_priv.h"

#include <netinet/in.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_mbuf_dyn.h>
#include <rte_thash.h>

/* --- Headers --------------------------------------------------------------------------------- */

uint64_t
testport_mac_number(const uint8_t *bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		n = n << 8 | bytes[i];
	return n;
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

void
testport_frame_parse(const struct rte_mbuf *m, struct testport_headers *h)
{
	uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)TESTPORT_HEADERS_MAX);
	const uint8_t *ip;
	uint16_t type, off;
	uint8_t proto = 0;

	memset(h, 0, offsetof(struct testport_headers, copy));
	if (len < RTE_ETHER_HDR_LEN)
		return;
	h->bytes = rte_pktmbuf_read(m, 0, len, h->copy);
	h->l2_len = RTE_ETHER_HDR_LEN;
	type = be16(h->bytes + 12);
	if (type == RTE_ETHER_TYPE_VLAN && len >= TESTPORT_FRAME_OVERHEAD) {
		h->tagged = true;
		h->l2_len += TESTPORT_VLAN_LEN;
		type = be16(h->bytes + 16);
	}

	ip = h->bytes + h->l2_len;
	if (type == RTE_ETHER_TYPE_IPV4 && len >= h->l2_len + 20u && ip[0] >> 4 == 4) {
		off = (uint16_t)((ip[0] & 15) * 4);
		if (off < 20 || len < (uint32_t)h->l2_len + off)
			return;
		h->version = 4;
		h->l3_len = off;
		h->ip_len = be16(ip + 2);
		h->fragment = (be16(ip + 6) & 0x3fff) != 0; /* more fragments, or an offset */
		proto = ip[9];
	} else if (type == RTE_ETHER_TYPE_IPV6 && len >= h->l2_len + 40u && ip[0] >> 4 == 6) {
		h->version = 6;
		h->l3_len = 40;
		h->ip_len = 40u + be16(ip + 4);
		h->fragment = ip[6] == IPPROTO_FRAGMENT;
		proto = ip[6];
	} else {
		return;
	}
	h->ip_fits = h->ip_len >= h->l3_len && h->l2_len + h->ip_len <= m->pkt_len;

	if (proto != IPPROTO_UDP || h->fragment || len < (uint32_t)h->l2_len + h->l3_len + 8)
		return;
	h->udp = true;
	h->udp_len = be16(ip + h->l3_len + 4);
	h->udp_fits = h->ip_fits && h->udp_len >= 8 && h->udp_len <= h->ip_len - h->l3_len;
}

/* --- Sums ------------------------------------------------------------------------------------ */

/* One's complement sums are kept as rte_raw_cksum() gives them: folded, in memory order. */
static uint16_t
sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint16_t
testport_frame_sum_pseudo(const struct testport_headers *h)
{
	const uint8_t *ip = h->bytes + h->l2_len;
	uint32_t sum;

	sum = h->version == 4 ? rte_raw_cksum(ip + 12, 8) : rte_raw_cksum(ip + 8, 32);
	return sum_fold(sum + rte_cpu_to_be_16(IPPROTO_UDP) + rte_cpu_to_be_16(h->udp_len));
}

/*
 * Over the datagram, in as many segments as it lies. (rte_raw_cksum_mbuf() of 22.11 loses a carry
 * when a segment begins at an odd offset.)
 */
static uint16_t
sum_udp(const struct rte_mbuf *m, const struct testport_headers *h)
{
	uint32_t off = (uint32_t)h->l2_len + h->l3_len;
	uint32_t sum = 0;
	uint32_t n;

	while (off >= m->data_len) {
		off -= m->data_len;
		m = m->next;
	}
	for (uint32_t done = 0; done < h->udp_len; done += n) {
		uint16_t part;

		n = RTE_MIN(m->data_len - off, h->udp_len - done);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void *, off), n);
		sum += done & 1 ? rte_bswap16(part) : part;
		off = 0;
		m = m->next;
	}
	return sum_fold(sum);
}

/* Writes a 16-bit field in memory order, wherever its bytes lie in the chain. */
static void
frame_write_16(struct rte_mbuf *m, uint32_t off, uint16_t value)
{
	uint8_t bytes[sizeof(value)];

	memcpy(bytes, &value, sizeof(bytes));
	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		struct rte_mbuf *seg = m;
		uint32_t at = off + i;

		while (at >= seg->data_len) {
			at -= seg->data_len;
			seg = seg->next;
		}
		*rte_pktmbuf_mtod_offset(seg, uint8_t *, at) = bytes[i];
	}
}

/* The frame's UDP checksum field must hold the pseudo-header sum. */
static void
udp_cksum_insert(struct rte_mbuf *m, const struct testport_headers *h)
{
	uint16_t cksum = (uint16_t)~sum_udp(m, h);

	if (cksum == 0)
		cksum = 0xffff; /* RFC 768: zero means that there is none */
	frame_write_16(m, (uint32_t)h->l2_len + h->l3_len + 6, cksum);
}

/* The frame's header checksum field must be zero. */
static void
ipv4_cksum_insert(struct rte_mbuf *m, const struct testport_headers *h)
{
	uint16_t sum = rte_raw_cksum(h->bytes + h->l2_len, h->l3_len);

	frame_write_16(m, h->l2_len + 10u, (uint16_t)~sum);
}

void
testport_frame_fix_sums(struct rte_mbuf *m)
{
	struct testport_headers h;

	testport_frame_parse(m, &h);
	if (h.version == 4) {
		frame_write_16(m, h.l2_len + 10u, 0);
		ipv4_cksum_insert(m, &h);
	}
	if (h.udp_fits) {
		frame_write_16(m, (uint32_t)h.l2_len + h.l3_len + 6, testport_frame_sum_pseudo(&h));
		udp_cksum_insert(m, &h);
	}
}

/* --- Tags, chains and insertion -------------------------------------------------------------- */

/*
 * The tag lies behind the two addresses, which move. The caller has seen that the first segment
 * holds both and is private. (DPDK's helpers for this want frames at even addresses.)
 */
static uint16_t
vlan_strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t tci = be16(frame + TESTPORT_ADDRS_LEN + 2);

	memmove(rte_pktmbuf_adj(m, TESTPORT_VLAN_LEN), frame, TESTPORT_ADDRS_LEN);
	return tci;
}

/* As above, and there is headroom. */
static void
vlan_insert(struct rte_mbuf *m, uint16_t tci)
{
	const uint8_t tag[TESTPORT_VLAN_LEN] = {RTE_ETHER_TYPE_VLAN >> 8,
						RTE_ETHER_TYPE_VLAN & 0xff, (uint8_t)(tci >> 8),
						(uint8_t)tci};
	uint8_t *addrs = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, TESTPORT_VLAN_LEN);

	memmove(frame, addrs, TESTPORT_ADDRS_LEN);
	memcpy(frame + TESTPORT_ADDRS_LEN, tag, TESTPORT_VLAN_LEN);
}

bool
testport_seg_is_private(const struct rte_mbuf *seg)
{
	if (rte_mbuf_refcnt_read(seg) != 1 || RTE_MBUF_CLONED(seg))
		return false;
	return !RTE_MBUF_HAS_EXTBUF(seg) || rte_mbuf_ext_refcnt_read(seg->shinfo) == 1;
}

bool
testport_chain_fits(const struct rte_mbuf *m, bool may_be_empty)
{
	uint32_t n_segs = 0;
	uint32_t len = 0;

	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next) {
		if ((seg->data_len == 0 && !may_be_empty) || ++n_segs > m->nb_segs)
			return false;
		len += seg->data_len;
	}
	return n_segs == m->nb_segs && len == m->pkt_len;
}

void
testport_frame_insert(struct rte_mbuf *m)
{
	uint64_t asked = m->ol_flags;
	struct testport_headers h;

	if (asked & TESTPORT_TX_SUMS) {
		testport_frame_parse(m, &h);
		if (asked & RTE_MBUF_F_TX_IP_CKSUM)
			ipv4_cksum_insert(m, &h);
		if (TESTPORT_TX_L4_REQUEST(asked))
			udp_cksum_insert(m, &h);
	}
	if (asked & RTE_MBUF_F_TX_VLAN)
		vlan_insert(m, m->vlan_tci);
	m->ol_flags &= ~RTE_MBUF_F_TX_OFFLOAD_MASK;
}

/* --- RSS ------------------------------------------------------------------------------------- */

/* Toeplitz over addresses, and over ports where those are configured. False: no hash. */
static bool
rss_hash(struct testport *port, const struct testport_headers *h, uint32_t *hash)
{
	uint64_t hf = switch_get(&port->rss_hf);
	bool v4 = h->version == 4;
	const uint8_t *addrs;
	uint32_t key[TESTPORT_RSS_KEY_LEN / 4];
	uint32_t tuple[9];
	uint32_t n = 0;
	bool ports;

	if (h->version == 0 || hf == 0)
		return false;
	ports = h->udp && (hf & (v4 ? RTE_ETH_RSS_NONFRAG_IPV4_UDP : RTE_ETH_RSS_NONFRAG_IPV6_UDP));
	if (!ports && !(hf & (v4 ? TESTPORT_RSS_V4_PAIR : TESTPORT_RSS_V6_PAIR)))
		return false;

	addrs = h->bytes + h->l2_len + (v4 ? 12 : 8);
	for (; n < (v4 ? 2u : 8u); n++)
		tuple[n] = be32(addrs + 4 * n);
	if (ports)
		tuple[n++] = be32(h->bytes + h->l2_len + h->l3_len); /* source, destination */
	for (uint32_t i = 0; i < RTE_DIM(key); i++)
		key[i] = switch_get(&port->rss_key[i]);
	*hash = rte_softrss_be(tuple, n, (const uint8_t *)key);
	return true;
}

uint16_t
testport_rss_queue(struct testport *port, const struct rte_mbuf *m)
{
	struct testport_headers h;
	uint32_t hash;
	uint16_t queue;

	testport_frame_parse(m, &h);
	if (port->cfg.reta_size == 0 || !rss_hash(port, &h, &hash))
		return 0;
	queue = switch_get(&port->reta[hash & (port->cfg.reta_size - 1u)]);
	return queue < port->n_rx_queues ? queue : 0;
}

void
testport_rss_key_set(struct testport *port, const uint8_t *key)
{
	for (uint32_t i = 0; i < TESTPORT_RSS_KEY_LEN / 4; i++)
		switch_set(&port->rss_key[i], be32(key + 4 * i));
}

/* --- What a NIC reports ---------------------------------------------------------------------- */

static uint64_t
rx_cksum_flags(const struct testport_rxq *rxq, const struct rte_mbuf *m,
	       const struct testport_headers *h)
{
	uint64_t flags = 0;
	uint16_t sum;

	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) && h->version == 4) {
		sum = rte_raw_cksum(h->bytes + h->l2_len, h->l3_len);
		flags |= sum == 0xffff ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	}
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) && h->udp_fits) {
		/* Over IPv4 a zero checksum is none: nothing was verified, nothing is said. */
		if (h->version == 4 && be16(h->bytes + h->l2_len + h->l3_len + 6) == 0)
			return flags;
		sum = sum_fold((uint32_t)sum_udp(m, h) + testport_frame_sum_pseudo(h));
		flags |= sum == 0xffff ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
	}
	return flags;
}

void
testport_frame_describe(struct testport_rxq *rxq, struct rte_mbuf *m)
{
	struct testport *port = rxq->port;
	uint64_t mask = switch_get(&port->force_mask);
	struct testport_headers h;
	uint64_t flags;
	uint32_t hash;

	testport_frame_parse(m, &h);
	flags = rx_cksum_flags(rxq, m, &h);
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) && rss_hash(port, &h, &hash)) {
		flags |= RTE_MBUF_F_RX_RSS_HASH;
		m->hash.rss = switch_get(&port->force_hash) ? switch_get(&port->forced_hash) : hash;
	}
	if (rxq->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) {
		flags |= rxq->timestamp_flag;
		*RTE_MBUF_DYNFIELD(m, rxq->timestamp_offset, rte_mbuf_timestamp_t *) =
			switch_get(&port->timestamp_ns);
	}
	m->ol_flags = (m->ol_flags & TESTPORT_MBUF_KIND_FLAGS) | flags;
	m->packet_type = 0;
	m->vlan_tci = 0;
	m->port = port->port_id;
	/* A shared buffer, or one that ends within the tag, keeps its tag. */
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) && h.tagged &&
	    testport_seg_is_private(m) && m->data_len >= TESTPORT_FRAME_OVERHEAD) {
		m->vlan_tci = vlan_strip(m);
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	}
	m->ol_flags = (m->ol_flags & ~mask) | (switch_get(&port->force_value) & mask);
}
