/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: sums, residues and the report of <weir/stats.h>. Reads other threads' counters (relaxed);
 * never writes one.
 */
#include <weir/stats.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_ethdev.h>

#include "control_state.h"
#include "lcore.h"
#include "sock.h"

static void
add_ports(const struct weir_port_counters *pc, struct weir_stats *out)
{
	out->rx_frames += weir_counter_read(&pc->rx_frames);
	out->rx_bytes += weir_counter_read(&pc->rx_bytes);
	out->tx_frames += weir_counter_read(&pc->tx_frames);
	out->tx_bytes += weir_counter_read(&pc->tx_bytes);
}

/* in-transit gauges are differences: kept signed until all lcores are added. */
struct transit {
	uint64_t held, batched, mesh_rx, frags;
};

static void
add_lcore(const struct weir_lcore *lc, struct weir_stats *out, struct transit *t)
{
	const struct weir_counters *c = &lc->c;

	for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++)
		add_ports(&lc->pc[p], out);
	add_ports(&lc->pc_gone, out);
	out->rx_delivered += weir_counter_read(&c->rx_delivered);
	out->rx_copies += weir_counter_read(&c->rx_copies);
	out->rx_read += weir_counter_read(&c->rx_read);
	for (unsigned int i = 0; i < WEIR_PROTO_N; i++)
		out->rx_consumed[i] += weir_counter_read(&c->rx_consumed[i]);
	out->tx_datagrams += weir_counter_read(&c->tx_datagrams);
	out->tx_protocol += weir_counter_read(&c->tx_protocol);
	out->tx_copies += weir_counter_read(&c->tx_copies);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		out->drops[i] += weir_counter_read(&c->drops[i]);
	out->turns += weir_counter_read(&c->turns);
	out->idle_turns += weir_counter_read(&c->idle_turns);
	t->held += weir_counter_read(&c->tx_held_in) - weir_counter_read(&c->tx_held_out);
	t->batched += weir_counter_read(&c->tx_batch_in) - weir_counter_read(&c->tx_batch_out) +
		      weir_counter_read(&c->mesh_tx_in) - weir_counter_read(&c->mesh_tx_out);
	t->frags += weir_counter_read(&c->rx_frag_in) - weir_counter_read(&c->rx_frag_out);
	t->mesh_rx += weir_counter_read(&c->mesh_rx_in) - weir_counter_read(&c->mesh_rx_out);
}

static void
add_nic(const struct weir_port *port, struct weir_stats *out)
{
	struct rte_eth_stats s;

	if (rte_eth_stats_get(port->ethdev, &s) != 0)
		return;
	out->nic_missed += s.imissed - port->nic_missed0;
	out->nic_errors += s.ierrors - port->nic_errors0;
	out->nic_nombuf += s.rx_nombuf - port->nic_nombuf0;
}

void
weir_stats_get(struct weir_stack *stack, struct weir_stats *out)
{
	struct transit t = {0};
	uint64_t rx_out = 0;
	uint64_t tx_out = 0;

	memset(out, 0, sizeof(*out));
	for (unsigned int i = 0; i < stack->n_lcores; i++)
		add_lcore(stack->lcores[i], out, &t);
	/* Under the lock a port does not go; VLANs have no device of their own. */
	weir_ctl_lock(stack);
	for (unsigned int p = 0; p < stack->n_ports; p++)
		if (stack->ports[p] != NULL && stack->ports[p]->parent == p)
			add_nic(stack->ports[p], out);
	weir_ctl_unlock(stack);
	out->tx_held = t.held;
	out->tx_batched = t.batched;
	out->rx_in_mesh = t.mesh_rx;
	out->rx_frags = t.frags;
	out->rx_queued = out->rx_delivered - out->rx_read - out->drops[WEIR_DROP_SOCK_CLOSED];

	for (unsigned int i = 0; i < WEIR_DROP_N; i++) {
		if (weir_drop_is_rx((enum weir_drop)i))
			rx_out += out->drops[i];
		else
			tx_out += out->drops[i];
	}
	for (unsigned int i = 0; i < WEIR_PROTO_N; i++)
		rx_out += out->rx_consumed[i];
	rx_out += out->rx_read + out->rx_queued + out->rx_in_mesh + out->rx_frags;
	tx_out += out->tx_frames + out->tx_held + out->tx_batched;
	out->rx_residue = (int64_t)(out->rx_frames + out->rx_copies - rx_out);
	out->tx_residue = (int64_t)(out->tx_datagrams + out->tx_protocol + out->tx_copies - tx_out);
}

void
weir_stats_worker(struct weir_stack *stack, int worker, struct weir_stats *out)
{
	struct transit t = {0};

	memset(out, 0, sizeof(*out));
	if (worker >= 0 && worker < stack->n_workers)
		add_lcore(stack->lcores[worker], out, &t);
	else if (worker == -1)
		for (unsigned int i = stack->n_workers; i < stack->n_lcores; i++)
			add_lcore(stack->lcores[i], out, &t);
}

