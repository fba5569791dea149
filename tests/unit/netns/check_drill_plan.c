/* SPDX-License-Identifier: BSD-2-Clause */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drill_plan.h"

static const struct topology t = {.servers = 4,
				  .gpus_per_server = 2,
				  .planes = 4,
				  .sub_ports = 2,
				  .rate_mbps = 200,
				  .n_rates = 1,
				  .rates = {{3, 1, 2, 0, 50}},
				  .leaves_per_plane = 1};
static const struct topology tiers = {.servers = 4,
				      .gpus_per_server = 1,
				      .planes = 2,
				      .sub_ports = 2,
				      .rate_mbps = 200,
				      .leaves_per_plane = 2,
				      .spines_per_plane = 2,
				      .spine_rate_mbps = 70};
static char error[DRILL_PLAN_ERROR_MAX];

static int parse(const char *text, uint64_t seed, struct drill_plan *out)
{
	return drill_plan_parse("plan.yaml", text, strlen(text), &t, seed, 0, out, error);
}

START_TEST(steps_come_in_the_order_of_time)
{
	struct drill_plan plan;

	ck_assert_msg(!parse("name: x\nsteps:\n"
			     "  - {at_s: 2.5, do: heal subport s1 1 0}\n"
			     "  - {at_s: 1, do: fail subport s1 1 0}\n",
			     0, &plan),
		      "%s", error);
	ck_assert_uint_eq(plan.n_steps, 2);
	ck_assert_str_eq(plan.steps[0].text, "fail subport s1 1 0");
	ck_assert_double_eq(plan.steps[1].at_s, 2.5);
	drill_plan_fini(&plan);
}
END_TEST

static const char dice[] =
	"name: x\nrandom: {faults: 200, every_s: 1, hold_s: 2.5, "
	"kinds: [subport, plane, leaf-gray, leaf-gray-one-way, leaf-loss, bgpd, zebra, fared, "
	"reload, leaf]}\n";

START_TEST(a_seed_means_the_same_drill)
{
	struct drill_plan a, b, c;

	ck_assert_int_eq(parse(dice, 7, &a), 0);
	ck_assert_int_eq(parse(dice, 7, &b), 0);
	ck_assert_int_eq(parse(dice, 8, &c), 0);
	ck_assert_uint_eq(a.n_steps, 400);
	ck_assert_mem_eq(a.steps, b.steps, a.n_steps * sizeof(*a.steps));
	ck_assert_int_ne(memcmp(a.steps, c.steps, a.n_steps * sizeof(*a.steps)), 0);
	drill_plan_fini(&a);
	drill_plan_fini(&b);
	drill_plan_fini(&c);
}
END_TEST

START_TEST(every_random_fault_is_undone_when_it_was_to_be)
{
	char undo[DRILL_PLAN_TEXT_MAX];
	struct drill_plan plan;

	ck_assert_int_eq(parse(dice, 1, &plan), 0);
	for (unsigned i = 0; i < plan.n_steps; i++) {
		bool found = !drill_plan_undo(plan.steps[i].text, &t, undo);

		for (unsigned j = i + 1; j < plan.n_steps && !found; j++)
			found = !strcmp(plan.steps[j].text, undo) &&
				plan.steps[j].at_s >= plan.steps[i].at_s + 1.25 &&
				plan.steps[j].at_s <= plan.steps[i].at_s + 3.75;
		ck_assert_msg(found, "%s", plan.steps[i].text);
	}
	drill_plan_fini(&plan);
}
END_TEST

/* A leaf's faults on one plane, by the words of a step: 'l' dead, 'g' gray; 0: it is none. */
static char leaf_fault(const char *text, unsigned *plane)
{
	if (sscanf(text, "fail leaf l%u", plane) == 1)
		return 'l';
	return sscanf(text, "gray leaf l%u", plane) == 1 && !strstr(text, "--loss-percent 0") ? 'g'
											      : 0;
}

