/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output queues.  HOT.  See liq_oq.h.
 *
 * The usual packet - a frame, in one buffer, with or without the hash word as the card is in the
 * habit of, no VLAN tag - is recognised by one masked compare of its header and one range check
 * of its length, and becomes an mbuf with four stores.  Everything else takes take_odd().
 *
 * The length word is set to 0 when it was read: a count that comes before its packet then finds
 * no packet, and not the last one once more.
 */
#include "liq_oq.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>

#include "liq_fw.h"
#include "liq_log.h"

#define RH_FRAME       UINT64_C(0x102) /* opcode NIC, subcode NW_DATA */
#define RH_KIND_SHIFT  52
#define RH_TAG         (UINT64_C(0x7FFF) << 6) /* VLAN and priority */
#define RH_LOW         63u                     /* checksums, time stamp, tunnel, hash */
#define RH_EXPECT_MASK ((UINT64_C(0x7FFF) << 49) | RH_TAG | LIQ_RH_HWTSTAMP | LIQ_RH_HASH)

#define FRAME_MIN      14u
#define COUNT_HIGH     (UINT32_C(1) << 30) /* counts are brought down from there */
#define BAD_RUN_MAX    8u                  /* resyncs in a row, without one good packet */
#define PREFETCH_AHEAD 3u

#define HASH_TYPE_INDEX(word) ((word) >> 8 & 63)

/* The same of words in the card's byte order, which are those of memory on big-endian hosts. */
#if RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN
#define RAW_LOW(rh)          ((rh) >> 56 & RH_LOW)
#define RAW_HASH_TYPE(word)  ((word) >> 48 & 63)
#define RAW_HASH_VALUE(word) ((uint64_t)rte_bswap32((uint32_t)(word)))
#else
#define RAW_LOW(rh)          ((rh)&RH_LOW)
#define RAW_HASH_TYPE(word)  HASH_TYPE_INDEX(word)
#define RAW_HASH_VALUE(word) ((word) >> 32)
#endif

#define PTYPE_IP4 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4_EXT_UNKNOWN)
#define PTYPE_IP6 (RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6_EXT_UNKNOWN)

/* By the type code of the hash word: what was hashed is what the packet is. */
static const uint32_t ptype_of[64] = {
	[0] = RTE_PTYPE_L2_ETHER, /* no hash */
	[HASH_TYPE_INDEX(LIQ_HASH_IPV4)] = PTYPE_IP4,
	[HASH_TYPE_INDEX(LIQ_HASH_TCP_IPV4)] = PTYPE_IP4 | RTE_PTYPE_L4_TCP,
	[HASH_TYPE_INDEX(LIQ_HASH_IPV6)] = PTYPE_IP6,
	[HASH_TYPE_INDEX(LIQ_HASH_IPV6_EX)] = PTYPE_IP6,
	[HASH_TYPE_INDEX(LIQ_HASH_TCP_IPV6)] = PTYPE_IP6 | RTE_PTYPE_L4_TCP,
	[HASH_TYPE_INDEX(LIQ_HASH_TCP_IPV6_EX)] = PTYPE_IP6 | RTE_PTYPE_L4_TCP,
};

static_assert(offsetof(struct rte_mbuf, pkt_len) ==
			      offsetof(struct rte_mbuf, rx_descriptor_fields1) + 4 &&
		      offsetof(struct rte_mbuf, data_len) ==
			      offsetof(struct rte_mbuf, rx_descriptor_fields1) + 8 &&
		      offsetof(struct rte_mbuf, hash.rss) ==
			      offsetof(struct rte_mbuf, rx_descriptor_fields1) + 12,
	      "mbuf: two words of what was received");

