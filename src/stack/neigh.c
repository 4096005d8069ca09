/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: neighbour table, ARP, held datagrams. See neigh.h for the rules and the state picture.
 *
 * Lock: `lock` of struct weir_neigh_ctl guards changes of entries, chains and free lists. It is taken
 * on creation, on a change of state and by timers, never by a sender whose neighbour is known. ARP is
 * sent after it is given back.
 */
#include "neigh.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "batch.h"
#include "drop.h"
#include "local.h"
#include "mesh.h"
#include "route.h"
#include "sock.h"
#include "socktab.h"

struct weir_neigh_ctl {
	atomic_uint lock;
	uint32_t n; /* size of the table */
	uint32_t n_free, limbo_head, limbo_n;
	uint32_t mask;   /* of buckets */
	uint32_t *free;  /* stack of indexes */
	uint32_t *limbo; /* FIFO of indexes waiting for their grace period */
	uint64_t *limbo_token;
	_Atomic uint32_t *bucket; /* index + 1 */
};

/* What has to be sent once the lock is free. */
struct ask {
	const struct weir_port *port;
	union weir_ip ip;
	uint8_t mac[WIRE_ETH_ALEN];
};

static const uint8_t mac_all_ones[WIRE_ETH_ALEN] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

static void
table_lock(struct weir_neigh_ctl *t)
{
	while (atomic_exchange_explicit(&t->lock, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(&t->lock, memory_order_relaxed) != 0)
			rte_pause();
}

static void
table_unlock(struct weir_neigh_ctl *t)
{
	atomic_store_explicit(&t->lock, 0, memory_order_release); /* pairs with table_lock */
}

static uint64_t
make_word(const uint8_t *mac, uint64_t old, enum weir_neigh_state state)
{
	uint64_t w = (old & 0xff00) | (uint64_t)state;

	if (mac == NULL)
		return w;
	for (unsigned int i = 0; i < WIRE_ETH_ALEN; i++)
		w |= (uint64_t)mac[i] << (56 - 8 * i);
	return w;
}

/* Sequentially consistent: pairs with the fetch_or of weir_neigh_hold (each sees the other). */
static void
set_state(struct weir_neigh *n, const uint8_t *mac, enum weir_neigh_state state)
{
	uint64_t old = atomic_load_explicit(&n->word, memory_order_relaxed);
	uint64_t w = make_word(mac, old, state);

	if (mac == NULL && state != WEIR_NEIGH_INCOMPLETE && state != WEIR_NEIGH_FAILED)
		w |= old & ~UINT64_C(0xffff); /* keep the MAC */
	atomic_store(&n->word, w);
}

static bool
usable(uint64_t word)
{
	switch (WEIR_NEIGH_STATE(word)) {
	case WEIR_NEIGH_REACHABLE:
	case WEIR_NEIGH_STALE:
	case WEIR_NEIGH_PROBE:
	case WEIR_NEIGH_PERMANENT:
		return true;
	default:
		return false;
	}
}

static uint32_t
bucket_of(const struct weir_stack *stack, uint16_t port, const union weir_ip *ip)
{
	__uint128_t p = (__uint128_t)(ip->w[0] ^ stack->hash_key[1] ^ port) *
			(ip->w[1] ^ stack->hash_key[0]);

	return (uint32_t)((uint64_t)p ^ (uint64_t)(p >> 64)) & stack->nctl->mask;
}

/* RCU reader or lock holder. Index + 1, or 0. */
static uint32_t
find(const struct weir_stack *stack, uint16_t port, const union weir_ip *ip, uint8_t family)
{
	uint32_t i = atomic_load_explicit(&stack->nctl->bucket[bucket_of(stack, port, ip)],
					  memory_order_acquire);

	while (i != 0) {
		struct weir_neigh *n = &stack->neigh[i - 1];

		if (n->ip.w[0] == ip->w[0] && n->ip.w[1] == ip->w[1] && n->port == port &&
		    n->family == family)
			return i;
		i = atomic_load_explicit(&n->next, memory_order_acquire);
	}
	return 0;
}

/* Lock held. Indexes whose grace period is over become free. */
static void
drain_limbo(struct weir_stack *stack)
{
	struct weir_neigh_ctl *t = stack->nctl;

	while (t->limbo_n > 0 &&
	       rte_rcu_qsbr_check(stack->rcu, t->limbo_token[t->limbo_head], false) != 0) {
		t->free[t->n_free++] = t->limbo[t->limbo_head];
		t->limbo_head = (t->limbo_head + 1) % t->n;
		t->limbo_n--;
	}
}

/* Lock held. Take an entry out of its chain; it may be used again after a grace period. */
static void
forget(struct weir_stack *stack, uint32_t index)
{
	struct weir_neigh_ctl *t = stack->nctl;
	struct weir_neigh *n = &stack->neigh[index];
	_Atomic uint32_t *link = &t->bucket[bucket_of(stack, n->port, &n->ip)];
	uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);
	uint32_t tail = (t->limbo_head + t->limbo_n) % t->n;

	while (atomic_load_explicit(link, memory_order_relaxed) != index + 1)
		link = &stack->neigh[atomic_load_explicit(link, memory_order_relaxed) - 1].next;
	atomic_store_explicit(link, atomic_load_explicit(&n->next, memory_order_relaxed),
			      memory_order_release);
	/* A new version: copies of the word elsewhere no longer match. */
	atomic_store(&n->word, ((w + 0x100) & 0xff00) | WEIR_NEIGH_FREE);
	t->limbo[tail] = index;
	t->limbo_token[tail] = rte_rcu_qsbr_start(stack->rcu);
	t->limbo_n++;
}

