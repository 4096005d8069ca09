/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets, bind, names, shared ports, ephemeral ports: section 5.1 of the semantics. */
#include "probe.h"

/* ---- socket() ---- */

static const char *
made(int domain, int type, int protocol)
{
	int fd = keep(socket(domain, type, protocol));

	return fd < 0 ? ret(fd) : "ok";
}

FACT(socket, protocols, "v4")
{
	say("0:%s", made(AF_INET, SOCK_DGRAM, 0));
	say("udp:%s", made(AF_INET, SOCK_DGRAM, IPPROTO_UDP));
	say("dgram,tcp:%s", made(AF_INET, SOCK_DGRAM, IPPROTO_TCP));
	say("stream,udp:%s", made(AF_INET, SOCK_STREAM, IPPROTO_UDP));
	say("seqpacket:%s", made(AF_INET, SOCK_SEQPACKET, 0));
}

FACT(socket, bad_arguments, "v4")
{
	say("family:%s", made(250, SOCK_DGRAM, 0));
	say("negative:%s", made(-1, SOCK_DGRAM, 0));
	say("type:%s", made(AF_INET, 15, 0));
	say("flags:%s", made(AF_INET, SOCK_DGRAM | 0x100, 0));
	say("protocol:%s", made(AF_INET, SOCK_DGRAM, 300));
}

FACT(socket, flags, "v4")
{
	int plain = udp(),
	    both = keep(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));

	say("plain:%d,%d", (fcntl(plain, F_GETFL, 0) & O_NONBLOCK) != 0, fcntl(plain, F_GETFD, 0));
	say("both:%d,%d", (fcntl(both, F_GETFL, 0) & O_NONBLOCK) != 0, fcntl(both, F_GETFD, 0));
	say("rdwr:%d", (fcntl(plain, F_GETFL, 0) & O_ACCMODE) == O_RDWR);
}

FACT(socket, nonblock_by_fcntl, "v4")
{
	int fd = udp();
	char c;

	say("%s", ret(fcntl(fd, F_SETFL, O_NONBLOCK)));
	say("%s", ret(recv(fd, &c, 1, 0)));
	say("%d", (fcntl(fd, F_GETFL, 0) & O_NONBLOCK) != 0);
}

FACT(socket, nonblock_by_ioctl, "v4")
{
	int fd = udp(), on = 1, off = 0;
	char c;

	say("%s", ret(ioctl(fd, FIONBIO, &on)));
	say("%s", ret(recv(fd, &c, 1, 0)));
	say("%d", (fcntl(fd, F_GETFL, 0) & O_NONBLOCK) != 0);
	say("%s", ret(ioctl(fd, FIONBIO, &off)));
	say("%d", (fcntl(fd, F_GETFL, 0) & O_NONBLOCK) != 0);
}

FACT(socket, listen_accept, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	say("listen:%s", ret(listen(fd, 5)));
	say("accept:%s", ret(accept(fd, NULL, NULL)));
}

FACT(socket, closed_descriptor, "v4")
{
	int fd = udp();
	char c = 0;

	close_now(fd);
	say("bind:%s", ret(bind4(fd, "127.0.0.1", port(0))));
	say("send:%s", ret(send(fd, &c, 1, 0)));
	say("recv:%s", ret(recv(fd, &c, 1, MSG_DONTWAIT)));
	say("close:%s", ret(close(fd)));
}

FACT(socket, negative_descriptor, "v4")
{
	say("%s", ret(bind4(-1, "127.0.0.1", port(0))));
	say("%s", ret(shutdown(-1, SHUT_RD)));
	say("%s", get(-1, SOL_SOCKET, SO_ERROR));
}

FACT(socket, unknown_ioctl, "v4")
{
	int fd = udp(), value = 0;

	say("%s", ret(ioctl(fd, 0x7fff, &value)));
}

/* ---- getsockname(), getpeername() ---- */

FACT(names, new_socket, "v4")
{
	int fd = udp();

	say("local %s", local_name(fd));
	say("peer %s", peer_name(fd));
}

