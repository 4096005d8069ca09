/* SPDX-License-Identifier: BSD-3-Clause */
/* See reasm_rig.h. */
#include "reasm_rig.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "ut_guard.h"
#include "ut_pkt.h"
#include "ut_pool.h"

#define PAYLOAD_MAX  65536
#define FRAGS_MAX    128
#define FRAGS_EACH   2048 /* bytes of memory per fragment that is provided for */
#define TICK_MAX     64
#define WATCH_MAX    32
#define SECOND_BUF   RTE_MBUF_DEFAULT_DATAROOM
#define FRAME_PREFIX 14

struct weir_lcore *rr_lc;
struct rte_mempool *rr_pool;
void (*rr_die)(const char *text);

static struct weir_stack *stack;
static struct weir_port *ports[RR_PORTS];
static struct rr_got got;

static void __rte_format_printf(1, 2) __attribute__((noreturn)) die(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	rr_die(text);
	abort();
}

#define REQUIRE(cond, ...)                                                                         \
	do {                                                                                       \
		if (!(cond))                                                                       \
			die(__VA_ARGS__);                                                          \
	} while (0)

/* ---- the reference ---- */

struct ref_frag {
	uint32_t off, end;
	bool more;
	uint8_t variant;
	const uint8_t *at;
	uint32_t truesize, segs;
};

struct ref {
	TAILQ_ENTRY(ref) next; /* in order of birth */
	struct rr_piece key;   /* of its first piece to come */
	struct rr_piece first; /* of offset 0 */
	uint64_t born_ns;
	bool marked;
	enum weir_drop mark;
	bool ecn[4];
	unsigned int n;
	struct ref_frag frag[FRAGS_MAX];
	uint8_t map[PAYLOAD_MAX + 1]; /* which bytes are there */
};
TAILQ_HEAD(refs, ref);

static struct {
	struct rr_conf conf;
	struct refs living, marks;
	unsigned int n_living, n_marks;
	uint64_t drops[WEIR_DROP_N], consumed, n_icmp;
	enum weir_icmp_why why;
	uint32_t pointer;
	/* What came of the last piece. */
	bool whole;
	uint8_t out[FRAME_PREFIX + 60 + 40 + 256 + PAYLOAD_MAX];
	uint32_t out_len;
} ref;

static bool
same_datagram(const struct rr_piece *a, const struct rr_piece *b)
{
	return a->family == b->family && a->flow == b->flow && a->id == b->id &&
	       a->port == b->port && (a->family == 6 || a->proto == b->proto);
}

static bool
same_source(const struct rr_piece *a, const struct rr_piece *b)
{
	return a->family == b->family && a->flow == b->flow;
}

static uint64_t
ref_bytes(const struct rr_piece *source)
{
	uint64_t sum = 0;
	const struct ref *r;

	TAILQ_FOREACH(r, &ref.living, next)
		for (unsigned int i = 0; i < r->n; i++)
			if (source == NULL || same_source(&r->key, source))
				sum += r->frag[i].truesize;
	return sum;
}

static unsigned int
ref_frags(void)
{
	unsigned int n = 0;
	const struct ref *r;

	TAILQ_FOREACH(r, &ref.living, next)
		n += r->n;
	return n;
}

static unsigned int
ref_segs(void)
{
	unsigned int n = 0;
	const struct ref *r;

	TAILQ_FOREACH(r, &ref.living, next)
		for (unsigned int i = 0; i < r->n; i++)
			n += r->frag[i].segs;
	return n;
}

static void
ref_leave(struct ref *r)
{
	TAILQ_REMOVE(r->marked ? &ref.marks : &ref.living, r, next);
	if (r->marked)
		ref.n_marks--;
	else
		ref.n_living--;
}

static void
ref_give_up(struct ref *r, enum weir_drop reason)
{
	ref.drops[reason] += r->n;
	ref_leave(r);
	free(r);
}

static void
ref_condemn(struct ref *r, enum weir_drop reason)
{
	ref.drops[reason] += r->n;
	ref_leave(r);
	r->n = 0;
	r->marked = true;
	r->mark = reason;
	r->born_ns = rr_lc->now_ns;
	TAILQ_INSERT_TAIL(&ref.marks, r, next);
	ref.n_marks++;
}

static void
ref_icmp(enum weir_icmp_why why, uint32_t pointer)
{
	ref.n_icmp++;
	ref.why = why;
	ref.pointer = pointer;
}

static bool
ref_old(const struct ref *r)
{
	return rr_lc->now_ns > r->born_ns &&
	       rr_lc->now_ns - r->born_ns >= ref.conf.ms * WEIR_NS_PER_MS;
}

static void
ref_expire(struct ref *r)
{
	if (r->marked) {
		ref_leave(r);
		free(r);
		return;
	}
	if (r->map[0] != 0)
		ref_icmp(WEIR_ICMP_REASM_TIME, 0);
	ref_give_up(r, WEIR_DROP_FRAG_TIMEOUT);
}

