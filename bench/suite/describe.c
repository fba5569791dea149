/* SPDX-License-Identifier: BSD-2-Clause */
#include "suite/describe.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/command.h"
#include "core/machine.h"
#include "fabric/leaf_load.h"
#include "fabric/optimum.h"
#include "frr_install.h"
#include "suite/suite.h"
#include "suite/trial.h"
#include "wire/roce_ports.h"
#include "workload/custom.h"
#include "workload/serving.h"

#define DESCRIBE_S(n) ((n) == 1 ? "" : "s")

static void describe_row(json_t *table, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void describe_row(json_t *table, const char *name, const char *format, ...)
{
	char *value = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&value, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	json_array_append_new(json_object_get(table, "rows"), json_pack("[s, s]", name, value));
	free(value);
}

static const char *describe_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "unknown";
}

static json_t *describe_table(json_t *tables, const char *title)
{
	json_t *table = json_pack("{s:s, s:[]}", "title", title, "rows");

	json_array_append_new(tables, table);
	return table;
}

/* Of the release that a lab runs: as farelab finds it. */
static void describe_frr(json_t *table)
{
	char error[FRR_INSTALL_ERROR_MAX];
	struct frr_install frr;

	if (frr_install_find(getenv("FARELAB_FRR"), &frr, error))
		describe_row(table, "Switch software", "not available: no bgpd where FRR lies");
	else
		describe_row(table, "Switch software", "FRR %s", frr.version);
}

/* What the hosts' agents say of their machines. */
static void describe_hosts(json_t *tables, const struct fabric *fabric)
{
	json_t *t = describe_table(tables, "Hosts");

	for (unsigned i = 0; i < fabric->topo->n_servers; i++) {
		const char *name = fabric->topo->servers[i].name, *dev;
		const json_t *about = hosts_about(fabric->hosts, i);
		json_t *devices = json_object_get(about, "devices"), *is;

		describe_row(t, name, "kernel %s; %s, %d cores", describe_text(about, "kernel"),
			     describe_text(about, "processor"),
			     (int)json_integer_value(json_object_get(about, "cores")));
		json_object_foreach (devices, dev, is) {
			char device[2 * TOPO_NAME_MAX];

			snprintf(device, sizeof(device), "%.63s %.15s", name, dev);
			describe_row(t, device, "%.200s",
				     json_string_value(is) ? json_string_value(is) : "unknown");
		}
	}
}

/* What is counted in memory is not kept in a run that stops. */
static const char *describe_since(const struct describe *about)
{
	return about->resumed ? "; since the run was resumed" : "";
}

/* What of them a run had to live with. */
static void describe_hosts_run(json_t *tables, const struct describe *about)
{
	const struct fabric *fabric = about->fabric;
	const struct inventory *inventory = hosts_inventory(fabric->hosts);
	json_t *t = describe_table(tables, "Clocks, counters and limits of the hosts");

	if (hosts_options(fabric->hosts)->mpirun)
		describe_row(t, "MPI's ranks by", "%s", hosts_options(fabric->hosts)->mpirun);
	describe_row(t, "Limits",
		     "%.0f Mb/s of payload a GPU, %u s a run, %u s in all; addresses in "
		     "198.18.0.0/15, 2001:db8::/32 and %u more ranges",
		     (double)inventory->limits.max_bps / 1e6, inventory->max_run_s,
		     inventory->max_total_s, inventory->limits.n_ranges);
	for (unsigned i = 0; i < fabric->topo->n_servers; i++) {
		const char *name = fabric->topo->servers[i].name;
		char title[TOPO_NAME_MAX + 16],
			*grown = hosts_counters_grown(fabric->hosts, i, true);

		snprintf(title, sizeof(title), "%s clock", name);
		describe_row(t, title, "known to %.1f us against the coordinator's, at worst",
			     hosts_clock_worst_ns(fabric->hosts, i) / 1e3);
		snprintf(title, sizeof(title), "%s counters", name);
		describe_row(t, title, "%s%s", grown && grown[0] ? grown : "nothing was counted",
			     describe_since(about));
		free(grown);
	}
}

