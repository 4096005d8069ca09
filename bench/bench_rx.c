/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving: from the port to the application, through the stack and without it.
 *
 * The loops without a stack do what any receiver must: take a burst, check that the frame is a whole
 * datagram for us, verify IP and UDP sums with the stack's own routine, hand over payload and address,
 * free. They run on the same port, pool and memory as the stack does (rig.h).
 *
 *   ref-sums      R of the acceptance numbers: software sums, payload and address copied
 *   ref-flags     R0: the port has verified the sums; parsed and freed
 *   ref-parse     R with wire_parse() instead of the loop's own checks: what its completeness costs
 *   stack-*       weir_turn(), then weir_recv_burst() or weir_recv() until nothing is left
 *   stack6-*      the same over IPv6, against IPv4
 *   bsd-recvmmsg  the same by weir_recvmmsg() of whole bursts, on a socket as it is made
 *   bsd-recvfrom  one at a time, on a socket for one reader (WEIR_SO_READERS 0)
 */
#include <arpa/inet.h>
#include <string.h>

#include <rte_ethdev.h>

#include <weir/bsd.h>

#include "rig.h"

#define AHEAD 4

static const struct rig_conf conf_sums = {.name = "sums", .burst = 32};
static const struct rig_conf conf_flags = {.name = "flags", .offload = true, .burst = 32};
static const struct rig_conf conf_one = {.name = "one", .burst = 1};
static const struct rig_conf conf_bsd = {.name = "bsd", .burst = 32};
static const struct rig_conf conf_sums6 = {.name = "sums6", .burst = 32, .v6 = true};
static const struct rig_conf conf_flags6 = {
	.name = "flags6", .offload = true, .burst = 32, .v6 = true};
static struct rig rig_sums, rig_flags, rig_one, rig_bsd, rig_sums6, rig_flags6;

/* ---- without a stack ---- */

static inline bool
sums_ok(const struct wire_ip4 *ip, const struct wire_udp *udp, uint32_t udp_len)
{
	const struct five {
		uint32_t w[WIRE_IP4_MIN / 4];
	} __attribute__((packed)) *h = (const void *)ip;

	if (wire_fold((uint64_t)h->w[0] + h->w[1] + h->w[2] + h->w[3] + h->w[4]) != 0xffff)
		return false;
	return wire_fold(wire_sum(udp, udp_len,
				  wire_pseudo4(ip->src, ip->dst, WIRE_PROTO_UDP,
					       (uint16_t)udp_len))) == 0xffff;
}

/*
 * The least that must be checked before the payload may be handed over. Returns the UDP length; 0: not
 * for us.
 */
static inline uint32_t
check(const struct rig *r, const struct rte_mbuf *m, bool sums)
{
	const struct wire_eth *eth = rte_pktmbuf_mtod(m, const struct wire_eth *);
	const struct wire_ip4 *ip = (const void *)(eth + 1);
	const struct wire_udp *udp = (const void *)(ip + 1);
	uint32_t len = m->data_len;
	uint32_t ip_len, udp_len;

	if (len < WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN || eth->type != r->eth.type ||
	    memcmp(eth->dst, r->eth.dst, WIRE_ETH_ALEN) != 0)
		return 0;
	ip_len = WIRE_BE16(ip->total_len);
	udp_len = WIRE_BE16(udp->len);
	if (ip->ver_ihl != 0x45 || ip->proto != WIRE_PROTO_UDP || ip_len > len - WIRE_ETH_LEN ||
	    (ip->frag & WIRE_BE16(WIRE_IP4_FRAG_MASK)) != 0 || ip->dst != WIRE_BE32(RIG_OUR_IP) ||
	    udp->dport != WIRE_BE16(RIG_PORT) || udp_len < WIRE_UDP_LEN ||
	    ip_len < WIRE_IP4_MIN + udp_len)
		return 0;
	if (sums && !sums_ok(ip, udp, udp_len))
		return 0;
	return udp_len;
}

static inline void
copy_out(struct rig_slot *slot, const struct rte_mbuf *m, uint32_t udp_len)
{
	const struct wire_ip4 *ip =
		rte_pktmbuf_mtod_offset(m, const struct wire_ip4 *, WIRE_ETH_LEN);
	const struct wire_udp *udp = (const void *)(ip + 1);

	slot->peer.ip.w[0] = ip->src;
	slot->peer.ip.w[1] = 0;
	slot->peer.port = udp->sport;
	slot->peer.family = WEIR_IPV4;
	slot->len = udp_len - WIRE_UDP_LEN;
	memcpy(slot->bytes, udp + 1, slot->len);
}

