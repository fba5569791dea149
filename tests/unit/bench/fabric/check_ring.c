/* SPDX-License-Identifier: BSD-2-Clause */
/* check_ring.c - where the routes of a ring lead, and labs that have none. */
#include <check.h>
#include <stdlib.h>

#include "fabric/ring.h"

static struct topo_leaf leaves[] = {{.name = "l0", .netns = "a-l0"},
				    {.name = "l1", .netns = "a-l1"},
				    {.name = "l2", .netns = "a-l2"}};
static struct topo_spine spines[] = {{.netns = "a-sp0"}, {.netns = "a-sp1"}, {.netns = "a-sp2"}};
static struct topo_gpu gpus[4];
static struct topo_uplink uplinks[9];

static struct topo lab(void)
{
	for (unsigned i = 0; i < 9; i++)
		uplinks[i] = (struct topo_uplink){.leaf = i / 3, .spine = i % 3};
	for (unsigned i = 0; i < 4; i++) { /* two servers at the first leaf */
		gpus[i] = (struct topo_gpu){.server = i, .ipv4 = "198.19.0.1"};
		gpus[i].plane[0].leaf = i ? i - 1 : 0;
	}
	return (struct topo){.n_gpus = 4,
			     .gpus = gpus,
			     .n_leaves = 3,
			     .leaves = leaves,
			     .n_spines = 3,
			     .spines = spines,
			     .n_uplinks = 9,
			     .uplinks = uplinks};
}

START_TEST(nine_routes)
{
	static const struct ring_route expected[] = {
		{"a-l0", {"up0", "198.19.128.1"}, 3},  {"a-sp0", {"l1", "198.19.128.6"}, 3},
		{"a-l1", {"up1", "198.19.128.9"}, 3},  {"a-l1", {"up1", "198.19.128.9"}, 0},
		{"a-sp1", {"l2", "198.19.128.14"}, 0}, {"a-l2", {"up2", "198.19.128.17"}, 0},
		{"a-l2", {"up2", "198.19.128.17"}, 2}, {"a-sp2", {"l0", "198.19.128.4"}, 2},
		{"a-l0", {"up0", "198.19.128.1"}, 2},
	};
	struct flood_flow flows[RING_LEAVES];
	const struct topo topo = lab();
	struct ring ring;

	ck_assert_ptr_null(ring_find(&ring, &topo));
	ring_flows(&ring, flows);
	ck_assert_uint_eq(flows[0].from, 0);
	ck_assert_uint_eq(flows[0].to, 3);
	ck_assert_uint_eq(flows[2].from, 3);
	ck_assert_uint_eq(flows[2].to, 2);
	for (unsigned i = 0; i < 9; i++) {
		struct ring_route r = ring_route(&ring, i);

		ck_assert_str_eq(r.netns, expected[i].netns);
		ck_assert_str_eq(r.hop.dev, expected[i].hop.dev);
		ck_assert_str_eq(r.hop.via, expected[i].hop.via);
		ck_assert_uint_eq(r.gpu, expected[i].gpu);
	}
}
END_TEST

START_TEST(labs_that_have_none)
{
	struct topo topo = lab();
	struct ring ring;

	topo.n_gpus = 3;
	ck_assert_ptr_nonnull(ring_find(&ring, &topo));
	topo = lab();
	gpus[3].plane[0].leaf = 0; /* the third server is behind the first leaf, too */
	ck_assert_ptr_nonnull(ring_find(&ring, &topo));
	topo = lab();
	topo.n_uplinks = 2;
	ck_assert_ptr_nonnull(ring_find(&ring, &topo));
	topo = lab();
	gpus[0].ipv4[0] = '\0';
	ck_assert_ptr_nonnull(ring_find(&ring, &topo));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ring");
	TCase *tcase = tcase_create("ring");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, nine_routes);
	tcase_add_test(tcase, labs_that_have_none);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
