/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The raw driver's machine: a block of memory on the bus, and the services a model function needs.
 *
 * Addresses below RAW_IOVA or beyond the block are not mapped; pages can be denied one by one.
 */
#include "rawdrv.h"

#include <stdlib.h>
#include <string.h>

static bool
mapped(struct raw_host *host, uint64_t iova, size_t len, uint8_t how)
{
	uint64_t off = iova - RAW_IOVA;

	if (iova < RAW_IOVA || off > RAW_MEM || len > RAW_MEM - off)
		goto bad;
	for (uint64_t page = off / RAW_PAGE; len != 0 && page <= (off + len - 1) / RAW_PAGE;
	     page++) {
		if (host->denied[page] & how)
			goto bad;
	}
	return true;
bad:
	host->n_bad++;
	return false;
}

static bool
dma_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	struct raw_host *host = ctx;

	if (!mapped(host, iova, len, 1))
		return false;
	host->n_reads++;
	memcpy(dst, host->mem + (iova - RAW_IOVA), len);
	return true;
}

static bool
dma_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	struct raw_host *host = ctx;

	if (!mapped(host, iova, len, 2))
		return false;
	if (host->on_write)
		host->on_write(host->on_write_ctx, iova, src, len);
	host->n_writes++;
	memcpy(host->mem + (iova - RAW_IOVA), src, len);
	return true;
}

static void
msix_raise(void *ctx, unsigned int vector)
{
	struct raw_host *host = ctx;

	if (vector < 128)
		host->n_irq[vector]++;
}

int
raw_host_init(struct raw_host *host)
{
	memset(host, 0, sizeof(*host));
	host->mem = calloc(1, RAW_MEM);
	host->denied = calloc(1, RAW_MEM / RAW_PAGE);
	if (!host->mem || !host->denied) {
		raw_host_fini(host);
		return -1;
	}
	return 0;
}

void
raw_host_fini(struct raw_host *host)
{
	free(host->mem);
	free(host->denied);
	memset(host, 0, sizeof(*host));
}

void
raw_host_services(struct raw_host *host, struct liqm_fn_services *svc)
{
	*svc = (struct liqm_fn_services){
		.ctx = host,
		.dma_read = dma_read,
		.dma_write = dma_write,
		.msix_raise = msix_raise,
	};
}

/* Page by page, so that denying one area does not touch another.  0: no room. */
uint64_t
raw_alloc(struct raw_host *host, uint32_t bytes)
{
	uint64_t iova = RAW_IOVA + host->used;

	bytes = (bytes + RAW_PAGE - 1) & ~(RAW_PAGE - 1);
	if (bytes > RAW_MEM - host->used)
		return 0;
	host->used += bytes;
	return iova;
}

void *
raw_ptr(struct raw_host *host, uint64_t iova)
{
	return host->mem + (iova - RAW_IOVA);
}

void
raw_deny(struct raw_host *host, uint64_t iova, uint32_t bytes, uint8_t how)
{
	uint64_t first = (iova - RAW_IOVA) / RAW_PAGE;

	for (uint64_t page = first; page <= first + (bytes - 1) / RAW_PAGE; page++)
		host->denied[page] = how;
}

uint64_t
raw_be64(const void *p)
{
	const uint8_t *b = p;
	uint64_t v = 0;

	for (int i = 0; i < 8; i++)
		v = v << 8 | b[i];
	return v;
}

void
raw_put_be64(void *p, uint64_t v)
{
	uint8_t *b = p;

	for (int i = 0; i < 8; i++)
		b[i] = (uint8_t)(v >> (56 - 8 * i));
}
