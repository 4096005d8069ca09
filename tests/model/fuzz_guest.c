/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lying driver against the device model.
 *
 * The input is a program of small steps: register and config accesses of any kind, memory that is
 * scribbled on, pages that vanish, frames, resets, faults, time; and some steps that a good driver
 * would take (a ring that works, a well-formed instruction), so that the program gets deep before it
 * goes wrong.  Whatever happens, the model must not crash, must return quickly, and must keep its
 * own bounds; the checks at the end of each step say which.
 *
 * With -DFUZZ_LIBFUZZER=1 a libFuzzer target.  Otherwise a program: files given are replayed, or
 * --runs N --seed S makes N random programs, --verbose names each before it runs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "liq_fw.h"
#include "liqm.h"

#define MEM_BYTES  (256u << 10)
#define MEM_IOVA   UINT64_C(0x10000000)
#define PAGE_BYTES 4096u
#define MAX_STEPS  400
#define MAX_FNS    6
#define RING_DESC  128u

/* Where the good steps keep things. */
#define AT_IQ     0x00000u
#define AT_OQ     0x04000u
#define AT_INFO   0x05000u
#define AT_BUFS   0x08000u
#define AT_DATA   0x30000u
#define AT_RESP   0x34000u
#define BUF_BYTES 1024u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t mem[MEM_BYTES];
static uint8_t denied[MEM_BYTES / PAGE_BYTES];
static uint64_t n_irq, n_out;
static struct liqm_card *the_card;

struct input {
	const uint8_t *at, *end;
};

static uint64_t
take(struct input *in, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)(in->at < in->end ? *in->at++ : 0) << 8 * i;
	return v;
}

#define REQUIRE(cond)                                                                              \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #cond);   \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* ---- the machine ---- */

static bool
mapped(uint64_t iova, size_t len, uint8_t how)
{
	uint64_t off = iova - MEM_IOVA;

	REQUIRE(len <= 1u << 17);
	if (iova < MEM_IOVA || off > MEM_BYTES || len > MEM_BYTES - off)
		return false;
	for (uint64_t p = off / PAGE_BYTES; len && p <= (off + len - 1) / PAGE_BYTES; p++) {
		if (denied[p] & how)
			return false;
	}
	return true;
}

static bool
dma_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	(void)ctx;
	if (!mapped(iova, len, 1))
		return false;
	memcpy(dst, mem + (iova - MEM_IOVA), len);
	return true;
}

static bool
dma_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	(void)ctx;
	if (!mapped(iova, len, 2))
		return false;
	memcpy(mem + (iova - MEM_IOVA), src, len);
	return true;
}

static void
msix_raise(void *ctx, unsigned int vector)
{
	(void)ctx;
	REQUIRE(vector <= 255);
	n_irq++;
}

static void
wire_out(void *ctx, const uint8_t *frame, uint32_t len)
{
	volatile uint8_t sum = 0;

	(void)ctx;
	REQUIRE(len >= 60 && len <= LIQM_FRAME_MAX);
	for (uint32_t i = 0; i < len; i++)
		sum = (uint8_t)(sum + frame[i]); /* every byte is there to be read */
	n_out++;
}

static const struct liqm_fn_services services = {
	.dma_read = dma_read,
	.dma_write = dma_write,
	.msix_raise = msix_raise,
};

/* ---- good steps ---- */

static void
w64(struct liqm_fn *fn, uint64_t off, uint64_t v)
{
	liqm_bar_write(fn, 0, off, v, 8);
}

