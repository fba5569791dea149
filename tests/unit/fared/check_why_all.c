/* SPDX-License-Identifier: BSD-2-Clause */
#include "why.h"

#include <check.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "notice_refusals.h"

#define GPUS   8u
#define PLANES 16u

static struct config_gpu gpus[GPUS];
static struct config config = {.n_gpus = GPUS, .gpus = gpus, .bmp_text = "127.0.0.1:5001"};
static struct path_table *table;
static struct links *links;
static struct ev_loop *loop;

static void on_link(void *arg, uint32_t gpu, uint32_t plane, uint32_t sub_port, int ifindex,
		    enum links_state old, enum links_state state, uint64_t speed_bps)
{
	(void)arg, (void)gpu, (void)plane, (void)sub_port, (void)ifindex, (void)old, (void)state;
	(void)speed_bps;
}

static void setup(void)
{
	static const struct links_handlers handlers = {.on_link = on_link};
	static const struct path_table_times times = {.stale_ns = 1};
	struct path_table_gpu shapes[GPUS] = {0};

	for (uint32_t g = 0; g < GPUS; g++) {
		snprintf(gpus[g].name, sizeof(gpus[g].name), "g%u", g);
		gpus[g].n_planes = shapes[g].n_planes = PLANES;
		for (uint32_t p = 0; p < PLANES; p++) {
			gpus[g].planes[p].n_sub_ports = shapes[g].n_sub_ports[p] = 1;
			snprintf(gpus[g].planes[p].sub_ports[0].dev, FARE_DEV_NAME_MAX, "no%u-%u",
				 g, p);
		}
	}
	loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_int_eq(links_create(&links, loop, &config, &handlers, NULL), 0);
	ck_assert_int_eq(path_table_create(&table, shapes, GPUS, &times), 0);
}

static void teardown(void)
{
	path_table_destroy(table);
	links_destroy(links);
	ev_loop_destroy(loop);
}

/* Every path is in one cause's count, and no cause's text is another's. */
START_TEST(causes_that_are_too_many_are_counted_together)
{
	struct report r = {.config = &config, .table = table, .links = links, .now_ns = 1};
	struct bgp_path_event event = {.reachable = true};
	json_t *reply, *causes, *row;
	json_int_t lost = 0;
	size_t i;

	event.peer.s6_addr[15] = 1;
	for (event.local_gpu = 0; event.local_gpu < GPUS; event.local_gpu++)
		for (event.plane = 0; event.plane < PLANES; event.plane++)
			ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &event, 1), 0);
	path_table_evaluate(table, 1, NULL, NULL);
	reply = why_all_reply(&r);
	causes = json_object_get(reply, "causes");
	ck_assert_uint_eq(json_array_size(causes), 65);
	json_array_foreach (causes, i, row) {
		const char *text = json_string_value(json_object_get(row, "cause"));
		json_int_t n = json_integer_value(json_object_get(row, "paths_lost"));

		lost += n;
		if (i == 64)
			ck_assert_ptr_nonnull(strstr(text, "more than 64 causes"));
		else if (n)
			ck_assert(n == 1 && strstr(text, "there is no device"));
	}
	ck_assert_int_eq(lost, GPUS * PLANES);
	json_decref(reply);
}
END_TEST

static bool has_cause(const struct report *r, const char *part)
{
	json_t *reply = why_all_reply(r), *row;
	bool found = false;
	size_t i;

	json_array_foreach (json_object_get(reply, "causes"), i, row)
		found |= strstr(json_string_value(json_object_get(row, "cause")), part) != NULL;
	json_decref(reply);
	return found;
}

/* While they are refused: not when one was accepted, nor when none has come for long. */
START_TEST(refused_notices_are_a_cause)
{
	static struct notice_refusals refusals;
	struct report r = {.config = &config,
			   .table = table,
			   .links = links,
			   .now_ns = 1,
			   .refusals = &refusals};
	struct bgp_path_event event = {.reachable = true};
	uint32_t pair;

	event.peer.s6_addr[15] = 1;
	ck_assert_int_eq(path_table_route(table, PATH_SOURCE_BMP, &event, 1), 0);
	ck_assert(path_table_find(table, 0, &event.peer, &pair));
	ck_assert(!has_cause(&r, "refused"));
	notice_refusals_refused(&refusals, pair, r.now_ns);
	ck_assert(has_cause(&r, "notices of 1 peer are refused"));
	notice_refusals_accepted(&refusals, pair);
	ck_assert(!has_cause(&r, "refused"));
	notice_refusals_refused(&refusals, pair, r.now_ns);
	r.now_ns += NOTICE_REFUSALS_NOW_NS;
	ck_assert(!has_cause(&r, "refused"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("why_all");
	TCase *tc = tcase_create("causes");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, causes_that_are_too_many_are_counted_together);
	tcase_add_test(tc, refused_notices_are_a_cause);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
