/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 08_load_balancing.c - tests 8.1 to 8.4: how leaves of two tiers spread one server's QPs.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "procedure/load.h"
#include "procedure/uplinks.h"
#include "suite/derive.h"
#include "suite/kpis.h"
#include "training/common.h"
#include "training/simulated.h"

#define MESSAGE_BYTES (256u << 10)
#define MESSAGES      4 /* under way, so that a QP pauses only when it waits for the fabric */

#define PAIRS 64 /* leaves of the draft's largest fabric */

struct balanced {
	struct trial *t;
	unsigned n, from_gpu[PAIRS], to_gpu[PAIRS];
	struct uplinks uplinks;
};

/* GPU 0 and the first GPU behind another leaf of every plane; 0: there is none. */
static unsigned balanced_peer(const struct topo *topo)
{
	for (unsigned gpu = 1; gpu < topo->n_gpus; gpu++) {
		bool far = true;

		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			far &= !topo_same_leaf(topo, 0, gpu, plane);
		if (far)
			return gpu;
	}
	return 0;
}

/* The first GPU behind each of so many leaves of plane 0 to that behind the next. False: the rows
 * say why not. */
static bool balanced_ring(struct balanced *b, unsigned leaves)
{
	const struct topo *topo = b->t->fabric->topo;

	for (unsigned gpu = 0; gpu < topo->n_gpus && b->n < leaves && b->n < PAIRS; gpu++) {
		bool is_new = true;

		for (unsigned i = 0; i < b->n; i++)
			is_new &= !topo_same_leaf(topo, b->from_gpu[i], gpu, 0);
		if (is_new)
			b->from_gpu[b->n++] = gpu;
	}
	for (unsigned i = 0; i < b->n; i++)
		b->to_gpu[i] = b->from_gpu[(i + 1) % b->n];
	if (leaves < 2 || b->n < leaves)
		trial_missing(b->t, NULL,
			      "%u leaves: servers of a plane of this lab are at %u, and 2 are the "
			      "least",
			      leaves, topo->n_leaves / topo->n_planes);
	return leaves >= 2 && b->n == leaves;
}

/* The GPUs that send, and those that they send to. */
static bool balanced_pairs(struct balanced *b)
{
	struct trial *t = b->t;

	if (t->fabric->hosts) {
		trial_missing(t, NULL, "how switches of real hosts spread is not set from here");
		return false;
	}
	if (test_param(t->test, "leaves"))
		return balanced_ring(b, trial_count(t, "leaves"));
	b->to_gpu[0] = balanced_peer(t->fabric->topo);
	b->n = 1;
	if (!b->to_gpu[0])
		trial_missing(t, NULL, "all GPUs are behind the same leaf");
	return b->to_gpu[0];
}

static void balanced_model(struct trial *t, unsigned qps)
{
	const struct topo *topo = t->fabric->topo;
	struct link_balance hashed =
		link_balance_hashed(topo->n_planes, topo->n_spines / topo->n_planes, qps, t->seed);
	bool is_hash = !strcmp(t->strategy_name, "ecmp") || !strcmp(t->strategy_name, "bth"),
	     is_flowlet = !strcmp(t->strategy_name, "flowlet");

	trial_model(t, "MMR",
		    is_flowlet ? NAN
		    : is_hash  ? hashed.mmr
			       : 1,
		    "flowlets: between the hash and 1, as pauses come");
	if (is_flowlet)
		trial_missing(t, "JFI_model", "flowlets: between the hash and 1, as pauses come");
	else
		trial_value(t, "JFI_model", is_hash ? hashed.jfi : 1, 1);
}

/* Both counters begin with the warm-up. */
static void balanced_order(struct trial *t, const struct measured *m)
{
	double seconds = t->warm_s + t->seconds;

	trial_value(t, "Out_of_order_rate", (double)m->books.out_of_order / seconds,
		    m->books.out_of_order);
	trial_value(t, "Retransmission_rate", (double)m->books.retransmitted / seconds,
		    m->books.retransmitted);
	trial_value(t, "Packet_drop_rate", load_links(t, m, NULL).drop_ppm, 1);
}

