/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log types of the stack ("weir" in --log-level). Leaf; never included by a HOT file: what happens
 * per packet is visible through counters.
 */
#ifndef WEIR_LOG_H
#define WEIR_LOG_H

#include <rte_log.h>

extern int weir_logtype;

#define WEIR_LOG(level, fmt, ...)                                                                  \
	rte_log(RTE_LOG_##level, (uint32_t)weir_logtype, "weir: " fmt "\n", ##__VA_ARGS__)

#endif /* WEIR_LOG_H */
