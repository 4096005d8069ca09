/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_weirtest, the switchable test ethdev: see testport.h for what it is and README.md for the
 * drawing. From top to bottom: structures, frames (parse, sums, hash), what a transmitting program
 * may ask for, the bursts of ring and pair mode, the bursts of feed mode, links and cables, the
 * ethdev operations, arguments, probe, and the test's side.
 *
 * What always holds: a frame that enters a ring belongs to the port. Ring and pair mode have one
 * ring per pair of (who fills, who empties), so that no burst takes a lock. Control calls that take
 * something away from the filling side close the port's gate first and wait until no burst is
 * inside; see gate_set_locked().
 *
 * What it does not do: secondary processes, flow rules, interrupts, segmentation, time.
 */
#include "testport.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bus_vdev_driver.h>
#include <ethdev_driver.h>
#include <ethdev_vdev.h>
#include <rte_cycles.h>
#include <rte_ip.h>
#include <rte_kvargs.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <rte_thash.h>

#define DRIVER_NAME "net_weirtest"

#define ADDRS_LEN      (2 * RTE_ETHER_ADDR_LEN)
#define VLAN_LEN       4
#define FRAME_OVERHEAD (RTE_ETHER_HDR_LEN + VLAN_LEN) /* what a frame may have beyond the MTU */
#define FRAME_MIN_LEN  (RTE_ETHER_MIN_LEN - RTE_ETHER_CRC_LEN)
#define HEADERS_MAX    (FRAME_OVERHEAD + 60 + 8) /* Ethernet with a tag, longest IPv4, UDP */
#define SEGS_MAX       64

#define RSS_KEY_LEN      40
#define RETA_MAX         512
#define MC_ADDRS_MAX     64
#define FEED_CLASSES_MAX 16
#define QUIESCE_S        10 /* a burst of another thread takes microseconds */

#define RSS_V4_PAIR (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER)
#define RSS_V6_PAIR (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER)
#define RSS_FLOWS                                                                                  \
	(RSS_V4_PAIR | RTE_ETH_RSS_NONFRAG_IPV4_UDP | RSS_V6_PAIR | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

/* What a transmitting program may ask for. */
#define TX_L4_REQUEST(flags) ((flags)&RTE_MBUF_F_TX_L4_MASK)
#define TX_SUMS              (RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK)
#define TX_INSERTS           (TX_SUMS | RTE_MBUF_F_TX_VLAN)
#define TX_KNOWN             (TX_INSERTS | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6)

/* Flags that say where a buffer lives; everything else in ol_flags is about the frame. */
#define MBUF_KIND_FLAGS (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)

RTE_LOG_REGISTER(testport_logtype, weir.testport, NOTICE)

#define PORT_LOG(level, fmt, ...)                                                                  \
	rte_log(RTE_LOG_##level, (uint32_t)testport_logtype, DRIVER_NAME ": " fmt "\n",            \
		##__VA_ARGS__)

/* --- Structures ------------------------------------------------------------------------------ */

/* Written by one thread, read by any: counter_add() is no atomic read-modify-write. */
typedef _Atomic uint64_t counter;

/* A path for frames with one thread at each end. */
struct lane {
	alignas(RTE_CACHE_LINE_SIZE) struct rte_ring *ring;
	counter n_missed; /* by the filling side: did not fit */
};

#define LANE_INJECT 0 /* filled by testport_inject() */
#define LANE_WIRE   1 /* + q: filled by tx queue q of the other end of the cable */
#define LANES_MAX   (LANE_WIRE + TESTPORT_MAX_QUEUES)

/* What "the NIC wrote" into the pool of a feed queue. */
struct feed_pool {
	struct rte_mempool *pool;
	bool uniform; /* all frames have the same length and flags */
	uint16_t len_bytes;
	uint16_t n_classes;
	uint64_t ol_flags[FEED_CLASSES_MAX];
};

struct rx_queue {
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
	struct feed_pool feed;

	/* The receiving thread. */
	alignas(RTE_CACHE_LINE_SIZE) uint32_t head, tail, n_posted;
	uint32_t next_lane;
	uint32_t n_since_drop;
	counter n_frames;
	counter n_bytes;
	counter n_nombuf;
	counter n_errors;
	counter n_filtered;
	counter n_dropped;

	/* The injecting thread. */
	alignas(RTE_CACHE_LINE_SIZE) _Atomic bool busy;

	struct lane lane[LANES_MAX];
};

struct tx_queue {
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
	counter n_frames;
	counter n_bytes;
	counter n_dropped;
	counter n_inserted;
	counter n_errors[TESTPORT_N_ERRORS];
};

struct op_fault {
	int err;
	uint32_t n_ok;
};

struct feed_supply {
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

	/* Under control_lock. */
	struct cable *cable;
	bool started;
	bool plugged;
	bool admin_up;
	struct op_fault fault[TESTPORT_N_OPS];
	struct rte_eth_stats stats_base; /* counters as they were at the last reset */
	struct feed_supply supply;

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
	_Atomic uint64_t mac;    /* addresses as numbers, see mac_number() */
	_Atomic uint32_t n_mc_addrs;
	_Atomic uint64_t mc_addr[MC_ADDRS_MAX];
	_Atomic uint32_t rss_key[RSS_KEY_LEN / 4]; /* words in host order */
	_Atomic uint16_t reta[RETA_MAX];

	struct rx_queue rxq[TESTPORT_MAX_QUEUES];
	struct tx_queue txq[TESTPORT_MAX_QUEUES];
};

struct cable {
	char name[32];
	struct testport *end[2];
};

static struct cable cables[RTE_MAX_ETHPORTS];
static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;

static const uint8_t rss_key_default[RSS_KEY_LEN] = {
	0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
	0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
	0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
};

/* A switch or a setting: bursts may see it a little later. */
#define switch_get(p)    atomic_load_explicit(p, memory_order_relaxed)
#define switch_set(p, v) atomic_store_explicit(p, v, memory_order_relaxed)

static inline void
counter_add(counter *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static inline uint64_t
counter_get(const counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

static uint64_t
mac_number(const uint8_t *bytes)
{
	uint64_t n = 0;

	for (int i = 0; i < RTE_ETHER_ADDR_LEN; i++)
		n = n << 8 | bytes[i];
	return n;
}

/* --- Frames ---------------------------------------------------------------------------------- */

/* What the parser of a simple NIC sees: one VLAN tag, IPv4, IPv6 without extension headers, UDP. */
struct headers {
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
	uint8_t copy[HEADERS_MAX];
};

static uint16_t
be16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t
be32(const uint8_t *p)
{
	return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static void
headers_parse(const struct rte_mbuf *m, struct headers *h)
{
	uint32_t len = RTE_MIN(m->pkt_len, (uint32_t)HEADERS_MAX);
	const uint8_t *ip;
	uint16_t type, off;
	uint8_t proto = 0;

	memset(h, 0, offsetof(struct headers, copy));
	if (len < RTE_ETHER_HDR_LEN)
		return;
	h->bytes = rte_pktmbuf_read(m, 0, len, h->copy);
	h->l2_len = RTE_ETHER_HDR_LEN;
	type = be16(h->bytes + 12);
	if (type == RTE_ETHER_TYPE_VLAN && len >= FRAME_OVERHEAD) {
		h->tagged = true;
		h->l2_len += VLAN_LEN;
		type = be16(h->bytes + 16);
	}

	ip = h->bytes + h->l2_len;
	if (type == RTE_ETHER_TYPE_IPV4 && len >= h->l2_len + 20u && ip[0] >> 4 == 4) {
		off = (uint16_t)((ip[0] & 15) * 4);
		if (off < 20 || len < (uint32_t)h->l2_len + off)
			return;
		h->version = 4;
		h->l3_len = off;
		h->ip_len = be16(ip + 2);
		h->fragment = (be16(ip + 6) & 0x3fff) != 0; /* more fragments, or an offset */
		proto = ip[9];
	} else if (type == RTE_ETHER_TYPE_IPV6 && len >= h->l2_len + 40u && ip[0] >> 4 == 6) {
		h->version = 6;
		h->l3_len = 40;
		h->ip_len = 40u + be16(ip + 4);
		h->fragment = ip[6] == IPPROTO_FRAGMENT;
		proto = ip[6];
	} else {
		return;
	}
	h->ip_fits = h->ip_len >= h->l3_len && h->l2_len + h->ip_len <= m->pkt_len;

	if (proto != IPPROTO_UDP || h->fragment || len < (uint32_t)h->l2_len + h->l3_len + 8)
		return;
	h->udp = true;
	h->udp_len = be16(ip + h->l3_len + 4);
	h->udp_fits = h->ip_fits && h->udp_len >= 8 && h->udp_len <= h->ip_len - h->l3_len;
}

/* One's complement sums are kept as rte_raw_cksum() gives them: folded, in memory order. */
static uint16_t
sum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

static uint16_t
sum_pseudo(const struct headers *h)
{
	const uint8_t *ip = h->bytes + h->l2_len;
	uint32_t sum;

	sum = h->version == 4 ? rte_raw_cksum(ip + 12, 8) : rte_raw_cksum(ip + 8, 32);
	return sum_fold(sum + rte_cpu_to_be_16(IPPROTO_UDP) + rte_cpu_to_be_16(h->udp_len));
}

/*
 * Over the datagram, in as many segments as it lies. (rte_raw_cksum_mbuf() of 22.11 loses a carry
 * when a segment begins at an odd offset.)
 */
static uint16_t
sum_udp(const struct rte_mbuf *m, const struct headers *h)
{
	uint32_t off = (uint32_t)h->l2_len + h->l3_len;
	uint32_t sum = 0;
	uint32_t n;

	while (off >= m->data_len) {
		off -= m->data_len;
		m = m->next;
	}
	for (uint32_t done = 0; done < h->udp_len; done += n) {
		uint16_t part;

		n = RTE_MIN(m->data_len - off, h->udp_len - done);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(m, const void *, off), n);
		sum += done & 1 ? rte_bswap16(part) : part;
		off = 0;
		m = m->next;
	}
	return sum_fold(sum);
}

/* Writes a 16-bit field in memory order, wherever its bytes lie in the chain. */
static void
frame_write_16(struct rte_mbuf *m, uint32_t off, uint16_t value)
{
	uint8_t bytes[sizeof(value)];

	memcpy(bytes, &value, sizeof(bytes));
	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		struct rte_mbuf *seg = m;
		uint32_t at = off + i;

		while (at >= seg->data_len) {
			at -= seg->data_len;
			seg = seg->next;
		}
		*rte_pktmbuf_mtod_offset(seg, uint8_t *, at) = bytes[i];
	}
}

/* The frame's UDP checksum field must hold the pseudo-header sum. */
static void
udp_cksum_insert(struct rte_mbuf *m, const struct headers *h)
{
	uint16_t cksum = (uint16_t)~sum_udp(m, h);

	if (cksum == 0)
		cksum = 0xffff; /* RFC 768: zero means that there is none */
	frame_write_16(m, (uint32_t)h->l2_len + h->l3_len + 6, cksum);
}

/* The frame's header checksum field must be zero. */
static void
ipv4_cksum_insert(struct rte_mbuf *m, const struct headers *h)
{
	uint16_t sum = rte_raw_cksum(h->bytes + h->l2_len, h->l3_len);

	frame_write_16(m, h->l2_len + 10u, (uint16_t)~sum);
}

/*
 * The tag lies behind the two addresses, which move. The caller has seen that the first segment
 * holds both and is private. (DPDK's helpers for this want frames at even addresses.)
 */
static uint16_t
vlan_strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint16_t tci = be16(frame + ADDRS_LEN + 2);

	memmove(rte_pktmbuf_adj(m, VLAN_LEN), frame, ADDRS_LEN);
	return tci;
}

/* As above, and there is headroom. */
static void
vlan_insert(struct rte_mbuf *m, uint16_t tci)
{
	const uint8_t tag[VLAN_LEN] = {RTE_ETHER_TYPE_VLAN >> 8, RTE_ETHER_TYPE_VLAN & 0xff,
				       (uint8_t)(tci >> 8), (uint8_t)tci};
	uint8_t *addrs = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *frame = (uint8_t *)rte_pktmbuf_prepend(m, VLAN_LEN);

	memmove(frame, addrs, ADDRS_LEN);
	memcpy(frame + ADDRS_LEN, tag, VLAN_LEN);
}

/* Whether nobody else can see a segment's bytes. */
static bool
seg_is_private(const struct rte_mbuf *seg)
{
	if (rte_mbuf_refcnt_read(seg) != 1 || RTE_MBUF_CLONED(seg))
		return false;
	return !RTE_MBUF_HAS_EXTBUF(seg) || rte_mbuf_ext_refcnt_read(seg->shinfo) == 1;
}

/* Whether lengths and number of segments fit the chain; may_be_empty allows empty segments. */
static bool
chain_fits(const struct rte_mbuf *m, bool may_be_empty)
{
	uint32_t n_segs = 0;
	uint32_t len = 0;

	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next) {
		if ((seg->data_len == 0 && !may_be_empty) || ++n_segs > m->nb_segs)
			return false;
		len += seg->data_len;
	}
	return n_segs == m->nb_segs && len == m->pkt_len;
}

/* Does what was asked for. The frame passed tx_check() and nobody else sees its bytes. */
static void
tx_insert(struct rte_mbuf *m)
{
	uint64_t asked = m->ol_flags;
	struct headers h;

	if (asked & TX_SUMS) {
		headers_parse(m, &h);
		if (asked & RTE_MBUF_F_TX_IP_CKSUM)
			ipv4_cksum_insert(m, &h);
		if (TX_L4_REQUEST(asked))
			udp_cksum_insert(m, &h);
	}
	if (asked & RTE_MBUF_F_TX_VLAN)
		vlan_insert(m, m->vlan_tci);
	m->ol_flags &= ~RTE_MBUF_F_TX_OFFLOAD_MASK;
}

/* --- RSS ------------------------------------------------------------------------------------- */

/* Toeplitz over addresses, and over ports where those are configured. False: no hash. */
static bool
rss_hash(struct testport *port, const struct headers *h, uint32_t *hash)
{
	uint64_t hf = switch_get(&port->rss_hf);
	bool v4 = h->version == 4;
	const uint8_t *addrs;
	uint32_t key[RSS_KEY_LEN / 4];
	uint32_t tuple[9];
	uint32_t n = 0;
	bool ports;

	if (h->version == 0 || hf == 0)
		return false;
	ports = h->udp && (hf & (v4 ? RTE_ETH_RSS_NONFRAG_IPV4_UDP : RTE_ETH_RSS_NONFRAG_IPV6_UDP));
	if (!ports && !(hf & (v4 ? RSS_V4_PAIR : RSS_V6_PAIR)))
		return false;

	addrs = h->bytes + h->l2_len + (v4 ? 12 : 8);
	for (; n < (v4 ? 2u : 8u); n++)
		tuple[n] = be32(addrs + 4 * n);
	if (ports)
		tuple[n++] = be32(h->bytes + h->l2_len + h->l3_len); /* source, destination */
	for (uint32_t i = 0; i < RTE_DIM(key); i++)
		key[i] = switch_get(&port->rss_key[i]);
	*hash = rte_softrss_be(tuple, n, (const uint8_t *)key);
	return true;
}

/* The rx queue that RSS and RETA choose; 0 for frames without a hash, as hardware does. */
static uint16_t
rss_queue(struct testport *port, const struct rte_mbuf *m)
{
	struct headers h;
	uint32_t hash;
	uint16_t queue;

	headers_parse(m, &h);
	if (port->cfg.reta_size == 0 || !rss_hash(port, &h, &hash))
		return 0;
	queue = switch_get(&port->reta[hash & (port->cfg.reta_size - 1u)]);
	return queue < port->n_rx_queues ? queue : 0;
}

static void
rss_key_set(struct testport *port, const uint8_t *key)
{
	for (uint32_t i = 0; i < RSS_KEY_LEN / 4; i++)
		switch_set(&port->rss_key[i], be32(key + 4 * i));
}

/* --- Receiving ------------------------------------------------------------------------------- */

static uint64_t
rx_cksum_flags(const struct rx_queue *rxq, const struct rte_mbuf *m, const struct headers *h)
{
	uint64_t flags = 0;
	uint16_t sum;

	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM) && h->version == 4) {
		sum = rte_raw_cksum(h->bytes + h->l2_len, h->l3_len);
		flags |= sum == 0xffff ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : RTE_MBUF_F_RX_IP_CKSUM_BAD;
	}
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) && h->udp_fits) {
		/* Over IPv4 a zero checksum is none: nothing was verified, nothing is said. */
		if (h->version == 4 && be16(h->bytes + h->l2_len + h->l3_len + 6) == 0)
			return flags;
		sum = sum_fold((uint32_t)sum_udp(m, h) + sum_pseudo(h));
		flags |= sum == 0xffff ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
	}
	return flags;
}

