/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: section 5.5, truncation and lengths (1.5), ancillary data. */
#include "probe.h"

FACT(recv, nothing, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	say("bound:%s", rx(fd));
	say("unbound:%s", rx(udp()));
	fcntl(fd, F_SETFL, O_NONBLOCK);
	say("read:%s", ret(read(fd, (char[4]){0}, 4)));
}

FACT(recv, order, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", rx(r));
	tx(s, "c", "127.0.0.1", port(0));
	say("%s", rx_n(r, 3));
}

FACT(recv, source, "v4")
{
	int r = bound("0.0.0.0", port(0)), s = bound("127.0.0.1", port(1)),
	    any = bound("0.0.0.0", port(2));

	tx(s, "a", "127.0.0.1", port(0));
	say("%s;", rx_from(r));
	tx(any, "b", HOST, port(0));
	say("%s;", rx_from(r));
	wire_say("c", port(3), port(0));
	say("%s", rx_from(r));
}

FACT(recv, read_and_readv, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	char a[3] = "", b[8] = "";
	struct iovec iov[2] = {{a, 2}, {b, 7}};

	tx(s, "abcde", NULL, 0);
	tx(s, "fghij", NULL, 0);
	say("%s", ret(read(r, b, 3)));
	say("%s", b);
	memset(b, 0, sizeof(b));
	say("%s", ret(readv(r, iov, 2)));
	say("%s+%s", a, b);
}

FACT(recv, write_and_writev, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct iovec iov[2] = {VEC("ab"), VEC("cd")};

	say("%s", ret(write(s, "xyz", 3)));
	say("%s", ret(writev(s, iov, 2)));
	env_settle();
	say("%s", rx_n(r, 2));
}

FACT(recv, write_zero, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));

	say("%s", ret(write(s, "", 0)));
	env_settle();
	say("%s", rx(r));
}

FACT(recv, timeout, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	struct timeval t = {.tv_usec = 30000};
	char c;

	say("%s", ret(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t))));
	say("recv:%s", ret(recv(fd, &c, 1, 0)));
	say("peek:%s", ret(recv(fd, &c, 1, MSG_PEEK)));
	say("read:%s", ret(read(fd, &c, 1)));
}

FACT(recv, timeout_measured, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	struct timeval t = {.tv_usec = 60000};
	uint64_t start = now_ms(), took;
	char c;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
	recv(fd, &c, 1, 0);
	took = now_ms() - start;
	say("%s", took < 50 ? "early" : "in time");
}

FACT(recv, shut_read, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	char c;

	connect4(r, "127.0.0.1", port(1));
	disconnect(r);
	tx(s, "q", NULL, 0);
	say("%s", ret(shutdown(r, SHUT_RD)));
	say("%s", ret(recv(r, &c, 1, 0)));
	say("blocking:%s", ret(recv(r, &c, 1, 0)));
	say("dontwait:%s", rx(r));
	tx(s, "new", NULL, 0);
	say("%s", rx(r));
}

FACT(recv, shut_read_connected, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));
	char c;

	connect4(r, "127.0.0.1", port(1));
	tx(s, "q", "127.0.0.1", port(0));
	say("%s", ret(shutdown(r, SHUT_RD)));
	say("%s", rx(r));
	say("blocking:%s", ret(recv(r, &c, 1, 0)));
	say("dontwait:%s", rx(r));
	tx(s, "new", "127.0.0.1", port(0));
	say("%s", rx(r));
}

FACT(recv, shutdown_how, "v4")
{
	int fd = connected("127.0.0.1", port(0));

	say("3:%s", ret(shutdown(fd, 3)));
	say("-1:%s", ret(shutdown(fd, -1)));
	say("0:%s", ret(shutdown(fd, SHUT_RD)));
	say("1:%s", ret(shutdown(fd, SHUT_WR)));
	say("again:%s", ret(shutdown(fd, SHUT_RDWR)));
}

FACT(recv, shutdown_unconnected, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	char c;

	say("%s", ret(shutdown(fd, SHUT_RD)));
	say("%s", ret(recv(fd, &c, 1, 0)));
	say("%s", polled(fd));
}

