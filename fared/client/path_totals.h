/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_totals.h - what the paths of a server come to, by plane, verdict and state of the peer.
 *
 * Owns its sums. In: rows of `show paths`, page by page and in the daemon's order, of which it
 * keeps one pair's at a time; rows of `show planes` and path_sums.h (borrowed). Out: arrays of
 * rows. Pure. Thread: any. Planes that a GPU is not connected to are left out.
 *
 * A path is lost if it carries nothing, and neither an operator nor the peer says so, and the peer
 * is reached over another plane; reduced, if it carries less than the local sub-ports that are not
 * drained, and the peer does not say so. A peer is `whole` (every path carries what the local
 * sub-ports do), `degraded`, `down` (no path carries anything), or `drained` (an operator has).
 */
#ifndef PATH_TOTALS_H
#define PATH_TOTALS_H

#include <jansson.h>

struct path_totals {
	json_t *planes;	  /* by "GPU PLANE" */
	json_t *verdicts; /* by "GPU PLANE VERDICT": rows {local_gpu, plane, verdict, paths} */
	json_t *peers;	  /* by "GPU STATE": rows {local_gpu, state, peers} */
	json_t *pair;	  /* rows of the pair that is being read */
};

void path_totals_init(struct path_totals *t);
void path_totals_add(struct path_totals *t, const json_t *planes, const json_t *rows);
/* After the last page. sums: of path_sums.h; NULL: none. */
void path_totals_end(struct path_totals *t, const json_t *planes, json_t *sums);
void path_totals_fini(struct path_totals *t);

#endif