FACT(names, short_buffer, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	struct sockaddr_in a;
	socklen_t len = 4;

	memset(&a, 0xee, sizeof(a));
	say("%s", ret(getsockname(fd, (struct sockaddr *)&a, &len)));
	say("length %u", len);
	say("port %s", a.sin_port == htons((uint16_t)port(0)) ? "right" : "wrong");
	say("address %s", a.sin_addr.s_addr == 0xeeeeeeee ? "untouched" : "written");
}

FACT(names, long_buffer, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	say("%s", ret(getsockname(fd, (struct sockaddr *)&a, &len)));
	say("length %u", len);
}

FACT(names, zero_and_negative_length, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	struct sockaddr_in a;
	socklen_t len = 0;

	say("zero:%s", ret(getsockname(fd, (struct sockaddr *)&a, &len)));
	say("length %u", len);
	len = (socklen_t)-1;
	say("negative:%s", ret(getsockname(fd, (struct sockaddr *)&a, &len)));
}

FACT(names, padding_is_zero, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	static const unsigned char zero[8];
	struct sockaddr_in a;
	socklen_t len = sizeof(a);

	memset(&a, 0xee, sizeof(a));
	getsockname(fd, (struct sockaddr *)&a, &len);
	say("%s", memcmp(a.sin_zero, zero, 8) == 0 ? "zero" : "not zero");
}

/* ---- bind() ---- */

FACT(bind, length_short, "v4")
{
	int fd = udp();
	struct sockaddr_in a = in4("127.0.0.1", port(0));

	say("15:%s", ret(bind(fd, (struct sockaddr *)&a, sizeof(a) - 1)));
	say("2:%s", ret(bind(fd, (struct sockaddr *)&a, 2)));
	say("0:%s", ret(bind(fd, (struct sockaddr *)&a, 0)));
	say("-1:%s", ret(bind(fd, (struct sockaddr *)&a, (socklen_t)-1)));
}

FACT(bind, length_long, "v4")
{
	struct {
		struct sockaddr_in a;
		char more[256];
	} b = {.a = in4("127.0.0.1", port(0))};

	say("17:%s", ret(bind(udp(), (struct sockaddr *)&b, sizeof(b.a) + 1)));
	b.a = in4("127.0.0.1", port(1));
	say("128:%s", ret(bind(udp(), (struct sockaddr *)&b, 128)));
	b.a = in4("127.0.0.1", port(2));
	say("129:%s", ret(bind(udp(), (struct sockaddr *)&b, 129)));
}

FACT(bind, wrong_family, "v4")
{
	struct sockaddr_in6 a = in6("::1", port(0));
	struct sockaddr_in b = in4("127.0.0.1", port(0));

	say("v6:%s", ret(bind(udp(), (struct sockaddr *)&a, sizeof(a))));
	b.sin_family = 77;
	say("unknown:%s", ret(bind(udp(), (struct sockaddr *)&b, sizeof(b))));
}

FACT(bind, unspec_family, "v4")
{
	struct sockaddr_in a = in4("0.0.0.0", port(0));
	int fd = udp();

	a.sin_family = AF_UNSPEC;
	say("wildcard:%s", ret(bind(fd, (struct sockaddr *)&a, sizeof(a))));
	say("%s", local_name(fd));
	a = in4("127.0.0.1", port(1));
	a.sin_family = AF_UNSPEC;
	say("address:%s", ret(bind(udp(), (struct sockaddr *)&a, sizeof(a))));
}

FACT(bind, name, "v4")
{
	say("%s", local_name(bound("127.0.0.1", port(0))));
	say("%s", local_name(bound("0.0.0.0", port(1))));
	say("%s", local_name(bound(HOST, port(0))));
}

FACT(bind, twice, "v4")
{
	int fd = udp();

	say("%s", ret(bind4(fd, "127.0.0.1", port(0))));
	say("%s", ret(bind4(fd, "127.0.0.1", port(1))));
	say("same:%s", ret(bind4(fd, "127.0.0.1", port(0))));
	say("%s", local_name(fd));
}

