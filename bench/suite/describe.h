/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * describe.h - run.json: what was measured on, with what, and what of it is emulated (section 14).
 *
 * Owns: nothing. In: the fabric and the options; out: a file of named tables for the report.
 * Thread: one.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "fabric/fabric.h"

struct suite_options;

struct describe {
	const struct fabric *fabric;
	const struct suite_options *options;
	uint64_t seed;
	double scale;
	unsigned repeated, busy; /* trials without idle time: made again, or kept all the same */
	double seconds;
};

/*
 * {"profile", "seed", "scale", "strategies", "tables": [{"title", "rows": [[name, value]]}]}.
 * -errno, after saying why.
 */
int describe_write(const struct describe *about, const char *path);

#endif
