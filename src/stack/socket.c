/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: a socket's life and names: the control calls of <weir/socket.h>, under the control lock. The
 * options are in sockopt.c, the data calls in sockio.c.
 *
 * Every change of name or peer puts the new entry into the socket table before it takes the old one
 * out, so that at no moment a datagram finds nothing.
 */
#include <weir/socket.h>

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "control_state.h"
#include "drop.h"
#include "errq.h"
#include "event.h"
#include "local.h"
#include "route.h"
#include "sock.h"
#include "sock_priv.h"

#define ID_WAIT_TURNS 10000

/* The names of every socket that has none. Never freed, never written. */
static struct weir_names unnamed;

/* ---- open, close ---- */

void
weir_socket_conf_init(struct weir_socket_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->size = sizeof(*conf);
	conf->ttl = WEIR_DEFAULT_TTL;
	conf->family = WEIR_IPV4;
}

int
weir_socket_open(struct weir_stack *stack, const struct weir_socket_conf *conf,
		 struct weir_socket **out)
{
	struct weir_control *c = stack->control;
	struct weir_socket_conf def;
	struct weir_socket *sk;
	uint64_t rcvbuf;
	uint32_t id;

	if (conf == NULL) {
		weir_socket_conf_init(&def);
		conf = &def;
	}
	if (conf->size != sizeof(*conf))
		return -EINVAL;
	if (conf->family != WEIR_IPV4 && conf->family != WEIR_IPV6 && conf->family != WEIR_UNSPEC)
		return -EAFNOSUPPORT;
	rcvbuf = conf->rcvbuf != 0 ? conf->rcvbuf : stack->conf.rcvbuf;
	if (rcvbuf > stack->conf.rcvbuf_max)
		return -EINVAL;
	sk = rte_zmalloc("weir_socket", sizeof(*sk), WEIR_CACHE_LINE);
	if (sk == NULL)
		return -ENOMEM;
	sk->stack = stack;
	sk->family = conf->family == WEIR_IPV6 ? WEIR_IPV6 : WEIR_IPV4;
	sk->v6only = conf->v6only && sk->family == WEIR_IPV6;
	sk->bind_port = -1;
	sk->lcore = -1;
	sk->mcast_all = true;
	sk->mcast_all6 = true;
	sk->tx = (struct weir_txopt){
		.ttl = conf->ttl != 0 ? conf->ttl : WEIR_DEFAULT_TTL,
		.tos = conf->tos,
		.mcast_ttl = 1,
		.mcast_loop = true,
		.mcast_port = -1,
		.pmtud = WEIR_PMTUD_WANT,
		.broadcast = conf->broadcast,
	};
	sk->tx6 = (struct weir_tx6opt){
		.hops = conf->ttl != 0 && conf->ttl != WEIR_DEFAULT_TTL ? conf->ttl : -1,
		.tclass = conf->tos,
		.mcast_hops = 1,
		.pmtud = WEIR_PMTUD_WANT,
		.mcast_loop = true,
		.mcast_port = -1,
	};
	weir_sock_tx_changed(sk);
	atomic_store_explicit(&sk->names, &unnamed, memory_order_relaxed);
	atomic_store_explicit(&sk->tx_owner, WEIR_NO_OWNER, memory_order_relaxed);
	atomic_store_explicit(&sk->rx_owner, WEIR_NO_OWNER, memory_order_relaxed);
	atomic_store_explicit(&sk->peek_off, -1, memory_order_relaxed);
	weir_event_init(sk);
	weir_recvq_init(&sk->rq, rcvbuf);
	weir_recvq_set_readers(&sk->rq, conf->readers);

