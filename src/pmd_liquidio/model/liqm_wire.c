/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LiquidIO II device model: the Ethernet wire of a port.
 *
 * Outwards a frame passes what the cable does to it (loss, duplication, reordering, corruption
 * from a seed), and goes to a callback or into the other end of a pair.  A rate limit keeps the
 * input queues from fetching instead of keeping frames.  Inwards frames lie in a byte ring until
 * the card's next turn: one producer without any lock, the card as consumer.
 *
 * The two ends of a pair may belong to cards that different threads drive.  They share a cable
 * with a lock of its own, held while one end is written to or unplugged; nothing else is locked
 * inside it, so that two cards never wait for each other.
 */
#include "liqm_priv.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define FIFO_BYTES     (1u << 20)
#define REORDER_MAX_NS UINT64_C(1000000)
#define RATE_SLACK_NS  UINT64_C(20000) /* a burst may run ahead of the rate by this */
#define FRAME_GAP      24u             /* preamble, FCS and gap on a real wire */
#define FRAME_MIN      14u

struct liqm_cable {
	atomic_flag lock;
	struct liqm_port *end[2];
};

/* ---- frames on their way in ---- */

static uint32_t
record_bytes(uint32_t len)
{
	return (4 + len + 3) & ~UINT32_C(3);
}

/* Producer.  A record does not wrap: a length of all ones sends the reader to the start. */
static bool
fifo_put(struct liqm_fifo *f, const uint8_t *frame, uint32_t len)
{
	const uint32_t skip = UINT32_MAX;
	uint32_t head = atomic_load_explicit(&f->head, memory_order_relaxed);
	/* acquire pairs with the release in fifo_pop(): the room is read no longer */
	uint32_t room = f->size - (head - atomic_load_explicit(&f->tail, memory_order_acquire));
	uint32_t at = head & (f->size - 1), need = record_bytes(len);
	uint32_t to_end = f->size - at;

	if (to_end < need) {
		if (room < to_end + need)
			return false;
		memcpy(f->mem + at, &skip, 4);
		head += to_end;
		at = 0;
	} else if (room < need) {
		return false;
	}
	memcpy(f->mem + at, &len, 4);
	memcpy(f->mem + at + 4, frame, len);
	/*
	 * Release pairs with the acquire in fifo_head(): the frame is whole.  More than that, for
	 * the sake of who sleeps: liqm_card_next_ns().
	 */
	atomic_store(&f->head, head + need);
	return true;
}

static uint32_t
fifo_len_at(const struct liqm_fifo *f, uint32_t tail)
{
	uint32_t len;

	memcpy(&len, f->mem + (tail & (f->size - 1)), 4);
	return len;
}

static uint8_t *
fifo_head(struct liqm_fifo *f, uint32_t *len)
{
	uint32_t tail = atomic_load_explicit(&f->tail, memory_order_relaxed);

	if (tail == atomic_load(&f->head))
		return NULL;
	*len = fifo_len_at(f, tail);
	if (*len == UINT32_MAX) {
		tail += f->size - (tail & (f->size - 1));
		*len = fifo_len_at(f, tail);
	}
	return f->mem + (tail & (f->size - 1)) + 4;
}

static void
fifo_pop(struct liqm_fifo *f)
{
	uint32_t tail = atomic_load_explicit(&f->tail, memory_order_relaxed);
	uint32_t len = fifo_len_at(f, tail);

	if (len == UINT32_MAX) {
		tail += f->size - (tail & (f->size - 1));
		len = fifo_len_at(f, tail);
	}
	atomic_store_explicit(&f->tail, tail + record_bytes(len), memory_order_release);
}

const uint8_t *
liqm_wire_head(struct liqm_port *port, uint32_t *len)
{
	return fifo_head(&port->wire.in, len);
}

void
liqm_wire_pop(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;
	uint32_t len;

	if (fifo_head(&w->in, &len)) {
		w->stats.n_in++;
		w->stats.n_in_bytes += len;
	}
	fifo_pop(&w->in);
	w->head_at = 0;
	w->head_since_ns = LIQM_NEVER;
	w->head_claimed = false;
}

