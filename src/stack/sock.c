/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: errors that reach a socket from the network. See sock.h.
 */
#include "sock.h"

#include <errno.h>

#include "errq.h"
#include "event.h"

void
weir_sock_report(struct weir_socket *sk, const struct weir_sockerr *e, bool hard)
{
	/* Of a socket of both families each has its own option, as on Linux. */
	const bool v6 = e->origin == WEIR_ERR_ICMP6 ||
			(e->origin == WEIR_ERR_LOCAL && e->to.family == WEIR_IPV6);

	if ((v6 ? sk->recverr6 : sk->recverr) && weir_errq_put(sk, e) != -ENOENT)
		return;
	if (!hard || !weir_names_connected(weir_sock_names(sk)))
		return;
	atomic_store_explicit(&sk->error, e->err, memory_order_release);
	weir_event_wake_all(sk);
}
