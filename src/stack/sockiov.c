/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving by copy with everything that one may ask for: scattered buffers, peeks, coalesced trains
 * (WEIR_OPT_GRO). HOT like sockio.c, which has the plain calls and the send side. Called by the thread that
 * owns the lcore.
 */
#include <weir/socket.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "drop.h"
#include "event.h"
#include "mbuf.h"
#include "sock.h"
#include "sockiov.h"

/* Most payload that a train is joined to: what one datagram could carry. */
#define TRAIN_MAX 65507u

struct iov_at {
	const struct iovec *iov;
	unsigned int n;
	size_t done; /* of the first */
};

/* Copy len bytes to the iovecs, as far as they reach. Returns how many. */
static uint32_t
put(struct iov_at *to, const uint8_t *from, uint32_t len)
{
	uint32_t total = 0;

	while (total < len && to->n > 0) {
		size_t room = to->iov->iov_len - to->done;
		size_t take = RTE_MIN(room, (size_t)(len - total));

		if (take > 0)
			memcpy((uint8_t *)to->iov->iov_base + to->done, from + total, take);
		total += (uint32_t)take;
		to->done += take;
		if (to->done == to->iov->iov_len) {
			to->iov++;
			to->n--;
			to->done = 0;
		}
	}
	return total;
}

/* Copy the payload from byte `skip` on. Returns how many bytes found room. */
static uint32_t
put_payload(struct iov_at *to, const struct rte_mbuf *m, const struct weir_dgram *d, uint32_t skip)
{
	uint32_t off = d->off + skip;
	uint32_t left = d->len - skip;
	uint32_t total = 0;

	if (likely(m->nb_segs == 1))
		return put(to, rte_pktmbuf_mtod_offset(m, const uint8_t *, off), left);
	for (; m != NULL && left > 0; m = m->next) {
		uint32_t here, got;

		if (off >= m->data_len) {
			off -= m->data_len;
			continue;
		}
		here = RTE_MIN((uint32_t)m->data_len - off, left);
		got = put(to, rte_pktmbuf_mtod_offset(m, const uint8_t *, off), here);
		total += got;
		left -= here;
		off = 0;
		if (got < here)
			break;
	}
	return total;
}

static void
describe(struct weir_rxmsg *info, const struct rte_mbuf *m, const struct weir_dgram *d,
	 const struct weir_recvq_facts *facts)
{
	memset(info, 0, sizeof(*info));
	weir_dgram_names(d, &info->peer, &info->local);
	info->time_ns = facts->time_ns;
	info->len = d->len;
	info->hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
	info->drops = facts->drops;
	info->port = facts->port;
	info->ttl = weir_dgram_hops(d);
	info->tos = weir_dgram_traffic(d);
	info->flow = weir_dgram_flow(d);
}

/* ---- trains ---- */

/* May the datagram next be joined to a train of the flow of d whose pieces are of `size` bytes? */
static bool
joins(const struct weir_dgram *d, uint32_t size, const struct rte_mbuf *next)
{
	struct weir_dgram x;

	weir_dgram_look(next, &x);
	if (x.len > size || x.len == 0 || x.family != d->family || memcmp(x.udp, d->udp, 4) != 0)
		return false;
	if (x.family == WEIR_IPV4)
		return x.ip->src == d->ip->src && x.ip->dst == d->ip->dst &&
		       x.ip->tos == d->ip->tos && x.ip->ttl == d->ip->ttl;
	return x.ip6->ver_tc_flow == d->ip6->ver_tc_flow && x.ip6->hop_limit == d->ip6->hop_limit &&
	       memcmp(x.ip6->src, d->ip6->src, 32) == 0;
}

/*
 * Held: the next datagram, if it joins a train of `total` bytes that came in by `port`: there may be max bytes
 * and segs more buffers. A shorter one joins as the last.
 */
static struct rte_mbuf *
next_joining(struct weir_socket *sk, const struct weir_dgram *d, uint16_t port, uint32_t total,
	     uint32_t max, unsigned int segs)
{
	struct weir_recvq_pos pos;
	struct rte_mbuf *m = weir_recvq_first(&sk->rq, &pos);
	struct weir_recvq_facts facts;
	struct weir_dgram x;

	if (m == NULL || pos.facts.port != port || m->nb_segs > segs || !joins(d, d->len, m))
		return NULL;
	weir_dgram_look(m, &x);
	if (total + x.len > max)
		return NULL;
	weir_recvq_take_held(&sk->rq, &m, 1, &facts);
	return m;
}

