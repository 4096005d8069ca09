/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards that run in threads of their own: traffic over pairs with every byte checked, stop and
 * start in the middle of it, cables changed under it, what wakes a sleeping thread, and what the
 * adapter refuses.
 *
 * Each end of a pair has a driver on a thread of its own beside the card's, so that accesses,
 * ticks and frames from the far end meet.  The drivers assert nothing; they note what was wrong
 * first, and the case judges.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "liqm_thread.h"
#include "mt.h"

#define MS         UINT64_C(1000000)
#define LONGEST    (1000 * MS) /* what a thread may sleep at most */
#define PATIENCE   (60000 * MS)
#define SLOTS      32u /* frames of a driver that the card may be fetching */
#define SLOT_BYTES 2048u
#define WINDOW     256u /* frames on their way: less than the wire holds */

static uint64_t
now_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- cards ---- */

static void
cfg_of(struct liqm_card_cfg *cfg, unsigned int index, bool manual_step)
{
	liqm_card_cfg_default(cfg);
	cfg->mac[4] = (uint8_t)index;
	cfg->manual_step = manual_step;
	cfg->svc.clock_ns = now_ns;
	cfg->rx_hold_ns = PATIENCE; /* a driver that does not get the CPU costs no frame */
}

static void
tick(void *ctx)
{
	liqm_card_tick(ctx);
}

/* Without its thread the card is stepped while its driver waits. */
static struct mt *
card_up(unsigned int index, bool manual_step)
{
	struct liqm_card_cfg cfg;
	struct mt *m;

	cfg_of(&cfg, index, manual_step);
	cfg.mbox_delay_ns = 0;
	m = mt_new(&cfg);
	m->drv[0].idle = tick;
	m->drv[0].idle_ctx = m->card;
	assert_int_equal(raw_vf_up(&m->drv[0], 1), 0);
	assert_true(raw_recv_notice(&m->drv[0], 4, &m->pkt, 1000 * MS));
	m->drv[0].idle = NULL;
	return m;
}

static struct liqm_thread *
run_card(struct liqm_card *card)
{
	struct liqm_thread_cfg cfg = {.card = card, .cpu = -1, .max_sleep_ns = LONGEST};
	struct liqm_thread *thread = NULL;

	assert_int_equal(liqm_thread_start(&cfg, &thread), 0);
	return thread;
}

static struct liqm_thread_stats
stats_of(struct liqm_thread *thread)
{
	struct liqm_thread_stats stats;

	liqm_thread_stats_get(thread, &stats);
	return stats;
}

/*
 * A function's services that can be watched without touching the card, for an access of any kind
 * would wake it.
 */
struct watch {
	struct liqm_fn_services host;
	_Atomic unsigned int n_writes, n_irq;
};

static bool
watch_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	struct watch *w = ctx;

	return w->host.dma_read(w->host.ctx, iova, dst, len);
}

static bool
watch_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	struct watch *w = ctx;
	bool ok = w->host.dma_write(w->host.ctx, iova, src, len);

	atomic_fetch_add(&w->n_writes, 1);
	return ok;
}

static void
watch_raise(void *ctx, unsigned int vector)
{
	struct watch *w = ctx;

	w->host.msix_raise(w->host.ctx, vector);
	atomic_fetch_add(&w->n_irq, 1);
}

static void
watch_fn(struct watch *w, struct mt *m)
{
	struct liqm_fn_services svc = {
		.ctx = w,
		.dma_read = watch_read,
		.dma_write = watch_write,
		.msix_raise = watch_raise,
	};

	memset(w, 0, sizeof(*w));
	raw_host_services(&m->host[0], &w->host);
	liqm_fn_attach(m->drv[0].fn, &svc);
}

/* True when the count has left @from before the thread would have woken up by itself. */
static bool
wait_count(_Atomic unsigned int *count, unsigned int from)
{
	uint64_t end_ns = now_ns(NULL) + LONGEST * 9 / 10;

	while (atomic_load(count) == from && now_ns(NULL) < end_ns)
		sched_yield();
	return atomic_load(count) != from;
}

