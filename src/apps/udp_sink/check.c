/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sequence tracking per source: see check.h. Each source keeps the highest number seen and a bit per
 * number of the window behind it. A number that leaves the window unseen is missing for good; those
 * still unseen inside the window are added when the sums are asked for.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "stamp.h"

#define WORDS (CHECK_WINDOW / 64)

struct source {
	struct weir_addr peer; /* family 0: free */
	uint64_t next;         /* highest number seen, plus 1 */
	uint64_t gone;         /* unseen numbers that have left the window */
	uint64_t seen[WORDS];
};

struct check {
	struct check_sums sums;
	struct source sources[CHECK_SOURCES];
};

struct check *
check_create(void)
{
	return calloc(1, sizeof(struct check));
}

void
check_destroy(struct check *c)
{
	free(c);
}

static struct source *
find(struct check *c, const struct weir_addr *peer)
{
	uint64_t h = (peer->ip.w[0] ^ peer->ip.w[1] ^ (uint64_t)peer->port << 32) *
		     UINT64_C(0x9e3779b97f4a7c15);

	for (uint64_t i = h >> 52;; i++) {
		struct source *s = &c->sources[i & (CHECK_SOURCES - 1)];

		if (s->peer.family == peer->family && s->peer.port == peer->port &&
		    memcmp(&s->peer.ip, &peer->ip, sizeof(peer->ip)) == 0)
			return s;
		if (s->peer.family == WEIR_UNSPEC) {
			if (c->sums.sources >= CHECK_SOURCES / 4 * 3)
				return NULL;
			c->sums.sources++;
			s->peer = *peer;
			return s;
		}
	}
}

static uint64_t *
word(struct source *s, uint64_t seq)
{
	return &s->seen[seq / 64 % WORDS];
}

/* The window moves up to seq: numbers that fall out at its lower end are settled. */
static void
advance(struct source *s, uint64_t seq)
{
	uint64_t n = seq + 1 - s->next; /* new numbers, seq included */

	if (n >= CHECK_WINDOW) {
		uint64_t seen = 0;

		for (unsigned int i = 0; i < WORDS; i++)
			seen += (uint64_t)__builtin_popcountll(s->seen[i]);
		s->gone += (s->next < CHECK_WINDOW ? s->next : CHECK_WINDOW) - seen;
		s->gone += n - CHECK_WINDOW;
		memset(s->seen, 0, sizeof(s->seen));
	} else {
		for (uint64_t q = s->next; q <= seq; q++) {
			uint64_t bit = UINT64_C(1) << (q % 64);

			if (q >= CHECK_WINDOW && (*word(s, q) & bit) == 0)
				s->gone++; /* q - CHECK_WINDOW shares this bit */
			*word(s, q) &= ~bit;
		}
	}
	s->next = seq + 1;
}

void
check_datagram(struct check *c, const struct weir_addr *peer, const uint8_t *payload, size_t len)
{
	struct source *s;
	uint64_t seq, bit;

	if (stamp_get(payload, len, &seq) < 0) {
		c->sums.corrupt++;
		return;
	}
	s = find(c, peer);
	if (s == NULL) {
		c->sums.untracked++;
		return;
	}
	c->sums.datagrams++;
	bit = UINT64_C(1) << (seq % 64);
	if (seq >= s->next) {
		advance(s, seq);
	} else if (s->next - seq > CHECK_WINDOW) {
		c->sums.ancient++;
		return;
	} else if ((*word(s, seq) & bit) != 0) {
		c->sums.duplicated++;
		return;
	} else {
		c->sums.reordered++;
	}
	*word(s, seq) |= bit;
}

void
check_sums_get(const struct check *c, struct check_sums *out)
{
	*out = c->sums;
	for (unsigned int i = 0; i < CHECK_SOURCES; i++) {
		const struct source *s = &c->sources[i];
		uint64_t seen = 0;

		if (s->peer.family == WEIR_UNSPEC)
			continue;
		for (unsigned int w = 0; w < WORDS; w++)
			seen += (uint64_t)__builtin_popcountll(s->seen[w]);
		out->missing += s->gone + (s->next < CHECK_WINDOW ? s->next : CHECK_WINDOW) - seen;
	}
}
