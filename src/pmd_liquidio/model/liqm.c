/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: the card, its life, its time and its turn of work.
 *
 * liqm_run() is the heart: it lets every part do what is due, and is called at the end of each
 * access (liqm_reg.c, liqm_cfg.c) and by the carrier through liqm_card_tick().  It never
 * waits; what has to happen later is an event (liqm_event.c) or a time that
 * liqm_card_next_ns() reports.
 *
 * All DMA of the model goes through liqm_dma_read() and liqm_dma_write() here: addresses are
 * numbers, what they mean is known to the function's carrier alone.
 */
#include "liqm_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPINS_BEFORE_YIELD 100

static uint64_t next_ns(struct liqm_card *card);

void
liqm_lock(struct liqm_card *card)
{
	unsigned int spins = 0;

	while (atomic_flag_test_and_set_explicit(&card->lock, memory_order_acquire)) {
		if (++spins % SPINS_BEFORE_YIELD == 0)
			sched_yield();
	}
	if (card->cfg.svc.clock_ns) {
		uint64_t now = card->cfg.svc.clock_ns(card->cfg.svc.ctx);

		if (now > card->now_ns)
			card->now_ns = now;
	}
}

static void
release(struct liqm_card *card)
{
	atomic_flag_clear_explicit(&card->lock, memory_order_release);
}

void
liqm_unlock(struct liqm_card *card)
{
	/* Whatever was done under the lock may have brought the next due time forward. */
	if (atomic_load_explicit(&card->asleep, memory_order_relaxed) &&
	    next_ns(card) < card->told_ns)
		liqm_wake(card);
	release(card);
}

static void
wake_lock(struct liqm_card *card)
{
	while (atomic_flag_test_and_set_explicit(&card->wake_lock, memory_order_acquire))
		sched_yield();
}

static void
wake_unlock(struct liqm_card *card)
{
	atomic_flag_clear_explicit(&card->wake_lock, memory_order_release);
}

void
liqm_wake(struct liqm_card *card)
{
	/* The load keeps the line shared while nobody sleeps. */
	if (!atomic_load(&card->asleep) || !atomic_exchange(&card->asleep, false))
		return;
	wake_lock(card);
	if (card->wake)
		card->wake(card->wake_ctx);
	wake_unlock(card);
}

void
liqm_log(struct liqm_card *card, enum liqm_log_level level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!card->cfg.svc.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	card->cfg.svc.log(card->cfg.svc.ctx, level, text);
}

/* splitmix64: every state is a good one, so that any seed will do. */
uint64_t
liqm_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

bool
liqm_chance(uint64_t *state, uint32_t ppm)
{
	if (ppm == 0)
		return false;
	return liqm_random(state) % 1000000 < ppm;
}

/* ---- services ---- */

bool
liqm_dma_read(struct liqm_fn *fn, uint64_t iova, void *dst, size_t len)
{
	if (!liqm_fault(fn, LIQM_FAULT_DMA_ERR, LIQM_ANY, NULL) && fn->svc.dma_read &&
	    iova + len >= iova && fn->svc.dma_read(fn->svc.ctx, iova, dst, len))
		return true;
	memset(dst, 0xFF, len);
	fn->n[LIQM_N_dma_read_err]++;
	return false;
}

bool
liqm_dma_write(struct liqm_fn *fn, uint64_t iova, const void *src, size_t len)
{
	if (!liqm_fault(fn, LIQM_FAULT_DMA_ERR, LIQM_ANY, NULL) && fn->svc.dma_write &&
	    iova + len >= iova && fn->svc.dma_write(fn->svc.ctx, iova, src, len))
		return true;
	fn->n[LIQM_N_dma_write_err]++;
	return false;
}

void
liqm_observe(struct liqm_fn *fn, const struct liqm_access *access)
{
	if (access->kind != LIQM_ACCESS_RESET)
		fn->n[LIQM_N_accesses]++;
	if (fn->observer)
		fn->observer(fn->observer_ctx, access);
}

/* ---- a turn of work ---- */

