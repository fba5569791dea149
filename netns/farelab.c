/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farelab - a fabric of planes on one machine: network namespaces, shaped links, FRR everywhere,
 * and faults.
 *
 * This file reads the command line; what the commands do is in lab, status, faults and run.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "counters.h"
#include "data_file.h"
#include "base/decimal.h"
#include "drill.h"
#include "fault_commands.h"
#include "faults.h"
#include "lab.h"
#include "pfc_agent.h"
#include "pfc_lab.h"
#include "run.h"
#include "print_error.h"
#include "status.h"

struct command {
	const char *name;
	int least_args; /* not counting the command itself */
	int (*run)(const struct options *options, int argc, char **argv); /* exit status */
	const char *usage;
};

static int farelab_failed(int rc)
{
	return rc ? 1 : 0;
}

static void print_fault(const char *text, void *arg)
{
	(void)arg;
	printf("  fault: %s\n", text);
}

static int print_status(const struct lab *lab, const struct status *status, bool json)
{
	json_t *o;

	if (!json) {
		printf("%s: %s%s\n", lab->name,
		       status->converged ? "converged" : "not converged: ", status->why);
		status_faults(lab, status, print_fault, NULL);
		return status->converged ? 0 : 1;
	}
	o = status_json(lab, status);
	if (!o || json_dumpf(o, stdout, JSON_COMPACT) || putchar('\n') == EOF) {
		print_error("cannot write the status");
		json_decref(o);
		return 1;
	}
	json_decref(o);
	return 0;
}

static int wait_for(const struct lab *lab, double seconds)
{
	struct status status;
	int rc = status_wait(lab, seconds, &status);

	if (rc == -ETIMEDOUT)
		print_error("%s did not converge in %g s: %s", lab->name, seconds, status.why);
	else if (rc)
		print_error("cannot look at lab %s: %s", lab->name, strerror(-rc));
	if (!rc || rc == -ETIMEDOUT)
		status_fini(&status);
	return farelab_failed(rc);
}

/* The file that name stands for; 0, or -errno after saying where it was looked for. */
static int find_file(const char *folder, const char *name, char path[PATH_MAX])
{
	char error[DATA_FILE_ERROR_MAX];
	int rc = data_file_find(folder, name, path, error);

	if (rc)
		print_error("%s", error);
	return rc;
}

static int command_up(const struct options *o, int argc, char **argv)
{
	char path[PATH_MAX];
	const struct lab_up_options up = {
		.topology_path = path, .name = o->name, .fared = o->fared, .frr = o->frr};
	struct lab lab;

	(void)argc;
	if (find_file(data_file_topologies(), argv[0], path) || lab_up(&up, &lab))
		return 1;
	return o->wait_s < 0 ? 0 : wait_for(&lab, o->wait_s);
}

static int command_down(const struct options *o, int argc, char **argv)
{
	bool found;

	(void)o, (void)argc;
	if (lab_down(argv[0], LAB_DOWN_ANY, 0, &found))
		return 1;
	if (!found)
		print_error("there is no lab %s; `farelab list` says which are", argv[0]);
	return found ? 0 : 1;
}

static void print_lab(const char *name, const char *phase, void *arg)
{
	(void)arg;
	printf("%s %s\n", name, phase);
}

static int command_list(const struct options *o, int argc, char **argv)
{
	(void)o, (void)argc, (void)argv;
	return farelab_failed(lab_each(print_lab, NULL));
}

static void sweep_lab(const char *name, const char *phase, void *arg)
{
	bool found;

	if (strcmp(phase, "dead"))
		return;
	if (lab_down(name, LAB_DOWN_DEAD, 0, &found))
		*(int *)arg = 1;
	else if (found)
		print_error("removed what was left of %s", name);
}

static int command_sweep(const struct options *o, int argc, char **argv)
{
	int result = 0;

	(void)o, (void)argc, (void)argv;
	return lab_each(sweep_lab, &result) || result ? 1 : 0;
}