START_TEST(overlapping_faults_are_on_different_parts_and_leave_a_plane)
{
	static const char crowd[] = "name: x\nrandom: {faults: 1000, every_s: 0.8, hold_s: 2, "
				    "kinds: [leaf, leaf-gray, leaf-loss, plane, subport]}\n";
	struct drill_plan plan;
	unsigned most = 0;

	ck_assert_msg(!parse(crowd, 3, &plan), "%s", error);
	ck_assert_uint_eq(plan.n_steps, 2000);
	for (unsigned i = 0; i < plan.n_steps; i++) {
		unsigned dark = 0, n_broken = 0;
		char undo[DRILL_PLAN_TEXT_MAX];

		if (!drill_plan_undo(plan.steps[i].text, &t, undo))
			continue;
		for (unsigned j = 0; j <= i; j++) { /* broken before, and not healed yet */
			bool broken = drill_plan_undo(plan.steps[j].text, &t, undo);
			unsigned plane;

			for (unsigned k = j + 1; broken && k <= i; k++)
				broken = strcmp(plan.steps[k].text, undo);
			if (!broken)
				continue;
			n_broken++;
			ck_assert_msg(j == i || strcmp(plan.steps[i].text, plan.steps[j].text),
				      "%s twice", plan.steps[i].text);
			if (leaf_fault(plan.steps[j].text, &plane))
				dark |= 1u << plane;
		}
		ck_assert_uint_ne(dark, 15);
		most = n_broken > most ? n_broken : most;
	}
	ck_assert_uint_gt(most, 2);
	drill_plan_fini(&plan);
}
END_TEST

START_TEST(a_reload_comes_again_where_others_are_healed)
{
	struct drill_plan plan;
	unsigned n[4] = {0};

	ck_assert_msg(!parse("name: x\nrandom: {faults: 20, every_s: 8, hold_s: 2, "
			     "kinds: [reload]}\nsteps: [{at_s: 0, do: reload s1}]\n",
			     5, &plan),
		      "%s", error);
	ck_assert_uint_eq(plan.n_steps, 41);
	for (unsigned i = 0; i < plan.n_steps; i++) {
		unsigned server;

		ck_assert_int_eq(sscanf(plan.steps[i].text, "reload s%u", &server), 1);
		n[server % 4]++;
	}
	ck_assert_uint_eq(n[1] % 2, 1); /* with the one of steps */
	ck_assert_uint_eq((n[0] | n[2] | n[3]) % 2, 0);
	drill_plan_fini(&plan);
}
END_TEST

START_TEST(as_many_faults_as_were_asked_for)
{
	struct drill_plan plan;

	ck_assert_int_eq(drill_plan_parse("plan.yaml", dice, strlen(dice), &t, 1, 17, &plan, error),
			 0);
	ck_assert_uint_eq(plan.n_steps, 34);
	drill_plan_fini(&plan);
}
END_TEST

static const struct {
	const char *text, *undo; /* NULL: there is nothing to undo */
} undone[] = {
	{"fail bgpd s0", "heal bgpd s0"},
	{"heal bgpd s0", NULL},
	{"fail zebra s0", "heal zebra s0"},
	{"reload s0", NULL},
	{"gray leaf l0", "gray leaf l0 --loss-percent 0"},
	{"gray leaf l0 --direction to-leaf", "gray leaf l0 --loss-percent 0"},
	{"gray leaf l0 --loss-percent 0.5", "gray leaf l0 --loss-percent 0"},
	{"gray leaf l0 --loss-percent 05", "gray leaf l0 --loss-percent 0"},
	{"gray subport s1/g0 1 0 --loss-percent=0.5", "gray subport s1/g0 1 0 --loss-percent 0"},
	{"gray --loss 3 subport --direction from-leaf s1 1 0",
	 "gray subport s1 1 0 --loss-percent 0"},
	{"gray leaf l0 --loss-percent 0", NULL},
	{"gray leaf l0 --direction to-leaf --loss-percent 0", NULL},
	{"gray leaf l0 --loss-percent=0.0", NULL},
	{"rate subport s1 1 0 20", "rate subport s1 1 0 200"},
	{"rate subport s1/g1 1 0 0", "rate subport s1/g1 1 0 200"},
	{"rate subport s1 1 0 200", NULL},
	{"rate subport s1 1 0", NULL}, /* farelab refuses it */
	{"rate all 80", "rate all 200"},
	{"rate all 200", NULL},
	{"rate all", NULL},
	{"throttle subport s1 1 0 20", "throttle subport s1 1 0 200"},
	{"rate subport s3/g1 2 0 200", "rate subport s3/g1 2 0 50"}, /* it has a rate of its own */
	{"throttle subport s3/g1 2 0 50", NULL},
	{"throttle uplink l0 sp0 20", NULL}, /* there are none here */
};

