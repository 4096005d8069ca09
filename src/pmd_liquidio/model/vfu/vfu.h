/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A vfio-user server of one PCI device: the transport that puts a device model into a virtual
 * machine. The device is a table of functions and sizes; the client (QEMU's vfio-user-pci) is a
 * connected stream socket. The adapter owns the protocol, the map of guest memory and the
 * interrupt eventfds; it knows nothing about what the device is.
 *
 * One thread drives a server: it waits for the socket with poll(2) on what vfu_events() asks for
 * and calls vfu_process(); the device functions and the services are called on that thread.
 * Nothing blocks: a message is handled when its last byte is there, a reply that does not fit
 * the socket is finished before the next message is read.
 *
 * What always holds: a malformed message gets an error reply, or, when the stream cannot be
 * followed any further, ends the connection; both are counted. Whatever the client does, the
 * server survives it, frees what the client gave it, and can be attached to another client.
 *
 * Not here: listening, waiting, time (the caller's), migration, INTx and MSI.
 */
#ifndef LIQM_VFU_H
#define LIQM_VFU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VFU_N_BARS          6u
#define VFU_CONFIG_BYTES    4096u
#define VFU_MAX_MSIX        2048u
#define VFU_MAX_FDS         16u   /* in one message */
#define VFU_MAX_BODY_BYTES  8192u /* of a message we accept */
#define VFU_MAX_REPLY_BYTES 8192u

/** The device behind the server; constant while it serves. Calls are serialised. */
struct vfu_device {
	void *ctx;
	uint64_t bar_bytes[VFU_N_BARS]; /* 0: no such BAR */
	unsigned int n_msix;            /* 1..VFU_MAX_MSIX */

	/* The bus is reset: by the client's message, and when a client has gone. */
	void (*reset)(void *ctx);
	/* Both stay inside the 4096 bytes; any length. */
	void (*config_read)(void *ctx, uint32_t offset, void *dst, size_t len);
	void (*config_write)(void *ctx, uint32_t offset, const void *src, size_t len);
	/* len is 1, 2, 4 or 8, offset + len is inside the BAR. */
	uint64_t (*bar_read)(void *ctx, unsigned int bar, uint64_t offset, unsigned int len);
	void (*bar_write)(void *ctx, unsigned int bar, uint64_t offset, uint64_t value,
			  unsigned int len);
	/* One line of text, for people; may be NULL. */
	void (*log)(void *ctx, const char *line);
};

/** What happened since vfu_create(), over all clients. */
struct vfu_stats {
	uint64_t n_clients;
	uint64_t n_messages;
	uint64_t n_reads, n_writes, n_posted_writes;
	uint64_t n_dma_maps, n_dma_unmaps;
	uint64_t n_resets;
	uint64_t n_irqs_raised, n_irqs_lost; /* lost: no eventfd, or the eventfd refused */
	uint64_t n_error_replies;            /* well-framed requests that were refused */
	uint64_t n_bad_streams;              /* connections ended for what the client sent */
	uint64_t n_fds_refused;              /* descriptors that no message asked for */
	uint64_t n_dma_read_faults, n_dma_write_faults;
};

struct vfu;

/** Makes a server without a client. -EINVAL: an impossible device; -ENOMEM. */
int vfu_create(const struct vfu_device *device, struct vfu **out);

/** Ends the connection, if any, and frees the server. NULL is allowed. */
void vfu_destroy(struct vfu *vfu);

/**
 * Takes over a connected stream socket and makes it non-blocking. -EBUSY: there is a client
 * already; the socket then stays the caller's.
 */
int vfu_attach(struct vfu *vfu, int fd);

/** Ends the connection: guest memory and eventfds are given back, the device's bus is reset. */
void vfu_detach(struct vfu *vfu);

/** The client's socket, or -1. */
int vfu_fd(const struct vfu *vfu);

/** The poll(2) events to wait for: POLLIN, or POLLOUT while a reply is unfinished. */
short vfu_events(const struct vfu *vfu);

/**
 * Handles what the socket holds, at most @budget messages, without blocking. Returns the number
 * handled (the socket may hold more when it is @budget), or -ENOTCONN after the client has gone
 * or was sent away; the server is then detached.
 */
int vfu_process(struct vfu *vfu, unsigned int budget);

/* Services for the device: guest memory by bus address (false: not mapped or not permitted,
 * counted), and MSI-X vectors as edges (false: nobody listens, counted). */
bool vfu_dma_rd(struct vfu *vfu, uint64_t iova, void *dst, size_t len);
bool vfu_dma_wr(struct vfu *vfu, uint64_t iova, const void *src, size_t len);
bool vfu_msix_raise(struct vfu *vfu, unsigned int vector);

void vfu_stats_get(const struct vfu *vfu, struct vfu_stats *stats);

#endif
