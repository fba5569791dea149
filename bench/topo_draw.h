/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * topo_draw.h - a picture of the fabric: servers and their GPUs below, leaves above, a line per
 * sub-port.
 *
 * Owns: nothing; pure but for the file it writes to. In: a topology; out: one <svg> element for
 * report_drawing(). Thread: any.
 */
#ifndef TOPO_DRAW_H
#define TOPO_DRAW_H

#include <stdbool.h>
#include <stdio.h>

#include "topo.h"

/* Is it small enough to be told apart? */
bool topo_draw_fits(const struct topo *topo);

/* Sub-ports that are down are dashed; those between gpu and plane (< 0: none) stand out. */
void topo_draw(const struct topo *topo, int gpu, int plane, FILE *file);

#endif