/* Lock held. A new entry in state incomplete, nothing asked yet. Index + 1, 0: table full. */
static uint32_t
create(struct weir_stack *stack, uint16_t port, const union weir_ip *ip, uint8_t family,
       uint64_t now_ns)
{
	struct weir_neigh_ctl *t = stack->nctl;
	struct weir_neigh *n;
	_Atomic uint32_t *head;
	uint32_t i;

	if (t->n_free == 0)
		drain_limbo(stack);
	if (t->n_free == 0)
		return 0;
	i = t->free[--t->n_free];
	n = &stack->neigh[i];
	n->ip = *ip;
	n->port = port;
	n->family = family;
	n->tries = 0;
	n->deadline_ns = 0;
	n->used_ns = now_ns;
	atomic_store_explicit(&n->waiters, 0, memory_order_relaxed);
	set_state(n, NULL, WEIR_NEIGH_INCOMPLETE);
	head = &t->bucket[bucket_of(stack, port, ip)];
	atomic_store_explicit(&n->next, atomic_load_explicit(head, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(head, i + 1, memory_order_release); /* pairs with find */
	return i + 1;
}

bool
weir_neigh_find_or_create(struct weir_lcore *lc, const struct weir_port *port,
			  const union weir_ip *ip, uint8_t family, uint32_t *index)
{
	struct weir_stack *stack = lc->stack;
	uint32_t i = find(stack, port->index, ip, family);

	if (i == 0) {
		table_lock(stack->nctl);
		i = find(stack, port->index, ip, family);
		if (i == 0)
			i = create(stack, port->index, ip, family, lc->now_ns);
		table_unlock(stack->nctl);
	}
	if (i == 0)
		return false;
	*index = i - 1;
	return true;
}

/* ---- ARP out ---- */

static void
arp_send(struct weir_lcore *lc, const struct weir_port *port, uint16_t op, wire_be32 spa,
	 const uint8_t *tha, wire_be32 tpa, const uint8_t *eth_dst)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lc->stack->pool);
	struct wire_eth *eth;
	struct wire_arp *arp;

	if (m == NULL)
		return; /* asked again at the next deadline */
	/* Padded to the Ethernet minimum: some virtual wires do not do it. */
	eth = (struct wire_eth *)rte_pktmbuf_append(m, 60);
	if (eth == NULL) {
		weir_mbuf_discard(m);
		return;
	}
	memset(eth, 0, 60);
	memcpy(eth->dst, eth_dst, WIRE_ETH_ALEN);
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_ARP);
	arp = (struct wire_arp *)(eth + 1);
	arp->htype = WIRE_BE16(1);
	arp->ptype = WIRE_BE16(WIRE_ETH_IP4);
	arp->hlen = WIRE_ETH_ALEN;
	arp->plen = 4;
	arp->op = WIRE_BE16(op);
	memcpy(arp->sha, port->parse.mac, WIRE_ETH_ALEN);
	arp->spa = spa;
	if (tha != NULL)
		memcpy(arp->tha, tha, WIRE_ETH_ALEN);
	arp->tpa = tpa;
	weir_batch_protocol(lc, port, m);
}

