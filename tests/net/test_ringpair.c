/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two stacks in one process, on two net_ring devices that share a pair of rings crosswise: the one
 * use of net_ring in which somebody answers. One thread is the worker of both, so every step is in
 * order; no privileges, no kernel. Also shows that two stacks live side by side.
 */
#include "common/ut.h"

#include <errno.h>

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <weir/weir.h>

#include "common/ut_eal.h"

#define N_DATAGRAMS 4000u
#define RING_SIZE   1024u
#define PAYLOAD_MAX 1472u
#define ECHO_PORT   7

struct end {
	struct weir_stack *stack;
	struct weir_lcore *lc;
	struct weir_socket *sk;
	struct weir_addr addr; /* with the port */
	uint16_t ethdev;
};

static struct rte_ring *rings[2];
static struct end left, right;

/* The devices, for all cases. */
static int
devices_up(void **state)
{
	int l, r;

	if (ut_eal_setup(state) != 0)
		return -1;
	rings[0] = rte_ring_create("left_to_right", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	rings[1] = rte_ring_create("right_to_left", RING_SIZE, 0, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (rings[0] == NULL || rings[1] == NULL)
		return -1;
	l = rte_eth_from_rings("left", &rings[1], 1, &rings[0], 1, 0);
	r = rte_eth_from_rings("right", &rings[0], 1, &rings[1], 1, 0);
	if (l < 0 || r < 0)
		return -1;
	left.ethdev = (uint16_t)l;
	right.ethdev = (uint16_t)r;
	return 0;
}

static int
devices_down(void **state)
{
	rte_eth_dev_close(left.ethdev);
	rte_eth_dev_close(right.ethdev);
	rte_ring_free(rings[0]);
	rte_ring_free(rings[1]);
	return ut_eal_teardown(state);
}

static void
end_up(struct end *e, const char *name, uint32_t ip, uint16_t port)
{
	struct weir_stack_conf stack_conf;
	struct weir_port_conf port_conf;
	struct weir_error err = {.code = 0};
	struct weir_addr addr = weir_addr_v4(ip, 0);
	char device[RTE_ETH_NAME_MAX_LEN];

	assert_int_equal(rte_eth_dev_get_name_by_port(e->ethdev, device), 0);
	weir_stack_conf_init(&stack_conf);
	stack_conf.name = name;
	assert_int_equal(weir_stack_create(&stack_conf, &e->stack, &err), 0);
	weir_port_conf_init(&port_conf);
	port_conf.device = device;
	assert_int_equal(weir_port_add(e->stack, &port_conf, &err), 0);
	assert_int_equal(weir_addr_add(e->stack, 0, &addr, 24, &err), 0);
	ut_check(weir_stack_start(e->stack, &err) == 0, "%s", err.text);
	assert_int_equal(weir_worker_attach(e->stack, 0, &e->lc), 0);
	e->addr = weir_addr_v4(ip, port);
	assert_int_equal(weir_socket_open(e->stack, NULL, &e->sk), 0);
	assert_int_equal(weir_socket_bind(e->sk, &e->addr), 0);
}

static void
end_down(struct end *e)
{
	struct weir_stats s;

	weir_lcore_detach(e->lc);
	weir_socket_close(e->sk);
	assert_int_equal(weir_stack_stop(e->stack), 0);
	assert_int_equal(weir_stats_check(e->stack, &s), 0);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		ut_check(s.drops[i] == 0, "%s: %" PRIu64, weir_drop_name((enum weir_drop)i),
			 s.drops[i]);
	assert_int_equal(s.rx_consumed[WEIR_PROTO_ARP], s.tx_protocol);
	assert_int_equal(weir_stack_destroy(e->stack), 0);
}

static int
up(void **state)
{
	(void)state;
	end_up(&left, "left", 0x0a4d0001, 5000);
	end_up(&right, "right", 0x0a4d0002, ECHO_PORT);
	return 0;
}

static int
down(void **state)
{
	(void)state;
	end_down(&left);
	end_down(&right);
	return 0;
}

static void
turn(void)
{
	weir_turn(left.lc);
	weir_turn(right.lc);
}

/* The echo on the right: what came goes back, in the same buffer. */
static void
echo(void)
{
	struct weir_rxmsg in[32];
	struct weir_txmsg out[32];
	uint16_t n = weir_recv_burst(right.lc, right.sk, in, 32);

	for (uint16_t i = 0; i < n; i++) {
		out[i] = (struct weir_txmsg){.m = in[i].m, .to = &in[i].peer};
	}
	assert_int_equal(weir_send_burst(right.lc, right.sk, out, n, 0), n);
}

static uint32_t
size_of(uint32_t seq)
{
	return seq * 37 % (PAYLOAD_MAX + 1);
}

static void
fill(uint8_t *p, uint32_t seq)
{
	for (uint32_t i = 0; i < size_of(seq); i++)
		p[i] = (uint8_t)(seq * 31 + i * 7);
}

static void
both_have_a_mac_of_their_own(void **state)
{
	struct weir_port_info l, r;

	(void)state;
	assert_int_equal(weir_port_info_get(left.stack, 0, &l), 0);
	assert_int_equal(weir_port_info_get(right.stack, 0, &r), 0);
	assert_int_equal(l.mac[0] & 3, 2); /* locally administered, not a group */
	assert_int_equal(r.mac[0] & 3, 2);
	assert_memory_not_equal(l.mac, r.mac, sizeof(l.mac));
}

static void
datagrams_come_back_byte_for_byte(void **state)
{
	static uint8_t want[PAYLOAD_MAX], got[PAYLOAD_MAX + 1];
	uint32_t sent = 0, back = 0;
	uint64_t end_ns = weir_clock_ns() + 30 * WEIR_NS_PER_S;

	(void)state;
	while (back < N_DATAGRAMS) {
		struct weir_addr from;
		ssize_t len;

		/* The first ones go out before ARP has an answer: they are held, not lost. */
		while (sent < N_DATAGRAMS && sent - back < 8) {
			fill(want, sent);
			len = weir_send(left.lc, left.sk, want, size_of(sent), &right.addr);
			assert_int_equal(len, size_of(sent));
			sent++;
		}
		turn();
		echo();
		while ((len = weir_recv(left.lc, left.sk, got, sizeof(got), &from)) >= 0) {
			fill(want, back);
			ut_check(len == size_of(back), "datagram %u: %zd bytes", back, len);
			ut_check_bytes(got, want, (size_t)len, "datagram %u", back);
			assert_int_equal(from.ip.v4, right.addr.ip.v4);
			assert_int_equal(from.port, right.addr.port);
			back++;
		}
		assert_int_equal(len, -EAGAIN);
		assert_true(weir_clock_ns() < end_ns);
	}
	assert_int_equal(sent, N_DATAGRAMS);
	assert_string_equal(weir_neigh_state(left.stack, 0, &right.addr, got), "reachable");
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test_setup_teardown(both_have_a_mac_of_their_own, up, down),
		cmocka_unit_test_setup_teardown(datagrams_come_back_byte_for_byte, up, down),
	};

	return UT_RUN(cases, devices_up, devices_down);
}
