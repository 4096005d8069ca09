/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP of both families against a whole stack with some sockets: errors that quote what the sockets have sent, more or
 * less, other messages of any kind, datagrams that call for errors, and time.
 *
 * What always has to hold: nothing vanishes (weir_stats_check, and every buffer comes back), no error is about an error,
 * a frame has no more than one answer, and no path MTU is below its floor.
 *
 * With -DFUZZ_LIBFUZZER=1 a libFuzzer target (ASAN_OPTIONS=detect_leaks=0, for the stack is there until the end).
 * Otherwise a program: --runs N --seed S makes N random inputs, --corpus
 * FILE takes those of the file, one a line, in hexadecimal digits; other arguments are files to replay.
 */
#include "common/ut_stack.h"

#include <errno.h>

#include "common/ut_clock.h"
#include "lcore.h"
#include "pmtu.h"

#define INPUT_MAX 2048
#define PORT      UT_OUR_PORT

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static struct ut_stack *s;

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

static uint32_t
word(struct input *in)
{
	uint32_t v = byte(in);

	v = v << 8 | byte(in);
	v = v << 8 | byte(in);
	return v << 8 | byte(in);
}

static void
must(bool cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* ---- the stack: made once, as good as new for each input ---- */

static void
open_sockets(void)
{
	const struct weir_addr peer4 = weir_addr_v4(UT_PEER_IP, UT_PEER_PORT);
	const struct weir_addr peer6 = ut_addr6(UT_PEER_IP6, UT_PEER_PORT);

	for (unsigned int i = 0; i < 4; i++) {
		struct weir_socket *sk = i < 2 ? ut_stack_socket(s, (uint16_t)(PORT + i))
					       : ut_stack_socket6(s, (uint16_t)(PORT + i));

		if (i % 2 != 0)
			must(weir_socket_set(sk, WEIR_OPT_RECVERR, 1) == 0, "option");
		if (i == 3)
			must(weir_socket_set(sk, WEIR_OPT_RECVERR6, 1) == 0, "option");
		if (i % 2 == 0)
			must(weir_socket_connect(sk, i < 2 ? &peer4 : &peer6) == 0, "connect");
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct ut_stack_cfg cfg;
	void *state = NULL;

	(void)argc;
	(void)argv;
	if (ut_stack_setup(&state) != 0)
		return 1;
	s = state;
	cfg = ut_stack_cfg();
	cfg.ip6 = true;
	cfg.port.accept_redirects = true;
	cfg.stack.max_pmtu = 16;
	cfg.stack.icmp_rate = 1000000;
	ut_stack_up(s, &cfg);
	ut_stack_peer(s);
	ut_stack_peer6(s);
	open_sockets();
	return 0;
}

/* Frames that were sent: how many are answers, and is one of them an error? */
static unsigned int
answers(bool *error)
{
	static struct ut_frame f;
	unsigned int n = 0;

	*error = false;
	while (ut_stack_take(s, 0, &f)) {
		const uint16_t type = ut_get16(f.b + 12);

		if (type == 0x0800 && f.b[23] == 1) {
			n++;
			*error |= f.b[34] == 3 || f.b[34] == 11 || f.b[34] == 12;
		} else if (type == 0x86dd && f.b[20] == 58 && (f.b[54] < 130 || f.b[54] > 137)) {
			n++;
			*error |= f.b[54] < 128;
		}
	}
	return n;
}

static void
feed(const struct ut_pkt *p, bool is_error)
{
	bool error;
	unsigned int n;

	(void)answers(&error); /* what timers have sent */
	ut_stack_rx(s, 0, p);
	n = answers(&error);
	must(n <= 1, "one answer at most");
	must(!(is_error && n > 0), "errors are not answered");
}

/* ---- the steps ---- */

static void
step_error(struct input *in, bool v6)
{
	const uint8_t pick = byte(in);
	struct ut_pkt sent = v6 ? ut_pkt_udp6() : ut_pkt_udp();
	static uint8_t b[512];
	struct ut_pkt p;
	size_t len, cut;

	sent.ip_src = UT_OUR_IP;
	sent.ip_dst = UT_PEER_IP;
	memcpy(sent.ip6_src, UT_OUR_IP6, 16);
	memcpy(sent.ip6_dst, UT_PEER_IP6, 16);
	sent.udp_sport = (uint16_t)(PORT + pick % 4);
	sent.udp_dport = UT_PEER_PORT;
	if (v6 && (pick & 0x10) != 0)
		ut_pkt_ext6(&sent, pick & 0x20 ? 60 : 0, "\x01\x04\0\0\0\0", 6);
	if (v6 && (pick & 0x40) != 0)
		ut_pkt_frag6(&sent, pick & 0x20 ? 8 : 0, 1, 1);
	if (!v6 && (pick & 0x10) != 0)
		sent.ip_opt_len = 8;
	len = ut_pkt_bytes(&sent, b, sizeof(b)) - 14;
	cut = (pick & 0x80) != 0 ? byte(in) % (len + 1) : len;
	for (uint8_t k = byte(in) % 8; k > 0; k--) {
		const uint8_t at = byte(in);

		b[14 + at % len] ^= byte(in);
	}
	if (v6) {
		p = ut_pkt_icmp6_echo();
		p.icmp_type = byte(in) % 8;
	} else {
		static const uint8_t types[] = {3, 3, 11, 12, 5, 4};

		p = ut_pkt_icmp_error(types[byte(in) % UT_N(types)], 0, NULL, 0);
	}
	p.icmp_code = byte(in) % 32;
	p.icmp_id = (uint16_t)word(in);
	p.icmp_seq = (uint16_t)word(in);
	if ((byte(in) & 3) == 0) { /* a gateway that could be one */
		p.icmp_id = 0x0a00;
		p.icmp_seq = 0x0009;
	}
	p.payload = b + 14;
	p.payload_len = cut;
	feed(&p, true);
}

/* Any message, checksum right. */
static void
step_message(struct input *in, bool v6)
{
	struct ut_pkt p = v6 ? ut_pkt_icmp6_echo() : ut_pkt_icmp_echo();
	uint8_t how = byte(in);
	size_t len = byte(in);

	if ((how & 1) != 0 && v6) {
		memset(p.ip6_dst, 0, 16);
		p.ip6_dst[0] = 0xff;
		p.ip6_dst[1] = 2;
		p.ip6_dst[15] = 1;
		memcpy(p.eth_dst, "\x33\x33\0\0\0\x01", 6);
	}
	if ((how & 2) != 0)
		p.ip_ttl = 255;
	if ((how & 4) != 0 && v6)
		ut_pkt_ext6(&p, 0, "\x05\x02\0\0\x01\0", 6); /* router alert */
	p.icmp_type = byte(in);
	p.icmp_code = byte(in);
	p.icmp_id = (uint16_t)word(in);
	p.icmp_seq = (uint16_t)word(in);
	p.payload_len = len < in->left ? len : in->left;
	p.payload = in->p;
	in->p += p.payload_len;
	in->left -= p.payload_len;
	feed(&p,
	     v6 ? p.icmp_type < 128 : p.icmp_type == 3 || p.icmp_type == 11 || p.icmp_type == 12);
}

/* A datagram for nobody, perhaps with headers that are wrong. */
static void
step_datagram(struct input *in, bool v6)
{
	struct ut_pkt p = v6 ? ut_pkt_udp6() : ut_pkt_udp();
	uint8_t how = byte(in);
	uint8_t ext = 60;
	uint8_t body[6];

	p.udp_dport = (uint16_t)(how & 1 ? 1 : PORT);
	p.payload_len = (size_t)(how >> 1) * 8;
	if (v6 && (byte(in) & 1) != 0) {
		for (size_t i = 0; i < sizeof(body); i++)
			body[i] = byte(in);
		ext = body[0] & 1 ? 60 : byte(in);
		ut_pkt_ext6(&p, ext, body, sizeof(body));
	}
	p.ip_proto = (byte(in) & 7) == 0 ? byte(in) : 17;
	if ((byte(in) & 7) == 0)
		memcpy(p.eth_dst, UT_BROADCAST_MAC, 6);
	/* Behind a header that nobody knows there is no ICMP in sight. */
	feed(&p, p.ip_proto == (v6 ? 58 : 1) &&
			 (ext == 0 || ext == 43 || ext == 44 || ext == 51 || ext == 60));
}

static void
step_socket(struct input *in)
{
	struct weir_socket *sk = s->sk[byte(in) % 4];
	static struct weir_sockerr e;
	bool error;
	char b[64];

	switch (byte(in) % 4) {
	case 0:
		(void)weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER, byte(in) % 6);
		(void)weir_socket_set(sk, WEIR_OPT_MTU_DISCOVER6, byte(in) % 6);
		break;
	case 1:
		while (weir_socket_errqueue(sk, &e) == 0)
			must(e.err > 0 && e.len <= sizeof(e.payload) && e.origin >= 2, "entry");
		break;
	case 2:
		(void)weir_send(s->w[0], sk, b, byte(in) % sizeof(b), NULL);
		ut_stack_poll(s);
		(void)answers(&error);
		break;
	default:
		while (weir_recv(s->w[0], sk, b, sizeof(b), NULL) >= 0)
			;
	}
}

static void
must_be_sound(void)
{
	const struct weir_addr peer6 = ut_addr6(UT_PEER_IP6, 0);
	const struct weir_addr peer4 = weir_addr_v4(UT_PEER_IP, 0);
	bool lock, error;
	uint16_t mtu = weir_pmtu_get(s->stack, &peer4.ip, WEIR_IPV4, ut_clock_now(), &lock);

	must(mtu == 0 || mtu >= 552, "IPv4 floor");
	must(!lock || mtu == 552, "locked at the floor only");
	mtu = weir_pmtu_get(s->stack, &peer6.ip, WEIR_IPV6, ut_clock_now(), &lock);
	must((mtu == 0 || mtu >= 1280) && !lock, "IPv6 floor");
	ut_stack_identity(s, "after an input");
	for (unsigned int i = 0; i < s->n_sk; i++) {
		char b[64];

		while (weir_recv(s->w[0], s->sk[i], b, sizeof(b), NULL) != -EAGAIN)
			;
		(void)weir_socket_error(s->sk[i]);
	}
	/* Fragments wait. */
	ut_stack_pass(s, 62 * WEIR_NS_PER_S, 31 * WEIR_NS_PER_S);
	(void)answers(&error);
	must(rte_mempool_avail_count(s->pool) == s->pool->size, "every injected buffer is back");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {.p = data, .left = size < INPUT_MAX ? size : INPUT_MAX};
	bool error;

	weir_pmtu_flush(s->stack);
	while (in.left > 0) {
		const uint8_t op = byte(&in);

		switch (op % 8) {
		case 0:
		case 1:
		case 2:
			step_error(&in, (op & 8) != 0);
			break;
		case 3:
			step_message(&in, (op & 8) != 0);
			break;
		case 4:
			step_datagram(&in, (op & 8) != 0);
			break;
		case 5:
			ut_clock_advance((uint64_t)byte(&in) * byte(&in) * WEIR_NS_PER_MS);
			ut_stack_poll(s);
			(void)answers(&error);
			break;
		default:
			step_socket(&in);
		}
	}
	must_be_sound();
	return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint8_t input[INPUT_MAX];

static int
replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	n = fread(input, 1, sizeof(input), file);
	fclose(file);
	return LLVMFuzzerTestOneInput(input, n);
}

static int
corpus(const char *path)
{
	static char line[2 * INPUT_MAX + 2];
	FILE *file = fopen(path, "r");
	unsigned int n_inputs = 0;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		unsigned int b;
		size_t n = 0;

		if (line[0] == '#')
			continue;
		while (n < INPUT_MAX && sscanf(line + 2 * n, "%2x", &b) == 1)
			input[n++] = (uint8_t)b;
		n_inputs++;
		LLVMFuzzerTestOneInput(input, n);
	}
	fclose(file);
	printf("%u inputs of %s\n", n_inputs, path);
	return n_inputs == 0;
}

static uint64_t
next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

int
main(int argc, char **argv)
{
	unsigned long runs = 0, seed = 1;
	void *state;

	if (LLVMFuzzerInitialize(&argc, &argv) != 0)
		return 1;
	for (int i = 1; i < argc; i++) {
		int bad = 0;

		if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
			runs = strtoul(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
			seed = strtoul(argv[++i], NULL, 0);
		else if (strcmp(argv[i], "--corpus") == 0 && i + 1 < argc)
			bad = corpus(argv[++i]);
		else
			bad = replay(argv[i]);
		if (bad != 0)
			return 1;
	}
	for (unsigned long r = 0; r < runs; r++) {
		uint64_t x = (seed + r) * UINT64_C(0x9E3779B97F4A7C15) + 1;
		size_t n = 8 + next(&x) % 300;

		for (size_t i = 0; i < n; i++)
			input[i] = (uint8_t)(next(&x) >> 24);
		LLVMFuzzerTestOneInput(input, n);
	}
	printf("%lu random inputs from seed %lu\n", runs, seed);
	state = s;
	return ut_stack_teardown(&state);
}

#endif
