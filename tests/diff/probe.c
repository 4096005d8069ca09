/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frame and helpers of the probe: see probe.h.
 *
 *	probe [--list] [--from NAME] [--only PREFIX]... [-- options of the environment]
 *
 * Prints "name: result" per fact, in order of name; the name goes out before the fact runs, so that
 * whoever reads knows where it died, and --from NAME goes on behind that fact.
 */
#include "probe.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/syscall.h>

static struct fact *facts[1024];
static int n_facts;
static char result[4096];
static int result_len;
static int kept[512];
static int n_kept;
static int first_port = 5000;

void
fact_add(struct fact *fact)
{
	if (n_facts == sizeof(facts) / sizeof(facts[0]))
		abort();
	facts[n_facts++] = fact;
}

/* ---- results ---- */

void
say(const char *format, ...)
{
	va_list args;
	int room = (int)sizeof(result) - result_len - 1;

	if (result_len > 0 && room > 1) {
		result[result_len++] = ' ';
		room--;
	}
	va_start(args, format);
	int n = vsnprintf(result + result_len, (size_t)room, format, args);
	va_end(args);
	result_len += n < room ? n : room - 1;
}

const char *
text(const char *format, ...)
{
	static _Thread_local char ring[32][512];
	static _Thread_local unsigned int next;
	char *out = ring[next++ % 32];
	va_list args;

	va_start(args, format);
	vsnprintf(out, sizeof(ring[0]), format, args);
	va_end(args);
	return out;
}

const char *
err_name(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
#define N(e) {e, #e}
		N(EPERM),
		N(ENOENT),
		N(EINTR),
		N(EIO),
		N(EBADF),
		N(EAGAIN),
		N(ENOMEM),
		N(EACCES),
		N(EFAULT),
		N(EEXIST),
		N(ENODEV),
		N(EINVAL),
		N(ENOTTY),
		N(EPIPE),
		N(EDOM),
		N(ENOSYS),
		N(ENOTSOCK),
		N(EDESTADDRREQ),
		N(EMSGSIZE),
		N(EPROTOTYPE),
		N(ENOPROTOOPT),
		N(EPROTONOSUPPORT),
		N(ESOCKTNOSUPPORT),
		N(EOPNOTSUPP),
		N(EAFNOSUPPORT),
		N(EADDRINUSE),
		N(EADDRNOTAVAIL),
		N(ENETDOWN),
		N(ENETUNREACH),
		N(ECONNREFUSED),
		N(ENOBUFS),
		N(EISCONN),
		N(ENOTCONN),
		N(ETIMEDOUT),
		N(EHOSTDOWN),
		N(EHOSTUNREACH),
		N(EPROTO),
		N(ENONET),
		N(ENXIO),
		N(EALREADY),
		N(EMFILE),
		N(ENOSPC),
		N(ERANGE),
		N(ETIME),
#undef N
	};
	if (err == 0)
		return "0";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name;
	return text("errno%d", err);
}

const char *
ret(long r)
{
	if (r < 0)
		return err_name(errno);
	return r == 0 ? "ok" : text("%ld", r);
}

struct flag {
	unsigned int bit;
	const char *name;
};

static const char *
flag_names(unsigned int value, const struct flag *flags)
{
	char out[256] = "";

	for (; flags->name != NULL; flags++) {
		if ((value & flags->bit) == 0)
			continue;
		value &= ~flags->bit;
		strcat(out, out[0] != '\0' ? "|" : "");
		strcat(out, flags->name);
	}
	if (value != 0)
		sprintf(out + strlen(out), "%s0x%x", out[0] != '\0' ? "|" : "", value);
	return text("%s", out[0] != '\0' ? out : "-");
}

const char *
poll_names(unsigned int events)
{
	static const struct flag flags[] = {
		{POLLIN, "IN"},         {POLLOUT, "OUT"},       {POLLPRI, "PRI"},
		{POLLERR, "ERR"},       {POLLHUP, "HUP"},       {POLLRDHUP, "RDHUP"},
		{POLLNVAL, "NVAL"},     {POLLRDNORM, "RDNORM"}, {POLLRDBAND, "RDBAND"},
		{POLLWRNORM, "WRNORM"}, {POLLWRBAND, "WRBAND"}, {0, NULL},
	};
	return flag_names(events, flags);
}

