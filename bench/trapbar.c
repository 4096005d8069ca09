/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See trapbar.h. The names of the PCI bus that drivers call (registration, config space) are defined here:
 * the program's own come before the library's.
 */
#include "trapbar.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <rte_spinlock.h>

#include "liq_regs.h"
#include "liq_sdk.h"
#include "liqm.h"

#define BAR_BYTES  (8u << 20)
#define MAX_BARS   4
#define MAX_DRIVER 64
#define PAGE       4096u

struct trapbar {
	struct rte_pci_device pci;
	struct liqm_card *card;
	struct liqm_fn *fn;
	uint8_t *bar;
	uint64_t *written; /* by 8 bytes of offset */
	rte_spinlock_t lock;
};

static struct trapbar *bars[MAX_BARS];
static unsigned int n_bars;
static struct rte_pci_driver *drivers[MAX_DRIVER];
static unsigned int n_drivers;

/* ---- the PCI bus, as far as drivers call it ---- */

void rte_pci_register(struct rte_pci_driver *driver);
void
rte_pci_register(struct rte_pci_driver *driver)
{
	if (n_drivers < MAX_DRIVER)
		drivers[n_drivers++] = driver;
}

void rte_pci_unregister(struct rte_pci_driver *driver);
void
rte_pci_unregister(struct rte_pci_driver *driver)
{
	(void)driver;
}

static struct trapbar *
bar_of(const struct rte_pci_device *pci)
{
	for (unsigned int i = 0; i < n_bars; i++)
		if (&bars[i]->pci == pci)
			return bars[i];
	return NULL;
}

int
rte_pci_read_config(const struct rte_pci_device *pci, void *buf, size_t len, off_t off)
{
	struct trapbar *t = bar_of(pci);

	if (t == NULL)
		return -1;
	liqm_cfg_read(t->fn, (uint32_t)off, buf, len);
	return (int)len;
}

int
rte_pci_write_config(const struct rte_pci_device *pci, const void *buf, size_t len, off_t off)
{
	struct trapbar *t = bar_of(pci);

	if (t == NULL)
		return -1;
	liqm_cfg_write(t->fn, (uint32_t)off, buf, len);
	return (int)len;
}

int
rte_pci_set_bus_master(struct rte_pci_device *pci, bool enable)
{
	uint16_t command;

	if (rte_pci_read_config(pci, &command, 2, 4) != 2)
		return -1;
	command = (uint16_t)(enable ? command | 4 : command & ~4);
	return rte_pci_write_config(pci, &command, 2, 4) == 2 ? 0 : -1;
}

/* ---- the trap ---- */

/* One move between memory and a register or constant. */
struct move {
	unsigned int bytes; /* of the instruction */
	unsigned int width; /* 4, 8 */
	bool store, constant;
	unsigned int reg;
	uint64_t value; /* a constant store's */
};

static bool
decode(const uint8_t *p, struct move *m)
{
	const uint8_t *start = p;
	uint8_t rex = 0, op, modrm;

	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	op = *p++;
	modrm = *p++;
	if (op != 0x8b && op != 0x89 && op != 0xc7)
		return false;
	if (modrm >> 6 == 3)
		return false;
	m->width = (rex & 8) != 0 ? 8 : 4;
	m->store = op != 0x8b;
	m->constant = op == 0xc7;
	m->reg = (unsigned int)(modrm >> 3 & 7) | (unsigned int)(rex & 4) << 1;
	if ((modrm & 7) == 4) {
		uint8_t sib = *p++;

		if (modrm >> 6 == 0 && (sib & 7) == 5)
			p += 4;
	} else if (modrm >> 6 == 0 && (modrm & 7) == 5) {
		p += 4;
	}
	p += modrm >> 6 == 1 ? 1 : modrm >> 6 == 2 ? 4 : 0;
	if (m->constant) {
		int32_t imm;

		memcpy(&imm, p, sizeof(imm));
		m->value = m->width == 8 ? (uint64_t)(int64_t)imm : (uint32_t)imm;
		p += 4;
	}
	m->bytes = (unsigned int)(p - start);
	return true;
}

/* Registers as an instruction numbers them. */
static const int reg_at[16] = {
	REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15,
};

static void
carry_out(struct trapbar *t, uint32_t off, const struct move *m, greg_t *regs)
{
	rte_spinlock_lock(&t->lock);
	if (m->store) {
		uint64_t value = m->constant ? m->value : (uint64_t)regs[reg_at[m->reg]];

		if (m->width == 4)
			value = (uint32_t)value;
		t->written[off / 8] = value;
		liqm_bar_write(t->fn, 0, off, value, m->width);
	} else {
		/* A load of 32 bits clears the rest, as the processor does. */
		regs[reg_at[m->reg]] = (greg_t)liqm_bar_read(t->fn, 0, off, m->width);
	}
	rte_spinlock_unlock(&t->lock);
}

