/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each allocation of the model failing once: creation unwinds, a response is lost and logged, a cable
 * is not made.
 */
#include <errno.h>

#include "mt.h"

#include "ut_fail.h"

static int
create(void *arg)
{
	struct liqm_card **card = arg;
	struct liqm_card_cfg cfg;

	liqm_card_cfg_default(&cfg);
	cfg.n_pf = 2;
	return liqm_card_create(&cfg, card);
}

static void
destroy(void *arg)
{
	struct liqm_card **card = arg;

	liqm_card_destroy(*card);
	*card = NULL;
}

static void
creation_unwinds_from_every_step(void **state)
{
	struct liqm_card *card = NULL;

	(void)state;
	/* card, functions, card memory, two buffers for each of two wires */
	assert_int_equal(ut_fail_all(create, destroy, &card), 7);
}

static void
response_without_memory_is_lost(void **state)
{
	struct mt *m = mt_vf_up(1, false);

	(void)state;
	ut_fail_at(1);
	assert_int_equal(raw_cmd(&m->drv[0], raw_cmd_word(1, 1500, 0, 0), NULL, 0), RAW_NO_STATUS);
	assert_true(ut_fail_stop());
	assert_int_equal(raw_cmd(&m->drv[0], raw_cmd_word(1, 1500, 0, 0), NULL, 0), 0);
	mt_free(m);
}

static void
pair_without_memory_leaves_the_wires(void **state)
{
	struct mt *a = mt_vf_up(1, false), *b = mt_vf_up(1, false);
	struct mt_frame f;

	(void)state;
	ut_fail_at(1);
	assert_int_equal(liqm_wire_pair(a->card, 0, b->card, 0), -ENOMEM);
	assert_true(ut_fail_stop());
	mt_build(&f, mt_peer_mac, a->drv[0].mac, MT_RAW, 60, 1);
	raw_send(&a->drv[0], 0, f.b, f.len, 0, 0, 0);
	assert_int_equal(a->wire.n, 1);
	mt_free(a);
	mt_free(b);
}

int
main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(creation_unwinds_from_every_step),
		cmocka_unit_test(response_without_memory_is_lost),
		cmocka_unit_test(pair_without_memory_leaves_the_wires),
	};

	return UT_RUN(cases, NULL, NULL);
}
