/* SPDX-License-Identifier: BSD-3-Clause */
/* Readiness, poll, epoll and their edges: section 1.7. */
#include "probe.h"

#define ALL                                                                                        \
	(POLLIN | POLLOUT | POLLPRI | POLLRDHUP | POLLRDNORM | POLLRDBAND | POLLWRNORM | POLLWRBAND)

FACT(poll, fresh, "v4")
{
	say("%s", polled_for(udp(), ALL, 0));
	say("%s", polled_for(bound("127.0.0.1", port(0)), ALL, 0));
}

FACT(poll, data, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", polled_for(r, ALL, 0));
	rx(r);
	say("%s", polled_for(r, ALL, 0));
}

FACT(poll, empty_datagram, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "", "127.0.0.1", port(0));
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(poll, peeked_datagram, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "x", "127.0.0.1", port(0));
	rx_flags(r, MSG_PEEK);
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(poll, second_of_two, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();

	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.0.0.1", port(0));
	rx(r);
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(poll, peek_off_beyond, "v4")
{
	int r = bound("127.0.0.1", port(0));

	set(r, SOL_SOCKET, SO_PEEK_OFF, 10);
	tx(udp(), "abc", "127.0.0.1", port(0));
	say("%s", polled_for(r, POLLIN, 0));
}

FACT(poll, only_what_is_asked, "v4")
{
	int r = bound("127.0.0.1", port(0));

	tx(udp(), "x", "127.0.0.1", port(0));
	say("0:%s", polled_for(r, 0, 0));
	say("RDNORM:%s", polled_for(r, POLLRDNORM, 0));
	say("WRNORM:%s", polled_for(r, POLLWRNORM, 0));
	say("PRI:%s", polled_for(r, POLLPRI, 0));
}

FACT(poll, shut_read, "v4")
{
	int r = bound("127.0.0.1", port(0));

	shutdown(r, SHUT_RD);
	say("%s", polled_for(r, ALL, 0));
	say("0:%s", polled_for(r, 0, 0));
}

FACT(poll, shut_write, "v4")
{
	int r = connected("127.0.0.1", port(0));

	shutdown(r, SHUT_WR);
	say("%s", polled_for(r, ALL, 0));
}

FACT(poll, shut_both, "v4")
{
	int r = connected("127.0.0.1", port(0));

	shutdown(r, SHUT_RDWR);
	say("%s", polled_for(r, ALL, 0));
	say("0:%s", polled_for(r, 0, 0));
}

FACT(poll, error, "v4")
{
	int s = connected("127.0.0.1", port(0));

	tx(s, "x", NULL, 0);
	say("%s", polled_for(s, ALL, 0));
	say("0:%s", polled_for(s, 0, 0));
	say("%s", so_error(s));
	say("%s", polled_for(s, ALL, 0));
}

FACT(poll, error_does_not_clear, "v4")
{
	int s = connected("127.0.0.1", port(0));

	tx(s, "x", NULL, 0);
	say("%s", polled_for(s, 0, 0));
	say("%s", polled_for(s, 0, 0));
	say("%s", rx(s));
	say("%s", polled_for(s, 0, 0));
}

FACT(poll, error_queue, "v4")
{
	int s = connected("127.0.0.1", port(0));

	set(s, IPPROTO_IP, IP_RECVERR, 1);
	tx(s, "x", NULL, 0);
	say("%s", polled_for(s, ALL, 0));
	say("%s", so_error(s));
	say("queue only:%s", polled_for(s, ALL, 0));
	rx_flags(s, MSG_ERRQUEUE);
	say("read:%s", polled_for(s, ALL, 0));
}

FACT(poll, bad_descriptors, "v4")
{
	struct pollfd p[3] = {{.fd = -1, .events = POLLIN, .revents = 77},
			      {.fd = 900, .events = POLLIN},
			      {.fd = udp(), .events = POLLOUT}};

	say("%s", ret(poll(p, 3, 0)));
	for (int i = 0; i < 3; i++)
		say("%s", poll_names((unsigned short)p[i].revents));
}

FACT(poll, several, "v4")
{
	int a = bound("127.0.0.1", port(0)), b = bound("127.0.0.1", port(1)), s = udp();
	struct pollfd p[3] = {
		{.fd = a, .events = POLLIN}, {.fd = b, .events = POLLIN}, {.fd = s, .events = 0}};

	say("%s", ret(poll(p, 3, 0)));
	tx(s, "x", "127.0.0.1", port(1));
	say("%s", ret(poll(p, 3, 0)));
	say("%s %s", poll_names((unsigned short)p[0].revents),
	    poll_names((unsigned short)p[1].revents));
}

FACT(poll, none, "v4")
{
	say("%s", ret(poll(NULL, 0, 0)));
}

FACT(poll, timeout, "v4")
{
	int r = bound("127.0.0.1", port(0));
	uint64_t start = now_ms(), took;

	say("%s", polled_for(r, POLLIN, 40));
	took = now_ms() - start;
	say("%s", took < 35 ? "early" : "in time");
}

FACT(poll, mixed_with_pipe, "v4")
{
	int r = bound("127.0.0.1", port(0)), pair[2];
	struct pollfd p[2] = {{.fd = r, .events = POLLIN}, {.events = POLLIN}};

	if (pipe(pair) < 0)
		return;
	p[1].fd = pair[0];
	say("%s", ret(poll(p, 2, 0)));
	say("write:%s", ret(write(pair[1], "x", 1)));
	say("%s", ret(poll(p, 2, 1000)));
	say("%s %s", poll_names((unsigned short)p[0].revents),
	    poll_names((unsigned short)p[1].revents));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", ret(poll(p, 2, 1000)));
	keep(pair[0]);
	keep(pair[1]);
}

static void
poll_it(struct bg *b)
{
	snprintf(b->out, sizeof(b->out), "%s", polled_for(b->fd, (short)b->option, 5000));
}

FACT(poll, woken_by_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp();
	struct bg b = {.option = POLLIN};

	bg(&b, poll_it, r);
	bg_await_blocked(&b);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(poll, woken_by_error, "v4")
{
	int s = connected("127.0.0.1", port(0));
	struct bg b = {.option = POLLIN};

	bg(&b, poll_it, s);
	bg_await_blocked(&b);
	tx(s, "x", NULL, 0);
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(poll, woken_by_shutdown, "v4")
{
	int s = bound("127.0.0.1", port(0));
	struct bg b = {.option = POLLIN | POLLRDHUP};

	bg(&b, poll_it, s);
	bg_await_blocked(&b);
	shutdown(s, SHUT_RD);
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

/* ---- epoll ---- */

static int
watcher(void)
{
	return keep(epoll_create1(EPOLL_CLOEXEC));
}

static long
watch(int ep, int op, int fd, uint32_t events)
{
	struct epoll_event e = {.events = events,
				.data.u64 = 0x1234567800000000u + (unsigned int)fd};

	return epoll_ctl(ep, op, fd, &e);
}

/* What epoll_wait gives at once: "none", or the events of all, separated by blanks. */
static const char *
events(int ep)
{
	struct epoll_event e[8];
	char out[200] = "";
	int n;

	env_settle();
	n = epoll_wait(ep, e, 8, 0);
	if (n < 0)
		return ret(n);
	for (int i = 0; i < n; i++)
		sprintf(out + strlen(out), "%s%s%s", i > 0 ? "+" : "", poll_names(e[i].events),
			e[i].data.u64 >> 32 == 0x12345678 ? "" : " wrong data");
	return text("%s", n > 0 ? out : "none");
}

FACT(epoll, level, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	say("%s", ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN)));
	say("%s", events(ep));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("%s", events(ep));
	rx(r);
	say("%s", events(ep));
}

FACT(epoll, all_events, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher();

	watch(ep, EPOLL_CTL_ADD, r, ALL);
	say("%s", events(ep));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", events(ep));
	shutdown(r, SHUT_RD);
	say("%s", events(ep));
}

FACT(epoll, error_without_asking, "v4")
{
	int s = connected("127.0.0.1", port(0)), ep = watcher();

	watch(ep, EPOLL_CTL_ADD, s, 0);
	say("%s", events(ep));
	tx(s, "x", NULL, 0);
	say("%s", events(ep));
	so_error(s);
	say("%s", events(ep));
}

FACT(epoll, ctl_errors, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher();
	struct epoll_event e = {.events = EPOLLIN};

	say("mod absent:%s", ret(watch(ep, EPOLL_CTL_MOD, r, EPOLLIN)));
	say("del absent:%s", ret(watch(ep, EPOLL_CTL_DEL, r, 0)));
	say("add:%s", ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN)));
	say("add again:%s", ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN)));
	say("bad op:%s", ret(watch(ep, 99, r, EPOLLIN)));
	say("itself:%s", ret(watch(ep, EPOLL_CTL_ADD, ep, EPOLLIN)));
	say("bad fd:%s", ret(watch(ep, EPOLL_CTL_ADD, 900, EPOLLIN)));
	say("bad epoll:%s", ret(epoll_ctl(900, EPOLL_CTL_ADD, r, &e)));
	say("not an epoll:%s", ret(epoll_ctl(r, EPOLL_CTL_ADD, ep, &e)));
	say("del:%s", ret(epoll_ctl(ep, EPOLL_CTL_DEL, r, NULL)));
}

