/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the packet applications share: options and configuration, EAL and stack start, one thread
 * per worker lcore, the rate line, the final report and the exit codes.
 *
 *   main:    app_parse -> app_start -> (open sockets) -> app_run -> app_finish
 *   worker:  loop { weir_turn; own work } while (app_continue(w, work))
 *
 * The main lcore sleeps and prints; when it is the only lcore it is worker 0 and prints between
 * turns. All functions belong to the main thread unless they take a struct app_worker: those
 * belong to that worker's thread. app_quit() may be called by any thread.
 */
#ifndef APP_H
#define APP_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <weir/weir.h>

#include "opt.h"

enum app_exit {
	APP_OK = 0,
	APP_FAIL = 1,       /* port, EAL, peer or run failure */
	APP_USAGE = 2,      /* wrong option, value or configuration */
	APP_ACCOUNTING = 3, /* a frame is unaccounted for */
	APP_SHORT = 4,      /* ended before --count was reached */
};

struct app;

struct app_worker {
	struct app *app;
	struct weir_lcore *lc;
	unsigned int index;
	unsigned int turns;
	bool is_main; /* this thread prints, too */
	int result;   /* enum app_exit */

	/* Written by the worker only; the rate line reads them. */
	alignas(64) _Atomic uint64_t datagrams;
	_Atomic uint64_t payload_bytes;
};

/** One line of the table at the end. */
struct app_run {
	const char *name; /* e.g. "recvBurst/32" */
	uint64_t datagrams, payload_bytes;
	uint64_t elapsed_ns, cycles;
};

/** JSON on the way out: commas are its business. */
struct app_json {
	FILE *f;
	bool first;
};

struct app {
	/* Set by main() before app_parse(). */
	const char *name;
	const char *purpose; /* one line of the usage */
	const char *words;   /* what is expected beside options, or "" */
	const char *notes;   /* end of the usage */
	const struct opt *opts;
	bool is_sender;                      /* the payload counted is sent payload */
	int (*worker)(struct app_worker *w); /* body of each worker; returns enum app_exit */
	void (*report)(struct app *app);     /* own lines of the report, to app->out */
	void (*json)(struct app *app, struct app_json *j); /* own members of the object */

	/* Set by app_parse(). */
	char **rest; /* words that are no options */
	int n_rest;
	FILE *out; /* for people: stdout, or stderr with --json */
	bool verbose;
	bool duration_given;

	/* Set by app_start(). */
	struct weir_conf *conf;
	struct weir_stack *stack;
	unsigned int n_workers, n_ports;
	struct app_worker *workers;

	_Atomic int quit;             /* set: workers end their loops */
	_Atomic uint64_t t0_ns;       /* start of the measured time */
	_Atomic(const char *) reason; /* why it ended */
};

/** app_parse(), app_start(): go on. Anything else is the exit code. */
#define APP_GO (-1)

/**
 * Split argv at "--", answer --help, read the application's options and the configuration.
 * Nothing is started yet.
 */
int app_parse(struct app *app, int argc, char **argv);

/** "PROGRAM: text" to stderr; returns APP_USAGE. */
int app_usage_error(const struct app *app, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** "PROGRAM: text" to stderr; returns APP_FAIL. */
int app_error(const struct app *app, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Start EAL, make the stack that was configured and start it. */
int app_start(struct app *app);

/** Run all workers until the last has returned; gives the worst of their results. */
int app_run(struct app *app);

/** End all loops; reason (a literal) is kept if it is the first. */
void app_quit(struct app *app, const char *reason);

/** Measured time starts now: --duration and the rate line count from here. */
void app_clock_start(struct app *app);

/**
 * To be called once per turn with what the turn handled (0: idle). False: leave the loop. Prints
 * the rate line when this is the main thread.
 */
bool app_continue(struct app_worker *w, unsigned int work);

/** The same for a loop that has an end of its own, whether the run is over or not. */
void app_turn_done(struct app_worker *w, unsigned int work);

/** Add to the worker's counters. */
static inline void
app_count(struct app_worker *w, uint64_t datagrams, uint64_t payload_bytes)
{
	/* One writer: a plain add on atomics that others may read. */
	atomic_store_explicit(&w->datagrams,
			      atomic_load_explicit(&w->datagrams, memory_order_relaxed) + datagrams,
			      memory_order_relaxed);
	atomic_store_explicit(&w->payload_bytes,
			      atomic_load_explicit(&w->payload_bytes, memory_order_relaxed) +
				      payload_bytes,
			      memory_order_relaxed);
}

/** True when at least one port has its link up. Any worker. */
bool app_link_up(struct app *app);

/**
 * Stop the stack (all sockets closed by the caller), print the report and the accounting verdict,
 * free everything. run may be NULL. Returns the exit code: code, or APP_ACCOUNTING.
 */
int app_finish(struct app *app, const struct app_run *run, int code);

void app_json_open(struct app_json *j, const char *key, char bracket);
void app_json_close(struct app_json *j, char bracket);
void app_json_u64(struct app_json *j, const char *key, uint64_t value);
void app_json_i64(struct app_json *j, const char *key, int64_t value);
void app_json_real(struct app_json *j, const char *key, double value);
void app_json_bool(struct app_json *j, const char *key, bool value);
void app_json_text(struct app_json *j, const char *key, const char *value);

#endif /* APP_H */
