/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration: collect settings from files and command lines, then carry them out as one
 * transaction of control calls.
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
#include <weir/conf.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_cfgfile.h>

#include "conf_key.h"
#include "control.h"

#define COMMENT        '#'
#define FILE_MAX       (4u << 20)
#define LINE_MAX_CHARS (CFG_NAME_LEN + CFG_VALUE_LEN) /* a little below rte_cfgfile's buffer */
#define ORIGIN_LEN     128
#define ADDRESSES_MAX  16 /* per port; more than fit a value anyway */

/* ---- the table ---- */

#define STACK_KEY(member, lo, hi, ...)                                                             \
	{                                                                                          \
		.kind = WEIR_CONF_STACK, .name = #member, .type = WEIR_CONF_UINT, .min = (lo),     \
		.max = (hi), .offset = offsetof(struct weir_stack_conf, member),                   \
		.width = sizeof(((struct weir_stack_conf *)NULL)->member), __VA_ARGS__             \
	}
#define PORT_KEY(member, lo, hi, ...)                                                              \
	{                                                                                          \
		.kind = WEIR_CONF_PORT, .name = #member, .type = WEIR_CONF_UINT, .min = (lo),      \
		.max = (hi), .offset = offsetof(struct weir_port_conf, member),                    \
		.width = sizeof(((struct weir_port_conf *)NULL)->member), __VA_ARGS__              \
	}

