/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket table against a linear list of what was bound and connected, under random use from a
 * printed seed; its growth and its tombstones; and readers that must always find something while a
 * socket changes its name.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include <rte_launch.h>

#include "control_state.h"
#include "sock.h"
#include "socktab.h"

static struct weir_key
key4(uint32_t local, uint16_t lport, uint32_t peer, uint16_t pport)
{
	struct weir_addr l = weir_addr_v4(local, lport);
	struct weir_addr p = weir_addr_v4(peer, pport);

	return (struct weir_key){
		.local = l.ip, .peer = p.ip, .lport = l.port, .pport = p.port, .family = WEIR_IPV4};
}

/* ---- the table by itself ---- */

#define UNIVERSE 4096

struct entry {
	struct weir_key key;
	struct weir_sockent *ent;
	struct weir_socket *sk;
};

/* Never looked into: the table only hands pointers back. */
static struct weir_socket *
fake(size_t i)
{
	return (struct weir_socket *)(uintptr_t)(64 * (i + 1));
}

static struct weir_socket *
linear_exact(const struct entry *e, size_t n, const struct weir_key *k)
{
	for (size_t i = 0; i < n; i++)
		if (memcmp(&e[i].key, k, sizeof(*k)) == 0)
			return e[i].sk;
	return NULL;
}

/* IPv4 sockets before IPv6 ones that take IPv4. */
static struct weir_socket *
linear_kind(const struct entry *e, size_t n, const struct weir_key *key)
{
	struct weir_key k = *key;
	struct weir_socket *sk = linear_exact(e, n, &k);

	if (sk != NULL || k.family != WEIR_IPV4)
		return sk;
	k.family |= WEIR_KEY_DUAL;
	return linear_exact(e, n, &k);
}

static struct weir_socket *
linear(const struct entry *e, size_t n, const struct weir_key *key)
{
	struct weir_key k = *key;
	struct weir_socket *sk = linear_kind(e, n, &k);

	if (sk != NULL)
		return sk;
	memset(&k.peer, 0, sizeof(k.peer));
	k.pport = 0;
	sk = linear_kind(e, n, &k);
	if (sk != NULL)
		return sk;
	memset(&k.local, 0, sizeof(k.local));
	return linear_kind(e, n, &k);
}

/* Of either family; of those that are inserted, some of the IPv4 ones are an IPv6 socket's. */
static struct weir_key
random_key(struct ut_rng *rng, bool received, uint32_t spread)
{
	uint32_t local = UT_IP(10, 0, 0, 1 + ut_rand_below(rng, 3));
	uint16_t lport = (uint16_t)(1 + ut_rand_below(rng, spread));
	uint32_t peer = UT_IP(10, 0, 0, 100 + ut_rand_below(rng, 3));
	uint16_t pport = (uint16_t)(1 + ut_rand_below(rng, 3));
	struct weir_key k = key4(local, lport, peer, pport);
	uint32_t family = ut_rand_below(rng, 3);

	if (family == 0) {
		k.family = WEIR_IPV6;
		k.local.b[15] = 1;
		k.peer.b[15] = 2;
	}
	if (received)
		return k;
	if (family == 1)
		k.family |= WEIR_KEY_DUAL;
	switch (ut_rand_below(rng, 3)) {
	case 0:
		memset(&k.local, 0, sizeof(k.local));
		/* fall through */
	case 1:
		memset(&k.peer, 0, sizeof(k.peer));
		k.pport = 0;
	}
	return k;
}

