/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The wire of a model card that ends in an ethdev.  See liq_wire.h.
 */
#include "liq_wire.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include <weir/clock.h>

#include "liq_log.h"
#include "liq_sdk.h"
#include "liq_thread.h"

#define N_MBUFS       4095u
#define N_DESC        512u
#define BURST         64u
#define DATA_ROOM     (2048u + RTE_PKTMBUF_HEADROOM)
#define IDLE_ROUNDS   200u   /* empty polls before it sleeps */
#define SLEEP_MIN_NS  20000u /* and how long, doubled while nothing comes */
#define SLEEP_MAX_NS  500000u
#define LINK_EVERY_NS (50 * WEIR_NS_PER_MS)
#define TRY_EVERY_NS  (1 * WEIR_NS_PER_S)

struct liq_wire {
	struct liqm_card *card;
	char name[RTE_ETH_NAME_MAX_LEN];
	struct rte_eth_dev_owner owner;
	uint16_t port_id;
	bool multi_segs;
	struct rte_mempool *pool;
	pthread_mutex_t lock; /* of being opened and closed */
	bool open;
	/* of the thread, while it runs */
	bool started, refused;
	bool link_up;
	pthread_t thread;
	_Atomic bool stop;
	/* each written by one side */
	_Atomic uint64_t n_out, n_in, n_out_full, n_out_nombuf, n_in_full, n_in_bad;
};

static void
add(_Atomic uint64_t *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* ---- out: where the card works, under its lock ---- */

/* A frame as an mbuf, or a chain; NULL: none to be had, or too long for the port. */
static struct rte_mbuf *
copy_in(struct liq_wire *w, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *head = NULL, *last = NULL;

	for (uint32_t at = 0; at < len;) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(w->pool);
		uint32_t n = len - at;

		if (!m || (head && !w->multi_segs)) {
			rte_pktmbuf_free(m);
			rte_pktmbuf_free(head);
			return NULL;
		}
		n = n < rte_pktmbuf_tailroom(m) ? n : rte_pktmbuf_tailroom(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)n), frame + at, n);
		at += n;
		if (!head) {
			head = m;
		} else {
			last->next = m;
			head->nb_segs++;
			head->pkt_len += n;
		}
		last = m;
	}
	return head;
}

static void
frame_out(void *ctx, const uint8_t *frame, uint32_t len_bytes)
{
	struct liq_wire *w = ctx;
	struct rte_mbuf *m;

	m = copy_in(w, frame, len_bytes);
	if (!m) {
		add(&w->n_out_nombuf, 1);
		return;
	}
	if (rte_eth_tx_burst(w->port_id, 0, &m, 1) == 1) {
		add(&w->n_out, 1);
		return;
	}
	rte_pktmbuf_free(m);
	add(&w->n_out_full, 1);
}

/* ---- in ---- */

static void
frame_in(struct liq_wire *w, struct rte_mbuf *m)
{
	uint8_t copy[LIQM_FRAME_MAX];
	const uint8_t *frame;
	int ret = -EMSGSIZE;

	if (m->pkt_len <= sizeof(copy)) {
		frame = rte_pktmbuf_read(m, 0, m->pkt_len, copy);
		ret = liqm_wire_in(w->card, 0, frame, m->pkt_len);
	}
	add(ret == 0 ? &w->n_in : ret == -ENOBUFS ? &w->n_in_full : &w->n_in_bad, 1);
}

static void
nap(uint64_t *ns)
{
	const struct timespec t = {.tv_nsec = (long)*ns};

	nanosleep(&t, NULL);
	*ns = *ns * 2 < SLEEP_MAX_NS ? *ns * 2 : SLEEP_MAX_NS;
}

/* The card's carrier is the port's. */
static void
follow_link(struct liq_wire *w)
{
	struct rte_eth_link link = {.link_status = RTE_ETH_LINK_DOWN};
	bool up;

	rte_eth_link_get_nowait(w->port_id, &link);
	up = link.link_status == RTE_ETH_LINK_UP;
	if (up != w->link_up)
		liqm_link_set(w->card, 0, up);
	w->link_up = up;
}

