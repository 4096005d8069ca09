/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on sockets, side by side with a model that is too simple to be wrong: names, options,
 * a list of datagrams per socket. Every result, name, error and datagram is compared; nothing may be left
 * over at the end. $UT_SEED repeats a run, $UT_MODEL_STEPS makes it longer (300000).
 *
 * The world: two ports, 10.0.0.1 and 10.0.1.1, a peer on each link, loopback; a few UDP ports, so that
 * everything meets. Where several sockets match equally well the model accepts any of them.
 */
#include "common/ut_sock.h"

#include <rte_mempool.h>

#include "common/ut_clock.h"
#include "lcore.h"

#define SOCKETS  24
#define QUEUED   256 /* of one socket; limits are set below it */
#define TRUESIZE 2304
#define LO       UT_IP(127, 0, 0, 1)
#define NOWHERE  UT_IP(192, 168, 9, 9)
#define OURS0    UT_OUR(0)
#define OURS1    UT_OUR(1)
#define PEER0    UT_HOST(0, 2)
#define PEER1    UT_HOST(1, 2)
#define BCAST0   UT_BCAST(0)
#define N_PORTS  5
#define PORT0    9000 /* the ports that everybody fights about */

struct name {
	uint32_t ip; /* host order; 0: any */
	uint16_t port;
};

struct dgram {
	uint32_t number, len;
	struct name src, dst;
};

struct model {
	struct weir_socket *sk; /* NULL: not open */
	struct name local, peer;
	bool connected, port_explicit, addr_explicit;
	bool reuseaddr, reuseport, broadcast;
	uint8_t shut;
	int error; /* pending, positive */
	uint64_t limit;
	struct dgram q[QUEUED];
	unsigned int head, n;
};

static struct model models[SOCKETS];
static struct ut_stack *s;
static struct ut_rng rng;
static uint32_t next_number;
static uint64_t n_step;
static const char *doing;
static uint64_t n_queued, n_refused, n_nobody, n_shared, n_errors; /* that the run was not idle */

/* Every complaint says where it happened. */
#define agree(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_error("step %" PRIu64 ", %s: %s\n", n_step, doing, #cond);           \
			fail_msg(__VA_ARGS__);                                                     \
		}                                                                                  \
	} while (0)

static bool
one_in(unsigned int n)
{
	return ut_rand_below(&rng, n) == 0;
}

#define pick(array) ((array)[ut_rand_below(&rng, UT_N(array))])

static bool
is_bcast(uint32_t ip)
{
	return ip == BCAST0;
}

static bool
is_loopback(uint32_t ip)
{
	return ip >> 24 == 127;
}

static bool
is_ours(uint32_t ip)
{
	return ip == OURS0 || ip == OURS1 || is_loopback(ip);
}

/* ---- what the model knows ---- */

static void
forget(struct model *m)
{
	memset(m, 0, sizeof(*m));
}

/* May m have ip:port, beside the others? */
static bool
is_free(const struct model *m, uint32_t ip, uint16_t port, bool alone)
{
	for (unsigned int i = 0; i < SOCKETS; i++) {
		const struct model *o = &models[i];

		if (o == m || o->sk == NULL || o->local.port != port)
			continue;
		if (!alone && ((o->reuseaddr && m->reuseaddr) || (o->reuseport && m->reuseport)))
			continue;
		if (o->local.ip == 0 || ip == 0 || o->local.ip == ip)
			return false;
	}
	return true;
}

/* How well a datagram to one host fits a socket; 0: not at all. */
static unsigned int
score(const struct model *m, const struct name *src, const struct name *dst)
{
	if (m->sk == NULL || m->local.port == 0 || m->local.port != dst->port)
		return 0;
	if (m->connected)
		return m->local.ip == dst->ip && m->peer.ip == src->ip && m->peer.port == src->port
			       ? 3
			       : 0;
	return m->local.ip == dst->ip ? 2 : m->local.ip == 0 ? 1 : 0;
}

/* The set of sockets that fit best. */
static uint32_t
best(const struct name *src, const struct name *dst)
{
	unsigned int most = 1;
	uint32_t set = 0;

	for (unsigned int i = 0; i < SOCKETS; i++) {
		unsigned int k = score(&models[i], src, dst);

		if (k > most) {
			set = 0;
			most = k;
		}
		if (k == most)
			set |= 1u << i;
	}
	return set;
}