/* What section 14 asks for of a service; most of it is emulated, and says so. */
static void describe_service(json_t *t, const struct fabric *fabric)
{
	const struct trial trial = {.fabric = (struct fabric *)(uintptr_t)fabric};
	unsigned prefill = trial_prefill(&trial), decode = trial_gpus(&trial) - prefill;
	const struct model *model = model_find("CFG-B");
	const struct moe_config *experts = moe_config_find("M3");

	describe_row(t, "Model, parameter count",
		     "%s (%s; by table 9 of the methodology the class of 70 billion parameters), "
		     "with experts of %s (E=%u, k=%u, H=%u), where a test names none. No weights "
		     "are loaded: caches and times are what the model's name stands for",
		     model->name, model->what, experts->name, experts->experts, experts->top_k,
		     experts->hidden);
	describe_row(t, "Parallelism",
		     "prefill: TP 1, PP 1, DP %u; decode: TP 1, PP 1, DP %u, EP %u. 6.3 emulates "
		     "other shapes, section 7 the EP of its parameter",
		     prefill, decode, decode);
	describe_row(t, "xPyD ratio", "%uP%uD GPUs, where a test has no workers of its own",
		     prefill, decode);
	describe_row(t, "Traffic generation (3.4)",
		     "a software workload emulator: processes in place of accelerators send, "
		     "receive and verify the bytes");
	describe_row(t, "KV cache transfer library",
		     "libfare %s (one-sided writes with notification)", FARE_VERSION);
	describe_row(t, "Inference serving framework", "emulated by farebench %s", FARE_VERSION);
}

static void describe_system(json_t *tables, const struct describe *about)
{
	json_t *t = describe_table(tables, "System configuration");
	const struct fabric *fabric = about->fabric;
	const struct machine *machine = about->machine;

	describe_row(t, "farebench", "%s", FARE_VERSION);
	describe_row(t, "Command", "%s", machine->command);
	describe_row(t, "Started", "%s", machine->started);
	describe_row(t, "Kernel", "%s", machine->kernel);
	describe_row(t, "Processor", "%s, %d cores", machine->processor, machine->cores);
	if (!fabric)
		return;
	describe_row(t, "Accelerators", "%u processes stand for as many GPUs; %s",
		     fabric->topo->n_gpus, fabric_lacks(fabric, FABRIC_GPU_MEMORY));
	if (fabric->hosts) {
		describe_row(t, "NIC, firmware", "see Hosts; RoCEv2 by %s",
			     hosts_inventory(fabric->hosts)->verbs ? "the devices (verbs)"
								   : "libfare's soft provider");
		describe_row(t, "Switches", "not known to farebench: the inventory names hosts");
	} else {
		describe_row(t, "NIC, firmware",
			     "virtual Ethernet; RoCEv2 by libfare's soft provider");
		describe_row(t, "Switches", "Linux namespaces, one per leaf, with FRRouting");
		describe_frr(t);
	}
	if (about->draft)
		describe_service(t, fabric);
}

/* "25.0", or "25.0 to 50.0" where they differ. */
static void describe_rates(const struct topo *topo, char *out, size_t size)
{
	double least = INFINITY, most = 0;

	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		for (unsigned plane = 0; plane < topo->n_planes; plane++) {
			const struct topo_plane *p = &topo->gpus[gpu].plane[plane];

			for (unsigned s = 0; s < p->n_sub_ports; s++) {
				least = fmin(least, (double)p->sub_port[s].rate_bps / 1e6);
				most = fmax(most, (double)p->sub_port[s].rate_bps / 1e6);
			}
		}
	if (least == most)
		snprintf(out, size, "%.1f", most);
	else
		snprintf(out, size, "%.1f to %.1f", least, most);
}

/* Appendix D of the inference draft, and how many QPs share the frames. */
static void describe_frames(json_t *t, const struct fabric *fabric)
{
	unsigned ports = fabric->topo->n_planes * fabric->topo->gpus[0].plane[0].n_sub_ports;

	describe_row(t, "Frames of data",
		     "RoCEv2 by IPv%s, UDP port 4791, DSCP %u, ECN %s; the source port is the "
		     "entropy of a QP's path",
		     fabric->topo->gpus[0].ipv4[0] ? "4" : "6", FARE_DSCP,
		     (ROCE_TRAFFIC_CLASS(FARE_DSCP) & 3) == 2 ? "ECT(0)" : "not ECT");
	describe_row(
		t, "QPs of a pair",
		"%u: one for each sub-port of a GPU, where a test has none of its own (5.1, 7.2)",
		ports);
}

