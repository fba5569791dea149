/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "bench/check_bench_fabric.h"

START_TEST(a_good_one)
{
	struct topo *topo = parsed(fabric(4));
	char label[64];

	ck_assert_uint_eq(topo->n_gpus, 4);
	ck_assert_uint_eq(topo->n_planes, 4);
	ck_assert(topo->converged);
	ck_assert_int_eq(topo->servers[2].bgpd_pid, 101);
	ck_assert_int_eq(topo->servers[2].fared_pid, 0);
	ck_assert_str_eq(topo_gpu_address(topo, 3), "198.19.0.4");
	ck_assert_uint_eq(topo_capacity_bps(topo, 1, 2), 400000000);
	ck_assert_uint_eq(topo_live_sub_ports(topo, 1, 2), 3);
	topo_gpu_label(topo, 3, label, sizeof(label));
	ck_assert_str_eq(label, "s3/g0");
	topo_destroy(topo);
}
END_TEST

START_TEST(names_of_gpus)
{
	struct topo *topo = parsed(fabric(4));

	ck_assert_int_eq(topo_find_gpu(topo, "s2"), 2);
	ck_assert_int_eq(topo_find_gpu(topo, "s2/g0"), 2);
	ck_assert_int_eq(topo_find_gpu(topo, "3"), 3);
	ck_assert_int_eq(topo_find_gpu(topo, "4"), -ENOENT);
	ck_assert_int_eq(topo_find_gpu(topo, "s2/g1"), -ENOENT);
	ck_assert_int_eq(topo_find_gpu(topo, "s"), -ENOENT);
	ck_assert_int_eq(topo_find_gpu(topo, ""), -ENOENT);
	topo_destroy(topo);
}
END_TEST

START_TEST(what_is_down_carries_nothing)
{
	struct topo *topo = parsed(fabric(2));

	topo->gpus[1].plane[2].sub_port[0].up = false;
	ck_assert_uint_eq(topo_capacity_bps(topo, 1, 2), 200000000);
	ck_assert_uint_eq(topo_live_sub_ports(topo, 1, 2), 2);
	topo->leaves[topo->gpus[1].plane[2].leaf].up = false;
	ck_assert_uint_eq(topo_capacity_bps(topo, 1, 2), 0);
	topo_destroy(topo);
}
END_TEST

/* Each line spoils one thing: the path to an object, the member, and what it becomes (NULL: it
 * goes). */
START_TEST(bad_ones_say_why)
{
	static const struct {
		const char *member, *value, *says;
	} bad[] = {
		{"planes", "0", "planes"},
		{"planes", "17", "planes"},
		{"planes", "\"4\"", "planes"},
		{"servers", "[]", "servers"},
		{"servers", "{}", "servers"},
		{"leaves", "[{\"name\":1}]", "name"},
		{"leaves", "[]", "leaves"},
		{"lab", "null", "lab"},
		{"mtu_bytes", "-1", "mtu_bytes"},
		{"mtu_bytes", NULL, "mtu_bytes"},
		{"why", "7", "why"},
		{"servers", "[{\"gpus\":[]}]", "GPUs"},
		{"servers",
		 "[{\"name\":\"s\",\"netns\":\"a/b\",\"fared_run_dir\":\"\",\"gpus\":[1]}]",
		 "netns"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *root = fabric(2);
		char *text, reason[256] = "";
		struct topo *topo;

		if (bad[i].value)
			json_object_set_new(root, bad[i].member,
					    json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(root, bad[i].member);
		text = json_dumps(root, 0);
		ck_assert_int_eq(topo_parse(&topo, text, strlen(text), reason, sizeof(reason)),
				 -EBADMSG);
		ck_assert_msg(strstr(reason, bad[i].says), "%zu: %s", i, reason);
		free(text);
		json_decref(root);
	}
}
END_TEST

START_TEST(marks_are_read)
{
	json_t *root = fabric(2), *port = json_object_get(root, "servers");
	struct topo *topo;

	port = json_array_get(json_object_get(json_array_get(port, 1), "gpus"), 0);
	port = json_array_get(json_object_get(port, "planes"), 2);
	port = json_array_get(json_object_get(port, "sub_ports"), 1);
	json_object_set_new(root, "ecn_threshold_bytes", json_integer(102400));
	json_object_set_new(port, "ecn",
			    json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "packets", 50, "bytes", 9,
				      "marked", 7, "onset_ns", 3, "queue_at_onset_bytes", 102401,
				      "queue_peak_bytes", 200000));
	json_object_set_new(root, "ecn_max_bytes", json_integer(204800));
	json_object_set_new(root, "ecn_max_percent", json_integer(20));
	json_object_set_new(json_object_get(port, "ecn"), "ramp",
			    json_pack("[[iii][iii][iii][iii][iii][iii][iii][iii][iii]]", 1, 0, 1, 2,
				      1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5,
				      5, 13));
	topo = parsed(root);
	ck_assert_uint_eq(topo->ecn_threshold_bytes, 102400);
	ck_assert_uint_eq(topo->ecn_max_bytes, 204800);
	ck_assert_uint_eq(topo->ecn_max_percent, 20);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.ramp_packets[1], 2);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.ramp_marked[1], 1);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.ramp_marked[8], 5);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.ramp_squares[8], 13);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.packets, 50);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.marked, 7);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.onset_ns, 3);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.queue_at_onset_bytes, 102401);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[1].marks.queue_peak_bytes, 200000);
	ck_assert_uint_eq(topo->gpus[1].plane[2].sub_port[0].marks.packets, 0);
	topo_destroy(topo);
}
END_TEST