/* All that a datagram to a group address is for. */
static uint32_t
listeners(const struct name *src, const struct name *dst)
{
	uint32_t set = 0;

	for (unsigned int i = 0; i < SOCKETS; i++) {
		const struct model *m = &models[i];

		if (m->sk != NULL && m->local.port == dst->port &&
		    (m->local.ip == 0 || m->local.ip == dst->ip) &&
		    (!m->connected || (m->peer.ip == src->ip && m->peer.port == src->port)))
			set |= 1u << i;
	}
	return set;
}

/* ---- comparing ---- */

struct counts {
	uint64_t queued, full, charged;
};

static struct counts
counts_of(const struct model *m)
{
	struct weir_socket_stats st;

	weir_socket_stats_get(m->sk, &st);
	return (struct counts){st.queued, st.rcvq_full, st.charged_bytes};
}

static void
compare_names(const struct model *m)
{
	struct weir_addr a;
	int ret;

	weir_socket_local(m->sk, &a);
	agree(ut_addr_ip(&a) == m->local.ip && ut_addr_port(&a) == m->local.port,
	      "named %08x:%u, should be %08x:%u", ut_addr_ip(&a), ut_addr_port(&a), m->local.ip,
	      m->local.port);
	ret = weir_socket_peer(m->sk, &a);
	agree(ret == (m->connected ? 0 : -ENOTCONN), "peer: %d", ret);
	if (ret == 0)
		agree(ut_addr_ip(&a) == m->peer.ip && ut_addr_port(&a) == m->peer.port,
		      "peer %08x:%u, should be %08x:%u", ut_addr_ip(&a), ut_addr_port(&a),
		      m->peer.ip, m->peer.port);
}

/* A port that the stack chose: it says which, the model checks that it was free. */
static void
learn_port(struct model *m)
{
	const struct weir_stack_conf *c = &s->stack->conf;
	struct weir_addr a;
	uint16_t port;

	weir_socket_local(m->sk, &a);
	port = ut_addr_port(&a);
	agree(port >= c->port_lo && port <= c->port_hi, "port %u is not ephemeral", port);
	agree(is_free(m, m->local.ip, port, true), "port %u is taken", port);
	m->local.port = port;
}

/* A datagram came for one of a set, or for all of it. */
static void
arrive(uint32_t set, const struct counts before[SOCKETS], bool all, const struct dgram *d)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < SOCKETS; i++) {
		struct model *m = &models[i];
		struct counts now;

		if (m->sk == NULL)
			continue;
		now = counts_of(m);
		if (now.queued == before[i].queued && now.full == before[i].full) {
			agree(!all || (set >> i & 1) == 0, "socket %u was left out", i);
			continue;
		}
		n++;
		agree((set >> i & 1) != 0, "socket %u got what is not for it", i);
		agree(now.queued + now.full == before[i].queued + before[i].full + 1,
		      "socket %u got it twice", i);
		if (before[i].charged == 0 || before[i].charged + TRUESIZE <= m->limit) {
			agree(now.queued == before[i].queued + 1,
			      "refused with %" PRIu64 " of %" PRIu64 " bytes", before[i].charged,
			      m->limit);
			agree(m->n < QUEUED, "the model's queue is full");
			m->q[(m->head + m->n++) % QUEUED] = *d;
			n_queued++;
		} else {
			n_refused++;
			agree(now.full == before[i].full + 1,
			      "taken with %" PRIu64 " of %" PRIu64 " bytes", before[i].charged,
			      m->limit);
		}
	}
	agree(all || n == (set != 0), "%u sockets got it", n);
	n_nobody += n == 0;
	n_shared += (set & (set - 1)) != 0;
}

static void
look(struct counts before[SOCKETS])
{
	for (unsigned int i = 0; i < SOCKETS; i++)
		if (models[i].sk != NULL)
			before[i] = counts_of(&models[i]);
}

/* ---- payloads ---- */

static uint8_t payload[1472], got_bytes[1600];

static struct dgram
make(struct name src, struct name dst)
{
	struct dgram d = {.number = ++next_number,
			  .len = 4 + (one_in(4) ? ut_rand_below(&rng, 1400) : 0),
			  .src = src,
			  .dst = dst};

	memcpy(payload, &d.number, 4);
	for (uint32_t i = 4; i < d.len; i++)
		payload[i] = ut_pattern(i);
	return d;
}

