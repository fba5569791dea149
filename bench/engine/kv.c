/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/kv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/audit.h"

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

/* Waits until everything has arrived and both ends have counted the same; groups stay open. */
static int kv_stop(struct cluster *cluster, const struct kv_options *kv,
		   struct traffic_result *result, uint64_t **times_ns, size_t *n_times)
{
	/* all workers say "done"; the sender only when every message was completed and credited */
	int err = traffic_stop(cluster);

	if (!err)
		err = traffic_report(cluster, kv->dst, result, times_ns, n_times);
	if (!err)
		err = kv_check_counts(result, *n_times, kv);
	if (!err)
		err = traffic_report(cluster, kv->src, result, NULL, NULL);
	return err ? err : audit_books(result);
}

int kv_end(struct cluster *cluster, const struct kv_options *kv, struct traffic_result *result,
	   uint64_t **times_ns, size_t *n_times)
{
	int err;

	*times_ns = NULL;
	err = kv_stop(cluster, kv, result, times_ns, n_times);
	if (!err)
		err = traffic_close(cluster);
	if (err) {
		free(*times_ns);
		*times_ns = NULL;
	}
	return err;
}
