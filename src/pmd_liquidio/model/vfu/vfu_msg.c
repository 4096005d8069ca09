/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The message side of the vfio-user server: what each command means for the device. Called by
 * vfu.c with one complete message; everything in it is checked before use, and nothing of it is
 * trusted to fit: argument sizes, indexes, ranges, counts, the kind of each descriptor.
 *
 * QEMU's habits that are served here: unmapping ranges that hold nothing is a success; ROM ranges
 * are announced without a file; MSI-X is switched on with a count and no eventfd, off with a
 * count of zero, and an eventfd may be replaced at any time; the error interrupt exists, or QEMU
 * complains; the version reply is no longer than its request.
 */
#include "vfu_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int
fd_take(struct vfu *vfu, unsigned int i)
{
	int fd = vfu->fds[i];

	vfu->fds[i] = -1;
	return fd;
}

static int
version(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	static const char caps[] =
		"{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":4096}}";
	struct vfu_version v;
	const char *text = (const char *)vfu->body + sizeof(v);

	static_assert(VFU_MAX_FDS == 16 && VFU_CONFIG_BYTES == 4096, "as the text says");
	if (body_bytes < sizeof(v))
		return -EINVAL;
	memcpy(&v, vfu->body, sizeof(v));
	if (body_bytes > sizeof(v) && vfu->body[body_bytes - 1] != '\0')
		return -EINVAL;
	if (v.major != 0)
		return -ENOTSUP;
	vfu_log(vfu, "client speaks version %u.%u %s", v.major, v.minor,
		body_bytes > sizeof(v) ? text : "");
	/* All we use has been there from minor version 0 on. */
	v.minor = 0;
	memcpy(reply, &v, sizeof(v));
	*reply_bytes = sizeof(v);
	if (body_bytes >= sizeof(v) + sizeof(caps)) {
		memcpy(reply + sizeof(v), caps, sizeof(caps));
		*reply_bytes += sizeof(caps);
	}
	vfu->negotiated = true;
	return 0;
}

static int
dma_map(struct vfu *vfu, size_t body_bytes)
{
	struct vfu_dma_map m;
	int fd = -1, rc;

	if (body_bytes < sizeof(m) || vfu->n_fds > 1)
		return -EINVAL;
	memcpy(&m, vfu->body, sizeof(m));
	if (m.argsz < sizeof(m) || (m.flags & ~(VFU_DMA_READABLE | VFU_DMA_WRITEABLE)))
		return -EINVAL;
	if (vfu->n_fds == 1)
		fd = fd_take(vfu, 0);
	rc = vfu_dma_map(&vfu->dma, m.iova, m.size_bytes, fd, m.offset,
			 (m.flags & VFU_DMA_READABLE ? VFU_DMA_PROT_READ : 0) |
				 (m.flags & VFU_DMA_WRITEABLE ? VFU_DMA_PROT_WRITE : 0));
	if (fd >= 0)
		close(fd);
	if (rc == 0)
		vfu->stats.n_dma_maps++;
	return rc;
}

static int
dma_unmap(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	struct vfu_dma_unmap m;
	int rc = 0;

	if (body_bytes < sizeof(m))
		return -EINVAL;
	memcpy(&m, vfu->body, sizeof(m));
	if (m.argsz < sizeof(m) || (m.flags & ~VFU_UNMAP_ALL))
		return -EINVAL;
	if (m.flags & VFU_UNMAP_ALL) {
		if (m.iova != 0 || m.size_bytes != 0)
			return -EINVAL;
		vfu_dma_reset(&vfu->dma);
	} else {
		rc = vfu_dma_unmap(&vfu->dma, m.iova, m.size_bytes);
	}
	if (rc != 0)
		return rc;
	vfu->stats.n_dma_unmaps++;
	m.argsz = sizeof(m);
	memcpy(reply, &m, sizeof(m));
	*reply_bytes = sizeof(m);
	return 0;
}

static int
device_info(uint8_t *reply, size_t *reply_bytes)
{
	struct vfu_device_info info = {
		.argsz = sizeof(info),
		.flags = VFU_DEVICE_F_RESET | VFU_DEVICE_F_PCI,
		.n_regions = VFU_N_REGIONS,
		.n_irqs = VFU_N_IRQS,
	};

	memcpy(reply, &info, sizeof(info));
	*reply_bytes = sizeof(info);
	return 0;
}

static uint64_t
region_bytes(const struct vfu *vfu, uint32_t region)
{
	if (region < VFU_N_BARS)
		return vfu->device.bar_bytes[region];
	return region == VFU_REGION_CONFIG ? VFU_CONFIG_BYTES : 0;
}

