/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets for tests: a struct with every header field in host order, sensible defaults, and lengths
 * and checksums that come out right unless a test says otherwise. Written byte by byte with its own
 * checksum, independent of src/stack/wire.[ch], so that the two check each other.
 *
 *	struct ut_pkt p = ut_pkt_udp();
 *	p.udp_len = 7;                      // the field to break; the checksums follow
 *	len = ut_pkt_bytes(&p, frame, sizeof(frame));
 *
 * The defaults: from UT_PEER_MAC, UT_PEER_IP, port UT_PEER_PORT to UT_OUR_MAC, UT_OUR_IP, port
 * UT_OUR_PORT, TTL 64, don't-fragment, 18 payload bytes (a minimal Ethernet frame). Over IPv6 likewise from
 * UT_PEER_IP6 to UT_OUR_IP6; traffic class and hop limit are ip_tos and ip_ttl, and ip_proto is the number of the
 * upper layer, whatever extension headers ut_pkt_ext6() puts in front of it.
 */
#ifndef UT_PKT_H
#define UT_PKT_H

#include <stddef.h>
#include <stdint.h>

struct rte_mbuf;
struct rte_mempool;

#define UT_AUTO (-1) /* a length or checksum that is to be computed */

#define UT_OUR_MAC       "\x02\x00\x00\x00\x00\x01"
#define UT_PEER_MAC      "\x02\x00\x00\x00\x00\x02"
#define UT_BROADCAST_MAC "\xff\xff\xff\xff\xff\xff"
#define UT_IP(a, b, c, d)                                                                          \
	((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#define UT_OUR_IP    UT_IP(10, 0, 0, 1)
#define UT_PEER_IP   UT_IP(10, 0, 0, 2)
#define UT_OUR_IP6   "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01" /* fd00::1 */
#define UT_PEER_IP6  "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02"
#define UT_OUR_PORT  9000
#define UT_PEER_PORT 4660

enum ut_pkt_kind {
	UT_UDP,
	UT_ICMP,
	UT_ARP,
	UT_RAW_IP4, /* IPv4 with the payload right behind its header */
	UT_RAW_ETH, /* Ethernet with the payload right behind its header */
	UT_UDP6,
	UT_ICMP6,
	UT_RAW_IP6, /* IPv6 with the payload right behind its headers */
};

struct ut_pkt {
	enum ut_pkt_kind kind;

	uint8_t eth_dst[6], eth_src[6];
	int32_t vlan_tci; /* UT_AUTO: no tag */
	uint16_t eth_type;

	uint16_t arp_htype, arp_ptype;
	uint8_t arp_hlen, arp_plen;
	uint16_t arp_op;
	uint8_t arp_sha[6], arp_tha[6];
	uint32_t arp_spa, arp_tpa;

	uint8_t ip_version, ip_tos, ip_ttl, ip_proto;
	int32_t ip_ihl; /* words; UT_AUTO: from the options */
	int32_t ip_total_len;
	uint16_t ip_id, ip_frag; /* flags and offset, as in the header */
	int32_t ip_csum;
	uint32_t ip_src, ip_dst;
	uint8_t ip_opt[40];
	uint8_t ip_opt_len; /* bytes; padded with zeros to whole words */

	uint8_t ip6_src[16], ip6_dst[16];
	uint32_t ip6_label; /* label, 20 bits */
	int32_t ip6_payload_len;
	uint8_t ip6_ext[320]; /* extension headers: ut_pkt_ext6() */
	uint16_t ip6_ext_len;
	uint16_t
		ip6_named; /* offset in ip6_ext of the last header, whose first byte names what follows */
	uint8_t ip6_first; /* type of the first */

	uint16_t udp_sport, udp_dport;
	int32_t udp_len;
	int32_t udp_csum; /* 0: none */

	uint8_t icmp_type, icmp_code;
	int32_t icmp_csum;
	uint16_t icmp_id, icmp_seq; /* or the two halves of the unused word: seq is the MTU */

	const void *payload; /* NULL: a pattern that depends on the position */
	size_t payload_len;
	size_t trailer_len; /* bytes behind the packet, as Ethernet padding is */
};

/* Defaults of each kind. */
struct ut_pkt ut_pkt_udp(void);
struct ut_pkt ut_pkt_arp_request(void); /* broadcast: who has UT_OUR_IP, tell UT_PEER_IP */
struct ut_pkt ut_pkt_arp_reply(void);   /* UT_PEER_IP is at UT_PEER_MAC */
struct ut_pkt ut_pkt_icmp_echo(void);   /* request, identifier 0x4242, sequence 1 */
struct ut_pkt ut_pkt_udp6(void);
struct ut_pkt ut_pkt_icmp6_echo(void); /* the same over IPv6; other types: icmp_type, payload */

/*
 * Append an extension header of this type: body is what follows its length byte, filled with zeros to a multiple
 * of 8 bytes. A fragment header (44) has its own length: body is the 6 bytes behind the reserved one.
 */
void ut_pkt_ext6(struct ut_pkt *pkt, uint8_t type, const void *body, size_t len);
/* A fragment header: offset in bytes, more, identification. The kind should be UT_RAW_IP6. */
void ut_pkt_frag6(struct ut_pkt *pkt, unsigned int off, int more, uint32_t id);

/*
 * ICMP error from UT_PEER_IP to UT_OUR_IP that quotes quote_len bytes of an IP packet (its header
 * first). The bytes must live until the packet is built.
 */
struct ut_pkt ut_pkt_icmp_error(uint8_t type, uint8_t code, const void *quote, size_t quote_len);

/*
 * Build the frame into buf; returns its length. Fails the running case when buf may be too small for
 * such a frame.
 */
size_t ut_pkt_bytes(const struct ut_pkt *pkt, uint8_t *buf, size_t size);

/* Build the frame into an mbuf of pool, in as many segments as it needs. */
struct rte_mbuf *ut_pkt_mbuf(const struct ut_pkt *pkt, struct rte_mempool *pool);

/* The bytes as an mbuf of pool, in as many segments as they need. */
struct rte_mbuf *ut_bytes_mbuf(const void *bytes, size_t len, struct rte_mempool *pool);

/* All bytes of a chain, copied to buf; returns how many. Fails the case when size is too small. */
size_t ut_mbuf_bytes(const struct rte_mbuf *m, uint8_t *buf, size_t size);

/* The pattern byte at a position of a payload that was left NULL. */
uint8_t ut_pattern(size_t position);

/* ---- changing finished frames ---- */

void ut_put16(uint8_t *at, uint16_t value);
void ut_put32(uint8_t *at, uint32_t value);
uint16_t ut_get16(const uint8_t *at);
uint32_t ut_get32(const uint8_t *at);

/* Make the IPv4 header checksum of an untagged frame right again, over the length that IHL says. */
void ut_fix_ip_csum(uint8_t *frame, size_t len);

/*
 * The Internet checksum by the book (RFC 1071): big-endian words, one after the other, end-around
 * carry, complement. start is a sum to begin with, 0 or what ut_pseudo_sum() gives.
 */
uint16_t ut_csum(const void *bytes, size_t len, uint32_t start);
uint32_t ut_pseudo_sum(uint32_t src, uint32_t dst, uint8_t proto, uint16_t len);
uint32_t ut_pseudo_sum6(const uint8_t *src, const uint8_t *dst, uint8_t proto, uint32_t len);

#endif /* UT_PKT_H */