static void
boot(struct liqm_card *card)
{
	card->boot_at_ns = LIQM_NEVER;
	card->scratch[1] |= LIQ_SCRATCH2_LOADED;
	liqm_log(card, LIQM_LOG_INFO, "%s: firmware %s runs", card->name, card->fw_version);
	for (unsigned int p = 0; p < card->n_ports; p++)
		card->port[p].core_active_due = card->port[p].pf != NULL;
}

static void
run_port(struct liqm_port *port)
{
	struct liqm_card *card = port->card;

	if (port->flap_until_ns != 0 && card->now_ns >= port->flap_until_ns) {
		port->flap_until_ns = 0;
		liqm_fw_link_changed(port);
	}
	for (unsigned int i = 0; i < port->n_vf && !port->pf; i++)
		liqm_mbox_run(port->vf[i]);
	for (uint64_t live = port->live; live != 0; live &= live - 1)
		liqm_iq_run(port, (unsigned int)__builtin_ctzll(live));
	liqm_fw_notices(port);
	liqm_wire_run(port);
	liqm_rx_run(port);
	liqm_irq_run(port);
}

void
liqm_run(struct liqm_card *card)
{
	card->touched = false;
	if (card->now_ns >= card->boot_at_ns)
		boot(card);
	liqm_events_run(card);
	for (unsigned int p = 0; p < card->n_ports; p++)
		run_port(&card->port[p]);
}

