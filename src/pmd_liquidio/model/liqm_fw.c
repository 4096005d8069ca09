/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: what firmware answers, and what it says by itself.
 *
 * liqm_fw_request() dispatches an instruction by opcode and subcode and returns its status; the
 * payload of the response goes to a zeroed buffer.  An unknown operation is answered with an
 * error rather than with silence, which would block the driver's ordered list.
 *
 * Notifications (firmware is up, link changed, a VF came or went) are flags that wait for room
 * on the output queue 0 they belong to.  Nothing is sent before RX_CTL 1, and one link
 * notification right after it: drivers set their carrier by that.
 */
#include "liqm_priv.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CORE_HZ         UINT64_C(1200000000)
#define QPG_BASE        16u
#define CTRL_QPG_BASE   80u
#define LINK_BYTES      8u
#define VF_NOTICE_BYTES 16u

bool
liqm_fw_running(const struct liqm_card *card)
{
	return card->boot_at_ns == LIQM_NEVER && (card->scratch[1] & LIQ_SCRATCH2_LOADED);
}

/* ---- interface state ---- */

static void
fresh(struct liqm_if *nif)
{
	nif->running = false;
	nif->flags = LIQ_IFF_UNICAST | LIQ_IFF_BROADCAST;
	nif->mtu = 1500;
	nif->n_mc = 0;
	nif->n_uc = 0;
	nif->vlan_filter = false;
	memset(nif->vlan, 0, sizeof(nif->vlan));
	nif->tnl_rx_csum = false;
	nif->tnl_tx_csum = false;
	nif->n_vxlan = 0;
	nif->lro = 0;
	nif->link_due = false;
	nif->link_told = 0;
	if (!nif->mac_admin)
		memcpy(nif->mac, nif->mac_factory, sizeof(nif->mac));
	liqm_rss_default(nif);
}

void
liqm_if_power_on(struct liqm_fn *fn)
{
	struct liqm_if *nif = &fn->nif;
	uint8_t mac[6];

	memcpy(mac, nif->mac_factory, sizeof(mac));
	memset(nif, 0, sizeof(*nif));
	memcpy(nif->mac_factory, mac, sizeof(mac));
	nif->link_ctl = LIQ_VF_LINK_AUTO;
	nif->trusted = fn->vf_num == 0 || (!fn->port->pf && fn->vf_num == fn->card->cfg.trusted_vf);
	fresh(nif);
}

/* What an administrator said about a VF (address, VLAN, link, trust) outlives its reset. */
void
liqm_if_flr(struct liqm_fn *fn)
{
	struct liqm_if *nif = &fn->nif;
	bool was_pf_up = fn->vf_num == 0 && nif->running;

	if (nif->configured && fn->vf_num != 0)
		nif->notice_due = LIQM_NOTICE_REMOVED;
	nif->configured = false;
	nif->n_iq = nif->n_oq = 0;
	memset(nif->srx, 0, sizeof(nif->srx));
	memset(nif->stx, 0, sizeof(nif->stx));
	fresh(nif);
	if (was_pf_up)
		liqm_fw_link_changed(fn->port);
}

/* ---- link ---- */

bool
liqm_if_link_up(const struct liqm_fn *fn)
{
	const struct liqm_port *port = fn->port;

	if (fn->vf_num != 0) {
		if (port->pf && !port->pf->nif.running)
			return false;
		if (fn->nif.link_ctl == LIQ_VF_LINK_DISABLE)
			return false;
		if (fn->nif.link_ctl == LIQ_VF_LINK_ENABLE)
			return true;
	}
	return port->link_up && port->flap_until_ns == 0;
}

/* The most this function may set with CHANGE_MTU. */
static uint32_t
mtu_limit(const struct liqm_fn *fn)
{
	const struct liqm_port *port = fn->port;

	if (fn->vf_num != 0 && port->pf && port->pf->nif.configured)
		return port->pf->nif.mtu;
	return port->card->cfg.max_mtu;
}

