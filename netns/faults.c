/* SPDX-License-Identifier: BSD-2-Clause */
#include "faults.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "fault_state.h"
#include "forwarding.h"
#include "lab_files.h"
#include "lab_record.h"
#include "lb.h"
#include "links.h"
#include "marking.h"
#include "pfc_lab.h"
#include "print_error.h"
#include "process.h"
#include "vty.h"

static int faults_begin(struct lab *lab, struct fault_state *state)
{
	int rc = lab_lock(lab);

	if (!rc) {
		rc = fault_state_load(lab, state);
		if (rc)
			lab_unlock(lab);
	}
	if (rc)
		print_error("cannot read what is broken in lab %s: %s", lab->name, strerror(-rc));
	return rc;
}

/* Records also what was done of a change that failed half-way: healing has to know of it. */
static int faults_end(struct lab *lab, struct fault_state *state, int rc)
{
	int saved = fault_state_save(lab, state);

	if (rc || saved)
		print_error("lab %s: %s; `farelab heal` and try again", lab->name,
			    strerror(rc ? -rc : -saved));
	fault_state_fini(state);
	lab_unlock(lab);
	return rc ? rc : saved;
}

/* Puts one link's leaf end into the state that the faults say. */
static int link_apply(const struct lab *lab, const struct fault_state *state, unsigned number)
{
	char netns[PLAN_NETNS_NAME_MAX];
	struct plan_link link;

	plan_link_at(&lab->topology, number, &link);
	lab_netns(lab, link.leaf, netns);
	return links_set_up(netns, link.leaf_dev, fault_state_live(state, number));
}

int faults_links(struct lab *lab, unsigned first, unsigned n, bool fail)
{
	struct fault_state state;
	int rc = faults_begin(lab, &state);

	if (rc)
		return rc;
	for (unsigned k = first; !rc && k < first + n; k++) {
		state.links[k].failed = fail;
		rc = link_apply(lab, &state, k);
	}
	return faults_end(lab, &state, rc);
}

static int frr_kill(const struct lab *lab, struct plan_host host)
{
	int rc = lab_daemon_kill(lab, host, LAB_BGPD);

	return rc ? rc : lab_zebra_kill(lab, host);
}

static int frr_start(const struct lab *lab, struct plan_host host)
{
	int rc = lab_zebra_start(lab, host);

	if (!rc && !(rc = lab_zebra_wait(lab, host)) && !lab_daemon_pid(lab, host, LAB_BGPD))
		rc = lab_daemon_start(lab, host, LAB_BGPD);
	return rc;
}

int faults_switch(struct lab *lab, struct plan_host host, bool fail)
{
	struct fault_state state;
	int rc = faults_begin(lab, &state);

	if (rc)
		return rc;
	state.switch_failed[host.role][host.index] = fail;
	PLAN_EACH_LINK(&lab->topology, host, k)
	if (!rc)
		rc = link_apply(lab, &state, k);
	if (!fail && !rc)
		rc = forwarding_restore(lab, host);
	/*
	 * Links first: the RST of a dying bgpd would reach its neighbours over live links and start
	 * graceful restart, which a switch that loses its power does not.
	 */
	if (!rc)
		rc = fail ? frr_kill(lab, host) : frr_start(lab, host);
	return faults_end(lab, &state, rc);
}

static int start_daemon(struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	int rc = daemon == LAB_BGPD ? lab_zebra_wait(lab, host) : 0;

	return rc ? rc : lab_daemon_start(lab, host, daemon);
}

static int restart_frr(struct lab *lab, struct plan_host host)
{
	int rc = lab_zebra_start(lab, host);

	if (!rc)
		rc = lab_daemon_kill(lab, host, LAB_BGPD);
	return rc ? rc : start_daemon(lab, host, LAB_BGPD);
}

