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

#include "batch.h"
#include "drop.h"
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

static inline void
set_name4(struct weir_addr *name, wire_be32 ip, wire_be16 port)
{
	name->ip.w[0] = 0;
	name->ip.w[1] = 0;
	name->ip.v4 = ip;
	name->scope = 0;
	name->port = port;
	name->family = WEIR_IPV4;
	name->pad = 0;
}

/* Describe a datagram by the headers in front of it, then leave only the payload. */
static inline void
fill_rxmsg(struct weir_rxmsg *msg, struct rte_mbuf *m, const struct weir_recvq_facts *facts)
{
	struct weir_dgram d;

	weir_dgram_look(m, &d);
	msg->m = m;
	set_name4(&msg->peer, d.ip->src, d.udp->sport);
	set_name4(&msg->local, d.ip->dst, d.udp->dport);
	msg->time_ns = facts->time_ns;
	msg->len = d.len;
	msg->hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
	msg->drops = facts->drops;
	msg->port = facts->port;
	msg->gso_size = 0;
	msg->ttl = d.ip->ttl;
	msg->tos = d.ip->tos;
	weir_dgram_payload(m, &d);
}

/* Up to n datagrams of one run. */
static inline unsigned int
take(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf **m, unsigned int n,
     struct weir_recvq_facts *facts)
{
	unsigned int got = weir_recvq_take(&sk->rq, m, n, facts);

	if (got > 0) {
		weir_count(&lc->c.rx_read, got);
		if (atomic_load_explicit(&sk->rx_owner, memory_order_relaxed) != lc->slot)
			atomic_store_explicit(&sk->rx_owner, lc->slot, memory_order_relaxed);
	}
	return got;
}

uint16_t
weir_recv_burst(struct weir_lcore *lc, struct weir_socket *sk, struct weir_rxmsg *msgs, uint16_t n)
{
	struct rte_mbuf *m[WEIR_RUN_MAX];
	struct weir_recvq_facts facts;
	unsigned int total = 0;
	unsigned int got;

	if (unlikely(sk->gro))
		return weir_recv_trains(lc, sk, msgs, n);
	while (total < n && (got = take(lc, sk, m, RTE_MIN(n - total, RTE_DIM(m)), &facts)) > 0) {
		for (unsigned int i = 0; i < got && i < 4; i++)
			rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		for (unsigned int i = 0; i < got; i++) {
			if (i + 4 < got)
				rte_prefetch0(rte_pktmbuf_mtod(m[i + 4], void *));
			fill_rxmsg(&msgs[total + i], m[i], &facts);
		}
		total += got;
	}
	if (unlikely(total == 0))
		weir_event_nothing(sk);
	return (uint16_t)total;
}

ssize_t
weir_recv(struct weir_lcore *lc, struct weir_socket *sk, void *buf, size_t size,
	  struct weir_addr *from)
{
	int err = weir_socket_error(sk);
	struct weir_recvq_facts facts;
	struct weir_dgram d;
	struct rte_mbuf *m;
	uint32_t fits;

	if (err != 0)
		return err;
	if (take(lc, sk, &m, 1, &facts) == 0) {
		weir_event_nothing(sk);
		return -EAGAIN;
	}
	weir_dgram_look(m, &d);
	fits = (uint32_t)RTE_MIN(size, (size_t)d.len);
	if (from != NULL)
		set_name4(from, d.ip->src, d.udp->sport);
	if (likely(m->nb_segs == 1)) {
		memcpy(buf, rte_pktmbuf_mtod_offset(m, const void *, d.off), fits);
	} else {
		weir_dgram_payload(m, &d);
		weir_mbuf_copy_out(m, buf, fits);
	}
	weir_mbuf_discard(m);
	return (ssize_t)d.len;
}

int
weir_recv_wait(struct weir_lcore *lc, struct weir_socket *sk, uint64_t timeout_ns)
{
	uint64_t start = weir_clock_ns();

	for (;;) {
		if (weir_recvq_readable(&sk->rq) ||
		    atomic_load_explicit(&sk->error, memory_order_relaxed) != 0)
			return 0;
		if (weir_clock_ns() - start >= timeout_ns)
			return -ETIMEDOUT;
		/* A worker would wait for itself: it takes its turn instead. */
		weir_idle(lc, weir_turn(lc));
	}
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
	const uint32_t segment =
		msg->ctl != NULL && msg->ctl->segment != 0 ? msg->ctl->segment : sk->tx.segment;
	const uint32_t len = msg->m->pkt_len;
	const uint32_t n = (len + segment - 1) / segment;
	struct weir_txmsg piece[WEIR_MAX_SEGMENTS];
	uint32_t done, sent = 0;
	int err = 0;

	if (n > WEIR_MAX_SEGMENTS || sk->tx.no_check)
		return -EINVAL;
	for (done = 0; done < n; done++) {
		piece[done] = *msg;
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

uint16_t
weir_send_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
		uint16_t n, unsigned int flags)
{
	uint16_t sent = 0;
	int err = weir_socket_error(sk);

	if (unlikely((atomic_load_explicit(&sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) != 0))
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
	err = weir_socket_error(sk);
	if (unlikely(err != 0))
		return err;
	if (unlikely((atomic_load_explicit(&sk->shut, memory_order_relaxed) & WEIR_SHUT_WR) != 0))
		return -EPIPE;
	return to == NULL && unlikely(!weir_names_connected(weir_sock_names(sk))) ? -EDESTADDRREQ
										  : 0;
}

ssize_t
weir_send(struct weir_lcore *lc, struct weir_socket *sk, const void *buf, size_t len,
	  const struct weir_addr *to)
{
	struct weir_txmsg msg = {.to = to};
	struct iovec iov;

	if (unlikely(len > lc->stack->conf.data_room - WEIR_TX_HEADROOM)) {
		iov = (struct iovec){(void *)(uintptr_t)buf, len};
		return weir_send_iov(lc, sk, &iov, 1, to, NULL);
	}
	if (unlikely(weir_mbuf_alloc_bulk(lc, &msg.m, 1) != 0))
		return -ENOBUFS;
	msg.m->data_len = (uint16_t)len;
	msg.m->pkt_len = (uint32_t)len;
	memcpy(rte_pktmbuf_mtod(msg.m, void *), buf, len);
	return send_made(lc, sk, &msg);
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
	/* hot-ok: the application gives back what it was given; nothing is refused here */
	rte_pktmbuf_free_bulk(mbufs, n);
}
