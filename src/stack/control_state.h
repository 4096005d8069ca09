/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the control lock protects: the masters of addresses and routes, the reclaim list, ports by
 * name. Included by CONTROL code only.
 */
#ifndef WEIR_CONTROL_STATE_H
#define WEIR_CONTROL_STATE_H

#include <pthread.h>

#include "lcore.h"
#include "rcu.h"

struct weir_rcu_item {
	uint64_t token;
	weir_rcu_fn fn;
	void *obj;
};

struct weir_rcu_list {
	struct weir_rcu_item *item;
	size_t n, cap;
	_Atomic uint32_t pending;
};

struct weir_ctl_addr {
	struct weir_addr addr;
	uint8_t bits;
	uint16_t port;
	bool tentative;    /* not ours yet: duplicate address detection is asking */
	bool duplicate;    /* somebody else has it: kept for reports, not used */
	bool learned;      /* by a router advertisement; the others live until they are removed */
	bool made;         /* the link-local address that the stack has made of the port's MAC */
	uint64_t valid_ns; /* weir clock, learned: removed then; UINT64_MAX: never */
	uint64_t preferred_ns; /* not chosen as a source any more from then on */
};

/* A route that was learned, for as long as it was promised. */
struct weir_ctl_lease {
	struct weir_addr prefix, gateway; /* family of gateway unspecified: on link */
	uint8_t bits;
	bool redirect;
	uint16_t port;
	uint32_t metric;
	uint64_t valid_ns; /* weir clock; UINT64_MAX: never ends */
};
#define WEIR_LEASES 256

struct weir_ctl_group {
	struct weir_addr addr;
	uint32_t port; /* weir port index, WEIR_PORT_LOOPBACK */
	uint32_t refs; /* memberships of sockets */
};

/* Sockets bound to a port, and how many of them have an option by which they share it. */
struct weir_portuse {
	struct weir_socket *head;
	uint32_t n, n_reuseaddr, n_reuseport;
};

struct weir_control {
	pthread_mutex_t lock;
	struct weir_rcu_list rcu;
	struct weir_ctl_addr *addr;
	size_t n_addr, cap_addr;
	struct weir_ctl_lease lease[WEIR_LEASES];
	unsigned int n_lease;
	bool src_routes;     /* there may be routes that prefer a source */
	bool restate;        /* lifetimes of addresses have changed: the snapshot is built anew */
	uint64_t expired_ns; /* when lifetimes were looked at */
	uint64_t rng;
	struct rte_mempool *old_pools[8];
	unsigned int n_old_pools;
	struct weir_socket *closing;   /* closed, waiting for their grace period */
	struct weir_portuse *port_use; /* [65536], network order index */
	struct weir_ctl_group *group;  /* multicast groups joined, by whom it does not matter */
	size_t n_group, cap_group;
	struct rte_ring *posts;  /* of struct weir_post: written by any lcore */
	uint64_t link_ns;        /* links are looked at next */
	_Atomic uint64_t due_ns; /* something is to be done under the lock from then on */
	uint32_t *free_ids;      /* stack of socket ids */
	uint32_t n_free_ids;
	uint16_t serial;
};

/*
 * Take and give the control lock. A worker's own thread takes turns while it waits; any other thread
 * sleeps on it.
 */
void weir_ctl_lock(struct weir_stack *stack);
void weir_ctl_unlock(struct weir_stack *stack);

/* While waiting for another thread: one turn on a worker, else give the CPU away. */
void weir_ctl_breathe(struct weir_stack *stack);

/* What a worker has found out and control has to act upon. */
enum weir_post_kind {
	WEIR_POST_ADDR_UNIQUE,    /* addr on port: nobody else has it */
	WEIR_POST_ADDR_DUPLICATE, /* addr on port: somebody else has it, mac */
	WEIR_POST_PREFIX,         /* RA: addr/bits, flags, lifetimes */
	WEIR_POST_ROUTER,         /* RA: addr is a default router for valid_s; 0: not any more */
	WEIR_POST_RA_MTU,         /* RA: value bytes */
	WEIR_POST_LINK,           /* port's link: value 0 down, 1 up */
	WEIR_POST_REDIRECT,       /* addr (a destination) is better reached through gateway */
};
#define WEIR_PREFIX_ONLINK 1
#define WEIR_PREFIX_AUTO   2

struct weir_post {
	enum weir_post_kind kind;
	uint16_t port; /* index */
	uint8_t bits, flags;
	uint8_t mac[6];
	struct weir_addr addr, gateway;
	uint32_t valid_s, preferred_s; /* UINT32_MAX: for ever */
	uint32_t value;
};

/*
 * Leave it for control, which acts at the next tick that gets the lock: bounded, false when there is no room.
 * Any lcore; never blocks.
 */
bool weir_ctl_post(struct weir_stack *stack, const struct weir_post *ev);

/* What is due under the lock: posted events, lifetimes, reclaim. From a worker's tick; gives up when it is taken. */
void weir_ctl_tick(struct weir_stack *stack, uint64_t now_ns);

/* A pseudo-random number under the control lock. */
uint64_t weir_ctl_random(struct weir_stack *stack);

/* The calling thread's lcore of this stack, or NULL. */
struct weir_lcore *weir_self(const struct weir_stack *stack);

#endif /* WEIR_CONTROL_STATE_H */
