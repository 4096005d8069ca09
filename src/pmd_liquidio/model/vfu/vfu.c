/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The socket side of the vfio-user server: frames messages out of a stream, gathers the
 * descriptors that ride on them, sends replies, and cleans up after clients. Exactly one header
 * and then exactly one body are read, so that descriptors stay with the message they came with.
 * What a message means is vfu_msg.c's business.
 *
 * A client that breaks the framing (a size below the header's or above our limit) cannot be
 * followed and is sent away; everything else is answered.
 */
#include "vfu_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void
vfu_log(struct vfu *vfu, const char *format, ...)
{
	char line[256];
	va_list ap;

	if (!vfu->device.log)
		return;
	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	vfu->device.log(vfu->device.ctx, line);
}

int
vfu_create(const struct vfu_device *device, struct vfu **out)
{
	struct vfu *vfu;

	if (!device->reset || !device->config_read || !device->config_write || !device->bar_read ||
	    !device->bar_write || device->n_msix == 0 || device->n_msix > VFU_MAX_MSIX)
		return -EINVAL;
	vfu = calloc(1, sizeof(*vfu));
	if (!vfu)
		return -ENOMEM;
	vfu->msix_fds = malloc(device->n_msix * sizeof(*vfu->msix_fds));
	if (!vfu->msix_fds) {
		free(vfu);
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < device->n_msix; i++)
		vfu->msix_fds[i] = -1;
	vfu->device = *device;
	vfu->fd = -1;
	vfu->err_fd = -1;
	vfu_dma_init(&vfu->dma);
	*out = vfu;
	return 0;
}

void
vfu_destroy(struct vfu *vfu)
{
	if (!vfu)
		return;
	vfu_detach(vfu);
	vfu_dma_fini(&vfu->dma);
	free(vfu->msix_fds);
	free(vfu);
}

int
vfu_attach(struct vfu *vfu, int fd)
{
	int flags;

	if (vfu->fd >= 0)
		return -EBUSY;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	vfu->fd = fd;
	vfu->negotiated = false;
	vfu->in_bytes = 0;
	vfu->out_bytes = vfu->out_done = 0;
	vfu->stats.n_clients++;
	return 0;
}

static void
fds_close(struct vfu *vfu)
{
	for (unsigned int i = 0; i < vfu->n_fds; i++) {
		if (vfu->fds[i] < 0)
			continue;
		close(vfu->fds[i]);
		vfu->stats.n_fds_refused++;
	}
	vfu->n_fds = 0;
	vfu->fds_overflow = false;
}

void
vfu_detach(struct vfu *vfu)
{
	if (vfu->fd < 0)
		return;
	close(vfu->fd);
	vfu->fd = -1;
	fds_close(vfu);
	vfu_irqs_drop(vfu);
	vfu_dma_reset(&vfu->dma);
	vfu->device.reset(vfu->device.ctx);
	vfu_log(vfu, "client gone");
}

int
vfu_fd(const struct vfu *vfu)
{
	return vfu->fd;
}

short
vfu_events(const struct vfu *vfu)
{
	return vfu->out_done < vfu->out_bytes ? POLLOUT : POLLIN;
}

static void
fds_take(struct vfu *vfu, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (vfu->n_fds < VFU_MAX_FDS) {
				vfu->fds[vfu->n_fds++] = fd;
			} else {
				close(fd);
				vfu->stats.n_fds_refused++;
				vfu->fds_overflow = true;
			}
		}
	}
	if (msg->msg_flags & MSG_CTRUNC)
		vfu->fds_overflow = true;
}

/* Reads up to @want bytes. Returns their number, 0 when there are none now, -ENOTCONN at the end. */
static ssize_t
receive(struct vfu *vfu, void *dst, size_t want)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * VFU_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec iov = {dst, want};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(vfu->fd, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	if (n > 0) {
		fds_take(vfu, &msg);
		return n;
	}
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return 0;
	return -ENOTCONN;
}

/* Sends what is left of the reply. Returns 1 when all is out, 0 when the socket is full. */
static int
flush(struct vfu *vfu)
{
	while (vfu->out_done < vfu->out_bytes) {
		ssize_t n = send(vfu->fd, vfu->out + vfu->out_done, vfu->out_bytes - vfu->out_done,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				return 0;
			return -ENOTCONN;
		}
		vfu->out_done += (size_t)n;
	}
	vfu->out_bytes = vfu->out_done = 0;
	return 1;
}

