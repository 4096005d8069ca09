/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * liquidio-card: a LiquidIO II card for virtual machines. Makes one card of the model, opens a
 * vfio-user socket for each of its functions and a far end for each of its ports, and then turns
 * one loop on one thread: wait for sockets and for the card's own next due time, serve, tick.
 *
 * The model does all its work inside our calls; nothing here touches a packet but the cable.
 * Ends on SIGTERM and SIGINT, or with --once after its last client.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "card_fn.h"
#include "card_opts.h"
#include "card_wire.h"

#define MAX_FNS (LIQM_MAX_PORTS * (1 + LIQM_MAX_VFS))

struct app {
	struct card_opts opts;
	struct liqm_card *card;
	struct card_fn fns[MAX_FNS];
	unsigned int n_fns;
	struct card_wire wires[LIQM_MAX_PORTS];
	unsigned int n_wires;
	int signal_fd;
	FILE *log;
	uint64_t log_left; /* lines; UINT64_MAX: no limit */
	uint64_t start_ns;
	bool link_down;
};

static uint64_t
now_ns(void *ctx)
{
	struct timespec t;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
card_log(void *ctx, enum liqm_log_level level, const char *text)
{
	const struct app *app = ctx;

	if (level == LIQM_LOG_ERR || (app->opts.verbose && level == LIQM_LOG_INFO))
		fprintf(stderr, "liquidio-card: %s\n", text);
}

static void
access_log(void *ctx, const struct liqm_access *access)
{
	struct app *app = ctx;
	uint64_t t = access->time_ns - app->start_ns;
	char text[160];

	if (app->log_left == 0)
		return;
	liqm_access_format(access, text, sizeof(text));
	fprintf(app->log, "%" PRIu64 ".%06" PRIu64 " %s\n", t / 1000000000u, t / 1000u % 1000000u,
		text);
	if (app->log_left != UINT64_MAX && --app->log_left == 0)
		fputs("the log ends here: --access-log-lines\n", app->log);
}

static int
log_open(struct app *app)
{
	if (!app->opts.access_log)
		return 0;
	app->log = fopen(app->opts.access_log, "we");
	if (!app->log) {
		fprintf(stderr, "liquidio-card: --access-log '%s': %s\n", app->opts.access_log,
			strerror(errno));
		return -errno;
	}
	app->log_left = app->opts.access_log_lines ? app->opts.access_log_lines : UINT64_MAX;
	for (unsigned int i = 0; i < app->n_fns; i++)
		liqm_fn_observe(app->fns[i].fn, access_log, app);
	return 0;
}

static int
signals_open(struct app *app)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	app->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return app->signal_fd < 0 ? -errno : 0;
}

static int
functions_open(struct app *app)
{
	struct card_opts *o = &app->opts;

	for (unsigned int port = 0; port < o->n_ports; port++) {
		if (port < o->card.n_pf &&
		    card_fn_open(&app->fns[app->n_fns], liqm_card_pf(app->card, port),
				 o->pf_path[port], o->verbose) != 0)
			return -1;
		app->n_fns += port < o->card.n_pf;
		for (unsigned int vf = 0; vf < o->card.n_vf; vf++) {
			if (!o->vf_path[port][vf])
				continue;
			if (card_fn_open(&app->fns[app->n_fns], liqm_card_vf(app->card, port, vf),
					 o->vf_path[port][vf], o->verbose) != 0)
				return -1;
			app->n_fns++;
		}
	}
	return 0;
}

static int
wires_open(struct app *app)
{
	struct card_opts *o = &app->opts;

	for (unsigned int port = 0; port < o->n_ports; port++) {
		if (card_wire_open(&app->wires[port], &o->wire[port], app->card, port) != 0)
			return -1;
		app->n_wires++;
		if (liqm_wire_configure(app->card, port, &o->cable) != 0)
			return -1;
	}
	return 0;
}

static int
setup(struct app *app)
{
	struct liqm_card_cfg cfg = app->opts.card;
	int rc;

	cfg.svc.ctx = app;
	cfg.svc.clock_ns = now_ns;
	cfg.svc.log = card_log;
	app->start_ns = now_ns(NULL);
	app->link_down = cfg.link_down;
	rc = liqm_card_create(&cfg, &app->card);
	if (rc != 0) {
		fprintf(stderr, "liquidio-card: cannot make the card: %s\n", strerror(-rc));
		return rc;
	}
	for (unsigned int i = 0; i < app->opts.n_faults; i++) {
		rc = liqm_fault_add(app->card, &app->opts.faults[i]);
		if (rc != 0) {
			fprintf(stderr, "liquidio-card: --fault %s: %s\n",
				liqm_fault_name(app->opts.faults[i].kind), strerror(-rc));
			return rc;
		}
	}
	if (signals_open(app) != 0 || wires_open(app) != 0 || functions_open(app) != 0)
		return -1;
	return log_open(app);
}

