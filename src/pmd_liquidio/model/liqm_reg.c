/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: accesses to the BARs, and the access log.
 *
 * Finds the register behind an offset in the tables of hw/liq_regs.h, splits 32-bit accesses of
 * 64-bit registers into halves, counts what makes no sense, reports to the observer, and lets
 * the card work.  Called by the carrier from any thread.
 */
#include "liqm_priv.h"

#include <stdio.h>
#include <string.h>

#define ALL_ONES UINT64_MAX

static uint64_t
cut(uint64_t value, unsigned int len)
{
	return len >= 8 ? value : value & ((UINT64_C(1) << 8 * len) - 1);
}

static uint64_t
bar_size(const struct liqm_fn *fn, unsigned int bar)
{
	switch (bar) {
	case LIQ_BAR_CSR:
		return fn->vf_num == 0 ? 8u << 20 : 2u << 20;
	case LIQ_BAR_DRAM:
		return fn->vf_num == 0 ? UINT64_C(64) << 20 : 0;
	case LIQM_BAR_MSIX:
		return 64u << 10;
	default:
		return 0;
	}
}

void
liqm_fn_info_get(const struct liqm_fn *fn, struct liqm_fn_info *info)
{
	memset(info, 0, sizeof(*info));
	info->index = fn->index;
	info->port = fn->port->index;
	info->vf_num = fn->vf_num;
	info->vendor_id = LIQ_PCI_VENDOR;
	info->device_id = fn->vf_num == 0 ? LIQ_PCI_DEVICE_PF : LIQ_PCI_DEVICE_VF;
	info->subsys_id = fn->card->cfg.subsys_id;
	info->n_msix = LIQ_MSIX_N_VECTORS;
	for (unsigned int i = 0; i < LIQM_N_BARS; i++) {
		info->bar[i].size = bar_size(fn, i);
		info->bar[i].is_64bit = info->bar[i].size != 0;
		info->bar[i].prefetchable = info->bar[i].size != 0;
	}
}

/*
 * The port's number of the ring behind an offset of the function's BAR0, and the offset within
 * the ring; false: not a ring of this function.
 */
static bool
find_ring(const struct liqm_fn *fn, uint64_t off, unsigned int *q, uint32_t *in_ring)
{
	uint64_t n;

	if (off < LIQ_RING_BASE)
		return false;
	n = (off - LIQ_RING_BASE) / LIQ_RING_STRIDE;
	*in_ring = (uint32_t)((off - LIQ_RING_BASE) % LIQ_RING_STRIDE);
	if (*in_ring >= LIQ_RING_SPAN)
		return false;
	if (fn->vf_num == 0) {
		*q = (unsigned int)n;
		return n < LIQ_PF_MAX_RINGS;
	}
	*q = liqm_fn_first_ring(fn) + (unsigned int)n;
	return n < liqm_fn_n_rings(fn);
}

static uint64_t
csr_read(struct liqm_fn *fn, uint64_t off, unsigned int len)
{
	uint64_t base = off & ~UINT64_C(7), value = 0;
	unsigned int q;
	uint32_t in_ring;
	bool known = false;

	if (find_ring(fn, base, &q, &in_ring))
		value = liqm_ring_read(fn, q, in_ring, &known);
	else if (fn->vf_num == 0)
		value = liqm_pf_read(fn, base, &known);
	if (!known)
		fn->n[LIQM_N_reg_unknown]++;
	return cut(value >> 8 * (off & 7), len);
}

static void
csr_write(struct liqm_fn *fn, uint64_t off, uint64_t value, unsigned int len)
{
	uint64_t base = off & ~UINT64_C(7);
	unsigned int halves = LIQM_LOW | LIQM_HIGH;
	unsigned int q;
	uint32_t in_ring;
	bool known = false;

	if (len < 4) {
		fn->n[LIQM_N_reg_bad]++;
		return;
	}
	if (len == 4 && off & 4) {
		value <<= 32;
		halves = LIQM_HIGH;
	} else if (len == 4) {
		value = cut(value, 4);
		halves = LIQM_LOW;
	}
	if (find_ring(fn, base, &q, &in_ring)) {
		liqm_ring_read(fn, q, in_ring, &known);
		if (known)
			liqm_ring_write(fn, q, in_ring, value, halves);
	} else if (fn->vf_num == 0) {
		known = liqm_pf_write(fn, base, value, halves);
	}
	if (!known)
		fn->n[LIQM_N_reg_unknown]++;
}

static bool
access_good(struct liqm_fn *fn, unsigned int bar, uint64_t off, unsigned int len)
{
	uint64_t size = bar_size(fn, bar);

	if ((len == 1 || len == 2 || len == 4 || len == 8) && off % len == 0 && size >= len &&
	    off <= size - len)
		return true;
	fn->n[LIQM_N_reg_bad]++;
	return false;
}

static uint64_t
msix_read(const struct liqm_fn *fn, uint64_t off, unsigned int len)
{
	uint64_t value = 0;

	if (off + len <= sizeof(fn->msix_table))
		memcpy(&value, fn->msix_table + off, len);
	return value;
}

