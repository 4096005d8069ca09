/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: a frame on its way to the host.
 *
 * The port is a small bridge.  A frame from the wire is offered to every function; one that a
 * function sends is offered to the others first, and goes to the wire unless it was for one of
 * them alone.  liqm_rx_offer() is what an interface does with it: address and VLAN filters, MTU,
 * checksum verdict, hash and queue, and the output queue.
 *
 * A frame from the wire waits at the head of the line for credits up to rx_hold_ns (the card's
 * backpressure), then it is dropped; the next ones for that ring do not wait again until credits
 * come.  Frames from a neighbour function never wait.
 */
#include "liqm_priv.h"

#include <string.h>

#define BUDGET      4096 /* frames per turn */
#define ETH_BYTES   14u
#define ETH_VLAN    0x8100
#define VXLAN_BYTES 8u
#define TCI_VLAN    0x0FFFu

/* PF first, then the VFs; NULL at the end. */
struct liqm_fn *
liqm_port_fn(struct liqm_port *port, unsigned int at)
{
	if (port->pf) {
		if (at == 0)
			return port->pf;
		at--;
	}
	return at < port->n_vf ? port->vf[at] : NULL;
}

static bool
in_list(const uint8_t *mac, uint8_t (*list)[6], unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (memcmp(mac, list[i], 6) == 0)
			return true;
	}
	return false;
}

static bool
wants_address(struct liqm_if *nif, const uint8_t *mac)
{
	static const uint8_t broadcast[6] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

	if (nif->flags & LIQ_IFF_PROMISC)
		return true;
	if (!(mac[0] & 1))
		return memcmp(mac, nif->mac, 6) == 0 || in_list(mac, nif->uc, nif->n_uc);
	/* drivers that never set the broadcast flag still expect ARP */
	if (memcmp(mac, broadcast, 6) == 0)
		return true;
	return (nif->flags & LIQ_IFF_ALLMULTI) || in_list(mac, nif->mc, nif->n_mc);
}

/* VLAN side of the filter; what is stripped is told in tci. */
static bool
wants_vlan(const struct liqm_fn *fn, const uint8_t *frame, uint32_t len, bool *strip, uint32_t *tci)
{
	const struct liqm_if *nif = &fn->nif;
	bool tagged = len >= ETH_BYTES + 4 && liqm_be16(frame + 12) == ETH_VLAN;
	uint32_t tag = tagged ? liqm_be16(frame + 14) : 0, id = tag & TCI_VLAN;

	*tci = 0;
	*strip = false;
	if (nif->port_vlan_tci != 0) {
		/* the VF lives in its VLAN and does not see the tag */
		*strip = tagged;
		return tagged && id == (nif->port_vlan_tci & TCI_VLAN);
	}
	if (!tagged)
		return true;
	if (nif->vlan_filter && id != 0 && !(nif->flags & LIQ_IFF_PROMISC) &&
	    !(nif->vlan[id / 64] >> id % 64 & 1))
		return false;
	if (!fn->card->cfg.keep_vlan) {
		*strip = true;
		*tci = tag;
	}
	return true;
}

static bool
is_vxlan(const struct liqm_if *nif, const struct liqm_pkt *pkt)
{
	if (!nif->tnl_rx_csum || !pkt->is_udp)
		return false;
	for (unsigned int i = 0; i < nif->n_vxlan; i++) {
		if (nif->vxlan_port[i] == pkt->dport)
			return true;
	}
	return false;
}

/* Checksum bits and the tunnel flag of the receive header. */
static uint64_t
verdict(struct liqm_if *nif, const uint8_t *frame, const struct liqm_pkt *pkt)
{
	struct liqm_pkt inner;
	uint64_t bits = 0, rh = 0;

	if (liqm_pkt_ip_good(frame, pkt))
		bits |= LIQ_RH_CSUM_IP;
	if (liqm_pkt_l4_good(frame, pkt) == 1)
		bits |= LIQ_RH_CSUM_L4;
	if (is_vxlan(nif, pkt)) {
		liqm_pkt_parse(frame, pkt->end, pkt->payload + VXLAN_BYTES, &inner);
		rh |= LIQ_RH_ENCAP;
		nif->srx[LIQ_SRX_fw_rx_vxlan]++;
		if (liqm_pkt_ip_good(frame, &inner) && liqm_pkt_l4_good(frame, &inner) != 0)
			bits |= LIQ_RH_CSUM_TNL;
		else
			nif->srx[LIQ_SRX_fw_rx_vxlan_err]++;
	}
	return rh | liq_put(LIQ_RH_CSUM, bits);
}

static enum liqm_put
put_frame(struct liqm_fn *fn, const uint8_t *frame, uint32_t len, uint32_t tci, unsigned int *ring)
{
	struct liqm_if *nif = &fn->nif;
	struct liqm_pkt pkt;
	uint32_t hash, type, queue = 0;
	uint64_t rh, word;

	liqm_pkt_parse(frame, len, 0, &pkt);
	hash = liqm_pkt_hash(nif, frame, &pkt, &type);
	if (type != 0)
		queue = nif->rss_table[hash % LIQ_RSS_TABLE_SIZE] % nif->n_oq;
	*ring = liqm_fn_first_ring(fn) + queue;
	if (*ring >= LIQ_PF_MAX_RINGS)
		return LIQM_PUT_OFF;
	rh = liq_put(LIQ_RH_OPCODE, LIQ_OPCODE_NIC) | liq_put(LIQ_RH_SUBCODE, LIQ_FW_NW_DATA) |
	     liq_put(LIQ_RH_LEN, type != 0) | liq_put(LIQ_RH_VLAN, tci & TCI_VLAN) |
	     liq_put(LIQ_RH_PRIORITY, tci >> 13) | (type != 0 ? LIQ_RH_HASH : 0) |
	     verdict(nif, frame, &pkt);
	word = liq_put(LIQ_HASH_VALUE, hash) | liq_put(LIQ_HASH_TYPE, type);
	return liqm_oq_put(fn->port, *ring, rh, &word, frame, len);
}

