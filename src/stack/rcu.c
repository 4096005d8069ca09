/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See rcu.h. The list of deferred objects is an array that doubles; when it cannot grow the caller
 * waits for the grace period here instead (the only wait, and only when memory is out).
 */
#include "rcu.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "control_state.h"

int
weir_rcu_init(struct weir_stack *stack)
{
	size_t size = rte_rcu_qsbr_get_memsize(WEIR_MAX_LCORES);

	stack->rcu = rte_zmalloc_socket("weir_rcu", size, WEIR_CACHE_LINE, SOCKET_ID_ANY);
	if (stack->rcu == NULL)
		return -ENOMEM;
	return -rte_rcu_qsbr_init(stack->rcu, WEIR_MAX_LCORES) == 0 ? 0 : -EINVAL;
}

void
weir_rcu_defer(struct weir_stack *stack, weir_rcu_fn fn, void *obj)
{
	const struct weir_lcore *self = weir_self(stack);
	struct weir_rcu_list *l = &stack->control->rcu;
	uint64_t token;

	if (l->n == l->cap) {
		size_t cap = l->cap == 0 ? 64 : l->cap * 2;
		struct weir_rcu_item *item = realloc(l->item, cap * sizeof(*item));

		if (item != NULL) {
			l->item = item;
			l->cap = cap;
		}
	}
	token = rte_rcu_qsbr_start(stack->rcu);
	if (l->n < l->cap) {
		l->item[l->n++] = (struct weir_rcu_item){token, fn, obj};
		atomic_store_explicit(&l->pending, (uint32_t)l->n, memory_order_relaxed);
		return;
	}
	while (!weir_rcu_passed(stack, token)) {
		/*
		 * No turn may be taken here, it could ask for the lock that is held. Between turns a
		 * worker holds on to nothing, so it may say so itself.
		 */
		if (self != NULL && self->kind == WEIR_LC_WORKER)
			rte_rcu_qsbr_quiescent(stack->rcu, self->slot);
		sched_yield();
	}
	fn(stack, obj);
}

static void
free_obj(struct weir_stack *stack, void *obj)
{
	(void)stack;
	rte_free(obj);
}

void
weir_rcu_free(struct weir_stack *stack, void *obj)
{
	weir_rcu_defer(stack, free_obj, obj);
}

unsigned int
weir_rcu_reclaim(struct weir_stack *stack, bool all)
{
	struct weir_rcu_list *l = &stack->control->rcu;
	size_t done = 0;

	while (done < l->n) {
		struct weir_rcu_item *it = &l->item[done];

		if (!all && !weir_rcu_passed(stack, it->token))
			break;
		done++;
		it->fn(stack, it->obj);
	}
	if (done > 0) {
		for (size_t i = done; i < l->n; i++)
			l->item[i - done] = l->item[i];
		l->n -= done;
		atomic_store_explicit(&l->pending, (uint32_t)l->n, memory_order_relaxed);
	}
	return (unsigned int)l->n;
}

bool
weir_rcu_pending(const struct weir_stack *stack)
{
	return atomic_load_explicit(&stack->control->rcu.pending, memory_order_relaxed) != 0;
}

void
weir_rcu_fini(struct weir_stack *stack)
{
	free(stack->control->rcu.item);
	stack->control->rcu = (struct weir_rcu_list){0};
	rte_free(stack->rcu);
	stack->rcu = NULL;
}