	weir_ctl_lock(stack);
	/* Closed sockets give their ids back after a grace period: worth a few turns of waiting. */
	for (unsigned int i = 0; c->n_free_ids == 0 && i < ID_WAIT_TURNS; i++) {
		if (weir_rcu_reclaim(stack, false) == 0 || c->n_free_ids != 0)
			break;
		weir_ctl_unlock(stack);
		weir_ctl_breathe(stack);
		weir_ctl_lock(stack);
	}
	if (c->n_free_ids == 0) {
		weir_ctl_unlock(stack);
		rte_free(sk);
		return -EMFILE;
	}
	id = c->free_ids[--c->n_free_ids];
	sk->id = id;
	sk->serial = ++c->serial;
	atomic_store_explicit(&stack->socks[id], sk, memory_order_release);
	weir_ctl_unlock(stack);
	*out = sk;
	return 0;
}

/* Control lock held, grace period over: nobody delivers to it any more. */
static void
socket_reclaim(struct weir_stack *stack, void *obj)
{
	struct weir_control *c = stack->control;
	struct weir_socket *sk = obj;

	*sk->close_prev = sk->close_next;
	if (sk->close_next != NULL)
		sk->close_next->close_prev = sk->close_prev;
	weir_drop_list(stack->ctl_lcore, WEIR_DROP_SOCK_CLOSED, weir_recvq_purge(&sk->rq));
	weir_event_fini(sk);
	weir_errq_fini(sk);
	if (sk->names != &unnamed)
		rte_free(sk->names);
	c->free_ids[c->n_free_ids++] = sk->id;
	rte_free(sk);
}

/* ---- names ---- */

static bool
any(const union weir_ip *ip)
{
	return (ip->w[0] | ip->w[1]) == 0;
}

static bool
same_ip(const union weir_ip *a, const union weir_ip *b)
{
	return a->w[0] == b->w[0] && a->w[1] == b->w[1];
}

/* Control lock held. Publish other names; the old ones go after a grace period. */
static void
set_names(struct weir_socket *sk, struct weir_names *names)
{
	struct weir_names *old = atomic_load_explicit(&sk->names, memory_order_relaxed);

	/* Release: pairs with weir_sock_names(). */
	atomic_store_explicit(&sk->names, names, memory_order_release);
	if (old != &unnamed)
		weir_rcu_free(sk->stack, old);
}

static struct weir_names *
names_alloc(void)
{
	return rte_zmalloc("weir_names", sizeof(struct weir_names), WEIR_CACHE_LINE);
}

/* Control lock held. The list of a port's sockets, and how many of them share it by which option. */
static void
port_list_add(struct weir_socket *sk, uint16_t port)
{
	struct weir_portuse *use = &sk->stack->control->port_use[port];

	sk->port_next = use->head;
	sk->port_prev = &use->head;
	if (use->head != NULL)
		use->head->port_prev = &sk->port_next;
	use->head = sk;
	use->n++;
	use->n_reuseaddr += sk->reuseaddr;
	use->n_reuseport += sk->reuseport;
}

static void
port_list_remove(struct weir_socket *sk, uint16_t port)
{
	struct weir_portuse *use = &sk->stack->control->port_use[port];

	*sk->port_prev = sk->port_next;
	if (sk->port_next != NULL)
		sk->port_next->port_prev = sk->port_prev;
	sk->port_prev = NULL;
	use->n--;
	use->n_reuseaddr -= sk->reuseaddr;
	use->n_reuseport -= sk->reuseport;
}

/* Do the two share a port, both willing? */
static bool
both_share(const struct weir_socket *a, const struct weir_socket *b)
{
	return (a->reuseaddr && b->reuseaddr) || (a->reuseport && b->reuseport);
}

/* An address of the caller: IPv4-mapped ones (RFC 4291 2.5.5.2) are IPv4. */
static struct weir_addr
unmapped(const struct weir_addr *a)
{
	struct weir_addr out = *a;

	if (a->family == WEIR_IPV6 && weir_ip_is_mapped(&a->ip)) {
		out.ip = (union weir_ip){.w = {0, 0}};
		memcpy(&out.ip.v4, a->ip.b + 12, sizeof(out.ip.v4));
		out.family = WEIR_IPV4;
	}
	return out;
}

