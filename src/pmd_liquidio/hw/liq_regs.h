/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II (CN23XX) registers: identity, BARs, offsets, fields, and one table that says how
 * each register answers an access.
 *
 * Part of the hardware contract that the driver and the device model share: constants and
 * inline accessors, no state, nothing but <stdint.h>.  Sources of each fact:
 * docs/liquidio-hw.md.
 *
 * A field is written as "position, length", so that it is passed to liq_get() and liq_put() as
 * it stands: liq_get(w, LIQ_IN_CTL_RPVF).  Values are those of a CPU register, bit 0 lowest.
 */
#ifndef LIQ_REGS_H
#define LIQ_REGS_H

#include <stdint.h>

static inline uint64_t
liq_get(uint64_t word, unsigned int pos, unsigned int len)
{
	return (word >> pos) & (UINT64_MAX >> (64 - len));
}

/* The field's mask, in place. */
static inline uint64_t
liq_mask(unsigned int pos, unsigned int len)
{
	return (UINT64_MAX >> (64 - len)) << pos;
}

/* A word that holds only this field; excess bits of the value are cut off. */
static inline uint64_t
liq_put(unsigned int pos, unsigned int len, uint64_t value)
{
	return (value & (UINT64_MAX >> (64 - len))) << pos;
}

/* PCI identity. */
#define LIQ_PCI_VENDOR       0x177D
#define LIQ_PCI_DEVICE_PF    0x9702
#define LIQ_PCI_DEVICE_VF    0x9712
#define LIQ_PCI_REV_PASS_1_0 0x00
#define LIQ_PCI_REV_PASS_1_1 0x01
#define LIQ_PCI_REV_PASS_2_0 0x80
#define LIQ_PCI_SUBSYS_FIRST 0x0003
#define LIQ_PCI_SUBSYS_LAST  0x000B

/* Subsystem ids of 25G boards; the others are 10G. */
#define LIQ_PCI_SUBSYS_CN2360_225SV 0x0006
#define LIQ_PCI_SUBSYS_CN2350_225SV 0x0007

/* Config space. */
#define LIQ_CFG_REVISION       0x08
#define LIQ_CFG_MSIX           0x50
#define LIQ_CFG_PCIE           0x70
#define LIQ_CFG_DEVCTL         0x78
#define LIQ_CFG_DEVCTL_FATAL   0x00040000 /* DEVSTA: a fatal error was seen */
#define LIQ_CFG_DEVCTL_ERR_EN  0x0000000F
#define LIQ_CFG_AER            0x100
#define LIQ_CFG_AER_UNCOR_MASK 0x108
#define LIQ_CFG_AER_COR_STATUS 0x110
#define LIQ_CFG_ARI            0x148
#define LIQ_CFG_SRIOV          0x178
#define LIQ_CFG_SRIOV_FDL      0x188
#define LIQ_CFG_FDL_PF_NUM     16, 8

/* BARs, by PCI register; each is 64 bits wide and so takes two. */
#define LIQ_BAR_CSR  0 /* all registers below */
#define LIQ_BAR_DRAM 2 /* PF: windows into card memory */

#define LIQ_DRAM_WINDOW_SHIFT 22
#define LIQ_DRAM_N_WINDOWS    16

/* Limits. */
#define LIQ_PF_MAX_RINGS   64
#define LIQ_VF_MAX_RINGS   8
#define LIQ_PF_MAX_VFS     63
#define LIQ_RING_MIN_DESC  128
#define LIQ_RING_MAX_DESC  2048
#define LIQ_RING_ALIGN     128
#define LIQ_MSIX_N_VECTORS 0x41
#define LIQ_MTU_MIN        68
#define LIQ_MTU_MAX        16000
#define LIQ_FRAME_OVERHEAD 22    /* Ethernet and one VLAN tag; no FCS */
#define LIQ_OQ_PKT_MAX     65536 /* largest packet an output queue carries */

/* Per-ring registers, the same in PF and VF: LIQ_RING(q) + offset. */
#define LIQ_RING_BASE   0x10000u
#define LIQ_RING_STRIDE 0x20000u
#define LIQ_RING_SPAN   0x218u
#define LIQ_RING(q)     (LIQ_RING_BASE + (uint32_t)(q)*LIQ_RING_STRIDE)