static void
good_ring(struct liqm_fn *fn, unsigned int q, uint8_t mode)
{
	uint64_t desc[2];

	for (unsigned int i = 0; i < RING_DESC; i++) {
		desc[0] = MEM_IOVA + AT_BUFS + i * BUF_BYTES;
		desc[1] = MEM_IOVA + AT_INFO + i * 32;
		memcpy(mem + AT_OQ + i * 16, desc, 16);
	}
	w64(fn, LIQ_RING(q) + LIQ_REG_IN_CTL, LIQ_IN_CTL_RST);
	w64(fn, LIQ_RING(q) + LIQ_REG_IN_CTL, LIQ_IN_CTL_MODE_LE);
	w64(fn, LIQ_RING(q) + LIQ_REG_IN_BASE, MEM_IOVA + AT_IQ);
	w64(fn, LIQ_RING(q) + LIQ_REG_IN_SIZE, RING_DESC);
	w64(fn, LIQ_RING(q) + LIQ_REG_OUT_BASE, MEM_IOVA + AT_OQ);
	w64(fn, LIQ_RING(q) + LIQ_REG_OUT_SIZE, RING_DESC);
	w64(fn, LIQ_RING(q) + LIQ_REG_OUT_BUF, BUF_BYTES | 8 << 16);
	w64(fn, LIQ_RING(q) + LIQ_REG_OUT_CRED, RING_DESC);
	w64(fn, LIQ_RING(q) + LIQ_REG_IN_CTL,
	    LIQ_IN_CTL_MODE_LE | LIQ_IN_CTL_IS_64B | LIQ_IN_CTL_ENB);
	w64(fn, LIQ_RING(q) + LIQ_REG_OUT_CTL,
	    (mode & 1 ? LIQ_OUT_CTL_INF_LE : LIQ_OUT_CTL_BUF_LE) | LIQ_OUT_CTL_ENB);
}

static void
post(struct liqm_fn *fn, unsigned int q, const struct liq_instr *instr)
{
	for (unsigned int i = 0; i < RING_DESC; i++)
		memcpy(mem + AT_IQ + i * sizeof(*instr), instr, sizeof(*instr));
	liqm_bar_write(fn, 0, LIQ_RING(q) + LIQ_REG_IN_DBELL, 1, 4);
	liqm_card_advance(the_card, 0);
}

/* Ring, IF_CFG, RX_CTL 1: from here on frames move.  A PF deals its rings out first. */
static void
good_up(struct liqm_fn *fn, unsigned int q, uint8_t mode)
{
	struct liq_instr instr = {0};
	struct liqm_fn_info info;
	unsigned int base = 0;

	liqm_fn_info_get(fn, &info);
	if (info.device_id == LIQ_PCI_DEVICE_PF) {
		base = 4;
		w64(fn, LIQ_REG_RINFO + LIQ_MAC_PF(0, info.port),
		    liq_put(LIQ_RINFO_TRS, 8) | liq_put(LIQ_RINFO_RPVF, 2) |
			    liq_put(LIQ_RINFO_NVFS, 2));
	}
	good_ring(fn, base + q, mode);
	instr.ih3 = liq_put(LIQ_IH3_PKIND, 40) | liq_put(LIQ_IH3_FSZ, LIQ_FSZ_RESP);
	instr.irh = liq_put(LIQ_IRH_OPCODE, LIQ_OPCODE_NIC) |
		    liq_put(LIQ_IRH_SUBCODE, LIQ_FW_IF_CFG) | LIQ_IRH_RFLAG;
	instr.ossp[0] = liq_put(LIQ_IFREQ_NUM_IQ, 1) | liq_put(LIQ_IFREQ_NUM_OQ, 1 + (mode >> 6)) |
			liq_put(LIQ_IFREQ_BASE_QUEUE, base);
	instr.rdp = sizeof(struct liq_if_resp);
	instr.rptr = MEM_IOVA + AT_RESP;
	post(fn, base + q, &instr);
	instr.irh = liq_put(LIQ_IRH_OPCODE, LIQ_OPCODE_NIC) | liq_put(LIQ_IRH_SUBCODE, LIQ_FW_CMD);
	instr.ih3 |= liq_put(LIQ_IH3_DLENGSZ, 8);
	instr.dptr = MEM_IOVA + AT_DATA;
	liq_be64_store(mem + AT_DATA,
		       liq_put(LIQ_CMD_CMD, LIQ_CMD_RX_CTL) | liq_put(LIQ_CMD_PARAM1, 1));
	post(fn, base + q, &instr);
	if (!(mode & 4))
		return;
	liq_be64_store(mem + AT_DATA,
		       liq_put(LIQ_CMD_CMD, LIQ_CMD_DEVFLAGS) | liq_put(LIQ_CMD_PARAM1, 0x13));
	post(fn, base + q, &instr);
}

