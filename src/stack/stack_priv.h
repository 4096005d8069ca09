/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ports and buffer pool of a stack, as control and life cycle share them. CONTROL. Layer 4.
 */
#ifndef WEIR_STACK_PRIV_H
#define WEIR_STACK_PRIV_H

#include "control.h"
#include "lcore.h"

/* All ports run: link-local addresses are made, groups and addresses told to the links. Lock held. -ENOMEM. */
int weir_ctl_ports_up(struct weir_stack *stack);

/* The box for weir_ctl_post(). -ENOMEM. */
int weir_ctl_posts_init(struct weir_stack *stack);
void weir_ctl_posts_fini(struct weir_stack *stack);

/* Take an ethdev in; the stack is stopped, the control lock held. Index or negative errno. */
int weir_port_attach(struct weir_stack *stack, const struct weir_port_conf *conf,
		     const char *origin, struct weir_error *err);

/* Let it go again. */
void weir_port_release(struct weir_stack *stack, unsigned int index);

/* Buffers that the rings of all ports and the caches of all lcores can hold. */
uint32_t weir_stack_ring_needs(const struct weir_stack *stack);

/* Give the lcore its queues of the port. The stack is stopped, or the calling thread is the lcore's. */
void weir_port_assign(struct weir_lcore *lc, struct weir_port *port);

/* Queues and descriptors that the port will have; fills n_rxq, n_txq, rx_desc, tx_desc. */
int weir_port_plan(struct weir_stack *stack, struct weir_port *port, struct weir_error *err);

/* Configure and start with the stack's pool. Nothing is left started on failure. */
int weir_port_start(struct weir_stack *stack, struct weir_port *port, struct weir_error *err);

void weir_port_stop(struct weir_port *port);

/* Stop and close an ethdev that keeps buffers of the pool although stopped. */
void weir_port_close(struct weir_port *port);

#endif /* WEIR_STACK_PRIV_H */
