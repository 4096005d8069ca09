/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checked parse, rule by rule and against a dumb reference parser; the sums against the
 * checksum by the book. Every frame that is parsed here ends at a guard page, so that a read beyond
 * the given bytes ends the program.
 */
#include <arpa/inet.h>

#include "ut.h"

#include "wire.h"

#include "ut_guard.h"
#include "ut_pkt.h"

#define IP_AT WIRE_ETH_LEN
#define L4_AT (WIRE_ETH_LEN + WIRE_IP4_MIN) /* without options */

static const struct wire_parse_opt our_opt = {.mac = UT_OUR_MAC};

/* Parse a copy of the first avail bytes of a frame of frame_len bytes; it ends at a guard page. */
static struct wire_view
parse_guarded(const uint8_t *bytes, uint32_t avail, uint32_t frame_len,
	      const struct wire_parse_opt *opt)
{
	uint8_t *frame = ut_guard_frame(bytes, avail);
	struct wire_view v;

	memset(&v, 0xee, sizeof(v));
	wire_parse(frame, avail, frame_len, opt, &v);
	ut_guard_free(frame, avail);
	return v;
}

static const char *
verdict(const struct wire_view *v)
{
	static const char *const kinds[] = {"UDP",  "ARP",  "ICMP", "ICMP6", "IGMP",
					    "FRAG", "VLAN", "DROP", "MORE"};
	static const char *const reasons[] = {
#define NAME(sym, name, dir, text) name,
		WEIR_DROP_LIST(NAME)
#undef NAME
	};

	if (v->kind == WIRE_DROP && v->reason < UT_N(reasons))
		return reasons[v->reason];
	return v->kind < UT_N(kinds) ? kinds[v->kind] : "no verdict";
}

/* Bytes up to the end of the headers of an accepted frame. */
static uint32_t
header_bytes(const struct wire_view *v)
{
	switch (v->kind) {
	case WIRE_UDP:
	case WIRE_ICMP:
	case WIRE_ICMP6:
	case WIRE_IGMP:
		return v->l2_len + v->l3_len + 8u;
	case WIRE_FRAG:
		return (uint32_t)v->l2_len + v->l3_len;
	case WIRE_ARP:
		return v->l2_len + 28u;
	case WIRE_VLAN:
		return v->l2_len + 4u;
	default:
		return v->param != 0 ? 54 : 0;
	}
}

/*
 * For every number of contiguous bytes, the verdict is the one of the whole frame or WIRE_MORE with
 * a sensible wish; granting wishes comes to an end, and WIRE_HDR_MAX bytes always suffice. A frame
 * is accepted only when its headers are there.
 */
static void
check_every_avail(const uint8_t *bytes, uint32_t len, const struct wire_parse_opt *opt,
		  const char *what)
{
	const struct wire_view whole = parse_guarded(bytes, len, len, opt);
	const uint32_t enough = len < WIRE_HDR_MAX ? len : WIRE_HDR_MAX;
	struct wire_view want_more;
	struct wire_view v;
	bool decided = false;
	uint32_t avail;

	ut_check(whole.kind != WIRE_MORE, "%s: all %u bytes are not enough", what, len);
	for (avail = 0; avail <= len; avail++) {
		v = parse_guarded(bytes, avail, len, opt);
		if (v.kind != WIRE_MORE) {
			ut_check_bytes(&v, &whole, sizeof(v),
				       "%s: %s with %u of %u bytes, %s with all", what, verdict(&v),
				       avail, len, verdict(&whole));
			ut_check(avail >= header_bytes(&v), "%s: %s with %u bytes", what,
				 verdict(&v), avail);
			decided = true;
			continue;
		}
		ut_check(!decided, "%s: %u bytes do not decide, fewer did", what, avail);
		ut_check(avail < enough, "%s: %u bytes of %u must decide", what, avail, len);
		ut_check(v.need > avail && v.need <= len && v.need <= WIRE_HDR_MAX,
			 "%s: has %u of %u bytes, wants %u", what, avail, len, v.need);
		memset(&want_more, 0, sizeof(want_more));
		want_more.kind = WIRE_MORE;
		want_more.need = v.need;
		ut_check_bytes(&v, &want_more, sizeof(v), "%s: MORE with other fields set", what);
	}
}

/* ---- rule by rule ---- */

enum base { UDP, UDP_PADDED, ICMP, ARP };

static size_t
build_base(enum base base, uint8_t *frame, size_t size)
{
	struct ut_pkt p;

	switch (base) {
	case UDP:
		p = ut_pkt_udp();
		break;
	case UDP_PADDED: /* an empty datagram in a minimal frame */
		p = ut_pkt_udp();
		p.payload_len = 0;
		p.trailer_len = 18;
		break;
	case ICMP:
		p = ut_pkt_icmp_echo();
		break;
	default:
		p = ut_pkt_arp_request();
		break;
	}
	return ut_pkt_bytes(&p, frame, size);
}

/* Offset and width of a field in the frame, then the value that a row writes there. */
#define FIELD(at, type, field)                                                                     \
	(at) + offsetof(struct type, field), sizeof(((struct type *)0)->field)
#define ETH(field)  FIELD(0, wire_eth, field)
#define IP4(field)  FIELD(IP_AT, wire_ip4, field)
#define UDPH(field) FIELD(L4_AT, wire_udp, field)
#define ARPH(field) FIELD(IP_AT, wire_arp, field)

struct patch {
	size_t at, width;
	uint64_t value;
};

#define ALL UINT32_MAX /* the frame is not cut */

struct row {
	const char *breaks; /* the field, and the value that it gets */
	const char *rule;
	enum base base;
	struct patch patch[3];
	uint32_t cut; /* frame length, or ALL; padding bytes follow when beyond */
	uint8_t kind;
	uint8_t reason;
};

#define OK_UDP       WIRE_UDP, 0
#define OK_ICMP      WIRE_ICMP, 0
#define OK_ARP       WIRE_ARP, 0
#define OK_FRAG      WIRE_FRAG, 0
#define DROP(reason) WIRE_DROP, WEIR_DROP_##reason

