/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Life of a packet application, from argv to exit code: see app.h. This file parses and starts;
 * report.c prints.
 *
 * Settings from the command line are only noted while options are read and carried out after all
 * configuration files, so that the command line wins wherever the options stand. Everything that
 * can be judged without EAL is judged before EAL starts.
 */
#include "app.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include "report.h"

#define MAX_NOTES    256
#define MAX_FILES    8
#define MAX_SECTIONS 4096 /* [route N] and [neigh N]: N below this */

/* A setting given on the command line, to be made once the files are read. */
struct note {
	enum { NOTE_SET, NOTE_ADDR, NOTE_ROUTE, NOTE_NEIGH } kind;
	const char *origin; /* the option */
	char section[24];   /* SET, ADDR */
	char key[32];       /* SET */
	char value[256];    /* SET, ADDR: the value; ROUTE: the prefix; NEIGH: the address */
	char via[WEIR_ADDR_STRLEN]; /* ROUTE: gateway; NEIGH: the MAC */
	char port[8];               /* ROUTE, NEIGH: port, or "auto" */
};

static struct {
	const char *files[MAX_FILES];
	unsigned int n_files;
	struct note notes[MAX_NOTES];
	unsigned int n_notes;
	int eal_argc;
	char **eal_argv;
	bool has_separator;
	uint64_t workers; /* 0: as many as there are lcores for it */
	bool list_keys;
	bool eal_runs;
} cli;

static volatile sig_atomic_t signalled;

static void
on_signal(int sig)
{
	if (signalled)
		_exit(128 + sig); /* asked twice: no report, at once */
	signalled = sig;
}

int
app_usage_error(const struct app *app, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", app->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return APP_USAGE;
}

int
app_error(const struct app *app, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", app->name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return APP_FAIL;
}

/* ---- options: noted ---- */

static struct note *
note(int kind, const char *origin, char *why, size_t why_size)
{
	struct note *n;

	if (cli.n_notes == MAX_NOTES) {
		snprintf(why, why_size, "at most %d settings; put them into a --config file",
			 MAX_NOTES);
		return NULL;
	}
	n = &cli.notes[cli.n_notes++];
	memset(n, 0, sizeof(*n));
	n->kind = kind;
	n->origin = origin;
	return n;
}

/*
 * "[PORT:]REST": digits and a colon in front of something that is not an IPv6 address as a whole.
 * Gives REST and the port's number, -1 when there was none; NULL when it is too large.
 */
static const char *
split_port(const char *value, int *port)
{
	size_t digits = strspn(value, "0123456789");
	struct weir_addr a;
	uint8_t len;
	unsigned long n;

	*port = -1;
	if (digits == 0 || value[digits] != ':' || weir_prefix_parse(value, &a, &len) == 0)
		return value;
	n = strtoul(value, NULL, 10);
	if (digits > 4 || n >= WEIR_MAX_PORTS)
		return NULL;
	*port = (int)n;
	return value + digits + 1;
}

static int
copy(char *to, size_t size, const char *from, size_t len, char *why, size_t why_size)
{
	if (len >= size) {
		snprintf(why, why_size, "at most %zu characters", size - 1);
		return -1;
	}
	memcpy(to, from, len);
	to[len] = '\0';
	return 0;
}

/* Options that set one key of a port: ctx says which, and what the value looks like. */
struct port_key {
	const char *origin, *key, *form;
};

static int
on_port_key(void *ctx, const char *value, char *why, size_t why_size)
{
	const struct port_key *pk = ctx;
	bool is_addr = strcmp(pk->key, "address") == 0;
	struct note *n;
	int port;
	const char *rest = split_port(value, &port);

	if (rest == NULL || *rest == '\0') {
		snprintf(why, why_size, "%s, PORT 0..%d", pk->form, WEIR_MAX_PORTS - 1);
		return -1;
	}
	n = note(is_addr ? NOTE_ADDR : NOTE_SET, pk->origin, why, why_size);
	if (n == NULL)
		return -1;
	snprintf(n->section, sizeof(n->section), "port %d", port < 0 ? 0 : port);
	snprintf(n->key, sizeof(n->key), "%s", pk->key);
	return copy(n->value, sizeof(n->value), rest, strlen(rest), why, why_size);
}

