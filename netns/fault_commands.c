/* SPDX-License-Identifier: BSD-2-Clause */
#include "fault_commands.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "faults.h"
#include "pfc_lab.h"
#include "print_error.h"

int fault_commands_host(const struct lab *lab, const char *text, struct plan_host *host)
{
	const struct topology *t = &lab->topology;

	if (!plan_parse_host(t, text, host))
		return 0;
	print_error("%s is no host of lab %s: servers are s0 to s%u, leaves l0 to l%u, and there "
		    "are %u spines (sp0 and on) and %u superspines (ss0 and on)",
		    text, lab->name, t->servers - 1, plan_leaves(t) - 1, plan_spines(t),
		    plan_superspines(t));
	return -EINVAL;
}

static int parse_switch(const struct lab *lab, const char *text, enum plan_role role,
			struct plan_host *host)
{
	if (fault_commands_host(lab, text, host))
		return -EINVAL;
	if (host->role == role)
		return 0;
	print_error("%s is no %s", text, plan_role_name(role));
	return -EINVAL;
}

static int parse_number(const char *what, const char *text, unsigned limit, unsigned *out)
{
	if (!plan_parse_index(text, limit, out))
		return 0;
	print_error("%s %s: give a number from 0 to %u", what, text, limit - 1);
	return -EINVAL;
}

/* Links that words name: n of them from number first on. */
struct links {
	unsigned first, n;
};

/* GPU PLANE SUB, or GPU PLANE for all sub-ports. */
static int parse_port(const struct lab *lab, char **argv, bool all, struct links *out)
{
	const struct topology *t = &lab->topology;
	unsigned plane, sub = 0;
	struct plan_gpu gpu;

	if (plan_parse_gpu(t, argv[0], &gpu)) {
		print_error("%s is no GPU of lab %s: give s0 to s%u, or s0/g0 to s%u/g%u", argv[0],
			    lab->name, t->servers - 1, t->servers - 1, t->gpus_per_server - 1);
		return -EINVAL;
	}
	if (parse_number("plane", argv[1], t->planes, &plane) ||
	    (!all && parse_number("sub-port", argv[2], t->sub_ports, &sub)))
		return -EINVAL;
	*out = (struct links){plan_link_number(t, gpu, plane, sub), all ? t->sub_ports : 1};
	return 0;
}

/* LEAF SPINE or SPINE SUPERSPINE, of one plane and pod. */
static int parse_uplink(const struct lab *lab, char **argv, struct links *out)
{
	struct plan_host lower, upper;

	*out = (struct links){.n = 1};
	if (fault_commands_host(lab, argv[0], &lower) || fault_commands_host(lab, argv[1], &upper))
		return -EINVAL;
	if (!plan_uplink_between(&lab->topology, lower, upper, &out->first))
		return 0;
	print_error("no uplink joins %s and %s: give a leaf and a spine, or a spine and a "
		    "superspine, of one plane and pod",
		    argv[0], argv[1]);
	return -EINVAL;
}

/*
 * "subport GPU PLANE SUB" or "uplink LOWER UPPER", n words in all. 1: they name something else.
 * -EINVAL after saying why.
 */
static int parse_link(const struct lab *lab, char **argv, int n, struct links *out)
{
	if (!strcmp(argv[0], "subport") && n == 4)
		return parse_port(lab, argv + 1, false, out);
	if (!strcmp(argv[0], "uplink") && n == 3)
		return parse_uplink(lab, argv + 1, out);
	return 1;
}

static int break_link(struct lab *lab, int argc, char **argv, bool fail)
{
	bool port = !strcmp(argv[1], "plane") && argc == 4;
	struct links links;
	int rc = port ? parse_port(lab, argv + 2, true, &links)
		      : parse_link(lab, argv + 1, argc - 1, &links);

	if (rc == 1)
		print_error("what to %s: subport GPU PLANE SUB, plane GPU PLANE, uplink LOWER "
			    "UPPER, leaf LEAF, spine SPINE, superspine SUPERSPINE, bgpd HOST, "
			    "zebra HOST or fared HOST",
			    fail ? "fail" : "heal");
	return rc || faults_links(lab, links.first, links.n, fail);
}

