/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads, dup and fork: section 5.8, and blocking calls that something ends. */
#include "probe.h"

#include <signal.h>
#include <sys/wait.h>

static void
recv_it(struct bg *b)
{
	char data[64] = "";
	long n = recv(b->fd, data, sizeof(data) - 1, b->option);

	snprintf(b->out, sizeof(b->out), "%s", n < 0 ? ret(n) : n == 0 ? "0" : data);
}

FACT(block, recv_woken_by_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {0};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	tx(s, "wake", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_woken_by_wire, "v4")
{
	int r = bound(HOST, port(0));
	struct bg b = {0};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	wire_say("wake", port(1), port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_woken_by_empty_datagram, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {0};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	tx(s, "", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, peek_woken_by_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {.option = MSG_PEEK};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	tx(s, "wake", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
	say("%s", rx(r));
}

FACT(block, peek_beyond_waits, "v4")
{
	/* Something is queued, but not where the offset is: the peek waits for what satisfies it. */
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {.option = MSG_PEEK};

	tx(s, "abcd", "127.0.0.1", port(0));
	set(r, SOL_SOCKET, SO_PEEK_OFF, 4);
	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	say("%s", b.finished ? b.out : "waits");
	tx(s, "efgh", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_woken_by_error, "v4")
{
	int s = connected("127.0.0.1", port(0));
	struct bg b = {0};

	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	tx(s, "x", NULL, 0);
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_woken_by_shutdown, "v4")
{
	int s = connected("127.0.0.1", port(0));
	struct bg b = {0};

	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	say("%s", ret(shutdown(s, SHUT_RD)));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_woken_by_shutdown_unconnected, "v4")
{
	int s = bound("127.0.0.1", port(0));
	struct bg b = {0};

	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	say("%s", ret(shutdown(s, SHUT_RD)));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, recv_not_woken_by_write_shutdown, "v4")
{
	int s = bound("127.0.0.1", port(0));
	struct bg b = {0};

	connect4(s, "127.0.0.1", port(0));
	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	shutdown(s, SHUT_WR);
	say("%s", bg_result(&b, 30));
	shutdown(s, SHUT_RD);
	bg_join(&b);
	say("%s", b.out);
}

FACT(block, recv_unbound_then_bound, "v4")
{
	int r = udp(), s = udp();
	struct bg b = {0};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	say("%s", ret(bind4(r, "127.0.0.1", port(0))));
	tx(s, "late", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(block, close_does_not_hang, "v4")
{
	/* What a reader sees whose descriptor is closed beside it. Linux: nothing, until data comes. */
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {0};

	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	close_now(r);
	say("%s", bg_result(&b, 1000));
	if (!b.finished) {
		tx(s, "after", "127.0.0.1", port(0));
		say("then %s", bg_result(&b, 10000));
	}
	bg_join(&b);
}

static void
on_signal(int sig)
{
	(void)sig;
}

FACT(block, interrupted_by_signal, "v4")
{
	int r = bound("127.0.0.1", port(0));
	struct sigaction act = {.sa_handler = on_signal}, old;
	uint64_t end = now_ms() + 20000;
	struct bg b = {0};

	sigaction(SIGUSR1, &act, &old);
	bg(&b, recv_it, r);
	bg_await_blocked(&b);
	pthread_kill(b.thread, SIGUSR1);
	while (!b.finished && now_ms() < end)
		env_settle();
	say("%s", bg_result(&b, 0));
	if (!b.finished)
		shutdown(r, SHUT_RD);
	bg_join(&b);
	sigaction(SIGUSR1, &old, NULL);
}

FACT(block, four_readers_four_datagrams, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), done = 0;
	struct bg b[4] = {0};
	struct mmsghdr v[4] = {0};
	struct iovec iov = VEC("x");
	struct sockaddr_in to = in4("127.0.0.1", port(0));

	for (int i = 0; i < 4; i++) {
		bg(&b[i], recv_it, r);
		bg_await_blocked(&b[i]);
		v[i].msg_hdr = (struct msghdr){.msg_name = &to,
					       .msg_namelen = sizeof(to),
					       .msg_iov = &iov,
					       .msg_iovlen = 1};
	}
	sendmmsg(s, v, 4, 0);
	for (int i = 0; i < 4; i++)
		done += strcmp(bg_result(&b[i], 10000), "x") == 0;
	say("%d of 4", done);
	if (done < 4)
		shutdown(r, SHUT_RD);
	for (int i = 0; i < 4; i++)
		bg_join(&b[i]);
}

FACT(block, four_readers_one_by_one, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), done = 0;
	struct bg b[4] = {0};

	for (int i = 0; i < 4; i++) {
		bg(&b[i], recv_it, r);
		bg_await_blocked(&b[i]);
	}
	for (int n = 1; n <= 4; n++) {
		uint64_t end = now_ms() + 20000;

		tx(s, "x", "127.0.0.1", port(0));
		do {
			done = 0;
			for (int i = 0; i < 4; i++)
				done += b[i].finished;
			env_settle();
		} while (done < n && now_ms() < end);
		say("%d", done);
	}
	if (done < 4)
		shutdown(r, SHUT_RD);
	for (int i = 0; i < 4; i++)
		bg_join(&b[i]);
}

/* ---- several threads at work ---- */

static _Atomic int received;

static void
reader(struct bg *b)
{
	char data[16];

	while (recv(b->fd, data, sizeof(data), 0) > 0)
		received++;
}

FACT(threads, each_datagram_once, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0));
	struct bg b[3] = {0};
	uint64_t end = now_ms() + 20000;

	set(r, SOL_SOCKET, SO_RCVBUF, 1000000);
	received = 0;
	for (int i = 0; i < 3; i++)
		bg(&b[i], reader, r);
	for (int i = 0; i < 200; i++)
		send(s, "x", 1, 0);
	while (received < 200 && now_ms() < end)
		env_settle();
	shutdown(r, SHUT_RD);
	for (int i = 0; i < 3; i++)
		bg_join(&b[i]);
	say("%d", received + drain(r));
}

static _Atomic int stop;

static void
sender(struct bg *b)
{
	struct sockaddr_in to = *(const struct sockaddr_in *)b->arg;
	int wrong = 0;
	long r = 0;

	while (!stop) {
		r = sendto(b->fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
		if (r != 1 && errno != EAGAIN && errno != ECONNREFUSED)
			wrong++;
	}
	snprintf(b->out, sizeof(b->out), "%d wrong", wrong);
}

FACT(threads, send_beside_connect, "v4")
{
	int s = udp(), r = bound("127.0.0.1", port(0)), c = bound("127.0.0.1", port(1));
	struct sockaddr_in to = in4("127.0.0.1", port(0));
	struct bg b = {.arg = &to};
	int wrong = 0;

	bind4(s, "127.0.0.1", port(2));
	stop = 0;
	bg(&b, sender, s);
	for (int i = 0; i < 200; i++) {
		wrong += connect4(s, "127.0.0.1", port(i % 2)) != 0;
		wrong += disconnect(s) != 0;
		drain(r);
		drain(c);
	}
	stop = 1;
	bg_join(&b);
	say("%s, connect %d wrong", b.out, wrong);
}

FACT(threads, send_beside_blocked_recv, "v4")
{
	int s = bound("127.0.0.1", port(0)), r = bound("127.0.0.1", port(1));
	struct bg b = {0};

	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	say("%s", ret(tx(s, "out", "127.0.0.1", port(1))));
	say("%s", rx(r));
	tx(r, "in", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(threads, connect_beside_blocked_recv, "v4")
{
	int s = bound("127.0.0.1", port(0)), r = bound("127.0.0.1", port(1));
	struct bg b = {0};

	bg(&b, recv_it, s);
	bg_await_blocked(&b);
	say("%s", ret(connect4(s, "127.0.0.1", port(1))));
	tx(r, "in", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(threads, socket_made_by_another, "v4")
{
	/* Made here, used in a thread that never made any. */
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {.option = MSG_DONTWAIT};

	tx(s, "x", "127.0.0.1", port(0));
	bg(&b, recv_it, r);
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

/* ---- dup, fork ---- */

FACT(dup, shares_everything, "v4")
{
	int r = bound("127.0.0.1", port(0)), d = keep(dup(r)), s = udp();

	say("%s", local_name(d));
	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", rx(d));
	say("%s", rx(r));
	set(d, SOL_SOCKET, SO_BROADCAST, 1);
	say("%s", get(r, SOL_SOCKET, SO_BROADCAST));
	fcntl(d, F_SETFL, O_NONBLOCK);
	say("%s", fcntl(r, F_GETFL, 0) & O_NONBLOCK ? "flags shared" : "flags own");
	shutdown(d, SHUT_WR);
	say("%s", ret(tx(r, "x", "127.0.0.1", port(1))));
}

FACT(dup, last_close_unbinds, "v4")
{
	int r = bound("127.0.0.1", port(0)), d = keep(dup(r)), s = udp();

	close_now(r);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", rx(d));
	say("%s", ret(bind4(udp(), "127.0.0.1", port(0))));
	close_now(d);
	say("%s", ret(bind4(udp(), "127.0.0.1", port(0))));
}

FACT(dup, numbers, "v4")
{
	int r = bound("127.0.0.1", port(0)), other = udp(), d;

	d = keep(fcntl(r, F_DUPFD, 300));
	say("%s", d >= 300 ? "from 300" : "other");
	say("%s", local_name(d));
	d = keep(fcntl(r, F_DUPFD_CLOEXEC, 0));
	say("cloexec %d,%d", fcntl(d, F_GETFD, 0), fcntl(r, F_GETFD, 0));
	say("onto:%s", dup2(r, other) == other ? "same number" : "other number");
	say("%s", local_name(other));
	say("itself:%s", dup2(r, r) == r ? "ok" : "other");
	say("bad:%s", ret(dup(900)));
	say("bad:%s", ret(dup2(900, other)));
	say("%s", local_name(other));
}

FACT(dup, dup2_closes_target, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1));

	dup2(a, b);
	say("%s", ret(bind4(udp(), "127.0.0.1", port(1))));
	say("%s", ret(bind4(udp(), "127.0.0.1", port(0))));
}

FACT(fork, child_shares, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = connected("127.0.0.1", port(0)), status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		long n = send(s, "child", 5, 0);

		_exit(n == 5 ? 0 : errno);
	}
	waitpid(child, &status, 0);
	env_settle();
	say("child %s", WIFEXITED(status) ? err_name(WEXITSTATUS(status)) : "died");
	say("%s", rx(r));
	tx(s, "parent", NULL, 0);
	say("%s", rx(r));
}
