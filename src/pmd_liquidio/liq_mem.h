/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that the card reads and writes: one memzone per ring, holding everything of that ring.
 *
 * IOVA-contiguous, zeroed, local to the NUMA node asked for.  With huge pages EAL places it; with
 * --no-huge EAL does not know nodes, and libnuma binds the pages before they are first touched.
 * Control threads of the primary process.
 */
#ifndef LIQ_MEM_H
#define LIQ_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <rte_memzone.h>

struct liq_mem {
	const struct rte_memzone *zone; /* NULL: none */
	uint8_t *addr;
	uint64_t iova;
	size_t len_bytes;
};

/* kind and index make the name.  0; -ENOMEM, -EEXIST with a log line. */
int liq_mem_take(struct liq_mem *mem, uint16_t port_id, const char *kind, unsigned int index,
		 size_t len_bytes, int socket_id);

/* The card must be unable to reach it.  Nothing taken is fine. */
void liq_mem_give(struct liq_mem *mem);

#endif /* LIQ_MEM_H */