/* ---- drivers ---- */

struct end {
	struct mt *m;
	struct liqm_thread *thread;
	unsigned int n_send, n_recv; /* to send; to receive, from all others together */
	unsigned int n_lost;         /* of n_recv, known by the end only */
	bool may_lose;
	_Atomic unsigned int sent, received;
	_Atomic unsigned int may_send; /* of n_send, for now */
	struct end *to;
	uint64_t data; /* of the slots */
	const char *wrong;
	pthread_t id;
	unsigned int next[4]; /* frame to come, by the sender's index */
	struct mt_frame out, want;
};

/* Frame i of the sender to its peer. */
static void
frame_of(struct mt_frame *f, const struct mt *from, const struct mt *to, unsigned int i)
{
	mt_build(f, to->drv[0].mac, from->drv[0].mac, MT_RAW, 46 + i * 31 % 1400, i);
	mt_put16(f->b + 14, i);
}

static struct liqm_wire_stats
wire_of(const struct mt *m)
{
	struct liqm_wire_stats stats;

	liqm_wire_stats_get(m->card, 0, &stats);
	return stats;
}

static bool
send_some(struct end *e)
{
	struct raw *d = &e->m->drv[0];
	struct raw_ring *r = &d->ring[0];
	unsigned int sent = atomic_load(&e->sent), first = sent;
	unsigned int fetched = raw_r32(d, raw_reg(d, 0, R_IN_DONE)) - r->iq_count;

	/* With a cable that comes and goes, only the card knows what is still on its way. */
	while (sent < atomic_load(&e->may_send) && sent - fetched < SLOTS &&
	       (e->may_lose || sent - atomic_load(&e->to->received) < WINDOW)) {
		frame_of(&e->out, e->m, e->to->m, sent);
		d->data = e->data + sent % SLOTS * SLOT_BYTES;
		raw_send(d, 0, e->out.b, e->out.len, 0, 0, 0);
		atomic_store(&e->sent, ++sent);
	}
	return sent != first;
}

static void
judge(struct end *e, struct end *const *all)
{
	const struct raw_pkt *pkt = &e->m->pkt;
	unsigned int from = pkt->len > 16 ? pkt->data[10] : UINT32_MAX, i;

	if (from >= 4 || !all[from] || pkt->rh >> 60 != 1 || (pkt->rh >> 52 & 0xFF) != 2) {
		e->wrong = "a packet from nowhere";
		return;
	}
	i = mt_be16(pkt->data + 14);
	if (i != e->next[from] && !(e->may_lose && i > e->next[from])) {
		e->wrong = "a frame is missing, or there twice";
		return;
	}
	e->next[from] = i + 1;
	frame_of(&e->want, all[from]->m, e->m, i);
	if (pkt->len != e->want.len || memcmp(pkt->data, e->want.b, pkt->len) != 0)
		e->wrong = "the contents of a frame";
}

static struct end *crowd[4];

static bool
recv_some(struct end *e)
{
	bool some = false;
	int ret;

	while (!e->wrong && (ret = raw_recv(&e->m->drv[0], 0, &e->m->pkt)) != 0) {
		if (ret < 0) {
			e->wrong = "a length";
			break;
		}
		judge(e, crowd);
		atomic_fetch_add(&e->received, 1);
		some = true;
	}
	return some;
}

/* What the cables did not carry to e, of all that was sent to it. */
static unsigned int
lost_on_way(const struct end *e)
{
	uint64_t n = wire_of(e->m).n_in_full;

	for (unsigned int k = 0; k < 4; k++) {
		if (crowd[k] && crowd[k]->to == e)
			n += wire_of(crowd[k]->m).n_unplugged;
	}
	return (unsigned int)n;
}

