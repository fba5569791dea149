/* SPDX-License-Identifier: BSD-2-Clause */
/* The address plan: examples worked by hand, and that no two things in a lab share a number. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static const struct topology four = {
	.servers = 4, .gpus_per_server = 1, .planes = 4, .sub_ports = 2, .leaves_per_plane = 1};
static const struct topology pairs = {
	.servers = 3, .gpus_per_server = 2, .planes = 2, .sub_ports = 2, .leaves_per_plane = 1};
/* s0, s1: the first leaf of each plane; s2, s3: the second. */
static const struct topology tiers = {.servers = 4,
				      .gpus_per_server = 1,
				      .planes = 2,
				      .sub_ports = 2,
				      .rate_mbps = 100,
				      .leaves_per_plane = 2,
				      .spines_per_plane = 3,
				      .spine_rate_mbps = 70};

/* A leaf for each server; the pods of plane 0 are l0, l1 with sp0, sp1, and l2, l3 with sp2, sp3 */
static const struct topology pods = {.servers = 4,
				     .gpus_per_server = 1,
				     .planes = 2,
				     .sub_ports = 1,
				     .rate_mbps = 50,
				     .leaves_per_plane = 4,
				     .spines_per_plane = 4,
				     .spine_rate_mbps = 25,
				     .pods = 2,
				     .superspine_rate_mbps = 60};

START_TEST(links)
{
	struct plan_link l;

	plan_link_at(&four, plan_link_number(&four, (struct plan_gpu){0, 0}, 0, 1), &l);
	ck_assert_str_eq(l.far_dev, "g0p0s1");
	ck_assert_str_eq(l.leaf_dev, "s0g0s1");
	ck_assert_str_eq(l.leaf_v4, "198.18.0.2");
	ck_assert_str_eq(l.far_v4, "198.18.0.3");
	ck_assert_str_eq(l.leaf_v6, "2001:db8:18::2");
	ck_assert_str_eq(l.far_v6, "2001:db8:18::3");
	/* global 5: (5 * 2 + 1) * 2 = 22 */
	plan_link_at(&pairs, plan_link_number(&pairs, (struct plan_gpu){2, 1}, 1, 0), &l);
	ck_assert_str_eq(l.far_dev, "g1p1s0");
	ck_assert_str_eq(l.leaf_dev, "s2g1s0");
	ck_assert_str_eq(l.leaf_v4, "198.18.0.44");
	ck_assert_str_eq(l.far_v6, "2001:db8:18::2d");
}
END_TEST

START_TEST(last_link_of_the_largest_lab)
{
	const struct topology t = {.servers = 1024,
				   .gpus_per_server = 1,
				   .planes = 4,
				   .sub_ports = 8,
				   .leaves_per_plane = 1};
	struct plan_link l;

	plan_link_at(&t, plan_link_number(&t, (struct plan_gpu){1023, 0}, 3, 7), &l);
	ck_assert_str_eq(l.far_v4, "198.18.255.255");
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
	plan_router_id(&pairs, (struct plan_host){PLAN_SERVER, 1}, v4);
	ck_assert_str_eq(v4, "198.19.0.3");
	plan_router_id(&pairs, (struct plan_host){PLAN_LEAF, 1}, v4);
	ck_assert_str_eq(v4, "198.19.255.1");
	ck_assert_uint_eq(plan_server_as(&four, 3), 64516);
	ck_assert_uint_eq(plan_switch_as(&four, (struct plan_host){PLAN_LEAF, 3}), 65104);
}
END_TEST

START_TEST(as_numbers_do_not_meet)
{
	struct topology t = {.gpus_per_server = 1,
			     .planes = 16,
			     .sub_ports = 1,
			     .leaves_per_plane = 16,
			     .spines_per_plane = 16};
	struct plan_host leaf = {PLAN_LEAF, 255}, spine = {PLAN_SPINE, 0};

	for (t.servers = 16; t.servers <= 1024; t.servers++) {
		uint32_t first = plan_server_as(&t, 0), last = plan_server_as(&t, t.servers - 1);

		ck_assert_uint_eq(last - first, t.servers - 1);
		for (unsigned k = 0; k < plan_leaves(&t); k++) {
			leaf.index = spine.index = k;
			ck_assert(plan_switch_as(&t, leaf) < first ||
				  plan_switch_as(&t, leaf) > last);
			ck_assert(plan_switch_as(&t, spine) < first ||
				  plan_switch_as(&t, spine) > last);
		}
	}
	/* the last leaf's, the first spine's */
	leaf.index = 255;
	spine.index = 0;
	ck_assert_uint_lt(plan_switch_as(&t, leaf), plan_switch_as(&t, spine));
}
END_TEST

