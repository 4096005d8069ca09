/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly (src/stack/reasm.h) beside a reference that keeps a map of bytes: each fragment goes to both, and
 * whatever can be seen must be equal after each: what comes out, byte by byte; every drop counter; what waits;
 * memory; buffers; ICMP errors. For test_reasm.c and fuzz_reasm.c.
 *
 * The engine stands alone: a struct weir_lcore and as much of a stack as it reads; ICMP errors end in the rig
 * (--wrap of the linker). The reference knows the rules and nothing of how the engine keeps them.
 */
#ifndef REASM_RIG_H
#define REASM_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "icmp.h"
#include "reasm.h"

#define RR_PORTS     2
#define RR_FRAME_MAX 10240
#define RR_BUF_SIZE  2304 /* true size of a fragment in one buffer of the pool */

/* Buffers that a frame comes in. */
enum rr_shape {
	RR_ONE,    /* as few as it needs */
	RR_SPLIT,  /* the headers in one, the rest in another */
	RR_CHAIN,  /* cut at odd places, with an empty segment */
	RR_EXTERN, /* external memory that ends at a guard page */
	RR_SHARED, /* somebody else holds the mbuf */
	RR_CLONE,  /* somebody else holds the bytes */
	RR_SHAPES
};

/* A fragment. Sources: 10.1.flow.2 or 2001:db8:0:flow::2. */
struct rr_piece {
	uint8_t family; /* 4 or 6 */
	uint8_t flow;
	uint8_t proto;
	uint8_t port;
	uint32_t id;
	uint16_t off; /* bytes, multiple of 8 */
	bool more;
	uint32_t len;      /* bytes of payload */
	uint8_t traffic;   /* TOS or traffic class */
	uint8_t extra;     /* bytes of IPv4 options (of 4), or of hop-by-hop header (of 8) */
	uint8_t variant;   /* of the payload's bytes */
	uint8_t padding;   /* behind the packet */
	uint8_t shape;     /* enum rr_shape */
	const uint8_t *at; /* payload; NULL: made up from id, variant and position */
};

struct rr_conf {
	uint32_t mem, source_mem, ms;
	unsigned int buffers; /* in the pool */
};

/* What has come of one fragment. */
struct rr_got {
	bool whole;
	uint32_t len; /* of the frame that came out */
	uint8_t *frame;
	uint16_t segs;
	enum weir_drop reason; /* the first counter that grew; WEIR_DROP_N: none */
	unsigned int n_icmp;
	enum weir_icmp_why why; /* of the last ICMP error */
	uint32_t pointer;
};

extern struct weir_lcore *rr_lc;
extern struct rte_mempool *rr_pool;

/* What to do when something is wrong: the text says what. Must not return. */
extern void (*rr_die)(const char *text);

/* A fresh engine: 0, or what weir_reasm_init() says. */
int rr_up(const struct rr_conf *conf);
/* Flush, and look whether everything is back. */
void rr_down(void);

/* UDP over IPv4, id 1, from offset 0, more to come; 1480 bytes. */
struct rr_piece rr_piece4(void);
struct rr_piece rr_piece6(void);

/* Feed it to both and compare. */
const struct rr_got *rr_feed(const struct rr_piece *p);

/*
 * The same without the reference, for a storm of fragments: only bounds and conservation are looked at. Is the
 * datagram whole?
 */
bool rr_storm(const struct rr_piece *p);

/* Write the frame and its view; the frame's length. */
uint32_t rr_frame(const struct rr_piece *p, uint8_t *frame, struct wire_view *v);

/* Let time pass, and let both take a tick. n_icmp of the result: errors sent. */
const struct rr_got *rr_pass(uint64_t ns);
/* Let time pass alone. */
void rr_wait(uint64_t ns);
void rr_flush(int port);

/* What the engine says that it holds; checked against the reference after each step anyhow. */
struct weir_reasm_info rr_info(void);

/* A program of such steps from bytes: all that the fuzzer makes, and what a seed makes. */
void rr_run(const uint8_t *bytes, size_t n);

#endif /* REASM_RIG_H */
