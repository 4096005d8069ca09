/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What control does to the groups of all sockets. CONTROL; lock held.
 */
#ifndef WEIR_SOCKGROUP_H
#define WEIR_SOCKGROUP_H

#include "sock.h"

/* The port (index) is about to go: no socket is a member of anything there any more. */
void weir_sock_port_gone(struct weir_stack *stack, unsigned int port);

#endif /* WEIR_SOCKGROUP_H */
