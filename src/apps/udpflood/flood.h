/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * udpflood: every worker sends its share of the datagrams through its own sockets. main.c reads
 * options and reports, flood.c sends.
 */
#ifndef FLOOD_H
#define FLOOD_H

#include "app.h"

#define FLOOD_SOCKETS_MAX 1024

/* One source port. Owned by the worker that sends through it: index modulo workers. */
struct flood_socket {
	struct weir_socket *sk;
	uint64_t next_seq;
};

/* One worker's share and what became of it. */
struct flood_part {
	uint64_t quota;              /* datagrams to send, UINT64_MAX: no limit */
	uint64_t rate_pps;           /* 0: as fast as possible */
	alignas(64) uint64_t n_sent; /* accepted by the stack */
	uint64_t payload_bytes;
	uint64_t n_full;    /* send calls that took fewer than offered */
	uint64_t n_refused; /* pending socket errors: port unreachable and such */
	uint64_t n_nobufs;  /* turns without buffers */
	uint64_t first_ns, last_ns, first_tsc, last_tsc;
};

struct flood {
	struct app app; /* first: the worker finds the flood by it */

	/* Options. */
	struct weir_addr dest;   /* port included */
	struct weir_addr source; /* unspecified: the route's; port 0: ephemeral */
	uint64_t port, count, payload_len, batch, rate_pps, src_ports, linger_ns, wait_ns;
	bool has_count, has_src_ports, stamp, drop_when_full, copy;

	struct flood_socket *sockets;
	unsigned int n_sockets;
	struct flood_part *parts; /* one per worker */

	_Atomic int go;                 /* the way to the peer is open: all workers send */
	_Atomic unsigned int n_sending; /* workers that have not finished their share */
};

/** Body of every worker; returns enum app_exit. */
int flood_worker(struct app_worker *w);

#endif /* FLOOD_H */
