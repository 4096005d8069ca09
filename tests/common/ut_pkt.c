/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The packet builder: plain, slow and by the book, because it is an oracle. What a header's checksum
 * or length covers is written first, the header afterwards.
 */
#include "ut_pkt.h"

#include "ut.h"

#include <rte_mbuf.h>

uint8_t
ut_pattern(size_t position)
{
	return (uint8_t)(position * 7 + (position >> 8) + 3);
}

void
ut_put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void
ut_put32(uint8_t *at, uint32_t value)
{
	ut_put16(at, (uint16_t)(value >> 16));
	ut_put16(at + 2, (uint16_t)value);
}

uint16_t
ut_get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

uint32_t
ut_get32(const uint8_t *at)
{
	return (uint32_t)ut_get16(at) << 16 | ut_get16(at + 2);
}

uint16_t
ut_csum(const void *bytes, size_t len, uint32_t start)
{
	const uint8_t *b = bytes;
	uint32_t sum = start;
	size_t i;

	for (i = 0; i < len; i++) {
		sum += i % 2 == 0 ? (uint32_t)b[i] << 8 : b[i];
		while (sum > 0xffff)
			sum = (sum & 0xffff) + (sum >> 16);
	}
	return (uint16_t)~sum;
}

uint32_t
ut_pseudo_sum(uint32_t src, uint32_t dst, uint8_t proto, uint16_t len)
{
	return (src >> 16) + (src & 0xffff) + (dst >> 16) + (dst & 0xffff) + proto + len;
}

uint32_t
ut_pseudo_sum6(const uint8_t *src, const uint8_t *dst, uint8_t proto, uint32_t len)
{
	uint32_t sum = (len >> 16) + (len & 0xffff) + proto;

	for (size_t i = 0; i < 16; i += 2)
		sum += (uint32_t)ut_get16(src + i) + ut_get16(dst + i);
	return sum;
}

void
ut_fix_ip_csum(uint8_t *frame, size_t len)
{
	size_t hdr_len;

	if (len < 14 + 20)
		return;
	hdr_len = (size_t)(frame[14] & 15) * 4;
	if (hdr_len < 20 || 14 + hdr_len > len)
		return;
	ut_put16(frame + 14 + 10, 0);
	ut_put16(frame + 14 + 10, ut_csum(frame + 14, hdr_len, 0));
}

struct ut_pkt
ut_pkt_udp(void)
{
	struct ut_pkt p = {
		.kind = UT_UDP,
		.eth_dst = UT_OUR_MAC,
		.eth_src = UT_PEER_MAC,
		.vlan_tci = UT_AUTO,
		.eth_type = 0x0800,
		.ip_version = 4,
		.ip_ttl = 64,
		.ip_proto = 17,
		.ip_ihl = UT_AUTO,
		.ip_total_len = UT_AUTO,
		.ip_frag = 0x4000,
		.ip_csum = UT_AUTO,
		.ip_src = UT_PEER_IP,
		.ip_dst = UT_OUR_IP,
		.udp_sport = UT_PEER_PORT,
		.udp_dport = UT_OUR_PORT,
		.udp_len = UT_AUTO,
		.udp_csum = UT_AUTO,
		.payload_len = 18,
	};

	return p;
}

struct ut_pkt
ut_pkt_udp6(void)
{
	struct ut_pkt p = ut_pkt_udp();

	p.kind = UT_UDP6;
	p.eth_type = 0x86dd;
	p.ip_version = 6;
	memcpy(p.ip6_src, UT_PEER_IP6, 16);
	memcpy(p.ip6_dst, UT_OUR_IP6, 16);
	p.ip6_payload_len = UT_AUTO;
	return p;
}

struct ut_pkt
ut_pkt_icmp6_echo(void)
{
	struct ut_pkt p = ut_pkt_udp6();

	p.kind = UT_ICMP6;
	p.ip_proto = 58;
	p.icmp_type = 128;
	p.icmp_csum = UT_AUTO;
	p.icmp_id = 0x4242;
	p.icmp_seq = 1;
	return p;
}

