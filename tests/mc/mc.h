/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model checker for C11 code: runs a small program of a few virtual threads over and over, one
 * schedule after another, until all of them have been tried (or those within a stated bound).
 *
 * The code under test is compiled unchanged with -fsanitize=thread, but linked with this checker
 * instead of the sanitizer's run-time library: the compiler then calls us for every atomic operation,
 * with its memory order, and for every plain access.
 *
 *   atomic operation   a step. Between two steps another thread may run; which one is a choice.
 *   plain access       no step, but watched: two that conflict and are not ordered by happens-before
 *                      (C11 5.1.2.4, vector clocks) are a data race, which is a failure.
 *   weak memory        an atomic load may return an older value, as far as coherence and
 *                      happens-before allow; which one is a choice too (views, release sequences and
 *                      fences as in C11, release sequences as shortened by C++20).
 *                      Stores take their place in the modification order when they execute: load
 *                      buffering and stores that overtake each other in one location are not shown.
 *                      seq_cst is at least as strong as in C11. A failed compare-exchange reads the
 *                      newest value.
 *   waiting            an exchange that would not change the word (a taken lock) waits until it would,
 *                      and so does mc_await(); the loop around it is not run. With spin it is: then a
 *                      load that has seen the same value several times in a row waits for another.
 *                      Nobody left who can run: a deadlock, which is a failure.
 *
 * Two ways to go through the schedules:
 *   MC_ALL      every one, up to the order of independent steps: dynamic partial-order reduction with
 *               source sets and sleep sets (Abdulla et al., POPL 2014)
 *   MC_BOUNDED  every one with at most so many preemptions, nothing left out within the bound
 *
 * One program at a time; not for several threads of the operating system.
 */
#ifndef MC_H
#define MC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MC_THREADS 4    /* virtual threads */
#define MC_LOCS    64   /* atomic objects of one program */
#define MC_DEPTH   2048 /* steps of one execution */

enum mc_mode { MC_ALL = 1, MC_BOUNDED };

enum mc_fault {
	MC_OK,
	MC_RACE,     /* unordered plain accesses */
	MC_DEADLOCK, /* nobody can run: also a wake-up that was lost */
	MC_ASSERT,   /* mc_check() of the program */
	MC_CRASH,    /* it touched memory that is not there */
	MC_LIMIT,    /* the program is too large for the tables above */
};

struct mc_prog {
	const char *name;
	unsigned int n_threads;
	void (*init)(void); /* before each execution */
	void (*thread[MC_THREADS])(unsigned int self);
	void (*step)(void);  /* after each step, to look at memory; may be NULL */
	void (*final)(void); /* after each complete one; NULL: nothing to check */
	void *mem;           /* where plain accesses are watched */
	size_t mem_size;
	const char *(*where)(const void *p); /* name of an address, for the trace; may be NULL */

	enum mc_mode mode;
	unsigned int preemptions; /* MC_BOUNDED */
	unsigned int stale;       /* loads per thread that may return an older value; 0: SC */
	unsigned int spin;  /* try a taken lock, and wait after so many equal loads; 0: wait */
	uint64_t max_runs;  /* 0: until all are done */
	double max_seconds; /* 0: no limit */
};

struct mc_result {
	enum mc_fault fault;
	char text[256];     /* what failed */
	bool complete;      /* all schedules (within the bound) were tried */
	uint64_t runs;      /* complete executions */
	uint64_t cut;       /* executions left early: another one covers them */
	uint64_t steps;     /* all together */
	unsigned int depth; /* steps of the longest execution */
	double seconds;
};

/* Run them all, or up to the first failure. The trace of a failure goes to stdout when show. */
struct mc_result mc_run(const struct mc_prog *prog, bool show);

const char *mc_fault_name(enum mc_fault fault);

/* ---- for the program ---- */

/* Fail this execution unless cond. In a thread, init or final. */
#define mc_check(cond, ...)                                                                        \
	do {                                                                                       \
		if (!(cond))                                                                       \
			mc_fail(MC_ASSERT, __VA_ARGS__);                                           \
	} while (0)
_Noreturn void mc_fail(enum mc_fault fault, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The thread that calls. */
unsigned int mc_self(void);

/* The program's own atomic words: acquire, release, and acquire-release. */
uint32_t mc_load(uint32_t *p);
void mc_store(uint32_t *p, uint32_t value);
uint32_t mc_add(uint32_t *p, uint32_t value); /* returns the old value */
/* Wait until *p has grown to value: acquire. It may only grow. */
void mc_await(uint32_t *p, uint32_t value);

#endif /* MC_H */
