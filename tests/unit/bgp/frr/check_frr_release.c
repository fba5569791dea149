/* SPDX-License-Identifier: BSD-2-Clause */
/* Which facts of FRR belong to which version. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "frr_config.h"
#include "frr_release.h"

static const struct {
	const char *version;
	bool work_queue, mgmtd, extended;
} cases[] = {
	{"8.4.4", true, false, false},
	{"9.1", true, false, false},
	{"FRRouting 8.5", true, false, false},
	{"10.0.1", false, true, false},
	{"10.1", false, true, true},
	{"FRRouting 10.7.0", false, true, true},
	{"10.6-dev", false, true, true},
	{"10.10", false, true, true},
	{"11", false, true, true},
	{"", false, true, true},
	{"none", false, true, true},
};

START_TEST(facts_of_a_version)
{
	const struct frr_release *r = frr_release_of(cases[_i].version);

	ck_assert_int_eq(r->has_work_queue, cases[_i].work_queue);
	ck_assert_int_eq(r->wants_mgmtd, cases[_i].mgmtd);
	ck_assert_int_eq(r->has_extended_bandwidth, cases[_i].extended);
}
END_TEST

START_TEST(troubles_of_a_version)
{
	static const struct {
		const char *version, *says;
		bool is_unusable;
	} known[] = {{"8.3.1", "upgrade", true},
		     {"FRRouting 8.4.4", "pre-policy", false},
		     {"8.5", NULL, false},
		     {"10.7.0", NULL, false},
		     {"FRRouting 11.0", "newer", true},
		     {"", NULL, false},
		     {"7", "upgrade", true}};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		bool is_unusable;
		const char *text = frr_release_trouble(known[i].version, &is_unusable);

		ck_assert_int_eq(is_unusable, known[i].is_unusable);
		ck_assert(known[i].says ? text && strstr(text, known[i].says) : !text);
	}
}
END_TEST

START_TEST(zebra_is_told_what_it_knows)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	frr_config_zebra(f, frr_release_of(cases[_i].version));
	fclose(f);
	ck_assert_str_eq(text, cases[_i].work_queue
				       ? "zebra work-queue 0\nno zebra nexthop kernel enable\n"
				       : "no zebra nexthop kernel enable\n");
	free(text);
}
END_TEST

int main(void)
{
	int n = sizeof(cases) / sizeof(*cases), failed;
	Suite *s = suite_create("frr_release");
	TCase *t = tcase_create("frr_release");
	SRunner *r = srunner_create(s);

	tcase_add_loop_test(t, facts_of_a_version, 0, n);
	tcase_add_test(t, troubles_of_a_version);
	tcase_add_loop_test(t, zebra_is_told_what_it_knows, 0, n);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
