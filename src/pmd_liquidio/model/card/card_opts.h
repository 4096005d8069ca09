/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line of liquidio-card: text in, one checked struct out. Every refusal names the option,
 * the value and what would be allowed. Called once, at start.
 */
#ifndef CARD_OPTS_H
#define CARD_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../liqm.h"

#define CARD_MAX_SERVED 64u
#define CARD_MAX_FAULTS 16u

enum card_wire_kind {
	CARD_WIRE_NONE,
	CARD_WIRE_TAP,
	CARD_WIRE_UNIX,        /* connects, and again when the peer has gone */
	CARD_WIRE_UNIX_LISTEN, /* waits for one peer at a time */
};

struct card_wire_opt {
	enum card_wire_kind kind;
	const char *name; /* interface or socket path */
};

struct card_opts {
	struct liqm_card_cfg card; /* n_pf and n_vf filled in; svc is not */
	const char *pf_path[LIQM_MAX_PORTS];
	const char *vf_path[LIQM_MAX_PORTS][LIQM_MAX_VFS];
	unsigned int n_ports;
	struct card_wire_opt wire[LIQM_MAX_PORTS];
	struct liqm_wire_cfg cable;
	struct liqm_fault faults[CARD_MAX_FAULTS];
	unsigned int n_faults;
	const char *access_log;
	uint64_t access_log_lines; /* 0: no limit */
	bool once;
	bool verbose;
};

/**
 * Returns 0, 1 when the program has done what was asked (help, version), or -EINVAL after a
 * message on stderr. Strings point into @argv.
 */
int card_opts_parse(struct card_opts *opts, int argc, char **argv);

#endif
