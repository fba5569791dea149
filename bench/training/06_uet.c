/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 06_uet.c - tests 6.1 to 6.7: Ultra Ethernet Transport, by a libfabric provider that is named.
 *
 * Where there is no such provider the rows say what libfabric has instead. The same client over tcp
 * and fare shows that it is the machine that lacks something, and is what UET is compared with.
 * Every service retransmits, so no rate loses anything: the binary search ends where it begins, at
 * the rate that the provider reaches by itself.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "training/common.h"
#include "training/ofi_job.h"

/* ---- one run ---- */

static bool can_service(struct trial *t, const char *service)
{
	if (!strcmp(service, "rod") || !strcmp(service, "rud"))
		return true;
	trial_missing(t, NULL, "libfabric names no service %s: it has order, or none", service);
	return false;
}

/* NULL with 0: the rows say why. */
static int uet_run(struct trial *t, struct ofi_job *job, json_t **out)
{
	char why[400] = "";
	int rc;

	*out = NULL;
	job->provider = trial_text(t, "provider");
	if (!can_service(t, job->service))
		return 0;
	rc = ofi_job_run(t, job, out, why);
	if (!rc && !*out)
		trial_missing(t, NULL, "%s", why);
	return rc;
}

static double gbps(const json_t *answer)
{
	return json_number_value(json_object_get(answer, "bytes")) * 8 /
	       json_number_value(json_object_get(answer, "ns"));
}

static void add_hist(struct trial *t, const char *kpi, const json_t *answer, const char *key)
{
	struct hist *h = malloc(sizeof(*h));
	const json_t *value;
	size_t i;

	if (!h) {
		t->err = -ENOMEM;
		return;
	}
	hist_init(h);
	json_array_foreach (json_object_get(answer, key), i, value)
		hist_add(h, (uint64_t)json_integer_value(value));
	if (h->n)
		trial_hist(t, kpi, h);
	else
		trial_missing(t, kpi, "no write has ended");
	free(h);
}

/* The two parts of a set-up. */
static void add_setup(struct trial *t, const json_t *answer)
{
	struct hist *h = malloc(sizeof(*h));

	if (!h) {
		t->err = -ENOMEM;
		return;
	}
	ofi_job_setup(answer, h);
	if (h->n)
		trial_hist(t, "Setup_time", h);
	else
		trial_missing(t, "Setup_time", "no endpoint was set up");
	free(h);
	add_hist(t, "First_write", answer, "first_ns");
}

static void add_provider(struct trial *t, const json_t *answer)
{
	char text[96];

	snprintf(text, sizeof(text), "%s (%s)",
		 json_string_value(json_object_get(answer, "provider")),
		 json_string_value(json_object_get(answer, "completion")));
	trial_set_text(t, "Provider", text);
}

/* ---- 6.1, 6.2 ---- */

static int throughput_run(struct trial *t)
{
	struct ofi_job job = {.service = trial_text(t, "service"),
			      .bytes = (uint64_t)trial_number(t, "size"),
			      .loaders = trial_count(t, "endpoints"),
			      .both = !strcmp(trial_text(t, "direction"), "both"),
			      .seconds = t->seconds};
	double line = training_line_bps(t) / 1e9 * (job.both ? 2 : 1);
	json_t *answer;
	int rc = uet_run(t, &job, &answer);

	if (answer) {
		trial_value(t, "Throughput", gbps(answer), 1);
		trial_value(t, "Efficiency", gbps(answer) / line * 100, 1);
		add_setup(t, answer);
		add_provider(t, answer);
	}
	json_decref(answer);
	return rc;
}

static void add_latency_of(struct trial *t, const json_t *answer, const char *key)
{
	double sum = 0, min = INFINITY;
	const json_t *values = json_object_get(answer, key), *value;
	size_t i, n = json_array_size(values);

	json_array_foreach (values, i, value) {
		sum += json_number_value(value);
		min = fmin(min, json_number_value(value));
	}
	if (n) {
		trial_value(t, "Latency_min", min / 1e3, n);
		trial_value(t, "Latency_mean", sum / (double)n / 1e3, n);
	} else {
		trial_missing(t, "Latency_min", "no write has ended");
		trial_missing(t, "Latency_mean", "no write has ended");
	}
}