FACT(bind, after_connect, "v4")
{
	say("%s", ret(bind4(connected("127.0.0.1", port(0)), "127.0.0.1", port(1))));
}

FACT(bind, after_send, "v4")
{
	int fd = udp();

	tx(fd, "x", "127.0.0.1", port(0));
	say("%s", ret(bind4(fd, "127.0.0.1", port(1))));
}

FACT(bind, again_after_failure, "v4")
{
	int fd = udp();

	say("%s", ret(bind4(fd, ELSEWHERE, port(0))));
	say("%s", local_name(fd));
	say("%s", ret(bind4(fd, "127.0.0.1", port(0))));
}

FACT(bind, not_ours, "v4")
{
	say("foreign:%s", ret(bind4(udp(), ELSEWHERE, port(0))));
	say("peer:%s", ret(bind4(udp(), PEER, port(0))));
}

FACT(bind, loopback_net, "v4")
{
	int fd = bound("127.5.6.7", port(0)), s = udp();

	tx(s, "hi", "127.5.6.7", port(0));
	say("%s", rx_from(fd));
}

FACT(bind, freebind, "v4")
{
	int fd = udp();

	say("set:%s", ret(set(fd, IPPROTO_IP, IP_FREEBIND, 1)));
	say("get:%s", get(fd, IPPROTO_IP, IP_FREEBIND));
	say("bind:%s", ret(bind4(fd, ELSEWHERE, port(0))));
	say("%s", local_name(fd));
}

FACT(bind, freebind_send, "v4")
{
	int fd = udp();

	set(fd, IPPROTO_IP, IP_FREEBIND, 1);
	bind4(fd, ELSEWHERE, port(0));
	say("%s", ret(tx(fd, "x", PEER, port(1))));
	say("%s", wire_text(T0));
}

FACT(bind, multicast, "v4,mcast")
{
	int fd = udp();

	say("%s", ret(bind4(fd, "239.1.2.3", port(0))));
	say("%s", local_name(fd));
	say("%s", ret(tx(fd, "x", PEER, port(1))));
	say("%s", wire_text(T0));
}

FACT(bind, broadcast, "v4")
{
	int fd = udp();

	say("limited:%s", ret(bind4(fd, "255.255.255.255", port(0))));
	say("%s", local_name(fd));
	say("%s", ret(tx(fd, "x", PEER, port(1))));
	say("%s", wire_text(T0));
	say("subnet:%s", ret(bind4(udp(), NET_BCAST, port(1))));
}

FACT(bind, broadcast_filters, "v4")
{
	int all = bound("255.255.255.255", port(0)), net = bound(NET_BCAST, port(0));

	wire_say("unicast", port(1), port(0));
	wire_send(T0, (struct wire_udp){.dst = "255.255.255.255",
					.sport = port(1),
					.dport = port(0),
					.data = "limited",
					.len = 7,
					.broadcast = true});
	wire_send(T0, (struct wire_udp){.dst = NET_BCAST,
					.sport = port(1),
					.dport = port(0),
					.data = "subnet",
					.len = 6,
					.broadcast = true});
	say("limited: %s;", rx_n(all, 2));
	say("subnet: %s", rx_n(net, 2));
}

FACT(bind, low_port, "v4")
{
	say("%s", ret(bind4(udp(), "127.0.0.1", 77)));
}

FACT(bind, in_use, "v4")
{
	bound("127.0.0.1", port(0));
	say("same:%s", ret(bind4(udp(), "127.0.0.1", port(0))));
	say("wildcard:%s", ret(bind4(udp(), "0.0.0.0", port(0))));
	say("other_address:%s", ret(bind4(udp(), HOST, port(0))));
	say("other_port:%s", ret(bind4(udp(), "127.0.0.1", port(1))));
}

FACT(bind, in_use_by_wildcard, "v4")
{
	bound("0.0.0.0", port(0));
	say("%s", ret(bind4(udp(), "127.0.0.1", port(0))));
	say("%s", ret(bind4(udp(), HOST, port(0))));
	say("%s", ret(bind4(udp(), "0.0.0.0", port(0))));
}

