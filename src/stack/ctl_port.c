/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: a port comes or goes while the stack runs.
 *
 * It comes dead, is started, each worker takes its queues on, then it lives. It goes in these steps:
 *
 *   1. it is dead: its routes and addresses go, the generation is raised; who looks a way up finds another
 *   2. a grace period: nobody is half-way through a call with the old answer
 *   3. each worker, on its own thread: polls it no more, drops what it has for it
 *   4. each worker once more: what other workers had put into its mailbox before they came to 3
 *   5. a grace period; its device stops, its counters stay in the stack's sums, it goes out of sight
 *   6. a grace period; its memory goes
 *
 * All drops are counted, as port_gone_rx and port_gone_tx. A worker that has no thread is stood in for.
 */
#include <errno.h>

#include <rte_ethdev.h>

#include "batch.h"
#include "ctl_priv.h"
#include "drop.h"
#include "fib.h"
#include "mcast.h"
#include "neigh.h"
#include "poll.h"
#include "reasm.h"
#include "sockgroup.h"
#include "stack_priv.h"

#define ANSWER_NS (10 * WEIR_NS_PER_S)

/* Wait until every lcore has passed a quiescent state. False: one has not, for long. */
static bool
grace(struct weir_stack *stack)
{
	const uint64_t until = weir_clock_ns() + ANSWER_NS;
	const uint64_t token = rte_rcu_qsbr_start(stack->rcu);

	while (!weir_rcu_passed(stack, token)) {
		if (weir_clock_ns() >= until)
			return false;
		weir_ctl_breathe(stack);
	}
	return true;
}

/* Steps 3 and 4, on the worker's own thread or in its stead. */
static void
let_go(struct weir_lcore *lc, void *arg)
{
	const struct weir_port *port = arg;
	uint16_t n = 0;

	for (uint16_t q = 0; q < lc->n_rxq; q++)
		if (lc->rxq[q].port != port)
			lc->rxq[n++] = lc->rxq[q];
	lc->n_rxq = n;
	while (weir_poll_mesh(lc) > 0)
		;
	weir_batch_drop_port(lc, port->index);
	weir_neigh_drop_port_holds(lc, port->index, WEIR_DROP_PORT_GONE_TX);
	weir_reasm_flush(lc, port->index, WEIR_DROP_PORT_GONE_RX);
	lc->rx_last[port->index] = (struct weir_rx_last){0};
}

/* The new port's queues, likewise. */
static void
take_on(struct weir_lcore *lc, void *arg)
{
	weir_port_assign(lc, arg);
}

static int
on_worker(struct weir_stack *stack, uint16_t worker, void (*fn)(struct weir_lcore *lc, void *arg),
	  struct weir_port *port)
{
	const uint64_t until = weir_clock_ns() + ANSWER_NS;
	struct weir_lcore *lc = stack->lcores[worker];
	int ret;

	for (;;) {
		bool taken = false;

		ret = weir_worker_call(stack, worker, fn, port, ANSWER_NS);
		if (ret == -EAGAIN && weir_clock_ns() < until) { /* others have calls waiting */
			weir_ctl_breathe(stack);
			continue;
		}
		if (ret != -ENETDOWN)
			return ret;
		/* Nobody is that worker: nobody can become it while this is done. */
		if (atomic_compare_exchange_strong(&lc->attached, &taken, true)) {
			lc->now_ns = weir_clock_ns();
			fn(lc, port);
			atomic_store(&lc->attached, false);
			return 0;
		}
	}
}

static int
all_workers(struct weir_stack *stack, struct weir_port *port)
{
	int ret = grace(stack) ? 0 : -ETIMEDOUT;

	/* Twice: see 3 and 4. */
	for (unsigned int i = 0; i < 2u * stack->n_workers && ret == 0; i++)
		ret = on_worker(stack, (uint16_t)(i % stack->n_workers), let_go, port);
	if (ret == 0 && !grace(stack))
		ret = -ETIMEDOUT;
	return ret;
}

