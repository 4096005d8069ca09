/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: datagrams held until a neighbour is known, by the lcore that sent them, and what their sockets hear when it
 * never is. See neigh.h.
 */
#include <errno.h>
#include <string.h>

#include "batch.h"
#include "drop.h"
#include "errq.h"
#include "mesh.h"
#include "neigh.h"
#include "sock.h"
#include "socktab.h"

/* Frames that may be held for one neighbour: 4 for each datagram, and the fragments of a largest one. */
#define HOLD_FRAMES(max) (4 * (max) + 128)

/*
 * Where the UDP header of a held frame is, from its start, and the key of the socket that sent it. 0: a
 * fragment but the first, or nothing that a socket sent.
 */
static uint32_t
held_key(const struct rte_mbuf *m, struct weir_key *key)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_eth *eth = (const struct wire_eth *)(const void *)p;
	const struct wire_ip4 *ip4 = (const struct wire_ip4 *)(const void *)(eth + 1);
	const struct wire_ip6 *ip6 = (const struct wire_ip6 *)(const void *)(eth + 1);
	const struct wire_udp *udp;
	uint32_t off = WIRE_ETH_LEN + WIRE_IP4_MIN;

	if (m->data_len < WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)
		return 0;
	if (eth->type == WIRE_BE16(WIRE_ETH_IP4)) {
		if (ip4->proto != WIRE_PROTO_UDP || (ip4->frag & WIRE_BE16(0x1fff)) != 0)
			return 0;
		key->family = WEIR_IPV4;
		key->local.v4 = ip4->src;
		key->peer.v4 = ip4->dst;
	} else {
		uint8_t next = ip6->next;

		off = WIRE_ETH_LEN + WIRE_IP6_LEN;
		if (m->data_len < off + WIRE_FRAG6_LEN + WIRE_UDP_LEN &&
		    (next == WIRE_PROTO_FRAGMENT || m->data_len < off + WIRE_UDP_LEN))
			return 0;
		if (next == WIRE_PROTO_FRAGMENT) {
			const struct wire_frag6 *f =
				(const struct wire_frag6 *)(const void *)(p + off);

			if ((f->off_more & WIRE_BE16(0xfff8)) != 0)
				return 0;
			next = f->next;
			off += WIRE_FRAG6_LEN;
		}
		if (next != WIRE_PROTO_UDP)
			return 0;
		key->family = WEIR_IPV6;
		memcpy(key->local.b, ip6->src, 16);
		memcpy(key->peer.b, ip6->dst, 16);
	}
	udp = (const struct wire_udp *)(const void *)(p + off);
	key->lport = udp->sport;
	key->pport = udp->dport;
	return off;
}

/*
 * Tell the socket that sent it: host unreachable, as if a router had said so (RFC 1122 2.3.2.1, RFC 4443 3.1),
 * with an own address as the offender. Only one that keeps errors hears of it. COLD.
 */
static void
report_failure(struct weir_lcore *lc, uint16_t port, const struct rte_mbuf *m)
{
	struct weir_key key = {.iface = (uint16_t)(port + 1)};
	uint32_t off = held_key(m, &key);
	struct weir_sockerr e = {.err = EHOSTUNREACH};
	struct weir_socket *sk;
	const struct wire_udp *udp;
	const void *payload;

	if (off == 0)
		return;
	sk = weir_socktab_lookup(lc, &key);
	if (sk == NULL)
		return;
	udp = rte_pktmbuf_mtod_offset(m, const struct wire_udp *, off);
	e.origin = key.family == WEIR_IPV4 ? WEIR_ERR_ICMP : WEIR_ERR_ICMP6;
	e.type = key.family == WEIR_IPV4 ? WIRE_ICMP_UNREACH : WIRE_ICMP6_UNREACH;
	e.code = key.family == WEIR_IPV4 ? 1 : 3; /* host, address */
	e.to = (struct weir_addr){.ip = key.peer, .port = key.pport, .family = (uint8_t)key.family};
	e.offender = (struct weir_addr){.ip = key.local, .family = (uint8_t)key.family};
	if (key.family == WEIR_IPV6 && weir_ip6_is_link_local(&key.peer))
		e.to.scope = port + 1u;
	if (key.family == WEIR_IPV6 && weir_ip6_is_link_local(&key.local))
		e.offender.scope = port + 1u;
	off += WIRE_UDP_LEN;
	e.len = RTE_MIN((uint32_t)(WIRE_BE16(udp->len) - WIRE_UDP_LEN), m->pkt_len - off);
	e.len = RTE_MIN(e.len, (uint32_t)sizeof(e.payload));
	payload = rte_pktmbuf_read(m, off, e.len, e.payload);
	if (payload == NULL)
		e.len = 0;
	else if (payload != e.payload)
		memcpy(e.payload, payload, e.len);
	weir_sock_report(sk, &e, false);
}

