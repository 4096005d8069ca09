/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routing table against a list that is searched from end to end; transactions, memory, generations, and readers
 * beside a writer.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "common/ut.h"
#include "common/ut_eal.h"
#include "common/ut_fail.h"
#include "common/ut_tsan.h"

#include "fib_rig.h"
#include "rcu.h"

/* ---- the reference ---- */

#define REF_MAX 4096

struct ref {
	struct weir_route r;
	struct weir_nexthop hop[3];
	uint64_t seq;
};

struct model {
	struct ref ref[REF_MAX];
	unsigned int n;
	uint64_t seq;
};

/* Bit by bit, unlike the code. */
static bool
bits_equal(const union weir_ip *a, const union weir_ip *b, unsigned int bits)
{
	for (unsigned int i = 0; i < bits; i++)
		if (((a->b[i / 8] ^ b->b[i / 8]) >> (7 - i % 8) & 1) != 0)
			return false;
	return true;
}

static bool
same_key(const struct ref *a, const struct weir_route *b)
{
	return a->r.family == b->family && a->r.bits == b->bits &&
	       bits_equal(&a->r.prefix, &b->prefix, 128) && a->r.from_bits == b->from_bits &&
	       bits_equal(&a->r.from, &b->from, 128) && a->r.metric == b->metric &&
	       a->r.connected == b->connected &&
	       (!a->r.connected || (a->hop[0].port == b->hop[0].port &&
				    bits_equal(&a->hop[0].src, &b->hop[0].src, 128)));
}

static struct ref *
model_exact(struct model *m, const struct weir_route *like)
{
	for (unsigned int i = 0; i < m->n; i++)
		if (same_key(&m->ref[i], like))
			return &m->ref[i];
	return NULL;
}

static void
model_add(struct model *m, const struct weir_route *r)
{
	struct ref *f = &m->ref[m->n++];

	assert_true(m->n <= REF_MAX);
	f->r = *r;
	for (unsigned int i = 0; i < r->n_hops; i++)
		f->hop[i] = r->hop[i];
	f->r.hop = f->hop;
	f->seq = m->seq++;
}

static void
model_del(struct model *m, struct ref *f)
{
	*f = m->ref[--m->n];
	f->r.hop = f->hop;
}

/* Does a route for the same destination come before another? */
static bool
wins(const struct ref *a, const struct ref *b)
{
	if (a->r.bits != b->r.bits)
		return a->r.bits > b->r.bits;
	if (a->r.from_bits != b->r.from_bits)
		return a->r.from_bits > b->r.from_bits;
	if (a->r.metric != b->r.metric)
		return a->r.metric < b->r.metric;
	if (a->r.connected != b->r.connected)
		return a->r.connected;
	return a->seq < b->seq;
}

static const struct ref *
model_lookup(const struct model *m, const union weir_ip *dst, uint8_t family,
	     const union weir_ip *from, int port)
{
	const struct ref *best = NULL;

	for (unsigned int i = 0; i < m->n; i++) {
		const struct ref *f = &m->ref[i];
		bool usable = f->r.n_hops == 0;

		if (f->r.family != family || !bits_equal(&f->r.prefix, dst, f->r.bits))
			continue;
		if (f->r.from_bits != 0 &&
		    (from == NULL || !bits_equal(&f->r.from, from, f->r.from_bits)))
			continue;
		for (unsigned int h = 0; h < f->r.n_hops; h++)
			usable |= f->hop[h].port->link_up && !f->hop[h].port->dead &&
				  (port < 0 || f->hop[h].port->index == port);
		if (usable && (best == NULL || wins(f, best)))
			best = f;
	}
	return best;
}

/* ---- random routes ---- */

static struct ut_rng rng_state;

static uint32_t
rnd(uint32_t n)
{
	return ut_rand_below(&rng_state, n);
}

