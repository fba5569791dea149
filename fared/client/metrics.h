/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - replies of the daemon as OpenMetrics text (version 1.0.0).
 *
 * Owns nothing. In: replies (borrowed), or NULL where one could not be had. Out: text, ended by
 * "# EOF". Pure. Thread: any. A member that is missing or null has no sample: the daemon may be of
 * another version.
 *
 * Units are seconds, bytes, bits per second and ratios. Labels: gpu (its name in the daemon's
 * configuration), peer, plane, sub_port.
 */
#ifndef METRICS_H
#define METRICS_H

#include <jansson.h>
#include <stdio.h>

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct metrics_replies {
	const json_t *version, *planes, *paths, *qps, *counters;
	double scrape_s; /* how long it took to get them */
};

void metrics_write(FILE *to, const struct metrics_replies *r);

#endif
