/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of net_weirtest share and nobody else sees: the port's structures and what each
 * file offers to the others. testport.h says what a port is, README.md has the drawing.
 *
 *   testport_frame.c  bytes: parse, sums, RSS, what a NIC reports, what it inserts
 *   testport_wire.c   the bursts of ring and pair mode, and the judge of what is transmitted
 *   testport_feed.c   the bursts and the supply of feed mode
 *   testport_link.c   link state, cables, and the gate that keeps bursts away from control calls
 *   testport_queue.c  set-up and release of queues and their rings
 *   testport_ops.c    the other ethdev operations, probe and remove
 *   testport_args.c   key=value to configuration and back
 *   testport.c        what testport.h offers to tests, beside the supply
 *
 * What always holds: a frame that enters a ring belongs to the port. Ring and pair mode have one
 * ring per pair of (who fills, who empties), so that no burst takes a lock. Control calls that take
 * something away from the filling side close the port's gate first and wait until no burst is
 * inside; see testport_link.c.
 *
 * What the port does not do: secondary processes, flow rules, interrupts, segmentation, time.
 */
#ifndef TESTPORT_PRIV_H
#define TESTPORT_PRIV_H

#include "testport.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

#include <ethdev_driver.h>
#include <rte_log.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#define TESTPORT_DRIVER_NAME "net_weirtest"

#define TESTPORT_ADDRS_LEN (2 * RTE_ETHER_ADDR_LEN)
#define TESTPORT_VLAN_LEN  4

/* What a frame may have beyond the MTU. */
#define TESTPORT_FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + TESTPORT_VLAN_LEN)
#define TESTPORT_FRAME_MIN_LEN  (RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)

/* Ethernet with a tag, longest IPv4, UDP. */
#define TESTPORT_HEADERS_MAX (TESTPORT_FRAME_OVERHEAD + 60 + 8)
#define TESTPORT_SEGS_MAX    64

#define TESTPORT_RSS_KEY_LEN      40
#define TESTPORT_RETA_MAX         512
#define TESTPORT_MC_ADDRS_MAX     64
#define TESTPORT_FEED_CLASSES_MAX 16
#define TESTPORT_CABLE_NAME_SIZE  32 /* with the final zero */