/* An instruction whose fields come from the input, in the place the card looks at next. */
static void
good_instr(struct liqm_fn *fn, unsigned int q, struct input *in, bool tame)
{
	struct liq_instr instr = {0};
	uint64_t sub = take(in, 1), len = take(in, 2);
	bool wants = take(in, 1) & 1;
	static const uint32_t rlens[] = {16, 24, 128, 424, 432, 472, 1064, 1112};

	/* packets and commands mostly, short ones mostly */
	sub = sub & 0x80 ? LIQ_FW_NW_DATA : sub & 0x40 ? LIQ_FW_CMD : sub % 0x24;
	len = len & 0x8000 ? len % 200 : len % 3000;
	instr.dptr = MEM_IOVA + AT_DATA;
	instr.ih3 = liq_put(LIQ_IH3_PKIND, 40) |
		    liq_put(LIQ_IH3_FSZ, wants ? LIQ_FSZ_RESP : LIQ_FSZ_PLAIN) |
		    liq_put(LIQ_IH3_DLENGSZ, len);
	instr.irh = liq_put(LIQ_IRH_OPCODE, LIQ_OPCODE_NIC) | liq_put(LIQ_IRH_SUBCODE, sub) |
		    (wants ? LIQ_IRH_RFLAG : 0);
	instr.rdp = rlens[take(in, 1) % 8];
	instr.rptr = MEM_IOVA + AT_RESP;
	if (sub == LIQ_FW_IF_CFG || sub == LIQ_FW_QCOUNT) {
		instr.ossp[0] = liq_put(LIQ_IFREQ_NUM_IQ, 1) | liq_put(LIQ_IFREQ_NUM_OQ, 1);
		instr.rdp = tame ? 1112 : instr.rdp;
	} else if (sub == LIQ_FW_NW_DATA) {
		instr.irh |= take(in, 1) & 0xF0;
		instr.irh |= liq_put(LIQ_IRH_VLAN, take(in, 1));
		instr.ossp[0] = liq_put(LIQ_TSO_MSS, take(in, 1) & 1 ? take(in, 2) : 0);
	} else if (sub == LIQ_FW_CMD) {
		liq_be64_store(mem + AT_DATA,
			       liq_put(LIQ_CMD_CMD, take(in, 1)) |
				       liq_put(LIQ_CMD_PARAM1, take(in, 1) & 1 ? take(in, 2) : 1) |
				       liq_put(LIQ_CMD_PARAM2, take(in, 1)) |
				       liq_put(LIQ_CMD_MORE, take(in, 1)));
	}
	if (!tame)
		((uint64_t *)&instr)[take(in, 1) % 8] ^= take(in, 8);
	post(fn, q, &instr);
}

/* A gather list of plausible and implausible pointers in front of a frame. */
static void
gather_instr(struct liqm_fn *fn, unsigned int q, struct input *in)
{
	struct liq_instr instr = {0};
	unsigned int n = (unsigned int)take(in, 1) % 70;

	for (unsigned int i = 0; i < n; i++) {
		struct liq_gather *entry = (struct liq_gather *)(void *)(mem + 0x38000) + i / 4;

		if (i % 4 == 0)
			entry->sizes = take(in, 8) & UINT64_C(0x0FFF0FFF0FFF0FFF);
		entry->ptr[i % 4] = MEM_IOVA + take(in, 2) * 4;
	}
	instr.dptr = MEM_IOVA + 0x38000;
	instr.ih3 = liq_put(LIQ_IH3_PKIND, 40) | liq_put(LIQ_IH3_FSZ, LIQ_FSZ_PLAIN) |
		    liq_put(LIQ_IH3_DLENGSZ, n) | LIQ_IH3_GATHER;
	instr.irh = liq_put(LIQ_IRH_OPCODE, LIQ_OPCODE_NIC) |
		    liq_put(LIQ_IRH_SUBCODE, LIQ_FW_NW_DATA) | (take(in, 1) & 0xF0);
	post(fn, q, &instr);
}