static int uet_latency_run(struct trial *t)
{
	const char *load = trial_text(t, "load");
	bool is_first = !strcmp(load, "first");
	struct ofi_job job = {.service = trial_text(t, "service"),
			      .bytes = (uint64_t)trial_number(t, "size"),
			      .loaders = is_first ? trial_count(t, "endpoints")
						  : !strcmp(load, "steady"),
			      .has_probe = !is_first,
			      .seconds = is_first ? 0 : t->seconds};
	json_t *answer;
	int rc = uet_run(t, &job, &answer);

	if (answer) {
		add_hist(t, "Latency", answer, is_first ? "first_ns" : "latency_ns");
		add_latency_of(t, answer, is_first ? "first_ns" : "latency_ns");
		add_provider(t, answer);
	}
	json_decref(answer);
	return rc;
}

/* ---- 6.7 ---- */

#define MOST_ENDPOINTS 1024u

/* More and more of them, until together they carry less than 90% of what one does. */
static int find_most(struct trial *t, struct ofi_job job)
{
	double one = 0, most = 0;
	json_t *answer;
	int rc;

	job.seconds = t->seconds;
	for (job.loaders = 1; job.loaders <= MOST_ENDPOINTS; job.loaders *= 2) {
		rc = uet_run(t, &job, &answer);
		if (rc || !answer)
			return rc;
		if (job.loaders == 1)
			one = gbps(answer);
		if (gbps(answer) < 0.9 * one) {
			json_decref(answer);
			break;
		}
		most = job.loaders;
		json_decref(answer);
		if (most >= trial_count(t, "most"))
			break;
	}
	trial_value(t, "Endpoints_held", most, 1);
	if (most >= trial_count(t, "most") || job.loaders > MOST_ENDPOINTS)
		trial_missing(t, "Most_endpoints", "%.0f or more: no more were tried (most)", most);
	else
		trial_value(t, "Most_endpoints", most, 1);
	return 0;
}

static int setup_run(struct trial *t)
{
	struct ofi_job job = {.service = "rud",
			      .bytes = (uint64_t)trial_number(t, "size"),
			      .loaders = trial_count(t, "endpoints")};
	json_t *answer;
	double sum = 0;
	size_t i, n;
	json_t *value;
	int rc = uet_run(t, &job, &answer);

	if (rc || !answer)
		return rc;
	json_array_foreach (json_object_get(answer, "setup_ns"), i, value)
		sum += json_number_value(value);
	n = json_array_size(json_object_get(answer, "setup_ns"));
	trial_value(t, "Setup_rate", (double)n / sum * 1e9, n);
	add_setup(t, answer);
	add_provider(t, answer);
	json_decref(answer);
	return find_most(t, job);
}

/* ---- 6.3 to 6.6 ---- */

/* What is missing of the machine, and what else the test takes. */
static int absent_run(struct trial *t, const char *needs)
{
	struct ofi_job job = {.service = "rud", .bytes = 8, .loaders = 1};
	char why[400] = "";
	json_t *answer;
	int rc;

	job.provider = trial_text(t, "provider");
	rc = ofi_job_run(t, &job, &answer, why);
	json_decref(answer);
	if (!rc)
		trial_missing(t, NULL, "%s%s%s", why, *why ? "; " : "", needs);
	return rc;
}

static int spraying_run(struct trial *t)
{
	return absent_run(t, "it takes UET hosts over leaves that spray; RC over leaves that hash "
			     "and spray: lab/lb");
}

static int incast_run(struct trial *t)
{
	return absent_run(t, "it takes UET hosts, whose congestion control is what is measured: no "
			     "software model of it is here");
}

static int link_layer_run(struct trial *t)
{
	return absent_run(t, "LLR, trimming and credits are of switches and NICs: virtual Ethernet "
			     "has none of them");
}

static int uet_collectives_run(struct trial *t)
{
	return absent_run(t, "T9.1 to T9.3 run the collectives by MPI over libfabric: tcp and fare "
			     "as strategies, UET once farelab-mpi can name its provider");
}

