/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * show.h - the results of `farebench transport` for people: tables on the terminal, a page, and the
 * JSON as a file.
 *
 * Owns: nothing; reads what plan.h and shaped.h made. Thread: one.
 */
#ifndef TRANSPORT_SHOW_H
#define TRANSPORT_SHOW_H

#include <jansson.h>

#include "report/report.h"

/*
 * root is taken: it becomes "transport" of the document. page may be NULL; html and json are its
 * file names, or NULL.
 */
int show_all(json_t *root, struct report *page, const char *html, const char *json);

#endif