void
ut_pkt_ext6(struct ut_pkt *pkt, uint8_t type, const void *body, size_t len)
{
	const size_t size = type == 44 ? 8 : (len + 2 + 7) / 8 * 8;
	uint8_t *h = pkt->ip6_ext + pkt->ip6_ext_len;

	ut_check(pkt->ip6_ext_len + size <= sizeof(pkt->ip6_ext), "no room for %zu bytes", size);
	if (pkt->ip6_ext_len == 0)
		pkt->ip6_first = type;
	else
		pkt->ip6_ext[pkt->ip6_named] = type;
	memset(h, 0, size);
	h[1] = type == 44 ? 0 : (uint8_t)(size / 8 - 1);
	memcpy(h + 2, body, len);
	pkt->ip6_named = pkt->ip6_ext_len;
	pkt->ip6_ext_len = (uint16_t)(pkt->ip6_ext_len + size);
}

void
ut_pkt_frag6(struct ut_pkt *pkt, unsigned int off, int more, uint32_t id)
{
	uint8_t body[6];

	ut_put16(body, (uint16_t)(off | (more != 0)));
	ut_put32(body + 2, id);
	ut_pkt_ext6(pkt, 44, body, sizeof(body));
}

struct ut_pkt
ut_pkt_icmp_echo(void)
{
	struct ut_pkt p = ut_pkt_udp();

	p.kind = UT_ICMP;
	p.ip_proto = 1;
	p.icmp_type = 8;
	p.icmp_csum = UT_AUTO;
	p.icmp_id = 0x4242;
	p.icmp_seq = 1;
	return p;
}

struct ut_pkt
ut_pkt_icmp_error(uint8_t type, uint8_t code, const void *quote, size_t quote_len)
{
	struct ut_pkt p = ut_pkt_icmp_echo();

	p.icmp_type = type;
	p.icmp_code = code;
	p.icmp_id = 0;
	p.icmp_seq = 0;
	p.payload = quote;
	p.payload_len = quote_len;
	return p;
}

struct ut_pkt
ut_pkt_arp_reply(void)
{
	struct ut_pkt p = {
		.kind = UT_ARP,
		.eth_dst = UT_OUR_MAC,
		.eth_src = UT_PEER_MAC,
		.vlan_tci = UT_AUTO,
		.eth_type = 0x0806,
		.arp_htype = 1,
		.arp_ptype = 0x0800,
		.arp_hlen = 6,
		.arp_plen = 4,
		.arp_op = 2,
		.arp_sha = UT_PEER_MAC,
		.arp_spa = UT_PEER_IP,
		.arp_tha = UT_OUR_MAC,
		.arp_tpa = UT_OUR_IP,
		.trailer_len = 18,
	};

	return p;
}

struct ut_pkt
ut_pkt_arp_request(void)
{
	struct ut_pkt p = ut_pkt_arp_reply();

	memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	memset(p.arp_tha, 0, 6);
	p.arp_op = 1;
	return p;
}

static size_t
put_payload(const struct ut_pkt *pkt, uint8_t *to)
{
	size_t i;

	for (i = 0; i < pkt->payload_len; i++)
		to[i] = pkt->payload != NULL ? ((const uint8_t *)pkt->payload)[i] : ut_pattern(i);
	return pkt->payload_len;
}

static uint16_t
chosen(int32_t field, size_t computed)
{
	return (uint16_t)(field == UT_AUTO ? computed : (size_t)field);
}

static size_t
put_arp(const struct ut_pkt *pkt, uint8_t *arp)
{
	ut_put16(arp, pkt->arp_htype);
	ut_put16(arp + 2, pkt->arp_ptype);
	arp[4] = pkt->arp_hlen;
	arp[5] = pkt->arp_plen;
	ut_put16(arp + 6, pkt->arp_op);
	memcpy(arp + 8, pkt->arp_sha, 6);
	ut_put32(arp + 14, pkt->arp_spa);
	memcpy(arp + 18, pkt->arp_tha, 6);
	ut_put32(arp + 24, pkt->arp_tpa);
	return 28;
}

