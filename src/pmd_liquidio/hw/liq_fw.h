/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II (CN23XX) firmware interface: operations, control commands, responses, statistics,
 * link word, and the mailbox between a VF and its PF.
 *
 * Part of the hardware contract that the driver and the device model share: constants and
 * layouts, no state, nothing but <stdint.h>.  Sources: docs/liquidio-hw.md.
 *
 * Responses and command data are BE words (liq_be64); mailbox words are host-native values.
 */
#ifndef LIQ_FW_H
#define LIQ_FW_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "liq_desc.h"

/* Opcodes, and subcodes of LIQ_OPCODE_NIC. */
#define LIQ_OPCODE_CORE 0u
#define LIQ_OPCODE_NIC  1u

#define LIQ_FW_CORE_ACTIVE   0x01u /* card to host */
#define LIQ_FW_NW_DATA       0x02u
#define LIQ_FW_CMD           0x03u
#define LIQ_FW_INFO          0x04u
#define LIQ_FW_PORT_STATS    0x05u
#define LIQ_FW_MDIO          0x06u
#define LIQ_FW_TIMESTAMP     0x07u
#define LIQ_FW_INTRMOD_CFG   0x08u
#define LIQ_FW_IF_CFG        0x09u
#define LIQ_FW_VF_NOTICE     0x0Au /* card to host */
#define LIQ_FW_INTRMOD_GET   0x0Bu
#define LIQ_FW_QCOUNT        0x12u
#define LIQ_FW_TRUSTED_VF    0x13u
#define LIQ_FW_SYNC_TIME     0x14u
#define LIQ_FW_VF_REP_PKT    0x15u
#define LIQ_FW_VF_REP_CMD    0x16u
#define LIQ_FW_UBOOT_CTL     0x17u
#define LIQ_FW_VF_PORT_STATS 0x22u

/* Every response: rh first, status in the last 8 bytes, preset by the host to all ones. */
#define LIQ_RESP_MIN        16u
#define LIQ_RESP_STATUS_LEN 8u
#define LIQ_RESP_PENDING    UINT64_MAX
#define LIQ_STATUS_OK       0u
#define LIQ_STATUS_NOPERM   0x0Cu
#define LIQ_STATUS_CODE     0, 16

/* IF_CFG request, ossp[0]. */
#define LIQ_IFREQ_VF_ID      0, 8
#define LIQ_IFREQ_GMX_PORT   8, 8
#define LIQ_IFREQ_NUM_OQ     16, 16
#define LIQ_IFREQ_NUM_IQ     32, 16
#define LIQ_IFREQ_BASE_QUEUE 48, 16

#define LIQ_IF_MAX_QUEUES  64
#define LIQ_FW_VERSION_LEN 32

/* IF_CFG (and QCOUNT) response. */
struct liq_if_resp {
	uint64_t rh;
	uint64_t iqmask;
	uint64_t oqmask;
	uint64_t link;
	uint64_t hw_addr; /* low 48 bits */
	uint64_t info;
	uint64_t txpciq[LIQ_IF_MAX_QUEUES];
	uint64_t rxpciq[LIQ_IF_MAX_QUEUES];
	char version[LIQ_FW_VERSION_LEN]; /* plain bytes */
	uint64_t status;
};
static_assert(sizeof(struct liq_if_resp) == 1112, "IF_CFG response");
static_assert(offsetof(struct liq_if_resp, rxpciq) == 560, "IF_CFG response");
static_assert(offsetof(struct liq_if_resp, version) == 1072, "IF_CFG response");

/* INFO response. */
struct liq_info_resp {
	uint64_t rh;
	uint64_t link;
	uint64_t hw_addr;
	uint64_t info;
	uint64_t txpciq[LIQ_IF_MAX_QUEUES];
	uint64_t rxpciq[LIQ_IF_MAX_QUEUES];
	uint64_t status;
};
static_assert(sizeof(struct liq_info_resp) == 1064, "INFO response");
static_assert(offsetof(struct liq_info_resp, status) == 1056, "INFO response");

#define LIQ_IFINFO_NUM_RXPCIQ 0, 8
#define LIQ_IFINFO_NUM_TXPCIQ 8, 8
#define LIQ_IFINFO_SPOOFCHK   33, 1
#define LIQ_IFINFO_VLAN_ADMIN 46, 1
#define LIQ_IFINFO_MAC_ADMIN  47, 1
#define LIQ_IFINFO_GMXPORT    48, 16

