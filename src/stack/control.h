/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one control interface: every change of a stack's set-up is a list of operations carried out as
 * a transaction. The public calls of <weir/stack.h>, the configuration file and, later, a run-time
 * client all come through here.
 *
 * CONTROL: any thread; takes the stack's control lock, may wait for it (a worker's own thread takes
 * turns meanwhile). Never called from a HOT file.
 */
#ifndef WEIR_CONTROL_H
#define WEIR_CONTROL_H

#include <weir/addr.h>
#include <weir/stack.h>

enum weir_ctl_kind {
	WEIR_CTL_PORT_ADD,
	WEIR_CTL_PORT_REMOVE,
	WEIR_CTL_ADDR_ADD,
	WEIR_CTL_ADDR_DEL,
	WEIR_CTL_ROUTE_ADD,
	WEIR_CTL_ROUTE_DEL,
	WEIR_CTL_NEIGH_ADD,
	WEIR_CTL_NEIGH_DEL,
	/* Of the stack itself: */
	WEIR_CTL_ADDR_SETTLE, /* duplicate address detection has ended, see duplicate */
	WEIR_CTL_LINK_LOCAL,  /* the port has the link-local address that goes with its MAC */
};

struct weir_ctl_op {
	enum weir_ctl_kind kind;
	const char *origin;    /* where it was asked for, in front of error texts; may be NULL */
	unsigned int port;     /* PORT_ADD: result, the index it got; else the port meant */
	struct weir_addr addr; /* address or neighbour */
	uint8_t prefix_bits;   /* ADDR_ADD */
	uint8_t mac[6];        /* NEIGH_ADD */
	const struct weir_route_conf *route; /* ROUTE_*; must outlive the call only */
	struct weir_port_conf port_conf;     /* PORT_ADD; device must outlive the call only */
	bool learned;   /* from a router: ADDR_ADD with these lifetimes (weir clock), ROUTE_ADD */
	bool duplicate; /* ADDR_SETTLE */
	uint64_t valid_ns, preferred_ns;
};

/*
 * Carry out ops[0..n-1] in order. When one is refused, those before it are undone in reverse order
 * and nothing has changed: returns its negative errno, err says which and why. 0 when all hold.
 */
int weir_ctl_apply(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n,
		   struct weir_error *err);

/* Fill err (may be NULL) with a printf-style text and return code, for `return weir_error_set(...)`. */
int weir_error_set(struct weir_error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* WEIR_CONTROL_H */