static void
observe_bar(struct liqm_fn *fn, unsigned int bar, uint64_t off, unsigned int len, bool is_write,
	    uint64_t value)
{
	liqm_observe(fn, &(struct liqm_access){
				 .time_ns = fn->card->now_ns,
				 .fn_index = fn->index,
				 .kind = LIQM_ACCESS_BAR,
				 .bar = bar,
				 .off = off,
				 .len = len,
				 .is_write = is_write,
				 .value = value,
			 });
}

static void
enter(struct liqm_card *card)
{
	liqm_lock(card);
	if (!card->cfg.svc.clock_ns)
		card->now_ns += card->cfg.access_ns;
}

/* Work comes first: what a register shows is what there is at the time of the access. */
uint64_t
liqm_bar_read(struct liqm_fn *fn, unsigned int bar, uint64_t off, unsigned int len)
{
	struct liqm_card *card = fn->card;
	uint64_t value;

	enter(card);
	if (!card->cfg.manual_step)
		liqm_run(card);
	if (!access_good(fn, bar, off, len) || liqm_fault(fn, LIQM_FAULT_GONE, LIQM_ANY, NULL))
		value = cut(ALL_ONES, len);
	else if (bar == LIQ_BAR_CSR)
		value = csr_read(fn, off, len);
	else if (bar == LIQ_BAR_DRAM)
		value = liqm_dram_read(fn, off, len);
	else
		value = msix_read(fn, off, len);
	observe_bar(fn, bar, off, len, false, value);
	liqm_unlock(card);
	return value;
}

void
liqm_bar_write(struct liqm_fn *fn, unsigned int bar, uint64_t off, uint64_t value, unsigned int len)
{
	struct liqm_card *card = fn->card;

	enter(card);
	observe_bar(fn, bar, off, len, true, cut(value, len));
	if (access_good(fn, bar, off, len) && !liqm_fault(fn, LIQM_FAULT_GONE, LIQM_ANY, NULL)) {
		if (bar == LIQ_BAR_CSR)
			csr_write(fn, off, value, len);
		else if (bar == LIQ_BAR_DRAM)
			liqm_dram_write(fn, off, value, len);
		else if (off + len <= sizeof(fn->msix_table))
			memcpy(fn->msix_table + off, &value, len);
	}
	liqm_written(card);
	liqm_unlock(card);
}

/* ---- names ---- */

#define RING_ROW(name, off, bytes, acc)                     {#name, off},
#define GLOBAL_ROW(name, off, bytes, acc, n, stride, reset) {#name, off, n, stride},

static int
put_name(char *text, size_t size, const char *before, unsigned int index, const char *name,
	 unsigned int rest)
{
	if (rest != 0)
		return snprintf(text, size, "%s%u.%s+%u", before, index, name, rest);
	return snprintf(text, size, "%s%u.%s", before, index, name);
}

/* Name of what is at an offset of BAR0, "ring3.CNTS+4", or the bare offset. */
static int
reg_name(uint64_t off, char *text, size_t size)
{
	static const struct {
		const char *name;
		uint32_t off;
	} ring_regs[] = {LIQ_RING_REG_TABLE(RING_ROW)};
	static const struct {
		const char *name;
		uint32_t off, n, stride;
	} global_regs[] = {LIQ_GLOBAL_REG_TABLE(GLOBAL_ROW)};

	for (size_t i = 0; i < sizeof(global_regs) / sizeof(global_regs[0]); i++) {
		for (uint32_t k = 0; k < global_regs[i].n; k++) {
			uint64_t at = global_regs[i].off + k * global_regs[i].stride;

			if (off >= at && off < at + 8)
				return put_name(text, size, "csr", k, global_regs[i].name,
						(unsigned int)(off - at));
		}
	}
	for (size_t i = 0; off >= LIQ_RING_BASE && i < sizeof(ring_regs) / sizeof(ring_regs[0]);
	     i++) {
		uint64_t q = (off - LIQ_RING_BASE) / LIQ_RING_STRIDE;
		uint64_t in_ring = (off - LIQ_RING_BASE) % LIQ_RING_STRIDE;

		if (in_ring >= ring_regs[i].off && in_ring < ring_regs[i].off + 8u)
			return put_name(text, size, "ring", (unsigned int)q, ring_regs[i].name,
					(unsigned int)(in_ring - ring_regs[i].off));
	}
	return snprintf(text, size, "0x%llx", (unsigned long long)off);
}

int
liqm_access_format(const struct liqm_access *access, char *text, size_t size)
{
	static const char *const resets[] = {"cold", "bus", "FLR"};
	char where[64];
	char space[16];

	if (access->kind == LIQM_ACCESS_RESET)
		return snprintf(text, size, "fn%u RESET %s", access->fn_index,
				access->value < 3 ? resets[access->value] : "?");
	if (access->kind == LIQM_ACCESS_BAR) {
		snprintf(space, sizeof(space), "BAR%u", access->bar);
		if (access->bar == LIQ_BAR_CSR)
			reg_name(access->off, where, sizeof(where));
		else
			snprintf(where, sizeof(where), "0x%llx", (unsigned long long)access->off);
	} else {
		snprintf(space, sizeof(space), "CFG");
		snprintf(where, sizeof(where), "0x%03llx", (unsigned long long)access->off);
	}
	return snprintf(text, size, "fn%u %s %c %s /%u = 0x%llx", access->fn_index, space,
			access->is_write ? 'W' : 'R', where, access->len,
			(unsigned long long)access->value);
}
