/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udp_sink: receives UDP datagrams through weir as fast as they come, counts them and says where
 * each one went. Options, socket and report; the loop is in sink.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "sink.h"
#include "stamp.h"

static struct sink sink = {.port = 6666, .batch = 32};

static int
on_bind(void *ctx, const char *value, char *why, size_t why_size)
{
	if (weir_addr_parse(value, ctx) == 0)
		return 0;
	snprintf(why, why_size, "an address such as 10.0.0.1");
	return -1;
}

/* clang-format off */
static const struct opt sink_opts[] = {
	{.name = "port", .letters = "l", .arg = "N", .kind = OPT_UINT, .to = &sink.port, .min = 1,
	 .max = 65535, .help = "UDP port to listen on (6666)"},
	{.name = "bind", .arg = "ADDR", .kind = OPT_CALL, .to = &sink.bind, .call = on_bind,
	 .help = "only datagrams for this address of ours (any)"},
	{.name = "count", .letters = "c", .arg = "N", .kind = OPT_UINT, .to = &sink.count,
	 .max = UINT64_MAX, .help = "end after N datagrams, 0: never (0)"},
	{.name = "idle-timeout", .arg = "SECONDS", .kind = OPT_SECONDS,
	 .to = &sink.idle_timeout_ns, .min = WEIR_NS_PER_MS, .max = 86400 * WEIR_NS_PER_S,
	 .help = "end when none has come for so long, once one has"},
	{.name = "batch", .letters = "b", .arg = "N", .kind = OPT_UINT, .to = &sink.batch,
	 .min = 1, .max = WEIR_MAX_BURST, .help = "datagrams per receive call (32)"},
	{.name = "rcvbuf", .arg = "BYTES", .kind = OPT_UINT, .to = &sink.rcvbuf_bytes,
	 .given = &sink.has_rcvbuf, .min = 1, .max = UINT32_MAX,
	 .help = "receive buffer in bytes of true size (stack.rcvbuf)"},
	{.name = "copy", .kind = OPT_FLAG, .to = &sink.copy,
	 .help = "receive by copying, one datagram per call"},
	{.name = "check", .kind = OPT_FLAG, .to = &sink.verify,
	 .help = "verify what udpflood --stamp sent: missing, duplicated,\nreordered, corrupt"},
	{.name = "work-ns", .arg = "N", .kind = OPT_UINT, .to = &sink.work_ns,
	 .max = WEIR_NS_PER_S, .help = "a slow reader: busy for so long per datagram (0)"},
	{.name = NULL},
};
/* clang-format on */

static int
open_socket(void)
{
	struct weir_socket_conf conf;
	struct weir_addr local = sink.bind;
	char text[WEIR_ADDR_STRLEN];
	int rc;

	weir_socket_conf_init(&conf);
	conf.rcvbuf = (unsigned int)sink.rcvbuf_bytes;
	if (local.family == WEIR_UNSPEC)
		local = weir_addr_v4(0, 0);
	conf.family = local.family;
	local.port = __builtin_bswap16((uint16_t)sink.port);
	weir_addr_format(&local, text, sizeof(text));
	rc = weir_socket_open(sink.app.stack, &conf, &sink.sk);
	if (rc == -EINVAL && sink.has_rcvbuf)
		return app_usage_error(&sink.app,
				       "--rcvbuf: %" PRIu64 ": allowed: up to "
				       "stack.rcvbuf_max",
				       sink.rcvbuf_bytes);
	if (rc < 0)
		return app_error(&sink.app, "socket: %s", strerror(-rc));
	rc = weir_socket_bind(sink.sk, &local);
	if (rc == -EADDRNOTAVAIL)
		return app_usage_error(&sink.app,
				       "--bind: %s: allowed: an address of a port "
				       "(--addr)",
				       text);
	if (rc < 0)
		return app_error(&sink.app, "bind to %s: %s", text, strerror(-rc));
	if (sink.verify) {
		sink.check = check_create();
		if (sink.check == NULL)
			return app_error(&sink.app, "out of memory");
	}
	fprintf(sink.app.out, "listening on %s\n", text);
	fflush(sink.app.out);
	return APP_GO;
}

/* Damaged payload is a failure; loss and disorder are what a network may do, and are told. */
static int
judge_check(int code)
{
	struct check_sums c;

	if (sink.check == NULL)
		return code;
	check_sums_get(sink.check, &c);
	if (c.corrupt == 0)
		return code;
	return app_error(&sink.app, "--check: %" PRIu64 " datagrams were damaged or not stamped",
			 c.corrupt);
}

