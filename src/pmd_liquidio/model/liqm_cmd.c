/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: control commands (subcode 0x03).
 *
 * A command is one BE word and, for some, user words behind it.  The group is looked at before
 * the command, and what counts as user data is bounded by what was sent, not by the MORE field.
 *
 * Who may: a VF its own interface; promiscuous mode only when trusted; an address or a VLAN that
 * the PF gave it stays.  The PF everything, and it alone speaks about VFs.
 */
#include "liqm_priv.h"

#include <string.h>

struct cmd {
	struct liqm_fn *fn;
	struct liqm_if *nif;
	uint32_t cmd, param1, param2, more;
	const uint8_t *udd;
	uint32_t udd_len;
};

/* The Microsoft key, which every driver brings along as well. */
static const uint8_t default_key[LIQ_RSS_KEY_SIZE] = {
	0x6D, 0x5A, 0x56, 0xDA, 0x25, 0x5B, 0x0E, 0xC2, 0x41, 0x67, 0x25, 0x3D, 0x43, 0xA3,
	0x8F, 0xB0, 0xD0, 0xCA, 0x2B, 0xCB, 0xAE, 0x7B, 0x30, 0xB4, 0x77, 0xCB, 0x2D, 0xA3,
	0x80, 0x30, 0xF2, 0x0C, 0x6A, 0x42, 0xB7, 0x3B, 0xBE, 0xAC, 0x01, 0xFA,
};

/* Without a word from the driver: spread over all queues. */
void
liqm_rss_default(struct liqm_if *nif)
{
	nif->rss_on = true;
	nif->rss_fnv = false;
	nif->rss_types = LIQ_HASH_ALL;
	memcpy(nif->rss_key, default_key, sizeof(default_key));
	for (unsigned int i = 0; i < LIQ_RSS_TABLE_SIZE; i++)
		nif->rss_table[i] = (uint8_t)i; /* taken modulo the number of queues */
}

/* A VF that a PF command names; NULL with OK when the PF has rings for it but the card none. */
static struct liqm_fn *
named_vf(const struct cmd *c, uint32_t vf_num, uint32_t *status)
{
	struct liqm_port *port = c->fn->port;
	uint64_t n_vfs = liq_get(port->greg[LIQM_GREG_RINFO][port->index], LIQ_RINFO_NVFS);

	if (c->fn->vf_num != 0) {
		*status = LIQ_STATUS_NOPERM;
		return NULL;
	}
	*status = vf_num == 0 || vf_num > n_vfs ? LIQM_STATUS_INVALID : LIQ_STATUS_OK;
	return *status == LIQ_STATUS_OK && vf_num <= port->n_vf ? port->vf[vf_num - 1] : NULL;
}

static uint32_t
change_mtu(const struct cmd *c)
{
	uint32_t most = (uint32_t)liq_get(liqm_fw_link_word(c->fn), LIQ_LINK_MTU);

	if (c->param1 < LIQ_MTU_MIN || c->param1 > most)
		return LIQM_STATUS_INVALID;
	c->nif->mtu = c->param1;
	if (c->fn->vf_num == 0)
		liqm_fw_link_changed(c->fn->port);
	return LIQ_STATUS_OK;
}

static bool
mac_good(const uint8_t *mac)
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0;
}

static uint32_t
change_mac(const struct cmd *c)
{
	struct liqm_fn *fn = c->fn;
	uint32_t status;

	if (c->udd_len < 8 || !mac_good(c->udd + 2))
		return LIQM_STATUS_INVALID;
	if (c->param1 == 0) {
		if (c->nif->mac_admin)
			return LIQ_STATUS_NOPERM;
		memcpy(c->nif->mac, c->udd + 2, 6);
		if (fn->vf_num != 0)
			c->nif->notice_due |= LIQM_NOTICE_MAC;
		return LIQ_STATUS_OK;
	}
	fn = named_vf(c, c->param1, &status);
	if (fn) {
		memcpy(fn->nif.mac, c->udd + 2, 6);
		memcpy(fn->nif.mac_factory, c->udd + 2, 6);
		fn->nif.mac_admin = c->param2 == 1;
	}
	return status;
}

