/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/fluid/fluid_pattern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "flow_table.h"
#include "weights.h"

const char *fluid_pattern_test_name(enum fluid_pattern_test test)
{
	static const char *const names[FLUID_PATTERN_TESTS] = {"all-to-all", "kv"};

	return (unsigned)test < FLUID_PATTERN_TESTS ? names[test] : "unknown";
}

const char *fluid_pattern_choice_name(enum fluid_pattern_choice choice)
{
	static const char *const names[FLUID_PATTERN_CHOICES] = {"fare", "hash", "weighted-hash",
								 "spray", "all-alike"};

	return (unsigned)choice < FLUID_PATTERN_CHOICES ? names[choice] : "unknown";
}

static double fluid_pattern_gpu_bps(const struct fluid_pattern *p)
{
	double sum = 0;

	for (unsigned plane = 0; plane < p->planes; plane++)
		sum += (double)p->plane_bps[plane];
	return sum;
}

int fluid_pattern_check(const struct fluid_pattern *p)
{
	if ((unsigned)p->test >= FLUID_PATTERN_TESTS ||
	    (unsigned)p->choice >= FLUID_PATTERN_CHOICES)
		return -EINVAL;
	if (p->gpus > FLUID_PATTERN_MAX_GPUS || !p->gpus_per_server ||
	    p->gpus % p->gpus_per_server || p->gpus / p->gpus_per_server < 2)
		return -EINVAL;
	if (p->test == FLUID_PATTERN_KV && p->gpus / p->gpus_per_server % 2)
		return -EINVAL;
	if (!p->planes || p->planes > FARE_MAX_PLANES || !p->sub_ports ||
	    p->sub_ports > FARE_MAX_SUB_PORTS || !p->qps || p->qps > FLUID_PATTERN_MAX_QPS)
		return -EINVAL;
	if (!isfinite(p->bytes) || p->bytes <= 0 || p->vary_percent > 99 ||
	    fluid_pattern_gpu_bps(p) <= 0)
		return -EINVAL;
	return 0;
}

unsigned fluid_pattern_peers(const struct fluid_pattern *p)
{
	unsigned others = p->gpus - p->gpus_per_server;

	if (p->test == FLUID_PATTERN_KV)
		return 1;
	return p->peers && p->peers < others ? p->peers : others;
}

static uint64_t fluid_pattern_mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* What a pair sends; varied, a whole number of bytes a QP. */
static double fluid_pattern_bytes(const struct fluid_pattern *p, unsigned src, unsigned dst)
{
	double by;

	if (!p->vary_percent)
		return p->bytes;
	by = ldexp((double)(fluid_pattern_mix(~((uint64_t)src << 16 | dst)) >> 11), -52) - 1;
	by = p->bytes * (1 + by * p->vary_percent / 100);
	return fmax(1, floor(by / p->qps)) * p->qps;
}

/*
 * The i-th peer of a GPU. Servers follow one another; of the last that is reached only in part,
 * each GPU begins with another one, so that all receive alike.
 */
static unsigned fluid_pattern_peer(const struct fluid_pattern *p, unsigned src, unsigned i)
{
	unsigned g = p->gpus_per_server, servers = p->gpus / g;
	unsigned ahead = p->test == FLUID_PATTERN_KV ? servers / 2 : 1 + i / g;

	return (src / g + ahead) % servers * g + (src + i) % g;
}

static unsigned fluid_pattern_senders(const struct fluid_pattern *p)
{
	return p->test == FLUID_PATTERN_KV ? p->gpus / 2 : p->gpus;
}

int fluid_pattern_optimum_s(const struct fluid_pattern *p, double *seconds)
{
	double *rx = calloc(p->gpus, sizeof(*rx)), most = 0;

	if (!rx)
		return -ENOMEM;
	for (unsigned src = 0; src < fluid_pattern_senders(p); src++) {
		double tx = 0;

		for (unsigned i = 0; i < fluid_pattern_peers(p); i++) {
			unsigned dst = fluid_pattern_peer(p, src, i);
			double bytes = fluid_pattern_bytes(p, src, dst);

			tx += bytes;
			rx[dst] += bytes;
		}
		most = fmax(most, tx);
	}
	for (unsigned gpu = 0; gpu < p->gpus; gpu++)
		most = fmax(most, rx[gpu]);
	free(rx);
	*seconds = most * 8 / fluid_pattern_gpu_bps(p);
	return 0;
}

