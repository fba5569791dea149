/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>

#include "training/coll_table.h"

/* As nccl-tests and rccl-tests print them; the second without a check of the data. */
START_TEST(nccl_tests)
{
	static const char *const text[] = {
		"# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576",
		"#       size         count      type   redop    root     time   algbw   busbw "
		"#wrong  "
		"   time   algbw   busbw #wrong",
		"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)     "
		"    "
		"   (us)  (GB/s)  (GB/s)       ",
		"# Avg bus bandwidth    : 30.1",
		"",
		"server-1:411:411 [0] NCCL INFO Bootstrap : Using eth0",
	};
	struct coll_line l;

	for (unsigned i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		ck_assert_int_eq(coll_table_line(text[i], &l), 0);
	ck_assert_int_eq(coll_table_line("     1048576        262144     float     sum      -1   "
					 " 61.45   17.06   29.86      0    60.92   17.21   30.12   "
					 "   2\n",
					 &l),
			 1);
	ck_assert_uint_eq(l.bytes, 1048576);
	ck_assert_double_eq(l.time_us[0], 61.45);
	ck_assert_double_eq(l.time_us[1], 60.92);
	ck_assert_double_eq(l.wrong, 2);
	ck_assert(isnan(l.min_us));
	ck_assert_int_eq(coll_table_line("8388608 2097152 float none -1 400.1 20.9 18.3 N/A 399.0 "
					 "21.0 18.4 N/A",
					 &l),
			 1);
	ck_assert_double_eq(l.time_us[1], 399);
	ck_assert(isnan(l.wrong));
}
END_TEST

/* With and without -f (least, largest, iterations), and with -c (a word at the end). */
START_TEST(osu)
{
	struct coll_line l;

	ck_assert_int_eq(coll_table_line("# OSU MPI Allreduce Latency Test v7.3", &l), 0);
	ck_assert_int_eq(coll_table_line("# Size       Avg Latency(us)", &l), 0);
	ck_assert_int_eq(coll_table_line("1048576               512.33", &l), 1);
	ck_assert_double_eq(l.time_us[0], 512.33);
	ck_assert(isnan(l.time_us[1]) && isnan(l.min_us) && isnan(l.wrong));
	ck_assert_int_eq(coll_table_line("1048576   512.33   500.10   530.25   100", &l), 1);
	ck_assert_double_eq(l.min_us, 500.1);
	ck_assert_double_eq(l.max_us, 530.25);
	ck_assert_int_eq(coll_table_line("1048576   512.33   500.10   530.25   100   Fail", &l), 1);
	ck_assert_double_eq(l.wrong, 1);
	ck_assert_int_eq(coll_table_line("1048576   512.33   Pass", &l), 1);
	ck_assert_double_eq(l.wrong, 0);
}
END_TEST

START_TEST(what_makes_no_sense)
{
	static const char *const bad[] = {
		"1048576 nan",
		"1048576 -5.1",
		"1048576 0",
		"64 many",
		"64 12.1 x 3 4",
		"64 16 float sum -1 t 17.06 29.86 0 60.92 17.21 30.12 0",
		"64 16 float sum -1 N/A 17.06 29.86 0 60.92 17.21 30.12 0",
	};
	struct coll_line l;

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(coll_table_line(bad[i], &l) == -EBADMSG, "%s", bad[i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coll_table");
	TCase *tcase = tcase_create("coll_table");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, nccl_tests);
	tcase_add_test(tcase, osu);
	tcase_add_test(tcase, what_makes_no_sense);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
