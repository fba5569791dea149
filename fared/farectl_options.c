/* SPDX-License-Identifier: BSD-2-Clause */
#include "farectl_options.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control_client.h"

static const char help[] =
	"usage: farectl [-s RUN_DIR] [-j] COMMAND\n"
	"\n"
	"  show planes                local ports, their bandwidth, usable paths; the route "
	"sources\n"
	"  show peers                 every peer, its usable bandwidth over all planes\n"
	"  show paths [PEER [PLANE]]  every path: verdict, bandwidth, reason\n"
	"  show flows                 flows of the applications that are attached\n"
	"  show qps                   their QPs: peer, plane, UDP source port, sub-ports, state\n"
	"  show events                recent events, oldest first; see --since, --topic, --level "
	"and "
	"--plane\n"
	"  show counters              probes and replies, sent and dropped, and what each count "
	"means\n"
	"  show kernel                routes for other programs: what is wanted, and what the "
	"kernel has\n"
	"  show version               the daemon's version, age and published pairs\n"
	"  why                        all that is wrong now, grouped by cause, worst first\n"
	"  why PEER [PLANE]           why a path has its verdict, from which inputs, where to look "
	"next\n"
	"  drain PEER|all [PLANES [SUB_PORT]]\n"
	"                             take out of use: planes, paths, a peer, a local sub-port, "
	"or all\n"
	"  undrain PEER|all [PLANES [SUB_PORT]]\n"
	"                             put it back into use\n"
	"  show drains                what is drained\n"
	"  show config                the configuration in force, and what a reload does with each "
	"key\n"
	"  reload [-n] [-c SECONDS]   read the configuration again, and tell what differs\n"
	"  confirm                    keep what a reload -c has put in force\n"
	"  watch                      events as they come, until interrupted\n"
	"  trace PEER PLANE           each probe of a path, sent and answered, as it happens\n"
	"  top                        planes, degraded paths and events, live\n"
	"  doctor                     what is wrong with this server, before a job or on the first "
	"day\n"
	"\n"
	"PEER is the address of a peer GPU, PLANE and SUB_PORT are numbers from 0, PLANES are "
	"like\n"
	"2, 4-7 or 0,4-6.\n"
	"\n"
	"  -s, --socket-dir RUN_DIR   the daemon's run directory (default " CONTROL_CLIENT_RUN_DIR
	")\n"
	"  -g, --gpu NAME             drain, undrain, trace: of this local GPU only\n"
	"  -C, --count N              trace: end after 1 to 10000 probes (default 100)\n"
	"  -w, --wait SECONDS         drain: return when no traffic is left, or fail after so "
	"long\n"
	"  -a, --all                  top: all paths, not only degraded ones\n"
	"  -b, --batch                top: plain text instead of a screen\n"
	"  -i, --interval SECONDS     top: 0.1 to 60 between two looks (default 1)\n"
	"  -r, --rounds N             top: end after so many (default: until q)\n"
	"  -n, --dry-run              reload: only tell what differs\n"
	"  -c, --confirm SECONDS      reload: undo it unless 'farectl confirm' comes in time\n"
	"  -S, --since WHEN           show events: of the last 90s, 10m, 2h, 3d, or since "
	"HH:MM[:SS] "
	"or\n"
	"                             'YYYY-MM-DD HH:MM[:SS]'\n"
	"  -t, --topic TOPIC          show events: path, link, source, probe, bandwidth, "
	"peer,\n"
	"                             drain, config or daemon\n"
	"  -l, --level LEVEL          show events: at least err, warning, notice, info or debug\n"
	"  -p, --plane PLANE          show events: of that plane\n"
	"  -f, --config FILE          doctor: fared's configuration (default "
	"/etc/fared/fared.yaml)\n"
	"  -q, --quiet                doctor: only what is wrong, a line each\n"
	"  -j, --json                 print the daemon's JSON, one document (watch, trace: one a "
	"line)\n"
	"  -V, --version              print the version and exit\n"
	"  -h, --help                 print this and exit\n"
	"\n"
	"Exit status: 0 done; 1 the daemon cannot be reached, refuses, or ends during watch or "
	"trace,\n"
	"or doctor finds something wrong; 2 wrong usage; 3 why alone finds something wrong, or "
	"doctor\n"
	"cannot write. See farectl(8).\n";

int farectl_usage(const char *problem)
{
	fprintf(stderr, "farectl: %s; farectl --help lists the commands\n", problem);
	return 2;
}

/* Of drain. False: text is no such number. */
static bool parse_wait(double *wait_s, const char *text)
{
	char *end;

	*wait_s = strtod(text, &end);
	return *text && !*end && *wait_s >= 1 && *wait_s <= 86400;
}

