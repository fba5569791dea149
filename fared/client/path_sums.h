/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_sums.h - what the QPs of all applications carry, by path.
 *
 * Owns nothing. In: the rows of `show qps` and `show planes` (borrowed; NULL: none). Out: new rows
 * {local_gpu, peer, plane, qps, bytes}, the caller's. Pure. Thread: any. QPs of no plane and of a
 * GPU that no plane row names are left out.
 */
#ifndef PATH_SUMS_H
#define PATH_SUMS_H

#include <jansson.h>

json_t *path_sums_of(const json_t *qps, const json_t *planes);

#endif
