/* SPDX-License-Identifier: BSD-2-Clause */
#include "reminder.h"

bool reminder_due(struct reminder *r, bool holds, uint64_t after_ns, uint64_t now_ns)
{
	if (!holds) {
		*r = (struct reminder){0};
		return false;
	}
	if (!r->next_ns)
		*r = (struct reminder){.since_ns = now_ns, .next_ns = now_ns + after_ns};
	if (now_ns < r->next_ns)
		return false;
	r->pause_ns = r->pause_ns ? 2 * r->pause_ns : REMINDER_FIRST_NS;
	if (r->pause_ns > REMINDER_LAST_NS)
		r->pause_ns = REMINDER_LAST_NS;
	r->next_ns = now_ns + r->pause_ns;
	return true;
}
