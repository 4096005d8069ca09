/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udpflood: sends UDP datagrams through weir as fast as it can or at an even rate, and says what
 * became of them. Options, sockets and report; the loop is in flood.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flood.h"
#include "stamp.h"

#define COUNT_DEFAULT 1000000

static struct flood flood = {
	.port = 6666,
	.count = COUNT_DEFAULT,
	.payload_len = 18,
	.batch = 32,
	.src_ports = 1,
	.linger_ns = 500 * WEIR_NS_PER_MS,
	.wait_ns = 5 * WEIR_NS_PER_S,
};
static uint64_t linger_ms = 500;

static int
on_source(void *ctx, const char *value, char *why, size_t why_size)
{
	if (weir_endpoint_parse(value, ctx) == 0)
		return 0;
	snprintf(why, why_size, "ADDR:PORT, e.g. 10.0.0.2:5000; PORT 0 for an ephemeral one");
	return -1;
}

/* clang-format off */
static const struct opt flood_opts[] = {
	{.name = "port", .letters = "p", .arg = "N", .kind = OPT_UINT, .to = &flood.port, .min = 1,
	 .max = 65535, .help = "destination UDP port (6666)"},
	{.name = "count", .letters = "cl", .arg = "N", .kind = OPT_UINT, .to = &flood.count,
	 .max = UINT64_MAX, .given = &flood.has_count,
	 .help = "datagrams to send, 0: no end (1000000; with\n--duration: no end)"},
	{.name = "payload", .letters = "ms", .arg = "BYTES", .kind = OPT_UINT,
	 .to = &flood.payload_len, .max = STAMP_PAYLOAD_MAX,
	 .help = "payload of each datagram (18)"},
	{.name = "batch", .letters = "b", .arg = "N", .kind = OPT_UINT, .to = &flood.batch,
	 .min = 1, .max = WEIR_MAX_BURST, .help = "datagrams per send call (32)"},
	{.name = "rate", .arg = "PPS", .kind = OPT_UINT, .to = &flood.rate_pps, .min = 1,
	 .max = 1000000000, .help = "evenly paced, all workers together (as fast as possible)"},
	{.name = "source", .arg = "ADDR:PORT", .kind = OPT_CALL, .to = &flood.source,
	 .call = on_source, .help = "source address and (first) port (route's, ephemeral)"},
	{.name = "src-ports", .arg = "N", .kind = OPT_UINT, .to = &flood.src_ports, .min = 1,
	 .max = FLOOD_SOCKETS_MAX, .given = &flood.has_src_ports,
	 .help = "source ports to send from in turn (one per worker)"},
	{.name = "stamp", .kind = OPT_FLAG, .to = &flood.stamp,
	 .help = "sequence and time in each payload, for udp_sink --check;\nneeds a payload of "
		 "16 bytes or more"},
	{.name = "drop-when-full", .kind = OPT_FLAG, .to = &flood.drop_when_full,
	 .help = "what the full port refuses is dropped and counted instead\nof offered again"},
	{.name = "copy", .kind = OPT_FLAG, .to = &flood.copy,
	 .help = "send by copying, one datagram per call"},
	{.name = "linger", .arg = "MS", .kind = OPT_UINT, .to = &linger_ms, .max = 3600000,
	 .help = "run on after the last datagram, so that the peer can\ndrain the wire (500)"},
	{.name = "wait-link", .arg = "SECONDS", .kind = OPT_SECONDS, .to = &flood.wait_ns,
	 .max = 3600 * WEIR_NS_PER_S,
	 .help = "wait for link and neighbour before counting; 0: do not (5)"},
	{.name = NULL},
};
/* clang-format on */