static void
random_use_agrees_with_a_list(void **state)
{
	static const uint32_t spreads[] = {1, 4, 60, 600};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();
	static struct entry e[UNIVERSE];

	cfg.n_ports = 0;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	weir_ctl_lock(s->stack);
	for (size_t sp = 0; sp < UT_N(spreads); sp++) {
		const size_t most = spreads[sp] * 16 < UNIVERSE ? spreads[sp] * 16 : UNIVERSE;
		size_t n = 0;

		for (unsigned int step = 0; step < 6000; step++) {
			struct weir_key k = random_key(&rng, false, spreads[sp]);
			struct weir_sockent *ent;

			/* Up, then down, then up: growth, tombstones, and both at once. */
			if (step / 2000 != 1 ? ut_rand_below(&rng, 3) != 0
					     : ut_rand_below(&rng, 3) == 0) {
				if (n < most && linear_exact(e, n, &k) == NULL) {
					e[n].key = k;
					e[n].sk = fake(n * 7919 + step);
					assert_int_equal(weir_socktab_insert(s->stack, &k, e[n].sk,
									     &e[n].ent),
							 0);
					n++;
				}
			} else if (n > 0) {
				size_t i = ut_rand_below(&rng, (uint32_t)n);

				weir_socktab_remove(s->stack, e[i].ent, e[i].sk);
				e[i] = e[--n];
			}
			if (step % 64 == 0)
				weir_rcu_reclaim(s->stack, true);
			for (unsigned int i = 0; i < 4; i++) {
				struct weir_key r = random_key(&rng, true, spreads[sp]);

				ut_check(weir_socktab_lookup(s->stack->ctl_lcore, &r) ==
						 linear(e, n, &r),
					 "lookup at step %u with %zu entries", step, n);
			}
			ent = weir_socktab_exact(s->stack, &k);
			ut_check((ent != NULL ? atomic_load(&ent->sk) : NULL) ==
					 linear_exact(e, n, &k),
				 "exact at step %u", step);
		}
		/* A burst, with trains in it. */
		for (unsigned int round = 0; round < 50; round++) {
			struct weir_key r[WEIR_MAX_BURST];
			struct weir_socket *got[WEIR_MAX_BURST];

			for (unsigned int i = 0; i < WEIR_MAX_BURST; i++)
				r[i] = i > 0 && (ut_rand(&rng) & 1)
					       ? r[i - 1]
					       : random_key(&rng, true, spreads[sp]);
			weir_socktab_lookup_burst(s->stack->ctl_lcore, r, WEIR_MAX_BURST, got);
			for (unsigned int i = 0; i < WEIR_MAX_BURST; i++)
				assert_ptr_equal(got[i], linear(e, n, &r[i]));
		}
		for (; n > 0; n--)
			weir_socktab_remove(s->stack, e[n - 1].ent, e[n - 1].sk);
		weir_rcu_reclaim(s->stack, true);
	}
	weir_ctl_unlock(s->stack);
}

/* Insert and remove for ever: tombstones must not fill the table, nor make it grow. */
static void
tombstones_are_swept(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_key probe = key4(UT_OUR_IP, 7, UT_PEER_IP, 7);

	cfg.n_ports = 0;
	cfg.no_start = true;
	ut_stack_up(s, &cfg);
	weir_ctl_lock(s->stack);
	for (uint32_t i = 0; i < 10000; i++) {
		struct weir_key k = key4(UT_OUR_IP, (uint16_t)(i + 8), UT_PEER_IP, 9);
		struct weir_sockent *ent;

		assert_int_equal(weir_socktab_insert(s->stack, &k, fake(i), &ent), 0);
		assert_ptr_equal(weir_socktab_exact(s->stack, &k), ent);
		assert_ptr_equal(weir_socktab_lookup(s->stack->ctl_lcore, &k), fake(i));
		weir_socktab_remove(s->stack, ent, fake(i));
		assert_null(weir_socktab_exact(s->stack, &k));
		assert_null(weir_socktab_lookup(s->stack->ctl_lcore, &probe));
		if (i % 64 == 0)
			weir_rcu_reclaim(s->stack, true);
	}
	assert_int_equal(atomic_load(&s->stack->socktab)->mask, 63);
	weir_ctl_unlock(s->stack);
}

/* ---- sockets against a list of their names ---- */

struct name {
	struct weir_socket *sk;
	bool bound, connected, port_explicit, addr_explicit;
	uint32_t ip, peer_ip;
	uint16_t port, peer_port;
};

static bool
conflicts(const struct name *all, size_t n, const struct name *self, uint32_t ip, uint16_t port)
{
	for (size_t i = 0; i < n; i++)
		if (&all[i] != self && all[i].bound && all[i].port == port &&
		    (ip == 0 || all[i].ip == 0 || all[i].ip == ip))
			return true;
	return false;
}

