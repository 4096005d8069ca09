/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See reasm.h. HOT: under attack every frame comes here.
 *
 * All memory is taken at the start. A datagram that is not whole (a queue) is found by a hash under the stack's
 * secret; its fragments lie in an array sorted by offset: 10 in the queue itself, more in a block of 128. In
 * order a fragment is appended; out of order its place is found by halving, and at most 128 entries move within
 * some cache lines that are at hand. Nothing walks the fragments of more than one datagram.
 *
 * Queues stand in the order of their birth, which is that of their death by time or by want of memory, in one
 * list of all and in one of their source. What is given up for its contents leaves a mark without buffers, so
 * that its other fragments do not begin a new datagram; marks are the first to go when queues are scarce.
 */
#include "reasm.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "drop.h"
#include "icmp.h"
#include "mbuf.h"

/* 65535 bytes in packets of 576 bytes, the least that every IPv4 host takes (RFC 791), are 119. */
#define FRAGS_MAX    128
#define FRAGS_INLINE 10
#define FRAGS_EACH   2048 /* bytes of memory allowed for which one fragment is provided for */
#define TICK_MAX     64   /* queues given up in one call for their age */
#define LONGEST      UINT16_MAX

#define ECN_MASK 3
#define ECN_CE   3
/* Codepoints seen, one bit each. */
#define SEEN_NOT_ECT (1u << 0)
#define SEEN_CE      (1u << ECN_CE)

/* Source, destination; identification, port, protocol, family. */
#define KEY_WORDS 5

/* A fragment's place: first byte, and the one behind its last. Sorted by the first. */
struct span {
	uint16_t off, end;
};

union block {
	struct {
		struct span span[FRAGS_MAX];
		struct rte_mbuf *m[FRAGS_MAX];
	};
	union block *next; /* while free */
};

struct source;

struct fragq {
	uint64_t key[KEY_WORDS];
	SLIST_ENTRY(fragq) chain; /* of the bucket; of the free ones */
	uint64_t born_ns;         /* a mark: when it became one */
	struct source *source;

	TAILQ_ENTRY(fragq) age; /* among the living, or among the marks */
	TAILQ_ENTRY(fragq) mates;
	union block *block; /* NULL: the fragments are in span and m below */
	uint32_t truesize;
	uint16_t have, total; /* payload bytes */
	uint16_t reach;       /* end of the last fragment */
	uint8_t n;
	uint8_t ecn;
	uint8_t mark;   /* 0, or the reason for which the datagram was given up, plus 1 */
	bool last;      /* total is known */
	uint8_t l2_len; /* of the first fragment, as the rest of the line */
	uint16_t l3_len, frag_hdr, frag_prev;

	struct span span[FRAGS_INLINE];
	struct rte_mbuf *m[FRAGS_INLINE];
} __rte_cache_aligned;
static_assert(sizeof(struct fragq) == 4 * WEIR_CACHE_LINE, "four lines");
static_assert(WEIR_DROP_N < UINT8_MAX, "a mark holds the reason");

TAILQ_HEAD(queues, fragq);
SLIST_HEAD(chain, fragq);

/* Who sends fragments: an IPv4 address, or an IPv6 prefix of 64 bits. Lives while it has queues. */
struct source {
	uint64_t net;
	uint8_t family;
	uint64_t bytes;
	struct queues queues;
	SLIST_ENTRY(source) chain;
};
SLIST_HEAD(sources, source);

struct weir_reasm {
	uint64_t life_ns, mem, source_mem; /* source_mem 0: as much as all */
	uint64_t bytes;
	uint32_t n_queues, n_frags, max_frags;
	uint32_t mask; /* of both hashes */
	struct queues living, marks;
	struct chain free_queues;
	struct sources free_sources;
	union block *free_blocks;
	struct chain *bucket;
	struct sources *source_bucket;
	struct fragq *queue;
	struct source *source;
	union block *block;
};

/* What a fragment says. */
struct frag {
	uint64_t key[KEY_WORDS];
	uint32_t off, end;
	bool more;
};

/* ---- hashes ---- */

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	const __uint128_t p = (__uint128_t)a * b;

	return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static inline struct chain *
