/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's log: type "pmd.net.liq".  Not for the data path.
 */
#ifndef LIQ_LOG_H
#define LIQ_LOG_H

#include <rte_log.h>

extern int liq_logtype;

#define LIQ_LOG(level, fmt, ...)                                                                   \
	rte_log(RTE_LOG_##level, (uint32_t)liq_logtype, "net_liq: " fmt "\n", ##__VA_ARGS__)

#endif /* LIQ_LOG_H */
