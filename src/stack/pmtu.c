/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See pmtu.h. COLD.
 *
 * A fixed array of sets of WAYS entries; the keyed hash of the destination names the set. Each entry is a
 * sequence lock of its own: odd while it is written. A reader that meets a writer takes the entry for absent; the
 * writer raises the stack's generation when it is done, so nobody keeps what he made of that. Fields are written
 * with release and read with acquire: who sees one of them sees the odd number that was there before it.
 *
 * Writers exclude each other by a word that is only ever tried. Who finds it taken goes away: a path that is too
 * narrow says so again.
 *
 * What a flood of forged messages can do: use up the changes per second that are allowed, and by them displace
 * other entries of their sets, at random. Memory is constant, and so is the work: most messages end at the bucket.
 */
#include "pmtu.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_pause.h>

#include "fib.h"

#define WAYS 4

/* Changes per second, and at once. Each makes every lcore look its cached routes up again. */
#define CHANGES 100
#define TOKEN   UINT64_C(1000)

#define MIN6 1280 /* RFC 8200 5 */

struct pmtu_entry {
	_Atomic uint32_t seq;
	_Atomic uint32_t what; /* MTU | LOCK | family << FAMILY_SHIFT; 0: free */
	_Atomic uint64_t dst[2];
	_Atomic uint64_t until_ns;
};
#define LOCK         (UINT32_C(1) << 16)
#define FAMILY_SHIFT 24

struct weir_pmtu {
	uint32_t n_sets, ways;
	_Atomic uint32_t n; /* entries in use; written by who has `busy` */
	atomic_uint busy;
	/* Of who has `busy`. */
	uint32_t cursor; /* next set that the tick looks at */
	uint64_t tokens, filled_ns;
	uint64_t draws;
	struct pmtu_entry e[];
};

static uint64_t
mix(uint64_t a, uint64_t b)
{
	__uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static struct pmtu_entry *
set_of(const struct weir_stack *stack, const union weir_ip *dst, uint8_t family)
{
	struct weir_pmtu *t = stack->pmtu;
	const uint64_t h = mix(mix(dst->w[0] ^ stack->hash_key[1], dst->w[1] ^ stack->hash_key[2]),
			       stack->hash_key[0] ^ family);

	return &t->e[(h >> 32) % t->n_sets * t->ways];
}

int
weir_pmtu_init(struct weir_stack *stack)
{
	const uint32_t max = stack->conf.max_pmtu;
	const uint32_t ways = RTE_MIN(max, (uint32_t)WAYS);
	uint32_t n_sets = ways == 0 ? 0 : max / ways;
	struct weir_pmtu *t = calloc(1, sizeof(*t) + (size_t)n_sets * ways * sizeof(t->e[0]));

	if (t == NULL)
		return -ENOMEM;
	t->n_sets = n_sets;
	t->ways = ways;
	t->tokens = CHANGES * TOKEN;
	stack->pmtu = t;
	return 0;
}

void
weir_pmtu_fini(struct weir_stack *stack)
{
	free(stack->pmtu);
	stack->pmtu = NULL;
}

/* ---- readers ---- */

struct pmtu_value {
	uint32_t what;
	uint64_t dst[2];
	uint64_t until_ns;
};

/* A whole entry, or false: it is being written. */
static bool
entry_read(const struct pmtu_entry *from, struct pmtu_value *v)
{
	struct pmtu_entry *e = (struct pmtu_entry *)(uintptr_t)from;
	const uint32_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);

	v->what = atomic_load_explicit(&e->what, memory_order_acquire);
	v->dst[0] = atomic_load_explicit(&e->dst[0], memory_order_acquire);
	v->dst[1] = atomic_load_explicit(&e->dst[1], memory_order_acquire);
	v->until_ns = atomic_load_explicit(&e->until_ns, memory_order_acquire);
	return (seq & 1) == 0 && atomic_load_explicit(&e->seq, memory_order_relaxed) == seq;
}

static bool
is_for(const struct pmtu_value *v, const union weir_ip *dst, uint8_t family)
{
	return v->what >> FAMILY_SHIFT == family && v->dst[0] == dst->w[0] &&
	       v->dst[1] == dst->w[1];
}

