/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BSD layer's IPv6 sockets: addresses of both families in and out, control messages, options. The thread is the
 * worker. What Linux does is compared in tests/diff; here is what it cannot show: link-local scopes, the lean ways
 * of receiving, flags of a send, memory.
 */
#include "common/ut_stack.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <unistd.h>

#include <linux/errqueue.h>

#include <weir/bsd.h>

#define PORT 5000

/* Not in every C library's header. */
#define IPV6_FLOWINFO_      11
#define IPV6_FLOWINFO_SEND_ 33
#define UDP_NO_CHECK6_RX_   102

#define fails(call, err)                                                                           \
	do {                                                                                       \
		errno = 0;                                                                         \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ == -1 && errno == (err), "%s: returned %ld, errno %d (%s), not %s",  \
			 #call, got_, errno, strerror(errno), #err);                               \
	} while (0)

#define works(call)                                                                                \
	do {                                                                                       \
		const long got_ = (long)(call);                                                    \
		ut_check(got_ >= 0, "%s: errno %d (%s)", #call, errno, strerror(errno));           \
	} while (0)

#define ADDR(a) ((const struct sockaddr *)&(a)), sizeof(a)

static const uint8_t our_link[16] = {0xfe, 0x80, [11] = 0xff, [12] = 0xfe, [15] = 1};
static const uint8_t peer_link[16] = {0xfe, 0x80, [15] = 0x77};
static const uint8_t lo6[16] = {[15] = 1};
static const uint8_t mapped_lo[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, 1};

static int
teardown(void **state)
{
	assert_int_equal(weir_bsd_stop(), 0);
	return ut_stack_teardown(state);
}

#define BSD_TEST(f) cmocka_unit_test_setup_teardown(f, ut_stack_setup, teardown)

static struct ut_stack *
up(void **state)
{
	struct ut_stack *s = *state;
	struct ut_stack_cfg cfg = ut_stack_cfg();

	cfg.n_ports = 2;
	cfg.ip6 = true;
	cfg.port.no_link_local = false;
	cfg.stack.max_threads = 4;
	ut_stack_up(s, &cfg);
	ut_stack_peer6(s);
	ut_stack_peer(s);
	assert_int_equal(weir_bsd_start(s->stack), 0);
	return s;
}

static struct sockaddr_in6
name6(const void *ip, uint16_t port)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	memcpy(&a.sin6_addr, ip, 16);
	return a;
}

static int
udp6(void)
{
	const int fd = weir_socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	ut_check(fd >= 0, "weir_socket: errno %d", errno);
	return fd;
}

static int
bound6(const void *ip, uint16_t port)
{
	const struct sockaddr_in6 a = name6(ip, port);
	const int fd = udp6();

	works(weir_bind(fd, ADDR(a)));
	return fd;
}

static int
set(int fd, int level, int opt, int v)
{
	return weir_setsockopt(fd, level, opt, &v, sizeof(v));
}

/* From src to dst, over IPv6. */
static void
rx6(struct ut_stack *s, const void *src, const void *dst, const char *words)
{
	struct ut_pkt p = ut_pkt_udp6();

	memcpy(p.ip6_src, src, 16);
	memcpy(p.ip6_dst, dst, 16);
	p.udp_sport = 7;
	p.udp_dport = PORT;
	p.payload = words;
	p.payload_len = strlen(words);
	ut_stack_rx(s, 0, &p);
}

static void
rx4(struct ut_stack *s, const char *words)
{
	struct ut_pkt p = ut_pkt_udp();

	p.udp_sport = 7;
	p.udp_dport = PORT;
	p.payload = words;
	p.payload_len = strlen(words);
	ut_stack_rx(s, 0, &p);
}

static void
must_be(const struct sockaddr_in6 *a, const void *ip, uint16_t port, uint32_t scope,
	const char *what)
{
	ut_check(a->sin6_family == AF_INET6 && memcmp(&a->sin6_addr, ip, 16) == 0 &&
			 ntohs(a->sin6_port) == port && a->sin6_scope_id == scope &&
			 a->sin6_flowinfo == 0,
		 "%s: family %d port %d scope %u", what, a->sin6_family, ntohs(a->sin6_port),
		 a->sin6_scope_id);
}

