/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending: from the application's payload to a port that frees, through the stack and without it.
 *
 * The loops without a stack take buffers, copy a finished header in front of the payload, make IP and
 * UDP sums with the stack's own routine, transmit. What is the same for every frame (the sum of header
 * and addresses) is summed once, as any sender would. They run on the same port and pool as the stack.
 *
 *   ref-sums       bursts of 32 with software sums
 *   ref-plain      the same without sums: what is left to do when the port makes them
 *   ref-one        one frame a burst
 *   stack-burst    weir_send_burst() of 32 and weir_flush()
 *   stack-one      weir_send() one at a time, weir_flush() after 32: a worker's turn
 *   stack-one-out  weir_send() and weir_flush() each time: nothing is gained by batches
 *   ...6           the same over IPv6
 */
#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "rig.h"

#define BURST   32
#define N_DESTS 1000

#define HDR_LEN  (WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN)
#define HDR6_LEN (WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_UDP_LEN)

static const struct rig_conf conf_sums = {.name = "sums", .burst = BURST};
static const struct rig_conf conf_flags = {.name = "flags", .offload = true, .burst = BURST};
static const struct rig_conf conf_sums6 = {.name = "sums6", .v6 = true, .burst = BURST};
static const struct rig_conf conf_flags6 = {
	.name = "flags6", .offload = true, .v6 = true, .burst = BURST};
static struct rig rig_sums, rig_flags, rig_sums6, rig_flags6;

static uint8_t template[HDR_LEN];
static uint64_t template_ip_sum, template_udp_sum; /* all but the lengths and the payload */
static uint8_t template6[HDR6_LEN];
static uint64_t template6_udp_sum;
static struct weir_addr dests[N_DESTS]; /* in random order */

/* ---- without a stack ---- */

static void
make_template(const struct rig *r)
{
	uint8_t frame[RIG_ROOM];
	struct wire_ip4 *ip = (void *)(template + WIRE_ETH_LEN);
	struct wire_udp *udp = (void *)(template + WIRE_ETH_LEN + WIRE_IP4_MIN);

	rig_frame(r, frame, 0);
	memcpy(template, frame, HDR_LEN);
	ip->total_len = 0;
	ip->csum = 0;
	ip->src = WIRE_BE32(RIG_OUR_IP);
	ip->dst = WIRE_BE32(RIG_PEER_IP);
	udp->len = 0;
	udp->csum = 0;
	template_ip_sum = wire_sum(ip, WIRE_IP4_MIN, 0);
	template_udp_sum =
		wire_sum(udp, WIRE_UDP_LEN, 0) + wire_pseudo4(ip->src, ip->dst, WIRE_PROTO_UDP, 0);
}

static inline void
build(const struct rig *r, struct rte_mbuf *m, bool sums)
{
	const unsigned int len = r->payload_bytes;
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_ip4 *ip = (void *)(p + WIRE_ETH_LEN);
	struct wire_udp *udp = (void *)(p + WIRE_ETH_LEN + WIRE_IP4_MIN);

	memcpy(p, template, HDR_LEN);
	memcpy(p + HDR_LEN, r->payload, len);
	ip->total_len = WIRE_BE16(WIRE_IP4_MIN + WIRE_UDP_LEN + len);
	udp->len = WIRE_BE16(WIRE_UDP_LEN + len);
	if (sums) {
		uint64_t sum = template_udp_sum + 2 * (uint64_t)udp->len;
		uint16_t csum = (uint16_t)~wire_fold(wire_sum(p + HDR_LEN, len, sum));

		ip->csum = (wire_be16)~wire_fold(template_ip_sum + ip->total_len);
		udp->csum = csum != 0 ? csum : 0xffff;
	}
	m->data_len = (uint16_t)(HDR_LEN + len);
	m->pkt_len = HDR_LEN + len;
}

static void
make_template6(const struct rig *r)
{
	uint8_t frame[RIG_ROOM];
	struct wire_ip6 *ip = (void *)(template6 + WIRE_ETH_LEN);
	struct wire_udp *udp = (void *)(template6 + WIRE_ETH_LEN + WIRE_IP6_LEN);

	rig_frame(r, frame, 0);
	memcpy(template6, frame, HDR6_LEN);
	memcpy(ip->src, r->our.ip.b, sizeof(ip->src));
	memcpy(ip->dst, r->peer.ip.b, sizeof(ip->dst));
	udp->len = 0;
	udp->csum = 0;
	template6_udp_sum =
		wire_sum(udp, WIRE_UDP_LEN, 0) + wire_pseudo6(ip->src, ip->dst, WIRE_PROTO_UDP, 0);
}