/* The addresses that a name stands for: do those of the two have one in common? only: an IPv6 socket that is V6ONLY. */
static bool
overlap(uint8_t family_a, const union weir_ip *a, bool only_a, uint8_t family_b,
	const union weir_ip *b, bool only_b)
{
	if (family_a == family_b)
		return any(a) || any(b) || same_ip(a, b);
	/* :: is all of IPv4 too. */
	return family_a == WEIR_IPV6 ? any(a) && !only_a : any(b) && !only_b;
}

/*
 * Control lock held. Would (local, its port) on interface iface clash with a bound socket other than sk?
 * alone: sharing does not count, for a port that is chosen.
 */
static bool
in_use(const struct weir_socket *sk, const struct weir_addr *local, int16_t iface, bool alone)
{
	const struct weir_portuse *use = &sk->stack->control->port_use[local->port];

	/* The usual cases need no walk: nobody, or all of one mind. */
	if (use->n == 0)
		return false;
	if (!alone && ((sk->reuseaddr && use->n_reuseaddr == use->n) ||
		       (sk->reuseport && use->n_reuseport == use->n)))
		return false;
	for (const struct weir_socket *o = use->head; o != NULL; o = o->port_next) {
		const struct weir_names *names = weir_sock_names(o);

		if (o == sk || (!alone && both_share(o, sk)))
			continue;
		if (o->bind_port >= 0 && iface >= 0 && o->bind_port != iface)
			continue;
		if (overlap(local->family, &local->ip, sk->v6only, names->family, &names->bound,
			    o->v6only))
			return true;
	}
	return false;
}

/* Control lock held. A free ephemeral port for local in network order; 0: none left. */
static uint16_t
ephemeral(struct weir_socket *sk, const struct weir_addr *local, int16_t iface)
{
	uint32_t lo = sk->stack->conf.port_lo;
	uint32_t n = (uint32_t)sk->stack->conf.port_hi - lo + 1;
	uint32_t start = (uint32_t)(weir_ctl_random(sk->stack) % n);
	struct weir_addr a = *local;

	for (uint32_t i = 0; i < n; i++) {
		a.port = WIRE_BE16(lo + (start + i) % n);
		if (!in_use(sk, &a, iface, true))
			return a.port;
	}
	return 0;
}

#define ENTRIES 2 /* of one socket in the table */

/*
 * Under what keys a socket of these names is found; 0: under none. An IPv6 socket on the wildcard address is
 * found by IPv4 too, one with an IPv4 name by IPv4 only.
 */
static unsigned int
keys_of(const struct weir_socket *sk, const struct weir_names *names, int16_t bind_port,
	struct weir_key key[ENTRIES])
{
	if (names->lport == 0)
		return 0;
	key[0] = (struct weir_key){.local = names->bound,
				   .peer = names->peer.ip,
				   .lport = names->lport,
				   .pport = names->peer.port,
				   .family = names->family,
				   .iface = (uint16_t)(bind_port + 1)};
	if (sk->family == WEIR_IPV4)
		return 1;
	if (names->family == WEIR_IPV4)
		key[0].family |= WEIR_KEY_DUAL;
	else if (!sk->v6only && any(&names->bound) && !weir_names_connected(names)) {
		key[1] = key[0];
		key[1].family = WEIR_IPV4 | WEIR_KEY_DUAL;
		return 2;
	}
	return 1;
}

/*
 * Control lock held. Give sk these names (its own from here on) and this interface, moving its entries: the
 * new ones are in before the old ones are out. names->lport 0: out of the table. -ENOMEM: nothing changed,
 * names freed.
 */