static int command_status(const struct options *o, int argc, char **argv)
{
	struct status status;
	struct lab lab;
	int rc, result;

	(void)argc;
	if (lab_open(argv[0], &lab))
		return 1;
	rc = o->wait_s < 0 ? status_take(&lab, &status) : status_wait(&lab, o->wait_s, &status);
	if (rc && rc != -ETIMEDOUT) {
		print_error("cannot look at lab %s: %s", lab.name, strerror(-rc));
		return 1;
	}
	result = print_status(&lab, &status, o->json);
	status_fini(&status);
	return rc ? 1 : result;
}

static int print_counters(const struct options *o, const char *name,
			  int (*read)(const struct lab *, json_t **),
			  void (*print)(const json_t *, FILE *))
{
	struct lab lab;
	json_t *all;
	int rc;

	if (lab_open(name, &lab))
		return 1;
	rc = read(&lab, &all);
	if (rc) {
		print_error("cannot read the counters of lab %s: %s", lab.name, strerror(-rc));
		return 1;
	}
	if (!o->json)
		print(all, stdout);
	else if (json_dumpf(all, stdout, JSON_COMPACT) || putchar('\n') == EOF)
		rc = -EIO;
	json_decref(all);
	return farelab_failed(rc);
}

static int command_counters(const struct options *o, int argc, char **argv)
{
	(void)argc;
	return print_counters(o, argv[0], counters_read, counters_print);
}

static int command_pfc(const struct options *o, int argc, char **argv)
{
	return argc == 1 ? print_counters(o, argv[0], pfc_lab_read, pfc_lab_print)
			 : fault_commands_pfc(argc, argv);
}

static int command_exec(const struct options *o, int argc, char **argv)
{
	struct plan_host host;
	struct lab lab;

	(void)o, (void)argc;
	if (lab_open(argv[0], &lab) || fault_commands_host(&lab, argv[1], &host))
		return 1;
	return run_inside(&lab, host, argv + 2) == -ENOENT ? 127 : 126;
}

static int command_run(const struct options *o, int argc, char **argv)
{
	char path[PATH_MAX];
	struct lab_up_options up = {
		.topology_path = path, .name = o->name, .fared = o->fared, .frr = o->frr};

	(void)argc;
	if (find_file(data_file_topologies(), argv[0], path))
		return 1;
	return run_command(&up, o->wait_s < 0 ? 120 : o->wait_s, argv + 1);
}

static int command_frr(const struct options *o, int argc, char **argv)
{
	char error[FRR_INSTALL_ERROR_MAX];
	struct frr_install frr;

	(void)argc, (void)argv;
	if (frr_install_find(o->frr, &frr, error)) {
		print_error("%s", error);
		return 1;
	}
	printf("%s %s%s\n", frr.dir, frr.version,
	       frr_install_needs_mgmtd(&frr) ? " with mgmtd" : "");
	return 0;
}

/* Beside the daemons, or as `make install` has it; otherwise PATH has it. */
static const char *find_vtysh(const struct frr_install *frr, char path[PATH_MAX])
{
	return frr_install_path(frr, "vtysh", path) || frr_install_path(frr, "../bin/vtysh", path)
		       ? path
		       : "vtysh";
}

static int command_vtysh(const struct options *o, int argc, char **argv)
{
	char socket_dir[LAB_PATH_MAX], vtysh[PATH_MAX];
	struct plan_host host;
	struct lab lab;
	char **args = calloc((size_t)argc + 2, sizeof(*args));

	(void)o;
	if (!args || lab_open(argv[0], &lab) || fault_commands_host(&lab, argv[1], &host)) {
		free(args);
		return 1;
	}
	lab_path(&lab, host, "frr", socket_dir);
	args[0] = (char *)(uintptr_t)find_vtysh(&lab.frr, vtysh);
	args[1] = (char *)(uintptr_t) "--vty_socket";
	args[2] = socket_dir;
	memcpy(args + 3, argv + 2, (size_t)(argc - 2) * sizeof(*args));
	execvp(args[0], args);
	print_error("cannot run vtysh: %s", strerror(errno));
	free(args);
	return 127;
}

