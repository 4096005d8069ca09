/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_liq_sim: the driver over the device model, as a virtual device.
 *
 *	--vdev=net_liq_sim0[,role=vf|pf][,queues=N][,card=NAME][,vfs=N][,drive=thread|async|service|inline]
 *	      [,wire=none|loop|pair:NAME|port:ETHDEV][,rate=BITS][,loss=P][,dup=P][,reorder=P]
 *	      [,corrupt=P][,seed=N]
 *
 * Each key is checked; one that is wrong, unknown or given twice is refused with what is allowed.
 * The card lives in the primary process: a secondary gets counters and information only.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_kvargs.h>

#include "liq_ethdev.h"
#include "liq_sdk.h"
#include "liq_sim.h"

/* ---- arguments ---- */

static bool
take_uint(const char *value, unsigned long long max, unsigned long long *out)
{
	char *end;

	if (value[0] < '0' || value[0] > '9')
		return false;
	errno = 0;
	*out = strtoull(value, &end, 0);
	return errno == 0 && *end == '\0' && *out <= max;
}

/* Bits per second, with k, m or g; 0: unlimited. */
static bool
take_rate(const char *value, uint64_t *out)
{
	char *end;
	double n;

	if ((value[0] < '0' || value[0] > '9') && value[0] != '.')
		return false;
	n = strtod(value, &end);
	if (*end == 'k' || *end == 'K')
		n *= 1e3, end++;
	else if (*end == 'm' || *end == 'M')
		n *= 1e6, end++;
	else if (*end == 'g' || *end == 'G')
		n *= 1e9, end++;
	if (*end != '\0' || !(n >= 0 && n <= 1e12) || (n > 0 && n < 1000))
		return false;
	*out = (uint64_t)n;
	return true;
}

/* A probability: 0 to 1, or per cent. */
static bool
take_chance(const char *value, uint32_t *out_ppm)
{
	char *end;
	double p;

	if ((value[0] < '0' || value[0] > '9') && value[0] != '.')
		return false;
	p = strtod(value, &end);
	if (*end == '%')
		p /= 100, end++;
	if (*end != '\0' || !(p >= 0 && p <= 1))
		return false;
	*out_ppm = (uint32_t)lround(p * 1e6);
	return true;
}

static bool
take_name(const char *value, char name[LIQ_SIM_NAME_SIZE])
{
	size_t len = strlen(value);

	if (len == 0 || len >= LIQ_SIM_NAME_SIZE)
		return false;
	memcpy(name, value, len + 1);
	return true;
}

static bool
take_wire(const char *value, struct liq_sim_cfg *cfg)
{
	if (strcmp(value, "none") == 0)
		cfg->wire = LIQ_SIM_NONE;
	else if (strcmp(value, "loop") == 0)
		cfg->wire = LIQ_SIM_LOOP;
	else if (strncmp(value, "pair:", 5) == 0 && take_name(value + 5, cfg->wire_name))
		cfg->wire = LIQ_SIM_PAIR;
	else if (strncmp(value, "port:", 5) == 0 && take_name(value + 5, cfg->wire_name))
		cfg->wire = LIQ_SIM_PORT;
	else
		return false;
	return true;
}

static bool
take_drive(const char *value, enum liq_sim_drive *out)
{
	static const char *const names[] = {
		[LIQ_SIM_THREAD] = "thread",
		[LIQ_SIM_ASYNC] = "async",
		[LIQ_SIM_SERVICE] = "service",
		[LIQ_SIM_INLINE] = "inline",
	};

	for (size_t i = 0; i < RTE_DIM(names); i++)
		if (strcmp(value, names[i]) == 0) {
			*out = (enum liq_sim_drive)i;
			return true;
		}
	return false;
}

enum key { ROLE, QUEUES, CARD, VFS, DRIVE, WIRE, RATE, LOSS, DUP, REORDER, CORRUPT, SEED, N_KEYS };

