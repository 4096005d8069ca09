/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vfio-user adapter against clients of every kind: correct ones, malformed messages over a
 * socketpair, descriptors that do not belong, guest memory that comes and goes under the device,
 * files that shrink, clients that die in the middle, clients that never read. The device behind
 * it is a few arrays. Client and server take turns on one thread, so every order of events is
 * the test's own choice.
 */
#include "ut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vfu.h"
#include "vfu_proto.h"

#define BAR_BYTES 65536u
#define PAGE      4096u

struct fixture {
	struct vfu *vfu;
	int client;
	uint16_t next_id;
	int n_fds_before;

	/* the device */
	uint8_t config[VFU_CONFIG_BYTES];
	uint8_t bar0[BAR_BYTES];
	unsigned int n_resets;
};

struct answer {
	struct vfu_header h;
	uint8_t body[VFU_MAX_REPLY_BYTES];
	size_t body_bytes;
};

/* ---- the device ---- */

static void
dev_reset(void *ctx)
{
	struct fixture *f = ctx;

	f->n_resets++;
}

static void
dev_config_read(void *ctx, uint32_t offset, void *dst, size_t len)
{
	struct fixture *f = ctx;

	assert_true(offset + len <= sizeof(f->config));
	memcpy(dst, f->config + offset, len);
}

static void
dev_config_write(void *ctx, uint32_t offset, const void *src, size_t len)
{
	struct fixture *f = ctx;

	assert_true(offset + len <= sizeof(f->config));
	memcpy(f->config + offset, src, len);
}

static uint64_t
dev_bar_read(void *ctx, unsigned int bar, uint64_t offset, unsigned int len)
{
	struct fixture *f = ctx;
	uint64_t value = 0;

	assert_int_equal(bar, 0);
	assert_true(offset + len <= BAR_BYTES && offset % len == 0);
	memcpy(&value, f->bar0 + offset, len);
	return value;
}

static void
dev_bar_write(void *ctx, unsigned int bar, uint64_t offset, uint64_t value, unsigned int len)
{
	struct fixture *f = ctx;

	assert_int_equal(bar, 0);
	assert_true(offset + len <= BAR_BYTES && offset % len == 0);
	memcpy(f->bar0 + offset, &value, len);
}

/* ---- the client ---- */

static int
count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void
connect_client(struct fixture *f)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv), 0);
	assert_int_equal(vfu_attach(f->vfu, sv[1]), 0);
	f->client = sv[0];
}

static void
send_raw(struct fixture *f, const void *data, size_t len, const int *fds, unsigned int n_fds)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * 64)];
		struct cmsghdr align;
	} control = {{0}};
	struct iovec iov = {(void *)(uintptr_t)data, len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n_fds > 0) {
		struct cmsghdr *c;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	assert_int_equal(sendmsg(f->client, &msg, MSG_NOSIGNAL), len);
}

static uint16_t
send_flags(struct fixture *f, unsigned int command, uint32_t flags, const void *body, size_t len,
	   const int *fds, unsigned int n_fds)
{
	uint8_t buf[sizeof(struct vfu_header) + VFU_MAX_BODY_BYTES];
	struct vfu_header h = {
		.id = f->next_id++,
		.command = (uint16_t)command,
		.size_bytes = (uint32_t)(sizeof(h) + len),
		.flags = flags,
	};

	memcpy(buf, &h, sizeof(h));
	if (len > 0)
		memcpy(buf + sizeof(h), body, len);
	send_raw(f, buf, sizeof(h) + len, fds, n_fds);
	return h.id;
}

