/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fabric/optimum.h"
#include "procedure/load.h"
#include "suite/kpis.h"

#define VERIFY_NONE (1u << 20) /* the first message alone */
#define OUTSTANDING (4u << 20) /* bytes under way at least, where 16 messages are as much */

static unsigned slots_for(double size)
{
	double slots = OUTSTANDING / size;

	return slots > 16 ? 16 : slots < 2 ? 2 : (unsigned)slots;
}

/* Every so many messages are filled and compared whole, the others by their header alone. */
static bool verify_every(struct trial *t, unsigned *every)
{
	static const struct {
		const char *name;
		unsigned every;
	} levels[] = {{"all", 1}, {"sampled", 16}, {"header", VERIFY_NONE}};

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(trial_text(t, "verify"), levels[i].name) == 0) {
			*every = levels[i].every;
			return true;
		}
	trial_missing(t, NULL, "%s: all, sampled or header is expected", trial_text(t, "verify"));
	return false;
}

static const char *const line_kpis[] = {"line_used", "line_resent", "line_other"};

/* Of the sender's links: payload and its headers, what is sent again, and the rest: probes and
 * answers to those of others, credits, BGP. */
static void add_line_used(struct trial *t, const struct measured *m)
{
	const bool sender[TOPO_MAX_GPUS] = {true};
	struct load_links use = load_links(t, m, sender);
	const struct topo *topo = t->fabric->topo;
	double wire_bps = fabric_line_bps(t->fabric, 0) / optimum_goodput_factor(topo),
	       resent_bps = (double)m->books.retransmitted * (topo->mtu_bytes + 14) * 8 /
			    (t->warm_s + t->seconds),
	       resent = resent_bps / wire_bps,
	       data = m->load[0].bps / fabric_line_bps(t->fabric, 0);

	if (!use.n) {
		for (unsigned i = 0; i < 3; i++)
			trial_missing(t, line_kpis[i],
				      "no counter of the sender's links can be read");
		return;
	}
	trial_value(t, line_kpis[0], use.mean * 100, use.n);
	trial_value(t, line_kpis[1], resent * 100, m->books.retransmitted);
	/* links and messages are counted at moments of their own: it is not below 0 */
	trial_value(t, line_kpis[2], fmax(0, use.mean - data - resent) * 100, use.n);
}

static int kv_throughput_run(struct trial *t)
{
	double size = trial_number(t, "size"), line;
	unsigned qps = trial_count(t, "qps"), load, dst = 0;
	struct traffic_load kv = trial_load(t, "kv", qps);
	struct plan plan = {0};
	struct measured m;
	bool can = true;
	int err, named = topo_find_gpu(t->fabric->topo, trial_text(t, "dst"));

	if (strcmp(trial_text(t, "dst"), "last") == 0)
		named = (int)trial_gpus(t) - 1;
	if (named < 1 || t->fabric->topo->gpus[named].server == t->fabric->topo->gpus[0].server) {
		fprintf(stderr,
			"farebench: 5.1: dst=%s: last, or a GPU of another server than GPU 0 is "
			"expected, as s2/g0\n",
			trial_text(t, "dst"));
		return -EINVAL;
	}
	dst = (unsigned)named;
	if (!load_divides(t, qps))
		return 0;
	kv.read = load_is_read(t, &can);
	if (!can || !verify_every(t, &kv.verify_every))
		return 0;
	load = plan_load(&plan, &kv);
	plan_stream(&plan, load, 0, dst, slots_for(size), (uint64_t)size);
	err = trial_measure(t, &plan, NULL, NULL, &m);
	plan_fini(&plan);
	if (err)
		return err;
	line = fabric_pair_bps(t->fabric, 0, dst);
	trial_value(t, "KV_xfer_bandwidth", m.load[0].bps / 8e6, m.load[0].messages);
	trial_value(t, "of_line", m.load[0].bps / line * 100, m.load[0].messages);
	trial_value(t, "line", line / 8e6, 1);
	add_line_used(t, &m);
	trial_value(t, "CPU_sender", m.cpu[0] * 100, 1);
	trial_value(t, "CPU_receiver", m.cpu[dst] * 100, 1);
	trial_missing(t, "GPU_to_NIC_overhead", "%s", fabric_lacks(t->fabric, FABRIC_GPU_MEMORY));
	trial_missing(t, "NIC_offload", "%s", fabric_lacks(t->fabric, FABRIC_NIC_ENGINES));
	trial_model(t, "KV_xfer_bandwidth", line / 8e6, "");
	measured_fini(&m);
	return 0;
}

