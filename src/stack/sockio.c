/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: the data calls of <weir/socket.h>: receive, send, buffers. Called by the thread that owns the
 * lcore; receive by one thread per socket at a time.
 *
 * What rx.c has left in the mbuf (header lengths, meta) is turned into a weir_rxmsg here; what tx.c
 * needs of the socket is checked here once per burst.
 */
#include <weir/socket.h>

#include <errno.h>
#include <string.h>
#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

#include "batch.h"
#include "drop.h"
#include "errq.h"
#include "event.h"
#include "mbuf.h"
#include "poll.h"
#include "sock.h"
#include "sockiov.h"
#include "tx.h"

/* ---- hot: errors, receive ---- */

int
weir_socket_error(struct weir_socket *sk)
{
	if (atomic_load_explicit(&sk->error, memory_order_relaxed) == 0)
		return 0;
	/* hot-ok: only when there is an error */
	return -atomic_exchange_explicit(&sk->error, 0, memory_order_acquire);
}

/*
 * Source and destination from `names`: their addresses and ports one after the other, as a header without
 * options has them. 16 bytes can be read.
 */
static inline void
set_names4(struct weir_rxmsg *msg, const void *names)
{
#ifdef __SSSE3__
	/* peer.ip, then peer.scope .. local.ip's first half, then the rest: three stores. */
	static_assert(offsetof(struct weir_rxmsg, local) ==
				      offsetof(struct weir_rxmsg, peer) + 24 &&
			      offsetof(struct weir_addr, scope) == 16 &&
			      offsetof(struct weir_addr, port) == 20 &&
			      offsetof(struct weir_addr, family) == 22,
		      "places of the shuffles");
	const __m128i v = _mm_loadu_si128((const __m128i *)names);
	const __m128i peer_ip =
		_mm_setr_epi8(0, 1, 2, 3, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
	const __m128i middle =
		_mm_setr_epi8(-1, -1, -1, -1, 8, 9, -1, -1, 4, 5, 6, 7, -1, -1, -1, -1);
	const __m128i rest =
		_mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 10, 11, -1, -1);
	const __m128i middle_family =
		_mm_setr_epi8(0, 0, 0, 0, 0, 0, WEIR_IPV4, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	const __m128i rest_family =
		_mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, WEIR_IPV4, 0);
	uint8_t *to = (uint8_t *)&msg->peer;

	_mm_storeu_si128((__m128i *)(void *)to, _mm_shuffle_epi8(v, peer_ip));
	_mm_storeu_si128((__m128i *)(void *)(to + 16),
			 _mm_or_si128(_mm_shuffle_epi8(v, middle), middle_family));
	_mm_storeu_si128((__m128i *)(void *)(to + 32),
			 _mm_or_si128(_mm_shuffle_epi8(v, rest), rest_family));
#else
	const struct {
		wire_be32 src, dst;
		wire_be16 sport, dport;
	} *n = names;

	weir_addr_received4(&msg->peer, n->src, n->sport);
	weir_addr_received4(&msg->local, n->dst, n->dport);
#endif
}

/* What all messages of a run have in common, as in the message. */
struct run_facts {
	uint64_t time_ns;
	uint32_t drops;
	uint16_t port, gso_size;
};
static_assert(offsetof(struct weir_rxmsg, drops) == offsetof(struct weir_rxmsg, time_ns) + 8 &&
		      offsetof(struct weir_rxmsg, port) ==
			      offsetof(struct weir_rxmsg, time_ns) + 12 &&
		      offsetof(struct weir_rxmsg, gso_size) ==
			      offsetof(struct weir_rxmsg, time_ns) + 14 &&
		      sizeof(struct run_facts) == 16,
	      "written at once");

static inline void
set_hash(struct weir_rxmsg *msg, const struct rte_mbuf *m)
{
	msg->hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
}

/* Over IPv6: what the header says. */
static inline void
set_ip6(struct weir_rxmsg *msg, const struct wire_ip6 *ip, const struct wire_udp *udp)
{
	const uint32_t word = WIRE_BE32(ip->ver_tc_flow);

	weir_addr_received6(&msg->peer, ip->src, udp->sport, msg->port);
	weir_addr_received6(&msg->local, ip->dst, udp->dport, msg->port);
	msg->ttl = ip->hop_limit;
	msg->tos = (uint8_t)(word >> 20);
	msg->flow = word & 0xfffff;
}

