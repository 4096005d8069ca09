/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: life of a stack and of its lcores: create, start, attach, detach, stop, destroy; functions
 * handed to a worker. See <weir/stack.h>.
 *
 * Everything is undone in the reverse order of its making by one function per step, each of which
 * copes with what was never made, so that a creation that fails half-way uses the same path.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>
#include <rte_mempool.h>

#include "batch.h"
#include "control_state.h"
#include "drop.h"
#include "fib.h"
#include "local.h"
#include "log.h"
#include "mcast.h"
#include "mesh.h"
#include "ndp.h"
#include "neigh.h"
#include "pmtu.h"
#include "poll.h"
#include "reasm.h"
#include "route.h"
#include "sock.h"
#include "socktab.h"
#include "stack_priv.h"

RTE_LOG_REGISTER(weir_logtype, weir, NOTICE);

int weir_meta_offset = -1;

/* Buffers that a pool keeps per lcore; most that one lcore's cache may hold is 1.5 times that. */
#define POOL_CACHE     256
#define POOL_CACHE_MAX (POOL_CACHE + POOL_CACHE / 2)
/* Buffers for sockets and applications when the configuration does not say. */
#define POOL_FOR_SOCKETS 8192

/* Names in use, so that two stacks do not fight for one pool name. */
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	char name[20];
	bool used;
} names[64];

/* ---- the calling thread's lcores ---- */

__thread struct weir_lcore *weir_thread_lcores;

struct weir_lcore *
weir_self(const struct weir_stack *stack)
{
	struct weir_lcore *lc = weir_thread_lcores;

	while (lc != NULL && lc->stack != stack)
		lc = lc->thread_next;
	return lc;
}

static void
thread_push(struct weir_lcore *lc)
{
	lc->thread_next = weir_thread_lcores;
	weir_thread_lcores = lc;
}

static void
thread_remove(struct weir_lcore *lc)
{
	struct weir_lcore **link = &weir_thread_lcores;

	while (*link != NULL && *link != lc)
		link = &(*link)->thread_next;
	if (*link == lc)
		*link = lc->thread_next;
}

/* ---- configuration ---- */

void
weir_stack_conf_init(struct weir_stack_conf *conf)
{
	*conf = (struct weir_stack_conf){
		.size = sizeof(*conf),
		.name = "weir",
		.workers = 1,
		.max_threads = 2,
		.max_sockets = 1024,
		.data_room = 2048,
		.burst = 32,
		.mesh_ring = 1024,
		.rcvbuf = 4194304,
		.rcvbuf_max = 1073741824,
		.max_neigh = 1024,
		.hold = 16,
		.arp_retries = 3,
		.arp_retry_ms = 1000,
		.neigh_reachable_ms = 30000,
		.icmp_rate = 1000,
		.tx_stall_ms = 1000,
		.frag_mem = 4194304,
		.frag_source_mem = 1048576,
		.frag_ms = 30000,
		.max_pmtu = 2048,
		.pmtu_expire_ms = 600000,
		.pmtu_min = 552,
		.port_lo = 32768,
		.port_hi = 60999,
	};
}

static bool
good_name(const char *name)
{
	size_t n = name != NULL ? strlen(name) : 0;

	return n >= 1 && n <= 16 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") ==
		       n;
}

