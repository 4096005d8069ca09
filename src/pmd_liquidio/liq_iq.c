/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input queues.  HOT.  See liq_iq.h.
 *
 * A frame of one segment costs three words of its entry and its record; the others are written
 * once, at set-up, and again behind a command.  A burst fills entries in at most two runs, so
 * that there is no question about the ring's end per packet, then one barrier and one doorbell.
 *
 * The quick bursts gather the unusual (chains, over-long segments, tags, tunnels) in one or-ed
 * word and look at it once, before the doorbell: nothing is committed yet, so the burst is then
 * done again by the full one.
 */
#include "liq_iq.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_prefetch.h>

/* What only the full burst can do. */
#define RARE_FLAGS                                                                                 \
	(RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_OUTER_UDP_CKSUM |       \
	 RTE_MBUF_F_TX_TUNNEL_MASK)

#define KNOWN_FLAGS                                                                                \
	(RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_OUTER_IP_CKSUM | RTE_MBUF_F_TX_TUNNEL_MASK |           \
	 RTE_MBUF_F_TX_IP_CKSUM | RTE_MBUF_F_TX_L4_MASK | RTE_MBUF_F_TX_IPV4 |                     \
	 RTE_MBUF_F_TX_IPV6 | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_OUTER_IPV6)

/* data_off, refcnt, nb_segs, port: one word of an mbuf. */
#define REARM_SEGS_OVER_1 UINT64_C(0x0000FFFE00000000)
#define LENS_OVER         UINT32_C(0xFFFFC000) /* more than ih3 holds */

#define CHAIN 1ul /* in a record */

/* Bits 54 and 52 (set for TCP and UDP, clear for SCTP) go to where the card wants them. */
static_assert(RTE_MBUF_F_TX_IP_CKSUM == (UINT64_C(1) << 54), "IP checksum flag");
static_assert((RTE_MBUF_F_TX_TCP_CKSUM & RTE_MBUF_F_TX_UDP_CKSUM) == (UINT64_C(1) << 52) &&
		      !(RTE_MBUF_F_TX_SCTP_CKSUM & (UINT64_C(1) << 52)),
	      "L4 checksum flags");
static_assert(LIQ_PKT_IP_CSUM == 1 << 7 && LIQ_PKT_L4_CSUM == 1 << 6, "packet parameter");
static_assert(offsetof(struct rte_mbuf, rearm_data) % 8 == 0, "mbuf");

static inline uint64_t
checksum_bits(uint64_t ol_flags)
{
	return (ol_flags >> (54 - 7) & LIQ_PKT_IP_CSUM) | (ol_flags >> (52 - 6) & LIQ_PKT_L4_CSUM);
}

static inline uint64_t
rearm_word(const struct rte_mbuf *m)
{
	return *(const uint64_t *)((const uint8_t *)m + offsetof(struct rte_mbuf, rearm_data));
}

/* ---- completion ---- */

/* One of the queue's frames per round; frees directs of one owner in lots. */
static void
free_singles(struct rte_mbuf **rec, uint32_t n)
{
	struct rte_mbuf *lot[64];
	uint32_t n_lot = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = rte_pktmbuf_prefree_seg(rec[i]);

		if (unlikely(!m))
			continue;
		if (n_lot == RTE_DIM(lot) || (n_lot != 0 && m->pool != lot[0]->pool)) {
			/* hot-ok: a frame that was sent goes back to its pool */
			rte_mempool_put_bulk(lot[0]->pool, (void **)lot, n_lot);
			n_lot = 0;
		}
		lot[n_lot++] = m;
	}
	if (n_lot != 0) /* hot-ok: a frame that was sent goes back to its pool */
		rte_mempool_put_bulk(lot[0]->pool, (void **)lot, n_lot);
}

/* A command overwrites words that frames rely on. */
static void
restore_entry(struct liq_iq *iq, uint32_t i)
{
	struct liq_instr *e = &iq->ring[i];

	memset(e, 0, sizeof(*e));
	e->pki_ih3 = iq->pki_ih3;
}