static uint32_t
set_flags(const struct cmd *c)
{
	c->nif->flags = c->param1;
	if ((c->param1 & LIQ_IFF_PROMISC) && !c->nif->trusted) {
		c->nif->flags &= ~LIQ_IFF_PROMISC;
		return LIQ_STATUS_NOPERM;
	}
	return LIQ_STATUS_OK;
}

static uint32_t
rx_ctl(const struct cmd *c)
{
	bool on = c->param1 != 0;

	if (!c->nif->configured)
		return LIQM_STATUS_INVALID;
	c->nif->link_due = on;
	c->nif->running = on;
	if (c->fn->vf_num == 0)
		liqm_fw_link_changed(c->fn->port);
	return LIQ_STATUS_OK;
}

static uint32_t
set_list(const struct cmd *c, uint32_t n, uint8_t (*list)[6], unsigned int *n_list)
{
	if (n > LIQM_N_LIST || n > c->udd_len / 8)
		return LIQM_STATUS_INVALID;
	for (uint32_t i = 0; i < n; i++)
		memcpy(list[i], c->udd + 8 * i + 2, 6);
	*n_list = n;
	return LIQ_STATUS_OK;
}

static uint32_t
multi_list(const struct cmd *c)
{
	uint32_t status = set_list(c, c->param2, c->nif->mc, &c->nif->n_mc);

	return status == LIQ_STATUS_OK ? set_flags(c) : status;
}

static uint32_t
set_rss(const struct cmd *c)
{
	struct liqm_if *nif = c->nif;
	uint64_t word0, word1;
	uint32_t flags, n_table, n_key;

	if (c->udd_len < LIQ_RSS_TABLE_OFF)
		return LIQM_STATUS_INVALID;
	word0 = liq_be64_load(c->udd);
	word1 = liq_be64_load(c->udd + 8);
	flags = (uint32_t)liq_get(word0, LIQ_RSS_FLAGS);
	n_table = (uint32_t)liq_get(word0, LIQ_RSS_ITABLE_LEN);
	n_key = (uint32_t)liq_get(word1, LIQ_RSS_KEY_LEN);
	if (flags & LIQ_RSS_F_DISABLE) {
		nif->rss_on = false;
		return LIQ_STATUS_OK;
	}
	if (!(flags & LIQ_RSS_F_TABLE_UNCHANGED) &&
	    (n_table > LIQ_RSS_TABLE_SIZE || LIQ_RSS_TABLE_OFF + n_table > c->udd_len))
		return LIQM_STATUS_INVALID;
	if (!(flags & LIQ_RSS_F_KEY_UNCHANGED) &&
	    (n_key > LIQ_RSS_KEY_SIZE || LIQ_RSS_KEY_OFF + n_key > c->udd_len))
		return LIQM_STATUS_INVALID;
	if (!(flags & LIQ_RSS_F_INFO_UNCHANGED))
		nif->rss_types = (uint32_t)liq_get(word0, LIQ_RSS_HASHINFO) & LIQ_HASH_ALL;
	if (!(flags & LIQ_RSS_F_TABLE_UNCHANGED))
		memcpy(nif->rss_table, c->udd + LIQ_RSS_TABLE_OFF, n_table);
	if (!(flags & LIQ_RSS_F_KEY_UNCHANGED))
		memcpy(nif->rss_key, c->udd + LIQ_RSS_KEY_OFF, n_key);
	nif->rss_on = true;
	nif->rss_fnv = false;
	return LIQ_STATUS_OK;
}