static void *
drive(void *arg)
{
	struct end *e = arg;
	uint64_t end_ns = now_ns(NULL) + PATIENCE;

	while (!e->wrong && (atomic_load(&e->sent) < e->n_send ||
			     atomic_load(&e->received) + e->n_lost < e->n_recv)) {
		bool busy = send_some(e);

		busy |= recv_some(e);
		if (busy)
			continue;
		if (now_ns(NULL) > end_ns)
			e->wrong = "time is up";
		if (e->may_lose)
			e->n_lost = lost_on_way(e);
		sched_yield();
	}
	return NULL;
}

static void
end_init(struct end *e, unsigned int index, bool manual_step)
{
	struct raw *d;

	memset(e, 0, sizeof(*e));
	e->m = card_up(index, manual_step);
	d = &e->m->drv[0];
	d->ring[0].iq_count = raw_r32(d, raw_reg(d, 0, R_IN_DONE));
	e->data = raw_alloc(&e->m->host[0], SLOTS * SLOT_BYTES);
	assert_true(e->data != 0);
	assert_int_equal(liqm_wire_callback(e->m->card, 0, NULL, NULL), 0);
	crowd[index] = e;
}

static void
end_start(struct end *e)
{
	assert_int_equal(pthread_create(&e->id, NULL, drive, e), 0);
}

static void
end_join(struct end *e)
{
	assert_int_equal(pthread_join(e->id, NULL), 0);
	ut_check(!e->wrong, "%s after %u frames sent, %u received", e->wrong, atomic_load(&e->sent),
		 atomic_load(&e->received));
}

static void
end_free(struct end *e)
{
	liqm_thread_stop(e->thread);
	mt_free(e->m);
}

static void
pair_init(struct end e[2], bool manual_step, unsigned int n)
{
	memset(crowd, 0, sizeof(crowd));
	for (unsigned int i = 0; i < 2; i++) {
		end_init(&e[i], i, manual_step);
		e[i].n_send = e[i].n_recv = n;
		atomic_store(&e[i].may_send, n);
		e[i].to = &e[1 - i];
	}
	assert_int_equal(liqm_wire_pair(e[0].m->card, 0, e[1].m->card, 0), 0);
}

static void
check_counts(const struct end *e, unsigned int n)
{
	struct liqm_wire_stats wire = wire_of(e->m);

	assert_int_equal(mt_count(e->m, LIQM_N_tx_frames), n);
	assert_int_equal(mt_count(e->m, LIQM_N_rx_frames), n);
	assert_int_equal(mt_count(e->m, LIQM_N_rx_no_credit), 0);
	assert_int_equal(mt_count(e->m, LIQM_N_dma_read_err), 0);
	assert_int_equal(wire.n_out, n);
	assert_int_equal(wire.n_in, n);
	assert_int_equal(wire.n_in_full, 0);
	assert_int_equal(wire.n_unplugged, 0);
}

static void
carry(bool manual_step)
{
	static struct end e[2];
	const unsigned int n = 5000;

	pair_init(e, manual_step, n);
	for (int i = 0; i < 2; i++)
		e[i].thread = run_card(e[i].m->card);
	for (int i = 0; i < 2; i++)
		end_start(&e[i]);
	for (int i = 0; i < 2; i++)
		end_join(&e[i]);
	for (int i = 0; i < 2; i++)
		check_counts(&e[i], n);
	for (int i = 0; i < 2; i++)
		end_free(&e[i]);
}

static void
threads_do_all_the_work(void **state)
{
	(void)state;
	carry(true);
}

static void
threads_and_accesses_share_the_work(void **state)
{
	(void)state;
	carry(false);
}