static void
free_mixed(struct liq_iq *iq, uint32_t at, uint32_t n)
{
	for (uint32_t i = at; i < at + n; i++) {
		uintptr_t rec = (uintptr_t)iq->rec[i];

		if (rec & CHAIN) {
			/* hot-ok: a chain that was sent goes back to its pool */
			rte_pktmbuf_free((struct rte_mbuf *)(rec & ~CHAIN));
			iq->n_special--;
		} else if (rec == 0) {
			restore_entry(iq, i);
			iq->n_special--;
			iq->n.n_cmds++;
		} else {
			/* hot-ok: a frame that was sent goes back to its pool */
			rte_pktmbuf_free_seg((struct rte_mbuf *)rec);
		}
	}
}

static inline void
free_run(struct liq_iq *iq, uint32_t at, uint32_t n)
{
	struct rte_mbuf **rec = iq->rec + at;

	if (unlikely(iq->n_special != 0))
		free_mixed(iq, at, n);
	else if (iq->fast_free) /* hot-ok: frames that were sent go back to their one pool */
		rte_mempool_put_bulk(rec[0]->pool, (void **)rec, n);
	else
		free_singles(rec, n);
}

/* Gives back the n oldest entries. */
static void
release(struct liq_iq *iq, uint32_t n)
{
	uint32_t to_end = iq->n_desc - iq->head;

	iq->seen += n;
	iq->n_free += n;
	if (n >= to_end) {
		free_run(iq, iq->head, to_end);
		iq->head = 0;
		n -= to_end;
	}
	if (n != 0)
		free_run(iq, iq->head, n);
	iq->head += n;
}

/* How many of the oldest entries the card has fetched.  What cannot be makes the queue broken. */
static uint32_t
completed(struct liq_iq *iq)
{
	uint32_t n = liq_r32(&iq->io, iq->off + LIQ_REG_IN_DONE) - iq->seen;

	iq->n.n_reclaims++;
	if (likely(n <= liq_iq_pending(iq)))
		return n;
	iq->n.n_lies++;
	iq->broken = true;
	return 0;
}

static __rte_noinline void
reclaim(struct liq_iq *iq)
{
	uint32_t n;

	if (unlikely(iq->broken))
		return;
	n = completed(iq);
	if (n != 0)
		release(iq, n);
}

static inline uint32_t
room_for(struct liq_iq *iq, uint32_t n)
{
	if (unlikely(iq->n_free < iq->free_thresh || iq->n_free < n))
		reclaim(iq);
	if (unlikely(iq->broken))
		return 0;
	return n < iq->n_free ? n : iq->n_free;
}

/* ---- frames ---- */

/* The frames are in the ring: tell the card. */
static inline void
commit(struct liq_iq *iq, uint32_t n, uint64_t bytes)
{
	iq->n_free -= n;
	iq->n_posted += n;
	iq->n.n_pkts += n;
	iq->n.n_bytes += bytes;
	liq_w32(&iq->io, iq->off + LIQ_REG_IN_DBELL, n); /* barrier included */
}

/* What was unusual in a burst, or-ed together. */
struct odd {
	uint64_t rearm;
	uint64_t flags;
	uint32_t lens;
};

/* Fills n entries from at on, which do not wrap; returns the bytes. */
static __rte_always_inline uint64_t
fill_run(const struct liq_iq *iq, uint32_t at, struct rte_mbuf **pkts, uint32_t n, bool sums,
	 struct odd *odd)
{
	struct liq_instr *e = iq->ring + at;
	struct rte_mbuf **rec = iq->rec + at;
	const uint64_t ih3 = iq->ih3, irh = iq->irh;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];
		uint64_t rearm = rearm_word(m);
		uint64_t len = m->data_len;
		uint64_t word = irh;

		rec[i] = m;
		e[i].dptr = m->buf_iova + (uint16_t)rearm;
		e[i].ih3 = ih3 | len << 48;
		if (sums) {
			uint64_t flags = m->ol_flags;

			odd->flags |= flags;
			word |= checksum_bits(flags);
		}
		e[i].irh = word;
		odd->rearm |= rearm;
		odd->lens |= (uint32_t)len;
		bytes += len;
	}
	return bytes;
}

static uint16_t tx_full(struct liq_iq *iq, struct rte_mbuf **pkts, uint16_t n);

