/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bring-up, start, stop and reset of a function.  See liq_dev.h.
 *
 * Whenever rings change hands they are reset first, all of them: nothing is left over from before,
 * neither packets nor completions.  A ring that will not be quiet costs the function its way to
 * memory (fence), so that what it held may be freed all the same; a function-level reset and a new
 * bring-up give it back.
 */
#include "liq_dev.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "liq_ring.h"

#define OWN_DESC 128u

/* "1.7.2" as a number; what is missing is 0. */
static uint64_t
version_num(const char *text)
{
	unsigned int v[3] = {0, 0, 0};

	if (sscanf(text, "%5u.%5u.%5u", &v[0], &v[1], &v[2]) < 1)
		return 0;
	return LIQ_FW_NUM(v[0], v[1], v[2]);
}

/* ---- rings ---- */

static void
fence(struct liq_dev *dev, int err)
{
	if (!dev->fenced)
		LIQ_LOG(ERR,
			"%s: a ring does not come to rest (%d): the function is cut off from memory",
			dev->bus, err);
	dev->io.ops->set_dma(dev->io.ctx, false);
	dev->fenced = true;
}

int
liq_dev_quiesce(struct liq_dev *dev)
{
	int ret = 0;

	for (unsigned int k = 0; k < dev->n_rings && !dev->fenced; k++) {
		ret = liq_ring_reset(&dev->io, dev->first_ring + k);
		if (ret < 0)
			fence(dev, ret);
	}
	return dev->fenced && ret == 0 ? -EIO : ret;
}

static void
set_modes(struct liq_dev *dev)
{
	for (unsigned int k = 0; k < dev->n_rings; k++)
		liq_ring_mode(&dev->io, dev->first_ring + k, dev->in_ctl_owner);
}

/* Rings are in reset: ring 0 gets the driver's own input queue, for commands. */
static int
go_idle(struct liq_dev *dev)
{
	int ret;

	liq_cmds_use(&dev->cmds, NULL);
	dev->link_slot = -1;
	if (dev->fenced)
		return -EIO;
	set_modes(dev);
	liq_iq_drop(dev->own_iq);
	liq_iq_words(dev->own_iq, dev->pkind, LIQ_TAG_DATA, 0, false);
	liq_iq_program(dev->own_iq);
	ret = dev->fn->wake(dev);
	if (ret < 0)
		return ret;
	dev->cmds.pkind = dev->pkind;
	liq_cmds_use(&dev->cmds, dev->own_iq);
	return 0;
}

/* ---- up ---- */

static int
take_if(struct liq_dev *dev, const struct liq_if_resp *resp)
{
	struct liq_if *nif = &dev->nif;
	uint64_t info = liq_be64(resp->info), mac = liq_be64(resp->hw_addr);

	memcpy(nif->fw_version, resp->version, sizeof(nif->fw_version));
	nif->fw_version[sizeof(nif->fw_version) - 1] = '\0';
	nif->fw_num = version_num(nif->fw_version);
	nif->n_iq = (uint16_t)__builtin_popcountll(liq_be64(resp->iqmask));
	nif->n_oq = (uint16_t)__builtin_popcountll(liq_be64(resp->oqmask));
	nif->gmxport = (uint16_t)liq_get(info, LIQ_IFINFO_GMXPORT);
	nif->mac_admin = liq_get(info, LIQ_IFINFO_MAC_ADMIN);
	nif->vlan_admin = liq_get(info, LIQ_IFINFO_VLAN_ADMIN);
	for (int i = 0; i < 6; i++)
		nif->mac[i] = (uint8_t)(mac >> (40 - 8 * i));
	dev->link_word = liq_be64(resp->link);
	if (nif->n_iq == 0 || nif->n_oq == 0 || nif->n_iq > dev->n_queues ||
	    nif->n_oq > dev->n_queues || (nif->mac[0] & 1)) {
		LIQ_LOG(ERR,
			"%s: firmware %s grants %u input and %u output queues of %u, address %02x:...",
			dev->bus, nif->fw_version, nif->n_iq, nif->n_oq, dev->n_queues,
			nif->mac[0]);
		nif->n_iq = nif->n_oq = 0;
		return -EIO;
	}
	for (unsigned int i = 0; i < nif->n_iq; i++) {
		uint64_t w = liq_be64(resp->txpciq[i]);

		/* ring i is queue i, in ours and in the card's view */
		if (liq_get(w, LIQ_PCIQ_Q_NO) != i) {
			LIQ_LOG(ERR, "%s: firmware numbers input queue %u as %u", dev->bus, i,
				(unsigned int)liq_get(w, LIQ_PCIQ_Q_NO));
			nif->n_iq = nif->n_oq = 0;
			return -EIO;
		}
		nif->tx[i] = (struct liq_queue_words){
			.qpg = (uint16_t)liq_get(w, LIQ_PCIQ_QPG),
			.ctrl_qpg = (uint16_t)liq_get(w, LIQ_PCIQ_CTRL_QPG),
			.port = (uint8_t)liq_get(w, LIQ_PCIQ_PORT),
			.use_qpg = liq_get(w, LIQ_PCIQ_USE_QPG),
		};
	}
	dev->pkind = (unsigned int)liq_get(liq_be64(resp->txpciq[0]), LIQ_PCIQ_PKIND);
	dev->cmds.pkind = dev->pkind;
	/* commands of their own group do not wait behind frames; older firmware has none */
	dev->cmds.use_qpg = nif->tx[0].use_qpg;
	dev->cmds.qpg = nif->tx[0].ctrl_qpg ? nif->tx[0].ctrl_qpg : nif->tx[0].qpg;
	return 0;
}

