/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbour discovery messages for tests, byte by byte. */
#ifndef UT_NDP_H
#define UT_NDP_H

#include <string.h>

#include "common/ut_stack.h"

/* A message in the making: body is all behind the first four bytes of the ICMPv6 header. */
struct ut_nd {
	struct ut_pkt p;
	uint8_t body[2048];
	size_t len; /* of what follows the word behind the checksum */
};

/* From src (NULL: ::) at mac to dst, at the MAC of a group when it is one. */
static inline void
ut_nd_start(struct ut_nd *n, uint8_t type, const void *src, const void *mac, const void *dst)
{
	memset(n, 0, sizeof(*n));
	n->p = ut_pkt_icmp6_echo();
	n->p.icmp_type = type;
	n->p.icmp_id = n->p.icmp_seq = 0;
	n->p.ip_ttl = 255;
	memset(n->p.ip6_src, 0, 16);
	if (src != NULL)
		memcpy(n->p.ip6_src, src, 16);
	memcpy(n->p.ip6_dst, dst, 16);
	memcpy(n->p.eth_src, mac, 6);
	if (n->p.ip6_dst[0] == 0xff) {
		n->p.eth_dst[0] = n->p.eth_dst[1] = 0x33;
		memcpy(n->p.eth_dst + 2, n->p.ip6_dst + 12, 4);
	}
}

static inline void
ut_nd_put(struct ut_nd *n, const void *bytes, size_t len)
{
	memcpy(n->body + n->len, bytes, len);
	n->len += len;
}

/* An option of one unit with a MAC (1: source, 2: target), or any six bytes. */
static inline void
ut_nd_opt(struct ut_nd *n, uint8_t type, const void *six)
{
	uint8_t head[2] = {type, 1};

	ut_nd_put(n, head, 2);
	ut_nd_put(n, six, 6);
}

static inline void
ut_nd_rx(struct ut_stack *s, unsigned int port, struct ut_nd *n)
{
	n->p.payload = n->body;
	n->p.payload_len = n->len;
	ut_stack_rx(s, port, &n->p);
}

/* The solicited-node group of an address. */
static inline const uint8_t *
ut_nd_group(const void *ip)
{
	static uint8_t g[16] = {0xff, 2, [11] = 1, [12] = 0xff};

	memcpy(g + 13, (const uint8_t *)ip + 13, 3);
	return g;
}

/* NS of src (NULL: a probe) for target, to its group, with the source's MAC. */
static inline void
ut_nd_ns(struct ut_nd *n, const void *src, const void *mac, const void *target)
{
	ut_nd_start(n, 135, src, mac, ut_nd_group(target));
	ut_nd_put(n, target, 16);
	if (src != NULL)
		ut_nd_opt(n, 1, mac);
}

#define UT_NA_R 0x8000
#define UT_NA_S 0x4000
#define UT_NA_O 0x2000

/* NA about target at mac (NULL: no option) to dst. */
static inline void
ut_nd_na(struct ut_nd *n, const void *target, const void *mac, const void *dst, uint16_t flags)
{
	ut_nd_start(n, 136, target, mac != NULL ? mac : UT_PEER_MAC, dst);
	n->p.icmp_id = flags;
	ut_nd_put(n, target, 16);
	if (mac != NULL)
		ut_nd_opt(n, 2, mac);
}

/* Is the frame a good ICMPv6 message of this type, and whole? */
static inline bool
ut_nd_is(const struct ut_frame *f, uint8_t type)
{
	const size_t len = f->len >= 54 ? f->len - 54u : 0;

	return len >= 8 && ut_get16(f->b + 12) == 0x86dd && f->b[20] == 58 && f->b[21] == 255 &&
	       ut_get16(f->b + 18) == len && f->b[54] == type && f->b[55] == 0 &&
	       ut_csum(f->b + 54, len, ut_pseudo_sum6(f->b + 22, f->b + 38, 58, (uint32_t)len)) ==
		       0;
}

#endif /* UT_NDP_H */
