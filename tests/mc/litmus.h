/* SPDX-License-Identifier: BSD-3-Clause */
/* Small programs with known outcomes, for the checker's own test. Compiled as the code under test is. */
#ifndef LITMUS_H
#define LITMUS_H

#include "mc.h"

#define LITMUS_VARS 3
#define LITMUS_OPS  8

enum litmus_kind { LIT_LOAD, LIT_STORE, LIT_SWAP, LIT_ADD };
enum litmus_order { LIT_RELAXED, LIT_ACQ_REL, LIT_SEQ_CST };

struct litmus_op {
	enum litmus_kind kind;
	enum litmus_order order;
	unsigned int var;
	unsigned int value;
};

/* What each thread does, one after the other. */
extern struct litmus_op litmus_ops[MC_THREADS][LITMUS_OPS];
extern unsigned int litmus_n_ops[MC_THREADS];

/* Of the execution that just ended: what each operation read, and what is left. */
extern unsigned int litmus_got[MC_THREADS][LITMUS_OPS];
unsigned int litmus_value(unsigned int var);

/* The programs; each sets prog but for mode, bounds and final. */
void litmus_table(struct mc_prog *prog, unsigned int n_threads); /* litmus_ops */
/* Plain data handed over by a flag: with release and acquire, or relaxed; with fences. */
enum litmus_hand { HAND_RELEASE, HAND_RELAXED, HAND_FENCES, HAND_NO_ACQUIRE };
void litmus_hand_over(struct mc_prog *prog, enum litmus_hand how);
/* n threads count under a spin lock; broken: it is given back without release. */
void litmus_lock(struct mc_prog *prog, unsigned int n_threads, bool broken);
/* Two locks taken in different orders. */
void litmus_deadlock(struct mc_prog *prog);

#endif /* LITMUS_H */