static int
take_in(struct liqm_port *port, const uint8_t *frame, uint32_t len)
{
	if (len < FRAME_MIN || len > LIQM_FRAME_MAX)
		return -EMSGSIZE;
	if (fifo_put(&port->wire.in, frame, len)) {
		liqm_wake(port->card);
		return 0;
	}
	atomic_fetch_add_explicit(&port->wire.n_in_full, 1, memory_order_relaxed);
	return -ENOBUFS;
}

int
liqm_wire_in(struct liqm_card *card, unsigned int port, const uint8_t *frame, uint32_t len_bytes)
{
	if (port >= card->n_ports)
		return -EINVAL;
	return take_in(&card->port[port], frame, len_bytes);
}

bool
liqm_wire_room(struct liqm_card *card, unsigned int port)
{
	const struct liqm_fifo *f;
	uint32_t used;

	if (port >= card->n_ports)
		return false;
	f = &card->port[port].wire.in;
	used = atomic_load_explicit(&f->head, memory_order_relaxed) -
	       atomic_load_explicit(&f->tail, memory_order_acquire);
	/* twice: a frame may have to skip the end of the ring */
	return f->size - used >= 2 * record_bytes(LIQM_FRAME_MAX);
}

/* ---- frames on their way out ---- */

static void
cable_lock(struct liqm_cable *c)
{
	while (atomic_flag_test_and_set_explicit(&c->lock, memory_order_acquire))
		sched_yield();
}

static void
cable_unlock(struct liqm_cable *c)
{
	atomic_flag_clear_explicit(&c->lock, memory_order_release);
}

static void
hand_over(struct liqm_port *port, const uint8_t *frame, uint32_t len)
{
	struct liqm_wire *w = &port->wire;
	bool gone = true;

	if (w->out) {
		w->out(w->out_ctx, frame, len);
		gone = false;
	} else if (w->cable) {
		struct liqm_port *peer;

		cable_lock(w->cable);
		peer = w->cable->end[w->cable->end[0] == port];
		if (peer) {
			take_in(peer, frame, len);
			gone = false;
		}
		cable_unlock(w->cable);
	}
	if (gone) {
		w->stats.n_unplugged++;
		return;
	}
	w->stats.n_out++;
	w->stats.n_out_bytes += len;
}

static void
let_go(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;
	uint32_t len = w->kept_len;

	w->kept_len = 0;
	if (len != 0)
		hand_over(port, w->kept, len);
}

bool
liqm_wire_busy(const struct liqm_port *port)
{
	const struct liqm_wire *w = &port->wire;

	return w->cfg.rate_bps != 0 && w->free_at_ns > port->card->now_ns + RATE_SLACK_NS;
}

static void
charge(struct liqm_port *port, uint32_t len)
{
	struct liqm_wire *w = &port->wire;

	if (w->cfg.rate_bps == 0)
		return;
	if (w->free_at_ns < port->card->now_ns)
		w->free_at_ns = port->card->now_ns;
	w->free_at_ns += (uint64_t)(len + FRAME_GAP) * 8 * 1000000000 / w->cfg.rate_bps;
}

/* The frame belongs to the caller, who does not need it again: a bit of it may flip. */
void
liqm_wire_send(struct liqm_port *port, const uint8_t *frame, uint32_t len)
{
	struct liqm_wire *w = &port->wire;
	uint8_t *mine = port->card->tx_frame;
	bool twice;

	if (!port->link_up || port->flap_until_ns != 0 || len > LIQM_FRAME_MAX) {
		w->stats.n_unplugged++;
		return;
	}
	charge(port, len);
	if (liqm_chance(&w->rng, w->cfg.loss_ppm)) {
		w->stats.n_lost++;
		return;
	}
	if (liqm_chance(&w->rng, w->cfg.corrupt_ppm)) {
		uint64_t bit = liqm_random(&w->rng) % (8 * (uint64_t)len);

		memmove(mine, frame, len);
		mine[bit / 8] ^= (uint8_t)(1u << bit % 8);
		frame = mine;
		w->stats.n_corrupted++;
	}
	twice = liqm_chance(&w->rng, w->cfg.dup_ppm);
	if (w->kept_len == 0 && liqm_chance(&w->rng, w->cfg.reorder_ppm)) {
		memcpy(w->kept, frame, len);
		w->kept_len = len;
		w->kept_until_ns = port->card->now_ns + REORDER_MAX_NS;
		w->stats.n_reordered++;
		return;
	}
	hand_over(port, frame, len);
	if (twice) {
		w->stats.n_duplicated++;
		hand_over(port, frame, len);
	}
	let_go(port);
}