/* One frame at a time: the card that gets it sleeps, and nobody touches it but the far end. */
static void
frame_from_far_end_wakes(void **state)
{
	static struct end e[2];
	static struct watch watch[2];
	const unsigned int n = 100;

	(void)state;
	pair_init(e, true, n);
	for (int i = 0; i < 2; i++) {
		watch_fn(&watch[i], e[i].m);
		e[i].thread = run_card(e[i].m->card);
	}
	for (unsigned int i = 0; i < 2 * n; i++) {
		struct end *from = &e[i % 2], *to = from->to;
		unsigned int n_writes = atomic_load(&watch[1 - i % 2].n_writes);
		uint64_t end_ns = now_ns(NULL) + PATIENCE;

		atomic_store(&from->may_send, i / 2 + 1);
		while (!send_some(from) && now_ns(NULL) < end_ns)
			sched_yield(); /* the slots are full for a moment */
		ut_check(wait_count(&watch[1 - i % 2].n_writes, n_writes), "frame %u", i);
		while (!recv_some(to) && now_ns(NULL) < end_ns)
			sched_yield(); /* the count follows the data */
		ut_check(!to->wrong && atomic_load(&to->received) == i / 2 + 1, "frame %u: %s", i,
			 to->wrong ? to->wrong : "lost");
	}
	for (int i = 0; i < 2; i++) {
		check_counts(&e[i], n);
		assert_true(stats_of(e[i].thread).n_kicks > 0);
		end_free(&e[i]);
	}
}

/* Threads come and go; nobody notices but by the delay. */
static void
stop_and_start_while_traffic_flows(void **state)
{
	static struct end e[2];
	const unsigned int n = 4000;

	(void)state;
	pair_init(e, true, n);
	for (int i = 0; i < 2; i++)
		end_start(&e[i]);
	for (unsigned int at = n / 40; at < n; at += n / 40) {
		struct end *one = &e[at / (n / 40) % 2], *other = one->to;
		uint64_t end_ns = now_ns(NULL) + PATIENCE;

		if (!other->thread)
			other->thread = run_card(other->m->card);
		liqm_thread_stop(one->thread);
		one->thread = run_card(one->m->card);
		while (atomic_load(&one->received) < at && now_ns(NULL) < end_ns)
			sched_yield();
		/* in full flow, unless the end is near */
		liqm_thread_stop(one->thread);
		one->thread = run_card(one->m->card);
	}
	for (int i = 0; i < 2; i++)
		end_join(&e[i]);
	for (int i = 0; i < 2; i++) {
		check_counts(&e[i], n);
		end_free(&e[i]);
	}
}

/* A card stops in the middle: what it has not fetched lies in its ring until it runs again. */
static void
stop_leaves_the_rest_in_the_ring(void **state)
{
	static struct end e[2];
	const unsigned int n = 5000;
	uint64_t end_ns = now_ns(NULL) + PATIENCE, n_out;

	(void)state;
	pair_init(e, true, n);
	for (int i = 0; i < 2; i++)
		e[i].thread = run_card(e[i].m->card);
	end_start(&e[1]);
	while (atomic_load(&e[0].received) < 100 && now_ns(NULL) < end_ns) {
		send_some(&e[0]);
		recv_some(&e[0]);
	}
	liqm_thread_stop(e[0].thread);
	n_out = wire_of(e[0].m).n_out;
	assert_true(n_out + SLOTS < n);
	/* the far end takes what is on its way, so that only the slots are the limit */
	while (atomic_load(&e[0].sent) < n_out + SLOTS && now_ns(NULL) < end_ns)
		send_some(&e[0]);
	assert_false(send_some(&e[0]));
	assert_int_equal(atomic_load(&e[0].sent), n_out + SLOTS);
	assert_int_equal(wire_of(e[0].m).n_out, n_out);
	assert_int_equal(liqm_card_next_ns(e[0].m->card), 0); /* work waits */
	e[0].thread = run_card(e[0].m->card);
	drive(&e[0]);
	ut_check(!e[0].wrong, "%s", e[0].wrong);
	end_join(&e[1]);
	for (int i = 0; i < 2; i++) {
		check_counts(&e[i], n);
		end_free(&e[i]);
	}
}

