/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/load.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats.h"
#include "fabric/optimum.h"
#include "fabric/pauses.h"

bool load_is_read(struct trial *t, bool *can)
{
	bool read = strcmp(trial_text(t, "verb"), "read") == 0;

	if (read && strategy_mode(t->strategy) == FARE_MODE_PACKET) {
		trial_missing(t, NULL,
			      "the answer to a READ comes in order: its packets cannot be spread");
		*can = false;
	}
	return read;
}

unsigned load_sub_ports(const struct topo *topo)
{
	unsigned ports = 0;

	for (unsigned plane = 0; plane < topo->n_planes; plane++)
		ports += topo->gpus[0].plane[plane].n_sub_ports;
	return ports;
}

bool load_divides(struct trial *t, unsigned qps)
{
	unsigned ports = load_sub_ports(t->fabric->topo), planes = t->fabric->topo->n_planes;

	if (strategy_mode(t->strategy) == FARE_MODE_KERNEL)
		return true;
	if (qps % ports != 0)
		trial_missing(t, NULL, "FARE has as many QPs on each sub-port: %u do not divide",
			      qps);
	else if (qps > planes * FARE_PLANE_QPS_MAX)
		trial_missing(t, NULL, "FARE has %u QPs on a plane at most: %u are too many for %u",
			      FARE_PLANE_QPS_MAX, qps, planes);
	else
		return true;
	return false;
}

/* NULL: it is none, or not of these GPUs. */
static const struct topo_sub_port *sub_port_of(const struct topo *topo,
					       const struct measured_link *link, const bool *gpus)
{
	unsigned plane, s;
	int gpu = topo_find_sub_port(topo, link->server, link->dev, &plane, &s);

	if (gpu < 0 || (gpus && !gpus[gpu]))
		return NULL;
	return &topo->gpus[gpu].plane[plane].sub_port[s];
}

/* Shares of the links of server[i], of n links, into of; how many. 0: link i is not its first. */
static unsigned load_server_of(const double *share, const unsigned *server, unsigned n, unsigned i,
			       double *of)
{
	unsigned k = 0;

	for (unsigned j = 0; j < n; j++) {
		if (server[j] != server[i])
			continue;
		if (j < i)
			return 0;
		of[k++] = share[j];
	}
	return k;
}

double load_evenness(const double *share, const unsigned *server, unsigned n)
{
	double *of = calloc(n + 1, sizeof(*of)), sum = 0;
	unsigned servers = 0;

	for (unsigned i = 0; of && i < n; i++) {
		unsigned k = load_server_of(share, server, n, i, of);

		if (!k)
			continue;
		sum += stats_jfi(of, k);
		servers++;
	}
	free(of);
	return servers ? sum / servers : NAN;
}

double load_max_over_mean(const double *share, const unsigned *server, unsigned n)
{
	double *of = calloc(n + 1, sizeof(*of)), worst = NAN;

	for (unsigned i = 0; of && i < n; i++) {
		unsigned k = load_server_of(share, server, n, i, of);
		double max = 0, sum = 0;

		for (unsigned j = 0; j < k; j++) {
			max = fmax(max, of[j]);
			sum += of[j];
		}
		if (sum > 0)
			worst = fmax(worst, max * k / sum);
	}
	free(of);
	return worst;
}

void load_senders(const struct plan *plan, bool senders[TOPO_MAX_GPUS])
{
	memset(senders, 0, TOPO_MAX_GPUS * sizeof(*senders));
	for (unsigned i = 0; i < plan->n_streams; i++)
		senders[plan->stream[i].src] = true;
}

struct load_links load_links(const struct trial *t, const struct measured *m, const bool *gpus)
{
	struct load_links use = {.min = INFINITY, .jfi = NAN, .max_over_mean = NAN};
	double *share = calloc(m->n_links + 1, sizeof(*share)), packets = 0, dropped = 0;
	unsigned *of = calloc(m->n_links + 1, sizeof(*of));

