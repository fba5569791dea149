/* SPDX-License-Identifier: BSD-2-Clause */
/* Replies as OpenMetrics text: what a family looks like, and what strange replies make of it. */
#include "metrics.h"
#include "path_sums.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char *text;

/* by_path: series by path, too; r's paths come in two pages. */
static void write_with(const struct snapshot *r, bool by_path)
{
	const json_t *planes = json_object_get(r->planes, "planes"), *row;
	struct metrics_paths *paths = NULL;
	struct path_totals totals;
	size_t size, i;
	FILE *to = open_memstream(&text, &size);

	path_totals_init(&totals);
	if (by_path)
		ck_assert_int_eq(metrics_paths_create(&paths), 0);
	json_array_foreach (json_object_get(r->paths, "paths"), i, row) {
		json_t *page = json_pack("[O]", row);

		path_totals_add(&totals, planes, page);
		if (paths)
			metrics_paths_add(paths, page);
		json_decref(page);
	}
	path_totals_end(&totals, planes, r->qp_sums);
	metrics_write(to, r, &totals, paths);
	fclose(to);
	path_totals_fini(&totals);
	metrics_paths_destroy(paths);
	ck_assert_ptr_nonnull(text);
}

static void write_all(const struct snapshot *r)
{
	write_with(r, true);
}

static void teardown(void)
{
	free(text);
	text = NULL;
}

static json_t *json(const char *source)
{
	json_t *value = json_loads(source, 0, NULL);

	ck_assert_ptr_nonnull(value);
	return value;
}

static void has(const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	ck_assert_msg(strstr(text, whole), "no line '%s' in\n%s", line, text);
}

static void has_not(const char *part)
{
	ck_assert_msg(!strstr(text, part), "'%s' in\n%s", part, text);
}

START_TEST(a_path)
{
	json_t *version = json("{\"version\": \"1\", \"node\": \"n\", \"uptime_s\": 2.5}"),
	       *paths = json(
		       "{\"paths\": [{\"local_gpu\": \"g0\", \"peer\": \"2001:db8::1\", \"plane\": "
		       "3, \"usable_bps\": 400000000000, \"advertised_bps\": null, \"verdict\": "
		       "\"ok\", \"drained\": false, \"probe\": {\"loss_ppm\": 250000, \"sent\": "
		       "7}}]}");
	const struct snapshot r = {.version = version, .paths = paths};

	write_all(&r);
	has("fared_up 1");
	has("fared_build_info{version=\"1\",node=\"n\"} 1");
	has("fared_uptime_seconds 2.5");
	has("# TYPE fared_path_usable_bits_per_second gauge");
	has("fared_path_usable_bits_per_second{gpu=\"g0\",peer=\"2001:db8::1\",plane=\"3\"} "
	    "400000000000");
	has("fared_path_verdict{gpu=\"g0\",peer=\"2001:db8::1\",plane=\"3\",verdict=\"ok\"} 1");
	has("fared_path_drained{gpu=\"g0\",peer=\"2001:db8::1\",plane=\"3\"} 0");
	has("fared_path_probe_loss_ratio{gpu=\"g0\",peer=\"2001:db8::1\",plane=\"3\"} 0.25");
	has("# TYPE fared_path_probes_sent counter");
	has("fared_path_probes_sent_total{gpu=\"g0\",peer=\"2001:db8::1\",plane=\"3\"} 7");
	has_not("\nfared_path_advertised_bits_per_second{"); /* null: no sample */
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
	json_decref(version);
	json_decref(paths);
}
END_TEST

