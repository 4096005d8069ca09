/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What firmware is told about the interface: MTU, addresses, flags, VLANs, hashing.  Each is one
 * command with an answer.  The wanted state is kept in dev->set and told again at each start,
 * since a reset of the function forgets it.  Control; see liq_dev.h.
 */
#include "liq_dev.h"

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

int
liq_mtu_tell(struct liq_dev *dev, uint16_t mtu)
{
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_CHANGE_MTU, mtu, 0, NULL, 0);
}

int
liq_mac_tell(struct liq_dev *dev, const uint8_t mac[6])
{
	uint8_t word[8] = {0};

	memcpy(word + 2, mac, 6);
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_CHANGE_MAC, 0, 0, word, 1);
}

/* Unicast and broadcast are always wanted. */
int
liq_flags_tell(struct liq_dev *dev, uint32_t flags)
{
	if (dev->nif.fw_num < LIQ_FW_DEVFLAGS)
		return -ENOTSUP;
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_DEVFLAGS, flags, 0, NULL, 0);
}

int
liq_mc_tell(struct liq_dev *dev)
{
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_MULTI_LIST, dev->set.flags, dev->set.n_mc,
			   dev->set.mc, dev->set.n_mc);
}

int
liq_vlan_tell(struct liq_dev *dev, uint16_t id, bool on)
{
	return liq_cmd_ctl(&dev->cmds, on ? LIQ_CMD_VLAN_ADD : LIQ_CMD_VLAN_DEL, id, 0, NULL, 0);
}

int
liq_vlan_filter_tell(struct liq_dev *dev, bool on)
{
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_VLAN_FILTER, on, 0, NULL, 0);
}

int
liq_rx_tell(struct liq_dev *dev, bool on)
{
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_RX_CTL, on, 0, NULL, 0);
}

/* ---- hashing ---- */

static const struct {
	uint64_t rss_hf;
	uint32_t type;
} hash_types[] = {
	{RTE_ETH_RSS_IPV4, LIQ_HASH_IPV4},
	{RTE_ETH_RSS_NONFRAG_IPV4_TCP, LIQ_HASH_TCP_IPV4},
	{RTE_ETH_RSS_IPV6, LIQ_HASH_IPV6},
	{RTE_ETH_RSS_IPV6_EX, LIQ_HASH_IPV6_EX},
	{RTE_ETH_RSS_NONFRAG_IPV6_TCP, LIQ_HASH_TCP_IPV6},
	{RTE_ETH_RSS_IPV6_TCP_EX, LIQ_HASH_TCP_IPV6_EX},
};

uint32_t
liq_rss_types_from(uint64_t rss_hf)
{
	uint32_t types = 0;

	for (size_t i = 0; i < RTE_DIM(hash_types); i++)
		if (rss_hf & hash_types[i].rss_hf)
			types |= hash_types[i].type;
	return types;
}

uint64_t
liq_rss_types_to(uint32_t types)
{
	uint64_t rss_hf = 0;

	for (size_t i = 0; i < RTE_DIM(hash_types); i++)
		if (types & hash_types[i].type)
			rss_hf |= hash_types[i].rss_hf;
	return rss_hf;
}

/* Two BE words, table, key: always whole, the flags say what of it counts. */
static int
set_rss(struct liq_dev *dev, uint64_t flags)
{
	uint8_t data[LIQ_RSS_DATA_LEN];

	liq_be64_store(data, liq_put(LIQ_RSS_FLAGS, flags) |
				     liq_put(LIQ_RSS_HASHINFO, dev->set.rss_types) |
				     liq_put(LIQ_RSS_ITABLE_LEN, LIQ_RETA_SIZE));
	liq_be64_store(data + 8, liq_put(LIQ_RSS_KEY_LEN, LIQ_KEY_SIZE));
	memcpy(data + LIQ_RSS_TABLE_OFF, dev->set.reta, LIQ_RETA_SIZE);
	memcpy(data + LIQ_RSS_KEY_OFF, dev->set.rss_key, LIQ_KEY_SIZE);
	return liq_cmd_ctl(&dev->cmds, LIQ_CMD_SET_RSS, 0, 0, data, LIQ_RSS_DATA_LEN / 8);
}

int
liq_rss_tell(struct liq_dev *dev)
{
	if (!dev->set.rss_on || dev->set.rss_types == 0)
		return set_rss(dev, LIQ_RSS_F_DISABLE | LIQ_RSS_F_KEY_UNCHANGED |
					    LIQ_RSS_F_TABLE_UNCHANGED | LIQ_RSS_F_INFO_UNCHANGED |
					    LIQ_RSS_F_BIT0);
	return set_rss(dev, LIQ_RSS_F_TABLE_UNCHANGED | LIQ_RSS_F_BIT0);
}

int
liq_reta_tell(struct liq_dev *dev)
{
	return set_rss(dev, LIQ_RSS_F_KEY_UNCHANGED | LIQ_RSS_F_INFO_UNCHANGED | LIQ_RSS_F_BIT0);
}

/* ---- at start ---- */

static int
tell_vlans(struct liq_dev *dev)
{
	int ret = liq_vlan_filter_tell(dev, dev->set.vlan_filter);

	for (unsigned int id = 0; ret == 0 && id < LIQ_N_VLANS; id++)
		if (dev->set.vlan[id / 64] >> id % 64 & 1)
			ret = liq_vlan_tell(dev, (uint16_t)id, true);
	return ret;
}

/* Promiscuous and all-multicast modes are replayed by ethdev itself. */
int
liq_settings_tell(struct liq_dev *dev)
{
	int ret = liq_mtu_tell(dev, dev->set.mtu);

	if (ret == -EIO && !dev->cmds.dead) {
		LIQ_LOG(ERR, "%s: mtu=%u: the port takes up to %u now", dev->bus, dev->set.mtu,
			liq_link_max_mtu(dev));
		return -EINVAL;
	}
	if (ret < 0)
		return ret;
	ret = liq_rss_tell(dev);
	if (ret == 0 && dev->set.rss_on && dev->set.rss_types != 0)
		ret = liq_reta_tell(dev);
	if (ret == 0 && !dev->nif.vlan_admin)
		ret = tell_vlans(dev);
	if (ret == 0 && dev->set.n_mc != 0)
		ret = liq_mc_tell(dev);
	return ret;
}

void
liq_settings_default(struct liq_settings *set)
{
	/* the key that most drivers start with */
	static const uint8_t key[LIQ_KEY_SIZE] = {
		0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
		0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
		0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa,
	};

	memset(set, 0, sizeof(*set));
	set->mtu = RTE_ETHER_MTU;
	set->flags = LIQ_IFF_UNICAST | LIQ_IFF_BROADCAST;
	set->rss_types = LIQ_HASH_ALL;
	memcpy(set->rss_key, key, sizeof(key));
}
