/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL for tests: once per program, without huge pages, PCI, shared files or telemetry, quiet.
 * lcores are spread over the CPUs that the process may use, several on one when there are fewer.
 * Set UT_EAL_LOG (for example to "debug", or "lib.eal:8") to hear what EAL says.
 */
#ifndef UT_EAL_H
#define UT_EAL_H

/*
 * Start EAL with lcores 0 to n_lcores - 1 (0 is the main one) and further arguments, NULL-ended;
 * extra may be NULL. A further call returns 0 and changes nothing. 0, or a negative errno, said on
 * stderr. Only from the main thread.
 */
int ut_eal_init(unsigned int n_lcores, const char *const *extra);

/* rte_eal_cleanup(), if EAL was started. It cannot be started again in this process. */
void ut_eal_fini(void);

/* The two as set-up and tear-down of a cmocka group: two lcores, nothing extra. */
int ut_eal_setup(void **state);
int ut_eal_teardown(void **state);

#endif /* UT_EAL_H */