const char *
msg_names(int value)
{
	static const struct flag flags[] = {
		{MSG_TRUNC, "TRUNC"},
		{MSG_CTRUNC, "CTRUNC"},
		{MSG_ERRQUEUE, "ERRQUEUE"},
		{MSG_EOR, "EOR"},
		{MSG_OOB, "OOB"},
		{MSG_PEEK, "PEEK"},
		{MSG_DONTWAIT, "DONTWAIT"},
		{MSG_CMSG_CLOEXEC, "CLOEXEC"},
		{0, NULL},
	};
	return flag_names((unsigned int)value, flags);
}

static const char *
port_text(int p)
{
	if (p == 0)
		return "0";
	if (p >= PORT_LO && p <= PORT_HI)
		return "eph";
	if (p == first_port)
		return "p";
	if (p > first_port && p < first_port + 10)
		return text("p+%d", p - first_port);
	return "other";
}

const char *
name_text(const struct sockaddr *name, socklen_t len)
{
	char ip[INET6_ADDRSTRLEN];

	if (len == 0)
		return "no name";
	if (name->sa_family == AF_INET && len >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *a = (const void *)name;

		inet_ntop(AF_INET, &a->sin_addr, ip, sizeof(ip));
		return text("%s:%s", ip, port_text(ntohs(a->sin_port)));
	}
	if (name->sa_family == AF_INET6 && len >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *a = (const void *)name;

		inet_ntop(AF_INET6, &a->sin6_addr, ip, sizeof(ip));
		return text("[%s]:%s", ip, port_text(ntohs(a->sin6_port)));
	}
	return text("family %d, %u bytes", name->sa_family, len);
}

/* ---- sockets ---- */

int
port(int i)
{
	return first_port + i;
}

int
keep(int fd)
{
	if (fd >= 0 && n_kept < (int)(sizeof(kept) / sizeof(kept[0])))
		kept[n_kept++] = fd;
	return fd;
}

int
udp(void)
{
	int fd = keep(socket(AF_INET, SOCK_DGRAM, 0));

	if (fd < 0)
		say("no socket: %s", ret(fd));
	return fd;
}

int
udp6(void)
{
	int fd = keep(socket(AF_INET6, SOCK_DGRAM, 0));

	if (fd < 0)
		say("no socket: %s", ret(fd));
	return fd;
}

void
close_now(int fd)
{
	for (int i = 0; i < n_kept; i++)
		if (kept[i] == fd)
			kept[i] = kept[--n_kept];
	close(fd);
	env_settle();
}

struct sockaddr_in
in4(const char *ip, int p)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)p)};

	if (inet_pton(AF_INET, ip, &a.sin_addr) != 1)
		abort();
	return a;
}

struct sockaddr_in6
in6(const char *ip, int p)
{
	struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)p)};

	if (inet_pton(AF_INET6, ip, &a.sin6_addr) != 1)
		abort();
	return a;
}

