/* SPDX-License-Identifier: BSD-3-Clause */
/* The receive queue as one sees it: peeking, lengths, buffer limits, drops, checksums: section 1. */
#include "probe.h"

/* A socket with these datagrams queued. */
static int
queued(const char *a, const char *b, const char *c)
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	const char *all[] = {a, b, c};

	for (int i = 0; i < 3; i++)
		if (all[i] != NULL)
			tx(s, all[i], "127.0.0.1", port(0));
	return r;
}

/* ---- MSG_PEEK ---- */

FACT(peek, same_again, "v4")
{
	int r = queued("abc", "def", NULL);

	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_n(r, 3));
}

FACT(peek, empty_datagram_first, "v4")
{
	int r = queued("", "def", NULL);

	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_n(r, 2));
}

FACT(peek, short_buffer_keeps_all, "v4")
{
	int r = queued("abcdef", NULL, NULL);
	char data[4] = "";
	struct iovec iov = {data, 2};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	say("%s", ret(recvmsg(r, &m, MSG_PEEK | MSG_DONTWAIT)));
	say("%s %s", data, msg_names(m.msg_flags));
	say("%s", rx(r));
}

FACT(peek, nothing, "v4")
{
	say("%s", rx_flags(queued(NULL, NULL, NULL), MSG_PEEK));
}

FACT(peek, name_and_order, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));
	struct got *g;

	tx(s, "a", "127.0.0.1", port(0));
	g = rx_msg(r, MSG_PEEK);
	say("%s", name_text((struct sockaddr *)&g->name, g->name_len));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_n(r, 2));
}

/* ---- SO_PEEK_OFF ---- */

static const char *
peek(int fd, size_t size)
{
	char data[32] = "";
	long n = recv(fd, data, size, MSG_PEEK | MSG_DONTWAIT);

	return n < 0 ? ret(n) : n == 0 ? "''" : text("%s", data);
}

static const char *
off(int fd)
{
	return get(fd, SOL_SOCKET, SO_PEEK_OFF);
}

/* The same with the offset afterwards. */
static const char *
peek_at(int fd, size_t size)
{
	const char *data = peek(fd, size);

	return text("%s@%s", data, off(fd));
}

static const char *
read_at(int fd)
{
	const char *data = rx(fd);

	return text("%s@%s", data, off(fd));
}

FACT(peek_off, values, "v4")
{
	int fd = udp();

	say("%s", off(fd));
	say("%s", ret(set(fd, SOL_SOCKET, SO_PEEK_OFF, 5)));
	say("%s", off(fd));
	say("%s", ret(set(fd, SOL_SOCKET, SO_PEEK_OFF, -1)));
	say("%s", off(fd));
	say("-7:%s", ret(set(fd, SOL_SOCKET, SO_PEEK_OFF, -7)));
	say("%s", off(fd));
}

FACT(peek_off, walks_datagrams, "v4")
{
	int r = queued("abcd", "efgh", NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	say("%s", peek_at(r, 3));
	say("%s", peek_at(r, 3));
	say("%s", peek_at(r, 10));
	say("%s", peek_at(r, 10));
	say("%s", read_at(r));
	say("%s", read_at(r));
}

FACT(peek_off, start_inside, "v4")
{
	int r = queued("abcd", "efgh", NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 2);
	say("%s", peek_at(r, 10));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 6);
	say("%s", peek_at(r, 10));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 4);
	say("%s", peek_at(r, 10));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 100);
	say("%s", peek_at(r, 10));
}

FACT(peek_off, beyond_then_arrival, "v4")
{
	int r = queued("abcd", NULL, NULL), s = udp();

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	say("%s", peek(r, 10));
	say("%s", peek(r, 10));
	tx(s, "new", "127.0.0.1", port(0));
	say("%s", peek(r, 10));
}

FACT(peek_off, empty_datagrams, "v4")
{
	int r = queued("", "ab", ""), s = udp();

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	for (int i = 0; i < 4; i++)
		say("%s", peek_at(r, 10));
	tx(s, "", "127.0.0.1", port(0));
	say("%s", peek_at(r, 10));
	say("%s", rx_n(r, 4));
}

