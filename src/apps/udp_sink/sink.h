/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp_sink: one socket, read by worker 0; further workers only poll their queues and deliver into
 * it. main.c reads options and reports, sink.c receives.
 */
#ifndef SINK_H
#define SINK_H

#include "app.h"
#include "check.h"

struct sink {
	struct app app; /* first: the worker finds the sink by it */

	/* Options. */
	uint64_t port, count, batch, rcvbuf_bytes, work_ns, idle_timeout_ns;
	struct weir_addr bind;
	bool copy, verify, has_rcvbuf;

	struct weir_socket *sk;
	struct check *check; /* NULL without --check */

	/* Written by worker 0 while it runs. */
	uint64_t n_received, payload_bytes;
	uint64_t first_ns, last_ns, first_tsc, last_tsc;
	struct weir_socket_stats sk_stats; /* taken before the socket is closed */
};

/** Body of every worker; returns enum app_exit. */
int sink_worker(struct app_worker *w);

#endif /* SINK_H */