/* Two planes, and many peers: one is whole, one lost a plane, one is down, one is drained. */
START_TEST(as_many_peers_as_there_are_make_one_series_for_each_plane)
{
	static const struct {
		const char *peer;
		double usable[2];
		bool drained;
	} peers[] = {{"a", {400, 400}, false},
		     {"b", {400, 0}, false},
		     {"c", {0, 0}, false},
		     {"d", {0, 0}, true},
		     {"e", {400, 200}, false}};
	json_t *version = json("{\"version\": \"1\"}"), *rows = json_array(), *paths;
	struct snapshot r;

	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		for (int p = 0; p < 2; p++)
			json_array_append_new(
				rows,
				json_pack("{s:s, s:s, s:i, s:f, s:i, s:s, s:b, s:i, s:{s:i, s:i, "
					  "s:i, s:i, s:f, s:i, s:i}}",
					  "local_gpu", "g0", "peer", peers[i].peer, "plane", p,
					  "usable_bps", peers[i].usable[p], "local_bps", 400,
					  "verdict", peers[i].usable[p] > 0 ? "ok" : "probe-down",
					  "drained", peers[i].drained, "configured_sub_ports", 2,
					  "probe", "sent", 10, "lost", 1, "downs", 2, "loss_ppm",
					  (int)i * 1000, "rtt_p99_us", (double)i, "path_mtu",
					  i ? 4096 : 1024, "path_mtu_wanted", 4096));
	paths = json_pack("{s:O}", "paths", rows);
	r = (struct snapshot){.version = version, .paths = paths};
	write_with(&r, false);
	has_not("fared_path_");
	has_not("peer=");
	has("fared_plane_path_usable_bits_per_second{gpu=\"g0\",plane=\"0\"} 1200");
	has("fared_plane_path_local_bits_per_second{gpu=\"g0\",plane=\"1\"} 2000");
	has("fared_plane_lost_paths{gpu=\"g0\",plane=\"0\"} 0"); /* c is away as a whole */
	has("fared_plane_lost_paths{gpu=\"g0\",plane=\"1\"} 1");
	has("fared_plane_reduced_paths{gpu=\"g0\",plane=\"1\"} 1");
	has("fared_plane_drained_paths{gpu=\"g0\",plane=\"1\"} 1");
	has("fared_plane_small_mtu_paths{gpu=\"g0\",plane=\"0\"} 1");
	has_not("fared_plane_probes_sent_total"); /* a sum over paths falls as peers go */
	has("fared_plane_probe_loss_ratio{gpu=\"g0\",plane=\"0\"} 0.004");
	has("fared_plane_probe_rtt_p99_seconds{gpu=\"g0\",plane=\"0\"} 4e-06");
	has("fared_plane_verdict_paths{gpu=\"g0\",plane=\"1\",verdict=\"probe-down\"} 3");
	has("fared_peers{gpu=\"g0\",state=\"whole\"} 1");
	has("fared_peers{gpu=\"g0\",state=\"degraded\"} 2");
	has("fared_peers{gpu=\"g0\",state=\"down\"} 1");
	has("fared_peers{gpu=\"g0\",state=\"drained\"} 1");
	json_decref(version);
	json_decref(rows);
	json_decref(paths);
}
END_TEST

/* A peer that says so itself, and a sub-port that is drained here, are no faults of a path. */
START_TEST(what_is_said_is_not_lost)
{
	json_t *version = json("{\"version\": \"1\"}"),
	       *planes = json("{\"planes\": [{\"local_gpu\": \"g0\", \"plane\": 1, \"sub_ports\": "
			      "[{\"up\": true, \"speed_bps\": 200, \"drained\": true}, "
			      "{\"up\": true, \"speed_bps\": 200, \"drained\": false}]}]}"),
	       *paths = json(
		       "{\"paths\": [{\"local_gpu\": \"g0\", \"peer\": \"a\", \"plane\": 0, "
		       "\"configured_sub_ports\": 1, \"local_bps\": 400, \"usable_bps\": 0, "
		       "\"noticed_bps\": 0}, {\"local_gpu\": \"g0\", \"peer\": \"a\", \"plane\": "
		       "1, "
		       "\"configured_sub_ports\": 2, \"local_bps\": 400, \"usable_bps\": 200}, "
		       "{\"local_gpu\": \"g0\", \"peer\": \"a\", \"plane\": 2, "
		       "\"configured_sub_ports\": 0, \"local_bps\": 0, \"usable_bps\": 0}]}");
	const struct snapshot r = {.version = version, .planes = planes, .paths = paths};

	write_all(&r);
	has("fared_plane_lost_paths{gpu=\"g0\",plane=\"0\"} 0");
	has("fared_plane_reduced_paths{gpu=\"g0\",plane=\"1\"} 0");
	has_not("fared_plane_lost_paths{gpu=\"g0\",plane=\"2\"}");
	json_decref(version);
	json_decref(planes);
	json_decref(paths);
}
END_TEST

