/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: our claims to addresses: duplicate address detection and announcements, conflicts. See ndp.h.
 *
 * One record per address of ours on a port. Lock: `lock` of struct weir_dad guards the records; control changes
 * them, the worker that has the tick moves them on, whoever hears somebody else looks one up - which is asked
 * only when the address is ours or some address is tentative. Frames, posts and logs come after it is given back.
 */
#include "ndp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_pause.h>

#include "arp.h"
#include "control_state.h"
#include "local.h"
#include "log.h"
#include "neigh.h"

/* RFC 4862 5.4.2 and RFC 5227 1.1 have the same delay before the first probe. */
#define PROBE_WAIT_NS      WEIR_NS_PER_S
#define PROBE4_MIN_NS      WEIR_NS_PER_S
#define PROBE4_MAX_NS      (2 * WEIR_NS_PER_S)
#define ANNOUNCE4_WAIT_NS  (2 * WEIR_NS_PER_S)
#define ANNOUNCE4_EVERY_NS (2 * WEIR_NS_PER_S)
#define ANNOUNCE4_NUM      2
#define DEFEND_NS          (10 * WEIR_NS_PER_S)
/* Frames per tick. */
#define TICK_FRAMES 32

enum claim_state {
	CLAIM_QUIET,     /* ours; nothing is due */
	CLAIM_NEW,       /* to be probed for, once the port runs and has a link */
	CLAIM_PROBING,   /* `left` probes to go, then a wait */
	CLAIM_ANNOUNCE,  /* `left` announcements to go */
	CLAIM_DUPLICATE, /* somebody else's; control has been told */
	CLAIM_TELL,      /* the same, control is still to be told */
};

struct claim {
	struct weir_addr addr;
	uint16_t port;
	uint8_t state; /* enum claim_state */
	uint8_t left;
	bool probed;      /* it was tentative */
	bool nonce_valid; /* a probe has been sent with it */
	uint8_t nonce[WEIR_NDP_NONCE];
	uint8_t mac[WIRE_ETH_ALEN]; /* of the other one */
	uint64_t due_ns;
	uint64_t defended_ns; /* 0: never */
};

struct weir_dad {
	atomic_uint lock;
	struct claim *claim;
	size_t n, cap;
	_Atomic uint32_t busy;      /* records with something to do */
	_Atomic uint32_t tentative; /* records that are probed for */
	_Atomic uint64_t conflicts;
	uint64_t rng;
};