FACT(recv, shutdown_unconnected_write, "v4")
{
	int fd = bound("127.0.0.1", port(0));

	say("%s", ret(shutdown(fd, SHUT_WR)));
	say("%s", ret(tx(fd, "x", "127.0.0.1", port(1))));
}

FACT(recv, errqueue_empty, "v4")
{
	int fd = bound("127.0.0.1", port(0));
	char c;

	say("blocking:%s", ret(recv(fd, &c, 1, MSG_ERRQUEUE)));
	set(fd, IPPROTO_IP, IP_RECVERR, 1);
	say("with IP_RECVERR:%s", ret(recv(fd, &c, 1, MSG_ERRQUEUE)));
}

FACT(recv, errqueue_leaves_data, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char c;

	tx(udp(), "data", "127.0.0.1", port(0));
	say("%s", ret(recv(r, &c, 1, MSG_ERRQUEUE)));
	say("%s", rx(r));
}

FACT(recv, waitall, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	char data[16];

	tx(s, "abc", "127.0.0.1", port(0));
	tx(s, "def", "127.0.0.1", port(0));
	say("%s", ret(recv(r, data, sizeof(data), MSG_WAITALL)));
}

FACT(recv, lowat, "v4")
{
	int r = bound("127.0.0.1", port(0));

	say("%s", ret(set(r, SOL_SOCKET, SO_RCVLOWAT, 100)));
	tx(udp(), "abc", "127.0.0.1", port(0));
	say("%s", polled_for(r, POLLIN, 0));
	say("%s", rx(r));
}

FACT(recv, oob, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "abc", "127.0.0.1", port(0));
	say("%s", rx_flags(r, MSG_OOB));
}

FACT(recv, null_buffer, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	tx(s, "abc", "127.0.0.1", port(0));
	tx(s, "def", "127.0.0.1", port(0));
	say("%s", ret(recv(r, NULL, 0, MSG_DONTWAIT)));
	say("%s", rx(r));
}

FACT(recv, zero_buffer_of_zero_datagram, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct msghdr m = {0};

	tx(s, "", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("%s", msg_names(m.msg_flags));
}

/* ---- truncation ---- */

FACT(trunc, rest_is_lost, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	char data[4] = "";

	tx(s, "abcde", "127.0.0.1", port(0));
	tx(s, "next", "127.0.0.1", port(0));
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT)));
	say("%s %s", data, rx(r));
}

FACT(trunc, flag_in_msghdr, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	char data[8] = "";
	struct iovec iov = {data, 2};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	tx(s, "abcde", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("%s", msg_names(m.msg_flags));
	tx(s, "ab", "127.0.0.1", port(0));
	say("exact %s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("%s", msg_names(m.msg_flags));
}

FACT(trunc, msg_trunc_gives_length, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	char data[4] = "";

	tx(s, "abcde", "127.0.0.1", port(0));
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT | MSG_TRUNC)));
	say("%s", data);
	say("%s", rx(r));
}

FACT(trunc, msg_trunc_flag_in_msghdr, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char data[8] = "";
	struct iovec iov = {data, 2};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};

	tx(udp(), "abcde", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT | MSG_TRUNC)));
	say("%s", msg_names(m.msg_flags));
}

FACT(trunc, msg_trunc_zero_buffer, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "abcde", "127.0.0.1", port(0));
	say("%s", ret(recv(r, NULL, 0, MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK)));
	say("%s", ret(recv(r, NULL, 0, MSG_DONTWAIT | MSG_TRUNC)));
}

FACT(trunc, peek_with_trunc, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char data[4] = "";

	tx(udp(), "abcde", "127.0.0.1", port(0));
	say("%s", ret(recv(r, data, 2, MSG_DONTWAIT | MSG_TRUNC | MSG_PEEK)));
	say("%s", rx(r));
}