static inline uint64_t *
head_of(const struct rte_mbuf *m)
{
	return (uint64_t *)((uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM);
}

/* Eight bytes of an mbuf at once. */
static inline uint64_t *
word_of(struct rte_mbuf *m, size_t off)
{
	return (uint64_t *)((uint8_t *)m + off);
}

static inline uint32_t
after(const struct liq_oq *oq, uint32_t i, uint32_t n)
{
	i += n;
	return i < oq->n_desc ? i : i - oq->n_desc;
}

/* ---- refill ---- */

static inline void
post(const struct liq_oq *oq, uint32_t at, uint32_t n)
{
	struct liq_out_desc *desc = oq->desc + at;
	struct rte_mbuf **rec = oq->rec + at;

	for (uint32_t i = 0; i < n; i++)
		desc[i].buf_iova = rec[i]->buf_iova + RTE_PKTMBUF_HEADROOM;
}

/* Fills up to n descriptors from the tail, one run; how many. */
static uint32_t
refill_run(struct liq_oq *oq, uint32_t n)
{
	uint32_t to_end = oq->n_desc - oq->tail;
	void **rec = (void **)oq->rec + oq->tail;

	n = n < to_end ? n : to_end;
	if (unlikely(rte_mempool_get_bulk(oq->pool, rec, n) < 0)) {
		oq->n.n_nombuf++;
		/* with few buffers left each single one counts */
		if (oq->n_posted >= oq->free_thresh || rte_mempool_get_bulk(oq->pool, rec, 1) < 0)
			return 0;
		n = 1;
	}
	post(oq, oq->tail, n);
	oq->tail = after(oq, oq->tail, n);
	oq->n_posted += n;
	return n;
}

static __rte_noinline void
refill(struct liq_oq *oq)
{
	uint32_t n = 0, n_run;

	while (oq->n_posted < oq->n_desc &&
	       (n_run = refill_run(oq, oq->n_desc - oq->n_posted)) != 0)
		n += n_run;
	if (n != 0)
		liq_w32(&oq->io, oq->off + LIQ_REG_OUT_CRED, n); /* barrier included */
}

/* ---- the unusual ---- */

/* The n oldest buffers have nothing for anybody. */
static void
discard(struct liq_oq *oq, uint32_t at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) /* hot-ok: a buffer that came back empty or broken */
		rte_mbuf_raw_free(oq->rec[after(oq, at, i)]);
}

static void
stop(struct liq_oq *oq)
{
	oq->n.n_lies++;
	oq->broken = true;
	oq->n_known = 0;
}

/*
 * It is not clear which descriptors the card has used: ask it.  All of them are dropped, and all
 * packets counted so far with them.  While packets stream in the answer may not hold still; then the
 * next burst asks again.
 */
static __rte_noinline void
resync(struct liq_oq *oq)
{
	uint32_t left, left_again, count, used, n_tries = 4;

	do {
		left = liq_r32(&oq->io, oq->off + LIQ_REG_OUT_CRED);
		count = liq_r32(&oq->io, oq->off + LIQ_REG_CNTS);
		left_again = liq_r32(&oq->io, oq->off + LIQ_REG_OUT_CRED);
	} while (left != left_again && --n_tries != 0);
	oq->n.n_resyncs++;
	if (left > oq->n_posted || ++oq->bad_run > BAD_RUN_MAX) {
		stop(oq);
		return;
	}
	if (left != left_again)
		return;
	used = oq->n_posted - left;
	oq->n.n_errors += (uint32_t)(oq->n_known + (count - oq->seen)) <= oq->n_desc
				  ? oq->n_known + (count - oq->seen)
				  : 1;
	discard(oq, oq->head, used);
	oq->head = after(oq, oq->head, used);
	oq->n_posted -= used;
	oq->seen = count;
	oq->n_known = 0;
}

void
liq_notice_take(struct liq_notices *notices, uint64_t rh, const uint8_t *data, uint32_t len)
{
	uint64_t kind = liq_get(rh, LIQ_RH_SUBCODE), vf;

	if (liq_get(rh, LIQ_RH_OPCODE) != LIQ_OPCODE_NIC)
		kind = UINT64_MAX;
	if (kind == LIQ_FW_INFO && len == 8) {
		atomic_store_explicit(&notices->link, liq_be64_load(data), memory_order_relaxed);
		/* release: pairs with liq_link_poll(), which then reads the word */
		atomic_store_explicit(&notices->n_link, notices->n_link + 1, memory_order_release);
	} else if (kind == LIQ_FW_CORE_ACTIVE) {
		atomic_store_explicit(&notices->core_active, rh, memory_order_release);
	} else if (kind == LIQ_FW_VF_NOTICE && len >= 8 &&
		   (vf = liq_be64_load(data)) - 1 < LIQ_PF_MAX_VFS) {
		uint64_t vfs = notices->vfs_loaded, bit = UINT64_C(1) << (vf - 1);

		if (liq_get(rh, LIQ_RH_OSSP) == LIQ_VF_NOTICE_LOADED)
			vfs |= bit;
		else if (liq_get(rh, LIQ_RH_OSSP) == LIQ_VF_NOTICE_REMOVED)
			vfs &= ~bit;
		atomic_store_explicit(&notices->vfs_loaded, vfs, memory_order_relaxed);
	} else {
		atomic_store_explicit(&notices->n_other, notices->n_other + 1,
				      memory_order_relaxed);
	}
}