static void
ref_tick(void)
{
	struct ref *r;
	unsigned int n = 0;

	for (; n < TICK_MAX && (r = TAILQ_FIRST(&ref.living)) != NULL && ref_old(r); n++)
		ref_expire(r);
	for (; n < TICK_MAX && (r = TAILQ_FIRST(&ref.marks)) != NULL && ref_old(r); n++)
		ref_expire(r);
}

static struct ref *
ref_find(const struct rr_piece *p)
{
	struct ref *r;

	TAILQ_FOREACH(r, &ref.living, next)
		if (same_datagram(&r->key, p))
			return r;
	TAILQ_FOREACH(r, &ref.marks, next)
		if (same_datagram(&r->key, p))
			return r;
	return NULL;
}

static uint32_t
max_frags(void)
{
	return RTE_MAX(ref.conf.mem / FRAGS_EACH, 2u);
}

static struct ref *
ref_begin(const struct rr_piece *p)
{
	struct ref *r;

	if (ref.n_living + ref.n_marks == max_frags() + max_frags() / 4 + 1) {
		r = TAILQ_FIRST(&ref.marks);
		if (r != NULL)
			ref_expire(r);
		else
			ref_give_up(TAILQ_FIRST(&ref.living), WEIR_DROP_FRAG_MEM);
	}
	r = calloc(1, sizeof(*r));
	REQUIRE(r != NULL, "no memory for the reference");
	r->key = *p;
	r->born_ns = rr_lc->now_ns;
	TAILQ_INSERT_TAIL(&ref.living, r, next);
	ref.n_living++;
	return r;
}

static uint8_t
byte_of(const struct rr_piece *p, uint32_t id, uint8_t variant, const uint8_t *at, uint32_t off,
	uint32_t position)
{
	return at != NULL ? at[position - off]
			  : (uint8_t)(position * 7 + (position >> 8) + id * 31 + p->flow + variant);
}

/* Bytes that the datagram's own length has to count beside the payload. */
static uint32_t
around(const struct rr_piece *p)
{
	return (p->family == 4 ? 20u : 0u) + p->extra;
}

/* The whole frame, from the map and the first fragment's header, written anew. */
static void
ref_assemble(const struct ref *r, uint32_t total)
{
	struct rr_piece head = r->first;
	uint8_t ecn = head.traffic & 3;
	uint8_t *p = ref.out;
	struct wire_view v;
	uint32_t headers;

	if (r->ecn[3])
		ecn = 3;
	head.traffic = (uint8_t)((head.traffic & ~3) | ecn);
	head.len = 0;
	head.padding = 0;
	head.more = false;
	rr_frame(&head, p, &v);
	headers = (uint32_t)v.l2_len + v.l3_len;
	if (head.family == 4) {
		ut_put16(p + 14 + 2, (uint16_t)(headers - 14 + total));
		ut_fix_ip_csum(p, headers);
	} else {
		p[v.frag_prev] = head.proto;
		headers -= 8; /* the fragment header was the last */
		ut_put16(p + 14 + 4, (uint16_t)(headers - 14 - 40 + total));
	}
	for (unsigned int i = 0; i < r->n; i++)
		for (uint32_t b = r->frag[i].off; b < r->frag[i].end; b++)
			p[headers + b] = byte_of(&r->key, r->key.id, r->frag[i].variant,
						 r->frag[i].at, r->frag[i].off, b);
	ref.out_len = headers + total;
	ref.whole = true;
}

/* First fragments of IPv6: is the upper layer's header in sight? Of those that the rig makes. */
static bool
ref_chain_whole(const struct rr_piece *p)
{
	uint8_t next = p->proto;
	uint32_t at = 0;

	for (;;) {
		uint32_t len;

		if (next == WIRE_PROTO_NONE)
			return true;
		if (next == WIRE_PROTO_UDP || next == WIRE_PROTO_ICMP6)
			return p->len >= at + 8;
		if (next != WIRE_PROTO_HOPOPTS && next != WIRE_PROTO_DSTOPTS &&
		    next != WIRE_PROTO_ROUTING && next != WIRE_PROTO_AH)
			return p->len > at;
		if (at > 256)
			return true;
		if (p->len < at + 2)
			return false;
		len = byte_of(p, p->id, p->variant, p->at, 0, at + 1);
		len = next == WIRE_PROTO_AH ? (len + 2) * 4 : (len + 1) * 8;
		if (p->len < at + len)
			return false;
		next = byte_of(p, p->id, p->variant, p->at, 0, at);
		at += len;
	}
}

