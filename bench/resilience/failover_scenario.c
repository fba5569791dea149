/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_scenario.c - the faults that a trial injects, and what each ought to do (failover.h) */
#include "resilience/failover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *title;
} texts[FAILOVER_SCENARIOS] = {
	[FAILOVER_LOCAL_SUB_PORT] = {"local-sub-port", "the sender's sub-port down"},
	[FAILOVER_REMOTE_SUB_PORT] = {"remote-sub-port", "the receiver's sub-port down"},
	[FAILOVER_REMOTE_PLANE] = {"remote-plane", "the receiver's whole port on a plane down"},
	[FAILOVER_LEAF_KILLED] = {"leaf-killed", "a leaf dead: links down, daemons killed"},
	[FAILOVER_LEAF_GRAY] = {"leaf-gray", "a leaf forwards nothing, links and BGP up"},
	[FAILOVER_LEAF_GRAY_ONE_WAY] =
		{"leaf-gray-one-way",
		 "a leaf forwards nothing that the sender sends, all else works"},
	[FAILOVER_LEAF_LOSS_5] = {"leaf-loss-5", "a leaf loses 5% of what it sends"},
	[FAILOVER_FLAP_1HZ] = {"flap-1hz",
			       "a leaf forwards nothing every other half second, 3 times"},
	[FAILOVER_FLAP_20HZ] = {"flap-20hz", "a leaf forwards nothing every other 25 ms, 20 times"},
	[FAILOVER_BGPD_KILLED] = {"bgpd-killed", "the sender's bgpd killed with -9"},
	[FAILOVER_FARED_KILLED] = {"fared-killed", "the sender's fared killed with -9"},
	[FAILOVER_TWO_FAULTS] = {"two-faults",
				 "the receiver's sub-port down, and the next plane's leaf gray"},
};

const char *failover_scenario_name(enum failover_scenario_id id)
{
	return texts[id].name;
}

static void leaf_of(struct failover_fault *f, const struct topo *topo, unsigned plane)
{
	unsigned leaf = topo->gpus[0].plane[plane].leaf;

	f->plane = plane;
	f->gpu = -1;
	snprintf(f->leaf_netns, sizeof(f->leaf_netns), "%.63s", topo->leaves[leaf].netns);
}

/* farelab's names for the leaf's ends of links. */
static void add_devices(struct failover_fault *f, const struct topo *topo, unsigned gpu, unsigned n)
{
	for (unsigned s = 0; s < n && f->n_devices < FAILOVER_MAX_DEVICES; s++)
		snprintf(f->device[f->n_devices++], 16, "s%ug%us%u", topo->gpus[gpu].server % 10000,
			 topo->gpus[gpu].index % 100, s % 10);
}

static void links(struct failover_fault *f, const struct topo *topo, unsigned gpu, unsigned plane,
		  unsigned n)
{
	leaf_of(f, topo, plane);
	f->kind = FAILOVER_LINKS;
	f->gpu = (int)gpu;
	f->remaining = 1 - (double)n / topo->gpus[gpu].plane[plane].n_sub_ports;
	add_devices(f, topo, gpu, n);
}

static void forwarding(struct failover_fault *f, const struct topo *topo, unsigned plane)
{
	leaf_of(f, topo, plane);
	f->kind = FAILOVER_FORWARDING;
}

static void leaf_killed(struct failover_fault *f, const struct topo *topo, unsigned plane)
{
	const char *leaf = topo->leaves[topo->gpus[0].plane[plane].leaf].name;

	leaf_of(f, topo, plane);
	f->kind = FAILOVER_LINKS;
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++)
		add_devices(f, topo, gpu, topo->gpus[gpu].plane[plane].n_sub_ports);
	snprintf(f->spec_on, sizeof(f->spec_on), "fail leaf %.40s", leaf);
	snprintf(f->spec_off, sizeof(f->spec_off), "heal leaf %.40s", leaf);
}

static void loss(struct failover_fault *f, const struct topo *topo, unsigned plane)
{
	const char *leaf = topo->leaves[topo->gpus[0].plane[plane].leaf].name;

	leaf_of(f, topo, plane);
	f->kind = FAILOVER_SPEC;
	snprintf(f->spec_on, sizeof(f->spec_on),
		 "gray leaf %.40s --loss-percent 5 --direction from-leaf", leaf);
	snprintf(f->spec_off, sizeof(f->spec_off), "gray leaf %.40s --loss-percent 0", leaf);
}

