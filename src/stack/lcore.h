/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * struct weir_lcore: all that one thread of the stack owns, by cache line; struct weir_port and
 * struct weir_stack as far as the data path reads them.
 *
 * Leaf of the layering: the modules add behaviour, this header only says who owns which memory.
 *   lcore   written by its thread only; counters are read by others (relaxed atomics)
 *   port    immutable while the stack runs, but for what is marked
 *   stack   read-mostly line for the data path, control part behind the control lock
 *
 * Notion of time: lc->now_ns is read once per turn (or call of an attached thread); the data path
 * uses it and never the clock.
 */
#ifndef WEIR_LCORE_H
#define WEIR_LCORE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <rte_common.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>

#include <weir/clock.h>
#include <weir/drop.h>
#include <weir/stack.h>
#include <weir/stats.h>

#include "wire.h"

#define WEIR_CACHE_LINE 64
static_assert(WEIR_CACHE_LINE == RTE_CACHE_LINE_SIZE, "asserts of layout below assume 64");

/* ---- counters: one writer, any reader ---- */

typedef _Atomic uint64_t weir_counter;

/* Add on the owner's side: a plain load and store, no locked instruction. */
static inline void
weir_count(weir_counter *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

static inline uint64_t
weir_counter_read(const weir_counter *c)
{
	return atomic_load_explicit((weir_counter *)(uintptr_t)c, memory_order_relaxed);
}

/* Ports and, as the last, the loopback port: WEIR_PORT_LOOPBACK. */
#define WEIR_ALL_PORTS (WEIR_MAX_PORTS + 1)

struct weir_port_counters {
	weir_counter rx_frames, rx_bytes, tx_frames, tx_bytes;
};

/* Per lcore; meaning of each: struct weir_stats. Gauges are differences of two counters. */
struct weir_counters {
	weir_counter rx_delivered, rx_copies, rx_read;
	weir_counter rx_consumed[WEIR_PROTO_N];
	weir_counter tx_datagrams, tx_protocol, tx_copies;
	weir_counter tx_held_in, tx_held_out;   /* into and out of the hold queues */
	weir_counter tx_batch_in, tx_batch_out; /* into and out of this lcore's batches */
	weir_counter mesh_tx_in, mesh_tx_out; /* frames to send, put into and taken from the mesh */
	weir_counter mesh_rx_in, mesh_rx_out; /* received frames, likewise */
	weir_counter rx_frag_in, rx_frag_out; /* fragments, into and out of reassembly */
	weir_counter turns, idle_turns;
	weir_counter drops[WEIR_DROP_N];
};

/* ---- ports ---- */

enum weir_rp_filter { WEIR_RP_OFF, WEIR_RP_LOOSE, WEIR_RP_STRICT };

/*
 * A port of the stack: an ethdev, or one VLAN of one. Immutable while the stack runs but for what is marked
 * (control lock for writers, relaxed reads).
 *
 * A VLAN port has the queues of its parent: its frames are batched there (batch.c puts the tag in), and what
 * arrives there with its tag is received as by it (rx.c takes the tag off). Above and below there are no tags.
 */
struct weir_port {
	struct wire_parse_opt parse; /* MAC and longest frame */
	uint16_t index;
	uint16_t parent; /* index of the port that has the ethdev; its own when it has it itself */
	uint16_t vlan;   /* VID, 0: untagged */
	uint8_t *
		vlan_port; /* [4096], on a parent with VLAN ports: port index + 1 by VID; else NULL */
	bool vlan_strip, vlan_insert; /* the device does it */
	_Atomic bool link_up;
	_Atomic bool dead;         /* being removed: nothing is put into its batches any more */
	_Atomic uint8_t rp_filter; /* enum weir_rp_filter */
	_Atomic bool accept_ra, accept_redirects;
	_Atomic uint16_t mtu6;         /* of the link, as a router advertises it for IPv6; 0: mtu */
	_Atomic uint8_t cur_hop_limit; /* RFC 4861 6.3.2: what routers advertise; 0: nothing */
	uint8_t dad, dad4;             /* probes before an IPv6, an IPv4 address is ours; 0: none */
	bool no_link_local;
	bool no_announce;
	_Atomic bool announced; /* the link has been seen up, and our addresses may be told of */
	uint16_t ethdev;
	uint16_t n_rxq, n_txq;
	uint16_t mtu;
	bool rx_csum;      /* the device verifies checksums and says so in ol_flags */
	bool tx_csum;      /* the device inserts IPv4 and UDP checksums */
	bool tx_multi_seg; /* the device takes chained mbufs */
	bool rss;
	bool app_managed;
	bool no_offload, promiscuous;
	bool started;
	uint16_t rx_desc, tx_desc, want_rxq, want_txq, want_mtu;
	uint64_t app_rx_offloads, app_tx_offloads;
	uint64_t nic_missed0, nic_errors0, nic_nombuf0; /* device counters at add */
	char device[64];
};

/*
 * What the last datagram received on a port has in common with those that follow it, in the same burst or in
 * the next: rx.c, which says what it is good for.
 */
struct weir_rx_last {
	struct wire_train train; /* the last of each family that others can follow */
	struct wire_train6 train6;
	uint64_t gen;      /* of the stack's addresses, when these were looked at */
	uint64_t addr_sum; /* of both addresses, for the pseudo-header */
	union weir_ip src, dst;
	uint32_t ports;     /* as in the header */
	uint8_t family;     /* of the last datagram, whose src, dst, ports these are */
	bool group, group6; /* each train: sent to a group address or MAC */
};

/* ---- transmit batches ---- */

#define WEIR_TXB_SIZE 64

/*
 * Frames of one lcore for one port, complete down to the MAC addresses (ownership: the batch).
 * Leaves by rte_eth_tx_burst when this lcore owns a transmit queue of the port, else through the mesh
 * to the worker that does.
 */
struct weir_txb {
	uint16_t n;
	uint16_t ethdev, queue;
	uint16_t port;
	uint16_t owner; /* lcore slot that transmits: self or another */
	bool self;
	bool prepare;      /* frames carry offload requests: rte_eth_tx_prepare first */
	bool gone;         /* the port has been removed: what comes is dropped */
	bool vlan_insert;  /* the device puts the tag in */
	uint16_t vlan;     /* VID that frames get when they leave, 0: none */
	uint16_t n_tagged; /* the first ones have their tag already */
	uint32_t bytes;    /* of the n frames, so that nobody has to look at them again */
	uint64_t stall_ns; /* when the queue first refused, 0: it did not */
	/* Frames of other lcores that had left their hands when the queue stopped: they go first. */
	uint32_t n_late;
	struct rte_mbuf *late_head, *late_tail; /* linked by weir_meta(m)->next */
	_Atomic bool
		full; /* the queue takes nothing and the batch no more; others read it before they send */
	struct rte_mbuf *m[WEIR_TXB_SIZE];
};

/* Datagrams of one lcore that wait for one neighbour, finished but for the destination MAC. */
struct weir_hold {
	uint32_t neigh; /* index + 1; 0: slot unused */
	uint16_t port;
	uint16_t n, datagrams; /* frames, and the datagrams that they are */
	uint8_t version;       /* of the neighbour's entry: it may be reused for another address */
	uint64_t order;        /* the least has waited longest */
	struct rte_mbuf *head, *tail; /* linked by weir_meta(m)->next */
};
#define WEIR_HOLDS 64

struct weir_rxq {
	uint16_t ethdev, queue;
	struct weir_port *port;
};

/* A destination of ICMP errors of late: icmp_out.c. */
struct weir_icmp_peer {
	uint64_t who;     /* keyed hash of the address, 0: nobody */
	uint64_t idle_ns; /* when it may have as many as ever again */
};
#define WEIR_ICMP_PEERS 256
#define WEIR_ICMP_WAYS  4

struct weir_rtc;   /* route.h: one entry of the per-lcore route cache */
struct weir_reasm; /* reasm.h: datagrams that are not yet whole */

enum weir_lcore_kind { WEIR_LC_WORKER, WEIR_LC_ATTACHED, WEIR_LC_CONTROL };

struct weir_lcore {
	/* Line 0: read each turn or burst, written at attach and once per turn. */
	struct weir_stack *stack;
	struct rte_rcu_qsbr *rcu;
	uint64_t now_ns;
	uint64_t house_ns;    /* next house-keeping */
	struct weir_rtc *rtc; /* route cache */
	uint16_t slot;        /* index in stack->lcores, RCU thread id, bit in waiter masks */
	int16_t worker;       /* worker index, -1 */
	uint8_t kind;         /* enum weir_lcore_kind */
	bool in_turn;
	bool pressure; /* pool at its reserve: deliver nothing of this burst */
	uint8_t n_holds;
	uint16_t n_rxq;
	uint32_t dirty;     /* ports with a non-empty batch, one bit each */
	int32_t send_error; /* cause of the last short send */
	uint32_t idle;      /* idle turns in a row */

	/* Queues polled, by worker. */
	alignas(WEIR_CACHE_LINE) struct weir_rxq rxq[WEIR_MAX_PORTS];

	/* Counters: written here, read by anybody. */
	alignas(WEIR_CACHE_LINE) struct weir_counters c;
	struct weir_port_counters pc[WEIR_ALL_PORTS];
	struct weir_port_counters pc_gone; /* of ports removed since */

	/* ICMP token bucket: tokens in 1/1000, filled by elapsed time. */
	uint64_t icmp_filled_ns;
	uint64_t icmp_tokens;
	uint64_t icmp_draws; /* how often one was drawn */
	struct weir_icmp_peer icmp_peer[WEIR_ICMP_PEERS];

	/* Mailboxes: in[s] is written by lcore s only (SPSC); ctl by any thread (MPSC). */
	struct rte_ring *in[WEIR_MAX_LCORES];
	uint16_t n_in;
	struct rte_ring *ctl;

	/* Buffers that the application has had copies of: see weir_spend(). */
	struct rte_mbuf *spent[32];
	unsigned int n_spent;
	uint32_t frag_seq; /* datagrams given an identification: fragment.c */
	uint32_t rtc_turn; /* whose turn it is to go from a full set of the route cache */

	struct weir_rx_last rx_last[WEIR_ALL_PORTS];
	struct weir_reasm *reasm; /* NULL: reassembly is off */

	struct weir_hold holds[WEIR_HOLDS];
	uint64_t hold_order; /* of the latest of these */
	struct weir_txb txb[WEIR_ALL_PORTS];

	_Atomic bool attached;
	struct weir_lcore *thread_next; /* other lcores of the same thread (another stack's) */
};
static_assert(offsetof(struct weir_lcore, rxq) == WEIR_CACHE_LINE * 2 ||
		      offsetof(struct weir_lcore, rxq) == WEIR_CACHE_LINE,
	      "turn state ahead of the queues");

/*
 * The calling thread's lcores, linked by thread_next: written by attach and detach. In the memory that every
 * thread has from its start, so that it is read without a call.
 */
extern __thread struct weir_lcore *weir_thread_lcores __attribute__((tls_model("initial-exec")));

/* ---- the stack ---- */

struct weir_locals;  /* local.h */
struct weir_any;     /* local.h */
struct weir_fib;     /* fib.h */
struct weir_neigh;   /* neigh.h */
struct weir_socktab; /* socktab.h */
struct weir_socket;
struct weir_control; /* stack.h (internal) */
struct weir_pmtu;    /* pmtu.h */
struct weir_mcast;   /* mcast.h */
struct weir_dad;     /* dad.c */
struct weir_rdisc;   /* rdisc.c */

/* What has been said about already, and when: hint.c, by the worker that has the tick. */
struct weir_hints {
	weir_counter partial, oversize, said_ns;
};

struct weir_stack {
	/* Read-mostly: pointers to RCU snapshots, replaced by control. */
	alignas(WEIR_CACHE_LINE) struct weir_locals *_Atomic locals;
	struct weir_fib *_Atomic fib;
	struct weir_socktab *_Atomic socktab;
	const struct weir_any *_Atomic any; /* NULL: no prefix is ours as a whole */
	struct weir_neigh *neigh;           /* array of max_neigh, lives as long as the stack */
	struct rte_mempool *pool;
	uint32_t reserve; /* free buffers below which nothing is delivered */
	uint32_t hold_max;
	uint64_t tx_stall_ns;
	uint64_t hash_key[4]; /* secret */

	/* Bumped after any change of routes, addresses or ports (release); read by every send. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t gen;
	_Atomic uint32_t flow_mask; /* all ones once a route has had several hops: route.h */

	/* Taken by whichever worker first sees it due. */
	alignas(WEIR_CACHE_LINE) _Atomic uint64_t tick_ns;
	struct weir_hints hints;

	/* Set at create and start. */
	alignas(WEIR_CACHE_LINE) struct weir_stack_conf conf;
	char name[20];
	uint16_t n_workers, n_lcores; /* n_lcores: workers, threads, control */
	uint16_t n_ports;
	struct weir_port *ports[WEIR_ALL_PORTS]; /* the last: loopback, always there */
	struct weir_lcore *lcores[WEIR_MAX_LCORES + 1];
	struct weir_lcore *ctl_lcore; /* used under the control lock by any thread */
	struct rte_rcu_qsbr *rcu;
	struct weir_socket *_Atomic *socks; /* by id; NULL: free */
	struct weir_neigh_ctl *nctl;
	struct weir_pmtu *pmtu;
	struct weir_mcast *mcast;
	struct weir_dad *dad;
	struct weir_rdisc *rdisc;
	struct weir_control *control;
	_Atomic bool running;
};

/*
 * A port by its index; NULL: there is none. Outside the control lock read by this, once: it may be on its way
 * out, and is there until the reader's next quiescent state.
 */
static inline struct weir_port *
weir_port_at(const struct weir_stack *stack, unsigned int index)
{
	return index < WEIR_ALL_PORTS ? __atomic_load_n(&stack->ports[index], __ATOMIC_ACQUIRE)
				      : NULL;
}

/* ---- per-packet notes of the stack in the mbuf ---- */

/* In a dynamic field of the mbuf's second line; valid while the stack owns the mbuf. */
struct weir_meta {
	union {
		struct rte_mbuf *next; /* next mbuf of a list (m->next is the next segment) */
		uintptr_t run; /* next run of a receive queue: recvq.h, which owns the rest */
	};
	uint64_t time_ns;  /* arrival */
	uint32_t truesize; /* bytes charged for each datagram of the run */
	uint32_t drops;    /* datagrams refused between the run before and this one */
};

extern int weir_meta_offset;

static inline struct weir_meta *
weir_meta(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, weir_meta_offset, struct weir_meta *);
}

/* True size of a datagram in one buffer, or of one segment of several: see <weir/socket.h>. */
static inline uint32_t
weir_truesize_of(uint16_t buf_len)
{
	return (uint32_t)buf_len + 128;
}

static inline uint32_t
weir_truesize(const struct rte_mbuf *m)
{
	uint32_t sum = weir_truesize_of(m->buf_len);

	while (unlikely(m->next != NULL)) {
		m = m->next;
		sum += weir_truesize_of(m->buf_len);
	}
	return sum;
}

/* ---- RCU: workers are always online; others only inside their calls ---- */

static inline void
weir_enter(struct weir_lcore *lc)
{
	if (lc->kind != WEIR_LC_WORKER) {
		rte_rcu_qsbr_thread_online(lc->rcu, lc->slot);
		lc->now_ns = weir_clock_ns();
	}
}

static inline void
weir_leave(struct weir_lcore *lc)
{
	if (lc->kind != WEIR_LC_WORKER)
		rte_rcu_qsbr_thread_offline(lc->rcu, lc->slot);
}

#endif /* WEIR_LCORE_H */
