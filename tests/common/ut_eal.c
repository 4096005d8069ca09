/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL start for tests. The argument strings live as long as the process, since EAL keeps pointers
 * to them, and are held apart from the vector, in which EAL moves and replaces pointers.
 * --no-shconf lets any number of test programs run side by side.
 */
#include "ut_eal.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "ut_tsan.h"

#define MAX_ARGS   48
#define MAX_LCORES 16

static bool running;

/* "0@3,1@5,2@3": lcore i on the i-th allowed CPU, starting over when they run out. */
static int
lcore_map(unsigned int n_lcores, char *buf, size_t size)
{
	int cpus[CPU_SETSIZE];
	unsigned int n_cpus = 0;
	cpu_set_t allowed;
	unsigned int i;
	size_t len = 0;
	int cpu;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0)
		return -errno;
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			cpus[n_cpus++] = cpu;
	for (i = 0; i < n_lcores; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%u@%d", i > 0 ? "," : "", i,
					cpus[i % n_cpus]);
	return 0;
}

int
ut_eal_init(unsigned int n_lcores, const char *const *extra)
{
	static char lcores[MAX_LCORES * sizeof("15@1023,")];
	static char log_level[64] = "error";
	static char *strings[MAX_ARGS];
	char *args[MAX_ARGS];
	static const char *const fixed[] = {
		"test", "--no-huge", "--no-shconf", "--no-pci",    "--no-telemetry", "-m",
		"256",  "--lcores",  lcores,        "--log-level", log_level,
	};
	const char *env = getenv("UT_EAL_LOG");
	int n_args = 0;
	size_t i;
	int rc;

	if (running)
		return 0;
	if (n_lcores == 0 || n_lcores > MAX_LCORES)
		return -EINVAL;
	rc = lcore_map(n_lcores, lcores, sizeof(lcores));
	if (rc < 0)
		return rc;
	if (env != NULL)
		snprintf(log_level, sizeof(log_level), "%s", env);
	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		strings[n_args++] = strdup(fixed[i]);
	if (ut_tsan_eal_arg() != NULL)
		strings[n_args++] = strdup(ut_tsan_eal_arg());
	for (; extra != NULL && *extra != NULL; extra++) {
		if (n_args == MAX_ARGS - 1)
			return -E2BIG;
		strings[n_args++] = strdup(*extra);
	}
	memcpy(args, strings, sizeof(args));
	if (rte_eal_init(n_args, args) < 0) {
		rc = rte_errno != 0 ? -rte_errno : -EIO;
		fprintf(stderr, "EAL does not start: %s\n", rte_strerror(-rc));
		return rc;
	}
	running = true;
	return 0;
}

void
ut_eal_fini(void)
{
	if (running)
		rte_eal_cleanup();
	running = false;
}

int
ut_eal_setup(void **state)
{
	(void)state;
	return ut_eal_init(2, NULL);
}

int
ut_eal_teardown(void **state)
{
	(void)state;
	ut_eal_fini();
	return 0;
}
