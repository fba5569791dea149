/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fare_flows.c - the public per-flow face: the daemon's weights of a pair over its connection
 * table.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "attach.h"
#include "fare.h"
#include "flow_table.h"
#include "sized.h"

#define DEFAULT_FLOWS 1024u
#define MOST_SLOTS    (UINT16_MAX / FARE_MAX_SUB_PORTS) /* of a sub-port: fare_flow_slot.index */

struct fare_flows {
	struct fare_pair *pair;
	struct flow_table *table;
	struct conn_shm_entry *entries;
	uint32_t max_flows;
	uint64_t generation;
};

static int flows_check(const struct fare_flows *flows)
{
	return attach_check_pair(flows ? flows->pair : NULL);
}

static void flows_follow(struct fare_flows *flows)
{
	uint64_t bps[FARE_MAX_PLANES];
	struct fare_paths paths;
	struct weights w;

	/* the writer is busy: what we have still holds, the next pick tries again */
	if (fare_pair_paths(flows->pair, &paths))
		return;
	flows->generation = paths.generation;
	for (unsigned p = 0; p < paths.n_planes; p++)
		bps[p] = paths.path[p].usable_bps;
	weights_from_bps(&w, bps, paths.n_planes);
	flow_table_reweight(flows->table, &w);
}

static int open_flows(struct fare_flows **out, struct fare_pair *pair,
		      const struct fare_flows_options *options)
{
	struct flow_table_attr attr = {0};
	struct conn_segment *segment;
	struct fare_flows *flows;
	struct fare_paths paths;
	uint32_t k = options->slots_per_sub_port ? options->slots_per_sub_port : 1;
	int err;

	err = fare_pair_paths(pair, &paths);
	if (err)
		return err;
	if (k > MOST_SLOTS)
		return -EINVAL;
	attr.turn = attach_pair_turn(pair);
	segment = attach_segment(attach_pair_owner(pair));
	if (getrandom(&attr.seed, sizeof(attr.seed), 0) != sizeof(attr.seed))
		return -EIO;
	flows = calloc(1, sizeof(*flows));
	if (!flows)
		return -ENOMEM;
	flows->pair = pair;
	flows->max_flows = options->max_flows ? options->max_flows : DEFAULT_FLOWS;
	flows->entries = conn_segment_lend_entries(segment, flows->max_flows);
	if (!flows->entries) {
		free(flows);
		return -ENOSPC;
	}
	attr.entries = flows->entries;
	attr.max_flows = flows->max_flows;
	attr.n_planes = paths.n_planes;
	attr.idle_expiry_ns = options->idle_expiry_ns;
	attr.by_bytes = options->by_bytes;
	attr.balance_ns = options->balance_ns;
	attach_pair_identity(pair, &attr.peer, &attr.local_gpu);
	for (unsigned p = 0; p < paths.n_planes; p++) {
		uint32_t n = (paths.path[p].n_sub_ports ? paths.path[p].n_sub_ports : 1) * k;

		attr.slots[p] = (uint16_t)(n < UINT16_MAX ? n : UINT16_MAX);
	}
	err = flow_table_create(&flows->table, &attr);
	if (err) {
		conn_segment_return(segment, flows->entries, flows->max_flows);
		free(flows);
		return err;
	}
	flows_follow(flows);
	conn_segment_pickers(segment, 1);
	*out = flows;
	return 0;
}

int fare_flows_open_sized(struct fare_flows **out, struct fare_pair *pair,
			  const struct fare_flows_options *given, size_t size)
{
	struct fare_flows_options options;
	int err = sized_in(&options, sizeof(options), given, size);

	if (!out)
		return -EINVAL;
	*out = NULL;
	return err ? err : open_flows(out, pair, &options);
}

void fare_flows_close(struct fare_flows *flows)
{
	struct conn_segment *segment;

	if (flows_check(flows))
		return;
	segment = attach_segment(attach_pair_owner(flows->pair));
	flow_table_destroy(flows->table);
	conn_segment_pickers(segment, -1);
	conn_segment_return(segment, flows->entries, flows->max_flows);
	free(flows);
}

int fare_flows_pick(struct fare_flows *flows, uint64_t key, uint64_t now_ns,
		    struct fare_flow_slot *out)
{
	struct flow_slot slot;
	int err = out ? flows_check(flows) : -EINVAL;

	if (err)
		return err;
	attach_refresh(attach_pair_owner(flows->pair), now_ns);
	if (fare_pair_generation(flows->pair) != flows->generation)
		flows_follow(flows);
	err = flow_table_pick(flows->table, key, now_ns, &slot);
	if (err)
		return err;
	out->plane = slot.plane;
	out->index = slot.index;
	return 0;
}

void fare_flows_account(struct fare_flows *flows, uint64_t key, uint64_t bytes)
{
	if (!flows_check(flows))
		flow_table_account(flows->table, key, bytes, 0);
}

int fare_flows_release(struct fare_flows *flows, uint64_t key)
{
	int err = flows_check(flows);

	return err ? err : flow_table_release(flows->table, key);
}

unsigned fare_flows_expire(struct fare_flows *flows, uint64_t now_ns)
{
	if (flows_check(flows))
		return 0;
	attach_refresh(attach_pair_owner(flows->pair), now_ns);
	return flow_table_expire(flows->table, now_ns);
}

void fare_flows_stats_sized(const struct fare_flows *flows, struct fare_flows_stats *out,
			    size_t size)
{
	struct flow_table_stats s = {0};

	if (!out)
		return;
	if (!flows_check(flows))
		flow_table_stats(flows->table, &s);
	sized_out(out, size,
		  &(struct fare_flows_stats){.binds = s.binds,
					     .moves = s.moves,
					     .needless_moves = s.needless_moves,
					     .expiries = s.expiries},
		  sizeof(*out));
}