static void
print_all(struct app *app)
{
	for (unsigned int i = 0; i < app->n_fns; i++)
		card_fn_print(&app->fns[i]);
	for (unsigned int i = 0; i < app->n_wires; i++) {
		struct liqm_wire_stats s;

		liqm_wire_stats_get(app->card, i, &s);
		fprintf(stderr,
			"wire%u out %" PRIu64 " in %" PRIu64 " in_full %" PRIu64
			" in_unclaimed %" PRIu64 " unplugged %" PRIu64 " lost %" PRIu64
			" duplicated %" PRIu64 " reordered %" PRIu64 " corrupted %" PRIu64
			" far_end_full %" PRIu64 "\n",
			i, s.n_out, s.n_in, s.n_in_full, s.n_in_unclaimed, s.n_unplugged, s.n_lost,
			s.n_duplicated, s.n_reordered, s.n_corrupted, app->wires[i].n_dropped);
	}
	fflush(stderr);
	if (app->log)
		fflush(app->log);
}

static void
teardown(struct app *app)
{
	for (unsigned int i = 0; i < app->n_fns; i++)
		card_fn_close(&app->fns[i]);
	for (unsigned int i = 0; i < app->n_wires; i++)
		card_wire_close(&app->wires[i]);
	liqm_card_destroy(app->card);
	if (app->log && fclose(app->log) != 0)
		fprintf(stderr, "liquidio-card: --access-log: %s\n", strerror(errno));
	if (app->signal_fd >= 0)
		close(app->signal_fd);
}

/* The cables of all ports are pulled, or plugged in again. */
static void
link_change(struct app *app)
{
	app->link_down = !app->link_down;
	for (unsigned int i = 0; i < app->n_wires; i++)
		liqm_link_set(app->card, i, !app->link_down);
}

/* Returns true when a signal asked for the end. */
static bool
signals_run(struct app *app)
{
	struct signalfd_siginfo info;
	bool stop = false;

	while (read(app->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			print_all(app);
		else if (info.ssi_signo == SIGUSR2)
			link_change(app);
		else
			stop = true;
	}
	return stop;
}

static bool
all_gone(const struct app *app)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < app->n_fns; i++) {
		if (card_fn_has_client(&app->fns[i]))
			return false;
		n += card_fn_clients(&app->fns[i]);
	}
	return n > 0;
}

/* Waits until something is ready or due. */
static int
wait_ready(struct app *app, bool busy)
{
	struct pollfd pfds[1 + MAX_FNS + 2 * LIQM_MAX_PORTS];
	unsigned int n = 0;
	uint64_t due, now = now_ns(NULL);
	struct timespec ts = {0, 0};

	pfds[n++] = (struct pollfd){.fd = app->signal_fd, .events = POLLIN};
	for (unsigned int i = 0; i < app->n_fns; i++) {
		pfds[n].fd = card_fn_poll(&app->fns[i], &pfds[n].events);
		pfds[n++].revents = 0;
	}
	due = liqm_card_next_ns(app->card);
	for (unsigned int i = 0; i < app->n_wires; i++) {
		uint64_t next = card_wire_next_ns(&app->wires[i]);

		n += card_wire_poll(&app->wires[i], &pfds[n]);
		due = next < due ? next : due;
	}
	if (!busy && due > now) {
		ts.tv_sec = (time_t)((due - now) / 1000000000u);
		ts.tv_nsec = (long)((due - now) % 1000000000u);
	}
	if (ppoll(pfds, n, due == LIQM_NEVER && !busy ? NULL : &ts, NULL) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int
serve(struct app *app)
{
	bool busy = false;

	for (;;) {
		int rc = wait_ready(app, busy);

		if (rc != 0) {
			fprintf(stderr, "liquidio-card: poll: %s\n", strerror(-rc));
			return EXIT_FAILURE;
		}
		if (signals_run(app))
			return EXIT_SUCCESS;
		busy = false;
		for (unsigned int i = 0; i < app->n_fns; i++)
			busy |= card_fn_run(&app->fns[i]);
		for (unsigned int i = 0; i < app->n_wires; i++)
			card_wire_run(&app->wires[i], now_ns(NULL));
		liqm_card_tick(app->card);
		if (app->opts.once && all_gone(app))
			return EXIT_SUCCESS;
	}
}

int
main(int argc, char **argv)
{
	static struct app app = {.signal_fd = -1};
	int rc = card_opts_parse(&app.opts, argc, argv);

	if (rc != 0)
		return rc > 0 ? EXIT_SUCCESS : 2;
	rc = EXIT_FAILURE;
	if (setup(&app) == 0) {
		puts("ready");
		fflush(stdout);
		rc = serve(&app);
		print_all(&app);
	}
	teardown(&app);
	return rc;
}
