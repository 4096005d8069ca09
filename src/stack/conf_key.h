/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of configuration keys: one row drives parsing, checking, defaults, the error texts and
 * the documentation. Read by conf.c, conf_plan.c and their test, which derives its boundary cases from it.
 *
 * CONTROL. Constant.
 */
#ifndef WEIR_CONF_KEY_H
#define WEIR_CONF_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weir/addr.h>
#include <weir/stack.h>

enum weir_conf_kind {
	WEIR_CONF_STACK,
	WEIR_CONF_PORT,
	WEIR_CONF_ROUTE,
	WEIR_CONF_NEIGH,
	WEIR_CONF_KINDS
};

enum weir_conf_type {
	WEIR_CONF_UINT,      /* decimal number, min .. max */
	WEIR_CONF_CHOICE,    /* one of a few words; the member takes the place in the list */
	WEIR_CONF_NAME,      /* 1-16 of [A-Za-z0-9_-] */
	WEIR_CONF_DEVICE,    /* 1-63 printable characters without blanks */
	WEIR_CONF_ADDRESSES, /* ADDR/LEN, several separated by blanks */
	WEIR_CONF_PREFIX,    /* ADDR/LEN, no bits below LEN */
	WEIR_CONF_HOPS,      /* ADDR[@PORT][*WEIGHT], on-link[@PORT][*WEIGHT], several */
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
	uint8_t width;   /* bytes of the member that takes the value; 0: none */
	uint16_t offset; /* of it, in struct weir_stack_conf, weir_port_conf or weir_route_conf */
	const char *const
		*choices;  /* of a CHOICE, NULL at the end; without a default the first is it */
	const char *unit;  /* "" where there is none */
	const char *deflt; /* as text, where no member tells it */
	const char *meaning;
};

/* All rows, section by section. */
const struct weir_conf_key *weir_conf_keys(size_t *n);

/* The section of a kind: its first word, and how many there may be; 0: only one, without a number. */
const char *weir_conf_section(enum weir_conf_kind kind, unsigned int *n);

/* What a key allows, in words, e.g. "0 or 576..65535". Returns buf. */
char *weir_conf_allowed(const struct weir_conf_key *key, char *buf, size_t size);

/* Is text a value of the key? 0 or -EINVAL. */
int weir_conf_check(const struct weir_conf_key *key, const char *text);

/* ---- values ---- */

#define WEIR_CONF_ADDRESSES_MAX 16 /* per port; more than fit a value anyway */

int weir_conf_uint(const char *text, uint64_t *out);
int weir_conf_mac(const char *text, uint8_t mac[6]);
/* The next of several addresses. 1 and *text moved on; 0: no more; -EINVAL. */
int weir_conf_next_address(const char **text, struct weir_addr *addr, uint8_t *bits);
/* The next of several hops, likewise. *has_port: a port was given, as @PORT or by the scope. */
int weir_conf_next_hop(const char **text, struct weir_hop *hop, bool *has_port);
/* Write a number or a choice into the member that takes it. */
void weir_conf_store(void *object, const struct weir_conf_key *key, const char *text);

#endif /* WEIR_CONF_KEY_H */
