/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * daemon_trace.c - see daemon_internal.h: farectl trace
 *
 * One at a time, for operators, of one path, and so many probes at most: what it costs is bounded.
 * What the prober reports is kept until the end of the loop's turn, behind all that has to be
 * quick.
 */
#include <stdio.h>

#include "base/clock.h"
#include "daemon_internal.h"

static void daemon_trace_stop(struct daemon *d)
{
	daemon_health_trace_end(d->health);
	trace_stop(&d->trace);
	d->tracer = NULL;
}

void daemon_trace_gone(struct daemon *d, const struct control_client *client)
{
	if (d->tracer == client)
		daemon_trace_stop(d);
}

static void on_line(void *arg, const json_t *line)
{
	struct daemon *d = arg;

	if (!d->tracer) /* it went away with a line before */
		return;
	d->tracer->finished = !d->trace.running;
	control_send(d->control, d->tracer, line);
}

void daemon_trace_flush(struct daemon *d)
{
	if (!d->tracer)
		return;
	trace_flush(&d->trace, clock_now_ns(), clock_ns(CLOCK_REALTIME), on_line, d);
	if (d->tracer && !d->trace.running)
		daemon_trace_stop(d);
}

/* By name, or the first that has such a path. */
static bool find_path(struct daemon *d, const struct control_request *request, uint32_t *gpu)
{
	if (request->gpu[0])
		return config_find_gpu(d->config, request->gpu, gpu) &&
		       daemon_health_trace(d->health, *gpu, &request->peer, request->plane);
	for (*gpu = 0; *gpu < d->config->n_gpus; ++*gpu)
		if (daemon_health_trace(d->health, *gpu, &request->peer, request->plane))
			return true;
	return false;
}

json_t *daemon_on_trace(void *arg, struct control_client *client,
			const struct control_request *request)
{
	struct prober_view view;
	struct daemon *d = arg;
	char why[120];
	uint32_t gpu;

	if (d->tracer) {
		snprintf(
			why, sizeof(why),
			"another trace is under way, by uid=%u pid=%d; wait for its end, or end it",
			(unsigned)d->tracer->uid, (int)d->tracer->pid);
		return control_error(why);
	}
	if (!find_path(d, request, &gpu))
		return control_error("no such path is probed; farectl show paths lists them");
	d->tracer = client;
	client->tracing = true;
	trace_begin(&d->trace, gpu, &request->peer, request->plane, request->count);
	prober_path(daemon_health_prober(d->health), gpu, &request->peer, request->plane,
		    clock_now_ns(), &view);
	return json_pack("{s:b, s:s, s:I, s:i, s:b, s:s}", "ok", 1, "local_gpu",
			 d->config->gpus[gpu].name, "plane", (json_int_t)request->plane, "count",
			 (int)request->count, "probed", view.wanted, "state",
			 probe_state_name(view.state));
}
