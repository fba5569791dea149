/* SPDX-License-Identifier: BSD-2-Clause */
/* farectl top without a terminal: rows from two snapshots, and the lines they become. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "path_sums.h"
#include "top_model.h"
#include "top_screen.h"

static struct top_model model;
static struct top_line lines[100];
static unsigned n_lines;

static json_t *json(const char *source)
{
	json_t *value = json_loads(source, 0, NULL);

	ck_assert_msg(value != NULL, "%s", source);
	return value;
}

/* Two planes; path 1 has half of its bandwidth; bytes of both paths as given. */
static void look(double at_s, double bytes0, double bytes1)
{
	struct snapshot s = {.at_s = at_s};
	json_t *qps;
	char text[512];

	s.version = json("{\"version\": \"1\", \"node\": \"n\", \"uptime_s\": 7200}");
	s.planes = json(
		"{\"planes\": [{\"local_gpu\": \"g\", \"local_gpu_index\": 0, \"plane\": 0, "
		"\"local_bps\": 4e8, \"paths\": 1, \"usable_paths\": 1, \"configured_sub_ports\": "
		"2, \"live_sub_ports\": 2, \"sub_ports\": []}, {\"local_gpu\": \"g\", "
		"\"local_gpu_index\": 0, \"plane\": 1, \"local_bps\": 2e8, \"paths\": 1, "
		"\"usable_paths\": 1, \"configured_sub_ports\": 2, \"live_sub_ports\": 1, "
		"\"sub_ports\": [{\"dev\": \"e0\", \"up\": true}, {\"dev\": \"e1\", \"up\": "
		"false}]}], \"sources\": [{\"source\": \"bmp\", \"configured\": true, \"state\": "
		"\"up\"}]}");
	s.paths = json(
		"{\"paths\": [{\"local_gpu\": \"g\", \"peer\": \"198.19.0.2\", \"plane\": 0, "
		"\"usable_bps\": 400000000, \"local_bps\": 400000000, \"verdict\": \"ok\"}, "
		"{\"local_gpu\": \"g\", \"peer\": \"198.19.0.2\", \"plane\": 1, \"usable_bps\": "
		"100000000, \"local_bps\": 200000000, \"verdict\": \"ok\", \"reason\": "
		"\"because\", \"probe\": {\"loss_ppm\": 20000, \"rtt_p99_us\": 1500}}]}");
	snprintf(text, sizeof(text),
		 "{\"qps\": [{\"local_gpu_index\": 0, \"peer\": \"198.19.0.2\", \"plane\": 0, "
		 "\"bytes\": "
		 "%f}, {\"local_gpu_index\": 0, \"peer\": \"198.19.0.2\", \"plane\": 1, \"bytes\": "
		 "%f}]}",
		 bytes0, bytes1);
	qps = json(text);
	s.qp_sums = json_object();
	path_sums_add(s.qp_sums, json_object_get(qps, "qps"), json_object_get(s.planes, "planes"),
		      NULL);
	json_decref(qps);
	ck_assert_int_eq(top_model_update(&model, &s), 0);
	snapshot_free(&s);
}

static void draw(unsigned width, unsigned height, bool all_paths)
{
	const struct top_view view = {width, height, all_paths, 0, false, 1};

	n_lines = top_screen(&model, &view, lines);
	ck_assert_uint_le(n_lines, height);
	for (unsigned i = 0; i < n_lines; i++)
		ck_assert_uint_le(strlen(lines[i].text), width);
}

static const struct top_line *line_with(const char *part)
{
	for (unsigned i = 0; i < n_lines; i++)
		if (strstr(lines[i].text, part))
			return &lines[i];
	return NULL;
}

static void teardown(void)
{
	top_model_fini(&model);
}

START_TEST(shares)
{
	look(10, 0, 0);
	ck_assert_double_lt(model.planes[0].share, 0); /* no traffic: no share */
	look(12, 75e6, 25e6);
	ck_assert_double_eq_tol(model.planes[0].tx_bps, 3e8, 1);
	ck_assert_double_eq_tol(model.planes[0].share, 0.75, 1e-9);
	ck_assert_double_eq_tol(model.planes[0].ideal_share, 0.8, 1e-9);
	ck_assert_double_eq_tol(model.planes[1].ideal_share, 0.2, 1e-9);
	look(13, 0, 0); /* the QPs ended */
	ck_assert_double_eq(model.planes[0].tx_bps, 0);
}
END_TEST

