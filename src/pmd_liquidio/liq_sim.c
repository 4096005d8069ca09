/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards of the device model in this process.  See liq_sim.h.
 *
 * DMA: the model never sees a pointer.  What it asks for is looked up page by page in EAL's memory
 * map, in either IOVA mode; what is not there is refused.
 */
#include "liq_sim.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <rte_pause.h>

#include "liq_log.h"
#include "liq_thread.h"
#include "liq_wire.h"
#include "liqm_service.h"
#include "liqm_thread.h"

#define TICK_NS      1000000
#define PORT_HOLD_NS (500 * WEIR_NS_PER_MS) /* frames wait so long for receive buffers */
#define N_PAGES      64u                    /* remembered translations of a function */

struct page {
	uint64_t iova;
	uint64_t len; /* 0: nothing here */
	uint8_t *addr;
};

struct sim_card {
	struct sim_card *next;
	char name[LIQ_SIM_NAME_SIZE]; /* empty: nobody else's */
	struct liqm_card *card;
	unsigned int n_open;
	uint64_t taken; /* functions of the card that are open */
	bool has_pf;
	enum liq_sim_drive drive;
	char pair[LIQ_SIM_NAME_SIZE]; /* empty: none */
	struct liq_wire *wire;
	struct liqm_thread *thread; /* async: does all the work */
	struct liqm_service *service;
	pthread_t ticker;
	bool ticking;
	_Atomic bool stop;
};

struct sim_fn {
	struct sim_card *card;
	struct liqm_fn *fn;
	unsigned int index;
	/* DMA: of whoever holds the card's lock */
	unsigned int generation;
	struct page page[N_PAGES];
};

static pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim_card *cards;

/* ---- DMA ---- */

/* Raised whenever EAL takes memory away: what was remembered is forgotten. */
static _Atomic unsigned int map_generation = 1;

static void
map_changed(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
	(void)addr;
	(void)len;
	(void)arg;
	if (event == RTE_MEM_EVENT_FREE)
		atomic_fetch_add(&map_generation, 1);
}

static bool
look_up(uint64_t iova, struct page *page)
{
	void *addr = rte_eal_iova_mode() == RTE_IOVA_VA ? (void *)(uintptr_t)iova
							: rte_mem_iova2virt(iova);
	const struct rte_memseg *ms = addr ? rte_mem_virt2memseg(addr, NULL) : NULL;

	if (!ms || ms->len == 0 || iova < ms->iova || iova - ms->iova >= ms->len)
		return false;
	*page = (struct page){.iova = ms->iova, .len = ms->len, .addr = ms->addr};
	return true;
}

/* Where the bytes at iova are, and how many of them lie together; NULL: not mapped. */
static uint8_t *
translate(struct sim_fn *f, uint64_t iova, size_t *len)
{
	unsigned int generation = atomic_load_explicit(&map_generation, memory_order_acquire);
	/* small pages as well as huge ones spread over the table */
	struct page *page = &f->page[((iova >> 12) ^ (iova >> 21)) % N_PAGES];

	if (f->generation != generation) {
		memset(f->page, 0, sizeof(f->page));
		f->generation = generation;
	}
	if (iova - page->iova >= page->len && !look_up(iova, page))
		return NULL;
	if (*len > page->len - (iova - page->iova))
		*len = page->len - (iova - page->iova);
	return page->addr + (iova - page->iova);
}

static bool
dma_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	uint8_t *to = dst;

	while (len != 0) {
		size_t n = len;
		const uint8_t *from = translate(ctx, iova, &n);

		if (!from)
			return false;
		memcpy(to, from, n);
		to += n;
		iova += n;
		len -= n;
	}
	return true;
}

static bool
dma_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	const uint8_t *from = src;

	while (len != 0) {
		size_t n = len;
		uint8_t *to = translate(ctx, iova, &n);

		if (!to)
			return false;
		memcpy(to, from, n);
		from += n;
		iova += n;
		len -= n;
	}
	return true;
}

/* ---- the seam ---- */

static uint64_t
io_read(void *ctx, uint32_t off, unsigned int len)
{
	const struct sim_fn *f = ctx;

	return liqm_bar_read(f->fn, LIQ_BAR_CSR, off, len);
}

static void
io_write(void *ctx, uint32_t off, uint64_t value, unsigned int len)
{
	const struct sim_fn *f = ctx;

	liqm_bar_write(f->fn, LIQ_BAR_CSR, off, value, len);
}

static int
io_cfg_read(void *ctx, uint32_t off, uint32_t *value, unsigned int len)
{
	const struct sim_fn *f = ctx;

	*value = 0;
	liqm_cfg_read(f->fn, off, value, len);
	return 0;
}