FACT(trunc, large_longer_than_mbuf, "v4")
{
	int r = bound("127.0.0.1", port(0));
	static char data[70000];

	tx_n(udp(), 9000, "127.0.0.1", port(0));
	tx_n(udp(), 9000, "127.0.0.1", port(0));
	say("%s", ret(recv(r, data, 5000, MSG_DONTWAIT)));
	say("byte %s", (unsigned char)data[4999] == (unsigned char)(4999 * 7) ? "right" : "wrong");
	say("%s", ret(recv(r, data, sizeof(data), MSG_DONTWAIT)));
	say("byte %s", (unsigned char)data[8999] == (unsigned char)(8999 * 7) ? "right" : "wrong");
}

FACT(trunc, scatter, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char a[4] = "", b[4] = "", c[4] = "";
	struct iovec iov[3] = {{a, 1}, {b, 0}, {c, 3}};
	struct msghdr m = {.msg_iov = iov, .msg_iovlen = 3};

	tx(udp(), "abcdef", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("%s,%s,%s %s", a, b, c, msg_names(m.msg_flags));
}

/* ---- names and control buffers ---- */

FACT(recvname, short_buffer, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));
	struct sockaddr_in a;
	socklen_t len = 6;
	char c;

	memset(&a, 0xee, sizeof(a));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", ret(recvfrom(r, &c, 1, MSG_DONTWAIT, (struct sockaddr *)&a, &len)));
	say("length %u", len);
	say("address %s %s", a.sin_port == htons((uint16_t)port(1)) ? "right" : "wrong",
	    ((unsigned char *)&a)[6] == 0xee ? "cut" : "written on");
}

FACT(recvname, null_and_zero, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct sockaddr_in a = {0};
	socklen_t len = 0;
	char c;

	tx(s, "x", "127.0.0.1", port(0));
	tx(s, "y", "127.0.0.1", port(0));
	say("%s", ret(recvfrom(r, &c, 1, MSG_DONTWAIT, NULL, NULL)));
	say("%s", ret(recvfrom(r, &c, 1, MSG_DONTWAIT, (struct sockaddr *)&a, &len)));
	say("length %u", len);
}

FACT(recvname, negative_length, "v4")
{
	int r = bound("127.0.0.1", port(0));
	struct sockaddr_in a = {0};
	socklen_t len = (socklen_t)-1;
	char c;

	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", ret(recvfrom(r, &c, 1, MSG_DONTWAIT, (struct sockaddr *)&a, &len)));
	say("then %s", rx(r));
}

FACT(recvname, recvmsg_null_name, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char c;
	struct iovec iov = {&c, 1};
	struct msghdr m = {.msg_namelen = 99, .msg_iov = &iov, .msg_iovlen = 1};

	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("length %u", m.msg_namelen);
}

FACT(recvname, connected_still_named, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));

	connect4(r, "127.0.0.1", port(1));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", rx_from(r));
}

static int
receiver(int level, int option)
{
	int r = bound("0.0.0.0", port(0));

	say("%s", ret(set(r, level, option, 1)));
	return r;
}

FACT(cmsg, none_by_default, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", cmsg_names(rx_msg(r, 0)));
}

FACT(cmsg, pktinfo, "v4")
{
	int r = receiver(IPPROTO_IP, IP_PKTINFO);
	struct in_pktinfo info;
	const char *const froms[] = {"127.0.0.5", HOST, NULL};

	for (int i = 0; i < 3; i++) {
		const struct cmsghdr *c;
		char spec[32], dst[32];

		if (froms[i] != NULL)
			tx(udp(), "x", froms[i], port(0));
		else
			wire_say("x", port(1), port(0));
		c = cmsg_of(rx_msg(r, 0), IPPROTO_IP, IP_PKTINFO);
		if (c == NULL) {
			say("none;");
			continue;
		}
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		inet_ntop(AF_INET, &info.ipi_spec_dst, spec, sizeof(spec));
		inet_ntop(AF_INET, &info.ipi_addr, dst, sizeof(dst));
		say("%s spec %s dst %s;",
		    info.ipi_ifindex == (int)env_ifindex(LO)   ? "lo"
		    : info.ipi_ifindex == (int)env_ifindex(T0) ? "t0"
							       : "other",
		    spec, dst);
	}
}