static __rte_always_inline uint16_t
tx_quick(struct liq_iq *iq, struct rte_mbuf **pkts, uint16_t n, bool sums)
{
	uint32_t tail = iq->tail, to_end, left = room_for(iq, n);
	struct odd odd = {0};
	uint64_t bytes;

	n = (uint16_t)left;
	if (unlikely(n == 0))
		return 0;
	to_end = iq->n_desc - tail;
	if (unlikely(left >= to_end)) {
		bytes = fill_run(iq, tail, pkts, to_end, sums, &odd);
		tail = left - to_end;
		bytes += fill_run(iq, 0, pkts + to_end, tail, sums, &odd);
	} else {
		bytes = fill_run(iq, tail, pkts, left, sums, &odd);
		tail += left;
	}
	if (unlikely((odd.rearm & REARM_SEGS_OVER_1) || (odd.lens & LENS_OVER) ||
		     (odd.flags & RARE_FLAGS)))
		return tx_full(iq, pkts, n);
	iq->tail = tail;
	commit(iq, n, bytes);
	return n;
}

/* Writes the gather slot of entry i: n pointers, and zeros where the last four have fewer. */
static inline void
fill_gather(struct liq_iq *iq, uint32_t i, const struct rte_mbuf *m, uint32_t n)
{
	struct liq_gather *g =
		(struct liq_gather *)((uint8_t *)iq->gather + (size_t)i * LIQ_GATHER_BYTES);

	for (; n >= 4; n -= 4, g++) {
		uint64_t sizes = 0;

		for (int k = 0; k < 4; k++, m = m->next) {
			sizes = sizes << 16 | m->data_len;
			g->ptr[k] = rte_mbuf_data_iova(m);
		}
		g->sizes = sizes;
	}
	if (n == 0)
		return;
	g->sizes = 0;
	for (uint32_t k = 0; k < 4; k++) {
		if (k >= n) {
			g->ptr[k] = 0;
			continue;
		}
		g->sizes |= (uint64_t)m->data_len << (48 - 16 * k);
		g->ptr[k] = rte_mbuf_data_iova(m);
		m = m->next;
	}
}

/* The tag to insert; a VLAN of 0 would mean none. */
static inline uint64_t
vlan_bits(const struct rte_mbuf *m)
{
	return liq_put(LIQ_IRH_VLAN, m->vlan_tci) | liq_put(LIQ_IRH_PRIORITY, m->vlan_tci >> 13);
}

static bool
sendable(const struct rte_mbuf *m)
{
	return m->nb_segs <= LIQ_TX_SEGS_MAX && m->pkt_len <= LIQ_TX_FRAME_MAX &&
	       !((m->ol_flags & RTE_MBUF_F_TX_VLAN) && (m->vlan_tci & 0xFFF) == 0);
}

static __rte_noinline uint64_t
rare_bits(const struct rte_mbuf *m)
{
	uint64_t bits = 0;

	if (m->ol_flags & RTE_MBUF_F_TX_VLAN)
		bits |= vlan_bits(m);
	if (m->ol_flags & RTE_MBUF_F_TX_OUTER_IP_CKSUM)
		bits |= LIQ_PKT_TNL_CSUM;
	return bits;
}

/* Entry i from any mbuf; false: it cannot be sent. */
static inline bool
fill_any(struct liq_iq *iq, uint32_t i, struct rte_mbuf *m)
{
	struct liq_instr *e = iq->ring + i;
	uint64_t flags = m->ol_flags, irh = iq->irh | checksum_bits(flags);

	if (unlikely(flags & RARE_FLAGS)) {
		if (!sendable(m))
			return false;
		irh |= rare_bits(m);
	}
	if (m->nb_segs == 1 && likely(m->data_len <= LIQ_DLEN_MAX)) {
		iq->rec[i] = m;
		e->dptr = rte_mbuf_data_iova(m);
		e->ih3 = iq->ih3 | (uint64_t)m->data_len << 48;
		e->irh = irh;
		return true;
	}
	if (unlikely(!sendable(m)))
		return false;
	fill_gather(iq, i, m, m->nb_segs);
	iq->rec[i] = (struct rte_mbuf *)((uintptr_t)m | CHAIN);
	iq->n_special++;
	iq->n.n_chains++;
	e->dptr = iq->gather_iova + (uint64_t)i * LIQ_GATHER_BYTES;
	e->ih3 = iq->ih3 | LIQ_IH3_GATHER | (uint64_t)m->nb_segs << 48;
	e->irh = irh;
	return true;
}

