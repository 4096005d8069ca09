/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An output queue: packets from card to host, in buffer-pointer mode.
 *
 * All of it is one memzone: M descriptors, M records, this struct.  The card writes length,
 * receive header and hash word in front of the frame, into the buffer itself, so that one cache
 * line brings all of what the driver and the first layer of its user look at.
 *
 *	buffer     headroom (128) | length 8 | header 8 | hash 8 | frame ...
 *	                          ^ descriptor                   ^ data_off when there is a hash
 *
 * Threads: the receiving thread alone.  Arrival is the card's running count of packets, read when
 * fewer are known than asked for; refill and credits come once per burst.  Whatever the card
 * says is bounded before use.  A packet that makes no sense is dropped and counted, and when it
 * is not clear any more which descriptors the card has used, its credit register tells (resync).
 *
 * What is not a frame (link and VF notices) goes to struct liq_notices, for control to look at.
 */
#ifndef LIQ_OQ_H
#define LIQ_OQ_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "liq_desc.h"
#include "liq_io.h"
#include "liq_mem.h"

#define LIQ_RX_DESC_ALIGN 1
#define LIQ_RX_DESC_DFLT  512
#define LIQ_RX_FREE_DFLT  32u                /* used descriptors from which they are refilled */
#define LIQ_RX_HEAD_MAX   (LIQ_OUT_HEAD + 8) /* in front of a frame: length, header, hash */
#define LIQ_RX_BUF_MIN    256u

/* What firmware said beside frames.  One writer (who polls output queue 0), any reader. */
struct liq_notices {
	_Atomic uint64_t link; /* the last link word; valid when n_link is not 0 */
	_Atomic uint32_t n_link;
	_Atomic uint64_t core_active; /* receive header of CORE_DRV_ACTIVE, 0: not yet */
	_Atomic uint64_t vfs_loaded;  /* bit n: VF n + 1 has a driver */
	_Atomic uint32_t n_other;     /* of kinds that we do not know */
};

/* Takes a packet that is not a frame; data has len bytes, of which the first 16 at most are used. */
void liq_notice_take(struct liq_notices *notices, uint64_t rh, const uint8_t *data, uint32_t len);

struct liq_oq_stats {
	uint64_t n_pkts;
	uint64_t n_bytes;
	uint64_t n_chains;  /* packets in several buffers */
	uint64_t n_errors;  /* packets dropped: lengths or headers that cannot be */
	uint64_t n_nombuf;  /* refills put off: no mbufs */
	uint64_t n_resyncs; /* times that the position was taken from the credit register */
	uint64_t n_lies;    /* counts or credits that could not be true; the queue stopped */
	uint64_t n_notices;
};

struct liq_oq {
	/* Read by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) struct rte_mbuf **rec;
	struct liq_out_desc *desc;
	struct liq_io io;
	struct rte_mempool *pool;
	uint32_t n_desc;
	uint32_t off; /* of the ring's registers */

	/* Written by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) uint32_t head; /* next packet */
	uint32_t tail;                              /* next to be refilled */
	uint32_t n_posted;                          /* descriptors that carry buffers */
	uint32_t n_known; /* packets that the card has counted and nobody has taken */
	uint32_t seen;    /* the card's count, as last read */
	uint32_t free_thresh;
	uint32_t bad_run; /* resyncs since the last good packet */
	bool broken;
	struct liq_oq_stats n;

	/* What the next packet is expected to look like; follows the card's habit. */
	alignas(RTE_CACHE_LINE_SIZE) uint64_t expect_rh; /* in the card's byte order */
	uint64_t rearm;                                  /* first word of the mbuf */
	uint64_t hash_mask;                              /* all ones when there is a hash word */
	uint32_t head_bytes; /* in front of the frame, without the length word */
	uint32_t span;       /* longest packet in one buffer, less the shortest believed */
	uint32_t buf_bytes;  /* of each buffer, as the card knows it */
	uint32_t mode;       /* the number of words in front of the frame, 0 or 1 */

	alignas(RTE_CACHE_LINE_SIZE) uint64_t ol_flags[64]; /* by the low six bits of the header */

	struct liq_notices *notices;
	bool want_strip; /* the user wants tags stripped; else they are put back */
	uint16_t port_id;
	uint16_t queue;
	int socket_id;
	uint64_t offloads;
	struct liq_oq_stats base; /* as they were at the last statistics reset */
	struct liq_mem mem;
};

struct liq_oq_cfg {
	uint16_t port_id;
	uint16_t queue;
	uint16_t n_desc;
	uint16_t free_thresh; /* 0: the default */
	int socket_id;
	uint64_t offloads; /* RTE_ETH_RX_OFFLOAD_* */
	struct rte_mempool *pool;
	struct liq_notices *notices;
	struct liq_io io;
	unsigned int ring; /* register number */
};

/* 0; -EINVAL: the pool's buffers are too small, with a log line; -ENOMEM.  Touches no register. */
int liq_oq_create(const struct liq_oq_cfg *cfg, struct liq_oq **out);

/* The ring is in reset, or the card cannot reach memory.  Frees the buffers.  NULL is fine. */
void liq_oq_destroy(struct liq_oq *oq);

/* Control: buffers, base and sizes, all credits; of a ring that was reset.  -ENOMEM. */
int liq_oq_program(struct liq_oq *oq);

/* Control, ring in reset: frees the buffers. */
void liq_oq_drop(struct liq_oq *oq);

/* Control, nobody receives: takes what is there, and frees it; returns the number of frames. */
uint32_t liq_oq_flush(struct liq_oq *oq);

/* Longest frame in one buffer. */
uint32_t liq_oq_room_bytes(const struct rte_mempool *pool);

uint16_t liq_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n);

/* Any thread: packets that wait, as the card counts. */
uint32_t liq_oq_waiting(const struct liq_oq *oq);

#endif /* LIQ_OQ_H */
