/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See ut_stack.h. Names of stacks and devices are new in every case, so that what a failed case leaves
 * behind does not disturb the next.
 */
#include "common/ut_stack.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>

#include <rte_ethdev.h>

#include "common/ut_clock.h"
#include "common/ut_eal.h"
#include "common/ut_guard.h"
#include "common/ut_pool.h"

static unsigned int serial;

struct ut_stack_cfg
ut_stack_cfg(void)
{
	struct ut_stack_cfg cfg = {.n_ports = 1};

	weir_stack_conf_init(&cfg.stack);
	weir_port_conf_init(&cfg.port);
	cfg.stack.seed = 1;
	cfg.stack.max_sockets = 64;
	cfg.stack.max_neigh = 64;
	cfg.port.rx_desc = 64;
	cfg.port.tx_desc = 64;
	cfg.port.dad = 0;
	cfg.port.no_link_local = true;
	cfg.dev.queues_max = UT_STACK_WORKERS;
	cfg.dev.tx_offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	return cfg;
}

int
ut_stack_setup(void **state)
{
	struct ut_stack *s = calloc(1, sizeof(*s));

	if (s == NULL || ut_eal_init(3, NULL) != 0)
		return -1;
	*state = s;
	return 0;
}

static void
open_device(struct ut_stack *s, unsigned int p)
{
	struct testport_cfg dev = s->cfg.dev;
	uint8_t *mac = dev.mac.addr_bytes;
	int err;

	memcpy(mac, UT_OUR_MAC, 6);
	mac[3] = (uint8_t)s->cfg.host;
	mac[4] = (uint8_t)p;
	snprintf(s->device[p], sizeof(s->device[p]), "net_weirtest_%u_%u", serial, p);
	err = testport_create(s->device[p], &dev, &s->ethdev[p]);
	ut_check(err == 0, "create %s: %d", s->device[p], err);
}

void
ut_stack_up(struct ut_stack *s, const struct ut_stack_cfg *cfg)
{
	char name[16], pool[24];
	struct weir_error err = {0};
	int ret;

	s->cfg = *cfg;
	serial++;
	snprintf(name, sizeof(name), "ut%u", serial);
	if (strcmp(s->cfg.stack.name, "weir") == 0)
		s->cfg.stack.name = name;
	if (!cfg->real_clock)
		ut_clock_install();
	snprintf(pool, sizeof(pool), "ut_frames.%u", serial);
	s->pool = ut_pool_create(pool, 2047, 0);
	ret = weir_stack_create(&s->cfg.stack, &s->stack, &err);
	ut_check(ret == 0, "create: %d %s", ret, err.text);
	for (unsigned int p = 0; p < cfg->n_ports; p++) {
		struct weir_port_conf port = cfg->port;
		struct weir_addr addr = weir_addr_v4(UT_OUR_IP + (p << 8) + cfg->host, 0);

		open_device(s, p);
		port.device = s->device[p];
		ret = weir_port_add(s->stack, &port, &err);
		ut_check(ret == (int)p, "port %u: %d %s", p, ret, err.text);
		if (cfg->no_addresses)
			continue;
		ret = weir_addr_add(s->stack, p, &addr, 24, &err);
		ut_check(ret == 0, "address %u: %d %s", p, ret, err.text);
		if (!cfg->ip6)
			continue;
		addr = ut_addr6(UT_OUR_IP6, 0);
		addr.ip.b[7] = (uint8_t)p;
		addr.ip.b[15] = (uint8_t)(1 + cfg->host);
		ret = weir_addr_add(s->stack, p, &addr, 64, &err);
		ut_check(ret == 0, "IPv6 address %u: %d %s", p, ret, err.text);
	}
	if (cfg->no_start)
		return;
	ret = weir_stack_start(s->stack, &err);
	ut_check(ret == 0, "start: %d %s", ret, err.text);
	ut_stack_attach(s);
	if (!cfg->announcements) {
		ut_stack_poll(s);
		for (unsigned int p = 0; p < cfg->n_ports; p++)
			testport_discard(s->ethdev[p]);
	}
	if (cfg->no_attach)
		ut_stack_detach(s);
	ut_stack_mark(s);
}

void
ut_stack_attach(struct ut_stack *s)
{
	for (unsigned int w = 0; w < s->cfg.stack.workers && w < UT_STACK_WORKERS; w++)
		assert_int_equal(weir_worker_attach(s->stack, w, &s->w[w]), 0);
}

void
ut_stack_detach(struct ut_stack *s)
{
	for (unsigned int w = 0; w < UT_STACK_WORKERS; w++) {
		if (s->w[w] != NULL)
			assert_int_equal(weir_lcore_detach(s->w[w]), 0);
		s->w[w] = NULL;
	}
}

