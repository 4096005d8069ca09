/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One PCI function of the model on one vfio-user socket: the few lines that tie the model's
 * boundary (liqm.h) to the transport's (vfu.h), and the life of clients: one at a time, any
 * number after each other. One thread.
 */
#ifndef CARD_FN_H
#define CARD_FN_H

#include <stdbool.h>
#include <stdint.h>

#include "../liqm.h"
#include "../vfu/vfu.h"

struct card_fn {
	struct liqm_fn *fn;
	struct vfu *vfu;
	const char *path;
	int listen_fd;
	bool verbose;
};

/** Opens the socket of the function. 0 or a negative errno, with a message on stderr. */
int card_fn_open(struct card_fn *cf, struct liqm_fn *fn, const char *path, bool verbose);
void card_fn_close(struct card_fn *cf);

/** The one descriptor to wait for, and its poll(2) events. */
int card_fn_poll(const struct card_fn *cf, short *events);

/**
 * Accepts a client, or handles what it sent. Returns true when there may be more at once.
 */
bool card_fn_run(struct card_fn *cf);

bool card_fn_has_client(const struct card_fn *cf);
uint64_t card_fn_clients(const struct card_fn *cf);
void card_fn_print(const struct card_fn *cf);

#endif