/* ---- the tests ---- */

#define PROVIDER                                                                                   \
	PARAM("provider", PARAM_TEXT, "",                                                          \
	      "of libfabric, by name; uet: the first whose name has that in it", "uet,tcp,fare",   \
	      "uet,tcp,fare", "uet")
#define SERVICE(...)                                                                               \
	PARAM("service", PARAM_NAME, "", "rod: writes in order; rud: in any", __VA_ARGS__)
#define PROVIDER_KPI                                                                               \
	{                                                                                          \
		"Provider", "", "DUT-F",                                                           \
			"the one found (a write is complete at: delivery, transmission, or "       \
			"locally)",                                                                \
			BETTER_NONE, 0                                                             \
	}
#define SETUP_KPIS                                                                                 \
	KPI("Setup_time", "us", "DUT-F", "of an endpoint, until its first write is posted",        \
	    BETTER_LOWER, 1e-3),                                                                   \
		KPI("First_write", "us", "DUT-F",                                                  \
		    "of an endpoint, of 8 bytes in T6.1, with the handshake of a provider that "   \
		    "connects by it",                                                              \
		    BETTER_LOWER, 1e-3)

const struct test test_t6_1 = {
	TRAINING_CLAUSE("6.1"),
	.name = "UET Throughput by Transport Service",
	.dut = "DUT-F",
	.summary =
		"fi_write() from one server into another's memory, by the provider that is named.",
	.needs = NEED_TWO_SERVERS,
	.unlike = NAMES("provider"),
	.no_strategies = true,
	.trials = {1, 3, 3},
	.seconds = {1, 5, 60},
	.params = PARAMS(
		PROVIDER, SERVICE("rud", "rud,rod", "rod,rud,rudi,uud"),
		PARAM("size", PARAM_BYTES, "bytes", "of a write", "1M", "64K,1M,4M", "1M,4M"),
		PARAM("endpoints", PARAM_COUNT, "",
		      "of the writing end, 16 writes outstanding on each", "1,4", "1,4,16",
		      "1,4,16,32"),
		PARAM("direction", PARAM_NAME, "", "one end writes, or both", "one", "one,both")),
	.kpis = KPIS({"Throughput", "Gb/s", "DUT-F", "payload", BETTER_HIGHER, 0},
		     {"Efficiency", "%", "DUT-F", "payload over what the sub-ports let through",
		      BETTER_HIGHER, 0},
		     SETUP_KPIS, PROVIDER_KPI),
	.views = VIEWS(VIEW(VIEW_TABLE, "Throughput by provider", "endpoints", "provider", "size",
			    "Throughput", "Efficiency", "Setup_time@p50", "First_write@p50",
			    "Provider")),
	.run = throughput_run,
};

const struct test test_t6_2 = {
	TRAINING_CLAUSE("6.2"),
	.name = "UET Latency Characterization",
	.dut = "DUT-F",
	.summary = "fi_write() until it is complete: at zero load, beside a load, and the first of "
		   "an endpoint.",
	.needs = NEED_TWO_SERVERS,
	.unlike = NAMES("provider", "load"),
	.no_strategies = true,
	.trials = {1, 3, 3},
	.seconds = {1, 5, 60},
	.params = PARAMS(
		PROVIDER, SERVICE("rud", "rud,rod", "rod,rud"),
		PARAM("size", PARAM_BYTES, "bytes", "of a write", "8", "8,4K,64K"),
		PARAM("load", PARAM_NAME, "",
		      "zero: one write at a time; steady: another endpoint has 16 outstanding; "
		      "first: the first write of a new endpoint",
		      "zero,first", "zero,steady,first"),
		PARAM("endpoints", PARAM_COUNT, "", "whose first write is timed", "8", "64")),
	.kpis = KPIS(
		{"Latency", "us", "DUT-F", "of a write, until it is complete", BETTER_LOWER, 1e-3},
		{"Latency_min", "us", "DUT-F", "the shortest", BETTER_LOWER, 0},
		{"Latency_mean", "us", "DUT-F", "of a trial", BETTER_LOWER, 0}, PROVIDER_KPI),
	.views = VIEWS(VIEW(VIEW_TABLE, "Latency by provider", "load", "provider", "size",
			    "Latency_min", "Latency_mean", "Latency@p50", "Latency@p95",
			    "Latency@p99", "Latency@p99.9", "Latency@max", "Provider"),
		       {VIEW_FIELDS(VIEW_CDF, "Latency", "load", "provider", "size", "Latency"),
			.log_x = true}),
	.run = uet_latency_run,
};

