/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: what the card's parser makes of a frame.
 *
 * Pure functions on bytes: where the headers are, whether checksums hold, filling checksums in,
 * and the hash that chooses a queue.  The parser believes no length field without checking it
 * against the bytes that are there; offsets it reports always lie within the frame.
 *
 * One VLAN tag, IPv4, IPv6 with extension headers, TCP and UDP.  Nothing else is looked into.
 */
#include "liqm_priv.h"

#include <string.h>

#define ETH_BYTES 14u
#define ETH_IP4   0x0800
#define ETH_VLAN  0x8100
#define ETH_IP6   0x86DD
#define PROTO_TCP 6
#define PROTO_UDP 17
#define EXT_HOP   0
#define EXT_ROUTE 43
#define EXT_FRAG  44
#define EXT_DEST  60
#define FNV_BASIS 2166136261u
#define FNV_PRIME 16777619u
#define MAX_EXT   8

uint16_t
liqm_be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

void
liqm_put_be16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint32_t
sum16(const uint8_t *p, uint32_t len, uint32_t sum)
{
	for (; len > 1; p += 2, len -= 2)
		sum += liqm_be16(p);
	return len ? sum + ((uint32_t)*p << 8) : sum;
}

static uint16_t
fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

static bool
parse_ip4(const uint8_t *f, struct liqm_pkt *pkt)
{
	const uint8_t *ip = f + pkt->l3;
	uint32_t room = pkt->end - pkt->l3, hdr, total;

	if (room < 20 || ip[0] >> 4 != 4)
		return false;
	hdr = (ip[0] & 15u) * 4;
	total = liqm_be16(ip + 2);
	if (hdr < 20 || total < hdr || total > room)
		return false;
	pkt->is_ip4 = true;
	pkt->proto = ip[9];
	pkt->is_frag = liqm_be16(ip + 6) & 0x3FFF;
	pkt->end = pkt->l3 + total; /* the rest is padding */
	pkt->l4 = pkt->l3 + hdr;
	return true;
}

static bool
parse_ip6(const uint8_t *f, struct liqm_pkt *pkt)
{
	const uint8_t *ip = f + pkt->l3;
	uint32_t room = pkt->end - pkt->l3, at = pkt->l3 + 40;

	if (room < 40 || ip[0] >> 4 != 6 || liqm_be16(ip + 4) > room - 40)
		return false;
	pkt->is_ip6 = true;
	pkt->end = at + liqm_be16(ip + 4);
	pkt->proto = ip[6];
	for (int i = 0; i < MAX_EXT; i++) {
		uint32_t len;

		if (pkt->proto != EXT_HOP && pkt->proto != EXT_ROUTE && pkt->proto != EXT_FRAG &&
		    pkt->proto != EXT_DEST)
			break;
		if (at + 8 > pkt->end)
			return true;
		len = pkt->proto == EXT_FRAG ? 8 : (f[at + 1] + 1u) * 8;
		if (pkt->proto == EXT_FRAG)
			pkt->is_frag = true;
		if (at + len > pkt->end)
			return true;
		pkt->has_ext = true;
		pkt->proto = f[at];
		at += len;
	}
	pkt->l4 = at;
	return true;
}

static void
parse_l4(const uint8_t *f, struct liqm_pkt *pkt)
{
	const uint8_t *l4 = f + pkt->l4;
	uint32_t room = pkt->end - pkt->l4;

	if (pkt->proto == PROTO_TCP && room >= 20) {
		uint32_t hdr = (l4[12] >> 4) * 4u;

		if (hdr < 20 || hdr > room)
			return;
		pkt->is_tcp = true;
		pkt->payload = pkt->l4 + hdr;
	} else if (pkt->proto == PROTO_UDP && room >= 8) {
		uint32_t len = liqm_be16(l4 + 4);

		if (len < 8 || len > room)
			return;
		pkt->is_udp = true;
		pkt->payload = pkt->l4 + 8;
	} else {
		return;
	}
	pkt->sport = liqm_be16(l4);
	pkt->dport = liqm_be16(l4 + 2);
}

/* start: offset of the Ethernet header, not 0 for the inner frame of a tunnel. */
void
liqm_pkt_parse(const uint8_t *frame, uint32_t len, uint32_t start, struct liqm_pkt *pkt)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->l2 = start;
	pkt->end = len;
	if (start > len || len - start < ETH_BYTES)
		return;
	pkt->l3 = start + ETH_BYTES;
	pkt->ethertype = liqm_be16(frame + pkt->l3 - 2);
	if (pkt->ethertype == ETH_VLAN && len - pkt->l3 >= 4) {
		pkt->l3 += 4;
		pkt->ethertype = liqm_be16(frame + pkt->l3 - 2);
	}
	if (!(pkt->ethertype == ETH_IP4 && parse_ip4(frame, pkt)) &&
	    !(pkt->ethertype == ETH_IP6 && parse_ip6(frame, pkt)))
		return;
	if (pkt->l4 != 0 && !pkt->is_frag)
		parse_l4(frame, pkt);
}