int
bind4(int fd, const char *ip, int p)
{
	struct sockaddr_in a = in4(ip, p);

	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

int
connect4(int fd, const char *ip, int p)
{
	struct sockaddr_in a = in4(ip, p);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

int
bind6(int fd, const char *ip, int p)
{
	struct sockaddr_in6 a = in6(ip, p);

	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

int
connect6(int fd, const char *ip, int p)
{
	struct sockaddr_in6 a = in6(ip, p);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

int
disconnect(int fd)
{
	struct sockaddr a = {.sa_family = AF_UNSPEC};

	return connect(fd, &a, sizeof(a));
}

int
bound(const char *ip, int p)
{
	int fd = udp();

	if (fd >= 0 && bind4(fd, ip, p) < 0)
		say("cannot bind to %s: %s", ip, ret(-1));
	return fd;
}

int
connected(const char *ip, int p)
{
	int fd = udp();

	if (fd >= 0 && connect4(fd, ip, p) < 0)
		say("cannot connect to %s: %s", ip, ret(-1));
	return fd;
}

int
bound6(const char *ip, int p)
{
	int fd = udp6();

	if (fd >= 0 && bind6(fd, ip, p) < 0)
		say("cannot bind to %s: %s", ip, ret(-1));
	return fd;
}

static long
tx_bytes(int fd, const void *data, size_t len, const void *to, socklen_t to_len)
{
	long r = sendto(fd, data, len, 0, to, to_len);
	int err = errno;

	env_settle();
	errno = err;
	return r;
}

long
tx(int fd, const char *words, const char *ip, int p)
{
	struct sockaddr_in a;

	if (ip == NULL)
		return tx_bytes(fd, words, strlen(words), NULL, 0);
	a = in4(ip, p);
	return tx_bytes(fd, words, strlen(words), &a, sizeof(a));
}

long
tx6(int fd, const char *words, const char *ip, int p)
{
	struct sockaddr_in6 a;

	if (ip == NULL)
		return tx_bytes(fd, words, strlen(words), NULL, 0);
	a = in6(ip, p);
	return tx_bytes(fd, words, strlen(words), &a, sizeof(a));
}

long
tx_n(int fd, size_t len, const char *ip, int p)
{
	static unsigned char data[70000];
	struct sockaddr_in a;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7);
	if (ip == NULL)
		return tx_bytes(fd, data, len, NULL, 0);
	a = in4(ip, p);
	return tx_bytes(fd, data, len, &a, sizeof(a));
}

static const char *
payload_text(const void *data, long n)
{
	const char *c = data;

	if (n == 0)
		return "''";
	for (long i = 0; i < n; i++)
		if (n > 64 || c[i] <= ' ' || c[i] > '~')
			return text("%ld bytes", n);
	return text("%.*s", (int)n, c);
}

const char *
rx_flags(int fd, int flags)
{
	static char data[70000];
	long n = recv(fd, data, sizeof(data), MSG_DONTWAIT | flags);

	return n < 0 ? ret(n) : payload_text(data, n);
}

const char *
rx(int fd)
{
	return rx_flags(fd, 0);
}

const char *
rx_n(int fd, int n)
{
	char out[400] = "";

	while (n-- > 0 && strlen(out) < 300)
		sprintf(out + strlen(out), "%s%s", out[0] != '\0' ? " " : "", rx(fd));
	return text("%s", out);
}

const char *
rx_from(int fd)
{
	static char data[70000];
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	long n = recvfrom(fd, data, sizeof(data), MSG_DONTWAIT, (struct sockaddr *)&name, &len);

	if (n < 0)
		return ret(n);
	return text("%s from %s", payload_text(data, n), name_text((struct sockaddr *)&name, len));
}

int
drain(int fd)
{
	char data[16];
	int n = 0;

	while (recv(fd, data, sizeof(data), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

const char *
local_name(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (getsockname(fd, (struct sockaddr *)&name, &len) < 0)
		return ret(-1);
	return name_text((struct sockaddr *)&name, len);
}

const char *
peer_name(int fd)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);

	if (getpeername(fd, (struct sockaddr *)&name, &len) < 0)
		return ret(-1);
	return name_text((struct sockaddr *)&name, len);
}

int
set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}

int
get_int(int fd, int level, int option)
{
	int value = -12345;
	socklen_t len = sizeof(value);

	return getsockopt(fd, level, option, &value, &len) < 0 ? -12346 : value;
}

const char *
get(int fd, int level, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	if (getsockopt(fd, level, option, &value, &len) < 0)
		return ret(-1);
	return text("%d", value);
}

int
to_device(int fd, int wire)
{
	const char *name = env_ifname(wire);

	return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1);
}

const char *
so_error(int fd)
{
	return err_name(get_int(fd, SOL_SOCKET, SO_ERROR));
}

const char *
polled_for(int fd, short events, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = events};
	int n = poll(&p, 1, timeout_ms);

	if (n < 0)
		return ret(n);
	return poll_names((unsigned short)p.revents);
}

const char *
polled(int fd)
{
	return polled_for(fd, POLLIN | POLLOUT | POLLPRI | POLLRDHUP, 0);
}

struct got *
rx_msg(int fd, int flags)
{
	static struct got g;
	struct iovec iov = {g.data, sizeof(g.data)};
	struct msghdr m = {
		.msg_name = &g.name,
		.msg_namelen = sizeof(g.name),
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = g.control,
		.msg_controllen = sizeof(g.control),
	};

	memset(&g, 0, sizeof(g));
	g.n = recvmsg(fd, &m, MSG_DONTWAIT | flags);
	g.err = g.n < 0 ? errno : 0;
	if (g.n < 0)
		return &g;
	g.flags = m.msg_flags;
	g.name_len = m.msg_namelen;
	g.control_len = m.msg_controllen;
	return &g;
}

const struct cmsghdr *
cmsg_of(const struct got *g, int level, int type)
{
	struct msghdr m = {.msg_control = (void *)g->control, .msg_controllen = g->control_len};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == level && c->cmsg_type == type)
			return c;
	return NULL;
}

