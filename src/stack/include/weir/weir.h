/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole public API of weir, a UDP stack in user space.
 *
 *   weir_stack_create -> weir_port_add, weir_addr_add, ... -> weir_stack_start
 *   each worker thread: weir_worker_attach, loop { weir_turn; weir_recv_burst; weir_send_burst }, detach
 *   weir_stack_stop -> weir_stack_destroy
 */
#ifndef WEIR_H
#define WEIR_H

#include <weir/addr.h>
#include <weir/api.h>
#include <weir/clock.h>
#include <weir/conf.h>
#include <weir/drop.h>
#include <weir/socket.h>
#include <weir/stack.h>
#include <weir/stats.h>

#endif /* WEIR_H */
