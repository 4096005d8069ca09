/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses are ours. HOT lookup under RCU; CONTROL builds and publishes the snapshot. Layer 1.
 *
 * The host model is the weak one (as Linux): an address of ours is ours on every port.
 */
#ifndef WEIR_LOCAL_H
#define WEIR_LOCAL_H

#include "lcore.h"

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
	uint16_t port;
	uint32_t ports; /* of a group: the ports it was joined on, one bit each */
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

/* The entry of an address of ours (or a subnet broadcast), or NULL. RCU reader. */
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
	return weir_is_loopback4(addr) ? WEIR_LOCAL_UNICAST : WEIR_NOT_LOCAL;
}

/* A snapshot of control's list, not yet published; NULL: out of memory. Control lock held. */
struct weir_locals *weir_local_build(struct weir_stack *stack);
/* Let the data path see it; the one before is freed after a grace period. Control lock held. */
void weir_local_publish(struct weir_stack *stack, struct weir_locals *l);
void weir_local_fini(struct weir_stack *stack);

#endif /* WEIR_LOCAL_H */
