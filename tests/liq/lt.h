/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the driver's tests share: ports of net_liq_sim on a clock of the test's, without a thread
 * and without the alarm, so that a run is the same each time; frames; and the check that each
 * mbuf is back.
 *
 * The clock moves by a step each time that it is read.  A wait of the driver reads it once per
 * round, so that a deadline of ten seconds passes in a moment.
 */
#ifndef LT_H
#define LT_H

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "liq_ethdev.h"
#include "liq_sim.h"
#include "liqm.h"
#include "ut.h"
#include "ut_eal.h"
#include "ut_pool.h"

#define LT_MS UINT64_C(1000000)

/* ---- time ---- */

void lt_clock_install(uint64_t step_ns);
void lt_clock_remove(void);
void lt_clock_step(uint64_t step_ns);
void lt_clock_advance(uint64_t ns);
uint64_t lt_clock_now(void);

/* ---- ports ---- */

struct lt_port {
	char name[32];
	uint16_t id;
	struct rte_eth_dev *eth;
	struct liq_dev *dev;
	struct liqm_card *card;
	struct liqm_fn *fn;
	struct rte_mempool *pool;
};

/* Creates net_liq_sim<index> with drive=inline and these further arguments ("" for none).  The
 * alarm is cancelled: call liq_ethdev_tend().  0 or what rte_vdev_init() says. */
int lt_open(struct lt_port *p, unsigned int index, const char *args, struct rte_mempool *pool);
/* The vdev goes. */
void lt_close(struct lt_port *p);

/* While another function waits, this one (a PF) is tended, as its alarm would do; NULL: no more. */
void lt_tend_meanwhile(struct lt_port *p);

struct lt_conf {
	uint16_t n_rxq, n_txq; /* 0: 1 */
	uint16_t n_desc;       /* 0: 128 */
	uint64_t rx_offloads, tx_offloads;
	uint64_t rss_hf; /* 0: no RSS */
	uint16_t mtu;    /* 0: 1500 */
	bool lsc;
};

int lt_configure(struct lt_port *p, const struct lt_conf *conf);
/* Configured, queues set up, started; the case fails otherwise. */
void lt_up(struct lt_port *p, const struct lt_conf *conf);

/* Two ports cabled to each other. */
void lt_pair(struct lt_port p[2], const char *args, struct rte_mempool *pool);

/* ---- frames ---- */

/* An mbuf chain of n_segs, or as many as it takes, with len bytes: Ethernet header from a to b, then a pattern of the seed. */
struct rte_mbuf *lt_frame(const struct lt_port *a, const struct lt_port *b, uint32_t len,
			  unsigned int n_segs, uint32_t seed);
/* The case fails unless m is that frame. */
void lt_check_frame(const struct rte_mbuf *m, const struct lt_port *a, const struct lt_port *b,
		    uint32_t len, uint32_t seed);

/* Receives up to n, polling until it has them or nothing has come many times in a row. */
uint16_t lt_recv(struct lt_port *p, uint16_t queue, struct rte_mbuf **m, uint16_t n);

/* Group set-up and tear-down. */
int lt_setup(void **state);
int lt_teardown(void **state);

#endif /* LT_H */
