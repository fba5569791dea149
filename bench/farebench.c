/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * farebench.c - the benchmark's commands: a registry, and nothing else.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "figures/goals.h"
#include "demo/demo.h"
#include "launch/agent.h"
#include "report/compare_show.h"
#include "report/results_report.h"
#include "engine/worker.h"
#include "simfab/simfab.h"
#include "suite/suite.h"

struct farebench_command {
	const char *name, *help;
	int (*main)(int argc, char **argv);
};

static const struct farebench_command farebench_commands[] = {
	{"list", "what can be measured: the tests of the inference methodology, and others",
	 suite_list_main},
	{"run", "measures: rows, tables, a report", suite_main},
	{"report", "tables, pictures, Markdown and CSV of a run's directory", results_report_main},
	{"compare", "two runs: what changed beyond the noise", compare_main},
	{"demo", "the demonstration: four scenarios, all strategies, daemons killed", demo_main},
	{"check", "measure the promised figures again and compare", goals_main},
	{"simulate",
	 "collectives and incasts at sizes that no lab here has: a model, no measurement",
	 simulate_main},
	{"agent", "this host's part of a run on several hosts", agent_main},
	{"worker", NULL, worker_main}, /* what the others start, one per GPU */
};

#define FAREBENCH_COMMANDS (sizeof(farebench_commands) / sizeof(farebench_commands[0]))

static void farebench_usage(FILE *file)
{
	fputs("usage: farebench COMMAND [OPTIONS]\n\n", file);
	for (size_t i = 0; i < FAREBENCH_COMMANDS; i++)
		if (farebench_commands[i].help)
			fprintf(file, "  %-10s %s\n", farebench_commands[i].name,
				farebench_commands[i].help);
	fputs("\nfarebench COMMAND --help lists a command's options; farebench --version prints "
	      "the version.\n"
	      "What enters network namespaces needs root; check needs what the commands behind its "
	      "figures\n"
	      "need. Traffic stays inside the lab.\n"
	      "Exit status: 0 measured (check: all goals met); 1 failed, with the reason on "
	      "stderr; 2 wrong\n"
	      "usage; run, demo: 128 + N if signal N stopped it. See farebench(1).\n",
	      file);
}

static int farebench_run(int argc, char **argv)
{
	if (argc < 2) {
		farebench_usage(stderr);
		return 2;
	}
	for (size_t i = 0; i < FAREBENCH_COMMANDS; i++)
		if (strcmp(argv[1], farebench_commands[i].name) == 0)
			return farebench_commands[i].main(argc - 1, argv + 1);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		farebench_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("farebench " FARE_VERSION);
		return 0;
	}
	fprintf(stderr, "farebench: no command is named %s\n", argv[1]);
	farebench_usage(stderr);
	return 2;
}

/* What could not be written was not done. */
int main(int argc, char **argv)
{
	int status;

	signal(SIGPIPE, SIG_IGN);
	status = farebench_run(argc, argv);
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fprintf(stderr, "farebench: standard output: %s\n",
		errno ? strerror(errno) : "write error");
	return status ? status : 1;
}