#define LIQ_PCIQ_CTRL_QPG 9, 11
#define LIQ_PCIQ_AURA     20, 10
#define LIQ_PCIQ_QPG      30, 11
#define LIQ_PCIQ_USE_QPG  41, 1
#define LIQ_PCIQ_PKIND    42, 6
#define LIQ_PCIQ_PORT     48, 8
#define LIQ_PCIQ_Q_NO     56, 8

/* Link word, in IF_CFG, INFO and the link notification. */
#define LIQ_LINK_PHY       10, 5
#define LIQ_LINK_FLASHING  15, 1
#define LIQ_LINK_PAUSE     16, 1
#define LIQ_LINK_IF_MODE   17, 5
#define LIQ_LINK_AUTONEG   22, 1
#define LIQ_LINK_UP        23, 1
#define LIQ_LINK_SPEED     24, 16 /* Mb/s */
#define LIQ_LINK_MTU       40, 16 /* most the port accepts now */
#define LIQ_LINK_DUPLEX    56, 8
#define LIQ_LINK_PHY_FIBRE 1u

/* Command word, first BE word of the data of LIQ_FW_CMD; MORE user words follow. */
#define LIQ_CMD_PARAM2    0, 8
#define LIQ_CMD_PARAM1    8, 16
#define LIQ_CMD_GROUP     45, 8
#define LIQ_CMD_MORE      53, 6
#define LIQ_CMD_CMD       59, 5
#define LIQ_CMD_MAX_WORDS 32u

#define LIQ_CMD_CHANGE_MTU   0x01u
#define LIQ_CMD_CHANGE_MAC   0x02u
#define LIQ_CMD_DEVFLAGS     0x03u
#define LIQ_CMD_RX_CTL       0x04u
#define LIQ_CMD_MULTI_LIST   0x05u
#define LIQ_CMD_CLEAR_STATS  0x06u
#define LIQ_CMD_SETTINGS     0x07u
#define LIQ_CMD_FLOW_CTL     0x08u
#define LIQ_CMD_MDIO         0x09u
#define LIQ_CMD_GPIO         0x0Au
#define LIQ_CMD_LRO_ENABLE   0x0Bu
#define LIQ_CMD_LRO_DISABLE  0x0Cu
#define LIQ_CMD_SET_RSS      0x0Du
#define LIQ_CMD_IPSEC_WRITE  0x0Eu
#define LIQ_CMD_IPSEC_DELETE 0x0Fu
#define LIQ_CMD_TNL_RX_CSUM  0x10u /* 0 enable, 1 disable */
#define LIQ_CMD_TNL_TX_CSUM  0x11u /* 0 enable, 1 disable */
#define LIQ_CMD_IPSEC_UPDATE 0x12u
#define LIQ_CMD_IPSEC_CTL    0x13u
#define LIQ_CMD_VERBOSE_ON   0x14u
#define LIQ_CMD_VERBOSE_OFF  0x15u
#define LIQ_CMD_VLAN_FILTER  0x16u
#define LIQ_CMD_VLAN_ADD     0x17u
#define LIQ_CMD_VLAN_DEL     0x18u
#define LIQ_CMD_VXLAN_PORT   0x19u /* the verb is in MORE: 0 add, 1 delete */
#define LIQ_CMD_ID_ACTIVE    0x1Au
#define LIQ_CMD_UC_LIST      0x1Bu
#define LIQ_CMD_VF_LINKSTATE 0x1Cu
#define LIQ_CMD_SET_FNV      0x1Du
#define LIQ_CMD_PKT_STEERING 0x1Eu
#define LIQ_CMD_QUEUE_COUNT  0x1Fu
#define LIQ_CMD1_SPOOFCHK    0x01u /* group 1 */

#define LIQ_VF_LINK_AUTO    0u
#define LIQ_VF_LINK_ENABLE  1u
#define LIQ_VF_LINK_DISABLE 2u

