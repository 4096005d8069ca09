/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small socket helpers shared by the two ends of the VM suite; every failure ends the program
 * (the peer: the process that serves one client) with a message.
 */
#ifndef VM_SOCK_H
#define VM_SOCK_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

void send_all(int fd, const void *data, size_t len);
/* False at the end of the stream before @len bytes. */
bool recv_all(int fd, void *data, size_t len);

/* A UDP socket on any port, with large buffers and a receive deadline; the port in *port. */
int udp_socket(uint16_t *port);

/* An AF_PACKET socket for VM_ETHERTYPE on the interface; its index and MAC. */
int raw_socket(const char *iface, int *ifindex, uint8_t mac[6]);

/* The stream side of TCP transfers. Return the number of good bytes; *bad when one differs. */
void stream_send(int fd, uint64_t size_bytes, uint64_t seed);
uint64_t stream_check(int fd, uint64_t size_bytes, uint64_t seed, bool *bad);

/* Datagrams: sends all in batches, each acknowledged; returns how many batches were not. */
uint64_t dgrams_send(int fd, const struct sockaddr_in *to, uint64_t n, uint32_t dgram_bytes,
		     uint64_t seed);
/* Receives and acknowledges until all have come or @stop_fd (-1: none) is readable or silence. */
void dgrams_check(int fd, uint64_t n, uint32_t dgram_bytes, uint64_t seed, int stop_fd,
		  uint64_t *n_good, uint64_t *n_bad);

#endif