/* Fills what a NIC reports in the descriptor. */
static void
rx_describe(struct rx_queue *rxq, struct rte_mbuf *m)
{
	struct testport *port = rxq->port;
	uint64_t mask = switch_get(&port->force_mask);
	struct headers h;
	uint64_t flags;
	uint32_t hash;

	headers_parse(m, &h);
	flags = rx_cksum_flags(rxq, m, &h);
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH) && rss_hash(port, &h, &hash)) {
		flags |= RTE_MBUF_F_RX_RSS_HASH;
		m->hash.rss = switch_get(&port->force_hash) ? switch_get(&port->forced_hash) : hash;
	}
	if (rxq->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP) {
		flags |= rxq->timestamp_flag;
		*RTE_MBUF_DYNFIELD(m, rxq->timestamp_offset, rte_mbuf_timestamp_t *) =
			switch_get(&port->timestamp_ns);
	}
	m->ol_flags = (m->ol_flags & MBUF_KIND_FLAGS) | flags;
	m->packet_type = 0;
	m->vlan_tci = 0;
	m->port = port->port_id;
	/* A shared buffer, or one that ends within the tag, keeps its tag. */
	if ((rxq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP) && h.tagged && seg_is_private(m) &&
	    m->data_len >= FRAME_OVERHEAD) {
		m->vlan_tci = vlan_strip(m);
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	}
	m->ol_flags = (m->ol_flags & ~mask) | (switch_get(&port->force_value) & mask);
}

/* The address filter of a NIC. */
static bool
rx_wants(struct testport *port, const struct rte_mbuf *m)
{
	uint8_t copy[RTE_ETHER_ADDR_LEN];
	const uint8_t *dst = rte_pktmbuf_read(m, 0, sizeof(copy), copy);
	uint64_t number = mac_number(dst);
	uint32_t n_mc_addrs;

	if (switch_get(&port->promiscuous) || number == UINT64_C(0xffffffffffff))
		return true;
	if (!(dst[0] & 1))
		return number == switch_get(&port->mac);
	if (switch_get(&port->allmulticast))
		return true;
	n_mc_addrs = switch_get(&port->n_mc_addrs);
	for (uint32_t i = 0; i < n_mc_addrs; i++)
		if (number == switch_get(&port->mc_addr[i]))
			return true;
	return false;
}

/*
 * Takes a frame off the cable into a buffer of the queue's own pool, as DMA would; the sender's
 * mbuf is freed. NULL when it is not received, which is counted.
 */
static struct rte_mbuf *
rx_from_wire(struct rx_queue *rxq, struct rte_mbuf *sent)
{
	uint32_t len = sent->pkt_len + (sent->ol_flags & RTE_MBUF_F_TX_VLAN ? VLAN_LEN : 0);
	bool scatter = rxq->offloads & RTE_ETH_RX_OFFLOAD_SCATTER;
	struct rte_mbuf *m = NULL;

	if (!rx_wants(rxq->port, sent)) {
		counter_add(&rxq->n_filtered, 1);
	} else if (len > switch_get(&rxq->port->mtu) + (uint32_t)FRAME_OVERHEAD ||
		   (len > rxq->room_bytes && !scatter)) {
		counter_add(&rxq->n_errors, 1);
	} else {
		m = rte_pktmbuf_copy(sent, rxq->pool, 0, UINT32_MAX);
		if (m == NULL)
			counter_add(&rxq->n_nombuf, 1);
	}
	rte_pktmbuf_free(sent);
	if (m == NULL)
		return NULL;

	tx_insert(m);
	m->ol_flags = 0;
	if (m->pkt_len < FRAME_MIN_LEN) {
		uint16_t n_pad = (uint16_t)(FRAME_MIN_LEN - m->pkt_len);
		char *pad = rte_pktmbuf_append(m, n_pad);

		if (pad != NULL)
			memset(pad, 0, n_pad);
	}
	return m;
}

/* Whether this frame is the k-th and to be lost. */
static bool
is_dropped(struct testport *port, enum testport_dir dir, uint32_t *n_since)
{
	uint32_t k = switch_get(&port->drop_every[dir]);

	if (k == 0 || ++*n_since < k)
		return false;
	*n_since = 0;
	return true;
}

static uint16_t
wire_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct rx_queue *rxq = queue;
	struct testport *port = rxq->port;
	uint32_t n_lanes = atomic_load_explicit(&port->n_lanes, memory_order_acquire);
	uint64_t n_bytes = 0;
	uint16_t n_rx = 0;

	if (switch_get(&port->rx_stalled))
		return 0;
	/* Each burst begins with another lane, so that a busy one does not starve the rest. */
	for (uint32_t i = 0; i < n_lanes && n_rx < n; i++) {
		uint32_t l = (rxq->next_lane + i) % n_lanes;
		/* The raw frames go where the received ones will lie: those are never more. */
		uint32_t n_raw = rte_ring_sc_dequeue_burst(rxq->lane[l].ring, (void **)&bufs[n_rx],
							   (unsigned int)(n - n_rx), NULL);
		struct rte_mbuf **raw = &bufs[n_rx];

		for (uint32_t j = 0; j < n_raw; j++) {
			struct rte_mbuf *m = raw[j];

			if (is_dropped(port, TESTPORT_RX, &rxq->n_since_drop)) {
				counter_add(&rxq->n_dropped, 1);
				rte_pktmbuf_free(m);
				continue;
			}
			if (l >= LANE_WIRE)
				m = rx_from_wire(rxq, m);
			if (m == NULL)
				continue;
			n_bytes += m->pkt_len;
			rx_describe(rxq, m);
			bufs[n_rx++] = m;
		}
	}
	rxq->next_lane = (rxq->next_lane + 1) % n_lanes;
	counter_add(&rxq->n_frames, n_rx);
	counter_add(&rxq->n_bytes, n_bytes);
	return n_rx;
}

/* --- Transmitting ---------------------------------------------------------------------------- */