static int
check_conf(const struct weir_stack_conf *c, struct weir_error *err)
{
	const struct {
		const char *key;
		uint64_t value, lo, hi;
		bool zero; /* or 0 */
	} range[] = {
		{"workers", c->workers, 1, WEIR_MAX_WORKERS, false},
		{"max_threads", c->max_threads, 0, WEIR_MAX_LCORES - 1 - WEIR_MAX_WORKERS, false},
		{"max_sockets", c->max_sockets, 1, 1048576, false},
		{"pool_mbufs", c->pool_mbufs, 0, 1u << 26, false},
		{"data_room", c->data_room, 640, 16384, false},
		{"burst", c->burst, 1, WEIR_MAX_BURST, false},
		{"mesh_ring", c->mesh_ring, 64, 65536, false},
		{"rcvbuf", c->rcvbuf, 2304, c->rcvbuf_max, false},
		{"rcvbuf_max", c->rcvbuf_max, 2304, UINT32_MAX, false},
		{"max_neigh", c->max_neigh, 16, 1048576, false},
		{"hold", c->hold, 1, 1024, false},
		{"arp_retries", c->arp_retries, 1, 20, false},
		{"arp_retry_ms", c->arp_retry_ms, 10, 60000, false},
		{"neigh_reachable_ms", c->neigh_reachable_ms, 100, 86400000, false},
		{"icmp_rate", c->icmp_rate, 0, 1000000, false},
		{"tx_stall_ms", c->tx_stall_ms, 1, 60000, false},
		/* Off, or room for one datagram of the largest size in small buffers. */
		{"frag_mem", c->frag_mem, 262144, UINT32_MAX, true},
		{"frag_source_mem", c->frag_source_mem, 131072, UINT32_MAX, true},
		{"frag_ms", c->frag_ms, 100, 120000, false},
		{"max_pmtu", c->max_pmtu, 16, 1048576, false},
		{"pmtu_expire_ms", c->pmtu_expire_ms, 1000, 86400000, false},
		{"pmtu_min", c->pmtu_min, 68, 1500, false},
		{"port_lo", c->port_lo, 1, 65535, false},
		{"port_hi", c->port_hi, c->port_lo, 65535, false},
	};

	if (c->size != sizeof(*c))
		return weir_error_set(
			err, -EINVAL,
			"size: %zu: weir_stack_conf_init() sets it; the library has %zu", c->size,
			sizeof(*c));
	if (!good_name(c->name))
		return weir_error_set(err, -EINVAL, "name: %s: 1 to 16 of A-Z a-z 0-9 _ -",
				      c->name != NULL ? c->name : "(null)");
	for (size_t i = 0; i < RTE_DIM(range); i++)
		if ((range[i].value < range[i].lo || range[i].value > range[i].hi) &&
		    !(range[i].zero && range[i].value == 0))
			return weir_error_set(err, -EINVAL,
					      "%s: %" PRIu64 ": allowed are %s%" PRIu64
					      " to %" PRIu64,
					      range[i].key, range[i].value,
					      range[i].zero ? "0 and " : "", range[i].lo,
					      range[i].hi);
	if ((c->mesh_ring & (c->mesh_ring - 1)) != 0)
		return weir_error_set(err, -EINVAL, "mesh_ring: %u: a power of two", c->mesh_ring);
	return 0;
}

/* Never read; volatile, so that the reference is there for who looks for leaks. */
static char *volatile eal_args;

int
weir_eal_start(const char *args)
{
	static const char def[] = "--no-huge --no-shconf --no-pci -m 256 -l 0";
	char *argv[64] = {(char *)(uintptr_t) "weir"};
	char *text;
	char *save;
	int argc = 1;
	int ret;

	text = strdup(args != NULL && args[0] != '\0' ? args : def);
	if (text == NULL)
		return -ENOMEM;
	for (char *p = strtok_r(text, " \t\n", &save); p != NULL;
	     p = strtok_r(NULL, " \t\n", &save)) {
		if (argc == RTE_DIM(argv) - 1) {
			free(text);
			return -E2BIG;
		}
		argv[argc++] = p;
	}
	ret = rte_eal_init(argc, argv);
	if (ret < 0 && rte_errno == EALREADY) {
		free(text);
		return 0;
	}
	/* EAL keeps pointers into its arguments, also when it fails: they live as long as the process. */
	eal_args = text;
	if (ret >= 0)
		return 0;
	return rte_errno != 0 ? -rte_errno : -EIO;
}

/* ---- create ---- */