static int
on_gateway(void *ctx, const char *value, char *why, size_t why_size)
{
	struct weir_addr a;
	struct note *n;
	int port;
	const char *rest = split_port(value, &port);

	(void)ctx;
	if (rest == NULL || weir_addr_parse(rest, &a) < 0) {
		snprintf(why, why_size, "[PORT:]ADDR, e.g. 10.0.0.1 or 1:10.0.0.1, PORT 0..%d",
			 WEIR_MAX_PORTS - 1);
		return -1;
	}
	n = note(NOTE_ROUTE, "--gateway", why, why_size);
	if (n == NULL)
		return -1;
	snprintf(n->value, sizeof(n->value), a.family == WEIR_IPV4 ? "0.0.0.0/0" : "::/0");
	snprintf(n->port, sizeof(n->port), port < 0 ? "auto" : "%d", port);
	return copy(n->via, sizeof(n->via), rest, strlen(rest), why, why_size);
}

static int
on_route(void *ctx, const char *value, char *why, size_t why_size)
{
	static const char form[] = "PREFIX,via=ADDR[,port=N] or PREFIX,port=N, "
				   "e.g. 10.2.0.0/16,via=10.0.0.1";
	size_t len = strcspn(value, ",");
	const char *p = value + len;
	struct note *n = note(NOTE_ROUTE, "--route", why, why_size);

	(void)ctx;
	if (n == NULL || copy(n->value, sizeof(n->value), value, len, why, why_size) < 0)
		return -1;
	snprintf(n->port, sizeof(n->port), "auto");
	snprintf(why, why_size, "%s", form);
	while (*p == ',') {
		p++;
		len = strcspn(p, ",");
		if (strncmp(p, "via=", 4) == 0 && len > 4) {
			if (copy(n->via, sizeof(n->via), p + 4, len - 4, why, why_size) < 0)
				return -1;
		} else if (strncmp(p, "port=", 5) == 0 && len > 5) {
			if (copy(n->port, sizeof(n->port), p + 5, len - 5, why, why_size) < 0)
				return -1;
		} else {
			return -1;
		}
		p += len;
	}
	return n->value[0] != '\0' && (n->via[0] != '\0' || strcmp(n->port, "auto") != 0) ? 0 : -1;
}

static int
on_neigh(void *ctx, const char *value, char *why, size_t why_size)
{
	struct note *n;
	int port;
	const char *rest = split_port(value, &port);
	const char *eq = rest != NULL ? strchr(rest, '=') : NULL;

	(void)ctx;
	if (eq == NULL || eq == rest) {
		snprintf(why, why_size,
			 "[PORT:]ADDR=MAC, e.g. 10.0.0.2=02:00:00:00:00:02, "
			 "PORT 0..%d",
			 WEIR_MAX_PORTS - 1);
		return -1;
	}
	n = note(NOTE_NEIGH, "--neigh", why, why_size);
	if (n == NULL ||
	    copy(n->value, sizeof(n->value), rest, (size_t)(eq - rest), why, why_size) < 0)
		return -1;
	snprintf(n->port, sizeof(n->port), port < 0 ? "auto" : "%d", port);
	return copy(n->via, sizeof(n->via), eq + 1, strlen(eq + 1), why, why_size);
}

