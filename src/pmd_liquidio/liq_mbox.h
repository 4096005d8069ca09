/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mailbox between a VF and its PF, both ends: one word at a time through SIG0 (PF to VF) and
 * SIG1 (VF to PF), acknowledged in the same register.
 *
 * One state machine serves both ends: a struct liq_mbox is one end of one mailbox, and a step of it
 * never waits.  The header of a message is kept and data words are only counted, whatever is
 * in them; each word has a second's deadline, after which the message is given up.
 *
 * Threads: one at a time on an end (control).  Source: docs/liquidio-hw.md.
 */
#ifndef LIQ_MBOX_H
#define LIQ_MBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "liq_fw.h"
#include "liq_io.h"

#define LIQ_MBOX_WORD_NS (1 * WEIR_NS_PER_S)

struct liq_mbox {
	struct liq_io io;
	uint32_t reg_in;  /* written by the other end */
	uint32_t reg_out; /* written by this end */

	uint64_t in[LIQ_MBOX_MAX_WORDS];
	unsigned int n_in;
	uint64_t in_since_ns;

	uint64_t out[LIQ_MBOX_MAX_WORDS];
	unsigned int n_out, out_at;
	uint64_t out_since_ns;
	bool answering; /* the message going out answers one that came in */
	bool refused;   /* ERR stands in reg_in */

	uint64_t n_errors; /* words out of turn, and time-outs */
};

/* Words of a message. */
struct liq_mbox_msg {
	uint64_t word[LIQ_MBOX_MAX_WORDS];
	unsigned int n;
};

/* ring: first ring of the VF in this function's BAR0; is_pf: which end this is. */
void liq_mbox_init(struct liq_mbox *mbox, const struct liq_io *io, unsigned int ring, bool is_pf);

/* Something is under way in either direction. */
static inline bool
liq_mbox_busy(const struct liq_mbox *mbox)
{
	return mbox->n_in != 0 || mbox->n_out != 0;
}

/* Queues a message.  -EBUSY: one is on its way. */
int liq_mbox_send(struct liq_mbox *mbox, const uint64_t *words, unsigned int n);

/* The same, as the answer to the message that liq_mbox_step() gave last. */
int liq_mbox_answer(struct liq_mbox *mbox, const uint64_t *words, unsigned int n);

/* Or there is no answer to it: the other end may send again. */
void liq_mbox_ignore(struct liq_mbox *mbox);

/*
 * Does what can be done now.  1: a whole message came in, in msg; a request that wants an answer
 * stays acknowledged until liq_mbox_answer().  0: nothing.  -ETIMEDOUT: a message that was
 * going out, or coming in, was given up.  -EPROTO: the other end refused.
 */
int liq_mbox_step(struct liq_mbox *mbox, struct liq_mbox_msg *msg);

/* What a VF learns from its PF. */
struct liq_handshake {
	unsigned int pkind;
	unsigned int coproc_mhz;
	unsigned int app_mode;
	unsigned int major, minor, micro; /* of the PF driver */
};

/*
 * VF: VF_ACTIVE and its answer.  0; -ETIMEDOUT: the PF does not answer; -EPROTO: it answers
 * nonsense or with another major version.  Logged.
 */
int liq_mbox_handshake(struct liq_mbox *mbox, struct liq_handshake *hs);

/* VF: asks the PF for a function-level reset and waits for the mailbox to be idle again. */
int liq_mbox_ask_flr(struct liq_mbox *mbox);

#endif /* LIQ_MBOX_H */