/* What can be judged before EAL starts. */
static int
check_options(void)
{
	if (flood.app.n_rest == 0)
		return app_usage_error(&flood.app, "no destination; allowed: one address such as "
						   "10.0.0.1, after --");
	if (flood.app.n_rest > 1)
		return app_usage_error(&flood.app, "%s: not expected here, one destination is",
				       flood.app.rest[1]);
	if (weir_addr_parse(flood.app.rest[0], &flood.dest) < 0)
		return app_usage_error(&flood.app,
				       "%s: not a destination; allowed: an address such "
				       "as 10.0.0.1",
				       flood.app.rest[0]);
	flood.dest.port = __builtin_bswap16((uint16_t)flood.port);
	if (flood.stamp && flood.payload_len < STAMP_LEN)
		return app_usage_error(&flood.app,
				       "--payload: %" PRIu64 ": allowed with --stamp: "
				       "%d..%d",
				       flood.payload_len, STAMP_LEN, STAMP_PAYLOAD_MAX);
	if (flood.copy && flood.drop_when_full)
		return app_usage_error(&flood.app, "--drop-when-full: not possible with --copy");
	if (flood.source.port != 0 &&
	    __builtin_bswap16(flood.source.port) + flood.src_ports - 1 > 65535)
		return app_usage_error(&flood.app,
				       "--src-ports: %" PRIu64 ": allowed: what fits "
				       "below port 65536, counted from --source",
				       flood.src_ports);
	flood.linger_ns = linger_ms * WEIR_NS_PER_MS;
	if (flood.app.duration_given && !flood.has_count)
		flood.count = 0;
	return APP_GO;
}

static int
open_socket(struct flood_socket *fs, unsigned int i)
{
	struct weir_socket_conf conf;
	struct weir_addr local = flood.source;
	char text[WEIR_ADDR_STRLEN];
	int rc;

	weir_socket_conf_init(&conf);
	conf.broadcast = true;
	conf.family = flood.dest.family;
	rc = weir_socket_open(flood.app.stack, &conf, &fs->sk);
	if (rc == -EMFILE)
		return app_usage_error(&flood.app,
				       "--src-ports: %" PRIu64 ": allowed: up to "
				       "stack.max_sockets",
				       flood.src_ports);
	if (rc < 0)
		return app_error(&flood.app, "socket: %s", strerror(-rc));
	if (local.family != WEIR_UNSPEC) {
		if (local.port != 0)
			local.port =
				__builtin_bswap16((uint16_t)(__builtin_bswap16(local.port) + i));
		rc = weir_socket_bind(fs->sk, &local);
		weir_addr_format(&local, text, sizeof(text));
		if (rc == -EADDRNOTAVAIL)
			return app_usage_error(&flood.app,
					       "--source: %s: allowed: an address of a "
					       "port (--addr)",
					       text);
		if (rc < 0)
			return app_error(&flood.app, "bind to %s: %s", text, strerror(-rc));
	}
	rc = weir_socket_connect(fs->sk, &flood.dest);
	weir_addr_format(&flood.dest, text, sizeof(text));
	if (rc == -ENETUNREACH)
		return app_error(&flood.app, "no route to %s: see --addr, --gateway, --route",
				 text);
	if (rc < 0)
		return app_error(&flood.app, "connect to %s: %s", text, strerror(-rc));
	return APP_GO;
}

static int
prepare(void)
{
	unsigned int n = flood.app.n_workers;
	int rc = APP_GO;

	if (!flood.has_src_ports)
		flood.src_ports = n;
	if (flood.stamp && flood.src_ports < n)
		return app_usage_error(&flood.app,
				       "--src-ports: %" PRIu64 ": allowed with --stamp: "
				       "at least one per worker, %u",
				       flood.src_ports, n);
	if (flood.rate_pps != 0 && flood.rate_pps < n)
		return app_usage_error(&flood.app,
				       "--rate: %" PRIu64 ": allowed: at least one per "
				       "worker, %u",
				       flood.rate_pps, n);
	flood.sockets = calloc(flood.src_ports, sizeof(*flood.sockets));
	flood.parts = aligned_alloc(64, n * sizeof(*flood.parts));
	if (flood.sockets == NULL || flood.parts == NULL)
		return app_error(&flood.app, "out of memory");
	memset(flood.parts, 0, n * sizeof(*flood.parts));
	for (unsigned int i = 0; i < n; i++) {
		flood.parts[i].quota =
			flood.count == 0 ? UINT64_MAX : flood.count / n + (i < flood.count % n);
		flood.parts[i].rate_pps = flood.rate_pps / n + (i < flood.rate_pps % n);
	}
	atomic_store(&flood.n_sending, n);
	for (; rc == APP_GO && flood.n_sockets < flood.src_ports; flood.n_sockets++)
		rc = open_socket(&flood.sockets[flood.n_sockets], flood.n_sockets);
	return rc;
}

