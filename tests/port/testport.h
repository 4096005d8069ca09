/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_weirtest: an ethdev of our own whose abilities are switched by the test. Few virtual ports
 * offer any offload or can be made to fail; this one does both, and it judges what it is handed.
 *
 * Used by unit tests and benchmarks, linked whole into their programs. The port under test is
 * driven through rte_ethdev.h as any port; the functions here are the other side: the wire, the
 * cable and the faults.
 *
 * Three modes (README.md has the drawing):
 *   ring  the test puts frames on rx queues and takes what was transmitted
 *   pair  two ports joined by a cable, for two stacks in one process
 *   feed  an endless supply of frames for benchmarks; transmitted ones are freed at once
 *
 * Threads: each rx queue and each tx queue has one thread at a time, as with any ethdev. On top:
 * testport_inject() one thread per rx queue (one per port while distributing), testport_collect()
 * one thread per tx queue. Everything else may be called from any thread, blocks at most for one
 * burst of another thread, and never runs beside the port's own close or destroy.
 */
#ifndef TESTPORT_H
#define TESTPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#define TESTPORT_MAX_QUEUES 16

/* Posted and refilled in this many; descriptor counts of a feed port are multiples of it. */
#define TESTPORT_FEED_BATCH 32

enum testport_mode {
	TESTPORT_RING,
	TESTPORT_PAIR,
	TESTPORT_FEED,
};

/* What a port can do. A zeroed structure is a ring port without any offload. */
struct testport_cfg {
	enum testport_mode mode;
	const char *cable;         /* pair: name that both ends share */
	uint16_t queues_max;       /* each way; 0: 8 */
	uint64_t rx_offloads;      /* offered RTE_ETH_RX_OFFLOAD_*, see TESTPORT_RX_OFFLOADS */
	uint64_t tx_offloads;      /* offered RTE_ETH_TX_OFFLOAD_*, see TESTPORT_TX_OFFLOADS */
	struct rte_ether_addr mac; /* all zero: one made from the port number */
	uint16_t mtu_max;          /* largest MTU that can be set; 0: 9000 */
	uint16_t reta_size;        /* 0 (no RSS), 64, 128, 256 or 512 */
	uint16_t desc_min;         /* 0: 32 */
	uint16_t desc_max;         /* 0: 4096 */
	uint16_t desc_align;       /* 0: 32 */
	uint16_t tx_accept;        /* take at most so many of a tx burst; 0: all */
	uint32_t tx_drop_every;    /* lose every k-th transmitted frame; 0: none */
	bool distribute;           /* choose the rx queue by RSS and RETA */
	bool pause;                /* pair: a full far end holds tx back instead of losing */
};

#define TESTPORT_RX_OFFLOADS                                                                       \
	(RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_RX_OFFLOAD_RSS_HASH | RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_TIMESTAMP | \
	 RTE_ETH_RX_OFFLOAD_VLAN_STRIP)
/* The bursts of a feed port do not write what these two change. */
#define TESTPORT_RX_OFFLOADS_FEED                                                                  \
	(TESTPORT_RX_OFFLOADS & ~(RTE_ETH_RX_OFFLOAD_TIMESTAMP | RTE_ETH_RX_OFFLOAD_VLAN_STRIP))
#define TESTPORT_TX_OFFLOADS                                                                       \
	(RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM |                            \
	 RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE |                       \
	 RTE_ETH_TX_OFFLOAD_VLAN_INSERT)

/* What a transmitting program did wrong. Such a frame is lost and counted, here and in oerrors. */
enum testport_error {
	TESTPORT_ERR_OFFLOAD,   /* asks for an offload that is not enabled on the port or queue */
	TESTPORT_ERR_MULTI_SEG, /* several segments without MULTI_SEGS */
	TESTPORT_ERR_CHAIN,     /* nb_segs or pkt_len does not fit the chain, or an empty segment */
	TESTPORT_ERR_SIZE,      /* shorter than an Ethernet header, or longer than the MTU allows */
	TESTPORT_ERR_FAST_FREE, /* MBUF_FAST_FREE, and shared, not direct, or of a second pool */
	TESTPORT_ERR_FLAGS,     /* flags that contradict each other or lack the IP version */
	TESTPORT_ERR_HEADER,    /* the frame is not what the flags say, or its lengths lie */
	TESTPORT_ERR_LENS,      /* l2_len or l3_len is not that of the frame */
	TESTPORT_ERR_SEED,      /* IPv4 checksum not zero, or no pseudo-header sum placed for UDP */
	TESTPORT_ERR_COPY,      /* a shared buffer had to be copied for an insertion: no memory */
	TESTPORT_N_ERRORS
};

/* Control calls that can be made to fail. */
enum testport_op {
	TESTPORT_OP_CONFIGURE,
	TESTPORT_OP_START,
	TESTPORT_OP_STOP,
	TESTPORT_OP_RX_QUEUE_SETUP,
	TESTPORT_OP_TX_QUEUE_SETUP,
	TESTPORT_OP_INFO_GET,
	TESTPORT_OP_MTU_SET,
	TESTPORT_OP_MAC_SET,
	TESTPORT_OP_MC_LIST_SET,
	TESTPORT_OP_PROMISCUOUS,
	TESTPORT_OP_ALLMULTICAST,
	TESTPORT_OP_RETA_UPDATE,
	TESTPORT_OP_RSS_HASH_UPDATE,
	TESTPORT_N_OPS
};

enum testport_dir {
	TESTPORT_RX,
	TESTPORT_TX,
};

