/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failover_report.h - many trials told in few lines: entries of the document, tables, a page with
 * pictures.
 *
 * Owns: nothing; the document and the pictures are the caller's. Thread: one.
 */
#ifndef FAILOVER_REPORT_H
#define FAILOVER_REPORT_H

#include "failover_trial.h"
#include "result.h"

#define FAILOVER_MAX_TRIALS 100
#define FAILOVER_GOAL_MS    1000 /* goodput is back so soon after links and BGP are */

/* All trials of a scenario under one traffic and strategy. */
struct failover_case {
	enum failover_scenario_id id;
	enum strategy strategy;
	bool is_kv;
	/* repeated: ran and do not count, as the machine was another's meanwhile */
	unsigned n, repeated;
	struct failover_trial trial[FAILOVER_MAX_TRIALS];
	struct failover_picture fault, heal;
};

/*
 * Appends a trial, with the weights that it lowered needlessly, to "failover", or to
 * "failover_repeated".
 */
int failover_report_trial(struct result *result, const struct failover_case *c, unsigned i,
			  unsigned plane, json_t *lowered, bool repeated);
/* Appends the case to "failover_summary". */
int failover_report_case(struct result *result, const struct failover_case *c);

/* What "failover_summary" says. */
void failover_report_print(const struct result *result, FILE *file);
/* The same with pictures of all cases. 0 or -errno. */
int failover_report_page(const struct result *result, const struct failover_case *const *cases,
			 unsigned n, const char *path);

#endif