FACT(bind, free_after_close, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	tx(udp(), "left", "127.0.0.1", port(0));
	close_now(fd);
	fd = udp();
	say("%s", ret(bind4(fd, "127.0.0.1", port(0))));
	say("%s", rx(fd));
}

FACT(bind, connected_holds_port, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	connect4(fd, "127.0.0.1", port(1));
	say("%s", ret(bind4(udp(), "127.0.0.1", port(0))));
	say("%s", ret(bind4(udp(), "0.0.0.0", port(0))));
}

/* ---- implicit and ephemeral ports ---- */

FACT(ephemeral, bind_port_0, "v4")
{
	int fd = udp();

	say("%s", ret(bind4(fd, "127.0.0.1", 0)));
	say("%s", local_name(fd));
}

FACT(ephemeral, implicit_by_send, "v4")
{
	int fd = udp();

	tx(fd, "x", "127.0.0.1", port(0));
	say("%s", local_name(fd));
	say("%s", peer_name(fd));
}

FACT(ephemeral, implicit_by_connect, "v4")
{
	say("%s", local_name(connected("127.0.0.1", port(0))));
	say("%s", local_name(connected(PEER, port(0))));
}

FACT(ephemeral, implicit_by_failed_send, "v4")
{
	int fd = udp();

	say("%s", ret(tx(fd, "x", ELSEWHERE, port(0))));
	say("%s", local_name(fd));
}

FACT(ephemeral, implicit_by_failed_connect, "v4")
{
	int fd = udp();

	say("%s", ret(connect4(fd, ELSEWHERE, port(0))));
	say("%s", local_name(fd));
	say("%s", peer_name(fd));
}

FACT(ephemeral, not_by_recv, "v4")
{
	int fd = udp();

	say("%s", rx(fd));
	say("%s", local_name(fd));
}

FACT(ephemeral, not_by_bad_send, "v4")
{
	int fd = udp();

	say("%s", ret(tx(fd, "x", NULL, 0)));
	say("%s", local_name(fd));
	say("%s", ret(tx(fd, "x", "127.0.0.1", 0)));
	say("%s", local_name(fd));
}

FACT(ephemeral, distinct, "v4")
{
	int seen[PORT_HI + 1] = {0}, twice = 0;

	for (int i = 0; i < 40; i++) {
		int fd = udp();
		struct sockaddr_in a;
		socklen_t len = sizeof(a);

		bind4(fd, "127.0.0.1", 0);
		getsockname(fd, (struct sockaddr *)&a, &len);
		if (ntohs(a.sin_port) < PORT_LO || ntohs(a.sin_port) > PORT_HI)
			say("out of range");
		else
			twice += seen[ntohs(a.sin_port)]++;
	}
	say("%d twice", twice);
}

/* Takes every ephemeral port of an address; returns how many there were. */
static int
exhaust(const char *ip)
{
	for (int n = 0;; n++) {
		int fd = udp();

		if (fd < 0 || n > PORT_HI - PORT_LO + 1 || bind4(fd, ip, 0) < 0)
			return n;
	}
}

FACT(ephemeral, exhausted_bind, "v4")
{
	say("%d", exhaust("0.0.0.0"));
	say("%s", ret(bind4(udp(), "0.0.0.0", 0)));
	say("%s", ret(bind4(udp(), "127.0.0.1", 0)));
}

FACT(ephemeral, exhausted_implicit, "v4")
{
	int fd = udp();

	exhaust("0.0.0.0");
	say("connect:%s", ret(connect4(fd, "127.0.0.1", port(0))));
	say("sendto:%s", ret(tx(fd, "x", "127.0.0.1", port(0))));
	say("%s %s", local_name(fd), peer_name(fd));
}

FACT(ephemeral, exhausted_other_address, "v4")
{
	say("%d", exhaust("127.0.0.1"));
	say("other:%s", ret(bind4(udp(), HOST, 0)));
	say("wildcard:%s", ret(bind4(udp(), "0.0.0.0", 0)));
}