FACT(cmsg, pktinfo_broadcast, "v4")
{
	int r = receiver(IPPROTO_IP, IP_PKTINFO);
	const struct cmsghdr *c;
	struct in_pktinfo info;
	char spec[32], dst[32];

	wire_send(T0, (struct wire_udp){.dst = NET_BCAST,
					.sport = port(1),
					.dport = port(0),
					.data = "x",
					.len = 1,
					.broadcast = true});
	c = cmsg_of(rx_msg(r, 0), IPPROTO_IP, IP_PKTINFO);
	if (c == NULL)
		return;
	memcpy(&info, CMSG_DATA(c), sizeof(info));
	inet_ntop(AF_INET, &info.ipi_spec_dst, spec, sizeof(spec));
	inet_ntop(AF_INET, &info.ipi_addr, dst, sizeof(dst));
	say("%s spec %s dst %s", info.ipi_ifindex == (int)env_ifindex(T0) ? "t0" : "other", spec,
	    dst);
}

FACT(cmsg, ttl, "v4")
{
	int r = receiver(IPPROTO_IP, IP_RECVTTL), s = udp();

	set(s, IPPROTO_IP, IP_TTL, 13);
	tx(s, "x", "127.0.0.1", port(0));
	say("%d", cmsg_int(rx_msg(r, 0), IPPROTO_IP, IP_TTL));
	wire_send(T0,
		  (struct wire_udp){
			  .sport = port(1), .dport = port(0), .data = "x", .len = 1, .ttl = 200});
	say("%d", cmsg_int(rx_msg(r, 0), IPPROTO_IP, IP_TTL));
}