/* The rules, one by one. */
static void
ref_input(const struct rr_piece *p, uint32_t truesize, uint32_t segs)
{
	const uint32_t off = p->off;
	const uint32_t end = off + p->len;
	uint32_t there = 0;
	uint32_t total = UINT32_MAX;
	uint32_t reach = 0;
	enum weir_drop why = WEIR_DROP_N;
	bool twin = false;
	bool full;
	struct ref *r;

	ref.whole = false;
	if (off == 0 && !p->more) { /* RFC 6946; of IPv4 it is no fragment */
		struct ref *alone = calloc(1, sizeof(*alone));

		REQUIRE(alone != NULL, "no memory for the reference");
		alone->key = alone->first = *p;
		alone->n = 1;
		alone->frag[0] = (struct ref_frag){0, p->len, false, p->variant, p->at, 0, 0};
		ref_assemble(alone, p->len);
		free(alone);
		return;
	}
	if (p->len == 0) {
		ref.drops[WEIR_DROP_FRAG_BAD]++;
		return;
	}
	if (p->more && p->len % 8 != 0) {
		if (p->family == 6)
			ref_icmp(WEIR_ICMP_PARAM_HEADER, 4);
		ref.drops[WEIR_DROP_FRAG_BAD]++;
		return;
	}
	if (around(p) + end > 65535) {
		if (p->family == 6)
			ref_icmp(WEIR_ICMP_PARAM_HEADER, 40u + p->extra + 2);
		ref.drops[WEIR_DROP_FRAG_BAD]++;
		return;
	}
	if (p->family == 6 && off == 0 && !ref_chain_whole(p)) {
		ref_icmp(WEIR_ICMP_PARAM_CHAIN, 0);
		ref.drops[WEIR_DROP_FRAG_HEADER]++;
		return;
	}
	r = ref_find(p);
	if (r != NULL && ref_old(r)) {
		ref_expire(r);
		r = NULL;
	}
	if (r == NULL)
		r = ref_begin(p);
	if (r->marked) {
		ref.drops[r->mark]++;
		return;
	}
	for (unsigned int i = 0; i < r->n; i++) {
		const struct ref_frag *f = &r->frag[i];

		if (!f->more)
			total = f->end;
		reach = RTE_MAX(reach, f->end);
		twin |= f->off == off && f->end == end && f->more == p->more;
	}
	for (uint32_t b = off; b < end; b++)
		there += r->map[b];
	if ((total != UINT32_MAX && (end > total || (!p->more && end != total))) ||
	    (!p->more && end < reach)) {
		why = WEIR_DROP_FRAG_BAD;
	} else if (there != 0) {
		if (p->family == 4 ? there == p->len : twin) {
			ref.drops[WEIR_DROP_FRAG_DUP]++;
			return;
		}
		why = WEIR_DROP_FRAG_OVERLAP;
	} else if (r->n == FRAGS_MAX) {
		why = WEIR_DROP_FRAG_MANY;
	} else if ((p->traffic & 3) == 0 ? r->ecn[1] || r->ecn[2] || r->ecn[3] : r->ecn[0]) {
		why = WEIR_DROP_FRAG_ECN;
	}
	if (why != WEIR_DROP_N) {
		ref.drops[why]++;
		ref_condemn(r, why);
		return;
	}
	/* Will it be whole? Then it needs no room. */
	if (!p->more)
		total = end;
	full = total != UINT32_MAX;
	for (uint32_t b = 0; full && b < total; b++)
		full = r->map[b] != 0 || (b >= off && b < end);
	while (!full) {
		struct ref *old;

		if (ref.conf.source_mem != 0 && ref_bytes(p) + truesize > ref.conf.source_mem) {
			old = TAILQ_FIRST(&ref.living);
			while (!same_source(&old->key, p))
				old = TAILQ_NEXT(old, next);
			why = WEIR_DROP_FRAG_SOURCE;
		} else if (ref_bytes(NULL) + truesize > ref.conf.mem ||
			   ref_frags() == max_frags()) {
			old = TAILQ_FIRST(&ref.living);
			why = WEIR_DROP_FRAG_MEM;
		} else {
			break;
		}
		ref_give_up(old, why);
		if (old == r) {
			ref.drops[why]++;
			return;
		}
	}
	r->ecn[p->traffic & 3] = true;
	if (off == 0)
		r->first = *p;
	r->frag[r->n++] = (struct ref_frag){off, end, p->more, p->variant, p->at, truesize, segs};
	memset(r->map + off, 1, p->len);
	if (!full)
		return;
	if (around(&r->first) + total > 65535) {
		ref_condemn(r, WEIR_DROP_FRAG_BAD);
		return;
	}
	ref.consumed += r->n - 1;
	ref_assemble(r, total);
	ref_leave(r);
	free(r);
}

static void
ref_flush(int port)
{
	struct ref *r, *next;

	for (r = TAILQ_FIRST(&ref.living); r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (port == -1 || r->key.port == port)
			ref_give_up(r, WEIR_DROP_PORT_GONE_RX);
	}
	for (r = TAILQ_FIRST(&ref.marks); r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (port == -1 || r->key.port == port)
			ref_expire(r);
	}
}

/* ---- frames ---- */

struct rr_piece
rr_piece4(void)
{
	return (struct rr_piece){.family = 4, .proto = 17, .id = 1, .more = true, .len = 1480};
}

struct rr_piece
rr_piece6(void)
{
	struct rr_piece p = rr_piece4();

	p.family = 6;
	p.len = 1448;
	return p;
}

