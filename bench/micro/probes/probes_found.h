/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes_found.h - how long it took to find that a plane had fallen silent, path by path.
 *
 * Owns: nothing; pure. In: when each path was declared down; out: milliseconds since the silence. A
 * path that was not declared down while it was waited for counts as long as that: no figure passes
 * by a miss. Thread: any.
 */
#ifndef PROBES_FOUND_H
#define PROBES_FOUND_H

#include <stdbool.h>
#include <stdint.h>

#define PROBES_MAX_PEERS 4000u
#define PROBES_FOUND_MS	 3000. /* what is not found by then is not found */

struct probes_found {
	uint32_t n, n_paths;	     /* found, of so many */
	double ms[PROBES_MAX_PEERS]; /* of all n_paths */
};

/*
 * down_ns[i]: when the path of peer i went down last; 0, or before silent_ns: it has not since. At
 * most PROBES_MAX_PEERS of them.
 */
void probes_found_set(struct probes_found *found, const uint64_t *down_ns, uint32_t n,
		      uint64_t silent_ns);

#endif