static int
configure_if(struct liq_dev *dev)
{
	struct liq_if_resp resp;
	struct liq_cmd cmd = {.subcode = LIQ_FW_IF_CFG, .resp_len = sizeof(resp)};
	uint8_t data[8];
	int ret;

	cmd.data = data;
	cmd.len = dev->fn->if_request(dev, &cmd.ossp0, data);
	dev->cmds.use_qpg = false;
	ret = liq_cmd_ask(&dev->cmds, &cmd, &resp);
	if (ret < 0) {
		LIQ_LOG(ERR, "%s: firmware does not configure %u queues: %d", dev->bus,
			dev->n_queues, ret);
		return ret;
	}
	ret = take_if(dev, &resp);
	if (ret == 0)
		ret = dev->fn->configured(dev);
	if (ret == 0)
		ret = liq_cmd_ctl(&dev->cmds, LIQ_CMD_TNL_RX_CSUM, 0, 0, NULL, 0);
	if (ret == 0)
		ret = liq_cmd_ctl(&dev->cmds, LIQ_CMD_TNL_TX_CSUM, 0, 0, NULL, 0);
	return ret;
}

static int
take_own_memory(struct liq_dev *dev)
{
	struct liq_iq_cfg cfg = {
		.port_id = dev->port_id,
		.n_desc = OWN_DESC,
		.socket_id = dev->socket_id,
		.kind = "own",
		.io = dev->io,
		.ring = dev->first_ring,
	};
	int ret = 0;

	if (!dev->cmds.mem.zone)
		ret = liq_cmds_init(&dev->cmds, &dev->io, dev->port_id, dev->socket_id);
	if (ret == 0 && !dev->own_iq)
		ret = liq_iq_create(&cfg, &dev->own_iq);
	return ret;
}

static void
give_own_memory(struct liq_dev *dev)
{
	dev->fn->release(dev);
	liq_iq_destroy(dev->own_iq);
	dev->own_iq = NULL;
	liq_cmds_fini(&dev->cmds);
}

/* From a function in any state to idle.  Memory that was taken stays. */
static int
bring_up(struct liq_dev *dev)
{
	int ret;

	dev->link_slot = -1;
	dev->link_word = 0;
	ret = dev->fn->prepare(dev);
	if (ret < 0)
		return ret;
	ret = take_own_memory(dev);
	if (ret < 0)
		return ret;
	liq_cmds_revive(&dev->cmds);
	ret = liq_dev_quiesce(dev);
	if (ret < 0)
		return ret;
	ret = go_idle(dev);
	if (ret == 0)
		ret = configure_if(dev);
	if (ret < 0)
		return ret;
	dev->state = LIQ_IDLE;
	dev->alarmed = false;
	dev->set.n_txq = dev->nif.n_iq;
	dev->set.n_rxq = dev->nif.n_oq;
	memset(dev->port_stats, 0, sizeof(dev->port_stats));
	memset(dev->port_stats_base, 0, sizeof(dev->port_stats_base));
	return 0;
}