/* SECTION.KEY=VALUE; "port0" and "port 0" are the same section. */
static int
on_set(void *ctx, const char *value, char *why, size_t why_size)
{
	const char *eq = strchr(value, '=');
	const char *dot = strchr(value, '.');
	size_t alpha;
	struct note *n;

	(void)ctx;
	if (eq == NULL || dot == NULL || dot > eq || dot == value || dot + 1 == eq) {
		snprintf(why, why_size,
			 "SECTION.KEY=VALUE, e.g. stack.burst=64 or port0.mtu=9000; "
			 "--list-keys shows all");
		return -1;
	}
	n = note(NOTE_SET, "--set", why, why_size);
	if (n == NULL ||
	    copy(n->section, sizeof(n->section) - 1, value, (size_t)(dot - value), why, why_size) <
		    0 ||
	    copy(n->key, sizeof(n->key), dot + 1, (size_t)(eq - dot - 1), why, why_size) < 0 ||
	    copy(n->value, sizeof(n->value), eq + 1, strlen(eq + 1), why, why_size) < 0)
		return -1;
	alpha = strcspn(n->section, "0123456789 ");
	if (alpha > 0 && n->section[alpha] != '\0' && n->section[alpha] != ' ') {
		memmove(n->section + alpha + 1, n->section + alpha, strlen(n->section + alpha) + 1);
		n->section[alpha] = ' ';
	}
	return 0;
}

static int
on_config(void *ctx, const char *value, char *why, size_t why_size)
{
	(void)ctx;
	if (cli.n_files == MAX_FILES) {
		snprintf(why, why_size, "at most %d files", MAX_FILES);
		return -1;
	}
	cli.files[cli.n_files++] = value;
	return 0;
}

static struct port_key key_device = {"--port-device", "device", "[PORT:]NAME"};
static struct port_key key_addr = {"--addr", "address", "[PORT:]ADDR/LEN"};
static struct port_key key_mtu = {"--mtu", "mtu", "[PORT:]BYTES"};

/* The two options of the report live in report.c's state. */
/* clang-format off */
static const struct opt common_opts[] = {
	{.name = "config", .arg = "FILE", .kind = OPT_CALL, .call = on_config,
	 .help = "read this ini file; options override it; may be repeated"},
	{.name = "port-device", .arg = "[PORT:]NAME", .kind = OPT_CALL, .to = &key_device,
	 .call = on_port_key,
	 .help = "ethdev to use as this port (default: all that EAL found, in order)"},
	{.name = "addr", .arg = "[PORT:]ADDR/LEN", .kind = OPT_CALL, .to = &key_addr,
	 .call = on_port_key, .help = "own address and prefix of a port (PORT 0); may be repeated"},
	{.name = "gateway", .arg = "[PORT:]ADDR", .kind = OPT_CALL, .call = on_gateway,
	 .help = "default route"},
	{.name = "route", .arg = "PREFIX,via=ADDR[,port=N]", .kind = OPT_CALL, .call = on_route,
	 .help = "further route; may be repeated"},
	{.name = "neigh", .arg = "[PORT:]ADDR=MAC", .kind = OPT_CALL, .call = on_neigh,
	 .help = "permanent neighbour; may be repeated"},
	{.name = "mtu", .arg = "[PORT:]BYTES", .kind = OPT_CALL, .to = &key_mtu,
	 .call = on_port_key, .help = "MTU of a port"},
	{.name = "set", .arg = "SECTION.KEY=VALUE", .kind = OPT_CALL, .call = on_set,
	 .help = "any key of the configuration, e.g. stack.burst=64"},
	{.name = "workers", .arg = "N", .kind = OPT_UINT, .to = &cli.workers, .min = 1,
	 .max = WEIR_MAX_WORKERS,
	 .help = "worker threads (default: one per EAL worker lcore, or the\nmain lcore when it is alone)"},
	{.name = "interval", .arg = "SECONDS", .kind = OPT_SECONDS, .to = &report_interval_ns,
	 .min = 0, .max = 3600 * WEIR_NS_PER_S, .help = "period of the rate line, 0: none (1)"},
	{.name = "duration", .arg = "SECONDS", .kind = OPT_SECONDS, .to = &report_duration_ns,
	 .min = WEIR_NS_PER_MS, .max = 31536000 * WEIR_NS_PER_S, .given = &report_has_duration,
	 .help = "end after this time"},
	{.name = "json", .kind = OPT_FLAG, .to = &report_json,
	 .help = "one JSON object on stdout at the end; text for people goes to stderr"},
	{.name = "verbose", .letters = "v", .kind = OPT_FLAG, .to = &report_verbose,
	 .help = "say more about ports and set-up"},
	{.name = "list-keys", .kind = OPT_FLAG, .to = &cli.list_keys,
	 .help = "print the table of all configuration keys and exit"},
	{.name = NULL},
};
/* clang-format on */

