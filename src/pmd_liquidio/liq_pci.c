/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver on PCI: probe and remove of 177d:9712 (VF) and 177d:9702 (PF), and what the register
 * seam needs of PCI.  Driver name net_liq; the DPDK of some distributions brings net_liovf for the
 * same VF: docs/nics/liquidio.md says who wins.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_kvargs.h>

#include "liq_ethdev.h"
#include "liq_sdk.h"

#define CFG_HEADER_BYTES 64u
#define CFG_COMMAND      0x04u
#define PCIE_CAP_ID      0x10u
#define PCIE_DEVCAP      0x04u /* in the capability */
#define PCIE_DEVCTL      0x08u
#define DEVCAP_FLR       (UINT32_C(1) << 28)
#define DEVCTL_FLR       (UINT32_C(1) << 15)
#define FLR_SETTLE_NS    (100 * WEIR_NS_PER_MS)
#define FLR_WAIT_NS      (1 * WEIR_NS_PER_S)
#define VF_BAR_MIN       (LIQ_RING_BASE + LIQ_RING_SPAN)

struct pci_fn {
	struct rte_pci_device *pci;
	bool fresh; /* the kernel has just reset it */
};

static int
cfg_read(void *ctx, uint32_t off, uint32_t *value, unsigned int len)
{
	const struct pci_fn *fn = ctx;

	*value = 0;
	return rte_pci_read_config(fn->pci, value, len, (off_t)off) == (int)len ? 0 : -EIO;
}

static int
cfg_write(void *ctx, uint32_t off, uint32_t value, unsigned int len)
{
	const struct pci_fn *fn = ctx;

	return rte_pci_write_config(fn->pci, &value, len, (off_t)off) == (int)len ? 0 : -EIO;
}

static int
set_dma(void *ctx, bool on)
{
	const struct pci_fn *fn = ctx;

	return rte_pci_set_bus_master(fn->pci, on) == 0 ? 0 : -EIO;
}

static void
idle(void *ctx, uint64_t waited_ns)
{
	(void)ctx;
	if (waited_ns > 10 * WEIR_NS_PER_US)
		rte_delay_us_sleep(waited_ns > WEIR_NS_PER_MS ? 200 : 10);
}

static bool
has_flr(struct pci_fn *fn)
{
	uint32_t id = 0, cap = 0;

	return cfg_read(fn, LIQ_CFG_PCIE, &id, 1) == 0 && id == PCIE_CAP_ID &&
	       cfg_read(fn, LIQ_CFG_PCIE + PCIE_DEVCAP, &cap, 4) == 0 && (cap & DEVCAP_FLR);
}

static const struct liq_io_ops pci_ops;

/* With vfio the kernel carries it out and keeps config space; else we do. */
static int
flr(void *ctx)
{
	struct pci_fn *fn = ctx;
	struct liq_io io = {.ops = &pci_ops, .ctx = ctx};
	struct liq_wait settle = liq_wait_for(&io, FLR_SETTLE_NS);
	struct liq_wait w = liq_wait_for(&io, FLR_WAIT_NS);
	uint32_t header[CFG_HEADER_BYTES / 4], ctl, id = UINT32_MAX;

	if (fn->fresh) {
		fn->fresh = false;
		return 0;
	}
	if (!has_flr(fn))
		return -ENOTSUP;
	for (uint32_t i = 0; i < RTE_DIM(header); i++)
		if (cfg_read(ctx, 4 * i, &header[i], 4) < 0)
			return -EIO;
	if (cfg_read(ctx, LIQ_CFG_PCIE + PCIE_DEVCTL, &ctl, 2) < 0 ||
	    cfg_write(ctx, CFG_COMMAND, 0, 2) < 0 ||
	    cfg_write(ctx, LIQ_CFG_PCIE + PCIE_DEVCTL, ctl | DEVCTL_FLR, 2) < 0)
		return -EIO;
	while (liq_wait(&settle))
		;
	while (cfg_read(ctx, 0, &id, 4) < 0 || id != header[0])
		if (!liq_wait(&w))
			return -ETIMEDOUT;
	cfg_write(ctx, LIQ_CFG_PCIE + PCIE_DEVCTL, ctl, 2);
	/* from the end, so that the command register comes after the addresses */
	for (uint32_t i = RTE_DIM(header); i-- > 1;)
		cfg_write(ctx, 4 * i, header[i], 4);
	return 0;
}