static uint64_t
link_word(const struct liqm_fn *fn, bool up)
{
	const struct liqm_if *nif = &fn->nif;

	return liq_put(LIQ_LINK_PHY, LIQ_LINK_PHY_FIBRE) |
	       liq_put(LIQ_LINK_PAUSE, nif->pause_rx || nif->pause_tx) |
	       liq_put(LIQ_LINK_AUTONEG, 1) | liq_put(LIQ_LINK_UP, up) |
	       liq_put(LIQ_LINK_SPEED, fn->card->cfg.speed_mbps) |
	       liq_put(LIQ_LINK_MTU, mtu_limit(fn)) | liq_put(LIQ_LINK_DUPLEX, 1);
}

uint64_t
liqm_fw_link_word(const struct liqm_fn *fn)
{
	return link_word(fn, liqm_if_link_up(fn));
}

void
liqm_fw_link_changed(struct liqm_port *port)
{
	struct liqm_fn *fn;

	for (unsigned int i = 0; (fn = liqm_port_fn(port, i)); i++) {
		if (fn->nif.running && liqm_fw_link_word(fn) != fn->nif.link_told)
			fn->nif.link_due = true;
	}
}

int
liqm_link_set(struct liqm_card *card, unsigned int port, bool up)
{
	if (port >= card->n_ports)
		return -EINVAL;
	liqm_lock(card);
	card->port[port].link_up = up;
	liqm_fw_link_changed(&card->port[port]);
	liqm_written(card);
	liqm_unlock(card);
	return 0;
}

/* ---- requests ---- */

static uint64_t
mac_word(const uint8_t *mac)
{
	uint64_t word = 0;

	for (int i = 0; i < 6; i++)
		word = word << 8 | mac[i];
	return word;
}

static uint64_t
if_info(const struct liqm_if *nif, unsigned int port)
{
	return liq_put(LIQ_IFINFO_NUM_RXPCIQ, nif->n_oq) |
	       liq_put(LIQ_IFINFO_NUM_TXPCIQ, nif->n_iq) |
	       liq_put(LIQ_IFINFO_SPOOFCHK, nif->spoofchk) |
	       liq_put(LIQ_IFINFO_VLAN_ADMIN, nif->port_vlan_tci != 0) |
	       liq_put(LIQ_IFINFO_MAC_ADMIN, nif->mac_admin) | liq_put(LIQ_IFINFO_GMXPORT, port);
}

static void
put_queues(const struct liqm_fn *fn, uint8_t *txpciq, uint8_t *rxpciq)
{
	const struct liqm_if *nif = &fn->nif;
	unsigned int first = liqm_fn_first_ring(fn);

	for (unsigned int i = 0; i < nif->n_iq; i++) {
		liq_be64_store(txpciq + 8 * i,
			       liq_put(LIQ_PCIQ_Q_NO, i) | liq_put(LIQ_PCIQ_PORT, fn->port->index) |
				       liq_put(LIQ_PCIQ_PKIND, fn->card->cfg.pkind) |
				       liq_put(LIQ_PCIQ_USE_QPG, 1) |
				       liq_put(LIQ_PCIQ_QPG, QPG_BASE + first + i) |
				       liq_put(LIQ_PCIQ_CTRL_QPG, CTRL_QPG_BASE + first + i));
	}
	for (unsigned int i = 0; i < nif->n_oq; i++)
		liq_be64_store(rxpciq + 8 * i, liq_put(LIQ_PCIQ_Q_NO, i));
}

