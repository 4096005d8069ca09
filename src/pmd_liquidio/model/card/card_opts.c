/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line of liquidio-card: see card_opts.h. The options are a table of getopt_long(3); each
 * value goes through one of a few readers that know its range and say what they wanted.
 */
#include "card_opts.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

static const char help[] =
	"usage: liquidio-card (--vf SOCKET | --pf SOCKET)... [--wire WIRE] [option]...\n"
	"Serves a model of a LiquidIO II (CN23XX) network card to virtual machines over\n"
	"vfio-user: each function on a unix socket, each Ethernet port on a wire.\n"
	"\n"
	"Functions (repeatable; in QEMU: -device vfio-user-pci with the socket):\n"
	"  --vf SOCKET           a virtual function; the first --vf is VF 1\n"
	"  --pf SOCKET           a physical function; without one, the model answers the VFs\n"
	"                        as a PF driver would\n"
	"Wire:\n"
	"  --wire tap:NAME       a TAP interface, created when it is not there\n"
	"  --wire unix:PATH      connect to a unix socket; frames with a 4-byte length in\n"
	"                        front, as QEMU's -netdev stream speaks\n"
	"  --wire unix-listen:PATH   the same, the other end\n"
	"  --wire none           no cable (the default)\n"
	"  --rate BPS            bits per second that leave the card (0: no limit)\n"
	"  --loss PPM  --dup PPM  --reorder PPM  --corrupt PPM\n"
	"                        chance that a frame which leaves suffers, in a million\n"
	"  --seed N              of those chances and of the card's\n"
	"Card:\n"
	"  --rings N             rings of each VF, 1 to 8 (default 1; a PF driver decides else)\n"
	"  --mac XX:XX:XX:XX:XX:XX   of the first function, the others count up\n"
	"  --mtu N               largest MTU of the port, 68 to 16000\n"
	"  --speed MBPS          10000 or 25000\n"
	"  --subsys-id ID        board, 0x0003 to 0x000b\n"
	"  --revision N          PCI revision byte\n"
	"  --fw-version TEXT     firmware version\n"
	"  --trusted-vf N        VF that may go promiscuous (default 0: none)\n"
	"  --keep-vlan           leave VLAN tags in received frames\n"
	"  --link-down           start without carrier\n"
	"  --fault NAME[,key=value]...   scripted fault; keys: fn ring skip count ppm arg\n"
	"Running:\n"
	"  --access-log FILE     write each register access\n"
	"  --access-log-lines N  stop after N lines (default 1000000, 0: never)\n"
	"  --once                end when the last client has gone\n"
	"  --verbose             say more on stderr\n"
	"  --help  --version\n"
	"\n"
	"Prints 'ready' when all sockets are open. SIGUSR1 prints the counters to stderr,\n"
	"SIGUSR2 takes the links down or up, SIGTERM and SIGINT end it and print the\n"
	"counters too.\n"
	"Exit status: 0 ended as asked, 1 a failure at run time, 2 a wrong option.\n";

