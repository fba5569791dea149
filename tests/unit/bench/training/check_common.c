/* SPDX-License-Identifier: BSD-2-Clause */
#include "../check_bench_fabric.h"
#include "../check_bench_hosts.h"
#include "training/common.h"

extern const struct test test_t9_1;

static struct fabric under_test;

static struct trial begin(json_t *root)
{
	under_test = (struct fabric){.topo = parsed(root)};
	return (struct trial){
		.test = &test_t9_1, .fabric = &under_test, .strategy_name = "mpi-fare"};
}

static void end(struct trial *t)
{
	trial_fini(t);
	topo_destroy(under_test.topo);
}

static const char *spec(const struct trial *t, const char *state)
{
	static char text[96];

	training_fault(t, state, 4, text);
	return text;
}

START_TEST(faults_of_one_tier)
{
	struct trial t = begin(fabric(4));

	ck_assert_str_eq(spec(&t, "healthy"), "");
	ck_assert_str_eq(spec(&t, "subport-lost"), "subport s3/g0 0 0");
	ck_assert_str_eq(spec(&t, "plane-lost"), "plane s3/g0 0");
	ck_assert_str_eq(spec(&t, "leaf-lost"), "leaf l0");
	ck_assert_str_eq(spec(&t, "spine-uplink"), "");
	ck_assert_str_eq(spec(&t, "spine-lost"), "");
	end(&t);
}
END_TEST

/* s3 is at the second leaf of each plane. */
START_TEST(faults_of_two_tiers)
{
	struct trial t = begin(two_tiers());

	ck_assert_str_eq(spec(&t, "spine-uplink"), "uplink l1 sp0");
	ck_assert_str_eq(spec(&t, "spine-lost"), "spine sp0");
	ck_assert_str_eq(spec(&t, "superspine-uplink"), "");
	end(&t);
}
END_TEST

/* Each spine has a superspine of its own. */
START_TEST(faults_of_three_tiers)
{
	json_t *root = two_tiers(), *tops = json_array(), *links = json_array();
	struct trial t;
	char name[32], top[32];

	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "sp%d", i);
		snprintf(top, sizeof(top), "ss%d", 7 - i);
		json_array_append_new(
			tops, json_pack("{s:o, s:b}", "name", json_sprintf("ss%d", i), "up", 1));
		json_array_append_new(links,
				      json_pack("{s:s, s:s, s:i, s:b}", "spine", name, "superspine",
						top, "rate_bps", 400000000, "up", 1));
	}
	json_object_set_new(root, "superspines", tops);
	json_object_set_new(root, "spine_uplinks", links);
	t = begin(root);
	ck_assert_str_eq(spec(&t, "superspine-uplink"), "uplink sp0 ss7");
	ck_assert_str_eq(spec(&t, "spine-uplink"), "uplink l1 sp0");
	end(&t);
}
END_TEST

static void cannot(struct trial *t, uint64_t bytes, const char *why)
{
	ck_assert(!training_can(t, 2, bytes));
	ck_assert_uint_gt(t->n_rows, 0);
	ck_assert_msg(strstr(t->row[t->n_rows - 1].missing, why), "%s",
		      t->row[t->n_rows - 1].missing);
}

/* What the job refuses stands in rows and does not end the run. */
START_TEST(what_cannot_be_run_is_said)
{
	struct trial t = begin(fabric(4));

	cannot(&t, UINT64_C(8) << 30, "less than 8 GiB");
	cannot(&t, (UINT64_C(8) << 30) - 1, "less than 8 GiB");
	end(&t);
}
END_TEST

/* So does what hosts lack. fare takes its addresses from fared. */
START_TEST(what_hosts_lack_is_said)
{
	struct bench_hosts b = bench_hosts(50);
	struct trial t;

	if (mpi_job_missing(true))
		return; /* and a row says that alone */
	b.hosts.member = b.member;
	under_test = (struct fabric){.hosts = &b.hosts, .topo = b.hosts.inventory->topo};
	t = (struct trial){.test = &test_t9_1, .fabric = &under_test, .strategy_name = "mpi-fare"};
	t.n_params = 2;
	ck_assert_int_eq(row_param_set(&t.param[0], "balance", "ecmp"), 0);
	ck_assert_int_eq(row_param_set(&t.param[1], "fabric", "healthy"), 0);
	cannot(&t, 1u << 20, "--mpirun COMMAND");
	b.hosts.options.mpirun = "mpirun";
	cannot(&t, 1u << 20, "max_rate_mbps");
	b.hosts.inventory->limits.max_bps = 100000000;
	ck_assert(training_can(&t, 2, 1u << 20));
	t.strategy_name = "mpi-ofi-tcp";
	cannot(&t, 1u << 20, "h1: no device but a loopback one has 198.19.0.2");
	json_object_set_new(b.member[1].about, "gpu_devices", json_pack("[s]", "eth9"));
	ck_assert(training_can(&t, 2, 1u << 20));
	trial_fini(&t);
	bench_hosts_end(&b);
}
END_TEST

/* Both on the wire: uplinks of the same links as a GPU's line carry as much, whatever of it headers
 * leave. */
START_TEST(lines_and_uplinks_are_of_the_wire)
{
	struct trial t = begin(two_tiers());
	const struct topo *topo = under_test.topo;
	double uplinks = 0;

	for (unsigned i = 0; i < topo->n_uplinks; i++)
		if (topo->uplinks[i].leaf == topo->gpus[0].plane[0].leaf)
			uplinks += (double)topo->uplinks[i].rate_bps;
	for (unsigned p = 1; p < topo->n_planes; p++)
		for (unsigned i = 0; i < topo->n_uplinks; i++)
			if (topo->uplinks[i].leaf == topo->gpus[0].plane[p].leaf)
				uplinks += (double)topo->uplinks[i].rate_bps;
	ck_assert_double_gt(uplinks, 0);
	ck_assert_double_eq(training_uplinks_bps(&t), uplinks);
	ck_assert_double_gt(training_line_bps(&t), fabric_line_bps(&under_test, 0));
	end(&t);
}
END_TEST

/* A lab's ranks share this machine's memory: nothing is started. */
START_TEST(memory_that_does_not_suffice)
{
	struct trial t = begin(fabric(4));
	struct mpi_job job = {.fabric = &under_test,
			      .operation = "allreduce",
			      .bytes = UINT64_C(1) << 50,
			      .ranks = 4};
	struct mpi_result r;

	ck_assert_int_eq(training_run(&t, &job, &r), 1);
	ck_assert_uint_gt(t.n_rows, 0);
	ck_assert_ptr_nonnull(strstr(t.row[0].missing, "4 ranks need 10485760.0 GiB of memory"));
	end(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("common");
	TCase *tcase = tcase_create("common");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_add_test(tcase, faults_of_one_tier);
	tcase_add_test(tcase, faults_of_two_tiers);
	tcase_add_test(tcase, faults_of_three_tiers);
	tcase_add_test(tcase, what_cannot_be_run_is_said);
	tcase_add_test(tcase, what_hosts_lack_is_said);
	tcase_add_test(tcase, lines_and_uplinks_are_of_the_wire);
	tcase_add_test(tcase, memory_that_does_not_suffice);
	suite_add_tcase(suite, tcase);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
