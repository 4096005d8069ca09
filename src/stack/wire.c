/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums, and the one checked parse of a received frame.
 *
 * HOT: wire_parse() is stage 1 of the receive path (rx.c, once per frame, on the lcore that
 * received it); the sums run per datagram where the port has no checksum offload. Pure functions,
 * any thread.
 *
 * What always holds: no byte at or beyond p + avail is read; the first check that fails names the
 * reason; a view is written completely, whatever the verdict, so nothing of an earlier frame shows
 * through. The straight line is IPv4/UDP without options in one segment.
 *
 * Left out: VLAN tags (refused), IPv6 (refused as an unknown EtherType), IPv4 options beyond their
 * shape (accepted and skipped, source routes refused), all that needs address tables.
 */
#include "wire.h"

#include <string.h>

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

static inline uint16_t
load16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- checksums ---- */

/* The last len (1-7) bytes before end as one zero-filled word; word_ok: 8 bytes may be read. */
static inline uint64_t
load_tail(const uint8_t *end, size_t len, bool word_ok)
{
	uint64_t v = 0;

	if (likely(word_ok)) {
		v = wire_load64(end - 8);
		return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v >> (64 - 8 * len)
								 : v << (64 - 8 * len);
	}
	/* Pieces at even offsets keep their place in the 16-bit words. */
	end -= len;
	if (len & 4) {
		v += load32(end);
		end += 4;
	}
	if (len & 2) {
		v += load16(end);
		end += 2;
	}
	if (len & 1)
		v += WIRE_BE16(*end << 8);
	return v;
}

/* One 64-bit word added with its carry counted apart: compilers make add and adc of it. */
#define ADD_WORD(sum, carries, word)                                                               \
	do {                                                                                       \
		const uint64_t word_ = (word);                                                     \
		(sum) += word_;                                                                    \
		(carries) += (sum) < word_;                                                        \
	} while (0)

/*
 * Whole 64-bit words, as 2^64 = 1 in this arithmetic: a carry counts 1. Two sums, so that the next
 * addition need not wait for the last.
 */
uint64_t
wire_sum(const void *data, size_t len, uint64_t sum)
{
	const uint8_t *p = data;
	const bool word_ok = len >= 8;
	uint64_t a = 0, b = 0, a_carries = 0, b_carries = 0;

	for (; len >= 32; len -= 32, p += 32) {
		ADD_WORD(a, a_carries, wire_load64(p));
		ADD_WORD(b, b_carries, wire_load64(p + 8));
		ADD_WORD(a, a_carries, wire_load64(p + 16));
		ADD_WORD(b, b_carries, wire_load64(p + 24));
	}
	if (len & 16) {
		ADD_WORD(a, a_carries, wire_load64(p));
		ADD_WORD(b, b_carries, wire_load64(p + 8));
		p += 16;
	}
	if (len & 8) {
		ADD_WORD(a, a_carries, wire_load64(p));
		p += 8;
	}
	len &= 7;
	if (len != 0)
		ADD_WORD(b, b_carries, load_tail(p + len, len, word_ok));
	/* Less than 2^35 is added: a thousand million partial sums fit into the 64 bits. */
	return sum + (uint32_t)a + (a >> 32) + (uint32_t)b + (b >> 32) + a_carries + b_carries;
}

uint64_t
wire_sum_at(uint64_t sum, uint64_t part, size_t off)
{
	if (off & 1)
		return sum + __builtin_bswap16(wire_fold(part));
	return sum + (uint32_t)part + (part >> 32);
}

uint64_t
wire_pseudo6(const uint8_t *src, const uint8_t *dst, uint8_t proto, uint32_t len_bytes)
{
	uint64_t sum = wire_sum(src, 16, 0);

	sum = wire_sum(dst, 16, sum);
	return sum + WIRE_BE32(len_bytes) + WIRE_BE32(proto);
}

/* ---- the checked parse ---- */

/* The frame as every check sees it. */
struct frame {
	const uint8_t *p;
	uint32_t avail, len;
	uint8_t eth_group;
};

/*
 * The ways out. Each writes the verdict and returns it, so that a check is one line and its failure
 * a tail call, which keeps the straight line free of saved registers.
 */
static __attribute__((cold, noinline)) enum wire_kind
refuse(struct wire_view *v, enum weir_drop reason)
{
	memset(v, 0, sizeof(*v));
	v->reason = (uint8_t)reason;
	return v->kind = WIRE_DROP;
}