/* Interface flags of DEVFLAGS and MULTI_LIST. */
#define LIQ_IFF_PROMISC   0x01u
#define LIQ_IFF_ALLMULTI  0x02u
#define LIQ_IFF_MULTICAST 0x04u
#define LIQ_IFF_BROADCAST 0x08u
#define LIQ_IFF_UNICAST   0x10u

/* SET_RSS user data: two BE words, then bytes. */
#define LIQ_RSS_FLAGS      0, 16
#define LIQ_RSS_HASHINFO   16, 32
#define LIQ_RSS_ITABLE_LEN 48, 16
#define LIQ_RSS_KEY_LEN    0, 16 /* second word */

#define LIQ_RSS_F_BIT0            0x01u /* meaning unknown */
#define LIQ_RSS_F_INFO_UNCHANGED  0x02u
#define LIQ_RSS_F_TABLE_UNCHANGED 0x04u
#define LIQ_RSS_F_KEY_UNCHANGED   0x08u
#define LIQ_RSS_F_DISABLE         0x10u

#define LIQ_RSS_TABLE_SIZE 128u
#define LIQ_RSS_KEY_SIZE   40u
#define LIQ_RSS_TABLE_OFF  16u
#define LIQ_RSS_KEY_OFF    144u
#define LIQ_RSS_DATA_LEN   184u

#define LIQ_HASH_IPV4        0x100u
#define LIQ_HASH_TCP_IPV4    0x200u
#define LIQ_HASH_IPV6        0x400u
#define LIQ_HASH_IPV6_EX     0x800u
#define LIQ_HASH_TCP_IPV6    0x1000u
#define LIQ_HASH_TCP_IPV6_EX 0x2000u
#define LIQ_HASH_ALL         0x3F00u

/* PORT_STATS response lengths: three generations of one layout. */
#define LIQ_STATS_RLEN_1_5 424u
#define LIQ_STATS_RLEN_1_6 432u
#define LIQ_STATS_RLEN_1_7 472u

/* X(name, in 1.5, in 1.6): every counter is in 1.7, in this order. */
/* clang-format off */
#define LIQ_STATS_RX_TABLE(X)						\
	X(total_rcvd, 1, 1)	X(bytes_rcvd, 1, 1)	X(total_bcst, 1, 1)	\
	X(total_mcst, 1, 1)	X(runts, 1, 1)		X(ctl_rcvd, 1, 1)	\
	X(fifo_err, 1, 1)	X(dmac_drop, 1, 1)	X(fcs_err, 1, 1)	\
	X(jabber_err, 1, 1)	X(l2_err, 1, 1)		X(frame_err, 1, 1)	\
	X(red_drops, 0, 0)	X(fw_total_rcvd, 1, 1)	X(fw_total_fwd, 1, 1)	\
	X(fw_total_fwd_bytes, 1, 1) X(fw_total_mcast, 0, 0) X(fw_total_bcast, 0, 0) \
	X(fw_err_pko, 1, 1)	X(fw_err_link, 1, 1)	X(fw_err_drop, 1, 1)	\
	X(fw_rx_vxlan, 1, 1)	X(fw_rx_vxlan_err, 1, 1) X(fw_lro_pkts, 1, 1)	\
	X(fw_lro_octs, 1, 1)	X(fw_total_lro, 1, 1)	X(fw_lro_aborts, 1, 1)	\
	X(fw_lro_aborts_port, 1, 1) X(fw_lro_aborts_seq, 1, 1)			\
	X(fw_lro_aborts_tsval, 1, 1) X(fw_lro_aborts_timer, 1, 1)		\
	X(fwd_rate, 1, 1)

#define LIQ_STATS_TX_TABLE(X)						\
	X(total_pkts_sent, 1, 1) X(total_bytes_sent, 1, 1) X(mcast_pkts_sent, 1, 1) \
	X(bcast_pkts_sent, 1, 1) X(ctl_sent, 1, 1)	X(one_collision_sent, 1, 1) \
	X(multi_collision_sent, 1, 1) X(max_collision_fail, 1, 1)		\
	X(max_deferral_fail, 1, 1) X(fifo_err, 1, 1)	X(runts, 1, 1)		\
	X(total_collisions, 1, 1) X(fw_total_sent, 1, 1) X(fw_total_fwd, 1, 1)	\
	X(fw_total_fwd_bytes, 1, 1) X(fw_total_mcast_sent, 0, 0)		\
	X(fw_total_bcast_sent, 0, 0) X(fw_err_pko, 1, 1) X(fw_err_link, 1, 1)	\
	X(fw_err_drop, 1, 1)	X(fw_err_tso, 1, 1)	X(fw_tso, 1, 1)		\
	X(fw_tso_fwd, 1, 1)	X(fw_tx_vxlan, 1, 1)	X(fw_err_pki, 0, 1)