/* Every way to receive says the same names: of IPv6, of IPv4, with a scope. */
static void
names_come_out_of_every_receive_call(void **state)
{
	struct ut_stack *s = up(state);
	const uint8_t mapped_peer[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2};
	const int fd = bound6(&in6addr_any, PORT);
	struct sockaddr_in6 a[4];
	struct iovec iov[4];
	struct mmsghdr m[4];
	char data[4][16];
	socklen_t len;

	for (unsigned int flags = 0; flags < 2; flags++) { /* lean; then by the long way */
		const int f = flags != 0 ? MSG_TRUNC : 0;

		rx6(s, UT_PEER_IP6, UT_OUR_IP6, "global");
		rx4(s, "four");
		rx6(s, peer_link, our_link, "link");
		len = sizeof(a[0]);
		assert_int_equal(weir_recvfrom(fd, data[0], 16, f, (struct sockaddr *)&a[0], &len),
				 6);
		assert_int_equal(len, sizeof(a[0]));
		must_be(&a[0], UT_PEER_IP6, 7, 0, "global");
		assert_int_equal(weir_recvfrom(fd, data[0], 16, f, (struct sockaddr *)&a[0], &len),
				 4);
		must_be(&a[0], mapped_peer, 7, 0, "IPv4");
		len = 10;
		assert_int_equal(weir_recvfrom(fd, data[0], 2, f, (struct sockaddr *)&a[0], &len),
				 flags != 0 ? 4 : 2);
		assert_int_equal(len, sizeof(a[0]));
		rx6(s, peer_link, our_link, "link");
		len = sizeof(a[0]);
		assert_int_equal(weir_recvfrom(fd, data[0], 16, f, (struct sockaddr *)&a[0], &len),
				 4);
		must_be(&a[0], peer_link, 7, 1, "link-local");
	}
	for (unsigned int round = 0; round < 2; round++) {
		/* A wish for control messages takes the long way. */
		works(set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, (int)round));
		for (unsigned int i = 0; i < 4; i++) {
			iov[i] = (struct iovec){data[i], sizeof(data[i])};
			m[i] = (struct mmsghdr){.msg_hdr = {.msg_iov = &iov[i],
							    .msg_iovlen = 1,
							    .msg_name = &a[i],
							    .msg_namelen = sizeof(a[i])}};
		}
		rx6(s, UT_PEER_IP6, UT_OUR_IP6, "global");
		rx4(s, "four");
		rx6(s, peer_link, our_link, "link");
		assert_int_equal(weir_recvmmsg(fd, m, 4, 0, NULL), 3);
		must_be(&a[0], UT_PEER_IP6, 7, 0, "global");
		must_be(&a[1], mapped_peer, 7, 0, "IPv4");
		must_be(&a[2], peer_link, 7, 1, "link-local");
		assert_int_equal(m[1].msg_len, 4);
		assert_memory_equal(data[2], "link", 4);
		assert_int_equal(m[2].msg_hdr.msg_namelen, sizeof(a[2]));
	}
}

static void
scopes_go_in_and_out(void **state)
{
	struct ut_stack *s = up(state);
	struct sockaddr_in6 a = name6(our_link, PORT), b;
	socklen_t len = sizeof(b);
	int fd = udp6();
	struct ut_frame f;

	fails(weir_bind(fd, ADDR(a)), EINVAL);
	a.sin6_scope_id = 9;
	fails(weir_bind(fd, ADDR(a)), ENODEV);
	a.sin6_scope_id = 1;
	/* The form without a scope, of RFC 2133. */
	fails(weir_bind(fd, (struct sockaddr *)&a, 24), EINVAL);
	works(weir_bind(fd, ADDR(a)));
	works(weir_getsockname(fd, (struct sockaddr *)&b, &len));
	must_be(&b, our_link, PORT, 1, "bound");
	a = name6(peer_link, 9);
	a.sin6_scope_id = 1;
	works(weir_connect(fd, ADDR(a)));
	len = sizeof(b);
	works(weir_getpeername(fd, (struct sockaddr *)&b, &len));
	must_be(&b, peer_link, 9, 1, "peer");

	fd = udp6();
	a.sin6_scope_id = 0;
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), ENETUNREACH);
	while (ut_stack_take(s, 0, &f) || ut_stack_take(s, 1, &f))
		;
	a.sin6_scope_id = 2;
	assert_int_equal(weir_sendto(fd, "x", 1, 0, ADDR(a)), 1);
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	assert_int_equal(ut_stack_pending(s, 1), 1); /* who has it? by that port */
	ut_stack_must_take(s, 1, &f);
	assert_int_equal(f.b[14 + 6], 58);
	ut_stack_pass(s, 10 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	while (ut_stack_take(s, 1, &f))
		;
}

