/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for sockets, in three ways that can be mixed on one socket:
 *
 *   sleepers   threads in weir_event_wait(), on a futex. A burst of n datagrams wakes min(n, sleepers)
 *              of them by one call; each datagram is meant for one sleeper.
 *   watches    callbacks, for poll and epoll of the BSD layer. Every arrival after a re-arm is told.
 *   eventfd    for event loops of others. Level: written once, stays readable until a receive call
 *              finds nothing. Can be muted.
 *
 * Producers look at one flag of the receive queue, `armed`, under the lock that they hold anyway; when it
 * is set they call weir_event_wake() after they have given the lock back. It is set while somebody
 * waits, and set *before* the waiting side looks at the queues for the last time, under the queue's
 * lock: so either that look finds the datagram or its producer finds the flag. Nobody waiting costs
 * nothing. Not HOT: called per burst at most, and only while somebody waits. Layer 1.
 */
#ifndef WEIR_EVENT_H
#define WEIR_EVENT_H

#include <sys/epoll.h>

#include "sock.h"

/* What weir_event_mask() and weir_event_wait() speak of: bits of poll and epoll, which are the same. */
#define WEIR_EV_IN  (EPOLLIN | EPOLLRDNORM)
#define WEIR_EV_OUT (EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

/* How long a thread that is no worker spins before it sleeps, unless it is told otherwise. */
#define WEIR_EV_SPIN_NS (20 * WEIR_NS_PER_US)

/*
 * One who is told of arrivals, errors, shutdown and close. fn runs under the socket's waiting lock, on
 * the thread that caused the event, often a worker in its turn: short, no call back into event.c. Of
 * several exclusive watches one is told, if its fn returns true: a thread was woken for it. Memory: the
 * watcher's, until weir_event_unwatch() has returned.
 */
struct weir_watch {
	bool (*fn)(struct weir_watch *w); /* true: exclusive, and a thread comes */
	struct weir_watch *next, **prev;
	bool exclusive;
};

void weir_event_init(struct weir_socket *sk);

/* Nobody waits any more: close the eventfd. After the grace period of close. */
void weir_event_fini(struct weir_socket *sk);

/* Producer, after the queue's unlock: n datagrams were appended to a queue that was armed. */
void weir_event_wake(struct weir_socket *sk, unsigned int n);

/* Something else than a datagram: an error, shutdown. Wakes everybody. Any thread. */
void weir_event_wake_all(struct weir_socket *sk);

/* The socket is about to be closed: waits end, and new ones fail, with -EBADF. Any thread. */
void weir_event_close(struct weir_socket *sk);

/* Which events hold now. Writable is a socket unless the last send found its port's queue full. Any thread. */
uint32_t weir_event_mask(const struct weir_socket *sk);

/*
 * Wait until one of events holds (0), or timeout_ns of the weir clock have passed (-ETIMEDOUT; 0 looks
 * once, UINT64_MAX waits for ever), a signal came (-EINTR) or the socket is being closed (-EBADF).
 * EPOLLERR here is a pending error; an entry in the error queue is none.
 * arrivals not NULL: a datagram counts only when it came after *arrivals was read from
 * weir_recvq_arrivals(). A worker takes turns meanwhile; another thread spins for spin_ns, then sleeps.
 */
int weir_event_wait(struct weir_lcore *lc, struct weir_socket *sk, uint32_t events,
		    const uint64_t *arrivals, uint64_t spin_ns, uint64_t timeout_ns);

/* Threads that sleep in weir_event_wait() just now, or are about to. Any thread. */
unsigned int weir_event_sleepers(struct weir_socket *sk);

/* Add and remove a watch; added disarmed. Any thread. */
void weir_event_watch(struct weir_socket *sk, struct weir_watch *w);
void weir_event_unwatch(struct weir_socket *sk, struct weir_watch *w);

/* From now on the next arrival is told to the watches. Returns the mask as it is after that. */
uint32_t weir_event_rearm(struct weir_socket *sk);

/*
 * Let efd be the socket's eventfd unless it has one: returns the one that it has. Its count is 0, or, to be
 * muted, 1. Any thread.
 */
int weir_event_adopt(struct weir_socket *sk, int efd, bool mute);

/*
 * Muted: nobody looks at the eventfd, so the system calls are spared. It stays readable all the time, so
 * that somebody who looks all the same is kept busy, not waiting. Not muted again: by weir_socket_eventfd()
 * as well. Any thread.
 */
void weir_event_mute(struct weir_socket *sk, bool mute);
bool weir_event_muted(const struct weir_socket *sk);

/* See weir_event_nothing(). */
void weir_event_quiet(struct weir_socket *sk);

/* A receive call has found nothing: the eventfd may be quiet until there is something. */
static inline void
weir_event_nothing(struct weir_socket *sk)
{
	if (unlikely(atomic_load_explicit(&sk->wait.signalled, memory_order_relaxed)))
		weir_event_quiet(sk);
}

#endif /* WEIR_EVENT_H */