static void
close_fn(void *ctx)
{
	free(ctx);
}

static const struct liq_io_ops pci_ops = {
	.cfg_read = cfg_read,
	.cfg_write = cfg_write,
	.set_dma = set_dma,
	.flr = flr,
	.idle = idle,
	.close = close_fn,
};

/* ---- arguments ---- */

struct pci_args {
	unsigned int queues, vfs, vf_queues;
};

static int
take_number(const char *key, const char *value, void *out)
{
	char *end;
	unsigned long n = strtoul(value ? value : "", &end, 10);

	if (!value || end == value || *end != '\0' || n > LIQ_PF_MAX_RINGS) {
		LIQ_LOG(ERR, "%s=%s: allowed: 0 to %d", key, value ? value : "", LIQ_PF_MAX_RINGS);
		return -EINVAL;
	}
	*(unsigned int *)out = (unsigned int)n;
	return 0;
}

static int
take_args(const struct rte_devargs *devargs, bool is_pf, struct pci_args *args)
{
	static const char *const pf_keys[] = {"driver", "queues", "vfs", "vf_queues", NULL};
	static const char *const vf_keys[] = {"driver", NULL};
	struct rte_kvargs *kv;
	int ret = 0;

	memset(args, 0, sizeof(*args));
	if (!devargs || !devargs->args || devargs->args[0] == '\0')
		return 0;
	kv = rte_kvargs_parse(devargs->args, is_pf ? pf_keys : vf_keys);
	if (!kv) {
		LIQ_LOG(ERR, "%s: allowed: %s", devargs->args,
			is_pf ? "driver=NAME, queues=N, vfs=N, vf_queues=N" : "driver=NAME");
		return -EINVAL;
	}
	if (rte_kvargs_process(kv, "queues", take_number, &args->queues) < 0 ||
	    rte_kvargs_process(kv, "vfs", take_number, &args->vfs) < 0 ||
	    rte_kvargs_process(kv, "vf_queues", take_number, &args->vf_queues) < 0)
		ret = -EINVAL;
	rte_kvargs_free(kv);
	return ret;
}

static int
is_ours(const char *key, const char *value, void *ours)
{
	(void)key;
	*(bool *)ours = value && strcmp(value, LIQ_DRIVER_PCI) == 0;
	return 0;
}

/* driver=NAME of another driver: the device is left to it. */
static bool
is_for_another(const struct rte_devargs *devargs)
{
	struct rte_kvargs *kv = NULL;
	bool ours = true;

	if (devargs && devargs->args)
		kv = rte_kvargs_parse(devargs->args, NULL);
	if (kv)
		rte_kvargs_process(kv, "driver", is_ours, &ours);
	rte_kvargs_free(kv);
	return !ours;
}

/* ---- probe ---- */

/* 0: an id that is not known; both speeds are then said to be possible. */
static unsigned int
speed_of(uint16_t subsys_id)
{
	if (subsys_id < LIQ_PCI_SUBSYS_FIRST || subsys_id > LIQ_PCI_SUBSYS_LAST)
		return 0;
	return subsys_id == LIQ_PCI_SUBSYS_CN2360_225SV || subsys_id == LIQ_PCI_SUBSYS_CN2350_225SV
		       ? RTE_ETH_SPEED_NUM_25G
		       : RTE_ETH_SPEED_NUM_10G;
}

