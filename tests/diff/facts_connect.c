/* SPDX-License-Identifier: BSD-3-Clause */
/* Connect and disconnect (5.3), and which socket receives (5.2). */
#include "probe.h"

FACT(connect, length_short, "v4")
{
	int fd = udp();
	struct sockaddr_in a = in4("127.0.0.1", port(0));

	say("1:%s", ret(connect(fd, (struct sockaddr *)&a, 1)));
	say("2:%s", ret(connect(fd, (struct sockaddr *)&a, 2)));
	say("8:%s", ret(connect(fd, (struct sockaddr *)&a, 8)));
	say("15:%s", ret(connect(fd, (struct sockaddr *)&a, 15)));
	say("-1:%s", ret(connect(fd, (struct sockaddr *)&a, (socklen_t)-1)));
}

FACT(connect, wrong_family, "v4")
{
	struct sockaddr_in6 a = in6("::1", port(0));
	struct sockaddr_in b = in4("127.0.0.1", port(0));

	say("v6:%s", ret(connect(udp(), (struct sockaddr *)&a, sizeof(a))));
	b.sin_family = 77;
	say("unknown:%s", ret(connect(udp(), (struct sockaddr *)&b, sizeof(b))));
}

FACT(connect, disconnect_never_connected, "v4")
{
	int fd = udp();

	say("%s", ret(disconnect(fd)));
	say("%s", local_name(fd));
}

FACT(connect, disconnect_short_address, "v4")
{
	int fd = connected("127.0.0.1", port(0));
	struct sockaddr a = {.sa_family = AF_UNSPEC};

	say("%s", ret(connect(fd, &a, sizeof(a.sa_family))));
	say("%s", peer_name(fd));
}

FACT(connect, names, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("%s to %s", local_name(fd), peer_name(fd));
	fd = connected(PEER, port(0));
	say("%s to %s", local_name(fd), peer_name(fd));
	fd = connected(HOST, port(0));
	say("%s to %s", local_name(fd), peer_name(fd));
	fd = connected("127.9.9.9", port(0));
	say("%s to %s", local_name(fd), peer_name(fd));
}

FACT(connect, to_wildcard, "v4")
{
	int fd = connected("0.0.0.0", port(0));

	say("%s to %s", local_name(fd), peer_name(fd));
}

FACT(connect, to_wildcard_bound, "v4")
{
	int fd = bound(HOST, port(0));

	say("%s", ret(connect4(fd, "0.0.0.0", port(1))));
	say("%s to %s", local_name(fd), peer_name(fd));
}

FACT(connect, to_port_0, "v4")
{
	int fd = udp();

	say("%s", ret(connect4(fd, "127.0.0.1", 0)));
	say("%s", peer_name(fd));
	say("%s", local_name(fd));
	say("%s", ret(tx(fd, "x", NULL, 0)));
}

FACT(connect, to_itself, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	say("%s", ret(connect4(fd, "127.0.0.1", port(0))));
	tx(fd, "echo", NULL, 0);
	say("%s", rx_from(fd));
}

FACT(connect, no_route, "v4")
{
	int fd = udp();

	say("%s", ret(connect4(fd, ELSEWHERE, port(0))));
	say("%s", peer_name(fd));
}

FACT(connect, no_route_keeps_old_peer, "v4")
{
	int fd = connected("127.0.0.1", port(0)), s = bound("127.0.0.1", port(0));

	say("%s", ret(connect4(fd, ELSEWHERE, port(0))));
	say("%s", peer_name(fd));
	say("%s", ret(tx(fd, "x", NULL, 0)));
	say("%s", rx(s));
}

FACT(connect, no_route_after_wire, "v4")
{
	int fd = connected(PEER, port(0));

	say("%s", ret(connect4(fd, ELSEWHERE, port(0))));
	say("%s to %s", local_name(fd), peer_name(fd));
	say("%s", ret(tx(fd, "x", NULL, 0)));
	say("%s", wire_text(T0));
}

FACT(connect, special_routes, "v4,route")
{
	say("unreachable:%s", ret(connect4(udp(), "192.0.2.1", port(0))));
	say("prohibit:%s", ret(connect4(udp(), "192.0.2.2", port(0))));
	say("blackhole:%s", ret(connect4(udp(), "192.0.2.3", port(0))));
}

FACT(connect, broadcast, "v4")
{
	int fd = udp();

	say("limited:%s", ret(connect4(fd, "255.255.255.255", port(0))));
	say("subnet:%s", ret(connect4(fd, NET_BCAST, port(0))));
	set(fd, SOL_SOCKET, SO_BROADCAST, 1);
	say("allowed:%s", ret(connect4(fd, NET_BCAST, port(0))));
	say("%s to %s", local_name(fd), peer_name(fd));
}