FACT(epoll, wait_errors, "v4")
{
	int ep = watcher(), fd = udp();
	struct epoll_event e;

	say("0:%s", ret(epoll_wait(ep, &e, 0, 0)));
	say("-1:%s", ret(epoll_wait(ep, &e, -1, 0)));
	say("not an epoll:%s", ret(epoll_wait(fd, &e, 1, 0)));
	say("bad fd:%s", ret(epoll_wait(900, &e, 1, 0)));
	say("flags:%s", ret(epoll_create1(77)));
}

FACT(epoll, edge_every_arrival, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	say("%s", events(ep));
	tx(s, "a", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("%s", events(ep));
	tx(s, "b", "127.0.0.1", port(0));
	say("undrained:%s", events(ep));
	say("%s", events(ep));
}

FACT(epoll, edge_not_by_reading, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", events(ep));
	rx_flags(r, MSG_PEEK);
	say("peek:%s", events(ep));
	rx(r);
	say("read one:%s", events(ep));
	rx(r);
	say("read all:%s", events(ep));
}

FACT(epoll, edge_two_arrivals_one_event, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	tx(s, "a", "127.0.0.1", port(0));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("%s", events(ep));
}

FACT(epoll, edge_read_before_wait, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	tx(s, "a", "127.0.0.1", port(0));
	rx(r);
	say("%s", events(ep));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", events(ep));
}

FACT(epoll, edge_register_with_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	tx(s, "a", "127.0.0.1", port(0));
	rx_flags(r, MSG_PEEK);
	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	say("add:%s", events(ep));
	say("%s", events(ep));
	watch(ep, EPOLL_CTL_MOD, r, EPOLLIN | EPOLLET);
	say("mod:%s", events(ep));
	say("%s", events(ep));
}

FACT(epoll, edge_out_at_registration, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLOUT | EPOLLET);
	say("%s", events(ep));
	say("%s", events(ep));
	tx(s, "a", "127.0.0.1", port(0));
	say("%s", events(ep));
}

