/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - a fault in the middle of what a trial measures (methodology 12.3).
 *
 * Owns: nothing. In: a plan, the fault, when it strikes; out: what was measured, and goodput around
 * the fault as recovery.h reads it. Thread: the coordinator's.
 */
#ifndef FAULT_H
#define FAULT_H

#include "fabric/fabric.h"
#include "procedure/recovery.h"
#include "resilience/observe.h"
#include "suite/trial.h"

/* ---- which link to cut: one that carries traffic toward a GPU just before; two readings of
 * `farelab counters` say which ---- */

#define FAULT_LINKS_MAX	 64
#define FAULT_COUNT_NS	 UINT64_C(1000000000) /* between both readings, which take 20 ms */
#define FAULT_CARRIES	 0.1 /* of a link's rate: less may be probes and acknowledgements alone */
#define FAULT_AS_BUSY_AS 0.9 /* of the busiest link: these are cut in turn */

enum fault_tier { FAULT_SUB_PORT, FAULT_LEAF_SPINE, FAULT_SPINE_SPINE };

struct fault_link {
	char spec[96];
	/* the device at whose end is counted what the link carries toward the GPU: of the GPU's
	 * server, which receives it, or of the upper switch, which sends it */
	char host[TOPO_NAME_MAX], dev[FARE_DEV_NAME_MAX];
	bool is_sent;
	unsigned plane;
	uint64_t rate_bps, bytes;
	double share; /* of its rate, between the last two readings */
};

struct fault_links {
	struct fault_link link[FAULT_LINKS_MAX];
	unsigned n;
	unsigned wanted; /* 1, or 2 */
	bool planes_apart;
	unsigned turn;
	uint64_t at_ns; /* of the last reading; 0: none */
	/* chosen: */
	char spec[2 * 96];
	char text[512]; /* with what each carried, of its rate */
	double share;	/* of what the chosen ones can carry; NaN: not known */
};

/*
 * All live links of that tier that lead to the GPU, `wanted` of which are to be cut; uplinks of two
 * planes. turn: how often one was chosen before. False: so many cannot be cut, or nothing would
 * be left. Pure.
 */
bool fault_links_init(struct fault_links *links, const struct topo *topo, enum fault_tier tier,
		      unsigned gpu, unsigned wanted, unsigned turn);
/* A reading: the JSON of `farelab counters`. -EBADMSG: a link is not in it. Pure. */
int fault_links_read(struct fault_links *links, const char *counters);
/*
 * The busiest, and of those that are as busy another each turn; before two readings: another each
 * turn. Fills in what is chosen. Pure.
 */
void fault_links_choose(struct fault_links *links);

/* Reads them now; on hosts nothing happens: there they are cut in turn. -errno. */
int fault_links_count(struct fault_links *links, const struct fabric *fabric);

/*
 * Measures the plan; the fault (as for fabric_fail()) strikes after that share of the window.
 * *inject_ns: when it did. *goodput: of load 0, in m. It stays in force: fabric_restore().
 */
int fault_measure(struct trial *t, const struct plan *plan, const char *spec, double share,
		  uint64_t *inject_ns, struct measured *m, struct recovery *goodput);

/* The same, with the busiest of these links just before it: links->spec, links->text. */
int fault_measure_busiest(struct trial *t, const struct plan *plan, struct fault_links *links,
			  double share, uint64_t *inject_ns, struct measured *m,
			  struct recovery *goodput);

/* "uplink l0 sp0": the first link to a spine of the leaf that a GPU has on a plane. False: it has
 * none. */
bool fault_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec, size_t size);

/* The same of that leaf's spines: its first link to a superspine. */
bool fault_spine_uplink(const struct topo *topo, unsigned gpu, unsigned plane, char *spec,
			size_t size);

/*
 * Waits until all see the healed fabric. The KPI's row: ms from then until weights were published
 * as they were when observe began; NULL: hosts, and it is missing.
 */
int fault_settle(struct trial *t, const struct observe *observe, uint64_t healed_ns,
		 const char *kpi);
#define FAULT_MAX_EVENTS (1u << 20) /* for observe_start() */

/* Goodput of load 0, of a trial that recorded bins. */
struct recovery fault_goodput(const struct measured *m);

#endif
