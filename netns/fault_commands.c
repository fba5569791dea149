/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_commands.c - see fault_commands.h */
#include "fault_commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "faults.h"
#include "print_error.h"

int fault_commands_host(const struct lab *lab, const char *text, struct plan_host *host)
{
	if (!plan_parse_host(&lab->topology, text, host))
		return 0;
	print_error("%s is no host of lab %s: servers are s0 to s%u, leaves l0 to l%u, and there "
		    "are %u "
		    "spines%s",
		    text, lab->name, lab->topology.servers - 1, plan_leaves(&lab->topology) - 1,
		    plan_spines(&lab->topology),
		    plan_spines(&lab->topology) ? ", from sp0 on" : "");
	return -EINVAL;
}

static int parse_switch(const struct lab *lab, const char *text, enum plan_role role,
			struct plan_host *host)
{
	if (fault_commands_host(lab, text, host))
		return -EINVAL;
	if (host->role == role)
		return 0;
	print_error("%s is no %s", text, role == PLAN_LEAF ? "leaf" : "spine");
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

/* LEAF SPINE, of one plane. */
static int parse_uplink(const struct lab *lab, char **argv, struct links *out)
{
	const struct topology *t = &lab->topology;
	struct plan_host leaf, spine;

	if (parse_switch(lab, argv[0], PLAN_LEAF, &leaf) ||
	    parse_switch(lab, argv[1], PLAN_SPINE, &spine))
		return -EINVAL;
	if (plan_plane(t, leaf) != plan_plane(t, spine)) {
		print_error("%s is of plane %u, %s of plane %u: no link joins them", argv[0],
			    plan_plane(t, leaf), argv[1], plan_plane(t, spine));
		return -EINVAL;
	}
	*out = (struct links){plan_uplink_number(t, leaf.index, spine.index % t->spines_per_plane),
			      1};
	return 0;
}

/*
 * "subport GPU PLANE SUB" or "uplink LEAF SPINE", n words in all. 1: they name something else.
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
		print_error("what to %s: subport GPU PLANE SUB, plane GPU PLANE, uplink LEAF "
			    "SPINE, leaf "
			    "LEAF, spine SPINE, bgpd HOST, zebra HOST or fared HOST",
			    fail ? "fail" : "heal");
	return rc || faults_links(lab, links.first, links.n, fail);
}

/* fail and heal: the same words, the other way round. */
int fault_commands_break(int argc, char **argv, bool fail)
{
	static const struct {
		const char *what;
		enum plan_role role;
	} switches[] = {{"leaf", PLAN_LEAF}, {"spine", PLAN_SPINE}};
	static const struct {
		const char *what;
		enum lab_daemon daemon;
	} daemons[] = {{"bgpd", LAB_BGPD}, {"zebra", LAB_ZEBRA}, {"fared", LAB_FARED}};
	struct plan_host host;
	struct lab lab;

	if (lab_open(argv[0], &lab))
		return 1;
	for (size_t i = 0; argc == 3 && i < sizeof(switches) / sizeof(switches[0]); i++)
		if (!strcmp(argv[1], switches[i].what))
			return parse_switch(&lab, argv[2], switches[i].role, &host) ||
			       faults_switch(&lab, host, fail);
	for (size_t i = 0; argc == 3 && i < sizeof(daemons) / sizeof(daemons[0]); i++)
		if (!strcmp(argv[1], daemons[i].what))
			return fault_commands_host(&lab, argv[2], &host) ||
			       faults_daemon(&lab, host, daemons[i].daemon, fail);
	return break_link(&lab, argc, argv, fail) ? 1 : 0;
}

int fault_commands_gray(int argc, char **argv, double loss_percent, const char *direction)
{
	unsigned ppm = (unsigned)(loss_percent * 10000 + 0.5), from = ppm, to = ppm;
	struct plan_host leaf;
	struct links links;
	struct lab lab;
	int rc;

	if (!strcmp(direction, "from-leaf"))
		to = UINT_MAX;
	else if (!strcmp(direction, "to-leaf"))
		from = UINT_MAX;
	if (lab_open(argv[0], &lab))
		return 1;
	if (!strcmp(argv[1], "leaf") && argc == 3)
		return parse_switch(&lab, argv[2], PLAN_LEAF, &leaf) ||
		       faults_gray_leaf(&lab, leaf, from, to);
	rc = parse_link(&lab, argv + 1, argc - 1, &links);
	if (rc == 1)
		print_error(
			"what to make gray: leaf LEAF, subport GPU PLANE SUB or uplink LEAF SPINE");
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
			    set == faults_rate ? ", or all MBPS" : " or uplink LEAF SPINE MBPS");
	return rc || parse_number("rate in Mbit/s", argv[argc - 1], 100001, &mbps) ||
	       set(&lab, links.first, mbps);
}

int fault_commands_rate(int argc, char **argv)
{
	return set_rate(argc, argv, faults_rate);
}

int fault_commands_throttle(int argc, char **argv)
{
	return set_rate(argc, argv, faults_throttle);
}

int fault_commands_ecn(char **argv)
{
	unsigned kb;
	struct lab lab;

	return lab_open(argv[0], &lab) || parse_number("threshold in KiB", argv[1], 262145, &kb) ||
	       faults_ecn(&lab, kb);
}
