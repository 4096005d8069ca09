/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames that the guest's DPDK program and the host's reflector exchange: Ethernet, IPv4, UDP,
 * a mark, a sequence number and a pattern that follows from it. Whole frames are checked, with
 * both checksums. Header only: both ends are small programs that share nothing else.
 */
#ifndef VM_FLOW_H
#define VM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire.h"

#define FLOW_THERE  0x6f7574776172643eu /* guest to host */
#define FLOW_BACK   0x3c68656d65776172u /* host to guest */
#define FLOW_HEADER 42u                 /* Ethernet, IPv4 and UDP */
#define FLOW_MIN    (FLOW_HEADER + 16u)

enum flow_verdict {
	FLOW_GOOD,
	FLOW_BAD,
	FLOW_OTHER, /* not one of ours */
};

static inline uint32_t
flow_sum(const uint8_t *p, size_t len, uint32_t sum)
{
	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += (uint32_t)p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static inline void
flow_put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static inline uint32_t
flow_get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

/* Sum of the UDP pseudo header. */
static inline uint32_t
flow_pseudo(const uint8_t *frame, uint32_t udp_bytes)
{
	return flow_sum(frame + 26, 8, 17 + udp_bytes);
}

/*
 * Writes a frame of @len bytes. The checksums are the complete ones, or, for a device that
 * inserts them, zero and the pseudo header's sum.
 */
static inline void
flow_make(uint8_t *frame, uint32_t len, const uint8_t dst[6], const uint8_t src[6], uint32_t flow,
	  uint64_t seq, bool offload)
{
	uint32_t ip_bytes = len - 14, udp_bytes = len - 34;
	uint64_t mark = FLOW_THERE;

	memset(frame, 0, FLOW_HEADER);
	memcpy(frame, dst, 6);
	memcpy(frame + 6, src, 6);
	flow_put16(frame + 12, 0x0800);
	frame[14] = 0x45;
	flow_put16(frame + 16, ip_bytes);
	flow_put16(frame + 18, (uint32_t)seq & 0xffff);
	frame[22] = 64;
	frame[23] = 17;
	frame[26] = 10;
	frame[27] = 1;
	flow_put16(frame + 28, flow & 0xffff);
	frame[30] = 10;
	frame[31] = 2;
	flow_put16(frame + 32, flow * 7919 & 0xffff);
	flow_put16(frame + 34, 9000 + (flow & 0xfff));
	flow_put16(frame + 36, 9);
	flow_put16(frame + 38, udp_bytes);
	memcpy(frame + FLOW_HEADER, &mark, 8);
	memcpy(frame + FLOW_HEADER + 8, &seq, 8);
	vm_fill(frame + FLOW_MIN, len - FLOW_MIN, seq, 0);
	if (offload) {
		flow_put16(frame + 40, flow_pseudo(frame, udp_bytes));
	} else {
		uint32_t sum;

		flow_put16(frame + 24, ~flow_sum(frame + 14, 20, 0) & 0xffff);
		sum = ~flow_sum(frame + 34, udp_bytes, flow_pseudo(frame, udp_bytes)) & 0xffff;
		flow_put16(frame + 40, sum ? sum : 0xffff);
	}
}

static inline uint64_t
flow_seq(const uint8_t *frame)
{
	uint64_t seq;

	memcpy(&seq, frame + FLOW_HEADER + 8, 8);
	return seq;
}

static inline enum flow_verdict
flow_check(const uint8_t *frame, uint32_t len, uint64_t mark)
{
	uint32_t udp_bytes = len - 34;
	uint64_t m;

	if (len < FLOW_MIN || flow_get16(frame + 12) != 0x0800 || frame[14] != 0x45 ||
	    frame[23] != 17)
		return FLOW_OTHER;
	memcpy(&m, frame + FLOW_HEADER, 8);
	if (m != FLOW_THERE && m != FLOW_BACK)
		return FLOW_OTHER;
	if (m != mark || flow_get16(frame + 16) != len - 14 ||
	    flow_get16(frame + 38) != udp_bytes || flow_sum(frame + 14, 20, 0) != 0xffff ||
	    flow_sum(frame + 34, udp_bytes, flow_pseudo(frame, udp_bytes)) != 0xffff ||
	    !vm_check(frame + FLOW_MIN, len - FLOW_MIN, flow_seq(frame), 0))
		return FLOW_BAD;
	return FLOW_GOOD;
}

/* Swaps the addresses and changes the mark; the checksum follows. */
static inline void
flow_turn(uint8_t *frame, uint32_t len)
{
	uint32_t udp_bytes = len - 34, sum;
	uint64_t mark = FLOW_BACK;
	uint8_t tmp[6];

	memcpy(tmp, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, tmp, 6);
	memcpy(tmp, frame + 26, 4);
	memcpy(frame + 26, frame + 30, 4);
	memcpy(frame + 30, tmp, 4);
	memcpy(tmp, frame + 34, 2);
	memcpy(frame + 34, frame + 36, 2);
	memcpy(frame + 36, tmp, 2);
	memcpy(frame + FLOW_HEADER, &mark, 8);
	flow_put16(frame + 40, 0);
	sum = ~flow_sum(frame + 34, udp_bytes, flow_pseudo(frame, udp_bytes)) & 0xffff;
	flow_put16(frame + 40, sum ? sum : 0xffff);
}

#endif
