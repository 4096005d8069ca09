/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See hint.h. Linux leaves the UDP checksum of what it sends over a veth pair to a device that does not
 * exist, and may hand over datagrams larger than the MTU in one piece. Both arrive here as they are,
 * are refused and counted; the cure is at the sender, so the sender's operator is told.
 */
#include "hint.h"

#include "log.h"

#define HINT_EVERY_NS (10 * WEIR_NS_PER_S)

/* Sum of one reason over all lcores. */
static uint64_t
dropped(const struct weir_stack *stack, enum weir_drop reason)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < stack->n_lcores; i++)
		sum += weir_counter_read(&stack->lcores[i]->c.drops[reason]);
	return sum;
}

void
weir_hint(struct weir_stack *stack, uint64_t now_ns)
{
	struct weir_hints *h = &stack->hints;
	uint64_t partial = dropped(stack, WEIR_DROP_UDP_CSUM_PARTIAL);
	uint64_t oversize = dropped(stack, WEIR_DROP_ETH_OVERSIZE);
	uint64_t new_partial = partial - weir_counter_read(&h->partial);
	uint64_t new_oversize = oversize - weir_counter_read(&h->oversize);
	uint64_t last = weir_counter_read(&h->said_ns);

	if ((new_partial | new_oversize) == 0 || (last != 0 && now_ns - last < HINT_EVERY_NS))
		return;
	if (new_partial != 0)
		WEIR_LOG(WARNING,
			 "%" PRIu64 " datagrams came with an unfinished checksum and were dropped "
			 "(udp_csum_partial): the sender leaves it to its device; on its interface "
			 "run: ethtool -K DEV tx off",
			 new_partial);
	if (new_oversize != 0)
		WEIR_LOG(WARNING,
			 "%" PRIu64 " frames longer than the MTU were dropped (eth_oversize): the "
			 "sender's segmentation offloads or MTU do not fit (on its interface run: "
			 "ethtool -K DEV gso off tso off ufo off), or the device puts fragments "
			 "together (net_af_packet)",
			 new_oversize);
	weir_count(&h->partial, new_partial);
	weir_count(&h->oversize, new_oversize);
	atomic_store_explicit(&h->said_ns, now_ns | 1, memory_order_relaxed);
}
