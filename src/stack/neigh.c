/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: neighbour table, states, timers. See neigh.h for the rules and the state picture.
 *
 * Lock: `lock` of struct weir_neigh_ctl guards changes of entries, chains, lists and free lists. It is taken
 * on creation, on a change of state and by timers, never by a sender whose neighbour is known. Questions are
 * sent after it is given back.
 */
#include "neigh.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>
#include <rte_pause.h>

#include "arp.h"
#include "fib.h"
#include "local.h"
#include "mesh.h"
#include "ndp.h"
#include "rcu.h"

/* RFC 4861 10. */
#define DELAY_FIRST_PROBE_NS (5 * WEIR_NS_PER_S)
#define MAX_UNICAST_SOLICIT  3
/* Ages after which an entry that nobody used is forgotten. */
#define FORGET_FAILED_NS (5 * WEIR_NS_PER_S)
#define FORGET_STALE_NS  (600 * WEIR_NS_PER_S)
/* Not asked for, after the second failure in a row: a second, doubled each time. */
#define BACK_OFF_MAX_S 32u
/* Entries that one tick looks at, so that a large table does not hold a worker up. */
#define TICK_ENTRIES 2048

struct class_list {
	uint32_t oldest, newest; /* index + 1 */
	uint32_t n;
	uint32_t limbo; /* of this class, waiting for their grace period */
	uint32_t max;   /* beyond it the oldest give way; 0: no limit of its own */
	uint32_t max_limbo;
};

struct weir_neigh_ctl {
	atomic_uint lock;
	uint32_t n; /* size of the table */
	uint32_t n_free, limbo_head, limbo_n;
	uint32_t mask;   /* of buckets */
	uint32_t *free;  /* stack of indexes */
	uint32_t *limbo; /* FIFO of indexes waiting for their grace period */
	uint64_t *limbo_token;
	_Atomic uint32_t *bucket; /* index + 1 */
	struct class_list list[WEIR_NEIGH_CLASSES];
	uint32_t spare; /* indexes to have free, or soon free */
	uint32_t share; /* what a class of unproven ones keeps even when the table is full */
	uint64_t rng;
	_Atomic uint32_t tick_at;
	_Atomic uint32_t reachable_ms[WEIR_ALL_PORTS]; /* as advertised; 0: as configured */
	_Atomic uint32_t retrans_ms[WEIR_ALL_PORTS];
};

/* What has to be sent once the lock is free. */
struct ask {
	const struct weir_port *port;
	union weir_ip ip;
	uint8_t family;
	bool known; /* mac is; else everybody is asked */
	uint8_t mac[WIRE_ETH_ALEN];
};

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
same_mac(uint64_t word, const uint8_t *mac)
{
	return word >> 16 == make_word(mac, 0, WEIR_NEIGH_FREE) >> 16;
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

/* ---- shares of the table; lock held ---- */

static void
list_out(struct weir_stack *stack, uint32_t index)
{
	struct weir_neigh *n = &stack->neigh[index];
	struct class_list *l = &stack->nctl->list[n->class];

	if (n->class == WEIR_NEIGH_UNLISTED)
		return;
	*(n->older != 0 ? &stack->neigh[n->older - 1].newer : &l->oldest) = n->newer;
	*(n->newer != 0 ? &stack->neigh[n->newer - 1].older : &l->newest) = n->older;
	l->n--;
}

/* Into a class, as its newest; also a way to say that it has just been used. */
static void
list_in(struct weir_stack *stack, uint32_t index, enum weir_neigh_class class)
{
	struct weir_neigh *n = &stack->neigh[index];
	struct class_list *l = &stack->nctl->list[class];

	list_out(stack, index);
	n->class = (uint8_t) class;
	if (class == WEIR_NEIGH_UNLISTED)
		return;
	n->older = l->newest;
	n->newer = 0;
	*(l->newest != 0 ? &stack->neigh[l->newest - 1].newer : &l->oldest) = index + 1;
	l->newest = index + 1;
	l->n++;
}

/* Indexes whose grace period is over become free. */
static void
drain_limbo(struct weir_stack *stack)
{
	struct weir_neigh_ctl *t = stack->nctl;

	while (t->limbo_n > 0 && weir_rcu_passed(stack, t->limbo_token[t->limbo_head])) {
		uint32_t index = t->limbo[t->limbo_head];

		t->free[t->n_free++] = index;
		t->list[stack->neigh[index].class].limbo--;
		stack->neigh[index].class = WEIR_NEIGH_UNLISTED;
		t->limbo_head = (t->limbo_head + 1) % t->n;
		t->limbo_n--;
	}
}

/* Take an entry out of its chain; it may be used again after a grace period. */
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
	list_out(stack, index);
	t->list[n->class].limbo++;
	t->limbo[tail] = index;
	t->limbo_token[tail] = rte_rcu_qsbr_start(stack->rcu);
	t->limbo_n++;
}

