/* SPDX-License-Identifier: BSD-2-Clause */
/* Which GPUs send datagrams to the last one, and which labs cannot. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "bench/check_bench_fabric.h"
#include "training/incast.h"

extern const struct test test_t7_2;

static struct topo *one_sub_port(json_t *root)
{
	struct topo *topo = parsed(root);

	for (unsigned i = 0; i < topo->n_gpus; i++)
		topo->gpus[i].plane[0].n_sub_ports = 1;
	return topo;
}

static const char *refused(struct trial *t, unsigned senders)
{
	struct incast in;

	trial_fini(t);
	ck_assert(!incast_init(&in, t, senders, 1024));
	ck_assert_int_eq(t->err, 0);
	ck_assert_uint_ge(t->n_rows, 1);
	return t->row[0].missing;
}

/* Two tiers: from GPUs at the receiver's leaf alone, as between leaves uplinks are queues, too. */
START_TEST(senders_are_at_the_leaf_of_the_receiver)
{
	struct topo *topo = one_sub_port(two_tiers());
	struct fabric fabric = {.topo = topo};
	struct trial t = {.test = &test_t7_2, .fabric = &fabric, .strategy_name = ""};
	struct incast in;

	ck_assert_ptr_nonnull(strstr(refused(&t, 2), "the receiver's leaf has 1"));
	topo->gpus[1].plane[0].leaf = topo->gpus[3].plane[0].leaf;
	ck_assert(incast_init(&in, &t, 2, 1024));
	ck_assert_uint_eq(in.flood.flow[0].from, 1);
	ck_assert_uint_eq(in.flood.flow[1].from, 2);
	ck_assert_uint_eq(in.flood.flow[1].to, 3);
	incast_fini(&in);
	trial_fini(&t);
	topo_destroy(topo);
}
END_TEST

/* A reason that another lab does not have says which. */
START_TEST(what_fits_is_named)
{
	struct topo *several = parsed(fabric(4)), *one = one_sub_port(fabric(4));
	struct fabric wide = {.topo = several}, fits = {.topo = one};
	struct trial t = {.test = &test_t7_2, .fabric = &wide, .strategy_name = ""},
		     u = {.test = &test_t7_2, .fabric = &fits, .strategy_name = ""};
	struct incast in;

	ck_assert_ptr_nonnull(strstr(refused(&t, 2), "training-bench.yaml"));
	ck_assert(incast_init(&in, &u, 3, 1024));
	ck_assert_uint_eq(in.flood.flow[2].from, 2);
	incast_fini(&in);
	ck_assert_ptr_nonnull(strstr(refused(&u, 4), "the lab has 3"));
	trial_fini(&t);
	trial_fini(&u);
	topo_destroy(several);
	topo_destroy(one);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("incast");
	TCase *tcase = tcase_create("incast");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, senders_are_at_the_leaf_of_the_receiver);
	tcase_add_test(tcase, what_fits_is_named);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
