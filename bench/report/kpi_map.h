/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kpi_map.h - in which tests each KPI of the methodology is measured (appendix A), from what the
 * tests declare.
 *
 * Owns: nothing; pure. In: tests; out: ids. Thread: any.
 *
 * A test measures a KPI of section 4 if it declares one of that name, or of a name that begins with
 * it and "_" ("Link_utilization_max").
 */
#ifndef KPI_MAP_H
#define KPI_MAP_H

#include "suite/test.h"

struct kpi_map {
	const char *kpi;  /* as appendix A names it; of the inference draft, in -02 */
	const char *name; /* as tests declare it, and -05 of the inference draft */
	const char *dut;
	const char *test; /* the only one that counts; NULL: all do */
};

const struct kpi_map *kpi_map_all(size_t *n);	/* of the inference draft */
const struct kpi_map *kpi_map_added(size_t *n); /* by its -05 */
/* Appendix A of the training draft. */
const struct kpi_map *kpi_map_training(size_t *n);
/* Is that KPI of a test the entry's, by its name? */
bool kpi_map_is(const struct kpi_map *entry, const char *kpi);
bool kpi_map_measures(const struct kpi_map *entry, const struct test *test);

#endif
