/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mailbox, both ends.  See liq_mbox.h.
 */
#include "liq_mbox.h"

#include <errno.h>
#include <string.h>

#include "liq_log.h"

/* A PF driver may be slow to serve, or lose a message while it restarts. */
#define HANDSHAKE_NS (10 * WEIR_NS_PER_S)
#define ATTEMPT_NS   (3 * WEIR_NS_PER_S)

/* The version that this driver says it is. */
#define OUR_MAJOR 1u
#define OUR_MINOR 7u
#define OUR_MICRO 2u

void
liq_mbox_init(struct liq_mbox *mbox, const struct liq_io *io, unsigned int ring, bool is_pf)
{
	memset(mbox, 0, sizeof(*mbox));
	mbox->io = *io;
	mbox->reg_in = LIQ_RING(ring) + (is_pf ? LIQ_REG_SIG1 : LIQ_REG_SIG0);
	mbox->reg_out = LIQ_RING(ring) + (is_pf ? LIQ_REG_SIG0 : LIQ_REG_SIG1);
	/* each end makes the register that it reads idle */
	liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
}

static int
queue(struct liq_mbox *mbox, const uint64_t *words, unsigned int n, bool answering)
{
	if (mbox->n_out != 0)
		return -EBUSY;
	memcpy(mbox->out, words, n * sizeof(*words));
	mbox->n_out = n;
	mbox->out_at = 0;
	mbox->out_since_ns = weir_clock_ns();
	mbox->answering = answering;
	return 0;
}

int
liq_mbox_send(struct liq_mbox *mbox, const uint64_t *words, unsigned int n)
{
	return queue(mbox, words, n, false);
}

int
liq_mbox_answer(struct liq_mbox *mbox, const uint64_t *words, unsigned int n)
{
	return queue(mbox, words, n, true);
}

void
liq_mbox_ignore(struct liq_mbox *mbox)
{
	liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
}

static void
end_out(struct liq_mbox *mbox)
{
	mbox->n_out = 0;
	/* what was answered is over: the other end may send again */
	if (mbox->answering)
		liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
	mbox->answering = false;
}

static int
step_out(struct liq_mbox *mbox)
{
	uint64_t word;

	if (mbox->n_out == 0)
		return 0;
	word = liq_r64(&mbox->io, mbox->reg_out);
	if (word == (mbox->out_at == 0 ? LIQ_MBOX_SIG : LIQ_MBOX_ACK)) {
		liq_w64(&mbox->io, mbox->reg_out, mbox->out[mbox->out_at++]);
		mbox->out_since_ns = weir_clock_ns();
		if (mbox->out_at == mbox->n_out)
			end_out(mbox);
		return 0;
	}
	if (word == LIQ_MBOX_ERR) {
		mbox->n_errors++;
		end_out(mbox);
		return -EPROTO;
	}
	if (weir_clock_ns() - mbox->out_since_ns < LIQ_MBOX_WORD_NS)
		return 0;
	mbox->n_errors++;
	end_out(mbox);
	return -ETIMEDOUT;
}

/* A header must make sense, and must not come while its request is still being answered. */
static bool
header_good(uint64_t head)
{
	uint64_t len = liq_get(head, LIQ_MBOX_LEN);

	return len >= 1 && len <= LIQ_MBOX_MAX_WORDS;
}

static int
step_in(struct liq_mbox *mbox, struct liq_mbox_msg *msg)
{
	uint64_t word;
	bool wants_answer;

	if (mbox->n_out != 0 && mbox->answering)
		return 0;
	if (mbox->refused) {
		mbox->refused = false;
		liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
		return 0;
	}
	word = liq_r64(&mbox->io, mbox->reg_in);
	if (word == LIQ_MBOX_SIG || word == LIQ_MBOX_ACK) {
		if (mbox->n_in == 0 || weir_clock_ns() - mbox->in_since_ns < LIQ_MBOX_WORD_NS)
			return 0;
		mbox->n_in = 0;
		mbox->n_errors++;
		liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
		return -ETIMEDOUT;
	}
	if (mbox->n_in == 0 && !header_good(word)) {
		/* said now, and taken back at the next step: the other end may then try again */
		mbox->n_errors++;
		mbox->refused = true;
		liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_ERR);
		return -EPROTO;
	}
	mbox->in[mbox->n_in++] = word;
	mbox->in_since_ns = weir_clock_ns();
	liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_ACK);
	if (mbox->n_in < liq_get(mbox->in[0], LIQ_MBOX_LEN))
		return 0;
	msg->n = mbox->n_in;
	memcpy(msg->word, mbox->in, msg->n * sizeof(*msg->word));
	mbox->n_in = 0;
	wants_answer = !liq_get(msg->word[0], LIQ_MBOX_TYPE) &&
		       liq_get(msg->word[0], LIQ_MBOX_RESP_NEEDED);
	if (!wants_answer)
		liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
	return 1;
}

