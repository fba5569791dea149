/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "bench/check_bench_fabric.h"
#include "fabric/lab.h"

/* `ip -j route` of server 0: 8 next hops to each other GPU, plane 1 with the given weight, the
 * others with 29. */
static char *routes(int n, int plane1_weight, int hops)
{
	json_t *list = json_array();
	char *text;

	for (int gpu = 1; gpu <= n; gpu++) {
		json_t *nexthops = json_array();
		char to[32];

		for (int i = 0; i < hops; i++) {
			char dev[32];

			snprintf(dev, sizeof(dev), "g0p%ds%d", i / 2, i % 2);
			json_array_append_new(
				nexthops,
				json_pack("{s:s, s:s, s:i}", "gateway", "198.18.0.1", "dev", dev,
					  "weight", gpu == 1 && i / 2 == 1 ? plane1_weight : 29));
		}
		snprintf(to, sizeof(to), "198.19.0.%d", gpu + 1);
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "dst", to, "protocol",
						      "bgp", "nexthops", nexthops));
	}
	text = json_dumps(list, 0);
	json_decref(list);
	return text;
}

static int judge(struct topo *topo, char *text, bool equal)
{
	char reason[256];
	int err = lab_check_routes(topo, 0, text, equal, reason, sizeof(reason));

	ck_assert(!err == !reason[0]);
	free(text);
	return err;
}

START_TEST(equal_or_not)
{
	struct topo *topo = parsed(fabric(3));

	ck_assert_int_eq(judge(topo, routes(2, 29, 8), true), 0);
	ck_assert_int_eq(judge(topo, routes(2, 29, 8), false), 0);
	ck_assert_int_eq(judge(topo, routes(2, 14, 8), true), -EAGAIN);
	/* GPU 1 has lost a sub-port of plane 1: half the weight is right, for who heeds it */
	topo->gpus[1].plane[1].sub_port[0].up = false;
	ck_assert_int_eq(judge(topo, routes(2, 14, 8), false), 0);
	ck_assert_int_eq(judge(topo, routes(2, 29, 8), false), -EAGAIN);
	ck_assert_int_eq(judge(topo, routes(2, 29, 8), true), 0);
	topo_destroy(topo);
}
END_TEST

START_TEST(missing_routes_and_next_hops)
{
	struct topo *topo = parsed(fabric(3));

	ck_assert_int_eq(judge(topo, routes(1, 29, 8), true), -EAGAIN);
	ck_assert_int_eq(judge(topo, routes(2, 29, 6), true), -EAGAIN);
	ck_assert_int_eq(judge(topo, strdup("[]"), true), -EAGAIN);
	ck_assert_int_eq(judge(topo, strdup("nonsense"), true), -EAGAIN);
	topo_destroy(topo);
}
END_TEST

/* Counted by hand: 3 + 1 + 2 of queues, 4 + 5 of devices, 7 without a route. */
START_TEST(where_packets_were_dropped)
{
	struct lab_drops drops;

	ck_assert_int_eq(
		lab_drops_parse("{\"hosts\": [{\"name\": \"s0\", \"devices\": [{\"dev\": \"a\", "
				"\"queue_drops\": 3, \"device_drops\": 4}]}, {\"name\": \"l0\", "
				"\"route_drops\": 7, \"devices\": [{\"gray_drops\": 1, "
				"\"device_drops\": 5, \"headroom_drops\": 2}]}]}",
				&drops),
		0);
	ck_assert_uint_eq(drops.queue, 6);
	ck_assert_uint_eq(drops.device, 9);
	ck_assert_uint_eq(drops.route, 7);
	ck_assert_int_eq(lab_drops_parse("{}", &drops), -EBADMSG);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lab");
	TCase *tcase = tcase_create("lab");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, equal_or_not);
	tcase_add_test(tcase, missing_routes_and_next_hops);
	tcase_add_test(tcase, where_packets_were_dropped);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