static inline void
build6(const struct rig *r, struct rte_mbuf *m, bool sums)
{
	const unsigned int len = r->payload_bytes;
	uint8_t *p = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_ip6 *ip = (void *)(p + WIRE_ETH_LEN);
	struct wire_udp *udp = (void *)(p + WIRE_ETH_LEN + WIRE_IP6_LEN);

	memcpy(p, template6, HDR6_LEN);
	memcpy(p + HDR6_LEN, r->payload, len);
	ip->payload_len = WIRE_BE16(WIRE_UDP_LEN + len);
	udp->len = WIRE_BE16(WIRE_UDP_LEN + len);
	if (sums) {
		uint64_t sum = template6_udp_sum + 2 * (uint64_t)udp->len;
		uint16_t csum = (uint16_t)~wire_fold(wire_sum(p + HDR6_LEN, len, sum));

		udp->csum = csum != 0 ? csum : 0xffff;
	}
	m->data_len = (uint16_t)(HDR6_LEN + len);
	m->pkt_len = HDR6_LEN + len;
}

static inline void
loop(struct rig *r, uint64_t n, unsigned int burst, bool sums, bool v6)
{
	struct rte_mbuf *m[BURST];

	for (uint64_t done = 0; done < n;) {
		uint16_t sent;

		if (rte_pktmbuf_alloc_bulk(r->pool, m, burst) != 0)
			return;
		for (unsigned int i = 0; i < burst; i++)
			(v6 ? build6 : build)(r, m[i], sums);
		sent = rte_eth_tx_burst(r->ethdev, 0, m, (uint16_t)burst);
		if (unlikely(sent < burst))
			rte_pktmbuf_free_bulk(m + sent, burst - sent);
		done += burst;
	}
}

static void
run_ref_sums(void *ctx, uint64_t n)
{
	loop(ctx, n, BURST, true, false);
}

static void
run_ref_plain(void *ctx, uint64_t n)
{
	loop(ctx, n, BURST, false, false);
}

static void
run_ref_sums6(void *ctx, uint64_t n)
{
	loop(ctx, n, BURST, true, true);
}

static void
run_ref_plain6(void *ctx, uint64_t n)
{
	loop(ctx, n, BURST, false, true);
}

static void
run_ref_one(void *ctx, uint64_t n)
{
	loop(ctx, n, 1, true, false);
}

/* ---- through the stack ---- */

static inline void
send_bursts(struct rig *r, uint64_t n, bool many)
{
	struct rte_mbuf *m[BURST];
	struct weir_txmsg msg[BURST] = {0};
	unsigned int d = 0;

	for (uint64_t done = 0; done < n;) {
		if (weir_mbuf_alloc_bulk(r->lc, m, BURST) != 0)
			return;
		for (unsigned int i = 0; i < BURST; i++) {
			memcpy(rte_pktmbuf_mtod(m[i], void *), r->payload, r->payload_bytes);
			m[i]->data_len = (uint16_t)r->payload_bytes;
			m[i]->pkt_len = r->payload_bytes;
			msg[i].m = m[i];
			if (!many)
				continue;
			msg[i].to = &dests[d];
			if (++d == N_DESTS)
				d = 0;
		}
		weir_send_burst(r->lc, r->sk, msg, BURST, WEIR_SEND_DROP);
		weir_flush(r->lc);
		done += BURST;
	}
}

static void
run_stack_burst(void *ctx, uint64_t n)
{
	send_bursts(ctx, n, false);
}

static void
run_stack_burst_many(void *ctx, uint64_t n)
{
	send_bursts(ctx, n, true);
}

static inline void
send_one(struct rig *r, uint64_t n, unsigned int flush_after)
{
	for (uint64_t done = 0; done < n;) {
		for (unsigned int i = 0; i < flush_after; i++)
			if (weir_send(r->lc, r->sk, r->payload, r->payload_bytes, NULL) < 0)
				return;
		weir_flush(r->lc);
		done += flush_after;
	}
}

static void
run_stack_one(void *ctx, uint64_t n)
{
	send_one(ctx, n, BURST);
}

