/* SPDX-License-Identifier: BSD-2-Clause */
/* traffic.c - see traffic.h */
#include "traffic.h"

bool traffic_read(struct traffic *t, const struct flows *flows,
		  void (*on_path)(void *arg, const struct flow_path *path), void *arg)
{
	bool done = false;
	unsigned torn;

	t->told |=
		flows_read_paths(flows, &t->cursor, TRAFFIC_ROWS, &done, &torn, on_path, arg) > 0;
	if (done)
		*t = (struct traffic){.known = t->told};
	return t->known && !flows_have_pickers(flows);
}
