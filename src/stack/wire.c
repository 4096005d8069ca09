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
 * through. The straight lines are UDP without options or extension headers in one segment.
 *
 * Left out: what is behind a tag or a fragment header (the caller takes them off and asks again), IPv4
 * options beyond their shape (accepted and skipped, source routes refused), AH and ESP (unknown headers), all
 * that needs address tables.
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

/* The same when the sender may be told why: what *v holds of the headers stays. */
static __attribute__((cold, noinline)) enum wire_kind
refuse_told(struct wire_view *v, enum weir_drop reason)
{
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

/*
 * RFC 791 3.1: are the options between p and end well-formed, and none a source route? *alert: there is a
 * router alert (RFC 2113).
 */
static __attribute__((noinline)) bool
ip4_options_ok(const uint8_t *p, const uint8_t *end, bool *alert)
{
	enum { END = 0, NOP = 1, LSRR = 131, SSRR = 137, ALERT = 148 };

	while (p < end && *p != END) {
		if (*p == NOP) {
			p++;
			continue;
		}
		if (*p == LSRR || *p == SSRR)
			return false;
		if (end - p < 2 || p[1] < 2 || p[1] > end - p)
			return false;
		*alert |= *p == ALERT && p[1] == 4;
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

/*
 * The upper layer: the IP header has passed and is in *v but for kind; off is where the layer starts, len what
 * IP brought of it.
 */
static inline enum wire_kind
parse_udp(const struct frame *f, uint32_t off, uint32_t len, struct wire_view *v)
{
	const uint8_t *udp = f->p + off;

	/* 18. RFC 768: a whole header. */
	if (unlikely(len < WIRE_UDP_LEN))
		return refuse(v, WEIR_DROP_UDP_SHORT);
	if (unlikely(f->avail < off + WIRE_UDP_LEN))
		return want(v, off + WIRE_UDP_LEN);
	/* 19. RFC 768 "Length": at least 8; not beyond what IP brought. Less is a trim. */
	v->udp_len = WIRE_BE16(load16(udp + offsetof(struct wire_udp, len)));
	if (unlikely(v->udp_len < WIRE_UDP_LEN || v->udp_len > len))
		return refuse(v, WEIR_DROP_UDP_LENGTH);
	/* 20. RFC 6335 6: port 0 is reserved; nobody listens there. Source 0 is legal. */
	v->dport = load16(udp + offsetof(struct wire_udp, dport));
	if (unlikely(v->dport == 0))
		return refuse_told(v, WEIR_DROP_UDP_PORT0);
	v->sport = load16(udp + offsetof(struct wire_udp, sport));
	return v->kind = WIRE_UDP;
}

/* 17. RFC 792, RFC 4443 2.1, RFC 2236 2: a whole header, eight bytes in each of them. */
static enum wire_kind
parse_control(const struct frame *f, uint32_t off, uint32_t len, enum wire_kind kind,
	      enum weir_drop too_short, struct wire_view *v)
{
	if (len < WIRE_ICMP_LEN)
		return refuse(v, too_short);
	if (f->avail < off + WIRE_ICMP_LEN)
		return want(v, off + WIRE_ICMP_LEN);
	return v->kind = (uint8_t)kind;
}

/* Not UDP in one piece: *v is that of the header. COLD. */
static __attribute__((noinline)) enum wire_kind
parse_ip4_other(const struct frame *f, wire_be16 frag, wire_be16 id, struct wire_view *v)
{
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len;

	/* 16. RFC 791 3.1 "Protocol". */
	if (v->proto != WIRE_PROTO_UDP && v->proto != WIRE_PROTO_ICMP &&
	    v->proto != WIRE_PROTO_IGMP)
		return refuse_told(v, WEIR_DROP_IP_PROTO);
	/* RFC 791 3.2: of a datagram in pieces the rest is looked at when it is whole. */
	if ((frag & WIRE_BE16(WIRE_IP4_FRAG_MASK)) != 0) {
		v->frag_more = (frag & WIRE_BE16(WIRE_IP4_MF)) != 0;
		v->frag_off = (uint16_t)((WIRE_BE16(frag) & WIRE_IP4_OFFSET) * 8);
		v->frag_id = id;
		return v->kind = WIRE_FRAG;
	}
	if (v->proto == WIRE_PROTO_IGMP)
		return parse_control(f, off, v->l3_payload, WIRE_IGMP, WEIR_DROP_MEMBER_BAD, v);
	return parse_control(f, off, v->l3_payload, WIRE_ICMP, WEIR_DROP_ICMP_SHORT, v);
}

/* RFC 4541 2.1.1, RFC 3376 4.2.13: who has no address asks and tells of groups from 0.0.0.0; never in pieces. */
static bool
igmp_from_nobody(const uint8_t *ip)
{
	return load32(ip + offsetof(struct wire_ip4, src)) == 0 &&
	       ip[offsetof(struct wire_ip4, proto)] == WIRE_PROTO_IGMP &&
	       (load16(ip + offsetof(struct wire_ip4, frag)) & WIRE_BE16(WIRE_IP4_FRAG_MASK)) == 0;
}

/* Checks 10 to 20. hdr_len is 20 as a constant on the straight line, else what IHL says. */
static inline __attribute__((always_inline)) enum wire_kind
parse_ip4_rest(const struct frame *f, const struct wire_parse_opt *opt, uint32_t hdr_len,
	       struct wire_view *v)
{
	const uint8_t *ip = f->p + WIRE_ETH_LEN;
	bool alert = false;
	uint32_t total_len;
	wire_be32 src, dst;
	wire_be16 frag;

	/* 10. RFC 1812 5.2.2 (5): header <= total length; RFC 894: padding may follow. */
	total_len = WIRE_BE16(load16(ip + offsetof(struct wire_ip4, total_len)));
	if (unlikely(total_len < hdr_len || total_len > f->len - WIRE_ETH_LEN))
		return refuse(v, WEIR_DROP_IP_LENGTH);
	/* 11. RFC 1122 3.2.1.2: header checksum. */
	if (!opt->ip_csum_good && unlikely(!ip4_csum_ok(ip, hdr_len)))
		return refuse(v, WEIR_DROP_IP_CSUM);
	/* 12. RFC 1122 3.2.1.8: options well-formed; RFC 7126 4.3, 4.4: no source routes. */
	if (hdr_len > WIRE_IP4_MIN && !ip4_options_ok(ip + WIRE_IP4_MIN, ip + hdr_len, &alert))
		return refuse(v, WEIR_DROP_IP_OPTION);
	/* 14. RFC 1122 3.2.1.3: a source that can exist. */
	src = load32(ip + offsetof(struct wire_ip4, src));
	if (unlikely(!ip4_src_ok(src)) && !(opt->loopback && (WIRE_BE32(src) >> 24) == 127) &&
	    !igmp_from_nobody(ip))
		return refuse(v, WEIR_DROP_IP_SRC);
	/* 15. RFC 1122 3.2.1.3: a destination that can exist. */
	dst = load32(ip + offsetof(struct wire_ip4, dst));
	if (unlikely(!ip4_dst_ok(dst)) && !(opt->loopback && (WIRE_BE32(dst) >> 24) == 127))
		return refuse(v, WEIR_DROP_IP_DST);

	memset(v, 0, sizeof(*v));
	v->family = 4;
	v->l2_len = WIRE_ETH_LEN;
	v->l3_len = (uint16_t)hdr_len;
	v->eth_group = f->eth_group;
	v->proto = ip[offsetof(struct wire_ip4, proto)];
	v->hop_limit = ip[offsetof(struct wire_ip4, ttl)];
	v->traffic = ip[offsetof(struct wire_ip4, tos)];
	v->router_alert = alert;
	v->l3_payload = total_len - hdr_len;
	v->src4 = src;
	v->dst4 = dst;
	/* 13, 16: whole, and UDP. */
	frag = load16(ip + offsetof(struct wire_ip4, frag));
	if (unlikely((frag & WIRE_BE16(WIRE_IP4_FRAG_MASK)) != 0 || v->proto != WIRE_PROTO_UDP))
		return parse_ip4_other(f, frag, load16(ip + offsetof(struct wire_ip4, id)), v);
	return parse_udp(f, WIRE_ETH_LEN + hdr_len, total_len - hdr_len, v);
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

/* 6. IEEE 802.1Q 9.3: a whole tag, and the EtherType behind it. */
static enum wire_kind
parse_vlan(const struct frame *f, struct wire_view *v)
{
	if (f->len < WIRE_ETH_LEN + WIRE_VLAN_LEN)
		return refuse(v, WEIR_DROP_ETH_VLAN);
	if (f->avail < WIRE_ETH_LEN + WIRE_VLAN_LEN)
		return want(v, WIRE_ETH_LEN + WIRE_VLAN_LEN);
	memset(v, 0, sizeof(*v));
	v->l2_len = WIRE_ETH_LEN;
	v->eth_group = f->eth_group;
	return v->kind = WIRE_VLAN;
}

/* ---- IPv6 ---- */

/* An IPv6 header is refused, and its sender is told: code of the parameter problem, offset in the packet. */
static __attribute__((cold, noinline)) enum wire_kind
refuse_param(struct wire_view *v, enum weir_drop reason, unsigned int code, uint32_t pointer)
{
	v->param = (uint8_t)(code + 1);
	v->pointer = (uint16_t)pointer;
	return refuse_told(v, reason);
}

/* RFC 4443 3.4. */
enum { PARAM_HEADER = 0, PARAM_NEXT = 1, PARAM_OPTION = 2 };

/*
 * A source that can exist. RFC 4291 2.7: no group; 2.5.3: ::1 stays within a host; no IPv4 address in disguise
 * (2.5.5), which a listener of both families would take for one. The unspecified one is looked at later.
 */
static inline bool
ip6_src_ok(const uint8_t *a, bool loopback)
{
	const uint64_t hi = wire_load64(a), lo = wire_load64(a + 8);

	if (unlikely(a[0] == 0xff))
		return false;
	if (likely(hi != 0))
		return true;
	return (lo & WIRE_BE64(UINT64_MAX << 32)) != WIRE_BE64(UINT64_C(0xffff) << 32) &&
	       (loopback || lo != WIRE_BE64(1));
}

/* RFC 4291 2.5.2, 2.5.3, and 2.7 with erratum 3480: what never is a destination on a wire. */
static inline bool
ip6_dst_ok(const uint8_t *a, bool loopback)
{
	const uint64_t hi = wire_load64(a), lo = wire_load64(a + 8);

	if (unlikely(a[0] == 0xff)) /* scopes 0: reserved, 1: within a node */
		return (a[1] & 0xf) > 1 || (loopback && (a[1] & 0xf) == 1);
	if (likely(hi != 0))
		return true;
	return lo != 0 && (lo & WIRE_BE64(UINT64_MAX << 32)) != WIRE_BE64(UINT64_C(0xffff) << 32) &&
	       (loopback || lo != WIRE_BE64(1));
}

/* Of one header of options (RFC 8504 5.3), as Linux bounds them. */
#define EXT6_OPTIONS 8
#define EXT6_PADDING 7 /* bytes in a row */
#define EXT6_HEADERS 8

/*
 * RFC 8200 4.2: the options of a hop-by-hop or destination options header, from at to end (in the frame). True:
 * they may be passed over. False: the verdict is in *v.
 */
static __attribute__((noinline)) bool
ip6_options_ok(const struct frame *f, uint32_t at, uint32_t end, bool hop_by_hop, bool to_group,
	       struct wire_view *v)
{
	enum { PAD1 = 0, PADN = 1, ALERT = 5, JUMBO = 0xc2 };
	unsigned int n = 0, padding = 0;

	while (at < end) {
		const uint8_t *o = f->p + at;
		uint32_t len = 1;

		if (*o != PAD1) {
			if (end - at < 2 || o[1] > end - at - 2)
				return refuse(v, WEIR_DROP_IP6_EXT), false;
			len = 2u + o[1];
		}
		if (*o == PAD1 || *o == PADN) {
			padding += len;
			if (padding > EXT6_PADDING)
				return refuse(v, WEIR_DROP_IP6_EXT), false;
			for (uint32_t i = 2; i < len; i++) /* RFC 4942 2.1.9.5 */
				if (o[i] != 0)
					return refuse(v, WEIR_DROP_IP6_EXT), false;
			at += len;
			continue;
		}
		padding = 0;
		if (++n > EXT6_OPTIONS)
			return refuse(v, WEIR_DROP_IP6_EXT), false;
		if (*o == ALERT && hop_by_hop) {
			if (o[1] != 2) /* RFC 2711 2.1 */
				return refuse(v, WEIR_DROP_IP6_EXT), false;
			v->router_alert = true;
		} else if (*o >> 6 != 0) { /* unknown, and not to be passed over */
			const enum weir_drop why =
				*o == JUMBO ? WEIR_DROP_IP6_JUMBO : WEIR_DROP_IP6_OPTION;

			if (*o >> 6 == 1 || (*o >> 6 == 3 && to_group))
				refuse(v, why);
			else
				refuse_param(v, why, PARAM_OPTION, at - WIRE_ETH_LEN);
			return false;
		}
		at += len;
	}
	return true;
}

/* RFC 4291 2.5.2: who has no address yet only asks for one, or for neighbours and groups. */
static bool
from_nobody_ok(const struct frame *f, const struct wire_view *v)
{
	const uint8_t *icmp = f->p + v->l2_len + v->l3_len;

	if (v->kind != WIRE_ICMP6)
		return v->kind != WIRE_UDP && v->kind != WIRE_FRAG;
	return *icmp == WIRE_ICMP6_RS || *icmp == WIRE_ICMP6_NS || *icmp == WIRE_ICMP6_MLD_REPORT ||
	       *icmp == WIRE_ICMP6_MLD_DONE || *icmp == WIRE_ICMP6_MLD2_REPORT;
}

/*
 * Checks 13 to 17: the chain of headers up to the upper layer, bounded in bytes and in number; *v is that of the
 * IPv6 header. COLD beside UDP right behind it.
 */
static __attribute__((noinline)) enum wire_kind
parse_ip6_chain(const struct frame *f, struct wire_view *v)
{
	const bool to_group = f->p[WIRE_ETH_LEN + offsetof(struct wire_ip6, dst)] == 0xff;
	const uint32_t end = WIRE_ETH_LEN + WIRE_IP6_LEN + v->l3_payload;
	const uint32_t first = WIRE_ETH_LEN + WIRE_IP6_LEN;
	uint32_t named = WIRE_ETH_LEN + (uint32_t)offsetof(struct wire_ip6, next);
	uint32_t at = first;

	/* RFC 2675 3: no length, for the true one is in the options. */
	if (v->l3_payload == 0 && v->proto == WIRE_PROTO_HOPOPTS)
		return refuse_param(v, WEIR_DROP_IP6_JUMBO, PARAM_HEADER,
				    offsetof(struct wire_ip6, payload_len));
	for (unsigned int n = 0;; n++) {
		const uint8_t next = f->p[named];
		const uint8_t *h = f->p + at;
		uint32_t len;

		v->proto = next;
		v->l3_len = (uint16_t)(at - WIRE_ETH_LEN);
		v->l3_payload = end - at;
		switch (next) {
		case WIRE_PROTO_UDP:
			return parse_udp(f, at, end - at, v);
		case WIRE_PROTO_ICMP6:
			return parse_control(f, at, end - at, WIRE_ICMP6, WEIR_DROP_ICMP_SHORT, v);
		case WIRE_PROTO_NONE: /* RFC 8200 4.7: nothing follows */
			return refuse(v, WEIR_DROP_IP_PROTO);
		case WIRE_PROTO_HOPOPTS:
			/* RFC 8200 4.1: right behind the IPv6 header, else as any unknown one. */
			if (n != 0)
				return refuse_param(v, WEIR_DROP_IP6_EXT, PARAM_NEXT,
						    named - WIRE_ETH_LEN);
			break;
		case WIRE_PROTO_ROUTING:
		case WIRE_PROTO_FRAGMENT:
		case WIRE_PROTO_DSTOPTS:
			break;
		default:
			return refuse_param(v, WEIR_DROP_IP_PROTO, PARAM_NEXT,
					    named - WIRE_ETH_LEN);
		}
		/* 13. RFC 8504 5.3: within bounds; RFC 8200 4: within the packet. */
		if (n == EXT6_HEADERS || end - at < 8 || at + 8 - first > WIRE_EXT6_MAX)
			return refuse(v, WEIR_DROP_IP6_EXT);
		if (f->avail < at + 8)
			return want(v, at + 8);
		len = next == WIRE_PROTO_FRAGMENT ? 8 : 8u + 8u * h[1];
		if (len > end - at || at + len - first > WIRE_EXT6_MAX)
			return refuse(v, WEIR_DROP_IP6_EXT);
		if (next == WIRE_PROTO_FRAGMENT) {
			const uint16_t off = WIRE_BE16(load16(h + 2));

			v->proto = h[0];
			v->l3_len = (uint16_t)(at + 8 - WIRE_ETH_LEN);
			v->l3_payload = end - at - 8;
			v->frag_more = off & 1;
			v->frag_off = off & 0xfff8;
			v->frag_hdr = (uint16_t)at;
			v->frag_prev = (uint16_t)named;
			v->frag_id = load32(h + 4);
			return v->kind = WIRE_FRAG;
		}
		if (f->avail < at + len)
			return want(v, at + len);
		if (next != WIRE_PROTO_ROUTING) {
			if (!ip6_options_ok(f, at + 2, at + len, next == WIRE_PROTO_HOPOPTS,
					    to_group, v))
				return WIRE_DROP;
		} else if (h[3] != 0) {
			/* RFC 8200 4.4: a type that is not known, to be followed further. */
			return refuse_param(v, WEIR_DROP_IP6_ROUTING, PARAM_HEADER,
					    at + 2 - WIRE_ETH_LEN);
		}
		named = at;
		at += len;
	}
}

static enum wire_kind
parse_ip6(const struct frame *f, const struct wire_parse_opt *opt, struct wire_view *v)
{
	const uint8_t *ip = f->p + WIRE_ETH_LEN;
	uint64_t src[2];
	uint32_t len;

	/* 6. RFC 8200 3: a whole header. */
	if (unlikely(f->len < WIRE_ETH_LEN + WIRE_IP6_LEN))
		return refuse(v, WEIR_DROP_IP_SHORT);
	if (unlikely(f->avail < WIRE_ETH_LEN + WIRE_IP6_LEN))
		return want(v, WIRE_ETH_LEN + WIRE_IP6_LEN);
	/* 7. RFC 8200 3 "Version". */
	if (unlikely(ip[0] >> 4 != 6))
		return refuse(v, WEIR_DROP_IP_VERSION);
	/* 10. RFC 8200 3 "Payload Length": not beyond the frame; RFC 2464 3: padding may follow. */
	len = WIRE_BE16(load16(ip + offsetof(struct wire_ip6, payload_len)));
	if (unlikely(len > f->len - WIRE_ETH_LEN - WIRE_IP6_LEN))
		return refuse(v, WEIR_DROP_IP_LENGTH);
	/* 14, 15. RFC 4291 2: addresses that can exist. */
	memcpy(src, ip + offsetof(struct wire_ip6, src), sizeof(src));
	if (unlikely(!ip6_src_ok((const uint8_t *)src, opt->loopback)))
		return refuse(v, WEIR_DROP_IP_SRC);
	if (unlikely(!ip6_dst_ok(ip + offsetof(struct wire_ip6, dst), opt->loopback)))
		return refuse(v, WEIR_DROP_IP_DST);
	memset(v, 0, sizeof(*v));
	v->family = 6;
	v->l2_len = WIRE_ETH_LEN;
	v->l3_len = WIRE_IP6_LEN;
	v->eth_group = f->eth_group;
	v->proto = ip[offsetof(struct wire_ip6, next)];
	v->hop_limit = ip[offsetof(struct wire_ip6, hop_limit)];
	v->traffic = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
	v->l3_payload = len;
	if (likely(v->proto == WIRE_PROTO_UDP))
		(void)parse_udp(f, WIRE_ETH_LEN + WIRE_IP6_LEN, len, v);
	else
		(void)parse_ip6_chain(f, v);
	/* 14. */
	if (unlikely((src[0] | src[1]) == 0) && v->kind < WIRE_DROP && !from_nobody_ok(f, v))
		return refuse(v, WEIR_DROP_IP_SRC);
	return (enum wire_kind)v->kind;
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
	if (unlikely(f->avail < WIRE_ETH_LEN))
		return want(v, WIRE_ETH_LEN);
	/* 2. RFC 1122 2.3.3: not longer than the port's MTU allows; a tag is no part of that. */
	if (unlikely(opt->max_frame != 0 && f->len > opt->max_frame) &&
	    (load16(f->p + offsetof(struct wire_eth, type)) != WIRE_BE16(WIRE_ETH_VLAN) ||
	     f->len > opt->max_frame + WIRE_VLAN_LEN))
		return refuse(v, WEIR_DROP_ETH_OVERSIZE);
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
	case WIRE_BE16(WIRE_ETH_IP6):
		return parse_ip6(f, opt, v);
	case WIRE_BE16(WIRE_ETH_VLAN):
		return parse_vlan(f, v);
	case WIRE_BE16(WIRE_ETH_QINQ):
		return refuse(v, WEIR_DROP_ETH_QINQ);
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