/* Ask: broadcast while nothing is known, else to the MAC known so far. */
static void
send_ask(struct weir_lcore *lc, const struct ask *a)
{
	static const uint8_t none[WIRE_ETH_ALEN];
	const struct weir_route *r =
		weir_route_lookup_on(lc->stack, &a->ip, WEIR_IPV4, a->port->index);

	if (r == NULL) /* taken to be on the link of a port that the sender asked for */
		r = weir_route_of_port(lc->stack, a->port->index);
	if (r == NULL || !r->has_src)
		return;
	arp_send(lc, a->port, WIRE_ARP_REQUEST, r->src.v4, NULL, a->ip.v4,
		 memcmp(a->mac, none, sizeof(none)) == 0 ? mac_all_ones : a->mac);
}

static struct ask
ask_for(struct weir_lcore *lc, struct weir_neigh *n)
{
	struct ask a = {.port = lc->stack->ports[n->port], .ip = n->ip};
	uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);

	if (usable(w))
		weir_neigh_mac(w, a.mac);
	n->tries++;
	n->deadline_ns = lc->now_ns + (uint64_t)lc->stack->conf.arp_retry_ms * WEIR_NS_PER_MS;
	return a;
}

enum weir_neigh_use
weir_neigh_use(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
	       const union weir_ip *ip, uint64_t *word)
{
	struct weir_stack *stack = lc->stack;
	struct weir_neigh *n = &stack->neigh[index];
	enum weir_neigh_use use = WEIR_NEIGH_READY;
	struct ask a;
	bool send = false;

	table_lock(stack->nctl);
	*word = atomic_load_explicit(&n->word, memory_order_relaxed);
	if (WEIR_NEIGH_STATE(*word) == WEIR_NEIGH_FREE || n->port != port->index ||
	    n->ip.w[0] != ip->w[0] || n->ip.w[1] != ip->w[1]) {
		table_unlock(stack->nctl);
		return WEIR_NEIGH_GONE;
	}
	n->used_ns = lc->now_ns;
	switch (WEIR_NEIGH_STATE(*word)) {
	case WEIR_NEIGH_STALE:
		n->tries = 0;
		set_state(n, NULL, WEIR_NEIGH_PROBE);
		a = ask_for(lc, n);
		send = true;
		break;
	case WEIR_NEIGH_FAILED:
		n->tries = 0;
		set_state(n, NULL, WEIR_NEIGH_INCOMPLETE);
		a = ask_for(lc, n);
		send = true;
		use = WEIR_NEIGH_WAIT;
		break;
	case WEIR_NEIGH_INCOMPLETE:
		if (n->tries == 0) {
			a = ask_for(lc, n);
			send = true;
		}
		use = WEIR_NEIGH_WAIT;
		break;
	default:
		break;
	}
	*word = atomic_load_explicit(&n->word, memory_order_relaxed);
	table_unlock(stack->nctl);
	if (send)
		send_ask(lc, &a);
	return use;
}

/* ---- held datagrams ---- */

/*
 * Tell the socket that sent it: host unreachable, as if a router had said so (RFC 1122 2.3.2.1), with an own
 * address as the offender. Only one that keeps errors hears of it. COLD.
 */