FACT(cmsg, tos, "v4")
{
	int r = receiver(IPPROTO_IP, IP_RECVTOS);
	const struct cmsghdr *c;

	wire_send(T0,
		  (struct wire_udp){
			  .sport = port(1), .dport = port(0), .data = "x", .len = 1, .tos = 0xb9});
	c = cmsg_of(rx_msg(r, 0), IPPROTO_IP, IP_TOS);
	if (c != NULL)
		say("0x%x, %zu byte", *CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

FACT(cmsg, origdstaddr, "v4")
{
	int r = receiver(IPPROTO_IP, IP_RECVORIGDSTADDR);
	const struct cmsghdr *c;
	struct sockaddr_in a;

	tx(udp(), "x", "127.0.0.5", port(0));
	c = cmsg_of(rx_msg(r, 0), IPPROTO_IP, IP_ORIGDSTADDR);
	if (c != NULL) {
		memcpy(&a, CMSG_DATA(c), sizeof(a));
		say("%s", name_text((struct sockaddr *)&a, sizeof(a)));
	}
}

FACT(cmsg, timestamp, "v4")
{
	int r = receiver(SOL_SOCKET, SO_TIMESTAMP);
	const struct cmsghdr *c;
	struct timeval t;
	struct timespec now;

	tx(udp(), "x", "127.0.0.1", port(0));
	c = cmsg_of(rx_msg(r, 0), SOL_SOCKET, SO_TIMESTAMP);
	if (c == NULL)
		return;
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	clock_gettime(CLOCK_REALTIME, &now);
	say("%zu bytes, %s", c->cmsg_len - CMSG_LEN(0),
	    llabs((long long)now.tv_sec - (long long)t.tv_sec) < 3 ? "wall clock" : "other clock");
}

FACT(cmsg, timestampns, "v4")
{
	int r = receiver(SOL_SOCKET, SO_TIMESTAMPNS);
	const struct cmsghdr *c;
	struct timespec t, now;

	tx(udp(), "x", "127.0.0.1", port(0));
	c = cmsg_of(rx_msg(r, 0), SOL_SOCKET, SO_TIMESTAMPNS);
	if (c == NULL)
		return;
	memcpy(&t, CMSG_DATA(c), sizeof(t));
	clock_gettime(CLOCK_REALTIME, &now);
	say("%zu bytes, %s", c->cmsg_len - CMSG_LEN(0),
	    llabs((long long)now.tv_sec - (long long)t.tv_sec) < 3 ? "wall clock" : "other clock");
}

FACT(cmsg, timestamp_kinds_exclude, "v4")
{
	int r = bound("127.0.0.1", port(0));

	set(r, SOL_SOCKET, SO_TIMESTAMP, 1);
	set(r, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	say("%s", get(r, SOL_SOCKET, SO_TIMESTAMP));
	say("%s", get(r, SOL_SOCKET, SO_TIMESTAMPNS));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", cmsg_names(rx_msg(r, 0)));
}

FACT(cmsg, timestamp_set_late, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "x", "127.0.0.1", port(0));
	set(r, SOL_SOCKET, SO_TIMESTAMP, 1);
	say("%s", cmsg_names(rx_msg(r, 0)));
}

FACT(cmsg, order, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	set(r, IPPROTO_IP, IP_RECVTOS, 1);
	set(r, IPPROTO_IP, IP_RECVTTL, 1);
	set(r, IPPROTO_IP, IP_PKTINFO, 1);
	set(r, IPPROTO_IP, IP_RECVORIGDSTADDR, 1);
	set(r, SOL_SOCKET, SO_TIMESTAMP, 1);
	set(r, SOL_SOCKET, SO_RXQ_OVFL, 1);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", cmsg_names(rx_msg(r, 0)));
}

FACT(cmsg, peek_has_them_too, "v4")
{
	int r = receiver(IPPROTO_IP, IP_RECVTTL);

	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", cmsg_names(rx_msg(r, MSG_PEEK)));
	say("%s", cmsg_names(rx_msg(r, 0)));
}

FACT(cmsg, no_room, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	_Alignas(16) unsigned char control[64];
	char data[8];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control};

	set(r, IPPROTO_IP, IP_RECVTTL, 1);
	for (size_t room = 0; room <= 24; room += 8) {
		tx(s, "x", "127.0.0.1", port(0));
		m.msg_control = control;
		m.msg_controllen = room;
		recvmsg(r, &m, MSG_DONTWAIT);
		say("%zu:%s,%zu", room, msg_names(m.msg_flags), (size_t)m.msg_controllen);
	}
	tx(s, "x", "127.0.0.1", port(0));
	m.msg_control = NULL;
	m.msg_controllen = 0;
	recvmsg(r, &m, MSG_DONTWAIT);
	say("null:%s", msg_names(m.msg_flags));
}

FACT(cmsg, room_for_first_only, "v4")
{
	int r = bound("127.0.0.1", port(0));
	_Alignas(16) unsigned char control[24];
	char data[8];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control,
			   .msg_controllen = sizeof(control)};

	set(r, IPPROTO_IP, IP_RECVTTL, 1);
	set(r, IPPROTO_IP, IP_RECVTOS, 1);
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", ret(recvmsg(r, &m, MSG_DONTWAIT)));
	say("%s %zu", msg_names(m.msg_flags), (size_t)m.msg_controllen);
}

FACT(cmsg, flags_not_from_caller, "v4")
{
	int r = bound("127.0.0.1", port(0));
	char data[8];
	struct iovec iov = {data, sizeof(data)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_flags = MSG_TRUNC | MSG_OOB};

	tx(udp(), "x", "127.0.0.1", port(0));
	recvmsg(r, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	say("%s", msg_names(m.msg_flags));
}

/* ---- recvmmsg ---- */

static struct mmsghdr vec[8];
static char vec_data[8][16];
static struct iovec vec_iov[8];
static struct sockaddr_in vec_name[8];

static void
vec_reset(void)
{
	memset(vec, 0, sizeof(vec));
	memset(vec_data, 0, sizeof(vec_data));
	for (int i = 0; i < 8; i++) {
		vec_iov[i] = (struct iovec){vec_data[i], 15};
		vec[i].msg_hdr.msg_iov = &vec_iov[i];
		vec[i].msg_hdr.msg_iovlen = 1;
		vec[i].msg_hdr.msg_name = &vec_name[i];
		vec[i].msg_hdr.msg_namelen = sizeof(vec_name[i]);
	}
}

FACT(recvmmsg, some, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));

	vec_reset();
	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "", "127.0.0.1", port(0));
	tx(s, "ccc", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, NULL)));
	for (int i = 0; i < 3; i++)
		say("%u'%s' from %s", vec[i].msg_len, vec_data[i],
		    name_text((struct sockaddr *)&vec_name[i], vec[i].msg_hdr.msg_namelen));
	say("%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, NULL)));
}