	for (unsigned i = 0; share && of && i < m->n_links; i++) {
		const struct topo_sub_port *port = sub_port_of(t->fabric->topo, &m->link[i], gpus);

		if (!port || !port->up)
			continue;
		packets += (double)m->link[i].tx_packets;
		dropped += (double)(m->link[i].tx_dropped + m->link[i].rx_dropped);
		share[use.n] = m->link[i].tx_bps / (double)port->rate_bps;
		use.max = fmax(use.max, share[use.n]);
		use.min = fmin(use.min, share[use.n]);
		use.mean += share[use.n];
		of[use.n++] = m->link[i].server;
	}
	if (use.n) {
		use.mean /= use.n;
		use.jfi = load_evenness(share, of, use.n);
		use.max_over_mean = load_max_over_mean(share, of, use.n);
	}
	if (m->fabric_sent) {
		packets = (double)m->fabric_sent;
		dropped = (double)m->fabric_dropped;
	}
	use.drop_ppm = packets > 0 ? dropped / packets * 1e6 : 0;
	free(share);
	free(of);
	return use;
}

bool load_beat_line(double median, double line)
{
	return median < .9 * line;
}

double load_unfinished(const struct measured_load *load)
{
	double due = (double)(load->posted.n + load->unposted);

	return due > 0 ? (double)(load->unposted + load->late) / due : NAN;
}

bool load_keeps_pace(double offered_bps, double bps, double window_s, unsigned streams,
		     double message_bytes)
{
	return bps * window_s + streams * message_bytes * 8 >= .99 * offered_bps * window_s;
}

void load_pair(unsigned i, unsigned sources, unsigned sinks, unsigned *source, unsigned *sink)
{
	unsigned a = sources, b = sinks, cycle;

	while (b) {
		unsigned rest = a % b;

		a = b;
		b = rest;
	}
	cycle = sources / a * sinks; /* so many pairs differ before the first comes again */
	*source = i % sources;
	*sink = (i + i / cycle) % sinks;
}

struct load_marks load_marks(const struct topo *topo, unsigned first, unsigned end)
{
	struct load_marks sum = {.onset_ms = NAN, .onset_bytes = NAN};

	for (unsigned gpu = first; gpu < end; gpu++)
		for (unsigned plane = 0; plane < topo->n_planes; plane++) {
			const struct topo_plane *p = &topo->gpus[gpu].plane[plane];

			for (unsigned s = 0; s < p->n_sub_ports; s++) {
				const struct topo_marks *marks = &p->sub_port[s].marks;
				double ms = (double)marks->onset_ns / 1e6;

				sum.packets += (double)marks->packets;
				sum.marked += (double)marks->marked;
				sum.peak_bytes =
					fmax(sum.peak_bytes, (double)marks->queue_peak_bytes);
				for (unsigned i = 0; i <= TOPO_RAMP_PARTS; i++) {
					sum.ramp_packets[i] += (double)marks->ramp_packets[i];
					sum.ramp_marked[i] += (double)marks->ramp_marked[i];
					sum.ramp_squares[i] += (double)marks->ramp_squares[i];
				}
				if (!marks->marked || !(ms < fmin(sum.onset_ms, INFINITY)))
					continue;
				sum.onset_ms = ms;
				sum.onset_bytes = (double)marks->queue_at_onset_bytes;
			}
		}
	sum.rate_percent = sum.packets > 0 ? sum.marked / sum.packets * 100 : NAN;
	return sum;
}

/* Pause frames of all ports of the lab, since it is up. */
static int load_pauses(const struct trial *t, uint64_t *frames)
{
	struct pauses pauses;
	int err = pauses_read(&pauses, &t->fabric->lab);

	if (err)
		return err;
	*frames = pauses.sent;
	pauses_fini(&pauses);
	return 0;
}