/* How well a name fits a datagram; -1: not at all. */
static int
score(const struct name *x, uint32_t ip, uint16_t port, uint32_t peer_ip, uint16_t peer_port)
{
	if (!x->bound || x->port != port || (x->ip != 0 && x->ip != ip))
		return -1;
	if (x->connected && (x->peer_ip != peer_ip || x->peer_port != peer_port))
		return -1;
	return x->connected * 4 + (x->ip != 0);
}

/*
 * Is sk one of those that fit best (NULL: none fits)? There can be two: a socket that was bound to any address
 * may, connected and disconnected again, come to overlap another's name, as on Linux.
 */
static bool
fits_best(const struct name *all, size_t n, const struct weir_socket *sk, uint32_t ip,
	  uint16_t port, uint32_t peer_ip, uint16_t peer_port)
{
	int best = -1;
	int got = -1;

	for (size_t i = 0; i < n; i++) {
		int here = score(&all[i], ip, port, peer_ip, peer_port);

		best = here > best ? here : best;
		got = all[i].sk == sk ? here : got;
	}
	return got == best;
}

/* What the socket says of itself, into the list. */
static void
learn_name(struct name *x)
{
	struct weir_addr a;

	weir_socket_local(x->sk, &a);
	x->bound = a.port != 0;
	x->port = ut_get16((const uint8_t *)&a.port);
	x->ip = ut_get32(a.ip.b);
}

static void
sockets_are_found_by_their_names(void **state)
{
	static const uint32_t ips[] = {0, UT_IP(10, 0, 0, 1), UT_IP(10, 0, 1, 1)};
	static const uint32_t peers[] = {UT_IP(10, 0, 0, 2), UT_IP(10, 0, 0, 3),
					 UT_IP(10, 0, 1, 2)};
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct ut_rng rng = ut_rng();
	static struct name x[30];
	size_t n = 0;

	cfg.n_ports = 2;
	ut_stack_up(s, &cfg);
	for (unsigned int step = 0; step < 6000; step++) {
		struct name *v = n > 0 ? &x[ut_rand_below(&rng, (uint32_t)n)] : NULL;
		const uint32_t what = ut_rand_below(&rng, 10);

		if (v == NULL || (what == 0 && n < UT_N(x))) {
			x[n] = (struct name){0};
			assert_int_equal(weir_socket_open(s->stack, NULL, &x[n].sk), 0);
			n++;
		} else if (what <= 3) {
			uint32_t ip = ips[ut_rand_below(&rng, 3)];
			uint16_t port = (uint16_t)(100 + ut_rand_below(&rng, 6));
			struct weir_addr a = weir_addr_v4(ip, port);
			int want = v->bound                       ? -EINVAL
				   : conflicts(x, n, v, ip, port) ? -EADDRINUSE
								  : 0;

			assert_int_equal(weir_socket_bind(v->sk, &a), want);
			if (want == 0) {
				v->port_explicit = true;
				v->addr_explicit = ip != 0;
				learn_name(v);
				assert_int_equal(v->ip, ip);
				assert_int_equal(v->port, port);
			}
		} else if (what <= 6) {
			uint32_t ip = peers[ut_rand_below(&rng, 3)];
			uint16_t port = (uint16_t)(7 + ut_rand_below(&rng, 2));
			struct weir_addr a = weir_addr_v4(ip, port);
			uint16_t old_port = v->port;
			bool was_bound = v->bound;
			uint32_t old_ip = v->ip;
			bool was_connected = v->connected;
			int ret = weir_socket_connect(v->sk, &a);

			assert_int_equal(ret, 0);
			if (!was_bound)
				v->port_explicit = v->addr_explicit = false;
			v->connected = true;
			v->peer_ip = ip;
			v->peer_port = port;
			learn_name(v);
			if (was_bound) /* a peer does not see our port change */
				assert_int_equal(v->port, old_port);
			/* The address that the first of several connections chose stays. */
			if (was_connected)
				assert_int_equal(v->ip, old_ip);
			else if (!v->addr_explicit)
				assert_int_equal(v->ip, UT_IP(10, 0, (ip >> 8) & 0xff, 1));
		} else if (what == 7) {
			assert_int_equal(weir_socket_disconnect(v->sk), 0);
			v->connected = false;
			learn_name(v);
			assert_int_equal(v->bound, v->port_explicit);
			if (v->bound && !v->addr_explicit)
				assert_int_equal(v->ip, 0);
		} else if (what == 8) {
			struct weir_addr a;

			assert_int_equal(weir_socket_peer(v->sk, &a), v->connected ? 0 : -ENOTCONN);
			if (v->connected) {
				struct weir_addr want = weir_addr_v4(v->peer_ip, v->peer_port);

				assert_memory_equal(&a, &want, sizeof(a));
			}
		} else {
			assert_int_equal(weir_socket_close(v->sk), 0);
			*v = x[--n];
		}
		ut_stack_poll(s);
		for (unsigned int i = 0; i < 8; i++) {
			uint32_t ip = ips[1 + ut_rand_below(&rng, 2)];
			uint32_t peer = peers[ut_rand_below(&rng, 3)];
			uint16_t pport = (uint16_t)(7 + ut_rand_below(&rng, 2));
			uint16_t port = n > 0 && (i & 1) ? x[ut_rand_below(&rng, (uint32_t)n)].port
							 : (uint16_t)(100 + ut_rand_below(&rng, 6));
			struct weir_key k = key4(ip, port, peer, pport);

			if (port == 0)
				continue;
			ut_check(fits_best(x, n, weir_socktab_lookup(s->stack->ctl_lcore, &k), ip,
					   port, peer, pport),
				 "step %u: %08x:%u from %08x:%u", step, ip, port, peer, pport);
		}
	}
	while (n > 0)
		assert_int_equal(weir_socket_close(x[--n].sk), 0);
}