static int
rename_socket(struct weir_socket *sk, struct weir_names *names, int16_t bind_port)
{
	const uint16_t was = weir_sock_names(sk)->lport;
	struct weir_sockent *before[ENTRIES] = {sk->ent, sk->ent4};
	struct weir_sockent *ent[ENTRIES] = {NULL, NULL};
	struct weir_key key[ENTRIES];
	const unsigned int n = keys_of(sk, names, bind_port, key);

	for (unsigned int i = 0; i < n; i++) {
		ent[i] = weir_socktab_exact(sk->stack, &key[i]);
		if (ent[i] != NULL && ent[i] == before[i]) /* the same place */
			continue;
		if (weir_socktab_insert(sk->stack, &key[i], sk, &ent[i]) != 0) {
			while (i-- > 0)
				if (ent[i] != before[i])
					weir_socktab_remove(sk->stack, ent[i], sk);
			rte_free(names);
			return -ENOMEM;
		}
	}
	if (was != names->lport) {
		if (was != 0)
			port_list_remove(sk, was);
		if (names->lport != 0)
			port_list_add(sk, names->lport);
	}
	set_names(sk, names);
	sk->ent = ent[0];
	sk->ent4 = ent[1];
	sk->bind_port = bind_port;
	weir_sock_tx_changed(sk);
	for (unsigned int i = 0; i < ENTRIES; i++)
		if (before[i] != NULL && before[i] != ent[i])
			weir_socktab_remove(sk->stack, before[i], sk);
	return 0;
}

int
weir_sock_rehash(struct weir_socket *sk, int16_t bind_port)
{
	struct weir_names *names;

	if (sk->ent == NULL) {
		sk->bind_port = bind_port;
		weir_sock_tx_changed(sk);
		return 0;
	}
	names = names_alloc();
	if (names == NULL)
		return -ENOMEM;
	*names = *weir_sock_names(sk);
	return rename_socket(sk, names, bind_port);
}

/* The local name that a socket has without a port: what an earlier bind or connect chose, or any address. */
static struct weir_addr
name_of(const struct weir_socket *sk)
{
	const struct weir_names *names = weir_sock_names(sk);

	return (struct weir_addr){.ip = names->bound,
				  .scope = names->scope,
				  .family = names->family != WEIR_UNSPEC ? names->family
									 : sk->family};
}

static bool
is_mcast(const struct weir_addr *a)
{
	return a->family == WEIR_IPV4 ? weir_is_mcast4(a->ip.v4) : weir_ip6_is_mcast(&a->ip);
}

/* Does the address mean nothing without an interface (RFC 4007)? Of groups: interface and link scope. */
static bool
needs_scope(const struct weir_addr *a)
{
	if (a->family != WEIR_IPV6)
		return false;
	if (weir_ip6_is_mcast(&a->ip))
		return (a->ip.b[1] & 0xf) == 1 || (a->ip.b[1] & 0xf) == 2;
	return weir_ip6_is_link_local(&a->ip);
}

/*
 * Control lock held. The interface that a socket has after it was given the name a: that of its scope, else
 * the one it has, else dflt. a->scope becomes true. -ENODEV; -EINVAL: none.
 */
static int
scope_of(const struct weir_socket *sk, struct weir_addr *a, int dflt, int16_t *iface)
{
	*iface = sk->bind_port;
	if (!needs_scope(a)) {
		a->scope = 0;
		return 0;
	}
	if (a->scope != 0) {
		if (weir_port_at(sk->stack, a->scope - 1) == NULL)
			return -ENODEV;
		*iface = (int16_t)(a->scope - 1);
	} else if (*iface < 0) {
		*iface = (int16_t)dflt;
	}
	if (*iface < 0)
		return -EINVAL;
	a->scope = (uint32_t)*iface + 1;
	return 0;
}

/* Control lock held. none: what an exhausted ephemeral range is to the caller. */
static int
bind_locked(struct weir_socket *sk, const struct weir_addr *local, int16_t iface, int none)
{
	const bool explicit_port = local->port != 0;
	uint16_t port = local->port;
	struct weir_names *names;
	int ret;

	if (!explicit_port) {
		port = ephemeral(sk, local, iface);
		if (port == 0)
			return none;
	} else if (in_use(sk, local, iface, false)) {
		return -EADDRINUSE;
	}
	names = names_alloc();
	if (names == NULL)
		return -ENOMEM;
	*names = (struct weir_names){
		.bound = local->ip, .scope = local->scope, .lport = port, .family = local->family};
	if (!any(&local->ip))
		names->group = is_mcast(local) || weir_local(sk->stack, &local->ip, local->family,
							     iface) == WEIR_LOCAL_BROADCAST;
	ret = rename_socket(sk, names, iface);
	if (ret == 0) {
		sk->port_explicit = explicit_port;
		sk->addr_explicit = !any(&local->ip);
	}
	return ret;
}