static bool
receive(struct fixture *f, struct answer *a)
{
	ssize_t n = recv(f->client, &a->h, sizeof(a->h), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return false;
	assert_int_equal(n, sizeof(a->h));
	assert_in_range(a->h.size_bytes, sizeof(a->h), sizeof(a->h) + sizeof(a->body));
	a->body_bytes = a->h.size_bytes - sizeof(a->h);
	if (a->body_bytes > 0)
		assert_int_equal(recv(f->client, a->body, a->body_bytes, MSG_WAITALL),
				 a->body_bytes);
	return true;
}

/* Sends, lets the server run, and returns the error of the reply. */
static int
ask_fds(struct fixture *f, unsigned int command, const void *body, size_t len, const int *fds,
	unsigned int n_fds, struct answer *a)
{
	struct answer local;
	uint16_t id = send_flags(f, command, 0, body, len, fds, n_fds);

	if (!a)
		a = &local;
	assert_int_equal(vfu_process(f->vfu, 8), 1);
	assert_true(receive(f, a));
	assert_int_equal(a->h.id, id);
	assert_int_equal(a->h.command, command);
	assert_int_equal(a->h.flags & VFU_F_TYPE_MASK, VFU_F_REPLY);
	assert_int_equal(!!(a->h.flags & VFU_F_ERROR), a->h.error != 0);
	if (a->h.error)
		assert_int_equal(a->body_bytes, 0);
	return (int)a->h.error;
}

static int
ask(struct fixture *f, unsigned int command, const void *body, size_t len, struct answer *a)
{
	return ask_fds(f, command, body, len, NULL, 0, a);
}

static const uint8_t hello[256] = "\0\0\0\0{\"capabilities\":{\"max_msg_fds\":16}}";

static void
negotiate(struct fixture *f)
{
	assert_int_equal(ask(f, VFU_VERSION, hello, sizeof(hello), NULL), 0);
}

static int
setup_raw(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct vfu_device dev = {
		.ctx = f,
		.bar_bytes = {BAR_BYTES},
		.n_msix = 65,
		.reset = dev_reset,
		.config_read = dev_config_read,
		.config_write = dev_config_write,
		.bar_read = dev_bar_read,
		.bar_write = dev_bar_write,
	};

	assert_non_null(f);
	f->n_fds_before = count_fds();
	assert_int_equal(vfu_create(&dev, &f->vfu), 0);
	connect_client(f);
	for (size_t i = 0; i < sizeof(f->config); i++)
		f->config[i] = (uint8_t)(i * 7);
	*state = f;
	return 0;
}

static int
setup(void **state)
{
	setup_raw(state);
	negotiate(*state);
	return 0;
}

/* Also checks that no descriptor is left behind, whatever the test did. */
static int
teardown(void **state)
{
	struct fixture *f = *state;

	vfu_destroy(f->vfu);
	if (f->client >= 0)
		close(f->client);
	assert_int_equal(count_fds(), f->n_fds_before);
	free(f);
	return 0;
}

static struct vfu_stats
stats(const struct fixture *f)
{
	struct vfu_stats s;

	vfu_stats_get(f->vfu, &s);
	return s;
}

/* ---- memory helpers ---- */

static int
make_memfd(size_t bytes, bool sealed, uint8_t fill)
{
	int fd = memfd_create("guest", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint8_t page[PAGE];

	assert_true(fd >= 0);
	memset(page, fill, sizeof(page));
	for (size_t at = 0; at < bytes; at += PAGE)
		assert_int_equal(pwrite(fd, page, PAGE, (off_t)at), PAGE);
	if (sealed)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

static int
map(struct fixture *f, int fd, uint64_t iova, uint64_t size, uint64_t offset, uint32_t flags)
{
	struct vfu_dma_map m = {sizeof(m), flags, offset, iova, size};

	return ask_fds(f, VFU_DMA_MAP, &m, sizeof(m), &fd, fd >= 0 ? 1 : 0, NULL);
}

static int
unmap(struct fixture *f, uint64_t iova, uint64_t size, uint32_t flags)
{
	struct vfu_dma_unmap m = {sizeof(m), flags, iova, size};

	return ask(f, VFU_DMA_UNMAP, &m, sizeof(m), NULL);
}

#define RW (VFU_DMA_READABLE | VFU_DMA_WRITEABLE)

/* ---- version and information ---- */

static void
test_nothing_before_version(void **state)
{
	struct fixture *f = *state;

	for (unsigned int c = 2; c < 20; c++)
		assert_int_equal(ask(f, c, NULL, 0, NULL), EINVAL);
	negotiate(f);
	assert_int_equal(ask(f, VFU_VERSION, hello, sizeof(hello), NULL), EINVAL);
	assert_int_equal(stats(f).n_error_replies, 19);
}

static void
test_version_refused(void **state)
{
	struct fixture *f = *state;
	uint8_t body[64] = {0};

	assert_int_equal(ask(f, VFU_VERSION, body, 0, NULL), EINVAL);
	assert_int_equal(ask(f, VFU_VERSION, body, 3, NULL), EINVAL);
	memset(body + 4, 'x', sizeof(body) - 4);
	assert_int_equal(ask(f, VFU_VERSION, body, sizeof(body), NULL), EINVAL);
	memset(body, 0, sizeof(body));
	body[0] = 1;
	assert_int_equal(ask(f, VFU_VERSION, body, sizeof(body), NULL), ENOTSUP);
	negotiate(f);
}

static void
test_version_reply_fits_request(void **state)
{
	struct fixture *f = *state;
	uint8_t body[5] = {0};
	struct answer a;

	assert_int_equal(ask(f, VFU_VERSION, body, sizeof(body), &a), 0);
	assert_true(a.body_bytes <= sizeof(body));
	assert_int_equal(ask(f, VFU_DEVICE_RESET, NULL, 0, NULL), 0);
}

static void
test_version_reply_text(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	assert_int_equal(ask(f, VFU_VERSION, hello, sizeof(hello), &a), 0);
	assert_true(a.body_bytes > 4);
	assert_int_equal(a.body[a.body_bytes - 1], 0);
	assert_non_null(strstr((char *)a.body + 4, "max_msg_fds"));
	assert_null(strstr((char *)a.body + 4, "write_multiple"));
}

static void
test_device_info(void **state)
{
	struct vfu_device_info info;
	struct answer a;

	assert_int_equal(ask(*state, VFU_DEVICE_GET_INFO, NULL, 0, &a), 0);
	assert_int_equal(a.body_bytes, sizeof(info));
	memcpy(&info, a.body, sizeof(info));
	assert_int_equal(info.n_regions, 9);
	assert_int_equal(info.n_irqs, 5);
	assert_int_equal(info.flags, VFU_DEVICE_F_RESET | VFU_DEVICE_F_PCI);
}

static void
test_region_info(void **state)
{
	struct vfu_region_info info = {.argsz = sizeof(info)};
	struct answer a;

	for (uint32_t i = 0; i < VFU_N_REGIONS; i++) {
		uint64_t want = i == 0 ? BAR_BYTES : i == VFU_REGION_CONFIG ? 4096 : 0;

		info.index = i;
		assert_int_equal(ask(*state, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), &a),
				 0);
		assert_int_equal(((struct vfu_region_info *)(void *)a.body)->size_bytes, want);
	}
	info.index = VFU_N_REGIONS;
	assert_int_equal(ask(*state, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL),
			 EINVAL);
	info.index = 0;
	info.argsz = 31;
	assert_int_equal(ask(*state, VFU_DEVICE_GET_REGION_INFO, &info, sizeof(info), NULL),
			 EINVAL);
	assert_int_equal(ask(*state, VFU_DEVICE_GET_REGION_INFO, &info, 8, NULL), EINVAL);
}

static void
test_irq_info(void **state)
{
	static const uint32_t want[VFU_N_IRQS] = {0, 0, 65, 1, 0};
	struct vfu_irq_info info = {.argsz = sizeof(info)};
	struct answer a;

	for (uint32_t i = 0; i < VFU_N_IRQS; i++) {
		info.index = i;
		assert_int_equal(ask(*state, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), &a), 0);
		assert_int_equal(((struct vfu_irq_info *)(void *)a.body)->count, want[i]);
	}
	info.index = VFU_N_IRQS;
	assert_int_equal(ask(*state, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), NULL), EINVAL);
	info.index = 2;
	info.argsz = 0;
	assert_int_equal(ask(*state, VFU_DEVICE_GET_IRQ_INFO, &info, sizeof(info), NULL), EINVAL);
	assert_int_equal(ask(*state, VFU_DEVICE_GET_IRQ_INFO, &info, 15, NULL), EINVAL);
}