int
cmsg_int(const struct got *g, int level, int type)
{
	const struct cmsghdr *c = cmsg_of(g, level, type);
	int value = -1;

	if (c == NULL)
		return -1;
	if (c->cmsg_len == CMSG_LEN(1))
		return *CMSG_DATA(c);
	memcpy(&value, CMSG_DATA(c), sizeof(value));
	return value;
}

const char *
cmsg_names(const struct got *g)
{
	static const struct {
		int level, type;
		const char *name;
	} names[] = {
		{SOL_SOCKET, SO_TIMESTAMP, "TIMESTAMP"},
		{SOL_SOCKET, SO_TIMESTAMPNS, "TIMESTAMPNS"},
		{SOL_SOCKET, SO_RXQ_OVFL, "RXQ_OVFL"},
		{IPPROTO_IP, IP_PKTINFO, "PKTINFO"},
		{IPPROTO_IP, IP_TTL, "TTL"},
		{IPPROTO_IP, IP_TOS, "TOS"},
		{IPPROTO_IP, IP_RECVERR, "RECVERR"},
		{IPPROTO_IP, IP_ORIGDSTADDR, "ORIGDSTADDR"},
		{IPPROTO_UDP, UDP_GRO, "GRO"},
		{IPPROTO_IPV6, IPV6_PKTINFO, "PKTINFO6"},
		{IPPROTO_IPV6, IPV6_HOPLIMIT, "HOPLIMIT"},
		{IPPROTO_IPV6, IPV6_TCLASS, "TCLASS"},
		{IPPROTO_IPV6, IPV6_RECVERR, "RECVERR6"},
	};
	struct msghdr m = {.msg_control = (void *)g->control, .msg_controllen = g->control_len};
	char out[256] = "";

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
		const char *name = NULL;

		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (names[i].level == c->cmsg_level && names[i].type == c->cmsg_type)
				name = names[i].name;
		if (strlen(out) > 200)
			break;
		strcat(out, out[0] != '\0' ? "," : "");
		strcat(out, name != NULL ? name : text("%d/%d", c->cmsg_level, c->cmsg_type));
	}
	return text("%s", out[0] != '\0' ? out : "none");
}

long
tx_cmsg(int fd, const char *words, const char *ip, int p, int level, int type, const void *value,
	size_t len)
{
	_Alignas(16) unsigned char control[256] = {0};
	struct sockaddr_in a;
	struct iovec iov = {(void *)words, strlen(words)};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	long r;
	int err;

	if (ip != NULL) {
		a = in4(ip, p);
		m.msg_name = &a;
		m.msg_namelen = sizeof(a);
	}
	m.msg_control = control;
	m.msg_controllen = CMSG_SPACE(len);
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
	r = sendmsg(fd, &m, 0);
	err = errno;
	env_settle();
	errno = err;
	return r;
}

/* ---- threads ---- */

static void *
bg_main(void *arg)
{
	struct bg *b = arg;

	b->tid = (int)syscall(SYS_gettid);
	b->fn(b);
	b->finished = 1;
	return NULL;
}

void
bg(struct bg *b, void (*fn)(struct bg *bg), int fd)
{
	b->fn = fn;
	b->fd = fd;
	b->tid = 0;
	b->finished = 0;
	if (pthread_create(&b->thread, NULL, bg_main, b) != 0)
		abort();
	for (uint64_t end = now_ms() + 20000; b->tid == 0 && now_ms() < end;)
		env_settle();
}

void
bg_await_blocked(struct bg *b)
{
	env_await_blocked(b->tid);
}

const char *
bg_result(struct bg *b, int timeout_ms)
{
	uint64_t end = now_ms() + (uint64_t)timeout_ms;

	while (!b->finished && now_ms() < end)
		env_settle();
	if (!b->finished)
		return "still blocked";
	return text("%s", b->out);
}

