/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The checked parse, rule by rule and against a dumb reference parser; the sums against the
 * checksum by the book. Every frame that is parsed here ends at a guard page, so that a read beyond
 * the given bytes ends the program.
 */
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
	static const char *const kinds[] = {"UDP", "ARP", "ICMP", "DROP", "MORE"};
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
	if (v->kind == WIRE_UDP || v->kind == WIRE_ICMP)
		return v->l2_len + v->l3_len + 8u;
	return v->kind == WIRE_ARP ? v->l2_len + 28u : 0;
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
	{"EtherType IPv6", "RFC 2464 3", UDP, {{ETH(type), 0x86dd}}, ALL, DROP(ETH_TYPE)},
	{"EtherType VLAN", "IEEE 802.1Q 9.6", UDP, {{ETH(type), 0x8100}}, ALL, DROP(ETH_VLAN)},
	{"EtherType QinQ", "IEEE 802.1Q 9.5", UDP, {{ETH(type), 0x88a8}}, ALL, DROP(ETH_VLAN)},

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
	{"first fragment", "RFC 791 3.2", UDP, {{IP4(frag), 0x2000}}, ALL, DROP(IP_FRAG)},
	{"middle fragment", "RFC 791 3.2", UDP, {{IP4(frag), 0x2001}}, ALL, DROP(IP_FRAG)},
	{"last fragment, offset 1", "RFC 791 3.2", UDP, {{IP4(frag), 0x0001}}, ALL, DROP(IP_FRAG)},
	{"last fragment, offset 256", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x0100}}, ALL, DROP(IP_FRAG)},
	{"last fragment, offset 8191", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x1fff}}, ALL, DROP(IP_FRAG)},
	{"last fragment, don't fragment", "RFC 791 3.2",
	 UDP, {{IP4(frag), 0x4001}}, ALL, DROP(IP_FRAG)},
	{"last fragment of ICMP", "RFC 791 3.2", ICMP, {{IP4(frag), 0x0001}}, ALL, DROP(IP_FRAG)},
	{"last fragment of TCP", "RFC 791 3.2",
	 UDP, {{IP4(frag), 1}, {IP4(proto), 6}}, ALL, DROP(IP_FRAG)},

	/* 14. */
	{"source 0.0.0.0", "RFC 1122 3.2.1.3 (a)", UDP, {{IP4(src), 0}}, ALL, DROP(IP_SRC)},
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
	{"protocol IGMP", "RFC 791 3.1", UDP, {{IP4(proto), 2}}, ALL, DROP(IP_PROTO)},
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
	ut_check_bytes(&v, &want, sizeof(v), "UDP view");

	p = ut_pkt_icmp_echo();
	len = (uint32_t)ut_pkt_bytes(&p, frame, sizeof(frame));
	v = parse_guarded(frame, len, len, &our_opt);
	want.kind = WIRE_ICMP;
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
	{24, 0x00, 0x00, WEIR_DROP_IP_CSUM},    {21, 0x00, 0x01, WEIR_DROP_IP_FRAG},
	{26, 0xff, 0xe0, WEIR_DROP_IP_SRC},     {30, 0xff, 0x7f, WEIR_DROP_IP_DST},
	{23, 0xff, 0x06, WEIR_DROP_IP_PROTO},   {38, 0x00, 0x80, WEIR_DROP_UDP_LENGTH},
	{36, 0xff, 0x00, WEIR_DROP_UDP_PORT0},
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
reference_options_ok(const struct reference *r, uint32_t at, uint32_t end)
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
		at += number(r, at + 1, 1);
	}
	return true;
}

/* The reason for which this whole frame is to be refused, or -1; written from the RFCs' text. */
static int
reference_reason(const struct reference *r, struct wire_view *v)
{
	static const uint8_t none[6] = {0}, all[6] = {255, 255, 255, 255, 255, 255};
	uint32_t type, ihl, total, transport, src, dst;

	if (r->len < 14)
		return WEIR_DROP_ETH_SHORT;
	if (r->opt->max_frame > 0 && r->len > r->opt->max_frame)
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
	if (type == 0x8100 || type == 0x88a8)
		return WEIR_DROP_ETH_VLAN;
	if (type == 0x0806) {
		v->kind = WIRE_ARP;
		if (r->len < 42 || number(r, 14, 2) != 1 || number(r, 16, 2) != 0x0800 ||
		    number(r, 18, 1) != 6 || number(r, 19, 1) != 4)
			return WEIR_DROP_ARP_BAD;
		return -1;
	}
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
	if (!reference_options_ok(r, 34, 14 + 4 * ihl))
		return WEIR_DROP_IP_OPTION;
	if (number(r, 20, 2) / 8192 % 2 == 1 || number(r, 20, 2) % 8192 != 0)
		return WEIR_DROP_IP_FRAG;
	src = number(r, 26, 4);
	if (r->byte[26] == 0 || r->byte[26] == 127 || r->byte[26] >= 224)
		return WEIR_DROP_IP_SRC;
	dst = number(r, 30, 4);
	if (dst == 0 || r->byte[30] == 127)
		return WEIR_DROP_IP_DST;
	v->l3_len = (uint8_t)(4 * ihl);
	v->l3_payload = total - 4 * ihl;
	v->src4 = WIRE_BE32(src);
	v->dst4 = WIRE_BE32(dst);
	transport = 14 + 4 * ihl;
	if (r->byte[23] == 1) {
		v->kind = WIRE_ICMP;
		return total - 4 * ihl < 8 ? WEIR_DROP_ICMP_SHORT : -1;
	}
	if (r->byte[23] != 17)
		return WEIR_DROP_IP_PROTO;
	v->kind = WIRE_UDP;
	if (total - 4 * ihl < 8)
		return WEIR_DROP_UDP_SHORT;
	v->sport = WIRE_BE16(number(r, transport, 2));
	v->dport = WIRE_BE16(number(r, transport + 2, 2));
	v->udp_len = number(r, transport + 4, 2);
	if (v->udp_len < 8 || v->udp_len > total - 4 * ihl)
		return WEIR_DROP_UDP_LENGTH;
	return v->dport == 0 ? WEIR_DROP_UDP_PORT0 : -1;
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
		memset(&v, 0, sizeof(v));
		v.kind = WIRE_DROP;
		v.reason = (uint8_t)reason;
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
		WEIR_DROP_IP_OPTION,  WEIR_DROP_IP_FRAG,      WEIR_DROP_IP_SRC,
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
