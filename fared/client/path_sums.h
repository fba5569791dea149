/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_sums.h - what the QPs of all applications carry, by path.
 *
 * Owns nothing. In: the rows of `show qps` and `show planes` (borrowed; NULL: none). Out: an object
 * of rows {local_gpu, peer, plane, qps, bytes}, by path, the caller's. Pure. Thread: any. QPs of no
 * plane and of a GPU that no plane row names are left out.
 */
#ifndef PATH_SUMS_H
#define PATH_SUMS_H

#include <jansson.h>

json_t *path_sums_of(const json_t *qps, const json_t *planes);
/* 0 if no QP is on that path; sums may be NULL. */
double path_sums_bytes(const json_t *sums, const char *gpu, const char *peer, int plane);

#endif
