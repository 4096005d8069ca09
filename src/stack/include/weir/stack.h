/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life cycle, ports, threads and control of a stack.
 *
 * Vocabulary (docs/architecture.md has the picture):
 *   stack    one UDP host: ports, addresses, routes, neighbours, sockets. Several may live in one process.
 *   port     one ethdev that the stack polls.
 *   lcore    the stack's state of one thread: queues, caches, counters, mailboxes. Two kinds:
 *     worker   polls ports; there are as many as the configuration says, 0 .. workers-1;
 *     attached only makes calls (send, receive); its frames leave through a worker.
 *   turn     one call of weir_turn(): receive, process, transmit, house-keeping.
 *
 * Threads. Every call states who may make it:
 *   [any]    any thread, at any time in the object's life; may take the control lock, may wait;
 *   [lcore]  only the thread that attached this lcore;
 *   [once]   one thread, before any other uses the object or after all others have stopped using it.
 * No hidden threads: nothing happens but inside these calls. A control call or a wait that is made by
 * a worker's own thread runs that worker's turns while it waits, so it cannot deadlock.
 *
 * Errors: 0 or a count >= 0, else a negative errno. Functions with a `struct weir_error *` (may be
 * NULL) also say which key or value was refused and what is allowed.
 */
#ifndef WEIR_STACK_H
#define WEIR_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/addr.h>
#include <weir/api.h>

WEIR_BEGIN_DECLS

struct rte_mbuf;
struct weir_stack;
struct weir_lcore;

#define WEIR_MAX_WORKERS 32
#define WEIR_MAX_LCORES  64 /* workers and attached threads together */
#define WEIR_MAX_PORTS   16
#define WEIR_MAX_BURST   64 /* frames per burst anywhere */

/** Index of the loopback port, which every stack has: 127.0.0.0/8 and all own addresses. */
#define WEIR_PORT_LOOPBACK WEIR_MAX_PORTS

/** Why a control call refused, in words. code equals the call's return value. */
struct weir_error {
	int code;       /* negative errno */
	char text[240]; /* "key: value: what is allowed"; empty when there is nothing to add */
};

/** Parameters of a stack. Fill with weir_stack_conf_init(), then change what you need. */
struct weir_stack_conf {
	size_t size;               /* sizeof(struct weir_stack_conf), set by the init call */
	const char *name;          /* unique in the process, 1-16 of [A-Za-z0-9_-]; "weir" */
	unsigned int workers;      /* 1 .. WEIR_MAX_WORKERS; 1 */
	unsigned int max_threads;  /* further threads that may attach; 2 */
	unsigned int max_sockets;  /* 1 .. 1048576; 1024 */
	unsigned int pool_mbufs;   /* buffers in the stack's pool; 0: what rings and sockets need */
	unsigned int data_room;    /* bytes of frame per buffer, headroom excluded; 2048 */
	unsigned int burst;        /* frames per receive burst, 1 .. WEIR_MAX_BURST; 32 */
	unsigned int mesh_ring;    /* entries per lcore-to-lcore ring, power of two; 1024 */
	unsigned int rcvbuf;       /* default socket receive buffer in true-size bytes; 4194304 */
	unsigned int rcvbuf_max;   /* largest that a socket may ask for; 1073741824 */
	unsigned int max_neigh;    /* neighbour entries, all ports; 1024 */
	unsigned int hold;         /* datagrams held per unresolved neighbour and lcore; 16 */
	unsigned int arp_retries;  /* ARP requests before a neighbour counts as failed; 3 */
	unsigned int arp_retry_ms; /* between them; 1000 */
	unsigned int neigh_reachable_ms; /* age at which a neighbour becomes stale; 30000 */
	/* ICMP errors sent per second and lcore; to one destination a thousandth of it, at least 1; 1000 */
	unsigned int icmp_rate;
	unsigned int tx_stall_ms; /* how long a frame may wait for a full queue; 1000 */
	/* Reassembly, per worker: buffers held in true-size bytes, in all and of one source. 0: off. */
	unsigned int frag_mem;        /* 4194304 */
	unsigned int frag_source_mem; /* 1048576 */
	unsigned int frag_ms;         /* how long a datagram may take to become whole; 30000 */
	unsigned int max_pmtu;        /* destinations whose path MTU is remembered; 2048 */
	unsigned int pmtu_expire_ms;  /* and for how long; 600000 */
	unsigned int pmtu_min;        /* smallest IPv4 path MTU that is believed, 68 .. 1500; 552 */
	uint16_t port_lo, port_hi;    /* ephemeral ports, host order; 32768, 60999 */
	uint64_t seed;                /* of all hashes; 0: from the system's entropy */
};