static void
pktinfo_names_the_interface(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = bound6(&in6addr_any, PORT);
	union {
		struct cmsghdr h;
		uint8_t b[128];
	} ctl;
	char data[16];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct in6_pktinfo p;

	works(set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1));
	rx6(s, peer_link, our_link, "x");
	m.msg_control = &ctl;
	m.msg_controllen = sizeof(ctl);
	assert_int_equal(weir_recvmsg(fd, &m, 0), 1);
	assert_int_equal(ctl.h.cmsg_level, IPPROTO_IPV6);
	assert_int_equal(ctl.h.cmsg_type, IPV6_PKTINFO);
	memcpy(&p, CMSG_DATA(&ctl.h), sizeof(p));
	assert_int_equal(p.ipi6_ifindex, 1);
	assert_memory_equal(&p.ipi6_addr, our_link, 16);
	/* What does not fit is cut, and said to be. */
	rx6(s, UT_PEER_IP6, UT_OUR_IP6, "x");
	m.msg_controllen = CMSG_LEN(4);
	assert_int_equal(weir_recvmsg(fd, &m, 0), 1);
	assert_true((m.msg_flags & MSG_CTRUNC) != 0);
}

/* IPV6_PKTINFO as an option: the interface of everything that is sent. */
static void
sticky_pktinfo_is_kept(void **state)
{
	struct ut_stack *s = up(state);
	const int fd = udp6();
	struct in6_pktinfo p = {.ipi6_ifindex = 9}, q;
	struct sockaddr_in6 to = name6(UT_PEER_IP6, 9);
	socklen_t len = sizeof(q);
	struct ut_frame f;

	fails(weir_setsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, &p, sizeof(p)), EINVAL);
	fails(weir_setsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, &p, 12), EINVAL);
	p.ipi6_ifindex = 2;
	works(weir_setsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, &p, sizeof(p)));
	works(weir_getsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, &q, &len));
	assert_memory_equal(&p, &q, sizeof(p));
	while (ut_stack_take(s, 0, &f) || ut_stack_take(s, 1, &f))
		;
	/* The route is by the other port, where the peer is known. */
	assert_int_equal(weir_sendto(fd, "x", 1, 0, ADDR(to)), 1);
	ut_stack_poll(s);
	assert_int_equal(ut_stack_pending(s, 0), 0);
	ut_stack_must_take(s, 1, &f);
	assert_int_equal(f.b[14 + 6], 58); /* who has it? */
	ut_stack_pass(s, 10 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	while (ut_stack_take(s, 0, &f) || ut_stack_take(s, 1, &f))
		;
	works(weir_setsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, NULL, 0));
	works(weir_sendto(fd, "x", 1, 0, ADDR(to)));
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(f.b[14 + 6], 17);
	len = sizeof(q);
	works(weir_getsockopt(fd, IPPROTO_IPV6, IPV6_PKTINFO, &q, &len));
	assert_int_equal(q.ipi6_ifindex, 0);
}

/* The flow label of the name, when asked for, and of the control message. */
static void
flow_labels_are_sent(void **state)
{
	struct ut_stack *s = up(state);
	struct sockaddr_in6 to = name6(UT_PEER_IP6, 9);
	const int fd = udp6();
	uint32_t label = htonl(0x54321);
	union {
		struct cmsghdr h;
		uint8_t b[CMSG_SPACE(sizeof(label))];
	} ctl;
	struct iovec iov = {(void *)(uintptr_t) "x", 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct ut_frame f;

	while (ut_stack_take(s, 0, &f))
		;
	to.sin6_flowinfo = htonl(0x12345);
	for (unsigned int on = 0; on < 2; on++) {
		works(set(fd, IPPROTO_IPV6, IPV6_FLOWINFO_SEND_, (int)on));
		works(weir_sendto(fd, "x", 1, 0, ADDR(to)));
		ut_stack_poll(s);
		ut_stack_must_take(s, 0, &f);
		assert_int_equal(ut_get32(f.b + 14) & 0xfffff, on ? 0x12345 : 0);
	}
	memset(&ctl, 0, sizeof(ctl));
	ctl.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(label)),
				 .cmsg_level = IPPROTO_IPV6,
				 .cmsg_type = IPV6_FLOWINFO_};
	memcpy(CMSG_DATA(&ctl.h), &label, sizeof(label));
	to.sin6_flowinfo = 0;
	m.msg_name = &to;
	m.msg_namelen = sizeof(to);
	m.msg_control = &ctl;
	m.msg_controllen = sizeof(ctl);
	assert_int_equal(weir_sendmsg(fd, &m, MSG_CONFIRM), 1);
	ut_stack_poll(s);
	ut_stack_must_take(s, 0, &f);
	assert_int_equal(ut_get32(f.b + 14) & 0xfffff, 0x54321);
}