static void
usage(const struct app *app)
{
	printf("usage: %s [EAL options] -- [options]%s%s\n\n%s\n\n", app->name,
	       app->words[0] != '\0' ? " " : "", app->words, app->purpose);
	printf("EAL options choose cores, memory and devices, for example\n"
	       "  -l 1 --no-huge -m 256 --no-pci --vdev net_tap0,iface=weir0\n"
	       "The DPDK documentation lists them all. Everything after -- is for %s:\n\n",
	       app->name);
	opt_usage(stdout, app->opts);
	printf("\nPorts and set-up:\n");
	opt_usage(stdout, common_opts);
	printf("  %-30s %s\n", "-h, --help", "this text");
	printf("\nExit codes: 0 done, 1 port, peer or run failure, 2 wrong option or configuration,\n"
	       "3 a frame is unaccounted for, 4 ended before --count was reached.\n");
	if (app->notes != NULL)
		printf("\n%s\n", app->notes);
}

/* ---- configuration: carried out ---- */

/* The section "KIND i" whose key has this address or prefix; else the first unused one. */
static int
find_section(struct weir_conf *conf, const char *kind, const char *key, const char *value,
	     char section[24])
{
	struct weir_addr want, have;
	uint8_t want_len = 0, have_len = 0;
	int parsed = weir_prefix_parse(value, &want, &want_len), unused = -1;

	for (int i = 0; i < MAX_SECTIONS; i++) {
		const char *text;

		snprintf(section, 24, "%s %d", kind, i);
		text = weir_conf_get(conf, section, key);
		if (text == NULL) {
			if (unused < 0)
				unused = i;
			continue;
		}
		if (parsed == 0 && weir_prefix_parse(text, &have, &have_len) == 0 &&
		    have_len == want_len && memcmp(&have, &want, sizeof(have)) == 0)
			return 0;
	}
	snprintf(section, 24, "%s %d", kind, unused < 0 ? 0 : unused);
	return unused < 0 ? -ENOSPC : 0;
}

/* Add to the addresses of a port; the first one of the command line replaces those of the files. */
static int
set_addr(struct app *app, const struct note *n, struct weir_error *err)
{
	const char *old = NULL;
	char all[sizeof(n->value) * 2];

	for (const struct note *p = cli.notes; p < n; p++)
		if (p->kind == NOTE_ADDR && strcmp(p->section, n->section) == 0)
			old = weir_conf_get(app->conf, n->section, n->key);
	snprintf(all, sizeof(all), "%s%s%s", old != NULL ? old : "", old != NULL ? " " : "",
		 n->value);
	return weir_conf_set(app->conf, n->section, n->key, all, n->origin, err);
}

