/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests to firmware and their answers.
 *
 * Each request has a slot of memory of its own: its data, and a response whose status word the card
 * writes last.  A slot is free again when both have happened: the instruction was fetched, and the
 * status has arrived.  A request that ran out of time keeps its slot, so that a late answer
 * finds memory that is still ours; after a ring reset, which ends all DMA, every slot is free.
 *
 * Every request asks for a response: an error of firmware is an error of the call.  After a request
 * has run out of time the next ones fail at once, until liq_cmd_reset().
 *
 * Threads: one at a time (the device's control lock); the input queue that carries the request may be
 * transmitting meanwhile.
 */
#ifndef LIQ_CMD_H
#define LIQ_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "liq_fw.h"
#include "liq_iq.h"
#include "liq_mem.h"

#define LIQ_CMD_SLOTS   16u
#define LIQ_CMD_WAIT_NS (10 * WEIR_NS_PER_S)

struct liq_cmd_slot {
	uint32_t seq; /* running number of its instruction */
	uint32_t resp_len;
	bool busy;
};

struct liq_cmd_stats {
	uint64_t n_requests;
	uint64_t n_timeouts;
	uint64_t n_late;    /* answers that came after their time */
	uint64_t n_refused; /* answers with an error status */
};

struct liq_cmds {
	struct liq_io io;
	struct liq_iq *iq; /* the queue that carries requests now; NULL: none */
	unsigned int pkind;
	unsigned int qpg; /* of control, when use_qpg */
	bool use_qpg;
	bool dead; /* a request ran out of time */
	struct liq_cmd_slot slot[LIQ_CMD_SLOTS];
	struct liq_mem mem;
	struct liq_cmd_stats n, base; /* base: as they were at the last statistics reset */
};

/* 0 or -ENOMEM. */
int liq_cmds_init(struct liq_cmds *cmds, const struct liq_io *io, uint16_t port_id, int socket_id);

/* The card cannot reach memory any more. */
void liq_cmds_fini(struct liq_cmds *cmds);

/* The ring of the queue was reset: nothing is under way.  iq carries what comes; NULL: none yet. */
void liq_cmds_use(struct liq_cmds *cmds, struct liq_iq *iq);

/* Forgets that a request ran out of time; behind a reset of the device. */
void liq_cmds_revive(struct liq_cmds *cmds);

struct liq_cmd {
	unsigned int subcode;
	uint64_t ossp0;
	const void *data; /* up to 8 * (1 + LIQ_CMD_MAX_WORDS) bytes */
	uint32_t len;
	uint32_t resp_len; /* 0: LIQ_RESP_MIN */
	uint64_t wait_ns;  /* 0: LIQ_CMD_WAIT_NS */
};

/*
 * Asks and waits.  resp, if given, gets the resp_len bytes.  0; -EPERM, -EIO: firmware says no;
 * -ETIMEDOUT; -EIO, -EBUSY: the queue takes nothing; -ENODEV: none.
 */
int liq_cmd_ask(struct liq_cmds *cmds, const struct liq_cmd *cmd, void *resp);

/* Asks without waiting; the slot's number or negative errno as above. */
int liq_cmd_post(struct liq_cmds *cmds, const struct liq_cmd *cmd);

/* Looks once: 0 answered, and the slot is free; -EAGAIN not yet; an error of firmware as above. */
int liq_cmd_poll(struct liq_cmds *cmds, int slot, void *resp);

/* Gives up on a request that was posted: its answer may come late. */
void liq_cmd_abandon(struct liq_cmds *cmds, int slot);

/* A control command: its word, and n user words (copied as they are, 8 bytes each). */
int liq_cmd_ctl(struct liq_cmds *cmds, unsigned int cmd, unsigned int param1, unsigned int param2,
		const void *words, unsigned int n_words);

#endif /* LIQ_CMD_H */
