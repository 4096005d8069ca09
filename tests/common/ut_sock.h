/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short hands for tests of sockets on a ut_stack: open with options, bind and connect by numbers in host
 * order, inject a datagram from anywhere to anywhere, read what arrived. Failures of what must not
 * fail end the case.
 */
#ifndef UT_SOCK_H
#define UT_SOCK_H

#include <errno.h>

#include "common/ut_stack.h"

/* Port p of ut_stack: our address there, and a host on its link. */
#define UT_OUR(p)     UT_IP(10, 0, p, 1)
#define UT_HOST(p, h) UT_IP(10, 0, p, h)
#define UT_BCAST(p)   UT_IP(10, 0, p, 255)

/* Closed by weir_stack_destroy() when the case does not. */
static inline struct weir_socket *
ut_sock(struct ut_stack *s)
{
	struct weir_socket *sk;
	int ret = weir_socket_open(s->stack, NULL, &sk);

	ut_check(ret == 0, "open: %d", ret);
	return sk;
}

static inline void
ut_sock_set(struct weir_socket *sk, enum weir_sockopt opt, int64_t value)
{
	int ret = weir_socket_set(sk, opt, value);

	ut_check(ret == 0, "option %d to %" PRId64 ": %d", opt, value, ret);
}

static inline int64_t
ut_sock_get(const struct weir_socket *sk, enum weir_sockopt opt)
{
	int64_t value;
	int ret = weir_socket_get(sk, opt, &value);

	ut_check(ret == 0, "option %d: %d", opt, ret);
	return value;
}

static inline int
ut_sock_bind(struct weir_socket *sk, uint32_t ip, uint16_t port)
{
	struct weir_addr a = weir_addr_v4(ip, port);

	return weir_socket_bind(sk, &a);
}

static inline int
ut_sock_connect(struct weir_socket *sk, uint32_t ip, uint16_t port)
{
	struct weir_addr a = weir_addr_v4(ip, port);

	return weir_socket_connect(sk, &a);
}

/* An open socket bound to ip:port. */
static inline struct weir_socket *
ut_sock_bound(struct ut_stack *s, uint32_t ip, uint16_t port)
{
	struct weir_socket *sk = ut_sock(s);
	int ret = ut_sock_bind(sk, ip, port);

	ut_check(ret == 0, "bind to %08x:%u: %d", ip, port, ret);
	return sk;
}

/* A name in host order. */
static inline uint32_t
ut_addr_ip(const struct weir_addr *a)
{
	return ut_get32(a->ip.b);
}

static inline uint16_t
ut_addr_port(const struct weir_addr *a)
{
	return ut_get16((const uint8_t *)&a->port);
}

static inline void
ut_sock_must_be(const struct weir_socket *sk, uint32_t ip, uint16_t port, const char *when)
{
	struct weir_addr a;

	weir_socket_local(sk, &a);
	ut_check(ut_addr_ip(&a) == ip && ut_addr_port(&a) == port,
		 "%s: named %08x:%u instead of %08x:%u", when, ut_addr_ip(&a), ut_addr_port(&a), ip,
		 port);
}

/* A datagram as a struct, for a port: right MACs, payload of the given bytes. */
static inline struct ut_pkt
ut_sock_pkt(unsigned int port, uint32_t src, uint16_t sport, uint32_t dst, uint16_t dport,
	    const void *payload, size_t len)
{
	struct ut_pkt p = ut_pkt_udp();

	p.eth_dst[4] = (uint8_t)port;
	if ((dst >> 28) == 0xe)
		memcpy(p.eth_dst,
		       (const uint8_t[]){0x01, 0x00, 0x5e, (dst >> 16) & 0x7f, (dst >> 8) & 0xff,
					 dst & 0xff},
		       6);
	else if ((dst & 0xff) == 0xff)
		memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	p.ip_src = src;
	p.udp_sport = sport;
	p.ip_dst = dst;
	p.udp_dport = dport;
	p.payload = payload;
	p.payload_len = len;
	return p;
}

/* Let one arrive on a port, carrying a number. */
static inline void
ut_sock_rx(struct ut_stack *s, unsigned int port, uint32_t src, uint16_t sport, uint32_t dst,
	   uint16_t dport, uint32_t number)
{
	struct ut_pkt p = ut_sock_pkt(port, src, sport, dst, dport, &number, sizeof(number));

	ut_stack_rx(s, port, &p);
}

/* Datagrams that were queued for it, ever. */
static inline uint64_t
ut_sock_queued(const struct weir_socket *sk)
{
	struct weir_socket_stats st;

	weir_socket_stats_get(sk, &st);
	return st.queued;
}

static inline uint64_t
ut_sock_charged(const struct weir_socket *sk)
{
	struct weir_socket_stats st;

	weir_socket_stats_get(sk, &st);
	return st.charged_bytes;
}

/* Read and forget everything that is queued. Returns how many. */
static inline unsigned int
ut_sock_drain(struct ut_stack *s, struct weir_socket *sk)
{
	struct weir_rxmsg msg[16];
	unsigned int total = 0;
	uint16_t n;

	while ((n = weir_recv_burst(s->w[0], sk, msg, UT_N(msg))) > 0) {
		for (uint16_t i = 0; i < n; i++)
			weir_mbuf_free_bulk(&msg[i].m, 1);
		total += n;
	}
	return total;
}

/* The next datagram must carry this number. */
static inline void
ut_sock_must_read(struct ut_stack *s, struct weir_socket *sk, uint32_t number, const char *what)
{
	uint32_t got = 0;
	ssize_t ret = weir_recv(s->w[0], sk, &got, sizeof(got), NULL);

	ut_check(ret == (ssize_t)sizeof(got), "%s: received %zd", what, ret);
	ut_check(got == number, "%s: %u instead of %u", what, got, number);
}

static inline void
ut_sock_must_be_empty(struct ut_stack *s, struct weir_socket *sk, const char *what)
{
	uint8_t byte;
	ssize_t ret = weir_recv(s->w[0], sk, &byte, sizeof(byte), NULL);

	ut_check(ret == -EAGAIN, "%s: received %zd", what, ret);
}

/* Which of the n sockets got the one datagram that was injected since the counts in before[] (updated); -1: none. */
static inline int
ut_sock_who(struct weir_socket *const *sk, uint64_t *before, unsigned int n)
{
	int who = -1;

	for (unsigned int i = 0; i < n; i++) {
		uint64_t now;

		if (sk[i] == NULL)
			continue;
		now = ut_sock_queued(sk[i]);
		if (now != before[i]) {
			ut_check(who < 0 && now == before[i] + 1, "sockets %d and %u both got it",
				 who, i);
			who = (int)i;
		}
		before[i] = now;
	}
	return who;
}

#endif /* UT_SOCK_H */
