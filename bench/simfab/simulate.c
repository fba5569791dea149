/* SPDX-License-Identifier: BSD-2-Clause */
/* simulate.c - `farebench simulate`: collectives and incasts on a simulated fabric (simfab.h) */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/options.h"
#include "core/stats.h"
#include "simfab/queues.h"
#include "simfab/simfab.h"

#define SOURCE	  "simulated"
#define MAX_RANKS 16
#define MAX_DRAWS 100
#define LEAF	  8 /* ranks at a leaf, and spines */
#define FRAME	  4096
#define DELAY	  10 /* packets' times from XOFF to the neighbour's stop */

struct simulate {
	unsigned n_ranks;
	uint64_t ranks[MAX_RANKS];
	uint64_t bytes, planes, gbps, spine_percent, draws, ms, seed;
	bool json;
};

/* ---- options ---- */

static int simulate_ranks(void *into, char *text)
{
	struct simulate *s = into;
	char copy[256], *rest;

	s->n_ranks = 0;
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	for (char *at = strtok_r(copy, ",", &rest); at; at = strtok_r(NULL, ",", &rest))
		if (s->n_ranks == MAX_RANKS ||
		    options_number("ranks", at, 2, QUEUES_MAX_SENDERS, &s->ranks[s->n_ranks++]))
			return -EINVAL;
	return s->n_ranks ? 0 : -EINVAL;
}

static const struct options_entry simulate_options[] = {
	{"ranks", "N,...", "of collectives, and senders of incasts (16,64,256,1024)",
	 OPTIONS_CALL(simulate_ranks)},
	{"size", "BYTES", "of each rank's vector (64M)",
	 OPTIONS_NUMBER(struct simulate, bytes, 1, UINT64_C(1) << 40)},
	{"planes", "N", "of the fabric (4)",
	 OPTIONS_NUMBER(struct simulate, planes, 1, FARE_MAX_PLANES)},
	{"gbps", "N", "rate of a port in a plane, Gb/s (100)",
	 OPTIONS_NUMBER(struct simulate, gbps, 1, 1600)},
	{"spine-left", "PERCENT", "of one spine's links in each plane that works (100)",
	 OPTIONS_NUMBER(struct simulate, spine_percent, 0, 100)},
	{"draws", "N", "of hashes and places (5)",
	 OPTIONS_NUMBER(struct simulate, draws, 1, MAX_DRAWS)},
	{"ms", "N", "simulated time of an incast (50)",
	 OPTIONS_NUMBER(struct simulate, ms, 5, 1000)},
	{"seed", "N", "of all draws (1)", OPTIONS_NUMBER(struct simulate, seed, 0, UINT64_MAX)},
	{"json", NULL, "print JSON", OPTIONS_FLAG(struct simulate, json)},
	{.name = NULL}};

/* ---- collectives ---- */

static const struct {
	const char *name;
	enum clos_balance hosts, leaves;
} spreads[] = {{"ecmp", CLOS_ECMP, CLOS_ECMP},
	       {"wecmp", CLOS_WECMP, CLOS_WECMP},
	       {"fare", CLOS_SPRAY, CLOS_ECMP},
	       {"fare+spray", CLOS_SPRAY, CLOS_SPRAY}};

#define SPREADS (sizeof(spreads) / sizeof(spreads[0]))