/* A datagram that is not plain: leave only the payload. */
static __rte_noinline void
fill_odd(struct weir_rxmsg *msg, struct rte_mbuf *m)
{
	struct weir_dgram d;

	weir_dgram_look(m, &d);
	weir_dgram_names(&d, &msg->peer, &msg->local);
	msg->m = m;
	msg->len = d.len;
	msg->ttl = weir_dgram_hops(&d);
	msg->tos = weir_dgram_traffic(&d);
	msg->flow = weir_dgram_flow(&d);
	set_hash(msg, m);
	weir_dgram_payload(m, &d);
}

/* Describe a datagram by the headers in front of it. */
static inline void
fill_rxmsg(struct weir_rxmsg *msg, struct rte_mbuf *m, const struct run_facts *facts)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	memcpy(&msg->time_ns, facts, sizeof(*facts));
	if (likely(weir_dgram_plain(m))) {
		const struct wire_ip4 *ip = (const void *)(p - WIRE_UDP_LEN - WIRE_IP4_MIN);

		set_names4(msg, &ip->src);
		msg->ttl = ip->ttl;
		msg->tos = ip->tos;
		msg->flow = 0;
	} else if (likely(weir_dgram_plain6(m))) {
		set_ip6(msg, (const void *)(p - WIRE_UDP_LEN - WIRE_IP6_LEN),
			(const void *)(p - WIRE_UDP_LEN));
	} else {
		fill_odd(msg, m);
		return;
	}
	msg->m = m;
	msg->len = m->pkt_len;
	set_hash(msg, m);
}

/* The calling lcore has read n datagrams. */
static inline void
read_by(struct weir_lcore *lc, struct weir_socket *sk, unsigned int n)
{
	weir_count(&lc->c.rx_read, n);
	if (unlikely(atomic_load_explicit(&sk->rx_owner, memory_order_relaxed) != lc->slot))
		atomic_store_explicit(&sk->rx_owner, lc->slot, memory_order_relaxed);
}

/* Up to n datagrams of one run. */
static inline unsigned int
take(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf **m, unsigned int n,
     struct weir_recvq_facts *facts)
{
	unsigned int got = weir_recvq_take(&sk->rq, m, n, facts);

	if (got > 0)
		read_by(lc, sk, got);
	return got;
}

static __rte_noinline uint16_t
recv_runs(struct weir_lcore *lc, struct weir_socket *sk, struct weir_rxmsg *msgs, uint16_t n)
{
	struct rte_mbuf *m[WEIR_RUN_MAX];
	struct weir_recvq_facts facts;
	unsigned int total = 0;
	unsigned int got;

	while (total < n && weir_recvq_readable(&sk->rq) &&
	       (got = take(lc, sk, m, RTE_MIN(n - total, RTE_DIM(m)), &facts)) > 0) {
		const struct run_facts same = {
			.time_ns = facts.time_ns, .drops = facts.drops, .port = facts.port};

		if (facts.lcore != lc->slot) {
			/* Another lcore's work: all misses of a run at the same time. */
			for (unsigned int i = 0; i < got; i++)
				rte_prefetch0(m[i]);
			for (unsigned int i = 0; i < got; i++)
				rte_prefetch0(rte_pktmbuf_mtod_offset(m[i], void *, -16));
		}
		for (unsigned int i = 0; i < got; i++)
			fill_rxmsg(&msgs[total + i], m[i], &same);
		total += got;
	}
	return (uint16_t)total;
}

uint16_t
weir_recv_burst(struct weir_lcore *lc, struct weir_socket *sk, struct weir_rxmsg *msgs, uint16_t n)
{
	const bool gro = sk->gro; /* once: it may change at any time */
	uint16_t got = 0;

	if (likely(weir_recvq_readable(&sk->rq))) {
		if (likely(!gro))
			got = recv_runs(lc, sk, msgs, n);
		else
			got = weir_recv_trains(lc, sk, msgs, n);
	}
	if (unlikely(got == 0))
		weir_event_nothing(sk);
	if (unlikely(weir_peeked(sk)) && !gro)
		for (uint16_t i = 0; i < got; i++)
			weir_peek_back(sk, msgs[i].len);
	return got;
}

/* The copy of what is not one plain segment of IPv4. Returns the whole length. */
static __rte_noinline uint32_t
copy_other(struct rte_mbuf *m, void *buf, size_t size, struct weir_addr *from)
{
	struct weir_dgram d;

	weir_dgram_look(m, &d);
	if (from != NULL)
		weir_dgram_names(&d, from, NULL);
	weir_dgram_payload(m, &d);
	weir_mbuf_copy_out(m, buf, (uint32_t)RTE_MIN(size, (size_t)d.len));
	return d.len;
}

