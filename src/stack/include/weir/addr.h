/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses of both families in one plain value, and their text forms.
 *
 * A weir_addr is an IP address with an optional UDP port and, for IPv6 link-local addresses, an
 * interface scope. IPv4 lives in the first four bytes with the other twelve zero, so that two
 * addresses are equal exactly when family and bytes are equal. Everything is in network byte order
 * unless a name says otherwise.
 */
#ifndef WEIR_ADDR_H
#define WEIR_ADDR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <weir/api.h>

WEIR_BEGIN_DECLS

/** Address family. Not the AF_ numbers of the C library: these read well in a dump. */
enum weir_family {
	WEIR_UNSPEC = 0,
	WEIR_IPV4 = 4,
	WEIR_IPV6 = 6,
};

/** 128 bits of address. IPv4 uses v4 (network order) and leaves the rest zero. */
union weir_ip {
	uint8_t b[16];
	uint32_t v4;
	uint64_t w[2];
};

/** An address, or an endpoint when port is used. Zero-filled: unspecified, "any". */
struct weir_addr {
	union weir_ip ip; /* network order */
	uint32_t
		scope; /* IPv6, of a link (fe80::/10, ff01::/16, ff02::/16): weir port index + 1, else 0 */
	uint16_t port;  /* UDP port, network order; 0 where none is meant */
	uint8_t family; /* enum weir_family */
	uint8_t pad;    /* zero */
};

/** Longest text of any address, endpoint or prefix here, with the terminating NUL. */
#define WEIR_ADDR_STRLEN 64

/** IPv4 endpoint from host-order numbers. */
static inline struct weir_addr
weir_addr_v4(uint32_t ip_host, uint16_t port_host)
{
	struct weir_addr a;

	memset(&a, 0, sizeof(a));
	a.ip.b[0] = (uint8_t)(ip_host >> 24);
	a.ip.b[1] = (uint8_t)(ip_host >> 16);
	a.ip.b[2] = (uint8_t)(ip_host >> 8);
	a.ip.b[3] = (uint8_t)ip_host;
	a.port = (uint16_t)((uint16_t)(port_host << 8) | (uint16_t)(port_host >> 8));
	a.family = WEIR_IPV4;
	return a;
}

/** IPv6 endpoint from 16 bytes; scope as in struct weir_addr, 0 where none is needed. */
static inline struct weir_addr
weir_addr_v6(const uint8_t ip[16], uint16_t port_host, uint32_t scope)
{
	struct weir_addr a;

	memset(&a, 0, sizeof(a));
	memcpy(a.ip.b, ip, sizeof(a.ip.b));
	a.port = (uint16_t)((uint16_t)(port_host << 8) | (uint16_t)(port_host >> 8));
	a.scope = scope;
	a.family = WEIR_IPV6;
	return a;
}

/** ::ffff:a.b.c.d (RFC 4291 2.5.5.2)? */
static inline int
weir_ip_is_mapped(const union weir_ip *ip)
{
	static const uint8_t prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	return memcmp(ip->b, prefix, sizeof(prefix)) == 0;
}

/** fe80::/10 (RFC 4291 2.5.6)? */
static inline int
weir_ip6_is_link_local(const union weir_ip *ip)
{
	return ip->b[0] == 0xfe && (ip->b[1] & 0xc0) == 0x80;
}

/** ff00::/8 (RFC 4291 2.7)? */
static inline int
weir_ip6_is_mcast(const union weir_ip *ip)
{
	return ip->b[0] == 0xff;
}

/** Means something on one link only: fe80::/10, ff01::/16, ff02::/16 (RFC 4007 4)? Needs a scope. */
static inline int
weir_ip6_is_scoped(const union weir_ip *ip)
{
	return weir_ip6_is_link_local(ip) ||
	       (weir_ip6_is_mcast(ip) && ((ip->b[1] & 0x0f) == 1 || (ip->b[1] & 0x0f) == 2));
}

/** ::1 (RFC 4291 2.5.3)? */
static inline int
weir_ip6_is_loopback(const union weir_ip *ip)
{
	static const uint8_t one[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

	return memcmp(ip->b, one, sizeof(one)) == 0;
}

/** All bytes 0: "any" in either family. */
static inline int
weir_ip_is_any(const union weir_ip *ip)
{
	return (ip->w[0] | ip->w[1]) == 0;
}

/**
 * Text "10.0.0.1", "2001:db8::1" or, with the scope, "fe80::1%2": on weir port 2, to an address with port 0.
 * 0, or -EINVAL. Any thread.
 */
WEIR_API int weir_addr_parse(const char *text, struct weir_addr *out);

/** Text "10.0.0.1:53" or "[2001:db8::1]:53". 0, or -EINVAL. Any thread. */
WEIR_API int weir_endpoint_parse(const char *text, struct weir_addr *out);

/** Text "10.0.0.1/24" or "2001:db8::/32"; without "/len" the full length. 0, or -EINVAL. Any thread. */
WEIR_API int weir_prefix_parse(const char *text, struct weir_addr *out, uint8_t *len_bits);

/** Address as text, with the port when it is not 0. Returns buf, always terminated. */
WEIR_API char *weir_addr_format(const struct weir_addr *addr, char *buf, size_t size);

WEIR_END_DECLS

#endif /* WEIR_ADDR_H */