FACT(recvmmsg, full_vector, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	vec_reset();
	for (int i = 0; i < 5; i++)
		tx(s, "abc", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 2, 0, NULL)));
	say("%d left", drain(r));
}

FACT(recvmmsg, waitforone, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	vec_reset();
	for (int i = 0; i < 3; i++)
		tx(s, "abc", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 8, MSG_WAITFORONE, NULL)));
}

FACT(recvmmsg, zero_timeout, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct timespec t = {0};

	vec_reset();
	for (int i = 0; i < 3; i++)
		tx(s, "abc", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 8, 0, &t)));
	say("%d left", drain(r));
}

static void
recvmmsg_it(struct bg *b)
{
	struct timespec t = {.tv_nsec = 20000000};

	snprintf(b->out, sizeof(b->out), "%s", ret(recvmmsg(b->fd, vec, 2, 0, &t)));
}

/* Linux looks at the timeout when a datagram has come. */
FACT(recvmmsg, timeout_before_first, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {0};

	vec_reset();
	bg(&b, recvmmsg_it, r);
	bg_await_blocked(&b);
	say("%s", bg_result(&b, 1000));
	if (!b.finished) {
		tx(s, "x", "127.0.0.1", port(0));
		say("then %s", bg_result(&b, 10000));
	}
	bg_join(&b);
}

FACT(recvmmsg, bad_timeout, "v4")
{
	int r = bound("127.0.0.1", port(0));
	struct timespec t = {.tv_nsec = 1000000000};

	vec_reset();
	say("nsec:%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, &t)));
	t = (struct timespec){.tv_sec = -1};
	say("sec:%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, &t)));
}

FACT(recvmmsg, none_asked, "v4")
{
	int r = bound("127.0.0.1", port(0));

	say("%s", ret(recvmmsg(r, vec, 0, MSG_DONTWAIT, NULL)));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 0, MSG_DONTWAIT, NULL)));
}

FACT(recvmmsg, truncated_ones, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	vec_reset();
	vec_iov[0].iov_len = 2;
	tx(s, "abcd", "127.0.0.1", port(0));
	tx(s, "efgh", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, NULL)));
	say("%u %s, %u %s", vec[0].msg_len, msg_names(vec[0].msg_hdr.msg_flags), vec[1].msg_len,
	    msg_names(vec[1].msg_hdr.msg_flags));
}

FACT(recvmmsg, peek_repeats, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	vec_reset();
	tx(s, "one", "127.0.0.1", port(0));
	tx(s, "two", "127.0.0.1", port(0));
	say("%s", ret(recvmmsg(r, vec, 3, MSG_DONTWAIT | MSG_PEEK, NULL)));
	say("%s %s %s", vec_data[0], vec_data[1], vec_data[2]);
}