static int
io_cfg_write(void *ctx, uint32_t off, uint32_t value, unsigned int len)
{
	const struct sim_fn *f = ctx;

	liqm_cfg_write(f->fn, off, &value, len);
	return 0;
}

static int
io_set_dma(void *ctx, bool on)
{
	struct sim_fn *f = ctx;
	const struct liqm_fn_services svc = {
		.ctx = f,
		.dma_read = dma_read,
		.dma_write = dma_write,
	};

	liqm_fn_attach(f->fn, on ? &svc : NULL);
	return 0;
}

static int
io_flr(void *ctx)
{
	const struct sim_fn *f = ctx;

	liqm_fn_reset(f->fn, LIQM_RESET_FLR);
	return 0;
}

static int
io_start(void *ctx)
{
	const struct sim_fn *f = ctx;

	return f->card->wire ? liq_wire_open(f->card->wire) : 0;
}

static void (*on_idle)(void *arg);
static void *on_idle_arg;

void
liq_sim_on_idle(void (*idle)(void *arg), void *arg)
{
	on_idle = idle;
	on_idle_arg = arg;
}

static void
io_idle(void *ctx, uint64_t waited_ns)
{
	const struct sim_fn *f = ctx;

	if (on_idle)
		on_idle(on_idle_arg);

	if (f->card->drive != LIQ_SIM_ASYNC)
		liqm_card_tick(f->card->card);
	/* inline, time may be a test's: it moves by being read */
	if (f->card->drive != LIQ_SIM_INLINE && waited_ns > 20 * WEIR_NS_PER_US)
		rte_delay_us_sleep(20);
}

static void
io_wire_stats(void *ctx, uint64_t values[LIQ_N_WIRE])
{
	const struct sim_fn *f = ctx;
	struct liq_wire_stats port = {0};
	struct liqm_wire_stats s;

	liqm_wire_stats_get(f->card->card, 0, &s);
	if (f->card->wire)
		liq_wire_stats_get(f->card->wire, &port);
	values[LIQ_WIRE_N_out] = s.n_out;
	values[LIQ_WIRE_N_in] = s.n_in;
	values[LIQ_WIRE_N_in_full] = s.n_in_full;
	values[LIQ_WIRE_N_in_unclaimed] = s.n_in_unclaimed;
	values[LIQ_WIRE_N_unplugged] = s.n_unplugged;
	values[LIQ_WIRE_N_lost] = s.n_lost;
	values[LIQ_WIRE_N_duplicated] = s.n_duplicated;
	values[LIQ_WIRE_N_reordered] = s.n_reordered;
	values[LIQ_WIRE_N_corrupted] = s.n_corrupted;
	values[LIQ_WIRE_N_port_out_full] = port.n_out_full;
	values[LIQ_WIRE_N_port_out_nombuf] = port.n_out_nombuf;
	values[LIQ_WIRE_N_port_in_full] = port.n_in_full;
	values[LIQ_WIRE_N_port_in_bad] = port.n_in_bad;
}

static void io_close(void *ctx);

static const struct liq_io_ops sim_ops = {
	.read = io_read,
	.write = io_write,
	.cfg_read = io_cfg_read,
	.cfg_write = io_cfg_write,
	.set_dma = io_set_dma,
	.flr = io_flr,
	.start = io_start,
	.idle = io_idle,
	.wire_stats = io_wire_stats,
	.close = io_close,
};

/* ---- cards ---- */

static uint64_t
card_clock(void *ctx)
{
	(void)ctx;
	return weir_clock_ns();
}

static void
card_log(void *ctx, enum liqm_log_level level, const char *text)
{
	(void)ctx;
	if (level == LIQM_LOG_ERR)
		LIQ_LOG(ERR, "model: %s", text);
	else if (level == LIQM_LOG_INFO)
		LIQ_LOG(INFO, "model: %s", text);
	else
		LIQ_LOG(DEBUG, "model: %s", text);
}

/* Frames come back to the port that they left. */
static void
loop_back(void *ctx, const uint8_t *frame, uint32_t len_bytes)
{
	liqm_wire_in(ctx, 0, frame, len_bytes);
}

static struct sim_card *
find_pair(const struct sim_card *not_this, const char *name, unsigned int *n)
{
	struct sim_card *found = NULL;

	*n = 0;
	for (struct sim_card *c = cards; c; c = c->next) {
		if (c != not_this && strcmp(c->pair, name) == 0) {
			found = c;
			++*n;
		}
	}
	return found;
}

