/* SPDX-License-Identifier: BSD-2-Clause */
#include "lb.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "lab_record.h"
#include "lb_program.h"
#include "netns.h"
#include "print_error.h"
#include "tcx.h"

#define NAME "farelab_lb"

static void lb_key(char key[32], const char *what, unsigned leaf)
{
	snprintf(key, 32, "lb_%s_l%u", what, leaf);
}

struct topology_lb lb_of(const struct lab *lab, unsigned leaf)
{
	struct topology_lb lb = lab->topology.lb;
	unsigned mode = lb.mode;
	char key[32];

	lb_key(key, "mode", leaf);
	if (lab_record_get(lab->name, key, &mode))
		lb.mode = (enum topology_lb_mode)mode;
	lb_key(key, "number", leaf);
	lab_record_get(lab->name, key, lb.mode == TOPOLOGY_LB_FLOWLET ? &lb.gap_us : &lb.seed);
	if (lb.seed == TOPOLOGY_EVERY)
		lb.seed = (leaf + 1) * 2654435761u;
	return lb;
}

int lb_record(const struct lab *lab, unsigned leaf, const struct topology_lb *lb)
{
	char key[32];
	int rc;

	lb_key(key, "mode", leaf);
	rc = lab_record_set(lab->name, key, lb->mode);
	lb_key(key, "number", leaf);
	return rc ? rc
		  : lab_record_set(lab->name, key,
				   lb->mode == TOPOLOGY_LB_FLOWLET ? lb->gap_us : lb->seed);
}

static int lb_detach(const struct lab *lab, struct plan_host leaf)
{
	int rc = 0;

	PLAN_EACH_LINK(&lab->topology, leaf, k)
	{
		struct plan_link link;

		plan_link_at(&lab->topology, k, &link);
		if (!rc)
			rc = tcx_detach(link.leaf_dev, TCX_INGRESS, NAME);
	}
	return rc;
}

static int note_rate(int map, const char *dev, unsigned rate_mbps)
{
	const struct lb_program_slot slot = {.value = rate_mbps};
	unsigned index = if_nametoindex(dev);

	return index && index < LB_PROGRAM_SLOTS ? tcx_map_write(map, index, &slot) : -ERANGE;
}

/* The leaf's program, and of adaptive the one for links that drop. */
static int lb_attach(const struct lab *lab, const struct fault_state *state, struct plan_host leaf,
		     const struct topology_lb *lb)
{
	const struct topology_lb sprays = {.mode = TOPOLOGY_LB_SPRAY};
	bool adapts = lb->mode == TOPOLOGY_LB_ADAPTIVE;
	int map = tcx_make_array(NAME, sizeof(struct lb_program_slot), LB_PROGRAM_SLOTS),
	    program = map < 0 ? map : lb_program_load(NAME, lb, map),
	    gray = map < 0 ? map : lb_program_load(NAME, adapts ? &sprays : lb, map),
	    rc = program < 0 ? program
		 : gray < 0  ? gray
			     : 0;

	PLAN_EACH_LINK(&lab->topology, leaf, k)
	{
		struct plan_link link;

		plan_link_at(&lab->topology, k, &link);
		if (!rc && adapts)
			rc = note_rate(map, link.leaf_dev, state->links[k].rate_mbps);
		if (!rc)
			rc = tcx_attach(link.leaf_dev, TCX_INGRESS, NAME,
					state->links[k].to_leaf_loss_ppm ? gray : program);
	}
	if (map >= 0)
		close(map);
	if (program >= 0)
		close(program);
	if (gray >= 0)
		close(gray);
	return rc;
}

int lb_apply(const struct lab *lab, const struct fault_state *state)
{
	unsigned n = plan_leaves(&lab->topology);
	bool any = false;
	int rc = 0;

	for (unsigned k = 0; k < n; k++)
		any |= lb_of(lab, k).mode != TOPOLOGY_LB_KERNEL;
	for (unsigned k = 0; !rc && k < n; k++) {
		const struct plan_host leaf = {PLAN_LEAF, k};
		struct topology_lb lb = lb_of(lab, k);
		int home;

		rc = lab_enter(lab, leaf, &home);
		if (rc)
			break;
		rc = any ? lb_attach(lab, state, leaf, &lb) : lb_detach(lab, leaf);
		netns_leave(home);
	}
	if (rc == -EOPNOTSUPP)
		print_error("leaves of this kernel cannot do lb: BPF programs at a device (tcx) "
			    "need Linux 6.6");
	return rc;
}
