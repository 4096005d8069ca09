/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sending loop of udpflood: turn, fill a batch, send it, until the share is done; then further
 * turns for a while (--linger), so that the device and the peer can drain what was sent and ARP
 * requests are answered.
 *
 * Worker 0 first opens the way: it waits for the link, sends the first datagram and waits until the
 * stack has found the neighbour for it. The others start when that is done.
 *
 * Ownership: buffers that a send call did not take stay in the batch and are offered again, through
 * the same socket, before any new ones.
 */
#include "flood.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "stamp.h"

#define LINK_CHECK_NS (100 * WEIR_NS_PER_MS)

/* What a worker is about to send. */
struct batch {
	struct weir_txmsg msgs[WEIR_MAX_BURST];
	unsigned int at, n; /* msgs[at .. n-1] are not yet accepted */
	struct flood_socket *from;
};

/*
 * Even pacing: time earns credit, a datagram costs a second divided by the rate. No send is larger
 * than a batch. What a stall kept from being sent is owed, up to a second's worth, and repaid by
 * earning up to CATCH_UP times as fast, not by a burst.
 */
struct pace {
	uint64_t rate_pps, last_ns;
	uint64_t credit, owed; /* in datagrams * 1e9 */
};

#define CATCH_UP 4

/* How many datagrams are due now, at most max. */
static unsigned int
pace_due(struct pace *p, unsigned int max, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - p->last_ns, earned, repaid, cap = max * WEIR_NS_PER_S;

	if (p->rate_pps == 0)
		return max;
	p->last_ns = now_ns;
	if (elapsed_ns > WEIR_NS_PER_S)
		elapsed_ns = WEIR_NS_PER_S;
	earned = elapsed_ns * p->rate_pps; /* at most 1e9 * 1e9 */
	repaid = earned * (CATCH_UP - 1);
	if (repaid > p->owed)
		repaid = p->owed;
	p->owed -= repaid;
	p->credit += earned + repaid;
	if (p->credit > cap) {
		p->owed += p->credit - cap;
		p->credit = cap;
		if (p->owed > p->rate_pps * WEIR_NS_PER_S)
			p->owed = p->rate_pps * WEIR_NS_PER_S;
	}
	return (unsigned int)(p->credit / WEIR_NS_PER_S);
}

static void
pace_spend(struct pace *p, unsigned int n)
{
	if (p->rate_pps != 0)
		p->credit -= n * WEIR_NS_PER_S;
}

/* Write the payload into a chain of buffers; the first one takes the stamp. */
static int
fill_chain(struct rte_mbuf *head, struct rte_mbuf **more, const struct flood *f, uint64_t seq,
	   uint64_t now_ns)
{
	struct rte_mbuf *m = head;
	size_t left = f->payload_len, at = 0;
	uint8_t key = 0;

	for (;;) {
		uint16_t room = rte_pktmbuf_tailroom(m);
		uint16_t len = (uint16_t)(left < room ? left : room);
		uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
		size_t skip = 0;

		if (at == 0 && f->stamp) {
			if (len < STAMP_LEN)
				return -EMSGSIZE;
			key = stamp_put(p, seq, now_ns);
			skip = STAMP_LEN;
		}
		memcpy(p + skip, stamp_pattern(key, at + skip), len - skip);
		m->data_len = len;
		at += len;
		left -= len;
		if (m != head) {
			head->pkt_len += len;
			head->nb_segs++;
		} else {
			m->pkt_len = len;
		}
		if (left == 0)
			return 0;
		m->next = *more++;
		m = m->next;
	}
}

/* Make n datagrams for one socket. 0, or -ENOBUFS (nothing made). */
static int
make_batch(struct flood *f, struct app_worker *w, struct batch *b, unsigned int n)
{
	struct rte_mbuf *heads[WEIR_MAX_BURST], *more[64];
	uint64_t now_ns = f->stamp ? weir_clock_ns() : 0;
	unsigned int made = 0;
	int rc = weir_mbuf_alloc_bulk(w->lc, heads, n);

	if (rc < 0)
		return rc;
	for (; made < n; made++) {
		size_t room = rte_pktmbuf_tailroom(heads[made]);
		size_t extra = f->payload_len > room ? f->payload_len - room : 0;
		/* Buffers are alike, so each further one has the same room. */
		unsigned int n_more = (unsigned int)((extra + room - 1) / room);

		if (n_more > RTE_DIM(more))
			rc = -EMSGSIZE;
		else if (n_more > 0)
			rc = weir_mbuf_alloc_bulk(w->lc, more, n_more);
		if (rc == 0)
			rc = fill_chain(heads[made], more, f, b->from->next_seq, now_ns);
		if (rc < 0)
			break;
		b->from->next_seq++;
		b->msgs[made] = (struct weir_txmsg){.m = heads[made]};
	}
	if (made < n)
		weir_mbuf_free_bulk(&heads[made], n - made);
	b->at = 0;
	b->n = made;
	return made > 0 ? 0 : rc;
}

