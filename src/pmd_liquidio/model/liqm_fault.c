/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: scripted faults.
 *
 * The places where the card can misbehave ask liqm_fault() each time, with the function and ring
 * they are at.  A line of the script counts the occasions that match it, lets the first ones
 * pass and then strikes as often as it says.  The same script and seed strike at the same
 * occasions, so that a failing test can be repeated.
 */
#include "liqm_priv.h"

#include <errno.h>
#include <string.h>

#define CERTAIN 1000000u

static bool
strikes(struct liqm_card *card, struct liqm_fault_line *line)
{
	const struct liqm_fault *f = &line->fault;

	if (line->n_seen++ < f->skip)
		return false;
	if (f->count != 0 && line->n_hit >= f->count)
		return false;
	if (f->chance_ppm != CERTAIN && !liqm_chance(&card->rng, f->chance_ppm))
		return false;
	line->n_hit++;
	return true;
}

bool
liqm_fault(struct liqm_fn *fn, enum liqm_fault_kind kind, int q, uint64_t *arg)
{
	struct liqm_card *card = fn->card;
	bool hit = false;

	if (!card->faults_on[kind])
		return false;
	for (unsigned int i = 0; i < card->n_faults; i++) {
		struct liqm_fault_line *line = &card->fault[i];
		const struct liqm_fault *f = &line->fault;

		if (f->kind != kind || (f->fn_index != LIQM_ANY && f->fn_index != (int)fn->index) ||
		    (f->ring != LIQM_ANY && f->ring != q))
			continue;
		if (!strikes(card, line) || hit)
			continue;
		hit = true;
		if (arg)
			*arg = f->arg;
	}
	if (hit)
		fn->n[LIQM_N_faults]++;
	return hit;
}

int
liqm_fault_add(struct liqm_card *card, const struct liqm_fault *fault)
{
	struct liqm_fault_line *line;
	int ret = 0;

	if ((unsigned int)fault->kind >= LIQM_N_FAULTS || fault->chance_ppm > CERTAIN)
		return -EINVAL;
	liqm_lock(card);
	if (card->n_faults == LIQM_N_FAULT_LINES) {
		ret = -ENOSPC;
	} else {
		line = &card->fault[card->n_faults++];
		memset(line, 0, sizeof(*line));
		line->fault = *fault;
		if (fault->chance_ppm == 0)
			line->fault.chance_ppm = CERTAIN;
		card->faults_on[fault->kind] = true;
	}
	liqm_unlock(card);
	return ret;
}

/* An argument that hurts, by kind. */
static uint64_t
draw_arg(enum liqm_fault_kind kind, uint64_t *rng)
{
	switch (kind) {
	case LIQM_FAULT_RESP_STATUS:
		return 1 + liqm_random(rng) % 0xFE;
	case LIQM_FAULT_RESP_SHORT:
	case LIQM_FAULT_RX_SHORT:
		return 1 + liqm_random(rng) % 2048;
	case LIQM_FAULT_RX_LEN_LIE:
		return liqm_random(rng) >> liqm_random(rng) % 64;
	case LIQM_FAULT_RX_RH_LIE:
		return UINT64_C(1) << liqm_random(rng) % 64;
	case LIQM_FAULT_CNTS_LIE:
	case LIQM_FAULT_DONE_LIE:
		return liqm_random(rng) >> (32 + liqm_random(rng) % 32);
	default: /* a time, up to 64 ms */
		return UINT64_C(1000) << liqm_random(rng) % 17;
	}
}

int
liqm_fault_random(struct liqm_card *card, uint64_t seed, uint64_t kind_mask, unsigned int n)
{
	uint64_t rng = seed;
	int ret = 0;

	kind_mask &= (UINT64_C(1) << LIQM_N_FAULTS) - 1;
	if (kind_mask == 0)
		return -EINVAL;
	for (unsigned int i = 0; i < n && ret == 0; i++) {
		struct liqm_fault fault = {.fn_index = LIQM_ANY, .ring = LIQM_ANY};
		unsigned int kind;

		do {
			kind = (unsigned int)(liqm_random(&rng) % LIQM_N_FAULTS);
		} while (!(kind_mask >> kind & 1));
		fault.kind = (enum liqm_fault_kind)kind;
		fault.skip = (uint32_t)(liqm_random(&rng) % 64);
		fault.count = 1 + (uint32_t)(liqm_random(&rng) % 4);
		fault.arg = draw_arg(fault.kind, &rng);
		ret = liqm_fault_add(card, &fault);
	}
	return ret;
}

void
liqm_fault_clear(struct liqm_card *card)
{
	liqm_lock(card);
	card->n_faults = 0;
	memset(card->faults_on, 0, sizeof(card->faults_on));
	for (unsigned int p = 0; p < card->n_ports; p++) {
		for (unsigned int q = 0; q < LIQ_PF_MAX_RINGS; q++)
			card->port[p].ring[q].rst_stuck = false;
	}
	liqm_unlock(card);
}

#define FAULT_NAME(id, name, arg) name,
static const char *const fault_names[LIQM_N_FAULTS] = {LIQM_FAULTS(FAULT_NAME)};

const char *
liqm_fault_name(enum liqm_fault_kind kind)
{
	return (unsigned int)kind < LIQM_N_FAULTS ? fault_names[kind] : NULL;
}

enum liqm_fault_kind
liqm_fault_by_name(const char *name)
{
	unsigned int kind = 0;

	while (kind < LIQM_N_FAULTS && strcmp(name, fault_names[kind]) != 0)
		kind++;
	return (enum liqm_fault_kind)kind;
}
