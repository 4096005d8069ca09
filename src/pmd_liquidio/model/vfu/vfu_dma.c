/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Guest memory of a vfio-user client: see vfu_dma.h for the contract. Ranges are kept in an array
 * sorted by bus address: lookups are a binary search behind a one-entry memory of the last hit,
 * and the array is small enough that inserting moves little even with an IOMMU's thousands of
 * single pages. Walks check the whole access first and copy after, so a refused write leaves no
 * half-written packet behind.
 */
#include "vfu_dma.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define NO_FILE VFU_DMA_MAX_FILES

void
vfu_dma_init(struct vfu_dma *dma)
{
	memset(dma, 0, sizeof(*dma));
}

static void
file_unmap(struct vfu_dma_file *file)
{
	munmap(file->base, file->size_bytes);
	memset(file, 0, sizeof(*file));
}

void
vfu_dma_reset(struct vfu_dma *dma)
{
	for (uint32_t i = 0; i < VFU_DMA_MAX_FILES; i++)
		if (dma->files[i].base)
			file_unmap(&dma->files[i]);
	dma->n_ranges = 0;
	dma->last_hit = 0;
}

void
vfu_dma_fini(struct vfu_dma *dma)
{
	vfu_dma_reset(dma);
	free(dma->ranges);
	dma->ranges = NULL;
	dma->cap_ranges = 0;
}