/* Follows the card's habit of putting a hash word there or not. */
static void
expect(struct liq_oq *oq, uint32_t n_words)
{
	uint64_t first_off = RTE_PKTMBUF_HEADROOM + LIQ_OUT_HEAD + 8 * n_words;

	oq->mode = n_words;
	oq->expect_rh = liq_be64(RH_FRAME << RH_KIND_SHIFT | liq_put(LIQ_RH_LEN, n_words) |
				 (n_words ? LIQ_RH_HASH : 0));
	oq->hash_mask = n_words ? UINT64_MAX : 0;
	oq->head_bytes = 8 + 8 * n_words;
	oq->span = oq->buf_bytes - LIQ_OUT_LEN_BYTES - oq->head_bytes - FRAME_MIN;
	/* data_off, refcnt, nb_segs, port as they lie in an mbuf */
	oq->rearm = first_off | UINT64_C(1) << 16 | UINT64_C(1) << 32 | (uint64_t)oq->port_id << 48;
}

/* The card took the tag out.  Whoever did not ask for that gets it back. */
static void
put_tag(struct liq_oq *oq, struct rte_mbuf *m, uint64_t rh)
{
	uint16_t tci = (uint16_t)(liq_get(rh, LIQ_RH_PRIORITY) << 13 | liq_get(rh, LIQ_RH_VLAN));
	uint8_t *frame;

	if (oq->want_strip) {
		m->vlan_tci = tci;
		m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
		return;
	}
	/* the room of the header that was in front of the frame */
	frame = (uint8_t *)m->buf_addr + m->data_off - 4;
	memmove(frame, frame + 4, 12);
	frame[12] = 0x81;
	frame[13] = 0x00;
	frame[14] = (uint8_t)(tci >> 8);
	frame[15] = (uint8_t)tci;
	m->data_off -= 4;
	m->data_len += 4;
	m->pkt_len += 4;
}

/* The frame whose first buffer is descriptor i, over n_bufs buffers of which n_bytes are used. */
static struct rte_mbuf *
chain_up(struct liq_oq *oq, uint32_t i, uint32_t n_bufs, uint32_t n_bytes, uint32_t skip)
{
	struct rte_mbuf *first = oq->rec[i], *last = first;
	uint32_t left = n_bytes;

	for (uint32_t k = 0; k < n_bufs; k++) {
		struct rte_mbuf *m = oq->rec[after(oq, i, k)];
		uint32_t n = left < oq->buf_bytes ? left : oq->buf_bytes;
		uint64_t head = k == 0 ? skip : 0;

		*word_of(m, offsetof(struct rte_mbuf, rearm_data)) =
			(RTE_PKTMBUF_HEADROOM + head) | UINT64_C(1) << 16 | UINT64_C(1) << 32 |
			(uint64_t)oq->port_id << 48;
		m->data_len = (uint16_t)(n - head);
		m->ol_flags = 0;
		if (k != 0)
			last->next = m;
		last = m;
		left -= n;
	}
	first->nb_segs = (uint16_t)n_bufs;
	first->pkt_len = n_bytes - skip;
	return first;
}

/*
 * A packet that is not like the one expected.  Returns the descriptors that it has used and, in m,
 * the frame, or NULL when there is none; 0: what it says cannot be true.
 */
