/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control.c, ctl_check.c, ctl_port.c and ctl_events.c share. CONTROL. Layer 4.
 */
#ifndef WEIR_CTL_PRIV_H
#define WEIR_CTL_PRIV_H

#include "control.h"
#include "control_state.h"
#include "lcore.h"

/* May the operation be carried out, as far as can be said beforehand? 0, or an errno with err filled. */
int weir_ctl_check_addr(struct weir_stack *stack, const struct weir_ctl_op *op,
			struct weir_error *err);
int weir_ctl_check_route(struct weir_stack *stack, const struct weir_ctl_op *op,
			 struct weir_error *err);
int weir_ctl_check_neigh(struct weir_stack *stack, const struct weir_ctl_op *op,
			 struct weir_error *err);
int weir_ctl_check_port(struct weir_stack *stack, const struct weir_ctl_op *op,
			struct weir_error *err);

/* "ORIGIN: key: address: what is allowed"; returns code. */
int weir_ctl_refuse(struct weir_error *err, const struct weir_ctl_op *op, int code, const char *key,
		    const struct weir_addr *addr, const char *what);
/* The same about a number. */
int weir_ctl_refuse_n(struct weir_error *err, const struct weir_ctl_op *op, int code,
		      const char *key, uint64_t value, const char *what);

static inline bool
weir_same_ip(const struct weir_addr *a, const struct weir_addr *b)
{
	return a->family == b->family && a->ip.w[0] == b->ip.w[0] && a->ip.w[1] == b->ip.w[1];
}

static inline bool
weir_is_link_local(const struct weir_addr *a)
{
	return a->family == WEIR_IPV6 && weir_ip6_is_link_local(&a->ip);
}

static inline uint8_t
weir_family_bits(uint8_t family)
{
	return family == WEIR_IPV4 ? 32 : 128;
}

/* Is a inside prefix/bits? */
bool weir_ctl_covers(const struct weir_addr *prefix, uint8_t bits, const struct weir_addr *a);
/* Clear what is below the prefix length. */
void weir_ctl_mask(union weir_ip *ip, uint8_t bits);

/* Place in control's list of the address on the port; -1: not there. */
int weir_ctl_addr_index(const struct weir_control *c, unsigned int port, const struct weir_addr *a);

/* Carry the operations out: see weir_ctl_apply(). Lock held. */
int weir_ctl_apply_locked(struct weir_stack *stack, struct weir_ctl_op *ops, unsigned int n,
			  struct weir_error *err);

/* The address that RFC 4291 2.5.1 makes of a /64 prefix and a MAC. */
void weir_ctl_eui64(struct weir_addr *addr, const uint8_t mac[WIRE_ETH_ALEN]);

/* What was learned on a port is forgotten, for it is being removed. Lock held. */
void weir_ctl_forget_learned(struct weir_stack *stack, unsigned int port);

/* PORT_ADD of a running stack. Lock held; takes turns on a worker. */
int weir_ctl_port_add(struct weir_stack *stack, struct weir_ctl_op *op, struct weir_error *err);

/*
 * PORT_REMOVE, also of a running stack. Lock held; takes turns on a worker. -ETIMEDOUT: a worker does not take turns;
 * the port is out of use, and the call to be repeated.
 */
int weir_ctl_port_remove(struct weir_stack *stack, struct weir_ctl_op *op, struct weir_error *err);

#endif /* WEIR_CTL_PRIV_H */