START_TEST(queues_and_pauses_are_read)
{
	json_t *root = fabric(2);
	struct topo *topo;

	json_object_set_new(root, "pfc", json_null());
	topo = parsed(json_incref(root));
	ck_assert_uint_eq(topo->pfc.xoff_bytes, 0);
	ck_assert_uint_eq(topo->queue_bytes, 0);
	topo_destroy(topo);
	json_object_set_new(root, "queue_bytes", json_integer(65536));
	json_object_set_new(root, "pfc",
			    json_pack("{s:i, s:i, s:i, s:i}", "xoff_bytes", 9, "xon_bytes", 4,
				      "headroom_bytes", 8, "watchdog_ms", 7));
	topo = parsed(root);
	ck_assert_uint_eq(topo->queue_bytes, 65536);
	ck_assert_uint_eq(topo->pfc.xoff_bytes, 9);
	ck_assert_uint_eq(topo->pfc.xon_bytes, 4);
	ck_assert_uint_eq(topo->pfc.headroom_bytes, 8);
	ck_assert_uint_eq(topo->pfc.watchdog_ms, 7);
	topo_destroy(topo);
}
END_TEST

START_TEST(spines_are_read_and_checked)
{
	static const struct {
		const char *member, *value, *says;
	} bad[] = {
		{"spines", "[{}]", "name"},
		{"spines", "[{\"name\":\"sp0\"}]", "netns"},
		{"uplinks", "[{\"leaf\":\"l0\",\"spine\":\"sp0\"}]", "rate_bps"},
		{"uplinks", "[{\"leaf\":\"l0\",\"spine\":\"x\",\"rate_bps\":1}]", "no spine x"},
		{"uplinks", "[{\"leaf\":\"l9\",\"spine\":\"sp0\",\"rate_bps\":1}]", "no leaf l9"},
		{"uplinks", "[7]", "leaf"},
	};
	struct topo *topo = parsed(two_tiers());

	ck_assert_uint_eq(topo->n_leaves, 8);
	ck_assert_uint_eq(topo->n_spines, 8);
	ck_assert_uint_eq(topo->n_uplinks, 16);
	ck_assert(topo_same_leaf(topo, 0, 1, 3) && !topo_same_leaf(topo, 1, 2, 3));
	ck_assert_uint_eq(topo_uplinks_bps(topo, 0), 800000000);
	ck_assert_double_eq(topo_spines_share(topo, 0, 1), 1);
	/* two servers of two links of 200 Mb/s on two of 400; then leaf 0 has one */
	ck_assert_double_eq(topo_oversubscription(topo), 1);
	topo->uplinks[0].up = false;
	ck_assert_double_eq(topo_oversubscription(topo), 2);
	topo->n_uplinks = 0;
	ck_assert_double_eq(topo_oversubscription(topo), 0);
	topo_destroy(topo);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *root = two_tiers();
		char *text, reason[256] = "";

		json_object_set_new(root, bad[i].member, json_loads(bad[i].value, 0, NULL));
		text = json_dumps(root, 0);
		ck_assert_int_eq(topo_parse(&topo, text, strlen(text), reason, sizeof(reason)),
				 -EBADMSG);
		ck_assert_msg(strstr(reason, bad[i].says), "%zu: %s", i, reason);
		free(text);
		json_decref(root);
	}
}
END_TEST

