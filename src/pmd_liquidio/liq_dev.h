/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function of the card as the driver knows it: struct liq_dev, and its way up and down.
 *
 *	liq_ethdev   ethdev's face: operations, locks, alarms
 *	liq_stats liq_filter liq_link   what some of the operations do
 *	liq_dev      bring-up, start, stop, reset; common to both kinds of function
 *	liq_vf liq_pf   what differs, behind struct liq_fn_ops
 *	liq_cmd liq_mbox   conversations with firmware and with the other driver
 *	liq_iq liq_oq   the rings, and the bursts
 *	liq_ring liq_mem liq_io.h   registers and memory
 *
 * struct liq_dev is data->dev_private: shared memory, allocated zeroed.  The pointers io.ops, io.ctx
 * and fn are valid in the process that probed, the primary; secondaries read counters and shadows,
 * and on PCI use the bursts.
 *
 * Threads: everything here but the bursts is control and runs under dev->lock, which the callers
 * in liq_ethdev.c take.  Waits have deadlines (liq_io.h), so the lock is held for a bounded time.
 *
 * Life: down, (liq_dev_up) idle, (liq_dev_start) started, (liq_dev_stop) idle, (liq_dev_down) down.
 * While idle, ring 0 runs with a small input queue of the driver's own, for commands; started,
 * with transmit queue 0.
 */
#ifndef LIQ_DEV_H
#define LIQ_DEV_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "liq_cmd.h"
#include "liq_fw.h"
#include "liq_io.h"
#include "liq_iq.h"
#include "liq_log.h"
#include "liq_mbox.h"
#include "liq_oq.h"

#define LIQ_DRIVER_PCI "net_liq"
#define LIQ_DRIVER_SIM "net_liq_sim"

#define LIQ_STOP_WAIT_NS (1 * WEIR_NS_PER_S)  /* for rings to drain */
#define LIQ_BOOT_WAIT_NS (30 * WEIR_NS_PER_S) /* for firmware to say that it is up (PF) */

#define LIQ_FW_NUM(major, minor, micro)                                                            \
	((uint64_t)(major) << 32 | (uint64_t)(minor) << 16 | (uint64_t)(micro))
#define LIQ_FW_QUEUE_COUNT LIQ_FW_NUM(1, 7, 0) /* first version with QUEUE_COUNT_CTL */
#define LIQ_FW_DEVFLAGS    LIQ_FW_NUM(1, 7, 1) /* first version with CHANGE_DEVFLAGS */

struct liq_dev;

/* The kind of function: liq_vf_ops, liq_pf_ops. */
struct liq_fn_ops {
	const char *name; /* "vf", "pf" */

	/* Finds out who we are, gets the rings dealt out, talks to the PF.  n_rings, first_ring,
	 * in_ctl_owner and, for a VF, pkind are known afterwards. */
	int (*prepare)(struct liq_dev *dev);

	/* Rings are in reset, ring 0 has its input queue: enables it; afterwards pkind is known. */
	int (*wake)(struct liq_dev *dev);

	/* First word of IF_CFG, and its data (8 bytes); returns the length of the data. */
	uint32_t (*if_request)(struct liq_dev *dev, uint64_t *ossp0, uint8_t data[8]);

	/* Once after IF_CFG. */
	int (*configured)(struct liq_dev *dev);

	/* Asks whoever can for a function-level reset; NULL: there is nobody to ask. */
	int (*ask_flr)(struct liq_dev *dev);

	/* From time to time: mailboxes.  True: come back soon. */
	bool (*serve)(struct liq_dev *dev);

	/* Memory of its own goes; the card cannot reach it any more. */
	void (*release)(struct liq_dev *dev);
};

extern const struct liq_fn_ops liq_vf_ops;
extern const struct liq_fn_ops liq_pf_ops;

/* What the interface is, from IF_CFG. */
struct liq_queue_words {
	uint16_t qpg;
	uint16_t ctrl_qpg;
	uint8_t port;
	bool use_qpg;
};

struct liq_if {
	char fw_version[LIQ_FW_VERSION_LEN];
	uint64_t fw_num;
	uint16_t n_iq, n_oq; /* granted: the most that may be configured */
	uint16_t gmxport;
	bool mac_admin, vlan_admin; /* set by an administrator: not ours to change */
	uint8_t mac[6];
	struct liq_queue_words tx[LIQ_IF_MAX_QUEUES];
};

#define LIQ_RETA_SIZE LIQ_RSS_TABLE_SIZE
#define LIQ_KEY_SIZE  LIQ_RSS_KEY_SIZE
#define LIQ_MC_MAX    LIQ_CMD_MAX_WORDS
#define LIQ_N_VLANS   4096

/* What the user asked for, to be said to firmware at each start. */
struct liq_settings {
	uint16_t mtu;
	uint32_t flags; /* LIQ_IFF_* */
	bool rss_on;
	uint32_t rss_types; /* LIQ_HASH_* */
	uint8_t rss_key[LIQ_KEY_SIZE];
	uint8_t reta[LIQ_RETA_SIZE];
	bool vlan_filter;
	uint64_t vlan[LIQ_N_VLANS / 64];
	uint32_t n_mc;
	uint8_t mc[LIQ_MC_MAX][8]; /* as firmware wants them: the address in bytes 2 to 7 */
	uint16_t n_txq, n_rxq;
};

/* A PF's end of a VF. */
struct liq_vf_peer {
	struct liq_mbox mbox;
	bool active; /* has done its handshake */
};

