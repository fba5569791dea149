/* failover.c - see failover.h */
#include "failover.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "failover_fault.h"
#include "failover_watch.h"
#include "lab.h"
#include "options.h"
#include "progress.h"
#include "result.h"
#include "shift.h"
#include "stats.h"
#include "table.h"
#include "tests/kv.h"

#define BEFORE_NS   UINT64_C(300000000)
#define AFTER_NS    UINT64_C(900000000)
#define SETTLE_NS   UINT64_C(300000000)
#define RESTORE_NS  UINT64_C(30000000000)
#define STEP_NS	    UINT64_C(20000000)
#define CONVERGE_S  30
#define BACK	    0.98
#define N_SCENARIOS 8

enum how { HOW_FORWARDING, HOW_LINKS, HOW_FARELAB };

struct scenario {
	const char *name, *title;
	enum how how;
	struct failover_fault fault;
	const char *verb_on, *verb_off; /* of farelab */
	char words_on[96], words_off[96];
	double remains; /* of the plane's weight; 1: nothing may change */
};

struct trial {
	double decide_ms, kernel_ms, move_ms, gap_ms, restore_ms; /* negative: none was due */
	uint64_t messages, lost;
	unsigned needless;
};

struct failover {
	struct lab lab;
	struct topo *topo;
	struct cluster *cluster;
	struct result *result;
	struct progress progress;
	struct kv_options kv;
	struct scenario scenario[N_SCENARIOS];
	const char *lab_name, *json_path, *only;
	uint64_t n, strategies[STRATEGY_COUNT];
	int n_strategies;
	unsigned plane;
};

static const struct options_entry failover_table[] = {
	{"lab", 'l', "NAME", "the lab to run in ($FARELAB_NAME)"},
	{"trials", 'n', "N", "of each scenario and strategy (20)"},
	{"scenario", 's', "NAMES",
	 "only these: leaf-gray, leaf-gray-one-way, leaf-loss-5, local-sub-port, remote-sub-port, "
	 "remote-plane, bgpd-killed, fared-killed"},
	{"strategy", 'S', "NAMES", "ecmp,wecmp-kernel,fare-flow,fare-spray (fare-spray)"},
	{"json", 'j', "FILE", "write all results there ('-': standard output)"},
	{NULL, 0, NULL, NULL},
};

/* ---- scenarios ------------------------------------------------------------- */

static void leaf_device(const struct topo *topo, unsigned gpu, unsigned sub, char out[16])
{
	snprintf(out, 16, "s%ug%us%u", topo->gpus[gpu].server % 10000, topo->gpus[gpu].index % 100,
		 sub % 10);
}

/* The links of one GPU toward the plane, on its leaf; the GPU's own server hears of it. */
static struct failover_fault links_of(const struct failover *f, unsigned gpu, unsigned n)
{
	const struct topo_plane *plane = &f->topo->gpus[gpu].plane[f->plane];
	struct failover_fault fault = {.n_devices = n};

	snprintf(fault.leaf_netns, sizeof(fault.leaf_netns), "%.63s",
		 f->topo->leaves[plane->leaf].netns);
	snprintf(fault.server_netns, sizeof(fault.server_netns), "%.63s",
		 f->topo->servers[f->topo->gpus[gpu].server].netns);
	snprintf(fault.server_device, sizeof(fault.server_device), "%.15s", plane->sub_port[0].dev);
	for (unsigned i = 0; i < n && i < FAILOVER_MAX_DEVICES; i++)
		leaf_device(f->topo, gpu, i, fault.device[i]);
	return fault;
}