static const struct weir_conf_key keys[] = {
	{.kind = WEIR_CONF_STACK,
	 .name = "name",
	 .type = WEIR_CONF_NAME,
	 .unit = "",
	 .deflt = "weir",
	 .meaning = "name of the stack, unique in the process"},
	STACK_KEY(workers, 1, WEIR_MAX_WORKERS, .unit = "threads",
		  .meaning = "threads that poll ports"),
	STACK_KEY(max_threads, 0, WEIR_MAX_LCORES - 1 - WEIR_MAX_WORKERS, .unit = "threads",
		  .meaning = "further threads that may attach"),
	STACK_KEY(max_sockets, 1, 1048576, .unit = "sockets", .meaning = "sockets open at once"),
	STACK_KEY(pool_mbufs, 64, 67108864, .zero = true, .unit = "buffers",
		  .meaning = "buffers in the pool; 0: what rings and sockets need"),
	STACK_KEY(data_room, 640, 16384, .unit = "bytes",
		  .meaning = "frame bytes per buffer, headroom excluded"),
	STACK_KEY(burst, 1, WEIR_MAX_BURST, .unit = "frames",
		  .meaning = "frames taken from a receive queue at once"),
	STACK_KEY(mesh_ring, 64, 65536, .power_of_two = true, .unit = "entries",
		  .meaning = "size of each ring from one thread to another"),
	STACK_KEY(rcvbuf, 2304, UINT32_MAX, .unit = "bytes",
		  .meaning = "receive buffer of a socket that asks for none, in true size (buffers "
			     "count whole)"),
	STACK_KEY(rcvbuf_max, 2304, UINT32_MAX, .unit = "bytes",
		  .meaning = "largest receive buffer that a socket may ask for"),
	STACK_KEY(max_neigh, 16, 1048576, .unit = "entries",
		  .meaning = "neighbours known at once, all ports together"),
	STACK_KEY(hold, 1, 1024, .unit = "datagrams",
		  .meaning = "datagrams that wait for one neighbour, per thread"),
	STACK_KEY(arp_retries, 1, 20, .unit = "requests",
		  .meaning = "ARP requests before a neighbour counts as failed"),
	STACK_KEY(arp_retry_ms, 10, 60000, .unit = "ms", .meaning = "time between them"),
	STACK_KEY(neigh_reachable_ms, 100, 86400000, .unit = "ms",
		  .meaning = "age at which a neighbour becomes stale and is asked again"),
	STACK_KEY(icmp_rate, 0, 1000000, .unit = "messages/s",
		  .meaning = "ICMP messages that each thread may send; 0: none"),
	STACK_KEY(tx_stall_ms, 1, 60000, .unit = "ms",
		  .meaning = "how long a frame may wait for a full transmit queue"),
	STACK_KEY(port_lo, 1, 65535, .unit = "UDP port", .meaning = "first ephemeral port"),
	STACK_KEY(port_hi, 1, 65535, .unit = "UDP port",
		  .meaning = "last ephemeral port, not below port_lo"),
	STACK_KEY(seed, 0, UINT64_MAX, .unit = "",
		  .meaning = "seed of all hashes; 0: from the system's entropy"),

	{.kind = WEIR_CONF_PORT,
	 .name = "device",
	 .type = WEIR_CONF_DEVICE,
	 .required = true,
	 .unit = "",
	 .deflt = "",
	 .meaning = "ethdev, by name (net_memif0) or number"},
	{.kind = WEIR_CONF_PORT,
	 .name = "address",
	 .type = WEIR_CONF_ADDRESSES,
	 .unit = "",
	 .deflt = "none",
	 .meaning = "own addresses with the prefix that is on link"},
	PORT_KEY(mtu, 576, 65535, .zero = true, .unit = "bytes",
		 .meaning = "largest IP packet; 0: as the device has it"),
	PORT_KEY(rx_desc, 16, 65535, .zero = true, .unit = "descriptors",
		 .meaning = "per receive queue; 0: as the device prefers, else 1024"),
	PORT_KEY(tx_desc, 16, 65535, .zero = true, .unit = "descriptors",
		 .meaning = "per transmit queue; 0: as the device prefers, else 1024"),
	PORT_KEY(rx_queues, 1, WEIR_MAX_WORKERS, .zero = true, .unit = "queues",
		 .meaning = "receive queues; 0: one per worker, as far as the device has them"),
	PORT_KEY(tx_queues, 1, WEIR_MAX_WORKERS, .zero = true, .unit = "queues",
		 .meaning = "transmit queues; 0: one per worker, as far as the device has them"),
	{.kind = WEIR_CONF_PORT,
	 .name = "offload",
	 .type = WEIR_CONF_OFFLOAD,
	 .unit = "",
	 .deflt = "auto",
	 .meaning = "auto: use what the device can do; software: compute everything"},
	{.kind = WEIR_CONF_PORT,
	 .name = "promiscuous",
	 .type = WEIR_CONF_YESNO,
	 .unit = "",
	 .deflt = "no",
	 .meaning = "let the device deliver frames for other MACs (they are dropped)"},

	{.kind = WEIR_CONF_ROUTE,
	 .name = "prefix",
	 .type = WEIR_CONF_PREFIX,
	 .required = true,
	 .unit = "",
	 .deflt = "",
	 .meaning = "destination; 0.0.0.0/0 is the default route"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "via",
	 .type = WEIR_CONF_VIA,
	 .unit = "",
	 .deflt = "on-link",
	 .meaning = "gateway, itself on link"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "port",
	 .type = WEIR_CONF_PORTREF,
	 .unit = "",
	 .min = 0,
	 .max = WEIR_MAX_PORTS - 1,
	 .deflt = "auto",
	 .meaning = "port to leave by; auto: the one that has the gateway on link"},

	{.kind = WEIR_CONF_NEIGH,
	 .name = "address",
	 .type = WEIR_CONF_ADDRESS,
	 .required = true,
	 .unit = "",
	 .deflt = "",
	 .meaning = "address of the neighbour"},
	{.kind = WEIR_CONF_NEIGH,
	 .name = "mac",
	 .type = WEIR_CONF_MAC,
	 .required = true,
	 .unit = "",
	 .deflt = "",
	 .meaning = "its MAC, never asked for and never aged"},
	{.kind = WEIR_CONF_NEIGH,
	 .name = "port",
	 .type = WEIR_CONF_PORTREF,
	 .unit = "",
	 .min = 0,
	 .max = WEIR_MAX_PORTS - 1,
	 .deflt = "auto",
	 .meaning = "port it is behind; auto: the one that has the address on link"},
};
#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const struct {
	const char *name;    /* first word of the section */
	unsigned int number; /* sections [name 0] .. [name number-1]; 0: [name] alone */
	const char *about;
} kinds[WEIR_CONF_KINDS] = {
	[WEIR_CONF_STACK] = {"stack", 0, "The stack as a whole."},
	[WEIR_CONF_PORT] = {"port", WEIR_MAX_PORTS,
			    "One section per ethdev: `[port 0]`, `[port 1]`, …, without a gap."},
	[WEIR_CONF_ROUTE] = {"route", 4096,
			     "One section per route beyond those that a port's addresses bring: "
			     "`[route 0]` to `[route 4095]`, in any order."},
	[WEIR_CONF_NEIGH] = {"neigh", 4096,
			     "One section per permanent neighbour: `[neigh 0]` to `[neigh 4095]`."},
};