static uint16_t
tx_full(struct liq_iq *iq, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t tail = iq->tail, n_filled = 0;
	uint64_t bytes = 0;

	n = (uint16_t)room_for(iq, n);
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = pkts[i];

		if (unlikely(!fill_any(iq, tail, m))) {
			iq->n.n_refused++;
			/* hot-ok: counted; the caller has no other way to learn of it */
			rte_pktmbuf_free(m);
			continue;
		}
		bytes += m->pkt_len;
		n_filled++;
		tail = tail + 1 < iq->n_desc ? tail + 1 : 0;
	}
	iq->tail = tail;
	if (likely(n_filled != 0))
		commit(iq, n_filled, bytes);
	return n;
}

/* Queue 0 is shared with commands; the others belong to one thread. */
static inline void
enter(struct liq_iq *iq)
{
	if (unlikely(iq->shared)) /* hot-ok: once per burst, and on queue 0 only */
		rte_spinlock_lock(&iq->lock);
}

static inline void
leave(struct liq_iq *iq)
{
	if (unlikely(iq->shared)) /* hot-ok: once per burst, and on queue 0 only */
		rte_spinlock_unlock(&iq->lock);
}

uint16_t
liq_tx_burst_plain(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	enter(txq);
	n = tx_quick(txq, pkts, n, false);
	leave(txq);
	return n;
}

uint16_t
liq_tx_burst_sums(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	enter(txq);
	n = tx_quick(txq, pkts, n, true);
	leave(txq);
	return n;
}

uint16_t
liq_tx_burst_full(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	enter(txq);
	n = tx_full(txq, pkts, n);
	leave(txq);
	return n;
}

/* The card sums whole packets by itself: headers need no preparing, they are only judged. */
static int
judge(const struct rte_mbuf *m)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_TX_L4_MASK;

	if ((m->ol_flags & RTE_MBUF_F_TX_OFFLOAD_MASK & ~KNOWN_FLAGS) ||
	    l4 == RTE_MBUF_F_TX_SCTP_CKSUM)
		return ENOTSUP;
	if (m->pkt_len < LIQ_TX_FRAME_MIN || !sendable(m))
		return EINVAL;
	return 0;
}

uint16_t
liq_tx_prepare(void *txq, struct rte_mbuf **pkts, uint16_t n)
{
	(void)txq;
	for (uint16_t i = 0; i < n; i++) {
		int err = judge(pkts[i]);

		if (unlikely(err != 0)) {
			rte_errno = err;
			return i;
		}
	}
	return n;
}

uint32_t
liq_iq_cleanup(struct liq_iq *iq, uint32_t n)
{
	uint32_t n_done = 0;
	uint64_t n_cmds;

	enter(iq);
	n_cmds = iq->n.n_cmds;
	if (!iq->broken)
		n_done = completed(iq);
	if (n != 0 && n < n_done)
		n_done = n;
	if (n_done != 0)
		release(iq, n_done);
	n_cmds = iq->n.n_cmds - n_cmds;
	leave(iq);
	return n_done - (uint32_t)n_cmds;
}

/* ---- control ---- */

uint32_t
liq_iq_unfetched(const struct liq_iq *iq)
{
	uint32_t n = liq_r32(&iq->io, iq->off + LIQ_REG_IN_DONE) - iq->seen;
	uint32_t pending = liq_iq_pending(iq);

	return n < pending ? pending - n : 0;
}

int
liq_iq_post(struct liq_iq *iq, const struct liq_instr *instr, uint32_t *seq)
{
	int ret = 0;

	enter(iq);
	if (room_for(iq, 1) == 0) {
		ret = iq->broken ? -EIO : -EBUSY;
	} else {
		iq->ring[iq->tail] = *instr;
		iq->rec[iq->tail] = NULL;
		iq->tail = iq->tail + 1 < iq->n_desc ? iq->tail + 1 : 0;
		iq->n_special++;
		*seq = iq->n_posted;
		iq->n_free--;
		iq->n_posted++;
		liq_w32(&iq->io, iq->off + LIQ_REG_IN_DBELL, 1);
	}
	leave(iq);
	return ret;
}

bool
liq_iq_fetched(struct liq_iq *iq, uint32_t seq)
{
	bool fetched;

	enter(iq);
	reclaim(iq);
	/* the oldest entry that is still under way came after it */
	fetched = (int32_t)(iq->n_posted - liq_iq_pending(iq) - seq) > 0;
	leave(iq);
	return fetched;
}

