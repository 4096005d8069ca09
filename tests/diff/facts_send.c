/* SPDX-License-Identifier: BSD-3-Clause */
/* Sending: section 5.4, and what leaves by the wire. */
#include "probe.h"

#include <limits.h>
#include <signal.h>
#include <sys/mman.h>

/* ---- arguments ---- */

FACT(send, no_destination, "v4")
{
	int fd = udp();
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	say("send:%s", ret(send(fd, "x", 1, 0)));
	say("sendto:%s", ret(tx(fd, "x", NULL, 0)));
	say("sendmsg:%s", ret(sendmsg(fd, &m, 0)));
	say("write:%s", ret(write(fd, "x", 1)));
}

FACT(send, port_0, "v4")
{
	say("%s", ret(tx(udp(), "x", "127.0.0.1", 0)));
}

FACT(send, address_length, "v4")
{
	int fd = udp();
	struct sockaddr_in a = in4("127.0.0.1", port(0));

	say("15:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, 15)));
	say("2:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, 2)));
	say("0:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, 0)));
	say("-1:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, (socklen_t)-1)));
	say("null,16:%s", ret(sendto(fd, "x", 1, 0, NULL, 16)));
}

FACT(send, address_too_long, "v4")
{
	struct sockaddr_storage a[2];
	int fd = udp();
	struct sockaddr_in to = in4("127.0.0.1", port(0));
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_name = a, .msg_namelen = 200, .msg_iov = &iov, .msg_iovlen = 1};

	memset(a, 0, sizeof(a));
	memcpy(a, &to, sizeof(to));
	say("sendto 128:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)a, 128)));
	say("sendto 200:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)a, 200)));
	say("sendmsg 200:%s", ret(sendmsg(fd, &m, 0)));
}

FACT(send, family, "v4")
{
	int fd = udp(), r = bound("127.0.0.1", port(0));
	struct sockaddr_in6 b = in6("::1", port(0));
	struct sockaddr_in a = in4("127.0.0.1", port(0));

	say("v6:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&b, sizeof(b))));
	a.sin_family = 77;
	say("unknown:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a))));
	a.sin_family = AF_UNSPEC;
	say("unspecified:%s", ret(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a))));
	env_settle();
	say("%s", rx(r));
}

FACT(send, too_long, "v4")
{
	int fd = udp(), r = bound("127.0.0.1", port(0));

	say("70000:%s", ret(tx_n(fd, 70000, "127.0.0.1", port(0))));
	say("65536:%s", ret(tx_n(fd, 65536, "127.0.0.1", port(0))));
	say("65508:%s", ret(tx_n(fd, 65508, "127.0.0.1", port(0))));
	say("65507:%s", ret(tx_n(fd, 65507, "127.0.0.1", port(0))));
	say("%s", rx(r));
}

FACT(send, too_long_before_other_errors, "v4")
{
	int fd = udp();

	say("no destination:%s", ret(tx_n(fd, 65536, NULL, 0)));
	say("no destination, 65508:%s", ret(tx_n(fd, 65508, NULL, 0)));
	say("no route:%s", ret(tx_n(fd, 65508, ELSEWHERE, port(0))));
	shutdown(fd, SHUT_WR);
	say("shut:%s", ret(tx_n(fd, 65536, "127.0.0.1", port(0))));
	say("shut, no destination:%s", ret(tx(fd, "x", NULL, 0)));
}

FACT(send, flag_oob, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("%s", ret(send(fd, "x", 1, MSG_OOB)));
}

FACT(send, flags_without_effect, "v4")
{
	int r = bound("127.0.0.1", port(0)), fd = connected("127.0.0.1", port(0));

	say("confirm:%s", ret(send(fd, "c", 1, MSG_CONFIRM)));
	say("dontroute:%s", ret(send(fd, "d", 1, MSG_DONTROUTE)));
	say("eor:%s", ret(send(fd, "e", 1, MSG_EOR)));
	say("nosignal:%s", ret(send(fd, "n", 1, MSG_NOSIGNAL)));
	say("dontwait:%s", ret(send(fd, "w", 1, MSG_DONTWAIT)));
	env_settle();
	say("%s", rx_n(r, 5));
}

FACT(send, zero_length, "v4")
{
	int r = bound("127.0.0.1", port(0)), fd = connected("127.0.0.1", port(0));

	say("%s", ret(tx(fd, "", NULL, 0)));
	say("null:%s", ret(send(fd, NULL, 0, 0)));
	env_settle();
	say("%s", rx_n(r, 3));
}

FACT(send, zero_length_wire, "v4")
{
	const struct wire_got *g;

	tx(udp(), "", PEER, port(0));
	g = wire_take(T0);
	say("IP payload %zu, checksum %s", g->l4_len, g->csum_ok ? "right" : "wrong");
}

FACT(send, explicit_on_connected, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1));
	int fd = connected("127.0.0.1", port(0));

	say("%s", ret(tx(fd, "to-b", "127.0.0.1", port(1))));
	say("%s", ret(tx(fd, "to-a", NULL, 0)));
	say("%s,%s", rx(a), rx(b));
	say("%s", peer_name(fd));
}

FACT(send, explicit_on_connected_source, "v4")
{
	/* The local address that connect chose is kept. */
	int fd = connected(PEER1, port(0));

	tx(fd, "x", PEER, port(1));
	say("%s", wire_text(T0));
}

static volatile sig_atomic_t n_sigpipe;

static void
on_sigpipe(int sig)
{
	(void)sig;
	n_sigpipe++;
}

FACT(send, after_shutdown, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	signal(SIGPIPE, on_sigpipe);
	n_sigpipe = 0;
	say("%s", ret(shutdown(fd, SHUT_WR)));
	say("%s", ret(tx(fd, "x", NULL, 0)));
	say("explicit:%s", ret(tx(fd, "x", "127.0.0.1", port(1))));
	say("empty:%s", ret(tx(fd, "", NULL, 0)));
	say("signals %d", (int)n_sigpipe);
	signal(SIGPIPE, SIG_DFL);
}

FACT(send, null_buffer, "v4")
{
	int r = bound("127.0.0.1", port(0)), fd = connected("127.0.0.1", port(0));

	say("%s", ret(send(fd, NULL, 4, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(send, bad_pointer, "v4")
{
	int r = bound("127.0.0.1", port(0)), fd = connected("127.0.0.1", port(0));

#ifdef DIFF_WEIR
	(void)fd;
	(void)r;
	say("the caller faults");
#else
	say("%s", ret(send(fd, (const void *)8, 4, 0)));
	say("%s", rx(r));
#endif
}

/* ---- routes ---- */

FACT(send, no_route, "v4")
{
	say("%s", ret(tx(udp(), "x", ELSEWHERE, port(0))));
}

FACT(send, interface_down, "v4")
{
	say("connect:%s", ret(connect4(udp(), PEER_DOWN, port(0))));
	say("send:%s", ret(tx(udp(), "x", PEER_DOWN, port(0))));
}

FACT(send, own_address_of_down_interface, "v4")
{
	int r = bound("0.0.0.0", port(0));

	say("%s", ret(tx(udp(), "x", HOST_DOWN, port(0))));
	say("%s", rx(r));
}

FACT(send, special_routes, "v4,route")
{
	say("unreachable:%s", ret(tx(udp(), "x", "192.0.2.1", port(0))));
	say("prohibit:%s", ret(tx(udp(), "x", "192.0.2.2", port(0))));
	say("blackhole:%s", ret(tx(udp(), "x", "192.0.2.3", port(0))));
}

FACT(send, to_wildcard, "v4")
{
	int r = bound("127.0.0.1", port(0));

	say("%s", ret(tx(udp(), "any", "0.0.0.0", port(0))));
	say("%s", rx(r));
}

FACT(send, to_wildcard_bound, "v4")
{
	int r = bound("0.0.0.0", port(0)), s = bound(HOST, port(1));

	say("%s", ret(tx(s, "any", "0.0.0.0", port(0))));
	say("%s", rx_from(r));
}

FACT(send, own_address_source, "v4")
{
	int r = bound(HOST, port(0)), s = udp();

	tx(s, "own", HOST, port(0));
	say("%s", rx_from(r));
	tx(s, "lo", "127.0.0.1", port(0));
	say("%s", rx(r));
}

FACT(send, loopback_bound_to_host, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound(HOST, port(1));

	say("%s", ret(tx(s, "x", "127.0.0.1", port(0))));
	say("%s", rx_from(r));
}

FACT(send, wire_from_loopback_address, "v4")
{
	int s = bound("127.0.0.1", port(0));

	say("%s", ret(tx(s, "x", PEER, port(1))));
	say("%s", wire_text(T0));
}

FACT(send, source_chosen_by_route, "v4")
{
	int s = bound("0.0.0.0", port(0));

	tx(s, "a", PEER, port(1));
	tx(s, "b", PEER1, port(1));
	say("%s;", wire_text(T0));
	say("%s", wire_text(T1));
}

FACT(send, bound_address_other_interface, "v4")
{
	int s = bound(HOST, port(0));

	tx(s, "x", PEER1, port(1));
	say("%s", wire_text(T1));
}

FACT(send, device, "v4")
{
	int s = udp();

	to_device(s, T0);
	say("own net:%s", ret(tx(s, "x", PEER, port(0))));
	say("other net:%s", ret(tx(s, "x", PEER1, port(0))));
	say("loopback:%s", ret(tx(s, "x", "127.0.0.1", port(0))));
	say("t0 %s;", wire_text(T0));
	say("t1 %s", wire_text(T1));
}

FACT(send, neighbour_silent, "v4")
{
	int s = udp();

	say("%s", ret(tx(s, "x", SILENT, port(0))));
	say("%s", so_error(s));
}

/* Frames to a neighbour that nobody has are given up; with IP_RECVERR the sender learns. */
FACT(send, neighbour_failed_recverr, "v4")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	say("%s", ret(tx(s, "x", SILENT, port(0))));
	say("%s", polled_for(s, POLLIN, 10000));
	say("%s", so_error(s));
}

FACT(send, broadcast_without_option, "v4")
{
	int s = udp();

	say("limited:%s", ret(tx(s, "x", "255.255.255.255", port(0))));
	say("subnet:%s", ret(tx(s, "x", NET_BCAST, port(0))));
	say("%s", wire_text(T0));
}

FACT(send, broadcast_without_option_by_device, "v4")
{
	int s = udp();

	to_device(s, T0);
	say("limited:%s", ret(tx(s, "x", "255.255.255.255", port(0))));
	say("connect:%s", ret(connect4(s, "255.255.255.255", port(0))));
	say("%s", wire_text(T0));
}

FACT(send, broadcast_subnet, "v4")
{
	int s = udp(), own = bound("0.0.0.0", port(0));
	const struct wire_got *g;

	set(s, SOL_SOCKET, SO_BROADCAST, 1);
	say("%s", ret(tx(s, "all", NET_BCAST, port(0))));
	g = wire_take(T0);
	if (g->len > 0)
		say("to %s mac %s", g->dst,
		    memcmp(g->frame, "\xff\xff\xff\xff\xff\xff", 6) == 0 ? "all ones" : "other");
	say("own copy %s", rx(own));
}

FACT(send, broadcast_limited_needs_interface, "v4")
{
	int s = udp(), b = bound(HOST, port(0));

	set(s, SOL_SOCKET, SO_BROADCAST, 1);
	set(b, SOL_SOCKET, SO_BROADCAST, 1);
	say("unbound:%s", ret(tx(s, "all", "255.255.255.255", port(1))));
	say("bound:%s", ret(tx(b, "all", "255.255.255.255", port(1))));
	say("%s", wire_text(T0));
}

FACT(send, broadcast_limited_by_device, "v4")
{
	int s = udp();

	set(s, SOL_SOCKET, SO_BROADCAST, 1);
	to_device(s, T0);
	say("%s", ret(tx(s, "all", "255.255.255.255", port(1))));
	say("%s", wire_text(T0));
}

/* ---- on the wire ---- */

FACT(wire, defaults, "v4")
{
	const struct wire_got *g;

	tx(bound("0.0.0.0", port(0)), "hello", PEER, port(1));
	g = wire_take(T0);
	say("ttl %d tos %d flags 0x%x checksum %s", g->ttl, g->tos, g->frag,
	    g->csum_ok && g->csum != 0 ? "right" : "wrong");
	say("ports %s", g->sport == port(0) && g->dport == port(1) ? "right" : "wrong");
}

FACT(wire, ttl_tos, "v4")
{
	int s = udp();
	const struct wire_got *g;

	set(s, IPPROTO_IP, IP_TTL, 7);
	set(s, IPPROTO_IP, IP_TOS, 0xb8);
	tx(s, "x", PEER, port(0));
	g = wire_take(T0);
	say("ttl %d tos 0x%x", g->ttl, g->tos);
	connect4(s, PEER, port(0));
	tx(s, "x", NULL, 0);
	g = wire_take(T0);
	say("connected: ttl %d tos 0x%x", g->ttl, g->tos);
	set(s, IPPROTO_IP, IP_TTL, -1);
	set(s, IPPROTO_IP, IP_TOS, 0);
	tx(s, "x", NULL, 0);
	g = wire_take(T0);
	say("back: ttl %d tos 0x%x", g->ttl, g->tos);
}

FACT(wire, tos_ecn_bits, "v4")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_TOS, 3);
	say("%s", get(s, IPPROTO_IP, IP_TOS));
	tx(s, "x", PEER, port(0));
	say("0x%x", wire_take(T0)->tos);
}

FACT(wire, dont_fragment, "v4")
{
	static const struct {
		int mode;
		const char *name;
	} modes[] = {{IP_PMTUDISC_DONT, "dont"}, {IP_PMTUDISC_WANT, "want"},
		     {IP_PMTUDISC_DO, "do"},     {IP_PMTUDISC_PROBE, "probe"},
		     {4, "interface"},           {5, "omit"}};
	int s = udp();

	for (int i = 0; i < 6; i++) {
		say("%s:%s", modes[i].name,
		    ret(set(s, IPPROTO_IP, IP_MTU_DISCOVER, modes[i].mode)));
		tx(s, "x", PEER, port(0));
		say("%s", wire_take(T0)->frag & 0x4000 ? "DF" : "-");
	}
}

FACT(wire, no_checksum, "v4")
{
	int s = udp();

	say("%s", ret(set(s, SOL_SOCKET, SO_NO_CHECK, 1)));
	tx(s, "x", PEER, port(0));
	say("0x%x", wire_take(T0)->csum);
	set(s, SOL_SOCKET, SO_NO_CHECK, 0);
	tx(s, "x", PEER, port(0));
	say("%s", wire_take(T0)->csum != 0 ? "summed" : "zero");
}

FACT(wire, checksum_zero_sent_as_ones, "v4")
{
	/* Two bytes of payload that make the sum come out as zero. */
	int s = bound("0.0.0.0", port(0));
	struct sockaddr_in a = in4(PEER, port(1));
	unsigned char fix[2] = {0, 0};
	const struct wire_got *g;

	sendto(s, fix, 2, 0, (struct sockaddr *)&a, sizeof(a));
	env_settle();
	g = wire_take(T0);
	fix[0] = (unsigned char)(g->csum >> 8);
	fix[1] = (unsigned char)g->csum;
	sendto(s, fix, 2, 0, (struct sockaddr *)&a, sizeof(a));
	env_settle();
	g = wire_take(T0);
	say("0x%x %s", g->csum, g->csum_ok ? "right" : "wrong");
}

FACT(wire, largest_unfragmented, "v4")
{
	const struct wire_got *g;

	say("%s", ret(tx_n(udp(), MTU - 28, PEER, port(0))));
	g = wire_take(T0);
	say("%zu bytes, checksum %s", g->data_len, g->csum_ok ? "right" : "wrong");
}

FACT(wire, odd_lengths, "v4")
{
	int s = udp(), bad = 0;

	for (size_t n = 0; n < 40; n++) {
		const struct wire_got *g;

		tx_n(s, n, PEER, port(0));
		g = wire_take(T0);
		bad += g->len == 0 || g->data_len != n || !g->csum_ok;
	}
	say("%d wrong", bad);
}

FACT(wire, more_than_mtu, "frag")
{
	static const struct {
		int mode;
		const char *name;
	} modes[] = {{IP_PMTUDISC_DONT, "dont"},
		     {IP_PMTUDISC_WANT, "want"},
		     {IP_PMTUDISC_DO, "do"},
		     {IP_PMTUDISC_PROBE, "probe"}};
	int s = udp();

	for (int i = 0; i < 4; i++) {
		set(s, IPPROTO_IP, IP_MTU_DISCOVER, modes[i].mode);
		say("%s:%s", modes[i].name, ret(tx_n(s, 2000, PEER, port(0))));
		for (const struct wire_got *g; (g = wire_take(T0))->len > 0;)
			say("%zu@0x%x", g->l4_len, g->frag);
	}
}

/* Discovery "do" is v4 without fragments: the refusal itself needs none. */
FACT(wire, more_than_mtu_do, "v4")
{
	int s = udp();

	set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	say("%s", ret(tx_n(s, MTU - 28, PEER, port(0))));
	say("%s", ret(tx_n(s, MTU - 27, PEER, port(0))));
	set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
	say("probe:%s", ret(tx_n(s, MTU - 27, PEER, port(0))));
}

FACT(wire, more_than_mtu_do_recverr, "v4")
{
	int s = udp();
	struct got *g;

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	set(s, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
	say("%s", ret(tx_n(s, 3000, PEER, port(0))));
	g = rx_msg(s, MSG_ERRQUEUE);
	say("queue %s", ret(g->n < 0 ? g->n : 0));
	if (g->n >= 0) {
		const struct cmsghdr *c = cmsg_of(g, IPPROTO_IP, IP_RECVERR);
		struct sock_extended_err e;

		memcpy(&e, CMSG_DATA(c), sizeof(e));
		say("%s origin %d info %u data %ld", err_name((int)e.ee_errno), e.ee_origin,
		    e.ee_info, g->n);
		say("name %s", name_text((struct sockaddr *)&g->name, g->name_len));
	}
	say("%s", so_error(s));
}

/* ---- the send buffer: env_stalled() is where nothing leaves to ---- */

FACT(sndbuf, one_larger_than_all, "v4")
{
	int s = udp(), r = bound("127.0.0.1", port(0));

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	say("%s", ret(tx_n(s, 20000, "127.0.0.1", port(0))));
	say("%s", rx(r));
}

FACT(sndbuf, full, "v4")
{
	int s = connected(env_stalled(0), port(0)), n = 0, err = 0;
	uint64_t end = now_ms() + 20000;
	long r = 0;

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	/* Until it is full for good: another thread may still be on its way with what came before. */
	for (int before = -1; n > before && n < 20000; env_settle()) {
		before = n;
		while (n < 20000 && (r = send(s, "0123456789", 10, MSG_DONTWAIT)) == 10)
			n++;
		err = errno;
	}
	errno = err;
	say("%s", ret(r));
	say("after %s", n == 0 ? "none" : n < 20000 ? "some" : "too many");
	say("%s", polled(s));
	env_release();
	say("released: %s", polled_for(s, POLLOUT, 10000));
	while (now_ms() < end && (r = send(s, "x", 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
		env_release();
	say("%s", ret(r));
	env_release();
}

FACT(sndbuf, accepted_will_leave, "v4")
{
	/* Also when the sender makes no further call. */
	int s = connected(env_stalled(4), port(0)), n = 0, left;

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	while (n < 20000 && send(s, "0123456789", 10, MSG_DONTWAIT) == 10)
		n++;
	left = env_release();
	say("%s", n == 0 ? "none accepted" : left == n ? "all" : left < n ? "fewer" : "more");
}

static void
send_until_blocked(struct bg *b)
{
	int n = 0;
	long r = 0;

	while (n < 5000 && (r = send(b->fd, "0123456789", 10, 0)) == 10)
		n++;
	snprintf(b->out, sizeof(b->out), "%s", n == 5000 ? "all sent" : ret(r));
}

FACT(sndbuf, blocks_until_drained, "v4")
{
	struct bg b;
	int s = connected(env_stalled(1), port(0));
	uint64_t end = now_ms() + 20000;

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	bg(&b, send_until_blocked, s);
	bg_await_blocked(&b);
	say("%s", b.finished ? b.out : "blocked");
	while (!b.finished && now_ms() < end)
		env_release();
	say("%s", bg_result(&b, 100));
	bg_join(&b);
	env_release();
}

FACT(sndbuf, timeout, "v4")
{
	int s = connected(env_stalled(2), port(0)), n = 0;
	struct timeval t = {.tv_usec = 30000};
	long r = 0;

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	say("%s", ret(setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t))));
	while (n < 20000 && (r = send(s, "0123456789", 10, 0)) == 10)
		n++;
	say("%s", ret(r));
	env_release();
}

FACT(sndbuf, sendmmsg_partial, "v4")
{
	static struct mmsghdr v[1024];
	static struct iovec iov = VEC("0123456789");
	int s = connected(env_stalled(3), port(0)), rounds = 0;
	long r;

	set(s, SOL_SOCKET, SO_SNDBUF, 1);
	memset(v, 0, sizeof(v));
	for (int i = 0; i < 1024; i++) {
		v[i].msg_hdr.msg_iov = &iov;
		v[i].msg_hdr.msg_iovlen = 1;
	}
	while ((r = sendmmsg(s, v, 1024, MSG_DONTWAIT)) == 1024 && rounds < 20)
		rounds++;
	say("%s", r > 0 && r < 1024 ? "part" : ret(r));
	say("%s", ret(sendmmsg(s, v, 1024, MSG_DONTWAIT)));
	env_release();
}

FACT(sndbuf, outq, "v4")
{
	int s = udp(), n = -1;

	bound("127.0.0.1", port(0));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", ret(ioctl(s, SIOCOUTQ, &n)));
	/* Loopback is charged to the sender until it is read, in Linux. */
	say("%s", n >= 0 ? "a number" : "negative");
	close_now(s);
	s = udp();
	say("new:%s", ret(ioctl(s, SIOCOUTQ, &n)));
	say("%d", n);
}

/* ---- sendmsg, sendmmsg ---- */

FACT(sendmsg, gather, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct iovec iov[4] = {VEC("ab"), VEC(""), {NULL, 0}, VEC("cde")};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 4};

	say("%s", ret(sendmsg(s, &m, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(sendmsg, no_vector, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct msghdr m = {0};

	say("%s", ret(sendmsg(s, &m, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(sendmsg, vector_limits, "v4")
{
	static struct iovec iov[1025];
	int s = connected("127.0.0.1", port(0));
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 1025};

	for (int i = 0; i < 1025; i++)
		iov[i] = (struct iovec)VEC("x");
	say("1025:%s", ret(sendmsg(s, &m, 0)));
	m.msg_iovlen = 1024;
	say("1024:%s", ret(sendmsg(s, &m, 0)));
	iov[0].iov_len = (size_t)-1;
	m.msg_iovlen = 1;
	say("negative:%s", ret(sendmsg(s, &m, 0)));
}

FACT(sendmsg, name_without_length, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct sockaddr_in other = in4("127.0.0.1", port(1));
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_name = &other, .msg_namelen = 0, .msg_iov = &iov, .msg_iovlen = 1};

	say("%s", ret(sendmsg(s, &m, 0)));
	env_settle();
	say("%s", rx(r));
	m.msg_name = NULL;
	m.msg_namelen = sizeof(other);
	say("%s", ret(sendmsg(s, &m, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(sendmsg, header_untouched, "v4")
{
	int s = udp();
	struct sockaddr_in to = in4("127.0.0.1", port(1)), saved = to;
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen = sizeof(to),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_flags = 0x55};
	struct msghdr before = m;

	sendmsg(s, &m, 0);
	say("%s", memcmp(&m, &before, sizeof(m)) == 0 && memcmp(&to, &saved, sizeof(to)) == 0 &&
				  iov.iov_len == 1
			  ? "untouched"
			  : "changed");
}

/* n messages; those with a number in `bad` go to an address that has no route. */
static long
many(int fd, int n, int bad, int flags, unsigned int *lens)
{
	static struct mmsghdr v[64];
	static struct sockaddr_in good, wrong;
	static struct iovec iov = VEC("mm");
	long r;
	int err;

	good = in4("127.0.0.1", port(0));
	wrong = in4(ELSEWHERE, port(0));
	memset(v, 0, sizeof(v));
	for (int i = 0; i < n; i++) {
		v[i].msg_hdr.msg_name = i == bad ? &wrong : &good;
		v[i].msg_hdr.msg_namelen = sizeof(good);
		v[i].msg_hdr.msg_iov = &iov;
		v[i].msg_hdr.msg_iovlen = 1;
		v[i].msg_len = 77;
	}
	r = sendmmsg(fd, v, (unsigned int)n, flags);
	err = errno;
	env_settle();
	for (int i = 0; lens != NULL && i < n; i++)
		lens[i] = v[i].msg_len;
	errno = err;
	return r;
}

FACT(sendmmsg, all, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	unsigned int lens[3];

	say("%s", ret(many(s, 3, -1, 0, lens)));
	say("%u %u %u", lens[0], lens[1], lens[2]);
	say("%d", drain(r));
}

FACT(sendmmsg, stops_at_error, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	unsigned int lens[4];

	say("%s", ret(many(s, 4, 2, 0, lens)));
	say("%u %u %u %u", lens[0], lens[1], lens[2], lens[3]);
	say("%d", drain(r));
	say("%s", so_error(s));
}

FACT(sendmmsg, first_fails, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	say("%s", ret(many(s, 3, 0, 0, NULL)));
	say("%d", drain(r));
}

FACT(sendmmsg, none, "v4")
{
	say("%s", ret(many(udp(), 0, -1, 0, NULL)));
}

FACT(sendmmsg, different_destinations, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1)), s = udp();
	struct sockaddr_in to[4];
	struct iovec iov[4] = {VEC("1"), VEC("2"), VEC("3"), VEC("4")};
	struct mmsghdr v[4];

	memset(v, 0, sizeof(v));
	for (int i = 0; i < 4; i++) {
		to[i] = in4("127.0.0.1", port(i % 2));
		v[i].msg_hdr.msg_name = &to[i];
		v[i].msg_hdr.msg_namelen = sizeof(to[i]);
		v[i].msg_hdr.msg_iov = &iov[i];
		v[i].msg_hdr.msg_iovlen = 1;
	}
	say("%s", ret(sendmmsg(s, v, 4, 0)));
	env_settle();
	say("a %s b %s", rx_n(a, 2), rx_n(b, 2));
}

/* ---- MSG_MORE, UDP_CORK ---- */

FACT(cork, msg_more, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", ret(send(s, "ab", 2, MSG_MORE)));
	env_settle();
	say("%s", rx(r));
	say("%s", ret(send(s, "cd", 2, MSG_MORE)));
	say("%s", ret(tx(s, "e", NULL, 0)));
	say("%s", rx(r));
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(cork, option, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", ret(set(s, IPPROTO_UDP, UDP_CORK, 1)));
	say("%s", get(s, IPPROTO_UDP, UDP_CORK));
	tx(s, "ab", NULL, 0);
	tx(s, "cd", NULL, 0);
	say("%s", rx(r));
	say("%s", ret(set(s, IPPROTO_UDP, UDP_CORK, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(cork, option_off_without_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	set(s, IPPROTO_UDP, UDP_CORK, 1);
	say("%s", ret(set(s, IPPROTO_UDP, UDP_CORK, 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(cork, too_long_discards, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	static char big[40000];

	say("%s", ret(send(s, big, sizeof(big), MSG_MORE)));
	say("%s", ret(send(s, big, sizeof(big), MSG_MORE)));
	say("%s", ret(tx(s, "new", NULL, 0)));
	say("%s", rx(r));
}

FACT(cork, destination_of_first, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1)), s = udp();
	struct sockaddr_in to = in4("127.0.0.1", port(0)), other = in4("127.0.0.1", port(1));

	sendto(s, "ab", 2, MSG_MORE, (struct sockaddr *)&to, sizeof(to));
	say("%s", ret(sendto(s, "cd", 2, 0, (struct sockaddr *)&other, sizeof(other))));
	env_settle();
	say("%s,%s", rx(a), rx(b));
}

FACT(cork, connect_while_pending, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	send(s, "ab", 2, MSG_MORE);
	connect4(s, "127.0.0.1", port(1));
	say("%s", ret(tx(s, "cd", NULL, 0)));
	say("%s", rx(r));
}

FACT(cork, close_discards, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	send(s, "ab", 2, MSG_MORE);
	close_now(s);
	say("%s", rx(r));
}

FACT(cork, empty_pieces, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", ret(send(s, "", 0, MSG_MORE)));
	say("%s", ret(tx(s, "", NULL, 0)));
	say("%s", rx(r));
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(cork, sendmmsg_more, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	say("%s", ret(many(s, 3, -1, MSG_MORE, NULL)));
	say("%s", rx(r));
	say("%s", ret(tx(s, "end", "127.0.0.1", port(0))));
	say("%s", rx(r));
}

/* ---- UDP_SEGMENT ---- */

static const char *
lengths(int fd)
{
	char out[256] = "";
	char data[2048];
	long n;

	while ((n = recv(fd, data, sizeof(data), MSG_DONTWAIT)) >= 0 && strlen(out) < 200)
		sprintf(out + strlen(out), "%s%ld", out[0] != '\0' ? "," : "", n);
	return text("%s", out[0] != '\0' ? out : "none");
}

FACT(segment, option, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", get(s, IPPROTO_UDP, UDP_SEGMENT));
	say("%s", ret(set(s, IPPROTO_UDP, UDP_SEGMENT, 100)));
	say("%s", get(s, IPPROTO_UDP, UDP_SEGMENT));
	say("%s", ret(tx_n(s, 350, NULL, 0)));
	say("%s", lengths(r));
	say("%s", ret(tx_n(s, 100, NULL, 0)));
	say("%s", lengths(r));
	say("%s", ret(tx_n(s, 40, NULL, 0)));
	say("%s", lengths(r));
	say("%s", ret(tx_n(s, 0, NULL, 0)));
	say("%s", lengths(r));
}

FACT(segment, option_limits, "v4")
{
	int s = udp();

	say("-1:%s", ret(set(s, IPPROTO_UDP, UDP_SEGMENT, -1)));
	say("65535:%s", ret(set(s, IPPROTO_UDP, UDP_SEGMENT, 65535)));
	say("65536:%s", ret(set(s, IPPROTO_UDP, UDP_SEGMENT, 65536)));
	say("0:%s", ret(set(s, IPPROTO_UDP, UDP_SEGMENT, 0)));
}

FACT(segment, by_message, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	uint16_t size = 4;
	int wrong = 4;

	say("%s", ret(tx_cmsg(s, "abcdefghij", "127.0.0.1", port(0), IPPROTO_UDP, UDP_SEGMENT,
			      &size, sizeof(size))));
	say("%s", rx_n(r, 4));
	say("int:%s", ret(tx_cmsg(s, "abcdefghij", "127.0.0.1", port(0), IPPROTO_UDP, UDP_SEGMENT,
				  &wrong, sizeof(wrong))));
	size = 0;
	say("zero:%s", ret(tx_cmsg(s, "abcdefghij", "127.0.0.1", port(0), IPPROTO_UDP, UDP_SEGMENT,
				   &size, sizeof(size))));
	say("%s", rx_n(r, 2));
}

FACT(segment, message_beats_option, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	uint16_t size = 5;

	set(s, IPPROTO_UDP, UDP_SEGMENT, 2);
	tx_cmsg(s, "abcdefghij", "127.0.0.1", port(0), IPPROTO_UDP, UDP_SEGMENT, &size,
		sizeof(size));
	say("%s", rx_n(r, 3));
}

FACT(segment, unknown_udp_message, "v4")
{
	int value = 1;

	say("%s",
	    ret(tx_cmsg(udp(), "x", "127.0.0.1", port(0), IPPROTO_UDP, 99, &value, sizeof(value))));
}

FACT(segment, how_many, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	set(r, SOL_SOCKET, SO_RCVBUF, 1000000);
	set(s, IPPROTO_UDP, UDP_SEGMENT, 10);
	say("128:%s", ret(tx_n(s, 1280, NULL, 0)));
	say("%d", drain(r));
	say("129:%s", ret(tx_n(s, 1281, NULL, 0)));
	say("%d", drain(r));
}

FACT(segment, no_checksum, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	set(s, IPPROTO_UDP, UDP_SEGMENT, 10);
	set(s, SOL_SOCKET, SO_NO_CHECK, 1);
	say("%s", ret(tx_n(s, 30, NULL, 0)));
	say("%d", drain(r));
}

FACT(segment, wire, "v4")
{
	int s = bound("0.0.0.0", port(0));
	const struct wire_got *g;

	set(s, IPPROTO_UDP, UDP_SEGMENT, 1000);
	say("%s", ret(tx_n(s, 2500, PEER, port(1))));
	while ((g = wire_take(T0))->len > 0)
		say("%zu%s", g->data_len, g->csum_ok && g->sport == port(0) ? "" : " wrong");
}

FACT(segment, odd_size_wire, "v4")
{
	int s = bound("0.0.0.0", port(0)), wrong = 0, n = 0;
	const struct wire_got *g;

	set(s, IPPROTO_UDP, UDP_SEGMENT, 33);
	say("%s", ret(tx_n(s, 1000, PEER, port(1))));
	while ((g = wire_take(T0))->len > 0) {
		n++;
		wrong += !g->csum_ok;
	}
	say("%d, %d wrong", n, wrong);
}

FACT(segment, larger_than_mtu, "v4")
{
	int s = udp();

	set(s, IPPROTO_UDP, UDP_SEGMENT, MTU - 28);
	say("fits:%s", ret(tx_n(s, 3000, PEER, port(0))));
	set(s, IPPROTO_UDP, UDP_SEGMENT, MTU - 27);
	say("does not:%s", ret(tx_n(s, 3000, PEER, port(0))));
}

FACT(segment, gro_receives_whole, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct got *g;

	say("%s", ret(set(r, IPPROTO_UDP, UDP_GRO, 1)));
	say("%s", get(r, IPPROTO_UDP, UDP_GRO));
	set(s, IPPROTO_UDP, UDP_SEGMENT, 100);
	tx_n(s, 350, NULL, 0);
	g = rx_msg(r, 0);
	say("%ld bytes of %d", g->n, cmsg_int(g, IPPROTO_UDP, UDP_GRO));
	g = rx_msg(r, 0);
	say("%s", ret(g->n));
}

FACT(segment, gro_single_has_no_message, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct got *g;

	set(r, IPPROTO_UDP, UDP_GRO, 1);
	tx(s, "one", NULL, 0);
	g = rx_msg(r, 0);
	say("%ld %s", g->n, cmsg_names(g));
}

/* ---- control messages ---- */

FACT(cmsg_send, ttl, "v4")
{
	int s = udp(), ttl = 9, bad = 0;
	unsigned char byte = 9;

	say("9:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl))));
	say("ttl %d", wire_take(T0)->ttl);
	say("0:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TTL, &bad, sizeof(bad))));
	bad = 256;
	say("256:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TTL, &bad, sizeof(bad))));
	bad = -1;
	say("-1:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TTL, &bad, sizeof(bad))));
	say("byte:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TTL, &byte, 1)));
	tx(s, "x", PEER, port(0));
	say("next ttl %d", wire_take(T0)->ttl);
}

FACT(cmsg_send, tos, "v4")
{
	int s = udp(), tos = 0x28, bad = 256;
	unsigned char byte = 0x48;

	say("int:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TOS, &tos, sizeof(tos))));
	say("0x%x", wire_take(T0)->tos);
	say("byte:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TOS, &byte, 1)));
	say("0x%x", wire_take(T0)->tos);
	say("256:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TOS, &bad, sizeof(bad))));
	say("2 bytes:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, IP_TOS, &tos, 2)));
}

FACT(cmsg_send, unknown, "v4")
{
	int s = udp(), value = 1;

	say("ip type:%s",
	    ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IP, 99, &value, sizeof(value))));
	say("level:%s", ret(tx_cmsg(s, "x", PEER, port(0), 99, 1, &value, sizeof(value))));
	say("v6 level:%s", ret(tx_cmsg(s, "x", PEER, port(0), IPPROTO_IPV6, IPV6_HOPLIMIT, &value,
				       sizeof(value))));
	say("socket type:%s",
	    ret(tx_cmsg(s, "x", PEER, port(0), SOL_SOCKET, 99, &value, sizeof(value))));
}

FACT(cmsg_send, malformed, "v4")
{
	_Alignas(16) unsigned char control[64] = {0};
	struct sockaddr_in to = in4(PEER, port(0));
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen = sizeof(to),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = 24};
	struct cmsghdr *c = (void *)control;
	int s = udp();

	c->cmsg_level = IPPROTO_IP;
	c->cmsg_type = IP_TTL;
	c->cmsg_len = 4;
	say("short:%s", ret(sendmsg(s, &m, 0)));
	c->cmsg_len = 48;
	say("long:%s", ret(sendmsg(s, &m, 0)));
	m.msg_controllen = 8;
	say("no room:%s", ret(sendmsg(s, &m, 0)));
	m.msg_controllen = 0;
	say("empty:%s", ret(sendmsg(s, &m, 0)));
}

FACT(cmsg_send, two_at_once, "v4")
{
	_Alignas(16) unsigned char control[CMSG_SPACE(4) * 2] = {0};
	struct sockaddr_in to = in4(PEER, port(0));
	struct iovec iov = VEC("x");
	struct msghdr m = {.msg_name = &to,
			   .msg_namelen = sizeof(to),
			   .msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int s = udp(), ttl = 33, tos = 8;
	const struct wire_got *g;

	*c = (struct cmsghdr){
		.cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL, .cmsg_len = CMSG_LEN(4)};
	memcpy(CMSG_DATA(c), &ttl, 4);
	c = CMSG_NXTHDR(&m, c);
	*c = (struct cmsghdr){
		.cmsg_level = IPPROTO_IP, .cmsg_type = IP_TOS, .cmsg_len = CMSG_LEN(4)};
	memcpy(CMSG_DATA(c), &tos, 4);
	say("%s", ret(sendmsg(s, &m, 0)));
	env_settle();
	g = wire_take(T0);
	say("ttl %d tos %d", g->ttl, g->tos);
}

static const char *
with_pktinfo(int fd, unsigned int ifindex, const char *src, const char *to, int p)
{
	struct in_pktinfo info = {.ipi_ifindex = (int)ifindex};

	inet_pton(AF_INET, src, &info.ipi_spec_dst);
	return ret(tx_cmsg(fd, "x", to, p, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info)));
}

FACT(cmsg_send, pktinfo_source, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("0.0.0.0", port(1));

	say("%s", with_pktinfo(s, 0, "127.0.0.7", "127.0.0.1", port(0)));
	say("%s", rx_from(r));
	say("%s", with_pktinfo(s, 0, HOST1, PEER, port(0)));
	say("%s", wire_text(T0));
}

FACT(cmsg_send, pktinfo_bad_source, "v4")
{
	int s = bound("0.0.0.0", port(1));

	say("not ours:%s", with_pktinfo(s, 0, ELSEWHERE, PEER, port(0)));
	say("multicast:%s", with_pktinfo(s, 0, "239.1.2.3", PEER, port(0)));
	say("broadcast:%s", with_pktinfo(s, 0, "255.255.255.255", PEER, port(0)));
	say("%s", wire_text(T0));
}

FACT(cmsg_send, pktinfo_interface, "v4")
{
	int s = bound("0.0.0.0", port(1));

	say("right:%s", with_pktinfo(s, env_ifindex(T0), "0.0.0.0", PEER, port(0)));
	say("%s", wire_text(T0));
	say("unknown:%s", with_pktinfo(s, 9999, "0.0.0.0", PEER, port(0)));
	say("loopback:%s", with_pktinfo(s, env_ifindex(LO), "0.0.0.0", "127.0.0.1", port(0)));
	say("loopback by t0:%s", with_pktinfo(s, env_ifindex(T0), "0.0.0.0", "127.0.0.1", port(0)));
}

FACT(cmsg_send, pktinfo_other_interface, "v4")
{
	/* Sent by t1 although the route says t0. */
	int s = bound("0.0.0.0", port(1));

	say("%s", with_pktinfo(s, env_ifindex(T1), "0.0.0.0", PEER1, port(0)));
	say("%s", wire_text(T1));
	say("%s", with_pktinfo(s, env_ifindex(T1), "0.0.0.0", ELSEWHERE, port(0)));
}

FACT(cmsg_send, pktinfo_length, "v4")
{
	struct in_pktinfo info = {0};

	say("%s", ret(tx_cmsg(udp(), "x", PEER, port(0), IPPROTO_IP, IP_PKTINFO, &info, 8)));
}

FACT(cmsg_send, reply_to_pktinfo, "v4")
{
	/* The usual server: bound to the wildcard, answers from the address it was asked at. */
	int server = bound("0.0.0.0", port(0)), client = udp();
	const struct cmsghdr *c;
	struct in_pktinfo info;
	struct sockaddr_in to;
	struct got *g;

	set(server, IPPROTO_IP, IP_PKTINFO, 1);
	bind4(client, "127.0.0.1", port(1));
	tx(client, "ask", "127.8.8.8", port(0));
	g = rx_msg(server, 0);
	c = cmsg_of(g, IPPROTO_IP, IP_PKTINFO);
	if (c == NULL) {
		say("no message");
		return;
	}
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	memcpy(&to, &g->name, sizeof(to));
	say("%s", ret(tx_cmsg(server, "answer", "127.0.0.1", ntohs(to.sin_port), IPPROTO_IP,
			      IP_PKTINFO, &info, sizeof(info))));
	say("%s", rx_from(client));
}
