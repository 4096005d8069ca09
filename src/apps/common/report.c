/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rate line, final report, JSON: see report.h.
 *
 * The rate line reads counters that the workers are writing: each is exact, together they are not
 * of one instant. The final report comes after all workers have detached and the stack has been
 * stopped, when the accounting identity holds exactly or is broken.
 */
#include "report.h"

#include <inttypes.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

uint64_t report_interval_ns = WEIR_NS_PER_S;
uint64_t report_duration_ns;
bool report_has_duration;
bool report_json;
bool report_verbose;

static struct {
	uint64_t start_ns, last_ns;
	uint64_t payload_bytes;
	struct weir_stats stats;
} last;

static uint64_t
payload_bytes(const struct app *app)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < app->n_workers; i++)
		sum += atomic_load_explicit(&app->workers[i].payload_bytes, memory_order_relaxed);
	return sum;
}

void
report_ports(struct app *app)
{
	struct weir_port_info info;

	for (unsigned int i = 0; weir_port_info_get(app->stack, i, &info) == 0; i++)
		fprintf(app->out,
			"port %u: %s, %02x:%02x:%02x:%02x:%02x:%02x, mtu %u, queues %u rx %u tx, "
			"checksums rx %s tx %s, %s, link %s\n",
			i, info.device, info.mac[0], info.mac[1], info.mac[2], info.mac[3],
			info.mac[4], info.mac[5], info.mtu, info.rx_queues, info.tx_queues,
			info.rx_csum_offload ? "by the device" : "in software",
			info.tx_csum_offload ? "by the device" : "in software",
			info.rss ? "rss" : "no rss", info.link_up ? "up" : "down");
}

void
report_rate_start(struct app *app)
{
	weir_stats_get(app->stack, &last.stats);
	last.payload_bytes = payload_bytes(app);
	last.start_ns = weir_clock_ns();
	last.last_ns = last.start_ns;
}

void
report_rate(struct app *app, uint64_t now_ns)
{
	struct weir_stats s;
	uint64_t drops = 0, biggest = 0, payload;
	int which = -1;
	double sec, mbit;

	if (report_interval_ns == 0 || now_ns - last.last_ns < report_interval_ns)
		return;
	weir_stats_get(app->stack, &s);
	payload = payload_bytes(app);
	sec = (double)(now_ns - last.last_ns) / 1e9;
	mbit = 8e-6 / sec;
	for (int i = 0; i < WEIR_DROP_N; i++) {
		uint64_t d = s.drops[i] - last.stats.drops[i];

		drops += d;
		if (d > biggest) {
			biggest = d;
			which = i;
		}
	}
	fprintf(app->out,
		"%7.1f s  rx %.0f pps %.1f Mbit/s  tx %.0f pps %.1f Mbit/s  payload %.1f Mbit/s  "
		"drops %.0f/s",
		(double)(now_ns - last.start_ns) / 1e9,
		(double)(s.rx_frames - last.stats.rx_frames) / sec,
		(double)(s.rx_bytes - last.stats.rx_bytes) * mbit,
		(double)(s.tx_frames - last.stats.tx_frames) / sec,
		(double)(s.tx_bytes - last.stats.tx_bytes) * mbit,
		(double)(payload - last.payload_bytes) * mbit, (double)drops / sec);
	if (which >= 0)
		fprintf(app->out, " (%s %.0f/s)", weir_drop_name((enum weir_drop)which),
			(double)biggest / sec);
	fputc('\n', app->out);
	last.stats = s;
	last.payload_bytes = payload;
	last.last_ns = now_ns;
}

/* ---- JSON ---- */

static void
json_key(struct app_json *j, const char *key)
{
	if (!j->first)
		fputs(", ", j->f);
	j->first = false;
	if (key != NULL)
		fprintf(j->f, "\"%s\": ", key);
}

void
app_json_open(struct app_json *j, const char *key, char bracket)
{
	json_key(j, key);
	fputc(bracket, j->f);
	j->first = true;
}

void
app_json_close(struct app_json *j, char bracket)
{
	fputc(bracket, j->f);
	j->first = false;
}

void
app_json_u64(struct app_json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	fprintf(j->f, "%" PRIu64, value);
}

void
app_json_i64(struct app_json *j, const char *key, int64_t value)
{
	json_key(j, key);
	fprintf(j->f, "%" PRId64, value);
}

void
app_json_real(struct app_json *j, const char *key, double value)
{
	json_key(j, key);
	fprintf(j->f, "%.3f", value);
}

void
app_json_bool(struct app_json *j, const char *key, bool value)
{
	json_key(j, key);
	fputs(value ? "true" : "false", j->f);
}

