/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A physical function: deals the port's rings out, waits for firmware, and serves the mailboxes of
 * its VFs.  Firmware must be running already; loading it is not this driver's business.
 *
 * Before the user's queues exist firmware says that it is up on output queue 0: that one is given a
 * few small buffers of the driver's own until then.
 */
#include "liq_dev.h"

#include <errno.h>
#include <string.h>

#include "liq_ring.h"

#define BOOT_DESC      64u /* a power of two: the running count is reduced by it */
#define BOOT_BUF_BYTES 256u
#define PF_DFLT_RINGS  8u

/* Rings and VFs of a PF, by pass of the chip. */
static unsigned int
max_rings(uint8_t revision)
{
	if (revision == LIQ_PCI_REV_PASS_1_0)
		return 12;
	return revision == LIQ_PCI_REV_PASS_1_1 ? 32 : LIQ_PF_MAX_RINGS;
}

static unsigned int
max_vfs(uint8_t revision)
{
	if (revision == LIQ_PCI_REV_PASS_1_0)
		return 8;
	return revision == LIQ_PCI_REV_PASS_1_1 ? 31 : LIQ_PF_MAX_VFS;
}

static uint32_t
own(const struct liq_dev *dev, uint32_t reg)
{
	return reg + LIQ_MAC_PF(dev->pf.mac_num, dev->pf.pf_num);
}

/* A register of the chip, through the window: high half first, the low half launches. */
static uint64_t
window_read(const struct liq_dev *dev, uint64_t addr)
{
	liq_w32(&dev->io, LIQ_REG_WIN_RD_ADDR + 4, (uint32_t)(addr >> 32) | LIQ_WIN_RD_HI_FLAG);
	liq_r32(&dev->io, LIQ_REG_WIN_RD_ADDR + 4);
	liq_w32(&dev->io, LIQ_REG_WIN_RD_ADDR, (uint32_t)addr);
	liq_r32(&dev->io, LIQ_REG_WIN_RD_ADDR);
	return liq_r64(&dev->io, LIQ_REG_WIN_RD_DATA);
}

/* Without extended config space the owner of ring 0 tells, if firmware has dealt one ring. */
static int
find_pf_num(struct liq_dev *dev)
{
	uint32_t word = 0;
	uint64_t ctl;

	if (dev->io.ops->cfg_read(dev->io.ctx, LIQ_CFG_SRIOV_FDL, &word, 4) == 0 &&
	    word != UINT32_MAX) {
		dev->pf.pf_num = (unsigned int)liq_get(word, LIQ_CFG_FDL_PF_NUM);
	} else {
		ctl = liq_r64(&dev->io, LIQ_RING(0) + LIQ_REG_IN_CTL);
		dev->pf.pf_num = (unsigned int)liq_get(ctl, LIQ_IN_CTL_PF_NUM);
		if (liq_get(liq_r64(&dev->io, own(dev, LIQ_REG_RINFO)), LIQ_RINFO_TRS) != 1)
			dev->pf.pf_num = UINT32_MAX;
	}
	if (dev->pf.pf_num > 1) {
		LIQ_LOG(ERR, "%s: cannot tell which PF this is", dev->bus);
		return -ENODEV;
	}
	return 0;
}

/* How the rings are dealt: the VFs' first, then the PF's. */
static int
deal(struct liq_dev *dev)
{
	unsigned int most = max_rings(dev->pf.revision), left;

	dev->n_rings = dev->want_rings ? dev->want_rings : PF_DFLT_RINGS;
	if (dev->n_rings > most || dev->pf.n_vfs > max_vfs(dev->pf.revision) ||
	    dev->n_rings + dev->pf.n_vfs > most) {
		LIQ_LOG(ERR,
			"%s: %u rings and %u VFs: this chip has %u rings and %u VFs, a VF needs one",
			dev->bus, dev->n_rings, dev->pf.n_vfs, most, max_vfs(dev->pf.revision));
		return -EINVAL;
	}
	left = most - dev->n_rings;
	if (dev->pf.n_vfs == 0) {
		dev->pf.rings_per_vf = 0;
	} else {
		unsigned int fit = left / dev->pf.n_vfs;

		fit = fit < LIQ_VF_MAX_RINGS ? fit : LIQ_VF_MAX_RINGS;
		if (dev->pf.rings_per_vf == 0 || dev->pf.rings_per_vf > fit)
			dev->pf.rings_per_vf = fit;
	}
	dev->first_ring = dev->pf.n_vfs * dev->pf.rings_per_vf;
	dev->n_queues = dev->n_rings;
	return 0;
}

