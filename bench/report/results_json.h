/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * results_json.h - rows as one document for other programs: selector.h picks figures out of it.
 *
 * Owns: nothing. In: rows, the tests that they are of, what describes the run; out: a document.
 * Thread: one.
 *
 * {"run": as describe.h says,
 *  "trials": {"5.1": [{"strategy": "fare-spray", "size": "1M", "trial": 0, "KV_xfer_bandwidth":
 *	812.5, ...}, ...]},
 *  "cells": {"5.1": [{"strategy": "fare-spray", "size": "1M", "trials": 5, "KV_xfer_bandwidth":
 *	median of trials, "KV_xfer_bandwidth@low", "@high" (its interval, cell.h), ...}, ...]}}
 *
 * A distribution is its "@p50", "@p99", "@max" (of the trial, or of all trials together) and "@n";
 * words are text. What was not measured is null. Rows with a parameter that the test does not
 * declare (trial_with()) are in lists of their own: "drill@fault".
 */
#ifndef RESULTS_JSON_H
#define RESULTS_JSON_H

#include <jansson.h>

#include "report/results.h"

/* NULL: no memory. */
json_t *results_json(const struct results *results, const struct results_tests *tests);
/* Any document (taken; NULL: -ENOMEM) into a file ("-": standard output). -errno, after saying
 * why. */
int results_json_dump(json_t *root, const char *path);

#endif