/* Two leaves of different pods: spines 0 and 1 of plane 0, of one leaf each, one superspine. */
START_TEST(superspines_join_pods)
{
	json_t *root = two_tiers();
	const char
		*uplinks = "[{\"leaf\":\"l0\",\"spine\":\"sp0\",\"rate_bps\":400,\"up\":true},"
			   "{\"leaf\":\"l1\",\"spine\":\"sp1\",\"rate_bps\":300,\"up\":true}]",
		*tops = "[{\"name\":\"ss0\",\"up\":true}]",
		*more = "[{\"spine\":\"sp0\",\"superspine\":\"ss0\",\"rate_bps\":200,\"up\":true},"
			"{\"spine\":\"sp1\",\"superspine\":\"ss0\",\"rate_bps\":250,\"up\":true}]",
		*none = "[{\"spine\":\"sp0\",\"superspine\":\"ss9\",\"rate_bps\":200}]";
	char *text, reason[256] = "";
	struct topo *topo;

	json_object_set_new(root, "uplinks", json_loads(uplinks, 0, NULL));
	json_object_set_new(root, "superspines", json_loads(tops, 0, NULL));
	json_object_set_new(root, "spine_uplinks", json_loads(none, 0, NULL));
	text = json_dumps(root, 0);
	ck_assert_int_eq(topo_parse(&topo, text, strlen(text), reason, sizeof(reason)), -EBADMSG);
	ck_assert_msg(strstr(reason, "no superspine ss9"), "%s", reason);
	free(text);
	json_object_set_new(root, "spine_uplinks", json_loads(more, 0, NULL));
	topo = parsed(root);
	ck_assert_uint_eq(topo->n_superspines, 1);
	ck_assert_str_eq(topo->spines[1].superspine_name, "ss0");
	ck_assert_uint_eq(topo_spines_bps(topo, 0, 1), 200);
	ck_assert_double_eq(topo_spines_share(topo, 0, 1), 1);
	topo->spines[1].uplink_bps = 0;
	ck_assert_uint_eq(topo_spines_bps(topo, 0, 1), 0);
	ck_assert_double_eq(topo_spines_share(topo, 0, 1), 0);
	topo_destroy(topo);
}
END_TEST

START_TEST(indices_are_checked)
{
	static const char *const members[] = {"global_index", "index"};

	for (int i = 0; i < 3; i++) {
		json_t *root = fabric(2);
		json_t *gpu = json_array_get(
			json_object_get(json_array_get(json_object_get(root, "servers"), 1),
					"gpus"),
			0);
		json_t *plane = json_array_get(json_object_get(gpu, "planes"), 0);
		char *text, reason[256];
		struct topo *topo;

		if (i < 2)
			json_object_set_new(gpu, members[i],
					    json_integer(i ? 99 : 0)); /* 0 is taken */
		else
			json_object_set_new(plane, "plane",
					    json_integer(1)); /* so plane 1 comes twice */
		text = json_dumps(root, 0);
		ck_assert_int_eq(topo_parse(&topo, text, strlen(text), reason, sizeof(reason)),
				 -EBADMSG);
		free(text);
		json_decref(root);
	}
}
END_TEST

/* Every prefix of a good text is a bad one; none may crash, none may be taken. */
START_TEST(cut_short)
{
	json_t *root = fabric(1);
	char *text = json_dumps(root, JSON_COMPACT), reason[256];
	struct topo *topo;

	for (size_t n = 0; n < strlen(text); n += 7)
		ck_assert_int_eq(topo_parse(&topo, text, n, reason, sizeof(reason)), -EBADMSG);
	free(text);
	json_decref(root);
}
END_TEST

START_TEST(mtu_and_goodput)
{
	ck_assert_uint_eq(topo_path_mtu(4200, false), 4096);
	ck_assert_uint_eq(topo_path_mtu(4200, true), 4096);
	ck_assert_uint_eq(topo_path_mtu(1500, false), 1024);
	ck_assert_uint_eq(topo_path_mtu(4155, false), 2048);
	ck_assert_uint_eq(topo_path_mtu(200, false), 0);
	ck_assert_double_eq_tol(topo_goodput_factor(4096, false), 4096.0 / 4154, 1e-12);
	ck_assert_double_eq_tol(topo_goodput_factor(1024, true), 1024.0 / 1102, 1e-12);
	/* each packet has headers, the first a RETH */
	ck_assert_double_eq_tol(topo_write_factor(4096, false, 64), 64. / 138, 1e-12);
	ck_assert_double_eq_tol(topo_write_factor(4096, false, 4096), 4096. / 4170, 1e-12);
	ck_assert_double_eq_tol(topo_write_factor(4096, false, 65536), 65536. / 66480, 1e-12);
	ck_assert_double_eq_tol(topo_write_factor(1024, true, 1025), 1025. / 1197, 1e-12);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("topo");
	TCase *tcase = tcase_create("topo");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, a_good_one);
	tcase_add_test(tcase, names_of_gpus);
	tcase_add_test(tcase, what_is_down_carries_nothing);
	tcase_add_test(tcase, bad_ones_say_why);
	tcase_add_test(tcase, indices_are_checked);
	tcase_add_test(tcase, spines_are_read_and_checked);
	tcase_add_test(tcase, superspines_join_pods);
	tcase_add_test(tcase, marks_are_read);
	tcase_add_test(tcase, queues_and_pauses_are_read);
	tcase_add_test(tcase, cut_short);
	tcase_add_test(tcase, mtu_and_goodput);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
