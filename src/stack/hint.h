/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints: drops that a wrong set-up elsewhere explains are said in words, at most every ten seconds.
 * CONTROL, from house-keeping.
 */
#ifndef WEIR_HINT_H
#define WEIR_HINT_H

#include "lcore.h"

void weir_hint(struct weir_lcore *lc);

#endif /* WEIR_HINT_H */