#define TESTPORT_RSS_V4_PAIR                                                                       \
	(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define TESTPORT_RSS_V6_PAIR                                                                       \
	(RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)

/* What a transmitting program may ask for. */
#define TESTPORT_TX_L4_REQUEST(flags) ((flags)&RTE_MBUF_F_TX_L4_MASK)
#define TESTPORT_TX_SUMS              (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)

/* Flags that say where a buffer lives; everything else in ol_flags is about the frame. */
#define TESTPORT_MBUF_KIND_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)

extern int testport_logtype;

#define TESTPORT_LOG(level, fmt, ...)                                                              \
	rte_log(RTE_LOG_##level, (uint32_t)testport_logtype, TESTPORT_DRIVER_NAME ": " fmt "\n",   \
		##__VA_ARGS__)

/* --- Structures ------------------------------------------------------------------------------ */

/* Written by one thread, read by any: counter_add() is no atomic read-modify-write. */
typedef _Atomic uint64_t testport_counter;

/* A path for frames with one thread at each end. */
struct testport_lane {
	alignas(RTE_CACHE_LINE_SIZE) struct rte_ring *ring;
	testport_counter n_missed; /* by the filling side: did not fit */
};

#define TESTPORT_LANE_INJECT 0 /* filled by testport_inject() */
#define TESTPORT_LANE_WIRE   1 /* + q: filled by tx queue q of the other end of the cable */
#define TESTPORT_LANES_MAX   (TESTPORT_LANE_WIRE + TESTPORT_MAX_QUEUES)

/* What "the NIC wrote" into the pool of a feed queue. */
struct testport_feed_pool {
	struct rte_mempool *pool;
	bool uniform; /* all frames have the same length and flags */
	uint16_t len_bytes;
	uint16_t n_classes;
	uint64_t ol_flags[TESTPORT_FEED_CLASSES_MAX];
};

struct testport_rxq {
	/* Set by queue set-up and start, read by all. */
	struct testport *port;
	struct rte_mempool *pool; /* NULL: not set up */
	void *rings_mem;
	uint64_t offloads;
	uint64_t timestamp_flag;
	int timestamp_offset;
	uint16_t id;
	uint16_t room_bytes;      /* of a segment, behind the headroom */
	struct rte_mbuf **posted; /* feed: the descriptor ring */
	uint32_t n_slots;
	uint64_t rearm; /* feed: data_off, refcnt, nb_segs, port, as they lie */
	struct testport_feed_pool feed;

	/* The receiving thread. */
	alignas(RTE_CACHE_LINE_SIZE) uint32_t head, tail, n_posted;
	uint32_t next_lane;
	uint32_t n_since_drop;
	testport_counter n_frames;
	testport_counter n_bytes;
	testport_counter n_nombuf;
	testport_counter n_errors;
	testport_counter n_filtered;
	testport_counter n_dropped;

	/* The injecting thread. */
	alignas(RTE_CACHE_LINE_SIZE) _Atomic bool busy;

	struct testport_lane lane[TESTPORT_LANES_MAX];
};

struct testport_txq {
	/* Set by queue set-up, read by all. */
	struct testport *port;
	struct rte_ring *ring; /* ring mode: transmitted, to be collected */
	uint64_t offloads;
	uint16_t id;
	bool set_up;

	/* The transmitting thread. */
	alignas(RTE_CACHE_LINE_SIZE) _Atomic bool busy;
	struct rte_mempool *pool; /* fast free: that of the first frame */
	uint32_t n_since_drop;
	testport_counter n_frames;
	testport_counter n_bytes;
	testport_counter n_dropped;
	testport_counter n_inserted;
	testport_counter n_errors[TESTPORT_N_ERRORS];
};

struct testport_op_fault {
	int err;
	uint32_t n_ok;
};

struct testport_feed_supply {
	uint8_t *bytes; /* all frames, one behind the other */
	uint32_t *offset;
	uint16_t *len_bytes;
	uint32_t n_frames;
	testport_vary_fn vary;
	void *arg;
	bool sums_fix;
};

struct testport {
	struct rte_eth_dev *dev;
	struct testport_cfg cfg;
	uint16_t port_id;

	/* Under testport_control_lock. */
	struct testport_cable *cable;
	bool started;
	bool plugged;
	bool admin_up;
	struct testport_op_fault fault[TESTPORT_N_OPS];
	struct rte_eth_stats stats_base; /* counters as they were at the last reset */
	struct testport_feed_supply supply;

	/* Set at configuration. */
	uint16_t n_rx_queues, n_tx_queues;

	/* Written by control calls, read in bursts. peer is valid while the gate is open. */
	alignas(RTE_CACHE_LINE_SIZE) _Atomic bool gate;
	struct testport *peer;
	_Atomic uint32_t n_lanes;
	_Atomic bool rx_stalled;
	_Atomic bool distribute;
	_Atomic bool pause;
	_Atomic bool promiscuous;
	_Atomic bool allmulticast;
	_Atomic bool force_hash;
	_Atomic uint16_t mtu;
	_Atomic uint16_t tx_accept;
	_Atomic uint32_t drop_every[2]; /* by testport_dir */
	_Atomic uint32_t forced_hash;
	_Atomic uint64_t force_mask;
	_Atomic uint64_t force_value;
	_Atomic uint64_t timestamp_ns;
	_Atomic uint64_t n_missed_added;
	_Atomic uint64_t rss_hf; /* 0: no RSS */
	_Atomic uint64_t mac;    /* addresses as numbers, see testport_mac_number() */
	_Atomic uint32_t n_mc_addrs;
	_Atomic uint64_t mc_addr[TESTPORT_MC_ADDRS_MAX];
	_Atomic uint32_t rss_key[TESTPORT_RSS_KEY_LEN / 4]; /* words in host order */
	_Atomic uint16_t reta[TESTPORT_RETA_MAX];

	struct testport_rxq rxq[TESTPORT_MAX_QUEUES];
	struct testport_txq txq[TESTPORT_MAX_QUEUES];
};

/* What the parser of a simple NIC sees: one VLAN tag, IPv4, IPv6 without extension headers, UDP. */
struct testport_headers {
	const uint8_t *bytes; /* contiguous; in the mbuf or in copy */
	uint16_t l2_len;
	uint16_t l3_len;
	uint32_t ip_len; /* from the IP header on */
	uint16_t udp_len;
	uint8_t version; /* 0: no whole IP header */
	bool tagged;
	bool fragment;
	bool ip_fits; /* the IP length fits the frame */
	bool udp;     /* not a fragment, whole UDP header */
	bool udp_fits;
	uint8_t copy[TESTPORT_HEADERS_MAX];
};

/* What arguments are read into: the strings that cfg points to live here. */
struct testport_args {
	struct testport_cfg cfg;
	char cable[TESTPORT_CABLE_NAME_SIZE];
};

/* --- Switches, counters, bytes --------------------------------------------------------------- */

/* A switch or a setting: bursts may see it a little later. */
#define switch_get(p)    atomic_load_explicit(p, memory_order_relaxed)
#define switch_set(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

static inline void
counter_add(testport_counter *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static inline uint64_t
counter_get(const testport_counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static inline uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* --- testport_frame.c ------------------------------------------------------------------------ */

/* Six bytes of an address as a number, the first byte highest. */
uint64_t testport_mac_number(const uint8_t *bytes);

/* Fills h for any frame whose chain fits; what is not there is zero. */
void testport_frame_parse(const struct rte_mbuf *m, struct testport_headers *h);

/* Sum of the UDP pseudo-header, folded, in memory order. h->udp holds. */
uint16_t testport_frame_sum_pseudo(const struct testport_headers *h);

/* Whatever the checksum fields hold, makes them right. Nobody else sees the frame. */
void testport_frame_fix_sums(struct rte_mbuf *m);

/* Does what was asked for. The frame was checked and nobody else sees its bytes. */
void testport_frame_insert(struct rte_mbuf *m);

/* Fills what a NIC reports in the descriptor, and strips the tag. The receiving thread. */
void testport_frame_describe(struct testport_rxq *rxq, struct rte_mbuf *m);

/* Whether nobody else can see a segment's bytes. */
bool testport_seg_is_private(const struct rte_mbuf *seg);

/* Whether lengths and number of segments fit the chain; may_be_empty allows empty segments. */
bool testport_chain_fits(const struct rte_mbuf *m, bool may_be_empty);

/* The rx queue that RSS and RETA choose; 0 for frames without a hash, as hardware does. */
uint16_t testport_rss_queue(struct testport *port, const struct rte_mbuf *m);
void testport_rss_key_set(struct testport *port, const uint8_t *key);

/* --- testport_wire.c ------------------------------------------------------------------------- */

uint16_t testport_wire_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n);
uint16_t testport_wire_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n);

/* --- testport_feed.c ------------------------------------------------------------------------- */

uint16_t testport_feed_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n);
uint16_t testport_feed_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n);

