/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration: collect settings from files and command lines. conf_plan.c carries them out.
 *
 * CONTROL: a struct weir_conf belongs to one thread at a time. Files are read by rte_cfgfile, which
 * knows no line numbers and passes over much in silence (text without "=", over-long names and
 * values, repeated keys, text behind "]" or behind a comment character). So each file is first
 * scanned here, line by line: whatever is not exactly a comment, a section or a key is refused with
 * its line. What rte_cfgfile then finds must be what the scan found.
 *
 * Each setting is checked by itself when it is made; what depends on several of them (gaps between
 * ports, a route without prefix) when the configuration is carried out.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include "conf_priv.h"
#include "control.h"

#define COMMENT        '#'
#define FILE_MAX       (4u << 20)
#define LINE_MAX_CHARS (CFG_NAME_LEN + CFG_VALUE_LEN) /* a little below rte_cfgfile's buffer */
#define SECTION_KEYS   64                             /* more than any section has */

/* ---- the collection ---- */

struct weir_conf *
weir_conf_create(void)
{
	return calloc(1, sizeof(struct weir_conf));
}

void
weir_conf_destroy(struct weir_conf *conf)
{
	if (conf == NULL)
		return;
	for (size_t i = 0; i < conf->n; i++)
		free(conf->set[i].value);
	free(conf->set);
	free(conf);
}

/* "port 3" to its kind and number. 0, or -EINVAL. */
static int
parse_section(const char *text, enum weir_conf_kind *kind, unsigned int *number)
{
	for (int k = 0; k < WEIR_CONF_KINDS; k++) {
		unsigned int n;
		const char *name = weir_conf_section((enum weir_conf_kind)k, &n);
		size_t len = strlen(name);
		const char *digits = text + len + 1;
		uint64_t v;

		if (strncmp(text, name, len) != 0)
			continue;
		*kind = (enum weir_conf_kind)k;
		*number = 0;
		if (n == 0)
			return text[len] == '\0' ? 0 : -EINVAL;
		/* One blank, no leading zero: each section has one spelling. */
		if (text[len] != ' ' || (digits[0] == '0' && digits[1] != '\0') ||
		    weir_conf_uint(digits, &v) < 0 || v >= n)
			return -EINVAL;
		*number = (unsigned int)v;
		return 0;
	}
	return -EINVAL;
}

static int
refuse_section(const char *origin, const char *section, struct weir_error *err)
{
	unsigned int ports, routes, neighs;

	weir_conf_section(WEIR_CONF_PORT, &ports);
	weir_conf_section(WEIR_CONF_ROUTE, &routes);
	weir_conf_section(WEIR_CONF_NEIGH, &neighs);
	return weir_error_set(err, -EINVAL,
			      "%s: [%.40s]: no such section: allowed: [stack], [port 0..%u], "
			      "[route 0..%u], [neigh 0..%u]",
			      origin, section, ports - 1, routes - 1, neighs - 1);
}

/* Number of single-character edits between two short words: for naming the likeliest key first. */
static unsigned int
distance(const char *a, const char *b)
{
	unsigned int row[CFG_NAME_LEN + 1];
	size_t n = strnlen(b, CFG_NAME_LEN);

	for (size_t j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i] != '\0' && i < CFG_NAME_LEN; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 0; j < n; j++) {
			unsigned int change = diagonal + (a[i] != b[j]);
			unsigned int best = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;

			diagonal = row[j + 1];
			row[j + 1] = change < best ? change : best;
		}
	}
	return row[n];
}

static int
refuse_key(const char *origin, const char *section, enum weir_conf_kind kind, const char *name,
	   struct weir_error *err)
{
	size_t n;
	const struct weir_conf_key *keys = weir_conf_keys(&n);
	const struct weir_conf_key *nearest = NULL;
	unsigned int best = UINT32_MAX;
	char list[256];
	size_t len;

	for (size_t i = 0; i < n; i++) {
		if (keys[i].kind == kind && distance(name, keys[i].name) < best) {
			best = distance(name, keys[i].name);
			nearest = &keys[i];
		}
	}
	if (nearest == NULL)
		return refuse_section(origin, section, err);
	len = (size_t)snprintf(list, sizeof(list), "%s", nearest->name);
	for (size_t i = 0; i < n; i++)
		if (keys[i].kind == kind && &keys[i] != nearest && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, ", %s",
						keys[i].name);
	return weir_error_set(err, -EINVAL, "%s: %.40s: no such key in [%s]: allowed: %s", origin,
			      name, section, list);
}