static void
mask_ip(union weir_ip *ip, unsigned int bits)
{
	for (unsigned int i = bits; i < 128; i++)
		ip->b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

/* Close together, so that prefixes nest, share nodes and part in every bit. */
static union weir_ip
random_ip(uint8_t family)
{
	union weir_ip ip = {.w = {0, 0}};
	unsigned int n = family == WEIR_IPV4 ? 4 : 16;

	for (unsigned int i = 0; i < n; i++)
		ip.b[i] = rnd(3) == 0 ? (uint8_t)rnd(256) : (uint8_t)(rnd(2) << rnd(8));
	return ip;
}

static uint8_t
random_bits(uint8_t family)
{
	return (uint8_t)rnd(family == WEIR_IPV4 ? 33 : 129);
}

static void
random_route(struct weir_stack *s, struct weir_route *r, struct weir_nexthop hop[3])
{
	memset(r, 0, sizeof(*r));
	memset(hop, 0, 3 * sizeof(*hop));
	r->family = rnd(2) == 0 ? WEIR_IPV4 : WEIR_IPV6;
	r->bits = random_bits(r->family);
	r->prefix = random_ip(r->family);
	mask_ip(&r->prefix, r->bits);
	r->metric = rnd(3);
	if (rnd(4) == 0) {
		r->from_bits = random_bits(r->family);
		r->from = random_ip(r->family);
		mask_ip(&r->from, r->from_bits);
	}
	r->kind = rnd(8) == 0 ? (uint8_t)(WEIR_ROUTE_LOCAL + rnd(4)) : WEIR_ROUTE_UNICAST;
	r->hop = hop;
	if (r->kind == WEIR_ROUTE_UNICAST) {
		r->n_hops = (uint8_t)(1 + rnd(3));
		r->connected = rnd(8) == 0;
	}
	for (unsigned int i = 0; i < r->n_hops; i++) {
		hop[i].port = s->ports[rnd(FIB_RIG_PORTS)];
		hop[i].weight = (uint16_t)(65535 / r->n_hops * (i + 1));
		if (rnd(2) == 0) {
			hop[i].has_gateway = true;
			hop[i].gateway = random_ip(r->family);
		}
	}
}

static bool
same_content(const struct weir_route *a, const struct ref *b)
{
	if (!same_key(b, a) || a->kind != b->r.kind || a->n_hops != b->r.n_hops)
		return false;
	for (unsigned int i = 0; i < a->n_hops; i++)
		if (a->hop[i].port != b->hop[i].port || a->hop[i].weight != b->hop[i].weight ||
		    a->hop[i].has_gateway != b->hop[i].has_gateway ||
		    !bits_equal(&a->hop[i].gateway, &b->hop[i].gateway, 128))
			return false;
	return true;
}

struct count_arg {
	struct model *m;
	unsigned int n;
};

static bool
count_and_find(void *arg, const struct weir_route *r)
{
	struct count_arg *c = arg;
	const struct ref *f = model_exact(c->m, r);

	ut_check(f != NULL && same_content(r, f), "a route that was never added, /%u", r->bits);
	c->n++;
	return true;
}

static void
compare(struct weir_stack *s, struct model *m, unsigned int lookups)
{
	struct count_arg c = {m, 0};

	weir_fib_each(s, count_and_find, &c);
	assert_int_equal(c.n, m->n);
	assert_int_equal(weir_fib_count(s), m->n);
	for (unsigned int i = 0; i < lookups; i++) {
		const uint8_t family = rnd(2) == 0 ? WEIR_IPV4 : WEIR_IPV6;
		union weir_ip dst = random_ip(family);
		union weir_ip from = random_ip(family);
		const int port = rnd(2) == 0 ? -1 : (int)rnd(FIB_RIG_PORTS);
		const bool any = rnd(2) == 0;
		const struct weir_route *got;
		const struct ref *want;
		bool ours = false;

		if (m->n > 0 && rnd(4) != 0) { /* near a prefix that is there */
			const struct weir_route *r = &m->ref[rnd(m->n)].r;

			if (r->family == family) {
				dst = r->prefix;
				if (r->bits > 0 && rnd(2) == 0)
					dst.b[rnd(r->bits) / 8] ^= (uint8_t)(1 << rnd(8));
				from = r->from;
			}
		}
		got = weir_fib_lookup(s, &dst, family, any ? NULL : &from, port);
		want = model_lookup(m, &dst, family, any || weir_ip_is_any(&from) ? NULL : &from,
				    port);
		ut_check((got == NULL) == (want == NULL), "lookup %u of %u routes", i, m->n);
		ut_check(got == NULL || same_content(got, want), "lookup %u: /%u, wanted /%u", i,
			 got->bits, want->r.bits);
		for (unsigned int k = 0; k < m->n; k++)
			ours |= m->ref[k].r.kind == WEIR_ROUTE_LOCAL &&
				m->ref[k].r.family == family &&
				bits_equal(&m->ref[k].r.prefix, &dst, m->ref[k].r.bits);
		ut_check(weir_local_any(s, &dst, family) == ours, "lookup %u: a prefix of ours", i);
	}
}

/* One random change of the open transaction and of the model; an error must be the one that is due. */
static void
change(struct weir_stack *s, struct weir_fib_txn *txn, struct model *m, unsigned int adds_of_8)
{
	struct weir_nexthop hop[3];
	struct weir_route r;
	struct ref *f;

	random_route(s, &r, hop);
	if (rnd(8) < adds_of_8 && m->n < REF_MAX) {
		if (m->n > 0 && rnd(3) == 0) { /* to a prefix that is there */
			const struct weir_route *other = &m->ref[rnd(m->n)].r;

			if (other->family == r.family) {
				r.prefix = other->prefix;
				r.bits = other->bits;
			}
		}
		f = model_exact(m, &r);
		assert_int_equal(weir_fib_add(txn, &r), f != NULL ? -EEXIST : 0);
		if (f == NULL)
			model_add(m, &r);
		assert_non_null(weir_fib_txn_exact(txn, &r));
		return;
	}
	if (m->n > 0 && rnd(8) != 0) {
		f = &m->ref[rnd(m->n)];
		r = f->r;
		memcpy(hop, f->hop, sizeof(hop));
		r.hop = hop;
	}
	f = model_exact(m, &r);
	assert_int_equal(weir_fib_del(txn, &r), f != NULL ? 0 : -ENOENT);
	if (f != NULL)
		model_del(m, f);
	assert_null(weir_fib_txn_exact(txn, &r));
}

static struct model model, before;

static void
model_copy(struct model *to, const struct model *from)
{
	*to = *from;
	for (unsigned int i = 0; i < to->n; i++)
		to->ref[i].r.hop = to->ref[i].hop;
}

static void
delete_all(struct weir_stack *s, struct model *m)
{
	struct weir_fib_txn *txn = weir_fib_begin(s);

	while (m->n > 0) {
		struct ref *f = &m->ref[rnd(m->n)];

		assert_int_equal(weir_fib_del(txn, &f->r), 0);
		model_del(m, f);
	}
	weir_fib_commit(txn);
	weir_rcu_reclaim(s, true);
}

static void
random_changes_agree_with_a_linear_list(void **state)
{
	const unsigned int rounds = 400;
	struct weir_stack *s = fib_rig_up();
	size_t empty = weir_fib_memory(s);

	(void)state;
	rng_state = ut_rng();
	model.n = 0;
	for (unsigned int i = 0; i < rounds; i++) {
		/* Growing for a time, then shrinking. */
		const unsigned int adds = i / 50 % 2 == 0 ? 7 : 2;
		struct weir_fib_txn *txn = weir_fib_begin(s);
		bool undo = rnd(4) == 0;
		unsigned int n = 1 + rnd(20);

		assert_non_null(txn);
		model_copy(&before, &model);
		for (unsigned int k = 0; k < n; k++)
			change(s, txn, &model, adds);
		if (undo) {
			weir_fib_abort(txn);
			model_copy(&model, &before);
		} else {
			weir_fib_commit(txn);
		}
		if (rnd(3) == 0)
			weir_rcu_reclaim(s, false);
		s->ports[rnd(FIB_RIG_PORTS)]->link_up = rnd(3) != 0;
		s->ports[rnd(FIB_RIG_PORTS)]->dead = rnd(4) == 0;
		compare(s, &model, 40);
	}
	assert_true(model.n > 20);
	delete_all(s, &model);
	compare(s, &model, 10);
	/* The buckets of the hop sets stay as many as they were. */
	assert_in_range(weir_fib_memory(s), empty, empty + 1024 * sizeof(void *));
	fib_rig_down(s);
}

/* ---- transactions ---- */

static void
abort_leaves_every_route_where_it_was(void **state)
{
	static const struct weir_route *was[64];
	struct weir_stack *s = fib_rig_up();
	struct weir_fib_txn *txn;
	uint64_t gen;
	size_t bytes;
	char text[64];

	(void)state;
	for (unsigned int i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), "10.%u.%u.0/24", i / 8, i * 4);
		fib_rig_via(s, text, NULL, i % 4);
	}
	for (unsigned int i = 0; i < 64; i++) {
		union weir_ip ip;

		snprintf(text, sizeof(text), "10.%u.%u.9", i / 8, i * 4);
		ip = fib_rig_ip(text);
		was[i] = weir_fib_lookup(s, &ip, WEIR_IPV4, NULL, -1);
		assert_non_null(was[i]);
	}
	gen = s->gen;
	bytes = weir_fib_memory(s);
	txn = weir_fib_begin(s);
	for (unsigned int i = 0; i < 64; i++) {
		struct weir_nexthop hop;
		struct weir_route r;

		snprintf(text, sizeof(text), "10.%u.%u.0/24", i / 8, i * 4);
		r = fib_rig_route(s, text, NULL, 0, &hop);
		assert_int_equal(weir_fib_del(txn, &r), 0);
		snprintf(text, sizeof(text), "10.%u.%u.0/25", i / 8, i * 4);
		r = fib_rig_route(s, text, "10.0.0.1", 0, &hop);
		assert_int_equal(weir_fib_add(txn, &r), 0);
	}
	weir_fib_abort(txn);
	assert_int_equal(s->gen, gen);
	assert_int_equal(weir_fib_memory(s), bytes);
	for (unsigned int i = 0; i < 64; i++) {
		union weir_ip ip;

		snprintf(text, sizeof(text), "10.%u.%u.9", i / 8, i * 4);
		ip = fib_rig_ip(text);
		assert_ptr_equal(weir_fib_lookup(s, &ip, WEIR_IPV4, NULL, -1), was[i]);
	}
	fib_rig_down(s);
}