static void killed(struct failover_fault *f, const struct topo *topo, unsigned gpu, bool bgpd)
{
	const struct topo_server *server = &topo->servers[topo->gpus[gpu].server];

	f->kind = FAILOVER_KILL;
	f->gpu = (int)gpu;
	f->remaining = 1;
	f->pid = bgpd ? server->bgpd_pid : server->fared_pid;
	snprintf(f->spec_off, sizeof(f->spec_off), "heal %s %.40s", bgpd ? "bgpd" : "fared",
		 server->name);
}

static void flap(struct failover_fault *f, const struct topo *topo, unsigned plane,
		 uint64_t period_ns, unsigned cycles)
{
	forwarding(f, topo, plane);
	f->period_ns = period_ns;
	f->cycles = cycles;
}

void failover_scenario_make(struct failover_scenario *s, enum failover_scenario_id id,
			    const struct topo *topo, unsigned src, unsigned dst, unsigned plane)
{
	struct failover_fault *f = s->fault;

	memset(s, 0, sizeof(*s));
	s->name = texts[id].name;
	s->title = texts[id].title;
	s->n_faults = 1;
	s->carrier = id <= FAILOVER_LEAF_KILLED || id == FAILOVER_TWO_FAULTS;
	s->may_not_see = id == FAILOVER_FLAP_20HZ;
	switch (id) {
	case FAILOVER_LOCAL_SUB_PORT:
		links(f, topo, src, plane, 1);
		break;
	case FAILOVER_REMOTE_SUB_PORT:
		links(f, topo, dst, plane, 1);
		break;
	case FAILOVER_REMOTE_PLANE:
		links(f, topo, dst, plane, topo->gpus[dst].plane[plane].n_sub_ports);
		break;
	case FAILOVER_LEAF_KILLED:
		leaf_killed(f, topo, plane);
		break;
	case FAILOVER_LEAF_GRAY:
		forwarding(f, topo, plane);
		break;
	case FAILOVER_LEAF_GRAY_ONE_WAY:
		forwarding(f, topo, plane);
		f->gpu = (int)src;
		add_devices(f, topo, src, topo->gpus[src].plane[plane].n_sub_ports);
		break;
	case FAILOVER_LEAF_LOSS_5:
		loss(f, topo, plane);
		break;
	case FAILOVER_FLAP_1HZ:
		flap(f, topo, plane, 1000000000, 3);
		break;
	case FAILOVER_FLAP_20HZ:
		flap(f, topo, plane, 50000000, 20);
		break;
	case FAILOVER_BGPD_KILLED:
	case FAILOVER_FARED_KILLED:
		killed(f, topo, src, id == FAILOVER_BGPD_KILLED);
		break;
	case FAILOVER_TWO_FAULTS:
		s->n_faults = 2;
		links(f, topo, dst, plane, 1);
		forwarding(&f[1], topo, (plane + 1) % topo->n_planes);
		break;
	case FAILOVER_SCENARIOS:
		break;
	}
}

double failover_scenario_remaining(const struct failover_scenario *s, unsigned src, unsigned dst,
				   unsigned plane)
{
	double remaining = 1;

	for (unsigned i = 0; i < s->n_faults; i++) {
		const struct failover_fault *f = &s->fault[i];

		if (f->kind != FAILOVER_KILL && f->plane == plane &&
		    (f->gpu < 0 || f->gpu == (int)src || f->gpu == (int)dst) &&
		    f->remaining < remaining)
			remaining = f->remaining;
	}
	return remaining;
}

int failover_scenario_undo(const void *context, const void *state)
{
	const struct failover_scenario *s = state;
	const struct lab *lab = context;
	int rc = 0;

	fprintf(stderr, "farebench failover: undoing: %s\n", s->title);
	for (unsigned i = s->n_faults; i-- > 0;) {
		int err = failover_fault_undo(&s->fault[i], lab);

		if (err)
			fprintf(stderr,
				"farebench failover: cannot undo it: %s; `farelab status %s` says "
				"what is broken, `farelab heal` mends it\n",
				strerror(-err), lab->name);
		rc = err ? -EREMOTEIO : rc;
	}
	return rc;
}
