/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the model's tests share: a card with machines on its functions, a wire that remembers, and
 * frames.  Every fixture checks at the end that the model touched no memory it should not have,
 * unless the test says that it expects so.
 */
#ifndef MT_H
#define MT_H

#include "rawdrv.h"
#include "ut.h"

#define MT_FNS    4
#define MT_CAUGHT 64

struct mt_wire {
	unsigned int n;
	uint32_t len[MT_CAUGHT];
	uint8_t frame[MT_CAUGHT][RAW_FRAME_MAX];
};

struct mt {
	struct liqm_card *card;
	struct raw_host host[MT_FNS];
	struct raw drv[MT_FNS];
	unsigned int n_fns;
	struct mt_wire wire;
	uint64_t expect_bad; /* DMA that is meant to fail */
	struct raw_pkt pkt;
};

/* Card and machines from the configuration; the first MT_FNS functions get one each. */
struct mt *mt_new(const struct liqm_card_cfg *cfg);
/* A VF-only card with one VF of n rings. */
struct mt *mt_vf(unsigned int n_rings);
/* The same, up to RX_CTL 1, its link notification taken. */
struct mt *mt_vf_up(unsigned int n_rings, bool info_mode);
void mt_free(struct mt *m);

uint64_t mt_count(const struct mt *m, enum liqm_counter which); /* of function 0 */

/* ---- frames ---- */

extern const uint8_t mt_peer_mac[6];

struct mt_frame {
	uint8_t b[RAW_FRAME_MAX];
	uint32_t len;
	uint32_t l3, l4, payload; /* offsets */
};

enum mt_proto { MT_RAW, MT_UDP4, MT_TCP4, MT_UDP6, MT_TCP6 };

/*
 * Ethernet, IPv4 or IPv6, UDP or TCP, n payload bytes with a pattern from the seed; all checksums
 * right.  Addresses and ports end in a, b.
 */
void mt_build(struct mt_frame *f, const uint8_t *dst, const uint8_t *src, enum mt_proto proto,
	      uint32_t n, unsigned int seed);
void mt_tag(struct mt_frame *f, uint16_t tci);
/* Wraps f into a VXLAN packet to port 4789. */
void mt_vxlan(struct mt_frame *f, const uint8_t *dst, const uint8_t *src);
/* Recomputes, byte by byte and from scratch: 0 when the sums are right. */
uint16_t mt_ip_sum(const uint8_t *ip, uint32_t hdr_bytes);
uint16_t mt_l4_sum(const uint8_t *frame, uint32_t l3, uint32_t l4, uint32_t end, uint8_t proto);
uint16_t mt_be16(const uint8_t *p);
void mt_put16(uint8_t *p, unsigned int v);

/* Delivers from the wire. */
int mt_in(struct mt *m, const struct mt_frame *f);

#endif /* MT_H */
