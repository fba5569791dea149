/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/edition.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define EDITION_OLDER	    "02"
#define EDITION_TRIALS_MIN  20 /* of every inference test: -05, 1.3 */
#define EDITION_SECONDS_MIN 60 /* of a trial of every inference test: -02, 1.3 */

static const struct {
	const char *name, *file, *newer;
} edition_drafts[EDITION_DRAFTS] = {
	[EDITION_INFERENCE] = {"inference", "draft-calabria-bmwg-ai-fabric-inference-bench-", "05"},
	[EDITION_TRAINING] = {"training", "draft-calabria-bmwg-ai-fabric-training-bench-", "04"},
};

static const struct edition_change edition_table[] = {
	{EDITION_INFERENCE, "1.3", "trials by test (8.4: 3)", "20 trials of every test at least",
	 "profile `draft` and the accounting have 20 at least"},
	{EDITION_INFERENCE, "14", "the report is of this document",
	 "it names this document and the terminology by revision",
	 "both stand on the first page and in the run's description"},
	{EDITION_INFERENCE, "14, observation points", "none",
	 "boundary and timestamps of each value", "a chapter of each KPI that was measured"},
	{EDITION_INFERENCE, "14, trial accounting", "none",
	 "attempted, included, and why others are not", "by both editions"},
	{EDITION_INFERENCE, "14, fabric-visible volume", "none",
	 "section 7: T_egress, and S_fabric with its method and the placement of experts",
	 "rows by both editions; a chapter says method and placement"},
	{EDITION_INFERENCE, "5 to 13", "percentiles of each trial",
	 "percentiles of the pooled samples of all trials", "by both editions"},
	{EDITION_INFERENCE, "6.2", "front of TTFT and TPS", "front of TPS, TTFT and ITL",
	 "front of three by both editions"},
	{EDITION_INFERENCE, "7.2", "sizes by mode", "one size for all modes",
	 "256 tokens a GPU in both; by -02 low-latency dispatches have 8"},
	{EDITION_INFERENCE, "7.3", "efficiency L(8) / L(N) x N / 8", "efficiency L(16) / L(N)",
	 "`efficiency_EP16` beside the other, where 16 GPUs are there"},
	{EDITION_INFERENCE, "11.1", "fixed objectives", "a declared pair of objectives",
	 "parameters `ttft` and `itl` by both, 500 and 50 ms"},
	{EDITION_INFERENCE, "13.1", "samples by the tester",
	 "a sample every 60 s; QP errors, routing flaps, variation of TTFT P99 above 1% reported",
	 "profile `draft` has 1,440 samples of 60 s; `TTFT_variation`, `QP_errors`, `flaps` by "
	 "both"},
	{EDITION_INFERENCE, "appendix A", "18 KPIs",
	 "TTFT_fabric, ITL_fabric, E2E_latency, TPS_per_GPU too; Inference_Goodput, "
	 "Prefix_cache_hit_rate, JFI_decode by these names",
	 "the map of KPIs"},
	{EDITION_TRAINING, "13", "the report is of this document",
	 "it names this document and the terminology by revision", "on the first page"},
	{EDITION_TRAINING, "13, observation points, trial accounting", "none",
	 "as in the inference draft, which takes them from here", "as there"},
	{EDITION_TRAINING, "2", "pause frames", "X-ON frames (quanta 0) are no pause events",
	 "labs yes: XON is not counted; NICs and switches count both as one"},
};

int editions_parse(const char *text, struct editions *out)
{
	*out = (struct editions){{false}};
	for (const char *at = text;; at++) {
		size_t length = strcspn(at, ",");
		bool known = length == 2 && strncmp(at, EDITION_OLDER, length) == 0;

		for (enum edition_draft i = 0; i < EDITION_DRAFTS; i++)
			if (length == 2 && strncmp(at, edition_drafts[i].newer, length) == 0)
				known = out->newer[i] = true;
		if (!known)
			return -EINVAL;
		at += length;
		if (!*at)
			return 0;
	}
}

const char *edition_name(enum edition_draft draft)
{
	return edition_drafts[draft].name;
}

const char *edition_revision(struct editions e, enum edition_draft draft)
{
	return e.newer[draft] ? edition_drafts[draft].newer : EDITION_OLDER;
}

struct editions editions_of(const json_t *run)
{
	const json_t *object = json_object_get(run, "editions");
	struct editions e = {{false}};

	for (enum edition_draft i = 0; i < EDITION_DRAFTS; i++) {
		const char *is = json_string_value(json_object_get(object, edition_drafts[i].name));

		e.newer[i] = is && strcmp(is, edition_drafts[i].newer) == 0;
	}
	return e;
}

json_t *editions_json(struct editions e)
{
	json_t *object = json_object();

	for (enum edition_draft i = 0; object && i < EDITION_DRAFTS; i++)
		json_object_set_new(object, edition_drafts[i].name,
				    json_string(edition_revision(e, i)));
	return object;
}

void edition_clause(struct editions e, const char *clause, char *out, size_t size)
{
	for (enum edition_draft i = 0; i < EDITION_DRAFTS; i++) {
		size_t length = strlen(edition_drafts[i].file);

		if (strncmp(clause, edition_drafts[i].file, length) == 0 &&
		    strncmp(clause + length, EDITION_OLDER, 2) == 0) {
			snprintf(out, size, "%s%s%s", edition_drafts[i].file,
				 edition_revision(e, i), clause + length + 2);
			return;
		}
	}
	snprintf(out, size, "%s", clause);
}

