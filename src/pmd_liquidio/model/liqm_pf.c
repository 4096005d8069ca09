/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: what only a PF sees.
 *
 * The global registers of BAR0 by table, the window to chip registers behind them, card memory
 * in BAR2, chip reset.  Without PF functions the registers still exist inside and
 * hold what the PF driver, here part of the model, would have written.
 *
 * Not modelled: loading firmware.  Card memory holds 1 MiB in which the boot loader's command
 * area belongs to the host; commands put there are not executed.
 */
#include "liqm_priv.h"

#include <string.h>

#define WIN_ADDR_MASK    (~((uint64_t)LIQ_WIN_RD_HI_FLAG << 32))
#define GREG(port, name) ((port)->greg[LIQM_GREG_##name][0])

struct greg_row {
	uint32_t off, n, stride;
	enum liq_access access;
	uint64_t reset;
};

#define GREG_ROW(name, off, bytes, acc, n, stride, reset) {off, n, stride, LIQ_ACC_##acc, reset},
static const struct greg_row rows[LIQM_N_GREGS] = {LIQ_GLOBAL_REG_TABLE(GREG_ROW)};

static bool
find(uint64_t off, unsigned int *reg, unsigned int *k)
{
	for (unsigned int i = 0; i < LIQM_N_GREGS; i++) {
		for (unsigned int n = 0; n < rows[i].n; n++) {
			if (off == rows[i].off + n * rows[i].stride) {
				*reg = i;
				*k = n;
				return true;
			}
		}
	}
	return false;
}

/* Registers of a PF as its reset leaves them.  What belongs to the chip stays. */
void
liqm_pf_power_on(struct liqm_port *port)
{
	const struct liqm_card_cfg *cfg = &port->card->cfg;
	uint64_t srn = (uint64_t)port->index * LIQ_PF_MAX_RINGS;

	for (unsigned int i = 0; i < LIQM_N_GREGS; i++) {
		for (unsigned int k = 0; k < rows[i].n; k++)
			port->greg[i][k] = rows[i].reset;
	}
	memset(port->bar1_index, 0, sizeof(port->bar1_index));
	port->told = 0;
	port->core_active_due = false;
	/* A PF that cannot read its number from config space looks for TRS = 1 here. */
	port->greg[LIQM_GREG_RINFO][port->index] =
		liq_put(LIQ_RINFO_SRN, srn) | liq_put(LIQ_RINFO_TRS, 1);
	if (cfg->n_pf != 0)
		return;
	port->greg[LIQM_GREG_RINFO][port->index] =
		liq_put(LIQ_RINFO_SRN, srn) |
		liq_put(LIQ_RINFO_TRS, (uint64_t)cfg->n_vf * cfg->rings_per_vf) |
		liq_put(LIQ_RINFO_RPVF, cfg->rings_per_vf) | liq_put(LIQ_RINFO_NVFS, cfg->n_vf);
	GREG(port, IN_JABBER) = LIQ_IN_JABBER_MAX;
	GREG(port, OQ_WMARK) = LIQ_OQ_WMARK_DEFAULT;
}

/* ---- chip registers behind the window ---- */

static void
chip_reset(struct liqm_card *card)
{
	liqm_log(card, LIQM_LOG_INFO, "%s: chip reset", card->name);
	for (unsigned int p = 0; p < card->n_ports; p++) {
		if (card->port[p].pf)
			liqm_engine_reset(card->port[p].pf);
	}
	card->scratch[0] = 0;
	card->scratch[1] = 0;
	card->boot_at_ns = card->now_ns + card->cfg.boot_ns;
}

static unsigned int
bar1_window(uint64_t addr)
{
	for (unsigned int port = 0; port < 4; port++) {
		for (unsigned int i = 0; i < LIQ_DRAM_N_WINDOWS; i++) {
			if (addr == LIQ_WIN_BAR1_INDEX(port, i))
				return i;
		}
	}
	return LIQ_DRAM_N_WINDOWS;
}

static uint64_t
window_read(struct liqm_fn *fn, uint64_t addr)
{
	unsigned int i;

	addr &= WIN_ADDR_MASK;
	i = bar1_window(addr);
	if (i < LIQ_DRAM_N_WINDOWS)
		return fn->port->bar1_index[i];
	switch (addr) {
	case LIQ_WIN_RST_BOOT:
		return liq_put(LIQ_WIN_RST_BOOT_MUL, fn->card->cfg.coproc_mhz / 50);
	case LIQ_WIN_RST_SOFT:
		return 0;
	case LIQ_WIN_LMC0_RESET:
		return 1; /* memory is out of reset */
	default:
		fn->n[LIQM_N_reg_unknown]++;
		return 0;
	}
}

static void
window_write(struct liqm_fn *fn, uint64_t addr, uint64_t value)
{
	unsigned int i;

	addr &= WIN_ADDR_MASK;
	i = bar1_window(addr);
	if (i < LIQ_DRAM_N_WINDOWS)
		fn->port->bar1_index[i] = value & 0xFFFFFF;
	else if (addr == LIQ_WIN_RST_SOFT && (value & 1))
		chip_reset(fn->card);
	else if (addr != LIQ_WIN_RST_SOFT)
		fn->n[LIQM_N_reg_unknown]++;
}

/* ---- global registers ---- */

static uint64_t
rings_in_reset(const struct liqm_port *port)
{
	uint64_t mask = 0;

	for (unsigned int q = 0; q < LIQ_PF_MAX_RINGS; q++) {
		if (port->ring[q].in_ctl & LIQ_IN_CTL_RST)
			mask |= UINT64_C(1) << q;
	}
	return mask;
}