static int
carry_out(struct app *app, const struct note *n, struct weir_error *err)
{
	struct weir_conf *conf = app->conf;
	char section[24];
	int rc;

	switch (n->kind) {
	case NOTE_SET:
		return weir_conf_set(conf, n->section, n->key, n->value, n->origin, err);
	case NOTE_ADDR:
		return set_addr(app, n, err);
	case NOTE_ROUTE:
		find_section(conf, "route", "prefix", n->value, section);
		rc = weir_conf_set(conf, section, "prefix", n->value, n->origin, err);
		if (rc == 0)
			rc = weir_conf_set(conf, section, "via",
					   n->via[0] != '\0' ? n->via : "on-link", n->origin, err);
		if (rc == 0)
			rc = weir_conf_set(conf, section, "port", n->port, n->origin, err);
		return rc;
	case NOTE_NEIGH:
		find_section(conf, "neigh", "address", n->value, section);
		rc = weir_conf_set(conf, section, "address", n->value, n->origin, err);
		if (rc == 0)
			rc = weir_conf_set(conf, section, "mac", n->via, n->origin, err);
		if (rc == 0)
			rc = weir_conf_set(conf, section, "port", n->port, n->origin, err);
		return rc;
	}
	return -EINVAL;
}

static int
configure(struct app *app)
{
	struct weir_error err = {.code = 0};

	app->conf = weir_conf_create();
	if (app->conf == NULL)
		return app_error(app, "out of memory");
	for (unsigned int i = 0; i < cli.n_files; i++)
		if (weir_conf_load(app->conf, cli.files[i], &err) < 0)
			return app_usage_error(app, "--config: %s", err.text);
	for (unsigned int i = 0; i < cli.n_notes; i++)
		if (carry_out(app, &cli.notes[i], &err) < 0)
			return app_usage_error(app, "%s", err.text);
	return APP_GO;
}

int
app_parse(struct app *app, int argc, char **argv)
{
	const struct opt *tables[] = {app->opts, common_opts, NULL};
	int split = argc, rest, app_argc;
	char **app_argv;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			usage(app);
			return APP_OK;
		}
		if (split == argc && strcmp(argv[i], "--") == 0)
			split = i;
	}

	/* EAL gets argv[0..split-1]; ours begins with "--" in the place of the program's name. */
	cli.has_separator = split < argc;
	cli.eal_argc = split;
	cli.eal_argv = calloc((size_t)split + 1, sizeof(*argv));
	if (cli.eal_argv == NULL)
		return app_error(app, "out of memory");
	memcpy(cli.eal_argv, argv, (size_t)split * sizeof(*argv));
	app_argc = cli.has_separator ? argc - split : 1;
	app_argv = cli.has_separator ? argv + split : argv;
	rest = opt_parse(app->name, tables, app_argc, app_argv);
	if (rest < 0)
		return APP_USAGE;
	if (cli.list_keys) {
		weir_conf_doc(stdout);
		return APP_OK;
	}
	app->rest = app_argv + rest;
	app->n_rest = app_argc - rest;
	app->out = report_json ? stderr : stdout;
	app->verbose = report_verbose;
	app->duration_given = report_has_duration;
	return configure(app);
}

/* ---- start ---- */

static int
start_eal(struct app *app)
{
	int n;

	rte_errno = 0;
	n = rte_eal_init(cli.eal_argc, cli.eal_argv);
	if (n < 0)
		return app_error(app, "EAL did not start: %s (its own messages stand above)%s",
				 rte_strerror(rte_errno),
				 cli.has_separator || cli.eal_argc == 1
					 ? ""
					 : "; options of this program go after --");
	cli.eal_runs = true;
	if (n < cli.eal_argc - 1)
		return app_usage_error(app,
				       "%s: not an EAL option; options and words of this "
				       "program go after --",
				       cli.eal_argv[n + 1]);
	return APP_GO;
}