/* ---- the port ---- */

/* Out of the application's sight; it may be ours already. */
static int
claim(const struct liq_wire *w, uint16_t port_id)
{
	struct rte_eth_dev_owner owner = {.id = RTE_ETH_DEV_NO_OWNER};
	int ret;

	if (rte_eth_dev_owner_get(port_id, &owner) == 0 && owner.id == w->owner.id)
		return 0;
	ret = rte_eth_dev_owner_set(port_id, &w->owner);
	if (ret < 0)
		LIQ_LOG(ERR, "wire=port:%s: somebody else has it: %s", w->name, owner.name);
	return ret;
}

static int
configure_port(struct liq_wire *w)
{
	struct rte_eth_conf conf = {.link_speeds = 0};
	struct rte_eth_dev_info info;
	int socket_id, ret;

	ret = rte_eth_dev_info_get(w->port_id, &info);
	if (ret < 0)
		return ret;
	w->multi_segs = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	conf.txmode.offloads = info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	socket_id = rte_eth_dev_socket_id(w->port_id);
	ret = rte_eth_dev_configure(w->port_id, 1, 1, &conf);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(w->port_id, 0, N_DESC, (unsigned int)socket_id, NULL,
					     w->pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(w->port_id, 0, N_DESC, (unsigned int)socket_id, NULL);
	return ret;
}

/* A port whose far end is not there yet may refuse: it is tried again later. */
static bool
start_port(struct liq_wire *w)
{
	int ret = rte_eth_dev_start(w->port_id);

	if (ret < 0) {
		if (!w->refused)
			LIQ_LOG(NOTICE,
				"wire=port:%s: does not start yet (%d), no carrier until then",
				w->name, ret);
		w->refused = true;
		return false;
	}
	/* the filter is the card's business; not every port can do without its own */
	rte_eth_promiscuous_enable(w->port_id);
	liqm_wire_callback(w->card, 0, frame_out, w);
	follow_link(w);
	return true;
}

/* ---- in: a thread ---- */

static void *
receive(void *arg)
{
	struct liq_wire *w = arg;
	struct rte_mbuf *m[BURST];
	unsigned int n_empty = 0;
	uint64_t sleep_ns = SLEEP_MIN_NS;
	uint64_t looked_ns = weir_clock_ns();
	bool registered = rte_thread_register() == 0; /* for the pool's cache */

	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		uint16_t n;

		if (weir_clock_ns() - looked_ns >= (w->started ? LINK_EVERY_NS : TRY_EVERY_NS)) {
			looked_ns = weir_clock_ns();
			if (w->started)
				follow_link(w);
			else
				w->started = start_port(w);
		}
		if (!w->started) {
			nap(&sleep_ns);
			continue;
		}

		/* without room it waits here, and the far end sees a full port */
		if (!liqm_wire_room(w->card, 0)) {
			nap(&sleep_ns);
			continue;
		}
		n = rte_eth_rx_burst(w->port_id, 0, m, BURST);
		for (uint16_t i = 0; i < n; i++)
			frame_in(w, m[i]);
		rte_pktmbuf_free_bulk(m, n);
		if (n != 0) {
			n_empty = 0;
			sleep_ns = SLEEP_MIN_NS;
		} else if (++n_empty > IDLE_ROUNDS) {
			nap(&sleep_ns);
		}
	}
	if (registered)
		rte_thread_unregister();
	return NULL;
}

/* ---- life ---- */

