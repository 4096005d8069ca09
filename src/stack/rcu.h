/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Deferred reclaim over rte_rcu_qsbr. CONTROL. Layer 0.
 *
 * Control takes an object out of every reader's sight, then hands it here; it is freed once every
 * lcore has passed a quiescent state. Nothing waits: objects whose time has come are freed at the
 * next control call or house-keeping turn. All calls under the control lock.
 */
#ifndef WEIR_RCU_H
#define WEIR_RCU_H

#include "lcore.h"

typedef void (*weir_rcu_fn)(struct weir_stack *stack, void *obj);

int weir_rcu_init(struct weir_stack *stack);

/* Run fn(stack, obj), under the control lock, after a grace period. Never fails. */
void weir_rcu_defer(struct weir_stack *stack, weir_rcu_fn fn, void *obj);

/* rte_free(obj) after a grace period. */
void weir_rcu_free(struct weir_stack *stack, void *obj);

/* Do what is due; with `all` (no lcore is attached any more) everything. Returns what is left. */
unsigned int weir_rcu_reclaim(struct weir_stack *stack, bool all);

/*
 * Has every lcore passed a quiescent state since the token was drawn? Any thread, without the lock. Not
 * rte_rcu_qsbr_check(): that one first reads acked_token and num_threads with plain loads, while other threads
 * store them, and takes the former's word without acquiring what came before it.
 */
static inline bool
weir_rcu_passed(const struct weir_stack *stack, uint64_t token)
{
	return __rte_rcu_qsbr_check_selective(stack->rcu, token, false) != 0;
}

/* Objects waiting, without the lock: is a reclaim worth the lock? */
bool weir_rcu_pending(const struct weir_stack *stack);

void weir_rcu_fini(struct weir_stack *stack);

#endif /* WEIR_RCU_H */