static uint32_t
frame4(const struct rr_piece *p, uint8_t *ip, struct wire_view *v)
{
	const uint32_t hdr_len = 20u + p->extra;

	ip[0] = (uint8_t)(0x40 | hdr_len / 4);
	ip[1] = p->traffic;
	ut_put16(ip + 2, (uint16_t)(hdr_len + p->len));
	ut_put16(ip + 4, (uint16_t)p->id);
	ut_put16(ip + 6, (uint16_t)(0x4000 | (p->more ? 0x2000 : 0) | p->off / 8));
	ip[8] = 64;
	ip[9] = p->proto;
	ut_put16(ip + 10, 0);
	ut_put32(ip + 12, UT_IP(10, 1, p->flow, 2));
	ut_put32(ip + 16, UT_OUR_IP);
	memset(ip + 20, 1, p->extra); /* no operation */
	ut_put16(ip + 10, ut_csum(ip, hdr_len, 0));
	v->src4 = WIRE_BE32(UT_IP(10, 1, p->flow, 2));
	v->dst4 = WIRE_BE32(UT_OUR_IP);
	v->frag_id = WIRE_BE16((uint16_t)p->id); /* as it lies in the header */
	return hdr_len;
}

static uint32_t
frame6(const struct rr_piece *p, uint8_t *ip, struct wire_view *v)
{
	static const uint8_t prefix[4] = {0x20, 0x01, 0x0d, 0xb8};
	uint8_t *at = ip + 40;

	memset(ip, 0, 40);
	ut_put32(ip, 6u << 28 | (uint32_t)p->traffic << 20 | 0x12345);
	ut_put16(ip + 4, (uint16_t)(p->extra + 8u + p->len));
	ip[6] = p->extra != 0 ? 0 : 44;
	ip[7] = 64;
	memcpy(ip + 8, prefix, 4);
	ip[15] = p->flow;
	ip[23] = 2;
	memcpy(ip + 24, prefix, 4);
	ip[39] = 1;
	v->frag_prev = 14 + 6;
	if (p->extra != 0) { /* hop-by-hop, with an option for experiments that may be skipped */
		memset(at, 0, p->extra);
		at[0] = 44;
		at[1] = (uint8_t)(p->extra / 8 - 1);
		at[2] = 0x1e;
		at[3] = (uint8_t)(p->extra - 4);
		v->frag_prev = 14 + 40;
		at += p->extra;
	}
	at[0] = p->proto;
	at[1] = 0;
	ut_put16(at + 2, (uint16_t)(p->off | (p->more ? 1 : 0)));
	ut_put32(at + 4, p->id);
	v->frag_hdr = (uint16_t)(14 + (at - ip));
	v->frag_id = WIRE_BE32(p->id);
	return (uint32_t)(at + 8 - ip);
}

uint32_t
rr_frame(const struct rr_piece *p, uint8_t *frame, struct wire_view *v)
{
	uint8_t *to;

	memset(v, 0, sizeof(*v));
	memcpy(frame, UT_OUR_MAC UT_PEER_MAC, 12);
	frame[3] = 0;
	ut_put16(frame + 12, p->family == 4 ? 0x0800 : 0x86dd);
	v->kind = WIRE_FRAG;
	v->family = p->family;
	v->l2_len = 14;
	v->l3_len =
		(uint16_t)(p->family == 4 ? frame4(p, frame + 14, v) : frame6(p, frame + 14, v));
	v->proto = p->proto;
	v->hop_limit = 64;
	v->traffic = p->traffic;
	v->frag_more = p->more;
	v->frag_off = p->off;
	v->l3_payload = p->len;
	to = frame + 14 + v->l3_len;
	for (uint32_t i = 0; i < p->len; i++)
		to[i] = byte_of(p, p->id, p->variant, p->at, p->off, p->off + i);
	memset(to + p->len, 0xee, p->padding);
	return 14u + v->l3_len + p->len + p->padding;
}

/* ---- buffers ---- */

/* Bytes that somebody else holds, and what they must remain. */
static struct {
	struct rte_mbuf *m;
	uint8_t frame[2048];
	uint32_t len;
} watch[WATCH_MAX];
static unsigned int n_watch;

static void
look_at_watched(void)
{
	for (unsigned int i = 0; i < n_watch; i++) {
		REQUIRE(watch[i].m->data_len == watch[i].len && watch[i].m->next == NULL &&
				watch[i].m->pkt_len == watch[i].len,
			"a buffer of others was cut or chained");
		REQUIRE(memcmp(rte_pktmbuf_mtod(watch[i].m, void *), watch[i].frame,
			       watch[i].len) == 0,
			"bytes of others were written");
	}
}

static void
free_watched(void)
{
	look_at_watched();
	while (n_watch > 0)
		rte_pktmbuf_free(watch[--n_watch].m);
}