FACT(recvmmsg, pending_error, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = bound("127.0.0.1", port(1));

	connect4(r, "127.0.0.1", port(1));
	tx(s, "data", "127.0.0.1", port(0));
	close_now(s);
	tx(r, "x", NULL, 0);
	vec_reset();
	say("%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, NULL)));
	say("%s", ret(recvmmsg(r, vec, 8, MSG_DONTWAIT, NULL)));
}

/* ---- what the wire brings ---- */

#define FROM_WIRE(...)                                                                             \
	wire_send(T0, (struct wire_udp){.sport = port(1),                                          \
					.dport = port(0),                                          \
					.data = "abcdef",                                          \
					.len = 6,                                                  \
					__VA_ARGS__})

FACT(input, checksum_zero, "v4")
{
	int r = bound(HOST, port(0));

	FROM_WIRE(.csum = 2);
	say("%s", rx(r));
}

FACT(input, checksum_bad, "v4")
{
	int r = bound(HOST, port(0));

	FROM_WIRE(.csum = 1);
	say("%s", rx(r));
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(input, udp_length, "v4")
{
	int r = bound(HOST, port(0));

	FROM_WIRE(.csum = 2, .udp_len = -7);
	say("below 8:%s", rx(r));
	FROM_WIRE(.csum = 2, .udp_len = 1);
	say("beyond:%s", rx(r));
	FROM_WIRE(.csum = 2, .udp_len = -14);
	say("zero:%s", rx(r));
	FROM_WIRE(.csum = 2, .udp_len = -2);
	say("shorter:%s", rx(r));
}

FACT(input, trailing_bytes, "v4")
{
	int r = bound(HOST, port(0));

	FROM_WIRE(.trailer = 5);
	say("%s", rx(r));
}

FACT(input, source_port_0, "v4")
{
	int r = bound(HOST, port(0));

	wire_send(T0, (struct wire_udp){.sport = 0, .dport = port(0), .data = "x", .len = 1});
	say("%s", rx_from(r));
}

FACT(input, destination_port_0, "v4")
{
	bound(HOST, port(0));
	wire_send(T0, (struct wire_udp){.sport = port(1), .dport = 0, .data = "x", .len = 1});
	say("%s", wire_text(T0));
}

FACT(input, bad_sources, "v4")
{
	int r = bound("0.0.0.0", port(0));

	FROM_WIRE(.src = "239.1.1.1");
	say("multicast:%s", rx(r));
	FROM_WIRE(.src = "255.255.255.255");
	say("broadcast:%s", rx(r));
	FROM_WIRE(.src = "127.0.0.1");
	say("loopback:%s", rx(r));
	FROM_WIRE(.src = "0.0.0.0");
	say("none:%s", rx(r));
	FROM_WIRE(.src = HOST);
	say("own:%s", rx(r));
}

/* Linux refuses these only with a reverse path filter. */
FACT(input, odd_sources, "v4")
{
	int r = bound("0.0.0.0", port(0));

	FROM_WIRE(.src = "240.0.0.1");
	say("reserved:%s", rx(r));
	FROM_WIRE(.src = NET_BCAST);
	say("subnet broadcast:%s", rx(r));
}

FACT(input, loopback_destination, "v4")
{
	int r = bound("0.0.0.0", port(0));

	FROM_WIRE(.dst = "127.0.0.1");
	say("%s", rx(r));
}

FACT(input, ip_checksum_bad, "v4")
{
	int r = bound("0.0.0.0", port(0));

	FROM_WIRE(.bad_ip_csum = true);
	say("%s", rx(r));
}

FACT(input, ttl_1, "v4")
{
	int r = bound("0.0.0.0", port(0));

	FROM_WIRE(.ttl = 1);
	say("%s", rx(r));
}

FACT(input, zero_payload, "v4")
{
	int r = bound("0.0.0.0", port(0));

	wire_send(T0, (struct wire_udp){.sport = port(1), .dport = port(0), .data = "", .len = 0});
	say("%s", rx_from(r));
}

FACT(input, fragments, "frag")
{
	int r = bound("0.0.0.0", port(0));
	unsigned char second[8] = "ijklmnop";

	/* First fragment: the UDP header says 8 + 16 bytes, 8 of them are here. */
	wire_send(T0, (struct wire_udp){.sport = port(1),
					.dport = port(0),
					.data = "abcdefgh",
					.len = 8,
					.csum = 2,
					.udp_len = 8,
					.frag = 0x2000,
					.ident = 77});
	say("%s", rx(r));
	/* The second's first eight bytes are payload: ports and lengths of the helper are such bytes. */
	wire_send(T0, (struct wire_udp){.sport = 0x696a,
					.dport = 0x6b6c,
					.data = second,
					.len = 0,
					.csum = 2,
					.udp_len = 0x6d6e - 8,
					.frag = 2,
					.ident = 77});
	say("%s", rx(r));
}
