/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of the documents that mirror code: every register, counter and fault has its row, with
 * the offset or the text that the code has.
 */
#include "mt.h"

#include "liq_regs.h"

static char *
read_doc(const char *name)
{
	char path[512];
	char *text;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", DOCS_DIR, name);
	f = fopen(path, "r");
	ut_check(f != NULL, "%s", path);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	n = fread(text, 1, (1 << 20) - 1, f);
	assert_true(n > 0);
	fclose(f);
	return text;
}

static void
has_row(const char *text, const char *row)
{
	ut_check(strstr(text, row) != NULL, "no row starts with: %s", row);
}

static void
every_register_has_its_row(void **state)
{
	char *text = read_doc("liquidio-hw.md");
	char row[128];

	(void)state;
#define RING_ROW(name, off, bytes, access)                                                         \
	snprintf(row, sizeof(row), "| `%s` | 0x%03X | %d | %s |", #name, off, bytes, #access);     \
	has_row(text, row);
#define GLOBAL_ROW(name, off, bytes, access, n, stride, reset)                                     \
	snprintf(row, sizeof(row), "| `%s` | 0x%05X | %s |", #name, off, #access);                 \
	has_row(text, row);
	LIQ_RING_REG_TABLE(RING_ROW)
	LIQ_GLOBAL_REG_TABLE(GLOBAL_ROW)
	free(text);
}

static void
every_counter_and_fault_has_its_row(void **state)
{
	char *text = read_doc("device-model.md");
	char row[256];

	(void)state;
	for (unsigned int i = 0; i < LIQM_N_COUNTERS; i++) {
		snprintf(row, sizeof(row), "| `%s` | %s |", liqm_counter_name((enum liqm_counter)i),
			 liqm_counter_text((enum liqm_counter)i));
		has_row(text, row);
	}
	for (unsigned int i = 0; i < LIQM_N_FAULTS; i++) {
		snprintf(row, sizeof(row), "| `%s` |", liqm_fault_name((enum liqm_fault_kind)i));
		has_row(text, row);
	}
	free(text);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(every_register_has_its_row),
		cmocka_unit_test(every_counter_and_fault_has_its_row),
	};

	return UT_RUN(cases, NULL, NULL);
}
