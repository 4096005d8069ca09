/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The probe's host as a network namespace of this process, with TAP interfaces as wires. See env.h.
 *
 * Everything by ioctl and netlink, no program is run: it also works in a minimal machine.
 */
#include "env.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

const char env_name[] = "linux";

static const unsigned char peer_mac[6] = {2, 0, 0, 0, 0x77, 2};
static const char *const pmtu_peers[] = {"10.77.0.10", "10.77.0.11", "10.77.0.12", "10.77.0.13"};
static int wires[N_WIRES];
static unsigned char macs[N_WIRES][6];
static int rmem_max, wmem_max;
static int ctl, netlink, marker_tx, marker_rx;

static void
cannot(const char *what)
{
	printf("skipped: %s: %s\n", what, strerror(errno));
	exit(77);
}

static void
must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "environment: %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static bool
write_sys(const char *path, const char *value)
{
	char full[160];
	int fd;
	bool ok;

	snprintf(full, sizeof(full), "/proc/sys/net/%s", path);
	fd = open(full, O_WRONLY | O_CLOEXEC);
	ok = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	if (fd >= 0)
		close(fd);
	return ok;
}

static void
must_write(const char *path, const char *value)
{
	must(write_sys(path, value) ? 0 : -1, path);
}

static int
read_sys(const char *path)
{
	char full[160], line[64] = "";
	int fd;

	snprintf(full, sizeof(full), "/proc/sys/net/%s", path);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) < 0)
		must(-1, full);
	close(fd);
	return atoi(line);
}

const char *
env_ifname(int wire)
{
	static const char *const names[] = {"t0", "t1", "t2", "lo"};

	return names[wire];
}

unsigned int
env_ifindex(int wire)
{
	return if_nametoindex(env_ifname(wire));
}

const unsigned char *
env_mac(int wire)
{
	return macs[wire];
}

/* ---- set-up ---- */

static void
if_up(const char *name, bool up)
{
	struct ifreq r = {0};

	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	must(ioctl(ctl, SIOCGIFFLAGS, &r), name);
	r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
	must(ioctl(ctl, SIOCSIFFLAGS, &r), name);
}

/* One netlink request; attributes are appended by attr(). */
struct request {
	struct nlmsghdr h;
	char body[256];
};

static void
attr(struct request *q, int type, const void *value, size_t len)
{
	struct rtattr *a = (void *)((char *)q + NLMSG_ALIGN(q->h.nlmsg_len));

	a->rta_type = (unsigned short)type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), value, len);
	q->h.nlmsg_len = NLMSG_ALIGN(q->h.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static void
ask(struct request *q, int type, const char *what)
{
	char answer[1024];
	struct nlmsghdr *h = (void *)answer;

	q->h.nlmsg_type = (unsigned short)type;
	q->h.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
	must((int)send(netlink, q, q->h.nlmsg_len, 0), what);
	must((int)recv(netlink, answer, sizeof(answer), 0), what);
	if (h->nlmsg_type == NLMSG_ERROR) {
		errno = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
		must(errno != 0 ? -1 : 0, what);
	}
}

static size_t
parse(const char *ip, unsigned char *out, int *family)
{
	*family = strchr(ip, ':') != NULL ? AF_INET6 : AF_INET;
	if (inet_pton(*family, ip, out) != 1)
		abort();
	return *family == AF_INET ? 4 : 16;
}

static void
add_address(int wire, const char *ip, int prefix)
{
	struct request q = {.h.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg))};
	struct ifaddrmsg *m = NLMSG_DATA(&q.h);
	unsigned char a[16];
	int family;
	size_t len = parse(ip, a, &family);

	m->ifa_family = (unsigned char)family;
	m->ifa_prefixlen = (unsigned char)prefix;
	m->ifa_flags = IFA_F_NODAD;
	m->ifa_index = env_ifindex(wire);
	attr(&q, IFA_LOCAL, a, len);
	attr(&q, IFA_ADDRESS, a, len);
	if (family == AF_INET) {
		a[3] = 255;
		attr(&q, IFA_BROADCAST, a, len);
	}
	ask(&q, RTM_NEWADDR, ip);
}

