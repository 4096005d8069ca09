/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses are ours. HOT lookup under RCU; CONTROL builds and publishes the snapshot. Layer 1.
 *
 * The host model is the weak one (as Linux): an address of ours is ours on every port, but for link-local ones of
 * IPv6, which are ours on their own ports only (RFC 4007). Also ours: 127/8 and ::1, prefixes with a LOCAL route
 * (fib.h), the groups that every host is in, and the solicited-node groups of our IPv6 addresses. Not ours: tentative
 * addresses, but for their solicited-node groups (RFC 4862 5.4), duplicates, and subnet-router anycast addresses.
 */
#ifndef WEIR_LOCAL_H
#define WEIR_LOCAL_H

#include "lcore.h"
#include "trie.h"

enum weir_local_kind {
	WEIR_NOT_LOCAL,
	WEIR_LOCAL_UNICAST,
	WEIR_LOCAL_BROADCAST,
	WEIR_LOCAL_MULTICAST, /* a group that somebody has joined */
};

struct weir_local {
	union weir_ip ip;
	uint8_t family; /* 0: empty slot */
	uint8_t kind;
	uint8_t bits;
	uint16_t port;  /* the first that it is on */
	uint32_t ports; /* of a group: those it was joined on; else those it is on; one bit each */
};

/* An address as control has it, for the choice of sources and for who speaks about addresses. */
struct weir_local_addr {
	union weir_ip ip;
	uint64_t preferred_ns; /* deprecated from then on: not for new flows if there is another */
	uint16_t port;
	uint8_t family, bits;
	bool tentative;
};

/* Prefixes that are ours as a whole: any value means yes. Lives in the routing table. */
struct weir_any {
	struct weir_trie trie[2]; /* IPv4, IPv6 */
};

static inline bool
weir_is_mcast4(wire_be32 addr)
{
	return (addr & WIRE_BE32(0xf0000000)) == WIRE_BE32(0xe0000000);
}

static inline bool
weir_is_loopback4(wire_be32 addr)
{
	return (addr & WIRE_BE32(0xff000000)) == WIRE_BE32(0x7f000000);
}

/* Immutable snapshot: an open-addressed set, at most half full. */
struct weir_locals {
	uint32_t mask;
	uint32_t n_addr;
	const struct weir_local_addr *addr; /* in the order in which they were added */
	struct weir_local slot[];
};

static inline uint32_t
weir_local_hash(const union weir_ip *ip)
{
	/* Not secret: only configured addresses are ever inserted. */
	uint64_t h = (ip->w[0] ^ (ip->w[1] * UINT64_C(0x9e3779b97f4a7c15))) *
		     UINT64_C(0xd6e8feb86659fd93);

	return (uint32_t)(h >> 32);
}

/*
 * The entry of an address of ours (or a subnet broadcast, or a group), or NULL. Does not know of 127/8, ::1 and
 * prefixes that are ours as a whole. RCU reader.
 */
static inline const struct weir_local *
weir_local_find(struct weir_stack *stack, const union weir_ip *ip, uint8_t family)
{
	const struct weir_locals *l = atomic_load_explicit(&stack->locals, memory_order_acquire);
	uint32_t i = weir_local_hash(ip) & l->mask;

	while (l->slot[i].family != 0) {
		if (l->slot[i].ip.w[0] == ip->w[0] && l->slot[i].ip.w[1] == ip->w[1] &&
		    l->slot[i].family == family)
			return &l->slot[i];
		i = (i + 1) & l->mask;
	}
	return NULL;
}

/* COLD: is there a prefix of ours around ip? */
bool weir_local_in_any(const struct weir_any *any, const union weir_ip *ip, uint8_t family);

static inline bool
weir_local_any(struct weir_stack *stack, const union weir_ip *ip, uint8_t family)
{
	const struct weir_any *any = atomic_load_explicit(&stack->any, memory_order_acquire);

	return unlikely(any != NULL) && weir_local_in_any(any, ip, family);
}

static inline enum weir_local_kind
weir_local4(struct weir_stack *stack, wire_be32 addr)
{
	union weir_ip ip = {.w = {0, 0}};
	const struct weir_local *l;

	ip.v4 = addr;
	l = weir_local_find(stack, &ip, WEIR_IPV4);
	if (l != NULL)
		return (enum weir_local_kind)l->kind;
	if (addr == 0xffffffff)
		return WEIR_LOCAL_BROADCAST;
	/* All of 127/8 is this host; rx.c sees to it that it never comes from a wire. */
	return weir_is_loopback4(addr) || weir_local_any(stack, &ip, WEIR_IPV4) ? WEIR_LOCAL_UNICAST
										: WEIR_NOT_LOCAL;
}

/* On a port (index, -1: any), for the scope of link-local addresses. Groups: joined on any port. */
static inline enum weir_local_kind
weir_local6(struct weir_stack *stack, const union weir_ip *ip, int port)
{
	const struct weir_local *l = weir_local_find(stack, ip, WEIR_IPV6);

	if (l != NULL)
		return port >= 0 && weir_ip6_is_link_local(ip) && (l->ports >> port & 1) == 0
			       ? WEIR_NOT_LOCAL
			       : (enum weir_local_kind)l->kind;
	return weir_ip6_is_loopback(ip) || weir_local_any(stack, ip, WEIR_IPV6) ? WEIR_LOCAL_UNICAST
										: WEIR_NOT_LOCAL;
}

static inline enum weir_local_kind
weir_local(struct weir_stack *stack, const union weir_ip *ip, uint8_t family, int port)
{
	return family == WEIR_IPV4 ? weir_local4(stack, ip->v4) : weir_local6(stack, ip, port);
}

/* All our addresses, tentative ones too, in the order in which they were added. RCU reader or control. */
static inline const struct weir_local_addr *
weir_local_addrs(struct weir_stack *stack, uint32_t *n)
{
	const struct weir_locals *l = atomic_load_explicit(&stack->locals, memory_order_acquire);

	*n = l->n_addr;
	return l->addr;
}

/* The solicited-node group of an address (RFC 4291 2.7.1). */
static inline union weir_ip
weir_solicited_node(const union weir_ip *ip)
{
	union weir_ip group = {.b = {0xff, 0x02, [11] = 1, 0xff}};

	memcpy(&group.b[13], &ip->b[13], 3);
	return group;
}

/* A snapshot of control's list, not yet published; NULL: out of memory. Control lock held. */
struct weir_locals *weir_local_build(struct weir_stack *stack);
/* Let the data path see it; the one before is freed after a grace period. Control lock held. */
void weir_local_publish(struct weir_stack *stack, struct weir_locals *l);
/* Free one that was not published. */
void weir_local_discard(struct weir_locals *l);
void weir_local_fini(struct weir_stack *stack);

#endif /* WEIR_LOCAL_H */