/* Without a device in the configuration, every ethdev becomes a port, in EAL's order. */
static int
choose_ports(struct app *app)
{
	struct weir_error err = {.code = 0};
	char section[24];
	unsigned int n = 0;
	uint16_t id;

	for (unsigned int i = 0; i < WEIR_MAX_PORTS; i++) {
		snprintf(section, sizeof(section), "port %u", i);
		if (weir_conf_get(app->conf, section, "device") != NULL)
			n++;
	}
	if (n > 0)
		return APP_GO;
	RTE_ETH_FOREACH_DEV(id) {
		char device[RTE_ETH_NAME_MAX_LEN];

		if (n == WEIR_MAX_PORTS)
			return app_error(app,
					 "more than %d ethernet devices: choose with "
					 "--port-device",
					 WEIR_MAX_PORTS);
		snprintf(section, sizeof(section), "port %u", n++);
		if (rte_eth_dev_get_name_by_port(id, device) < 0 ||
		    weir_conf_set(app->conf, section, "device", device, "EAL", &err) < 0)
			return app_error(app, "ethernet device %u: %s", id, err.text);
	}
	if (n == 0)
		return app_error(app, "no port: EAL found no ethernet device; give it one, e.g. "
				      "--vdev net_tap0 before --, or see --port-device");
	return APP_GO;
}

/* How many workers: --workers, else the configuration, else what EAL gives. */
/* EAL's own lcores; rte_lcore_count() also counts threads that drivers have registered. */
static unsigned int
eal_lcores(void)
{
	unsigned int lcore, n = 0;

	RTE_LCORE_FOREACH(lcore)
		n++;
	return n;
}

static int
choose_workers(struct app *app)
{
	unsigned int lcores = eal_lcores(), most = lcores > 1 ? lcores - 1 : 1;
	const char *text = weir_conf_get(app->conf, "stack", "workers");
	struct weir_error err = {.code = 0};
	uint64_t n = most < WEIR_MAX_WORKERS ? most : WEIR_MAX_WORKERS;
	char value[16];

	if (text != NULL && opt_uint(text, &n) < 0)
		n = 0; /* the configuration has checked it: never here */
	if (cli.workers != 0)
		n = cli.workers;
	if (n < 1 || n > most)
		return app_usage_error(app,
				       "%s: %ju: allowed: 1..%u, EAL was given %u lcore%s "
				       "(-l)",
				       cli.workers != 0 ? "--workers" : "stack: workers",
				       (uintmax_t)n, most, lcores, lcores == 1 ? "" : "s");
	snprintf(value, sizeof(value), "%ju", (uintmax_t)n);
	if (weir_conf_set(app->conf, "stack", "workers", value, "--workers", &err) < 0)
		return app_usage_error(app, "%s", err.text);
	app->n_workers = (unsigned int)n;
	return APP_GO;
}

int
app_start(struct app *app)
{
	struct weir_error err = {.code = 0};
	struct weir_port_info info;
	struct sigaction sa = {.sa_handler = on_signal};
	int rc;

	rc = start_eal(app);
	if (rc == APP_GO)
		rc = choose_ports(app);
	if (rc == APP_GO)
		rc = choose_workers(app);
	if (rc != APP_GO)
		return rc;

	app->workers = aligned_alloc(64, app->n_workers * sizeof(*app->workers));
	if (app->workers == NULL)
		return app_error(app, "out of memory");
	memset(app->workers, 0, app->n_workers * sizeof(*app->workers));
	for (unsigned int i = 0; i < app->n_workers; i++) {
		app->workers[i].app = app;
		app->workers[i].index = i;
	}

	rc = weir_conf_apply(app->conf, &app->stack, &err);
	if (rc < 0) {
		app_error(app, "%s", err.text[0] != '\0' ? err.text : strerror(-rc));
		return rc == -EINVAL ? APP_USAGE : APP_FAIL;
	}
	rc = weir_stack_start(app->stack, &err);
	if (rc < 0) {
		app_error(app, "%s", err.text[0] != '\0' ? err.text : strerror(-rc));
		return rc == -EINVAL ? APP_USAGE : APP_FAIL;
	}
	while (weir_port_info_get(app->stack, app->n_ports, &info) == 0)
		app->n_ports++;
	if (app->verbose)
		report_ports(app);

	sigemptyset(&sa.sa_mask);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	return APP_GO;
}

/* ---- run ---- */

