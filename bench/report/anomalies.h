/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * anomalies.h - what rows show that nobody expects (section 14: anomalies observed).
 *
 * Owns: the list of rules. In: a test and its rows; out: what breaks a rule, each rule, KPI and
 * strategy once; a chapter. Thread: one.
 *
 * A value that is missing is no anomaly: the chapter Not measured has those.
 */
#ifndef ANOMALIES_H
#define ANOMALIES_H

#include "report/doc.h"
#include "report/results.h"

#define ANOMALIES_MAX		    200
#define ANOMALY_PLACE		    420
#define ANOMALY_IS_POSSIBLE_PERCENT 102. /* of a share: counters and clocks are read one by one */
#define ANOMALY_UNFINISHED_PERCENT  20.	 /* of requests, where no more come than can be served */
#define ANOMALY_BETTER		    0.9	 /* of the latency at less load */
#define ANOMALY_STALL		    3.	 /* times the fastest iteration of a collective */

struct anomaly {
	const char *rule; /* its name */
	const char *kpi;
	char strategy[ROW_NAME_MAX];
	unsigned n;		   /* rows, or pairs of levels */
	double worst;		   /* of the values, in the KPI's unit */
	char place[ANOMALY_PLACE]; /* of the worst: "size=1M load=90" */
};

struct anomalies {
	struct anomaly list[ANOMALIES_MAX];
	size_t n;
	unsigned left_out;
};

/* Adds those of a test. rows: its own, which have to outlive the list. -ENOMEM. */
int anomalies_read(struct anomalies *found, const struct test *test, const struct rows *rows);
void anomalies_show(struct doc *doc, const struct results *results,
		    const struct results_tests *tests);

#endif
