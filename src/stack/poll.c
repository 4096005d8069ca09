/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HOT: one turn. The only caller of rte_eth_rx_burst in the stack.
 *
 *   clock -> receive from each own queue -> mesh mailboxes -> loopback -> flush batches -> house-keeping
 *         -> quiescent report -> calls from other threads
 */
#include "poll.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_pause.h>

#include "batch.h"
#include "control_state.h"
#include "drop.h"
#include "hint.h"
#include "local.h"
#include "mbuf.h"
#include "mcast.h"
#include "mesh.h"
#include "ndp.h"
#include "neigh.h"
#include "pmtu.h"
#include "reasm.h"
#include "rx.h"

#define HOUSE_NS                WEIR_NS_PER_MS
#define IDLE_TURNS_BEFORE_YIELD 64

static inline struct weir_port *
port_of(struct weir_lcore *lc, const struct rte_mbuf *m)
{
	return lc->stack->ports[m->port];
}

/* One frame to send that another lcore has finished. */
static void
mesh_tx(struct weir_lcore *lc, struct rte_mbuf *m)
{
	struct weir_port *port = port_of(lc, m);

	weir_count(&lc->c.mesh_tx_out, 1);
	weir_batch_put_late(lc, port, m);
}

static void
mesh_message(struct weir_lcore *lc, uint64_t word)
{
	switch (weir_mesh_type(word)) {
	case WEIR_MSG_NEIGH:
		weir_neigh_changed(lc, (uint32_t)weir_mesh_payload(word));
		break;
	}
}

static void
mesh_words(struct weir_lcore *lc, const uint64_t *word, unsigned int n)
{
	struct rte_mbuf *rx[WEIR_MAX_BURST];
	unsigned int n_rx = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = weir_mesh_mbuf(word[i]);

		/* Received frames go on as bursts, as long as they are of one port. */
		if (n_rx > 0 &&
		    (weir_mesh_kind(word[i]) != WEIR_MESH_RX || m->port != rx[0]->port)) {
			weir_rx_burst(lc, port_of(lc, rx[0]), rx, n_rx, true);
			n_rx = 0;
		}
		switch (weir_mesh_kind(word[i])) {
		case WEIR_MESH_TX:
			mesh_tx(lc, m);
			break;
		case WEIR_MESH_RX:
			weir_count(&lc->c.mesh_rx_out, 1);
			rx[n_rx++] = m;
			break;
		case WEIR_MESH_HOLD:
			weir_count(&lc->c.mesh_tx_out, 1);
			weir_neigh_hold_for(lc, port_of(lc, m), m);
			break;
		case WEIR_MESH_MSG:
			mesh_message(lc, word[i]);
			break;
		}
	}
	if (n_rx > 0)
		weir_rx_burst(lc, port_of(lc, rx[0]), rx, n_rx, true);
}

unsigned int
weir_poll_mesh(struct weir_lcore *lc)
{
	uint64_t word[WEIR_MAX_BURST];
	unsigned int total = 0;

	for (uint16_t s = 0; s < lc->n_in; s++) {
		unsigned int n;

		if (lc->in[s] == NULL || likely(weir_ring_empty(lc->in[s])))
			continue;
		n = weir_mesh_take(lc, s, word, RTE_DIM(word));
		if (n > 0)
			mesh_words(lc, word, n);
		total += n;
	}
	return total;
}

/* Errors that a loop-back frame causes come back the same way: rounds enough for that, not for a storm. */
#define LOOPBACK_ROUNDS 8

/* An IPv6 frame to a link-local address of ours is received by the port that has it, which is its scope. COLD. */
static __rte_noinline unsigned int
scope_of(struct weir_lcore *lc, const struct rte_mbuf *m)
{
	const struct weir_local *l;
	union weir_ip dst;

	memcpy(&dst,
	       rte_pktmbuf_mtod_offset(m, const uint8_t *,
				       WIRE_ETH_LEN + offsetof(struct wire_ip6, dst)),
	       sizeof(dst));
	l = weir_local_find(lc->stack, &dst, WEIR_IPV6);
	return l != NULL ? l->port : WEIR_PORT_LOOPBACK;
}

/* By which port is a looped-back frame received? A copy of what went to a group: by the one it left by. */
static inline unsigned int
looped_port(struct weir_lcore *lc, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_ip6 *ip = (const void *)(p + WIRE_ETH_LEN);

	if (unlikely((*p & 1) != 0))
		return m->port;
	if (((const struct wire_eth *)(const void *)p)->type == WIRE_BE16(WIRE_ETH_IP6) &&
	    unlikely(ip->dst[0] == 0xfe && (ip->dst[1] & 0xc0) == 0x80))
		return scope_of(lc, m);
	return WEIR_PORT_LOOPBACK;
}