/* Two cards take turns at the cable to a third, at any moment: one far end at a time. */
static void
cables_change_while_traffic_flows(void **state)
{
	static struct end e[3];
	const unsigned int n_turns = 200, step = 100;
	struct end *b = &e[2];

	(void)state;
	memset(crowd, 0, sizeof(crowd));
	for (unsigned int i = 0; i < 3; i++) {
		end_init(&e[i], i, true);
		e[i].may_lose = true;
		e[i].to = b;
		e[i].n_send = i < 2 ? n_turns * step : 0;
	}
	b->to = NULL;
	b->n_recv = 2 * n_turns * step;
	for (int i = 0; i < 3; i++) {
		e[i].thread = run_card(e[i].m->card);
		end_start(&e[i]);
	}
	for (unsigned int t = 0; t < n_turns; t++) {
		struct end *a = &e[t % 2];
		uint64_t end_ns = now_ns(NULL) + PATIENCE;

		assert_int_equal(liqm_wire_pair(a->m->card, 0, b->m->card, 0), 0);
		for (int i = 0; i < 2; i++)
			atomic_fetch_add(&e[i].may_send, step);
		/* both are in the middle of it when the cable goes */
		while (atomic_load(&a->sent) < t * step + step / 2 && now_ns(NULL) < end_ns)
			sched_yield();
	}
	for (int i = 0; i < 3; i++)
		end_join(&e[i]);
	assert_true(atomic_load(&b->received) > 0);
	assert_int_equal(atomic_load(&b->received) + wire_of(b->m).n_in_full,
			 wire_of(e[0].m).n_out + wire_of(e[1].m).n_out);
	for (int i = 0; i < 3; i++)
		end_free(&e[i]);
}

/* ---- sleep and time ---- */

static bool
wait_stats(struct liqm_thread *thread, uint64_t n_sleeps, uint64_t n_ticks, uint64_t limit_ns)
{
	uint64_t end_ns = now_ns(NULL) + limit_ns;

	while (now_ns(NULL) < end_ns) {
		struct liqm_thread_stats stats = stats_of(thread);

		if (stats.n_sleeps >= n_sleeps && stats.n_ticks >= n_ticks)
			return true;
		sched_yield();
	}
	return false;
}

static void
idle_card_sleeps_until_kicked(void **state)
{
	struct mt *m = card_up(0, true);
	struct liqm_thread *thread = run_card(m->card);
	struct liqm_thread_stats stats;

	(void)state;
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	for (unsigned int i = 0; i < 50; i++) {
		stats = stats_of(thread);
		liqm_thread_kick(thread);
		/* much less than the sleep */
		assert_true(wait_stats(thread, stats.n_sleeps + 1, stats.n_ticks + 1,
				       LONGEST * 9 / 10));
	}
	stats = stats_of(thread);
	assert_true(stats.n_kicks >= 50);
	/* no more ticks than there were reasons: kicks, ends of sleeps, the first */
	assert_true(stats.n_ticks <= 2 * 50 + 10);
	liqm_thread_stop(thread);
	mt_free(m);
}

/* Registers only: the inner PF answers 2 ms after the word, and nobody ticks but the thread. */
static void
access_wakes_for_what_is_due_later(void **state)
{
	struct liqm_card_cfg cfg;
	struct liqm_thread *thread;
	struct raw *d;
	struct mt *m;
	uint64_t start;

	(void)state;
	cfg_of(&cfg, 0, true);
	m = mt_new(&cfg);
	d = &m->drv[0];
	thread = run_card(m->card);
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	start = now_ns(NULL);
	raw_w64(d, 0x10208, 0x206);
	while (raw_r64(d, 0x10208) != RAW_ACK && now_ns(NULL) - start < LONGEST / 2)
		sched_yield();
	assert_true(raw_r64(d, 0x10208) == RAW_ACK);
	raw_w64(d, 0x10208, UINT64_C(0x0000000100050001));
	while ((raw_r64(d, 0x10200) & 0xFFFF) != 0x0207 && now_ns(NULL) - start < LONGEST)
		sched_yield();
	assert_int_equal(raw_r64(d, 0x10200) & 0xFFFF, 0x0207);
	assert_in_range(now_ns(NULL) - start, cfg.mbox_delay_ns, LONGEST * 9 / 10);
	liqm_thread_stop(thread);
	mt_free(m);
}

