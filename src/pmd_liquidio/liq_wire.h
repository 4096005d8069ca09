/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire of a model card that ends in an ethdev (wire=port:NAME): what leaves the card is
 * transmitted there, and what that port receives arrives at the card.
 *
 * The port is ours: it is taken out of the application's sight (ethdev ownership) as soon as it is
 * there, configured with one queue each way and started when it is first needed.  A thread of
 * its own receives; it sleeps while nothing comes, and it starts the port later when it does not
 * start yet (a memif client without its server).  The card has a carrier while the port has one.  Transmission happens where the card works.
 * Whatever does not fit is counted.
 */
#ifndef LIQ_WIRE_H
#define LIQ_WIRE_H

#include <stdint.h>

#include "liqm.h"

struct liq_wire;

struct liq_wire_stats {
	uint64_t n_out, n_in; /* frames passed on */
	uint64_t n_out_full;  /* the port took no more */
	uint64_t n_out_nombuf;
	uint64_t n_in_full; /* the card has no room */
	uint64_t n_in_bad;  /* too long, or too short */
};

/* Remembers the port's name, and claims it now or when it appears.  0 or negative errno. */
int liq_wire_create(struct liqm_card *card, const char *port_name, struct liq_wire **out);

/* Configures the port if that was not done yet, and starts it or leaves that to the thread.  -ENODEV:
 * there is none of that name; other errors of its configuration. */
int liq_wire_open(struct liq_wire *wire);

/* NULL is fine. */
void liq_wire_destroy(struct liq_wire *wire);

void liq_wire_stats_get(const struct liq_wire *wire, struct liq_wire_stats *stats);

#endif /* LIQ_WIRE_H */
