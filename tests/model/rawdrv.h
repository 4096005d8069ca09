/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A second, minimal driver for the LiquidIO model: registers only, polled, one thread.
 *
 * Written from the interface document with numbers of its own, on purpose: it shares neither code
 * nor constants with the driver or the model, so that a wrong offset there does not agree with
 * itself here.  It asserts nothing; functions return what happened and the tests judge.
 *
 * struct raw_host is the machine: one block of memory that begins at RAW_IOVA on the bus, with
 * pages that can be taken away, and counters of interrupts.
 */
#ifndef RAWDRV_H
#define RAWDRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "liqm.h"

#define RAW_IOVA      UINT64_C(0x7F0000000000)
#define RAW_MEM       (16u << 20)
#define RAW_PAGE      4096u
#define RAW_RINGS     8
#define RAW_MAX_DESC  2048
#define RAW_SIG       UINT64_C(0x1122334455667788)
#define RAW_ACK       UINT64_MAX
#define RAW_ERR       UINT64_C(0xDEADDEADDEADDEAD)
#define RAW_NO_STATUS 0xFFFFFFFFu /* no answer came */
#define RAW_FRAME_MAX 20000

/* Per-ring registers. */
#define R_RING(q)        (0x10000u + (q)*0x20000u)
#define R_INPUT_CONTROL  0x00u
#define R_INSTR_BADDR    0x10u
#define R_IQ_DOORBELL    0x20u
#define R_IQ_SIZE        0x30u
#define R_IN_DONE        0x40u
#define R_OUTPUT_CONTROL 0x50u
#define R_OUT_SIZE       0x60u
#define R_SLIST_BADDR    0x70u
#define R_OQ_CREDITS     0x80u
#define R_OQ_SIZE        0x90u
#define R_INT_LEVELS     0xA0u
#define R_CNTS           0xB0u
#define R_SIG0           0x200u
#define R_SIG1           0x208u
#define R_MBOX_INT       0x210u

struct raw_host {
	uint8_t *mem;
	uint32_t used;
	uint8_t *denied; /* one byte per page: 1 no read, 2 no write */
	unsigned int n_irq[128];
	uint64_t n_reads, n_writes, n_bad;
	/* when set, called before each write: address, length */
	void (*on_write)(void *ctx, uint64_t iova, const void *src, size_t len);
	void *on_write_ctx;
};

struct raw_ring {
	uint32_t iq_size, iq_put, iq_done, iq_count; /* count: last IN_DONE seen */
	uint64_t iq;                                 /* IOVA */
	uint32_t oq_size, oq_get, oq_pending, buf_bytes;
	uint64_t oq, info, bufs;
	uint32_t oq_refill; /* consumed, not credited */
};

struct raw {
	struct raw_host *host;
	struct liqm_card *card;
	struct liqm_fn *fn;
	bool info_mode;
	bool is_pf;
	unsigned int mac_num, pf_num;
	unsigned int first; /* number of the first ring in BAR0 */
	unsigned int n_rings;
	uint32_t iq_desc, oq_desc, buf_bytes;
	struct raw_ring ring[RAW_RINGS];
	uint64_t data, list, resp; /* IOVAs of work areas */

	/* called while it waits, so that another driver can do its part */
	void (*idle)(void *ctx);
	void *idle_ctx;
	uint8_t mbox_state[64]; /* as a PF: of each VF's answer */

	/* learned */
	uint64_t in_ctl; /* as found */
	uint32_t pkind;
	uint64_t handshake, pf_version;
	uint64_t ifcfg[139]; /* the response as values; [134..137] are the version's bytes */
	char version[33];
	uint8_t mac[6];
};

/* What came in. */
struct raw_pkt {
	uint64_t rh;
	uint64_t hash_word; /* 0 without */
	uint32_t n_bufs;
	uint32_t len; /* of the payload */
	uint8_t data[RAW_FRAME_MAX];
};

int raw_host_init(struct raw_host *host);
void raw_host_fini(struct raw_host *host);
void raw_host_services(struct raw_host *host, struct liqm_fn_services *svc);
uint64_t raw_alloc(struct raw_host *host, uint32_t bytes);
void *raw_ptr(struct raw_host *host, uint64_t iova);
void raw_deny(struct raw_host *host, uint64_t iova, uint32_t bytes, uint8_t how);