static void
names_are_refused_as_documented(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(UT_IP(10, 9, 9, 9), 5);
	struct weir_addr local;
	struct weir_socket_conf conf;
	struct weir_socket *sk, *other;

	cfg.stack.port_lo = 40000;
	cfg.stack.port_hi = 40002;
	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 0);
	assert_int_equal(weir_socket_bind(sk, &a), -EADDRNOTAVAIL);
	a.family = WEIR_IPV6;
	assert_int_equal(weir_socket_bind(sk, &a), -EAFNOSUPPORT);
	assert_int_equal(weir_socket_connect(sk, &a), -EAFNOSUPPORT);
	a = weir_addr_v4(UT_IP(10, 9, 9, 9), 5);
	a.family = WEIR_UNSPEC;
	assert_int_equal(weir_socket_bind(sk, &a), -EAFNOSUPPORT);
	assert_int_equal(weir_socket_connect(sk, &a), 0); /* disconnects, though it was not */
	a = weir_addr_v4(UT_IP(10, 9, 9, 9), 5);
	assert_int_equal(weir_socket_connect(sk, &a), -ENETUNREACH);
	a = weir_addr_v4(UT_IP(10, 0, 0, 255), 5);
	assert_int_equal(weir_socket_connect(sk, &a), -EACCES);
	weir_socket_local(sk, &a);
	assert_int_equal(a.port, 0); /* none of these has bound it */
	assert_int_equal(a.family, WEIR_UNSPEC);
	a = weir_addr_v4(UT_PEER_IP, 0); /* as Linux: connected, but to nobody that has a name */
	assert_int_equal(weir_socket_connect(sk, &a), 0);
	assert_int_equal(weir_socket_peer(sk, &a), -ENOTCONN);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	a = weir_addr_v4(UT_OUR_IP, 5); /* ourselves */
	assert_int_equal(weir_socket_connect(sk, &a), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.ip.v4, weir_addr_v4(UT_OUR_IP, 0).ip.v4);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.family, WEIR_UNSPEC);

	/* Three ephemeral ports, then none: bind and connect say so each in its way. */
	for (int i = 0; i < 3; i++) {
		other = ut_stack_socket(s, 0);
		a = weir_addr_v4(0, 0);
		assert_int_equal(weir_socket_bind(other, &a), 0);
		weir_socket_local(other, &a);
		assert_in_range(ut_get16((const uint8_t *)&a.port), 40000, 40002);
	}
	a = weir_addr_v4(0, 0);
	assert_int_equal(weir_socket_bind(sk, &a), -EADDRINUSE);
	a = weir_addr_v4(UT_PEER_IP, 5);
	assert_int_equal(weir_socket_connect(sk, &a), -EAGAIN);
	assert_int_equal(weir_send(s->w[0], sk, "x", 1, &a), -EAGAIN);
	ut_stack_close(s, other);
	assert_int_equal(weir_socket_connect(sk, &a), 0);
	local = weir_addr_v4(0, 5);
	assert_int_equal(weir_socket_bind(sk, &local), -EINVAL); /* bound already */
	assert_int_equal(weir_socket_connect(sk, &a), 0);        /* the same peer again */

	weir_socket_conf_init(&conf);
	conf.family = 10; /* AF_INET6 is no number of ours */
	assert_int_equal(weir_socket_open(s->stack, &conf, &other), -EAFNOSUPPORT);
	weir_socket_conf_init(&conf);
	conf.size = 3;
	assert_int_equal(weir_socket_open(s->stack, &conf, &other), -EINVAL);
	weir_socket_conf_init(&conf);
	conf.rcvbuf = cfg.stack.rcvbuf_max + 1;
	assert_int_equal(weir_socket_open(s->stack, &conf, &other), -EINVAL);
}