uint16_t
weir_recv_trains(struct weir_lcore *lc, struct weir_socket *sk, struct weir_rxmsg *msgs, uint16_t n)
{
	uint64_t read = 0;
	uint16_t done;

	weir_recvq_hold(&sk->rq);
	for (done = 0; done < n; done++) {
		struct weir_rxmsg *msg = &msgs[done];
		struct weir_recvq_facts facts;
		struct rte_mbuf *m, *last, *next;
		struct weir_dgram d, x;

		if (weir_recvq_take_held(&sk->rq, &m, 1, &facts) == 0)
			break;
		read++;
		weir_dgram_look(m, &d);
		describe(msg, m, &d, &facts);
		msg->m = m;
		weir_dgram_payload(
			m, &d); /* the first segment stays, and its headers where d points */
		last = rte_pktmbuf_lastseg(m);
		x.len = d.len;
		while (x.len == d.len && m->nb_segs < WEIR_MAX_SEGMENTS &&
		       (next = next_joining(sk, &d, facts.port, msg->len, TRAIN_MAX,
					    WEIR_MAX_SEGMENTS - m->nb_segs)) != NULL) {
			read++;
			weir_dgram_look(next, &x);
			weir_dgram_payload(next, &x);
			msg->gso_size = (uint16_t)d.len;
			msg->len += x.len;
			last->next = next;
			m->nb_segs = (uint16_t)(m->nb_segs + next->nb_segs);
			last = rte_pktmbuf_lastseg(next);
		}
		m->pkt_len = msg->len;
		if (unlikely(weir_peeked(sk)))
			weir_peek_back(sk, msg->len);
	}
	weir_recvq_unhold(&sk->rq);
	weir_count(&lc->c.rx_read, read);
	return done;
}

/* ---- one message ---- */

/* Held. Leave it queued: from the peek offset on, or the first. whole: see WEIR_RECV_TRUNC. */
static ssize_t
peek(struct weir_socket *sk, struct iov_at *to, struct weir_rxmsg *info, bool whole)
{
	int32_t off = atomic_load_explicit(&sk->peek_off, memory_order_relaxed);
	uint32_t shown = atomic_load_explicit(&sk->peek_empties, memory_order_relaxed);
	uint32_t skip = off > 0 ? (uint32_t)off : 0;
	uint32_t empties = 0; /* empty ones that stand where the offset does */
	struct weir_recvq_pos pos;
	struct rte_mbuf *m;

	for (m = weir_recvq_first(&sk->rq, &pos); m != NULL; m = weir_recvq_next(&sk->rq, &pos)) {
		struct weir_dgram d;
		uint32_t got;

		weir_dgram_look(m, &d);
		if (off >= 0) {
			/* An empty datagram is shown once, when the offset stands right before it. */
			if (d.len == 0 ? skip > 0 || empties++ < shown : skip >= d.len) {
				skip -= d.len;
				continue;
			}
			atomic_store_explicit(&sk->peek_empties, d.len == 0 ? empties : 0,
					      memory_order_relaxed);
		}
		got = put_payload(to, m, &d, skip);
		if (info != NULL) {
			describe(info, m, &d, &pos.facts);
			info->m = NULL;
			info->len = d.len - skip;
		}
		if (whole)
			got = d.len;
		if (off >= 0)
			atomic_store_explicit(&sk->peek_off, off + (int32_t)got,
					      memory_order_relaxed);
		return (ssize_t)got;
	}
	return -EAGAIN;
}

void
weir_peek_back(struct weir_socket *sk, uint32_t len)
{
	int32_t off = atomic_load_explicit(&sk->peek_off, memory_order_relaxed);
	uint32_t shown = atomic_load_explicit(&sk->peek_empties, memory_order_relaxed);

	/* At offset 0 the shown ones are the first in the queue. */
	if (off <= 0 && len == 0 && shown > 0)
		atomic_store_explicit(&sk->peek_empties, shown - 1, memory_order_relaxed);
	if (off > 0)
		atomic_store_explicit(&sk->peek_off, (uint32_t)off > len ? off - (int32_t)len : 0,
				      memory_order_relaxed);
}