const struct weir_conf_key *
weir_conf_keys(size_t *n)
{
	*n = N_KEYS;
	return keys;
}

char *
weir_conf_allowed(const struct weir_conf_key *key, char *buf, size_t size)
{
	switch (key->type) {
	case WEIR_CONF_UINT:
		snprintf(buf, size, "%s%s%" PRIu64 "..%" PRIu64, key->zero ? "0 or " : "",
			 key->power_of_two ? "a power of two " : "", key->min, key->max);
		break;
	case WEIR_CONF_YESNO:
		snprintf(buf, size, "yes, no");
		break;
	case WEIR_CONF_OFFLOAD:
		snprintf(buf, size, "auto, software");
		break;
	case WEIR_CONF_NAME:
		snprintf(buf, size, "1 to 16 of A-Z a-z 0-9 _ -");
		break;
	case WEIR_CONF_DEVICE:
		snprintf(buf, size, "1 to 63 printable characters without blanks");
		break;
	case WEIR_CONF_ADDRESSES:
		snprintf(buf, size, "ADDR/LEN, up to %d of them separated by blanks",
			 ADDRESSES_MAX);
		break;
	case WEIR_CONF_PREFIX:
		snprintf(buf, size, "ADDR/LEN with no bits set below LEN");
		break;
	case WEIR_CONF_VIA:
		snprintf(buf, size, "an address, on-link");
		break;
	case WEIR_CONF_ADDRESS:
		snprintf(buf, size, "an address");
		break;
	case WEIR_CONF_MAC:
		snprintf(buf, size,
			 "six pairs of hex digits, like 02:00:00:00:00:01; no group address");
		break;
	case WEIR_CONF_PORTREF:
		snprintf(buf, size, "auto, %" PRIu64 "..%" PRIu64, key->min, key->max);
		break;
	}
	return buf;
}

/* ---- values ---- */

static int
parse_uint(const char *text, uint64_t *out)
{
	uint64_t v = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return -EINVAL;
	}
	*out = v;
	return 0;
}

static int
parse_mac(const char *text, uint8_t mac[6])
{
	if (strlen(text) != 17)
		return -EINVAL;
	for (int i = 0; i < 6; i++, text += 3) {
		char pair[3] = {text[0], text[1], '\0'};

		if (!isxdigit((unsigned char)text[0]) || !isxdigit((unsigned char)text[1]) ||
		    text[2] != (i < 5 ? ':' : '\0'))
			return -EINVAL;
		mac[i] = (uint8_t)strtoul(pair, NULL, 16);
	}
	if ((mac[0] & 1) != 0 || (mac[0] | mac[1] | mac[2] | mac[3] | mac[4] | mac[5]) == 0)
		return -EINVAL;
	return 0;
}

/* The next of several addresses. 1 and *text moved on; 0: no more; -EINVAL. */
static int
next_address(const char **text, struct weir_addr *addr, uint8_t *bits)
{
	char one[WEIR_ADDR_STRLEN];
	const char *p = *text + strspn(*text, " \t");
	size_t len = strcspn(p, " \t");

	if (len == 0)
		return 0;
	if (len >= sizeof(one))
		return -EINVAL;
	memcpy(one, p, len);
	one[len] = '\0';
	*text = p + len;
	return memchr(one, '/', len) != NULL && weir_prefix_parse(one, addr, bits) == 0 ? 1
											: -EINVAL;
}