static void
readers_see_nothing_before_commit(void **state)
{
	struct weir_stack *s = fib_rig_up();
	struct weir_nexthop hop;
	struct weir_route r = fib_rig_route(s, "2001:db8::/32", "fe80::1", 1, &hop);
	union weir_ip dst = fib_rig_ip("2001:db8::5");
	struct weir_fib_txn *txn = weir_fib_begin(s);

	(void)state;
	assert_int_equal(weir_fib_add(txn, &r), 0);
	assert_int_equal(weir_fib_add(txn, &r), -EEXIST);
	assert_null(weir_fib_lookup(s, &dst, WEIR_IPV6, NULL, -1));
	assert_null(weir_fib_exact(s, &r));
	assert_non_null(weir_fib_txn_exact(txn, &r));
	weir_fib_commit(txn);
	assert_non_null(weir_fib_lookup(s, &dst, WEIR_IPV6, NULL, -1));
	assert_non_null(weir_fib_exact(s, &r));
	fib_rig_down(s);
}

static void
hops_are_shared_and_given_back(void **state)
{
	struct weir_stack *s = fib_rig_up();
	const struct weir_route *a, *b;
	union weir_ip dst;

	(void)state;
	fib_rig_via(s, "10.1.0.0/16", "10.0.0.9", 0);
	fib_rig_via(s, "10.2.0.0/16", "10.0.0.9", 0);
	dst = fib_rig_ip("10.1.0.1");
	a = weir_fib_lookup(s, &dst, WEIR_IPV4, NULL, -1);
	dst = fib_rig_ip("10.2.0.1");
	b = weir_fib_lookup(s, &dst, WEIR_IPV4, NULL, -1);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(a->hop, b->hop);
	fib_rig_down(s);
}