/* clang-format off */
static const struct row rows[] = {
	/* Nothing broken. */
	{"nothing", "RFC 768", UDP, {{0}}, ALL, OK_UDP},
	{"nothing, padded", "RFC 894", UDP_PADDED, {{0}}, ALL, OK_UDP},
	{"nothing, ICMP", "RFC 792", ICMP, {{0}}, ALL, OK_ICMP},
	{"nothing, ARP", "RFC 826", ARP, {{0}}, ALL, OK_ARP},

	/* 1. */
	{"frame length 0", "RFC 894", UDP, {{0}}, 0, DROP(ETH_SHORT)},
	{"frame length 13", "RFC 894", UDP, {{0}}, 13, DROP(ETH_SHORT)},
	{"frame length 14", "RFC 894", UDP, {{0}}, 14, DROP(IP_SHORT)},

	/* 3. */
	{"source MAC group", "IEEE 802.3 3.2.3",
	 UDP, {{ETH(src), 0x030000000002}}, ALL, DROP(ETH_SRC)},
	{"source MAC broadcast", "IEEE 802.3 3.2.3",
	 UDP, {{ETH(src), 0xffffffffffff}}, ALL, DROP(ETH_SRC)},
	{"source MAC 0", "IEEE 802.3 3.2.3", UDP, {{ETH(src), 0}}, ALL, DROP(ETH_SRC)},
	{"source MAC 0, ARP", "IEEE 802.3 3.2.3", ARP, {{ETH(src), 0}}, ALL, DROP(ETH_SRC)},
	{"source MAC all but 0, low", "IEEE 802.3 3.2.3", UDP, {{ETH(src), 1}}, ALL, OK_UDP},
	{"source MAC all but 0, middle", "IEEE 802.3 3.2.3",
	 UDP, {{ETH(src), 0x10000}}, ALL, OK_UDP},
	{"source MAC all but 0, high", "IEEE 802.3 3.2.3",
	 UDP, {{ETH(src), 0x020000000000}}, ALL, OK_UDP},

	/* 4. */
	{"destination MAC, last byte", "IEEE 802.3 4.1.2",
	 UDP, {{ETH(dst), 0x020000000003}}, ALL, DROP(ETH_DST)},
	{"destination MAC, fifth byte", "IEEE 802.3 4.1.2",
	 UDP, {{ETH(dst), 0x020000000101}}, ALL, DROP(ETH_DST)},
	{"destination MAC, fourth byte", "IEEE 802.3 4.1.2",
	 UDP, {{ETH(dst), 0x020000010001}}, ALL, DROP(ETH_DST)},
	{"destination MAC, first byte", "IEEE 802.3 4.1.2",
	 UDP, {{ETH(dst), 0x060000000001}}, ALL, DROP(ETH_DST)},
	{"destination MAC 0", "IEEE 802.3 4.1.2", UDP, {{ETH(dst), 0}}, ALL, DROP(ETH_DST)},
	{"destination MAC fe:ff:ff:ff:ff:ff", "IEEE 802.3 3.2.3",
	 UDP, {{ETH(dst), 0xfeffffffffff}}, ALL, DROP(ETH_DST)},
	{"destination MAC other, ARP", "IEEE 802.3 4.1.2",
	 ARP, {{ETH(dst), 0x020000000003}}, ALL, DROP(ETH_DST)},

	/* 5. */
	{"EtherType below", "RFC 894", UDP, {{ETH(type), 0x07ff}}, ALL, DROP(ETH_TYPE)},
	{"EtherType above", "RFC 894", UDP, {{ETH(type), 0x0801}}, ALL, DROP(ETH_TYPE)},
	{"EtherType bytes swapped", "RFC 894", UDP, {{ETH(type), 0x0008}}, ALL, DROP(ETH_TYPE)},
	{"EtherType bytes swapped, ARP", "RFC 826",
	 ARP, {{ETH(type), 0x0608}}, ALL, DROP(ETH_TYPE)},
	{"EtherType a length", "RFC 1122 2.3.3", UDP, {{ETH(type), 46}}, ALL, DROP(ETH_TYPE)},
	{"EtherType IPv6", "RFC 2464 3", UDP, {{ETH(type), 0x86dd}}, ALL, DROP(IP_VERSION)},
	{"EtherType VLAN", "IEEE 802.1Q 9.6", UDP, {{ETH(type), 0x8100}}, ALL, WIRE_VLAN, 0},
	{"EtherType VLAN, 18 bytes", "IEEE 802.1Q 9.6",
	 UDP, {{ETH(type), 0x8100}}, 18, WIRE_VLAN, 0},
	{"EtherType VLAN, 17 bytes", "IEEE 802.1Q 9.6",
	 UDP, {{ETH(type), 0x8100}}, 17, DROP(ETH_VLAN)},
	{"EtherType QinQ", "IEEE 802.1Q 9.5", UDP, {{ETH(type), 0x88a8}}, ALL, DROP(ETH_QINQ)},

	/* ARP 6, 7. */
	{"ARP frame length 41", "RFC 826", ARP, {{0}}, 41, DROP(ARP_BAD)},
	{"ARP frame length 42", "RFC 826",               ARP, {{0}}, 42, OK_ARP},
	{"ARP frame length 43", "RFC 826",               ARP, {{0}}, 43, OK_ARP},
	{"ARP hardware type 0", "RFC 826", ARP, {{ARPH(htype), 0}}, ALL, DROP(ARP_BAD)},
	{"ARP hardware type 6", "RFC 826", ARP, {{ARPH(htype), 6}}, ALL, DROP(ARP_BAD)},
	{"ARP protocol IPv6", "RFC 826", ARP, {{ARPH(ptype), 0x86dd}}, ALL, DROP(ARP_BAD)},
	{"ARP hardware length 5", "RFC 826", ARP, {{ARPH(hlen), 5}}, ALL, DROP(ARP_BAD)},
	{"ARP hardware length 7", "RFC 826", ARP, {{ARPH(hlen), 7}}, ALL, DROP(ARP_BAD)},
	{"ARP protocol length 3", "RFC 826", ARP, {{ARPH(plen), 3}}, ALL, DROP(ARP_BAD)},
	{"ARP protocol length 5", "RFC 826", ARP, {{ARPH(plen), 5}}, ALL, DROP(ARP_BAD)},
	{"ARP operation 9: structure only", "RFC 826", ARP, {{ARPH(op), 9}}, ALL, OK_ARP},

	/* 6. */
	{"frame length 33", "RFC 1812 5.2.2 (1)", UDP, {{0}}, 33, DROP(IP_SHORT)},
	{"frame length 34", "RFC 791 3.1", UDP, {{0}}, 34, DROP(IP_LENGTH)},

	/* 7. */
	{"version 3", "RFC 1122 3.2.1.1", UDP, {{IP4(ver_ihl), 0x35}}, ALL, DROP(IP_VERSION)},
	{"version 5", "RFC 1122 3.2.1.1", UDP, {{IP4(ver_ihl), 0x55}}, ALL, DROP(IP_VERSION)},
	{"version 6", "RFC 1122 3.2.1.1", UDP, {{IP4(ver_ihl), 0x65}}, ALL, DROP(IP_VERSION)},
	{"version 0", "RFC 1122 3.2.1.1", UDP, {{IP4(ver_ihl), 0x05}}, ALL, DROP(IP_VERSION)},

	/* 8, 9: the version stays 4. */
	{"IHL 0", "RFC 1812 5.2.2 (4)", UDP, {{IP4(ver_ihl), 0x40}}, ALL, DROP(IP_HDR_LEN)},
	{"IHL 4", "RFC 1812 5.2.2 (4)", UDP, {{IP4(ver_ihl), 0x44}}, ALL, DROP(IP_HDR_LEN)},
	{"IHL 15 in a 73-byte frame", "RFC 791 3.1",
	 UDP, {{IP4(ver_ihl), 0x4f}}, 73, DROP(IP_HDR_LEN)},
	{"IHL 15 in a 74-byte frame", "RFC 791 3.1",
	 UDP, {{IP4(ver_ihl), 0x4f}}, 74, DROP(IP_LENGTH)},
	{"IHL 6 in a 37-byte frame", "RFC 791 3.1",
	 UDP, {{IP4(ver_ihl), 0x46}}, 37, DROP(IP_HDR_LEN)},
	{"IHL 6 in a 38-byte frame", "RFC 791 3.1",
	 UDP, {{IP4(ver_ihl), 0x46}}, 38, DROP(IP_LENGTH)},

	/* 10. */
	{"total length 0", "RFC 791 3.1", UDP, {{IP4(total_len), 0}}, ALL, DROP(IP_LENGTH)},
	{"total length 19", "RFC 1812 5.2.2 (5)",
	 UDP, {{IP4(total_len), 19}}, ALL, DROP(IP_LENGTH)},
	{"total length 20", "RFC 1812 5.2.2 (5)",
	 UDP, {{IP4(total_len), 20}}, ALL, DROP(UDP_SHORT)},
	{"total length 21", "RFC 1812 5.2.2 (5)",
	 UDP, {{IP4(total_len), 21}}, ALL, DROP(UDP_SHORT)},
	{"total length below the options", "RFC 1812 5.2.2 (5)",
	 UDP, {{IP4(ver_ihl), 0x46}, {IP4(total_len), 23}}, ALL, DROP(IP_LENGTH)},
	{"total length, 1 byte of padding", "RFC 894",
	 UDP, {{IP4(total_len), 45}, {UDPH(len), 25}}, ALL, OK_UDP},
	{"total length of the frame", "RFC 791 3.1", UDP, {{IP4(total_len), 46}}, ALL, OK_UDP},
	{"total length beyond the frame", "RFC 791 3.1",
	 UDP, {{IP4(total_len), 47}}, ALL, DROP(IP_LENGTH)},
	{"total length 65535", "RFC 791 3.1", UDP, {{IP4(total_len), 65535}}, ALL, DROP(IP_LENGTH)},

	/* 13. */
	{"don't fragment", "RFC 791 3.1", UDP, {{IP4(frag), 0x4000}}, ALL, OK_UDP},
	{"no flags", "RFC 791 3.1", UDP, {{IP4(frag), 0}}, ALL, OK_UDP},
	{"reserved flag", "RFC 791 3.1", UDP, {{IP4(frag), 0x8000}}, ALL, OK_UDP},
	{"first fragment", "RFC 791 3.2", UDP, {{IP4(frag), 0x2000}}, ALL, OK_FRAG},
	{"middle fragment", "RFC 791 3.2", UDP, {{IP4(frag), 0x2001}}, ALL, OK_FRAG},
	{"last fragment, offset 1", "RFC 791 3.2", UDP, {{IP4(frag), 0x0001}}, ALL, OK_FRAG},
	{"last fragment, offset 256", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x0100}}, ALL, OK_FRAG},
	{"last fragment, offset 8191", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x1fff}}, ALL, OK_FRAG},
	{"last fragment, don't fragment", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x4001}}, ALL, OK_FRAG},
	{"last fragment of ICMP", "RFC 791 3.2", ICMP, {{IP4(frag), 0x0001}}, ALL, OK_FRAG},
	{"last fragment of TCP", "RFC 791 3.2",
	 UDP, {{IP4(frag), 1}, {IP4(proto), 6}}, ALL, DROP(IP_PROTO)},

	/* 14. */
	{"source 0.0.0.0", "RFC 1122 3.2.1.3 (a)", UDP, {{IP4(src), 0}}, ALL, DROP(IP_SRC)},
	{"IGMP from 0.0.0.0", "RFC 4541 2.1.1 (1)", UDP, {{IP4(src), 0}, {IP4(proto), 2}}, ALL, WIRE_IGMP, 0},
	{"a piece of IGMP from 0.0.0.0", "RFC 1122 3.2.1.3 (a)",
	 UDP, {{IP4(src), 0}, {IP4(proto), 2}, {IP4(frag), 0x2000}}, ALL, DROP(IP_SRC)},
	{"IGMP from 0.0.0.1", "RFC 1122 3.2.1.3 (b)", UDP, {{IP4(src), 1}, {IP4(proto), 2}}, ALL, DROP(IP_SRC)},
	{"source 0.0.0.1", "RFC 1122 3.2.1.3 (b)", UDP, {{IP4(src), 1}}, ALL, DROP(IP_SRC)},
	{"source 0.255.255.255", "RFC 1122 3.2.1.3 (b)",
	 UDP, {{IP4(src), 0x00ffffff}}, ALL, DROP(IP_SRC)},
	{"source 1.0.0.0", "RFC 1122 3.2.1.3", UDP, {{IP4(src), 0x01000000}}, ALL, OK_UDP},
	{"source 126.255.255.255", "RFC 1122 3.2.1.3", UDP, {{IP4(src), 0x7effffff}}, ALL, OK_UDP},
	{"source 127.0.0.0", "RFC 1122 3.2.1.3 (g)",
	 UDP, {{IP4(src), 0x7f000000}}, ALL, DROP(IP_SRC)},
	{"source 127.0.0.1", "RFC 1122 3.2.1.3 (g)",
	 UDP, {{IP4(src), 0x7f000001}}, ALL, DROP(IP_SRC)},
	{"source 127.255.255.255", "RFC 1122 3.2.1.3 (g)",
	 UDP, {{IP4(src), 0x7fffffff}}, ALL, DROP(IP_SRC)},
	{"source 128.0.0.0", "RFC 1122 3.2.1.3", UDP, {{IP4(src), 0x80000000}}, ALL, OK_UDP},
	{"source 223.255.255.255", "RFC 1122 3.2.1.3", UDP, {{IP4(src), 0xdfffffff}}, ALL, OK_UDP},
	{"source 224.0.0.0", "RFC 1112 4", UDP, {{IP4(src), 0xe0000000}}, ALL, DROP(IP_SRC)},
	{"source 239.255.255.255", "RFC 1112 4", UDP, {{IP4(src), 0xefffffff}}, ALL, DROP(IP_SRC)},
	{"source 240.0.0.0", "RFC 1112 4", UDP, {{IP4(src), 0xf0000000}}, ALL, DROP(IP_SRC)},
	{"source 255.255.255.255", "RFC 1122 3.2.1.3 (c)",
	 UDP, {{IP4(src), 0xffffffff}}, ALL, DROP(IP_SRC)},
	{"source 1.0.0.127", "RFC 1122 3.2.1.3", UDP, {{IP4(src), 0x0100007f}}, ALL, OK_UDP},

	/* 15. */
	{"destination 0.0.0.0", "RFC 1122 3.2.1.3 (a)", UDP, {{IP4(dst), 0}}, ALL, DROP(IP_DST)},
	{"destination 126.255.255.255", "RFC 1122 3.2.1.3",
	 UDP, {{IP4(dst), 0x7effffff}}, ALL, OK_UDP},
	{"destination 127.0.0.0", "RFC 1122 3.2.1.3 (g)",
	 UDP, {{IP4(dst), 0x7f000000}}, ALL, DROP(IP_DST)},
	{"destination 127.255.255.255", "RFC 1122 3.2.1.3 (g)",
	 UDP, {{IP4(dst), 0x7fffffff}}, ALL, DROP(IP_DST)},
	{"destination 128.0.0.0", "RFC 1122 3.2.1.3", UDP, {{IP4(dst), 0x80000000}}, ALL, OK_UDP},
	{"destination multicast", "RFC 1112", UDP, {{IP4(dst), 0xe0000001}}, ALL, OK_UDP},
	{"destination broadcast", "RFC 1122 3.2.1.3 (c)",
	 UDP, {{IP4(dst), 0xffffffff}}, ALL, OK_UDP},

	/* 16. */
	{"protocol 0", "RFC 791 3.1", UDP, {{IP4(proto), 0}}, ALL, DROP(IP_PROTO)},
	{"protocol IGMP", "RFC 791 3.1", UDP, {{IP4(proto), 2}}, ALL, WIRE_IGMP, 0},
	{"IGMP of 7 bytes", "RFC 2236 2",
	 UDP, {{IP4(proto), 2}, {IP4(total_len), 27}}, ALL, DROP(MEMBER_BAD)},
	{"IGMP of 8 bytes", "RFC 2236 2",
	 UDP, {{IP4(proto), 2}, {IP4(total_len), 28}}, ALL, WIRE_IGMP, 0},
	{"protocol TCP", "RFC 791 3.1", UDP, {{IP4(proto), 6}}, ALL, DROP(IP_PROTO)},
	{"protocol 16", "RFC 791 3.1", UDP, {{IP4(proto), 16}}, ALL, DROP(IP_PROTO)},
	{"protocol 18", "RFC 791 3.1", UDP, {{IP4(proto), 18}}, ALL, DROP(IP_PROTO)},
	{"protocol 255", "RFC 791 3.1", UDP, {{IP4(proto), 255}}, ALL, DROP(IP_PROTO)},

	/* 17. */
	{"ICMP of 0 bytes", "RFC 792", ICMP, {{IP4(total_len), 20}}, ALL, DROP(ICMP_SHORT)},
	{"ICMP of 7 bytes", "RFC 792", ICMP, {{IP4(total_len), 27}}, ALL, DROP(ICMP_SHORT)},
	{"ICMP of 8 bytes", "RFC 792", ICMP, {{IP4(total_len), 28}}, ALL, OK_ICMP},
	{"ICMP of 9 bytes", "RFC 792", ICMP, {{IP4(total_len), 29}}, ALL, OK_ICMP},

	/* 18. */
	{"UDP of 7 bytes", "RFC 768", UDP, {{IP4(total_len), 27}}, ALL, DROP(UDP_SHORT)},
	{"UDP of 8 bytes", "RFC 768", UDP, {{IP4(total_len), 28}, {UDPH(len), 8}}, ALL, OK_UDP},
	{"UDP of 9 bytes", "RFC 768", UDP, {{IP4(total_len), 29}, {UDPH(len), 9}}, ALL, OK_UDP},

	/* 19. */
	{"UDP length 0", "RFC 768", UDP, {{UDPH(len), 0}}, ALL, DROP(UDP_LENGTH)},
	{"UDP length 7", "RFC 768", UDP, {{UDPH(len), 7}}, ALL, DROP(UDP_LENGTH)},
	{"UDP length 8, the rest is cut", "RFC 768", UDP, {{UDPH(len), 8}}, ALL, OK_UDP},
	{"UDP length 9, the rest is cut", "RFC 768", UDP, {{UDPH(len), 9}}, ALL, OK_UDP},
	{"UDP length of the payload - 1", "RFC 768", UDP, {{UDPH(len), 25}}, ALL, OK_UDP},
	{"UDP length of the payload", "RFC 768", UDP, {{UDPH(len), 26}}, ALL, OK_UDP},
	{"UDP length of the payload + 1", "RFC 768", UDP, {{UDPH(len), 27}}, ALL, DROP(UDP_LENGTH)},
	{"UDP length into the padding", "RFC 768",
	 UDP_PADDED, {{UDPH(len), 9}}, ALL, DROP(UDP_LENGTH)},
	{"UDP length 65535", "RFC 768", UDP, {{UDPH(len), 65535}}, ALL, DROP(UDP_LENGTH)},

	/* 20. */
	{"destination port 0", "RFC 6335 6", UDP, {{UDPH(dport), 0}}, ALL, DROP(UDP_PORT0)},
	{"destination port 1", "RFC 6335 6", UDP, {{UDPH(dport), 1}}, ALL, OK_UDP},
	{"destination port 256", "RFC 6335 6", UDP, {{UDPH(dport), 256}}, ALL, OK_UDP},
	{"destination port 65535", "RFC 6335 6", UDP, {{UDPH(dport), 65535}}, ALL, OK_UDP},
	{"source port 0", "RFC 768", UDP, {{UDPH(sport), 0}}, ALL, OK_UDP},
};
/* clang-format on */

