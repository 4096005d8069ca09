/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An input queue: instructions from host to card, that is transmitted frames and, on queue 0,
 * commands.
 *
 * All of it is one memzone: N instructions, N gather slots, N records, this struct.  Gather slot
 * i belongs to entry i, for entries complete in order: there is nothing to allocate or look up.
 * Record i is the mbuf of entry i, its lowest bit set when it is a chain; NULL for a command.
 *
 * Threads: one at a time on a queue, which is the thread that transmits.  Queue 0 is shared with
 * whoever gives commands, and takes its lock once per burst.  Completion is the card's running
 * count of fetched instructions, read when entries run short.  A count that cannot be true makes
 * the queue broken: it takes nothing any more until it is programmed anew.
 *
 * Ownership: a burst takes the mbufs that it returns as sent; they are freed when the card has
 * fetched them.
 */
#ifndef LIQ_IQ_H
#define LIQ_IQ_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "liq_desc.h"
#include "liq_io.h"
#include "liq_mem.h"

#define LIQ_TX_SEGS_MAX     LIQ_GATHER_MAX_PTRS
#define LIQ_GATHER_BYTES    (LIQ_TX_SEGS_MAX / 4 * sizeof(struct liq_gather))
#define LIQ_TX_FRAME_MAX    (LIQ_MTU_MAX + LIQ_FRAME_OVERHEAD)
#define LIQ_TX_FRAME_MIN    14u
#define LIQ_TX_DESC_ALIGN   1
#define LIQ_TX_DESC_DFLT    512
#define LIQ_TX_FREE_DFLT(n) ((n) / 2) /* free entries below which completions are looked for */

static_assert(LIQ_GATHER_BYTES == 640, "gather slot");

/* Counters: one writer, plain stores; anybody reads. */
struct liq_iq_stats {
	uint64_t n_pkts;
	uint64_t n_bytes;
	uint64_t n_chains;   /* packets of several segments */
	uint64_t n_refused;  /* freed unsent: too many segments, too long, an impossible VLAN */
	uint64_t n_cmds;     /* commands that are done */
	uint64_t n_reclaims; /* times that completions were looked for */
	uint64_t n_lies;     /* completion counts that could not be true */
};

struct liq_iq {
	/* Read by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) struct liq_instr *ring;
	struct rte_mbuf **rec;
	struct liq_io io;
	uint64_t ih3; /* of a frame without its length */
	uint64_t irh;
	uint32_t n_desc;
	uint32_t off; /* of the ring's registers */

	/* Written by every burst. */
	alignas(RTE_CACHE_LINE_SIZE) uint32_t tail; /* next to be filled */
	uint32_t n_free;                            /* entries; one always stays empty */
	uint32_t n_special;                         /* chains and commands under way */
	uint32_t free_thresh;
	uint32_t head;     /* oldest not reclaimed */
	uint32_t seen;     /* completion count up to which entries are reclaimed */
	uint32_t n_posted; /* running number of entries posted; wraps */
	bool broken;
	bool shared; /* queue 0 */
	bool fast_free;
	struct liq_iq_stats n;

	alignas(RTE_CACHE_LINE_SIZE) rte_spinlock_t lock; /* of a shared queue */
	uint64_t pki_ih3;
	uint64_t gather_iova; /* of slot 0 */
	struct liq_gather *gather;
	uint16_t port_id;
	uint16_t queue;
	int socket_id;
	uint64_t offloads;
	struct liq_iq_stats base; /* as they were at the last statistics reset */
	struct liq_mem mem;
};

struct liq_iq_cfg {
	uint16_t port_id;
	uint16_t queue;
	uint16_t n_desc;
	uint16_t free_thresh; /* 0: the default */
	int socket_id;
	uint64_t offloads; /* RTE_ETH_TX_OFFLOAD_* */
	const char *kind;  /* of its memzone's name */
	struct liq_io io;
	unsigned int ring; /* register number */
};

/* 0 or negative errno.  Touches no register. */
int liq_iq_create(const struct liq_iq_cfg *cfg, struct liq_iq **out);

/* The ring is in reset, or the card cannot reach memory.  Frees what is under way.  NULL is fine. */
void liq_iq_destroy(struct liq_iq *iq);

/* Control: what every frame's instruction says beside its own: the queue's words of IF_CFG. */
void liq_iq_words(struct liq_iq *iq, unsigned int pkind, uint32_t tag, unsigned int qpg,
		  bool use_qpg);

/* Control: base and size into the registers of a ring that was reset; the queue is empty. */
void liq_iq_program(struct liq_iq *iq);

/* Control, ring in reset: frees all frames under way and forgets commands; returns how many. */
uint32_t liq_iq_drop(struct liq_iq *iq);

/* Entries under way, by what the card said last. */
static inline uint32_t
liq_iq_pending(const struct liq_iq *iq)
{
	return iq->n_desc - 1 - iq->n_free;
}

/* ---- the bursts: rte_eth_tx_burst() and rte_eth_tx_prepare() ---- */

/*
 * plain writes no offloads, sums knows checksums, full everything.  The first two hand a burst
 * that has more in it to the last one, so that each of them is right for every mbuf.
 */
uint16_t liq_tx_burst_plain(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t liq_tx_burst_sums(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t liq_tx_burst_full(void *txq, struct rte_mbuf **pkts, uint16_t n);
uint16_t liq_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n);

/* The transmitting thread.  Frees up to n packets that the card has fetched (0: all); how many. */
uint32_t liq_iq_cleanup(struct liq_iq *iq, uint32_t n);

/* Any thread: the number of entries that the card has not fetched yet. */
uint32_t liq_iq_unfetched(const struct liq_iq *iq);

/* ---- commands: control threads ---- */

/*
 * Posts one instruction and rings.  seq is its running number for liq_iq_fetched().  -EBUSY: no
 * entry free; -EIO: the queue is broken.
 */
int liq_iq_post(struct liq_iq *iq, const struct liq_instr *instr, uint32_t *seq);

/* Looks for completions; whether instruction seq is fetched. */
bool liq_iq_fetched(struct liq_iq *iq, uint32_t seq);

#endif /* LIQ_IQ_H */