static void
hold_release(struct weir_lcore *lc, struct weir_hold *h, uint64_t word)
{
	const struct weir_port *port = weir_port_at(lc->stack, h->port);
	const bool gone = port == NULL || atomic_load_explicit(&port->dead, memory_order_relaxed);
	const bool ready = weir_neigh_usable(word) && WEIR_NEIGH_VERSION(word) == h->version;
	const uint16_t index = h->port;
	struct rte_mbuf *m = h->head;
	uint8_t mac[WIRE_ETH_ALEN];

	weir_count(&lc->c.tx_held_out, h->n);
	*h = (struct weir_hold){0};
	lc->n_holds--;
	if (gone) {
		weir_drop_list(lc, WEIR_DROP_PORT_GONE_TX, m);
		return;
	}
	if (!ready) {
		for (const struct rte_mbuf *f = m; f != NULL;
		     f = weir_meta((struct rte_mbuf *)(uintptr_t)f)->next)
			report_failure(lc, index, f);
		weir_drop_list(lc, WEIR_DROP_NEIGH_FAILED, m);
		return;
	}
	weir_neigh_mac(word, mac);
	while (m != NULL) {
		struct rte_mbuf *next = weir_meta(m)->next;

		memcpy(rte_pktmbuf_mtod(m, struct wire_eth *)->dst, mac, WIRE_ETH_ALEN);
		if (weir_batch_room(lc, port) > 0)
			weir_batch_put(lc, port, m);
		else
			weir_drop(lc, WEIR_DROP_TXQ_FULL, m);
		m = next;
	}
}

static void
drop_hold(struct weir_lcore *lc, struct weir_hold *h, enum weir_drop reason)
{
	weir_count(&lc->c.tx_held_out, h->n);
	weir_drop_list(lc, reason, h->head);
	*h = (struct weir_hold){0};
	lc->n_holds--;
}

/* The neighbour's slot, or an empty one; NULL: all are taken. */
static struct weir_hold *
find_slot(struct weir_lcore *lc, uint32_t index, uint8_t version)
{
	struct weir_hold *empty = NULL;

	for (unsigned int i = 0; i < WEIR_HOLDS; i++) {
		struct weir_hold *h = &lc->holds[i];

		if (h->neigh == index + 1 && h->version == version)
			return h;
		if (h->neigh == 0 && empty == NULL)
			empty = h;
	}
	return empty;
}

/* The slot for a neighbour; when all are taken the longest waiting one gives way. */
static struct weir_hold *
hold_slot(struct weir_lcore *lc, const struct weir_port *port, uint32_t index, uint8_t version)
{
	struct weir_hold *h = find_slot(lc, index, version);

	if (h == NULL) { /* some may wait for nobody any more */
		weir_neigh_check_holds(lc);
		h = find_slot(lc, index, version);
	}
	if (h == NULL) {
		h = &lc->holds[0];
		for (unsigned int i = 1; i < WEIR_HOLDS; i++)
			if (lc->holds[i].order < h->order)
				h = &lc->holds[i];
		drop_hold(lc, h, WEIR_DROP_HOLD_FULL);
	}
	if (h->neigh != 0)
		return h;
	*h = (struct weir_hold){.neigh = index + 1,
				.port = port->index,
				.version = version,
				.order = ++lc->hold_order};
	lc->n_holds++;
	return h;
}

/* In meta->drops of a held frame: how many frames its datagram has; 0: it goes with the one before. */
static void
hold_drop_oldest(struct weir_lcore *lc, struct weir_hold *h)
{
	struct rte_mbuf *first = h->head;
	struct rte_mbuf *last = first;
	unsigned int n = 1;

	while (weir_meta(last)->next != NULL && weir_meta(weir_meta(last)->next)->drops == 0) {
		last = weir_meta(last)->next;
		n++;
	}
	h->head = weir_meta(last)->next;
	if (h->head == NULL)
		h->tail = NULL;
	weir_meta(last)->next = NULL;
	h->n = (uint16_t)(h->n - n);
	h->datagrams--;
	weir_count(&lc->c.tx_held_out, n);
	weir_drop_list(lc, WEIR_DROP_HOLD_FULL, first);
}

/* m: the next frame; frames: of its datagram if it is the first, else 0. */
static void
hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index, uint8_t version,
     struct rte_mbuf *m, uint32_t frames)
{
	struct weir_neigh *n = &lc->stack->neigh[index];
	struct weir_hold *h;
	uint64_t word;

