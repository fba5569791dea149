/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * view.h - the views that a test declares, as tables and pictures.
 *
 * Owns: nothing. In: a test, one of its views, its rows; out: a table, or pictures, or why there
 * are none, into a document. Thread: one.
 */
#ifndef VIEW_H
#define VIEW_H

#include "report/doc.h"
#include "report/grid.h"
#include "suite/test.h"

/* Errors are the document's (doc.h). */
void view_show(struct doc *doc, const struct test *test, const struct view *view,
	       const struct rows *rows);

#endif