static bool
claim_name(const char *name)
{
	int free_slot = -1;
	bool ok = false;

	pthread_mutex_lock(&names_lock);
	for (unsigned int i = 0; i < RTE_DIM(names); i++) {
		if (names[i].used && strcmp(names[i].name, name) == 0) {
			free_slot = -1;
			break;
		}
		if (!names[i].used)
			free_slot = (int)i;
	}
	if (free_slot >= 0) {
		names[free_slot].used = true;
		snprintf(names[free_slot].name, sizeof(names[free_slot].name), "%s", name);
		ok = true;
	}
	pthread_mutex_unlock(&names_lock);
	return ok;
}

static void
release_name(const char *name)
{
	pthread_mutex_lock(&names_lock);
	for (unsigned int i = 0; i < RTE_DIM(names); i++)
		if (names[i].used && strcmp(names[i].name, name) == 0)
			names[i].used = false;
	pthread_mutex_unlock(&names_lock);
}

static int
register_meta(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "weir_meta",
		.size = sizeof(struct weir_meta),
		.align = alignof(struct weir_meta),
	};

	weir_meta_offset = rte_mbuf_dynfield_register(&field);
	return weir_meta_offset < 0 ? -rte_errno : 0;
}

static void
make_keys(struct weir_stack *stack)
{
	struct weir_control *c = stack->control;

	if (stack->conf.seed != 0) {
		c->rng = stack->conf.seed;
	} else if (getrandom(&c->rng, sizeof(c->rng), 0) != sizeof(c->rng)) {
		c->rng = rte_rdtsc();
	}
	for (unsigned int i = 0; i < RTE_DIM(stack->hash_key); i++)
		stack->hash_key[i] = weir_ctl_random(stack) | 1;
}

static int
make_lcores(struct weir_stack *stack)
{
	for (uint16_t i = 0; i < stack->n_lcores; i++) {
		struct weir_lcore *lc;

		lc = rte_zmalloc("weir_lcore", sizeof(*lc), WEIR_CACHE_LINE);
		if (lc == NULL)
			return -ENOMEM;
		stack->lcores[i] = lc;
		lc->stack = stack;
		lc->rcu = stack->rcu;
		lc->slot = i;
		lc->worker = i < stack->n_workers ? (int16_t)i : -1;
		lc->kind = i < stack->n_workers      ? WEIR_LC_WORKER
			   : i + 1 < stack->n_lcores ? WEIR_LC_ATTACHED
						     : WEIR_LC_CONTROL;
		if (lc->kind != WEIR_LC_CONTROL && weir_rtc_init(lc, SOCKET_ID_ANY) != 0)
			return -ENOMEM;
		if (lc->kind == WEIR_LC_WORKER && weir_reasm_init(lc, SOCKET_ID_ANY) != 0)
			return -ENOMEM;
	}
	stack->ctl_lcore = stack->lcores[stack->n_lcores - 1];
	return 0;
}

/* Where datagrams to our own addresses go: a port without a device, see weir_poll_loopback(). */
static int
make_loopback(struct weir_stack *stack)
{
	struct weir_port *lo = rte_zmalloc("weir_port", sizeof(*lo), WEIR_CACHE_LINE);

	if (lo == NULL)
		return -ENOMEM;
	lo->index = WEIR_PORT_LOOPBACK;
	lo->parent = WEIR_PORT_LOOPBACK;
	lo->link_up = true;
	lo->ethdev = UINT16_MAX;
	lo->mtu = UINT16_MAX;
	lo->rx_csum = true;
	lo->tx_csum = true;
	lo->tx_multi_seg = true;
	lo->started = true;
	lo->parse.loopback = true;
	lo->parse.mac[0] = 0x02; /* any station's: what is 0 is refused */
	snprintf(lo->device, sizeof(lo->device), "lo");
	stack->ports[WEIR_PORT_LOOPBACK] = lo;
	for (uint16_t i = 0; i < stack->n_lcores; i++) {
		stack->lcores[i]->txb[WEIR_PORT_LOOPBACK].port = WEIR_PORT_LOOPBACK;
		stack->lcores[i]->txb[WEIR_PORT_LOOPBACK].self = true;
	}
	return 0;
}

