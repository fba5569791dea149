/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - fared: options, configuration, and off it goes (daemon.c does the rest) */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "config.h"
#include "config_check.h"
#include "config_list.h"
#include "daemon.h"
#include "frr_print.h"
#include "log.h"
#include "privileges.h"
#include "trial_file.h"

#define DEFAULT_CONFIG "/etc/fared/fared.yaml"

struct options {
	struct daemon_options daemon;
	bool check_only, as_json, print_frr;
	struct frr_print_options frr;
};

static int main_usage(FILE *to)
{
	fputs("usage: fared [--config FILE] [--run-dir DIR] [--check-config [--json]]\n"
	      "             [--seccomp kill|log|off] [--foreground]\n"
	      "       fared --print-frr-config --as N [--config FILE] [--router-id ID]\n"
	      "             [--leaf ADDRESS,...]\n"
	      "       fared --print-frr-config --zebra [--config FILE]\n"
	      "\n"
	      "  -c, --config FILE   configuration (default " DEFAULT_CONFIG ")\n"
	      "  -C, --check-config  check the configuration, print the result, and exit\n"
	      "  -j, --json          check: print each key with its value, as JSON\n"
	      "  -r, --run-dir DIR   run directory (default: the configuration's run_dir, or "
	      "/run/fared)\n"
	      "  -S, --seccomp MODE  system calls beyond those it needs: kill (default), log or "
	      "off\n"
	      "  -P, --print-frr-config\n"
	      "                      print the bgpd.conf for this configuration, and exit\n"
	      "  -A, --as N          print: the router's AS\n"
	      "  -I, --router-id ID  print: its router id (default: the first GPU's IPv4 address)\n"
	      "  -L, --leaf ADDRESS,...\n"
	      "                      print: a leaf's, whose servers have these addresses\n"
	      "  -Z, --zebra         print: zebra.conf, the same on servers and leaves\n"
	      "  -f, --foreground    ignored: fared always stays in the foreground\n"
	      "  -V, --version       print the version and exit\n"
	      "  -h, --help          print this and exit\n"
	      "\n"
	      "SIGHUP reads the configuration again. SIGTERM and SIGINT end the daemon; what it "
	      "published\n"
	      "stays in force.\n"
	      "Exit status: 0 ended by a signal, or the check passed; 1 it could not start, or "
	      "the\n"
	      "configuration is wrong; 2 wrong usage. See fared(8) and fared.yaml(5).\n",
	      to);
	return to == stdout ? 0 : 2;
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *out)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check-config", no_argument, NULL, 'C'},
		{"json", no_argument, NULL, 'j'},
		{"run-dir", required_argument, NULL, 'r'},
		{"seccomp", required_argument, NULL, 'S'},
		{"print-frr-config", no_argument, NULL, 'P'},
		{"as", required_argument, NULL, 'A'},
		{"router-id", required_argument, NULL, 'I'},
		{"leaf", required_argument, NULL, 'L'},
		{"zebra", no_argument, NULL, 'Z'},
		{"foreground", no_argument, NULL, 'f'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int o;

	*out = (struct options){.daemon.path = DEFAULT_CONFIG};
	while ((o = getopt_long(argc, argv, "c:Cjr:S:PA:I:L:ZfVh", options, NULL)) != -1) {
		switch (o) {
		case 'c':
			out->daemon.path = optarg;
			break;
		case 'C':
			out->check_only = true;
			break;
		case 'j':
			out->as_json = true;
			break;
		case 'r':
			out->daemon.run_dir = optarg;
			break;
		case 'S':
			if (sandbox_mode_parse(optarg, &out->daemon.sandbox))
				return main_usage(stderr);
			break;
		case 'P':
			out->print_frr = true;
			break;
		case 'A':
			out->frr.as = optarg;
			break;
		case 'I':
			out->frr.router_id = optarg;
			break;
		case 'L':
			out->frr.leaf = optarg;
			break;
		case 'Z':
			out->frr.zebra = true;
			break;
		case 'f':
			break;
		case 'V':
			puts("fared " FARE_VERSION);
			return 0;
		case 'h':
			return main_usage(stdout);
		default:
			return main_usage(stderr);
		}
	}
	return optind == argc ? -1 : main_usage(stderr);
}

static struct privileges_names names_in(const struct config *config)
{
	return (struct privileges_names){config->user, config->group, config->attach_group,
					 config->operator_group, config->bmp_user};
}

