/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_plain.c - an unmodified program, a plane dies silently: plain TCP, by BGP's routes alone and
 * by those of fared (kernel_routes).
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "demo/demo.h"
#include "engine/tcp_flows.h"
#include "suite/trial.h"

#define PLAIN_PORT	  9000
#define PLAIN_FLOWS	  64
#define PLAIN_SHARE	  0.35	     /* of what the links carry: no queue is what makes it wait */
#define PLAIN_BEFORE_NS	  1000000000 /* until the fault */
#define PLAIN_PACES_PER_S 200	     /* tcp_flows.h */

/*
 * The reload is of a fared that was started with kernel_routes off, and has no process that adds
 * the rule: it is added as fared.yaml(5) tells an operator to. $1: fared's run directory, $2:
 * farectl, $3: the peer, $4: next hops to wait for.
 */
static const char plain_on[] =
	"c=${1%/*}/fared.yaml; sed -i '/^kernel_routes:/d; 1i kernel_routes: on' $c || exit\n"
	"for v in -4 -6; do ip $v rule add pref 32765 lookup 7784 || exit; done\n"
	"$2 -s $1 reload >/dev/null || exit\n"
	"for i in $(seq 200); do\n"
	"	n=$(ip route show table 7784 $3 2>/dev/null | grep -o 'dev ' | wc -l)\n"
	"	[ $n = $4 ] && exit\n"
	"	sleep 0.05\n"
	"done\n"
	"echo no route of fared to $3 >&2; exit 1\n";
static const char plain_off[] = "c=${1%/*}/fared.yaml; grep -q '^kernel_routes:' $c || exit 0\n"
				"sed -i '/^kernel_routes:/d' $c; $2 -s $1 reload >/dev/null\n"
				"for v in -4 -6; do ip $v rule del pref 32765 lookup 7784; done\n";

/* ---- the lab --------------------------------------------------------------- */

static int plain_set_one(const struct fabric *fabric, unsigned gpu, unsigned peer, bool on)
{
	const struct topo *topo = fabric->topo;
	const struct topo_server *server = &topo->servers[topo->gpus[gpu].server];
	unsigned n = 0;
	char hops[16];
	const char *args[] = {server->name,
			      "--",
			      "sh",
			      "-c",
			      on ? plain_on : plain_off,
			      "sh",
			      server->fared_run_dir,
			      fabric->lab.farectl,
			      topo->gpus[peer].ipv4,
			      hops,
			      NULL};

	for (unsigned p = 0; p < topo->n_planes; p++)
		n += topo->gpus[gpu].plane[p].n_sub_ports;
	snprintf(hops, sizeof(hops), "%u", n);
	return lab_do(&fabric->lab, "exec", args);
}

static int plain_set(const struct fabric *fabric, bool on)
{
	unsigned victim = demo_victim(fabric->topo);
	int err = plain_set_one(fabric, 0, victim, on);

	return err ? err : plain_set_one(fabric, victim, 0, on);
}

/* The leaf drops all that it is to forward, and its links stay up. */
static int plain_gray(const struct fabric *fabric, const char *percent)
{
	const struct topo *topo = fabric->topo;
	const char *leaf = topo->leaves[topo->gpus[0].plane[DEMO_PLANE].leaf].name;
	const char *args[] = {"leaf", leaf, "--loss-percent", percent, NULL};

	return lab_do(&fabric->lab, "gray", args);
}

static void close_plain(void *state)
{
	plain_gray(state, "0");
	plain_set(state, false);
}

/* ---- the program ----------------------------------------------------------- */

struct plain {
	const struct fabric *fabric;
	double seconds;
	size_t pace;
	pid_t sender, receiver;
	struct tcp_flows_received *received; /* shared with the receiver */
};

static const struct topo_gpu *plain_gpu(const struct plain *p, bool sends)
{
	return &p->fabric->topo->gpus[sends ? 0 : demo_victim(p->fabric->topo)];
}

static int plain_send(const struct plain *p)
{
	int err = -ECONNREFUSED;

	for (unsigned i = 0; i < 500 && err == -ECONNREFUSED; i++) {
		err = tcp_flows_send(plain_gpu(p, true)->ipv4, plain_gpu(p, false)->ipv4,
				     PLAIN_PORT, PLAIN_FLOWS, p->seconds + 1, p->pace);
		if (err == -ECONNREFUSED)
			clock_pause_ns(10000000);
	}
	return err;
}

static pid_t plain_start(const struct plain *p, bool sends)
{
	const struct topo_gpu *gpu = plain_gpu(p, sends);
	pid_t pid = fork();
	int err;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	err = lab_enter(p->fabric->topo->servers[gpu->server].netns);
	if (!err)
		err = sends ? plain_send(p)
			    : tcp_flows_receive(gpu->ipv4, PLAIN_PORT, PLAIN_FLOWS, p->seconds,
						p->received);
	_exit(err ? 1 : 0);
}

static bool plain_is_over(pid_t pid, int *err)
{
	int status;
	pid_t ended = waitpid(pid, &status, WNOHANG);

	if (ended == 0)
		return false;
	if (ended != pid || !WIFEXITED(status) || WEXITSTATUS(status))
		*err = -EREMOTEIO;
	return true;
}

