/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lab.h - a lab as a whole: up, down, and what is kept of it in between.
 *
 * Owns /run/farelab/NAME and the namespaces fl-NAME-*. In: a topology file. Out: namespaces, shaped
 * links, FRR (and fared) running in them; or, on any error, nothing at all. One process at a time
 * changes a lab: it holds the lab's lock. A lab whose maker was killed before it was up is dead:
 * lab_down() and `farelab sweep` remove it. Single-threaded programs only.
 *
 *	/run/farelab/NAME/topology.yaml   the file as it was given
 *	                 /lab.json        phase, process that builds or owns it, paths, rate
 *	                 /faults.json     faults in force (fault_state.h)
 *	                 /HOST/           PID files, logs, fared.yaml
 *	                 /HOST/frr/       FRR's own files
 *	                 /HOST/fared/     fared's run_dir
 */
#ifndef LAB_H
#define LAB_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "frr_install.h"
#include "plan.h"
#include "topology.h"

#define LAB_RUN_DIR	"/run/farelab"
#define LAB_FRR_RUN_DIR "/var/run/frr" /* where FRR that is started with -N makes directories */
#define LAB_PATH_MAX	160

struct lab {
	char name[TOPOLOGY_NAME_MAX + 1];
	char fared[PATH_MAX]; /* "" where the lab runs none */
	struct frr_install frr;
	struct topology topology;
	int lock_fd; /* -1: not locked */
};

/* mgmtd is started and killed with zebra, where FRR has it and its zebra asks it. */
enum lab_daemon { LAB_MGMTD, LAB_ZEBRA, LAB_BGPD, LAB_FARED };

struct lab_up_options {
	const char *topology_path;
	const char *name;  /* NULL: the topology's */
	const char *fared; /* NULL: none */
	const char *frr;   /* the directory of FRR's daemons; NULL: the first of the usual ones */
	pid_t owners[2];   /* the lab is dead once neither process is (`run`); 0, 0: it lives until
			      `down` */
};

/* Brings a lab up: returns when links and daemons are started. Leaves *out unlocked. -errno after
 * saying why. */
int lab_up(const struct lab_up_options *options, struct lab *out);

enum lab_down_which { LAB_DOWN_ANY, LAB_DOWN_DEAD, LAB_DOWN_OWNED };

/*
 * Removes every trace of NAME: of a lab in any state; only of one that is dead; only of one that
 * names that process as an owner. 0 also if there was nothing to remove (*found says).
 */
int lab_down(const char *name, enum lab_down_which which, pid_t owner, bool *found);

/* Reads the lab NAME that is up, rate and ECN threshold as faults.h left them; -ENOENT after saying
 * so. */
int lab_open(const char *name, struct lab *out);
/* Keeps every other farelab from changing the lab until lab_unlock(). Waits. */
int lab_lock(struct lab *lab);
void lab_unlock(struct lab *lab);

/* Every lab or leftover on this machine: "up", "building" or "dead". */
int lab_each(void (*visit)(const char *name, const char *phase, void *arg), void *arg);

/* Paths and names of a lab's parts. file "" is the host's directory itself. */
void lab_path(const struct lab *lab, struct plan_host host, const char *file,
	      char path[LAB_PATH_MAX]);
void lab_netns(const struct lab *lab, struct plan_host host, char name[PLAN_NETNS_NAME_MAX]);
/* netns_enter() of a host's namespace. */
int lab_enter(const struct lab *lab, struct plan_host host, int *home);

/* One daemon of one host. Start is for one that is not alive (-EALREADY); kill is SIGKILL. */
int lab_daemon_start(const struct lab *lab, struct plan_host host, enum lab_daemon daemon);
int lab_daemon_kill(const struct lab *lab, struct plan_host host, enum lab_daemon daemon);
pid_t lab_daemon_pid(const struct lab *lab, struct plan_host host, enum lab_daemon daemon);
const char *lab_daemon_name(enum lab_daemon daemon);
void lab_daemon_log(const struct lab *lab, struct plan_host host, enum lab_daemon daemon,
		    char path[LAB_PATH_MAX]);
/* zebra, and mgmtd before it where FRR has it: those that are not alive. */
int lab_zebra_start(const struct lab *lab, struct plan_host host);
int lab_zebra_kill(const struct lab *lab, struct plan_host host);
/* Waits until that host's zebra listens: bgpd asks once, and then not again for ten seconds. */
int lab_zebra_wait(const struct lab *lab, struct plan_host host);

#endif
