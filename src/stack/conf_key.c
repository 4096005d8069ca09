/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: the table of configuration keys, what their values may be, and its documentation. Constant; no state.
 */
#include "conf_key.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weir/conf.h>

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

#define ROUTE_KEY(member, lo, hi, ...)                                                             \
	{                                                                                          \
		.kind = WEIR_CONF_ROUTE, .name = #member, .type = WEIR_CONF_UINT, .min = (lo),     \
		.max = (hi), .offset = offsetof(struct weir_route_conf, member),                   \
		.width = sizeof(((struct weir_route_conf *)NULL)->member), __VA_ARGS__             \
	}
#define PORT_CHOICE(key, member, list, ...)                                                        \
	{                                                                                          \
		.kind = WEIR_CONF_PORT, .name = (key), .type = WEIR_CONF_CHOICE,                   \
		.offset = offsetof(struct weir_port_conf, member),                                 \
		.width = sizeof(((struct weir_port_conf *)NULL)->member), .choices = (list),       \
		.unit = "", __VA_ARGS__                                                            \
	}

static const char *const no_yes[] = {"no", "yes", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const offloads[] = {"auto", "software", NULL};
static const char *const rp_filters[] = {"off", "loose", "strict", NULL};
/* In the order of enum weir_route_kind. */
static const char *const route_types[] = {"unicast",     "local",    "blackhole",
					  "unreachable", "prohibit", NULL};

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
	STACK_KEY(
		max_neigh, 16, 1048576, .unit = "entries",
		.meaning =
			"neighbours known at once, all ports together; at most 3/8 of them unanswered, "
			"3/16 merely heard of"),
	STACK_KEY(
		hold, 1, 1024, .unit = "datagrams",
		.meaning =
			"datagrams that wait for one neighbour, per thread; fragments count once"),
	STACK_KEY(arp_retries, 1, 20, .unit = "requests",
		  .meaning = "ARP requests or solicitations before a neighbour counts as failed"),
	STACK_KEY(arp_retry_ms, 10, 60000, .unit = "ms",
		  .meaning = "time between them; routers may advertise another for IPv6"),
	STACK_KEY(
		neigh_reachable_ms, 100, 86400000, .unit = "ms",
		.meaning =
			"an answer holds for half to one and a half of it (RFC 4861); routers may "
			"advertise another"),
	STACK_KEY(icmp_rate, 0, 1000000, .unit = "messages/s",
		  .meaning = "ICMP errors that each thread may send; to one destination a "
			     "thousandth of it, at least 1; 0: none"),
	STACK_KEY(tx_stall_ms, 1, 60000, .unit = "ms",
		  .meaning = "how long a frame may wait for a full transmit queue"),
	STACK_KEY(
		frag_mem, 262144, UINT32_MAX, .zero = true, .unit = "bytes",
		.meaning =
			"buffers that fragments may hold per worker, in true size; 0: fragments are "
			"dropped"),
	STACK_KEY(frag_source_mem, 131072, UINT32_MAX, .zero = true, .unit = "bytes",
		  .meaning = "of those by one source; 0: no limit of its own"),
	STACK_KEY(frag_ms, 100, 120000, .unit = "ms",
		  .meaning = "how long a datagram may take to become whole"),
	STACK_KEY(max_pmtu, 16, 1048576, .unit = "destinations",
		  .meaning = "destinations whose path MTU is remembered"),
	STACK_KEY(pmtu_expire_ms, 1000, 86400000, .unit = "ms", .meaning = "and for how long"),
	STACK_KEY(pmtu_min, 68, 1500, .unit = "bytes",
		  .meaning = "smallest IPv4 path MTU that is believed"),
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
	PORT_CHOICE("offload", no_offload, offloads,
		    .meaning = "auto: use what the device can do; software: compute everything"),
	PORT_CHOICE("promiscuous", promiscuous, no_yes,
		    .meaning = "let the device deliver frames for other MACs (they are dropped)"),
	PORT_KEY(vlan, 1, 4094, .zero = true, .unit = "VID",
		 .meaning = "a VLAN of a device that an earlier section has untagged; 0: untagged"),
	PORT_KEY(dad, 0, 10, .unit = "probes",
		 .meaning = "sent before an IPv6 address is ours (RFC 4862); 0: it is at once"),
	PORT_KEY(dad4, 0, 10, .unit = "probes",
		 .meaning = "sent before an IPv4 address is ours (RFC 5227); 0: it is at once"),
	PORT_CHOICE("link_local", no_link_local, yes_no,
		    .meaning = "make an fe80:: address of the MAC with the first IPv6 address"),
	PORT_CHOICE("announce", no_announce, yes_no,
		    .meaning =
			    "tell the link of own addresses when it comes up (gratuitous ARP, NA)"),
	PORT_CHOICE("accept_ra", accept_ra, no_yes,
		    .meaning =
			    "take prefixes, routers, MTU and hop limit from router advertisements"),
	PORT_CHOICE("accept_redirects", accept_redirects, no_yes,
		    .meaning = "let routers say that a destination is better reached another way"),
	PORT_CHOICE(
		"rp_filter", rp_filter, rp_filters,
		.meaning =
			"refuse sources without a way back: loose: at all, strict: by this port"),

	{.kind = WEIR_CONF_ROUTE,
	 .name = "prefix",
	 .type = WEIR_CONF_PREFIX,
	 .required = true,
	 .unit = "",
	 .deflt = "",
	 .meaning = "destination; 0.0.0.0/0 and ::/0 are the default routes"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "via",
	 .type = WEIR_CONF_HOPS,
	 .unit = "",
	 .deflt = "on-link",
	 .meaning = "gateways, themselves on link; flows are spread over several by their weights"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "port",
	 .type = WEIR_CONF_PORTREF,
	 .unit = "",
	 .min = 0,
	 .max = WEIR_MAX_PORTS - 1,
	 .deflt = "auto",
	 .meaning =
		 "port to leave by where via names none; auto: the one that has the gateway on link"},
	ROUTE_KEY(metric, 0, UINT32_MAX, .unit = "",
		  .meaning = "of routes with the same prefix and from the smallest is taken"),
	ROUTE_KEY(mtu, 68, 65535, .zero = true, .unit = "bytes",
		  .meaning = "largest IP packet to there, for IPv6 from 1280; 0: the port's"),
	{.kind = WEIR_CONF_ROUTE,
	 .name = "src",
	 .type = WEIR_CONF_ADDRESS,
	 .unit = "",
	 .deflt = "chosen",
	 .meaning = "own address to speak from"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "from",
	 .type = WEIR_CONF_PREFIX,
	 .unit = "",
	 .deflt = "any",
	 .meaning = "only for datagrams from these addresses"},
	{.kind = WEIR_CONF_ROUTE,
	 .name = "type",
	 .type = WEIR_CONF_CHOICE,
	 .offset = offsetof(struct weir_route_conf, kind),
	 .width = sizeof(((struct weir_route_conf *)NULL)->kind),
	 .choices = route_types,
	 .unit = "",
	 .meaning =
		 "local: all of the prefix is ours; the last three refuse datagrams, each with an "
		 "errno of its own"},

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
	[WEIR_CONF_PORT] =
		{"port", WEIR_MAX_PORTS,
		 "One section per ethdev or VLAN: `[port 0]`, `[port 1]`, …, without a gap."},
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

const char *
weir_conf_section(enum weir_conf_kind kind, unsigned int *n)
{
	*n = kinds[kind].number;
	return kinds[kind].name;
}

char *
weir_conf_allowed(const struct weir_conf_key *key, char *buf, size_t size)
{
	switch (key->type) {
	case WEIR_CONF_UINT:
		snprintf(buf, size, "%s%s%" PRIu64 "..%" PRIu64, key->zero ? "0 or " : "",
			 key->power_of_two ? "a power of two " : "", key->min, key->max);
		break;
	case WEIR_CONF_CHOICE:
		buf[0] = '\0';
		for (size_t i = 0, at = 0; key->choices[i] != NULL && at < size; i++)
			at += (size_t)snprintf(buf + at, size - at, "%s%s", i > 0 ? ", " : "",
					       key->choices[i]);
		break;
	case WEIR_CONF_NAME:
		snprintf(buf, size, "1 to 16 of A-Z a-z 0-9 _ -");
		break;
	case WEIR_CONF_DEVICE:
		snprintf(buf, size, "1 to 63 printable characters without blanks");
		break;
	case WEIR_CONF_ADDRESSES:
		snprintf(buf, size, "ADDR/LEN, up to %d of them separated by blanks",
			 WEIR_CONF_ADDRESSES_MAX);
		break;
	case WEIR_CONF_PREFIX:
		snprintf(buf, size, "ADDR/LEN with no bits set below LEN");
		break;
	case WEIR_CONF_HOPS:
		snprintf(
			buf, size,
			"an address, on-link, each with @PORT and *WEIGHT (1..255) if need be; up to %d",
			WEIR_MAX_HOPS);
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

int
weir_conf_uint(const char *text, uint64_t *out)
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

int
weir_conf_mac(const char *text, uint8_t mac[6])
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

int
weir_conf_next_address(const char **text, struct weir_addr *addr, uint8_t *bits)
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
	struct weir_addr addr[WEIR_CONF_ADDRESSES_MAX + 1];
	unsigned int n = 0;
	uint8_t bits;
	int rc;

	while ((rc = weir_conf_next_address(&text, &addr[n], &bits)) > 0) {
		for (unsigned int i = 0; i < n; i++)
			if (memcmp(&addr[i], &addr[n], sizeof(addr[n])) == 0)
				return -EINVAL;
		if (++n > WEIR_CONF_ADDRESSES_MAX)
			return -EINVAL;
	}
	return rc < 0 || n == 0 ? -EINVAL : 0;
}

static int
choice(const struct weir_conf_key *key, const char *text)
{
	for (int i = 0; key->choices[i] != NULL; i++)
		if (strcmp(key->choices[i], text) == 0)
			return i;
	return -EINVAL;
}

/* Cut a number behind the last `mark` off. 1: there was one; 0; -EINVAL: something else stands there. */
static int
cut_number(char *text, char mark, uint64_t lo, uint64_t hi, uint64_t *value)
{
	char *at = strrchr(text, mark);

	if (at == NULL)
		return 0;
	*at = '\0';
	return weir_conf_uint(at + 1, value) == 0 && *value >= lo && *value <= hi ? 1 : -EINVAL;
}

int
weir_conf_next_hop(const char **text, struct weir_hop *hop, bool *has_port)
{
	char one[WEIR_ADDR_STRLEN + 16];
	const char *p = *text + strspn(*text, " \t");
	size_t len = strcspn(p, " \t");
	uint64_t weight = 1, port = 0;
	int given;

	*hop = (struct weir_hop){.weight = 1};
	if (len == 0)
		return 0;
	if (len >= sizeof(one))
		return -EINVAL;
	memcpy(one, p, len);
	one[len] = '\0';
	*text = p + len;
	if (cut_number(one, '*', 1, 255, &weight) < 0)
		return -EINVAL;
	given = cut_number(one, '@', 0, WEIR_MAX_PORTS - 1, &port);
	if (given < 0)
		return -EINVAL;
	hop->weight = (unsigned int)weight;
	if (strcmp(one, "on-link") != 0) {
		if (weir_addr_parse(one, &hop->gateway) < 0)
			return -EINVAL;
		if (given == 0 && hop->gateway.scope != 0) {
			port = hop->gateway.scope - 1;
			given = 1;
		}
	}
	hop->port = (unsigned int)port;
	*has_port = given > 0;
	return 1;
}

static int
check_hops(const char *text)
{
	struct weir_hop hop;
	unsigned int n = 0;
	bool has_port;
	int rc;

	while ((rc = weir_conf_next_hop(&text, &hop, &has_port)) > 0)
		if (++n > WEIR_MAX_HOPS)
			return -EINVAL;
	return rc < 0 || n == 0 ? -EINVAL : 0;
}

int
weir_conf_check(const struct weir_conf_key *key, const char *text)
{
	static const char name_chars[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789_-";
	size_t len = strlen(text);
	struct weir_addr addr;
	uint8_t bits, mac[6];
	uint64_t v;

	switch (key->type) {
	case WEIR_CONF_UINT:
		if (weir_conf_uint(text, &v) < 0)
			return -EINVAL;
		if (v == 0 && key->zero)
			return 0;
		if (v < key->min || v > key->max)
			return -EINVAL;
		return key->power_of_two && (v & (v - 1)) != 0 ? -EINVAL : 0;
	case WEIR_CONF_CHOICE:
		return choice(key, text) >= 0 ? 0 : -EINVAL;
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
	case WEIR_CONF_HOPS:
		return check_hops(text);
	case WEIR_CONF_ADDRESS:
		return weir_addr_parse(text, &addr);
	case WEIR_CONF_MAC:
		return weir_conf_mac(text, mac);
	case WEIR_CONF_PORTREF:
		if (strcmp(text, "auto") == 0)
			return 0;
		return weir_conf_uint(text, &v) == 0 && v >= key->min && v <= key->max ? 0
										       : -EINVAL;
	}
	return -EINVAL;
}

/* ---- members ---- */

void
weir_conf_store(void *object, const struct weir_conf_key *key, const char *text)
{
	char *to = (char *)object + key->offset;
	uint64_t v = 0;

	if (key->width == 0)
		return;
	if (key->type == WEIR_CONF_CHOICE)
		v = (uint64_t)choice(key, text);
	else if (weir_conf_uint(text, &v) < 0)
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

void
weir_conf_doc(FILE *f)
{
	struct weir_stack_conf sc;
	struct weir_port_conf pc;
	struct weir_route_conf rc;
	const void *const object[WEIR_CONF_KINDS] = {
		[WEIR_CONF_STACK] = &sc, [WEIR_CONF_PORT] = &pc, [WEIR_CONF_ROUTE] = &rc};
	char allowed[128];

	weir_stack_conf_init(&sc);
	weir_port_conf_init(&pc);
	weir_route_conf_init(&rc);
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
		else if (k->type == WEIR_CONF_CHOICE)
			fprintf(f, "%s", k->choices[fetch(object[k->kind], k)]);
		else if (k->width != 0)
			fprintf(f, "%" PRIu64, fetch(object[k->kind], k));
		else
			fprintf(f, "%s", k->deflt);
		fprintf(f, " | %s |\n", weir_conf_allowed(k, allowed, sizeof(allowed)));
	}
}
