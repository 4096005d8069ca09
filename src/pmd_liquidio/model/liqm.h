/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: the boundary.
 *
 * A card holds PCI functions (PFs and VFs) and one wire per Ethernet port.  Whatever carries
 * the card (a vfio-user server, an ethdev in the same process, a test) hands it accesses to
 * config space and BARs, and lends it services: DMA by bus address, MSI-X, a clock, a log.
 * The model has no thread, socket or timer of its own.  It works inside the calls below: after
 * each access (unless manual_step is set) and in liqm_card_tick().
 *
 * Threads: one lock per card, taken by every function here, so any thread may call at any time.
 * Services, observers and wire callbacks run with that lock held: they must not call back into
 * the same card, except for liqm_wire_in().  liqm_wire_in() does not take it, and wants at most
 * one producer per port at a time; the far end of a pair is one.
 *
 * Whatever a driver does ends in an answer or in a counted device error, never in a crash.
 */
#ifndef LIQM_H
#define LIQM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct liqm_card;
struct liqm_fn;

#define LIQM_MAX_PORTS 2
#define LIQM_MAX_VFS   63
#define LIQM_N_BARS    6
#define LIQM_CFG_BYTES 4096
#define LIQM_FRAME_MAX 16384u /* bytes on the wire, no FCS */
#define LIQM_NEVER     UINT64_MAX
#define LIQM_BAR_MSIX  4 /* MSI-X table at 0, pending bits at LIQM_MSIX_PBA */
#define LIQM_MSIX_PBA  0x8000u

/* ---- services ---- */

enum liqm_log_level { LIQM_LOG_ERR, LIQM_LOG_INFO, LIQM_LOG_DEBUG };

/* Of the whole card.  Each pointer may be NULL. */
struct liqm_card_services {
	void *ctx;
	/*
	 * Monotonic nanoseconds.  NULL: the card keeps virtual time, which moves by access_ns
	 * at each access and by liqm_card_advance(); runs are then reproducible.
	 */
	uint64_t (*clock_ns)(void *ctx);
	void (*log)(void *ctx, enum liqm_log_level level, const char *text);
};

/* Of one function.  Each pointer may be NULL: DMA then fails, interrupts are dropped. */
struct liqm_fn_services {
	void *ctx;
	/* Bus-master access.  False: the range is not wholly mapped (or not writable). */
	bool (*dma_read)(void *ctx, uint64_t iova, void *dst, size_t len);
	bool (*dma_write)(void *ctx, uint64_t iova, const void *src, size_t len);
	/* Edge; masking and pending bits are the carrier's business. */
	void (*msix_raise)(void *ctx, unsigned int vector);
};

/* ---- card ---- */

struct liqm_card_cfg {
	const char *name;          /* for messages; copied */
	unsigned int n_pf;         /* 0: one port whose PF driver is part of the model; 1, 2 */
	unsigned int n_vf;         /* VFs of each PF, up to LIQM_MAX_VFS */
	unsigned int rings_per_vf; /* 1 to 8; used without PF functions, else the driver decides */
	uint8_t revision;          /* config byte 8 */
	uint16_t subsys_id;        /* 0x0003 to 0x000b */
	const char *fw_version;    /* up to 31 characters; copied */
	uint8_t mac[6];            /* of the first function; the others count up */
	unsigned int speed_mbps;   /* 10000 or 25000 */
	unsigned int max_mtu;      /* 68 to 16000 */
	unsigned int coproc_mhz;   /* multiple of 50, up to 3150 */
	unsigned int pkind;        /* 0 to 63 */
	unsigned int
		trusted_vf; /* 1-based VF that may go promiscuous, 0: none; without PF functions */
	bool link_down;     /* start with no carrier */
	bool keep_vlan;     /* leave VLAN tags in received frames, report none */
	bool rst_at_flr;    /* rings come out of FLR with RST and QUIET set */
	bool manual_step;   /* work only in liqm_card_tick(), not after each access */
	uint64_t access_ns; /* virtual time per access */
	uint64_t mbox_delay_ns; /* before the inner PF answers a message */
	uint64_t fw_delay_ns;   /* between fetching a command and its response */
	uint64_t boot_ns;       /* from chip reset until firmware runs again */
	uint64_t rx_hold_ns;    /* how long a frame waits for credits before it is dropped */
	uint64_t seed;          /* of random numbers */
	struct liqm_card_services svc;
};

/* One VF-only card with one VF of one ring, 10 Gb/s, firmware 1.7.2, virtual time. */
void liqm_card_cfg_default(struct liqm_card_cfg *cfg);

