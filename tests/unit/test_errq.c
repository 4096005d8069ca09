/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error queue: order, bound, what pends after each read, and that nothing of it outlives its socket.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_sock.h"
#include "errq.h"

static struct weir_socket *
with_queue(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, UT_OUR_PORT);
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	return sk;
}

static int
put(struct weir_socket *sk, int err, uint8_t origin, uint32_t info)
{
	const struct weir_sockerr e = {.err = err, .origin = origin, .info = info};

	return weir_errq_put(sk, &e);
}

static void
entries_come_in_order_and_the_oldest_stay(void **state)
{
	struct weir_socket *sk = with_queue(state);
	struct weir_sockerr e;

	assert_int_equal(weir_socket_errqueue(sk, &e), -EAGAIN);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < WEIR_ERRQ_MAX + 10; i++)
			assert_int_equal(put(sk, EPROTO, WEIR_ERR_ICMP, i),
					 i < WEIR_ERRQ_MAX ? 0 : -ENOBUFS);
		assert_int_equal(weir_errq_lost(sk), 10 * (round + 1));
		for (uint32_t i = 0; i < WEIR_ERRQ_MAX; i++) {
			assert_true(weir_errq_pending(sk));
			assert_int_equal(weir_socket_errqueue(sk, &e), 0);
			assert_int_equal(e.info, i);
		}
		assert_false(weir_errq_pending(sk));
		assert_int_equal(weir_socket_errqueue(sk, &e), -EAGAIN);
		/* Half of them, so that the ring goes round. */
		for (uint32_t i = 0; i < WEIR_ERRQ_MAX / 2; i++)
			assert_int_equal(put(sk, EPROTO, WEIR_ERR_ICMP, i), 0);
		for (uint32_t i = 0; i < WEIR_ERRQ_MAX / 2; i++)
			assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	}
}

static void
the_next_entry_pends(void **state)
{
	struct weir_socket *sk = with_queue(state);
	struct weir_sockerr e;

	assert_int_equal(put(sk, ECONNREFUSED, WEIR_ERR_ICMP, 0), 0);
	assert_int_equal(put(sk, EHOSTUNREACH, WEIR_ERR_ICMP, 0), 0);
	assert_int_equal(sk->error, EHOSTUNREACH); /* the latest */
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(e.err, ECONNREFUSED);
	assert_int_equal(sk->error, EHOSTUNREACH);
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(sk->error, 0);
	/* The own host's errors have been returned by the call that met them. */
	assert_int_equal(put(sk, EMSGSIZE, WEIR_ERR_LOCAL, 1400), 0);
	assert_int_equal(sk->error, 0);
	assert_int_equal(put(sk, ECONNREFUSED, WEIR_ERR_ICMP, 0), 0);
	assert_int_equal(put(sk, EMSGSIZE, WEIR_ERR_LOCAL, 1400), 0);
	assert_int_equal(weir_socket_error(sk), -ECONNREFUSED); /* taken otherwise */
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(sk->error, ECONNREFUSED); /* the next one in the queue */
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(sk->error, 0);
	assert_int_equal(weir_socket_errqueue(sk, &e), 0);
	assert_int_equal(e.info, 1400);
}

static void
a_socket_without_a_queue_refuses(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_socket *sk;
	struct weir_sockerr e;

	ut_stack_up(s, &cfg);
	sk = ut_stack_socket(s, UT_OUR_PORT);
	assert_int_equal(put(sk, EPROTO, WEIR_ERR_ICMP, 0), -ENOENT);
	assert_int_equal(sk->error, 0);
	assert_int_equal(weir_socket_errqueue(sk, &e), -EAGAIN);
	assert_false(weir_errq_pending(sk));
	assert_int_equal(weir_errq_lost(sk), 0);
	weir_errq_purge(sk);
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	ut_sock_set(sk, WEIR_OPT_RECVERR, 1);
	assert_int_equal(put(sk, EPROTO, WEIR_ERR_ICMP, 0), 0);
	ut_sock_set(sk, WEIR_OPT_RECVERR, 0); /* forgets */
	assert_int_equal(weir_socket_errqueue(sk, &e), -EAGAIN);
}

/* Bug 15: what is left in the queue keeps nothing alive. The sanitizer's leak check is the judge. */
static void
closing_with_entries_frees_all(void **state)
{
	struct ut_stack *s = *state;
	struct weir_socket *sk = with_queue(state);

	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(put(sk, EPROTO, WEIR_ERR_ICMP, i), 0);
	ut_stack_close(s, sk);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(entries_come_in_order_and_the_oldest_stay),
		UT_STACK_TEST(the_next_entry_pends),
		UT_STACK_TEST(a_socket_without_a_queue_refuses),
		UT_STACK_TEST(closing_with_entries_frees_all),
	};

	return UT_RUN(cases, NULL, NULL);
}