static void
reply_set(struct vfu *vfu, int rc, size_t body_bytes)
{
	struct vfu_header reply = {
		.id = vfu->header.id,
		.command = vfu->header.command,
		.flags = VFU_F_REPLY,
	};

	if (rc != 0) {
		vfu->stats.n_error_replies++;
		vfu_log(vfu, "command %u refused: %s", vfu->header.command, strerror(-rc));
		reply.flags |= VFU_F_ERROR;
		reply.error = (uint32_t)-rc;
		body_bytes = 0;
	}
	if (vfu->header.flags & VFU_F_NO_REPLY)
		return;
	reply.size_bytes = (uint32_t)(sizeof(reply) + body_bytes);
	memcpy(vfu->out, &reply, sizeof(reply));
	vfu->out_bytes = sizeof(reply) + body_bytes;
	vfu->out_done = 0;
}

static void
dispatch(struct vfu *vfu)
{
	size_t reply_bytes = 0;
	int rc;

	vfu->in_bytes = 0;
	vfu->stats.n_messages++;
	if ((vfu->header.flags & VFU_F_TYPE_MASK) != VFU_F_COMMAND) {
		/* We ask the client nothing, so a reply answers nothing; drop it. */
		vfu->stats.n_error_replies++;
		vfu_log(vfu, "message type %u dropped", vfu->header.flags & VFU_F_TYPE_MASK);
	} else {
		rc = vfu->fds_overflow
			     ? -EMFILE
			     : vfu_message(vfu, vfu->header.size_bytes - sizeof(vfu->header),
					   vfu->out + sizeof(struct vfu_header), &reply_bytes);
		reply_set(vfu, rc, reply_bytes);
	}
	fds_close(vfu);
}

/* Reads on. Returns 1 when a message is complete, 0 when more must come, or -ENOTCONN. */
static int
read_message(struct vfu *vfu)
{
	for (;;) {
		size_t have = vfu->in_bytes, want;
		ssize_t n;

		if (have < sizeof(vfu->header)) {
			n = receive(vfu, (uint8_t *)&vfu->header + have,
				    sizeof(vfu->header) - have);
		} else {
			want = vfu->header.size_bytes;
			if (want < sizeof(vfu->header) ||
			    want > sizeof(vfu->header) + sizeof(vfu->body)) {
				vfu->stats.n_bad_streams++;
				vfu_log(vfu, "a message of %zu bytes: client sent away", want);
				return -ENOTCONN;
			}
			if (have == want)
				return 1;
			n = receive(vfu, vfu->body + (have - sizeof(vfu->header)), want - have);
		}
		if (n < 0 && have > 0) {
			vfu->stats.n_bad_streams++;
			vfu_log(vfu, "the stream ended inside a message");
		}
		if (n <= 0)
			return (int)n;
		vfu->in_bytes += (size_t)n;
	}
}

int
vfu_process(struct vfu *vfu, unsigned int budget)
{
	unsigned int done = 0;
	int rc;

	if (vfu->fd < 0)
		return -ENOTCONN;
	for (;;) {
		rc = flush(vfu);
		if (rc <= 0 || done == budget)
			break;
		rc = read_message(vfu);
		if (rc <= 0)
			break;
		dispatch(vfu);
		done++;
	}
	if (rc < 0) {
		vfu_detach(vfu);
		return -ENOTCONN;
	}
	return (int)done;
}

bool
vfu_dma_rd(struct vfu *vfu, uint64_t iova, void *dst, size_t len)
{
	return vfu_dma_read(&vfu->dma, iova, dst, len);
}

bool
vfu_dma_wr(struct vfu *vfu, uint64_t iova, const void *src, size_t len)
{
	return vfu_dma_write(&vfu->dma, iova, src, len);
}

bool
vfu_msix_raise(struct vfu *vfu, unsigned int vector)
{
	uint64_t one = 1;

	if (vector < vfu->device.n_msix && vfu->msix_fds[vector] >= 0 &&
	    write(vfu->msix_fds[vector], &one, sizeof(one)) == (ssize_t)sizeof(one)) {
		vfu->stats.n_irqs_raised++;
		return true;
	}
	vfu->stats.n_irqs_lost++;
	return false;
}

void
vfu_stats_get(const struct vfu *vfu, struct vfu_stats *stats)
{
	*stats = vfu->stats;
	stats->n_dma_read_faults = vfu->dma.n_read_faults;
	stats->n_dma_write_faults = vfu->dma.n_write_faults;
}