static void
test_unknown_commands(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(ask(f, 0, NULL, 0, NULL), ENOTSUP);
	assert_int_equal(ask(f, VFU_DEVICE_GET_REGION_IO_FDS, NULL, 0, NULL), ENOTSUP);
	assert_int_equal(ask(f, VFU_DMA_READ, NULL, 0, NULL), ENOTSUP);
	assert_int_equal(ask(f, VFU_DMA_WRITE, NULL, 0, NULL), ENOTSUP);
	for (unsigned int c = 14; c < 0x10000; c += 97)
		assert_int_equal(ask(f, c, NULL, 0, NULL), ENOTSUP);
}

/* ---- region accesses ---- */

static int
region_read(struct fixture *f, uint32_t region, uint64_t offset, uint32_t count, struct answer *a)
{
	struct vfu_region_access r = {offset, region, count};

	return ask(f, VFU_REGION_READ, &r, sizeof(r), a);
}

static int
region_write(struct fixture *f, uint32_t region, uint64_t offset, uint32_t count, const void *data,
	     size_t data_bytes)
{
	uint8_t body[VFU_MAX_BODY_BYTES];
	struct vfu_region_access r = {offset, region, count};

	memcpy(body, &r, sizeof(r));
	memcpy(body + sizeof(r), data, data_bytes);
	return ask(f, VFU_REGION_WRITE, body, sizeof(r) + data_bytes, NULL);
}

static void
test_config_whole(void **state)
{
	struct fixture *f = *state;
	uint8_t data[4096];
	struct answer a;

	assert_int_equal(region_read(f, VFU_REGION_CONFIG, 0, 4096, &a), 0);
	assert_int_equal(a.body_bytes, 16 + 4096);
	assert_memory_equal(a.body + 16, f->config, 4096);
	memset(data, 0xa5, sizeof(data));
	assert_int_equal(region_write(f, VFU_REGION_CONFIG, 0, 4096, data, 4096), 0);
	assert_memory_equal(f->config, data, 4096);
}

static void
test_bar_sizes(void **state)
{
	static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct fixture *f = *state;
	struct answer a;

	for (uint32_t len = 1; len <= 8; len *= 2) {
		memset(f->bar0, 0xee, 16);
		assert_int_equal(region_write(f, 0, 8, len, data, 8), 0);
		assert_memory_equal(f->bar0 + 8, data, len);
		assert_int_equal(f->bar0[8 + len], len == 8 ? f->bar0[16] : 0xee);
		assert_int_equal(region_read(f, 0, 8, len, &a), 0);
		assert_int_equal(a.body_bytes, 16 + len);
		assert_memory_equal(a.body + 16, data, len);
	}
	assert_int_equal(region_read(f, 0, BAR_BYTES - 8, 8, NULL), 0);
}

static void
test_region_refused(void **state)
{
	static const uint8_t data[16];
	struct fixture *f = *state;
	static const struct {
		uint64_t offset;
		uint32_t region, count;
	} bad[] = {
		{0, 0, 0},
		{0, 0, 3},
		{0, 0, 5},
		{0, 0, 16},
		{4, 0, 8},
		{1, 0, 2},
		{BAR_BYTES, 0, 1},
		{BAR_BYTES - 4, 0, 8},
		{UINT64_MAX, 0, 1},
		{UINT64_MAX - 7, 0, 8},
		{0, 0, UINT32_MAX},
		{0, 1, 4},
		{0, VFU_REGION_ROM, 4},
		{0, VFU_REGION_VGA, 4},
		{0, 9, 4},
		{0, UINT32_MAX, 4},
		{0, VFU_REGION_CONFIG, 4097},
		{4096, VFU_REGION_CONFIG, 1},
		{4095, VFU_REGION_CONFIG, 2},
		{0, VFU_REGION_CONFIG, 0},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(region_read(f, bad[i].region, bad[i].offset, bad[i].count, NULL),
				 EINVAL);
		assert_int_equal(region_write(f, bad[i].region, bad[i].offset, bad[i].count, data,
					      sizeof(data)),
				 EINVAL);
	}
	/* less data than announced, and no header at all */
	assert_int_equal(region_write(f, 0, 0, 8, data, 7), EINVAL);
	assert_int_equal(region_write(f, VFU_REGION_CONFIG, 0, 64, data, 16), EINVAL);
	assert_int_equal(ask(f, VFU_REGION_READ, data, 15, NULL), EINVAL);
	assert_int_equal(ask(f, VFU_REGION_WRITE, NULL, 0, NULL), EINVAL);
	assert_int_equal(stats(f).n_reads + stats(f).n_writes, 0);
}

static void
test_posted_writes(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_access r = {16, 0, 4};
	uint8_t body[20] = {0};
	struct answer a;

	memcpy(body, &r, sizeof(r));
	body[16] = 0x77;
	for (int i = 0; i < 100; i++)
		send_flags(f, VFU_REGION_WRITE, VFU_F_NO_REPLY, body, sizeof(body), NULL, 0);
	/* a malformed one is not answered either, but counted */
	send_flags(f, VFU_REGION_WRITE, VFU_F_NO_REPLY, body, 10, NULL, 0);
	assert_int_equal(vfu_process(f->vfu, 1000), 101);
	assert_false(receive(f, &a));
	assert_int_equal(f->bar0[16], 0x77);
	assert_int_equal(stats(f).n_posted_writes, 100);
	assert_int_equal(stats(f).n_error_replies, 1);
	/* a read behind them is ordered */
	assert_int_equal(region_read(f, 0, 16, 1, &a), 0);
	assert_int_equal(a.body[16], 0x77);
}

/* ---- framing ---- */

static void
expect_sent_away(struct fixture *f)
{
	char c;

	assert_int_equal(vfu_process(f->vfu, 8), -ENOTCONN);
	assert_int_equal(vfu_fd(f->vfu), -1);
	assert_int_equal(recv(f->client, &c, 1, 0), 0);
	close(f->client);
	connect_client(f);
	negotiate(f);
}

static void
test_size_too_small(void **state)
{
	struct fixture *f = *state;

	for (uint32_t size = 0; size < 16; size += 5) {
		struct vfu_header h = {.command = VFU_DEVICE_RESET, .size_bytes = size};

		send_raw(f, &h, sizeof(h), NULL, 0);
		expect_sent_away(f);
	}
	assert_int_equal(stats(f).n_bad_streams, 4);
}

