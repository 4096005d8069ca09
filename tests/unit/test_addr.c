/* SPDX-License-Identifier: BSD-3-Clause */
/* Text forms of addresses: what is accepted, what is refused, and that printing is the inverse. */
#include "ut.h"

#include <errno.h>

#include <weir/addr.h>

/* Every output byte starts as this; a refused text must leave it. */
#define UNTOUCHED 0x5a

struct good {
	const char *text;
	uint8_t family;
	uint8_t ip[16];
	uint16_t port; /* host order */
	uint32_t scope;
	uint8_t len_bits;
	const char *printed; /* when it differs from text */
};

static void
check_equal(const struct weir_addr *got, const struct good *row)
{
	struct weir_addr want;

	memset(&want, 0, sizeof(want));
	want.family = row->family;
	memcpy(want.ip.b, row->ip, sizeof(row->ip));
	want.port = (uint16_t)(row->port >> 8 | row->port << 8);
	want.scope = row->scope;
	ut_check_bytes(got, &want, sizeof(want), "%s", row->text);
}

static void
check_printed(const struct weir_addr *addr, const struct good *row)
{
	char buf[WEIR_ADDR_STRLEN];

	assert_ptr_equal(weir_addr_format(addr, buf, sizeof(buf)), buf);
	assert_string_equal(buf, row->printed != NULL ? row->printed : row->text);
}

static void
parses_addresses_and_prints_them_back(void **state)
{
	static const struct good rows[] = {
		{"0.0.0.0", WEIR_IPV4, {0}, 0, 0, 0, NULL},
		{"10.0.0.1", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 0, NULL},
		{"255.255.255.255", WEIR_IPV4, {255, 255, 255, 255}, 0, 0, 0, NULL},
		{"::", WEIR_IPV6, {0}, 0, 0, 0, NULL},
		{"::1", WEIR_IPV6, {[15] = 1}, 0, 0, 0, NULL},
		{"2001:DB8:0:0::1",
		 WEIR_IPV6,
		 {0x20, 1, 0x0d, 0xb8, [15] = 1},
		 0,
		 0,
		 0,
		 "2001:db8::1"},
		{"::ffff:10.0.0.1", WEIR_IPV6, {[10] = 0xff, 0xff, 10, 0, 0, 1}, 0, 0, 0, NULL},
		{"fe80::1", WEIR_IPV6, {0xfe, 0x80, [15] = 1}, 0, 0, 0, NULL},
		{"fe80::1%0", WEIR_IPV6, {0xfe, 0x80, [15] = 1}, 0, 1, 0, NULL},
		{"febf::1%4294967294", WEIR_IPV6, {0xfe, 0xbf, [15] = 1}, 0, UINT32_MAX, 0, NULL},
		{"ff01::1%3", WEIR_IPV6, {0xff, 1, [15] = 1}, 0, 4, 0, NULL},
		{"ff32::1%3", WEIR_IPV6, {0xff, 0x32, [15] = 1}, 0, 4, 0, NULL},
	};
	struct weir_addr a;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(rows); i++) {
		memset(&a, UNTOUCHED, sizeof(a));
		ut_check(weir_addr_parse(rows[i].text, &a) == 0, "%s", rows[i].text);
		check_equal(&a, &rows[i]);
		check_printed(&a, &rows[i]);
	}
}

static void
addresses_of_numbers_are_those_of_their_texts(void **state)
{
	static const uint8_t bytes[16] = {0xfe, 0x80, [15] = 7};
	struct weir_addr want, got = weir_addr_v6(bytes, 53, 3);

	(void)state;
	assert_int_equal(weir_endpoint_parse("[fe80::7%2]:53", &want), 0);
	assert_memory_equal(&got, &want, sizeof(want));
	got = weir_addr_v4(0x0a000001, 53);
	assert_int_equal(weir_endpoint_parse("10.0.0.1:53", &want), 0);
	assert_memory_equal(&got, &want, sizeof(want));
}