/* A soak of -05 is as long as that of -02, in samples of its own. */
double edition_seconds(struct editions e, const struct test *test)
{
	return test->sample_s > 0 && e.newer[EDITION_INFERENCE] ? test->sample_s
								: test->seconds[PROFILE_DRAFT];
}

unsigned edition_trials(struct editions e, const struct test *test)
{
	double seconds = test->trials[PROFILE_DRAFT] * test->seconds[PROFILE_DRAFT];
	unsigned n = test->trials[PROFILE_DRAFT];

	if (!test_is_draft(test) || !e.newer[EDITION_INFERENCE])
		return n;
	if (test->sample_s > 0)
		n = (unsigned)(seconds / test->sample_s);
	return n < EDITION_TRIALS_MIN ? EDITION_TRIALS_MIN : n;
}

/* What clauses of -02 state of their own; 0: nothing. */
static const struct edition_ask {
	const char *test;
	unsigned trials;
	double seconds;
	const char *also; /* what else bounds a trial; "" */
} edition_stated[] = {
	{"5.1", 20, 60, ""},
	{"5.2", 20, 120, ""},
	{"5.3", 20, 0, ""},
	{"6.1", 20, 0, ""},
	{"7.1", 20, 0, ""},
	{"8.1", 20, 0, ""},
	{"8.4", 0, 300, ""},
	{"10.1", 100, 0, ""},
	{"10.2", 0, 0, "10,000 samples of ITL a condition"},
	{"12.3", 20, 0, ""},
	{"13.1", 96, 900, "24 h, a sample every 15 minutes"},
	{"13.2", 96, 900, "24 h, a sample every 15 minutes"},
	{"13.3", 96, 900, "24 h, a sample every 15 minutes"},
	{"T5.1", 0, 60, ""},
	{"T5.2", 20, 120, ""},
	{"T5.3", 0, 0, "50 bursts of a length"},
	{"T7.4", 0, 300, ""},
	{"T9.1", 0, 0, "100 iterations of a size and number of ranks"},
	{"T9.2", 0, 0, "100 iterations of a size and number of ranks (9.1)"},
	{"T9.3", 0, 0, "100 iterations of a size and number of ranks (9.1)"},
	{"T10.1", 0, 0, "1,000 iterations"},
	{"T12.1", 1440, 60, "24 h, a sample every 60 s"},
	{"T12.2", 0, 0, "24 h, read at 0, 1, 6, 12 and 24 h"},
};

static const struct edition_ask *edition_ask_of(const struct test *test)
{
	for (size_t i = 0; i < sizeof(edition_stated) / sizeof(edition_stated[0]); i++)
		if (strcmp(edition_stated[i].test, test->id) == 0)
			return &edition_stated[i];
	return NULL;
}

/* "100 trials; seconds not stated; " of what the text lacks. */
static void edition_lacks(const struct edition_ask *ask, char *out, size_t size)
{
	char trials[24] = "trials", seconds[24] = "seconds";

	if (ask->trials)
		snprintf(trials, sizeof(trials), "%u trials", ask->trials);
	if (ask->seconds > 0)
		snprintf(seconds, sizeof(seconds), "%.12g s", ask->seconds);
	snprintf(out, size, "%s%s%s%s, %s%s", ask->also, *ask->also ? ": " : "", trials,
		 ask->trials ? "" : " not stated", seconds, ask->seconds > 0 ? "" : " not stated");
}

void edition_asks(struct editions e, const struct test *test, char *out, size_t size)
{
	static const struct edition_ask nothing = {.also = ""};
	const struct edition_ask *own = edition_ask_of(test), *ask = own ? own : &nothing;
	bool inference = test_is_draft(test);
	unsigned trials = edition_trials(e, test);
	double seconds = edition_seconds(e, test);
	char here[48], lacks[160];

	if (seconds > 0)
		snprintf(here, sizeof(here), "%u of %.12g s", trials, seconds);
	else
		snprintf(here, sizeof(here), "%u", trials);
	if (!inference && !test_is_training(test))
		snprintf(out, size, "-");
	else if (inference && e.newer[EDITION_INFERENCE])
		snprintf(out, size, "%s (1.3: 20 trials at least)", here);
	else if (ask->trials == trials && ask->seconds == seconds)
		snprintf(out, size, "%s%s%s", here, *ask->also ? ": " : "", ask->also);
	else if (inference && seconds >= EDITION_SECONDS_MIN && !*ask->also &&
		 ask->trials == trials)
		snprintf(out, size, "%s (seconds: 1.3)", here);
	else if (inference && seconds >= EDITION_SECONDS_MIN && !own)
		snprintf(out, size, "%s (1.3)", here);
	else {
		edition_lacks(ask, lacks, sizeof(lacks));
		snprintf(out, size, "%s; %s by this project", lacks, here);
	}
}

const struct edition_change *edition_changes(size_t *n)
{
	*n = sizeof(edition_table) / sizeof(edition_table[0]);
	return edition_table;
}