static int
prepare(struct liq_dev *dev)
{
	const struct liq_io *io = &dev->io;
	uint32_t word = 0;
	uint64_t scratch;
	int ret;

	if (io->ops->cfg_read(io->ctx, LIQ_CFG_REVISION, &word, 1) == 0)
		dev->pf.revision = (uint8_t)word;
	if (io->ops->cfg_read(io->ctx, LIQ_CFG_DEVCTL, &word, 4) == 0)
		io->ops->cfg_write(io->ctx, LIQ_CFG_DEVCTL, word | LIQ_CFG_DEVCTL_ERR_EN, 4);
	scratch = liq_r64(io, LIQ_REG_SCRATCH2);
	if (scratch == UINT64_MAX) {
		LIQ_LOG(ERR, "%s: registers read as ones: the function is gone or in reset",
			dev->bus);
		return -ENODEV;
	}
	if (!(scratch & LIQ_SCRATCH2_LOADED)) {
		LIQ_LOG(ERR,
			"%s: no firmware is running, and this driver does not load any: boot the card from its flash, or load it with the kernel driver",
			dev->bus);
		return -ENODEV;
	}
	dev->pf.mac_num = liq_r32(io, LIQ_REG_MAC_NUMBER) & 0xFF;
	if (dev->pf.mac_num > 3) {
		LIQ_LOG(ERR, "%s: PCIe port %u, 0 to 3 expected", dev->bus, dev->pf.mac_num);
		return -ENODEV;
	}
	ret = find_pf_num(dev);
	if (ret == 0)
		ret = deal(dev);
	if (ret < 0)
		return ret;
	liq_w64(io, LIQ_REG_MAC_CREDIT, LIQ_MAC_CREDIT_INIT);
	dev->pf.coproc_mhz =
		(unsigned int)liq_get(window_read(dev, LIQ_WIN_RST_BOOT), LIQ_WIN_RST_BOOT_MUL) *
		50;
	dev->in_ctl_owner = liq_put(LIQ_IN_CTL_MAC_NUM, dev->pf.mac_num) |
			    liq_put(LIQ_IN_CTL_PF_NUM, dev->pf.pf_num);
	/* before any register of a ring */
	liq_w64(io, own(dev, LIQ_REG_RINFO),
		liq_put(LIQ_RINFO_SRN, (uint64_t)dev->pf.pf_num * max_rings(dev->pf.revision)) |
			liq_put(LIQ_RINFO_TRS, dev->first_ring + dev->n_rings) |
			liq_put(LIQ_RINFO_RPVF, dev->pf.rings_per_vf) |
			liq_put(LIQ_RINFO_NVFS, dev->pf.n_vfs));
	for (unsigned int q = 0; q < dev->first_ring; q++)
		liq_w64(io, LIQ_RING(q) + LIQ_REG_IN_CTL,
			dev->in_ctl_owner |
				liq_put(LIQ_IN_CTL_VF_NUM, q / dev->pf.rings_per_vf + 1));
	liq_w64(io, LIQ_REG_OQ_WMARK, LIQ_OQ_WMARK_DEFAULT);
	if (dev->pf.revision == LIQ_PCI_REV_PASS_1_0 || dev->pf.revision == LIQ_PCI_REV_PASS_1_1)
		liq_w64(io, LIQ_REG_GBL_CONTROL,
			liq_r64(io, LIQ_REG_GBL_CONTROL) | LIQ_GBL_NOPTR_D);
	liq_w64(io, dev->pf.pf_num == 0 ? LIQ_REG_BP_EN_W1S : LIQ_REG_BP_EN2_W1S, UINT64_MAX);
	liq_w64(io, LIQ_REG_WINDOW_CTL, LIQ_WINDOW_CTL_TMO);
	liq_w64(io, LIQ_REG_IN_JABBER, LIQ_IN_JABBER_MAX);
	for (unsigned int v = 0; v < dev->pf.n_vfs; v++) {
		liq_mbox_init(&dev->pf.vf[v].mbox, io, v * dev->pf.rings_per_vf, true);
		dev->pf.vf[v].active = false;
	}
	return 0;
}