static __attribute__((cold, noinline)) enum wire_kind
want(struct wire_view *v, uint32_t need)
{
	memset(v, 0, sizeof(*v));
	v->need = (uint16_t)need;
	return v->kind = WIRE_MORE;
}

/* RFC 791 3.1: are the options between p and end well-formed, and none a source route? */
static __attribute__((noinline)) bool
ip4_options_ok(const uint8_t *p, const uint8_t *end)
{
	enum { END = 0, NOP = 1, LSRR = 131, SSRR = 137 };

	while (p < end && *p != END) {
		if (*p == NOP) {
			p++;
			continue;
		}
		if (*p == LSRR || *p == SSRR)
			return false;
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return false;
		p += p[1];
	}
	return true;
}

static inline bool
ip4_csum_ok(const uint8_t *ip, uint32_t hdr_len)
{
	uint64_t sum;

	if (likely(hdr_len == WIRE_IP4_MIN))
		sum = (uint64_t)load32(ip) + load32(ip + 4) + load32(ip + 8) + load32(ip + 12) +
		      load32(ip + 16);
	else
		sum = wire_sum(ip, hdr_len, 0);
	/* Folds to ffff: a multiple of ffff, and never 0 because the version is not. */
	return sum % 0xffff == 0;
}

/* RFC 1122 3.2.1.3: what never is a source: 0/8, 127/8, multicast 224/4, 240/4 and up. */
static inline bool
ip4_src_ok(wire_be32 addr)
{
	const uint32_t host = WIRE_BE32(addr);

	return host >> 24 != 0 && host < 0xe0000000 && host >> 24 != 127;
}

/* RFC 1122 3.2.1.3 (a), (g): what never is a destination on a wire: 0.0.0.0, 127/8. */
static inline bool
ip4_dst_ok(wire_be32 addr)
{
	const uint32_t host = WIRE_BE32(addr);

	return host != 0 && host >> 24 != 127;
}

static enum wire_kind
parse_arp(const struct frame *f, struct wire_view *v)
{
	struct wire_arp arp;

	/* 6. RFC 826: a whole message, trailing padding allowed. */
	if (f->len < WIRE_ETH_LEN + WIRE_ARP_LEN)
		return refuse(v, WEIR_DROP_ARP_BAD);
	if (f->avail < WIRE_ETH_LEN + WIRE_ARP_LEN)
		return want(v, WIRE_ETH_LEN + WIRE_ARP_LEN);
	/* 7. RFC 826 "Packet Reception": Ethernet and IPv4 with their address lengths. */
	memcpy(&arp, f->p + WIRE_ETH_LEN, sizeof(arp));
	if (arp.htype != WIRE_BE16(1) || arp.ptype != WIRE_BE16(WIRE_ETH_IP4) ||
	    arp.hlen != WIRE_ETH_ALEN || arp.plen != 4)
		return refuse(v, WEIR_DROP_ARP_BAD);

	memset(v, 0, sizeof(*v));
	v->l2_len = WIRE_ETH_LEN;
	v->eth_group = f->eth_group;
	return v->kind = WIRE_ARP;
}

/* Both transports: the IP header has passed; l4_off is where it ends. */
static inline enum wire_kind
parse_l4(const struct frame *f, uint8_t proto, uint32_t l4_off, uint32_t l3_payload,
	 struct wire_view *v)
{
	const uint8_t *l4 = f->p + l4_off;
	uint32_t udp_len;

	if (likely(proto == WIRE_PROTO_UDP)) {
		/* 18. RFC 768: a whole header. */
		if (unlikely(l3_payload < WIRE_UDP_LEN))
			return refuse(v, WEIR_DROP_UDP_SHORT);
		if (unlikely(f->avail < l4_off + WIRE_UDP_LEN))
			return want(v, l4_off + WIRE_UDP_LEN);
		/* 19. RFC 768 "Length": at least 8; not beyond what IP brought. Less is a trim. */
		udp_len = WIRE_BE16(load16(l4 + offsetof(struct wire_udp, len)));
		if (unlikely(udp_len < WIRE_UDP_LEN || udp_len > l3_payload))
			return refuse(v, WEIR_DROP_UDP_LENGTH);
		/* 20. RFC 6335 6: port 0 is reserved; nobody listens there. Source 0 is legal. */
		v->dport = load16(l4 + offsetof(struct wire_udp, dport));
		if (unlikely(v->dport == 0))
			return refuse(v, WEIR_DROP_UDP_PORT0);
		v->sport = load16(l4 + offsetof(struct wire_udp, sport));
		v->udp_len = udp_len;
		return v->kind = WIRE_UDP;
	}
	/* 17. RFC 792: a whole ICMP header. */
	if (l3_payload < WIRE_ICMP_LEN)
		return refuse(v, WEIR_DROP_ICMP_SHORT);
	if (f->avail < l4_off + WIRE_ICMP_LEN)
		return want(v, l4_off + WIRE_ICMP_LEN);
	v->sport = 0;
	v->dport = 0;
	v->udp_len = 0;
	return v->kind = WIRE_ICMP;
}

