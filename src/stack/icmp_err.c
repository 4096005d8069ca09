/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors from the network about datagrams of ours, both families: whose they are, and what follows. See icmp_priv.h.
 *
 * Anybody can send an error. What is asked of it: that the quoted datagram names an address of ours and a live
 * socket, by all four of addresses and ports, and that the message came to us, by an interface that the socket
 * is bound to, if it is. What is not asked, although one could: the quoted lengths, checksum and identification. Hosts
 * and routers on the way change them, or quote too little to tell, and who can guess the ports can guess these.
 * For what a forged path MTU can do see pmtu.h.
 */
#include <errno.h>
#include <string.h>

#include "errq.h"
#include "fib.h"
#include "icmp_priv.h"
#include "local.h"
#include "pmtu.h"
#include "sock.h"
#include "socktab.h"

const uint8_t *
weir_icmp_peek(const struct rte_mbuf *m, uint32_t off, uint32_t len, uint8_t *room)
{
	return len > 0 ? rte_pktmbuf_read(m, off, len, room) : NULL;
}

/* Is it an address of ours, as seen from the port? What goes through the loopback port is from any. */
static bool
ours(struct weir_stack *stack, const struct weir_port *port, const union weir_ip *ip,
     uint8_t family)
{
	return weir_local(stack, ip, family, port->parse.loopback ? -1 : port->index) ==
	       WEIR_LOCAL_UNICAST;
}

struct weir_socket *
weir_icmp_sender(struct weir_lcore *lc, const struct weir_port *port,
		 const struct weir_icmp_about *about)
{
	const struct weir_key key = {
		.local = about->src,
		.peer = about->dst,
		.lport = about->sport,
		.pport = about->dport,
		.family = about->family,
		/* A socket bound to another interface did not send it. */
		.iface = (uint16_t)(port->index + 1),
	};

	return ours(lc->stack, port, &about->src, about->family) ? weir_socktab_lookup(lc, &key)
								 : NULL;
}

static struct weir_addr
addr_of(const struct weir_port *port, const union weir_ip *ip, uint8_t family, wire_be16 l4_port)
{
	struct weir_addr a = {.ip = *ip, .family = family, .port = l4_port};

	if (family == WEIR_IPV6 && weir_ip6_is_link_local(ip))
		a.scope = port->index + 1u;
	return a;
}

void
weir_icmp_tell(struct weir_socket *sk, const struct weir_port *port, const struct rte_mbuf *m,
	       const struct wire_view *v, const struct weir_icmp_about *about,
	       struct weir_sockerr *e, bool hard)
{
	union weir_ip from = {.w = {0, 0}};
	const uint8_t *q;

	e->origin = about->family == WEIR_IPV4 ? WEIR_ERR_ICMP : WEIR_ERR_ICMP6;
	e->to = addr_of(port, &about->dst, about->family, about->dport);
	if (about->family == WEIR_IPV4)
		from.v4 = v->src4;
	else
		memcpy(&from,
		       rte_pktmbuf_mtod_offset(m, const uint8_t *,
					       v->l2_len + offsetof(struct wire_ip6, src)),
		       sizeof(from));
	e->offender = addr_of(port, &from, about->family, 0);
	/* The payload that was quoted, as much as there is. */
	e->len = RTE_MIN(about->left, (uint32_t)sizeof(e->payload));
	e->len = RTE_MIN(e->len, about->udp_len - WIRE_UDP_LEN);
	q = weir_icmp_peek(m, about->off, e->len, e->payload);
	if (q != NULL && q != e->payload)
		memcpy(e->payload, q, e->len);
	weir_sock_report(sk, e, hard);
}

void
weir_icmp_too_long(struct weir_lcore *lc, const struct weir_icmp_about *about, uint32_t mtu)
{
	const struct weir_way_key key = {
		.dst = &about->dst,
		.bound = &about->src,
		.family = about->family,
		.port = -1,
	};
	struct weir_way way;
	bool lock;

	/* No router is between us and a link of ours, and none answers for a group of IPv4. */
	if (about->family == WEIR_IPV6
		    ? weir_ip6_is_link_local(&about->dst)
		    : weir_local4(lc->stack, about->dst.v4) == WEIR_LOCAL_BROADCAST ||
			      weir_is_mcast4(about->dst.v4))
		return;
	if (weir_way_find(lc->stack, &key, &way) != 0 || way.port->parse.loopback)
		return;
	/*
	 * More than is known already is no news, unless what was sent was longer: over another of several routes,
	 * or before. The same again keeps what is known alive.
	 */
	if (mtu >= way.mtu && mtu >= about->sent_len &&
	    weir_pmtu_get(lc->stack, &about->dst, about->family, lc->now_ns, &lock) != mtu)
		return;
	(void)weir_pmtu_learn(lc, &about->dst, about->family, mtu, about->sent_len);
}
