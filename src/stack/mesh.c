/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: see mesh.h. The rings are rte_ring in single-producer single-consumer mode, in memory that the
 * stack owns (no memzone per ring). The control lcore is a producer too: its mutex makes it one.
 */
#include "mesh.h"

#include <errno.h>
#include <stdio.h>

#include <rte_malloc.h>

/* ---- control ---- */

static struct rte_ring *
ring_make(const char *name, unsigned int entries, unsigned int flags)
{
	ssize_t size = rte_ring_get_memsize(entries);
	struct rte_ring *r;

	if (size < 0)
		return NULL;
	r = rte_zmalloc("weir_mesh", (size_t)size, WEIR_CACHE_LINE);
	if (r != NULL && rte_ring_init(r, name, entries, flags) != 0) {
		rte_free(r);
		r = NULL;
	}
	return r;
}

int
weir_mesh_init(struct weir_stack *stack)
{
	char name[RTE_RING_NAMESIZE];

	for (unsigned int w = 0; w < stack->n_workers; w++) {
		struct weir_lcore *lc = stack->lcores[w];

		for (unsigned int s = 0; s < stack->n_lcores; s++) {
			if (s == w)
				continue;
			snprintf(name, sizeof(name), "weir_%u_%u", s, w);
			lc->in[s] = ring_make(name, stack->conf.mesh_ring,
					      RING_F_SP_ENQ | RING_F_SC_DEQ);
			if (lc->in[s] == NULL)
				return -ENOMEM;
		}
		lc->n_in = stack->n_lcores;
		snprintf(name, sizeof(name), "weir_ctl_%u", w);
		lc->ctl = ring_make(name, 64, RING_F_SC_DEQ);
		if (lc->ctl == NULL)
			return -ENOMEM;
	}
	return 0;
}

void
weir_mesh_fini(struct weir_stack *stack)
{
	for (unsigned int w = 0; w < stack->n_workers; w++) {
		struct weir_lcore *lc = stack->lcores[w];

		if (lc == NULL)
			continue;
		for (unsigned int s = 0; s < RTE_DIM(lc->in); s++) {
			rte_free(lc->in[s]);
			lc->in[s] = NULL;
		}
		rte_free(lc->ctl);
		lc->ctl = NULL;
	}
}

/* ---- hot ---- */

unsigned int
weir_mesh_frames(struct weir_lcore *lc, uint16_t to_slot, enum weir_mesh_kind kind,
		 struct rte_mbuf **m, unsigned int n)
{
	struct rte_ring *r = lc->stack->lcores[to_slot]->in[lc->slot];
	uint64_t word[WEIR_MAX_BURST]; /* the type that rte_ring copies */
	unsigned int done = 0;

	while (done < n) {
		unsigned int chunk = RTE_MIN(n - done, (unsigned int)RTE_DIM(word));
		unsigned int took;

		for (unsigned int i = 0; i < chunk; i++)
			word[i] = (uint64_t)(uintptr_t)m[done + i] | (uint64_t)kind;
		took = rte_ring_sp_enqueue_burst(r, (void **)(uintptr_t)word, chunk, NULL);
		done += took;
		if (took < chunk)
			break;
	}
	weir_count(kind == WEIR_MESH_RX ? &lc->c.mesh_rx_in : &lc->c.mesh_tx_in, done);
	return done;
}

bool
weir_mesh_send(struct weir_lcore *lc, uint16_t to_slot, enum weir_mesh_msg type, uint64_t payload)
{
	struct rte_ring *r = lc->stack->lcores[to_slot]->in[lc->slot];
	uint64_t word = payload << 10 | (uint64_t)type << 2 | WEIR_MESH_MSG;

	return rte_ring_sp_enqueue(r, (void *)(uintptr_t)word) == 0;
}

unsigned int
weir_mesh_free(const struct weir_lcore *lc, uint16_t to_slot)
{
	const struct rte_ring *r = lc->stack->lcores[to_slot]->in[lc->slot];

	return r->capacity - (__atomic_load_n(&r->prod.tail, __ATOMIC_RELAXED) -
			      __atomic_load_n(&r->cons.tail, __ATOMIC_RELAXED));
}

unsigned int
weir_mesh_take(struct weir_lcore *lc, uint16_t from, uint64_t *word, unsigned int n)
{
	struct rte_ring *r = lc->in[from];

	if (r == NULL || weir_ring_empty(r))
		return 0;
	return rte_ring_sc_dequeue_burst(r, (void **)(uintptr_t)word, n, NULL);
}