static void
test_size_too_large(void **state)
{
	static const uint32_t sizes[] = {16 + VFU_MAX_BODY_BYTES + 1, 1u << 20, UINT32_MAX};
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		struct vfu_header h = {.command = VFU_REGION_WRITE, .size_bytes = sizes[i]};

		send_raw(f, &h, sizeof(h), NULL, 0);
		expect_sent_away(f);
	}
	assert_int_equal(stats(f).n_bad_streams, 3);
}

static void
test_largest_message(void **state)
{
	static const uint8_t body[VFU_MAX_BODY_BYTES];

	assert_int_equal(ask(*state, 99, body, sizeof(body), NULL), ENOTSUP);
}

static void
test_end_inside_message(void **state)
{
	struct fixture *f = *state;
	struct vfu_header h = {.command = VFU_REGION_READ, .size_bytes = 32};
	size_t lengths[] = {1, 15, 16, 20};

	for (size_t i = 0; i < 4; i++) {
		uint8_t data[32] = {0};

		memcpy(data, &h, sizeof(h));
		send_raw(f, data, lengths[i], NULL, 0);
		assert_int_equal(vfu_process(f->vfu, 8), 0);
		close(f->client);
		assert_int_equal(vfu_process(f->vfu, 8), -ENOTCONN);
		connect_client(f);
		negotiate(f);
	}
	assert_int_equal(stats(f).n_bad_streams, 4);
	assert_int_equal(stats(f).n_clients, 5);
}

static void
test_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_access r = {0, VFU_REGION_CONFIG, 64};
	uint8_t data[32];
	struct vfu_header h = {.id = 7, .command = VFU_REGION_READ, .size_bytes = 32};
	struct answer a;

	memcpy(data, &h, sizeof(h));
	memcpy(data + 16, &r, sizeof(r));
	for (int i = 0; i < 31; i++) {
		send_raw(f, data + i, 1, NULL, 0);
		assert_int_equal(vfu_process(f->vfu, 8), 0);
	}
	send_raw(f, data + 31, 1, NULL, 0);
	assert_int_equal(vfu_process(f->vfu, 8), 1);
	assert_true(receive(f, &a));
	assert_int_equal(a.h.id, 7);
	assert_memory_equal(a.body + 16, f->config, 64);
}

static void
test_replies_are_dropped(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	send_flags(f, VFU_DMA_READ, VFU_F_REPLY, NULL, 0, NULL, 0);
	send_flags(f, VFU_DMA_READ, 0x7, NULL, 0, NULL, 0);
	assert_int_equal(vfu_process(f->vfu, 8), 2);
	assert_false(receive(f, &a));
	assert_int_equal(ask(f, VFU_DEVICE_RESET, NULL, 0, NULL), 0);
}

static void
test_budget(void **state)
{
	struct fixture *f = *state;
	struct answer a;

	for (int i = 0; i < 5; i++)
		send_flags(f, VFU_DEVICE_RESET, 0, NULL, 0, NULL, 0);
	assert_int_equal(vfu_process(f->vfu, 3), 3);
	assert_int_equal(vfu_process(f->vfu, 3), 2);
	for (int i = 0; i < 5; i++)
		assert_true(receive(f, &a));
	assert_int_equal(f->n_resets, 5);
}

/* A client that asks and never reads costs one reply, not memory; all come once it reads. */
static void
test_client_that_does_not_read(void **state)
{
	struct fixture *f = *state;
	struct vfu_region_access r = {0, VFU_REGION_CONFIG, 4096};
	unsigned int asked = 0, got = 0;
	struct answer a;
	uint16_t first = f->next_id;
	int flags = fcntl(f->client, F_GETFL);

	assert_int_equal(fcntl(f->client, F_SETFL, flags | O_NONBLOCK), 0);
	while (vfu_events(f->vfu) == POLLIN) {
		assert_true(asked < 100000);
		send_flags(f, VFU_REGION_READ, 0, &r, sizeof(r), NULL, 0);
		asked++;
		assert_true(vfu_process(f->vfu, 8) >= 0);
	}
	assert_int_equal(vfu_events(f->vfu), POLLOUT);
	assert_int_equal(vfu_process(f->vfu, 8), 0);
	assert_int_equal(fcntl(f->client, F_SETFL, flags), 0);
	while (got < asked) {
		assert_true(receive(f, &a));
		assert_int_equal(a.h.id, (uint16_t)(first + got));
		got++;
		assert_true(vfu_process(f->vfu, 8) >= 0);
	}
	assert_int_equal(vfu_events(f->vfu), POLLIN);
}

/* ---- descriptors ---- */

static void
test_unwanted_descriptors(void **state)
{
	struct fixture *f = *state;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC), many[40];

	for (int i = 0; i < 40; i++)
		many[i] = fd;
	assert_int_equal(ask_fds(f, VFU_DEVICE_RESET, NULL, 0, many, 3, NULL), 0);
	assert_int_equal(stats(f).n_fds_refused, 3);
	/* more than a message may carry: refused, and none kept */
	assert_int_equal(ask_fds(f, VFU_DEVICE_RESET, NULL, 0, many, 40, NULL), EMFILE);
	assert_int_equal(f->n_resets, 1);
	assert_int_equal(ask_fds(f, VFU_DEVICE_RESET, NULL, 0, many, 16, NULL), 0);
	close(fd);
	assert_int_equal(count_fds(), f->n_fds_before + 2);
}

static void
test_descriptors_in_pieces(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(PAGE, true, 0x11);
	struct vfu_dma_map m = {sizeof(m), RW, 0, 0x1000, PAGE};
	struct vfu_header h = {.command = VFU_DMA_MAP, .size_bytes = sizeof(h) + sizeof(m)};
	struct answer a;
	uint8_t byte;

	/* the descriptor rides on the body */
	send_raw(f, &h, sizeof(h), NULL, 0);
	assert_int_equal(vfu_process(f->vfu, 8), 0);
	send_raw(f, &m, sizeof(m), &fd, 1);
	close(fd);
	assert_int_equal(vfu_process(f->vfu, 8), 1);
	assert_true(receive(f, &a));
	assert_int_equal(a.h.error, 0);
	assert_true(vfu_dma_rd(f->vfu, 0x1000, &byte, 1));
	assert_int_equal(byte, 0x11);
}

