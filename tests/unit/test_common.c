/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other test helpers: that the pool check sees a leak, that refused allocations are refused and
 * forgotten ones found, that the clock stands still, and that built packets are what they claim.
 */
#include "ut.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <weir/clock.h>

#include "ut_clock.h"
#include "ut_eal.h"
#include "ut_fail.h"
#include "ut_pkt.h"
#include "ut_pool.h"

/* Three things that one set-up function may want, and its choice of mistakes. */
struct thing {
	void *a, *b;
	struct rte_ring *ring;
	enum { NO_MISTAKE, FORGETS_B, IGNORES_RING } mistake;
};

static int
thing_create(void *arg)
{
	struct thing *t = arg;

	t->a = calloc(1, 100);
	if (t->a == NULL)
		return -ENOMEM;
	t->b = rte_zmalloc("thing", 100, 0);
	if (t->b == NULL)
		goto free_a;
	t->ring = rte_ring_create("thing", 64, SOCKET_ID_ANY, 0);
	if (t->ring == NULL && t->mistake != IGNORES_RING)
		goto free_b;
	return 0;

free_b:
	if (t->mistake != FORGETS_B)
		rte_free(t->b);
free_a:
	free(t->a);
	return -ENOMEM;
}

static void
thing_destroy(void *arg)
{
	struct thing *t = arg;

	rte_ring_free(t->ring);
	rte_free(t->b);
	free(t->a);
}

static void
each_allocation_is_refused_once(void **state)
{
	struct thing t = {.mistake = NO_MISTAKE};

	(void)state;
	assert_int_equal(ut_fail_all(thing_create, thing_destroy, &t), 3);
}

static void
a_failure_that_is_absorbed_is_no_failure(void **state)
{
	struct thing t = {.mistake = IGNORES_RING};

	(void)state;
	assert_int_equal(ut_fail_all(thing_create, thing_destroy, &t), 3);
}

/*
 * Run cases in a child, quiet, and return how many fail there. The child starts an EAL of its own:
 * EAL's memory may be shared with children, so that a forked one must not touch it.
 */
static int
failures_in_child(int (*run_cases)(void))
{
	enum { NO_START = 100 };
	pid_t pid;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (freopen("/dev/null", "w", stdout) == NULL ||
		    freopen("/dev/null", "w", stderr) == NULL || ut_eal_init(1, NULL) < 0)
			_exit(NO_START);
		_exit(run_cases());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ut_check(WIFEXITED(status) && WEXITSTATUS(status) < NO_START,
		 "the child ended with status %#x", (unsigned int)status);
	return WEXITSTATUS(status);
}

static void
leak_on_the_way_out(void **state)
{
	struct thing t = {.mistake = FORGETS_B};

	(void)state;
	ut_fail_all(thing_create, thing_destroy, &t);
}

static int
forget_nothing_but_fail(void *arg)
{
	(void)arg;
	return -EIO;
}

static void
fail_for_no_reason(void **state)
{
	(void)state;
	ut_fail_all(forget_nothing_but_fail, thing_destroy, NULL);
}

static void
lose_an_mbuf(void **state)
{
	struct rte_mempool *pool = ut_pool_create("lossy", 7, 0);

	(void)state;
	assert_non_null(rte_pktmbuf_alloc(pool));
	assert_int_equal(ut_pool_missing(pool), 1);
	ut_pool_destroy(pool);
}

static void
lose_nothing(void **state)
{
	struct rte_mempool *pool = ut_pool_create("tight", 7, 0);

	(void)state;
	rte_pktmbuf_free(rte_pktmbuf_alloc(pool));
	ut_pool_destroy(pool);
}

