/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving by many sockets: every datagram of a burst is of another flow, chosen at random.
 *
 *   bound-N       N sockets bound to an address and a port each; sources are random, too
 *   connected-N   N sockets of one address and port, each connected to its own peer
 *
 * With one socket a burst of 32 shares one look-up, one append and one receive call, whatever its sources; with
 * many each datagram has its own. So there are two steps to tell apart: bound-1 to bound-256, where all is in
 * the cache still, is the work per socket; from there on it is the growth of table and sockets.
 *
 * What is timed: weir_input() of a burst of 32 frames whose sums the port has verified, and a
 * weir_recv_burst() of each of the 32 sockets, with its buffers given back. Choosing flows and writing
 * frames is not: the frames are in the cache, as a NIC that writes to the cache leaves them; the sockets and
 * the table are where N of them find place.
 */
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "rig.h"
#include "testport.h"

#define BURST      32
#define N_ADDRS    16
#define FIRST_PORT 1024
#define N_PORTS    64000 /* per address */

struct many {
	const char *name;
	uint32_t n;
	bool connected;
	char device[32];
	uint16_t ethdev;
	struct weir_stack *stack;
	struct weir_lcore *lc;
	struct weir_socket **sk;
	uint8_t frame[64]; /* template: no sums */
	uint64_t random;
	uint64_t ticks;
};

static inline uint32_t
random_below(struct many *c, uint32_t n)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return (uint32_t)(((c->random >> 32) * n) >> 32);
}

/* Names of socket i: its own when it is bound, its peer's when it is connected. */
static inline uint32_t
address_of(uint32_t i)
{
	return RIG_OUR_IP + i / N_PORTS;
}

static inline uint16_t
port_of(uint32_t i)
{
	return (uint16_t)(FIRST_PORT + i % N_PORTS);
}

static int
open_sockets(struct many *c)
{
	struct weir_addr any = weir_addr_v4(RIG_OUR_IP, RIG_PORT);
	struct weir_socket_conf conf;

	weir_socket_conf_init(&conf);
	c->sk = calloc(c->n, sizeof(c->sk[0]));
	if (c->sk == NULL)
		return -1;
	for (uint32_t i = 0; i < c->n; i++) {
		struct weir_addr name = weir_addr_v4(address_of(i), port_of(i));
		struct weir_addr peer = weir_addr_v4(address_of(i) + 0x100, port_of(i));
		int ret = weir_socket_open(c->stack, &conf, &c->sk[i]);

		if (ret == 0 && c->connected) {
			ret = weir_socket_set(c->sk[i], WEIR_OPT_REUSEADDR, 1);
			if (ret == 0)
				ret = weir_socket_bind(c->sk[i], &any);
			if (ret == 0)
				ret = weir_socket_connect(c->sk[i], &peer);
		} else if (ret == 0) {
			ret = weir_socket_bind(c->sk[i], &name);
		}
		if (ret != 0) {
			fprintf(stderr, "bench: %s: socket %u: %d\n", c->name, i, ret);
			return -1;
		}
	}
	return 0;
}

static int
stack_up(struct many *c)
{
	const struct testport_cfg dev = {.mode = TESTPORT_RING, .queues_max = 1};
	struct weir_stack_conf stack;
	struct weir_port_conf port;
	struct weir_error err = {0};
	int ret;

	snprintf(c->device, sizeof(c->device), "net_weirtest_%s", c->name);
	ret = testport_create(c->device, &dev, &c->ethdev);
	if (ret != 0)
		return ret;
	weir_stack_conf_init(&stack);
	stack.name = c->name;
	stack.max_sockets = RTE_MAX(c->n, 1u);
	weir_port_conf_init(&port);
	port.device = c->device;
	ret = weir_stack_create(&stack, &c->stack, &err);
	if (ret == 0)
		ret = weir_port_add(c->stack, &port, &err);
	for (uint32_t i = 0; ret >= 0 && i < N_ADDRS + 1; i++) {
		struct weir_addr a = weir_addr_v4(RIG_OUR_IP + i, 0);

		ret = weir_addr_add(c->stack, 0, &a, 16, &err);
	}
	if (ret >= 0)
		ret = weir_stack_start(c->stack, &err);
	if (ret >= 0)
		ret = weir_worker_attach(c->stack, 0, &c->lc);
	if (ret < 0)
		fprintf(stderr, "bench: %s: %d %s\n", c->name, ret, err.text);
	return ret;
}

static int
setup(void *ctx)
{
	struct many *c = ctx;
	struct wire_eth *eth = (void *)c->frame;
	struct wire_ip4 *ip = (void *)(eth + 1);
	struct wire_udp *udp = (void *)(ip + 1);
	struct rte_ether_addr mac;

	c->random = 88172645463325252u;
	if (stack_up(c) < 0 || rte_eth_macaddr_get(c->ethdev, &mac) != 0)
		return -1;
	memcpy(eth->dst, mac.addr_bytes, WIRE_ETH_ALEN);
	memcpy(eth->src, "\x02\x00\x00\x00\x00\x02", WIRE_ETH_ALEN);
	eth->type = WIRE_BE16(WIRE_ETH_IP4);
	ip->ver_ihl = 0x45;
	ip->total_len = WIRE_BE16(WIRE_IP4_MIN + WIRE_UDP_LEN + 18);
	ip->ttl = 64;
	ip->proto = WIRE_PROTO_UDP;
	ip->src = WIRE_BE32(RIG_PEER_IP + 0x10000);
	ip->dst = WIRE_BE32(RIG_OUR_IP);
	udp->dport = WIRE_BE16(RIG_PORT);
	udp->len = WIRE_BE16(WIRE_UDP_LEN + 18);
	return open_sockets(c);
}