static enum testport_error
tx_check_buffers(struct tx_queue *txq, const struct rte_mbuf *m)
{
	if (!chain_fits(m, false) || m->nb_segs > SEGS_MAX)
		return TESTPORT_ERR_CHAIN;
	if (m->nb_segs > 1 && !(txq->offloads & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
		return TESTPORT_ERR_MULTI_SEG;
	if (txq->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE) {
		if (txq->pool == NULL)
			txq->pool = m->pool;
		for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next)
			if (rte_mbuf_refcnt_read(seg) != 1 || !RTE_MBUF_DIRECT(seg) ||
			    seg->pool != txq->pool)
				return TESTPORT_ERR_FAST_FREE;
	}
	return TESTPORT_N_ERRORS;
}

/* Whether the checksums asked for can be computed from what the mbuf says and holds. */
static enum testport_error
tx_check_sums(const struct rte_mbuf *m)
{
	uint64_t version = m->ol_flags & (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6);
	uint32_t padded_max;
	struct headers h;

	if (version == 0 || version == (RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_IPV6))
		return TESTPORT_ERR_FLAGS;
	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) && version != RTE_MBUF_F_TX_IPV4)
		return TESTPORT_ERR_FLAGS;

	headers_parse(m, &h);
	if (h.version != (version == RTE_MBUF_F_TX_IPV4 ? 4 : 6) || !h.ip_fits)
		return TESTPORT_ERR_HEADER;
	if (m->l2_len != h.l2_len || m->l3_len != h.l3_len)
		return TESTPORT_ERR_LENS;
	if ((m->ol_flags & RTE_MBUF_F_TX_IP_CKSUM) && be16(h.bytes + h.l2_len + 10) != 0)
		return TESTPORT_ERR_SEED;
	if (TX_L4_REQUEST(m->ol_flags) == 0)
		return TESTPORT_N_ERRORS;

	/*
	 * Some NICs sum up to the end of the frame: what follows the datagram must be padding to
	 * the shortest frame, and the two lengths must agree.
	 */
	padded_max = RTE_MAX(h.l2_len + h.ip_len, (uint32_t)FRAME_MIN_LEN);
	if (!h.udp_fits || h.udp_len != h.ip_len - h.l3_len || m->pkt_len > padded_max)
		return TESTPORT_ERR_HEADER;
	if (rte_cpu_to_be_16(be16(h.bytes + h.l2_len + h.l3_len + 6)) != sum_pseudo(&h))
		return TESTPORT_ERR_SEED;
	return TESTPORT_N_ERRORS;
}

/* What is wrong with a frame and with what is asked for it; TESTPORT_N_ERRORS: nothing. */
static enum testport_error
tx_check(struct tx_queue *txq, const struct rte_mbuf *m)
{
	uint64_t asked = m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK;
	enum testport_error err = tx_check_buffers(txq, m);
	uint32_t len_max = switch_get(&txq->port->mtu) + (uint32_t)FRAME_OVERHEAD;

	if (err != TESTPORT_N_ERRORS)
		return err;
	if (m->pkt_len < RTE_ETHER_HDR_LEN ||
	    m->pkt_len + (asked & RTE_MBUF_F_TX_VLAN ? VLAN_LEN : 0) > len_max)
		return TESTPORT_ERR_SIZE;

	if ((asked & ~TX_KNOWN) ||
	    ((asked & RTE_MBUF_F_TX_VLAN) && !(txq->offloads & RTE_ETH_TX_OFFLOAD_VLAN_INSERT)) ||
	    ((asked & RTE_MBUF_F_TX_IP_CKSUM) &&
	     !(txq->offloads & RTE_ETH_TX_OFFLOAD_IPV4_CKSUM)) ||
	    (TX_L4_REQUEST(asked) && (TX_L4_REQUEST(asked) != RTE_MBUF_F_TX_UDP_CKSUM ||
				      !(txq->offloads & RTE_ETH_TX_OFFLOAD_UDP_CKSUM))))
		return TESTPORT_ERR_OFFLOAD;
	return asked & TX_SUMS ? tx_check_sums(m) : TESTPORT_N_ERRORS;
}

/*
 * Hardware inserts on the wire and leaves the host's memory alone. Here the frame itself is handed
 * to the test, so it is copied where somebody else would see the change. NULL: no memory.
 */
static struct rte_mbuf *
tx_own(struct rte_mbuf *m)
{
	bool tag = m->ol_flags & RTE_MBUF_F_TX_VLAN;
	bool ours = true;
	struct rte_mempool *pool;
	struct rte_mbuf *copy;
	uint32_t off = 0;

	if (!(m->ol_flags & TX_INSERTS))
		return m;
	for (struct rte_mbuf *seg = m; seg != NULL && off < HEADERS_MAX; seg = seg->next) {
		ours = ours && seg_is_private(seg);
		off += seg->data_len;
	}
	if (tag && (rte_pktmbuf_headroom(m) < VLAN_LEN || m->data_len < ADDRS_LEN))
		ours = false;
	if (ours)
		return m;

	/* A clone's own pool may have no room for data. */
	pool = RTE_MBUF_CLONED(m) ? rte_mbuf_from_indirect(m)->pool : m->pool;
	if (rte_pktmbuf_data_room_size(pool) <= RTE_PKTMBUF_HEADROOM)
		return NULL;
	copy = rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
	if (copy != NULL)
		rte_pktmbuf_free(m);
	return copy;
}

/* The lane at the other end of the cable. */
static struct lane *
tx_lane(struct tx_queue *txq, const struct rte_mbuf *m)
{
	struct testport *peer = txq->port->peer;
	uint16_t q = txq->id % peer->n_rx_queues;

	/* A malformed chain is not walked: tx_check() will refuse the frame anyway. */
	if (switch_get(&peer->distribute) && chain_fits(m, true))
		q = rss_queue(peer, m);
	return &peer->rxq[q].lane[LANE_WIRE + txq->id];
}

/* Transmits one frame; false when there is no room, with nothing changed. */
static bool
tx_one(struct tx_queue *txq, struct rte_mbuf *m)
{
	struct testport *port = txq->port;
	bool pair = port->cfg.mode == TESTPORT_PAIR;
	struct lane *lane = pair ? tx_lane(txq, m) : NULL;
	struct rte_ring *ring = pair ? lane->ring : txq->ring;
	enum testport_error err;
	struct rte_mbuf *own;
	uint32_t len;

	/* Nobody else fills the ring: room seen now is there below. */
	if (rte_ring_full(ring) && !(pair && !switch_get(&port->pause)))
		return false;

	err = tx_check(txq, m);
	if (err == TESTPORT_N_ERRORS && !pair) {
		own = tx_own(m);
		if (own == NULL)
			err = TESTPORT_ERR_COPY;
		else
			m = own;
	}
	if (err != TESTPORT_N_ERRORS) {
		PORT_LOG(DEBUG, "port %u queue %u: %s", port->port_id, txq->id,
			 testport_error_name(err));
		counter_add(&txq->n_errors[err], 1);
		rte_pktmbuf_free(m);
		return true;
	}

	if (m->ol_flags & TX_INSERTS)
		counter_add(&txq->n_inserted, 1);
	if (!pair)
		tx_insert(m);
	len = m->pkt_len;
	counter_add(&txq->n_frames, 1);
	counter_add(&txq->n_bytes, len);
	if (is_dropped(port, TESTPORT_TX, &txq->n_since_drop)) {
		counter_add(&txq->n_dropped, 1);
		rte_pktmbuf_free(m);
	} else if (rte_ring_sp_enqueue(ring, m) != 0) {
		counter_add(&lane->n_missed, 1); /* only a cable gets here */
		rte_pktmbuf_free(m);
	}
	return true;
}

static uint16_t
wire_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct tx_queue *txq = queue;
	struct testport *port = txq->port;
	uint16_t limit = RTE_MIN(n, switch_get(&port->tx_accept));
	uint16_t n_tx = 0;

	atomic_store(&txq->busy, true); /* before the gate is looked at: see gate_set_locked() */
	if (atomic_load(&port->gate))
		while (n_tx < limit && tx_one(txq, bufs[n_tx]))
			n_tx++;
	atomic_store_explicit(&txq->busy, false, memory_order_release);
	return n_tx;
}

/* --- Feed mode ------------------------------------------------------------------------------- */

/*
 * A descriptor ring as real drivers keep it: rx takes posted mbufs in order and replaces them in
 * batches from the pool, so the number of descriptors sets how much memory is in play. The frames
 * were written into the data rooms when the port started; a burst only writes the first cache line
 * of each mbuf. The frame's length and its class of flags lie in hash.fdir.hi, which means nothing
 * unless a flow rule matched and is in that line; hash.rss beside it was filled with the frame.
 */
static_assert(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, data_off) + 2 &&
		      offsetof(struct rte_mbuf, nb_segs) ==
			      offsetof(struct rte_mbuf, data_off) + 4 &&
		      offsetof(struct rte_mbuf, port) == offsetof(struct rte_mbuf, data_off) + 6,
	      "one word to rearm");

static inline void
feed_rearm(struct rte_mbuf *m, uint64_t rearm)
{
	memcpy((char *)m + offsetof(struct rte_mbuf, data_off), &rearm, sizeof(rearm));
}

static inline void
feed_fill(struct rte_mbuf *m, uint64_t rearm, uint64_t ol_flags, uint16_t len_bytes)
{
	feed_rearm(m, rearm);
	m->ol_flags = ol_flags;
	m->packet_type = 0;
	m->pkt_len = len_bytes;
	m->data_len = len_bytes;
	m->vlan_tci = 0;
}

static void
feed_refill(struct rx_queue *rxq)
{
	while (rxq->n_slots - rxq->n_posted >= TESTPORT_FEED_BATCH) {
		if (rte_mempool_get_bulk(rxq->pool, (void **)&rxq->posted[rxq->tail],
					 TESTPORT_FEED_BATCH) != 0) {
			counter_add(&rxq->n_nombuf, 1);
			return;
		}
		rxq->n_posted += TESTPORT_FEED_BATCH;
		rxq->tail += TESTPORT_FEED_BATCH;
		if (rxq->tail == rxq->n_slots)
			rxq->tail = 0;
	}
}

/* Takes n posted mbufs, n at most n_posted. */
static inline void
feed_take(struct rx_queue *rxq, struct rte_mbuf **bufs, uint16_t n)
{
	uint32_t n_first = RTE_MIN((uint32_t)n, rxq->n_slots - rxq->head);

	memcpy(bufs, &rxq->posted[rxq->head], n_first * sizeof(*bufs));
	memcpy(bufs + n_first, rxq->posted, (n - n_first) * sizeof(*bufs));
	rxq->head += n;
	if (rxq->head >= rxq->n_slots)
		rxq->head -= rxq->n_slots;
	rxq->n_posted -= n;
}

static uint16_t
feed_rx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct rx_queue *rxq = queue;
	const struct feed_pool *feed = &rxq->feed;
	uint64_t rearm = rxq->rearm;
	uint64_t n_bytes = 0;

	n = (uint16_t)RTE_MIN((uint32_t)n, rxq->n_posted);
	feed_take(rxq, bufs, n);
	if (feed->uniform) {
		uint64_t ol_flags = feed->ol_flags[0];
		uint16_t len_bytes = feed->len_bytes;

		for (uint16_t i = 0; i < n; i++)
			feed_fill(bufs[i], rearm, ol_flags, len_bytes);
		n_bytes = (uint64_t)n * len_bytes;
	} else {
		for (uint16_t i = 0; i < n; i++) {
			uint32_t hi = bufs[i]->hash.fdir.hi;

			feed_fill(bufs[i], rearm, feed->ol_flags[hi >> 16], (uint16_t)hi);
			n_bytes += (uint16_t)hi;
		}
	}
	feed_refill(rxq);
	counter_add(&rxq->n_frames, n);
	counter_add(&rxq->n_bytes, n_bytes);
	return n;
}

