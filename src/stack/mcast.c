/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * COLD: group membership on the wire, see mcast.h. The two families differ in three functions (queries in,
 * reports out) and share the state machine: RFC 3376 and RFC 3810 are one protocol in two dresses.
 */
#include "mcast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "batch.h"
#include "control_state.h"
#include "drop.h"
#include "local.h"
#include "mbuf.h"

#define ROBUSTNESS       2                     /* RFC 3376 8.1 */
#define UNSOLICITED_NS   WEIR_NS_PER_S         /* RFC 3376 8.11 */
#define UNSOLICITED1_NS  (10 * WEIR_NS_PER_S)  /* RFC 2236 8.10, of the older versions */
#define OLDER_PRESENT_NS (260 * WEIR_NS_PER_S) /* RFC 3376 8.12 with default intervals */
#define MAX_ASKED        32 /* sources that a query's answer is remembered for; more: the whole group */
#define MAX_MACS         256
#define LIST_MAX         256 /* sources put into a record at once */

enum record { /* RFC 3376 4.2.12 */
	      IS_INCLUDE = 1,
	      IS_EXCLUDE,
	      TO_INCLUDE,
	      TO_EXCLUDE,
	      ALLOW,
	      BLOCK,
};

enum igmp_type {
	IGMP_QUERY = 0x11,
	IGMP1_REPORT = 0x12,
	IGMP2_REPORT = 0x16,
	IGMP2_LEAVE = 0x17,
	IGMP3_REPORT = 0x22
};

#define IGMP_LEN      8
#define IGMP3_QUERY   12
#define MLD_LEN       24
#define MLD2_QUERY    28
#define ROUTER_ALERT4 4 /* bytes of the option */
#define HOPOPTS_LEN   8

/* One source that some socket wants or does not want. */
struct source {
	union weir_ip ip;
	uint32_t n_in, n_out; /* members that include, that exclude it */
	uint8_t retx;         /* reports of its last change that are still to be sent */
	bool was;             /* scratch: was it in the merged list? */
};

/* A group on a port. Lives while there are members, or a change is still to be reported. */
struct group {
	struct group *next;
	union weir_ip ip;
	uint32_t n_exclude; /* members in EXCLUDE mode */
	uint32_t n_source, cap;
	struct source *source;
	uint8_t mode_retx;  /* reports of the last change of mode that are still to be sent */
	uint8_t hello_retx; /* older versions: unsolicited reports still to be sent */
	bool hello_done; /* older versions: we were the last to report: a leave is due in the end */
	bool leave;      /* older versions: to be sent */
	uint64_t hello_ns;
	uint64_t answer_ns; /* an answer to a query is due then; 0: none */
	uint32_t n_asked;   /* about these sources only; 0: about the group */
	union weir_ip asked[MAX_ASKED];
};

/* One family on a port. */
struct link {
	struct group *groups;
	uint64_t v1_until,
		v2_until;   /* an older querier is about (MLD: v1_until stands for MLDv1) */
	uint64_t answer_ns; /* to a general query; 0: none due */
	uint64_t change_ns; /* next report of changes; 0: none due */
	uint8_t robustness;
};

struct weir_mcast {
	atomic_uint lock;
	uint64_t rng;
	struct link link[WEIR_MAX_PORTS][2];
};

static void
mcast_lock(struct weir_mcast *mc)
{
	while (atomic_exchange_explicit(&mc->lock, 1, memory_order_acquire) != 0)
		while (atomic_load_explicit(&mc->lock, memory_order_relaxed) != 0)
			rte_pause();
}

static bool
mcast_trylock(struct weir_mcast *mc)
{
	return atomic_exchange_explicit(&mc->lock, 1, memory_order_acquire) == 0;
}

static void
mcast_unlock(struct weir_mcast *mc)
{
	atomic_store_explicit(&mc->lock, 0, memory_order_release); /* pairs with the two above */
}

/* Lock held. Uniform in 1 .. max. */
static uint64_t
random_ns(struct weir_mcast *mc, uint64_t max)
{
	uint64_t z = (mc->rng += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return 1 + (uint64_t)(((__uint128_t)z * max) >> 64);
}

static struct link *
link_of(struct weir_mcast *mc, const struct weir_port *port, uint8_t family)
{
	return &mc->link[port->index][family == WEIR_IPV6];
}

int
weir_mcast_init(struct weir_stack *stack)
{
	struct weir_mcast *mc = calloc(1, sizeof(*mc));

	if (mc == NULL)
		return -ENOMEM;
	mc->rng = weir_ctl_random(stack);
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++)
		mc->link[p][0].robustness = mc->link[p][1].robustness = ROBUSTNESS;
	stack->mcast = mc;
	return 0;
}

static void
free_groups(struct link *l)
{
	while (l->groups != NULL) {
		struct group *g = l->groups;

		l->groups = g->next;
		free(g->source);
		free(g);
	}
}

void
weir_mcast_fini(struct weir_stack *stack)
{
	struct weir_mcast *mc = stack->mcast;

	if (mc == NULL)
		return;
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		free_groups(&mc->link[p][0]);
		free_groups(&mc->link[p][1]);
	}
	free(mc);
	stack->mcast = NULL;
}

/* ---- what a group's members want together ---- */