/* 0; -EINVAL with a log line that names the member; -ENOMEM. */
int liqm_card_create(const struct liqm_card_cfg *cfg, struct liqm_card **out);

/* NULL is fine.  Unplugs pairs first.  No other call on the card may be under way. */
void liqm_card_destroy(struct liqm_card *card);

/* Runs everything that is due.  Call it when idle, and at liqm_card_next_ns(). */
void liqm_card_tick(struct liqm_card *card);

/* Time of the next thing due, LIQM_NEVER for none, 0 when work waits. */
uint64_t liqm_card_next_ns(struct liqm_card *card);

uint64_t liqm_card_now_ns(struct liqm_card *card);

/* Something is due earlier than liqm_card_next_ns() last said. */
typedef void (*liqm_wake_fn)(void *ctx);

/*
 * For whoever sleeps until liqm_card_next_ns(): wake is called, at most once for each of its
 * answers, on the thread that made the answer too late (by an access, or by a frame from the far
 * end of a pair).  It may neither wait nor call the model.  One per card, NULL takes it away:
 * it is not running any more when this returns.  0; -EBUSY: somebody else's is there.
 */
int liqm_card_on_wake(struct liqm_card *card, liqm_wake_fn wake, void *ctx);

/* Moves virtual time and runs what comes due, in order.  Nothing with a clock service. */
void liqm_card_advance(struct liqm_card *card, uint64_t ns);

/* ---- functions ---- */

unsigned int liqm_card_n_fns(const struct liqm_card *card);
/* 0 to n_fns - 1: the PFs, then the VFs of port 0, then those of port 1.  NULL beyond. */
struct liqm_fn *liqm_card_fn(struct liqm_card *card, unsigned int index);
struct liqm_fn *liqm_card_pf(struct liqm_card *card, unsigned int port);
/* vf counts from 0. */
struct liqm_fn *liqm_card_vf(struct liqm_card *card, unsigned int port, unsigned int vf);

struct liqm_bar {
	uint64_t size; /* power of two; 0: not there */
	bool is_64bit; /* takes this register and the next */
	bool prefetchable;
};

struct liqm_fn_info {
	unsigned int index; /* on the card */
	unsigned int port;
	unsigned int vf_num; /* 1-based; 0: a PF */
	uint16_t vendor_id, device_id, subsys_id;
	unsigned int n_msix;
	struct liqm_bar bar[LIQM_N_BARS];
};

/* Constant for the life of the card. */
void liqm_fn_info_get(const struct liqm_fn *fn, struct liqm_fn_info *info);

/* Lends services to the function; NULL takes them back.  DMA never happens outside a call. */
void liqm_fn_attach(struct liqm_fn *fn, const struct liqm_fn_services *svc);

enum liqm_reset {
	LIQM_RESET_COLD, /* power on */
	LIQM_RESET_BUS,  /* secondary bus or slot reset */
	LIQM_RESET_FLR,  /* also triggered by bit 15 of Device Control */
};

/* Queues, mailbox, interface and config space are as new when this returns. */
void liqm_fn_reset(struct liqm_fn *fn, enum liqm_reset kind);

/* Config space; any offset and length.  Beyond 4096: reads give ones, writes are counted. */
void liqm_cfg_read(struct liqm_fn *fn, uint32_t off, void *dst, size_t len);
void liqm_cfg_write(struct liqm_fn *fn, uint32_t off, const void *src, size_t len);

/*
 * BARs; len 1, 2, 4 or 8, value in the low bytes.  Accesses outside a BAR read as ones;
 * misaligned or of another length, they are counted and have no effect.
 */
uint64_t liqm_bar_read(struct liqm_fn *fn, unsigned int bar, uint64_t off, unsigned int len);
void liqm_bar_write(struct liqm_fn *fn, unsigned int bar, uint64_t off, uint64_t value,
		    unsigned int len);

/* ---- wire ---- */

/* A frame leaves the card; valid only during the call. */
typedef void (*liqm_wire_out_fn)(void *ctx, const uint8_t *frame, uint32_t len_bytes);

/* Cables the port to a callback; NULL unplugs.  -EINVAL for a port that is not there. */
int liqm_wire_callback(struct liqm_card *card, unsigned int port, liqm_wire_out_fn out, void *ctx);

/* Cables two ports (of one card or two).  -EINVAL: no such port, or itself; -ENOMEM. */
int liqm_wire_pair(struct liqm_card *a, unsigned int port_a, struct liqm_card *b,
		   unsigned int port_b);

