/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host that the probe runs on, alike on both sides.
 *
 *   if     index  address         what
 *   lo     LO     127.0.0.1/8     loopback, all our addresses
 *   t0     T0     10.77.0.1/24    a wire whose far end the probe plays: 10.77.0.2 is known to be at
 *                                 PEER_MAC, and so are .10 to .13; nobody answers for 10.77.0.99
 *   t1     T1     10.78.0.1/24    a second wire; 10.78.0.2 at PEER_MAC
 *   t2     T2     10.79.0.1/24    a wire that is down
 *
 * No default route; 192.0.2.1 unreachable, .2 prohibited, .3 blackhole. IPv6 as in facts_v6.c. Local
 * ports are chosen from PORT_LO .. PORT_HI. env_linux.c makes this in a network namespace of its own
 * with TAP interfaces, env_weir.c as a stack on test ports.
 */
#ifndef DIFF_ENV_H
#define DIFF_ENV_H

#include <stdbool.h>
#include <stddef.h>

#define HOST       "10.77.0.1"
#define PEER       "10.77.0.2"
#define SILENT     "10.77.0.99"
#define NET_BCAST  "10.77.0.255"
#define HOST1      "10.78.0.1"
#define PEER1      "10.78.0.2"
#define HOST_DOWN  "10.79.0.1"
#define PEER_DOWN  "10.79.0.2"
#define ELSEWHERE  "203.0.113.1" /* no route */
#define HOST6      "fd77::1"
#define PEER6      "fd77::2"
#define HOST6_1    "fd78::1"
#define ELSEWHERE6 "2001:db8::1"

#define PORT_LO 40000
#define PORT_HI 40063
#define MTU     1500

enum { T0, T1, T2, N_WIRES, LO = N_WIRES };

/* Makes the host; ends the program with 77 and a reason when this machine cannot. */
void env_start(int argc, char **argv);
/* The calling thread is about to use sockets, and will no longer. The main thread need not. */
void env_stop(void);

/* Returns when everything that was sent or injected before has reached its socket or its wire. */
void env_settle(void);

/* Name and index of an interface, as socket options take them. */
const char *env_ifname(int wire);
unsigned int env_ifindex(int wire);
/* MAC of our end of a wire. */
const unsigned char *env_mac(int wire);

/* The far end sends a frame; includes env_settle(). */
void env_wire_put(int wire, const void *frame, size_t len);
/* The next frame that we sent, 0 when there is none. Of the frame at most size bytes are copied. */
size_t env_wire_get(int wire, void *frame, size_t size);

/*
 * Where frames get stuck: number i of 5 addresses on t1, each used once; and lets go what is stuck. Returns
 * how many datagrams left.
 */
const char *env_stalled(int i);
int env_release(void);

/* Largest SO_RCVBUF and SO_SNDBUF that may be asked for, before doubling. */
int env_rmem_max(void);
int env_wmem_max(void);

/* The calling thread loses, or has again, the right to low ports and to privileged options. */
void env_privileged(bool yes);

/* Waits, at most a moment, until another thread of this process sleeps or spins in a blocking call. */
void env_await_blocked(int tid);

/* Name of this side: "linux" or "weir". */
extern const char env_name[];

#endif /* DIFF_ENV_H */