static void
close_sockets(void)
{
	for (unsigned int i = 0; i < flood.n_sockets; i++)
		if (flood.sockets[i].sk != NULL)
			weir_socket_close(flood.sockets[i].sk);
}

/* All workers' parts in one; times from the first that began to the last that ended. */
static struct flood_part
sum_parts(void)
{
	struct flood_part sum = flood.parts[0];

	for (unsigned int i = 1; i < flood.app.n_workers; i++) {
		const struct flood_part *p = &flood.parts[i];

		sum.n_sent += p->n_sent;
		sum.payload_bytes += p->payload_bytes;
		sum.n_full += p->n_full;
		sum.n_refused += p->n_refused;
		sum.n_nobufs += p->n_nobufs;
		if (p->last_ns > sum.last_ns)
			sum.last_ns = p->last_ns;
		if (p->last_tsc > sum.last_tsc)
			sum.last_tsc = p->last_tsc;
	}
	return sum;
}

static void
report(struct app *app)
{
	struct flood_part sum = sum_parts();

	fprintf(app->out,
		"flood: accepted %" PRIu64 ", calls that met a full queue %" PRIu64
		", turns without buffers %" PRIu64 ", refused by the peer %" PRIu64 "\n",
		sum.n_sent, sum.n_full, sum.n_nobufs, sum.n_refused);
}

static void
json(struct app *app, struct app_json *j)
{
	struct flood_part sum = sum_parts();

	(void)app;
	app_json_open(j, "flood", '{');
	app_json_u64(j, "accepted", sum.n_sent);
	app_json_u64(j, "calls_queue_full", sum.n_full);
	app_json_u64(j, "turns_no_buffers", sum.n_nobufs);
	app_json_u64(j, "refused_by_peer", sum.n_refused);
	app_json_u64(j, "source_ports", flood.n_sockets);
	app_json_close(j, '}');
}

int
main(int argc, char **argv)
{
	char name[32];
	struct app_run run = {.name = name};
	int code;

	flood.app.name = "udpflood";
	flood.app.purpose = "Send UDP datagrams to a destination through weir, say what became of "
			    "them.";
	flood.app.words = "DESTINATION";
	flood.app.opts = flood_opts;
	flood.app.is_sender = true;
	flood.app.worker = flood_worker;
	flood.app.report = report;
	flood.app.json = json;
	stamp_init();

	code = app_parse(&flood.app, argc, argv);
	if (code == APP_GO)
		code = check_options();
	if (code != APP_GO)
		return code;
	code = app_start(&flood.app);
	if (code == APP_GO)
		code = prepare();
	if (code == APP_GO) {
		struct flood_part sum;

		code = app_run(&flood.app);
		sum = sum_parts();
		if (flood.copy)
			snprintf(name, sizeof(name), "send");
		else
			snprintf(name, sizeof(name), "sendBurst/%" PRIu64, flood.batch);
		run.datagrams = sum.n_sent;
		run.payload_bytes = sum.payload_bytes;
		run.elapsed_ns = sum.last_ns - sum.first_ns;
		run.cycles = sum.last_tsc - sum.first_tsc;
		close_sockets();
		code = app_finish(&flood.app, &run, code);
	} else {
		close_sockets();
		code = app_finish(&flood.app, NULL, code);
	}
	free(flood.sockets);
	free(flood.parts);
	return code;
}
