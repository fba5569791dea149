/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts_fabric.c - what hosts do to the fabric, and what they say of it: faults, weights, counters.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fabric/lab.h"
#include "core/command.h"
#include "launch/host_counters.h"
#include "launch/hosts_internal.h"

#define HOSTS_WEIGHTS_MS 20000
#define HOSTS_SWITCH_MS	 10000
#define HOSTS_PAUSE_NS	 UINT64_C(50000000)

/* ---- faults ---- */

/* The answer's time, by the coordinator's clock. */
static uint64_t fabric_time(const struct hosts *hosts, unsigned host, const json_t *answer)
{
	return (uint64_t)json_integer_value(json_object_get(answer, "from_ns")) -
	       (uint64_t)hosts->member[host].clock.offset_ns;
}

int hosts_fail(struct hosts *hosts, const char *spec, uint64_t *at_ns)
{
	unsigned host, fault;
	json_t *answer;
	int err = inventory_find_fault(hosts->inventory, spec, &host, &fault);

	if (err) {
		fprintf(stderr, "farebench: the inventory has no command for: %s\n", spec);
		return err;
	}
	hosts->member[host].broken = true;
	err = hosts_ask(hosts, host, json_pack("{s:s, s:i}", "op", "fault", "fault", (int)fault),
			"fault", &answer);
	if (err)
		return err;
	*at_ns = fabric_time(hosts, host, answer);
	json_decref(answer);
	return 0;
}

static int fabric_heal_host(struct hosts *hosts, unsigned host, uint64_t *at_ns)
{
	json_t *answer;
	int err;

	/* an agent that is gone heals by itself: asked once, it is not asked again */
	hosts->member[host].broken = false;
	err = hosts_ask(hosts, host, json_pack("{s:s}", "op", "heal"), "healed", &answer);
	if (err && hosts->member[host].gone)
		fprintf(stderr,
			"farebench: host %s: a process beside the agent heals the fault; where "
			"that was killed, too, the next agent does\n",
			hosts_name(hosts, host));
	if (err)
		return err;
	*at_ns = fabric_time(hosts, host, answer);
	json_decref(answer);
	return 0;
}

int hosts_heal(struct hosts *hosts, uint64_t *at_ns)
{
	uint64_t first = UINT64_MAX;
	int err = 0;

	for (unsigned i = 0; hosts->member && i < hosts->n; i++) {
		uint64_t healed_ns = UINT64_MAX;
		int rc = hosts->member[i].broken ? fabric_heal_host(hosts, i, &healed_ns) : 0;

		err = err ? err : rc;
		first = healed_ns < first ? healed_ns : first;
	}
	*at_ns = first < UINT64_MAX ? first : clock_now_ns();
	return err;
}

/* ---- weights ---- */

/* 0: so; -EAGAIN, with the reason: not (yet). */
static int fabric_check_weights(struct hosts *hosts, unsigned host, bool equal, char *why,
				size_t why_size)
{
	json_t *answer;
	const char *text;
	int err = hosts_ask(hosts, host, json_pack("{s:s}", "op", "routes"), "routes", &answer);

	if (err)
		return err;
	text = json_string_value(json_object_get(answer, "text"));
	err = lab_check_routes(hosts->inventory->topo, host, text ? text : "", equal, why,
			       why_size);
	json_decref(answer);
	return err;
}

static int fabric_await_weights(struct hosts *hosts, unsigned host, bool equal, bool patient,
				char *why, size_t why_size)
{
	uint64_t until = clock_now_ns() + HOSTS_WEIGHTS_MS * UINT64_C(1000000);
	bool has_commands = hosts->inventory->host[host].equal[0];
	char reason[256];
	int err;

	while ((err = fabric_check_weights(hosts, host, equal, reason, sizeof(reason))) ==
	       -EAGAIN) {
		if ((!has_commands && !patient) || clock_now_ns() > until) {
			snprintf(why, why_size, "%s%s", reason,
				 has_commands ? ", after the inventory's command"
					      : "; the inventory has no 'weights' commands");
			return -EOPNOTSUPP;
		}
		clock_pause_ns(HOSTS_PAUSE_NS);
	}
	return err;
}

int hosts_weights(struct hosts *hosts, bool equal, bool patient, char *why, size_t why_size)
{
	int err = 0;

	for (unsigned i = 0; !err && i < hosts->n; i++) {
		json_t *answer;

		if (!hosts->inventory->host[i].equal[0])
			continue;
		err = hosts_ask(hosts, i, json_pack("{s:s, s:b}", "op", "weights", "equal", equal),
				"weights", &answer);
		if (!err)
			json_decref(answer);
	}
	for (unsigned i = 0; !err && i < hosts->n; i++)
		err = fabric_await_weights(hosts, i, equal, patient, why, why_size);
	return err;
}

/* ---- counters ---- */

int hosts_counters_read(struct hosts *hosts, unsigned host, json_t **out)
{
	json_t *answer;
	int err = hosts_ask(hosts, host, json_pack("{s:s}", "op", "counters"), "counters", &answer);

	if (err)
		return err;
	*out = json_incref(json_object_get(answer, "counters"));
	json_decref(answer);
	return 0;
}

/* A command that fails, or says nothing, leaves nothing that could be compared: *out is NULL. */
static int fabric_read_switch(const struct inventory_switch *sw, json_t **out)
{
	const char *argv[] = {"/bin/sh", "-c", sw->counters, NULL};
	struct command_result result;
	int err = command_run(argv, HOSTS_SWITCH_MS, &result);

	*out = NULL;
	if (err || result.status) {
		fprintf(stderr, "farebench: switch %s: %s: %s\n", sw->name, sw->counters,
			err ? strerror(-err) : result.err);
		if (!err)
			free(result.out);
		return err == -ENOMEM ? err : 0;
	}
	*out = nic_counters_of_text(sw->name, result.out, result.out_bytes);
	free(result.out);
	return *out ? 0 : -ENOMEM;
}

/* All of them, into the one member or the other. */
static int fabric_read_counters(struct hosts *hosts, bool after)
{
	int err = 0;

	for (unsigned i = 0; !err && i < hosts->n + hosts->inventory->n_switches; i++) {
		struct hosts_counters *c = &hosts->counters[i];
		json_t **out = after ? &c->after : &c->before, *now;

		err = i < hosts->n ? hosts_counters_read(hosts, i, &now)
				   : fabric_read_switch(&hosts->inventory->sw[i - hosts->n], &now);
		if (err)
			break;
		json_decref(*out);
		*out = now;
		if (!after && !c->first)
			c->first = json_incref(now);
	}
	return err;
}

int hosts_counters_begin(struct hosts *hosts)
{
	return fabric_read_counters(hosts, false);
}

int hosts_counters_end(struct hosts *hosts)
{
	return fabric_read_counters(hosts, true);
}

int hosts_nic_counts(const struct hosts *hosts, bool total, struct nic_counts *nics,
		     struct nic_counts *switches)
{
	int err = 0;

	*nics = *switches = (struct nic_counts){0};
	for (unsigned i = 0; !err && i < hosts->n + hosts->inventory->n_switches; i++) {
		const struct hosts_counters *c = &hosts->counters[i];

		err = nic_counts_add(i < hosts->n ? nics : switches, total ? c->first : c->before,
				     c->after);
	}
	return err;
}

char *hosts_counters_grown(const struct hosts *hosts, unsigned host, bool total)
{
	const struct hosts_counters *c = &hosts->counters[host];

	return host_counters_grown(total ? c->first : c->before, c->after);
}