static enum liqm_offer
refused(struct liqm_fn *fn, enum liqm_counter why, enum liq_stats_rx column)
{
	fn->n[why]++;
	fn->nif.srx[column]++;
	return LIQM_OFFER_REFUSED;
}

static enum liqm_offer
account(struct liqm_fn *fn, enum liqm_put put, const uint8_t *frame, uint32_t len,
	unsigned int ring, bool may_wait)
{
	switch (put) {
	case LIQM_PUT_OK:
		fn->n[LIQM_N_rx_frames]++;
		fn->n[LIQM_N_rx_bytes] += len;
		liqm_stats_in(&fn->nif, frame, len);
		break;
	case LIQM_PUT_NO_CREDIT:
		if (may_wait && !fn->port->ring[ring].out_starved)
			return LIQM_OFFER_WAIT;
		fn->port->ring[ring].out_starved = true;
		refused(fn, LIQM_N_rx_no_credit, LIQ_SRX_fifo_err);
		break;
	case LIQM_PUT_OFF:
		refused(fn, LIQM_N_rx_stopped, LIQ_SRX_fw_err_drop);
		break;
	default: /* what went wrong is counted already */
		fn->nif.srx[LIQ_SRX_fw_err_pko]++;
		break;
	}
	fn->nif.srx[LIQ_SRX_total_rcvd]++;
	fn->nif.srx[LIQ_SRX_bytes_rcvd] += len;
	fn->nif.srx[LIQ_SRX_fw_total_rcvd]++;
	return LIQM_OFFER_TAKEN;
}

enum liqm_offer
liqm_rx_offer(struct liqm_fn *fn, const uint8_t *frame, uint32_t len, bool may_wait)
{
	struct liqm_if *nif = &fn->nif;
	uint32_t body = len - ETH_BYTES, tci;
	unsigned int ring = 0;
	enum liqm_put put;
	bool strip;

	if (!nif->configured)
		return LIQM_OFFER_REFUSED;
	if (!wants_address(nif, frame))
		return refused(fn, LIQM_N_rx_filtered, LIQ_SRX_dmac_drop);
	if (!wants_vlan(fn, frame, len, &strip, &tci))
		return refused(fn, LIQM_N_rx_filtered, LIQ_SRX_fw_err_drop);
	if (!nif->running)
		return refused(fn, LIQM_N_rx_stopped, LIQ_SRX_fw_err_drop);
	if (!liqm_if_link_up(fn))
		return refused(fn, LIQM_N_rx_stopped, LIQ_SRX_fw_err_link);
	if (liqm_be16(frame + 12) == ETH_VLAN && body >= 4)
		body -= 4;
	if (body > nif->mtu)
		return refused(fn, LIQM_N_rx_too_long, LIQ_SRX_jabber_err);
	if (strip) {
		uint8_t *copy = fn->card->rx_frame;

		memcpy(copy, frame, 12);
		memcpy(copy + 12, frame + 16, len - 16);
		frame = copy;
		len -= 4;
	}
	put = put_frame(fn, frame, len, tci, &ring);
	return account(fn, put, frame, len, ring, may_wait);
}

/* A frame of a function; true: it was for another one alone. */
bool
liqm_rx_local(struct liqm_fn *from, const uint8_t *frame, uint32_t len)
{
	struct liqm_fn *fn;

	for (unsigned int i = 0; (fn = liqm_port_fn(from->port, i)); i++) {
		if (fn == from || !fn->nif.configured)
			continue;
		if (frame[0] & 1) {
			liqm_rx_offer(fn, frame, len, false);
		} else if (memcmp(frame, fn->nif.mac, 6) == 0) {
			liqm_rx_offer(fn, frame, len, false);
			return true;
		}
	}
	return false;
}

/* Offers the frame at the head of the line; false: it has to wait. */
static bool
offer_head(struct liqm_port *port, const uint8_t *frame, uint32_t len)
{
	struct liqm_wire *w = &port->wire;
	uint64_t now = port->card->now_ns;
	struct liqm_fn *fn;

	while ((fn = liqm_port_fn(port, w->head_at))) {
		bool may_wait = w->head_since_ns == LIQM_NEVER ||
				now - w->head_since_ns < port->card->cfg.rx_hold_ns;
		enum liqm_offer offer = liqm_rx_offer(fn, frame, len, may_wait);

		if (offer == LIQM_OFFER_WAIT) {
			if (w->head_since_ns == LIQM_NEVER)
				w->head_since_ns = now;
			if (port->card->cfg.rx_hold_ns != 0)
				return false;
			continue;
		}
		if (offer == LIQM_OFFER_TAKEN)
			w->head_claimed = true;
		w->head_at++;
		w->head_since_ns = LIQM_NEVER;
	}
	return true;
}

void
liqm_rx_run(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;
	const uint8_t *frame;
	uint32_t len;

	for (int i = 0; i < BUDGET && (frame = liqm_wire_head(port, &len)); i++) {
		if (!port->link_up || port->flap_until_ns != 0) {
			w->stats.n_unplugged++;
		} else if (!offer_head(port, frame, len)) {
			return;
		} else if (!w->head_claimed) {
			w->stats.n_in_unclaimed++;
		}
		liqm_wire_pop(port);
	}
}