static int
run_bad_cases(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(leak_on_the_way_out),
		cmocka_unit_test(fail_for_no_reason),
		cmocka_unit_test(lose_an_mbuf),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

static int
run_good_cases(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(each_allocation_is_refused_once),
		cmocka_unit_test(lose_nothing),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}

static void
leaks_lost_mbufs_and_failures_without_cause_are_found(void **state)
{
	(void)state;
	assert_int_equal(failures_in_child(run_bad_cases), 3);
	assert_int_equal(failures_in_child(run_good_cases), 0);
}

static void
time_moves_only_by_hand(void **state)
{
	const uint64_t century_ns = UINT64_C(3155760000) * WEIR_NS_PER_S;
	uint64_t before, after;

	(void)state;
	ut_clock_install();
	assert_int_equal(weir_clock_ns(), WEIR_NS_PER_S);
	ut_clock_advance(5);
	assert_int_equal(weir_clock_ns(), WEIR_NS_PER_S + 5);
	/* A century: the default clock, which starts with the process, does not reach it. */
	ut_clock_set(century_ns);
	assert_int_equal(weir_clock_ns(), century_ns);
	assert_int_equal(ut_clock_now(), century_ns);
	ut_clock_remove();
	before = weir_clock_ns();
	after = weir_clock_ns();
	ut_check(before <= after && after < century_ns, "the default clock is not back");
}

/* RFC 1071 section 3 works this sum out: 0001 f203 f4f5 f6f7 give ddf2. */
static void
checksum_oracle_agrees_with_its_rfc(void **state)
{
	static const uint8_t bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};

	(void)state;
	assert_int_equal(ut_csum(bytes, sizeof(bytes), 0), (uint16_t)~0xddf2);
	assert_int_equal(ut_csum(bytes, 7, 0), (uint16_t) ~((0xddf2 + 0xffff - 0xf7) % 0xffff));
	assert_int_equal(ut_csum(NULL, 0, 0), 0xffff);
}

static void
built_frames_are_right_and_survive_mbufs(void **state)
{
	struct rte_mempool *pool = ut_pool_create("built", 15, 0);
	static uint8_t quote[28];
	static uint8_t frame[9000], back[9000];
	struct ut_pkt pkts[5];
	struct rte_mbuf *m;
	size_t len, i;

	(void)state;
	pkts[0] = ut_pkt_udp();
	pkts[1] = ut_pkt_arp_request();
	pkts[2] = ut_pkt_icmp_echo();
	pkts[3] = ut_pkt_icmp_error(3, 3, quote, sizeof(quote));
	pkts[4] = ut_pkt_udp();
	pkts[4].payload_len = 8000;
	for (i = 0; i < UT_N(pkts); i++) {
		len = ut_pkt_bytes(&pkts[i], frame, sizeof(frame));
		if (pkts[i].kind != UT_ARP) {
			/* A sum over data and its checksum is ffff, so its complement 0. */
			assert_int_equal(ut_csum(frame + 14, 20, 0), 0);
			assert_int_equal(ut_get16(frame + 16), len - 14);
		}
		if (pkts[i].kind == UT_UDP)
			assert_int_equal(ut_csum(frame + 34, len - 34,
						 ut_pseudo_sum(UT_PEER_IP, UT_OUR_IP, 17,
							       (uint16_t)(len - 34))),
					 0);
		if (pkts[i].kind == UT_ICMP)
			assert_int_equal(ut_csum(frame + 34, len - 34, 0), 0);
		m = ut_pkt_mbuf(&pkts[i], pool);
		assert_int_equal(m->pkt_len, len);
		assert_int_equal(ut_mbuf_bytes(m, back, sizeof(back)), len);
		ut_check_bytes(back, frame, len, "packet %zu", i);
		rte_pktmbuf_free(m);
	}
	assert_int_equal(ut_pkt_bytes(&pkts[0], frame, sizeof(frame)), 60);
	assert_int_equal(ut_pkt_bytes(&pkts[1], frame, sizeof(frame)), 60);
	ut_pool_destroy(pool);
}

int
main(void)
{
	const struct CMUnitTest before_eal[] = {
		cmocka_unit_test(leaks_lost_mbufs_and_failures_without_cause_are_found),
	};
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(each_allocation_is_refused_once),
		cmocka_unit_test(a_failure_that_is_absorbed_is_no_failure),
		cmocka_unit_test(time_moves_only_by_hand),
		cmocka_unit_test(checksum_oracle_agrees_with_its_rfc),
		cmocka_unit_test(built_frames_are_right_and_survive_mbufs),
	};

	return UT_RUN(before_eal, NULL, NULL) + UT_RUN(cases, ut_eal_setup, ut_eal_teardown);
}
