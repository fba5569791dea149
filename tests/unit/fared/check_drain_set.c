/* SPDX-License-Identifier: BSD-2-Clause */
/* What a set of drains covers, and how drains combine. */
#include "drain_set.h"

#include <check.h>
#include <errno.h>

static struct drain_set set;

static void setup(void)
{
	set = (struct drain_set){0};
}

static struct in6_addr peer(uint8_t last)
{
	return (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff, 198, 19, 0, last}};
}

static const struct drain_rule all;

static struct drain_rule of_plane(uint32_t plane)
{
	return (struct drain_rule){.has_plane = true, .plane = plane};
}

static struct drain_rule of_peer(uint8_t last)
{
	return (struct drain_rule){.has_peer = true, .peer = peer(last)};
}

static struct drain_rule of_path(uint8_t last, uint32_t plane)
{
	struct drain_rule rule = of_peer(last);

	rule.has_plane = true;
	rule.plane = plane;
	return rule;
}

static struct drain_rule of_sub_port(uint32_t gpu, uint32_t plane, uint32_t sub_port)
{
	struct drain_rule rule = of_plane(plane);

	rule.has_gpu = rule.has_sub_port = true;
	rule.gpu = gpu;
	rule.sub_port = sub_port;
	return rule;
}

static void add(struct drain_rule rule)
{
	ck_assert_int_eq(drain_set_add(&set, &rule), 0);
}

static int take_away(struct drain_rule rule)
{
	const struct drain_rule *other;
	int rc = drain_set_remove(&set, &rule, &other);

	ck_assert_int_eq(other != NULL, rc == -EBUSY);
	return rc;
}

static bool has(uint32_t gpu, uint8_t last, uint32_t plane)
{
	struct in6_addr address = peer(last);

	return drain_set_has_path(&set, gpu, &address, plane);
}

START_TEST(each_kind_covers_its_own)
{
	add(of_plane(2));
	ck_assert(has(0, 1, 2) && has(7, 9, 2) && !has(0, 1, 1));
	add(of_peer(5));
	ck_assert(has(0, 5, 0) && has(3, 5, 15) && !has(0, 6, 0));
	add(of_path(8, 4));
	ck_assert(has(0, 8, 4) && !has(0, 8, 5) && !has(0, 9, 4));
	add(of_sub_port(1, 3, 2));
	ck_assert(!has(1, 1, 3));
	ck_assert_uint_eq(drain_set_sub_ports(&set, 1, 3), 1u << 2);
	ck_assert_uint_eq(drain_set_sub_ports(&set, 0, 3), 0);
	ck_assert_uint_eq(drain_set_sub_ports(&set, 1, 2), 0);
	add(all);
	ck_assert(has(15, 200, 15));
}
END_TEST

START_TEST(a_plane_is_drained_toward_all_or_not)
{
	struct drain_rule of_gpu = of_plane(4);

	add(of_path(1, 2));
	add(of_peer(1));
	add(of_sub_port(0, 2, 0));
	ck_assert(!drain_set_has_plane(&set, 0, 2));
	of_gpu.has_gpu = true;
	of_gpu.gpu = 3;
	add(of_gpu);
	ck_assert(drain_set_has_plane(&set, 3, 4) && !drain_set_has_plane(&set, 2, 4));
	add(of_plane(2));
	ck_assert(drain_set_has_plane(&set, 0, 2) && !drain_set_has_plane(&set, 0, 3));
	add(all);
	ck_assert(drain_set_has_plane(&set, 0, 3));
}
END_TEST

START_TEST(each_stays_until_it_is_taken_away_itself)
{
	add(of_sub_port(0, 2, 1));
	add(of_plane(2));
	add(of_plane(2)); /* the same */
	ck_assert_uint_eq(set.n, 2);
	ck_assert_int_eq(take_away(of_path(7, 2)), -EBUSY); /* the plane is drained as a whole */
	ck_assert(has(0, 7, 2));
	ck_assert_int_eq(take_away(of_plane(2)), 1);
	ck_assert(!has(0, 1, 2));
	ck_assert_uint_eq(drain_set_sub_ports(&set, 0, 2), 2); /* its cable is still bad */
	ck_assert_int_eq(take_away(of_plane(2)), -EBUSY);
	ck_assert_int_eq(take_away(of_plane(3)), 0);
	ck_assert_int_eq(take_away(of_sub_port(0, 2, 1)), 1);
	ck_assert_int_eq(take_away(of_plane(2)), 0);
}
END_TEST

START_TEST(undraining_all_empties_it)
{
	add(of_plane(1));
	add(of_peer(3));
	add(of_sub_port(0, 0, 0));
	ck_assert_int_eq(take_away(of_path(3, 0)), -EBUSY);
	ck_assert_int_eq(take_away(of_plane(1)), 1); /* the peer's stays */
	ck_assert(has(0, 3, 1) && !has(0, 4, 1));
	ck_assert_int_eq(take_away(all), 2);
	ck_assert_uint_eq(set.n, 0);
}
END_TEST

START_TEST(it_is_bounded)
{
	struct drain_rule more = of_path(250, 1), again = of_path(3, 1);

	for (uint8_t i = 0; i < DRAIN_RULES_MAX - 1; i++)
		add(of_path(i, 1));
	ck_assert_int_eq(drain_set_add(&set, &more), -ENOSPC);
	ck_assert_int_eq(drain_set_add(&set, &again), 0); /* it is there */
	ck_assert_int_eq(drain_set_add(&set, &all), 0);	  /* the last place is for all */
	ck_assert_int_eq(drain_set_add(&set, &more), -ENOSPC);
	ck_assert_uint_eq(set.n, DRAIN_RULES_MAX);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("drain_set");
	TCase *tc = tcase_create("set");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_kind_covers_its_own);
	tcase_add_test(tc, a_plane_is_drained_toward_all_or_not);
	tcase_add_test(tc, each_stays_until_it_is_taken_away_itself);
	tcase_add_test(tc, undraining_all_empties_it);
	tcase_add_test(tc, it_is_bounded);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