static void collective_row(const struct simulate *s, json_t *rows, enum collective c,
			   unsigned spread, const struct clos *clos, double *busbw,
			   const struct simfab_result *mean)
{
	const char *place = clos->is_scattered ? "scattered" : "in order";
	size_t n = s->draws;

	qsort(busbw, n, sizeof(*busbw), stats_ascending);
	if (!s->json)
		printf("%-9s %-5s %-10s %5u %-10s %-9s %9.2f %9.2f %9.2f %7.2f %7.3f %7.3f\n",
		       SOURCE, "fluid", collective_name(c), clos->ranks, spreads[spread].name,
		       place, stats_quantile(busbw, n, 0.5), busbw[0], busbw[n - 1],
		       mean->jct_ratio, mean->uplinks.jfi, mean->uplinks.mmr);
	/* no uplink is crossed: null, as JSON has no NaN */
	json_array_append_new(rows,
			      json_pack("{ss ss ss si ss ss sf sf sf sf so so}", "source", SOURCE,
					"model", "fluid", "collective", collective_name(c), "ranks",
					(int)clos->ranks, "spread", spreads[spread].name, "places",
					place, "busbw_gbps", stats_quantile(busbw, n, 0.5),
					"busbw_min_gbps", busbw[0], "busbw_max_gbps", busbw[n - 1],
					"jct_ratio", mean->jct_ratio, "uplinks_jfi",
					json_real(mean->uplinks.jfi) ?: json_null(), "uplinks_mmr",
					json_real(mean->uplinks.mmr) ?: json_null()));
}

static int collective_cell(const struct simulate *s, json_t *rows, enum collective c,
			   unsigned spread, struct clos *clos)
{
	double busbw[MAX_DRAWS];
	struct simfab_result r, mean = {0, 0, 0, {0, 0}};

	clos->hosts = spreads[spread].hosts;
	clos->leaves = spreads[spread].leaves;
	for (uint64_t d = 0; d < s->draws; d++) {
		int err;

		clos->seed = s->seed * MAX_DRAWS + d;
		err = simfab_collective(clos, c, s->bytes, simfab_line_bps(clos), &r);
		if (err)
			return err;
		busbw[d] = r.busbw_bps / 1e9;
		mean.jct_ratio += r.jct_ratio / (double)s->draws;
		mean.uplinks.jfi += r.uplinks.jfi / (double)s->draws;
		mean.uplinks.mmr += r.uplinks.mmr / (double)s->draws;
	}
	collective_row(s, rows, c, spread, clos, busbw, &mean);
	return 0;
}

static int simulate_collectives(const struct simulate *s, json_t *rows)
{
	struct clos clos = {.leaf_ranks = LEAF,
			    .spines = LEAF,
			    .planes = (unsigned)s->planes,
			    .uplinks = 1,
			    .spine_left = (double)s->spine_percent / 100,
			    .qps = 1};
	int err = 0;

	for (unsigned p = 0; p < clos.planes; p++)
		clos.plane_bps[p] = (double)s->gbps * 1e9;
	if (!s->json)
		printf("Collectives as fluid, %u planes of %llu Gb/s, %u ranks and %u uplinks a "
		       "leaf; BusBW is the median of %llu draws\n"
		       "source    model collective ranks spread     places    BusBW/Gbps     least "
		       "     most     JCT     JFI     MMR\n",
		       clos.planes, (unsigned long long)s->gbps, LEAF, LEAF,
		       (unsigned long long)s->draws);
	for (enum collective c = COLLECTIVE_ALLREDUCE; !err && c <= COLLECTIVE_ALLGATHER; c++)
		for (unsigned i = 0; !err && i < s->n_ranks; i++)
			for (unsigned k = 0; !err && k < 2 * SPREADS; k++) {
				clos.ranks = (unsigned)s->ranks[i];
				clos.is_scattered = k >= SPREADS;
				err = collective_cell(s, rows, c, k % SPREADS, &clos);
			}
	return err;
}

/* ---- incasts ---- */

/* Thresholds of queues grow with the rate from the published ones for 40 Gb/s (5 and 200 KB). */
static struct queues incast_of(const struct simulate *s, unsigned senders, bool does_dcqcn)
{
	unsigned at_40 = (unsigned)(s->gbps > 40 ? s->gbps : 40);

	return (struct queues){.senders = senders,
			       .packet_bytes = FRAME,
			       .delay_slots = DELAY,
			       .line_bps = (double)s->gbps * 1e9,
			       .seconds = (double)s->ms / 1e3,
			       .does_dcqcn = does_dcqcn,
			       .min_bytes = 5000 * at_40 / 40,
			       .max_bytes = 200000 * at_40 / 40,
			       .max_percent = 10,
			       .xoff_bytes = 20 * FRAME,
			       .xon_bytes = 10 * FRAME,
			       .headroom_bytes = (DELAY + 2) * FRAME,
			       .seed = s->seed};
}