static void
each_rule_names_its_reason(void **state)
{
	uint8_t frame[128];
	const struct row *row;
	const struct patch *patch;
	struct wire_view v;
	uint32_t len;
	size_t i, j, k;

	(void)state;
	for (i = 0; i < UT_N(rows); i++) {
		row = &rows[i];
		memset(frame, 0, sizeof(frame));
		len = (uint32_t)build_base(row->base, frame, sizeof(frame));
		for (j = 0; j < UT_N(row->patch); j++) {
			patch = &row->patch[j];
			for (k = 0; k < patch->width; k++)
				frame[patch->at + k] =
					(uint8_t)(patch->value >> 8 * (patch->width - 1 - k));
		}
		if (row->base != ARP)
			ut_fix_ip_csum(frame, sizeof(frame));
		if (row->cut != ALL)
			len = row->cut;
		v = parse_guarded(frame, len, len, &our_opt);
		ut_check(v.kind == row->kind && v.reason == row->reason, "%s (%s): verdict %s",
			 row->breaks, row->rule, verdict(&v));
		check_every_avail(frame, len, &our_opt, row->breaks);
	}
}

struct option_row {
	const char *what;
	uint8_t bytes[40];
	uint8_t len;
	uint8_t kind, reason;
};

static void
options_are_skipped_when_sound_and_refused_when_not(void **state)
{
	static const struct option_row option_rows[] = {
		{"no-operations", {1, 1, 1, 1}, 4, OK_UDP},
		{"end at once, then anything", {0, 131, 255, 1}, 4, OK_UDP},
		{"router alert (RFC 2113)", {148, 4, 0, 0}, 4, OK_UDP},
		{"record route", {7, 7, 4, 0, 0, 0, 0, 0}, 8, OK_UDP},
		{"timestamp", {68, 8, 5, 0, 0, 0, 0, 0}, 8, OK_UDP},
		{"unknown of length 2", {200, 2, 1, 1}, 4, OK_UDP},
		{"unknown that fills all", {200, 40}, 40, OK_UDP},
		{"40 no-operations", {[0 ... 39] = 1}, 40, OK_UDP},
		{"type without length, at the end", {1, 1, 1, 200}, 4, DROP(IP_OPTION)},
		{"length 0", {200, 0, 1, 1}, 4, DROP(IP_OPTION)},
		{"length 1", {200, 1, 1, 1}, 4, DROP(IP_OPTION)},
		{"length to the end", {200, 4, 0, 0}, 4, OK_UDP},
		{"length beyond the end by 1", {200, 5, 0, 0}, 4, DROP(IP_OPTION)},
		{"length beyond the end by 1, second", {1, 200, 4, 0}, 4, DROP(IP_OPTION)},
		{"length 255", {200, 255, 0, 0}, 4, DROP(IP_OPTION)},
		{"length beyond the end, of 40", {1, 200, 40}, 40, DROP(IP_OPTION)},
		{"loose source route", {131, 7, 4, 10, 0, 0, 9, 0}, 8, DROP(IP_OPTION)},
		{"strict source route", {137, 7, 4, 10, 0, 0, 9, 0}, 8, DROP(IP_OPTION)},
		{"source route behind others", {1, 148, 4, 0, 0, 131, 3, 4}, 8, DROP(IP_OPTION)},
		{"source route as data of another", {200, 4, 131, 137}, 4, OK_UDP},
		{"neighbours of the source routes", {130, 2, 132, 2, 136, 2, 138, 2}, 8, OK_UDP},
	};
	uint8_t frame[160];
	struct wire_view v;
	struct ut_pkt p;
	uint32_t len;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(option_rows); i++) {
		p = ut_pkt_udp();
		memcpy(p.ip_opt, option_rows[i].bytes, sizeof(p.ip_opt));
		p.ip_opt_len = option_rows[i].len;
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &our_opt);
		ut_check(v.kind == option_rows[i].kind && v.reason == option_rows[i].reason,
			 "%s (RFC 791 3.1): %s", option_rows[i].what, verdict(&v));
		if (v.kind == WIRE_UDP) {
			assert_int_equal(v.l3_len, 20 + p.ip_opt_len);
			assert_int_equal(v.l3_payload, 26);
			assert_int_equal(v.dport, WIRE_BE16(UT_OUR_PORT));
		}
		check_every_avail(frame, len, &our_opt, option_rows[i].what);
	}
}

static void
view_tells_where_everything_is(void **state)
{
	struct ut_pkt p = ut_pkt_udp();
	struct wire_view want;
	struct wire_view v;
	uint8_t frame[160];
	uint32_t len;

	(void)state;
	p.ip_opt_len = 8;
	memset(p.ip_opt, 1, 8);
	p.udp_len = 20;
	p.trailer_len = 5;
	len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, len, len, &our_opt);
	memset(&want, 0, sizeof(want));
	want.kind = WIRE_UDP;
	want.family = 4;
	want.l2_len = 14;
	want.l3_len = 28;
	want.l3_payload = 26;
	want.udp_len = 20;
	want.sport = WIRE_BE16(UT_PEER_PORT);
	want.dport = WIRE_BE16(UT_OUR_PORT);
	want.src4 = WIRE_BE32(UT_PEER_IP);
	want.dst4 = WIRE_BE32(UT_OUR_IP);
	want.proto = 17;
	want.hop_limit = 64;
	ut_check_bytes(&v, &want, sizeof(v), "UDP view");

	p = ut_pkt_icmp_echo();
	len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, len, len, &our_opt);
	want.kind = WIRE_ICMP;
	want.proto = 1;
	want.l3_len = 20;
	want.udp_len = 0;
	want.sport = 0;
	want.dport = 0;
	ut_check_bytes(&v, &want, sizeof(v), "ICMP view");

	p = ut_pkt_arp_request();
	len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, len, len, &our_opt);
	memset(&want, 0, sizeof(want));
	want.kind = WIRE_ARP;
	want.l2_len = 14;
	want.eth_group = 2;
	ut_check_bytes(&v, &want, sizeof(v), "ARP view");
}

static void
destination_mac_group_is_told(void **state)
{
	static const struct {
		const char *dst;
		uint8_t group;
	} groups[] = {
		{UT_OUR_MAC, 0},
		{UT_BROADCAST_MAC, 2},
		{"\x01\x00\x5e\x00\x00\x01", 1},
		{"\x03\x00\x00\x00\x00\x01", 1},
		{"\xff\xff\xff\xff\xff\xfe", 1},
		{"\xff\xff\xff\xff\x7f\xff", 1},
		{"\xff\xff\xff\x7f\xff\xff", 1},
		{"\x7f\xff\xff\xff\xff\xff", 1},
	};
	struct wire_view v;
	uint8_t frame[128];
	struct ut_pkt p;
	uint32_t len;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(groups); i++) {
		p = ut_pkt_udp();
		memcpy(p.eth_dst, groups[i].dst, 6);
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &our_opt);
		ut_check(v.kind == WIRE_UDP && v.eth_group == groups[i].group,
			 "row %zu: %s, group %u", i, verdict(&v), v.eth_group);
	}
}

static void
promiscuous_accepts_foreign_macs_only_when_told(void **state)
{
	struct wire_parse_opt opt = our_opt;
	struct ut_pkt p = ut_pkt_udp();
	struct wire_view v;
	uint8_t frame[128];
	uint32_t len;

	(void)state;
	p.eth_dst[5] ^= 0xff;
	len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, len, len, &opt);
	assert_int_equal(v.reason, WEIR_DROP_ETH_DST);
	opt.promiscuous_ok = true;
	v = parse_guarded(frame, len, len, &opt);
	assert_int_equal(v.kind, WIRE_UDP);
	assert_int_equal(v.eth_group, 0);
}

static void
frames_longer_than_the_limit_are_refused(void **state)
{
	struct wire_parse_opt opt = our_opt;
	static const uint32_t limits[] = {14, 60, 1514, 9018};
	static uint8_t frame[9100];
	struct ut_pkt p = ut_pkt_udp();
	struct wire_view v;
	size_t i, len;

	(void)state;
	for (i = 0; i < UT_N(limits); i++) {
		opt.max_frame = limits[i];
		for (len = limits[i] - 1; len <= limits[i] + 1; len++) {
			p.payload_len = len > 42 ? len - 42 : 0;
			ut_pkt_bytes(&p, frame, sizeof(frame));
			v = parse_guarded(frame, (uint32_t)len, (uint32_t)len, &opt);
			ut_check((v.kind == WIRE_DROP && v.reason == WEIR_DROP_ETH_OVERSIZE) ==
					 (len > limits[i]),
				 "limit %u, length %zu: %s", limits[i], len, verdict(&v));
			ut_check(len > limits[i] || limits[i] < 42 || v.kind == WIRE_UDP,
				 "limit %u, length %zu: %s", limits[i], len, verdict(&v));
		}
	}
	opt.max_frame = 0;
	p.payload_len = 9000;
	len = ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, (uint32_t)len, (uint32_t)len, &opt);
	assert_int_equal(v.kind, WIRE_UDP);
}

/* RFC 1122 3.2.1.2, and RFC 1624 3 on the two forms of zero. */
static void
header_checksum_is_verified_unless_the_nic_did(void **state)
{
	struct wire_parse_opt opt = our_opt;
	uint8_t frame[160];
	struct ut_pkt p;
	struct wire_view v;
	uint32_t len;
	int bit, words;

	(void)state;
	for (words = 0; words <= 10; words++) {
		p = ut_pkt_udp();
		p.ip_opt_len = (uint8_t)(words * 4);
		memset(p.ip_opt, 1, sizeof(p.ip_opt));
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		/* The checksum itself, the TTL and the last byte that is covered. */
		for (bit = 0; bit < 32; bit++) {
			uint8_t *at = bit < 16   ? &frame[IP_AT + 10 + bit / 8]
				      : bit < 24 ? &frame[IP_AT + 8]
						 : &frame[IP_AT + 19 + words * 4];

			*at ^= (uint8_t)(1 << bit % 8);
			opt.ip_csum_good = false;
			v = parse_guarded(frame, len, len, &opt);
			ut_check(v.kind == WIRE_DROP && v.reason == WEIR_DROP_IP_CSUM,
				 "bit %d, %d words of options: %s", bit, words, verdict(&v));
			opt.ip_csum_good = true;
			v = parse_guarded(frame, len, len, &opt);
			ut_check(v.reason != WEIR_DROP_IP_CSUM, "bit %d", bit);
			*at ^= (uint8_t)(1 << bit % 8);
		}
	}
}

static void
header_checksum_zero_is_good_in_both_forms(void **state)
{
	struct ut_pkt p = ut_pkt_udp();
	uint8_t frame[128];
	struct wire_view v;
	uint32_t len;
	uint32_t id;

	(void)state;
	for (id = 0; id <= 0xffff; id++) {
		p.ip_id = (uint16_t)id;
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		if (ut_get16(frame + IP_AT + 10) == 0)
			break;
	}
	assert_in_range(id, 0, 0xffff);
	v = parse_guarded(frame, len, len, &our_opt);
	assert_int_equal(v.kind, WIRE_UDP);
	ut_put16(frame + IP_AT + 10, 0xffff);
	v = parse_guarded(frame, len, len, &our_opt);
	assert_int_equal(v.kind, WIRE_UDP);
	ut_put16(frame + IP_AT + 10, 1);
	v = parse_guarded(frame, len, len, &our_opt);
	assert_int_equal(v.reason, WEIR_DROP_IP_CSUM);
}

/* ---- order ---- */

struct rung {
	uint8_t at, clear, set;
	uint8_t reason;
};

/*
 * One way to break each check, in the order of the checks. Bits, not bytes, so that two may share a
 * byte. The header checksum is made right after breaking, and broken again where that is the rung.
 */
