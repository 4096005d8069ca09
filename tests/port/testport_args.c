/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arguments: key=value text to a configuration, and a configuration to text, so that a port from
 * the command line and one from testport_create() come in through the same door.
 *
 * Called by probe and by testport_create(), in the control thread, before there is a port. What
 * always holds: a refused argument is named in the log with its value and what is allowed, and an
 * accepted configuration is complete: no field means "default" any more.
 *
 * It does not know of ports, queues or frames.
 */
#include "testport_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>

struct offload_name {
	const char *name;
	uint64_t flag;
};

static const struct offload_name rx_offload_names[] = {
	{"ipv4_cksum", RTE_ETH_RX_OFFLOAD_IPV4_CKSUM},
	{"udp_cksum", RTE_ETH_RX_OFFLOAD_UDP_CKSUM},
	{"rss_hash", RTE_ETH_RX_OFFLOAD_RSS_HASH},
	{"scatter", RTE_ETH_RX_OFFLOAD_SCATTER},
	{"timestamp", RTE_ETH_RX_OFFLOAD_TIMESTAMP},
	{"vlan_strip", RTE_ETH_RX_OFFLOAD_VLAN_STRIP},
	{"all", TESTPORT_RX_OFFLOADS},
	{"none", 0},
	{NULL, 0},
};

static const struct offload_name tx_offload_names[] = {
	{"ipv4_cksum", RTE_ETH_TX_OFFLOAD_IPV4_CKSUM},
	{"udp_cksum", RTE_ETH_TX_OFFLOAD_UDP_CKSUM},
	{"multi_segs", RTE_ETH_TX_OFFLOAD_MULTI_SEGS},
	{"fast_free", RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE},
	{"vlan_insert", RTE_ETH_TX_OFFLOAD_VLAN_INSERT},
	{"all", TESTPORT_TX_OFFLOADS},
	{"none", 0},
	{NULL, 0},
};

/* --- Values ---------------------------------------------------------------------------------- */

static bool
parse_number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' && *value <= max;
}

static bool
parse_u16(const char *text, uint16_t *value)
{
	uint64_t n;

	if (!parse_number(text, UINT16_MAX, &n))
		return false;
	*value = (uint16_t)n;
	return true;
}

static bool
parse_bool(const char *text, bool *value)
{
	uint64_t n;

	if (!parse_number(text, 1, &n))
		return false;
	*value = n;
	return true;
}

static bool
parse_offloads(const char *text, const struct offload_name *names, uint64_t *flags)
{
	char list[256];
	char *save = NULL;

	if (snprintf(list, sizeof(list), "%s", text) >= (int)sizeof(list))
		return false;
	*flags = 0;
	for (char *word = strtok_r(list, "[]+,", &save); word;
	     word = strtok_r(NULL, "[]+,", &save)) {
		const struct offload_name *n = names;

		while (n->name != NULL && strcmp(n->name, word) != 0)
			n++;
		if (n->name == NULL)
			return false;
		*flags |= n->flag;
	}
	return true;
}

static bool
parse_mode(const char *text, struct testport_args *args)
{
	struct testport_cfg *cfg = &args->cfg;

	if (strcmp(text, "ring") == 0) {
		cfg->mode = TESTPORT_RING;
	} else if (strcmp(text, "feed") == 0) {
		cfg->mode = TESTPORT_FEED;
	} else if (strncmp(text, "pair:", 5) == 0) {
		cfg->mode = TESTPORT_PAIR;
		cfg->cable = args->cable;
		return text[5] != '\0' && snprintf(args->cable, sizeof(args->cable), "%s",
						   text + 5) < (int)sizeof(args->cable);
	} else {
		return false;
	}
	return true;
}

static bool
parse_txfail(const char *text, struct testport_cfg *cfg)
{
	uint64_t n;

	if (strcmp(text, "none") == 0)
		return true;
	if (strncmp(text, "accept:", 7) == 0)
		return parse_u16(text + 7, &cfg->tx_accept) && cfg->tx_accept > 0;
	if (strncmp(text, "drop:", 5) == 0 && parse_number(text + 5, UINT32_MAX, &n) && n > 0) {
		cfg->tx_drop_every = (uint32_t)n;
		return true;
	}
	return false;
}

/* --- Reading --------------------------------------------------------------------------------- */

#define OFFLOADS_ALLOWED(special)                                                                  \
	"all, none, or names joined by '+': ipv4_cksum, udp_cksum, " special
#define KEYS_ALLOWED                                                                               \
	"mode, queues, rx_offloads, tx_offloads, mac, mtu, reta, desc_min, desc_max, desc_align, " \
	"txfail, distribute, pause"

