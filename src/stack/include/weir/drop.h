/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every reason for which weir refuses a frame or a datagram. The one list: the enum, the names, the
 * counters and the table in docs/drops.md come from it.
 *
 * Rules: a refused mbuf goes through exactly one drop call with one of these reasons. A name says
 * which field or resource said no; "rx" reasons count frames that came in, "tx" reasons count
 * datagrams or protocol frames that the stack had accepted for sending.
 */
#ifndef WEIR_DROP_H
#define WEIR_DROP_H

#include <weir/api.h>

WEIR_BEGIN_DECLS

/* X(symbol, "name", direction, "meaning") */
#define WEIR_DROP_LIST(X)                                                                          \
	X(ETH_SHORT, "eth_short", RX, "frame shorter than an Ethernet header")                     \
	X(ETH_OVERSIZE, "eth_oversize", RX, "frame longer than the port's MTU allows")             \
	X(ETH_SRC, "eth_src", RX, "source MAC is a group address or zero")                         \
	X(ETH_DST, "eth_dst", RX, "destination MAC is not ours, broadcast or multicast")           \
	X(ETH_TYPE, "eth_type", RX, "EtherType that the stack does not handle")                    \
	X(ETH_VLAN, "eth_vlan", RX, "tag of a VLAN that no port has, or a malformed one")          \
	X(ETH_QINQ, "eth_qinq", RX, "two tags")                                                    \
	X(ARP_BAD, "arp_bad", RX, "ARP truncated, not Ethernet/IPv4, or impossible addresses")     \
	X(IP_SHORT, "ip_short", RX, "frame ends inside the IP header")                             \
	X(IP_VERSION, "ip_version", RX, "version field does not match the EtherType")              \
	X(IP_HDR_LEN, "ip_hdr_len", RX, "IPv4 header length below 20 or beyond the packet")        \
	X(IP_LENGTH, "ip_length", RX, "total length below the header or beyond the frame")         \
	X(IP_CSUM, "ip_csum", RX, "IPv4 header checksum wrong")                                    \
	X(IP_OPTION, "ip_option", RX, "IPv4 option malformed, or a source route")                  \
	X(IP_SRC, "ip_src", RX, "source address impossible: multicast, broadcast, loopback, ours") \
	X(IP_DST, "ip_dst", RX, "destination address is not ours")                                 \
	X(IP_MCAST, "ip_mcast", RX, "multicast group that nobody joined")                          \
	X(IP_FRAG, "ip_frag", RX, "fragment, and reassembly is off")                               \
	X(FRAG_BAD, "frag_bad", RX,                                                                \
	  "fragment empty, of odd length, beyond 65535 bytes or beyond the end of its datagram")   \
	X(FRAG_OVERLAP, "frag_overlap", RX,                                                        \
	  "fragment overlaps another: the whole datagram is given up")                             \
	X(FRAG_DUP, "frag_dup", RX, "fragment that is there already")                              \
	X(FRAG_HEADER, "frag_header", RX, "first fragment without the whole header chain")         \
	X(FRAG_ECN, "frag_ecn", RX,                                                                \
	  "fragments of one datagram with ECN marks that do not go together")                      \
	X(FRAG_MANY, "frag_many", RX, "datagram in too many fragments")                            \
	X(FRAG_MEM, "frag_mem", RX,                                                                \
	  "memory for fragments used up: the oldest datagram was given up")                        \
	X(FRAG_SOURCE, "frag_source", RX, "too many fragments of one source")                      \
	X(FRAG_TIMEOUT, "frag_timeout", RX,                                                        \
	  "fragments whose datagram did not become whole in time")                                 \
	X(IP_PROTO, "ip_proto", RX, "protocol that the stack does not speak")                      \
	X(IP_RPF, "ip_rpf", RX,                                                                    \
	  "source address that has no way back, by that port or at all (rp_filter)")               \
	X(IP6_EXT, "ip6_ext", RX, "IPv6 extension header malformed, out of order, or too many")    \
	X(IP6_OPTION, "ip6_option", RX, "IPv6 option that is unknown and asks to be refused")      \
	X(IP6_JUMBO, "ip6_jumbo", RX, "IPv6 jumbogram")                                            \
	X(IP6_ROUTING, "ip6_routing", RX, "IPv6 routing header with segments left")                \
	X(ICMP_SHORT, "icmp_short", RX, "ICMP message truncated")                                  \
	X(ICMP_CSUM, "icmp_csum", RX, "ICMP checksum wrong")                                       \
	X(ICMP_QUOTE, "icmp_quote", RX, "ICMP error that quotes nothing we sent")                  \
	X(ICMP_NOROOM, "icmp_noroom", RX, "echo request: no room in the transmit queue to answer") \
	X(ND_BAD, "nd_bad", RX, "neighbour discovery message malformed or not from this link")     \
	X(MEMBER_BAD, "member_bad", RX, "IGMP or MLD message malformed or not from this link")     \
	X(UDP_SHORT, "udp_short", RX, "packet ends inside the UDP header")                         \
	X(UDP_LENGTH, "udp_length", RX, "UDP length below 8 or beyond the IP payload")             \
	X(UDP_CSUM, "udp_csum", RX, "UDP checksum wrong")                                          \
	X(UDP_CSUM_PARTIAL, "udp_csum_partial", RX,                                                \
	  "only the pseudo-header is summed: the sender left the checksum to its hardware")        \
	X(UDP_CSUM_ZERO, "udp_csum_zero", RX, "UDP over IPv6 without a checksum")                  \
	X(UDP_PORT0, "udp_port0", RX, "destination port 0")                                        \
	X(NO_SOCKET, "no_socket", RX, "no socket for this address and port")                       \
	X(RCVQ_FULL, "rcvq_full", RX, "socket receive buffer full")                                \
	X(MEM_LIMIT, "mem_limit", RX, "buffer pool down to what the port rings need")              \
	X(SOCK_CLOSED, "sock_closed", RX, "queued on a socket that was closed before reading")     \
	X(STACK_STOPPED, "stack_stopped", RX, "in transit inside the stack when it was stopped")   \
	X(PORT_GONE_RX, "port_gone_rx", RX, "in transit when its port was removed")                \
	X(MESH_FULL_RX, "mesh_full_rx", RX, "ring to the lcore that owns the packet is full")      \
	X(HOLD_FULL, "hold_full", TX, "oldest of too many datagrams waiting for a neighbour")      \
	X(NEIGH_FAILED, "neigh_failed", TX, "neighbour did not answer")                            \
	X(TXQ_FULL, "txq_full", TX, "transmit queue stayed full for too long")                     \
	X(TXQ_REFUSED, "txq_refused", TX, "transmit queue full and the caller asked to drop")      \
	X(TX_PREPARE, "tx_prepare", TX, "driver says that it cannot send this frame")              \
	X(TX_NO_BUFFER, "tx_no_buffer", TX, "no buffer for a fragment or a copy")                  \
	X(PORT_GONE_TX, "port_gone_tx", TX, "in transit when its port was removed")                \
	X(MESH_FULL_TX, "mesh_full_tx", TX, "ring to the lcore that owns the queue is full")       \
	X(TX_STOPPED, "tx_stopped", TX, "not yet sent when the stack was stopped")

/** Index of a drop counter. */
enum weir_drop {
#define WEIR_DROP_ENUM(sym, name, dir, text) WEIR_DROP_##sym,
	WEIR_DROP_LIST(WEIR_DROP_ENUM)
#undef WEIR_DROP_ENUM
		WEIR_DROP_N /* number of reasons */
};

/** Short stable name, as in tables and JSON; "?" for a number that is none. Any thread. */
WEIR_API const char *weir_drop_name(enum weir_drop reason);

/** One line of explanation. Any thread. */
WEIR_API const char *weir_drop_text(enum weir_drop reason);

/** 1: the reason counts received frames, 0: frames or datagrams to be sent. Any thread. */
WEIR_API int weir_drop_is_rx(enum weir_drop reason);

WEIR_END_DECLS

#endif /* WEIR_DROP_H */