/* A frame arrives; copied.  0; -EMSGSIZE (under 14 or over LIQM_FRAME_MAX); -ENOBUFS; -EINVAL. */
int liqm_wire_in(struct liqm_card *card, unsigned int port, const uint8_t *frame,
		 uint32_t len_bytes);

/* True when a frame of any length would be taken. */
bool liqm_wire_room(struct liqm_card *card, unsigned int port);

/* What the cable does to frames that leave the port.  All zero: nothing. */
struct liqm_wire_cfg {
	uint64_t rate_bps; /* 0: unlimited; instructions wait, none is lost */
	uint32_t loss_ppm;
	uint32_t dup_ppm;
	uint32_t reorder_ppm; /* overtaken by the next frame, or 1 ms late */
	uint32_t corrupt_ppm; /* one bit flipped anywhere */
	uint64_t seed;
};

/* -EINVAL: no such port, or a probability over 1000000. */
int liqm_wire_configure(struct liqm_card *card, unsigned int port, const struct liqm_wire_cfg *cfg);

int liqm_link_set(struct liqm_card *card, unsigned int port, bool up);

/* ---- the inner PF (cards without PF functions) ---- */

/* Sends a mailbox message to the VF: header word and data.  -EBUSY, -EINVAL. */
int liqm_vf_message(struct liqm_fn *vf, const uint64_t *words, unsigned int n_words);

/* The last complete response of the VF to such a message; returns its number of words. */
unsigned int liqm_vf_reply(struct liqm_fn *vf, uint64_t *words, unsigned int max_words);

/* ---- counters ---- */

/* X(name, meaning) */
/* clang-format off */
#define LIQM_COUNTERS(X)							\
	X(accesses, "register and config accesses")				\
	X(reg_unknown, "accesses to offsets where no register is known")	\
	X(reg_bad, "accesses misaligned, of a bad length or outside their BAR")	\
	X(reg_ro_write, "writes to read-only registers")			\
	X(instrs, "instructions completed")					\
	X(instr_bad, "instructions refused: header size, length, 32-byte mode")	\
	X(instr_unknown, "instructions with an unknown opcode or subcode")	\
	X(instr_pkind, "instructions with a port kind that was not handed out")	\
	X(instr_too_long, "instructions longer than IN_JABBER")			\
	X(dbell_overrun, "doorbells that announced more than the ring holds")	\
	X(dbell_disabled, "doorbells rung on a ring that is not enabled")	\
	X(cred_overrun, "credits beyond the number of descriptors")		\
	X(ring_bad, "rings enabled with no size or no base")			\
	X(dma_read_err, "DMA reads that failed")				\
	X(dma_write_err, "DMA writes that failed")				\
	X(cmds, "control commands executed")					\
	X(cmd_refused, "requests answered with an error status")		\
	X(cmd_lost, "error status that nobody asked for")			\
	X(responses, "responses written")					\
	X(resp_bad, "requests with an unusable response length")		\
	X(notices, "notifications put on output queue 0")			\
	X(tx_frames, "frames sent")						\
	X(tx_bytes, "bytes sent")						\
	X(tx_dropped, "frames of the driver that were not sent")		\
	X(tx_spoofed, "frames with a forged source address")			\
	X(rx_frames, "frames delivered")					\
	X(rx_bytes, "bytes delivered")						\
	X(rx_filtered, "frames not for this function")				\
	X(rx_no_credit, "frames dropped for want of credits")			\
	X(rx_too_long, "frames over the MTU")					\
	X(rx_stopped, "frames dropped while reception or the ring was off")		\
	X(ring_resets, "rings put into reset")					\
	X(flr, "function resets")						\
	X(msix_raised, "interrupts raised")					\
	X(mbox_words, "mailbox words written")					\
	X(mbox_msgs, "mailbox messages received by the inner PF")		\
	X(mbox_errors, "mailbox messages out of turn, and time-outs")		\
	X(faults, "faults injected")
/* clang-format on */

#define LIQM_COUNTER_ENUM(name, text) LIQM_N_##name,
enum liqm_counter { LIQM_COUNTERS(LIQM_COUNTER_ENUM) LIQM_N_COUNTERS };

uint64_t liqm_counter(const struct liqm_fn *fn, enum liqm_counter which);
const char *liqm_counter_name(enum liqm_counter which);
const char *liqm_counter_text(enum liqm_counter which);

/* Of a port's wire. */
struct liqm_wire_stats {
	uint64_t n_out, n_out_bytes; /* frames handed to the far end */
	uint64_t n_in, n_in_bytes;   /* frames taken from it */
	uint64_t n_in_full;          /* refused: no room */
	uint64_t n_in_unclaimed;     /* no function wanted it */
	uint64_t n_unplugged;        /* sent with no cable or no link */
	uint64_t n_lost, n_duplicated, n_reordered, n_corrupted;
};