static __rte_noinline uint32_t
take_odd(struct liq_oq *oq, uint32_t i, uint32_t n_left, struct rte_mbuf **m)
{
	uint64_t *head = head_of(oq->rec[i]);
	uint64_t length = liq_be64(head[0]), rh = liq_be64(head[1]);
	uint32_t n_words = (uint32_t)liq_get(rh, LIQ_RH_LEN), skip = LIQ_OUT_HEAD + 8 * n_words;
	uint32_t n_own = !!(rh & LIQ_RH_HASH) + !!(rh & LIQ_RH_HWTSTAMP), n_bufs, n_bytes;
	uint64_t word;

	*m = NULL;
	if (length < 8 + 8 * n_words || length > LIQ_OQ_PKT_MAX)
		return 0;
	n_bytes = (uint32_t)length + LIQ_OUT_LEN_BYTES;
	n_bufs = (n_bytes + oq->buf_bytes - 1) / oq->buf_bytes;
	if (n_bufs > n_left)
		return 0;
	word = liq_be64(head[2]);
	head[0] = 0;
	if (rh >> RH_KIND_SHIFT != RH_FRAME) {
		if (n_bufs == 1)
			liq_notice_take(oq->notices, rh, (const uint8_t *)head + skip,
					n_bytes - skip);
		oq->n.n_notices++;
		discard(oq, i, n_bufs);
		return n_bufs;
	}
	if (n_own > n_words || n_bytes < skip + FRAME_MIN) {
		oq->n.n_errors++;
		discard(oq, i, n_bufs);
		return n_bufs;
	}
	*m = chain_up(oq, i, n_bufs, n_bytes, skip);
	(*m)->ol_flags = oq->ol_flags[rh & RH_LOW & ~LIQ_RH_HWTSTAMP];
	(*m)->packet_type = RTE_PTYPE_L2_ETHER;
	(*m)->vlan_tci = 0;
	if (rh & LIQ_RH_HASH) {
		(*m)->hash.rss = (uint32_t)liq_get(word, LIQ_HASH_VALUE);
		(*m)->packet_type = ptype_of[HASH_TYPE_INDEX(word)];
	}
	oq->n.n_bytes += (*m)->pkt_len;
	oq->n.n_chains += n_bufs > 1;
	if (rh & RH_TAG)
		put_tag(oq, *m, rh);
	else if (n_bufs == 1 && n_words == n_own && !(rh & LIQ_RH_HWTSTAMP))
		expect(oq, n_words);
	return n_bufs;
}

/* ---- the burst ---- */

/* Packets that may be taken, up to n. */
static inline uint32_t
known(struct liq_oq *oq, uint32_t n)
{
	if (oq->n_known < n) {
		uint32_t count;

		if (unlikely(oq->broken))
			return 0;
		count = liq_r32(&oq->io, oq->off + LIQ_REG_CNTS); /* barrier included */
		oq->n_known += count - oq->seen;
		oq->seen = count;
		if (unlikely(oq->n_known > oq->n_posted)) {
			resync(oq);
			return 0;
		}
		if (unlikely(count >= COUNT_HIGH)) {
			liq_w32(&oq->io, oq->off + LIQ_REG_CNTS, count); /* subtracts */
			oq->seen = 0;
		}
	}
	return n < oq->n_known ? n : oq->n_known;
}

/*
 * Takes packets from descriptor i on as long as they look as expected, up to n, which do not wrap.
 * Words stay as they lie in memory as far as possible: header and hash word are compared and cut in
 * the card's byte order.
 */
static __rte_always_inline uint32_t
take_quick(struct liq_oq *oq, uint32_t i, struct rte_mbuf **pkts, uint32_t n, uint64_t *n_bytes)
{
	struct rte_mbuf **rec = oq->rec + i;
	const uint64_t expect_rh = oq->expect_rh, rearm = oq->rearm, hash_mask = oq->hash_mask;
	const uint64_t mask = liq_be64(RH_EXPECT_MASK), least = oq->head_bytes + FRAME_MIN;
	const uint64_t span = oq->span;
	uint64_t bytes = 0;
	uint32_t k;

	for (k = 0; k < n; k++) {
		struct rte_mbuf *m = rec[k];
		uint64_t *head = head_of(m), *fields;
		uint64_t over = liq_be64(head[0]) - least, rh = head[1], hash;

		rte_prefetch0(head_of(rec[k + PREFETCH_AHEAD]));
		if (unlikely((rh & mask) != expect_rh || over > span))
			break;
		hash = head[2] & hash_mask;
		head[0] = 0;
		over += FRAME_MIN; /* the frame's length */
		fields = word_of(m, offsetof(struct rte_mbuf, rx_descriptor_fields1));
		*word_of(m, offsetof(struct rte_mbuf, rearm_data)) = rearm;
		m->ol_flags = oq->ol_flags[RAW_LOW(rh)];
		fields[0] = ptype_of[RAW_HASH_TYPE(hash)] | over << 32;
		fields[1] = RAW_HASH_VALUE(hash) << 32 | over; /* no tag */
		pkts[k] = m;
		bytes += over;
	}
	*n_bytes += bytes;
	return k;
}

