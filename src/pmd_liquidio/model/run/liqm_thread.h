/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a card of the device model from a thread of its own.
 *
 * The thread ticks the card, sleeps until liqm_card_next_ns(), and is woken early by the card
 * (liqm_card_on_wake) or by hand; it never sleeps longer than max_sleep_ns.  With manual_step it
 * does all the work, and accesses return at once, as they do on hardware; without, accesses step
 * the card too, and the thread adds what only time or the far end of a pair brings.
 *
 * Time is the card's: a clock service is read on this thread too; virtual time is not moved, so
 * that what is due later waits for an access or for liqm_card_advance().  Services, observers
 * and wire callbacks of the card are called on this thread as well, with all signals blocked.
 *
 * Plain POSIX threads: no DPDK here.  One thread per card; the card outlives its thread.
 */
#ifndef LIQM_THREAD_H
#define LIQM_THREAD_H

#include <stdint.h>

#include "liqm.h"

struct liqm_thread;

struct liqm_thread_cfg {
	struct liqm_card *card;
	const char *name;      /* of the thread, up to 15 characters; NULL: "liqm" */
	int cpu;               /* to be pinned to; negative: where the caller may run */
	uint64_t max_sleep_ns; /* up to 1 s; 0: 10 ms */
};

struct liqm_thread_stats {
	uint64_t n_ticks;
	uint64_t n_sleeps;
	uint64_t n_kicks; /* by the card or by hand; several before it looks count as one */
};

/*
 * 0; -EINVAL: no card, a long name, a CPU that is not there, too long a sleep; -EBUSY: something
 * else sleeps on the card's time; -EAGAIN or -ENOMEM: no thread to be had.
 */
int liqm_thread_start(const struct liqm_thread_cfg *cfg, struct liqm_thread **out);

/* Any thread, also from the card's callbacks; cheap while the thread runs.  Never blocks. */
void liqm_thread_kick(struct liqm_thread *thread);

/*
 * Returns when the thread has ended; what was begun in the card stays there for whoever ticks it
 * next.  NULL is fine.  Not from the thread itself, so not from the card's callbacks.
 */
void liqm_thread_stop(struct liqm_thread *thread);

void liqm_thread_stats_get(struct liqm_thread *thread, struct liqm_thread_stats *stats);

#endif /* LIQM_THREAD_H */