static struct rte_mbuf *
watched(struct rte_mbuf *m, const uint8_t *frame, uint32_t len, bool clone)
{
	struct rte_mbuf *other = m;

	if (clone) {
		other = rte_pktmbuf_clone(m, rr_pool);
		REQUIRE(other != NULL, "no buffer for a clone");
	} else {
		rte_mbuf_refcnt_update(m, 1);
	}
	watch[n_watch].m = m;
	watch[n_watch].len = len;
	memcpy(watch[n_watch++].frame, frame, len);
	return other;
}

static struct rte_mbuf *
in_shape(const uint8_t *frame, uint32_t len, const struct wire_view *v, uint8_t shape)
{
	const uint32_t headers = (uint32_t)v->l2_len + v->l3_len;
	size_t cuts[3] = {headers, 0, 0};
	struct rte_mbuf *m;

	if (n_watch == WATCH_MAX && ref.n_living == 0)
		free_watched();
	if (shape == RR_SPLIT)
		return ut_guard_mbuf_split(rr_pool, frame, len, cuts, 1);
	if (shape == RR_CHAIN) {
		cuts[0] = headers + (len - headers) / 3;
		cuts[1] = cuts[0];
		cuts[2] = cuts[0] + (len - cuts[0]) / 2;
		return ut_guard_mbuf_split(rr_pool, frame, len, cuts, 3);
	}
	if (shape == RR_EXTERN)
		return ut_guard_mbuf(rr_pool, frame, len);
	m = ut_bytes_mbuf(frame, len, rr_pool);
	if ((shape == RR_SHARED || shape == RR_CLONE) && n_watch < WATCH_MAX &&
	    len <= sizeof(watch[0].frame) && m->nb_segs == 1)
		m = watched(m, frame, len, shape == RR_CLONE);
	return m;
}

/* True size and number of the buffers that hold the part that is kept. */
static void
size_kept(const struct rte_mbuf *m, const struct rr_piece *p, const struct wire_view *v,
	  uint32_t *truesize, uint32_t *segs)
{
	const uint32_t headers = (uint32_t)v->l2_len + v->l3_len;
	const uint32_t from = p->off == 0 ? 0 : headers;
	const uint32_t to = headers + p->len;
	uint32_t at = 0;

	*truesize = 0;
	*segs = 0;
	if (rte_mbuf_refcnt_read(m) > 1) { /* a copy is kept */
		*truesize = RR_BUF_SIZE;
		*segs = 1;
		return;
	}
	for (; m != NULL; m = m->next) {
		const uint32_t next = at + m->data_len;

		if (m->data_len != 0 && next > from && at < to) {
			*truesize += m->buf_len + 128u;
			*segs += 1;
		}
		at = next;
	}
}

/* ---- the engine ---- */

void __wrap_weir_icmp_error(struct weir_lcore *lc, const struct weir_port *port,
			    const struct rte_mbuf *m, enum weir_icmp_why why, uint32_t pointer);

/* What is quoted must be a first fragment, whole, where that is what the error is about. */
void
__wrap_weir_icmp_error(struct weir_lcore *lc, const struct weir_port *port,
		       const struct rte_mbuf *m, enum weir_icmp_why why, uint32_t pointer)
{
	const uint8_t *p = rte_pktmbuf_mtod(m, const uint8_t *);

	REQUIRE(lc == rr_lc && port != NULL, "ICMP error of somebody else");
	got.n_icmp++;
	got.why = why;
	got.pointer = pointer;
	if (why != WEIR_ICMP_REASM_TIME)
		return;
	if (ut_get16(p + 12) == 0x0800) {
		REQUIRE(m->pkt_len == 14u + ut_get16(p + 16), "quoted packet of other length");
		REQUIRE((ut_get16(p + 20) & 0x3fff) == 0x2000, "quoted is not the first fragment");
		REQUIRE(ut_csum(p + 14, (p[14] & 15) * 4u, 0) == 0, "quoted header was written");
	} else {
		REQUIRE(m->pkt_len == 54u + ut_get16(p + 18), "quoted packet of other length");
	}
}

static uint64_t
counter_of(enum weir_drop reason)
{
	return weir_counter_read(&rr_lc->c.drops[reason]);
}