static void describe(struct failover *f)
{
	const struct topo_plane *plane = &f->topo->gpus[f->kv.src].plane[f->plane];
	const char *leaf = f->topo->leaves[plane->leaf].name;
	const char *server = f->topo->servers[f->topo->gpus[f->kv.src].server].name;
	double less = 1 - 1. / plane->n_sub_ports;
	struct scenario *s = f->scenario;

	s[0] = (struct scenario){.name = "leaf-gray",
				 .title = "leaf forwards nothing, links and BGP up",
				 .how = HOW_FORWARDING,
				 .fault = links_of(f, f->kv.src, 0)};
	s[0].fault.forwarding = true;
	s[0].fault.server_device[0] = '\0';
	s[1] = (struct scenario){.name = "leaf-gray-one-way",
				 .title = "leaf drops what comes in, sends on nothing",
				 .how = HOW_FARELAB,
				 .verb_on = "gray",
				 .verb_off = "gray"};
	s[2] = (struct scenario){.name = "leaf-loss-5",
				 .title = "leaf loses 5%",
				 .how = HOW_FARELAB,
				 .verb_on = "gray",
				 .verb_off = "gray"};
	snprintf(s[1].words_on, sizeof(s[1].words_on), "leaf %.30s --direction to-leaf", leaf);
	snprintf(s[2].words_on, sizeof(s[2].words_on), "leaf %.30s --loss-percent 5", leaf);
	for (int i = 1; i <= 2; i++)
		snprintf(s[i].words_off, sizeof(s[i].words_off), "leaf %.30s --loss-percent 0",
			 leaf);
	s[3] = (struct scenario){.name = "local-sub-port",
				 .title = "the sender's sub-port down",
				 .how = HOW_LINKS,
				 .fault = links_of(f, f->kv.src, 1),
				 .remains = less};
	s[4] = (struct scenario){.name = "remote-sub-port",
				 .title = "the receiver's sub-port down",
				 .how = HOW_LINKS,
				 .fault = links_of(f, f->kv.dst, 1),
				 .remains = less};
	s[5] = (struct scenario){.name = "remote-plane",
				 .title = "all of the receiver's sub-ports on a plane down",
				 .how = HOW_LINKS,
				 .fault = links_of(f, f->kv.dst, plane->n_sub_ports)};
	s[6] = (struct scenario){.name = "bgpd-killed",
				 .title = "the sender's bgpd killed",
				 .how = HOW_FARELAB,
				 .verb_on = "fail",
				 .verb_off = "heal",
				 .remains = 1};
	s[7] = (struct scenario){.name = "fared-killed",
				 .title = "the sender's fared killed",
				 .how = HOW_FARELAB,
				 .verb_on = "fail",
				 .verb_off = "heal",
				 .remains = 1};
	for (int i = 6; i <= 7; i++) {
		snprintf(s[i].words_on, sizeof(s[i].words_on), "%s %.40s",
			 i == 6 ? "bgpd" : "fared", server);
		memcpy(s[i].words_off, s[i].words_on, sizeof(s[i].words_off));
	}
}

static int act(struct failover *f, const struct scenario *s, bool on, uint64_t *done_ns,
	       uint64_t *kernel_ns)
{
	*kernel_ns = 0;
	if (s->how != HOW_FARELAB)
		return failover_fault_do(&s->fault, on, done_ns, on ? kernel_ns : NULL);
	*done_ns = cluster_now_ns();
	return lab_do_words(&f->lab, on ? s->verb_on : s->verb_off,
			    on ? s->words_on : s->words_off);
}

/* ---- what the record says -------------------------------------------------- */

static double ms(uint64_t from_ns, uint64_t to_ns)
{
	return ((double)to_ns - (double)from_ns) / 1e6;
}

/* The first sample from then on in which the plane's weight is as wanted; 0: none. */
static uint64_t when(const struct failover_record *r, uint64_t from_ns, unsigned plane, double bps,
		     bool at_most)
{
	uint32_t n = r->n;

	for (uint32_t i = 0; i < n; i++) {
		double usable = (double)r->sample[i].paths.path[plane].usable_bps;

		/* a former sample's word holds until the next one */
		if (i + 1 < n && r->sample[i + 1].t_ns <= from_ns)
			continue;
		if (at_most ? usable <= bps : usable >= bps)
			return r->sample[i].t_ns > from_ns ? r->sample[i].t_ns : from_ns;
	}
	return 0;
}

/* Lowerings of other planes, and of this one if nothing was to happen to it. */
static unsigned needless(const struct failover_record *r, uint64_t from_ns, unsigned plane,
			 bool any)
{
	unsigned count = 0;

	for (uint32_t i = 1; i < r->n; i++)
		for (unsigned p = 0;
		     r->sample[i].t_ns >= from_ns && p < r->sample[i].paths.n_planes; p++)
			if ((any || p != plane) &&
			    r->sample[i].paths.path[p].usable_bps <
				    r->sample[i - 1].paths.path[p].usable_bps)
				count++;
	return count;
}

/* ---- a trial --------------------------------------------------------------- */