/* ---- output queue 0 while firmware starts ---- */

static int
boot_queue(struct liq_dev *dev)
{
	uint32_t r = LIQ_RING(dev->first_ring);
	struct liq_out_desc *desc;
	int ret = 0;

	if (!dev->pf.boot_mem.zone)
		ret = liq_mem_take(&dev->pf.boot_mem, dev->port_id, "boot", 0,
				   BOOT_DESC * (sizeof(*desc) + BOOT_BUF_BYTES), dev->socket_id);
	if (ret < 0)
		return ret;
	desc = (struct liq_out_desc *)dev->pf.boot_mem.addr;
	for (uint32_t i = 0; i < BOOT_DESC; i++)
		desc[i].buf_iova = dev->pf.boot_mem.iova + BOOT_DESC * sizeof(*desc) +
				   (uint64_t)i * BOOT_BUF_BYTES;
	liq_w64(&dev->io, r + LIQ_REG_OUT_BASE, dev->pf.boot_mem.iova);
	liq_w32(&dev->io, r + LIQ_REG_OUT_SIZE, BOOT_DESC);
	liq_w32(&dev->io, r + LIQ_REG_OUT_BUF, BOOT_BUF_BYTES);
	/* before it is enabled: a packet for a ring without credits puts it in reset */
	liq_w32(&dev->io, r + LIQ_REG_OUT_CRED, BOOT_DESC);
	return 0;
}

/* Takes packet i of the boot queue, which firmware has counted. */
static void
boot_packet(struct liq_dev *dev, uint32_t i)
{
	const uint8_t *buf = dev->pf.boot_mem.addr + BOOT_DESC * sizeof(struct liq_out_desc) +
			     (size_t)i * BOOT_BUF_BYTES;
	uint64_t length = liq_be64_load(buf), rh = liq_be64_load(buf + 8);
	uint64_t skip = 8 * liq_get(rh, LIQ_RH_LEN);

	if (length < 8 + skip || length > BOOT_BUF_BYTES - LIQ_OUT_LEN_BYTES)
		return;
	liq_notice_take(&dev->notices, rh, buf + LIQ_OUT_HEAD + skip,
			(uint32_t)(length - 8 - skip));
}

/* Takes what has come, and gives the buffers back; no notice is longer than one. */
static void
boot_poll(struct liq_dev *dev)
{
	uint32_t r = LIQ_RING(dev->first_ring);
	uint32_t n = liq_r32(&dev->io, r + LIQ_REG_CNTS) - dev->pf.boot_seen;

	if (n == 0 || n > BOOT_DESC)
		return;
	for (uint32_t i = 0; i < n; i++)
		boot_packet(dev, dev->pf.boot_seen++ % BOOT_DESC);
	liq_w32(&dev->io, r + LIQ_REG_OUT_CRED, n);
}

static int
wait_core(struct liq_dev *dev)
{
	struct liq_wait w = liq_wait_for(&dev->io, LIQ_BOOT_WAIT_NS);

	while (boot_poll(dev), dev->notices.core_active == 0) {
		if (!liq_wait(&w)) {
			LIQ_LOG(ERR, "%s: firmware does not say that it is up", dev->bus);
			return -ETIMEDOUT;
		}
	}
	return 0;
}