#define LIQ_REG_IN_CTL    0x000 /* SLI_PKT_INPUT_CONTROL */
#define LIQ_REG_IN_BASE   0x010 /* SLI_PKT_INSTR_BADDR */
#define LIQ_REG_IN_DBELL  0x020 /* SLI_PKT_INSTR_BAOFF_DBELL */
#define LIQ_REG_IN_SIZE   0x030 /* SLI_PKT_INSTR_FIFO_RSIZE, entries */
#define LIQ_REG_IN_DONE   0x040 /* SLI_PKT_IN_DONE_CNTS */
#define LIQ_REG_OUT_CTL   0x050 /* SLI_PKT_OUTPUT_CONTROL */
#define LIQ_REG_OUT_BUF   0x060 /* SLI_PKT_OUT_SIZE */
#define LIQ_REG_OUT_BASE  0x070 /* SLI_PKT_SLIST_BADDR */
#define LIQ_REG_OUT_CRED  0x080 /* SLI_PKT_SLIST_BAOFF_DBELL */
#define LIQ_REG_OUT_SIZE  0x090 /* SLI_PKT_SLIST_FIFO_RSIZE, entries */
#define LIQ_REG_INT_LEV   0x0A0 /* SLI_PKT_INT_LEVELS */
#define LIQ_REG_CNTS      0x0B0 /* SLI_PKT_CNTS */
#define LIQ_REG_ERR_INFO  0x0C0 /* SLI_PKT_ERROR_INFO */
#define LIQ_REG_VF_INTSUM 0x0D0 /* SLI_PKT_VF_INT_SUM */
#define LIQ_REG_SIG0      0x200 /* SLI_PKT_PF_VF_MBOX_SIG(0): PF to VF */
#define LIQ_REG_SIG1      0x208 /* SLI_PKT_PF_VF_MBOX_SIG(1): VF to PF */
#define LIQ_REG_MBOX_INT  0x210 /* SLI_PKT_MBOX_INT, VF side */

/* IN_CTL: one bit each unless said. */
#define LIQ_IN_CTL_USE_CSR (UINT64_C(1) << 4)
#define LIQ_IN_CTL_DATA_ES (UINT64_C(1) << 6) /* 64-bit swap of control data */
#define LIQ_IN_CTL_ENB     (UINT64_C(1) << 22)
#define LIQ_IN_CTL_RST     (UINT64_C(1) << 23)
#define LIQ_IN_CTL_IS_64B  (UINT64_C(1) << 24)
#define LIQ_IN_CTL_QUIET   (UINT64_C(1) << 28)
#define LIQ_IN_CTL_MODE_LE UINT64_C(0x06000050) /* RDSIZE 3, DATA_ES, USE_CSR */
#define LIQ_IN_CTL_RDSIZE  25, 2
#define LIQ_IN_CTL_MAC_NUM 29, 2
#define LIQ_IN_CTL_VF_NUM  32, 13 /* 0: the PF's own */
#define LIQ_IN_CTL_PF_NUM  45, 3
#define LIQ_IN_CTL_RPVF    48, 6

/* Doorbell and credits: this value clears, every other is added. */
#define LIQ_DBELL_CLEAR UINT32_C(0xFFFFFFFF)

/* IN_DONE and CNTS: low half is a running count, a write subtracts. */
#define LIQ_IN_DONE_WMARK    32, 16
#define LIQ_IN_DONE_CINT_ENB (UINT64_C(1) << 48)
#define LIQ_CNTS_RESEND      (UINT64_C(1) << 60) /* in both registers */
#define LIQ_CNTS_MBOX_INT    (UINT64_C(1) << 61)
#define LIQ_CNTS_PI_INT      (UINT64_C(1) << 62) /* in both registers */
#define LIQ_CNTS_PO_INT      (UINT64_C(1) << 63)

#define LIQ_OUT_CTL_ENB    (1u << 0)
#define LIQ_OUT_CTL_ROR_P  (1u << 1)
#define LIQ_OUT_CTL_NSR_P  (1u << 2)
#define LIQ_OUT_CTL_ES_P   (1u << 3)
#define LIQ_OUT_CTL_BMODE  (1u << 5)
#define LIQ_OUT_CTL_DPTR   (1u << 6)
#define LIQ_OUT_CTL_ROR    (1u << 7)
#define LIQ_OUT_CTL_NSR    (1u << 8)
#define LIQ_OUT_CTL_ES     (1u << 9)
#define LIQ_OUT_CTL_IPTR   (1u << 11)
#define LIQ_OUT_CTL_CENB   (1u << 12)
#define LIQ_OUT_CTL_TENB   (1u << 13)
#define LIQ_OUT_CTL_BUF_LE 0x240u /* buffer-pointer mode, little-endian host */
#define LIQ_OUT_CTL_INF_LE 0xA40u /* info-pointer mode, little-endian host */