int
liq_mbox_step(struct liq_mbox *mbox, struct liq_mbox_msg *msg)
{
	int ret = step_out(mbox);

	return ret < 0 ? ret : step_in(mbox, msg);
}

/* ---- the VF's conversations ---- */

/* Until the last word is out and taken. */
static int
talk(struct liq_mbox *mbox, struct liq_mbox_msg *answer, bool wants_answer, uint64_t limit_ns)
{
	struct liq_wait w = liq_wait_for(&mbox->io, limit_ns);

	for (;;) {
		int ret = liq_mbox_step(mbox, answer);

		if (ret < 0)
			return ret;
		if (ret == 1 && wants_answer && liq_get(answer->word[0], LIQ_MBOX_TYPE))
			return 0;
		if (!wants_answer && mbox->n_out == 0 &&
		    liq_r64(&mbox->io, mbox->reg_out) == LIQ_MBOX_SIG)
			return 0;
		if (!liq_wait(&w))
			return -ETIMEDOUT;
	}
}

/* What is pending in the interrupt register is cleared by writing back what was read. */
static void
clear_pending(const struct liq_mbox *mbox)
{
	uint32_t reg = LIQ_RING(0) + LIQ_REG_MBOX_INT;

	liq_w64(&mbox->io, reg, liq_r64(&mbox->io, reg));
}

int
liq_mbox_handshake(struct liq_mbox *mbox, struct liq_handshake *hs)
{
	const uint64_t request[2] = {
		liq_put(LIQ_MBOX_RESP_NEEDED, 1) | liq_put(LIQ_MBOX_CMD, LIQ_MBOX_VF_ACTIVE) |
			liq_put(LIQ_MBOX_LEN, 2),
		liq_put(LIQ_VERSION_MAJOR, OUR_MAJOR) | liq_put(LIQ_VERSION_MINOR, OUR_MINOR) |
			liq_put(LIQ_VERSION_MICRO, OUR_MICRO),
	};
	struct liq_wait w = liq_wait_for(&mbox->io, HANDSHAKE_NS);
	struct liq_mbox_msg msg = {.n = 0};
	uint64_t word;
	int ret;

	clear_pending(mbox);
	do {
		/* a word that was never taken is taken back */
		if (mbox->n_errors != 0)
			liq_w64(&mbox->io, mbox->reg_out, LIQ_MBOX_SIG);
		mbox->n_out = mbox->n_in = 0;
		liq_mbox_send(mbox, request, 2);
		ret = talk(mbox, &msg, true, ATTEMPT_NS);
	} while (ret < 0 && liq_wait(&w));
	clear_pending(mbox);
	if (ret < 0) {
		LIQ_LOG(ERR, "the PF does not answer the handshake: %s; is its driver running?",
			ret == -EPROTO ? "refused" : "no answer");
		mbox->n_out = mbox->n_in = 0;
		return ret;
	}
	word = liq_get(msg.word[0], LIQ_MBOX_PARAMS);
	hs->pkind = (unsigned int)liq_get(word, LIQ_HS_PKIND);
	hs->coproc_mhz = (unsigned int)liq_get(word, LIQ_HS_COPROC_MHZ);
	hs->app_mode = (unsigned int)liq_get(word, LIQ_HS_APP_MODE);
	word = msg.n > 1 ? msg.word[1] : 0;
	hs->major = (unsigned int)liq_get(word, LIQ_VERSION_MAJOR);
	hs->minor = (unsigned int)liq_get(word, LIQ_VERSION_MINOR);
	hs->micro = (unsigned int)liq_get(word, LIQ_VERSION_MICRO);
	if (liq_get(msg.word[0], LIQ_MBOX_CMD) != LIQ_MBOX_VF_ACTIVE || msg.n != 2 ||
	    hs->major != OUR_MAJOR || hs->app_mode != LIQ_APP_MODE_NIC || hs->pkind > 63) {
		LIQ_LOG(ERR, "the PF's answer is not usable: version %u.%u.%u, mode %u, pkind %u",
			hs->major, hs->minor, hs->micro, hs->app_mode, hs->pkind);
		return -EPROTO;
	}
	return 0;
}

int
liq_mbox_ask_flr(struct liq_mbox *mbox)
{
	const uint64_t request = liq_put(LIQ_MBOX_CMD, LIQ_MBOX_VF_FLR) | liq_put(LIQ_MBOX_LEN, 1);
	struct liq_mbox_msg msg;

	mbox->n_out = mbox->n_in = 0;
	liq_w64(&mbox->io, mbox->reg_in, LIQ_MBOX_SIG);
	liq_mbox_send(mbox, &request, 1);
	return talk(mbox, &msg, false, 2 * LIQ_MBOX_WORD_NS);
}