START_TEST(probes_of_a_plane_are_the_daemon_s_counts)
{
	json_t *version = json("{\"version\": \"1\"}"),
	       *planes = json("{\"planes\": [{\"local_gpu\": \"g0\", \"plane\": 1, "
			      "\"probes_sent\": 50, \"probes_lost\": 3, \"probe_downs\": 2, "
			      "\"probe_queue_us\": 20.5, \"data_queue_us\": 3000}, "
			      "{\"local_gpu\": \"g1\", \"plane\": 0, \"probes_sent\": null}]}");

	write_all(&(struct snapshot){.version = version, .planes = planes});
	has("# TYPE fared_plane_probes_sent counter");
	has("fared_plane_probes_sent_total{gpu=\"g0\",plane=\"1\"} 50");
	has("fared_plane_probes_lost_total{gpu=\"g0\",plane=\"1\"} 3");
	has("fared_plane_probe_downs_total{gpu=\"g0\",plane=\"1\"} 2");
	has("fared_plane_probe_queue_seconds{gpu=\"g0\",plane=\"1\"} 2.05e-05");
	has("fared_plane_data_queue_seconds{gpu=\"g0\",plane=\"1\"} 0.003");
	has_not("fared_plane_probes_sent_total{gpu=\"g1\"");
	json_decref(version);
	json_decref(planes);
}
END_TEST

START_TEST(no_daemon)
{
	write_all(&(struct snapshot){0});
	has("fared_up 0");
	has_not("fared_uptime_seconds");
	ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
}
END_TEST

START_TEST(labels_are_escaped)
{
	json_t *version = json("{\"version\": \"a\\\"b\\\\c\\nd\", \"node\": 5}");

	write_all(&(struct snapshot){.version = version});
	has("fared_build_info{version=\"a\\\"b\\\\c\\nd\",node=\"5\"} 1");
	json_decref(version);
}
END_TEST

START_TEST(qps_are_summed_by_path)
{
	json_t *version = json("{\"version\": \"1\"}"),
	       *planes = json("{\"planes\": [{\"local_gpu\": \"g7\", \"local_gpu_index\": 1, "
			      "\"plane\": 0}]}"),
	       *paths = json("[{\"local_gpu\": \"g7\", \"peer\": \"p\", \"plane\": 0},"
			     "{\"local_gpu\": \"g7\", \"peer\": \"q\", \"plane\": 0}, {}, 7]"),
	       *known = json_object(), *sums = json_object(),
	       *qps = json("["
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": 0, \"bytes\": 10},"
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": 0, \"bytes\": 5},"
			   "{\"local_gpu_index\": 1, \"peer\": \"q\", \"plane\": 0, \"bytes\": 1},"
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": null},"
			   "{\"local_gpu_index\": 9, \"peer\": \"p\", \"plane\": 0},"
			   "{\"local_gpu_index\": 1, \"peer\": \"invented\", \"plane\": 0},"
			   "{\"peer\": 4}, 7, null]");

	path_sums_know(known, paths);
	path_sums_add(sums, qps, json_object_get(planes, "planes"), known);
	write_all(&(struct snapshot){.version = version, .planes = planes, .qp_sums = sums});
	has("fared_plane_qps{gpu=\"g7\",plane=\"0\"} 3");
	has("fared_plane_qp_bytes{gpu=\"g7\",plane=\"0\"} 16");
	has("fared_path_qps{gpu=\"g7\",peer=\"p\",plane=\"0\"} 2");
	has("fared_path_qp_bytes{gpu=\"g7\",peer=\"p\",plane=\"0\"} 15");
	has("fared_path_qps{gpu=\"g7\",peer=\"q\",plane=\"0\"} 1");
	ck_assert_ptr_null(strstr(text, "invented"));
	path_sums_add(sums, qps, json_object_get(planes, "planes"), NULL);
	ck_assert_uint_eq(json_object_size(sums), 3);
	json_decref(version);
	json_decref(planes);
	json_decref(paths);
	json_decref(known);
	json_decref(sums);
	json_decref(qps);
}
END_TEST