/** Parameters of a port. Fill with weir_port_conf_init(). */
struct weir_port_conf {
	size_t size;            /* sizeof(struct weir_port_conf) */
	const char *device;     /* ethdev name or number, e.g. "net_memif0"; required */
	unsigned int mtu;       /* 0: as the device has it; else 576 .. device maximum */
	unsigned int rx_desc;   /* per queue; 0: as the device prefers, else 1024 */
	unsigned int tx_desc;   /* per queue; 0: as the device prefers, else 1024 */
	unsigned int rx_queues; /* 0: one per worker, as far as the device has them */
	unsigned int tx_queues; /* 0: one per worker, as far as the device has them */
	bool no_offload;        /* do everything in software, whatever the device offers */
	bool promiscuous; /* ask the device to deliver frames for other MACs (they are dropped) */
	/*
	 * A VLAN of an ethdev that has been added already: 1 .. 4094; 0: the ethdev itself. Queues,
	 * descriptors and offloads are then those of the port that has the ethdev.
	 */
	unsigned int vlan;
	/* Probes before an address is ours, 0 .. 10: IPv6 (RFC 4862), 1; IPv4 (RFC 5227), 0. */
	unsigned int dad, dad4;
	bool accept_ra; /* take prefixes, routers, MTU and hop limit from router advertisements */
	bool accept_redirects;
	bool no_link_local; /* make no link-local address with the first IPv6 address */
	bool no_announce;   /* do not tell the link of own addresses unasked (gratuitous ARP, NA) */
	unsigned int rp_filter; /* source validation: 0 off, 1 loose (any way back), 2 strict */
	/*
	 * The application has configured and started the ethdev and goes on owning it: the stack only
	 * polls rx_queues/tx_queues queues, counted from 0 (both must be given).
	 */
	bool app_managed;
	/* With app_managed: the offloads that are enabled (RTE_ETH_RX_OFFLOAD_*, RTE_ETH_TX_OFFLOAD_*). */
	uint64_t app_rx_offloads, app_tx_offloads;
};

/* ---- life cycle ---- */

/** Defaults, as given in the comments above. [any] */
WEIR_API void weir_stack_conf_init(struct weir_stack_conf *conf);
WEIR_API void weir_port_conf_init(struct weir_port_conf *conf);

/**
 * Start EAL without an argv: args is one string of EAL options ("" or NULL: "--no-huge --no-shconf
 * --no-pci -m 256 -l 0"). Does nothing when EAL runs already. [once] 0, -EINVAL, or EAL's errno.
 */
WEIR_API int weir_eal_start(const char *args);

/**
 * Create a stack: validates the whole configuration, allocates its tables. EAL must be up.
 * -EINVAL (err names the key), -EEXIST (name in use), -ENOMEM. [any]
 */
WEIR_API int weir_stack_create(const struct weir_stack_conf *conf, struct weir_stack **out,
			       struct weir_error *err);

/**
 * Configure and start all ports, make the pool. Workers cannot change until stop.
 * -EALREADY when running, -ENODEV/-EIO/-ENOTSUP from a port, -ENOMEM; err names the port. [any]
 */
WEIR_API int weir_stack_start(struct weir_stack *stack, struct weir_error *err);

/**
 * Stop: all workers must have detached (-EBUSY otherwise). Sends what is still batched, stops the
 * ports, drops and counts what is left inside. Idempotent. [once]
 */
WEIR_API int weir_stack_stop(struct weir_stack *stack);

/**
 * Stop if needed, close all sockets, free everything. Every mbuf that the application took must have
 * been returned. -EBUSY: while lcores are attached, nothing is done; while buffers are out, the stack is
 * stopped, its sockets are closed and its ports may be: call again when the buffers are back. [once]
 */
WEIR_API int weir_stack_destroy(struct weir_stack *stack);

/* ---- ports, addresses, routes, neighbours: control, [any] ---- */

