/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receiving loop of udp_sink. Worker 0: turn, read a few batches, count, give the buffers back.
 * Others: turn. HOT for worker 0 between turns; the stack's own hot path is inside weir_turn().
 *
 * --work-ns makes a slow reader without stopping the stack's turns: the reader is taken to be busy
 * for so long per datagram, so it is the socket that overflows and not the port.
 */
#include "sink.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "stamp.h"

#define MAX_PER_TURN (16 * WEIR_MAX_BURST) /* datagrams, so that one turn stays short */

/* Read up to n datagrams without copying. Returns how many. */
static uint16_t
read_burst(struct sink *s, struct app_worker *w, uint16_t n)
{
	static uint8_t flat[STAMP_PAYLOAD_MAX]; /* for chained buffers; worker 0 alone */
	struct weir_rxmsg msgs[WEIR_MAX_BURST];
	struct rte_mbuf *mbufs[WEIR_MAX_BURST];
	uint64_t bytes = 0;
	uint16_t got = weir_recv_burst(w->lc, s->sk, msgs, n);

	for (uint16_t i = 0; i < got; i++) {
		bytes += msgs[i].len;
		mbufs[i] = msgs[i].m;
		if (s->check != NULL)
			check_datagram(s->check, &msgs[i].peer,
				       rte_pktmbuf_read(msgs[i].m, 0, msgs[i].len, flat),
				       msgs[i].len);
	}
	weir_mbuf_free_bulk(mbufs, got);
	app_count(w, got, bytes);
	s->payload_bytes += bytes;
	return got;
}

/* The same by copying calls. */
static uint16_t
read_copies(struct sink *s, struct app_worker *w, uint16_t n)
{
	static uint8_t buf[STAMP_PAYLOAD_MAX]; /* worker 0 alone */
	struct weir_addr peer;
	uint16_t got = 0;
	uint64_t bytes = 0;

	while (got < n) {
		ssize_t len = weir_recv(w->lc, s->sk, buf, sizeof(buf), &peer);

		if (len < 0)
			break; /* none queued; a sink sends nothing, so there are no other errors */
		if (s->check != NULL)
			check_datagram(s->check, &peer, buf, (size_t)len);
		bytes += (uint64_t)len;
		got++;
	}
	app_count(w, got, bytes);
	s->payload_bytes += bytes;
	return got;
}

static uint16_t
read_batch(struct sink *s, struct app_worker *w)
{
	uint64_t left = s->count != 0 ? s->count - s->n_received : UINT64_MAX;
	uint16_t n = (uint16_t)(left < s->batch ? left : s->batch), got;

	if (n == 0)
		return 0;
	got = s->copy ? read_copies(s, w, n) : read_burst(s, w, n);
	s->n_received += got;
	return got;
}

static int
read_loop(struct sink *s, struct app_worker *w)
{
	uint64_t busy_until_ns = 0, now_ns = weir_clock_ns();
	unsigned int work, got;
	bool slow = s->work_ns != 0;

	do {
		work = weir_turn(w->lc);
		got = 0;
		if (slow)
			now_ns = weir_clock_ns();
		while (got < MAX_PER_TURN && (!slow || now_ns >= busy_until_ns)) {
			uint16_t n = read_batch(s, w);

			got += n;
			if (slow)
				busy_until_ns = now_ns + n * s->work_ns;
			if (n < s->batch)
				break;
		}
		if (got != 0) {
			s->last_ns = now_ns = weir_clock_ns();
			s->last_tsc = rte_rdtsc();
			if (s->first_ns == 0) {
				s->first_ns = s->last_ns;
				s->first_tsc = s->last_tsc;
			}
			if (s->count != 0 && s->n_received == s->count) {
				app_quit(w->app, "count reached");
				break;
			}
		} else if (work == 0 && s->first_ns != 0 && s->idle_timeout_ns != 0) {
			now_ns = weir_clock_ns();
			if (now_ns - s->last_ns >= s->idle_timeout_ns &&
			    (!slow || now_ns >= busy_until_ns))
				app_quit(w->app, "idle timeout");
		}
	} while (app_continue(w, work + got));

	/* What is queued was received: it is read, not thrown away. No further turns, so it ends. */
	while (read_batch(s, w) != 0)
		;
	return s->count == 0 || s->n_received == s->count ? APP_OK : APP_SHORT;
}

int
sink_worker(struct app_worker *w)
{
	struct sink *s = (struct sink *)w->app;

	if (w->index == 0)
		return read_loop(s, w);
	while (app_continue(w, weir_turn(w->lc)))
		;
	return APP_OK;
}