uint64_t raw_be64(const void *p);
void raw_put_be64(void *p, uint64_t v);

/* Register access of BAR0. */
uint32_t raw_r32(struct raw *d, uint32_t off);
uint64_t raw_r64(struct raw *d, uint32_t off);
void raw_w32(struct raw *d, uint32_t off, uint32_t v);
void raw_w64(struct raw *d, uint32_t off, uint64_t v);
/* Offset of ring k's register, k from 0 among the function's own. */
uint32_t raw_reg(const struct raw *d, unsigned int k, uint32_t reg);

void raw_init(struct raw *d, struct liqm_card *card, struct liqm_fn *fn, struct raw_host *host);
void raw_wait_ns(struct raw *d, uint64_t ns);

/* VF: numbers, mailbox, handshake.  0, or the negative number of the step that failed. */
int raw_vf_handshake(struct raw *d);
/* RST protocol and operating modes of the rings. */
int raw_reset_rings(struct raw *d);
/* Memory and registers of ring k; credits before or after enabling. */
void raw_ring_setup(struct raw *d, unsigned int k);
void raw_ring_enable(struct raw *d, unsigned int k);
void raw_ring_credits(struct raw *d, unsigned int k);
/* IF_CFG for n rings; the status. */
uint32_t raw_if_cfg(struct raw *d, unsigned int n);
/* All of it, to the point where RX_CTL 1 is answered.  0 or negative. */
int raw_vf_up(struct raw *d, unsigned int n_rings);
/* PF: section 5.10.7 with P rings and V VFs of R rings. */
int raw_pf_up(struct raw *d, unsigned int p, unsigned int v, unsigned int r);
/* Does what is due in the VFs' mailboxes, as a PF driver; number of words taken. */
unsigned int raw_pf_serve(struct raw *d);

/*
 * An instruction with a response of rlen bytes; returns the status or RAW_NO_STATUS after wait_ns.
 * out gets the rlen bytes.
 */
uint32_t raw_request(struct raw *d, unsigned int subcode, uint64_t ossp0, uint64_t ossp1,
		     const void *data, uint32_t len, void *out, uint32_t rlen, uint64_t wait_ns);
/* A control command with n user words, asking for a response. */
uint32_t raw_cmd(struct raw *d, uint64_t word, const void *udd, uint32_t udd_len);
/* The same without response: 0 once fetched, else RAW_NO_STATUS. */
uint32_t raw_cmd_quiet(struct raw *d, uint64_t word, const void *udd, uint32_t udd_len);
/* cmd, param1, param2, more: the word as in section 5.5. */
uint64_t raw_cmd_word(unsigned int cmd, unsigned int param1, unsigned int param2,
		      unsigned int more);

/* Puts an instruction on ring k without ringing. */
void raw_post(struct raw *d, unsigned int k, const uint64_t words[8]);
void raw_ring_bell(struct raw *d, unsigned int k, uint32_t n);
/* Instructions done since the last call. */
uint32_t raw_done(struct raw *d, unsigned int k);

/* Sends a frame from one buffer, or from n_segs pieces; irh_low and tso as in section 3.1. */
void raw_send(struct raw *d, unsigned int k, const void *frame, uint32_t len, uint64_t flags,
	      uint64_t vlan_prio, uint64_t tso);
void raw_send_gather(struct raw *d, unsigned int k, const void *frame, uint32_t len,
		     unsigned int n_segs, uint64_t flags, uint64_t tso);

/* Takes a packet off ring k; 1 got one, 0 nothing there, -1 the device lied (zero length). */
int raw_recv(struct raw *d, unsigned int k, struct raw_pkt *pkt);
/* The next frame (subcode 2) on any ring; the ring, or -1 when none comes within wait_ns. */
int raw_recv_frame(struct raw *d, struct raw_pkt *pkt, uint64_t wait_ns);
/* The next notification with that subcode on ring 0; true when it came. */
bool raw_recv_notice(struct raw *d, unsigned int subcode, struct raw_pkt *pkt, uint64_t wait_ns);

#endif /* RAWDRV_H */