/**
 * Add an ethdev, or a VLAN of one. Returns the port's index (0, 1, ...) or a negative errno. While the stack runs
 * the pool must have room for its rings, -ENOSPC, and all workers must take turns, -ETIMEDOUT.
 */
WEIR_API int weir_port_add(struct weir_stack *stack, const struct weir_port_conf *conf,
			   struct weir_error *err);
/**
 * Give an ethdev back, also while the stack runs: its addresses, routes and neighbours go too, what is on its
 * way through it is dropped and counted. The VLAN ports of an ethdev go first: -EBUSY.
 */
WEIR_API int weir_port_remove(struct weir_stack *stack, unsigned int port, struct weir_error *err);

/**
 * An address of ours with its on-link prefix, e.g. 10.0.0.1/24; adds the connected route. -EEXIST,
 * -EINVAL (multicast, broadcast, network or broadcast address of the prefix), -ENODEV.
 */
WEIR_API int weir_addr_add(struct weir_stack *stack, unsigned int port,
			   const struct weir_addr *addr, uint8_t prefix_bits,
			   struct weir_error *err);
WEIR_API int weir_addr_del(struct weir_stack *stack, unsigned int port,
			   const struct weir_addr *addr, struct weir_error *err);

enum weir_route_kind {
	WEIR_ROUTE_UNICAST = 0,
	WEIR_ROUTE_LOCAL, /* all of the prefix is ours (anycast services): sockets may bind to it */
	WEIR_ROUTE_BLACKHOLE,   /* sends fail with -EINVAL */
	WEIR_ROUTE_UNREACHABLE, /* with -EHOSTUNREACH */
	WEIR_ROUTE_PROHIBIT,    /* with -EACCES */
};

#define WEIR_MAX_HOPS 8

/** One way of a route. */
struct weir_hop {
	struct weir_addr gateway; /* family unspecified: on link */
	unsigned int port;
	unsigned int weight; /* share among the hops, 1 .. 255; 0: 1 */
};

/** A route in full. Fill with weir_route_conf_init(). */
struct weir_route_conf {
	size_t size; /* sizeof(struct weir_route_conf) */
	struct weir_addr prefix;
	uint8_t prefix_bits;
	uint8_t kind;         /* enum weir_route_kind */
	unsigned int metric;  /* of routes to the same prefix the smallest wins; 0 */
	unsigned int mtu;     /* 0: the port's; not below 68, 1280 for IPv6 */
	struct weir_addr src; /* preferred source, an address of ours; family unspecified: chosen */
	struct weir_addr from; /* only for datagrams from this prefix; family unspecified: any */
	uint8_t from_bits;
	unsigned int n_hops; /* 1 .. WEIR_MAX_HOPS for UNICAST, 0 for the others */
	struct weir_hop hop[WEIR_MAX_HOPS];
};

WEIR_API void weir_route_conf_init(struct weir_route_conf *conf);

/**
 * Add a route. -EINVAL (bits below the prefix length, a gateway that is ours, ...), -ENETUNREACH (gateway not on link),
 * -EEXIST (same prefix, from and metric), -ENODEV, -ENOMEM.
 */
WEIR_API int weir_route_add_conf(struct weir_stack *stack, const struct weir_route_conf *conf,
				 struct weir_error *err);
/** Remove the route with this prefix, from and metric. -ENOENT. */
WEIR_API int weir_route_del_conf(struct weir_stack *stack, const struct weir_route_conf *conf,
				 struct weir_error *err);

/**
 * The short form: one hop, metric 0. A route to prefix through gateway (family unspecified: on link) on a port.
 * The gateway must be on link there: -ENETUNREACH. Bits below the prefix length must be 0: -EINVAL. -EEXIST.
 */
WEIR_API int weir_route_add(struct weir_stack *stack, const struct weir_addr *prefix,
			    uint8_t prefix_bits, const struct weir_addr *gateway, unsigned int port,
			    struct weir_error *err);
WEIR_API int weir_route_del(struct weir_stack *stack, const struct weir_addr *prefix,
			    uint8_t prefix_bits, struct weir_error *err);

/** A permanent neighbour entry; replaces a learned one. -EINVAL for a group MAC, -ENOSPC. */
WEIR_API int weir_neigh_add(struct weir_stack *stack, unsigned int port,
			    const struct weir_addr *addr, const uint8_t mac[6],
			    struct weir_error *err);