FACT(epoll, edge_not_by_refused, "v4")
{
	/* A datagram that the full buffer refuses is no arrival. */
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	set(r, SOL_SOCKET, SO_RCVBUF, 0);
	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	for (int i = 0; i < 20; i++)
		tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
}

FACT(epoll, edge_error, "v4")
{
	int s = connected("127.0.0.1", port(0)), ep = watcher();

	watch(ep, EPOLL_CTL_ADD, s, EPOLLIN | EPOLLET);
	tx(s, "x", NULL, 0);
	say("%s", events(ep));
	say("%s", events(ep));
	say("%s", so_error(s));
	tx(s, "x", NULL, 0);
	say("%s", events(ep));
}

FACT(epoll, edge_shutdown, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET | POLLRDHUP);
	shutdown(r, SHUT_RD);
	say("%s", events(ep));
	say("%s", events(ep));
}

FACT(epoll, oneshot, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLONESHOT);
	tx(s, "a", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("%s", events(ep));
	tx(s, "b", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("%s", ret(watch(ep, EPOLL_CTL_MOD, r, EPOLLIN | EPOLLONESHOT)));
	say("%s", events(ep));
}

FACT(epoll, exclusive, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	say("%s", ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLEXCLUSIVE)));
	tx(s, "a", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("mod:%s", ret(watch(ep, EPOLL_CTL_MOD, r, EPOLLIN | EPOLLEXCLUSIVE)));
	watch(ep, EPOLL_CTL_DEL, r, 0);
	say("oneshot:%s",
	    ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLEXCLUSIVE | EPOLLONESHOT)));
}

