/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routing table without the rest of a stack: what weir_fib_*(), weir_way_find() and weir_local*() look at, and
 * nothing else. No ethdev, no worker; ports are up until the test says otherwise. One per program at a time.
 */
#ifndef FIB_RIG_H
#define FIB_RIG_H

#include "control_state.h"
#include "fib.h"
#include "lcore.h"
#include "local.h"

#define FIB_RIG_PORTS 4

/* EAL must run. Asserts. */
struct weir_stack *fib_rig_up(void);
/* Frees all; asserts that nothing waits for a grace period any more. */
void fib_rig_down(struct weir_stack *stack);

/* "10.0.0.1/24", "fe80::1/64": an address of ours, the last one added; published. */
struct weir_ctl_addr *fib_rig_addr(struct weir_stack *stack, const char *text, unsigned int port);
/* Publish the addresses again after a change of control's list. */
void fib_rig_addrs(struct weir_stack *stack);

/* A route with one hop: "prefix/len", "gateway" or NULL. hop is where the hop is put. */
struct weir_route fib_rig_route(struct weir_stack *stack, const char *prefix, const char *gateway,
				unsigned int port, struct weir_nexthop *hop);
/* Add it in a transaction of its own. */
void fib_rig_add(struct weir_stack *stack, const struct weir_route *r);
/* The two in one. */
void fib_rig_via(struct weir_stack *stack, const char *prefix, const char *gateway,
		 unsigned int port);

union weir_ip fib_rig_ip(const char *text);

#endif /* FIB_RIG_H */
