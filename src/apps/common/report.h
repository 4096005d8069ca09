/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the applications print: the rate line while they run, the report at the end, as text for
 * people and as one JSON object. Main thread only.
 */
#ifndef APP_REPORT_H
#define APP_REPORT_H

#include "app.h"

/* Set by the common options. */
extern uint64_t report_interval_ns;
extern uint64_t report_duration_ns;
extern bool report_has_duration;
extern bool report_json;
extern bool report_verbose;

/** One line per port: device, MAC, MTU, queues, offloads. */
void report_ports(struct app *app);

/** The rate line counts from here. */
void report_rate_start(struct app *app);

/** Print a rate line when it is due. */
void report_rate(struct app *app, uint64_t now_ns);

/** Stop the stack, print everything, judge the accounting. Returns the exit code. */
int report_final(struct app *app, const struct app_run *run, int code);

#endif /* APP_REPORT_H */