void
ut_stack_down(struct ut_stack *s)
{
	struct weir_stack *stack = s->stack;
	uint64_t errors = 0;
	int ret;

	s->stack = NULL;
	if (stack != NULL) {
		struct ut_stack all = {.stack = stack};

		ut_stack_identity(&all, "at the end of the case");
		ut_stack_detach(s);
		while (s->n_sk > 0)
			weir_socket_close(s->sk[--s->n_sk]);
		ret = weir_stack_stop(stack);
		ut_check(ret == 0, "stop: %d", ret);
		ut_stack_identity(&all, "after stop");
		for (unsigned int p = 0; p < s->cfg.n_ports; p++)
			if (rte_eth_dev_is_valid_port(s->ethdev[p]))
				testport_discard(s->ethdev[p]);
		ret = weir_stack_destroy(stack);
		ut_check(ret == 0, "destroy: %d", ret);
	}
	for (unsigned int p = 0; p < UT_STACK_PORTS; p++) {
		if (s->device[p][0] == '\0')
			continue;
		if (rte_eth_dev_is_valid_port(s->ethdev[p]) && !s->cfg.allow_port_errors) {
			errors += testport_errors(s->ethdev[p]);
			for (int e = 0; e < TESTPORT_N_ERRORS; e++)
				if (testport_errors_of(s->ethdev[p], e) != 0)
					print_error("port %u: %s %" PRIu64 "\n", p,
						    testport_error_name(e),
						    testport_errors_of(s->ethdev[p], e));
		}
		(void)testport_destroy(s->device[p]);
		s->device[p][0] = '\0';
	}
	ut_check(errors == 0, "ports were handed %" PRIu64 " wrong frames", errors);
	ut_check(ut_guard_live() == 0, "%u guarded buffers are out", ut_guard_live());
	ut_pool_destroy(s->pool);
	s->pool = NULL;
	if (!s->cfg.real_clock)
		ut_clock_remove();
}

int
ut_stack_teardown(void **state)
{
	struct ut_stack *s = *state;

	if (s->stack != NULL || s->pool != NULL)
		ut_stack_down(s);
	free(s);
	return 0;
}

/* ---- sockets ---- */

struct weir_socket *
ut_stack_socket_conf(struct ut_stack *s, uint16_t port, const struct weir_socket_conf *conf)
{
	struct weir_addr any = weir_addr_v4(0, port);
	struct weir_socket *sk;
	int ret = weir_socket_open(s->stack, conf, &sk);

	ut_check(ret == 0, "open: %d", ret);
	if (port != 0) {
		ret = weir_socket_bind(sk, &any);
		ut_check(ret == 0, "bind to port %u: %d", port, ret);
	}
	assert_true(s->n_sk < UT_N(s->sk));
	s->sk[s->n_sk++] = sk;
	return sk;
}

struct weir_socket *
ut_stack_socket(struct ut_stack *s, uint16_t port)
{
	return ut_stack_socket_conf(s, port, NULL);
}

struct weir_socket *
ut_stack_socket6(struct ut_stack *s, uint16_t port)
{
	struct weir_socket_conf conf;
	struct weir_addr any = {.family = WEIR_IPV6, .port = htons(port)};
	struct weir_socket *sk;
	int ret;

	weir_socket_conf_init(&conf);
	conf.family = WEIR_IPV6;
	sk = ut_stack_socket_conf(s, 0, &conf);
	ret = weir_socket_bind(sk, &any);
	ut_check(ret == 0, "bind to [::]:%u: %d", port, ret);
	return sk;
}

void
ut_stack_close(struct ut_stack *s, struct weir_socket *sk)
{
	for (unsigned int i = 0; i < s->n_sk; i++) {
		if (s->sk[i] != sk)
			continue;
		s->sk[i] = s->sk[--s->n_sk];
		assert_int_equal(weir_socket_close(sk), 0);
		return;
	}
	fail_msg("not a socket of this fixture");
}

/* ---- turns ---- */

static unsigned int
round_of_turns(struct ut_stack *s)
{
	unsigned int work = 0;

	for (unsigned int w = 0; w < UT_STACK_WORKERS; w++)
		if (s->w[w] != NULL)
			work += weir_turn(s->w[w]);
	return work;
}

void
ut_stack_poll(struct ut_stack *s)
{
	unsigned int rounds = 0;
	unsigned int idle = 0;

	/* Twice idle: what house-keeping appends behind a turn's flush leaves by the next turn. */
	while (idle < 2) {
		idle = round_of_turns(s) == 0 ? idle + 1 : 0;
		ut_check(++rounds < 10000, "the workers never come to rest");
	}
}

void
ut_stack_pass(struct ut_stack *s, uint64_t ns, uint64_t step_ns)
{
	while (ns > 0) {
		const uint64_t step = ns < step_ns ? ns : step_ns;

		ut_clock_advance(step);
		ut_stack_poll(s);
		ns -= step;
	}
}

/* ---- frames ---- */

void
ut_stack_inject(struct ut_stack *s, unsigned int port, uint16_t queue, struct rte_mbuf *m)
{
	ut_check(testport_inject(s->ethdev[port], queue, &m, 1) == 1, "injection refused");
}

void
ut_stack_rx_mbuf(struct ut_stack *s, unsigned int port, struct rte_mbuf *m)
{
	ut_stack_inject(s, port, 0, m);
	ut_stack_poll(s);
}

