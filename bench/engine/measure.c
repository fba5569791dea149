/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/audit.h"
#include "engine/planted.h"

#define MEASURE_FILL_NS_PER_KB 4000u /* 256 MB/s: of memory that was never touched */

static uint64_t measure_integer(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static int measured_alloc(const struct measure *measure, struct measured *out)
{
	out->n_loads = measure->plan->n_loads;
	out->n_streams = measure->plan->n_streams;
	out->load = calloc(measure->plan->n_loads + 1, sizeof(*out->load));
	out->stream = calloc(measure->plan->n_streams + 1, sizeof(*out->stream));
	out->cpu = calloc(cluster_size(measure->cluster) + 1, sizeof(*out->cpu));
	out->stall_ns = calloc(cluster_size(measure->cluster) + 1, sizeof(*out->stall_ns));
	for (unsigned i = 0; out->load && i < out->n_loads; i++) {
		hist_init(&out->load[i].posted);
		hist_init(&out->load[i].completed);
		hist_init(&out->load[i].delivered);
		hist_init(&out->load[i].round);
		hist_init(&out->load[i].wait);
	}
	return out->load && out->stream && out->cpu && out->stall_ns ? 0 : -ENOMEM;
}

void measured_fini(struct measured *m)
{
	for (unsigned i = 0; m->load && i < m->n_loads; i++) {
		free(m->load[i].round_start);
		free(m->load[i].round_end);
		free(m->load[i].bin_bytes);
	}
	free(m->load);
	free(m->stream);
	free(m->link);
	free(m->cpu);
	free(m->stall_ns);
	memset(m, 0, sizeof(*m));
}

/* ---- one GPU's answer ---- */

/* Rounds `from` and on of one GPU: the first start and the last end among all count. */
static uint64_t measure_round_times(const struct measured *out, struct measured_load *load,
				    uint64_t from, const json_t *answer)
{
	const json_t *starts = json_object_get(answer, "start"),
		     *ends = json_object_get(answer, "end");
	uint64_t waited = 0;

	for (uint64_t i = 0; i < json_array_size(ends) && from + i < load->n_rounds; i++) {
		uint64_t start = (uint64_t)json_integer_value(json_array_get(starts, i)),
			 end = (uint64_t)json_integer_value(json_array_get(ends, i)),
			 *first = &load->round_start[from + i], *last = &load->round_end[from + i];

		if (start && (!*first || start < *first))
			*first = start;
		*last = end > *last ? end : *last;
		if (start < out->from_ns || end >= out->to_ns)
			continue;
		/* all may be there before this GPU has posted: it waits for nothing */
		end = end > start ? end : start;
		hist_add(&load->wait, end - start);
		waited += end - start;
	}
	return waited;
}

/* All n rounds that one GPU saw of a load, a part at a time: a line has an end. */
static int measure_rounds_of(const struct measure *measure, struct measured *out, unsigned gpu,
			     unsigned i, uint64_t n)
{
	struct measured_load *load = &out->load[i];
	uint64_t waited = 0, part;
	json_t *answer;
	int err = 0;

	if (!load->round_start) {
		load->round_start = calloc(n, sizeof(*load->round_start));
		load->round_end = calloc(n, sizeof(*load->round_end));
		load->n_rounds = n;
		if (!load->round_start || !load->round_end)
			return -ENOMEM;
	}
	load->n_rounds = n < load->n_rounds ? n : load->n_rounds;
	for (uint64_t from = 0; !err && from < load->n_rounds; from += part) {
		part = 0;
		err = cluster_send(measure->cluster, gpu,
				   json_pack("{s:s, s:i, s:I}", "op", "rounds", "load", (int)i,
					     "from", (json_int_t)from));
		if (!err)
			err = cluster_await(measure->cluster, gpu, "rounds", TRAFFIC_TIMEOUT_MS,
					    &answer);
		if (err)
			break;
		part = json_array_size(json_object_get(answer, "end"));
		waited += measure_round_times(out, load, from, answer);
		json_decref(answer);
		err = part ? 0 : -EBADE;
	}
	load->waited_ns = waited > load->waited_ns ? waited : load->waited_ns;
	return err;
}

static int measure_loads(const struct measure *measure, struct measured *out, unsigned gpu,
			 const json_t *answer)
{
	uint64_t rounds;
	json_t *item;
	size_t i;
	int err = 0;

	json_array_foreach (json_object_get(answer, "loads"), i, item) {
		if (i >= out->n_loads)
			return -EBADE;
		if (!err)
			err = hist_read(&out->load[i].posted, json_object_get(item, "posted"));
		if (!err)
			err = hist_read(&out->load[i].completed,
					json_object_get(item, "completed"));
		if (!err)
			err = hist_read(&out->load[i].delivered,
					json_object_get(item, "delivered"));
		out->load[i].unposted += measure_integer(item, "unposted");
		out->load[i].late += measure_integer(item, "late");
		rounds = measure_integer(item, "rounds_ended");
		if (!err && rounds)
			err = measure_rounds_of(measure, out, gpu, (unsigned)i, rounds);
	}
	return err;
}

/* What one end knows of a stream: the sender of what it wrote, the receiver of what it read. */
static struct measured_stream *measure_stream(struct measured *out, const json_t *item,
					      double seconds)
{
	uint64_t key = measure_integer(item, "stream"), load = measure_integer(item, "load");
	struct measured_stream *stream;
	double bps = 0;
	json_t *value;
	size_t plane;

	if (key >= out->n_streams || load >= out->n_loads)
		return NULL;
	stream = &out->stream[key];
	json_array_foreach (json_object_get(item, "planes"), plane, value) {
		double plane_bps = (double)json_integer_value(value) * 8 / seconds;

		if (plane < FARE_MAX_PLANES)
			stream->plane_bps[plane] += plane_bps;
		bps += plane_bps;
	}
	stream->bps += bps;
	out->load[load].bps += bps;
	return stream;
}

static void measure_streams(struct measured *out, const json_t *answer)
{
	/* a worker that was late to read its counters has counted for longer */
	double seconds = (double)measure_integer(answer, "marked_ns") / 1e9;
	json_t *item;
	size_t i;

	if (PLANTED(wrong_denominator))
		seconds /= 2;
	if (seconds <= 0)
		return;
	json_array_foreach (json_object_get(answer, "tx"), i, item)
		if (measure_stream(out, item, seconds))
			out->load[measure_integer(item, "load")].messages +=
				measure_integer(item, "messages");
	json_array_foreach (json_object_get(answer, "rx"), i, item) {
		struct measured_stream *stream = measure_stream(out, item, seconds);

		if (stream)
			stream->messages += measure_integer(item, "messages");
	}
}

/* [rx bytes, packets, dropped, tx bytes, packets, dropped] at either end of the window. */
static int measure_links(struct measured *out, unsigned server, const json_t *answer)
{
	json_t *from = json_object_get(answer, "counters_from");
	double seconds = (double)(out->to_ns - out->from_ns) / 1e9;
	const char *dev;
	json_t *to;

	json_object_foreach (json_object_get(answer, "counters_to"), dev, to) {
		json_t *was = json_object_get(from, dev);
		struct measured_link *grown;
		uint64_t n[6];

		if (!was || strcmp(dev, "lo") == 0 || strlen(dev) >= FARE_DEV_NAME_MAX)
			continue;
		for (unsigned i = 0; i < 6; i++)
			n[i] = (uint64_t)(json_integer_value(json_array_get(to, i)) -
					  json_integer_value(json_array_get(was, i)));
		grown = realloc(out->link, (out->n_links + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		out->link = grown;
		grown[out->n_links] = (struct measured_link){.server = server,
							     .rx_bps = (double)n[0] * 8 / seconds,
							     .rx_packets = n[1],
							     .rx_dropped = n[2],
							     .tx_bps = (double)n[3] * 8 / seconds,
							     .tx_packets = n[4],
							     .tx_dropped = n[5]};
		strcpy(grown[out->n_links++].dev, dev);
	}
	return 0;
}

/* The end with the least idle time counts: traffic is as fast as its slowest end. */
static void measure_idle(struct measured *out, const json_t *answer)
{
	const json_t *idle = json_object_get(answer, "idle");
	double mean = json_number_value(json_array_get(idle, 0)),
	       busiest = json_number_value(json_array_get(idle, 1)),
	       stolen = json_number_value(json_array_get(idle, 2));

	out->held |= json_is_true(json_object_get(answer, "held"));
	if (json_array_size(idle) != 3)
		return;
	if (mean < out->idle.mean_percent)
		out->idle.mean_percent = mean;
	if (busiest < out->idle.busiest_core_percent)
		out->idle.busiest_core_percent = busiest;
	if (stolen > out->idle.stolen_percent)
		out->idle.stolen_percent = stolen;
}

/* ---- all of them ---- */

static void measure_rounds(const struct measured *out, struct measured_load *load)
{
	for (uint64_t r = 0; r < load->n_rounds; r++)
		if (load->round_start[r] >= out->from_ns && load->round_end[r] < out->to_ns)
			hist_add(&load->round, load->round_end[r] - load->round_start[r]);
}

static int measure_collect(const struct measure *measure, struct measured *out)
{
	const struct topo *topo = measure->topo;
	int err = 0;

	for (unsigned gpu = 0; !err && gpu < cluster_size(measure->cluster); gpu++) {
		json_t *answer;

		err = cluster_send(measure->cluster, gpu, json_pack("{s:s}", "op", "measured"));
		if (!err)
			err = cluster_await(measure->cluster, gpu, "measured", TRAFFIC_TIMEOUT_MS,
					    &answer);
		if (err)
			break;
		err = measure_loads(measure, out, gpu, answer);
		measure_streams(out, answer);
		measure_idle(out, answer);
		/* every GPU of a server sees the same interfaces */
		if (!err && topo->gpus[gpu].index == 0)
			err = measure_links(out, topo->gpus[gpu].server, answer);
		out->stall_ns[gpu] = measure_integer(answer, "stall_ns");
		out->cpu[gpu] = (double)measure_integer(answer, "cpu_ns") /
				(double)(out->to_ns - out->from_ns);
		json_decref(answer);
		if (!err)
			err = traffic_report(measure->cluster, gpu, &out->books);
	}
	for (unsigned i = 0; i < out->n_loads; i++)
		measure_rounds(out, &out->load[i]);
	return err;
}

static int measure_bins(const struct measure *measure, struct measured *out)
{
	uint64_t base_ns = out->from_ns / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	int err = 0;

	out->n_bins = (size_t)((out->to_ns - base_ns) / TRAFFIC_BIN_NS);
	for (unsigned i = 0; !err && i < out->n_loads; i++) {
		out->load[i].bin_bytes = calloc(out->n_bins + 1, sizeof(double));
		err = out->load[i].bin_bytes ? 0 : -ENOMEM;
		for (unsigned gpu = 0; !err && gpu < cluster_size(measure->cluster); gpu++)
			err = traffic_bins(measure->cluster, gpu, (int)i, base_ns,
					   out->load[i].bin_bytes, out->n_bins);
	}
	return err;
}

static int measure_window(const struct measure *measure, struct measured *out)
{
	int err = cluster_sleep_until(measure->cluster, out->from_ns);

	if (!err && measure->meanwhile)
		err = measure->meanwhile(measure->arg, out->from_ns, out->to_ns);
	return err ? err : cluster_sleep_until(measure->cluster, out->to_ns);
}

/* The first messages are filled before any is posted, and that is no time measured. */
static uint64_t measure_fill_ns(const struct measure *measure)
{
	uint64_t most = 0;

	for (unsigned gpu = 0; gpu < measure->topo->n_gpus; gpu++) {
		uint64_t bytes = 0;

		for (unsigned i = 0; i < measure->plan->n_streams; i++)
			if (measure->plan->stream[i].src == gpu)
				bytes += measure->plan->stream[i].slots *
					 measure->plan->stream[i].slot_bytes;
		most = bytes > most ? bytes : most;
	}
	return most * MEASURE_FILL_NS_PER_KB / 1024;
}

int measure_run(const struct measure *measure, struct measured *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	out->idle = (struct cpu_idle){.mean_percent = 100, .busiest_core_percent = 100};
	cluster_forget(measure->cluster);
	err = measured_alloc(measure, out);
	if (!err)
		err = traffic_open(measure->cluster, measure->topo, measure->plan->load,
				   measure->plan->n_loads, measure->plan->stream,
				   measure->plan->n_streams, measure->bins);
	out->from_ns =
		clock_now_ns() + (uint64_t)(measure->warm_s * 1e9) + measure_fill_ns(measure);
	out->to_ns = out->from_ns + (uint64_t)(measure->seconds * 1e9);
	if (!err)
		err = traffic_start(measure->cluster, out->from_ns, out->to_ns);
	if (!err)
		err = measure_window(measure, out);
	if (!err)
		err = traffic_stop(measure->cluster,
				   traffic_patience_ms(measure->topo, measure->plan->stream,
						       measure->plan->n_streams));
	if (!err)
		err = measure_collect(measure, out);
	if (!err && measure->bins)
		err = measure_bins(measure, out);
	if (!err)
		err = audit_measured(out, measure->topo, measure->plan->stream);
	if (!err)
		err = traffic_close(measure->cluster);
	if (err)
		measured_fini(out);
	return err;
}
