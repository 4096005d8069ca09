/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs for the model checker: threads that wait for a socket by event.c, on top of recvq.c, both
 * compiled unchanged. The kernel's part (futex, eventfd) is played. What must hold: everybody who waits for
 * what comes is woken, in whatever order things happen.
 */
#ifndef EVENT_PROG_H
#define EVENT_PROG_H

#include "mc.h"

/* A thread beside the producer, and for how many datagrams it stays. */
enum ev_kind {
	EV_NONE,
	EV_SLEEPER, /* weir_event_wait() whenever there is nothing */
	EV_WATCH,   /* a watch, re-armed whenever there is nothing, as epoll does */
	EV_EVENTFD, /* the descriptor, until it is readable; made quiet when there is nothing */
	EV_CLOSER,  /* closes the socket: the sleepers leave */
};

struct ev_prog {
	const char *name;
	unsigned int burst[3]; /* of the producer; 0: no more */
	struct {
		enum ev_kind kind;
		unsigned int want;
	} thread[3];
	unsigned int preemptions, stale; /* preemptions 0: all schedules */
	bool slow;
};

extern const struct ev_prog ev_progs[];
extern const unsigned int ev_n_progs;

struct mc_result ev_run(const struct ev_prog *prog, double max_seconds, bool show);

#endif /* EVENT_PROG_H */