/* True when addr lies in the prefix base/bits. Bytes in network order. */
static bool
in_prefix(const struct weir_addr *addr, const struct weir_addr *base, unsigned int bits)
{
	if (addr->family != base->family)
		return false;
	for (unsigned int i = 0; i < bits; i++)
		if (((addr->ip.b[i / 8] ^ base->ip.b[i / 8]) & (0x80u >> i % 8)) != 0)
			return false;
	return true;
}

static bool
host_bits_zero(const struct weir_addr *addr, unsigned int bits)
{
	unsigned int all = addr->family == WEIR_IPV4 ? 32 : 128;

	for (unsigned int i = bits; i < all; i++)
		if ((addr->ip.b[i / 8] & (0x80u >> i % 8)) != 0)
			return false;
	return true;
}

static int
check_addresses(const char *text)
{
	struct weir_addr addr[ADDRESSES_MAX + 1];
	unsigned int n = 0;
	uint8_t bits;
	int rc;

	while ((rc = next_address(&text, &addr[n], &bits)) > 0) {
		for (unsigned int i = 0; i < n; i++)
			if (memcmp(&addr[i], &addr[n], sizeof(addr[n])) == 0)
				return -EINVAL;
		if (++n > ADDRESSES_MAX)
			return -EINVAL;
	}
	return rc < 0 || n == 0 ? -EINVAL : 0;
}

static int
check_value(const struct weir_conf_key *key, const char *text)
{
	static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789_-";
	size_t len = strlen(text);
	struct weir_addr addr;
	uint8_t bits, mac[6];
	uint64_t v;

	switch (key->type) {
	case WEIR_CONF_UINT:
		if (parse_uint(text, &v) < 0)
			return -EINVAL;
		if (v == 0 && key->zero)
			return 0;
		if (v < key->min || v > key->max)
			return -EINVAL;
		return key->power_of_two && (v & (v - 1)) != 0 ? -EINVAL : 0;
	case WEIR_CONF_YESNO:
		return strcmp(text, "yes") == 0 || strcmp(text, "no") == 0 ? 0 : -EINVAL;
	case WEIR_CONF_OFFLOAD:
		return strcmp(text, "auto") == 0 || strcmp(text, "software") == 0 ? 0 : -EINVAL;
	case WEIR_CONF_NAME:
		return len >= 1 && len <= 16 && strspn(text, name_chars) == len ? 0 : -EINVAL;
	case WEIR_CONF_DEVICE:
		for (size_t i = 0; i < len; i++)
			if (text[i] <= ' ' || text[i] > '~')
				return -EINVAL;
		return len >= 1 && len <= 63 ? 0 : -EINVAL;
	case WEIR_CONF_ADDRESSES:
		return check_addresses(text);
	case WEIR_CONF_PREFIX:
		if (strchr(text, '/') == NULL || weir_prefix_parse(text, &addr, &bits) < 0)
			return -EINVAL;
		return host_bits_zero(&addr, bits) ? 0 : -EINVAL;
	case WEIR_CONF_VIA:
		return strcmp(text, "on-link") == 0 ? 0 : weir_addr_parse(text, &addr);
	case WEIR_CONF_ADDRESS:
		return weir_addr_parse(text, &addr);
	case WEIR_CONF_MAC:
		return parse_mac(text, mac);
	case WEIR_CONF_PORTREF:
		if (strcmp(text, "auto") == 0)
			return 0;
		return parse_uint(text, &v) == 0 && v >= key->min && v <= key->max ? 0 : -EINVAL;
	}
	return -EINVAL;
}

/* ---- the collection ---- */

struct setting {
	const struct weir_conf_key *key;
	unsigned int number; /* of the section; 0 for [stack] */
	char *value;
	char origin[ORIGIN_LEN];
};