/* As after power-on: the interface is forgotten, and on a PF firmware says hello again. */
static int
function_reset(struct liq_dev *dev)
{
	int ret = dev->io.ops->flr(dev->io.ctx);

	if (ret == 0) {
		dev->nif.n_iq = dev->nif.n_oq = 0;
		dev->fenced = false;
	}
	if (!dev->fenced)
		dev->io.ops->set_dma(dev->io.ctx, true);
	return ret;
}

int
liq_dev_up(struct liq_dev *dev)
{
	int ret;

	dev->state = LIQ_DOWN;
	dev->fenced = false;
	dev->nif.n_iq = dev->nif.n_oq = 0;
	/* Whoever had the function before us may have left it configured; without a reset of its
	 * own (-ENOTSUP) that of the rings has to do. */
	ret = function_reset(dev);
	if (ret == 0 || ret == -ENOTSUP)
		ret = bring_up(dev);
	if (ret < 0)
		liq_dev_down(dev);
	return ret;
}

void
liq_dev_down(struct liq_dev *dev)
{
	if (dev->state == LIQ_STARTED)
		liq_dev_stop(dev);
	if (dev->n_rings != 0)
		liq_dev_quiesce(dev);
	if (!dev->fenced)
		dev->io.ops->set_dma(dev->io.ctx, false);
	give_own_memory(dev);
	dev->state = LIQ_DOWN;
}

int
liq_dev_reset(struct liq_dev *dev)
{
	int ret;

	liq_dev_quiesce(dev);
	liq_cmds_use(&dev->cmds, NULL);
	dev->state = LIQ_DOWN;
	ret = function_reset(dev);
	if (ret == -ENOTSUP && dev->fn->ask_flr) {
		ret = dev->fn->ask_flr(dev);
		if (ret == 0) {
			dev->fenced = false;
			dev->io.ops->set_dma(dev->io.ctx, true);
		}
	}
	if (ret < 0 && ret != -ENOTSUP) {
		LIQ_LOG(ERR, "%s: no function-level reset: %d", dev->bus, ret);
		return ret;
	}
	ret = bring_up(dev);
	if (ret < 0)
		LIQ_LOG(ERR, "%s: not up after a reset: %d", dev->bus, ret);
	return ret;
}

/* ---- queues ---- */

int
liq_dev_queues(struct liq_dev *dev, uint16_t n_txq, uint16_t n_rxq)
{
	int ret;

	n_txq = n_txq ? n_txq : 1;
	n_rxq = n_rxq ? n_rxq : 1;
	if (n_txq == dev->set.n_txq && n_rxq == dev->set.n_rxq)
		return 0;
	if (dev->nif.fw_num < LIQ_FW_QUEUE_COUNT) {
		if (n_txq == dev->nif.n_iq && n_rxq == dev->nif.n_oq)
			return 0;
		LIQ_LOG(ERR,
			"%s: firmware %s always has %u transmit and %u receive queues (1.7.0 can change it)",
			dev->bus, dev->nif.fw_version, dev->nif.n_iq, dev->nif.n_oq);
		return -ENOTSUP;
	}
	ret = liq_cmd_ctl(&dev->cmds, LIQ_CMD_QUEUE_COUNT, n_txq, n_rxq, NULL, 0);
	if (ret < 0)
		return ret;
	dev->set.n_txq = n_txq;
	dev->set.n_rxq = n_rxq;
	return 0;
}

