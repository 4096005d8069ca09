/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one table behind stamp.h. Written once by stamp_init(), constant afterwards.
 */
#include "stamp.h"

uint8_t stamp_table[256 + 65536];

void
stamp_init(void)
{
	for (size_t i = 0; i < sizeof(stamp_table); i++)
		stamp_table[i] = (uint8_t)i;
}
