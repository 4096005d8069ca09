/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CONTROL: addresses and routes in words, for reports and for people who look for a mistake.
 */
#include <inttypes.h>
#include <stdio.h>

#include "ctl_priv.h"
#include "fib.h"

static void
print_prefix(FILE *f, const union weir_ip *ip, uint8_t family, uint8_t bits)
{
	struct weir_addr a = {.family = family};
	char text[WEIR_ADDR_STRLEN];

	a.ip = *ip;
	fprintf(f, "%s/%u", weir_addr_format(&a, text, sizeof(text)), bits);
}

static void
print_host(FILE *f, const char *word, const union weir_ip *ip, uint8_t family)
{
	struct weir_addr a = {.family = family};
	char text[WEIR_ADDR_STRLEN];

	a.ip = *ip;
	fprintf(f, " %s %s", word, weir_addr_format(&a, text, sizeof(text)));
}

static bool
print_route(void *arg, const struct weir_route *r)
{
	static const char *const kind[] = {
		[WEIR_ROUTE_UNICAST] = "",
		[WEIR_ROUTE_LOCAL] = " local",
		[WEIR_ROUTE_BLACKHOLE] = " blackhole",
		[WEIR_ROUTE_UNREACHABLE] = " unreachable",
		[WEIR_ROUTE_PROHIBIT] = " prohibit",
	};
	FILE *f = arg;
	unsigned int below = 0;

	fprintf(f, "route      ");
	print_prefix(f, &r->prefix, r->family, r->bits);
	fprintf(f, "%s", kind[r->kind]);
	if (r->from_bits != 0) {
		fprintf(f, " from ");
		print_prefix(f, &r->from, r->family, r->from_bits);
	}
	if (r->metric != 0)
		fprintf(f, " metric %" PRIu32, r->metric);
	fprintf(f, "%s%s\n", r->connected ? " connected" : "", r->learned ? " learned" : "");
	for (unsigned int i = 0; i < r->n_hops; i++) {
		const struct weir_nexthop *h = &r->hop[i];

		fprintf(f, "  by       %s%s", h->port->device,
			atomic_load(&h->port->link_up) ? "" : " (link down)");
		if (h->has_gateway)
			print_host(f, "via", &h->gateway, r->family);
		if (h->has_src && !r->connected)
			print_host(f, "src", &h->src, r->family);
		if (h->mtu != 0)
			fprintf(f, " mtu %u", h->mtu);
		if (r->n_hops > 1)
			fprintf(f, " share %.0f%%", (h->weight - below) * 100.0 / UINT16_MAX);
		below = h->weight;
		fputc('\n', f);
	}
	return true;
}

void
weir_routes_print(FILE *f, struct weir_stack *stack)
{
	const struct weir_control *c = stack->control;

	weir_ctl_lock(stack);
	for (size_t i = 0; i < c->n_addr; i++) {
		const struct weir_ctl_addr *a = &c->addr[i];

		fprintf(f, "address    ");
		print_prefix(f, &a->addr.ip, a->addr.family, a->bits);
		fprintf(f, " on %s%s%s%s%s\n", stack->ports[a->port]->device,
			a->tentative ? " tentative" : "", a->duplicate ? " duplicate" : "",
			a->learned ? " learned" : "", a->made ? " made of the MAC" : "");
	}
	weir_fib_each(stack, print_route, f);
	weir_ctl_unlock(stack);
}