void
app_json_text(struct app_json *j, const char *key, const char *value)
{
	json_key(j, key);
	fputc('"', j->f);
	for (const char *p = value; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\')
			fprintf(j->f, "\\%c", c);
		else if (c < 0x20)
			fprintf(j->f, "\\u%04x", c);
		else
			fputc(c, j->f);
	}
	fputc('"', j->f);
}

static void
json_stats(struct app_json *j, const struct weir_stats *s)
{
	app_json_open(j, "stats", '{');
	app_json_u64(j, "rx_frames", s->rx_frames);
	app_json_u64(j, "rx_bytes", s->rx_bytes);
	app_json_u64(j, "rx_delivered", s->rx_delivered);
	app_json_u64(j, "rx_copies", s->rx_copies);
	app_json_u64(j, "rx_read", s->rx_read);
	app_json_u64(j, "rx_arp", s->rx_consumed[WEIR_PROTO_ARP]);
	app_json_u64(j, "rx_icmp", s->rx_consumed[WEIR_PROTO_ICMP]);
	app_json_u64(j, "rx_nd", s->rx_consumed[WEIR_PROTO_ND]);
	app_json_u64(j, "rx_group", s->rx_consumed[WEIR_PROTO_GROUP]);
	app_json_u64(j, "rx_joined", s->rx_consumed[WEIR_PROTO_FRAG]);
	app_json_u64(j, "rx_frags", s->rx_frags);
	app_json_u64(j, "rx_queued", s->rx_queued);
	app_json_u64(j, "rx_in_mesh", s->rx_in_mesh);
	app_json_u64(j, "tx_datagrams", s->tx_datagrams);
	app_json_u64(j, "tx_protocol", s->tx_protocol);
	app_json_u64(j, "tx_frames", s->tx_frames);
	app_json_u64(j, "tx_bytes", s->tx_bytes);
	app_json_u64(j, "tx_held", s->tx_held);
	app_json_u64(j, "tx_batched", s->tx_batched);
	app_json_u64(j, "nic_missed", s->nic_missed);
	app_json_u64(j, "nic_errors", s->nic_errors);
	app_json_u64(j, "nic_nombuf", s->nic_nombuf);
	app_json_u64(j, "turns", s->turns);
	app_json_u64(j, "idle_turns", s->idle_turns);
	app_json_open(j, "drops", '{');
	for (int i = 0; i < WEIR_DROP_N; i++)
		if (s->drops[i] != 0)
			app_json_u64(j, weir_drop_name((enum weir_drop)i), s->drops[i]);
	app_json_close(j, '}');
	app_json_close(j, '}');
}

/* What the devices say, taken before the ports are stopped. */
struct device_row {
	char name[64];
	struct rte_eth_stats s;
	unsigned int n_more;
	struct { /* the driver's own counters that are not 0 */
		char name[RTE_ETH_XSTATS_NAME_SIZE];
		uint64_t value;
	} more[64];
};

static void
device_xstats(struct device_row *row, uint16_t ethdev)
{
	int n = rte_eth_xstats_get(ethdev, NULL, 0);
	struct rte_eth_xstat_name *names = n > 0 ? calloc((size_t)n, sizeof(*names)) : NULL;
	struct rte_eth_xstat *values = n > 0 ? calloc((size_t)n, sizeof(*values)) : NULL;

	row->n_more = 0;
	if (names != NULL && values != NULL &&
	    rte_eth_xstats_get_names(ethdev, names, (unsigned int)n) == n &&
	    rte_eth_xstats_get(ethdev, values, (unsigned int)n) == n)
		for (int i = 0; i < n && row->n_more < RTE_DIM(row->more); i++) {
			if (values[i].value == 0 || values[i].id >= (uint64_t)n)
				continue;
			memcpy(row->more[row->n_more].name, names[values[i].id].name,
			       sizeof(row->more[0].name));
			row->more[row->n_more++].value = values[i].value;
		}
	free(names);
	free(values);
}

static unsigned int
device_rows(struct app *app, struct device_row *rows)
{
	unsigned int n = 0;
	struct weir_port_info info;

	for (; n < WEIR_MAX_PORTS && weir_port_info_get(app->stack, n, &info) == 0; n++) {
		snprintf(rows[n].name, sizeof(rows[n].name), "%s", info.device);
		if (rte_eth_stats_get(info.ethdev, &rows[n].s) != 0)
			memset(&rows[n].s, 0, sizeof(rows[n].s));
		device_xstats(&rows[n], info.ethdev);
	}
	return n;
}

static double
per(double a, uint64_t b)
{
	return b != 0 ? a / (double)b : 0.0;
}