static int
init_primary(struct rte_eth_dev *eth_dev)
{
	struct rte_pci_device *pci = RTE_DEV_TO_PCI(eth_dev->device);
	struct liq_dev *dev = eth_dev->data->dev_private;
	bool is_pf = pci->id.device_id == LIQ_PCI_DEVICE_PF;
	struct pci_args args;
	struct pci_fn *fn;
	int ret = take_args(pci->device.devargs, is_pf, &args);

	if (ret < 0)
		return ret;
	if (!pci->mem_resource[LIQ_BAR_CSR].addr ||
	    pci->mem_resource[LIQ_BAR_CSR].len < VF_BAR_MIN) {
		LIQ_LOG(ERR, "%s: BAR0 is not mapped, or too short", pci->name);
		return -ENODEV;
	}
	fn = calloc(1, sizeof(*fn));
	if (!fn)
		return -ENOMEM;
	fn->pci = pci;
	fn->fresh = pci->kdrv == RTE_PCI_KDRV_VFIO;
	dev->io = (struct liq_io){
		.bar0 = pci->mem_resource[LIQ_BAR_CSR].addr,
		.ops = &pci_ops,
		.ctx = fn,
	};
	dev->fn = is_pf ? &liq_pf_ops : &liq_vf_ops;
	dev->bus = pci->name;
	dev->want_rings = args.queues;
	if (is_pf) {
		dev->pf.n_vfs = args.vfs;
		dev->pf.rings_per_vf = args.vf_queues;
	}
	dev->speed_mbps = speed_of(pci->id.subsystem_device_id);
	set_dma(fn, true);
	ret = liq_ethdev_init(eth_dev);
	if (ret < 0)
		free(fn);
	return ret;
}

static int
init(struct rte_eth_dev *eth_dev)
{
	const struct liq_dev *dev = eth_dev->data->dev_private;

	if (rte_eal_process_type() == RTE_PROC_PRIMARY)
		return init_primary(eth_dev);
	/* BARs are mapped at the addresses of the primary */
	liq_ethdev_attach(eth_dev, dev->io.bar0 != NULL);
	return 0;
}

static int
probe(struct rte_pci_driver *driver, struct rte_pci_device *pci)
{
	(void)driver;
	/* a positive answer lets the bus ask the next driver */
	if (is_for_another(pci->device.devargs)) {
		LIQ_LOG(INFO, "%s: left to another driver, as asked", pci->name);
		return 1;
	}
	return rte_eth_dev_pci_generic_probe(pci, sizeof(struct liq_dev), init);
}

static int
uninit(struct rte_eth_dev *eth_dev)
{
	return rte_eth_dev_close(eth_dev->data->port_id);
}

static int
remove_fn(struct rte_pci_device *pci)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(pci->device.name);

	/* closing releases the port too */
	return eth_dev && eth_dev->state != RTE_ETH_DEV_UNUSED ? uninit(eth_dev) : 0;
}

static const struct rte_pci_id ids[] = {
	{RTE_PCI_DEVICE(LIQ_PCI_VENDOR, LIQ_PCI_DEVICE_VF)},
	{RTE_PCI_DEVICE(LIQ_PCI_VENDOR, LIQ_PCI_DEVICE_PF)},
	{.vendor_id = 0},
};

static struct rte_pci_driver liq_pci_driver = {
	.id_table = ids,
	.drv_flags = RTE_PCI_DRV_NEED_MAPPING,
	.probe = probe,
	.remove = remove_fn,
};

RTE_PMD_REGISTER_PCI(net_liq, liq_pci_driver);
RTE_PMD_REGISTER_PCI_TABLE(net_liq, ids);
RTE_PMD_REGISTER_KMOD_DEP(net_liq, "* vfio-pci | uio_pci_generic | igb_uio");
RTE_PMD_REGISTER_PARAM_STRING(net_liq, "driver=<name> queues=<1-64> vfs=<0-63> vf_queues=<1-8>");