static void
the_generation_steps_over_zero(void **state)
{
	struct weir_stack *s = fib_rig_up();

	(void)state;
	s->gen = UINT64_MAX - 1;
	fib_rig_via(s, "10.1.0.0/16", NULL, 0);
	assert_int_equal(s->gen, UINT64_MAX);
	fib_rig_via(s, "10.2.0.0/16", NULL, 0);
	assert_int_equal(s->gen, 1);
	s->gen = UINT64_MAX;
	weir_fib_touch(s);
	assert_int_equal(s->gen, 1);
	fib_rig_down(s);
}

static void
several_hops_are_announced_to_the_caches(void **state)
{
	struct weir_stack *s = fib_rig_up();
	struct weir_nexthop hop[2];
	struct weir_route r = fib_rig_route(s, "10.9.0.0/16", "10.0.0.1", 0, hop);

	(void)state;
	fib_rig_via(s, "10.1.0.0/16", NULL, 0);
	assert_int_equal(s->flow_mask, 0);
	hop[1] = hop[0];
	hop[0].weight = 32768;
	hop[1].port = s->ports[1];
	r.n_hops = 2;
	fib_rig_add(s, &r);
	assert_int_equal(s->flow_mask, UINT32_MAX);
	fib_rig_down(s);
}

static void
a_prefix_is_ours_until_its_last_local_route_goes(void **state)
{
	struct weir_stack *s = fib_rig_up();
	union weir_ip ip = fib_rig_ip("203.0.113.9");
	struct weir_nexthop hop;
	struct weir_route r = fib_rig_route(s, "203.0.113.0/24", NULL, 0, &hop);

	(void)state;
	fib_rig_add(s, &r); /* an ordinary one beside */
	r.metric = 1;
	r.kind = WEIR_ROUTE_LOCAL;
	r.n_hops = 0;
	for (r.metric = 1; r.metric <= 2; r.metric++)
		fib_rig_add(s, &r);
	for (r.metric = 1; r.metric <= 2; r.metric++) {
		struct weir_fib_txn *txn = weir_fib_begin(s);

		assert_int_equal(weir_fib_del(txn, &r), 0);
		weir_fib_commit(txn);
		assert_int_equal(weir_local4(s, ip.v4) == WEIR_LOCAL_UNICAST, r.metric == 1);
	}
	fib_rig_down(s);
}

