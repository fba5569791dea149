/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <jansson.h>

#include "figures/selector.h"

static const char document[] =
	"{\"runs\":[{\"s\":\"healthy\",\"test\":\"kv\",\"by\":\"ecmp\",\"ratio\":0.5,\"n\":5},"
	"{\"s\":\"healthy\",\"test\":\"kv\",\"by\":\"fare-spray\",\"ratio\":0.98,\"n\":5},"
	"{\"s\":\"leaf dead\",\"test\":\"kv\",\"by\":\"ecmp\",\"ratio\":0.4,\"n\":5},"
	"{\"s\":\"leaf dead\",\"test\":\"kv\",\"by\":\"fare-spray\",\"ratio\":0.96,\"n\":3}],"
	"\"idle\":42.5,\"deep\":{\"list\":[{\"inner\":[{\"v\":1},{\"v\":2}]},{\"inner\":[{\"v\":4}]"
	"}]},\"zero\":0,\"5.1\":[{\"a\":1,\"b\":2},{\"a\":null,\"b\":4},{\"a\":3,\"b\":null}]}";

static int ask(const char *expression, double *out)
{
	json_t *root = json_loads(document, 0, NULL);
	char reason[128];
	int n = selector_numbers(expression, root, out, 8, reason, sizeof(reason));

	json_decref(root);
	return n;
}

START_TEST(plain_paths)
{
	double v[8];

	ck_assert_int_eq(ask("idle", v), 1);
	ck_assert_double_eq(v[0], 42.5);
	ck_assert_int_eq(ask("runs.ratio", v), 4);
	ck_assert_double_eq(v[3], 0.96);
	ck_assert_int_eq(ask("deep.list.inner.v", v), 3);
	ck_assert_double_eq(v[2], 4);
}
END_TEST

/* A name that holds points is quoted; null is passed over, unless it would be paired. */
START_TEST(names_and_nulls)
{
	double v[8];

	ck_assert_int_eq(ask("\"5.1\".a", v), 2);
	ck_assert_double_eq(v[1], 3);
	ck_assert_int_eq(ask("\"5.1\"[b=4].b", v), 1);
	ck_assert_int_eq(ask("\"5.1\"[b=4].a", v), -ENOENT);
	ck_assert_int_eq(ask("\"5.1\".a - \"5.1\".b", v), -EBADMSG);
	ck_assert_int_eq(ask("\"5.1", v), -EBADMSG);
}
END_TEST

START_TEST(filters)
{
	double v[8];

	ck_assert_int_eq(ask("runs[by=fare-spray].ratio", v), 2);
	ck_assert_int_eq(ask("runs[by=fare-spray,n=3].ratio", v), 1);
	ck_assert_double_eq(v[0], 0.96);
	ck_assert_int_eq(ask("runs[s=leaf dead,by!=ecmp].ratio", v), 1);
	ck_assert_int_eq(ask("runs[nothing=x].ratio", v), -ENOENT);
	ck_assert_int_eq(ask("runs[nothing!=x].ratio", v), 4);
}
END_TEST

START_TEST(operators)
{
	double v[8];

	ck_assert_int_eq(ask("runs[by=fare-spray].ratio - runs[by=ecmp].ratio", v), 2);
	ck_assert_double_eq_tol(v[0], 0.48, 1e-12);
	ck_assert_double_eq_tol(v[1], 0.56, 1e-12);
	ck_assert_int_eq(ask("runs[by=ecmp].ratio / idle", v), 2);
	ck_assert_double_eq_tol(v[1], 0.4 / 42.5, 1e-12);
}
END_TEST

START_TEST(what_is_wrong_is_told)
{
	static const struct {
		const char *expression;
		int error;
	} bad[] = {
		{"", -EBADMSG},
		{"absent", -ENOENT},
		{"runs", -EBADMSG},
		{"runs.s", -EBADMSG},
		{"runs[by].ratio", -EBADMSG},
		{"runs[by=ecmp.ratio", -EBADMSG},
		{"runs[by=ecmp", -EBADMSG},
		{"runs[", -EBADMSG},
		{"idle[by=x]", -EBADMSG},
		{"min(idle)", -ENOENT}, /* a name as any other */
		{"idle + idle", -EBADMSG},
		{"idle / zero", -EBADMSG},
		{"runs.ratio - runs[by=ecmp].ratio", -E2BIG},
		{"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t", -ENOENT},
	};
	double v[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(ask(bad[i].expression, v) == bad[i].error, "%s", bad[i].expression);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("selector");
	TCase *tcase = tcase_create("selector");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, plain_paths);
	tcase_add_test(tcase, names_and_nulls);
	tcase_add_test(tcase, filters);
	tcase_add_test(tcase, operators);
	tcase_add_test(tcase, what_is_wrong_is_told);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
