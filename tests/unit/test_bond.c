/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A net_bonding device of two test ports, active-backup, is a port as any other: started with its members, spoken
 * to by its MAC, with another member when the link of the first goes.
 *
 * What to know about such ports: the members may not be ports themselves, nor be started by anybody; the device
 * looks at its members' links by a timer of its own (10 ms; the argument lsc_poll_period_ms is refused by DPDK
 * 22.11), so a link that goes is noticed after that and the stack's own look; the MAC is that of the first member;
 * it can only be taken away (hotplug) once it has been closed, which lets the members go.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <sched.h>

#include <rte_dev.h>
#include <rte_ethdev.h>

#include "control_state.h"

#define BOND "net_bonding_weir"

static uint16_t member[2];
static char name[2][32];

/* The bond as the stack's port 0, on two fresh test ports. False: there is no such driver here. */
static bool
bond_up(struct ut_stack *s)
{
	static unsigned int serial;
	struct ut_stack_cfg cfg = ut_stack_cfg();
	struct weir_addr a = weir_addr_v4(UT_OUR_IP, 0);
	struct weir_port_conf port;
	struct weir_error err = {0};
	struct testport_cfg dev = cfg.dev;
	char args[160];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(name[i], sizeof(name[i]), "net_weirtest_bond%u_%u", serial, i);
		memcpy(dev.mac.addr_bytes, UT_OUR_MAC, 6);
		dev.mac.addr_bytes[3] = (uint8_t)i;
		assert_int_equal(testport_create(name[i], &dev, &member[i]), 0);
	}
	serial++;
	snprintf(args, sizeof(args), "mode=1,slave=%s,slave=%s,primary=%s", name[0], name[1],
		 name[0]);
	if (rte_eal_hotplug_add("vdev", BOND, args) != 0) {
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(testport_destroy(name[i]), 0);
		return false;
	}
	cfg.n_ports = 0;
	cfg.no_start = true;
	cfg.real_clock = true;
	ut_stack_up(s, &cfg);
	weir_port_conf_init(&port);
	port.device = BOND;
	ut_check(weir_port_add(s->stack, &port, &err) == 0, "%s", err.text);
	assert_int_equal(weir_addr_add(s->stack, 0, &a, 24, &err), 0);
	ut_check(weir_stack_start(s->stack, &err) == 0, "%s", err.text);
	ut_stack_attach(s);
	return true;
}

static void
bond_down(struct ut_stack *s)
{
	uint16_t id;

	testport_discard(member[0]);
	testport_discard(member[1]);
	ut_stack_down(s);
	assert_int_equal(rte_eth_dev_get_port_by_name(BOND, &id), 0);
	assert_int_equal(rte_eth_dev_close(id), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", BOND), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(testport_destroy(name[i]), 0);
}

static struct ut_stack *now;

static bool
link_is_up(void *arg)
{
	ut_stack_poll(now);
	return atomic_load(&now->stack->ports[0]->link_up) == *(bool *)arg;
}

/* One datagram in by a member; the answer must leave by it. */
static bool
answers_by(void *arg)
{
	const unsigned int i = *(unsigned int *)arg;
	struct ut_stack *s = now;
	struct ut_pkt p = ut_pkt_udp();
	struct weir_addr from;
	char b[64];
	bool seen = false;

	memcpy(p.eth_dst, s->stack->ports[0]->parse.mac, 6);
	if (testport_inject(member[i], 0, (struct rte_mbuf *[]){ut_pkt_mbuf(&p, s->pool)}, 1) != 1)
		return false;
	ut_stack_poll(s);
	if (weir_recv(s->w[0], s->sk[0], b, sizeof(b), &from) == 18)
		(void)weir_send(s->w[0], s->sk[0], b, 18, &from);
	ut_stack_poll(s);
	for (unsigned int k = 0; k < 2; k++) {
		struct rte_mbuf *m;

		while (testport_collect(member[k], 0, &m, 1) == 1) {
			seen |= k == i && m->pkt_len == 60;
			rte_pktmbuf_free(m);
		}
	}
	return seen;
}

static void
a_bond_is_a_port_and_changes_members(void **state)
{
	struct ut_stack *s = *state;
	struct weir_port_info info;
	bool up = true;
	bool down = false;
	unsigned int first = 0;
	unsigned int second = 1;

	now = s;
	if (!bond_up(s))
		ut_skip("EAL makes no net_bonding device of two test ports here");
	ut_stack_socket(s, UT_OUR_PORT);
	ut_wait_for(link_is_up, &up, "the bond's link");
	ut_stack_peer(s);
	assert_int_equal(weir_port_info_get(s->stack, 0, &info), 0);
	assert_string_equal(info.device, BOND);
	assert_memory_equal(info.mac, ((uint8_t[]){2, 0, 0, 0, 0, 1}), 6);
	ut_wait_for(answers_by, &first, "an answer by the first member");
	assert_int_equal(testport_set_link(member[0], false), 0);
	ut_wait_for(answers_by, &second, "an answer by the second member");
	assert_true(atomic_load(&s->stack->ports[0]->link_up));
	assert_int_equal(testport_set_link(member[1], false), 0);
	ut_wait_for(link_is_up, &down, "the loss of both links");
	assert_int_equal(testport_set_link(member[0], true), 0);
	ut_wait_for(link_is_up, &up, "the first link again");
	ut_wait_for(answers_by, &first, "an answer by the first member again");
	bond_down(s);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		UT_STACK_TEST(a_bond_is_a_port_and_changes_members),
	};

	return UT_RUN(cases, NULL, NULL);
}
