/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guards themselves: without these proofs every clean run elsewhere would mean nothing. Each
 * proof reads the first and the last byte, then forks a child that reads one byte outside, which
 * must kill it; the control, a child that reads inside, must live to say so.
 */
#include "ut.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "ut_eal.h"
#include "ut_guard.h"
#include "ut_pool.h"

#if defined(__SANITIZE_ADDRESS__)
#define UT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UT_ASAN 1
#endif
#endif

static struct rte_mempool *pool;

enum outcome { READ_IT, DIED };

/* Read the byte at `at` in a child. Anything but a clean read or a caught access fails the case. */
static enum outcome
read_in_child(const uint8_t *at)
{
	enum { READ_OK = 42, SANITIZER = 1 };
	const struct rlimit no_core = {0, 0};
	pid_t pid;
	int null_fd;
	int status;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* cmocka catches the signal; the child is to die of it. No report, no core. */
		signal(SIGSEGV, SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
		null_fd = open("/dev/null", O_WRONLY);
		dup2(null_fd, STDERR_FILENO);
		(void)*(const volatile uint8_t *)at;
		_exit(READ_OK);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == READ_OK)
		return READ_IT;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV)
		return DIED;
#ifdef UT_ASAN
	/* The sanitizer ends with an exit code of its own, or aborts when it was told to. */
	if ((WIFEXITED(status) && WEXITSTATUS(status) != 0) ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT))
		return DIED;
#endif
	fail_msg("the child ended in neither way: status %#x", (unsigned int)status);
	return READ_IT;
}

static void
check_last_byte_is_the_last(const uint8_t *start, size_t len, const char *what)
{
	if (len > 0) {
		(void)*(const volatile uint8_t *)start;
		(void)*(const volatile uint8_t *)(start + len - 1);
	}
	ut_check(read_in_child(start + len) == DIED, "%s: one byte beyond %zu was read", what, len);
}

static void
reads_inside_a_frame_are_not_disturbed(void **state)
{
	uint8_t *frame = ut_guard_frame(NULL, 60);

	(void)state;
	assert_int_equal(read_in_child(frame), READ_IT);
	assert_int_equal(read_in_child(frame + 59), READ_IT);
	ut_guard_free(frame, 60);
}

static void
over_read_of_a_frame_by_one_byte_is_caught(void **state)
{
	static const size_t lengths[] = {0, 1, 14, 42, 60, 1514, 4095, 4096, 4097, 9018};
	uint8_t *frame;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(lengths); i++) {
		frame = ut_guard_frame(NULL, lengths[i]);
		check_last_byte_is_the_last(frame, lengths[i], "frame");
		ut_guard_free(frame, lengths[i]);
	}
}

static void
over_read_of_an_mbuf_by_one_byte_is_caught(void **state)
{
	static const size_t lengths[] = {0, 60, 4096, 9018};
	struct rte_mbuf *m;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(lengths); i++) {
		m = ut_guard_mbuf(pool, NULL, lengths[i]);
		check_last_byte_is_the_last(rte_pktmbuf_mtod(m, uint8_t *), lengths[i], "mbuf");
		rte_pktmbuf_free(m);
	}
}

static void
over_read_of_each_segment_by_one_byte_is_caught(void **state)
{
	static const size_t cuts[] = {0, 14, 14, 33};
	struct rte_mbuf *m, *seg;
	unsigned int n = 0;

	(void)state;
	m = ut_guard_mbuf_split(pool, NULL, 60, cuts, UT_N(cuts));
	assert_int_equal(m->nb_segs, UT_N(cuts) + 1);
	for (seg = m; seg != NULL; seg = seg->next, n++)
		check_last_byte_is_the_last(rte_pktmbuf_mtod(seg, uint8_t *), seg->data_len,
					    "segment");
	assert_int_equal(n, m->nb_segs);
	rte_pktmbuf_free(m);
}

#ifdef UT_ASAN
static void
under_read_of_an_aligned_frame_by_one_byte_is_caught(void **state)
{
	uint8_t *frame = ut_guard_frame(NULL, 64);

	(void)state;
	assert_int_equal(read_in_child(frame), READ_IT);
	assert_int_equal(read_in_child(frame - 1), DIED);
	ut_guard_free(frame, 64);
	/* The poison goes with the frame: what is mapped there next is clean. */
	frame = ut_guard_frame(NULL, 4096);
	assert_int_equal(read_in_child(frame + 4096 - 64 - 1), READ_IT);
	ut_guard_free(frame, 4096);
}
#endif