/* fail and heal: the same words, the other way round. */
static int fault_commands_break(int argc, char **argv, bool fail)
{
	static const struct {
		const char *what;
		enum lab_daemon daemon;
	} daemons[] = {{"bgpd", LAB_BGPD}, {"zebra", LAB_ZEBRA}, {"fared", LAB_FARED}};
	struct plan_host host;
	struct lab lab;

	if (lab_open(argv[0], &lab))
		return 1;
	for (enum plan_role r = PLAN_LEAF; argc == 3 && r <= PLAN_SUPERSPINE; r++)
		if (!strcmp(argv[1], plan_role_name(r)))
			return parse_switch(&lab, argv[2], r, &host) ||
			       faults_switch(&lab, host, fail);
	for (size_t i = 0; argc == 3 && i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (!strcmp(argv[1], daemons[i].what))
			return fault_commands_host(&lab, argv[2], &host) ||
			       faults_daemon(&lab, host, daemons[i].daemon, fail);
	return break_link(&lab, argc, argv, fail) ? 1 : 0;
}

int fault_commands_fail(const struct options *o, int argc, char **argv)
{
	(void)o;
	return fault_commands_break(argc, argv, true);
}

int fault_commands_heal(const struct options *o, int argc, char **argv)
{
	(void)o;
	return fault_commands_break(argc, argv, false);
}

int fault_commands_gray(const struct options *o, int argc, char **argv)
{
	unsigned ppm = (unsigned)(o->loss_percent * 10000 + 0.5), from = ppm, to = ppm;
	struct plan_host leaf;
	struct links links;
	struct lab lab;
	int rc;

	if (!strcmp(o->direction, "from-leaf"))
		to = UINT_MAX;
	else if (!strcmp(o->direction, "to-leaf"))
		from = UINT_MAX;
	if (lab_open(argv[0], &lab))
		return 1;
	if (!strcmp(argv[1], "leaf") && argc == 3)
		return parse_switch(&lab, argv[2], PLAN_LEAF, &leaf) ||
		       faults_gray_leaf(&lab, leaf, from, to);
	rc = parse_link(&lab, argv + 1, argc - 1, &links);
	if (rc == 1)
		print_error("what to make gray: leaf LEAF, subport GPU PLANE SUB or uplink LOWER "
			    "UPPER");
	return rc || faults_gray_link(&lab, links.first, from, to);
}

static int set_rate(int argc, char **argv, int (*set)(struct lab *, unsigned, unsigned))
{
	struct links links;
	unsigned mbps;
	struct lab lab;
	int rc;

	if (lab_open(argv[0], &lab))
		return 1;
	if (set == faults_rate && !strcmp(argv[1], "all") && argc == 3)
		return parse_number("rate in Mbit/s", argv[2], 100001, &mbps) ||
		       faults_rate_all(&lab, mbps);
	rc = parse_link(&lab, argv + 1, argc - 2, &links);
	if (rc == 1)
		print_error("whose rate: subport GPU PLANE SUB MBPS%s",
			    set == faults_rate ? ", or all MBPS" : " or uplink LOWER UPPER MBPS");
	return rc || parse_number("rate in Mbit/s", argv[argc - 1], 100001, &mbps) ||
	       set(&lab, links.first, mbps);
}

int fault_commands_rate(const struct options *o, int argc, char **argv)
{
	(void)o;
	return set_rate(argc, argv, faults_rate);
}

int fault_commands_throttle(const struct options *o, int argc, char **argv)
{
	(void)o;
	return set_rate(argc, argv, faults_throttle);
}

int fault_commands_ecn(const struct options *o, int argc, char **argv)
{
	unsigned kb;
	struct lab lab;

	(void)o, (void)argc;
	return lab_open(argv[0], &lab) || parse_number("threshold in KiB", argv[1], 262145, &kb) ||
	       faults_ecn(&lab, kb);
}

/* NAME headroom BYTES | watchdog MS | xoff BYTES */
int fault_commands_pfc(int argc, char **argv)
{
	static const struct {
		const char *name, *what;
		unsigned limit;
		int (*set)(const struct lab *lab, unsigned n);
	} settings[] = {{"headroom", "headroom in bytes", (1u << 28) + 1, pfc_lab_set_headroom},
			{"watchdog", "watchdog in ms", 60001, pfc_lab_set_watchdog},
			{"xoff", "xoff in bytes", (1u << 26) + 1, pfc_lab_set_xoff}};
	struct lab lab;
	unsigned n, i = 0;
	int rc;

	while (i < 3 && strcmp(argv[1], settings[i].name))
		i++;
	if (argc != 3 || i == 3) {
		print_error("give headroom BYTES, watchdog MS or xoff BYTES");
		return 1;
	}
	if (lab_open(argv[0], &lab) ||
	    parse_number(settings[i].what, argv[2], settings[i].limit, &n))
		return 1;
	rc = settings[i].set(&lab, n);
	if (rc && rc != -EINVAL)
		print_error("cannot change PFC of lab %s: %s", lab.name, strerror(-rc));
	return rc;
}

/* NAME LEAF|all MODE [SEED or GAP_US] */
int fault_commands_lb(const struct options *o, int argc, char **argv)
{
	struct plan_host leaf = {PLAN_LEAF, 0};
	struct topology_lb lb;
	struct lab lab;
	unsigned *number, n;

	(void)o;
	if (lab_open(argv[0], &lab))
		return 1;
	n = strcmp(argv[1], "all") ? 1 : plan_leaves(&lab.topology);
	if (n == 1 && strcmp(argv[1], "all") && parse_switch(&lab, argv[1], PLAN_LEAF, &leaf))
		return 1;
	lb = lab.topology.lb;
	if (topology_lb_parse(argv[2], &lb.mode)) {
		print_error("%s: give kernel, ecmp, bth, flowlet, spray or adaptive", argv[2]);
		return 1;
	}
	number = lb.mode == TOPOLOGY_LB_FLOWLET ? &lb.gap_us : &lb.seed;
	if (argc == 4 && (parse_number(number == &lb.seed ? "seed" : "gap in us", argv[3],
				       TOPOLOGY_LB_GAP_MAX_US + 1, number)))
		return 1;
	return faults_lb(&lab, leaf.index, n, &lb);
}
