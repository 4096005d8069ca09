/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs for the model checker: a few producers and readers on one receive queue. What they do is
 * data; what must hold is checked at every step, at every datagram and at the end:
 *
 *   nothing is lost, doubled or made up     each datagram taken was accepted, is whole, and comes once
 *   order                                   of each producer; a peek shows what the next take takes
 *   charge                                  held bytes never exceed the limit, but for one datagram alone
 *                                           in the queue; nothing is held at the end
 *   drops                                   the last datagram knows of every refused one before it
 *   wake-ups                                none is lost: nobody sleeps for ever
 */
#ifndef RECVQ_PROG_H
#define RECVQ_PROG_H

#include "mc.h"

#define RQ_BURSTS 4

/* What a reader does, until it has done it `rounds` times. */
enum rq_reader {
	RQ_NONE,
	RQ_POLL,     /* take up to n, found or not */
	RQ_SLEEP,    /* take n in all, one call at a time; sleep when there is none */
	RQ_PEEK,     /* walk, then take up to n: must be the same */
	RQ_CLOSE,    /* take up to n, then close, wait for the producers to leave, and purge */
	RQ_LIMIT,    /* set the limit to n */
	RQ_READABLE, /* once something has been queued, and nobody takes it: it must be seen */
};

struct rq_burst {
	uint8_t n;
	bool odd; /* true sizes differ: 100, 200, 100, ... */
};

struct rq_prog {
	const char *name;
	uint64_t limit;
	struct rq_burst burst[2][RQ_BURSTS]; /* of the producers, threads 0 and 1; none: n is 0 */
	struct {
		enum rq_reader kind;
		unsigned int rounds;
		uint64_t n;
	} reader[2];  /* threads after the producers */
	bool several; /* readers */
	struct rq_how {
		enum mc_mode mode; /* 0: no more */
		unsigned int preemptions, stale, spin;
		bool slow; /* in the long run only */
	} how[8];
};

extern const struct rq_prog rq_progs[];
extern const unsigned int rq_n_progs;

/* Explore one in its k-th way. */
struct mc_result rq_run(const struct rq_prog *prog, unsigned int k, double max_seconds, bool show);

#endif /* RECVQ_PROG_H */
