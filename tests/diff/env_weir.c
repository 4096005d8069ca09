/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe's host as a stack of weir's on test ports. See env.h.
 *
 * Two ways, chosen by one option behind "--":
 *   main    the main thread, which runs the facts, is the worker: its blocking calls take turns
 *   thread  a thread of its own is the worker, the main thread is attached as any other
 */
#include "env.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <weir/bsd.h>
#include <weir/weir.h>

#include "testport.h"

const char env_name[] = "weir";

#define STALL_RING 64 /* descriptors of t1, which nobody empties while something is stalled */

static const unsigned char peer_mac[6] = {2, 0, 0, 0, 0x77, 2};
static const char *const devices[] = {"net_weirtest0", "net_weirtest1", "net_weirtest2"};
static const char *const stalled[] = {"10.78.0.90", "10.78.0.91", "10.78.0.92", "10.78.0.93",
				      "10.78.0.94"};

static struct weir_stack *stack;
static struct weir_lcore *own; /* of the main thread, when it is the worker */
static struct rte_mempool *pool;
static uint16_t ethdevs[N_WIRES];
static unsigned char macs[N_WIRES][6];
static struct weir_stack_conf conf;

static pthread_t worker;
static cpu_set_t all_cpus;
static _Atomic bool quit;
static _Atomic int attached;         /* 0: not yet, 1, or a negative errno */
static _Atomic unsigned int n_turns; /* of the worker thread */
static _Atomic unsigned int n_idle;  /* idle ones in a row */

static void
must(int r, const char *what, const struct weir_error *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "environment: %s: %s %s\n", what, strerror(-r),
		err != NULL ? err->text : "");
	exit(1);
}

const char *
env_ifname(int wire)
{
	return wire == LO ? "lo" : devices[wire];
}

unsigned int
env_ifindex(int wire)
{
	return wire == LO ? WEIR_PORT_LOOPBACK + 1 : (unsigned int)wire + 1;
}

const unsigned char *
env_mac(int wire)
{
	return macs[wire];
}

static struct weir_addr
address(const char *ip)
{
	struct weir_addr a;

	must(weir_addr_parse(ip, &a), ip, NULL);
	return a;
}

static void
add_address(int wire, const char *ip, uint8_t bits)
{
	struct weir_addr a = address(ip);
	struct weir_error err = {0};
	int r = weir_addr_add(stack, (unsigned int)wire, &a, bits, &err);

	/* No IPv6 yet: those facts then say so themselves. */
	if (a.family == WEIR_IPV6 && r == -EAFNOSUPPORT)
		return;
	must(r, ip, &err);
}

static void
add_route(const char *ip, enum weir_route_kind kind)
{
	struct weir_route_conf r;
	struct weir_error err = {0};

	weir_route_conf_init(&r);
	must(weir_addr_parse(ip, &r.prefix), ip, NULL);
	r.prefix_bits = 32;
	r.kind = kind;
	must(weir_route_add_conf(stack, &r, &err), ip, &err);
}

static void
add_neighbour(int wire, const char *ip)
{
	struct weir_addr a = address(ip);
	struct weir_error err = {0};
	int r = weir_neigh_add(stack, (unsigned int)wire, &a, peer_mac, &err);

	if (a.family == WEIR_IPV6 && r == -EAFNOSUPPORT)
		return;
	must(r, ip, &err);
}

static void
open_wire(int wire)
{
	struct testport_cfg cfg = {.mode = TESTPORT_RING, .queues_max = 1};
	struct weir_port_conf port;
	struct weir_error err = {0};

	macs[wire][0] = 2;
	macs[wire][4] = (unsigned char)wire;
	macs[wire][5] = 1;
	memcpy(cfg.mac.addr_bytes, macs[wire], 6);
	must(testport_create(devices[wire], &cfg, &ethdevs[wire]), devices[wire], NULL);
	weir_port_conf_init(&port);
	port.device = devices[wire];
	port.mtu = MTU;
	/* No chatter of IPv6's own on the wires. */
	port.dad = 0;
	port.no_link_local = true;
	port.tx_desc = wire == T1 ? STALL_RING : 1024;
	must(weir_port_add(stack, &port, &err), devices[wire], &err);
}

/* ---- the worker ---- */

static void *
work(void *arg)
{
	struct weir_lcore *lc;
	int r = weir_worker_attach(stack, 0, &lc);

	(void)arg;
	pthread_setaffinity_np(pthread_self(), sizeof(all_cpus), &all_cpus);
	attached = r < 0 ? r : 1;
	if (r < 0)
		return NULL;
	while (!quit) {
		unsigned int n = weir_turn(lc);

		n_idle = n == 0 ? n_idle + 1 : 0;
		n_turns++;
		weir_idle(lc, n);
	}
	weir_lcore_detach(lc);
	return NULL;
}

void
env_settle(void)
{
	unsigned int start;

	if (own != NULL) {
		for (int idle = 0; idle < 3;)
			idle = weir_turn(own) == 0 ? idle + 1 : 0;
		return;
	}
	/* Turns that began after this call, and found nothing more to do. */
	start = n_turns;
	while (n_turns - start < 3 || n_idle < 2)
		sched_yield();
}

