/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sched_page.h - the results of farebench sched as tables and as a page with pictures.
 *
 * Owns: nothing. In: the arrays that the parts filled in; out: text, HTML. Thread: any, one at a
 * time.
 */
#ifndef SCHED_PAGE_H
#define SCHED_PAGE_H

#include <jansson.h>

#include "report/report.h"

/*
 * Tables of all parts that have results, to stdout and, where report is not NULL, onto the page
 * with a picture each. -ENOMEM; as report_plot().
 */
int sched_page_show(const json_t *root, struct report *report);

#endif