int
rr_up(const struct rr_conf *conf)
{
	static unsigned int serial;
	char name[16];
	int ret;

	if (rr_pool == NULL) {
		snprintf(name, sizeof(name), "reasm%u", serial++);
		rr_pool = ut_pool_create(name, conf->buffers, 0);
	}
	if (stack == NULL) {
		stack = rte_zmalloc(NULL, sizeof(*stack), WEIR_CACHE_LINE);
		rr_lc = rte_zmalloc(NULL, sizeof(*rr_lc), WEIR_CACHE_LINE);
		REQUIRE(stack != NULL && rr_lc != NULL, "no memory for the rig");
		for (unsigned int i = 0; i < RR_PORTS; i++) {
			ports[i] = rte_zmalloc(NULL, sizeof(*ports[i]), WEIR_CACHE_LINE);
			REQUIRE(ports[i] != NULL, "no memory for the rig");
			ports[i]->index = (uint16_t)i;
			stack->ports[i] = ports[i];
		}
	}
	memset(&rr_lc->c, 0, sizeof(rr_lc->c));
	rr_lc->stack = stack;
	rr_lc->now_ns = WEIR_NS_PER_S;
	stack->pool = rr_pool;
	stack->conf.frag_mem = conf->mem;
	stack->conf.frag_source_mem = conf->source_mem;
	stack->conf.frag_ms = conf->ms;
	for (unsigned int i = 0; i < RTE_DIM(stack->hash_key); i++)
		stack->hash_key[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1;
	ret = weir_reasm_init(rr_lc, SOCKET_ID_ANY);
	if (ret != 0)
		return ret;
	memset(&ref.drops, 0, sizeof(ref.drops));
	ref.conf = *conf;
	ref.consumed = 0;
	TAILQ_INIT(&ref.living);
	TAILQ_INIT(&ref.marks);
	ref.n_living = 0;
	ref.n_marks = 0;
	return 0;
}

void
rr_down(void)
{
	unsigned int out;

	ref_flush(-1);
	weir_reasm_fini(rr_lc);
	REQUIRE(rr_lc->reasm == NULL, "an engine is left");
	free_watched();
	REQUIRE(weir_counter_read(&rr_lc->c.rx_frag_in) == weir_counter_read(&rr_lc->c.rx_frag_out),
		"fragments wait nowhere");
	out = rte_mempool_in_use_count(rr_pool);
	if (out != 0)
		rr_pool = NULL; /* the next case has one of its own */
	REQUIRE(out == 0, "%u buffers are out", out);
	REQUIRE(ut_guard_live() == 0, "%u guarded buffers are out", ut_guard_live());
}

/* All that can be seen at any time. */
static void
compare(void)
{
	const uint64_t waiting =
		weir_counter_read(&rr_lc->c.rx_frag_in) - weir_counter_read(&rr_lc->c.rx_frag_out);
	struct weir_reasm_info info;

	weir_reasm_info_get(rr_lc, &info);
	for (int i = 0; i < WEIR_DROP_N; i++)
		REQUIRE(counter_of((enum weir_drop)i) == ref.drops[i],
			"drops %s: %" PRIu64 ", the reference says %" PRIu64,
			weir_drop_name((enum weir_drop)i), counter_of((enum weir_drop)i),
			ref.drops[i]);
	REQUIRE(weir_counter_read(&rr_lc->c.rx_consumed[WEIR_PROTO_FRAG]) == ref.consumed,
		"joined: %" PRIu64 ", the reference says %" PRIu64,
		weir_counter_read(&rr_lc->c.rx_consumed[WEIR_PROTO_FRAG]), ref.consumed);
	REQUIRE(info.fragments == ref_frags() && waiting == ref_frags(),
		"%u fragments wait, counters say %" PRIu64 ", the reference %u", info.fragments,
		waiting, ref_frags());
	REQUIRE(info.datagrams == ref.n_living, "%u datagrams wait, the reference says %u",
		info.datagrams, ref.n_living);
	REQUIRE(info.bytes == ref_bytes(NULL), "%" PRIu64 " bytes, the reference says %" PRIu64,
		info.bytes, ref_bytes(NULL));
	REQUIRE(info.bytes <= ref.conf.mem, "%" PRIu64 " bytes are over the bound of %u",
		info.bytes, ref.conf.mem);
	REQUIRE(got.n_icmp == ref.n_icmp, "%u ICMP errors, the reference says %" PRIu64, got.n_icmp,
		ref.n_icmp);
	if (ref.n_icmp != 0)
		REQUIRE(got.why == ref.why && got.pointer == ref.pointer,
			"ICMP error %d at %u, the reference says %d at %u", got.why, got.pointer,
			ref.why, ref.pointer);
	look_at_watched();
}

static void
compare_whole(struct rte_mbuf *m)
{
	static uint8_t bytes[sizeof(ref.out)];
	uint32_t len = 0;
	uint16_t segs = 0;

	REQUIRE((m != NULL) == ref.whole, m != NULL ? "a datagram came out: the reference has none"
						    : "no datagram: the reference has one");
	got.whole = m != NULL;
	got.frame = bytes;
	if (m == NULL)
		return;
	REQUIRE(m->port == 7, "the port of arrival is lost");
	REQUIRE((m->ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_L4_CKSUM_MASK |
				RTE_MBUF_F_RX_RSS_HASH)) == 0,
		"the device's word on a fragment is taken for the whole");
	REQUIRE(m->pkt_len == ref.out_len, "%u bytes came out, the reference has %u", m->pkt_len,
		ref.out_len);
	got.segs = m->nb_segs;
	got.len = m->pkt_len;
	for (const struct rte_mbuf *s = m; s != NULL; s = s->next) {
		REQUIRE(s->data_len != 0, "an empty segment");
		REQUIRE(len + s->data_len <= sizeof(bytes), "segments longer than the packet");
		memcpy(bytes + len, rte_pktmbuf_mtod(s, void *), s->data_len);
		len += s->data_len;
		segs++;
	}
	REQUIRE(len == m->pkt_len && segs == m->nb_segs, "the chain is not what its head says");
	for (uint32_t i = 0; i < len; i++)
		REQUIRE(bytes[i] == ref.out[i], "byte %u is %02x, the reference has %02x", i,
			bytes[i], ref.out[i]);
	rte_pktmbuf_free(m);
}

