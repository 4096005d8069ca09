/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: what its own files share, and nobody else sees.
 *
 * A card has ports (one Ethernet port, one PF, its VFs, 64 rings), a port has functions (PCI)
 * and an interface per function (firmware).  Every function here expects the card's lock to be
 * held and card->now_ns to be current, except where said.
 *
 * The flow: liqm_reg.c turns accesses into ring state; liqm_run() in liqm.c lets the parts work:
 * liqm_mbox.c, liqm_iq.c (fetch) -> liqm_fw.c, liqm_cmd.c (answers) and liqm_tx.c (frames)
 * -> liqm_wire.c -> liqm_rx.c (whose is it) -> liqm_oq.c (credits, DMA, counts) -> liqm_irq.c.
 */
#ifndef LIQM_PRIV_H
#define LIQM_PRIV_H

#include <stdatomic.h>

#include "liq_fw.h"
#include "liqm.h"

#define LIQM_N_GREG_INSTANCES 8
#define LIQM_DRAM_BYTES       (1u << 20)
#define LIQM_BUF_BYTES        (LIQ_OQ_PKT_MAX + 256u)
#define LIQM_N_EVENTS         1024
#define LIQM_N_FAULT_LINES    64
#define LIQM_N_LIST           32 /* addresses of a multicast or unicast list */
#define LIQM_N_VXLAN          8
#define LIQM_MBOX_WORD_NS     UINT64_C(1000000000) /* how long the inner PF waits for a word */
#define LIQM_ERR_PAUSE_NS     UINT64_C(1000000)    /* ERR stays in the mailbox this long */

/* Status codes beside the two that are known; any non-zero code is an error to a driver. */
#define LIQM_STATUS_INVALID 0x16u
#define LIQM_STATUS_NOSYS   0x26u

#define LIQM_GREG_ENUM(name, off, bytes, acc, n, stride, reset) LIQM_GREG_##name,
enum liqm_greg { LIQ_GLOBAL_REG_TABLE(LIQM_GREG_ENUM) LIQM_N_GREGS };

/* Reasons of a ring interrupt, bits. */
enum { LIQM_CAUSE_PO = 1, LIQM_CAUSE_PI = 2, LIQM_CAUSE_MBOX = 4 };

struct liqm_ring {
	/* input queue */
	uint64_t in_ctl;
	uint64_t in_base;
	uint32_t in_size;
	uint32_t in_pending; /* announced, not fetched */
	uint32_t in_next;    /* entry to fetch */
	uint32_t in_done;
	uint64_t in_done_cfg; /* WMARK and CINT_ENB, in place */
	uint64_t in_paused_until_ns;
	bool in_stuck;

	/* output queue */
	uint32_t out_ctl;
	uint32_t out_buf;
	uint64_t out_base;
	uint32_t out_size;
	uint32_t out_credits;
	uint32_t out_next; /* descriptor to fill */
	uint32_t cnts;
	uint64_t cnts_since_ns; /* when cnts left 0 */
	bool out_starved;       /* a frame waited in vain; the next ones need not */

	/* shared */
	uint64_t int_lev;
	uint64_t sig[2];
	uint64_t mbox_int;
	uint64_t err_info;
	unsigned int told; /* causes an interrupt was raised for */
	bool rst_stuck;
};

struct liqm_if {
	bool configured;
	bool running;
	unsigned int n_iq, n_oq;
	unsigned int max_iq, max_oq; /* of the IF_CFG */
	uint8_t mac[6];
	uint8_t mac_factory[6];
	bool mac_admin;
	uint32_t mtu;
	uint32_t flags;
	uint8_t mc[LIQM_N_LIST][6];
	unsigned int n_mc;
	uint8_t uc[LIQM_N_LIST][6];
	unsigned int n_uc;
	bool vlan_filter;
	uint64_t vlan[64];
	uint16_t port_vlan_tci; /* set by the PF; 0: none */

