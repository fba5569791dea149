/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * legend.h - what the marks in tables mean, once and before the first of the tests' tables.
 *
 * Owns: nothing. In: nothing; out: a chapter. Thread: one.
 */
#ifndef LEGEND_H
#define LEGEND_H

#include "report/doc.h"

void legend_show(struct doc *doc);

#endif