/* A configuration that a restart found on trial is not in force: the one before it is. */
static void fall_back(struct options *options, struct config **config,
		      const struct privileges *privileges, struct log *log)
{
	struct config *confirmed;
	char why[600];

	if (trial_file_load(&confirmed, *config, privileges->uid, why, sizeof(why)))
		log_line(log, LOG_ERR, "config",
			 "%s/" TRIAL_FILE_NAME ": %s; %s is used, whether it was confirmed or not",
			 (*config)->run_dir, why, options->daemon.path);
	if (!confirmed)
		return;
	log_line(log, LOG_WARNING, "config",
		 "%s was on trial and not confirmed: what was in force before is used",
		 options->daemon.path);
	config_destroy(*config);
	*config = confirmed;
	options->daemon.is_fallback = true;
	log->level = confirmed->log_level;
}

/* Loads the configuration and looks up what it names on this machine. 0, or an exit status with the
 * error logged. */
static int main_load(struct options *options, struct config **config, struct privileges *privileges,
		     struct log *log)
{
	struct privileges_names names;
	struct config_error error;
	char why[200];

	if (config_load(config, options->daemon.path, &error)) {
		log_line(log, LOG_ERR, "config", "%s", error.text);
		return 1;
	}
	names = names_in(*config);
	if (!options->check_only)
		log->level = (*config)->log_level;
	if (options->daemon.run_dir &&
	    config_override_run_dir(*config, options->daemon.run_dir, &error)) {
		log_line(log, LOG_ERR, "config", "%s", error.text);
		return 2;
	}
	if (privileges_resolve(privileges, &names, why, sizeof(why))) {
		log_line(log, LOG_ERR, "config", "%s: %s", options->daemon.path, why);
		return 1;
	}
	if (!options->check_only)
		fall_back(options, config, privileges, log);
	return config_check(*config, options->daemon.path, log) ? 1 : 0;
}

static void print_right(const char *path, const struct config *config)
{
	printf("%s: right (%u local GPU%s, %zu BGP neighbour%s)\n", path, config->n_gpus,
	       config->n_gpus == 1 ? "" : "s", config->bgp.n_neighbors,
	       config->bgp.n_neighbors == 1 ? "" : "s");
}

/* Each key with its value, as `show config` has them. false: no memory. */
static bool print_json(const struct config *config)
{
	json_t *values = json_object();
	struct config_list *list;

	if (config_list_create(&list, config))
		return false;
	for (size_t i = 0; i < list->n; i++)
		json_object_set_new(values, list->entries[i].key,
				    json_string(list->entries[i].value));
	config_list_destroy(list);
	json_dumpf(values, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(values);
	return true;
}

/* The exit status: a result that cannot be written is none. */
static int print_checked(const struct options *options, const struct config *config)
{
	if (!options->as_json)
		print_right(options->daemon.path, config);
	else if (!print_json(config))
		return 1;
	return fflush(stdout) ? 1 : 0;
}

/* The exit status. Neither interfaces nor users of this machine matter to it. */
static int print_frr(const struct options *options)
{
	struct config_error error;
	struct config *config;
	char why[256];
	int rc;

	if (config_load(&config, options->daemon.path, &error)) {
		fprintf(stderr, "fared: %s\n", error.text);
		return 1;
	}
	rc = frr_print(stdout, config, &options->frr, why, sizeof(why));
	if (rc)
		fprintf(stderr, "fared: %s\n", why);
	config_destroy(config);
	if (rc)
		return rc == -EINVAL ? 2 : 1;
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct privileges privileges;
	struct options options;
	struct daemon *daemon;
	struct config *config;
	struct log log;
	int rc = parse_options(argc, argv, &options);

	if (rc >= 0)
		return rc;
	if (options.print_frr)
		return print_frr(&options);
	log_init(&log, STDERR_FILENO, LOG_WARNING);
	log.is_whole = options.check_only;
	rc = main_load(&options, &config, &privileges, &log);
	if (!rc && options.check_only)
		rc = print_checked(&options, config);
	if (rc || options.check_only) {
		config_destroy(config);
		return rc;
	}
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN); /* until it can be served */
	if (daemon_create(&daemon, config, &options.daemon, &privileges, &log))
		return 1;
	rc = daemon_run(daemon);
	daemon_destroy(daemon);
	return rc ? 1 : 0;
}
