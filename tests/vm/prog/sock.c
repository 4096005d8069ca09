/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Socket helpers of the VM suite: see sock.h. Blocking sockets with deadlines; simple on purpose.
 */

#include "sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/if_ether.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

#define CHUNK_BYTES 65536u
#define SILENCE_MS  15000
_Static_assert(VM_BATCH == 32, "a batch is a mask of 32 bits");

#define ACK_WAIT_MS 5000

void
die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void
send_all(int fd, const void *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("send: %s", strerror(errno));
		data = (const uint8_t *)data + n;
		len -= (size_t)n;
	}
}

bool
recv_all(int fd, void *data, size_t len)
{
	while (len > 0) {
		ssize_t n = recv(fd, data, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("recv: %s", strerror(errno));
		if (n == 0)
			return false;
		data = (uint8_t *)data + n;
		len -= (size_t)n;
	}
	return true;
}

int
udp_socket(uint16_t *port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET};
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), bytes = 4 << 20;

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) != 0)
		die("udp socket: %s", strerror(errno));
	/* FORCE works for root; without it the default must do. */
	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	*port = ntohs(sa.sin_port);
	return fd;
}

int
raw_socket(const char *iface, int *ifindex, uint8_t mac[6])
{
	struct sockaddr_ll sa = {.sll_family = AF_PACKET, .sll_protocol = htons(VM_ETHERTYPE)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(VM_ETHERTYPE));
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", iface);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &ifr) != 0)
		die("raw socket on %s: %s", iface, strerror(errno));
	memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	*ifindex = (int)if_nametoindex(iface);
	sa.sll_ifindex = *ifindex;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("raw socket on %s: %s", iface, strerror(errno));
	return fd;
}

void
stream_send(int fd, uint64_t size_bytes, uint64_t seed)
{
	static uint8_t buf[CHUNK_BYTES];

	for (uint64_t at = 0; at < size_bytes;) {
		size_t n = size_bytes - at < sizeof(buf) ? (size_t)(size_bytes - at) : sizeof(buf);

		vm_fill(buf, n, seed, at);
		send_all(fd, buf, n);
		at += n;
	}
}

uint64_t
stream_check(int fd, uint64_t size_bytes, uint64_t seed, bool *bad)
{
	static uint8_t buf[CHUNK_BYTES];
	uint64_t at = 0;

	*bad = false;
	while (at < size_bytes) {
		size_t want =
			size_bytes - at < sizeof(buf) ? (size_t)(size_bytes - at) : sizeof(buf);
		ssize_t n = recv(fd, buf, want, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (!vm_check(buf, (size_t)n, seed, at)) {
			*bad = true;
			break;
		}
		at += (uint64_t)n;
	}
	return at;
}

static bool
readable(int fd, int other, int wait_ms)
{
	struct pollfd p[2] = {{.fd = fd, .events = POLLIN}, {.fd = other, .events = POLLIN}};

	return poll(p, other >= 0 ? 2 : 1, wait_ms) > 0 && (p[0].revents & POLLIN);
}

uint64_t
dgrams_send(int fd, const struct sockaddr_in *to, uint64_t n, uint32_t dgram_bytes, uint64_t seed)
{
	static uint8_t buf[65536];
	uint64_t n_unacked = 0, ack = 0;

	for (uint64_t seq = 0; seq < n; seq++) {
		struct vm_dgram d = {.seq = seq};

		memcpy(buf, &d, sizeof(d));
		vm_fill(buf + sizeof(d), dgram_bytes - sizeof(d), seed + seq, 0);
		if (sendto(fd, buf, dgram_bytes, 0, (const struct sockaddr *)to, sizeof(*to)) !=
		    (ssize_t)dgram_bytes)
			die("sendto %u bytes: %s", dgram_bytes, strerror(errno));
		if ((seq + 1) % VM_BATCH != 0 && seq + 1 != n)
			continue;
		do {
			if (!readable(fd, -1, ACK_WAIT_MS)) {
				n_unacked++;
				break;
			}
			if (recv(fd, &ack, sizeof(ack), 0) != (ssize_t)sizeof(ack))
				die("a short acknowledgement");
		} while (ack < seq);
		if (n_unacked > 3)
			break;
	}
	return n_unacked;
}

void
dgrams_check(int fd, uint64_t n, uint32_t dgram_bytes, uint64_t seed, int stop_fd, uint64_t *n_good,
	     uint64_t *n_bad)
{
	static uint8_t buf[65536];
	uint64_t first = 0; /* of the batch that is coming in */
	uint32_t come = 0;  /* its members */

	*n_good = *n_bad = 0;
	while (first < n && readable(fd, stop_fd, SILENCE_MS)) {
		uint32_t batch = n - first < VM_BATCH ? (uint32_t)(n - first) : VM_BATCH;
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		struct vm_dgram d;
		ssize_t got = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
		uint64_t last;

		if (got < (ssize_t)sizeof(d)) {
			*n_bad += got >= 0;
			continue;
		}
		/* Within a batch any order will do: a sender that moves to another processor
		 * moves to another ring. Twice, or outside the batch, is bad. */
		memcpy(&d, buf, sizeof(d));
		if (got != (ssize_t)dgram_bytes || d.seq < first || d.seq - first >= batch ||
		    (come & 1u << (d.seq - first)) ||
		    !vm_check(buf + sizeof(d), (size_t)got - sizeof(d), seed + d.seq, 0)) {
			(*n_bad)++;
			continue;
		}
		(*n_good)++;
		come |= 1u << (d.seq - first);
		if (come != (batch == 32 ? UINT32_MAX : (1u << batch) - 1))
			continue;
		last = first + batch - 1;
		if (sendto(fd, &last, sizeof(last), 0, (struct sockaddr *)&from, len) < 0)
			die("acknowledgement: %s", strerror(errno));
		first += batch;
		come = 0;
	}
}