/* How the lab's leaves treat queues, as section 13 of the training draft asks. */
static void describe_leaf_settings(json_t *t, const struct topo *topo)
{
	if (!topo->ecn_threshold_bytes)
		describe_row(t, "Marks (ECN)", "none");
	else if (topo->ecn_max_bytes)
		describe_row(t, "Marks (ECN)",
			     "from %llu bytes of queue on, by a ramp to %u%% below %llu bytes, all "
			     "from there on (emulated)",
			     (unsigned long long)topo->ecn_threshold_bytes, topo->ecn_max_percent,
			     (unsigned long long)topo->ecn_max_bytes);
	else
		describe_row(t, "Marks (ECN)", "all from %llu bytes of queue on (emulated)",
			     (unsigned long long)topo->ecn_threshold_bytes);
	if (!topo->pfc.xoff_bytes)
		describe_row(t, "Pauses (PFC)", "none");
	else
		describe_row(t, "Pauses (PFC)",
			     "XOFF at %llu bytes of an ingress port, XON at %llu, headroom %llu "
			     "bytes, watchdog %llu ms (0: none), emulated",
			     (unsigned long long)topo->pfc.xoff_bytes,
			     (unsigned long long)topo->pfc.xon_bytes,
			     (unsigned long long)topo->pfc.headroom_bytes,
			     (unsigned long long)topo->pfc.watchdog_ms);
	if (topo->n_uplinks && topo->leaves[0].lb[0])
		describe_row(t, "Load balancing of leaves", "%s, where a test sets no other",
			     topo->leaves[0].lb);
}

static void describe_fabric(json_t *tables, const struct fabric *fabric)
{
	const struct topo *topo = fabric->topo;
	json_t *t = describe_table(tables, "Fabric");
	const unsigned ports = topo->gpus[0].plane[0].n_sub_ports;
	char rates[64];

	describe_rates(topo, rates, sizeof(rates));
	describe_row(t, fabric->hosts ? "Inventory" : "Lab", "%s", topo->lab);
	if (fabric->hosts)
		describe_row(t, "Topology",
			     "%u servers, %u GPUs, %u plane%s, %u sub-port%s a GPU and plane",
			     topo->n_servers, topo->n_gpus, topo->n_planes,
			     DESCRIBE_S(topo->n_planes), ports, DESCRIBE_S(ports));
	else if (topo->n_spines)
		describe_row(t, "Topology",
			     "%u servers, %u GPUs, %u plane%s of %u leaf switches, %u spines and "
			     "%u superspines each, %u sub-port%s a GPU and plane",
			     topo->n_servers, topo->n_gpus, topo->n_planes,
			     DESCRIBE_S(topo->n_planes), topo->n_leaves / topo->n_planes,
			     topo->n_spines / topo->n_planes, topo->n_superspines / topo->n_planes,
			     ports, DESCRIBE_S(ports));
	else
		describe_row(t, "Topology",
			     "%u servers, %u GPUs, %u plane%s of one switch%s, %u sub-port%s a GPU "
			     "and plane",
			     topo->n_servers, topo->n_gpus, topo->n_planes,
			     DESCRIBE_S(topo->n_planes), topo->n_planes == 1 ? "" : " each", ports,
			     DESCRIBE_S(ports));
	describe_row(t, "Link speed", "%s Mb/s a sub-port (%s)", rates,
		     fabric->hosts ? "as the inventory says" : "shaped");
	if (topo->n_uplinks)
		describe_row(t, "Link speed, leaf to spine", "%.1f Mb/s (shaped)",
			     (double)topo->uplinks[0].rate_bps / 1e6);
	if (!fabric->hosts)
		describe_row(t, "Token bucket", "%u bytes a sub-port pass at once after a pause",
			     topo->bucket_bytes);
	if (!fabric->hosts && topo->queue_bytes)
		describe_row(t, "Queue of a shaped port",
			     "%llu bytes at most, in the leaf and in the "
			     "server; what is more is dropped",
			     (unsigned long long)topo->queue_bytes);
	if (!fabric->hosts)
		describe_leaf_settings(t, topo);
	describe_frames(t, fabric);
	describe_row(t, "Payload of a GPU's line", "%.1f Mb/s", fabric_line_bps(fabric, 0) / 1e6);
	describe_row(t, "Link MTU, path MTU", "%u, %u bytes", topo->mtu_bytes,
		     topo_path_mtu(topo->mtu_bytes, !topo->gpus[0].ipv4[0]));
}