uint16_t
liq_rx_burst(void *rxq, struct rte_mbuf **pkts, uint16_t n_max)
{
	struct liq_oq *oq = rxq;
	uint32_t n = known(oq, n_max), i = oq->head, n_used = 0, n_left = n;
	struct rte_mbuf **out = pkts, *m;
	uint64_t bytes = 0;

	while (n_left != 0) {
		uint32_t run = n_left < oq->n_desc - i ? n_left : oq->n_desc - i;
		uint32_t n_quick = take_quick(oq, i, out, run, &bytes), used;

		out += n_quick;
		n_left -= n_quick;
		n_used += n_quick;
		i = after(oq, i, n_quick);
		if (likely(n_quick == run))
			continue;
		used = take_odd(oq, i, oq->n_posted - n_used, &m);
		if (unlikely(used == 0))
			break;
		if (m)
			*out++ = m;
		n_left--;
		n_used += used;
		i = after(oq, i, used);
	}
	oq->head = i;
	oq->n_posted -= n_used;
	oq->n_known -= n - n_left;
	oq->n.n_pkts += (uint64_t)(out - pkts);
	oq->n.n_bytes += bytes;
	if (unlikely(n_left != 0))
		resync(oq);
	else if (out != pkts)
		oq->bad_run = 0;
	if (unlikely(oq->n_desc - oq->n_posted >= oq->free_thresh))
		refill(oq);
	return (uint16_t)(out - pkts);
}

/* ---- control ---- */

uint32_t
liq_oq_waiting(const struct liq_oq *oq)
{
	uint32_t n = liq_r32(&oq->io, oq->off + LIQ_REG_CNTS) - oq->seen + oq->n_known;

	return n < oq->n_posted ? n : oq->n_posted;
}

uint32_t
liq_oq_flush(struct liq_oq *oq)
{
	struct liq_oq_stats was = oq->n;
	struct rte_mbuf *pkts[32];
	uint32_t n_frames = 0, n_seen;

	/* notices do their work; frames do not count as received */
	do {
		uint16_t n = liq_rx_burst(oq, pkts, RTE_DIM(pkts));

		rte_pktmbuf_free_bulk(pkts, n);
		n_frames += n;
		n_seen = n_frames + (uint32_t)(oq->n.n_notices - was.n_notices);
	} while (oq->n_known != 0 && n_seen < oq->n_desc);
	oq->n.n_pkts = was.n_pkts;
	oq->n.n_bytes = was.n_bytes;
	oq->n.n_chains = was.n_chains;
	return n_frames;
}

static uint32_t
buffer_bytes(const struct rte_mempool *pool)
{
	uint32_t room = rte_pktmbuf_data_room_size((struct rte_mempool *)(uintptr_t)pool);
	uint32_t most = (UINT32_C(1) << 16) - RTE_CACHE_LINE_SIZE;

	room = room > RTE_PKTMBUF_HEADROOM ? room - RTE_PKTMBUF_HEADROOM : 0;
	return room < most ? room : most;
}

uint32_t
liq_oq_room_bytes(const struct rte_mempool *pool)
{
	uint32_t bytes = buffer_bytes(pool);

	return bytes > LIQ_RX_HEAD_MAX ? bytes - LIQ_RX_HEAD_MAX : 0;
}

/* What the low bits of a header say in mbuf flags. */
static uint64_t
flags_of(uint64_t rh, uint64_t offloads)
{
	uint64_t csum = liq_get(rh, LIQ_RH_CSUM), flags = 0;
	/* of a tunnel the inner sums count, and the outer ones must hold as well */
	bool inner = !(rh & LIQ_RH_ENCAP) || (csum & LIQ_RH_CSUM_TNL);

	if ((rh & LIQ_RH_HASH) && (offloads & RTE_ETH_RX_OFFLOAD_RSS_HASH))
		flags |= RTE_MBUF_F_RX_RSS_HASH;
	if ((csum & LIQ_RH_CSUM_IP) && inner && (offloads & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM))
		flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	if ((csum & LIQ_RH_CSUM_L4) && inner &&
	    (offloads & (RTE_ETH_RX_OFFLOAD_UDP_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM)))
		flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
	return flags;
}