bucket_of(const struct weir_lcore *lc, const uint64_t *key)
{
	const uint64_t *secret = lc->stack->hash_key;
	uint64_t h = mix(key[0] ^ secret[0], key[1] ^ secret[1]);

	h = mix(h ^ key[2], key[3] ^ secret[2]);
	h = mix(h ^ key[4], secret[3]);
	return &lc->reasm->bucket[h & lc->reasm->mask];
}

static inline struct sources *
source_bucket_of(const struct weir_lcore *lc, uint64_t net, uint8_t family)
{
	const uint64_t *secret = lc->stack->hash_key;

	return &lc->reasm
			->source_bucket[mix(net ^ secret[0], secret[1] ^ family) & lc->reasm->mask];
}

static inline bool
same_key(const uint64_t *a, const uint64_t *b)
{
	uint64_t differ = 0;

	for (unsigned int i = 0; i < KEY_WORDS; i++)
		differ |= a[i] ^ b[i];
	return differ == 0;
}

static inline uint8_t
key_family(const uint64_t *key)
{
	return (uint8_t)(key[4] >> 56);
}

static inline uint16_t
key_port(const uint64_t *key)
{
	return (uint16_t)(key[4] >> 32);
}

static inline void
make_key(uint64_t *key, const struct weir_port *port, const uint8_t *p, const struct wire_view *v)
{
	uint8_t proto = 0; /* of IPv6 only the first fragment's counts (RFC 8200 4.5) */

	if (v->family == 4) {
		key[0] = v->src4;
		key[1] = 0;
		key[2] = v->dst4;
		key[3] = 0;
		proto = v->proto;
	} else {
		memcpy(key, p + v->l2_len + offsetof(struct wire_ip6, src), 32);
	}
	key[4] = v->frag_id | (uint64_t)port->index << 32 | (uint64_t)proto << 48 |
		 (uint64_t)v->family << 56;
}

/* ---- life of a queue ---- */

static inline struct span *
spans(struct fragq *q)
{
	return q->block != NULL ? q->block->span : q->span;
}

static inline struct rte_mbuf **
frames(struct fragq *q)
{
	return q->block != NULL ? q->block->m : q->m;
}

static void
leave_source(struct weir_lcore *lc, struct fragq *q)
{
	struct weir_reasm *r = lc->reasm;
	struct source *s = q->source;

	s->bytes -= q->truesize;
	TAILQ_REMOVE(&s->queues, q, mates);
	if (TAILQ_EMPTY(&s->queues)) {
		SLIST_REMOVE(source_bucket_of(lc, s->net, s->family), s, source, chain);
		SLIST_INSERT_HEAD(&r->free_sources, s, chain);
	}
	q->source = NULL;
}

/* Its fragments are somebody else's now: nothing is charged for them any more. */
static void
disown(struct weir_lcore *lc, struct fragq *q)
{
	struct weir_reasm *r = lc->reasm;

	weir_count(&lc->c.rx_frag_out, q->n);
	leave_source(lc, q);
	r->bytes -= q->truesize;
	r->n_frags -= q->n;
	r->n_queues--;
	if (q->block != NULL) {
		q->block->next = r->free_blocks;
		r->free_blocks = q->block;
	}
	TAILQ_REMOVE(&r->living, q, age);
}

static void
forget(struct weir_lcore *lc, struct fragq *q)
{
	SLIST_REMOVE(bucket_of(lc, q->key), q, fragq, chain);
	SLIST_INSERT_HEAD(&lc->reasm->free_queues, q, chain);
}

static void
forget_mark(struct weir_lcore *lc, struct fragq *q)
{
	TAILQ_REMOVE(&lc->reasm->marks, q, age);
	forget(lc, q);
}

static void
drop_fragments(struct weir_lcore *lc, struct fragq *q, enum weir_drop reason)
{
	weir_drop_bulk(lc, reason, frames(q), q->n);
	disown(lc, q);
}

/* Give the datagram up, without a mark: its time was over, or memory is wanted. */
static void
give_up(struct weir_lcore *lc, struct fragq *q, enum weir_drop reason)
{
	drop_fragments(lc, q, reason);
	forget(lc, q);
}