static void balanced_add(struct trial *t, const struct balanced *b, const struct measured *m,
			 unsigned qps)
{
	const struct topo *topo = t->fabric->topo;
	bool *sends = calloc(topo->n_leaves + 1, sizeof(*sends));
	struct link_balance use;
	double full;

	if (!sends) {
		t->err = -ENOMEM;
		return;
	}
	for (unsigned i = 0; i < b->n; i++)
		for (unsigned plane = 0; plane < topo->n_planes; plane++)
			sends[topo->gpus[b->from_gpu[i]].plane[plane].leaf] = true;
	use = uplinks_balance(&b->uplinks, sends);
	free(sends);
	if (!use.n) {
		trial_missing(t, NULL, "no byte left the leaves by their uplinks");
		return;
	}
	full = uplinks_full_bytes(&b->uplinks);
	trial_value(t, "MMR", use.mmr, use.n);
	trial_value(t, "JFI", use.jfi, use.n);
	trial_value(t, "Link_utilization_max", use.max / full * 100, use.n);
	trial_value(t, "Link_utilization_min", use.min / full * 100, use.n);
	trial_value(t, "Link_utilization_mean", use.mean / full * 100, use.n);
	trial_value(t, "goodput", m->load[0].bps / 1e6, m->load[0].messages);
	balanced_order(t, m);
	balanced_model(t, qps);
}

static int balanced_measure(struct balanced *b, unsigned qps)
{
	struct trial *t = b->t;
	struct traffic_load load;
	unsigned index;
	struct plan plan = {0};
	struct measured m;
	int err;

	t->strategy = STRATEGY_ECMP; /* every QP carries the same */
	load = trial_load(t, "qps", qps);
	index = plan_load(&plan, &load);
	for (unsigned i = 0; i < b->n; i++)
		plan_stream(&plan, index, b->from_gpu[i], b->to_gpu[i], MESSAGES, MESSAGE_BYTES);
	err = uplinks_init(&b->uplinks, t->fabric);
	if (!err)
		err = trial_measure(t, &plan, uplinks_meanwhile, &b->uplinks, &m);
	plan_fini(&plan);
	if (!err) {
		balanced_add(t, b, &m, qps);
		measured_fini(&m);
	}
	uplinks_fini(&b->uplinks);
	return err;
}

static int balanced_run(struct trial *t)
{
	bool is_flowlet = strcmp(t->strategy_name, "flowlet") == 0;
	struct balanced b = {.t = t};
	int err;

	if (test_param(t->test, "leaves"))
		simulated_add_leaves(t, trial_count(t, "leaves"), trial_count(t, "qps"),
				     t->strategy_name);
	if (!balanced_pairs(&b))
		return 0;
	err = training_spread(t, t->strategy_name,
			      is_flowlet && test_param(t->test, "gap") ? trial_count(t, "gap") : 0);
	if (err)
		return err > 0 ? 0 : err;
	return balanced_measure(&b, trial_count(t, "qps"));
}

/* What a mode changes against ECMP, of the medians. */
static int balanced_derive(const struct test *test, struct rows *rows)
{
	static const struct {
		const char *kpi, *delta;
		bool percent;
	} of[] = {{"MMR", "MMR_delta", false},
		  {"JFI", "JFI_delta", false},
		  {"goodput", "goodput_delta", true}};
	int err = 0;

	for (size_t k = 0; k < sizeof(of) / sizeof(of[0]); k++) {
		struct rows_filter filter = {.test = test->id, .kpi = of[k].kpi, .trial = 0};

		ROWS_EACH_WHILE (!err, i, rows, &filter) {
			const struct row row = *rows_at(rows, i);
			double own = derive_median(rows, test->id, row.strategy, of[k].kpi,
						   row.n_params, row.param, 0.5);
			double base = derive_median(rows, test->id, BALANCE_BASE, of[k].kpi,
						    row.n_params, row.param, 0.5);

			if (strcmp(row.strategy, BALANCE_BASE) != 0)
				err = derive_value(rows, &row, of[k].delta,
						   of[k].percent ? (own / base - 1) * 100
								 : own - base);
		}
	}
	return err;
}