void
ut_stack_rx(struct ut_stack *s, unsigned int port, const struct ut_pkt *pkt)
{
	ut_stack_rx_mbuf(s, port, ut_pkt_mbuf(pkt, s->pool));
}

bool
ut_stack_take(struct ut_stack *s, unsigned int port, struct ut_frame *f)
{
	struct rte_mbuf *m;

	for (uint16_t q = 0; q < s->cfg.dev.queues_max; q++) {
		if (testport_tx_pending(s->ethdev[port], q) == 0 ||
		    testport_collect(s->ethdev[port], q, &m, 1) == 0)
			continue;
		f->len = (uint16_t)ut_mbuf_bytes(m, f->b, sizeof(f->b));
		f->queue = q;
		f->n_segs = m->nb_segs;
		rte_pktmbuf_free(m);
		return true;
	}
	return false;
}

void
ut_stack_must_take(struct ut_stack *s, unsigned int port, struct ut_frame *f)
{
	ut_check(ut_stack_take(s, port, f), "nothing was transmitted on port %u", port);
}

unsigned int
ut_stack_pending(struct ut_stack *s, unsigned int port)
{
	unsigned int n = 0;

	for (uint16_t q = 0; q < s->cfg.dev.queues_max; q++)
		n += testport_tx_pending(s->ethdev[port], q);
	return n;
}

void
ut_stack_peer(struct ut_stack *s)
{
	struct weir_addr peer = weir_addr_v4(UT_PEER_IP, 0);

	assert_int_equal(weir_neigh_add(s->stack, 0, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
}

void
ut_stack_peer6(struct ut_stack *s)
{
	struct weir_addr peer = ut_addr6(UT_PEER_IP6, 0);

	assert_int_equal(weir_neigh_add(s->stack, 0, &peer, (const uint8_t *)UT_PEER_MAC, NULL), 0);
}

struct weir_addr
ut_addr6(const void *ip, uint16_t port)
{
	struct weir_addr a = {.family = WEIR_IPV6, .port = htons(port)};

	memcpy(a.ip.b, ip, sizeof(a.ip.b));
	return a;
}

void
ut_stack_arp_reply(struct ut_stack *s, unsigned int port, uint32_t ip, const void *mac)
{
	struct ut_pkt p = ut_pkt_arp_reply();

	p.arp_spa = ip;
	p.arp_tpa = UT_OUR_IP + (port << 8);
	p.eth_dst[4] = (uint8_t)port;
	p.arp_tha[4] = (uint8_t)port;
	memcpy(p.eth_src, mac, 6);
	memcpy(p.arp_sha, mac, 6);
	ut_stack_rx(s, port, &p);
}

bool
ut_frame_is_ask(const struct ut_frame *f, uint32_t ip)
{
	return f->len >= 42 && ut_get16(f->b + 12) == 0x0806 && ut_get16(f->b + 20) == 1 &&
	       ut_get32(f->b + 38) == ip;
}

struct rte_mbuf *
ut_stack_payload(struct ut_stack *s, size_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(s->pool);
	uint8_t *p;

	assert_non_null(m);
	p = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)len);
	assert_non_null(p);
	for (size_t i = 0; i < len; i++)
		p[i] = ut_pattern(i);
	return m;
}

/* ---- counters ---- */

void
ut_stack_mark(struct ut_stack *s)
{
	weir_stats_get(s->stack, &s->mark);
}

void
ut_stack_only_drop(struct ut_stack *s, enum weir_drop reason, uint64_t n, const char *what)
{
	struct weir_stats now;

	weir_stats_get(s->stack, &now);
	for (int r = 0; r < WEIR_DROP_N; r++) {
		const uint64_t got = now.drops[r] - s->mark.drops[r];
		const uint64_t want = r == (int)reason ? n : 0;

		ut_check(got == want, "%s: %" PRIu64 " drops %s, wanted %" PRIu64 " (%s)", what,
			 got, weir_drop_name((enum weir_drop)r), want,
			 reason < WEIR_DROP_N ? weir_drop_name(reason) : "no drop");
	}
	s->mark = now;
}

uint64_t
ut_stack_diff(struct ut_stack *s, size_t offset)
{
	struct weir_stats now;

	weir_stats_get(s->stack, &now);
	return *(const uint64_t *)(const void *)((const char *)&now + offset) -
	       *(const uint64_t *)(const void *)((const char *)&s->mark + offset);
}

void
ut_stack_identity(struct ut_stack *s, const char *when)
{
	struct weir_stats st;
	int ret = weir_stats_check(s->stack, &st);

	if (ret != 0)
		weir_stats_print(stderr, &st);
	ut_check(ret == 0, "%s the sums do not fit: rx residue %" PRId64 ", tx residue %" PRId64,
		 when, st.rx_residue, st.tx_residue);
}

/* ---- waiting for other threads ---- */

void
ut_wait_for(bool (*cond)(void *arg), void *arg, const char *what)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!cond(arg)) {
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
		ut_check(now.tv_sec - start.tv_sec < 20, "20 seconds without: %s", what);
	}
}