static void
deliver(struct mt *m, struct watch *w)
{
	unsigned int n_writes = atomic_load(&w->n_writes);
	struct mt_frame f;

	mt_build(&f, m->drv[0].mac, mt_peer_mac, MT_RAW, 60, 1);
	assert_int_equal(liqm_wire_in(m->card, 0, f.b, f.len), 0);
	assert_true(wait_count(&w->n_writes, n_writes));
}

/* A write that makes no work but an interrupt: the count is over the new threshold. */
static void
access_wakes_for_an_interrupt(void **state)
{
	struct mt *m = card_up(0, true);
	struct raw *d = &m->drv[0];
	struct liqm_thread *thread;
	static struct watch watch;

	(void)state;
	raw_w64(d, raw_reg(d, 0, R_INT_LEVELS), UINT64_C(0x3FFFFF) << 32 | 10);
	watch_fn(&watch, m);
	thread = run_card(m->card);
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	deliver(m, &watch);
	while (raw_r32(d, raw_reg(d, 0, R_CNTS)) == 0)
		sched_yield();
	assert_int_equal(atomic_load(&watch.n_irq), 0);
	raw_w64(d, raw_reg(d, 0, R_INT_LEVELS), UINT64_C(0x3FFFFF) << 32);
	assert_true(wait_count(&watch.n_irq, 0));
	liqm_thread_stop(thread);
	assert_int_equal(atomic_load(&watch.n_irq), 1);
	mt_free(m);
}

/* The interrupt's time threshold passes while nobody touches the card. */
static void
time_alone_brings_an_interrupt(void **state)
{
	struct mt *m = card_up(0, false);
	struct raw *d = &m->drv[0];
	struct liqm_thread *thread;
	static struct watch watch;
	uint64_t start;

	(void)state;
	/* 10000 times 1024 clocks at 1 GHz */
	raw_w64(d, raw_reg(d, 0, R_INT_LEVELS), UINT64_C(10000) << 32 | 0xFFFF);
	watch_fn(&watch, m);
	thread = run_card(m->card);
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	start = now_ns(NULL);
	deliver(m, &watch);
	assert_true(wait_count(&watch.n_irq, 0));
	assert_true(now_ns(NULL) - start >= 10240000);
	liqm_thread_stop(thread);
	assert_int_equal(atomic_load(&watch.n_irq), 1);
	mt_free(m);
}

/* Virtual time is moved by the driver's accesses and waits, on the driver's thread. */
static void
virtual_time_is_left_alone(void **state)
{
	struct liqm_card_cfg cfg;
	struct liqm_thread *thread;
	struct mt *m;
	uint64_t start;

	(void)state;
	liqm_card_cfg_default(&cfg);
	m = mt_new(&cfg);
	thread = run_card(m->card);
	start = liqm_card_now_ns(m->card);
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	liqm_thread_kick(thread);
	assert_true(wait_stats(thread, 2, 2, PATIENCE));
	assert_int_equal(liqm_card_now_ns(m->card), start);
	assert_int_equal(raw_vf_handshake(&m->drv[0]), 0);
	assert_true(liqm_card_now_ns(m->card) >= start + cfg.mbox_delay_ns);
	liqm_thread_stop(thread);
	mt_free(m);
}

/* ---- start and stop ---- */

struct place {
	pthread_t test;
	_Atomic int n_cpus, cpu;
	atomic_bool unblocked;
};