static const struct rung ladder[] = {
	{6, 0x00, 0x01, WEIR_DROP_ETH_SRC},     {5, 0x01, 0x02, WEIR_DROP_ETH_DST},
	{13, 0x00, 0x01, WEIR_DROP_ETH_TYPE},   {14, 0x40, 0x20, WEIR_DROP_IP_VERSION},
	{14, 0x0f, 0x04, WEIR_DROP_IP_HDR_LEN}, {16, 0x00, 0x80, WEIR_DROP_IP_LENGTH},
	{24, 0x00, 0x00, WEIR_DROP_IP_CSUM},    {26, 0xff, 0xe0, WEIR_DROP_IP_SRC},
	{30, 0xff, 0x7f, WEIR_DROP_IP_DST},     {23, 0xff, 0x06, WEIR_DROP_IP_PROTO},
	{38, 0x00, 0x80, WEIR_DROP_UDP_LENGTH}, {36, 0xff, 0x00, WEIR_DROP_UDP_PORT0},
};

static void
break_at(uint8_t *frame, const struct rung *rung)
{
	frame[rung->at] = (uint8_t)((frame[rung->at] & ~rung->clear) | rung->set);
	if (rung->reason == WEIR_DROP_UDP_PORT0)
		frame[rung->at + 1] = 0;
}

static void
first_broken_check_in_order_names_the_reason(void **state)
{
	uint8_t frame[128];
	struct wire_view v;
	uint32_t len;
	size_t i, j;

	(void)state;
	for (i = 0; i < UT_N(ladder); i++) {
		for (j = i; j < UT_N(ladder); j++) {
			len = (uint32_t)build_base(UDP, frame, sizeof(frame));
			break_at(frame, &ladder[i]);
			break_at(frame, &ladder[j]);
			ut_fix_ip_csum(frame, len);
			if (ladder[i].reason == WEIR_DROP_IP_CSUM ||
			    ladder[j].reason == WEIR_DROP_IP_CSUM)
				frame[24] ^= 0x10;
			v = parse_guarded(frame, len, len, &our_opt);
			ut_check(v.kind == WIRE_DROP && v.reason == ladder[i].reason,
				 "rungs %zu and %zu: %s", i, j, verdict(&v));
		}
	}
}

/* ---- truncation ---- */

/* What a frame cut to n bytes is: the first reason whose limit is above n, else the whole. */
struct cut_row {
	struct {
		uint32_t below;
		uint8_t reason;
	} cuts[4];
	uint8_t kind;
};

static void
check_cuts(const struct ut_pkt *p, const struct cut_row *row, const char *what)
{
	uint8_t frame[256];
	const uint32_t len = (uint32_t)ut_pkt_bytes(p, frame, sizeof(frame));
	struct wire_view v;
	uint32_t n;
	size_t i;

	for (n = 0; n <= len; n++) {
		v = parse_guarded(frame, n, n, &our_opt);
		for (i = 0; i < UT_N(row->cuts) && n >= row->cuts[i].below; i++)
			;
		if (i < UT_N(row->cuts))
			ut_check(v.kind == WIRE_DROP && v.reason == row->cuts[i].reason,
				 "%s cut to %u: %s", what, n, verdict(&v));
		else
			ut_check(v.kind == row->kind, "%s cut to %u: %s", what, n, verdict(&v));
		check_every_avail(frame, n, &our_opt, what);
	}
}

static void
truncated_frames_are_refused_at_every_length(void **state)
{
	static const struct cut_row ip = {
		{{14, WEIR_DROP_ETH_SHORT}, {34, WEIR_DROP_IP_SHORT}, {60, WEIR_DROP_IP_LENGTH}},
		WIRE_UDP};
	static const struct cut_row ip_icmp = {
		{{14, WEIR_DROP_ETH_SHORT}, {34, WEIR_DROP_IP_SHORT}, {60, WEIR_DROP_IP_LENGTH}},
		WIRE_ICMP};
	static const struct cut_row ip_options = {{{14, WEIR_DROP_ETH_SHORT},
						   {34, WEIR_DROP_IP_SHORT},
						   {54, WEIR_DROP_IP_HDR_LEN},
						   {80, WEIR_DROP_IP_LENGTH}},
						  WIRE_UDP};
	static const struct cut_row padded = {
		{{14, WEIR_DROP_ETH_SHORT}, {34, WEIR_DROP_IP_SHORT}, {42, WEIR_DROP_IP_LENGTH}},
		WIRE_UDP};
	static const struct cut_row arp = {{{14, WEIR_DROP_ETH_SHORT}, {42, WEIR_DROP_ARP_BAD}},
					   WIRE_ARP};
	struct ut_pkt p = ut_pkt_udp();

	(void)state;
	check_cuts(&p, &ip, "UDP");
	p.ip_opt_len = 20;
	memset(p.ip_opt, 1, 20);
	check_cuts(&p, &ip_options, "UDP with options");
	p = ut_pkt_udp();
	p.payload_len = 0;
	p.trailer_len = 18;
	check_cuts(&p, &padded, "padded UDP");
	p = ut_pkt_icmp_echo();
	check_cuts(&p, &ip_icmp, "ICMP");
	p = ut_pkt_arp_request();
	check_cuts(&p, &arp, "ARP");
}

/* ---- against a reference ---- */

struct reference {
	const uint8_t *byte;
	uint32_t len;
	const struct wire_parse_opt *opt;
};

static uint32_t
number(const struct reference *r, uint32_t at, uint32_t width)
{
	uint32_t n = 0;

	while (width-- > 0)
		n = n * 256 + r->byte[at++];
	return n;
}

/* Ones' complement sum of n bytes at `at`, carries taken round at once. */
static uint32_t
sum16(const struct reference *r, uint32_t at, uint32_t n)
{
	uint32_t sum = 0;
	uint32_t i;

	for (i = 0; i < n; i += 2) {
		sum += number(r, at + i, 2);
		if (sum > 65535)
			sum -= 65535;
	}
	return sum;
}

static bool
reference_options_ok(const struct reference *r, uint32_t at, uint32_t end, bool *alert)
{
	uint32_t type;

	while (at != end) {
		type = number(r, at, 1);
		if (type == 0)
			return true;
		if (type == 131 || type == 137)
			return false;
		if (type == 1) {
			at += 1;
			continue;
		}
		if (at + 1 == end || number(r, at + 1, 1) < 2 || at + number(r, at + 1, 1) > end)
			return false;
		if (type == 148 && number(r, at + 1, 1) == 4)
			*alert = true;
		at += number(r, at + 1, 1);
	}
	return true;
}

#define TOLD 0x100 /* with a reason: the sender may be told, what is known of the headers stays */

/* The end of the chain is UDP. */
static int
reference_udp(const struct reference *r, uint32_t at, struct wire_view *v)
{
	v->kind = WIRE_UDP;
	if (v->l3_payload < 8)
		return WEIR_DROP_UDP_SHORT;
	v->udp_len = number(r, at + 4, 2);
	if (v->udp_len < 8 || v->udp_len > v->l3_payload)
		return WEIR_DROP_UDP_LENGTH;
	v->dport = WIRE_BE16(number(r, at + 2, 2));
	if (v->dport == 0)
		return TOLD | WEIR_DROP_UDP_PORT0;
	v->sport = WIRE_BE16(number(r, at, 2));
	return -1;
}

static int
reference_param(struct wire_view *v, int reason, unsigned int code, uint32_t at)
{
	v->param = (uint8_t)(code + 1);
	v->pointer = (uint16_t)(at - 14);
	return TOLD | reason;
}

/* RFC 8200 4.2, RFC 8504 5.3: -1, or why the options from at to end may not be passed over. */
static int
reference_options6(const struct reference *r, uint32_t at, uint32_t end, bool hop, bool group,
		   struct wire_view *v)
{
	uint32_t pad = 0, n = 0;

	while (at < end) {
		const uint32_t type = number(r, at, 1);
		uint32_t len = 1;

		if (type != 0) {
			if (at + 1 >= end)
				return WEIR_DROP_IP6_EXT;
			len = number(r, at + 1, 1) + 2;
			if (at + len > end)
				return WEIR_DROP_IP6_EXT;
		}
		if (type <= 1) {
			pad += len;
			for (uint32_t i = 2; i < len; i++)
				if (number(r, at + i, 1) != 0)
					return WEIR_DROP_IP6_EXT;
			if (pad >= 8)
				return WEIR_DROP_IP6_EXT;
		} else {
			pad = 0;
			n++;
			if (n == 9)
				return WEIR_DROP_IP6_EXT;
			if (type == 5 && hop) {
				if (len != 4)
					return WEIR_DROP_IP6_EXT;
				v->router_alert = true;
			} else if (type >= 0x40) {
				const int why =
					type == 0xc2 ? WEIR_DROP_IP6_JUMBO : WEIR_DROP_IP6_OPTION;

				if (type < 0x80 || (type >= 0xc0 && group))
					return why;
				return reference_param(v, why, 2, at);
			}
		}
		at += len;
	}
	return -1;
}

static bool
reference_zeros(const struct reference *r, uint32_t at, uint32_t n)
{
	while (n-- > 0)
		if (r->byte[at + n] != 0)
			return false;
	return true;
}

/* ::1, and what stands for an IPv4 address. */
static bool
reference_never_on_a_wire(const struct reference *r, uint32_t at)
{
	if (!reference_zeros(r, at, 10))
		return false;
	return number(r, at + 10, 2) == 0xffff ||
	       (reference_zeros(r, at + 10, 5) && r->byte[at + 15] == 1);
}

static int
reference_chain6(const struct reference *r, struct wire_view *v)
{
	const uint32_t end = 54 + v->l3_payload;
	uint32_t named = 20, at = 54, n = 0;
	int why;

	if (v->l3_payload == 0 && v->proto == 0)
		return reference_param(v, WEIR_DROP_IP6_JUMBO, 0, 18);
	for (;; n++) {
		uint32_t next = number(r, named, 1), len;

		v->proto = (uint8_t)next;
		v->l3_len = (uint16_t)(at - 14);
		v->l3_payload = end - at;
		if (next == 17)
			return reference_udp(r, at, v);
		if (next == 58) {
			v->kind = WIRE_ICMP6;
			return v->l3_payload < 8 ? WEIR_DROP_ICMP_SHORT : -1;
		}
		if (next == 59)
			return WEIR_DROP_IP_PROTO;
		if (next == 0 && n > 0)
			return reference_param(v, WEIR_DROP_IP6_EXT, 1, named);
		if (next != 0 && next != 43 && next != 44 && next != 60)
			return reference_param(v, WEIR_DROP_IP_PROTO, 1, named);
		if (n == 8 || at + 8 > end)
			return WEIR_DROP_IP6_EXT;
		len = next == 44 ? 8 : (number(r, at + 1, 1) + 1) * 8;
		if (at + 8 > 54 + 256 || at + len > end || at + len > 54 + 256)
			return WEIR_DROP_IP6_EXT;
		if (next == 44) {
			v->kind = WIRE_FRAG;
			v->proto = r->byte[at];
			v->l3_len = (uint16_t)(at + 8 - 14);
			v->l3_payload = end - at - 8;
			v->frag_hdr = (uint16_t)at;
			v->frag_prev = (uint16_t)named;
			v->frag_more = number(r, at + 3, 1) % 2 == 1;
			v->frag_off = (uint16_t)(number(r, at + 2, 2) / 8 * 8);
			v->frag_id = WIRE_BE32(number(r, at + 4, 4));
			return -1;
		}
		if (next == 43) {
			if (r->byte[at + 3] != 0)
				return reference_param(v, WEIR_DROP_IP6_ROUTING, 0, at + 2);
		} else {
			why = reference_options6(r, at + 2, at + len, next == 0, r->byte[38] == 255,
						 v);
			if (why >= 0)
				return why;
		}
		named = at;
		at += len;
	}
}