void
app_quit(struct app *app, const char *reason)
{
	const char *none = NULL;

	atomic_compare_exchange_strong(&app->reason, &none, reason);
	atomic_store_explicit(&app->quit, 1, memory_order_release);
}

void
app_clock_start(struct app *app)
{
	atomic_store_explicit(&app->t0_ns, weir_clock_ns(), memory_order_relaxed);
}

/* Housekeeping of the main thread: signals, --duration, rate line. */
static void
tend(struct app *app)
{
	uint64_t now_ns = weir_clock_ns();

	if (signalled)
		app_quit(app, signalled == SIGINT ? "interrupted" : "terminated");
	if (report_has_duration &&
	    now_ns - atomic_load_explicit(&app->t0_ns, memory_order_relaxed) >= report_duration_ns)
		app_quit(app, "duration over");
	report_rate(app, now_ns);
}

void
app_turn_done(struct app_worker *w, unsigned int work)
{
	weir_idle(w->lc, work);
	if (w->is_main && (w->turns++ & 31) == 0)
		tend(w->app);
}

bool
app_continue(struct app_worker *w, unsigned int work)
{
	app_turn_done(w, work);
	return atomic_load_explicit(&w->app->quit, memory_order_relaxed) == 0;
}

bool
app_link_up(struct app *app)
{
	struct weir_port_info info;

	for (unsigned int i = 0; i < app->n_ports; i++)
		if (weir_port_info_get(app->stack, i, &info) == 0 && info.link_up)
			return true;
	return false;
}

static int
worker_main(void *arg)
{
	struct app_worker *w = arg;
	int rc = weir_worker_attach(w->app->stack, w->index, &w->lc);

	if (rc < 0) {
		w->result = app_error(w->app, "worker %u: %s", w->index, strerror(-rc));
		app_quit(w->app, "failure");
		return w->result;
	}
	w->result = w->app->worker(w);
	weir_lcore_detach(w->lc);
	return w->result;
}

int
app_run(struct app *app)
{
	static const struct timespec nap = {.tv_nsec = 5000000};
	unsigned int lcore, n = 0, used[WEIR_MAX_WORKERS];
	int code = APP_OK;

	app_clock_start(app);
	report_rate_start(app);
	if (eal_lcores() == 1) {
		app->workers[0].is_main = true;
		worker_main(&app->workers[0]);
		tend(app);
		return app->workers[0].result;
	}
	RTE_LCORE_FOREACH_WORKER(lcore) {
		if (n == app->n_workers)
			break;
		used[n] = lcore;
		rte_eal_remote_launch(worker_main, &app->workers[n], lcore);
		n++;
	}
	for (unsigned int i = 0; i < n; i++) {
		while (rte_eal_get_lcore_state(used[i]) == RUNNING) {
			tend(app);
			nanosleep(&nap, NULL);
		}
		rte_eal_wait_lcore(used[i]);
	}
	tend(app);
	for (unsigned int i = 0; i < n; i++)
		if (code == APP_OK || app->workers[i].result == APP_FAIL)
			code = app->workers[i].result;
	return code;
}

int
app_finish(struct app *app, const struct app_run *run, int code)
{
	uint16_t id;
	int rc;

	if (app->stack != NULL) {
		code = report_final(app, run, code);
		rc = weir_stack_destroy(app->stack);
		if (rc < 0) {
			app_error(app, "the stack cannot be taken down: %s", strerror(-rc));
			code = APP_ACCOUNTING;
		}
	}
	weir_conf_destroy(app->conf);
	free(app->workers);
	free(cli.eal_argv);
	/*
	 * Devices are closed (a memif server removes its socket), but no rte_eal_cleanup(): it unmaps
	 * the memory under EAL's interrupt thread, which goes on running. Observed: a memif partner
	 * that leaves at this moment brings the process down. The process ends now anyway.
	 */
	if (cli.eal_runs)
		RTE_ETH_FOREACH_DEV(id)
			rte_eth_dev_close(id);
	return code;
}