static inline void
loop(struct rig *r, uint64_t n, bool sums, bool copy, bool full_parse)
{
	const struct wire_parse_opt opt_all = {.max_frame = 1514};
	struct wire_parse_opt opt = opt_all;
	struct rte_mbuf *m[RIG_BURST_MAX];
	const uint16_t burst = (uint16_t)r->conf->burst;

	memcpy(opt.mac, r->eth.dst, WIRE_ETH_ALEN);
	for (uint64_t done = 0; done < n;) {
		uint16_t k = rte_eth_rx_burst(r->ethdev, 0, m, burst);

		for (unsigned int i = 0; i < k && i < AHEAD; i++)
			rte_prefetch0(rte_pktmbuf_mtod(m[i], void *));
		for (unsigned int i = 0; i < k; i++) {
			uint32_t udp_len;

			if (i + AHEAD < k)
				rte_prefetch0(rte_pktmbuf_mtod(m[i + AHEAD], void *));
			if (full_parse) {
				struct wire_view v;

				wire_parse(rte_pktmbuf_mtod(m[i], const uint8_t *), m[i]->data_len,
					   m[i]->pkt_len, &opt, &v);
				udp_len = v.udp_len;
				if (wire_fold(wire_sum(rte_pktmbuf_mtod_offset(m[i], uint8_t *, 34),
						       udp_len,
						       wire_pseudo4(v.src4, v.dst4, WIRE_PROTO_UDP,
								    (uint16_t)udp_len))) != 0xffff)
					continue;
			} else {
				udp_len = check(r, m[i], sums);
			}
			if (udp_len == 0)
				continue;
			if (copy)
				copy_out(&r->slot[i], m[i], udp_len);
			done++;
		}
		bench_use(r->slot);
		rte_pktmbuf_free_bulk(m, k);
	}
}

static void
run_ref_sums(void *ctx, uint64_t n)
{
	loop(ctx, n, true, true, false);
}

static void
run_ref_flags(void *ctx, uint64_t n)
{
	loop(ctx, n, false, false, false);
}

static void
run_ref_parse(void *ctx, uint64_t n)
{
	loop(ctx, n, true, true, true);
}

/* ---- through the stack ---- */

static inline void
drain(struct rig *r, uint64_t n, bool copy)
{
	struct weir_rxmsg msg[RIG_BURST_MAX];
	struct rte_mbuf *m[RIG_BURST_MAX];
	const uint16_t burst = (uint16_t)r->conf->burst;

	for (uint64_t done = 0; done < n;) {
		uint16_t k;

		weir_turn(r->lc);
		while ((k = weir_recv_burst(r->lc, r->sk, msg, burst)) > 0) {
			for (unsigned int i = 0; i < k; i++) {
				m[i] = msg[i].m;
				if (!copy)
					continue;
				r->slot[i].peer = msg[i].peer;
				r->slot[i].len = msg[i].len;
				memcpy(r->slot[i].bytes, rte_pktmbuf_mtod(m[i], void *),
				       msg[i].len);
			}
			bench_use(msg);
			bench_use(r->slot);
			weir_mbuf_free_bulk(m, k);
			done += k;
			if (k < burst)
				break;
		}
	}
}

static void
run_stack_copy(void *ctx, uint64_t n)
{
	drain(ctx, n, true);
}

static void
run_stack_zerocopy(void *ctx, uint64_t n)
{
	drain(ctx, n, false);
}

static void
run_stack_recv(void *ctx, uint64_t n)
{
	struct rig *r = ctx;

	for (uint64_t done = 0; done < n;) {
		unsigned int i = 0;

		weir_turn(r->lc);
		for (;;) {
			struct rig_slot *slot = &r->slot[i++ % RIG_BURST_MAX];
			ssize_t len = weir_recv(r->lc, r->sk, slot->bytes, sizeof(slot->bytes),
						&slot->peer);

			if (len < 0)
				break;
			slot->len = (uint32_t)len;
			done++;
		}
		bench_use(r->slot);
	}
}

/* ---- by the BSD layer ---- */

static int bsd_fd;
static struct sockaddr_in bsd_from[RIG_BURST_MAX];

static void
bsd_readers(int on)
{
	weir_setsockopt(bsd_fd, SOL_WEIR, WEIR_SO_READERS, &on, sizeof(on));
}

static void
run_bsd_recvmmsg(void *ctx, uint64_t n)
{
	struct rig *r = ctx;
	const unsigned int burst = r->conf->burst;
	struct mmsghdr msg[RIG_BURST_MAX];
	struct iovec iov[RIG_BURST_MAX];

	for (unsigned int i = 0; i < burst; i++) {
		iov[i] = (struct iovec){r->slot[i].bytes, RIG_ROOM};
		msg[i].msg_hdr = (struct msghdr){
			.msg_name = &bsd_from[i], .msg_iov = &iov[i], .msg_iovlen = 1};
	}
	bsd_readers(1);
	for (uint64_t done = 0; done < n;) {
		int k;

		weir_turn(r->lc);
		do {
			for (unsigned int i = 0; i < burst; i++)
				msg[i].msg_hdr.msg_namelen = sizeof(bsd_from[i]);
			k = weir_recvmmsg(bsd_fd, msg, burst, MSG_DONTWAIT, NULL);
			bench_use(msg);
			done += k > 0 ? (unsigned int)k : 0;
		} while (k == (int)burst);
		bench_use(bsd_from);
		bench_use(r->slot);
	}
}

