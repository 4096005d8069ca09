/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The smallest useful weir program: one thread, one port, one socket. Every datagram goes back to
 * where it came from, in the buffer that it came in: nothing is copied.
 *
 *   echo [EAL options] -- ADDR/LEN PORT [GATEWAY]
 *   echo -l 0 --no-huge -m 256 --no-pci --vdev net_tap0,iface=weir0 -- 10.66.1.2/24 7
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <weir/weir.h>

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void
check(int rc, const char *what, const struct weir_error *err)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "echo: %s: %s\n", what,
		err != NULL && err->text[0] != '\0' ? err->text : strerror(-rc));
	exit(1);
}

/* What one turn brought: read it, turn it round, send it. Returns how many. */
static unsigned int
echo_burst(struct weir_lcore *lc, struct weir_socket *sk)
{
	struct weir_rxmsg in[WEIR_MAX_BURST];
	struct weir_txmsg out[WEIR_MAX_BURST];
	uint16_t n = weir_recv_burst(lc, sk, in, WEIR_MAX_BURST), done = 0;

	for (uint16_t i = 0; i < n; i++) {
		out[i] = (struct weir_txmsg){.m = in[i].m, .to = &in[i].peer};
	}
	while (done < n) {
		/* A full port drops and counts; other errors concern the next datagram alone. */
		done += weir_send_burst(lc, sk, out + done, n - done, WEIR_SEND_DROP);
		if (done < n)
			weir_mbuf_free_bulk(&out[done++].m, 1);
	}
	return n;
}

int
main(int argc, char **argv)
{
	struct weir_addr local, any, gateway;
	struct weir_socket_conf sk_conf;
	struct weir_stack_conf stack_conf;
	struct weir_port_conf port_conf;
	struct weir_error err = {.code = 0};
	struct weir_stats stats;
	struct weir_stack *stack;
	struct weir_socket *sk;
	struct weir_lcore *lc;
	unsigned long udp_port;
	uint8_t prefix_bits;
	int eal = argc > 1 && strcmp(argv[1], "--help") == 0 ? -1 : rte_eal_init(argc, argv);

	argc -= eal;
	argv += eal;
	if (eal < 0 || argc < 3 || argc > 4 ||
	    weir_prefix_parse(argv[1], &local, &prefix_bits) < 0 ||
	    (udp_port = strtoul(argv[2], NULL, 10)) < 1 || udp_port > 65535 ||
	    (argc == 4 && weir_addr_parse(argv[3], &gateway) < 0)) {
		fprintf(stderr, "usage: echo [EAL options] -- ADDR/LEN PORT [GATEWAY]\n");
		return eal == -1 ? 0 : 2;
	}

	any = (struct weir_addr){.family = local.family}; /* as the address is, so is the socket */

	/* The stack: the first ethdev that EAL found, one address on it, perhaps a way out. */
	weir_stack_conf_init(&stack_conf);
	check(weir_stack_create(&stack_conf, &stack, &err), "stack", &err);
	weir_port_conf_init(&port_conf);
	port_conf.device = "0";
	check(weir_port_add(stack, &port_conf, &err), "port", &err);
	check(weir_addr_add(stack, 0, &local, prefix_bits, &err), "address", &err);
	if (argc == 4)
		check(weir_route_add(stack, &any, 0, &gateway, 0, &err), "gateway", &err);
	check(weir_stack_start(stack, &err), "start", &err);

	/* The socket, and this thread as the one worker. */
	any.port = weir_addr_v4(0, (uint16_t)udp_port).port; /* in network order */
	weir_socket_conf_init(&sk_conf);
	sk_conf.family = local.family;
	check(weir_socket_open(stack, &sk_conf, &sk), "socket", NULL);
	check(weir_socket_bind(sk, &any), "bind", NULL);
	check(weir_worker_attach(stack, 0, &lc), "worker", NULL);

	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	printf("echo: ready\n");
	fflush(stdout);
	while (!stopped) {
		unsigned int work = weir_turn(lc);

		weir_idle(lc, work + echo_burst(lc, sk));
	}

	weir_lcore_detach(lc);
	weir_socket_close(sk);
	weir_stack_stop(stack);
	if (weir_stats_check(stack, &stats) < 0)
		fprintf(stderr, "echo: a frame is unaccounted for\n");
	weir_stats_print(stdout, &stats);
	check(weir_stack_destroy(stack), "destroy", NULL);
	rte_eal_cleanup();
	return 0;
}
