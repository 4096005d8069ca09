/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path MTUs that were learned: destination -> MTU, a bounded table. Layer 1.
 *
 * Read on a route cache miss and by IP_MTU, on any lcore, without a lock; written by ICMP input (rate limited)
 * and by time. Secret-keyed hash; a full bucket evicts at random, so that nobody can aim. What an attacker can
 * do with forged messages is bounded: who calls weir_pmtu_learn() has matched the quoted packet to a socket.
 */
#ifndef WEIR_PMTU_H
#define WEIR_PMTU_H

#include "lcore.h"

int weir_pmtu_init(struct weir_stack *stack);
void weir_pmtu_fini(struct weir_stack *stack);

/*
 * The MTU of the path to dst, in bytes of IP packet; 0: nothing is known. *lock: the path carries less than
 * what is believed (conf.pmtu_min; IPv6: 1280): IPv4 clears DF and fragments to the minimum. RCU reader, any lcore.
 */
uint16_t weir_pmtu_get(const struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
		       uint64_t now_ns, bool *lock);

/*
 * A router says that the path to dst carries mtu bytes (0: it does not say: RFC 1191 5's plateau below
 * sent_len). Increases are ignored, floors kept, the rate is limited; caches look again. Any lcore. True: something has changed.
 */
bool weir_pmtu_learn(struct weir_lcore *lc, const union weir_ip *dst, uint8_t family, uint32_t mtu,
		     uint32_t sent_len);

/* Entries whose time is over go. One worker at a time, from the tick. */
void weir_pmtu_tick(struct weir_stack *stack, uint64_t now_ns);

/* Forget everything (control: addresses or routes were reset), one destination. */
void weir_pmtu_flush(struct weir_stack *stack);

#endif /* WEIR_PMTU_H */
