/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unix stream sockets of liquidio-card: see card_sock.h.
 */
#include "card_sock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int
open_socket(const char *path, struct sockaddr_un *sa)
{
	int fd;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	snprintf(sa->sun_path, sizeof(sa->sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return fd < 0 ? -errno : fd;
}

int
card_sock_connect(const char *path)
{
	struct sockaddr_un sa;
	int fd = open_socket(path, &sa), err;

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0)
		return fd;
	err = errno;
	close(fd);
	return -err;
}

static int
clear_path(const char *path)
{
	struct stat st;
	int fd;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = card_sock_connect(path);
	if (fd >= 0)
		close(fd);
	if (fd != -ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(path) == 0 ? 0 : -errno;
}

int
card_sock_listen(const char *path)
{
	struct sockaddr_un sa;
	int rc = clear_path(path), fd;

	if (rc != 0)
		return rc;
	fd = open_socket(path, &sa);
	if (fd < 0)
		return fd;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) != 0 || listen(fd, 4) != 0) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int
card_sock_accept(int listen_fd)
{
	return accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
