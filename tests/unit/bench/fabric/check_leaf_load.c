/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>

#include "fabric/leaf_load.h"

/* Two leaves, two seconds: half a second of one, a tenth of the other; a daemon that ended. */
START_TEST(the_busiest_and_the_largest)
{
	uint64_t cpu_from[] = {1000000000, 0, 900000000}, cpu_to[] = {1500000000, 100000000, 0};
	uint64_t rss[] = {4096, 8192, 0};
	const struct leaf_load from = {.at_ns = 5, .cpu_ns = cpu_from, .rss_bytes = rss},
			       to = {.at_ns = 2000000005, .cpu_ns = cpu_to, .rss_bytes = rss};

	ck_assert_double_eq_tol(leaf_load_cpu_percent(&from, &to, 3), 25, 1e-9);
	ck_assert_double_eq_tol(leaf_load_cpu_percent(&from, &from, 3), 0, 1e-9);
	ck_assert_double_eq(leaf_load_rss_bytes(&to, 3), 8192);
}
END_TEST

static struct topo_leaf leaves[] = {{.name = "l0"}, {.name = "l1"}};
static const struct topo topo = {.n_leaves = 2, .leaves = leaves};

START_TEST(daemons_of_leaves)
{
	static const char text[] =
		"{\"hosts\":[{\"name\":\"s0\",\"daemons\":[{\"cpu_s\":9.5,\"rss_bytes\":9}]},"
		"{\"name\":\"l0\",\"daemons\":[]},"
		"{\"name\":\"l1\",\"daemons\":[{\"name\":\"zebra\",\"cpu_s\":0.25,\"rss_bytes\":"
		"4096},"
		"{\"name\":\"bgpd\",\"cpu_s\":1,\"rss_bytes\":8192}]}]}";
	struct leaf_load load;

	ck_assert_int_eq(leaf_load_parse(&load, &topo, text), 0);
	ck_assert_uint_eq(load.cpu_ns[0], 0);
	ck_assert_uint_eq(load.cpu_ns[1], 1250000000);
	ck_assert_double_eq(leaf_load_rss_bytes(&load, 2), 12288);
	leaf_load_fini(&load);
}
END_TEST

/* Spines and superspines are switches, too. */
START_TEST(daemons_of_all_tiers)
{
	static const char text[] =
		"{\"hosts\":[{\"name\":\"s0\",\"daemons\":[{\"cpu_s\":9.5,\"rss_bytes\":9}]},"
		"{\"name\":\"l1\",\"daemons\":[{\"cpu_s\":1,\"rss_bytes\":1}]},"
		"{\"name\":\"sp0\",\"daemons\":[{\"cpu_s\":2,\"rss_bytes\":2}]},"
		"{\"name\":\"ss1\",\"daemons\":[{\"cpu_s\":3,\"rss_bytes\":3}]},"
		"{\"name\":\"ss2\",\"daemons\":[{\"cpu_s\":4,\"rss_bytes\":4}]}]}";
	struct topo_spine spine = {.name = "sp0"};
	struct topo tiers = topo;
	struct leaf_load load;

	tiers.n_spines = 1;
	tiers.spines = &spine;
	tiers.n_superspines = 2;
	ck_assert_uint_eq(leaf_load_switches(&tiers), 5);
	ck_assert_int_eq(leaf_load_parse(&load, &tiers, text), 0);
	ck_assert_double_eq(leaf_load_rss_bytes(&load, 2), 1);
	ck_assert_double_eq(leaf_load_rss_bytes(&load, 3), 2);
	ck_assert_double_eq(leaf_load_rss_bytes(&load, 5), 3);
	ck_assert_uint_eq(load.cpu_ns[4], 3000000000);
	leaf_load_fini(&load);
}
END_TEST

/* A session of two families is one; who never ended counts 0. */
START_TEST(sessions_that_ended)
{
	static const char text[] =
		"{\"ipv4Unicast\":{\"peers\":{\"a\":{\"connectionsDropped\":2},\"b\":{"
		"\"connectionsDropped\":0}}},"
		"\"ipv6Unicast\":{\"peers\":{\"a\":{\"connectionsDropped\":2},\"c\":{"
		"\"connectionsDropped\":1}}}}";
	uint64_t n = 4;

	ck_assert_int_eq(lab_sessions_parse(text, &n), 0);
	ck_assert_uint_eq(n, 7);
	ck_assert_int_eq(lab_sessions_parse("% no BGP", &n), -EBADMSG);
	ck_assert_int_eq(
		lab_sessions_parse("{\"f\":{\"peers\":{\"a\":{\"connectionsDropped\":-1}}}}", &n),
		-EBADMSG);
}
END_TEST

START_TEST(what_is_none)
{
	static const char *const bad[] = {
		"",
		"{}",
		"{\"hosts\":3}",
		"{\"hosts\":[{\"name\":\"l0\"}]}",
		"{\"hosts\":[{\"daemons\":[]}]}",
		"{\"hosts\":[{\"name\":\"l0\",\"daemons\":[{\"cpu_s\":-1,\"rss_bytes\":1}]}]}",
		"{\"hosts\":[{\"name\":\"l0\",\"daemons\":[{\"cpu_s\":1e300,\"rss_bytes\":1}]}]}",
		"{\"hosts\":[{\"name\":\"l0\",\"daemons\":[{\"cpu_s\":1,\"rss_bytes\":-1}]}]}"};
	struct leaf_load load;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_int_eq(leaf_load_parse(&load, &topo, bad[i]), -EBADMSG);
		ck_assert_ptr_null(load.cpu_ns);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("leaf_load");
	TCase *tcase = tcase_create("leaf_load");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, the_busiest_and_the_largest);
	tcase_add_test(tcase, sessions_that_ended);
	tcase_add_test(tcase, daemons_of_leaves);
	tcase_add_test(tcase, daemons_of_all_tiers);
	tcase_add_test(tcase, what_is_none);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
