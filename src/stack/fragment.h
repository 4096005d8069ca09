/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets that are longer than their path takes, cut into fragments: IPv4 (RFC 791) and IPv6 (RFC 8200 4.5).
 * Layer 2, below tx.c and icmp.c. COLD beside what it does: nothing here runs for a packet that fits.
 *
 * What is cut is a finished frame: Ethernet, 20 bytes of IPv4 or 40 of IPv6, and behind that anything, its checksums
 * in place. The fragments are frames in buffers of the stack's pool. On a port that takes chained buffers a long
 * fragment is a header and a reference to the frame's bytes; else, and when short, a copy in one buffer.
 *
 * All or nothing: weir_fragment_plan() takes all buffers before anything is written to the caller's.
 *
 * Identification. One sequence per lcore, in which the number of the lcore is part, sent through a permutation that
 * is keyed by a secret and both addresses. So nobody can tell from the values he gets what others get, or how many;
 * no two lcores give the same value to one pair of addresses within one round of the sequence; and no lcore repeats
 * one before 2^16 (IPv4) or 2^32 (IPv6) divided by the number of lcores, rounded up to a power of two, datagrams. For IPv6
 * that is longer than the 60 seconds in which a fragment may wait at any rate up to 4 million fragmented datagrams a
 * second with 16 lcores. The 16 bits of IPv4 cannot give that to any fast sender (RFC 4963): there the UDP checksum
 * has to tell, as it does for every host.
 */
#ifndef WEIR_FRAGMENT_H
#define WEIR_FRAGMENT_H

#include "lcore.h"

/* Most fragments of one packet: 65535 bytes in pieces of 48 (RFC 791: every link carries 68 bytes). */
#define WEIR_FRAGMENTS_MAX 1366
/* Most references to the bytes of a frame. */
#define WEIR_FRAGMENT_REFS 256

struct weir_fragments {
	uint16_t n;
	uint16_t unit; /* bytes behind the IP header, of each but the last: a multiple of 8 */
	uint16_t l3_len;
	uint16_t n_refs; /* 0: copies */
	struct rte_mbuf *m[WEIR_FRAGMENTS_MAX];
	struct rte_mbuf *ref[WEIR_FRAGMENT_REFS];
};

/*
 * How many fragments: len bytes behind the IP header, an MTU of mtu. 0: it cannot be done (an MTU without room for
 * eight bytes).
 */
unsigned int weir_fragment_count(uint32_t len, uint8_t family, uint16_t mtu);

/*
 * Take all buffers for the fragments of a frame that m will become: len bytes behind the IP header. False: there
 * are not enough, or mtu is too small; nothing has been taken.
 */
bool weir_fragment_plan(struct weir_lcore *lc, const struct weir_port *port,
			const struct rte_mbuf *m, uint32_t len, uint8_t family, uint16_t mtu,
			struct weir_fragments *f);

/* Give the buffers of a plan back. */
void weir_fragment_cancel(struct weir_fragments *f);

/*
 * Cut the frame: f->m[0 .. n-1] are the fragments in order, complete; m is used up. id: the identification, as in
 * the header (IPv4: its low 16 bits).
 */
void weir_fragment_cut(struct weir_fragments *f, struct rte_mbuf *m, uint32_t id);

/* The identification for the next datagram between two addresses; of IPv4 the low 16 bits. */
uint32_t weir_fragment_id(struct weir_lcore *lc, const union weir_ip *src, const union weir_ip *dst,
			  uint8_t family);

/*
 * A protocol's finished frame that may be longer than mtu: batch it, in fragments when it has to be; counts
 * tx_protocol, and tx_copies for each fragment but the first. IPv4: an identification of 0 is replaced, DF cleared.
 * 0: m is used up. -ENOBUFS, -EAGAIN (no room), -EMSGSIZE (mtu too small): nothing has left, m is as it was.
 */
int weir_fragment_protocol(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
			   uint16_t mtu);

#endif /* WEIR_FRAGMENT_H */