#define LIQ_OUT_BUF_BSIZE 0, 16
#define LIQ_OUT_BUF_ISIZE 16, 7

#define LIQ_INT_LEV_CNT  0, 32
#define LIQ_INT_LEV_TIME 32, 22 /* units of 1024 coprocessor clocks */
#define LIQ_INT_LEV_OFF  UINT64_C(0x3FFFFFFFFFFFFF)

#define LIQ_MBOX_INT_ENB  (UINT64_C(1) << 0)
#define LIQ_MBOX_INT_PEND (UINT64_C(1) << 1) /* position is the model's choice */

/* Global registers, PF only. */
#define LIQ_REG_WIN_WR_ADDR  0x20000
#define LIQ_REG_WIN_RD_ADDR  0x20010
#define LIQ_REG_WIN_WR_DATA  0x20020
#define LIQ_REG_WIN_WR_MASK  0x20030
#define LIQ_REG_WIN_RD_DATA  0x20040
#define LIQ_REG_MAC_NUMBER   0x20050
#define LIQ_REG_MAC_CREDIT   0x23D70
#define LIQ_REG_S2M_PORT_CTL 0x23D80
#define LIQ_REG_INT_SUM      0x27000
#define LIQ_REG_INT_ENB      0x27080
#define LIQ_REG_PP_VF_INT    0x27200
#define LIQ_REG_PKT_VF_INT   0x27300
#define LIQ_REG_PF_MBOX_INT  0x27380
#define LIQ_REG_WINDOW_CTL   0x282E0
#define LIQ_REG_SCRATCH1     0x283C0
#define LIQ_REG_SCRATCH2     0x283D0
#define LIQ_REG_DMA_INT_LEV  0x283E0
#define LIQ_REG_DMA_CNT      0x28400
#define LIQ_REG_DMA_TIM      0x28420
#define LIQ_REG_CTL_STATUS   0x28570
#define LIQ_REG_CTL_PORT     0x286E0
#define LIQ_REG_RINFO        0x29030
#define LIQ_REG_PKT_MEM_CTL  0x29120
#define LIQ_REG_PKT_CNT_INT  0x29130
#define LIQ_REG_PKT_TIME_INT 0x29140
#define LIQ_REG_PKT_INT      0x29160
#define LIQ_REG_IN_JABBER    0x29170
#define LIQ_REG_OQ_WMARK     0x29180
#define LIQ_REG_RING_RST     0x291E0
#define LIQ_REG_GBL_CONTROL  0x29210
#define LIQ_REG_BIST_STATUS  0x29220
#define LIQ_REG_BP_EN_W1S    0x29260
#define LIQ_REG_BP_EN2_W1S   0x29270
#define LIQ_REG_BP_EN_W1C    0x29280
#define LIQ_REG_BP_EN2_W1C   0x29290

/* Offset of a register that exists once per PCIe MAC and PF. */
#define LIQ_MAC_PF(mac, pf) (0x20u * (uint32_t)(mac) + 0x10u * (uint32_t)(pf))

#define LIQ_RINFO_SRN  0, 7
#define LIQ_RINFO_TRS  16, 8
#define LIQ_RINFO_RPVF 32, 8
#define LIQ_RINFO_NVFS 48, 8

#define LIQ_INT_MIO       (UINT64_C(1) << 1)
#define LIQ_INT_PKT_COUNT (UINT64_C(1) << 4)
#define LIQ_INT_PKT_TIME  (UINT64_C(1) << 5)
#define LIQ_INT_VF_MBOX   (UINT64_C(1) << 57)
#define LIQ_INT_DMAVF_ERR (UINT64_C(1) << 58)
#define LIQ_INT_DMAPF_ERR (UINT64_C(1) << 59)
#define LIQ_INT_PKTVF_ERR (UINT64_C(1) << 60)
#define LIQ_INT_PKTPF_ERR (UINT64_C(1) << 61)