struct liq_pf {
	unsigned int pf_num, mac_num;
	uint8_t revision;
	unsigned int n_vfs, rings_per_vf; /* asked for, then dealt out */
	unsigned int coproc_mhz;
	struct liq_mem boot_mem; /* output queue 0 until the user's: descriptors and buffers */
	uint32_t boot_seen;      /* packets of it that were taken */
	uint32_t crashed;        /* cores that firmware has given up, as last seen */
	struct liq_vf_peer vf[LIQ_PF_MAX_VFS];
};

struct liq_vf {
	struct liq_mbox mbox;
	struct liq_handshake hs;
	unsigned int vf_num, pf_num;
};

enum liq_state { LIQ_DOWN, LIQ_IDLE, LIQ_STARTED };

struct liq_dev {
	struct liq_io io;
	const struct liq_fn_ops *fn;
	uint16_t port_id;
	int socket_id;
	bool is_pf;
	unsigned int want_rings; /* queue pairs asked for; 0: as many as there are */
	unsigned int speed_mbps; /* of the board, 0: unknown */
	const char *bus;         /* for the register dump and logs */

	pthread_mutex_t lock;
	enum liq_state state;
	bool fenced;  /* a ring would not be quiet: the function was cut off from memory */
	bool alarmed; /* RTE_ETH_EVENT_INTR_RESET was raised */

	unsigned int n_rings, first_ring;
	unsigned int n_queues; /* asked of firmware, each way */
	uint64_t in_ctl_owner;
	unsigned int pkind;
	union {
		struct liq_vf vf;
		struct liq_pf pf;
	};

	struct liq_if nif;
	struct liq_settings set;
	struct liq_cmds cmds;
	struct liq_iq *own_iq; /* carries commands while idle */
	struct liq_notices notices;

	/* Queues of the user, by ethdev's index. */
	struct liq_iq *txq[LIQ_IF_MAX_QUEUES];
	struct liq_oq *rxq[LIQ_IF_MAX_QUEUES];

	/* Link: the last word, and the notice or request that it came from. */
	_Atomic uint64_t link_word;
	uint32_t n_link_seen; /* notices taken into account */
	int link_slot;        /* request on its way, negative: none */
	uint64_t link_asked_ns;

	/* Lost by a stop: never read, never fetched. */
	uint64_t n_unread, n_unread_base;
	uint64_t n_unsent, n_unsent_base;
	uint64_t port_stats[LIQ_SRX_N + LIQ_STX_N]; /* as firmware said last */
	uint64_t port_stats_base[LIQ_SRX_N + LIQ_STX_N];
	bool has_wire; /* the device behind the seam has a wire of its own to count on */
	uint64_t wire_stats[LIQ_N_WIRE], wire_stats_base[LIQ_N_WIRE];
};

/* dev->io, fn and what was asked for are set.  0 or negative errno, logged; everything unwound. */
int liq_dev_up(struct liq_dev *dev);

/* Number of queues each way, as configured; -ENOTSUP: this firmware cannot change it. */
int liq_dev_queues(struct liq_dev *dev, uint16_t n_txq, uint16_t n_rxq);

/* txq and rxq are complete.  0 or negative errno; then the device is idle again. */
int liq_dev_start(struct liq_dev *dev);

/* Stops what runs, whatever the device says.  Frames under way are freed. */
void liq_dev_stop(struct liq_dev *dev);

/* As after power-on, then up.  Queues of the user stay; the device must not be started. */
int liq_dev_reset(struct liq_dev *dev);

/* Everything goes but the struct itself. */
void liq_dev_down(struct liq_dev *dev);

/*
 * No DMA any more when this returns: all rings in reset, or the function cut off from memory.
 * 0, or the first error of a ring.
 */
int liq_dev_quiesce(struct liq_dev *dev);

/* A queue stopped on an impossible count, or a request ran out of time: only a reset helps. */
bool liq_dev_is_ill(const struct liq_dev *dev);

/* True when registers read as ones. */
bool liq_dev_is_gone(const struct liq_dev *dev);

/* ---- liq_link.c ---- */

struct rte_eth_link;

/* Asks firmware and waits; 0 or negative. */
int liq_link_ask(struct liq_dev *dev);

/* Takes notices into account and keeps a request going; never waits. */
void liq_link_poll(struct liq_dev *dev);

/* The last word as ethdev's; down while the device is not started. */
void liq_link_get(const struct liq_dev *dev, struct rte_eth_link *link);

/* Largest MTU that the port takes now. */
uint16_t liq_link_max_mtu(const struct liq_dev *dev);

/* ---- liq_filter.c: what firmware is told about addresses, VLANs and hashing ---- */

int liq_mtu_tell(struct liq_dev *dev, uint16_t mtu);
int liq_mac_tell(struct liq_dev *dev, const uint8_t mac[6]);
int liq_flags_tell(struct liq_dev *dev, uint32_t flags);
int liq_mc_tell(struct liq_dev *dev);
int liq_rss_tell(struct liq_dev *dev); /* types and key, or off */
int liq_reta_tell(struct liq_dev *dev);
int liq_vlan_tell(struct liq_dev *dev, uint16_t id, bool on);
int liq_vlan_filter_tell(struct liq_dev *dev, bool on);
int liq_rx_tell(struct liq_dev *dev, bool on);

/* Everything of dev->set, at start; 0 or negative. */
int liq_settings_tell(struct liq_dev *dev);
void liq_settings_default(struct liq_settings *set);

/* ethdev's hash types to the card's and back. */
uint32_t liq_rss_types_from(uint64_t rss_hf);
uint64_t liq_rss_types_to(uint32_t types);

#endif /* LIQ_DEV_H */
