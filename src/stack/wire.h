/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Wire formats of Ethernet, ARP, IPv4, IPv6, ICMP, ICMPv6 and UDP: layouts, one checked parse, checksums.
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

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include <weir/drop.h>

typedef uint16_t wire_be16;
typedef uint32_t wire_be32;

#define WIRE_BE16(x)                                                                               \
	((wire_be16)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap16((uint16_t)(x))  \
							       : (uint16_t)(x)))
#define WIRE_BE32(x)                                                                               \
	((wire_be32)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap32((uint32_t)(x))  \
							       : (uint32_t)(x)))

#define WIRE_BE64(x)                                                                               \
	(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_bswap64(x) : (uint64_t)(x))

#define WIRE_ETH_LEN   14
#define WIRE_ETH_ALEN  6
#define WIRE_IP4_MIN   20
#define WIRE_IP4_MAX   60
#define WIRE_UDP_LEN   8
#define WIRE_ARP_LEN   28
#define WIRE_ICMP_LEN  8
#define WIRE_IP6_LEN   40
#define WIRE_FRAG6_LEN 8
#define WIRE_VLAN_LEN  4
#define WIRE_SHORT     128 /* bytes up to which a sum is made in line */
/* Most bytes of IPv6 extension headers that are looked through; a longer chain is refused (RFC 9098). */
#define WIRE_EXT6_MAX 256
/* Most bytes that the parse may want to see contiguous: Ethernet + IPv6 with its chain + UDP. */
#define WIRE_HDR_MAX (WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_EXT6_MAX + WIRE_UDP_LEN)

enum wire_ethertype {
	WIRE_ETH_IP4 = 0x0800,
	WIRE_ETH_ARP = 0x0806,
	WIRE_ETH_VLAN = 0x8100,
	WIRE_ETH_IP6 = 0x86dd,
	WIRE_ETH_QINQ = 0x88a8,
};

enum wire_ipproto {
	WIRE_PROTO_HOPOPTS = 0,
	WIRE_PROTO_ICMP = 1,
	WIRE_PROTO_IGMP = 2,
	WIRE_PROTO_UDP = 17,
	WIRE_PROTO_ROUTING = 43,
	WIRE_PROTO_FRAGMENT = 44,
	WIRE_PROTO_AH = 51,
	WIRE_PROTO_ICMP6 = 58,
	WIRE_PROTO_NONE = 59,
	WIRE_PROTO_DSTOPTS = 60,
};

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
#define WIRE_IP4_OFFSET    0x1fff

/* RFC 8200 3. */
struct wire_ip6 {
	wire_be32 ver_tc_flow; /* version 4 bits, traffic class 8, flow label 20 */
	wire_be16 payload_len; /* all that follows these 40 bytes */
	uint8_t next, hop_limit;
	uint8_t src[16], dst[16];
} __attribute__((packed));
static_assert(sizeof(struct wire_ip6) == WIRE_IP6_LEN, "RFC 8200 3");

/* RFC 8200 4.5. */
struct wire_frag6 {
	uint8_t next, reserved;
	wire_be16
		off_more; /* offset in bytes (multiple of 8) in the upper 13 bits, M in the lowest */
	wire_be32 id;
} __attribute__((packed));
static_assert(sizeof(struct wire_frag6) == WIRE_FRAG6_LEN, "RFC 8200 4.5");

/* IEEE 802.1Q: what stands between the source MAC and the EtherType. */
struct wire_vlan {
	wire_be16 tpid, tci; /* tci: priority 3 bits, DEI 1, VID 12 */
} __attribute__((packed));
static_assert(sizeof(struct wire_vlan) == WIRE_VLAN_LEN, "IEEE 802.1Q 9.3");

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
	WIRE_ICMP_REDIRECT = 5,
};