static void
report_failure(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_ip4 *ip = (const struct wire_ip4 *)(const void *)(p + WIRE_ETH_LEN);
	const struct wire_udp *udp = (const struct wire_udp *)(const void *)(ip + 1);
	struct weir_key key = {.family = WEIR_IPV4, .iface = (uint16_t)(port->index + 1)};
	struct weir_sockerr e = {.err = EHOSTUNREACH, .origin = 2, .type = 3, .code = 1};
	struct weir_socket *sk;
	const void *payload;

	if (m->data_len < WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)
		return;
	key.local.v4 = ip->src;
	key.lport = udp->sport;
	key.peer.v4 = ip->dst;
	key.pport = udp->dport;
	sk = weir_socktab_lookup(lc, &key);
	if (sk == NULL)
		return;
	e.to = weir_addr_v4(WIRE_BE32(ip->dst), WIRE_BE16(udp->dport));
	e.offender = weir_addr_v4(WIRE_BE32(ip->src), 0);
	e.len = RTE_MIN((uint32_t)(WIRE_BE16(udp->len) - WIRE_UDP_LEN),
			(uint32_t)sizeof(e.payload));
	payload = rte_pktmbuf_read(m, WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN, e.len, e.payload);
	if (payload == NULL)
		e.len = 0;
	else if (payload != e.payload)
		memcpy(e.payload, payload, e.len);
	weir_sock_report(sk, &e, false);
}