FACT(epoll, two_watchers, "v4")
{
	int r = bound("127.0.0.1", port(0)), a = watcher(), b = watcher(), s = udp();

	watch(a, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	watch(b, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s,%s", events(a), events(b));
}

FACT(epoll, close_removes, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
	close_now(r);
	say("%s", events(ep));
}

FACT(epoll, close_of_dup_keeps, "v4")
{
	int r = bound("127.0.0.1", port(0)), d = keep(dup(r)), ep = watcher(), s = udp();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN);
	close_now(r);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
	say("del:%s", ret(watch(ep, EPOLL_CTL_DEL, r, 0)));
	close_now(d);
	say("%s", events(ep));
}

FACT(epoll, dup_added_too, "v4")
{
	int r = bound("127.0.0.1", port(0)), d = keep(dup(r)), ep = watcher(), s = udp();

	say("%s", ret(watch(ep, EPOLL_CTL_ADD, r, EPOLLIN)));
	say("%s", ret(watch(ep, EPOLL_CTL_ADD, d, EPOLLIN)));
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", events(ep));
}

FACT(epoll, maxevents_rotates, "v4")
{
	int ep = watcher(), s = udp(), fds[3], seen[3] = {0};
	struct epoll_event e;

	for (int i = 0; i < 3; i++) {
		fds[i] = bound("127.0.0.1", port(i));
		watch(ep, EPOLL_CTL_ADD, fds[i], EPOLLIN);
		tx(s, "x", "127.0.0.1", port(i));
	}
	for (int i = 0; i < 3; i++) {
		if (epoll_wait(ep, &e, 1, 0) != 1)
			continue;
		for (int k = 0; k < 3; k++)
			seen[k] += (e.data.u64 & 0xffffffff) == (unsigned int)fds[k];
	}
	say("%d %d %d", seen[0], seen[1], seen[2]);
}

FACT(epoll, mixed_with_pipe, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher(), pair[2];

	if (pipe(pair) < 0)
		return;
	keep(pair[0]);
	keep(pair[1]);
	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN);
	say("%s", ret(watch(ep, EPOLL_CTL_ADD, pair[0], EPOLLIN)));
	say("%s", ret(write(pair[1], "x", 1)));
	say("%s", events(ep));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", events(ep));
}

FACT(epoll, watcher_is_pollable, "v4")
{
	int r = bound("127.0.0.1", port(0)), ep = watcher();

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN);
	say("%s", polled_for(ep, POLLIN, 0));
	tx(udp(), "x", "127.0.0.1", port(0));
	say("%s", polled_for(ep, POLLIN, 0));
}

static void
epoll_it(struct bg *b)
{
	struct epoll_event e;
	int n = epoll_wait(b->fd, &e, 1, 5000);

	snprintf(b->out, sizeof(b->out), "%s", n == 1 ? poll_names(e.events) : ret(n));
}

FACT(epoll, woken_by_data, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), ep = watcher();
	struct bg b;

	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN | EPOLLET);
	bg(&b, epoll_it, ep);
	bg_await_blocked(&b);
	tx(s, "x", "127.0.0.1", port(0));
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(epoll, added_while_waiting, "v4")
{
	int r = bound("127.0.0.1", port(0)), s = udp(), ep = watcher();
	struct bg b;

	tx(s, "x", "127.0.0.1", port(0));
	bg(&b, epoll_it, ep);
	bg_await_blocked(&b);
	watch(ep, EPOLL_CTL_ADD, r, EPOLLIN);
	say("%s", bg_result(&b, 10000));
	bg_join(&b);
}

FACT(epoll, timeout, "v4")
{
	int ep = watcher();
	struct epoll_event e;
	uint64_t start = now_ms(), took;

	watch(ep, EPOLL_CTL_ADD, bound("127.0.0.1", port(0)), EPOLLIN);
	say("%s", ret(epoll_wait(ep, &e, 1, 40)));
	took = now_ms() - start;
	say("%s", took < 35 ? "early" : "in time");
}
