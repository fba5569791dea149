/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * describe.h - what was measured on, with what, and what of it is emulated (section 14):
 * run.json.
 *
 * Owns: nothing. In: the fabric and the options; out: named tables for the report.
 * Thread: one.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include <jansson.h>

#include "core/machine.h"
#include "fabric/fabric.h"

struct suite_options;

struct describe {
	const struct fabric *fabric; /* NULL: none was needed */
	const struct suite_options *options;
	uint64_t seed;
	double scale;
	unsigned repeated, busy; /* attempts that do not count; trials kept all the same */
	unsigned included;	 /* trials in the rows */
	/* of the whole machine, mean over those trials of this part of the run that have it */
	double idle_percent;
	unsigned idle_trials;
	double seconds;
	bool resumed;			/* what is counted in memory is of the part since then */
	const struct machine *machine;	/* as it was when the run began */
	const struct leaf_load *leaves; /* the same; NULL, or at_ns 0: not known */
	/* tests of the inference draft, and of the training draft, are among those that run */
	bool draft, training;
};

/*
 * {"version", "profile", "started", "seed", "scale", "trials_repeated", "trials_busy", "even_busy",
 * "editions", "seconds", "strategies", "tables": [{"title", "rows": [[name, value]]}], "words":
 * what resume_read() wants}, the caller's. NULL: no memory.
 */
json_t *describe_json(const struct describe *about);

/* What the emulated serving framework can do (capability.c): {"title", "rows": [[category,
 * value]]}, the caller's. NULL: no memory. */
json_t *capability_json(const struct fabric *fabric);

#endif