/* Control lock held. An ephemeral port on any address. -EAGAIN: none left. */
static int
autobind_locked(struct weir_socket *sk)
{
	/* An address that an earlier bind chose survives the loss of its port: see disconnect. */
	const struct weir_addr local = name_of(sk);

	return bind_locked(sk, &local, sk->bind_port, -EAGAIN);
}

int
weir_sock_autobind(struct weir_socket *sk)
{
	int ret = 0;

	weir_ctl_lock(sk->stack);
	if (weir_sock_names(sk)->lport == 0)
		ret = autobind_locked(sk);
	weir_ctl_unlock(sk->stack);
	return ret;
}

/* Control lock held. May sk have this name? Then *iface is its interface. */
static int
may_bind(struct weir_socket *sk, struct weir_addr *local, int16_t *iface)
{
	int ret;

	/* As Linux, in this order for each family. */
	if (weir_sock_names(sk)->lport != 0 && sk->family == WEIR_IPV6)
		return -EINVAL;
	if (local->family == WEIR_IPV4 && sk->v6only)
		return -EINVAL;
	ret = scope_of(sk, local, -1, iface);
	if (ret != 0)
		return ret;
	if (!any(&local->ip) && !sk->freebind && !is_mcast(local) &&
	    weir_local(sk->stack, &local->ip, local->family, *iface) == WEIR_NOT_LOCAL)
		return -EADDRNOTAVAIL;
	return weir_sock_names(sk)->lport != 0 ? -EINVAL : 0;
}

int
weir_socket_bind(struct weir_socket *sk, const struct weir_addr *local)
{
	struct weir_addr a = unmapped(local);
	int16_t iface;
	int ret;

	if (a.family == WEIR_UNSPEC && any(&a.ip))
		a.family = sk->family;
	if (a.family != sk->family && !(a.family == WEIR_IPV4 && sk->family == WEIR_IPV6))
		return -EAFNOSUPPORT;
	weir_ctl_lock(sk->stack);
	ret = may_bind(sk, &a, &iface);
	if (ret == 0)
		ret = bind_locked(sk, &a, iface, -EADDRINUSE);
	weir_ctl_unlock(sk->stack);
	return ret;
}

/*
 * Control lock held. Back to the bound state. A port that was not chosen by the caller is given up with
 * the association, and so is an address (as Linux does).
 */
static int
disconnect_locked(struct weir_socket *sk)
{
	const struct weir_names *old = weir_sock_names(sk);
	struct weir_names *names;

	/* As Linux: the interface goes with the association, also when there is none. */
	if (!weir_names_connected(old) && (old->lport == 0 || sk->port_explicit))
		return sk->bind_port >= 0 ? weir_sock_rehash(sk, -1) : 0;
	names = names_alloc();
	if (names == NULL)
		return -ENOMEM;
	names->family = sk->family;
	if (sk->addr_explicit) {
		names->bound = old->bound;
		names->scope = old->scope;
		names->family = old->family;
		names->group = old->group;
	}
	if (sk->port_explicit)
		names->lport = old->lport;
	return rename_socket(sk, names, -1);
}

/* The port by which a socket that is connected to peer sends; -1: by route. */
static int
way_out(const struct weir_socket *sk, const struct weir_addr *peer, int16_t iface)
{
	if (iface >= 0 || !is_mcast(peer))
		return iface;
	return peer->family == WEIR_IPV4 ? sk->tx.mcast_port : sk->tx6.mcast_port;
}

