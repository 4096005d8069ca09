/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each buffer is a mapping of its own: whole pages for the data, which is placed at their end, and
 * one page with no access rights behind. What lies before the data is filled with a byte that no
 * header likes, so that a read too early shows as well. Test code: when mapping fails, the program
 * ends.
 */
#include "ut_guard.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_mbuf.h>

#if defined(__SANITIZE_ADDRESS__)
#define UT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UT_ASAN 1
#endif
#endif
#ifdef UT_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, len)   ((void)(p), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(p, len) ((void)(p), (void)(len))
#endif

#define FILL 0xa5

static atomic_uint n_live;

static void
die(const char *what)
{
	perror(what);
	abort();
}

/* Bytes of the accessible part of a mapping that holds len bytes. */
static size_t
room_for(size_t len)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return len == 0 ? page : (len + page - 1) / page * page;
}

/* Map room bytes with a guard page behind them; returns the first byte. */
static uint8_t *
map_guarded(size_t room)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *base;

	base = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (base == MAP_FAILED)
		die("guard mmap");
	if (mprotect(base + room, page, PROT_NONE) < 0)
		die("guard mprotect");
	memset(base, FILL, room);
	return base;
}

static void
unmap_guarded(uint8_t *base, size_t room)
{
	if (munmap(base, room + (size_t)sysconf(_SC_PAGESIZE)) < 0)
		die("guard munmap");
}

static void
fill(uint8_t *to, const void *bytes, size_t len)
{
	size_t i;

	if (bytes != NULL && len > 0)
		memcpy(to, bytes, len);
	else
		for (i = 0; i < len; i++)
			to[i] = (uint8_t)(i * 7 + 1);
}

uint8_t *
ut_guard_frame(const void *bytes, size_t len)
{
	const size_t room = room_for(len);
	uint8_t *base = map_guarded(room);

	fill(base + room - len, bytes, len);
	ASAN_POISON_MEMORY_REGION(base, room - len);
	return base + room - len;
}

void
ut_guard_free(uint8_t *frame, size_t len)
{
	const size_t room = room_for(len);
	uint8_t *base = frame + len - room;

	/* Shadow memory outlives the mapping: the next one here must not inherit it. */
	ASAN_UNPOISON_MEMORY_REGION(base, room);
	unmap_guarded(base, room);
}

/* What DPDK keeps for an external buffer, and what is needed to give it back. */
struct guard_buf {
	struct rte_mbuf_ext_shared_info shinfo;
	size_t room;
};

static void
free_guard_buf(void *base, void *opaque)
{
	struct guard_buf *buf = opaque;

	unmap_guarded(base, buf->room);
	free(buf);
	atomic_fetch_sub(&n_live, 1);
}

static struct rte_mbuf *
guard_segment(struct rte_mempool *pool, const void *bytes, size_t len, size_t headroom)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct guard_buf *buf = calloc(1, sizeof(*buf));
	uint8_t *base;

	if (m == NULL || buf == NULL)
		die("guard mbuf");
	buf->room = room_for(headroom + len);
	if (buf->room > UINT16_MAX || headroom + len > UINT16_MAX) {
		fprintf(stderr, "guard mbuf: %zu bytes do not fit into one segment\n", len);
		abort();
	}
	base = map_guarded(buf->room);
	fill(base + buf->room - len, bytes, len);
	buf->shinfo.free_cb = free_guard_buf;
	buf->shinfo.fcb_opaque = buf;
	rte_mbuf_ext_refcnt_set(&buf->shinfo, 1);
	rte_pktmbuf_attach_extbuf(m, base, (rte_iova_t)(uintptr_t)base, (uint16_t)buf->room,
				  &buf->shinfo);
	m->data_off = (uint16_t)(buf->room - len);
	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	atomic_fetch_add(&n_live, 1);
	return m;
}

struct rte_mbuf *
ut_guard_mbuf(struct rte_mempool *pool, const void *bytes, size_t len)
{
	return guard_segment(pool, bytes, len, RTE_PKTMBUF_HEADROOM);
}

struct rte_mbuf *
ut_guard_mbuf_split(struct rte_mempool *pool, const void *bytes, size_t len, const size_t *cuts,
		    size_t n_cuts)
{
	uint8_t *all = malloc(len + 1);
	struct rte_mbuf *head = NULL;
	struct rte_mbuf *seg;
	size_t start = 0;
	size_t end;
	size_t i;

	if (all == NULL)
		die("guard mbuf");
	fill(all, bytes, len); /* one pattern over the whole when there are no bytes */
	for (i = 0; i <= n_cuts; i++) {
		end = i < n_cuts ? cuts[i] : len;
		if (end < start || end > len) {
			fprintf(stderr, "guard mbuf: cut %zu at %zu of %zu\n", i, end, len);
			abort();
		}
		seg = guard_segment(pool, all + start, end - start,
				    head == NULL ? RTE_PKTMBUF_HEADROOM : 0);
		if (head == NULL)
			head = seg;
		else if (rte_pktmbuf_chain(head, seg) < 0)
			die("guard mbuf: too many segments");
		start = end;
	}
	free(all);
	return head;
}

unsigned int
ut_guard_live(void)
{
	return atomic_load(&n_live);
}