static const struct {
	const char *name;
	const char *allowed;
	bool shared; /* of the whole card */
} keys[N_KEYS] = {
	[ROLE] = {"role", "vf or pf", false},
	[QUEUES] = {"queues", "1 to 8 on a VF, 1 to 64 on a PF", false},
	[CARD] = {"card", "a name of 1 to 63 characters", false},
	[VFS] = {"vfs", "0 to 7, on a PF", false},
	[DRIVE] = {"drive", "thread, async, service or inline", true},
	[WIRE] = {"wire", "none, loop, pair:NAME or port:ETHDEV", true},
	[RATE] = {"rate", "bits per second from 1k to 1000g, 0: unlimited", true},
	[LOSS] = {"loss", "0 to 1, or 0% to 100%", true},
	[DUP] = {"dup", "0 to 1, or 0% to 100%", true},
	[REORDER] = {"reorder", "0 to 1, or 0% to 100%", true},
	[CORRUPT] = {"corrupt", "0 to 1, or 0% to 100%", true},
	[SEED] = {"seed", "a number", true},
};

static bool
take_key(enum key key, const char *value, struct liq_sim_cfg *cfg)
{
	unsigned long long n = 0;
	bool good;

	switch (key) {
	case ROLE:
		cfg->is_pf = strcmp(value, "pf") == 0;
		return cfg->is_pf || strcmp(value, "vf") == 0;
	case QUEUES:
		good = take_uint(value, LIQ_PF_MAX_RINGS, &n) && n != 0;
		cfg->queues = (unsigned int)n;
		return good;
	case CARD:
		return take_name(value, cfg->card);
	case VFS:
		good = take_uint(value, LIQ_SIM_MAX_VFS, &n);
		cfg->vfs = (unsigned int)n;
		return good;
	case DRIVE:
		return take_drive(value, &cfg->drive);
	case WIRE:
		return take_wire(value, cfg);
	case RATE:
		return take_rate(value, &cfg->cable.rate_bps);
	case LOSS:
		return take_chance(value, &cfg->cable.loss_ppm);
	case DUP:
		return take_chance(value, &cfg->cable.dup_ppm);
	case REORDER:
		return take_chance(value, &cfg->cable.reorder_ppm);
	case CORRUPT:
		return take_chance(value, &cfg->cable.corrupt_ppm);
	case SEED:
		good = take_uint(value, UINT64_MAX, &n);
		cfg->cable.seed = n;
		return good;
	default:
		return false;
	}
}

static enum key
find_key(const char *name)
{
	enum key key = 0;

	while (key < N_KEYS && strcmp(keys[key].name, name) != 0)
		key++;
	return key;
}

static void
say_unknown(const char *dev_name, const char *name)
{
	char list[256] = "";
	size_t at = 0;

	for (int key = 0; key < N_KEYS; key++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", key ? ", " : "",
				       keys[key].name);
	LIQ_LOG(ERR, "%s: unknown key %s; allowed: %s", dev_name, name, list);
}

/* Keys that are right by themselves and wrong together. */
static bool
agree(const struct liq_sim_cfg *cfg, uint32_t given)
{
	if (!cfg->is_pf && cfg->queues > LIQ_VF_MAX_RINGS)
		LIQ_LOG(ERR, "%s: queues=%u: allowed: %s", cfg->dev_name, cfg->queues,
			keys[QUEUES].allowed);
	else if (!cfg->is_pf && (given & 1u << VFS))
		LIQ_LOG(ERR, "%s: vfs=%u: allowed: %s", cfg->dev_name, cfg->vfs, keys[VFS].allowed);
	else if (cfg->is_pf && cfg->queues + cfg->vfs > LIQ_PF_MAX_RINGS)
		LIQ_LOG(ERR,
			"%s: queues=%u,vfs=%u: allowed: %d rings in all, and each VF needs one",
			cfg->dev_name, cfg->queues, cfg->vfs, LIQ_PF_MAX_RINGS);
	else
		return true;
	return false;
}

