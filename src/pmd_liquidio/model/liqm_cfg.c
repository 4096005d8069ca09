/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: PCI config space, 4 KiB per function.
 *
 * A type 0 header with 64-bit BARs, power management, MSI-X at 0x50 and PCI Express at 0x70, AER
 * and ARI, and in a PF the SR-IOV capability at 0x178 whose dependency link carries the PF's
 * number: the offsets that drivers use.  Writes pass a mask per bit.  Setting bit 15 of Device
 * Control resets the function.
 *
 * VFs are there whether SR-IOV is enabled or not, and answer with their own vendor and device
 * id: whoever carries a VF hands it on as a function of its own.
 */
#include "liqm_priv.h"

#include <string.h>

#define CAP_PM             0x40
#define CLASS_NIC          0x020000u
#define FLR_OFFSET         (LIQ_CFG_DEVCTL + 1)
#define FLR_BIT            0x80u
#define BAR_64BIT_PREFETCH 0x0Cu

static void
put(struct liqm_fn *fn, uint32_t off, uint64_t value, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		fn->cfg[off + i] = (uint8_t)(value >> 8 * i);
}

static void
writable(struct liqm_fn *fn, uint32_t off, uint64_t mask, unsigned int len)
{
	for (unsigned int i = 0; i < len; i++)
		fn->cfg_wmask[off + i] = (uint8_t)(mask >> 8 * i);
}

static void
put_header(struct liqm_fn *fn, const struct liqm_fn_info *info)
{
	put(fn, 0x00, info->vendor_id | (uint32_t)info->device_id << 16, 4);
	put(fn, 0x06, 0x0010, 2); /* there is a capability list */
	put(fn, 0x08, CLASS_NIC << 8 | fn->card->cfg.revision, 4);
	for (unsigned int i = 0; i < LIQM_N_BARS; i++) {
		if (info->bar[i].size == 0)
			continue;
		put(fn, 0x10 + 4 * i, BAR_64BIT_PREFETCH, 4);
		writable(fn, 0x10 + 4 * i, ~(info->bar[i].size - 1), 8);
	}
	put(fn, 0x2C, LIQ_PCI_VENDOR | (uint32_t)info->subsys_id << 16, 4);
	put(fn, 0x34, CAP_PM, 1);
	writable(fn, 0x04, 0x0547, 2);
	writable(fn, 0x0C, 0xFF, 1);
	writable(fn, 0x3C, 0xFF, 1);
}

static void
put_caps(struct liqm_fn *fn)
{
	put(fn, CAP_PM, 0x01 | LIQ_CFG_MSIX << 8 | 0x0003 << 16, 4);
	writable(fn, CAP_PM + 4, 0x0003, 2);

	put(fn, LIQ_CFG_MSIX, 0x11 | LIQ_CFG_PCIE << 8 | (LIQ_MSIX_N_VECTORS - 1) << 16, 4);
	put(fn, LIQ_CFG_MSIX + 4, LIQM_BAR_MSIX, 4);
	put(fn, LIQ_CFG_MSIX + 8, LIQM_MSIX_PBA | LIQM_BAR_MSIX, 4);
	writable(fn, LIQ_CFG_MSIX + 2, 0xC000, 2);

	put(fn, LIQ_CFG_PCIE, 0x10 | 0x0002 << 16, 4);
	put(fn, LIQ_CFG_PCIE + 4, 1u << 28 | 1u << 15 | 2, 4); /* FLR, error reports, 512 bytes */
	put(fn, LIQ_CFG_DEVCTL, 0x2810, 2);
	put(fn, LIQ_CFG_PCIE + 0x0C, 0x00000083, 4); /* 8 GT/s, 8 lanes */
	put(fn, LIQ_CFG_PCIE + 0x12, 0x1083, 2);
	writable(fn, LIQ_CFG_DEVCTL, 0x7FFF, 2);
	writable(fn, LIQ_CFG_PCIE + 0x10, 0x0BFB, 2);
	writable(fn, LIQ_CFG_PCIE + 0x28, 0x07FF, 2);
}

