/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../check_bench_hosts.h"
#include "training/mpi_job.h"

static const struct fabric lab = {.lab = {.name = "mine"}};
static const struct mpi_job job = {
	.fabric = &lab, .operation = "allreduce", .transport = "fare", .bytes = 64, .ranks = 2};

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

/* Of what the slowest ranks took, not of the wall time. */
START_TEST(the_mean_iteration)
{
	static uint64_t took[] = {1000000000, 3000000000};
	const struct mpi_result r = {.n = 2, .took_ns = took, .wall_s = 3.1}, none = {.n = 0};

	ck_assert_double_eq_tol(mpi_result_mean_s(&r), 2, 1e-12);
	ck_assert(isnan(mpi_result_mean_s(&none)));
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

/* Rank r belongs on GPU r's host; a lab's launcher sees to that by itself. */
START_TEST(ranks_on_other_hosts)
{
	static const char turned[] = "{\"event\": \"begun\", \"hosts\": [\"h1\", \"h0\"]}";
	struct bench_hosts b = bench_hosts(400);
	struct fabric hosts = {.hosts = &b.hosts, .topo = b.hosts.inventory->topo};
	struct mpi_job on_hosts = job;
	struct mpi_result r = {0};

	on_hosts.fabric = &hosts;
	ck_assert_int_eq(mpi_job_parse(&job, turned, &r), MPI_EVENT_BEGUN);
	ck_assert_int_eq(
		mpi_job_parse(&on_hosts, "{\"event\": \"begun\", \"hosts\": [\"h0\", \"h1\"]}", &r),
		MPI_EVENT_BEGUN);
	ck_assert_int_eq(mpi_job_parse(&on_hosts, turned, &r), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(r.why, "rank 0 was started on h1, not on h0"));
	ck_assert_int_eq(mpi_job_parse(&on_hosts, "{\"event\": \"begun\"}", &r), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(r.why, "on no host, not on h0"));
	bench_hosts_end(&b);
}
END_TEST

static void args_are(const struct mpi_args *a, const char *const *expected)
{
	unsigned n = 0;

	for (; expected[n]; n++) /* the first is the launcher's path */
		ck_assert_str_eq(n ? a->arg[n] : strrchr(a->arg[0], '/') + 1, expected[n]);
	ck_assert_uint_eq(a->n, n);
	ck_assert_ptr_null(a->arg[n]);
}

START_TEST(arguments_of_a_lab)
{
	struct mpi_args a;

	ck_assert_int_eq(mpi_args_launch(&a, &job), 0);
	snprintf(a.launcher, sizeof(a.launcher), "/x/farelab-mpi");
	mpi_args_add(&a, "-x");
	mpi_args_program(&a, &job, "program");
	args_are(&a, (const char *const[]){"farelab-mpi", "run", "mine", "fare", "2", "-x", "--",
					   "program", NULL});
	mpi_args_fini(&a);
}
END_TEST

/* The key's file is named, and no word of it; a device's name that could be taken for more than
 * one is left out. */
START_TEST(arguments_of_hosts)
{
	struct bench_hosts b = bench_hosts(400);
	struct fabric hosts = {.hosts = &b.hosts, .topo = b.hosts.inventory->topo};
	struct mpi_job on_hosts = job;
	struct mpi_args a;

	b.hosts.member = b.member;
	b.hosts.options = (struct launch_options){.key = "/dev/./null", .mpirun = "mpirun -x A"};
	on_hosts.fabric = &hosts;
	ck_assert_int_eq(mpi_args_launch(&a, &on_hosts), 0);
	snprintf(a.launcher, sizeof(a.launcher), "/x/farelab-mpi");
	mpi_args_program(&a, &on_hosts, "program");
	args_are(&a, (const char *const[]){"farelab-mpi", "hosts", "mpirun -x A",
					   "h0=/run/a=gpu0 h1=/run/b=-", "fare", "2", "--", "env",
					   "FARE_KEY_FILE=/dev/null", "FARE_PROVIDER=soft",
					   "program", NULL});
	mpi_args_fini(&a);
	json_object_set_new(b.member[0].about, "gpu_devices", json_pack("[s]", "x h1=/tmp=y"));
	ck_assert_int_eq(mpi_args_launch(&a, &on_hosts), 0);
	ck_assert_str_eq(a.hosts, "h0=/run/a=- h1=/run/b=-");
	mpi_args_fini(&a);
	b.hosts.options.key = "/nowhere/key";
	ck_assert_int_eq(mpi_args_launch(&a, &on_hosts), -ENOENT);
	mpi_args_fini(&a);
	bench_hosts_end(&b);
}
END_TEST

static uint64_t memory(const char *operation, unsigned ranks, bool overlaps)
{
	struct mpi_job of = job;

	of.operation = operation;
	of.ranks = ranks;
	of.bytes = UINT64_C(4) << 30;
	of.overlaps = overlaps;
	return mpi_job_memory_bytes(&of) >> 30;
}

/* GiB, of vectors of 4 */
START_TEST(memory_of_all_ranks)
{
	ck_assert_uint_eq(memory("allgather", 2, false), 16);
	ck_assert_uint_eq(memory("bcast", 2, false), 16);
	ck_assert_uint_eq(memory("alltoall", 2, false), 16 + 4);
	ck_assert_uint_eq(memory("allreduce", 2, false), 16 + 8);
	ck_assert_uint_eq(memory("allreduce", 2, true), 24);
	ck_assert_uint_eq(memory("sendrecv", 2, false), 24);
	ck_assert_uint_eq(memory("reduce_scatter", 2, false), 24 + 8);
	ck_assert_uint_eq(memory("allreduce", 1024, false), 8192 + 8);
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
	tcase_add_test(tcase, the_mean_iteration);
	tcase_add_test(tcase, answers_that_do_not_fit);
	tcase_add_test(tcase, ranks_on_other_hosts);
	tcase_add_test(tcase, arguments_of_a_lab);
	tcase_add_test(tcase, arguments_of_hosts);
	tcase_add_test(tcase, memory_of_all_ranks);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
