/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * See rig.h. Not measured: everything here is set-up.
 */
#include "rig.h"

#include <stdio.h>
#include <string.h>

#include <rte_ethdev.h>

#include "testport.h"

#define ETH_MIN 60

static uint16_t
frame6(const struct rig *r, uint8_t *frame, unsigned int len)
{
	struct wire_ip6 ip = {
		.ver_tc_flow = WIRE_BE32(0x60000000),
		.payload_len = WIRE_BE16(WIRE_UDP_LEN + len),
		.next = WIRE_PROTO_UDP,
		.hop_limit = 64,
	};
	struct wire_udp udp = {
		.sport = WIRE_BE16(RIG_PEER_PORT),
		.dport = WIRE_BE16(RIG_PORT),
		.len = WIRE_BE16(WIRE_UDP_LEN + len),
	};
	uint64_t sum;

	memcpy(ip.src, r->peer.ip.b, sizeof(ip.src));
	memcpy(ip.dst, r->our.ip.b, sizeof(ip.dst));
	sum = wire_pseudo6(ip.src, ip.dst, ip.next, WIRE_UDP_LEN + len);
	udp.csum =
		(wire_be16)~wire_fold(wire_sum(r->payload, len, wire_sum(&udp, sizeof(udp), sum)));
	memset(frame, 0, ETH_MIN);
	memcpy(frame, &r->eth, WIRE_ETH_LEN);
	memcpy(frame + WIRE_ETH_LEN, &ip, sizeof(ip));
	memcpy(frame + WIRE_ETH_LEN + sizeof(ip), &udp, sizeof(udp));
	memcpy(frame + WIRE_ETH_LEN + sizeof(ip) + sizeof(udp), r->payload, len);
	return (uint16_t)(WIRE_ETH_LEN + WIRE_IP6_LEN + WIRE_UDP_LEN + len);
}

uint16_t
rig_frame(const struct rig *r, uint8_t *frame, unsigned int len)
{
	struct wire_ip4 ip = {
		.ver_ihl = 0x45,
		.total_len = WIRE_BE16(WIRE_IP4_MIN + WIRE_UDP_LEN + len),
		.frag = WIRE_BE16(WIRE_IP4_DF),
		.ttl = 64,
		.proto = WIRE_PROTO_UDP,
		.src = WIRE_BE32(RIG_PEER_IP),
		.dst = WIRE_BE32(RIG_OUR_IP),
	};
	struct wire_udp udp = {
		.sport = WIRE_BE16(RIG_PEER_PORT),
		.dport = WIRE_BE16(RIG_PORT),
		.len = WIRE_BE16(WIRE_UDP_LEN + len),
	};
	unsigned int total = WIRE_ETH_LEN + WIRE_IP4_MIN + WIRE_UDP_LEN + len;
	uint64_t sum = wire_pseudo4(ip.src, ip.dst, ip.proto, (uint16_t)(WIRE_UDP_LEN + len));

	if (r->conf->v6)
		return frame6(r, frame, len);
	ip.csum = wire_ip4_csum(&ip, sizeof(ip));
	sum = wire_sum(r->payload, len, wire_sum(&udp, sizeof(udp), sum));
	udp.csum = (wire_be16)~wire_fold(sum);
	memset(frame, 0, ETH_MIN);
	memcpy(frame, &r->eth, WIRE_ETH_LEN);
	memcpy(frame + WIRE_ETH_LEN, &ip, sizeof(ip));
	memcpy(frame + WIRE_ETH_LEN + sizeof(ip), &udp, sizeof(udp));
	memcpy(frame + WIRE_ETH_LEN + sizeof(ip) + sizeof(udp), r->payload, len);
	return (uint16_t)RTE_MAX(total, (unsigned int)ETH_MIN);
}

static int
fail(const struct rig *r, const char *what, int ret, const struct weir_error *err)
{
	fprintf(stderr, "bench: %s: %s: %d %s\n", r->conf->name, what, ret,
		err != NULL ? err->text : "");
	return -1;
}