/* Checks 10 to 20. hdr_len is 20 as a constant on the straight line, else what IHL says. */
static inline __attribute__((always_inline)) enum wire_kind
parse_ip4_rest(const struct frame *f, const struct wire_parse_opt *opt, uint32_t hdr_len,
	       struct wire_view *v)
{
	const uint8_t *ip = f->p + WIRE_ETH_LEN;
	uint32_t total_len;
	wire_be32 src, dst;
	uint8_t proto;

	/* 10. RFC 1812 5.2.2 (5): header <= total length; RFC 894: padding may follow. */
	total_len = WIRE_BE16(load16(ip + offsetof(struct wire_ip4, total_len)));
	if (unlikely(total_len < hdr_len || total_len > f->len - WIRE_ETH_LEN))
		return refuse(v, WEIR_DROP_IP_LENGTH);
	/* 11. RFC 1122 3.2.1.2: header checksum. */
	if (!opt->ip_csum_good && unlikely(!ip4_csum_ok(ip, hdr_len)))
		return refuse(v, WEIR_DROP_IP_CSUM);
	/* 12. RFC 1122 3.2.1.8: options well-formed; RFC 7126 4.3, 4.4: no source routes. */
	if (hdr_len > WIRE_IP4_MIN && !ip4_options_ok(ip + WIRE_IP4_MIN, ip + hdr_len))
		return refuse(v, WEIR_DROP_IP_OPTION);
	/* 13. RFC 791 3.2: first, middle and last fragments alike. */
	if (unlikely(load16(ip + offsetof(struct wire_ip4, frag)) & WIRE_BE16(WIRE_IP4_FRAG_MASK)))
		return refuse(v, WEIR_DROP_IP_FRAG);
	/* 14. RFC 1122 3.2.1.3: a source that can exist. */
	src = load32(ip + offsetof(struct wire_ip4, src));
	if (unlikely(!ip4_src_ok(src)) && !(opt->loopback && (WIRE_BE32(src) >> 24) == 127))
		return refuse(v, WEIR_DROP_IP_SRC);
	/* 15. RFC 1122 3.2.1.3: a destination that can exist. */
	dst = load32(ip + offsetof(struct wire_ip4, dst));
	if (unlikely(!ip4_dst_ok(dst)) && !(opt->loopback && (WIRE_BE32(dst) >> 24) == 127))
		return refuse(v, WEIR_DROP_IP_DST);
	/* 16. RFC 791 3.1 "Protocol". */
	proto = ip[offsetof(struct wire_ip4, proto)];
	if (unlikely(proto != WIRE_PROTO_UDP && proto != WIRE_PROTO_ICMP))
		return refuse(v, WEIR_DROP_IP_PROTO);

	v->reason = 0;
	v->family = 4;
	v->l2_len = WIRE_ETH_LEN;
	v->l3_len = (uint8_t)hdr_len;
	v->eth_group = f->eth_group;
	v->need = 0;
	v->l3_payload = total_len - hdr_len;
	v->src4 = src;
	v->dst4 = dst;
	return parse_l4(f, proto, WIRE_ETH_LEN + hdr_len, total_len - hdr_len, v);
}