struct weir_conf {
	struct setting *set;
	size_t n, cap;
};

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
		size_t len = strlen(kinds[k].name);
		const char *digits = text + len + 1;
		uint64_t v;

		if (strncmp(text, kinds[k].name, len) != 0)
			continue;
		*kind = (enum weir_conf_kind)k;
		*number = 0;
		if (kinds[k].number == 0)
			return text[len] == '\0' ? 0 : -EINVAL;
		/* One blank, no leading zero: each section has one spelling. */
		if (text[len] != ' ' || (digits[0] == '0' && digits[1] != '\0') ||
		    parse_uint(digits, &v) < 0 || v >= kinds[k].number)
			return -EINVAL;
		*number = (unsigned int)v;
		return 0;
	}
	return -EINVAL;
}

static int
refuse_section(const char *origin, const char *section, struct weir_error *err)
{
	return weir_error_set(err, -EINVAL,
			      "%s: [%.40s]: no such section: allowed: [stack], [port 0..%u], "
			      "[route 0..%u], [neigh 0..%u]",
			      origin, section, kinds[WEIR_CONF_PORT].number - 1,
			      kinds[WEIR_CONF_ROUTE].number - 1, kinds[WEIR_CONF_NEIGH].number - 1);
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
	const struct weir_conf_key *nearest = NULL;
	unsigned int best = UINT32_MAX;
	char list[256];
	size_t len;

	for (size_t i = 0; i < N_KEYS; i++) {
		if (keys[i].kind == kind && distance(name, keys[i].name) < best) {
			best = distance(name, keys[i].name);
			nearest = &keys[i];
		}
	}
	if (nearest == NULL)
		return refuse_section(origin, section, err);
	len = (size_t)snprintf(list, sizeof(list), "%s", nearest->name);
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].kind == kind && &keys[i] != nearest && len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, ", %s",
						keys[i].name);
	return weir_error_set(err, -EINVAL, "%s: %.40s: no such key in [%s]: allowed: %s", origin,
			      name, section, list);
}