#define LIQ_MAC_CREDIT_INIT   UINT64_C(0x003F802080802080)
#define LIQ_SCRATCH1_RESET    UINT64_C(0x1234) /* written before, 0 after a chip reset */
#define LIQ_SCRATCH2_LOADED   (UINT64_C(1) << 63)
#define LIQ_SCRATCH2_RELOADED (UINT64_C(1) << 62)
#define LIQ_SCRATCH2_CRASHED  0, 16
#define LIQ_WINDOW_CTL_TMO    UINT64_C(0x200000)
#define LIQ_IN_JABBER_RESET   UINT64_C(0xFA00)
#define LIQ_IN_JABBER_MAX     UINT64_C(64600)
#define LIQ_OQ_WMARK_DEFAULT  UINT64_C(0x40)
#define LIQ_GBL_NOPTR_D       (UINT64_C(1) << 1)

/* Chip registers behind the PF's access window. */
#define LIQ_WIN_RD_HI_FLAG   0x00060000u /* or-ed into the high half of read addresses */
#define LIQ_WIN_RST_BOOT     UINT64_C(0x0001180006001600)
#define LIQ_WIN_RST_BOOT_MUL 24, 6 /* coprocessor clock in units of 50 MHz */
#define LIQ_WIN_RST_SOFT     UINT64_C(0x0001180006001680)
#define LIQ_WIN_LMC0_RESET   UINT64_C(0x0001180088000180)
#define LIQ_WIN_BAR1_INDEX(p, i)                                                                   \
	(UINT64_C(0x00011800C0000100) + ((uint64_t)(p) << 24) + ((uint64_t)(i) << 3))
#define LIQ_BAR1_INDEX_VALID UINT64_C(1)
#define LIQ_BAR1_INDEX_ADDR  4, 20 /* card address bits 41:22 */

/*
 * How a register answers.  The model is driven by this table, the driver's register dump and
 * the access log take their names from it.
 */
enum liq_access {
	LIQ_ACC_RW,  /* plain storage */
	LIQ_ACC_RO,  /* writes are ignored */
	LIQ_ACC_CTL, /* storage with bits that are read-only, sticky or change by themselves */
	LIQ_ACC_ADD, /* a write adds, all ones clears */
	LIQ_ACC_SUB, /* a write subtracts from the low half; the high half is configuration */
	LIQ_ACC_W1C, /* a write clears the bits given */
	LIQ_ACC_W1S, /* a write sets the bits given */
	LIQ_ACC_CMD, /* a write has an effect elsewhere */
};

/* X(name, offset, bytes, access) */
/* clang-format off */
#define LIQ_RING_REG_TABLE(X)			\
	X(IN_CTL,	LIQ_REG_IN_CTL,		8, CTL)	\
	X(IN_BASE,	LIQ_REG_IN_BASE,	8, RW)	\
	X(IN_DBELL,	LIQ_REG_IN_DBELL,	8, ADD)	\
	X(IN_SIZE,	LIQ_REG_IN_SIZE,	4, RW)	\
	X(IN_DONE,	LIQ_REG_IN_DONE,	8, SUB)	\
	X(OUT_CTL,	LIQ_REG_OUT_CTL,	4, CTL)	\
	X(OUT_BUF,	LIQ_REG_OUT_BUF,	4, RW)	\
	X(OUT_BASE,	LIQ_REG_OUT_BASE,	8, RW)	\
	X(OUT_CRED,	LIQ_REG_OUT_CRED,	8, ADD)	\
	X(OUT_SIZE,	LIQ_REG_OUT_SIZE,	4, RW)	\
	X(INT_LEV,	LIQ_REG_INT_LEV,	8, RW)	\
	X(CNTS,		LIQ_REG_CNTS,		8, SUB)	\
	X(ERR_INFO,	LIQ_REG_ERR_INFO,	8, RO)	\
	X(VF_INTSUM,	LIQ_REG_VF_INTSUM,	8, RO)	\
	X(SIG0,		LIQ_REG_SIG0,		8, CMD)	\
	X(SIG1,		LIQ_REG_SIG1,		8, CMD)	\
	X(MBOX_INT,	LIQ_REG_MBOX_INT,	8, W1C)