uint32_t
liq_iq_drop(struct liq_iq *iq)
{
	uint32_t n = liq_iq_pending(iq);
	uint64_t n_cmds = iq->n.n_cmds;

	release(iq, n);
	return n - (uint32_t)(iq->n.n_cmds - n_cmds);
}

void
liq_iq_words(struct liq_iq *iq, unsigned int pkind, uint32_t tag, unsigned int qpg, bool use_qpg)
{
	iq->ih3 = liq_put(LIQ_IH3_PKIND, pkind) | liq_put(LIQ_IH3_FSZ, LIQ_FSZ_PLAIN);
	iq->irh = liq_put(LIQ_IRH_OPCODE, 1) | liq_put(LIQ_IRH_SUBCODE, 2); /* frame */
	/* parsed by the card, from Ethernet on, behind 32 bytes of header; order is kept */
	iq->pki_ih3 = liq_put(LIQ_PKI_TAG, tag) | liq_put(LIQ_PKI_QPG, qpg) |
		      liq_put(LIQ_PKI_TAGTYPE, LIQ_TAG_ORDERED) | LIQ_PKI_UTT |
		      liq_put(LIQ_PKI_SL, LIQ_FSZ_PLAIN) | (use_qpg ? LIQ_PKI_UQPG : 0) | LIQ_PKI_W;
}

void
liq_iq_program(struct liq_iq *iq)
{
	iq->head = iq->tail = 0;
	iq->n_free = iq->n_desc - 1;
	iq->n_special = 0;
	iq->seen = 0;
	iq->broken = false;
	for (uint32_t i = 0; i < iq->n_desc; i++)
		restore_entry(iq, i);
	liq_w64(&iq->io, iq->off + LIQ_REG_IN_BASE, iq->mem.iova);
	liq_w32(&iq->io, iq->off + LIQ_REG_IN_SIZE, iq->n_desc);
	/* the running count starts at 0; the upper half, interrupts, stays off */
	liq_w64(&iq->io, iq->off + LIQ_REG_IN_DONE,
		liq_r64(&iq->io, iq->off + LIQ_REG_IN_DONE) & UINT32_MAX);
}

int
liq_iq_create(const struct liq_iq_cfg *cfg, struct liq_iq **out)
{
	size_t gather_off = sizeof(struct liq_instr) * cfg->n_desc;
	size_t rec_off = gather_off + LIQ_GATHER_BYTES * cfg->n_desc;
	size_t own_off = RTE_ALIGN_CEIL(rec_off + sizeof(struct rte_mbuf *) * cfg->n_desc,
					(size_t)RTE_CACHE_LINE_SIZE);
	struct liq_mem mem;
	struct liq_iq *iq;
	int ret;

	ret = liq_mem_take(&mem, cfg->port_id, cfg->kind, cfg->queue, own_off + sizeof(*iq),
			   cfg->socket_id);
	if (ret < 0)
		return ret;
	iq = (struct liq_iq *)(mem.addr + own_off);
	iq->mem = mem;
	iq->ring = (struct liq_instr *)mem.addr;
	iq->gather = (struct liq_gather *)(mem.addr + gather_off);
	iq->gather_iova = mem.iova + gather_off;
	iq->rec = (struct rte_mbuf **)(mem.addr + rec_off);
	iq->io = cfg->io;
	iq->off = LIQ_RING(cfg->ring);
	iq->n_desc = cfg->n_desc;
	iq->n_free = iq->n_desc - 1;
	iq->free_thresh = cfg->free_thresh ? cfg->free_thresh : LIQ_TX_FREE_DFLT(cfg->n_desc);
	iq->port_id = cfg->port_id;
	iq->queue = cfg->queue;
	iq->socket_id = cfg->socket_id;
	iq->offloads = cfg->offloads;
	iq->fast_free = cfg->offloads & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	iq->shared = cfg->queue == 0;
	rte_spinlock_init(&iq->lock);
	*out = iq;
	return 0;
}

void
liq_iq_destroy(struct liq_iq *iq)
{
	struct liq_mem mem;

	if (!iq)
		return;
	liq_iq_drop(iq);
	mem = iq->mem; /* which holds the struct itself */
	liq_mem_give(&mem);
}