static const struct weir_conf_key *
find_key(enum weir_conf_kind kind, const char *name)
{
	size_t n;
	const struct weir_conf_key *keys = weir_conf_keys(&n);

	for (size_t i = 0; i < n; i++)
		if (keys[i].kind == kind && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

struct weir_conf_setting *
weir_conf_find(const struct weir_conf *conf, enum weir_conf_kind kind, unsigned int number,
	       const char *name)
{
	for (size_t i = 0; i < conf->n; i++) {
		struct weir_conf_setting *s = &conf->set[i];

		if (s->key->kind == kind && s->number == number && strcmp(s->key->name, name) == 0)
			return s;
	}
	return NULL;
}

int
weir_conf_set(struct weir_conf *conf, const char *section, const char *key, const char *value,
	      const char *origin, struct weir_error *err)
{
	const struct weir_conf_key *k;
	enum weir_conf_kind kind;
	unsigned int number;
	struct weir_conf_setting *s;
	char allowed[128], *copy;

	if (parse_section(section, &kind, &number) < 0)
		return refuse_section(origin, section, err);
	k = find_key(kind, key);
	if (k == NULL)
		return refuse_key(origin, section, kind, key, err);
	if (weir_conf_check(k, value) < 0)
		return weir_error_set(err, -EINVAL, "%s: %s: %.60s: allowed: %s", origin, key,
				      value, weir_conf_allowed(k, allowed, sizeof(allowed)));
	copy = strdup(value);
	if (copy == NULL)
		return weir_error_set(err, -ENOMEM, "%s: %s: out of memory", origin, key);
	s = weir_conf_find(conf, kind, number, key);
	if (s == NULL) {
		if (conf->n == conf->cap) {
			size_t cap = conf->cap != 0 ? conf->cap * 2 : 32;
			struct weir_conf_setting *more = realloc(conf->set, cap * sizeof(*more));

			if (more == NULL) {
				free(copy);
				return weir_error_set(err, -ENOMEM, "%s: %s: out of memory", origin,
						      key);
			}
			conf->set = more;
			conf->cap = cap;
		}
		s = &conf->set[conf->n++];
		s->key = k;
		s->number = number;
		s->value = NULL;
	}
	free(s->value);
	s->value = copy;
	snprintf(s->origin, sizeof(s->origin), "%s", origin);
	return 0;
}

const char *
weir_conf_get(const struct weir_conf *conf, const char *section, const char *key)
{
	enum weir_conf_kind kind;
	unsigned int number;
	const struct weir_conf_setting *s;

	if (parse_section(section, &kind, &number) < 0)
		return NULL;
	s = weir_conf_find(conf, kind, number, key);
	return s != NULL ? s->value : NULL;
}

/* ---- files ---- */

/* A key as the scan found it. */
struct scanned {
	char section[CFG_NAME_LEN], key[CFG_NAME_LEN], value[CFG_VALUE_LEN];
	unsigned int line;
};

/* One file being read. */
struct scan {
	const char *path; /* for messages: its end when it is long */
	struct scanned *found;
	size_t n, cap;
	struct {
		char name[CFG_NAME_LEN];
		unsigned int line;
	} * sections;
	size_t n_sections, cap_sections;
	struct weir_error *err;
};

/* The whole file, NUL-terminated; *len without that. 0, or a negative errno. */
static int
read_file(struct scan *sc, const char *path, char **text, size_t *len)
{
	/* Not blocking: a FIFO must not hang us before it is refused. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
	struct stat st;
	ssize_t got = 0;

	if (fd < 0) {
		rc = -errno;
		return weir_error_set(sc->err, rc, "%s: %s", sc->path, strerror(-rc));
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		rc = weir_error_set(sc->err, -EINVAL, "%s: not a regular file", sc->path);
		goto close_fd;
	}
	if (st.st_size > (off_t)FILE_MAX) {
		rc = weir_error_set(sc->err, -EINVAL, "%s: %jd bytes: allowed: up to %u", sc->path,
				    (intmax_t)st.st_size, FILE_MAX);
		goto close_fd;
	}
	*text = malloc(FILE_MAX + 1);
	if (*text == NULL) {
		rc = weir_error_set(sc->err, -ENOMEM, "%s: out of memory", sc->path);
		goto close_fd;
	}
	*len = 0;
	while (*len < FILE_MAX && (got = read(fd, *text + *len, FILE_MAX - *len)) > 0)
		*len += (size_t)got;
	rc = 0;
	if (got < 0) {
		rc = -errno;
		free(*text);
		weir_error_set(sc->err, rc, "%s: %s", sc->path, strerror(-rc));
		goto close_fd;
	}
	(*text)[*len] = '\0';
close_fd:
	close(fd);
	return rc;
}

/* Grow an array by one. NULL when out of memory. */
static void *
grow(void *array, size_t n, size_t *cap, size_t item)
{
	size_t more = *cap != 0 ? *cap * 2 : 32;
	void *p;

	if (n < *cap)
		return array;
	p = reallocarray(array, more, item);
	if (p != NULL)
		*cap = more;
	return p;
}

static int
out_of_memory(struct scan *sc)
{
	return weir_error_set(sc->err, -ENOMEM, "%s: out of memory", sc->path);
}

/* "[section]", blanks around it gone. */
static int
scan_section(struct scan *sc, char *line, unsigned int no)
{
	char origin[WEIR_CONF_ORIGIN_LEN], *end = strchr(line, ']');
	enum weir_conf_kind kind;
	unsigned int number;
	void *p;

	snprintf(origin, sizeof(origin), "%s:%u", sc->path, no);
	if (end == NULL || end[1] != '\0')
		return weir_error_set(sc->err, -EINVAL,
				      "%s: %.60s: allowed: [section] and nothing else on the line",
				      origin, line);
	*end = '\0';
	line++;
	if (parse_section(line, &kind, &number) < 0)
		return refuse_section(origin, line, sc->err);
	for (size_t i = 0; i < sc->n_sections; i++)
		if (strcmp(sc->sections[i].name, line) == 0)
			return weir_error_set(
				sc->err, -EINVAL,
				"%s: [%s]: allowed: once; it stands in line %u already", origin,
				line, sc->sections[i].line);
	p = grow(sc->sections, sc->n_sections, &sc->cap_sections, sizeof(*sc->sections));
	if (p == NULL)
		return out_of_memory(sc);
	sc->sections = p;
	snprintf(sc->sections[sc->n_sections].name, sizeof(sc->sections[0].name), "%s", line);
	sc->sections[sc->n_sections++].line = no;
	return 0;
}

/* "key = value", blanks around it gone. */
static int
scan_key(struct scan *sc, char *line, unsigned int no)
{
	char *value = strchr(line, '='), *end;
	const char *section;
	struct scanned *f;
	void *p;

	if (value == NULL)
		return weir_error_set(sc->err, -EINVAL,
				      "%s:%u: %.60s: allowed: [section], key = value, a line of "
				      "comment after %c",
				      sc->path, no, line, COMMENT);
	for (end = value; end > line && isblank((unsigned char)end[-1]); end--)
		;
	*end = '\0';
	value++;
	value += strspn(value, " \t");
	if (*line == '\0')
		return weir_error_set(sc->err, -EINVAL,
				      "%s:%u: = %.60s: a key must stand before =", sc->path, no,
				      value);
	if (*value == '\0')
		return weir_error_set(
			sc->err, -EINVAL,
			"%s:%u: %.60s: has no value; leave the line out for the default", sc->path,
			no, line);
	if (strchr(value, COMMENT) != NULL || strchr(line, COMMENT) != NULL)
		return weir_error_set(sc->err, -EINVAL,
				      "%s:%u: %.60s: a comment needs a line of its own", sc->path,
				      no, line);
	if (strlen(line) >= CFG_NAME_LEN || strlen(value) >= CFG_VALUE_LEN)
		return weir_error_set(sc->err, -EINVAL,
				      "%s:%u: %.40s: allowed: keys up to %d, values up to %d "
				      "characters",
				      sc->path, no, line, CFG_NAME_LEN - 1, CFG_VALUE_LEN - 1);
	if (sc->n_sections == 0)
		return weir_error_set(sc->err, -EINVAL, "%s:%u: %.60s: a [section] must come first",
				      sc->path, no, line);
	section = sc->sections[sc->n_sections - 1].name;
	/* A section's keys stand together, since a section comes only once. */
	for (size_t i = sc->n; i > 0 && strcmp(sc->found[i - 1].section, section) == 0; i--)
		if (strcmp(sc->found[i - 1].key, line) == 0)
			return weir_error_set(
				sc->err, -EINVAL,
				"%s:%u: %.40s: allowed: once per section; it stands in "
				"line %u already",
				sc->path, no, line, sc->found[i - 1].line);
	p = grow(sc->found, sc->n, &sc->cap, sizeof(*sc->found));
	if (p == NULL)
		return out_of_memory(sc);
	sc->found = p;
	f = &sc->found[sc->n++];
	snprintf(f->section, sizeof(f->section), "%s", section);
	snprintf(f->key, sizeof(f->key), "%s", line);
	snprintf(f->value, sizeof(f->value), "%s", value);
	f->line = no;
	return 0;
}

static int
scan_text(struct scan *sc, char *text, size_t len)
{
	unsigned int no = 1;
	int rc = 0;

	for (char *line = text, *next; rc == 0 && line < text + len; line = next, no++) {
		char *end = memchr(line, '\n', (size_t)(text + len - line));

		if (end == NULL)
			end = text + len;
		next = end + 1;
		if (end - line > LINE_MAX_CHARS)
			return weir_error_set(sc->err, -EINVAL,
					      "%s:%u: %zu characters: allowed: lines up to %d",
					      sc->path, no, (size_t)(end - line), LINE_MAX_CHARS);
		if (memchr(line, '\0', (size_t)(end - line)) != NULL)
			return weir_error_set(sc->err, -EINVAL, "%s:%u: NUL byte: not a text file",
					      sc->path, no);
		while (end > line && isspace((unsigned char)end[-1]))
			end--;
		*end = '\0';
		while (isspace((unsigned char)*line))
			line++;
		if (*line == '\0' || *line == COMMENT)
			continue;
		for (const char *p = line; *p != '\0'; p++)
			if ((*p < ' ' && *p != '\t') || *p > '~')
				return weir_error_set(sc->err, -EINVAL,
						      "%s:%u: byte 0x%02x: allowed: plain ASCII "
						      "outside comments",
						      sc->path, no, (unsigned char)*p);
		rc = *line == '[' ? scan_section(sc, line, no) : scan_key(sc, line, no);
	}
	return rc;
}

/* What rte_cfgfile finds in the file, each key beside what the scan found, into conf. */
static int
take_cfgfile(struct scan *sc, const char *path, struct weir_conf *conf)
{
	const struct rte_cfgfile_parameters params = {.comment_character = COMMENT};
	struct rte_cfgfile *cfg = rte_cfgfile_load_with_params(path, 0, &params);
	struct rte_cfgfile_entry entries[SECTION_KEYS];
	size_t at = 0;
	int rc = 0, n_sections;

	if (cfg == NULL)
		return weir_error_set(sc->err, -EIO, "%s: cannot be read a second time", sc->path);
	n_sections = rte_cfgfile_num_sections(cfg, NULL, 0);
	if (n_sections < 0 || (size_t)n_sections != sc->n_sections)
		rc = -EIO;
	for (int i = 0; rc == 0 && i < n_sections; i++) {
		char name[CFG_NAME_LEN];
		int n = rte_cfgfile_section_entries_by_index(cfg, i, name, entries, SECTION_KEYS);

		for (int e = 0; rc == 0 && e < n; e++, at++) {
			const struct scanned *f = &sc->found[at];
			char origin[WEIR_CONF_ORIGIN_LEN];

			if (at >= sc->n || strcmp(f->section, name) != 0 ||
			    strcmp(f->key, entries[e].name) != 0 ||
			    strcmp(f->value, entries[e].value) != 0) {
				rc = -EIO;
				break;
			}
			snprintf(origin, sizeof(origin), "%s:%u", sc->path, f->line);
			rc = weir_conf_set(conf, name, entries[e].name, entries[e].value, origin,
					   sc->err);
		}
	}
	if (rc == -EIO || (rc == 0 && at != sc->n))
		rc = weir_error_set(sc->err, -EIO, "%s: changed while it was read", sc->path);
	rte_cfgfile_close(cfg);
	return rc;
}

int
weir_conf_load(struct weir_conf *conf, const char *path, struct weir_error *err)
{
	size_t len = strlen(path), text_len = 0;
	struct scan sc = {.path = len > 96 ? path + len - 96 : path, .err = err};
	struct weir_conf *fresh = weir_conf_create();
	char *text = NULL;
	int rc;

	if (fresh == NULL)
		return out_of_memory(&sc);
	rc = read_file(&sc, path, &text, &text_len);
	if (rc == 0) {
		rc = scan_text(&sc, text, text_len);
		free(text);
	}
	/* Judge every key with its line before rte_cfgfile sees the file. */
	for (size_t i = 0; rc == 0 && i < sc.n; i++) {
		char origin[WEIR_CONF_ORIGIN_LEN];

		snprintf(origin, sizeof(origin), "%s:%u", sc.path, sc.found[i].line);
		rc = weir_conf_set(fresh, sc.found[i].section, sc.found[i].key, sc.found[i].value,
				   origin, err);
	}
	/* Only a file that is good as a whole changes anything. */
	if (rc == 0)
		rc = take_cfgfile(&sc, path, conf);
	free(sc.found);
	free(sc.sections);
	weir_conf_destroy(fresh);
	return rc;
}