static uint16_t
feed_tx_burst(void *queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct tx_queue *txq = queue;
	const uint64_t both = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	uint64_t n_bytes = 0;

	for (uint16_t i = 0; i < n; i++)
		n_bytes += bufs[i]->pkt_len;
	if (n > 0 && (txq->offloads & both) == RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		rte_mempool_put_bulk(bufs[0]->pool, (void **)bufs, n);
	else
		rte_pktmbuf_free_bulk(bufs, n);
	counter_add(&txq->n_frames, n);
	counter_add(&txq->n_bytes, n_bytes);
	return n;
}

/* One pool being written. */
struct feed_write {
	struct rx_queue *rxq;
	int err;
};

/* The number of these flags in the pool's table, or -1 when that is full. */
static int
feed_class(struct feed_pool *feed, uint64_t ol_flags)
{
	uint16_t i = 0;

	while (i < feed->n_classes && feed->ol_flags[i] != ol_flags)
		i++;
	if (i == FEED_CLASSES_MAX)
		return -1;
	if (i == feed->n_classes)
		feed->ol_flags[feed->n_classes++] = ol_flags;
	return i;
}

/* With sums_fix: whatever the checksum fields hold, make them right. */
static void
feed_fix_sums(struct rte_mbuf *m)
{
	struct headers h;

	headers_parse(m, &h);
	if (h.version == 4) {
		frame_write_16(m, h.l2_len + 10u, 0);
		ipv4_cksum_insert(m, &h);
	}
	if (h.udp_fits) {
		frame_write_16(m, (uint32_t)h.l2_len + h.l3_len + 6, sum_pseudo(&h));
		udp_cksum_insert(m, &h);
	}
}

static void
feed_write_element(struct rte_mempool *mp __rte_unused, void *arg, void *obj, unsigned int index)
{
	struct feed_write *w = arg;
	struct rx_queue *rxq = w->rxq;
	const struct feed_supply *supply = &rxq->port->supply;
	uint32_t i = index % supply->n_frames;
	uint16_t len = supply->len_bytes[i];
	struct rte_mbuf *m = obj;
	uint8_t *bytes;
	int class;

	/* It is free, so nobody minds; rx_describe() wants a whole mbuf. */
	feed_rearm(m, rxq->rearm);
	m->data_len = len;
	m->pkt_len = len;
	bytes = rte_pktmbuf_mtod(m, uint8_t *);
	memcpy(bytes, supply->bytes + supply->offset[i], len);
	if (supply->vary != NULL)
		supply->vary(bytes, len, index, supply->arg);
	if (supply->sums_fix)
		feed_fix_sums(m);
	m->hash.rss = 0;
	rx_describe(rxq, m);

	class = feed_class(&rxq->feed, m->ol_flags);
	if (class < 0) {
		w->err = -E2BIG;
		return;
	}
	m->hash.fdir.hi = (uint32_t) class << 16 | len;
	if (index == 0)
		rxq->feed.len_bytes = len;
	rxq->feed.uniform = rxq->feed.uniform && class == 0 && len == rxq->feed.len_bytes;
}

/* Writes the supply into the pool of a queue, unless a queue before it has that pool. */
static int
feed_write_pool(struct rx_queue *rxq)
{
	const struct feed_supply *supply = &rxq->port->supply;
	struct feed_write w = {.rxq = rxq};

	for (uint16_t q = 0; q < rxq->id; q++) {
		const struct rx_queue *other = &rxq->port->rxq[q];

		if (other->pool == rxq->pool) {
			rxq->feed = other->feed;
			return 0;
		}
	}
	if (rte_mempool_avail_count(rxq->pool) != rxq->pool->size) {
		PORT_LOG(ERR, "port %u queue %u: elements of pool %s are in use",
			 rxq->port->port_id, rxq->id, rxq->pool->name);
		return -EBUSY;
	}
	for (uint32_t i = 0; i < supply->n_frames; i++) {
		if (supply->len_bytes[i] > rxq->room_bytes) {
			PORT_LOG(ERR,
				 "port %u queue %u: frame %" PRIu32 " has %u bytes, allowed %u",
				 rxq->port->port_id, rxq->id, i, supply->len_bytes[i],
				 rxq->room_bytes);
			return -EMSGSIZE;
		}
	}
	memset(&rxq->feed, 0, sizeof(rxq->feed));
	rxq->feed.pool = rxq->pool;
	rxq->feed.uniform = true;
	rte_mempool_obj_iter(rxq->pool, feed_write_element, &w);
	return w.err;
}

static void
feed_unpost(struct testport *port)
{
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		struct rx_queue *rxq = &port->rxq[q];

		while (rxq->n_posted > 0) {
			struct rte_mbuf *m;

			feed_take(rxq, &m, 1);
			rte_mempool_put(rxq->pool, m);
		}
		rxq->head = 0;
		rxq->tail = 0;
	}
}

static int
feed_start(struct testport *port)
{
	int err;

	if (port->supply.n_frames == 0 && port->n_rx_queues > 0) {
		PORT_LOG(ERR, "port %u: no frames, call testport_feed() first", port->port_id);
		return -ENODATA;
	}
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		err = feed_write_pool(&port->rxq[q]);
		if (err != 0)
			return err;
	}
	for (uint16_t q = 0; q < port->n_rx_queues; q++) {
		struct rx_queue *rxq = &port->rxq[q];

		feed_refill(rxq);
		if (rxq->n_posted != rxq->n_slots) {
			PORT_LOG(ERR,
				 "port %u queue %u: pool %s cannot fill %" PRIu32 " descriptors",
				 port->port_id, q, rxq->pool->name, rxq->n_slots);
			feed_unpost(port);
			return -ENOMEM;
		}
	}
	return 0;
}

static void
supply_free(struct feed_supply *supply)
{
	free(supply->bytes);
	free(supply->offset);
	free(supply->len_bytes);
	memset(supply, 0, sizeof(*supply));
}

/* --- Links and cables ------------------------------------------------------------------------ */

/* Ports whose link changed, to be told when control_lock is free again. */
struct link_news {
	struct rte_eth_dev *dev[2];
	uint32_t n;
};

static void
link_report(struct testport *port, bool up)
{
	const struct rte_eth_link link = {
		.link_speed = up ? RTE_ETH_SPEED_NUM_10G : RTE_ETH_SPEED_NUM_NONE,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
	};

	(void)rte_eth_linkstatus_set(port->dev, &link);
}

/*
 * Waits until no filling thread is inside. One that never returns (it died there, and the test
 * framework went on) is named and given up, so that a test fails instead of hanging.
 */
static void
bursts_await(struct testport *port)
{
	uint64_t deadline_tsc = rte_rdtsc() + QUIESCE_S * rte_get_tsc_hz();

	for (uint16_t q = 0; q < TESTPORT_MAX_QUEUES; q++) {
		while (atomic_load(&port->txq[q].busy) || atomic_load(&port->rxq[q].busy)) {
			if (rte_rdtsc() > deadline_tsc) {
				PORT_LOG(ERR, "port %u queue %u: a burst does not return",
					 port->port_id, q);
				break;
			}
			rte_pause();
		}
	}
}

/*
 * Opens or closes the way from this port's filling threads (tx bursts, inject) to the rings they
 * fill. A filling thread says that it is busy and then looks at the gate; here the gate is closed
 * and then each busy flag awaited. Both orders are sequentially consistent, so either the thread
 * sees the closed gate or it is seen and waited for. When this returns with the gate closed nobody
 * is inside, and the rings may be emptied or freed.
 */
static void
gate_set_locked(struct testport *port, struct testport *peer, bool open, struct link_news *news)
{
	if (atomic_load(&port->gate) == open)
		return;
	if (open) {
		/* Never fewer: frames may wait in the lanes of a peer that had more queues. */
		uint32_t n_lanes = LANE_WIRE + (peer != NULL ? peer->n_tx_queues : 0u);

		port->peer = peer;
		if (n_lanes > atomic_load(&port->n_lanes))
			atomic_store_explicit(&port->n_lanes, n_lanes,
					      memory_order_release); /* pairs with wire_rx_burst */
	}
	atomic_store(&port->gate, open);
	if (!open) {
		bursts_await(port);
		port->peer = NULL;
	}
	link_report(port, open);
	news->dev[news->n++] = port->dev;
}

static struct testport *
cable_far_end(const struct testport *port)
{
	if (port->cable == NULL)
		return NULL;
	return port->cable->end[port->cable->end[0] == port];
}

static bool
link_is_wanted(const struct testport *port)
{
	return port->started && port->plugged && port->admin_up;
}

/* Brings the gate (and the far end's) to what the switches say. Call after each change of them. */
static void
link_refresh_locked(struct testport *port, struct link_news *news)
{
	struct testport *peer = cable_far_end(port);
	bool up = link_is_wanted(port);

	if (port->cfg.mode == TESTPORT_PAIR)
		up = up && peer != NULL && link_is_wanted(peer);
	gate_set_locked(port, peer, up, news);
	if (peer != NULL)
		gate_set_locked(peer, port, up, news);
}

static void
link_tell(const struct link_news *news)
{
	for (uint32_t i = 0; i < news->n; i++)
		if (news->dev[i]->data->dev_conf.intr_conf.lsc)
			rte_eth_dev_callback_process(news->dev[i], RTE_ETH_EVENT_INTR_LSC, NULL);
}

static void
link_switch(struct testport *port, bool *which, bool value)
{
	struct link_news news = {.n = 0};

	pthread_mutex_lock(&control_lock);
	*which = value;
	link_refresh_locked(port, &news);
	pthread_mutex_unlock(&control_lock);
	link_tell(&news);
}

static int
cable_plug_locked(struct testport *port, const char *name)
{
	struct cable *cable = NULL;

	for (uint32_t i = 0; i < RTE_DIM(cables); i++) {
		bool unused = cables[i].end[0] == NULL && cables[i].end[1] == NULL;

		if (!unused && strcmp(cables[i].name, name) == 0) {
			cable = &cables[i];
			break;
		}
		if (unused && cable == NULL)
			cable = &cables[i];
	}
	if (cable == NULL || (cable->end[0] != NULL && cable->end[1] != NULL)) {
		PORT_LOG(ERR, "mode=pair:%s: that cable has two ends already", name);
		return -EBUSY;
	}
	snprintf(cable->name, sizeof(cable->name), "%s", name);
	cable->end[cable->end[0] != NULL] = port;
	port->cable = cable;
	return 0;
}

static void
cable_unplug_locked(struct testport *port)
{
	if (port->cable == NULL)
		return;
	port->cable->end[port->cable->end[1] == port] = NULL;
	port->cable = NULL;
}

/* --- ethdev operations ----------------------------------------------------------------------- */

static int
op_check(struct testport *port, enum testport_op op)
{
	struct op_fault *fault = &port->fault[op];
	int err = 0;

	pthread_mutex_lock(&control_lock);
	if (fault->err != 0 && fault->n_ok > 0)
		fault->n_ok--;
	else
		err = -fault->err;
	pthread_mutex_unlock(&control_lock);
	return err;
}