static void
the_number_of_sockets_is_limited(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[4];

	cfg.stack.max_sockets = 3;
	ut_stack_up(s, &cfg);
	for (unsigned int round = 0; round < 10; round++) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(weir_socket_open(s->stack, NULL, &sk[i]), 0);
		assert_int_equal(weir_socket_open(s->stack, NULL, &sk[3]), -EMFILE);
		for (int i = 0; i < 3; i++)
			assert_int_equal(weir_socket_close(sk[i]), 0);
		ut_stack_poll(s); /* a grace period */
	}
}

/* ---- readers while names change ---- */

struct reader {
	struct ut_stack *s;
	struct weir_key key;
	atomic_bool stop, ready;
	_Atomic uint64_t found, missed, strange;
	struct weir_socket *want;
};

static int
reader(void *arg)
{
	struct reader *r = arg;
	struct weir_lcore *lc;
	int ret;

	if (weir_worker_attach(r->s->stack, 0, &lc) != 0)
		return -1;
	atomic_store(&r->ready, true);
	while (!atomic_load(&r->stop)) {
		for (unsigned int i = 0; i < 64; i++) {
			struct weir_socket *sk = weir_socktab_lookup(lc, &r->key);

			if (sk == r->want)
				weir_count(&r->found, 1);
			else if (sk == NULL)
				weir_count(&r->missed, 1);
			else
				weir_count(&r->strange, 1);
		}
		weir_turn(lc);
	}
	ret = weir_lcore_detach(lc);
	atomic_store(&r->ready, false);
	return ret;
}

static bool
reader_ready(void *arg)
{
	return atomic_load(&((struct reader *)arg)->ready);
}

