/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control messages of the BSD layer: what a datagram that was received says of itself, and what a caller says of
 * one that it sends.
 */
#include "bsd_msg.h"

#include <linux/udp.h>
#include <string.h>

#include "../local.h"
#include "../route.h"

/* ---- control messages to the caller ---- */

/* Add one; what does not fit is cut, as Linux does. */
void
bsd_put_ctl(struct bsd_ctl_out *c, int level, int type, const void *data, size_t len)
{
	struct cmsghdr h = {.cmsg_len = CMSG_LEN(len), .cmsg_level = level, .cmsg_type = type};
	size_t space;

	if (c->at == NULL || c->left < sizeof(h)) {
		c->flags |= MSG_CTRUNC;
		return;
	}
	if (c->left < h.cmsg_len) {
		c->flags |= MSG_CTRUNC;
		h.cmsg_len = c->left;
	}
	memcpy(c->at, &h, sizeof(h));
	memcpy(c->at + CMSG_LEN(0), data, h.cmsg_len - CMSG_LEN(0));
	space = RTE_MIN((size_t)CMSG_SPACE(len), c->left);
	c->at += space;
	c->left -= space;
}

/* Arrival by the clock on the wall: the wall's time now, less the datagram's age. */
static struct timespec
wall_time(uint64_t arrival_ns)
{
	const uint64_t age = weir_clock_ns() - arrival_ns;
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_REALTIME, &now);
	ns = (uint64_t)now.tv_sec * WEIR_NS_PER_S + (uint64_t)now.tv_nsec - age;
	return (struct timespec){.tv_sec = (time_t)(ns / WEIR_NS_PER_S),
				 .tv_nsec = (long)(ns % WEIR_NS_PER_S)};
}

/*
 * Where the datagram came in: what the host has sent to an address of its own, by the interface of that address.
 */
static unsigned int
port_in(struct weir_stack *stack, const struct weir_rxmsg *info)
{
	const struct weir_local *mine = weir_local_find(stack, &info->local.ip, info->local.family);

	if (info->local.scope != 0)
		return info->local.scope - 1;
	return info->port == WEIR_PORT_LOOPBACK && mine != NULL && mine->kind == WEIR_LOCAL_UNICAST
		       ? mine->port
		       : info->port;
}

/* And the address to answer from: its own destination, unless that is a group. */
static struct in_pktinfo
pktinfo(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info)
{
	struct weir_stack *stack = s->sk->stack;
	union weir_ip src = info->local.ip;
	unsigned int port;

	weir_enter(lc);
	port = port_in(stack, info);
	if (weir_local4(stack, src.v4) != WEIR_LOCAL_UNICAST &&
	    weir_route_source(stack, &info->peer.ip, WEIR_IPV4, info->port,
			      &(const union weir_ip){.w = {0, 0}}, &src) != 0)
		src.v4 = 0;
	weir_leave(lc);
	return (struct in_pktinfo){.ipi_ifindex = bsd_ifindex(port),
				   .ipi_spec_dst.s_addr = src.v4,
				   .ipi_addr.s_addr = info->local.ip.v4};
}

static struct in6_pktinfo
pktinfo6(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info)
{
	unsigned int port;

	weir_enter(lc);
	port = port_in(s->sk->stack, info);
	weir_leave(lc);
	return (struct in6_pktinfo){.ipi6_addr = bsd_in6(&info->local),
				    .ipi6_ifindex = (unsigned int)bsd_ifindex(port)};
}