int faults_daemon(struct lab *lab, struct plan_host host, enum lab_daemon daemon, bool fail)
{
	int rc = lab_lock(lab);

	if (rc)
		return rc;
	if (daemon == LAB_FARED && (host.role != PLAN_SERVER || !lab->fared[0])) {
		print_error("%s", host.role != PLAN_SERVER ? "fared runs on servers only"
							   : "this lab was brought up without "
							     "fared; see `farelab up --fared`");
		rc = -EINVAL;
	} else if (fail) {
		rc = daemon == LAB_ZEBRA ? lab_zebra_kill(lab, host)
					 : lab_daemon_kill(lab, host, daemon);
	} else if (lab_daemon_pid(lab, host, daemon)) {
		rc = daemon == LAB_ZEBRA ? lab_zebra_start(lab, host) : 0; /* mgmtd may be dead */
	} else {
		rc = daemon == LAB_ZEBRA ? restart_frr(lab, host) : start_daemon(lab, host, daemon);
	}
	lab_unlock(lab);
	return rc;
}

/*
 * Classic BPF: a random 32-bit number (the kernel's ancillary data at -4096 + 56) below the
 * threshold drops (TC_ACT_SHOT, 2), any other falls through (TC_ACT_UNSPEC, -1). Everything drops
 * without a throw of dice.
 */
static void gray_filter_line(FILE *in, const char *dev, const char *hook, unsigned loss_ppm)
{
	uint32_t threshold = (uint32_t)(((uint64_t)loss_ppm << 32) / 1000000);

	if (!loss_ppm)
		return;
	fprintf(in, "filter add dev %s %s pref 1 bpf da bytecode ", dev, hook);
	if (loss_ppm >= 1000000)
		fprintf(in, "\"1,6 0 0 2\"\n");
	else
		fprintf(in, "\"4,32 0 0 4294963256,53 1 0 %u,6 0 0 2,6 0 0 4294967295\"\n",
			threshold);
}

static void gray_lines(FILE *in, struct fault_state *state, unsigned number, const unsigned ppm[2])
{
	struct fault_link *f = &state->links[number];
	bool was_gray = fault_state_gray(state, number);
	struct plan_link link;

	plan_link_at(state->topology, number, &link);
	f->from_leaf_loss_ppm = ppm[0] == UINT_MAX ? f->from_leaf_loss_ppm : ppm[0];
	f->to_leaf_loss_ppm = ppm[1] == UINT_MAX ? f->to_leaf_loss_ppm : ppm[1];
	if (was_gray)
		fprintf(in, "qdisc del dev %s clsact\n", link.leaf_dev);
	if (!fault_state_gray(state, number))
		return;
	fprintf(in, "qdisc add dev %s clsact\n", link.leaf_dev);
	gray_filter_line(in, link.leaf_dev, "egress", f->from_leaf_loss_ppm);
	gray_filter_line(in, link.leaf_dev, "ingress", f->to_leaf_loss_ppm);
}

/* number of plan_links(): every link of the leaf. */
static int gray(struct lab *lab, struct plan_host leaf, unsigned number, const unsigned ppm[2])
{
	char netns[PLAN_NETNS_NAME_MAX];
	const char *const tc[] = {"tc", "-n", netns, "-batch", "-", NULL};
	struct process_batch batch;
	struct fault_state state;
	int rc = faults_begin(lab, &state);

	if (rc)
		return rc;
	lab_netns(lab, leaf, netns);
	rc = process_batch_start(&batch, tc);
	if (rc)
		return faults_end(lab, &state, rc);
	if (number < state.n_links)
		gray_lines(batch.in, &state, number, ppm);
	else
		PLAN_EACH_LINK(&lab->topology, leaf, k)
	gray_lines(batch.in, &state, k, ppm);
	rc = process_batch_end(&batch);
	return faults_end(lab, &state, rc ? rc : lb_apply(lab, &state));
}

int faults_gray_link(struct lab *lab, unsigned number, unsigned from_leaf_ppm, unsigned to_leaf_ppm)
{
	struct plan_link link;

	plan_link_ends(&lab->topology, number, &link);
	return gray(lab, link.leaf, number, (const unsigned[]){from_leaf_ppm, to_leaf_ppm});
}

