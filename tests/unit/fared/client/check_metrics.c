/* SPDX-License-Identifier: BSD-2-Clause */
/* Replies as OpenMetrics text: what a family looks like, and what strange replies make of it. */
#include "metrics.h"
#include "path_sums.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static char *text;

static void write_all(const struct snapshot *r)
{
	size_t size;
	FILE *to = open_memstream(&text, &size);

	metrics_write(to, r);
	fclose(to);
	ck_assert_ptr_nonnull(text);
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
	json_t *planes = json("{\"planes\": [{\"local_gpu\": \"g7\", \"local_gpu_index\": 1, "
			      "\"plane\": 0}]}"),
	       *paths = json("[{\"local_gpu\": \"g7\", \"peer\": \"p\", \"plane\": 0},"
			     "{\"local_gpu\": \"g7\", \"peer\": \"q\", \"plane\": 0}, {}, 7]"),
	       *known = path_sums_known(paths), *sums = json_object(),
	       *qps = json("["
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": 0, \"bytes\": 10},"
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": 0, \"bytes\": 5},"
			   "{\"local_gpu_index\": 1, \"peer\": \"q\", \"plane\": 0, \"bytes\": 1},"
			   "{\"local_gpu_index\": 1, \"peer\": \"p\", \"plane\": null},"
			   "{\"local_gpu_index\": 9, \"peer\": \"p\", \"plane\": 0},"
			   "{\"local_gpu_index\": 1, \"peer\": \"invented\", \"plane\": 0},"
			   "{\"peer\": 4}, 7, null]");

	path_sums_add(sums, qps, json_object_get(planes, "planes"), known);
	write_all(&(struct snapshot){.planes = planes, .qp_sums = sums});
	has("fared_path_qps{gpu=\"g7\",peer=\"p\",plane=\"0\"} 2");
	has("fared_path_qp_bytes{gpu=\"g7\",peer=\"p\",plane=\"0\"} 15");
	has("fared_path_qps{gpu=\"g7\",peer=\"q\",plane=\"0\"} 1");
	ck_assert_ptr_null(strstr(text, "invented"));
	path_sums_add(sums, qps, json_object_get(planes, "planes"), NULL);
	ck_assert_uint_eq(json_object_size(sums), 3);
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