	bool rss_on, rss_fnv;
	uint32_t rss_types;
	uint8_t rss_key[LIQ_RSS_KEY_SIZE];
	uint8_t rss_table[LIQ_RSS_TABLE_SIZE];

	bool tnl_rx_csum, tnl_tx_csum;
	uint16_t vxlan_port[LIQM_N_VXLAN];
	unsigned int n_vxlan;
	uint32_t lro;
	uint32_t link_ctl; /* LIQ_VF_LINK_x */
	bool spoofchk, trusted;
	bool led, verbose, pause_rx, pause_tx;
	uint32_t fec;
	uint64_t intrmod[LIQ_INTRMOD_N_WORDS];

	uint64_t srx[LIQ_SRX_N];
	uint64_t stx[LIQ_STX_N];
	uint64_t n_spoofed;

	bool link_due;           /* a link notification waits for room on queue 0 */
	uint64_t link_told;      /* the last word sent */
	unsigned int notice_due; /* of a VF to its PF: bits of enum liqm_notice */
};

enum liqm_notice { LIQM_NOTICE_LOADED = 1, LIQM_NOTICE_REMOVED = 2, LIQM_NOTICE_MAC = 4 };

/* The inner PF's end of a VF's mailbox. */
struct liqm_mbox {
	uint64_t rx[LIQ_MBOX_MAX_WORDS];
	unsigned int n_rx;
	uint64_t rx_deadline_ns;
	uint64_t err_until_ns; /* ERR stands in SIG1 */

	uint64_t tx[LIQ_MBOX_MAX_WORDS];
	unsigned int n_tx, tx_at;
	uint64_t tx_start_ns, tx_deadline_ns;
	bool tx_is_reply;

	bool reply_awaited;
	uint64_t reply[LIQ_MBOX_MAX_WORDS];
	unsigned int n_reply;
};

struct liqm_fn {
	struct liqm_card *card;
	struct liqm_port *port;
	unsigned int index;
	unsigned int vf_num; /* 1-based, 0: PF */
	struct liqm_fn_services svc;
	liqm_observer_fn observer;
	void *observer_ctx;
	uint8_t cfg[LIQM_CFG_BYTES];
	uint8_t cfg_wmask[LIQM_CFG_BYTES];
	uint8_t msix_table[LIQ_MSIX_N_VECTORS * 16];
	uint64_t n[LIQM_N_COUNTERS];
	struct liqm_if nif;
	struct liqm_mbox mbox;
};

/* Frames on their way in: one producer, one consumer (the card). */
struct liqm_fifo {
	uint8_t *mem;
	uint32_t size;         /* power of two */
	_Atomic uint32_t head; /* written by the producer */
	_Atomic uint32_t tail; /* written by the card */
};

struct liqm_cable;

struct liqm_wire {
	liqm_wire_out_fn out;
	void *out_ctx;
	struct liqm_cable *cable;
	struct liqm_wire_cfg cfg;
	uint64_t rng;
	uint64_t free_at_ns; /* rate limit: the cable is busy until then */
	uint8_t *kept;       /* a frame that is being overtaken */
	uint32_t kept_len;
	uint64_t kept_until_ns;
	struct liqm_fifo in;
	_Atomic uint64_t n_in_full; /* written by the producer */
	struct liqm_wire_stats stats;
	/* the frame at the head of the fifo */
	unsigned int head_at;   /* next function to offer it to */
	uint64_t head_since_ns; /* LIQM_NEVER: it does not wait */
	bool head_claimed;
};

