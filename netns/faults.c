/* SPDX-License-Identifier: BSD-2-Clause */
#include "faults.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fault_state.h"
#include "forwarding.h"
#include "lab_record.h"
#include "links.h"
#include "process.h"
#include "say.h"

static int begin(struct lab *lab, struct fault_state *state)
{
	int rc = lab_lock(lab);

	if (!rc) {
		rc = fault_state_load(lab, state);
		if (rc)
			lab_unlock(lab);
	}
	if (rc)
		say("cannot read what is broken in lab %s: %s", lab->name, strerror(-rc));
	return rc;
}

/* Records also what was done of a change that failed half-way: healing has to know of it. */
static int end(struct lab *lab, struct fault_state *state, int rc)
{
	int saved = fault_state_save(lab, state);

	if (rc || saved)
		say("lab %s: %s; `farelab heal` and try again", lab->name,
		    strerror(rc ? -rc : -saved));
	fault_state_fini(state);
	lab_unlock(lab);
	return rc ? rc : saved;
}

/* Puts one link's leaf end into the state that the faults say. */
static int link_apply(const struct lab *lab, const struct fault_state *state, struct plan_gpu gpu,
		      unsigned plane, unsigned sub)
{
	char netns[PLAN_NETNS_NAME_MAX];
	struct plan_link link;

	lab_netns(lab, (struct plan_host){true, plane}, netns);
	plan_link_at(&lab->topology, gpu, plane, sub, &link);
	return links_set_up(
		netns, link.leaf_dev,
		fault_state_live(state, plan_link_number(&lab->topology, gpu, plane, sub), plane));
}

int faults_links(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub, bool fail)
{
	struct fault_state state;
	int rc = begin(lab, &state);

	if (rc)
		return rc;
	for (unsigned s = 0; !rc && s < lab->topology.sub_ports; s++) {
		if (sub != FAULTS_ALL_SUBS && sub != s)
			continue;
		state.links[plan_link_number(&lab->topology, gpu, plane, s)].failed = fail;
		rc = link_apply(lab, &state, gpu, plane, s);
	}
	return end(lab, &state, rc);
}

int faults_leaf(struct lab *lab, unsigned plane, bool fail)
{
	const struct plan_host host = {true, plane};
	const struct topology *t = &lab->topology;
	struct fault_state state;
	int rc = begin(lab, &state);

	if (rc)
		return rc;
	state.leaf_failed[plane] = fail;
	for (unsigned k = 0; !rc && k < t->servers * t->gpus_per_server * t->sub_ports; k++) {
		unsigned global = k / t->sub_ports;

		rc = link_apply(
			lab, &state,
			(struct plan_gpu){global / t->gpus_per_server, global % t->gpus_per_server},
			plane, k % t->sub_ports);
	}
	if (!fail && !rc)
		rc = forwarding_restore(lab, plane);
	/*
	 * Links first: the RST of a dying bgpd would reach the servers over live links and start
	 * graceful restart, which a switch that loses its power does not.
	 */
	if (fail && !rc && !(rc = lab_daemon_kill(lab, host, LAB_BGPD)))
		rc = lab_daemon_kill(lab, host, LAB_ZEBRA);
	if (!fail && !rc) {
		if (!lab_daemon_pid(lab, host, LAB_ZEBRA))
			rc = lab_daemon_start(lab, host, LAB_ZEBRA);
		if (!rc && !(rc = lab_zebra_wait(lab, host)) &&
		    !lab_daemon_pid(lab, host, LAB_BGPD))
			rc = lab_daemon_start(lab, host, LAB_BGPD);
	}
	return end(lab, &state, rc);
}

static int start_daemon(struct lab *lab, struct plan_host host, enum lab_daemon daemon)
{
	int rc = daemon == LAB_BGPD ? lab_zebra_wait(lab, host) : 0;

	return rc ? rc : lab_daemon_start(lab, host, daemon);
}

static int restart_frr(struct lab *lab, struct plan_host host)
{
	int rc = start_daemon(lab, host, LAB_ZEBRA);

	if (!rc)
		rc = lab_daemon_kill(lab, host, LAB_BGPD);
	return rc ? rc : start_daemon(lab, host, LAB_BGPD);
}

