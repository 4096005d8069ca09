/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: a frame of the driver on its way out.
 *
 * liqm_tx() checks whether the interface may send it, inserts a VLAN tag, cuts it into segments
 * or fills in checksums as the instruction asks, and hands it to the other functions of the port
 * it is meant for, or to the wire.  Refused frames are counted with a reason; the instruction
 * is complete all the same, as on the card.
 */
#include "liqm_priv.h"

#include <string.h>

#define FRAME_MIN   60u /* without FCS; the MAC pads */
#define ETH_BYTES   14u
#define ETH_VLAN    0x8100
#define VXLAN_BYTES 8u
#define TCP_FIN     0x01u
#define TCP_PSH     0x08u
#define TCP_CWR     0x80u

enum why { WHY_NOT, WHY_LINK, WHY_DROP, WHY_TSO };

static void
refuse(struct liqm_fn *fn, enum why why)
{
	static const unsigned int column[] = {
		[WHY_LINK] = LIQ_STX_fw_err_link,
		[WHY_DROP] = LIQ_STX_fw_err_drop,
		[WHY_TSO] = LIQ_STX_fw_err_tso,
	};

	fn->n[LIQM_N_tx_dropped]++;
	fn->nif.stx[column[why]]++;
}

static uint32_t
insert_tag(uint8_t *frame, uint32_t len, uint32_t tci)
{
	memmove(frame + 16, frame + 12, len - 12);
	liqm_put_be16(frame + 12, ETH_VLAN);
	liqm_put_be16(frame + 14, tci);
	return len + 4;
}

static uint32_t
tag_bytes(const uint8_t *frame, uint32_t len)
{
	return len >= ETH_BYTES + 4 && liqm_be16(frame + 12) == ETH_VLAN ? 4 : 0;
}

/* The inner frame of a tunnel, when there is one with an IP packet in it. */
static bool
find_inner(const uint8_t *frame, const struct liqm_pkt *outer, struct liqm_pkt *inner)
{
	if (!outer->is_udp)
		return false;
	liqm_pkt_parse(frame, outer->end, outer->payload + VXLAN_BYTES, inner);
	return inner->is_ip4 || inner->is_ip6;
}

static void
emit(struct liqm_fn *fn, uint8_t *frame, uint32_t len)
{
	uint32_t body = len - ETH_BYTES - tag_bytes(frame, len);

	if (body > fn->nif.mtu) {
		refuse(fn, WHY_DROP);
		return;
	}
	if (len < FRAME_MIN) {
		memset(frame + len, 0, FRAME_MIN - len);
		len = FRAME_MIN;
	}
	fn->n[LIQM_N_tx_frames]++;
	fn->n[LIQM_N_tx_bytes] += len;
	liqm_stats_out(&fn->nif, frame, len);
	if (!liqm_rx_local(fn, frame, len))
		liqm_wire_send(fn->port, frame, len);
}

static void
fill_checksums(struct liqm_fn *fn, uint8_t *frame, uint32_t len, uint64_t want)
{
	struct liqm_pkt outer, inner;

	liqm_pkt_parse(frame, len, 0, &outer);
	if (want & LIQ_PKT_TNL_CSUM) {
		if (!find_inner(frame, &outer, &inner)) {
			fn->nif.stx[LIQ_STX_fw_err_pki]++;
			return;
		}
		liqm_pkt_ip_csum(frame, &inner);
		liqm_pkt_l4_csum(frame, &inner);
		liqm_pkt_ip_csum(frame, &outer);
		/* an outer UDP checksum of zero means that there is none */
		if (liqm_be16(frame + outer.l4 + 6) != 0)
			liqm_pkt_l4_csum(frame, &outer);
		fn->nif.stx[LIQ_STX_fw_tx_vxlan]++;
		return;
	}
	if (want & LIQ_PKT_IP_CSUM)
		liqm_pkt_ip_csum(frame, &outer);
	if ((want & LIQ_PKT_L4_CSUM) && !outer.is_tcp && !outer.is_udp)
		fn->nif.stx[LIQ_STX_fw_err_pki]++;
	else if (want & LIQ_PKT_L4_CSUM)
		liqm_pkt_l4_csum(frame, &outer);
}

/* Lengths and IPv4 id of one IP header whose packet now ends at len. */
static void
fix_ip(uint8_t *frame, const struct liqm_pkt *pkt, uint32_t len, uint32_t n)
{
	uint8_t *ip = frame + pkt->l3;

	if (pkt->is_ip4) {
		liqm_put_be16(ip + 2, len - pkt->l3);
		liqm_put_be16(ip + 4, liqm_be16(ip + 4) + n);
	} else {
		liqm_put_be16(ip + 4, len - pkt->l3 - 40);
	}
}