/* Nobody uses it any more. */
static void
retire(struct weir_stack *stack, struct weir_port *port)
{
	const uint16_t index = port->index;

	weir_sock_port_gone(stack, index);
	weir_mcast_port_gone(stack, port);
	weir_neigh_flush_port(stack, index);
	/* The counters of a port that goes stay in the stack's sums. */
	for (unsigned int l = 0; l < stack->n_lcores; l++) {
		struct weir_lcore *lc = stack->lcores[l];
		struct weir_port_counters *from = &lc->pc[index];

		weir_count(&lc->pc_gone.rx_frames, weir_counter_read(&from->rx_frames));
		weir_count(&lc->pc_gone.rx_bytes, weir_counter_read(&from->rx_bytes));
		weir_count(&lc->pc_gone.tx_frames, weir_counter_read(&from->tx_frames));
		weir_count(&lc->pc_gone.tx_bytes, weir_counter_read(&from->tx_bytes));
		atomic_store_explicit(&from->rx_frames, 0, memory_order_relaxed);
		atomic_store_explicit(&from->rx_bytes, 0, memory_order_relaxed);
		atomic_store_explicit(&from->tx_frames, 0, memory_order_relaxed);
		atomic_store_explicit(&from->tx_bytes, 0, memory_order_relaxed);
	}
	weir_port_stop(port);
	weir_port_release(stack, index);
}

int
weir_ctl_port_remove(struct weir_stack *stack, struct weir_ctl_op *op, struct weir_error *err)
{
	struct weir_port *port = op->port < WEIR_MAX_PORTS ? stack->ports[op->port] : NULL;
	int ret;

	/* One that is dead already was left half-way by a call before this one. */
	if (port == NULL || !atomic_load(&port->dead)) {
		ret = weir_ctl_apply_locked(stack, op, 1, err);
		if (ret != 0)
			return ret;
	}
	/* A VLAN's frames are refused from now on: nobody who has not looked yet finds its index. */
	if (port->vlan != 0)
		__atomic_store_n(&stack->ports[port->parent]->vlan_port[port->vlan], 0,
				 __ATOMIC_RELAXED);
	weir_ctl_forget_learned(stack, op->port);
	if (atomic_load(&stack->running)) {
		ret = all_workers(stack, port);
		if (ret != 0)
			return weir_ctl_refuse_n(err, op, ret, "port", op->port,
						 "is out of use, but a worker has not taken a turn "
						 "for 10 s: call again");
	}
	retire(stack, port);
	return 0;
}

/* Plan, start, and let the workers poll it. What has been done of it is undone by a removal. */
static int
bring_up(struct weir_stack *stack, struct weir_port *port, const struct weir_ctl_op *op,
	 struct weir_error *err)
{
	struct weir_ctl_op local = {.kind = WEIR_CTL_LINK_LOCAL, .port = port->index};
	int ret = weir_port_plan(stack, port, err);

	if (ret != 0)
		return ret;
	if (weir_stack_ring_needs(stack) + 2 * stack->reserve > stack->pool->size)
		return weir_ctl_refuse_n(err, op, -ENOSPC, "pool_mbufs", stack->pool->size,
					 "the pool of the running stack is too small for the rings "
					 "of another port");
	ret = weir_port_start(stack, port, err);
	if (ret != 0)
		return ret;
	/* Attached threads do not look at it while it is dead. */
	for (uint16_t i = stack->n_workers; i < stack->n_lcores; i++)
		weir_port_assign(stack->lcores[i], port);
	for (uint16_t i = 0; i < stack->n_workers && ret == 0; i++)
		ret = on_worker(stack, i, take_on, port);
	if (ret != 0)
		return weir_ctl_refuse_n(err, op, ret, "port", port->index,
					 "a worker has not taken a turn for 10 s");
	atomic_store(&port->dead, false);
	ret = weir_ctl_apply_locked(stack, &local, 1, err);
	if (ret != 0)
		return ret;
	weir_mcast_port_up(stack, port);
	weir_fib_touch(stack);
	/* Look at its link, and announce it. */
	stack->control->link_ns = 0;
	atomic_store_explicit(&stack->control->due_ns, 0, memory_order_relaxed);
	return 0;
}

int
weir_ctl_port_add(struct weir_stack *stack, struct weir_ctl_op *op, struct weir_error *err)
{
	struct weir_ctl_op back = {.kind = WEIR_CTL_PORT_REMOVE};
	struct weir_port *port;
	int ret = weir_port_attach(stack, &op->port_conf, op->origin, err);

	if (ret < 0)
		return ret;
	op->port = (unsigned int)ret;
	port = stack->ports[op->port];
	ret = bring_up(stack, port, op, err);
	if (ret == 0)
		return 0;
	atomic_store(&port->dead, true);
	back.port = op->port;
	(void)weir_ctl_port_remove(stack, &back, NULL);
	return ret;
}
