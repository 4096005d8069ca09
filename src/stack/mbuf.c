/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The chained cases of mbuf.h; called from rx, icmp, socket on the thread that owns the mbuf.
 */
#include "mbuf.h"

#include <string.h>

uint64_t
weir_mbuf_sum_chained(const struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	uint64_t sum = 0;
	uint32_t done = 0;

	while (off >= m->data_len && m->next != NULL) {
		off -= m->data_len;
		m = m->next;
	}
	while (done < len && m != NULL) {
		uint32_t take = RTE_MIN((uint32_t)m->data_len - off, len - done);

		sum = wire_sum_at(
			sum, wire_sum(rte_pktmbuf_mtod_offset(m, const uint8_t *, off), take, 0),
			done);
		done += take;
		off = 0;
		m = m->next;
	}
	return sum;
}

struct rte_mbuf *
weir_mbuf_pull(struct rte_mbuf *m, uint32_t len, struct rte_mempool *pool)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *seg = m;
	uint32_t left = len;
	uint8_t *to;

	if (head == NULL)
		return NULL;
	head->ol_flags = m->ol_flags & ~(RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT);
	head->packet_type = m->packet_type;
	head->hash = m->hash;
	head->port = m->port;
	head->vlan_tci = m->vlan_tci;
	to = (uint8_t *)rte_pktmbuf_append(head, (uint16_t)len);
	head->pkt_len = m->pkt_len;
	head->nb_segs = m->nb_segs + 1;

	/* Move the first len bytes over; segments that run empty go back to their pool. */
	while (left > 0) {
		uint32_t take = RTE_MIN(left, (uint32_t)seg->data_len);
		struct rte_mbuf *next = seg->next;

		memcpy(to, rte_pktmbuf_mtod(seg, const uint8_t *), take);
		to += take;
		left -= take;
		seg->data_off = (uint16_t)(seg->data_off + take);
		seg->data_len = (uint16_t)(seg->data_len - take);
		if (seg->data_len == 0) {
			seg->next = NULL;
			seg->nb_segs = 1;
			weir_mbuf_discard(seg);
			head->nb_segs--;
			seg = next;
		}
	}
	head->next = seg;
	if (seg != NULL)
		seg->nb_segs = 1;
	return head;
}

/* Cut what is left of `off` from the front of a segment, then all beyond what is left of `len`. */
static void
window_segment(struct rte_mbuf *seg, uint32_t *off, uint32_t *len)
{
	uint32_t cut = RTE_MIN(*off, (uint32_t)seg->data_len);

	seg->data_off = (uint16_t)(seg->data_off + cut);
	seg->data_len = (uint16_t)RTE_MIN((uint32_t)seg->data_len - cut, *len);
	*off -= cut;
	*len -= seg->data_len;
}

void
weir_mbuf_window_chained(struct rte_mbuf *m, uint32_t off, uint32_t len)
{
	struct rte_mbuf *last = m; /* of those that stay */
	struct rte_mbuf *seg = m->next;

	m->pkt_len = len;
	m->nb_segs = 1;
	window_segment(m, &off, &len);
	while (seg != NULL) {
		struct rte_mbuf *next = seg->next;

		window_segment(seg, &off, &len);
		if (seg->data_len != 0) {
			last->next = seg;
			last = seg;
			m->nb_segs++;
		} else { /* devices refuse to send an empty segment */
			seg->next = NULL;
			weir_mbuf_discard(seg);
		}
		seg = next;
	}
	last->next = NULL;
}

uint32_t
weir_mbuf_copy_out(const struct rte_mbuf *m, void *buf, uint32_t size)
{
	uint32_t done = 0;

	for (; m != NULL && done < size; m = m->next) {
		uint32_t take = RTE_MIN((uint32_t)m->data_len, size - done);

		memcpy((uint8_t *)buf + done, rte_pktmbuf_mtod(m, const uint8_t *), take);
		done += take;
	}
	return done;
}

struct rte_mbuf *
weir_mbuf_chain_alloc(struct rte_mempool *pool, uint32_t len)
{
	struct rte_mbuf *head = rte_pktmbuf_alloc(pool);
	struct rte_mbuf *last = head;

	while (last != NULL) {
		uint32_t room = RTE_MIN(len, (uint32_t)rte_pktmbuf_tailroom(last));

		last->data_len = (uint16_t)room;
		head->pkt_len += room;
		len -= room;
		if (len == 0)
			return head;
		last->next = rte_pktmbuf_alloc(pool);
		last = last->next;
		if (last != NULL) {
			last->data_off = 0; /* headers go in front of the first one only */
			head->nb_segs++;
		}
	}
	if (head != NULL)
		weir_mbuf_discard(head);
	return NULL;
}

struct rte_mbuf *
weir_mbuf_copy_range(const struct rte_mbuf *m, struct rte_mempool *pool, uint32_t off, uint32_t len)
{
	struct rte_mbuf *head = weir_mbuf_chain_alloc(pool, len);

	for (struct rte_mbuf *to = head; to != NULL; to = to->next) {
		uint32_t done = 0;

		while (done < to->data_len) {
			uint32_t take;

			while (off >= m->data_len) {
				off -= m->data_len;
				m = m->next;
			}
			take = RTE_MIN((uint32_t)to->data_len - done, (uint32_t)m->data_len - off);
			memcpy(rte_pktmbuf_mtod_offset(to, uint8_t *, done),
			       rte_pktmbuf_mtod_offset(m, const uint8_t *, off), take);
			done += take;
			off += take;
		}
	}
	return head;
}

struct rte_mbuf *
weir_dgram_copy(struct rte_mbuf *m, struct rte_mempool *pool)
{
	const uint32_t hdrs = weir_dgram_hdrs(m);
	const uint32_t type = m->packet_type;
	struct rte_mbuf *copy;
	struct weir_dgram d;
	uint32_t l2_len, l3_len, usual;

	weir_dgram_look(m, &d);
	usual = d.family == WEIR_IPV4 ? WIRE_IP4_MIN : WIRE_IP6_LEN;
	l2_len = hdrs != 0 ? WIRE_ETH_LEN : (uint32_t)m->l2_len;
	l3_len = hdrs != 0 ? usual : (uint32_t)m->l3_len;
	weir_dgram_whole(m);
	copy = weir_mbuf_copy_range(m, pool, 0, l2_len + l3_len + WIRE_UDP_LEN + d.len);
	if (copy != NULL) {
		copy->ol_flags |= m->ol_flags & RTE_MBUF_F_RX_RSS_HASH;
		copy->hash = m->hash;
		copy->port = m->port;
		if (l3_len != usual || copy->nb_segs != 1)
			weir_dgram_make_odd(copy, d.family, l2_len, l3_len, d.len);
		else if (d.family == WEIR_IPV4)
			weir_dgram_make_plain(copy, d.len);
		else
			weir_dgram_make_plain6(copy, d.len);
	}
	if (hdrs != 0)
		weir_dgram_make(m, type, hdrs, d.len);
	m->packet_type = type;
	return copy;
}

struct rte_mbuf *
weir_mbuf_flatten(struct rte_mbuf *m, struct rte_mempool *pool)
{
	struct rte_mbuf *one = rte_pktmbuf_alloc(pool);

	if (one == NULL)
		return NULL;
	if (m->pkt_len > rte_pktmbuf_tailroom(one)) {
		weir_mbuf_discard(one);
		return NULL;
	}
	weir_mbuf_copy_out(m, rte_pktmbuf_append(one, (uint16_t)m->pkt_len), m->pkt_len);
	one->port = m->port;
	weir_mbuf_discard(m);
	return one;
}
