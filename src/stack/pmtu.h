/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path MTUs that were learned: destination -> MTU, a bounded table. Layer 1.
 *
 * Read on a route cache miss and by IP_MTU, on any lcore, without a lock; written by ICMP input (rate limited)
 * and by time. Keyed by a secret; a full set evicts at random, so that nobody can aim. What an attacker can
 * do with forged messages is bounded: who calls weir_pmtu_learn() has matched the quoted packet to a socket.
 * Link-local destinations have no place here: no router is on the way.
 */
#ifndef WEIR_PMTU_H
#define WEIR_PMTU_H

#include "lcore.h"

int weir_pmtu_init(struct weir_stack *stack);
void weir_pmtu_fini(struct weir_stack *stack);

/*
 * The MTU of the path to dst, in bytes of IP packet; 0: nothing is known. *lock (IPv4): the path carries less than
 * what is believed (conf.pmtu_min): DF is to be cleared, and datagrams cut to the minimum. RCU reader, any lcore.
 */
uint16_t weir_pmtu_get(const struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
		       uint64_t now_ns, bool *lock);

/*
 * A router says that the path to dst carries mtu bytes. 0, IPv4: it does not say how much; the plateau of RFC 1191
 * 7.1 below sent_len is taken. Increases are ignored, less than the floor is taken for the floor (IPv6: is ignored,
 * RFC 8201 4), the rate of changes is limited; caches look again. Any lcore. True: something has changed.
 */
bool weir_pmtu_learn(struct weir_lcore *lc, const union weir_ip *dst, uint8_t family, uint32_t mtu,
		     uint32_t sent_len);

/* Entries whose time is over go. One worker at a time, from the tick. */
void weir_pmtu_tick(struct weir_stack *stack, uint64_t now_ns);

/* Forget everything. Control: addresses or routes were reset. */
void weir_pmtu_flush(struct weir_stack *stack);

#endif /* WEIR_PMTU_H */