ssize_t
weir_recv(struct weir_lcore *lc, struct weir_socket *sk, void *buf, size_t size,
	  struct weir_addr *from)
{
	int err = weir_socket_error(sk);
	struct rte_mbuf *m;
	uint32_t len;

	if (unlikely(err != 0))
		return err;
	m = weir_recvq_take_one(&sk->rq);
	if (unlikely(m == NULL)) {
		weir_spend_all(lc);
		weir_event_nothing(sk);
		return -EAGAIN;
	}
	read_by(lc, sk, 1);
	if (likely(weir_dgram_plain(m))) {
		const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
		const struct wire_udp *udp = (const void *)(p - WIRE_UDP_LEN);
		const struct wire_ip4 *ip = (const void *)(p - WIRE_UDP_LEN - WIRE_IP4_MIN);

		len = m->data_len;
		if (from != NULL)
			weir_addr_received4(from, ip->src, udp->sport);
		memcpy(buf, p, RTE_MIN(size, (size_t)len));
	} else {
		len = copy_other(m, buf, size, from);
	}
	if (unlikely(weir_peeked(sk)))
		weir_peek_back(sk, len);
	weir_spend(lc, m);
	return (ssize_t)len;
}

int
weir_recv_wait(struct weir_lcore *lc, struct weir_socket *sk, uint64_t timeout_ns)
{
	return weir_event_wait(lc, sk, WEIR_EV_IN | EPOLLERR, NULL, WEIR_EV_SPIN_NS, timeout_ns);
}

/* ---- hot: send ---- */

/* The socket's own counter for the lcore that sent first, a shared one for others: once per burst. */
static inline void
count_sent(struct weir_lcore *lc, struct weir_socket *sk, unsigned int n)
{
	uint16_t owner = atomic_load_explicit(&sk->tx_owner, memory_order_relaxed);

	if (unlikely(owner == WEIR_NO_OWNER) &&
	    /* hot-ok: once in a socket's life */
	    atomic_compare_exchange_strong(&sk->tx_owner, &owner, lc->slot))
		owner = lc->slot;
	if (likely(owner == lc->slot))
		weir_count(&sk->sent, n);
	else /* hot-ok: per burst, and only when several lcores send through one socket */
		atomic_fetch_add_explicit(&sk->sent_others, n, memory_order_relaxed);
}

/* The loopback port's batch is full, and nobody but us will empty it. False: something else is full. */
static bool
loopback_full(struct weir_lcore *lc)
{
	if (lc->txb[WEIR_PORT_LOOPBACK].n < WEIR_TXB_SIZE || lc->in_turn)
		return false;
	return weir_poll_loopback(lc) != 0;
}

/*
 * Cut a message into datagrams of WEIR_OPT_SEGMENT bytes, each in buffers of its own, and send these. 0: the
 * message is the stack's (pieces that a full queue refuses are dropped and counted); else the caller's.
 * COLD beside what it saves: one look at the socket for up to WEIR_MAX_SEGMENTS datagrams.
 */
static __rte_noinline int
send_segmented(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msg)
{
	const uint32_t len = msg->m->pkt_len;
	/* The option may change at any time: looked at once, and said to each piece. */
	struct weir_txctl ctl = msg->ctl != NULL ? *msg->ctl : (struct weir_txctl){0};
	uint32_t segment = ctl.segment != 0 ? ctl.segment : sk->tx.segment;
	struct weir_txmsg piece[WEIR_MAX_SEGMENTS];
	uint32_t n, done, sent = 0;
	int err = 0;

	if (unlikely(segment == 0)) /* turned off a moment ago */
		segment = RTE_MIN(len, (uint32_t)UINT16_MAX);
	ctl.segment = (uint16_t)segment;
	n = (len + segment - 1) / segment;
	if (n > WEIR_MAX_SEGMENTS || sk->tx.no_check)
		return -EINVAL;
	for (done = 0; done < n; done++) {
		piece[done] = (struct weir_txmsg){.to = msg->to, .ctl = &ctl};
		piece[done].m = weir_mbuf_copy_range(msg->m, lc->stack->pool, done * segment,
						     RTE_MIN(segment, len - done * segment));
		if (piece[done].m == NULL) {
			err = -ENOBUFS;
			break;
		}
	}
	while (err == 0 && sent < n) {
		sent += weir_tx_burst(lc, sk, piece + sent, (uint16_t)(n - sent), &err);
		if (err == -EAGAIN && loopback_full(lc))
			err = 0;
	}
	if (err != 0 && sent == 0) { /* nothing has left: as if never tried */
		for (uint32_t i = 0; i < done; i++)
			weir_mbuf_discard(piece[i].m);
		return err;
	}
	weir_count(&lc->c.tx_datagrams, n - 1); /* the caller counts one */
	for (uint32_t i = sent; i < n; i++)
		weir_drop(lc, WEIR_DROP_TXQ_REFUSED, piece[i].m);
	weir_mbuf_discard(msg->m);
	return 0;
}