WEIR_API int weir_neigh_del(struct weir_stack *stack, unsigned int port,
			    const struct weir_addr *addr, struct weir_error *err);

/** State of a neighbour as text ("reachable", "stale", ...; "none") and, when known, its MAC. */
WEIR_API const char *weir_neigh_state(struct weir_stack *stack, unsigned int port,
				      const struct weir_addr *addr, uint8_t mac[6]);

/** Facts about a running port, for reports. */
struct weir_port_info {
	char device[64];
	uint16_t ethdev; /* DPDK port id */
	uint16_t rx_queues, tx_queues;
	uint16_t mtu;
	uint8_t mac[6];
	bool link_up;
	bool rx_csum_offload, tx_csum_offload, rss; /* in use, not merely offered */
	uint16_t vlan;                              /* VID, 0: the ethdev itself */
	unsigned int
		parent; /* index of the port that has the ethdev; its own when it has it itself */
	bool vlan_offload; /* the device takes tags off and puts them in */
};
WEIR_API int weir_port_info_get(struct weir_stack *stack, unsigned int port,
				struct weir_port_info *info);

/** All addresses and routes in words, one per line and hop. Holds the control lock meanwhile. [any] */
WEIR_API void weir_routes_print(FILE *f, struct weir_stack *stack);

/* ---- threads ---- */

/**
 * Become worker `index` of a running stack: the calling thread now owns its queues. An EAL thread is
 * best (per-lcore buffer caches); any thread works. -EBUSY (taken), -EINVAL, -ENETDOWN (not started).
 */
WEIR_API int weir_worker_attach(struct weir_stack *stack, unsigned int index,
				struct weir_lcore **out);

/** Get an lcore of one's own for sending and receiving without polling. -ENOSPC, -ENETDOWN. [any] */
WEIR_API int weir_thread_attach(struct weir_stack *stack, struct weir_lcore **out);

/** Give the lcore back; a worker flushes first. The handle is dead afterwards. [lcore] */
WEIR_API int weir_lcore_detach(struct weir_lcore *lc);

/** Worker index, or -1 for an attached thread. [any] */
WEIR_API int weir_lcore_worker(const struct weir_lcore *lc);

/**
 * One turn of a worker: receive a burst from each of its queues, process and deliver it, handle the
 * mailboxes, transmit what is batched, now and then house-keeping. Never blocks. Returns the number
 * of frames and messages handled; 0 means idle. An attached thread's turn does nothing. [lcore]
 */
WEIR_API unsigned int weir_turn(struct weir_lcore *lc);

/**
 * A ready loop: turns until until(arg) is non-zero (asked once per turn). An idle worker yields its
 * CPU now and then, so that two threads can share one. [lcore] Returns until's value.
 */
WEIR_API int weir_run(struct weir_lcore *lc, int (*until)(void *arg), void *arg);

/**
 * What an own loop calls with the result of weir_turn() instead of weir_run(): gives the CPU away
 * after a while of idle turns (work == 0). [lcore]
 */
WEIR_API void weir_idle(struct weir_lcore *lc, unsigned int work);

/** Transmit what this lcore has batched now, instead of at the end of its turn. [lcore] */
WEIR_API void weir_flush(struct weir_lcore *lc);

/**
 * Feed frames that the application received itself, as if they had come from this port. Takes
 * ownership of all n (<= WEIR_MAX_BURST). [lcore, worker]
 */
WEIR_API void weir_input(struct weir_lcore *lc, unsigned int port, struct rte_mbuf **mbufs,
			 unsigned int n);

/**
 * Run fn(lc, arg) on a worker's thread, at its next turn, and wait for it. Called by that worker
 * itself: runs at once; by another worker: takes own turns while waiting. -ENETDOWN when no thread
 * is that worker, -ETIMEDOUT when it has not begun within timeout_ns (it is then cancelled: fn never
 * runs; once begun it is waited for), -EAGAIN when too many calls wait. [any]
 */
WEIR_API int weir_worker_call(struct weir_stack *stack, unsigned int worker,
			      void (*fn)(struct weir_lcore *lc, void *arg), void *arg,
			      uint64_t timeout_ns);

WEIR_END_DECLS

#endif /* WEIR_STACK_H */
