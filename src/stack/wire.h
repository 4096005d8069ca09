/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wire formats of Ethernet, ARP, IPv4, ICMP and UDP: layouts, one checked parse, checksums.
 *
 * Leaf: pure functions on bytes, no DPDK, no state. HOT: the parse and the sums run per packet in
 * rx.c and tx.c. Structures are packed and asserted; fields are in network order ("be" in a name
 * or type marks it); nothing here reads beyond the length it was given.
 *
 * Sums are ones' complement sums over 16-bit words *in memory order* (RFC 1071): they may be kept
 * in native registers and folded at the end, whatever the machine's byte order.
 */
#ifndef WEIR_WIRE_H
#define WEIR_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/drop.h>

typedef uint16_t wire_be16;
typedef uint32_t wire_be32;

#define WIRE_BE16(x)                                                                               \
	((wire_be16)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16((uint16_t)(x))  \
							       : (uint16_t)(x)))
#define WIRE_BE32(x)                                                                               \
	((wire_be32)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32((uint32_t)(x))  \
							       : (uint32_t)(x)))

#define WIRE_ETH_LEN  14
#define WIRE_ETH_ALEN 6
#define WIRE_IP4_MIN  20
#define WIRE_IP4_MAX  60
#define WIRE_UDP_LEN  8
#define WIRE_ARP_LEN  28
#define WIRE_ICMP_LEN 8
/* Most bytes that the parse may want to see contiguous: Ethernet + IPv4 with options + UDP. */
#define WIRE_HDR_MAX (WIRE_ETH_LEN + WIRE_IP4_MAX + WIRE_UDP_LEN)

enum wire_ethertype {
	WIRE_ETH_IP4 = 0x0800,
	WIRE_ETH_ARP = 0x0806,
	WIRE_ETH_VLAN = 0x8100,
	WIRE_ETH_IP6 = 0x86dd,
	WIRE_ETH_QINQ = 0x88a8,
};

enum wire_ipproto { WIRE_PROTO_ICMP = 1, WIRE_PROTO_UDP = 17 };

struct wire_eth {
	uint8_t dst[WIRE_ETH_ALEN];
	uint8_t src[WIRE_ETH_ALEN];
	wire_be16 type;
} __attribute__((packed));
static_assert(sizeof(struct wire_eth) == WIRE_ETH_LEN, "RFC 894");

/* RFC 826, Ethernet and IPv4. */
struct wire_arp {
	wire_be16 htype, ptype;
	uint8_t hlen, plen;
	wire_be16 op; /* 1 request, 2 reply */
	uint8_t sha[WIRE_ETH_ALEN];
	wire_be32 spa;
	uint8_t tha[WIRE_ETH_ALEN];
	wire_be32 tpa;
} __attribute__((packed));
static_assert(sizeof(struct wire_arp) == WIRE_ARP_LEN, "RFC 826");
#define WIRE_ARP_REQUEST 1
#define WIRE_ARP_REPLY   2

/* RFC 791. */
struct wire_ip4 {
	uint8_t ver_ihl, tos;
	wire_be16 total_len, id, frag; /* frag: flags and offset */
	uint8_t ttl, proto;
	wire_be16 csum;
	wire_be32 src, dst;
} __attribute__((packed));
static_assert(sizeof(struct wire_ip4) == WIRE_IP4_MIN, "RFC 791");
#define WIRE_IP4_DF 0x4000
#define WIRE_IP4_MF 0x2000
/* More-fragments and offset in one mask: zero means "not a fragment". DF is not in it. */
#define WIRE_IP4_FRAG_MASK 0x3fff

/* RFC 768. */
struct wire_udp {
	wire_be16 sport, dport, len, csum;
} __attribute__((packed));
static_assert(sizeof(struct wire_udp) == WIRE_UDP_LEN, "RFC 768");