/* ---- guest memory ---- */

static void
test_map_refused(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(4 * PAGE, true, 0), ro, pfd[2], two[2];
	struct vfu_dma_map m = {sizeof(m), RW, 0, 0, PAGE};
	char path[64];

	assert_int_equal(map(f, fd, 0, 0, 0, RW), EINVAL);
	assert_int_equal(map(f, fd, UINT64_MAX - 100, PAGE, 0, RW), EINVAL);
	assert_int_equal(map(f, fd, 0, 4 * PAGE + 1, 0, RW), EINVAL);
	assert_int_equal(map(f, fd, 0, PAGE, 4 * PAGE, RW), EINVAL);
	assert_int_equal(map(f, fd, 0, PAGE, UINT64_MAX - 10, RW), EINVAL);
	assert_int_equal(map(f, fd, 0, PAGE, 0, 0x4), EINVAL);
	assert_int_equal(pipe2(pfd, O_CLOEXEC), 0);
	assert_int_equal(map(f, pfd[0], 0, PAGE, 0, RW), EINVAL);
	close(pfd[0]);
	close(pfd[1]);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(ro >= 0);
	assert_int_equal(map(f, ro, 0, PAGE, 0, RW), EACCES);
	assert_int_equal(map(f, ro, 0, PAGE, 0, VFU_DMA_READABLE), 0);
	close(ro);

	two[0] = two[1] = fd;
	m.iova = 0x100000;
	assert_int_equal(ask_fds(f, VFU_DMA_MAP, &m, sizeof(m), two, 2, NULL), EINVAL);
	assert_int_equal(ask_fds(f, VFU_DMA_MAP, &m, sizeof(m) - 1, two, 1, NULL), EINVAL);
	m.argsz = 8;
	assert_int_equal(ask_fds(f, VFU_DMA_MAP, &m, sizeof(m), two, 1, NULL), EINVAL);
	close(fd);
	assert_int_equal(stats(f).n_dma_maps, 1);
}

static void
test_map_overlap(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(16 * PAGE, true, 0);

	assert_int_equal(map(f, fd, 0x10000, 2 * PAGE, 0, RW), 0);
	assert_int_equal(map(f, fd, 0x10000, 2 * PAGE, 0, RW), EEXIST);
	assert_int_equal(map(f, fd, 0x11000, PAGE, 0, RW), EEXIST);
	assert_int_equal(map(f, fd, 0xf001, PAGE, 0, RW), EEXIST);
	assert_int_equal(map(f, fd, 0xf000, 16 * PAGE, 0, RW), EEXIST);
	assert_int_equal(map(f, fd, 0x11fff, 1, 0, RW), EEXIST);
	assert_int_equal(map(f, fd, 0xf000, PAGE, 0, RW), 0);
	assert_int_equal(map(f, fd, 0x12000, PAGE, 0, RW), 0);
	assert_int_equal(map(f, fd, UINT64_MAX - PAGE + 1, PAGE, 0, RW), 0);
	close(fd);
}

static void
test_spans(void **state)
{
	struct fixture *f = *state;
	int a = make_memfd(PAGE, true, 0xaa), b = make_memfd(PAGE, false, 0xbb);
	uint8_t buf[3 * PAGE], in[64];
	uint64_t word;

	assert_int_equal(map(f, a, 0x1000, PAGE, 0, RW), 0);
	assert_int_equal(map(f, b, 0x2000, PAGE, 0, RW), 0);
	assert_int_equal(map(f, a, 0x4000, PAGE, 0, RW), 0);

	assert_true(vfu_dma_rd(f->vfu, 0x1ff0, in, 32));
	for (int i = 0; i < 32; i++)
		assert_int_equal(in[i], i < 16 ? 0xaa : 0xbb);
	assert_true(vfu_dma_rd(f->vfu, 0x1ffc, &word, 8));
	assert_true(word == 0xbbbbbbbbaaaaaaaau);
	memset(buf, 0x5c, sizeof(buf));
	assert_true(vfu_dma_wr(f->vfu, 0x1fff, buf, 2));
	assert_int_equal(pread(a, in, 1, PAGE - 1), 1);
	assert_int_equal(in[0], 0x5c);
	assert_int_equal(pread(b, in, 2, 0), 2);
	assert_int_equal(in[0], 0x5c);
	assert_int_equal(in[1], 0xbb);

	/* over the hole at 0x3000: refused whole, nothing written */
	assert_false(vfu_dma_wr(f->vfu, 0x2ff0, buf, PAGE + 32));
	assert_int_equal(pread(b, in, 1, PAGE - 1), 1);
	assert_int_equal(in[0], 0xbb);
	assert_false(vfu_dma_rd(f->vfu, 0x0fff, buf, 2));
	assert_false(vfu_dma_rd(f->vfu, 0x4fff, buf, 2));
	assert_false(vfu_dma_rd(f->vfu, UINT64_MAX, buf, 2));
	assert_true(vfu_dma_rd(f->vfu, 0x9999999, buf, 0));
	assert_int_equal(stats(f).n_dma_read_faults, 3);
	assert_int_equal(stats(f).n_dma_write_faults, 1);
	close(a);
	close(b);
}

static void
test_permissions(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(4 * PAGE, true, 1);
	uint8_t byte = 9;

	assert_int_equal(map(f, fd, 0, PAGE, 0, VFU_DMA_READABLE), 0);
	assert_int_equal(map(f, fd, PAGE, PAGE, PAGE, VFU_DMA_WRITEABLE), 0);
	assert_int_equal(map(f, -1, 2 * PAGE, PAGE, 0, RW), 0);
	assert_int_equal(map(f, fd, 3 * PAGE, PAGE, 0, 0), 0);
	assert_true(vfu_dma_rd(f->vfu, 0, &byte, 1));
	assert_false(vfu_dma_wr(f->vfu, 0, &byte, 1));
	assert_false(vfu_dma_rd(f->vfu, PAGE, &byte, 1));
	assert_true(vfu_dma_wr(f->vfu, PAGE, &byte, 1));
	assert_false(vfu_dma_rd(f->vfu, 2 * PAGE, &byte, 1));
	assert_false(vfu_dma_wr(f->vfu, 2 * PAGE, &byte, 1));
	assert_false(vfu_dma_rd(f->vfu, 3 * PAGE, &byte, 1));
	close(fd);
}