/* The device, with the frames that it will bring. */
static int
device_up(struct rig *r)
{
	const uint64_t rx = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
	const uint64_t tx = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM;
	struct testport_cfg cfg = {.mode = TESTPORT_FEED,
				   .queues_max = (uint16_t)RTE_MAX(r->conf->queues, 1u)};
	struct testport_frame frame;
	struct rte_ether_addr mac;
	uint8_t bytes[RIG_ROOM];
	int ret;

	if (r->conf->offload) {
		cfg.rx_offloads = rx;
		cfg.tx_offloads = tx;
	}
	snprintf(r->device, sizeof(r->device), "net_weirtest_%s", r->conf->name);
	ret = testport_create(r->device, &cfg, &r->ethdev);
	if (ret != 0)
		return fail(r, "testport_create", ret, NULL);
	ret = rte_eth_macaddr_get(r->ethdev, &mac);
	if (ret != 0)
		return fail(r, "macaddr_get", ret, NULL);
	memcpy(r->eth.dst, mac.addr_bytes, WIRE_ETH_ALEN);
	memcpy(r->eth.src, "\x02\x00\x00\x00\x00\x02", WIRE_ETH_ALEN);
	r->eth.type = r->conf->v6 ? WIRE_BE16(WIRE_ETH_IP6) : WIRE_BE16(WIRE_ETH_IP4);
	for (unsigned int i = 0; i < sizeof(r->payload); i++)
		r->payload[i] = (uint8_t)(i * 7 + 1);
	frame.bytes = bytes;
	frame.len_bytes = rig_frame(r, bytes, r->payload_bytes);
	ret = testport_feed(r->ethdev, &frame, 1, NULL, NULL, false);
	return ret == 0 ? 0 : fail(r, "testport_feed", ret, NULL);
}

static int
addresses(struct rig *r, struct weir_error *err)
{
	const struct weir_addr any = {.family = r->our.family};
	int ret = weir_addr_add(r->stack, 0, &r->our, r->conf->v6 ? 64 : 24, err);

	if (ret == 0)
		ret = weir_neigh_add(r->stack, 0, &r->peer, r->eth.src, err);
	if (ret == 0)
		ret = weir_route_add(r->stack, &any, 0, &r->peer, 0, err);
	return ret;
}

static void
names(struct rig *r)
{
	static const uint8_t net[16] = {0xfd, [15] = 1};

	r->our = weir_addr_v4(RIG_OUR_IP, 0);
	r->peer = weir_addr_v4(RIG_PEER_IP, 0);
	if (!r->conf->v6)
		return;
	memcpy(r->our.ip.b, net, sizeof(net));
	memcpy(r->peer.ip.b, net, sizeof(net));
	r->peer.ip.b[15] = 2;
	r->our.family = r->peer.family = WEIR_IPV6;
}