/* Farther ahead than an entry ever lives: the clock went back, and nothing is known of its age. */
static bool
is_over(const struct weir_stack *stack, const struct pmtu_value *v, uint64_t now_ns)
{
	return v->until_ns <= now_ns ||
	       v->until_ns - now_ns > stack->conf.pmtu_expire_ms * WEIR_NS_PER_MS;
}

uint16_t
weir_pmtu_get(const struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
	      uint64_t now_ns, bool *lock)
{
	const struct weir_pmtu *t = stack->pmtu;
	const struct pmtu_entry *set;

	*lock = false;
	if (t == NULL ||
	    atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&t->n, memory_order_acquire) == 0)
		return 0;
	set = set_of(stack, dst, family);
	for (uint32_t i = 0; i < t->ways; i++) {
		struct pmtu_value v;

		if (!entry_read(&set[i], &v) || !is_for(&v, dst, family))
			continue;
		if (is_over(stack, &v, now_ns))
			return 0;
		*lock = (v.what & LOCK) != 0;
		return (uint16_t)v.what;
	}
	return 0;
}

/* ---- writers ---- */

static bool
try_busy(struct weir_pmtu *t)
{
	return atomic_exchange_explicit(&t->busy, 1, memory_order_acquire) == 0;
}

static void
end_busy(struct weir_pmtu *t)
{
	atomic_store_explicit(&t->busy, 0, memory_order_release);
}

static void
entry_write(struct weir_pmtu *t, struct pmtu_entry *e, const struct pmtu_value *v)
{
	const uint32_t seq = atomic_load_explicit(&e->seq, memory_order_relaxed);
	const bool was = atomic_load_explicit(&e->what, memory_order_relaxed) != 0;
	const uint32_t n = atomic_load_explicit(&t->n, memory_order_relaxed);

	atomic_store_explicit(&e->seq, seq + 1, memory_order_relaxed);
	atomic_store_explicit(&e->what, v->what, memory_order_release);
	atomic_store_explicit(&e->dst[0], v->dst[0], memory_order_release);
	atomic_store_explicit(&e->dst[1], v->dst[1], memory_order_release);
	atomic_store_explicit(&e->until_ns, v->until_ns, memory_order_release);
	atomic_store_explicit(&e->seq, seq + 2, memory_order_release);
	atomic_store_explicit(&t->n, n + (v->what != 0) - was, memory_order_release);
}

static void
entry_free(struct weir_pmtu *t, struct pmtu_entry *e)
{
	entry_write(t, e, &(struct pmtu_value){0});
}

static bool
change_allowed(struct weir_pmtu *t, uint64_t now_ns)
{
	const uint64_t full = CHANGES * TOKEN;

	if (now_ns < t->filled_ns || now_ns - t->filled_ns >= WEIR_NS_PER_S) {
		/* A clock that went back fills nothing. */
		t->tokens = now_ns < t->filled_ns ? t->tokens : full;
		t->filled_ns = now_ns;
	} else if (now_ns - t->filled_ns >= WEIR_NS_PER_MS) {
		t->tokens = RTE_MIN(full,
				    t->tokens + CHANGES * (now_ns - t->filled_ns) / WEIR_NS_PER_MS);
		t->filled_ns = now_ns;
	}
	if (t->tokens < TOKEN)
		return false;
	t->tokens -= TOKEN;
	return true;
}

/* RFC 1191 7.1: what a path may carry that does not carry len bytes. 0: nothing that is less. */
static uint32_t
plateau(uint32_t len)
{
	static const uint16_t table[] = {32000, 17914, 8166, 4352, 2002, 1492, 1006, 508, 296, 68};

	for (size_t i = 0; i < RTE_DIM(table); i++)
		if (table[i] < len)
			return table[i];
	return 0;
}

/* What is to be kept of what the router said, 0: nothing. */
static uint32_t
believable(const struct weir_stack *stack, uint8_t family, uint32_t mtu, uint32_t sent_len)
{
	if (mtu > UINT16_MAX)
		return 0;
	if (family == WEIR_IPV6) /* RFC 8201 4: less than the minimum is not to be listened to */
		return mtu >= MIN6 ? mtu : 0;
	if (mtu == 0)
		mtu = plateau(sent_len);
	if (mtu == 0)
		return 0;
	return mtu < stack->conf.pmtu_min ? stack->conf.pmtu_min | LOCK : mtu;
}

