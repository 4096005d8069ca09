/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See hint.h. Linux leaves the UDP checksum of what it sends over a veth pair to a device that does not
 * exist, and may hand over datagrams larger than the MTU in one piece. Both arrive here as they are,
 * are refused and counted; the cure is at the sender, so the sender's operator is told.
 */
#include "hint.h"

#include "log.h"

#define HINT_EVERY_NS (10 * WEIR_NS_PER_S)

void
weir_hint(struct weir_lcore *lc)
{
	uint64_t partial = weir_counter_read(&lc->c.drops[WEIR_DROP_UDP_CSUM_PARTIAL]);
	uint64_t oversize = weir_counter_read(&lc->c.drops[WEIR_DROP_ETH_OVERSIZE]);

	if (partial == lc->hint_partial && oversize == lc->hint_oversize)
		return;
	if (lc->hint_ns != 0 && lc->now_ns - lc->hint_ns < HINT_EVERY_NS)
		return;
	if (partial != lc->hint_partial)
		WEIR_LOG(WARNING,
			 "%" PRIu64 " datagrams came with an unfinished checksum and were dropped "
			 "(udp_csum_partial): the sender leaves it to its device; on its interface "
			 "run: ethtool -K DEV tx off",
			 partial - lc->hint_partial);
	if (oversize != lc->hint_oversize)
		WEIR_LOG(WARNING,
			 "%" PRIu64 " frames longer than the MTU were dropped (eth_oversize): the "
			 "sender's segmentation offloads or MTU do not fit; on its interface run: "
			 "ethtool -K DEV gso off tso off ufo off",
			 oversize - lc->hint_oversize);
	lc->hint_partial = partial;
	lc->hint_oversize = oversize;
	lc->hint_ns = lc->now_ns;
}
