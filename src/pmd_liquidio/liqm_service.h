/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a card of the device model as a DPDK service, for applications that give a service core
 * (-s, or rte_service_lcore_add()) or call rte_service_run_iter_on_app_lcore().
 *
 * A turn of the service ticks the card when something is due, else reports -EAGAIN, which EAL
 * leaves out of its cycle counts.  It may run on any number of lcores: one works, the others
 * pass.  Accesses go on from any thread at the same time.
 *
 * Which lcore runs it, and whether it runs, is the application's choice, as with every service.
 * EAL makes that choice itself when the service is there before rte_eal_init() returns.  Until
 * then nobody turns it: a card whose driver is probed by rte_eal_init() wants manual_step off.
 *
 * Control only: one thread at a time, an EAL thread; both functions may wait.
 */
#ifndef LIQM_SERVICE_H
#define LIQM_SERVICE_H

#include <stdint.h>

#include "liqm.h"

struct liqm_service;

/*
 * Registers the service, ready to run.  The name has 1 to 31 characters and is copied.
 * 0; -EINVAL: no card, bad name; -EEXIST: that name is there; -ENOSPC: too many services.
 */
int liqm_service_start(struct liqm_card *card, const char *name, int socket_id,
		       struct liqm_service **out);

/* For rte_service_map_lcore_set(), rte_service_runstate_set() and their like. */
uint32_t liqm_service_id(const struct liqm_service *service);

/*
 * Takes the service from its lcores and forgets it; NULL is fine.  Not later than
 * rte_eal_cleanup(), and not while rte_service_run_iter_on_app_lcore() runs on it.  0, or
 * -ETIMEDOUT: an lcore does not come back, the service stays registered and stopped; call it
 * again.  Either way nobody touches the card any more.
 */
int liqm_service_stop(struct liqm_service *service);

#endif /* LIQM_SERVICE_H */
