/* SPDX-License-Identifier: BSD-3-Clause */
/* See litmus.h. */
#include "litmus.h"

#include <stdatomic.h>
#include <string.h>

struct litmus_op litmus_ops[MC_THREADS][LITMUS_OPS];
unsigned int litmus_n_ops[MC_THREADS];
unsigned int litmus_got[MC_THREADS][LITMUS_OPS];

static struct {
	_Atomic unsigned int var[LITMUS_VARS];
	atomic_uint lock[2];
	unsigned int data, copy;
} mem;

static void
init(void)
{
	memset(&mem, 0, sizeof(mem));
	memset(litmus_got, 0, sizeof(litmus_got));
}

static void
begin(struct mc_prog *prog, const char *name, unsigned int n_threads)
{
	*prog = (struct mc_prog){
		.name = name,
		.n_threads = n_threads,
		.init = init,
		.mem = &mem,
		.mem_size = sizeof(mem),
	};
}

unsigned int
litmus_value(unsigned int var)
{
	return atomic_load(&mem.var[var]);
}

/* ---- tables of operations ---- */

static unsigned int
one_op(const struct litmus_op *op)
{
	_Atomic unsigned int *v = &mem.var[op->var];

	switch (op->kind) {
	case LIT_LOAD:
		return op->order == LIT_RELAXED   ? atomic_load_explicit(v, memory_order_relaxed)
		       : op->order == LIT_ACQ_REL ? atomic_load_explicit(v, memory_order_acquire)
						  : atomic_load_explicit(v, memory_order_seq_cst);
	case LIT_STORE:
		if (op->order == LIT_RELAXED)
			atomic_store_explicit(v, op->value, memory_order_relaxed);
		else if (op->order == LIT_ACQ_REL)
			atomic_store_explicit(v, op->value, memory_order_release);
		else
			atomic_store_explicit(v, op->value, memory_order_seq_cst);
		return 0;
	case LIT_SWAP:
		return op->order == LIT_RELAXED
			       ? atomic_exchange_explicit(v, op->value, memory_order_relaxed)
		       : op->order == LIT_ACQ_REL
			       ? atomic_exchange_explicit(v, op->value, memory_order_acq_rel)
			       : atomic_exchange_explicit(v, op->value, memory_order_seq_cst);
	default:
		return op->order == LIT_RELAXED
			       ? atomic_fetch_add_explicit(v, op->value, memory_order_relaxed)
		       : op->order == LIT_ACQ_REL
			       ? atomic_fetch_add_explicit(v, op->value, memory_order_acq_rel)
			       : atomic_fetch_add_explicit(v, op->value, memory_order_seq_cst);
	}
}

static void
table_thread(unsigned int self)
{
	for (unsigned int i = 0; i < litmus_n_ops[self]; i++)
		litmus_got[self][i] = one_op(&litmus_ops[self][i]);
}

void
litmus_table(struct mc_prog *prog, unsigned int n_threads)
{
	begin(prog, "table", n_threads);
	for (unsigned int i = 0; i < n_threads; i++)
		prog->thread[i] = table_thread;
}

/* ---- handing over plain data ---- */

static enum litmus_hand how;

static void
giver(unsigned int self)
{
	(void)self;
	mem.data = 42;
	if (how == HAND_FENCES)
		atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&mem.var[0], 1,
			      how == HAND_RELEASE || how == HAND_NO_ACQUIRE ? memory_order_release
									    : memory_order_relaxed);
}

static void
taker(unsigned int self)
{
	(void)self;
	if (atomic_load_explicit(&mem.var[0], how == HAND_RELEASE ? memory_order_acquire
								  : memory_order_relaxed) == 0)
		return;
	if (how == HAND_FENCES)
		atomic_thread_fence(memory_order_acquire);
	mem.copy = mem.data;
	mc_check(mem.copy == 42, "%u", mem.copy);
}

void
litmus_hand_over(struct mc_prog *prog, enum litmus_hand hand)
{
	begin(prog, "hand-over", 2);
	how = hand;
	prog->thread[0] = giver;
	prog->thread[1] = taker;
}

/* ---- locks ---- */

static bool no_release;

static void
lock(atomic_uint *l)
{
	while (atomic_exchange_explicit(l, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(l, memory_order_relaxed) != 0)
			;
}

static void
unlock(atomic_uint *l)
{
	if (no_release)
		atomic_store_explicit(l, 0, memory_order_relaxed);
	else
		atomic_store_explicit(l, 0, memory_order_release);
}

static void
locker(unsigned int self)
{
	(void)self;
	lock(&mem.lock[0]);
	mem.data++;
	unlock(&mem.lock[0]);
}

static void
lock_final(void)
{
	mc_check(mem.data == mem.copy, "%u instead of %u", mem.data, mem.copy);
}

static unsigned int n_lockers;

static void
lock_init(void)
{
	init();
	mem.copy = n_lockers;
}

void
litmus_lock(struct mc_prog *prog, unsigned int n_threads, bool broken)
{
	begin(prog, "lock", n_threads);
	no_release = broken;
	n_lockers = n_threads;
	prog->init = lock_init;
	prog->final = lock_final;
	for (unsigned int i = 0; i < n_threads; i++)
		prog->thread[i] = locker;
}

static void
cross_locker(unsigned int self)
{
	lock(&mem.lock[self]);
	lock(&mem.lock[!self]);
	mem.data++;
	unlock(&mem.lock[!self]);
	unlock(&mem.lock[self]);
}

void
litmus_deadlock(struct mc_prog *prog)
{
	begin(prog, "deadlock", 2);
	no_release = false;
	prog->thread[0] = cross_locker;
	prog->thread[1] = cross_locker;
}
