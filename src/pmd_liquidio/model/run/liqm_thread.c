/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a card of the device model from a thread of its own.  See liqm_thread.h.
 *
 * The mutex guards the flags and the statistics and is a leaf: it is never held while the model
 * is called, since the card kicks with its own locks held.  A kick that comes between the look
 * at liqm_card_next_ns() and the sleep stays in its flag and cancels the sleep.
 */
#include "liqm_thread.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_SLEEP_NS UINT64_C(10000000)
#define LONGEST_SLEEP_NS UINT64_C(1000000000)
#define SECOND_NS        UINT64_C(1000000000)
#define NAME_MAX_CHARS   15u

/*
 * Work that waits although it has just been ticked is tried again at once, this many times in a
 * row; then there is a pause, so that a card that gets nowhere does not eat the CPU.
 */
#define EAGER_TICKS 1000u
#define PAUSE_NS    UINT64_C(50000)

struct liqm_thread {
	struct liqm_card *card;
	uint64_t max_sleep_ns;
	/* the thread's own */
	unsigned int n_eager;
	uint64_t last_now_ns;

	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, kicked;
	struct liqm_thread_stats stats;
};

static void
deadline(struct timespec *at, uint64_t ns)
{
	clock_gettime(CLOCK_MONOTONIC, at);
	ns += (uint64_t)at->tv_nsec;
	at->tv_sec += (time_t)(ns / SECOND_NS);
	at->tv_nsec = (long)(ns % SECOND_NS);
}

/* Sleeps, for nothing when kicked already; false: to end. */
static bool
sleep_ns(struct liqm_thread *t, uint64_t ns)
{
	struct timespec at;
	bool go_on;

	if (ns != 0)
		deadline(&at, ns);
	pthread_mutex_lock(&t->lock);
	t->stats.n_ticks++;
	if (ns != 0 && !t->kicked && !t->stop) {
		int ret = 0;

		t->stats.n_sleeps++;
		while (ret == 0 && !t->kicked && !t->stop)
			ret = pthread_cond_timedwait(&t->changed, &t->lock, &at);
	}
	t->kicked = false;
	go_on = !t->stop;
	pthread_mutex_unlock(&t->lock);
	return go_on;
}

/* How long there is nothing to do for the card, now that it was ticked. */
static uint64_t
idle_ns(struct liqm_thread *t)
{
	uint64_t due = liqm_card_next_ns(t->card), now, ns;

	if (due == 0)
		return t->n_eager++ < EAGER_TICKS ? 0 : PAUSE_NS;
	t->n_eager = 0;
	now = liqm_card_now_ns(t->card);
	ns = due > now ? due - now : 0;
	/* When time stands still, only an access moves it, and the access wakes us. */
	if (ns > t->max_sleep_ns || now == t->last_now_ns)
		ns = t->max_sleep_ns;
	t->last_now_ns = now;
	return ns;
}

static void *
run(void *arg)
{
	struct liqm_thread *t = arg;

	do {
		liqm_card_tick(t->card);
	} while (sleep_ns(t, idle_ns(t)));
	return NULL;
}

void
liqm_thread_kick(struct liqm_thread *t)
{
	pthread_mutex_lock(&t->lock);
	if (!t->kicked) {
		t->kicked = true;
		t->stats.n_kicks++;
		pthread_cond_signal(&t->changed);
	}
	pthread_mutex_unlock(&t->lock);
}

static void
wake(void *ctx)
{
	liqm_thread_kick(ctx);
}

static int
launch(struct liqm_thread *t, const struct liqm_thread_cfg *cfg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int ret = pthread_attr_init(&attr);

	if (ret != 0)
		return -ret;
	if (cfg->cpu >= 0) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET((size_t)cfg->cpu, &cpus);
		ret = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	}
	if (ret == 0) {
		/* The program's signals are for the program's threads. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		ret = pthread_create(&t->id, &attr, run, t);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attr);
	if (ret == 0)
		pthread_setname_np(t->id, cfg->name ? cfg->name : "liqm");
	return -ret;
}

int
liqm_thread_start(const struct liqm_thread_cfg *cfg, struct liqm_thread **out)
{
	pthread_condattr_t attr;
	struct liqm_thread *t;
	int ret;

	if (!cfg->card || cfg->cpu >= CPU_SETSIZE || cfg->max_sleep_ns > LONGEST_SLEEP_NS ||
	    (cfg->name && strlen(cfg->name) > NAME_MAX_CHARS))
		return -EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->card = cfg->card;
	t->last_now_ns = LIQM_NEVER;
	t->max_sleep_ns = cfg->max_sleep_ns ? cfg->max_sleep_ns : DEFAULT_SLEEP_NS;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->changed, &attr);
	pthread_condattr_destroy(&attr);
	ret = liqm_card_on_wake(t->card, wake, t);
	if (ret < 0)
		goto free_thread;
	ret = launch(t, cfg);
	if (ret < 0)
		goto forget_wake;
	*out = t;
	return 0;

forget_wake:
	liqm_card_on_wake(t->card, NULL, NULL);
free_thread:
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
	return ret;
}

void
liqm_thread_stop(struct liqm_thread *t)
{
	if (!t)
		return;
	liqm_card_on_wake(t->card, NULL, NULL);
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->changed);
	pthread_mutex_unlock(&t->lock);
	pthread_join(t->id, NULL);
	pthread_cond_destroy(&t->changed);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void
liqm_thread_stats_get(struct liqm_thread *t, struct liqm_thread_stats *stats)
{
	pthread_mutex_lock(&t->lock);
	*stats = t->stats;
	pthread_mutex_unlock(&t->lock);
}
