/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Option tables over getopt_long(): see opt.h. Main thread only, before any other thread exists
 * (getopt keeps its state in globals).
 */
#include "opt.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTS 96
#define NS_PER_S UINT64_C(1000000000)

int
opt_uint(const char *text, uint64_t *out)
{
	uint64_t v = 0;

	if (*text == '\0')
		return -1;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
			return -1;
	}
	*out = v;
	return 0;
}

/* "12", "0.5", "1.25" to nanoseconds; at most nine decimals. */
static int
seconds_ns(const char *text, uint64_t *out_ns)
{
	const char *dot = strchr(text, '.');
	char whole[24];
	uint64_t s, frac = 0, scale = NS_PER_S;
	size_t len = dot != NULL ? (size_t)(dot - text) : strlen(text);

	if (len == 0 || len >= sizeof(whole))
		return -1;
	memcpy(whole, text, len);
	whole[len] = '\0';
	if (opt_uint(whole, &s) < 0 || s > UINT64_MAX / NS_PER_S - 1)
		return -1;
	if (dot != NULL) {
		size_t digits = strlen(dot + 1);

		if (digits < 1 || digits > 9 || opt_uint(dot + 1, &frac) < 0)
			return -1;
		while (digits-- > 0)
			scale /= 10;
		frac *= scale;
	}
	*out_ns = s * NS_PER_S + frac;
	return 0;
}

/* "-p", "--port": as the user wrote it. */
static const char *
spelled(const struct opt *o, int c, char buf[64])
{
	if (c > 0 && c < 256)
		snprintf(buf, 64, "-%c", c);
	else
		snprintf(buf, 64, "--%s", o->name);
	return buf;
}

static int
take(const char *program, const struct opt *o, const char *as, const char *value)
{
	char why[256] = "";
	uint64_t v;

	if (o->given != NULL)
		*o->given = true;
	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = true;
		return 0;
	case OPT_TEXT:
		*(const char **)o->to = value;
		return 0;
	case OPT_UINT:
		if (opt_uint(value, &v) == 0 && v >= o->min && v <= o->max) {
			*(uint64_t *)o->to = v;
			return 0;
		}
		snprintf(why, sizeof(why), "a number %ju..%ju", (uintmax_t)o->min,
			 (uintmax_t)o->max);
		break;
	case OPT_SECONDS:
		if (seconds_ns(value, &v) == 0 && v >= o->min && v <= o->max) {
			*(uint64_t *)o->to = v;
			return 0;
		}
		snprintf(why, sizeof(why), "seconds %.3g..%.10g, e.g. 2 or 0.5",
			 (double)o->min / (double)NS_PER_S, (double)o->max / (double)NS_PER_S);
		break;
	case OPT_CALL:
		if (o->call(o->to, value, why, sizeof(why)) == 0)
			return 0;
		break;
	}
	fprintf(stderr, "%s: %s: %s: allowed: %s\n", program, as, value, why);
	return -1;
}

int
opt_parse(const char *program, const struct opt *const tables[], int argc, char **argv)
{
	struct option longs[MAX_OPTS + 1];
	const struct opt *rows[MAX_OPTS], *by_letter[256] = {NULL};
	char shorts[2 * MAX_OPTS + 2] = ":", buf[64];
	size_t n = 0, s = 1;
	int c, which;

	memset(longs, 0, sizeof(longs));
	for (; *tables != NULL; tables++) {
		for (const struct opt *o = *tables; o->name != NULL && n < MAX_OPTS; o++) {
			rows[n] = o;
			longs[n].name = o->name;
			longs[n].has_arg = o->arg != NULL ? required_argument : no_argument;
			longs[n].val = 256 + (int)n;
			n++;
			for (const char *l = o->letters; l != NULL && *l != '\0'; l++) {
				by_letter[(unsigned char)*l] = o;
				if (s + 3 > sizeof(shorts))
					abort(); /* more letters than the table has room for */
				shorts[s++] = *l;
				if (o->arg != NULL)
					shorts[s++] = ':';
				shorts[s] = '\0';
			}
		}
	}

	opterr = 0;
	optind = 0; /* GNU: start afresh */
	while (which = -1, (c = getopt_long(argc, argv, shorts, longs, &which)) != -1) {
		const struct opt *o;

		if (c == '?' || c == ':') {
			const char *what = argv[optind - 1];

			if (optopt > 0 && optopt < 256) {
				snprintf(buf, sizeof(buf), "-%c", optopt);
				what = buf;
			} else if (optopt >= 256) {
				what = spelled(rows[optopt - 256], 0, buf);
			}
			if (c == ':')
				fprintf(stderr, "%s: %s: needs a value (%s)\n", program, what,
					optopt >= 256 ? rows[optopt - 256]->arg
						      : by_letter[optopt]->arg);
			else if (optopt >= 256)
				fprintf(stderr, "%s: %s: takes no value\n", program, what);
			else
				fprintf(stderr,
					"%s: %s: unknown or ambiguous option; allowed: "
					"those that --help lists\n",
					program, what);
			return -1;
		}
		o = c >= 256 ? rows[c - 256] : by_letter[c];
		if (take(program, o, spelled(o, c, buf), optarg != NULL ? optarg : "") < 0)
			return -1;
	}
	return optind;
}

void
opt_usage(FILE *f, const struct opt *table)
{
	for (const struct opt *o = table; o->name != NULL; o++) {
		char left[96];
		int len = 0;
		const char *line = o->help;

		for (const char *l = o->letters; l != NULL && *l != '\0'; l++)
			len += snprintf(left + len, sizeof(left) - (size_t)len, "-%c, ", *l);
		len += snprintf(left + len, sizeof(left) - (size_t)len, "--%s", o->name);
		if (o->arg != NULL)
			len += snprintf(left + len, sizeof(left) - (size_t)len, " %s", o->arg);
		fprintf(f, "  %-30s", left);
		if (len > 29)
			fprintf(f, "\n  %30s", "");
		while (line != NULL) {
			const char *end = strchr(line, '\n');

			if (end == NULL) {
				fprintf(f, " %s\n", line);
				break;
			}
			fprintf(f, " %.*s\n  %30s", (int)(end - line), line, "");
			line = end + 1;
		}
	}
}
