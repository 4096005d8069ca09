/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings that have been collected: made by conf.c, carried out by conf_plan.c. CONTROL: of one thread.
 */
#ifndef WEIR_CONF_PRIV_H
#define WEIR_CONF_PRIV_H

#include <weir/conf.h>

#include "conf_key.h"

#define WEIR_CONF_ORIGIN_LEN 128

struct weir_conf_setting {
	const struct weir_conf_key *key;
	unsigned int number; /* of the section; 0 for [stack] */
	char *value;
	char origin[WEIR_CONF_ORIGIN_LEN];
};

struct weir_conf {
	struct weir_conf_setting *set;
	size_t n, cap;
};

/* A setting of a section, by name; NULL: it was not made. */
struct weir_conf_setting *weir_conf_find(const struct weir_conf *conf, enum weir_conf_kind kind,
					 unsigned int number, const char *name);

#endif /* WEIR_CONF_PRIV_H */
