/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two ends of the VM suite agree on: the guest's traffic programs and the host's peer.
 * Requests go over TCP, one a connection; contents are a pattern that any byte position can be
 * recomputed from, so that a lost, repeated or shifted piece is seen. Same machine, same byte
 * order: the structs go as they are.
 */
#ifndef VM_WIRE_H
#define VM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VM_MAGIC     0x77656972766d7431u /* "weirvmt1" */
#define VM_ETHERTYPE 0x88b5u             /* local experiments */
#define VM_BATCH     32u                 /* datagrams in flight */

enum vm_op {
	VM_TCP_UP = 1, /* the client sends size_bytes, the peer checks */
	VM_TCP_DOWN,   /* the peer sends, the client checks */
	VM_UDP_UP,     /* datagrams of dgram_bytes from the client, acknowledged by batch */
	VM_UDP_DOWN,   /* the same from the peer */
	VM_RAW,        /* the peer sends count Ethernet frames to mac, then one to end_mac */
};

struct vm_request {
	uint64_t magic;
	uint32_t op;
	uint32_t dgram_bytes;
	uint64_t size_bytes;
	uint64_t seed;
	uint32_t count;
	uint16_t udp_port; /* VM_UDP_DOWN: where the client listens */
	uint8_t mac[6];
	uint8_t end_mac[6];
	uint16_t pad;
};

struct vm_reply {
	uint64_t magic;
	uint64_t n_good; /* bytes, or datagrams */
	uint64_t n_bad;
	uint32_t udp_port; /* VM_UDP_UP: where to send */
	uint32_t pad;
};

/* In front of each datagram and raw frame payload. */
struct vm_dgram {
	uint64_t seq;
	uint32_t is_end;
	uint32_t pad;
};

/* The 64-bit word number @i of the pattern. */
static inline uint64_t
vm_word(uint64_t seed, uint64_t i)
{
	uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	return z ^ (z >> 27);
}

/* Pattern bytes [at, at + len) of the stream; at is a multiple of 8. */
static inline void
vm_fill(uint8_t *dst, size_t len, uint64_t seed, uint64_t at)
{
	for (size_t i = 0; i < len; i += 8) {
		uint64_t w = vm_word(seed, (at + i) / 8);

		memcpy(dst + i, &w, len - i < 8 ? len - i : 8);
	}
}

/* Does any byte differ? at may be any position. */
static inline bool
vm_check(const uint8_t *src, size_t len, uint64_t seed, uint64_t at)
{
	size_t i = 0;

	while (i < len) {
		uint64_t w = vm_word(seed, (at + i) / 8);
		size_t skip = (at + i) % 8, n = 8 - skip < len - i ? 8 - skip : len - i;

		if (memcmp(src + i, (const uint8_t *)&w + skip, n) != 0)
			return false;
		i += n;
	}
	return true;
}

#endif