static bool
same_ip(const union weir_ip *a, const union weir_ip *b)
{
	return a->w[0] == b->w[0] && a->w[1] == b->w[1];
}

/* RFC 3376 3.2: exclude when anybody does, what all of those exclude and nobody includes. */
static bool
excludes(const struct group *g)
{
	return g->n_exclude != 0;
}

static bool
listed(const struct group *g, const struct source *s)
{
	return excludes(g) ? s->n_out == g->n_exclude && s->n_in == 0 : s->n_in != 0;
}

static bool
has_members(const struct group *g)
{
	if (g->n_exclude != 0)
		return true;
	for (uint32_t i = 0; i < g->n_source; i++)
		if (g->source[i].n_in != 0)
			return true;
	return false;
}

static bool
wants_source(const struct group *g, const union weir_ip *ip)
{
	for (uint32_t i = 0; i < g->n_source; i++)
		if (same_ip(&g->source[i].ip, ip))
			return listed(g, &g->source[i]) != excludes(g);
	return excludes(g);
}

static struct group *
find_group(struct link *l, const union weir_ip *ip)
{
	struct group *g = l->groups;

	while (g != NULL && !same_ip(&g->ip, ip))
		g = g->next;
	return g;
}

/* Nobody is to hear of these (RFC 3376 5, RFC 3810 6). */
static bool
silent(uint8_t family, const union weir_ip *ip)
{
	if (family == WEIR_IPV4)
		return ip->v4 == WIRE_BE32(0xe0000001);
	return (ip->b[1] & 0xf) <= 1 || (ip->b[1] == 2 && ip->w[1] == WIRE_BE64(1) &&
					 (ip->w[0] & ~WIRE_BE64(UINT64_C(0xffff) << 48)) == 0);
}

enum version { V1, V2, V3 }; /* MLD: V2 stands for MLDv1 */

static enum version
version_of(const struct link *l, uint64_t now_ns)
{
	return now_ns < l->v1_until ? V1 : now_ns < l->v2_until ? V2 : V3;
}

/* Nothing keeps it any more? Then it goes. pp: the link to it. True: it has gone. */
static bool
collect(struct group **pp)
{
	struct group *g = *pp;

	if (g->mode_retx != 0 || g->leave || has_members(g))
		return false;
	for (uint32_t i = 0; i < g->n_source; i++)
		if (g->source[i].retx != 0)
			return false;
	*pp = g->next;
	free(g->source);
	free(g);
	return true;
}

/* ---- the device's filter ---- */

/* RFC 1112 6.4, RFC 2464 7. */
static struct rte_ether_addr
group_mac(uint8_t family, const union weir_ip *ip)
{
	const uint8_t *b = ip->b;

	if (family == WEIR_IPV4)
		return (struct rte_ether_addr){{0x01, 0x00, 0x5e, b[1] & 0x7f, b[2], b[3]}};
	return (struct rte_ether_addr){{0x33, 0x33, b[12], b[13], b[14], b[15]}};
}

static bool
add_mac(struct rte_ether_addr *mac, uint32_t *n, struct rte_ether_addr a)
{
	for (uint32_t i = 0; i < *n; i++)
		if (memcmp(&mac[i], &a, sizeof(a)) == 0)
			return true;
	if (*n == MAX_MACS)
		return false;
	mac[(*n)++] = a;
	return true;
}

/* Lock held. The MACs that a device has to let in; false: too many. */
static bool
macs_of(const struct weir_stack *stack, uint16_t parent, struct rte_ether_addr *mac, uint32_t *n)
{
	static const uint8_t family[2] = {WEIR_IPV4, WEIR_IPV6};
	bool all = true;

	*n = 0;
	add_mac(mac, n, (struct rte_ether_addr){{0x01, 0x00, 0x5e, 0, 0, 1}});
	add_mac(mac, n, (struct rte_ether_addr){{0x33, 0x33, 0, 0, 0, 1}});
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		const struct weir_port *port = weir_port_at(stack, p);

		if (port == NULL || port->parent != parent)
			continue;
		for (unsigned int f = 0; f < 2; f++)
			for (const struct group *g = stack->mcast->link[p][f].groups; g != NULL;
			     g = g->next)
				if (has_members(g))
					all &= add_mac(mac, n, group_mac(family[f], &g->ip));
	}
	return all;
}

/*
 * Control. A device without such a filter, or with a smaller one, is asked for all groups; one that cannot do that
 * either lets in what it lets in.
 */
static void
write_filter(struct weir_stack *stack, uint16_t parent)
{
	const struct weir_port *port = stack->ports[parent];
	struct rte_ether_addr mac[MAX_MACS];
	uint32_t n;
	bool all;

	if (port == NULL || !port->started || port->app_managed)
		return;
	mcast_lock(stack->mcast);
	all = macs_of(stack, parent, mac, &n);
	mcast_unlock(stack->mcast);
	if (all && rte_eth_dev_set_mc_addr_list(port->ethdev, mac, n) == 0)
		return;
	(void)rte_eth_allmulticast_enable(port->ethdev);
}

/* ---- control: memberships ---- */

/* The entry of a source, made when it is new: there is room. */
static struct source *
source_of(struct group *g, const union weir_ip *ip)
{
	for (uint32_t i = 0; i < g->n_source; i++)
		if (same_ip(&g->source[i].ip, ip))
			return &g->source[i];
	g->source[g->n_source] = (struct source){.ip = *ip};
	return &g->source[g->n_source++];
}

