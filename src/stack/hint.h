/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: drops that a wrong set-up elsewhere explains are said in words, at most every ten seconds.
 * From house-keeping, by the worker that has the tick.
 */
#ifndef WEIR_HINT_H
#define WEIR_HINT_H

#include "lcore.h"

void weir_hint(struct weir_stack *stack, uint64_t now_ns);

#endif /* WEIR_HINT_H */