static int
reference_reason6(const struct reference *r, struct wire_view *v)
{
	int why;

	if (r->len < 54)
		return WEIR_DROP_IP_SHORT;
	if (r->byte[14] / 16 != 6)
		return WEIR_DROP_IP_VERSION;
	if (54 + number(r, 18, 2) > r->len)
		return WEIR_DROP_IP_LENGTH;
	if (r->byte[22] == 255 || reference_never_on_a_wire(r, 22))
		return WEIR_DROP_IP_SRC;
	if (r->byte[38] == 255 ? r->byte[39] % 16 < 2
			       : reference_never_on_a_wire(r, 38) || reference_zeros(r, 38, 16))
		return WEIR_DROP_IP_DST;
	v->family = 6;
	v->proto = r->byte[20];
	v->hop_limit = r->byte[21];
	v->traffic = (uint8_t)(number(r, 14, 2) / 16 % 256);
	v->l3_len = 40;
	v->l3_payload = number(r, 18, 2);
	why = reference_chain6(r, v);
	if (why < 0 && reference_zeros(r, 22, 16)) {
		const uint8_t type = r->byte[14 + v->l3_len];

		if (v->kind != WIRE_ICMP6 ||
		    (type != 131 && type != 132 && type != 133 && type != 135 && type != 143))
			return WEIR_DROP_IP_SRC;
	}
	return why;
}

/* The reason for which this whole frame is to be refused, or -1; written from the RFCs' text. */
static int
reference_reason(const struct reference *r, struct wire_view *v)
{
	static const uint8_t none[6] = {0}, all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t type, ihl, total, transport, src, dst;
	bool nobody;

	if (r->len < 14)
		return WEIR_DROP_ETH_SHORT;
	if (r->opt->max_frame > 0 &&
	    r->len > r->opt->max_frame + (number(r, 12, 2) == 0x8100 ? 4 : 0))
		return WEIR_DROP_ETH_OVERSIZE;
	if (r->byte[6] % 2 == 1 || memcmp(r->byte + 6, none, 6) == 0)
		return WEIR_DROP_ETH_SRC;
	if (memcmp(r->byte, all, 6) == 0)
		v->eth_group = 2;
	else if (r->byte[0] % 2 == 1)
		v->eth_group = 1;
	else if (memcmp(r->byte, r->opt->mac, 6) != 0 && !r->opt->promiscuous_ok)
		return WEIR_DROP_ETH_DST;
	v->l2_len = 14;
	type = number(r, 12, 2);
	if (type == 0x8100) {
		v->kind = WIRE_VLAN;
		return r->len < 18 ? WEIR_DROP_ETH_VLAN : -1;
	}
	if (type == 0x88a8)
		return WEIR_DROP_ETH_QINQ;
	if (type == 0x0806) {
		v->kind = WIRE_ARP;
		if (r->len < 42 || number(r, 14, 2) != 1 || number(r, 16, 2) != 0x0800 ||
		    number(r, 18, 1) != 6 || number(r, 19, 1) != 4)
			return WEIR_DROP_ARP_BAD;
		return -1;
	}
	if (type == 0x86dd)
		return reference_reason6(r, v);
	if (type != 0x0800)
		return WEIR_DROP_ETH_TYPE;

	v->family = 4;
	if (r->len < 34)
		return WEIR_DROP_IP_SHORT;
	if (r->byte[14] / 16 != 4)
		return WEIR_DROP_IP_VERSION;
	ihl = r->byte[14] % 16;
	if (ihl < 5 || 14 + 4 * ihl > r->len)
		return WEIR_DROP_IP_HDR_LEN;
	total = number(r, 16, 2);
	if (total < 4 * ihl || 14 + total > r->len)
		return WEIR_DROP_IP_LENGTH;
	if (!r->opt->ip_csum_good && sum16(r, 14, 4 * ihl) != 65535)
		return WEIR_DROP_IP_CSUM;
	if (!reference_options_ok(r, 34, 14 + 4 * ihl, &v->router_alert))
		return WEIR_DROP_IP_OPTION;
	src = number(r, 26, 4);
	/* From 0.0.0.0 nothing but a whole IGMP message. */
	nobody = src == 0 && r->byte[23] == 2 && number(r, 20, 2) % 16384 == 0;
	if ((r->byte[26] == 0 && !nobody) || r->byte[26] == 127 || r->byte[26] >= 224)
		return WEIR_DROP_IP_SRC;
	dst = number(r, 30, 4);
	if (dst == 0 || r->byte[30] == 127)
		return WEIR_DROP_IP_DST;
	v->proto = r->byte[23];
	v->hop_limit = r->byte[22];
	v->traffic = r->byte[15];
	v->l3_len = (uint16_t)(4 * ihl);
	v->l3_payload = total - 4 * ihl;
	v->src4 = WIRE_BE32(src);
	v->dst4 = WIRE_BE32(dst);
	transport = 14 + 4 * ihl;
	if (v->proto != 1 && v->proto != 2 && v->proto != 17)
		return TOLD | WEIR_DROP_IP_PROTO;
	if (number(r, 20, 2) / 8192 % 2 == 1 || number(r, 20, 2) % 8192 != 0) {
		v->kind = WIRE_FRAG;
		v->frag_more = number(r, 20, 2) / 8192 % 2 == 1;
		v->frag_off = (uint16_t)(number(r, 20, 2) % 8192 * 8);
		v->frag_id = WIRE_BE16(number(r, 18, 2));
		return -1;
	}
	if (v->proto == 1) {
		v->kind = WIRE_ICMP;
		return v->l3_payload < 8 ? WEIR_DROP_ICMP_SHORT : -1;
	}
	if (v->proto == 2) {
		v->kind = WIRE_IGMP;
		return v->l3_payload < 8 ? WEIR_DROP_MEMBER_BAD : -1;
	}
	return reference_udp(r, transport, v);
}

static struct wire_view
reference_parse(const uint8_t *bytes, uint32_t len, const struct wire_parse_opt *opt)
{
	const struct reference r = {bytes, len, opt};
	struct wire_view v;
	int reason;

	memset(&v, 0, sizeof(v));
	reason = reference_reason(&r, &v);
	if (reason >= 0) {
		if ((reason & TOLD) == 0)
			memset(&v, 0, sizeof(v));
		v.kind = WIRE_DROP;
		v.reason = (uint8_t)(reason & ~TOLD);
	}
	return v;
}

static bool
one_in(struct ut_rng *rng, uint32_t n)
{
	return ut_rand_below(rng, n) == 0;
}

static uint32_t
near_limit(struct ut_rng *rng, uint32_t limit)
{
	return limit + ut_rand_below(rng, 5) - 2;
}

static uint32_t
odd_address(struct ut_rng *rng)
{
	static const uint32_t edges[] = {0,          1,          0x00ffffff, 0x7effffff,
					 0x7f000000, 0x7fffffff, 0x80000000, 0xdfffffff,
					 0xe0000000, 0xefffffff, 0xf0000000, 0xffffffff};

	return edges[ut_rand_below(rng, UT_N(edges))];
}

/* A frame with a few things wrong: mostly late ones, so that each check is reached. */
static uint32_t
random_frame(struct ut_rng *rng, uint8_t *frame, size_t size, struct wire_parse_opt *opt)
{
	static const uint16_t types[] = {0x0800, 0x0806, 0x8100, 0x88a8, 0x86dd, 0x05dc, 0x0801};
	struct ut_pkt p;
	uint32_t len, n;

	*opt = our_opt;
	n = ut_rand_below(rng, 8);
	p = n == 0 ? ut_pkt_arp_request() : n == 1 ? ut_pkt_icmp_echo() : ut_pkt_udp();
	if (n == 2) {
		p.kind = UT_RAW_IP4;
		p.ip_proto = one_in(rng, 2) ? 1 : 17;
	}
	p.payload_len = ut_rand_below(rng, 40);
	p.trailer_len = one_in(rng, 2) ? ut_rand_below(rng, 20) : 0;
	if (one_in(rng, 3)) {
		p.ip_opt_len = (uint8_t)ut_rand_below(rng, 41);
		memset(p.ip_opt, 1, sizeof(p.ip_opt));
		for (n = 0; n < 3; n++)
			p.ip_opt[ut_rand_below(rng, 40)] = (uint8_t)ut_rand_below(rng, 160);
	}
	if (one_in(rng, 16))
		p.eth_dst[ut_rand_below(rng, 6)] ^= (uint8_t)(1 << ut_rand_below(rng, 8));
	else if (one_in(rng, 16))
		memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	if (one_in(rng, 32))
		p.eth_src[0] ^= (uint8_t)(1 << ut_rand_below(rng, 8));
	if (one_in(rng, 64))
		memset(p.eth_src, 0, 6);
	if (one_in(rng, 16))
		p.eth_type = types[ut_rand_below(rng, UT_N(types))];
	if (one_in(rng, 32))
		p.ip_version = (uint8_t)ut_rand_below(rng, 16);
	if (one_in(rng, 16))
		p.ip_ihl = (int32_t)ut_rand_below(rng, 16);
	if (one_in(rng, 16))
		p.ip_frag = (uint16_t)(1u << ut_rand_below(rng, 16));
	if (one_in(rng, 16))
		p.ip_src = odd_address(rng);
	if (one_in(rng, 16))
		p.ip_dst = odd_address(rng);
	if (one_in(rng, 16))
		p.ip_proto = (uint8_t)ut_rand_below(rng, 20);
	if (one_in(rng, 8))
		p.udp_len =
			(int32_t)near_limit(rng, one_in(rng, 2) ? 8 : 8 + (uint32_t)p.payload_len);
	if (one_in(rng, 16))
		p.udp_dport = 0;
	if (one_in(rng, 16))
		p.udp_sport = 0;
	len = (uint32_t)ut_pkt_bytes(&p, frame, size);
	if (one_in(rng, 8))
		ut_put16(frame + 16, (uint16_t)near_limit(rng, one_in(rng, 2) ? 28 : len - 14));
	if (one_in(rng, 16))
		frame[14 + ut_rand_below(rng, 28)] ^= (uint8_t)(1 << ut_rand_below(rng, 8));
	if (p.kind != UT_ARP && !one_in(rng, 16))
		ut_fix_ip_csum(frame, len);
	if (one_in(rng, 8))
		len = ut_rand_below(rng, len + 1);
	if (one_in(rng, 128) && len > 18) {
		/* A tag, not always whole: too seldom met by the lines above. */
		ut_put16(frame + 12, 0x8100);
		len = 14 + ut_rand_below(rng, 5);
	}
	if (one_in(rng, 8))
		opt->max_frame = near_limit(rng, len < 2 ? 2 : len);
	opt->ip_csum_good = one_in(rng, 4);
	opt->promiscuous_ok = one_in(rng, 8);
	return len;
}

static void
random_frames_get_the_verdict_of_the_reference(void **state)
{
	static const uint8_t reachable[] = {
		WEIR_DROP_ETH_SHORT,  WEIR_DROP_ETH_OVERSIZE, WEIR_DROP_ETH_SRC,
		WEIR_DROP_ETH_DST,    WEIR_DROP_ETH_TYPE,     WEIR_DROP_ETH_VLAN,
		WEIR_DROP_ARP_BAD,    WEIR_DROP_IP_SHORT,     WEIR_DROP_IP_VERSION,
		WEIR_DROP_IP_HDR_LEN, WEIR_DROP_IP_LENGTH,    WEIR_DROP_IP_CSUM,
		WEIR_DROP_IP_OPTION,  WEIR_DROP_ETH_QINQ,     WEIR_DROP_IP_SRC,
		WEIR_DROP_IP_DST,     WEIR_DROP_IP_PROTO,     WEIR_DROP_ICMP_SHORT,
		WEIR_DROP_UDP_SHORT,  WEIR_DROP_UDP_LENGTH,   WEIR_DROP_UDP_PORT0,
	};
	struct ut_rng rng = ut_rng();
	unsigned int n_reason[WEIR_DROP_N] = {0};
	unsigned int n_kind[WIRE_MORE + 1] = {0};
	struct wire_view got, want;
	struct wire_parse_opt opt;
	uint8_t frame[256];
	uint32_t len;
	size_t i;
	int n;

	(void)state;
	for (n = 0; n < 30000; n++) {
		len = random_frame(&rng, frame, sizeof(frame), &opt);
		want = reference_parse(frame, len, &opt);
		got = parse_guarded(frame, len, len, &opt);
		ut_check_bytes(&got, &want, sizeof(got), "frame %d of %u bytes: %s, reference %s",
			       n, len, verdict(&got), verdict(&want));
		n_kind[got.kind]++;
		if (got.kind == WIRE_DROP)
			n_reason[got.reason]++;
		if (n % 64 == 0)
			check_every_avail(frame, len, &opt, "random frame");
	}
	/* The generator is worth its name only if it comes by every way out. */
	for (i = 0; i < UT_N(reachable); i++)
		ut_check(n_reason[reachable[i]] > 0, "no random frame met drop reason %u",
			 reachable[i]);
	ut_check(n_kind[WIRE_UDP] > 1000 && n_kind[WIRE_ICMP] > 100 && n_kind[WIRE_ARP] > 100,
		 "UDP %u, ICMP %u, ARP %u", n_kind[WIRE_UDP], n_kind[WIRE_ICMP], n_kind[WIRE_ARP]);
}