/* ---- operations ---- */

static void
op_open(struct model *m)
{
	int ret;

	doing = "open";
	forget(m);
	ret = weir_socket_open(s->stack, NULL, &m->sk);
	if (ret == -EMFILE) { /* closed ones wait for house-keeping */
		ut_clock_advance(100 * WEIR_NS_PER_MS);
		ut_stack_poll(s);
		ret = weir_socket_open(s->stack, NULL, &m->sk);
	}
	agree(ret == 0, "%d", ret);
	m->limit = (2 + ut_rand_below(&rng, 60)) * TRUESIZE;
	ut_sock_set(m->sk, WEIR_OPT_RCVBUF, (int64_t)m->limit);
	m->reuseaddr = one_in(3);
	m->reuseport = one_in(3);
	ut_sock_set(m->sk, WEIR_OPT_REUSEADDR, m->reuseaddr);
	ut_sock_set(m->sk, WEIR_OPT_REUSEPORT, m->reuseport);
}

static void
op_close(struct model *m)
{
	doing = "close";
	agree(weir_socket_close(m->sk) == 0, "it cannot fail");
	forget(m);
}

static void
op_option(struct model *m)
{
	static const enum weir_sockopt opts[] = {WEIR_OPT_RCVBUF, WEIR_OPT_REUSEADDR,
						 WEIR_OPT_REUSEPORT, WEIR_OPT_BROADCAST};
	enum weir_sockopt opt = pick(opts);
	int64_t value = ut_rand_below(&rng, 2);
	int ret;

	doing = "option";
	if (opt == WEIR_OPT_RCVBUF)
		value = 1 + ut_rand_below(&rng, 100 * TRUESIZE);
	ret = weir_socket_set(m->sk, opt, value);
	agree(ret == 0, "option %d to %" PRId64 ": %d", opt, value, ret);
	agree(ut_sock_get(m->sk, opt) == value, "option %d reads back otherwise", opt);
	if (opt == WEIR_OPT_RCVBUF)
		m->limit = (uint64_t)value;
	else
		*(opt == WEIR_OPT_REUSEADDR   ? &m->reuseaddr
		  : opt == WEIR_OPT_REUSEPORT ? &m->reuseport
					      : &m->broadcast) = value != 0;
}

static void
op_bind(struct model *m)
{
	static const uint32_t ips[] = {0,     0,  OURS0,  OURS0,   OURS0,
				       OURS1, LO, BCAST0, NOWHERE, PEER0};
	uint32_t ip = pick(ips);
	uint16_t port = one_in(5) ? 0 : (uint16_t)(PORT0 + ut_rand_below(&rng, N_PORTS));
	int ret, want;

	doing = "bind";
	ret = ut_sock_bind(m->sk, ip, port);
	want = ip == NOWHERE || ip == PEER0                ? -EADDRNOTAVAIL
	       : m->local.port != 0                        ? -EINVAL
	       : port != 0 && !is_free(m, ip, port, false) ? -EADDRINUSE
							   : 0;
	agree(ret == want, "to %08x:%u: %d, should be %d", ip, port, ret, want);
	if (ret != 0)
		return;
	m->local = (struct name){ip, port};
	m->port_explicit = port != 0;
	m->addr_explicit = ip != 0;
	if (port == 0)
		learn_port(m);
	compare_names(m);
}

/* The address that m speaks from to ip; 0 with *err: it cannot. */
static uint32_t
source(const struct model *m, uint32_t ip, int *err)
{
	uint32_t bound = is_bcast(m->local.ip) ? 0 : m->local.ip;

	*err = 0;
	if (is_ours(ip))
		return bound != 0 ? bound : ip;
	if (ip == NOWHERE) {
		*err = -ENETUNREACH;
		return 0;
	}
	if (is_loopback(bound)) {
		*err = -EINVAL;
		return 0;
	}
	return bound != 0 ? bound : ip == PEER1 ? OURS1 : OURS0;
}

static struct name
some_peer(void)
{
	static const uint32_t ips[] = {PEER0, PEER0, PEER0, PEER1,  OURS0,  OURS0,
				       OURS1, LO,    LO,    BCAST0, NOWHERE};
	uint32_t ip = pick(ips);

	return (struct name){ip, is_ours(ip) ? (uint16_t)(PORT0 + ut_rand_below(&rng, N_PORTS))
					     : (uint16_t)(7000 + ut_rand_below(&rng, 2))};
}