/* RFC 4443, RFC 4861, RFC 2710, RFC 3810. The header is struct wire_icmp. */
enum wire_icmp6_type {
	WIRE_ICMP6_UNREACH = 1,
	WIRE_ICMP6_TOO_BIG = 2,
	WIRE_ICMP6_TIME_EXCEEDED = 3,
	WIRE_ICMP6_PARAM = 4,
	WIRE_ICMP6_ECHO = 128,
	WIRE_ICMP6_ECHO_REPLY = 129,
	WIRE_ICMP6_MLD_QUERY = 130,
	WIRE_ICMP6_MLD_REPORT = 131,
	WIRE_ICMP6_MLD_DONE = 132,
	WIRE_ICMP6_RS = 133,
	WIRE_ICMP6_RA = 134,
	WIRE_ICMP6_NS = 135,
	WIRE_ICMP6_NA = 136,
	WIRE_ICMP6_REDIRECT = 137,
	WIRE_ICMP6_MLD2_REPORT = 143,
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

static inline uint64_t
wire_load64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Sums of headers and short datagrams, in line: 64-bit words, the carries counted apart (compilers make add
 * and adc of it). As 2^64 is 1 in this arithmetic, a carry counts 1, and a sum is right when 65535 divides
 * it (and it is not 0, which the caller knows of: protocol and version are not).
 */
struct wire_wide {
	uint64_t sum, carries;
};

static inline void
wire_wide_add(struct wire_wide *w, uint64_t word)
{
	w->sum += word;
	w->carries += w->sum < word;
}

static inline bool
wire_wide_ok(struct wire_wide w)
{
	w.sum += w.carries;
	w.sum += w.sum < w.carries;
	return w.sum % 0xffff == 0;
}

/* len bytes (8 at least) at data added to sum; an odd len as in wire_sum(). */
static inline struct wire_wide
wire_wide_sum(const void *data, uint32_t len, uint64_t sum)
{
	struct wire_wide w = {.sum = sum};
	const uint8_t *p = data;
	const uint8_t *end = p + (len & ~7u);
	const uint32_t left = len & 7;

	do {
		wire_wide_add(&w, wire_load64(p));
		p += 8;
	} while (p != end);
	if (left != 0) { /* the word that ends with the last byte, without what was added already */
		uint64_t last = wire_load64(p + left - 8);

		wire_wide_add(&w, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
					  ? last >> (64 - 8 * left)
					  : last << (64 - 8 * left));
	}
	return w;
}

/* Is the checksum of an IPv4 header of 20 bytes right? */
static inline bool
wire_ip4_sum_ok(const void *ip)
{
	const uint8_t *p = ip;
	struct wire_wide w = {.sum = wire_load64(p)};
	uint32_t last;

	memcpy(&last, p + 16, sizeof(last));
	wire_wide_add(&w, wire_load64(p + 8));
	wire_wide_add(&w, last);
	return wire_wide_ok(w);
}

/*
 * Is the checksum of a UDP datagram of len bytes (header included) right? All of it is at udp; addr is the sum
 * of its addresses as of wire_pseudo4().
 */
static inline bool
wire_udp_sum_ok(const void *udp, uint32_t len, uint64_t addr)
{
	const uint64_t pseudo = addr + WIRE_BE16(WIRE_PROTO_UDP) + WIRE_BE16(len);

	if (__builtin_expect(len <= WIRE_SHORT, 1))
		return wire_wide_ok(wire_wide_sum(udp, len, pseudo));
	return wire_fold(wire_sum(udp, len, pseudo)) == 0xffff;
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
	WIRE_ICMP6,
	WIRE_IGMP,
	WIRE_FRAG, /* of either family: see frag_* */
	WIRE_VLAN, /* tagged: nothing behind the Ethernet header has been looked at */
	WIRE_DROP, /* see .reason */
	WIRE_MORE, /* too few contiguous bytes to decide: give at least .need */
};

/* What one frame is. Offsets are from the start of the frame, lengths in bytes, host order. */
struct wire_view {
	uint8_t kind;      /* enum wire_kind */
	uint8_t reason;    /* enum weir_drop, when kind is WIRE_DROP */
	uint8_t family;    /* 4 or 6, 0 for ARP */
	uint8_t l2_len;    /* Ethernet header */
	uint16_t l3_len;   /* IP header with options or extension headers: up to the upper layer */
	uint8_t eth_group; /* destination MAC: 0 unicast, 1 multicast, 2 broadcast */
	uint8_t proto; /* of the upper layer (enum wire_ipproto); of a fragment: as its header says */
	uint8_t hop_limit; /* or TTL */
	uint8_t traffic;   /* traffic class, or TOS */
	bool router_alert; /* RFC 2113, RFC 2711 */
	bool reassembled;  /* came in fragments: set by rx.c */
	/* WIRE_DROP, IPv6: the offset that a parameter problem points to, when one is due. */
	uint16_t pointer; /* from the start of the IP header */
	uint8_t param;    /* ICMPv6 parameter problem: code + 1; 0: none is due */
	/* WIRE_FRAG: l3_len is all in front of the fragment's data, the fragment header included. */
	bool frag_more;
	uint16_t frag_off;   /* bytes, multiple of 8 */
	uint16_t frag_hdr;   /* IPv6: where the fragment header is, from the start of the frame */
	uint16_t frag_prev;  /* IPv6: where the Next Header byte is that names it, likewise */
	uint32_t frag_id;    /* as in the header */
	uint16_t need;       /* contiguous bytes wanted, when kind is WIRE_MORE */
	uint32_t l3_payload; /* bytes behind l3_len, as the IP header says */
	uint32_t udp_len;    /* UDP length field, header included; WIRE_UDP only */
	wire_be16 sport, dport;
	wire_be32 src4, dst4; /* IPv4 addresses; of IPv6 see the header: it is contiguous */
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
 * With WIRE_UDP, WIRE_ICMP, WIRE_ICMP6 and WIRE_IGMP the first l2_len + l3_len + 8 bytes lie within avail, with
 * WIRE_FRAG l2_len + l3_len, with WIRE_ARP l2_len + WIRE_ARP_LEN, with WIRE_VLAN l2_len + WIRE_VLAN_LEN; with a
 * parameter problem the IPv6 header. *v is written whole: what a verdict does not use is 0. Of WIRE_DROP all is,
 * unless the sender may be told: UDP_PORT0, IP_PROTO over IPv4, a parameter problem. Then the lengths, addresses
 * and so on are as far as they were known.
 */
void wire_parse(const uint8_t *p, uint32_t avail, uint32_t frame_len,
		const struct wire_parse_opt *opt, struct wire_view *v);

/* ---- trains ---- */

/*
 * Frames of the same flow repeat most of their headers: MACs, EtherType, IPv4 header length, protocol,
 * addresses, ports. What depends on these alone need not be asked again (wire_train_follow()); of a frame with
 * another source only the source is asked (wire_train_other()). Either way the answer can only be "accept", as
 * WIRE_UDP with l3_len 20; what is not accepted here is for wire_parse(). Numbers are those of its checks.
 */
struct wire_train {
	uint8_t p0[16];  /* bytes 0-15 of the frame that all follow */
	uint8_t p22[16]; /* bytes 22-37 */
};

/* Which bits have to be as before: not TOS, TTL and header checksum. */
#define WIRE_TRAIN_P0                                                                              \
	{                                                                                          \
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,      \
			0xff, 0xff, 0                                                              \
	}
#define WIRE_TRAIN_P22                                                                             \
	{                                                                                          \
		0, 0xff, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,   \
			0xff                                                                       \
	}

/* The shortest frame that is looked at: all headers. */
#define WIRE_TRAIN_MIN (WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)

/* p: a frame that was accepted: wire_parse() said WIRE_UDP with l3_len 20, the addresses are good. */
static inline void
wire_train_start(struct wire_train *t, const uint8_t *p)
{
	memcpy(t->p0, p, sizeof(t->p0));
	memcpy(t->p22, p + 22, sizeof(t->p22));
}

/* No train: nothing follows, for what follows is UDP in IPv4. */
static inline void
wire_train_none(struct wire_train *t)
{
	memset(t, 0, sizeof(*t));
}

/* Same addresses and ports? What comes before them may be anything. */
static inline bool
wire_train_same_flow(const struct wire_train *t, const uint8_t *p)
{
	return ((wire_load64(p + 26) ^ wire_load64(t->p22 + 4)) |
		(wire_load64(p + 30) ^ wire_load64(t->p22 + 8))) == 0;
}

/* 10, 19: the payload length, when the lengths of a frame of len bytes fit into each other. */
static inline bool
wire_train_payload(const uint8_t *p, uint32_t len, uint32_t *payload)
{
	const struct wire_ip4 *ip = (const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const struct wire_udp *)(const void *)(ip + 1);
	/* What is too short comes out as a very large number. */
	const uint32_t room = WIRE_BE16(ip->total_len) - (uint32_t)(WIRE_IP4_MIN + WIRE_UDP_LEN);

	*payload = WIRE_BE16(udp->len) - (uint32_t)WIRE_UDP_LEN;
	if (__builtin_expect(room > len - WIRE_TRAIN_MIN, 0))
		return false;
	return __builtin_expect(*payload <= room, 1);
}

/* 13: no fragment. */
static inline bool
wire_train_whole(const uint8_t *p)
{
	uint16_t frag;

	memcpy(&frag, p + WIRE_ETH_LEN + offsetof(struct wire_ip4, frag), sizeof(frag));
	return __builtin_expect((frag & WIRE_BE16(WIRE_IP4_FRAG_MASK)) == 0, 1);
}

/*
 * Does the frame, whose len bytes (WIRE_TRAIN_MIN at least) are all in sight, follow the train? Then *payload
 * is its payload length. The header checksum is left to the caller.
 */
static inline bool
wire_train_follow(const struct wire_train *t, const uint8_t *p, uint32_t len, uint32_t *payload)
{
	/* 3, 4, 5, 7, 8, 9, 12, 14, 15, 16, 20: as before. */
#ifdef __SSE4_1__
	static const uint8_t p0[16] = WIRE_TRAIN_P0;
	static const uint8_t p22[16] = WIRE_TRAIN_P22;
#define WIRE_TRAIN_LOAD(bytes) _mm_loadu_si128((const __m128i *)(const void *)(bytes))
	__m128i a = _mm_xor_si128(WIRE_TRAIN_LOAD(p), WIRE_TRAIN_LOAD(t->p0));
	__m128i b = _mm_xor_si128(WIRE_TRAIN_LOAD(p + 22), WIRE_TRAIN_LOAD(t->p22));

	a = _mm_or_si128(_mm_and_si128(a, WIRE_TRAIN_LOAD(p0)),
			 _mm_and_si128(b, WIRE_TRAIN_LOAD(p22)));
#undef WIRE_TRAIN_LOAD
	if (__builtin_expect(!_mm_testz_si128(a, a), 0))
		return false;
#else
	const uint64_t a =
		(wire_load64(p) ^ wire_load64(t->p0)) |
		((wire_load64(p + 8) ^ wire_load64(t->p0 + 8)) & WIRE_BE64(~UINT64_C(0xff)));
	const uint64_t b = ((wire_load64(p + 22) ^ wire_load64(t->p22)) &
			    WIRE_BE64(UINT64_C(0x00ff0000ffffffff))) |
			   (wire_load64(p + 30) ^ wire_load64(t->p22 + 8));

	if (__builtin_expect((a | b) != 0, 0))
		return false;
#endif
	return wire_train_whole(p) && wire_train_payload(p, len, payload);
}

/*
 * The same for a frame with the train's destination MAC and address, any good source and any ports. When the
 * source address is another, the caller has to ask whether it is one of his own; then wire_train_start()
 * makes the frame the train.
 */
static inline bool
wire_train_other(const struct wire_train *t, const uint8_t *p, uint32_t len, uint32_t *payload)
{
	const uint64_t w0 = wire_load64(p) ^ wire_load64(t->p0);
	const uint64_t w8 = wire_load64(p + 8) ^ wire_load64(t->p0 + 8);
	const uint64_t w22 = wire_load64(p + 22) ^ wire_load64(t->p22);
	const uint64_t w30 = wire_load64(p + 30) ^ wire_load64(t->p22 + 8);
	const uint64_t differ =
		(w0 & WIRE_BE64(UINT64_MAX << 16)) | (w8 & WIRE_BE64(UINT64_C(0xffffff00))) |
		(w22 & WIRE_BE64(UINT64_C(0xff) << 48)) | (w30 & WIRE_BE64(UINT64_MAX << 32));
	const uint64_t mac = wire_load64(p + 6) & WIRE_BE64(UINT64_MAX << 16);
	const uint8_t net = p[26];

	/* 3: no group, not zero. 14. 20. */
	if (differ != 0 || (p[6] & 1) != 0 || mac == 0 || net == 0 || net == 127 || net >= 224 ||
	    (p[36] | p[37]) == 0)
		return false;
	return wire_train_whole(p) && wire_train_payload(p, len, payload);
}

/* ---- the same for IPv6: Ethernet, 40 bytes, UDP ---- */

struct wire_train6 {
	uint8_t p0[16];  /* bytes 0-15 of the frame that all follow */
	uint8_t p20[16]; /* bytes 20-35: next header, hop limit, source */
	uint8_t p36[16]; /* bytes 36-51: source, destination */
	uint8_t p42[16]; /* bytes 42-57: destination, ports */
};

/* Which bits have to be as before: not traffic class, flow label and hop limit. */
#define WIRE_TRAIN6_P0                                                                             \
	{                                                                                          \
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,      \
			0xff, 0xf0, 0                                                              \
	}
#define WIRE_TRAIN6_P20                                                                            \
	{                                                                                          \
		0xff, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,   \
			0xff, 0xff                                                                 \
	}

#define WIRE_TRAIN6_MIN (WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_UDP_LEN)

/* p: a frame that was accepted: wire_parse() said WIRE_UDP with l3_len 40, the addresses are good. */
static inline void
wire_train6_start(struct wire_train6 *t, const uint8_t *p)
{
	memcpy(t->p0, p, sizeof(t->p0));
	memcpy(t->p20, p + 20, sizeof(t->p20));
	memcpy(t->p36, p + 36, sizeof(t->p36));
	memcpy(t->p42, p + 42, sizeof(t->p42));
}

static inline void
wire_train6_none(struct wire_train6 *t)
{
	memset(t, 0, sizeof(*t));
}

static inline bool
wire_train6_same_flow(const struct wire_train6 *t, const uint8_t *p)
{
	return ((wire_load64(p + 22) ^ wire_load64(t->p20 + 2)) |
		(wire_load64(p + 28) ^ wire_load64(t->p20 + 8)) |
		(wire_load64(p + 36) ^ wire_load64(t->p36)) |
		(wire_load64(p + 44) ^ wire_load64(t->p36 + 8)) |
		(wire_load64(p + 50) ^ wire_load64(t->p42 + 8))) == 0;
}

/* 10, 19, as wire_train_payload(). */
static inline bool
wire_train6_payload(const uint8_t *p, uint32_t len, uint32_t *payload)
{
	const struct wire_ip6 *ip = (const struct wire_ip6 *)(const void *)(p + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const struct wire_udp *)(const void *)(ip + 1);
	const uint32_t room = WIRE_BE16(ip->payload_len) - (uint32_t)WIRE_UDP_LEN;

	*payload = WIRE_BE16(udp->len) - (uint32_t)WIRE_UDP_LEN;
	if (__builtin_expect(room > len - WIRE_TRAIN6_MIN, 0))
		return false;
	return __builtin_expect(*payload <= room, 1);
}

/* As wire_train_follow(); len is WIRE_TRAIN6_MIN at least. There is no header checksum to leave. */
static inline bool
wire_train6_follow(const struct wire_train6 *t, const uint8_t *p, uint32_t len, uint32_t *payload)
{
	/* 3, 4, 5, 7, 13, 14, 15, 20: as before. */
#ifdef __SSE4_1__
	static const uint8_t p0[16] = WIRE_TRAIN6_P0;
	static const uint8_t p20[16] = WIRE_TRAIN6_P20;
#define WIRE_TRAIN_LOAD(bytes) _mm_loadu_si128((const __m128i *)(const void *)(bytes))
	__m128i a = _mm_xor_si128(WIRE_TRAIN_LOAD(p), WIRE_TRAIN_LOAD(t->p0));
	__m128i b = _mm_xor_si128(WIRE_TRAIN_LOAD(p + 20), WIRE_TRAIN_LOAD(t->p20));
	const __m128i c = _mm_xor_si128(WIRE_TRAIN_LOAD(p + 36), WIRE_TRAIN_LOAD(t->p36));
	const __m128i d = _mm_xor_si128(WIRE_TRAIN_LOAD(p + 42), WIRE_TRAIN_LOAD(t->p42));

	a = _mm_or_si128(_mm_and_si128(a, WIRE_TRAIN_LOAD(p0)),
			 _mm_and_si128(b, WIRE_TRAIN_LOAD(p20)));
	a = _mm_or_si128(a, _mm_or_si128(c, d));
#undef WIRE_TRAIN_LOAD
	if (__builtin_expect(!_mm_testz_si128(a, a), 0))
		return false;
#else
	const uint64_t a =
		(wire_load64(p) ^ wire_load64(t->p0)) |
		((wire_load64(p + 8) ^ wire_load64(t->p0 + 8)) & WIRE_BE64(~UINT64_C(0xfff)));

	if (__builtin_expect((a | (uint64_t)(p[20] ^ t->p20[0])) != 0, 0) ||
	    !wire_train6_same_flow(t, p))
		return false;
#endif
	return wire_train6_payload(p, len, payload);
}

/* As wire_train_other(). Sources that begin with 64 zero bits are left to wire_parse(). */
static inline bool
wire_train6_other(const struct wire_train6 *t, const uint8_t *p, uint32_t len, uint32_t *payload)
{
	const uint64_t w0 = wire_load64(p) ^ wire_load64(t->p0);
	const uint64_t w8 = wire_load64(p + 8) ^ wire_load64(t->p0 + 8);
	const uint64_t differ =
		(w0 & WIRE_BE64(UINT64_MAX << 16)) | (w8 & WIRE_BE64(UINT64_C(0xfffff000))) |
		(uint64_t)(p[20] ^ t->p20[0]) | (wire_load64(p + 38) ^ wire_load64(t->p36 + 2)) |
		(wire_load64(p + 46) ^ wire_load64(t->p42 + 4));
	const uint64_t mac = wire_load64(p + 6) & WIRE_BE64(UINT64_MAX << 16);

	/* 3: no group, not zero. 14. 20. */
	if (differ != 0 || (p[6] & 1) != 0 || mac == 0 || p[22] == 0xff ||
	    wire_load64(p + 22) == 0 || (p[56] | p[57]) == 0)
		return false;
	return wire_train6_payload(p, len, payload);
}

#endif /* WEIR_WIRE_H */