const struct test test_5_1 = {
	INFERENCE_CLAUSE("5.1"),
	.name = "Point-to-Point KV Cache Transfer Throughput",
	.dut = "DUT-F",
	.summary = "One pair of GPUs, one-sided writes with notification, or reads, closed loop, "
		   "every byte verified at the receiver.",
	.needs = NEED_TWO_SERVERS,
	.trials = {3, 10, 20},
	.seconds = {0.8, 4, 60},
	.params = PARAMS(PARAM("size", PARAM_BYTES, "bytes", "of a message", "64K,1M,4M",
			       "64K,256K,1M,4M,16M", "64K,256K,1M,4M,16M,64M,256M,1G"),
			 PARAM("qps", PARAM_COUNT, "", "QPs of the pair", "8,32", "8,16,32,64,128",
			       "1,4,8,16,32,64,128"),
			 PARAM_VERB,
			 PARAM("verify", PARAM_TEXT, "",
			       "all: every byte of every message is made up and compared; sampled: "
			       "of every 16th; header: 40 bytes of each",
			       "all"),
			 PARAM("dst", PARAM_TEXT, "",
			       "GPU that receives from GPU 0: last, s2, s2/g1", "last")),
	.kpis = KPIS(
		KPI_KV_BANDWIDTH, KPI_OF_LINE, KPI_LINE,
		{"line_used", "%", "DUT-F",
		 "bytes of all packets on the sender's links, of what they pass, mean of links",
		 BETTER_NONE, 0},
		{"line_resent", "%", "DUT-N", "of line_used, packets that were sent again",
		 BETTER_LOWER, 0},
		{"line_other", "%", "DUT-N",
		 "of line_used, neither payload with its headers (of_line) nor sent again: probes "
		 "of "
		 "fared and answers to those of others, credits, BGP: so many packets a second, so "
		 "a "
		 "smaller share of faster links; wrong by what was under way at either end of the "
		 "time measured",
		 BETTER_NONE, 0},
		{"CPU_sender", "%", "DUT-N", "of a core, the sending process", BETTER_LOWER, 0},
		{"CPU_receiver", "%", "DUT-N", "of a core, the receiving process", BETTER_LOWER, 0},
		{"GPU_to_NIC_overhead", "us", "DUT-PD", "of moving a block to the NIC",
		 BETTER_LOWER, 0},
		{"NIC_offload", "%", "DUT-N", "utilisation of the NIC's engines", BETTER_NONE, 0},
		KPI_MODEL("KV_xfer_bandwidth", "MB/s")),
	.views = VIEWS({VIEW_FIELDS(VIEW_LINES, "Throughput over message size", "size", "qps",
				    "strategy", "KV_xfer_bandwidth"),
			.log_x = true, .reference = "line"},
		       VIEW(VIEW_TABLE, "Throughput and CPU", "size", "qps", "strategy",
			    "KV_xfer_bandwidth@mean", "KV_xfer_bandwidth", "of_line", "line_used",
			    "line_resent", "line_other", "CPU_sender", "CPU_receiver", "model",
			    "model_ratio"),
		       VIEW(VIEW_TABLE, "Memory to NIC", "size", "qps", "strategy",
			    "GPU_to_NIC_overhead", "NIC_offload")),
	.run = kv_throughput_run,
};
