/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metrics.h - replies of the daemon as OpenMetrics text (version 1.0.0).
 *
 * Owns nothing. In: replies (borrowed). Out: text, ended by
 * "# EOF". Pure. Thread: any. A member that is missing or null has no sample: the daemon may be of
 * another version.
 *
 * Units are seconds, bytes, bits per second and ratios. Labels: gpu (its name in the daemon's
 * configuration), peer, plane, sub_port.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdio.h>

#include "snapshot.h"

#define METRICS_CONTENT_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

void metrics_write(FILE *to, const struct snapshot *s);

#endif