static size_t
put_udp(const struct ut_pkt *pkt, uint8_t *udp)
{
	const size_t len = 8 + put_payload(pkt, udp + 8);
	const uint16_t said = chosen(pkt->udp_len, len);
	uint16_t csum;

	ut_put16(udp, pkt->udp_sport);
	ut_put16(udp + 2, pkt->udp_dport);
	ut_put16(udp + 4, said);
	ut_put16(udp + 6, 0);
	/* Over the length that the field says, as a receiver would do it, when that is there. */
	csum = ut_csum(udp, said < len ? said : len,
		       pkt->kind == UT_UDP6
			       ? ut_pseudo_sum6(pkt->ip6_src, pkt->ip6_dst, 17, said)
			       : ut_pseudo_sum(pkt->ip_src, pkt->ip_dst, pkt->ip_proto, said));
	ut_put16(udp + 6, chosen(pkt->udp_csum, csum == 0 ? 0xffff : csum));
	return len;
}

static size_t
put_icmp(const struct ut_pkt *pkt, uint8_t *icmp)
{
	const size_t len = 8 + put_payload(pkt, icmp + 8);

	icmp[0] = pkt->icmp_type;
	icmp[1] = pkt->icmp_code;
	ut_put16(icmp + 2, 0);
	ut_put16(icmp + 4, pkt->icmp_id);
	ut_put16(icmp + 6, pkt->icmp_seq);
	ut_put16(icmp + 2,
		 chosen(pkt->icmp_csum,
			ut_csum(icmp, len,
				pkt->kind == UT_ICMP6 ? ut_pseudo_sum6(pkt->ip6_src, pkt->ip6_dst,
								       58, (uint32_t)len)
						      : 0)));
	return len;
}

static size_t
put_ip4(const struct ut_pkt *pkt, uint8_t *ip)
{
	const size_t hdr_len = 20 + (pkt->ip_opt_len + 3u) / 4 * 4;
	size_t len = hdr_len;

	if (pkt->kind == UT_UDP)
		len += put_udp(pkt, ip + hdr_len);
	else if (pkt->kind == UT_ICMP)
		len += put_icmp(pkt, ip + hdr_len);
	else
		len += put_payload(pkt, ip + hdr_len);
	ip[0] = (uint8_t)(pkt->ip_version << 4 | (chosen(pkt->ip_ihl, hdr_len / 4) & 15));
	ip[1] = pkt->ip_tos;
	ut_put16(ip + 2, chosen(pkt->ip_total_len, len));
	ut_put16(ip + 4, pkt->ip_id);
	ut_put16(ip + 6, pkt->ip_frag);
	ip[8] = pkt->ip_ttl;
	ip[9] = pkt->ip_proto;
	ut_put16(ip + 10, 0);
	ut_put32(ip + 12, pkt->ip_src);
	ut_put32(ip + 16, pkt->ip_dst);
	memset(ip + 20, 0, hdr_len - 20);
	memcpy(ip + 20, pkt->ip_opt, pkt->ip_opt_len);
	ut_put16(ip + 10, chosen(pkt->ip_csum, ut_csum(ip, hdr_len, 0)));
	return len;
}

static size_t
put_ip6(const struct ut_pkt *pkt, uint8_t *ip)
{
	size_t len = 40u + pkt->ip6_ext_len;

	memcpy(ip + 40, pkt->ip6_ext, pkt->ip6_ext_len);
	if (pkt->ip6_ext_len > 0)
		ip[40 + pkt->ip6_named] = pkt->ip_proto;
	if (pkt->kind == UT_UDP6)
		len += put_udp(pkt, ip + len);
	else if (pkt->kind == UT_ICMP6)
		len += put_icmp(pkt, ip + len);
	else
		len += put_payload(pkt, ip + len);
	ut_put32(ip, (uint32_t)pkt->ip_version << 28 | (uint32_t)pkt->ip_tos << 20 |
			     (pkt->ip6_label & 0xfffff));
	ut_put16(ip + 4, chosen(pkt->ip6_payload_len, len - 40));
	ip[6] = pkt->ip6_ext_len > 0 ? pkt->ip6_first : pkt->ip_proto;
	ip[7] = pkt->ip_ttl;
	memcpy(ip + 8, pkt->ip6_src, 16);
	memcpy(ip + 24, pkt->ip6_dst, 16);
	return len;
}