static int start_watch(struct failover *f, struct failover_watch **out)
{
	const struct topo *topo = f->topo;
	const struct topo_gpu *src = &topo->gpus[f->kv.src];
	struct in6_addr peer = {0};
	char text[64];

	snprintf(text, sizeof(text), "%s%s", topo->gpus[f->kv.dst].ipv4[0] ? "::ffff:" : "",
		 topo_gpu_address(topo, f->kv.dst));
	if (inet_pton(AF_INET6, text, &peer) != 1)
		return -EINVAL;
	return failover_watch_start(out, topo->servers[src->server].fared_run_dir, src->index,
				    &peer);
}

/* Heals, and waits until the weights are back. */
static int restore(struct failover *f, const struct scenario *s, const struct failover_record *r,
		   double before_bps, struct trial *trial)
{
	uint64_t healed_ns, unused, back_ns = 0, end;
	int err = act(f, s, false, &healed_ns, &unused);

	end = healed_ns + RESTORE_NS;
	while (!err && !back_ns && cluster_now_ns() < end) {
		err = cluster_sleep_until(f->cluster, cluster_now_ns() + STEP_NS);
		back_ns = when(r, healed_ns, f->plane, BACK * before_bps, false);
	}
	trial->restore_ms = ms(healed_ns, back_ns ? back_ns : end);
	return err;
}

static int run_trial(struct failover *f, const struct scenario *s, struct failover_watch *watch,
		     struct trial *trial)
{
	const struct failover_record *r = failover_watch_record(watch);
	double before_bps = (double)r->sample[0].paths.path[f->plane].usable_bps;
	uint64_t inject_ns = 0, kernel_ns = 0, decided_ns, end_ns, *times = NULL;
	struct traffic_result sums = {0};
	struct shift shift = {.shift_ms = -1, .longest_gap_ms = -1};
	size_t n = 0;
	int err = kv_begin(f->cluster, f->topo, &f->kv);

	if (!err)
		err = cluster_sleep_until(f->cluster, cluster_now_ns() + BEFORE_NS);
	if (!err)
		err = act(f, s, true, &inject_ns, &kernel_ns);
	end_ns = inject_ns + AFTER_NS;
	if (!err)
		err = cluster_sleep_until(f->cluster, end_ns);
	if (!err)
		err = kv_end(f->cluster, &f->kv, &sums, &times, &n);
	decided_ns = s->remains < 1
			     ? when(r, inject_ns, f->plane, (s->remains + 0.01) * before_bps, true)
			     : 0;
	/* what was due and was not seen counts as long as the recording: no figure passes by a miss
	 */
	if (s->remains < 1)
		trial->decide_ms = ms(inject_ns, decided_ns ? decided_ns : end_ns);
	if (s->how == HOW_LINKS)
		trial->kernel_ms = decided_ns && kernel_ns ? fmax(0, ms(kernel_ns, decided_ns))
							   : ms(inject_ns, end_ns);
	trial->messages = sums.messages;
	trial->lost = sums.posted > sums.messages ? sums.posted - sums.messages : 0;
	trial->needless = needless(r, inject_ns, f->plane, s->remains >= 1);
	if (!err && n > 1 &&
	    !shift_analyse(times, n, f->kv.size_bytes, inject_ns, end_ns, SETTLE_NS, &shift)) {
		trial->move_ms = shift.shift_ms;
		trial->gap_ms = shift.longest_gap_ms;
	}
	free(times);
	return err ? err : restore(f, s, r, before_bps, trial);
}

static int one_trial(struct failover *f, const struct scenario *s, enum strategy strategy,
		     unsigned i, struct trial *trial)
{
	struct failover_watch *watch;
	int err = cluster_await_paths(f->cluster, f->topo, CONVERGE_S * 1000);

	/* the planes take turns: no path is in flap back-off because of the trial before */
	f->plane = i % f->topo->n_planes;
	describe(f);
	*trial = (struct trial){-1, -1, -1, -1, -1, 0, 0, 0};
	if (!err)
		err = start_watch(f, &watch);
	if (err)
		return err;
	f->kv.traffic.strategy = strategy;
	err = run_trial(f, s, watch, trial);
	failover_watch_stop(watch);
	if (err)
		return err;
	err = lab_do(&f->lab, "status", (const char *const[]){"--wait", "30", NULL});
	if (err)
		return err;
	return result_append(
		f->result, "failover",
		json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:i}", "scenario",
			  s->name, "strategy", strategy_name(strategy), "trial", (int)i,
			  "decide_ms", trial->decide_ms, "decide_after_kernel_ms", trial->kernel_ms,
			  "move_ms", trial->move_ms, "gap_ms", trial->gap_ms, "restore_ms",
			  trial->restore_ms, "messages", (json_int_t)trial->messages, "lost",
			  (json_int_t)trial->lost, "needless", (int)trial->needless));
}

