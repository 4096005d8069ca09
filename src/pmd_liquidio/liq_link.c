/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link state.  Firmware tells of changes by a notice on output queue 0, which the receiving thread
 * puts into dev->notices; and it answers requests, one of which is kept going so that the state
 * is right when nobody receives.  Control, under dev->lock; the events are raised by the caller.
 */
#include "liq_dev.h"

#include <errno.h>

#include <rte_ethdev.h>

#define ASK_EVERY_NS (100 * WEIR_NS_PER_MS)

static const struct liq_cmd link_request = {
	.subcode = LIQ_FW_INFO,
	.resp_len = sizeof(struct liq_info_resp),
};

static void
take_answer(struct liq_dev *dev, const struct liq_info_resp *resp)
{
	atomic_store_explicit(&dev->link_word, liq_be64(resp->link), memory_order_relaxed);
}

int
liq_link_ask(struct liq_dev *dev)
{
	struct liq_info_resp resp;
	int ret = liq_cmd_ask(&dev->cmds, &link_request, &resp);

	if (ret == 0)
		take_answer(dev, &resp);
	return ret;
}

/* A notice is as new as it gets: it wins over an answer that was under way. */
static bool
take_notice(struct liq_dev *dev)
{
	/* acquire: pairs with liq_notice_take(); the word is at least as new as the count */
	uint32_t n = atomic_load_explicit(&dev->notices.n_link, memory_order_acquire);

	if (n == dev->n_link_seen)
		return false;
	dev->n_link_seen = n;
	atomic_store_explicit(&dev->link_word,
			      atomic_load_explicit(&dev->notices.link, memory_order_relaxed),
			      memory_order_relaxed);
	return true;
}

void
liq_link_poll(struct liq_dev *dev)
{
	struct liq_info_resp resp;
	uint64_t now_ns = weir_clock_ns();
	bool noticed;
	int ret;

	if (dev->state != LIQ_STARTED || dev->cmds.dead)
		return;
	noticed = take_notice(dev);
	if (dev->link_slot >= 0) {
		ret = liq_cmd_poll(&dev->cmds, dev->link_slot, &resp);
		if (ret == -EAGAIN) {
			if (now_ns - dev->link_asked_ns < LIQ_CMD_WAIT_NS)
				return;
			liq_cmd_abandon(&dev->cmds, dev->link_slot);
		}
		if (ret == 0 && !noticed)
			take_answer(dev, &resp);
		dev->link_slot = -1;
	}
	if (!dev->cmds.dead && now_ns - dev->link_asked_ns >= ASK_EVERY_NS) {
		dev->link_asked_ns = now_ns;
		dev->link_slot = liq_cmd_post(&dev->cmds, &link_request);
	}
}

void
liq_link_get(const struct liq_dev *dev, struct rte_eth_link *link)
{
	uint64_t word = dev->link_word;
	bool up = dev->state == LIQ_STARTED && liq_get(word, LIQ_LINK_UP);

	*link = (struct rte_eth_link){
		.link_speed = up ? (uint32_t)liq_get(word, LIQ_LINK_SPEED) : RTE_ETH_SPEED_NUM_NONE,
		.link_duplex = liq_get(word, LIQ_LINK_DUPLEX) || !up ? RTE_ETH_LINK_FULL_DUPLEX
								     : RTE_ETH_LINK_HALF_DUPLEX,
		.link_autoneg =
			liq_get(word, LIQ_LINK_AUTONEG) ? RTE_ETH_LINK_AUTONEG : RTE_ETH_LINK_FIXED,
		.link_status = up ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN,
	};
}

uint16_t
liq_link_max_mtu(const struct liq_dev *dev)
{
	uint16_t mtu = (uint16_t)liq_get(dev->link_word, LIQ_LINK_MTU);

	return mtu >= LIQ_MTU_MIN && mtu <= LIQ_MTU_MAX ? mtu : LIQ_MTU_MAX;
}