int
weir_stats_port(struct weir_stack *stack, unsigned int port, struct weir_stats *out)
{
	int ret = 0;

	memset(out, 0, sizeof(*out));
	weir_ctl_lock(stack);
	if (port > WEIR_PORT_LOOPBACK || stack->ports[port] == NULL)
		ret = -ENODEV;
	for (unsigned int i = 0; i < stack->n_lcores && ret == 0; i++)
		add_ports(&stack->lcores[i]->pc[port], out);
	if (ret == 0 && port != WEIR_PORT_LOOPBACK && stack->ports[port]->parent == port)
		add_nic(stack->ports[port], out);
	weir_ctl_unlock(stack);
	return ret;
}

int
weir_stats_check(struct weir_stack *stack, struct weir_stats *out)
{
	uint64_t queued = 0;
	uint64_t held = 0;
	uint64_t batched = 0;

	weir_stats_get(stack, out);
	weir_ctl_lock(stack);
	for (uint32_t i = 0; i < stack->conf.max_sockets; i++) {
		const struct weir_socket *sk = atomic_load(&stack->socks[i]);

		if (sk != NULL)
			queued += weir_recvq_depth(&sk->rq);
	}
	for (const struct weir_socket *sk = stack->control->closing; sk != NULL;
	     sk = sk->close_next)
		queued += weir_recvq_depth(&sk->rq);
	weir_ctl_unlock(stack);
	for (unsigned int i = 0; i < stack->n_lcores; i++) {
		const struct weir_lcore *lc = stack->lcores[i];

		for (unsigned int h = 0; h < WEIR_HOLDS; h++)
			held += lc->holds[h].n;
		for (unsigned int p = 0; p < WEIR_ALL_PORTS; p++)
			batched += lc->txb[p].n + lc->txb[p].n_late;
		batched += weir_counter_read(&lc->c.mesh_tx_in) -
			   weir_counter_read(&lc->c.mesh_tx_out);
	}
	return out->rx_residue == 0 && out->tx_residue == 0 && queued == out->rx_queued &&
			       held == out->tx_held && batched == out->tx_batched
		       ? 0
		       : -EPROTO;
}

void
weir_stats_print(FILE *f, const struct weir_stats *s)
{
	static const char *const proto[WEIR_PROTO_N] = {"ARP", "ICMP", "neighbour discovery",
							"IGMP, MLD", "fragments joined"};

	fprintf(f, "received   %14" PRIu64 " frames, %" PRIu64 " bytes\n", s->rx_frames,
		s->rx_bytes);
	fprintf(f, "  read     %14" PRIu64 " by the application\n", s->rx_read);
	if (s->rx_queued != 0)
		fprintf(f, "  queued   %14" PRIu64 " in sockets, not read\n", s->rx_queued);
	if (s->rx_in_mesh != 0)
		fprintf(f, "  moving   %14" PRIu64 " between lcores\n", s->rx_in_mesh);
	if (s->rx_frags != 0)
		fprintf(f, "  waiting  %14" PRIu64 " fragments of datagrams not yet whole\n",
			s->rx_frags);
	for (unsigned int i = 0; i < WEIR_PROTO_N; i++)
		if (s->rx_consumed[i] != 0)
			fprintf(f, "  protocol %14" PRIu64 " %s\n", s->rx_consumed[i], proto[i]);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		if (s->drops[i] != 0 && weir_drop_is_rx((enum weir_drop)i))
			fprintf(f, "  dropped  %14" PRIu64 " %s: %s\n", s->drops[i],
				weir_drop_name((enum weir_drop)i),
				weir_drop_text((enum weir_drop)i));
	fprintf(f, "to send    %14" PRIu64 " datagrams and %" PRIu64 " protocol frames\n",
		s->tx_datagrams, s->tx_protocol);
	fprintf(f, "  sent     %14" PRIu64 " frames, %" PRIu64 " bytes\n", s->tx_frames,
		s->tx_bytes);
	if (s->tx_held != 0)
		fprintf(f, "  held     %14" PRIu64 " until a neighbour answers\n", s->tx_held);
	if (s->tx_batched != 0)
		fprintf(f, "  batched  %14" PRIu64 " not yet offered to the port\n", s->tx_batched);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		if (s->drops[i] != 0 && !weir_drop_is_rx((enum weir_drop)i))
			fprintf(f, "  dropped  %14" PRIu64 " %s: %s\n", s->drops[i],
				weir_drop_name((enum weir_drop)i),
				weir_drop_text((enum weir_drop)i));
	if (s->nic_missed != 0 || s->nic_errors != 0 || s->nic_nombuf != 0)
		fprintf(f,
			"device     %14" PRIu64 " missed, %" PRIu64 " errors, %" PRIu64
			" without buffer (beside the sums above)\n",
			s->nic_missed, s->nic_errors, s->nic_nombuf);
}
