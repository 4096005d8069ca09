/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II (CN23XX) words in memory: instructions and gather lists (host to card), output
 * descriptors, info blocks and receive headers (card to host).
 *
 * Part of the hardware contract that the driver and the device model share: constants and
 * inline accessors, no state, nothing but <stdint.h>.  Sources: docs/liquidio-hw.md.
 *
 * Two byte orders are in use.  Instructions, gather lists and output descriptors are words in
 * the host's own order.  What firmware reads or writes as data (receive headers, lengths,
 * command and response payloads) are "BE words": liq_be64() turns one into a value and back.
 */
#ifndef LIQ_DESC_H
#define LIQ_DESC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "liq_regs.h"

static inline uint64_t
liq_be64(uint64_t raw)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap64(raw);
#else
	return raw;
#endif
}

static inline uint64_t
liq_be64_load(const void *mem)
{
	const uint8_t *b = (const uint8_t *)mem;
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | b[i];
	return v;
}

static inline void
liq_be64_store(void *mem, uint64_t value)
{
	uint8_t *b = (uint8_t *)mem;

	for (int i = 7; i >= 0; i--) {
		b[i] = (uint8_t)value;
		value >>= 8;
	}
}

/* One 64-byte instruction. */
struct liq_instr {
	uint64_t dptr;    /* IOVA of the data, or of the gather list */
	uint64_t ih3;     /* DPI header */
	uint64_t pki_ih3; /* PKI header */
	uint64_t irh;     /* request header */
	uint64_t ossp[2]; /* operation-specific words */
	uint64_t rdp;     /* only with LIQ_IRH_RFLAG */
	uint64_t rptr;    /* only with LIQ_IRH_RFLAG: IOVA of the response */
};
static_assert(sizeof(struct liq_instr) == 64, "instruction");
static_assert(offsetof(struct liq_instr, rptr) == 56, "instruction");

#define LIQ_INSTR_32B 32 /* entry size while IN_CTL.IS_64B is 0: no ossp, rdp, rptr */

#define LIQ_IH3_PKIND   32, 6
#define LIQ_IH3_FSZ     42, 6
#define LIQ_IH3_DLENGSZ 48, 14 /* bytes, or pointers of a gather list */
#define LIQ_IH3_GATHER  (UINT64_C(1) << 62)
#define LIQ_DLEN_MAX    16383u

#define LIQ_FSZ_PLAIN 32u /* pki_ih3, irh, ossp[2] */
#define LIQ_FSZ_RESP  48u /* and rdp, rptr */

#define LIQ_PKI_TAG     0, 32
#define LIQ_PKI_QPG     32, 11
#define LIQ_PKI_TAGTYPE 45, 2
#define LIQ_PKI_UTT     (UINT64_C(1) << 47)
#define LIQ_PKI_SL      48, 8
#define LIQ_PKI_PM      56, 3
#define LIQ_PKI_UQPG    (UINT64_C(1) << 60)
#define LIQ_PKI_UTAG    (UINT64_C(1) << 61)
#define LIQ_PKI_RAW     (UINT64_C(1) << 62)
#define LIQ_PKI_W       (UINT64_C(1) << 63)

#define LIQ_TAG_DATA    0x11111111u /* plus port */
#define LIQ_TAG_CONTROL 0x11111110u
#define LIQ_TAG_ORDERED 0u
#define LIQ_TAG_ATOMIC  1u

#define LIQ_IRH_OSSP     0, 32
#define LIQ_IRH_PRIORITY 37, 3
#define LIQ_IRH_VLAN     40, 12 /* 0: insert none */
#define LIQ_IRH_SUBCODE  52, 7
#define LIQ_IRH_RFLAG    (UINT64_C(1) << 59)
#define LIQ_IRH_OPCODE   60, 4

/* IRH_OSSP of a data packet. */
#define LIQ_PKT_TSFLAG   (UINT64_C(1) << 4)
#define LIQ_PKT_TNL_CSUM (UINT64_C(1) << 5)
#define LIQ_PKT_L4_CSUM  (UINT64_C(1) << 6)
#define LIQ_PKT_IP_CSUM  (UINT64_C(1) << 7)

/* ossp[0] of a data packet; 0: no segmentation. */
#define LIQ_TSO_SEGS 32, 16
#define LIQ_TSO_MSS  48, 16

#define LIQ_RDP_RLEN      0, 12
#define LIQ_RDP_PCIE_PORT 12, 3

/* Gather list: four pointers to an entry; the size of pointer i is LIQ_GATHER_SIZE(i & 3). */
struct liq_gather {
	uint64_t sizes;
	uint64_t ptr[4];
};
static_assert(sizeof(struct liq_gather) == 40, "gather entry");

#define LIQ_GATHER_SIZE(slot) (48 - 16 * (slot)), 16
#define LIQ_GATHER_MAX_PTRS   64u /* the most seen to work in the field */

/* Output descriptor and info block. */
struct liq_out_desc {
	uint64_t buf_iova;
	uint64_t info_iova; /* 0 in buffer-pointer mode */
};
static_assert(sizeof(struct liq_out_desc) == 16, "output descriptor");

struct liq_out_info { /* info-pointer mode with ISIZE 8; both BE */
	uint64_t rh;
	uint64_t length; /* counts the receive header */
};
static_assert(sizeof(struct liq_out_info) == 16, "info block");

#define LIQ_OUT_ISIZE     8u
#define LIQ_OUT_HEAD      16u /* buffer-pointer mode: length and receive header */
#define LIQ_OUT_LEN_BYTES 8u

/* Receive header: common part. */
#define LIQ_RH_OPCODE  60, 4
#define LIQ_RH_SUBCODE 52, 8
#define LIQ_RH_LEN     49, 3 /* words between this header and the payload */
#define LIQ_RH_OSSP    0, 32

/* Receive header of a frame. */
#define LIQ_RH_VLAN     9, 12
#define LIQ_RH_PRIORITY 6, 3
#define LIQ_RH_CSUM     3, 3
#define LIQ_RH_CSUM_L4  UINT64_C(0x1)
#define LIQ_RH_CSUM_IP  UINT64_C(0x2)
#define LIQ_RH_CSUM_TNL UINT64_C(0x4)
#define LIQ_RH_HWTSTAMP (UINT64_C(1) << 2)
#define LIQ_RH_ENCAP    (UINT64_C(1) << 1)
#define LIQ_RH_HASH     (UINT64_C(1) << 0)

/* Word in front of the frame when LIQ_RH_HASH is set. */
#define LIQ_HASH_VALUE 32, 32
#define LIQ_HASH_TYPE  0, 32

/* Receive header of CORE_DRV_ACTIVE. */
#define LIQ_RH_NUM_GMX  30, 8
#define LIQ_RH_MAX_NICS 20, 10
#define LIQ_RH_APP_CAPS 16, 4
#define LIQ_RH_APP_MODE 8, 8
#define LIQ_RH_PKIND    0, 8

/* Receive header of a link notification. */
#define LIQ_RH_GMXPORT 0, 16

#endif /* LIQ_DESC_H */