static int
make_socket_ids(struct weir_stack *stack)
{
	struct weir_control *c = stack->control;
	uint32_t n = stack->conf.max_sockets;

	stack->socks = rte_zmalloc("weir_socks", n * sizeof(*stack->socks), WEIR_CACHE_LINE);
	c->free_ids = calloc(n, sizeof(*c->free_ids));
	c->port_use = calloc(UINT16_MAX + 1, sizeof(*c->port_use));
	if (stack->socks == NULL || c->free_ids == NULL || c->port_use == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		c->free_ids[c->n_free_ids++] = n - 1 - i;
	return 0;
}

/* Free whatever there is: no lcore is attached, no mbuf is out. */
static void
stack_free(struct weir_stack *stack)
{
	struct weir_control *c = stack->control;

	if (c != NULL && stack->rcu != NULL)
		weir_rcu_fini(stack);
	weir_mcast_fini(stack);
	weir_dad_fini(stack);
	weir_pmtu_fini(stack);
	weir_fib_fini(stack);
	weir_local_fini(stack);
	weir_neigh_fini(stack);
	weir_socktab_fini(stack);
	weir_mesh_fini(stack);
	for (unsigned int i = 0; i < RTE_DIM(stack->lcores); i++) {
		if (stack->lcores[i] != NULL) {
			weir_reasm_fini(stack->lcores[i]);
			weir_rtc_fini(stack->lcores[i]);
		}
		rte_free(stack->lcores[i]);
	}
	for (unsigned int i = 0; i < WEIR_ALL_PORTS; i++) {
		if (stack->ports[i] != NULL)
			rte_free(stack->ports[i]->vlan_port);
		rte_free(stack->ports[i]);
	}
	rte_mempool_free(stack->pool);
	rte_free(stack->socks);
	if (c != NULL) {
		for (unsigned int i = 0; i < c->n_old_pools; i++)
			rte_mempool_free(c->old_pools[i]);
		free(c->addr);
		free(c->free_ids);
		free(c->port_use);
		free(c->group);
		weir_ctl_posts_fini(stack);
		pthread_mutex_destroy(&c->lock);
	}
	free(c);
	release_name(stack->name);
	rte_free(stack);
}

/* The set of own addresses, empty. */
static int
make_locals(struct weir_stack *stack)
{
	struct weir_locals *l = weir_local_build(stack);

	if (l == NULL)
		return -ENOMEM;
	weir_local_publish(stack, l);
	return 0;
}

static int
stack_build(struct weir_stack *stack)
{
	int ret;

	stack->control = calloc(1, sizeof(*stack->control));
	if (stack->control == NULL)
		return -ENOMEM;
	pthread_mutex_init(&stack->control->lock, NULL);
	make_keys(stack);
	ret = weir_rcu_init(stack);
	if (ret == 0)
		ret = make_lcores(stack);
	if (ret == 0)
		ret = weir_mesh_init(stack);
	if (ret == 0)
		ret = weir_socktab_init(stack);
	if (ret == 0)
		ret = weir_neigh_init(stack);
	if (ret == 0)
		ret = weir_pmtu_init(stack);
	if (ret == 0)
		ret = weir_dad_init(stack);
	if (ret == 0)
		ret = weir_mcast_init(stack);
	if (ret == 0)
		ret = weir_ctl_posts_init(stack);
	if (ret == 0)
		ret = make_socket_ids(stack);
	if (ret == 0)
		ret = make_loopback(stack);
	if (ret == 0)
		ret = weir_fib_init(stack);
	if (ret == 0)
		ret = make_locals(stack);
	return ret;
}

int
weir_stack_create(const struct weir_stack_conf *conf, struct weir_stack **out,
		  struct weir_error *err)
{
	struct weir_stack *stack;
	int ret;

	if (err != NULL)
		*err = (struct weir_error){0};
	ret = check_conf(conf, err);
	if (ret != 0)
		return ret;
	ret = register_meta();
	if (ret != 0)
		return weir_error_set(err, ret, "no room for a dynamic mbuf field of %zu bytes: %s",
				      sizeof(struct weir_meta), rte_strerror(-ret));
	if (!claim_name(conf->name))
		return weir_error_set(err, -EEXIST, "name: %s: is in use in this process",
				      conf->name);
	stack = rte_zmalloc("weir_stack", sizeof(*stack), WEIR_CACHE_LINE);
	if (stack == NULL) {
		release_name(conf->name);
		return weir_error_set(err, -ENOMEM, "out of memory");
	}
	stack->conf = *conf;
	snprintf(stack->name, sizeof(stack->name), "%s", conf->name);
	stack->conf.name = stack->name;
	stack->n_workers = (uint16_t)conf->workers;
	stack->n_lcores = (uint16_t)(conf->workers + conf->max_threads + 1);
	stack->hold_max = conf->hold;
	stack->tx_stall_ns = (uint64_t)conf->tx_stall_ms * WEIR_NS_PER_MS;
	ret = stack_build(stack);
	if (ret != 0) {
		stack_free(stack);
		return weir_error_set(err, ret, "%s: out of memory (EAL has too little: -m)",
				      conf->name);
	}
	*out = stack;
	return 0;
}

/* ---- start ---- */

/* Buffers that the rings and caches can hold, beside what sockets and applications have. */
uint32_t
weir_stack_ring_needs(const struct weir_stack *stack)
{
	uint32_t need = (uint32_t)stack->n_lcores * POOL_CACHE_MAX;

	for (unsigned int p = 0; p < stack->n_ports; p++) {
		const struct weir_port *port = stack->ports[p];

		if (port == NULL)
			continue;
		if (port->parent == p) {
			need += (uint32_t)port->n_rxq * port->rx_desc;
			need += (uint32_t)port->n_txq * port->tx_desc;
		}
		need += (uint32_t)stack->n_lcores * WEIR_TXB_SIZE;
	}
	return need;
}

static int
make_pool(struct weir_stack *stack, struct weir_error *err)
{
	struct weir_control *c = stack->control;
	uint32_t rings = weir_stack_ring_needs(stack);
	uint32_t size = stack->conf.pool_mbufs;
	char name[RTE_MEMPOOL_NAMESIZE];

	/* What must be free for the rings to be refilled at the rate of one burst per queue and turn. */
	stack->reserve = (uint32_t)stack->n_workers *
			 (POOL_CACHE + 2 * stack->conf.burst * RTE_MAX(stack->n_ports, 1));
	if (size == 0)
		size = rings + stack->reserve + POOL_FOR_SOCKETS;
	if (size < rings + 2 * stack->reserve)
		return weir_error_set(
			err, -EINVAL,
			"pool_mbufs: %u: the rings of these ports and workers need at "
			"least %u",
			size, rings + 2 * stack->reserve);
	if (stack->pool != NULL && stack->pool->size >= size)
		return 0;
	if (stack->pool != NULL) {
		/* Buffers of the old pool may be out: it stays until the stack goes. */
		if (c->n_old_pools == RTE_DIM(c->old_pools))
			return weir_error_set(err, -ENOSPC, "too many pools of growing size");
		c->old_pools[c->n_old_pools++] = stack->pool;
		stack->pool = NULL;
	}
	/* No name of a stack has a dot: "a" and "a_0" must not meet in the memzones of a pool. */
	snprintf(name, sizeof(name), "%s.%u", stack->name, c->n_old_pools);
	stack->pool =
		rte_pktmbuf_pool_create(name, size, POOL_CACHE, 0,
					(uint16_t)(stack->conf.data_room + RTE_PKTMBUF_HEADROOM),
					SOCKET_ID_ANY);
	if (stack->pool == NULL)
		return weir_error_set(
			err, -rte_errno,
			"pool_mbufs: %u of %u bytes: %s (EAL has too little memory: -m)", size,
			stack->conf.data_room, rte_strerror(rte_errno));
	return 0;
}

/* Who polls which receive queue, who transmits for whom. */
static void
assign_queues(struct weir_stack *stack)
{
	for (uint16_t i = 0; i < stack->n_lcores; i++) {
		stack->lcores[i]->n_rxq = 0;
		for (uint16_t p = 0; p < stack->n_ports; p++)
			if (stack->ports[p] != NULL)
				weir_port_assign(stack->lcores[i], stack->ports[p]);
	}
}

/* Those that have a device before their VLANs, which take what they need from them. */
static int
each_port(struct weir_stack *stack,
	  int (*fn)(struct weir_stack *stack, struct weir_port *port, struct weir_error *err),
	  struct weir_error *err)
{
	int ret = 0;

	for (unsigned int vlans = 0; vlans < 2; vlans++)
		for (unsigned int p = 0; p < stack->n_ports && ret == 0; p++)
			if (stack->ports[p] != NULL && (stack->ports[p]->parent != p) == vlans)
				ret = fn(stack, stack->ports[p], err);
	return ret;
}

int
weir_stack_start(struct weir_stack *stack, struct weir_error *err)
{
	int ret;

	if (err != NULL)
		*err = (struct weir_error){0};
	weir_ctl_lock(stack);
	if (atomic_load(&stack->running)) {
		weir_ctl_unlock(stack);
		return weir_error_set(err, -EALREADY, "%s: is running", stack->name);
	}
	ret = each_port(stack, weir_port_plan, err);
	if (ret == 0)
		ret = make_pool(stack, err);
	if (ret == 0)
		ret = each_port(stack, weir_port_start, err);
	if (ret == 0) {
		assign_queues(stack);
		ret = weir_ctl_ports_up(stack);
		if (ret != 0)
			weir_error_set(err, ret, "out of memory");
	}
	if (ret != 0) {
		for (unsigned int p = 0; p < stack->n_ports; p++)
			if (stack->ports[p] != NULL)
				weir_port_stop(stack->ports[p]);
	} else {
		atomic_store(&stack->running, true);
	}
	weir_ctl_unlock(stack);
	return ret;
}

/* ---- threads ---- */

static int
attach(struct weir_stack *stack, struct weir_lcore *lc)
{
	bool taken = false;

	if (!atomic_compare_exchange_strong(&lc->attached, &taken, true))
		return -EBUSY;
	lc->now_ns = weir_clock_ns();
	lc->house_ns = lc->now_ns;
	/* One second's worth at once: the clock may be younger than a second. */
	lc->icmp_filled_ns = lc->now_ns;
	lc->icmp_tokens = (uint64_t)stack->conf.icmp_rate * 1000;
	lc->in_turn = false;
	lc->idle = 0;
	lc->send_error = 0;
	rte_rcu_qsbr_thread_register(stack->rcu, lc->slot);
	if (lc->kind == WEIR_LC_WORKER)
		rte_rcu_qsbr_thread_online(stack->rcu, lc->slot);
	thread_push(lc);
	return 0;
}

int
weir_worker_attach(struct weir_stack *stack, unsigned int index, struct weir_lcore **out)
{
	int ret;

	if (index >= stack->n_workers)
		return -EINVAL;
	if (!atomic_load(&stack->running))
		return -ENETDOWN;
	ret = attach(stack, stack->lcores[index]);
	if (ret == -EBUSY) { /* control stands in for a worker that has no thread: ctl_port.c */
		weir_ctl_lock(stack);
		weir_ctl_unlock(stack);
		ret = attach(stack, stack->lcores[index]);
	}
	if (ret == 0)
		*out = stack->lcores[index];
	return ret;
}

int
weir_thread_attach(struct weir_stack *stack, struct weir_lcore **out)
{
	if (!atomic_load(&stack->running))
		return -ENETDOWN;
	for (uint16_t i = stack->n_workers; i + 1 < stack->n_lcores; i++) {
		if (attach(stack, stack->lcores[i]) == 0) {
			*out = stack->lcores[i];
			return 0;
		}
	}
	return -ENOSPC;
}

int
weir_lcore_detach(struct weir_lcore *lc)
{
	weir_enter(lc);
	weir_spend_all(lc);
	weir_batch_flush_all(lc);
	rte_rcu_qsbr_thread_offline(lc->rcu, lc->slot);
	rte_rcu_qsbr_thread_unregister(lc->rcu, lc->slot);
	thread_remove(lc);
	atomic_store(&lc->attached, false);
	return 0;
}

int
weir_lcore_worker(const struct weir_lcore *lc)
{
	return lc->worker;
}

int
weir_worker_call(struct weir_stack *stack, unsigned int worker,
		 void (*fn)(struct weir_lcore *lc, void *arg), void *arg, uint64_t timeout_ns)
{
	uint64_t start = weir_clock_ns();
	struct weir_call *call;
	uint32_t waiting = WEIR_CALL_WAITING;
	int ret = 0;

	if (worker >= stack->n_workers)
		return -EINVAL;
	for (struct weir_lcore *lc = weir_thread_lcores; lc != NULL; lc = lc->thread_next) {
		if (lc == stack->lcores[worker]) {
			fn(lc, arg);
			return 0;
		}
	}
	if (!atomic_load(&stack->lcores[worker]->attached))
		return -ENETDOWN;
	call = malloc(sizeof(*call));
	if (call == NULL)
		return -ENOMEM;
	*call = (struct weir_call){.fn = fn, .arg = arg};
	atomic_store(&call->refs, 2);
	if (rte_ring_mp_enqueue(stack->lcores[worker]->ctl, call) != 0) {
		free(call);
		return -EAGAIN;
	}
	while (atomic_load(&call->state) != WEIR_CALL_DONE) {
		const bool late = weir_clock_ns() - start >= timeout_ns;

		/* Not begun in time, or nobody left to begin: take it back. Begun it is waited for. */
		if ((late || !atomic_load(&stack->lcores[worker]->attached)) &&
		    atomic_compare_exchange_strong(&call->state, &waiting, WEIR_CALL_CANCELLED)) {
			ret = late ? -ETIMEDOUT : -ENETDOWN;
			break;
		}
		waiting = WEIR_CALL_WAITING;
		weir_ctl_breathe(stack);
	}
	weir_call_put(call);
	return ret;
}

/* ---- stop, destroy ---- */

static bool
anybody_attached(const struct weir_stack *stack)
{
	for (unsigned int i = 0; i < stack->n_lcores; i++)
		if (atomic_load(&stack->lcores[i]->attached))
			return true;
	return false;
}

int
weir_stack_stop(struct weir_stack *stack)
{
	if (!atomic_load(&stack->running))
		return 0;
	if (anybody_attached(stack))
		return -EBUSY;
	atomic_store(&stack->running, false);
	/* Nobody else runs: this thread stands in for each lcore in turn. What is on its way goes on. */
	for (unsigned int i = 0; i < stack->n_workers; i++) {
		stack->lcores[i]->now_ns = weir_clock_ns();
		while (weir_poll_mesh(stack->lcores[i]) > 0)
			weir_batch_flush_all(stack->lcores[i]);
	}
	for (unsigned int i = 0; i < stack->n_lcores; i++) {
		struct weir_lcore *lc = stack->lcores[i];

		lc->now_ns = weir_clock_ns();
		weir_neigh_drop_holds(lc, WEIR_DROP_TX_STOPPED);
		if (lc->kind == WEIR_LC_WORKER)
			weir_batch_flush_all(lc);
		weir_batch_drop_all(lc, WEIR_DROP_TX_STOPPED);
		weir_reasm_flush(lc, -1, WEIR_DROP_STACK_STOPPED);
	}
	for (unsigned int i = 0; i < stack->n_workers; i++)
		weir_poll_drain(stack->lcores[i]); /* flushing may have used the mesh; calls */
	for (unsigned int i = 0; i < stack->n_workers; i++)
		weir_poll_drain_ports(stack->lcores[i], 65536);
	for (unsigned int p = 0; p < stack->n_ports; p++)
		if (stack->ports[p] != NULL)
			weir_port_stop(stack->ports[p]);
	weir_ctl_lock(stack);
	weir_rcu_reclaim(stack, true);
	weir_ctl_unlock(stack);
	return 0;
}

static bool
all_buffers_home(const struct weir_stack *stack)
{
	const struct weir_control *c = stack->control;

	for (unsigned int i = 0; i < c->n_old_pools; i++)
		if (rte_mempool_avail_count(c->old_pools[i]) != c->old_pools[i]->size)
			return false;
	return stack->pool == NULL || rte_mempool_avail_count(stack->pool) == stack->pool->size;
}

int
weir_stack_destroy(struct weir_stack *stack)
{
	int ret = weir_stack_stop(stack);

	if (ret != 0)
		return ret;
	for (uint32_t i = 0; i < stack->conf.max_sockets; i++) {
		struct weir_socket *sk = atomic_load(&stack->socks[i]);

		if (sk != NULL)
			weir_socket_close(sk);
	}
	weir_ctl_lock(stack);
	weir_rcu_reclaim(stack, true);
	weir_ctl_unlock(stack);
	if (!all_buffers_home(stack)) {
		/* Some devices keep their rings filled while stopped. */
		for (unsigned int p = 0; p < stack->n_ports; p++)
			if (stack->ports[p] != NULL)
				weir_port_close(stack->ports[p]);
		if (!all_buffers_home(stack)) {
			WEIR_LOG(ERR, "%s: %u buffers have not been returned: not destroyed",
				 stack->name,
				 stack->pool->size - rte_mempool_avail_count(stack->pool));
			return -EBUSY;
		}
	}
	stack_free(stack);
	return 0;
}

/* ---- facts ---- */

int
weir_port_info_get(struct weir_stack *stack, unsigned int port, struct weir_port_info *info)
{
	const struct weir_port *p;
	struct rte_eth_link link;

	memset(info, 0, sizeof(*info));
	/* Under the lock a port does not go. */
	weir_ctl_lock(stack);
	p = port < WEIR_MAX_PORTS ? stack->ports[port] : NULL;
	if (p == NULL) {
		weir_ctl_unlock(stack);
		return -ENODEV;
	}
	snprintf(info->device, sizeof(info->device), "%s", p->device);
	info->ethdev = p->ethdev;
	info->rx_queues = p->n_rxq;
	info->tx_queues = p->n_txq;
	info->mtu = p->mtu;
	info->vlan = p->vlan;
	info->parent = p->parent;
	info->vlan_offload = p->vlan_insert && p->vlan_strip;
	memcpy(info->mac, p->parse.mac, sizeof(info->mac));
	/* Of a running stack: when it has seen it, too, and routes lead there again. */
	if (rte_eth_link_get_nowait(p->ethdev, &link) == 0)
		info->link_up = link.link_status == RTE_ETH_LINK_UP && atomic_load(&p->link_up);
	info->rx_csum_offload = p->rx_csum;
	info->tx_csum_offload = p->tx_csum;
	info->rss = p->rss;
	weir_ctl_unlock(stack);
	return 0;
}