/* As from that port, but with an address of ours as the source, and no MAC that means anything. COLD. */
static __rte_noinline void
receive_copies(struct weir_lcore *lc, unsigned int from, struct rte_mbuf **m, unsigned int n)
{
	const struct weir_port *of = lc->stack->ports[from];
	struct weir_port port;

	if (of == NULL || of->dead) {
		weir_drop_bulk(lc, WEIR_DROP_PORT_GONE_RX, m, n);
		return;
	}
	port = *of;
	port.parse.loopback = true;
	port.parse.promiscuous_ok = true;
	port.parse.max_frame = 0;
	port.vlan_strip = false;
	weir_rx_burst(lc, &port, m, n, true);
	lc->rx_last[from].gen = 0; /* nothing from the wire follows these */
}

unsigned int
weir_poll_loopback(struct weir_lcore *lc)
{
	struct weir_port *lo = lc->stack->ports[WEIR_PORT_LOOPBACK];
	struct rte_mbuf *m[WEIR_TXB_SIZE];
	unsigned int total = 0;

	for (unsigned int round = 0; round < LOOPBACK_ROUNDS; round++) {
		unsigned int n = weir_batch_take_loopback(lc, m);

		if (n == 0)
			break;
		weir_count(&lc->pc[WEIR_PORT_LOOPBACK].rx_frames, n);
		for (unsigned int i = 0; i < n; i++) {
			/* What never was on a wire needs no sums. */
			m[i]->ol_flags =
				(m[i]->ol_flags & (RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT)) |
				RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
			weir_count(&lc->pc[WEIR_PORT_LOOPBACK].rx_bytes, m[i]->pkt_len);
		}
		for (unsigned int i = 0, end; i < n; i = end) {
			unsigned int from = looped_port(lc, m[i]);

			end = i + 1;
			while (end < n && looped_port(lc, m[end]) == from)
				end++;
			if (likely(from == WEIR_PORT_LOOPBACK))
				weir_rx_burst(lc, lo, m + i, end - i, true);
			else
				receive_copies(lc, from, m + i, end - i);
		}
		total += n;
	}
	return total;
}

/* ---- calls from other threads ---- */

void
weir_call_put(struct weir_call *call)
{
	if (atomic_fetch_sub(&call->refs, 1) == 1) /* hot-ok: control message, not a packet */
		free(call);
}

static unsigned int
run_calls(struct weir_lcore *lc)
{
	struct weir_call *call;
	unsigned int n = 0;

	while (rte_ring_sc_dequeue(lc->ctl, (void **)&call) == 0) {
		uint32_t waiting = WEIR_CALL_WAITING;

		/* hot-ok: control message, not a packet */
		if (atomic_compare_exchange_strong(&call->state, &waiting, WEIR_CALL_RUNNING)) {
			call->fn(lc, call->arg);
			atomic_store(&call->state, WEIR_CALL_DONE);
		}
		weir_call_put(call);
		n++;
	}
	return n;
}

/* ---- the turn ---- */

static void
house_keeping(struct weir_lcore *lc)
{
	struct weir_stack *stack = lc->stack;
	uint64_t due = atomic_load_explicit(&stack->tick_ns, memory_order_relaxed);

	lc->house_ns = lc->now_ns + HOUSE_NS;
	if (lc->n_holds > 0)
		weir_neigh_check_holds(lc);
	if (lc->reasm != NULL)
		weir_reasm_tick(lc);
	/* Whoever sees it due first takes the tick; hot-ok: once per tick */
	if (lc->now_ns >= due && atomic_compare_exchange_strong(&stack->tick_ns, &due,
								lc->now_ns + WEIR_NEIGH_TICK_NS)) {
		weir_ctl_tick(stack, lc->now_ns); /* first: the others ask whether links are up */
		weir_neigh_tick(lc);
		weir_ndp_tick(lc);
		weir_mcast_tick(lc);
		weir_pmtu_tick(stack, lc->now_ns);
		weir_hint(stack, lc->now_ns);
	}
}