const struct test test_t6_7 = {
	TRAINING_CLAUSE("6.7"),
	.name = "UET PDC Scalability and Connection Setup Rate",
	.dut = "DUT-F",
	.summary = "Endpoints are set up one after the other; then more and more of them write.",
	.needs = NEED_TWO_SERVERS,
	.unlike = NAMES("provider"),
	.no_strategies = true,
	.trials = {1, 3, 3},
	.seconds = {0.5, 2, 10},
	.params = PARAMS(PROVIDER, PARAM("size", PARAM_BYTES, "bytes", "of a write", "4K", "64K"),
			 PARAM("endpoints", PARAM_COUNT, "", "set up one after the other", "16",
			       "100,1000", "100,1000,10000,100000"),
			 PARAM("most", PARAM_COUNT, "endpoints",
			       "at which the search for the most of them ends", "4", "64", "1024")),
	.kpis = KPIS(
		{"Setup_rate", "1/s", "DUT-F", "endpoints set up, each with a first write",
		 BETTER_HIGHER, 0},
		SETUP_KPIS,
		{"Most_endpoints", "", "DUT-F",
		 "that together carry at least 90% of what one does; doubled until they do not",
		 BETTER_HIGHER, 0},
		{"Endpoints_held", "", "DUT-F",
		 "the most that were tried and do; Most_endpoints, if more were tried that do not",
		 BETTER_NONE, 0},
		PROVIDER_KPI),
	.views = VIEWS(VIEW(VIEW_TABLE, "Set-up of endpoints by provider", "endpoints", "provider",
			    NULL, "Setup_rate", "Setup_time@p50", "First_write@p50",
			    "Most_endpoints", "Endpoints_held", "Provider")),
	.run = setup_run,
};

/* Of the KPIs the text's first. */
#define ABSENT(number, title, does, ...)                                                           \
	const struct test test_t6_##number = {                                                     \
		TRAINING_CLAUSE("6." #number),                                                     \
		.name = (title),                                                                   \
		.dut = "DUT-F",                                                                    \
		.summary = "Says what of it is missing here.",                                     \
		.needs = NEED_TWO_SERVERS,                                                         \
		.no_strategies = true,                                                             \
		.trials = {1, 1, 1},                                                               \
		.params = PARAMS(                                                                  \
			PARAM("provider", PARAM_TEXT, "",                                          \
			      "of libfabric, by name; uet: the first whose name has that in it",   \
			      "uet")),                                                             \
		.kpis = KPIS(__VA_ARGS__),                                                         \
		.views = (const struct view[]){VIEWS_END},                                         \
		.run = (does),                                                                     \
	}

ABSENT(3, "Packet Spray Efficacy Under UET RUD", spraying_run,
       {"JFI", "", "DUT-F", "of the links of a tier", BETTER_HIGHER, 0});
ABSENT(4, "UET Congestion Control Benchmarks", incast_run,
       {"Throughput", "Gb/s", "DUT-F", "at the receiver", BETTER_HIGHER, 0},
       {"Loss", "%", "DUT-F", "of packets, without PFC", BETTER_LOWER, 0});
ABSENT(5, "Link Layer Enhancement Benchmarks", link_layer_run,
       {"Retry_latency", "ns", "DUT-F", "of a frame that was lost", BETTER_LOWER, 0},
       {"Trimming_savings", "%", "DUT-F", "of what would be sent again", BETTER_HIGHER, 0},
       {"HOL_blocking", "us", "DUT-F", "by credits, against PFC", BETTER_LOWER, 0});
ABSENT(6, "UET Collective Communication Performance", uet_collectives_run,
       {"BusBW", "Gb/s", "SUT-E", "as of T9.1", BETTER_HIGHER, 0});
