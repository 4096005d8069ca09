/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of configuration keys: one row drives parsing, checking, defaults, the error texts and
 * the documentation. Read by conf.c and by its test, which derives its boundary cases from it.
 *
 * CONTROL. Constant.
 */
#ifndef WEIR_CONF_KEY_H
#define WEIR_CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum weir_conf_kind {
	WEIR_CONF_STACK,
	WEIR_CONF_PORT,
	WEIR_CONF_ROUTE,
	WEIR_CONF_NEIGH,
	WEIR_CONF_KINDS
};

enum weir_conf_type {
	WEIR_CONF_UINT,      /* decimal number, min .. max */
	WEIR_CONF_YESNO,     /* yes, no */
	WEIR_CONF_OFFLOAD,   /* auto, software */
	WEIR_CONF_NAME,      /* 1-16 of [A-Za-z0-9_-] */
	WEIR_CONF_DEVICE,    /* 1-63 printable characters without blanks */
	WEIR_CONF_ADDRESSES, /* ADDR/LEN, several separated by blanks */
	WEIR_CONF_PREFIX,    /* ADDR/LEN, no bits below LEN */
	WEIR_CONF_VIA,       /* ADDR, on-link */
	WEIR_CONF_ADDRESS,   /* ADDR */
	WEIR_CONF_MAC,       /* six pairs of hexadecimal digits */
	WEIR_CONF_PORTREF,   /* port number, auto */
};

struct weir_conf_key {
	enum weir_conf_kind kind;
	const char *name;
	enum weir_conf_type type;
	uint64_t min, max;
	bool zero;         /* 0 is allowed, too: it chooses what the meaning says */
	bool power_of_two; /* nothing else is allowed */
	bool required;
	uint8_t width;     /* bytes of the member that takes the value; 0: none */
	uint16_t offset;   /* of it, in struct weir_stack_conf or weir_port_conf */
	const char *unit;  /* "" where there is none */
	const char *deflt; /* as text, where no member tells it */
	const char *meaning;
};

/* All rows, section by section. */
const struct weir_conf_key *weir_conf_keys(size_t *n);

/* What a key allows, in words, e.g. "0 or 576..65535". Returns buf. */
char *weir_conf_allowed(const struct weir_conf_key *key, char *buf, size_t size);

#endif /* WEIR_CONF_KEY_H */