FACT(connect, broadcast_not_then_kept, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("%s", ret(connect4(fd, NET_BCAST, port(0))));
	say("%s", peer_name(fd));
}

FACT(connect, again_replaces, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1)), fd = udp();

	say("%s", ret(connect4(fd, "127.0.0.1", port(0))));
	say("%s", ret(connect4(fd, "127.0.0.1", port(1))));
	say("%s", peer_name(fd));
	tx(fd, "x", NULL, 0);
	say("%s,%s", rx(a), rx(b));
}

FACT(connect, again_same, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("%s", ret(connect4(fd, "127.0.0.1", port(0))));
	say("%s", peer_name(fd));
}

FACT(connect, again_keeps_local, "v4")
{
	int fd = connected(PEER1, port(0));

	say("%s", local_name(fd));
	say("%s", ret(connect4(fd, PEER, port(0))));
	say("%s", local_name(fd));
	tx(fd, "x", NULL, 0);
	say("%s", wire_text(T0));
}

FACT(connect, again_port_kept, "v4")
{
	int fd = udp();
	struct sockaddr_in a, b;
	socklen_t len = sizeof(a);

	connect4(fd, "127.0.0.1", port(0));
	getsockname(fd, (struct sockaddr *)&a, &len);
	connect4(fd, "127.0.0.1", port(1));
	getsockname(fd, (struct sockaddr *)&b, &len);
	say("%s", a.sin_port == b.sin_port ? "same" : "other");
}

FACT(connect, wildcard_bound_local_chosen, "v4")
{
	int fd = bound("0.0.0.0", port(0));

	connect4(fd, PEER, port(1));
	say("%s", local_name(fd));
	say("%s", ret(disconnect(fd)));
	say("%s", local_name(fd));
	say("%s", peer_name(fd));
}

FACT(connect, disconnect_implicit_port, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	disconnect(fd);
	say("%s", local_name(fd));
	tx(fd, "x", "127.0.0.1", port(0));
	say("%s", local_name(fd));
}

FACT(connect, disconnect_bound_to_port_0, "v4")
{
	int fd = bound("127.0.0.1", 0);

	say("%s", local_name(fd));
	connect4(fd, "127.0.0.1", port(0));
	disconnect(fd);
	say("%s", local_name(fd));
}

FACT(connect, disconnect_bound_wild_port_0, "v4")
{
	int fd = bound("0.0.0.0", 0);

	connect4(fd, "127.0.0.1", port(0));
	disconnect(fd);
	say("%s", local_name(fd));
}

FACT(connect, disconnect_bound, "v4")
{
	int fd = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));

	connect4(fd, "127.0.0.1", port(2));
	disconnect(fd);
	say("%s", local_name(fd));
	tx(s, "again", "127.0.0.1", port(0));
	say("%s", rx(fd));
}

FACT(connect, disconnect_wildcard_receives, "v4")
{
	int fd = bound("0.0.0.0", port(0)), s = udp();

	connect4(fd, "127.0.0.1", port(1));
	disconnect(fd);
	tx(s, "lo", "127.0.0.1", port(0));
	tx(s, "host", HOST, port(0));
	say("%s", rx_n(fd, 2));
}

FACT(connect, disconnect_send_needs_address, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	disconnect(fd);
	say("%s", ret(tx(fd, "x", NULL, 0)));
}

FACT(connect, bind_after_disconnect, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	disconnect(fd);
	say("%s", ret(bind4(fd, "127.0.0.1", port(1))));
	say("%s", local_name(fd));
}

FACT(connect, shutdown_survives, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("%s", ret(shutdown(fd, SHUT_WR)));
	say("%s", ret(tx(fd, "x", NULL, 0)));
	connect4(fd, "127.0.0.1", port(1));
	say("reconnect:%s", ret(tx(fd, "x", NULL, 0)));
	disconnect(fd);
	connect4(fd, "127.0.0.1", port(1));
	say("disconnect,connect:%s", ret(tx(fd, "x", NULL, 0)));
}

FACT(connect, shutdown_read_survives, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	shutdown(fd, SHUT_RD);
	disconnect(fd);
	connect4(fd, "127.0.0.1", port(1));
	say("%s", polled(fd));
}

FACT(connect, disconnect_clears_device, "v4")
{
	int fd = udp();
	char name[IFNAMSIZ] = "";
	socklen_t len = sizeof(name);

	to_device(fd, LO);
	connect4(fd, "127.0.0.1", port(0));
	getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len);
	say("bound %s", len > 0 ? "yes" : "no");
	disconnect(fd);
	len = sizeof(name);
	getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &len);
	say("after %s", len > 0 ? "yes" : "no");
}