FACT(peek_off, empty_first_twice_from_start, "v4")
{
	int r = queued("", "ab", NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	say("%s", peek(r, 10));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	say("%s", peek(r, 10));
	set(r, SOL_SOCKET, SO_PEEK_OFF, -1);
	say("%s", peek(r, 10));
}

FACT(peek_off, read_moves_back, "v4")
{
	int r = queued("abcd", "efgh", NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	say("%s", peek_at(r, 2));
	say("%s", read_at(r));
	say("%s", peek_at(r, 10));
}

FACT(peek_off, truncated_read_moves_back, "v4")
{
	int r = queued("abcd", "efgh", NULL);
	char data[2];

	set(r, SOL_SOCKET, SO_PEEK_OFF, 8);
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT)));
	say("@%s", off(r));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 8);
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT | MSG_TRUNC)));
	say("@%s", off(r));
}

FACT(peek_off, trunc_flag, "v4")
{
	int r = queued("abcd", "efgh", NULL);
	char data[8];
	struct iovec iov = {data, 2};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	set(r, SOL_SOCKET, SO_PEEK_OFF, 1);
	say("%s", ret(recvmsg(r, &m, MSG_PEEK | MSG_DONTWAIT)));
	say("%s@%s", msg_names(m.msg_flags), off(r));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 1);
	iov.iov_len = 8;
	say("%s", ret(recvmsg(r, &m, MSG_PEEK | MSG_DONTWAIT)));
	say("%s", msg_names(m.msg_flags));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 1);
	iov.iov_len = 2;
	say("%s", ret(recvmsg(r, &m, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC)));
	say("%s", off(r));
}

FACT(peek_off, plain_read_ignores_it, "v4")
{
	int r = queued("abcd", NULL, NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 2);
	say("%s", rx(r));
}

/* ---- FIONREAD ---- */

static const char *
fionread(int fd)
{
	int n = -1;

	if (ioctl(fd, FIONREAD, &n) < 0)
		return ret(-1);
	return text("%d", n);
}

FACT(fionread, first_only, "v4")
{
	int r = queued("abcde", "fg", NULL);

	say("%s", fionread(r));
	rx(r);
	say("%s", fionread(r));
	rx(r);
	say("%s", fionread(r));
}

FACT(fionread, empty_datagram, "v4")
{
	int r = queued("", "fg", NULL);

	say("%s", fionread(r));
	rx(r);
	say("%s", fionread(r));
}

FACT(fionread, after_peek, "v4")
{
	int r = queued("abcde", NULL, NULL);

	rx_flags(r, MSG_PEEK);
	say("%s", fionread(r));
	say("%s", rx(r));
}

FACT(fionread, unbound, "v4")
{
	say("%s", fionread(udp()));
}

FACT(fionread, ignores_peek_off, "v4")
{
	int r = queued("abcde", NULL, NULL);

	set(r, SOL_SOCKET, SO_PEEK_OFF, 3);
	say("%s", fionread(r));
}

/* ---- SO_RCVBUF, SO_SNDBUF ---- */

static const char *
buffer(int fd, int option, int value)
{
	int got, max = option == SO_RCVBUF ? env_rmem_max() : env_wmem_max();

	if (set(fd, SOL_SOCKET, option, value) < 0)
		return ret(-1);
	got = get_int(fd, SOL_SOCKET, option);
	return got == 2 * max ? "2*max" : text("%d", got);
}

FACT(rcvbuf, doubled, "v4")
{
	int fd = udp();

	say("4096:%s", buffer(fd, SO_RCVBUF, 4096));
	say("10000:%s", buffer(fd, SO_RCVBUF, 10000));
	say("huge:%s", buffer(fd, SO_RCVBUF, 0x7fffffff));
}

FACT(rcvbuf, minimum, "v4")
{
	int fd = udp();

	say("0:%s", buffer(fd, SO_RCVBUF, 0));
	say("1:%s", buffer(fd, SO_RCVBUF, 1));
	say("-1:%s", buffer(fd, SO_RCVBUF, -1));
}