/* dual: by its IPv4 entry, of the two that an IPv6 socket has. */
static void
changes_its_name(struct ut_stack *s, bool dual)
{
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, 7);
	struct timespec start, now;
	struct reader r = {.s = s};
	struct weir_socket *crowd[20];
	unsigned int n = 0;

	cfg.no_attach = true;
	cfg.real_clock = true;
	ut_stack_up(s, &cfg);
	r.want = dual ? ut_stack_socket6(s, 100) : ut_stack_socket(s, 100);
	r.key = key4(UT_OUR_IP, 100, UT_PEER_IP, 7);
	assert_int_equal(rte_eal_remote_launch(reader, &r, 1), 0);
	ut_wait_for(reader_ready, &r, "the reader");
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned int i = 0; i < 200; i++) {
			assert_int_equal(weir_socket_connect(r.want, &peer), 0);
			assert_int_equal(weir_socket_disconnect(r.want), 0);
		}
		/* Others come and go, so that the table is rebuilt and grows. */
		for (unsigned int i = 0; i < UT_N(crowd); i++) {
			struct weir_addr a = weir_addr_v4(0, (uint16_t)(200 + i));

			if (n > 0)
				assert_int_equal(weir_socket_close(crowd[i]), 0);
			while (weir_socket_open(s->stack, NULL, &crowd[i]) == -EMFILE)
				;
			assert_int_equal(weir_socket_bind(crowd[i], &a), 0);
		}
		n++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (atomic_load(&r.missed) + atomic_load(&r.strange) == 0 &&
		 now.tv_sec - start.tv_sec < 3);
	atomic_store(&r.stop, true);
	assert_int_equal(rte_eal_wait_lcore(1), 0);
	assert_false(atomic_load(&r.ready)); /* the thread sanitizer sees this, and not into EAL */
	for (unsigned int i = 0; i < UT_N(crowd); i++)
		assert_int_equal(weir_socket_close(crowd[i]), 0);
	printf("# %u rounds of 200 changes, %" PRIu64 " lookups\n", n, atomic_load(&r.found));
	ut_check(r.missed == 0, "%" PRIu64 " lookups found nothing", atomic_load(&r.missed));
	ut_check(r.strange == 0, "%" PRIu64 " lookups found another", atomic_load(&r.strange));
	assert_true(r.found > 0);
}

static void
a_socket_that_changes_its_name_is_always_found(void **state)
{
	changes_its_name(*state, false);
}

static void
so_is_one_of_both_families(void **state)
{
	changes_its_name(*state, true);
}

/* An address that was chosen survives what a port that was not chosen does not. */
static void
disconnect_keeps_what_the_caller_chose(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	struct weir_addr a = weir_addr_v4(UT_OUR_IP, 0);
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, 0);
	assert_int_equal(weir_socket_bind(sk, &a), 0);
	assert_int_equal(weir_socket_connect(sk, &peer), 0);
	assert_int_equal(weir_socket_disconnect(sk), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.family, WEIR_IPV4);
	assert_int_equal(a.ip.v4, weir_addr_v4(UT_OUR_IP, 0).ip.v4);
	assert_int_equal(a.port, 0);
	/* The next implicit bind is to that address, and a failed bind leaves it alone. */
	a = weir_addr_v4(UT_IP(10, 9, 9, 9), 7);
	assert_int_equal(weir_socket_bind(sk, &a), -EADDRNOTAVAIL);
	assert_int_equal(weir_socket_connect(sk, &peer), 0);
	weir_socket_local(sk, &a);
	assert_int_equal(a.ip.v4, weir_addr_v4(UT_OUR_IP, 0).ip.v4);
	assert_int_not_equal(a.port, 0);
}

/* Ids of closed sockets come back after a grace period: opening waits for it, not for ever. */
static void
open_waits_for_the_ids_of_closed_sockets(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk[2];
	struct weir_socket *more;

	cfg.stack.max_sockets = 2;
	ut_stack_up(s, &cfg);
	assert_int_equal(weir_socket_open(s->stack, NULL, &sk[0]), 0);
	assert_int_equal(weir_socket_open(s->stack, NULL, &sk[1]), 0);
	assert_int_equal(weir_socket_open(s->stack, NULL, &more), -EMFILE);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(weir_socket_close(sk[i % 2]), 0);
		assert_int_equal(weir_socket_open(s->stack, NULL, &sk[i % 2]), 0);
	}
	assert_int_equal(weir_socket_close(sk[0]), 0);
	assert_int_equal(weir_socket_close(sk[1]), 0);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(random_use_agrees_with_a_list),
		UT_STACK_TEST(tombstones_are_swept),
		UT_STACK_TEST(sockets_are_found_by_their_names),
		UT_STACK_TEST(names_are_refused_as_documented),
		UT_STACK_TEST(the_number_of_sockets_is_limited),
		UT_STACK_TEST(a_socket_that_changes_its_name_is_always_found),
		UT_STACK_TEST(so_is_one_of_both_families),
		UT_STACK_TEST(disconnect_keeps_what_the_caller_chose),
		UT_STACK_TEST(open_waits_for_the_ids_of_closed_sockets),
	};

	return UT_RUN(cases, NULL, NULL);
}