/* What a send call's error means. APP_GO: go on. */
static int
judge(struct flood *f, struct flood_part *part, int err)
{
	char to[WEIR_ADDR_STRLEN];

	weir_addr_format(&f->dest, to, sizeof(to));
	switch (err) {
	case 0:
	case -EAGAIN: /* queue full: again next turn */
	case -ENOBUFS:
		part->n_full++;
		return APP_GO;
	case -ECONNREFUSED: /* the peer says that nobody listens; a flood goes on */
		part->n_refused++;
		return APP_GO;
	case -EMSGSIZE:
		return app_usage_error(&f->app,
				       "--payload: %" PRIu64 ": allowed: what fits the MTU "
				       "of the port (--mtu) and its buffers",
				       f->payload_len);
	case -ENETUNREACH:
		if (!app_link_up(&f->app)) { /* link_lost() tells how long to bear it */
			part->n_full++;
			return APP_GO;
		}
		return app_error(&f->app, "no route to %s: see --addr, --gateway, --route", to);
	case -EHOSTUNREACH:
		return app_error(&f->app, "no answer from the neighbour on the way to %s", to);
	default:
		return app_error(&f->app, "sending to %s: %s", to, strerror(-err));
	}
}

static void
count_sent(struct flood *f, struct flood_part *part, struct app_worker *w, unsigned int n)
{
	part->n_sent += n;
	part->payload_bytes += n * f->payload_len;
	app_count(w, n, n * f->payload_len);
}

/* Send up to n by copying calls. APP_GO or an exit code. */
static int
send_copies(struct flood *f, struct flood_part *part, struct app_worker *w,
	    struct flood_socket *from, unsigned int n, unsigned int *n_sent)
{
	uint8_t buf[STAMP_PAYLOAD_MAX];
	uint64_t now_ns = weir_clock_ns();

	for (*n_sent = 0; *n_sent < n; (*n_sent)++) {
		uint8_t key = f->stamp ? stamp_put(buf, from->next_seq, now_ns) : 0;
		size_t skip = f->stamp ? STAMP_LEN : 0;
		ssize_t rc;

		memcpy(buf + skip, stamp_pattern(key, skip), f->payload_len - skip);
		rc = weir_send(w->lc, from->sk, buf, f->payload_len, NULL);
		if (rc < 0)
			return judge(f, part, (int)rc);
		from->next_seq++;
		count_sent(f, part, w, 1);
	}
	return APP_GO;
}

/* Offer the batch, made anew when it is used up: up to n datagrams. APP_GO or an exit code. */
static int
send_some(struct flood *f, struct flood_part *part, struct app_worker *w, struct batch *b,
	  unsigned int n, unsigned int *n_sent)
{
	uint16_t took;

	*n_sent = 0;
	if (b->at == b->n) {
		/* The next source port of this worker, in turn. */
		unsigned int i = (unsigned int)(b->from - f->sockets) + f->app.n_workers;

		b->from = &f->sockets[i < f->n_sockets ? i : w->index % f->n_sockets];
		if (f->copy)
			return send_copies(f, part, w, b->from, n, n_sent);
		switch (make_batch(f, w, b, n)) {
		case 0:
			break;
		case -ENOBUFS:
			part->n_nobufs++;
			return APP_GO;
		default:
			return judge(f, part, -EMSGSIZE);
		}
	}
	if (n > b->n - b->at)
		n = b->n - b->at;
	took = weir_send_burst(w->lc, b->from->sk, &b->msgs[b->at], (uint16_t)n,
			       f->drop_when_full ? WEIR_SEND_DROP : 0);
	b->at += took;
	*n_sent = took;
	count_sent(f, part, w, took);
	return took == n ? APP_GO : judge(f, part, weir_send_error(w->lc));
}

static void
free_rest(struct batch *b)
{
	for (; b->at < b->n; b->at++)
		weir_mbuf_free_bulk(&b->msgs[b->at].m, 1);
}

/*
 * Worker 0: wait for the link, send the first datagram, wait for its neighbour. Only then is time
 * measured. APP_GO or an exit code.
 */
