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
#include "mbuf.h"
#include "sock.h"
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

/* Where the UDP header of a queued datagram starts: see rx.c. */
static inline uint32_t
udp_offset(const struct rte_mbuf *m)
{
	return (uint32_t)m->l2_len + m->l3_len;
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
fill_rxmsg(struct weir_rxmsg *msg, struct rte_mbuf *m)
{
	const struct weir_meta *meta = weir_meta(m);
	uint32_t off = udp_offset(m);
	const struct wire_ip4 *ip = rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, m->l2_len);
	const struct wire_udp *udp = rte_pktmbuf_mtod_offset(m, const struct wire_udp *, off);
	uint32_t len = m->tso_segsz;

	msg->m = m;
	set_name4(&msg->peer, ip->src, udp->sport);
	set_name4(&msg->local, ip->dst, udp->dport);
	msg->time_ns = meta->time_ns;
	msg->len = len;
	msg->hash = (m->ol_flags & RTE_MBUF_F_RX_RSS_HASH) != 0 ? m->hash.rss : 0;
	msg->drops = meta->drops;
	msg->port = m->port;
	msg->ttl = ip->ttl;
	msg->tos = ip->tos;
	m->tx_offload = 0;
	weir_mbuf_window(m, off + WIRE_UDP_LEN, len);
}

static inline unsigned int
take(struct weir_lcore *lc, struct weir_socket *sk, struct rte_mbuf **m, unsigned int n)
{
	unsigned int got = weir_recvq_consume(&sk->rq, m, n);

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
	struct rte_mbuf *m[WEIR_MAX_BURST];
	uint16_t total = 0;

	while (total < n) {
		unsigned int want = RTE_MIN((unsigned int)(n - total), (unsigned int)RTE_DIM(m));
		unsigned int got = take(lc, sk, m, want);

		for (unsigned int i = 0; i < got && i < 4; i++)
			rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		for (unsigned int i = 0; i < got; i++) {
			if (i + 4 < got)
				rte_prefetch0(rte_pktmbuf_mtod(m[i + 4], void *));
			fill_rxmsg(&msgs[total + i], m[i]);
		}
		total = (uint16_t)(total + got);
		if (got < want)
			break;
	}
	return total;
}

ssize_t
weir_recv(struct weir_lcore *lc, struct weir_socket *sk, void *buf, size_t size,
	  struct weir_addr *from)
{
	int err = weir_socket_error(sk);
	struct rte_mbuf *m;
	uint32_t len, off, fits;

	if (err != 0)
		return err;
	if (take(lc, sk, &m, 1) == 0)
		return -EAGAIN;
	off = udp_offset(m);
	len = m->tso_segsz;
	fits = (uint32_t)RTE_MIN(size, (size_t)len);
	if (from != NULL)
		set_name4(from, rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, m->l2_len)->src,
			  rte_pktmbuf_mtod_offset(m, const struct wire_udp *, off)->sport);
	if (likely(m->nb_segs == 1)) {
		memcpy(buf, rte_pktmbuf_mtod_offset(m, const void *, off + WIRE_UDP_LEN), fits);
	} else {
		weir_mbuf_window(m, off + WIRE_UDP_LEN, len);
		weir_mbuf_copy_out(m, buf, fits);
	}
	weir_mbuf_discard(m);
	return (ssize_t)len;
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

uint16_t
weir_send_burst(struct weir_lcore *lc, struct weir_socket *sk, const struct weir_txmsg *msgs,
		uint16_t n, unsigned int flags)
{
	uint16_t sent = 0;
	int err = weir_socket_error(sk);

	if (likely(err == 0) && unlikely(sk->lport == 0))
		err = weir_sock_autobind(sk);
	if (likely(err == 0)) {
		weir_enter(lc);
		sent = weir_tx_burst(lc, sk, msgs, n, &err);
		weir_count(&lc->c.tx_datagrams, sent);
		if (unlikely(err == -EAGAIN && (flags & WEIR_SEND_DROP) != 0)) {
			weir_count(&lc->c.tx_datagrams, n - sent);
			for (; sent < n; sent++)
				weir_drop(lc, WEIR_DROP_TXQ_REFUSED, msgs[sent].m);
			err = 0;
		}
		/* No turn comes after an attached thread's call. */
		if (lc->kind != WEIR_LC_WORKER)
			weir_batch_flush_all(lc);
		weir_leave(lc);
		if (likely(sent > 0))
			count_sent(lc, sk, sent);
	}
	lc->send_error = err;
	return sent;
}

int
weir_send_error(const struct weir_lcore *lc)
{
	return lc->send_error;
}

ssize_t
weir_send(struct weir_lcore *lc, struct weir_socket *sk, const void *buf, size_t len,
	  const struct weir_addr *to)
{
	struct weir_txmsg msg = {.to = to};
	char *p;

	if (len > UINT16_MAX)
		return -EMSGSIZE;
	if (weir_mbuf_alloc_bulk(lc, &msg.m, 1) != 0)
		return -ENOBUFS;
	p = rte_pktmbuf_append(msg.m, (uint16_t)len);
	if (p == NULL) { /* larger than a buffer: larger than any MTU we send without fragments */
		weir_mbuf_discard(msg.m);
		return -EMSGSIZE;
	}
	memcpy(p, buf, len);
	if (weir_send_burst(lc, sk, &msg, 1, 0) == 1)
		return (ssize_t)len;
	weir_mbuf_discard(msg.m);
	return lc->send_error;
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