/* The address that a connection to peer is to come from: zero, of free choice. A negative errno. */
static int
source_wanted(const struct weir_socket *sk, const struct weir_addr *peer, union weir_ip *bound)
{
	const struct weir_names *names = weir_sock_names(sk);

	*bound = (union weir_ip){.w = {0, 0}};
	if (any(&names->bound) || names->group)
		return 0;
	if (names->family != peer->family) {
		if (!sk->addr_explicit)
			return 0;
		return peer->family == WEIR_IPV4 ? -ENETUNREACH : -EAFNOSUPPORT;
	}
	*bound = names->bound;
	return 0;
}

/* Control lock held. Choose the source and enter the 4-tuple. */
static int
connect_locked(struct weir_socket *sk, const struct weir_addr *peer, int16_t iface)
{
	const struct weir_names *old = weir_sock_names(sk);
	struct weir_addr local = name_of(sk);
	uint16_t lport = old->lport;
	struct weir_names *names;
	union weir_ip bound, src;
	int ret;

	ret = source_wanted(sk, peer, &bound);
	if (ret != 0)
		return ret;
	ret = weir_route_source(sk->stack, &peer->ip, peer->family, way_out(sk, peer, iface),
				&bound, &src);
	if (ret != 0)
		return ret == -EADDRNOTAVAIL ? -ENETUNREACH : ret;
	if (peer->family == WEIR_IPV4 && !sk->tx.broadcast &&
	    weir_local4(sk->stack, peer->ip.v4) == WEIR_LOCAL_BROADCAST)
		return -EACCES;
	if (lport == 0) {
		lport = ephemeral(sk, &local, iface);
		if (lport == 0)
			return -EAGAIN;
	}
	names = names_alloc();
	if (names == NULL)
		return -ENOMEM;
	/* Name and port stay, also what an earlier connection chose (as Linux does). */
	*names = (struct weir_names){.bound = old->group ? old->bound : src,
				     .peer = *peer,
				     .lport = lport,
				     .family = peer->family,
				     .group = old->group};
	local = (struct weir_addr){.ip = names->bound, .family = peer->family};
	if (needs_scope(&local))
		names->scope = (uint32_t)iface + 1;
	return rename_socket(sk, names, iface);
}

/* Control lock held. Out of the table and the port; memory is not needed. */
void
weir_sock_unbind(struct weir_socket *sk)
{
	const uint16_t port = weir_sock_names(sk)->lport;

	if (sk->ent != NULL)
		weir_socktab_remove(sk->stack, sk->ent, sk);
	if (sk->ent4 != NULL)
		weir_socktab_remove(sk->stack, sk->ent4, sk);
	sk->ent = NULL;
	sk->ent4 = NULL;
	if (port != 0)
		port_list_remove(sk, port);
	set_names(sk, &unnamed);
}

/* Control lock held. "Any" as a peer is this host: the bound address, else loopback; as Linux for each family. */
static void
peer_of_any(const struct weir_socket *sk, struct weir_addr *peer)
{
	const struct weir_names *names = weir_sock_names(sk);

	if (!any(&peer->ip))
		return;
	if (peer->family == WEIR_IPV6 && names->family != WEIR_IPV4) {
		peer->ip.b[15] = 1;
		return;
	}
	peer->family = WEIR_IPV4;
	peer->ip.v4 = WIRE_BE32(0x7f000001);
	if (!any(&names->bound) && !names->group && names->family == WEIR_IPV4)
		peer->ip = names->bound;
}