START_TEST(the_worst_path_first)
{
	look(1, 0, 0);
	ck_assert_uint_eq(model.n_paths, 2);
	ck_assert_uint_eq(model.n_degraded, 1);
	ck_assert_int_eq(model.paths[0].plane, 1);
}
END_TEST

START_TEST(what_is_on_the_screen)
{
	look(1, 0, 0);
	draw(200, 40, false);
	ck_assert_ptr_nonnull(line_with("fared 1 on n, up 2h00m"));
	ck_assert_ptr_nonnull(line_with("bmp up"));
	ck_assert_int_eq(line_with("e1")->style, TOP_WARN);
	ck_assert_int_eq(line_with("because")->style, TOP_WARN);
	ck_assert_ptr_nonnull(line_with("2.0%"));
	draw(200, 40, true);
	ck_assert_uint_eq(n_lines, 10);
}
END_TEST

/* At 60 columns: which path, its verdict, why, and which ports are down. */
START_TEST(a_narrow_terminal)
{
	const struct top_line *row;

	look(1, 0, 0);
	draw(60, 40, false);
	ck_assert_ptr_nonnull(line_with("2 paths, 1 degraded"));
	ck_assert_ptr_nonnull(line_with("because"));
	row = line_with("198.19.0.2");
	ck_assert(row && strstr(row->text, " 1 ok ") && row->style == TOP_WARN);
	ck_assert_ptr_nonnull(line_with("g            1    1/2"));
}
END_TEST

START_TEST(any_size)
{
	look(1, 0, 0);
	for (unsigned width = 0; width < 90; width += 7)
		for (unsigned height = 0; height < 12; height++)
			draw(width, height, true);
}
END_TEST

START_TEST(replies_of_other_shapes)
{
	static const char *const shapes[] = {
		"{}", "[]", "{\"planes\": 3, \"paths\": {}, \"qps\": null, \"events\": \"\"}",
		("{\"planes\": [1, {}, {\"sub_ports\": [{}, 3]}], \"paths\": [[], {}, {\"probe\": "
		 "7}], \"events\": [{}, 4], \"sources\": [{}, {\"configured\": true}]}")};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		json_t *v = json(shapes[i]);
		const struct snapshot s = {v, v, v, v, v, v, false, 0, 0, ""};

		ck_assert_int_eq(top_model_update(&model, &s), 0);
		draw(100, 30, true);
		json_decref(v);
	}
}
END_TEST

START_TEST(events_newest_first)
{
	json_t *v = json("{\"events\": ["
			 "{\"seq\": 6, \"wall_ns\": 1, \"subject\": \"a\", \"plane\": null, "
			 "\"from\": \"x\", \"to\": \"y\", \"reason\": \"r\"},"
			 "{\"seq\": 7, \"wall_ns\": 2, \"subject\": \"b\", \"plane\": 2, "
			 "\"from\": \"x\", \"to\": \"y\", \"reason\": \"r\"}]}");
	const struct snapshot s = {.events = v};

	for (unsigned i = 0; i < TOP_EVENTS; i++)
		ck_assert_int_eq(top_model_update(&model, &s), 0);
	ck_assert_uint_eq(model.n_events, TOP_EVENTS);
	ck_assert_int_eq(model.last_event, 7);
	ck_assert_str_eq(model.events[0].text, "b plane 2: x -> y (r)");
	ck_assert_str_eq(model.events[1].text, "a: x -> y (r)");
	json_decref(v);
	/* another daemon counts from 1 */
	model.uptime_s = 100;
	ck_assert_int_eq(top_model_update(&model, &(struct snapshot){0}), 0);
	ck_assert_int_eq(model.last_event, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("top");
	TCase *t = tcase_create("top");
	SRunner *runner = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, shares);
	tcase_add_test(t, the_worst_path_first);
	tcase_add_test(t, what_is_on_the_screen);
	tcase_add_test(t, a_narrow_terminal);
	tcase_add_test(t, any_size);
	tcase_add_test(t, replies_of_other_shapes);
	tcase_add_test(t, events_newest_first);
	suite_add_tcase(s, t);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