/* One frame of a feed port's supply, Ethernet header first. */
struct testport_frame {
	const void *bytes;
	uint16_t len_bytes;
};

/*
 * Changes the copy of a frame that pool element number index holds, as to spread source ports.
 * Called while the port starts.
 */
typedef void (*testport_vary_fn)(uint8_t *frame, uint16_t len_bytes, uint32_t index, void *arg);

/* --- Life ------------------------------------------------------------------------------------ */

/**
 * Make a port. The same can be had from the command line: --vdev=net_weirtest0,mode=ring,...
 *
 * @param name     starts with net_weirtest
 * @param cfg      NULL: all defaults
 * @param port_id  set on success
 * @return 0, -EINVAL (the log names key, value and what is allowed), -EEXIST, -EBUSY (the cable has
 *         two ends already), -ENOMEM
 */
int testport_create(const char *name, const struct testport_cfg *cfg, uint16_t *port_id);

/** Stop and close the port if that has not been done, and remove it. 0 or negative errno. */
int testport_destroy(const char *name);

/* --- The wire (ring mode; inject works on a pair port too) ------------------------------------ */

/**
 * Put frames on an rx queue as they are: chained, in external buffers, of any length, to any
 * address. The port sets what its rx offloads say when they are received. While distributing, the
 * queue is chosen by the RETA and the argument ignored.
 *
 * @return how many were taken; those belong to the port, the rest to the caller. It stops at a full
 *         queue and at an mbuf whose nb_segs or pkt_len does not fit its chain; 0 when the link is
 *         down.
 */
uint16_t testport_inject(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n);

/** Take transmitted frames; they belong to the caller. Also after the port was stopped. */
uint16_t testport_collect(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n);

/** Frames put on an rx queue (by inject or over the cable) and not received yet. */
uint32_t testport_rx_pending(uint16_t port_id, uint16_t queue);

/** Ring mode: frames transmitted and not collected yet. */
uint32_t testport_tx_pending(uint16_t port_id, uint16_t queue);

/** Free what testport_collect() would take, from all queues. Returns how many. */
uint32_t testport_discard(uint16_t port_id);

/* --- Feed mode ------------------------------------------------------------------------------- */

/**
 * Set the supply, before the port starts; frames are copied. At each start element i of an rx
 * queue's pool gets frame i modulo n_frames written into its data room, changed by vary if
 * that is given, and with sums_fix its IPv4 and UDP checksums set right after that.
 *
 * All elements of the pool must be free when the port starts (-EBUSY otherwise), and nothing
 * may write into frames or take mbufs of that pool for other frames: rx does not write the
 * bytes again.
 *
 * @return 0, -ENOTSUP (another mode), -EBUSY (started), -EINVAL, -ENOMEM
 */
int testport_feed(uint16_t port_id, const struct testport_frame *frames, uint32_t n_frames,
		  testport_vary_fn vary, void *arg, bool sums_fix);

/* --- What the program under test did wrong ---------------------------------------------------- */

/** Sum of all kinds of errors since creation. */
uint64_t testport_errors(uint16_t port_id);
uint64_t testport_errors_of(uint16_t port_id, enum testport_error kind);
const char *testport_error_name(enum testport_error kind);

/** Frames for which a checksum or a tag was inserted: that an offered offload was made use of. */
uint64_t testport_inserted(uint16_t port_id);

/* --- Switches. 0, -ENODEV, -EINVAL; -ENOTSUP where bursts of a feed port would pay ------------- */

/** Plug or pull the cable at this end. LSC events are raised when they were asked for. */
int testport_set_link(uint16_t port_id, bool plugged);

/** From now on let op succeed n_ok more times, then fail with err (positive) until err is 0. */
int testport_fail(uint16_t port_id, enum testport_op op, int err, uint32_t n_ok);

/** Take at most k of each tx burst; UINT16_MAX: all, 0: a stuck transmitter. */
int testport_set_tx_accept(uint16_t port_id, uint16_t k);

/** Lose every k-th frame of each queue, unseen as on a bad wire; 0: none. */
int testport_set_drop_every(uint16_t port_id, enum testport_dir dir, uint32_t k);

/** Frames lost by testport_set_drop_every(), both ways. */
uint64_t testport_dropped(uint16_t port_id);

/** Pair: frames for another address that the port did not take up, as hardware does unseen. */
uint64_t testport_filtered(uint16_t port_id);

/** Receive nothing until switched off again; frames wait. */
int testport_set_rx_stall(uint16_t port_id, bool stalled);

/** Add to imissed, as if the device had run out of descriptors. */
int testport_add_missed(uint16_t port_id, uint64_t n);

/** Choose rx queues by RSS and RETA, or take the one that inject (or the far tx queue) names. */
int testport_set_distribute(uint16_t port_id, bool on);

/** Pair: hold tx back while the far end is full, or lose and count there. */
int testport_set_pause(uint16_t port_id, bool on);

/** Lying hardware: of the rx ol_flags, those in mask become value. mask 0: the truth again. */
int testport_force_rx_flags(uint16_t port_id, uint64_t mask, uint64_t value);

/** Lying hardware: report this RSS hash (where one is reported) for every frame. */
int testport_force_rss_hash(uint16_t port_id, bool on, uint32_t hash);

/** TIMESTAMP offload: received frames are stamped ns until this is called again. */
int testport_set_timestamp(uint16_t port_id, uint64_t ns);

#endif /* TESTPORT_H */