static void
put_ext_caps(struct liqm_fn *fn, const struct liqm_fn_info *info)
{
	uint32_t after_ari = fn->vf_num == 0 ? LIQ_CFG_SRIOV : 0;

	put(fn, LIQ_CFG_AER, 0x0001 | 2u << 16 | (uint32_t)LIQ_CFG_ARI << 20, 4);
	writable(fn, LIQ_CFG_AER_UNCOR_MASK, UINT64_C(0x007FF030007FF030), 8);
	writable(fn, LIQ_CFG_AER + 0x14, 0xF1C1, 4);
	put(fn, LIQ_CFG_ARI, 0x000E | 1u << 16 | after_ari << 20, 4);
	if (fn->vf_num != 0)
		return;
	put(fn, LIQ_CFG_SRIOV, 0x0010 | 1u << 16, 4);
	put(fn, LIQ_CFG_SRIOV + 0x0C, fn->port->n_vf | fn->port->n_vf << 16, 4);
	put(fn, LIQ_CFG_SRIOV_FDL, info->port << 16, 4);
	put(fn, LIQ_CFG_SRIOV + 0x14, 8 | 1u << 16, 4); /* first VF 8 functions on, stride 1 */
	put(fn, LIQ_CFG_SRIOV + 0x1A, LIQ_PCI_DEVICE_VF, 2);
	put(fn, LIQ_CFG_SRIOV + 0x1C, 0x00000553, 4);
	put(fn, LIQ_CFG_SRIOV + 0x20, 0x00000001, 4);
	put(fn, LIQ_CFG_SRIOV + 0x24, BAR_64BIT_PREFETCH, 4);
	writable(fn, LIQ_CFG_SRIOV + 0x08, 0x0019, 2);
	writable(fn, LIQ_CFG_SRIOV_FDL, 0xFFFF, 2);
	writable(fn, LIQ_CFG_SRIOV + 0x20, 0x0553, 4);
	writable(fn, LIQ_CFG_SRIOV + 0x24, ~(uint64_t)((2u << 20) - 1), 8);
}

void
liqm_cfg_power_on(struct liqm_fn *fn)
{
	struct liqm_fn_info info;

	liqm_fn_info_get(fn, &info);
	memset(fn->cfg, 0, sizeof(fn->cfg));
	memset(fn->cfg_wmask, 0, sizeof(fn->cfg_wmask));
	put_header(fn, &info);
	put_caps(fn);
	put_ext_caps(fn, &info);
}

static void
observe_cfg(struct liqm_fn *fn, uint32_t off, const void *bytes, size_t len, bool is_write)
{
	uint64_t value = 0;

	memcpy(&value, bytes, len < 8 ? len : 8);
	liqm_observe(fn, &(struct liqm_access){
				 .time_ns = fn->card->now_ns,
				 .fn_index = fn->index,
				 .kind = LIQM_ACCESS_CFG,
				 .off = off,
				 .len = (unsigned int)len,
				 .is_write = is_write,
				 .value = value,
			 });
}

/* Bytes of an access that lie within config space. */
static size_t
inside(struct liqm_fn *fn, uint32_t off, size_t len)
{
	size_t n = off >= LIQM_CFG_BYTES ? 0 : LIQM_CFG_BYTES - off;

	if (len > n)
		fn->n[LIQM_N_reg_bad]++;
	return len < n ? len : n;
}

void
liqm_cfg_read(struct liqm_fn *fn, uint32_t off, void *dst, size_t len)
{
	size_t n;

	liqm_lock(fn->card);
	memset(dst, 0xFF, len);
	n = inside(fn, off, len);
	if (n > 0 && !liqm_fault(fn, LIQM_FAULT_GONE, LIQM_ANY, NULL))
		memcpy(dst, fn->cfg + off, n);
	observe_cfg(fn, off, dst, len, false);
	liqm_unlock(fn->card);
}

void
liqm_cfg_write(struct liqm_fn *fn, uint32_t off, const void *src, size_t len)
{
	const uint8_t *byte = src;
	bool flr = false;
	size_t n;

	liqm_lock(fn->card);
	observe_cfg(fn, off, src, len, true);
	n = inside(fn, off, len);
	for (size_t i = 0; i < n; i++) {
		uint8_t mask = fn->cfg_wmask[off + i];

		if (off + i == FLR_OFFSET && (byte[i] & FLR_BIT))
			flr = true;
		fn->cfg[off + i] = (uint8_t)((fn->cfg[off + i] & ~mask) | (byte[i] & mask));
	}
	if (flr)
		liqm_flr(fn);
	liqm_written(fn->card);
	liqm_unlock(fn->card);
}