/* Give it up for what is in it, and whatever of it may yet come (RFC 5722 4). */
static void
condemn(struct weir_lcore *lc, struct fragq *q, enum weir_drop reason)
{
	drop_fragments(lc, q, reason);
	q->mark = (uint8_t)(reason + 1);
	q->born_ns = lc->now_ns;
	TAILQ_INSERT_TAIL(&lc->reasm->marks, q, age);
}

static struct source *
join_source(struct weir_lcore *lc, const uint64_t *key)
{
	struct weir_reasm *r = lc->reasm;
	const uint8_t family = key_family(key);
	struct sources *bucket = source_bucket_of(lc, key[0], family);
	struct source *s;

	SLIST_FOREACH(s, bucket, chain)
		if (s->net == key[0] && s->family == family)
			return s;
	/* As many as there are queues. */
	s = SLIST_FIRST(&r->free_sources);
	SLIST_REMOVE_HEAD(&r->free_sources, chain);
	s->net = key[0];
	s->family = family;
	s->bytes = 0;
	TAILQ_INIT(&s->queues);
	SLIST_INSERT_HEAD(bucket, s, chain);
	return s;
}

static struct fragq *
begin(struct weir_lcore *lc, const uint64_t *key)
{
	struct weir_reasm *r = lc->reasm;
	struct fragq *q = SLIST_FIRST(&r->free_queues);

	if (unlikely(q == NULL)) {
		q = TAILQ_FIRST(&r->marks);
		if (q != NULL)
			forget_mark(lc, q);
		else
			give_up(lc, TAILQ_FIRST(&r->living), WEIR_DROP_FRAG_MEM);
		q = SLIST_FIRST(&r->free_queues);
	}
	SLIST_REMOVE_HEAD(&r->free_queues, chain);
	memcpy(q->key, key, sizeof(q->key));
	SLIST_INSERT_HEAD(bucket_of(lc, key), q, chain);
	q->born_ns = lc->now_ns;
	q->block = NULL;
	q->truesize = 0;
	q->have = 0;
	q->total = 0;
	q->reach = 0;
	q->n = 0;
	q->ecn = 0;
	q->mark = 0;
	q->last = false;
	q->source = join_source(lc, key);
	TAILQ_INSERT_TAIL(&q->source->queues, q, mates);
	TAILQ_INSERT_TAIL(&r->living, q, age);
	r->n_queues++;
	return q;
}

/* ---- time ---- */

/* A clock that goes back makes nothing older. */
static inline bool
too_old(const struct weir_lcore *lc, const struct fragq *q)
{
	return lc->now_ns > q->born_ns && lc->now_ns - q->born_ns >= lc->reasm->life_ns;
}

/* RFC 791, RFC 8200 4.5: the sender hears of it when the first fragment has come. COLD. */
static void
expire(struct weir_lcore *lc, struct fragq *q)
{
	const struct weir_port *port = lc->stack->ports[key_port(q->key)];

	if (q->n != 0 && spans(q)[0].off == 0 && port != NULL)
		weir_icmp_error(lc, port, frames(q)[0], WEIR_ICMP_REASM_TIME, 0);
	give_up(lc, q, WEIR_DROP_FRAG_TIMEOUT);
}

void
weir_reasm_tick(struct weir_lcore *lc)
{
	struct weir_reasm *r = lc->reasm;
	struct fragq *q;
	unsigned int n = 0;

	if (r == NULL)
		return;
	while (n < TICK_MAX && (q = TAILQ_FIRST(&r->living)) != NULL && too_old(lc, q)) {
		expire(lc, q);
		n++;
	}
	while (n < TICK_MAX && (q = TAILQ_FIRST(&r->marks)) != NULL && too_old(lc, q)) {
		forget_mark(lc, q);
		n++;
	}
}

/* The datagram's queue, or a new one. */
static inline struct fragq *
find(struct weir_lcore *lc, const uint64_t *key)
{
	struct fragq *q;

	SLIST_FOREACH(q, bucket_of(lc, key), chain)
		if (same_key(q->key, key))
			break;
	if (q != NULL && unlikely(too_old(lc, q))) { /* the tick has not come to it yet */
		if (q->mark != 0)
			forget_mark(lc, q);
		else
			expire(lc, q);
		q = NULL;
	}
	return q != NULL ? q : begin(lc, key);
}

/* ---- what a fragment may be ---- */