static uint64_t
rings_due(const struct liqm_port *port)
{
	uint64_t mask = 0;

	for (uint64_t live = port->live; live != 0; live &= live - 1) {
		unsigned int q = (unsigned int)__builtin_ctzll(live);

		if (liqm_irq_causes(port, q) & LIQM_CAUSE_PO)
			mask |= UINT64_C(1) << q;
	}
	return mask;
}

uint64_t
liqm_pf_read(struct liqm_fn *fn, uint64_t off, bool *known)
{
	struct liqm_port *port = fn->port;
	unsigned int reg, k;

	*known = find(off, &reg, &k);
	if (!*known)
		return 0;
	switch (reg) {
	case LIQM_GREG_SCRATCH1:
		return fn->card->scratch[0];
	case LIQM_GREG_SCRATCH2:
		return fn->card->scratch[1];
	case LIQM_GREG_RING_RST:
		return rings_in_reset(port);
	case LIQM_GREG_PKT_CNT_INT:
	case LIQM_GREG_PKT_INT:
		return rings_due(port);
	default:
		return port->greg[reg][k];
	}
}

static void
write_cmd(struct liqm_fn *fn, unsigned int reg, unsigned int k, uint64_t value, unsigned int halves)
{
	struct liqm_port *port = fn->port;
	uint64_t mask = (halves & LIQM_LOW ? UINT64_C(0xFFFFFFFF) : 0) |
			(halves & LIQM_HIGH ? UINT64_C(0xFFFFFFFF00000000) : 0);
	uint64_t merged = (port->greg[reg][k] & ~mask) | (value & mask);

	switch (reg) {
	case LIQM_GREG_SCRATCH1:
	case LIQM_GREG_SCRATCH2:
		k = reg == LIQM_GREG_SCRATCH2;
		fn->card->scratch[k] = (fn->card->scratch[k] & ~mask) | (value & mask);
		break;
	case LIQM_GREG_RINFO:
		port->greg[reg][k] = merged & (liq_mask(LIQ_RINFO_SRN) | liq_mask(LIQ_RINFO_TRS) |
					       liq_mask(LIQ_RINFO_RPVF) | liq_mask(LIQ_RINFO_NVFS));
		break;
	case LIQM_GREG_WIN_RD_ADDR:
		port->greg[reg][0] = merged;
		if (halves & LIQM_LOW)
			GREG(port, WIN_RD_DATA) = window_read(fn, merged);
		break;
	default: /* WIN_WR_DATA */
		port->greg[reg][0] = merged;
		if (halves & LIQM_LOW)
			window_write(fn, GREG(port, WIN_WR_ADDR), merged);
		break;
	}
}

bool
liqm_pf_write(struct liqm_fn *fn, uint64_t off, uint64_t value, unsigned int halves)
{
	struct liqm_port *port = fn->port;
	uint64_t mask = (halves & LIQM_LOW ? UINT64_C(0xFFFFFFFF) : 0) |
			(halves & LIQM_HIGH ? UINT64_C(0xFFFFFFFF00000000) : 0);
	unsigned int reg, k;
	uint64_t *word;

	if (!find(off, &reg, &k))
		return false;
	word = &port->greg[reg][k];
	switch (rows[reg].access) {
	case LIQ_ACC_RW:
		*word = (*word & ~mask) | (value & mask);
		break;
	case LIQ_ACC_W1S:
		*word |= value & mask;
		break;
	case LIQ_ACC_W1C:
		*word &= ~(value & mask);
		/* clear registers of the backpressure pair act on the set registers */
		if (reg == LIQM_GREG_BP_EN_W1C)
			GREG(port, BP_EN_W1S) &= ~(value & mask);
		else if (reg == LIQM_GREG_BP_EN2_W1C)
			GREG(port, BP_EN2_W1S) &= ~(value & mask);
		liqm_irq_sum(port, 0);
		break;
	case LIQ_ACC_CMD:
		write_cmd(fn, reg, k, value, halves);
		break;
	default:
		fn->n[LIQM_N_reg_ro_write]++;
		break;
	}
	if (reg == LIQM_GREG_INT_ENB)
		liqm_irq_sum(port, 0);
	return true;
}

/* ---- card memory, BAR2 ---- */

static uint8_t *
dram_at(struct liqm_fn *fn, uint64_t off, unsigned int len)
{
	uint64_t entry = fn->port->bar1_index[(off >> LIQ_DRAM_WINDOW_SHIFT) % LIQ_DRAM_N_WINDOWS];
	uint64_t addr = liq_get(entry, LIQ_BAR1_INDEX_ADDR) << LIQ_DRAM_WINDOW_SHIFT |
			(off & ((UINT64_C(1) << LIQ_DRAM_WINDOW_SHIFT) - 1));

	if (!(entry & LIQ_BAR1_INDEX_VALID) || addr > LIQM_DRAM_BYTES - len) {
		fn->n[LIQM_N_reg_unknown]++;
		return NULL;
	}
	return fn->card->dram + addr;
}

uint64_t
liqm_dram_read(struct liqm_fn *fn, uint64_t off, unsigned int len)
{
	const uint8_t *at = dram_at(fn, off, len);
	uint64_t value = 0;

	if (at)
		memcpy(&value, at, len);
	return value;
}

void
liqm_dram_write(struct liqm_fn *fn, uint64_t off, uint64_t value, unsigned int len)
{
	uint8_t *at = dram_at(fn, off, len);

	if (at)
		memcpy(at, &value, len);
}