/* X(name, offset, bytes, access, count, stride, value after reset) */
#define LIQ_GLOBAL_REG_TABLE(X)							\
	X(WIN_WR_ADDR,	LIQ_REG_WIN_WR_ADDR,	8, RW,	1, 0, 0)		\
	X(WIN_RD_ADDR,	LIQ_REG_WIN_RD_ADDR,	8, CMD,	1, 0, 0)		\
	X(WIN_WR_DATA,	LIQ_REG_WIN_WR_DATA,	8, CMD,	1, 0, 0)		\
	X(WIN_WR_MASK,	LIQ_REG_WIN_WR_MASK,	8, RW,	1, 0, 0)		\
	X(WIN_RD_DATA,	LIQ_REG_WIN_RD_DATA,	8, RO,	1, 0, 0)		\
	X(MAC_NUMBER,	LIQ_REG_MAC_NUMBER,	8, RO,	1, 0, 0)		\
	X(MAC_CREDIT,	LIQ_REG_MAC_CREDIT,	8, RW,	1, 0, 0)		\
	X(S2M_PORT_CTL,	LIQ_REG_S2M_PORT_CTL,	8, RW,	4, 0x10, 0)		\
	X(INT_SUM,	LIQ_REG_INT_SUM,	8, W1C,	8, 0x10, 0)		\
	X(INT_ENB,	LIQ_REG_INT_ENB,	8, RW,	8, 0x10, 0)		\
	X(PP_VF_INT,	LIQ_REG_PP_VF_INT,	8, RO,	8, 0x10, 0)		\
	X(PKT_VF_INT,	LIQ_REG_PKT_VF_INT,	8, RO,	8, 0x10, 0)		\
	X(PF_MBOX_INT,	LIQ_REG_PF_MBOX_INT,	8, W1C,	8, 0x10, 0)		\
	X(WINDOW_CTL,	LIQ_REG_WINDOW_CTL,	8, RW,	1, 0, 0)		\
	X(SCRATCH1,	LIQ_REG_SCRATCH1,	8, CMD,	1, 0, 0)		\
	X(SCRATCH2,	LIQ_REG_SCRATCH2,	8, CMD,	1, 0, 0)		\
	X(DMA_INT_LEV,	LIQ_REG_DMA_INT_LEV,	8, RW,	2, 0x10, 0)		\
	X(DMA_CNT,	LIQ_REG_DMA_CNT,	8, RW,	2, 0x10, 0)		\
	X(DMA_TIM,	LIQ_REG_DMA_TIM,	8, RW,	2, 0x10, 0)		\
	X(CTL_STATUS,	LIQ_REG_CTL_STATUS,	8, RW,	1, 0, 0)		\
	X(CTL_PORT,	LIQ_REG_CTL_PORT,	8, RW,	4, 0x10, 0)		\
	X(RINFO,	LIQ_REG_RINFO,		8, CMD,	8, 0x10, 0)		\
	X(PKT_MEM_CTL,	LIQ_REG_PKT_MEM_CTL,	8, RW,	1, 0, 0)		\
	X(PKT_CNT_INT,	LIQ_REG_PKT_CNT_INT,	8, RO,	1, 0, 0)		\
	X(PKT_TIME_INT,	LIQ_REG_PKT_TIME_INT,	8, RO,	1, 0, 0)		\
	X(PKT_INT,	LIQ_REG_PKT_INT,	8, RO,	1, 0, 0)		\
	X(IN_JABBER,	LIQ_REG_IN_JABBER,	8, RW,	1, 0, LIQ_IN_JABBER_RESET)	\
	X(OQ_WMARK,	LIQ_REG_OQ_WMARK,	8, RW,	1, 0, 0)		\
	X(RING_RST,	LIQ_REG_RING_RST,	8, RO,	1, 0, 0)		\
	X(GBL_CONTROL,	LIQ_REG_GBL_CONTROL,	8, RW,	1, 0, 0)		\
	X(BIST_STATUS,	LIQ_REG_BIST_STATUS,	8, RO,	1, 0, 0)		\
	X(BP_EN_W1S,	LIQ_REG_BP_EN_W1S,	8, W1S,	1, 0, 0)		\
	X(BP_EN2_W1S,	LIQ_REG_BP_EN2_W1S,	8, W1S,	1, 0, 0)		\
	X(BP_EN_W1C,	LIQ_REG_BP_EN_W1C,	8, W1C,	1, 0, 0)		\
	X(BP_EN2_W1C,	LIQ_REG_BP_EN2_W1C,	8, W1C,	1, 0, 0)
/* clang-format on */

#endif /* LIQ_REGS_H */