/* Frees what the ring holds. */
void
liq_oq_drop(struct liq_oq *oq)
{
	discard(oq, oq->head, oq->n_posted);
	oq->head = oq->tail = 0;
	oq->n_posted = 0;
	oq->n_known = 0;
}

int
liq_oq_program(struct liq_oq *oq)
{
	uint32_t r = oq->off;

	liq_oq_drop(oq);
	/* in lots: a pool has what it has in its ring and in the caches of lcores */
	while (oq->n_posted < oq->n_desc) {
		uint32_t n = oq->n_desc - oq->n_posted;

		if (refill_run(oq, n < 32 ? n : 32) == 0) {
			LIQ_LOG(ERR, "port %u rx queue %u: pool %s has no %u mbufs", oq->port_id,
				oq->queue, oq->pool->name, oq->n_desc);
			liq_oq_drop(oq);
			return -ENOMEM;
		}
	}
	/* beyond the end there is something harmless to prefetch */
	for (uint32_t i = 0; i < PREFETCH_AHEAD; i++)
		oq->rec[oq->n_desc + i] = oq->rec[i];
	for (uint32_t i = 0; i < oq->n_desc; i++)
		head_of(oq->rec[i])[0] = 0;
	for (uint64_t low = 0; low < RTE_DIM(oq->ol_flags); low++)
		oq->ol_flags[low] = flags_of(low, oq->offloads);
	oq->want_strip = oq->offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	oq->seen = 0;
	oq->bad_run = 0;
	oq->broken = false;
	expect(oq, oq->mode);
	liq_w64(&oq->io, r + LIQ_REG_OUT_BASE, oq->mem.iova);
	liq_w32(&oq->io, r + LIQ_REG_OUT_SIZE, oq->n_desc);
	liq_w32(&oq->io, r + LIQ_REG_OUT_BUF, oq->buf_bytes);
	/* before the ring is enabled, as the PF's first queue wants it */
	liq_w32(&oq->io, r + LIQ_REG_OUT_CRED, oq->n_desc);
	return 0;
}

int
liq_oq_create(const struct liq_oq_cfg *cfg, struct liq_oq **out)
{
	size_t rec_off = sizeof(struct liq_out_desc) * cfg->n_desc;
	size_t own_off = RTE_ALIGN_CEIL(rec_off + sizeof(void *) * (cfg->n_desc + PREFETCH_AHEAD),
					(size_t)RTE_CACHE_LINE_SIZE);
	struct liq_mem mem;
	struct liq_oq *oq;
	int ret;

	if (buffer_bytes(cfg->pool) < LIQ_RX_BUF_MIN) {
		LIQ_LOG(ERR,
			"port %u rx queue %u: pool %s: %u bytes behind the headroom, wanted %u",
			cfg->port_id, cfg->queue, cfg->pool->name, buffer_bytes(cfg->pool),
			LIQ_RX_BUF_MIN);
		return -EINVAL;
	}
	ret = liq_mem_take(&mem, cfg->port_id, "rx", cfg->queue, own_off + sizeof(*oq),
			   cfg->socket_id);
	if (ret < 0)
		return ret;
	oq = (struct liq_oq *)(mem.addr + own_off);
	oq->mem = mem;
	oq->desc = (struct liq_out_desc *)mem.addr;
	oq->rec = (struct rte_mbuf **)(mem.addr + rec_off);
	oq->io = cfg->io;
	oq->off = LIQ_RING(cfg->ring);
	oq->n_desc = cfg->n_desc;
	oq->pool = cfg->pool;
	oq->buf_bytes = buffer_bytes(cfg->pool);
	oq->free_thresh = cfg->free_thresh ? cfg->free_thresh : LIQ_RX_FREE_DFLT;
	oq->notices = cfg->notices;
	oq->port_id = cfg->port_id;
	oq->queue = cfg->queue;
	oq->socket_id = cfg->socket_id;
	oq->offloads = cfg->offloads;
	oq->mode = 1;
	*out = oq;
	return 0;
}

void
liq_oq_destroy(struct liq_oq *oq)
{
	struct liq_mem mem;

	if (!oq)
		return;
	liq_oq_drop(oq);
	mem = oq->mem; /* which holds the struct itself */
	liq_mem_give(&mem);
}