/* RFC 792. */
struct wire_icmp {
	uint8_t type, code;
	wire_be16 csum;
	wire_be32 rest; /* identifier and sequence, or unused / next-hop MTU */
} __attribute__((packed));
static_assert(sizeof(struct wire_icmp) == WIRE_ICMP_LEN, "RFC 792");
enum wire_icmp_type {
	WIRE_ICMP_ECHO_REPLY = 0,
	WIRE_ICMP_UNREACH = 3,
	WIRE_ICMP_ECHO = 8,
	WIRE_ICMP_TIME_EXCEEDED = 11,
	WIRE_ICMP_PARAM = 12,
};

/* ---- checksums ---- */

/*
 * Sum of len bytes at p added to sum. p may be unaligned. The result is a partial sum in 64 bits
 * that later calls may add to; an odd len is summed as if one zero byte followed.
 */
uint64_t wire_sum(const void *p, size_t len, uint64_t sum);

/*
 * Add to sum the partial sum `part` of bytes that start at byte offset `off` of the whole: at an odd
 * offset the bytes of the folded part change places (chained segments of odd length).
 */
uint64_t wire_sum_at(uint64_t sum, uint64_t part, size_t off);

/* Fold a partial sum to 16 bits, not complemented, in memory order. */
static inline uint16_t
wire_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Partial sum of the IPv4 pseudo-header (RFC 768): addresses, protocol, UDP length (host order). */
static inline uint64_t
wire_pseudo4(wire_be32 src, wire_be32 dst, uint8_t proto, uint16_t len_bytes)
{
	return (uint64_t)src + dst + WIRE_BE16(proto) + WIRE_BE16(len_bytes);
}

/* Partial sum of the IPv6 pseudo-header (RFC 8200 8.1); src and dst are 16 bytes each. */
uint64_t wire_pseudo6(const uint8_t *src, const uint8_t *dst, uint8_t proto, uint32_t len_bytes);

/* Checksum field of an IPv4 header of len_bytes (multiple of 4) whose csum field holds 0. */
static inline wire_be16
wire_ip4_csum(const void *hdr, size_t len_bytes)
{
	return (wire_be16)~wire_fold(wire_sum(hdr, len_bytes, 0));
}

/* ---- the checked parse ---- */

enum wire_kind {
	WIRE_UDP,
	WIRE_ARP,
	WIRE_ICMP,
	WIRE_DROP, /* see .reason */
	WIRE_MORE, /* too few contiguous bytes to decide: give at least .need */
};

/* What one frame is. Offsets are from the start of the frame, lengths in bytes, host order. */
struct wire_view {
	uint8_t kind;        /* enum wire_kind */
	uint8_t reason;      /* enum weir_drop, when kind is WIRE_DROP */
	uint8_t family;      /* 4 or 6, 0 for ARP */
	uint8_t l2_len;      /* Ethernet header */
	uint8_t l3_len;      /* IP header with options */
	uint8_t eth_group;   /* destination MAC: 0 unicast, 1 multicast, 2 broadcast */
	uint16_t need;       /* contiguous bytes wanted, when kind is WIRE_MORE */
	uint32_t l3_payload; /* IP payload length as the IP header says */
	uint32_t udp_len;    /* UDP length field, header included; WIRE_UDP only */
	wire_be16 sport, dport;
	wire_be32 src4, dst4; /* IPv4 addresses */
};

struct wire_parse_opt {
	uint8_t mac[WIRE_ETH_ALEN]; /* our MAC: other unicast destinations are ETH_DST */
	bool promiscuous_ok;        /* accept any destination MAC (never set in production) */
	bool ip_csum_good;          /* the NIC has verified the IPv4 header checksum */
	bool loopback;              /* 127/8 may come from here */
	uint32_t max_frame;         /* longest acceptable frame in bytes; 0 = no limit */
};

