/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: things that happen later.
 *
 * A heap of events by time, equal times in the order they were added: delayed responses, and
 * counts that trail their data.  Events of a function die with its reset.  When the heap is
 * full an event happens at once, which only makes the card faster than asked.
 */
#include "liqm_priv.h"

#include <stdlib.h>

static bool
before(const struct liqm_event *a, const struct liqm_event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->seq < b->seq;
}

static void
swap(struct liqm_event *a, struct liqm_event *b)
{
	struct liqm_event t = *a;

	*a = *b;
	*b = t;
}

static void
sift_up(struct liqm_card *card, unsigned int i)
{
	for (; i > 0 && before(&card->event[i], &card->event[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&card->event[i], &card->event[(i - 1) / 2]);
}

static void
sift_down(struct liqm_card *card, unsigned int i)
{
	for (;;) {
		unsigned int least = i;

		for (unsigned int c = 2 * i + 1; c <= 2 * i + 2 && c < card->n_events; c++) {
			if (before(&card->event[c], &card->event[least]))
				least = c;
		}
		if (least == i)
			return;
		swap(&card->event[i], &card->event[least]);
		i = least;
	}
}

/* The status word goes last: until it is there the driver does not look at the rest. */
static void
write_response(const struct liqm_event *ev)
{
	uint32_t body = ev->len - LIQ_RESP_STATUS_LEN;
	uint32_t n_short = ev->n_short < body ? ev->n_short : body;

	if (body > n_short && !liqm_dma_write(ev->fn, ev->iova, ev->data, body - n_short))
		return;
	liqm_dma_barrier();
	if (liqm_dma_write(ev->fn, ev->iova + body, ev->data + body, LIQ_RESP_STATUS_LEN))
		ev->fn->n[LIQM_N_responses]++;
}

static void
happen(const struct liqm_event *ev)
{
	if (ev->kind == LIQM_EV_RESPONSE)
		write_response(ev);
	else
		liqm_oq_count(ev->fn->port, ev->q, ev->len);
	free(ev->data);
}

void
liqm_event_add(struct liqm_card *card, const struct liqm_event *event)
{
	if (event->at_ns <= card->now_ns || card->n_events == LIQM_N_EVENTS) {
		happen(event);
		return;
	}
	card->event[card->n_events] = *event;
	card->event[card->n_events].seq = card->event_seq++;
	sift_up(card, card->n_events++);
}

static struct liqm_event
take(struct liqm_card *card, unsigned int i)
{
	struct liqm_event ev = card->event[i];

	card->event[i] = card->event[--card->n_events];
	if (i < card->n_events) {
		sift_down(card, i);
		sift_up(card, i);
	}
	return ev;
}

void
liqm_events_run(struct liqm_card *card)
{
	while (card->n_events > 0 && card->event[0].at_ns <= card->now_ns) {
		struct liqm_event ev = take(card, 0);

		happen(&ev);
	}
}

void
liqm_events_drop(struct liqm_card *card, const struct liqm_fn *fn, int q)
{
	unsigned int i = 0;

	while (i < card->n_events) {
		const struct liqm_event *ev = &card->event[i];

		if ((fn && ev->fn != fn) || (q != LIQM_ANY && ev->q != (unsigned int)q)) {
			i++;
			continue;
		}
		free(take(card, i).data);
		i = 0; /* the heap has moved */
	}
}

uint64_t
liqm_events_next_ns(const struct liqm_card *card)
{
	return card->n_events > 0 ? card->event[0].at_ns : LIQM_NEVER;
}