static void
parses_endpoints_and_prints_them_back(void **state)
{
	static const struct good rows[] = {
		{"10.0.0.1:0", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 0, "10.0.0.1"},
		{"10.0.0.1:1", WEIR_IPV4, {10, 0, 0, 1}, 1, 0, 0, NULL},
		{"10.0.0.1:53", WEIR_IPV4, {10, 0, 0, 1}, 53, 0, 0, NULL},
		{"0.0.0.0:65535", WEIR_IPV4, {0}, 65535, 0, 0, NULL},
		{"[2001:db8::1]:53", WEIR_IPV6, {0x20, 1, 0x0d, 0xb8, [15] = 1}, 53, 0, 0, NULL},
		{"[::]:256", WEIR_IPV6, {0}, 256, 0, 0, NULL},
		{"[::]:0", WEIR_IPV6, {0}, 0, 0, 0, "::"},
		{"[fe80::1%2]:53", WEIR_IPV6, {0xfe, 0x80, [15] = 1}, 53, 3, 0, NULL},
		{"[febf:1111:2222:3333:4444:5555:6666:7777%4294967294]:65535",
		 WEIR_IPV6,
		 {0xfe, 0xbf, 0x11, 0x11, 0x22, 0x22, 0x33, 0x33, 0x44, 0x44, 0x55, 0x55, 0x66,
		  0x66, 0x77, 0x77},
		 65535,
		 UINT32_MAX,
		 0,
		 NULL},
	};
	struct weir_addr a;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(rows); i++) {
		memset(&a, UNTOUCHED, sizeof(a));
		ut_check(weir_endpoint_parse(rows[i].text, &a) == 0, "%s", rows[i].text);
		check_equal(&a, &rows[i]);
		check_printed(&a, &rows[i]);
	}
}

static void
parses_prefixes_and_keeps_their_host_bits(void **state)
{
	static const struct good rows[] = {
		{"10.0.0.1/24", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 24, NULL},
		{"10.0.0.1", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 32, NULL},
		{"0.0.0.0/0", WEIR_IPV4, {0}, 0, 0, 0, NULL},
		{"10.0.0.1/31", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 31, NULL},
		{"10.0.0.1/32", WEIR_IPV4, {10, 0, 0, 1}, 0, 0, 32, NULL},
		{"2001:db8::1/64", WEIR_IPV6, {0x20, 1, 0x0d, 0xb8, [15] = 1}, 0, 0, 64, NULL},
		{"::1", WEIR_IPV6, {[15] = 1}, 0, 0, 128, NULL},
		{"::/0", WEIR_IPV6, {0}, 0, 0, 0, NULL},
		{"::/127", WEIR_IPV6, {0}, 0, 0, 127, NULL},
		{"::/128", WEIR_IPV6, {0}, 0, 0, 128, NULL},
	};
	struct weir_addr a;
	uint8_t len;
	size_t i;

	(void)state;
	for (i = 0; i < UT_N(rows); i++) {
		memset(&a, UNTOUCHED, sizeof(a));
		len = UNTOUCHED;
		ut_check(weir_prefix_parse(rows[i].text, &a, &len) == 0, "%s", rows[i].text);
		check_equal(&a, &rows[i]);
		ut_check(len == rows[i].len_bits, "%s: length %u", rows[i].text, len);
	}
}

/* None of these is an address, with or without what the other two forms would add. */
static const char *const junk[] = {
	"",
	" ",
	"10",
	"10.0.0",
	"10.0.0.1.2",
	"10.0.0.256",
	"10.0.0.-1",
	"10.0.0.01",
	"10.0.0.1 ",
	" 10.0.0.1",
	"10.0.0.1x",
	"0x0a000001",
	"10.0.0.1\n",
	"localhost",
	":",
	":::",
	"1::2::3",
	"12345::",
	"g::",
	"[::1",
	"::1]",
	"fe80::1%",
	"fe80::1%eth0",
	"fe80::1%-1",
	"fe80::1%01",
	"fe80::1% 0",
	"::1%0",
	"fec0::1%0",
	"ff05::1%0",
	"10.0.0.1%0",
	"%0",
	"fe80::1%4294967295",
	"fe80::1%18446744073709551616",
	"1111:2222:3333:4444:5555:6666:7777:8888:9999",
	"000000000000000000000000000000000000000000000000000000000000000000000000000000::1",
};

static void
refuse(const char *text, int rc, const struct weir_addr *a)
{
	struct weir_addr untouched;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	ut_check(rc == -EINVAL, "\"%s\": %d", text, rc);
	ut_check_bytes(a, &untouched, sizeof(untouched), "output of refused \"%s\"", text);
}