static void plain_kill(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Strikes when it is time, and waits for the receiver. */
static int plain_watch(struct plain *p, uint64_t *inject_ns)
{
	volatile uint64_t *from_ns = &p->received->from_ns;
	int err = 0, of_receiver = 0;

	*inject_ns = 0;
	while (!err && !plain_is_over(p->receiver, &of_receiver)) {
		clock_pause_ns(5000000);
		if (*inject_ns || !*from_ns || clock_now_ns() < *from_ns + PLAIN_BEFORE_NS)
			continue;
		*inject_ns = clock_now_ns();
		err = plain_gray(p->fabric, "100");
	}
	if (err)
		plain_kill(p->receiver);
	plain_kill(p->sender);
	if (!err && !of_receiver && !*inject_ns)
		of_receiver = -ETIMEDOUT; /* it was over before the fault */
	return err ? err : of_receiver;
}

static void plain_add(struct trial *t, const struct tcp_flows_received *r, uint64_t inject_ns)
{
	size_t n_before = (size_t)((inject_ns - r->from_ns) / TCP_FLOWS_BIN_NS);
	double before = 0;

	for (size_t i = n_before / 2; i < n_before; i++)
		before += (double)r->bytes[i] / (double)(n_before - n_before / 2);
	trial_value(t, "longest_gap", r->longest_gap_ms, PLAIN_FLOWS);
	trial_set_text(t, "gap_ended", r->gap_is_open ? "no: the gap is at least so long" : "yes");
	for (size_t i = n_before / 2; i < r->n_bins; i++) {
		/* within half a bin: trials have the same times, which are levels of one axis */
		double bins = ((double)r->from_ns - (double)inject_ns) / TCP_FLOWS_BIN_NS;
		char at[24];

		snprintf(at, sizeof(at), "%.2f",
			 (floor(bins) + (double)i + 1) * TCP_FLOWS_BIN_NS / 1e9);
		trial_with(t, "s_since_fault", at);
		trial_value(t, "of_before", (double)r->bytes[i] / before, 1);
	}
	trial_with(t, NULL, NULL);
}

static int plain_measure(struct trial *t, struct plain *p)
{
	uint64_t inject_ns;
	int err;

	*p->received = (struct tcp_flows_received){0};
	p->receiver = plain_start(p, false);
	p->sender = p->receiver < 0 ? -1 : plain_start(p, true);
	if (p->sender < 0) {
		plain_kill(p->receiver);
		return -EAGAIN;
	}
	err = plain_watch(p, &inject_ns);
	if (!err)
		plain_add(t, p->received, inject_ns);
	return err;
}

static int demo_plain_run(struct trial *t)
{
	bool on = strcmp(t->strategy_name, "kernel-routes") == 0;
	struct plain p = {.fabric = t->fabric, .seconds = t->seconds};
	double bps;
	int err;

	if (t->fabric->hosts || !t->fabric->topo->gpus[0].ipv4[0] ||
	    t->fabric->topo->n_planes < 2) {
		trial_missing(t, NULL, "it takes a lab with IPv4 and two planes");
		return 0;
	}
	*t->state = t->fabric;
	fabric_no_cluster(t->fabric);
	bps = fabric_pair_bps(t->fabric, 0, demo_victim(t->fabric->topo)) * PLAIN_SHARE;
	p.pace = (size_t)(bps / 8 / PLAIN_PACES_PER_S / PLAIN_FLOWS);
	p.received = mmap(NULL, sizeof(*p.received), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.received == MAP_FAILED)
		return -ENOMEM;
	err = plain_gray(t->fabric, "0"); /* a run that was killed may have left it */
	if (!err)
		err = plain_set(t->fabric, on);
	if (!err)
		err = plain_measure(t, &p);
	munmap(p.received, sizeof(*p.received));
	if (!err)
		err = plain_gray(t->fabric, "0");
	if (!err && on)
		err = plain_set(t->fabric, false);
	return err ? err : fabric_daemons(t->fabric);
}

static const char *const strategies[] = {"bgp-alone", "kernel-routes", NULL};

const struct test test_demo_plain = {
	.id = "demo-plain",
	.name = "An unmodified program, a plane dies silently",
	.clause = "draft-calabria-bmwg-ai-fabric-inference-bench-02, 12.3",
	.dut = "fared",
	.summary = "64 TCP connections of a program that knows nothing of fared, at a third of "
		   "what the links carry. A leaf drops everything from one moment on, with its "
		   "links up. bgp-alone: BGP's routes, which stay for the hold time (3 s) and "
		   "graceful restart (20 s), longer than what is shown; kernel-routes: fared's "
		   "before them (kernel_routes: on).",
	.needs = NEED_TWO_SERVERS | NEED_FAULTS | NEED_ONE_MACHINE,
	.strategies = strategies,
	.trials = {1, 3, 10},
	.seconds = {5, 5, 5},
	.kpis = KPIS({"longest_gap", "ms", "DUT-N",
		      "in which one of the connections received nothing", BETTER_LOWER, 0},
		     {"gap_ended", "", "DUT-N", "before the trial did", BETTER_NONE, 0},
		     {"of_before", "", "DUT-N", "what arrives, over what arrived before the fault",
		      BETTER_NONE, 0}),
	.views = VIEWS(VIEW(VIEW_LINES, "What an unmodified program receives around the fault",
			    "s_since_fault", "strategy", NULL, "of_before"),
		       VIEW(VIEW_TABLE, "An unmodified program, and a plane that dies silently",
			    NULL, "strategy", NULL, "longest_gap", "gap_ended")),
	.run = demo_plain_run,
	.close = close_plain,
};