/* ::ffff:10.0.0.1 and on: consecutive, as a fabric's loopbacks are. */
static struct in6_addr fluid_pattern_address(const struct fluid_pattern *p, unsigned gpu)
{
	const uint32_t host = htonl(0x0a000001u + gpu * (p->stride ? p->stride : 1));

	return address_of_v4(&host);
}

static int fluid_pattern_bind(const struct fluid_pattern *p, const struct weights *weights,
			      unsigned src, unsigned dst, double *share)
{
	struct conn_shm_entry entries[FLUID_PATTERN_MAX_QPS];
	struct in6_addr from = fluid_pattern_address(p, src), to = fluid_pattern_address(p, dst);
	struct flow_table_attr attr = {
		.entries = entries, .max_flows = p->qps, .n_planes = p->planes};
	struct flow_table_stats stats;
	struct weights bound = *weights;
	struct flow_table *table;
	struct flow_slot slot;
	int err;

	memset(entries, 0, p->qps * sizeof(*entries));
	if (p->choice == FLUID_PATTERN_FARE)
		attr.turn = weights_turn(&from, &to, (src > dst ? src - dst : dst - src) - 1);
	if (p->bound_bps)
		weights_from_bps(&bound, p->bound_bps, p->planes);
	for (unsigned plane = 0; plane < p->planes; plane++)
		attr.slots[plane] = (uint16_t)p->sub_ports;
	err = flow_table_create(&table, &attr);
	if (err)
		return err;
	flow_table_reweight(table, &bound);
	for (uint64_t key = 0; !err && key < p->qps; key++)
		err = flow_table_pick(table, key, 1, &slot);
	flow_table_reweight(table, weights);
	flow_table_stats(table, &stats);
	flow_table_destroy(table);
	for (unsigned plane = 0; plane < p->planes; plane++)
		share[plane] = stats.count[plane];
	return err;
}

/* Each QP falls on a plane by chance, in proportion to weights; so it does with real five-tuples.
 */
static void fluid_pattern_hash(const struct fluid_pattern *p, const struct weights *weights,
			       unsigned src, unsigned dst, double *share)
{
	for (uint64_t key = 0; key < p->qps; key++) {
		uint64_t x = fluid_pattern_mix((key << 32 | src << 16 | dst) + 1) >> 32;
		unsigned plane = 0;

		x = x * weights->sum >> 32;
		while (x >= weights->w[plane])
			x -= weights->w[plane++];
		share[plane]++;
	}
}

static int fluid_pattern_pair(const struct fluid_pattern *p, const struct weights *weights,
			      const struct fluid_pattern_sink *sink, unsigned src, unsigned dst)
{
	double share[FARE_MAX_PLANES] = {0}, sum = p->qps;
	double bytes = fluid_pattern_bytes(p, src, dst);
	int err = 0;

	if (p->choice == FLUID_PATTERN_FARE || p->choice == FLUID_PATTERN_ALIKE) {
		err = fluid_pattern_bind(p, weights, src, dst, share);
	} else if (p->choice == FLUID_PATTERN_SPRAY) {
		sum = fluid_pattern_gpu_bps(p);
		for (unsigned plane = 0; plane < p->planes; plane++)
			share[plane] = (double)p->plane_bps[plane];
	} else {
		fluid_pattern_hash(p, weights, src, dst, share);
	}
	for (unsigned plane = 0; !err && plane < p->planes; plane++)
		if (share[plane] > 0)
			err = sink->on_flow(sink->context, share[plane], bytes * share[plane] / sum,
					    (int)((src * p->planes + plane) * 2),
					    (int)((dst * p->planes + plane) * 2 + 1));
	return err;
}

int fluid_pattern_run(const struct fluid_pattern *p, const struct fluid_pattern_sink *sink)
{
	uint64_t alike[FARE_MAX_PLANES];
	unsigned senders = fluid_pattern_senders(p);
	unsigned peers = fluid_pattern_peers(p);
	struct weights weights;
	int err = 0;

	for (unsigned plane = 0; plane < p->planes; plane++)
		alike[plane] = p->plane_bps[plane] ? 1 : 0; /* a lost plane has no route */
	weights_from_bps(&weights, p->choice == FLUID_PATTERN_HASH ? alike : p->plane_bps,
			 p->planes);
	for (unsigned i = 0; !err && i < p->gpus * p->planes * 2; i++)
		err = sink->on_link(sink->context, (double)p->plane_bps[i / 2 % p->planes]);
	for (unsigned src = 0; src < senders; src++)
		for (unsigned i = 0; !err && i < peers; i++)
			err = fluid_pattern_pair(p, &weights, sink, src,
						 fluid_pattern_peer(p, src, i));
	return err;
}