FACT(ephemeral, reuseaddr_given_twice, "v4")
{
	int seen[PORT_HI + 1] = {0}, twice = 0;

	for (int i = 0; i < 48; i++) {
		int fd = udp();
		struct sockaddr_in a;
		socklen_t len = sizeof(a);

		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		bind4(fd, "127.0.0.1", 0);
		getsockname(fd, (struct sockaddr *)&a, &len);
		twice += seen[ntohs(a.sin_port)]++ > 0;
	}
	say("%s", twice > 0 ? "some port given twice" : "all distinct");
}

FACT(ephemeral, freed_by_close, "v4")
{
	int fd = udp(), n;

	bind4(fd, "0.0.0.0", 0);
	n = exhaust("0.0.0.0");
	close_now(fd);
	say("%d then %s", n, ret(bind4(udp(), "0.0.0.0", 0)));
}

/* ---- SO_REUSEADDR, SO_REUSEPORT ---- */

static int
with(int addr, int reuseport)
{
	int fd = udp();

	if (addr)
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (reuseport)
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	return fd;
}

FACT(reuse, who_may_share, "v4")
{
	static const char *const names[] = {"none", "addr", "port", "both"};

	for (int a = 0; a < 4; a++) {
		for (int b = 0; b < 4; b++) {
			int first = with(a & 1, a & 2), second = with(b & 1, b & 2);

			bind4(first, "127.0.0.1", port(0));
			say("%s+%s:%s", names[a], names[b],
			    ret(bind4(second, "127.0.0.1", port(0))));
			close_now(first);
			close_now(second);
		}
	}
}

FACT(reuse, wildcard_and_specific, "v4")
{
	int wild = with(1, 0), specific = with(1, 0), s = udp();

	say("%s", ret(bind4(wild, "0.0.0.0", port(0))));
	say("%s", ret(bind4(specific, "127.0.0.1", port(0))));
	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", HOST, port(0));
	say("specific %s;", rx_n(specific, 2));
	say("wildcard %s", rx_n(wild, 2));
}

FACT(reuse, three_sockets_all_must_agree, "v4")
{
	int a = with(1, 1), b = with(1, 0), c = with(0, 1);

	say("%s", ret(bind4(a, "127.0.0.1", port(0))));
	say("%s", ret(bind4(b, "127.0.0.1", port(0))));
	say("%s", ret(bind4(c, "127.0.0.1", port(0))));
}

FACT(reuse, option_after_bind, "v4")
{
	int a = udp(), b = with(1, 0), c = udp(), d = with(0, 1);

	bind4(a, "127.0.0.1", port(0));
	say("%s", ret(set(a, SOL_SOCKET, SO_REUSEADDR, 1)));
	say("addr:%s", ret(bind4(b, "127.0.0.1", port(0))));
	bind4(c, "127.0.0.1", port(1));
	say("%s", ret(set(c, SOL_SOCKET, SO_REUSEPORT, 1)));
	say("port:%s", ret(bind4(d, "127.0.0.1", port(1))));
}

FACT(reuse, two_interfaces, "v4")
{
	int a = udp(), b = udp(), c = udp(), d = udp();

	to_device(a, T0);
	to_device(b, T1);
	to_device(c, T0);
	say("t0:%s", ret(bind4(a, "0.0.0.0", port(0))));
	say("t1:%s", ret(bind4(b, "0.0.0.0", port(0))));
	say("t0:%s", ret(bind4(c, "0.0.0.0", port(0))));
	say("any:%s", ret(bind4(d, "0.0.0.0", port(0))));
}

FACT(reuse, addr_last_bound_receives, "v4")
{
	int a = with(1, 0), b = with(1, 0), c = with(1, 0), s = udp();

	bind4(a, "127.0.0.1", port(0));
	bind4(b, "127.0.0.1", port(0));
	bind4(c, "127.0.0.1", port(0));
	tx(s, "one", "127.0.0.1", port(0));
	say("%s,%s,%s", rx(a), rx(b), rx(c));
	close_now(c);
	tx(s, "two", "127.0.0.1", port(0));
	say("%s,%s", rx(a), rx(b));
}