/* ---- no memory ---- */

/* Each change with each of its allocations refused: -ENOMEM and nothing is different, or it went without. */
static void
a_refused_allocation_changes_nothing(void **state)
{
	struct weir_stack *s = fib_rig_up();
	unsigned int refusals = 0;

	(void)state;
	rng_state = ut_rng();
	model.n = 0;
	for (unsigned int round = 0; round < 150; round++) {
		const bool fresh = rnd(3) == 0;
		struct weir_fib_txn *txn = weir_fib_begin(s);
		struct weir_nexthop hop[3];
		struct weir_route r;

		if (!fresh) /* some nodes belong to the transaction already */
			for (unsigned int k = rnd(4); k > 0; k--)
				change(s, txn, &model, 6);
		for (unsigned int op = 0; op < 2; op++) {
			bool add = round < 90 ? rnd(4) != 0 : rnd(4) == 0;
			struct ref *f;
			int ret = -ENOMEM;

			random_route(s, &r, hop);
			if (model.n > 0 && (!add || rnd(3) == 0)) {
				f = &model.ref[rnd(model.n)];
				if (add) {
					r.family = f->r.family;
					r.prefix = f->r.prefix;
					r.bits = f->r.bits;
					r.from_bits = 0;
					memset(&r.from, 0, sizeof(r.from));
				} else {
					r = f->r;
					memcpy(hop, f->hop, sizeof(hop));
					r.hop = hop;
				}
			}
			f = model_exact(&model, &r);
			for (unsigned int k = 1; ret == -ENOMEM; k++) {
				bool hit;

				assert_true(k < 100);
				ut_fail_at(k);
				ret = add ? weir_fib_add(txn, &r) : weir_fib_del(txn, &r);
				hit = ut_fail_stop();
				ut_check(hit || ret != -ENOMEM, "no memory without a refusal");
				refusals += ret == -ENOMEM;
				if (ret == -ENOMEM) {
					struct count_arg c = {&model, 0};

					weir_fib_txn_each(txn, count_and_find, &c);
					assert_int_equal(c.n, model.n);
				}
			}
			assert_int_equal(ret, add ? (f != NULL ? -EEXIST : 0)
						  : (f != NULL ? 0 : -ENOENT));
			if (ret == 0 && add)
				model_add(&model, &r);
			else if (ret == 0)
				model_del(&model, f);
		}
		weir_fib_commit(txn);
		compare(s, &model, 20);
		weir_rcu_reclaim(s, false);
	}
	assert_true(refusals > 300);
	delete_all(s, &model);
	fib_rig_down(s);
}

static int
attempt_begin(void *arg)
{
	struct weir_fib_txn *txn = weir_fib_begin(arg);

	if (txn == NULL)
		return -ENOMEM;
	weir_fib_abort(txn);
	return 0;
}

static int
attempt_init(void *arg)
{
	struct weir_stack *s = arg;
	int ret = weir_fib_init(s);

	if (ret == 0)
		weir_fib_fini(s);
	return ret;
}

static void
nothing(void *arg)
{
	(void)arg;
}

static void
a_transaction_that_cannot_begin_says_so(void **state)
{
	struct weir_stack *s = fib_rig_up();
	struct weir_stack bare;

	(void)state;
	assert_int_equal(ut_fail_all(attempt_begin, nothing, s), 2);
	fib_rig_down(s);
	memset((void *)&bare, 0, sizeof(bare));
	assert_int_equal(ut_fail_all(attempt_init, nothing, &bare), 3);
}

/* ---- readers beside a writer ---- */