static int compare_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void check_addresses(const struct topology *t)
{
	unsigned n_links = plan_links(t);
	uint32_t *all = calloc(2 * n_links + t->servers * t->gpus_per_server, sizeof(*all));
	char v4[INET_ADDRSTRLEN];
	struct plan_link l;
	size_t n = 0;

	ck_assert_ptr_nonnull(all);
	for (unsigned k = 0; k < n_links; k++) {
		plan_link_at(t, k, &l);
		ck_assert_uint_eq(l.number, k);
		all[n++] = ntohl(inet_addr(l.leaf_v4));
		all[n++] = ntohl(inet_addr(l.far_v4));
		ck_assert_uint_eq(all[n - 2] & 1, 0);
		ck_assert_uint_eq(all[n - 1], all[n - 2] + 1);
	}
	for (unsigned global = 0; global < t->servers * t->gpus_per_server; global++) {
		plan_loopback_v4(global, v4);
		all[n++] = ntohl(inet_addr(v4));
	}
	qsort(all, n, sizeof(*all), compare_u32);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_ne(all[i], all[i - 1]);
	free(all);
}

START_TEST(no_address_twice)
{
	static const struct topology widest = {.servers = 1024,
					       .gpus_per_server = 1,
					       .planes = 16,
					       .sub_ports = 2,
					       .leaves_per_plane = 16,
					       .spines_per_plane = 16};

	check_addresses(&pairs);
	check_addresses(&tiers);
	check_addresses(&pods);
	check_addresses(&widest);
}
END_TEST

START_TEST(two_tiers)
{
	unsigned number = plan_uplink_number(&tiers, 3, 1);
	char words[PLAN_TEXT_MAX];
	struct plan_host host;
	unsigned n = 0;
	struct plan_link l;

	ck_assert_uint_eq(plan_hosts(&tiers), 4 + 4 + 6);
	ck_assert_uint_eq(plan_links(&tiers), 16 + 12);
	ck_assert_uint_eq(plan_leaf_of(&tiers, 1, 0).index, 0);
	ck_assert_uint_eq(plan_leaf_of(&tiers, 2, 0).index, 1);
	ck_assert_uint_eq(plan_leaf_of(&tiers, 3, 1).index, 3);
	plan_link_at(&tiers, number, &l); /* leaf 3 is of plane 1, whose spines are 3, 4, 5 */
	ck_assert_uint_eq(l.plane, 1);
	ck_assert(l.leaf.role == PLAN_LEAF && l.leaf.index == 3);
	ck_assert(l.far.role == PLAN_SPINE && l.far.index == 4);
	ck_assert_str_eq(l.leaf_dev, "up1");
	ck_assert_str_eq(l.far_dev, "l3");
	ck_assert_str_eq(l.leaf_v4, "198.19.128.20"); /* the tenth, from 0 */
	ck_assert_str_eq(l.far_v6, "2001:db8:1a::15");
	ck_assert_uint_eq(plan_link_mbps(&tiers, number), 70);
	ck_assert_uint_eq(plan_link_mbps(&tiers, 0), 100);
	plan_link_text(&tiers, number, words);
	ck_assert_str_eq(words, "uplink l3 sp4");
	ck_assert_int_eq(plan_parse_host(&tiers, "sp5", &host), 0);
	ck_assert(host.role == PLAN_SPINE && host.index == 5);
	ck_assert_int_eq(plan_parse_host(&tiers, "sp6", &host), -EINVAL);
	PLAN_EACH_LINK(&tiers, l.far, k)
	{
		plan_link_at(&tiers, k, &l);
		ck_assert_uint_eq(l.far.index, 4);
		n++;
	}
	ck_assert_uint_eq(n, 2);
	n = 0;
	PLAN_EACH_LINK(&tiers, l.leaf, k)
	n++;
	ck_assert_uint_eq(n, 2 * 2 + 3);
}
END_TEST