static void
random_bytes_get_the_verdict_of_the_reference(void **state)
{
	struct ut_rng rng = ut_rng();
	struct wire_view got, want;
	struct wire_parse_opt opt;
	uint8_t frame[96];
	uint32_t len, i;
	int n;

	(void)state;
	for (n = 0; n < 5000; n++) {
		len = ut_rand_below(&rng, sizeof(frame) + 1);
		for (i = 0; i < len; i++)
			frame[i] = (uint8_t)ut_rand(&rng);
		/* A start that lets more than one in 2^48 get past the first checks. */
		if (len >= 14) {
			memcpy(frame, UT_OUR_MAC UT_PEER_MAC, 12);
			ut_put16(frame + 12, one_in(&rng, 8) ? 0x0806 : 0x0800);
		}
		if (len >= 18 && !one_in(&rng, 8)) {
			frame[14] = (uint8_t)(0x40 + 5 + ut_rand_below(&rng, 3));
			ut_put16(frame + 16, (uint16_t)(len - 14));
		}
		opt = our_opt;
		opt.ip_csum_good = !one_in(&rng, 4);
		want = reference_parse(frame, len, &opt);
		got = parse_guarded(frame, len, len, &opt);
		ut_check_bytes(&got, &want, sizeof(got), "frame %d of %u bytes: %s, reference %s",
			       n, len, verdict(&got), verdict(&want));
	}
}

/* ---- IPv6, rule by rule ---- */

#define NEXT(n) ((n) + 1) /* param of a parameter problem with this code */

struct row6 {
	const char *breaks, *rule;
	void (*set)(struct ut_pkt *p);
	uint8_t kind, reason;
	uint8_t param;
	uint16_t pointer; /* from the start of the IPv6 header */
	uint16_t l3_len;  /* 0: not looked at */
};

static void
set_address(uint8_t *to, const char *text)
{
	struct in6_addr a;

	assert_int_equal(inet_pton(AF_INET6, text, &a), 1);
	memcpy(to, &a, 16);
}

#define ADDRESS_CASE(name, field, text)                                                            \
	static void name(struct ut_pkt *p)                                                         \
	{                                                                                          \
		set_address(p->field, text);                                                       \
	}
#define EXT_CASE(name, ...)                                                                        \
	static void name(struct ut_pkt *p)                                                         \
	{                                                                                          \
		static const struct {                                                              \
			uint8_t type;                                                              \
			const char *body;                                                          \
			size_t len;                                                                \
		} h[] = {__VA_ARGS__};                                                             \
                                                                                                   \
		for (size_t i = 0; i < UT_N(h); i++)                                               \
			ut_pkt_ext6(p, h[i].type, h[i].body, h[i].len);                            \
	}
#define HDR(type, bytes)                                                                           \
	{                                                                                          \
		type, bytes, sizeof(bytes) - 1                                                     \
	}

static void
as_it_is(struct ut_pkt *p)
{
	(void)p;
}

static void
version4(struct ut_pkt *p)
{
	p->ip_version = 4;
}

static void
version7(struct ut_pkt *p)
{
	p->ip_version = 7;
}

static void
length_beyond(struct ut_pkt *p)
{
	p->ip6_payload_len = 27;
}

static void
length_below_udp(struct ut_pkt *p)
{
	p->ip6_payload_len = 7;
}

static void
length_below_udp_says(struct ut_pkt *p)
{
	p->ip6_payload_len = 25;
}

static void
length0(struct ut_pkt *p)
{
	p->ip6_payload_len = 0;
}

static void
udp_port0(struct ut_pkt *p)
{
	p->udp_dport = 0;
}

static void
udp_len7(struct ut_pkt *p)
{
	p->udp_len = 7;
}

ADDRESS_CASE(src_group, ip6_src, "ff02::1")
ADDRESS_CASE(src_loopback, ip6_src, "::1")
ADDRESS_CASE(src_nobody, ip6_src, "::")
ADDRESS_CASE(src_mapped, ip6_src, "::ffff:10.0.0.2")
ADDRESS_CASE(src_compatible, ip6_src, "::10.0.0.2")
ADDRESS_CASE(src_two, ip6_src, "::2")
ADDRESS_CASE(src_link_local, ip6_src, "fe80::2")
ADDRESS_CASE(dst_nobody, ip6_dst, "::")
ADDRESS_CASE(dst_loopback, ip6_dst, "::1")
ADDRESS_CASE(dst_mapped, ip6_dst, "::ffff:10.0.0.1")
ADDRESS_CASE(dst_scope0, ip6_dst, "ff00::1")
ADDRESS_CASE(dst_scope1, ip6_dst, "ff01::1")
ADDRESS_CASE(dst_scope2, ip6_dst, "ff02::1")
ADDRESS_CASE(dst_scope1_flags, ip6_dst, "ff31::1")

static void
proto_tcp(struct ut_pkt *p)
{
	p->ip_proto = 6;
}

static void
proto_icmp4(struct ut_pkt *p)
{
	p->ip_proto = 1;
}

static void
proto_none(struct ut_pkt *p)
{
	p->ip_proto = 59;
}

static void
proto_ah(struct ut_pkt *p)
{
	p->ip_proto = 51;
}

static void
proto_hop_by_hop_without_length(struct ut_pkt *p)
{
	p->ip_proto = 0;
	p->ip6_payload_len = 0;
}

EXT_CASE(hop_pad, HDR(0, "\1\4\0\0\0\0"))
EXT_CASE(hop_pad1, HDR(0, "\0\0\0\0\0\0"))
EXT_CASE(hop_alert, HDR(0, "\5\2\0\0\1\0"))
EXT_CASE(hop_alert_long, HDR(0, "\5\3\0\0\0\0"))
EXT_CASE(dst_alert_is_unknown, HDR(60, "\5\2\0\0\1\0"))
EXT_CASE(hop_twice, HDR(0, "\1\4\0\0\0\0"), HDR(0, "\1\4\0\0\0\0"))
EXT_CASE(hop_behind_dst, HDR(60, "\1\4\0\0\0\0"), HDR(0, "\1\4\0\0\0\0"))
EXT_CASE(hop_routing_dst, HDR(0, "\1\4\0\0\0\0"), HDR(43, "\4\0\0\0\0\0"), HDR(60, "\1\4\0\0\0\0"))
EXT_CASE(routing_left, HDR(43, "\4\1\0\0\0\0"))
EXT_CASE(routing0_left, HDR(60, "\1\4\0\0\0\0"), HDR(43, "\0\1\0\0\0\0"))
EXT_CASE(option_skip, HDR(60, "\x3f\4\0\0\0\0"))
EXT_CASE(option_discard, HDR(60, "\x7f\4\0\0\0\0"))
EXT_CASE(option_tell, HDR(60, "\x1\0\x9e\2\0\0"))
EXT_CASE(option_tell_unicast, HDR(60, "\xfe\4\0\0\0\0"))
EXT_CASE(option_jumbo, HDR(0, "\xc2\4\0\1\0\0"))
EXT_CASE(option_beyond, HDR(60, "\x3f\5\0\0\0\0"))
EXT_CASE(option_without_length, HDR(60, "\1\3\0\0\0\x3f"))
EXT_CASE(padding7, HDR(60, "\x1e\1\0\1\5\0\0\0\0\0\x1e\0\0\0"))
EXT_CASE(padding8, HDR(60, "\x1e\1\0\1\5\0\0\0\0\0\0\x1e\1\0"))
EXT_CASE(padding_not_zero, HDR(60, "\1\4\0\0\1\0"))
EXT_CASE(eight_options, HDR(60, "\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\1\4\0\0\0\0"))
EXT_CASE(nine_options, HDR(60, "\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\x1e\0\1\2\0\0"))

static void
option_tell_unicast_to_group(struct ut_pkt *p)
{
	dst_scope2(p);
	option_tell_unicast(p);
}

static void
option_tell_to_group(struct ut_pkt *p)
{
	dst_scope2(p);
	option_tell(p);
}

static void
many_headers(struct ut_pkt *p, unsigned int n)
{
	while (n-- > 0)
		ut_pkt_ext6(p, 60, "\1\4\0\0\0\0", 6);
}

static void
eight_headers(struct ut_pkt *p)
{
	many_headers(p, 8);
}

static void
nine_headers(struct ut_pkt *p)
{
	many_headers(p, 9);
}

/* One header of len bytes, one option that may be skipped. */
static void
long_header(struct ut_pkt *p, size_t len)
{
	uint8_t body[320] = {0x1e, (uint8_t)(len - 4)};

	ut_pkt_ext6(p, 60, body, len - 2);
}

static void
chain_of_256(struct ut_pkt *p)
{
	long_header(p, 256);
}

static void
chain_of_264(struct ut_pkt *p)
{
	long_header(p, 256);
	many_headers(p, 1);
}

static void
header_beyond_the_packet(struct ut_pkt *p)
{
	hop_pad(p);
	p->ip6_ext[1] = 4; /* 40 bytes of 34 */
}

static void
header_that_fills_the_packet(struct ut_pkt *p)
{
	p->payload_len = 8;
	hop_pad(p);
	p->ip6_ext[1] = 2;
	memcpy(p->ip6_ext + 2, "\x1e\4", 2);
	p->udp_sport = 0x1e0e;
	p->ip_proto = 59;
}

static void
fragment_first(struct ut_pkt *p)
{
	ut_pkt_frag6(p, 0, 1, 0x12345678);
}

static void
fragment_behind_others(struct ut_pkt *p)
{
	hop_pad(p);
	ut_pkt_frag6(p, 65528, 0, 1);
}

static void
fragment_from_nobody(struct ut_pkt *p)
{
	src_nobody(p);
	fragment_first(p);
}