/* Segment n of a TCP packet: headers of the original, lengths, sequence and flags of its own. */
static void
fix_segment(uint8_t *frame, const struct liqm_pkt *tcp, const struct liqm_pkt *outer, uint32_t len,
	    uint32_t n, uint32_t offset, bool last)
{
	uint8_t *l4 = frame + tcp->l4;
	uint32_t seq = ((uint32_t)liqm_be16(l4 + 4) << 16 | liqm_be16(l4 + 6)) + offset;

	liqm_put_be16(l4 + 4, seq >> 16);
	liqm_put_be16(l4 + 6, seq);
	if (!last)
		l4[13] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
	if (n > 0)
		l4[13] &= (uint8_t)~TCP_CWR;
	fix_ip(frame, tcp, len, n);
	if (outer) {
		fix_ip(frame, outer, len, n);
		liqm_put_be16(frame + outer->l4 + 4, len - outer->l4);
	}
}

static bool
segment(struct liqm_fn *fn, const uint8_t *frame, uint32_t len, uint32_t mss, uint64_t want)
{
	struct liqm_pkt outer, inner, *tcp = &outer;
	uint8_t *out = fn->card->tx_frame;
	uint32_t n = 0;
	bool tunnel;

	liqm_pkt_parse(frame, len, 0, &outer);
	tunnel = (want & LIQ_PKT_TNL_CSUM) && find_inner(frame, &outer, &inner);
	if (tunnel)
		tcp = &inner;
	if (!tcp->is_tcp || tcp->end == tcp->payload)
		return false;
	fn->nif.stx[LIQ_STX_fw_tso]++;
	for (uint32_t at = tcp->payload; at < tcp->end; at += mss, n++) {
		uint32_t chunk = tcp->end - at < mss ? tcp->end - at : mss;
		uint32_t out_len = tcp->payload + chunk;

		memcpy(out, frame, tcp->payload);
		memcpy(out + tcp->payload, frame + at, chunk);
		fix_segment(out, tcp, tunnel ? &outer : NULL, out_len, n, at - tcp->payload,
			    at + chunk == tcp->end);
		fill_checksums(fn, out, out_len,
			       tunnel ? LIQ_PKT_TNL_CSUM : LIQ_PKT_IP_CSUM | LIQ_PKT_L4_CSUM);
		fn->nif.stx[LIQ_STX_fw_tso_fwd]++;
		emit(fn, out, out_len);
	}
	return true;
}

static enum why
may_send(struct liqm_fn *fn, const struct liqm_request *req)
{
	struct liqm_if *nif = &fn->nif;

	if (!nif->configured)
		return WHY_DROP;
	if (req->len < ETH_BYTES) {
		nif->stx[LIQ_STX_runts]++;
		return WHY_DROP;
	}
	if (!liqm_if_link_up(fn))
		return WHY_LINK;
	if (nif->spoofchk && memcmp(req->data + 6, nif->mac, 6) != 0) {
		nif->n_spoofed++;
		fn->n[LIQM_N_tx_spoofed]++;
		return WHY_DROP;
	}
	return WHY_NOT;
}

/* The data of the request lives in the card's input buffer, which has room for two tags. */
uint32_t
liqm_tx(const struct liqm_request *req)
{
	struct liqm_fn *fn = req->fn;
	uint8_t *frame = fn->card->in_data;
	uint32_t len = req->len;
	uint64_t irh = req->instr.irh, want = liq_get(irh, LIQ_IRH_OSSP);
	uint32_t mss = (uint32_t)liq_get(req->instr.ossp[0], LIQ_TSO_MSS);
	enum why why = may_send(fn, req);

	fn->nif.stx[LIQ_STX_fw_total_sent]++;
	if (why != WHY_NOT) {
		refuse(fn, why);
		return LIQ_STATUS_OK;
	}
	if (liq_get(irh, LIQ_IRH_VLAN) != 0)
		len = insert_tag(frame, len,
				 (uint32_t)(liq_get(irh, LIQ_IRH_PRIORITY) << 13 |
					    liq_get(irh, LIQ_IRH_VLAN)));
	if (fn->nif.port_vlan_tci != 0 && tag_bytes(frame, len) == 0)
		len = insert_tag(frame, len, fn->nif.port_vlan_tci);
	if (mss != 0) {
		if (!segment(fn, frame, len, mss, want))
			refuse(fn, WHY_TSO);
		return LIQ_STATUS_OK;
	}
	memcpy(fn->card->tx_frame, frame, len);
	fill_checksums(fn, fn->card->tx_frame, len, want);
	emit(fn, fn->card->tx_frame, len);
	return LIQ_STATUS_OK;
}