static void
hold_release(struct weir_lcore *lc, struct weir_hold *h, uint64_t word)
{
	const struct weir_port *port = lc->stack->ports[h->port];
	struct rte_mbuf *m = h->head;
	uint8_t mac[WIRE_ETH_ALEN];
	unsigned int n = h->n;
	bool ready = usable(word) && WEIR_NEIGH_VERSION(word) == h->version;

	*h = (struct weir_hold){0};
	lc->n_holds--;
	weir_count(&lc->c.tx_held_out, n);
	if (!ready) {
		for (const struct rte_mbuf *f = m; f != NULL;
		     f = weir_meta((struct rte_mbuf *)(uintptr_t)f)->next)
			report_failure(lc, port, f);
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

/* The slot for a neighbour; when all are taken the longest waiting one gives way. */
static struct weir_hold *
hold_slot(struct weir_lcore *lc, const struct weir_port *port, uint32_t index, uint8_t version)
{
	struct weir_hold *empty = NULL;
	struct weir_hold *oldest = &lc->holds[0];

	for (unsigned int i = 0; i < WEIR_HOLDS; i++) {
		struct weir_hold *h = &lc->holds[i];

		if (h->neigh == index + 1 && h->version == version)
			return h;
		if (h->neigh == 0 && empty == NULL)
			empty = h;
		if (h->since_ns < oldest->since_ns)
			oldest = h;
	}
	if (empty == NULL) {
		weir_count(&lc->c.tx_held_out, oldest->n);
		weir_drop_list(lc, WEIR_DROP_HOLD_FULL, oldest->head);
		lc->n_holds--;
		empty = oldest;
	}
	*empty = (struct weir_hold){.neigh = index + 1,
				    .port = port->index,
				    .version = version,
				    .since_ns = lc->now_ns};
	lc->n_holds++;
	return empty;
}

static void
hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index, uint8_t version,
     struct rte_mbuf *m)
{
	struct weir_neigh *n = &lc->stack->neigh[index];
	struct weir_hold *h = hold_slot(lc, port, index, version);
	uint64_t word;

	weir_meta(m)->next = NULL;
	weir_count(&lc->c.tx_held_in, 1);
	if (h->tail != NULL)
		weir_meta(h->tail)->next = m;
	else
		h->head = m;
	h->tail = m;
	if (++h->n > lc->stack->hold_max) {
		struct rte_mbuf *first = h->head;

		h->head = weir_meta(first)->next;
		h->n--;
		weir_count(&lc->c.tx_held_out, 1);
		weir_drop(lc, WEIR_DROP_HOLD_FULL, first);
	}
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
weir_neigh_hold(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		struct rte_mbuf *m)
{
	uint8_t version = WEIR_NEIGH_VERSION(weir_neigh_word(lc->stack, index));

	if (lc->kind == WEIR_LC_WORKER) {
		hold(lc, port, index, version, m);
		return;
	}
	/* No turn of its own in which to look after it: the queue's owner holds it. */
	m->port = port->index;
	weir_meta(m)->truesize = index;
	weir_meta(m)->drops = version;
	if (weir_mesh_frames(lc, lc->txb[port->index].owner, WEIR_MESH_HOLD, &m, 1) == 0)
		weir_drop(lc, WEIR_DROP_MESH_FULL_TX, m);
}

void
weir_neigh_hold_for(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m)
{
	hold(lc, port, weir_meta(m)->truesize, (uint8_t)weir_meta(m)->drops, m);
}

void
weir_neigh_changed(struct weir_lcore *lc, uint32_t index)
{
	uint64_t word;

	if (index >= lc->stack->nctl->n)
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
	for (unsigned int i = 0; i < WEIR_HOLDS; i++) {
		struct weir_hold *h = &lc->holds[i];

		if (h->neigh == 0)
			continue;
		weir_count(&lc->c.tx_held_out, h->n);
		weir_drop_list(lc, reason, h->head);
		*h = (struct weir_hold){0};
	}
	lc->n_holds = 0;
}

/* Tell everybody who holds datagrams for the entry. No lock held. */
static void
notify(struct weir_lcore *lc, uint32_t index)
{
	uint64_t waiters = atomic_exchange(&lc->stack->neigh[index].waiters, 0);

	while (waiters != 0) {
		uint16_t slot = (uint16_t)__builtin_ctzll(waiters);

		waiters &= waiters - 1;
		if (slot == lc->slot)
			weir_neigh_changed(lc, index);
		else if (slot < lc->stack->n_workers)
			/* Full ring: the holder finds out at its own house-keeping. */
			(void)weir_mesh_send(lc, slot, WEIR_MSG_NEIGH, index);
	}
}

/* ---- ARP in ---- */

/* Learn or confirm spa is-at sha. */
static void
learn(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
      const uint8_t *mac, bool may_create, bool solicited)
{
	struct weir_stack *stack = lc->stack;
	bool changed = false;
	uint32_t i;

	table_lock(stack->nctl);
	i = find(stack, port->index, ip, WEIR_IPV4);
	if (i == 0 && may_create)
		i = create(stack, port->index, ip, WEIR_IPV4, lc->now_ns);
	if (i != 0) {
		struct weir_neigh *n = &stack->neigh[i - 1];
		uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);
		bool known = usable(w);
		bool same = known && (w >> 16) == (make_word(mac, 0, 0) >> 16);

		if (WEIR_NEIGH_STATE(w) != WEIR_NEIGH_PERMANENT && !(same && !solicited)) {
			set_state(n, mac, solicited ? WEIR_NEIGH_REACHABLE : WEIR_NEIGH_STALE);
			n->tries = 0;
			n->deadline_ns = lc->now_ns +
					 (uint64_t)stack->conf.neigh_reachable_ms * WEIR_NS_PER_MS;
			if (!known)
				n->used_ns = lc->now_ns;
			changed = true;
		}
	}
	table_unlock(stack->nctl);
	if (changed)
		notify(lc, i - 1);
}

void
weir_neigh_arp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		     const struct wire_view *v)
{
	struct weir_stack *stack = lc->stack;
	const struct wire_arp *arp = rte_pktmbuf_mtod_offset(m, const struct wire_arp *, v->l2_len);
	union weir_ip spa = {.w = {0, 0}};
	union weir_ip tpa = {.w = {0, 0}};
	const struct weir_local *target;
	const struct weir_route *r;
	uint8_t sha[WIRE_ETH_ALEN];
	bool request = arp->op == WIRE_BE16(WIRE_ARP_REQUEST);
	bool for_us;

	spa.v4 = arp->spa;
	tpa.v4 = arp->tpa;
	memcpy(sha, arp->sha, sizeof(sha));
	/* RFC 826 leaves these open; none of them can be a host. */
	if ((!request && arp->op != WIRE_BE16(WIRE_ARP_REPLY)) || (sha[0] & 1) != 0 ||
	    (sha[0] | sha[1] | sha[2] | sha[3] | sha[4] | sha[5]) == 0 ||
	    (spa.b[0] & 0xf0) == 0xe0 || spa.v4 == 0xffffffff || spa.b[0] == 127) {
		weir_drop(lc, WEIR_DROP_ARP_BAD, m);
		return;
	}
	/* Ours means: an address of this port. Another port's address is not at this MAC. */
	target = weir_local_find(stack, &tpa, WEIR_IPV4);
	for_us =
		target != NULL && target->kind == WEIR_LOCAL_UNICAST && target->port == port->index;
	/* Learn from whom it concerns: on link here, not one of us, not a probe (RFC 5227). */
	r = weir_route_lookup(stack, &spa, WEIR_IPV4);
	if (spa.v4 != 0 && r != NULL && r->port == port && !r->has_gateway &&
	    weir_local4(stack, spa.v4) == WEIR_NOT_LOCAL) {
		if (for_us)
			learn(lc, port, &spa, sha, request, !request);
		else if (spa.v4 == tpa.v4) /* gratuitous: only what we know already */
			learn(lc, port, &spa, sha, false, false);
	} else if (for_us && weir_local4(stack, spa.v4) == WEIR_NOT_LOCAL) {
		/* Not on link here by any route: only whom we have asked here all the same. */
		learn(lc, port, &spa, sha, false, !request);
	}
	if (request && for_us)
		arp_send(lc, port, WIRE_ARP_REPLY, tpa.v4, sha, spa.v4, sha);
	weir_consume(lc, WEIR_PROTO_ARP, m);
}

