/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill_report.h - a drill told: entries of the document, tables, a page.
 *
 * Owns: nothing. Thread: one.
 */
#ifndef DRILL_REPORT_H
#define DRILL_REPORT_H

#include "drill_faults.h"
#include "result.h"

struct drill_report {
	const char *plan;
	uint64_t seed;
	const struct drill_faults *faults;
	const struct topo *topo;
	double duration_s, weights_back_s;
	double healthy_bytes; /* per millisecond, of all GPUs */
	double after_ratio;   /* goodput of the last second over the healthy one */
	uint64_t messages, lost, replayed, needless_flows;
	unsigned needless_weights;
	const struct recovery *gpus;
};

int drill_report_result(struct result *result, const struct drill_report *r);
void drill_report_print(const struct result *result, FILE *file);
int drill_report_page(const struct result *result, const struct drill_report *r, const char *path);

#endif