int load_marked_incast(struct trial *t, const char *name, unsigned to, uint64_t block_bytes,
		       struct measured *m)
{
	uint64_t threshold_kb = (uint64_t)(trial_number(t, "threshold") / 1024);
	unsigned senders = trial_count(t, "senders"), load;
	struct traffic_load write = trial_load(t, name, 0);
	struct plan plan = {0};
	int err;

	if (senders > to) {
		trial_missing(t, NULL, "%u senders: the fabric has %u GPUs", senders,
			      trial_gpus(t));
		return 1;
	}
	load = plan_load(&plan, &write);
	for (unsigned from = 0; from < senders; from++)
		plan_stream(&plan, load, from, to, 4, block_bytes);
	err = threshold_kb ? fabric_mark_at(t->fabric, threshold_kb) : load_marks_begin(t);
	if (!err)
		err = trial_measure(t, &plan, NULL, NULL, m);
	plan_fini(&plan);
	if (!err)
		trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
	return err;
}

int load_marks_begin(struct trial *t)
{
	int err = fabric_cannot(t->fabric, NEED_PFC) ? 0 : load_pauses(t, &t->fabric->pauses);

	return err || fabric_cannot(t->fabric, NEED_ECN)
		       ? err
		       : fabric_mark_at(t->fabric, t->fabric->ecn_lab_kb);
}

static int load_add_pauses(struct trial *t)
{
	const char *why = fabric_cannot(t->fabric, NEED_PFC);
	uint64_t frames;
	int err = why ? 0 : load_pauses(t, &frames);

	if (why)
		trial_missing(t, "PFC_frame_count", "%s", why);
	else if (!err)
		trial_value(t, "PFC_frame_count", (double)(frames - t->fabric->pauses), 1);
	return err;
}

int load_add_marks(struct trial *t)
{
	const char *why = fabric_cannot(t->fabric, NEED_ECN);
	struct load_marks marks;
	int err;

	if (t->fabric->hosts)
		return 0; /* what NICs and switches count, the suite adds: suite_note_counts() */
	err = load_add_pauses(t);
	if (!err && !why)
		err = fabric_check(t->fabric);
	if (why) {
		trial_missing(t, "ECN_marking_rate", "%s", why);
		trial_missing(t, "ECN_marks", "%s", why);
	}
	if (why || err)
		return err;
	marks = load_marks(t->fabric->topo, 0, trial_gpus(t));
	trial_value(t, "ECN_marking_rate", marks.rate_percent, (uint64_t)marks.packets);
	trial_value_asked(t, "ECN_marks", marks.marked, (uint64_t)marks.packets);
	return 0;
}

double load_uplinks_bps(const struct topo *topo, const struct plan *plan)
{
	uint64_t *bytes = calloc((size_t)topo->n_gpus * topo->n_gpus, sizeof(*bytes)), each = 1000;
	double seconds;

	for (unsigned i = 0; bytes && i < plan->n_streams; i++)
		bytes[(size_t)plan->stream[i].src * topo->n_gpus + plan->stream[i].dst] += each;
	seconds = bytes ? optimum_uplinks_s(topo, bytes) : NAN;
	free(bytes);
	return 8. * (double)each * plan->n_streams / seconds * optimum_goodput_factor(topo);
}

unsigned load_pools(const struct trial *t, struct plan *plan, const struct traffic_load *load,
		    unsigned slots, uint64_t bytes)
{
	unsigned first = trial_prefill(t), decode = trial_gpus(t) - first,
		 added = plan_load(plan, load);

	for (unsigned i = 0; i < first; i++)
		plan_stream(plan, added, i, first + i % decode, slots, bytes);
	return added;
}

void load_add_settled(struct trial *t, const char *kpi, double ms, size_t smooth_ms, double within)
{
	if (isfinite(ms))
		trial_value(t, kpi, ms, 1);
	else
		trial_missing(t, kpi, "means of %zu ms did not stay within %.0f%%", smooth_ms,
			      within * 100);
}