void
liqm_wire_run(struct liqm_port *port)
{
	if (port->wire.kept_len != 0 && port->card->now_ns >= port->wire.kept_until_ns)
		let_go(port);
}

uint64_t
liqm_wire_next_ns(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;
	uint64_t at = w->kept_len != 0 ? w->kept_until_ns : LIQM_NEVER;
	uint32_t len;

	if (!fifo_head(&w->in, &len))
		return at;
	if (w->head_since_ns == LIQM_NEVER)
		return 0;
	return w->head_since_ns + port->card->cfg.rx_hold_ns < at
		       ? w->head_since_ns + port->card->cfg.rx_hold_ns
		       : at;
}

/* ---- cabling ---- */

static void
unplug(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;
	struct liqm_cable *cable = w->cable;
	bool last;

	w->out = NULL;
	w->cable = NULL;
	if (!cable)
		return;
	cable_lock(cable);
	cable->end[cable->end[1] == port] = NULL;
	last = !cable->end[0] && !cable->end[1];
	cable_unlock(cable);
	if (last)
		free(cable);
}

int
liqm_wire_callback(struct liqm_card *card, unsigned int port, liqm_wire_out_fn out, void *ctx)
{
	if (port >= card->n_ports)
		return -EINVAL;
	liqm_lock(card);
	unplug(&card->port[port]);
	card->port[port].wire.out = out;
	card->port[port].wire.out_ctx = ctx;
	liqm_unlock(card);
	return 0;
}

int
liqm_wire_pair(struct liqm_card *a, unsigned int port_a, struct liqm_card *b, unsigned int port_b)
{
	struct liqm_cable *cable;

	if (port_a >= a->n_ports || port_b >= b->n_ports || (a == b && port_a == port_b))
		return -EINVAL;
	cable = calloc(1, sizeof(*cable));
	if (!cable)
		return -ENOMEM;
	atomic_flag_clear(&cable->lock);
	cable->end[0] = &a->port[port_a];
	cable->end[1] = &b->port[port_b];
	/* The old cables go before the new one comes: a port is fed by one far end at a time. */
	for (int i = 0; i < 2; i++) {
		liqm_lock(cable->end[i]->card);
		unplug(cable->end[i]);
		liqm_unlock(cable->end[i]->card);
	}
	for (int i = 0; i < 2; i++) {
		liqm_lock(cable->end[i]->card);
		cable->end[i]->wire.cable = cable;
		liqm_unlock(cable->end[i]->card);
	}
	return 0;
}

int
liqm_wire_configure(struct liqm_card *card, unsigned int port, const struct liqm_wire_cfg *cfg)
{
	if (port >= card->n_ports || cfg->loss_ppm > 1000000 || cfg->dup_ppm > 1000000 ||
	    cfg->reorder_ppm > 1000000 || cfg->corrupt_ppm > 1000000)
		return -EINVAL;
	liqm_lock(card);
	card->port[port].wire.cfg = *cfg;
	card->port[port].wire.rng = cfg->seed;
	card->port[port].wire.free_at_ns = 0;
	liqm_unlock(card);
	return 0;
}

int
liqm_wire_stats_get(struct liqm_card *card, unsigned int port, struct liqm_wire_stats *stats)
{
	struct liqm_wire *w;

	if (port >= card->n_ports)
		return -EINVAL;
	w = &card->port[port].wire;
	liqm_lock(card);
	*stats = w->stats;
	stats->n_in_full = atomic_load_explicit(&w->n_in_full, memory_order_relaxed);
	liqm_unlock(card);
	return 0;
}

int
liqm_wire_init(struct liqm_port *port)
{
	struct liqm_wire *w = &port->wire;

	w->head_since_ns = LIQM_NEVER;
	w->in.size = FIFO_BYTES;
	w->in.mem = malloc(FIFO_BYTES);
	w->kept = malloc(LIQM_FRAME_MAX);
	return w->in.mem && w->kept ? 0 : -ENOMEM;
}

void
liqm_wire_fini(struct liqm_port *port)
{
	unplug(port);
	free(port->wire.in.mem);
	free(port->wire.kept);
}