static int
plug(struct sim_card *c, const struct liq_sim_cfg *cfg)
{
	struct sim_card *other;
	unsigned int n;
	int ret = liqm_wire_configure(c->card, 0, &cfg->cable);

	if (ret < 0)
		return ret;
	switch (cfg->wire) {
	case LIQ_SIM_LOOP:
		return liqm_wire_callback(c->card, 0, loop_back, c->card);
	case LIQ_SIM_PAIR:
		other = find_pair(c, cfg->wire_name, &n);
		if (n > 1) {
			LIQ_LOG(ERR, "%s: wire=pair:%s: that cable has two ends already",
				cfg->dev_name, cfg->wire_name);
			return -EBUSY;
		}
		snprintf(c->pair, sizeof(c->pair), "%s", cfg->wire_name);
		return other ? liqm_wire_pair(c->card, 0, other->card, 0) : 0;
	case LIQ_SIM_PORT:
		return liq_wire_create(c->card, cfg->wire_name, &c->wire);
	default:
		return 0;
	}
}

/*
 * What nobody waits for in a burst: answers that take time, frames for a port that is not polled.
 * It looks at intervals and is not woken, so that it costs the bursts nothing.
 */
static void *
tick(void *arg)
{
	const struct timespec pause = {.tv_nsec = TICK_NS};
	struct sim_card *c = arg;

	while (!atomic_load_explicit(&c->stop, memory_order_relaxed)) {
		if (liqm_card_next_ns(c->card) == 0)
			liqm_card_tick(c->card);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* The thread is the model's own; it inherits the CPUs that it may use. */
static int
start_async(struct sim_card *c)
{
	const struct liqm_thread_cfg cfg = {.card = c->card, .name = "liq-card", .cpu = -1};
	cpu_set_t wide, before;
	int ret;

	liq_thread_cpus(&wide);
	pthread_getaffinity_np(pthread_self(), sizeof(before), &before);
	pthread_setaffinity_np(pthread_self(), sizeof(wide), &wide);
	ret = liqm_thread_start(&cfg, &c->thread);
	pthread_setaffinity_np(pthread_self(), sizeof(before), &before);
	return ret;
}

static int
drive(struct sim_card *c, const struct liq_sim_cfg *cfg)
{
	char name[32];
	int ret;

	switch (cfg->drive) {
	case LIQ_SIM_THREAD:
		ret = liq_thread_start(&c->ticker, "liq-tick", tick, c);
		c->ticking = ret == 0;
		return ret;
	case LIQ_SIM_ASYNC:
		return start_async(c);
	case LIQ_SIM_SERVICE:
		snprintf(name, sizeof(name), "%.30s", cfg->dev_name);
		return liqm_service_start(c->card, name, SOCKET_ID_ANY, &c->service);
	default:
		return 0;
	}
}

static void
destroy_card(struct sim_card *c)
{
	/* The service's lcores may be late: nobody touches the card any more all the same. */
	if (c->service && liqm_service_stop(c->service) < 0)
		LIQ_LOG(WARNING, "a service core does not come back");
	liqm_thread_stop(c->thread);
	atomic_store(&c->stop, true);
	if (c->ticking)
		pthread_join(c->ticker, NULL);
	liq_wire_destroy(c->wire);
	liqm_card_destroy(c->card);
	free(c);
}

/* Addresses that no other card of this process, or of its neighbour, is likely to have. */
static void
choose_mac(uint8_t mac[6], const char *dev_name)
{
	static unsigned int n_cards;
	uint32_t hash = 2166136261u ^ (uint32_t)getpid();

	for (const char *s = dev_name; *s; s++)
		hash = (hash ^ (uint8_t)*s) * 16777619u;
	mac[0] = 0x02;
	mac[1] = 0x71;
	mac[2] = (uint8_t)(hash >> 16);
	mac[3] = (uint8_t)(hash >> 8);
	mac[4] = (uint8_t)n_cards++;
	mac[5] = 0x00; /* functions count up from here */
}

static int
create_card(const struct liq_sim_cfg *cfg, struct sim_card **out)
{
	unsigned int queues = cfg->queues ? cfg->queues : LIQ_VF_MAX_RINGS;
	struct liqm_card_cfg model;
	struct sim_card *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return -ENOMEM;
	liqm_card_cfg_default(&model);
	model.name = cfg->card[0] ? cfg->card : cfg->dev_name;
	model.n_pf = cfg->is_pf;
	if (cfg->is_pf) {
		model.n_vf = cfg->vfs;
		model.trusted_vf = 0;
	} else if (cfg->card[0]) {
		model.n_vf = LIQ_PF_MAX_RINGS / LIQ_VF_MAX_RINGS;
		model.rings_per_vf = LIQ_VF_MAX_RINGS;
	} else {
		model.n_vf = 1;
		model.rings_per_vf = queues;
	}
	choose_mac(model.mac, cfg->dev_name);
	model.max_mtu = 9600;
	model.manual_step = cfg->drive == LIQ_SIM_ASYNC;
	model.seed = cfg->cable.seed ? cfg->cable.seed : 1;
	/* another process may be off its CPU for longer than a far end on a wire ever pauses */
	if (cfg->wire == LIQ_SIM_PORT)
		model.rx_hold_ns = PORT_HOLD_NS;
	model.svc.clock_ns = card_clock;
	model.svc.log = card_log;
	ret = liqm_card_create(&model, &c->card);
	if (ret < 0) {
		free(c);
		return ret;
	}
	snprintf(c->name, sizeof(c->name), "%s", cfg->card);
	c->has_pf = cfg->is_pf;
	c->drive = cfg->drive;
	ret = plug(c, cfg);
	if (ret == 0)
		ret = drive(c, cfg);
	if (ret < 0) {
		destroy_card(c);
		return ret;
	}
	c->next = cards;
	cards = c;
	*out = c;
	return 0;
}

static void
forget_card(struct sim_card *c)
{
	struct sim_card **at = &cards;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	destroy_card(c);
}

static struct sim_card *
find_card(const char *name)
{
	struct sim_card *c = cards;

	while (c && (name[0] == '\0' || strcmp(c->name, name) != 0))
		c = c->next;
	return c;
}

/* A second function of a card: what the first one said holds. */
static int
may_join(const struct sim_card *c, const struct liq_sim_cfg *cfg)
{
	if (cfg->is_pf) {
		LIQ_LOG(ERR, "%s: role=pf,card=%s: that card %s; the PF comes first", cfg->dev_name,
			c->name, c->has_pf ? "has its PF" : "has VFs only");
		return -EBUSY;
	}
	if (cfg->shared_keys) {
		LIQ_LOG(ERR,
			"%s: card=%s: wire, rate, loss, dup, reorder, corrupt, seed and drive go with the first function of a card",
			cfg->dev_name, c->name);
		return -EINVAL;
	}
	return 0;
}

/* The index of a function that is free; negative: none. */
static int
free_fn(const struct sim_card *c, bool is_pf)
{
	unsigned int first = is_pf || !c->has_pf ? 0 : 1;
	unsigned int end = is_pf ? 1 : liqm_card_n_fns(c->card);

	for (unsigned int i = first; i < end; i++)
		if (!(c->taken >> i & 1))
			return (int)i;
	return -EBUSY;
}

static int
open_locked(const struct liq_sim_cfg *cfg, struct sim_fn *f)
{
	struct sim_card *c = find_card(cfg->card);
	int ret = c ? may_join(c, cfg) : create_card(cfg, &c);
	int index;

	if (ret < 0)
		return ret;
	index = free_fn(c, cfg->is_pf);
	if (index < 0) {
		LIQ_LOG(ERR, "%s: card=%s: all of its VFs are taken", cfg->dev_name, c->name);
		return index;
	}
	f->card = c;
	f->index = (unsigned int)index;
	f->fn = liqm_card_fn(c->card, f->index);
	c->taken |= UINT64_C(1) << index;
	c->n_open++;
	return 0;
}

int
liq_sim_open(const struct liq_sim_cfg *cfg, struct liq_io *io)
{
	static bool watching;
	struct sim_fn *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return -ENOMEM;
	pthread_mutex_lock(&sim_lock);
	if (!watching) /* refused when memory never changes, which is as good */
		rte_mem_event_callback_register("net_liq_sim", map_changed, NULL);
	watching = true;
	ret = open_locked(cfg, f);
	pthread_mutex_unlock(&sim_lock);
	if (ret < 0) {
		free(f);
		return ret;
	}
	*io = (struct liq_io){.ops = &sim_ops, .ctx = f};
	io_set_dma(f, true);
	return 0;
}

static void
io_close(void *ctx)
{
	struct sim_fn *f = ctx;
	struct sim_card *c = f->card;

	/* as a card that loses its driver: the next one finds it fresh */
	liqm_fn_reset(f->fn, LIQM_RESET_FLR);
	io_set_dma(f, false);
	pthread_mutex_lock(&sim_lock);
	c->taken &= ~(UINT64_C(1) << f->index);
	if (--c->n_open == 0)
		forget_card(c);
	pthread_mutex_unlock(&sim_lock);
	free(f);
}

struct liqm_card *
liq_sim_card(const struct liq_io *io)
{
	return ((const struct sim_fn *)io->ctx)->card->card;
}

struct liqm_fn *
liq_sim_fn(const struct liq_io *io)
{
	return ((const struct sim_fn *)io->ctx)->fn;
}

unsigned int
liq_sim_n_vfs(const struct liq_io *io)
{
	const struct sim_card *c = ((const struct sim_fn *)io->ctx)->card;

	return c->has_pf ? liqm_card_n_fns(c->card) - 1 : 0;
}