enum option_id {
	OPT_VF = 256,
	OPT_PF,
	OPT_WIRE,
	OPT_RATE,
	OPT_LOSS,
	OPT_DUP,
	OPT_REORDER,
	OPT_CORRUPT,
	OPT_SEED,
	OPT_RINGS,
	OPT_MAC,
	OPT_MTU,
	OPT_SPEED,
	OPT_SUBSYS_ID,
	OPT_REVISION,
	OPT_FW_VERSION,
	OPT_TRUSTED_VF,
	OPT_KEEP_VLAN,
	OPT_LINK_DOWN,
	OPT_FAULT,
	OPT_ACCESS_LOG,
	OPT_ACCESS_LOG_LINES,
	OPT_ONCE,
	OPT_VERBOSE,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option options[] = {
	{"vf", required_argument, NULL, OPT_VF},
	{"pf", required_argument, NULL, OPT_PF},
	{"wire", required_argument, NULL, OPT_WIRE},
	{"rate", required_argument, NULL, OPT_RATE},
	{"loss", required_argument, NULL, OPT_LOSS},
	{"dup", required_argument, NULL, OPT_DUP},
	{"reorder", required_argument, NULL, OPT_REORDER},
	{"corrupt", required_argument, NULL, OPT_CORRUPT},
	{"seed", required_argument, NULL, OPT_SEED},
	{"rings", required_argument, NULL, OPT_RINGS},
	{"mac", required_argument, NULL, OPT_MAC},
	{"mtu", required_argument, NULL, OPT_MTU},
	{"speed", required_argument, NULL, OPT_SPEED},
	{"subsys-id", required_argument, NULL, OPT_SUBSYS_ID},
	{"revision", required_argument, NULL, OPT_REVISION},
	{"fw-version", required_argument, NULL, OPT_FW_VERSION},
	{"trusted-vf", required_argument, NULL, OPT_TRUSTED_VF},
	{"keep-vlan", no_argument, NULL, OPT_KEEP_VLAN},
	{"link-down", no_argument, NULL, OPT_LINK_DOWN},
	{"fault", required_argument, NULL, OPT_FAULT},
	{"access-log", required_argument, NULL, OPT_ACCESS_LOG},
	{"access-log-lines", required_argument, NULL, OPT_ACCESS_LOG_LINES},
	{"once", no_argument, NULL, OPT_ONCE},
	{"verbose", no_argument, NULL, OPT_VERBOSE},
	{"help", no_argument, NULL, OPT_HELP},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int
refuse(const char *option, const char *value, const char *allowed)
{
	fprintf(stderr, "liquidio-card: --%s '%s': %s\n", option, value, allowed);
	return -EINVAL;
}

static bool
number(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	/* strtoull takes a sign and turns it into something large. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 0);
	return errno == 0 && *end == '\0' && *out >= min && *out <= max;
}

static int
read_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char allowed[80];

	if (number(text, min, max, out))
		return 0;
	snprintf(allowed, sizeof(allowed), "wants a number from %" PRIu64 " to %" PRIu64, min, max);
	return refuse(option, text, allowed);
}

static int
read_uint(const char *option, const char *text, unsigned int min, unsigned int max,
	  unsigned int *out)
{
	uint64_t value;
	int rc = read_number(option, text, min, max, &value);

	if (rc == 0)
		*out = (unsigned int)value;
	return rc;
}

static int
read_mac(const char *text, uint8_t mac[6])
{
	unsigned int b[6];
	int end = 0;

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
		   &end) != 6 ||
	    text[end] != '\0')
		return refuse("mac", text, "wants six hexadecimal bytes with colons");
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
	if (mac[0] & 1)
		return refuse("mac", text, "is a group address, a card needs its own");
	return 0;
}

static int
read_path(const char *option, const char *text)
{
	if (*text == '\0' || strlen(text) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return refuse(option, text, "wants a path of 1 to 107 bytes");
	return 0;
}

static int
read_wire(struct card_opts *opts, const char *text)
{
	static const struct {
		const char *prefix;
		enum card_wire_kind kind;
	} kinds[] = {
		{"tap:", CARD_WIRE_TAP},
		{"unix:", CARD_WIRE_UNIX},
		{"unix-listen:", CARD_WIRE_UNIX_LISTEN},
	};
	struct card_wire_opt *wire;

	if (opts->n_ports == LIQM_MAX_PORTS)
		return refuse("wire", text, "a card has at most two ports");
	wire = &opts->wire[opts->n_ports++];
	if (strcmp(text, "none") == 0)
		return 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t n = strlen(kinds[i].prefix);

		if (strncmp(text, kinds[i].prefix, n) != 0)
			continue;
		wire->kind = kinds[i].kind;
		wire->name = text + n;
		if (wire->kind != CARD_WIRE_TAP)
			return read_path("wire", wire->name);
		if (*wire->name == '\0' || strlen(wire->name) > 15)
			return refuse("wire", text, "wants an interface name of 1 to 15 bytes");
		return 0;
	}
	return refuse("wire", text, "wants tap:NAME, unix:PATH, unix-listen:PATH or none");
}

static int
read_fault(struct card_opts *opts, char *text)
{
	struct liqm_fault *fault = &opts->faults[opts->n_faults];
	char *save = NULL, *word = strtok_r(text, ",", &save);

	if (opts->n_faults == CARD_MAX_FAULTS)
		return refuse("fault", text, "there are 16 already");
	*fault = (struct liqm_fault){.fn_index = LIQM_ANY, .ring = LIQM_ANY};
	fault->kind = word ? liqm_fault_by_name(word) : LIQM_N_FAULTS;
	if (fault->kind == LIQM_N_FAULTS) {
		fprintf(stderr, "liquidio-card: --fault '%s': wants one of", word ? word : "");
		for (int i = 0; i < LIQM_N_FAULTS; i++)
			fprintf(stderr, " %s", liqm_fault_name((enum liqm_fault_kind)i));
		fputc('\n', stderr);
		return -EINVAL;
	}
	while ((word = strtok_r(NULL, ",", &save)) != NULL) {
		char *value = strchr(word, '=');
		uint64_t v;

		if (!value)
			return refuse("fault", word, "wants key=value");
		*value++ = '\0';
		if (!number(value, 0, UINT64_MAX, &v))
			return refuse("fault", value, "wants a number");
		if (strcmp(word, "arg") == 0)
			fault->arg = v;
		else if (v > UINT32_MAX)
			return refuse("fault", value, "wants a number below 4294967296");
		else if (strcmp(word, "fn") == 0 && v < 1024)
			fault->fn_index = (int)v;
		else if (strcmp(word, "ring") == 0 && v < 1024)
			fault->ring = (int)v;
		else if (strcmp(word, "skip") == 0)
			fault->skip = (uint32_t)v;
		else if (strcmp(word, "count") == 0)
			fault->count = (uint32_t)v;
		else if (strcmp(word, "ppm") == 0 && v <= 1000000)
			fault->chance_ppm = (uint32_t)v;
		else
			return refuse(
				"fault", word,
				"keys: fn and ring below 1024, skip, count, ppm up to 1000000, arg");
	}
	opts->n_faults++;
	return 0;
}

static int
add_function(struct card_opts *opts, bool pf, const char *path)
{
	int rc = read_path(pf ? "pf" : "vf", path);

	if (rc != 0)
		return rc;
	if (pf) {
		if (opts->card.n_pf == LIQM_MAX_PORTS)
			return refuse("pf", path, "a card has at most two");
		opts->pf_path[opts->card.n_pf++] = path;
		return 0;
	}
	if (opts->card.n_vf == LIQM_MAX_VFS)
		return refuse("vf", path, "a port has at most 63");
	opts->vf_path[0][opts->card.n_vf++] = path;
	return 0;
}

static int
one_option(struct card_opts *opts, int id, const char *name, char *value)
{
	uint64_t v = 0;
	int rc;

	switch (id) {
	case OPT_VF:
	case OPT_PF:
		return add_function(opts, id == OPT_PF, value);
	case OPT_WIRE:
		return read_wire(opts, value);
	case OPT_RATE:
		return read_number(name, value, 0, 1000000000000u, &opts->cable.rate_bps);
	case OPT_LOSS:
		return read_uint(name, value, 0, 1000000, &opts->cable.loss_ppm);
	case OPT_DUP:
		return read_uint(name, value, 0, 1000000, &opts->cable.dup_ppm);
	case OPT_REORDER:
		return read_uint(name, value, 0, 1000000, &opts->cable.reorder_ppm);
	case OPT_CORRUPT:
		return read_uint(name, value, 0, 1000000, &opts->cable.corrupt_ppm);
	case OPT_SEED:
		rc = read_number(name, value, 0, UINT64_MAX, &opts->cable.seed);
		opts->card.seed = opts->cable.seed;
		return rc;
	case OPT_RINGS:
		return read_uint(name, value, 1, 8, &opts->card.rings_per_vf);
	case OPT_MAC:
		return read_mac(value, opts->card.mac);
	case OPT_MTU:
		return read_uint(name, value, 68, 16000, &opts->card.max_mtu);
	case OPT_SPEED:
		if (!number(value, 0, 25000, &v) || (v != 10000 && v != 25000))
			return refuse(name, value, "wants 10000 or 25000");
		opts->card.speed_mbps = (unsigned int)v;
		return 0;
	case OPT_SUBSYS_ID:
		rc = read_number(name, value, 3, 0xb, &v);
		opts->card.subsys_id = (uint16_t)v;
		return rc;
	case OPT_REVISION:
		rc = read_number(name, value, 0, 255, &v);
		opts->card.revision = (uint8_t)v;
		return rc;
	case OPT_FW_VERSION:
		if (*value == '\0' || strlen(value) > 31)
			return refuse(name, value, "wants 1 to 31 characters");
		opts->card.fw_version = value;
		return 0;
	case OPT_TRUSTED_VF:
		return read_uint(name, value, 0, LIQM_MAX_VFS, &opts->card.trusted_vf);
	case OPT_KEEP_VLAN:
		opts->card.keep_vlan = true;
		return 0;
	case OPT_LINK_DOWN:
		opts->card.link_down = true;
		return 0;
	case OPT_FAULT:
		return read_fault(opts, value);
	case OPT_ACCESS_LOG:
		opts->access_log = value;
		return 0;
	case OPT_ACCESS_LOG_LINES:
		return read_number(name, value, 0, UINT64_MAX, &opts->access_log_lines);
	case OPT_ONCE:
		opts->once = true;
		return 0;
	case OPT_VERBOSE:
		opts->verbose = true;
		return 0;
	case OPT_HELP:
		fputs(help, stdout);
		return 1;
	case OPT_VERSION:
		puts("liquidio-card (weir)");
		return 1;
	default:
		fputs("liquidio-card: try --help\n", stderr);
		return -EINVAL;
	}
}

int
card_opts_parse(struct card_opts *opts, int argc, char **argv)
{
	int id, index = 0, rc;

	memset(opts, 0, sizeof(*opts));
	liqm_card_cfg_default(&opts->card);
	opts->card.n_pf = opts->card.n_vf = opts->card.trusted_vf = 0;
	opts->access_log_lines = 1000000;

	while ((id = getopt_long(argc, argv, "", options, &index)) != -1) {
		rc = one_option(opts, id, id == '?' ? "" : options[index].name, optarg);
		if (rc != 0)
			return rc;
	}
	if (optind < argc) {
		fprintf(stderr, "liquidio-card: unexpected '%s'; try --help\n", argv[optind]);
		return -EINVAL;
	}
	if (opts->card.n_pf + opts->card.n_vf == 0) {
		fputs("liquidio-card: nothing to serve: give --vf SOCKET or --pf SOCKET;"
		      " try --help\n",
		      stderr);
		return -EINVAL;
	}
	if (opts->n_ports > (opts->card.n_pf > 1 ? 2u : 1u)) {
		fputs("liquidio-card: a second --wire needs a second --pf\n", stderr);
		return -EINVAL;
	}
	if (opts->card.trusted_vf > opts->card.n_vf) {
		fprintf(stderr, "liquidio-card: --trusted-vf '%u': there are %u VFs\n",
			opts->card.trusted_vf, opts->card.n_vf);
		return -EINVAL;
	}
	opts->n_ports = opts->card.n_pf > 1 ? 2 : 1;
	return 0;
}
