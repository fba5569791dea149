/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/kv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/audit.h"
#include "optimum.h"

uint64_t kv_arena_bytes(const struct kv_options *kv)
{
	return kv->size_bytes * kv->depth;
}

int kv_begin(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv)
{
	struct traffic_stream stream = {
		.src = kv->src, .dst = kv->dst, .slots = kv->depth, .slot_bytes = kv->size_bytes};
	int err = traffic_open(cluster, topo, &kv->traffic, &stream, 1, NULL, 0);

	return err ? err : cluster_all(cluster, "start", "started", TRAFFIC_TIMEOUT_MS);
}

/* Both ends must have counted the same; the worker has checked each message, this checks the sum.
 */
static int kv_check_counts(const struct traffic_result *rx, size_t n_times,
			   const struct kv_options *kv)
{
	if (rx->messages == n_times && rx->bytes == n_times * kv->size_bytes)
		return 0;
	fprintf(stderr, "farebench: kv: %llu messages verified, %zu seen\n",
		(unsigned long long)rx->messages, n_times);
	return -EBADE;
}

/* Stops, and waits until everything has arrived and both ends have counted the same; groups stay
 * open. */
static int kv_stop(struct cluster *cluster, const struct kv_options *kv,
		   struct traffic_result *result, uint64_t **times_ns, size_t *n_times)
{
	int err = cluster_all(cluster, "stop", NULL, 0);

	*times_ns = NULL;
	/* all workers say "done"; the sender only when every message was completed and credited */
	for (unsigned gpu = 0; !err && gpu < cluster_size(cluster); gpu++)
		err = cluster_await(cluster, gpu, "done", TRAFFIC_TIMEOUT_MS, NULL);
	if (!err)
		err = traffic_report(cluster, kv->dst, result, times_ns, n_times);
	if (!err)
		err = kv_check_counts(result, *n_times, kv);
	if (!err)
		err = traffic_report(cluster, kv->src, result, NULL, NULL);
	if (!err)
		err = audit_books(result);
	if (err) {
		free(*times_ns);
		*times_ns = NULL;
	}
	return err;
}

int kv_end(struct cluster *cluster, const struct kv_options *kv, struct traffic_result *result,
	   uint64_t **times_ns, size_t *n_times)
{
	int err = kv_stop(cluster, kv, result, times_ns, n_times);

	if (!err)
		err = traffic_close(cluster);
	if (err) {
		free(*times_ns);
		*times_ns = NULL;
	}
	return err;
}

/*
 * What was acknowledged between the two times; kv_stop() has seen that every byte of it was
 * verified. When messages were verified would not do: those under way together end together, and
 * where they are few and large a window holds all of a row of them or none.
 */
static int kv_evaluate(struct cluster *cluster, const struct kv_options *kv, uint64_t from,
		       uint64_t to, struct traffic_result *result)
{
	uint64_t base = from / TRAFFIC_BIN_NS * TRAFFIC_BIN_NS;
	size_t n = (size_t)((to - base) / TRAFFIC_BIN_NS + 1);
	double *bytes = calloc(n, sizeof(*bytes));
	int err = bytes ? traffic_bins(cluster, kv->src, base, bytes, n) : -ENOMEM;

	if (!err)
		result->goodput_bps =
			traffic_bins_bytes(bytes, n, base, from, to) * 8e9 / (double)(to - from);
	free(bytes);
	return err;
}

int kv_run(struct cluster *cluster, const struct topo *topo, const struct kv_options *kv,
	   struct traffic_result *result)
{
	struct kv_options binned = *kv;
	uint64_t from, to, *times;
	struct cpu_times before, after;
	size_t n;
	int err;

	binned.traffic.bins = true;
	err = kv_begin(cluster, topo, &binned);
	if (err)
		return err;
	memset(result, 0, sizeof(*result));
	from = cluster_now_ns() + (uint64_t)(kv->warm_s * 1e9);
	to = from + (uint64_t)(kv->measure_s * 1e9);
	err = cluster_sleep_until(cluster, from);
	if (!err)
		err = cpu_read(&before);
	if (!err)
		err = cluster_sleep_until(cluster, to);
	if (!err)
		err = cpu_read(&after);
	if (!err)
		err = kv_stop(cluster, &binned, result, &times, &n);
	if (err)
		return err;
	free(times);
	result->optimum_bps =
		(double)optimum_pair_bps(topo, kv->src, kv->dst) * optimum_goodput_factor(topo);
	err = kv_evaluate(cluster, &binned, from, to, result);
	if (!err)
		err = traffic_close(cluster);
	return err ? err : cpu_idle(&before, &after, &result->idle);
}
