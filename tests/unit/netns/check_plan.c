/* SPDX-License-Identifier: BSD-2-Clause */
/* The address plan: examples worked by hand, and that no two things in a lab share a number. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static const struct topology four = {
	.servers = 4, .gpus_per_server = 1, .planes = 4, .sub_ports = 2};
static const struct topology pairs = {
	.servers = 3, .gpus_per_server = 2, .planes = 2, .sub_ports = 2};

START_TEST(links)
{
	struct plan_link l;

	plan_link_at(&four, (struct plan_gpu){0, 0}, 0, 1, &l);
	ck_assert_str_eq(l.server_dev, "g0p0s1");
	ck_assert_str_eq(l.leaf_dev, "s0g0s1");
	ck_assert_str_eq(l.leaf_v4, "198.18.0.2");
	ck_assert_str_eq(l.server_v4, "198.18.0.3");
	ck_assert_str_eq(l.leaf_v6, "2001:db8:18::2");
	ck_assert_str_eq(l.server_v6, "2001:db8:18::3");
	plan_link_at(&pairs, (struct plan_gpu){2, 1}, 1, 0,
		     &l); /* global 5: (5 * 2 + 1) * 2 = 22 */
	ck_assert_str_eq(l.server_dev, "g1p1s0");
	ck_assert_str_eq(l.leaf_dev, "s2g1s0");
	ck_assert_str_eq(l.leaf_v4, "198.18.0.44");
	ck_assert_str_eq(l.server_v6, "2001:db8:18::2d");
}
END_TEST

START_TEST(last_link_of_the_largest_lab)
{
	const struct topology t = {
		.servers = 1024, .gpus_per_server = 1, .planes = 4, .sub_ports = 8};
	struct plan_link l;

	plan_link_at(&t, (struct plan_gpu){1023, 0}, 3, 7, &l);
	ck_assert_str_eq(l.server_v4, "198.18.255.255");
	ck_assert_str_eq(l.leaf_dev, "s1023g0s7");
}
END_TEST

START_TEST(loopbacks_and_ids)
{
	char v4[INET_ADDRSTRLEN], v6[INET6_ADDRSTRLEN];

	plan_loopback_v4(0, v4);
	ck_assert_str_eq(v4, "198.19.0.1");
	plan_loopback_v4(255, v4);
	ck_assert_str_eq(v4, "198.19.1.0");
	plan_loopback_v6(254, v6);
	ck_assert_str_eq(v6, "2001:db8:19::ff");
	plan_router_id(&pairs, (struct plan_host){false, 1}, v4);
	ck_assert_str_eq(v4, "198.19.0.3");
	plan_router_id(&pairs, (struct plan_host){true, 1}, v4);
	ck_assert_str_eq(v4, "198.19.255.1");
	ck_assert_uint_eq(plan_server_as(&four, 3), 64516);
	ck_assert_uint_eq(plan_leaf_as(&four, 3), 65104);
}
END_TEST

START_TEST(as_numbers_do_not_meet)
{
	struct topology t = {.gpus_per_server = 1, .planes = 16, .sub_ports = 1};

	for (t.servers = 1; t.servers <= 1024; t.servers++)
		for (unsigned p = 0; p < t.planes; p++) {
			uint32_t first = plan_server_as(&t, 0),
				 last = plan_server_as(&t, t.servers - 1);

			ck_assert_uint_eq(last - first, t.servers - 1);
			ck_assert(plan_leaf_as(&t, p) < first || plan_leaf_as(&t, p) > last);
		}
}
END_TEST

static int compare_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

START_TEST(no_address_twice)
{
	uint32_t all[3 * 2 * 2 * 2 * 2];
	size_t n = 0;

	for (unsigned k = 0; k < 6; k++)
		for (unsigned plane = 0; plane < 2; plane++)
			for (unsigned sub = 0; sub < 2; sub++) {
				struct plan_link l;

				plan_link_at(&pairs, (struct plan_gpu){k / 2, k % 2}, plane, sub,
					     &l);
				all[n++] = ntohl(inet_addr(l.leaf_v4));
				all[n++] = ntohl(inet_addr(l.server_v4));
				ck_assert_uint_eq(all[n - 2] & 1, 0);
				ck_assert_uint_eq(all[n - 1], all[n - 2] + 1);
			}
	ck_assert_uint_eq(n, sizeof(all) / sizeof(*all));
	qsort(all, n, sizeof(*all), compare_u32);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_ne(all[i], all[i - 1]);
}
END_TEST

START_TEST(words_to_indices)
{
	static const char *const no_host[] = {"",   "s",   "l",	  "s4",	 "l4",
					      "x0", "s0 ", "s-1", "s0x", "s00000000001"};
	static const char *const no_gpu[] = {"",      "l0",   "s3",	"s0/", "s0/g",
					     "s0/g2", "s0/1", "s0/g0/", "/g0"};
	struct plan_host host;
	struct plan_gpu gpu;

	ck_assert_int_eq(plan_parse_host(&four, "s3", &host), 0);
	ck_assert(!host.leaf && host.index == 3);
	ck_assert_int_eq(plan_parse_host(&four, "l0", &host), 0);
	ck_assert(host.leaf && host.index == 0);
	ck_assert_int_eq(plan_parse_gpu(&pairs, "s2", &gpu), 0);
	ck_assert(gpu.server == 2 && gpu.gpu == 0);
	ck_assert_int_eq(plan_parse_gpu(&pairs, "s1/g1", &gpu), 0);
	ck_assert(gpu.server == 1 && gpu.gpu == 1);
	for (size_t i = 0; i < sizeof(no_host) / sizeof(*no_host); i++)
		ck_assert_msg(plan_parse_host(&four, no_host[i], &host) == -EINVAL, "%s",
			      no_host[i]);
	for (size_t i = 0; i < sizeof(no_gpu) / sizeof(*no_gpu); i++)
		ck_assert_msg(plan_parse_gpu(&pairs, no_gpu[i], &gpu) == -EINVAL, "%s", no_gpu[i]);
}
END_TEST

START_TEST(netns_names)
{
	char name[PLAN_NETNS_NAME_MAX];

	plan_netns_name("a-b", (struct plan_host){true, 15}, name);
	ck_assert_str_eq(name, "fl-a-b-l15");
	plan_netns_name("0123456789abcdef0123456789abcdef", (struct plan_host){false, 1023}, name);
	ck_assert_str_eq(name, "fl-0123456789abcdef0123456789abcdef-s1023");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tc = tcase_create("plan");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, links);
	tcase_add_test(tc, last_link_of_the_largest_lab);
	tcase_add_test(tc, loopbacks_and_ids);
	tcase_add_test(tc, as_numbers_do_not_meet);
	tcase_add_test(tc, no_address_twice);
	tcase_add_test(tc, words_to_indices);
	tcase_add_test(tc, netns_names);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
