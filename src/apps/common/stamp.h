/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stamp that udpflood --stamp writes at the start of each payload and udp_sink --check reads.
 *
 *   byte   0- 1   magic 0x5752
 *          2- 7   sequence number, 48 bits, counted from 0 by each source address and port
 *          8-15   sender's clock in ns: only the sender can make sense of it
 *         16-     pattern: byte i is (key + i) mod 256, with the key mixed from sequence and time,
 *                 so that a damaged stamp does not fit its own pattern
 *
 * All numbers in network byte order. A payload without a stamp is the pattern of key 0 from its
 * first byte on. Pure bytes: no DPDK, no state but one constant table.
 */
#ifndef APP_STAMP_H
#define APP_STAMP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define STAMP_LEN         16
#define STAMP_MAGIC       UINT64_C(0x5752)
#define STAMP_SEQ_MASK    ((UINT64_C(1) << 48) - 1)
#define STAMP_PAYLOAD_MAX 65507 /* largest UDP payload over IPv4 */

/** Byte i is i mod 256; any key's pattern starts somewhere in the first 256 bytes. */
extern uint8_t stamp_table[256 + 65536];

/** Fill the table; before anything else here, by one thread. */
void stamp_init(void);

/** Pattern of a key from payload byte offset on; good for STAMP_PAYLOAD_MAX bytes. */
static inline const uint8_t *
stamp_pattern(uint8_t key, size_t offset)
{
	return &stamp_table[(key + offset) & 0xff];
}

static inline uint8_t
stamp_key(uint64_t seq, uint64_t time_ns)
{
	return (uint8_t)((seq * UINT64_C(0x9e3779b97f4a7c15) ^
			  time_ns * UINT64_C(0xc2b2ae3d27d4eb4f)) >>
			 56);
}

/** Write the 16 bytes; the rest of the payload is the pattern of the key that comes back. */
static inline uint8_t
stamp_put(uint8_t *p, uint64_t seq, uint64_t time_ns)
{
	uint64_t w0 = __builtin_bswap64(STAMP_MAGIC << 48 | (seq & STAMP_SEQ_MASK));
	uint64_t w1 = __builtin_bswap64(time_ns);

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "byte swaps above");
	memcpy(p, &w0, sizeof(w0));
	memcpy(p + 8, &w1, sizeof(w1));
	return stamp_key(seq & STAMP_SEQ_MASK, time_ns);
}

/** 0 with the sequence number, or -1: too short, no stamp, or damaged. */
static inline int
stamp_get(const uint8_t *p, size_t len, uint64_t *seq)
{
	uint64_t w0, w1;

	if (len < STAMP_LEN || len > STAMP_PAYLOAD_MAX)
		return -1;
	memcpy(&w0, p, sizeof(w0));
	memcpy(&w1, p + 8, sizeof(w1));
	w0 = __builtin_bswap64(w0);
	w1 = __builtin_bswap64(w1);
	if (w0 >> 48 != STAMP_MAGIC)
		return -1;
	*seq = w0 & STAMP_SEQ_MASK;
	return memcmp(p + STAMP_LEN, stamp_pattern(stamp_key(*seq, w1), STAMP_LEN),
		      len - STAMP_LEN) == 0
		       ? 0
		       : -1;
}

#endif /* APP_STAMP_H */
