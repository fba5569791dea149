/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <check.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "resilience/observe_kernel.h"

static struct observe_route route[1];
static struct observe_kernel k;
static unsigned n_links, n_routes;

static _Alignas(struct nlmsghdr) uint8_t bytes[512];
static struct nlmsghdr *const head = (struct nlmsghdr *)bytes;

static void on_link(void *arg, int ifindex, bool up)
{
	(void)arg, (void)ifindex, (void)up;
	n_links++;
}

static void on_routes(void *arg)
{
	(void)arg;
	n_routes++;
}

static void setup(void)
{
	memset(route, 0, sizeof(route));
	inet_pton(AF_INET6, "::ffff:198.19.0.2", &route[0].to);
	k = (struct observe_kernel){
		.route = route, .n_routes = 1, .on_link = on_link, .on_routes = on_routes};
	n_links = n_routes = 0;
}

static void put(uint16_t type, const void *payload, size_t size)
{
	struct rtattr *a = (struct rtattr *)(bytes + NLMSG_ALIGN(head->nlmsg_len));

	a->rta_type = type;
	a->rta_len = (uint16_t)RTA_LENGTH(size);
	memcpy(RTA_DATA(a), payload, size);
	head->nlmsg_len = (uint32_t)(NLMSG_ALIGN(head->nlmsg_len) + RTA_ALIGN(a->rta_len));
}

/* A route over those devices, with those weights. */
static void say_route(uint16_t type, unsigned n, const int *dev, const uint8_t *hops)
{
	struct rtmsg r = {.rtm_family = AF_INET, .rtm_dst_len = 32, .rtm_table = RT_TABLE_MAIN};
	struct rtnexthop hop[4] = {0};
	struct in_addr to;

	inet_pton(AF_INET, "198.19.0.2", &to);
	memset(bytes, 0, sizeof(bytes));
	head->nlmsg_type = type;
	head->nlmsg_len = NLMSG_LENGTH(sizeof(r));
	memcpy(NLMSG_DATA(head), &r, sizeof(r));
	put(RTA_DST, &to, sizeof(to));
	for (unsigned i = 0; i < n; i++)
		hop[i] = (struct rtnexthop){
			.rtnh_len = sizeof(*hop), .rtnh_hops = hops[i], .rtnh_ifindex = dev[i]};
	put(RTA_MULTIPATH, hop, n * sizeof(*hop));
	observe_kernel_message(&k, head, head->nlmsg_len);
}

static void say_link(int ifindex, bool up)
{
	struct ifinfomsg info = {.ifi_index = ifindex, .ifi_flags = up ? IFF_RUNNING : 0};

	memset(bytes, 0, sizeof(bytes));
	head->nlmsg_type = RTM_NEWLINK;
	head->nlmsg_len = NLMSG_LENGTH(sizeof(info));
	memcpy(NLMSG_DATA(head), &info, sizeof(info));
	observe_kernel_message(&k, head, head->nlmsg_len);
}

START_TEST(a_route_is_away_until_it_is_as_it_was)
{
	setup();
	say_route(RTM_NEWROUTE, 2, (const int[]){5, 6}, (const uint8_t[]){24, 24});
	k.following = true;
	/* order is nothing */
	say_route(RTM_NEWROUTE, 2, (const int[]){6, 5}, (const uint8_t[]){24, 24});
	/* nor is the scale */
	say_route(RTM_NEWROUTE, 2, (const int[]){6, 5}, (const uint8_t[]){0, 0});
	ck_assert_uint_eq(n_routes, 0);
	say_route(RTM_NEWROUTE, 2, (const int[]){5, 6}, (const uint8_t[]){32, 16});
	say_route(RTM_NEWROUTE, 1, (const int[]){5}, (const uint8_t[]){24});
	ck_assert_uint_eq(k.n_routes_away, 1);
	ck_assert_uint_eq(n_routes, 1);
	say_route(RTM_DELROUTE, 2, (const int[]){5, 6}, (const uint8_t[]){24, 24});
	ck_assert_uint_eq(k.n_routes_away, 1);
	say_route(RTM_NEWROUTE, 2, (const int[]){5, 6}, (const uint8_t[]){24, 24});
	ck_assert_uint_eq(k.n_routes_away, 0);
	ck_assert_uint_eq(n_routes, 2);
}
END_TEST

START_TEST(links_that_go_and_come)
{
	setup();
	say_link(5, true);
	say_link(6, false);
	k.following = true;
	say_link(5, true);
	say_link(7, true); /* not there at the start */
	ck_assert_uint_eq(n_links, 0);
	say_link(5, false);
	say_link(6, true);
	ck_assert_uint_eq(k.n_links_away, 2);
	say_link(5, true);
	say_link(6, false);
	ck_assert_uint_eq(k.n_links_away, 0);
	ck_assert_uint_eq(n_links, 4);
}
END_TEST

START_TEST(truncated_messages_change_nothing)
{
	setup();
	say_route(RTM_NEWROUTE, 2, (const int[]){5, 6}, (const uint8_t[]){24, 24});
	k.following = true;
	say_link(5, true);
	for (uint32_t n = sizeof(*head); n < NLMSG_LENGTH(sizeof(struct ifinfomsg)); n++) {
		say_link(5, true);
		observe_kernel_message(&k, head, n);
	}
	ck_assert_uint_eq(n_links, 0);
	setup();
	for (uint32_t n = sizeof(*head); n < NLMSG_LENGTH(sizeof(struct rtmsg)) + RTA_LENGTH(4);
	     n++) {
		head->nlmsg_type = RTM_NEWROUTE;
		observe_kernel_message(&k, head, n);
	}
	ck_assert_uint_eq(route[0].now, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("observe_kernel");
	TCase *tc = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tc, a_route_is_away_until_it_is_as_it_was);
	tcase_add_test(tc, links_that_go_and_come);
	tcase_add_test(tc, truncated_messages_change_nothing);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
