/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drill_faults.h - the faults of a drill, from the lines that `farelab drill --json` prints, and
 * what they cost.
 *
 * Owns: the list. In: lines (hostile: bounded, checked), goodput, the observer's record. Out: for
 * each fault when it was, what it did to goodput, and which lowered weights no fault explains. Pure
 * but for memory. Thread: one.
 */
#ifndef DRILL_FAULTS_H
#define DRILL_FAULTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "resilience/observe.h"
#include "procedure/recovery.h"
#include "fabric/topo.h"

#define DRILL_FAULTS_SPEC 96

struct drill_fault {
	char spec[DRILL_FAULTS_SPEC]; /* "fail subport s1/g0 1 0" */
	char kind[32];		      /* "subport", "leaf-gray", ... */
	uint64_t from_ns, done_ns;    /* farelab began and ended doing it */
	uint64_t healed_ns;	      /* and ended healing it; 0: not (yet) */
	int gpu, plane;		      /* whose paths on which plane; -1: all; plane -2: none */
	int server;		      /* whose bgpd or zebra; -1: it is no such fault */
	/* the longest time that a GPU had nothing acknowledged, until a second after healing */
	double hole_ms;
	/* goodput of the worst tenth of a second until then, of all GPUs, of the healthy one */
	double dip_ratio;
};

struct drill_faults {
	struct drill_fault *fault;
	unsigned n;
	unsigned steps;
	bool converged;
	double converged_after_s;
};

/* One line. -EBADMSG: none of farelab's; -EREMOTEIO: farelab says that a step failed. -ENOMEM. */
int drill_faults_line(struct drill_faults *f, const struct topo *topo, const char *line);
void drill_faults_fini(struct drill_faults *f);

/* Fills hole_ms and dip_ratio. gpus: the recording of each GPU, all with the same bins. */
void drill_faults_cost(struct drill_faults *f, const struct recovery *gpus, unsigned n_gpus,
		       double healthy_bytes);

/*
 * Does a fault in force, or healed less than settle_ns before, explain that an event lowered that
 * plane of its pair? A bgpd's death explains little (a zebra's as much, for bgpd is started anew
 * with it): probes lost on its server's paths, or on one sub-port of a path, or no route there,
 * while it is away or learns anew, for then zebra takes routes or next hops out of the kernel, and
 * what is sent over those really is lost (FRR 10.3 has no route for 55 ms when a killed bgpd
 * returns; FRR 8.4 announces a restart for two minutes from every start: of two bgpds that started
 * within that time neither waits for the other, and the routes of the later one are installed in
 * pieces, 50 ms apart); and whatever happens to a plane, or one sub-port of it, whose routes
 * another fault had taken and that it was about to learn again when it died.
 */
bool drill_faults_explain(const struct drill_faults *f, const struct topo *topo,
			  const struct observe_event *e, unsigned plane, uint64_t settle_ns);
/* Lowered weights that nothing explains: how many. Each is appended to list (observe_change). */
unsigned drill_faults_needless(const struct drill_faults *f, const struct topo *topo,
			       const struct observe *o, uint32_t n, uint64_t settle_ns,
			       uint64_t begin_ns, json_t *list);

#endif