/* Members of one group on port(0), and how many datagrams of n flows each gets. */
static void
spread(const int *member, int *got, int members, int flows)
{
	for (int i = 0; i < flows; i++)
		wire_say("x", 10000 + i, port(0));
	for (int m = 0; m < members; m++)
		got[m] = member[m] < 0 ? 0 : drain(member[m]);
}

FACT(reuse, port_spreads, "v4")
{
	int member[4], got[4], least = 1000, sum = 0;

	for (int m = 0; m < 4; m++) {
		member[m] = with(0, 1);
		bind4(member[m], HOST, port(0));
	}
	spread(member, got, 4, 64);
	for (int m = 0; m < 4; m++) {
		sum += got[m];
		least = got[m] < least ? got[m] : least;
	}
	say("%d in all, each member some: %s", sum, least >= 3 ? "yes" : "no");
}

FACT(reuse, port_flow_stays, "v4")
{
	int member[4], got[4], with_some = 0, sum = 0;

	for (int m = 0; m < 4; m++) {
		member[m] = with(0, 1);
		bind4(member[m], HOST, port(0));
	}
	for (int i = 0; i < 8; i++)
		wire_say("x", 10000, port(0));
	for (int m = 0; m < 4; m++) {
		got[m] = drain(member[m]);
		with_some += got[m] > 0;
		sum += got[m];
	}
	say("%d datagrams at %d member", sum, with_some);
}

FACT(reuse, port_connected_member_wins, "v4")
{
	int member[4], got[4], others = 0;

	for (int m = 0; m < 4; m++) {
		member[m] = with(0, 1);
		bind4(member[m], HOST, port(0));
	}
	say("%s", ret(connect4(member[2], PEER, 10005)));
	spread(member, got, 4, 32);
	for (int m = 0; m < 4; m++)
		others += m == 2 ? 0 : got[m];
	say("connected %d, others %d", got[2], others);
}

FACT(reuse, port_member_closed, "v4")
{
	int member[4], got[4], sum = 0;

	for (int m = 0; m < 4; m++) {
		member[m] = with(0, 1);
		bind4(member[m], HOST, port(0));
	}
	close_now(member[1]);
	member[1] = -1;
	spread(member, got, 4, 48);
	for (int m = 0; m < 4; m++)
		sum += got[m];
	say("%d of 48 arrive", sum);
}

FACT(reuse, port_and_reuseaddr_outsider, "v4")
{
	/* A group of two that also allow SO_REUSEADDR, and one later socket with that only. */
	int a = with(1, 1), b = with(1, 1), c = with(1, 0), got[3], member[3];

	bind4(a, HOST, port(0));
	bind4(b, HOST, port(0));
	say("%s", ret(bind4(c, HOST, port(0))));
	member[0] = a;
	member[1] = b;
	member[2] = c;
	spread(member, got, 3, 32);
	say("group %d, outsider %d", got[0] + got[1], got[2]);
}

FACT(reuse, broadcast_to_all, "v4")
{
	int a = with(1, 0), b = with(1, 0), c = with(1, 0);

	bind4(a, "0.0.0.0", port(0));
	bind4(b, "0.0.0.0", port(0));
	bind4(c, HOST, port(0));
	wire_send(T0, (struct wire_udp){.dst = NET_BCAST,
					.sport = port(1),
					.dport = port(0),
					.data = "all",
					.len = 3,
					.broadcast = true});
	say("%s,%s,%s", rx(a), rx(b), rx(c));
}

FACT(reuse, port_broadcast_to_all, "v4")
{
	int a = with(0, 1), b = with(0, 1);

	bind4(a, "0.0.0.0", port(0));
	bind4(b, "0.0.0.0", port(0));
	wire_send(T0, (struct wire_udp){.dst = NET_BCAST,
					.sport = port(1),
					.dport = port(0),
					.data = "all",
					.len = 3,
					.broadcast = true});
	say("%s,%s", rx(a), rx(b));
}