static int command_reload(const struct options *o, int argc, char **argv)
{
	struct plan_host host;
	struct lab lab;

	(void)o, (void)argc;
	return lab_open(argv[0], &lab) || fault_commands_host(&lab, argv[1], &host) ||
	       faults_reload(&lab, host);
}

static int command_drill(const struct options *o, int argc, char **argv)
{
	uint64_t seed = (uint64_t)o->seed;
	char path[PATH_MAX];
	struct lab lab;

	(void)argc;
	if (lab_open(argv[0], &lab) || find_file(data_file_drills(), argv[1], path))
		return 1;
	if (o->seed < 0 && getrandom(&seed, 4, 0) != 4)
		return 1;
	return farelab_failed(drill_run(&lab, path, o->seed < 0 ? seed & UINT32_MAX : seed,
					(uint32_t)o->faults, o->json));
}

static const struct command commands[] = {
	{"up", 1, command_up, "TOPOLOGY [--name NAME] [--fared PATH] [--frr DIR] [--wait SECONDS]"},
	{"down", 1, command_down, "NAME"},
	{"list", 0, command_list, ""},
	{"sweep", 0, command_sweep, ""},
	{"status", 1, command_status, "NAME [--json] [--wait SECONDS]"},
	{"counters", 1, command_counters, "NAME [--json]"},
	{"pfc", 1, command_pfc,
	 "NAME [--json] | NAME headroom BYTES | NAME watchdog MS | "
	 "NAME xoff BYTES"},
	{"exec", 3, command_exec, "NAME HOST -- COMMAND..."},
	{"run", 2, command_run,
	 "TOPOLOGY [--name NAME] [--fared PATH] [--frr DIR] [--wait SECONDS] -- COMMAND..."},
	{"fail", 3, fault_commands_fail,
	 "NAME subport GPU PLANE SUB | plane GPU PLANE | uplink LOWER UPPER | leaf LEAF | "
	 "spine SPINE | superspine SUPERSPINE | bgpd HOST | zebra HOST | "
	 "fared HOST"},
	{"heal", 3, fault_commands_heal, "NAME (as for fail)"},
	{"gray", 3, fault_commands_gray,
	 "NAME leaf LEAF | subport GPU PLANE SUB | uplink LOWER UPPER [--loss-percent P] "
	 "[--direction both|from-leaf|to-leaf]"},
	{"rate", 3, fault_commands_rate, "NAME subport GPU PLANE SUB MBPS | all MBPS"},
	{"reload", 2, command_reload, "NAME HOST"},
	{"throttle", 5, fault_commands_throttle,
	 "NAME subport GPU PLANE SUB MBPS | uplink LOWER UPPER MBPS"},
	{"ecn", 2, fault_commands_ecn, "NAME KIB"},
	{"lb", 3, fault_commands_lb,
	 "NAME LEAF|all kernel|spray|adaptive | ecmp|bth [SEED] | flowlet [GAP_US]"},
	{"drill", 2, command_drill, "NAME PLAN [--seed N] [--faults N] [--json]"},
	{"vtysh", 2, command_vtysh, "NAME HOST -- -c COMMAND..."},
	{"frr", 0, command_frr, "[--frr DIR]"},
};

#define N_COMMANDS (sizeof(commands) / sizeof(*commands))

static const char options_help[] =
	"\n"
	"  --name NAME          name of the lab: 1 to 32 of a-z, 0-9 and '-' (the topology's)\n"
	"  --fared PATH         start this fared on every server (none is started)\n"
	"  --frr DIR            where FRR's zebra and bgpd are ($FARELAB_FRR, or else the first of "
	"the\n"
	"                       usual directories that has both; `farelab frr` prints it)\n"
	"  --wait SECONDS       0 to 86400: wait up to so long until the lab has converged\n"
	"                       (up, status: do not wait; run: 120)\n"
	"  --json               status, counters, pfc: one JSON object; drill: one JSON object a "
	"line\n"
	"  --seed N             0 to 4294967295: seed of a random plan (random; it is printed)\n"
	"  --faults N           1 to 5000: random faults, instead of the plan's number; 0: the "
	"plan's (0)\n"
	"  --loss-percent P     0 to 100: share of packets that is dropped; 0 heals (100)\n"
	"  --direction D        both, from-leaf or to-leaf: the other direction stays as it is "
	"(both)\n"
	"\n"
	"farelab --version prints the version. TOPOLOGY and PLAN: a path, or the name of a file in "
	"the\n"
	"current directory, or else in the first or the second of these:\n";