#define N_PAIRS 32

struct run {
	struct weir_stack *s;
	atomic_bool stop;
	atomic_uint lookups;
	unsigned int id;
};

/*
 * Of each pair of prefixes, 10.i.0.0/24 by port 1 and 10.i.0.0/25 by port 2, exactly one is there at any time; the
 * cover 10/8 by port 0 must never be what is found.
 */
static void *
reader(void *arg)
{
	struct run *run = arg;
	struct weir_stack *s = run->s;
	uint64_t seed = run->id + 1;

	assert_int_equal(rte_rcu_qsbr_thread_register(s->rcu, run->id), 0);
	rte_rcu_qsbr_thread_online(s->rcu, run->id);
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		const struct weir_route *r;
		union weir_ip dst = {.w = {0, 0}};

		seed = seed * UINT64_C(6364136223846793005) + 1;
		dst.v4 = rte_cpu_to_be_32(10u << 24 | (uint32_t)(seed >> 40) % N_PAIRS << 16 | 5);
		r = weir_fib_lookup(s, &dst, WEIR_IPV4, NULL, -1);
		ut_check(r != NULL && (r->bits == 24 || r->bits == 25), "a hole: /%d",
			 r != NULL ? r->bits : -1);
		assert_int_equal(r->hop[0].port->index, r->bits == 24 ? 1 : 2);
		rte_rcu_qsbr_quiescent(s->rcu, run->id);
		atomic_fetch_add_explicit(&run->lookups, 1, memory_order_relaxed);
	}
	rte_rcu_qsbr_thread_offline(s->rcu, run->id);
	rte_rcu_qsbr_thread_unregister(s->rcu, run->id);
	return NULL;
}

/* The one that is there goes, the other comes; at first, one comes. */
static void
swap(struct weir_stack *s, unsigned int i, bool first)
{
	struct weir_fib_txn *txn = weir_fib_begin(s);

	for (unsigned int k = 0; k < (first ? 1 : 2); k++) {
		struct weir_nexthop hop;
		struct weir_route r;
		char text[32];

		snprintf(text, sizeof(text), "10.%u.0.0/%u", i, 24 + k);
		r = fib_rig_route(s, text, NULL, 1 + k, &hop);
		assert_int_equal(weir_fib_exact(s, &r) != NULL ? weir_fib_del(txn, &r)
							       : weir_fib_add(txn, &r),
				 0);
	}
	weir_fib_commit(txn);
	weir_rcu_reclaim(s, false);
}

static void
no_reader_sees_a_hole_while_routes_change(void **state)
{
	const unsigned int changes = 3000;
	struct weir_stack *s = fib_rig_up();
	struct run run[2] = {{.s = s, .id = 0}, {.s = s, .id = 1}};
	pthread_t thread[2];

	(void)state;
	rng_state = ut_rng();
	fib_rig_via(s, "10.0.0.0/8", NULL, 0);
	for (unsigned int i = 0; i < N_PAIRS; i++)
		swap(s, i, true);
	for (unsigned int t = 0; t < 2; t++)
		assert_int_equal(pthread_create(&thread[t], NULL, reader, &run[t]), 0);
	for (unsigned int i = 0;
	     i < changes || run[0].lookups < changes || run[1].lookups < changes; i++)
		swap(s, rnd(N_PAIRS), false);
	for (unsigned int t = 0; t < 2; t++) {
		atomic_store(&run[t].stop, true);
		pthread_join(thread[t], NULL);
	}
	fib_rig_down(s);
}

static int
setup(void **state)
{
	const char *extra[] = {ut_tsan_eal_arg(), NULL};

	(void)state;
	return ut_eal_init(1, extra);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(random_changes_agree_with_a_linear_list),
		cmocka_unit_test(abort_leaves_every_route_where_it_was),
		cmocka_unit_test(readers_see_nothing_before_commit),
		cmocka_unit_test(hops_are_shared_and_given_back),
		cmocka_unit_test(the_generation_steps_over_zero),
		cmocka_unit_test(several_hops_are_announced_to_the_caches),
		cmocka_unit_test(a_prefix_is_ours_until_its_last_local_route_goes),
		cmocka_unit_test(a_refused_allocation_changes_nothing),
		cmocka_unit_test(a_transaction_that_cannot_begin_says_so),
		cmocka_unit_test(no_reader_sees_a_hole_while_routes_change),
	};

	return UT_RUN(cases, setup, ut_eal_teardown);
}
