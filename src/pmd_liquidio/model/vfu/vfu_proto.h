/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vfio-user on the wire, as QEMU 10.1 and later speak it: the messages that a server of one PCI
 * device meets, as fixed-width structs in little-endian host order (the protocol is for two
 * processes of one machine). Used by the adapter and by its tests; no code in here.
 *
 * Not here: DMA_READ/DMA_WRITE (server to client; guest memory comes as file descriptors), dirty
 * page tracking and migration, REGION_WRITE_MULTI (never announced, so never sent).
 */
#ifndef LIQM_VFU_PROTO_H
#define LIQM_VFU_PROTO_H

#include <assert.h>
#include <stdint.h>

enum vfu_command {
	VFU_VERSION = 1,
	VFU_DMA_MAP = 2,
	VFU_DMA_UNMAP = 3,
	VFU_DEVICE_GET_INFO = 4,
	VFU_DEVICE_GET_REGION_INFO = 5,
	VFU_DEVICE_GET_REGION_IO_FDS = 6,
	VFU_DEVICE_GET_IRQ_INFO = 7,
	VFU_DEVICE_SET_IRQS = 8,
	VFU_REGION_READ = 9,
	VFU_REGION_WRITE = 10,
	VFU_DMA_READ = 11,
	VFU_DMA_WRITE = 12,
	VFU_DEVICE_RESET = 13,
};

#define VFU_F_TYPE_MASK 0x0fu
#define VFU_F_COMMAND   0x00u
#define VFU_F_REPLY     0x01u
#define VFU_F_NO_REPLY  0x10u
#define VFU_F_ERROR     0x20u

struct vfu_header {
	uint16_t id;
	uint16_t command;
	uint32_t size_bytes; /* with this header */
	uint32_t flags;
	uint32_t error; /* errno, in replies with VFU_F_ERROR */
};

struct vfu_version {
	uint16_t major;
	uint16_t minor;
	/* then a NUL-terminated JSON text, or nothing */
};

#define VFU_DMA_READABLE  0x1u
#define VFU_DMA_WRITEABLE 0x2u

struct vfu_dma_map {
	uint32_t argsz;
	uint32_t flags;
	uint64_t offset; /* in the file that comes with the message */
	uint64_t iova;
	uint64_t size_bytes;
};

#define VFU_UNMAP_DIRTY_BITMAP 0x1u
#define VFU_UNMAP_ALL          0x2u

struct vfu_dma_unmap {
	uint32_t argsz;
	uint32_t flags;
	uint64_t iova;
	uint64_t size_bytes;
};

#define VFU_DEVICE_F_RESET 0x1u
#define VFU_DEVICE_F_PCI   0x2u

struct vfu_device_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t n_regions;
	uint32_t n_irqs;
};

enum vfu_region {
	VFU_REGION_BAR0 = 0,
	VFU_REGION_BAR5 = 5,
	VFU_REGION_ROM = 6,
	VFU_REGION_CONFIG = 7,
	VFU_REGION_VGA = 8,
	VFU_N_REGIONS = 9,
};

#define VFU_REGION_F_READ  0x1u
#define VFU_REGION_F_WRITE 0x2u

struct vfu_region_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t cap_offset;
	uint64_t size_bytes;
	uint64_t offset;
};

enum vfu_irq {
	VFU_IRQ_INTX = 0,
	VFU_IRQ_MSI = 1,
	VFU_IRQ_MSIX = 2,
	VFU_IRQ_ERR = 3,
	VFU_IRQ_REQ = 4,
	VFU_N_IRQS = 5,
};

#define VFU_IRQ_F_EVENTFD  0x1u
#define VFU_IRQ_F_NORESIZE 0x8u

struct vfu_irq_info {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t count;
};

#define VFU_IRQ_DATA_NONE      0x01u
#define VFU_IRQ_DATA_BOOL      0x02u
#define VFU_IRQ_DATA_EVENTFD   0x04u
#define VFU_IRQ_DATA_MASK      0x07u
#define VFU_IRQ_ACTION_MASK    0x08u
#define VFU_IRQ_ACTION_UNMASK  0x10u
#define VFU_IRQ_ACTION_TRIGGER 0x20u
#define VFU_IRQ_ACTIONS        0x38u

struct vfu_irq_set {
	uint32_t argsz;
	uint32_t flags;
	uint32_t index;
	uint32_t start;
	uint32_t count;
	/* then count bytes of 0 or 1 with VFU_IRQ_DATA_BOOL */
};

struct vfu_region_access {
	uint64_t offset;
	uint32_t region;
	uint32_t count_bytes;
	/* then the data: in writes, and in the replies to reads */
};

static_assert(sizeof(struct vfu_header) == 16, "vfio-user header");
static_assert(sizeof(struct vfu_version) == 4, "vfio-user version");
static_assert(sizeof(struct vfu_dma_map) == 32, "vfio-user DMA map");
static_assert(sizeof(struct vfu_dma_unmap) == 24, "vfio-user DMA unmap");
static_assert(sizeof(struct vfu_device_info) == 16, "vfio-user device info");
static_assert(sizeof(struct vfu_region_info) == 32, "vfio-user region info");
static_assert(sizeof(struct vfu_irq_info) == 16, "vfio-user interrupt info");
static_assert(sizeof(struct vfu_irq_set) == 20, "vfio-user interrupt set");
static_assert(sizeof(struct vfu_region_access) == 16, "vfio-user region access");

#endif