struct liqm_port {
	struct liqm_card *card;
	unsigned int index;
	struct liqm_fn *pf; /* NULL: the PF is inside the model */
	struct liqm_fn *vf[LIQM_MAX_VFS];
	unsigned int n_vf;
	struct liqm_ring ring[LIQ_PF_MAX_RINGS];
	uint64_t live; /* rings with a queue enabled */
	uint64_t greg[LIQM_N_GREGS][LIQM_N_GREG_INSTANCES];
	uint64_t bar1_index[LIQ_DRAM_N_WINDOWS];
	uint64_t told; /* INT_SUM bits an interrupt was raised for */
	bool core_active_due;
	bool link_up;
	uint64_t flap_until_ns; /* 0: no flap */
	uint32_t mtu_limit;
	struct liqm_wire wire;
};

enum liqm_event_kind { LIQM_EV_RESPONSE, LIQM_EV_COUNT };

struct liqm_event {
	uint64_t at_ns;
	uint64_t seq; /* keeps equal times in order */
	enum liqm_event_kind kind;
	struct liqm_fn *fn;
	unsigned int q; /* of the port */
	uint64_t iova;
	uint32_t len, n_short;
	uint8_t *data; /* owned; the response */
};

struct liqm_fault_line {
	struct liqm_fault fault;
	uint64_t n_seen, n_hit;
};

struct liqm_card {
	atomic_flag lock;
	/*
	 * Who sleeps until told_ns.  The lock is taken last of all, by whoever wakes: perhaps a
	 * card at the far end, which does not hold this card's lock.
	 */
	atomic_flag wake_lock;
	liqm_wake_fn wake;
	void *wake_ctx;
	atomic_bool asleep;
	uint64_t told_ns;
	bool touched; /* manual_step: written to since the last turn */
	struct liqm_card_cfg cfg;
	char name[32];
	char fw_version[LIQ_FW_VERSION_LEN];
	uint64_t now_ns;
	uint64_t rng;
	struct liqm_port port[LIQM_MAX_PORTS];
	unsigned int n_ports;
	struct liqm_fn *fn;
	unsigned int n_fns;
	uint64_t scratch[2];
	uint64_t boot_at_ns; /* LIQM_NEVER: firmware runs */
	uint8_t *dram;
	struct liqm_event event[LIQM_N_EVENTS]; /* a heap by time */
	unsigned int n_events;
	uint64_t event_seq;
	struct liqm_fault_line fault[LIQM_N_FAULT_LINES];
	unsigned int n_faults;
	bool faults_on[LIQM_N_FAULTS];
	/* work space */
	uint8_t in_data[LIQM_BUF_BYTES];
	uint8_t tx_frame[LIQM_BUF_BYTES];
	uint8_t rx_frame[LIQM_BUF_BYTES];
	uint8_t out_pkt[LIQM_BUF_BYTES];
	uint8_t resp[4096];
};

/*
 * What was written to the host's memory before is seen before what is written after; pairs with
 * the driver's load barrier.  The thread sanitizer of gcc knows no fences.
 */
static inline void
liqm_dma_barrier(void)
{
#ifndef __SANITIZE_THREAD__
	atomic_thread_fence(memory_order_release);
#endif
}

