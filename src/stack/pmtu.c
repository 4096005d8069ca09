/* SPDX-License-Identifier: BSD-3-Clause */
/* See pmtu.h. */
#include "pmtu.h"

int
weir_pmtu_init(struct weir_stack *stack)
{
	(void)stack;
	return 0;
}

void
weir_pmtu_fini(struct weir_stack *stack)
{
	(void)stack;
}

uint16_t
weir_pmtu_get(const struct weir_stack *stack, const union weir_ip *dst, uint8_t family,
	      uint64_t now_ns, bool *lock)
{
	(void)stack;
	(void)dst;
	(void)family;
	(void)now_ns;
	*lock = false;
	return 0;
}

bool
weir_pmtu_learn(struct weir_lcore *lc, const union weir_ip *dst, uint8_t family, uint32_t mtu,
		uint32_t sent_len)
{
	(void)lc;
	(void)dst;
	(void)family;
	(void)mtu;
	(void)sent_len;
	return false;
}

void
weir_pmtu_tick(struct weir_stack *stack, uint64_t now_ns)
{
	(void)stack;
	(void)now_ns;
}

void
weir_pmtu_flush(struct weir_stack *stack)
{
	(void)stack;
}
