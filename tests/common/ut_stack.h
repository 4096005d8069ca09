/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack on test ports, with time under the test's hand: the fixture of every test of src/stack.
 *
 * One thread, the test's own, is attached as every worker, so that each step of each worker happens
 * when the test says so. Frames go in by ut_stack_rx*(), which also runs the workers until nothing
 * moves, and come out one by one by ut_stack_take(). Ports are rings unless cfg says otherwise: port
 * p has address 10.0.p.1/24, MAC 02:00:00:00:p:01, so that port 0 is what ut_pkt.h calls "our". With cfg.ip6 it has
 * fd00:0:0:p::1/64 as well, no link-local address unless cfg.port says so, and no duplicate address detection.
 *
 * The tear-down always asserts, also when the case forgot: nothing vanished (weir_stats_check), the
 * stack can be destroyed, the port saw no wrong request, and every mbuf is back in its pool.
 *
 *	static void case_name(void **state)
 *	{
 *		struct ut_stack *s = *state;
 *		struct ut_stack_cfg cfg = ut_stack_cfg();
 *		cfg.stack.hold = 2;
 *		ut_stack_up(s, &cfg);
 *		...
 *	}
 *	... UT_STACK_TEST(case_name) ...
 */
#ifndef UT_STACK_H
#define UT_STACK_H

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include <weir/weir.h>

#include "common/ut.h"
#include "common/ut_pkt.h"
#include "testport.h"

#define UT_STACK_PORTS   3
#define UT_STACK_WORKERS 4
#define UT_FRAME_MAX     9216

struct ut_stack_cfg {
	struct weir_stack_conf stack;
	struct weir_port_conf port; /* of every port; device is filled in */
	struct testport_cfg dev;    /* of every device; mac is filled in */
	unsigned int n_ports;       /* 1 */
	unsigned int host;          /* 10.0.p.(1 + host), MAC ...:host:p:01; for two in one case */
	bool real_clock;            /* false: ut_clock */
	bool no_addresses;
	bool ip6;
	bool announcements; /* leave what the stack says about its addresses at start to the case */
	bool no_start;
	bool no_attach;
	bool allow_port_errors; /* the case hands the port something wrong on purpose */
};

struct ut_stack {
	struct ut_stack_cfg cfg;
	struct weir_stack *stack;
	struct weir_lcore *w[UT_STACK_WORKERS];
	struct rte_mempool *pool; /* of injected frames and of payloads */
	uint16_t ethdev[UT_STACK_PORTS];
	char device[UT_STACK_PORTS][32];
	struct weir_stats mark;
	struct weir_socket *sk[8];
	unsigned int n_sk;
};

/* A transmitted frame. */
struct ut_frame {
	uint16_t len, queue, n_segs;
	uint8_t b[UT_FRAME_MAX];
};

#define UT_STACK_TEST(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, ut_stack_teardown)

struct ut_stack_cfg ut_stack_cfg(void);

int ut_stack_setup(void **state);
int ut_stack_teardown(void **state);

/* Make ports, stack, addresses; start; attach the calling thread as every worker. */
void ut_stack_up(struct ut_stack *s, const struct ut_stack_cfg *cfg);

/* The other way, with all assertions. The tear-down calls it when the case has not. */
void ut_stack_down(struct ut_stack *s);

/* Attach the calling thread as all workers; detach it. */
void ut_stack_attach(struct ut_stack *s);
void ut_stack_detach(struct ut_stack *s);

/* Open a socket and bind it to any:port (host order; 0: leave it unbound). Closed by the tear-down. */
struct weir_socket *ut_stack_socket(struct ut_stack *s, uint16_t port);
/* The same with a configuration. */
struct weir_socket *ut_stack_socket_conf(struct ut_stack *s, uint16_t port,
					 const struct weir_socket_conf *conf);

/* An IPv6 socket, bound to [::]:port. */
struct weir_socket *ut_stack_socket6(struct ut_stack *s, uint16_t port);

/* Close it now. */
void ut_stack_close(struct ut_stack *s, struct weir_socket *sk);

/* Turns of all workers until none of them has work; one whole idle round at the end. */
void ut_stack_poll(struct ut_stack *s);

/* Let time pass in steps of step_ns, with turns after each. */
void ut_stack_pass(struct ut_stack *s, uint64_t ns, uint64_t step_ns);

/* Inject one mbuf into rx queue `queue` of a port, without a turn. */
void ut_stack_inject(struct ut_stack *s, unsigned int port, uint16_t queue, struct rte_mbuf *m);

/* Inject a packet or bytes into queue 0, and poll. */
void ut_stack_rx(struct ut_stack *s, unsigned int port, const struct ut_pkt *pkt);
void ut_stack_rx_mbuf(struct ut_stack *s, unsigned int port, struct rte_mbuf *m);

/* The next frame that the port transmitted; false: none. */
bool ut_stack_take(struct ut_stack *s, unsigned int port, struct ut_frame *f);
/* The same, which must be there. */
void ut_stack_must_take(struct ut_stack *s, unsigned int port, struct ut_frame *f);
/* How many frames are waiting to be taken. */
unsigned int ut_stack_pending(struct ut_stack *s, unsigned int port);

/* A permanent neighbour UT_PEER_IP at UT_PEER_MAC on port 0. */
void ut_stack_peer(struct ut_stack *s);
/* Likewise UT_PEER_IP6. */
void ut_stack_peer6(struct ut_stack *s);

/* IPv6 address of 16 bytes, port in host order. */
struct weir_addr ut_addr6(const void *ip, uint16_t port);

/* An ARP reply "ip is at mac" to us, on a port. */
void ut_stack_arp_reply(struct ut_stack *s, unsigned int port, uint32_t ip, const void *mac);

/* Is the frame an ARP request for ip? */
bool ut_frame_is_ask(const struct ut_frame *f, uint32_t ip);

/* An mbuf of s->pool with len pattern bytes as payload, with headroom for headers. */
struct rte_mbuf *ut_stack_payload(struct ut_stack *s, size_t len);

/* Remember the counters. */
void ut_stack_mark(struct ut_stack *s);

/* Since the mark exactly n drops for this reason, and none for any other; then mark again. */
void ut_stack_only_drop(struct ut_stack *s, enum weir_drop reason, uint64_t n, const char *what);

/* Difference of one counter since the mark. */
#define ut_stack_since(s, member) ut_stack_diff((s), offsetof(struct weir_stats, member))
uint64_t ut_stack_diff(struct ut_stack *s, size_t offset);

/* weir_stats_check, saying what is wrong. */
void ut_stack_identity(struct ut_stack *s, const char *when);

/* Spin until cond(arg) with a deadline of 20 seconds of real time; fails the case otherwise. */
void ut_wait_for(bool (*cond)(void *arg), void *arg, const char *what);

#endif /* UT_STACK_H */
