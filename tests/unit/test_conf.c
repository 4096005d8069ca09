/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: what the loader takes, what it refuses and with which words, and what comes of
 * it. Boundary cases are derived from the table of keys, so that a new key is tested by being there.
 */
#include "ut.h"

#include <errno.h>
#include <unistd.h>

#include <weir/weir.h>

#include "conf_key.h"
#include "fib.h"
#include "local.h"
#include "ut_eal.h"

static char file_path[64];

static void
write_bytes(const void *bytes, size_t len)
{
	FILE *f = fopen(file_path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* Load a file with this text into a fresh configuration. */
static int
load(const char *text, struct weir_conf **conf, struct weir_error *err)
{
	memset(err, 0, sizeof(*err));
	write_bytes(text, strlen(text));
	*conf = weir_conf_create();
	assert_non_null(*conf);
	return weir_conf_load(*conf, file_path, err);
}

static void
section_of(const struct weir_conf_key *key, char section[16])
{
	static const char *const names[] = {"stack", "port 0", "route 0", "neigh 0"};

	snprintf(section, 16, "%s", names[key->kind]);
}

/* ---- files that are refused ---- */

struct bad_file {
	const char *name, *text;
	unsigned int line;   /* that the message must name; 0: none */
	const char *mention; /* that it must contain */
};

#define X64 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

static const struct bad_file bad_files[] = {
	{"unknown section", "[stack]\n[ports]\n", 2, "[port 0..15]"},
	{"section without number", "[port]\nmtu = 1500\n", 1, "no such section"},
	{"section number too large", "[port 16]\n", 1, "[port 0..15]"},
	{"section number with leading zero", "[port 01]\n", 1, "no such section"},
	{"section number with two blanks", "[port  1]\n", 1, "no such section"},
	{"section number negative", "[port -1]\n", 1, "no such section"},
	{"numbered stack", "[stack 0]\n", 1, "no such section"},
	{"text behind a section", "[stack] x\n", 1, "nothing else on the line"},
	{"comment behind a section", "[stack] # x\n", 1, "nothing else on the line"},
	{"section not closed", "[stack\nburst = 1\n", 1, "[section]"},
	{"section twice", "[stack]\n\n[port 0]\n[stack]\n", 4, "line 1"},
	{"key before any section", "burst = 32\n", 1, "must come first"},
	{"unknown key names the nearest first", "[port 0]\ndevice = a\n\nmtv = 1500\n", 4,
	 "allowed: mtu, device"},
	{"key of another section", "[stack]\nmtu = 1500\n", 2, "no such key in [stack]"},
	{"key in capitals", "[port 0]\nMTU = 1500\n", 2, "allowed: mtu"},
	{"key twice", "[stack]\nburst = 32\n# x\nburst = 32\n", 4, "line 2"},
	{"line without =", "[stack]\nburst 32\n", 2, "key = value"},
	{"no key", "[stack]\n = 32\n", 2, "a key must stand"},
	{"no value", "[stack]\nburst =\n", 2, "has no value"},
	{"blank value", "[stack]\nburst =  \t \n", 2, "has no value"},
	{"comment behind a value", "[stack]\nburst = 32 # frames\n", 2, "line of its own"},
	{"comment character escaped", "[port 0]\ndevice = a\\#b\n", 2, "line of its own"},
	{"the other comment character", "[stack]\n; burst\n", 2, "key = value"},
	{"key too long", "[stack]\n" X64 " = 1\n", 2, "up to 63"},
	{"value too long", "[port 0]\ndevice = " X64 X64 X64 X64 "\n", 2, "up to 255"},
	{"line too long", "[stack]\n# " X64 X64 X64 X64 X64 "\n", 2, "allowed: lines up to 320"},
	{"not ASCII", "[stack]\nname = w\xc3\xa4r\n", 2, "byte 0xc3"},
	{"byte order mark", "\xef\xbb\xbf[stack]\n", 1, "byte 0xef"},
	{"control character", "[stack]\nname = a\x01\n", 2, "byte 0x01"},
	{"number with sign", "[stack]\nburst = +32\n", 2, "1..64"},
	{"number with unit", "[stack]\nburst = 32k\n", 2, "1..64"},
	{"number in hexadecimal", "[stack]\nburst = 0x20\n", 2, "1..64"},
	{"number with blank inside", "[stack]\nburst = 3 2\n", 2, "1..64"},
	{"number beyond 64 bits", "[stack]\nseed = 18446744073709551616\n", 2,
	 "0..18446744073709551615"},
	{"ring no power of two", "[stack]\nmesh_ring = 1000\n", 2, "power of two"},
	{"stack name too long", "[stack]\nname = abcdefghijklmnopq\n", 2, "1 to 16"},
	{"stack name with a dot", "[stack]\nname = a.b\n", 2, "1 to 16"},
	{"device with blanks", "[port 0]\ndevice = net tap\n", 2, "without blanks"},
	{"offload unknown", "[port 0]\noffload = hardware\n", 2, "auto, software"},
	{"yes or no", "[port 0]\npromiscuous = 1\n", 2, "no, yes"},
	{"source validation by number", "[port 0]\nrp_filter = 2\n", 2, "off, loose, strict"},
	{"IPv6 address with length 129", "[port 0]\naddress = fd00::1/129\n", 2, "ADDR/LEN"},
	{"nine hops",
	 "[route 0]\nvia = 10.0.0.1 10.0.0.2 10.0.0.3 10.0.0.4 10.0.0.5 10.0.0.6 "
	 "10.0.0.7 10.0.0.8 10.0.0.9\n",
	 2, "up to 8"},
	{"hop by port 16", "[route 0]\nvia = 10.0.0.1@16\n", 2, "@PORT"},
	{"hop by no port", "[route 0]\nvia = 10.0.0.1@\n", 2, "@PORT"},
	{"hop of weight 0", "[route 0]\nvia = 10.0.0.1*0\n", 2, "1..255"},
	{"hop of weight 256", "[route 0]\nvia = 10.0.0.1@0*256\n", 2, "1..255"},
	{"weight before port", "[route 0]\nvia = 10.0.0.1*2@0\n", 2, "@PORT and *WEIGHT"},
	{"route type", "[route 0]\ntype = throw\n", 2, "unicast, local, blackhole"},
	{"source-specific without length", "[route 0]\nfrom = 10.0.0.0\n", 2, "ADDR/LEN"},
	{"address without length", "[port 0]\naddress = 10.0.0.1\n", 2, "ADDR/LEN"},
	{"address with length 33", "[port 0]\naddress = 10.0.0.1/33\n", 2, "ADDR/LEN"},
	{"address twice", "[port 0]\naddress = 10.0.0.1/24 10.0.0.1/24\n", 2, "ADDR/LEN"},
	{"second address bad", "[port 0]\naddress = 10.0.0.1/24 10.0.1/24\n", 2, "ADDR/LEN"},
	{"addresses by comma", "[port 0]\naddress = 10.0.0.1/24,10.0.0.2/24\n", 2, "blanks"},
	{"prefix with host bits", "[route 0]\nprefix = 10.0.0.1/24\n", 2, "no bits set below"},
	{"prefix without length", "[route 0]\nprefix = 10.0.0.0\n", 2, "ADDR/LEN"},
	{"gateway no address", "[route 0]\nvia = gw\n", 2, "an address, on-link"},
	{"gateway with length", "[route 0]\nvia = 10.0.0.1/24\n", 2, "an address, on-link"},
	{"route to port 16", "[route 0]\nport = 16\n", 2, "auto, 0..15"},
	{"neighbour address", "[neigh 0]\naddress = 10.0.0\n", 2, "an address"},
	{"MAC of five", "[neigh 0]\nmac = 02:00:00:00:00\n", 2, "six pairs"},
	{"MAC of seven", "[neigh 0]\nmac = 02:00:00:00:00:01:02\n", 2, "six pairs"},
	{"MAC with dashes", "[neigh 0]\nmac = 02-00-00-00-00-01\n", 2, "six pairs"},
	{"MAC with blank", "[neigh 0]\nmac = 02:00:00: 0:00:01\n", 2, "six pairs"},
	{"MAC of a group", "[neigh 0]\nmac = 01:00:5e:00:00:01\n", 2, "no group address"},
	{"MAC zero", "[neigh 0]\nmac = 00:00:00:00:00:00\n", 2, "six pairs"},
};

static void
bad_file_is_refused_with_its_line_and_what_is_allowed(void **state)
{
	(void)state;
	for (size_t i = 0; i < UT_N(bad_files); i++) {
		const struct bad_file *b = &bad_files[i];
		char at[96];
		struct weir_conf *conf;
		struct weir_error err;
		int rc = load(b->text, &conf, &err);

		snprintf(at, sizeof(at), "%s:%u: ", file_path, b->line);
		ut_check(rc == -EINVAL && err.code == rc, "%s: returned %d, code %d", b->name, rc,
			 err.code);
		ut_check(strncmp(err.text, at, strlen(at)) == 0, "%s: no '%s' in '%s'", b->name, at,
			 err.text);
		ut_check(strstr(err.text, b->mention) != NULL, "%s: no '%s' in '%s'", b->name,
			 b->mention, err.text);
		weir_conf_destroy(conf);
	}
}

static void
refused_file_changes_nothing(void **state)
{
	struct weir_conf *conf = weir_conf_create();
	struct weir_error err;

	(void)state;
	assert_non_null(conf);
	assert_int_equal(weir_conf_set(conf, "stack", "burst", "7", "test", &err), 0);
	write_bytes("[stack]\nburst = 8\nhold = 9\n[port 0]\nmtu = 1\n", 43);
	assert_int_equal(weir_conf_load(conf, file_path, &err), -EINVAL);
	assert_string_equal(weir_conf_get(conf, "stack", "burst"), "7");
	assert_null(weir_conf_get(conf, "stack", "hold"));
	weir_conf_destroy(conf);
}

static void
file_that_is_none_is_refused(void **state)
{
	static const struct {
		const char *path;
		int rc;
	} rows[] = {
		{"/nonexistent/weir.conf", -ENOENT},
		{"/", -EINVAL},
		{"/dev/null", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < UT_N(rows); i++) {
		struct weir_conf *conf = weir_conf_create();
		struct weir_error err = {.code = 0};

		assert_non_null(conf);
		assert_int_equal(weir_conf_load(conf, rows[i].path, &err), rows[i].rc);
		ut_check(strncmp(err.text, rows[i].path, strlen(rows[i].path)) == 0, "%s",
			 err.text);
		weir_conf_destroy(conf);
	}
}

/* ---- files that are taken ---- */

static void
file_is_read_as_written(void **state)
{
	static const char text[] = "# a comment with = and [brackets]\n"
				   "\n"
				   "[stack]\r\n"
				   "burst=16\r\n"
				   "  \tname \t= \t a-b_9  \t\n"
				   "   # indented comment, not ASCII: \xc3\xa4\n"
				   "[port 0]\n"
				   "device = net_memif0\n"
				   "address = 10.0.0.1/24   10.0.1.1/25\n"
				   "[neigh 4095]\n"
				   "mac = 02:AB:cd:00:00:01\n"
				   "[port 15]"; /* and no newline at the end */
	struct weir_conf *conf;
	struct weir_error err;

	(void)state;
	ut_check(load(text, &conf, &err) == 0, "%s", err.text);
	assert_string_equal(weir_conf_get(conf, "stack", "burst"), "16");
	assert_string_equal(weir_conf_get(conf, "stack", "name"), "a-b_9");
	assert_string_equal(weir_conf_get(conf, "port 0", "device"), "net_memif0");
	assert_string_equal(weir_conf_get(conf, "port 0", "address"), "10.0.0.1/24   10.0.1.1/25");
	assert_string_equal(weir_conf_get(conf, "neigh 4095", "mac"), "02:AB:cd:00:00:01");
	assert_null(weir_conf_get(conf, "port 0", "mtu"));
	assert_null(weir_conf_get(conf, "port 1", "device"));
	assert_null(weir_conf_get(conf, "no such", "device"));
	assert_null(weir_conf_get(conf, "stack", "no such"));
	weir_conf_destroy(conf);
}

static void
empty_file_is_an_empty_configuration(void **state)
{
	static const char *const texts[] = {"", "\n\n", "# nothing\n", "#"};

	(void)state;
	for (size_t i = 0; i < UT_N(texts); i++) {
		struct weir_conf *conf;
		struct weir_error err;

		ut_check(load(texts[i], &conf, &err) == 0, "text %zu: %s", i, err.text);
		weir_conf_destroy(conf);
	}
}

static void
later_setting_replaces_an_earlier_one(void **state)
{
	struct weir_conf *conf;
	struct weir_error err;

	(void)state;
	ut_check(load("[port 0]\nmtu = 1500\ndevice = a\n", &conf, &err) == 0, "%s", err.text);
	assert_int_equal(weir_conf_set(conf, "port 0", "mtu", "9000", "--mtu", &err), 0);
	assert_string_equal(weir_conf_get(conf, "port 0", "mtu"), "9000");
	write_bytes("[port 0]\ndevice = b\n", 20);
	assert_int_equal(weir_conf_load(conf, file_path, &err), 0);
	assert_string_equal(weir_conf_get(conf, "port 0", "mtu"), "9000");
	assert_string_equal(weir_conf_get(conf, "port 0", "device"), "b");
	weir_conf_destroy(conf);
}

static void
refused_setting_keeps_the_old_value_and_names_its_origin(void **state)
{
	struct weir_conf *conf = weir_conf_create();
	struct weir_error err;

	(void)state;
	assert_non_null(conf);
	assert_int_equal(weir_conf_set(conf, "port 0", "mtu", "9000", "--mtu", &err), 0);
	assert_int_equal(weir_conf_set(conf, "port 0", "mtu", "575", "--mtu", &err), -EINVAL);
	assert_string_equal(err.text, "--mtu: mtu: 575: allowed: 0 or 576..65535");
	assert_int_equal(weir_conf_set(conf, "port 0", "mtu", "575", "--mtu", NULL), -EINVAL);
	assert_string_equal(weir_conf_get(conf, "port 0", "mtu"), "9000");
	weir_conf_destroy(conf);
}

/* ---- every numeric key at its limits ---- */

static void
expect(struct weir_conf *conf, const struct weir_conf_key *key, uint64_t value, bool taken)
{
	char section[16], text[32], allowed[96];
	struct weir_error err = {.code = 0};
	int rc;

	section_of(key, section);
	snprintf(text, sizeof(text), "%" PRIu64, value);
	rc = weir_conf_set(conf, section, key->name, text, "test", &err);
	ut_check((rc == 0) == taken, "[%s] %s = %s: returned %d %s", section, key->name, text, rc,
		 err.text);
	if (!taken)
		ut_check(strstr(err.text, weir_conf_allowed(key, allowed, sizeof(allowed))) != NULL,
			 "no '%s' in '%s'", allowed, err.text);
}

static void
number_is_taken_up_to_its_limits_and_no_further(void **state)
{
	size_t n, numbers = 0;
	const struct weir_conf_key *keys = weir_conf_keys(&n);
	struct weir_conf *conf = weir_conf_create();

	(void)state;
	assert_non_null(conf);
	for (const struct weir_conf_key *k = keys; k < keys + n; k++) {
		if (k->type != WEIR_CONF_UINT && k->type != WEIR_CONF_PORTREF)
			continue;
		numbers++;
		expect(conf, k, k->min, true);
		expect(conf, k, k->max, true);
		if (k->min > 0)
			expect(conf, k, k->min - 1, k->min == 1 && k->zero);
		if (k->max < UINT64_MAX)
			expect(conf, k, k->max + 1, false);
		if (k->min > 0)
			expect(conf, k, 0, k->zero);
		if (k->power_of_two) {
			expect(conf, k, k->min * 2, true);
			expect(conf, k, k->min + 1, false);
			expect(conf, k, k->max - 1, false);
		} else if (k->max > k->min) {
			expect(conf, k, k->min + 1, true);
			expect(conf, k, k->max - 1, true);
		}
	}
	assert_true(numbers > 20);
	weir_conf_destroy(conf);
}

static void
default_of_each_number_is_one_that_its_key_allows(void **state)
{
	struct weir_stack_conf sc;
	struct weir_port_conf pc;
	struct weir_route_conf rc;
	size_t n;
	const struct weir_conf_key *keys = weir_conf_keys(&n);
	struct weir_conf *conf = weir_conf_create();

	(void)state;
	assert_non_null(conf);
	weir_stack_conf_init(&sc);
	weir_port_conf_init(&pc);
	weir_route_conf_init(&rc);
	for (const struct weir_conf_key *k = keys; k < keys + n; k++) {
		const char *object = k->kind == WEIR_CONF_STACK  ? (char *)&sc
				     : k->kind == WEIR_CONF_PORT ? (char *)&pc
								 : (char *)&rc;
		uint64_t value = 0;

		if (k->type != WEIR_CONF_UINT)
			continue;
		ut_check(k->width >= 1 && k->width <= 8, "%s has no member", k->name);
		memcpy(&value, object + k->offset, k->width); /* little-endian machines only */
		expect(conf, k, value, true);
	}
	weir_conf_destroy(conf);
}

/* Create a stack with one parameter as given and the others out of its way. */
static int
create_with(const struct weir_conf_key *key, uint64_t value)
{
	struct weir_stack_conf sc;
	struct weir_stack *stack;
	int rc;

	weir_stack_conf_init(&sc);
	if (strcmp(key->name, "rcvbuf") == 0)
		sc.rcvbuf_max = UINT32_MAX;
	if (strcmp(key->name, "rcvbuf_max") == 0)
		sc.rcvbuf = 2304;
	if (strcmp(key->name, "port_lo") == 0)
		sc.port_hi = 65535;
	if (strcmp(key->name, "port_hi") == 0)
		sc.port_lo = 1;
	memcpy((char *)&sc + key->offset, &value, key->width); /* little-endian */
	rc = weir_stack_create(&sc, &stack, NULL);
	if (rc == 0)
		assert_int_equal(weir_stack_destroy(stack), 0);
	return rc;
}

static void
stack_and_key_table_agree_about_limits(void **state)
{
	size_t n;
	const struct weir_conf_key *keys = weir_conf_keys(&n);

	(void)state;
	for (const struct weir_conf_key *k = keys; k < keys + n; k++) {
		uint64_t fits = k->width == 8 ? UINT64_MAX : (UINT64_C(1) << (8 * k->width)) - 1;

		if (k->kind != WEIR_CONF_STACK || k->type != WEIR_CONF_UINT)
			continue;
		/* The largest may ask for more memory than there is, but is not invalid. */
		ut_check(create_with(k, k->min) == 0, "%s = %" PRIu64, k->name, k->min);
		ut_check(create_with(k, k->max) != -EINVAL, "%s = %" PRIu64, k->name, k->max);
		if (k->max < fits)
			ut_check(create_with(k, k->max + 1) == -EINVAL, "%s = %" PRIu64, k->name,
				 k->max + 1);
		if (k->min > 0 && !k->zero)
			ut_check(create_with(k, k->min - 1) == -EINVAL, "%s = %" PRIu64, k->name,
				 k->min - 1);
	}
}

static void
member_without_a_key_would_be_noticed(void **state)
{
	/* Each byte of the two structures must belong to a key or to a member known to have none. */
	uint8_t stack[sizeof(struct weir_stack_conf)] = {0};
	size_t n, bytes = 0;
	const struct weir_conf_key *keys = weir_conf_keys(&n);

	(void)state;
	for (const struct weir_conf_key *k = keys; k < keys + n; k++)
		if (k->kind == WEIR_CONF_STACK && k->width != 0)
			memset(stack + k->offset, 1, k->width);
	memset(stack + offsetof(struct weir_stack_conf, size), 1, sizeof(size_t));
	memset(stack + offsetof(struct weir_stack_conf, name), 1, sizeof(char *));
	for (size_t i = 0; i < sizeof(stack); i++)
		bytes += stack[i];
	/* Less than one 4-byte member may be padding. */
	ut_check(sizeof(stack) - bytes < 8, "%zu bytes of struct weir_stack_conf have no key",
		 sizeof(stack) - bytes);
}

/* ---- mangled files ---- */

static void
mangled_file_is_taken_or_refused_with_a_line(void **state)
{
	static const char seed_text[] = "# weir\n[stack]\nworkers = 2\nburst = 32\nname = a\n"
					"[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24 "
					"10.1.0.1/16\nmtu = 1500\noffload = software\n"
					"[route 0]\nprefix = 0.0.0.0/0\nvia = 10.0.0.2\n"
					"[neigh 0]\naddress = 10.0.0.2\nmac = 02:00:00:00:00:02\n";
	struct ut_rng rng = ut_rng();
	unsigned int taken = 0, refused = 0;

	(void)state;
	for (int round = 0; round < 1000; round++) {
		char text[1024];
		size_t len = sizeof(seed_text) - 1;
		struct weir_conf *conf = weir_conf_create();
		struct weir_error err = {.code = 0};
		int rc;

		assert_non_null(conf);
		memcpy(text, seed_text, len);
		for (uint32_t edits = 1 + ut_rand_below(&rng, 4); edits > 0 && len > 2; edits--) {
			uint32_t at = ut_rand_below(&rng, (uint32_t)len);
			uint32_t run = 1 + ut_rand_below(&rng, 12);

			switch (ut_rand_below(&rng, 5)) {
			case 0: /* another byte */
				text[at] = (char)ut_rand(&rng);
				break;
			case 1: /* a hole */
				if (run > len - at)
					run = (uint32_t)len - at;
				memmove(text + at, text + at + run, len - at - run);
				len -= run;
				break;
			case 2: /* the end is missing */
				len = at + 1;
				break;
			case 3: /* something twice */
				if (run > len - at)
					run = (uint32_t)len - at;
				if (len + run <= sizeof(text)) {
					memmove(text + at + run, text + at, len - at);
					len += run;
				}
				break;
			case 4: /* a character that means something */
				text[at] = "[]=#\n \\\t\r;"[ut_rand_below(&rng, 10)];
				break;
			}
		}
		write_bytes(text, len);
		rc = weir_conf_load(conf, file_path, &err);
		if (rc == 0) {
			taken++;
		} else {
			unsigned int line = 0;

			refused++;
			ut_check(rc == -EINVAL, "round %d: %d %s", round, rc, err.text);
			ut_check(sscanf(err.text + strlen(file_path), ":%u: ", &line) == 1 &&
					 line >= 1,
				 "round %d: no line in '%s'", round, err.text);
			assert_null(weir_conf_get(conf, "stack", "name"));
		}
		weir_conf_destroy(conf);
	}
	printf("# %u taken, %u refused\n", taken, refused);
	assert_true(taken > 0 && refused > 0);
}

/* ---- documents and examples ---- */

static void
readme_holds_the_table_that_the_code_prints(void **state)
{
	static const char begin[] = "<!-- keys: begin -->\n", end[] = "<!-- keys: end -->\n";
	char *doc = NULL, *readme, *from, *to;
	size_t doc_len, len;
	FILE *f = open_memstream(&doc, &doc_len);

	(void)state;
	assert_non_null(f);
	weir_conf_doc(f);
	fclose(f);

	f = fopen(WEIR_CONFIG_DIR "/README.md", "r");
	assert_non_null(f);
	readme = calloc(1, 1 << 20);
	assert_non_null(readme);
	len = fread(readme, 1, (1 << 20) - 1, f);
	assert_true(len > 0);
	fclose(f);
	from = strstr(readme, begin);
	to = strstr(readme, end);
	ut_check(from != NULL && to != NULL, "config/README.md: marks '%s' missing", begin);
	from += strlen(begin);
	ut_check((size_t)(to - from) == doc_len && memcmp(from, doc, doc_len) == 0,
		 "config/README.md differs from weir_conf_doc(): put the output of "
		 "'udp_sink -- --list-keys' between the marks");
	free(readme);
	free(doc);
}

static void
each_example_is_taken(void **state)
{
	static const char *const names[] = {"memif-server", "memif-client", "tap",  "af_packet",
					    "ring",         "null",         "pcap", "dual-stack"};

	(void)state;
	for (size_t i = 0; i < UT_N(names); i++) {
		struct weir_conf *conf = weir_conf_create();
		struct weir_error err = {.code = 0};
		char path[512];

		assert_non_null(conf);
		snprintf(path, sizeof(path), "%s/%s.conf", WEIR_CONFIG_DIR, names[i]);
		ut_check(weir_conf_load(conf, path, &err) == 0, "%s", err.text);
		assert_non_null(weir_conf_get(conf, "port 0", "device"));
		assert_non_null(weir_conf_get(conf, "port 0", "address"));
		weir_conf_destroy(conf);
	}
}

/* ---- carried out ---- */

static struct weir_stack *
apply_text(const char *text)
{
	struct weir_stack *stack = NULL;
	struct weir_conf *conf;
	struct weir_error err;

	ut_check(load(text, &conf, &err) == 0, "%s", err.text);
	ut_check(weir_conf_apply(conf, &stack, &err) == 0, "%s", err.text);
	weir_conf_destroy(conf);
	return stack;
}

static void
configuration_becomes_a_stack(void **state)
{
	struct weir_addr gw = weir_addr_v4(0x0a000002, 0), far = weir_addr_v4(0x0a010005, 0);
	struct weir_addr local;
	struct weir_socket *sk;
	struct weir_stack *stack;
	struct weir_error err;
	struct weir_port_info info;
	uint8_t mac[6] = {0};

	(void)state;
	stack = apply_text("[stack]\nname = conf\nmax_sockets = 1\n"
			   "[port 1]\ndevice = net_null1\naddress = 10.1.0.1/16\n"
			   "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24 10.0.9.1/24\n"
			   "mtu = 1400\noffload = software\n"
			   "[route 7]\nprefix = 192.168.0.0/16\nvia = 10.0.0.2\n"
			   "[neigh 3]\naddress = 10.0.0.2\nmac = 02:00:00:00:00:02\n"
			   "[neigh 0]\naddress = 10.1.0.5\nmac = 02:00:00:00:00:05\n");
	assert_string_equal(weir_neigh_state(stack, 0, &gw, mac), "permanent");
	assert_int_equal(mac[5], 2);
	assert_string_equal(weir_neigh_state(stack, 1, &far, mac), "permanent");
	assert_int_equal(mac[5], 5);

	ut_check(weir_stack_start(stack, &err) == 0, "%s", err.text);
	assert_int_equal(weir_port_info_get(stack, 0, &info), 0);
	assert_string_equal(info.device, "net_null0");
	assert_int_equal(info.mtu, 1400);
	assert_false(info.rx_csum_offload || info.tx_csum_offload);
	assert_int_equal(weir_port_info_get(stack, 1, &info), 0);
	assert_string_equal(info.device, "net_null1");

	/* The route leads through port 0: its address becomes the source. */
	assert_int_equal(weir_socket_open(stack, NULL, &sk), 0);
	far = weir_addr_v4(0xc0a80909, 1000);
	assert_int_equal(weir_socket_connect(sk, &far), 0);
	weir_socket_local(sk, &local);
	assert_int_equal(local.ip.v4, weir_addr_v4(0x0a000001, 0).ip.v4);
	/* max_sockets has arrived. */
	struct weir_socket *more;
	assert_int_equal(weir_socket_open(stack, NULL, &more), -EMFILE);
	weir_socket_close(sk);
	assert_int_equal(weir_stack_destroy(stack), 0);
}

static void
all_that_ports_and_routes_can_have_arrives(void **state)
{
	struct weir_stack *stack;
	struct weir_route like = {.family = WEIR_IPV6, .metric = 7};
	const struct weir_route *r;
	struct weir_addr a;
	uint8_t mac[6];

	(void)state;
	stack = apply_text(
		"[stack]\nname = all\nfrag_mem = 0\npmtu_min = 600\n"
		"[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24 fd00::1/64\n"
		"dad = 0\ndad4 = 3\nlink_local = no\nannounce = no\nrp_filter = strict\n"
		"accept_ra = yes\naccept_redirects = yes\n"
		"[port 1]\ndevice = net_null0\nvlan = 7\naddress = 10.7.0.1/24\n"
		"[route 0]\nprefix = ::/0\nvia = fe80::9@1 fd00::9*3 fe80::a%0\n"
		"metric = 7\nmtu = 1300\nsrc = fd00::1\n"
		"[route 1]\nprefix = 198.18.0.0/15\ntype = blackhole\nfrom = 10.0.0.0/8\n"
		"[route 2]\nprefix = 192.0.2.0/24\ntype = local\n"
		"[neigh 0]\naddress = fd00::9\nmac = 02:00:00:00:00:09\n");
	assert_int_equal(stack->conf.frag_mem, 0);
	assert_int_equal(stack->conf.pmtu_min, 600);
	assert_int_equal(stack->ports[0]->dad, 0);
	assert_int_equal(stack->ports[0]->dad4, 3);
	assert_true(stack->ports[0]->no_link_local && stack->ports[0]->no_announce);
	assert_int_equal(stack->ports[0]->rp_filter, WEIR_RP_STRICT);
	assert_true(stack->ports[0]->accept_ra && stack->ports[0]->accept_redirects);
	assert_int_equal(stack->ports[1]->vlan, 7);
	assert_int_equal(stack->ports[1]->parent, 0);
	assert_int_equal(stack->ports[1]->dad, 1);
	assert_false(stack->ports[1]->no_link_local || stack->ports[1]->no_announce ||
		     stack->ports[1]->accept_ra);

	r = weir_fib_exact(stack, &like);
	assert_non_null(r);
	assert_int_equal(r->n_hops, 3);
	assert_int_equal(r->hop[0].port->index, 1);
	assert_int_equal(r->hop[1].port->index, 0);
	assert_int_equal(r->hop[2].port->index, 0);
	assert_in_range(r->hop[0].weight, 13000, 13200); /* 1, 3 and 1 of 5 */
	assert_in_range(r->hop[1].weight, 52300, 52500);
	assert_int_equal(r->hop[0].mtu, 1300);
	assert_true(r->hop[0].has_src && r->hop[0].src.b[15] == 1);
	like = (struct weir_route){.family = WEIR_IPV4, .bits = 15, .from_bits = 8};
	like.prefix = weir_addr_v4(0xc6120000, 0).ip;
	like.from = weir_addr_v4(0x0a000000, 0).ip;
	r = weir_fib_exact(stack, &like);
	assert_non_null(r);
	assert_int_equal(r->kind, WEIR_ROUTE_BLACKHOLE);
	static const char *const said[] = {
		"address    10.0.0.1/24 on net_null0 tentative\n",
		"address    10.7.0.1/24 on net_null0.7\n",
		"route      198.18.0.0/15 blackhole from 10.0.0.0/8\n",
		"route      192.0.2.0/24 local\n",
		"route      10.7.0.0/24 connected\n",
		"route      ::/0 metric 7\n  by       net_null0.7 via fe80::9 src fd00::1 mtu 1300 share 20%\n",
	};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	weir_routes_print(f, stack);
	fclose(f);
	for (size_t i = 0; i < UT_N(said); i++)
		ut_check(strstr(text, said[i]) != NULL, "no \"%s\" in:\n%s", said[i], text);
	free(text);
	a = weir_addr_v4(0xc0000263, 0);
	assert_int_equal(weir_local4(stack, a.ip.v4), WEIR_LOCAL_UNICAST);
	assert_int_equal(weir_addr_parse("fd00::9", &a), 0);
	assert_string_equal(weir_neigh_state(stack, 0, &a, mac), "permanent");
	assert_int_equal(weir_stack_destroy(stack), 0);
}

struct bad_set_up {
	const char *name, *text;
	int rc;
	const char *mention;
};

static const struct bad_set_up bad_set_ups[] = {
	{"gap between ports", "[port 1]\ndevice = net_null1\n", -EINVAL, "[port 0]: required"},
	{"port without device", "[port 0]\nmtu = 1500\n", -EINVAL,
	 ":2: [port 0]: device: required"},
	{"no such device", "[port 0]\ndevice = net_nix0\n", -ENODEV, ":2: "},
	{"VLAN before its device", "[port 0]\ndevice = net_null0\nvlan = 7\n", -ENODEV,
	 ":2: vlan: 7: device net_null0 has to be a port itself first"},
	{"VLAN with queues of its own",
	 "[port 0]\ndevice = net_null0\n[port 1]\ndevice = net_null0\nvlan = 7\nrx_queues = 1\n",
	 -EINVAL, ":4: vlan: 7: queues, descriptors"},
	{"route that goes nowhere, by a gateway",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n"
	 "[route 0]\nprefix = 172.16.0.0/12\ntype = prohibit\nvia = 10.0.0.2\n",
	 -EINVAL, ":5: type: 172.16.0.0: only a unicast route has via"},
	{"source that is not ours",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n"
	 "[route 0]\nprefix = 172.16.0.0/12\nvia = 10.0.0.2\nsrc = 10.0.0.3\n",
	 -EINVAL, ":5: src: 10.0.0.3: is not an address of ours"},
	{"link-local gateway without a port",
	 "[port 0]\ndevice = net_null0\naddress = fd00::1/64\n[port 1]\ndevice = net_null1\n"
	 "[route 0]\nprefix = ::/0\nvia = fe80::1\n",
	 -EINVAL, ":8: via: fe80::1: on link of no port"},
	{"MTU of a route beyond the port's",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\nmtu = 1400\n"
	 "[route 0]\nprefix = 172.16.0.0/12\nvia = 10.0.0.2\nmtu = 1401\n",
	 -EINVAL, ":6: mtu: 1401: is more than its port carries"},
	{"device twice", "[port 0]\ndevice = net_null0\n[port 1]\ndevice = net_null0\n", 0, ":4: "},
	{"route without prefix", "[port 0]\ndevice = net_null0\n[route 0]\nvia = 10.0.0.1\n",
	 -EINVAL, ":4: [route 0]: prefix: required"},
	{"gateway on link nowhere",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n"
	 "[route 0]\nprefix = 0.0.0.0/0\nvia = 10.0.1.1\n",
	 -EINVAL, ":6: via: 10.0.1.1: on link of no port"},
	{"gateway on link elsewhere",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n"
	 "[port 1]\ndevice = net_null1\naddress = 10.1.0.1/24\n"
	 "[route 0]\nprefix = 0.0.0.0/0\nvia = 10.1.0.2\nport = 0\n",
	 -ENETUNREACH, ":8: "},
	{"route to a port that is none",
	 "[port 0]\ndevice = net_null0\n[route 0]\nprefix = 10.0.0.0/8\nport = 1\n", -EINVAL,
	 ":5: port: 1: allowed: 0..0"},
	{"neighbour without MAC",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n[neigh 0]\naddress = 10.0.0.2\n",
	 -EINVAL, ":5: [neigh 0]: mac: required"},
	{"address twice on two ports",
	 "[port 0]\ndevice = net_null0\naddress = 10.0.0.1/24\n"
	 "[port 1]\ndevice = net_null1\naddress = 10.0.0.1/24\n",
	 -EEXIST, ":6: "},
	{"address of the network", "[port 0]\ndevice = net_null0\naddress = 10.0.0.0/24\n", -EINVAL,
	 ":3: "},
	{"ephemeral ports upside down", "[stack]\nport_lo = 2000\nport_hi = 1999\n", -EINVAL,
	 "port_"},
};

static void
set_up_that_cannot_be_leaves_nothing_behind(void **state)
{
	(void)state;
	for (size_t i = 0; i < UT_N(bad_set_ups); i++) {
		const struct bad_set_up *b = &bad_set_ups[i];
		struct weir_stack *stack = NULL;
		struct weir_conf *conf;
		struct weir_error err;
		int rc;

		ut_check(load(b->text, &conf, &err) == 0, "%s: %s", b->name, err.text);
		rc = weir_conf_apply(conf, &stack, &err);
		ut_check(rc < 0 && stack == NULL, "%s: taken", b->name);
		ut_check(b->rc == 0 || rc == b->rc, "%s: returned %d: %s", b->name, rc, err.text);
		ut_check(strstr(err.text, b->mention) != NULL, "%s: no '%s' in '%s'", b->name,
			 b->mention, err.text);
		weir_conf_destroy(conf);
		/* The devices and the name are free again. */
		stack = apply_text("[port 0]\ndevice = net_null0\n[port 1]\ndevice = net_null1\n");
		assert_int_equal(weir_stack_destroy(stack), 0);
	}
}

static int
set_up(void **state)
{
	static const char *const devices[] = {"--vdev=net_null0", "--vdev=net_null1", NULL};
	int fd;

	(void)state;
	snprintf(file_path, sizeof(file_path), "/tmp/test_conf.XXXXXX");
	fd = mkstemp(file_path);
	if (fd < 0)
		return -1;
	close(fd);
	return ut_eal_init(2, devices);
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(file_path);
	ut_eal_fini();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(bad_file_is_refused_with_its_line_and_what_is_allowed),
		cmocka_unit_test(refused_file_changes_nothing),
		cmocka_unit_test(file_that_is_none_is_refused),
		cmocka_unit_test(file_is_read_as_written),
		cmocka_unit_test(empty_file_is_an_empty_configuration),
		cmocka_unit_test(later_setting_replaces_an_earlier_one),
		cmocka_unit_test(refused_setting_keeps_the_old_value_and_names_its_origin),
		cmocka_unit_test(number_is_taken_up_to_its_limits_and_no_further),
		cmocka_unit_test(default_of_each_number_is_one_that_its_key_allows),
		cmocka_unit_test(stack_and_key_table_agree_about_limits),
		cmocka_unit_test(member_without_a_key_would_be_noticed),
		cmocka_unit_test(mangled_file_is_taken_or_refused_with_a_line),
		cmocka_unit_test(readme_holds_the_table_that_the_code_prints),
		cmocka_unit_test(each_example_is_taken),
		cmocka_unit_test(configuration_becomes_a_stack),
		cmocka_unit_test(all_that_ports_and_routes_can_have_arrives),
		cmocka_unit_test(set_up_that_cannot_be_leaves_nothing_behind),
	};

	return UT_RUN(cases, set_up, tear_down);
}