/*
 * COLD: a datagram was longer than the path takes: with WEIR_OPT_RECVERR the error queue says how much that
 * is. RCU reader.
 */
static __rte_noinline void
report_too_long(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msg)
{
	const struct weir_names *names = weir_sock_names(sk);
	struct weir_sockerr e = {.err = EMSGSIZE, .origin = WEIR_ERR_LOCAL};

	e.to = msg->to != NULL ? *msg->to : names->peer;
	e.to.port = names->peer.port; /* of the association, as Linux has it */
	if (!(e.to.family == WEIR_IPV6 ? sk->recverr6 : sk->recverr))
		return;
	e.info = weir_tx_mtu(lc, sk, msg);
	(void)weir_errq_put(sk, &e);
}

uint16_t
weir_send_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
		uint16_t n, unsigned int flags)
{
	uint16_t sent = 0;
	int err = weir_socket_error(sk);

	if (unlikely((atomic_load_explicit(&sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) != 0) &&
	    err == 0)
		err = -EPIPE;
	weir_enter(lc);
	if (likely(err == 0) && unlikely(weir_sock_names(sk)->lport == 0)) {
		weir_leave(lc); /* the control lock may have to wait for other threads */
		err = weir_sock_autobind(sk);
		weir_enter(lc);
	}
	if (likely(err == 0)) {
		do {
			sent = (uint16_t)(sent + weir_tx_burst(lc, sk, msgs + sent,
							       (uint16_t)(n - sent), &err));
			if (unlikely(err == WEIR_TX_SEGMENT)) {
				err = send_segmented(lc, sk, &msgs[sent]);
				sent = (uint16_t)(sent + (err == 0));
			}
			if (unlikely(err == -EAGAIN) && loopback_full(lc))
				err = 0;
		} while (unlikely(err == 0 && sent < n));
		weir_count(&lc->c.tx_datagrams, sent);
		if (unlikely(err == -EAGAIN && (flags & WEIR_SEND_DROP) != 0)) {
			weir_count(&lc->c.tx_datagrams, n - sent);
			for (; sent < n; sent++)
				weir_drop(lc, WEIR_DROP_TXQ_REFUSED, msgs[sent].m);
			err = 0;
		}
		/* No turn comes after an attached thread's call. */
		if (lc->kind != WEIR_LC_WORKER) {
			weir_poll_loopback(lc);
			weir_batch_flush_all(lc);
		}
		if (likely(sent > 0))
			count_sent(lc, sk, sent);
		if (unlikely(err == -EMSGSIZE) && (sk->recverr || sk->recverr6))
			report_too_long(lc, sk, &msgs[sent]);
	}
	weir_leave(lc);
	lc->send_error = err;
	return sent;
}

int
weir_send_error(const struct weir_lcore *lc)
{
	return lc->send_error;
}

/* Send one message whose mbuf the stack has made: it is given up whatever happens. */
static ssize_t
send_made(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msg)
{
	const uint32_t len = msg->m->pkt_len;

	if (likely(weir_send_burst(lc, sk, msg, 1, 0) == 1))
		return (ssize_t)len;
	weir_mbuf_discard(msg->m);
	return lc->send_error;
}

/* What any send refuses before it looks for a buffer. 0: go on. */
static int
refuse_early(struct weir_socket *sk, size_t len, const struct weir_addr *to)
{
	int err;

	if (unlikely(len > UINT16_MAX))
		return -EMSGSIZE;
	if (to == NULL && unlikely(!weir_names_connected(weir_sock_names(sk))))
		return -EDESTADDRREQ;
	err = weir_socket_error(sk);
	if (unlikely(err != 0))
		return err;
	return unlikely((atomic_load_explicit(&sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) != 0)
		       ? -EPIPE
		       : 0;
}

/*
 * Send what is in one fresh buffer. The usual case, a worker with nothing in its way, takes the short one through
 * the stack.
 */
static inline ssize_t
send_short(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf *m, size_t len,
	   const struct weir_addr *to, const struct weir_txctl *ctl)
{
	const struct weir_txmsg msg = {.m = m, .to = to, .ctl = ctl};
	int err;

	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	if (likely(lc->kind == WEIR_LC_WORKER && ctl == NULL &&
		   atomic_load_explicit(&sk->error, memory_order_relaxed) == 0 &&
		   (atomic_load_explicit(&sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) == 0)) {
		const struct weir_names *names = weir_sock_names(sk);

		if (likely((to != NULL || weir_names_connected(names)) &&
			   weir_tx_lean(lc, sk, names, to != NULL ? to : &names->peer, m))) {
			weir_count(&lc->c.tx_datagrams, 1);
			count_sent(lc, sk, 1);
			lc->send_error = 0;
			return (ssize_t)len;
		}
	}
	weir_enter(lc);
	err = refuse_early(sk, len, to);
	weir_leave(lc);
	if (unlikely(err != 0)) {
		weir_mbuf_discard(m);
		return err;
	}
	return send_made(lc, sk, &msg);
}

ssize_t
weir_send(struct weir_lcore *lc, struct weir_socket *sk, const void *buf, size_t len,
	  const struct weir_addr *to)
{
	struct rte_mbuf *m;

	if (unlikely(len > lc->stack->conf.data_room - WEIR_TX_HEADROOM)) {
		const struct iovec iov = {(void *)(uintptr_t)buf, len};

		return weir_send_iov(lc, sk, &iov, 1, to, NULL);
	}
	if (unlikely(weir_mbuf_alloc_bulk(lc, &m, 1) != 0))
		return -ENOBUFS;
	memcpy(rte_pktmbuf_mtod(m, void *), buf, len);
	return send_short(lc, sk, m, len, to, NULL);
}

ssize_t
weir_send_iov(struct weir_lcore *lc, struct weir_socket *sk, const struct iovec *iov,
	      unsigned int n_iov, const struct weir_addr *to, const struct weir_txctl *ctl)
{
	struct weir_txmsg msg = {.to = to, .ctl = ctl};
	struct rte_mbuf *seg;
	size_t len = 0;
	uint32_t off = 0;
	int err;

	for (unsigned int i = 0; i < n_iov; i++) {
		if (iov[i].iov_len > SSIZE_MAX - len)
			return -EINVAL;
		len += iov[i].iov_len;
	}
	if (likely(len <= lc->stack->conf.data_room - WEIR_TX_HEADROOM)) {
		uint8_t *p;

		if (unlikely(weir_mbuf_alloc_bulk(lc, &msg.m, 1) != 0))
			return -ENOBUFS;
		p = rte_pktmbuf_mtod(msg.m, uint8_t *);
		for (unsigned int i = 0; i < n_iov; i++) {
			if (iov[i].iov_len != 0)
				memcpy(p, iov[i].iov_base, iov[i].iov_len);
			p += iov[i].iov_len;
		}
		return send_short(lc, sk, msg.m, len, to, ctl);
	}
	weir_enter(lc);
	err = refuse_early(sk, len, to);
	weir_leave(lc);
	if (err != 0)
		return err;
	if (unlikely(weir_pool_low(lc->stack)))
		return -ENOBUFS;
	msg.m = weir_mbuf_chain_alloc(lc->stack->pool, (uint32_t)len);
	if (unlikely(msg.m == NULL))
		return -ENOBUFS;
	seg = msg.m;
	for (unsigned int i = 0; i < n_iov; i++) {
		size_t done = 0;

		while (done < iov[i].iov_len) {
			size_t take;

			if (off == seg->data_len) {
				seg = seg->next;
				off = 0;
			}
			take = RTE_MIN(iov[i].iov_len - done, (size_t)seg->data_len - off);
			memcpy(rte_pktmbuf_mtod_offset(seg, uint8_t *, off),
			       (const uint8_t *)iov[i].iov_base + done, take);
			done += take;
			off += (uint32_t)take;
		}
	}
	return send_made(lc, sk, &msg);
}

/* ---- hot: buffers ---- */

int
weir_mbuf_alloc_bulk(struct weir_lcore *lc, struct rte_mbuf **mbufs, unsigned int n)
{
	struct weir_stack *stack = lc->stack;

	if (n == 0)
		return 0;
	/* Senders stop where the port rings' share begins. */
	if (unlikely(weir_pool_low(stack)) || rte_pktmbuf_alloc_bulk(stack->pool, mbufs, n) != 0)
		return -ENOBUFS;
	return 0;
}

void
weir_mbuf_free_bulk(struct rte_mbuf **mbufs, unsigned int n)
{
	weir_mbuf_give_back(mbufs, n);
}