static const struct weir_conf_key *
find_key(enum weir_conf_kind kind, const char *name)
{
	for (size_t i = 0; i < N_KEYS; i++)
		if (keys[i].kind == kind && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

static struct setting *
find_setting(const struct weir_conf *conf, enum weir_conf_kind kind, unsigned int number,
	     const char *name)
{
	for (size_t i = 0; i < conf->n; i++) {
		struct setting *s = &conf->set[i];

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
	struct setting *s;
	char allowed[96], *copy;

	if (parse_section(section, &kind, &number) < 0)
		return refuse_section(origin, section, err);
	k = find_key(kind, key);
	if (k == NULL)
		return refuse_key(origin, section, kind, key, err);
	if (check_value(k, value) < 0)
		return weir_error_set(err, -EINVAL, "%s: %s: %.60s: allowed: %s", origin, key,
				      value, weir_conf_allowed(k, allowed, sizeof(allowed)));
	copy = strdup(value);
	if (copy == NULL)
		return weir_error_set(err, -ENOMEM, "%s: %s: out of memory", origin, key);
	s = find_setting(conf, kind, number, key);
	if (s == NULL) {
		if (conf->n == conf->cap) {
			size_t cap = conf->cap != 0 ? conf->cap * 2 : 32;
			struct setting *more = realloc(conf->set, cap * sizeof(*more));

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
	const struct setting *s;

	if (parse_section(section, &kind, &number) < 0)
		return NULL;
	s = find_setting(conf, kind, number, key);
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
	char origin[ORIGIN_LEN], *end = strchr(line, ']');
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
	struct rte_cfgfile_entry entries[N_KEYS];
	size_t at = 0;
	int rc = 0, n_sections;

	if (cfg == NULL)
		return weir_error_set(sc->err, -EIO, "%s: cannot be read a second time", sc->path);
	n_sections = rte_cfgfile_num_sections(cfg, NULL, 0);
	if (n_sections < 0 || (size_t)n_sections != sc->n_sections)
		rc = -EIO;
	for (int i = 0; rc == 0 && i < n_sections; i++) {
		char name[CFG_NAME_LEN];
		int n = rte_cfgfile_section_entries_by_index(cfg, i, name, entries, N_KEYS);

		for (int e = 0; rc == 0 && e < n; e++, at++) {
			const struct scanned *f = &sc->found[at];
			char origin[ORIGIN_LEN];

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
		char origin[ORIGIN_LEN];

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

/* ---- carrying out ---- */

static void
store(void *object, const struct weir_conf_key *key, const char *text)
{
	char *to = (char *)object + key->offset;
	uint64_t v = 0;

	if (key->width == 0 || parse_uint(text, &v) < 0)
		return;
	switch (key->width) {
	case 1:
		*(uint8_t *)to = (uint8_t)v;
		break;
	case 2:
		*(uint16_t *)(void *)to = (uint16_t)v;
		break;
	case 4:
		*(uint32_t *)(void *)to = (uint32_t)v;
		break;
	case 8:
		*(uint64_t *)(void *)to = v;
		break;
	}
}

static uint64_t
fetch(const void *object, const struct weir_conf_key *key)
{
	const char *from = (const char *)object + key->offset;

	switch (key->width) {
	case 1:
		return *(const uint8_t *)from;
	case 2:
		return *(const uint16_t *)(const void *)from;
	case 4:
		return *(const uint32_t *)(const void *)from;
	default:
		return *(const uint64_t *)(const void *)from;
	}
}

/* The port whose prefix holds this address, or -1. */
static int
port_of(const struct weir_conf *conf, const struct weir_addr *addr)
{
	int best = -1;
	unsigned int best_bits = 0;

	for (size_t i = 0; i < conf->n; i++) {
		const struct setting *s = &conf->set[i];
		const char *text = s->value;
		struct weir_addr own;
		uint8_t bits;

		if (s->key->type != WEIR_CONF_ADDRESSES)
			continue;
		while (next_address(&text, &own, &bits) > 0) {
			if (in_prefix(addr, &own, bits) && (best < 0 || bits > best_bits)) {
				best = (int)s->number;
				best_bits = bits;
			}
		}
	}
	return best;
}

/* The transaction being put together. */
struct plan {
	const struct weir_conf *conf;
	struct weir_ctl_op *ops;
	unsigned int n, cap;
	unsigned int n_ports;
	struct weir_error *err;
};

static struct weir_ctl_op *
add_op(struct plan *p, enum weir_ctl_kind kind, const struct setting *s)
{
	struct weir_ctl_op *op = &p->ops[p->n++];

	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->origin = s->origin;
	return op;
}

static int
missing(struct plan *p, enum weir_conf_kind kind, unsigned int number, const char *key)
{
	/* Name the place by any key of the section that was given. */
	for (size_t i = 0; i < p->conf->n; i++) {
		const struct setting *s = &p->conf->set[i];

		if (s->key->kind == kind && s->number == number)
			return weir_error_set(p->err, -EINVAL, "%s: [%s %u]: %s: required",
					      s->origin, kinds[kind].name, number, key);
	}
	return weir_error_set(p->err, -EINVAL, "[%s %u]: required, since [port %u] is given",
			      kinds[kind].name, number, p->n_ports - 1);
}

static int
plan_port(struct plan *p, unsigned int number)
{
	const struct setting *device = find_setting(p->conf, WEIR_CONF_PORT, number, "device");
	const struct setting *s;
	struct weir_ctl_op *op;

	if (device == NULL)
		return missing(p, WEIR_CONF_PORT, number, "device");
	op = add_op(p, WEIR_CTL_PORT_ADD, device);
	weir_port_conf_init(&op->port_conf);
	op->port_conf.device = device->value;
	for (size_t i = 0; i < p->conf->n; i++) {
		s = &p->conf->set[i];
		if (s->key->kind == WEIR_CONF_PORT && s->number == number)
			store(&op->port_conf, s->key, s->value);
	}
	s = find_setting(p->conf, WEIR_CONF_PORT, number, "offload");
	op->port_conf.no_offload = s != NULL && strcmp(s->value, "software") == 0;
	s = find_setting(p->conf, WEIR_CONF_PORT, number, "promiscuous");
	op->port_conf.promiscuous = s != NULL && strcmp(s->value, "yes") == 0;
	return 0;
}

static void
plan_addresses(struct plan *p, unsigned int number)
{
	const struct setting *s = find_setting(p->conf, WEIR_CONF_PORT, number, "address");
	const char *text = s != NULL ? s->value : "";
	struct weir_addr addr;
	uint8_t bits;

	while (next_address(&text, &addr, &bits) > 0) {
		struct weir_ctl_op *op = add_op(p, WEIR_CTL_ADDR_ADD, s);

		op->port = number;
		op->addr = addr;
		op->prefix_bits = bits;
	}
}

/* The port of a route or neighbour: as given, or the one that has addr on link. */
static int
plan_portref(struct plan *p, enum weir_conf_kind kind, unsigned int number,
	     const struct weir_addr *addr, const struct setting *place, unsigned int *port)
{
	const struct setting *s = find_setting(p->conf, kind, number, "port");
	int found = p->n_ports == 1 ? 0 : -1;

	if (s != NULL && strcmp(s->value, "auto") != 0) {
		*port = (unsigned int)strtoul(s->value, NULL, 10);
		if (*port >= p->n_ports)
			return weir_error_set(p->err, -EINVAL, "%s: port: %u: allowed: 0..%u",
					      s->origin, *port, p->n_ports - 1);
		return 0;
	}
	if (addr != NULL)
		found = port_of(p->conf, addr);
	if (found < 0)
		return weir_error_set(
			p->err, -EINVAL,
			"%s: %s: %.60s: on link of no port; allowed: an address inside "
			"a port's prefix, or a port given as well",
			place->origin, place->key->name, place->value);
	*port = (unsigned int)found;
	return 0;
}

static int
plan_route(struct plan *p, unsigned int number)
{
	const struct setting *prefix = find_setting(p->conf, WEIR_CONF_ROUTE, number, "prefix");
	const struct setting *via = find_setting(p->conf, WEIR_CONF_ROUTE, number, "via");
	bool on_link = via == NULL || strcmp(via->value, "on-link") == 0;
	struct weir_ctl_op *op;

	if (prefix == NULL)
		return missing(p, WEIR_CONF_ROUTE, number, "prefix");
	op = add_op(p, WEIR_CTL_ROUTE_ADD, prefix);
	/* Both were checked when they were set. */
	if (weir_prefix_parse(prefix->value, &op->addr, &op->prefix_bits) < 0 ||
	    (!on_link && weir_addr_parse(via->value, &op->gateway) < 0))
		return -EINVAL;
	return plan_portref(p, WEIR_CONF_ROUTE, number, on_link ? NULL : &op->gateway,
			    on_link ? prefix : via, &op->port);
}

static int
plan_neigh(struct plan *p, unsigned int number)
{
	const struct setting *address = find_setting(p->conf, WEIR_CONF_NEIGH, number, "address");
	const struct setting *mac = find_setting(p->conf, WEIR_CONF_NEIGH, number, "mac");
	struct weir_ctl_op *op;

	if (address == NULL || mac == NULL)
		return missing(p, WEIR_CONF_NEIGH, number, address == NULL ? "address" : "mac");
	op = add_op(p, WEIR_CTL_NEIGH_ADD, address);
	if (weir_addr_parse(address->value, &op->addr) < 0 || parse_mac(mac->value, op->mac) < 0)
		return -EINVAL;
	return plan_portref(p, WEIR_CONF_NEIGH, number, &op->addr, address, &op->port);
}

/* True for the first setting of a section in the collection. */
static bool
opens_section(const struct weir_conf *conf, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (conf->set[j].key->kind == conf->set[i].key->kind &&
		    conf->set[j].number == conf->set[i].number)
			return false;
	return true;
}

/* All operations, in the order in which each finds what it needs. */
static int
make_plan(struct plan *p)
{
	const struct weir_conf *conf = p->conf;
	int rc = 0;

	for (size_t i = 0; i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_PORT && conf->set[i].number >= p->n_ports)
			p->n_ports = conf->set[i].number + 1;
	for (unsigned int i = 0; rc == 0 && i < p->n_ports; i++)
		rc = plan_port(p, i);
	for (unsigned int i = 0; rc == 0 && i < p->n_ports; i++)
		plan_addresses(p, i);
	for (size_t i = 0; rc == 0 && i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_NEIGH && opens_section(conf, i))
			rc = plan_neigh(p, conf->set[i].number);
	for (size_t i = 0; rc == 0 && i < conf->n; i++)
		if (conf->set[i].key->kind == WEIR_CONF_ROUTE && opens_section(conf, i))
			rc = plan_route(p, conf->set[i].number);
	return rc;
}

/* The stack refused a parameter by name: say where it was set. */
static void
add_origin(const struct weir_conf *conf, struct weir_error *err)
{
	char text[sizeof(err->text)];

	if (err == NULL)
		return;
	for (size_t i = 0; i < conf->n; i++) {
		const struct setting *s = &conf->set[i];
		size_t len = strlen(s->key->name);

		if (s->key->kind == WEIR_CONF_STACK && strncmp(err->text, s->key->name, len) == 0 &&
		    err->text[len] == ':') {
			memcpy(text, err->text, sizeof(text));
			weir_error_set(err, err->code, "%s: %s", s->origin, text);
			return;
		}
	}
}

int
weir_conf_apply(const struct weir_conf *conf, struct weir_stack **out, struct weir_error *err)
{
	struct plan p = {.conf = conf, .err = err};
	struct weir_stack_conf sc;
	struct weir_stack *stack;
	int rc;

	weir_stack_conf_init(&sc);
	for (size_t i = 0; i < conf->n; i++) {
		const struct setting *s = &conf->set[i];

		if (s->key->kind != WEIR_CONF_STACK)
			continue;
		if (s->key->type == WEIR_CONF_NAME)
			sc.name = s->value;
		else
			store(&sc, s->key, s->value);
	}
	/* One operation per setting, and one more per further address, is never too few. */
	p.cap = (unsigned int)conf->n + WEIR_MAX_PORTS * ADDRESSES_MAX;
	p.ops = calloc(p.cap, sizeof(*p.ops));
	if (p.ops == NULL)
		return weir_error_set(err, -ENOMEM, "out of memory");
	rc = make_plan(&p);
	if (rc < 0)
		goto free_ops;
	rc = weir_stack_create(&sc, &stack, err);
	if (rc < 0) {
		add_origin(conf, err);
		goto free_ops;
	}
	rc = weir_ctl_apply(stack, p.ops, p.n, err);
	if (rc < 0)
		weir_stack_destroy(stack);
	else
		*out = stack;
free_ops:
	free(p.ops);
	return rc;
}

void
weir_conf_doc(FILE *f)
{
	struct weir_stack_conf sc;
	struct weir_port_conf pc;
	char allowed[96];

	weir_stack_conf_init(&sc);
	weir_port_conf_init(&pc);
	for (size_t i = 0; i < N_KEYS; i++) {
		const struct weir_conf_key *k = &keys[i];

		if (i == 0 || k->kind != keys[i - 1].kind)
			fprintf(f,
				"%s### [%s%s]\n\n%s\n\n"
				"| key | meaning | unit | default | allowed |\n"
				"|---|---|---|---|---|\n",
				i == 0 ? "" : "\n", kinds[k->kind].name,
				kinds[k->kind].number != 0 ? " N" : "", kinds[k->kind].about);
		fprintf(f, "| `%s` | %s | %s | ", k->name, k->meaning, k->unit);
		if (k->required)
			fprintf(f, "required");
		else if (k->width != 0)
			fprintf(f, "%" PRIu64,
				fetch(k->kind == WEIR_CONF_STACK ? (const void *)&sc
								 : (const void *)&pc,
				      k));
		else
			fprintf(f, "%s", k->deflt);
		fprintf(f, " | %s |\n", weir_conf_allowed(k, allowed, sizeof(allowed)));
	}
}
