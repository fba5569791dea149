/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_counters.c - see report.h: what prober and reflector have counted since the daemon began
 */
#include <stddef.h>

#include "report.h"

struct row {
	const char *name;
	size_t offset;
	const char *meaning;
};

#define PROBER(field, meaning)                                                                     \
	{                                                                                          \
#field, offsetof(struct prober_counters, field), meaning                           \
	}
#define REFLECTOR(field, meaning)                                                                  \
	{                                                                                          \
#field, offsetof(struct reflector_counters, field), meaning                        \
	}

static const struct row prober_rows[] = {
	PROBER(sent, "probes sent"),
	PROBER(answered, "replies to them that were accepted"),
	PROBER(skipped, "probes suppressed, because data over the path had just been acknowledged, "
			"or the peer's own probe was"),
	PROBER(acknowledged, "peers that acknowledged a capacity notice of ours"),
	PROBER(mtu_sent, "probes sent to find path MTUs"),
	PROBER(mtu_answered, "replies to those"),
	PROBER(class_sent, "probes sent, half of them in data's class, to see which class waits"),
	PROBER(class_answered, "replies to those"),
	PROBER(refused, "packets that the kernel refused to send, replies to peers' probes "
			"included: no route, or a queue of this machine is full"),
	PROBER(late_ticks, "times the clock was late: this machine is short of CPU time"),
	PROBER(malformed, "dropped: no S-BFD reply"),
	PROBER(hop_limit, "dropped: hop limit below 254, not from this fabric"),
	PROBER(unknown, "dropped: no such session, or no probe that waits for this reply"),
	PROBER(wrong_plane, "dropped: came in over another plane than its probe went out"),
};

static const struct row reflector_rows[] = {
	REFLECTOR(answered, "peers' probes answered"),
	REFLECTOR(malformed, "dropped: no S-BFD probe"),
	REFLECTOR(hop_limit, "dropped: hop limit below 254, not from this fabric"),
	REFLECTOR(discriminator, "dropped: meant for another address than it came to"),
	REFLECTOR(wrong_device, "dropped: came in by a device that is no sub-port of the GPU"),
	REFLECTOR(limited, "dropped: more a second than are answered"),
	REFLECTOR(forged, "capacity notices rejected: not authenticated with a key of ours"),
	REFLECTOR(replayed, "capacity notices rejected: without this daemon's nonce; the first "
			    "ones after a start, those of older releases, and replays"),
	REFLECTOR(second_key, "capacity notices accepted by the key of health.second_key_file"),
};

static void report_counters_add(json_t *to, const char *part, const struct row *rows, size_t n,
				const void *counters)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t count =
			*(const uint64_t *)(const void *)((const char *)counters + rows[i].offset);

		json_array_append_new(to, json_pack("{s:s, s:s, s:I, s:s}", "part", part, "counter",
						    rows[i].name, "count", (json_int_t)count,
						    "meaning", rows[i].meaning));
	}
}

json_t *report_counters(const struct report *r)
{
	json_t *rows = json_array();
	struct reflector_counters reflector;
	struct prober_counters prober;

	if (r->prober) {
		prober_counters(r->prober, &prober);
		report_counters_add(rows, "prober", prober_rows,
				    sizeof(prober_rows) / sizeof(prober_rows[0]), &prober);
	}
	if (r->reflector) {
		reflector_counters(r->reflector, &reflector);
		report_counters_add(rows, "reflector", reflector_rows,
				    sizeof(reflector_rows) / sizeof(reflector_rows[0]), &reflector);
	}
	return json_pack("{s:b, s:f, s:o}", "ok", 1, "uptime_s", report_age_s(r, r->started_ns),
			 "counters", rows);
}