static int
region_info(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	struct vfu_region_info info;

	if (body_bytes < sizeof(info))
		return -EINVAL;
	memcpy(&info, vfu->body, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_N_REGIONS)
		return -EINVAL;
	info = (struct vfu_region_info){
		.argsz = sizeof(info),
		.index = info.index,
		.size_bytes = region_bytes(vfu, info.index),
	};
	if (info.size_bytes > 0)
		info.flags = VFU_REGION_F_READ | VFU_REGION_F_WRITE;
	memcpy(reply, &info, sizeof(info));
	*reply_bytes = sizeof(info);
	return 0;
}

static uint32_t
irq_count(const struct vfu *vfu, uint32_t index)
{
	if (index == VFU_IRQ_MSIX)
		return vfu->device.n_msix;
	return index == VFU_IRQ_ERR ? 1 : 0;
}

static int
irq_info(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	struct vfu_irq_info info;

	if (body_bytes < sizeof(info))
		return -EINVAL;
	memcpy(&info, vfu->body, sizeof(info));
	if (info.argsz < sizeof(info) || info.index >= VFU_N_IRQS)
		return -EINVAL;
	info = (struct vfu_irq_info){
		.argsz = sizeof(info),
		.index = info.index,
		.count = irq_count(vfu, info.index),
	};
	/* Not maskable: then masking and pending bits are the client's work. */
	if (info.count > 0)
		info.flags = VFU_IRQ_F_EVENTFD;
	if (info.index == VFU_IRQ_MSIX)
		info.flags |= VFU_IRQ_F_NORESIZE;
	memcpy(reply, &info, sizeof(info));
	*reply_bytes = sizeof(info);
	return 0;
}