int liqm_wire_stats_get(struct liqm_card *card, unsigned int port, struct liqm_wire_stats *stats);

/* ---- access log ---- */

enum liqm_access_kind { LIQM_ACCESS_CFG, LIQM_ACCESS_BAR, LIQM_ACCESS_RESET };

struct liqm_access {
	uint64_t time_ns;
	unsigned int fn_index;
	enum liqm_access_kind kind;
	unsigned int bar;
	uint64_t off;
	unsigned int len;
	bool is_write;
	uint64_t value; /* LIQM_ACCESS_RESET: the kind of reset */
};

/* Called at each access, a read after its value is known; NULL for none. */
typedef void (*liqm_observer_fn)(void *ctx, const struct liqm_access *access);
void liqm_fn_observe(struct liqm_fn *fn, liqm_observer_fn observer, void *ctx);

/*
 * One line without newline: "fn1 BAR0 W ring0.IN_DBELL+0 /4 = 0x1".  Names come from the
 * register tables.  Returns the length as snprintf() does.
 */
int liqm_access_format(const struct liqm_access *access, char *text, size_t size);

/* ---- faults ---- */

/* X(NAME, name, what arg means) */
/* clang-format off */
#define LIQM_FAULTS(X)								\
	X(RESP_LATE, "resp-late", "ns that a response is delayed")		\
	X(RESP_LOST, "resp-lost", "")						\
	X(RESP_SHORT, "resp-short", "payload bytes left unwritten at the end")	\
	X(RESP_STATUS, "resp-status", "status code")				\
	X(RESP_FIRST, "resp-first", "")						\
	X(FETCH_LATE, "fetch-late", "ns that an input queue pauses")		\
	X(FETCH_STUCK, "fetch-stuck", "")					\
	X(DONE_LIE, "done-lie", "added to IN_DONE")				\
	X(RX_LATE, "rx-late", "ns between data and count")			\
	X(RX_LOST, "rx-lost", "")						\
	X(RX_SHORT, "rx-short", "bytes of the packet not written")		\
	X(RX_ZERO, "rx-zero", "")						\
	X(RX_LEN_LIE, "rx-len-lie", "length claimed instead of the true one")	\
	X(RX_RH_LIE, "rx-rh-lie", "bits flipped in the receive header")		\
	X(CNTS_LIE, "cnts-lie", "added to CNTS")				\
	X(CREDIT_STARVE, "credit-starve", "")					\
	X(RST_STUCK, "rst-stuck", "")						\
	X(GONE, "gone", "")							\
	X(LINK_FLAP, "link-flap", "ns of lost carrier")				\
	X(MSIX_LOST, "msix-lost", "")						\
	X(MBOX_LATE, "mbox-late", "ns more before the inner PF answers")	\
	X(MBOX_LOST, "mbox-lost", "")						\
	X(MBOX_ERR, "mbox-err", "")						\
	X(MBOX_NOACK, "mbox-noack", "")						\
	X(DMA_ERR, "dma-err", "")
/* clang-format on */

#define LIQM_FAULT_ENUM(id, name, arg) LIQM_FAULT_##id,
enum liqm_fault_kind { LIQM_FAULTS(LIQM_FAULT_ENUM) LIQM_N_FAULTS };

#define LIQM_ANY (-1)

/*
 * A script line.  Each occasion of its kind that matches fn and ring is counted: the first
 * `skip` pass, then `count` of them fail (0: all), each with the given chance.
 */
struct liqm_fault {
	enum liqm_fault_kind kind;
	int fn_index; /* or LIQM_ANY */
	int ring;     /* of the function, or LIQM_ANY */
	uint32_t skip;
	uint32_t count;
	uint32_t chance_ppm; /* 0 means 1000000 */
	uint64_t arg;
};

/* -EINVAL: unknown kind or chance; -ENOSPC: 64 lines are there already. */
int liqm_fault_add(struct liqm_card *card, const struct liqm_fault *fault);

/* Writes a script of n lines drawn from the seed, of kinds in the mask (1 << kind). */
int liqm_fault_random(struct liqm_card *card, uint64_t seed, uint64_t kind_mask, unsigned int n);

/* Forgets the script; rings that are stuck in reset come free. */
void liqm_fault_clear(struct liqm_card *card);

const char *liqm_fault_name(enum liqm_fault_kind kind);
/* LIQM_N_FAULTS for an unknown name. */
enum liqm_fault_kind liqm_fault_by_name(const char *name);

#endif /* LIQM_H */