static int
port_info_get(struct rte_eth_dev *dev, struct rte_eth_dev_info *info)
{
	struct testport *port = dev->data->dev_private;
	const struct testport_cfg *cfg = &port->cfg;
	const struct rte_eth_desc_lim lim = {
		.nb_min = cfg->desc_min,
		.nb_max = cfg->desc_max,
		.nb_align = cfg->desc_align,
		.nb_seg_max = SEGS_MAX,
		.nb_mtu_seg_max = SEGS_MAX,
	};
	uint16_t desc_default = RTE_MIN((uint16_t)512, cfg->desc_max);
	int err = op_check(port, TESTPORT_OP_INFO_GET);

	if (err != 0)
		return err;
	desc_default = RTE_MAX(RTE_ALIGN_FLOOR(desc_default, cfg->desc_align), cfg->desc_min);
	info->min_mtu = RTE_ETHER_MIN_MTU;
	info->max_mtu = cfg->mtu_max;
	info->min_rx_bufsize = FRAME_MIN_LEN;
	info->max_rx_pktlen = cfg->mtu_max + (uint32_t)FRAME_OVERHEAD;
	info->max_rx_queues = cfg->queues_max;
	info->max_tx_queues = cfg->queues_max;
	info->max_mac_addrs = 1;
	info->rx_offload_capa = cfg->rx_offloads;
	info->tx_offload_capa = cfg->tx_offloads;
	info->rx_queue_offload_capa = cfg->rx_offloads;
	info->tx_queue_offload_capa = cfg->tx_offloads;
	info->reta_size = cfg->reta_size;
	if (cfg->reta_size != 0 || (cfg->rx_offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH)) {
		info->hash_key_size = RSS_KEY_LEN;
		info->flow_type_rss_offloads = RSS_FLOWS;
	}
	info->rx_desc_lim = lim;
	info->tx_desc_lim = lim;
	info->speed_capa = RTE_ETH_LINK_SPEED_10G;
	info->default_rxportconf = (struct rte_eth_dev_portconf){
		.burst_size = 32, .ring_size = desc_default, .nb_queues = 1};
	info->default_txportconf = info->default_rxportconf;
	return 0;
}

static int
port_configure(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	const struct rte_eth_conf *conf = &dev->data->dev_conf;
	const struct rte_eth_rss_conf *rss = &conf->rx_adv_conf.rss_conf;
	bool with_rss = conf->rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG;
	uint16_t n_rx = dev->data->nb_rx_queues;
	int err = op_check(port, TESTPORT_OP_CONFIGURE);

	if (err != 0)
		return err;
	if (with_rss && rss->rss_key != NULL && rss->rss_key_len != RSS_KEY_LEN)
		return -EINVAL;
	rss_key_set(port, with_rss && rss->rss_key != NULL ? rss->rss_key : rss_key_default);
	switch_set(&port->rss_hf, with_rss ? rss->rss_hf : 0);
	for (uint32_t i = 0; i < port->cfg.reta_size; i++)
		switch_set(&port->reta[i], (uint16_t)(n_rx > 0 ? i % n_rx : 0));
	switch_set(&port->mtu, (uint16_t)conf->rxmode.mtu);
	port->n_rx_queues = n_rx;
	port->n_tx_queues = dev->data->nb_tx_queues;
	return 0;
}

/* Frees the frames in a ring. */
static uint32_t
ring_flush(struct rte_ring *ring)
{
	struct rte_mbuf *m;
	uint32_t n = 0;

	while (ring != NULL && rte_ring_sc_dequeue(ring, (void **)&m) == 0) {
		rte_pktmbuf_free(m);
		n++;
	}
	return n;
}

/* Bytes of a single-producer, single-consumer ring that holds exactly n frames. */
static size_t
ring_bytes(uint16_t n)
{
	ssize_t bytes = rte_ring_get_memsize(rte_align32pow2(n + 1u));

	return RTE_CACHE_LINE_ROUNDUP((size_t)bytes);
}

static int
ring_init(struct rte_ring *ring, const char *name, uint16_t n)
{
	return rte_ring_init(ring, name, n, RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
}

static void
port_rx_queue_release(struct rte_eth_dev *dev, uint16_t queue)
{
	struct rx_queue *rxq = dev->data->rx_queues[queue];

	if (rxq == NULL)
		return;
	for (uint32_t l = 0; l < LANES_MAX; l++) {
		ring_flush(rxq->lane[l].ring);
		rxq->lane[l].ring = NULL;
	}
	rte_free(rxq->rings_mem);
	rte_free(rxq->posted);
	rxq->rings_mem = NULL;
	rxq->posted = NULL;
	rxq->pool = NULL;
	dev->data->rx_queues[queue] = NULL;
}

static void
port_tx_queue_release(struct rte_eth_dev *dev, uint16_t queue)
{
	struct tx_queue *txq = dev->data->tx_queues[queue];

	if (txq == NULL)
		return;
	ring_flush(txq->ring);
	rte_free(txq->ring);
	txq->ring = NULL;
	txq->set_up = false;
	dev->data->tx_queues[queue] = NULL;
}

static int
rx_lanes_create(struct rx_queue *rxq, uint16_t n_desc, int socket)
{
	uint32_t n_lanes = rxq->port->cfg.mode == TESTPORT_PAIR ? LANES_MAX : LANE_INJECT + 1;
	size_t bytes = ring_bytes(n_desc);
	char *mem =
		rte_zmalloc_socket("testport_lanes", n_lanes * bytes, RTE_CACHE_LINE_SIZE, socket);

	if (mem == NULL)
		return -ENOMEM;
	rxq->rings_mem = mem;
	for (uint32_t l = 0; l < n_lanes; l++) {
		rxq->lane[l].ring = (struct rte_ring *)(mem + l * bytes);
		if (ring_init(rxq->lane[l].ring, "testport_rx", n_desc) != 0)
			return -EINVAL;
	}
	return 0;
}

static int
rx_timestamp_enable(struct rx_queue *rxq)
{
	if (!(rxq->offloads & RTE_ETH_RX_OFFLOAD_TIMESTAMP))
		return 0;
	if (rte_mbuf_dyn_rx_timestamp_register(&rxq->timestamp_offset, &rxq->timestamp_flag) != 0)
		return -rte_errno;
	return 0;
}

static int
port_rx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc, unsigned int socket,
		    const struct rte_eth_rxconf *conf, struct rte_mempool *pool)
{
	struct testport *port = dev->data->dev_private;
	struct rx_queue *rxq = &port->rxq[queue];
	struct rte_mbuf proto = {
		.data_off = RTE_PKTMBUF_HEADROOM, .refcnt = 1, .nb_segs = 1, .port = port->port_id};
	uint16_t room = rte_pktmbuf_data_room_size(pool);
	int err = op_check(port, TESTPORT_OP_RX_QUEUE_SETUP);

	if (err != 0)
		return err;
	if (room <= RTE_PKTMBUF_HEADROOM ||
	    (rte_pktmbuf_priv_flags(pool) & RTE_PKTMBUF_POOL_F_PINNED_EXT_BUF))
		return -EINVAL;
	rxq->port = port;
	rxq->id = queue;
	rxq->offloads = dev->data->dev_conf.rxmode.offloads | conf->offloads;
	rxq->room_bytes = room - RTE_PKTMBUF_HEADROOM;
	rxq->head = 0;
	rxq->tail = 0;
	rxq->n_posted = 0;
	rxq->next_lane = 0;
	memcpy(&rxq->rearm, (char *)&proto + offsetof(struct rte_mbuf, data_off),
	       sizeof(rxq->rearm));
	/* From here on release undoes what is there. */
	dev->data->rx_queues[queue] = rxq;

	err = rx_timestamp_enable(rxq);
	if (err == 0 && port->cfg.mode == TESTPORT_FEED) {
		rxq->n_slots = n_desc;
		rxq->posted = rte_zmalloc_socket("testport_posted", n_desc * sizeof(*rxq->posted),
						 RTE_CACHE_LINE_SIZE, (int)socket);
		err = rxq->posted == NULL ? -ENOMEM : 0;
	} else if (err == 0) {
		err = rx_lanes_create(rxq, n_desc, (int)socket);
	}
	if (err != 0) {
		port_rx_queue_release(dev, queue);
		return err;
	}
	rxq->pool = pool;
	return 0;
}

static int
port_tx_queue_setup(struct rte_eth_dev *dev, uint16_t queue, uint16_t n_desc, unsigned int socket,
		    const struct rte_eth_txconf *conf)
{
	struct testport *port = dev->data->dev_private;
	struct tx_queue *txq = &port->txq[queue];
	int err = op_check(port, TESTPORT_OP_TX_QUEUE_SETUP);

	if (err != 0)
		return err;
	txq->port = port;
	txq->id = queue;
	txq->offloads = dev->data->dev_conf.txmode.offloads | conf->offloads;
	txq->pool = NULL;
	if (port->cfg.mode == TESTPORT_RING) {
		txq->ring = rte_zmalloc_socket("testport_tx", ring_bytes(n_desc),
					       RTE_CACHE_LINE_SIZE, (int)socket);
		if (txq->ring == NULL)
			return -ENOMEM;
		if (ring_init(txq->ring, "testport_tx", n_desc) != 0) {
			rte_free(txq->ring);
			txq->ring = NULL;
			return -EINVAL;
		}
	}
	txq->set_up = true;
	dev->data->tx_queues[queue] = txq;
	return 0;
}

static void
queue_states_set(struct rte_eth_dev *dev, uint8_t state)
{
	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
		dev->data->rx_queue_state[q] = state;
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		dev->data->tx_queue_state[q] = state;
}

static int
port_start(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_START);

	if (err != 0)
		return err;
	for (uint16_t q = 0; q < port->n_rx_queues; q++)
		if (dev->data->rx_queues[q] == NULL)
			return -EINVAL;
	for (uint16_t q = 0; q < port->n_tx_queues; q++)
		if (dev->data->tx_queues[q] == NULL)
			return -EINVAL;
	if (port->cfg.mode == TESTPORT_PAIR && port->n_rx_queues == 0) {
		PORT_LOG(ERR, "port %u: one end of a cable needs an rx queue", port->port_id);
		return -EINVAL;
	}
	if (port->cfg.mode == TESTPORT_FEED) {
		err = feed_start(port);
		if (err != 0)
			return err;
	}
	queue_states_set(dev, RTE_ETH_QUEUE_STATE_STARTED);
	link_switch(port, &port->started, true);
	return 0;
}

static int
port_stop(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_STOP);

	if (err != 0)
		return err;
	link_switch(port, &port->started, false);
	if (port->cfg.mode == TESTPORT_FEED)
		feed_unpost(port);
	for (uint16_t q = 0; q < port->n_rx_queues; q++)
		for (uint32_t l = 0; l < LANES_MAX; l++)
			ring_flush(port->rxq[q].lane[l].ring);
	queue_states_set(dev, RTE_ETH_QUEUE_STATE_STOPPED);
	return 0;
}

static int
port_close(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	link_switch(port, &port->started, false); /* removed while it runs */
	if (port->cfg.mode == TESTPORT_FEED)
		feed_unpost(port);
	pthread_mutex_lock(&control_lock);
	cable_unplug_locked(port);
	pthread_mutex_unlock(&control_lock);
	for (uint16_t q = 0; q < dev->data->nb_rx_queues; q++)
		port_rx_queue_release(dev, q);
	for (uint16_t q = 0; q < dev->data->nb_tx_queues; q++)
		port_tx_queue_release(dev, q);
	supply_free(&port->supply);
	return 0; /* the ethdev library frees dev_private and mac_addrs */
}

static int
port_link_update(struct rte_eth_dev *dev, int wait_to_complete __rte_unused)
{
	struct testport *port = dev->data->dev_private;

	link_report(port, atomic_load(&port->gate));
	return 0;
}

static int
port_set_link_up(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	link_switch(port, &port->admin_up, true);
	return 0;
}

static int
port_set_link_down(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	link_switch(port, &port->admin_up, false);
	return 0;
}

static int
port_mtu_set(struct rte_eth_dev *dev, uint16_t mtu)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_MTU_SET);

	if (err == 0)
		switch_set(&port->mtu, mtu);
	return err;
}