int
weir_socket_connect(struct weir_socket *sk, const struct weir_addr *peer)
{
	struct weir_addr to = unmapped(peer);
	int16_t iface;
	int ret;

	if (peer->family == WEIR_UNSPEC)
		return weir_socket_disconnect(sk);
	if (to.family != sk->family && !(to.family == WEIR_IPV4 && sk->family == WEIR_IPV6))
		return -EAFNOSUPPORT;
	if (to.family == WEIR_IPV4 && sk->v6only)
		return -ENETUNREACH;
	weir_ctl_lock(sk->stack);
	peer_of_any(sk, &to);
	ret = scope_of(sk, &to, is_mcast(&to) ? sk->tx6.mcast_port : -1, &iface);
	if (ret == 0)
		ret = connect_locked(sk, &to, iface);
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_disconnect(struct weir_socket *sk)
{
	int ret;

	weir_ctl_lock(sk->stack);
	ret = disconnect_locked(sk);
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_select(struct weir_socket *sk, weir_select_fn fn, void *arg)
{
	int ret = -EINVAL;

	weir_ctl_lock(sk->stack);
	if (sk->ent != NULL && sk->reuseport)
		ret = weir_sockent_select(sk->stack, sk->ent, fn, arg);
	if (ret == 0 && sk->ent4 != NULL)
		ret = weir_sockent_select(sk->stack, sk->ent4, fn, arg);
	weir_ctl_unlock(sk->stack);
	return ret;
}

/* ---- close, shutdown ---- */

int
weir_socket_close(struct weir_socket *sk)
{
	struct weir_stack *stack = sk->stack;
	struct weir_control *c = stack->control;

	weir_ctl_lock(stack);
	weir_sock_unbind(sk);
	weir_sock_leave_all(sk);
	weir_errq_purge(sk);
	atomic_store_explicit(&stack->socks[sk->id], NULL, memory_order_release);
	sk->close_next = c->closing;
	sk->close_prev = &c->closing;
	if (sk->close_next != NULL)
		sk->close_next->close_prev = &sk->close_next;
	c->closing = sk;
	weir_rcu_defer(stack, socket_reclaim, sk);
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
	return 0;
}

int
weir_socket_shutdown(struct weir_socket *sk, enum weir_shutdown how)
{
	if (how < WEIR_SHUT_RD || how > WEIR_SHUT_RDWR)
		return -EINVAL;
	atomic_fetch_or_explicit(&sk->shut, (uint8_t)how, memory_order_release);
	weir_event_wake_all(sk);
	return weir_names_connected(weir_sock_names(sk)) ? 0 : -ENOTCONN;
}

void
weir_socket_local(const struct weir_socket *sk, struct weir_addr *out)
{
	const struct weir_names *names;

	memset(out, 0, sizeof(*out));
	weir_ctl_lock(sk->stack);
	names = weir_sock_names(sk);
	if (names->lport != 0 || !any(&names->bound)) {
		out->ip = names->bound;
		out->scope = names->scope;
		out->port = names->lport;
		out->family = names->family;
	}
	weir_ctl_unlock(sk->stack);
}

int
weir_socket_peer(const struct weir_socket *sk, struct weir_addr *out)
{
	int ret = -ENOTCONN;

	weir_ctl_lock(sk->stack);
	/* As Linux: a peer without a port is none to name. */
	if (weir_names_connected(weir_sock_names(sk)) && weir_sock_names(sk)->peer.port != 0) {
		*out = weir_sock_names(sk)->peer;
		ret = 0;
	}
	weir_ctl_unlock(sk->stack);
	return ret;
}

void
weir_socket_stats_get(const struct weir_socket *sk, struct weir_socket_stats *out)
{
	struct weir_recvq *q = (struct weir_recvq *)(uintptr_t)&sk->rq;

	*out = (struct weir_socket_stats){
		.queued = weir_counter_read(&q->n_queued),
		.read = weir_counter_read(&q->n_read),
		.rcvq_full = weir_counter_read(&q->n_full),
		.mem_limit = weir_counter_read(&q->n_mem_limit),
		.sent = weir_counter_read(&sk->sent) + weir_counter_read(&sk->sent_others),
		.charged_bytes = weir_recvq_charge(q),
		.rcvbuf_bytes = weir_recvq_limit(q),
		.splices = weir_counter_read(&q->n_splices),
		.wakes = weir_counter_read(&sk->wait.wakes),
	};
}
