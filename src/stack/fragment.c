/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See fragment.h. A worker's or an attached thread's own call, on its lcore; no state but the lcore's sequence.
 */
#include "fragment.h"

#include <errno.h>
#include <string.h>

#include "batch.h"
#include "drop.h"
#include "mbuf.h"

/* A shorter piece is copied: that costs less than a second buffer that refers to it. */
#define REFER_MIN 1024

/* ---- identification ---- */

/* A permutation of the numbers of 2 * half bits: four Feistel rounds, the secret in each. */
static uint32_t
permute(uint32_t x, unsigned int half, uint64_t key)
{
	const uint32_t mask = (UINT32_C(1) << half) - 1;
	uint32_t l = x >> half & mask;
	uint32_t r = x & mask;

	for (unsigned int round = 0; round < 4; round++) {
		uint64_t h = (r + key) * UINT64_C(0x9e3779b97f4a7c15);
		uint32_t t = l;

		h = (h ^ h >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
		l = r;
		r = t ^ ((uint32_t)(h >> 32) & mask);
		key = key << 17 | key >> 47;
	}
	return l << half | r;
}

uint32_t
weir_fragment_id(struct weir_lcore *lc, const union weir_ip *src, const union weir_ip *dst,
		 uint8_t family)
{
	const uint64_t *secret = lc->stack->hash_key;
	const uint32_t slots = rte_align32pow2(RTE_MAX(lc->stack->n_lcores, (uint16_t)1));
	const uint32_t x = lc->frag_seq++ * slots + lc->slot;
	const __uint128_t p = (__uint128_t)(dst->w[0] ^ src->w[1] ^ secret[0]) *
			      (dst->w[1] ^ src->w[0] ^ secret[3]);
	const uint64_t key = ((uint64_t)p ^ (uint64_t)(p >> 64)) + secret[1];

	return permute(x, family == WEIR_IPV4 ? 8 : 16, key);
}

/* ---- buffers ---- */

static uint16_t
ip_len(uint8_t family)
{
	return family == WEIR_IPV4 ? WIRE_IP4_MIN : WIRE_IP6_LEN;
}

/* Bytes behind all headers that one packet of mtu bytes carries. */
static uint32_t
room_of(uint8_t family, uint16_t mtu)
{
	const uint32_t hdr = family == WEIR_IPV4 ? WIRE_IP4_MIN : WIRE_IP6_LEN + WIRE_FRAG6_LEN;

	return mtu > hdr ? mtu - hdr : 0;
}

unsigned int
weir_fragment_count(uint32_t len, uint8_t family, uint16_t mtu)
{
	const uint32_t room = room_of(family, mtu);
	const uint32_t unit = room & ~7u;

	if (unit == 0)
		return 0;
	/* The last one may fill what is left of the MTU. */
	return len <= room ? 1 : (len - room + unit - 1) / unit + 1;
}

void
weir_fragment_cancel(struct weir_fragments *f)
{
	for (unsigned int i = 0; i < f->n; i++)
		weir_mbuf_discard(f->m[i]);
	for (unsigned int i = 0; i < f->n_refs; i++)
		weir_mbuf_discard(f->ref[i]);
	f->n = 0;
	f->n_refs = 0;
}

bool
weir_fragment_plan(struct weir_lcore *lc, const struct weir_port *port, const struct rte_mbuf *m,
		   uint32_t len, uint8_t family, uint16_t mtu, struct weir_fragments *f)
{
	struct rte_mempool *pool = lc->stack->pool;
	const uint16_t hdr = (uint16_t)(WIRE_ETH_LEN + ip_len(family) +
					(family == WEIR_IPV4 ? 0 : WIRE_FRAG6_LEN));
	unsigned int n, refs;

	f->n = 0;
	f->n_refs = 0;
	if (!port->tx_multi_seg) /* one buffer each */
		mtu = (uint16_t)RTE_MIN((uint32_t)mtu, lc->stack->conf.data_room - WIRE_ETH_LEN);
	n = weir_fragment_count(len, family, mtu);
	if (n == 0 || n > WEIR_FRAGMENTS_MAX || weir_pool_low(lc->stack))
		return false;
	f->l3_len = ip_len(family);
	f->unit = (uint16_t)(room_of(family, mtu) & ~7u);
	/* Each end of a segment may part one fragment in two; and one more segment for the headers. */
	refs = n + m->nb_segs + 1u;
	if (port->tx_multi_seg && f->unit >= REFER_MIN && refs <= WEIR_FRAGMENT_REFS) {
		if (rte_pktmbuf_alloc_bulk(pool, f->m, n) != 0)
			return false;
		f->n = (uint16_t)n;
		if (rte_pktmbuf_alloc_bulk(pool, f->ref, refs) != 0) {
			weir_fragment_cancel(f);
			return false;
		}
		f->n_refs = (uint16_t)refs;
		return true;
	}
	for (unsigned int i = 0; i < n; i++) {
		uint32_t piece = i + 1 < n ? f->unit : len - i * f->unit;

		f->m[i] = weir_mbuf_chain_alloc(pool, hdr + piece);
		if (f->m[i] == NULL) {
			weir_fragment_cancel(f);
			return false;
		}
		f->n++;
	}
	return true;
}

/* ---- the cut ---- */

/* Where the next bytes of the frame are. */
struct cursor {
	struct rte_mbuf *m;
	uint32_t off;
};

static void
settle(struct cursor *c)
{
	while (c->off >= c->m->data_len && c->m->next != NULL) {
		c->off -= c->m->data_len;
		c->m = c->m->next;
	}
}

/* len bytes into a fragment that has its length already, from `at` on. */
static void
copy_piece(struct cursor *c, struct rte_mbuf *to, uint32_t at, uint32_t len)
{
	while (len > 0) {
		uint32_t take;

		while (at >= to->data_len) {
			at -= to->data_len;
			to = to->next;
		}
		settle(c);
		take = RTE_MIN(len, RTE_MIN((uint32_t)to->data_len - at, c->m->data_len - c->off));
		memcpy(rte_pktmbuf_mtod_offset(to, uint8_t *, at),
		       rte_pktmbuf_mtod_offset(c->m, const uint8_t *, c->off), take);
		at += take;
		c->off += take;
		len -= take;
	}
}

/* Chain references to len bytes behind a fragment's headers. */
static void
refer_piece(struct cursor *c, struct weir_fragments *f, struct rte_mbuf *to, uint32_t len)
{
	struct rte_mbuf *last = to;

	to->pkt_len += len;
	while (len > 0) {
		struct rte_mbuf *ref = f->ref[--f->n_refs];
		uint32_t take;

		settle(c);
		take = RTE_MIN(len, c->m->data_len - c->off);
		rte_pktmbuf_attach(ref, c->m);
		ref->data_off = (uint16_t)(c->m->data_off + c->off);
		ref->data_len = (uint16_t)take;
		ref->pkt_len = take;
		ref->next = NULL;
		ref->nb_segs = 1;
		last->next = ref;
		last = ref;
		to->nb_segs++;
		c->off += take;
		len -= take;
	}
}

/* Complete the headers of one fragment: `len` bytes from `off` on of the packet. p: behind the MACs' header. */
static void
fill_header4(uint8_t *p, uint32_t off, uint32_t len, bool more, uint32_t id)
{
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)p;

	ip->total_len = WIRE_BE16(WIRE_IP4_MIN + len);
	ip->id = (wire_be16)id;
	ip->frag = WIRE_BE16(off / 8 | (more ? WIRE_IP4_MF : 0u));
	ip->csum = 0;
	ip->csum = wire_ip4_csum(ip, WIRE_IP4_MIN);
}