static uint64_t
low_bits(unsigned int n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* IF_CFG, and QCOUNT, which changes the counts of an interface that exists. */
static uint32_t
if_cfg(const struct liqm_request *req, uint8_t *resp, uint32_t rlen, bool is_new)
{
	struct liqm_fn *fn = req->fn;
	struct liqm_if *nif = &fn->nif;
	unsigned int n_iq = (unsigned int)liq_get(req->instr.ossp[0], LIQ_IFREQ_NUM_IQ);
	unsigned int n_oq = (unsigned int)liq_get(req->instr.ossp[0], LIQ_IFREQ_NUM_OQ);
	unsigned int base = (unsigned int)liq_get(req->instr.ossp[0], LIQ_IFREQ_BASE_QUEUE);
	unsigned int want_base = fn->vf_num == 0 ? liqm_fn_first_ring(fn) : 0;
	unsigned int most = liqm_fn_n_rings(fn);

	if (rlen != sizeof(struct liq_if_resp) || base != want_base || n_iq == 0 || n_oq == 0 ||
	    n_iq > most || n_oq > most)
		return LIQM_STATUS_INVALID;
	if (is_new) {
		fresh(nif);
		nif->configured = true;
		if (fn->vf_num != 0)
			nif->notice_due = LIQM_NOTICE_LOADED;
	}
	nif->n_iq = nif->max_iq = n_iq;
	nif->n_oq = nif->max_oq = n_oq;
	liq_be64_store(resp + offsetof(struct liq_if_resp, iqmask), low_bits(n_iq));
	liq_be64_store(resp + offsetof(struct liq_if_resp, oqmask), low_bits(n_oq));
	/* no carrier yet: drivers look for a change of this word */
	liq_be64_store(resp + offsetof(struct liq_if_resp, link), link_word(fn, false));
	liq_be64_store(resp + offsetof(struct liq_if_resp, hw_addr), mac_word(nif->mac));
	liq_be64_store(resp + offsetof(struct liq_if_resp, info), if_info(nif, fn->port->index));
	put_queues(fn, resp + offsetof(struct liq_if_resp, txpciq),
		   resp + offsetof(struct liq_if_resp, rxpciq));
	memcpy(resp + offsetof(struct liq_if_resp, version), fn->card->fw_version,
	       LIQ_FW_VERSION_LEN);
	return LIQ_STATUS_OK;
}

static uint32_t
info(const struct liqm_request *req, uint8_t *resp, uint32_t rlen)
{
	const struct liqm_fn *fn = req->fn;

	if (rlen != sizeof(struct liq_info_resp))
		return LIQM_STATUS_INVALID;
	liq_be64_store(resp + offsetof(struct liq_info_resp, link), liqm_fw_link_word(fn));
	liq_be64_store(resp + offsetof(struct liq_info_resp, hw_addr), mac_word(fn->nif.mac));
	liq_be64_store(resp + offsetof(struct liq_info_resp, info),
		       if_info(&fn->nif, fn->port->index));
	put_queues(fn, resp + offsetof(struct liq_info_resp, txpciq),
		   resp + offsetof(struct liq_info_resp, rxpciq));
	return LIQ_STATUS_OK;
}

static uint32_t
intrmod(const struct liqm_request *req, uint8_t *resp, uint32_t rlen, bool is_set)
{
	struct liqm_if *nif = &req->fn->nif;

	if (is_set && req->len < 8 * LIQ_INTRMOD_N_WORDS)
		return LIQM_STATUS_INVALID;
	if (!is_set && rlen != LIQ_INTRMOD_RLEN)
		return LIQM_STATUS_INVALID;
	for (unsigned int i = 0; i < LIQ_INTRMOD_N_WORDS; i++) {
		if (is_set)
			nif->intrmod[i] = liq_be64_load(req->data + 8 * i);
		else
			liq_be64_store(resp + 8 + 8 * i, nif->intrmod[i]);
	}
	return LIQ_STATUS_OK;
}

/* Speed and error correction of 25G ports; the setting is kept, the link does not change. */
static uint32_t
uboot_ctl(const struct liqm_request *req, uint8_t *resp, uint32_t rlen)
{
	struct liqm_fn *fn = req->fn;
	uint64_t word, value;

	if (fn->vf_num != 0)
		return LIQ_STATUS_NOPERM;
	if (req->len < 8 || rlen != LIQ_UBOOT_RLEN)
		return LIQM_STATUS_INVALID;
	word = liq_be64_load(req->data);
	switch (liq_get(word, LIQ_CMD_CMD)) {
	case LIQ_UBOOT_FEC_SET:
		fn->nif.fec = (uint32_t)liq_get(word, LIQ_CMD_PARAM1);
		value = fn->nif.fec;
		break;
	case LIQ_UBOOT_FEC_GET:
		value = fn->nif.fec;
		break;
	case LIQ_UBOOT_SPEED_SET:
		value = liq_get(word, LIQ_CMD_PARAM1);
		if (value != 10 && value != 25)
			return LIQM_STATUS_INVALID;
		break;
	case LIQ_UBOOT_SPEED_GET:
		value = fn->card->cfg.speed_mbps / 1000;
		break;
	default:
		return LIQM_STATUS_NOSYS;
	}
	liq_be64_store(resp + 8, value << 32);
	return LIQ_STATUS_OK;
}

static uint32_t
vf_port_stats(const struct liqm_request *req, uint8_t *resp, uint32_t rlen)
{
	const struct liqm_port *port = req->fn->port;
	uint64_t n = 0;

	if (req->fn->vf_num != 0)
		return LIQ_STATUS_NOPERM;
	if (rlen != 24)
		return LIQM_STATUS_INVALID;
	for (unsigned int i = 0; i < port->n_vf; i++)
		n += port->vf[i]->nif.n_spoofed;
	liq_be64_store(resp + 8, n);
	return LIQ_STATUS_OK;
}

uint32_t
liqm_fw_request(const struct liqm_request *req, uint8_t *resp, uint32_t rlen)
{
	uint64_t subcode = liq_get(req->instr.irh, LIQ_IRH_SUBCODE);

	if (liq_get(req->instr.irh, LIQ_IRH_OPCODE) != LIQ_OPCODE_NIC)
		subcode = UINT64_MAX;
	switch (subcode) {
	case LIQ_FW_NW_DATA:
		return liqm_tx(req);
	case LIQ_FW_CMD:
		return liqm_cmd(req);
	case LIQ_FW_INFO:
		return info(req, resp, rlen);
	case LIQ_FW_PORT_STATS:
		return liqm_stats_port(req->fn, resp, rlen);
	case LIQ_FW_INTRMOD_CFG:
		return intrmod(req, resp, rlen, true);
	case LIQ_FW_INTRMOD_GET:
		return intrmod(req, resp, rlen, false);
	case LIQ_FW_IF_CFG:
		return if_cfg(req, resp, rlen, true);
	case LIQ_FW_QCOUNT:
		return if_cfg(req, resp, rlen, false);
	case LIQ_FW_TRUSTED_VF:
		return liqm_trusted_vf(req->fn, req->instr.ossp[0], req->instr.ossp[1] != 0);
	case LIQ_FW_SYNC_TIME:
		return req->len >= 16 ? LIQ_STATUS_OK : LIQM_STATUS_INVALID;
	case LIQ_FW_UBOOT_CTL:
		return uboot_ctl(req, resp, rlen);
	case LIQ_FW_VF_PORT_STATS:
		return vf_port_stats(req, resp, rlen);
	default:
		req->fn->n[LIQM_N_instr_unknown]++;
		return LIQM_STATUS_NOSYS;
	}
}

/* ---- notifications ---- */

/* Output queue 0 can take a notification with that much payload. */
static bool
queue0_ready(const struct liqm_fn *fn, uint32_t len)
{
	unsigned int q = liqm_fn_first_ring(fn);
	const struct liqm_ring *r;

	if (q >= LIQ_PF_MAX_RINGS || liqm_fn_n_rings(fn) == 0)
		return false;
	r = &fn->port->ring[q];
	return (r->out_ctl & LIQ_OUT_CTL_ENB) && r->out_credits != 0 &&
	       r->out_credits * liq_get(r->out_buf, LIQ_OUT_BUF_BSIZE) >= LIQ_OUT_HEAD + len;
}

/* True when the flag may be lowered: it was sent, or never can be. */
static bool
notify(struct liqm_fn *fn, uint64_t rh, const uint8_t *data, uint32_t len)
{
	enum liqm_put put;

	rh |= liq_put(LIQ_RH_OPCODE, LIQ_OPCODE_NIC);
	put = liqm_oq_put(fn->port, liqm_fn_first_ring(fn), rh, NULL, data, len);
	if (put == LIQM_PUT_OK)
		fn->n[LIQM_N_notices]++;
	return put == LIQM_PUT_OK || put == LIQM_PUT_ERROR;
}

static void
notify_link(struct liqm_fn *fn)
{
	uint64_t word = liqm_fw_link_word(fn);
	uint8_t data[LINK_BYTES];

	liq_be64_store(data, word);
	if (!notify(fn,
		    liq_put(LIQ_RH_SUBCODE, LIQ_FW_INFO) | liq_put(LIQ_RH_GMXPORT, fn->port->index),
		    data, sizeof(data)))
		return;
	fn->nif.link_due = false;
	fn->nif.link_told = word;
}

static void
notify_core_active(struct liqm_fn *pf)
{
	struct liqm_port *port = pf->port;
	unsigned int q = liqm_fn_first_ring(pf);
	struct liq_board_info board = {0};
	uint64_t rh = liq_put(LIQ_RH_SUBCODE, LIQ_FW_CORE_ACTIVE) |
		      liq_put(LIQ_RH_NUM_GMX, port->card->n_ports) | liq_put(LIQ_RH_MAX_NICS, 1) |
		      liq_put(LIQ_RH_APP_CAPS, LIQ_APP_CAP_SPOOF) |
		      liq_put(LIQ_RH_APP_MODE, LIQ_APP_MODE_NIC) |
		      liq_put(LIQ_RH_PKIND, port->card->cfg.pkind);

	if (q >= LIQ_PF_MAX_RINGS || !(port->ring[q].out_ctl & LIQ_OUT_CTL_ENB))
		return;
	if (port->ring[q].out_credits == 0 &&
	    !(port->greg[LIQM_GREG_GBL_CONTROL][0] & LIQ_GBL_NOPTR_D)) {
		/* a packet for a ring without buffers puts the ring in reset */
		liqm_ring_reset(port, q);
		port->ring[q].in_ctl |= LIQ_IN_CTL_RST | LIQ_IN_CTL_QUIET;
		port->core_active_due = false;
		liqm_log(port->card, LIQM_LOG_INFO, "pf%u: no credits when enabled: ring %u reset",
			 port->index, q);
		return;
	}
	liq_be64_store(&board.core_hz, CORE_HZ);
	snprintf(board.board, sizeof(board.board), "liqm");
	snprintf(board.serial, sizeof(board.serial), "%s", port->card->name);
	liq_be64_store(&board.rev_major, 1);
	if (notify(pf, rh, (const uint8_t *)&board, sizeof(board)))
		port->core_active_due = false;
}

/* A VF came, went or changed its address; lowest bit first. */
static void
notify_vf(struct liqm_fn *vf)
{
	unsigned int what = vf->nif.notice_due & (0u - vf->nif.notice_due);
	uint32_t ossp = what == LIQM_NOTICE_LOADED    ? LIQ_VF_NOTICE_LOADED
			: what == LIQM_NOTICE_REMOVED ? LIQ_VF_NOTICE_REMOVED
						      : LIQ_VF_NOTICE_MAC;
	uint8_t data[VF_NOTICE_BYTES];

	liq_be64_store(data, vf->vf_num);
	liq_be64_store(data + 8, mac_word(vf->nif.mac));
	if (notify(vf->port->pf,
		   liq_put(LIQ_RH_SUBCODE, LIQ_FW_VF_NOTICE) | liq_put(LIQ_RH_OSSP, ossp), data,
		   sizeof(data)))
		vf->nif.notice_due &= ~what;
}

void
liqm_fw_notices(struct liqm_port *port)
{
	struct liqm_fn *fn;

	if (!liqm_fw_running(port->card))
		return;
	if (port->pf && port->core_active_due)
		notify_core_active(port->pf);
	for (unsigned int i = 0; i < port->n_vf; i++) {
		struct liqm_fn *vf = port->vf[i];

		if (!port->pf)
			vf->nif.notice_due = 0;
		while (vf->nif.notice_due && port->pf->nif.configured &&
		       queue0_ready(port->pf, VF_NOTICE_BYTES))
			notify_vf(vf);
	}
	for (unsigned int i = 0; (fn = liqm_port_fn(port, i)); i++) {
		if (fn->nif.link_due && fn->nif.running && queue0_ready(fn, LINK_BYTES))
			notify_link(fn);
	}
}

bool
liqm_fw_notice_due(struct liqm_port *port)
{
	struct liqm_fn *fn;

	if (!liqm_fw_running(port->card))
		return false;
	for (unsigned int i = 0; (fn = liqm_port_fn(port, i)); i++) {
		if (fn->nif.link_due && fn->nif.running && queue0_ready(fn, LINK_BYTES))
			return true;
		if (fn->nif.notice_due && port->pf && port->pf->nif.configured &&
		    queue0_ready(port->pf, VF_NOTICE_BYTES))
			return true;
	}
	return port->core_active_due && port->pf &&
	       queue0_ready(port->pf, sizeof(struct liq_board_info));
}