static void
test_unmap(void **state)
{
	struct fixture *f = *state;
	struct vfu_dma_unmap m = {8, 0, 0, PAGE};
	int fd = make_memfd(8 * PAGE, true, 0x42), other = make_memfd(PAGE, true, 0x43);
	uint8_t byte;

	/* what was never mapped is unmapped with success, as QEMU expects */
	assert_int_equal(unmap(f, 0, 1ull << 63, 0), 0);
	assert_int_equal(unmap(f, 1ull << 63, 1ull << 63, 0), 0);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(map(f, fd, i * PAGE, PAGE, i * PAGE, RW), 0);
	assert_int_equal(unmap(f, 0, PAGE / 2, 0), EINVAL);
	assert_int_equal(unmap(f, PAGE / 2, 4 * PAGE, 0), EINVAL);
	assert_int_equal(unmap(f, 0, 0, 0), EINVAL);
	assert_int_equal(unmap(f, UINT64_MAX, 2, 0), EINVAL);
	assert_int_equal(unmap(f, 0, PAGE, VFU_UNMAP_DIRTY_BITMAP), EINVAL);
	assert_int_equal(ask(f, VFU_DMA_UNMAP, &m, sizeof(m), NULL), EINVAL);
	assert_int_equal(ask(f, VFU_DMA_UNMAP, &m, 23, NULL), EINVAL);
	for (uint64_t i = 0; i < 8; i++)
		assert_true(vfu_dma_rd(f->vfu, i * PAGE, &byte, 1));

	assert_int_equal(unmap(f, 2 * PAGE, 2 * PAGE, 0), 0);
	for (uint64_t i = 0; i < 8; i++)
		assert_int_equal(vfu_dma_rd(f->vfu, i * PAGE, &byte, 1), i < 2 || i > 3);
	/* the same address may come back as other memory */
	assert_int_equal(map(f, other, 2 * PAGE, PAGE, 0, RW), 0);
	assert_true(vfu_dma_rd(f->vfu, 2 * PAGE, &byte, 1));
	assert_int_equal(byte, 0x43);
	assert_int_equal(unmap(f, 0, 1, VFU_UNMAP_ALL), EINVAL);
	assert_int_equal(unmap(f, 0, 0, VFU_UNMAP_ALL), 0);
	for (uint64_t i = 0; i < 8; i++)
		assert_false(vfu_dma_rd(f->vfu, i * PAGE, &byte, 1));
	close(fd);
	close(other);
}

/* A file that shrinks under a plain mapping is a SIGBUS: the adapter must not meet it. */
static void
test_file_shrinks(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(2 * PAGE, false, 0x21);
	uint8_t buf[PAGE] = {0};

	assert_int_equal(map(f, fd, 0, 2 * PAGE, 0, RW), 0);
	assert_true(vfu_dma_rd(f->vfu, PAGE, buf, PAGE));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_false(vfu_dma_rd(f->vfu, PAGE, buf, PAGE));
	assert_false(vfu_dma_wr(f->vfu, 8, buf, 8));
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	assert_true(vfu_dma_wr(f->vfu, 8, buf, 8));
	close(fd);
}

static void
test_file_grows(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(PAGE, true, 0x01);
	uint8_t byte;

	assert_int_equal(map(f, fd, 0, PAGE, 0, RW), 0);
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(map(f, fd, PAGE, PAGE, 3 * PAGE, RW), 0);
	assert_true(vfu_dma_rd(f->vfu, 0, &byte, 1));
	assert_int_equal(byte, 1);
	assert_true(vfu_dma_rd(f->vfu, PAGE, &byte, 1));
	assert_int_equal(byte, 0);
	close(fd);
}

static void
test_too_many_files(void **state)
{
	struct fixture *f = *state;
	int rc = 0;
	uint64_t i;

	for (i = 0; i < 1000 && rc == 0; i++) {
		int fd = make_memfd(PAGE, true, (uint8_t)i);

		rc = map(f, fd, i * PAGE, PAGE, 0, RW);
		close(fd);
	}
	assert_int_equal(rc, ENOSPC);
	assert_true(i > 16);
	assert_int_equal(unmap(f, 0, PAGE, 0), 0);
}

/* Pages come and go in a random order between accesses of every size; a plain array of what
 * each address should be tells right from wrong. */
static void
test_map_unmap_against_oracle(void **state)
{
	enum { PAGES = 32, STEPS = 20000 };
	struct fixture *f = *state;
	int fds[2] = {make_memfd(PAGES * PAGE, true, 0), make_memfd(PAGES * PAGE, false, 0)};
	static uint8_t mem[2][PAGES * PAGE];
	int owner[PAGES], page_of[PAGES];
	unsigned int seed = 12345, n_ok = 0, n_refused = 0;
	static uint8_t buf[4 * PAGE];

	memset(mem, 0, sizeof(mem));
	for (int i = 0; i < PAGES; i++)
		owner[i] = -1;
	for (int step = 0; step < STEPS; step++) {
		unsigned int p = (unsigned int)rand_r(&seed) % PAGES,
			     what = (unsigned int)rand_r(&seed);
		size_t at = p * PAGE + (unsigned int)rand_r(&seed) % PAGE;
		size_t len = 1 + (unsigned int)rand_r(&seed) % (what & 8 ? sizeof(buf) - 1 : 16);
		bool good = at + len <= PAGES * PAGE;

		if (what % 4 == 0) {
			if (owner[p] >= 0) {
				assert_int_equal(unmap(f, p * PAGE, PAGE, 0), 0);
				owner[p] = -1;
			} else {
				owner[p] = (int)(what >> 8 & 1);
				page_of[p] = (int)((what >> 9) % PAGES);
				assert_int_equal(map(f, fds[owner[p]], p * PAGE, PAGE,
						     (uint64_t)page_of[p] * PAGE, RW),
						 0);
			}
			continue;
		}
		for (size_t q = p; good && q <= (at + len - 1) / PAGE; q++)
			good = owner[q] >= 0;
		n_ok += good;
		n_refused += !good;
		if (what & 1) {
			for (size_t i = 0; i < len; i++)
				buf[i] = (uint8_t)rand_r(&seed);
			assert_int_equal(vfu_dma_wr(f->vfu, at, buf, len), good);
			for (size_t i = 0; good && i < len; i++) {
				size_t q = (at + i) / PAGE;

				mem[owner[q]][(size_t)page_of[q] * PAGE + (at + i) % PAGE] = buf[i];
			}
		} else {
			assert_int_equal(vfu_dma_rd(f->vfu, at, buf, len), good);
			for (size_t i = 0; good && i < len; i++) {
				size_t q = (at + i) / PAGE;

				assert_int_equal(
					buf[i],
					mem[owner[q]][(size_t)page_of[q] * PAGE + (at + i) % PAGE]);
			}
		}
	}
	assert_true(n_ok > 1000 && n_refused > 1000);
	close(fds[0]);
	close(fds[1]);
}