/* Sources that nobody names and nothing is to be said about. */
static void
forget_sources(struct group *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_source; i++)
		if ((g->source[i].n_in | g->source[i].n_out) != 0 || g->source[i].retx != 0)
			g->source[n++] = g->source[i];
	g->n_source = n;
}

static int
room_for(struct group *g, uint32_t more)
{
	const uint32_t want = g->n_source + more;
	struct source *p;

	if (want <= g->cap)
		return 0;
	p = realloc(g->source, want * sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	g->source = p;
	g->cap = want;
	return 0;
}

static void
count_filter(struct group *g, const struct weir_mcast_filter *f, int by)
{
	if (f == NULL)
		return;
	if (!f->include)
		g->n_exclude += (uint32_t)by;
	for (unsigned int i = 0; i < f->n; i++) {
		struct source *s = source_of(g, &f->source[i]);

		if (f->include)
			s->n_in += (uint32_t)by;
		else
			s->n_out += (uint32_t)by;
	}
}

/* Lock held. What has changed is reported: robustness times, the first at once (RFC 3376 5.1). */
static void
note_change(struct link *l, struct group *g, bool excluded, bool had, uint64_t now_ns)
{
	const bool has = has_members(g);
	bool any = false;

	if (excluded != excludes(g)) {
		g->mode_retx = l->robustness;
		for (uint32_t i = 0; i < g->n_source; i++)
			g->source[i].retx = 0;
		any = true;
	} else {
		for (uint32_t i = 0; i < g->n_source; i++) {
			if (g->source[i].was == listed(g, &g->source[i]))
				continue;
			g->source[i].retx = l->robustness;
			any = true;
		}
	}
	if (any)
		l->change_ns = now_ns;
	if (has && !had) {
		g->hello_retx = l->robustness;
		g->hello_ns = now_ns;
		g->leave = false;
	} else if (had && !has) {
		g->hello_retx = 0;
		g->leave = g->hello_done;
		g->hello_ns = now_ns;
		g->answer_ns = 0;
	}
}

int
weir_mcast_change(struct weir_stack *stack, const struct weir_port *port,
		  const struct weir_addr *group, const struct weir_mcast_filter *before,
		  const struct weir_mcast_filter *after)
{
	struct weir_mcast *mc = stack->mcast;
	const uint64_t now_ns = weir_clock_ns();
	bool excluded, had = false, has = false;
	struct group *g;
	struct link *l;
	int ret = 0;

	/* Our own loopback has no routers. */
	if (port->index == WEIR_PORT_LOOPBACK || silent(group->family, &group->ip))
		return 0;
	l = link_of(mc, port, group->family);
	mcast_lock(mc);
	g = find_group(l, &group->ip);
	if (g == NULL) {
		g = calloc(1, sizeof(*g));
		if (g == NULL) {
			mcast_unlock(mc);
			return -ENOMEM;
		}
		g->ip = group->ip;
		g->next = l->groups;
		l->groups = g;
	}
	if (after != NULL && after->n != 0)
		ret = room_for(g, after->n);
	if (ret == 0) {
		excluded = excludes(g);
		had = has_members(g);
		for (uint32_t i = 0; i < g->n_source; i++)
			g->source[i].was = listed(g, &g->source[i]);
		count_filter(g, before, -1);
		count_filter(g, after, 1);
		note_change(l, g, excluded, had, now_ns);
		forget_sources(g);
		has = has_members(g);
	}
	if (l->groups ==
	    g) /* nothing to tell: it was made for nothing, or nobody has been told of it */
		(void)collect(&l->groups);
	mcast_unlock(mc);
	if (had != has)
		write_filter(stack, port->parent);
	return ret;
}

static const struct weir_mcast_filter everything = {.include = false};

int
weir_mcast_hold(struct weir_stack *stack, const struct weir_port *port,
		const struct weir_addr *group)
{
	return weir_mcast_change(stack, port, group, NULL, &everything);
}

void
weir_mcast_release(struct weir_stack *stack, const struct weir_port *port,
		   const struct weir_addr *group)
{
	(void)weir_mcast_change(stack, port, group, &everything, NULL);
}

/* ---- control: ports ---- */

/* Lock held. As if all had just joined: the routers of this link may never have heard of it. */
static void
report_all(struct link *l, uint64_t now_ns)
{
	for (struct group *g = l->groups; g != NULL; g = g->next) {
		if (!has_members(g))
			continue;
		if (excludes(g))
			g->mode_retx = l->robustness;
		for (uint32_t i = 0; i < g->n_source; i++)
			if (!excludes(g) && listed(g, &g->source[i]))
				g->source[i].retx = l->robustness;
		g->hello_retx = l->robustness;
		g->hello_ns = now_ns;
		l->change_ns = now_ns;
	}
}

void
weir_mcast_port_up(struct weir_stack *stack, struct weir_port *port)
{
	struct weir_mcast *mc = stack->mcast;

	if (port->index >= WEIR_MAX_PORTS)
		return;
	mcast_lock(mc);
	report_all(&mc->link[port->index][0], weir_clock_ns());
	report_all(&mc->link[port->index][1], weir_clock_ns());
	mcast_unlock(mc);
	write_filter(stack, port->parent);
}

void
weir_mcast_port_gone(struct weir_stack *stack, const struct weir_port *port)
{
	struct weir_mcast *mc = stack->mcast;

	mcast_lock(mc);
	for (unsigned int f = 0; f < 2; f++) {
		struct link *l = &mc->link[port->index][f];

		free_groups(l);
		*l = (struct link){.robustness = ROBUSTNESS};
	}
	mcast_unlock(mc);
}

/* ---- messages out ---- */

/* An address of ours on the port to speak from: IPv6 wants a link-local one (RFC 3810 5). Zero: none. */
static union weir_ip
own_address(struct weir_stack *stack, const struct weir_port *port, uint8_t family)
{
	uint32_t n;
	const struct weir_local_addr *a = weir_local_addrs(stack, &n);

	for (uint32_t i = 0; i < n; i++)
		if (a[i].family == family && a[i].port == port->index && !a[i].tentative &&
		    (family == WEIR_IPV4 || weir_ip6_is_link_local(&a[i].ip)))
			return a[i].ip;
	return (union weir_ip){.w = {0, 0}};
}

/* A message under way: p is where its own part starts. */
struct message {
	struct weir_lcore *lc;
	const struct weir_port *port;
	uint8_t family;
	struct rte_mbuf *m;
	uint8_t *p;
	uint32_t len, room; /* of that part */
	uint32_t n_records;
};

/* Ethernet and IP header with the router alert, and len zero bytes. false: no buffer. */
static bool
start_message(struct message *w, struct weir_lcore *lc, const struct weir_port *port,
	      uint8_t family, const union weir_ip *dst, uint32_t len)
{
	const union weir_ip src = own_address(lc->stack, port, family);
	const struct rte_ether_addr mac = group_mac(family, dst);
	const uint32_t hdr =
		family == WEIR_IPV4 ? WIRE_IP4_MIN + ROUTER_ALERT4 : WIRE_IP6_LEN + HOPOPTS_LEN;
	struct wire_eth *eth;
	uint8_t *p;

	*w = (struct message){.lc = lc, .port = port, .family = family, .len = len};
	w->m = rte_pktmbuf_alloc(lc->stack->pool);
	if (w->m == NULL)
		return false;
	w->room =
		RTE_MIN((uint32_t)rte_pktmbuf_tailroom(w->m) - WIRE_ETH_LEN, (uint32_t)port->mtu) -
		hdr;
	eth = (void *)rte_pktmbuf_append(w->m, (uint16_t)(WIRE_ETH_LEN + hdr + len));
	if (eth == NULL) {
		weir_mbuf_discard(w->m);
		return false;
	}
	memcpy(eth->dst, mac.addr_bytes, WIRE_ETH_ALEN);
	memcpy(eth->src, port->parse.mac, WIRE_ETH_ALEN);
	p = (uint8_t *)(eth + 1);
	if (family == WEIR_IPV4) {
		struct wire_ip4 *ip = (void *)p;

		eth->type = WIRE_BE16(WIRE_ETH_IP4);
		*ip = (struct wire_ip4){.ver_ihl = 0x46,
					.tos = 0xc0,
					.frag = WIRE_BE16(WIRE_IP4_DF),
					.ttl = 1,
					.proto = WIRE_PROTO_IGMP,
					.src = src.v4,
					.dst = dst->v4};
		memcpy(ip + 1, (const uint8_t[ROUTER_ALERT4]){0x94, 4, 0, 0}, ROUTER_ALERT4);
	} else {
		struct wire_ip6 *ip = (void *)p;

		eth->type = WIRE_BE16(WIRE_ETH_IP6);
		*ip = (struct wire_ip6){.ver_tc_flow = WIRE_BE32(UINT32_C(6) << 28),
					.next = WIRE_PROTO_HOPOPTS,
					.hop_limit = 1};
		memcpy(ip->src, src.b, sizeof(ip->src));
		memcpy(ip->dst, dst->b, sizeof(ip->dst));
		/* RFC 2711: router alert 0 is MLD; padded to 8 bytes. */
		memcpy(ip + 1, (const uint8_t[HOPOPTS_LEN]){WIRE_PROTO_ICMP6, 0, 5, 2, 0, 0, 1, 0},
		       HOPOPTS_LEN);
	}
	w->p = p + hdr;
	memset(w->p, 0, len);
	return true;
}

/* Lengths and sums; away with it. */
static void
finish_message(struct message *w)
{
	if (w->family == WEIR_IPV4) {
		struct wire_ip4 *ip = (void *)(w->p - WIRE_IP4_MIN - ROUTER_ALERT4);
		const wire_be16 csum = (wire_be16)~wire_fold(wire_sum(w->p, w->len, 0));

		memcpy(w->p + 2, &csum, sizeof(csum));
		ip->total_len = WIRE_BE16((uint16_t)(WIRE_IP4_MIN + ROUTER_ALERT4 + w->len));
		ip->csum = wire_ip4_csum(ip, WIRE_IP4_MIN + ROUTER_ALERT4);
	} else {
		struct wire_ip6 *ip = (void *)(w->p - WIRE_IP6_LEN - HOPOPTS_LEN);
		const wire_be16 csum = (wire_be16)~wire_fold(wire_sum(
			w->p, w->len, wire_pseudo6(ip->src, ip->dst, WIRE_PROTO_ICMP6, w->len)));

		memcpy(w->p + 2, &csum, sizeof(csum));
		ip->payload_len = WIRE_BE16((uint16_t)(HOPOPTS_LEN + w->len));
	}
	weir_batch_protocol(w->lc, w->port, w->m);
	w->m = NULL;
}

static uint32_t
addr_len(uint8_t family)
{
	return family == WEIR_IPV4 ? 4 : 16;
}

/* A report of records (RFC 3376 4.2, RFC 3810 5.2) is sent when there are any. */
static void
finish_report(struct message *w)
{
	const wire_be16 n = WIRE_BE16((uint16_t)w->n_records);

	if (w->m == NULL)
		return;
	memcpy(w->p + 6, &n, sizeof(n));
	finish_message(w);
}

static bool
start_report(struct message *w, struct weir_lcore *lc, const struct weir_port *port, uint8_t family)
{
	/* 224.0.0.22, ff02::16 */
	static const union weir_ip routers[2] = {{.b = {224, 0, 0, 22}},
						 {.b = {0xff, 2, [15] = 0x16}}};

	if (!start_message(w, lc, port, family, &routers[family == WEIR_IPV6], IGMP_LEN))
		return false;
	w->p[0] = family == WEIR_IPV4 ? (uint8_t)IGMP3_REPORT : (uint8_t)WIRE_ICMP6_MLD2_REPORT;
	return true;
}

/* Which of a group's sources a record names. */
typedef bool (*pick_fn)(const struct group *g, const struct source *s);

static bool
pick_listed(const struct group *g, const struct source *s)
{
	return listed(g, s);
}

static bool
pick_allowed(const struct group *g, const struct source *s)
{
	return s->retx != 0 && listed(g, s) != excludes(g);
}

static bool
pick_blocked(const struct group *g, const struct source *s)
{
	return s->retx != 0 && listed(g, s) == excludes(g);
}

/*
 * A record of the group with the n sources; more than fit into the message start another, but the lists of
 * EXCLUDE records are cut (RFC 3376 4.2.16): what is not named is let through. m NULL: start one.
 */
static void
add_record(struct message *w, struct weir_lcore *lc, const struct weir_port *port, uint8_t family,
	   enum record type, const union weir_ip *group, const union weir_ip *source, uint32_t n)
{
	const uint32_t alen = addr_len(family);
	uint32_t done = 0;

	do {
		uint32_t fit, len;
		wire_be16 count;
		uint8_t *r;

		if (w->m != NULL && w->room - w->len < 4 + alen + (n != 0 ? alen : 0))
			finish_report(w);
		if (w->m == NULL && !start_report(w, lc, port, family))
			return; /* no buffer: robustness is for that */
		fit = RTE_MIN(n - done, (w->room - w->len - 4 - alen) / alen);
		len = 4 + alen + fit * alen;
		r = (uint8_t *)rte_pktmbuf_append(w->m, (uint16_t)len);
		if (r == NULL)
			return;
		count = WIRE_BE16((uint16_t)fit);
		r[0] = (uint8_t)type;
		r[1] = 0;
		memcpy(r + 2, &count, sizeof(count));
		memcpy(r + 4, group->b, alen);
		for (uint32_t i = 0; i < fit; i++)
			memcpy(r + 4 + alen + i * alen, source[done + i].b, alen);
		w->len += len;
		w->n_records++;
		done += fit;
		if (type == IS_EXCLUDE || type == TO_EXCLUDE)
			break;
	} while (done < n);
}

static void
add_group(struct message *w, struct weir_lcore *lc, const struct weir_port *port, uint8_t family,
	  enum record type, const struct group *g, pick_fn pick, bool even_empty)
{
	union weir_ip list[LIST_MAX];
	bool said = !even_empty;
	uint32_t i = 0;

	do {
		uint32_t n = 0;

		for (; i < g->n_source && n < LIST_MAX; i++)
			if (pick(g, &g->source[i]))
				list[n++] = g->source[i].ip;
		if (n != 0 || !said)
			add_record(w, lc, port, family, type, &g->ip, list, n);
		said = true;
	} while (i < g->n_source && type != IS_EXCLUDE && type != TO_EXCLUDE);
}

/* ---- what is due ---- */

/* Reports of the present version: all groups with changes in one go (RFC 3376 5.1). */
static void
report_changes(struct weir_lcore *lc, const struct weir_port *port, uint8_t family, struct link *l)
{
	struct message w = {.m = NULL};
	bool more = false;

	for (struct group **pp = &l->groups; *pp != NULL;) {
		struct group *g = *pp;

		if (g->mode_retx != 0) {
			add_group(&w, lc, port, family, excludes(g) ? TO_EXCLUDE : TO_INCLUDE, g,
				  pick_listed, true);
			more |= --g->mode_retx != 0;
		} else {
			add_group(&w, lc, port, family, ALLOW, g, pick_allowed, false);
			add_group(&w, lc, port, family, BLOCK, g, pick_blocked, false);
		}
		for (uint32_t i = 0; i < g->n_source; i++)
			if (g->source[i].retx != 0)
				more |= --g->source[i].retx != 0;
		/* The older way to say it: not needed any more. */
		g->leave = false;
		g->hello_retx = 0;
		g->hello_done = true;
		forget_sources(g);
		if (!collect(pp))
			pp = &g->next;
	}
	finish_report(&w);
	l->change_ns = more ? lc->now_ns + random_ns(lc->stack->mcast, UNSOLICITED_NS) : 0;
}

/* The older versions know groups only. Nothing of sources and modes is to be said then. */
static void
report_old(struct weir_lcore *lc, const struct weir_port *port, uint8_t family,
	   const union weir_ip *group, enum version version, bool leave)
{
	/* 224.0.0.2, ff02::2 */
	static const union weir_ip routers[2] = {{.b = {224, 0, 0, 2}}, {.b = {0xff, 2, [15] = 2}}};
	const union weir_ip *dst = leave ? &routers[family == WEIR_IPV6] : group;
	struct message w;

	if (leave && version == V1) /* IGMPv1 has no leave */
		return;
	if (!start_message(&w, lc, port, family, dst, family == WEIR_IPV4 ? IGMP_LEN : MLD_LEN))
		return;
	if (family == WEIR_IPV4) {
		w.p[0] = (uint8_t)(leave           ? IGMP2_LEAVE
				   : version == V1 ? IGMP1_REPORT
						   : IGMP2_REPORT);
		memcpy(w.p + 4, group->b, 4);
	} else {
		w.p[0] = (uint8_t)(leave ? WIRE_ICMP6_MLD_DONE : WIRE_ICMP6_MLD_REPORT);
		memcpy(w.p + 8, group->b, 16);
	}
	finish_message(&w);
}

static void
tick_old(struct weir_lcore *lc, const struct weir_port *port, uint8_t family, struct link *l,
	 enum version version)
{
	struct weir_mcast *mc = lc->stack->mcast;

	l->change_ns = 0;
	for (struct group **pp = &l->groups; *pp != NULL;) {
		struct group *g = *pp;
		const bool member = has_members(g);
		bool say = g->answer_ns != 0 && lc->now_ns >= g->answer_ns;

		g->mode_retx = 0;
		for (uint32_t i = 0; i < g->n_source; i++)
			g->source[i].retx = 0;
		forget_sources(g);
		if (say)
			g->answer_ns = 0;
		if (g->hello_retx != 0 && lc->now_ns >= g->hello_ns) {
			say = true;
			g->hello_retx--;
			g->hello_ns = lc->now_ns + random_ns(mc, UNSOLICITED1_NS);
		}
		if (say && member) {
			report_old(lc, port, family, &g->ip, version, false);
			g->hello_done = true;
		}
		if (g->leave) {
			g->leave = false;
			report_old(lc, port, family, &g->ip, version, true);
		}
		if (!collect(pp))
			pp = &g->next;
	}
}

/* Answers to queries of the present version (RFC 3376 5.2). */
static void
answer(struct weir_lcore *lc, const struct weir_port *port, uint8_t family, struct link *l)
{
	const bool general = l->answer_ns != 0 && lc->now_ns >= l->answer_ns;
	struct message w = {.m = NULL};

	for (struct group *g = l->groups; g != NULL; g = g->next) {
		const bool due = g->answer_ns != 0 && lc->now_ns >= g->answer_ns;
		union weir_ip list[MAX_ASKED];
		uint32_t n = 0;

		if (!has_members(g) || (!general && !due))
			continue;
		if (general || g->n_asked == 0) {
			add_group(&w, lc, port, family, excludes(g) ? IS_EXCLUDE : IS_INCLUDE, g,
				  pick_listed, true);
		} else {
			for (uint32_t i = 0; i < g->n_asked; i++)
				if (wants_source(g, &g->asked[i]))
					list[n++] = g->asked[i];
			if (n != 0)
				add_record(&w, lc, port, family, IS_INCLUDE, &g->ip, list, n);
		}
		if (due) {
			g->answer_ns = 0;
			g->n_asked = 0;
		}
	}
	finish_report(&w);
	if (general)
		l->answer_ns = 0;
}

static void
tick_link(struct weir_lcore *lc, const struct weir_port *port, uint8_t family, struct link *l)
{
	const enum version version = version_of(l, lc->now_ns);

	if (version != V3) {
		tick_old(lc, port, family, l, version);
		return;
	}
	if (l->change_ns != 0 && lc->now_ns >= l->change_ns)
		report_changes(lc, port, family, l);
	answer(lc, port, family, l);
}

void
weir_mcast_tick(struct weir_lcore *lc)
{
	struct weir_stack *stack = lc->stack;
	struct weir_mcast *mc = stack->mcast;

	if (mc == NULL || !mcast_trylock(mc)) /* the next tick will do */
		return;
	for (unsigned int p = 0; p < WEIR_MAX_PORTS; p++) {
		const struct weir_port *port = stack->ports[p];

		if (port == NULL || !port->started ||
		    atomic_load_explicit((_Atomic bool *)(uintptr_t)&port->dead,
					 memory_order_relaxed))
			continue;
		if (mc->link[p][0].groups != NULL)
			tick_link(lc, port, WEIR_IPV4, &mc->link[p][0]);
		if (mc->link[p][1].groups != NULL)
			tick_link(lc, port, WEIR_IPV6, &mc->link[p][1]);
	}
	mcast_unlock(mc);
}

/* ---- queries in ---- */

/* What a query of either family says. */
struct query {
	enum version version;
	union weir_ip group; /* zero: general */
	uint64_t max_ns;     /* time to answer in */
	uint8_t robustness;  /* 0: not said */
	uint32_t n;          /* sources */
	const uint8_t *source;
};

/* Lock held. Sooner of what is due already and a random time within max. */
static void
schedule(struct weir_mcast *mc, uint64_t *due, uint64_t now_ns, uint64_t max_ns)
{
	const uint64_t at = now_ns + random_ns(mc, max_ns);

	if (*due == 0 || at < *due)
		*due = at;
}

/* Lock held. */
static void
ask_group(struct weir_mcast *mc, struct group *g, uint8_t family, const struct query *q,
	  uint64_t now_ns)
{
	const uint32_t alen = addr_len(family);
	const bool whole =
		g->answer_ns != 0 && g->n_asked == 0; /* an answer about all of it is due */

	if (!has_members(g))
		return;
	schedule(mc, &g->answer_ns, now_ns, q->max_ns);
	if (whole || q->n == 0 || g->n_asked + q->n > MAX_ASKED) {
		g->n_asked = 0;
		return;
	}
	for (uint32_t i = 0; i < q->n; i++) {
		union weir_ip *ip = &g->asked[g->n_asked++];

		*ip = (union weir_ip){.w = {0, 0}};
		memcpy(ip->b, q->source + (size_t)i * alen, alen);
	}
}

static void
query_input(struct weir_lcore *lc, const struct weir_port *port, uint8_t family,
	    const struct query *q)
{
	struct weir_mcast *mc = lc->stack->mcast;
	struct link *l = link_of(mc, port, family);

	mcast_lock(mc);
	if (q->version == V1)
		l->v1_until = lc->now_ns + OLDER_PRESENT_NS;
	else if (q->version == V2)
		l->v2_until = lc->now_ns + OLDER_PRESENT_NS;
	if (q->robustness != 0)
		l->robustness = q->robustness;
	if (!weir_ip_is_any(&q->group)) {
		struct group *g = find_group(l, &q->group);

		if (g != NULL)
			ask_group(mc, g, family, q, lc->now_ns);
	} else if (version_of(l, lc->now_ns) == V3) {
		if (l->groups != NULL)
			schedule(mc, &l->answer_ns, lc->now_ns, q->max_ns);
	} else {
		for (struct group *g = l->groups; g != NULL; g = g->next)
			ask_group(mc, g, family, q, lc->now_ns);
	}
	mcast_unlock(mc);
}

/* Somebody else has reported a group: with the older versions one answer is enough (RFC 2236 3). */
static void
heard_report(struct weir_lcore *lc, const struct weir_port *port, uint8_t family,
	     const union weir_ip *group)
{
	struct weir_mcast *mc = lc->stack->mcast;
	struct link *l = link_of(mc, port, family);
	struct group *g;

	mcast_lock(mc);
	g = find_group(l, group);
	if (g != NULL && version_of(l, lc->now_ns) != V3) {
		g->answer_ns = 0;
		g->hello_retx = 0;
		g->hello_done = false;
	}
	mcast_unlock(mc);
}

/* RFC 3376 4.1.1, 4.1.7: 8 bits, from 128 on with an exponent. */
static uint32_t
code8(uint8_t c)
{
	return c < 128 ? c : (uint32_t)((c & 0xf) | 0x10) << (((c >> 4) & 7) + 3);
}

/* RFC 3810 5.1.3: 16 bits likewise. */
static uint32_t
code16(uint16_t c)
{
	return c < 32768 ? c : (uint32_t)((c & 0xfff) | 0x1000) << (((c >> 12) & 7) + 3);
}

static bool
is_group(uint8_t family, const union weir_ip *ip)
{
	return family == WEIR_IPV4 ? weir_is_mcast4(ip->v4) : weir_ip6_is_mcast(ip);
}

/* Sources of a query of the present version: they are all there? off: of their number. */
static bool
query_sources(struct query *q, uint8_t family, const uint8_t *p, uint32_t len, uint32_t off)
{
	uint16_t n;

	memcpy(&n, p + off, sizeof(n));
	q->n = WIRE_BE16(n);
	q->source = p + off + 2;
	/* RFC 3376 4.1.10: what follows is ignored; RFC 3376 9.1: a general query names none. */
	return len - off - 2 >= q->n * addr_len(family) &&
	       (q->n == 0 || !weir_ip_is_any(&q->group));
}

static bool
igmp_query(const uint8_t *p, uint32_t len, struct query *q)
{
	*q = (struct query){.group = {.w = {0, 0}}};
	memcpy(q->group.b, p + 4, 4);
	if (len >= IGMP3_QUERY) {
		q->version = V3;
		q->robustness = p[8] & 7;
		q->max_ns = (uint64_t)code8(p[1]) * (WEIR_NS_PER_S / 10);
		if (!query_sources(q, WEIR_IPV4, p, len, 10))
			return false;
	} else if (len != IGMP_LEN) {
		return false;
	} else if (p[1] == 0) { /* RFC 2236 4: of version 1: ten seconds */
		q->version = V1;
		q->max_ns = 10 * WEIR_NS_PER_S;
	} else {
		q->version = V2;
		q->max_ns = (uint64_t)p[1] * (WEIR_NS_PER_S / 10);
	}
	if (q->max_ns == 0)
		q->max_ns = 1;
	return weir_ip_is_any(&q->group) || is_group(WEIR_IPV4, &q->group);
}

static bool
mld_query(const uint8_t *p, uint32_t len, struct query *q)
{
	uint16_t code;

	*q = (struct query){.group = {.w = {0, 0}}};
	memcpy(&code, p + 4, sizeof(code));
	code = WIRE_BE16(code);
	memcpy(q->group.b, p + 8, 16);
	if (len >= MLD2_QUERY) {
		q->version = V3;
		q->robustness = p[24] & 7;
		q->max_ns = (uint64_t)code16(code) * WEIR_NS_PER_MS;
		if (!query_sources(q, WEIR_IPV6, p, len, 26))
			return false;
	} else if (len != MLD_LEN) {
		return false;
	} else {
		q->version = V2;
		q->max_ns = (uint64_t)code * WEIR_NS_PER_MS;
	}
	if (q->max_ns == 0)
		q->max_ns = 1;
	return weir_ip_is_any(&q->group) || is_group(WEIR_IPV6, &q->group);
}

/* The message, contiguous: in the mbuf or copied to room. Longer than that is more than one packet says. */
#define MESSAGE_MAX 2048

static const uint8_t *
message_of(const struct rte_mbuf *m, const struct wire_view *v, uint8_t *room)
{
	const uint32_t len = RTE_MIN(v->l3_payload, (uint32_t)MESSAGE_MAX);

	return rte_pktmbuf_read(m, (uint32_t)v->l2_len + v->l3_len, len, room);
}

void
weir_igmp_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
		const struct wire_view *v)
{
	const uint32_t off = (uint32_t)v->l2_len + v->l3_len;
	const uint32_t len = RTE_MIN(v->l3_payload, (uint32_t)MESSAGE_MAX);
	uint8_t room[MESSAGE_MAX];
	union weir_ip group = {.w = {0, 0}};
	const uint8_t *p;
	struct query q;

	p = len >= IGMP_LEN ? message_of(m, v, room) : NULL;
	/* From loopback: our own report, seen by a member of its group. */
	if (p == NULL || wire_fold(weir_mbuf_sum(m, off, v->l3_payload)) != 0xffff ||
	    port->index >= WEIR_MAX_PORTS)
		goto bad;
	memcpy(group.b, p + 4, 4);
	switch (p[0]) {
	case IGMP_QUERY:
		/* RFC 3376 4.1.12: to all systems, or to the group that is asked for. */
		if (!igmp_query(p, len, &q) ||
		    (v->dst4 != WIRE_BE32(0xe0000001) && v->dst4 != q.group.v4))
			goto bad;
		query_input(lc, port, WEIR_IPV4, &q);
		break;
	case IGMP1_REPORT:
	case IGMP2_REPORT:
		if (!is_group(WEIR_IPV4, &group))
			goto bad;
		heard_report(lc, port, WEIR_IPV4, &group);
		break;
	default: /* for routers */
		break;
	}
	weir_consume(lc, WEIR_PROTO_GROUP, m);
	return;
bad:
	weir_drop(lc, WEIR_DROP_MEMBER_BAD, m);
}

