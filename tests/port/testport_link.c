/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link state, cables and the gate. A link is up when its port is started, plugged and not set
 * down, and in pair mode the far end as well; the gate is open exactly then.
 *
 * Control threads only, under testport_control_lock; LSC events are raised after it was released,
 * so that a callback may call the port. The wait for bursts is the only one in the port and has a
 * deadline.
 *
 * What always holds: while a gate is closed no tx burst of ring or pair mode and no testport_inject()
 * is inside, so that rings and the far end may go away. It moves no frames.
 */
#include "testport_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_pause.h>

#define QUIESCE_S 10 /* a burst of another thread takes microseconds */

struct testport_cable {
	char name[TESTPORT_CABLE_NAME_SIZE];
	struct testport *end[2];
};

static struct testport_cable cables[RTE_MAX_ETHPORTS];

pthread_mutex_t testport_control_lock = PTHREAD_MUTEX_INITIALIZER;

/* --- Gate and link --------------------------------------------------------------------------- */

/* Ports whose link changed, to be told when testport_control_lock is free again. */
struct link_news {
	struct rte_eth_dev *dev[2];
	uint32_t n;
};

void
testport_link_report(struct testport *port, bool up)
{
	const struct rte_eth_link link = {
		.link_speed = up ? RTE_ETH_SPEED_NUM_10G : RTE_ETH_SPEED_NUM_NONE,
		.link_duplex = RTE_ETH_LINK_FULL_DUPLEX,
		.link_autoneg = RTE_ETH_LINK_AUTONEG,
		.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
	};

	(void)rte_eth_linkstatus_set(port->dev, &link);
}

/*
 * Waits until no filling thread is inside. One that never returns (it died there, and the test
 * framework went on) is named and given up, so that a test fails instead of hanging.
 */
static void
bursts_await(struct testport *port)
{
	uint64_t deadline_tsc = rte_rdtsc() + QUIESCE_S * rte_get_tsc_hz();

	for (uint16_t q = 0; q < TESTPORT_MAX_QUEUES; q++) {
		while (atomic_load(&port->txq[q].busy) || atomic_load(&port->rxq[q].busy)) {
			if (rte_rdtsc() > deadline_tsc) {
				TESTPORT_LOG(ERR, "port %u queue %u: a burst does not return",
					     port->port_id, q);
				break;
			}
			rte_pause();
		}
	}
}

/*
 * Opens or closes the way from this port's filling threads (tx bursts, inject) to the rings they
 * fill. A filling thread says that it is busy and then looks at the gate; here the gate is closed
 * and then each busy flag awaited. Both orders are sequentially consistent, so either the thread
 * sees the closed gate or it is seen and waited for. When this returns with the gate closed nobody
 * is inside, and the rings may be emptied or freed.
 */
static void
gate_set_locked(struct testport *port, struct testport *peer, bool open, struct link_news *news)
{
	if (atomic_load(&port->gate) == open)
		return;
	if (open) {
		/* Never fewer: frames may wait in the lanes of a peer that had more queues. */
		uint32_t n_lanes = TESTPORT_LANE_WIRE + (peer != NULL ? peer->n_tx_queues : 0u);

		port->peer = peer;
		if (n_lanes > atomic_load(&port->n_lanes))
			atomic_store_explicit(
				&port->n_lanes, n_lanes,
				memory_order_release); /* pairs with testport_wire_rx_burst */
	}
	atomic_store(&port->gate, open);
	if (!open) {
		bursts_await(port);
		port->peer = NULL;
	}
	testport_link_report(port, open);
	news->dev[news->n++] = port->dev;
}

static struct testport *
cable_far_end(const struct testport *port)
{
	if (port->cable == NULL)
		return NULL;
	return port->cable->end[port->cable->end[0] == port];
}

static bool
link_is_wanted(const struct testport *port)
{
	return port->started && port->plugged && port->admin_up;
}

/* Brings the gate (and the far end's) to what the switches say. Call after each change of them. */
static void
link_refresh_locked(struct testport *port, struct link_news *news)
{
	struct testport *peer = cable_far_end(port);
	bool up = link_is_wanted(port);

	if (port->cfg.mode == TESTPORT_PAIR)
		up = up && peer != NULL && link_is_wanted(peer);
	gate_set_locked(port, peer, up, news);
	if (peer != NULL)
		gate_set_locked(peer, port, up, news);
}

static void
link_tell(const struct link_news *news)
{
	for (uint32_t i = 0; i < news->n; i++)
		if (news->dev[i]->data->dev_conf.intr_conf.lsc)
			rte_eth_dev_callback_process(news->dev[i], RTE_ETH_EVENT_INTR_LSC, NULL);
}

void
testport_link_switch(struct testport *port, bool *which, bool value)
{
	struct link_news news = {.n = 0};

	pthread_mutex_lock(&testport_control_lock);
	*which = value;
	link_refresh_locked(port, &news);
	pthread_mutex_unlock(&testport_control_lock);
	link_tell(&news);
}

/* --- Cables ---------------------------------------------------------------------------------- */

int
testport_cable_plug_locked(struct testport *port, const char *name)
{
	struct testport_cable *cable = NULL;

	for (uint32_t i = 0; i < RTE_DIM(cables); i++) {
		bool unused = cables[i].end[0] == NULL && cables[i].end[1] == NULL;

		if (!unused && strcmp(cables[i].name, name) == 0) {
			cable = &cables[i];
			break;
		}
		if (unused && cable == NULL)
			cable = &cables[i];
	}
	if (cable == NULL || (cable->end[0] != NULL && cable->end[1] != NULL)) {
		TESTPORT_LOG(ERR, "mode=pair:%s: that cable has two ends already", name);
		return -EBUSY;
	}
	snprintf(cable->name, sizeof(cable->name), "%s", name);
	cable->end[cable->end[0] != NULL] = port;
	port->cable = cable;
	return 0;
}

void
testport_cable_unplug_locked(struct testport *port)
{
	if (port->cable == NULL)
		return;
	port->cable->end[port->cable->end[1] == port] = NULL;
	port->cable = NULL;
}

/* --- ethdev operations ----------------------------------------------------------------------- */

int
testport_link_update(struct rte_eth_dev *dev, int wait_to_complete __rte_unused)
{
	struct testport *port = dev->data->dev_private;

	testport_link_report(port, atomic_load(&port->gate));
	return 0;
}

int
testport_link_set_up(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	testport_link_switch(port, &port->admin_up, true);
	return 0;
}

int
testport_link_set_down(struct rte_eth_dev *dev)
{
	struct testport *port = dev->data->dev_private;

	testport_link_switch(port, &port->admin_up, false);
	return 0;
}