/* liqm.c */
void liqm_lock(struct liqm_card *card);
void liqm_unlock(struct liqm_card *card);
/* Wakes whoever sleeps; with or without the card's lock. */
void liqm_wake(struct liqm_card *card);
/* The end of a write: the card works now, or when it is stepped. */
void liqm_written(struct liqm_card *card);
void liqm_log(struct liqm_card *card, enum liqm_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
uint64_t liqm_random(uint64_t *state);
bool liqm_chance(uint64_t *state, uint32_t ppm);
void liqm_run(struct liqm_card *card);
bool liqm_dma_read(struct liqm_fn *fn, uint64_t iova, void *dst, size_t len);
bool liqm_dma_write(struct liqm_fn *fn, uint64_t iova, const void *src, size_t len);
void liqm_engine_reset(struct liqm_fn *fn);
void liqm_flr(struct liqm_fn *fn);
void liqm_observe(struct liqm_fn *fn, const struct liqm_access *access);

/* liqm_event.c */
void liqm_event_add(struct liqm_card *card, const struct liqm_event *event);
void liqm_events_run(struct liqm_card *card);
/* q LIQM_ANY: all of the function. */
void liqm_events_drop(struct liqm_card *card, const struct liqm_fn *fn, int q);
uint64_t liqm_events_next_ns(const struct liqm_card *card);

/* liqm_ring.c: who owns a ring, and its life. */
struct liqm_fn *liqm_ring_owner(struct liqm_port *port, unsigned int q, unsigned int *index);
unsigned int liqm_fn_first_ring(const struct liqm_fn *fn);
unsigned int liqm_fn_n_rings(const struct liqm_fn *fn);
void liqm_ring_reset(struct liqm_port *port, unsigned int q);
void liqm_ring_power_on(struct liqm_port *port, unsigned int q);
void liqm_ring_live(struct liqm_port *port, unsigned int q);
uint64_t liqm_ring_read(struct liqm_fn *fn, unsigned int q, uint32_t off, bool *known);
void liqm_ring_write(struct liqm_fn *fn, unsigned int q, uint32_t off, uint64_t value,
		     unsigned int halves);

/* liqm_reg.c: BAR accesses.  Halves of a register written, bits: */
enum { LIQM_LOW = 1, LIQM_HIGH = 2 };

/* liqm_pf.c: global registers; false: not known. */
void liqm_pf_power_on(struct liqm_port *port);
uint64_t liqm_pf_read(struct liqm_fn *fn, uint64_t off, bool *known);
bool liqm_pf_write(struct liqm_fn *fn, uint64_t off, uint64_t value, unsigned int halves);
uint64_t liqm_dram_read(struct liqm_fn *fn, uint64_t off, unsigned int len);
void liqm_dram_write(struct liqm_fn *fn, uint64_t off, uint64_t value, unsigned int len);

/* liqm_cfg.c */
void liqm_cfg_power_on(struct liqm_fn *fn);

/* liqm_irq.c */
void liqm_irq_ring(struct liqm_port *port, unsigned int q);
void liqm_irq_run(struct liqm_port *port);
void liqm_irq_sum(struct liqm_port *port, uint64_t bits);
uint64_t liqm_irq_next_ns(const struct liqm_port *port);
unsigned int liqm_irq_causes(const struct liqm_port *port, unsigned int q);

/* liqm_mbox.c */
void liqm_mbox_power_on(struct liqm_fn *fn);
void liqm_mbox_from_vf(struct liqm_fn *fn);
void liqm_mbox_run(struct liqm_fn *fn);
uint64_t liqm_mbox_next_ns(const struct liqm_fn *fn);
void liqm_mbox_raise(struct liqm_fn *fn);

/* liqm_iq.c */
struct liqm_request {
	struct liqm_fn *fn;
	unsigned int q; /* of the port */
	struct liq_instr instr;
	const uint8_t *data;
	uint32_t len;
};
void liqm_iq_run(struct liqm_port *port, unsigned int q);
void liqm_swap_words(uint8_t *bytes, size_t len);

/* liqm_oq.c */
enum liqm_put { LIQM_PUT_OK, LIQM_PUT_NO_CREDIT, LIQM_PUT_OFF, LIQM_PUT_ERROR };
enum liqm_put liqm_oq_put(struct liqm_port *port, unsigned int q, uint64_t rh,
			  const uint64_t *words, const uint8_t *data, uint32_t len);
void liqm_oq_count(struct liqm_port *port, unsigned int q, uint32_t n);

/* liqm_fw.c: returns the status; payload goes to resp (zeroed), of *resp_len bytes. */
uint32_t liqm_fw_request(const struct liqm_request *req, uint8_t *resp, uint32_t rlen);
void liqm_fw_notices(struct liqm_port *port);
bool liqm_fw_notice_due(struct liqm_port *port);
void liqm_fw_link_changed(struct liqm_port *port);
uint64_t liqm_fw_link_word(const struct liqm_fn *fn);
void liqm_if_power_on(struct liqm_fn *fn);
void liqm_if_flr(struct liqm_fn *fn);
bool liqm_if_link_up(const struct liqm_fn *fn);
bool liqm_fw_running(const struct liqm_card *card);

/* liqm_cmd.c */
uint32_t liqm_cmd(const struct liqm_request *req);
uint32_t liqm_trusted_vf(struct liqm_fn *pf, uint64_t vf_num, bool on);
void liqm_rss_default(struct liqm_if *nif);

/* liqm_stats.c */
uint32_t liqm_stats_port(const struct liqm_fn *fn, uint8_t *resp, uint32_t rlen);
void liqm_stats_out(struct liqm_if *nif, const uint8_t *frame, uint32_t len);
void liqm_stats_in(struct liqm_if *nif, const uint8_t *frame, uint32_t len);

/* liqm_pkt.c: bytes only. */
struct liqm_pkt {
	uint32_t l3, l4, end; /* offsets; 0: not there */
	uint32_t l2, payload; /* start of the Ethernet header; start of L4 payload */
	uint16_t ethertype;
	uint8_t proto;
	bool is_ip4, is_ip6, is_frag, has_ext;
	bool is_tcp, is_udp;
	uint16_t sport, dport;
};
void liqm_pkt_parse(const uint8_t *frame, uint32_t len, uint32_t start, struct liqm_pkt *pkt);
bool liqm_pkt_ip_good(const uint8_t *frame, const struct liqm_pkt *pkt);
/* 1 good, 0 bad, -1 nothing to check */
int liqm_pkt_l4_good(const uint8_t *frame, const struct liqm_pkt *pkt);
void liqm_pkt_ip_csum(uint8_t *frame, const struct liqm_pkt *pkt);
void liqm_pkt_l4_csum(uint8_t *frame, const struct liqm_pkt *pkt);
uint32_t liqm_toeplitz(const uint8_t *key, const uint8_t *data, uint32_t len);
uint32_t liqm_fnv(const uint8_t *data, uint32_t len);
uint32_t liqm_pkt_hash(const struct liqm_if *nif, const uint8_t *frame, const struct liqm_pkt *pkt,
		       uint32_t *type);
uint16_t liqm_be16(const uint8_t *p);
void liqm_put_be16(uint8_t *p, uint32_t v);

/* liqm_tx.c */
uint32_t liqm_tx(const struct liqm_request *req);

/* liqm_rx.c */
enum liqm_offer { LIQM_OFFER_TAKEN, LIQM_OFFER_REFUSED, LIQM_OFFER_WAIT };
enum liqm_offer liqm_rx_offer(struct liqm_fn *fn, const uint8_t *frame, uint32_t len,
			      bool may_wait);
void liqm_rx_run(struct liqm_port *port);
bool liqm_rx_local(struct liqm_fn *from, const uint8_t *frame, uint32_t len);
struct liqm_fn *liqm_port_fn(struct liqm_port *port, unsigned int at);

/* liqm_wire.c */
int liqm_wire_init(struct liqm_port *port);
void liqm_wire_fini(struct liqm_port *port);
bool liqm_wire_busy(const struct liqm_port *port);
void liqm_wire_send(struct liqm_port *port, const uint8_t *frame, uint32_t len);
void liqm_wire_run(struct liqm_port *port);
const uint8_t *liqm_wire_head(struct liqm_port *port, uint32_t *len);
void liqm_wire_pop(struct liqm_port *port);
uint64_t liqm_wire_next_ns(struct liqm_port *port);

/* liqm_fault.c: is this occasion to fail?  q counts from the function's first ring. */
bool liqm_fault(struct liqm_fn *fn, enum liqm_fault_kind kind, int q, uint64_t *arg);

#endif /* LIQM_PRIV_H */