static void
teardown(void *ctx)
{
	struct many *c = ctx;

	if (c->stack == NULL)
		return;
	for (uint32_t i = 0; c->sk != NULL && i < c->n; i++)
		if (c->sk[i] != NULL)
			weir_socket_close(c->sk[i]);
	free(c->sk);
	if (c->lc != NULL)
		weir_lcore_detach(c->lc);
	weir_stack_stop(c->stack);
	if (weir_stack_destroy(c->stack) != 0)
		fprintf(stderr, "bench: %s: buffers are missing\n", c->name);
	testport_destroy(c->device);
	c->stack = NULL;
}

/* A burst of frames, and whom they are for. */
static void
make_burst(struct many *c, struct rte_mbuf **m, struct weir_socket **sk)
{
	if (weir_mbuf_alloc_bulk(c->lc, m, BURST) != 0)
		abort();
	for (unsigned int i = 0; i < BURST; i++) {
		uint32_t which = random_below(c, c->n);
		struct wire_ip4 *ip;
		struct wire_udp *udp;

		memcpy(rte_pktmbuf_mtod(m[i], void *), c->frame, 60);
		ip = rte_pktmbuf_mtod_offset(m[i], struct wire_ip4 *, WIRE_ETH_LEN);
		udp = (void *)(ip + 1);
		if (c->connected) {
			ip->src = WIRE_BE32(address_of(which) + 0x100);
			udp->sport = WIRE_BE16(port_of(which));
		} else {
			ip->src = WIRE_BE32(RIG_PEER_IP + 0x10000 + random_below(c, 1000));
			udp->sport = WIRE_BE16(1 + random_below(c, 65000));
			ip->dst = WIRE_BE32(address_of(which));
			udp->dport = WIRE_BE16(port_of(which));
		}
		m[i]->data_len = 60;
		m[i]->pkt_len = 60;
		m[i]->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		sk[i] = c->sk[which];
	}
}

static void
run(void *ctx, uint64_t n)
{
	struct many *c = ctx;

	c->ticks = 0;
	for (uint64_t done = 0; done < n;) {
		struct rte_mbuf *m[BURST];
		struct weir_socket *sk[BURST];
		struct weir_rxmsg msg[BURST];
		unsigned int got = 0;
		uint64_t start;

		make_burst(c, m, sk);
		start = rte_rdtsc();
		weir_input(c->lc, 0, m, BURST);
		for (unsigned int i = 0; i < BURST; i++)
			got += weir_recv_burst(c->lc, sk[i], msg + got, (uint16_t)(BURST - got));
		for (unsigned int i = 0; i < got; i++)
			m[i] = msg[i].m;
		weir_mbuf_free_bulk(m, got);
		c->ticks += rte_rdtsc() - start;
		if (got != BURST)
			abort();
		done += BURST;
	}
	/* Its quiescent state, for the RCU of the close calls. */
	weir_turn(c->lc);
}

static struct many bound_1 = {.name = "bound1", .n = 1};
static struct many bound_256 = {.name = "bound256", .n = 256};
static struct many bound_10k = {.name = "bound10k", .n = 10000};
static struct many bound_100k = {.name = "bound100k", .n = 100000};
static struct many bound_1m = {.name = "bound1m", .n = 1000000};
static struct many connected_1 = {.name = "conn1", .n = 1, .connected = true};
static struct many connected_256 = {.name = "conn256", .n = 256, .connected = true};
static struct many connected_10k = {.name = "conn10k", .n = 10000, .connected = true};
static struct many connected_100k = {.name = "conn100k", .n = 100000, .connected = true};
static struct many connected_1m = {.name = "conn1m", .n = 1000000, .connected = true};

#define VARIANT(name_, reference_, case_)                                                          \
	{                                                                                          \
		.name = name_, .reference = reference_, .setup = setup, .run = run,                \
		.teardown = teardown, .ctx = &(case_), .ticks = &(case_).ticks                     \
	}

static const struct bench_variant variants[] = {
	VARIANT("bound-1", NULL, bound_1),
	VARIANT("bound-256", "bound-1", bound_256),
	VARIANT("bound-10k", "bound-256", bound_10k),
	VARIANT("bound-100k", "bound-256", bound_100k),
	VARIANT("bound-1m", "bound-256", bound_1m),
	VARIANT("connected-1", NULL, connected_1),
	VARIANT("connected-256", "connected-1", connected_256),
	VARIANT("connected-10k", "connected-256", connected_10k),
	VARIANT("connected-100k", "connected-256", connected_100k),
	VARIANT("connected-1m", "connected-256", connected_1m),
};

static const struct bench many = {
	.experiment = "many",
	.unit = "packet",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 2048,
};

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	int ret;

	bench_mem_mib = 4096;
	ret = bench_begin(&opts, argc, argv);
	return ret >= 0 ? ret : bench_run(&opts, &many);
}