/* Of the emulated service; a test's own parameters stand beside its results. */
static void describe_workload(json_t *tables, const char *file)
{
	json_t *t = describe_table(tables, "Workload");
	const struct trace *trace = custom_trace();
	struct serving_options usual = {.prompt = lengths_usual_prompt,
					.output = lengths_usual_output,
					.trace = trace,
					.per_s = 1};
	char requests[SERVING_TEXT_MAX];

	if (file)
		describe_row(t, "Workload file", "%s", file);
	if (trace)
		describe_row(t, "Trace",
			     "%zu requests; tests without lengths of their own take lengths and "
			     "distances from it, stretched to each test's rate",
			     trace->n);

	custom_requests(&usual.prompt, &usual.output, &usual.burst);
	serving_text(&usual, requests, sizeof(requests));
	describe_row(t, "Requests, where a test has none of its own", "%s", requests);
	describe_row(t, "Pools",
		     "half of the GPUs prefill, half decode; several workers to a GPU where a "
		     "test has more of them");
	describe_row(t, "Decode",
		     "all workers step together: emulated compute, dispatch and combine of "
		     "one layer");
}

static void describe_libfabric(json_t *t)
{
	const char *argv[] = {"fi_info", "--version", NULL};
	struct command_result result = {0};
	char *line, *next;

	if (command_run(argv, 5000, &result)) {
		free(result.out);
		result.out = NULL;
	}
	for (line = result.out; line && strncmp(line, "libfabric:", 10) != 0; line = next)
		next = (next = strchr(line, '\n')) ? next + 1 : NULL;
	if (line)
		line[strcspn(line, "\n")] = '\0';
	describe_row(t, "libfabric of this machine", "%s",
		     line ? line + strspn(line + 10, " ") + 10 : "not known: no fi_info says it");
	free(result.out);
}

static void describe_training(json_t *tables, const struct fabric *fabric)
{
	json_t *t = describe_table(tables, "Workload of the training tests");

	describe_row(
		t, "Load",
		"T5, T7, T8: this program's own workers, by the library or by kernel QPs, as each "
		"test says; T6: libfabric's writes; T9 to T11: an unmodified Open MPI by mpirun, "
		"one rank a GPU of %u, its version below, its transport in each test's strategy",
		fabric->topo->n_gpus);
	describe_row(t, "Operations",
		     "T9 to T11: collectives of whole buffers in host memory, back to back; the "
		     "algorithm is forced, read back, and stands in each test");
	describe_libfabric(t);
	describe_row(t, "Compute", "emulated by waiting, where a test has it (T10.1 and later)");
}

/* Of a lab's leaves, since the run began. */
static void describe_leaves(json_t *t, const struct describe *about)
{
	unsigned n = about->fabric->topo->n_leaves;
	struct leaf_load now;
	double rss;

	if (!about->leaves || !about->leaves->at_ns ||
	    leaf_load_read(&now, about->fabric->topo, &about->fabric->lab))
		return;
	rss = leaf_load_rss_bytes(&now, n);
	describe_row(t, "CPU Utilization (switch)",
		     "%.2f%% of a core: the daemons of the busiest leaf, over the whole run; "
		     "forwarding is the kernel's and not in it",
		     leaf_load_cpu_percent(about->leaves, &now, n));
	describe_row(t, "Memory Usage (switch)",
		     "%.1f MiB resident, %.2f%% of this machine's memory: the daemons of the "
		     "largest leaf; %.1f MiB when the run began. TCAM and buffers: a leaf is a "
		     "namespace, and has none",
		     rss / 1048576,
		     100 * rss / ((double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE)),
		     leaf_load_rss_bytes(about->leaves, n) / 1048576);
	/* a bgpd that was started anew begins at 0 */
	if (now.knows_sessions && about->leaves->knows_sessions &&
	    now.dropped >= about->leaves->dropped)
		describe_row(
			t, "BGP/OSPF Stability",
			"%llu sessions of leaves ended in the whole run, with those that tests "
			"ended by order",
			(unsigned long long)(now.dropped - about->leaves->dropped));
	leaf_load_fini(&now);
}