static void
report(struct app *app)
{
	struct check_sums c;

	fprintf(app->out,
		"socket: queued %" PRIu64 ", read %" PRIu64 ", refused %" PRIu64
		" buffer full, %" PRIu64 " pool low; buffer %" PRIu64
		" bytes; queue taken over %" PRIu64 " times\n",
		sink.sk_stats.queued, sink.sk_stats.read, sink.sk_stats.rcvq_full,
		sink.sk_stats.mem_limit, sink.sk_stats.rcvbuf_bytes, sink.sk_stats.splices);
	if (sink.check == NULL)
		return;
	check_sums_get(sink.check, &c);
	fprintf(app->out,
		"check: %" PRIu64 " stamped from %" PRIu64 " sources: missing %" PRIu64
		", duplicated %" PRIu64 ", reordered %" PRIu64 ", corrupt %" PRIu64 "\n",
		c.datagrams, c.sources, c.missing, c.duplicated, c.reordered, c.corrupt);
	if (c.ancient != 0 || c.untracked != 0)
		fprintf(app->out,
			"check: %" PRIu64 " too old to judge, %" PRIu64 " from sources beyond %d\n",
			c.ancient, c.untracked, CHECK_SOURCES / 4 * 3);
}

static void
json(struct app *app, struct app_json *j)
{
	struct check_sums c;

	(void)app;
	app_json_open(j, "socket", '{');
	app_json_u64(j, "queued", sink.sk_stats.queued);
	app_json_u64(j, "read", sink.sk_stats.read);
	app_json_u64(j, "rcvq_full", sink.sk_stats.rcvq_full);
	app_json_u64(j, "mem_limit", sink.sk_stats.mem_limit);
	app_json_u64(j, "rcvbuf_bytes", sink.sk_stats.rcvbuf_bytes);
	app_json_u64(j, "splices", sink.sk_stats.splices);
	app_json_close(j, '}');
	if (sink.check == NULL)
		return;
	check_sums_get(sink.check, &c);
	app_json_open(j, "check", '{');
	app_json_u64(j, "datagrams", c.datagrams);
	app_json_u64(j, "sources", c.sources);
	app_json_u64(j, "missing", c.missing);
	app_json_u64(j, "duplicated", c.duplicated);
	app_json_u64(j, "reordered", c.reordered);
	app_json_u64(j, "ancient", c.ancient);
	app_json_u64(j, "corrupt", c.corrupt);
	app_json_u64(j, "untracked", c.untracked);
	app_json_close(j, '}');
}

int
main(int argc, char **argv)
{
	char name[32];
	struct app_run run = {.name = name};
	int code;

	sink.app.name = "udp_sink";
	sink.app.purpose =
		"Receive UDP datagrams through weir, count them, say where each one went.";
	sink.app.words = "";
	sink.app.opts = sink_opts;
	sink.app.worker = sink_worker;
	sink.app.report = report;
	sink.app.json = json;
	stamp_init();

	code = app_parse(&sink.app, argc, argv);
	if (code == APP_GO && sink.app.n_rest > 0)
		code = app_usage_error(&sink.app, "%s: not expected here", sink.app.rest[0]);
	if (code != APP_GO)
		return code;
	code = app_start(&sink.app);
	if (code == APP_GO)
		code = open_socket();
	if (code == APP_GO) {
		code = app_run(&sink.app);
		if (sink.copy)
			snprintf(name, sizeof(name), "recv");
		else
			snprintf(name, sizeof(name), "recvBurst/%" PRIu64, sink.batch);
		run.datagrams = sink.n_received;
		run.payload_bytes = sink.payload_bytes;
		run.elapsed_ns = sink.last_ns - sink.first_ns;
		run.cycles = sink.last_tsc - sink.first_tsc;
		weir_socket_stats_get(sink.sk, &sink.sk_stats);
		weir_socket_close(sink.sk);
		if (code == APP_OK || code == APP_SHORT)
			code = judge_check(code);
		code = app_finish(&sink.app, &run, code);
	} else {
		if (sink.sk != NULL)
			weir_socket_close(sink.sk);
		code = app_finish(&sink.app, NULL, code);
	}
	check_destroy(sink.check);
	return code;
}