static int
take_args(const char *dev_name, const char *args, struct liq_sim_cfg *cfg)
{
	struct rte_kvargs *kv = NULL;
	uint32_t given = 0;
	int ret = 0;

	memset(cfg, 0, sizeof(*cfg));
	cfg->dev_name = dev_name;
	cfg->cable.seed = 1;
	if (args && args[0] != '\0') {
		kv = rte_kvargs_parse(args, NULL);
		if (!kv) {
			LIQ_LOG(ERR, "%s: %s: allowed: key=value,key=value,...", dev_name, args);
			return -EINVAL;
		}
	}
	for (unsigned int i = 0; kv && ret == 0 && i < kv->count; i++) {
		const char *name = kv->pairs[i].key;
		const char *value = kv->pairs[i].value ? kv->pairs[i].value : "";
		enum key key = find_key(name);

		if (key == N_KEYS) {
			say_unknown(dev_name, name);
			ret = -EINVAL;
		} else if (given & 1u << key) {
			LIQ_LOG(ERR, "%s: %s is given twice", dev_name, name);
			ret = -EINVAL;
		} else if (!take_key(key, value, cfg)) {
			LIQ_LOG(ERR, "%s: %s=%s: allowed: %s", dev_name, name, value,
				keys[key].allowed);
			ret = -EINVAL;
		} else {
			given |= 1u << key;
			cfg->shared_keys |= keys[key].shared;
		}
	}
	rte_kvargs_free(kv);
	if (ret < 0)
		return ret;
	if (cfg->is_pf && !(given & 1u << VFS) && cfg->card[0])
		cfg->vfs = LIQ_SIM_DFLT_VFS;
	return agree(cfg, given) ? 0 : -EINVAL;
}

/* ---- probe ---- */

static int
probe_secondary(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_attach_secondary(rte_vdev_device_name(vdev));

	if (!eth_dev) {
		LIQ_LOG(ERR, "%s: the primary process has no such port",
			rte_vdev_device_name(vdev));
		return -ENODEV;
	}
	eth_dev->device = &vdev->device;
	liq_ethdev_attach(eth_dev, false);
	LIQ_LOG(NOTICE,
		"%s: the card lives in the primary process: counters and information only here",
		rte_vdev_device_name(vdev));
	rte_eth_dev_probing_finish(eth_dev);
	return 0;
}

static int
probe(struct rte_vdev_device *vdev)
{
	const char *name = rte_vdev_device_name(vdev);
	struct rte_eth_dev *eth_dev;
	struct liq_sim_cfg cfg;
	struct liq_dev *dev;
	int ret;

	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return probe_secondary(vdev);
	ret = take_args(name, rte_vdev_device_args(vdev), &cfg);
	if (ret < 0)
		return ret;
	eth_dev = rte_eth_vdev_allocate(vdev, sizeof(*dev));
	if (!eth_dev)
		return -ENOMEM;
	dev = eth_dev->data->dev_private;
	ret = liq_sim_open(&cfg, &dev->io);
	if (ret < 0)
		goto release;
	dev->fn = cfg.is_pf ? &liq_pf_ops : &liq_vf_ops;
	dev->bus = name;
	dev->want_rings = cfg.queues;
	dev->speed_mbps = RTE_ETH_SPEED_NUM_10G;
	if (cfg.is_pf)
		dev->pf.n_vfs = liq_sim_n_vfs(&dev->io);
	ret = liq_ethdev_init(eth_dev);
	if (ret < 0)
		goto close;
	rte_eth_dev_probing_finish(eth_dev);
	return 0;

close:
	dev->io.ops->close(dev->io.ctx);
release:
	rte_eth_dev_release_port(eth_dev);
	return ret;
}

static int
remove_dev(struct rte_vdev_device *vdev)
{
	struct rte_eth_dev *eth_dev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));

	if (!eth_dev)
		return 0;
	if (rte_eal_process_type() != RTE_PROC_PRIMARY)
		return rte_eth_dev_release_port(eth_dev);
	return rte_eth_dev_close(eth_dev->data->port_id);
}

static struct rte_vdev_driver liq_vdev_driver = {
	.probe = probe,
	.remove = remove_dev,
};

RTE_PMD_REGISTER_VDEV(net_liq_sim, liq_vdev_driver);
RTE_PMD_REGISTER_PARAM_STRING(
	net_liq_sim, "role=vf|pf queues=<1-64> card=<name> vfs=<0-7> "
		     "drive=thread|async|service|inline wire=none|loop|pair:<name>|port:<ethdev> "
		     "rate=<bits> loss=<p> dup=<p> reorder=<p> corrupt=<p> seed=<n>");
