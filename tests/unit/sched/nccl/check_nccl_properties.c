/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/nccl_properties.h"

static char dir[] = "/tmp/fare-check-nccl-XXXXXX";

static void run(const char *commands)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && %s", dir, commands);
	ck_assert_int_eq(system(line), 0);
}

/* A PCI function, a virtio device on another one, a veth. */
static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	run("mkdir -p bus/pci bus/virtio net/card net/guest net/veth dev/0000:41:00.0 "
	    "dev/0000:42:00.0/virtio3");
	run("ln -s ../../bus/pci dev/0000:41:00.0/subsystem && "
	    "ln -s ../../../bus/virtio dev/0000:42:00.0/virtio3/subsystem");
	run("ln -s ../../dev/0000:41:00.0 net/card/device && "
	    "ln -s ../../dev/0000:42:00.0/virtio3 net/guest/device");
}

static void teardown(void)
{
	run("rm -rf $PWD");
}

static uint64_t guid(const char *text)
{
	struct in6_addr address;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &address), 1);
	return properties_guid(&address);
}

START_TEST(each_address_has_its_guid)
{
	ck_assert(guid("::ffff:10.0.0.1") != guid("::ffff:10.0.0.2"));
	/* addresses that differ in their first half alone */
	ck_assert(guid("2001:db8:1::1") != guid("2001:db8:2::1"));
	ck_assert(guid("2001:db8:1::1") == guid("2001:db8:1::1"));
}
END_TEST

START_TEST(only_a_pci_function_is_a_path)
{
	char net[64], *path;

	snprintf(net, sizeof(net), "%s/net", dir);
	path = properties_pci_path(net, "card");
	ck_assert_ptr_nonnull(path);
	ck_assert_str_eq(strrchr(path, '/'), "/0000:41:00.0");
	free(path);
	ck_assert_ptr_null(properties_pci_path(net, "guest"));
	ck_assert_ptr_null(properties_pci_path(net, "veth"));
	ck_assert_ptr_null(properties_pci_path(net, "gone"));
}
END_TEST

/* The name is from shared memory. */
START_TEST(a_name_leads_nowhere_else)
{
	char net[64];

	snprintf(net, sizeof(net), "%s/bus", dir);
	ck_assert_ptr_null(properties_pci_path(net, "../net/card"));
	ck_assert_ptr_null(properties_pci_path(net, ""));
	ck_assert_ptr_null(properties_pci_path(net, ".."));
	ck_assert_ptr_null(properties_pci_path(net, "a-name-that-is-too-long-for-a-device"));
}
END_TEST

START_TEST(speed_is_the_sum_of_what_is_up)
{
	static struct shm_local_gpu shm;
	struct attach_gpu gpu = {.n_planes = 2, .n_sub_ports = {2, 1}, .shm = &shm};

	ck_assert_int_eq(properties_speed_mbps(&gpu), 0);
	atomic_store(&shm.sub_ports[0][1].speed_bps, UINT64_C(400000000000));
	atomic_store(&shm.sub_ports[1][0].speed_bps, UINT64_C(200000000000));
	atomic_store(&shm.sub_ports[1][1].speed_bps, UINT64_C(800000000000)); /* none of these */
	ck_assert_int_eq(properties_speed_mbps(&gpu), 600000);
	ck_assert_uint_eq(properties_plane_mbps(&gpu, 0), 400000);
	ck_assert_uint_eq(properties_plane_mbps(&gpu, 1), 200000);
	/* as it is when it is asked for */
	atomic_store(&shm.sub_ports[0][1].speed_bps, UINT64_C(100000000000));
	ck_assert_int_eq(properties_speed_mbps(&gpu), 300000);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nccl_properties");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, each_address_has_its_guid);
	tcase_add_test(tc, only_a_pci_function_is_a_path);
	tcase_add_test(tc, a_name_leads_nowhere_else);
	tcase_add_test(tc, speed_is_the_sum_of_what_is_up);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