static int
port_mac_set(struct rte_eth_dev *dev, struct rte_ether_addr *mac)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_MAC_SET);

	if (err == 0)
		switch_set(&port->mac, mac_number(mac->addr_bytes));
	return err;
}

static int
port_mc_list_set(struct rte_eth_dev *dev, struct rte_ether_addr *addrs, uint32_t n)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_MC_LIST_SET);

	if (err != 0)
		return err;
	if (n > MC_ADDRS_MAX)
		return -ENOSPC;
	for (uint32_t i = 0; i < n; i++)
		switch_set(&port->mc_addr[i], mac_number(addrs[i].addr_bytes));
	switch_set(&port->n_mc_addrs, n);
	return 0;
}

static int
mode_set(struct rte_eth_dev *dev, enum testport_op op, bool on)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, op);

	if (err != 0)
		return err;
	if (op == TESTPORT_OP_PROMISCUOUS)
		switch_set(&port->promiscuous, on);
	else
		switch_set(&port->allmulticast, on);
	return 0;
}

static int
port_promiscuous_enable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_PROMISCUOUS, true);
}

static int
port_promiscuous_disable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_PROMISCUOUS, false);
}

static int
port_allmulticast_enable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_ALLMULTICAST, true);
}

static int
port_allmulticast_disable(struct rte_eth_dev *dev)
{
	return mode_set(dev, TESTPORT_OP_ALLMULTICAST, false);
}

static int
port_reta_update(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_RETA_UPDATE);

	if (err != 0)
		return err;
	if (port->cfg.reta_size == 0)
		return -ENOTSUP;
	if (size != port->cfg.reta_size)
		return -EINVAL;
	for (uint32_t i = 0; i < size; i++) {
		const struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint32_t bit = i % RTE_ETH_RETA_GROUP_SIZE;

		if (group->mask & RTE_BIT64(bit))
			switch_set(&port->reta[i], group->reta[bit]);
	}
	return 0;
}

static int
port_reta_query(struct rte_eth_dev *dev, struct rte_eth_rss_reta_entry64 *conf, uint16_t size)
{
	struct testport *port = dev->data->dev_private;

	if (port->cfg.reta_size == 0)
		return -ENOTSUP;
	if (size != port->cfg.reta_size)
		return -EINVAL;
	for (uint32_t i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &conf[i / RTE_ETH_RETA_GROUP_SIZE];
		uint32_t bit = i % RTE_ETH_RETA_GROUP_SIZE;

		if (group->mask & RTE_BIT64(bit))
			group->reta[bit] = switch_get(&port->reta[i]);
	}
	return 0;
}

static int
port_rss_hash_update(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct testport *port = dev->data->dev_private;
	int err = op_check(port, TESTPORT_OP_RSS_HASH_UPDATE);

	if (err != 0)
		return err;
	if (conf->rss_key != NULL && conf->rss_key_len != RSS_KEY_LEN)
		return -EINVAL;
	if (conf->rss_key != NULL)
		rss_key_set(port, conf->rss_key);
	switch_set(&port->rss_hf, conf->rss_hf);
	return 0;
}

static int
port_rss_hash_conf_get(struct rte_eth_dev *dev, struct rte_eth_rss_conf *conf)
{
	struct testport *port = dev->data->dev_private;

	conf->rss_hf = switch_get(&port->rss_hf);
	if (conf->rss_key == NULL || conf->rss_key_len < RSS_KEY_LEN)
		return 0;
	conf->rss_key_len = RSS_KEY_LEN;
	for (uint32_t i = 0; i < RSS_KEY_LEN / 4; i++) {
		rte_be32_t word = rte_cpu_to_be_32(switch_get(&port->rss_key[i]));

		memcpy(conf->rss_key + 4 * i, &word, sizeof(word));
	}
	return 0;
}

static uint64_t
tx_queue_errors(const struct tx_queue *txq)
{
	uint64_t n = 0;

	for (int kind = 0; kind < TESTPORT_N_ERRORS; kind++)
		n += counter_get(&txq->n_errors[kind]);
	return n;
}

/* All counters since creation; a reset remembers them instead of writing another thread's lines. */
static void
stats_sum(const struct testport *port, struct rte_eth_stats *s)
{
	memset(s, 0, sizeof(*s));
	s->imissed = switch_get(&port->n_missed_added);
	for (uint32_t q = 0; q < TESTPORT_MAX_QUEUES; q++) {
		const struct rx_queue *rxq = &port->rxq[q];
		const struct tx_queue *txq = &port->txq[q];
		uint64_t tx_errors = tx_queue_errors(txq);

		s->ipackets += counter_get(&rxq->n_frames);
		s->ibytes += counter_get(&rxq->n_bytes);
		s->ierrors += counter_get(&rxq->n_errors);
		s->rx_nombuf += counter_get(&rxq->n_nombuf);
		for (uint32_t l = 0; l < LANES_MAX; l++)
			s->imissed += counter_get(&rxq->lane[l].n_missed);
		s->opackets += counter_get(&txq->n_frames);
		s->obytes += counter_get(&txq->n_bytes);
		s->oerrors += tx_errors;
		if (q < RTE_ETHDEV_QUEUE_STAT_CNTRS) {
			s->q_ipackets[q] = counter_get(&rxq->n_frames);
			s->q_ibytes[q] = counter_get(&rxq->n_bytes);
			s->q_opackets[q] = counter_get(&txq->n_frames);
			s->q_obytes[q] = counter_get(&txq->n_bytes);
			s->q_errors[q] = counter_get(&rxq->n_errors);
		}
	}
}

static int
port_stats_get(struct rte_eth_dev *dev, struct rte_eth_stats *stats)
{
	struct testport *port = dev->data->dev_private;
	uint64_t *value = (uint64_t *)stats;
	const uint64_t *base = (const uint64_t *)&port->stats_base;

	static_assert(sizeof(*stats) % sizeof(*value) == 0, "nothing but 64-bit counters");
	stats_sum(port, stats);
	pthread_mutex_lock(&control_lock);
	for (size_t i = 0; i < sizeof(*stats) / sizeof(*value); i++)
		value[i] -= base[i];
	pthread_mutex_unlock(&control_lock);
	return 0;
}

static int
port_stats_reset(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	pthread_mutex_lock(&control_lock);
	stats_sum(port, &port->stats_base);
	pthread_mutex_unlock(&control_lock);
	return 0;
}

static const struct eth_dev_ops testport_ops = {
	.dev_configure = port_configure,
	.dev_start = port_start,
	.dev_stop = port_stop,
	.dev_close = port_close,
	.dev_infos_get = port_info_get,
	.dev_set_link_up = port_set_link_up,
	.dev_set_link_down = port_set_link_down,
	.link_update = port_link_update,
	.rx_queue_setup = port_rx_queue_setup,
	.rx_queue_release = port_rx_queue_release,
	.tx_queue_setup = port_tx_queue_setup,
	.tx_queue_release = port_tx_queue_release,
	.mtu_set = port_mtu_set,
	.mac_addr_set = port_mac_set,
	.set_mc_addr_list = port_mc_list_set,
	.promiscuous_enable = port_promiscuous_enable,
	.promiscuous_disable = port_promiscuous_disable,
	.allmulticast_enable = port_allmulticast_enable,
	.allmulticast_disable = port_allmulticast_disable,
	.reta_update = port_reta_update,
	.reta_query = port_reta_query,
	.rss_hash_update = port_rss_hash_update,
	.rss_hash_conf_get = port_rss_hash_conf_get,
	.stats_get = port_stats_get,
	.stats_reset = port_stats_reset,
};

/* --- Arguments ------------------------------------------------------------------------------- */

struct offload_name {
	const char *name;
	uint64_t flag;
};

static const struct offload_name rx_offload_names[] = {
	{"ipv4_cksum", RTE_ETH_RX_OFFLOAD_IPV4_CKSUM},
	{"udp_cksum", RTE_ETH_RX_OFFLOAD_UDP_CKSUM},
	{"rss_hash", RTE_ETH_RX_OFFLOAD_RSS_HASH},
	{"scatter", RTE_ETH_RX_OFFLOAD_SCATTER},
	{"timestamp", RTE_ETH_RX_OFFLOAD_TIMESTAMP},
	{"vlan_strip", RTE_ETH_RX_OFFLOAD_VLAN_STRIP},
	{"all", TESTPORT_RX_OFFLOADS},
	{"none", 0},
	{NULL, 0},
};

static const struct offload_name tx_offload_names[] = {
	{"ipv4_cksum", RTE_ETH_TX_OFFLOAD_IPV4_CKSUM},
	{"udp_cksum", RTE_ETH_TX_OFFLOAD_UDP_CKSUM},
	{"multi_segs", RTE_ETH_TX_OFFLOAD_MULTI_SEGS},
	{"fast_free", RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE},
	{"vlan_insert", RTE_ETH_TX_OFFLOAD_VLAN_INSERT},
	{"all", TESTPORT_TX_OFFLOADS},
	{"none", 0},
	{NULL, 0},
};

/* What arguments are read into: the strings that cfg points to live here. */
struct args {
	struct testport_cfg cfg;
	char cable[sizeof(((struct cable *)NULL)->name)];
};

static bool
parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *value <= max;
}

static bool
parse_u16(const char *text, uint16_t *value)
{
	uint64_t n;

	if (!parse_number(text, UINT16_MAX, &n))
		return false;
	*value = (uint16_t)n;
	return true;
}

static bool
parse_bool(const char *text, bool *value)
{
	uint64_t n;

	if (!parse_number(text, 1, &n))
		return false;
	*value = n;
	return true;
}

static bool
parse_offloads(const char *text, const struct offload_name *names, uint64_t *flags)
{
	char list[256];
	char *save = NULL;

	if (snprintf(list, sizeof(list), "%s", text) >= (int)sizeof(list))
		return false;
	*flags = 0;
	for (char *word = strtok_r(list, "[]+,", &save); word;
	     word = strtok_r(NULL, "[]+,", &save)) {
		const struct offload_name *n = names;

		while (n->name != NULL && strcmp(n->name, word) != 0)
			n++;
		if (n->name == NULL)
			return false;
		*flags |= n->flag;
	}
	return true;
}

static bool
parse_mode(const char *text, struct args *args)
{
	struct testport_cfg *cfg = &args->cfg;

	if (strcmp(text, "ring") == 0) {
		cfg->mode = TESTPORT_RING;
	} else if (strcmp(text, "feed") == 0) {
		cfg->mode = TESTPORT_FEED;
	} else if (strncmp(text, "pair:", 5) == 0) {
		cfg->mode = TESTPORT_PAIR;
		cfg->cable = args->cable;
		return text[5] != '\0' && snprintf(args->cable, sizeof(args->cable), "%s",
						   text + 5) < (int)sizeof(args->cable);
	} else {
		return false;
	}
	return true;
}

static bool
parse_txfail(const char *text, struct testport_cfg *cfg)
{
	uint64_t n;

	if (strcmp(text, "none") == 0)
		return true;
	if (strncmp(text, "accept:", 7) == 0)
		return parse_u16(text + 7, &cfg->tx_accept) && cfg->tx_accept > 0;
	if (strncmp(text, "drop:", 5) == 0 && parse_number(text + 5, UINT32_MAX, &n) && n > 0) {
		cfg->tx_drop_every = (uint32_t)n;
		return true;
	}
	return false;
}

#define OFFLOADS_ALLOWED(special)                                                                  \
	"all, none, or names joined by '+': ipv4_cksum, udp_cksum, " special
#define KEYS_ALLOWED                                                                               \
	"mode, queues, rx_offloads, tx_offloads, mac, mtu, reta, desc_min, desc_max, desc_align, " \
	"txfail, distribute, pause"