/*
 * The entry for dst, or the one that has to make place for it: free, over, or any. *is: how it is; what 0 when it
 * is not dst's or not valid any more.
 */
static struct pmtu_entry *
entry_for(struct weir_stack *stack, const union weir_ip *dst, uint8_t family, uint64_t now_ns,
	  struct pmtu_value *is)
{
	struct weir_pmtu *t = stack->pmtu;
	struct pmtu_entry *set = set_of(stack, dst, family);
	struct pmtu_entry *place = NULL;

	for (uint32_t i = 0; i < t->ways; i++) {
		(void)entry_read(&set[i], is); /* nobody writes but us */
		if (is->what == 0 || is_over(stack, is, now_ns))
			place = &set[i];
		if (!is_for(is, dst, family))
			continue;
		if (place == &set[i])
			is->what = 0;
		return &set[i];
	}
	is->what = 0;
	if (place == NULL)
		place = &set[mix(++t->draws ^ stack->hash_key[3], stack->hash_key[1]) % t->ways];
	return place;
}

/* Under `busy`. True: changed. */
static bool
learn(struct weir_lcore *lc, const union weir_ip *dst, uint8_t family, uint32_t keep)
{
	struct weir_stack *stack = lc->stack;
	const uint64_t life_ns = stack->conf.pmtu_expire_ms * WEIR_NS_PER_MS;
	struct pmtu_value v;
	struct pmtu_entry *e = entry_for(stack, dst, family, lc->now_ns, &v);

	if (v.what != 0 && (uint16_t)keep >= (uint16_t)v.what &&
	    ((keep & LOCK) == 0 || (v.what & LOCK) != 0)) {
		/* The same again: it lives on, at the price of one store. Never up. */
		if ((uint16_t)keep == (uint16_t)v.what && v.until_ns - lc->now_ns < life_ns / 2)
			atomic_store_explicit(&e->until_ns, lc->now_ns + life_ns,
					      memory_order_release);
		return false;
	}
	if (!change_allowed(stack->pmtu, lc->now_ns))
		return false;
	v = (struct pmtu_value){
		.what = keep | (uint32_t)family << FAMILY_SHIFT,
		.dst = {dst->w[0], dst->w[1]},
		.until_ns = lc->now_ns + life_ns,
	};
	entry_write(stack->pmtu, e, &v);
	return true;
}

bool
weir_pmtu_learn(struct weir_lcore *lc, const union weir_ip *dst, uint8_t family, uint32_t mtu,
		uint32_t sent_len)
{
	struct weir_pmtu *t = lc->stack->pmtu;
	const uint32_t keep = believable(lc->stack, family, mtu, sent_len);
	bool changed;

	if (t == NULL || t->n_sets == 0 || keep == 0 || !try_busy(t))
		return false;
	changed = learn(lc, dst, family, keep);
	end_busy(t);
	if (changed)
		weir_fib_touch(lc->stack);
	return changed;
}

void
weir_pmtu_tick(struct weir_stack *stack, uint64_t now_ns)
{
	struct weir_pmtu *t = stack->pmtu;
	bool changed = false;

	if (t == NULL || atomic_load_explicit(&t->n, memory_order_relaxed) == 0 || !try_busy(t))
		return;
	/* All of them in 16 ticks; of a small table all at once. */
	for (uint32_t k = RTE_MAX(t->n_sets / 16, RTE_MIN(t->n_sets, 64u)); k > 0; k--) {
		struct pmtu_entry *set = &t->e[(size_t)t->cursor * t->ways];

		for (uint32_t i = 0; i < t->ways; i++) {
			struct pmtu_value v;

			(void)entry_read(&set[i], &v);
			if (v.what == 0 || !is_over(stack, &v, now_ns))
				continue;
			entry_free(t, &set[i]);
			changed = true;
		}
		t->cursor = (t->cursor + 1) % t->n_sets;
	}
	end_busy(t);
	if (changed)
		weir_fib_touch(stack);
}

void
weir_pmtu_flush(struct weir_stack *stack)
{
	struct weir_pmtu *t = stack->pmtu;

	if (t == NULL)
		return;
	while (!try_busy(t))
		rte_pause();
	for (size_t i = 0; i < (size_t)t->n_sets * t->ways; i++)
		entry_free(t, &t->e[i]);
	end_busy(t);
	weir_fib_touch(stack);
}