int faults_daemon(struct lab *lab, struct plan_host host, enum lab_daemon daemon, bool fail)
{
	int rc = lab_lock(lab);

	if (rc)
		return rc;
	if (daemon == LAB_FARED && (host.leaf || !lab->fared[0])) {
		say("%s",
		    host.leaf ? "fared runs on servers only"
			      : "this lab was brought up without fared; see `farelab up --fared`");
		rc = -EINVAL;
	} else if (fail) {
		rc = lab_daemon_kill(lab, host, daemon);
	} else if (!lab_daemon_pid(lab, host, daemon)) {
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

static void gray_lines(FILE *in, const struct topology *t, struct fault_state *state,
		       struct plan_gpu gpu, unsigned plane, unsigned sub, const unsigned ppm[2])
{
	unsigned k = plan_link_number(t, gpu, plane, sub);
	struct fault_link *f = &state->links[k];
	bool was_gray = fault_state_gray(state, k);
	struct plan_link link;

	plan_link_at(t, gpu, plane, sub, &link);
	f->from_leaf_loss_ppm = ppm[0] == UINT_MAX ? f->from_leaf_loss_ppm : ppm[0];
	f->to_leaf_loss_ppm = ppm[1] == UINT_MAX ? f->to_leaf_loss_ppm : ppm[1];
	if (was_gray)
		fprintf(in, "qdisc del dev %s clsact\n", link.leaf_dev);
	if (!fault_state_gray(state, k))
		return;
	fprintf(in, "qdisc add dev %s clsact\n", link.leaf_dev);
	gray_filter_line(in, link.leaf_dev, "egress", f->from_leaf_loss_ppm);
	gray_filter_line(in, link.leaf_dev, "ingress", f->to_leaf_loss_ppm);
}

static int gray(struct lab *lab, const struct plan_gpu *gpu, unsigned plane, unsigned sub,
		const unsigned ppm[2])
{
	char netns[PLAN_NETNS_NAME_MAX];
	const char *const tc[] = {"tc", "-n", netns, "-batch", "-", NULL};
	const struct topology *t = &lab->topology;
	struct process_batch batch;
	struct fault_state state;
	int rc = begin(lab, &state);

	if (rc)
		return rc;
	lab_netns(lab, (struct plan_host){true, plane}, netns);
	rc = process_batch_start(&batch, tc);
	if (rc)
		return end(lab, &state, rc);
	if (gpu)
		gray_lines(batch.in, t, &state, *gpu, plane, sub, ppm);
	for (unsigned k = 0; !gpu && k < t->servers * t->gpus_per_server * t->sub_ports; k++) {
		unsigned global = k / t->sub_ports;

		gray_lines(
			batch.in, t, &state,
			(struct plan_gpu){global / t->gpus_per_server, global % t->gpus_per_server},
			plane, k % t->sub_ports, ppm);
	}
	return end(lab, &state, process_batch_end(&batch));
}

int faults_gray_link(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub,
		     unsigned from_leaf_ppm, unsigned to_leaf_ppm)
{
	return gray(lab, &gpu, plane, sub, (const unsigned[]){from_leaf_ppm, to_leaf_ppm});
}

int faults_gray_leaf(struct lab *lab, unsigned plane, unsigned from_leaf_ppm, unsigned to_leaf_ppm)
{
	return gray(lab, NULL, plane, 0, (const unsigned[]){from_leaf_ppm, to_leaf_ppm});
}

int faults_rate(struct lab *lab, struct plan_gpu gpu, unsigned plane, unsigned sub,
		unsigned rate_mbps)
{
	const struct topology *t = &lab->topology;
	char server[PLAN_NETNS_NAME_MAX], leaf[PLAN_NETNS_NAME_MAX];
	struct fault_state state;
	struct plan_link link;
	int rc = begin(lab, &state);

	if (rc)
		return rc;
	lab_netns(lab, (struct plan_host){false, gpu.server}, server);
	lab_netns(lab, (struct plan_host){true, plane}, leaf);
	plan_link_at(t, gpu, plane, sub, &link);
	rc = links_shape(server, link.server_dev, rate_mbps, t->queue_bytes);
	if (!rc)
		rc = links_shape(leaf, link.leaf_dev, rate_mbps, t->queue_bytes);
	if (!rc)
		state.links[plan_link_number(t, gpu, plane, sub)].rate_mbps = rate_mbps;
	return end(lab, &state, rc);
}

int faults_rate_all(struct lab *lab, unsigned rate_mbps)
{
	struct fault_state state;
	int rc = begin(lab, &state);

	if (rc)
		return rc;
	lab->topology.rate_mbps = rate_mbps;
	for (unsigned k = 0; k < state.n_links; k++)
		state.links[k].rate_mbps = rate_mbps;
	rc = links_shape_all(lab);
	if (!rc)
		rc = lab_record_set_rate(lab->name, rate_mbps);
	if (!rc)
		rc = lab_fared_reconfigure(lab);
	return end(lab, &state, rc);
}