static void
on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *regs = uc->uc_mcontext.gregs;
	const uint8_t *at = info->si_addr;
	struct move m;

	for (unsigned int i = 0; i < n_bars; i++) {
		struct trapbar *t = bars[i];

		if (at < t->bar || at >= t->bar + BAR_BYTES)
			continue;
		if (!decode((const uint8_t *)(uintptr_t)regs[REG_RIP], &m))
			break;
		carry_out(t, (uint32_t)(at - t->bar), &m, regs);
		regs[REG_RIP] += m.bytes;
		return;
	}
	fprintf(stderr,
		"trapbar: access to %p by an instruction that is not known here:", info->si_addr);
	for (unsigned int i = 0; i < 8; i++)
		fprintf(stderr, " %02x", ((const uint8_t *)(uintptr_t)regs[REG_RIP])[i]);
	fprintf(stderr, "\n");
	(void)sig;
	abort();
}

/* ---- the card ---- */

static uint64_t
clock_ns(void *ctx)
{
	struct timespec ts;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* I/O addresses are virtual ones here. */
static bool
dma_read(void *ctx, uint64_t iova, void *dst, size_t len)
{
	(void)ctx;
	memcpy(dst, (const void *)(uintptr_t)iova, len);
	return true;
}

static bool
dma_write(void *ctx, uint64_t iova, const void *src, size_t len)
{
	(void)ctx;
	memcpy((void *)(uintptr_t)iova, src, len);
	return true;
}

struct trapbar *
trapbar_create(const char *name, unsigned int rings)
{
	const struct liqm_fn_services svc = {.dma_read = dma_read, .dma_write = dma_write};
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
	struct trapbar *t = calloc(1, sizeof(*t));
	struct liqm_card_cfg cfg;

	if (t == NULL || n_bars == MAX_BARS)
		return NULL;
	liqm_card_cfg_default(&cfg);
	cfg.name = name;
	cfg.rings_per_vf = rings;
	cfg.svc.clock_ns = clock_ns;
	t->written = calloc(BAR_BYTES / 8, sizeof(*t->written));
	t->bar = mmap(NULL, BAR_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t->written == NULL || t->bar == MAP_FAILED || liqm_card_create(&cfg, &t->card) != 0 ||
	    sigaction(SIGSEGV, &sa, NULL) != 0) {
		fprintf(stderr, "trapbar: %s: no memory or no card\n", name);
		return NULL;
	}
	rte_spinlock_init(&t->lock);
	t->fn = liqm_card_vf(t->card, 0, 0);
	liqm_fn_attach(t->fn, &svc);
	snprintf(t->pci.name, sizeof(t->pci.name), "%s", name);
	t->pci.device.name = t->pci.name;
	t->pci.device.numa_node = 0;
	t->pci.id.vendor_id = LIQ_PCI_VENDOR;
	t->pci.id.device_id = LIQ_PCI_DEVICE_VF;
	t->pci.id.subsystem_vendor_id = LIQ_PCI_VENDOR;
	t->pci.id.subsystem_device_id = 4;
	t->pci.max_vfs = 0;
	t->pci.kdrv = RTE_PCI_KDRV_UIO_GENERIC;
	t->pci.mem_resource[0].addr = t->bar;
	t->pci.mem_resource[0].phys_addr = (uint64_t)(uintptr_t)t->bar;
	t->pci.mem_resource[0].len = BAR_BYTES;
	bars[n_bars++] = t;
	return t;
}

int
trapbar_probe(struct trapbar *t, const char *driver)
{
	for (unsigned int i = 0; i < n_drivers; i++) {
		uint16_t port;
		int ret;

		if (strcmp(drivers[i]->driver.name, driver) != 0)
			continue;
		t->pci.intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_SHARED);
		if (t->pci.intr_handle == NULL)
			return -ENOMEM;
		t->pci.driver = drivers[i];
		t->pci.device.driver = &drivers[i]->driver;
		ret = drivers[i]->probe(drivers[i], &t->pci);
		if (ret != 0)
			return ret < 0 ? ret : -EIO;
		return rte_eth_dev_get_port_by_name(t->pci.name, &port) == 0 ? (int)port : -ENODEV;
	}
	return -ENOENT;
}

volatile uint8_t *
trapbar_ring(struct trapbar *t, unsigned int ring)
{
	uint8_t *at = t->bar + LIQ_RING(ring);

	if (mprotect(at, PAGE, PROT_READ | PROT_WRITE) != 0)
		return NULL;
	return at;
}

uint64_t
trapbar_written(const struct trapbar *t, uint32_t off)
{
	return t->written[off / 8];
}