/* Index of the first range that ends after @iova; n_ranges when there is none. */
static uint32_t
range_from(const struct vfu_dma *dma, uint64_t iova)
{
	uint32_t lo = 0, hi = dma->n_ranges;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct vfu_dma_range *r = &dma->ranges[mid];

		if (r->iova + (r->size_bytes - 1) < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
range_has(const struct vfu_dma_range *r, uint64_t iova)
{
	return iova >= r->iova && iova - r->iova < r->size_bytes;
}

/* Finds or maps the file behind @fd. A mapping that is too short or lacks write permission for
 * this range is not replaced while other ranges use it: a second one is made. */
static int
file_get(struct vfu_dma *dma, int fd, uint64_t end, bool write, uint16_t *index)
{
	uint32_t slot = NO_FILE;
	struct vfu_dma_file *file;
	struct statfs fs;
	struct stat st;
	int seals, mode;
	void *base;

	if (fstat(fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size <= 0 || end > (uint64_t)st.st_size)
		return -EINVAL;
	mode = fcntl(fd, F_GETFL);
	if (mode < 0)
		return -errno;
	mode &= O_ACCMODE;
	if (mode == O_WRONLY || (write && mode != O_RDWR))
		return -EACCES;

	for (uint32_t i = 0; i < VFU_DMA_MAX_FILES; i++) {
		file = &dma->files[i];
		if (!file->base) {
			if (slot == NO_FILE)
				slot = i;
			continue;
		}
		if (file->dev == (uint64_t)st.st_dev && file->ino == (uint64_t)st.st_ino &&
		    end <= file->size_bytes && (file->writable || !write)) {
			*index = (uint16_t)i;
			return 0;
		}
	}
	if (slot == NO_FILE)
		return -ENOSPC;

	base = mmap(NULL, (size_t)st.st_size, PROT_READ | (mode == O_RDWR ? PROT_WRITE : 0),
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	/* A huge page that cannot be had is a SIGBUS too. */
	seals = fstatfs(fd, &fs) == 0 && fs.f_type != HUGETLBFS_MAGIC ? fcntl(fd, F_GET_SEALS) : 0;
	dma->files[slot] = (struct vfu_dma_file){
		.dev = (uint64_t)st.st_dev,
		.ino = (uint64_t)st.st_ino,
		.base = base,
		.size_bytes = (size_t)st.st_size,
		.writable = mode == O_RDWR,
		.sealed = seals >= 0 && (seals & F_SEAL_SHRINK),
	};
	*index = (uint16_t)slot;
	return 0;
}

static int
ranges_grow(struct vfu_dma *dma)
{
	uint32_t cap = dma->cap_ranges ? dma->cap_ranges * 2 : 64;
	struct vfu_dma_range *ranges;

	if (dma->n_ranges < dma->cap_ranges)
		return 0;
	if (dma->n_ranges >= VFU_DMA_MAX_RANGES)
		return -ENOSPC;
	ranges = realloc(dma->ranges, cap * sizeof(*ranges));
	if (!ranges)
		return -ENOMEM;
	dma->ranges = ranges;
	dma->cap_ranges = cap;
	return 0;
}

int
vfu_dma_map(struct vfu_dma *dma, uint64_t iova, uint64_t size_bytes, int fd, uint64_t offset,
	    unsigned int prot)
{
	uint16_t file = NO_FILE;
	uint32_t at;
	int rc;

	if (size_bytes == 0 || iova + (size_bytes - 1) < iova)
		return -EINVAL;
	at = range_from(dma, iova);
	if (at < dma->n_ranges && dma->ranges[at].iova <= iova + (size_bytes - 1))
		return -EEXIST;
	rc = ranges_grow(dma);
	if (rc != 0)
		return rc;
	if (fd >= 0) {
		if (offset + size_bytes < offset)
			return -EINVAL;
		rc = file_get(dma, fd, offset + size_bytes, prot & VFU_DMA_PROT_WRITE, &file);
		if (rc != 0)
			return rc;
		dma->files[file].n_ranges++;
	}

	memmove(&dma->ranges[at + 1], &dma->ranges[at],
		(dma->n_ranges - at) * sizeof(*dma->ranges));
	dma->ranges[at] = (struct vfu_dma_range){
		.iova = iova,
		.size_bytes = size_bytes,
		.offset = offset,
		.file = file,
		.prot = (uint8_t)prot,
	};
	dma->n_ranges++;
	return 0;
}

int
vfu_dma_unmap(struct vfu_dma *dma, uint64_t iova, uint64_t size_bytes)
{
	uint64_t last = iova + (size_bytes - 1);
	uint32_t from, to;

	if (size_bytes == 0 || last < iova)
		return -EINVAL;
	from = range_from(dma, iova);
	for (to = from; to < dma->n_ranges && dma->ranges[to].iova <= last; to++) {
		const struct vfu_dma_range *r = &dma->ranges[to];

		if (r->iova < iova || r->iova + (r->size_bytes - 1) > last)
			return -EINVAL;
	}
	if (from == to)
		return 0;
	for (uint32_t i = from; i < to; i++) {
		struct vfu_dma_file *file;

		if (dma->ranges[i].file == NO_FILE)
			continue;
		file = &dma->files[dma->ranges[i].file];
		if (--file->n_ranges == 0)
			file_unmap(file);
	}
	memmove(&dma->ranges[from], &dma->ranges[to], (dma->n_ranges - to) * sizeof(*dma->ranges));
	dma->n_ranges -= to - from;
	dma->last_hit = 0;
	return 0;
}

/* Copies through the kernel, which answers EFAULT where a plain load would raise SIGBUS. */
static bool
copy_checked(void *local, uint8_t *shared, size_t len, bool write)
{
	struct iovec lv = {local, len}, rv = {shared, len};
	ssize_t n = write ? process_vm_writev(getpid(), &lv, 1, &rv, 1, 0)
			  : process_vm_readv(getpid(), &lv, 1, &rv, 1, 0);

	return n == (ssize_t)len;
}

static bool
aligned(const void *p, size_t len)
{
	return (uintptr_t)p % len == 0;
}

/* One load or store for the naturally aligned words that both sides use as flags and counts. */
static void
copy_plain(void *local, uint8_t *shared, size_t len, bool write)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	if (len == 8 && aligned(shared, 8)) {
		uint64_t *p = (uint64_t *)(void *)shared;

		if (write) {
			memcpy(&v64, local, 8);
			__atomic_store_n(p, v64, __ATOMIC_RELEASE);
		} else {
			v64 = __atomic_load_n(p, __ATOMIC_ACQUIRE);
			memcpy(local, &v64, 8);
		}
	} else if (len == 4 && aligned(shared, 4)) {
		uint32_t *p = (uint32_t *)(void *)shared;

		if (write) {
			memcpy(&v32, local, 4);
			__atomic_store_n(p, v32, __ATOMIC_RELEASE);
		} else {
			v32 = __atomic_load_n(p, __ATOMIC_ACQUIRE);
			memcpy(local, &v32, 4);
		}
	} else if (len == 2 && aligned(shared, 2)) {
		uint16_t *p = (uint16_t *)(void *)shared;

		if (write) {
			memcpy(&v16, local, 2);
			__atomic_store_n(p, v16, __ATOMIC_RELEASE);
		} else {
			v16 = __atomic_load_n(p, __ATOMIC_ACQUIRE);
			memcpy(local, &v16, 2);
		}
	} else if (write) {
		memcpy(shared, local, len);
	} else {
		memcpy(local, shared, len);
	}
}

/* Index of the range that holds @iova, or n_ranges. */
static uint32_t
range_find(struct vfu_dma *dma, uint64_t iova)
{
	uint32_t i = dma->last_hit;

	if (i < dma->n_ranges && range_has(&dma->ranges[i], iova))
		return i;
	i = range_from(dma, iova);
	if (i < dma->n_ranges && range_has(&dma->ranges[i], iova)) {
		dma->last_hit = i;
		return i;
	}
	return dma->n_ranges;
}

/* Is every byte there, with the permission? */
static bool
check(const struct vfu_dma *dma, uint32_t i, uint64_t iova, size_t len, unsigned int prot)
{
	if (len != 0 && iova + (len - 1) < iova)
		return false;
	while (len > 0) {
		const struct vfu_dma_range *r;
		uint64_t rest;

		if (i >= dma->n_ranges)
			return false;
		r = &dma->ranges[i];
		if (!range_has(r, iova) || r->file == NO_FILE || !(r->prot & prot))
			return false;
		rest = r->size_bytes - (iova - r->iova);
		if (rest >= len)
			return true;
		iova += rest;
		len -= rest;
		i++;
	}
	return true;
}

static bool
walk(struct vfu_dma *dma, uint64_t iova, uint8_t *local, size_t len, bool write)
{
	uint32_t i = range_find(dma, iova);

	if (!check(dma, i, iova, len, write ? VFU_DMA_PROT_WRITE : VFU_DMA_PROT_READ))
		return false;
	for (; len > 0; i++) {
		const struct vfu_dma_range *r = &dma->ranges[i];
		struct vfu_dma_file *file = &dma->files[r->file];
		uint64_t at = iova - r->iova;
		size_t n = len < r->size_bytes - at ? len : (size_t)(r->size_bytes - at);
		uint8_t *shared = file->base + r->offset + at;

		if (file->sealed)
			copy_plain(local, shared, n, write);
		else if (!copy_checked(local, shared, n, write))
			return false;
		iova += n;
		local += n;
		len -= n;
	}
	return true;
}

bool
vfu_dma_read(struct vfu_dma *dma, uint64_t iova, void *dst, size_t len_bytes)
{
	if (walk(dma, iova, dst, len_bytes, false))
		return true;
	dma->n_read_faults++;
	return false;
}

bool
vfu_dma_write(struct vfu_dma *dma, uint64_t iova, const void *src, size_t len_bytes)
{
	/* The walk does not write through this pointer when it writes guest memory. */
	if (walk(dma, iova, (uint8_t *)(uintptr_t)src, len_bytes, true))
		return true;
	dma->n_write_faults++;
	return false;
}