void
env_start(int argc, char **argv)
{
	struct weir_error err = {0};
	char eal[128];
	int cpu = 0;
	bool by_main = argc < 2 || strcmp(argv[1], "main") == 0;

	if (argc > 2 || (!by_main && strcmp(argv[1], "thread") != 0)) {
		fprintf(stderr, "behind --: main or thread\n");
		exit(2);
	}
	sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
	while (!CPU_ISSET(cpu, &all_cpus))
		cpu++;
	snprintf(eal, sizeof(eal),
		 "--no-huge --no-shconf --no-pci --no-telemetry -m 256 "
		 "--lcores 0@%d --log-level *:error",
		 cpu);
	must(weir_eal_start(eal), "EAL", NULL);
	sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
	weir_stack_conf_init(&conf);
	conf.name = "probe";
	conf.max_threads = 16;
	conf.max_sockets = 1024;
	conf.pool_mbufs = 16384;
	conf.port_lo = PORT_LO;
	conf.port_hi = PORT_HI;
	conf.rcvbuf = 212992; /* Linux's */
	conf.rcvbuf_max = 8388608;
	conf.arp_retries = 1;
	conf.arp_retry_ms = 20;
	conf.icmp_rate = 1000000;
	conf.tx_stall_ms = 60000;
	must(weir_stack_create(&conf, &stack, &err), "stack", &err);
	for (int w = 0; w < N_WIRES; w++)
		open_wire(w);
	add_address(T0, HOST, 24);
	add_address(T1, HOST1, 24);
	add_address(T2, HOST_DOWN, 24);
	add_address(T0, HOST6, 64);
	add_address(T1, HOST6_1, 64);
	add_neighbour(T0, PEER);
	add_neighbour(T1, PEER1);
	add_neighbour(T0, PEER6);
	for (int i = 0; i < 4; i++) {
		char ip[16];

		snprintf(ip, sizeof(ip), "10.77.0.%d", 10 + i);
		add_neighbour(T0, ip);
	}
	for (int i = 0; i < 5; i++)
		add_neighbour(T1, stalled[i]);
	add_route("192.0.2.1", WEIR_ROUTE_UNREACHABLE);
	add_route("192.0.2.2", WEIR_ROUTE_PROHIBIT);
	add_route("192.0.2.3", WEIR_ROUTE_BLACKHOLE);
	must(weir_stack_start(stack, &err), "start", &err);
	must(testport_set_link(ethdevs[T2], false), "link", NULL);
	pool = rte_pktmbuf_pool_create("probe_wire", 2047, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	must(pool == NULL ? -ENOMEM : 0, "pool", NULL);
	if (by_main) {
		must(weir_worker_attach(stack, 0, &own), "worker", NULL);
	} else {
		must(-pthread_create(&worker, NULL, work, NULL), "thread", NULL);
		while (attached == 0)
			sched_yield();
		must(attached, "worker", NULL);
	}
	must(weir_bsd_start(stack), "weir_bsd_start", NULL);
	env_settle();
}

/* Everything must come back: a probe that leaks is no probe. */
void
env_stop(void)
{
	struct weir_stats stats;

	weir_bsd_detach();
	must(weir_bsd_stop(), "weir_bsd_stop", NULL);
	env_settle();
	if (own != NULL) {
		must(weir_lcore_detach(own), "detach", NULL);
	} else {
		quit = true;
		pthread_join(worker, NULL);
	}
	must(weir_stack_stop(stack), "stop", NULL);
	if (getenv("DIFF_STATS") != NULL) {
		weir_stats_get(stack, &stats);
		weir_stats_print(stderr, &stats);
	}
	must(weir_stats_check(stack, &stats), "accounting", NULL);
	must(weir_stack_destroy(stack), "destroy", NULL);
	for (int w = 0; w < N_WIRES; w++)
		must(testport_destroy(devices[w]), devices[w], NULL);
	if (rte_mempool_in_use_count(pool) != 0)
		must(-EPROTO, "frames of the wire are missing", NULL);
}

/* ---- the wires ---- */

void
env_wire_put(int wire, const void *frame, size_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	size_t room = len < 60 ? 60 : len; /* Ethernet pads */
	char *data;

	must(m == NULL ? -ENOMEM : 0, "a frame", NULL);
	data = rte_pktmbuf_append(m, (uint16_t)room);
	must(data == NULL ? -EMSGSIZE : 0, "a frame", NULL);
	memset(data, 0, room);
	memcpy(data, frame, len);
	if (testport_inject(ethdevs[wire], 0, &m, 1) != 1)
		must(-ENOBUFS, "a frame", NULL);
	env_settle();
}

static size_t
collect(int wire, void *frame, size_t size)
{
	struct rte_mbuf *m;
	size_t len = 0;

	if (testport_collect(ethdevs[wire], 0, &m, 1) != 1)
		return 0;
	for (const struct rte_mbuf *seg = m; seg != NULL; seg = seg->next) {
		size_t n = seg->data_len < size - len ? seg->data_len : size - len;

		memcpy((char *)frame + len, rte_pktmbuf_mtod(seg, void *), n);
		len += n;
	}
	rte_pktmbuf_free(m);
	return len;
}

size_t
env_wire_get(int wire, void *frame, size_t size)
{
	return collect(wire, frame, size);
}

const char *
env_stalled(int i)
{
	return stalled[i];
}

int
env_release(void)
{
	unsigned char frame[64];
	int n, all = 0;

	do {
		env_settle();
		for (n = 0; collect(T1, frame, sizeof(frame)) > 0; n++) {
		}
		all += n;
	} while (n > 0);
	return all;
}

int
env_rmem_max(void)
{
	return (int)(conf.rcvbuf_max / 2);
}

int
env_wmem_max(void)
{
	return 0x7fffffff / 2;
}

/* Nothing here asks who calls. */
void
env_privileged(bool yes)
{
	(void)yes;
}

void
env_await_blocked(int tid)
{
	char path[64], line[256];

	/* A waiting thread spins, then sleeps; facts come out the same either way. */
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	for (int i = 0; i < 200; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		const char *state;

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			return;
		line[n] = '\0';
		state = strrchr(line, ')');
		if (state != NULL && state[1] == ' ' && state[2] == 'S')
			return;
		env_settle();
		sched_yield();
	}
}