/* Proven ones that are looked at for one that is not reachable just now. */
#define VICTIM_SCAN 64

/* Whom the table can best do without, index + 1; 0: all that is left is permanent. */
static uint32_t
victim(const struct weir_stack *stack)
{
	const struct weir_neigh_ctl *t = stack->nctl;
	const struct class_list *asked = &t->list[WEIR_NEIGH_ASKED];
	const struct class_list *heard = &t->list[WEIR_NEIGH_HEARD];
	const struct class_list *proven = &t->list[WEIR_NEIGH_PROVEN];
	uint32_t i = proven->oldest;

	if (asked->n > t->share && asked->n >= heard->n)
		return asked->oldest;
	if (heard->n > t->share)
		return heard->oldest;
	for (unsigned int k = 0; i != 0 && k < VICTIM_SCAN; k++) {
		uint64_t w = atomic_load_explicit(&stack->neigh[i - 1].word, memory_order_relaxed);

		if (WEIR_NEIGH_STATE(w) != WEIR_NEIGH_REACHABLE)
			return i;
		i = stack->neigh[i - 1].newer;
	}
	if (proven->n != 0)
		return proven->oldest;
	return heard->n != 0 ? heard->oldest : asked->oldest;
}

/*
 * Is there an index for one more of this class? Makes room for those to come: what gives way now is free
 * after a grace period, so what one burst of strangers can bring in is bounded by what has been made ready.
 */
static bool
make_room(struct weir_stack *stack, enum weir_neigh_class class)
{
	struct weir_neigh_ctl *t = stack->nctl;
	struct class_list *l = &t->list[class];
	uint32_t gone;

	drain_limbo(stack);
	if (l->max != 0 && l->n >= l->max) {
		if (l->limbo >= l->max_limbo || t->n_free == 0)
			return false;
		forget(stack, l->oldest - 1);
	}
	while (t->n_free + t->limbo_n <= t->spare && (gone = victim(stack)) != 0)
		forget(stack, gone - 1);
	return t->n_free != 0;
}

/* A new entry in state incomplete, nothing asked yet. Index + 1, 0: table full. Lock held. */
static uint32_t
create(struct weir_stack *stack, uint16_t port, const union weir_ip *ip, uint8_t family,
       enum weir_neigh_class class, uint64_t now_ns)
{
	struct weir_neigh_ctl *t = stack->nctl;
	struct weir_neigh *n;
	_Atomic uint32_t *head;
	uint32_t i;

	if (!make_room(stack, class))
		return 0;
	i = t->free[--t->n_free];
	n = &stack->neigh[i];
	n->ip = *ip;
	n->port = port;
	n->family = family;
	n->tries = 0;
	n->failures = 0;
	n->router = false;
	n->used_ns = now_ns;
	atomic_store_explicit(&n->deadline_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&n->waiters, 0, memory_order_relaxed);
	set_state(n, NULL, WEIR_NEIGH_INCOMPLETE);
	list_in(stack, i, class);
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
			i = create(stack, port->index, ip, family, WEIR_NEIGH_ASKED, lc->now_ns);
		table_unlock(stack->nctl);
	}
	if (i == 0)
		return false;
	*index = i - 1;
	return true;
}

/* ---- states; lock held ---- */

static void
set_deadline(struct weir_neigh *n, uint64_t ns)
{
	atomic_store_explicit(&n->deadline_ns, ns, memory_order_relaxed);
}

static uint64_t
deadline(const struct weir_neigh *n)
{
	return atomic_load_explicit(&n->deadline_ns, memory_order_relaxed);
}

static uint64_t
reachable_ns(const struct weir_stack *stack, uint16_t port)
{
	uint32_t ms = atomic_load_explicit(&stack->nctl->reachable_ms[port], memory_order_relaxed);

	return (uint64_t)(ms != 0 ? ms : stack->conf.neigh_reachable_ms) * WEIR_NS_PER_MS;
}

