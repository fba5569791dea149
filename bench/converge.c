#include "converge.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster.h"
#include "command.h"
#include "lab.h"
#include "options.h"
#include "result.h"
#include "stats.h"

#define CONVERGE_MS 300000

static const struct options_entry converge_table[] = {
	{"topology", 't', "FILE", "what to bring up"},
	{"trials", 'n', "N", "how often (3)"},
	{"json", 'j', "FILE", "write the result there ('-': standard output)"},
	{NULL, 0, NULL, NULL},
};

/* One lab up, timed, and down again. */
static int converge_once(const char *topology, double *seconds)
{
	struct lab lab;
	char name[TOPO_NAME_MAX];
	uint64_t start;
	int err, down;

	snprintf(name, sizeof(name), "cv%d", (int)getpid());
	lab_init(&lab, name);
	const char *up[] = {lab.farelab, "up", topology, "--name", name, "--wait", "240", NULL};

	start = cluster_now_ns();
	err = command_check(up, CONVERGE_MS, NULL);
	*seconds = (double)(cluster_now_ns() - start) / 1e9;
	/* also after a failure: half a lab is nothing to leave behind */
	down = lab_do(&lab, "down", (const char *const[]){NULL});
	return err ? err : down;
}

static int converge_report(const char *topology, const double *seconds, unsigned n,
			   const char *json_path)
{
	const char *slash = strrchr(topology, '/');
	struct stats_summary s;
	struct result *result;
	int err = stats_summarise(seconds, n, &s);

	if (err || (err = result_create(&result)))
		return err;
	for (unsigned i = 0; !err && i < n; i++)
		err = result_append(result, "converge",
				    json_pack("{s:s, s:i, s:f}", "topology",
					      slash ? slash + 1 : topology, "trial", (int)i,
					      "seconds", seconds[i]));
	if (!err && json_path)
		err = result_write(result, json_path);
	if (!err && (!json_path || strcmp(json_path, "-") != 0))
		printf("%s: converged after %.1f s (%.1f..%.1f, n = %u)\n", topology, s.median,
		       s.min, s.max, n);
	result_destroy(result);
	return err;
}

int converge_main(int argc, char **argv)
{
	const char *topology = NULL, *json_path = NULL;
	struct option table[OPTIONS_MAX];
	double seconds[RESULT_MAX_N];
	uint64_t n = 3;
	int option, err = 0;

	options_getopt(converge_table, table);
	while (!err && (option = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		switch (option) {
		case 't':
			topology = optarg;
			break;
		case 'j':
			json_path = optarg;
			break;
		case 'n':
			err = options_number("trials", optarg, 1, RESULT_MAX_N, &n);
			break;
		case 'h':
			options_help("farebench converge", converge_table);
			return 0;
		default:
			return 2;
		}
	}
	if (err || !topology) {
		if (!topology)
			fprintf(stderr, "farebench converge: which --topology?\n");
		return 2;
	}
	for (uint64_t i = 0; !err && i < n; i++)
		err = converge_once(topology, &seconds[i]);
	if (!err)
		err = converge_report(topology, seconds, (unsigned)n, json_path);
	return err ? 1 : 0;
}