/* NULL: read. Otherwise what is allowed. */
static const char *
arg_read(const char *key, const char *value, struct testport_args *args)
{
	struct testport_cfg *cfg = &args->cfg;

	if (strcmp(key, "mode") == 0)
		return parse_mode(value, args) ? NULL
					       : "ring, feed, pair:NAME (up to 31 characters)";
	if (strcmp(key, "queues") == 0)
		return parse_u16(value, &cfg->queues_max) && cfg->queues_max >= 1 &&
				       cfg->queues_max <= TESTPORT_MAX_QUEUES
			       ? NULL
			       : "1..16";
	if (strcmp(key, "rx_offloads") == 0)
		return parse_offloads(value, rx_offload_names, &cfg->rx_offloads)
			       ? NULL
			       : OFFLOADS_ALLOWED("rss_hash, scatter, timestamp, vlan_strip");
	if (strcmp(key, "tx_offloads") == 0)
		return parse_offloads(value, tx_offload_names, &cfg->tx_offloads)
			       ? NULL
			       : OFFLOADS_ALLOWED("multi_segs, fast_free, vlan_insert");
	if (strcmp(key, "mac") == 0)
		return rte_ether_unformat_addr(value, &cfg->mac) == 0 &&
				       rte_is_valid_assigned_ether_addr(&cfg->mac)
			       ? NULL
			       : "a unicast address, XX:XX:XX:XX:XX:XX";
	if (strcmp(key, "mtu") == 0)
		return parse_u16(value, &cfg->mtu_max) && cfg->mtu_max >= RTE_ETHER_MIN_MTU
			       ? NULL
			       : "68..65535";
	if (strcmp(key, "reta") == 0)
		return parse_u16(value, &cfg->reta_size) &&
				       (cfg->reta_size == 0 || cfg->reta_size == 64 ||
					cfg->reta_size == 128 || cfg->reta_size == 256 ||
					cfg->reta_size == 512)
			       ? NULL
			       : "0, 64, 128, 256, 512";
	if (strcmp(key, "desc_min") == 0)
		return parse_u16(value, &cfg->desc_min) && cfg->desc_min > 0 ? NULL : "1..32768";
	if (strcmp(key, "desc_max") == 0)
		return parse_u16(value, &cfg->desc_max) && cfg->desc_max > 0 &&
				       cfg->desc_max <= 32768
			       ? NULL
			       : "1..32768";
	if (strcmp(key, "desc_align") == 0)
		return parse_u16(value, &cfg->desc_align) && rte_is_power_of_2(cfg->desc_align)
			       ? NULL
			       : "a power of two";
	if (strcmp(key, "txfail") == 0)
		return parse_txfail(value, cfg) ? NULL : "none, accept:K, drop:K (K at least 1)";
	if (strcmp(key, "distribute") == 0)
		return parse_bool(value, &cfg->distribute) ? NULL : "0, 1";
	if (strcmp(key, "pause") == 0)
		return parse_bool(value, &cfg->pause) ? NULL : "0, 1";
	return "one of the keys " KEYS_ALLOWED;
}

/* Fills defaults and checks what one value cannot show. */
static int
cfg_complete(struct testport_cfg *cfg)
{
	bool feed = cfg->mode == TESTPORT_FEED;

	cfg->queues_max = cfg->queues_max ? cfg->queues_max : 8;
	cfg->mtu_max = cfg->mtu_max ? cfg->mtu_max : 9000;
	cfg->desc_min = cfg->desc_min ? cfg->desc_min : 32;
	cfg->desc_max = cfg->desc_max ? cfg->desc_max : 4096;
	cfg->desc_align = cfg->desc_align ? cfg->desc_align : 32;
	cfg->tx_accept = cfg->tx_accept ? cfg->tx_accept : UINT16_MAX;
	if (cfg->desc_min > cfg->desc_max) {
		TESTPORT_LOG(ERR, "desc_min=%u, allowed: at most desc_max (%u)", cfg->desc_min,
			     cfg->desc_max);
		return -EINVAL;
	}
	if (cfg->desc_min % cfg->desc_align != 0) {
		TESTPORT_LOG(ERR, "desc_min=%u, allowed: a multiple of desc_align (%u)",
			     cfg->desc_min, cfg->desc_align);
		return -EINVAL;
	}
	if (feed && cfg->desc_align % TESTPORT_FEED_BATCH != 0) {
		TESTPORT_LOG(ERR, "desc_align=%u, allowed with mode=feed: a multiple of %u",
			     cfg->desc_align, TESTPORT_FEED_BATCH);
		return -EINVAL;
	}
	if (feed && (cfg->distribute || cfg->tx_accept != UINT16_MAX || cfg->tx_drop_every != 0)) {
		TESTPORT_LOG(ERR, "distribute and txfail are not for mode=feed");
		return -EINVAL;
	}
	if (feed && (cfg->rx_offloads & ~TESTPORT_RX_OFFLOADS_FEED)) {
		TESTPORT_LOG(ERR, "rx_offloads: vlan_strip and timestamp are not for mode=feed");
		return -EINVAL;
	}
	if (cfg->pause && cfg->mode != TESTPORT_PAIR) {
		TESTPORT_LOG(ERR, "pause=1 is for mode=pair:NAME only");
		return -EINVAL;
	}
	return 0;
}