/* Called on whatever thread takes the card's lock. */
static uint64_t
look_around(void *ctx)
{
	struct place *p = ctx;
	sigset_t blocked;
	cpu_set_t cpus;

	if (!pthread_equal(pthread_self(), p->test)) {
		pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus);
		pthread_sigmask(SIG_SETMASK, NULL, &blocked);
		if (!sigismember(&blocked, SIGTERM) || !sigismember(&blocked, SIGALRM))
			atomic_store(&p->unblocked, true);
		atomic_store(&p->cpu, sched_getcpu());
		atomic_store(&p->n_cpus, CPU_COUNT(&cpus));
	}
	return now_ns(NULL);
}

static void
thread_is_pinned_and_deaf_to_signals(void **state)
{
	struct place place = {.test = pthread_self()};
	struct liqm_thread_cfg cfg = {.name = "fifteen letters"};
	struct liqm_card_cfg card_cfg;
	struct liqm_thread *thread;
	cpu_set_t allowed;
	struct mt *m;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET((size_t)cpu, &allowed))
			cfg.cpu = cpu; /* the last */
	}
	liqm_card_cfg_default(&card_cfg);
	card_cfg.svc.clock_ns = look_around;
	card_cfg.svc.ctx = &place;
	m = mt_new(&card_cfg);
	cfg.card = m->card;
	assert_int_equal(liqm_thread_start(&cfg, &thread), 0);
	assert_true(wait_stats(thread, 1, 1, PATIENCE));
	liqm_thread_stop(thread);
	assert_int_equal(atomic_load(&place.n_cpus), 1);
	assert_int_equal(atomic_load(&place.cpu), cfg.cpu);
	assert_false(atomic_load(&place.unblocked));
	mt_free(m);
}

static void
wrong_starts_are_refused(void **state)
{
	struct mt *m = mt_vf(1);
	struct liqm_thread_cfg good = {.card = m->card, .cpu = -1}, bad;
	struct liqm_thread *thread = NULL, *second = NULL;

	(void)state;
	bad = good;
	bad.card = NULL;
	assert_int_equal(liqm_thread_start(&bad, &thread), -EINVAL);
	bad = good;
	bad.name = "sixteen letters.";
	assert_int_equal(liqm_thread_start(&bad, &thread), -EINVAL);
	bad = good;
	bad.max_sleep_ns = LONGEST + 1;
	assert_int_equal(liqm_thread_start(&bad, &thread), -EINVAL);
	bad = good;
	bad.cpu = CPU_SETSIZE;
	assert_int_equal(liqm_thread_start(&bad, &thread), -EINVAL);
	bad.cpu = CPU_SETSIZE - 1; /* nobody has that many */
	assert_int_equal(liqm_thread_start(&bad, &thread), -EINVAL);
	assert_null(thread);
	assert_int_equal(liqm_thread_start(&good, &thread), 0);
	assert_int_equal(liqm_thread_start(&good, &second), -EBUSY);
	assert_null(second);
	liqm_thread_stop(thread);
	assert_int_equal(liqm_thread_start(&good, &thread), 0);
	liqm_thread_stop(thread);
	liqm_thread_stop(NULL);
	mt_free(m);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(threads_do_all_the_work),
		cmocka_unit_test(threads_and_accesses_share_the_work),
		cmocka_unit_test(frame_from_far_end_wakes),
		cmocka_unit_test(stop_and_start_while_traffic_flows),
		cmocka_unit_test(stop_leaves_the_rest_in_the_ring),
		cmocka_unit_test(cables_change_while_traffic_flows),
		cmocka_unit_test(idle_card_sleeps_until_kicked),
		cmocka_unit_test(access_wakes_for_what_is_due_later),
		cmocka_unit_test(access_wakes_for_an_interrupt),
		cmocka_unit_test(time_alone_brings_an_interrupt),
		cmocka_unit_test(virtual_time_is_left_alone),
		cmocka_unit_test(thread_is_pinned_and_deaf_to_signals),
		cmocka_unit_test(wrong_starts_are_refused),
	};

	return UT_RUN(cases, NULL, NULL);
}