static uint32_t
vlan(const struct cmd *c, bool add)
{
	uint32_t id = c->param1 & 0xFFF, status;
	struct liqm_fn *vf;

	if (c->param2 != 0) {
		vf = named_vf(c, c->param2, &status);
		if (vf)
			vf->nif.port_vlan_tci = add ? (uint16_t)c->param1 : 0;
		return status;
	}
	if (c->nif->port_vlan_tci != 0)
		return LIQ_STATUS_NOPERM;
	if (c->param1 > 0xFFF)
		return LIQM_STATUS_INVALID;
	if (add)
		c->nif->vlan[id / 64] |= UINT64_C(1) << id % 64;
	else
		c->nif->vlan[id / 64] &= ~(UINT64_C(1) << id % 64);
	return LIQ_STATUS_OK;
}

static uint32_t
vxlan(const struct cmd *c)
{
	struct liqm_if *nif = c->nif;
	unsigned int i = 0;

	while (i < nif->n_vxlan && nif->vxlan_port[i] != c->param1)
		i++;
	if (c->more == 0 && i == nif->n_vxlan) {
		if (i == LIQM_N_VXLAN)
			return LIQM_STATUS_INVALID;
		nif->vxlan_port[nif->n_vxlan++] = (uint16_t)c->param1;
	} else if (c->more != 0 && i < nif->n_vxlan) {
		nif->vxlan_port[i] = nif->vxlan_port[--nif->n_vxlan];
	}
	return LIQ_STATUS_OK;
}

static uint32_t
vf_linkstate(const struct cmd *c)
{
	uint32_t status;
	struct liqm_fn *vf = named_vf(c, c->param1, &status);

	if (c->param2 > LIQ_VF_LINK_DISABLE)
		return LIQM_STATUS_INVALID;
	if (vf) {
		vf->nif.link_ctl = c->param2;
		liqm_fw_link_changed(c->fn->port);
	}
	return status;
}

static uint32_t
queue_count(const struct cmd *c)
{
	if (!c->nif->configured || c->param1 == 0 || c->param2 == 0 || c->param1 > c->nif->max_iq ||
	    c->param2 > c->nif->max_oq)
		return LIQM_STATUS_INVALID;
	c->nif->n_iq = c->param1;
	c->nif->n_oq = c->param2;
	return LIQ_STATUS_OK;
}

/* Commands about the Ethernet port itself. */
static uint32_t
port_cmd(const struct cmd *c)
{
	if (c->fn->vf_num != 0)
		return LIQ_STATUS_NOPERM;
	if (c->cmd == LIQ_CMD_FLOW_CTL) {
		c->nif->pause_rx = c->param1 != 0;
		c->nif->pause_tx = c->param2 != 0;
		liqm_fw_link_changed(c->fn->port);
	} else {
		c->nif->led = c->param1 != 0;
	}
	return LIQ_STATUS_OK;
}

static uint32_t
spoofchk(const struct cmd *c)
{
	uint32_t status;
	struct liqm_fn *vf = named_vf(c, c->param1, &status);

	if (vf)
		vf->nif.spoofchk = c->param2 != 0;
	return status;
}

uint32_t
liqm_trusted_vf(struct liqm_fn *pf, uint64_t vf_num, bool on)
{
	struct cmd c = {.fn = pf};
	uint32_t status;
	struct liqm_fn *vf = named_vf(&c, vf_num > LIQ_PF_MAX_VFS ? 0 : (uint32_t)vf_num, &status);

	if (!vf)
		return status;
	/* one at a time */
	for (unsigned int i = 0; on && i < pf->port->n_vf; i++)
		pf->port->vf[i]->nif.trusted = false;
	vf->nif.trusted = on;
	if (!on)
		vf->nif.flags &= ~LIQ_IFF_PROMISC;
	return status;
}

