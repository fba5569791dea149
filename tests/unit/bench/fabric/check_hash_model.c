/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "bench/check_bench_fabric.h"
#include "fabric/hash_model.h"

static struct hash_model model(unsigned flows, bool striped, bool weighted)
{
	return (struct hash_model){.src = 0,
				   .dst = 1,
				   .flows = flows,
				   .striped = striped,
				   .weighted = weighted,
				   .draws = 2000,
				   .seed = 7};
}

static struct hash_model_share share_of(const struct topo *topo, struct hash_model m)
{
	struct hash_model_share share;

	ck_assert_int_eq(hash_model_run(&m, topo, &share), 0);
	ck_assert(share.p10 <= share.median && share.median <= share.p90);
	return share;
}

/* One flow has one sub-port of eight, however it is hashed. */
START_TEST(one_flow_has_one_sub_port)
{
	struct topo *topo = parsed(fabric(2));

	for (int i = 0; i < 4; i++) {
		struct hash_model_share s = share_of(topo, model(1, i & 1, i & 2));

		ck_assert_double_eq_tol(s.p10, 0.125, 1e-9);
		ck_assert_double_eq_tol(s.p90, 0.125, 1e-9);
	}
	topo_destroy(topo);
}
END_TEST

/* Of eight, striped: the most crowded of sixteen links has three on the median, so 1/3. */
START_TEST(stripes_wait_for_the_slowest)
{
	struct topo *topo = parsed(fabric(2));

	ck_assert_double_eq_tol(share_of(topo, model(8, true, false)).median, 1. / 3, 1e-9);
	ck_assert_double_lt(share_of(topo, model(8, true, false)).median,
			    share_of(topo, model(8, false, false)).median);
	topo_destroy(topo);
}
END_TEST

/* Many independent flows fill the links. */
START_TEST(many_flows_fill_the_links)
{
	struct topo *topo = parsed(fabric(2));
	double last = 0;

	for (unsigned n = 1; n <= 256; n *= 4) {
		struct hash_model_share s = share_of(topo, model(n, false, false));

		ck_assert_double_ge(s.median, last - 1e-9);
		ck_assert_double_le(s.p90, 1 + 1e-9);
		last = s.median;
	}
	ck_assert_double_gt(last, 0.99);
	topo_destroy(topo);
}
END_TEST

/* With a sub-port of the receiver down, weights by bandwidth send less over that plane. */
START_TEST(weights_help_where_a_sub_port_is_lost)
{
	json_t *root = fabric(2);
	struct topo *topo;
	json_t *server = json_array_get(json_object_get(root, "servers"), 1),
	       *gpu = json_array_get(json_object_get(server, "gpus"), 0),
	       *plane = json_array_get(json_object_get(gpu, "planes"), 1),
	       *port = json_array_get(json_object_get(plane, "sub_ports"), 0);

	json_object_set_new(port, "up", json_false());
	topo = parsed(root);
	ck_assert_double_gt(share_of(topo, model(64, true, true)).median,
			    share_of(topo, model(64, true, false)).median * 1.05);
	topo_destroy(topo);
}
END_TEST

START_TEST(what_cannot_be_asked)
{
	struct topo *topo = parsed(fabric(2));
	struct hash_model none = model(0, false, false), many = model(1025, false, false);
	struct hash_model_share share;

	ck_assert_int_eq(hash_model_run(&none, topo, &share), -EINVAL);
	ck_assert_int_eq(hash_model_run(&many, topo, &share), -EINVAL);
	for (unsigned p = 0; p < topo->n_planes; p++)
		for (unsigned s = 0; s < 2; s++)
			topo->gpus[0].plane[p].sub_port[s].up = false;
	none.flows = 1;
	ck_assert_int_eq(hash_model_run(&none, topo, &share), -ENETUNREACH);
	topo_destroy(topo);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hash_model");
	TCase *tcase = tcase_create("hash_model");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, one_flow_has_one_sub_port);
	tcase_add_test(tcase, stripes_wait_for_the_slowest);
	tcase_add_test(tcase, many_flows_fill_the_links);
	tcase_add_test(tcase, weights_help_where_a_sub_port_is_lost);
	tcase_add_test(tcase, what_cannot_be_asked);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
