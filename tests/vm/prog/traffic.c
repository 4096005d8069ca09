/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The guest's end of the VM suite's traffic, over the guest's kernel: asks the host's peer for one
 * transfer, takes part in it, and checks every byte. Exit status 0 when all arrived as sent; else
 * 1 and one line that says what did not. Linked statically, run by the guest's init.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/if_ether.h>
#include <netinet/tcp.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sock.h"
#include "wire.h"

static struct sockaddr_in peer;

static const char usage[] =
	"usage: traffic HOST PORT tcp-up|tcp-down BYTES\n"
	"       traffic HOST PORT udp-up|udp-down BYTES DATAGRAM-BYTES\n"
	"       traffic HOST PORT raw IFACE MAC COUNT EXPECTED none|join|join-many|allmulti|promisc\n";

static int
ask(struct vm_request *q)
{
	struct timeval limit = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (fd < 0 || connect(fd, (struct sockaddr *)&peer, sizeof(peer)) != 0)
		die("cannot reach the peer: %s", strerror(errno));
	q->magic = VM_MAGIC;
	q->seed = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
	send_all(fd, q, sizeof(*q));
	return fd;
}

static struct vm_reply
answer(int fd)
{
	struct vm_reply r;

	if (!recv_all(fd, &r, sizeof(r)) || r.magic != VM_MAGIC)
		die("the peer's answer is missing");
	return r;
}

static void
tcp(bool up, uint64_t bytes)
{
	struct vm_request q = {.op = up ? VM_TCP_UP : VM_TCP_DOWN, .size_bytes = bytes};
	int fd = ask(&q);
	struct vm_reply r;
	uint64_t good;
	bool bad = false;

	if (up) {
		stream_send(fd, bytes, q.seed);
		r = answer(fd);
		good = r.n_good;
		bad = r.n_bad != 0;
	} else {
		good = stream_check(fd, bytes, q.seed, &bad);
		answer(fd);
	}
	if (bad)
		die("contents differ within 64 KiB after byte %" PRIu64, good);
	if (good != bytes)
		die("%" PRIu64 " of %" PRIu64 " bytes arrived", good, bytes);
}

static void
udp(bool up, uint64_t bytes, uint32_t dgram_bytes)
{
	struct vm_request q = {
		.op = up ? VM_UDP_UP : VM_UDP_DOWN,
		.size_bytes = bytes,
		.dgram_bytes = dgram_bytes,
	};
	uint64_t n = bytes / dgram_bytes, good, bad, unacked;
	int on = IP_PMTUDISC_DO, fd, sock = udp_socket(&q.udp_port);
	struct sockaddr_in to = peer;
	struct vm_reply r;

	/* No fragments: a datagram is a frame. */
	setsockopt(sock, IPPROTO_IP, IP_MTU_DISCOVER, &on, sizeof(on));
	fd = ask(&q);
	if (up) {
		to.sin_port = htons((uint16_t)answer(fd).udp_port);
		unacked = dgrams_send(sock, &to, n, dgram_bytes, q.seed);
		r = answer(fd);
		good = r.n_good;
		bad = r.n_bad;
	} else {
		dgrams_check(sock, n, dgram_bytes, q.seed, -1, &good, &bad);
		unacked = answer(fd).n_bad;
	}
	if (good != n || bad || unacked)
		die("%" PRIu64 " of %" PRIu64 " datagrams good, %" PRIu64 " bad, %" PRIu64
		    " batches unacknowledged",
		    good, n, bad, unacked);
}

static void
parse_mac(const char *text, uint8_t mac[6])
{
	unsigned int b[6];

	if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5]) != 6)
		die("not a MAC: %s", text);
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)b[i];
}

/* More groups than the card's list holds, none of them the one that is sent to: the driver has to
 * ask for all multicast. */
static void
join_many(int sock, struct packet_mreq mreq)
{
	mreq.mr_type = PACKET_MR_MULTICAST;
	for (int i = 0; i < 40; i++) {
		memcpy(mreq.mr_address, "\x01\x00\x5e\x7f\x00", 5);
		mreq.mr_address[5] = (uint8_t)i;
		if (setsockopt(sock, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq, sizeof(mreq)) != 0)
			die("group %d: %s", i, strerror(errno));
	}
}

/* Counts the frames to @mac that reach the host side of the driver, in one receive mode. */
static void
raw(const char *iface, const char *mac, uint32_t count, uint32_t expected, const char *mode)
{
	struct vm_request q = {.op = VM_RAW, .count = count};
	struct packet_mreq mreq = {.mr_alen = 6};
	uint32_t n_good = 0, n_bad = 0;
	int fd, sock;

	sock = raw_socket(iface, &mreq.mr_ifindex, q.end_mac);
	parse_mac(mac, q.mac);
	if (strcmp(mode, "join-many") == 0) {
		join_many(sock, mreq);
	} else if (strcmp(mode, "none") != 0) {
		memcpy(mreq.mr_address, q.mac, 6);
		mreq.mr_type = strcmp(mode, "join") == 0       ? PACKET_MR_MULTICAST
			       : strcmp(mode, "allmulti") == 0 ? PACKET_MR_ALLMULTI
							       : PACKET_MR_PROMISC;
		if (setsockopt(sock, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &mreq, sizeof(mreq)) != 0)
			die("%s: %s", mode, strerror(errno));
	}
	fd = ask(&q);
	for (;;) {
		struct pollfd p = {.fd = sock, .events = POLLIN};
		uint8_t frame[256];
		struct vm_dgram d;
		ssize_t len;

		if (poll(&p, 1, 10000) <= 0)
			die("the end mark did not come; %u of %u frames did", n_good, count);
		len = recv(sock, frame, sizeof(frame), 0);
		if (len != 128) {
			n_bad++;
			continue;
		}
		memcpy(&d, frame + 14, sizeof(d));
		if (!vm_check(frame + 14 + sizeof(d), 128 - 14 - sizeof(d), q.seed + d.seq, 0))
			n_bad++;
		else if (d.is_end)
			break;
		else if (memcmp(frame, q.mac, 6) == 0)
			n_good++;
		else
			n_bad++;
	}
	answer(fd);
	if (n_good != expected || n_bad != 0)
		die("%u frames came, %u expected, %u bad", n_good, expected, n_bad);
}

int
main(int argc, char **argv)
{
	uint64_t bytes;

	if (argc < 5 || inet_pton(AF_INET, argv[1], &peer.sin_addr) != 1) {
		fputs(usage, stderr);
		return 2;
	}
	peer.sin_family = AF_INET;
	peer.sin_port = htons((uint16_t)atoi(argv[2]));
	bytes = strtoull(argv[4], NULL, 0);
	if (strncmp(argv[3], "tcp-", 4) == 0 && argc == 5) {
		tcp(strcmp(argv[3], "tcp-up") == 0, bytes);
	} else if (strncmp(argv[3], "udp-", 4) == 0 && argc == 6) {
		uint32_t dgram_bytes = (uint32_t)atoi(argv[5]);

		if (dgram_bytes < sizeof(struct vm_dgram) || dgram_bytes > 65000)
			die("datagrams of %u bytes", dgram_bytes);
		udp(strcmp(argv[3], "udp-up") == 0, bytes, dgram_bytes);
	} else if (strcmp(argv[3], "raw") == 0 && argc == 9) {
		raw(argv[4], argv[5], (uint32_t)atoi(argv[6]), (uint32_t)atoi(argv[7]), argv[8]);
	} else {
		fputs(usage, stderr);
		return 2;
	}
	return 0;
}