/* ---- timers ---- */

/* Ages after which an entry that nobody used is forgotten. */
#define FORGET_FAILED_NS (5 * WEIR_NS_PER_S)
#define FORGET_STALE_NS  (600 * WEIR_NS_PER_S)

void
weir_neigh_tick(struct weir_lcore *lc)
{
	struct weir_stack *stack = lc->stack;
	struct weir_neigh_ctl *t = stack->nctl;
	uint64_t now = lc->now_ns;

	for (uint32_t i = 0; i < t->n; i++) {
		struct weir_neigh *n = &stack->neigh[i];
		struct ask a;
		bool send = false;
		bool failed = false;
		bool tight;

		if (WEIR_NEIGH_STATE(atomic_load_explicit(&n->word, memory_order_relaxed)) ==
		    WEIR_NEIGH_FREE)
			continue;
		table_lock(t);
		tight = t->n_free + t->limbo_n < t->n / 16 + 1;
		switch (WEIR_NEIGH_STATE(atomic_load_explicit(&n->word, memory_order_relaxed))) {
		case WEIR_NEIGH_INCOMPLETE:
		case WEIR_NEIGH_PROBE:
			if (n->tries == 0) { /* created, never asked for */
				if (tight || now - n->used_ns > FORGET_FAILED_NS)
					forget(stack, i);
			} else if (now >= n->deadline_ns) {
				if (n->tries < stack->conf.arp_retries) {
					a = ask_for(lc, n);
					send = true;
				} else {
					set_state(n, NULL, WEIR_NEIGH_FAILED);
					failed = true;
				}
			}
			break;
		case WEIR_NEIGH_REACHABLE:
			if (now >= n->deadline_ns) {
				set_state(n, NULL, WEIR_NEIGH_STALE);
				n->used_ns = now;
			}
			break;
		case WEIR_NEIGH_STALE:
			if (tight || now - n->used_ns > FORGET_STALE_NS)
				forget(stack, i);
			break;
		case WEIR_NEIGH_FAILED:
			if (tight || now - n->used_ns > FORGET_FAILED_NS)
				forget(stack, i);
			break;
		default:
			break;
		}
		table_unlock(t);
		if (send)
			send_ask(lc, &a);
		if (failed)
			notify(lc, i);
	}
}

/* ---- control ---- */

