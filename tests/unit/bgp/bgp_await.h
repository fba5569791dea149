/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bgp_await.h - runs a loop until what its callbacks write down holds a word, and not for ever.
 *
 * Owns nothing.
 */
#ifndef BGP_AWAIT_H
#define BGP_AWAIT_H

#include <ev.h>
#include <stdbool.h>
#include <string.h>

#include "patience.h"

static inline void await_on_late(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)events;
	*(bool *)timer->data = true;
	ev_break(loop, EVBREAK_ALL);
}

/* true: text stands in `in`; false: it did not come in time. */
static inline bool await_text(struct ev_loop *loop, const char *in, const char *text)
{
	bool late = false;
	ev_timer timer;

	ev_timer_init(&timer, await_on_late, PATIENCE_S, 0.0);
	timer.data = &late;
	ev_now_update(loop); /* the loop may not have turned for long */
	ev_timer_start(loop, &timer);
	while (!strstr(in, text) && !late)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &timer);
	return strstr(in, text) != NULL;
}

#endif