static int
open_locked(struct liq_wire *w)
{
	char pool_name[RTE_MEMPOOL_NAMESIZE];
	int ret;

	if (rte_eth_dev_get_port_by_name(w->name, &w->port_id) < 0) {
		LIQ_LOG(ERR, "wire=port:%s: no port of that name", w->name);
		return -ENODEV;
	}
	ret = claim(w, w->port_id);
	if (ret < 0)
		return ret;
	snprintf(pool_name, sizeof(pool_name), "liq_wire_%u", w->port_id);
	w->pool = rte_pktmbuf_pool_create(pool_name, N_MBUFS, 256, 0, DATA_ROOM, SOCKET_ID_ANY);
	if (!w->pool)
		return -ENOMEM;
	ret = configure_port(w);
	if (ret < 0) {
		LIQ_LOG(ERR, "wire=port:%s: not configured: %d", w->name, ret);
		goto free_pool;
	}
	w->started = start_port(w);
	atomic_store(&w->stop, false);
	ret = liq_thread_start(&w->thread, "liq-wire", receive, w);
	if (ret < 0)
		goto stop_port;
	w->open = true;
	return 0;

stop_port:
	liqm_wire_callback(w->card, 0, NULL, NULL);
	if (w->started)
		rte_eth_dev_stop(w->port_id);
free_pool:
	rte_mempool_free(w->pool);
	w->pool = NULL;
	return ret;
}

int
liq_wire_open(struct liq_wire *w)
{
	int ret = 0;

	pthread_mutex_lock(&w->lock);
	if (!w->open)
		ret = open_locked(w);
	pthread_mutex_unlock(&w->lock);
	return ret;
}

/* A port that comes later is claimed before the application sees it. */
static int
port_appears(uint16_t port_id, enum rte_eth_event_type event, void *arg, void *ret_param)
{
	const struct liq_wire *w = arg;

	(void)event;
	(void)ret_param;
	/* the port is not valid for ethdev's own calls yet */
	if (strcmp(rte_eth_devices[port_id].data->name, w->name) == 0)
		claim(w, port_id);
	return 0;
}

int
liq_wire_create(struct liqm_card *card, const char *port_name, struct liq_wire **out)
{
	struct liq_wire *w = calloc(1, sizeof(*w));
	uint16_t port_id;
	int ret;

	if (!w)
		return -ENOMEM;
	w->card = card;
	snprintf(w->name, sizeof(w->name), "%s", port_name);
	pthread_mutex_init(&w->lock, NULL);
	ret = rte_eth_dev_owner_new(&w->owner.id);
	if (ret < 0)
		goto free_wire;
	snprintf(w->owner.name, sizeof(w->owner.name), "net_liq_sim wire");
	ret = rte_eth_dev_callback_register(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, port_appears, w);
	if (ret < 0)
		goto free_wire;
	if (rte_eth_dev_get_port_by_name(w->name, &port_id) == 0) {
		ret = claim(w, port_id);
		if (ret < 0)
			goto forget_event;
	}
	/* no carrier before the port has one */
	liqm_link_set(card, 0, false);
	*out = w;
	return 0;

forget_event:
	rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, port_appears, w);
free_wire:
	pthread_mutex_destroy(&w->lock);
	free(w);
	return ret;
}

void
liq_wire_destroy(struct liq_wire *w)
{
	if (!w)
		return;
	rte_eth_dev_callback_unregister(RTE_ETH_ALL, RTE_ETH_EVENT_NEW, port_appears, w);
	if (w->open) {
		atomic_store(&w->stop, true);
		pthread_join(w->thread, NULL);
		liqm_wire_callback(w->card, 0, NULL, NULL);
		/* the application may have closed all ports before us */
		if (rte_eth_dev_is_valid_port(w->port_id)) {
			if (w->started)
				rte_eth_dev_stop(w->port_id);
			rte_eth_dev_owner_unset(w->port_id, w->owner.id);
		}
		rte_mempool_free(w->pool);
	}
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void
liq_wire_stats_get(const struct liq_wire *w, struct liq_wire_stats *stats)
{
	*stats = (struct liq_wire_stats){
		.n_out = w->n_out,
		.n_in = w->n_in,
		.n_out_full = w->n_out_full,
		.n_out_nombuf = w->n_out_nombuf,
		.n_in_full = w->n_in_full,
		.n_in_bad = w->n_in_bad,
	};
}