static ssize_t
nothing(struct weir_lcore *lc, struct weir_socket *sk)
{
	weir_spend_all(lc);
	weir_event_nothing(sk);
	return (atomic_load_explicit(&sk->shut, memory_order_acquire) & WEIR_SHUT_RD) != 0
		       ? -ESHUTDOWN
		       : -EAGAIN;
}

/* Join what belongs to the train of d to what has been copied; only whole datagrams. Held. */
static uint32_t
join_train(struct weir_lcore *lc, struct weir_socket *sk, struct iov_at *to,
	   const struct weir_dgram *d, uint16_t port, uint32_t room, struct weir_rxmsg *info)
{
	const uint32_t max = RTE_MIN(room, TRAIN_MAX);
	uint32_t total = d->len;
	struct rte_mbuf *m;
	uint32_t n = 1;

	while (n < WEIR_MAX_SEGMENTS &&
	       (m = next_joining(sk, d, port, total, max, UINT_MAX)) != NULL) {
		struct weir_dgram x;

		weir_dgram_look(m, &x);
		put_payload(to, m, &x, 0);
		total += x.len;
		n++;
		weir_spend(lc, m);
		if (x.len < d->len)
			break;
	}
	if (n > 1) {
		weir_count(&lc->c.rx_read, n - 1);
		if (info != NULL) {
			info->gso_size = (uint16_t)d->len;
			info->len = total;
		}
	}
	return total;
}

ssize_t
weir_recv_iov(struct weir_lcore *lc, struct weir_socket *sk, const struct iovec *iov,
	      unsigned int n_iov, struct weir_rxmsg *info, unsigned int flags)
{
	const bool gro = sk->gro; /* once: it may change at any time */
	struct iov_at to = {iov, n_iov, 0};
	struct weir_recvq_facts facts;
	int err = weir_socket_error(sk);
	struct weir_dgram d;
	struct rte_mbuf *m;
	uint32_t got;

	if (unlikely(err != 0))
		return err;
	if (unlikely((flags & WEIR_RECV_PEEK) != 0)) {
		ssize_t ret;

		weir_recvq_hold(&sk->rq);
		ret = peek(sk, &to, info, (flags & WEIR_RECV_TRUNC) != 0);
		weir_recvq_unhold(&sk->rq);
		return ret == -EAGAIN ? nothing(lc, sk) : ret;
	}
	if (likely(!gro)) {
		if (weir_recvq_take(&sk->rq, &m, 1, &facts) == 0)
			return nothing(lc, sk);
	} else {
		weir_recvq_hold(&sk->rq);
		if (weir_recvq_take_held(&sk->rq, &m, 1, &facts) == 0) {
			weir_recvq_unhold(&sk->rq);
			return nothing(lc, sk);
		}
	}
	weir_count(&lc->c.rx_read, 1);
	weir_dgram_look(m, &d);
	got = put_payload(&to, m, &d, 0);
	if (info != NULL) {
		describe(info, m, &d, &facts);
		info->m = NULL;
	}
	if (unlikely(gro)) {
		if (got == d.len && got > 0) {
			uint32_t room = got;

			for (unsigned int i = 0; i < to.n; i++)
				room += (uint32_t)RTE_MIN(to.iov[i].iov_len, (size_t)TRAIN_MAX);
			room -= (uint32_t)(to.n > 0 ? to.done : 0);
			got = join_train(lc, sk, &to, &d, facts.port, room, info);
		}
		weir_recvq_unhold(&sk->rq);
	}
	if (unlikely((flags & WEIR_RECV_TRUNC) != 0))
		got = RTE_MAX(got, d.len);
	if (unlikely(weir_peeked(sk)))
		weir_peek_back(sk, got);
	weir_spend(lc, m);
	return (ssize_t)got;
}

uint32_t
weir_recv_next_len(struct weir_lcore *lc, struct weir_socket *sk)
{
	struct weir_recvq_pos pos;
	struct weir_dgram d = {.len = 0};
	struct rte_mbuf *m;

	(void)lc;
	weir_recvq_hold(&sk->rq);
	m = weir_recvq_first(&sk->rq, &pos);
	if (m != NULL)
		weir_dgram_look(m, &d);
	weir_recvq_unhold(&sk->rq);
	return d.len;
}
