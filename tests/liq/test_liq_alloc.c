/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation refused once, through every way up: probe as VF and as PF, configuration, queues
 * with their memory, start.  What was taken is given back, and the next attempt succeeds.
 */
#include "lt.h"
#include "ut_fail.h"

#include <rte_bus_vdev.h>

static struct rte_mempool *pool;
static struct lt_port port;

struct way {
	const char *args;
	struct lt_conf conf;
};

static void
undo(void *arg)
{
	(void)arg;
	if (port.eth && port.eth->data->dev_started)
		rte_eth_dev_stop(port.id);
	lt_close(&port);
}

static int
attempt(void *arg)
{
	const struct way *way = arg;
	int ret = lt_open(&port, 0, way->args, pool);

	if (ret == 0)
		ret = lt_configure(&port, &way->conf);
	if (ret == 0)
		ret = rte_eth_dev_start(port.id);
	if (ret != 0)
		undo(NULL);
	return ret;
}

static void
all_fail_once(struct way *way, unsigned int n_least)
{
	unsigned int n;

	/* some allocations are answers of the model's firmware: then the deadline passes */
	lt_clock_step(LT_MS);
	pool = ut_pool_create("lt", 4095, 0);
	/* what EAL and ethdev take once and keep */
	assert_int_equal(attempt(way), 0);
	undo(NULL);
	n = ut_fail_all(attempt, undo, way);
	ut_check(n >= n_least, "%u allocations were refused", n);
	ut_pool_destroy(pool);
}

static void
vf_comes_up_or_leaves_nothing(void **state)
{
	(void)state;
	all_fail_once(&(struct way){.args = "wire=pair:x",
				    .conf = {.n_rxq = 4, .n_txq = 3, .rss_hf = RTE_ETH_RSS_IPV4}},
		      12);
}

static void
pf_comes_up_or_leaves_nothing(void **state)
{
	(void)state;
	all_fail_once(&(struct way){.args = "first,role=pf,card=c,queues=2",
				    .conf = {.n_rxq = 2, .n_txq = 2}},
		      10);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(vf_comes_up_or_leaves_nothing),
		cmocka_unit_test(pf_comes_up_or_leaves_nothing),
	};

	return UT_RUN(cases, lt_setup, lt_teardown);
}