static uint64_t
retry_ns(const struct weir_stack *stack, uint16_t port)
{
	uint32_t ms = atomic_load_explicit(&stack->nctl->retrans_ms[port], memory_order_relaxed);

	return (uint64_t)(ms != 0 ? ms : stack->conf.arp_retry_ms) * WEIR_NS_PER_MS;
}

uint64_t
weir_neigh_retry_ns(const struct weir_stack *stack, const struct weir_port *port)
{
	return retry_ns(stack, port->index);
}

void
weir_neigh_times(struct weir_stack *stack, const struct weir_port *port, uint32_t reachable_ms,
		 uint32_t retrans_ms)
{
	/* An hour and a minute: nobody's router shall make us ask for ever, or never. */
	if (reachable_ms != 0)
		atomic_store_explicit(&stack->nctl->reachable_ms[port->index],
				      RTE_MAX(1000u, RTE_MIN(reachable_ms, 3600000u)),
				      memory_order_relaxed);
	if (retrans_ms != 0)
		atomic_store_explicit(&stack->nctl->retrans_ms[port->index],
				      RTE_MAX(100u, RTE_MIN(retrans_ms, 60000u)),
				      memory_order_relaxed);
}

/* RFC 4861 6.3.2: 0.5 to 1.5 of the base, so that stations do not ask in step. */
static void
become_reachable(struct weir_stack *stack, uint32_t index, const uint8_t *mac, uint64_t now_ns)
{
	struct weir_neigh *n = &stack->neigh[index];
	uint64_t base = reachable_ns(stack, n->port);
	uint64_t r = stack->nctl->rng += UINT64_C(0x9e3779b97f4a7c15);

	r = (r ^ (r >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	set_deadline(n, now_ns + base / 2 + (r >> 11) % (base + 1));
	n->tries = 0;
	n->failures = 0;
	n->used_ns = now_ns;
	list_in(stack, index, WEIR_NEIGH_PROVEN);
	set_state(n, mac, WEIR_NEIGH_REACHABLE);
}

static void
become_failed(struct weir_stack *stack, uint32_t index, uint64_t now_ns)
{
	struct weir_neigh *n = &stack->neigh[index];
	uint32_t back_off_s = 0;

	if (n->failures < UINT8_MAX)
		n->failures++;
	if (n->failures > 1)
		back_off_s = RTE_MIN(1u << RTE_MIN(n->failures - 2, 16), BACK_OFF_MAX_S);
	set_deadline(n, now_ns + back_off_s * WEIR_NS_PER_S);
	n->used_ns = now_ns;
	list_in(stack, index, WEIR_NEIGH_ASKED);
	set_state(n, NULL, WEIR_NEIGH_FAILED);
}

static struct ask
ask_for(struct weir_lcore *lc, struct weir_neigh *n)
{
	struct ask a = {.port = weir_port_at(lc->stack, n->port), .ip = n->ip, .family = n->family};
	uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);

	a.known = weir_neigh_usable(w);
	if (a.known)
		weir_neigh_mac(w, a.mac);
	n->tries++;
	set_deadline(n, lc->now_ns + retry_ns(lc->stack, n->port));
	return a;
}

bool
weir_neigh_source(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
		  uint8_t family, union weir_ip *src)
{
	int best = -1;
	uint32_t n;
	const struct weir_local_addr *a = weir_local_addrs(stack, &n);

	for (; n > 0; n--, a++) {
		int fit = 0;

		if (a->family != family || a->tentative || a->port != port->index)
			continue;
		if (family == WEIR_IPV6 && weir_ip6_is_link_local(&a->ip))
			fit = 256;
		else if (weir_ip_in(ip, &a->ip, family, a->bits))
			fit = 1 + a->bits;
		if (fit > best) {
			best = fit;
			*src = a->ip;
		}
	}
	return best >= 0;
}

/* Everybody while nothing is known, else the MAC known so far. Lock not held. */
static void
send_ask(struct weir_lcore *lc, const struct ask *a)
{
	if (a->port == NULL) /* is being removed; its entries go in a moment */
		return;
	if (a->family == WEIR_IPV4)
		weir_arp_ask(lc, a->port, &a->ip, a->known ? a->mac : NULL);
	else
		weir_ndp_solicit(lc, a->port, &a->ip, a->known ? a->mac : NULL);
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
	if (n->class == WEIR_NEIGH_PROVEN || n->class == WEIR_NEIGH_HEARD)
		list_in(stack, index, (enum weir_neigh_class)n->class);
	switch (WEIR_NEIGH_STATE(*word)) {
	case WEIR_NEIGH_STALE: /* perhaps what we send is answered: RFC 4861 7.3.3 */
		n->tries = 0;
		set_deadline(n, lc->now_ns + DELAY_FIRST_PROBE_NS);
		set_state(n, NULL, WEIR_NEIGH_DELAY);
		break;
	case WEIR_NEIGH_FAILED:
		use = WEIR_NEIGH_WAIT;
		if (lc->now_ns < deadline(n))
			break;
		n->tries = 0;
		set_state(n, NULL, WEIR_NEIGH_INCOMPLETE);
		a = ask_for(lc, n);
		send = true;
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

void
weir_neigh_confirm(struct weir_lcore *lc, const struct weir_port *port, uint32_t index,
		   uint64_t word)
{
	struct weir_stack *stack = lc->stack;
	struct weir_neigh *n = &stack->neigh[index];
	uint64_t w = weir_neigh_word(stack, index);
	uint64_t ends = deadline(n);

	/* Half the shortest time is left: fresh enough. */
	if (WEIR_NEIGH_STATE(w) == WEIR_NEIGH_REACHABLE &&
	    ends > lc->now_ns + reachable_ns(stack, port->index) / 4)
		return;
	if (!weir_neigh_usable(w) || WEIR_NEIGH_STATE(w) == WEIR_NEIGH_PERMANENT)
		return;
	table_lock(stack->nctl);
	w = atomic_load_explicit(&n->word, memory_order_relaxed);
	if (weir_neigh_usable(w) && WEIR_NEIGH_STATE(w) != WEIR_NEIGH_PERMANENT &&
	    WEIR_NEIGH_VERSION(w) == WEIR_NEIGH_VERSION(word) && w >> 16 == word >> 16)
		become_reachable(stack, index, NULL, lc->now_ns);
	table_unlock(stack->nctl);
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

/* ---- what is heard ---- */

/* Lock held. The entry's new state by RFC 4861 7.2.3 and 7.2.5. False: as before. */
static bool
apply(struct weir_stack *stack, uint32_t index, const struct weir_neigh_claim *c, uint64_t now_ns)
{
	struct weir_neigh *n = &stack->neigh[index];
	const uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);
	const enum weir_neigh_state state = WEIR_NEIGH_STATE(w);
	const bool known = weir_neigh_usable(w);
	const bool differs = known && c->mac != NULL && !same_mac(w, c->mac);
	const uint8_t *mac = c->mac;

	if (state == WEIR_NEIGH_PERMANENT || (!known && mac == NULL))
		return false;
	if (c->answer && known && differs && !c->override) {
		if (state != WEIR_NEIGH_REACHABLE)
			return false;
		mac = NULL; /* in doubt, no more */
	} else if (c->answer && c->solicited) {
		become_reachable(stack, index, mac, now_ns);
		return true;
	} else if (known && !differs) {
		return false;
	}
	if (!known)
		n->used_ns = now_ns;
	n->tries = 0;
	n->failures = 0;
	if (n->class == WEIR_NEIGH_ASKED) {
		const struct class_list *heard = &stack->nctl->list[WEIR_NEIGH_HEARD];

		if (heard->n >= heard->max)
			forget(stack, heard->oldest - 1);
		list_in(stack, index, WEIR_NEIGH_HEARD);
	}
	set_state(n, mac, WEIR_NEIGH_STALE);
	return true;
}

bool
weir_neigh_learn(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		 uint8_t family, const struct weir_neigh_claim *claim)
{
	struct weir_stack *stack = lc->stack;
	bool changed = false;
	bool no_router = false;
	uint32_t i;

	table_lock(stack->nctl);
	i = find(stack, port->index, ip, family);
	if (i == 0 && claim->create && claim->mac != NULL)
		i = create(stack, port->index, ip, family, WEIR_NEIGH_HEARD, lc->now_ns);
	if (i != 0) {
		struct weir_neigh *n = &stack->neigh[i - 1];

		changed = apply(stack, i - 1, claim, lc->now_ns);
		if (claim->has_router) {
			no_router = n->router && !claim->router;
			n->router = claim->router;
		}
	}
	table_unlock(stack->nctl);
	if (changed)
		notify(lc, i - 1);
	return no_router;
}

/* ---- timers ---- */

/* What is due of one entry; lock held. */
struct due {
	struct ask ask;
	bool send, failed;
};

static void
entry_tick(struct weir_lcore *lc, uint32_t index, struct due *due)
{
	struct weir_stack *stack = lc->stack;
	struct weir_neigh *n = &stack->neigh[index];
	const uint64_t w = atomic_load_explicit(&n->word, memory_order_relaxed);
	const uint64_t now = lc->now_ns;
	uint32_t most = stack->conf.arp_retries;

	switch (WEIR_NEIGH_STATE(w)) {
	case WEIR_NEIGH_DELAY:
		if (now < deadline(n))
			break;
		n->tries = 0;
		set_state(n, NULL, WEIR_NEIGH_PROBE);
		due->ask = ask_for(lc, n);
		due->send = true;
		break;
	case WEIR_NEIGH_PROBE:
		most = RTE_MIN(most, (uint32_t)MAX_UNICAST_SOLICIT);
		/* fall through */
	case WEIR_NEIGH_INCOMPLETE:
		if (n->tries == 0) { /* created, never asked for */
			if (now - n->used_ns > FORGET_FAILED_NS)
				forget(stack, index);
		} else if (now >= deadline(n)) {
			if (n->tries < most) {
				due->ask = ask_for(lc, n);
				due->send = true;
			} else {
				become_failed(stack, index, now);
				due->failed = true;
			}
		}
		break;
	case WEIR_NEIGH_REACHABLE:
		if (now >= deadline(n)) {
			set_state(n, NULL, WEIR_NEIGH_STALE);
			n->used_ns = now;
		}
		break;
	case WEIR_NEIGH_STALE:
		if (now - n->used_ns > FORGET_STALE_NS)
			forget(stack, index);
		break;
	case WEIR_NEIGH_FAILED:
		if (deadline(n) > n->used_ns && now >= deadline(n)) {
			/* Senders that know the word look again: they may ask. */
			n->used_ns = now;
			set_deadline(n, 0);
			atomic_store(&n->word, ((w + 0x100) & 0xff00) | WEIR_NEIGH_FAILED);
		} else if (now >= deadline(n) && now - n->used_ns > FORGET_FAILED_NS) {
			forget(stack, index);
		}
		break;
	default:
		break;
	}
}

void
weir_neigh_tick(struct weir_lcore *lc)
{
	struct weir_stack *stack = lc->stack;
	struct weir_neigh_ctl *t = stack->nctl;
	uint32_t n = RTE_MIN(t->n, (uint32_t)TICK_ENTRIES);
	uint32_t at = atomic_load_explicit(&t->tick_at, memory_order_relaxed);

	while (n-- > 0) {
		const uint32_t i = at;
		struct due due = {.send = false};

		at = at + 1 < t->n ? at + 1 : 0;
		if (WEIR_NEIGH_STATE(atomic_load_explicit(&stack->neigh[i].word,
							  memory_order_relaxed)) == WEIR_NEIGH_FREE)
			continue;
		table_lock(t);
		entry_tick(lc, i, &due);
		table_unlock(t);
		if (due.send)
			send_ask(lc, &due.ask);
		if (due.failed)
			notify(lc, i);
	}
	atomic_store_explicit(&t->tick_at, at, memory_order_relaxed);
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
			i = create(stack, port->index, ip, family, WEIR_NEIGH_UNLISTED, lc->now_ns);
		if (i == 0) {
			ret = -ENOSPC;
		} else {
			list_in(stack, i - 1,
				state == WEIR_NEIGH_PERMANENT ? WEIR_NEIGH_UNLISTED
							      : WEIR_NEIGH_PROVEN);
			set_state(&stack->neigh[i - 1], mac, state);
		}
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
	case WEIR_NEIGH_DELAY:
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

uint32_t
weir_neigh_count(struct weir_stack *stack, enum weir_neigh_class class)
{
	uint32_t n;

	table_lock(stack->nctl);
	n = stack->nctl->list[class].n;
	table_unlock(stack->nctl);
	return n;
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
	t->spare = n / 16;
	t->share = n / 16;
	t->list[WEIR_NEIGH_ASKED].max = RTE_MAX(n * 3 / 8, 1u);
	t->list[WEIR_NEIGH_ASKED].max_limbo = RTE_MAX(n / 8, 1u);
	t->list[WEIR_NEIGH_HEARD].max = RTE_MAX(n * 3 / 16, 1u);
	t->list[WEIR_NEIGH_HEARD].max_limbo = RTE_MAX(n / 16, 1u);
	t->rng = stack->hash_key[0] ^ stack->hash_key[3];
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
