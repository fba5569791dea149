/* SPDX-License-Identifier: BSD-2-Clause */
#include "procedure/ideal.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

double ideal_transfer_s(double bytes, double bps, double bucket_bytes)
{
	return bytes > bucket_bytes ? (bytes - bucket_bytes) * 8 / bps : 0;
}

double ideal_pairs_bps(unsigned pairs, unsigned sources, unsigned sinks, double line_bps)
{
	unsigned lines = sources < sinks ? sources : sinks;

	return (pairs < lines ? pairs : lines) * line_bps;
}

double ideal_ttft_s(double wait_s, double prefill_s, double transfer_s, double step_s)
{
	return wait_s + prefill_s + transfer_s + 1.5 * step_s;
}

double ideal_ttft_alone_s(double prefill_s, double transfer_s, double step_s)
{
	return (ceil((prefill_s + transfer_s) / step_s - 1e-9) + 1) * step_s;
}

static int ideal_order(const void *a, const void *b)
{
	const struct ideal_request *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->ready_s > y->ready_s) - (x->ready_s < y->ready_s);
}

/* Tokens of one request that is in a batch from that step on: those whose steps end in the time. */
static double ideal_between(uint64_t first, unsigned output, double step_s, double from_s,
			    double to_s)
{
	double low = fmax((double)first + 1, ceil(from_s / step_s - 1e-9)),
	       high = fmin((double)first + output, ceil(to_s / step_s - 1e-9) - 1);

	return fmax(0, high - low + 1);
}

/*
 * One worker's, in the order in which they are ready; free_at: when each place of its batch is free
 * again, in steps. A static batch takes those that are ready when the one before has ended.
 */
static double ideal_worker_tokens(const struct ideal_request *request, unsigned n,
				  uint64_t *free_at, unsigned batch, bool is_static, double step_s,
				  double from_s, double to_s)
{
	uint64_t began = 0, ended = 0;
	unsigned held = 0;
	double tokens = 0;

	for (unsigned i = 0; i < batch; i++)
		free_at[i] = 0;
	for (unsigned i = 0; i < n; i++) {
		uint64_t ready = (uint64_t)fmax(0, ceil(request[i].ready_s / step_s - 1e-9)), at;
		unsigned place = 0;

		if (is_static) {
			if (held == 0 || held == batch || ready > began) {
				began = ready > ended ? ready : ended;
				held = 0;
			}
			held++;
			at = began;
			ended = at + request[i].output > ended ? at + request[i].output : ended;
		} else {
			for (unsigned k = 1; k < batch; k++)
				place = free_at[k] < free_at[place] ? k : place;
			at = free_at[place] > ready ? free_at[place] : ready;
			free_at[place] = at + request[i].output;
		}
		tokens += ideal_between(at, request[i].output, step_s, from_s, to_s);
	}
	return tokens;
}

double ideal_tokens(struct ideal_request *request, unsigned n, unsigned batch, bool is_static,
		    double step_s, double from_s, double to_s)
{
	uint64_t *free_at = calloc(batch, sizeof(*free_at));
	double tokens = 0;

	if (!free_at)
		return -1;
	qsort(request, n, sizeof(*request), ideal_order);
	for (unsigned i = 0, end; i < n; i = end) {
		end = i;
		while (end < n && request[end].worker == request[i].worker)
			end++;
		tokens += ideal_worker_tokens(request + i, end - i, free_at, batch, is_static,
					      step_s, from_s, to_s);
	}
	free(free_at);
	return tokens;
}

double ideal_burst_bytes(unsigned n, double queue_bytes, double bucket_bytes)
{
	/* beyond their buckets senders are as fast as the receiver's line, which has its own: while
	 * n bytes come one leaves */
	if (queue_bytes >= (n - 1) * bucket_bytes)
		return queue_bytes / (n - 1);
	return (queue_bytes + bucket_bytes) / n; /* all comes at once */
}

double ideal_paused(unsigned n, double bytes, double held_bytes)
{
	return fmax(0, 1 - 1. / n - held_bytes / bytes);
}
