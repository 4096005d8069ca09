/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cable of liquidio-card: one Ethernet port of the model on a TAP interface or a unix stream
 * socket. Frames to the model are read only while it has room, so a busy card pushes back into
 * the kernel's queue; frames from the model that the far end cannot take now are dropped and
 * counted, as on a cable. One thread; nothing blocks.
 */
#ifndef CARD_WIRE_H
#define CARD_WIRE_H

#include <poll.h>
#include <stdint.h>

#include "../liqm.h"
#include "card_opts.h"

struct card_wire {
	struct liqm_card *card;
	unsigned int port;
	const struct card_wire_opt *opt;
	int listen_fd; /* -1: none */
	int fd;        /* TAP or connected socket; -1: no far end */
	uint64_t retry_ns;

	/* Stream socket: what has come of the next frame, and what is still to be sent. */
	uint8_t in[4 + LIQM_FRAME_MAX];
	uint32_t in_bytes;
	uint8_t *out;
	uint32_t out_bytes, out_done;

	uint64_t n_dropped;   /* frames of the card that the far end did not take */
	uint64_t n_bad_peers; /* peers sent away for an impossible length */
};

/** Opens the far end of the port. Returns 0 or a negative errno, with a message on stderr. */
int card_wire_open(struct card_wire *wire, const struct card_wire_opt *opt, struct liqm_card *card,
		   unsigned int port);
void card_wire_close(struct card_wire *wire);

/** What to wait for: at most two descriptors; returns their number. */
unsigned int card_wire_poll(const struct card_wire *wire, struct pollfd pfds[2]);

/** When to call card_wire_run() though nothing is ready, or LIQM_NEVER. */
uint64_t card_wire_next_ns(const struct card_wire *wire);

/** Accepts, connects, sends and receives what is possible now. */
void card_wire_run(struct card_wire *wire, uint64_t now_ns);

#endif
