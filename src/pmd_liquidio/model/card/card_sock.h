/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unix stream sockets of liquidio-card. A path that a live server holds, or that is no socket, is
 * refused; one that a dead server left behind is taken over.
 */
#ifndef CARD_SOCK_H
#define CARD_SOCK_H

/** A listening, non-blocking socket at @path, or a negative errno. */
int card_sock_listen(const char *path);

/** A connected, non-blocking socket, or a negative errno. */
int card_sock_connect(const char *path);

/** The next client of a listening socket, or -1 when there is none. */
int card_sock_accept(int listen_fd);

#endif
