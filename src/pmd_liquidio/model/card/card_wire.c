/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cable of liquidio-card: see card_wire.h. On a stream socket each frame has its length in
 * front, 4 bytes in network order, which is what QEMU's "-netdev stream" speaks: the far end may
 * be another liquidio-card, a QEMU, or a program of one's own.
 */
#include "card_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "card_sock.h"

#define OUT_BYTES     (1u << 20)
#define FRAMES_A_TURN 128u
#define RETRY_NS      1000000000u

static int
say(const struct card_wire *wire, const char *what, int err)
{
	fprintf(stderr, "liquidio-card: wire %s: %s: %s\n", wire->opt->name, what, strerror(err));
	return -err;
}

static void
peer_gone(struct card_wire *wire)
{
	close(wire->fd);
	wire->fd = -1;
	wire->in_bytes = 0;
	wire->out_bytes = wire->out_done = 0;
	wire->retry_ns = 0;
}

static void
flush(struct card_wire *wire)
{
	while (wire->out_done < wire->out_bytes) {
		ssize_t n = send(wire->fd, wire->out + wire->out_done,
				 wire->out_bytes - wire->out_done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				peer_gone(wire);
			return;
		}
		wire->out_done += (uint32_t)n;
	}
	wire->out_bytes = wire->out_done = 0;
}

/* From the model, inside one of its calls. */
static void
frame_out(void *ctx, const uint8_t *frame, uint32_t len_bytes)
{
	struct card_wire *wire = ctx;
	uint32_t len_be = htonl(len_bytes);

	if (wire->fd < 0) {
		wire->n_dropped++;
		return;
	}
	if (wire->opt->kind == CARD_WIRE_TAP) {
		if (write(wire->fd, frame, len_bytes) != (ssize_t)len_bytes)
			wire->n_dropped++;
		return;
	}
	if (wire->out_bytes + sizeof(len_be) + len_bytes > OUT_BYTES) {
		flush(wire);
		if (wire->fd < 0 || wire->out_bytes + sizeof(len_be) + len_bytes > OUT_BYTES) {
			wire->n_dropped++;
			return;
		}
	}
	memcpy(wire->out + wire->out_bytes, &len_be, sizeof(len_be));
	memcpy(wire->out + wire->out_bytes + sizeof(len_be), frame, len_bytes);
	wire->out_bytes += (uint32_t)sizeof(len_be) + len_bytes;
}

static int
tap_open(struct card_wire *wire)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};

	wire->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (wire->fd < 0)
		return say(wire, "/dev/net/tun", errno);
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", wire->opt->name);
	if (ioctl(wire->fd, TUNSETIFF, &ifr) != 0)
		return say(wire, "cannot make or join the TAP interface", errno);
	return 0;
}

static int
listen_open(struct card_wire *wire)
{
	int fd = card_sock_listen(wire->opt->name);

	if (fd < 0)
		return say(wire, "cannot listen", -fd);
	wire->listen_fd = fd;
	return 0;
}

static int
connect_try(struct card_wire *wire, uint64_t now_ns)
{
	int fd = card_sock_connect(wire->opt->name);

	if (fd < 0) {
		wire->retry_ns = now_ns + RETRY_NS;
		return fd;
	}
	wire->fd = fd;
	return 0;
}

int
card_wire_open(struct card_wire *wire, const struct card_wire_opt *opt, struct liqm_card *card,
	       unsigned int port)
{
	int rc = 0;

	memset(wire, 0, sizeof(*wire));
	wire->card = card;
	wire->port = port;
	wire->opt = opt;
	wire->fd = wire->listen_fd = -1;
	switch (opt->kind) {
	case CARD_WIRE_NONE:
		return 0;
	case CARD_WIRE_TAP:
		rc = tap_open(wire);
		break;
	case CARD_WIRE_UNIX_LISTEN:
		rc = listen_open(wire);
		break;
	case CARD_WIRE_UNIX:
		rc = connect_try(wire, 0);
		if (rc != 0)
			say(wire, "cannot connect", -rc);
		break;
	}
	if (rc == 0 && opt->kind != CARD_WIRE_TAP) {
		wire->out = malloc(OUT_BYTES);
		if (!wire->out)
			rc = say(wire, "buffer", ENOMEM);
	}
	if (rc == 0)
		rc = liqm_wire_callback(card, port, frame_out, wire);
	if (rc != 0)
		card_wire_close(wire);
	return rc;
}