/* clang-format on */

#define LIQ_STATS_RX_ENUM(name, in15, in16) LIQ_SRX_##name,
#define LIQ_STATS_TX_ENUM(name, in15, in16) LIQ_STX_##name,
enum liq_stats_rx { LIQ_STATS_RX_TABLE(LIQ_STATS_RX_ENUM) LIQ_SRX_N };
enum liq_stats_tx { LIQ_STATS_TX_TABLE(LIQ_STATS_TX_ENUM) LIQ_STX_N };
static_assert(LIQ_SRX_N == 32 && LIQ_STX_N == 25, "statistics of 1.7");
static_assert(8 * (LIQ_SRX_N + LIQ_STX_N) + LIQ_RESP_MIN == LIQ_STATS_RLEN_1_7, "length of 1.7");

/* INTRMOD: BE words, in the request of CFG and the response of GET. */
#define LIQ_INTRMOD_N_WORDS 14u
#define LIQ_INTRMOD_RLEN    128u

/* UBOOT_CTL: one command word; the answer is a BE 32-bit value after rh. */
#define LIQ_UBOOT_FEC_SET   0u
#define LIQ_UBOOT_FEC_GET   1u
#define LIQ_UBOOT_SPEED_SET 2u
#define LIQ_UBOOT_SPEED_GET 3u
#define LIQ_UBOOT_RLEN      24u

/* CORE_ACTIVE payload. */
struct liq_board_info {
	uint64_t core_hz; /* BE */
	char board[32];
	char serial[64];
	uint64_t rev_major; /* BE */
	uint64_t rev_minor; /* BE */
};
static_assert(sizeof(struct liq_board_info) == 120, "board information");

#define LIQ_APP_MODE_NIC  1u
#define LIQ_APP_CAP_TIME  1u
#define LIQ_APP_CAP_SWDEV 2u
#define LIQ_APP_CAP_SPOOF 4u

/* VF_NOTICE, rh.ossp. */
#define LIQ_VF_NOTICE_LOADED  1u
#define LIQ_VF_NOTICE_REMOVED 0xFFFFFFFFu
#define LIQ_VF_NOTICE_MAC     2u

/* Mailbox between VF and PF: special words, then the fields of a header. */
#define LIQ_MBOX_SIG UINT64_C(0x1122334455667788)
#define LIQ_MBOX_ACK UINT64_C(0xFFFFFFFFFFFFFFFF)
#define LIQ_MBOX_ERR UINT64_C(0xDEADDEADDEADDEAD)

#define LIQ_MBOX_TYPE        0, 1 /* 0 request, 1 response */
#define LIQ_MBOX_RESP_NEEDED 1, 1
#define LIQ_MBOX_CMD         2, 6
#define LIQ_MBOX_LEN         8, 8 /* words, this header included */
#define LIQ_MBOX_PARAMS      16, 48
#define LIQ_MBOX_MAX_WORDS   33u

#define LIQ_MBOX_VF_ACTIVE     0x1u
#define LIQ_MBOX_VF_FLR        0x2u
#define LIQ_MBOX_CORES_CRASHED 0x3u
#define LIQ_MBOX_PF_SET_MAC    0x4u
#define LIQ_MBOX_GET_VF_STATS  0x8u

/* PARAMS of the answer to VF_ACTIVE. */
#define LIQ_HS_PKIND      0, 8
#define LIQ_HS_CORE_MHZ   8, 16
#define LIQ_HS_COPROC_MHZ 24, 16
#define LIQ_HS_APP_MODE   40, 8

/* Version word: data[0] of VF_ACTIVE and of its answer. */
#define LIQ_VERSION_MAJOR 0, 16
#define LIQ_VERSION_MINOR 16, 16
#define LIQ_VERSION_MICRO 32, 16

#define LIQ_STATS_REPLY_WORDS 7u

#endif /* LIQ_FW_H */