/* What came over IPv4, on a socket of either family. */
static void
describe4(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info, uint32_t want,
	  struct bsd_ctl_out *c)
{
	if ((want & BSD_WANT_PKTINFO) != 0) {
		const struct in_pktinfo p = pktinfo(s, lc, info);

		bsd_put_ctl(c, IPPROTO_IP, IP_PKTINFO, &p, sizeof(p));
	}
	if ((want & BSD_WANT_TTL) != 0) {
		const int ttl = info->ttl;

		bsd_put_ctl(c, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	}
	if ((want & BSD_WANT_TOS) != 0)
		bsd_put_ctl(c, IPPROTO_IP, IP_TOS, &info->tos, 1);
	if ((want & BSD_WANT_ORIGDST) != 0) {
		const struct sockaddr_in in = {.sin_family = AF_INET,
					       .sin_port = info->local.port,
					       .sin_addr.s_addr = info->local.ip.v4};

		bsd_put_ctl(c, IPPROTO_IP, IP_ORIGDSTADDR, &in, sizeof(in));
	}
}

static void
describe6(const struct weir_rxmsg *info, uint32_t want, struct bsd_ctl_out *c)
{
	const uint32_t flowinfo = (uint32_t)info->tos << 20 | info->flow;

	if ((want & BSD_WANT_HOPLIMIT) != 0) {
		const int hops = info->ttl;

		bsd_put_ctl(c, IPPROTO_IPV6, IPV6_HOPLIMIT, &hops, sizeof(hops));
	}
	if ((want & BSD_WANT_TCLASS) != 0) {
		const int tclass = info->tos;

		bsd_put_ctl(c, IPPROTO_IPV6, IPV6_TCLASS, &tclass, sizeof(tclass));
	}
	if ((want & BSD_WANT_FLOWINFO) != 0 && flowinfo != 0) {
		const uint32_t be = WIRE_BE32(flowinfo);

		bsd_put_ctl(c, IPPROTO_IPV6, IPV6_FLOWINFO, &be, sizeof(be));
	}
	if ((want & BSD_WANT_ORIGDST6) != 0) {
		const struct sockaddr_in6 in6 = bsd_sin6(&info->local);

		bsd_put_ctl(c, IPPROTO_IPV6, IPV6_ORIGDSTADDR, &in6, sizeof(in6));
	}
}

void
bsd_describe(struct bsd_sock *s, struct weir_lcore *lc, const struct weir_rxmsg *info,
	     uint32_t want, struct bsd_ctl_out *c)
{
	if ((want & (BSD_WANT_TIMESTAMP | BSD_WANT_TIMESTAMPNS)) != 0) {
		const struct timespec ts = wall_time(info->time_ns);
		const struct timeval tv = {.tv_sec = ts.tv_sec, .tv_usec = ts.tv_nsec / 1000};

		if ((want & BSD_WANT_TIMESTAMPNS) != 0)
			bsd_put_ctl(c, SOL_SOCKET, SO_TIMESTAMPNS, &ts, sizeof(ts));
		else
			bsd_put_ctl(c, SOL_SOCKET, SO_TIMESTAMP, &tv, sizeof(tv));
	}
	if ((want & BSD_WANT_RXQ_OVFL) != 0 && info->drops != 0)
		bsd_put_ctl(c, SOL_SOCKET, SO_RXQ_OVFL, &info->drops, sizeof(info->drops));
	if ((want & BSD_WANT_GRO) != 0 && info->gso_size != 0) {
		const int size = info->gso_size;

		bsd_put_ctl(c, IPPROTO_UDP, UDP_GRO, &size, sizeof(size));
	}
	if ((want & BSD_WANT_PKTINFO6) != 0) {
		const struct in6_pktinfo p = pktinfo6(s, lc, info);

		bsd_put_ctl(c, IPPROTO_IPV6, IPV6_PKTINFO, &p, sizeof(p));
	}
	if (info->local.family == WEIR_IPV4)
		describe4(s, lc, info, want, c);
	else
		describe6(info, want, c);
}

/* ---- control messages from the caller ---- */

static int
ctl_socket(const struct cmsghdr *h)
{
	switch (h->cmsg_type) {
	case SO_MARK:
	case SO_PRIORITY:
		return h->cmsg_len == CMSG_LEN(sizeof(int)) ? 0 : -EINVAL;
	case SCM_RIGHTS:
	case SCM_CREDENTIALS:
		return 0; /* another family's */
	default:
		return -EINVAL;
	}
}

static int
ctl_ip(struct bsd_sock *s, const struct cmsghdr *h, const uint8_t *data, struct weir_txctl *ctl)
{
	const size_t len = h->cmsg_len - CMSG_LEN(0);
	struct in_pktinfo p;
	int value, port;

	switch (h->cmsg_type) {
	case IP_PKTINFO:
		if (len != sizeof(p))
			return -EINVAL;
		memcpy(&p, data, sizeof(p));
		port = bsd_port_of(s, (unsigned int)p.ipi_ifindex);
		if (port < -1)
			return port;
		if (port >= 0)
			ctl->port = port + 1;
		memset(&ctl->from, 0, sizeof(ctl->from));
		ctl->from.ip.v4 = p.ipi_spec_dst.s_addr;
		ctl->from.family = p.ipi_spec_dst.s_addr != 0 ? WEIR_IPV4 : WEIR_UNSPEC;
		return 0;
	case IP_TTL:
		if (len != sizeof(value))
			return -EINVAL;
		memcpy(&value, data, sizeof(value));
		if (value < 1 || value > 255)
			return -EINVAL;
		ctl->ttl = (uint8_t)value;
		return 0;
	case IP_TOS:
		if (len == sizeof(value))
			memcpy(&value, data, sizeof(value));
		else if (len == 1)
			value = data[0];
		else
			return -EINVAL;
		if (value < 0 || value > 255)
			return -EINVAL;
		ctl->tos = (uint8_t)value;
		ctl->has_tos = true;
		return 0;
	default:
		return -EINVAL;
	}
}

/* IPV6_PKTINFO of a datagram that goes over IPv4: only a mapped address makes sense. */
static int
ctl_pktinfo_mapped(struct bsd_sock *s, const struct in6_pktinfo *p, struct weir_txctl *ctl)
{
	const int port = bsd_port_of(s, p->ipi6_ifindex);
	uint32_t v4;

	if (!IN6_IS_ADDR_V4MAPPED(&p->ipi6_addr))
		return -EINVAL;
	if (port < -1)
		return port;
	if (port >= 0)
		ctl->port = port + 1;
	memcpy(&v4, &p->ipi6_addr.s6_addr[12], sizeof(v4));
	memset(&ctl->from, 0, sizeof(ctl->from));
	ctl->from.ip.v4 = v4;
	ctl->from.family = v4 != 0 ? WEIR_IPV4 : WEIR_UNSPEC;
	return 0;
}

/* Is the address ours, on the interface if it is link-local? */
static bool
is_ours6(struct bsd_sock *s, struct weir_lcore *lc, const union weir_ip *ip, int port)
{
	bool ours;

	weir_enter(lc);
	ours = weir_local6(s->sk->stack, ip, port) == WEIR_LOCAL_UNICAST;
	weir_leave(lc);
	return ours;
}

static int
ctl_pktinfo6(struct bsd_sock *s, struct weir_lcore *lc, const struct in6_pktinfo *p,
	     const struct weir_addr *to, struct weir_txctl *ctl)
{
	const int by_name = to != NULL && to->scope != 0 ? (int)to->scope - 1 : s->sk->bind_port;
	int port = bsd_port_of(s, p->ipi6_ifindex);
	struct weir_addr from;

	if (port < -1)
		return port;
	if (port >= 0 && by_name >= 0 && port != by_name)
		return -EINVAL;
	memset(&from, 0, sizeof(from));
	memcpy(from.ip.b, &p->ipi6_addr, sizeof(from.ip.b));
	if (port < 0)
		port = by_name;
	if (port < 0 && weir_ip6_is_link_local(&from.ip))
		return -EINVAL;
	if (port >= 0)
		ctl->port = port + 1;
	memset(&ctl->from, 0, sizeof(ctl->from));
	if (weir_ip_is_any(&from.ip))
		return 0;
	if (!s->sk->freebind && !is_ours6(s, lc, &from.ip, port))
		return -EINVAL;
	from.family = WEIR_IPV6;
	if (weir_ip6_is_link_local(&from.ip))
		from.scope = (uint32_t)port + 1;
	ctl->from = from;
	return 0;
}

static int
ctl_ip6(struct bsd_sock *s, struct weir_lcore *lc, const struct cmsghdr *h, const uint8_t *data,
	const struct weir_addr *to, struct weir_txctl *ctl)
{
	const size_t len = h->cmsg_len - CMSG_LEN(0);
	struct in6_pktinfo p;
	uint32_t flowinfo;
	int value = 0;

	if (h->cmsg_type == IPV6_PKTINFO) {
		if (len < sizeof(p))
			return -EINVAL;
		memcpy(&p, data, sizeof(p));
		return ctl_pktinfo6(s, lc, &p, to, ctl);
	}
	if (h->cmsg_type == IPV6_FLOWINFO) {
		if (len < sizeof(flowinfo))
			return -EINVAL;
		memcpy(&flowinfo, data, sizeof(flowinfo));
		ctl->flow = WIRE_BE32(flowinfo) & 0xfffff;
		return 0;
	}
	if (len != sizeof(value))
		return -EINVAL;
	memcpy(&value, data, sizeof(value));
	switch (h->cmsg_type) {
	case IPV6_HOPLIMIT:
		if (value < -1 || value > 255)
			return -EINVAL;
		ctl->has_ttl = value >= 0;
		ctl->ttl = (uint8_t)(value >= 0 ? value : 0);
		return 0;
	case IPV6_TCLASS:
		if (value < -1 || value > 255)
			return -EINVAL;
		ctl->has_tos = value >= 0;
		ctl->tos = (uint8_t)(value >= 0 ? value : 0);
		return 0;
	case IPV6_DONTFRAG:
		if (value != 0 && value != 1)
			return -EINVAL;
		ctl->dontfrag = value != 0;
		return 0;
	default:
		return -EINVAL;
	}
}

/* Of the IP levels: of the family that the datagram takes; the other one's are passed over, as on Linux. */
static int
ctl_any_ip(struct bsd_sock *s, struct weir_lcore *lc, const struct cmsghdr *h, const uint8_t *data,
	   const struct weir_addr *to, bool v4, struct weir_txctl *ctl)
{
	struct in6_pktinfo p;

	if (!v4)
		return h->cmsg_level == IPPROTO_IPV6 ? ctl_ip6(s, lc, h, data, to, ctl) : 0;
	if (h->cmsg_level == IPPROTO_IP)
		return ctl_ip(s, h, data, ctl);
	if (!bsd_is6(s) || h->cmsg_type != IPV6_PKTINFO)
		return 0;
	if (h->cmsg_len < CMSG_LEN(sizeof(p)))
		return -EINVAL;
	memcpy(&p, data, sizeof(p));
	return ctl_pktinfo_mapped(s, &p, ctl);
}

/* Does the datagram go over IPv4? to NULL: to the peer. */
bool
bsd_goes_over_ip4(const struct bsd_sock *s, struct weir_lcore *lc, const struct weir_addr *to)
{
	bool v4;

	if (!bsd_is6(s))
		return true;
	if (to != NULL)
		return to->family == WEIR_IPV4;
	weir_enter(lc);
	v4 = weir_sock_names(s->sk)->peer.family == WEIR_IPV4;
	weir_leave(lc);
	return v4;
}

int
bsd_parse_ctl(struct bsd_sock *s, struct weir_lcore *lc, const struct msghdr *msg,
	      const struct weir_addr *to, struct weir_txctl *ctl)
{
	const bool v4 = bsd_goes_over_ip4(s, lc, to);
	const uint8_t *at = msg->msg_control;
	size_t left = msg->msg_controllen;
	struct cmsghdr h;
	uint16_t segment;
	int ret = 0;

	if (at == NULL)
		return left > 0 ? -EFAULT : 0;
	while (left >= sizeof(h)) {
		memcpy(&h, at, sizeof(h));
		if (h.cmsg_len < sizeof(h) || h.cmsg_len > left)
			return -EINVAL;
		if (h.cmsg_level == SOL_SOCKET) {
			ret = ctl_socket(&h);
		} else if (h.cmsg_level == IPPROTO_IP || h.cmsg_level == IPPROTO_IPV6) {
			ret = ctl_any_ip(s, lc, &h, at + CMSG_LEN(0), to, v4, ctl);
		} else if (h.cmsg_level == IPPROTO_UDP) {
			if (h.cmsg_type != UDP_SEGMENT || h.cmsg_len != CMSG_LEN(sizeof(segment)))
				return -EINVAL;
			memcpy(&segment, at + CMSG_LEN(0), sizeof(segment));
			ctl->segment = segment;
		}
		if (ret != 0)
			return ret;
		if (CMSG_ALIGN(h.cmsg_len) >= left)
			break;
		at += CMSG_ALIGN(h.cmsg_len);
		left -= CMSG_ALIGN(h.cmsg_len);
	}
	return 0;
}