static const char *const hash_modes[] = {BALANCE_BASE, "bth", NULL};
static const char *const flowlet_modes[] = {BALANCE_BASE, "flowlet", NULL};
static const char *const spray_modes[] = {BALANCE_BASE, "spray", "adaptive", NULL};
static const char *const all_modes[] = {BALANCE_BASE, "bth", "flowlet", "adaptive", "spray", NULL};

#define PARAM_QPS(...) PARAM("qps", PARAM_COUNT, "", "QPs between two servers", __VA_ARGS__)

static const struct param leaf_params[] = {
	PARAM_QPS("1,4,8,16,32"),
	PARAM("leaves", PARAM_COUNT, "", "of plane 0, a server of each sends to one of the next",
	      "2", "2,8,16,32,64", "8,16,32,64"),
	LIST_END};
static const struct param sweep_params[] = {PARAM_QPS("1,4,8,16,32"), LIST_END};
static const struct param gap_params[] = {PARAM_QPS("4"),
					  PARAM("gap", PARAM_COUNT, "us",
						"a pause after which a flow may go elsewhere",
						"100,1000", "50,100,200,500,1000"),
					  LIST_END};
static const struct param one_params[] = {PARAM_QPS("4"), LIST_END};

#define BALANCE_KPIS                                                                               \
	KPI("MMR", "", "DUT-F", "bytes of a leaf's busiest uplink over the mean of its uplinks",   \
	    BETTER_LOWER, 0),                                                                      \
		KPI("JFI", "", "DUT-F",                                                            \
		    "(sum x)^2 / (n sum x^2) of the bytes of a leaf's n uplinks", BETTER_HIGHER,   \
		    0),                                                                            \
		KPI("JFI_model", "", "", "mean of draws of hashes; 1 where packets are sprayed",   \
		    BETTER_NONE, 0),                                                               \
		KPI("MMR_delta", "", "DUT-F", "median less that of " BALANCE_BASE, BETTER_LOWER,   \
		    0),                                                                            \
		KPI("JFI_delta", "", "DUT-F", "median less that of " BALANCE_BASE, BETTER_HIGHER,  \
		    0),                                                                            \
		KPI("Link_utilization_max", "%", "DUT-F", "of the busiest uplink", BETTER_NONE,    \
		    0),                                                                            \
		KPI("Link_utilization_min", "%", "DUT-F", "of the idlest uplink", BETTER_HIGHER,   \
		    0),                                                                            \
		KPI("Link_utilization_mean", "%", "DUT-F", "of the sending leaves' uplinks",       \
		    BETTER_NONE, 0),                                                               \
		KPI("goodput", "Mb/s", "DUT-N", "payload acknowledged", BETTER_HIGHER, 0),         \
		KPI("goodput_delta", "%", "DUT-N", "median against that of " BALANCE_BASE,         \
		    BETTER_HIGHER, 0),                                                             \
		KPI("Out_of_order_rate", "packets/s", "DUT-N",                                     \
		    "that reached a QP while one before them was missing, late or lost (as NICs "  \
		    "count out_of_sequence)",                                                      \
		    BETTER_LOWER, 0),                                                              \
		KPI("Retransmission_rate", "packets/s", "DUT-N", "by the sending QPs",             \
		    BETTER_LOWER, 0),                                                              \
		KPI_DROPS, KPI_MODEL("MMR", "")

static const struct kpi kpis[] = {BALANCE_KPIS, LIST_END};
static const struct kpi leaf_kpis[] = {
	BALANCE_KPIS, SIMULATED_KPI("uplinks_JFI", "", "of a leaf's uplinks", BETTER_HIGHER),
	SIMULATED_KPI("uplinks_MMR", "", "busiest uplink over the leaf's mean", BETTER_LOWER),
	LIST_END};