static int
set(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip, uint8_t family,
    const uint8_t *mac, enum weir_neigh_state state)
{
	struct weir_lcore *lc = stack->ctl_lcore;
	int ret = 0;
	uint32_t i;

	lc->now_ns = weir_clock_ns();
	table_lock(stack->nctl);
	i = find(stack, port->index, ip, family);
	if (mac == NULL) {
		if (i == 0)
			ret = -ENOENT;
		else
			forget(stack, i - 1);
	} else {
		if (i == 0)
			i = create(stack, port->index, ip, family, lc->now_ns);
		if (i == 0)
			ret = -ENOSPC;
		else
			set_state(&stack->neigh[i - 1], mac, state);
	}
	table_unlock(stack->nctl);
	if (ret == 0)
		notify(lc, i - 1);
	return ret;
}

int
weir_neigh_set(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
	       uint8_t family, const uint8_t *mac)
{
	return set(stack, port, ip, family, mac, WEIR_NEIGH_PERMANENT);
}

void
weir_neigh_restore(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
		   uint8_t family, enum weir_neigh_state state, const uint8_t *mac)
{
	switch (state) {
	case WEIR_NEIGH_PERMANENT:
		(void)set(stack, port, ip, family, mac, WEIR_NEIGH_PERMANENT);
		break;
	case WEIR_NEIGH_REACHABLE:
	case WEIR_NEIGH_STALE:
	case WEIR_NEIGH_PROBE:
		(void)set(stack, port, ip, family, mac, WEIR_NEIGH_STALE);
		break;
	default:
		(void)set(stack, port, ip, family, NULL, WEIR_NEIGH_FREE);
	}
}

void
weir_neigh_flush_port(struct weir_stack *stack, uint16_t port)
{
	table_lock(stack->nctl);
	for (uint32_t i = 0; i < stack->nctl->n; i++)
		if (WEIR_NEIGH_STATE(atomic_load_explicit(
			    &stack->neigh[i].word, memory_order_relaxed)) != WEIR_NEIGH_FREE &&
		    stack->neigh[i].port == port)
			forget(stack, i);
	table_unlock(stack->nctl);
}

enum weir_neigh_state
weir_neigh_get(struct weir_stack *stack, uint16_t port, const union weir_ip *ip, uint8_t family,
	       uint8_t *mac)
{
	enum weir_neigh_state state = WEIR_NEIGH_FREE;
	uint32_t i;

	table_lock(stack->nctl);
	i = find(stack, port, ip, family);
	if (i != 0) {
		uint64_t w = weir_neigh_word(stack, i - 1);

		state = WEIR_NEIGH_STATE(w);
		if (mac != NULL)
			weir_neigh_mac(w, mac);
	}
	table_unlock(stack->nctl);
	return state;
}

int
weir_neigh_init(struct weir_stack *stack)
{
	uint32_t n = stack->conf.max_neigh;
	uint32_t buckets = rte_align32pow2(n);
	struct weir_neigh_ctl *t;

	stack->neigh = rte_zmalloc("weir_neigh", n * sizeof(*stack->neigh), WEIR_CACHE_LINE);
	t = rte_zmalloc("weir_neigh", sizeof(*t), WEIR_CACHE_LINE);
	stack->nctl = t;
	if (stack->neigh == NULL || t == NULL)
		return -ENOMEM;
	t->n = n;
	t->mask = buckets - 1;
	t->free = rte_zmalloc("weir_neigh", n * sizeof(*t->free), 0);
	t->limbo = rte_zmalloc("weir_neigh", n * sizeof(*t->limbo), 0);
	t->limbo_token = rte_zmalloc("weir_neigh", n * sizeof(*t->limbo_token), 0);
	t->bucket = rte_zmalloc("weir_neigh", buckets * sizeof(*t->bucket), 0);
	if (t->free == NULL || t->limbo == NULL || t->limbo_token == NULL || t->bucket == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		t->free[t->n_free++] = n - 1 - i;
	return 0;
}

void
weir_neigh_fini(struct weir_stack *stack)
{
	struct weir_neigh_ctl *t = stack->nctl;

	if (t != NULL) {
		rte_free(t->free);
		rte_free(t->limbo);
		rte_free(t->limbo_token);
		rte_free(t->bucket);
	}
	rte_free(t);
	rte_free(stack->neigh);
	stack->nctl = NULL;
	stack->neigh = NULL;
}