	if (atomic_load_explicit(&port->dead, memory_order_relaxed)) {
		weir_drop(lc, WEIR_DROP_PORT_GONE_TX, m);
		return;
	}
	h = hold_slot(lc, port, index, version);
	if (h->head == NULL && frames == 0) /* those before have left already */
		frames = 1;
	while (h->head != NULL && frames != 0 &&
	       (h->datagrams >= lc->stack->hold_max ||
		h->n + frames > HOLD_FRAMES(lc->stack->hold_max)))
		hold_drop_oldest(lc, h);
	weir_meta(m)->next = NULL;
	weir_meta(m)->drops = frames;
	weir_count(&lc->c.tx_held_in, 1);
	if (h->tail != NULL)
		weir_meta(h->tail)->next = m;
	else
		h->head = m;
	h->tail = m;
	h->n++;
	h->datagrams = (uint16_t)(h->datagrams + (frames != 0));
	/*
	 * Say that we wait, then look again: whoever resolves the entry stores the word, then takes
	 * the waiters (both sequentially consistent), so one of the two sees the other.
	 */
	atomic_fetch_or(&n->waiters, UINT64_C(1) << lc->slot);
	word = atomic_load(&n->word);
	if (WEIR_NEIGH_STATE(word) != WEIR_NEIGH_INCOMPLETE || WEIR_NEIGH_VERSION(word) != version)
		hold_release(lc, h, word);
}

void
weir_neigh_hold_many(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		     struct rte_mbuf **m, unsigned int n)
{
	const uint8_t version = WEIR_NEIGH_VERSION(weir_neigh_word(lc->stack, index));
	const uint16_t owner = lc->txb[port->index].owner;

	if (n > HOLD_FRAMES(lc->stack->hold_max)) {
		weir_drop_bulk(lc, WEIR_DROP_HOLD_FULL, m, n);
		return;
	}
	if (lc->kind == WEIR_LC_WORKER) {
		for (unsigned int i = 0; i < n; i++)
			hold(lc, port, index, version, m[i], i == 0 ? n : 0);
		return;
	}
	/* No turn of its own in which to look after them: the queue's owner holds them. */
	if (weir_mesh_free(lc, owner) < n) {
		weir_drop_bulk(lc, WEIR_DROP_MESH_FULL_TX, m, n);
		return;
	}
	for (unsigned int i = 0; i < n; i++) {
		m[i]->port = port->index;
		weir_meta(m[i])->truesize = index;
		weir_meta(m[i])->drops = version | (i == 0 ? n : 0) << 8;
	}
	(void)weir_mesh_frames(lc, owner, WEIR_MESH_HOLD, m, n);
}

void
weir_neigh_hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		struct rte_mbuf *m)
{
	weir_neigh_hold_many(lc, port, index, &m, 1);
}

void
weir_neigh_hold_for(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	hold(lc, port, weir_meta(m)->truesize, (uint8_t)weir_meta(m)->drops, m,
	     weir_meta(m)->drops >> 8);
}

void
weir_neigh_changed(struct weir_lcore *lc, uint32_t index)
{
	uint64_t word;

	if (index >= lc->stack->conf.max_neigh)
		return;
	word = weir_neigh_word(lc->stack, index);
	for (unsigned int i = 0; i < WEIR_HOLDS; i++)
		if (lc->holds[i].neigh == index + 1 &&
		    (WEIR_NEIGH_STATE(word) != WEIR_NEIGH_INCOMPLETE ||
		     WEIR_NEIGH_VERSION(word) != lc->holds[i].version))
			hold_release(lc, &lc->holds[i], word);
}

void
weir_neigh_check_holds(struct weir_lcore *lc)
{
	for (unsigned int i = 0; i < WEIR_HOLDS && lc->n_holds > 0; i++)
		if (lc->holds[i].neigh != 0)
			weir_neigh_changed(lc, lc->holds[i].neigh - 1);
}

void
weir_neigh_drop_holds(struct weir_lcore *lc, enum weir_drop reason)
{
	for (unsigned int i = 0; i < WEIR_HOLDS; i++)
		if (lc->holds[i].neigh != 0)
			drop_hold(lc, &lc->holds[i], reason);
}

void
weir_neigh_drop_port_holds(struct weir_lcore *lc, uint16_t port, enum weir_drop reason)
{
	for (unsigned int i = 0; i < WEIR_HOLDS; i++)
		if (lc->holds[i].neigh != 0 && lc->holds[i].port == port)
			drop_hold(lc, &lc->holds[i], reason);
}