int faults_gray_leaf(struct lab *lab, struct plan_host leaf, unsigned from_leaf_ppm,
		     unsigned to_leaf_ppm)
{
	return gray(lab, leaf, plan_links(&lab->topology),
		    (const unsigned[]){from_leaf_ppm, to_leaf_ppm});
}

/* ---- rates --------------------------------------------------------------- */

static int shape(const struct lab *lab, struct fault_state *state, unsigned number,
		 unsigned rate_mbps)
{
	unsigned old_mbps = state->links[number].rate_mbps;
	char far[PLAN_NETNS_NAME_MAX], leaf[PLAN_NETNS_NAME_MAX];
	struct plan_link link;
	int rc;

	rc = pfc_lab_check(lab, rate_mbps);
	if (rc)
		return rc;
	plan_link_at(&lab->topology, number, &link);
	lab_netns(lab, link.far, far);
	lab_netns(lab, link.leaf, leaf);
	rc = links_shape(far, link.far_dev, &lab->topology, old_mbps, rate_mbps);
	if (!rc)
		rc = links_shape(leaf, link.leaf_dev, &lab->topology, old_mbps, rate_mbps);
	if (!rc && lab->topology.ecn_threshold_kb)
		rc = marking_apply_link(lab, number, rate_mbps);
	if (rc)
		return rc;
	state->links[number].rate_mbps = rate_mbps;
	return lb_apply(lab, state);
}

int faults_throttle(struct lab *lab, unsigned number, unsigned rate_mbps)
{
	struct fault_state state;
	int rc = faults_begin(lab, &state);

	if (rc)
		return rc;
	return faults_end(lab, &state, shape(lab, &state, number, rate_mbps));
}

/* ---- announced to BGP, where it carries rates, and to fared ---- */

/* Line by line, as if typed. */
static int ask_lines(struct vty *vty, char *lines)
{
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(lines, "\n", &save); !rc && line;
	     line = strtok_r(NULL, "\n", &save)) {
		rc = vty_ask(vty, line);
		if (rc)
			print_error("bgpd refuses '%s': %s", line,
				    vty->text ? vty->text : strerror(-rc));
	}
	return rc;
}

/* The sub-links of a server, or only the one of that number, to its bgpd. */
static int announce_to_bgpd(const struct lab *lab, struct plan_host server, unsigned only,
			    const unsigned *announced_mbps)
{
	const struct topology *t = &lab->topology;
	char path[LAB_PATH_MAX], *text = NULL;
	struct vty vty;
	size_t size;
	FILE *f;
	int rc;

	if (!lab_daemon_pid(lab, server, LAB_BGPD))
		return 0; /* it will read its file */
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	fputs("enable\nconfigure terminal\n", f);
	PLAN_EACH_LINK(t, server, k)
	if (only == k || only == plan_links(t))
		config_link_rate(f, t, k, announced_mbps[k]);
	lab_path(lab, server, "frr/bgpd.vty", path);
	rc = fclose(f) ? -ENOMEM : vty_open(&vty, path);
	if (!rc) {
		rc = ask_lines(&vty, text);
		vty_close(&vty);
	}
	free(text);
	return rc;
}

static int announce_to_server(const struct lab *lab, unsigned server, unsigned only,
			      const unsigned *announced_mbps)
{
	const struct plan_host host = {PLAN_SERVER, server};
	pid_t pid = lab_daemon_pid(lab, host, LAB_FARED);
	int rc = 0;

	if (lab->topology.announce_rates && !(rc = lab_files_bgpd(lab, host, announced_mbps)))
		rc = announce_to_bgpd(lab, host, only, announced_mbps);
	if (!rc)
		rc = lab_files_fared(lab, host, announced_mbps);
	return !rc && pid && kill(pid, SIGHUP) ? -errno : rc;
}

static int announce_rate_of(const struct lab *lab, unsigned number, const unsigned *announced_mbps)
{
	struct plan_link link;

	plan_link_ends(&lab->topology, number, &link);
	return announce_to_server(lab, link.gpu.server, number, announced_mbps);
}