/* ---- interrupts ---- */

static int
set_irqs(struct fixture *f, uint32_t index, uint32_t flags, uint32_t start, uint32_t count,
	 const int *fds, unsigned int n_fds)
{
	struct vfu_irq_set s = {sizeof(s), flags, index, start, count};

	return ask_fds(f, VFU_DEVICE_SET_IRQS, &s, sizeof(s), fds, n_fds, NULL);
}

#define SET_EVENTFD (VFU_IRQ_DATA_EVENTFD | VFU_IRQ_ACTION_TRIGGER)
#define SET_NONE    (VFU_IRQ_DATA_NONE | VFU_IRQ_ACTION_TRIGGER)

static uint64_t
efd_value(int fd)
{
	uint64_t v = 0;

	return read(fd, &v, sizeof(v)) == (ssize_t)sizeof(v) ? v : 0;
}

static void
test_msix(void **state)
{
	struct fixture *f = *state;
	int e[2] = {eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};

	/* QEMU's order: enable with a count and no eventfd, off, then eventfds */
	assert_false(vfu_msix_raise(f->vfu, 0));
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 1, NULL, 0), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_NONE, 0, 0, NULL, 0), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 3, 2, e, 2), 0);
	assert_true(vfu_msix_raise(f->vfu, 3));
	assert_true(vfu_msix_raise(f->vfu, 4));
	assert_true(vfu_msix_raise(f->vfu, 4));
	assert_false(vfu_msix_raise(f->vfu, 5));
	assert_false(vfu_msix_raise(f->vfu, 65));
	assert_false(vfu_msix_raise(f->vfu, UINT32_MAX));
	assert_int_equal(efd_value(e[0]), 1);
	assert_int_equal(efd_value(e[1]), 2);
	/* replaced, then one taken away, then all */
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 3, 1, &e[1], 1), 0);
	assert_true(vfu_msix_raise(f->vfu, 3));
	assert_int_equal(efd_value(e[0]), 0);
	assert_int_equal(efd_value(e[1]), 1);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 3, 1, NULL, 0), 0);
	assert_false(vfu_msix_raise(f->vfu, 3));
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_NONE, 4, 1, NULL, 0), 0);
	assert_int_equal(efd_value(e[1]), 1);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_NONE, 0, 0, NULL, 0), 0);
	assert_false(vfu_msix_raise(f->vfu, 4));
	assert_int_equal(stats(f).n_irqs_raised, 5);
	assert_int_equal(stats(f).n_irqs_lost, 6);
	close(e[0]);
	close(e[1]);
}

static void
test_set_irqs_refused(void **state)
{
	struct fixture *f = *state;
	int e = eventfd(0, EFD_CLOEXEC), null = open("/dev/null", O_RDWR | O_CLOEXEC), two[2];
	struct vfu_irq_set s = {4, SET_NONE, VFU_IRQ_MSIX, 0, 1};

	two[0] = two[1] = e;
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 66, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 65, 1, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, UINT32_MAX, 2, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 1, UINT32_MAX, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_INTX, SET_EVENTFD, 0, 1, &e, 1), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSI, SET_EVENTFD, 0, 1, &e, 1), EINVAL);
	assert_int_equal(set_irqs(f, VFU_N_IRQS, SET_EVENTFD, 0, 1, &e, 1), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 1, &null, 1), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 1, two, 2), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_NONE | VFU_IRQ_DATA_BOOL, 0, 1, NULL, 0),
			 EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, VFU_IRQ_ACTION_TRIGGER, 0, 1, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, VFU_IRQ_DATA_NONE, 0, 1, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_NONE | 0x40, 0, 1, NULL, 0), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, VFU_IRQ_DATA_NONE | VFU_IRQ_ACTION_MASK, 0, 1,
				  NULL, 0),
			 ENOTSUP);
	/* the bytes of a bool set are not there */
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, VFU_IRQ_DATA_BOOL | VFU_IRQ_ACTION_TRIGGER, 0,
				  65, NULL, 0),
			 EINVAL);
	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, &s, sizeof(s), NULL), EINVAL);
	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, &s, 19, NULL), EINVAL);
	assert_int_equal(stats(f).n_irqs_raised, 0);
	close(e);
	close(null);
}

static void
test_error_interrupt(void **state)
{
	struct fixture *f = *state;
	int e = eventfd(0, EFD_CLOEXEC);

	assert_int_equal(set_irqs(f, VFU_IRQ_ERR, SET_EVENTFD, 0, 1, &e, 1), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_ERR, SET_EVENTFD, 0, 1, &e, 1), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_ERR, SET_EVENTFD, 0, 2, &e, 1), EINVAL);
	assert_int_equal(set_irqs(f, VFU_IRQ_ERR, SET_NONE, 0, 0, NULL, 0), 0);
	close(e);
}

/* An eventfd that is full must lose the interrupt, not stop the server. */
static void
test_full_eventfd(void **state)
{
	struct fixture *f = *state;
	int e = eventfd(0, EFD_CLOEXEC);
	uint64_t full = UINT64_MAX - 1;

	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 1, &e, 1), 0);
	assert_int_equal(write(e, &full, sizeof(full)), sizeof(full));
	assert_false(vfu_msix_raise(f->vfu, 0));
	assert_int_equal(stats(f).n_irqs_lost, 1);
	close(e);
}

