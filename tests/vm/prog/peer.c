/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's end of the VM suite. "peer serve IFACE PORT" answers the guest's requests on the TAP
 * side of the cable: one process per request, each bounded by an alarm. "peer reflect SOCKET" is
 * the far end of a card whose cable is a unix socket: it checks each frame that the guest's DPDK
 * program sends, down to its checksums, and sends it back with the addresses swapped. "peer
 * reflect-tap IFACE" does the same on a TAP, beside whatever else goes over it.
 *
 * Prints "ready" when it serves. Ends with SIGTERM (serve) or with the cable (reflect, which then
 * prints its counts).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "flow.h"
#include "sock.h"
#include "wire.h"

#define REQUEST_SECONDS 300

static void
raw_send(const char *iface, const struct vm_request *q)
{
	struct sockaddr_ll sa = {.sll_family = AF_PACKET, .sll_halen = 6};
	uint8_t frame[128] = {0}, own[6];
	int fd = raw_socket(iface, &sa.sll_ifindex, own);

	memcpy(frame + 6, own, 6);
	frame[12] = VM_ETHERTYPE >> 8;
	frame[13] = VM_ETHERTYPE & 0xff;
	for (uint32_t i = 0; i <= q->count; i++) {
		struct vm_dgram d = {.seq = i, .is_end = i == q->count};

		memcpy(frame, d.is_end ? q->end_mac : q->mac, 6);
		memcpy(frame + 14, &d, sizeof(d));
		vm_fill(frame + 14 + sizeof(d), sizeof(frame) - 14 - sizeof(d), q->seed + i, 0);
		if (sendto(fd, frame, sizeof(frame), 0, (struct sockaddr *)&sa, sizeof(sa)) < 0)
			die("raw frame: %s", strerror(errno));
	}
	close(fd);
}

static void
one_request(int fd, const char *iface)
{
	struct vm_reply r = {.magic = VM_MAGIC};
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	struct vm_request q;
	uint64_t n;
	uint16_t port;
	bool bad;
	int udp;

	if (!recv_all(fd, &q, sizeof(q)) || q.magic != VM_MAGIC)
		die("not a request");
	n = q.dgram_bytes ? q.size_bytes / q.dgram_bytes : 0;
	switch (q.op) {
	case VM_TCP_UP:
		r.n_good = stream_check(fd, q.size_bytes, q.seed, &bad);
		r.n_bad = bad;
		break;
	case VM_TCP_DOWN:
		stream_send(fd, q.size_bytes, q.seed);
		break;
	case VM_UDP_UP:
		udp = udp_socket(&port);
		r.udp_port = port;
		send_all(fd, &r, sizeof(r));
		dgrams_check(udp, n, q.dgram_bytes, q.seed, fd, &r.n_good, &r.n_bad);
		break;
	case VM_UDP_DOWN:
		if (getpeername(fd, (struct sockaddr *)&sa, &len) != 0)
			die("getpeername: %s", strerror(errno));
		sa.sin_port = htons(q.udp_port);
		udp = udp_socket(&port);
		r.n_bad = dgrams_send(udp, &sa, n, q.dgram_bytes, q.seed);
		break;
	case VM_RAW:
		raw_send(iface, &q);
		break;
	default:
		die("unknown request %u", q.op);
	}
	send_all(fd, &r, sizeof(r));
	/* Until the guest has read it all. */
	shutdown(fd, SHUT_WR);
	recv(fd, &bad, 1, 0);
}

static int
serve(const char *iface, uint16_t port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(port)};
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (l < 0 || bind(l, (struct sockaddr *)&sa, sizeof(sa)) != 0 || listen(l, 16) != 0)
		die("listen on port %u: %s", port, strerror(errno));
	signal(SIGCHLD, SIG_IGN);
	puts("ready");
	fflush(stdout);
	for (;;) {
		int fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0)
			continue;
		if (fork() == 0) {
			alarm(REQUEST_SECONDS);
			close(l);
			one_request(fd, iface);
			exit(0);
		}
		close(fd);
	}
}

/* ---- reflect ---- */

