/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the packet benchmarks run on: a stack with one worker, the calling EAL thread, on one feed
 * port, a socket on port 9000, and a default route through a known neighbour. The loops without a stack
 * use the very same port, pool and memory while the stack is not polled, so both see the same feed, the
 * same buffers in flight and the same pages.
 */
#ifndef BENCH_RIG_H
#define BENCH_RIG_H

#include <rte_mbuf.h>

#include <weir/weir.h>

#include "harness.h"
#include "wire.h"

#define RIG_BURST_MAX 32
#define RIG_ROOM      1536 /* bytes that an application has for one datagram */

#define RIG_OUR_IP    0x0a000001u /* 10.0.0.1, host order */
#define RIG_PEER_IP   0x0a000002u
#define RIG_PORT      9000
#define RIG_PEER_PORT 7000

struct rig_conf {
	const char *name;
	bool offload;       /* the port verifies and makes checksums */
	bool v6;            /* fd00::2 to fd00::1 instead */
	unsigned int burst; /* receive burst of the stack and of the loops */
	/* Receive queues; 0: 1. Of several the stack polls the first, the benchmark the others. */
	unsigned int queues;
	bool flood; /* more comes than is read: rcvq_full is no mistake */
};

/* Where an application copies to. */
struct rig_slot {
	struct weir_addr peer;
	uint32_t len;
	uint8_t bytes[RIG_ROOM];
};

struct rig {
	const struct rig_conf *conf;
	unsigned int payload_bytes;
	char device[32];
	uint16_t ethdev;
	struct weir_stack *stack;
	struct weir_lcore *lc;
	struct weir_socket *sk; /* bound to RIG_PORT, connected to the peer by rig_connect() */
	struct rte_mempool *pool;
	struct rte_mempool *queue_pool; /* of a port with several queues */
	struct wire_eth eth;            /* of a frame to the port */
	struct weir_addr our, peer;
	struct rig_slot slot[RIG_BURST_MAX];
	uint8_t payload[RIG_ROOM];
};

/* Make everything and attach the calling thread. Says what failed; 0 or -1. */
int rig_up(struct rig *r, const struct rig_conf *conf, const struct bench_opts *opts);

/* Take everything down: -1 when datagrams or buffers have vanished, or the port complains. */
int rig_down(struct rig *r);

int rig_connect(struct rig *r);

/* Write the frame of a datagram of len bytes from peer to us, sums in place. Returns its length. */
uint16_t rig_frame(const struct rig *r, uint8_t *frame, unsigned int len);

#endif /* BENCH_RIG_H */