static void
frames_and_mbufs_hold_the_given_bytes(void **state)
{
	static const size_t cuts[] = {3, 3, 64, 99};
	uint8_t bytes[100];
	const uint8_t *whole;
	uint8_t copy[100];
	struct rte_mbuf *m;
	uint8_t *frame;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(200 - i);
	frame = ut_guard_frame(bytes, sizeof(bytes));
	assert_memory_equal(frame, bytes, sizeof(bytes));
	ut_guard_free(frame, sizeof(bytes));

	m = ut_guard_mbuf(pool, bytes, sizeof(bytes));
	assert_int_equal(rte_mbuf_check(m, 1, &(const char *){NULL}), 0);
	assert_int_equal(m->pkt_len, sizeof(bytes));
	assert_memory_equal(rte_pktmbuf_mtod(m, void *), bytes, sizeof(bytes));
	assert_int_equal(rte_pktmbuf_tailroom(m), 0);
	assert_true(rte_pktmbuf_headroom(m) >= RTE_PKTMBUF_HEADROOM);
	assert_non_null(rte_pktmbuf_prepend(m, 14));
	rte_pktmbuf_free(m);

	m = ut_guard_mbuf_split(pool, bytes, sizeof(bytes), cuts, UT_N(cuts));
	assert_int_equal(rte_mbuf_check(m, 1, &(const char *){NULL}), 0);
	assert_int_equal(m->pkt_len, sizeof(bytes));
	whole = rte_pktmbuf_read(m, 0, sizeof(bytes), copy);
	assert_ptr_equal(whole, copy);
	assert_memory_equal(whole, bytes, sizeof(bytes));
	rte_pktmbuf_free(m);
}

static void
buffers_live_until_the_last_reference_goes(void **state)
{
	struct rte_mbuf *m, *clone;
	unsigned int in_use;

	(void)state;
	assert_int_equal(ut_guard_live(), 0);
	m = ut_guard_mbuf(pool, NULL, 60);
	assert_int_equal(ut_guard_live(), 1);
	clone = rte_pktmbuf_clone(m, pool);
	assert_non_null(clone);
	rte_pktmbuf_free(m);
	assert_int_equal(ut_guard_live(), 1);
	assert_int_equal(rte_pktmbuf_mtod(clone, const uint8_t *)[59], (uint8_t)(59 * 7 + 1));
	in_use = ut_pool_missing(pool);
	assert_int_equal(in_use, 1);
	rte_pktmbuf_free(clone);
	assert_int_equal(ut_guard_live(), 0);
}

static int
setup(void **state)
{
	if (ut_eal_setup(state) < 0)
		return -1;
	pool = ut_pool_create("guard", 63, 0);
	return 0;
}

/* After each case: no buffer and no mbuf is left. */
static int
check_all_back(void **state)
{
	(void)state;
	ut_check(ut_guard_live() == 0, "%u guarded buffers are left", ut_guard_live());
	ut_pool_check(pool);
	return 0;
}

static int
teardown(void **state)
{
	ut_pool_destroy(pool);
	return ut_eal_teardown(state);
}

#define CASE(name) cmocka_unit_test_teardown(name, check_all_back)

int
main(void)
{
	const struct CMUnitTest without_eal[] = {
		cmocka_unit_test(reads_inside_a_frame_are_not_disturbed),
		cmocka_unit_test(over_read_of_a_frame_by_one_byte_is_caught),
#ifdef UT_ASAN
		cmocka_unit_test(under_read_of_an_aligned_frame_by_one_byte_is_caught),
#endif
	};
	const struct CMUnitTest cases[] = {
		CASE(over_read_of_an_mbuf_by_one_byte_is_caught),
		CASE(over_read_of_each_segment_by_one_byte_is_caught),
		CASE(frames_and_mbufs_hold_the_given_bytes),
		CASE(buffers_live_until_the_last_reference_goes),
	};

	return UT_RUN(without_eal, NULL, NULL) + UT_RUN(cases, setup, teardown);
}