static void
begin_step(void)
{
	memset(&got, 0, sizeof(got));
	got.reason = WEIR_DROP_N;
	ref.n_icmp = 0;
}

/* Each of them is the engine's or somebody else's. */
static void
count_buffers(void)
{
	REQUIRE(rte_mempool_in_use_count(rr_pool) == ref_segs() + n_watch,
		"%u buffers are out, the reference has %u", rte_mempool_in_use_count(rr_pool),
		ref_segs() + n_watch);
}

/* Is the view that the rig writes by hand what the parse gives? */
static void
check_view(const uint8_t *frame, uint32_t len, const struct wire_view *v)
{
	struct wire_parse_opt opt = {.max_frame = 0};
	struct wire_view w;

	memcpy(opt.mac, frame, sizeof(opt.mac));
	wire_parse(frame, len, len, &opt, &w);
	REQUIRE(w.kind == WIRE_FRAG, "the parse says %u, reason %s", w.kind,
		weir_drop_name((enum weir_drop)w.reason));
	REQUIRE(w.family == v->family && w.l2_len == v->l2_len && w.l3_len == v->l3_len &&
			w.proto == v->proto && w.traffic == v->traffic &&
			w.l3_payload == v->l3_payload && w.src4 == v->src4 && w.dst4 == v->dst4,
		"the parse sees another packet");
	REQUIRE(w.frag_more == v->frag_more && w.frag_off == v->frag_off &&
			w.frag_hdr == v->frag_hdr && w.frag_prev == v->frag_prev &&
			w.frag_id == v->frag_id,
		"the parse sees another fragment");
}

const struct rr_got *
rr_feed(const struct rr_piece *p)
{
	static uint8_t frame[RR_FRAME_MAX + 65536];
	uint64_t before[WEIR_DROP_N];
	struct wire_view v;
	const uint32_t len = rr_frame(p, frame, &v);
	struct rte_mbuf *m = in_shape(frame, len, &v, p->shape);
	uint32_t truesize, segs;

	begin_step();
	if (p->off != 0 || p->more)
		check_view(frame, len, &v);
	for (int i = 0; i < WEIR_DROP_N; i++)
		before[i] = counter_of((enum weir_drop)i);
	m->port = 7;
	m->ol_flags |=
		RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD | RTE_MBUF_F_RX_RSS_HASH;
	size_kept(m, p, &v, &truesize, &segs);
	ref_input(p, truesize, segs);
	compare_whole(weir_reasm_input(rr_lc, ports[p->port], m, &v));
	for (int i = WEIR_DROP_N; i-- > 0;)
		if (counter_of((enum weir_drop)i) != before[i])
			got.reason = (enum weir_drop)i;
	compare();
	count_buffers();
	return &got;
}

bool
rr_storm(const struct rr_piece *p)
{
	static uint8_t frame[RR_FRAME_MAX + 65536];
	struct weir_reasm_info info;
	struct wire_view v;
	const uint32_t len = rr_frame(p, frame, &v);
	struct rte_mbuf *m;

	begin_step();
	m = weir_reasm_input(rr_lc, ports[p->port], in_shape(frame, len, &v, p->shape), &v);
	got.whole = m != NULL;
	if (m != NULL)
		rte_pktmbuf_free(m);
	weir_reasm_info_get(rr_lc, &info);
	REQUIRE(info.bytes <= ref.conf.mem, "%" PRIu64 " bytes are over the bound of %u",
		info.bytes, ref.conf.mem);
	REQUIRE(info.fragments == weir_counter_read(&rr_lc->c.rx_frag_in) -
					  weir_counter_read(&rr_lc->c.rx_frag_out),
		"%u fragments wait, not so many", info.fragments);
	REQUIRE(rte_mempool_in_use_count(rr_pool) == info.fragments, "%u buffers for %u fragments",
		rte_mempool_in_use_count(rr_pool), info.fragments);
	return got.whole;
}

void
rr_wait(uint64_t ns)
{
	rr_lc->now_ns += ns;
}

const struct rr_got *
rr_pass(uint64_t ns)
{
	begin_step();
	rr_wait(ns);
	ref_tick();
	weir_reasm_tick(rr_lc);
	compare();
	count_buffers();
	return &got;
}

void
rr_flush(int port)
{
	begin_step();
	ref_flush(port);
	weir_reasm_flush(rr_lc, port, WEIR_DROP_PORT_GONE_RX);
	compare();
	count_buffers();
}

struct weir_reasm_info
rr_info(void)
{
	struct weir_reasm_info info;

	weir_reasm_info_get(rr_lc, &info);
	return info;
}