/* What NICs and switches counted since the run began, and the two rows of table 6 that follow. */
static void describe_counts(json_t *t, const struct describe *about)
{
	const struct fabric *fabric = about->fabric;
	const char *since = describe_since(about);
	struct nic_counts nics = {.known = {false}}, switches = nics;
	char text[2][512];

	if (fabric->hosts && hosts_nic_counts(fabric->hosts, true, &nics, &switches))
		return;
	if (nics.known[NIC_CRC_ERRORS] || switches.known[NIC_CRC_ERRORS])
		describe_row(t, "CRC Error Count", "%llu by NICs, %llu by switches%s",
			     (unsigned long long)nics.grown[NIC_CRC_ERRORS],
			     (unsigned long long)switches.grown[NIC_CRC_ERRORS], since);
	else
		describe_row(t, "CRC Error Count", "not available: %s",
			     fabric_lacks(fabric, FABRIC_CRC));
	if (nics.known[NIC_FEC_UNCORRECTED] || switches.known[NIC_FEC_UNCORRECTED])
		describe_row(
			t, "FEC Error Rate",
			"%llu blocks by NICs and %llu by switches that FEC could not correct%s",
			(unsigned long long)nics.grown[NIC_FEC_UNCORRECTED],
			(unsigned long long)switches.grown[NIC_FEC_UNCORRECTED], since);
	else
		describe_row(t, "FEC Error Rate", "not available: %s",
			     fabric_lacks(fabric, FABRIC_FEC));
	if (!fabric->hosts)
		return;
	nic_counts_show(&nics, text[0], sizeof(text[0]));
	nic_counts_show(&switches, text[1], sizeof(text[1]));
	describe_row(t, "Counted by NICs", "%s%s", *text[0] ? text[0] : "nothing by a known name",
		     since);
	describe_row(t, "Counted by switches", "%s%s",
		     *text[1] ? text[1] : "nothing: the inventory names none, or none answered",
		     since);
}

static void describe_fabric_health(json_t *tables, const struct describe *about)
{
	json_t *t = describe_table(tables, "Fabric health");
	const struct fabric *fabric = about->fabric;

	describe_leaves(t, about);
	describe_counts(t, about);
	describe_row(
		t, "NIC QP State",
		"%llu paths of QP groups died in %u runs of the workers, %llu were set up anew (a "
		"trial has one run, several, or none where other programs send)%s",
		(unsigned long long)fabric->paths.deaths, fabric->paths.runs,
		(unsigned long long)fabric->paths.rebuilds, describe_since(about));
	describe_row(t, "GPU-NIC PCIe BW", "not available: %s", fabric_lacks(fabric, FABRIC_PCIE));
}

static void describe_editions(json_t *t, const struct describe *about)
{
	struct editions e = about->options->editions;
	char text[2][80];

	edition_clause(e, "draft-calabria-bmwg-ai-fabric-inference-bench-02", text[0],
		       sizeof(text[0]));
	edition_clause(e, "draft-calabria-bmwg-ai-fabric-training-bench-02", text[1],
		       sizeof(text[1]));
	describe_row(t, "Editions", "%s%s%s", about->draft ? text[0] : "",
		     about->draft && about->training ? ", " : "", about->training ? text[1] : "");
}