/*
 * Parse and validate the headers of one Ethernet frame in the order of the RFCs, one numbered check
 * each. p points to `avail` contiguous bytes of a frame of `frame_len` bytes in all (avail <=
 * frame_len). Never reads at or beyond p + avail. When the first avail bytes cannot decide although
 * the frame is longer: WIRE_MORE with .need (> avail, <= frame_len, <= WIRE_HDR_MAX); any other
 * verdict is the one that all bytes would give. The checks need no address knowledge beyond the MAC:
 * whether an IP address is ours, and all checksums but IPv4's header, are the caller's.
 *
 * With WIRE_UDP and WIRE_ICMP the first l2_len + l3_len + 8 bytes lie within avail, with WIRE_ARP
 * the first l2_len + WIRE_ARP_LEN. *v is written whole: what a verdict does not use is 0.
 */
void wire_parse(const uint8_t *p, uint32_t avail, uint32_t frame_len,
		const struct wire_parse_opt *opt, struct wire_view *v);

/* ---- trains ---- */

/*
 * Frames that follow an accepted one with the same MACs, EtherType, IPv4 header length and addresses need
 * not be asked again what depends on these alone.
 */
struct wire_train {
	uint64_t eth0; /* bytes 0-7 */
	uint64_t eth8; /* bytes 8-14, the last one 0: source MAC, EtherType, version and IHL */
	uint64_t addr; /* bytes 26-33: source and destination */
};

static inline uint64_t
wire_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* All but the last byte in memory order. */
static inline uint64_t
wire_first7(uint64_t v)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v & (UINT64_MAX >> 8)
							 : v & ~UINT64_C(0xff);
}

/* p: a frame that wire_parse() took for WIRE_UDP with l3_len 20, and whose addresses the caller took. */
static inline void
wire_train_start(struct wire_train *t, const uint8_t *p)
{
	t->eth0 = wire_load64(p);
	t->eth8 = wire_first7(wire_load64(p + 8));
	t->addr = wire_load64(p + WIRE_ETH_LEN + offsetof(struct wire_ip4, src));
}

/* No train: no frame follows, for seven bytes never are eight ones. */
static inline void
wire_train_none(struct wire_train *t)
{
	t->eth0 = 0;
	t->eth8 = UINT64_MAX;
	t->addr = 0;
}

/*
 * The UDP length (header included) when the frame follows the train and wire_parse() would take it for
 * WIRE_UDP with l3_len 20. 0: ask wire_parse(). Arguments as there; max_frame is not 0. The numbers are
 * those of its checks.
 */
static inline uint32_t
wire_train_follow(const struct wire_train *t, const uint8_t *p, uint32_t avail, uint32_t frame_len,
		  uint32_t max_frame, bool ip_csum_good)
{
	const struct wire_ip4 *ip = (const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const struct wire_udp *)(const void *)(ip + 1);
	uint32_t w[5];
	uint32_t total_len, udp_len;

	/* 1, 6, 9, 18: all headers in sight. 2. */
	if (avail < WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN || frame_len > max_frame)
		return 0;
	/* 3, 4, 5, 7, 8, 12, 14, 15: as before. 13, 16. */
	if (((wire_load64(p) ^ t->eth0) | (wire_first7(wire_load64(p + 8)) ^ t->eth8) |
	     (wire_load64(p + WIRE_ETH_LEN + offsetof(struct wire_ip4, src)) ^ t->addr)) != 0 ||
	    (ip->frag & WIRE_BE16(WIRE_IP4_FRAG_MASK)) != 0 || ip->proto != WIRE_PROTO_UDP)
		return 0;
	/* 10, 19, 20. */
	total_len = WIRE_BE16(ip->total_len);
	udp_len = WIRE_BE16(udp->len);
	if (total_len > frame_len - WIRE_ETH_LEN || udp_len < WIRE_UDP_LEN ||
	    udp_len + WIRE_IP4_MIN > total_len || udp->dport == 0)
		return 0;
	/* 11. */
	if (!ip_csum_good) {
		memcpy(w, ip, sizeof(w));
		if (((uint64_t)w[0] + w[1] + w[2] + w[3] + w[4]) % 0xffff != 0)
			return 0;
	}
	return udp_len;
}

#endif /* WEIR_WIRE_H */
