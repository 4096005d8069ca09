/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Command line options from tables.
 *
 * One row per option says how it is spelled, what it takes and where the value goes; the parser,
 * the usage text and the error messages all come from the rows, so that they cannot disagree.
 * Runs before EAL starts: pure C library, no DPDK. Every message has the form
 * "PROGRAM: --option: value: what is allowed" and goes to stderr.
 */
#ifndef APP_OPT_H
#define APP_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum opt_kind {
	OPT_FLAG,    /* to: bool, set to true */
	OPT_UINT,    /* to: uint64_t, min .. max */
	OPT_SECONDS, /* to: uint64_t nanoseconds, from seconds with decimals; min .. max in ns */
	OPT_TEXT,    /* to: const char *, the argument itself */
	OPT_CALL,    /* to: context of call */
};

struct opt {
	const char *name;    /* long form, without dashes; NULL ends a table */
	const char *letters; /* short forms, "cl" for -c and -l; NULL: none */
	const char *arg;     /* what the usage calls the argument; NULL: takes none */
	enum opt_kind kind;
	void *to;
	uint64_t min, max;
	/* OPT_CALL: 0, or -1 with what is allowed in why. */
	int (*call)(void *ctx, const char *value, char *why, size_t why_size);
	bool *given;      /* set to true when the option was seen; may be NULL */
	const char *help; /* lines separated by \n */
};

/**
 * Parse argv[1..argc-1] with the rows of all tables (a NULL-terminated list); options and other
 * words may be mixed. argv is reordered: the words that are no options stand last.
 * Returns the index of the first of them (argc when there is none), or -1 after a message.
 */
int opt_parse(const char *program, const struct opt *const tables[], int argc, char **argv);

/** The rows of one table as usage text. */
void opt_usage(FILE *f, const struct opt *table);

/** Decimal digits only, no sign, no blanks. 0, or -1. */
int opt_uint(const char *text, uint64_t *out);

#endif /* APP_OPT_H */