FACT(rcvbuf, send_doubled, "v4")
{
	int fd = udp();

	say("4096:%s", buffer(fd, SO_SNDBUF, 4096));
	say("10000:%s", buffer(fd, SO_SNDBUF, 10000));
	say("huge:%s", buffer(fd, SO_SNDBUF, 0x7fffffff));
	say("0:%s", buffer(fd, SO_SNDBUF, 0));
	say("-1:%s", buffer(fd, SO_SNDBUF, -1));
}

FACT(rcvbuf, defaults, "v4")
{
	int fd = udp();

	say("%s %s", get(fd, SOL_SOCKET, SO_RCVBUF), get(fd, SOL_SOCKET, SO_SNDBUF));
}

FACT(rcvbuf, force, "v4")
{
	int fd = udp(), max = env_rmem_max();

	say("%s", ret(set(fd, SOL_SOCKET, SO_RCVBUFFORCE, max + 1000)));
	say("%s", get_int(fd, SOL_SOCKET, SO_RCVBUF) == 2 * (max + 1000) ? "beyond the maximum"
									 : "capped");
	say("-1:%s", ret(set(fd, SOL_SOCKET, SO_RCVBUFFORCE, -1)));
	say("%s", get(fd, SOL_SOCKET, SO_RCVBUF));
}

FACT(rcvbuf, smallest_still_receives, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), n;

	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	for (int i = 0; i < 50; i++)
		tx(s, "0123456789", "127.0.0.1", port(0));
	n = drain(r);
	say("%s", n == 0 ? "none" : n < 50 ? "some" : "all");
	tx(s, "after", "127.0.0.1", port(0));
	say("%s", rx(r));
}

FACT(rcvbuf, larger_than_all, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	tx_n(s, 60000, "127.0.0.1", port(0));
	tx_n(s, 60000, "127.0.0.1", port(0));
	say("%s", rx(r));
	say("%s", rx(r));
}

FACT(rcvbuf, lowering_keeps_queued, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	for (int i = 0; i < 30; i++)
		tx(s, "x", "127.0.0.1", port(0));
	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	tx(s, "late", "127.0.0.1", port(0));
	say("%d", drain(r));
}

FACT(rcvbuf, raising_takes_effect, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	for (int i = 0; i < 50; i++)
		tx(s, "x", "127.0.0.1", port(0));
	set(r, SOL_SOCKET, SO_RCVBUF, 1000000);
	drain(r);
	for (int i = 0; i < 50; i++)
		tx(s, "x", "127.0.0.1", port(0));
	say("%d", drain(r));
}

FACT(rcvbuf, full_then_read_then_space, "v4")
{
	/* The limit is given back as one reads, also in small portions. */
	int r = bound("127.0.0.1", port(0)), s = udp(), wrong = 0;

	set(r, SOL_SOCKET, SO_RCVBUF, 20000);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++)
			tx(s, "x", "127.0.0.1", port(0));
		wrong += drain(r) == 0;
	}
	tx(s, "end", "127.0.0.1", port(0));
	say("%d rounds without any; %s", wrong, rx(r));
}

FACT(rcvbuf, reserve_mem, "v4")
{
	int fd = udp();

	say("set:%s", ret(set(fd, SOL_SOCKET, SO_RESERVE_MEM, 4096)));
	say("get:%s", get(fd, SOL_SOCKET, SO_RESERVE_MEM));
}

/* ---- SO_RXQ_OVFL ---- */

FACT(rxq_ovfl, counts, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), accepted;
	struct got *g;

	say("%s", get(r, SOL_SOCKET, SO_RXQ_OVFL));
	say("%s", ret(set(r, SOL_SOCKET, SO_RXQ_OVFL, 1)));
	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	for (int i = 0; i < 20; i++)
		tx(s, "x", "127.0.0.1", port(0));
	for (accepted = 0; (g = rx_msg(r, 0))->n >= 0; accepted++)
		if (cmsg_of(g, SOL_SOCKET, SO_RXQ_OVFL) != NULL)
			say("early message");
	tx(s, "x", "127.0.0.1", port(0));
	g = rx_msg(r, 0);
	say("%s", cmsg_int(g, SOL_SOCKET, SO_RXQ_OVFL) == 20 - accepted ? "exactly what was lost"
									: "wrong");
	tx(s, "x", "127.0.0.1", port(0));
	g = rx_msg(r, 0);
	say("again %s",
	    cmsg_int(g, SOL_SOCKET, SO_RXQ_OVFL) == 20 - accepted ? "the same" : "other");
}