static void
op_connect(struct model *m)
{
	struct name peer = some_peer();
	uint32_t src;
	int ret, want;

	doing = "connect";
	src = source(m, peer.ip, &want);
	if (want == 0 && is_bcast(peer.ip) && !m->broadcast)
		want = -EACCES;
	ret = ut_sock_connect(m->sk, peer.ip, peer.port);
	agree(ret == want, "%08x:%u to %08x:%u: %d, should be %d", m->local.ip, m->local.port,
	      peer.ip, peer.port, ret, want);
	if (ret == 0) {
		if (!is_bcast(m->local.ip))
			m->local.ip = src;
		m->peer = peer;
		m->connected = true;
		if (m->local.port == 0)
			learn_port(m);
	}
	compare_names(m);
}

static void
op_disconnect(struct model *m)
{
	doing = "disconnect";
	agree(weir_socket_disconnect(m->sk) == 0, "it cannot fail");
	if (m->connected || (m->local.port != 0 && !m->port_explicit)) {
		if (!m->addr_explicit)
			m->local.ip = 0;
		if (!m->port_explicit)
			m->local.port = 0;
		m->connected = false;
		m->peer = (struct name){0, 0};
	}
	compare_names(m);
}

static void
op_shutdown(struct model *m)
{
	enum weir_shutdown how = (enum weir_shutdown)(1 + ut_rand_below(&rng, 3));
	int ret;

	doing = "shutdown";
	ret = weir_socket_shutdown(m->sk, how);
	agree(ret == (m->connected ? 0 : -ENOTCONN), "%d", ret);
	m->shut |= (uint8_t)how;
}

/* A send binds, and so may one that fails later on (as on Linux). */
static void
learn_binding(struct model *m, bool must)
{
	struct weir_addr a;

	weir_socket_local(m->sk, &a);
	if (m->local.port != 0 || (!must && ut_addr_port(&a) == 0))
		return;
	learn_port(m);
	m->port_explicit = false;
	m->addr_explicit = m->local.ip != 0;
}

/* What left by a port must be the datagram. */
static void
must_leave(const struct dgram *d)
{
	static struct ut_frame f;
	unsigned int port = d->dst.ip == PEER1 ? 1 : 0;

	agree(ut_stack_take(s, port, &f), "nothing left by port %u", port);
	agree(f.len >= 42 + d->len, "%u bytes", f.len);
	agree(ut_get32(f.b + 26) == d->src.ip && ut_get32(f.b + 30) == d->dst.ip &&
		      ut_get16(f.b + 34) == d->src.port && ut_get16(f.b + 36) == d->dst.port,
	      "from or to somebody else");
	agree(memcmp(f.b + 42, payload, d->len) == 0, "another payload");
}

static void
op_send(struct model *m)
{
	bool named = !m->connected || one_in(3);
	struct name to = named ? some_peer() : m->peer;
	struct counts before[SOCKETS];
	struct weir_addr a;
	struct dgram d;
	uint32_t set, src;
	ssize_t ret;
	int want;

	doing = "send";
	if (!m->connected && one_in(20)) { /* to whom? */
		ret = weir_send(s->w[0], m->sk, payload, 4, NULL);
		agree(ret == -EDESTADDRREQ || (m->error != 0 && ret == -m->error) ||
			      (m->shut != 0 && ret == -EPIPE),
		      "%zd", ret);
		if (m->error != 0 && ret == -m->error)
			m->error = 0;
		learn_binding(m, false);
		return;
	}
	src = source(m, to.ip, &want);
	if (want == 0 && is_bcast(to.ip) && !m->broadcast)
		want = -EACCES;
	if ((m->shut & WEIR_SHUT_WR) != 0)
		want = -EPIPE;
	if (m->error != 0)
		want = -m->error;
	d = make((struct name){src, m->local.port}, to);
	look(before);
	a = weir_addr_v4(to.ip, to.port);
	ret = weir_send(s->w[0], m->sk, payload, d.len, named ? &a : NULL);
	agree(ret == (want != 0 ? want : (ssize_t)d.len), "%08x:%u to %08x:%u: %zd, should be %d",
	      m->local.ip, m->local.port, to.ip, to.port, ret, want);
	if (m->error != 0)
		m->error = 0;
	learn_binding(m, want == 0);
	d.src.port = m->local.port;
	if (want != 0)
		return;
	ut_stack_poll(s);
	if (!is_ours(to.ip)) {
		must_leave(&d);
		if (!is_bcast(to.ip)) {
			arrive(0, before, false, &d);
			return;
		}
		/* As every broadcast, it is heard here as well. */
		arrive(listeners(&d.src, &d.dst), before, true, &d);
		return;
	}
	set = best(&d.src, &d.dst);
	arrive(set, before, false, &d);
	if (set == 0) { /* refused: whoever is connected there hears of it */
		uint32_t who = best(&d.dst, &d.src);
		unsigned int n = 0;

		if (who == 0 || !models[__builtin_ctz(who)].connected)
			return;
		if ((who & (who - 1)) == 0) { /* the next call will tell */
			models[__builtin_ctz(who)].error = ECONNREFUSED;
			return;
		}
		for (unsigned int i = 0; i < SOCKETS; i++) {
			if ((who >> i & 1) == 0)
				continue;
			if (weir_socket_error(models[i].sk) != 0)
				n += models[i].error == 0;
			models[i].error = 0;
		}
		agree(n <= 1, "%u heard of it", n);
	}
}