int
testport_args_parse(const char *text, struct testport_args *args)
{
	struct rte_kvargs *list;
	int err = 0;

	memset(args, 0, sizeof(*args));
	if (text == NULL)
		text = "";
	list = rte_kvargs_parse(text, NULL);
	if (list == NULL) {
		TESTPORT_LOG(ERR, "'%s' is not a list of key=value; keys are " KEYS_ALLOWED, text);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < list->count && err == 0; i++) {
		const char *key = list->pairs[i].key;
		const char *value = list->pairs[i].value ? list->pairs[i].value : "";
		const char *allowed = arg_read(key, value, args);

		if (allowed != NULL) {
			TESTPORT_LOG(ERR, "%s=%s, allowed: %s", key, value, allowed);
			err = -EINVAL;
		}
	}
	rte_kvargs_free(list);
	return err != 0 ? err : cfg_complete(&args->cfg);
}

/* --- Writing --------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t room;
	bool cut;
};

static __rte_format_printf(2, 3) void text_add(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at, t->room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= t->room) {
		t->cut = true;
		return;
	}
	t->at += n;
	t->room -= (size_t)n;
}

/* Writes ",key=name+name"; false when a flag has no name. */
static bool
text_add_offloads(struct text *t, const char *key, const struct offload_name *names, uint64_t flags)
{
	const char *sep = "";

	text_add(t, ",%s=", key);
	if (flags == 0)
		text_add(t, "none");
	for (; names->name != NULL && strcmp(names->name, "all") != 0; names++) {
		if (!(flags & names->flag))
			continue;
		text_add(t, "%s%s", sep, names->name);
		flags &= ~names->flag;
		sep = "+";
	}
	return flags == 0;
}

int
testport_args_format(const struct testport_cfg *cfg, char *buf, size_t len)
{
	const struct {
		const char *key;
		uint32_t value;
	} numbers[] = {
		{"queues", cfg->queues_max},     {"mtu", cfg->mtu_max},
		{"reta", cfg->reta_size},        {"desc_min", cfg->desc_min},
		{"desc_max", cfg->desc_max},     {"desc_align", cfg->desc_align},
		{"distribute", cfg->distribute}, {"pause", cfg->pause},
	};
	struct text t = {.at = buf, .room = len};
	char mac[RTE_ETHER_ADDR_FMT_SIZE];

	switch (cfg->mode) {
	case TESTPORT_RING:
		text_add(&t, "mode=ring");
		break;
	case TESTPORT_FEED:
		text_add(&t, "mode=feed");
		break;
	case TESTPORT_PAIR:
		text_add(&t, "mode=pair:%s", cfg->cable ? cfg->cable : "");
		break;
	default:
		TESTPORT_LOG(ERR, "mode=%d, allowed: a testport_mode", (int)cfg->mode);
		return -EINVAL;
	}
	if (!text_add_offloads(&t, "rx_offloads", rx_offload_names, cfg->rx_offloads) ||
	    !text_add_offloads(&t, "tx_offloads", tx_offload_names, cfg->tx_offloads)) {
		TESTPORT_LOG(ERR,
			     "rx_offloads=0x%" PRIx64 " tx_offloads=0x%" PRIx64
			     ", allowed: those in "
			     "TESTPORT_RX_OFFLOADS and TESTPORT_TX_OFFLOADS",
			     cfg->rx_offloads, cfg->tx_offloads);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < RTE_DIM(numbers); i++)
		if (numbers[i].value != 0)
			text_add(&t, ",%s=%" PRIu32, numbers[i].key, numbers[i].value);
	if (!rte_is_zero_ether_addr(&cfg->mac)) {
		rte_ether_format_addr(mac, sizeof(mac), &cfg->mac);
		text_add(&t, ",mac=%s", mac);
	}
	if (cfg->tx_accept != 0)
		text_add(&t, ",txfail=accept:%u", cfg->tx_accept);
	if (cfg->tx_drop_every != 0)
		text_add(&t, ",txfail=drop:%" PRIu32, cfg->tx_drop_every);
	return t.cut ? -EINVAL : 0;
}