FACT(rxq_ovfl, counted_before_option, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	for (int i = 0; i < 20; i++)
		tx(s, "x", "127.0.0.1", port(0));
	drain(r);
	set(r, SOL_SOCKET, SO_RXQ_OVFL, 1);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", cmsg_int(rx_msg(r, 0), SOL_SOCKET, SO_RXQ_OVFL) > 0 ? "told" : "not told");
}

FACT(rxq_ovfl, small_bad_checksum, "v4")
{
	/* Refused before it is anybody's. */
	int r = bound(HOST, port(0));

	set(r, SOL_SOCKET, SO_RXQ_OVFL, 1);
	wire_send(T0,
		  (struct wire_udp){
			  .sport = port(1), .dport = port(0), .data = "x", .len = 1, .csum = 1});
	wire_say("good", port(1), port(0));
	say("%s", cmsg_int(rx_msg(r, 0), SOL_SOCKET, SO_RXQ_OVFL) > 0 ? "told" : "not told");
}

/* ---- checksums: small ones are verified at once, large ones when read ---- */

static void
large(int csum)
{
	static char data[400];

	memset(data, 'L', sizeof(data));
	wire_send(T0, (struct wire_udp){.sport = port(1),
					.dport = port(0),
					.data = data,
					.len = sizeof(data),
					.csum = csum});
}

FACT(checksum, large_bad_is_never_read, "v4")
{
	int r = bound(HOST, port(0));

	large(1);
	say("%s", rx(r));
	large(1);
	large(0);
	large(1);
	say("%s", rx_n(r, 2));
}

FACT(checksum, large_bad_peek, "v4")
{
	int r = bound(HOST, port(0));

	large(1);
	large(0);
	say("%s", rx_flags(r, MSG_PEEK));
	say("%s", rx_n(r, 2));
}

FACT(checksum, large_bad_peek_behind_head, "v4")
{
	int r = bound(HOST, port(0));

	set(r, SOL_SOCKET, SO_PEEK_OFF, 0);
	wire_say("head", port(1), port(0));
	large(1);
	wire_say("tail", port(1), port(0));
	say("%s", peek(r, 20));
	say("%s", peek(r, 20));
	say("%s", rx_n(r, 3));
}

FACT(checksum, large_bad_short_read, "v4")
{
	int r = bound(HOST, port(0));
	char data[8];

	large(1);
	wire_say("good", port(1), port(0));
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT | MSG_TRUNC)));
	say("%.2s", data);
}

FACT(checksum, fionread_drops_bad, "v4")
{
	int r = bound(HOST, port(0));

	large(1);
	wire_say("good", port(1), port(0));
	say("%s", fionread(r));
}

FACT(checksum, poll_blocking, "v4")
{
	int r = bound(HOST, port(0));

	large(1);
	say("%s", polled_for(r, POLLIN, 0));
	wire_say("good", port(1), port(0));
	say("%s", polled_for(r, POLLIN, 0));
}

/* What shows that large datagrams are verified when they are read. */
FACT(checksum, verified_late, "v4")
{
	int r = bound(HOST, port(0));

	fcntl(r, F_SETFL, O_NONBLOCK);
	set(r, SOL_SOCKET, SO_RXQ_OVFL, 1);
	large(1);
	say("%s", polled_for(r, POLLIN, 0));
	say("then %s", rx(r));
	wire_say("good", port(1), port(0));
	say("dropped %s", cmsg_int(rx_msg(r, 0), SOL_SOCKET, SO_RXQ_OVFL) > 0 ? "here" : "before");
}