/* What is not there is refused, not taken in silence. */
static void
options_without_effect_are_refused(void **state)
{
	static const int refused[] = {
		2 /* IPV6_2292PKTINFO */, 8 /* IPV6_2292HOPLIMIT */,
		IPV6_RECVHOPOPTS,         IPV6_HOPOPTS,
		IPV6_RECVRTHDR,           IPV6_RTHDR,
		IPV6_RECVDSTOPTS,         IPV6_DSTOPTS,
		IPV6_JOIN_ANYCAST,        32 /* IPV6_FLOWLABEL_MGR */,
		IPV6_RECVPATHMTU,         IPV6_ROUTER_ALERT,
	};
	const int fd = (up(state), udp6());

	for (unsigned int i = 0; i < UT_N(refused); i++)
		fails(set(fd, IPPROTO_IPV6, refused[i], 1), ENOPROTOOPT);
	fails(set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX_, 1), ENOPROTOOPT);
	works(set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX_, 0));
	fails(set(fd, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET), ENOTCONN);
	fails(set(fd, IPPROTO_IPV6, IPV6_ADDRFORM, AF_INET6), EINVAL);
}

static void
an_ipv4_name_will_do_to_send_and_connect(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 a = name6(mapped_lo, PORT), b;
	socklen_t len = sizeof(b);
	int r, fd;

	up(state);
	r = bound6(mapped_lo, PORT);
	fd = udp6();
	fails(weir_bind(fd, ADDR(in)), EINVAL);
	assert_int_equal(weir_sendto(fd, "1", 1, 0, ADDR(in)), 1);
	assert_int_equal(weir_sendto(fd, "2", 1, 0, ADDR(a)), 1);
	works(weir_connect(fd, ADDR(in)));
	assert_int_equal(weir_bsd_send(fd, "3", 1, 0), 1);
	works(weir_getpeername(fd, (struct sockaddr *)&b, &len));
	must_be(&b, mapped_lo, PORT, 0, "peer");
	for (char c = '1'; c <= '3'; c++) {
		char got = 0;

		assert_int_equal(weir_bsd_recv(r, &got, 1, 0), 1);
		assert_int_equal(got, c);
	}
	fd = udp6();
	works(set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1));
	fails(weir_connect(fd, ADDR(in)), EAFNOSUPPORT);
	fails(weir_connect(fd, ADDR(a)), ENETUNREACH);
	fails(weir_sendto(fd, "x", 1, 0, ADDR(in)), ENETUNREACH);
	/* And a socket of IPv4 takes no other. */
	fd = weir_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	a = name6(lo6, PORT);
	fails(weir_sendto(fd, "x", 1, 0, ADDR(a)), EAFNOSUPPORT);
	fails(weir_connect(fd, ADDR(a)), EAFNOSUPPORT);
	fails(weir_bind(fd, ADDR(a)), EAFNOSUPPORT);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		BSD_TEST(names_come_out_of_every_receive_call),
		BSD_TEST(scopes_go_in_and_out),
		BSD_TEST(pktinfo_names_the_interface),
		BSD_TEST(sticky_pktinfo_is_kept),
		BSD_TEST(flow_labels_are_sent),
		BSD_TEST(options_without_effect_are_refused),
		BSD_TEST(an_ipv4_name_will_do_to_send_and_connect),
	};

	return UT_RUN(cases, NULL, NULL);
}