static int
wake(struct liq_dev *dev)
{
	uint64_t rh;
	int ret;

	dev->notices.core_active = 0;
	dev->pf.boot_seen = 0;
	ret = boot_queue(dev);
	if (ret < 0)
		return ret;
	liq_ring_enable_in(&dev->io, dev->first_ring);
	liq_ring_enable_out(&dev->io, dev->first_ring);
	/* An interface that is configured already is not told again: after a mere ring reset. */
	if (dev->nif.n_iq != 0)
		return 0;
	ret = wait_core(dev);
	if (ret < 0)
		return ret;
	rh = dev->notices.core_active;
	if (liq_get(rh, LIQ_RH_APP_MODE) != LIQ_APP_MODE_NIC || liq_get(rh, LIQ_RH_MAX_NICS) < 1) {
		LIQ_LOG(ERR, "%s: firmware runs mode %u with %u interfaces, not a NIC", dev->bus,
			(unsigned int)liq_get(rh, LIQ_RH_APP_MODE),
			(unsigned int)liq_get(rh, LIQ_RH_MAX_NICS));
		return -ENODEV;
	}
	dev->pkind = (unsigned int)liq_get(rh, LIQ_RH_PKIND);
	return 0;
}

static uint32_t
if_request(struct liq_dev *dev, uint64_t *ossp0, uint8_t data[8])
{
	const uint8_t version[8] = {0, 1, 0, 7, 0, 2, 0, 0}; /* BE16: major, minor, micro, 0 */

	*ossp0 = liq_put(LIQ_IFREQ_NUM_IQ, dev->n_queues) |
		 liq_put(LIQ_IFREQ_NUM_OQ, dev->n_queues) |
		 liq_put(LIQ_IFREQ_GMX_PORT, dev->pf.pf_num) |
		 liq_put(LIQ_IFREQ_BASE_QUEUE, dev->first_ring);
	memcpy(data, version, sizeof(version));
	return sizeof(version);
}

/* Addresses of the VFs: the PF's own, locally administered, and counted up. */
static int
configured(struct liq_dev *dev)
{
	for (unsigned int v = 0; v < dev->pf.n_vfs; v++) {
		uint8_t word[8] = {0};
		int ret;

		memcpy(word + 2, dev->nif.mac, 6);
		word[2] = (uint8_t)((word[2] | 2) & ~1);
		word[6] = (uint8_t)(word[6] ^ 0x80 ^ dev->pf.pf_num);
		word[7] = (uint8_t)(word[7] + v + 1);
		ret = liq_cmd_ctl(&dev->cmds, LIQ_CMD_CHANGE_MAC, v + 1, 0, word, 1);
		if (ret < 0) {
			LIQ_LOG(ERR, "%s: the address of VF %u: %d", dev->bus, v + 1, ret);
			return ret;
		}
	}
	return 0;
}

/* ---- the VFs ---- */

static void
answer_active(struct liq_dev *dev, struct liq_vf_peer *vf)
{
	uint64_t hs = liq_put(LIQ_HS_PKIND, dev->pkind) |
		      liq_put(LIQ_HS_COPROC_MHZ, dev->pf.coproc_mhz) |
		      liq_put(LIQ_HS_APP_MODE, LIQ_APP_MODE_NIC);
	uint64_t words[2] = {
		liq_put(LIQ_MBOX_TYPE, 1) | liq_put(LIQ_MBOX_RESP_NEEDED, 1) |
			liq_put(LIQ_MBOX_CMD, LIQ_MBOX_VF_ACTIVE) | liq_put(LIQ_MBOX_LEN, 2) |
			liq_put(LIQ_MBOX_PARAMS, hs),
		liq_put(LIQ_VERSION_MAJOR, 1) | liq_put(LIQ_VERSION_MINOR, 7) |
			liq_put(LIQ_VERSION_MICRO, 2),
	};

	vf->active = true;
	liq_mbox_answer(&vf->mbox, words, 2);
}

/*
 * A VF wants a function-level reset.  Its config space is out of our reach; its rings are not, and
 * their reset ends its DMA.
 */
