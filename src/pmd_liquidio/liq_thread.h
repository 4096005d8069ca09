/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of net_liq_sim.  EAL has bound the thread that probes to one CPU, and who it creates
 * inherits that: these may run on every CPU that EAL has for lcores and for control threads.
 */
#ifndef LIQ_THREAD_H
#define LIQ_THREAD_H

#include <pthread.h>
#include <sched.h>

/* Those CPUs. */
void liq_thread_cpus(cpu_set_t *cpus);

/* Starts run(arg) there, with all signals blocked.  0 or negative errno. */
int liq_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

#endif /* LIQ_THREAD_H */