static void
refuses_what_is_no_address(void **state)
{
	static const char *const more[] = {"10.0.0.1:53", "[::1]", "[::1]:53", "10.0.0.1/24",
					   "::1/64"};
	struct weir_addr a;
	size_t i;

	(void)state;
	memset(&a, UNTOUCHED, sizeof(a));
	for (i = 0; i < UT_N(junk); i++)
		refuse(junk[i], weir_addr_parse(junk[i], &a), &a);
	for (i = 0; i < UT_N(more); i++)
		refuse(more[i], weir_addr_parse(more[i], &a), &a);
	refuse("(null)", weir_addr_parse(NULL, &a), &a);
	assert_int_equal(weir_addr_parse("10.0.0.1", NULL), -EINVAL);
}

static void
refuses_what_is_no_endpoint(void **state)
{
	static const char *const more[] = {
		"10.0.0.1",
		"10.0.0.1:",
		"10.0.0.1:65536",
		"10.0.0.1:-1",
		"10.0.0.1:+1",
		"10.0.0.1: 1",
		"10.0.0.1:1 ",
		"10.0.0.1:01",
		"10.0.0.1:0x1",
		"10.0.0.1:53:",
		"10.0.0.1:http",
		"[10.0.0.1]:53",
		"::1:53",
		"::1",
		"[::1]",
		"[::1]53",
		"[::1]:",
		"[::1]:65536",
		"[::1:53",
		"::1]:53",
		"[]:53",
		":53",
		"[[::1]]:53",
		"[::1]:53]",
		"[:53",
		"]:53",
		"10.0.0.1/24:53",
		"10.0.0.1:4294967349",
		"10.0.0.1:18446744073709551617",
	};
	char text[128];
	struct weir_addr a;
	size_t i;

	(void)state;
	memset(&a, UNTOUCHED, sizeof(a));
	for (i = 0; i < UT_N(junk); i++) {
		snprintf(text, sizeof(text), "%s:53", junk[i]);
		refuse(text, weir_endpoint_parse(text, &a), &a);
		snprintf(text, sizeof(text), "[%s]:53", junk[i]);
		refuse(text, weir_endpoint_parse(text, &a), &a);
	}
	for (i = 0; i < UT_N(more); i++)
		refuse(more[i], weir_endpoint_parse(more[i], &a), &a);
	refuse("(null)", weir_endpoint_parse(NULL, &a), &a);
	assert_int_equal(weir_endpoint_parse("10.0.0.1:1", NULL), -EINVAL);
}

static void
refuses_what_is_no_prefix(void **state)
{
	static const char *const more[] = {
		"10.0.0.1/",
		"10.0.0.1/33",
		"10.0.0.1/-1",
		"10.0.0.1/024",
		"10.0.0.1/24/24",
		"10.0.0.1/ 24",
		"10.0.0.1/24 ",
		"/24",
		"::/129",
		"::1/0x40",
		"10.0.0.1:5/24",
		"10.0.0.1/255.255.255.0",
		"10.0.0.1/4294967320",
	};
	char text[128];
	struct weir_addr a;
	uint8_t len = UNTOUCHED;
	size_t i;

	(void)state;
	memset(&a, UNTOUCHED, sizeof(a));
	for (i = 0; i < UT_N(junk); i++) {
		refuse(junk[i], weir_prefix_parse(junk[i], &a, &len), &a);
		snprintf(text, sizeof(text), "%s/8", junk[i]);
		refuse(text, weir_prefix_parse(text, &a, &len), &a);
	}
	for (i = 0; i < UT_N(more); i++)
		refuse(more[i], weir_prefix_parse(more[i], &a, &len), &a);
	refuse("(null)", weir_prefix_parse(NULL, &a, &len), &a);
	assert_int_equal(len, UNTOUCHED);
	assert_int_equal(weir_prefix_parse("10.0.0.1/8", NULL, &len), -EINVAL);
	assert_int_equal(weir_prefix_parse("10.0.0.1/8", &a, NULL), -EINVAL);
}