/* clang-format off */
static const struct row6 rows6[] = {
	{"nothing", "RFC 8200", as_it_is, OK_UDP, 0, 0, 40},
	{"version 4", "RFC 8200 3", version4, DROP(IP_VERSION), 0, 0, 0},
	{"version 7", "RFC 8200 3", version7, DROP(IP_VERSION), 0, 0, 0},
	{"payload length beyond the frame", "RFC 8200 3", length_beyond, DROP(IP_LENGTH), 0, 0, 0},
	{"payload length 7", "RFC 768", length_below_udp, DROP(UDP_SHORT), 0, 0, 0},
	{"payload length below UDP's", "RFC 768", length_below_udp_says, DROP(UDP_LENGTH), 0, 0, 0},
	{"payload length 0", "RFC 768", length0, DROP(UDP_SHORT), 0, 0, 0},
	{"UDP port 0", "RFC 6335 6", udp_port0, DROP(UDP_PORT0), 0, 0, 40},
	{"UDP length 7", "RFC 768", udp_len7, DROP(UDP_LENGTH), 0, 0, 0},

	{"source a group", "RFC 4291 2.7", src_group, DROP(IP_SRC), 0, 0, 0},
	{"source ::1", "RFC 4291 2.5.3", src_loopback, DROP(IP_SRC), 0, 0, 0},
	{"source ::", "RFC 4291 2.5.2", src_nobody, DROP(IP_SRC), 0, 0, 0},
	{"source mapped", "RFC 4291 2.5.5.2", src_mapped, DROP(IP_SRC), 0, 0, 0},
	{"source IPv4-compatible", "RFC 4291 2.5.5.1", src_compatible, OK_UDP, 0, 0, 40},
	{"source ::2", "RFC 4291", src_two, OK_UDP, 0, 0, 40},
	{"source link-local", "RFC 4291 2.5.6", src_link_local, OK_UDP, 0, 0, 40},
	{"destination ::", "RFC 4291 2.5.2", dst_nobody, DROP(IP_DST), 0, 0, 0},
	{"destination ::1", "RFC 4291 2.5.3", dst_loopback, DROP(IP_DST), 0, 0, 0},
	{"destination mapped", "RFC 4291 2.5.5.2", dst_mapped, DROP(IP_DST), 0, 0, 0},
	{"destination ff00::1", "RFC 4291 2.7, erratum 3480", dst_scope0, DROP(IP_DST), 0, 0, 0},
	{"destination ff01::1", "RFC 4291 2.7", dst_scope1, DROP(IP_DST), 0, 0, 0},
	{"destination ff31::1", "RFC 4291 2.7", dst_scope1_flags, DROP(IP_DST), 0, 0, 0},
	{"destination ff02::1", "RFC 4291 2.7", dst_scope2, OK_UDP, 0, 0, 40},

	{"next header TCP", "RFC 8200 4", proto_tcp, DROP(IP_PROTO), NEXT(1), 6, 40},
	{"next header ICMPv4", "RFC 8200 4", proto_icmp4, DROP(IP_PROTO), NEXT(1), 6, 40},
	{"next header AH", "RFC 4302", proto_ah, DROP(IP_PROTO), NEXT(1), 6, 40},
	{"no next header", "RFC 8200 4.7", proto_none, DROP(IP_PROTO), 0, 0, 0},
	{"hop-by-hop, no length", "RFC 2675 3",
	 proto_hop_by_hop_without_length, DROP(IP6_JUMBO), NEXT(0), 4, 40},

	{"hop-by-hop", "RFC 8200 4.3", hop_pad, OK_UDP, 0, 0, 48},
	{"hop-by-hop, Pad1", "RFC 8200 4.2", hop_pad1, OK_UDP, 0, 0, 48},
	{"router alert", "RFC 2711 2.1", hop_alert, OK_UDP, 0, 0, 48},
	{"router alert of 3 bytes", "RFC 2711 2.1", hop_alert_long, DROP(IP6_EXT), 0, 0, 0},
	{"router alert elsewhere", "RFC 8200 4.2", dst_alert_is_unknown, OK_UDP, 0, 0, 48},
	{"hop-by-hop twice", "RFC 8200 4.1", hop_twice, DROP(IP6_EXT), NEXT(1), 40, 48},
	{"hop-by-hop second", "RFC 8200 4.1", hop_behind_dst, DROP(IP6_EXT), NEXT(1), 40, 48},
	{"three headers", "RFC 8200 4.1", hop_routing_dst, OK_UDP, 0, 0, 64},
	{"routing, segments left", "RFC 8200 4.4", routing_left, DROP(IP6_ROUTING), NEXT(0), 42, 40},
	{"routing type 0", "RFC 5095 3", routing0_left, DROP(IP6_ROUTING), NEXT(0), 50, 48},
	{"unknown option, skip", "RFC 8200 4.2", option_skip, OK_UDP, 0, 0, 48},
	{"unknown option, discard", "RFC 8200 4.2", option_discard, DROP(IP6_OPTION), 0, 0, 0},
	{"unknown option, tell", "RFC 8200 4.2", option_tell, DROP(IP6_OPTION), NEXT(2), 44, 40},
	{"the same to a group", "RFC 8200 4.2",
	 option_tell_to_group, DROP(IP6_OPTION), NEXT(2), 44, 40},
	{"unknown option, tell if unicast", "RFC 8200 4.2",
	 option_tell_unicast, DROP(IP6_OPTION), NEXT(2), 42, 40},
	{"the same to a group", "RFC 8200 4.2",
	 option_tell_unicast_to_group, DROP(IP6_OPTION), 0, 0, 0},
	{"jumbo option", "RFC 2675 2", option_jumbo, DROP(IP6_JUMBO), NEXT(2), 42, 40},
	{"option beyond its header", "RFC 8200 4.2", option_beyond, DROP(IP6_EXT), 0, 0, 0},
	{"option without a length", "RFC 8200 4.2", option_without_length, DROP(IP6_EXT), 0, 0, 0},
	{"7 bytes of padding", "RFC 8504 5.3", padding7, OK_UDP, 0, 0, 56},
	{"8 bytes of padding", "RFC 8504 5.3", padding8, DROP(IP6_EXT), 0, 0, 0},
	{"padding that says something", "RFC 4942 2.1.9.5", padding_not_zero, DROP(IP6_EXT), 0, 0, 0},
	{"8 options", "RFC 8504 5.3", eight_options, OK_UDP, 0, 0, 64},
	{"9 options", "RFC 8504 5.3", nine_options, DROP(IP6_EXT), 0, 0, 0},
	{"8 headers", "RFC 8504 5.3", eight_headers, OK_UDP, 0, 0, 104},
	{"9 headers", "RFC 8504 5.3", nine_headers, DROP(IP6_EXT), 0, 0, 0},
	{"256 bytes of headers", "RFC 9098", chain_of_256, OK_UDP, 0, 0, 296},
	{"264 bytes of headers", "RFC 9098", chain_of_264, DROP(IP6_EXT), 0, 0, 0},
	{"header beyond the packet", "RFC 8200 4", header_beyond_the_packet, DROP(IP6_EXT), 0, 0, 0},
	{"header that fills the packet", "RFC 8200 4.7",
	 header_that_fills_the_packet, DROP(IP_PROTO), 0, 0, 0},
	{"fragment", "RFC 8200 4.5", fragment_first, OK_FRAG, 0, 0, 48},
	{"fragment behind others", "RFC 8200 4.5", fragment_behind_others, OK_FRAG, 0, 0, 56},
	{"fragment from ::", "RFC 4291 2.5.2", fragment_from_nobody, DROP(IP_SRC), 0, 0, 0},
};
/* clang-format on */

static void
each_rule_of_ipv6_names_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < UT_N(rows6); i++) {
		const struct row6 *row = &rows6[i];
		struct ut_pkt p = ut_pkt_udp6();
		uint8_t frame[512];
		struct wire_view v, want;
		uint32_t len;

		row->set(&p);
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &our_opt);
		ut_check(v.kind == row->kind && v.reason == row->reason, "%s (%s): verdict %s",
			 row->breaks, row->rule, verdict(&v));
		ut_check(v.param == row->param && v.pointer == row->pointer,
			 "%s (%s): parameter problem %d at %u", row->breaks, row->rule, v.param - 1,
			 v.pointer);
		ut_check(row->l3_len == 0 || v.l3_len == row->l3_len, "%s (%s): l3_len %u",
			 row->breaks, row->rule, v.l3_len);
		want = reference_parse(frame, len, &our_opt);
		ut_check_bytes(&v, &want, sizeof(v), "%s: the reference says %s", row->breaks,
			       verdict(&want));
		check_every_avail(frame, len, &our_opt, row->breaks);
	}
}

/* RFC 4862 5.4, RFC 3590: who has no address yet may ask for one, and join the groups for that. */
static void
who_has_no_address_may_ask_for_one(void **state)
{
	(void)state;
	for (unsigned int type = 0; type < 256; type++) {
		const bool ok =
			type == 131 || type == 132 || type == 133 || type == 135 || type == 143;
		struct ut_pkt p = ut_pkt_icmp6_echo();
		struct wire_view v;
		uint8_t frame[128];
		uint32_t len;

		src_nobody(&p);
		p.icmp_type = (uint8_t)type;
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &our_opt);
		ut_check(ok ? v.kind == WIRE_ICMP6 : v.reason == WEIR_DROP_IP_SRC, "type %u: %s",
			 type, verdict(&v));
		check_every_avail(frame, len, &our_opt, "from nobody");
	}
}

/* What stays within a host may come from there only. */
static void
loopback_takes_what_no_wire_may_bring(void **state)
{
	static void (*const set[])(struct ut_pkt *) = {src_loopback, dst_loopback, dst_scope1};
	struct wire_parse_opt opt = our_opt;

	(void)state;
	opt.loopback = true;
	for (size_t i = 0; i < UT_N(set); i++) {
		struct ut_pkt p = ut_pkt_udp6();
		struct wire_view v;
		uint8_t frame[128];
		uint32_t len;

		set[i](&p);
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &opt);
		ut_check(v.kind == WIRE_UDP, "%zu: %s", i, verdict(&v));
	}
}

static void
truncated_ipv6_frames_are_refused_at_every_length(void **state)
{
	static const struct cut_row udp = {
		{{14, WEIR_DROP_ETH_SHORT}, {54, WEIR_DROP_IP_SHORT}, {80, WEIR_DROP_IP_LENGTH}},
		WIRE_UDP};
	static const struct cut_row long_chain = {
		{{14, WEIR_DROP_ETH_SHORT}, {54, WEIR_DROP_IP_SHORT}, {104, WEIR_DROP_IP_LENGTH}},
		WIRE_UDP};
	static const struct cut_row icmp = {
		{{14, WEIR_DROP_ETH_SHORT}, {54, WEIR_DROP_IP_SHORT}, {80, WEIR_DROP_IP_LENGTH}},
		WIRE_ICMP6};
	static const struct cut_row frag = {
		{{14, WEIR_DROP_ETH_SHORT}, {54, WEIR_DROP_IP_SHORT}, {88, WEIR_DROP_IP_LENGTH}},
		WIRE_FRAG};
	struct ut_pkt p = ut_pkt_udp6();

	(void)state;
	check_cuts(&p, &udp, "UDP");
	hop_routing_dst(&p);
	check_cuts(&p, &long_chain, "UDP behind three headers");
	p = ut_pkt_icmp6_echo();
	check_cuts(&p, &icmp, "ICMPv6");
	p = ut_pkt_udp6();
	fragment_first(&p);
	check_cuts(&p, &frag, "fragment");
}

/* An IPv6 frame with a few things wrong. */
static uint32_t
random_frame6(struct ut_rng *rng, uint8_t *frame, size_t size, struct wire_parse_opt *opt)
{
	static const char *const odd[] = {"::",      "::1",    "::ffff:1.2.3.4", "ff02::1",
					  "ff01::2", "ff00::", "fe80::1",        "::2"};
	static const uint8_t types[] = {0, 43, 44, 60, 60, 60};
	static const uint8_t protos[] = {17, 58, 59, 6, 1, 0, 43, 44, 60, 51};
	struct ut_pkt p = one_in(rng, 4) ? ut_pkt_icmp6_echo() : ut_pkt_udp6();
	uint32_t len, n;

	*opt = our_opt;
	p.payload_len = ut_rand_below(rng, 40);
	p.trailer_len = one_in(rng, 2) ? ut_rand_below(rng, 20) : 0;
	n = one_in(rng, 2) ? 0 : ut_rand_below(rng, one_in(rng, 8) ? 10 : 4);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t type =
			i == 0 && one_in(rng, 2) ? 0 : types[ut_rand_below(rng, UT_N(types))];
		uint8_t body[64] = {0};
		size_t blen = 6 + 8 * (size_t)(one_in(rng, 4) ? ut_rand_below(rng, 6) : 0);

		if (p.ip6_ext_len + blen + 8 > sizeof(p.ip6_ext))
			break;
		if (type == 44) {
			ut_pkt_frag6(&p, ut_rand_below(rng, 100) * 8, one_in(rng, 2), 7);
			continue;
		}
		if (type != 43) { /* options */
			for (size_t at = 0; at + 2 <= blen;) {
				const size_t left = blen - at - 2;
				size_t olen = ut_rand_below(rng, 5);

				if (olen > left || one_in(rng, 8))
					olen = left;
				body[at] = one_in(rng, 3) ? (uint8_t)ut_rand(rng)
							  : (uint8_t)(one_in(rng, 2) ? 1 : 0x1e);
				if (one_in(rng, 12))
					body[at] = one_in(rng, 2) ? 0xc2 : 5;
				body[at + 1] = (uint8_t)olen;
				at += 2 + olen;
			}
		} else if (one_in(rng, 4)) {
			body[1] = 1;
		}
		if (one_in(rng, 8))
			body[ut_rand_below(rng, (uint32_t)blen)] = (uint8_t)ut_rand_below(rng, 8);
		ut_pkt_ext6(&p, type, body, blen);
	}
	if (one_in(rng, 8))
		p.ip_proto = protos[ut_rand_below(rng, UT_N(protos))];
	if (one_in(rng, 16))
		set_address(p.ip6_src, odd[ut_rand_below(rng, UT_N(odd))]);
	if (one_in(rng, 16))
		set_address(p.ip6_dst, odd[ut_rand_below(rng, UT_N(odd))]);
	if (one_in(rng, 32))
		p.ip_version = (uint8_t)ut_rand_below(rng, 16);
	p.icmp_type = (uint8_t)(one_in(rng, 2) ? 135 : ut_rand(rng));
	if (one_in(rng, 8))
		p.udp_len =
			(int32_t)near_limit(rng, one_in(rng, 2) ? 8 : 8 + (uint32_t)p.payload_len);
	if (one_in(rng, 16))
		p.udp_dport = 0;
	p.ip_tos = (uint8_t)ut_rand(rng);
	p.ip6_label = (uint32_t)ut_rand(rng);
	len = (uint32_t)ut_pkt_bytes(&p, frame, size);
	if (one_in(rng, 8))
		ut_put16(frame + 18, one_in(rng, 4) ? 0 : (uint16_t)near_limit(rng, len - 54));
	if (one_in(rng, 16))
		frame[14 + ut_rand_below(rng, len - 14)] ^= (uint8_t)(1 << ut_rand_below(rng, 8));
	if (one_in(rng, 8))
		len = ut_rand_below(rng, len + 1);
	return len;
}

