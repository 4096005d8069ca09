/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The register accesses that other people's drivers made in a virtual machine (tests/vm/data, see
 * docs/vm-suite.md), made again on a model in this process: each read must give what it gave
 * then. So a change of the model that a stock driver would notice is noticed here, without a
 * machine. Time is virtual and follows the times of the log.
 *
 * There is no memory behind the accesses: a replay goes up to the first instruction that the
 * driver announced (PF: the first output queue that it enabled), which is all of probe, reset,
 * mailbox handshake and the setup of the first rings.
 */
#include "ut.h"

#include "liqm.h"

#define MAX_NAMES 8192
#define RING_STEP 0x20000u
#define RING_BASE 0x10000u
#define N_RINGS   64u

/* What liqm_access_format() calls the registers, and where they are. */
static struct {
	char name[40];
	uint64_t off;
} names[MAX_NAMES];
static unsigned int n_names;

struct line {
	uint64_t time_us;
	enum liqm_access_kind kind;
	bool is_write;
	char name[40];
	unsigned int len;
	uint64_t value;
};

static void
name_at(uint64_t off)
{
	struct liqm_access a = {.kind = LIQM_ACCESS_BAR, .off = off, .len = 8};
	char text[160], name[40];

	liqm_access_format(&a, text, sizeof(text));
	if (sscanf(text, "fn0 BAR0 R %39s", name) != 1 || !strchr(name, '.'))
		return;
	ut_check(n_names < MAX_NAMES, "more than %u register names", MAX_NAMES);
	memcpy(names[n_names].name, name, sizeof(name));
	names[n_names++].off = off;
}

static int
learn_names(void **state)
{
	(void)state;
	for (uint64_t q = 0; q < N_RINGS; q++)
		for (uint64_t off = 0; off <= 0x210; off += 8)
			name_at(RING_BASE + q * RING_STEP + off);
	for (uint64_t off = 0x20000; off < 0x2a000; off += 8)
		name_at(off);
	return 0;
}

static uint64_t
offset_of(const char *name, const char *where)
{
	char *end;
	uint64_t off = strtoull(name, &end, 16);
	size_t n;

	if (*end == '\0')
		return off;
	/* "ring0.IN_DONE+4" is a part of the register */
	n = strcspn(name, "+");
	for (unsigned int i = 0; i < n_names; i++)
		if (strlen(names[i].name) == n && memcmp(names[i].name, name, n) == 0)
			return names[i].off + strtoull(name + n, NULL, 0);
	ut_check(false, "%s: no register is called '%s'", where, name);
	return 0;
}

/* "18.352853 fn0 BAR0 R ring0.IN_CTL /8 = 0x2000100000000", or "18.3 fn0 RESET flr". */
static bool
parse(const char *text, struct line *l)
{
	uint64_t s, us;
	char space[8], rw;

	if (sscanf(text, "%" SCNu64 ".%6" SCNu64 " fn0 %7s", &s, &us, space) != 3)
		return false;
	l->time_us = s * 1000000 + us;
	if (strcmp(space, "RESET") == 0) {
		l->kind = LIQM_ACCESS_RESET;
		return true;
	}
	l->kind = strcmp(space, "CFG") == 0 ? LIQM_ACCESS_CFG : LIQM_ACCESS_BAR;
	if (sscanf(text, "%*s fn0 %*s %c %39s /%u = %" SCNx64, &rw, l->name, &l->len, &l->value) !=
	    4)
		return false;
	l->is_write = rw == 'W';
	return true;
}

/* From here on the card works on memory: an instruction is announced, or, to a PF, the notice that
 * firmware is active can be written. */
static bool
needs_memory(const struct line *l, bool pf)
{
	const char *dot = strchr(l->name, '.');

	if (l->kind != LIQM_ACCESS_BAR || !l->is_write || !dot)
		return false;
	if (strcmp(dot, ".IN_DBELL") == 0)
		return l->value != UINT32_MAX;
	return pf && strcmp(dot, ".OUT_CTL") == 0 && (l->value & 1);
}