static void
fill_header6(uint8_t *p, uint32_t off, uint32_t len, bool more, uint32_t id)
{
	struct wire_ip6 *ip = (struct wire_ip6 *)(void *)p;
	struct wire_frag6 *frag = (struct wire_frag6 *)(void *)(p + WIRE_IP6_LEN);

	*frag = (struct wire_frag6){
		.next = ip->next,
		.off_more = WIRE_BE16(off | (more ? 1u : 0u)),
		.id = id,
	};
	ip->next = WIRE_PROTO_FRAGMENT;
	ip->payload_len = WIRE_BE16(WIRE_FRAG6_LEN + len);
}

void
weir_fragment_cut(struct weir_fragments *f, struct rte_mbuf *m, uint32_t id)
{
	const uint8_t *head = rte_pktmbuf_mtod(m, const uint8_t *);
	const uint16_t copied = (uint16_t)(WIRE_ETH_LEN + f->l3_len); /* from the frame's front */
	const bool v4 = f->l3_len == WIRE_IP4_MIN;
	const uint16_t hdr = (uint16_t)(copied + (v4 ? 0 : WIRE_FRAG6_LEN));
	const uint32_t total = m->pkt_len - copied;
	const bool refer = f->n_refs > 0;
	struct cursor c = {m, copied};

	for (uint32_t i = 0; i < f->n; i++) {
		const uint32_t off = i * f->unit;
		const bool more = i + 1u < f->n;
		const uint32_t len = more ? f->unit : total - off;
		struct rte_mbuf *to = f->m[i];
		uint8_t *p = refer ? (uint8_t *)rte_pktmbuf_append(to, hdr)
				   : rte_pktmbuf_mtod(to, uint8_t *);

		memcpy(p, head, copied);
		(v4 ? fill_header4 : fill_header6)(p + WIRE_ETH_LEN, off, len, more, id);
		if (refer)
			refer_piece(&c, f, to, len);
		else
			copy_piece(&c, to, hdr, len);
		to->port = m->port;
	}
	for (unsigned int i = 0; i < f->n_refs; i++)
		weir_mbuf_discard(f->ref[i]);
	f->n_refs = 0;
	weir_mbuf_discard(m);
}