/* NULL: read. Otherwise what is allowed. */
static const char *
arg_read(const char *key, const char *value, struct args *args)
{
	struct testport_cfg *cfg = &args->cfg;

	if (strcmp(key, "mode") == 0)
		return parse_mode(value, args) ? NULL
					       : "ring, feed, pair:NAME (up to 31 characters)";
	if (strcmp(key, "queues") == 0)
		return parse_u16(value, &cfg->queues_max) && cfg->queues_max >= 1 &&
				       cfg->queues_max <= TESTPORT_MAX_QUEUES
			       ? NULL
			       : "1..16";
	if (strcmp(key, "rx_offloads") == 0)
		return parse_offloads(value, rx_offload_names, &cfg->rx_offloads)
			       ? NULL
			       : OFFLOADS_ALLOWED("rss_hash, scatter, timestamp, vlan_strip");
	if (strcmp(key, "tx_offloads") == 0)
		return parse_offloads(value, tx_offload_names, &cfg->tx_offloads)
			       ? NULL
			       : OFFLOADS_ALLOWED("multi_segs, fast_free, vlan_insert");
	if (strcmp(key, "mac") == 0)
		return rte_ether_unformat_addr(value, &cfg->mac) == 0 &&
				       rte_is_valid_assigned_ether_addr(&cfg->mac)
			       ? NULL
			       : "a unicast address, XX:XX:XX:XX:XX:XX";
	if (strcmp(key, "mtu") == 0)
		return parse_u16(value, &cfg->mtu_max) && cfg->mtu_max >= RTE_ETHER_MIN_MTU
			       ? NULL
			       : "68..65535";
	if (strcmp(key, "reta") == 0)
		return parse_u16(value, &cfg->reta_size) &&
				       (cfg->reta_size == 0 || cfg->reta_size == 64 ||
					cfg->reta_size == 128 || cfg->reta_size == 256 ||
					cfg->reta_size == 512)
			       ? NULL
			       : "0, 64, 128, 256, 512";
	if (strcmp(key, "desc_min") == 0)
		return parse_u16(value, &cfg->desc_min) && cfg->desc_min > 0 ? NULL : "1..32768";
	if (strcmp(key, "desc_max") == 0)
		return parse_u16(value, &cfg->desc_max) && cfg->desc_max > 0 &&
				       cfg->desc_max <= 32768
			       ? NULL
			       : "1..32768";
	if (strcmp(key, "desc_align") == 0)
		return parse_u16(value, &cfg->desc_align) && rte_is_power_of_2(cfg->desc_align)
			       ? NULL
			       : "a power of two";
	if (strcmp(key, "txfail") == 0)
		return parse_txfail(value, cfg) ? NULL : "none, accept:K, drop:K (K at least 1)";
	if (strcmp(key, "distribute") == 0)
		return parse_bool(value, &cfg->distribute) ? NULL : "0, 1";
	if (strcmp(key, "pause") == 0)
		return parse_bool(value, &cfg->pause) ? NULL : "0, 1";
	return "one of the keys " KEYS_ALLOWED;
}

/* Fills defaults and checks what one value cannot show. */
static int
cfg_complete(struct testport_cfg *cfg)
{
	bool feed = cfg->mode == TESTPORT_FEED;

	cfg->queues_max = cfg->queues_max ? cfg->queues_max : 8;
	cfg->mtu_max = cfg->mtu_max ? cfg->mtu_max : 9000;
	cfg->desc_min = cfg->desc_min ? cfg->desc_min : 32;
	cfg->desc_max = cfg->desc_max ? cfg->desc_max : 4096;
	cfg->desc_align = cfg->desc_align ? cfg->desc_align : 32;
	cfg->tx_accept = cfg->tx_accept ? cfg->tx_accept : UINT16_MAX;
	if (cfg->desc_min > cfg->desc_max) {
		PORT_LOG(ERR, "desc_min=%u, allowed: at most desc_max (%u)", cfg->desc_min,
			 cfg->desc_max);
		return -EINVAL;
	}
	if (cfg->desc_min % cfg->desc_align != 0) {
		PORT_LOG(ERR, "desc_min=%u, allowed: a multiple of desc_align (%u)", cfg->desc_min,
			 cfg->desc_align);
		return -EINVAL;
	}
	if (feed && cfg->desc_align % TESTPORT_FEED_BATCH != 0) {
		PORT_LOG(ERR, "desc_align=%u, allowed with mode=feed: a multiple of %u",
			 cfg->desc_align, TESTPORT_FEED_BATCH);
		return -EINVAL;
	}
	if (feed && (cfg->distribute || cfg->tx_accept != UINT16_MAX || cfg->tx_drop_every != 0)) {
		PORT_LOG(ERR, "distribute and txfail are not for mode=feed");
		return -EINVAL;
	}
	if (feed && (cfg->rx_offloads & ~TESTPORT_RX_OFFLOADS_FEED)) {
		PORT_LOG(ERR, "rx_offloads: vlan_strip and timestamp are not for mode=feed");
		return -EINVAL;
	}
	if (cfg->pause && cfg->mode != TESTPORT_PAIR) {
		PORT_LOG(ERR, "pause=1 is for mode=pair:NAME only");
		return -EINVAL;
	}
	return 0;
}

static int
args_parse(const char *text, struct args *args)
{
	struct rte_kvargs *list;
	int err = 0;

	memset(args, 0, sizeof(*args));
	if (text == NULL)
		text = "";
	list = rte_kvargs_parse(text, NULL);
	if (list == NULL) {
		PORT_LOG(ERR, "'%s' is not a list of key=value; keys are " KEYS_ALLOWED, text);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < list->count && err == 0; i++) {
		const char *key = list->pairs[i].key;
		const char *value = list->pairs[i].value ? list->pairs[i].value : "";
		const char *allowed = arg_read(key, value, args);

		if (allowed != NULL) {
			PORT_LOG(ERR, "%s=%s, allowed: %s", key, value, allowed);
			err = -EINVAL;
		}
	}
	rte_kvargs_free(list);
	return err != 0 ? err : cfg_complete(&args->cfg);
}

/* --- Probe and remove ------------------------------------------------------------------------ */

static int
testport_probe(struct rte_vdev_device *vdev)
{
	struct rte_ether_addr *mac;
	struct rte_eth_dev *dev;
	struct testport *port;
	struct args args;
	int err;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return -ENOTSUP;
	err = args_parse(rte_vdev_device_args(vdev), &args);
	if (err != 0)
		return err;
	if (vdev->device.numa_node == SOCKET_ID_ANY)
		vdev->device.numa_node = (int)rte_socket_id();
	dev = rte_eth_vdev_allocate(vdev, sizeof(*port));
	if (dev == NULL)
		return -ENOMEM;
	port = dev->data->dev_private;
	port->dev = dev;
	port->port_id = dev->data->port_id;
	port->cfg = args.cfg;
	port->plugged = true;
	port->admin_up = true;
	port->n_lanes = LANE_INJECT + 1;
	port->tx_accept = args.cfg.tx_accept;
	port->drop_every[TESTPORT_TX] = args.cfg.tx_drop_every;
	port->distribute = args.cfg.distribute;
	port->pause = args.cfg.pause;
	port->mtu = RTE_MIN(args.cfg.mtu_max, (uint16_t)RTE_ETHER_MTU);

	mac = rte_zmalloc_socket("testport_mac", sizeof(*mac), 0, dev->data->numa_node);
	if (mac == NULL) {
		err = -ENOMEM;
		goto release_port;
	}
	*mac = args.cfg.mac;
	if (rte_is_zero_ether_addr(mac))
		*mac = (struct rte_ether_addr){
			{0x02, 'w', 't', 0, (uint8_t)(port->port_id >> 8), (uint8_t)port->port_id}};
	port->mac = mac_number(mac->addr_bytes);
	dev->data->mac_addrs = mac;

	if (args.cfg.mode == TESTPORT_PAIR) {
		pthread_mutex_lock(&control_lock);
		err = cable_plug_locked(port, args.cable);
		pthread_mutex_unlock(&control_lock);
		if (err != 0)
			goto release_port;
	}
	port->cfg.cable = NULL; /* the string was ours for the time of this call */

	dev->dev_ops = &testport_ops;
	dev->rx_pkt_burst = args.cfg.mode == TESTPORT_FEED ? feed_rx_burst : wire_rx_burst;
	dev->tx_pkt_burst = args.cfg.mode == TESTPORT_FEED ? feed_tx_burst : wire_tx_burst;
	dev->data->dev_flags |= RTE_ETH_DEV_INTR_LSC | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
	dev->data->mtu = port->mtu;
	link_report(port, false);
	rte_eth_dev_probing_finish(dev);
	return 0;

release_port:
	rte_eth_dev_release_port(dev); /* frees dev_private and mac_addrs */
	return err;
}

static int
testport_remove(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (dev == NULL)
		return 0; /* closed before */
	port_close(dev);
	return rte_eth_dev_release_port(dev);
}

static struct rte_vdev_driver testport_driver = {
	.probe = testport_probe,
	.remove = testport_remove,
};

RTE_PMD_REGISTER_VDEV(net_weirtest, testport_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_weirtest,
			      "mode=<ring|feed|pair:NAME> queues=<n> rx_offloads=<list> "
			      "tx_offloads=<list> mac=<address> mtu=<n> reta=<n> desc_min=<n> "
			      "desc_max=<n> desc_align=<n> txfail=<none|accept:K|drop:K> "
			      "distribute=<0|1> pause=<0|1>");

/* --- The test's side: life ------------------------------------------------------------------- */

static struct testport *
port_find(uint16_t port_id)
{
	if (!rte_eth_dev_is_valid_port(port_id) ||
	    rte_eth_devices[port_id].dev_ops != &testport_ops)
		return NULL;
	return rte_eth_devices[port_id].data->dev_private;
}

struct text {
	char *at;
	size_t room;
	bool cut;
};

static __rte_format_printf(2, 3) void text_add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at, t->room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= t->room) {
		t->cut = true;
		return;
	}
	t->at += n;
	t->room -= (size_t)n;
}

/* Writes ",key=name+name"; false when a flag has no name. */
static bool
text_add_offloads(struct text *t, const char *key, const struct offload_name *names, uint64_t flags)
{
	const char *sep = "";

	text_add(t, ",%s=", key);
	if (flags == 0)
		text_add(t, "none");
	for (; names->name != NULL && strcmp(names->name, "all") != 0; names++) {
		if (!(flags & names->flag))
			continue;
		text_add(t, "%s%s", sep, names->name);
		flags &= ~names->flag;
		sep = "+";
	}
	return flags == 0;
}