/*
 * Does the first fragment of an IPv6 datagram hold all headers up to and with the upper layer's (RFC 7112 5)?
 * A chain that is too long for us counts as whole: the parse of the datagram refuses it.
 */
static bool
chain_whole(const struct rte_mbuf *m, const struct wire_view *v)
{
	const uint32_t start = (uint32_t)v->l2_len + v->l3_len;
	uint8_t next = v->proto;
	uint32_t at = 0;

	while (at <= WIRE_EXT6_MAX) {
		const uint32_t left = v->l3_payload - at;
		const uint8_t *h;
		uint8_t copy[2];
		uint32_t len;

		switch (next) {
		case WIRE_PROTO_HOPOPTS:
		case WIRE_PROTO_ROUTING:
		case WIRE_PROTO_DSTOPTS:
		case WIRE_PROTO_AH:
			break;
		case WIRE_PROTO_UDP:
			return left >= WIRE_UDP_LEN;
		case WIRE_PROTO_ICMP6:
			return left >= WIRE_ICMP_LEN;
		case WIRE_PROTO_NONE:
			return true;
		default:
			return left > 0;
		}
		if (left < sizeof(copy))
			return false;
		h = rte_pktmbuf_read(m, start + at, sizeof(copy), copy);
		if (h == NULL)
			return false;
		len = next == WIRE_PROTO_AH ? (h[1] + 2u) * 4 : (h[1] + 1u) * 8;
		if (left < len)
			return false;
		next = h[0];
		at += len;
	}
	return true;
}

/* Is the fragment good by itself? Else it is dropped, and its sender told where the RFC wants it. */
static inline bool
sound(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
      const struct wire_view *v)
{
	/* Of the datagram, as far as this fragment knows: what its length field would have to hold. */
	const uint32_t around = v->family == 4
					? (uint32_t)v->l3_len
					: (uint32_t)v->l3_len - WIRE_IP6_LEN - WIRE_FRAG6_LEN;

	if (likely(v->l3_payload != 0 && (!v->frag_more || v->l3_payload % 8 == 0) &&
		   around + v->frag_off + v->l3_payload <= LONGEST)) {
		if (likely(v->family == 4 || v->frag_off != 0 || chain_whole(m, v)))
			return true;
		weir_icmp_error(lc, port, m, WEIR_ICMP_PARAM_CHAIN, 0);
		weir_drop(lc, WEIR_DROP_FRAG_HEADER, m);
		return false;
	}
	if (v->family == 6 && v->l3_payload != 0) { /* RFC 8200 4.5 */
		const bool odd = v->frag_more && v->l3_payload % 8 != 0;

		weir_icmp_error(lc, port, m, WEIR_ICMP_PARAM_HEADER,
				odd ? offsetof(struct wire_ip6, payload_len)
				    : v->frag_hdr - v->l2_len +
						offsetof(struct wire_frag6, off_more));
	}
	weir_drop(lc, WEIR_DROP_FRAG_BAD, m);
	return false;
}

/* ---- where it goes ---- */