static void
run_bsd_recvfrom(void *ctx, uint64_t n)
{
	struct rig *r = ctx;

	bsd_readers(0);
	for (uint64_t done = 0; done < n;) {
		unsigned int i = 0;

		weir_turn(r->lc);
		for (;;) {
			struct rig_slot *slot = &r->slot[i % RIG_BURST_MAX];
			socklen_t size = sizeof(bsd_from[0]);
			ssize_t len = weir_recvfrom(
				bsd_fd, slot->bytes, sizeof(slot->bytes), MSG_DONTWAIT,
				(struct sockaddr *)&bsd_from[i++ % RIG_BURST_MAX], &size);

			if (len < 0)
				break;
			slot->len = (uint32_t)len;
			done++;
		}
		bench_use(bsd_from);
		bench_use(r->slot);
	}
}

/* A descriptor in the place of the rig's socket. */
static int
bsd_up(struct rig *r)
{
	const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(RIG_PORT)};

	weir_socket_close(r->sk);
	r->sk = NULL;
	if (weir_bsd_start(r->stack) != 0)
		return -1;
	bsd_fd = weir_socket(AF_INET, SOCK_DGRAM, 0);
	return bsd_fd >= 0 ? weir_bind(bsd_fd, (const struct sockaddr *)&any, sizeof(any)) : -1;
}

static const struct bench_variant variants[] = {
	{.name = "ref-sums", .run = run_ref_sums, .ctx = &rig_sums},
	{.name = "ref-flags", .run = run_ref_flags, .ctx = &rig_flags},
	{.name = "ref-sums-1", .run = run_ref_sums, .ctx = &rig_one},
	{.name = "ref-parse", .reference = "ref-sums", .run = run_ref_parse, .ctx = &rig_sums},
	{.name = "stack-copy", .reference = "ref-sums", .run = run_stack_copy, .ctx = &rig_sums},
	{.name = "stack-zerocopy",
	 .reference = "ref-flags",
	 .run = run_stack_zerocopy,
	 .ctx = &rig_flags},
	{.name = "stack-copy-1", .reference = "ref-sums-1", .run = run_stack_copy, .ctx = &rig_one},
	{.name = "stack-recv", .reference = "ref-sums", .run = run_stack_recv, .ctx = &rig_sums},
	{.name = "stack6-copy",
	 .reference = "stack-copy",
	 .run = run_stack_copy,
	 .ctx = &rig_sums6},
	{.name = "stack6-zerocopy",
	 .reference = "stack-zerocopy",
	 .run = run_stack_zerocopy,
	 .ctx = &rig_flags6},
	{.name = "stack6-recv",
	 .reference = "stack-recv",
	 .run = run_stack_recv,
	 .ctx = &rig_sums6},
	{.name = "bsd-recvmmsg", .reference = "ref-sums", .run = run_bsd_recvmmsg, .ctx = &rig_bsd},
	{.name = "bsd-recvfrom", .reference = "ref-sums", .run = run_bsd_recvfrom, .ctx = &rig_bsd},
};

static const struct bench rx = {
	.experiment = "rx",
	.unit = "packet",
	.variants = variants,
	.n_variants = RTE_DIM(variants),
	.n = 8192,
};

int
main(int argc, char **argv)
{
	struct bench_opts opts;
	int ret = bench_begin(&opts, argc, argv);

	if (ret >= 0)
		return ret;
	if (opts.list)
		return bench_run(&opts, &rx);
	ret = BENCH_FAILED;
	if (rig_up(&rig_sums, &conf_sums, &opts) == 0 &&
	    rig_up(&rig_flags, &conf_flags, &opts) == 0 &&
	    rig_up(&rig_sums6, &conf_sums6, &opts) == 0 &&
	    rig_up(&rig_flags6, &conf_flags6, &opts) == 0 &&
	    rig_up(&rig_one, &conf_one, &opts) == 0 && rig_up(&rig_bsd, &conf_bsd, &opts) == 0 &&
	    bsd_up(&rig_bsd) == 0)
		ret = bench_run(&opts, &rx);
	weir_bsd_stop();
	/* A run in which something vanished is no run. */
	if (rig_down(&rig_sums) != 0 || rig_down(&rig_flags) != 0 || rig_down(&rig_one) != 0 ||
	    rig_down(&rig_sums6) != 0 || rig_down(&rig_flags6) != 0 || rig_down(&rig_bsd) != 0)
		return BENCH_FAILED;
	return ret;
}
