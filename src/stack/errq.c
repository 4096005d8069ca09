/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See errq.h. A ring of entries, allocated with the first WEIR_OPT_RECVERR, so that a message from the
 * network needs no memory. It holds values only, no references: closing has nothing to wait for.
 */
#include "errq.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_pause.h>

#include "event.h"

struct weir_errq {
	atomic_uint lock;
	_Atomic uint32_t n; /* entries; written under the lock */
	uint32_t head;      /* the oldest */
	_Atomic uint64_t lost;
	struct weir_sockerr e[WEIR_ERRQ_MAX];
};

static struct weir_errq *
errq_of(const struct weir_socket *sk)
{
	return atomic_load_explicit((struct weir_errq * _Atomic *)(uintptr_t)&sk->errq,
				    memory_order_acquire);
}

static void
errq_lock(struct weir_errq *q)
{
	while (atomic_exchange_explicit(&q->lock, 1, memory_order_acquire) != 0)
		rte_pause();
}

static void
errq_unlock(struct weir_errq *q)
{
	atomic_store_explicit(&q->lock, 0, memory_order_release);
}

static uint32_t
entries(const struct weir_errq *q)
{
	return atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&q->n, memory_order_relaxed);
}

int
weir_errq_init(struct weir_socket *sk)
{
	struct weir_errq *q;

	if (errq_of(sk) != NULL)
		return 0;
	q = calloc(1, sizeof(*q));
	if (q == NULL)
		return -ENOMEM;
	/* Release: pairs with errq_of(). */
	atomic_store_explicit(&sk->errq, q, memory_order_release);
	return 0;
}

int
weir_errq_put(struct weir_socket *sk, const struct weir_sockerr *e)
{
	struct weir_errq *q = errq_of(sk);
	uint32_t n;

	if (q == NULL)
		return -ENOENT;
	errq_lock(q);
	n = entries(q);
	if (n < WEIR_ERRQ_MAX) {
		q->e[(q->head + n) % WEIR_ERRQ_MAX] = *e;
		atomic_store_explicit(&q->n, n + 1, memory_order_release);
	} else {
		atomic_fetch_add_explicit(&q->lost, 1, memory_order_relaxed);
	}
	/* Under the lock, so that a reader of the queue does not clear the error of a later entry. */
	if (e->origin != WEIR_ERR_LOCAL)
		atomic_store_explicit(&sk->error, e->err, memory_order_release);
	errq_unlock(q);
	weir_event_wake_all(sk);
	return n < WEIR_ERRQ_MAX ? 0 : -ENOBUFS;
}

int
weir_socket_errqueue(struct weir_socket *sk, struct weir_sockerr *out)
{
	struct weir_errq *q = errq_of(sk);
	uint32_t n;

	if (q == NULL || atomic_load_explicit(&q->n, memory_order_acquire) == 0)
		return -EAGAIN;
	errq_lock(q);
	n = entries(q);
	if (n == 0) {
		errq_unlock(q);
		return -EAGAIN;
	}
	*out = q->e[q->head];
	q->head = (q->head + 1) % WEIR_ERRQ_MAX;
	n--;
	atomic_store_explicit(&q->n, n, memory_order_release);
	/* What was read no longer pends; what the network said next does. */
	if (n > 0 && q->e[q->head].origin != WEIR_ERR_LOCAL)
		atomic_store_explicit(&sk->error, q->e[q->head].err, memory_order_release);
	else if (out->origin != WEIR_ERR_LOCAL)
		atomic_store_explicit(&sk->error, 0, memory_order_release);
	errq_unlock(q);
	return 0;
}

bool
weir_errq_pending(const struct weir_socket *sk)
{
	const struct weir_errq *q = errq_of(sk);

	return q != NULL && atomic_load_explicit((_Atomic uint32_t *)(uintptr_t)&q->n,
						 memory_order_acquire) != 0;
}

uint64_t
weir_errq_lost(const struct weir_socket *sk)
{
	const struct weir_errq *q = errq_of(sk);

	return q == NULL ? 0
			 : atomic_load_explicit((_Atomic uint64_t *)(uintptr_t)&q->lost,
						memory_order_relaxed);
}

void
weir_errq_purge(struct weir_socket *sk)
{
	struct weir_errq *q = errq_of(sk);

	if (q == NULL)
		return;
	errq_lock(q);
	atomic_store_explicit(&q->n, 0, memory_order_release);
	errq_unlock(q);
}

void
weir_errq_fini(struct weir_socket *sk)
{
	free(errq_of(sk));
}