/* Anything but an eventfd, or one that could block us, is refused. */
static bool
eventfd_ok(int fd)
{
	static const char want[] = "anon_inode:[eventfd]";
	char path[32], name[sizeof(want)];
	int flags = fcntl(fd, F_GETFL);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (readlink(path, name, sizeof(name)) != (ssize_t)(sizeof(want) - 1) ||
	    memcmp(name, want, sizeof(want) - 1) != 0)
		return false;
	return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void
irq_set(int *slot, int fd)
{
	if (*slot >= 0)
		close(*slot);
	*slot = fd;
}

void
vfu_irqs_drop(struct vfu *vfu)
{
	for (unsigned int i = 0; i < vfu->device.n_msix; i++)
		irq_set(&vfu->msix_fds[i], -1);
	irq_set(&vfu->err_fd, -1);
}

static int
set_irqs(struct vfu *vfu, size_t body_bytes)
{
	uint32_t data, action, total;
	struct vfu_irq_set s;
	int *slots;

	if (body_bytes < sizeof(s))
		return -EINVAL;
	memcpy(&s, vfu->body, sizeof(s));
	data = s.flags & VFU_IRQ_DATA_MASK;
	action = s.flags & VFU_IRQ_ACTIONS;
	if (s.argsz < sizeof(s) || (s.flags & ~(VFU_IRQ_DATA_MASK | VFU_IRQ_ACTIONS)) ||
	    s.index >= VFU_N_IRQS)
		return -EINVAL;
	total = irq_count(vfu, s.index);
	if (s.start > total || s.count > total - s.start)
		return -EINVAL;
	if (action != VFU_IRQ_ACTION_TRIGGER)
		return action == VFU_IRQ_ACTION_MASK || action == VFU_IRQ_ACTION_UNMASK ? -ENOTSUP
											: -EINVAL;
	slots = s.index == VFU_IRQ_MSIX ? vfu->msix_fds + s.start : &vfu->err_fd;

	switch (data) {
	case VFU_IRQ_DATA_EVENTFD:
		/* Fewer descriptors than the count: the rest is taken away. None: all of it. */
		if (vfu->n_fds > s.count)
			return -EINVAL;
		for (unsigned int i = 0; i < vfu->n_fds; i++)
			if (!eventfd_ok(vfu->fds[i]))
				return -EINVAL;
		for (uint32_t i = 0; i < s.count; i++)
			irq_set(&slots[i], i < vfu->n_fds ? fd_take(vfu, i) : -1);
		return 0;
	case VFU_IRQ_DATA_NONE:
		/* A count of zero switches the whole index off; else it is a test trigger,
		 * which QEMU uses only to have the vectors set up. */
		if (s.count == 0 && s.index == VFU_IRQ_MSIX)
			for (unsigned int i = 0; i < vfu->device.n_msix; i++)
				irq_set(&vfu->msix_fds[i], -1);
		else if (s.count == 0 && s.index == VFU_IRQ_ERR)
			irq_set(&vfu->err_fd, -1);
		else if (s.index == VFU_IRQ_MSIX)
			for (uint32_t i = 0; i < s.count; i++)
				vfu_msix_raise(vfu, s.start + i);
		return 0;
	case VFU_IRQ_DATA_BOOL:
		if (body_bytes - sizeof(s) < s.count)
			return -EINVAL;
		for (uint32_t i = 0; i < s.count && s.index == VFU_IRQ_MSIX; i++)
			if (vfu->body[sizeof(s) + i])
				vfu_msix_raise(vfu, s.start + i);
		return 0;
	default:
		return -EINVAL;
	}
}

static bool
bar_len_ok(uint64_t offset, uint32_t len)
{
	return (len == 1 || len == 2 || len == 4 || len == 8) && offset % len == 0;
}

static int
region_access(struct vfu *vfu, bool write, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	const struct vfu_device *dev = &vfu->device;
	struct vfu_region_access a;
	uint8_t *data = vfu->body + sizeof(a);
	uint64_t size, value = 0;

	if (body_bytes < sizeof(a))
		return -EINVAL;
	memcpy(&a, vfu->body, sizeof(a));
	size = a.region < VFU_N_REGIONS ? region_bytes(vfu, a.region) : 0;
	if (a.count_bytes == 0 || a.offset > size || a.count_bytes > size - a.offset)
		return -EINVAL;
	if (a.region != VFU_REGION_CONFIG && !bar_len_ok(a.offset, a.count_bytes))
		return -EINVAL;
	if (write && body_bytes - sizeof(a) < a.count_bytes)
		return -EINVAL;

	memcpy(reply, &a, sizeof(a));
	*reply_bytes = sizeof(a) + (write ? 0 : a.count_bytes);
	if (write) {
		vfu->stats.n_writes++;
		if (vfu->header.flags & VFU_F_NO_REPLY)
			vfu->stats.n_posted_writes++;
		if (a.region == VFU_REGION_CONFIG) {
			dev->config_write(dev->ctx, (uint32_t)a.offset, data, a.count_bytes);
		} else {
			memcpy(&value, data, a.count_bytes);
			dev->bar_write(dev->ctx, a.region, a.offset, value, a.count_bytes);
		}
		return 0;
	}
	vfu->stats.n_reads++;
	if (a.region == VFU_REGION_CONFIG) {
		dev->config_read(dev->ctx, (uint32_t)a.offset, reply + sizeof(a), a.count_bytes);
	} else {
		value = dev->bar_read(dev->ctx, a.region, a.offset, a.count_bytes);
		memcpy(reply + sizeof(a), &value, a.count_bytes);
	}
	return 0;
}

int
vfu_message(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes)
{
	static_assert(sizeof(struct vfu_header) + sizeof(struct vfu_region_access) +
				      VFU_CONFIG_BYTES <=
			      VFU_MAX_REPLY_BYTES,
		      "the longest reply fits");

	if (!vfu->negotiated && vfu->header.command != VFU_VERSION)
		return -EINVAL;
	switch (vfu->header.command) {
	case VFU_VERSION:
		return vfu->negotiated ? -EINVAL : version(vfu, body_bytes, reply, reply_bytes);
	case VFU_DMA_MAP:
		return dma_map(vfu, body_bytes);
	case VFU_DMA_UNMAP:
		return dma_unmap(vfu, body_bytes, reply, reply_bytes);
	case VFU_DEVICE_GET_INFO:
		return device_info(reply, reply_bytes);
	case VFU_DEVICE_GET_REGION_INFO:
		return region_info(vfu, body_bytes, reply, reply_bytes);
	case VFU_DEVICE_GET_IRQ_INFO:
		return irq_info(vfu, body_bytes, reply, reply_bytes);
	case VFU_DEVICE_SET_IRQS:
		return set_irqs(vfu, body_bytes);
	case VFU_REGION_READ:
		return region_access(vfu, false, body_bytes, reply, reply_bytes);
	case VFU_REGION_WRITE:
		return region_access(vfu, true, body_bytes, reply, reply_bytes);
	case VFU_DEVICE_RESET:
		vfu->stats.n_resets++;
		vfu->device.reset(vfu->device.ctx);
		return 0;
	default:
		return -ENOTSUP;
	}
}