void
liqm_written(struct liqm_card *card)
{
	if (card->cfg.manual_step)
		card->touched = true;
	else
		liqm_run(card);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
iq_next_ns(struct liqm_port *port)
{
	uint64_t at = LIQM_NEVER;

	for (uint64_t live = liqm_fw_running(port->card) ? port->live : 0; live != 0;
	     live &= live - 1) {
		unsigned int q = (unsigned int)__builtin_ctzll(live), index;
		const struct liqm_ring *r = &port->ring[q];

		if (!liqm_ring_owner(port, q, &index) || !(r->in_ctl & LIQ_IN_CTL_ENB) ||
		    r->in_pending == 0 || r->in_stuck)
			continue;
		at = earlier(at, r->in_paused_until_ns);
	}
	if (at != LIQM_NEVER && liqm_wire_busy(port) && at < port->wire.free_at_ns)
		at = port->wire.free_at_ns;
	return at;
}

static uint64_t
next_ns(struct liqm_card *card)
{
	uint64_t at = earlier(liqm_events_next_ns(card), card->boot_at_ns);

	if (card->touched)
		return 0;
	for (unsigned int p = 0; p < card->n_ports; p++) {
		struct liqm_port *port = &card->port[p];

		at = earlier(at, iq_next_ns(port));
		at = earlier(at, liqm_irq_next_ns(port));
		at = earlier(at, liqm_wire_next_ns(port));
		if (port->flap_until_ns != 0)
			at = earlier(at, port->flap_until_ns);
		if (liqm_fw_notice_due(port))
			at = 0;
		for (unsigned int i = 0; i < port->n_vf && !port->pf; i++)
			at = earlier(at, liqm_mbox_next_ns(port->vf[i]));
	}
	return at <= card->now_ns ? 0 : at;
}

void
liqm_card_tick(struct liqm_card *card)
{
	liqm_lock(card);
	liqm_run(card);
	liqm_unlock(card);
}

uint64_t
liqm_card_next_ns(struct liqm_card *card)
{
	uint64_t at;

	liqm_lock(card);
	/*
	 * First the mark, then the look at the wire; a producer puts the frame there first and
	 * then looks at the mark.  All four are sequentially consistent: one sees the other.
	 */
	if (card->wake)
		atomic_store(&card->asleep, true);
	at = next_ns(card);
	card->told_ns = at;
	if (at == 0) /* nobody goes to sleep on that */
		atomic_store_explicit(&card->asleep, false, memory_order_relaxed);
	release(card);
	return at;
}

int
liqm_card_on_wake(struct liqm_card *card, liqm_wake_fn wake, void *ctx)
{
	int ret = 0;

	liqm_lock(card);
	wake_lock(card);
	if (wake && card->wake) {
		ret = -EBUSY;
	} else {
		atomic_store(&card->asleep, false);
		card->wake = wake;
		card->wake_ctx = ctx;
	}
	wake_unlock(card);
	release(card);
	return ret;
}

uint64_t
liqm_card_now_ns(struct liqm_card *card)
{
	uint64_t now;

	liqm_lock(card);
	now = card->now_ns;
	liqm_unlock(card);
	return now;
}

void
liqm_card_advance(struct liqm_card *card, uint64_t ns)
{
	uint64_t end;

	liqm_lock(card);
	end = card->now_ns + ns;
	while (!card->cfg.svc.clock_ns) {
		uint64_t at;

		liqm_run(card);
		at = next_ns(card);
		if (at > end || card->now_ns >= end)
			break;
		/* Work that waits although it is due is tried again a little later. */
		card->now_ns =
			at > card->now_ns ? at : earlier(end, card->now_ns + 1000 + ns / 1000);
	}
	if (!card->cfg.svc.clock_ns && card->now_ns < end) {
		card->now_ns = end;
		liqm_run(card);
	}
	liqm_unlock(card);
}

/* ---- reset ---- */

static void
reset_rings(struct liqm_port *port, unsigned int first, unsigned int n)
{
	for (unsigned int q = first; q < first + n; q++) {
		liqm_ring_power_on(port, q);
		if (port->card->cfg.rst_at_flr)
			port->ring[q].in_ctl |= LIQ_IN_CTL_RST | LIQ_IN_CTL_QUIET;
	}
}

static void
reset_interface(struct liqm_fn *fn)
{
	liqm_events_drop(fn->card, fn, LIQM_ANY);
	liqm_if_flr(fn);
	liqm_mbox_power_on(fn);
}

/* Queues, interface and mailbox of one function; a PF takes its VFs along. */
void
liqm_engine_reset(struct liqm_fn *fn)
{
	struct liqm_port *port = fn->port;

	reset_interface(fn);
	if (fn->vf_num != 0) {
		reset_rings(port, liqm_fn_first_ring(fn), liqm_fn_n_rings(fn));
		return;
	}
	for (unsigned int i = 0; i < port->n_vf; i++) {
		reset_interface(port->vf[i]);
		port->vf[i]->nif.notice_due = 0; /* nobody is left to be told */
	}
	liqm_pf_power_on(port); /* takes the rings from the VFs */
	reset_rings(port, 0, LIQ_PF_MAX_RINGS);
}

void
liqm_flr(struct liqm_fn *fn)
{
	fn->n[LIQM_N_flr]++;
	liqm_engine_reset(fn);
	liqm_cfg_power_on(fn);
	memset(fn->msix_table, 0, sizeof(fn->msix_table));
}

void
liqm_fn_reset(struct liqm_fn *fn, enum liqm_reset kind)
{
	struct liqm_card *card = fn->card;

	liqm_lock(card);
	liqm_observe(fn, &(struct liqm_access){
				 .time_ns = card->now_ns,
				 .fn_index = fn->index,
				 .kind = LIQM_ACCESS_RESET,
				 .is_write = true,
				 .value = kind,
			 });
	liqm_flr(fn);
	if (kind == LIQM_RESET_COLD)
		liqm_if_power_on(fn);
	liqm_unlock(card);
}

/* ---- birth and death ---- */

void
liqm_card_cfg_default(struct liqm_card_cfg *cfg)
{
	*cfg = (struct liqm_card_cfg){
		.name = "liquidio",
		.n_vf = 1,
		.rings_per_vf = 1,
		.revision = 0x02, /* every driver takes it for a late pass */
		.subsys_id = 0x0004,
		.fw_version = "1.7.2",
		.mac = {0x02, 0x00, 0x00, 0x23, 0x00, 0x00},
		.speed_mbps = 10000,
		.max_mtu = 9600,
		.coproc_mhz = 1000,
		.pkind = 40,
		.trusted_vf = 1,
		.access_ns = 1000,
		.mbox_delay_ns = 2000000,
		.boot_ns = 1000000000,
		.rx_hold_ns = 2000000,
		.seed = 1,
	};
}

static const char *
cfg_fault(const struct liqm_card_cfg *cfg)
{
	if (cfg->n_pf > LIQM_MAX_PORTS)
		return "n_pf: 0 to 2";
	if (cfg->n_vf > LIQM_MAX_VFS || (cfg->n_pf == 0 && cfg->n_vf == 0))
		return "n_vf: 1 to 63, or 0 beside a PF";
	if (cfg->rings_per_vf < 1 || cfg->rings_per_vf > LIQ_VF_MAX_RINGS)
		return "rings_per_vf: 1 to 8";
	if (cfg->n_pf == 0 && cfg->n_vf * cfg->rings_per_vf > LIQ_PF_MAX_RINGS)
		return "n_vf: at most 64 rings in all";
	if (cfg->subsys_id < LIQ_PCI_SUBSYS_FIRST || cfg->subsys_id > LIQ_PCI_SUBSYS_LAST)
		return "subsys_id: 0x0003 to 0x000b";
	if (!cfg->fw_version || strlen(cfg->fw_version) >= LIQ_FW_VERSION_LEN)
		return "fw_version: up to 31 characters";
	if (cfg->mac[0] & 1)
		return "mac: a unicast address";
	if (cfg->speed_mbps != 10000 && cfg->speed_mbps != 25000)
		return "speed_mbps: 10000 or 25000";
	if (cfg->max_mtu < LIQ_MTU_MIN || cfg->max_mtu > LIQ_MTU_MAX)
		return "max_mtu: 68 to 16000";
	if (cfg->coproc_mhz == 0 || cfg->coproc_mhz % 50 != 0 || cfg->coproc_mhz > 63 * 50)
		return "coproc_mhz: a multiple of 50 up to 3150";
	if (cfg->pkind > 63)
		return "pkind: 0 to 63";
	if (cfg->trusted_vf > cfg->n_vf)
		return "trusted_vf: 0 to n_vf";
	return NULL;
}

static void
init_fn(struct liqm_card *card, unsigned int index, struct liqm_port *port, unsigned int vf_num)
{
	struct liqm_fn *fn = &card->fn[index];
	uint64_t mac = 0;

	fn->card = card;
	fn->port = port;
	fn->index = index;
	fn->vf_num = vf_num;
	for (int i = 0; i < 6; i++)
		mac = mac << 8 | card->cfg.mac[i];
	mac += index;
	for (int i = 0; i < 6; i++)
		fn->nif.mac_factory[i] = (uint8_t)(mac >> (40 - 8 * i));
	if (vf_num == 0)
		port->pf = fn;
	else
		port->vf[vf_num - 1] = fn;
}

static void
init_fns(struct liqm_card *card)
{
	unsigned int index = 0;

	for (unsigned int p = 0; p < card->cfg.n_pf; p++)
		init_fn(card, index++, &card->port[p], 0);
	for (unsigned int p = 0; p < card->n_ports; p++) {
		for (unsigned int v = 1; v <= card->cfg.n_vf; v++)
			init_fn(card, index++, &card->port[p], v);
	}
}

int
liqm_card_create(const struct liqm_card_cfg *cfg, struct liqm_card **out)
{
	const char *wrong = cfg_fault(cfg);
	struct liqm_card *card;

	if (wrong) {
		if (cfg->svc.log)
			cfg->svc.log(cfg->svc.ctx, LIQM_LOG_ERR, wrong);
		return -EINVAL;
	}
	card = calloc(1, sizeof(*card));
	if (!card)
		return -ENOMEM;
	atomic_flag_clear(&card->lock);
	atomic_flag_clear(&card->wake_lock);
	card->cfg = *cfg;
	snprintf(card->name, sizeof(card->name), "%s", cfg->name ? cfg->name : "liquidio");
	snprintf(card->fw_version, sizeof(card->fw_version), "%s", cfg->fw_version);
	card->cfg.name = card->name;
	card->cfg.fw_version = card->fw_version;
	card->rng = cfg->seed;
	card->boot_at_ns = LIQM_NEVER;
	card->scratch[1] = LIQ_SCRATCH2_LOADED;
	card->n_ports = cfg->n_pf ? cfg->n_pf : 1;
	card->n_fns = cfg->n_pf + card->n_ports * cfg->n_vf;
	card->fn = calloc(card->n_fns, sizeof(*card->fn));
	if (!card->fn)
		goto free_card;
	if (cfg->n_pf != 0) {
		card->dram = calloc(1, LIQM_DRAM_BYTES);
		if (!card->dram)
			goto free_fns;
		card->dram[0x6C003] = 2; /* the boot loader's command area is the host's */
	}
	for (unsigned int p = 0; p < card->n_ports; p++) {
		struct liqm_port *port = &card->port[p];

		port->card = card;
		port->index = p;
		port->n_vf = cfg->n_vf;
		port->link_up = !cfg->link_down;
		port->mtu_limit = cfg->max_mtu;
		if (liqm_wire_init(port) < 0)
			goto free_wires;
	}
	init_fns(card);
	for (unsigned int p = 0; p < card->n_ports; p++) {
		liqm_pf_power_on(&card->port[p]);
		for (unsigned int q = 0; q < LIQ_PF_MAX_RINGS; q++)
			liqm_ring_power_on(&card->port[p], q);
	}
	for (unsigned int i = 0; i < card->n_fns; i++) {
		liqm_if_power_on(&card->fn[i]);
		liqm_mbox_power_on(&card->fn[i]);
		liqm_cfg_power_on(&card->fn[i]);
	}
	*out = card;
	return 0;

free_wires:
	for (unsigned int p = 0; p < card->n_ports; p++)
		liqm_wire_fini(&card->port[p]);
	free(card->dram);
free_fns:
	free(card->fn);
free_card:
	free(card);
	return -ENOMEM;
}

void
liqm_card_destroy(struct liqm_card *card)
{
	if (!card)
		return;
	for (unsigned int p = 0; p < card->n_ports; p++)
		liqm_wire_fini(&card->port[p]);
	liqm_events_drop(card, NULL, LIQM_ANY);
	free(card->dram);
	free(card->fn);
	free(card);
}

/* ---- functions ---- */

unsigned int
liqm_card_n_fns(const struct liqm_card *card)
{
	return card->n_fns;
}

struct liqm_fn *
liqm_card_fn(struct liqm_card *card, unsigned int index)
{
	return index < card->n_fns ? &card->fn[index] : NULL;
}

struct liqm_fn *
liqm_card_pf(struct liqm_card *card, unsigned int port)
{
	return port < card->n_ports ? card->port[port].pf : NULL;
}

struct liqm_fn *
liqm_card_vf(struct liqm_card *card, unsigned int port, unsigned int vf)
{
	if (port >= card->n_ports || vf >= card->port[port].n_vf)
		return NULL;
	return card->port[port].vf[vf];
}

void
liqm_fn_attach(struct liqm_fn *fn, const struct liqm_fn_services *svc)
{
	liqm_lock(fn->card);
	if (svc)
		fn->svc = *svc;
	else
		memset(&fn->svc, 0, sizeof(fn->svc));
	liqm_unlock(fn->card);
}

void
liqm_fn_observe(struct liqm_fn *fn, liqm_observer_fn observer, void *ctx)
{
	liqm_lock(fn->card);
	fn->observer = observer;
	fn->observer_ctx = ctx;
	liqm_unlock(fn->card);
}

/* ---- counters ---- */

uint64_t
liqm_counter(const struct liqm_fn *fn, enum liqm_counter which)
{
	uint64_t n = 0;

	if ((unsigned int)which < LIQM_N_COUNTERS) {
		liqm_lock(fn->card);
		n = fn->n[which];
		liqm_unlock(fn->card);
	}
	return n;
}

#define COUNTER_NAME(name, text) #name,
#define COUNTER_TEXT(name, text) text,

const char *
liqm_counter_name(enum liqm_counter which)
{
	static const char *const names[] = {LIQM_COUNTERS(COUNTER_NAME)};

	return (unsigned int)which < LIQM_N_COUNTERS ? names[which] : NULL;
}

const char *
liqm_counter_text(enum liqm_counter which)
{
	static const char *const texts[] = {LIQM_COUNTERS(COUNTER_TEXT)};

	return (unsigned int)which < LIQM_N_COUNTERS ? texts[which] : NULL;
}
