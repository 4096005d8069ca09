/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receive path of both families through a whole stack: frames of all kinds, more or less broken, cut into
 * segments, tagged, in fragments, for sockets, groups, a VLAN and for nobody.
 *
 * What always has to hold: nothing vanishes (weir_stats_check, and every buffer comes back); what a message says
 * is so; and a frame gets the same verdict in a burst, behind others of its flow, as alone and unknown.
 *
 * With -DFUZZ_LIBFUZZER=1 a libFuzzer target. Otherwise a program: --runs N --seed S makes N random inputs, --corpus
 * FILE takes those of the file, one a line, in hexadecimal digits; other arguments are files to replay.
 */
#include "common/ut_stack.h"

#include <ctype.h>

#include "common/ut_clock.h"
#include "lcore.h"

#define INPUT_MAX  2048
#define MAX_FRAMES 24
#define PORT       UT_OUR_PORT
#define POOL       2047

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct ut_stack *s;
static const uint8_t group6[16] = {0xff, 0x05, [14] = 1, 2};

struct input {
	const uint8_t *p;
	size_t left;
};

static uint8_t
byte(struct input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->p++;
}

static void
must(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* ---- the frames of an input ---- */

struct frame {
	uint8_t b[2048];
	size_t len;
	size_t cut; /* where the second segment begins; 0: one segment */
};

static struct frame frames[MAX_FRAMES];

static struct ut_pkt
base(struct input *in, uint8_t kind)
{
	struct ut_pkt p;

	switch (kind % 8) {
	case 0:
	case 1:
		p = ut_pkt_udp();
		break;
	case 2:
	case 3:
		p = ut_pkt_udp6();
		break;
	case 4:
		p = ut_pkt_icmp_echo();
		break;
	case 5:
		p = ut_pkt_icmp6_echo();
		p.icmp_type = byte(in);
		break;
	case 6:
		p = byte(in) % 2 != 0 ? ut_pkt_arp_request() : ut_pkt_arp_reply();
		break;
	default: /* IGMP, and what nobody speaks */
		p = ut_pkt_udp();
		p.kind = UT_RAW_IP4;
		p.ip_proto = byte(in) % 4 != 0 ? 2 : byte(in);
		break;
	}
	return p;
}

static void
extend(struct input *in, struct ut_pkt *p)
{
	for (unsigned int n = byte(in) % 4; n > 0; n--) {
		static const uint8_t types[] = {0, 43, 44, 60};
		const uint8_t type = types[byte(in) % UT_N(types)];
		uint8_t body[22] = {1, 4};
		const size_t len = type == 44 ? 6 : 6 + 8 * (size_t)(byte(in) % 3);

		if (type == 43)
			body[0] = body[1] = 0;
		for (unsigned int k = byte(in) % 4; k > 0; k--) {
			const uint8_t at = byte(in);

			body[at % len] = byte(in);
		}
		if (type != 44 && len > 6 && body[0] == 1)
			body[1] = 1, body[3] = 0x1e, body[4] = (uint8_t)(len - 5);
		ut_pkt_ext6(p, type, body, len);
	}
}

static void
make_frame(struct input *in, struct frame *f)
{
	const uint8_t kind = byte(in), how = byte(in), to = byte(in);
	struct ut_pkt p = base(in, kind);

	p.payload_len = byte(in);
	if ((how & 1) != 0) {
		p.trailer_len = byte(in) % 20;
		if (p.kind >= UT_UDP6)
			extend(in, &p);
		else
			p.ip_opt_len = byte(in) % 41;
		memset(p.ip_opt, 1, sizeof(p.ip_opt));
		p.ip_opt[byte(in) % 40] = byte(in);
	}
	p.udp_dport = (uint16_t)(PORT + (to & 3));
	if ((to & 4) != 0) {
		p.ip_src += byte(in);
		p.ip6_src[15] = byte(in);
		p.udp_sport = (uint16_t)(p.udp_sport + byte(in) % 4);
	}
	if ((to & 0x38) == 8) {
		memcpy(p.ip6_dst, group6, 16);
		memcpy(p.eth_dst, "\x33\x33\0\0\1\2", 6);
		p.ip_dst = UT_IP(239, 1, 1, 1);
	}
	if ((to & 0xc0) == 0x40) {
		p.vlan_tci = byte(in) % 8;
		p.ip_dst = UT_IP(10, 0, 5, 1);
	}
	if ((how & 6) == 2 && p.kind != UT_ARP) { /* a piece of something */
		if (p.kind >= UT_UDP6)
			ut_pkt_frag6(&p, (unsigned int)(byte(in) % 8) * 8, byte(in) & 1, to & 3);
		p.ip_frag = (uint16_t)(byte(in) % 8 | (byte(in) & 1) << 13);
		p.ip_id = to & 3;
	}
	if ((how & 6) == 4)
		p.udp_csum = byte(in);
	f->len = ut_pkt_bytes(&p, f->b, sizeof(f->b));
	if ((how & 8) != 0)
		for (unsigned int k = 1 + byte(in) % 4; k > 0; k--) {
			const size_t at = byte(in);

			f->b[at % f->len] = byte(in);
		}
	if ((how & 0x10) != 0 && p.kind < UT_UDP6 && p.vlan_tci == UT_AUTO)
		ut_fix_ip_csum(f->b, f->len);
	if ((how & 0x20) != 0)
		f->len = byte(in) % (f->len + 1);
	f->cut = (how & 0x40) != 0 && f->len > 0 ? byte(in) % f->len : 0;
}

static struct rte_mbuf *
mbuf_of(const struct frame *f)
{
	struct rte_mbuf *m, *tail;

	if (f->cut == 0)
		return ut_bytes_mbuf(f->b, f->len, s->pool);
	m = ut_bytes_mbuf(f->b, f->cut, s->pool);
	tail = ut_bytes_mbuf(f->b + f->cut, f->len - f->cut, s->pool);
	must(rte_pktmbuf_chain(m, tail) == 0, "chain");
	return m;
}

/* ---- a run over all of them ---- */

/* What has become of them: a sum over all messages in order, and the counters. */
struct result {
	uint64_t drops[WEIR_DROP_N], consumed[WEIR_PROTO_N], delivered;
	uint64_t messages
		[4][2]; /* per socket and port: tagged frames of a burst come behind the others */
};

static uint64_t
mix(uint64_t h, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
	return h;
}

static void
read_all(struct result *r)
{
	struct weir_rxmsg msg;
	uint8_t buf[4096];

	for (unsigned int k = 0; k < s->n_sk; k++)
		while (weir_recv_burst(s->w[0], s->sk[k], &msg, 1) == 1) {
			const size_t len = ut_mbuf_bytes(msg.m, buf, sizeof(buf));
			uint64_t *h = &r->messages[k][msg.port % 2];

			must(len == msg.len, "the message is as long as it says");
			must(msg.peer.family == msg.local.family &&
				     (msg.peer.family == 4 || msg.peer.family == 6),
			     "families");
			must(msg.local.port == rte_cpu_to_be_16((uint16_t)(PORT + k)), "port");
			must(msg.port < 2, "came in by a port that is there");
			*h = mix(*h, &msg.peer, sizeof(msg.peer));
			*h = mix(*h, &msg.local, sizeof(msg.local));
			*h = mix(*h, buf, len);
			*h = mix(*h, &msg.ttl, 2);
			weir_mbuf_free_bulk(&msg.m, 1);
		}
}

static void
discard_sent(void)
{
	static struct ut_frame f;

	while (ut_stack_take(s, 0, &f))
		;
}

static void
run(unsigned int n, bool burst, struct result *r)
{
	struct rte_mbuf *m[MAX_FRAMES];
	struct weir_stats st;

	memset(r, 0, sizeof(*r));
	ut_stack_mark(s);
	for (unsigned int i = 0; i < n; i++)
		m[i] = mbuf_of(&frames[i]);
	if (burst) {
		if (n > 0)
			weir_input(s->w[0], 0, m, n);
	} else {
		for (unsigned int i = 0; i < n; i++) {
			s->w[0]->rx_last[0].gen = s->w[0]->rx_last[1].gen = 0;
			weir_input(s->w[0], 0, &m[i], 1);
		}
	}
	read_all(r);
	weir_stats_get(s->stack, &st);
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		if (weir_drop_is_rx((enum weir_drop)i))
			r->drops[i] = st.drops[i] - s->mark.drops[i];
	for (unsigned int i = 0; i < WEIR_PROTO_N; i++)
		r->consumed[i] = st.rx_consumed[i] - s->mark.rx_consumed[i];
	r->delivered = st.rx_delivered - s->mark.rx_delivered;
	must(weir_stats_check(s->stack, &st) == 0, "the sums fit");
	/* What waits for more gives up, so that the next run finds nothing. */
	ut_stack_poll(s);
	discard_sent();
	ut_stack_pass(s, 64 * WEIR_NS_PER_S, 32 * WEIR_NS_PER_S);
	discard_sent();
	read_all(r);
	must(weir_stats_check(s->stack, &st) == 0, "the sums fit afterwards");
	must(st.rx_frags == 0 && st.rx_queued == 0, "nothing waits any more");
	must(rte_mempool_avail_count(s->pool) == POOL, "every buffer is back");
}

static void
explain(unsigned int n, const struct result *a, const struct result *b)
{
	for (unsigned int i = 0; i < WEIR_DROP_N; i++)
		if (a->drops[i] != b->drops[i])
			fprintf(stderr, "%s: alone %" PRIu64 ", in a burst %" PRIu64 "\n",
				weir_drop_name((enum weir_drop)i), a->drops[i], b->drops[i]);
	for (unsigned int i = 0; i < WEIR_PROTO_N; i++)
		if (a->consumed[i] != b->consumed[i])
			fprintf(stderr, "protocol %u: alone %" PRIu64 ", in a burst %" PRIu64 "\n",
				i, a->consumed[i], b->consumed[i]);
	fprintf(stderr, "delivered: alone %" PRIu64 ", in a burst %" PRIu64 "\n", a->delivered,
		b->delivered);
	for (unsigned int i = 0; i < n; i++) {
		fprintf(stderr, "%zu bytes, cut at %zu:", frames[i].len, frames[i].cut);
		for (size_t k = 0; k < frames[i].len && k < 80; k++)
			fprintf(stderr, " %02x", frames[i].b[k]);
		fprintf(stderr, "\n");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct result alone, behind;
	struct input in = {data, size};
	unsigned int n = 0;

	while (in.left > 0 && n < MAX_FRAMES) {
		if (n > 0 && byte(&in) % 3 == 0)
			frames[n] = frames[n - 1]; /* once more the same */
		else
			make_frame(&in, &frames[n]);
		n++;
	}
	run(n, false, &alone);
	run(n, true, &behind);
	if (memcmp(&alone, &behind, sizeof(alone)) != 0)
		explain(n, &alone, &behind);
	must(memcmp(&alone, &behind, sizeof(alone)) == 0, "the same verdict alone and in a burst");
	return 0;
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct weir_addr g6 = ut_addr6(group6, 0);
	const struct weir_addr g4 = weir_addr_v4(UT_IP(239, 1, 1, 1), 0);
	const struct weir_addr vlan_ip = weir_addr_v4(UT_IP(10, 0, 5, 1), 0);
	struct weir_port_conf vlan;
	struct ut_stack_cfg cfg;
	struct weir_error err;
	void *state = NULL;

	(void)argc;
	(void)argv;
	if (ut_stack_setup(&state) != 0)
		return 1;
	s = state;
	cfg = ut_stack_cfg();
	cfg.ip6 = true;
	cfg.no_start = true;
	cfg.stack.icmp_rate = 1; /* what is sent back is looked at elsewhere */
	ut_stack_up(s, &cfg);
	weir_port_conf_init(&vlan);
	vlan.device = s->device[0];
	vlan.vlan = 5;
	vlan.dad = 0;
	must(weir_port_add(s->stack, &vlan, &err) == 1, "VLAN");
	must(weir_addr_add(s->stack, 1, &vlan_ip, 24, &err) == 0, "address of the VLAN");
	must(weir_stack_start(s->stack, &err) == 0, "start");
	ut_stack_attach(s);
	ut_stack_peer(s);
	ut_stack_peer6(s);
	for (unsigned int i = 0; i < 3; i++)
		(void)(i == 1 ? ut_stack_socket(s, PORT + 1)
			      : ut_stack_socket6(s, (uint16_t)(PORT + i)));
	must(weir_socket_join(s->sk[0], &g6, NULL, 0) == 0, "join");
	must(weir_socket_join(s->sk[1], &g4, NULL, 0) == 0, "join");
	ut_stack_pass(s, 20 * WEIR_NS_PER_S, WEIR_NS_PER_S);
	discard_sent();
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static void
replay_line(const char *line)
{
	static uint8_t data[INPUT_MAX];
	size_t n = 0;

	while (n < sizeof(data) && isxdigit((unsigned char)line[0]) &&
	       isxdigit((unsigned char)line[1])) {
		const char digits[3] = {line[0], line[1], '\0'};

		data[n++] = (uint8_t)strtoul(digits, NULL, 16);
		line += 2;
	}
	if (n > 0)
		LLVMFuzzerTestOneInput(data, n);
}

static int
replay_corpus(const char *path)
{
	static char line[2 * INPUT_MAX + 8];
	FILE *file = fopen(path, "r");

	if (file == NULL) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), file) != NULL)
		replay_line(line);
	fclose(file);
	return 0;
}

static int
replay(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rb");
	size_t n;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	n = fread(data, 1, sizeof(data), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(data, n);
}

int
main(int argc, char **argv)
{
	uint64_t runs = 0, seed = 1;
	void *state;
	int ret = 0;

	if (LLVMFuzzerInitialize(&argc, &argv) != 0)
		return 1;
	for (int i = 1; i < argc && ret == 0; i++) {
		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoull(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--corpus") == 0 && i + 1 < argc)
			ret = replay_corpus(argv[++i]);
		else
			ret = replay(argv[i]);
	}
	for (uint64_t r = 0; r < runs && ret == 0; r++) {
		struct ut_rng rng = {.state = seed + r};
		static uint8_t data[INPUT_MAX];
		const size_t n = 1 + ut_rand_below(&rng, 400);

		for (size_t i = 0; i < n; i++)
			data[i] = (uint8_t)ut_rand(&rng);
		ret = LLVMFuzzerTestOneInput(data, n);
	}
	state = s;
	return ret != 0 || ut_stack_teardown(&state) != 0;
}

#endif