static void
put_frame(struct input *in, uint8_t *frame, uint32_t len)
{
	static const uint8_t head[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2, 2, 2, 2, 2, 2};
	static const uint16_t types[] = {0x0800, 0x86DD, 0x8100, 0x0806};
	uint16_t type = types[take(in, 1) % 4];

	memset(frame, 0, len);
	memcpy(frame, head, sizeof(head));
	frame[12] = (uint8_t)(type >> 8);
	frame[13] = (uint8_t)type;
	if (len > 54) {
		frame[14] = type == 0x86DD ? 0x60 : 0x45;
		frame[17] = (uint8_t)(len - 14);
		frame[16] = (uint8_t)((len - 14) >> 8);
		frame[23] = take(in, 1) & 1 ? 17 : 6;
		frame[20] = 17;
		frame[46] = 0x50;
	}
	for (uint32_t i = 0; i < 16 && in->at < in->end; i++)
		frame[take(in, 2) % len] ^= (uint8_t)take(in, 1);
}

/* ---- any step ---- */

static void
any_access(struct liqm_fn *fn, struct input *in)
{
	static const uint8_t lens[] = {1, 2, 4, 8, 8, 4, 3, 0};
	uint64_t how = take(in, 1), off, value;
	unsigned int len = lens[how >> 4 & 7], bar = how >> 2 & 3;

	bar = bar == 1 ? 2 : bar == 3 ? 4 : 0;
	off = take(in, 1);
	/* half of the accesses go to a ring register */
	off = off & 1 ? LIQ_RING((off >> 1) % 9) + (take(in, 1) % 0x44) * 8
		      : take(in, 4) % (9u << 20);
	value = how & 1 ? take(in, 8) : take(in, 2);
	if (how & 2)
		liqm_bar_write(fn, bar, off, value, len);
	else
		(void)liqm_bar_read(fn, bar, off, len);
}

static void
any_config(struct liqm_fn *fn, struct input *in)
{
	uint8_t bytes[16];
	uint32_t off = (uint32_t)take(in, 2) % 4200;
	size_t len = 1 + take(in, 1) % 16;

	liqm_cfg_read(fn, off, bytes, len);
	for (size_t i = 0; i < len; i++)
		bytes[i] ^= (uint8_t)take(in, 1);
	liqm_cfg_write(fn, off, bytes, len);
}

static void
any_fault(struct liqm_card *card, struct input *in)
{
	struct liqm_fault f = {
		.kind = (enum liqm_fault_kind)(take(in, 1) % (LIQM_N_FAULTS + 1)),
		.fn_index = LIQM_ANY,
		.ring = LIQM_ANY,
		.skip = (uint32_t)take(in, 1) % 8,
		.count = 1 + (uint32_t)take(in, 1) % 4,
		.arg = take(in, 8),
	};

	if (take(in, 1) % 4 != 0)
		liqm_fault_clear(card);
	else
		liqm_fault_add(card, &f);
}