static int
program_queues(struct liq_dev *dev, unsigned int n_txq, unsigned int n_rxq)
{
	for (unsigned int q = 0; q < n_txq; q++) {
		const struct liq_queue_words *w = &dev->nif.tx[q];

		liq_iq_words(dev->txq[q], dev->pkind, LIQ_TAG_DATA + w->port, w->qpg, w->use_qpg);
		liq_iq_program(dev->txq[q]);
	}
	for (unsigned int q = 0; q < n_rxq; q++) {
		int ret = liq_oq_program(dev->rxq[q]);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static unsigned int
count_queues(void *const *queue)
{
	unsigned int n = 0;

	while (n < LIQ_IF_MAX_QUEUES && queue[n])
		n++;
	return n;
}

static void
drop_queues(struct liq_dev *dev)
{
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		if (dev->txq[q])
			dev->n_unsent += liq_iq_drop(dev->txq[q]);
		if (dev->rxq[q])
			liq_oq_drop(dev->rxq[q]);
	}
}

int
liq_dev_start(struct liq_dev *dev)
{
	unsigned int n_txq = count_queues((void *const *)dev->txq);
	unsigned int n_rxq = count_queues((void *const *)dev->rxq);
	int ret;

	if (dev->state != LIQ_IDLE || dev->cmds.dead)
		return -EIO;
	dev->fn->serve(dev); /* what came while idle would be lost with the rings */
	liq_cmds_use(&dev->cmds, NULL);
	dev->link_slot = -1;
	ret = liq_dev_quiesce(dev);
	if (ret < 0)
		return ret;
	set_modes(dev);
	if (n_txq == 0) {
		liq_iq_drop(dev->own_iq);
		liq_iq_program(dev->own_iq);
	}
	ret = program_queues(dev, n_txq, n_rxq);
	if (ret < 0)
		goto idle;
	/* ring 0 carries commands even when nobody transmits */
	for (unsigned int q = 0; q < n_txq || q == 0; q++)
		liq_ring_enable_in(&dev->io, dev->first_ring + q);
	for (unsigned int q = 0; q < n_rxq; q++)
		liq_ring_enable_out(&dev->io, dev->first_ring + q);
	liq_cmds_use(&dev->cmds, n_txq ? dev->txq[0] : dev->own_iq);
	dev->n_link_seen = dev->notices.n_link;
	dev->state = LIQ_STARTED;
	ret = liq_settings_tell(dev);
	if (ret == 0)
		ret = liq_rx_tell(dev, true);
	if (ret == 0)
		ret = liq_link_ask(dev);
	if (ret == 0)
		return 0;
	liq_dev_stop(dev);
	return ret;

idle:
	drop_queues(dev);
	go_idle(dev);
	return ret;
}

static bool
all_fetched(const struct liq_dev *dev)
{
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES && dev->txq[q]; q++)
		if (!dev->txq[q]->broken && liq_iq_unfetched(dev->txq[q]) != 0)
			return false;
	return true;
}

static void
drain(struct liq_dev *dev)
{
	struct liq_wait w = liq_wait_for(&dev->io, LIQ_STOP_WAIT_NS);

	while (!all_fetched(dev))
		if (!liq_wait(&w))
			return;
}

/* What is fetched was sent; what remains is lost. */
static void
settle(struct liq_dev *dev)
{
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES && dev->txq[q]; q++)
		liq_iq_cleanup(dev->txq[q], 0);
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES && dev->rxq[q]; q++)
		dev->n_unread += liq_oq_flush(dev->rxq[q]);
}

void
liq_dev_stop(struct liq_dev *dev)
{
	if (dev->state != LIQ_STARTED)
		return;
	/* the card first, while the rings can still take what it has */
	liq_rx_tell(dev, false);
	if (!dev->cmds.dead && !liq_dev_is_gone(dev)) {
		drain(dev);
		settle(dev);
	}
	liq_cmds_use(&dev->cmds, NULL);
	dev->state = LIQ_IDLE;
	liq_dev_quiesce(dev);
	drop_queues(dev);
	if (!dev->fenced)
		go_idle(dev);
}

/* ---- health ---- */

bool
liq_dev_is_gone(const struct liq_dev *dev)
{
	return liq_r64(&dev->io, LIQ_RING(dev->first_ring) + LIQ_REG_IN_CTL) == UINT64_MAX;
}

bool
liq_dev_is_ill(const struct liq_dev *dev)
{
	if (dev->cmds.dead || dev->fenced)
		return true;
	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		if (dev->txq[q] && dev->txq[q]->broken)
			return true;
		if (dev->rxq[q] && dev->rxq[q]->broken)
			return true;
	}
	return false;
}