/* Of top. False: text is no such number. */
static bool parse_top(struct farectl_top_options *top, int option, const char *text)
{
	char *end;
	double number = strtod(text, &end);

	if (!*text || *end)
		return false;
	if (option == 'i') {
		top->interval_s = number;
		return number >= FARECTL_TOP_MIN_INTERVAL_S && number <= FARECTL_TOP_MAX_INTERVAL_S;
	}
	top->rounds = number >= 1 && number <= 1e9 ? (unsigned)number : 0;
	return top->rounds == number;
}

/* Of one option. Below 0: it is taken; else the exit status. */
static int farectl_options_take(struct farectl_options *out, int option, const char *value)
{
	const struct {
		int letter;
		const char **text;
		bool *flag;
	} plain[] = {{'s', &out->run_dir, NULL},       {'g', &out->gpu, NULL},
		     {'C', &out->count, NULL},	       {'S', &out->since, NULL},
		     {'t', &out->topic, NULL},	       {'l', &out->level, NULL},
		     {'p', &out->plane, NULL},	       {'f', &out->config, NULL},
		     {'c', &out->confirm, NULL},       {'q', NULL, &out->quiet},
		     {'n', NULL, &out->dry_run},       {'j', NULL, &out->json},
		     {'a', NULL, &out->top.all_paths}, {'b', NULL, &out->top.batch}};

	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (plain[i].letter != option)
			continue;
		if (plain[i].text)
			*plain[i].text = value;
		else
			*plain[i].flag = true;
		return -1;
	}
	switch (option) {
	case 'w':
		if (!parse_wait(&out->wait_s, value))
			return farectl_usage("--wait: 1 to 86400 seconds");
		return -1;
	case 'i':
	case 'r':
		if (!parse_top(&out->top, option, value))
			return farectl_usage("--interval: 0.1 to 60; --rounds: 1 or more");
		return -1;
	case 'V':
		puts("farectl " FARE_VERSION);
		return 0;
	case 'h':
		fputs(help, stdout);
		return 0;
	default:
		return farectl_usage("unknown option");
	}
}

/* The letters of the options that a command takes, -s and -j (all but top) apart. */
static const char *taken_by(const char *command, const char *what)
{
	static const struct {
		const char *command, *letters;
	} commands[] = {{"doctor", "fq"}, {"drain", "gw"}, {"undrain", "g"},
			{"reload", "nc"}, {"top", "abir"}, {"trace", "gC"}};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(commands[i].command, command))
			return commands[i].letters;
	return !strcmp(command, "show") && !strcmp(what, "events") ? "Stlp" : "";
}

static int farectl_options_check(const char *given, int n, char **args)
{
	const char *taken = taken_by(n ? args[0] : "", n > 1 ? args[1] : "");
	const char *all = n && !strcmp(args[0], "top") ? "s" : "sj";
	char problem[64];

	for (const char *o = given; *o; o++)
		if (!strchr(all, *o) && !strchr(taken, *o)) {
			snprintf(problem, sizeof(problem), "%.16s takes no option -%c",
				 n ? args[0] : "no command", *o);
			return farectl_usage(problem);
		}
	return -1;
}

/* JSON has no other text. */
static bool is_utf8(const char *text)
{
	json_t *value = json_string(text);

	json_decref(value);
	return value;
}

int farectl_options_parse(struct farectl_options *out, int argc, char **argv)
{
	static const struct option longs[] = {
		{"socket-dir", required_argument, NULL, 's'},
		{"gpu", required_argument, NULL, 'g'},
		{"count", required_argument, NULL, 'C'},
		{"since", required_argument, NULL, 'S'},
		{"topic", required_argument, NULL, 't'},
		{"level", required_argument, NULL, 'l'},
		{"plane", required_argument, NULL, 'p'},
		{"dry-run", no_argument, NULL, 'n'},
		{"confirm", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{"config", required_argument, NULL, 'f'},
		{"quiet", no_argument, NULL, 'q'},
		{"wait", required_argument, NULL, 'w'},
		{"all", no_argument, NULL, 'a'},
		{"batch", no_argument, NULL, 'b'},
		{"interval", required_argument, NULL, 'i'},
		{"rounds", required_argument, NULL, 'r'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	char given[64] = "";
	size_t n = 0;
	int o, rc = -1;

	*out = (struct farectl_options){.run_dir = CONTROL_CLIENT_RUN_DIR,
					.top = {.interval_s = 1}};
	for (int i = 1; i < argc; i++)
		if (!is_utf8(argv[i]))
			return farectl_usage("an argument is no UTF-8 text");
	while (rc < 0 && (o = getopt_long(argc, argv, "s:g:C:nc:S:t:l:p:jw:abi:r:f:qVh", longs,
					  NULL)) != -1) {
		rc = farectl_options_take(out, o, optarg);
		if (n + 1 < sizeof(given))
			given[n++] = (char)o;
	}
	out->top.run_dir = out->run_dir;
	return rc < 0 ? farectl_options_check(given, argc - optind, argv + optind) : rc;
}