static void
run_stack_one_out(void *ctx, uint64_t n)
{
	send_one(ctx, n, 1);
}

static const struct bench_variant variants[] = {
	{.name = "ref-sums", .run = run_ref_sums, .ctx = &rig_sums},
	{.name = "ref-plain", .run = run_ref_plain, .ctx = &rig_flags},
	{.name = "ref-one", .run = run_ref_one, .ctx = &rig_sums},
	{.name = "stack-burst", .reference = "ref-sums", .run = run_stack_burst, .ctx = &rig_sums},
	{.name = "stack-burst-flags",
	 .reference = "ref-plain",
	 .run = run_stack_burst,
	 .ctx = &rig_flags},
	{.name = "stack-one", .reference = "ref-one", .run = run_stack_one, .ctx = &rig_sums},
	{.name = "stack-one-out",
	 .reference = "ref-one",
	 .run = run_stack_one_out,
	 .ctx = &rig_sums},
	{.name = "stack-burst-1000",
	 .reference = "ref-sums",
	 .run = run_stack_burst_many,
	 .ctx = &rig_sums},
	{.name = "ref-sums6", .run = run_ref_sums6, .ctx = &rig_sums6},
	{.name = "ref-plain6", .run = run_ref_plain6, .ctx = &rig_flags6},
	{.name = "stack-burst6",
	 .reference = "ref-sums6",
	 .run = run_stack_burst,
	 .ctx = &rig_sums6},
	{.name = "stack-burst-flags6",
	 .reference = "ref-plain6",
	 .run = run_stack_burst,
	 .ctx = &rig_flags6},
	{.name = "stack-one6", .reference = "ref-one", .run = run_stack_one, .ctx = &rig_sums6},
};

static const struct bench tx = {
	.experiment = "tx",
	.unit = "packet",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 8192,
};

static void
make_dests(void)
{
	uint64_t x = 88172645463325252u;

	for (unsigned int i = 0; i < N_DESTS; i++)
		dests[i] = weir_addr_v4(0xc0a80000u + i, RIG_PEER_PORT);
	for (unsigned int i = N_DESTS - 1; i > 0; i--) {
		struct weir_addr t = dests[i];
		unsigned int k;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		k = (unsigned int)(x % (i + 1));
		dests[i] = dests[k];
		dests[k] = t;
	}
}

/* Did every loop send what it claims? The port has counted; n is a multiple of the burst. */
static bool
all_sent(struct rig *r)
{
	struct rte_eth_stats before, after;
	bool ok = true;

	for (unsigned int i = 0; i < RTE_DIM(variants); i++) {
		if (variants[i].ctx != r)
			continue;
		rte_eth_stats_get(r->ethdev, &before);
		variants[i].run(r, BURST);
		rte_eth_stats_get(r->ethdev, &after);
		if (after.opackets - before.opackets != BURST ||
		    after.obytes - before.obytes !=
			    BURST * ((r->conf->v6 ? HDR6_LEN : HDR_LEN) + r->payload_bytes)) {
			fprintf(stderr, "bench: %s does not send what it should\n",
				variants[i].name);
			ok = false;
		}
	}
	return ok;
}

int
main(int argc, char **argv)
{
	static struct rig *const rigs[] = {&rig_sums, &rig_flags, &rig_sums6, &rig_flags6};
	static const struct rig_conf *const confs[] = {&conf_sums, &conf_flags, &conf_sums6,
						       &conf_flags6};
	struct bench_opts opts;
	unsigned int i;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	if (opts.list)
		return bench_run(&opts, &tx);
	ret = BENCH_FAILED;
	make_dests();
	for (i = 0; i < RTE_DIM(rigs); i++)
		if (rig_up(rigs[i], confs[i], &opts) != 0 || rig_connect(rigs[i]) != 0)
			break;
	if (i == RTE_DIM(rigs)) {
		make_template(&rig_sums);
		make_template6(&rig_sums6);
		for (i = 0; i < RTE_DIM(rigs) && all_sent(rigs[i]); i++)
			;
		if (i == RTE_DIM(rigs))
			ret = bench_run(&opts, &tx);
	}
	/* A run in which something vanished is no run. */
	for (i = 0; i < RTE_DIM(rigs); i++)
		if (rig_down(rigs[i]) != 0)
			ret = BENCH_FAILED;
	return ret;
}
