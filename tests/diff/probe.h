/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The differential probe: what every file of facts uses.
 *
 * A fact is a small piece of socket code with a stable name, e.g. "bind.twice", and a result of one
 * line. It is written once against the POSIX calls and compiled twice: for the kernel's sockets as
 * it stands, for weir's with posix_weir.h in front (DIFF_WEIR defined), which renames the calls.
 *
 *	FACT(bind, twice, "v4")
 *	{
 *		int fd = udp();
 *
 *		say("%s", ret(bind4(fd, "127.0.0.1", port(0))));
 *		say("%s", ret(bind4(fd, "127.0.0.1", port(1))));
 *	}
 *
 * gives "bind.twice: ok EINVAL". Results hold names, never numbers that vary: errno names, flag
 * names, payloads that are words, "p" for the fact's first port, "eph" for a chosen one. What a fact
 * opened is closed behind it. Facts run in the main thread unless they start threads by bg().
 *
 * needs is a list of what the fact stands on: v4, v6, icmp (errors from the network), frag
 * (fragments), mcast (groups).
 */
#ifndef DIFF_PROBE_H
#define DIFF_PROBE_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "env.h"
#ifdef DIFF_WEIR
#include "posix_weir.h"
#endif

/* Newer than some C libraries. */
#ifndef SO_RESERVE_MEM
#define SO_RESERVE_MEM 73
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef UDP_NO_CHECK6_TX
#define UDP_NO_CHECK6_TX 101
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef IP_RECVFRAGSIZE
#define IP_RECVFRAGSIZE 25
#endif

struct fact {
	const char *name, *needs;
	void (*run)(void);
	struct fact *next;
};
void fact_add(struct fact *fact);