static void incast_row(const struct simulate *s, json_t *rows, const struct queues *q,
		       const struct queues_result *r)
{
	const char *by = q->does_dcqcn ? "dcqcn+pfc" : "pfc";

	if (!s->json)
		printf("%-9s %-6s %5u %-9s %9.0f %9.0f %9.0f %8.4f %8.4f %8.4f %7.4f %6llu %9.4f\n",
		       SOURCE, "queues", q->senders, by, r->depth_p50, r->depth_p99, r->depth_max,
		       r->marked, r->paused, r->of_line, r->jfi, (unsigned long long)r->drops,
		       r->converged_s);
	json_array_append_new(
		rows, json_pack("{ss ss si ss sf sf sf sf sf sf sf sI sI so}", "source", SOURCE,
				"model", "queues", "senders", (int)q->senders, "control", by,
				"depth_p50_bytes", r->depth_p50, "depth_p99_bytes", r->depth_p99,
				"depth_max_bytes", r->depth_max, "marked", r->marked, "paused",
				r->paused, "of_line", r->of_line, "jfi", r->jfi, "drops",
				(json_int_t)r->drops, "pauses", (json_int_t)r->pauses,
				"converged_s", json_real(r->converged_s) ?: json_null()));
}

static int simulate_incasts(const struct simulate *s, json_t *rows)
{
	int err = 0;

	if (!s->json)
		printf("\nIncasts into one port of %llu Gb/s of a leaf, packet by packet, %llu ms, "
		       "the second half of it\n"
		       "source    model  senders control depth/B p50       p99       max   marked  "
		       " "
		       "paused  of_line     JFI  drops converged/s\n",
		       (unsigned long long)s->gbps, (unsigned long long)s->ms);
	for (unsigned i = 0; !err && i < s->n_ranks; i++)
		for (unsigned dcqcn = 0; !err && dcqcn < 2; dcqcn++) {
			struct queues q = incast_of(s, (unsigned)s->ranks[i], dcqcn);
			struct queues_result r;

			err = queues_run(&q, &r);
			if (!err)
				incast_row(s, rows, &q, &r);
		}
	return err;
}

/* ---- the command ---- */

static int simulate_run(const struct simulate *s)
{
	json_t *collectives = json_array(), *incasts = json_array();
	json_t *all = json_pack("{ss so so}", "source", SOURCE, "collectives", collectives,
				"incasts", incasts);
	int err = all ? simulate_collectives(s, collectives) : -ENOMEM;

	if (!err)
		err = simulate_incasts(s, incasts);
	if (!err && s->json && json_dumpf(all, stdout, JSON_INDENT(1) | JSON_PRESERVE_ORDER))
		err = -EIO;
	else if (!err && s->json)
		putchar('\n');
	json_decref(all);
	if (err == -EINVAL)
		fprintf(stderr, "farebench simulate: too short, or too long, at this rate: --ms\n");
	else if (err)
		fprintf(stderr, "farebench simulate: %s\n", strerror(-err));
	return err ? 1 : 0;
}

int simulate_main(int argc, char **argv)
{
	struct simulate s = {.n_ranks = 4,
			     .ranks = {16, 64, 256, 1024},
			     .bytes = 64 << 20,
			     .planes = 4,
			     .gbps = 100,
			     .spine_percent = 100,
			     .draws = 5,
			     .ms = 50,
			     .seed = 1};
	int err = options_read("farebench simulate", simulate_options, argc, argv, &s, NULL);

	if (err)
		return err > 0 ? 0 : 2;
	if (optind == argc)
		return simulate_run(&s);
	fprintf(stderr, "farebench simulate: no arguments are taken\n");
	return 2;
}
