/* SPDX-License-Identifier: BSD-2-Clause */
#include "micro/sched/assignment.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "flow_table.h"
#include "micro/fluid/fluid.h"

#define PLANES	 4
#define MAX_GPUS 256
#define MAX_QPS	 64
#define BYTES	 1e6 /* a pair */
#define BPS	 1e9 /* of a weight of 1 */

static const uint64_t halved[PLANES] = {2, 2, 2, 1}, whole[PLANES] = {2, 2, 2, 2};

#define HALVED_SUM 7

const char *assignment_choice_name(enum assignment_choice choice)
{
	static const char *const names[ASSIGNMENT_CHOICES] = {"fare", "all-alike", "wecmp-hash",
							      "ecmp-hash"};

	return (unsigned)choice < ASSIGNMENT_CHOICES ? names[choice] : "unknown";
}

/* ::ffff:198.18.0.1 and on */
static struct in6_addr address_of(const struct assignment *a, unsigned gpu)
{
	const uint32_t host = htonl(0xc6120001u + gpu * a->stride);

	return address_of_v4(&host);
}

static int bind_pair(const struct assignment *a, unsigned s, unsigned d, unsigned *count)
{
	static const uint64_t *const alike[2] = {halved, whole};
	struct conn_shm_entry entries[MAX_QPS];
	struct in6_addr source = address_of(a, s), destination = address_of(a, d);
	struct flow_table_attr attr = {.entries = entries,
				       .max_flows = MAX_QPS,
				       .n_planes = PLANES,
				       .slots = {2, 2, 2, 2}};
	struct flow_table_stats stats;
	struct flow_table *t;
	struct flow_slot slot;
	struct weights w;
	int err;

	memset(entries, 0, sizeof(entries));
	if (a->choice == ASSIGNMENT_FARE)
		attr.turn = weights_turn(&source, &destination, (s > d ? s - d : d - s) - 1);
	err = flow_table_create(&t, &attr);
	if (err)
		return err;
	weights_from_bps(&w, alike[a->halved_while_bound != 0], PLANES);
	flow_table_reweight(t, &w);
	for (uint64_t key = 0; !err && key < a->qps; key++)
		err = flow_table_pick(t, key, 1, &slot);
	weights_from_bps(&w, halved, PLANES);
	flow_table_reweight(t, &w);
	flow_table_stats(t, &stats);
	memcpy(count, stats.count, PLANES * sizeof(*count));
	flow_table_destroy(t);
	return err;
}

static void hash_pair(const struct assignment *a, unsigned s, unsigned d, unsigned *count)
{
	memset(count, 0, PLANES * sizeof(*count));
	for (uint64_t key = 0; key < a->qps; key++) {
		uint64_t x = (key << 32 | s << 16 | d) + 1;

		x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
		x = (x ^ x >> 31) >> 32;
		if (a->choice == ASSIGNMENT_ECMP)
			count[x * PLANES >> 32]++;
		else
			count[(x * HALVED_SUM >> 32) / 2]++; /* 0 0 1 1 2 2 3 */
	}
}

/* A pair's QPs on one plane are one flow of as much weight: they share every link. */
static int add_flows(const struct assignment *a, struct fluid *fluid, unsigned s, unsigned d)
{
	unsigned count[PLANES];
	int err = 0;

	if (a->choice == ASSIGNMENT_WECMP || a->choice == ASSIGNMENT_ECMP)
		hash_pair(a, s, d, count);
	else
		err = bind_pair(a, s, d, count);
	for (unsigned p = 0; !err && p < PLANES; p++) {
		int links[2] = {(int)((s * PLANES + p) * 2), (int)((d * PLANES + p) * 2 + 1)};

		if (count[p] &&
		    fluid_add_flow(fluid, count[p], count[p] * BYTES / a->qps, links, 2) < 0)
			err = -ENOMEM;
	}
	return err;
}

int assignment_all_to_all(const struct assignment *a, double *over_optimum)
{
	struct fluid *fluid;
	double finish_s = 0;
	int err;

	if (a->gpus < 2 || a->gpus > MAX_GPUS || !a->qps || a->qps > MAX_QPS)
		return -EINVAL;
	err = fluid_create(&fluid);
	if (err)
		return err;
	for (unsigned i = 0; !err && i < a->gpus * PLANES * 2; i++) /* to the leaf, from the leaf */
		err = fluid_add_link(fluid, BPS * (double)halved[i / 2 % PLANES]) < 0 ? -ENOMEM : 0;
	for (unsigned s = 0; s < a->gpus; s++)
		for (unsigned d = 0; !err && d < a->gpus; d++)
			if (s != d)
				err = add_flows(a, fluid, s, d);
	if (!err)
		err = fluid_run(fluid, &finish_s);
	fluid_destroy(fluid);
	*over_optimum = finish_s / ((a->gpus - 1) * BYTES * 8 / (HALVED_SUM * BPS));
	return err;
}
