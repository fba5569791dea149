/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "training/mpi_job.h"

static const struct mpi_job job = {
	.operation = "allreduce", .transport = "fare", .bytes = 64, .ranks = 2};

#define HEAD "{\"event\": \"answer\", \"bytes\": 64, \"ranks\": 2, \"algorithm\": \"ring\", "
#define REST                                                                                       \
	"\"library\": \"Open MPI\", \"wall_s\": 0.5, \"checked\": 6, \"wrong\": %d, "              \
	"\"start_ns\": [10, 20], \"took_ns\": [5, %s]%s}"

static int parse(int wrong, const char *took, const char *more, struct mpi_result *r)
{
	char line[512];

	memset(r, 0, sizeof(*r));
	snprintf(line, sizeof(line), HEAD REST, wrong, took, more);
	return mpi_job_parse(&job, line, r);
}

START_TEST(events_in_their_lines)
{
	struct mpi_result r = {0};

	ck_assert_int_eq(mpi_job_parse(&job, "{\"event\": \"begun\", \"at_ns\": 5}", &r),
			 MPI_EVENT_BEGUN);
	ck_assert_int_eq(mpi_job_parse(&job, "{\"event\": \"ended\", \"at_ns\": 5}", &r),
			 MPI_EVENT_ENDED);
	ck_assert_int_eq(mpi_job_parse(&job, "{\"event\": 7}", &r), MPI_EVENT_NONE);
	ck_assert_int_eq(mpi_job_parse(&job, "{", &r), MPI_EVENT_NONE);
	ck_assert_int_eq(mpi_job_parse(&job, "mpirun says a word", &r), MPI_EVENT_NONE);
}
END_TEST

START_TEST(an_answer_is_taken)
{
	struct mpi_result r;

	ck_assert_int_eq(parse(0, "7", "", &r), MPI_EVENT_ANSWER);
	ck_assert_uint_eq(r.n, 2);
	ck_assert_uint_eq(r.took_ns[1], 7);
	ck_assert_uint_eq(r.start_ns[1], 20);
	ck_assert_double_eq(r.wall_s, 0.5);
	ck_assert_uint_eq(r.checked, 6);
	ck_assert_str_eq(r.algorithm, "ring");
	mpi_result_fini(&r);
	ck_assert_ptr_null(r.took_ns);
}
END_TEST

START_TEST(answers_that_do_not_fit)
{
	static const char *const bad[] = {
		"{\"event\": \"answer\"}",
		"{\"event\": \"answer\", \"bytes\": 64, \"ranks\": 3, \"algorithm\": \"ring\"}",
		HEAD "\"library\": \"x\", \"wall_s\": 0.5, \"checked\": 0, \"wrong\": 0}",
		HEAD "\"library\": \"x\", \"wall_s\": 0.5, \"checked\": 1, \"wrong\": 0, "
		     "\"start_ns\": [1], \"took_ns\": [1, 2]}",
		HEAD "\"library\": \"x\", \"wall_s\": 0, \"checked\": 1, \"wrong\": 0, "
		     "\"start_ns\": [1], \"took_ns\": [1]}",
	};
	struct mpi_result r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(&r, 0, sizeof(r));
		ck_assert_int_eq(mpi_job_parse(&job, bad[i], &r), -EBADMSG);
		mpi_result_fini(&r);
	}
	ck_assert_int_eq(parse(0, "-7", "", &r), -EBADMSG);
	mpi_result_fini(&r);
	ck_assert_int_eq(parse(0, "\"7\"", "", &r), -EBADMSG);
	mpi_result_fini(&r);
	ck_assert_int_eq(parse(0, "7", ", \"alternates\": true", &r), -EBADMSG);
	mpi_result_fini(&r);
	ck_assert_int_eq(parse(1, "7", "", &r), -EBADE);
	mpi_result_fini(&r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mpi_job");
	TCase *tcase = tcase_create("mpi_job");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, events_in_their_lines);
	tcase_add_test(tcase, an_answer_is_taken);
	tcase_add_test(tcase, answers_that_do_not_fit);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