void
bg_join(struct bg *b)
{
	for (uint64_t end = now_ms() + 20000; !b->finished && now_ms() < end;)
		env_settle();
	if (!b->finished) {
		say("a thread never returned");
		return;
	}
	pthread_join(b->thread, NULL);
}

uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- the far end of the wires ---- */

static const unsigned char peer_mac[6] = {2, 0, 0, 0, 0x77, 2};

uint16_t
csum16(uint32_t sum, const void *data, size_t len)
{
	const unsigned char *b = data;

	for (size_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(b[i] << 8 | b[i + 1]);
	if (len % 2 != 0)
		sum += (uint32_t)b[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static void
put16(unsigned char *at, unsigned int v)
{
	at[0] = (unsigned char)(v >> 8);
	at[1] = (unsigned char)v;
}

static unsigned int
get16(const unsigned char *at)
{
	return (unsigned int)(at[0] << 8 | at[1]);
}

/* Ethernet and IPv4 headers in front of len bytes at f + 34. */
static void
wire_put_ip(int wire, unsigned char *f, const struct wire_udp *u, size_t len, int proto)
{
	unsigned char *ip = f + 14;

	memset(f, 0xff, 6);
	if (!u->broadcast)
		memcpy(f, u->mac != NULL ? u->mac : env_mac(wire), 6);
	memcpy(f + 6, peer_mac, 6);
	put16(f + 12, 0x0800);
	ip[0] = 0x45;
	ip[1] = u->tos;
	put16(ip + 2, (unsigned int)(20 + len));
	put16(ip + 4, u->ident);
	put16(ip + 6, u->frag);
	ip[8] = u->ttl != 0 ? u->ttl : 64;
	ip[9] = (unsigned char)proto;
	put16(ip + 10, 0);
	inet_pton(AF_INET, u->src, ip + 12);
	inet_pton(AF_INET, u->dst, ip + 16);
	put16(ip + 10, (uint16_t)~csum16(u->bad_ip_csum ? 1 : 0, ip, 20));
	env_wire_put(wire, f, 34 + len);
}

void
wire_send(int wire, struct wire_udp u)
{
	static unsigned char f[70000];
	unsigned char *d = f + 34;
	size_t len = 8 + u.len;
	uint16_t sum;

	u.src = u.src != NULL ? u.src : wire == T1 ? PEER1 : PEER;
	u.dst = u.dst != NULL ? u.dst : wire == T1 ? HOST1 : HOST;
	memset(f, 0, 64);
	put16(d, (unsigned int)u.sport);
	put16(d + 2, (unsigned int)u.dport);
	put16(d + 4, (unsigned int)((int)len + u.udp_len));
	memcpy(d + 8, u.data, u.len);
	memset(d + len, 0x5a, (size_t)u.trailer);
	if (u.csum != 2) {
		unsigned char pseudo[12] = {0};

		inet_pton(AF_INET, u.src, pseudo);
		inet_pton(AF_INET, u.dst, pseudo + 4);
		pseudo[9] = IPPROTO_UDP;
		put16(pseudo + 10, (unsigned int)len);
		sum = (uint16_t)~csum16(csum16(0, pseudo, 12), d, len);
		sum = sum == 0 ? 0xffff : sum;
		put16(d + 6, u.csum == 1 ? sum ^ 0x0101 : sum);
	}
	wire_put_ip(wire, f, &u, len + (size_t)u.trailer, IPPROTO_UDP);
}

void
wire_say(const char *words, int sport, int dport)
{
	wire_send(T0, (struct wire_udp){
			      .sport = sport, .dport = dport, .data = words, .len = strlen(words)});
}

struct wire_got *
wire_take(int wire)
{
	static struct wire_got g;
	unsigned char pseudo[12] = {0};

	for (;;) {
		size_t hdr;

		g.len = env_wire_get(wire, g.frame, sizeof(g.frame));
		if (g.len == 0)
			return &g;
		if (g.len < 34 || get16(g.frame + 12) != 0x0800 || g.frame[14 + 9] == IPPROTO_IGMP)
			continue;
		g.ip = g.frame + 14;
		hdr = (size_t)(g.ip[0] & 15) * 4;
		g.tos = g.ip[1];
		g.ident = (uint16_t)get16(g.ip + 4);
		g.frag = (uint16_t)get16(g.ip + 6);
		g.ttl = g.ip[8];
		g.proto = g.ip[9];
		inet_ntop(AF_INET, g.ip + 12, g.src, sizeof(g.src));
		inet_ntop(AF_INET, g.ip + 16, g.dst, sizeof(g.dst));
		g.l4 = g.ip + hdr;
		g.l4_len = get16(g.ip + 2) - hdr;
		g.data = g.l4 + 8;
		g.data_len = g.l4_len - 8;
		g.sport = (uint16_t)get16(g.l4);
		g.dport = (uint16_t)get16(g.l4 + 2);
		g.csum = (uint16_t)get16(g.l4 + (g.proto == IPPROTO_UDP ? 6 : 2));
		memcpy(pseudo, g.ip + 12, 8);
		pseudo[9] = g.proto;
		put16(pseudo + 10, (unsigned int)g.l4_len);
		g.csum_ok = csum16(g.proto == IPPROTO_UDP ? csum16(0, pseudo, 12) : 0, g.l4,
				   g.l4_len) == 0xffff;
		return &g;
	}
}

const char *
wire_text(int wire)
{
	const struct wire_got *g = wire_take(wire);

	if (g->len == 0)
		return "nothing";
	if (g->proto != IPPROTO_UDP)
		return text("protocol %d type %d code %d", g->proto, g->l4[0], g->l4[1]);
	return text("%s from %s:%s to %s:%s", payload_text(g->data, (long)g->data_len), g->src,
		    port_text(g->sport), g->dst, port_text(g->dport));
}

void
wire_flush(void)
{
	static unsigned char f[2048];

	for (int w = 0; w < N_WIRES; w++)
		while (env_wire_get(w, f, sizeof(f)) > 0) {
		}
}

void
wire_icmp(int wire, const struct wire_got *g, int type, int code, uint32_t rest, const char *from)
{
	unsigned char f[34 + 8 + 576] = {0};
	unsigned char *icmp = f + 34;
	size_t quoted = g->len - 14;
	struct wire_udp u = {.src = from != NULL ? from : PEER, .dst = g->src};

	quoted = quoted > 528 ? 528 : quoted;
	icmp[0] = (unsigned char)type;
	icmp[1] = (unsigned char)code;
	put16(icmp + 4, rest >> 16);
	put16(icmp + 6, rest);
	memcpy(icmp + 8, g->ip, quoted);
	put16(icmp + 2, (uint16_t)~csum16(0, icmp, 8 + quoted));
	wire_put_ip(wire, f, &u, 8 + quoted, IPPROTO_ICMP);
}

/* ---- run ---- */

static int
by_name(const void *a, const void *b)
{
	return strcmp((*(struct fact *const *)a)->name, (*(struct fact *const *)b)->name);
}

static void
run(struct fact *f)
{
	printf("%s: ", f->name);
	fflush(stdout);
	result_len = 0;
	result[0] = '\0';
	wire_flush();
	f->run();
	for (int i = 0; i < n_kept; i++)
		close(kept[i]);
	n_kept = 0;
	env_settle();
	first_port += 10;
	printf("%s\n", result);
	fflush(stdout);
}

int
main(int argc, char **argv)
{
	const char *only[32], *from = NULL;
	int n_only = 0, i;
	bool list = false;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			list = true;
		} else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc) {
			from = argv[++i];
		} else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc && n_only < 32) {
			only[n_only++] = argv[++i];
		} else {
			fprintf(stderr,
				"usage: %s [--list] [--from NAME] [--only PREFIX]... [-- ...]\n",
				argv[0]);
			return 2;
		}
	}
	qsort(facts, (size_t)n_facts, sizeof(facts[0]), by_name);
	if (list) {
		for (int k = 0; k < n_facts; k++)
			printf("%s %s\n", facts[k]->name, facts[k]->needs);
		return 0;
	}
	env_start(argc - i, argv + i);
	for (int k = 0; k < n_facts; k++) {
		bool chosen = n_only == 0;

		if (from != NULL && strcmp(facts[k]->name, from) <= 0) {
			first_port += 10;
			continue;
		}
		for (int o = 0; o < n_only; o++)
			chosen |= strncmp(facts[k]->name, only[o], strlen(only[o])) == 0;
		if (chosen)
			run(facts[k]);
	}
	env_stop();
	return 0;
}