/* The configuration as the arguments that a command line would have: one way in for both. */
static int
cfg_format(const struct testport_cfg *cfg, char *buf, size_t len)
{
	const struct {
		const char *key;
		uint32_t value;
	} numbers[] = {
		{"queues", cfg->queues_max},     {"mtu", cfg->mtu_max},
		{"reta", cfg->reta_size},        {"desc_min", cfg->desc_min},
		{"desc_max", cfg->desc_max},     {"desc_align", cfg->desc_align},
		{"distribute", cfg->distribute}, {"pause", cfg->pause},
	};
	struct text t = {.at = buf, .room = len};
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	switch (cfg->mode) {
	case TESTPORT_RING:
		text_add(&t, "mode=ring");
		break;
	case TESTPORT_FEED:
		text_add(&t, "mode=feed");
		break;
	case TESTPORT_PAIR:
		text_add(&t, "mode=pair:%s", cfg->cable ? cfg->cable : "");
		break;
	default:
		PORT_LOG(ERR, "mode=%d, allowed: a testport_mode", (int)cfg->mode);
		return -EINVAL;
	}
	if (!text_add_offloads(&t, "rx_offloads", rx_offload_names, cfg->rx_offloads) ||
	    !text_add_offloads(&t, "tx_offloads", tx_offload_names, cfg->tx_offloads)) {
		PORT_LOG(ERR,
			 "rx_offloads=0x%" PRIx64 " tx_offloads=0x%" PRIx64 ", allowed: those in "
			 "TESTPORT_RX_OFFLOADS and TESTPORT_TX_OFFLOADS",
			 cfg->rx_offloads, cfg->tx_offloads);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < RTE_DIM(numbers); i++)
		if (numbers[i].value != 0)
			text_add(&t, ",%s=%" PRIu32, numbers[i].key, numbers[i].value);
	if (!rte_is_zero_ether_addr(&cfg->mac)) {
		rte_ether_format_addr(mac, sizeof(mac), &cfg->mac);
		text_add(&t, ",mac=%s", mac);
	}
	if (cfg->tx_accept != 0)
		text_add(&t, ",txfail=accept:%u", cfg->tx_accept);
	if (cfg->tx_drop_every != 0)
		text_add(&t, ",txfail=drop:%" PRIu32, cfg->tx_drop_every);
	return t.cut ? -EINVAL : 0;
}

int
testport_create(const char *name, const struct testport_cfg *cfg, uint16_t *port_id)
{
	static const struct testport_cfg cfg_default;
	char args[768];
	int err;

	if (strncmp(name, DRIVER_NAME, strlen(DRIVER_NAME)) != 0) {
		PORT_LOG(ERR, "name=%s, allowed: " DRIVER_NAME "*", name);
		return -EINVAL;
	}
	err = cfg_format(cfg != NULL ? cfg : &cfg_default, args, sizeof(args));
	if (err != 0)
		return err;
	err = rte_vdev_init(name, args);
	if (err != 0)
		return err;
	return rte_eth_dev_get_port_by_name(name, port_id);
}

int
testport_destroy(const char *name)
{
	struct testport *port;
	uint16_t port_id;
	int err;

	if (rte_eth_dev_get_port_by_name(name, &port_id) == 0) {
		port = port_find(port_id);
		if (port == NULL)
			return -EINVAL;
		(void)testport_fail(port_id, TESTPORT_OP_STOP, 0, 0);
		err = rte_eth_dev_stop(port_id);
		if (err == 0)
			err = rte_eth_dev_close(port_id);
		if (err != 0)
			return err;
	}
	return rte_vdev_uninit(name);
}

/* --- The test's side: the wire --------------------------------------------------------------- */

uint16_t
testport_inject(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	struct testport *port = port_find(port_id);
	struct rx_queue *rxq;
	uint16_t n_in = 0;

	if (port == NULL || port->cfg.mode == TESTPORT_FEED || queue >= port->n_rx_queues)
		return 0;
	rxq = &port->rxq[queue];
	atomic_store(&rxq->busy, true); /* before the gate is looked at: see gate_set_locked() */
	while (n_in < n && atomic_load(&port->gate)) {
		struct rx_queue *to = rxq;

		if (!chain_fits(mbufs[n_in], true))
			break;
		if (switch_get(&port->distribute))
			to = &port->rxq[rss_queue(port, mbufs[n_in])];
		if (rte_ring_sp_enqueue(to->lane[LANE_INJECT].ring, mbufs[n_in]) != 0)
			break;
		n_in++;
	}
	atomic_store_explicit(&rxq->busy, false, memory_order_release);
	return n_in;
}

uint16_t
testport_collect(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n)
{
	struct testport *port = port_find(port_id);

	if (port == NULL || queue >= port->n_tx_queues || port->txq[queue].ring == NULL)
		return 0;
	return (uint16_t)rte_ring_sc_dequeue_burst(port->txq[queue].ring, (void **)mbufs, n, NULL);
}

uint32_t
testport_rx_pending(uint16_t port_id, uint16_t queue)
{
	struct testport *port = port_find(port_id);
	uint32_t n = 0;

	if (port == NULL || queue >= port->n_rx_queues)
		return 0;
	for (uint32_t l = 0; l < LANES_MAX; l++)
		if (port->rxq[queue].lane[l].ring != NULL)
			n += rte_ring_count(port->rxq[queue].lane[l].ring);
	return n;
}

uint32_t
testport_tx_pending(uint16_t port_id, uint16_t queue)
{
	struct testport *port = port_find(port_id);

	if (port == NULL || queue >= port->n_tx_queues || port->txq[queue].ring == NULL)
		return 0;
	return rte_ring_count(port->txq[queue].ring);
}

uint32_t
testport_discard(uint16_t port_id)
{
	struct testport *port = port_find(port_id);
	uint32_t n = 0;

	for (uint16_t q = 0; port != NULL && q < port->n_tx_queues; q++)
		n += ring_flush(port->txq[q].ring);
	return n;
}

int
testport_feed(uint16_t port_id, const struct testport_frame *frames, uint32_t n_frames,
	      testport_vary_fn vary, void *arg, bool sums_fix)
{
	struct testport *port = port_find(port_id);
	struct feed_supply supply = {
		.n_frames = n_frames, .vary = vary, .arg = arg, .sums_fix = sums_fix};
	size_t n_bytes = 0;

	if (port == NULL)
		return -ENODEV;
	if (port->cfg.mode != TESTPORT_FEED)
		return -ENOTSUP;
	if (port->started)
		return -EBUSY;
	if (n_frames == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < n_frames; i++) {
		if (frames[i].len_bytes < RTE_ETHER_HDR_LEN)
			return -EINVAL;
		n_bytes += frames[i].len_bytes;
	}
	supply.bytes = malloc(n_bytes);
	supply.offset = calloc(n_frames, sizeof(*supply.offset));
	supply.len_bytes = calloc(n_frames, sizeof(*supply.len_bytes));
	if (supply.bytes == NULL || supply.offset == NULL || supply.len_bytes == NULL) {
		supply_free(&supply);
		return -ENOMEM;
	}
	n_bytes = 0;
	for (uint32_t i = 0; i < n_frames; i++) {
		memcpy(supply.bytes + n_bytes, frames[i].bytes, frames[i].len_bytes);
		supply.offset[i] = (uint32_t)n_bytes;
		supply.len_bytes[i] = frames[i].len_bytes;
		n_bytes += frames[i].len_bytes;
	}
	supply_free(&port->supply);
	port->supply = supply;
	return 0;
}

/* --- The test's side: errors and switches ---------------------------------------------------- */

const char *
testport_error_name(enum testport_error kind)
{
	static const char *const names[TESTPORT_N_ERRORS] = {
		[TESTPORT_ERR_OFFLOAD] = "offload not enabled",
		[TESTPORT_ERR_MULTI_SEG] = "several segments without multi_segs",
		[TESTPORT_ERR_CHAIN] = "chain does not fit nb_segs and pkt_len",
		[TESTPORT_ERR_SIZE] = "frame too short or too long",
		[TESTPORT_ERR_FAST_FREE] = "fast_free, and not a private direct mbuf of one pool",
		[TESTPORT_ERR_FLAGS] = "flags contradict each other",
		[TESTPORT_ERR_HEADER] = "frame is not what the flags say",
		[TESTPORT_ERR_LENS] = "l2_len or l3_len is wrong",
		[TESTPORT_ERR_SEED] = "checksum field not prepared",
		[TESTPORT_ERR_COPY] = "no memory to copy a shared buffer",
	};

	return (unsigned int)kind < TESTPORT_N_ERRORS ? names[kind] : "unknown";
}

uint64_t
testport_errors_of(uint16_t port_id, enum testport_error kind)
{
	struct testport *port = port_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->txq[q].n_errors[kind]);
	return n;
}

uint64_t
testport_errors(uint16_t port_id)
{
	uint64_t n = 0;

	for (int kind = 0; kind < TESTPORT_N_ERRORS; kind++)
		n += testport_errors_of(port_id, (enum testport_error)kind);
	return n;
}

uint64_t
testport_inserted(uint16_t port_id)
{
	struct testport *port = port_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->txq[q].n_inserted);
	return n;
}

uint64_t
testport_dropped(uint16_t port_id)
{
	struct testport *port = port_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->rxq[q].n_dropped) + counter_get(&port->txq[q].n_dropped);
	return n;
}

uint64_t
testport_filtered(uint16_t port_id)
{
	struct testport *port = port_find(port_id);
	uint64_t n = 0;

	for (uint32_t q = 0; port != NULL && q < TESTPORT_MAX_QUEUES; q++)
		n += counter_get(&port->rxq[q].n_filtered);
	return n;
}

int
testport_set_link(uint16_t port_id, bool plugged)
{
	struct testport *port = port_find(port_id);

	if (port == NULL)
		return -ENODEV;
	link_switch(port, &port->plugged, plugged);
	return 0;
}

int
testport_fail(uint16_t port_id, enum testport_op op, int err, uint32_t n_ok)
{
	struct testport *port = port_find(port_id);

	if (port == NULL)
		return -ENODEV;
	if ((unsigned int)op >= TESTPORT_N_OPS || err < 0)
		return -EINVAL;
	pthread_mutex_lock(&control_lock);
	port->fault[op] = (struct op_fault){.err = err, .n_ok = n_ok};
	pthread_mutex_unlock(&control_lock);
	return 0;
}

int
testport_add_missed(uint16_t port_id, uint64_t n)
{
	struct testport *port = port_find(port_id);

	if (port == NULL)
		return -ENODEV;
	atomic_fetch_add(&port->n_missed_added, n);
	return 0;
}

/* For switches that only the bursts of ring and pair mode look at. */
static int
port_find_wire(uint16_t port_id, struct testport **port)
{
	*port = port_find(port_id);
	if (*port == NULL)
		return -ENODEV;
	return (*port)->cfg.mode == TESTPORT_FEED ? -ENOTSUP : 0;
}

int
testport_set_tx_accept(uint16_t port_id, uint16_t k)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->tx_accept, k);
	return err;
}

int
testport_set_drop_every(uint16_t port_id, enum testport_dir dir, uint32_t k)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->drop_every[dir], k);
	return err;
}

int
testport_set_rx_stall(uint16_t port_id, bool stalled)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->rx_stalled, stalled);
	return err;
}

int
testport_set_distribute(uint16_t port_id, bool on)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0)
		switch_set(&port->distribute, on);
	return err;
}

int
testport_set_pause(uint16_t port_id, bool on)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0 && port->cfg.mode != TESTPORT_PAIR)
		err = -ENOTSUP;
	if (err == 0)
		switch_set(&port->pause, on);
	return err;
}

int
testport_force_rx_flags(uint16_t port_id, uint64_t mask, uint64_t value)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0 && (mask & MBUF_KIND_FLAGS))
		err = -EINVAL;
	if (err == 0) {
		switch_set(&port->force_mask, mask);
		switch_set(&port->force_value, value);
	}
	return err;
}

int
testport_force_rss_hash(uint16_t port_id, bool on, uint32_t hash)
{
	struct testport *port;
	int err = port_find_wire(port_id, &port);

	if (err == 0) {
		switch_set(&port->forced_hash, hash);
		switch_set(&port->force_hash, on);
	}
	return err;
}

int
testport_set_timestamp(uint16_t port_id, uint64_t ns)
{
	struct testport *port = port_find(port_id);

	if (port == NULL)
		return -ENODEV;
	switch_set(&port->timestamp_ns, ns);
	return 0;
}