/* A port with more queues than workers is the application's: it polls the further ones itself. */
static int
queues_up(struct rig *r, uint16_t inflight)
{
	const struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	const uint16_t n = (uint16_t)r->conf->queues;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "rig_%s", r->conf->name);
	r->queue_pool = rte_pktmbuf_pool_create(name, n * inflight + 2048 - 1, 256, 64,
						RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (r->queue_pool == NULL)
		return fail(r, "pool", 0, NULL);
	ret = rte_eth_dev_configure(r->ethdev, n, 1, &conf);
	for (uint16_t q = 0; q < n && ret == 0; q++)
		ret = rte_eth_rx_queue_setup(r->ethdev, q, inflight, 0, NULL, r->queue_pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(r->ethdev, 0, inflight, 0, NULL);
	if (ret == 0)
		ret = rte_eth_dev_start(r->ethdev);
	return ret == 0 ? 0 : fail(r, "queues", ret, NULL);
}

int
rig_up(struct rig *r, const struct rig_conf *conf, const struct bench_opts *opts)
{
	struct weir_addr name = weir_addr_v4(0, RIG_PORT);
	struct weir_socket_conf socket;
	struct weir_stack_conf stack;
	struct weir_port_conf port;
	struct weir_error err = {0};
	int ret;

	memset(r, 0, sizeof(*r));
	r->conf = conf;
	r->payload_bytes = opts->payload_bytes;
	names(r);
	name.family = r->our.family;
	if (device_up(r) != 0)
		return -1;
	weir_stack_conf_init(&stack);
	stack.name = conf->name;
	stack.burst = conf->burst;
	weir_port_conf_init(&port);
	port.device = r->device;
	port.rx_desc = opts->inflight;
	port.tx_desc = opts->inflight;
	port.dad = 0;
	port.no_link_local = true;
	if (conf->queues > 1) {
		port.rx_desc = port.tx_desc = 0;
		port.rx_queues = port.tx_queues = 1;
		port.app_managed = true;
		if (queues_up(r, opts->inflight) != 0)
			return -1;
	}
	port.no_announce = true; /* its buffer would come back as a frame of the feed */
	ret = weir_stack_create(&stack, &r->stack, &err);
	if (ret != 0)
		return fail(r, "create", ret, &err);
	ret = weir_port_add(r->stack, &port, &err);
	if (ret < 0)
		return fail(r, "port_add", ret, &err);
	ret = addresses(r, &err);
	if (ret != 0)
		return fail(r, "addresses", ret, &err);
	ret = weir_stack_start(r->stack, &err);
	if (ret != 0)
		return fail(r, "start", ret, &err);
	ret = weir_worker_attach(r->stack, 0, &r->lc);
	if (ret != 0)
		return fail(r, "attach", ret, NULL);
	weir_socket_conf_init(&socket);
	socket.family = r->our.family;
	ret = weir_socket_open(r->stack, &socket, &r->sk);
	if (ret == 0)
		ret = weir_socket_bind(r->sk, &name);
	if (ret != 0)
		return fail(r, "socket", ret, NULL);
	/* The public way to the pool: a buffer knows it. */
	struct rte_mbuf *m;

	if (weir_mbuf_alloc_bulk(r->lc, &m, 1) != 0)
		return fail(r, "alloc", 0, NULL);
	r->pool = m->pool;
	weir_mbuf_free_bulk(&m, 1);
	return 0;
}

int
rig_connect(struct rig *r)
{
	struct weir_addr peer = r->peer;

	peer.port = WIRE_BE16(RIG_PEER_PORT);
	return weir_socket_connect(r->sk, &peer);
}

int
rig_down(struct rig *r)
{
	struct weir_stats st;
	uint64_t drops = 0;
	int ret = 0;

	if (r->stack == NULL)
		return 0;
	/* A loop that drops is fast and useless. The endless feed is cut off only after this look. */
	weir_stats_get(r->stack, &st);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		if (i != WEIR_DROP_RCVQ_FULL || !r->conf->flood)
			drops += st.drops[i];
	if (drops != 0) {
		weir_stats_print(stderr, &st);
		ret = fail(r, "datagrams were dropped", 0, NULL);
	}
	if (r->sk != NULL)
		weir_socket_close(r->sk);
	if (r->lc != NULL)
		weir_lcore_detach(r->lc);
	weir_stack_stop(r->stack);
	if (weir_stats_check(r->stack, &st) != 0) {
		weir_stats_print(stderr, &st);
		ret = fail(r, "the sums do not fit", 0, NULL);
	}
	if (testport_errors(r->ethdev) != 0)
		ret = fail(r, "the port was handed wrong frames", 0, NULL);
	if (weir_stack_destroy(r->stack) != 0)
		ret = fail(r, "buffers are missing", 0, NULL);
	testport_destroy(r->device);
	rte_mempool_free(r->queue_pool);
	r->queue_pool = NULL;
	r->stack = NULL;
	return ret;
}
