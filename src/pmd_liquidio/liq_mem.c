/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One memzone per ring, on the right node.  See liq_mem.h.
 */
#include "liq_mem.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <numa.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "liq_log.h"
#include "liq_regs.h"

/* With --no-huge EAL has one block of ordinary pages, of no node. */
static bool
needs_binding(int socket_id)
{
	return socket_id >= 0 && !rte_eal_has_hugepages() && numa_available() >= 0 &&
	       numa_num_configured_nodes() > 1 && socket_id <= numa_max_node();
}

int
liq_mem_take(struct liq_mem *mem, uint16_t port_id, const char *kind, unsigned int index,
	     size_t len_bytes, int socket_id)
{
	char name[RTE_MEMZONE_NAMESIZE];
	unsigned int align = LIQ_RING_ALIGN;
	bool bind = needs_binding(socket_id);

	if (bind) {
		/* Whole pages, so that nothing else is moved along. */
		align = (unsigned int)sysconf(_SC_PAGESIZE);
		len_bytes = RTE_ALIGN_CEIL(len_bytes, (size_t)align);
	}
	snprintf(name, sizeof(name), "liq_%u_%s%u", port_id, kind, index);
	mem->zone = rte_memzone_reserve_aligned(name, len_bytes, bind ? SOCKET_ID_ANY : socket_id,
						RTE_MEMZONE_IOVA_CONTIG, align);
	if (!mem->zone && socket_id != SOCKET_ID_ANY && !bind && rte_errno == ENOMEM)
		mem->zone = rte_memzone_reserve_aligned(name, len_bytes, SOCKET_ID_ANY,
							RTE_MEMZONE_IOVA_CONTIG, align);
	if (!mem->zone) {
		int err = rte_errno != 0 ? rte_errno : ENOMEM;

		LIQ_LOG(ERR, "%s: no %zu contiguous bytes: %s", name, len_bytes, rte_strerror(err));
		return -err;
	}
	if (bind)
		numa_tonode_memory(mem->zone->addr, len_bytes, socket_id);
	else if (socket_id >= 0 && mem->zone->socket_id != socket_id &&
		 mem->zone->socket_id != SOCKET_ID_ANY && rte_eal_has_hugepages())
		LIQ_LOG(WARNING, "%s: on node %d, node %d has no room", name, mem->zone->socket_id,
			socket_id);
	mem->addr = mem->zone->addr;
	mem->iova = mem->zone->iova;
	mem->len_bytes = len_bytes;
	memset(mem->addr, 0, len_bytes);
	return 0;
}

void
liq_mem_give(struct liq_mem *mem)
{
	if (mem->zone)
		rte_memzone_free(mem->zone);
	memset(mem, 0, sizeof(*mem));
}