START_TEST(undoing)
{
	char undo[DRILL_PLAN_TEXT_MAX];
	bool is = drill_plan_undo(undone[_i].text, &t, undo);

	ck_assert_msg(is == (undone[_i].undo != NULL), "%s", undone[_i].text);
	if (is)
		ck_assert_str_eq(undo, undone[_i].undo);
}
END_TEST

START_TEST(undoing_in_an_unshaped_lab)
{
	static const struct topology unshaped = {.servers = 2,
						 .gpus_per_server = 1,
						 .planes = 2,
						 .sub_ports = 2,
						 .leaves_per_plane = 1};
	char undo[DRILL_PLAN_TEXT_MAX];

	ck_assert(drill_plan_undo("rate subport s1 1 0 20", &unshaped, undo));
	ck_assert_str_eq(undo, "rate subport s1 1 0 0");
	ck_assert(!drill_plan_undo("rate subport s1 1 0 0", &unshaped, undo));
}
END_TEST

START_TEST(undoing_between_leaf_and_spine)
{
	char undo[DRILL_PLAN_TEXT_MAX];
	struct drill_plan plan;

	ck_assert(drill_plan_undo("throttle uplink l0 sp1 20", &tiers, undo));
	ck_assert_str_eq(undo, "throttle uplink l0 sp1 70");
	ck_assert(drill_plan_undo("gray uplink l0 sp1", &tiers, undo));
	ck_assert_str_eq(undo, "gray uplink l0 sp1 --loss-percent 0");
	ck_assert(drill_plan_undo("fail uplink l0 sp1", &tiers, undo));
	ck_assert_str_eq(undo, "heal uplink l0 sp1");
	ck_assert_int_eq(
		parse("name: x\nsteps:\n  - {at_s: 0, do: throttle uplink l0 sp1 20}\n", 0, &plan),
		0);
	drill_plan_fini(&plan);
	ck_assert_int_eq(
		parse("name: x\nsteps:\n  - {at_s: 0, do: throttle uplink l0 sp1 2x}\n", 0, &plan),
		-EBADMSG);
}
END_TEST

