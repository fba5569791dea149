/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reminder.h - when to repeat that something is wrong which only an operator can mend.
 *
 * Solely owns: since when it has been so, and when it is to be said next. In: whether it is so, and
 * `now`. Out: whether to say it: once it has lasted, and again at a decreasing rate. Pure.
 */
#ifndef REMINDER_H
#define REMINDER_H

#include <stdbool.h>
#include <stdint.h>

#define REMINDER_FIRST_NS UINT64_C(60000000000)	   /* from the first time to the second */
#define REMINDER_LAST_NS  UINT64_C(86400000000000) /* each pause is twice the last, to a day */

/* All zero: it is not so. */
struct reminder {
	uint64_t since_ns, next_ns, pause_ns;
};

/* after_ns: for how long it has to last before it is said first. true: say it. */
bool reminder_due(struct reminder *r, bool holds, uint64_t after_ns, uint64_t now_ns);

#endif
