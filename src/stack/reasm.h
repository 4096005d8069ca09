/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reassembly of IPv4 and IPv6 fragments, per lcore. Layer 1; called by rx on the lcore that owns the datagram.
 *
 * Bounds, whatever comes: memory in all and per source (true size of the buffers held; a source is an IPv4
 * address or an IPv6 /64), 128 fragments per datagram, work per fragment, time. Key: source, destination,
 * identification, protocol (IPv4), port of arrival. RFC 791, RFC 815, RFC 8200 4.5, RFC 5722 (overlap), RFC 6946
 * (atomic fragments), RFC 7112 (header chain), RFC 3168 5.3 (ECN).
 */
#ifndef WEIR_REASM_H
#define WEIR_REASM_H

#include "lcore.h"

/*
 * Allocate an lcore's engine; conf.frag_mem 0: none, and fragments are dropped (ip_frag), but for IPv6 datagrams
 * in one fragment. Beside the buffers it takes about a quarter of frag_mem. conf.frag_source_mem 0: no bound of
 * its own for a source. -ENOMEM.
 */
int weir_reasm_init(struct weir_lcore *lc, int socket_id);
/* Drops what it holds (stack_stopped). Nothing to do when there is none. */
void weir_reasm_fini(struct weir_lcore *lc);

/*
 * A fragment: v of kind WIRE_FRAG, headers up to l3_len contiguous, addresses accepted. Consumes m. NULL: it
 * waits, or is dropped and counted. Else the datagram, whole, chained: Ethernet, the headers of its first
 * fragment made right (IPv4: length, MF, offset, checksum, ECN; IPv6: without the fragment header), the payload
 * of all. No word of a device on checksums is left. Counts: each fragment that waits rx_frag_in; when the
 * datagram is whole all of them rx_frag_out, and all but one rx_consumed[WEIR_PROTO_FRAG].
 */
struct rte_mbuf *weir_reasm_input(struct weir_lcore *lc, const struct weir_port *port,
				  struct rte_mbuf *m, const struct wire_view *v);

/* Give up what is too old: house-keeping, bounded work per call. Answers with "time exceeded" (icmp.h). */
void weir_reasm_tick(struct weir_lcore *lc);

/* Drop all that came by this port; all ports: -1. */
void weir_reasm_flush(struct weir_lcore *lc, int port, enum weir_drop reason);

struct weir_reasm_info {
	uint32_t datagrams, fragments;
	uint64_t bytes; /* true size held */
};
void weir_reasm_info_get(const struct weir_lcore *lc, struct weir_reasm_info *out);

#endif /* WEIR_REASM_H */