/* ---- summary --------------------------------------------------------------- */

/* {n, p50, p99, max} of the trials in which it was due. */
static json_t *spread(const struct trial *trials, unsigned n, size_t offset)
{
	double values[RESULT_MAX_N];
	struct stats_summary summary;
	unsigned k = 0, rank;

	for (unsigned i = 0; i < n; i++) {
		double value;

		memcpy(&value, (const char *)&trials[i] + offset, sizeof(value));
		if (value >= 0)
			values[k++] = value;
	}
	if (!k || stats_summarise(values, k, &summary))
		return json_pack("{s:i}", "n", 0);
	for (unsigned i = 1; i < k; i++) /* few: insertion sorts them */
		for (unsigned j = i; j > 0 && values[j] < values[j - 1]; j--) {
			double swap = values[j];

			values[j] = values[j - 1];
			values[j - 1] = swap;
		}
	rank = (99 * k + 99) / 100;
	return json_pack("{s:i, s:f, s:f, s:f}", "n", (int)k, "p50", summary.median, "p99",
			 values[rank - 1], "max", summary.max);
}

static int summarise(struct failover *f, const struct scenario *s, enum strategy strategy,
		     const struct trial *trials, unsigned n)
{
	uint64_t lost = 0, needless_moves = 0, messages = 0;

	for (unsigned i = 0; i < n; i++) {
		lost += trials[i].lost;
		messages += trials[i].messages;
		needless_moves += trials[i].needless;
	}
	return result_append(
		f->result, "failover_summary",
		json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "scenario", s->name,
			  "strategy", strategy_name(strategy), "decide_ms",
			  spread(trials, n, offsetof(struct trial, decide_ms)),
			  "decide_after_kernel_ms",
			  spread(trials, n, offsetof(struct trial, kernel_ms)), "move_ms",
			  spread(trials, n, offsetof(struct trial, move_ms)), "gap_ms",
			  spread(trials, n, offsetof(struct trial, gap_ms)), "restore_ms",
			  spread(trials, n, offsetof(struct trial, restore_ms)), "messages",
			  (json_int_t)messages, "lost", (json_int_t)lost, "needless",
			  (json_int_t)needless_moves));
}

static const char *cell(const json_t *row, const char *key, char out[48])
{
	const json_t *s = json_object_get(row, key);

	if (!json_object_get(s, "p50"))
		snprintf(out, 48, "-");
	else
		snprintf(out, 48, "%.1f / %.1f / %.1f",
			 json_number_value(json_object_get(s, "p50")),
			 json_number_value(json_object_get(s, "p99")),
			 json_number_value(json_object_get(s, "max")));
	return out;
}

static void print(const struct failover *f)
{
	static const char *const headers[] = {"scenario", "strategy",	"decide ms", "after kernel",
					      "move ms",  "restore ms", "lost",	     "needless"};
	struct table *table;
	const json_t *row;
	size_t i;

	if (table_create(&table, 8, headers))
		return;
	json_array_foreach (json_object_get(result_root(f->result), "failover_summary"), i, row) {
		char a[48], b[48], c[48], d[48], e[24], g[24];

		snprintf(e, sizeof(e), "%lld",
			 (long long)json_integer_value(json_object_get(row, "lost")));
		snprintf(g, sizeof(g), "%lld",
			 (long long)json_integer_value(json_object_get(row, "needless")));
		table_row(table,
			  (const char *const[]){
				  json_string_value(json_object_get(row, "scenario")),
				  json_string_value(json_object_get(row, "strategy")),
				  cell(row, "decide_ms", a), cell(row, "decide_after_kernel_ms", b),
				  cell(row, "move_ms", c), cell(row, "restore_ms", d), e, g});
	}
	printf("\np50 / p99 / max, milliseconds, %u trials each; see failover.h for what is "
	       "what\n\n",
	       (unsigned)f->n);
	table_print(table, stdout);
	table_destroy(table);
}

