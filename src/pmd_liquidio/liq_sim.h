/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards of the device model in this process, for net_liq_sim: created with their first function,
 * destroyed with the last; found by name; cabled; driven by a thread, a service or their users.
 *
 * Control threads of the primary process; one lock inside.
 */
#ifndef LIQ_SIM_H
#define LIQ_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "liq_io.h"
#include "liqm.h"

#define LIQ_SIM_NAME_SIZE 64 /* with the final zero */
#define LIQ_SIM_DFLT_VFS  7u /* of a PF on a card that has a name */
#define LIQ_SIM_MAX_VFS   7u

enum liq_sim_drive {
	LIQ_SIM_THREAD,  /* accesses do the work, a thread what time brings, every millisecond */
	LIQ_SIM_ASYNC,   /* a thread does all of it; accesses return at once, as on hardware */
	LIQ_SIM_SERVICE, /* accesses do the work, a DPDK service what time brings */
	LIQ_SIM_INLINE,  /* accesses do the work, and nobody else: reproducible */
};

enum liq_sim_wire { LIQ_SIM_NONE, LIQ_SIM_LOOP, LIQ_SIM_PAIR, LIQ_SIM_PORT };

struct liq_sim_cfg {
	const char *dev_name; /* of the vdev */
	bool is_pf;
	unsigned int queues;          /* 0: 8 */
	char card[LIQ_SIM_NAME_SIZE]; /* empty: a card of its own */
	unsigned int vfs;             /* of a PF */
	enum liq_sim_drive drive;
	enum liq_sim_wire wire;
	char wire_name[LIQ_SIM_NAME_SIZE]; /* of the pair or of the port */
	struct liqm_wire_cfg cable;
	bool shared_keys; /* some key that belongs to the whole card was given */
};

/*
 * A function of a card.  io gets ops and ctx; io->ops->close() gives it up.  0; -EINVAL, -EBUSY
 * with a log line that says what is allowed; -ENOMEM.
 */
int liq_sim_open(const struct liq_sim_cfg *cfg, struct liq_io *io);

/* Of an open function: what a test plays with. */
struct liqm_card *liq_sim_card(const struct liq_io *io);
struct liqm_fn *liq_sim_fn(const struct liq_io *io);

/* The VFs that the card has for a PF to deal rings to. */
unsigned int liq_sim_n_vfs(const struct liq_io *io);

/*
 * Inline, nobody works while a function waits for another one: idle, when given, is called in each
 * pause of a wait.  For tests, where the PF's alarm would not come at the same time twice.
 */
void liq_sim_on_idle(void (*idle)(void *arg), void *arg);

#endif /* LIQ_SIM_H */