START_TEST(sub_ports_and_sources)
{
	json_t *planes = json(
		"{\"planes\": [{\"local_gpu\": \"g0\", \"plane\": 1, \"sub_ports\": "
		"[{\"sub_port\": 0, \"dev\": \"eth0\", \"up\": true, \"speed_bps\": 100, "
		"\"drained\": true}]}], "
		"\"sources\": [{\"source\": \"bmp\", \"configured\": true, \"state\": \"up\"}, "
		"{\"source\": \"zserv\", \"configured\": false, \"state\": \"down\"}]}");

	write_all(&(struct snapshot){.planes = planes});
	has("fared_sub_port_up{gpu=\"g0\",plane=\"1\",sub_port=\"0\",device=\"eth0\"} 1");
	has("fared_sub_port_drained{gpu=\"g0\",plane=\"1\",sub_port=\"0\",device=\"eth0\"} 1");
	has("fared_source_state{source=\"bmp\",state=\"up\"} 1");
	has_not("source=\"zserv\"");
	json_decref(planes);
}
END_TEST

/* A counter's name is the daemon's: whatever it holds, the text stays one that can be read. */
START_TEST(counters_of_any_name)
{
	json_t *counters =
		json("{\"counters\": [{\"part\": \"prober\", \"counter\": \"sent\", "
		     "\"count\": 12, \"meaning\": \"probes\\nsent\"}, {\"part\": \"a b\", "
		     "\"counter\": \"c{d\", \"count\": \"x\"}, {\"part\": 3}, []]}");

	write_all(&(struct snapshot){.counters = counters});
	has("# TYPE fared_prober_sent counter");
	has("# HELP fared_prober_sent probes\\nsent");
	has("fared_prober_sent_total 12");
	has("fared_a_b_c_d_total 0");
	json_decref(counters);
}
END_TEST

START_TEST(replies_of_other_shapes)
{
	static const char *const shapes[] = {
		"[]", "{}",
		"{\"paths\": 5, \"planes\": {}, \"qps\": \"\", \"counters\": true, \"sources\": 1}",
		("{\"paths\": [[], {}, {\"probe\": 5}, {\"usable_bps\": {}}], \"planes\": [7, {}, "
		 "{\"sub_ports\": [1, {}, null]}], \"qps\": [{}], \"counters\": [{}]}")};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		json_t *v = json(shapes[i]);

		write_all(&(struct snapshot){v, v, v, v, v, v, false, 0, 0, ""});
		ck_assert_str_eq(text + strlen(text) - 6, "# EOF\n");
		teardown();
		json_decref(v);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, a_path);
	tcase_add_test(t, as_many_peers_as_there_are_make_one_series_for_each_plane);
	tcase_add_test(t, what_is_said_is_not_lost);
	tcase_add_test(t, probes_of_a_plane_are_the_daemon_s_counts);
	tcase_add_test(t, no_daemon);
	tcase_add_test(t, labels_are_escaped);
	tcase_add_test(t, qps_are_summed_by_path);
	tcase_add_test(t, sub_ports_and_sources);
	tcase_add_test(t, counters_of_any_name);
	tcase_add_test(t, replies_of_other_shapes);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
