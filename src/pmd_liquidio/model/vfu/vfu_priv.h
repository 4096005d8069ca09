/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of the vfio-user adapter: the server's state, and the seam between the socket side
 * (vfu.c: framing, descriptors, replies) and the message side (vfu_msg.c: what each command
 * means). One thread; nothing here is seen outside this folder but by the adapter's tests.
 */
#ifndef LIQM_VFU_PRIV_H
#define LIQM_VFU_PRIV_H

#include "vfu.h"
#include "vfu_dma.h"
#include "vfu_proto.h"

struct vfu {
	struct vfu_device device;
	int fd;          /* the client, or -1 */
	bool negotiated; /* VERSION has been answered */
	int *msix_fds;   /* one per vector, -1: none */
	int err_fd;      /* eventfd of the error interrupt, kept and never used; -1: none */
	struct vfu_dma dma;
	struct vfu_stats stats;

	/* The message that is coming in. */
	struct vfu_header header;
	size_t in_bytes; /* of header and body so far */
	uint8_t body[VFU_MAX_BODY_BYTES];
	int fds[VFU_MAX_FDS];
	unsigned int n_fds;
	bool fds_overflow;

	/* The reply that is going out. */
	uint8_t out[VFU_MAX_REPLY_BYTES];
	size_t out_bytes, out_done;
};

/** Writes a line to the device's log; nothing when it has none. */
void vfu_log(struct vfu *vfu, const char *format, ...) __attribute__((format(printf, 2, 3)));

/**
 * Handles the complete message in header, body and fds. Puts the body of the reply behind the
 * header in out and its length in *reply_bytes. Descriptors it keeps are replaced by -1. Returns
 * 0, or a negative errno for an error reply.
 */
int vfu_message(struct vfu *vfu, size_t body_bytes, uint8_t *reply, size_t *reply_bytes);

/** Closes all eventfds. */
void vfu_irqs_drop(struct vfu *vfu);

#endif