/* Replays one file; returns the number of reads that were compared. */
static unsigned int
replay(const char *file, const struct liqm_card_cfg *cfg)
{
	unsigned int n = 0, n_reads = 0;
	uint64_t now_us = 0;
	struct liqm_card *card;
	struct liqm_fn *fn;
	char path[512], text[256], where[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", TRACE_DIR, file);
	f = fopen(path, "r");
	ut_check(f != NULL, "cannot read %s", path);
	assert_int_equal(liqm_card_create(cfg, &card), 0);
	fn = liqm_card_fn(card, 0);
	while (fgets(text, sizeof(text), f)) {
		struct line l = {0};
		uint64_t value = 0, mask;

		snprintf(where, sizeof(where), "%s:%u", file, ++n);
		ut_check(parse(text, &l), "%s: not an access: %s", where, text);
		if (now_us != 0 && l.time_us > now_us)
			liqm_card_advance(card, (l.time_us - now_us) * 1000);
		now_us = l.time_us;
		if (needs_memory(&l, cfg->n_pf > 0))
			break;
		/* Resets in a log are consequences of accesses before them, or the carrier's. */
		if (l.kind == LIQM_ACCESS_RESET)
			continue;
		mask = l.len >= 8 ? UINT64_MAX : (1ull << 8 * l.len) - 1;
		if (l.kind == LIQM_ACCESS_CFG) {
			uint32_t off = (uint32_t)strtoul(l.name, NULL, 16);

			if (l.is_write)
				liqm_cfg_write(fn, off, &l.value, l.len);
			else
				liqm_cfg_read(fn, off, &value, l.len < 8 ? l.len : 8);
		} else {
			uint64_t off = offset_of(l.name, where);

			if (l.is_write)
				liqm_bar_write(fn, 0, off, l.value, l.len);
			else
				value = liqm_bar_read(fn, 0, off, l.len);
		}
		if (l.is_write)
			continue;
		ut_check((value & mask) == (l.value & mask), "%s: reads 0x%" PRIx64 " now: %s",
			 where, value & mask, text);
		n_reads++;
	}
	fclose(f);
	liqm_card_destroy(card);
	return n_reads;
}

static struct liqm_card_cfg
vf_card(void)
{
	struct liqm_card_cfg cfg;

	liqm_card_cfg_default(&cfg);
	cfg.rings_per_vf = 2;
	cfg.access_ns = 0;
	return cfg;
}

static void
linux_vf_reads_the_same(void **state)
{
	struct liqm_card_cfg cfg = vf_card();

	(void)state;
	assert_in_range(replay("linux-6.1-vf.log", &cfg), 50, 10000);
	assert_in_range(replay("linux-6.12-vf.log", &cfg), 50, 10000);
}

static void
net_liovf_reads_the_same(void **state)
{
	struct liqm_card_cfg cfg = vf_card();

	(void)state;
	assert_in_range(replay("dpdk-22.11-liovf-6.1.log", &cfg), 20, 10000);
	assert_in_range(replay("dpdk-22.11-liovf-6.12.log", &cfg), 20, 10000);
}

static void
linux_pf_reads_the_same(void **state)
{
	struct liqm_card_cfg cfg = vf_card();

	(void)state;
	cfg.n_pf = 1;
	cfg.n_vf = 0;
	cfg.trusted_vf = 0;
	assert_in_range(replay("linux-6.1-pf.log", &cfg), 50, 10000);
	assert_in_range(replay("linux-6.12-pf.log", &cfg), 50, 10000);
}

int
main(void)
{
	static const struct CMUnitTest cases[] = {
		cmocka_unit_test(linux_vf_reads_the_same),
		cmocka_unit_test(net_liovf_reads_the_same),
		cmocka_unit_test(linux_pf_reads_the_same),
	};

	return UT_RUN(cases, learn_names, NULL);
}