static void
step(struct liqm_card *card, struct input *in)
{
	uint8_t what = (uint8_t)take(in, 1), who = (uint8_t)take(in, 1);
	struct liqm_fn *fn = liqm_card_fn(card, who % liqm_card_n_fns(card));
	unsigned int q = who >> 4 & 3;
	uint8_t mode;
	static uint8_t frame[LIQM_FRAME_MAX];
	uint32_t len;
	uint64_t words[34];

	switch (what % 16) {
	case 0:
	case 1:
	case 2:
		any_access(fn, in);
		break;
	case 3:
		any_config(fn, in);
		break;
	case 4:
		mode = (uint8_t)take(in, 1);
		if (mode & 2)
			good_up(fn, q, mode);
		else
			good_ring(fn, q, mode);
		break;
	case 5:
	case 6:
		good_instr(fn, q, in, true);
		break;
	case 7:
		good_instr(fn, q, in, false);
		break;
	case 8:
		gather_instr(fn, q, in);
		break;
	case 9:
	case 10:
		len = (uint32_t)take(in, 2) % (what & 0x10 ? LIQM_FRAME_MAX : 200) + 14;
		len = len < LIQM_FRAME_MAX ? len : LIQM_FRAME_MAX;
		put_frame(in, frame, len);
		if (what & 0x20)
			memcpy(mem + AT_DATA, frame, len); /* to be sent, not received */
		else
			liqm_wire_in(card, who % 2, frame, len);
		break;
	case 11:
		len = 1 + (uint32_t)take(in, 1) % 32;
		for (uint32_t at = (uint32_t)take(in, 4); len > 0; len--, at++)
			mem[at % MEM_BYTES] = (uint8_t)take(in, 1);
		break;
	case 12:
		denied[take(in, 1) % (MEM_BYTES / PAGE_BYTES)] =
			who & 8 ? (uint8_t)take(in, 1) & 3 : 0;
		liqm_fn_attach(fn, who >= 0xF8 ? NULL : &services);
		break;
	case 13:
		any_fault(card, in);
		break;
	case 14:
		liqm_card_advance(card, take(in, 4));
		if (who & 1)
			liqm_link_set(card, 0, who & 0x0E);
		break;
	default:
		if (who >= 0xC0) {
			liqm_fn_reset(fn, (enum liqm_reset)(who % 3));
			break;
		}
		if (who < 0x40) {
			static const uint64_t mail[] = {0x206, 0x100050001, 0x108, 0x723};

			w64(fn, LIQ_RING(0) + LIQ_REG_SIG1, mail[who % 4]);
			break;
		}
		for (unsigned int i = 0; i < 34; i++)
			words[i] = i < 2 ? take(in, 8) : i;
		liqm_vf_message(fn, words, who & 0x80 ? 2 : 1 + who % 34);
		break;
	}
}

static void
check(struct liqm_card *card)
{
	for (unsigned int i = 0; i < liqm_card_n_fns(card); i++) {
		struct liqm_fn *fn = liqm_card_fn(card, i);

		REQUIRE(liqm_counter(fn, LIQM_N_tx_bytes) >=
			60 * liqm_counter(fn, LIQM_N_tx_frames));
		REQUIRE(liqm_counter(fn, LIQM_N_responses) <= liqm_counter(fn, LIQM_N_instrs) + 1);
	}
	(void)liqm_card_next_ns(card);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct liqm_card_cfg cfg;
	struct liqm_card *card;
	uint8_t kind = (uint8_t)take(&in, 1);

	memset(mem, 0, sizeof(mem));
	memset(denied, 0, sizeof(denied));
	liqm_card_cfg_default(&cfg);
	cfg.n_pf = kind % 3;
	cfg.n_vf = 1 + (kind >> 2) % 2;
	cfg.rings_per_vf = 1 + (kind >> 3) % 4;
	cfg.keep_vlan = kind & 0x20;
	cfg.rst_at_flr = kind & 0x40;
	cfg.manual_step = kind >= 0xE0;
	if (liqm_card_create(&cfg, &card) < 0)
		return 0;
	for (unsigned int i = 0; i < liqm_card_n_fns(card); i++)
		liqm_fn_attach(liqm_card_fn(card, i), &services);
	the_card = card;
	liqm_wire_callback(card, 0, wire_out, NULL);
	for (unsigned int i = 0; i < MAX_STEPS && in.at < in.end; i++)
		step(card, &in);
	liqm_card_tick(card);
	check(card);
	liqm_card_destroy(card);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint64_t
next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int
replay(const char *path)
{
	static uint8_t data[1 << 16];
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	return LLVMFuzzerTestOneInput(data, n);
}

int
main(int argc, char **argv)
{
	static uint8_t data[8192];
	uint64_t runs = 100, seed = 1;
	bool verbose = false;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--verbose") == 0)
			verbose = true;
		else if (replay(argv[i]) != 0)
			return 1;
		else
			runs = 0;
	}
	for (uint64_t r = 0; r < runs; r++) {
		uint64_t state = (seed + r) * UINT64_C(0x9E3779B97F4A7C15) + 1;
		size_t n = 64 + next(&state) % (sizeof(data) - 64);

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)(next(&state) >> 24);
		if (verbose)
			fprintf(stderr, "--runs 1 --seed %" PRIu64 "\n", seed + r);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("%" PRIu64 " runs from seed %" PRIu64 ": %" PRIu64 " frames sent, %" PRIu64
	       " interrupts\n",
	       runs, seed, n_out, n_irq);
	return 0;
}

#endif
