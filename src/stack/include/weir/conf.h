/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration by section, key and value: from an ini file, from a command line, from both.
 *
 * A configuration is first collected (every key and value checked, with where it came from), then
 * carried out as one transaction of control calls: either all of it holds or nothing was changed.
 * A later setting of the same key replaces an earlier one, so a command line overrides a file.
 *
 * Sections: [stack], [port N], [route N], [neigh N] (N = 0, 1, ...). config/README.md lists the keys.
 */
#ifndef WEIR_CONF_H
#define WEIR_CONF_H

#include <stdio.h>

#include <weir/api.h>
#include <weir/stack.h>

WEIR_BEGIN_DECLS

struct weir_conf;

/** An empty configuration; NULL when out of memory. [any] */
WEIR_API struct weir_conf *weir_conf_create(void);
WEIR_API void weir_conf_destroy(struct weir_conf *conf);

/**
 * Read an ini file. Unknown sections and keys, values out of range, duplicate keys and lines that are
 * none of these are refused: -EINVAL with "FILE:LINE: key: value: what is allowed"; -ENOENT.
 */
WEIR_API int weir_conf_load(struct weir_conf *conf, const char *path, struct weir_error *err);

/**
 * Set one key, e.g. ("port 0", "address", "10.0.0.1/24", "--addr"). origin names the source in error
 * messages. -EINVAL with text.
 */
WEIR_API int weir_conf_set(struct weir_conf *conf, const char *section, const char *key,
			   const char *value, const char *origin, struct weir_error *err);

/** Value of a key as text, or NULL when it was not set. The text lives as long as conf. */
WEIR_API const char *weir_conf_get(const struct weir_conf *conf, const char *section,
				   const char *key);

/**
 * Create the stack that the configuration describes, with ports, addresses, routes and neighbours;
 * not yet started. On failure nothing is left behind.
 */
WEIR_API int weir_conf_apply(const struct weir_conf *conf, struct weir_stack **out,
			     struct weir_error *err);

/** The table of all keys in Markdown: what config/README.md contains. */
WEIR_API void weir_conf_doc(FILE *f);

WEIR_END_DECLS

#endif /* WEIR_CONF_H */