static void describe_run(json_t *tables, const struct describe *about)
{
	json_t *t = describe_table(tables, "Run");

	describe_row(t, "Profile", "%s", profile_name(about->options->profile));
	if (about->draft || about->training)
		describe_editions(t, about);
	describe_row(t, "Seed", "%llu", (unsigned long long)about->seed);
	if (about->fabric && about->fabric->topo->bucket_bytes)
		describe_row(
			t, "Scale",
			"1 : %.0f (bytes of models are divided by it; times are those of the "
			"unscaled line where a transfer is much longer than the %.0f KB that a "
			"GPU's token buckets pass at once)",
			about->scale, optimum_bucket_bytes(about->fabric->topo, 0) / 1e3);
	else
		describe_row(t, "Scale",
			     "1 : %.0f (bytes of models are divided by it, so that times are "
			     "those of the unscaled line)",
			     about->scale);
	describe_row(t, "Measured for", "%.0f s", about->seconds);
	if (about->idle_trials)
		describe_row(t, "Idle time", "%.0f%% of the machine, mean of %u trials",
			     about->idle_percent, about->idle_trials);
	if (about->options->even_busy) {
		describe_row(t, "Trials kept although busy",
			     "%u of %u: %s; none is made again for that (--even-busy)", about->busy,
			     about->included, TRIAL_GUARD_REASON);
		return;
	}
	describe_row(t, "Attempts that do not count", "%u: see Trial accounting", about->repeated);
	describe_row(t, "Trials kept although busy", "%u: none of their attempts was better",
		     about->busy);
}

static void describe_real(json_t *tables, const struct fabric *fabric)
{
	json_t *t = describe_table(tables, "Real and emulated");
	bool verbs = fabric->hosts && hosts_inventory(fabric->hosts)->verbs;
	bool pfc = fabric->topo->pfc.xoff_bytes != 0;

	describe_row(t, "Real",
		     "%sLinux routes, RoCEv2 packets, libfare, every byte between workers and its "
		     "verification, link faults",
		     fabric->hosts ? "Hosts, devices and links as the table Hosts has them, "
				   : "FRRouting's BGP, ");
	describe_row(t, "Emulated", "GPUs and their compute time%s%s%s",
		     verbs ? "" : ", NICs (soft provider)",
		     fabric->hosts ? ""
				   : ", leaf switches, link rates (token buckets of the kernel)",
		     pfc ? ", PFC (an agent stops the queues of who is paused)" : "");
	describe_row(t, "Not here", "%s%sNVLink", pfc || fabric->hosts ? "" : "PFC, ",
		     fabric->hosts ? "" : "FEC, PCIe, ");
}

static void describe_extra(json_t *root, const json_t *extra)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)extra, key, value) {
		if (strcmp(key, "tables") == 0)
			json_array_extend(json_object_get(root, key), value);
		else
			json_object_set(root, key, value);
	}
}

json_t *describe_json(const struct describe *about)
{
	json_t *root = json_pack(
		"{s:s, s:s, s:s, s:I, s:f, s:i, s:i, s:b, s:o, s:f, s:[], s:[]}", "version",
		FARE_VERSION, "profile", profile_name(about->options->profile), "started",
		about->machine->started, "seed", (json_int_t)about->seed, "scale", about->scale,
		"trials_repeated", (int)about->repeated, "trials_busy", (int)about->busy,
		"even_busy", (int)about->options->even_busy, "editions",
		editions_json(about->options->editions), "seconds", about->seconds, "strategies",
		"tables");
	json_t *tables = json_object_get(root, "tables");

	if (!root)
		return NULL;
	for (unsigned i = 0; i < about->options->n_strategies; i++)
		json_array_append_new(
			json_object_get(root, "strategies"),
			json_string(strategy_name((enum strategy)about->options->strategy[i])));
	for (unsigned i = 0; i < about->options->n_own; i++)
		json_array_append_new(json_object_get(root, "strategies"),
				      json_string(about->options->own[i]));
	describe_system(tables, about);
	if (about->fabric) {
		describe_fabric(tables, about->fabric);
		if (about->draft) {
			describe_workload(tables, about->options->workload);
			json_array_append_new(tables, capability_json(about->fabric));
		}
		if (about->training)
			describe_training(tables, about->fabric);
	}
	describe_run(tables, about);
	if (about->fabric) {
		describe_fabric_health(tables, about);
		describe_real(tables, about->fabric);
	}
	if (about->fabric && about->fabric->hosts) {
		describe_hosts(tables, about->fabric);
		describe_hosts_run(tables, about);
	}
	describe_extra(root, about->options->extra);
	if (about->options->args)
		json_object_set_new(root, "words", json_deep_copy(about->options->args));
	return root;
}