FACT(connect, exact_four_tuple_twice, "v4")
{
	int a = udp(), b = udp();

	set(a, SOL_SOCKET, SO_REUSEADDR, 1);
	set(b, SOL_SOCKET, SO_REUSEADDR, 1);
	bind4(a, "127.0.0.1", port(0));
	bind4(b, "127.0.0.1", port(0));
	say("%s", ret(connect4(a, "127.0.0.1", port(1))));
	say("%s", ret(connect4(b, "127.0.0.1", port(1))));
}

FACT(connect, pending_error_survives, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	tx(fd, "x", NULL, 0);
	say("%s", ret(connect4(fd, "127.0.0.1", port(1))));
	say("%s", so_error(fd));
}

/* ---- lookup ---- */

FACT(lookup, connected_specific_wild, "v4")
{
	int wild = udp(), spec = udp(), conn = udp(), s = udp(), other = udp();
	int one = 1;

	for (int i = 0; i < 3; i++)
		setsockopt(i == 0   ? wild
			   : i == 1 ? spec
				    : conn,
			   SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	bind4(wild, "0.0.0.0", port(0));
	bind4(conn, "127.0.0.1", port(0));
	bind4(spec, "127.0.0.1", port(0));
	bind4(s, "127.0.0.1", port(1));
	connect4(conn, "127.0.0.1", port(1));
	tx(s, "c", "127.0.0.1", port(0));
	tx(other, "s", "127.0.0.1", port(0));
	tx(other, "w", "127.0.0.2", port(0));
	say("connected %s;", rx_n(conn, 2));
	say("specific %s;", rx_n(spec, 2));
	say("wildcard %s", rx_n(wild, 2));
}

FACT(lookup, wildcard_connected, "v4")
{
	/* The connected one was bound to the wildcard first. */
	int conn = udp(), spec = udp(), s = bound("127.0.0.1", port(1));

	set(conn, SOL_SOCKET, SO_REUSEADDR, 1);
	set(spec, SOL_SOCKET, SO_REUSEADDR, 1);
	bind4(conn, "0.0.0.0", port(0));
	bind4(spec, "127.0.0.1", port(0));
	connect4(conn, "127.0.0.1", port(1));
	tx(s, "x", "127.0.0.1", port(0));
	say("connected %s specific %s", rx(conn), rx(spec));
}

FACT(lookup, wildcard_any_address, "v4")
{
	int fd = bound("0.0.0.0", port(0)), s = udp();

	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.3.3.3", port(0));
	tx(s, "c", HOST, port(0));
	wire_say("d", port(1), port(0));
	say("%s", rx_n(fd, 4));
}

FACT(lookup, other_local_address, "v4")
{
	int fd = bound("127.0.0.1", port(0)), s = connected("127.0.0.2", port(0));

	tx(s, "x", NULL, 0);
	say("%s", rx(fd));
	say("%s", ret(tx(s, "x", NULL, 0)));
}

FACT(lookup, own_address_from_other_wire, "v4")
{
	/* Weak host model: an address is ours, whatever interface it came in by. */
	int fd = bound(HOST1, port(0));

	wire_send(T0, (struct wire_udp){.dst = HOST1,
					.sport = port(1),
					.dport = port(0),
					.data = "weak",
					.len = 4});
	say("%s", rx_from(fd));
}

FACT(lookup, connected_refuses_others, "v4")
{
	int fd = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	connect4(fd, "127.0.0.1", port(1));
	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", rx(fd));
	say("%s", ret(tx(s, "x", NULL, 0)));
}

FACT(lookup, connected_refuses_other_address, "v4")
{
	int fd = bound("0.0.0.0", port(0)), s = bound("127.0.0.2", port(1));

	connect4(fd, "127.0.0.1", port(1));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", rx(fd));
}

FACT(lookup, queued_before_connect, "v4")
{
	int fd = bound("127.0.0.1", port(0)), s = udp();

	tx(s, "early", "127.0.0.1", port(0));
	connect4(fd, "127.0.0.1", port(1));
	tx(s, "late", "127.0.0.1", port(0));
	say("%s", rx_n(fd, 2));
}

FACT(lookup, reconnect_follows, "v4")
{
	int fd = bound("0.0.0.0", port(0)), a = bound("127.0.0.1", port(1));
	int b = bound("127.0.0.1", port(2));

	for (int i = 0; i < 3; i++) {
		connect4(fd, "127.0.0.1", port(1));
		tx(a, "a", "127.0.0.1", port(0));
		tx(b, "b", "127.0.0.1", port(0));
		connect4(fd, "127.0.0.1", port(2));
		tx(a, "A", "127.0.0.1", port(0));
		tx(b, "B", "127.0.0.1", port(0));
	}
	say("%s", rx_n(fd, 4));
	say("%s", rx_n(fd, 3));
}

FACT(lookup, device_filters, "v4")
{
	int fd = udp(), s = udp();

	to_device(fd, T0);
	bind4(fd, "0.0.0.0", port(0));
	tx(s, "loopback", "127.0.0.1", port(0));
	wire_send(T1,
		  (struct wire_udp){.sport = port(1), .dport = port(0), .data = "t1", .len = 2});
	wire_say("t0", port(1), port(0));
	say("%s", rx_n(fd, 2));
}

FACT(lookup, device_beats_any, "v4")
{
	int dev = udp(), any = udp();

	set(dev, SOL_SOCKET, SO_REUSEADDR, 1);
	set(any, SOL_SOCKET, SO_REUSEADDR, 1);
	to_device(dev, T0);
	bind4(dev, "0.0.0.0", port(0));
	bind4(any, "0.0.0.0", port(0));
	wire_say("t0", port(1), port(0));
	wire_send(T1,
		  (struct wire_udp){.sport = port(1), .dport = port(0), .data = "t1", .len = 2});
	say("device %s any %s", rx(dev), rx_n(any, 2));
}

FACT(lookup, device_set_after_bind, "v4")
{
	int fd = bound("0.0.0.0", port(0));

	wire_send(T1,
		  (struct wire_udp){.sport = port(1), .dport = port(0), .data = "one", .len = 3});
	to_device(fd, T0);
	wire_send(T1,
		  (struct wire_udp){.sport = port(1), .dport = port(0), .data = "two", .len = 3});
	wire_say("three", port(1), port(0));
	setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "", 0);
	wire_send(T1,
		  (struct wire_udp){.sport = port(1), .dport = port(0), .data = "four", .len = 4});
	say("%s", rx_n(fd, 4));
}

