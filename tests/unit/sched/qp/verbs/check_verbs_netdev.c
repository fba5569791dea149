/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "qp/verbs/verbs_netdev.h"

static char sysfs[] = "/tmp/check_verbs_netdev.XXXXXX";

/* A sysfs with a bond of two, a VRF of one, and a netdev without a master. */
static void set_up(void)
{
	char command[1024];

	ck_assert_ptr_nonnull(mkdtemp(sysfs));
	snprintf(command, sizeof(command),
		 "cd %s && mkdir -p bond0/bonding vrf0 m0 m1 v0 plain && echo 7 >bond0/ifindex && "
		 "echo 9 >vrf0/ifindex && ln -s ../bond0 m0/master && ln -s ../bond0 m1/master && "
		 "ln -s ../vrf0 v0/master",
		 sysfs);
	ck_assert_int_eq(system(command), 0);
}

static void tear_down(void)
{
	char command[1024];

	snprintf(command, sizeof(command), "rm -r %s", sysfs);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_member_of_a_bond_sends_and_receives_by_the_bond)
{
	struct verbs_netdev n;

	for (int i = 0; i < 2; i++) {
		const char *dev = i ? "m1" : "m0";

		verbs_netdev_read(&n, sysfs, dev);
		ck_assert_uint_eq(n.master, 7);
		ck_assert_str_eq(verbs_netdev_socket_device(&n, dev), "bond0");
		ck_assert(verbs_netdev_is_bond_of(&n, 7));
		ck_assert(!verbs_netdev_is_bond_of(&n, 8));
	}
}
END_TEST

START_TEST(a_member_of_a_vrf_sends_and_receives_itself)
{
	struct verbs_netdev n;

	verbs_netdev_read(&n, sysfs, "v0");
	ck_assert_uint_eq(n.master, 9);
	ck_assert_str_eq(verbs_netdev_socket_device(&n, "v0"), "v0");
	ck_assert(!verbs_netdev_is_bond_of(&n, 9));
}
END_TEST

START_TEST(without_a_master_a_netdev_stands_for_itself)
{
	static const char *const devs[] = {"plain", "bond0", "none", ""};
	struct verbs_netdev n;

	for (unsigned i = 0; i < sizeof(devs) / sizeof(devs[0]); i++) {
		verbs_netdev_read(&n, sysfs, devs[i]);
		ck_assert_uint_eq(n.master, 0);
		ck_assert_str_eq(verbs_netdev_socket_device(&n, devs[i]), devs[i]);
		ck_assert(!verbs_netdev_is_bond_of(&n, 0));
		ck_assert(!verbs_netdev_is_bond_of(&n, 7));
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("verbs_netdev");
	TCase *t = tcase_create("core");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_member_of_a_bond_sends_and_receives_by_the_bond);
	tcase_add_test(t, a_member_of_a_vrf_sends_and_receives_itself);
	tcase_add_test(t, without_a_master_a_netdev_stands_for_itself);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