static struct {
	uint64_t n_good, n_bad, n_other;
} reflected;

/* Checks a frame and turns it round; false: not to be sent back. */
static bool
turn(uint8_t *frame, uint32_t len)
{
	switch (flow_check(frame, len, FLOW_THERE)) {
	case FLOW_GOOD:
		reflected.n_good++;
		flow_turn(frame, len);
		return true;
	case FLOW_OTHER:
		reflected.n_other++;
		return false;
	default:
		reflected.n_bad++;
		return false;
	}
}

static int
reflect_end(void)
{
	printf("good %" PRIu64 " bad %" PRIu64 " other %" PRIu64 "\n", reflected.n_good,
	       reflected.n_bad, reflected.n_other);
	return reflected.n_bad ? 1 : 0;
}

static int
reflect_tap(const char *iface)
{
	struct sockaddr_ll sa = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_IP)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), bytes = 64 << 20;
	static uint8_t frame[65536];

	sa.sll_ifindex = (int)if_nametoindex(iface);
	if (fd < 0 || sa.sll_ifindex == 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("%s: %s", iface, strerror(errno));
	/* A window of frames of each of several drivers must fit. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
		die("receive buffer: %s", strerror(errno));
	puts("ready");
	fflush(stdout);
	for (;;) {
		ssize_t n = recv(fd, frame, sizeof(frame), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		if (turn(frame, (uint32_t)n) && send(fd, frame, (size_t)n, 0) != n)
			break;
	}
	if (errno != ENETDOWN && errno != ENODEV && errno != ENXIO)
		die("%s: %s", iface, strerror(errno));
	return reflect_end();
}

struct stream {
	int fd;
	uint8_t in[1 << 20];
	size_t in_bytes;
	uint8_t out[4 << 20];
	size_t out_bytes, out_done;
};

static bool
flush(struct stream *s)
{
	while (s->out_done < s->out_bytes) {
		ssize_t n = send(s->fd, s->out + s->out_done, s->out_bytes - s->out_done,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		s->out_done += (size_t)n;
	}
	s->out_bytes = s->out_done = 0;
	return true;
}

static int
reflect(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	static struct stream s;
	bool alive = true;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	s.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s.fd < 0 || connect(s.fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("%s: %s", path, strerror(errno));
	puts("ready");
	fflush(stdout);

	while (alive) {
		struct pollfd p = {.fd = s.fd, .events = POLLIN};
		size_t at = 0;
		ssize_t n;

		/* Nothing more is read while answers wait: the card sees a slow cable. */
		if (s.out_done < s.out_bytes)
			p.events = POLLOUT;
		if (poll(&p, 1, -1) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		if (!flush(&s))
			break;
		if (s.out_done < s.out_bytes)
			continue;
		n = recv(s.fd, s.in + s.in_bytes, sizeof(s.in) - s.in_bytes, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			alive = false;
		if (n > 0)
			s.in_bytes += (size_t)n;
		while (s.in_bytes - at >= 4) {
			uint8_t *frame = s.in + at + 4;
			uint32_t len;

			memcpy(&len, s.in + at, 4);
			len = ntohl(len);
			if (len > 65536)
				die("a frame of %u bytes", len);
			if (s.in_bytes - at < 4 + len)
				break;
			if (turn(frame, len)) {
				memcpy(s.out + s.out_bytes, s.in + at, 4 + len);
				s.out_bytes += 4 + len;
			}
			at += 4 + len;
		}
		memmove(s.in, s.in + at, s.in_bytes - at);
		s.in_bytes -= at;
		alive = alive && flush(&s);
	}
	return reflect_end();
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2], (uint16_t)atoi(argv[3]));
	if (argc == 3 && strcmp(argv[1], "reflect") == 0)
		return reflect(argv[2]);
	if (argc == 3 && strcmp(argv[1], "reflect-tap") == 0)
		return reflect_tap(argv[2]);
	fputs("usage: peer serve IFACE PORT | peer reflect SOCKET | peer reflect-tap IFACE\n",
	      stderr);
	return 2;
}