static int announce_rate_all(const struct lab *lab, const unsigned *announced_mbps)
{
	int rc = 0;

	for (unsigned k = 0; !rc && k < lab->topology.servers; k++)
		rc = announce_to_server(lab, k, plan_links(&lab->topology), announced_mbps);
	return rc;
}

/* ---- other rates ---- */

static int check_announced(const struct lab *lab, unsigned number, unsigned rate_mbps)
{
	const struct topology *t = &lab->topology;

	if (number >= plan_sub_links(t))
		print_error(
			"FRR cannot announce the rate of a link between switches; use throttle");
	else if (!t->announce_rates)
		print_error("BGP carries numbers of sub-links in lab %s, not rates: use throttle, "
			    "or add announce_rates: true to its topology",
			    lab->name);
	else if (!rate_mbps || rate_mbps > topology_most_announced(t))
		print_error("%u Mbit/s: FRR can announce 1 to %u here", rate_mbps,
			    topology_most_announced(t));
	else
		return 0;
	return -EINVAL;
}

int faults_rate(struct lab *lab, unsigned number, unsigned rate_mbps)
{
	int rc = check_announced(lab, number, rate_mbps);
	struct fault_state state;

	if (rc || (rc = faults_begin(lab, &state)))
		return rc;
	rc = shape(lab, &state, number, rate_mbps);
	if (!rc) {
		state.announced_mbps[number] = rate_mbps;
		rc = announce_rate_of(lab, number, state.announced_mbps);
	}
	return faults_end(lab, &state, rc);
}

int faults_rate_all(struct lab *lab, unsigned rate_mbps)
{
	struct fault_state state;
	int rc = 0;

	if (lab->topology.n_rates || lab->topology.spines_per_plane) {
		print_error("the links of lab %s differ; change them one by one", lab->name);
		return -EINVAL;
	}
	if (lab->topology.announce_rates && (rc = check_announced(lab, 0, rate_mbps)))
		return rc;
	if ((rc = pfc_lab_check(lab, rate_mbps)) || (rc = faults_begin(lab, &state)))
		return rc;
	lab->topology.rate_mbps = rate_mbps;
	for (unsigned k = 0; k < state.n_links; k++)
		state.links[k].rate_mbps = state.announced_mbps[k] = rate_mbps;
	rc = links_shape_all(lab);
	if (!rc && lab->topology.ecn_threshold_kb)
		rc = marking_apply(lab, state.announced_mbps);
	if (!rc)
		rc = lb_apply(lab, &state);
	if (!rc)
		rc = lab_record_set(lab->name, "rate_mbps", rate_mbps);
	if (!rc)
		rc = announce_rate_all(lab, state.announced_mbps);
	return faults_end(lab, &state, rc);
}

int faults_ecn(struct lab *lab, unsigned threshold_kb)
{
	unsigned *rate_mbps = calloc(plan_links(&lab->topology), sizeof(*rate_mbps));
	struct fault_state state;
	int rc = rate_mbps ? faults_begin(lab, &state) : -ENOMEM;

	if (rc) {
		free(rate_mbps);
		return rc;
	}
	for (unsigned k = 0; k < state.n_links; k++)
		rate_mbps[k] = state.links[k].rate_mbps;
	lab->topology.ecn_threshold_kb = threshold_kb;
	rc = marking_apply(lab, rate_mbps);
	if (!rc)
		rc = lab_record_set(lab->name, "ecn_threshold_kb", threshold_kb);
	free(rate_mbps);
	return faults_end(lab, &state, rc);
}

int faults_lb(struct lab *lab, unsigned first, unsigned n, const struct topology_lb *lb)
{
	struct fault_state state;
	int rc = faults_begin(lab, &state);

	if (rc)
		return rc;
	for (unsigned k = first; !rc && k < first + n; k++)
		rc = lb_record(lab, k, lb);
	if (!rc)
		rc = lb_apply(lab, &state);
	return faults_end(lab, &state, rc);
}