static uint32_t
run(const struct cmd *c)
{
	struct liqm_if *nif = c->nif;

	switch (c->cmd) {
	case LIQ_CMD_CHANGE_MTU:
		return change_mtu(c);
	case LIQ_CMD_CHANGE_MAC:
		return change_mac(c);
	case LIQ_CMD_DEVFLAGS:
		return set_flags(c);
	case LIQ_CMD_RX_CTL:
		return rx_ctl(c);
	case LIQ_CMD_MULTI_LIST:
		return multi_list(c);
	case LIQ_CMD_CLEAR_STATS:
		memset(nif->srx, 0, sizeof(nif->srx));
		memset(nif->stx, 0, sizeof(nif->stx));
		return LIQ_STATUS_OK;
	case LIQ_CMD_FLOW_CTL:
	case LIQ_CMD_ID_ACTIVE:
		return port_cmd(c);
	case LIQ_CMD_LRO_ENABLE: /* accepted; frames are not merged */
		nif->lro |= c->param1 & 3;
		return LIQ_STATUS_OK;
	case LIQ_CMD_LRO_DISABLE:
		nif->lro &= ~c->param1;
		return LIQ_STATUS_OK;
	case LIQ_CMD_SET_RSS:
		return set_rss(c);
	case LIQ_CMD_TNL_RX_CSUM:
		nif->tnl_rx_csum = c->param1 == 0;
		return LIQ_STATUS_OK;
	case LIQ_CMD_TNL_TX_CSUM:
		nif->tnl_tx_csum = c->param1 == 0;
		return LIQ_STATUS_OK;
	case LIQ_CMD_VERBOSE_ON:
	case LIQ_CMD_VERBOSE_OFF:
		nif->verbose = c->cmd == LIQ_CMD_VERBOSE_ON;
		return LIQ_STATUS_OK;
	case LIQ_CMD_VLAN_FILTER:
		nif->vlan_filter = c->param1 != 0;
		return LIQ_STATUS_OK;
	case LIQ_CMD_VLAN_ADD:
	case LIQ_CMD_VLAN_DEL:
		return vlan(c, c->cmd == LIQ_CMD_VLAN_ADD);
	case LIQ_CMD_VXLAN_PORT:
		return vxlan(c);
	case LIQ_CMD_UC_LIST:
		return set_list(c, c->more, nif->uc, &nif->n_uc);
	case LIQ_CMD_VF_LINKSTATE:
		return vf_linkstate(c);
	case LIQ_CMD_SET_FNV:
		nif->rss_fnv = c->param1 != 0;
		nif->rss_on = true;
		return LIQ_STATUS_OK;
	case LIQ_CMD_PKT_STEERING: /* accepted; there are no steering rules */
		return LIQ_STATUS_OK;
	case LIQ_CMD_QUEUE_COUNT:
		return queue_count(c);
	default: /* other boards' MDIO, GPIO and settings; IPsec */
		return LIQM_STATUS_NOSYS;
	}
}

uint32_t
liqm_cmd(const struct liqm_request *req)
{
	struct cmd c = {.fn = req->fn, .nif = &req->fn->nif};
	uint64_t word;
	uint32_t status;

	if (req->len < 8)
		return LIQM_STATUS_INVALID;
	word = liq_be64_load(req->data);
	c.cmd = (uint32_t)liq_get(word, LIQ_CMD_CMD);
	c.param1 = (uint32_t)liq_get(word, LIQ_CMD_PARAM1);
	c.param2 = (uint32_t)liq_get(word, LIQ_CMD_PARAM2);
	c.more = (uint32_t)liq_get(word, LIQ_CMD_MORE);
	c.udd = req->data + 8;
	c.udd_len = req->len - 8;
	if (liq_get(word, LIQ_CMD_GROUP) == 0)
		status = run(&c);
	else if (liq_get(word, LIQ_CMD_GROUP) == 1 && c.cmd == LIQ_CMD1_SPOOFCHK)
		status = spoofchk(&c);
	else
		status = LIQM_STATUS_NOSYS;
	if (status == LIQ_STATUS_OK)
		req->fn->n[LIQM_N_cmds]++;
	return status;
}
