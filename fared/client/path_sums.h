/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * path_sums.h - what the QPs of all applications carry, by path.
 *
 * Owns nothing. In: rows of `show qps`, `show planes` and `show paths` (borrowed; NULL: none). Out:
 * an object of rows {local_gpu, peer, plane, qps, bytes}, by path, the caller's. Pure. Thread: any.
 * QPs of no plane and of a GPU that no plane row names are left out. What an application says of
 * its QPs is its own claim: with `known`, so are those of paths that the daemon does not know.
 */
#ifndef PATH_SUMS_H
#define PATH_SUMS_H

#include <jansson.h>

/* Adds the paths of those rows to known, an object, for path_sums_add(). */
void path_sums_know(json_t *known, const json_t *paths);
/* known: NULL: any path. */
void path_sums_add(json_t *sums, const json_t *qps, const json_t *planes, const json_t *known);
/* 0 if no QP is on that path; sums may be NULL. */
double path_sums_bytes(const json_t *sums, const char *gpu, const char *peer, int plane);

#endif