/* Writes the supply into the pools and posts their mbufs. 0 or negative errno. */
int testport_feed_start(struct testport *port);

/* Gives posted mbufs back to their pools. No burst may run. */
void testport_feed_unpost(struct testport *port);
void testport_feed_free(struct testport_feed_supply *supply);

/* --- testport_link.c ------------------------------------------------------------------------- */

/* Guards the fields of struct testport that say so, and all cables. Not for bursts. */
extern pthread_mutex_t testport_control_lock;

/* Sets one of the port's link switches and brings links, gates and LSC events up to date. */
void testport_link_switch(struct testport *port, bool *which, bool value);
void testport_link_report(struct testport *port, bool up);

/* 0, or -EBUSY when the cable of that name has two ends. Under testport_control_lock. */
int testport_cable_plug_locked(struct testport *port, const char *name);
void testport_cable_unplug_locked(struct testport *port);

/* ethdev operations */
int testport_link_update(struct rte_eth_dev *dev, int wait_to_complete);
int testport_link_set_up(struct rte_eth_dev *dev);
int testport_link_set_down(struct rte_eth_dev *dev);

/* --- testport_queue.c ------------------------------------------------------------------------ */

/*
 * Any thread, for one that may have moved on meanwhile. DPDK's own reads what other threads write with
 * plain loads.
 */
static inline uint32_t
testport_ring_count(const struct rte_ring *ring)
{
	uint32_t taken = __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED);
	uint32_t count = (__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) - taken) & ring->mask;

	return RTE_MIN(count, ring->capacity);
}

/* Frees the frames in a ring, which may be NULL. Returns how many. */
uint32_t testport_ring_flush(struct rte_ring *ring);

/* ethdev operations */
int testport_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc,
			    unsigned int socket, const struct rte_eth_rxconf *conf,
			    struct rte_mempool *pool);
void testport_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue);
int testport_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc,
			    unsigned int socket, const struct rte_eth_txconf *conf);
void testport_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue);

/* --- testport_ops.c -------------------------------------------------------------------------- */

/* Whether this call is to fail: 0, or the error that testport_fail() ordered. */
int testport_op_check(struct testport *port, enum testport_op op);

/* NULL when port_id is no port of this driver. */
struct testport *testport_find(uint16_t port_id);

/* --- testport_args.c ------------------------------------------------------------------------- */

/* text may be NULL. 0, or -EINVAL with a log line that says what is allowed. */
int testport_args_parse(const char *text, struct testport_args *args);

/* The configuration as the arguments that a command line would have: one way in for both. */
int testport_args_format(const struct testport_cfg *cfg, char *buf, size_t len);

#endif /* TESTPORT_PRIV_H */