static void
add_neighbour(int wire, const char *ip)
{
	struct request q = {.h.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg))};
	struct ndmsg *m = NLMSG_DATA(&q.h);
	unsigned char a[16];
	int family;
	size_t len = parse(ip, a, &family);

	m->ndm_family = (unsigned char)family;
	m->ndm_ifindex = (int)env_ifindex(wire);
	m->ndm_state = NUD_PERMANENT;
	attr(&q, NDA_DST, a, len);
	attr(&q, NDA_LLADDR, peer_mac, 6);
	ask(&q, RTM_NEWNEIGH, ip);
}

static void
add_route(const char *ip, int type)
{
	struct request q = {.h.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg))};
	struct rtmsg *m = NLMSG_DATA(&q.h);
	unsigned char a[16];
	int family;
	size_t len = parse(ip, a, &family);

	m->rtm_family = (unsigned char)family;
	m->rtm_dst_len = (unsigned char)(len * 8);
	m->rtm_table = RT_TABLE_MAIN;
	m->rtm_protocol = RTPROT_STATIC;
	m->rtm_scope = RT_SCOPE_UNIVERSE;
	m->rtm_type = (unsigned char)type;
	attr(&q, RTA_DST, a, len);
	ask(&q, RTM_NEWROUTE, ip);
}

static void
open_wire(int wire)
{
	struct ifreq r = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	char path[96];

	wires[wire] = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (wires[wire] < 0)
		cannot("/dev/net/tun");
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", env_ifname(wire));
	if (ioctl(wires[wire], TUNSETIFF, &r) < 0)
		cannot("a TAP interface");
	must(ioctl(ctl, SIOCGIFHWADDR, &r), "MAC");
	memcpy(macs[wire], r.ifr_hwaddr.sa_data, 6);
	/* No chatter of IPv6's own on the wires. */
	snprintf(path, sizeof(path), "ipv6/conf/%s/addr_gen_mode", r.ifr_name);
	write_sys(path, "1");
	snprintf(path, sizeof(path), "ipv6/conf/%s/router_solicitations", r.ifr_name);
	write_sys(path, "0");
	snprintf(path, sizeof(path), "ipv4/neigh/%s/mcast_solicit", r.ifr_name);
	must_write(path, wire == T0 ? "1" : "60");
	snprintf(path, sizeof(path), "ipv4/neigh/%s/retrans_time_ms", r.ifr_name);
	must_write(path, wire == T0 ? "20" : "1000");
}

/* The kernel finishes with an IPv6 address in its own time, also without duplicate address detection. */
static void
await_address6(const char *ip)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(4999)};
	struct timespec pause = {.tv_nsec = 1000000};
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char c = 0;

	inet_pton(AF_INET6, ip, &a.sin6_addr);
	for (int i = 0; i < 5000; i++) {
		/* To itself and back: then it is an address of this host. */
		if (bind(fd, (struct sockaddr *)&a, sizeof(a)) == 0 || errno == EINVAL)
			if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
			    send(fd, &c, 1, 0) == 1 && recv(fd, &c, 1, MSG_DONTWAIT) == 1)
				break;
		nanosleep(&pause, NULL);
	}
	close(fd);
}

static void
open_markers(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET};
	socklen_t len = sizeof(a);

	a.sin_addr.s_addr = htonl(0x7f000063);
	a.sin_port = htons(4999);
	marker_rx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	marker_tx = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(bind(marker_rx, (struct sockaddr *)&a, len), "marker");
	a.sin_port = htons(4998);
	must(bind(marker_tx, (struct sockaddr *)&a, len), "marker");
	a.sin_port = htons(4999);
	must(connect(marker_tx, (struct sockaddr *)&a, len), "marker");
}

