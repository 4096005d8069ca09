/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A virtual function: the PF has dealt its rings out, and says in the handshake what is needed to
 * speak to firmware.  Order of steps: docs/liquidio-hw.md.
 */
#include "liq_dev.h"

#include <errno.h>
#include <string.h>

#include "liq_ring.h"

static int
prepare(struct liq_dev *dev)
{
	uint64_t ctl = liq_r64(&dev->io, LIQ_RING(0) + LIQ_REG_IN_CTL);
	int ret;

	if (ctl == UINT64_MAX) {
		LIQ_LOG(ERR, "%s: registers read as ones: the function is gone or in reset",
			dev->bus);
		return -ENODEV;
	}
	dev->vf.pf_num = (unsigned int)liq_get(ctl, LIQ_IN_CTL_PF_NUM);
	dev->vf.vf_num = (unsigned int)liq_get(ctl, LIQ_IN_CTL_VF_NUM);
	dev->n_rings = (unsigned int)liq_get(ctl, LIQ_IN_CTL_RPVF);
	dev->first_ring = 0;
	dev->in_ctl_owner = 0;
	if (dev->n_rings == 0 || dev->n_rings > LIQ_VF_MAX_RINGS || dev->vf.vf_num == 0) {
		LIQ_LOG(ERR,
			"%s: VF %u of PF %u has %u rings, 1 to %u expected: is a PF driver there?",
			dev->bus, dev->vf.vf_num, dev->vf.pf_num, dev->n_rings, LIQ_VF_MAX_RINGS);
		return -ENODEV;
	}
	if (dev->want_rings > dev->n_rings) {
		LIQ_LOG(ERR, "%s: queues=%u: allowed: 1 to %u, the rings that the PF has dealt out",
			dev->bus, dev->want_rings, dev->n_rings);
		return -EINVAL;
	}
	dev->n_queues = dev->want_rings ? dev->want_rings : dev->n_rings;
	liq_mbox_init(&dev->vf.mbox, &dev->io, 0, false);
	ret = liq_mbox_handshake(&dev->vf.mbox, &dev->vf.hs);
	if (ret < 0)
		return ret;
	dev->pkind = dev->vf.hs.pkind;
	return 0;
}

static int
wake(struct liq_dev *dev)
{
	liq_ring_enable_in(&dev->io, 0);
	return 0;
}

static uint32_t
if_request(struct liq_dev *dev, uint64_t *ossp0, uint8_t data[8])
{
	(void)data;
	/* the card knows the VF by the ring */
	*ossp0 = liq_put(LIQ_IFREQ_NUM_IQ, dev->n_queues) |
		 liq_put(LIQ_IFREQ_NUM_OQ, dev->n_queues) |
		 liq_put(LIQ_IFREQ_GMX_PORT, dev->vf.pf_num);
	return 0;
}

static int
configured(struct liq_dev *dev)
{
	(void)dev;
	return 0;
}

/* What the PF says by itself. */
static void
take_message(struct liq_dev *dev, const struct liq_mbox_msg *msg)
{
	uint64_t head = msg->word[0], params = liq_get(head, LIQ_MBOX_PARAMS);

	switch (liq_get(head, LIQ_MBOX_CMD)) {
	case LIQ_MBOX_PF_SET_MAC:
		for (int i = 0; i < 6; i++)
			dev->nif.mac[i] = (uint8_t)(params >> 8 * i);
		dev->nif.mac_admin = true;
		LIQ_LOG(NOTICE, "%s: the PF has changed the address", dev->bus);
		break;
	case LIQ_MBOX_CORES_CRASHED:
		LIQ_LOG(ERR, "%s: firmware has crashed", dev->bus);
		dev->cmds.dead = true;
		break;
	default: /* of no use to a VF: acknowledged */
		break;
	}
	if (liq_get(head, LIQ_MBOX_RESP_NEEDED) && !liq_get(head, LIQ_MBOX_TYPE))
		liq_mbox_ignore(&dev->vf.mbox);
}

static void
answer_stats(struct liq_dev *dev)
{
	uint64_t words[LIQ_STATS_REPLY_WORDS] = {
		liq_put(LIQ_MBOX_TYPE, 1) | liq_put(LIQ_MBOX_CMD, LIQ_MBOX_GET_VF_STATS) |
			liq_put(LIQ_MBOX_LEN, LIQ_STATS_REPLY_WORDS),
	};

	for (unsigned int q = 0; q < LIQ_IF_MAX_QUEUES; q++) {
		const struct liq_oq *oq = dev->rxq[q];
		const struct liq_iq *iq = dev->txq[q];

		if (oq) {
			words[1] += oq->n.n_pkts;
			words[3] += oq->n.n_bytes;
		}
		if (iq) {
			words[2] += iq->n.n_pkts;
			words[4] += iq->n.n_bytes;
		}
	}
	liq_mbox_answer(&dev->vf.mbox, words, LIQ_STATS_REPLY_WORDS);
}

static bool
serve(struct liq_dev *dev)
{
	struct liq_mbox_msg msg;

	if (liq_mbox_step(&dev->vf.mbox, &msg) == 1) {
		if (liq_get(msg.word[0], LIQ_MBOX_CMD) == LIQ_MBOX_GET_VF_STATS &&
		    !liq_get(msg.word[0], LIQ_MBOX_TYPE))
			answer_stats(dev);
		else
			take_message(dev, &msg);
	}
	return liq_mbox_busy(&dev->vf.mbox);
}

static int
ask_flr(struct liq_dev *dev)
{
	return liq_mbox_ask_flr(&dev->vf.mbox);
}

static void
release(struct liq_dev *dev)
{
	(void)dev;
}

const struct liq_fn_ops liq_vf_ops = {
	.name = "vf",
	.prepare = prepare,
	.wake = wake,
	.if_request = if_request,
	.configured = configured,
	.ask_flr = ask_flr,
	.serve = serve,
	.release = release,
};
