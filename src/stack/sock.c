/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: errors that reach a socket from the network. See sock.h.
 */
#include "sock.h"

#include "mesh.h"

void
weir_sock_report(struct weir_lcore *lc, struct weir_socket *sk, int err)
{
	uint16_t owner = atomic_load_explicit(&sk->rx_owner, memory_order_relaxed);
	uint64_t payload = ((uint64_t)sk->serial << 24 | sk->id) << 8 | (uint64_t)err;

	if (owner < lc->stack->n_workers && owner != lc->slot &&
	    weir_mesh_send(lc, owner, WEIR_MSG_SOCK_ERR, payload))
		return;
	/* Ours, or an attached thread's, or the ring is full: the word itself is safe to set. */
	atomic_store_explicit(&sk->error, err, memory_order_release);
}

void
weir_sock_error_message(struct weir_lcore *lc, uint64_t payload)
{
	uint32_t id = (uint32_t)(payload >> 8) & 0xffffff;
	struct weir_socket *sk;

	if (id >= lc->stack->conf.max_sockets)
		return;
	sk = atomic_load_explicit(&lc->stack->socks[id], memory_order_acquire);
	if (sk != NULL && sk->serial == (uint16_t)(payload >> 32))
		atomic_store_explicit(&sk->error, (int32_t)(payload & 0xff), memory_order_release);
}