void
env_start(int argc, char **argv)
{
	char range[32];
	cpu_set_t cpus;

	if (argc > 1) {
		fprintf(stderr, "%s: no such option here\n", argv[1]);
		exit(2);
	}
	if (geteuid() != 0) {
		errno = EPERM;
		cannot("root is needed");
	}
	/* Everything on one core: what was sent first has then arrived first. */
	must(sched_getaffinity(0, sizeof(cpus), &cpus), "sched_getaffinity");
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++) {
		if (found)
			CPU_CLR(i, &cpus);
		found |= CPU_ISSET(i, &cpus);
	}
	must(sched_setaffinity(0, sizeof(cpus), &cpus), "sched_setaffinity");
	/* The machine's; older kernels do not show them in a namespace. */
	rmem_max = read_sys("core/rmem_max");
	wmem_max = read_sys("core/wmem_max");
	if (unshare(CLONE_NEWNET) < 0)
		cannot("a network namespace");
	ctl = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	must(ctl, "socket");
	must(netlink, "netlink");

	snprintf(range, sizeof(range), "%d %d", PORT_LO, PORT_HI);
	must_write("ipv4/ip_local_port_range", range);
	must_write("ipv4/icmp_ratelimit", "0");
	write_sys("ipv6/icmp/ratelimit", "0");
	must_write("ipv4/conf/all/rp_filter", "0");
	must_write("ipv4/conf/default/rp_filter", "0");
	if_up("lo", true);
	for (int w = 0; w < N_WIRES; w++)
		open_wire(w);
	add_address(T0, HOST, 24);
	add_address(T1, HOST1, 24);
	add_address(T2, HOST_DOWN, 24);
	if_up("t0", true);
	if_up("t1", true);
	add_neighbour(T0, PEER);
	add_neighbour(T1, PEER1);
	for (int i = 0; i < 4; i++)
		add_neighbour(T0, pmtu_peers[i]);
	add_route("192.0.2.1", RTN_UNREACHABLE);
	add_route("192.0.2.2", RTN_PROHIBIT);
	add_route("192.0.2.3", RTN_BLACKHOLE);
	if (access("/proc/sys/net/ipv6", F_OK) == 0) {
		add_address(T0, HOST6, 64);
		add_address(T1, HOST6_1, 64);
		await_address6(HOST6);
		await_address6(HOST6_1);
		add_neighbour(T0, PEER6);
	}
	open_markers();
	env_settle();
}

void
env_stop(void)
{
}

/* ---- during the run ---- */

void
env_settle(void)
{
	char c = 0;

	/* Loopback and TAP are handed to the same core's backlog in order: behind this one, all is in. */
	must((int)send(marker_tx, &c, 1, 0), "marker");
	must((int)recv(marker_rx, &c, 1, 0), "marker");
}

void
env_wire_put(int wire, const void *frame, size_t len)
{
	must((int)write(wires[wire], frame, len), "wire");
	env_settle();
}

size_t
env_wire_get(int wire, void *frame, size_t size)
{
	ssize_t n;

	if (wire == T2)
		return 0;
	n = read(wires[wire], frame, size);
	if (n < 0 && errno != EAGAIN)
		must(-1, "wire");
	return n > 0 ? (size_t)n : 0;
}

/* Neighbours on t1 that are asked for and do not answer: their datagrams wait in the kernel. */
static const char *const stalled[] = {"10.78.0.90", "10.78.0.91", "10.78.0.92", "10.78.0.93",
				      "10.78.0.94"};

static bool waiting[5];

const char *
env_stalled(int i)
{
	waiting[i] = true;
	return stalled[i];
}

int
env_release(void)
{
	unsigned char frame[64];
	int n = 0;

	for (int i = 0; i < 5; i++)
		if (waiting[i])
			add_neighbour(T1, stalled[i]);
	env_settle();
	while (env_wire_get(T1, frame, sizeof(frame)) > 0)
		n += frame[12] == 0x08 && frame[13] == 0x00;
	return n;
}

int
env_rmem_max(void)
{
	return rmem_max;
}

int
env_wmem_max(void)
{
	return wmem_max;
}

void
env_privileged(bool yes)
{
	struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2];

	must((int)syscall(SYS_capget, &h, d), "capget");
	for (int i = 0; i < 2; i++)
		d[i].effective = yes ? d[i].permitted : 0;
	must((int)syscall(SYS_capset, &h, d), "capset");
}

void
env_await_blocked(int tid)
{
	char path[64], line[256];
	struct timespec pause = {.tv_nsec = 200000};

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	for (int i = 0; i < 5000; i++) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		char *state;

		if (fd >= 0)
			close(fd);
		if (n <= 0)
			return;
		line[n] = '\0';
		state = strrchr(line, ')');
		if (state != NULL && state[1] == ' ' && state[2] == 'S')
			return;
		nanosleep(&pause, NULL);
	}
}