/* Off the straight line: the first byte is not version 4 with five words. */
static __attribute__((noinline)) enum wire_kind
parse_ip4_odd(const uint8_t *p, uint32_t avail, uint32_t frame_len, uint8_t eth_group,
	      const struct wire_parse_opt *opt, struct wire_view *v)
{
	const struct frame f = {.p = p, .avail = avail, .len = frame_len, .eth_group = eth_group};
	const uint8_t ver_ihl = p[WIRE_ETH_LEN];
	const uint32_t hdr_len = (ver_ihl & 0xfu) * 4;

	/* 7. RFC 1122 3.2.1.1: version 4. */
	if (ver_ihl >> 4 != 4)
		return refuse(v, WEIR_DROP_IP_VERSION);
	/* 8. RFC 1812 5.2.2 (4): at least five words. */
	if (hdr_len < WIRE_IP4_MIN)
		return refuse(v, WEIR_DROP_IP_HDR_LEN);
	/* 9. RFC 791 3.1 "IHL": the header lies within the packet. */
	if (hdr_len > frame_len - WIRE_ETH_LEN)
		return refuse(v, WEIR_DROP_IP_HDR_LEN);
	if (avail < WIRE_ETH_LEN + hdr_len)
		return want(v, WIRE_ETH_LEN + hdr_len);
	return parse_ip4_rest(&f, opt, hdr_len, v);
}

static inline enum wire_kind
parse_ip4(const struct frame *f, const struct wire_parse_opt *opt, struct wire_view *v)
{
	/* 6. RFC 1812 5.2.2 (1): room for a minimal header. */
	if (unlikely(f->len < WIRE_ETH_LEN + WIRE_IP4_MIN))
		return refuse(v, WEIR_DROP_IP_SHORT);
	if (unlikely(f->avail < WIRE_ETH_LEN + WIRE_IP4_MIN))
		return want(v, WIRE_ETH_LEN + WIRE_IP4_MIN);
	if (unlikely(f->p[WIRE_ETH_LEN] != 0x45))
		return parse_ip4_odd(f->p, f->avail, f->len, f->eth_group, opt, v);
	return parse_ip4_rest(f, opt, WIRE_IP4_MIN, v);
}

static inline enum wire_kind
parse_eth(struct frame *f, const struct wire_parse_opt *opt, struct wire_view *v)
{
	const uint8_t *dst = f->p;
	const uint8_t *src = f->p + WIRE_ETH_ALEN;
	uint32_t other;

	/* 1. RFC 894: a whole Ethernet header. */
	if (unlikely(f->len < WIRE_ETH_LEN))
		return refuse(v, WEIR_DROP_ETH_SHORT);
	/* 2. RFC 1122 2.3.3: not longer than the port's MTU allows. */
	if (unlikely(opt->max_frame != 0 && f->len > opt->max_frame))
		return refuse(v, WEIR_DROP_ETH_OVERSIZE);
	if (unlikely(f->avail < WIRE_ETH_LEN))
		return want(v, WIRE_ETH_LEN);
	/* 3. IEEE 802.3 3.2.3: the source is one station. */
	if (unlikely((src[0] & 1) != 0 || (load32(src) | load16(src + 4)) == 0))
		return refuse(v, WEIR_DROP_ETH_SRC);
	/* 4. IEEE 802.3 3.2.3, 4.1.2.1.2: to us, to all, or to a group. */
	f->eth_group = 0;
	other = (load32(dst) ^ load32(opt->mac)) |
		(uint32_t)(load16(dst + 4) ^ load16(opt->mac + 4));
	if (unlikely(other != 0)) {
		if (dst[0] & 1)
			f->eth_group =
				load32(dst) == 0xffffffff && load16(dst + 4) == 0xffff ? 2 : 1;
		else if (!opt->promiscuous_ok)
			return refuse(v, WEIR_DROP_ETH_DST);
	}
	/* 5. RFC 894, RFC 826, IEEE 802.1Q: what it carries. */
	switch (load16(f->p + offsetof(struct wire_eth, type))) {
	case WIRE_BE16(WIRE_ETH_IP4):
		return parse_ip4(f, opt, v);
	case WIRE_BE16(WIRE_ETH_ARP):
		return parse_arp(f, v);
	case WIRE_BE16(WIRE_ETH_VLAN):
	case WIRE_BE16(WIRE_ETH_QINQ):
		return refuse(v, WEIR_DROP_ETH_VLAN);
	case WIRE_BE16(WIRE_ETH_IP6): /* the second family's place */
	default:
		return refuse(v, WEIR_DROP_ETH_TYPE);
	}
}

void
wire_parse(const uint8_t *p, uint32_t avail, uint32_t frame_len, const struct wire_parse_opt *opt,
	   struct wire_view *v)
{
	struct frame f = {.p = p, .avail = avail, .len = frame_len, .eth_group = 0};

	(void)parse_eth(&f, opt, v);
}
