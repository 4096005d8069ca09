/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A PCI function that is not there: its BAR0 is memory without permissions, each access traps and is
 * carried out on the device model. So a driver that was compiled for the real card, ours or another,
 * runs against the model in one process, without a bus, a kernel driver or a virtual machine.
 *
 * The registers of single rings can be made plain memory afterwards, for whoever wants to play the
 * device by hand and measure nothing but the driver. x86-64 Linux only; accesses as compilers make them
 * of rte_read32() and the like: moves of 4 or 8 bytes between a register (or a constant) and memory.
 */
#ifndef BENCH_TRAPBAR_H
#define BENCH_TRAPBAR_H

#include <stdint.h>

struct rte_pci_device;
struct trapbar;

/*
 * A VF of `rings` rings of a card of its own, of which every driver that registers with the PCI bus may be
 * probed by trapbar_probe(). name: as a PCI address. NULL: said why.
 */
struct trapbar *trapbar_create(const char *name, unsigned int rings);

/* Let the driver of this name (net_liovf, net_liq) probe it. The ethdev's number, or negative errno. */
int trapbar_probe(struct trapbar *t, const char *driver);

/*
 * From now on the registers of this ring are plain memory: reads give what was stored last. Returns the
 * address of register offset 0 of the ring.
 */
volatile uint8_t *trapbar_ring(struct trapbar *t, unsigned int ring);

/* What was last written to a 64-bit register while it trapped. */
uint64_t trapbar_written(const struct trapbar *t, uint32_t off);

#endif /* BENCH_TRAPBAR_H */