static int farelab_usage(FILE *out, const struct command *only)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!only || only == &commands[i])
			fprintf(out, "%s farelab %s%s%s\n", i == 0 || only ? "usage:" : "      ",
				commands[i].name, *commands[i].usage ? " " : "", commands[i].usage);
	if (!only)
		fprintf(out, "%s  %s\n  %s\n", options_help, data_file_topologies(),
			data_file_drills());
	fputs(only ? "`farelab --help` lists the options with their defaults; see farelab(8).\n"
		   : "\nExit status: 0 done; 1 failed, with the reason on stderr; 2 wrong usage. "
		     "run and exec\n"
		     "return the command's. See farelab(8).\n",
	      out);
	return out == stdout ? 0 : 2;
}

static int parse_decimal(const char *what, const char *text, bool whole, double most, double *out)
{
	if (decimal_parse(text, strlen(text), whole, out) && *out <= most)
		return 0;
	print_error("%s %s: give a %snumber from 0 to %.10g", what, text, whole ? "whole " : "",
		    most);
	return -EINVAL;
}

static int parse_option(int c, struct options *o)
{
	switch (c) {
	case 'n':
		o->name = optarg;
		return 0;
	case 'f':
		o->fared = optarg;
		return 0;
	case 'r':
		o->frr = optarg;
		return 0;
	case 'w':
		return parse_decimal("--wait", optarg, false, 86400, &o->wait_s);
	case 'j':
		o->json = true;
		return 0;
	case 's':
		return parse_decimal("--seed", optarg, true, 4294967295., &o->seed);
	case 'F':
		return parse_decimal("--faults", optarg, true, 5000, &o->faults);
	case 'l':
		return parse_decimal("--loss-percent", optarg, false, 100, &o->loss_percent);
	case 'd':
		o->direction = optarg;
		if (!strcmp(optarg, "both") || !strcmp(optarg, "from-leaf") ||
		    !strcmp(optarg, "to-leaf"))
			return 0;
		print_error("--direction %s: give both, from-leaf or to-leaf", optarg);
		return -EINVAL;
	default:
		return -EINVAL;
	}
}

/* The exit status: what could not be written was not done. */
static int written(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	print_error("standard output: %s", errno ? strerror(errno) : "write error");
	return status ? status : 1;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"name", required_argument, NULL, 'n'},
		{"fared", required_argument, NULL, 'f'},
		{"frr", required_argument, NULL, 'r'},
		{"wait", required_argument, NULL, 'w'},
		{"json", no_argument, NULL, 'j'},
		{"seed", required_argument, NULL, 's'},
		{"faults", required_argument, NULL, 'F'},
		{"loss-percent", required_argument, NULL, 'l'},
		{"direction", required_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct options options = {.frr = getenv("FARELAB_FRR"),
				  .wait_s = -1,
				  .seed = -1,
				  .loss_percent = 100,
				  .direction = "both"};
	const struct command *command = NULL;
	int c;

	if (argc < 2)
		return farelab_usage(stderr, NULL);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return written(farelab_usage(stdout, NULL));
	if (!strcmp(argv[1], "pfc-agent") && argc == 3) { /* pfc_lab.c starts it */
		struct lab lab;

		return lab_open(argv[2], &lab) ? 1 : pfc_agent_run(&lab);
	}
	if (!strcmp(argv[1], "--version"))
		return written(printf("farelab %s\n", FARE_VERSION) < 0);
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			command = &commands[i];
	if (!command)
		return farelab_usage(stderr, NULL);
	argc--;
	argv++;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h')
			return farelab_usage(stdout, command);
		if (parse_option(c, &options))
			return farelab_usage(stderr, command);
	}
	if (argc - optind < command->least_args)
		return farelab_usage(stderr, command);
	return written(command->run(&options, argc - optind, argv + optind));
}
