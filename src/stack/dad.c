/* SPDX-License-Identifier: BSD-3-Clause */
/* Duplicate address detection: see ndp.h. */
#include "ndp.h"

int
weir_dad_init(struct weir_stack *stack)
{
	(void)stack;
	return 0;
}

void
weir_dad_fini(struct weir_stack *stack)
{
	(void)stack;
}

int
weir_dad_start(struct weir_stack *stack, const struct weir_port *port, const struct weir_addr *addr)
{
	(void)stack;
	(void)port;
	(void)addr;
	return 0;
}

void
weir_dad_stop(struct weir_stack *stack, const struct weir_port *port, const struct weir_addr *addr)
{
	(void)stack;
	(void)port;
	(void)addr;
}
