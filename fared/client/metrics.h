/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - replies of the daemon as OpenMetrics text (version 1.0.0).
 *
 * Owns the text of series by path while pages come in. In: replies, and what paths come to
 * (path_totals.h; borrowed). Out: text, ended by "# EOF". Pure. Thread: any. A member that is
 * missing or null has no sample: the daemon may be of another version.
 *
 * What there is for each plane does not grow with the number of peers. Series by path do: 15 for
 * each path, so they are written on request alone.
 *
 * Units are seconds, bytes, bits per second and ratios. Labels: gpu (its name in the daemon's
 * configuration), peer, plane, sub_port.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "path_totals.h"
#include "snapshot.h"

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Series by path: of each family, samples stand together, while paths come page by page. */
struct metrics_paths;

int metrics_paths_create(struct metrics_paths **out); /* 0 or -ENOMEM */
void metrics_paths_add(struct metrics_paths *p, const json_t *rows);
void metrics_paths_destroy(struct metrics_paths *p); /* NULL is fine */

/* paths: NULL: without series by path; else what they hold, which cannot be added to afterwards. */
void metrics_write(FILE *to, const struct snapshot *s, const struct path_totals *totals,
		   struct metrics_paths *paths);

#endif
