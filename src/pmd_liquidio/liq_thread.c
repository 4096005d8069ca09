/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of net_liq_sim.  See liq_thread.h.
 */
#include "liq_thread.h"

#include <signal.h>
#include <stddef.h>

#include <rte_lcore.h>

static void *
look(void *arg)
{
	pthread_getaffinity_np(pthread_self(), sizeof(cpu_set_t), arg);
	return NULL;
}

void
liq_thread_cpus(cpu_set_t *cpus)
{
	unsigned int lcore;
	pthread_t thread;

	/* EAL does not tell its set for control threads, but gives it to each of them */
	CPU_ZERO(cpus);
	if (rte_ctrl_thread_create(&thread, "liq-cpus", NULL, look, cpus) == 0)
		pthread_join(thread, NULL);
	RTE_LCORE_FOREACH(lcore) {
		rte_cpuset_t set = rte_lcore_cpuset(lcore);

		CPU_OR(cpus, cpus, &set);
	}
}

int
liq_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;
	cpu_set_t cpus;
	int ret;

	liq_thread_cpus(&cpus);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret != 0)
		return -ret;
	pthread_setname_np(*thread, name);
	pthread_setaffinity_np(*thread, sizeof(cpus), &cpus);
	return 0;
}
