/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_remind.c - see daemon_internal.h: what only an operator can mend is said once it has
 * lasted, and again at a decreasing rate
 */
#include <stdio.h>
#include <string.h>

#include "daemon_internal.h"
#include "probe_ports.h"
#include "shm_layout.h"

/* bgpd and zebra take seconds to start. What is said at once elsewhere is repeated from a minute
 * on. */
#define AWAY_NS	     UINT64_C(10000000000)
#define SAID_ONCE_NS REMINDER_FIRST_NS

static bool is_away(const struct daemon *d, enum path_source source, struct event *e)
{
	struct path_source_view view;
	char reason[sizeof(e->reason)];

	path_table_source(d->table, source, &view);
	snprintf(reason, sizeof(reason), "%s; farectl doctor says what to do", view.reason);
	event_fill(e, path_source_name(source), NULL, path_source_state_name(view.state), reason);
	return view.configured && view.state != BGP_SOURCE_UP;
}

static bool is_bmp_away(const struct daemon *d, struct event *e)
{
	return is_away(d, PATH_SOURCE_BMP, e);
}

/* While BMP is away nobody may have named FRR's release, without which zebra cannot be asked. */
static bool is_zserv_away(const struct daemon *d, struct event *e)
{
	return !is_away(d, PATH_SOURCE_BMP, e) && is_away(d, PATH_SOURCE_ZSERV, e);
}

static bool are_ports_held(const struct daemon *d, struct event *e)
{
	const struct probe_ports *p = daemon_health_ports(d->health);

	if (!p || !p->subject[0])
		return false;
	event_fill(e, p->subject, NULL, "not taken", p->reason);
	return true;
}

static bool is_segment_full(const struct daemon *d, struct event *e)
{
	char reason[sizeof(e->reason)];
	struct publish_stats stats;

	publish_stats(d->publish, &stats);
	snprintf(reason, sizeof(reason),
		 "applications do not learn of new peers; making it anew each minute fails: %s",
		 strerror(-stats.renewal_error));
	event_fill(e, SHM_NAME, NULL, "full", reason);
	return stats.renewal_error;
}

static bool is_rule_unkept(const struct daemon *d, struct event *e)
{
	event_fill(
		e, "fared-rule", NULL, "ended",
		"killed? the rules of kernel_routes stay as they are, and after fared: restart it");
	return d->rule_is_unkept;
}

static const struct {
	enum event_kind kind;
	uint64_t after_ns;
	bool (*holds)(const struct daemon *d, struct event *e);
} conditions[DAEMON_REMINDERS] = {
	{EVENT_SOURCE_AWAY, AWAY_NS, is_bmp_away},
	{EVENT_SOURCE_AWAY, AWAY_NS, is_zserv_away},
	{EVENT_PORTS_HELD, SAID_ONCE_NS, are_ports_held},
	{EVENT_SEGMENT_FULL, 0, is_segment_full},
	{EVENT_SOURCE_AWAY, 0, is_rule_unkept},
};

void daemon_remind(struct daemon *d)
{
	uint64_t now = clock_now_ns();

	for (size_t i = 0; i < DAEMON_REMINDERS; i++) {
		struct event e = event_of(conditions[i].kind, -1);
		struct reminder *r = &d->reminders[i];

		if (!reminder_due(r, conditions[i].holds(d, &e), conditions[i].after_ns, now))
			continue;
		snprintf(e.evidence, sizeof(e.evidence), "for %.0f s",
			 (double)(now - r->since_ns) / 1e9);
		daemon_add_event(d, &e);
	}
}