FACT(lookup, nobody_local, "v4")
{
	int s = connected("127.0.0.1", port(0));

	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", ret(tx(s, "x", NULL, 0)));
	say("%s", rx(s));
	say("%s", rx(s));
}

FACT(lookup, nobody_wire, "v4")
{
	const struct wire_got *g;

	wire_say("nobody", port(1), port(0));
	g = wire_take(T0);
	if (g->len == 0) {
		say("nothing");
		return;
	}
	say("type %d code %d checksum %s", g->l4[0], g->l4[1], g->csum_ok ? "right" : "wrong");
	say("quotes %s, tos 0x%x", memcmp(g->l4 + 8 + 28, "nobody", 6) == 0 ? "all" : "part",
	    g->tos);
	say("from %s to %s", g->src, g->dst);
}

FACT(lookup, nobody_bad_checksum, "v4")
{
	wire_send(T0,
		  (struct wire_udp){
			  .sport = port(1), .dport = port(0), .data = "x", .len = 1, .csum = 1});
	say("%s", wire_text(T0));
}

FACT(lookup, nobody_broadcast, "v4")
{
	wire_send(T0, (struct wire_udp){.dst = NET_BCAST,
					.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1,
					.broadcast = true});
	say("%s", wire_text(T0));
	wire_send(T0, (struct wire_udp){.dst = "255.255.255.255",
					.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1,
					.broadcast = true});
	say("%s", wire_text(T0));
}

FACT(lookup, unicast_in_broadcast_frame, "v4")
{
	/* RFC 1122: a unicast address in a link-layer broadcast is not answered with an error. */
	int fd = bound(HOST, port(0));

	wire_send(T0, (struct wire_udp){.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1,
					.broadcast = true});
	say("%s", rx(fd));
	wire_send(T0, (struct wire_udp){.sport = port(1),
					.dport = port(2),
					.data = "x",
					.len = 1,
					.broadcast = true});
	say("%s", wire_text(T0));
}

FACT(lookup, foreign_mac, "v4")
{
	static const unsigned char foreign[6] = {2, 9, 9, 9, 9, 9};
	int fd = bound(HOST, port(0));

	wire_send(T0, (struct wire_udp){.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1,
					.mac = foreign});
	say("%s", rx(fd));
}

FACT(lookup, not_our_address, "v4")
{
	int fd = bound("0.0.0.0", port(0));

	wire_send(T0, (struct wire_udp){.dst = "10.77.0.50",
					.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1});
	say("%s", rx(fd));
}

FACT(lookup, bound_but_shut, "v4")
{
	int fd = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	shutdown(fd, SHUT_RD);
	tx(s, "still", NULL, 0);
	say("%s", rx(fd));
	say("%s", so_error(s));
}