#define FACT(area, what, needs_)                                                                   \
	static void run_##area##_##what(void);                                                     \
	__attribute__((constructor)) static void add_##area##_##what(void)                         \
	{                                                                                          \
		static struct fact f = {#area "." #what, needs_, run_##area##_##what, NULL};       \
		fact_add(&f);                                                                      \
	}                                                                                          \
	static void run_##area##_##what(void)

/* ---- results ---- */

/* Appends to the fact's line, with a blank in between. Main thread. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "ok" for 0, the number for a count, the errno's name for a negative value. */
const char *ret(long result);
/* Name of an errno; "0" for none. */
const char *err_name(int err);
/* Texts such as "IN|OUT", "TRUNC|CTRUNC"; "-" when empty. */
const char *poll_names(unsigned int events);
const char *msg_names(int flags);
/* "ADDRESS:PORT" with the port as "0", "p", "p+1", "eph" or "other". */
const char *name_text(const struct sockaddr *name, socklen_t len);
/* A short-lived string. */
const char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- sockets ---- */

/* The fact's port number i (0 .. 9): nobody else's. */
int port(int i);

/* Sockets, closed at the end of the fact. */
int udp(void);
int udp6(void);
int keep(int fd);       /* close this one too */
void close_now(int fd); /* close it here */

struct sockaddr_in in4(const char *ip, int p);
struct sockaddr_in6 in6(const char *ip, int p);
int bind4(int fd, const char *ip, int p);
int connect4(int fd, const char *ip, int p);
int bind6(int fd, const char *ip, int p);
int connect6(int fd, const char *ip, int p);
int disconnect(int fd);
/* udp() and bind4() or connect4(), which must work. */
int bound(const char *ip, int p);
int connected(const char *ip, int p);
int bound6(const char *ip, int p);

/* Send text, and let it arrive. ip NULL: to the peer. As sendto(). */
long tx(int fd, const char *words, const char *ip, int p);
long tx6(int fd, const char *words, const char *ip, int p);
/* The same with len bytes of a pattern. */
long tx_n(int fd, size_t len, const char *ip, int p);

/* Receive without blocking: the payload ("''" when empty, "N bytes" when long), or the errno. */
const char *rx(int fd);
/* n of them, separated by blanks. (Two rx() in one say() would run in any order.) */
const char *rx_n(int fd, int n);
/* With flags beside MSG_DONTWAIT. */
const char *rx_flags(int fd, int flags);
/* "PAYLOAD from NAME", or the errno. */
const char *rx_from(int fd);
/* Read and forget everything that is queued; how many. */
int drain(int fd);

/* getsockname() and getpeername() as text. */
const char *local_name(int fd);
const char *peer_name(int fd);

int set(int fd, int level, int option, int value);
/* The option's int as text, or the errno. */
const char *get(int fd, int level, int option);
int get_int(int fd, int level, int option);
/* SO_BINDTODEVICE. */
int to_device(int fd, int wire);
/* SO_ERROR as a name. */
const char *so_error(int fd);

/* Events that poll(2) reports at once for IN|OUT|PRI|RDHUP. */
const char *polled(int fd);
const char *polled_for(int fd, short events, int timeout_ms);

/* A received message with everything about it. */
struct got {
	long n;
	int err;
	int flags;
	char data[65536];
	struct sockaddr_storage name;
	socklen_t name_len;
	_Alignas(16) unsigned char control[1024];
	size_t control_len;
};
/* recvmsg() without blocking, with room for everything; the same object each time. */
struct got *rx_msg(int fd, int flags);
/* Its control message, NULL when it has none. */
const struct cmsghdr *cmsg_of(const struct got *g, int level, int type);
/* Its int, or -1. */
int cmsg_int(const struct got *g, int level, int type);
/* All its control messages by name, in order. */
const char *cmsg_names(const struct got *g);

/* sendmsg() of text with one control message, and let it arrive. */
long tx_cmsg(int fd, const char *words, const char *ip, int p, int level, int type,
	     const void *value, size_t len);

/* An iovec of a string literal. */
#define VEC(words)                                                                                 \
	{                                                                                          \
		(void *)(uintptr_t)(words), sizeof(words) - 1                                      \
	}

/* ---- threads ---- */

struct bg {
	pthread_t thread;
	void (*fn)(struct bg *bg);
	int fd;
	int option;      /* for fn */
	const void *arg; /* for fn */
	char out[256];   /* fn's result */
	_Atomic int tid; /* set when it runs */
	_Atomic int finished;
};
/* Start fn in a thread. Facts that need it to be inside its call use bg_await_blocked(). */
void bg(struct bg *b, void (*fn)(struct bg *bg), int fd);
void bg_await_blocked(struct bg *b);
/* Its result; "still blocked" after timeout_ms, and then join it later. */
const char *bg_result(struct bg *b, int timeout_ms);
void bg_join(struct bg *b);

uint64_t now_ms(void);

/* ---- the far end of the wires ---- */

struct wire_udp {
	const char *src, *dst;
	int sport, dport;
	const void *data;
	size_t len;
	int csum;    /* 0: right; 1: wrong; 2: zero, that is none */
	int udp_len; /* added to the right UDP length */
	int trailer; /* bytes of IP payload behind the UDP datagram */
	uint8_t tos, ttl;
	bool broadcast; /* to the broadcast MAC */
	bool bad_ip_csum;
	const unsigned char *mac;
	uint16_t frag; /* flags and offset word, as number */
	uint16_t ident;
};

/* The far end sends a datagram: from PEER to HOST unless said otherwise. */
void wire_send(int wire, struct wire_udp u);
/* PEER:sport to HOST:dport with words, and let it arrive. */
void wire_say(const char *words, int sport, int dport);

/* An IPv4 packet that we sent, taken apart. */
struct wire_got {
	size_t len; /* 0: none */
	unsigned char frame[65536 + 14];
	const unsigned char *ip, *l4;
	size_t l4_len;
	uint8_t proto, tos, ttl;
	uint16_t frag, ident, sport, dport;
	const unsigned char *data;
	size_t data_len;
	bool csum_ok; /* of UDP or ICMP, computed here */
	uint16_t csum;
	char src[INET_ADDRSTRLEN], dst[INET_ADDRSTRLEN];
};
/* The next IPv4 packet that left; the same object each time. ARP, IPv6 and IGMP are passed over. */
struct wire_got *wire_take(int wire);
/* "PAYLOAD from ADDRESS to ADDRESS", or "nothing". */
const char *wire_text(int wire);
/* Forget what was sent so far. */
void wire_flush(void);

/* The far end answers packet g (from wire_take) with an ICMP error from `from`. */
void wire_icmp(int wire, const struct wire_got *g, int type, int code, uint32_t rest,
	       const char *from);

uint16_t csum16(uint32_t sum, const void *data, size_t len);

#endif /* DIFF_PROBE_H */
