/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * planted.h - defects of the engine that a test can switch on, to see that a run with one of them
 * has no result (tests/lab/lab_planted.sh).
 *
 * PLANTED(name) is a constant false, and its branch no code, everywhere but in the test's own build
 * of these sources, where the environment's FARE_PLANT names the defect.
 */
#ifndef ENGINE_PLANTED_H
#define ENGINE_PLANTED_H

#ifdef FARE_PLANTED
#include <stdlib.h>
#include <string.h>

static inline int planted(const char *name)
{
	const char *active = getenv("FARE_PLANT");

	return active && strcmp(active, name) == 0;
}
#define PLANTED(name) planted(#name)
#else
#define PLANTED(name) 0
#endif

#endif