static void
random_ipv6_frames_get_the_verdict_of_the_reference(void **state)
{
	static const uint8_t reachable[] = {
		WEIR_DROP_IP_SHORT,   WEIR_DROP_IP_VERSION,  WEIR_DROP_IP_LENGTH,
		WEIR_DROP_IP_SRC,     WEIR_DROP_IP_DST,      WEIR_DROP_IP_PROTO,
		WEIR_DROP_ICMP_SHORT, WEIR_DROP_UDP_SHORT,   WEIR_DROP_UDP_LENGTH,
		WEIR_DROP_UDP_PORT0,  WEIR_DROP_IP6_EXT,     WEIR_DROP_IP6_OPTION,
		WEIR_DROP_IP6_JUMBO,  WEIR_DROP_IP6_ROUTING,
	};
	unsigned int n_reason[WEIR_DROP_N] = {0}, n_kind[WIRE_MORE + 1] = {0}, n_param[4] = {0};
	struct ut_rng rng = ut_rng();

	(void)state;
	for (int n = 0; n < 40000; n++) {
		struct wire_view got, want;
		struct wire_parse_opt opt;
		uint8_t frame[512];
		uint32_t len = random_frame6(&rng, frame, sizeof(frame), &opt);

		want = reference_parse(frame, len, &opt);
		got = parse_guarded(frame, len, len, &opt);
		ut_check_bytes(&got, &want, sizeof(got), "frame %d of %u bytes: %s, reference %s",
			       n, len, verdict(&got), verdict(&want));
		n_kind[got.kind]++;
		n_param[got.param]++;
		if (got.kind == WIRE_DROP)
			n_reason[got.reason]++;
		if (n % 64 == 0)
			check_every_avail(frame, len, &opt, "random IPv6 frame");
	}
	for (size_t i = 0; i < UT_N(reachable); i++)
		ut_check(n_reason[reachable[i]] > 0, "no random frame met drop reason %u",
			 reachable[i]);
	ut_check(n_kind[WIRE_UDP] > 1000 && n_kind[WIRE_ICMP6] > 100 && n_kind[WIRE_FRAG] > 100,
		 "UDP %u, ICMPv6 %u, fragments %u", n_kind[WIRE_UDP], n_kind[WIRE_ICMP6],
		 n_kind[WIRE_FRAG]);
	for (size_t i = 0; i < UT_N(n_param); i++)
		assert_true(n_param[i] > 0);
}

/* ---- sums ---- */

/* The checksum by the book of bytes, as wire_fold() would give it: memory order, no complement. */
static uint16_t
book_sum(const uint8_t *bytes, size_t len)
{
	return WIRE_BE16((uint16_t)~ut_csum(bytes, len, 0));
}

enum filling { ZEROS, ONES, NEARLY_ONES, RANDOM, N_FILLINGS };

static void
fill(struct ut_rng *rng, uint8_t *to, size_t len, enum filling filling)
{
	size_t i;

	for (i = 0; i < len; i++)
		to[i] = filling == ZEROS         ? 0
			: filling == ONES        ? 0xff
			: filling == NEARLY_ONES ? (one_in(rng, 16) ? 0xfe : 0xff)
						 : (uint8_t)ut_rand(rng);
}

/* The same from the heap, where AddressSanitizer sees a read too early as well as one too late. */
static void
check_heap_sum(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len);

	assert_true(copy != NULL || len == 0);
	if (len > 0)
		memcpy(copy, bytes, len);
	ut_check(wire_fold(wire_sum(copy, len, 0)) == book_sum(bytes, len), "%zu bytes", len);
	free(copy);
}

static void
sums_equal_the_book_at_every_length(void **state)
{
	static const size_t large[] = {1471, 1472, 1473, 8971, 8972, 8973, 65534, 65535};
	struct ut_rng rng = ut_rng();
	static uint8_t bytes[65536];
	enum filling filling;
	uint8_t *guarded;
	size_t i, len;
	uint64_t sum;

	(void)state;
	for (filling = 0; filling < N_FILLINGS; filling++) {
		fill(&rng, bytes, sizeof(bytes), filling);
		for (i = 0; i < 300 + UT_N(large); i++) {
			len = i < 300 ? i : large[i - 300];
			/* It ends at a page, so that its start has every alignment in turn. */
			guarded = ut_guard_frame(bytes, len);
			sum = wire_sum(guarded, len, 0);
			ut_guard_free(guarded, len);
			ut_check(wire_fold(sum) == book_sum(bytes, len),
				 "filling %d, %zu bytes: %04x", filling, len, wire_fold(sum));
			if (len < 64)
				check_heap_sum(bytes, len);
			ut_check(sum < UINT64_C(1) << 35, "%zu bytes: partial sum %" PRIx64, len,
				 sum);
		}
	}
}

static void
sums_do_not_depend_on_alignment(void **state)
{
	struct ut_rng rng = ut_rng();
	uint8_t bytes[1600];
	uint8_t moved[1600 + 16];
	size_t len, at;

	(void)state;
	fill(&rng, bytes, sizeof(bytes), RANDOM);
	for (len = 0; len < sizeof(bytes); len += 1 + ut_rand_below(&rng, 40)) {
		for (at = 0; at < 16; at++) {
			memset(moved, 0xdb, sizeof(moved));
			memcpy(moved + at, bytes, len);
			ut_check(wire_fold(wire_sum(moved + at, len, 0)) == book_sum(bytes, len),
				 "%zu bytes at %zu", len, at);
		}
	}
}

static void
sums_add_up_over_any_split(void **state)
{
	struct ut_rng rng = ut_rng();
	static uint8_t bytes[9000];
	enum filling filling;
	size_t len, off, part;
	uint64_t sum;
	int n;

	(void)state;
	for (n = 0; n < 4000; n++) {
		filling = n % N_FILLINGS;
		len = ut_rand_below(&rng, one_in(&rng, 8) ? sizeof(bytes) : 100);
		fill(&rng, bytes, len, filling);
		sum = 0;
		for (off = 0; off < len; off += part) {
			/* Odd, even and empty parts. */
			part = ut_rand_below(&rng, one_in(&rng, 2) ? 4 : 100);
			if (part > len - off)
				part = len - off;
			sum = wire_sum_at(sum, wire_sum(bytes + off, part, 0), off);
		}
		ut_check(wire_fold(sum) == book_sum(bytes, len), "filling %d, %zu bytes: %04x",
			 filling, len, wire_fold(sum));
	}
}

static void
sums_continue_over_even_parts(void **state)
{
	struct ut_rng rng = ut_rng();
	uint8_t bytes[200];
	uint64_t sum;
	size_t cut;

	(void)state;
	fill(&rng, bytes, sizeof(bytes), RANDOM);
	for (cut = 0; cut <= sizeof(bytes); cut += 2) {
		sum = wire_sum(bytes, cut, 0);
		sum = wire_sum(bytes + cut, sizeof(bytes) - cut, sum);
		assert_int_equal(wire_fold(sum), book_sum(bytes, sizeof(bytes)));
	}
}

static void
folding_keeps_zero_apart_from_ffff(void **state)
{
	static const struct {
		uint64_t sum;
		uint16_t folded;
	} folds[] = {
		{0, 0},
		{1, 1},
		{0xffff, 0xffff},
		{0x10000, 1},
		{0x1fffe, 0xffff},
		{0xffffffff, 0xffff},
		{0x100000000, 1},
		{0xffff00000000, 0xffff},
		{0x1fffffffe, 0xffff},
		{0x1000000000000, 1},
		{0xffffffffffffffff, 0xffff},
		{0xfffffffffffffffe, 0xfffe},
		{0x123456789abcdef0, 0xe259}, /* 1234 + 5678 + 9abc + def0 = 1e258 */
	};
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(folds); i++) {
		ut_check(wire_fold(folds[i].sum) == folds[i].folded, "%" PRIx64 ": %04x, not %04x",
			 folds[i].sum, wire_fold(folds[i].sum), folds[i].folded);
	}
}

static void
pseudo_headers_are_summed_as_their_bytes(void **state)
{
	struct ut_rng rng = ut_rng();
	uint8_t p4[12], p6[40];
	wire_be32 src, dst;
	int n;

	(void)state;
	for (n = 0; n < 1000; n++) {
		/* RFC 768: source, destination, zero, protocol, length. */
		fill(&rng, p4, sizeof(p4), n % N_FILLINGS);
		p4[8] = 0;
		memcpy(&src, p4, 4);
		memcpy(&dst, p4 + 4, 4);
		assert_int_equal(wire_fold(wire_pseudo4(src, dst, p4[9], ut_get16(p4 + 10))),
				 book_sum(p4, sizeof(p4)));
		/* RFC 8200 8.1: source, destination, 32-bit length, three zeros, next header. */
		fill(&rng, p6, sizeof(p6), n % N_FILLINGS);
		memset(p6 + 36, 0, 3);
		assert_int_equal(wire_fold(wire_pseudo6(p6, p6 + 16, p6[39], ut_get32(p6 + 32))),
				 book_sum(p6, sizeof(p6)));
	}
}

static void
udp_checksum_of_built_datagrams_verifies(void **state)
{
	uint8_t frame[256];
	struct ut_pkt p = ut_pkt_udp();
	struct wire_view v;
	uint64_t sum;
	uint32_t len;

	(void)state;
	for (p.payload_len = 0; p.payload_len < 100; p.payload_len++) {
		len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
		v = parse_guarded(frame, len, len, &our_opt);
		assert_int_equal(v.kind, WIRE_UDP);
		sum = wire_pseudo4(v.src4, v.dst4, WIRE_PROTO_UDP, (uint16_t)v.udp_len);
		sum = wire_sum(frame + v.l2_len + v.l3_len, v.udp_len, sum);
		assert_int_equal(wire_fold(sum), 0xffff);
	}
}

static void
ip_header_checksum_is_that_of_the_book(void **state)
{
	struct ut_rng rng = ut_rng();
	uint8_t hdr[60];
	size_t len;
	int n;

	(void)state;
	for (n = 0; n < 400; n++) {
		for (len = 20; len <= 60; len += 4) {
			fill(&rng, hdr, len, n % N_FILLINGS);
			ut_put16(hdr + 10, 0);
			assert_int_equal(wire_ip4_csum(hdr, len), WIRE_BE16(ut_csum(hdr, len, 0)));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(each_rule_names_its_reason),
		cmocka_unit_test(options_are_skipped_when_sound_and_refused_when_not),
		cmocka_unit_test(view_tells_where_everything_is),
		cmocka_unit_test(destination_mac_group_is_told),
		cmocka_unit_test(promiscuous_accepts_foreign_macs_only_when_told),
		cmocka_unit_test(frames_longer_than_the_limit_are_refused),
		cmocka_unit_test(header_checksum_is_verified_unless_the_nic_did),
		cmocka_unit_test(header_checksum_zero_is_good_in_both_forms),
		cmocka_unit_test(first_broken_check_in_order_names_the_reason),
		cmocka_unit_test(truncated_frames_are_refused_at_every_length),
		cmocka_unit_test(random_frames_get_the_verdict_of_the_reference),
		cmocka_unit_test(random_bytes_get_the_verdict_of_the_reference),
		cmocka_unit_test(each_rule_of_ipv6_names_its_reason),
		cmocka_unit_test(who_has_no_address_may_ask_for_one),
		cmocka_unit_test(loopback_takes_what_no_wire_may_bring),
		cmocka_unit_test(truncated_ipv6_frames_are_refused_at_every_length),
		cmocka_unit_test(random_ipv6_frames_get_the_verdict_of_the_reference),
		cmocka_unit_test(sums_equal_the_book_at_every_length),
		cmocka_unit_test(sums_do_not_depend_on_alignment),
		cmocka_unit_test(sums_add_up_over_any_split),
		cmocka_unit_test(sums_continue_over_even_parts),
		cmocka_unit_test(folding_keeps_zero_apart_from_ffff),
		cmocka_unit_test(pseudo_headers_are_summed_as_their_bytes),
		cmocka_unit_test(udp_checksum_of_built_datagrams_verifies),
		cmocka_unit_test(ip_header_checksum_is_that_of_the_book),
	};

	return UT_RUN(cases, NULL, NULL);
}
