/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_route.h - which source's route is in force for a path, and how old it is.
 *
 * Owns nothing. In: everything known of one path. Out: one source at most, or why none. Thread:
 * any. Pure.
 */
#ifndef PATH_ROUTE_H
#define PATH_ROUTE_H

#include "path_rules.h"

struct path_route {
	enum path_route_source source;
	const char *none;     /* why no source has the path */
	const char *stale;    /* why the route in force is old, or NULL */
	bool uninstalled;     /* zebra has disagreed for long enough */
	bool unshown;	      /* it has the path, and BMP, in sync, has not */
	uint64_t deadline_ns; /* look again then; 0: no need */
};

/* Raw bandwidth first, then what a former daemon published, then zebra's weights. */
void path_route_find(const struct path_facts *f, struct path_route *out);
/*
 * Probes are answered, but for a single reply that may be late. An answer that came in by an
 * address proves it, however it came to be this server's.
 */
bool path_route_is_answered(const struct path_facts *f);
void path_route_sooner(uint64_t *deadline, uint64_t candidate);

#endif