static void
dad_lock(struct weir_dad *d)
{
	while (atomic_exchange_explicit(&d->lock, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(&d->lock, memory_order_relaxed) != 0)
			rte_pause();
}

static void
dad_unlock(struct weir_dad *d)
{
	atomic_store_explicit(&d->lock, 0, memory_order_release); /* pairs with dad_lock */
}

static uint64_t
below(struct weir_dad *d, uint64_t n)
{
	uint64_t r = d->rng += UINT64_C(0x9e3779b97f4a7c15);

	r = (r ^ (r >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	r = (r ^ (r >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (r ^ (r >> 31)) % n;
}

static bool
state_busy(uint8_t state)
{
	return state != CLAIM_QUIET && state != CLAIM_DUPLICATE;
}

static bool
state_tentative(uint8_t state)
{
	return state == CLAIM_NEW || state == CLAIM_PROBING;
}

/* Lock held, as for all that takes a claim. */
static void
enter(struct weir_dad *d, struct claim *c, enum claim_state state)
{
	/* Written under the lock, read without it. */
	atomic_store_explicit(&d->busy,
			      atomic_load_explicit(&d->busy, memory_order_relaxed) +
				      state_busy((uint8_t)state) - state_busy(c->state),
			      memory_order_relaxed);
	atomic_store_explicit(&d->tentative,
			      atomic_load_explicit(&d->tentative, memory_order_relaxed) +
				      state_tentative((uint8_t)state) - state_tentative(c->state),
			      memory_order_relaxed);
	c->state = (uint8_t)state;
}

static struct claim *
claim_of(struct weir_dad *d, uint16_t port, const union weir_ip *ip, uint8_t family)
{
	for (size_t i = 0; i < d->n; i++) {
		struct claim *c = &d->claim[i];

		if (c->port == port && c->addr.family == family && c->addr.ip.w[0] == ip->w[0] &&
		    c->addr.ip.w[1] == ip->w[1])
			return c;
	}
	return NULL;
}

/* ---- control ---- */

int
weir_dad_init(struct weir_stack *stack)
{
	int ret = weir_rdisc_init(stack);

	if (ret != 0)
		return ret;
	stack->dad = calloc(1, sizeof(*stack->dad));
	if (stack->dad == NULL)
		return -ENOMEM;
	stack->dad->rng = stack->hash_key[1] ^ stack->hash_key[2];
	return 0;
}

void
weir_dad_fini(struct weir_stack *stack)
{
	if (stack->dad != NULL)
		free(stack->dad->claim);
	free(stack->dad);
	stack->dad = NULL;
	weir_rdisc_fini(stack);
}

/* Room for one more; the lock is not held while memory is asked for. Control lock held. */
static int
grow(struct weir_dad *d)
{
	size_t cap = d->cap == 0 ? 8 : 2 * d->cap;
	struct claim *more;
	struct claim *old;

	if (d->n < d->cap)
		return 0;
	more = calloc(cap, sizeof(*more));
	if (more == NULL)
		return -ENOMEM;
	dad_lock(d);
	old = d->claim;
	if (d->n > 0)
		memcpy(more, old, d->n * sizeof(*more));
	d->claim = more;
	d->cap = cap;
	dad_unlock(d);
	free(old);
	return 0;
}

/* What an address is told by once it is ours. */
static enum claim_state
once_ours(const struct weir_port *port)
{
	return port->no_announce ? CLAIM_QUIET : CLAIM_ANNOUNCE;
}

int
weir_dad_start(struct weir_stack *stack, const struct weir_port *port, const struct weir_addr *addr)
{
	struct weir_dad *d = stack->dad;
	const uint8_t probes = addr->family == WEIR_IPV6 ? port->dad : port->dad4;
	struct claim *c;
	int ret;

	weir_dad_stop(stack, port, addr);
	ret = grow(d);
	if (ret != 0)
		return ret;
	dad_lock(d);
	c = &d->claim[d->n++];
	*c = (struct claim){.addr = *addr, .port = port->index, .probed = probes > 0};
	c->left = probes > 0 ? probes : 1;
	enter(d, c, probes > 0 ? CLAIM_NEW : once_ours(port));
	dad_unlock(d);
	return 0;
}

void
weir_dad_stop(struct weir_stack *stack, const struct weir_port *port, const struct weir_addr *addr)
{
	struct weir_dad *d = stack->dad;
	struct claim *c;

	dad_lock(d);
	c = claim_of(d, port->index, &addr->ip, addr->family);
	if (c != NULL) {
		enter(d, c, CLAIM_QUIET);
		*c = d->claim[--d->n];
	}
	dad_unlock(d);
}

void
weir_dad_port_up(struct weir_stack *stack, const struct weir_port *port)
{
	struct weir_dad *d = stack->dad;

	dad_lock(d);
	for (size_t i = 0; i < d->n; i++) {
		struct claim *c = &d->claim[i];

		if (c->port != port->index)
			continue;
		/* What was probed for on another link may be somebody's on this one. */
		if (state_tentative(c->state)) {
			c->left = c->addr.family == WEIR_IPV6 ? port->dad : port->dad4;
			enter(d, c, CLAIM_NEW);
		} else if (c->state == CLAIM_QUIET || c->state == CLAIM_ANNOUNCE) {
			c->left = 1;
			c->due_ns = 0;
			enter(d, c, once_ours(port));
		}
	}
	dad_unlock(d);
	weir_rdisc_port_up(stack, port);
}

/* ---- time ---- */

/* What is due of one claim, done when the lock is free. */
struct due {
	enum { DUE_NOTHING, DUE_PROBE, DUE_ANNOUNCE, DUE_UNIQUE, DUE_DUPLICATE } what;
	struct claim c;
};

/* Lock held. */
static void
claim_tick(struct weir_lcore *lc, struct weir_dad *d, struct claim *c, struct due *due)
{
	const struct weir_port *port = weir_port_at(lc->stack, c->port);
	const bool v6 = c->addr.family == WEIR_IPV6;
	uint64_t nonce;

	/* Before the link is seen up nobody hears us, and nobody's silence says anything. */
	if (port == NULL || !atomic_load_explicit(&port->announced, memory_order_relaxed))
		return;
	if (c->state == CLAIM_NEW) {
		c->due_ns = lc->now_ns + below(d, PROBE_WAIT_NS);
		enter(d, c, CLAIM_PROBING);
	}
	if (lc->now_ns < c->due_ns)
		return;
	if (c->state == CLAIM_TELL) {
		due->what = DUE_DUPLICATE;
	} else if (c->state == CLAIM_ANNOUNCE) {
		due->what = DUE_ANNOUNCE;
		c->due_ns = lc->now_ns + ANNOUNCE4_EVERY_NS;
		if (--c->left == 0)
			enter(d, c, CLAIM_QUIET);
	} else if (c->left == 0) {
		due->what = DUE_UNIQUE;
	} else {
		due->what = DUE_PROBE;
		nonce = below(d, UINT64_MAX);
		memcpy(c->nonce, &nonce, sizeof(c->nonce));
		c->nonce_valid = true;
		c->left--;
		if (v6)
			c->due_ns = lc->now_ns + weir_neigh_retry_ns(lc->stack, port);
		else if (c->left > 0)
			c->due_ns = lc->now_ns + PROBE4_MIN_NS +
				    below(d, PROBE4_MAX_NS - PROBE4_MIN_NS);
		else
			c->due_ns = lc->now_ns + ANNOUNCE4_WAIT_NS;
	}
	due->c = *c;
}

/* Control has heard of it: what comes next. */
static void
told(struct weir_lcore *lc, struct weir_dad *d, const struct claim *was)
{
	const struct weir_port *port = weir_port_at(lc->stack, was->port);
	struct claim *c;

	dad_lock(d);
	c = claim_of(d, was->port, &was->addr.ip, was->addr.family);
	if (c != NULL && c->state == was->state) {
		if (c->state == CLAIM_TELL) {
			enter(d, c, CLAIM_DUPLICATE);
		} else {
			c->left = c->addr.family == WEIR_IPV6 ? 1 : ANNOUNCE4_NUM;
			c->due_ns = lc->now_ns;
			enter(d, c, port != NULL ? once_ours(port) : CLAIM_QUIET);
		}
	}
	dad_unlock(d);
}

static void
perform(struct weir_lcore *lc, struct weir_dad *d, const struct due *due)
{
	const struct weir_port *port = weir_port_at(lc->stack, due->c.port);
	const union weir_ip *ip = &due->c.addr.ip;
	const bool v6 = due->c.addr.family == WEIR_IPV6;
	struct weir_post post = {.port = due->c.port, .addr = due->c.addr};

	if (port == NULL) /* has gone this moment */
		return;
	switch (due->what) {
	case DUE_PROBE:
		if (v6)
			weir_ndp_probe(lc, port, ip, due->c.nonce);
		else
			weir_arp_probe(lc, port, ip);
		break;
	case DUE_ANNOUNCE:
		if (v6)
			weir_ndp_announce(lc, port, ip);
		else
			weir_arp_announce(lc, port, ip);
		break;
	case DUE_UNIQUE:
	case DUE_DUPLICATE:
		post.kind =
			due->what == DUE_UNIQUE ? WEIR_POST_ADDR_UNIQUE : WEIR_POST_ADDR_DUPLICATE;
		memcpy(post.mac, due->c.mac, sizeof(post.mac));
		/* No room: again at the next tick. */
		if (weir_ctl_post(lc->stack, &post))
			told(lc, d, &due->c);
		break;
	case DUE_NOTHING:
		break;
	}
}

static void
dad_tick(struct weir_lcore *lc)
{
	struct weir_dad *d = lc->stack->dad;
	unsigned int frames = 0;

	if (d == NULL || atomic_load_explicit(&d->busy, memory_order_relaxed) == 0)
		return;
	for (size_t i = 0; frames < TICK_FRAMES; i++) {
		struct due due = {.what = DUE_NOTHING};

		dad_lock(d);
		while (i < d->n && !state_busy(d->claim[i].state))
			i++;
		if (i >= d->n) {
			dad_unlock(d);
			return;
		}
		claim_tick(lc, d, &d->claim[i], &due);
		dad_unlock(d);
		frames += due.what != DUE_NOTHING;
		perform(lc, d, &due);
	}
}

void
weir_ndp_tick(struct weir_lcore *lc)
{
	dad_tick(lc);
	weir_rdisc_tick(lc);
}

/* ---- others ---- */

static bool
mac_of_ours(const struct weir_stack *stack, const uint8_t *mac)
{
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		const struct weir_port *port = weir_port_at(stack, p);

		if (port != NULL && memcmp(port->parse.mac, mac, WIRE_ETH_ALEN) == 0)
			return true;
	}
	return false;
}

static bool
is_ours(struct weir_stack *stack, const union weir_ip *ip, uint8_t family)
{
	const struct weir_local *l = weir_local_find(stack, ip, family);

	return l != NULL && l->kind == WEIR_LOCAL_UNICAST;
}

/*
 * An address that we use is claimed by another. RFC 5227 2.4: it is kept, as a configured one has to be (c), and
 * defended at most once in DEFEND_NS, so that two who do so do not flood their link. Lock held.
 */
static bool
to_defend(struct weir_lcore *lc, struct weir_dad *d, struct claim *c)
{
	atomic_fetch_add_explicit(&d->conflicts, 1, memory_order_relaxed);
	if (c->defended_ns != 0 && lc->now_ns - c->defended_ns < DEFEND_NS)
		return false;
	c->defended_ns = lc->now_ns;
	return true;
}

bool
weir_dad_heard(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
	       uint8_t family, const uint8_t *mac, bool probe)
{
	struct weir_stack *stack = lc->stack;
	struct weir_dad *d = stack->dad;
	char text[WEIR_ADDR_STRLEN];
	bool duplicate = false;
	bool defend = false;
	struct weir_addr addr;
	struct claim *c;

	if (d == NULL ||
	    (atomic_load_explicit(&d->tentative, memory_order_relaxed) == 0 &&
	     (probe || !is_ours(stack, ip, family))) ||
	    mac_of_ours(stack, mac))
		return false;
	dad_lock(d);
	c = claim_of(d, port->index, ip, family);
	if (c != NULL && state_tentative(c->state)) {
		memcpy(c->mac, mac, sizeof(c->mac));
		c->due_ns = 0;
		enter(d, c, CLAIM_TELL);
		duplicate = true;
	} else if (c != NULL && !probe && (c->state == CLAIM_QUIET || c->state == CLAIM_ANNOUNCE)) {
		defend = to_defend(lc, d, c);
	}
	if (c != NULL)
		addr = c->addr;
	dad_unlock(d);
	if (defend) {
		if (family == WEIR_IPV6)
			weir_ndp_announce(lc, port, ip);
		else
			weir_arp_announce(lc, port, ip);
		/* At most once in DEFEND_NS for each address. */
		WEIR_LOG(WARNING,
			 "%s: port %u: %s is ours, but %02x:%02x:%02x:%02x:%02x:%02x uses it too",
			 stack->name, port->index, weir_addr_format(&addr, text, sizeof(text)),
			 mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	}
	return duplicate;
}

bool
weir_dad_own_nonce(struct weir_lcore *lc, const struct weir_port *port, const union weir_ip *ip,
		   const uint8_t nonce[WEIR_NDP_NONCE])
{
	struct weir_dad *d = lc->stack->dad;
	const struct claim *c;
	bool own;

	if (d == NULL || atomic_load_explicit(&d->tentative, memory_order_relaxed) == 0)
		return false;
	dad_lock(d);
	c = claim_of(d, port->index, ip, WEIR_IPV6);
	own = c != NULL && c->nonce_valid && memcmp(c->nonce, nonce, sizeof(c->nonce)) == 0;
	dad_unlock(d);
	return own;
}

uint64_t
weir_dad_conflicts(const struct weir_stack *stack)
{
	return stack->dad != NULL
		       ? atomic_load_explicit(&stack->dad->conflicts, memory_order_relaxed)
		       : 0;
}