static void
prints_any_and_unknown_families(void **state)
{
	struct weir_addr a;
	char buf[WEIR_ADDR_STRLEN];

	(void)state;
	memset(&a, 0, sizeof(a));
	assert_string_equal(weir_addr_format(&a, buf, sizeof(buf)), "*");
	a.port = (uint16_t)(53 << 8);
	assert_string_equal(weir_addr_format(&a, buf, sizeof(buf)), "*:53");
	a.family = 99;
	assert_string_equal(weir_addr_format(&a, buf, sizeof(buf)), "?:53");
}

static void
printing_into_any_room_stays_inside_and_terminated(void **state)
{
	const struct weir_addr a = weir_addr_v4(0x0a000001, 53);
	const char whole[] = "10.0.0.1:53";
	char buf[sizeof(whole) + 2];
	size_t size;

	(void)state;
	for (size = 1; size <= sizeof(whole) + 1; size++) {
		memset(buf, UNTOUCHED, sizeof(buf));
		weir_addr_format(&a, buf, size);
		ut_check(memchr(buf, '\0', size) != NULL, "size %zu: not terminated", size);
		ut_check(strncmp(buf, whole, strlen(buf)) == 0, "size %zu: %s", size, buf);
		ut_check(strlen(buf) == (size < sizeof(whole) ? size - 1 : sizeof(whole) - 1),
			 "size %zu: %s", size, buf);
		ut_check(buf[size] == UNTOUCHED, "size %zu: written beyond", size);
	}
}

static void
v4_from_numbers_is_in_network_order(void **state)
{
	const struct weir_addr a = weir_addr_v4(0xc0a80102, 0x1234);
	const uint8_t ip[16] = {192, 168, 1, 2};
	const uint8_t port[2] = {0x12, 0x34};

	(void)state;
	assert_int_equal(a.family, WEIR_IPV4);
	assert_memory_equal(a.ip.b, ip, 16);
	assert_memory_equal(&a.port, port, 2);
	assert_int_equal(a.scope, 0);
}

static void
random_addresses_survive_printing_and_parsing(void **state)
{
	struct ut_rng rng = ut_rng();
	struct weir_addr a, b;
	char buf[WEIR_ADDR_STRLEN];
	int i;
	int j;

	(void)state;
	for (i = 0; i < 5000; i++) {
		memset(&a, 0, sizeof(a));
		a.family = ut_rand_below(&rng, 2) ? WEIR_IPV4 : WEIR_IPV6;
		for (j = 0; j < (a.family == WEIR_IPV4 ? 4 : 16); j++)
			a.ip.b[j] = ut_rand_below(&rng, 3) ? (uint8_t)ut_rand(&rng) : 0;
		if (ut_rand_below(&rng, 2))
			a.port = (uint16_t)(1 + ut_rand_below(&rng, 65535));
		if (a.family == WEIR_IPV6 && ut_rand_below(&rng, 3) == 0) {
			a.ip.b[0] = 0xfe;
			a.ip.b[1] = (uint8_t)(0x80 | ut_rand_below(&rng, 0x40));
			a.scope = (uint32_t)ut_rand(&rng);
		}
		weir_addr_format(&a, buf, sizeof(buf));
		if (a.port != 0)
			ut_check(weir_endpoint_parse(buf, &b) == 0, "%s", buf);
		else
			ut_check(weir_addr_parse(buf, &b) == 0, "%s", buf);
		ut_check_bytes(&b, &a, sizeof(a), "%s", buf);
	}
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(parses_addresses_and_prints_them_back),
		cmocka_unit_test(addresses_of_numbers_are_those_of_their_texts),
		cmocka_unit_test(parses_endpoints_and_prints_them_back),
		cmocka_unit_test(parses_prefixes_and_keeps_their_host_bits),
		cmocka_unit_test(refuses_what_is_no_address),
		cmocka_unit_test(refuses_what_is_no_endpoint),
		cmocka_unit_test(refuses_what_is_no_prefix),
		cmocka_unit_test(prints_any_and_unknown_families),
		cmocka_unit_test(printing_into_any_room_stays_inside_and_terminated),
		cmocka_unit_test(v4_from_numbers_is_in_network_order),
		cmocka_unit_test(random_addresses_survive_printing_and_parsing),
	};

	return UT_RUN(cases, NULL, NULL);
}