static void
test_bool_trigger(void **state)
{
	struct fixture *f = *state;
	int e[3] = {eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK), eventfd(0, EFD_NONBLOCK)};
	struct vfu_irq_set s = {sizeof(s), VFU_IRQ_DATA_BOOL | VFU_IRQ_ACTION_TRIGGER, VFU_IRQ_MSIX,
				0, 3};
	uint8_t body[23];

	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 3, e, 3), 0);
	memcpy(body, &s, sizeof(s));
	body[20] = 1;
	body[21] = 0;
	body[22] = 1;
	assert_int_equal(ask(f, VFU_DEVICE_SET_IRQS, body, sizeof(body), NULL), 0);
	assert_int_equal(efd_value(e[0]), 1);
	assert_int_equal(efd_value(e[1]), 0);
	assert_int_equal(efd_value(e[2]), 1);
	for (int i = 0; i < 3; i++)
		close(e[i]);
}

/* ---- life ---- */

static void
test_server_outlives_client(void **state)
{
	struct fixture *f = *state;
	int fd = make_memfd(PAGE, true, 0x33), e = eventfd(0, EFD_CLOEXEC);
	uint8_t byte;

	assert_int_equal(map(f, fd, 0, PAGE, 0, RW), 0);
	assert_int_equal(set_irqs(f, VFU_IRQ_MSIX, SET_EVENTFD, 0, 1, &e, 1), 0);
	assert_int_equal(vfu_attach(f->vfu, f->client), -EBUSY);
	for (int i = 0; i < 10; i++)
		send_flags(f, VFU_DEVICE_GET_INFO, 0, NULL, 0, NULL, 0);
	close(f->client);
	assert_int_equal(vfu_process(f->vfu, 100), -ENOTCONN);
	assert_int_equal(f->n_resets, 1);
	/* what the client lent is given back */
	assert_false(vfu_dma_rd(f->vfu, 0, &byte, 1));
	assert_false(vfu_msix_raise(f->vfu, 0));
	assert_int_equal(vfu_process(f->vfu, 1), -ENOTCONN);
	close(fd);
	close(e);

	connect_client(f);
	assert_int_equal(ask(f, VFU_DEVICE_GET_INFO, NULL, 0, NULL), EINVAL);
	negotiate(f);
	assert_false(vfu_dma_rd(f->vfu, 0, &byte, 1));
}

static void
test_client_outlives_server(void **state)
{
	struct fixture *f = *state;
	char c;

	vfu_destroy(f->vfu);
	f->vfu = NULL;
	assert_int_equal(recv(f->client, &c, 1, 0), 0);
}

static void
test_impossible_devices(void **state)
{
	struct vfu_device dev = {
		.n_msix = 1,
		.reset = dev_reset,
		.config_read = dev_config_read,
		.config_write = dev_config_write,
		.bar_read = dev_bar_read,
		.bar_write = dev_bar_write,
	};
	struct vfu *vfu;

	(void)state;
	dev.n_msix = 0;
	assert_int_equal(vfu_create(&dev, &vfu), -EINVAL);
	dev.n_msix = VFU_MAX_MSIX + 1;
	assert_int_equal(vfu_create(&dev, &vfu), -EINVAL);
	dev.n_msix = 1;
	dev.reset = NULL;
	assert_int_equal(vfu_create(&dev, &vfu), -EINVAL);
	vfu_destroy(NULL);
}

/* Well-framed nonsense, with descriptors now and then: every request is answered once, and the
 * server still works at the end. */
static void
test_random_messages(void **state)
{
	struct fixture *f = *state;
	unsigned int seed = 99;
	int fd = make_memfd(4 * PAGE, false, 0), e = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	int fds[2] = {fd, e};
	uint8_t body[96];

	for (int i = 0; i < 30000; i++) {
		size_t len = (unsigned int)rand_r(&seed) % sizeof(body);
		unsigned int command = 2 + (unsigned int)rand_r(&seed) % 14, r;

		for (size_t k = 0; k < len; k += 4) {
			/* small numbers reach further than noise */
			uint32_t v = (uint32_t)rand_r(&seed);

			v = v & 1 ? v & 0x3f : v & 2 ? v : UINT32_MAX;
			memcpy(body + k, &v, len - k < 4 ? len - k : 4);
		}
		r = (unsigned int)rand_r(&seed);
		ask_fds(f, command, body, len, &fds[r & 1], r % 3 == 0 ? 1 : 0, NULL);
	}
	assert_int_equal(unmap(f, 0, 0, VFU_UNMAP_ALL), 0);
	assert_int_equal(map(f, fd, 0, PAGE, 0, RW), 0);
	assert_true(stats(f).n_error_replies > 1000);
	close(fd);
	close(e);
}

#define T(name)   cmocka_unit_test_setup_teardown(name, setup, teardown)
#define RAW(name) cmocka_unit_test_setup_teardown(name, setup_raw, teardown)

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		RAW(test_nothing_before_version),
		RAW(test_version_refused),
		RAW(test_version_reply_fits_request),
		RAW(test_version_reply_text),
		T(test_device_info),
		T(test_region_info),
		T(test_irq_info),
		T(test_unknown_commands),
		T(test_config_whole),
		T(test_bar_sizes),
		T(test_region_refused),
		T(test_posted_writes),
		T(test_size_too_small),
		T(test_size_too_large),
		T(test_largest_message),
		T(test_end_inside_message),
		T(test_byte_by_byte),
		T(test_replies_are_dropped),
		T(test_budget),
		T(test_client_that_does_not_read),
		T(test_unwanted_descriptors),
		T(test_descriptors_in_pieces),
		T(test_map_refused),
		T(test_map_overlap),
		T(test_spans),
		T(test_permissions),
		T(test_unmap),
		T(test_file_shrinks),
		T(test_file_grows),
		T(test_too_many_files),
		T(test_map_unmap_against_oracle),
		T(test_msix),
		T(test_set_irqs_refused),
		T(test_error_interrupt),
		T(test_full_eventfd),
		T(test_bool_trigger),
		T(test_server_outlives_client),
		T(test_client_outlives_server),
		T(test_random_messages),
		cmocka_unit_test(test_impossible_devices),
	};

	return UT_RUN(tests, NULL, NULL);
}