START_TEST(three_tiers)
{
	const struct plan_host sp7 = {PLAN_SPINE, 7}, ss3 = {PLAN_SUPERSPINE, 3};
	char words[PLAN_TEXT_MAX], v4[INET_ADDRSTRLEN];
	struct plan_host host;
	unsigned number, n = 0;
	struct plan_link l;

	ck_assert_uint_eq(plan_hosts(&pods), 4 + 8 + 8 + 4);
	ck_assert_uint_eq(plan_links(&pods), 8 + 8 * 2 + 8);
	host = plan_host_at(&pods, 23);
	ck_assert(host.role == PLAN_SUPERSPINE && host.index == 3);
	/* leaf 2 of plane 0 is of the second pod, whose spines are 2 and 3 */
	plan_link_at(&pods, plan_uplink_number(&pods, 2, 1), &l);
	ck_assert(l.far.role == PLAN_SPINE && l.far.index == 3);
	ck_assert_str_eq(l.leaf_dev, "up1");
	ck_assert_uint_eq(plan_link_mbps(&pods, l.number), 25);
	/* spine 7: plane 1, pod 1, the second there: the second superspine of plane 1 */
	ck_assert_uint_eq(plan_plane(&pods, sp7), 1);
	ck_assert_uint_eq(plan_pod(&pods, sp7), 1);
	ck_assert_int_eq(plan_uplink_between(&pods, sp7, ss3, &number), 0);
	ck_assert_uint_eq(number, plan_spine_uplink(&pods, 7));
	plan_link_at(&pods, number, &l);
	ck_assert_uint_eq(l.plane, 1);
	ck_assert_str_eq(l.leaf_dev, "up0");
	ck_assert_str_eq(l.far_dev, "sp7");
	ck_assert_str_eq(l.leaf_v4, "198.19.128.46"); /* the last of 24, from 0 */
	ck_assert_uint_eq(plan_link_mbps(&pods, number), 60);
	plan_link_text(&pods, number, words);
	ck_assert_str_eq(words, "uplink sp7 ss3");
	ck_assert_int_eq(plan_uplink_between(&pods, ss3, sp7, &number), -ENOENT);
	ck_assert_int_eq(
		plan_uplink_between(&pods, (struct plan_host){PLAN_SPINE, 6}, ss3, &number),
		-ENOENT);
	ck_assert_int_eq(plan_uplink_between(&pods, (struct plan_host){PLAN_LEAF, 0},
					     (struct plan_host){PLAN_SPINE, 2}, &number),
			 -ENOENT);
	PLAN_EACH_LINK(&pods, ss3, k)
	{
		plan_link_at(&pods, k, &l);
		ck_assert(l.leaf.index == 5 || l.leaf.index == 7);
		n++;
	}
	ck_assert_uint_eq(n, 2);
	n = 0;
	PLAN_EACH_LINK(&pods, sp7, k)
	n++;
	ck_assert_uint_eq(n, 2 + 1);
	plan_router_id(&pods, ss3, v4);
	ck_assert_str_eq(v4, "198.19.253.3");
	/* a pod's spines are of one AS, each pod's of another, and of a plane's superspines one */
	ck_assert_uint_eq(plan_switch_as(&pods, sp7), 65404);
	ck_assert_uint_eq(plan_switch_as(&pods, (struct plan_host){PLAN_SPINE, 6}), 65404);
	ck_assert_uint_eq(plan_switch_as(&pods, (struct plan_host){PLAN_SPINE, 5}), 65403);
	ck_assert_uint_eq(plan_switch_as(&pods, ss3), 65372);
	ck_assert_int_eq(plan_parse_host(&pods, "ss3", &host), 0);
	ck_assert(host.role == PLAN_SUPERSPINE && host.index == 3);
	ck_assert_int_eq(plan_parse_host(&pods, "ss4", &host), -EINVAL);
	ck_assert_int_eq(plan_parse_host(&tiers, "ss0", &host), -EINVAL);
}
END_TEST

/* The most planes and pods: leaves, superspines and spines keep apart, and to 16 bits. */
START_TEST(as_numbers_of_the_most_pods)
{
	struct topology t = {.servers = 16,
			     .gpus_per_server = 1,
			     .planes = 16,
			     .sub_ports = 1,
			     .leaves_per_plane = 16,
			     .spines_per_plane = 16,
			     .pods = 8};
	uint32_t last_leaf = plan_switch_as(&t, (struct plan_host){PLAN_LEAF, 255}),
		 first_super = plan_switch_as(&t, (struct plan_host){PLAN_SUPERSPINE, 0}),
		 last_super = plan_switch_as(&t, (struct plan_host){PLAN_SUPERSPINE, 31}),
		 first_spine = plan_switch_as(&t, (struct plan_host){PLAN_SPINE, 0}),
		 last_spine = plan_switch_as(&t, (struct plan_host){PLAN_SPINE, 255});

	ck_assert_uint_eq(plan_superspines(&t), 32);
	ck_assert_uint_lt(last_leaf, first_super);
	ck_assert_uint_lt(last_super, first_spine);
	ck_assert_uint_lt(last_spine, 65535);
}
END_TEST

START_TEST(words_to_indices)
{
	static const char *const no_host[] = {"",    "s",   "l",   "s4",  "l4",		 "x0",
					      "sp0", "s0 ", "s-1", "s0x", "s00000000001"};
	static const char *const no_gpu[] = {"",      "l0",   "s3",	"s0/", "s0/g",
					     "s0/g2", "s0/1", "s0/g0/", "/g0"};
	struct plan_host host;
	struct plan_gpu gpu;

	ck_assert_int_eq(plan_parse_host(&four, "s3", &host), 0);
	ck_assert(host.role == PLAN_SERVER && host.index == 3);
	ck_assert_int_eq(plan_parse_host(&four, "l0", &host), 0);
	ck_assert(host.role == PLAN_LEAF && host.index == 0);
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

	plan_netns_name("a-b", (struct plan_host){PLAN_LEAF, 15}, name);
	ck_assert_str_eq(name, "fl-a-b-l15");
	plan_netns_name("0123456789abcdef0123456789abcdef", (struct plan_host){PLAN_SERVER, 1023},
			name);
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
	tcase_add_test(tc, two_tiers);
	tcase_add_test(tc, three_tiers);
	tcase_add_test(tc, as_numbers_of_the_most_pods);
	tcase_add_test(tc, words_to_indices);
	tcase_add_test(tc, netns_names);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