size_t
ut_pkt_bytes(const struct ut_pkt *pkt, uint8_t *buf, size_t size)
{
	size_t len = 14;
	size_t need; /* with the longest headers of any kind: those of UDP, ICMP and ARP are equal */

	ut_check(pkt->ip_opt_len <= sizeof(pkt->ip_opt), "%u bytes of options", pkt->ip_opt_len);
	need = len + (pkt->vlan_tci != UT_AUTO ? 4 : 0) +
	       (pkt->kind >= UT_UDP6 ? 40u + pkt->ip6_ext_len
				     : 20 + (pkt->ip_opt_len + 3u) / 4 * 4) +
	       8 + pkt->payload_len + pkt->trailer_len;
	ut_check(need <= size, "a frame of up to %zu bytes does not fit into %zu", need, size);
	memcpy(buf, pkt->eth_dst, 6);
	memcpy(buf + 6, pkt->eth_src, 6);
	if (pkt->vlan_tci != UT_AUTO) {
		ut_put16(buf + 12, 0x8100);
		ut_put16(buf + 14, (uint16_t)pkt->vlan_tci);
		len += 4;
	}
	ut_put16(buf + len - 2, pkt->eth_type);
	if (pkt->kind == UT_ARP)
		len += put_arp(pkt, buf + len);
	else if (pkt->kind == UT_RAW_ETH)
		len += put_payload(pkt, buf + len);
	else if (pkt->kind >= UT_UDP6)
		len += put_ip6(pkt, buf + len);
	else
		len += put_ip4(pkt, buf + len);
	memset(buf + len, 0, pkt->trailer_len);
	return len + pkt->trailer_len;
}

struct rte_mbuf *
ut_bytes_mbuf(const void *bytes, size_t len, struct rte_mempool *pool)
{
	const uint8_t *from = bytes;
	struct rte_mbuf *head = NULL;
	struct rte_mbuf *seg;
	size_t part;

	do {
		seg = rte_pktmbuf_alloc(pool);
		ut_check(seg != NULL, "pool %s is empty", pool->name);
		if (head != NULL)
			seg->data_off = 0;
		part = rte_pktmbuf_tailroom(seg);
		if (part > len)
			part = len;
		if (part > 0)
			memcpy(rte_pktmbuf_mtod(seg, void *), from, part);
		seg->data_len = (uint16_t)part;
		seg->pkt_len = (uint32_t)part;
		if (head == NULL)
			head = seg;
		else
			ut_check(rte_pktmbuf_chain(head, seg) == 0, "too many segments");
		from += part;
		len -= part;
	} while (len > 0);
	return head;
}

struct rte_mbuf *
ut_pkt_mbuf(const struct ut_pkt *pkt, struct rte_mempool *pool)
{
	const size_t size = 128 + pkt->ip6_ext_len + pkt->payload_len + pkt->trailer_len;
	uint8_t *frame = malloc(size);
	struct rte_mbuf *m;

	ut_check(frame != NULL, "no memory for %zu bytes", size);
	m = ut_bytes_mbuf(frame, ut_pkt_bytes(pkt, frame, size), pool);
	free(frame);
	return m;
}

size_t
ut_mbuf_bytes(const struct rte_mbuf *m, uint8_t *buf, size_t size)
{
	size_t len = 0;

	for (; m != NULL; m = m->next) {
		ut_check(len + m->data_len <= size, "more than %zu bytes in the chain", size);
		memcpy(buf + len, rte_pktmbuf_mtod(m, const void *), m->data_len);
		len += m->data_len;
	}
	return len;
}
