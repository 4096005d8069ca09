/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest memory that a vfio-user client shares with us: a map from bus addresses to pieces of
 * files that comes and goes at any time, page by page when the guest has an IOMMU. Every access
 * is checked against the map and its permissions; a bus address is never used as a pointer.
 *
 * Each distinct file is mapped once, whole, for as long as a range refers to it, so that a map or
 * unmap message costs no system call. A file that its owner can still make shorter (no shrink
 * seal) would raise SIGBUS in us: such a file is reached through the kernel's checked copy
 * instead, slower but safe.
 *
 * Called from the one thread that serves the client. No state outside struct vfu_dma.
 */
#ifndef LIQM_VFU_DMA_H
#define LIQM_VFU_DMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VFU_DMA_MAX_RANGES 65536u
#define VFU_DMA_MAX_FILES  64u

enum vfu_dma_prot {
	VFU_DMA_PROT_READ = 1,
	VFU_DMA_PROT_WRITE = 2,
};

struct vfu_dma_file {
	uint64_t dev, ino;
	uint8_t *base; /* NULL: slot free */
	size_t size_bytes;
	uint32_t n_ranges;
	bool writable;
	bool sealed; /* cannot shrink: plain loads and stores are safe */
};

struct vfu_dma_range {
	uint64_t iova;
	uint64_t size_bytes;
	uint64_t offset;
	uint16_t file; /* VFU_DMA_MAX_FILES: announced without a file, not reachable */
	uint8_t prot;
};

struct vfu_dma {
	struct vfu_dma_range *ranges; /* by iova, no two overlap */
	uint32_t n_ranges, cap_ranges;
	uint32_t last_hit;
	struct vfu_dma_file files[VFU_DMA_MAX_FILES];

	uint64_t n_read_faults, n_write_faults;
};

void vfu_dma_init(struct vfu_dma *dma);

/** Forgets all ranges and unmaps all files; the map can be used again. */
void vfu_dma_reset(struct vfu_dma *dma);

/** Frees everything. */
void vfu_dma_fini(struct vfu_dma *dma);

/**
 * Adds a range. @fd is the file (it stays the caller's), or -1 for a range that is only announced.
 * Returns 0, -EINVAL (empty, wraps round, beyond the file's end, not a file), -EEXIST (overlaps),
 * -ENOSPC (too many ranges or files), -EACCES, or what mmap said.
 */
int vfu_dma_map(struct vfu_dma *dma, uint64_t iova, uint64_t size_bytes, int fd, uint64_t offset,
		unsigned int prot);

/**
 * Removes all ranges inside [iova, iova + size_bytes); there need not be any. Returns 0, or -EINVAL
 * when an edge would cut a range in two: then nothing is removed.
 */
int vfu_dma_unmap(struct vfu_dma *dma, uint64_t iova, uint64_t size_bytes);

/**
 * Copies from and to guest memory; an access may span any number of adjacent ranges. False when
 * any byte is unmapped or not permitted: counted; a write then has written nothing unless the file
 * itself failed under it. Naturally aligned accesses of 2, 4 and 8 bytes are one load or store.
 */
bool vfu_dma_read(struct vfu_dma *dma, uint64_t iova, void *dst, size_t len_bytes);
bool vfu_dma_write(struct vfu_dma *dma, uint64_t iova, const void *src, size_t len_bytes);

#endif
