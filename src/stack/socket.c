/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: a socket's life and names: the control calls of <weir/socket.h>, under the control lock. The
 * data calls are in sockio.c.
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
#include "local.h"
#include "route.h"
#include "sock.h"

#define DEFAULT_TTL   64
#define ID_WAIT_TURNS 10000

/* ---- open, close ---- */

void
weir_socket_conf_init(struct weir_socket_conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->size = sizeof(*conf);
	conf->ttl = DEFAULT_TTL;
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
	if (conf->family != WEIR_IPV4 && conf->family != WEIR_UNSPEC)
		return -EAFNOSUPPORT;
	rcvbuf = conf->rcvbuf != 0 ? conf->rcvbuf : stack->conf.rcvbuf;
	if (rcvbuf > stack->conf.rcvbuf_max)
		return -EINVAL;
	sk = rte_zmalloc("weir_socket", sizeof(*sk), WEIR_CACHE_LINE);
	if (sk == NULL)
		return -ENOMEM;
	sk->stack = stack;
	sk->ttl = conf->ttl != 0 ? conf->ttl : DEFAULT_TTL;
	sk->tos = conf->tos;
	sk->default_ttl_tos = sk->ttl == DEFAULT_TTL && sk->tos == 0;
	sk->broadcast = conf->broadcast;
	atomic_store_explicit(&sk->tx_owner, WEIR_NO_OWNER, memory_order_relaxed);
	atomic_store_explicit(&sk->rx_owner, WEIR_NO_OWNER, memory_order_relaxed);
	weir_recvq_init(&sk->rq, rcvbuf);

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
	struct weir_socket **link = &c->closing;
	struct weir_socket *sk = obj;

	while (*link != sk)
		link = &(*link)->close_next;
	*link = sk->close_next;
	weir_drop_list(stack->ctl_lcore, WEIR_DROP_SOCK_CLOSED, weir_recvq_purge(&sk->rq));
	c->free_ids[c->n_free_ids++] = sk->id;
	rte_free(sk);
}

/* Control lock held. */
static void
port_list_remove(struct weir_control *c, struct weir_socket *sk)
{
	struct weir_socket **link = &c->port_socks[sk->lport];

	while (*link != sk)
		link = &(*link)->port_next;
	*link = sk->port_next;
	sk->lport = 0;
}

/* Control lock held. Take sk out of all indexes. */
static void
unhash(struct weir_socket *sk)
{
	if (sk->ent != NULL)
		weir_socktab_remove(sk->stack, sk->ent);
	sk->ent = NULL;
	if (sk->lport != 0)
		port_list_remove(sk->stack->control, sk);
}

int
weir_socket_close(struct weir_socket *sk)
{
	struct weir_stack *stack = sk->stack;
	struct weir_control *c = stack->control;

	weir_ctl_lock(stack);
	unhash(sk);
	atomic_store_explicit(&stack->socks[sk->id], NULL, memory_order_release);
	sk->close_next = c->closing;
	c->closing = sk;
	weir_rcu_defer(stack, socket_reclaim, sk);
	weir_rcu_reclaim(stack, false);
	weir_ctl_unlock(stack);
	return 0;
}

/* ---- names ---- */

static bool
any(const union weir_ip *ip)
{
	return (ip->w[0] | ip->w[1]) == 0;
}

/* Control lock held. Would (ip, port) clash with a bound socket other than sk? */
static bool
in_use(const struct weir_socket *sk, const union weir_ip *ip, uint16_t port)
{
	for (const struct weir_socket *o = sk->stack->control->port_socks[port]; o != NULL;
	     o = o->port_next)
		if (o != sk && (any(ip) || any(&o->bound) ||
				(o->bound.w[0] == ip->w[0] && o->bound.w[1] == ip->w[1])))
			return true;
	return false;
}

/* Control lock held. A free ephemeral port for ip in network order; 0: none left. */
static uint16_t
ephemeral(struct weir_socket *sk, const union weir_ip *ip)
{
	uint32_t lo = sk->stack->conf.port_lo;
	uint32_t n = (uint32_t)sk->stack->conf.port_hi - lo + 1;
	uint32_t start = (uint32_t)(weir_ctl_random(sk->stack) % n);

	for (uint32_t i = 0; i < n; i++) {
		uint16_t port = WIRE_BE16(lo + (start + i) % n);

		if (!in_use(sk, ip, port))
			return port;
	}
	return 0;
}

/* Control lock held. Enter (ip, port) into table and port list. */
static int
hash_bound(struct weir_socket *sk, const union weir_ip *ip, uint16_t port)
{
	struct weir_control *c = sk->stack->control;
	struct weir_key key = {.local = *ip, .lport = port, .family = WEIR_IPV4};
	const union weir_ip before = sk->bound;
	struct weir_sockent *ent;
	int ret;

	sk->bound = *ip;
	sk->bound_group = !any(ip) && weir_local4(sk->stack, ip->v4) == WEIR_LOCAL_BROADCAST;
	ret = weir_socktab_insert(sk->stack, &key, sk, &ent);
	if (ret != 0) {
		sk->bound = before;
		return ret;
	}
	sk->ent = ent;
	sk->lport = port;
	sk->port_next = c->port_socks[port];
	c->port_socks[port] = sk;
	return 0;
}