#define BALANCE_TABLE                                                                              \
	"MMR", "model", "JFI", "JFI_model", "MMR_delta", "JFI_delta", "Link_utilization_max",      \
		"Link_utilization_min", "Link_utilization_mean"
#define BALANCE_ORDER                                                                              \
	"Out_of_order_rate", "Retransmission_rate", "Packet_drop_rate", "goodput", "goodput_delta"
#define BALANCE_VIEWS(by, panel)                                                                   \
	VIEW(VIEW_TABLE, "Uplinks", by, "strategy", panel, BALANCE_TABLE),                         \
		VIEW(VIEW_TABLE, "Order of packets", by, "strategy", panel, BALANCE_ORDER),        \
		VIEWS_END

static const struct view leaf_views[] = {
	{VIEW_FIELDS(VIEW_LINES, "Fairness of uplinks over QPs", "qps", "strategy", "leaves",
		     "JFI"),
	 .log_x = true, .reference = "JFI_model"},
	VIEW(VIEW_TABLE,
	     "Simulated, not measured: a server of each leaf sends, spines as in the lab", "leaves",
	     "qps", NULL, KPI_SIMULATED "uplinks_JFI", KPI_SIMULATED "uplinks_MMR"),
	BALANCE_VIEWS("qps", "leaves")};
static const struct view sweep_views[] = {
	{VIEW_FIELDS(VIEW_LINES, "Fairness of uplinks over QPs", "qps", "strategy", NULL, "JFI"),
	 .log_x = true, .reference = "JFI_model"},
	BALANCE_VIEWS("qps", NULL)};
static const struct view gap_views[] = {
	VIEW(VIEW_BARS, "Fairness of uplinks over the gap", "gap", "strategy", NULL, "JFI"),
	BALANCE_VIEWS("gap", NULL)};
static const struct view one_views[] = {
	VIEW(VIEW_BARS, "Fairness of uplinks by mode", "qps", "strategy", NULL, "JFI"),
	BALANCE_VIEWS("qps", NULL)};

#define BALANCE_TEST(of, title, means, modes, swept, counted, seen)                                \
	{                                                                                          \
		.id = "T" of, .name = title, .clause = TRAINING_DRAFT of, .dut = "DUT-F",          \
		.summary = means, .needs = NEED_TWO_SERVERS | NEED_SPINES, .strategies = modes,    \
		.trials = {2, 10, 20}, .seconds = {1, 5, 60}, .params = swept, .kpis = counted,    \
		.views = seen, .run = balanced_run, .derive = balanced_derive,                     \
	}

const struct test test_t8_1 = BALANCE_TEST(
	"8.1", "ECMP Entropy and Polarization",
	"QPs from a server of each leaf to one of the next, each with the same bytes and a source "
	"port of its own, hashed by the leaves (BPF, emulated); bth hashes the destination QP as "
	"well.",
	hash_modes, leaf_params, leaf_kpis, leaf_views);
const struct test test_t8_2 =
	BALANCE_TEST("8.2", "Dynamic Load Balancing (Flowlet)",
		     "4 QPs from one server to one behind another leaf; after a pause of the gap "
		     "a flow may take another uplink (by chance: the lab's leaves, emulated).",
		     flowlet_modes, gap_params, kpis, gap_views);
const struct test test_t8_3 = BALANCE_TEST(
	"8.3", "Packet Spraying",
	"As T8.2; each packet takes an uplink by itself, by chance or the one with the least "
	"queued. Neither leaves (emulated) nor RC QPs have a reorder buffer: what arrives out of "
	"order is sent again.",
	spray_modes, sweep_params, kpis, sweep_views);
const struct test test_t8_4 =
	BALANCE_TEST("8.4", "Jain Fairness Index by Strategy",
		     "As T8.2, 4 QPs, by every mode of the leaves (BPF, emulated).", all_modes,
		     one_params, kpis, one_views);