/* From outside, to one of our addresses or to all hosts on the link. */
static void
op_arrive(void)
{
	unsigned int port = one_in(3);
	uint32_t to = port == 1 ? OURS1 : one_in(8) ? BCAST0 : OURS0;
	struct name src = {port == 1 ? PEER1 : PEER0, (uint16_t)(7000 + ut_rand_below(&rng, 2))};
	struct name dst = {to, (uint16_t)(PORT0 + ut_rand_below(&rng, N_PORTS))};
	struct counts before[SOCKETS];
	unsigned int n = one_in(10) ? 1 + ut_rand_below(&rng, 20) : 1;
	static struct ut_frame f;

	doing = "arrival";
	while (n-- > 0) {
		struct dgram d = make(src, dst);
		struct ut_pkt p =
			ut_sock_pkt(port, src.ip, src.port, dst.ip, dst.port, payload, d.len);

		look(before);
		ut_stack_rx(s, port, &p);
		if (is_bcast(to))
			arrive(listeners(&src, &dst), before, true, &d);
		else
			arrive(best(&src, &dst), before, false, &d);
		if (!is_bcast(to) && best(&src, &dst) == 0)
			agree(ut_stack_take(s, port, &f), "no port unreachable");
	}
}

static void
op_receive(struct model *m)
{
	const bool peek = one_in(3);
	struct iovec iov = {got_bytes, one_in(8) ? 4 : sizeof(got_bytes)};
	const struct dgram *d = &m->q[m->head];
	struct weir_rxmsg info;
	ssize_t ret;

	doing = peek ? "peek" : "receive";
	memset(&info, 0, sizeof(info));
	ret = weir_recv_iov(s->w[0], m->sk, &iov, 1, &info, peek ? WEIR_RECV_PEEK : 0);
	if (m->error != 0) {
		agree(ret == -m->error, "%zd", ret);
		m->error = 0;
		n_errors++;
		return;
	}
	if (m->n == 0) {
		agree(ret == ((m->shut & WEIR_SHUT_RD) != 0 ? -ESHUTDOWN : -EAGAIN), "%zd", ret);
		agree(counts_of(m).charged == 0, "an empty queue holds %" PRIu64 " bytes",
		      counts_of(m).charged);
		return;
	}
	agree(ret == (ssize_t)RTE_MIN((size_t)d->len, iov.iov_len), "%zd of %u bytes", ret, d->len);
	agree(info.len == d->len, "%u instead of %u bytes", info.len, d->len);
	agree(memcmp(got_bytes, &d->number, 4) == 0, "number %u instead of %u",
	      *(uint32_t *)(void *)got_bytes, d->number);
	for (ssize_t i = 4; i < ret; i++)
		agree(got_bytes[i] == ut_pattern((size_t)i), "byte %zd", i);
	agree(ut_addr_ip(&info.peer) == d->src.ip && ut_addr_port(&info.peer) == d->src.port,
	      "from %08x:%u instead of %08x:%u", ut_addr_ip(&info.peer), ut_addr_port(&info.peer),
	      d->src.ip, d->src.port);
	agree(ut_addr_ip(&info.local) == d->dst.ip && ut_addr_port(&info.local) == d->dst.port,
	      "to %08x:%u", ut_addr_ip(&info.local), ut_addr_port(&info.local));
	if (peek)
		return;
	m->head = (m->head + 1) % QUEUED;
	m->n--;
}

