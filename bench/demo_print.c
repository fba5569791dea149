/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_print.c - what the demo found, on the terminal and as a page with a drawing of the fabric.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "result_show.h"
#include "stats.h"
#include "report/table.h"
#include "topo_draw.h"

#define DEMO_SHIFT_IS                                                                              \
	"from injection until goodput is back at 90% of what it settles at, for 300 ms (bins of "  \
	"10 ms; farelab's own running time is inside)"

#define DEMO_TEXT 600

/* What of the machine was idle at least; "" if no goodput was measured. */
static void demo_idle_text(const struct demo *demo, char *text, size_t size)
{
	const json_t *root = result_root(demo->result),
		     *idle = json_object_get(root, "idle_cpu_percent");
	int used = snprintf(text, size,
			    "Trials repeated because a core had no idle time: %u. Order of trials: "
			    "seed %llu.",
			    demo->guard.repeated, (unsigned long long)demo->seed);

	if (demo->even_busy)
		used += snprintf(
			text + used, size - (size_t)used,
			" Measured even without idle time (--even-busy): these figures may "
			"tell of the machine.");
	if (idle)
		snprintf(text + used, size - (size_t)used,
			 " Least idle CPU of any measurement (median of its trials): %.0f%% of the "
			 "machine, %.0f%% of the busiest core.",
			 json_number_value(idle),
			 json_number_value(json_object_get(root, "idle_busiest_core_percent")));
}

/* Which rate, and what it was chosen by. */
static void demo_rate_text(const struct demo *demo, char *text, size_t size)
{
	const json_t *rate = json_object_get(result_root(demo->result), "rate");
	double given = json_number_value(json_object_get(rate, "given_mbps")),
	       mbps = json_number_value(json_object_get(rate, "sub_port_mbps"));
	char from[64] = "the lab's own";

	if (mbps != given)
		snprintf(from, sizeof(from), "lowered from the lab's %.0f", given);
	snprintf(text, size,
		 "The rate: %.0f Mb/s a sub-port, %s. Measured before all else: under the heaviest "
		 "traffic, all-to-all, this machine is then %.0f%% idle (%.0f%% is asked for), its "
		 "busiest core %.0f%%; without traffic %.0f%%.",
		 mbps, from, json_number_value(json_object_get(rate, "idle_cpu_percent")),
		 json_number_value(json_object_get(rate, "wanted_idle_cpu_percent")),
		 json_number_value(json_object_get(rate, "idle_busiest_core_percent")),
		 json_number_value(json_object_get(rate, "unloaded_idle_cpu_percent")));
}

#define DEMO_SCALE                                                                                 \
	"Links stand for faster ones. Times do not scale with them: time-outs, probes and BGP's "  \
	"timers are those of a real fabric, transfers are slower."

static bool demo_has(const struct demo *demo, const char *list)
{
	return json_array_size(json_object_get(result_root(demo->result), list)) > 0;
}

static void demo_print_why(const struct demo *demo)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(result_root(demo->result), "why"), i, one)
		printf("\n%s: farectl why %s %lld\n%s",
		       json_string_value(json_object_get(one, "scenario")),
		       json_string_value(json_object_get(one, "peer")),
		       (long long)json_integer_value(json_object_get(one, "plane")),
		       json_string_value(json_object_get(one, "text")));
}

int demo_print(const struct demo *demo)
{
	const struct topo *topo = demo->topo;
	char text[DEMO_TEXT];
	int err;

	printf("\nThe fabric: %u GPUs x %u planes x %u sub-ports.\n", topo->n_gpus, topo->n_planes,
	       topo->gpus[0].plane[0].n_sub_ports);
	printf("  real:     FRR's bgpd and zebra, the kernel's routing and multipath hash, the "
	       "RoCEv2 wire format,\n"
	       "            every byte of every message (checked at the receiver)\n");
	printf("  emulated: links (veth shaped to %u Mb/s), switches (namespaces), GPUs (processes "
	       "with host memory)\n",
	       demo_rate_mbps(topo));
	printf("  observed: in endpoint software; payload only; optimum = what no strategy can "
	       "beat at this MTU\n\n");
	demo_rate_text(demo, text, sizeof(text));
	printf("%s\n" DEMO_SCALE "\n\n", text);
	if (demo_has(demo, "runs"))
		printf("Goodput, median of n repetitions with fresh QPs\n\n");
	err = result_show_runs(demo->result, stdout, NULL);
	if (err)
		return err;
	if (demo_has(demo, "shift"))
		printf("\nFault during a transfer: %s\n\n", DEMO_SHIFT_IS);
	err = result_show_shift(demo->result, stdout, NULL);
	if (err)
		return err;
	if (demo_has(demo, "chaos"))
		printf("\nDaemons killed (kill -9) on the sender's server during a transfer, "
		       "fare-spray\n\n");
	err = result_show_chaos(demo->result, stdout, NULL);
	if (err)
		return err;
	demo_print_why(demo);
	demo_idle_text(demo, text, sizeof(text));
	printf("\n%.0f s in all. %s\n", progress_seconds(&demo->progress), text);
	return 0;
}

/* ---- the page ----------------------------------------------------------------------------------
 */

