/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hosts_clocks.c - how far the hosts' clocks are ahead of the coordinator's, before and after
 * a run.
 */
#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "launch/hosts_internal.h"

#define CLOCK_MAX_NS (UINT64_C(1) << 62) /* so that differences fit, whatever was received */

int clock_offset_add(struct clock_offset *offset, const struct clock_exchange *e)
{
	uint64_t away, delay;

	if (e->asked > CLOCK_MAX_NS || e->taken > CLOCK_MAX_NS || e->given > CLOCK_MAX_NS ||
	    e->answered > CLOCK_MAX_NS || e->answered < e->asked || e->given < e->taken)
		return -EBADMSG;
	away = e->answered - e->asked;
	if (e->given - e->taken > away)
		return -EBADMSG;
	delay = away - (e->given - e->taken);
	if (offset->n == 0 || delay < offset->delay_ns) {
		offset->delay_ns = delay;
		/* halves first: the sum of both could be too large */
		offset->offset_ns = ((int64_t)e->taken - (int64_t)e->asked) / 2 +
				    ((int64_t)e->given - (int64_t)e->answered) / 2;
	}
	offset->n++;
	return 0;
}

double clock_offset_error_ns(const struct clock_offset *offset)
{
	return offset->n ? (double)offset->delay_ns / 2 + 1 : INFINITY;
}

double clock_offset_drift_ns(const struct clock_offset *before, const struct clock_offset *after)
{
	double first = clock_offset_error_ns(before), last = clock_offset_error_ns(after);
	double moved = fabs((double)after->offset_ns - (double)before->offset_ns);

	return fmax(first, last + moved);
}

#define CLOCK_EXCHANGES 32

static int clocks_exchange(struct hosts *hosts, unsigned host, struct clock_offset *offset)
{
	struct clock_exchange exchange = {.asked = clock_now_ns()};
	json_t *answer;
	int err = hosts_ask(hosts, host, json_pack("{s:s}", "op", "clock"), "clock", &answer);

	if (err)
		return err;
	exchange.answered = clock_now_ns();
	exchange.taken = (uint64_t)json_integer_value(json_object_get(answer, "taken_ns"));
	exchange.given = (uint64_t)json_integer_value(json_object_get(answer, "given_ns"));
	json_decref(answer);
	clock_offset_add(offset, &exchange); /* one that contradicts itself does not count */
	return 0;
}

static int clocks_estimate(struct hosts *hosts, unsigned host, struct clock_offset *offset)
{
	int err = 0;

	*offset = (struct clock_offset){0};
	for (unsigned i = 0; !err && i < CLOCK_EXCHANGES; i++)
		err = clocks_exchange(hosts, host, offset);
	return err;
}

int hosts_clocks_begin(struct hosts *hosts, struct cluster *cluster)
{
	const struct topo *topo = hosts->inventory->topo;
	int err = 0;

	for (unsigned i = 0; !err && i < hosts->n; i++)
		err = clocks_estimate(hosts, i, &hosts->member[i].clock);
	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++) {
		const struct clock_offset *clock = &hosts->member[topo->gpus[gpu].server].clock;

		err = cluster_send(cluster, gpu,
				   json_pack("{s:s, s:I}", "op", "clock", "offset_ns",
					     (json_int_t)clock->offset_ns));
	}
	for (unsigned gpu = 0; !err && gpu < topo->n_gpus; gpu++)
		err = cluster_await(cluster, gpu, "clock", 10000, NULL);
	return err;
}

/* Two hosts differ by the sum of both errors at most: the two largest count. */
int hosts_clocks_end(struct hosts *hosts, double *error_ns)
{
	double largest = 0, second = 0;
	int err = 0;

	for (unsigned i = 0; !err && i < hosts->n; i++) {
		struct hosts_member *member = &hosts->member[i];
		struct clock_offset after;
		double error;

		err = clocks_estimate(hosts, i, &after);
		error = clock_offset_drift_ns(&member->clock, &after);
		member->clock_worst_ns = fmax(member->clock_worst_ns, error);
		second = fmax(second, fmin(largest, error));
		largest = fmax(largest, error);
	}
	*error_ns = hosts->n > 1 ? largest + second : 0;
	return err;
}

int64_t hosts_clock_ahead_ns(const struct hosts *hosts, unsigned host)
{
	return hosts->member[host].clock.offset_ns;
}

double hosts_clock_worst_ns(const struct hosts *hosts, unsigned host)
{
	return hosts->member[host].clock_worst_ns;
}