/* Control lock held. none: what an exhausted ephemeral range is to the caller. */
static int
bind_locked(struct weir_socket *sk, const union weir_ip *ip, uint16_t port, int none)
{
	const bool explicit_port = port != 0;
	int ret;

	if (sk->lport != 0)
		return -EINVAL;
	if (!explicit_port) {
		port = ephemeral(sk, ip);
		if (port == 0)
			return none;
	} else if (in_use(sk, ip, port)) {
		return -EADDRINUSE;
	}
	ret = hash_bound(sk, ip, port);
	if (ret == 0) {
		sk->port_explicit = explicit_port;
		sk->addr_explicit = !any(ip);
	}
	return ret;
}

/*
 * Control lock held. An ephemeral port, on the address that an earlier bind chose or on any. -EAGAIN: none
 * left.
 */
static int
autobind_locked(struct weir_socket *sk)
{
	const union weir_ip ip = sk->addr_explicit ? sk->bound : (union weir_ip){.w = {0, 0}};

	return bind_locked(sk, &ip, 0, -EAGAIN);
}

int
weir_sock_autobind(struct weir_socket *sk)
{
	int ret = 0;

	weir_ctl_lock(sk->stack);
	if (sk->lport == 0)
		ret = autobind_locked(sk);
	weir_ctl_unlock(sk->stack);
	return ret;
}

int
weir_socket_bind(struct weir_socket *sk, const struct weir_addr *local)
{
	int ret;

	if (local->family != WEIR_IPV4 && !(local->family == WEIR_UNSPEC && any(&local->ip)))
		return -EAFNOSUPPORT;
	weir_ctl_lock(sk->stack);
	if (!any(&local->ip) && weir_local4(sk->stack, local->ip.v4) == WEIR_NOT_LOCAL)
		ret = -EADDRNOTAVAIL;
	else
		ret = bind_locked(sk, &local->ip, local->port, -EADDRINUSE);
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
	static const union weir_ip none;
	union weir_ip ip = sk->addr_explicit ? sk->bound : none;
	struct weir_key key = {.local = ip, .lport = sk->lport, .family = WEIR_IPV4};
	struct weir_sockent *ent;
	int ret;

	if (!weir_sock_connected(sk))
		return 0;
	if (!sk->port_explicit) {
		unhash(sk);
		sk->bound = ip;
	} else {
		ret = weir_socktab_insert(sk->stack, &key, sk, &ent);
		if (ret != 0)
			return ret;
		weir_socktab_remove(sk->stack, sk->ent);
		sk->ent = ent;
		sk->bound = ip;
	}
	memset(&sk->peer, 0, sizeof(sk->peer));
	return 0;
}

/* Control lock held. Choose the source and enter the 4-tuple. */
static int
connect_locked(struct weir_socket *sk, const struct weir_addr *peer)
{
	const struct weir_local *mine = weir_local_find(sk->stack, &peer->ip, WEIR_IPV4);
	const struct weir_socket *other;
	const struct weir_route *r;
	struct weir_sockent *ent;
	struct weir_key key;
	bool bound_here = false;
	bool bcast =
		peer->ip.v4 == 0xffffffff || (mine != NULL && mine->kind == WEIR_LOCAL_BROADCAST);
	int ret;

	if (bcast && !sk->broadcast)
		return -EACCES;
	r = weir_route_lookup(sk->stack, &peer->ip, WEIR_IPV4);
	if (r == NULL || (mine != NULL && mine->kind == WEIR_LOCAL_UNICAST) ||
	    (!sk->addr_explicit && !r->has_src))
		return -ENETUNREACH;
	if (sk->lport == 0) {
		ret = autobind_locked(sk);
		if (ret != 0)
			return ret;
		bound_here = true;
	}
	/* An address that was not the caller's choice may change with the peer; the port stays. */
	key = (struct weir_key){.local = sk->addr_explicit ? sk->bound : r->src,
				.peer = peer->ip,
				.lport = sk->lport,
				.pport = peer->port,
				.family = WEIR_IPV4};
	other = weir_socktab_exact(sk->stack, &key);
	if (other == sk) /* the same peer again */
		return 0;
	ret = other != NULL ? -EADDRINUSE : weir_socktab_insert(sk->stack, &key, sk, &ent);
	if (ret != 0) {
		if (bound_here)
			unhash(sk);
		return ret;
	}
	weir_socktab_remove(sk->stack, sk->ent);
	sk->ent = ent;
	sk->bound = key.local;
	sk->peer = *peer;
	return 0;
}

int
weir_socket_connect(struct weir_socket *sk, const struct weir_addr *peer)
{
	int ret;

	if (peer->family == WEIR_UNSPEC)
		return weir_socket_disconnect(sk);
	if (peer->family != WEIR_IPV4)
		return -EAFNOSUPPORT;
	if (peer->port == 0 || any(&peer->ip))
		return -EINVAL;
	weir_ctl_lock(sk->stack);
	ret = connect_locked(sk, peer);
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

void
weir_socket_local(const struct weir_socket *sk, struct weir_addr *out)
{
	memset(out, 0, sizeof(*out));
	weir_ctl_lock(sk->stack);
	if (sk->lport != 0 || sk->addr_explicit) {
		out->ip = sk->bound;
		out->port = sk->lport;
		out->family = WEIR_IPV4;
	}
	weir_ctl_unlock(sk->stack);
}

int
weir_socket_peer(const struct weir_socket *sk, struct weir_addr *out)
{
	int ret = -ENOTCONN;

	weir_ctl_lock(sk->stack);
	if (weir_sock_connected(sk)) {
		*out = sk->peer;
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
		.rcvbuf_bytes = atomic_load_explicit(&q->limit, memory_order_relaxed),
		.splices = weir_counter_read(&q->n_splices),
	};
}
