/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where every frame and datagram went.
 *
 * Each lcore counts for itself in its own cache lines; these calls add up. Numbers read while
 * workers run are each exact but not of one instant; the identity holds exactly when no turn is
 * running and no call is under way.
 *
 *   rx_frames + rx_copies = rx_read + drops (rx) + consumed + queued + in the mesh + fragments
 *   tx_datagrams + tx_protocol + tx_copies = tx_frames + drops (tx) + tx_held + tx_batched
 */
#ifndef WEIR_STATS_H
#define WEIR_STATS_H

#include <stdint.h>
#include <stdio.h>

#include <weir/api.h>
#include <weir/drop.h>
#include <weir/stack.h>

WEIR_BEGIN_DECLS

/** Protocols that consume frames, and send some. */
enum weir_proto {
	WEIR_PROTO_ARP,
	WEIR_PROTO_ICMP,  /* of both families, but for neighbour discovery and MLD */
	WEIR_PROTO_ND,    /* IPv6 neighbour and router discovery */
	WEIR_PROTO_GROUP, /* IGMP and MLD */
	WEIR_PROTO_FRAG, /* fragments that went into a datagram, all but the one that stands for it */
	WEIR_PROTO_N
};

struct weir_stats {
	uint64_t rx_frames;    /* frames taken from ports (or weir_input) */
	uint64_t rx_bytes;     /* their bytes, without FCS */
	uint64_t rx_delivered; /* frames of datagrams appended to a socket's queue */
	uint64_t rx_copies;    /* made for further sockets, of datagrams to group addresses */
	uint64_t rx_read;      /* frames of datagrams handed to the application */
	uint64_t rx_consumed[WEIR_PROTO_N]; /* frames that a protocol used up */
	uint64_t tx_datagrams;              /* datagrams accepted from the application */
	uint64_t tx_protocol; /* frames the stack made itself: ARP, ICMP, ND, IGMP, MLD */
	uint64_t tx_copies;   /* of datagrams to groups, looped back; fragments beyond the first */
	uint64_t tx_frames;   /* frames that the driver accepted */
	uint64_t tx_bytes;    /* their bytes, without FCS */
	uint64_t drops[WEIR_DROP_N];
	uint64_t turns, idle_turns; /* of workers */
	/* Gauges: what is inside the stack now. */
	uint64_t rx_queued;  /* datagrams in receive queues, closed but unreclaimed sockets too */
	uint64_t rx_in_mesh; /* received frames on their way to another lcore */
	uint64_t rx_frags;   /* fragments waiting for the rest of their datagram */
	uint64_t tx_held;    /* datagrams waiting for a neighbour */
	uint64_t tx_batched; /* frames batched or on their way to the lcore that transmits */
	/* Beside the identity: what the devices say. */
	uint64_t nic_missed; /* frames the ports had no room for (imissed) */
	uint64_t nic_errors; /* ierrors */
	uint64_t nic_nombuf; /* receive buffers that could not be allocated */
	/* Residues: 0 when nothing vanished. */
	int64_t rx_residue; /* left side minus right side of the first identity */
	int64_t tx_residue; /* of the second */
};

/** Sum over all lcores, plus gauges. [any] */
WEIR_API void weir_stats_get(struct weir_stack *stack, struct weir_stats *out);

/** One lcore's part (no gauges, no residues). worker: index, or -1: attached threads and control. */
WEIR_API void weir_stats_worker(struct weir_stack *stack, int worker, struct weir_stats *out);

/** One port's frames, bytes (rx, tx) and device counters; the rest is zero. */
WEIR_API int weir_stats_port(struct weir_stack *stack, unsigned int port, struct weir_stats *out);

/**
 * 0 when both residues are zero and the gauges agree with a walk over all queues, else -EPROTO. Only
 * while nothing runs: for tests and final reports. [once]
 */
WEIR_API int weir_stats_check(struct weir_stack *stack, struct weir_stats *out);

/** The block of where everything went, non-zero drop reasons with their meaning. */
WEIR_API void weir_stats_print(FILE *f, const struct weir_stats *stats);

WEIR_END_DECLS

#endif /* WEIR_STATS_H */