unsigned int
weir_turn(struct weir_lcore *lc)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];
	unsigned int work = 0;

	if (lc->kind != WEIR_LC_WORKER || lc->in_turn)
		return 0;
	lc->in_turn = true;
	lc->now_ns = weir_clock_ns();
	for (unsigned int q = 0; q < lc->n_rxq; q++) {
		const struct weir_rxq *rxq = &lc->rxq[q];
		uint16_t n = rte_eth_rx_burst(rxq->ethdev, rxq->queue, m,
					      (uint16_t)lc->stack->conf.burst);

		if (n == 0)
			continue;
		work += n;
		weir_rx_burst(lc, rxq->port, m, n, false);
	}
	work += weir_poll_mesh(lc);
	if (lc->dirty != 0) {
		if ((lc->dirty >> WEIR_PORT_LOOPBACK & 1) != 0)
			work += weir_poll_loopback(lc);
		work += weir_batch_flush_all(lc);
	}
	if (unlikely(lc->now_ns >= lc->house_ns))
		house_keeping(lc);
	if (lc->n_spent != 0)
		weir_spend_all(lc);
	weir_count(&lc->c.turns, 1);
	if (work == 0)
		weir_count(&lc->c.idle_turns, 1);
	rte_rcu_qsbr_quiescent(lc->rcu, lc->slot);
	lc->in_turn = false;
	/* After the turn, so that a called function may itself wait and take turns. */
	if (unlikely(!weir_ring_empty(lc->ctl)))
		work += run_calls(lc);
	return work;
}

void
weir_idle(struct weir_lcore *lc, unsigned int work)
{
	if (work != 0) {
		lc->idle = 0;
		return;
	}
	/* hot-ok: only a worker that has nothing to do comes here */
	if (++lc->idle < IDLE_TURNS_BEFORE_YIELD) {
		rte_pause();
	} else {
		lc->idle = 0; /* hot-ok: idle, as above */
		sched_yield();
	}
}

int
weir_run(struct weir_lcore *lc, int (*until)(void *arg), void *arg)
{
	int ret;

	while ((ret = until(arg)) == 0)
		weir_idle(lc, weir_turn(lc));
	return ret;
}

void
weir_flush(struct weir_lcore *lc)
{
	weir_enter(lc);
	weir_batch_flush_all(lc);
	weir_leave(lc);
}

void
weir_input(struct weir_lcore *lc, unsigned int port, struct rte_mbuf **mbufs, unsigned int n)
{
	if (n == 0)
		return;
	lc->now_ns = weir_clock_ns();
	for (unsigned int done = 0; done < n; done += WEIR_MAX_BURST)
		weir_rx_burst(lc, lc->stack->ports[port], mbufs + done,
			      RTE_MIN(n - done, (unsigned int)WEIR_MAX_BURST), false);
}

/* ---- stop ---- */

void
weir_poll_drain(struct weir_lcore *lc)
{
	uint64_t word[WEIR_MAX_BURST];
	struct weir_call *call;
	unsigned int n;

	for (uint16_t s = 0; s < lc->n_in; s++) {
		while ((n = weir_mesh_take(lc, s, word, RTE_DIM(word))) > 0) {
			for (unsigned int i = 0; i < n; i++) {
				struct rte_mbuf *m = weir_mesh_mbuf(word[i]);

				switch (weir_mesh_kind(word[i])) {
				case WEIR_MESH_RX:
					weir_count(&lc->c.mesh_rx_out, 1);
					weir_drop(lc, WEIR_DROP_STACK_STOPPED, m);
					break;
				case WEIR_MESH_TX:
				case WEIR_MESH_HOLD:
					weir_count(&lc->c.mesh_tx_out, 1);
					weir_drop(lc, WEIR_DROP_TX_STOPPED, m);
					break;
				case WEIR_MESH_MSG:
					break;
				}
			}
		}
	}
	/* Callers time out by themselves; only the memory is given back. */
	while (lc->ctl != NULL && rte_ring_sc_dequeue(lc->ctl, (void **)&call) == 0)
		weir_call_put(call);
}

void
weir_poll_drain_ports(struct weir_lcore *lc, unsigned int max)
{
	struct rte_mbuf *m[WEIR_MAX_BURST];

	for (unsigned int q = 0; q < lc->n_rxq; q++) {
		const struct weir_rxq *rxq = &lc->rxq[q];
		unsigned int done = 0;
		uint16_t n;

		while (done < max &&
		       (n = rte_eth_rx_burst(rxq->ethdev, rxq->queue, m, RTE_DIM(m))) > 0) {
			uint64_t bytes = 0;

			for (unsigned int i = 0; i < n; i++)
				bytes += m[i]->pkt_len;
			weir_count(&lc->pc[rxq->port->index].rx_frames, n);
			weir_count(&lc->pc[rxq->port->index].rx_bytes, bytes);
			weir_drop_bulk(lc, WEIR_DROP_STACK_STOPPED, m, n);
			done += n;
		}
	}
}