/* ---- protocols ---- */

int
weir_fragment_protocol(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		       uint16_t mtu)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct wire_ip4 *ip4 = (const void *)(p + WIRE_ETH_LEN);
	const struct wire_ip6 *ip6 = (const void *)(p + WIRE_ETH_LEN);
	const uint8_t family = p[WIRE_ETH_LEN] >> 4 == 4 ? WEIR_IPV4 : WEIR_IPV6;
	const uint32_t len = m->pkt_len - WIRE_ETH_LEN - ip_len(family);
	union weir_ip src = {.w = {0, 0}}, dst = {.w = {0, 0}};
	struct weir_fragments f;
	unsigned int n;
	uint32_t id;

	if (port->index == WEIR_PORT_LOOPBACK || m->pkt_len <= (uint32_t)mtu + WIRE_ETH_LEN) {
		if (weir_batch_room(lc, port) == 0)
			return -EAGAIN;
		weir_count(&lc->c.tx_protocol, 1);
		weir_batch_put(lc, port, m);
		return 0;
	}
	n = weir_fragment_count(len, family, mtu);
	if (n == 0)
		return -EMSGSIZE;
	if (!weir_fragment_plan(lc, port, m, len, family, mtu, &f))
		return -ENOBUFS;
	if (!weir_batch_reserve(lc, port, f.n)) {
		weir_fragment_cancel(&f);
		return -EAGAIN;
	}
	if (family == WEIR_IPV4) {
		src.v4 = ip4->src;
		dst.v4 = ip4->dst;
	} else {
		memcpy(&src, ip6->src, sizeof(src));
		memcpy(&dst, ip6->dst, sizeof(dst));
	}
	id = family == WEIR_IPV4 && ip4->id != 0 ? ip4->id
						 : weir_fragment_id(lc, &src, &dst, family);
	weir_fragment_cut(&f, m, id);
	weir_count(&lc->c.tx_protocol, 1);
	weir_count(&lc->c.tx_copies, f.n - 1u);
	weir_batch_put_all(lc, port, f.m, f.n);
	return 0;
}
