/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text forms of addresses, endpoints and prefixes.
 *
 * Control path only: configuration, command lines, reports. Any thread, no state. Strict: the whole
 * text is the address, numbers are plain decimals without sign, spaces or leading zeros, and an
 * output argument is written only on success. Host bits of a prefix are kept, for a port's
 * "address/length" is written the same way; who wants a network masks or refuses them.
 *
 * A link-local IPv6 address or group may carry its scope as "%N", N being the weir port index (RFC 4007 11);
 * names of interfaces are not known here.
 */
#include <weir/addr.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

/* Plain decimal number 0..max that is the whole of [text, end). */
static bool
parse_decimal(const char *text, const char *end, uint32_t max, uint32_t *out)
{
	uint64_t value = 0;

	if (text == end || (*text == '0' && end - text > 1))
		return false;
	for (; text < end; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > max)
			return false;
	}
	*out = (uint32_t)value;
	return true;
}

/* An address that is the whole of [text, end), the scope of IPv6 included. */
static int
parse_ip(const char *text, const char *end, struct weir_addr *out)
{
	char buf[INET6_ADDRSTRLEN];
	const char *percent = memchr(text, '%', (size_t)(end - text));
	size_t len = (size_t)((percent != NULL ? percent : end) - text);
	struct weir_addr a;
	uint32_t port_index;

	if (len >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, len);
	buf[len] = '\0';
	memset(&a, 0, sizeof(a));
	if (percent == NULL && inet_pton(AF_INET, buf, a.ip.b) == 1) {
		a.family = WEIR_IPV4;
	} else if (inet_pton(AF_INET6, buf, a.ip.b) == 1) {
		a.family = WEIR_IPV6;
	} else {
		return -EINVAL;
	}
	if (percent != NULL) {
		if (!weir_ip6_is_scoped(&a.ip) ||
		    !parse_decimal(percent + 1, end, UINT32_MAX - 1, &port_index))
			return -EINVAL;
		a.scope = port_index + 1;
	}
	*out = a;
	return 0;
}

int
weir_addr_parse(const char *text, struct weir_addr *out)
{
	if (text == NULL || out == NULL)
		return -EINVAL;
	return parse_ip(text, text + strlen(text), out);
}

int
weir_endpoint_parse(const char *text, struct weir_addr *out)
{
	const char *start, *end, *colon;
	struct weir_addr a;
	uint32_t port;
	int rc;

	if (text == NULL || out == NULL)
		return -EINVAL;
	colon = strrchr(text, ':');
	if (colon == NULL)
		return -EINVAL;
	start = text;
	end = colon;
	if (*text == '[') {
		/* "[v6]:port": the bracket closes just before the last colon. */
		if (colon[-1] != ']')
			return -EINVAL;
		start++;
		end--;
	}
	rc = parse_ip(start, end, &a);
	if (rc < 0)
		return rc;
	if ((a.family == WEIR_IPV6) != (*text == '['))
		return -EINVAL;
	if (!parse_decimal(colon + 1, text + strlen(text), UINT16_MAX, &port))
		return -EINVAL;
	a.port = htons((uint16_t)port);
	*out = a;
	return 0;
}

int
weir_prefix_parse(const char *text, struct weir_addr *out, uint8_t *len_bits)
{
	const char *slash, *end;
	struct weir_addr a;
	uint32_t max_bits, bits;
	int rc;

	if (text == NULL || out == NULL || len_bits == NULL)
		return -EINVAL;
	end = text + strlen(text);
	slash = strchr(text, '/');
	rc = parse_ip(text, slash != NULL ? slash : end, &a);
	if (rc < 0)
		return rc;
	max_bits = a.family == WEIR_IPV4 ? 32 : 128;
	bits = max_bits;
	if (slash != NULL && !parse_decimal(slash + 1, end, max_bits, &bits))
		return -EINVAL;
	*out = a;
	*len_bits = (uint8_t)bits;
	return 0;
}

char *
weir_addr_format(const struct weir_addr *addr, char *buf, size_t size)
{
	char ip[INET6_ADDRSTRLEN] = "?";
	char scope[sizeof("%4294967295")] = "";
	char port[sizeof(":65535")] = "";
	bool bracket;

	if (addr->family == WEIR_IPV4)
		inet_ntop(AF_INET, addr->ip.b, ip, sizeof(ip));
	else if (addr->family == WEIR_IPV6)
		inet_ntop(AF_INET6, addr->ip.b, ip, sizeof(ip));
	else if (addr->family == WEIR_UNSPEC)
		snprintf(ip, sizeof(ip), "*");
	if (addr->scope != 0)
		snprintf(scope, sizeof(scope), "%%%u", addr->scope - 1);
	if (addr->port != 0)
		snprintf(port, sizeof(port), ":%u", ntohs(addr->port));
	bracket = addr->family == WEIR_IPV6 && addr->port != 0;
	snprintf(buf, size, "%s%s%s%s%s", bracket ? "[" : "", ip, scope, bracket ? "]" : "", port);
	return buf;
}