/* The same by the burst, buffers handed over. */
static void
op_receive_burst(struct model *m)
{
	uint16_t want = (uint16_t)(1 + ut_rand_below(&rng, 32));
	struct weir_rxmsg msg[32];
	uint16_t n;

	doing = "receive burst";
	n = weir_recv_burst(s->w[0], m->sk, msg, want);
	agree(n == RTE_MIN((unsigned int)want, m->n), "%u of %u", n, m->n);
	for (uint16_t i = 0; i < n; i++) {
		const struct dgram *d = &m->q[m->head];

		agree(msg[i].len == d->len && rte_pktmbuf_pkt_len(msg[i].m) == d->len, "%u bytes",
		      msg[i].len);
		agree(memcmp(rte_pktmbuf_mtod(msg[i].m, void *), &d->number, 4) == 0,
		      "not number %u", d->number);
		agree(ut_addr_ip(&msg[i].peer) == d->src.ip, "from %08x", ut_addr_ip(&msg[i].peer));
		weir_mbuf_free_bulk(&msg[i].m, 1);
		m->head = (m->head + 1) % QUEUED;
		m->n--;
	}
}

/* ---- all together ---- */

static void
one_step(void)
{
	struct model *m = &models[ut_rand_below(&rng, SOCKETS)];
	uint32_t what = ut_rand_below(&rng, 100);

	if (what < 30) {
		op_arrive();
	} else if (m->sk == NULL) {
		if (one_in(2))
			op_open(m);
	} else if (m->local.port == 0 && one_in(3)) {
		op_bind(m);
	} else if (what < 31) {
		op_close(m);
	} else if (what < 34) {
		op_option(m);
	} else if (what < 36) {
		op_bind(m);
	} else if (what < 40) {
		op_connect(m);
	} else if (what < 44) {
		op_disconnect(m);
	} else if (what < 45) {
		if (one_in(10))
			op_shutdown(m);
	} else if (what < 70) {
		op_send(m);
	} else if (what < 95) {
		op_receive(m);
	} else {
		op_receive_burst(m);
	}
}

static void
random_operations_agree_with_the_model(void **state)
{
	const char *env = getenv("UT_MODEL_STEPS");
	const uint64_t steps = env != NULL ? strtoull(env, NULL, 10) : 300000;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr peer1 = weir_addr_v4(PEER1, 0);
	static const uint8_t mac1[6] = {0x02, 0, 0, 0, 1, 2};

	s = *state;
	rng = ut_rng();
	memset(models, 0, sizeof(models));
	cfg.n_ports = 2;
	cfg.stack.icmp_rate = 1000000;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	assert_int_equal(weir_neigh_add(s->stack, 1, &peer1, mac1, NULL), 0);
	for (n_step = 0; n_step < steps; n_step++) {
		one_step();
		ut_clock_advance(
			WEIR_NS_PER_MS); /* slow enough for one peer's share of ICMP errors */
		if (n_step % 1000 == 0) {
			ut_stack_identity(s, "on the way");
			for (unsigned int i = 0; i < SOCKETS; i++)
				if (models[i].sk != NULL)
					compare_names(&models[i]);
		}
		agree(ut_stack_pending(s, 0) == 0 && ut_stack_pending(s, 1) == 0,
		      "a frame that nobody expected");
	}
	for (unsigned int i = 0; i < SOCKETS; i++)
		if (models[i].sk != NULL)
			op_close(&models[i]);
	printf("# %" PRIu64 " datagrams queued, %" PRIu64 " refused, %" PRIu64
	       " for nobody, %" PRIu64 " for several, %" PRIu64 " errors read\n",
	       n_queued, n_refused, n_nobody, n_shared, n_errors);
	assert_true(n_queued > steps / 20 && n_refused > steps / 1000 && n_nobody > steps / 50 &&
		    n_shared > steps / 1000 && n_errors > steps / 10000);
	/* The tear-down: identity, and every buffer back in its pool. */
}

int
main(void)
{
	const struct CMUnitTest cases[] = {UT_STACK_TEST(random_operations_agree_with_the_model)};

	return UT_RUN(cases, NULL, NULL);
}
