/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl drain --wait: two looks at sums and devices, and what is said of the time between. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "quiet.h"

static struct quiet_reading before, after;
static struct snapshot snapshot;
static char why[128];

static void setup(void)
{
	snapshot = (struct snapshot){.at_s = 1};
	snapshot.planes =
		json_loads("{\"planes\": ["
			   "{\"local_gpu\": \"g0\", \"plane\": 0, \"sub_ports\": ["
			   "{\"dev\": \"lo\", \"sub_port\": 0, \"speed_bps\": 1e9}, "
			   "{\"dev\": \"none0\", \"sub_port\": 1, \"speed_bps\": 1e9}]}, "
			   "{\"local_gpu\": \"g1\", \"plane\": 1, \"sub_ports\": ["
			   "{\"dev\": \"../lo\", \"sub_port\": 0, \"speed_bps\": 1e9}]}]}",
			   0, NULL);
	snapshot.qp_sums = json_loads(
		"{\"a\": {\"local_gpu\": \"g0\", \"plane\": 0, \"peer\": \"2001:db8::2\", "
		"\"bytes\": 1000}, "
		"\"b\": {\"local_gpu\": \"g0\", \"plane\": 1, \"peer\": \"198.19.0.2\", "
		"\"bytes\": 200}, "
		"\"c\": {\"local_gpu\": \"g1\", \"plane\": 1, \"peer\": \"198.19.0.3\", "
		"\"bytes\": 30}}",
		0, NULL);
	ck_assert(snapshot.planes && snapshot.qp_sums);
	before = after = (struct quiet_reading){.at_s = 1};
	after.at_s = 2;
}

static void teardown(void)
{
	json_decref(snapshot.planes);
	json_decref(snapshot.qp_sums);
}

static const struct {
	struct quiet_scope scope;
	double qp_bytes;
	size_t n_devices;
} scopes[] = {
	{{NULL, NULL, 0, -1}, 1230, 3},
	{{"g0", NULL, 0, -1}, 1200, 2},
	{{NULL, NULL, 1 << 1, -1}, 230, 1},
	{{"g0", NULL, 1 << 1, -1}, 200, 0},
	/* devices carry what goes to other peers, too */
	{{NULL, "198.19.0.2", 0, -1}, 200, 0},
	{{NULL, "2001:0db8:0::2", 0, -1}, 1000, 0},
	{{NULL, "::ffff:198.19.0.3", 0, -1}, 30, 0},
	{{NULL, "no address", 0, -1}, 0, 0},
	/* a QP is of no sub-port that anybody knows */
	{{"g0", NULL, 0, 1}, 0, 1},
};

START_TEST(what_is_covered_is_looked_at)
{
	quiet_reading(&before, &scopes[_i].scope, &snapshot);
	ck_assert_double_eq(before.qp_bytes, scopes[_i].qp_bytes);
	ck_assert_uint_eq(before.n_devices, scopes[_i].n_devices);
}
END_TEST

START_TEST(devices_that_are_here_are_read)
{
	const struct quiet_scope all = {NULL, NULL, 0, -1};

	quiet_reading(&before, &all, &snapshot);
	ck_assert_str_eq(before.devices[0].name, "lo");
	ck_assert(before.devices[0].is_known);
	ck_assert(!before.devices[1].is_known); /* no such device */
	ck_assert(!before.devices[2].is_known); /* no name of one */
}
END_TEST

static void devices(uint64_t rx_bytes, uint64_t tx_bytes)
{
	before.n_devices = after.n_devices = 1;
	before.devices[0] = (struct quiet_device){"e0", 1e9, 5000, 7000, true};
	after.devices[0] = (struct quiet_device){"e0", 1e9, 5000 + rx_bytes, 7000 + tx_bytes, true};
}

/* The daemon says that there is none, so nothing leaves by it; else it is of another namespace. */
START_TEST(an_absent_device_is_quiet)
{
	const struct quiet_scope all = {NULL, NULL, 0, -1};
	json_t *ports = json_object_get(
		json_array_get(json_object_get(snapshot.planes, "planes"), 0), "sub_ports");

	json_object_set_new(json_array_get(ports, 1), "state", json_string("absent"));
	quiet_reading(&before, &all, &snapshot);
	ck_assert(before.devices[1].is_known);
	json_object_set_new(json_array_get(ports, 1), "state", json_string("no-carrier"));
	quiet_reading(&before, &all, &snapshot);
	ck_assert(!before.devices[1].is_known);
}
END_TEST

START_TEST(probes_and_bgp_go_on)
{
	devices(1250000, 1250000); /* 10 Mb/s of 1 Gb/s */
	ck_assert(quiet_between(&before, &after, why, sizeof(why)));
}
END_TEST

START_TEST(a_busy_device_is_named)
{
	if (_i)
		devices(0, 2500000);
	else
		devices(2500000, 0);
	ck_assert(!quiet_between(&before, &after, why, sizeof(why)));
	ck_assert_str_eq(why, _i ? "e0 receives 0 and sends 20 Mb/s"
				 : "e0 receives 20 and sends 0 Mb/s");
	after.devices[0].is_known = false; /* it went: nothing leaves by it */
	ck_assert(quiet_between(&before, &after, why, sizeof(why)));
}
END_TEST

START_TEST(qps_carry_not_a_byte)
{
	before.qp_bytes = after.qp_bytes = 1000;
	ck_assert(quiet_between(&before, &after, why, sizeof(why)));
	after.qp_bytes = 126000;
	ck_assert(!quiet_between(&before, &after, why, sizeof(why)));
	ck_assert_str_eq(why, "applications send 1 Mb/s");
	after.qp_bytes = 999; /* one that ended took its bytes with it */
	ck_assert(!quiet_between(&before, &after, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "ended"));
}
END_TEST

START_TEST(two_looks_at_one_time_say_nothing)
{
	after.at_s = before.at_s;
	ck_assert(!quiet_between(&before, &after, why, sizeof(why)));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("quiet");
	TCase *tc = tcase_create("all");
	SRunner *r = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, what_is_covered_is_looked_at, 0,
			    (int)(sizeof(scopes) / sizeof(scopes[0])));
	tcase_add_test(tc, devices_that_are_here_are_read);
	tcase_add_test(tc, an_absent_device_is_quiet);
	tcase_add_test(tc, probes_and_bgp_go_on);
	tcase_add_loop_test(tc, a_busy_device_is_named, 0, 2);
	tcase_add_test(tc, qps_carry_not_a_byte);
	tcase_add_test(tc, two_looks_at_one_time_say_nothing);
	suite_add_tcase(s, tc);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