/* The lowest and the middle of all medians of a strategy; n = 0: it was not measured. */
static void demo_page_strategy(const struct demo *demo, enum strategy strategy,
			       struct stats_summary *out)
{
	double ratio[RESULT_MAX_N];
	unsigned n = 0;
	json_t *run;
	size_t i;

	json_array_foreach (json_object_get(result_root(demo->result), "runs"), i, run)
		if (strcmp(json_string_value(json_object_get(run, "strategy")),
			   strategy_name(strategy)) == 0 &&
		    n < RESULT_MAX_N)
			ratio[n++] = json_number_value(json_object_get(run, "ratio"));
	if (stats_summarise(ratio, n, out))
		*out = (struct stats_summary){0};
}

static int demo_page_summary(const struct demo *demo, struct report *report)
{
	static const char *const headers[] = {"strategy", "lowest median, of optimum",
					      "middle median", "measurements"};
	struct table *table;
	int err;

	if (table_create(&table, 4, headers))
		return -ENOMEM;
	for (int s = 0; s < STRATEGY_COUNT; s++) {
		struct stats_summary ratio;
		char worst[16], median[16], n[16];

		demo_page_strategy(demo, (enum strategy)s, &ratio);
		snprintf(worst, sizeof(worst), "%.1f%%", 100 * ratio.min);
		snprintf(median, sizeof(median), "%.1f%%", 100 * ratio.median);
		snprintf(n, sizeof(n), "%zu", ratio.n);
		if (ratio.n &&
		    table_row(table, (const char *const[]){strategy_name((enum strategy)s), worst,
							   median, n})) {
			table_destroy(table);
			return -ENOMEM;
		}
	}
	err = report_table(report, table);
	table_destroy(table);
	return err;
}

static void demo_page_draw(FILE *file, const void *context)
{
	const struct demo *demo = context;

	topo_draw(demo->topo, (int)demo->kv.dst, (int)demo->plane, file);
}

static int demo_page_fabric(const struct demo *demo, struct report *report)
{
	const struct topo *topo = demo->topo;
	char src[2 * TOPO_NAME_MAX], dst[2 * TOPO_NAME_MAX];

	topo_gpu_label(topo, demo->kv.src, src, sizeof(src));
	topo_gpu_label(topo, demo->kv.dst, dst, sizeof(dst));
	report_heading(report, "The fabric");
	result_show_environment(demo->result, report);
	report_text(report,
		    "Faults strike plane %u (leaf %s): one of %s's sub-ports there (orange), all "
		    "of them, or the "
		    "leaf itself. The KV transfer goes from %s to %s; in the all-to-all every GPU "
		    "sends to every "
		    "other.",
		    demo->plane, topo->leaves[topo->gpus[0].plane[demo->plane].leaf].name, dst, src,
		    dst);
	if (!topo_draw_fits(topo))
		return 0;
	return report_drawing(
		report, "GPU servers below, a leaf switch per plane above, a line per sub-port",
		demo_page_draw, demo);
}

static void demo_page_why(const struct demo *demo, struct report *report)
{
	json_t *one;
	size_t i;

	report_heading(report, "What the daemon says of the path that suffers");
	json_array_foreach (json_object_get(result_root(demo->result), "why"), i, one) {
		report_text(report, "%s: farectl why %s %lld",
			    json_string_value(json_object_get(one, "scenario")),
			    json_string_value(json_object_get(one, "peer")),
			    (long long)json_integer_value(json_object_get(one, "plane")));
		report_verbatim(report, json_string_value(json_object_get(one, "text")));
	}
}

int demo_page(const struct demo *demo, struct report *report)
{
	char text[DEMO_TEXT];
	int err;

	report_text(report,
		    "How much of what the fabric could carry arrives, whole and after faults, by "
		    "four ways "
		    "to choose a plane: the kernel's hash with equal weights (ecmp-stripe) and "
		    "with FRR's "
		    "(wecmp-stripe), libfare's flows bound to QPs (fare-flow), libfare's chunks "
		    "sprayed in "
		    "proportion (fare-spray). All over the same transport, in one run.");
	err = demo_page_summary(demo, report);
	demo_rate_text(demo, text, sizeof(text));
	report_text(report, "%s", text);
	report_text(report, "%s", DEMO_SCALE);
	demo_idle_text(demo, text, sizeof(text));
	report_text(report, "%s", text);
	if (!err)
		err = demo_page_fabric(demo, report);
	report_heading(report, "Goodput");
	if (!err)
		err = result_show_runs(demo->result, NULL, report);
	report_heading(report, "A fault in mid-transfer");
	report_text(report,
		    "Time to shift: %s. Whiskers: least and most of the trials; the lines over "
		    "time are each "
		    "strategy's first trial.",
		    DEMO_SHIFT_IS);
	if (!err)
		err = result_show_shift(demo->result, NULL, report);
	report_heading(report, "Daemons killed in mid-transfer");
	report_text(report, "bgpd and then fared of the sender's server end by SIGKILL while "
			    "fare-spray transfers, and "
			    "come back while it still does.");
	if (!err)
		err = result_show_chaos(demo->result, NULL, report);
	demo_page_why(demo, report);
	report_text(report, "%.0f s in all.", progress_seconds(&demo->progress));
	return err;
}