/* Index of the first fragment that does not start before off. */
static inline unsigned int
place_of(const struct span *s, unsigned int n, uint32_t off)
{
	unsigned int lo = 0;
	unsigned int hi = n;

	if (n == 0 || s[n - 1].off < off) /* in order */
		return n;
	while (lo < hi) {
		const unsigned int mid = (lo + hi) / 2;

		if (s[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Are the bytes from off to end there, in fragments from index i on that leave no hole? */
static bool
covered(const struct span *s, unsigned int n, unsigned int i, uint32_t off, uint32_t end)
{
	for (; i < n && s[i].off <= off; i++) {
		off = RTE_MAX(off, (uint32_t)s[i].end);
		if (off >= end)
			return true;
	}
	return false;
}

/*
 * Does fragment f, for place i, fit to the others? True: it does. False: *why says why not: FRAG_DUP refuses
 * the fragment alone, everything else the datagram.
 *
 * IPv4: what is there already in full is a duplicate, as in Linux. IPv6: only the very same fragment is
 * (RFC 8200 4.5, which allows for it; RFC 5722 for the rest).
 */
static inline bool
fits(struct fragq *q, const struct frag *f, unsigned int i, enum weir_drop *why)
{
	const struct span *s = spans(q);
	const unsigned int n = q->n;

	if (unlikely(q->last && (f->end > q->total || (!f->more && f->end != q->total))) ||
	    unlikely(!f->more && f->end < q->reach)) {
		*why = WEIR_DROP_FRAG_BAD; /* they do not agree about the end */
		return false;
	}
	if (likely((i == 0 || s[i - 1].end <= f->off) && (i == n || s[i].off >= f->end)))
		return true;
	*why = WEIR_DROP_FRAG_OVERLAP;
	if (key_family(q->key) == 4) {
		if (covered(s, n, i > 0 && s[i - 1].end > f->off ? i - 1 : i, f->off, f->end))
			*why = WEIR_DROP_FRAG_DUP;
	} else if (i < n && s[i].off == f->off && s[i].end == f->end &&
		   f->more == !(q->last && f->end == q->total)) {
		*why = WEIR_DROP_FRAG_DUP;
	}
	return false;
}

/* RFC 3168 5.3. CE beside ECT makes the whole CE; not-ECT beside any other is nobody's datagram. */
static inline bool
ecn_together(unsigned int seen)
{
	return (seen & SEEN_NOT_ECT) == 0 || seen == SEEN_NOT_ECT;
}

/*
 * Give up the oldest until bytes more fit, q's own source first. False: it was q itself, and *why is the
 * reason.
 */
static inline bool
make_room(struct weir_lcore *lc, struct fragq *q, uint32_t bytes, enum weir_drop *why)
{
	struct weir_reasm *r = lc->reasm;
	struct fragq *old;

	while (unlikely(q->source->bytes + bytes > r->source_mem)) {
		old = TAILQ_FIRST(&q->source->queues);
		give_up(lc, old, WEIR_DROP_FRAG_SOURCE);
		*why = WEIR_DROP_FRAG_SOURCE;
		if (old == q)
			return false;
	}
	while (unlikely(r->bytes + bytes > r->mem || r->n_frags == r->max_frags)) {
		old = TAILQ_FIRST(&r->living);
		give_up(lc, old, WEIR_DROP_FRAG_MEM);
		*why = WEIR_DROP_FRAG_MEM;
		if (old == q)
			return false;
	}
	return true;
}

/* ---- buffers ---- */

/*
 * The part of the frame that is kept: all of the first fragment, the payload of others; no padding. A buffer
 * that others have too is copied: its offsets and its chain are theirs as well. NULL: no buffer, m untouched.
 */
static inline struct rte_mbuf *
keep(struct weir_lcore *lc, struct rte_mbuf *m, const struct wire_view *v)
{
	const uint32_t headers = (uint32_t)v->l2_len + v->l3_len;
	const uint32_t off = v->frag_off == 0 ? 0 : headers;
	const uint32_t len = headers - off + v->l3_payload;
	const struct rte_mbuf *seg = m;

	while (likely(rte_mbuf_refcnt_read(seg) == 1) && unlikely(seg->next != NULL))
		seg = seg->next;
	if (unlikely(rte_mbuf_refcnt_read(seg) != 1)) {
		struct rte_mbuf *copy = weir_mbuf_copy_range(m, lc->stack->pool, off, len);

		if (copy == NULL)
			return NULL;
		copy->port = m->port;
		weir_mbuf_discard(m);
		return copy;
	}
	weir_mbuf_window(m, off, len);
	while (unlikely(m->data_len == 0)) { /* the headers had buffers of their own */
		struct rte_mbuf *next = m->next;

		next->pkt_len = m->pkt_len;
		next->nb_segs = m->nb_segs - 1;
		next->port = m->port;
		m->next = NULL;
		m->nb_segs = 1;
		weir_mbuf_discard(m);
		m = next;
	}
	return m;
}

/* May the bytes of the first segment be written? Its mbuf is nobody else's. */
static inline bool
writable(const struct rte_mbuf *m)
{
	if (likely((m->ol_flags & (RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL)) == 0))
		return true;
	return RTE_MBUF_HAS_EXTBUF(m) && rte_mbuf_ext_refcnt_read(m->shinfo) == 1;
}

static void
put(struct weir_lcore *lc, struct fragq *q, unsigned int i, const struct frag *f,
    struct rte_mbuf *m, uint32_t truesize)
{
	struct weir_reasm *r = lc->reasm;
	struct span *s;
	struct rte_mbuf **to;

	if (unlikely(q->n == FRAGS_INLINE && q->block == NULL)) {
		/* There is one for every 11 fragments that there may be. */
		union block *b = r->free_blocks;

		r->free_blocks = b->next;
		memcpy(b->span, q->span, sizeof(q->span));
		memcpy(b->m, q->m, sizeof(q->m));
		q->block = b;
	}
	s = spans(q);
	to = frames(q);
	if (unlikely(i != q->n)) {
		memmove(s + i + 1, s + i, (q->n - i) * sizeof(*s));
		memmove(to + i + 1, to + i, (q->n - i) * sizeof(*to));
	}
	s[i] = (struct span){(uint16_t)f->off, (uint16_t)f->end};
	to[i] = m;
	q->n++;
	q->have = (uint16_t)(q->have + (f->end - f->off));
	q->reach = RTE_MAX(q->reach, (uint16_t)f->end);
	if (!f->more) {
		q->last = true;
		q->total = (uint16_t)f->end;
	}
	q->truesize += truesize;
	q->source->bytes += truesize;
	r->bytes += truesize;
	r->n_frags++;
	weir_count(&lc->c.rx_frag_in, 1);
}

/* ---- the whole ---- */

static struct rte_mbuf *
chain_up(struct rte_mbuf **m, unsigned int n)
{
	struct rte_mbuf *head = m[0];
	struct rte_mbuf *last = head;

	for (unsigned int i = 1; i < n; i++) {
		struct rte_mbuf *part = m[i];

		if (i + 1 < n)
			rte_prefetch0(m[i + 1]);
		while (unlikely(last->next != NULL))
			last = last->next;
		last->next = part;
		head->pkt_len += part->pkt_len;
		head->nb_segs = (uint16_t)(head->nb_segs + part->nb_segs);
		part->nb_segs = 1;
		last = part;
	}
	return head;
}

/* The header of a whole IPv4 packet of len bytes. */
static void
finish4(uint8_t *l3, uint32_t hdr_len, uint32_t len, bool ce)
{
	struct wire_ip4 *ip = (struct wire_ip4 *)(void *)l3;

	if (ce)
		ip->tos |= ECN_CE;
	ip->total_len = WIRE_BE16(len);
	ip->frag &= (wire_be16)~WIRE_BE16(WIRE_IP4_FRAG_MASK);
	ip->csum = 0;
	ip->csum = wire_ip4_csum(ip, hdr_len);
}

/* All headers in front of the fragment header move up over it. */
static void
finish6(struct rte_mbuf *m, const struct fragq *q, bool ce)
{
	uint8_t *from = rte_pktmbuf_mtod(m, uint8_t *);
	uint8_t *p = from + WIRE_FRAG6_LEN;
	const uint8_t next = from[q->frag_hdr + offsetof(struct wire_frag6, next)];
	struct wire_ip6 *ip = (struct wire_ip6 *)(void *)(p + q->l2_len);

	memmove(p, from, q->frag_hdr);
	m->data_off += WIRE_FRAG6_LEN;
	m->data_len -= WIRE_FRAG6_LEN;
	m->pkt_len -= WIRE_FRAG6_LEN;
	p[q->frag_prev] = next;
	ip->payload_len = WIRE_BE16(m->pkt_len - q->l2_len - WIRE_IP6_LEN);
	if (ce)
		ip->ver_tc_flow |= WIRE_BE32((uint32_t)ECN_CE << 20);
}

/*
 * The datagram's headers are made right. What a device said of a fragment says nothing of the datagram; what the
 * stack says of its own, over loopback, does.
 */
static struct rte_mbuf *
finish(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
       const struct fragq *q, uint8_t family)
{
	const uint32_t headers = (uint32_t)q->l2_len + q->l3_len;
	const bool ce = (q->ecn & SEEN_CE) != 0;

	if (unlikely(!writable(m))) {
		struct rte_mbuf *head = weir_mbuf_pull(m, headers, lc->stack->pool);

		if (head == NULL) {
			weir_drop(lc, WEIR_DROP_MEM_LIMIT, m);
			return NULL;
		}
		m = head;
	}
	if (likely(!port->parse.loopback))
		m->ol_flags &= ~(RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK);
	m->ol_flags &= ~RTE_MBUF_F_RX_RSS_HASH;
	m->packet_type = 0;
	if (family == 4)
		finish4(rte_pktmbuf_mtod_offset(m, uint8_t *, q->l2_len), q->l3_len,
			m->pkt_len - q->l2_len, ce);
	else
		finish6(m, q, ce);
	return m;
}

/* All of it is there. */
static struct rte_mbuf *
complete(struct weir_lcore *lc, const struct weir_port *port, struct fragq *q)
{
	const uint8_t family = key_family(q->key);
	/* The length that the first fragment's header is to say; another's may have been shorter. */
	const uint32_t around = family == 4 ? (uint32_t)q->l3_len
					    : (uint32_t)q->l3_len - WIRE_IP6_LEN - WIRE_FRAG6_LEN;
	struct rte_mbuf *m;

	if (unlikely(around + q->total > LONGEST)) {
		condemn(lc, q, WEIR_DROP_FRAG_BAD);
		return NULL;
	}
	m = chain_up(frames(q), q->n);
	weir_count(&lc->c.rx_consumed[WEIR_PROTO_FRAG], q->n - 1u);
	disown(lc, q);
	forget(lc, q);
	return finish(lc, port, m, q, family);
}

/* The only fragment of its datagram: no other has a part in it, whatever they say (RFC 6946). */
static struct rte_mbuf *
atomic_alone(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	     const struct wire_view *v)
{
	const struct fragq q = {
		.l2_len = v->l2_len,
		.l3_len = v->l3_len,
		.frag_hdr = v->frag_hdr,
		.frag_prev = v->frag_prev,
	};
	struct rte_mbuf *kept = keep(lc, m, v);

	if (kept == NULL) {
		weir_drop(lc, WEIR_DROP_MEM_LIMIT, m);
		return NULL;
	}
	return finish(lc, port, kept, &q, 6);
}

struct rte_mbuf *
weir_reasm_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		 const struct wire_view *v)
{
	struct frag f = {
		.off = v->frag_off,
		.end = v->frag_off + v->l3_payload,
		.more = v->frag_more,
	};
	enum weir_drop why;
	struct rte_mbuf *kept;
	struct fragq *q;
	unsigned int i, seen;
	uint32_t truesize;

	if (unlikely(f.off == 0 && !f.more))
		return atomic_alone(lc, port, m, v);
	if (unlikely(lc->reasm == NULL)) {
		weir_drop(lc, WEIR_DROP_IP_FRAG, m);
		return NULL;
	}
	if (unlikely(!sound(lc, port, m, v)))
		return NULL;
	make_key(f.key, port, rte_pktmbuf_mtod(m, const uint8_t *), v);
	q = find(lc, f.key);
	if (unlikely(q->mark != 0)) {
		weir_drop(lc, (enum weir_drop)(q->mark - 1), m);
		return NULL;
	}
	i = place_of(spans(q), q->n, f.off);
	seen = q->ecn | 1u << (v->traffic & ECN_MASK);
	if (unlikely(!fits(q, &f, i, &why))) {
		weir_drop(lc, why, m);
		if (why != WEIR_DROP_FRAG_DUP)
			condemn(lc, q, why);
		return NULL;
	}
	if (unlikely(!ecn_together(seen) || q->n == FRAGS_MAX)) {
		why = q->n == FRAGS_MAX ? WEIR_DROP_FRAG_MANY : WEIR_DROP_FRAG_ECN;
		weir_drop(lc, why, m);
		condemn(lc, q, why);
		return NULL;
	}
	kept = keep(lc, m, v);
	if (unlikely(kept == NULL)) {
		weir_drop(lc, WEIR_DROP_MEM_LIMIT, m);
		if (q->n == 0)
			give_up(lc, q, WEIR_DROP_MEM_LIMIT);
		return NULL;
	}
	truesize = weir_truesize(kept);
	/* What makes the datagram whole is not held, and needs no room. */
	if ((f.more ? !q->last : false) ||
	    q->have + (f.end - f.off) != (f.more ? q->total : f.end)) {
		if (unlikely(!make_room(lc, q, truesize, &why))) {
			weir_drop(lc, why, kept);
			return NULL;
		}
	}
	q->ecn = (uint8_t)seen;
	if (f.off == 0) {
		q->l2_len = v->l2_len;
		q->l3_len = v->l3_len;
		q->frag_hdr = v->frag_hdr;
		q->frag_prev = v->frag_prev;
	}
	put(lc, q, i, &f, kept, truesize);
	return q->last && q->have == q->total ? complete(lc, port, q) : NULL;
}

/* ---- control ---- */

void
weir_reasm_flush(struct weir_lcore *lc, int port, enum weir_drop reason)
{
	struct weir_reasm *r = lc->reasm;
	struct fragq *q, *next;

	if (r == NULL)
		return;
	for (q = TAILQ_FIRST(&r->living); q != NULL; q = next) {
		next = TAILQ_NEXT(q, age);
		if (port == -1 || key_port(q->key) == port)
			give_up(lc, q, reason);
	}
	for (q = TAILQ_FIRST(&r->marks); q != NULL; q = next) {
		next = TAILQ_NEXT(q, age);
		if (port == -1 || key_port(q->key) == port)
			forget_mark(lc, q);
	}
}

void
weir_reasm_info_get(const struct weir_lcore *lc, struct weir_reasm_info *out)
{
	const struct weir_reasm *r = lc->reasm;

	*out = (struct weir_reasm_info){0};
	if (r == NULL)
		return;
	out->datagrams = r->n_queues;
	out->fragments = r->n_frags;
	out->bytes = r->bytes;
}

static void *
take(uint64_t n, size_t size, int socket_id)
{
	return rte_zmalloc_socket("weir_reasm", n * size, WEIR_CACHE_LINE, socket_id);
}

int
weir_reasm_init(struct weir_lcore *lc, int socket_id)
{
	const struct weir_stack_conf *conf = &lc->stack->conf;
	struct weir_reasm *r;
	uint32_t max_frags, n_queues, n_blocks, n_buckets;

	lc->reasm = NULL;
	if (conf->frag_mem == 0)
		return 0;
	max_frags = RTE_MAX(conf->frag_mem / FRAGS_EACH, 2u);
	n_queues = max_frags + max_frags / 4 + 1; /* a quarter more, for marks */
	n_blocks = max_frags / (FRAGS_INLINE + 1) + 1;
	n_buckets = rte_align32pow2(n_queues);
	r = take(1, sizeof(*r), socket_id);
	if (r == NULL)
		return -ENOMEM;
	lc->reasm = r;
	r->queue = take(n_queues, sizeof(*r->queue), socket_id);
	r->source = take(n_queues, sizeof(*r->source), socket_id);
	r->block = take(n_blocks, sizeof(*r->block), socket_id);
	r->bucket = take(n_buckets, sizeof(*r->bucket), socket_id);
	r->source_bucket = take(n_buckets, sizeof(*r->source_bucket), socket_id);
	TAILQ_INIT(&r->living);
	TAILQ_INIT(&r->marks);
	if (r->queue == NULL || r->source == NULL || r->block == NULL || r->bucket == NULL ||
	    r->source_bucket == NULL) {
		weir_reasm_fini(lc);
		return -ENOMEM;
	}
	r->life_ns = conf->frag_ms * WEIR_NS_PER_MS;
	r->mem = conf->frag_mem;
	r->source_mem = conf->frag_source_mem != 0 ? conf->frag_source_mem : UINT64_MAX;
	r->max_frags = max_frags;
	r->mask = n_buckets - 1;
	for (uint32_t i = n_queues; i-- > 0;) {
		SLIST_INSERT_HEAD(&r->free_queues, &r->queue[i], chain);
		SLIST_INSERT_HEAD(&r->free_sources, &r->source[i], chain);
	}
	for (uint32_t i = n_blocks; i-- > 0;) {
		r->block[i].next = r->free_blocks;
		r->free_blocks = &r->block[i];
	}
	return 0;
}

void
weir_reasm_fini(struct weir_lcore *lc)
{
	struct weir_reasm *r = lc->reasm;

	if (r == NULL)
		return;
	weir_reasm_flush(lc, -1, WEIR_DROP_STACK_STOPPED);
	lc->reasm = NULL;
	rte_free(r->queue);
	rte_free(r->source);
	rte_free(r->block);
	rte_free(r->bucket);
	rte_free(r->source_bucket);
	rte_free(r);
}
