/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The turn of a worker: weir_turn() and what belongs to it. HOT. Layer 3.
 */
#ifndef WEIR_POLL_H
#define WEIR_POLL_H

#include "lcore.h"

/* A function to be run on a worker's thread: weir_worker_call(). State settles by compare-and-swap. */
enum weir_call_state { WEIR_CALL_WAITING, WEIR_CALL_RUNNING, WEIR_CALL_DONE, WEIR_CALL_CANCELLED };

struct weir_call {
	void (*fn)(struct weir_lcore *lc, void *arg);
	void *arg;
	_Atomic uint32_t state;
	_Atomic uint32_t refs; /* caller and worker: the last one frees */
};

/* Give up one reference. */
void weir_call_put(struct weir_call *call);

/* Handle what is in the mailboxes of a worker. Returns the number of entries. */
unsigned int weir_poll_mesh(struct weir_lcore *lc);

/* Take all that is in a worker's mailboxes and drop it (stop). */
void weir_poll_drain(struct weir_lcore *lc);

/* Take what its ports have received and drop it, at most `max` frames per queue (stop). */
void weir_poll_drain_ports(struct weir_lcore *lc, unsigned int max);

/*
 * Receive what this lcore has sent to addresses of the stack itself, and what that causes, bounded.
 * Returns the number of frames. Not from inside the receive pipeline.
 */
unsigned int weir_poll_loopback(struct weir_lcore *lc);

#endif /* WEIR_POLL_H */