/* ---- command --------------------------------------------------------------- */

static bool is_wanted(const struct failover *f, const char *name)
{
	const char *at = f->only;
	size_t length = strlen(name);

	while (at && *at) {
		size_t n = strcspn(at, ",");

		if (n == length && !strncmp(at, name, n))
			return true;
		at += n + (at[n] == ',');
	}
	return !f->only;
}

static int run_scenario(struct failover *f, const struct scenario *s, enum strategy strategy)
{
	struct trial trials[RESULT_MAX_N];
	int err = lab_weights(&f->lab, f->topo, strategy_equal_weights(strategy));

	for (unsigned i = 0; !err && i < f->n; i++) {
		progress_step(&f->progress, "%s: %s", s->title, strategy_name(strategy));
		err = one_trial(f, s, strategy, i, &trials[i]);
	}
	return err ? err : summarise(f, s, strategy, trials, (unsigned)f->n);
}

static int open_all(struct failover *f)
{
	int err;

	lab_init(&f->lab, f->lab_name);
	err = lab_status(&f->lab, CONVERGE_S, &f->topo);
	if (err)
		return err;
	while (f->kv.dst < f->topo->n_gpus &&
	       f->topo->gpus[f->kv.dst].server == f->topo->gpus[0].server)
		f->kv.dst++;
	if (f->kv.dst >= f->topo->n_gpus || f->topo->n_planes < 2) {
		fprintf(stderr, "farebench failover: two servers and two planes are the least\n");
		return -EINVAL;
	}
	describe(f);
	progress_init(&f->progress,
		      (unsigned)f->n * (f->only ? 1 : N_SCENARIOS) * (unsigned)f->n_strategies);
	err = result_describe(f->result, f->topo);
	return err ? err : cluster_create(&f->cluster, f->topo, kv_arena_bytes(&f->kv));
}

static int run_all(struct failover *f)
{
	int err = open_all(f);

	for (int i = 0; !err && i < N_SCENARIOS; i++)
		for (int k = 0; !err && k < f->n_strategies; k++)
			if (is_wanted(f, f->scenario[i].name))
				err = run_scenario(f, &f->scenario[i],
						   (enum strategy)f->strategies[k]);
	return err;
}

static int parse(struct failover *f, int argc, char **argv)
{
	struct option table[OPTIONS_MAX];
	int option, err = 0;

	options_getopt(failover_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 'l':
			f->lab_name = optarg;
			break;
		case 'j':
			f->json_path = optarg;
			break;
		case 's':
			f->only = optarg;
			break;
		case 'n':
			err = options_number("trials", optarg, 1, RESULT_MAX_N, &f->n);
			break;
		case 'S':
			f->n_strategies = options_strategies(optarg, f->strategies, STRATEGY_COUNT);
			err = f->n_strategies < 0 ? f->n_strategies : 0;
			break;
		case 'h':
			options_help("farebench failover", failover_table);
			return 1;
		default:
			return -EINVAL;
		}
	}
	if (!err && (optind != argc || !f->lab_name)) {
		fprintf(stderr, "farebench failover: %s\n",
			f->lab_name ? "no arguments are taken" : "which --lab?");
		err = -EINVAL;
	}
	return err;
}

int failover_main(int argc, char **argv)
{
	struct failover f = {.lab_name = getenv("FARELAB_NAME"), .n = 20, .n_strategies = 1};
	int err;

	f.strategies[0] = STRATEGY_FARE_SPRAY;
	f.kv = (struct kv_options){.src = 0, .dst = 1, .size_bytes = 1 << 17, .depth = 32};
	err = parse(&f, argc, argv);
	if (err)
		return err > 0 ? 0 : 2;
	err = result_create(&f.result);
	if (!err)
		err = run_all(&f);
	progress_fini(&f.progress);
	if (!err)
		print(&f);
	if (!err && f.json_path)
		err = result_write(f.result, f.json_path);
	if (err)
		fprintf(stderr, "farebench failover: failed: %s\n", strerror(-err));
	cluster_destroy(f.cluster);
	topo_destroy(f.topo);
	result_destroy(f.result);
	return err ? 1 : 0;
}
