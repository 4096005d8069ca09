/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * "vlan IFACE VID NAME": a VLAN interface in user space, for hosts whose kernel has none. Makes a
 * TAP called NAME; what it sends goes out of IFACE with an 802.1Q tag of VID, and frames that
 * come in on IFACE with that tag go to it without. So the host's end of the VM suite sees for
 * itself that tags were on the cable. Prints "ready"; ends with SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock.h"

#define FRAME_MAX 16384u

static int
tap_open(const char *name)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) != 0)
		die("TAP %s: %s", name, strerror(errno));
	return fd;
}

static int
packet_open(const char *iface)
{
	struct sockaddr_ll sa = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
	int on = 1, bytes = 4 << 20;
	struct ifreq ifr = {0};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", iface);
	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &ifr) != 0)
		die("%s: %s", iface, strerror(errno));
	sa.sll_ifindex = ifr.ifr_ifindex;
	if (setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0)
		die("%s: %s", iface, strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
	return fd;
}

/* One frame from the cable; the kernel has moved the tag, if any, into the ancillary data. */
static ssize_t
untag(int packet, uint8_t *frame, unsigned int vid)
{
	union {
		char bytes[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct cmsghdr align;
	} control;
	struct sockaddr_ll from;
	struct iovec iov = {frame, FRAME_MAX};
	struct msghdr msg = {
		.msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n = recvmsg(packet, &msg, 0);

	if (n < 0)
		return -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		struct tpacket_auxdata aux;

		if (c->cmsg_level != SOL_PACKET || c->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(c), sizeof(aux));
		if (from.sll_pkttype != PACKET_OUTGOING && (aux.tp_status & TP_STATUS_VLAN_VALID) &&
		    (aux.tp_vlan_tci & 0xfff) == vid)
			return n;
	}
	return 0;
}

int
main(int argc, char **argv)
{
	static uint8_t frame[FRAME_MAX + 4];
	unsigned int vid;
	int tap, packet;

	if (argc != 4) {
		fputs("usage: vlan IFACE VID NAME\n", stderr);
		return 2;
	}
	vid = (unsigned int)atoi(argv[2]);
	tap = tap_open(argv[3]);
	packet = packet_open(argv[1]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		struct pollfd p[2] = {{.fd = tap, .events = POLLIN},
				      {.fd = packet, .events = POLLIN}};
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		while ((n = untag(packet, frame, vid)) >= 0)
			if (n > 0 && write(tap, frame, (size_t)n) < 0 && errno != EIO)
				die("TAP: %s", strerror(errno));
		while ((n = read(tap, frame + 4, FRAME_MAX)) >= 14) {
			memmove(frame, frame + 4, 12);
			frame[12] = 0x81;
			frame[13] = 0x00;
			frame[14] = (uint8_t)(vid >> 8);
			frame[15] = (uint8_t)vid;
			if (send(packet, frame, (size_t)n + 4, 0) < 0 && errno != ENOBUFS)
				die("%s: %s", argv[1], strerror(errno));
		}
	}
}