START_TEST(shipped_plans)
{
	char pattern[512], text[65536];
	glob_t files;

	ck_assert_ptr_nonnull(getenv("FARE_SOURCE_DIR"));
	snprintf(pattern, sizeof(pattern), "%s/netns/drills/*.yaml", getenv("FARE_SOURCE_DIR"));
	ck_assert_int_eq(glob(pattern, 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		FILE *f = fopen(files.gl_pathv[i], "r");
		struct drill_plan plan;

		ck_assert_ptr_nonnull(f);
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
		ck_assert_msg(!parse(text, 1, &plan), "%s: %s", files.gl_pathv[i], error);
		drill_plan_fini(&plan);
	}
	globfree(&files);
}
END_TEST

#define STEPS  "name: x\nsteps:\n  - {at_s: 0, do: heal leaf l0}\n"
#define RANDOM "name: x\nrandom:\n"

static const struct {
	const char *text, *error; /* as it begins */
} mistakes[] = {
	{"", "plan.yaml:1: the file is empty"},
	{"name: x\n", "plan.yaml:1: name: \"x\" has neither steps nor random faults"},
	{STEPS "  - {at_s: -1, do: fail leaf l0}\n",
	 "plan.yaml:4: steps[1].at_s: -1 is out of range"},
	{STEPS "  - {at_s: .nan, do: fail leaf l0}\n",
	 "plan.yaml:4: steps[1].at_s: \".nan\" is not"},
	{STEPS "  - {at_s: 10ms, do: fail leaf l0}\n",
	 "plan.yaml:4: steps[1].at_s: \"10ms\" is not a number of seconds: a decimal number from 0 "
	 "to "
	 "86400 is expected"},
	{STEPS "  - {at_s: 1e3, do: fail leaf l0}\n", "plan.yaml:4: steps[1].at_s: \"1e3\" is not"},
	{STEPS "  - {at_s: 0100, do: fail leaf l0}\n",
	 "plan.yaml:4: steps[1].at_s: \"0100\" is not"},
	{STEPS "  - {at_s: 1_0, do: fail leaf l0}\n", "plan.yaml:4: steps[1].at_s: \"1_0\" is not"},
	{STEPS "  - {do: fail leaf l0}\n",
	 "plan.yaml:4: steps[1].at_s: this required key is missing"},
	{STEPS "  - {at_s: 1, do: rm -rf /}\n",
	 "plan.yaml:4: steps[1].do: \"rm -rf /\" does not begin with fail, heal, gray, rate, "
	 "throttle or reload"},
	{STEPS "  - {at_s: 1, do: rate subport s1 1 0 400G}\n",
	 "plan.yaml:4: steps[1].do: \"400G\" is not a number"},
	{STEPS "  - {at_s: 1, do: rate subport s1 1 0 400_000}\n",
	 "plan.yaml:4: steps[1].do: \"400_000\" is not a number"},
	{STEPS "  - {at_s: 1, do: gray leaf l0 --loss-percent 2%}\n",
	 "plan.yaml:4: steps[1].do: \"2%\" is not a number"},
	{STEPS "  - {at_s: 1, do: gray leaf l0 --loss-percent=1e1}\n",
	 "plan.yaml:4: steps[1].do: \"1e1\" is not a number"},
	{RANDOM "  {faults: 9, every_s: 1, hold_s: 1, kinds: [earthquake]}\n",
	 "plan.yaml:3: random.kinds: there is no kind \"earthquake\""},
	{RANDOM "  {faults: 99999, every_s: 1, hold_s: 1, kinds: [leaf]}\n",
	 "plan.yaml:3: random.faults: 99999 is out of range"},
	{RANDOM "  {faults: 2%, every_s: 1, hold_s: 1, kinds: [leaf]}\n",
	 "plan.yaml:3: random.faults: \"2%\" is not a number: a decimal integer from 0 to 5000"},
	{RANDOM "  {faults: 9, every_s: 0, hold_s: 1, kinds: [leaf]}\n",
	 "plan.yaml:3: random.every_s: 0 is out of range"},
	{RANDOM "  {faults: 99, every_s: 86400, hold_s: 1, kinds: [leaf]}\n",
	 "plan.yaml:3: random.every_s: 99 faults at 86400 s exceed a day"},
	{RANDOM "  {faults: 99, every_s: 1, hold_s: 900, kinds: [leaf]}\n",
	 "plan.yaml:2: random: nothing is left"},
	{RANDOM "  {faults: 9, every_s: 1, hold_s: 1, kinds: leaf}\n",
	 "plan.yaml:3: random.kinds: a list is expected"},
	{"steps: [", "plan.yaml:2: not YAML"},
};

START_TEST(mistakes_are_named)
{
	struct drill_plan plan;

	ck_assert_int_eq(parse(mistakes[_i].text, 0, &plan), -EBADMSG);
	ck_assert_msg(!strncmp(error, mistakes[_i].error, strlen(mistakes[_i].error)),
		      "'%s' is not '%s'", error, mistakes[_i].error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("drill_plan");
	TCase *tc = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, steps_come_in_the_order_of_time);
	tcase_add_test(tc, a_seed_means_the_same_drill);
	tcase_add_test(tc, every_random_fault_is_undone_when_it_was_to_be);
	tcase_add_test(tc, overlapping_faults_are_on_different_parts_and_leave_a_plane);
	tcase_add_test(tc, as_many_faults_as_were_asked_for);
	tcase_add_test(tc, a_reload_comes_again_where_others_are_healed);
	tcase_add_loop_test(tc, undoing, 0, sizeof(undone) / sizeof(undone[0]));
	tcase_add_test(tc, undoing_in_an_unshaped_lab);
	tcase_add_test(tc, undoing_between_leaf_and_spine);
	tcase_add_test(tc, shipped_plans);
	tcase_add_loop_test(tc, mistakes_are_named, 0, sizeof(mistakes) / sizeof(mistakes[0]));
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