static int
open_the_way(struct flood *f, struct flood_part *part, struct app_worker *w, struct batch *b)
{
	uint64_t start_ns = weir_clock_ns();
	double wait_s = (double)f->wait_ns / 1e9;
	struct weir_stats s;
	unsigned int sent = 0;
	int rc;

	if (f->wait_ns == 0)
		return APP_GO;
	while (!app_link_up(&f->app)) {
		if (weir_clock_ns() - start_ns >= f->wait_ns)
			return app_error(&f->app, "no link within %g s (--wait-link)", wait_s);
		if (!app_continue(w, weir_turn(w->lc)))
			return APP_SHORT;
	}
	do {
		rc = send_some(f, part, w, b, 1, &sent);
		if (rc != APP_GO)
			return rc;
		if (weir_clock_ns() - start_ns >= f->wait_ns)
			return app_error(&f->app, "the first datagram found no room within %g s",
					 wait_s);
		if (!app_continue(w, weir_turn(w->lc)))
			return APP_SHORT;
	} while (sent == 0);
	for (;;) {
		char to[WEIR_ADDR_STRLEN];

		weir_stats_get(f->app.stack, &s);
		weir_addr_format(&f->dest, to, sizeof(to));
		if (s.drops[WEIR_DROP_NEIGH_FAILED] != 0 ||
		    (s.tx_held != 0 && weir_clock_ns() - start_ns >= f->wait_ns))
			return app_error(&f->app,
					 "no answer from the neighbour on the way to %s "
					 "(asked by ARP for up to %g s)",
					 to, wait_s);
		if (s.tx_held == 0)
			return APP_GO;
		if (!app_continue(w, weir_turn(w->lc)))
			return APP_SHORT;
	}
}

/* A link that stays down ends the run: nothing more can be sent. */
static bool
link_lost(struct flood *f, uint64_t now_ns, uint64_t *next_check_ns, uint64_t *down_since_ns)
{
	if (now_ns < *next_check_ns)
		return false;
	*next_check_ns = now_ns + LINK_CHECK_NS;
	if (app_link_up(&f->app))
		*down_since_ns = 0;
	else if (*down_since_ns == 0)
		*down_since_ns = now_ns;
	return f->wait_ns != 0 && *down_since_ns != 0 && now_ns - *down_since_ns >= f->wait_ns;
}

static int
send_loop(struct flood *f, struct flood_part *part, struct app_worker *w, struct batch *b)
{
	struct pace pace = {.rate_pps = part->rate_pps, .last_ns = weir_clock_ns()};
	uint64_t next_check_ns = 0, down_since_ns = 0;
	int rc = APP_GO;

	part->first_ns = part->last_ns = pace.last_ns;
	part->first_tsc = part->last_tsc = rte_rdtsc();
	while (part->n_sent < part->quota) {
		uint64_t left = part->quota - part->n_sent, now_ns = weir_clock_ns();
		unsigned int max = (unsigned int)(left < f->batch ? left : f->batch);
		unsigned int n = pace_due(&pace, max, now_ns), sent = 0;

		if (n > 0) {
			rc = send_some(f, part, w, b, n, &sent);
			pace_spend(&pace, sent);
			if (rc != APP_GO)
				break;
		}
		if (link_lost(f, now_ns, &next_check_ns, &down_since_ns)) {
			rc = app_error(&f->app, "the link is down");
			break;
		}
		/* Pacing is work: a thread that gives its CPU away comes back late. */
		if (!app_continue(w, weir_turn(w->lc) + sent + (pace.rate_pps != 0)))
			break;
	}
	part->last_ns = weir_clock_ns();
	part->last_tsc = rte_rdtsc();
	return rc;
}

/* Turns after the last datagram, whatever ended the run, until --linger is over and nobody sends. */
static void
linger(struct flood *f, struct app_worker *w)
{
	uint64_t start_ns = weir_clock_ns();

	while (weir_clock_ns() - start_ns < f->linger_ns ||
	       atomic_load_explicit(&f->n_sending, memory_order_acquire) != 0)
		app_turn_done(w, weir_turn(w->lc));
}

int
flood_worker(struct app_worker *w)
{
	struct flood *f = (struct flood *)w->app;
	struct flood_part *part = &f->parts[w->index];
	struct batch b = {.from = &f->sockets[w->index % f->n_sockets]};
	bool unlimited = part->quota == UINT64_MAX;
	int rc = APP_GO;

	if (w->index == 0) {
		rc = open_the_way(f, part, w, &b);
		app_clock_start(w->app);
		atomic_store_explicit(&f->go, 1, memory_order_release);
	} else {
		while (atomic_load_explicit(&f->go, memory_order_acquire) == 0)
			if (!app_continue(w, weir_turn(w->lc)))
				break;
	}
	if (rc == APP_GO && atomic_load(&w->app->quit) == 0)
		rc = send_loop(f, part, w, &b);
	free_rest(&b);
	if (rc == APP_GO && part->n_sent < part->quota && !unlimited)
		rc = APP_SHORT;
	if (rc == APP_FAIL || rc == APP_USAGE)
		app_quit(w->app, "failure");
	atomic_fetch_sub_explicit(&f->n_sending, 1, memory_order_acq_rel);
	if (rc == APP_GO || rc == APP_SHORT)
		linger(f, w);
	if (w->index == 0)
		app_quit(w->app, "all sent");
	return rc == APP_GO ? APP_OK : rc;
}