/* ---- programs ---- */

struct program {
	const uint8_t *at, *end;
};

static uint8_t
take(struct program *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

static struct rr_piece
take_datagram(struct program *in)
{
	const uint8_t who = take(in);
	struct rr_piece p = (who & 1) != 0 ? rr_piece4() : rr_piece6();

	p.flow = who >> 1 & 3;
	p.id = who >> 3 & 3;
	p.port = who >> 5 & 1;
	if ((who >> 6 & 1) != 0)
		p.proto = p.family == 4 ? 1 : 58;
	p.more = who >> 7;
	return p;
}

static void
take_look(struct program *in, struct rr_piece *p)
{
	static const uint8_t extra4[] = {0, 4, 40, 0}, extra6[] = {0, 8, 64, 0};
	const uint8_t how = take(in);

	p->shape = (how & 7) % RR_SHAPES;
	p->extra = p->family == 4 ? extra4[how >> 3 & 3] : extra6[how >> 3 & 3];
	p->variant = how >> 5 & 1;
	p->padding = (how >> 6 & 1) != 0 ? 18 : 0;
}

static void
run_piece(struct program *in)
{
	static const uint16_t scales[] = {8, 16, 184, 1480};
	struct rr_piece p = take_datagram(in);
	const uint8_t off = take(in);
	const uint8_t len = take(in);
	const uint16_t scale = scales[len >> 6];

	p.off = (uint16_t)RTE_MIN((uint32_t)off * scale, 65528u);
	p.len = (len & 7u) * scale;
	if ((len >> 3 & 1) != 0)
		p.len += 3;
	p.traffic = len >> 4 & 3;
	take_look(in, &p);
	/* What the parse lets through: the packet's own length field holds it; IPv4 without a fragment. */
	if (p.len > 8960)
		p.len = 8960;
	if (p.family == 4 && p.off == 0 && !p.more)
		p.more = true;
	rr_feed(&p);
}

/* A datagram in pieces of one size, in some order, some of them lost, twice, too long, or marked. */
static void
run_plan(struct program *in)
{
	struct rr_piece p = take_datagram(in);
	const unsigned int n = 2u + take(in) % 138;
	const uint32_t size = (take(in) % 60 + 1) * 8u;
	const uint8_t trouble = take(in);
	uint32_t x = take(in) | 0x10000u;
	uint8_t order[140];

	take_look(in, &p);
	for (unsigned int i = 0; i < n; i++)
		order[i] = (uint8_t)i;
	for (unsigned int i = n - 1; i > 0 && (x & 3) != 0; i--) {
		unsigned int k = i;
		uint8_t swap = order[i];

		x = x * 1664525 + 1013904223;
		if ((trouble & 1) != 0)
			k = (x >> 16) % (i + 1);
		else if (i > n / 2)
			k = n - 1 - i;
		order[i] = order[k];
		order[k] = swap;
	}
	for (unsigned int i = 0; i < n; i++) {
		struct rr_piece one = p;

		x = x * 1664525 + 1013904223;
		one.off = (uint16_t)(order[i] * size);
		one.more = order[i] != n - 1;
		one.len = one.more ? size : x >> 24 & (size - 1);
		one.len = RTE_MAX(one.len, 1u);
		if ((trouble & 2) != 0)
			one.traffic = (x >> 20 & 15) == 0 ? 3 : 2;
		if ((trouble & 4) != 0 && (x >> 16 & 63) == 0)
			continue;
		if ((trouble & 8) != 0 && (x >> 16 & 63) == 1 && one.more)
			one.len += 8;
		if ((trouble & 16) != 0 && (x >> 16 & 15) == 2)
			rr_feed(&one);
		if ((trouble & 32) != 0 && (x >> 16 & 31) == 3)
			one.shape = (uint8_t)((one.shape + x) % RR_SHAPES);
		rr_feed(&one);
	}
}

void
rr_run(const uint8_t *bytes, size_t n)
{
	static const uint32_t mem[] = {4608, 23040, 65536, 524288};
	struct program in = {bytes, bytes + n};
	const uint8_t head = take(&in);
	struct rr_conf conf = {.mem = mem[head & 3], .ms = 1000, .buffers = 1023};

	conf.source_mem = (head >> 2 & 3) == 0 ? 0 : conf.mem >> (head >> 2 & 3);
	REQUIRE(rr_up(&conf) == 0, "no engine");
	while (in.at < in.end) {
		const uint8_t op = take(&in);

		switch (op & 7) {
		case 5:
			run_plan(&in);
			break;
		case 6:
			rr_wait((op >> 4) * 100 * WEIR_NS_PER_MS);
			if ((op >> 3 & 1) != 0)
				rr_pass(0);
			break;
		case 7:
			if (op >> 3 == 31)
				rr_flush(-1);
			else if (op >> 3 == 30)
				rr_flush(take(&in) & 1);
			else
				run_plan(&in);
			break;
		default:
			run_piece(&in);
		}
	}
	rr_down();
}