static void
reset_vf(struct liq_dev *dev, unsigned int v)
{
	unsigned int first = v * dev->pf.rings_per_vf;

	for (unsigned int q = first; q < first + dev->pf.rings_per_vf; q++)
		if (liq_ring_reset(&dev->io, q) < 0)
			LIQ_LOG(WARNING, "%s: ring %u of VF %u stays in reset", dev->bus, q, v + 1);
	dev->pf.vf[v].active = false;
	liq_mbox_init(&dev->pf.vf[v].mbox, &dev->io, first, true);
}

static void
take_request(struct liq_dev *dev, unsigned int v, const struct liq_mbox_msg *msg)
{
	struct liq_vf_peer *vf = &dev->pf.vf[v];
	uint64_t head = msg->word[0];

	if (liq_get(head, LIQ_MBOX_TYPE))
		return; /* an answer that nobody waits for */
	switch (liq_get(head, LIQ_MBOX_CMD)) {
	case LIQ_MBOX_VF_ACTIVE:
		answer_active(dev, vf);
		break;
	case LIQ_MBOX_VF_FLR:
		reset_vf(dev, v);
		break;
	default:
		vf->mbox.n_errors++;
		if (liq_get(head, LIQ_MBOX_RESP_NEEDED))
			liq_mbox_ignore(&vf->mbox);
		break;
	}
}

static bool
serve_vf(struct liq_dev *dev, unsigned int v)
{
	struct liq_vf_peer *vf = &dev->pf.vf[v];
	struct liq_mbox_msg msg;

	if (liq_mbox_step(&vf->mbox, &msg) == 1)
		take_request(dev, v, &msg);
	return liq_mbox_busy(&vf->mbox);
}

/* Only what firmware says after it was up counts. */
static void
watch_cores(struct liq_dev *dev)
{
	uint64_t scratch = liq_r64(&dev->io, LIQ_REG_SCRATCH2);
	uint32_t crashed = (uint32_t)liq_get(scratch, LIQ_SCRATCH2_CRASHED);

	if (scratch == UINT64_MAX || crashed == dev->pf.crashed)
		return;
	dev->pf.crashed = crashed;
	if (crashed == 0)
		return;
	LIQ_LOG(ERR, "%s: firmware has crashed on cores 0x%x", dev->bus, crashed);
	dev->cmds.dead = true;
	for (unsigned int v = 0; v < dev->pf.n_vfs; v++) {
		uint64_t word =
			liq_put(LIQ_MBOX_CMD, LIQ_MBOX_CORES_CRASHED) | liq_put(LIQ_MBOX_LEN, 1);

		if (dev->pf.vf[v].active)
			liq_mbox_send(&dev->pf.vf[v].mbox, &word, 1);
	}
}

static bool
serve(struct liq_dev *dev)
{
	uint64_t due = dev->pf.n_vfs ? liq_r64(&dev->io, own(dev, LIQ_REG_PF_MBOX_INT)) : 0;
	bool soon = false;

	if (due == UINT64_MAX)
		return false;
	if (dev->state == LIQ_IDLE)
		boot_poll(dev);
	if (due != 0) {
		liq_w64(&dev->io, own(dev, LIQ_REG_PF_MBOX_INT), due);
		liq_w64(&dev->io, own(dev, LIQ_REG_INT_SUM), LIQ_INT_VF_MBOX);
	}
	for (unsigned int v = 0; v < dev->pf.n_vfs; v++) {
		unsigned int first = v * dev->pf.rings_per_vf;

		if ((due >> first & 1) || liq_mbox_busy(&dev->pf.vf[v].mbox) ||
		    dev->pf.vf[v].mbox.refused)
			soon |= serve_vf(dev, v) || dev->pf.vf[v].mbox.refused;
	}
	watch_cores(dev);
	return soon;
}

static void
release(struct liq_dev *dev)
{
	liq_mem_give(&dev->pf.boot_mem);
}

const struct liq_fn_ops liq_pf_ops = {
	.name = "pf",
	.prepare = prepare,
	.wake = wake,
	.if_request = if_request,
	.configured = configured,
	.serve = serve,
	.release = release,
};