/* The IPv4 header sums up; IPv6 has nothing to verify. */
bool
liqm_pkt_ip_good(const uint8_t *frame, const struct liqm_pkt *pkt)
{
	if (pkt->is_ip4)
		return fold(sum16(frame + pkt->l3, pkt->l4 - pkt->l3, 0)) == 0;
	return pkt->is_ip6;
}

static uint32_t
l4_len(const uint8_t *frame, const struct liqm_pkt *pkt)
{
	return pkt->is_udp ? liqm_be16(frame + pkt->l4 + 4) : pkt->end - pkt->l4;
}

static uint16_t
l4_sum(const uint8_t *frame, const struct liqm_pkt *pkt)
{
	uint32_t len = l4_len(frame, pkt);
	uint32_t sum = len + (pkt->is_tcp ? PROTO_TCP : PROTO_UDP);

	if (pkt->is_ip4)
		sum = sum16(frame + pkt->l3 + 12, 8, sum);
	else
		sum = sum16(frame + pkt->l3 + 8, 32, sum);
	return fold(sum16(frame + pkt->l4, len, sum));
}

int
liqm_pkt_l4_good(const uint8_t *frame, const struct liqm_pkt *pkt)
{
	if (!pkt->is_tcp && !pkt->is_udp)
		return -1;
	if (pkt->is_udp && pkt->is_ip4 && liqm_be16(frame + pkt->l4 + 6) == 0)
		return -1; /* the sender did not compute one */
	return l4_sum(frame, pkt) == 0;
}

void
liqm_pkt_ip_csum(uint8_t *frame, const struct liqm_pkt *pkt)
{
	if (!pkt->is_ip4)
		return;
	liqm_put_be16(frame + pkt->l3 + 10, 0);
	liqm_put_be16(frame + pkt->l3 + 10, fold(sum16(frame + pkt->l3, pkt->l4 - pkt->l3, 0)));
}

void
liqm_pkt_l4_csum(uint8_t *frame, const struct liqm_pkt *pkt)
{
	uint32_t at = pkt->l4 + (pkt->is_tcp ? 16 : 6);
	uint16_t sum;

	if (!pkt->is_tcp && !pkt->is_udp)
		return;
	liqm_put_be16(frame + at, 0);
	sum = l4_sum(frame, pkt);
	liqm_put_be16(frame + at, sum == 0 && pkt->is_udp ? 0xFFFF : sum);
}

/* ---- hashes ---- */

uint32_t
liqm_toeplitz(const uint8_t *key, const uint8_t *data, uint32_t len)
{
	uint32_t hash = 0;
	uint32_t window =
		(uint32_t)key[0] << 24 | (uint32_t)key[1] << 16 | (uint32_t)key[2] << 8 | key[3];

	for (uint32_t i = 0; i < len; i++) {
		uint8_t next = i + 4 < LIQ_RSS_KEY_SIZE ? key[i + 4] : 0;

		for (int bit = 7; bit >= 0; bit--) {
			if (data[i] >> bit & 1)
				hash ^= window;
			window = window << 1 | (next >> bit & 1);
		}
	}
	return hash;
}

uint32_t
liqm_fnv(const uint8_t *data, uint32_t len)
{
	uint32_t hash = FNV_BASIS;

	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ data[i]) * FNV_PRIME;
	return hash;
}

/* The first enabled type that fits: with ports for TCP, addresses alone for all else. */
static uint32_t
hash_type(uint32_t enabled, const struct liqm_pkt *pkt)
{
	uint32_t fits = 0;

	if (pkt->is_ip4)
		fits = LIQ_HASH_IPV4 | (pkt->is_tcp ? LIQ_HASH_TCP_IPV4 : 0);
	else if (pkt->is_ip6)
		fits = LIQ_HASH_IPV6 | LIQ_HASH_IPV6_EX |
		       (pkt->is_tcp ? LIQ_HASH_TCP_IPV6 | LIQ_HASH_TCP_IPV6_EX : 0);
	fits &= enabled;
	if (fits & (LIQ_HASH_TCP_IPV4 | LIQ_HASH_TCP_IPV6 | LIQ_HASH_TCP_IPV6_EX))
		fits &= LIQ_HASH_TCP_IPV4 | LIQ_HASH_TCP_IPV6 | LIQ_HASH_TCP_IPV6_EX;
	return fits & (0u - fits);
}

/* There is no type for UDP: such packets are hashed by their addresses. */
uint32_t
liqm_pkt_hash(const struct liqm_if *nif, const uint8_t *frame, const struct liqm_pkt *pkt,
	      uint32_t *type)
{
	uint8_t tuple[36];
	uint32_t n = pkt->is_ip4 ? 8 : 32;

	*type = nif->rss_on ? hash_type(nif->rss_types, pkt) : 0;
	if (*type == 0)
		return 0;
	memcpy(tuple, frame + pkt->l3 + (pkt->is_ip4 ? 12 : 8), n);
	if (*type & (LIQ_HASH_TCP_IPV4 | LIQ_HASH_TCP_IPV6 | LIQ_HASH_TCP_IPV6_EX)) {
		memcpy(tuple + n, frame + pkt->l4, 4);
		n += 4;
	}
	return nif->rss_fnv ? liqm_fnv(tuple, n) : liqm_toeplitz(nif->rss_key, tuple, n);
}