void
weir_mld_input(struct weir_lcore *lc, const struct weir_port *port, struct rte_mbuf *m,
	       const struct wire_view *v)
{
	const struct wire_ip6 *ip = rte_pktmbuf_mtod_offset(m, const struct wire_ip6 *, v->l2_len);
	const uint32_t len = RTE_MIN(v->l3_payload, (uint32_t)MESSAGE_MAX);
	uint8_t room[MESSAGE_MAX];
	union weir_ip src = {.w = {0, 0}};
	union weir_ip group = {.w = {0, 0}};
	const uint8_t *p;
	struct query q;

	memcpy(src.b, ip->src, sizeof(src.b));
	p = len >= IGMP_LEN ? message_of(m, v, room) : NULL;
	/* RFC 3810 5.1.14, 6.2, 7.4: hop limit 1; a query with the router alert, from a link-local address. */
	if (p == NULL || v->hop_limit != 1 || port->index >= WEIR_MAX_PORTS)
		goto bad;
	switch (p[0]) {
	case WIRE_ICMP6_MLD_QUERY:
		if (len < MLD_LEN || !v->router_alert || !weir_ip6_is_link_local(&src) ||
		    !mld_query(p, len, &q))
			goto bad;
		query_input(lc, port, WEIR_IPV6, &q);
		break;
	case WIRE_ICMP6_MLD_REPORT:
		if (len < MLD_LEN)
			goto bad;
		memcpy(group.b, p + 8, sizeof(group.b));
		if (!is_group(WEIR_IPV6, &group) ||
		    !(weir_ip_is_any(&src) || weir_ip6_is_link_local(&src)))
			goto bad;
		heard_report(lc, port, WEIR_IPV6, &group);
		break;
	default: /* for routers */
		break;
	}
	weir_consume(lc, WEIR_PROTO_GROUP, m);
	return;
bad:
	weir_drop(lc, WEIR_DROP_MEMBER_BAD, m);
}