static void
text_report(struct app *app, const struct app_run *run, const struct weir_stats *s,
	    const struct device_row *rows, unsigned int n_rows)
{
	FILE *f = app->out;

	fprintf(f, "\n%-16s %-6s %12s %10s %14s %8s %8s\n", "run", "", "count", "ns/pkt", "pps",
		"cycles", "payload");
	fprintf(f, "%-16s run: 0 %12" PRIu64 " %10.2f %14.2f %8.0f %8.0f\n\n", run->name,
		run->datagrams, per((double)run->elapsed_ns, run->datagrams),
		per((double)run->datagrams * 1e9, run->elapsed_ns),
		per((double)run->cycles, run->datagrams),
		per((double)run->payload_bytes, run->datagrams));
	if (app->report != NULL)
		app->report(app);
	weir_stats_print(f, s);
	for (unsigned int i = 0; i < n_rows; i++)
		fprintf(f,
			"port %u %s: device rx %" PRIu64 " tx %" PRIu64 " missed %" PRIu64
			" rx errors %" PRIu64 " tx errors %" PRIu64 " no buffer %" PRIu64 "\n",
			i, rows[i].name, rows[i].s.ipackets, rows[i].s.opackets, rows[i].s.imissed,
			rows[i].s.ierrors, rows[i].s.oerrors, rows[i].s.rx_nombuf);
}

static void
json_report(struct app *app, const struct app_run *run, const struct weir_stats *s,
	    const struct device_row *rows, unsigned int n_rows, bool exact, int code)
{
	struct app_json j = {.f = stdout, .first = true};
	const char *why = atomic_load(&app->reason);

	app_json_open(&j, NULL, '{');
	app_json_text(&j, "program", app->name);
	app_json_open(&j, "run", '{');
	app_json_text(&j, "name", run->name);
	app_json_u64(&j, "datagrams", run->datagrams);
	app_json_u64(&j, "payload_bytes", run->payload_bytes);
	app_json_real(&j, "seconds", (double)run->elapsed_ns / 1e9);
	app_json_real(&j, "ns_per_datagram", per((double)run->elapsed_ns, run->datagrams));
	app_json_real(&j, "pps", per((double)run->datagrams * 1e9, run->elapsed_ns));
	app_json_real(&j, "cycles_per_datagram", per((double)run->cycles, run->datagrams));
	app_json_u64(&j, "workers", app->n_workers);
	app_json_text(&j, "ended", why != NULL ? why : "done");
	app_json_close(&j, '}');
	if (app->json != NULL)
		app->json(app, &j);
	json_stats(&j, s);
	app_json_open(&j, "ports", '[');
	for (unsigned int i = 0; i < n_rows; i++) {
		app_json_open(&j, NULL, '{');
		app_json_text(&j, "device", rows[i].name);
		app_json_u64(&j, "rx", rows[i].s.ipackets);
		app_json_u64(&j, "tx", rows[i].s.opackets);
		app_json_u64(&j, "missed", rows[i].s.imissed);
		app_json_u64(&j, "rx_errors", rows[i].s.ierrors);
		app_json_u64(&j, "tx_errors", rows[i].s.oerrors);
		app_json_u64(&j, "no_buffer", rows[i].s.rx_nombuf);
		app_json_open(&j, "xstats", '{');
		for (unsigned int k = 0; k < rows[i].n_more; k++)
			app_json_u64(&j, rows[i].more[k].name, rows[i].more[k].value);
		app_json_close(&j, '}');
		app_json_close(&j, '}');
	}
	app_json_close(&j, ']');
	app_json_open(&j, "accounting", '{');
	app_json_bool(&j, "exact", exact);
	app_json_i64(&j, "rx_residue", s->rx_residue);
	app_json_i64(&j, "tx_residue", s->tx_residue);
	app_json_close(&j, '}');
	app_json_i64(&j, "exit", code);
	app_json_close(&j, '}');
	fputc('\n', stdout);
}

int
report_final(struct app *app, const struct app_run *run, int code)
{
	static struct device_row rows[WEIR_MAX_PORTS];
	struct weir_stats stats;
	unsigned int n_rows = device_rows(app, rows);
	int stopped = weir_stack_stop(app->stack);
	bool exact = weir_stats_check(app->stack, &stats) == 0 && stopped == 0;
	const char *why = atomic_load(&app->reason);

	if (!exact)
		code = APP_ACCOUNTING;
	if (run == NULL)
		return code;
	text_report(app, run, &stats, rows, n_rows);
	if (why != NULL && app->verbose)
		fprintf(app->out, "ended: %s\n", why);
	if (exact)
		fprintf(app->out, "accounting: exact\n");
	else
		fprintf(app->out,
			"accounting: BROKEN: rx residue %" PRId64 ", tx residue %" PRId64 "%s\n",
			stats.rx_residue, stats.tx_residue,
			stopped != 0 ? ", and the stack did not stop" : "");
	if (report_json)
		json_report(app, run, &stats, rows, n_rows, exact, code);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		app_error(app, "the report could not be written to stdout");
		if (code == APP_OK)
			code = APP_FAIL;
	}
	return code;
}
