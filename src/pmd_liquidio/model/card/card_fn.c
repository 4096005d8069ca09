/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ties one function of the model to one vfio-user server: see card_fn.h. The model calls DMA and
 * MSI-X with its lock held, inside an access or a tick; both end in the adapter, which never
 * calls back.
 */
#include "card_fn.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "card_sock.h"

#define MESSAGES_A_TURN 64u

/* ---- transport to model ---- */

static void
dev_reset(void *ctx)
{
	struct card_fn *cf = ctx;

	liqm_fn_reset(cf->fn, LIQM_RESET_BUS);
}

static void
dev_config_read(void *ctx, uint32_t offset, void *dst, size_t len)
{
	struct card_fn *cf = ctx;

	liqm_cfg_read(cf->fn, offset, dst, len);
}

static void
dev_config_write(void *ctx, uint32_t offset, const void *src, size_t len)
{
	struct card_fn *cf = ctx;

	liqm_cfg_write(cf->fn, offset, src, len);
}

static uint64_t
dev_bar_read(void *ctx, unsigned int bar, uint64_t offset, unsigned int len)
{
	struct card_fn *cf = ctx;

	return liqm_bar_read(cf->fn, bar, offset, len);
}

static void
dev_bar_write(void *ctx, unsigned int bar, uint64_t offset, uint64_t value, unsigned int len)
{
	struct card_fn *cf = ctx;

	liqm_bar_write(cf->fn, bar, offset, value, len);
}

static void
dev_log(void *ctx, const char *line)
{
	struct card_fn *cf = ctx;

	if (cf->verbose)
		fprintf(stderr, "liquidio-card: %s: %s\n", cf->path, line);
}

/* ---- model to transport ---- */

static bool
fn_dma_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	struct card_fn *cf = ctx;

	return vfu_dma_rd(cf->vfu, iova, dst, len);
}

static bool
fn_dma_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	struct card_fn *cf = ctx;

	return vfu_dma_wr(cf->vfu, iova, src, len);
}

static void
fn_msix_raise(void *ctx, unsigned int vector)
{
	struct card_fn *cf = ctx;

	vfu_msix_raise(cf->vfu, vector);
}

int
card_fn_open(struct card_fn *cf, struct liqm_fn *fn, const char *path, bool verbose)
{
	struct vfu_device device = {
		.ctx = cf,
		.reset = dev_reset,
		.config_read = dev_config_read,
		.config_write = dev_config_write,
		.bar_read = dev_bar_read,
		.bar_write = dev_bar_write,
		.log = dev_log,
	};
	struct liqm_fn_services services = {
		.ctx = cf,
		.dma_read = fn_dma_read,
		.dma_write = fn_dma_write,
		.msix_raise = fn_msix_raise,
	};
	struct liqm_fn_info info;
	int rc;

	*cf = (struct card_fn){.fn = fn, .path = path, .listen_fd = -1, .verbose = verbose};
	liqm_fn_info_get(fn, &info);
	for (unsigned int i = 0; i < VFU_N_BARS; i++)
		device.bar_bytes[i] = info.bar[i].size;
	device.n_msix = info.n_msix;
	rc = vfu_create(&device, &cf->vfu);
	if (rc == 0) {
		cf->listen_fd = card_sock_listen(path);
		if (cf->listen_fd < 0)
			rc = cf->listen_fd;
	}
	if (rc != 0) {
		fprintf(stderr, "liquidio-card: %s: %s\n", path, strerror(-rc));
		card_fn_close(cf);
		return rc;
	}
	liqm_fn_attach(fn, &services);
	return 0;
}

void
card_fn_close(struct card_fn *cf)
{
	if (cf->fn)
		liqm_fn_attach(cf->fn, NULL);
	vfu_destroy(cf->vfu);
	cf->vfu = NULL;
	if (cf->listen_fd >= 0) {
		close(cf->listen_fd);
		unlink(cf->path);
	}
	cf->listen_fd = -1;
}

int
card_fn_poll(const struct card_fn *cf, short *events)
{
	int fd = vfu_fd(cf->vfu);

	*events = fd >= 0 ? vfu_events(cf->vfu) : POLLIN;
	return fd >= 0 ? fd : cf->listen_fd;
}

bool
card_fn_run(struct card_fn *cf)
{
	if (vfu_fd(cf->vfu) < 0) {
		int fd = card_sock_accept(cf->listen_fd);

		if (fd < 0)
			return false;
		if (vfu_attach(cf->vfu, fd) != 0) {
			close(fd);
			return false;
		}
		dev_log(cf, "client connected");
	}
	return vfu_process(cf->vfu, MESSAGES_A_TURN) == (int)MESSAGES_A_TURN;
}

bool
card_fn_has_client(const struct card_fn *cf)
{
	return vfu_fd(cf->vfu) >= 0;
}

uint64_t
card_fn_clients(const struct card_fn *cf)
{
	struct vfu_stats s;

	vfu_stats_get(cf->vfu, &s);
	return s.n_clients;
}

void
card_fn_print(const struct card_fn *cf)
{
	struct liqm_fn_info info;
	struct vfu_stats s;

	vfu_stats_get(cf->vfu, &s);
	liqm_fn_info_get(cf->fn, &info);
	fprintf(stderr,
		"fn%u %s: clients %" PRIu64 " messages %" PRIu64 " reads %" PRIu64
		" writes %" PRIu64 " posted %" PRIu64 " maps %" PRIu64 " unmaps %" PRIu64
		" resets %" PRIu64 "\n",
		info.index, cf->path, s.n_clients, s.n_messages, s.n_reads, s.n_writes,
		s.n_posted_writes, s.n_dma_maps, s.n_dma_unmaps, s.n_resets);
	fprintf(stderr,
		"fn%u irqs_raised %" PRIu64 " irqs_lost %" PRIu64 " error_replies %" PRIu64
		" bad_streams %" PRIu64 " fds_refused %" PRIu64 " dma_read_faults %" PRIu64
		" dma_write_faults %" PRIu64 "\n",
		info.index, s.n_irqs_raised, s.n_irqs_lost, s.n_error_replies, s.n_bad_streams,
		s.n_fds_refused, s.n_dma_read_faults, s.n_dma_write_faults);
	for (int c = 0; c < LIQM_N_COUNTERS; c++) {
		uint64_t v = liqm_counter(cf->fn, (enum liqm_counter)c);

		if (v != 0)
			fprintf(stderr, "fn%u %s %" PRIu64 "\n", info.index,
				liqm_counter_name((enum liqm_counter)c), v);
	}
}