void
card_wire_close(struct card_wire *wire)
{
	if (wire->fd >= 0)
		close(wire->fd);
	if (wire->listen_fd >= 0) {
		close(wire->listen_fd);
		unlink(wire->opt->name);
	}
	free(wire->out);
	wire->out = NULL;
	wire->fd = wire->listen_fd = -1;
}

unsigned int
card_wire_poll(const struct card_wire *wire, struct pollfd pfds[2])
{
	unsigned int n = 0;

	if (wire->fd >= 0) {
		short events = liqm_wire_room(wire->card, wire->port) ? POLLIN : 0;

		if (wire->out_done < wire->out_bytes)
			events |= POLLOUT;
		pfds[n++] = (struct pollfd){.fd = wire->fd, .events = events};
	} else if (wire->listen_fd >= 0) {
		pfds[n++] = (struct pollfd){.fd = wire->listen_fd, .events = POLLIN};
	}
	return n;
}

uint64_t
card_wire_next_ns(const struct card_wire *wire)
{
	return wire->opt->kind == CARD_WIRE_UNIX && wire->fd < 0 ? wire->retry_ns : LIQM_NEVER;
}

static void
tap_in(struct card_wire *wire)
{
	for (unsigned int i = 0; i < FRAMES_A_TURN; i++) {
		ssize_t n;

		if (!liqm_wire_room(wire->card, wire->port))
			return;
		n = read(wire->fd, wire->in, sizeof(wire->in));
		if (n <= 0)
			return;
		liqm_wire_in(wire->card, wire->port, wire->in, (uint32_t)n);
	}
}

static void
stream_in(struct card_wire *wire)
{
	for (unsigned int i = 0; i < 2 * FRAMES_A_TURN && wire->fd >= 0; i++) {
		uint32_t want = 4, len;
		ssize_t n;

		if (wire->in_bytes >= 4) {
			memcpy(&len, wire->in, sizeof(len));
			len = ntohl(len);
			if (len == 0 || len > LIQM_FRAME_MAX) {
				wire->n_bad_peers++;
				fprintf(stderr, "liquidio-card: wire %s: a frame of %u bytes\n",
					wire->opt->name, len);
				peer_gone(wire);
				return;
			}
			want = 4 + len;
		} else if (!liqm_wire_room(wire->card, wire->port)) {
			return;
		}
		n = recv(wire->fd, wire->in + wire->in_bytes, want - wire->in_bytes, MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return;
		if (n <= 0) {
			peer_gone(wire);
			return;
		}
		wire->in_bytes += (uint32_t)n;
		if (want > 4 && wire->in_bytes == want) {
			liqm_wire_in(wire->card, wire->port, wire->in + 4, want - 4);
			wire->in_bytes = 0;
		}
	}
}

void
card_wire_run(struct card_wire *wire, uint64_t now_ns)
{
	switch (wire->opt->kind) {
	case CARD_WIRE_NONE:
		return;
	case CARD_WIRE_TAP:
		tap_in(wire);
		return;
	case CARD_WIRE_UNIX:
		if (wire->fd < 0 && now_ns >= wire->retry_ns)
			connect_try(wire, now_ns);
		break;
	case CARD_WIRE_UNIX_LISTEN:
		if (wire->fd < 0)
			wire->fd = card_sock_accept(wire->listen_fd);
		break;
	}
	if (wire->fd >= 0)
		stream_in(wire);
	if (wire->fd >= 0)
		flush(wire);
}
